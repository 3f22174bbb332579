#!/usr/bin/env python3
"""What `pip install pipescope-training` gives: a wheel, put into a fresh virtual environment, and used there alone: no variable names a file of the
build. PIPESCOPE_WHEEL names it (tests/release/wheels.sh, for those of ./dev wheel), else one is made of this build with the libraries of this system.
The Pythons are this one, or those that WHEEL_PYTHONS names (commands, separated by blanks; "all": every 3.8 to 3.13 that PATH or pyenv has).
Skipped where auditwheel cannot be had, or Python has no headers."""
import contextlib
import glob
import http.client
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import urllib.parse
import zipfile

import recording

BUILD = os.path.dirname(recording.PROGRAM)
JOB = """
import pipescope
from pipescope import mstx, _library
import sys
for step in range(2):
    for kind in ("F", "B"):
        with mstx.annotate("PP:0%s%d" % (kind, step), stream="current"):
            sum(range(1000))
print(_library.functions().path, mstx._extension is not None)
"""


def pythons():
    """Commands of Pythons, each once; those that are not here are named."""
    named = os.environ.get("WHEEL_PYTHONS", "")
    if named != "all":
        return named.split() or [sys.executable]
    found = ["/usr/bin/python3"] if os.path.exists("/usr/bin/python3") else []
    for minor in range(8, 14):
        here = [shutil.which("python3.%d" % minor), *sorted(glob.glob(os.path.expanduser("~/.pyenv/versions/3.%d.*/bin/python" % minor)))]
        works = [path for path in here if path and subprocess.run([path, "-c", "import venv"], capture_output=True, check=False).returncode == 0]
        if not works:
            print("skipped: no Python 3.%d here" % minor)
        found += works[-1:]
    return found


def environment(venv, **more):
    """Of a shell in which the environment was activated, and nothing of the build is named."""
    env = recording.clean_environment(PATH=os.path.join(venv, "bin") + os.pathsep + os.environ["PATH"])
    for name in ("PYTHONPATH", "PIPESCOPE_LIBRARY", "PIPESCOPE_ANALYSIS_LIBRARY", "PIPESCOPE_PYTHON_EXTENSION"):
        env.pop(name)
    return {**env, **more}


def ask(address, path, **headers):
    """(status, body) of a request."""
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=recording.PATIENCE)
    with contextlib.closing(connection):
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


class Installed(recording.Case):
    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        cls.wheel = os.environ.get("PIPESCOPE_WHEEL") or cls.made()
        cls.venvs = {}
        for python in pythons():
            cls.venvs[python] = os.path.join(cls.work, "venv%d" % len(cls.venvs))
            cls.install(python, cls.venvs[python])

    @classmethod
    def made(cls):
        """A wheel of this build."""
        done = subprocess.run([sys.executable, "-B", os.path.join(recording.PACKAGE, "make_wheel.py"), BUILD, cls.work], text=True, capture_output=True,
                              check=False)
        if done.returncode == 77 or "is made by Python 3.10 or newer with its headers" in done.stderr:
            recording.skip(done.stderr.strip().splitlines()[-1])
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        return glob.glob(os.path.join(cls.work, "*.whl"))[0]

    @classmethod
    def install(cls, python, venv):
        """By this Python's pip, where it can work for another one, as it installs for itself."""
        subprocess.run([python, "-m", "venv", "--without-pip", venv], check=True)
        done = subprocess.run([sys.executable, "-m", "pip", "--python", os.path.join(venv, "bin", "python"), "install", "-q", "--no-index", "--no-deps",
                               "--disable-pip-version-check", "--force-reinstall", cls.wheel], text=True, capture_output=True, env=environment(venv), check=False)
        if "no such option: --python" in done.stderr:
            recording.skip("pip is older than 22.3")
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)

    def each(self):
        """Each environment, in a subtest with a folder of its own."""
        for number, (python, venv) in enumerate(self.venvs.items()):
            os.makedirs(self.path("in%d" % number))
            with self.subTest(python=python):
                yield venv, self.path("in%d" % number)

    def run_in(self, venv, folder, *command, status=0, **more):
        done = subprocess.run(command, cwd=folder, env=environment(venv, **more), text=True, capture_output=True, timeout=recording.PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def test_contents(self):
        """One wheel for all Pythons; all that is in it has a licence beside it; the recorder needs the C library and nothing else."""
        self.assertRegex(os.path.basename(self.wheel), r"^pipescope_training-\d+\.\d+\.\d+-py3-none-(manylinux\w+\.)*manylinux_2_\d+_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            texts = {os.path.basename(name): wheel.read(name).decode("utf-8", "replace") for name in names if "/licenses/" in name}
            for name in names:
                data = wheel.read(name)
                self.assertTrue(recording.ROOT.encode() not in data or b".gcda" in data, name)  # where coverage is counted there are paths
            wheel.extract("pipescope/libpipescope-record.so", self.folder)
        self.assertIn("preact", texts["THIRD_PARTY.txt"])
        self.assertIn("Apache License", texts["LICENSE"])
        for name in names:
            if ".libs/" in name and ".so" in name:
                library = re.sub(r"-[0-9a-f]{8}(\.so\.?[0-9]*).*", r"\1", os.path.basename(name))
                self.assertIn(library, texts["THIRD_PARTY_LIBRARIES.txt"])
        shown = subprocess.run(["ldd", self.path("pipescope", "libpipescope-record.so")], text=True, capture_output=True, check=True).stdout
        needed = {line.split()[0].split("/")[-1].split(".so")[0] for line in shown.splitlines()}
        self.assertLessEqual(needed, {"linux-vdso", "libc", "libm", "libdl", "libpthread", "ld-linux-x86-64", "ld-linux-aarch64"})

    def test_command(self):
        """The command runs the program of the wheel, with the libraries of the wheel."""
        for venv, folder in self.each():
            out, err = self.run_in(venv, folder, "pipescope", "--version")
            self.assertRegex(out, r"^pipescope \d+\.\d+\.\d+ ")
            self.assertEqual(err, "")
            self.assertEqual(self.run_in(venv, folder, "python", "-m", "pipescope", "--version"), (out, ""))
            self.run_in(venv, folder, "pipescope", "simulate", "1f1b", "--pp", "2", "--microbatches", "4", "--filler", "8", "--profile", "made")
            self.assertIn("bubble", self.run_in(venv, folder, "pipescope", "chart", "made")[0])
            self.run_in(venv, folder, "pipescope", "report", "made", "-o", "report.html")
            self.run_in(venv, folder, "pipescope", "cluster", "-m", "all", "-d", "made", "-o", "books", "--export_type", "xlsx")
            self.run_in(venv, folder, "pipescope", "chart", "none", status=2)  # its own exit status
            program, = glob.glob(os.path.join(venv, "lib", "python3.*", "site-packages", "pipescope", "pipescope"))
            self.assertNotRegex(subprocess.run(["ldd", program], text=True, capture_output=True, check=True).stdout,
                                r"=> (?!/(?:usr/)?lib[^ ]*/(?:libc|libm|libz|libdl|libpthread)\.so)/(?:usr/)?lib")

    @contextlib.contextmanager
    def serving(self, venv, folder):
        """The address that `serve` prints."""
        server = subprocess.Popen(["pipescope", "serve", "made"], cwd=folder, env=environment(venv), text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
        try:
            said = []
            for line in server.stdout:
                said.append(line)
                address = re.search(r"http://\S+", line)
                if address:
                    yield urllib.parse.urlsplit(address.group())
                    return
            self.fail("".join(said))
        finally:
            server.send_signal(signal.SIGINT)
            server.communicate(timeout=recording.PATIENCE)

    def test_serve(self):
        """It answers who has the token, with the page that is built into the program, and nobody else."""
        for venv, folder in self.each():
            self.run_in(venv, folder, "pipescope", "simulate", "1f1b", "--pp", "2", "--microbatches", "2", "--profile", "made")
            with self.serving(venv, folder) as address:
                token = address.fragment.partition("token=")[2]
                answers = [ask(address, "/"), ask(address, "/api/ranks", Authorization="Bearer " + token), ask(address, "/api/ranks")]
            self.assertEqual([status for status, _ in answers], [200, 200, 403])
            self.assertIn(b"<html", answers[0][1])
            self.assertEqual(len(json.loads(answers[1][1])["ranks"]), 2)

    def job(self, folder):
        with open(os.path.join(folder, "job.py"), "w", encoding="utf-8") as file:
            file.write(JOB)
        return "job.py"

    def database(self, folder, where="runs"):
        database, = glob.glob(os.path.join(folder, where, "*_ascend_pt", "ASCEND_PROFILER_OUTPUT", "*.db"))
        with contextlib.closing(sqlite3.connect(database)) as db:
            return db.execute("SELECT COUNT(*) FROM MSTX_EVENTS WHERE eventType = 2").fetchone()[0]

    def test_record(self):
        """Command, package and analysis are one: what `record` records of a program that imports the package, that package opens."""
        for venv, folder in self.each():
            out, _ = self.run_in(venv, folder, "pipescope", "record", "-o", "runs", "--", "python3", self.job(folder))
            path, extended = out.split()
            self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(venv)), path)
            version, _ = self.run_in(venv, folder, "python", "-c", "import sys; print(sys.version_info >= (3, 10))")
            self.assertEqual(extended, version.strip())
            self.assertEqual(self.database(folder), 4)
            out, err = self.run_in(venv, folder, "python", "-c", """
import pipescope
from pipescope import _native
capture = pipescope.open("runs")
print(capture.sql("SELECT count(*) FROM slice WHERE name LIKE 'PP:%' AND kind = 'mark'").scalar(), "bubble" in capture.chart().text,
      "<html" in capture.report().html, _native.functions().path)
""")
            self.assertEqual(err, "")
            n, charted, reported, path = out.split()
            self.assertEqual((n, charted, reported), ("4", "True", "True"))
            self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(venv)), path)

    def test_recorder_alone(self):
        """It works by LD_PRELOAD, without `pipescope record`; where the system has no libsqlite3 the one of the wheel writes the database. An empty
        file in its place stands for none."""
        for venv, folder in self.each():
            recorder, = glob.glob(os.path.join(venv, "lib", "python3.*", "site-packages", "pipescope", "libpipescope-record.so"))
            self.run_in(venv, folder, "python", self.job(folder), LD_PRELOAD=recorder, PIPESCOPE_RECORD="1", PIPESCOPE_OUTPUT_DIR="alone")
            self.assertEqual(self.database(folder, "alone"), 4)
            for name in ("libsqlite3.so.0", "libsqlite3.so"):
                os.makedirs(os.path.join(folder, "none"), exist_ok=True)
                with open(os.path.join(folder, "none", name), "w", encoding="utf-8"):
                    pass
            self.run_in(venv, folder, "python", "job.py", PIPESCOPE_RECORD="1", PIPESCOPE_OUTPUT_DIR="without",
                        LD_LIBRARY_PATH=os.path.join(folder, "none"))
            self.assertEqual(self.database(folder, "without"), 4)

    def test_clash(self):
        """Another distribution called pipescope, which the package index has: named by import and by what asks for the version; a package of that
        name in its place, too."""
        venv = self.path("venv")
        self.install(sys.executable, venv)
        place, = glob.glob(os.path.join(venv, "lib", "python3.*", "site-packages"))
        other = os.path.join(place, "pipescope-0.6.0.dist-info")
        os.makedirs(other)
        said = "another distribution, pipescope 0.6.0, is installed beside pipescope-training"
        _, err = self.run_in(venv, self.folder, "python", "-c", "import pipescope; import pipescope.mstx")
        self.assertEqual(err.count(said), 1)
        self.assertEqual(self.run_in(venv, self.folder, "python", "-c", "import pipescope", PIPESCOPE_QUIET="1")[1], "")
        self.assertIn(said, self.run_in(venv, self.folder, "pipescope", "--version")[1])
        self.assertNotIn(said, self.run_in(venv, self.folder, "pipescope", "schedules")[1])
        # Its command has the place of ours: `python -m` still reaches the program.
        with open(os.path.join(venv, "bin", "pipescope"), "w", encoding="utf-8") as script:
            script.write("#!/bin/sh\necho another program\n")
        out, err = self.run_in(venv, self.folder, "python", "-m", "pipescope", "--version")
        self.assertIn(said, err)
        self.assertIn("(SQLite ", out)
        os.rmdir(other)
        self.install(sys.executable, venv)
        shutil.copytree(os.path.join(place, "pipescope"), self.path("elsewhere", "pipescope"), symlinks=True)
        _, err = self.run_in(venv, self.folder, "pipescope", "--version", PYTHONPATH=self.path("elsewhere"))
        self.assertIn("`import pipescope` finds %s and not the package of pipescope-training" % self.path("elsewhere", "pipescope"), err)

    def test_without_program(self):
        """A wheel that was built from source says what it lacks, and leaves the name of the command alone."""
        done = subprocess.run([sys.executable, "-c", "import pipescope_training as p; assert p.program() is None; p.main()"], text=True, capture_output=True,
                              env=recording.clean_environment(), check=False)
        self.assertEqual(done.returncode, 1)
        self.assertIn("this installation has no program", done.stderr)


if __name__ == "__main__":
    recording.main()

#!/usr/bin/env python3
"""`pip install ./python`: what is installed records and analyses by itself. Program and libraries are copied from the build under test; the recorder
is also compiled as it is without one, from what a source distribution holds, and for the analysis a list is compared. Skipped where pip is
missing or cannot get what builds a wheel. The wheel of the package index: test_wheel_installed.py."""
import glob
import os
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

import recording

import make_wheel

BUILD = os.path.dirname(recording.PROGRAM)


def run(command, cwd, **env):
    """-O0: what the compiler makes of the sources is tested elsewhere."""
    environment = recording.clean_environment(CFLAGS="-O0", PIPESCOPE_BUILD=BUILD, PIP_DISABLE_PIP_VERSION_CHECK="1", PIP_DEFAULT_TIMEOUT="10",
                                              PIP_RETRIES="1", **env)
    del environment["PYTHONPATH"], environment["PIPESCOPE_LIBRARY"], environment["PIPESCOPE_ANALYSIS_LIBRARY"]
    if shutil.which("ccache") and "CC" not in environment:
        environment.update(CC="ccache cc", CCACHE_BASEDIR=cwd, CCACHE_NOHASHDIR="1")
    return subprocess.run(command, cwd=cwd, env=environment, text=True, capture_output=True, timeout=recording.PATIENCE,
                          check=False)


def has_headers():
    """Whether a wheel of this Python gets the extension."""
    return (not sysconfig.get_config_var("Py_GIL_DISABLED")
            and os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")))


class Wheel(recording.Case):
    @classmethod
    def setUpClass(cls):
        """The wheel, out of a copy of the sources: building writes beside them."""
        cls.work = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.work, ignore_errors=True)
        copy = os.path.join(cls.work, "copy")
        shutil.copytree(recording.PACKAGE, os.path.join(copy, "python"),
                        ignore=shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info"))
        for name in ("src", "include", "web", "CMakeLists.txt", "LICENSE", "THIRD_PARTY.txt"):
            os.symlink(os.path.join(recording.ROOT, name), os.path.join(copy, name))
        # What builds it is fetched once and kept.
        place = make_wheel.tools()
        if place is None:
            recording.skip("pip cannot get what builds a wheel")
        done = run([os.path.join(place, "python"), "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", cls.work, "./python"], copy)
        if done.returncode != 0:
            raise AssertionError(done.stdout + done.stderr)
        cls.copy = copy
        cls.wheel, = glob.glob(os.path.join(cls.work, "*.whl"))

    def test_contents(self):
        self.assertRegex(os.path.basename(self.wheel), r"^pipescope_training-\d+\.\d+\.\d+-py3-none-linux_\w+\.whl$")
        with zipfile.ZipFile(self.wheel) as wheel:
            names = set(wheel.namelist())
        self.assertIn("pipescope/libpipescope-record.so", names)
        self.assertIn("pipescope/libpipescope.so.0", names)
        self.assertIn("pipescope/pipescope", names)
        for name in ("LICENSE", "THIRD_PARTY.txt", "entry_points.txt"):
            self.assertTrue([path for path in names if ".dist-info/" in path and path.endswith("/" + name)], names)
        self.assertIn("pipescope/py.typed", names)
        extensions = [name for name in names if name.startswith("pipescope/_recorder.")]
        self.assertEqual(len(extensions), has_headers(), extensions)
        for folder, _, files in os.walk(os.path.join(recording.PACKAGE, "pipescope")):
            for name in files:
                if name.endswith((".py", ".cpp")):
                    self.assertIn(os.path.relpath(os.path.join(folder, name), recording.PACKAGE), names)

    def test_installed(self):
        venv = self.path("venv")
        python = os.path.join(venv, "bin", "python")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
        done = run([sys.executable, "-m", "pip", "--python", python, "install", "--no-index", "--no-deps", self.wheel],
                   self.folder)
        if "no such option: --python" in done.stderr:
            self.skipTest("pip is older than 22.3")
        self.assertEqual(done.returncode, 0, done.stderr)
        done = run([python, "-c", """
import pipescope
from pipescope import mstx, _library
pipescope.start()
with mstx.annotate("from the wheel"): pass
pipescope.stop(); pipescope.export()
print(_library.functions().path, pipescope.__version__, _library.functions().version().decode(), mstx._extension is not None)
"""], self.folder, PIPESCOPE_PYTHON_EXTENSION="")
        self.assertEqual(done.returncode, 0, done.stderr)
        path, version, of_library, extended = done.stdout.split()
        self.assertEqual(extended, str(has_headers()))
        self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(venv)), path)
        self.assertEqual(version, of_library)
        database, = glob.glob(self.path("*_ascend_pt", "ASCEND_PROFILER_OUTPUT", "*.db"))
        with sqlite3.connect(database) as db:
            self.assertEqual(db.execute("SELECT COUNT(*) FROM MSTX_EVENTS").fetchone(), (1,))
        done = run([python, "-c", """
import sys
import pipescope
from pipescope import _native
capture = pipescope.open(sys.argv[1])
print(capture.sql("SELECT count(*) FROM slice WHERE name = 'from the wheel' AND kind = 'mark'").scalar(), _native.functions().path)
""", self.folder], self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        n, path = done.stdout.split()
        self.assertEqual(n, "1")
        self.assertTrue(os.path.realpath(path).startswith(os.path.realpath(venv)), path)

    def test_source_distribution(self):
        """It holds all that its own build needs: nothing of it is looked for outside."""
        done = run([sys.executable, "-c", """
import re, runpy, sys, types
class Base: pass
for name in ("setuptools", "setuptools.command", "setuptools.command.build_py", "setuptools.command.sdist",
             "setuptools.command.bdist_wheel"):
    sys.modules[name] = types.ModuleType(name)
told = []
sys.modules["setuptools"].setup = lambda **words: told.append(words["entry_points"])
sys.modules["setuptools"].Distribution = Base
for name in ("build_py", "sdist", "bdist_wheel"):
    setattr(sys.modules["setuptools.command." + name], name, Base)
setup = runpy.run_path("python/setup.py")
import os, shutil
del os.environ["PIPESCOPE_BUILD"]
for name in setup["needed"]():
    os.makedirs(os.path.dirname(os.path.join("alone/csrc", name)), exist_ok=True)
    shutil.copyfile(name, os.path.join("alone/csrc", name))
shutil.copyfile("python/setup.py", "alone/setup.py")
alone = runpy.run_path("alone/setup.py")
assert told == [{"console_scripts": ["pipescope = pipescope_training:main"]}, {}], told
assert alone["ROOT"].endswith("csrc") and alone["version"]() == setup["version"]()
alone["build_library"]("alone.so", "objects")
for name in alone["needed"]():
    with open(os.path.join("alone/csrc", name), encoding="utf-8", errors="replace") as file:
        for included in re.findall(r'^#include "([^"]+)"', file.read() if name.endswith((".c", ".h", ".def")) else "", re.M):
            places = [os.path.join("alone/csrc", folder, included) for folder in ("src", "include", os.path.dirname(name))]
            assert any(map(os.path.exists, places)), (name, included)
alone["write_bundle"]("bundle.c")
assert os.path.getsize("bundle.c") > os.path.getsize("alone/csrc/web/dist/viewer.js")
built = set(re.findall(r"CMakeFiles/pipescope_(?:core|common).dir/(src/.*?[.]c)[.]o -c", open(sys.argv[1], encoding="utf-8").read()))
built |= {name for name in alone["analysis_sources"]() if name.startswith("src/library/")}
missing = {name for name in built if not name.startswith("src/serve/")} ^ set(alone["analysis_sources"]())
assert not missing, missing
os.environ["PIPESCOPE_ANALYSIS"] = "0"
assert alone["build_analysis"]("none.so", "objects") is False
for name in (*setup["EXTENSION"], "extension.h"):
    shutil.copyfile("python/" + name, "alone/" + name)
extended = alone["build_extension"](os.path.join("alone", alone["extension_name"]()))
alone["sysconfig"].get_paths = lambda: {"include": "/none", "platinclude": "/none"}
assert alone["build_extension"]("none.so") is False and not os.path.exists("none.so")
print("built" if extended else "left out")
""", os.path.join(BUILD, "compile_commands.json")], self.copy)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("the package records only: PIPESCOPE_ANALYSIS is 0", done.stdout)
        self.assertIn("left out, ctypes does its work: there is no Python.h", done.stdout)
        self.assertIn("built" if has_headers() else "left out", done.stdout)
        self.assertTrue(os.path.exists(os.path.join(self.copy, "alone.so")))


if __name__ == "__main__":
    recording.main()

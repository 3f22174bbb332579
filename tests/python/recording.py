"""What the tests of the Python package share: programs that record in a process of their own, their databases, and a library
that only notes what is asked of it.

Of the environment: PIPESCOPE_LIBRARY names the library, PIPESCOPE_ANALYSIS_LIBRARY that of the analysis, PIPESCOPE_BIN the program, PIPESCOPE_PYTHON a Python that has PyTorch, PIPESCOPE_FRAMES_PYTHON one that has pandas and its like,
PIPESCOPE_SANITIZED is not empty in builds whose library this Python cannot load, PIPESCOPE_PYTHON_EXTENSION names the extension in
C, "0" to do without, "missing" where it could not be built.
"""
import fcntl
import glob
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PACKAGE = os.path.join(ROOT, "python")
SCRIPTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scripts")
CACHE = os.path.join(ROOT, "build", "cache", "observer")  # what recordings of PyTorch build once
LIBRARY = (os.environ.get("PIPESCOPE_LIBRARY") or os.environ.get("PIPESCOPE_RECORD_LIBRARY")
           or os.path.join(ROOT, "build", "release", "libpipescope-record.so"))
PROGRAM = os.environ.get("PIPESCOPE_BIN") or os.path.join(ROOT, "build", "release", "pipescope")
os.environ.setdefault("PIPESCOPE_ANALYSIS_LIBRARY", os.path.join(ROOT, "build", "release", "libpipescope.so.0"))
EXTENSION = os.environ.get("PIPESCOPE_PYTHON_EXTENSION", "0")
PATIENCE = 120  # seconds for anything that should take a few

if PACKAGE not in sys.path:
    sys.path.insert(0, PACKAGE)

_pythons = {}


def clean_environment(**more):
    """Without what would change a recording."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("PIPESCOPE_") and k not in ("RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID",
                                                                  "PADDLE_TRAINER_ID")}
    env.update(PYTHONPATH=PACKAGE, PIPESCOPE_LIBRARY=LIBRARY, PIPESCOPE_ANALYSIS_LIBRARY=os.environ["PIPESCOPE_ANALYSIS_LIBRARY"], PYTHONDONTWRITEBYTECODE="1", PIPESCOPE_PYTHON_EXTENSION=EXTENSION,
               PIPESCOPE_CACHE_DIR=CACHE)
    env.update(more)
    return env


def torch_python():
    """A Python that has PyTorch with pipelines, None when there is none."""
    python = os.environ.get("PIPESCOPE_PYTHON") or sys.executable
    if python not in _pythons:
        try:
            # Without loading it, which takes seconds.
            done = subprocess.run([python, "-c", "import importlib.util as u, os, sys; s = u.find_spec('torch'); sys.exit(not (s "
                                   "and os.path.isdir(os.path.join(os.path.dirname(s.origin), 'distributed', 'pipelining'))))"],
                                  capture_output=True, timeout=PATIENCE)
            _pythons[python] = done.returncode == 0
        except (OSError, subprocess.SubprocessError):
            _pythons[python] = False
    return python if _pythons[python] else None


def package(name, version):
    """The folder with the content of a package of the Python package index, without what it needs: fetched once into build/cache, as
    tests/e2e/lib/packages.sh does. None where it cannot be had for this Python."""
    folder = os.path.join(ROOT, "build", "cache", "%s-%s" % (name, version))
    complete, wheels = os.path.join(folder, "complete"), os.path.join(folder, "wheel")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(complete):
            shutil.rmtree(folder, ignore_errors=True)
            os.makedirs(wheels)
            try:
                subprocess.run([torch_python() or sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-input",
                                "--retries", "1", "--timeout", "10", "--no-deps", "--only-binary", ":all:", "-d", wheels,
                                "%s==%s" % (name, version)], capture_output=True, timeout=PATIENCE, check=True)
                zipfile.ZipFile(glob.glob(os.path.join(wheels, "*.whl"))[0]).extractall(folder)
            except (OSError, subprocess.SubprocessError, IndexError):
                return None
            shutil.rmtree(wheels)
            with open(complete, "w", encoding="utf-8"):
                pass
    return folder


FRAMES = ("pyarrow", "pandas", "polars", "duckdb", "nbclient", "ipykernel")


def _has_frames(python):
    code = "import importlib.util as u, sys; sys.exit(not all(u.find_spec(name) for name in %r))" % (FRAMES,)
    return subprocess.run([python, "-c", code], capture_output=True, check=False).returncode == 0


def frames_python():
    """A Python that has what takes columns (FRAMES): the one named, this one, or an environment that is made once in build/cache (600 MB).
    None where that cannot be had."""
    for python in (os.environ.get("PIPESCOPE_FRAMES_PYTHON"), sys.executable):
        if python and _has_frames(python):
            return python
    folder = os.path.join(ROOT, "build", "cache", "frames-%d.%d" % sys.version_info[:2])
    python, complete = os.path.join(folder, "bin", "python"), os.path.join(folder, "complete")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(complete):
            shutil.rmtree(folder, ignore_errors=True)
            try:
                subprocess.run([sys.executable, "-m", "venv", folder], capture_output=True, check=True)
                subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input", "--retries", "1",
                                "--timeout", "10", "--only-binary", ":all:", *FRAMES], capture_output=True, timeout=2 * PATIENCE, check=True)
            except (OSError, subprocess.SubprocessError):
                return None
            with open(complete, "w", encoding="utf-8"):
                pass
    return python


def go_on_in_frames_python():
    """Runs the calling file in a Python that has FRAMES, or skips it by name."""
    if os.environ.get("PIPESCOPE_SANITIZED"):
        skip("this Python cannot load a library with sanitizers")
    python = frames_python()
    if python is None:
        skip("no pyarrow, pandas, polars, duckdb, nbclient: they cannot be had for this Python (name one in PIPESCOPE_FRAMES_PYTHON)")
    if os.path.realpath(python) != os.path.realpath(sys.executable) or not _has_frames(sys.executable):
        os.execv(python, [python, "-B", os.path.abspath(sys.argv[0]), *sys.argv[1:]])


class Database:
    """The database of one rank."""

    def __init__(self, path):
        self.path = path
        self.db = sqlite3.connect("file:%s?mode=ro" % path, uri=True)

    def rows(self, query, *values):
        return self.db.execute(query, values).fetchall()

    def ranges(self):
        """(message, domain, start, end, has a device row) of all ranges, by start."""
        return self.rows("""SELECT m.value, d.value, e.startNs, e.endNs,
                                   EXISTS (SELECT 1 FROM TASK t WHERE t.connectionId = e.connectionId)
                            FROM MSTX_EVENTS e JOIN STRING_IDS m ON m.id = e.message JOIN STRING_IDS d ON d.id = e.domainId
                            WHERE e.eventType = 2 ORDER BY e.startNs, e.rowid""")

    def marks(self):
        return self.rows("""SELECT m.value, d.value FROM MSTX_EVENTS e JOIN STRING_IDS m ON m.id = e.message
                            JOIN STRING_IDS d ON d.id = e.domainId WHERE e.eventType = 3 ORDER BY e.startNs, e.rowid""")

    def names(self, domain=None):
        return [r[0] for r in self.ranges() if not r[0].startswith("ProfilerStep#") and domain in (None, r[1])]

    def steps(self):
        return [r[0] for r in self.rows("SELECT id FROM STEP_TIME ORDER BY id")]

    def metadata(self):
        return dict(self.rows("SELECT name, value FROM META_DATA"))


class Case(unittest.TestCase):
    """A test with a folder of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def run_python(self, code, status=0, python=sys.executable, arguments=(), **env):
        """Runs a program text in the test's folder; its stdout and stderr."""
        script = self.path("program.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(code)
        return self.run_script(script, status, python, arguments, **env)

    def run_script(self, script, status=0, python=sys.executable, arguments=(), **env):
        done = subprocess.run([python, script, *arguments], cwd=self.folder, env=clean_environment(**env), text=True,
                              capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout, done.stderr

    def folders(self, where="."):
        return sorted(glob.glob(self.path(where, "*_ascend_pt")))

    def databases(self, where="."):
        """All of them, by folder name: in the order in which they were recorded by one process."""
        found = []
        for folder in self.folders(where):
            for path in sorted(glob.glob(os.path.join(folder, "ASCEND_PROFILER_OUTPUT", "*.db"))):
                found.append(Database(path))
                self.addCleanup(found[-1].db.close)
        return found

    def database(self, where="."):
        found = self.databases(where)
        self.assertEqual(len(found), 1, os.listdir(self.path(where)))
        return found[0]

    def ran(self, folder, database):
        """What the rank of a database ran, as the program itself noted it."""
        with open(os.path.join(folder, "ran_%s.json" % database.path[-4]), encoding="utf-8") as file:
            return json.load(file)

    def info(self, where="."):
        paths = glob.glob(os.path.join(self.folders(where)[0], "profiler_info*.json"))
        with open(paths[0], encoding="utf-8") as file:
            return json.load(file)

    def pipescope(self, *arguments, status=0):
        done = subprocess.run([PROGRAM, *arguments], text=True, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stdout


class FakeLibrary:
    """Stands for the library's functions: notes the calls, and pretends."""

    def __init__(self):
        self.calls = []
        self.is_on = False
        self.options = {}
        self.codes = {}
        self.word = memoryview(bytearray(4)).cast("I")

    def take(self):
        calls, self.calls = self.calls, []
        return calls

    def _call(self, name, *values):
        self.calls.append(name if not values else (name, *values))
        return self.codes.get(name, 0)

    def enabled(self):
        return int(self.is_on)

    def start(self):
        if self.is_on:
            return -2
        self.is_on = True
        self.word[0] = 1
        return self._call("start")

    def stop(self):
        self.is_on = False
        self.word[0] = 0
        return self._call("stop")

    def warmup(self):
        return self._call("warmup")

    def discard(self):
        return self._call("discard")

    def export(self, path):
        return self._call("export") if path is None else self._call("export", path)

    def last(self):
        return self.calls.count("stop")

    def export_recording(self, number, path):
        return self.export(path)

    def step_begin(self, number, _stream):
        return self._call("begin", number)

    def step_end(self):
        return self._call("end")

    def step(self, _stream):
        return self._call("step")

    def set(self, name, value):
        self.options[name.decode()] = value
        return 0

    def add_metadata(self, key, value):
        return self._call("metadata", key.decode(), value.decode())

    def error_text(self, code):
        return b"error %d" % code

    def get_stats(self, out):
        out._obj.n_ranges, out._obj.n_marks = 1, 2
        return 0

    def directory(self, buffer, size):
        buffer.value = os.fsencode(SCRIPTS)
        return 0


def use_fake_library():
    """Puts a FakeLibrary in the place of the real one, for the whole process."""
    os.environ["PIPESCOPE_LIBRARY"] = os.devnull
    os.environ["PIPESCOPE_QUIET"] = "1"
    os.environ.pop("PIPESCOPE_WINDOW", None)
    from pipescope import _library
    fake = FakeLibrary()
    _library._functions, _library._looked = fake, True
    return fake


def skip(reason):
    print("skipped: " + reason)
    sys.exit(77)


def main(needs_library=True, needs_torch=False):
    """Runs the tests of the calling file; the file counts as one for CTest."""
    if needs_library and os.environ.get("PIPESCOPE_SANITIZED"):
        skip("this Python cannot load a library with sanitizers")
    if EXTENSION == "missing":
        skip("the extension in C was not built: no Python.h")
    if needs_torch and torch_python() is None:
        skip("no Python with torch.distributed.pipelining (name one in PIPESCOPE_PYTHON)")
    suite = unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)

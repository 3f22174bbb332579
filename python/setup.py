"""Builds libpipescope-record.so into the wheel, with nothing but a C compiler ($CC, else cc).

The sources are those of the repository around this folder; a source distribution carries a copy in csrc/. The wheel is for
one platform and any Python 3: the library is called through ctypes.

Where this Python has its headers the wheel also gets the extension _recorder, which makes the frequent calls cheaper. Built by
Python 3.10 or newer it serves all of those, else this version alone; other Pythons find none and use ctypes. Without
headers it is left out, which a line of the build says.
"""
import concurrent.futures
import glob
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py
from setuptools.command.sdist import sdist

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # older setuptools leave it to wheel
    from wheel.bdist_wheel import bdist_wheel

HERE = os.path.dirname(os.path.abspath(__file__))
COPY = os.path.join(HERE, "csrc")
ROOT = COPY if os.path.isdir(COPY) else os.path.dirname(HERE)
LIBRARY = "libpipescope-record.so"
EXTENSION = ("extension.c", "extension_job.c")

# As CMakeLists.txt builds the target pipescope-record.
COMPILE = ["-std=c17", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-pthread"]
LINK = ["-shared", "-Wl,-z,nodelete", "-Wl,-z,now", "-pthread", "-ldl", "-lm"]
# Of the hot path, where the compiler knows them (x86-64).
HOT = ("src/record/core/events.c", "src/record/core/threads.c")
HOT_COMPILE = ["-mgeneral-regs-only", "-mtls-dialect=gnu2"]


def read(*names):
    with open(os.path.join(ROOT, *names), encoding="utf-8") as file:
        return file.read()


def version():
    """From the one place that says it."""
    return re.search(r"project\(pipescope VERSION ([0-9.]+)", read("CMakeLists.txt")).group(1)


def sources():
    """The C files of the library, from the root."""
    base = ["src/base/" + name for name in read("src", "record", "base_files.txt").split()]
    found = glob.glob(os.path.join(ROOT, "src/record/*/*.c"))
    return sorted(os.path.relpath(path, ROOT) for path in found) + base


def needed():
    """All files of the root that a build needs."""
    files = ["CMakeLists.txt", "src/record/base_files.txt"] + sources()
    for pattern in ("include/pipescope/*.h", "src/base/*.h", "src/base/*.def", "src/record/*/*.h",
                    "src/record/*/*.def"):
        files += [os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, pattern))]
    files += [name for name in ("LICENSE",) if os.path.exists(os.path.join(ROOT, name))]
    return sorted(set(files))


def run(command):
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except FileNotFoundError:
        raise SystemExit("pipescope needs a C compiler: install gcc or clang, or name one in CC")
    except subprocess.CalledProcessError as error:
        raise SystemExit("%s could not be built (%s ended with status %d)" % (LIBRARY, command[0], error.returncode))


def build_library(target, folder):
    """`folder`: for what is only needed meanwhile."""
    compiler = shlex.split(os.environ.get("CC") or "cc")
    flags = COMPILE + shlex.split(os.environ.get("CFLAGS", ""))
    flags += ['-DPIPESCOPE_VERSION="%s"' % version(), "-Isrc", "-Iinclude"]
    os.makedirs(folder, exist_ok=True)
    knows_hot = subprocess.run(compiler + HOT_COMPILE + ["-x", "c", "-c", os.devnull, "-o", os.devnull],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0
    hot = HOT_COMPILE if knows_hot else []
    objects = {name: os.path.join(os.path.abspath(folder), name.replace("/", "_")[:-2] + ".o") for name in sources()}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda name: run(compiler + flags + (hot if name in HOT else []) + ["-c", name, "-o", objects[name]]),
                      objects))
    run(compiler + flags + sorted(objects.values()) + ["-o", os.path.abspath(target)] + LINK
        + shlex.split(os.environ.get("LDFLAGS", "")))


def extension_name():
    return "_recorder" + (".abi3.so" if sys.version_info >= (3, 10) else sysconfig.get_config_var("EXT_SUFFIX"))


def build_extension(target):
    """Whether there is one now; else a line has said why not."""
    folders = sorted({sysconfig.get_paths()[key] for key in ("include", "platinclude")})
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        why = "this Python has no lock of its interpreter, or is not CPython"
    elif not any(os.path.exists(os.path.join(folder, "Python.h")) for folder in folders):
        why = "there is no Python.h (package python3-dev)"
    else:
        command = shlex.split(os.environ.get("CC") or "cc") + COMPILE + shlex.split(os.environ.get("CFLAGS", ""))
        command += ["-I" + folder for folder in folders] + ["-shared", *(os.path.join(HERE, name) for name in EXTENSION),
                                                            "-o", os.path.abspath(target)] + shlex.split(os.environ.get("LDFLAGS", ""))
        try:
            subprocess.run(command, cwd=HERE, check=True)
            return True
        except (OSError, subprocess.CalledProcessError) as error:
            why = "it could not be compiled (%s)" % error
    print("pipescope: the extension in C is left out, ctypes does its work: " + why, flush=True)
    return False


class BuildWithLibrary(build_py):
    extension = ()

    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "pipescope")
        with open(os.path.join(package, "_version.py"), "w", encoding="utf-8") as file:
            file.write('VERSION = "%s"\n' % version())
        build_library(os.path.join(package, LIBRARY), self.get_finalized_command("build").build_temp)
        if build_extension(os.path.join(package, extension_name())):
            self.extension = (extension_name(),)

    def get_outputs(self, include_bytecode=1):
        package = os.path.join(self.build_lib, "pipescope")
        return super().get_outputs(include_bytecode) + [os.path.join(package, n)
                                                        for n in ("_version.py", LIBRARY, *self.extension)]


class SourcesWithLibrary(sdist):
    def make_release_tree(self, base_dir, files):
        super().make_release_tree(base_dir, files)
        for name in (*EXTENSION, "extension.h"):
            shutil.copyfile(os.path.join(HERE, name), os.path.join(base_dir, name))
        for name in needed():
            target = os.path.join(base_dir, "csrc", name)
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(os.path.join(ROOT, name), target)


class PlatformWheel(bdist_wheel):
    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(version=version(), distclass=PlatformDistribution,
      cmdclass={"build_py": BuildWithLibrary, "sdist": SourcesWithLibrary, "bdist_wheel": PlatformWheel})

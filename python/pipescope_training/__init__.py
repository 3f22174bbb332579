"""What belongs to the distribution pipescope-training and not to the package pipescope: the command `pipescope` of a wheel, and
whether another distribution, called pipescope on the package index and nothing to do with this one, is in its way.

Imports next to nothing: each run of the command pays for it.
"""
import os
import sys

_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_ADVICE = "`pip uninstall pipescope`, then `pip install --force-reinstall --no-deps pipescope-training`"


def program():
    """The path of the program of this wheel; None where it was installed without one (from source)."""
    path = os.path.join(_FOLDER, "pipescope", "pipescope")
    return path if os.path.isfile(path) else None


def clash():
    """A sentence about a distribution called pipescope that is installed in the same place; None without one. Its command
    `pipescope` and this one's are the same file: the one that was installed last has it, and who uninstalls one takes it from both."""
    try:
        names = os.listdir(_FOLDER)
    except OSError:  # in an archive
        return None
    for name in sorted(names):
        if name.startswith("pipescope-") and name.endswith((".dist-info", ".egg-info")):
            version = name[len("pipescope-"):].rsplit(".", 1)[0]
            return ("another distribution, pipescope %s, is installed beside pipescope-training: both have a command `pipescope`, and the one "
                    "installed last won; %s" % (version, _ADVICE))
    return None


def shadow():
    """A sentence about what `import pipescope` finds instead of this one's package; None when it finds that."""
    from importlib import machinery

    ours = os.path.join(_FOLDER, "pipescope")
    found = machinery.PathFinder.find_spec("pipescope", [place for place in sys.path if not _is_of_scripts(place)])
    where = None if found is None else os.path.dirname(found.origin) if found.origin else list(found.submodule_search_locations or [""])[0]
    if where is not None and os.path.realpath(where) == os.path.realpath(ours):
        return None
    if where is None:
        return "`import pipescope` finds nothing here, though pipescope-training is installed in %s" % _FOLDER
    return "`import pipescope` finds %s and not the package of pipescope-training in %s" % (where, ours)


def _is_of_scripts(place):
    """The folder of the command itself, which stands in sys.path while it runs and at no other time."""
    return os.path.realpath(place) == os.path.realpath(os.path.dirname(sys.argv[0])) if sys.argv[0] else False


def main():
    """The command: puts the program in the place of this process."""
    path = program()
    if path is None:
        sys.exit("pipescope: this installation has no program: it was built from source without one; `pip install pipescope-training`, or "
                 "`./dev build` in the repository")
    if sys.argv[1:2] and sys.argv[1] in ("version", "--version", "-v", "-V", "info"):
        for said in (clash(), shadow()):
            if said is not None:
                sys.stderr.write("pipescope: %s\n" % said)
    try:
        os.execv(path, ["pipescope", *sys.argv[1:]])
    except OSError as error:
        sys.exit("pipescope: %s cannot be run: %s" % (path, error.strerror))

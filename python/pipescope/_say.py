"""One-line messages to the user, each once a process, through the logger "pipescope" (on stderr unless the program says
otherwise). Nothing in this package may disturb the program: what goes wrong is said here and swallowed."""
import logging
import os

logger = logging.getLogger("pipescope")
_said = set()


_quiet = None  # as set_option said; None: as the variable says
_YES = ("1", "true", "yes", "on", "True")  # as the library reads a switch


def set_quiet(value):
    """`value`: of the option quiet; None: back to the variable."""
    global _quiet
    _quiet = None if value is None else str(value) in _YES


def is_quiet():
    return os.environ.get("PIPESCOPE_QUIET", "0") in _YES if _quiet is None else _quiet


def tell(text, *values):
    """What was done; nothing is wrong."""
    if not is_quiet():
        logger.warning("pipescope: " + text, *values)


def warn(text, *values):
    tell(text, *values)


def launched():
    """Under `pipescope record`, which says in one table what all processes recorded."""
    return os.environ.get("PIPESCOPE_LAUNCH", "") != ""


def counted(n, what):
    return "%d %s%s" % (n, what, "" if n == 1 else "s")


def warn_once(key, text, *values):
    """Only the first time for this key."""
    if key not in _said:
        _said.add(key)
        warn(text, *values)

#!/usr/bin/env python3
"""threadless.py BUILD: the tests of a build, as unit.a|e2e.b, that the thread sanitizer has nothing to see in.

Unit tests in which no thread can run: none of the objects that such a test is linked of names a function that makes threads, or one
that loads a library that could. The program itself does not tell: a sanitizer's runtime brings these functions into each.
Scripts that do not say what runs side by side in them (`# threads: ...` among their first lines): they ask for other things of
commands whose threads run in those that do.
"""
import glob
import os
import re
import subprocess
import sys

MAKES_THREADS = re.compile(r"^(pthread_create|thrd_create|MHD_start_daemon|timer_create|mq_notify|aio_\w+|dlopen)$")


def symbols(path, *options):
    """(object, type, name) of each symbol."""
    text = subprocess.run(["nm", "-A", *options, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True).stdout
    for line in text.splitlines():
        found, _, rest = line.rpartition(":")
        words = rest.split()
        yield found, words[-2], words[-1]


def names_maker(of_objects):
    """The objects that name one."""
    return {found for found, kind, name in of_objects if kind == "U" and MAKES_THREADS.match(name)}


def main(build):
    makers = set()
    for archive in glob.glob(os.path.join(build, "*.a")) + glob.glob(os.path.join(build, "tests", "*.a")):
        listed = list(symbols(archive))
        naming = names_maker(listed)
        makers |= {name for found, kind, name in listed if kind == "T" and found in naming}
    threadless = []
    for program in sorted(glob.glob(os.path.join(build, "unit", "test_*"))):
        test = os.path.basename(program)
        own = glob.glob(os.path.join(build, "tests", "CMakeFiles", test + ".dir", "unit", "*.o"))
        linked = {name for _, _, name in symbols(program, "--defined-only")}
        if own and not linked & makers and not any(names_maker(symbols(path)) for path in own):
            threadless.append("unit." + test[len("test_"):])
    for script in sorted(glob.glob(os.path.join(os.path.dirname(__file__), "e2e", "*.sh"))):
        with open(script, encoding="utf-8") as lines:
            if not any(line.startswith("# threads: ") for line in lines):
                threadless.append("e2e." + os.path.basename(script)[:-len(".sh")])
    print("|".join(threadless))


if __name__ == "__main__":
    main(sys.argv[1])

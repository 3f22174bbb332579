#!/usr/bin/env python3
"""Finds calls that the project does without: tests/lint/banned.py [ROOT]

Comments and strings do not count. Exit status 1 when a call was found.
"""
import os
import re
import sys

# (names, rooms or files where they are allowed, what to do instead)
RULES = [
    ("sprintf vsprintf strcpy strcat strncpy strncat gets stpcpy", (), "write into a ps_buf or use snprintf"),
    ("strtok strerror", (), "not safe with threads: use strtok_r or ps_errno_text (base/err.h)"),
    ("strerror_r", ("base/err.c",), "C libraries have two of them: use ps_errno_text (base/err.h)"),
    ("atoi atol atoll atof", (), "errors pass unseen: use the parsers of base/num.h"),
    ("gmtime localtime asctime ctime", (), "not safe with threads: use gmtime_r"),
    ("rand srand random drand48", (), "results must repeat: use base/rng.h"),
    ("alloca tmpnam tempnam mktemp system popen setlocale", (), "unbounded, unsafe or process-wide"),
    ("malloc calloc realloc reallocarray free strdup strndup asprintf vasprintf posix_memalign aligned_alloc",
     ("base",), "memory comes from base/alloc.h, base/arena.h or base/buf.h"),
    ("printf vprintf puts putchar perror exit _Exit quick_exit abort", ("cli",),
     "only src/cli prints and exits: return a ps_err"),
    ("_exit", ("cli", "mpi", "base/child.c"), "only a child process (base/child.h) and src/cli exit: return a ps_err"),
]
TOKENS = re.compile(r"""//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)


def code_only(text):
    """The text with comments and literals blanked out, line by line as it was."""
    return TOKENS.sub(lambda m: re.sub(r"[^\n]", " ", m.group(0)), text)


def check(root, path):
    room = path.split(os.sep)[1]
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        code = code_only(file.read())
    found = []
    for names, rooms, advice in RULES:
        if room in rooms or path[len("src/"):] in rooms:
            continue
        # A call; not a member (x.free, x->free), not part of a longer name, not the text of an #error or #define.
        call = re.compile(r"(?<![\w.>#])(%s)\s*\(" % "|".join(names.split()))
        for number, line in enumerate(code.split("\n"), 1):
            if line.lstrip().startswith("#"):
                continue
            for match in call.finditer(line):
                found.append("%s:%d: %s: %s" % (path, number, match.group(1), advice))
    return found


def main(root):
    found = []
    for folder, folders, names in os.walk(os.path.join(root, "src")):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".c", ".h")):
                found += check(root, os.path.relpath(os.path.join(folder, name), root))
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")))

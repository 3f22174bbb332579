#!/usr/bin/env python3
"""Counts private functions that share their name with one of another file: tests/lint/names.py [ROOT]

A name says what its function works on (reduce_slow_rank, put_lateness_row): who greps for it finds it. MOST_SHARED percent
may share theirs; above that the names that most files share are printed, and the exit status is 1.
"""
import collections
import os
import re
import sys

MOST_SHARED = 10.0
COMMENT = re.compile(r"/\*.*?\*/", re.S)
PRIVATE = re.compile(r"^static [^;={}]*?\b([a-z]\w*)\([^;{}]*\)\s*\{", re.M)


def read_names(root):
    """{name: paths of the files that have a private function of it}"""
    found = collections.defaultdict(set)
    for folder, _, names in os.walk(os.path.join(root, "src")):
        for name in names:
            if name.endswith(".c"):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    for function in PRIVATE.findall(COMMENT.sub("", file.read())):
                        found[function].add(os.path.relpath(path, root))
    return found


def main(root):
    found = read_names(root)
    n = sum(len(paths) for paths in found.values())
    shared = {name: paths for name, paths in found.items() if len(paths) > 1}
    n_shared = sum(len(paths) for paths in shared.values())
    if n_shared * 100 <= n * MOST_SHARED:
        return 0
    print("%d of %d private functions share their name with one of another file, more than %g %%: put what they work on "
          "into their names" % (n_shared, n, MOST_SHARED))
    for name, paths in sorted(shared.items(), key=lambda item: (-len(item[1]), item[0]))[:20]:
        print("  %s: %s" % (name, ", ".join(sorted(paths))))
    return 1


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")))

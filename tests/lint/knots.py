#!/usr/bin/env python3
"""Finds knots of modules: tests/lint/knots.py [ROOT]

A module is a .c with its .h. A knot is a set of modules each of which includes, by way of others, all the others: none of
them can be read, tested or moved alone. A module and its own parts, whose names begin with its name (mfu, mfu_records),
are one thing in several files: the arrow from the module to its part does not count, the arrow back does.

KNOWN holds the knots that still stand; a knot that is not there, or has grown, is a fault, and so is an entry that
stands no more. Exit status 1 when there is one.
"""
import os
import re
import sys

KNOWN = ()
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.M)


def read_modules(root):
    """{module: set of modules it includes}, modules as paths below src without their endings"""
    paths = []
    for folder, _, names in os.walk(os.path.join(root, "src")):
        paths += [os.path.relpath(os.path.join(folder, name), os.path.join(root, "src"))
                  for name in names if name.endswith((".c", ".h"))]
    known = set(paths)
    includes = {}
    for path in paths:
        module = os.path.splitext(path)[0]
        found = includes.setdefault(module, set())
        with open(os.path.join(root, "src", path), encoding="utf-8") as file:
            for name in INCLUDE.findall(file.read()):
                beside = os.path.normpath(os.path.join(os.path.dirname(path), name))
                target = beside if beside in known else os.path.normpath(name)
                if target in known and os.path.splitext(target)[0] != module:
                    found.add(os.path.splitext(target)[0])
    return includes


def is_part(module, part):
    """analyze/mfu has the part analyze/mfu_records; record/session/session_parts.h is what the parts of session share"""
    return part.startswith(module + "_")


def find_knots(includes):
    """Strongly connected sets of two and more modules (Tarjan 1972), each sorted."""
    index, low, stack, knots = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in sorted(includes[module]):
            if is_part(module, target):
                continue
            if target not in index:
                visit(target)
                low[module] = min(low[module], low[target])
            elif target in stack:
                low[module] = min(low[module], index[target])
        if low[module] == index[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                knots.append(tuple(sorted(stack[at:])))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for module in sorted(includes):
        if module not in index:
            visit(module)
    return knots


def main(root):
    knots = find_knots(read_modules(root))
    faults = ["a knot: %s include one another" % ", ".join(k) for k in knots if k not in KNOWN]
    faults += ["KNOWN names a knot that stands no more: %s" % ", ".join(k) for k in KNOWN if k not in knots]
    for fault in sorted(faults):
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")))

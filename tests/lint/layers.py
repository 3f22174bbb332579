#!/usr/bin/env python3
"""Checks who includes whom: tests/lint/layers.py [ROOT]

    base <- model <- schedule <- { read, analyze, write } <- run <- query <- { serve, library } <- cli <- mpi

A room may include itself and the rooms left of it; read, analyze and write do not include one another, nor do serve and library. record may
include base, and only cli may include record. Anything may include include/pipescope, which includes nothing of src.

The large rooms have sub-rooms (SUBROOMS): each may include itself and those before it. What lies in such a room itself is
above all of them, but for CONTRACTS, which are below.

    base <- pipeline <- words <- api <- model <- panels <- timeline <- pages <- app

are the rooms of web/src, with the same rule (pipeline is the chart that also stands alone). Prints each arrow that goes the wrong way; exit
status 1 when there is one.
"""
import os
import re
import sys

LEVEL = {"base": 0, "model": 1, "schedule": 2, "read": 3, "analyze": 3, "write": 3, "run": 4, "query": 5, "serve": 6, "library": 6, "cli": 7, "mpi": 8}
WEB = ("base", "pipeline", "words", "api", "model", "panels", "timeline", "pages", "app")
RECORD = "record"
PUBLIC = "include"
# docs/architecture.md says what each holds.
SUBROOMS = {
    "analyze": ("core", "stats", "rank", "comm", "mfu", "modules", "derived", "pipeline", "whatif", "report", "modes", "views"),
    "read": ("sqlite", "events", "ascend", "ascend_db", "ascend_text", "kineto", "ndtimeline", "chrome", "nsight", "paddle"),
    "write": ("out", "table", "chart", "trace", "report", "simulated"),
    "serve": ("rank", "http", "select", "cross", "cluster", "routes"),
    "record": ("ring", "core", "export", "gpu", "session", "nvtx", "mstx"),
}
CONTRACTS = ("src/read/reader.h",)
IMPORT = re.compile(r'(?:\bfrom|^import) "(\.[^"]+)"')
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')


def allowed(source, target):
    if source == target or target == PUBLIC:
        return True
    if source == PUBLIC:
        return False
    if source == RECORD:
        return target == "base"
    if target == RECORD:
        return source == "cli"
    return LEVEL[target] < LEVEL[source]


def room_of(path):
    """src/read/sqlite/scan.c -> read; include/pipescope/record.h -> include; anything else -> None"""
    parts = path.split(os.sep)
    if parts[0] == PUBLIC:
        return PUBLIC
    return parts[1] if parts[0] == "src" and len(parts) > 2 else None


def height(path):
    """Where a file stands among the sub-rooms of its room; None in a room without."""
    parts = path.split(os.sep)
    order = SUBROOMS.get(parts[1]) if parts[0] == "src" else None
    if order is None:
        return None
    if len(parts) == 3:
        return -1 if path in CONTRACTS else len(order)
    return order.index(parts[2]) if parts[2] in order else -2


def check_subrooms(path, number, target):
    """A fault, or None. Both lie in the same room."""
    source_at, target_at = height(path), height(target)
    if source_at is None or target_at <= source_at:
        return None
    return "%s:%d: %s may not include %s" % (path, number, os.path.dirname(path), target)


def resolve(root, path, name):
    """The included file as a path from the root, looked for as the compiler does; None when it is not in the tree."""
    for folder in (os.path.dirname(path), "src", "include"):
        found = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(root, found)):
            return found
    # Not written yet, or generated: its first folder says where it belongs.
    return os.path.join("src", os.path.normpath(name)) if "/" in name else None


def check(root, path):
    room = room_of(path)
    if room is None or (room != PUBLIC and room != RECORD and room not in LEVEL):
        return ["%s: lies in no known room (%s, record)" % (path, ", ".join(LEVEL))]
    faults = ["%s: lies in no known sub-room" % path] if height(path) == -2 else []
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            target_path = resolve(root, path, match.group(1)) if match else None
            if target_path is None:
                continue
            target = PUBLIC if target_path.startswith("src/pipescope/") else room_of(target_path)
            known = target in LEVEL or target in (RECORD, PUBLIC)
            if not known or not allowed(room, target):
                faults.append('%s:%d: %s may not include %s ("%s")'
                              % (path, number, room, target or "this", match.group(1)))
            elif room == target and check_subrooms(path, number, target_path):
                faults.append(check_subrooms(path, number, target_path))
    return faults


def web_room(path):
    """timeline/view.tsx -> timeline; words.ts -> words"""
    return path.split(os.sep)[0].split(".")[0]


def check_web(root, path):
    top = os.path.join("web", "src")
    own = os.path.relpath(path, top)
    room = web_room(own)
    if room not in WEB:
        return ["%s: lies in no known room (%s)" % (path, ", ".join(WEB))]
    faults = []
    with open(os.path.join(root, path), encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            for name in IMPORT.findall(line):
                target = web_room(os.path.normpath(os.path.join(os.path.dirname(own), name)))
                if target != room and (target not in WEB or WEB.index(target) > WEB.index(room)):
                    faults.append('%s:%d: %s may not import %s ("%s")' % (path, number, room, target, name))
    return faults


def main(root):
    faults = []
    for folder, folders, names in os.walk(os.path.join(root, "web", "src")):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".ts", ".tsx")):
                faults += check_web(root, os.path.relpath(os.path.join(folder, name), root))
    for top in ("src", "include"):
        for folder, folders, names in os.walk(os.path.join(root, top)):
            folders.sort()
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".inc")):
                    faults += check(root, os.path.relpath(os.path.join(folder, name), root))
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    here = os.path.dirname(os.path.abspath(__file__))
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(here, "..", "..")))

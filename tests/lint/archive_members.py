#!/usr/bin/env python3
"""Finds members of structs that a visitor of base/archive.h forgets: tests/lint/archive_members.py [ROOT]

A function `void ..(ps_archive *a, TYPE *x)`, or `(ps_archive *a, void *p)` with `TYPE *x = ...` in it, names the members of TYPE that travel; several
functions may share them. A member that none of them names, and that does not stand below with its reason, would be lost between two processes. Exit status 1 then,
and when a member stands below that travels or is there no longer.
"""
import os
import re
import sys

# What stays behind, by type. Room in an array (`cap..`) is never named: there is none in what was read.
STAYS = {
    "partial": "row_of",  # time_summary: an index, made when the rows are there
    "ps_given_label": "parts n_parts",  # an index into a list that the reduce makes
    "ps_dispatch": "worst n_worst",  # looked at by the map alone
    "ps_overlaps": "spans places n_places",  # looked at by the map alone
    "ps_named_sums": "rows",  # an index, made when a row is added
    "ps_literal": "begin source_len ints",  # its place in a text that does not travel; of packed ones, which do not either
    "ps_call_tree": "places",  # an index, made when a node is added; one that was read is only added to others
    "ps_table": "failed made",  # a table whose rows are made when they are written: its maker travels
    "ps_comm_op": "look",  # an address: which of the list's it is travels as a number
    "ps_cluster_rank": "noted",  # of files with several ranks, which do not travel
    "ps_rank_write": "rank",  # whoever writes knows its own
    "ps_column": "member is_shared is_slice",  # of a table that is being filled; of queries
}
COMMENT = re.compile(r"/\*.*?\*/", re.S)
STRUCT = re.compile(r"typedef struct (?:\w+ )?\{(.*?)\n\} (\w+);", re.S)
VISITOR = re.compile(r"\n(?:static )?void \w+\(ps_archive \*a, (\w+) \**(\w+)[^)]*\) \{\n(.*?)\n\}\n", re.S)


def members_of(body):
    """Names of the members, nested structs as one."""
    names = []
    body = re.sub(r"\{[^{}]*\}", "", body)
    for declaration in body.split(";"):
        declaration = re.sub(r"\[[^\]]*\]|: *\d+", "", declaration.strip())  # sizes of arrays, widths in bits
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        parts = [pointer.group(1)] if pointer else declaration.split(",")
        names += [words[-1] for words in (re.findall(r"\w+", part) for part in parts) if words]
    return [name for name in names if not name.startswith("cap")]


def read_sources(root):
    for folder, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            if name.endswith((".c", ".h")) and not name.startswith("archive."):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8") as file:
                    yield os.path.relpath(path, root).replace(os.sep, "/"), COMMENT.sub("", file.read())


def main(root):
    sources = list(read_sources(root))
    structs, visited = {}, {}
    for path, text in sources:
        for body, name in STRUCT.findall(text):
            structs.setdefault(name, {})[path] = members_of(body)
    for path, text in sources:
        for given, _, body in VISITOR.findall(text):
            of = re.search(r"(?:^|\n)\s+(\w+) \*x = ", body) if given == "void" else re.match(r"(\w+)", given)
            if of is not None and of.group(1) in structs:
                # A type of a file's own is that of the file; others have one name in all of src.
                own = path if path in structs[of.group(1)] else ""
                visited.setdefault((of.group(1), own), [path, ""])[1] += body
    faults, stayed = [], {}
    for (kind, own), (path, body) in sorted(visited.items()):
        found = structs.get(kind, {})
        every = [found[own]] if own != "" else found.values()
        lost = min(([m for m in members if not re.search(r"\b%s\b" % m, body)] for members in every), key=len)
        stayed.setdefault(kind, set()).update(lost)
        faults += ["%s: %s.%s does not travel" % (path, kind, m) for m in lost if m not in STAYS.get(kind, "").split()]
    for kind, names in sorted(STAYS.items()):
        faults += ["tests/lint/archive_members.py: %s.%s need not stand there" % (kind, name)
                   for name in names.split() if name not in stayed.get(kind, set())]
    for fault in faults:
        print(fault)
    return 1 if faults or not visited else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")))

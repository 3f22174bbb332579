"""The columns of tables that modes and views make, over captures: made_columns.py [--write FILE] PATH...

Without --write: that src/query/made_columns.def holds all that these captures have, with the same types.
"""
import csv
import io
import re
import subprocess
import sys

DEF = "src/query/made_columns.def"
HEAD = """/* Made by tests/support/made_columns.py --write; do not edit. X(table, column, type): what `pipescope query PATH --schema` prints
 * over the captures of tests/data. The type is the declaration in SQL, with the unit. */
"""


def columns_of(path):
    done = subprocess.run(("pipescope", "query", path, "--schema", "--as", "csv"), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit("exit %d: query %s --schema\n%s" % (done.returncode, path, done.stderr))
    return [tuple(row) for row in list(csv.reader(io.StringIO(done.stdout)))[1:]]


def add(tables, table, columns):
    """A column that others have not stands behind the one before it."""
    known = tables.setdefault(table, [])
    place = 0
    for name, declared in columns:
        same = [i for i, (other, _) in enumerate(known) if other.lower() == name.lower()]
        if not same:
            known.insert(place, (name, declared))
            place += 1
            continue
        place = same[0] + 1
        if known[same[0]][1] != declared:
            if "REAL" not in (declared + known[same[0]][1]):
                sys.exit("%s.%s is %s and %s" % (table, name, known[same[0]][1], declared))
            known[same[0]] = (name, max(declared, known[same[0]][1]))


def main():
    words = sys.argv[1:]
    write = words[0] == "--write"
    tables = {}
    with open(DEF, encoding="utf-8") as text:
        was = re.findall(r'^X\("([^"]*)", "([^"]*)", "([^"]*)"\)', text.read(), re.M)
    if not write:
        for table, name, declared in was:
            tables.setdefault(table, []).append((name, declared))
    for path in words[1 if write else 0:]:
        found = {}
        for table, name, declared in columns_of(path):
            found.setdefault(table, []).append((name, declared))
        for table, columns in found.items():
            add(tables, table, columns)
    rows = [(t, *c) for t in sorted(tables) for c in tables[t]]
    if write:
        with open(DEF, "w", encoding="utf-8") as out:
            out.write(HEAD + "".join('X("%s", "%s", "%s")\n' % row for row in rows))
    elif sorted(rows) != sorted(was):
        new = sorted(set(rows) - set(was))
        sys.exit("%s lacks %s: run python3 tests/support/made_columns.py --write over the captures" % (DEF, new))
    print("%d tables, %d columns" % (len(tables), len(rows)))


if __name__ == "__main__":
    main()

"""Compares tables of a cluster_analysis.db with expected .tsv files, row by row whatever their order.

usage: compare_tables.py DB TSV [TSV...]

A TSV holds one table under its own name, column names first. Numbers may differ by one part in 10^9 (the last digit
that sqlite3 prints); an empty cell is NULL or an empty text. Prints what differs; exit status 1 when anything does.
"""
import csv
import os
import sqlite3
import sys


def value(cell):
    if cell is None or cell == "":
        return ""
    try:
        return float(cell)
    except ValueError:
        return cell


def alike(a, b):
    if isinstance(a, float) and isinstance(b, float):
        return abs(a - b) <= 1e-9 * max(abs(a), abs(b))
    return a == b


def order(row):
    return [(isinstance(v, str), "%.8g" % v if isinstance(v, float) else v) for v in row]


def compare(db, path):
    name = os.path.basename(path)[: -len(".tsv")]
    with open(path, newline="") as f:
        rows = list(csv.reader(f, delimiter="\t"))
    columns = [r[1] for r in db.execute('PRAGMA table_info("%s")' % name)]
    if columns != rows[0]:
        return ["%s: columns are %s, expected %s" % (name, columns, rows[0])]
    want = sorted(([value(c) for c in row] for row in rows[1:]), key=order)
    have = sorted(([value(c) for c in row] for row in db.execute('SELECT * FROM "%s"' % name)), key=order)
    said = []
    if len(want) != len(have):
        said.append("%s: %d rows, expected %d" % (name, len(have), len(want)))
    for w, h in zip(want, have):
        if not all(alike(a, b) for a, b in zip(w, h)):
            said.append("%s: %s, expected %s" % (name, h, w))
    return said


def main():
    db = sqlite3.connect(sys.argv[1])
    said = [line for path in sys.argv[2:] for line in compare(db, path)]
    for line in said[:20]:
        print(line)
    sys.exit(1 if said else 0)


main()

"""Compares tables of a cluster_analysis.db with expected .tsv files, row by row whatever their order.

usage: compare_tables.py DB [--scale TABLE.SUFFIX=FACTOR] [--list TABLE.COLUMN] [--but TABLE.COLUMN] TSV [TSV...]

A TSV holds one table under its own name, column names first. Whole numbers are equal, others to 13 digits (sqlite3 prints
15); an empty cell is NULL or an empty text. --scale: expected values of columns with that ending count so many times;
--list: a text of parts between ';' whose order does not matter; --but: a column that is not compared. Prints what
differs; exit status 1 when anything does.
"""
import csv
import os
import sqlite3
import sys


def number(cell):
    for kind in (int, float):
        try:
            return kind(cell)
        except ValueError:
            pass
    return cell


def alike(have, want):
    if isinstance(have, int) and isinstance(want, (int, float)):
        return have == want
    if isinstance(have, float) and isinstance(want, (int, float)):
        return abs(have - want) <= 1e-13 * max(abs(have), abs(want))
    return have == want


def order(row):
    return [(isinstance(v, str), v if isinstance(v, str) else "%.13g" % v) for v in row]


class Rules:
    def __init__(self):
        self.scale, self.lists, self.but = {}, set(), set()

    def cell(self, table, column, cell, expected):
        name = "%s.%s" % (table, column)
        if cell is None or cell == "" or name in self.but:
            return ""
        if name in self.lists:
            return ";".join(sorted(str(cell).split(";")))
        value = number(cell) if isinstance(cell, str) else cell
        for ending, factor in self.scale.items():
            if expected and ending[0] == table and column.endswith(ending[1]) and not isinstance(value, str):
                value = round(value * factor, 9)
        return value

    def row(self, table, columns, row, expected):
        return [self.cell(table, c, v, expected) for c, v in zip(columns, row)]


def compare(db, path, rules):
    table = os.path.basename(path)[: -len(".tsv")]
    with open(path, newline="") as f:
        rows = list(csv.reader(f, delimiter="\t"))
    columns = [r[1] for r in db.execute('PRAGMA table_info("%s")' % table)]
    if columns != rows[0]:
        return ["%s: columns are %s, expected %s" % (table, columns, rows[0])]
    want = sorted((rules.row(table, columns, r, True) for r in rows[1:]), key=order)
    have = sorted((rules.row(table, columns, r, False) for r in db.execute('SELECT * FROM "%s"' % table)), key=order)
    said = ["%s: %d rows, expected %d" % (table, len(have), len(want))] if len(want) != len(have) else []
    for w, h in zip(want, have):
        if not all(alike(a, b) for a, b in zip(h, w)):
            said.append("%s: %s, expected %s" % (table, h, w))
    return said


def main():
    rules, paths = Rules(), []
    args = iter(sys.argv[2:])
    for arg in args:
        if arg == "--scale":
            name, factor = next(args).split("=")
            rules.scale[tuple(name.split("."))] = float(factor)
        elif arg == "--list":
            rules.lists.add(next(args))
        elif arg == "--but":
            rules.but.add(next(args))
        else:
            paths.append(arg)
    db = sqlite3.connect(sys.argv[1])
    said = [line for path in paths for line in compare(db, path, rules)]
    for line in said[:20]:
        print(line)
    sys.exit(1 if said else 0)


main()

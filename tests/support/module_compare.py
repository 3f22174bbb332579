#!/usr/bin/env python3
"""Compares a ModuleStatistic table row by row with what msprof-analyze wrote.

usage: module_compare.py CLUSTER_ANALYSIS_DB EXPECTED_TSV [EXPLANATIONS]

Rows are compared in order, cell by cell; text as it is, numbers to fifteen digits. EXPLANATIONS has lines
"module|opName|column|expected|ours|number": a difference that docs/differences.md explains under that number. Every
other difference, and every explanation that no row needs, is an error.
"""
import csv
import sqlite3
import sys


def cell(value):
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.15g}"
    return str(value)


def expected_rows(path):
    with open(path, encoding="utf-8", newline="") as f:
        rows = list(csv.reader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    return rows[0], rows[1:]


def normal(column, text):
    return f"{float(text):.15g}" if column.endswith("(ns)") and text else text


def explanations(path):
    known = {}
    if path:
        with open(path, encoding="utf-8") as f:
            for line in f:
                line = line.rstrip("\n")
                if line and not line.startswith("#"):
                    module, op, column, theirs, ours, number = line.split("|")
                    known[(module, op, column, theirs, ours)] = number
    return known


def main():
    database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
    query = database.execute("SELECT * FROM ModuleStatistic ORDER BY rowid")
    columns = [d[0] for d in query.description]
    ours = [[cell(v) for v in row] for row in query]
    header, theirs = expected_rows(sys.argv[2])
    known = explanations(sys.argv[3] if len(sys.argv) > 3 else None)
    errors, used, counts = [], set(), {}
    if columns != header:
        errors.append(f"columns are {columns}, should be {header}")
    if len(ours) != len(theirs):
        errors.append(f"{len(ours)} rows, should be {len(theirs)}")
    for mine, other in zip(ours, theirs):
        for column, a, b in zip(header, mine, other):
            b = normal(column, b)
            key = (other[1], other[2], column, b, a)
            if a == b:
                continue
            if key in known:
                used.add(key)
                counts[known[key]] = counts.get(known[key], 0) + 1
            else:
                errors.append("|".join(key))
    errors += [f"not needed: {'|'.join(key)}" for key in known if key not in used]
    for error in errors:
        print(error)
    explained = ", ".join(f"{n} by {number}" for number, n in sorted(counts.items()))
    print(f"{len(ours)} rows, explained: {explained or 'nothing'}, errors: {len(errors)}")
    sys.exit(1 if errors else 0)


main()

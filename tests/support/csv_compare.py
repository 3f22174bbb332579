"""Compares the csv files of two folders: the largest difference of numbers in a file, and cells that differ otherwise."""

import csv
import os
import sys


def files(top):
    return {os.path.relpath(os.path.join(d, f), top) for d, _, names in os.walk(top) for f in names if f.endswith(".csv")}


def read(top, name):
    with open(os.path.join(top, name), encoding="utf-8", newline="") as f:
        return list(csv.reader(f))


def number(text):
    try:
        return float(text)
    except ValueError:
        return None


def compare(name, a, b):
    if [len(r) for r in a] != [len(r) for r in b]:
        return print(f"{name}: {len(a)} and {len(b)} rows")
    largest, others = (0.0, ""), 0
    for x, y in zip(a, b):
        for column, (v, w) in enumerate(zip(x, y)):
            if v == w:
                continue
            if number(v) is None or number(w) is None:
                others += 1
            else:
                largest = max(largest, (abs(number(v) - number(w)), a[0][column]))
    what = f"{largest[1]} by {largest[0]:.3f}" if largest[1] else "equal"
    print(f"{name}: {what}" + (f", {others} other cells" if others else ""))


def main(one, other):
    for name in sorted(files(one) | files(other)):
        if name not in files(one) or name not in files(other):
            print(f"{name}: only {'before' if name in files(one) else 'after'}")
        else:
            compare(os.path.basename(os.path.dirname(name)) + "/" + os.path.basename(name), read(one, name), read(other, name))


main(sys.argv[1], sys.argv[2])

"""Prints what `pipescope info --json` counts, a line for each that is not 0: rank, format, what, kind, count.

Expected outputs of samples are made of these lines, so that they change only when a count does.
"""
import json
import sys

for rank in json.load(sys.stdin)["ranks"]:
    where = f"{rank['rank']:>2} {rank['format']}"
    if "error" in rank:
        print(where, "error")
        continue
    print(where, "steps", *rank["steps"])
    for what in ("slices", "flows", "counters", "tables", "side_tables", "oddities"):
        for kind, count in rank[what].items():
            if count:
                print(where, what, kind, count)

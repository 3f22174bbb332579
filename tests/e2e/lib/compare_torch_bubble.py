#!/usr/bin/env python3
"""Compares two charts of one run: compare_torch_bubble.py TORCH.json RECORDED.json

The bubble of labels that torch.profiler wrote must be that of the ranges that pipescope recorded around the computing, within
one point, over all steps; and both must hold the same ops.
"""
import json
import sys
from collections import Counter

POINTS = 1.0


def read(path):
    with open(path, encoding="utf-8") as file:
        chart = json.load(file)
    ops = [op for op in chart["ops"] if op["kind"] in ("F", "B", "BI", "BW")]
    return chart, ops


def bubble(ops):
    """Percent: the mean over steps and ranks of what is no op between the first start and the last end of the step."""
    steps = {}
    for op in ops:
        steps.setdefault(op["step"], []).append(op)
    shares = []
    for step in steps.values():
        length = max(op["end_ns"] for op in step) - min(op["start_ns"] for op in step)
        busy = sum(op["end_ns"] - op["start_ns"] for op in step)
        shares.append(100.0 * (1.0 - busy / len({op["rank"] for op in step}) / length))
    return sum(shares) / len(shares)


def main():
    chart, torch_ops = read(sys.argv[1])
    _, recorded_ops = read(sys.argv[2])
    # Windows are numbered by each recorder in its own way.
    count = [Counter((op["rank"], op["kind"], op["chunk"], op["microbatch"]) for op in ops)
             for ops in (torch_ops, recorded_ops)]
    if count[0] != count[1]:
        sys.exit("FAILED: other ops: %s" % sorted((count[0] - count[1] + (count[1] - count[0])).items())[:5])
    difference = bubble(torch_ops) - bubble(recorded_ops)
    print("bubble %.2f %%, recorded %.2f %%" % (bubble(torch_ops), bubble(recorded_ops)))
    if abs(difference) > POINTS:
        sys.exit("FAILED: %.2f points apart" % difference)
    trimmed = chart.get("trimmed")
    if "inferred" in chart["labels"]:
        return
    if not trimmed or not 0 < trimmed["trimmed_ns"] < trimmed["labelled_ns"] or trimmed["labels"] < len(torch_ops):
        sys.exit("FAILED: what was cut off is not said: %s" % trimmed)


main()

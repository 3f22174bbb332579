#!/usr/bin/env python3
"""Compares charts of one run with what it executed: compare_executed.py OUT CHART.json...

The bubble of the last steps of each chart must be that of the times which the program noted itself (OUT/ran_*.json of
torch_training.py), within one point, and the passes must be as many."""
import glob
import json
import os
import sys

POINTS = 1.0


def bubble(step):
    """Percent, of [(rank, start, end)]: the mean over ranks of what is no pass between the first start and the last end."""
    length = max(end for _, _, end in step) - min(start for _, start, _ in step)
    busy = sum(end - start for _, start, end in step)
    return 100.0 * (1.0 - busy / len({rank for rank, _, _ in step}) / length)


def mean(steps):
    return sum(bubble(step) for step in steps) / len(steps)


def executed(folder):
    steps = []
    for rank, path in enumerate(sorted(glob.glob(os.path.join(folder, "ran_*.json")))):
        with open(path, encoding="utf-8") as file:
            for i, step in enumerate(json.load(file)):
                steps += [[]] if i == len(steps) else []
                steps[i] += [(rank, start, end) for _, _, _, start, end in step]
    return steps


def charted(path, n):
    """The last n steps."""
    steps = {}
    with open(path, encoding="utf-8") as file:
        for op in json.load(file)["ops"]:
            if op["kind"] in ("F", "B", "BI", "BW"):
                steps.setdefault(op["step"], []).append((op["rank"], op["start_ns"], op["end_ns"]))
    return [steps[key] for key in sorted(steps)][-n:]


def main(folder, *charts):
    ran = executed(folder)
    said = "executed %.2f %%" % mean(ran)
    for path in charts:
        steps = charted(path, len(ran))
        if [len(step) for step in steps] != [len(step) for step in ran]:
            sys.exit("FAILED: %s has %s passes, %s ran" % (path, [len(s) for s in steps], [len(s) for s in ran]))
        said += ", %s %.2f %%" % (os.path.basename(path), mean(steps))
        if abs(mean(steps) - mean(ran)) > POINTS:
            sys.exit("FAILED: more than a point apart: " + said)
    print(said)


if __name__ == "__main__":
    main(*sys.argv[1:])

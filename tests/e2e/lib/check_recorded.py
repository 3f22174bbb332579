#!/usr/bin/env python3
"""What was recorded against what was executed: check_recorded.py CHART.json LOG SCHEDULE RANKS FIRST_STEP END_STEP

LOG is what the processes of examples/pipeline wrote by themselves, a line each: step, stage, kind, chunk, microbatch, and of
a pair chunk and microbatch of its backward. In every recorded step each rank of the chart has the same operations in the
same order, its operations do not overlap, and every result that went to another rank is one send with its receive.
"""
import json
import sys
from collections import defaultdict

KINDS = {"F": "F", "B": "B", "I": "BI", "W": "BW", "H": "LOGITS", "FB": "FB"}


def fail(text, *args):
    sys.exit("FAILED: " + text % args)


def executed(path):
    """(rank, step) -> operations."""
    out = defaultdict(list)
    with open(path, encoding="ascii") as file:
        for line in file:
            step, stage, kind, *numbers = line.split()
            out[int(stage), int(step)].append((KINDS[kind],) + tuple(map(int, numbers)))
    return out


def recorded(chart):
    out = defaultdict(list)
    end = {}
    for op in chart["ops"]:  # of a rank in the order of their start
        if op["kind"] in ("SEND", "RECV"):
            continue
        if op["start_ns"] < end.get(op["rank"], op["start_ns"]):
            fail("rank %d: %s begins before the operation in front of it ended", op["rank"], op["name"])
        end[op["rank"]] = op["end_ns"]
        kind = op["kind"]
        if kind == "BI" and op.get("phase") == 6:
            kind = "B"  # marks of DualPipeV's tail do not tell the two apart: their length does, and machines are busy
        numbers = (op["chunk"], op["microbatch"])
        if kind == "FB":
            numbers += (op["chunk2"], op["microbatch2"])
        out[op["rank"], op["step"]].append((kind,) + numbers)
    return out


def place(schedule, ranks, rank, chunk):
    if chunk == 0:
        return rank
    return 2 * ranks - 1 - rank if schedule == "dualpipev" else ranks + rank


def holder(schedule, ranks, piece):
    if piece < ranks:
        return piece
    return 2 * ranks - 1 - piece if schedule == "dualpipev" else piece - ranks


def transfers(schedule, ranks, ops, rank):
    """Results of these operations that go to another rank."""
    chunks = 2 if schedule in ("dualpipev", "interleaved") else 1
    n = 0
    for kind, *numbers in ops:
        forward = numbers[0] if kind in ("F", "FB") else None
        backward = numbers[0] if kind in ("B", "BI") else numbers[2] if kind == "FB" else None
        for chunk, way in ((forward, 1), (backward, -1)):
            if chunk is not None:
                to = place(schedule, ranks, rank, chunk) + way
                n += 0 <= to < chunks * ranks and holder(schedule, ranks, to) != rank
    return n


def main(chart_path, log, schedule, ranks, first, end):
    ranks, first, end = int(ranks), int(first), int(end)
    with open(chart_path, encoding="utf-8") as file:
        chart = json.load(file)
    if chart["schedule"] != schedule:
        fail("the chart says %s", chart["schedule"])
    places = [(r["rank"], r["stage"]) for r in chart["ranks"]]
    if places != [(r, r) for r in range(ranks)]:
        fail("ranks and stages: %s", places)
    ran, seen = executed(log), recorded(chart)
    wanted = {(rank, step) for rank in range(ranks) for step in range(first, end)}
    if set(seen) != wanted:
        fail("ranks and steps of the chart: %s", sorted(set(seen) ^ wanted))
    n_transfers = 0
    for key in sorted(wanted):
        if seen[key] != ran[key]:
            differ = [pair for pair in zip(ran[key], seen[key]) if pair[0] != pair[1]]
            fail("rank %d, step %d: %d operations ran, %d are recorded; they differ first in %s", *key,
                 len(ran[key]), len(seen[key]), differ[:1])
        n_transfers += transfers(schedule, ranks, ran[key], key[0])
    ops = chart["ops"]
    for kind in ("SEND", "RECV"):
        n = sum(op["kind"] == kind for op in ops)
        if n != n_transfers:
            fail("%d %s, %d transfers", n, kind, n_transfers)
    linked = set()
    for link in chart["links"]:
        a, b = ops[link["from"]], ops[link["to"]]
        if (a["kind"], b["kind"]) == ("SEND", "RECV"):
            linked.add((link["from"], link["to"]))
            if a["start_ns"] > b["end_ns"]:
                fail("received before it was sent: %s, %s", a, b)
        elif a["end_ns"] > b["start_ns"]:
            fail("used before it was computed: %s, %s", a, b)
    if not len(linked) == len({a for a, _ in linked}) == len({b for _, b in linked}) == n_transfers:
        fail("%d links between sends and receives, %d transfers", len(linked), n_transfers)


main(*sys.argv[1:])

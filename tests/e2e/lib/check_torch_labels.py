#!/usr/bin/env python3
"""Checks the labels in the traces of examples/torch_pipeline.py: check_torch_labels.py DIR SCHEDULE RANKS MICROBATCHES

Each trace must say its rank, hold two whole steps, and in each of them exactly the actions of the schedule in its order,
as the published rules give it (written down here anew, apart from the program); each send has its receive on the rank
that holds the other stage.
"""
import gzip
import json
import os
import re
import sys
from collections import Counter

ACTION = re.compile(r"PP:(\d+)(SEND_F|RECV_F|SEND_B|RECV_B|WAIT_SEND_F|WAIT_SEND_B|UNSHARD|RESHARD|REDUCE_GRAD|"
                    r"WAIT_REDUCE_GRAD|F|B|I|W)(\d*)$")


def fail(text):
    print("FAILED: " + text)
    sys.exit(1)


def stage_of(schedule, rank, ranks, chunk):
    if schedule in ("zbv", "dualpipev"):
        return rank if chunk == 0 else 2 * ranks - 1 - rank
    return rank + chunk * ranks


def interleaved(rank, p, m, zero_bubble):
    """Virtual indices in groups of p microbatches, both chunks of a group in turn."""
    table = []
    for begin in range(0, m, p):
        for chunk in (0, 1):
            table += [(chunk, k) for k in range(begin, min(begin + p, m))]
    total = len(table)
    ahead = min(total, (1 if zero_bubble else 2) * (p - 1 - rank) + p)
    back = [(1 - chunk, k) for chunk, k in table]
    ops = [("F",) + table[i] for i in range(ahead)]
    done = 0
    for i in range(total):
        if ahead + i < total:
            ops.append(("F",) + table[ahead + i])
        ops.append(("I" if zero_bubble else "B",) + back[i])
        if zero_bubble and i >= rank:
            ops.append(("W",) + back[done])
            done += 1
    return ops + [("W",) + back[i] for i in range(done, total) if zero_bubble]


def zbv(rank, p, m):
    n = max(m, 2 * p - 1)
    count = Counter()
    ops = []

    def do(*kinds):
        for kind, chunk in kinds:
            ops.append((kind, chunk, count[kind, chunk]))
            count[kind, chunk] += 1

    back1 = (("I", 1), ("W", 1))
    for _ in range(2 * (p - rank) - 1):
        do(("F", 0))
    for _ in range(rank):
        do(("F", 1), ("F", 0))
    for _ in range(p - rank):
        do(("F", 1), *back1)
    while count["F", 1] < count["F", 0] or count["F", 0] < n:
        if count["F", 0] < n:
            do(("F", 0))
        do(("I", 0), ("W", 0), ("F", 1), *back1)
    for _ in range(rank):
        do(("I", 0), ("I", 1))
    for _ in range(p - rank):
        do(("I", 0), ("W", 0))
    while count["W", 1] < n:
        do(("W", 1))
    while count["W", 0] < n:
        do(("W", 0))
    return [op for op in ops if op[2] < m]


def dualpipev(h, q, n):
    """Pairs are two labels, forward first, where PyTorch runs them one after the other."""
    count = Counter()
    ops, queue = [], []

    def forward(chunk):
        ops.append(("F", chunk, count["F", chunk]))
        count["F", chunk] += 1

    def backward(chunk, split=False):
        ops.append(("I" if split else "B", chunk, count["B", chunk]))
        if split:
            queue.append((chunk, count["B", chunk]))
        count["B", chunk] += 1

    def weight():
        ops.append(("W",) + queue.pop(0))

    for _ in range(2 * (q - 1 - h)):
        forward(0)
    for _ in range(h + 1):
        forward(0)
        forward(1)
    for _ in range(q - 1 - h):
        backward(1, True)
        weight()
        forward(1)
    for _ in range(n - 2 * q + h + 1):
        forward(0)
        backward(1)
        forward(1)
        backward(0)
    for _ in range(q - 1 - h):
        backward(1)
        forward(1)
        backward(0)
    for i in range(2 * (h + 1)):
        backward(1 - i % 2, i >= h + 1)
    for _ in range(q - 1 - h):
        weight()
        backward(0, True)
    for _ in range(h + 1):
        weight()
    return ops


def expected(schedule, rank, p, m):
    """The labels of one step in order, without communication."""
    if schedule == "1f1b":
        return []
    if schedule == "gpipe":
        return ["Forward %d" % k for k in range(m)] + ["Backward %d" % k for k in range(m)]
    ops = {"interleaved1f1b": lambda: interleaved(rank, p, m, False),
           "interleavedzerobubble": lambda: interleaved(rank, p, m, True),
           "zbv": lambda: zbv(rank, p, m),
           "dualpipev": lambda: dualpipev(rank, p, m)}[schedule]()
    return ["PP:%d%s%d" % (stage_of(schedule, rank, p, chunk), kind, k) for kind, chunk, k in ops]


def split_pairs(name):
    """PP:(0F7;7B3)OVERLAP_F_B is one label in some releases: the two parts."""
    pair = re.match(r"PP:\((.*)\)OVERLAP_F_B$", name)
    return ["PP:" + part.strip() for part in pair.group(1).split(";")] if pair else [name]


def read(path, rank):
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    if trace.get("distributedInfo", {}).get("rank") != rank:
        fail("%s does not say that it is rank %d" % (path, rank))
    ranges = [e for e in trace["traceEvents"] if e.get("ph") == "X" and e.get("cat") == "user_annotation"]
    ranges.sort(key=lambda e: (e["ts"], -e["dur"]))
    steps = [e for e in ranges if e["name"].startswith("ProfilerStep#")]
    if len(steps) != 2:
        fail("%s holds %d steps instead of 2" % (path, len(steps)))
    return [[name for e in ranges if step["ts"] <= e["ts"] < step["ts"] + step["dur"] for name in split_pairs(e["name"])]
            for step in steps]


def check_transfers(schedule, ranks, labels):
    """labels[rank]: those of one step."""
    holder = {stage_of(schedule, r, ranks, c): r for r in range(ranks) for c in (0, 1)}
    seen = {r: set(labels[r]) for r in range(ranks)}
    for rank in range(ranks):
        for label in labels[rank]:
            stage, kind, microbatch = ACTION.match(label).groups()
            if not kind.startswith(("SEND", "RECV")):
                continue
            step = 1 if kind in ("SEND_F", "RECV_B") else -1
            other = "PP:%d%s%s" % (int(stage) + step, ("RECV" if kind[0] == "S" else "SEND") + kind[4:], microbatch)
            if other not in seen[holder[int(stage) + step]]:
                fail("%s of rank %d has no %s" % (label, rank, other))


def main(folder, schedule, ranks, microbatches):
    steps = [read(os.path.join(folder, "rank_%d.pt.trace.json.gz" % rank), rank) for rank in range(ranks)]
    n_labels = 0
    for step in (0, 1):
        labels = []
        for rank in range(ranks):
            found = [n for n in steps[rank][step] if n.startswith("PP:") or re.match(r"(For|Back)ward \d+$", n)]
            unknown = [n for n in found if n.startswith("PP:") and not ACTION.match(n)]
            if unknown:
                fail("unknown label %r" % unknown[0])
            compute = [n for n in found if not n.startswith("PP:") or ACTION.match(n).group(2) in "FBIW"]
            wanted = expected(schedule, rank, ranks, microbatches)
            if compute != wanted:
                fail("%s, rank %d, step %d:\n  found  %s\n  wanted %s"
                     % (schedule, rank, step, " ".join(compute), " ".join(wanted)))
            labels.append(found)
            n_labels += len(found)
        if schedule not in ("gpipe", "1f1b"):
            check_transfers(schedule, ranks, labels)
    print("%s: %d labels of %d ranks are as they should be" % (schedule, n_labels, ranks))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))

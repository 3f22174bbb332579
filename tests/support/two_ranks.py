"""Two ranks of a job as the PyTorch profiler writes them: two steps, in each a forward and a backward range that launch one kernel.

usage: two_ranks.py DIR [--pipeline] [--clock US] [--thin]

Side by side (replicas) both ranks compute forward 0..100 and backward 100..300 us of a step, rank 1 a few us later; --pipeline: rank 1
begins when the forward of rank 0 has ended, and rank 0's backward when that of rank 1 has. --clock: what the clock of rank 1 is ahead.
--thin: of the events that the profiler numbered, each twentieth is there.
"""
import argparse
import json
import os

ap = argparse.ArgumentParser()
ap.add_argument("dir")
ap.add_argument("--pipeline", action="store_true")
ap.add_argument("--clock", type=int, default=0)
ap.add_argument("--thin", action="store_true")
a = ap.parse_args()
os.makedirs(a.dir, exist_ok=True)

SIDE = [[(0, 100), (100, 300)], [(3, 107), (107, 310)]]
PIPELINE = [[(0, 100), (400, 600)], [(100, 200), (200, 400)]]

for rank in range(2):
    events = []
    number = 0
    ahead = a.clock if rank == 1 else 0

    def add(name, cat, tid, ts, dur, **args):
        global number
        number += 20 if a.thin else 1
        args["Ev Idx"] = number
        pid = 0 if cat == "kernel" else 7
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": 1000000 + ahead + ts, "dur": dur, "args": args})

    for step in range(2):
        base = step * 1000
        add("ProfilerStep#%d" % (5 + step), "user_annotation", 7, base, 990)
        for k, (start, end) in enumerate((PIPELINE if a.pipeline else SIDE)[rank]):
            id = step * 2 + k + 1
            add(("fwd", "bwd")[k], "user_annotation", 7, base + 1 + 30 * k, 20)
            add("cudaLaunchKernel", "cuda_runtime", 7, base + 2 + 30 * k, 2, correlation=id)
            add("gemm", "kernel", 7, base + 50 + start, end - start, device=0, stream=7, correlation=id)
            at = 1000000 + ahead + base
            events.append({"ph": "s", "id": id, "pid": 7, "tid": 7, "ts": at + 2 + 30 * k, "cat": "ac2g", "name": "ac2g"})
            events.append({"ph": "f", "id": id, "pid": 0, "tid": 7, "ts": at + 50 + start, "cat": "ac2g", "name": "ac2g", "bp": "e"})
            for i in range(20 if a.thin else 0):
                add("aten::add", "cpu_op", 7, base + 500 + 20 * k + i, 1)
    with open(os.path.join(a.dir, "rank-%d.json" % rank), "w") as f:
        json.dump({"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 8}, "baseTimeNanoseconds": 0, "traceEvents": events}, f)

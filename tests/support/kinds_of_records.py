"""One capture of the PyTorch profiler for each kind of record that it lacks: DIR/all.json has every kind, DIR/no-KIND.json all but one.

usage: kinds_of_records.py DIR
"""
import json
import os
import sys

EVENTS = [
    ("step", "user_annotation", "ProfilerStep#3", 7, 0, 100, {}),
    ("range", "user_annotation", "forward", 7, 1, 50, {}),
    ("op", "cpu_op", "aten::mm", 7, 2, 20, {}),
    ("call", "cuda_runtime", "cudaLaunchKernel", 7, 3, 2, {"correlation": 1}),
    ("python", "python_function", "train.py(3): step", 8, 1, 60, {"Python id": 1}),
    ("kernel", "kernel", "gemm", 7, 30, 10, {"device": 0, "stream": 7, "correlation": 1}),
    ("communication", "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 9, 45, 10, {"device": 0, "stream": 9}),
]


def capture(lacks):
    events = []
    for kind, cat, name, tid, ts, dur, args in EVENTS:
        if kind in lacks:
            continue
        pid = 0 if cat == "kernel" else 7
        events.append({"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": 1000 + ts, "dur": dur, "args": args})
    if not {"call", "kernel"} & lacks:
        for ph, pid, ts in (("s", 7, 3), ("f", 0, 30)):
            events.append({"ph": ph, "id": 1, "pid": pid, "tid": 7, "ts": 1000 + ts, "cat": "ac2g", "name": "ac2g", "bp": "e"})
    if "memory" not in lacks:
        events.append({"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 7, "tid": 7, "ts": 1005, "args": {"Total Allocated": 8, "Bytes": 8, "Addr": 1, "Device Type": 0, "Device Id": -1}})
    return {"schemaVersion": 1, "baseTimeNanoseconds": 0, "deviceProperties": [{"id": 0}], "traceEvents": events}


KINDS = [kind for kind, *_ in EVENTS] + ["memory"]
WANTED = {"all": set(), **{"no-" + kind: {kind} for kind in KINDS}}
WANTED["no-host"] = {"op", "call", "python", "range", "step"}
WANTED["no-device"] = {"kernel", "communication"}
for name, lacks in WANTED.items():
    with open(os.path.join(sys.argv[1], name + ".json"), "w") as f:
        json.dump(capture(lacks), f)

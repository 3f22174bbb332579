"""Real traces of PyTorch on CPU in which one thread runs the backward pass of another. The operators of a CPU launch no
kernels: each operator that has none inside gets a call and a kernel of its length, so that what the trace says of threads,
ranges, numbers of nodes and flows is all real.

torch_modules.py FOLDER writes FOLDER/both (forward and backward recorded), FOLDER/backward (only the backward pass) and
FOLDER/frames (both, with Python frames of nn.Module and no ranges around the layers), and prints for each the time of all
kernels and of those on the thread that runs the backward pass, in nanoseconds."""
import contextlib
import json
import os
import sys
import threading

import torch
from torch.profiler import ProfilerActivity, profile, record_function
from torch._C._profiler import _ExperimentalConfig

LAYERS = ("fc1", "act", "fc2")


def forward(layers, x, ranges):
    for name, layer in zip(LAYERS, layers):
        with record_function(name) if ranges else contextlib.nullcontext():
            x = layer(x)
    return x


def backward(y, gradient):
    """As an engine's thread does it: the caller waits in a range, another thread runs the nodes."""
    with record_function("attn(B)"):
        thread = threading.Thread(target=lambda: y.backward(gradient))
        thread.start()
        thread.join()


def record(path, whole, frames):
    layers = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64))
    x = torch.randn(32, 64)
    y = None if whole else forward(layers, x, False)
    gradient = torch.ones(32, 64)
    with profile(activities=[ProfilerActivity.CPU], with_stack=frames, with_modules=frames,
                 experimental_config=_ExperimentalConfig(profile_all_threads=True, verbose=frames)) as p:
        y = forward(layers, x, not frames) if whole else y
        backward(y, gradient)
    p.export_chrome_trace(path)


def add_kernels(path):
    with open(path) as f:
        trace = json.load(f)
    ops = [e for e in trace["traceEvents"] if e.get("cat") == "cpu_op"]
    tids = {e["tid"] for e in ops if e["name"].startswith("autograd::engine::evaluate_function")}
    total = 0
    on_thread = 0
    made = []
    for op in ops:
        end = op["ts"] + op["dur"]
        if op["dur"] < 0.1 or any(o is not op and o["tid"] == op["tid"] and op["ts"] <= o["ts"] and o["ts"] + o["dur"] <= end
                                   for o in ops):
            continue
        number = len(made) // 2 + 1
        start = 1000 * number + max(o["ts"] for o in ops)
        total += 500
        on_thread += 500 if op["tid"] in tids else 0
        made.append({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": op["pid"], "tid": op["tid"],
                     "ts": op["ts"] + op["dur"] / 4, "dur": op["dur"] / 4, "args": {"correlation": number}})
        made.append({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": start, "dur": 0.5,
                     "args": {"correlation": number, "device": 0, "stream": 7}})
    trace["traceEvents"] += made
    trace["distributedInfo"] = {"rank": 0}
    with open(path, "w") as f:
        f.write(json.dumps(trace))
    return total, on_thread


def main(folder):
    for name, whole, frames in (("both", True, False), ("backward", False, False), ("frames", True, True)):
        os.makedirs(os.path.join(folder, name))
        path = os.path.join(folder, name, "rank-0.pt.trace.json")
        record(path, whole, frames)
        print(name, *add_kernels(path))


main(sys.argv[1])

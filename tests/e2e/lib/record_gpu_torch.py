"""The recorder and PyTorch's profiler in one process: record_gpu_torch.py LIBRARY before|after FOLDER

`before`: the profiler has been started when recording begins, and holds CUPTI where only one tool may. `after`: the other way
round. In both, each must give what it promises, or say that it cannot; and behind the recorder, CUPTI is free again.
"""
import ctypes
import glob
import os
import sqlite3
import sys

import torch
from torch.profiler import ProfilerActivity, profile


def load(path, folder):
    library = ctypes.CDLL(path, mode=os.RTLD_GLOBAL)
    library.ps_record_range_start.restype = ctypes.c_uint64
    library.ps_record_range_start.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    library.ps_record_range_end.argtypes = [ctypes.c_uint64]
    os.makedirs(folder, exist_ok=True)
    for option, value in (("output_dir", folder), ("backend", "cupti"), ("level", "0")):
        assert library.ps_record_set(option.encode(), value.encode()) == 0, option
    return library


def work(library, n=20):
    a = torch.randn(1024, 1024, device="cuda")
    for _ in range(n):
        # The default stream has handle 0 in PyTorch, which is 1 for the driver.
        stream = torch.cuda.current_stream().cuda_stream or 1
        range_id = library.ps_record_range_start(None, b"matmul", stream)
        a = torch.tanh(a @ a)
        library.ps_record_range_end(range_id)
    torch.cuda.synchronize()


def profiler():
    return profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA])


def kernels_of(prof):
    return sum(1 for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA)


def recorded(folder):
    (path,) = glob.glob(f"{folder}/**/ascend_pytorch_profiler*.db", recursive=True)
    db = sqlite3.connect(path)
    (backend,) = db.execute("SELECT value FROM META_DATA WHERE name = 'collector.backend'").fetchone()
    (ranges,) = db.execute("SELECT count(*) FROM MSTX_EVENTS m JOIN TASK t USING (connectionId)").fetchone()
    kernels = 0
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'COMPUTE_TASK_INFO'").fetchone():
        (kernels,) = db.execute("SELECT count(*) FROM COMPUTE_TASK_INFO").fetchone()
    drops = dict(db.execute("SELECT kind, sum(count) FROM PIPESCOPE_DROPS GROUP BY kind"))
    return backend, ranges, kernels, drops


def main():
    path, order, folder = sys.argv[1:4]
    library = load(path, folder)
    torch.zeros(1, device="cuda")
    torch.cuda.synchronize()
    if order == "before":
        with profiler() as theirs:
            assert library.ps_record_start() == 0
            work(library)
            assert library.ps_record_stop() == 0
    else:
        assert library.ps_record_start() == 0
        work(library, 2)
        with profiler() as theirs:
            work(library)
        assert library.ps_record_stop() == 0
    assert library.ps_record_export(None) == 0
    backend, ranges, kernels, drops = recorded(folder)
    print(f"# torch {torch.__version__}: backend {backend}, {ranges} ranges with device times, {kernels} kernels of ours, "
          f"{kernels_of(theirs)} of PyTorch's profiler, drops {drops}")
    assert ranges >= 20, "ranges without device times"
    if order == "before":
        assert kernels_of(theirs) > 0, "we took PyTorch's kernels away"
        assert backend == "cupti" or drops.get("cupti_busy"), "CUPTI was busy, and it was not said"
    else:
        assert backend == "cuda_event" or kernels > 0, "no kernels"
    with profiler() as again:
        work(library)
    assert kernels_of(again) > 0, "CUPTI was not given back"


main()

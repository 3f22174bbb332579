#!/usr/bin/env python3
"""What the Python package costs: lines "what <tab> measured <tab> bar <tab> comparison" for bench/record.sh, through ctypes or through
the extension, whichever is in use. Each figure is the median of 15 rounds, less what the empty loop takes, in time of the
processor: other programs disturb it less."""
import ctypes
import sys
import time
import types

import pipescope
from pipescope import _library, mstx

ROUNDS = 15
MESSAGE = "{'name': 'forward_step', 'current_microbatch': 3}"


def median_ns(body, calls, pause=0.0):
    def once(function):
        begin = time.thread_time_ns()
        for _ in range(calls):
            function()
        return (time.thread_time_ns() - begin) / calls

    def nothing():
        pass

    figures = []
    for _ in range(ROUNDS):
        figures.append(once(body) - once(nothing))
        time.sleep(pause)  # the writer's turn
    return sorted(figures)[ROUNDS // 2]


IN_C = mstx._extension is not None


def row(what, ns, bar="", bar_in_c="", beside=""):
    print("Python%s, %s\t%.0f ns\t%s\t%s" % (" with its extension" if IN_C else "", what, ns, bar_in_c if IN_C else bar, beside))


def raw_pair():
    """A pair of calls through ctypes as one would write it first."""
    lib = ctypes.CDLL(_library.functions().path)
    lib.ps_record_range_start.restype = ctypes.c_uint64
    lib.ps_record_range_start.argtypes = (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    lib.ps_record_range_end.argtypes = (ctypes.c_uint64,)

    def pair():
        lib.ps_record_range_end(lib.ps_record_range_start(None, MESSAGE.encode(), None))

    return pair


def step_share(what, calls, marked, plain, n, pause):
    """A row: what `calls` calls of a marked function in each step take of a step of 100 ms, less what the plain one takes."""
    ns = median_ns(marked, n, pause) - median_ns(plain, n, pause)
    print("Python%s, %s, of a step of 100 ms\t%.2f %%\t<= 0.5 %%\t%.2f us each time" % (
        " with its extension" if IN_C else "", what, 100 * calls * ns / 1e8, ns / 1e3))


def adapters(n, pause):
    """What the adapters put around forwards and backwards, on functions that do nothing."""

    def forward_step(forward_step_func=None, model=None, current_microbatch=None):
        return None

    def backward_step(input_tensor=None, output_tensor=None, output_tensor_grad=None, config=None):
        return None

    wrapped = pipescope.step_wrapper(forward_step)
    step_share("step_wrapper, 64 calls", 64, lambda: wrapped(current_microbatch=3), lambda: forward_step(current_microbatch=3), n, pause)
    schedules = types.ModuleType("schedules")
    schedules.forward_step, schedules.backward_step = forward_step, backward_step
    recorded = pipescope.megatron.record(schedules)
    step_share("Megatron, 32 forwards and 32 backwards", 32,
               lambda: (schedules.forward_step(current_microbatch=3), schedules.backward_step()),
               lambda: (forward_step(current_microbatch=3), backward_step()), n, pause)
    recorded.remove()


def main():
    if not pipescope.available():
        return 77
    start, end, push, pop = mstx.range_start, mstx.range_end, mstx.range_push, mstx.range_pop
    row("range_start, not recording", median_ns(lambda: start(MESSAGE), 100000), "<= 80 ns", "<= 40 ns")
    row("range_end, not recording", median_ns(lambda: end(0), 100000), "<= 80 ns", "<= 40 ns")
    row("range_start on a stream in a domain, not recording", median_ns(lambda: start(MESSAGE, 1, "pp"), 100000),
        "<= 80 ns", "<= 40 ns")
    pipescope.start()
    n, pause = 5000, 0.02
    median_ns(lambda: end(start(MESSAGE)), n, pause)  # the ring's pages, once
    beside = "" if IN_C else "ctypes.CDLL, argtypes, encode: %.0f ns" % median_ns(raw_pair(), n, pause)
    row("range_start and range_end", median_ns(lambda: end(start(MESSAGE)), n, pause), "<= 1.2 us", "<= 0.15 us", beside)
    row("the same on a stream in a domain", median_ns(lambda: end(start(MESSAGE, 1, "pp"), "pp"), n, pause), "<= 1.2 us",
        "<= 0.3 us")
    row("the same, stream \"current\"", median_ns(lambda: end(start(MESSAGE, "current")), n, pause), "<= 1.2 us", "<= 0.3 us")
    row("range_push and range_pop", median_ns(lambda: (push(MESSAGE), pop()), n, pause))
    texts = iter("{'name': 'forward_step', 'current_microbatch': %d}" % i for i in range((ROUNDS + 1) * n))
    row("range_start and range_end, a new message each", median_ns(lambda: end(start(next(texts))), n, pause))

    def annotated():
        with mstx.annotate(MESSAGE):
            pass

    row("with annotate()", median_ns(annotated, n, pause))

    def job():
        with pipescope.job("forward", 3):
            pass

    row("with job()", median_ns(job, n, pause), "", "<= 0.5 us")
    adapters(n // 10, pause)
    stats = pipescope.stats()
    pipescope.stop()
    if stats["n_dropped"]:
        print("dropped: %d of %d ranges" % (stats["n_dropped"], stats["n_ranges"]))
    return 0


if __name__ == "__main__":
    sys.exit(main())

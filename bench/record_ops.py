#!/usr/bin/env python3
"""What recording operators costs a step of a small transformer on the CPU: lines "what <tab> measured <tab> bar <tab> comparison" for
bench/record.sh. Plain steps, steps under record_ops (the observer in C++ and the dispatch mode in Python) and under torch.profiler take
turns in one process, so that what else the machine does meets all of them. Each figure is the median, over the rounds, of the step's time in
the processor over that of the plain step beside it."""
import contextlib
import sys
import time

ROUNDS = 40
THREADS = 1


def model(torch):
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(128, 4, 256, dropout=0.0, batch_first=True, norm_first=True)
    return nn.Sequential(nn.Embedding(64, 128), nn.TransformerEncoder(layer, 4, enable_nested_tensor=False), nn.Linear(128, 64))


def main():
    try:
        import torch
    except ImportError:
        return 77
    import pipescope
    from pipescope import _observer, _ops

    if not pipescope.available():
        return 77
    torch.manual_seed(0)
    torch.set_num_threads(THREADS)
    net = model(torch)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    tokens = torch.randint(0, 64, (2, 32))

    def step():
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(net(tokens).flatten(0, 1), tokens.flatten()).backward()
        optimizer.step()

    def timed():
        begin = time.process_time_ns()
        step()
        return time.process_time_ns() - begin

    def under(context):
        with context:
            step()  # what only the first costs, and what the one before left in the caches
            return timed()

    def plainly():
        return under(contextlib.nullcontext())

    def profiler(shapes):
        return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=shapes)

    class Mode:
        def __enter__(self):
            self.mode = _ops._make_mode(True, "current").__enter__()

        def __exit__(self, *_):
            self.mode.__exit__(None, None, None)

    ways = {"torch.profiler": lambda: under(profiler(False)), "torch.profiler with shapes": lambda: under(profiler(True)),
            "record_ops in Python": lambda: under(Mode())}
    if _observer.observer() is not None:
        ways["record_ops"] = lambda: under(pipescope.record_ops())
        ways["record_ops without shapes"] = lambda: under(pipescope.record_ops(shapes=False))
    for _ in range(3):
        step()
    pipescope.start()
    over = {name: [] for name in ways}
    plain = []
    for _ in range(ROUNDS):
        for name, way in ways.items():
            plain.append(plainly())
            over[name].append(way() / plain[-1] - 1)
            time.sleep(0.01)  # the writer's turn
    dropped = pipescope.stats()["n_dropped"]
    pipescope.stop()
    idle = "record_ops, nothing recorded"
    over[idle] = []
    for _ in range(ROUNDS):
        plain.append(plainly())
        over[idle].append(under(pipescope.record_ops()) / plain[-1] - 1)

    def median(values):
        return sorted(values)[len(values) // 2]

    beside = "torch.profiler %+.1f %%" % (100 * median(over["torch.profiler"]))
    print("step of %.1f ms, PyTorch %s" % (median(plain) / 1e6, torch.__version__))
    for name, values in over.items():
        values.sort()
        bar = "<= torch.profiler" if name.startswith("record_ops") and name not in ("record_ops in Python", idle) else ""
        print("%s, of a step\t%+.1f %% (quartiles %+.1f, %+.1f)\t%s\t%s" % (
            name, 100 * median(values), 100 * values[len(values) // 4], 100 * values[3 * len(values) // 4], bar,
            beside if bar else ""))
    if dropped:
        print("dropped: %d events" % dropped)
    return 0


if __name__ == "__main__":
    sys.exit(main())

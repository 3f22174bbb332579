#!/usr/bin/env python3
"""A real pipeline on any machine: torch.distributed.pipelining on CPU with gloo, recorded by torch.profiler or by pipescope.

    python3 examples/torch_pipeline.py --schedule dualpipev -o traces
    pipescope chart traces

Starts the processes (--ranks, 4), cuts a small stack of linear layers into stages, trains a few steps under the schedule
and writes what was recorded into the output folder.

With --recorder pipescope that is one folder a rank, <worker>_<time>_ascend_pt, and every schedule is labelled: each forward
and backward of a microbatch on a stage is a range with a device side (pipescope.pipelining), each call of a module one of
the domain Module (pipescope.hook_modules), each operator a row of its own (pipescope.record_ops). What of a training script that
needs stands in recorder_of().

With --recorder torch it is one Kineto trace a rank, rank_<N>.pt.trace.json.gz. Each trace says its rank
(distributedInfo.rank) and holds the labels of the pipeline as host ranges, where PyTorch writes any:

    gpipe                                     Forward 2, Backward 2       receive, compute, send; the loss comes after
    1f1b                                      none: PyTorch writes no labels for it
    loopedbfs, interleaved1f1b,
    interleavedzerobubble, zbv, dualpipev     PP:3F7  forward of microbatch 7 on stage 3
                                              PP:3B7  whole backward; PP:3I7 input gradient, PP:3W7 weight gradient
                                              PP:3SEND_F7, PP:4RECV_F7, PP:4SEND_B7, PP:3RECV_B7

PyTorch 2.9 runs the two parts of an overlapped pair of dualpipev one after the other under labels of their own; later
releases do so, too, under one label, PP:(0F7;7B3)OVERLAP_F_B. It also has two loops for schedules with several stages a rank, of which only
that of dualpipev writes labels: here all of them run in that one.

Stages: plain schedules have one stage a rank; interleaved ones two, rank and rank + ranks; zbv and dualpipev two that
form a V, rank and 2 * ranks - 1 - rank.

With --bare the traces of torch.profiler hold the annotations, the operators that carry the forward-backward links or transfer, and
nothing that names the machine: small enough for a test.

Needs PyTorch with torch.distributed.pipelining (2.6 or newer; dualpipev from 2.9 on). No GPU.
"""
import argparse
import gzip
import json
import os
import socket
import sys
import tempfile

WAIT, WARMUP, ACTIVE = 1, 1, 2  # steps: idle, warm-up of the profiler, recorded
STEPS = {"wait": WAIT, "warmup": WARMUP, "active": ACTIVE, "repeat": 1}

# Name: class in torch.distributed.pipelining.schedules, how the stages lie on the ranks.
SCHEDULES = {
    "gpipe": ("ScheduleGPipe", "plain"),
    "1f1b": ("Schedule1F1B", "plain"),
    "loopedbfs": ("ScheduleLoopedBFS", "loop"),
    "interleaved1f1b": ("ScheduleInterleaved1F1B", "loop"),
    "interleavedzerobubble": ("ScheduleInterleavedZeroBubble", "loop"),
    "zbv": ("ScheduleZBVZeroBubble", "v"),
    "dualpipev": ("ScheduleDualPipeV", "v"),
}


def stages_of(rank, ranks, placement):
    """The numbers of the stages on a rank, and how many there are in all."""
    if placement == "plain":
        return [rank], ranks
    if placement == "loop":
        return [rank, rank + ranks], 2 * ranks
    return [rank, 2 * ranks - 1 - rank], 2 * ranks


def sleeping_layer(width, seconds):
    """A layer that takes as long as its forward, its input gradient and its weight gradient are told to, however many
    processes share a core: each sleeps inside of an operator."""
    import time

    import torch

    class Sleep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value, forward_s, backward_s):
            ctx.backward_s = backward_s
            time.sleep(forward_s)
            return value.clone()

        @staticmethod
        def backward(ctx, gradient):
            time.sleep(ctx.backward_s)
            return gradient.clone(), None, None

    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.randn(width, width))

        def forward(self, value):
            weight = Sleep.apply(self.weight, 0, seconds)  # its backward is the weight gradient's
            return torch.mm(Sleep.apply(value, seconds, seconds), weight)

    return Layer()


def make_schedule(name, rank, ranks, microbatches, rows, width, sleep_ms=0):
    import torch
    from torch.distributed.pipelining import PipelineStage, schedules

    class Stage(PipelineStage):
        def _get_init_p2p_neighbors_ops(self):
            # The greeting between neighbours warms NCCL up. It sends 8 bytes where 4 are awaited, which gloo refuses.
            return []

    class_name, placement = SCHEDULES[name]
    if not hasattr(schedules, class_name):
        raise SystemExit("this PyTorch (%s) has no %s" % (torch.__version__, class_name))
    numbers, n_stages = stages_of(rank, ranks, placement)
    stages = []
    for number in numbers:
        torch.manual_seed(number)
        layers = [torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, width)]
        if sleep_ms > 0:
            layers = [sleeping_layer(width, sleep_ms / 1e3)]
        # Shapes are given, so that the stages need not tell each other theirs.
        shape = torch.randn(rows, width, requires_grad=number > 0)
        stages.append(Stage(torch.nn.Sequential(*layers), number, n_stages, torch.device("cpu"),
                            input_args=(shape,), output_args=(torch.randn(rows, width, requires_grad=True),)))
    loss = torch.nn.MSELoss()
    if placement == "plain":
        return getattr(schedules, class_name)(stages[0], microbatches, loss_fn=loss), stages
    schedule = getattr(schedules, class_name)(stages, microbatches, loss_fn=loss)
    if not isinstance(schedule, schedules._PipelineScheduleRuntime):
        # Its own loop writes no labels, and sends to itself where two stages of a V meet: the same order in the loop that
        # later releases use for all of them.
        order = schedule.pipeline_order
        schedule = schedules._PipelineScheduleRuntime(stages, microbatches, loss_fn=loss)
        schedule._prepare_schedule_with_comms(order)
    return schedule, stages


class Both:
    """Two profilers of the same run."""

    def __init__(self, first, second):
        self._all = first, second

    def __enter__(self):
        for profiler in self._all:
            profiler.__enter__()
        return self

    def __exit__(self, *error):
        for profiler in reversed(self._all):
            profiler.__exit__(*error)

    def step(self):
        for profiler in self._all:
            profiler.step()


def recorder_of(options, schedule, rank):
    """torch.profiler.profile, or what takes its place."""
    if options.recorder == "torch":
        return torch_profiler(options, options.output, rank)
    if options.recorder == "pipescope":
        return pipescope_profiler(schedule, options.output, True)
    return Both(pipescope_profiler(schedule, os.path.join(options.output, "pipescope"), False),
                torch_profiler(options, os.path.join(options.output, "torch"), rank))


def pipescope_profiler(schedule, folder, in_full):
    """The labels of the pipeline; in full modules and operators, too."""
    pipescope = import_pipescope()
    pipescope.pipelining.record(schedule)
    if in_full:
        pipescope.hook_modules()
        pipescope.record_ops()
    return pipescope.profile(schedule=pipescope.schedule(**STEPS),
                             on_trace_ready=pipescope.tensorboard_trace_handler(folder))


def torch_profiler(options, folder, rank):
    import torch

    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "rank_%d.pt.trace.json.gz" % rank)

    def save(profiler):
        profiler.export_chrome_trace(path)
        if options.bare:
            make_bare(path)

    return torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                  schedule=torch.profiler.schedule(**STEPS), on_trace_ready=save, record_shapes=False)


def import_pipescope():
    """The package that is installed, else that of this repository with the library that ./dev build makes."""
    try:
        import pipescope
    except ImportError:
        root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        sys.path.insert(0, os.path.join(root, "python"))
        os.environ.setdefault("PIPESCOPE_LIBRARY", os.path.join(root, "build", "release", "libpipescope-record.so"))
        import pipescope
    return pipescope


def train(rank, options, port):
    """One rank, in a process of its own."""
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=options.ranks)
    schedule, stages = make_schedule(options.schedule, rank, options.ranks, options.microbatches, options.rows,
                                     options.width, options.sleep_ms)
    parameters = [p for stage in stages for p in stage.submod.parameters()]
    optimizer = torch.optim.SGD(parameters, lr=0.01)
    torch.manual_seed(0)
    batch = torch.randn(options.microbatches * options.rows, options.width)
    target = torch.randn(options.microbatches * options.rows, options.width)

    def step():
        optimizer.zero_grad()
        arguments = (batch,) if any(stage.is_first for stage in stages) else ()
        keywords = {"target": target} if any(stage.is_last for stage in stages) else {}
        schedule.step(*arguments, **keywords)
        optimizer.step()

    with recorder_of(options, schedule, rank) as profiler:
        for _ in range(WAIT + WARMUP + ACTIVE):
            step()
            dist.barrier()
            profiler.step()
    dist.destroy_process_group()


# --- bare traces ------------------------------------------------------------------------------------------------------

KEPT_MEMBERS = ("schemaVersion", "displayTimeUnit", "baseTimeNanoseconds", "distributedInfo", "deviceProperties")
KEPT_ARGS = ("External id", "Sequence number", "Fwd thread id")


def is_kept(event, ends):
    if event.get("ph") == "M":
        return event.get("name") in ("process_name", "thread_name", "process_labels")
    if event.get("cat") == "cpu_op":
        return (event["tid"], event["ts"]) in ends or event["name"].startswith("c10d::")
    return event.get("cat") in ("user_annotation", "fwdbwd", "Trace")


def make_bare(path):
    """Leaves what a chart needs: annotations, names, the operators that forward-backward flows tie together, and transfers."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    ends = {(e["tid"], e["ts"]) for e in events if e.get("cat") == "fwdbwd"}
    kept = [e for e in events if is_kept(e, ends)]
    for event in kept:
        if event.get("cat") in ("user_annotation", "cpu_op"):
            event["args"] = {k: v for k, v in event.get("args", {}).items() if k in KEPT_ARGS}
    bare = {k: trace[k] for k in KEPT_MEMBERS if k in trace}
    bare["traceEvents"] = kept
    with open(path, "wb") as raw, gzip.GzipFile("", "wb", mtime=0, fileobj=raw) as file:
        file.write(json.dumps(bare, separators=(",", ":")).encode())


# --- command line -----------------------------------------------------------------------------------------------------

def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--schedule", choices=sorted(SCHEDULES), default="dualpipev")
    parser.add_argument("--recorder", choices=("torch", "pipescope", "both"), default="torch",
                        help="what records: torch.profiler, pipescope, or both in folders of these names")
    parser.add_argument("--ranks", type=int, default=4, help="processes, each with one or two stages (4)")
    parser.add_argument("--microbatches", type=int, default=8, help="per step (8)")
    parser.add_argument("--width", type=int, default=256, help="of the layers (256)")
    parser.add_argument("--rows", type=int, default=64, help="of one microbatch (64)")
    parser.add_argument("--sleep-ms", type=float, default=0,
                        help="layers that sleep so long forward, for the input gradient and for the weight gradient, and "
                             "compute next to nothing: times of a schedule on a machine with few cores (0: they compute)")
    parser.add_argument("--bare", action="store_true", help="write small traces that do not name the machine")
    parser.add_argument("-o", "--output", default=None, help="folder for the traces (a new one in the temporary folder)")
    options = parser.parse_args(arguments)
    if options.ranks < 1 or options.microbatches < 1 or options.width < 1 or options.rows < 1:
        parser.error("--ranks, --microbatches, --width and --rows are at least 1")
    options.output = options.output or tempfile.mkdtemp(prefix="torch_pipeline_")
    return options


def main(arguments):
    options = parse(arguments)
    os.makedirs(options.output, exist_ok=True)
    import torch.multiprocessing

    # Forked: PyTorch is loaded once. Nothing was computed here, so there are no threads to lose.
    torch.multiprocessing.start_processes(train, (options, free_port()), nprocs=options.ranks, start_method="fork")
    print(options.output)


if __name__ == "__main__":
    main(sys.argv[1:])

"""A pipeline of torch.distributed.pipelining on the CPU, one process a rank, recorded through the adapter.

    pipelining.py RANKS SCHEDULE:LABELS...

What a schedule recorded lies in the folder of its name and labels. Every rank also writes there which actions it ran: noted by
hooks of its own, independent of the recorder."""
import json
import os
import socket
import sys

SCHEDULES = {"gpipe": ("ScheduleGPipe", "plain"), "1f1b": ("Schedule1F1B", "plain"),
             "interleaved": ("ScheduleInterleaved1F1B", "loop"),
             "interleavedzb": ("ScheduleInterleavedZeroBubble", "loop"), "dualpipev": ("ScheduleDualPipeV", "v"),
             "loopedbfs": ("ScheduleLoopedBFS", "loop")}
MICROBATCHES, ROWS, WIDTH = 4, 8, 16


def note_actions(stages, actions):
    """What each stage is told to do, by its own methods."""
    for stage in stages:
        def noted(method, kind, stage=stage):
            def call(*args, **kwargs):
                full = kwargs.get("full_backward", args[2] if len(args) > 2 else True)
                actions.append("PP:%d%s%d" % (stage.stage_index, "I" if kind == "B" and not full else kind, args[0]))
                return method(*args, **kwargs)
            return call
        stage.forward_one_chunk = noted(stage.forward_one_chunk, "F")
        stage.backward_one_chunk = noted(stage.backward_one_chunk, "B")
        stage.backward_weight_one_chunk = noted(stage.backward_weight_one_chunk, "W")


def register_functions(schedule, actions):
    """Functions of the program's for all that is computed, which go round the methods of the stages, as torchtitan's graph_pp does."""
    from torch.distributed.pipelining import schedules as s

    stages = {stage.stage_index: stage for stage in schedule._stages}

    def receive(works, action):
        for work in works.pop((action.stage_index, action.microbatch_index), []):
            work.wait()

    def forward(action, ctx):
        stage, k = stages[action.stage_index], action.microbatch_index
        actions.append("PP:" + str(action))
        receive(schedule.fwd_recv_ops, action)
        output = type(stage).forward_one_chunk(stage, k, ctx.arg_mbs[k], ctx.kwarg_mbs[k])
        schedule._maybe_compute_loss(stage, output, ctx.target_mbs, k, {})
        if stage.stage_index + 1 in stages:
            stages[stage.stage_index + 1].set_local_fwd_input(output, k)

    def backward(action, ctx):
        stage, k = stages[action.stage_index], action.microbatch_index
        full = action.computation_type == s.FULL_BACKWARD
        actions.append("PP:" + str(action))
        receive(schedule.bwd_recv_ops, action)
        schedule.backward_counter[stage.stage_index] += full
        type(stage).backward_one_chunk(stage, k, loss=schedule._maybe_get_loss(stage, k), full_backward=full,
                                       last_backward=full and schedule.backward_counter[stage.stage_index] == MICROBATCHES)
        if stage.stage_index - 1 in stages:
            stages[stage.stage_index - 1].set_local_bwd_input(stage.get_local_bwd_output(k), k)

    def weight(action, ctx):
        stage = stages[action.stage_index]
        actions.append("PP:" + str(action))
        schedule.backward_counter[stage.stage_index] += 1
        type(stage).backward_weight_one_chunk(stage, action.microbatch_index,
                                              last_backward=schedule.backward_counter[stage.stage_index] == MICROBATCHES)

    def both(action, ctx):
        at = len(actions)
        for part in action.sub_actions:
            (forward if part.computation_type == s.FORWARD else backward)(part, ctx)
        actions[at:] = ["PP:" + str(action)]

    for kind, function in ((s.FORWARD, forward), (s.FULL_BACKWARD, backward), (s.BACKWARD_INPUT, backward), (s.BACKWARD_WEIGHT, weight),
                           (s.OVERLAP_F_B, both)):
        schedule.register_custom_function(kind, function)


def run(rank, name, ranks, labels, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    import torch
    import torch.distributed as dist
    from torch.distributed.pipelining import PipelineStage, schedules

    import pipescope

    class Stage(PipelineStage):
        def _get_init_p2p_neighbors_ops(self):
            return []  # its greeting does not fit gloo

    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    class_name, lie = SCHEDULES[name]
    numbers = [rank] if lie == "plain" else [rank, rank + ranks if lie == "loop" else 2 * ranks - 1 - rank]
    total = ranks * len(numbers)
    stages = []
    for number in numbers:
        layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH))
        stages.append(Stage(layers, number, total, torch.device("cpu"),
                            input_args=(torch.randn(ROWS, WIDTH, requires_grad=number > 0),),
                            output_args=(torch.randn(ROWS, WIDTH, requires_grad=True),)))
    actions = []
    note_actions(stages, actions)
    make = getattr(schedules, class_name)
    loss = torch.nn.MSELoss()
    schedule = make(stages[0] if lie == "plain" else stages, MICROBATCHES, loss_fn=loss)
    if labels == "functions":
        if not hasattr(schedule, "register_custom_function"):
            dist.destroy_process_group()
            return  # a release without them
        register_functions(schedule, actions)
    recording = pipescope.pipelining.record(schedule, labels="marks" if labels == "marks" else "actions")
    pipescope.pipelining.record(schedule)  # once is enough

    batch, target = (torch.randn(MICROBATCHES * ROWS, WIDTH) for _ in range(2))
    with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=1, active=1, repeat=1),
                           on_trace_ready=pipescope.tensorboard_trace_handler(folder)) as prof:
        for step in range(3):
            actions.clear() if step == 1 else None
            schedule.step(*([batch] if any(s.is_first for s in stages) else []),
                          **({"target": target} if any(s.is_last for s in stages) else {}))
            dist.barrier()
            if step == 1:
                ran = list(actions)
            prof.step()
    recording.remove()
    assert not hasattr(stages[0].forward_one_chunk, "pipescope_wraps")
    with open(os.path.join(folder, "ran_%d.json" % rank), "w", encoding="utf-8") as file:
        json.dump(ran, file)
    dist.destroy_process_group()


def main():
    import torch.multiprocessing

    ranks = int(sys.argv[1])
    for job in sys.argv[2:]:
        name, _, labels = job.partition(":")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        # Forked: PyTorch is loaded once.
        torch.multiprocessing.start_processes(run, (name, ranks, labels, port, name + "-" + labels), nprocs=ranks,
                                              start_method="fork")


if __name__ == "__main__":
    main()

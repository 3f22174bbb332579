"""A training of torch.distributed.pipelining on the CPU that knows nothing of pipescope: torch_training.py SCHEDULE OUT, a process of
torchrun. It profiles itself with torch.profiler (OUT/trace/rank_<N>.pt.trace.json.gz) and notes what it executed by hooks of its own
in its stages, with the times (OUT/ran_<N>.json): [[stage, kind, microbatch, start, end in ns]] of each step that is profiled; kinds are F, B,
and where gradients of inputs and of weights are made apart, BI and BW.

Layers sleep before their operators, as a module does that loads or waits in Python."""
import json
import os
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

MICROBATCHES, ROWS, WIDTH, SLEEP_S = 4, 4, 32, 0.06
STEPS, PROFILED = 4, 2


class Layer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(WIDTH, WIDTH)

    def forward(self, value):
        time.sleep(SLEEP_S)
        return torch.relu(self.linear(value))


class Stage(PipelineStage):
    ran = []

    def _get_init_p2p_neighbors_ops(self):
        return []  # its greeting does not fit gloo

    def timed(self, kind, chunk, call):
        begin = time.time_ns()
        result = call()
        self.ran.append([self.stage_index, kind, chunk, begin, time.time_ns()])
        return result

    def forward_one_chunk(self, chunk, *args, **kwargs):
        call = super().forward_one_chunk
        return self.timed("F", chunk, lambda: call(chunk, *args, **kwargs))

    def backward_one_chunk(self, chunk, *args, **kwargs):
        call = super().backward_one_chunk
        return self.timed("B" if kwargs.get("full_backward", True) else "BI", chunk, lambda: call(chunk, *args, **kwargs))

    def backward_weight_one_chunk(self, chunk, *args, **kwargs):
        call = super().backward_weight_one_chunk
        return self.timed("BW", chunk, lambda: call(chunk, *args, **kwargs))


def main(name, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    cls = getattr(schedules, name)
    is_plain = issubclass(cls, schedules.PipelineScheduleSingle)
    is_v = name in ("ScheduleZBVZeroBubble", "ScheduleDualPipeV")
    numbers = [rank] if is_plain else [rank, 2 * ranks - 1 - rank] if is_v else [rank, rank + ranks]
    stages = [Stage(Layer(), number, ranks * len(numbers), torch.device("cpu"),
                    input_args=(torch.randn(ROWS, WIDTH, requires_grad=number > 0),),
                    output_args=(torch.randn(ROWS, WIDTH, requires_grad=True),)) for number in numbers]
    schedule = cls(stages[0] if is_plain else stages, MICROBATCHES, loss_fn=torch.nn.MSELoss())
    optimizer = torch.optim.SGD([p for stage in stages for p in stage.submod.parameters()], lr=0.01)
    batch = torch.randn(MICROBATCHES * ROWS, WIDTH)
    steps = []

    def save(profiler):
        os.makedirs(os.path.join(out, "trace"), exist_ok=True)
        profiler.export_chrome_trace(os.path.join(out, "trace", "rank_%d.pt.trace.json.gz" % rank))

    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], on_trace_ready=save,
                                schedule=torch.profiler.schedule(wait=1, warmup=1, active=PROFILED, repeat=1)) as profiler:
        for _ in range(STEPS):
            Stage.ran = []
            optimizer.zero_grad()
            schedule.step(*([batch] if any(s.is_first for s in stages) else []),
                          **({"target": batch} if any(s.is_last for s in stages) else {}))
            optimizer.step()
            dist.barrier()
            profiler.step()
            steps.append(Stage.ran)
    with open(os.path.join(out, "ran_%d.json" % rank), "w", encoding="utf-8") as file:
        json.dump(steps[-PROFILED:], file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*sys.argv[1:])

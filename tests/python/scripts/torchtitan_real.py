"""A pipeline as torchtitan builds it, on the CPU, a process of torchrun that knows nothing of pipescope: its own schedule over stages of a
small model. Writes which actions ran into ran_<rank>.json in $FOLDER.

    torchtitan_real.py SCHEDULE"""
import json
import os
import sys
import types

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage
from torchtitan.distributed import pipeline_parallel as titan

MICROBATCHES, ROWS, WIDTH = 4, 8, 16
actions = []


def note(stage, kind, microbatch):
    actions.append("PP:%d%s%d" % (stage.stage_index, kind, microbatch))


class Stage(PipelineStage):
    def _get_init_p2p_neighbors_ops(self):
        return []  # its greeting does not fit gloo

    def forward_one_chunk(self, chunk, *args, **kwargs):
        note(self, "F", chunk)
        return super().forward_one_chunk(chunk, *args, **kwargs)

    def backward_one_chunk(self, chunk, *args, **kwargs):
        note(self, "B" if kwargs.get("full_backward", True) else "I", chunk)
        return super().backward_one_chunk(chunk, *args, **kwargs)

    def backward_weight_one_chunk(self, chunk, *args, **kwargs):
        note(self, "W", chunk)
        return super().backward_weight_one_chunk(chunk, *args, **kwargs)


def settings(schedule, ranks):
    return types.SimpleNamespace(pipeline_parallel_schedule=schedule, pipeline_parallel_schedule_csv="", pipeline_parallel_degree=ranks,
                                 pipeline_parallel_microbatch_size=ROWS)


def build(schedule, ranks, stages, loss):
    parallelism, batch = settings(schedule, ranks), MICROBATCHES * ROWS
    if hasattr(titan, "_build_pipeline_schedule"):
        return titan._build_pipeline_schedule(parallelism=parallelism, local_batch_size=batch, stages=stages,
                                              loss_fn=lambda *args, **kwargs: (loss(*args, **kwargs), None))
    job = types.SimpleNamespace(parallelism=parallelism, training=types.SimpleNamespace(local_batch_size=batch))
    return titan.build_pipeline_schedule(job, stages, loss)


def main():
    name = sys.argv[1]
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    numbers = [rank] if name in ("1F1B", "GPipe") else [rank, rank + ranks]
    stages = []
    for number in numbers:
        layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH))
        stages.append(Stage(layers, number, ranks * len(numbers), torch.device("cpu"),
                            input_args=(torch.randn(ROWS, WIDTH, requires_grad=number > 0),),
                            output_args=(torch.randn(ROWS, WIDTH, requires_grad=True),)))
    schedule = build(name, ranks, stages, torch.nn.MSELoss())
    batch = torch.randn(MICROBATCHES * ROWS, WIDTH)
    for _ in range(2):
        schedule.step(*([batch] if any(s.is_first for s in stages) else []),
                      **({"target": batch} if any(s.is_last for s in stages) else {}))
        dist.barrier()
    with open(os.path.join(os.environ["FOLDER"], "ran_%d.json" % rank), "w", encoding="utf-8") as file:
        json.dump(actions, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""A pipeline of torch.distributed.pipelining on the CPU that knows nothing of pipescope, a process of torchrun. Writes which actions ran,
by hooks in what the stages compute, into ran_<rank>.json in $FOLDER."""
import json
import os

import torch
import torch.distributed as dist
from torch.distributed.pipelining import PipelineStage, schedules

MICROBATCHES, ROWS, WIDTH = 4, 8, 16
actions = []


class Stage(PipelineStage):
    def _get_init_p2p_neighbors_ops(self):
        return []  # its greeting does not fit gloo

    def forward_one_chunk(self, chunk, *args, **kwargs):
        actions.append("PP:%dF%d" % (self.stage_index, chunk))
        return super().forward_one_chunk(chunk, *args, **kwargs)

    def backward_one_chunk(self, chunk, *args, **kwargs):
        full = kwargs.get("full_backward", args[1] if len(args) > 1 else True)
        if self.has_backward:
            actions.append("PP:%d%s%d" % (self.stage_index, "B" if full else "I", chunk))
        return super().backward_one_chunk(chunk, *args, **kwargs)

    def backward_weight_one_chunk(self, chunk, *args, **kwargs):
        if self.has_backward:
            actions.append("PP:%dW%d" % (self.stage_index, chunk))
        return super().backward_weight_one_chunk(chunk, *args, **kwargs)


def main():
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    rank, ranks = dist.get_rank(), dist.get_world_size()
    numbers = [rank] if os.environ["LIE"] == "plain" else [rank, rank + ranks]
    stages = []
    for number in numbers:
        layers = torch.nn.Sequential(torch.nn.Linear(WIDTH, WIDTH), torch.nn.ReLU(), torch.nn.Linear(WIDTH, WIDTH))
        stages.append(Stage(layers, number, ranks * len(numbers), torch.device("cpu"),
                            input_args=(torch.randn(ROWS, WIDTH, requires_grad=number > 0),),
                            output_args=(torch.randn(ROWS, WIDTH, requires_grad=True),)))
    schedule = getattr(schedules, os.environ["SCHEDULE"])(stages[0] if len(stages) == 1 else stages, MICROBATCHES,
                                                           loss_fn=torch.nn.MSELoss())
    batch = torch.randn(MICROBATCHES * ROWS, WIDTH)
    for _ in range(2):
        schedule.step(*([batch] if any(s.is_first for s in stages) else []),
                      **({"target": batch} if any(s.is_last for s in stages) else {}))
        dist.barrier()
        if os.environ.get("EVALUATES"):
            n = len(actions)
            schedule.eval(*([batch] if any(s.is_first for s in stages) else []),
                          **({"target": batch} if any(s.is_last for s in stages) else {}))
            assert len(actions) == n + MICROBATCHES * len(stages)
            dist.barrier()
    with open(os.path.join(os.environ["FOLDER"], "ran_%d.json" % rank), "w", encoding="utf-8") as file:
        json.dump(actions, file)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()

"""DeepSpeed's pipeline engine on the CPU, a process of torchrun that knows nothing of pipescope. Writes which forwards and backwards ran,
noted by the first layer of each stage, into ran_<rank>.json in $FOLDER."""
import json
import os
import sys

import deepspeed
import torch
from deepspeed.pipe import LayerSpec, PipelineModule

MICROBATCHES, ROWS, WIDTH = 4, 4, 16
actions = []


class Note(torch.autograd.Function):
    @staticmethod
    def forward(ctx, value, place):
        ctx.place = place
        actions.append("PP:%dF%d" % place)
        return value.clone()

    @staticmethod
    def backward(ctx, gradient):
        actions.append("PP:%dB%d" % ctx.place)
        return gradient.clone(), None


class Layer(torch.nn.Linear):
    def __init__(self, stage):
        super().__init__(WIDTH, WIDTH)
        self.stage, self.count = stage, 0

    def forward(self, value):
        place, self.count = (self.stage, self.count % MICROBATCHES), self.count + 1
        return super().forward(Note.apply(value if value.requires_grad else value.detach().requires_grad_(), place))


def batches():
    while True:
        yield torch.randn(ROWS, WIDTH), torch.randn(ROWS, WIDTH)


def main():
    torch.set_num_threads(1)
    sys.modules["deepspeed.comm.torch"].build_shm_op = lambda: None  # which would be compiled
    deepspeed.init_distributed("gloo")
    rank = torch.distributed.get_rank()
    net = PipelineModule(layers=[LayerSpec(Layer, stage) for stage in range(2)], num_stages=2, loss_fn=torch.nn.MSELoss(),
                         partition_method="uniform")
    engine = deepspeed.initialize(model=net, model_parameters=list(net.parameters()), config={
        "train_batch_size": ROWS * MICROBATCHES, "train_micro_batch_size_per_gpu": ROWS, "gradient_accumulation_steps": MICROBATCHES,
        "optimizer": {"type": "SGD", "params": {"lr": 0.01}}})[0]
    data = batches()
    for _ in range(2):
        engine.train_batch(data)
    with open(os.path.join(os.environ["FOLDER"], "ran_%d.json" % rank), "w", encoding="utf-8") as file:
        json.dump(actions, file)


if __name__ == "__main__":
    main()

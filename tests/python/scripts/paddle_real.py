"""A pipeline of Paddle's dynamic graph on the CPU, a process of paddle.distributed.launch that knows nothing of pipescope. Writes which
actions ran, by hooks of Paddle's own, into ran_<rank>.json in $FOLDER.

    paddle_real.py STAGES_PER_RANK"""
import json
import os
import sys

import paddle
from paddle.distributed import fleet, parallel
from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer, pipeline_parallel
from paddle.distributed.fleet.meta_parallel.pp_utils import p2p_communication as p2p

RANKS = int(os.environ["PADDLE_TRAINERS_NUM"])
MICROBATCHES, ROWS, WIDTH = 2 * RANKS, 2, 8
actions = []

# Paddle's pipelines are made for devices: what the CPU lacks stands here.
parallel.ParallelEnv._device_id = 0


def send(tensor, group, dst, nranks=1, rank_id=0):
    group.process_group.send(tensor, group.get_group_rank(dst), True).wait()


def receive(tensor, group, src, nranks=1, rank_id=0):
    group.process_group.recv(tensor, group.get_group_rank(src), True).wait()


p2p._send_on_calc_stream, p2p._recv_on_calc_stream = send, receive


class Net(PipelineLayer):
    def __init__(self, chunks):
        more = {"num_virtual_pipeline_stages": chunks, "seg_method": "layer:Linear"} if chunks > 1 else {}
        super().__init__(layers=[LayerDesc(paddle.nn.Linear, WIDTH, WIDTH) for _ in range(RANKS * chunks)], num_stages=RANKS,
                         loss_fn=paddle.nn.MSELoss(), **more)

    def forward(self, value, chunk_id=None):
        actions.append(["F", chunk_id or 0])
        return super().forward(value, chunk_id=chunk_id)


def main():
    chunks = int(sys.argv[1])
    paddle.set_device("cpu")
    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": RANKS}
    strategy.pipeline_configs = {"accumulate_steps": MICROBATCHES, "micro_batch_size": ROWS}
    fleet.init(is_collective=True, strategy=strategy)
    where = getattr(pipeline_parallel, "PipelineParallelMicroStepLocations", None)
    if where is not None:
        pipeline_parallel.register_global_pipeline_parallel_hook(where.BACKWARD_BEGIN, lambda **_: actions.append(["B"]))
    model = fleet.distributed_model(Net(chunks))
    optimizer = fleet.distributed_optimizer(paddle.optimizer.SGD(0.01, parameters=model.parameters()))
    for _ in range(2):
        model.train_batch([paddle.randn([MICROBATCHES * ROWS, WIDTH]), paddle.randn([MICROBATCHES * ROWS, WIDTH])], optimizer)
    with open(os.path.join(os.environ["FOLDER"], "ran_%d.json" % paddle.distributed.get_rank()), "w", encoding="utf-8") as file:
        json.dump(actions, file)


if __name__ == "__main__":
    main()

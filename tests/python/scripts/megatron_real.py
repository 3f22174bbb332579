"""Megatron-LM's own schedules on the CPU, one process a rank: real microbatches, messages and gradients of a small model.

    megatron_real.py RANKS SCHEDULE:CHUNKS...

SCHEDULE is 1f1b or interleaved. What each recorded lies in the folder SCHEDULE-CHUNKS; there every rank also writes which forwards
and backwards ran, noted by the model itself, independent of the recorder. With PATCH=import nothing of pipescope is called: `pipescope
record` patches Megatron-LM as it is imported."""
import json
import os
import socket
import sys
import warnings

MICROBATCHES, ROWS, WIDTH = 8, 4, 8


def without_cuda():
    """The schedules name the device "cuda": here it is the CPU."""
    import torch

    def on_cpu(make):
        def made(*args, **kwargs):
            if "device" in kwargs:
                kwargs["device"] = "cpu"
            return make(*args, **kwargs)
        return made

    for name in ("zeros", "empty", "ones", "tensor"):
        setattr(torch, name, on_cpu(getattr(torch, name)))
    torch.cuda.current_device = lambda: "cpu"
    torch.cuda.synchronize = lambda *_: None


class Noted:
    """What ran: the microbatch stands in the batch, and comes back with the gradient of it."""

    def __init__(self):
        self.actions = []


def make_model(config, stage, stages, noted):
    import torch
    from megatron.core.enums import ModelType

    class Note(torch.autograd.Function):
        @staticmethod
        def forward(ctx, value, microbatch):
            ctx.microbatch = microbatch
            noted.actions.append([stage, "F", microbatch])
            return value.clone()

        @staticmethod
        def backward(ctx, gradient):
            noted.actions.append([stage, "B", ctx.microbatch])
            return gradient.clone(), None

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.config, self.input, self.count = config, None, 0
            self.model_type = ModelType.encoder_or_decoder  # releases before 0.17 ask for it
            self.linear = torch.nn.Linear(WIDTH, WIDTH)

        def set_input_tensor(self, tensors):
            self.input = tensors[0]

        def forward(self, batch):
            microbatch, self.count = self.count % MICROBATCHES, self.count + 1
            value = batch if stage == 0 else self.input
            return self.linear(Note.apply(value if value.requires_grad else value.requires_grad_(), microbatch))

    return Model()


def run(rank, name, ranks, chunks, port, folder):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank))
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    without_cuda()
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    from megatron.core import parallel_state
    from megatron.core.pipeline_parallel import schedules
    from megatron.core.transformer.transformer_config import TransformerConfig

    is_patched = os.environ.get("PATCH") == "import"
    import pipescope
    if not is_patched:
        pipescope.megatron.record()
        pipescope.megatron.record()  # once is enough
    virtual = chunks if name == "interleaved" else None
    parallel_state.initialize_model_parallel(pipeline_model_parallel_size=ranks, virtual_pipeline_model_parallel_size=virtual)
    config = TransformerConfig(num_layers=ranks * chunks, hidden_size=WIDTH, num_attention_heads=1,
                               pipeline_model_parallel_size=ranks, virtual_pipeline_model_parallel_size=virtual,
                               pipeline_dtype=torch.float32, batch_p2p_comm=False)
    if virtual:
        config.microbatch_group_size_per_vp_stage = ranks
    noted = Noted()
    models = [make_model(config, chunk * ranks + rank, chunks * ranks, noted) for chunk in range(chunks)]

    def forward_step(iterator, model):
        output = model(next(iterator))
        return output, lambda value: (value.float().pow(2).mean(), {"loss": 0.0})

    def batches():
        while True:
            yield torch.randn(ROWS, 1, WIDTH)

    function = schedules.get_forward_backward_func()

    def step(forward_only=False):
        function(forward_step_func=forward_step, data_iterator=[batches() for _ in models] if virtual else batches(),
                 model=models if virtual else models[0], num_microbatches=MICROBATCHES, seq_length=ROWS, micro_batch_size=1,
                 forward_only=forward_only)

    step()
    noted.actions.clear()
    with pipescope.profile(schedule=pipescope.schedule(wait=0, warmup=0, active=1, repeat=1),
                           on_trace_ready=pipescope.tensorboard_trace_handler(folder)) as prof:
        step()
        prof.step()
    with open(os.path.join(folder, "ran_%d.json" % rank), "w", encoding="utf-8") as file:
        json.dump(noted.actions, file)
    dist.barrier()
    dist.destroy_process_group()


def main():
    warnings.simplefilter("ignore")
    import torch.multiprocessing

    from megatron.core.pipeline_parallel import schedules  # once, for all that are forked
    assert schedules

    for job in sys.argv[2:]:
        name, _, chunks = job.partition(":")
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        torch.multiprocessing.start_processes(run, (name, int(sys.argv[1]), int(chunks), port, "%s-%s" % (name, chunks)),
                                              nprocs=int(sys.argv[1]), start_method="fork")


if __name__ == "__main__":
    main()

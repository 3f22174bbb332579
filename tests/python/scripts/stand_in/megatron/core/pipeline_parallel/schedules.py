"""A small pipeline with the names of Megatron's: 1F1B. What a stage receives it waits for: a neighbour that is done leaves an empty file
in the folder JOB_MESSAGES. A rank that runs alone has no neighbours, and goes by the clock."""
import os
import time

from megatron.core import parallel_state

SLOT = 0.004  # seconds a forward or a backward takes
_begin = None


def _slot(n):
    """Waits until slot `n` of the job, which begins at the moment that all ranks were told."""
    global _begin
    if _begin is None:
        _begin = float(os.environ.get("JOB_BEGIN") or time.time() + 0.05)
    time.sleep(max(0.0, _begin + n * SLOT - time.time()))


def _message(kind, step, k, stage):
    return os.path.join(os.environ["JOB_MESSAGES"], f"{kind}.{step}.{k}.{stage}")


def _receive(kind, step, k, stage, p):
    """Waits for what the neighbour before (a forward) or behind (a backward) has to do first."""
    neighbour = stage - 1 if kind == "F" else stage + 1
    if not 0 <= neighbour < p:
        return
    end = time.time() + 60
    while not os.path.exists(_message(kind, step, k, neighbour)):
        if time.time() > end:
            raise TimeoutError(f"stage {neighbour} never ended {kind}{k}")
        time.sleep(0.0002)


def _send(kind, step, k, stage):
    with open(_message(kind, step, k, stage), "wb"):
        pass


def forward_step(forward_step_func, data_iterator, model, num_microbatches, input_tensor, forward_data_store, config=None,
                 current_microbatch=None):
    return forward_step_func(data_iterator, model)


def backward_step(input_tensor, output_tensor, output_tensor_grad, model_type=None, config=None):
    time.sleep(SLOT * 0.8)
    return input_tensor


def forward_backward_pipelining_without_interleaving(*, forward_step_func, data_iterator, model, num_microbatches,
                                                     forward_only=False):
    p = parallel_state.get_pipeline_model_parallel_world_size()
    stage = parallel_state.get_pipeline_model_parallel_rank()
    m = num_microbatches
    step = forward_backward_pipelining_without_interleaving.steps
    forward_backward_pipelining_without_interleaving.steps += 1
    first = step * (2 * (m + p) + 4)
    # Forward k of a stage begins in slot stage + k while it warms up, and two slots after the one before it later on.
    warmup = min(m, p - stage)
    when = {}
    for k in range(m):
        when["F", k] = stage + k if k < warmup else 2 * p - stage - 2 + 2 * (k - warmup + 1) + 0
        when["B", k] = 2 * p - 1 - stage + 2 * k
    has_neighbours = "JOB_MESSAGES" in os.environ
    for (kind, k), slot in sorted(when.items(), key=lambda item: (item[1], item[0])):
        if has_neighbours:
            _receive(kind, step, k, stage, p)
        else:
            _slot(first + slot)
        if kind == "F":
            forward_step(forward_step_func, data_iterator, model, m, None, [], current_microbatch=k)
        elif not forward_only:
            backward_step(None, None, None)
        if has_neighbours:
            _send(kind, step, k, stage)
    return []


forward_backward_pipelining_without_interleaving.steps = 0


def get_forward_backward_func():
    return forward_backward_pipelining_without_interleaving

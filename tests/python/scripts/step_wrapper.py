"""Marks around the steps of a pipeline, as training scripts for Ascend put them: pipelining with Megatron's functions."""
import functools
import json
import time

import torch_npu
from megatron.core.pipeline_parallel import schedules

MICROBATCHES = 6


def step_wrapper(func, msg: str):
    @functools.wraps(func)
    def wrapper(*args, **kwargs):
        new_msg = {"name": msg}
        if kwargs.get("current_microbatch") is not None:
            new_msg["current_microbatch"] = kwargs["current_microbatch"]
        range_id = torch_npu.npu.mstx.range_start(str(new_msg), torch_npu.npu.current_stream())
        out = func(*args, **kwargs)
        if range_id is not None:
            torch_npu.npu.mstx.range_end(range_id)
        return out

    return wrapper


schedules.forward_step = step_wrapper(schedules.forward_step, "forward_step")
schedules.backward_step = step_wrapper(schedules.backward_step, "backward_step")


def forward_step_func(data_iterator, model):
    time.sleep(schedules.SLOT * 0.8)
    return None, None


experimental_config = torch_npu.profiler._ExperimentalConfig(
    export_type=[torch_npu.profiler.ExportType.Db],
    profiler_level=torch_npu.profiler.ProfilerLevel.Level1,
    mstx=True,
)
with torch_npu.profiler.profile(
    activities=[torch_npu.profiler.ProfilerActivity.CPU, torch_npu.profiler.ProfilerActivity.NPU],
    schedule=torch_npu.profiler.schedule(wait=0, warmup=1, active=2, repeat=1, skip_first=0),
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./profiling"),
    experimental_config=experimental_config,
) as prof:
    prof.add_metadata_json("pp_info", json.dumps({"pp_type": "1f1b", "microbatch_num": MICROBATCHES}))
    for _ in range(4):
        schedules.get_forward_backward_func()(
            forward_step_func=forward_step_func, data_iterator=None, model=None, num_microbatches=MICROBATCHES)
        prof.step()

"""What runs is told to the analysis, as documented for the pipeline's chart; no schedule: everything between start and stop."""
import json

import torch_npu

prof = torch_npu.profiler.profile(
    on_trace_ready=torch_npu.profiler.tensorboard_trace_handler("./profiling", "worker", analyse_flag=True, async_mode=True),
    record_shapes=True,
    with_stack=True,
    experimental_config=torch_npu.profiler._ExperimentalConfig(
        aic_metrics=torch_npu.profiler.AiCMetrics.PipeUtilization,
        profiler_level=torch_npu.profiler.ProfilerLevel.Level_none,
        export_type=torch_npu.profiler.ExportType.Text,
        mstx_domain_include=["default", "pp"],
        l2_cache=False,
        msprof_tx=True,
        data_simplification=False,
    ),
    an_option_of_a_later_release=3,
)
prof.add_metadata("author", "somebody")
prof.add_metadata_json("distributed_args", json.dumps({"tensor_model_parallel_size": 2, "pipeline_model_parallel_size": 4,
                                                       "data_parallel_size": 1}))
prof.add_metadata_json("pp_info", json.dumps({"pp_type": "dualpipev", "microbatch_num": 10}))
prof.start()
torch_npu.npu.mstx.mark("kept", domain="pp")
torch_npu.npu.mstx.mark("left out", domain="other")


@torch_npu.npu.mstx.mstx_range("train", domain="pp")
def train():
    torch_npu.npu.synchronize()


train()
prof.stop()

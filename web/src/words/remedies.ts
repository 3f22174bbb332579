/** What src/analyze/views/capture_parts.c says about getting what a capture lacks, in Chinese. A test holds the two lists against each other. */
// prettier-ignore
export const REMEDIES: Readonly<Record<string, string>> = {
  // Python call stacks
  "Collect with with_stack=True (or with_modules=True, which costs less) in torch_npu.profiler.profile.":
    "采集时在 torch_npu.profiler.profile 中设置 with_stack=True（或开销更小的 with_modules=True）。",
  "Collect with with_stack=True in torch.profiler.profile.": "采集时在 torch.profiler.profile 中设置 with_stack=True。",
  "Collect with `nsys profile --trace=cuda,nvtx --python-functions-trace=FILE`, which marks the functions that FILE names.":
    "使用 `nsys profile --trace=cuda,nvtx --python-functions-trace=文件` 采集，文件中列出的函数会被打点。",
  // launches
  "Collect host and device together: activities=[ProfilerActivity.CPU, ProfilerActivity.NPU], level 0 or higher.":
    "同时采集主机与设备：activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]，level0 及以上。",
  "Collect host and device together: activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA].":
    "同时采集主机与设备：activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]。",
  "Collect with `nsys profile --trace=cuda,nvtx`: calls carry the correlation ids of what they launch.":
    "使用 `nsys profile --trace=cuda,nvtx` 采集：调用会带有其下发任务的关联 id。",
  "Record with `pipescope record --backend cupti --level 1` on a machine with a GPU, or the operators on the CPU with pipescope.record_ops().":
    "在有 GPU 的机器上使用 `pipescope record --backend cupti --level 1` 录制，或用 pipescope.record_ops() 录制 CPU 上的算子。",
  // counters of the hardware
  "Collect with aic_metrics, l2_cache=True, sys_io=True or sys_interconnection=True in _ExperimentalConfig, profiler_level Level1 or higher.":
    "采集时在 _ExperimentalConfig 中设置 aic_metrics、l2_cache=True、sys_io=True 或 sys_interconnection=True，profiler_level 为 Level1 及以上。",
  "The PyTorch profiler writes none: collect once more with `nsys profile --gpu-metrics-devices=all`.":
    "PyTorch profiler 不写硬件计数器：请用 `nsys profile --gpu-metrics-devices=all` 再采集一次。",
  "Collect with `nsys profile --gpu-metrics-devices=all`, or --cuda-memory-usage=true for memory.":
    "使用 `nsys profile --gpu-metrics-devices=all` 采集；内存使用 --cuda-memory-usage=true。",
  // memory
  "Collect with profile_memory=True in torch_npu.profiler.profile.": "采集时在 torch_npu.profiler.profile 中设置 profile_memory=True。",
  "Collect with profile_memory=True in torch.profiler.profile.": "采集时在 torch.profiler.profile 中设置 profile_memory=True。",
  "Collect with `nsys profile --cuda-memory-usage=true`.": "使用 `nsys profile --cuda-memory-usage=true` 采集。",
  // communication
  "A job on one device has none. Else collect with profiler_level Level1 or higher, and analyse the raw data with the same version of CANN that wrote it.":
    "单设备作业没有通信。否则请以 profiler_level Level1 及以上采集，并用写出原始数据的同一版本 CANN 解析。",
  "A job on one device has none. Else collect with ProfilerActivity.CUDA, and let the steps that are recorded reach the collective operators.":
    "单设备作业没有通信。否则请加上 ProfilerActivity.CUDA 采集，并让采集的 step 包含集合通信算子。",
  "A job on one device has none. Else collect with --trace=cuda,nvtx: NCCL then shows its kernels and names its operators.":
    "单设备作业没有通信。否则请用 --trace=cuda,nvtx 采集：这样能看到 NCCL 的核函数与算子名。",
  "A job on one process has none. Else put ranges of the domain communication around it (docs/recording.md), or record NCCL's kernels with `pipescope record --backend cupti --level 1`.":
    "单进程作业没有通信。否则请用 communication 域的 range 标出通信（docs/recording.md），或用 `pipescope record --backend cupti --level 1` 录制 NCCL 的核函数。",
  // training steps
  "Call prof.step() once an iteration inside torch_npu.profiler.profile(schedule=...).":
    "在 torch_npu.profiler.profile(schedule=...) 内每次迭代调用一次 prof.step()。",
  "Call prof.step() once an iteration inside torch.profiler.profile(schedule=...).":
    "在 torch.profiler.profile(schedule=...) 内每次迭代调用一次 prof.step()。",
  "Put an NVTX range round each iteration (torch.cuda.nvtx.range_push(\"step 7\")).":
    "为每次迭代加一个 NVTX range（torch.cuda.nvtx.range_push(\"step 7\")）。",
  "Call ps_record_step_begin(N) and ps_record_step_end(), or pipescope.step() once an iteration.":
    "每次迭代调用 ps_record_step_begin(N) 与 ps_record_step_end()，或调用一次 pipescope.step()。",
  "Put a range named ProfilerStep#N round each iteration.": "为每次迭代加一个名为 ProfilerStep#N 的 range。",
  // the host
  "Collect with activities=[ProfilerActivity.CPU, ProfilerActivity.NPU].": "采集时设置 activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]。",
  "Collect with ProfilerActivity.CPU among the activities.": "采集时在 activities 中加入 ProfilerActivity.CPU。",
  "Collect with `nsys profile --trace=cuda,nvtx,osrt`.": "使用 `nsys profile --trace=cuda,nvtx,osrt` 采集。",
  "Record operators with pipescope.record_ops(), or the calls into CUDA with `pipescope record --backend cupti --level 1`.":
    "用 pipescope.record_ops() 录制算子，或用 `pipescope record --backend cupti --level 1` 录制 CUDA 调用。",
  // the device
  "Collect with ProfilerActivity.NPU among the activities, and profiler_level Level0 or higher (Level_none has only marks).":
    "采集时在 activities 中加入 ProfilerActivity.NPU，profiler_level 为 Level0 及以上（Level_none 只有打点）。",
  "Collect with ProfilerActivity.CUDA among the activities (a run on CPUs has no device).":
    "采集时在 activities 中加入 ProfilerActivity.CUDA（仅用 CPU 运行时没有设备）。",
  "Collect with `nsys profile --trace=cuda,nvtx`.": "使用 `nsys profile --trace=cuda,nvtx` 采集。",
  "Record with `pipescope record --backend cupti` on a machine with a GPU, or the operators on the CPU with pipescope.record_ops().":
    "在有 GPU 的机器上使用 `pipescope record --backend cupti` 录制，或用 pipescope.record_ops() 录制 CPU 上的算子。",
  // ranges
  "Collect with mstx=True in _ExperimentalConfig, and put torch_npu.npu.mstx.range_start and range_end round what you want to see.":
    "采集时在 _ExperimentalConfig 中设置 mstx=True，并用 torch_npu.npu.mstx.range_start 与 range_end 包住要观察的部分。",
  "Put torch.profiler.record_function(\"name\") round what you want to see.": "用 torch.profiler.record_function(\"名称\") 包住要观察的部分。",
  "Put torch.cuda.nvtx.range_push(\"name\") and range_pop() round what you want to see, and collect with --trace=nvtx.":
    "用 torch.cuda.nvtx.range_push(\"名称\") 与 range_pop() 包住要观察的部分，并以 --trace=nvtx 采集。",
  "Put ps_record_range_start() and ps_record_range_end(), pipescope.mstx.annotate(\"name\"), mstx or NVTX ranges round what you want to see; pipescope.hook_modules() marks the modules of PyTorch.":
    "用 ps_record_range_start() 与 ps_record_range_end()、pipescope.mstx.annotate(\"名称\")、mstx 或 NVTX 的 range 包住要观察的部分；pipescope.hook_modules() 会为 PyTorch 模块打点。",
  // shapes
  "Collect with record_shapes=True in torch_npu.profiler.profile.": "采集时在 torch_npu.profiler.profile 中设置 record_shapes=True。",
  "Collect with record_shapes=True in torch.profiler.profile.": "采集时在 torch.profiler.profile 中设置 record_shapes=True。",
  "Record operators with pipescope.record_ops(shapes=True).": "用 pipescope.record_ops(shapes=True) 录制算子。",
};

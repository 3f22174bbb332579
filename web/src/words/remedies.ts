/** What the program advises, in Chinese, by the id that it sends along: the English is the sentence that came with the id. Tests hold
 * these lists against those of the program. */

/** Parts of a capture: names of src/analyze/views/capture_parts.c. */
// prettier-ignore
export const PARTS: Readonly<Record<string, string>> = {
  "python": "Python 调用栈",
  "flows": "下发关系：哪个主机算子启动了哪个核函数",
  "counters": "硬件计数器",
  "memory": "算子内存",
  "communication": "通信算子",
  "steps": "训练 step",
  "host": "主机算子与调用",
  "device": "设备侧任务",
  "marks": "程序命名的 range",
  "shapes": "算子输入的形状",
};

/** How to get what a capture lacks: part and whose options it names, of the same file. */
// prettier-ignore
export const REMEDIES: Readonly<Record<string, string>> = {
  "python.ascend": "采集时在 torch_npu.profiler.profile 中设置 with_stack=True（或开销更小的 with_modules=True）。",
  "python.torch": "采集时在 torch.profiler.profile 中设置 with_stack=True。",
  "python.nsight": "使用 `nsys profile --trace=cuda,nvtx --python-functions-trace=文件` 采集，文件中列出的函数会被打点。",
  "flows.ascend": "同时采集主机与设备：activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]，level0 及以上。",
  "flows.torch": "同时采集主机与设备：activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]。",
  "flows.nsight": "使用 `nsys profile --trace=cuda,nvtx` 采集：调用会带有其下发任务的关联 id。",
  "flows.recorder": "在有 GPU 的机器上使用 `pipescope record --backend cupti --level 1` 录制，或用 pipescope.record_ops() 录制 CPU 上的算子。",
  "counters.ascend": "采集时在 _ExperimentalConfig 中设置 aic_metrics、l2_cache=True、sys_io=True 或 sys_interconnection=True，profiler_level 为 Level1 及以上。",
  "counters.torch": "PyTorch profiler 不写硬件计数器：请用 `nsys profile --gpu-metrics-devices=all` 再采集一次。",
  "counters.nsight": "使用 `nsys profile --gpu-metrics-devices=all` 采集；内存使用 --cuda-memory-usage=true。",
  "memory.ascend": "采集时在 torch_npu.profiler.profile 中设置 profile_memory=True。",
  "memory.torch": "采集时在 torch.profiler.profile 中设置 profile_memory=True。",
  "memory.nsight": "使用 `nsys profile --cuda-memory-usage=true` 采集。",
  "communication.ascend": "单设备作业没有通信。否则请以 profiler_level Level1 及以上采集，并用写出原始数据的同一版本 CANN 解析。",
  "communication.torch": "单设备作业没有通信。否则请加上 ProfilerActivity.CUDA 采集，并让采集的 step 包含集合通信算子。",
  "communication.nsight": "单设备作业没有通信。否则请用 --trace=cuda,nvtx 采集：这样能看到 NCCL 的核函数与算子名。",
  "communication.recorder": "单进程作业没有通信。否则请用 communication 域的 range 标出通信（docs/recording.md），或用 `pipescope record --backend cupti --level 1` 录制 NCCL 的核函数。",
  "steps.ascend": "在 torch_npu.profiler.profile(schedule=...) 内每次迭代调用一次 prof.step()。",
  "steps.torch": "在 torch.profiler.profile(schedule=...) 内每次迭代调用一次 prof.step()。",
  "steps.nsight": "为每次迭代加一个 NVTX range（torch.cuda.nvtx.range_push(\"step 7\")）。",
  "steps.recorder": "每次迭代调用 ps_record_step_begin(N) 与 ps_record_step_end()，或调用一次 pipescope.step()。",
  "steps.other": "为每次迭代加一个名为 ProfilerStep#N 的 range。",
  "host.ascend": "采集时设置 activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]。",
  "host.torch": "采集时在 activities 中加入 ProfilerActivity.CPU。",
  "host.nsight": "使用 `nsys profile --trace=cuda,nvtx,osrt` 采集。",
  "host.recorder": "用 pipescope.record_ops() 录制算子，或用 `pipescope record --backend cupti --level 1` 录制 CUDA 调用。",
  "device.ascend": "采集时在 activities 中加入 ProfilerActivity.NPU，profiler_level 为 Level0 及以上（Level_none 只有打点）。",
  "device.torch": "采集时在 activities 中加入 ProfilerActivity.CUDA（仅用 CPU 运行时没有设备）。",
  "device.nsight": "使用 `nsys profile --trace=cuda,nvtx` 采集。",
  "device.recorder": "在有 GPU 的机器上使用 `pipescope record --backend cupti` 录制，或用 pipescope.record_ops() 录制 CPU 上的算子。",
  "marks.ascend": "采集时在 _ExperimentalConfig 中设置 mstx=True，并用 torch_npu.npu.mstx.range_start 与 range_end 包住要观察的部分。",
  "marks.torch": "用 torch.profiler.record_function(\"名称\") 包住要观察的部分。",
  "marks.nsight": "用 torch.cuda.nvtx.range_push(\"名称\") 与 range_pop() 包住要观察的部分，并以 --trace=nvtx 采集。",
  "marks.recorder": "用 ps_record_range_start() 与 ps_record_range_end()、pipescope.mstx.annotate(\"名称\")、mstx 或 NVTX 的 range 包住要观察的部分；pipescope.hook_modules() 会为 PyTorch 模块打点。",
  "shapes.ascend": "采集时在 torch_npu.profiler.profile 中设置 record_shapes=True。",
  "shapes.torch": "采集时在 torch.profiler.profile 中设置 record_shapes=True。",
  "shapes.recorder": "用 pipescope.record_ops(shapes=True) 录制算子。",
  "several.ascend": "该作业有多个 rank，必有通信。请以 profiler_level Level1 及以上采集，并用写出原始数据的同一版本 CANN 解析。",
  "several.torch": "该作业有多个 rank，必有通信。请加上 ProfilerActivity.CUDA 采集，让采集的 step 包含集合通信算子；自有核函数请用 --comm-rules 指定。",
  "several.nsight": "该作业有多个 rank，必有通信。请用 --trace=cuda,nvtx 采集；自有核函数请用 --comm-rules 指定。",
  "several.recorder": "该作业有多个 rank，必有通信。请用 communication 域的 range 标出通信（docs/recording.md），或用 `pipescope record --backend cupti --level 1` 录制 NCCL 的核函数。",
  "timeline.missing": "该 rank 的文件中没有时间线（trace_view.json、msprof_*.json），只有表格：请把它复制到同一目录，或重新导出。",
};

const LISTS = { part: PARTS, remedy: REMEDIES };

/** undefined: the program is newer than the page. */
export const chineseOf = (list: keyof typeof LISTS, id: string): string | undefined =>
  LISTS[list][id];

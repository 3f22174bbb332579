#include "analyze/views/capture_parts.h"

#include <stdio.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "analyze/rank/kernel_args.h"
#include "model/host_comm.h"
#include "model/recording.h"

/* Whose options a remedy names. */
typedef enum family {
    FAMILY_ASCEND,
    FAMILY_TORCH,
    FAMILY_NSIGHT,
    FAMILY_RECORDER, /* pipescope's own: databases as Ascend's profiler writes them */
    FAMILY_OTHER,
    N_FAMILIES
} family;

static const char *const FAMILIES[N_FAMILIES] = {"ascend", "torch", "nsight", "recorder", "other"};

static family family_of(ps_captured c, const char *format) {
    if (ps_trace_is_recording(c.trace)) {
        return FAMILY_RECORDER;
    }
    if (strncmp(format, "ascend", 6) == 0) {
        return FAMILY_ASCEND;
    }
    return strcmp(format, "kineto") == 0   ? FAMILY_TORCH
           : strcmp(format, "nsight") == 0 ? FAMILY_NSIGHT
                                           : FAMILY_OTHER;
}

/* --- what is there ---------------------------------------------------------------------------------------------- */

static bool any_kind(ps_captured of, ps_slice_kind a, ps_slice_kind b, ps_slice_kind c) {
    return of.n_of_kind[a] + of.n_of_kind[b] + of.n_of_kind[c] > 0;
}

static bool has_memory(const ps_trace *t) {
    static const char *const TABLES[] = {"OP_MEMORY", "operator_memory", "MEMORY_RECORD",
                                         "memory_record"};
    for (size_t i = 0; i < sizeof TABLES / sizeof *TABLES; i++) {
        const ps_table *table = ps_trace_side_table(t, TABLES[i]);
        if (table != NULL && table->n_rows > 0) {
            return true;
        }
    }
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (size_t i = 0; i < n; i++) {
        if (tracks[i].kind == PS_TRACK_COUNTER &&
            strncmp(ps_trace_text(t, tracks[i].name), "CUDA memory/", 12) == 0) {
            return true;
        }
    }
    return !ps_str_is_none(ps_trace_find_text(t, "[memory]"));
}

static bool has_shapes(const ps_trace *t) {
    for (size_t i = 0; i < PS_N_INPUT_SHAPES; i++) {
        if (!ps_str_is_none(ps_trace_find_text(t, PS_INPUT_SHAPES[i]))) {
            return true;
        }
    }
    return ps_trace_side_table(t, "kernel_details") != NULL;
}

/* One is enough: a capture with flows has many, and they come by their start. A mark is no call that launches. */
static bool has_launches(const ps_trace *t) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    const ps_slices *s = ps_trace_slices(t);
    for (size_t i = 0; i < n; i++) {
        if (s->kind[flows[i].from] < PS_SLICE_KERNEL &&
            s->kind[flows[i].from] != PS_SLICE_MARK_HOST &&
            (s->kind[flows[i].to] >= PS_SLICE_KERNEL || s->kind[flows[i].to] == PS_SLICE_COMM_OP)) {
            return true;
        }
    }
    return false;
}

bool ps_capture_has(ps_captured c, ps_part_of_capture part) {
    const ps_trace *t = c.trace;
    size_t n = 0;
    switch (part) {
    case PS_CAPTURE_PYTHON:
        return c.n_of_kind[PS_SLICE_PYTHON] > 0;
    case PS_CAPTURE_FLOWS:
        return has_launches(t);
    case PS_CAPTURE_COUNTERS:
        return ps_trace_counters(t)->n > 0;
    case PS_CAPTURE_MEMORY:
        return has_memory(t);
    case PS_CAPTURE_COMMUNICATION:
        return any_kind(c, PS_SLICE_COMM_OP, PS_SLICE_COMM_KERNEL, PS_SLICE_COMM_TASK) ||
               ps_host_comm_count(t) > 0;
    case PS_CAPTURE_STEPS:
        (void)ps_trace_steps(t, &n);
        return n > 0;
    case PS_CAPTURE_HOST:
        return any_kind(c, PS_SLICE_HOST_OP, PS_SLICE_CALL, PS_SLICE_HOST_OTHER);
    case PS_CAPTURE_DEVICE:
        return any_kind(c, PS_SLICE_KERNEL, PS_SLICE_COPY, PS_SLICE_JOB) ||
               any_kind(c, PS_SLICE_TASK, PS_SLICE_COMM_KERNEL,
                        ps_trace_comm_from_marks(t) == NULL ? PS_SLICE_COMM_OP : PS_SLICE_TASK);
    case PS_CAPTURE_MARKS:
        return any_kind(c, PS_SLICE_MARK_HOST, PS_SLICE_MARK_DEVICE, PS_SLICE_ANNOTATION);
    case PS_CAPTURE_SHAPES:
        return has_shapes(t);
    case PS_N_CAPTURE_PARTS:
        break;
    }
    return false;
}

/* --- what is not, and how to get it ------------------------------------------------------------------------------ */

typedef struct part_text {
    const char *name;
    ps_said what;
    ps_said remedies[N_FAMILIES]; /* none: such captures have none of it */
} part_text;

#define NONE                                                                                       \
    {                                                                                              \
        { NULL }                                                                                   \
    }

static const part_text PARTS[PS_N_CAPTURE_PARTS] = {
    [PS_CAPTURE_PYTHON] =
        {"python",
         {{"Python call stacks", "Python 调用栈"}},
         {
             {{"Collect with with_stack=True (or with_modules=True, which costs less) in "
               "torch_npu.profiler.profile.",
               "采集时在 torch_npu.profiler.profile 中设置 with_stack=True（或开销更小的 with_modules=True）。"}},
             {{"Collect with with_stack=True in torch.profiler.profile.",
               "采集时在 torch.profiler.profile 中设置 with_stack=True。"}},
             {{"Collect with `nsys profile --trace=cuda,nvtx --python-functions-trace=FILE`, which "
               "marks the functions that FILE names.",
               "使用 `nsys profile --trace=cuda,nvtx --python-functions-trace=文件` 采集，文件中列出的函数会被打点。"}},
             NONE,
             NONE,
         }},
    [PS_CAPTURE_FLOWS] =
        {"flows",
         {{"launches: which operator on the host started which kernel",
           "下发关系：哪个主机算子启动了哪个核函数"}},
         {
             {{"Collect host and device together: activities=[ProfilerActivity.CPU, "
               "ProfilerActivity.NPU], level 0 or higher.",
               "同时采集主机与设备：activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]，level0 及以上。"}},
             {{"Collect host and device together: activities=[ProfilerActivity.CPU, "
               "ProfilerActivity.CUDA].",
               "同时采集主机与设备：activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]。"}},
             {{"Collect with `nsys profile --trace=cuda,nvtx`: calls carry the correlation ids of "
               "what they launch.",
               "使用 `nsys profile --trace=cuda,nvtx` 采集：调用会带有其下发任务的关联 id。"}},
             {{"Record with `pipescope record --backend cupti --level 1` on a machine with a GPU, or the "
               "operators on the CPU with pipescope.record_ops().",
               "在有 GPU 的机器上使用 `pipescope record --backend cupti --level 1` 录制，或用 pipescope.record_ops() 录制 CPU 上的算子。"}},
             NONE,
         }},
    [PS_CAPTURE_COUNTERS] =
        {"counters",
         {{"counters of the hardware", "硬件计数器"}},
         {
             {{"Collect with aic_metrics, l2_cache=True, sys_io=True or sys_interconnection=True in "
               "_ExperimentalConfig, profiler_level Level1 or higher.",
               "采集时在 _ExperimentalConfig 中设置 aic_metrics、l2_cache=True、sys_io=True 或 sys_interconnection=True，profiler_level 为 Level1 及以上。"}},
             {{"The PyTorch profiler writes none: collect once more with `nsys profile "
               "--gpu-metrics-devices=all`.",
               "PyTorch profiler 不写硬件计数器：请用 `nsys profile --gpu-metrics-devices=all` 再采集一次。"}},
             {{"Collect with `nsys profile --gpu-metrics-devices=all`, or --cuda-memory-usage=true for "
               "memory.",
               "使用 `nsys profile --gpu-metrics-devices=all` 采集；内存使用 --cuda-memory-usage=true。"}},
             NONE,
             NONE,
         }},
    [PS_CAPTURE_MEMORY] =
        {"memory",
         {{"memory of operators", "算子内存"}},
         {
             {{"Collect with profile_memory=True in torch_npu.profiler.profile.",
               "采集时在 torch_npu.profiler.profile 中设置 profile_memory=True。"}},
             {{"Collect with profile_memory=True in torch.profiler.profile.",
               "采集时在 torch.profiler.profile 中设置 profile_memory=True。"}},
             {{"Collect with `nsys profile --cuda-memory-usage=true`.",
               "使用 `nsys profile --cuda-memory-usage=true` 采集。"}},
             NONE,
             NONE,
         }},
    [PS_CAPTURE_COMMUNICATION] =
        {"communication",
         {{"communication operators", "通信算子"}},
         {
             {{"A job on one device has none. Else collect with profiler_level Level1 or higher, and "
               "analyse the raw data with the same version of CANN that wrote it.",
               "单设备作业没有通信。否则请以 profiler_level Level1 及以上采集，并用写出原始数据的同一版本 CANN 解析。"}},
             {{"A job on one device has none. Else collect with ProfilerActivity.CUDA, and let the "
               "steps that are recorded reach the collective operators.",
               "单设备作业没有通信。否则请加上 ProfilerActivity.CUDA 采集，并让采集的 step 包含集合通信算子。"}},
             {{"A job on one device has none. Else collect with --trace=cuda,nvtx: NCCL then shows its "
               "kernels and names its operators.",
               "单设备作业没有通信。否则请用 --trace=cuda,nvtx 采集：这样能看到 NCCL 的核函数与算子名。"}},
             {{"A job on one process has none. Else put ranges of the domain communication around it "
               "(docs/recording.md), or record NCCL's kernels with `pipescope record --backend cupti "
               "--level 1`.",
               "单进程作业没有通信。否则请用 communication 域的 range 标出通信（docs/recording.md），或用 `pipescope record --backend cupti --level 1` 录制 NCCL 的核函数。"}},
             NONE,
         }},
    [PS_CAPTURE_STEPS] =
        {"steps",
         {{"training steps", "训练 step"}},
         {
             {{"Call prof.step() once an iteration inside torch_npu.profiler.profile(schedule=...).",
               "在 torch_npu.profiler.profile(schedule=...) 内每次迭代调用一次 prof.step()。"}},
             {{"Call prof.step() once an iteration inside torch.profiler.profile(schedule=...).",
               "在 torch.profiler.profile(schedule=...) 内每次迭代调用一次 prof.step()。"}},
             {{"Put an NVTX range round each iteration (torch.cuda.nvtx.range_push(\"step 7\")).",
               "为每次迭代加一个 NVTX range（torch.cuda.nvtx.range_push(\"step 7\")）。"}},
             {{"Call ps_record_step_begin(N) and ps_record_step_end(), or pipescope.step() once an iteration.",
               "每次迭代调用 ps_record_step_begin(N) 与 ps_record_step_end()，或调用一次 pipescope.step()。"}},
             {{"Put a range named ProfilerStep#N round each iteration.",
               "为每次迭代加一个名为 ProfilerStep#N 的 range。"}},
         }},
    [PS_CAPTURE_HOST] =
        {"host",
         {{"operators and calls of the host", "主机算子与调用"}},
         {
             {{"Collect with activities=[ProfilerActivity.CPU, ProfilerActivity.NPU].",
               "采集时设置 activities=[ProfilerActivity.CPU, ProfilerActivity.NPU]。"}},
             {{"Collect with ProfilerActivity.CPU among the activities.",
               "采集时在 activities 中加入 ProfilerActivity.CPU。"}},
             {{"Collect with `nsys profile --trace=cuda,nvtx,osrt`.",
               "使用 `nsys profile --trace=cuda,nvtx,osrt` 采集。"}},
             {{"Record operators with pipescope.record_ops(), or the calls into CUDA with "
               "`pipescope record --backend cupti --level 1`.",
               "用 pipescope.record_ops() 录制算子，或用 `pipescope record --backend cupti --level 1` 录制 CUDA 调用。"}},
             NONE,
         }},
    [PS_CAPTURE_DEVICE] =
        {"device",
         {{"work of the device", "设备侧任务"}},
         {
             {{"Collect with ProfilerActivity.NPU among the activities, and profiler_level Level0 or "
               "higher (Level_none has only marks).",
               "采集时在 activities 中加入 ProfilerActivity.NPU，profiler_level 为 Level0 及以上（Level_none 只有打点）。"}},
             {{"Collect with ProfilerActivity.CUDA among the activities (a run on CPUs has no device).",
               "采集时在 activities 中加入 ProfilerActivity.CUDA（仅用 CPU 运行时没有设备）。"}},
             {{"Collect with `nsys profile --trace=cuda,nvtx`.",
               "使用 `nsys profile --trace=cuda,nvtx` 采集。"}},
             {{"Record with `pipescope record --backend cupti` on a machine with a GPU, or the operators on "
               "the CPU with pipescope.record_ops().",
               "在有 GPU 的机器上使用 `pipescope record --backend cupti` 录制，或用 pipescope.record_ops() 录制 CPU 上的算子。"}},
             NONE,
         }},
    [PS_CAPTURE_MARKS] =
        {"marks",
         {{"ranges that the program names", "程序命名的 range"}},
         {
             {{"Collect with mstx=True in _ExperimentalConfig, and put torch_npu.npu.mstx.range_start "
               "and range_end round what you want to see.",
               "采集时在 _ExperimentalConfig 中设置 mstx=True，并用 torch_npu.npu.mstx.range_start 与 range_end 包住要观察的部分。"}},
             {{"Put torch.profiler.record_function(\"name\") round what you want to see.",
               "用 torch.profiler.record_function(\"名称\") 包住要观察的部分。"}},
             {{"Put torch.cuda.nvtx.range_push(\"name\") and range_pop() round what you want to see, "
               "and collect with --trace=nvtx.",
               "用 torch.cuda.nvtx.range_push(\"名称\") 与 range_pop() 包住要观察的部分，并以 --trace=nvtx 采集。"}},
             {{"Put ps_record_range_start() and ps_record_range_end(), pipescope.mstx.annotate(\"name\"), mstx or NVTX "
               "ranges round what you want to see; pipescope.hook_modules() marks the modules of PyTorch.",
               "用 ps_record_range_start() 与 ps_record_range_end()、pipescope.mstx.annotate(\"名称\")、mstx 或 NVTX 的 range 包住要观察的部分；pipescope.hook_modules() 会为 PyTorch 模块打点。"}},
             NONE,
         }},
    [PS_CAPTURE_SHAPES] =
        {"shapes",
         {{"shapes of the operators' inputs", "算子输入的形状"}},
         {
             {{"Collect with record_shapes=True in torch_npu.profiler.profile.",
               "采集时在 torch_npu.profiler.profile 中设置 record_shapes=True。"}},
             {{"Collect with record_shapes=True in torch.profiler.profile.",
               "采集时在 torch.profiler.profile 中设置 record_shapes=True。"}},
             NONE,
             {{"Record operators with pipescope.record_ops(shapes=True).",
               "用 pipescope.record_ops(shapes=True) 录制算子。"}},
             NONE,
         }},
};

/* How many ranks the job has, as the capture says; 0 unknown. */
static int64_t world_size(const ps_trace *trace) {
    ps_diag counted_by_others = {0}; /* what is malformed */
    ps_rank_facts facts = {0};
    ps_arena arena;
    ps_arena_init(&arena);
    bool ok = ps_rank_facts_read(trace, &arena, &facts, &counted_by_others, NULL) == PS_OK;
    ps_arena_fini(&arena);
    return ok ? facts.world_size : 0;
}

/* Of a job that is known to have several ranks: its communication is missing, whatever the capture shows. */
static ps_said remedy_of_several(family f) {
    static const ps_said REMEDIES[N_FAMILIES] = {
        [FAMILY_ASCEND] =
            {{"The job has several ranks, so it communicates. Collect with profiler_level Level1 or "
              "higher, and analyse the raw data with the same version of CANN that wrote it.",
              "该作业有多个 rank，必有通信。请以 profiler_level Level1 及以上采集，并用写出原始数据的同一版本 CANN 解析。"}},
        [FAMILY_TORCH] =
            {{"The job has several ranks, so it communicates. Collect with ProfilerActivity.CUDA, let the steps "
              "that are recorded reach the collective operators, and name kernels of its own with --comm-rules.",
              "该作业有多个 rank，必有通信。请加上 ProfilerActivity.CUDA 采集，让采集的 step 包含集合通信算子；自有核函数请用 --comm-rules 指定。"}},
        [FAMILY_NSIGHT] =
            {{"The job has several ranks, so it communicates. Collect with --trace=cuda,nvtx, and "
              "name kernels of its own with --comm-rules.",
              "该作业有多个 rank，必有通信。请用 --trace=cuda,nvtx 采集；自有核函数请用 --comm-rules 指定。"}},
        [FAMILY_RECORDER] =
            {{"The job has several ranks, so it communicates. Put ranges of the domain communication around it "
              "(docs/recording.md), or record NCCL's kernels with `pipescope record --backend cupti --level 1`.",
              "该作业有多个 rank，必有通信。请用 communication 域的 range 标出通信（docs/recording.md），或用 `pipescope record --backend cupti --level 1` 录制 NCCL 的核函数。"}},
    };
    return REMEDIES[f];
}

const char *ps_capture_name(ps_part_of_capture part) {
    return PARTS[part].name;
}

/* What a timeline tells and tables do not: there it is the file that is missing, whatever was collected. */
static bool is_missing_of_timeline(ps_captured c, ps_part_of_capture part) {
    bool is_judged = part == PS_CAPTURE_PYTHON || part == PS_CAPTURE_FLOWS ||
                     part == PS_CAPTURE_HOST || part == PS_CAPTURE_MARKS;
    return is_judged && ps_trace_missing_timeline(c.trace) != NULL;
}

bool ps_capture_misses(ps_captured c, const char *format, ps_part_of_capture part,
                       ps_missing *out) {
    family f = family_of(c, format);
    ps_said remedy = PARTS[part].remedies[f];
    if (remedy.in[PS_ENGLISH] == NULL || ps_capture_has(c, part)) {
        return false;
    }
    const char *from = PARTS[part].name;
    const char *to = FAMILIES[f];
    if (is_missing_of_timeline(c, part)) {
        from = "timeline";
        to = "missing";
        remedy = (ps_said){
            {"The timeline (trace_view.json, msprof_*.json) is not among the files of this rank, only tables: "
             "copy it beside them, or export it again.",
             "该 rank 的文件中没有时间线（trace_view.json、msprof_*.json），只有表格：请把它复制到同一目录，或重新导出。"}};
    } else if (part == PS_CAPTURE_COMMUNICATION && world_size(c.trace) > 1) {
        from = "several";
        remedy = remedy_of_several(f);
    }
    *out = (ps_missing){.what = PARTS[part].what,
                        .remedy = remedy,
                        .is_of_another = part == PS_CAPTURE_COUNTERS && f == FAMILY_TORCH};
    (void)snprintf(out->id, sizeof out->id, "%s.%s", from, to);
    return true;
}

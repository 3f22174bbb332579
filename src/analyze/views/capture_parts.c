#include "analyze/views/capture_parts.h"

#include <stdio.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "analyze/rank/kernel_args.h"
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
        return any_kind(c, PS_SLICE_COMM_OP, PS_SLICE_COMM_KERNEL, PS_SLICE_COMM_TASK);
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
    const char *name, *what;
    const char *remedies[N_FAMILIES]; /* NULL: such captures have none of it */
} part_text;

static const part_text PARTS[PS_N_CAPTURE_PARTS] = {
    [PS_CAPTURE_PYTHON] =
        {"python",
         "Python call stacks",
         {"Collect with with_stack=True (or with_modules=True, which costs less) in "
          "torch_npu.profiler.profile.",
          "Collect with with_stack=True in torch.profiler.profile.",
          "Collect with `nsys profile --trace=cuda,nvtx --python-functions-trace=FILE`, which "
          "marks the functions that FILE names.",
          NULL, NULL}},
    [PS_CAPTURE_FLOWS] =
        {"flows",
         "launches: which operator on the host started which kernel",
         {"Collect host and device together: activities=[ProfilerActivity.CPU, "
          "ProfilerActivity.NPU], level 0 or higher.",
          "Collect host and device together: activities=[ProfilerActivity.CPU, "
          "ProfilerActivity.CUDA].",
          "Collect with `nsys profile --trace=cuda,nvtx`: calls carry the correlation ids of "
          "what they launch.",
          "Record with `pipescope record --backend cupti --level 1` on a machine with a GPU, or the "
          "operators on the CPU with pipescope.record_ops().",
          NULL}},
    [PS_CAPTURE_COUNTERS] =
        {"counters",
         "counters of the hardware",
         {"Collect with aic_metrics, l2_cache=True, sys_io=True or sys_interconnection=True in "
          "_ExperimentalConfig, profiler_level Level1 or higher.",
          "The PyTorch profiler writes none: collect once more with `nsys profile "
          "--gpu-metrics-devices=all`.",
          "Collect with `nsys profile --gpu-metrics-devices=all`, or --cuda-memory-usage=true for "
          "memory.",
          NULL, NULL}},
    [PS_CAPTURE_MEMORY] = {"memory",
                           "memory of operators",
                           {"Collect with profile_memory=True in torch_npu.profiler.profile.",
                            "Collect with profile_memory=True in torch.profiler.profile.",
                            "Collect with `nsys profile --cuda-memory-usage=true`.", NULL, NULL}},
    [PS_CAPTURE_COMMUNICATION] =
        {"communication",
         "communication operators",
         {"A job on one device has none. Else collect with profiler_level Level1 or higher, and "
          "analyse the raw data with the same version of CANN that wrote it.",
          "A job on one device has none. Else collect with ProfilerActivity.CUDA, and let the "
          "steps that are recorded reach the collective operators.",
          "A job on one device has none. Else collect with --trace=cuda,nvtx: NCCL then shows its "
          "kernels and names its operators.",
          "A job on one process has none. Else put ranges of the domain communication around it "
          "(docs/recording.md), or record NCCL's kernels with `pipescope record --backend cupti "
          "--level 1`.",
          NULL}},
    [PS_CAPTURE_STEPS] =
        {"steps",
         "training steps",
         {"Call prof.step() once an iteration inside torch_npu.profiler.profile(schedule=...).",
          "Call prof.step() once an iteration inside torch.profiler.profile(schedule=...).",
          "Put an NVTX range round each iteration (torch.cuda.nvtx.range_push(\"step 7\")).",
          "Call ps_record_step_begin(N) and ps_record_step_end(), or pipescope.step() once an iteration.",
          "Put a range named ProfilerStep#N round each iteration."}},
    [PS_CAPTURE_HOST] =
        {"host",
         "operators and calls of the host",
         {"Collect with activities=[ProfilerActivity.CPU, ProfilerActivity.NPU].",
          "Collect with ProfilerActivity.CPU among the activities.",
          "Collect with `nsys profile --trace=cuda,nvtx,osrt`.",
          "Record operators with pipescope.record_ops(), or the calls into CUDA with "
          "`pipescope record --backend cupti --level 1`.",
          NULL}},
    [PS_CAPTURE_DEVICE] =
        {"device",
         "work of the device",
         {"Collect with ProfilerActivity.NPU among the activities, and profiler_level Level0 or "
          "higher (Level_none has only marks).",
          "Collect with ProfilerActivity.CUDA among the activities (a run on CPUs has no device).",
          "Collect with `nsys profile --trace=cuda,nvtx`.",
          "Record with `pipescope record --backend cupti` on a machine with a GPU, or the operators on "
          "the CPU with pipescope.record_ops().",
          NULL}},
    [PS_CAPTURE_MARKS] =
        {"marks",
         "ranges that the program names",
         {"Collect with mstx=True in _ExperimentalConfig, and put torch_npu.npu.mstx.range_start "
          "and range_end round what you want to see.",
          "Put torch.profiler.record_function(\"name\") round what you want to see.",
          "Put torch.cuda.nvtx.range_push(\"name\") and range_pop() round what you want to see, "
          "and collect with --trace=nvtx.",
          "Put ps_record_range_start() and ps_record_range_end(), pipescope.mstx.annotate(\"name\"), mstx or NVTX "
          "ranges round what you want to see; pipescope.hook_modules() marks the modules of PyTorch.",
          NULL}},
    [PS_CAPTURE_SHAPES] = {"shapes",
                           "shapes of the operators' inputs",
                           {"Collect with record_shapes=True in torch_npu.profiler.profile.",
                            "Collect with record_shapes=True in torch.profiler.profile.", NULL,
                            "Record operators with pipescope.record_ops(shapes=True).", NULL}},
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
static const char *remedy_of_several(family f) {
    static const char *const REMEDIES[N_FAMILIES] = {
        [FAMILY_ASCEND] =
            "The job has several ranks, so it communicates. Collect with profiler_level Level1 or "
            "higher, and analyse the raw data with the same version of CANN that wrote it.",
        [FAMILY_TORCH] =
            "The job has several ranks, so it communicates. Collect with ProfilerActivity.CUDA, let the steps "
            "that are recorded reach the collective operators, and name kernels of its own with --comm-rules.",
        [FAMILY_NSIGHT] =
            "The job has several ranks, so it communicates. Collect with --trace=cuda,nvtx, and "
            "name kernels of its own with --comm-rules.",
        [FAMILY_RECORDER] =
            "The job has several ranks, so it communicates. Put ranges of the domain communication around it "
            "(docs/recording.md), or record NCCL's kernels with `pipescope record --backend cupti --level 1`.",
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
    const char *remedy = PARTS[part].remedies[f];
    if (remedy == NULL || ps_capture_has(c, part)) {
        return false;
    }
    const char *from = PARTS[part].name;
    const char *to = FAMILIES[f];
    if (is_missing_of_timeline(c, part)) {
        from = "timeline";
        to = "missing";
        remedy =
            "The timeline (trace_view.json, msprof_*.json) is not among the files of this rank, only tables: "
            "copy it beside them, or export it again.";
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

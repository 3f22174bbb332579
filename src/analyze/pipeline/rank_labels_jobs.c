#include "analyze/pipeline/rank_labels_jobs.h"

#include <string.h>

#include "analyze/rank/executor_jobs.h"
#include "base/alloc.h"
#include "schedule/schedule.h"

static int32_t arg_or(const ps_trace *trace, uint32_t slice, const char *key, int32_t otherwise) {
    int64_t value = 0;
    bool ok = ps_trace_arg_int(trace, slice, key, &value) && value >= 0 && value < INT32_MAX;
    return ok ? (int32_t)value : otherwise;
}

static bool add_job_label_job(const ps_trace *trace, uint32_t slice, ps_op_kind kind, int chunk,
                              ps_rank_labels *out) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *type = ps_trace_text(trace, s->name[slice]);
    int64_t start = ps_trace_origin_ns(trace) + s->start_ns[slice];
    int32_t microbatch = arg_or(trace, slice, "microbatch", -1);
    ps_labelled op = {.mark = {.start_ns = start,
                               .end_ns = start + s->dur_ns[slice],
                               .host_start_ns = start,
                               .host_end_ns = start + s->dur_ns[slice],
                               .step = arg_or(trace, slice, "step", -1),
                               .microbatch = microbatch,
                               .track = s->track[slice],
                               .source_row = (uint32_t)s->source_row[slice],
                               .kind = (uint8_t)kind},
                      .label = {.kind = kind,
                                .stage = arg_or(trace, slice, "chunk", chunk),
                                .microbatch = microbatch < PS_MAX_MICROBATCHES ? microbatch : -1,
                                .stage2 = -1,
                                .microbatch2 = -1,
                                .layer_f = -1,
                                .layer_b = -1}};
    if (kind == PS_OP_OTHER) {
        op.name = ps_arena_strndup(&out->arena, type, strlen(type));
    }
    if ((kind == PS_OP_OTHER && op.name == NULL) ||
        !ps_grow(&out->ops, &out->cap, out->n + 1, UINT32_MAX - 1, sizeof *out->ops)) {
        return false;
    }
    out->ops[out->n++] = op;
    return true;
}

bool ps_jobs_collect(const ps_trace *trace, ps_rank_labels *out, bool *any) {
    const ps_slices *s = ps_trace_slices(trace);
    *any = false;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] != PS_SLICE_JOB) {
            continue;
        }
        ps_op_kind kind = PS_OP_OTHER;
        int chunk = -1;
        (void)ps_job_kind(ps_trace_text(trace, s->name[i]), &kind, &chunk);
        if (kind == PS_OP_SEND || kind == PS_OP_RECV) {
            continue;
        }
        *any = *any || kind != PS_OP_OTHER;
        if (!add_job_label_job(trace, i, kind, chunk, out)) {
            return false;
        }
    }
    return true;
}

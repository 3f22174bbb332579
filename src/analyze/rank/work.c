/* What counts as work. */
#include "analyze/rank/work.h"

#include <string.h>

#include "analyze/rank/executor_jobs.h"
#include "model/comm_kernels.h"
#include "model/comm_marks.h"
#include "model/recording.h"

static bool is_device_op(const ps_work *w, uint32_t i) {
    return w->s->kind[i] == PS_SLICE_COMM_OP &&
           w->tracks[w->s->track[i]].kind != PS_TRACK_HOST_THREAD;
}

/* Kernels before jobs; operators before their kernels. Operators seen on a host thread say nothing of the device. What was
 * made from marks, or of tables without kernels, counts beside computing only: where no computing was collected, what is not
 * communication is not Free. */
ps_work ps_work_of_trace(const ps_trace *trace) {
    size_t n_tracks = 0;
    ps_work w = {.trace = trace,
                 .s = ps_trace_slices(trace),
                 .tracks = ps_trace_tracks(trace, &n_tracks),
                 .computing = PS_SLICE_JOB,
                 .communication = PS_SLICE_COMM_KERNEL};
    bool any_job = false;
    bool any_comm_kernel = false;
    for (uint32_t i = 0; i < w.s->n; i++) {
        if (w.s->kind[i] == PS_SLICE_KERNEL) {
            w.computing = PS_SLICE_KERNEL;
        } else if (is_device_op(&w, i)) {
            w.communication = PS_SLICE_COMM_OP;
        }
        any_job = any_job || w.s->kind[i] == PS_SLICE_JOB;
        any_comm_kernel = any_comm_kernel || w.s->kind[i] == PS_SLICE_COMM_KERNEL;
    }
    bool computes = any_job || w.computing == PS_SLICE_KERNEL;
    if (!computes && (ps_trace_meta(trace, PS_COMM_FROM_MARKS_KEY) != NULL ||
                      ps_trace_missing_timeline(trace) != NULL)) {
        w.communication = PS_SLICE_COMM_KERNEL;
    }
    /* Kernels of communication come from where the others would; operators and their tasks may come alone. */
    w.knows_computing = computes || (any_comm_kernel && w.communication == PS_SLICE_COMM_KERNEL);
    return w;
}

ps_work ps_work_of(const ps_links *links) {
    ps_work w = ps_work_of_trace(links->trace);
    w.links = links;
    return w;
}

/* NCCL has one kernel for both directions: which of them it was, its arguments or the call behind it say, which may be a
 * range around it. A kernel that does both is no receive. */
static bool receives(const ps_work *w, uint32_t i) {
    const char *collective = ps_trace_arg_text(w->trace, i, "Collective name");
    ps_comm_what what = collective != NULL
                            ? ps_comm_of_call(collective)
                            : ps_comm_of_name(ps_trace_text(w->trace, w->s->name[i]));
    if (collective != NULL || what != PS_COMM_SEND_RECEIVE) {
        return what == PS_COMM_RECEIVE;
    }
    uint32_t behind = w->links->op[i] != PS_NONE ? w->links->op[i] : w->links->call[i];
    what = PS_COMM_UNKNOWN;
    for (uint32_t at = behind; at != PS_NONE && what == PS_COMM_UNKNOWN;
         at = w->links->parent[at]) {
        const char *name = ps_trace_text(w->trace, w->s->name[at]);
        if (at == behind || ps_comm_is_library_call(name)) {
            what = ps_comm_of_call(name);
        }
        if (ps_comm_is_group_call(name)) {
            return false;
        }
    }
    return what == PS_COMM_RECEIVE;
}

static ps_part part_of_job(const ps_work *w, uint32_t i) {
    ps_op_kind kind = PS_OP_OTHER;
    int chunk = -1;
    (void)ps_job_kind(ps_trace_text(w->trace, w->s->name[i]), &kind, &chunk);
    return kind == PS_OP_RECV   ? PS_PART_RECEIVING
           : kind == PS_OP_SEND ? PS_PART_COMMUNICATION
                                : PS_PART_COMPUTING;
}

/* Text captures show the transfers of a communication operator once more on its stream. */
static bool is_part_of_op(const ps_work *w, uint32_t i) {
    return w->communication == PS_SLICE_COMM_OP &&
           strcmp(ps_trace_text(w->trace, w->s->name[i]), "SDMA") == 0;
}

ps_part ps_work_busy(const ps_work *w, uint32_t i) {
    ps_slice_kind kind = (ps_slice_kind)w->s->kind[i];
    if (kind == w->computing) {
        return kind == PS_SLICE_JOB ? part_of_job(w, i) : PS_PART_COMPUTING;
    }
    if (kind == w->communication && (kind != PS_SLICE_COMM_OP || is_device_op(w, i))) {
        return PS_PART_COMMUNICATION;
    }
    return kind == PS_SLICE_COPY && !is_part_of_op(w, i) ? PS_PART_COPYING : PS_PART_NONE;
}

ps_part ps_work_part(const ps_work *w, uint32_t i) {
    ps_part part = ps_work_busy(w, i);
    bool is_comm = part == PS_PART_COMMUNICATION && (ps_slice_kind)w->s->kind[i] != PS_SLICE_JOB;
    return is_comm && receives(w, i) ? PS_PART_RECEIVING : part;
}

int64_t ps_work_device(const ps_work *w, uint32_t slice) {
    return w->tracks[w->s->track[slice]].device;
}

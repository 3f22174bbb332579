/* A device slice may have several causes (an operator of the framework, the call into the driver). The call says best when it was
 * launched, unless it comes from a queue: the thread that takes from a queue comes late, and the operator counts. */
#include "analyze/pipeline/project.h"

#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

/* What an extent is made of, worse to better. */
enum { NOTHING, COMMUNICATION, OTHER_TASK, KERNEL, OWN_DEVICE_SIDE };

static uint8_t value_of(uint8_t kind) {
    switch (kind) {
    case PS_SLICE_MARK_DEVICE:
        return OWN_DEVICE_SIDE;
    case PS_SLICE_KERNEL:
    case PS_SLICE_COPY:
        return KERNEL;
    case PS_SLICE_TASK:
        return OTHER_TASK;
    case PS_SLICE_COMM_KERNEL:
    case PS_SLICE_COMM_TASK:
        return COMMUNICATION;
    default:
        return NOTHING; /* waiting for an event is no work */
    }
}

bool ps_is_step_mark(const ps_trace *trace, uint32_t slice) {
    static const char NAME[] = "ProfilerStep#";
    const char *name = ps_trace_text(trace, ps_trace_slices(trace)->name[slice]);
    return strncmp(name, NAME, sizeof NAME - 1) == 0;
}

bool ps_trace_has_device(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t value = value_of(s->kind[i]);
        if (value != NOTHING && !(value == OWN_DEVICE_SIDE && ps_is_step_mark(trace, i))) {
            return true;
        }
    }
    return false;
}

/* The host slice that stands for a device slice's launch, PS_NONE. */
static uint32_t launch_of_projected(const ps_links *links, uint32_t to) {
    const ps_slices *s = ps_trace_slices(links->trace);
    uint32_t call = links->call[to];
    uint32_t op = links->op[to];
    bool is_queued = call != PS_NONE && op != PS_NONE &&
                     !ps_same_thread(links->trace, s->track[call], s->track[op]);
    return call == PS_NONE || is_queued ? op : call;
}

static void extend_projection(ps_extent *e, uint8_t value, bool is_part, int64_t start_ns,
                              int64_t end_ns) {
    bool communicates = value == COMMUNICATION;
    value = is_part && communicates ? KERNEL : value;
    if (value > e->rank) {
        *e = (ps_extent){.start_ns = start_ns, .end_ns = end_ns, .rank = value};
    }
    if (value == e->rank) {
        e->all_ns = ps_i64_plus(e->all_ns, end_ns - start_ns);
        e->communication_ns =
            ps_i64_plus(e->communication_ns, communicates ? end_ns - start_ns : 0);
        e->start_ns = start_ns < e->start_ns ? start_ns : e->start_ns;
        e->end_ns = end_ns > e->end_ns ? end_ns : e->end_ns;
        e->n_kernels++;
    }
}

ps_code ps_project(const ps_links *links, const ps_host_span *spans, size_t n, ps_extent *out,
                   ps_diag *diag, ps_err *err) {
    const ps_slices *s = ps_trace_slices(links->trace);
    ps_span_index index;
    uint64_t n_open = 0;
    bool ok = ps_span_index_init(&index, links, spans, n);
    for (size_t i = 0; i < n; i++) {
        out[i] = (ps_extent){0};
    }
    for (uint32_t to = 0; ok && to < s->n; to++) {
        uint8_t value = value_of(s->kind[to]);
        uint32_t launch = value != NOTHING ? launch_of_projected(links, to) : PS_NONE;
        if (launch == PS_NONE) {
            continue;
        }
        bool is_open = false;
        uint32_t span = ps_span_holding(&index, launch, &is_open);
        bool own = value != OWN_DEVICE_SIDE || (span != PS_NONE && spans[span].slice == launch);
        n_open += is_open && own;
        if (span != PS_NONE && own) {
            extend_projection(&out[span], value, spans[span].is_part, s->start_ns[to],
                              s->start_ns[to] + s->dur_ns[to]);
        }
    }
    ps_diag_count(diag, PS_ODD_LAUNCH_OPEN, n_open);
    ps_span_index_fini(&index);
    return ok ? PS_OK : ps_fail_nomem(err);
}

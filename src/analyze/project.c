/* Flows are sorted by the slice they come from, and slices by start: the launches come in time order, and one pass with
 * the spans that are open suffices.
 *
 * A device slice may have several causes (an operator of the framework, the call into the driver). Where the framework
 * queues its launches for another thread, the call comes late: the operator counts, when there is one. */
#include "analyze/project.h"

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

static bool is_host(uint8_t kind) {
    return kind < PS_SLICE_KERNEL && kind != PS_SLICE_MARK_DEVICE && kind != PS_SLICE_DERIVED &&
           kind != PS_SLICE_COMM_OP;
}

/* cause[device slice]: the flow that stands for its launch, PS_NONE. */
static uint32_t *find_causes(const ps_trace *trace) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n);
    uint32_t *cause = ps_alloc(((size_t)s->n + 1) * sizeof *cause);
    for (uint32_t i = 0; cause != NULL && i < s->n; i++) {
        cause[i] = PS_NONE;
    }
    for (size_t i = 0; cause != NULL && i < n; i++) {
        uint32_t from = flows[i].from;
        uint32_t to = flows[i].to;
        if (value_of(s->kind[to]) == NOTHING || !is_host(s->kind[from])) {
            continue;
        }
        bool better = cause[to] == PS_NONE || (s->kind[from] == PS_SLICE_HOST_OP &&
                                               s->kind[flows[cause[to]].from] != PS_SLICE_HOST_OP);
        cause[to] = better ? (uint32_t)i : cause[to];
    }
    return cause;
}

static void extend(ps_extent *e, uint8_t value, bool is_part, int64_t start_ns, int64_t end_ns) {
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

/* Spans begun and not yet known to be over, innermost on top. */
typedef struct open_spans {
    const ps_host_span *spans;
    uint32_t *stack;
    size_t n_stack, next, n;
} open_spans;

/* The span that contains `at` and began last, PS_NONE when there is none. `at` never goes back. */
static uint32_t span_at(open_spans *o, int64_t at) {
    while (o->next < o->n && o->spans[o->next].start_ns <= at) {
        o->stack[o->n_stack++] = (uint32_t)o->next++;
    }
    while (o->n_stack > 0 && o->spans[o->stack[o->n_stack - 1]].end_ns < at) {
        o->n_stack--;
    }
    return o->n_stack > 0 ? o->stack[o->n_stack - 1] : PS_NONE;
}

ps_code ps_project(const ps_trace *trace, const ps_host_span *spans, size_t n, ps_extent *out,
                   ps_err *err) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n_flows);
    uint32_t *cause = find_causes(trace);
    open_spans open = {.spans = spans, .n = n};
    open.stack = ps_calloc(n, sizeof *open.stack);
    bool ok = cause != NULL && open.stack != NULL;
    for (size_t i = 0; i < n; i++) {
        out[i] = (ps_extent){0};
    }
    for (size_t i = 0; ok && i < n_flows; i++) {
        uint32_t to = flows[i].to;
        uint8_t value = value_of(s->kind[to]);
        if (value == NOTHING || cause[to] != i) {
            continue;
        }
        uint32_t span = span_at(&open, s->start_ns[flows[i].from]);
        bool own =
            value != OWN_DEVICE_SIDE || (span != PS_NONE && spans[span].slice == flows[i].from);
        if (span != PS_NONE && own) {
            extend(&out[span], value, spans[span].is_part, s->start_ns[to],
                   s->start_ns[to] + s->dur_ns[to]);
        }
    }
    ps_free(cause);
    ps_free(open.stack);
    return ok ? PS_OK : ps_fail_nomem(err);
}

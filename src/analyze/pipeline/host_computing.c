/* PyTorch posts what a label needs before it computes and sends when it has computed:
 *
 *   Forward 2 |= empty_strided = c10d::recv_ = (waits) = linear = relu = c10d::send =|
 *   PP:3F2    |= (waits) = linear = relu =|
 *
 * The wait lies before the first operator, and ends when what is received has come (gloo:recv ends). What the host does between that and
 * the first operator is the label's own; where the trace does not time receives, nothing tells it from the wait. */
#include "analyze/pipeline/host_computing.h"

#include <stdlib.h>

#include "analyze/pipeline/receives.h"
#include "analyze/rank/span_index.h"
#include "base/alloc.h"
#include "model/comm_kernels.h"
#include "model/trace.h"

bool ps_host_range_holds_waits(const ps_trace *trace, const ps_host_range *range) {
    return (range->label.family == PS_FAMILY_ACTION ||
            range->label.family == PS_FAMILY_MICROBATCH) &&
           range->slice != PS_NONE &&
           ps_trace_slices(trace)->kind[range->slice] == PS_SLICE_ANNOTATION;
}

/* --- what lies in a range ---------------------------------------------------------------------------------------- */

static bool holder_init(ps_span_index *index, ps_host_span **spans, const ps_links *links,
                        const ps_host_ranges *ranges) {
    *spans = ps_calloc(ranges->n, sizeof **spans);
    for (size_t r = 0; *spans != NULL && r < ranges->n; r++) {
        const ps_host_range *range = &ranges->ranges[r];
        (*spans)[r] =
            (ps_host_span){range->start_ns, range->end_ns, range->slice, range->track, false};
    }
    *index = (ps_span_index){0};
    return *spans != NULL && ps_span_index_init(index, links, *spans, ranges->n);
}

static void holder_fini(ps_span_index *index, ps_host_span *spans) {
    ps_span_index_fini(index);
    ps_free(spans);
}

/* The range that an operator surely belongs to, PS_NONE: that some other thread was in a range at the time does not tell. */
static uint32_t range_of_operator(const ps_span_index *index, uint32_t slice) {
    const ps_trace *trace = index->links->trace;
    const ps_slices *s = ps_trace_slices(trace);
    bool is_open = false;
    uint32_t r = ps_span_holding(index, slice, &is_open);
    if (r == PS_NONE || ps_slice_end(s, slice) > index->spans[r].end_ns) {
        return PS_NONE;
    }
    bool is_own = ps_same_thread(trace, s->track[slice], index->spans[r].track);
    return is_own || ps_links_waiting(index->links, slice) != PS_NONE ? r : PS_NONE;
}

/* --- computing --------------------------------------------------------------------------------------------------- */

/* Of a range: what came before its last receive so far, the last call of a communication library, and where the first one
 * behind the computing so far began; of both parts of the computing, which call ended before it. */
typedef struct computing_state {
    ps_extent before;
    bool has_sent, has_received;
    int64_t call_end_ns, behind_ns;
    int64_t lead_ns, lead_before_ns;
    uint32_t call_track;
} computing_state;

static void join_computing(ps_extent *e, int64_t start_ns, int64_t end_ns, uint32_t n) {
    bool is_first = e->n_kernels == 0;
    e->start_ns = is_first || start_ns < e->start_ns ? start_ns : e->start_ns;
    e->end_ns = is_first || end_ns > e->end_ns ? end_ns : e->end_ns;
    e->n_kernels += n;
}

/* Whoever receives after a send exchanges with others while computing. */
static void take_call(computing_state *state, ps_extent *e, const ps_slices *s, uint32_t slice,
                      const char *name) {
    bool receives = ps_comm_of_call(name) == PS_COMM_RECEIVE;
    state->behind_ns =
        s->start_ns[slice] < state->behind_ns ? s->start_ns[slice] : state->behind_ns;
    state->call_end_ns = ps_slice_end(s, slice);
    state->call_track = s->track[slice];
    state->has_sent = state->has_sent || !receives;
    state->has_received = state->has_received || receives;
    if (receives && !state->has_sent && e->n_kernels > 0) {
        state->lead_before_ns =
            state->before.n_kernels == 0 ? state->lead_ns : state->lead_before_ns;
        join_computing(&state->before, e->start_ns, e->end_ns, e->n_kernels);
        *e = (ps_extent){0};
    }
}

static void take_operator(const ps_trace *trace, computing_state *state, ps_extent *e,
                          uint32_t slice) {
    const ps_slices *s = ps_trace_slices(trace);
    const char *name = ps_trace_text(trace, s->name[slice]);
    bool is_inside =
        s->track[slice] == state->call_track && s->start_ns[slice] < state->call_end_ns;
    if (is_inside) {
        return;
    }
    if (ps_comm_is_library_call(name)) {
        take_call(state, e, s, slice, name);
        return;
    }
    state->lead_ns = e->n_kernels == 0 ? state->call_end_ns : state->lead_ns;
    join_computing(e, s->start_ns[slice], ps_slice_end(s, slice), 1);
    state->behind_ns = INT64_MAX;
}

/* How long before its first operator the host may have worked for the range: since the call of a library and the receive before; 0
 * where nothing tells. */
static int64_t lead_of_range(const computing_state *state, const ps_host_range *range,
                             const ps_receives *receives, int64_t first_ns) {
    int64_t came_ns = ps_receives_for(receives, range, first_ns);
    bool is_told = receives->n > 0 && (!state->has_received || came_ns >= range->start_ns);
    int64_t since_ns = state->lead_ns > range->start_ns ? state->lead_ns : range->start_ns;
    since_ns = came_ns > since_ns ? came_ns : since_ns;
    return is_told && since_ns < first_ns ? first_ns - since_ns : 0;
}

/* Behind its last operator the host still works for the range, up to where it hands the result over: nothing is awaited there.
 * A range without an operator, among others that have some, waited and computed nothing. */
static void end_computing(computing_state *state, const ps_host_range *range, ps_extent *e) {
    const ps_extent *before = &state->before;
    int64_t until = state->behind_ns < range->end_ns ? state->behind_ns : range->end_ns;
    if (e->n_kernels == 0 && before->n_kernels == 0) {
        *e = (ps_extent){.start_ns = range->end_ns, .end_ns = range->end_ns, .n_kernels = 1};
        return;
    }
    if (before->n_kernels > 0 && before->end_ns - before->start_ns >= e->end_ns - e->start_ns) {
        join_computing(e, before->start_ns, before->end_ns, before->n_kernels);
        state->lead_ns = state->lead_before_ns;
    }
    e->end_ns = until > e->end_ns ? until : e->end_ns;
}

bool ps_host_computing(const ps_links *links, const ps_host_ranges *ranges, ps_extent *out,
                       bool *any) {
    const ps_slices *s = ps_trace_slices(links->trace);
    ps_host_span *spans = NULL;
    ps_span_index index;
    ps_receives receives;
    bool ok = ps_receives_collect(links->trace, &receives);
    ok = holder_init(&index, &spans, links, ranges) && ok;
    computing_state *states = ps_calloc(ranges->n, sizeof *states);
    int64_t *leads = ps_calloc(ranges->n, sizeof *leads);
    ok = ok && states != NULL && leads != NULL;
    for (size_t r = 0; ok && r < ranges->n; r++) {
        out[r] = (ps_extent){0};
        states[r].call_track = PS_NONE;
        states[r].behind_ns = INT64_MAX;
        states[r].call_end_ns = INT64_MIN;
    }
    for (uint32_t i = 0; ok && i < s->n; i++) {
        uint32_t r = s->kind[i] == PS_SLICE_HOST_OP ? range_of_operator(&index, i) : PS_NONE;
        if (r != PS_NONE && ps_host_range_holds_waits(links->trace, &ranges->ranges[r])) {
            take_operator(links->trace, &states[r], &out[r], i);
        }
    }
    *any = false;
    for (size_t r = 0; ok && r < ranges->n; r++) {
        *any = *any || out[r].n_kernels > 0;
    }
    for (size_t r = 0; *any && r < ranges->n; r++) {
        const ps_host_range *range = &ranges->ranges[r];
        if (ps_host_range_holds_waits(links->trace, range) && ps_label_is_op(range->label.kind)) {
            bool is_empty = out[r].n_kernels == 0 && states[r].before.n_kernels == 0;
            end_computing(&states[r], range, &out[r]);
            leads[r] = is_empty ? 0 : lead_of_range(&states[r], range, &receives, out[r].start_ns);
        }
    }
    if (*any) {
        ps_leads_of_ops(leads, ranges->n, 4);
    }
    for (size_t r = 0; *any && r < ranges->n; r++) {
        out[r].start_ns -= leads[r];
    }
    ps_receives_fini(&receives);
    ps_free(leads);
    ps_free(states);
    holder_fini(&index, spans);
    return ok;
}

/* --- pairs ------------------------------------------------------------------------------------------------------- */

/* Of a range: the last end of operators whose backward a flow tells, the first start of a node of autograd, and the last end of other
 * operators in between. */
typedef struct pair_halves {
    int64_t forward_end_ns, backward_start_ns, between_ns;
} pair_halves;

static bool is_pair(const ps_trace *trace, const ps_host_range *range) {
    return range->label.kind == PS_OP_FB && ps_host_range_holds_waits(trace, range);
}

static void find_nodes(const ps_span_index *index, const ps_host_ranges *ranges,
                       pair_halves *halves) {
    const ps_trace *trace = index->links->trace;
    const ps_slices *s = ps_trace_slices(trace);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t r = ps_is_backward_node(trace, i) ? range_of_operator(index, i) : PS_NONE;
        if (r != PS_NONE && is_pair(trace, &ranges->ranges[r]) &&
            s->start_ns[i] < halves[r].backward_start_ns) {
            halves[r].backward_start_ns = s->start_ns[i];
        }
    }
}

static void find_forward_ends(const ps_span_index *index, const ps_host_ranges *ranges,
                              pair_halves *halves) {
    const ps_trace *trace = index->links->trace;
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n);
    ps_str kind = ps_trace_find_text(trace, "fwdbwd");
    for (size_t i = 0; !ps_str_is_none(kind) && i < n; i++) {
        uint32_t from = flows[i].from;
        uint32_t r = ps_str_eq(flows[i].kind, kind) ? range_of_operator(index, from) : PS_NONE;
        if (r != PS_NONE && is_pair(trace, &ranges->ranges[r]) &&
            ps_slice_end(s, from) > halves[r].forward_end_ns) {
            halves[r].forward_end_ns = ps_slice_end(s, from);
        }
    }
}

static void find_between(const ps_span_index *index, const ps_host_ranges *ranges,
                         pair_halves *halves) {
    const ps_trace *trace = index->links->trace;
    const ps_slices *s = ps_trace_slices(trace);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t r = s->kind[i] == PS_SLICE_HOST_OP ? range_of_operator(index, i) : PS_NONE;
        int64_t end_ns = ps_slice_end(s, i);
        if (r != PS_NONE && is_pair(trace, &ranges->ranges[r]) &&
            end_ns <= halves[r].backward_start_ns && end_ns > halves[r].between_ns) {
            halves[r].between_ns = end_ns;
        }
    }
}

static bool is_apart(const pair_halves *h) {
    return h->forward_end_ns != INT64_MIN && h->backward_start_ns != INT64_MAX &&
           h->forward_end_ns <= h->backward_start_ns;
}

/* The range becomes its forward; the result is its backward. */
static ps_host_range split_pair(ps_host_range *range, const pair_halves *h) {
    ps_host_range backward = *range;
    backward.start_ns = h->between_ns;
    backward.label.kind = ps_action_op(range->label.second);
    backward.label.action = range->label.second;
    backward.label.stage = range->label.stage2;
    backward.label.microbatch = range->label.microbatch2;
    backward.label.stage2 = -1;
    backward.label.microbatch2 = -1;
    range->end_ns = h->forward_end_ns;
    range->label.kind = PS_OP_F;
    range->label.stage2 = -1;
    range->label.microbatch2 = -1;
    return backward;
}

static bool split_all(ps_host_ranges *ranges, const pair_halves *halves) {
    size_t n = ranges->n;
    size_t n_pairs = 0;
    for (size_t r = 0; r < n; r++) {
        n_pairs += is_apart(&halves[r]);
    }
    if (!ps_grow(&ranges->ranges, &ranges->cap, n + n_pairs, UINT32_MAX - 1,
                 sizeof *ranges->ranges)) {
        return false;
    }
    for (size_t r = 0; r < n; r++) {
        if (is_apart(&halves[r])) {
            ranges->ranges[ranges->n++] = split_pair(&ranges->ranges[r], &halves[r]);
        }
    }
    ps_host_ranges_sort(ranges);
    return true;
}

bool ps_host_ranges_split_pairs(const ps_links *links, ps_host_ranges *ranges) {
    bool any = false;
    for (size_t r = 0; r < ranges->n && !any; r++) {
        any = is_pair(links->trace, &ranges->ranges[r]);
    }
    if (!any) {
        return true;
    }
    ps_host_span *spans = NULL;
    ps_span_index index;
    bool ok = holder_init(&index, &spans, links, ranges);
    pair_halves *halves = ps_calloc(ranges->n, sizeof *halves);
    ok = ok && halves != NULL;
    for (size_t r = 0; ok && r < ranges->n; r++) {
        halves[r] = (pair_halves){INT64_MIN, INT64_MAX, INT64_MIN};
    }
    if (ok) {
        find_nodes(&index, ranges, halves);
        find_forward_ends(&index, ranges, halves);
        find_between(&index, ranges, halves);
        ok = split_all(ranges, halves);
    }
    ps_free(halves);
    holder_fini(&index, spans);
    return ok;
}

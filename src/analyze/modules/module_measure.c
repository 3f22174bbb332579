/* Kernels come by start, so the union of a module's kernels grows by what lies beyond the latest end so far: one number
 * for each module, and one pass. What of a span is computing or idle comes from the united spans of the whole device, by
 * binary search over running totals. */
#include "analyze/modules/module_measure.h"

#include "analyze/stats/intervals.h"
#include "base/alloc.h"
#include "base/order.h"

/* United spans with the length of all before each. */
typedef struct span_index {
    ps_intervals spans;
    int64_t *before_ns;
} span_index;

typedef struct measuring {
    const ps_module_tree *tree;
    const ps_slices *s;
    const ps_mfu *mfu;
    const ps_module_scope *scope;
    double peak_flop_s;
    ps_module_measures *out;
    span_index computing, busy;
    int64_t *busy_until, *comm_until; /* by node */
    uint32_t
        *anchor; /* by node: itself, or the module around it at the deepest level with unions */
    bool has_comm_ops;
} measuring;

/* --- spans of the device ---------------------------------------------------------------------------------------- */

static bool index_spans(span_index *x) {
    ps_intervals_unite(&x->spans);
    x->before_ns = ps_alloc((x->spans.n + 1) * sizeof *x->before_ns);
    int64_t total = 0;
    for (size_t i = 0; x->before_ns != NULL && i < x->spans.n; i++) {
        x->before_ns[i] = total;
        total += x->spans.at[i].end_ns - x->spans.at[i].start_ns;
    }
    return x->before_ns != NULL;
}

/* The length of what lies before `at`. */
static int64_t length_before(const span_index *x, int64_t at) {
    PS_PLACE(size_t, low, 0, x->spans.n, middle, x->spans.at[middle].start_ns < at)
    if (low == 0) {
        return 0;
    }
    const ps_interval *last = &x->spans.at[low - 1];
    return x->before_ns[low - 1] + (at < last->end_ns ? at : last->end_ns) - last->start_ns;
}

static int64_t length_within(const span_index *x, int64_t start, int64_t end) {
    return end > start ? length_before(x, end) - length_before(x, start) : 0;
}

static bool is_comm(uint8_t kind) {
    return kind == PS_SLICE_COMM_OP || kind == PS_SLICE_COMM_KERNEL;
}

static bool collect_spans(measuring *m) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < m->s->n; i++) {
        uint8_t kind = m->s->kind[i];
        int64_t start = m->s->start_ns[i];
        int64_t end = start + m->s->dur_ns[i];
        if (kind == PS_SLICE_KERNEL) {
            ok = ps_intervals_add(&m->computing.spans, start, end);
        }
        if (kind == PS_SLICE_KERNEL || kind == PS_SLICE_COPY || kind == PS_SLICE_TASK ||
            is_comm(kind)) {
            ok = ok && ps_intervals_add(&m->busy.spans, start, end);
        }
    }
    return ok && index_spans(&m->computing) && index_spans(&m->busy);
}

/* --- kernels ---------------------------------------------------------------------------------------------------- */

static void add_share(ps_module_share *share, int64_t dur) {
    share->n_kernels++;
    share->kernel_ns = ps_i64_plus(share->kernel_ns, dur);
}

/* What [start, end) adds to a union that reaches to *until. */
static int64_t beyond(int64_t *until, int64_t start, int64_t end, int64_t *from) {
    *from = start > *until ? start : *until;
    if (end <= *from) {
        return 0;
    }
    *until = end;
    return end - *from;
}

static void add_module_unions(measuring *m, uint32_t node, uint32_t slice, int64_t start,
                              int64_t end) {
    bool comm = is_comm(m->s->kind[slice]);
    for (uint32_t n = node; n != PS_NONE; n = m->tree->nodes[n].parent) {
        ps_module_sum *sum = &m->out->nodes[n];
        int64_t from = 0;
        sum->busy_ns += beyond(&m->busy_until[n], start, end, &from);
        if (comm) {
            int64_t added = beyond(&m->comm_until[n], start, end, &from);
            sum->exposed_ns += added > 0 ? added - length_within(&m->computing, from, end) : 0;
        }
    }
}

/* Of a kernel that only `dur` of lies in the span its share of the operations. */
static void add_module_work(const measuring *m, ps_module_sum *sum, uint32_t slice, int64_t dur) {
    if (m->mfu == NULL || m->s->kind[slice] != PS_SLICE_KERNEL) {
        return;
    }
    int64_t whole = m->s->dur_ns[slice];
    double share = whole > dur ? (double)dur / (double)whole : 1;
    ps_kernel_flops f = ps_mfu_of(m->mfu, slice);
    double peak = f.peak_flop_s > 0 ? f.peak_flop_s : m->peak_flop_s;
    sum->flops += f.peak_flop_s > 0 ? f.flops * share : 0;
    sum->work += (double)dur * 1e-9 * peak;
}

/* A kernel counts for the call of its operator: of a backward operator, for the call it is the backward of. */
static void add_module_time_kernel(measuring *m, uint32_t call, uint32_t slice, int64_t start,
                                   int64_t dur) {
    const ps_module_call *c = &m->tree->calls[call];
    ps_module_sum *sum = &m->out->nodes[c->node];
    ps_module_call_sum *of = &m->out->calls[c->forward];
    size_t side = c->pass != PS_MODULE_FORWARD;
    sum->own_ns = ps_i64_plus(sum->own_ns, dur);
    sum->kernel_ns[c->pass] = ps_i64_plus(sum->kernel_ns[c->pass], dur);
    of->kernel_ns[c->pass] = ps_i64_plus(of->kernel_ns[c->pass], dur);
    of->first_ns[side] = start < of->first_ns[side] ? start : of->first_ns[side];
    of->last_ns[side] = start + dur > of->last_ns[side] ? start + dur : of->last_ns[side];
    add_module_work(m, sum, slice, dur);
    add_module_unions(m, m->anchor[c->node], slice, start, start + dur);
}

static bool is_of_step(const measuring *m, uint32_t slice) {
    int64_t step = m->scope->step;
    return step < 0 || ps_links_step(m->tree->links, slice) == step;
}

static void take_module_time_kernel(measuring *m, uint32_t slice) {
    int64_t start = 0;
    int64_t dur = ps_module_part_ns(m->scope, m->s, slice, &start);
    if (dur < 0) {
        return;
    }
    uint32_t op = ps_module_launcher(m->tree->links, slice);
    if (op == PS_NONE) {
        if (is_of_step(m, slice)) {
            add_share(&m->out->unlinked, dur);
            m->out->place[slice] = PS_MODULE_UNLINKED;
        }
        return;
    }
    uint32_t call = m->tree->call_of[op];
    if (call != PS_NONE && m->scope->wanted[call] != 0) {
        add_share(&m->out->inside, dur);
        m->out->place[slice] = PS_MODULE_INSIDE;
        add_module_time_kernel(m, call, slice, start, dur);
    } else if (call == PS_NONE && is_of_step(m, slice)) {
        add_share(&m->out->outside, dur);
        m->out->place[slice] = PS_MODULE_OUTSIDE;
    }
}

/* --- calls and modules ------------------------------------------------------------------------------------------ */

static bool find_anchors(measuring *m) {
    const ps_module_tree *t = m->tree;
    m->anchor = ps_alloc((t->n_nodes + 1) * sizeof *m->anchor);
    for (size_t n = 0; m->anchor != NULL && n < t->n_nodes; n++) {
        bool deep = t->nodes[n].depth > PS_MODULE_UNION_DEPTH;
        m->anchor[n] = deep ? m->anchor[t->nodes[n].parent] : (uint32_t)n;
    }
    return m->anchor != NULL;
}

static int64_t gap_of(const measuring *m, int64_t first, int64_t last) {
    return last > first ? last - first - length_within(&m->busy, first, last) : 0;
}

/* Into the call around it. What a recomputed call runs, it runs in the backward pass of the calls around it. */
static void add_to_parent(ps_module_call_sum *into, const ps_module_call_sum *from) {
    for (size_t p = 0; p < PS_N_MODULE_PASSES; p++) {
        into->kernel_ns[p] = ps_i64_plus(into->kernel_ns[p], from->kernel_ns[p]);
    }
    for (size_t side = 0; side < 2; side++) {
        into->first_ns[side] = from->first_ns[side] < into->first_ns[side] ? from->first_ns[side]
                                                                           : into->first_ns[side];
        into->last_ns[side] =
            from->last_ns[side] > into->last_ns[side] ? from->last_ns[side] : into->last_ns[side];
    }
}

static int64_t module_time_kernel_time(const int64_t *kernel_ns) {
    int64_t sum = 0;
    for (size_t p = 0; p < PS_N_MODULE_PASSES; p++) {
        sum = ps_i64_plus(sum, kernel_ns[p]);
    }
    return sum;
}

static void note_host(measuring *m, const ps_module_call *c) {
    ps_module_sum *sum = &m->out->nodes[c->node];
    int64_t start = c->start_ns;
    int64_t end = c->end_ns;
    sum->calls[c->pass]++;
    if (ps_asked_span_cut(&m->scope->span, &start, &end)) {
        sum->host_ns[c->pass] = ps_i64_plus(sum->host_ns[c->pass], end - start);
    }
}

/* Calls inside a call come after it: from the last to the first, each is complete when it is added to its parent. */
static void sum_calls(measuring *m) {
    const ps_module_tree *t = m->tree;
    for (size_t i = t->n_calls; i > t->n_marked; i--) {
        if (m->scope->wanted[i - 1] != 0) {
            note_host(m, &t->calls[i - 1]);
        }
    }
    for (size_t i = t->n_marked; i > 0; i--) {
        const ps_module_call *c = &t->calls[i - 1];
        ps_module_call_sum *of = &m->out->calls[i - 1];
        ps_module_sum *sum = &m->out->nodes[c->node];
        of->gap_ns = ps_i64_plus(gap_of(m, of->first_ns[0], of->last_ns[0]),
                                 gap_of(m, of->first_ns[1], of->last_ns[1]));
        if (c->parent != PS_NONE) {
            add_to_parent(&m->out->calls[c->parent], of);
        }
        if (m->scope->wanted[i - 1] != 0) {
            note_host(m, c);
        }
        sum->gap_ns = ps_i64_plus(sum->gap_ns, of->gap_ns);
        int64_t ns = module_time_kernel_time(of->kernel_ns);
        if (m->scope->wanted[i - 1] == 0 && ns == 0) {
            continue;
        }
        if (sum->slowest == PS_NONE || ns >= sum->slowest_ns) { /* of equals the first */
            sum->slowest_ns = ns;
            sum->slowest = (uint32_t)(i - 1);
        }
    }
}

static void sum_nodes(measuring *m) {
    const ps_module_tree *t = m->tree;
    for (size_t n = t->n_nodes; n > 0; n--) {
        ps_module_sum *sum = &m->out->nodes[n - 1];
        if (t->nodes[n - 1].depth > PS_MODULE_UNION_DEPTH) {
            sum->busy_ns = -1;
            sum->exposed_ns = -1;
        }
        if (t->nodes[n - 1].parent == PS_NONE) {
            continue;
        }
        ps_module_sum *parent = &m->out->nodes[t->nodes[n - 1].parent];
        for (size_t p = 0; p < PS_N_MODULE_PASSES; p++) {
            parent->kernel_ns[p] = ps_i64_plus(parent->kernel_ns[p], sum->kernel_ns[p]);
        }
        parent->flops += sum->flops;
        parent->work += sum->work;
    }
}

/* Operators count once, by what their first kernel says. */
static void count_ops(const measuring *m) {
    const ps_module_tree *t = m->tree;
    for (uint32_t i = 0; i < m->s->n; i++) {
        if (t->first_kernel[i] < t->first_kernel[i + 1]) {
            uint8_t place = m->out->place[t->kernels[t->first_kernel[i]]];
            m->out->inside.n_ops += place == PS_MODULE_INSIDE;
            m->out->outside.n_ops += place == PS_MODULE_OUTSIDE;
        }
    }
}

/* --- all together ----------------------------------------------------------------------------------------------- */

static bool make_module_time_room(measuring *m) {
    const ps_module_tree *t = m->tree;
    ps_module_measures *out = m->out;
    out->nodes = ps_calloc(t->n_nodes + 1, sizeof *out->nodes);
    out->calls = ps_calloc(t->n_marked + 1, sizeof *out->calls);
    out->place = ps_calloc((size_t)m->s->n + 1, 1);
    m->busy_until = ps_alloc((t->n_nodes + 1) * sizeof *m->busy_until);
    m->comm_until = ps_alloc((t->n_nodes + 1) * sizeof *m->comm_until);
    if (out->nodes == NULL || out->calls == NULL || out->place == NULL || m->busy_until == NULL ||
        m->comm_until == NULL) {
        return false;
    }
    for (size_t n = 0; n < t->n_nodes; n++) {
        m->busy_until[n] = m->comm_until[n] = INT64_MIN;
        out->nodes[n].slowest = PS_NONE;
    }
    for (size_t c = 0; c < t->n_marked; c++) {
        for (size_t side = 0; side < 2; side++) {
            out->calls[c].first_ns[side] = INT64_MAX;
            out->calls[c].last_ns[side] = INT64_MIN;
        }
    }
    return true;
}

ps_code ps_module_measure(const ps_module_tree *tree, const ps_module_scope *scope,
                          const ps_mfu *mfu, ps_module_measures *out, ps_err *err) {
    measuring m = {.tree = tree,
                   .s = ps_trace_slices(tree->links->trace),
                   .mfu = mfu,
                   .scope = scope,
                   .out = out,
                   .has_comm_ops = ps_module_has_comm_ops(tree->links->trace)};
    *out = (ps_module_measures){0};
    const char *how = NULL;
    m.peak_flop_s = mfu != NULL ? ps_mfu_peak_flop_s(mfu, &how) : 0;
    bool ok = make_module_time_room(&m) && find_anchors(&m) && collect_spans(&m);
    for (uint32_t i = 0; ok && i < m.s->n; i++) {
        if (ps_module_counts(tree->links, i, m.has_comm_ops)) {
            take_module_time_kernel(&m, i);
        }
    }
    if (ok) {
        count_ops(&m);
        sum_calls(&m);
        sum_nodes(&m);
    }
    ps_free(m.anchor);
    ps_free(m.busy_until);
    ps_free(m.comm_until);
    ps_intervals_fini(&m.computing.spans);
    ps_intervals_fini(&m.busy.spans);
    ps_free(m.computing.before_ns);
    ps_free(m.busy.before_ns);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_module_measures_fini(ps_module_measures *m) {
    ps_free(m->nodes);
    ps_free(m->calls);
    ps_free(m->place);
    *m = (ps_module_measures){0};
}

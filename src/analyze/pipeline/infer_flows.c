/*   forward order    f1 f2 f3 | f4 f5 f6        backwards of the first: b3 b2 b1, then b6 b5 b4
 *   backward starts   9  8  7 | 14 13 12        the rise from 7 to 14 ends the first microbatch
 *
 * Model pieces of one rank whose backwards run in another order than their forwards show no rise there: the same pass
 * along the backwards finds those. A microbatch is what neither pass cuts. */
#include "analyze/pipeline/infer_flows.h"

#include <stdlib.h>

#include "analyze/pipeline/project.h"
#include "analyze/pipeline/receives.h"
#include "analyze/pipeline/recognise.h"
#include "analyze/rank/autograd_threads.h"
#include "analyze/rank/module_pairs.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/comm_kernels.h"

typedef struct pair {
    uint32_t forward, backward; /* slices; in start order as their numbers */
    uint32_t segment;           /* along the forwards, then along both */
    uint32_t second;            /* along the backwards */
} pair;

/* Several flows of one operator are no rise: the latest first. */
PS_COMPARE(by_forward, pair, PS_BY(forward) PS_BY_DOWN(backward))

PS_COMPARE(by_backward, pair, PS_BY(backward) PS_BY_DOWN(forward))

/* The pairs of forward and backward operators, NULL when memory is out. */
static pair *find_pairs(const ps_trace *trace, size_t *n_out) {
    const ps_slices *s = ps_trace_slices(trace);
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(trace, &n_flows);
    ps_str kind = ps_trace_find_text(trace, "fwdbwd");
    size_t n = 0;
    for (size_t i = 0; !ps_str_is_none(kind) && i < n_flows; i++) {
        n += ps_str_eq(flows[i].kind, kind);
    }
    pair *pairs = ps_calloc(n, sizeof *pairs);
    *n_out = 0;
    for (size_t i = 0; pairs != NULL && n > 0 && i < n_flows; i++) {
        uint32_t f = flows[i].from;
        uint32_t b = flows[i].to;
        bool in_order = s->start_ns[f] + s->dur_ns[f] <= s->start_ns[b];
        if (ps_str_eq(flows[i].kind, kind) && in_order) {
            pairs[(*n_out)++] = (pair){.forward = f, .backward = b};
        }
    }
    return pairs;
}

/* Both passes; returns the number of microbatches, SIZE_MAX when memory is out. Numbers follow the first forwards. */
static size_t cut(const ps_slices *s, pair *pairs, size_t n) {
    uint32_t segment = 0;
    qsort(pairs, n, sizeof *pairs, by_forward);
    for (size_t i = 0; i < n; i++) {
        segment += i > 0 && s->start_ns[pairs[i].backward] > s->start_ns[pairs[i - 1].backward];
        pairs[i].segment = segment;
    }
    ps_idmap both;
    ps_idmap_init(&both);
    uint32_t second = 0;
    size_t n_groups = 0;
    bool ok = true;
    qsort(pairs, n, sizeof *pairs, by_backward);
    for (size_t i = 0; i < n; i++) {
        second += i > 0 && s->start_ns[pairs[i].forward] > s->start_ns[pairs[i - 1].forward];
        pairs[i].second = second;
    }
    qsort(pairs, n, sizeof *pairs, by_forward);
    for (size_t i = 0; ok && i < n; i++) {
        uint64_t key = (uint64_t)pairs[i].segment << 32 | pairs[i].second;
        uint32_t group = ps_idmap_get(&both, key);
        if (group == PS_IDMAP_NONE) {
            group = (uint32_t)n_groups++;
            ok = ps_idmap_put(&both, key, group);
        }
        pairs[i].segment = group;
    }
    ps_idmap_fini(&both);
    return ok ? n_groups : SIZE_MAX;
}

static void inferred_widen(ps_inferred *op, const ps_slices *s, uint32_t slice) {
    if (s->start_ns[slice] < op->start_ns) {
        op->start_ns = s->start_ns[slice];
        op->first = slice;
    }
    if (ps_slice_end(s, slice) > op->end_ns) {
        op->end_ns = ps_slice_end(s, slice);
        op->last = slice;
    }
}

PS_COMPARE(by_inferred_start, ps_inferred,
           PS_BY(start_ns) PS_BY_DOWN(end_ns) PS_BY(is_backward) PS_BY(number))

/* Forwards inside of a backward are recomputed ones: they and their own backwards are parts of it. Numbers the rest
 * anew. False when memory is out. */
static bool drop_recomputed(ps_inferred_list *list, size_t n_pairs) {
    int32_t *number = ps_alloc((n_pairs + 1) * sizeof *number);
    for (size_t k = 0; number != NULL && k < n_pairs; k++) {
        number[k] = -1;
    }
    int64_t until = INT64_MIN; /* end of the backward around, the longest begun so far */
    int32_t n_kept = 0;
    for (size_t i = 0; number != NULL && i < list->n; i++) {
        const ps_inferred *op = &list->ops[i];
        if (op->is_backward == 0 && op->end_ns > until) {
            number[op->number] = n_kept++;
        }
        bool known = op->is_backward != 0 && number[op->number] >= 0;
        until = known && op->end_ns > until ? op->end_ns : until;
    }
    size_t n = 0;
    for (size_t i = 0; number != NULL && i < list->n; i++) {
        ps_inferred op = list->ops[i];
        op.number = number[op.number];
        if (op.number >= 0) {
            list->ops[n++] = op;
        }
    }
    list->n = n;
    ps_free(number);
    return number != NULL;
}

/* Input and weight gradients apart run the nodes between them again. */
static ps_code count_twice(const ps_trace *trace, size_t *n_twice, ps_err *err) {
    const ps_slices *s = ps_trace_slices(trace);
    ps_module_pairs pairs;
    ps_code code = ps_module_pairs_find(trace, &pairs, err);
    uint8_t *seen = code == PS_OK ? ps_calloc(s->n, sizeof *seen) : NULL;
    code = code == PS_OK && seen == NULL ? ps_fail_nomem(err) : code;
    *n_twice = 0;
    for (uint32_t i = 0; code == PS_OK && i < s->n; i++) {
        if (pairs.forward[i] != PS_NONE && ps_is_backward_node(trace, i)) {
            *n_twice += seen[pairs.forward[i]];
            seen[pairs.forward[i]] = 1;
        }
    }
    ps_free(seen);
    ps_module_pairs_fini(&pairs);
    return code;
}

ps_code ps_infer_from_flows(const ps_trace *trace, ps_inferred_list *out, ps_err *err) {
    *out = (ps_inferred_list){0};
    const ps_slices *s = ps_trace_slices(trace);
    size_t n = 0;
    pair *pairs = find_pairs(trace, &n);
    size_t n_groups = pairs != NULL && n > 0 ? cut(s, pairs, n) : 0;
    bool ok = pairs != NULL && n_groups != SIZE_MAX &&
              ps_grow(&out->ops, &out->cap, 2 * n_groups + 1, UINT32_MAX, sizeof *out->ops);
    for (size_t k = 0; ok && k < n_groups; k++) {
        for (size_t half = 0; half < 2; half++) {
            out->ops[2 * k + half] = (ps_inferred){.start_ns = INT64_MAX,
                                                   .end_ns = INT64_MIN,
                                                   .first = PS_NONE,
                                                   .last = PS_NONE,
                                                   .number = (int32_t)k,
                                                   .is_backward = half == 1};
        }
    }
    for (size_t i = 0; ok && i < n; i++) {
        inferred_widen(&out->ops[2 * (size_t)pairs[i].segment], s, pairs[i].forward);
        inferred_widen(&out->ops[2 * (size_t)pairs[i].segment + 1], s, pairs[i].backward);
    }
    out->n = ok ? 2 * n_groups : 0;
    ps_free(pairs);
    ps_sort(out->ops, out->n, sizeof *out->ops, by_inferred_start);
    ok = ok && drop_recomputed(out, n_groups);
    if (!ok) {
        ps_inferred_list_fini(out);
        return ps_fail_nomem(err);
    }
    ps_code code = out->n > 0 ? count_twice(trace, &out->n_twice, err) : PS_OK;
    if (code != PS_OK) {
        ps_inferred_list_fini(out);
    }
    return code;
}

/* --- work outside of operators ----------------------------------------------------------------------------------- */

typedef struct operator_span {
    int64_t start_ns, end_ns;
    int64_t latest_ns, latest_call_ns; /* ends, of this one and all before it */
    bool is_call;                      /* of a communication library */
    bool is_node;                      /* autograd's call of one */
} operator_span;

typedef struct moments {
    int64_t *at;
    size_t n, cap;
} moments;

typedef struct surroundings {
    operator_span *ops; /* of the host, by start */
    size_t n_ops, cap_ops;
    moments transfers; /* their ends, in order */
    moments ranges;    /* ends of other ranges (steps, optimizers, data loaders), starts of steps */
} surroundings;

PS_COMPARE(by_start, operator_span, PS_BY(start_ns) PS_BY_DOWN(end_ns))

static bool add_moment(moments *m, int64_t at_ns) {
    bool ok = ps_grow(&m->at, &m->cap, m->n + 1, UINT32_MAX, sizeof *m->at);
    if (ok) {
        m->at[m->n++] = at_ns;
    }
    return ok;
}

static bool look_around(const ps_trace *trace, surroundings *around) {
    const ps_slices *s = ps_trace_slices(trace);
    bool ok = true;
    for (uint32_t i = 0; ok && i < s->n; i++) {
        if (s->kind[i] != PS_SLICE_HOST_OP && s->kind[i] != PS_SLICE_ANNOTATION) {
            continue;
        }
        bool is_call = ps_comm_is_library_call(ps_trace_text(trace, s->name[i]));
        int64_t end_ns = ps_slice_end(s, i);
        if (s->kind[i] == PS_SLICE_ANNOTATION) {
            ok = add_moment(is_call ? &around->transfers : &around->ranges, end_ns) &&
                 (!ps_is_step_mark(trace, i) || add_moment(&around->ranges, s->start_ns[i]));
            continue;
        }
        ok = ps_grow(&around->ops, &around->cap_ops, around->n_ops + 1, UINT32_MAX,
                     sizeof *around->ops);
        if (ok) {
            around->ops[around->n_ops++] =
                (operator_span){.start_ns = s->start_ns[i],
                                .end_ns = end_ns,
                                .is_call = is_call,
                                .is_node = ps_is_backward_node(trace, i)};
        }
    }
    ps_sort(around->ops, around->n_ops, sizeof *around->ops, by_start);
    ps_sort(around->transfers.at, around->transfers.n, sizeof *around->transfers.at,
            ps_compare_i64);
    ps_sort(around->ranges.at, around->ranges.n, sizeof *around->ranges.at, ps_compare_i64);
    int64_t latest_ns = INT64_MIN;
    int64_t latest_call_ns = INT64_MIN;
    for (size_t i = 0; i < around->n_ops; i++) {
        operator_span *o = &around->ops[i];
        latest_ns = o->end_ns > latest_ns ? o->end_ns : latest_ns;
        latest_call_ns = o->is_call && o->end_ns > latest_call_ns ? o->end_ns : latest_call_ns;
        o->latest_ns = latest_ns;
        o->latest_call_ns = latest_call_ns;
    }
    return ok;
}

/* The first operator that begins at or behind `at_ns`. */
static size_t operator_from(const surroundings *around, int64_t at_ns) {
    PS_PLACE(size_t, low, 0, around->n_ops, i, around->ops[i].start_ns < at_ns)
    return low;
}

/* The last moment up to `at_ns`, INT64_MIN. */
static int64_t moment_until(const moments *m, int64_t at_ns) {
    PS_PLACE(size_t, low, 0, m->n, i, m->at[i] <= at_ns)
    return low > 0 ? m->at[low - 1] : INT64_MIN;
}

/* Where an op may begin: behind `since_ns` all that the host did is its own, if `is_told`; else some of it may be. */
typedef struct lead {
    int64_t since_ns;
    bool is_told;
} lead;

/* Behind the op or the call of a communication library before it. Where a range of the program ended in between (a step, an optimizer, a data
 * loader), the host did other things. */
static lead lead_of_op(const surroundings *around, int64_t start_ns, int64_t op_before_ns) {
    size_t at = operator_from(around, start_ns);
    const operator_span *before = at > 0 ? &around->ops[at - 1] : NULL;
    int64_t latest_ns = before != NULL ? before->latest_ns : INT64_MIN;
    if (latest_ns > start_ns) {
        return (lead){start_ns, true};
    }
    int64_t call_ns = before != NULL ? before->latest_call_ns : INT64_MIN;
    int64_t behind_ns = call_ns > op_before_ns ? call_ns : op_before_ns;
    int64_t arrived_ns = moment_until(&around->transfers, start_ns);
    int64_t ended_ns = moment_until(&around->ranges, start_ns);
    if (behind_ns == INT64_MIN || behind_ns < ended_ns) {
        return (lead){ended_ns > latest_ns ? ended_ns : latest_ns, false};
    }
    return (lead){arrived_ns > behind_ns ? arrived_ns : behind_ns, true};
}

/* The nodes that follow and have no flow: what adds up gradients. */
static int64_t end_of_nodes(const surroundings *around, int64_t end_ns, int64_t next_ns) {
    size_t at = operator_from(around, end_ns);
    for (; at < around->n_ops && around->ops[at].start_ns < next_ns; at++) {
        const operator_span *o = &around->ops[at];
        if (!o->is_node && o->start_ns >= end_ns) {
            break;
        }
        end_ns = o->end_ns > end_ns ? o->end_ns : end_ns;
    }
    return end_ns;
}

static int64_t widened_end(const surroundings *around, int64_t end_ns) {
    size_t at = operator_from(around, end_ns);
    bool hands_over = at < around->n_ops && around->ops[at].is_call &&
                      (at == 0 || around->ops[at - 1].latest_ns <= end_ns);
    /* Where a range of the program ended in between, the host did other things, as before the op. */
    return hands_over && moment_until(&around->ranges, around->ops[at].start_ns) <= end_ns
               ? around->ops[at].start_ns
               : end_ns;
}

/* The outermost operator around one: flows lead to the operator of a node, which lies in autograd's call of the node. */
static uint32_t outermost_operator(const ps_links *links, uint32_t slice) {
    const ps_slices *s = ps_trace_slices(links->trace);
    uint32_t around = links->parent[slice];
    while (around != PS_NONE && s->kind[around] == PS_SLICE_HOST_OP) {
        slice = around;
        around = links->parent[slice];
    }
    return slice;
}

/* An op with all of its operators, up to the next op. */
static ps_inferred with_operators(const ps_links *links, const surroundings *around, ps_inferred op,
                                  int64_t op_before_ns, int64_t next_ns) {
    const ps_slices *s = ps_trace_slices(links->trace);
    int64_t start_ns = s->start_ns[outermost_operator(links, op.first)];
    int64_t end_ns = ps_slice_end(s, outermost_operator(links, op.last));
    end_ns = op.is_backward != 0 ? end_of_nodes(around, end_ns, next_ns) : end_ns;
    op.start_ns = start_ns >= op_before_ns ? start_ns : op.start_ns;
    op.end_ns = end_ns <= next_ns ? end_ns : op.end_ns;
    return op;
}

/* The first op of a step waits for nothing that the trace tells. It began as long before its operators as the one behind it, which is of
 * another microbatch, but not before what the host did until then. */
static int64_t lead_as_next(const ps_inferred *first, int64_t since_ns, int64_t next_lead_ns) {
    int64_t most_ns = since_ns == INT64_MIN ? next_lead_ns : first->start_ns - since_ns;
    return next_lead_ns < most_ns ? next_lead_ns : most_ns;
}

/* Gives the ops their operators, and what may lie before and behind these; leads[n]: how long before its operators each began. */
static void widen_all(const ps_links *links, const surroundings *around, ps_inferred_list *list,
                      int64_t *leads) {
    int64_t op_before_ns = INT64_MIN; /* end of the op before, as its operators say */
    int64_t taken_ns = INT64_MIN;     /* and as it is now */
    lead before = {0, true};
    for (size_t i = 0; i < list->n; i++) {
        ps_inferred *op = &list->ops[i];
        int64_t next_ns = i + 1 < list->n ? op[1].start_ns : INT64_MAX;
        *op = with_operators(links, around, *op, op_before_ns, next_ns);
        lead own = lead_of_op(around, op->start_ns, op_before_ns);
        op_before_ns = op->end_ns > op_before_ns ? op->end_ns : op_before_ns;
        own.since_ns = own.since_ns > taken_ns ? own.since_ns : taken_ns;
        leads[i] = own.is_told && op->start_ns > own.since_ns ? op->start_ns - own.since_ns : 0;
        if (!before.is_told && own.is_told && op[-1].is_backward == op->is_backward) {
            leads[i - 1] = lead_as_next(&op[-1], before.since_ns, leads[i]);
        }
        op->end_ns = widened_end(around, op->end_ns);
        taken_ns = op->end_ns > taken_ns ? op->end_ns : taken_ns;
        before = own;
    }
}

bool ps_inferred_widen(const ps_links *links, ps_inferred_list *list, bool *known) {
    surroundings around = {0};
    int64_t *leads = ps_calloc(list->n, sizeof *leads);
    bool ok = leads != NULL && look_around(links->trace, &around);
    *known = ok && around.transfers.n > 0;
    if (*known) {
        widen_all(links, &around, list, leads);
        ps_leads_of_ops(leads, list->n, list->n + 1); /* the shortest: no label is around them */
    }
    for (size_t i = 0; *known && i < list->n; i++) {
        list->ops[i].start_ns -= leads[i];
    }
    ps_free(leads);
    ps_free(around.ops);
    ps_free(around.transfers.at);
    ps_free(around.ranges.at);
    return ok;
}

void ps_inferred_list_fini(ps_inferred_list *list) {
    ps_free(list->ops);
    *list = (ps_inferred_list){0};
}

/* --- whether it can be true --------------------------------------------------------------------------------------- */

PS_COMPARE(compare_inferred_counts, ps_inferred_count,
           PS_BY(pipeline) PS_BY(step) PS_BY(n_forwards) PS_BY(stage))

#define REMEDY                                                                                     \
    "name the ops: pipescope.pipelining.record(), or ranges with --forward-re and --backward-re (docs/marks.md)"
#define REMEDY_ZH                                                                                  \
    "请为算子命名：pipescope.pipelining.record()，或用 --forward-re 与 --backward-re 指定 range（docs/marks.md）"

/* A backward in two parts runs nodes of one forward at two times, which cuts the forward, too. */
static ps_code check_parts(const ps_inferred_count *counts, size_t n, ps_err *err) {
    for (size_t i = 0; i < n; i++) {
        if (counts[i].n_twice > 0) {
            return ps_fail_said(
                err, PS_NOTHING,
                "forwards cannot be inferred from the flows between operators: on rank %lld backwards "
                "run in two parts, input and weight gradients (%zu nodes of autograd ran twice); " REMEDY,
                "无法从算子之间的 flow 推断前向：rank %lld 上的反向分为输入梯度与权重梯度两部分（%zu 个 autograd 节点运行了两次）；" REMEDY_ZH,
                (long long)counts[i].rank, counts[i].n_twice);
        }
    }
    return PS_OK;
}

static ps_code refuse_counts(const ps_inferred_count *least, const ps_inferred_count *most,
                             ps_err *err) {
    return ps_fail_said(
        err, PS_NOTHING,
        "forwards cannot be inferred from the flows between operators: in step %lld stage %d "
        "(rank %lld) would have %zu, stage %d (rank %lld) %zu; " REMEDY,
        "无法从算子之间的 flow 推断前向：step %lld 中阶段 %d（rank %lld）会有 %zu 个，阶段 %d（rank %lld）%zu 个；" REMEDY_ZH,
        (long long)least->step, (int)least->stage, (long long)least->rank, least->n_forwards,
        (int)most->stage, (long long)most->rank, most->n_forwards);
}

ps_code ps_inferred_check(ps_inferred_count *counts, size_t n, ps_err *err) {
    ps_code code = check_parts(counts, n, err);
    ps_sort(counts, n, sizeof *counts, compare_inferred_counts);
    for (size_t i = 0, end = 0; code == PS_OK && i < n; i = end) {
        while (end < n && counts[end].pipeline == counts[i].pipeline &&
               counts[end].step == counts[i].step) {
            end++;
        }
        const ps_inferred_count *least = &counts[i];
        const ps_inferred_count *most = &counts[end - 1];
        bool is_near = (double)least->n_forwards >= PS_MIN_AGREEMENT * (double)most->n_forwards;
        if (!is_near && most->n_forwards > least->n_forwards + 1) {
            code = refuse_counts(least, most, err);
        }
    }
    return code;
}

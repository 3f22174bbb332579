/* For each op that needs the result of an op on another rank:
 *
 *   lead   its start - end of the input: below zero where it begins before the result is there
 *   spare  its end - end of the input - half of what its kind takes: below zero where it did not wait for it
 *
 * What a kind takes is the median on the rank where that is least: there it waits least. Of each two ranks the medians of the spares of both
 * ways are added: below zero, they run side by side, and their early ops count, by clocks that make both ways equally early. */
#include "analyze/pipeline/side_by_side.h"

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/chart_groups.h"

/* An op that needs another one, by the two ranks. */
typedef struct need {
    uint32_t low, high; /* rows in the chart's ranks */
    bool is_up;         /* the rank `high` needs `low` */
    int64_t lead_ns, spare_ns;
} need;

PS_COMPARE(compare_needs, need, PS_BY(low) PS_BY(high) PS_BY(is_up) PS_BY(lead_ns) PS_BY(spare_ns))

typedef struct looking {
    const ps_chart *chart;
    int64_t usual_ns[PS_N_OP_KINDS]; /* 0: no such op */
    need *needs;                     /* [n] */
    size_t n;
    int64_t *scratch;
} looking;

/* Ops lie grouped by rank. */
static void find_usual(looking *l) {
    const ps_chart *c = l->chart;
    for (size_t first = 0, end = 0; first < c->n_ops; first = end) {
        while (end < c->n_ops && c->ops[end].rank == c->ops[first].rank) {
            end++;
        }
        for (int kind = 0; kind < PS_N_OP_KINDS; kind++) {
            size_t n = 0;
            for (size_t i = first; i < end; i++) {
                const ps_op *op = &c->ops[i];
                if (op->kind == kind && ps_op_is_computation(op)) {
                    l->scratch[n++] = ps_i64_minus(op->end_ns, op->start_ns);
                }
            }
            int64_t usual_ns = ps_median_i64(l->scratch, n);
            bool is_least = n > 0 && (l->usual_ns[kind] == 0 || usual_ns < l->usual_ns[kind]);
            l->usual_ns[kind] = is_least ? usual_ns : l->usual_ns[kind];
        }
    }
}

static void list_needs(looking *l) {
    const ps_chart *c = l->chart;
    for (size_t i = 0; i < c->n_links; i++) {
        const ps_op *from = &c->ops[c->links[i].from];
        const ps_op *to = &c->ops[c->links[i].to];
        if (!ps_op_is_computation(from) || !ps_op_is_computation(to) || from->kind == PS_OP_FB ||
            to->kind == PS_OP_FB || from->rank == to->rank) {
            continue;
        }
        int64_t left_ns = ps_i64_minus(to->end_ns, from->end_ns);
        bool is_up = from->rank < to->rank;
        l->needs[l->n++] = (need){.low = is_up ? from->rank : to->rank,
                                  .high = is_up ? to->rank : from->rank,
                                  .is_up = is_up,
                                  .lead_ns = ps_i64_minus(to->start_ns, from->end_ns),
                                  .spare_ns = ps_i64_minus(left_ns, l->usual_ns[to->kind] / 2)};
    }
    ps_sort(l->needs, l->n, sizeof *l->needs, compare_needs);
}

static int64_t median_spare(looking *l, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        l->scratch[i - first] = l->needs[i].spare_ns;
    }
    return ps_median_i64(l->scratch, end - first);
}

/* They are in the order of their leads. */
static int64_t median_lead(const looking *l, size_t first, size_t end) {
    return ps_midpoint_i64(l->needs[first + (end - first - 1) / 2].lead_ns,
                           l->needs[first + (end - first) / 2].lead_ns);
}

static size_t count_early(const looking *l, size_t first, size_t end, int64_t shift_ns) {
    size_t n = 0;
    for (size_t i = first; i < end; i++) {
        n += ps_i64_plus(l->needs[i].lead_ns, shift_ns) < 0;
    }
    return n;
}

/* Needs first to end are of two ranks; those from `up` on are of the higher one. */
static size_t judge_two(looking *l, size_t first, size_t up, size_t end) {
    const ps_chart_rank *low = &l->chart->ranks[l->needs[first].low];
    const ps_chart_rank *high = &l->chart->ranks[l->needs[first].high];
    bool is_one_clock = low->machine >= 0 && low->machine == high->machine;
    int64_t shift_ns = 0;
    if (up == first || up == end) {
        return is_one_clock && median_spare(l, first, end) < 0 ? count_early(l, first, end, 0) : 0;
    }
    if (ps_i64_plus(median_spare(l, first, up), median_spare(l, up, end)) >= 0) {
        return 0;
    }
    if (!is_one_clock) {
        shift_ns = ps_i64_minus(median_lead(l, up, end), median_lead(l, first, up)) / 2;
    }
    return count_early(l, first, up, shift_ns) + count_early(l, up, end, -shift_ns);
}

static void judge_all(looking *l, ps_side_by_side *out) {
    for (size_t first = 0, end = 0; first < l->n; first = end) {
        size_t up = first;
        for (end = first; end < l->n && l->needs[end].low == l->needs[first].low &&
                          l->needs[end].high == l->needs[first].high;
             end++) {
            up += !l->needs[end].is_up;
        }
        out->n_early += judge_two(l, first, up, end);
    }
    out->n_ops = l->n;
    out->is_so = out->n_early > out->n_ops / 2;
}

ps_code ps_side_by_side_find(const ps_chart *chart, ps_side_by_side *out, ps_err *err) {
    size_t most = chart->n_ops > chart->n_links ? chart->n_ops : chart->n_links;
    looking l = {.chart = chart};
    *out = (ps_side_by_side){0};
    if (chart->n_links == 0) {
        return PS_OK;
    }
    l.needs = ps_calloc(chart->n_links, sizeof *l.needs);
    l.scratch = ps_calloc(most, sizeof *l.scratch);
    bool ok = l.needs != NULL && l.scratch != NULL;
    if (ok) {
        find_usual(&l);
        list_needs(&l);
        judge_all(&l, out);
    }
    ps_free(l.needs);
    ps_free(l.scratch);
    return ok ? PS_OK : ps_fail_nomem(err);
}

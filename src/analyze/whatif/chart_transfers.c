#include "analyze/whatif/chart_transfers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/order.h"

/* From the end of an op to the start of the one that needs its result. */
typedef struct passed {
    uint32_t from, to; /* rows in ranks */
    bool is_waited;    /* else the result was there before it was needed */
    int64_t ns;
    uint32_t link;
} passed;

bool ps_is_transfer(const ps_chart *chart, const ps_chart_groups *groups, size_t link) {
    const ps_chart_link *l = &chart->links[link];
    const ps_op *from = &chart->ops[l->from];
    const ps_op *to = &chart->ops[l->to];
    uint32_t step = groups->step_of_op[l->from];
    return from->rank != to->rank && step != PS_NO_INDEX && step == groups->step_of_op[l->to] &&
           ps_op_is_pass(from) && ps_op_is_pass(to);
}

static bool transfers_alloc(const ps_chart *c, ps_chart_transfers *t) {
    t->links = ps_realloc_array(NULL, c->n_links + 1, sizeof *t->links);
    t->first = ps_calloc(c->n_ops + 2, sizeof *t->first);
    t->duration_ns = ps_calloc(c->n_links + 1, sizeof *t->duration_ns);
    return t->links != NULL && t->first != NULL && t->duration_ns != NULL;
}

static size_t sort_by_op(const ps_chart *c, const ps_chart_groups *groups, ps_chart_transfers *t) {
    for (size_t l = 0; l < c->n_links; l++) {
        t->first[c->links[l].from + 2] += ps_is_transfer(c, groups, l);
    }
    for (size_t i = 1; i < c->n_ops + 2; i++) {
        t->first[i] += t->first[i - 1];
    }
    for (size_t l = 0; l < c->n_links; l++) {
        if (ps_is_transfer(c, groups, l)) {
            t->links[t->first[c->links[l].from + 1]++] = (uint32_t)l;
        }
    }
    return t->first[c->n_ops];
}

/* [chart ops] When all that an op waits for had ended: the op before it on its rank, and others whose results it needs. */
static void find_ready(const ps_chart *c, const ps_chart_groups *groups, int64_t *ready_ns) {
    for (size_t i = 0; i < c->n_ops; i++) {
        ready_ns[i] = INT64_MIN;
    }
    for (size_t g = 0; g < c->n_ranks * groups->n_steps; g++) {
        for (size_t k = groups->first[g] + 1; k < groups->first[g + 1]; k++) {
            ready_ns[groups->order[k]] = c->ops[groups->order[k - 1]].end_ns;
        }
    }
    for (size_t l = 0; l < c->n_links; l++) {
        int64_t end_ns = c->ops[c->links[l].from].end_ns;
        int64_t *ready = &ready_ns[c->links[l].to];
        *ready = end_ns > *ready ? end_ns : *ready;
    }
}

static passed passed_on(const ps_chart *c, const int64_t *ready_ns, uint32_t link) {
    const ps_chart_link *l = &c->links[link];
    const ps_op *from = &c->ops[l->from];
    const ps_op *to = &c->ops[l->to];
    int64_t ns = to->start_ns > from->end_ns ? to->start_ns - from->end_ns : 0;
    return (passed){from->rank, to->rank, from->end_ns >= ready_ns[l->to], ns, link};
}

PS_COMPARE(by_ranks, passed, PS_BY(from) PS_BY(to) PS_BY_DOWN(is_waited) PS_BY(ns) PS_BY(link))

/* Of two ranks and one direction. */
static void judge_pair(const passed *of, size_t n, int64_t usual_ns, int64_t *scratch,
                       int64_t *duration_ns) {
    size_t n_waited = 0;
    for (; n_waited < n && of[n_waited].is_waited; n_waited++) {
        scratch[n_waited] = of[n_waited].ns;
    }
    int64_t ns = n_waited > 0          ? ps_median_i64(scratch, n_waited)
                 : of[0].ns < usual_ns ? of[0].ns
                                       : usual_ns;
    for (size_t i = 0; i < n; i++) {
        duration_ns[of[i].link] = ns;
    }
}

static void judge_pairs(passed *all, size_t n, int64_t usual_ns, int64_t *scratch,
                        int64_t *duration_ns) {
    if (n > 1) {
        qsort(all, n, sizeof *all, by_ranks);
    }
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (end < n && all[end].from == all[i].from && all[end].to == all[i].to) {
            end++;
        }
        judge_pair(&all[i], end - i, usual_ns, scratch, duration_ns);
        i = end;
    }
}

bool ps_chart_transfers_make(const ps_chart *chart, const ps_chart_groups *groups, int64_t usual_ns,
                             ps_chart_transfers *out) {
    *out = (ps_chart_transfers){0};
    int64_t *ready_ns = ps_realloc_array(NULL, chart->n_ops + 1, sizeof *ready_ns);
    int64_t *scratch = ps_realloc_array(NULL, chart->n_links + 1, sizeof *scratch);
    passed *all = ps_realloc_array(NULL, chart->n_links + 1, sizeof *all);
    bool ok = ready_ns != NULL && scratch != NULL && all != NULL && transfers_alloc(chart, out);
    if (ok) {
        size_t n = sort_by_op(chart, groups, out);
        find_ready(chart, groups, ready_ns);
        for (size_t i = 0; i < n; i++) {
            all[i] = passed_on(chart, ready_ns, out->links[i]);
        }
        judge_pairs(all, n, usual_ns, scratch, out->duration_ns);
    }
    ps_free(ready_ns);
    ps_free(scratch);
    ps_free(all);
    return ok;
}

void ps_chart_transfers_fini(ps_chart_transfers *t) {
    ps_free(t->links);
    ps_free(t->first);
    ps_free(t->duration_ns);
    *t = (ps_chart_transfers){0};
}

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
    return (passed){from->rank, to->rank, from->end_ns >= ready_ns[l->to],
                    ps_i64_minus(to->start_ns, from->end_ns), link};
}

PS_COMPARE(by_ranks, passed, PS_BY(from) PS_BY(to) PS_BY_DOWN(is_waited) PS_BY(ns) PS_BY(link))

/* What passed from one rank to another. */
typedef struct direction {
    uint32_t from, to;
    const passed *all;
    size_t n, n_waited;
    int64_t
        way_ns; /* median of those that were waited for, below 0 where clocks differ or ops begin with waiting */
} direction;

PS_COMPARE(by_direction, direction, PS_BY(from) PS_BY(to))

static direction direction_at(const passed *all, size_t n, int64_t *scratch) {
    direction d = {.from = all->from, .to = all->to, .all = all};
    for (; d.n < n && all[d.n].from == d.from && all[d.n].to == d.to; d.n++) {
        if (all[d.n].is_waited) {
            scratch[d.n_waited++] = all[d.n].ns;
        }
    }
    d.way_ns = d.n_waited > 0 ? ps_median_i64(scratch, d.n_waited) : 0;
    return d;
}

static void note_apart(const direction *d, ps_chart_transfers *out) {
    if (-d->way_ns > out->apart.least_ns) {
        out->apart = (ps_clocks_apart){.from = d->from, .to = d->to, .least_ns = -d->way_ns};
        out->apart.n = (uint32_t)d->n;
        for (size_t i = 0; i < d->n; i++) {
            out->apart.n_early += d->all[i].ns < 0;
        }
    }
}

/* Clocks that are apart lengthen one way by as much as they shorten the way back: of both together they are no part. Where these are less
 * than nothing, ops begin with waiting, and the way is not seen. */
static int64_t way_of(const direction *d, const direction *back, int64_t usual_ns,
                      ps_chart_transfers *out) {
    bool is_seen = d->n_waited > 0;
    bool is_back_seen = back != NULL && back->n_waited > 0;
    if (is_seen && is_back_seen && (d->way_ns < 0) != (back->way_ns < 0)) {
        int64_t both_ns = ps_i64_plus(d->way_ns, back->way_ns);
        if (both_ns >= 0) {
            note_apart(d->way_ns < 0 ? d : back, out);
            return both_ns / 2;
        }
    }
    int64_t ns = is_seen ? d->way_ns : d->all[0].ns < usual_ns ? d->all[0].ns : usual_ns;
    return ns > 0 ? ns : 0;
}

static void judge_directions(const direction *all, size_t n, int64_t usual_ns,
                             ps_chart_transfers *out) {
    for (size_t i = 0; i < n; i++) {
        const direction way_back = {.from = all[i].to, .to = all[i].from};
        const direction *back = bsearch(&way_back, all, n, sizeof *all, by_direction);
        int64_t ns = way_of(&all[i], back, usual_ns, out);
        for (size_t k = 0; k < all[i].n; k++) {
            out->duration_ns[all[i].all[k].link] = ns;
        }
    }
}

static bool judge_passed(passed *all, size_t n, int64_t usual_ns, int64_t *scratch,
                         ps_chart_transfers *out) {
    direction *directions = ps_realloc_array(NULL, n + 1, sizeof *directions);
    size_t n_directions = 0;
    if (directions == NULL) {
        return false;
    }
    if (n > 1) {
        qsort(all, n, sizeof *all, by_ranks);
    }
    for (size_t i = 0; i < n; i += directions[n_directions++].n) {
        directions[n_directions] = direction_at(&all[i], n - i, scratch);
    }
    judge_directions(directions, n_directions, usual_ns, out);
    ps_free(directions);
    return true;
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
        ok = judge_passed(all, n, usual_ns, scratch, out);
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

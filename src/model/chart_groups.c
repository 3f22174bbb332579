#include "model/chart_groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

bool ps_op_is_computation(const ps_op *op) {
    return op->kind != PS_OP_SEND && op->kind != PS_OP_RECV && op->end_ns >= op->start_ns;
}

bool ps_op_is_pass(const ps_op *op) {
    return ps_op_is_computation(op) && op->kind != PS_OP_OTHER;
}

bool ps_chart_is_linked(const ps_chart *c) {
    bool several = false;
    for (size_t r = 0; r < c->n_ranks; r++) {
        several = several || c->ranks[r].stage != c->ranks[0].stage;
    }
    bool any = !several;
    for (size_t i = 0; i < c->n_links && !any; i++) {
        any = ps_op_is_computation(&c->ops[c->links[i].from]) &&
              ps_op_is_computation(&c->ops[c->links[i].to]);
    }
    return any;
}

static bool collect_steps(ps_chart_groups *g, const ps_chart *c) {
    for (size_t i = 0; i < c->n_ops; i++) {
        bool again = g->n_steps > 0 &&
                     g->steps[g->n_steps - 1] == c->ops[i].step; /* long runs of one step */
        if (!ps_op_is_computation(&c->ops[i]) || again) {
            continue;
        }
        if (!ps_grow(&g->steps, &g->cap_steps, g->n_steps + 1, SIZE_MAX / 16, sizeof *g->steps)) {
            return false;
        }
        g->steps[g->n_steps++] = c->ops[i].step;
    }
    if (g->n_steps > 1) {
        qsort(g->steps, g->n_steps, sizeof *g->steps, ps_compare_i64);
        size_t n = 1;
        for (size_t i = 1; i < g->n_steps; i++) {
            if (g->steps[i] != g->steps[n - 1]) {
                g->steps[n++] = g->steps[i];
            }
        }
        g->n_steps = n;
    }
    if (g->n_steps > 1 && g->steps[0] == PS_FIRST_STEP) { /* what lies between steps is none */
        g->n_steps--;
        memmove(g->steps, g->steps + 1, g->n_steps * sizeof *g->steps);
    }
    return true;
}

/* PS_NO_INDEX of ops outside of the steps that there are. */
static uint32_t find_group_step(const ps_chart_groups *g, int64_t step) {
    const int64_t *at = bsearch(&step, g->steps, g->n_steps, sizeof *g->steps, ps_compare_i64);
    return at != NULL ? (uint32_t)(at - g->steps) : PS_NO_INDEX;
}

static int compare_group_starts(const void *a, const void *b, void *context) {
    const ps_op *ops = context;
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (ops[x].start_ns != ops[y].start_ns) {
        return ops[x].start_ns < ops[y].start_ns ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static void sort_group(const ps_chart *c, uint32_t *order, size_t n) {
    for (size_t i = 1; i < n;
         i++) { /* readers and the simulator deliver start order: usually nothing to do */
        if (c->ops[order[i]].start_ns < c->ops[order[i - 1]].start_ns) {
            qsort_r(order, n, sizeof *order, compare_group_starts, c->ops);
            return;
        }
    }
}

/* Counting sort. first[g + 1] counts, then becomes the place for the next op of g, and ends as the start of g + 1. */
static void place_ops(ps_chart_groups *g, const ps_chart *c) {
    size_t n_groups = c->n_ranks * g->n_steps;
    for (size_t i = 0; i < c->n_ops; i++) {
        bool again =
            i > 0 && g->step_of_op[i - 1] != PS_NO_INDEX && c->ops[i - 1].step == c->ops[i].step;
        g->step_of_op[i] = !ps_op_is_computation(&c->ops[i]) ? PS_NO_INDEX
                           : again                           ? g->step_of_op[i - 1]
                                                             : find_group_step(g, c->ops[i].step);
        if (g->step_of_op[i] != PS_NO_INDEX) {
            g->first[ps_chart_group(g, c->ops[i].rank, g->step_of_op[i]) + 2]++;
        }
    }
    for (size_t k = 2; k < n_groups + 2; k++) {
        g->first[k] += g->first[k - 1];
    }
    for (size_t i = 0; i < c->n_ops; i++) {
        if (g->step_of_op[i] != PS_NO_INDEX) {
            g->order[g->first[ps_chart_group(g, c->ops[i].rank, g->step_of_op[i]) + 1]++] =
                (uint32_t)i;
        }
    }
    for (size_t k = 0; k < n_groups; k++) {
        sort_group(c, g->order + g->first[k], g->first[k + 1] - g->first[k]);
    }
}

bool ps_chart_groups_init(ps_chart_groups *g, const ps_chart *chart) {
    *g = (ps_chart_groups){0};
    if (!collect_steps(g, chart)) {
        return false;
    }
    g->order = ps_calloc(chart->n_ops, sizeof *g->order);
    g->step_of_op = ps_calloc(chart->n_ops, sizeof *g->step_of_op);
    g->first = ps_calloc(chart->n_ranks * g->n_steps + 2, sizeof *g->first);
    if (g->order == NULL || g->step_of_op == NULL || g->first == NULL) {
        return false;
    }
    place_ops(g, chart);
    return true;
}

void ps_chart_groups_fini(ps_chart_groups *g) {
    ps_free(g->steps);
    ps_free(g->order);
    ps_free(g->first);
    ps_free(g->step_of_op);
    *g = (ps_chart_groups){0};
}

/* Row of the first rank of each rank's pipeline. False when memory is out. */
static bool find_heads(const ps_chart *c, uint32_t *heads) {
    ps_idmap rows;
    ps_idmap_init(&rows);
    bool ok = true;
    for (uint32_t r = 0; ok && r < c->n_ranks; r++) {
        uint64_t key = (uint64_t)(uint32_t)c->ranks[r].pipeline;
        heads[r] = ps_idmap_get(&rows, key);
        if (heads[r] == PS_IDMAP_NONE) {
            heads[r] = r;
            ok = ps_idmap_put(&rows, key, r);
        }
    }
    ps_idmap_fini(&rows);
    return ok;
}

size_t ps_chart_group_n_passes(const ps_chart_groups *g, const ps_chart *chart, size_t rank,
                               size_t step) {
    size_t group = ps_chart_group(g, rank, step);
    size_t n = 0;
    for (size_t i = g->first[group]; i < g->first[group + 1]; i++) {
        n += ps_op_is_pass(&chart->ops[g->order[i]]);
    }
    return n;
}

/* passes [n_ranks][n_steps]; `scratch` [n_steps] */
static void find_most_common(const ps_chart_groups *g, const ps_chart *c, size_t *passes,
                             int64_t *scratch, size_t *usual) {
    for (size_t r = 0; r < c->n_ranks; r++) {
        for (size_t s = 0; s < g->n_steps; s++) {
            size_t n = ps_chart_group_n_passes(g, c, r, s);
            passes[ps_chart_group(g, r, s)] = n;
            scratch[s] = (int64_t)n;
        }
        usual[r] = (size_t)ps_usual_i64(scratch, g->n_steps);
    }
}

/* Where a pipeline has a step in which some of its ranks have more than in most, and others do not, the first lost some in most.
 * `common` is what most have; `some_have_no_more` [n_ranks] scratch. */
static void raise_usual(const ps_chart_groups *g, size_t n_ranks, const uint32_t *heads,
                        const size_t *passes, const size_t *common, bool *some_have_no_more,
                        size_t *usual) {
    for (size_t s = 0; s < g->n_steps; s++) {
        memset(some_have_no_more, 0, n_ranks * sizeof *some_have_no_more);
        for (size_t r = 0; r < n_ranks; r++) {
            bool no_more = common[r] > 0 && passes[ps_chart_group(g, r, s)] <= common[r];
            some_have_no_more[heads[r]] = some_have_no_more[heads[r]] || no_more;
        }
        for (size_t r = 0; r < n_ranks; r++) {
            size_t n = passes[ps_chart_group(g, r, s)];
            usual[r] = some_have_no_more[heads[r]] && n > usual[r] ? n : usual[r];
        }
    }
}

bool ps_chart_usual_passes(const ps_chart_groups *g, const ps_chart *chart, size_t *usual) {
    size_t n = chart->n_ranks;
    uint32_t *heads = ps_calloc(n + 1, sizeof *heads);
    size_t *common = ps_calloc(n + 1, sizeof *common);
    size_t *passes = ps_calloc(n * g->n_steps + 1, sizeof *passes);
    int64_t *scratch = ps_calloc(g->n_steps + 1, sizeof *scratch);
    bool *some_have_no_more = ps_calloc(n + 1, sizeof *some_have_no_more);
    bool ok = heads != NULL && common != NULL && passes != NULL && scratch != NULL &&
              some_have_no_more != NULL && find_heads(chart, heads);
    if (ok && n > 0) {
        find_most_common(g, chart, passes, scratch, common);
        memcpy(usual, common, n * sizeof *usual);
        raise_usual(g, n, heads, passes, common, some_have_no_more, usual);
    }
    ps_free(heads);
    ps_free(common);
    ps_free(passes);
    ps_free(scratch);
    ps_free(some_have_no_more);
    return ok;
}

bool ps_chart_usual_group(const ps_chart_groups *g, const ps_chart *chart, const uint32_t *ranks,
                          size_t n, size_t *step) {
    size_t *usual = ps_calloc(chart->n_ranks + 1, sizeof *usual);
    bool ok = usual != NULL && ps_chart_usual_passes(g, chart, usual);
    bool found = false;
    size_t most = 0;
    *step = 0;
    for (size_t s = 0; ok && !found && s < g->n_steps; s++) {
        size_t n_passes = 0;
        found = true;
        for (size_t i = 0; i < n; i++) {
            if (ranks[i] != PS_NO_INDEX) {
                size_t own = ps_chart_group_n_passes(g, chart, ranks[i], s);
                found = found && own == usual[ranks[i]];
                n_passes += own;
            }
        }
        found = found && n_passes > 0;
        if (found || n_passes > most) {
            most = n_passes;
            *step = s;
        }
    }
    ps_free(usual);
    return ok;
}

#include "analyze/whatif/chart_steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/replay.h"
#include "base/alloc.h"
#include "model/chart_groups.h"

typedef struct making {
    const ps_chart *chart;
    ps_job_steps *js;
    ps_chart_groups groups;
    uint32_t *ranks; /* [n_workers] row in the chart's ranks */
    size_t *most;    /* [n_workers] ops in the step in which it has most */
    uint32_t *rows;  /* [chart ops] row in its step, PS_NO_INDEX */
    uint32_t *steps; /* [groups.n_steps] row in the job's steps, PS_NO_INDEX */
    /* Of the step in hand. */
    ps_job_op *ops;
    int64_t *durations;
    size_t n_ops, cap_ops, cap_durations;
    ps_err *err;
} making;

static ps_worker_op chart_job_kind_of(const ps_op *op) {
    switch ((ps_op_kind)op->kind) {
    case PS_OP_F:
        return PS_WORKER_FORWARD;
    case PS_OP_B:
    case PS_OP_LOGITS:
        return PS_WORKER_BACKWARD;
    case PS_OP_BI:
        return PS_WORKER_INPUT;
    case PS_OP_BW:
        return PS_WORKER_WEIGHT;
    case PS_OP_FB:
        return PS_WORKER_PAIR;
    default:
        return PS_N_WORKER_OPS;
    }
}

/* --- workers ----------------------------------------------------------------------------------------------------- */

static ps_code place_chart_job_workers(making *k) {
    const ps_chart *c = k->chart;
    ps_job_steps *js = k->js;
    for (size_t r = 0; r < c->n_ranks; r++) {
        js->n_stages = c->ranks[r].stage >= js->n_stages ? c->ranks[r].stage + 1 : js->n_stages;
        js->n_replicas =
            c->ranks[r].pipeline >= js->n_replicas ? c->ranks[r].pipeline + 1 : js->n_replicas;
    }
    js->n_stages = c->n_stages > js->n_stages ? c->n_stages : js->n_stages;
    if (c->is_side_by_side) {
        return ps_fail(k->err, PS_NOTHING,
                       "the ranks of the chart run side by side: nobody waits for another");
    }
    js->n_tp = 1;
    js->n_workers = (size_t)js->n_stages * (size_t)js->n_replicas;
    if (js->n_stages < 2 || js->n_workers != c->n_ranks) {
        return ps_fail(k->err, PS_NOTHING,
                       js->n_stages < 2
                           ? "the chart has one stage: nobody waits for another"
                           : "the chart has %zu ranks of %d stages x %d pipelines: those that are "
                             "missing decide who waits",
                       c->n_ranks, (int)js->n_stages, (int)js->n_replicas);
    }
    js->workers = ps_calloc(js->n_workers, sizeof *js->workers);
    k->ranks = ps_realloc_array(NULL, js->n_workers, sizeof *k->ranks);
    if (js->workers == NULL || k->ranks == NULL) {
        return ps_fail_nomem(k->err);
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        const ps_chart_rank *rank = &c->ranks[r];
        size_t at = (size_t)rank->stage * (size_t)js->n_replicas + (size_t)rank->pipeline;
        js->workers[at] = (ps_job_worker){rank->rank, rank->stage, rank->pipeline, 0};
        k->ranks[at] = (uint32_t)r;
    }
    return PS_OK;
}

/* --- steps ------------------------------------------------------------------------------------------------------- */

static size_t n_ops_of(const making *k, size_t worker, size_t step) {
    size_t g = ps_chart_group(&k->groups, k->ranks[worker], step);
    size_t n = 0;
    for (size_t i = k->groups.first[g]; i < k->groups.first[g + 1]; i++) {
        n += chart_job_kind_of(&k->chart->ops[k->groups.order[i]]) != PS_N_WORKER_OPS;
    }
    return n;
}

/* A step in which some rank has fewer ops than in the step in which it has most is not whole. */
static bool is_chart_step_whole(making *k, size_t step) {
    for (size_t w = 0; w < k->js->n_workers; w++) {
        size_t n = n_ops_of(k, w, step);
        if (n == 0 || n < k->most[w]) {
            if (k->js->n_left_out++ == 0) {
                (void)snprintf(k->js->why_left_out, sizeof k->js->why_left_out,
                               "step %lld: rank %lld has %zu ops, in others up to %zu",
                               (long long)k->groups.steps[step], (long long)k->js->workers[w].rank,
                               n, k->most[w]);
            }
            return false;
        }
    }
    return true;
}

static void find_most(making *k) {
    for (size_t w = 0; w < k->js->n_workers; w++) {
        for (size_t s = 0; s < k->groups.n_steps; s++) {
            size_t n = n_ops_of(k, w, s);
            k->most[w] = n > k->most[w] ? n : k->most[w];
        }
    }
}

static bool add_worker_ops(making *k, size_t worker, size_t step, ps_job_step *out) {
    size_t g = ps_chart_group(&k->groups, k->ranks[worker], step);
    uint32_t order[PS_N_WORKER_OPS] = {0};
    for (size_t i = k->groups.first[g]; i < k->groups.first[g + 1]; i++) {
        uint32_t row = k->groups.order[i];
        const ps_op *op = &k->chart->ops[row];
        ps_worker_op kind = chart_job_kind_of(op);
        if (kind == PS_N_WORKER_OPS) {
            continue;
        }
        if (!ps_grow(&k->ops, &k->cap_ops, k->n_ops + 1, UINT32_MAX - 1, sizeof *k->ops) ||
            !ps_grow(&k->durations, &k->cap_durations, k->n_ops + 1, UINT32_MAX - 1,
                     sizeof *k->durations)) {
            return false;
        }
        k->rows[row] = (uint32_t)k->n_ops;
        out->begin_ns = op->start_ns < out->begin_ns ? op->start_ns : out->begin_ns;
        out->end_ns = op->end_ns > out->end_ns ? op->end_ns : out->end_ns;
        k->durations[k->n_ops] = op->end_ns - op->start_ns;
        k->ops[k->n_ops++] = (ps_job_op){.worker = (uint32_t)worker,
                                         .order = order[kind]++,
                                         .microbatch = op->microbatch,
                                         .chunk = op->chunk,
                                         .kind = (uint8_t)kind};
    }
    return true;
}

/* A step with its ops, each behind the one before it on its worker. */
static bool add_chart_job_step(making *k, size_t index) {
    ps_job_steps *js = k->js;
    ps_job_step step = {.step = k->groups.steps[index], .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    bool ok = ps_grow(&js->steps, &js->cap_steps, js->n_steps + 1, UINT32_MAX, sizeof *js->steps);
    k->n_ops = 0;
    for (size_t w = 0; ok && w < js->n_workers; w++) {
        ok = add_worker_ops(k, w, index, &step);
    }
    uint32_t n = (uint32_t)k->n_ops;
    step.graph = ok ? ps_step_graph_new(n) : NULL;
    step.ops = ok ? ps_realloc_array(NULL, (size_t)n + 1, sizeof *step.ops) : NULL;
    step.duration_ns = ok ? ps_realloc_array(NULL, (size_t)n + 1, sizeof *step.duration_ns) : NULL;
    if (step.graph == NULL || step.ops == NULL || step.duration_ns == NULL) {
        ps_step_graph_free(step.graph);
        ps_free(step.ops);
        ps_free(step.duration_ns);
        return false;
    }
    if (n > 0) {
        memcpy(step.ops, k->ops, n * sizeof *step.ops);
        memcpy(step.duration_ns, k->durations, n * sizeof *step.duration_ns);
    }
    for (uint32_t i = 1; i < n; i++) {
        if (step.ops[i].worker == step.ops[i - 1].worker) {
            ps_step_graph_wait(step.graph, i, i - 1, false);
        }
    }
    k->steps[index] = (uint32_t)js->n_steps;
    js->steps[js->n_steps++] = step;
    return true;
}

/* Row in the job's steps of an op of the chart, PS_NO_INDEX. */
static uint32_t step_of(const making *k, uint32_t row) {
    uint32_t index = k->groups.step_of_op[row];
    return index == PS_NO_INDEX || k->rows[row] == PS_NO_INDEX ? PS_NO_INDEX : k->steps[index];
}

static void connect_links(making *k) {
    for (size_t l = 0; l < k->chart->n_links; l++) {
        const ps_chart_link *link = &k->chart->links[l];
        uint32_t step = step_of(k, link->to);
        if (step != PS_NO_INDEX && step_of(k, link->from) == step) {
            bool is_far = k->chart->ops[link->from].rank != k->chart->ops[link->to].rank;
            ps_step_graph_wait(k->js->steps[step].graph, k->rows[link->to], k->rows[link->from],
                               is_far);
        }
    }
}

static ps_code seal_steps(making *k) {
    ps_code code = PS_OK;
    for (size_t s = 0; code == PS_OK && s < k->js->n_steps; s++) {
        ps_graph_circle circle = {0};
        code = ps_step_graph_seal(k->js->steps[s].graph, &circle, k->err);
        if (code == PS_NOTHING) {
            code = ps_fail(k->err, PS_NOTHING,
                           "step %lld: its ops wait for one another in a circle of %zu",
                           (long long)k->js->steps[s].step, circle.n);
        }
        ps_free(circle.ops);
    }
    return code;
}

static ps_code make_steps(making *k) {
    ps_code code = place_chart_job_workers(k);
    if (code == PS_OK && k->chart->n_links == 0) {
        code = ps_fail(
            k->err, PS_NOTHING,
            "the chart does not say which op waits for which: its schedule was not recognised");
    }
    k->most = ps_calloc(k->js->n_workers + 1, sizeof *k->most);
    k->steps = ps_realloc_array(NULL, k->groups.n_steps + 1, sizeof *k->steps);
    if (code != PS_OK || k->most == NULL || k->steps == NULL) {
        return code != PS_OK ? code : ps_fail_nomem(k->err);
    }
    find_most(k);
    for (size_t s = 0; code == PS_OK && s < k->groups.n_steps; s++) {
        k->steps[s] = PS_NO_INDEX;
        code =
            !is_chart_step_whole(k, s) || add_chart_job_step(k, s) ? PS_OK : ps_fail_nomem(k->err);
    }
    if (code == PS_OK && k->js->n_steps == 0) {
        code = ps_fail(k->err, PS_NOTHING, "no step is whole: %s", k->js->why_left_out);
    }
    if (code == PS_OK) {
        connect_links(k);
        code = seal_steps(k);
    }
    return code == PS_OK ? ps_measure_latency(k->chart, &k->js->lag_ns, k->err) : code;
}

ps_code ps_chart_steps_make(const ps_chart *chart, ps_job_steps *out, ps_err *err) {
    *out = (ps_job_steps){.has_comm = false};
    making k = {.chart = chart, .js = out, .err = err};
    k.rows = ps_realloc_array(NULL, chart->n_ops + 1, sizeof *k.rows);
    for (size_t i = 0; k.rows != NULL && i < chart->n_ops; i++) {
        k.rows[i] = PS_NO_INDEX;
    }
    ps_code code = k.rows != NULL && ps_chart_groups_init(&k.groups, chart) ? make_steps(&k)
                                                                            : ps_fail_nomem(err);
    ps_chart_groups_fini(&k.groups);
    ps_free(k.ranks);
    ps_free(k.most);
    ps_free(k.rows);
    ps_free(k.steps);
    ps_free(k.ops);
    ps_free(k.durations);
    return code;
}

#include "analyze/pipeline/unmarked.h"

#include "analyze/pipeline/replay.h"
#include "base/alloc.h"
#include "base/num.h"
#include "model/chart_groups.h"
#include "schedule/sim.h"

typedef struct unmarked {
    const ps_chart *chart;
    const ps_sim_plan *plan;
    const int64_t *durations; /* [n_ops] of the plan */
    bool *is_there;           /* [n_ops] of the plan: an op of the stage and step at hand is it */
    size_t *first;            /* [n_ranks + 1] of the rank's ops in the chart */
} unmarked;

static bool is_planned_op(const ps_op *op, const ps_sched_op *planned) {
    return op->kind == (uint8_t)planned->kind && op->chunk == planned->chunk &&
           op->microbatch == planned->microbatch &&
           (op->kind != PS_OP_FB ||
            (op->chunk2 == planned->chunk2 && op->microbatch2 == planned->microbatch2));
}

/* The op of the stage's list that `op` is, PS_NO_INDEX none. Lists are run in order: looked for behind the last one first. */
static size_t find_planned_op(const unmarked *u, int32_t stage, const ps_op *op, size_t after) {
    size_t from = u->plan->first[stage];
    size_t n = u->plan->first[stage + 1] - from;
    for (size_t i = 0; i < n; i++) {
        size_t at = from + (after - from + i) % n;
        if (!u->is_there[at] && is_planned_op(op, &u->plan->ops[at])) {
            return at;
        }
    }
    return PS_NO_INDEX;
}

static int64_t measure_unmarked_stage(const unmarked *u, uint32_t rank, int64_t step) {
    const ps_chart *c = u->chart;
    int32_t stage = c->ranks[rank].stage;
    int64_t ns = 0;
    for (size_t k = u->plan->first[stage]; k < u->plan->first[stage + 1]; k++) {
        u->is_there[k] = false;
    }
    size_t after = u->plan->first[stage];
    for (size_t i = u->first[rank]; i < u->first[rank + 1]; i++) {
        const ps_op *op = &c->ops[i];
        if (op->step != step || !ps_op_is_computation(op) || !ps_op_is_pass(op)) {
            continue;
        }
        size_t at = find_planned_op(u, stage, op, after);
        if (at != PS_NO_INDEX) {
            u->is_there[at] = true;
            after = at;
        } else if (op->kind != PS_OP_LOGITS) { /* the head's is part of a backward */
            ns = ps_i64_minus(ns, op->end_ns - op->start_ns);
        }
    }
    for (size_t k = u->plan->first[stage]; k < u->plan->first[stage + 1]; k++) {
        ns = u->is_there[k] ? ns : ps_i64_plus(ns, u->durations[k]);
    }
    return ns;
}

static bool start_unmarked(unmarked *u) {
    const ps_chart *c = u->chart;
    u->is_there = ps_calloc(u->plan->n_ops + 1, sizeof *u->is_there);
    u->first = ps_calloc(c->n_ranks + 1, sizeof *u->first);
    if (u->is_there == NULL || u->first == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->n_ops; i++) {
        u->first[c->ops[i].rank + 1]++;
    }
    for (size_t r = 0; r < c->n_ranks; r++) {
        u->first[r + 1] += u->first[r];
    }
    return true;
}

/* The last figures are those of the stages, in their order (ps_bubble_measure). */
static void fill_unmarked(const unmarked *u, ps_chart *chart, ps_bubble_report *report) {
    for (size_t i = 0; i < report->n_stages; i++) {
        ps_stage_bubble *s = &report->stages[i];
        const ps_chart_rank *rank = &chart->ranks[s->rank];
        bool is_planned = rank->stage >= 0 && rank->stage < u->plan->params.n_stages &&
                          u->plan->first[rank->stage] < u->plan->first[rank->stage + 1];
        if (!is_planned || rank->has_work || !s->is_judged || s->step == PS_FIRST_STEP) {
            continue;
        }
        int64_t ns = measure_unmarked_stage(u, s->rank, s->step);
        s->unmarked_ns = ns < 0 ? 0 : ns > s->bubble_ns ? s->bubble_ns : ns;
        chart->figures[chart->n_figures - report->n_stages + i].unmarked_ns = s->unmarked_ns;
    }
}

ps_code ps_unmarked_measure(ps_chart *chart, const ps_recognised *r, ps_bubble_report *report,
                            ps_err *err) {
    ps_measured_times t = {0};
    unmarked u = {.chart = chart};
    ps_sim_plan *plan = NULL;
    int64_t *durations = NULL;
    ps_code code = ps_measure_times(chart, r, PS_FIRST_STEP, -1, &t, err);
    code = code == PS_OK ? r->schedule->check(&r->params, err) : code;
    if (code == PS_OK) {
        u.plan = plan = ps_sim_plan_new(r->schedule, &r->params, err);
        code = plan != NULL ? PS_OK : err->code;
    }
    if (code == PS_OK) {
        u.durations = durations = ps_measured_durations(&t, plan);
        bool ok = durations != NULL && start_unmarked(&u);
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK) {
        fill_unmarked(&u, chart, report);
    }
    ps_free(u.is_there);
    ps_free(u.first);
    ps_free(durations);
    ps_sim_plan_free(plan);
    ps_measured_times_fini(&t);
    return code;
}

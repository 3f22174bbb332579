/* A run of a plan is one of its graph. */
#include "schedule/sim.h"

#include <stdbool.h>
#include <stdio.h>

#include "base/alloc.h"

bool ps_sim_uses(const ps_sim_plan *plan, ps_op_kind kind) {
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        if (plan->ops[op].kind == kind) {
            return true;
        }
    }
    return false;
}

void ps_sim_fill_durations(const ps_sim_plan *plan, const ps_sim_times *times,
                           int64_t *duration_ns) {
    const int64_t of_kind[PS_N_OP_KINDS] = {[PS_OP_F] = times->f_ns,
                                            [PS_OP_B] = times->b_ns,
                                            [PS_OP_BI] = times->b_ns - times->w_ns,
                                            [PS_OP_BW] = times->w_ns,
                                            [PS_OP_FB] = times->fb_ns};
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        duration_ns[op] = of_kind[plan->ops[op].kind];
    }
}

ps_code ps_sim_run(const ps_sim_plan *plan, const int64_t *duration_ns, int64_t p2p_ns,
                   int64_t start_ns, ps_sim_result *out, ps_err *err) {
    const ps_graph_times times = {
        .duration_ns = duration_ns, .lag_ns = p2p_ns, .begin_ns = start_ns};
    out->first_ns = INT64_MAX;
    out->last_ns = start_ns;
    ps_code code = ps_step_graph_run(plan->graph, &times, out->start_ns, out->end_ns, err);
    for (uint32_t op = 0; code == PS_OK && op < plan->n_ops; op++) {
        out->first_ns = out->start_ns[op] < out->first_ns ? out->start_ns[op] : out->first_ns;
        out->last_ns = out->end_ns[op] > out->last_ns ? out->end_ns[op] : out->last_ns;
    }
    return code;
}

int64_t ps_sim_busy_ns(const ps_sim_plan *plan, const ps_sim_result *result, int32_t device) {
    int64_t busy = 0;
    for (size_t op = plan->first[device]; op < plan->first[device + 1]; op++) {
        busy += result->end_ns[op] - result->start_ns[op];
    }
    return busy;
}

/* --- charts ------------------------------------------------------------------------------------------------------- */

static bool add_chart_op(ps_chart *chart, const ps_sim_plan *plan, const ps_sim_result *r,
                         size_t op, int64_t step, int64_t shift_ns) {
    const ps_sched_op *o = &plan->ops[op];
    char label[40];
    ps_op_label(plan->lists.n_microbatches, o, label, sizeof label);
    return ps_chart_add_op(chart, (ps_op){.start_ns = r->start_ns[op] + shift_ns,
                                          .end_ns = r->end_ns[op] + shift_ns,
                                          .step = step,
                                          .name = label,
                                          .rank = (uint32_t)plan->device[op],
                                          .microbatch = o->microbatch,
                                          .microbatch2 = o->microbatch2,
                                          .chunk = (int8_t)o->chunk,
                                          .chunk2 = (int8_t)o->chunk2,
                                          .phase = (int8_t)o->phase,
                                          .kind = (uint8_t)o->kind,
                                          .source = PS_SOURCE_SIMULATED});
}

/* All steps take the same time, so one run is enough; a chart is grouped by rank. */
static ps_code fill_chart(ps_chart *chart, const ps_sim_plan *plan, const ps_sim_result *r,
                          int64_t n_steps, int64_t gap_ns, ps_err *err) {
    int64_t period_ns;
    int64_t last_ns;
    if (__builtin_add_overflow(r->last_ns, gap_ns, &period_ns) ||
        __builtin_mul_overflow(period_ns, n_steps, &last_ns)) {
        return ps_fail_said(err, PS_RANGE, "the simulated times leave 64 bits of nanoseconds",
                            "仿真时间超出 64 位纳秒");
    }
    char title[160];
    (void)snprintf(title, sizeof title, "%s, %d stages, %d microbatches, simulated",
                   plan->lists.name, (int)plan->params.n_stages, (int)plan->params.n_microbatches);
    bool ok = ps_chart_set_text(chart, title, plan->lists.name);
    for (int32_t d = 0; ok && d < plan->params.n_stages; d++) {
        ok = ps_chart_add_rank(chart, (ps_chart_rank){.rank = d, .stage = d, .pipeline = 0});
        for (int64_t step = 0; ok && step < n_steps; step++) {
            for (size_t op = plan->first[d]; ok && op < plan->first[d + 1]; op++) {
                ok = add_chart_op(chart, plan, r, op, step + 1, step * period_ns);
            }
        }
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

ps_chart *ps_sim_chart(const ps_sim_plan *plan, const int64_t *duration_ns, int64_t p2p_ns,
                       int64_t n_steps, int64_t gap_ns, ps_err *err) {
    ps_sim_result r = {.start_ns = ps_realloc_array(NULL, plan->n_ops, sizeof(int64_t)),
                       .end_ns = ps_realloc_array(NULL, plan->n_ops, sizeof(int64_t))};
    ps_chart *chart = ps_chart_new();
    bool ok = r.start_ns != NULL && r.end_ns != NULL && chart != NULL;
    ps_code code = ok ? ps_sim_run(plan, duration_ns, p2p_ns, 0, &r, err) : ps_fail_nomem(err);
    if (code == PS_OK) {
        code = fill_chart(chart, plan, &r, n_steps, gap_ns, err);
    }
    if (code != PS_OK) {
        ps_chart_free(chart);
        chart = NULL;
    }
    ps_free(r.start_ns);
    ps_free(r.end_ns);
    return chart;
}

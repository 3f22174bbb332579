/* Durations are those of one op on one device. Of a stage s and kind k:
 *
 *   measured (replay.h) or given for all  ->  scaled so that the mean over stages is what was given
 *   -> what a line of "durations" says of (s, k)  -> times factors[s]
 */
#include "analyze/pipeline/simulated_step.h"

#include <math.h>
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/recognise.h"
#include "analyze/pipeline/replay.h"
#include "base/alloc.h"
#include "schedule/connect.h"
#include "schedule/csv.h"
#include "schedule/durations.h"

#define DEFAULT_F_NS 10000000
#define DEFAULT_B_NS 20000000

/* --- the plan and its durations ---------------------------------------------------------------------------------- */

/* What was measured says what was not asked for. */
static void take_over(ps_simulated_ask *a, const ps_recognised *r) {
    ps_schedule_params *p = &a->params;
    bool same = a->schedule == NULL || a->schedule == r->schedule;
    a->schedule = a->schedule != NULL ? a->schedule : r->schedule;
    p->n_stages = p->n_stages > 0 ? p->n_stages : r->params.n_stages;
    p->n_microbatches = p->n_microbatches > 0 ? p->n_microbatches : r->params.n_microbatches;
    if (same && !a->has_chunks) {
        p->n_chunks = r->params.n_chunks;
        p->group = p->group > 0 ? p->group : r->params.group;
        p->overlap = p->overlap || r->params.overlap;
        p->tail_full = p->tail_full || r->params.tail_full;
        p->pairs_apart = r->params.pairs_apart;
    } else if (!a->has_chunks && (a->schedule->takes & PS_TAKES_CHUNKS) != 0) {
        p->n_chunks = 2;
    }
}

static ps_code make_simulated_plan(ps_simulated_ask *a, ps_simulated_step *s, ps_err *err) {
    if (a->csv != NULL) {
        ps_lists lists;
        ps_code code = ps_lists_parse_csv(&lists, "csv", a->csv, strlen(a->csv), err);
        s->plan = code == PS_OK ? ps_sim_plan_of_lists(&lists, err) : NULL;
    } else if (a->schedule->check(&a->params, err) == PS_OK) {
        s->plan = ps_sim_plan_new(a->schedule, &a->params, err);
    }
    if (s->plan == NULL) {
        return err->code == PS_SYNTAX || err->code == PS_UNSUPPORTED ? (err->code = PS_USAGE)
                                                                     : err->code;
    }
    a->params = s->plan->params;
    return PS_OK;
}

/* Ops that the work of a stage for one microbatch is cut into. */
static int32_t pieces_of_stage(const ps_sim_plan *plan) {
    if (plan->schedule == NULL) {
        return plan->lists.n_chunks;
    }
    int32_t chains = plan->schedule->n_chains > 0 ? plan->schedule->n_chains : 1;
    return ps_schedule_chunks(plan->schedule, &plan->params) / chains;
}

/* Balanced is the schedule's own theory, one for the job: of all steps and pipelines, as ps_ideal_bubble() and ps_theory_chart() take them. */
static ps_code take_measured_times(const ps_simulated_ask *a, ps_simulated_step *s,
                                   const ps_recognised *r, ps_err *err) {
    ps_measured_times m = {0};
    int32_t n_stages = a->params.n_stages;
    ps_code code = ps_measure_times(a->measured, r, a->balanced ? PS_FIRST_STEP : a->step,
                                    a->balanced ? -1 : a->pipeline, &m, err);
    if (code == PS_OK && a->balanced) {
        ps_measured_times_balance(&m);
    }
    if (code == PS_OK && n_stages != m.n_stages && !ps_measured_times_spread(&m, n_stages)) {
        code = ps_fail_nomem(err);
    }
    for (int32_t d = 0, n = s->pieces; code == PS_OK && d < n_stages; d++) {
        const ps_stage_times *of = &m.stages[d];
        int64_t both = of->f_ns / n + of->b_ns / n;
        s->times[d] = (ps_op_times){of->f_ns / n, of->b_ns / n, of->w_ns / n,
                                    (int64_t)((double)both * (double)m.pair_per_mille / 1000.0)};
    }
    s->p2p_ns = a->balanced ? 0 : m.p2p_ns;
    ps_measured_times_fini(&m);
    return code;
}

static void usual_times(const ps_simulated_ask *a, ps_simulated_step *s) {
    const ps_op_times t = {DEFAULT_F_NS, DEFAULT_B_NS, DEFAULT_B_NS / 2,
                           DEFAULT_F_NS + DEFAULT_B_NS};
    for (int32_t d = 0; d < a->params.n_stages; d++) {
        s->times[d] = t;
    }
}

static int64_t scaled_op(int64_t ns, double by) {
    double v = round((double)ns * by);
    return v < 1                                 ? (ns > 0 ? 1 : 0)
           : v > (double)PS_SIMULATED_MOST_OP_NS ? PS_SIMULATED_MOST_OP_NS
                                                 : (int64_t)v;
}

/* Brings the mean over stages to what was given; stages keep their proportions. Pairs and weight gradients follow. What the means were stays known. */
static void apply_given(const ps_simulated_ask *a, ps_simulated_step *s) {
    const ps_op_times *g = &a->given;
    int32_t n = a->params.n_stages;
    double f = 0;
    double b = 0;
    double w = 0;
    double fb = 0;
    for (int32_t d = 0; d < n; d++) {
        f += (double)s->times[d].f_ns / n;
        b += (double)s->times[d].b_ns / n;
        w += (double)s->times[d].w_ns / n;
        fb += (double)s->times[d].fb_ns / n;
    }
    s->measured = (ps_op_times){llround(f), llround(b), llround(w), llround(fb)};
    s->measured_p2p_ns = s->p2p_ns;
    double by_f = g->f_ns > 0 && f > 0 ? (double)g->f_ns / f : 1;
    double by_b = g->b_ns > 0 && b > 0 ? (double)g->b_ns / b : 1;
    double by_w = g->w_ns > 0 && w > 0 ? (double)g->w_ns / w : by_b;
    for (int32_t d = 0; d < n; d++) {
        ps_op_times *t = &s->times[d];
        int64_t apart = t->f_ns + t->b_ns;
        t->f_ns = scaled_op(t->f_ns, by_f);
        t->b_ns = scaled_op(t->b_ns, by_b);
        t->w_ns = scaled_op(t->w_ns, by_w);
        double by_fb = g->fb_ns > 0 && fb > 0 ? (double)g->fb_ns / fb
                       : apart > 0            ? (double)(t->f_ns + t->b_ns) / (double)apart
                                              : 1;
        t->fb_ns = scaled_op(t->fb_ns, by_fb);
    }
}

/* What lines of stages and kinds say; what they do not follows from what they do. */
static ps_code apply_lines(const ps_simulated_ask *a, ps_simulated_step *s, ps_err *err) {
    ps_durations d = {0};
    if (a->durations == NULL || a->durations[0] == '\0') {
        return PS_OK;
    }
    ps_code code = ps_durations_parse_csv(&d, "durations", a->durations, strlen(a->durations),
                                          a->params.n_stages, err);
    for (int32_t stage = 0; code == PS_OK && stage < a->params.n_stages; stage++) {
        const int64_t *ns = d.ns + (size_t)stage * PS_N_OP_KINDS;
        ps_op_times *t = &s->times[stage];
        ps_op_times was = *t;
        double pair =
            was.f_ns + was.b_ns > 0 ? (double)was.fb_ns / ((double)was.f_ns + (double)was.b_ns) : 1;
        t->f_ns = ns[PS_OP_F] >= 0 ? ns[PS_OP_F] : t->f_ns;
        if (ns[PS_OP_B] >= 0) {
            t->b_ns = ns[PS_OP_B];
        } else if (ns[PS_OP_BI] >= 0) {
            t->b_ns = ns[PS_OP_BI] + (ns[PS_OP_BW] >= 0 ? ns[PS_OP_BW] : was.w_ns);
        }
        t->w_ns = ns[PS_OP_BW] >= 0   ? ns[PS_OP_BW]
                  : ns[PS_OP_BI] >= 0 ? t->b_ns - ns[PS_OP_BI]
                  : was.b_ns > 0      ? scaled_op(was.w_ns, (double)t->b_ns / (double)was.b_ns)
                                      : t->b_ns / 2;
        t->fb_ns = ns[PS_OP_FB] >= 0 ? ns[PS_OP_FB] : scaled_op(t->f_ns + t->b_ns, pair);
        if (t->f_ns > PS_SIMULATED_MOST_OP_NS || t->b_ns > PS_SIMULATED_MOST_OP_NS ||
            t->fb_ns > PS_SIMULATED_MOST_OP_NS) {
            code = ps_fail(err, PS_USAGE, "durations: an op takes at most 10 s");
        }
    }
    ps_durations_fini(&d);
    return code == PS_SYNTAX || code == PS_RANGE ? (err->code = PS_USAGE) : code;
}

static ps_code check_simulation_times(const ps_simulated_ask *a, const ps_simulated_step *s,
                                      ps_err *err) {
    bool splits = ps_sim_uses(s->plan, PS_OP_BI);
    for (int32_t d = 0; splits && d < a->params.n_stages; d++) {
        const ps_op_times *t = &s->times[d];
        if (t->w_ns >= t->b_ns) {
            return ps_fail(err, PS_USAGE,
                           "stage %d: the weight gradient (%lld ns) must be less than the backward "
                           "that it is a part of (%lld ns)",
                           (int)d, (long long)t->w_ns, (long long)t->b_ns);
        }
    }
    return PS_OK;
}

/* [n_ops] with factors; the caller frees them. */
static int64_t *simulated_durations(const ps_simulated_ask *a, const ps_simulated_step *s,
                                    ps_err *err) {
    int32_t n_stages = a->params.n_stages;
    ps_durations d = {n_stages, ps_calloc((size_t)n_stages * PS_N_OP_KINDS, sizeof *d.ns)};
    int64_t *ns = ps_calloc(s->plan->n_ops, sizeof *ns);
    ps_code code = d.ns != NULL && ns != NULL ? PS_OK : ps_fail_nomem(err);
    for (int32_t stage = 0; code == PS_OK && stage < n_stages; stage++) {
        const ps_op_times *t = &s->times[stage];
        double factor = a->n_factors > 0 ? a->factors[stage] : 1;
        int64_t *of = d.ns + (size_t)stage * PS_N_OP_KINDS;
        of[PS_OP_F] = scaled_op(t->f_ns, factor);
        of[PS_OP_B] = scaled_op(t->b_ns, factor);
        of[PS_OP_BI] = scaled_op(t->b_ns - t->w_ns, factor);
        of[PS_OP_BW] = scaled_op(t->w_ns, factor);
        of[PS_OP_FB] = scaled_op(t->fb_ns, factor);
    }
    code = code == PS_OK ? ps_durations_fill(&d, s->plan, ns, err) : code;
    ps_durations_fini(&d);
    if (code != PS_OK) {
        ps_free(ns);
        return NULL;
    }
    return ns;
}

/* --- the step ---------------------------------------------------------------------------------------------------- */

static ps_code prepare_simulated_step(ps_simulated_ask *a, ps_simulated_step *s, ps_err *err) {
    ps_recognised r = {0};
    ps_code code = PS_OK;
    if (a->measured != NULL) {
        code = ps_recognise_for_theory(a->measured, &r, err);
        if (code == PS_OK) {
            take_over(a, &r);
        }
    }
    code = code == PS_OK ? make_simulated_plan(a, s, err) : code;
    if (code != PS_OK) {
        return code;
    }
    s->pieces = pieces_of_stage(s->plan);
    s->times = ps_calloc((size_t)a->params.n_stages, sizeof *s->times);
    if (s->times == NULL) {
        return ps_fail_nomem(err);
    }
    if (a->measured != NULL) {
        code = take_measured_times(a, s, &r, err);
    } else {
        usual_times(a, s);
    }
    if (code == PS_OK) {
        apply_given(a, s);
        s->p2p_ns = a->p2p_ns >= 0 ? a->p2p_ns : s->p2p_ns;
        code = apply_lines(a, s, err);
    }
    if (code == PS_OK && a->n_factors > 0 && a->n_factors != (size_t)a->params.n_stages) {
        code = ps_fail(err, PS_USAGE, "factors: one for each of the %d stages",
                       (int)a->params.n_stages);
    }
    return code == PS_OK ? check_simulation_times(a, s, err) : code;
}

static double most_activations(const ps_sim_plan *plan) {
    size_t most = 0;
    for (int32_t d = 0; d < plan->lists.n_stages; d++) {
        size_t peak = ps_lists_peak(&plan->lists, d);
        most = peak > most ? peak : most;
    }
    int32_t n = pieces_of_stage(plan);
    return (double)most / (n > 0 ? n : 1);
}

static ps_code measure_simulated_step(const ps_simulated_ask *a, ps_simulated_step *s,
                                      ps_err *err) {
    ps_bubble_report report = {0};
    ps_code code = ps_chart_connect(s->chart, s->plan, err);
    code = code == PS_OK ? ps_watch_ask(a->watch, err) : code;
    code = code == PS_OK ? ps_bubble_measure(s->chart, NULL, &report, err) : code;
    if (code == PS_OK) {
        s->tables[0] = ps_bubble_stage_table(s->chart, &report);
        s->tables[1] = ps_bubble_step_table(s->chart, &report);
        s->tables[2] = ps_bubble_wait_table(s->chart, &report);
        s->step_ns = report.n_steps > 0 ? report.steps[0].step_ns : 0;
        bool ok = s->tables[0] != NULL && s->tables[1] != NULL && s->tables[2] != NULL;
        code = ok ? PS_OK : ps_fail_nomem(err);
    }
    if (code == PS_OK && s->tables[1]->n_rows > 0) {
        const ps_value *bubble =
            ps_table_cell(s->tables[1], 0, ps_table_column(s->tables[1], "bubble"));
        s->bubble_percent = bubble->is_null ? 0 : bubble->u.r;
    }
    s->activations = most_activations(s->plan);
    ps_bubble_report_fini(&report);
    return code;
}

static ps_code run_simulated_step(ps_simulated_ask *a, ps_simulated_step *s, ps_err *err) {
    ps_code code = prepare_simulated_step(a, s, err);
    code = code == PS_OK ? ps_watch_ask(a->watch, err) : code;
    int64_t *ns = code == PS_OK ? simulated_durations(a, s, err) : NULL;
    s->chart = ns != NULL ? ps_sim_chart(s->plan, ns, s->p2p_ns, 1, 0, err) : NULL;
    ps_free(ns);
    if (code == PS_OK && s->chart == NULL) {
        code = err->code;
    }
    code = code == PS_OK ? ps_watch_ask(a->watch, err) : code;
    return code == PS_OK ? measure_simulated_step(a, s, err) : code;
}

/* What a step is compared with: the same simulator, step and medians, and nothing of what was asked to be otherwise. */
static ps_code replay_own_schedule(const ps_simulated_ask *ask, ps_simulated_step *out,
                                   ps_err *err) {
    ps_simulated_ask own = {.measured = ask->measured,
                            .step = ask->balanced ? PS_FIRST_STEP : ask->step,
                            .pipeline = ask->balanced ? -1 : ask->pipeline,
                            .given = {PS_SIMULATED_NOT_GIVEN, PS_SIMULATED_NOT_GIVEN,
                                      PS_SIMULATED_NOT_GIVEN, PS_SIMULATED_NOT_GIVEN},
                            .p2p_ns = PS_SIMULATED_NOT_GIVEN,
                            .watch = ask->watch};
    ps_simulated_step s = {0};
    ps_code code = run_simulated_step(&own, &s, err);
    if (code == PS_OK) {
        out->replayed_ns = s.step_ns;
        out->replayed_bubble_percent = s.bubble_percent;
    }
    ps_simulated_step_fini(&s);
    return code;
}

ps_code ps_simulate_step(const ps_simulated_ask *ask, ps_simulated_step *out, ps_err *err) {
    ps_simulated_ask a = *ask; /* with what was measured */
    *out = (ps_simulated_step){.replayed_ns = PS_UNKNOWN_INT};
    ps_code code = run_simulated_step(&a, out, err);
    if (code == PS_OK && ask->measured != NULL) {
        code = replay_own_schedule(ask, out, err);
    }
    return code == PS_OK ? ps_watch_ask(a.watch, err) : code;
}

void ps_simulated_step_fini(ps_simulated_step *s) {
    for (size_t i = 0; i < sizeof s->tables / sizeof *s->tables; i++) {
        ps_table_free(s->tables[i]);
    }
    ps_chart_free(s->chart);
    ps_free(s->times);
    ps_sim_plan_free(s->plan);
    *s = (ps_simulated_step){0};
}

#include "analyze/whatif/split_plan_tables.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/replay.h"
#include "analyze/whatif/job_chart.h"
#include "analyze/whatif/plan_lines.h"
#include "analyze/whatif/plan_memory.h"
#include "analyze/whatif/schedule_plan_tables.h"
#include "analyze/whatif/schedule_plans.h"
#include "base/alloc.h"

/* column, name, type, unit */
#define PLAN_COLUMNS(X)                                                                            \
    X(P_STAGES, "stages", PS_COL_INT, PS_UNIT_COUNT)                                               \
    X(P_LAYERS, "layers", PS_COL_INT, PS_UNIT_COUNT)                                               \
    X(P_LAYER, "layer", PS_COL_INT, PS_UNIT_NS)                                                    \
    X(P_LAYER_LEAST, "layer_least", PS_COL_INT, PS_UNIT_NS)                                        \
    X(P_LAYER_MOST, "layer_most", PS_COL_INT, PS_UNIT_NS)                                          \
    X(P_FIRST, "first_stage_more", PS_COL_INT, PS_UNIT_NS)                                         \
    X(P_LAST, "last_stage_more", PS_COL_INT, PS_UNIT_NS)                                           \
    X(P_SPREAD, "spread_of_layers", PS_COL_REAL, PS_UNIT_PERCENT)                                  \
    X(P_REAL, "step_replayed", PS_COL_INT, PS_UNIT_NS)                                             \
    X(P_MEASURED, "step_measured", PS_COL_INT, PS_UNIT_NS)                                         \
    X(P_NOW, "step_now", PS_COL_INT, PS_UNIT_NS)                                                   \
    X(P_THEN, "step_planned", PS_COL_INT, PS_UNIT_NS)                                              \
    X(P_GAIN, "gain share", PS_COL_REAL, PS_UNIT_PERCENT)                                          \
    X(P_TRIED, "splits_simulated", PS_COL_INT, PS_UNIT_COUNT)                                      \
    X(P_PROVEN, "proven", PS_COL_INT, PS_UNIT_NONE)                                                \
    X(P_EVEN, "chunks_alike", PS_COL_INT, PS_UNIT_NONE)                                            \
    X(P_OWN, "plan_of_own_schedule", PS_COL_INT, PS_UNIT_NONE)                                     \
    X(P_LAYOUT, "pipeline_model_parallel_layout", PS_COL_TEXT, PS_UNIT_NONE)                       \
    X(P_LIST, "num_layer_list", PS_COL_TEXT, PS_UNIT_NONE)                                         \
    X(P_POINTS, "split_points", PS_COL_TEXT, PS_UNIT_NONE)                                         \
    X(P_RAN, "schedule", PS_COL_TEXT, PS_UNIT_NONE)                                                \
    X(P_UNPLANNED, "why_no_schedules", PS_COL_TEXT, PS_UNIT_NONE)                                  \
    X(P_UNNAMED, "why_unnamed", PS_COL_TEXT, PS_UNIT_NONE)                                         \
    X(P_NOTE, "note", PS_COL_TEXT, PS_UNIT_NONE)                                                   \
    X(P_OUTSIDE, "step_outside_of_schedule", PS_COL_INT, PS_UNIT_NS)                               \
    X(P_MISFIT, "keeps_no_limits", PS_COL_INT, PS_UNIT_NONE)                                       \
    X(P_MEMORY, "memory", PS_COL_INT, PS_UNIT_BYTES)                                               \
    X(P_MOST_HELD, "max_activations", PS_COL_INT, PS_UNIT_COUNT)                                   \
    X(P_LEFT_OUT, "steps_left_out", PS_COL_INT, PS_UNIT_COUNT)                                     \
    X(P_WHY_LEFT_OUT, "why_left_out", PS_COL_TEXT, PS_UNIT_NONE)

enum {
#define X(column, text, of, measure) column,
    PLAN_COLUMNS(X)
#undef X
        N_P
};

static const ps_column PLAN[N_P] = {
#define X(column, text, of, measure) [column] = {.name = text, .type = of, .unit = measure},
    PLAN_COLUMNS(X)
#undef X
};

enum { S_STAGE, S_NOW, S_PLAN, S_NOW_NS, S_PLAN_NS, N_S };

static const ps_column STAGES[N_S] = {
    [S_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [S_NOW] = {.name = "layers now", .type = PS_COL_INT},
    [S_PLAN] = {.name = "layers planned", .type = PS_COL_INT},
    [S_NOW_NS] = {.name = "microbatch now", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_PLAN_NS] = {.name = "microbatch planned", .type = PS_COL_INT, .unit = PS_UNIT_NS},
};

static int64_t whole_plan_ns(double ns) {
    return (int64_t)llround(ns);
}

/* Lines to paste are of stages with one chunk: how layers lie on several chunks is not measured. */
static bool put_plan_lines(ps_table *t, const ps_split_plan *p) {
    static void (*const WRITE[])(const int32_t *, int32_t,
                                 ps_buf *) = {ps_plan_layout, ps_plan_list, ps_plan_points};
    bool ok = true;
    size_t n = sizeof WRITE / sizeof *WRITE;
    for (int32_t s = 0; s < p->n_stages; s++) { /* PyTorch has no stage without a layer */
        n = p->best[s] == 0 ? P_POINTS - P_LAYOUT : n;
    }
    for (size_t i = 0; i < n; i++) {
        ps_buf text;
        ps_buf_init(&text, 0);
        WRITE[i](p->best, p->n_stages, &text);
        ok = ok && ps_buf_ok(&text) && ps_table_set_text(t, P_LAYOUT + i, ps_buf_str(&text));
        ps_buf_fini(&text);
    }
    return ok;
}

static ps_table *make_plan_table(const ps_job_steps *js, const ps_split_plan *p) {
    ps_table *t = ps_table_new("plan", "the plan", PLAN, N_P);
    if (t == NULL || !ps_table_add_row(t)) {
        ps_table_free(t);
        return NULL;
    }
    ps_table_set_int(t, P_STAGES, p->n_stages);
    ps_table_set_int(t, P_LAYERS, p->n_layers);
    ps_table_set_int(t, P_LAYER, whole_plan_ns(p->layer_ns));
    ps_table_set_int(t, P_LAYER_LEAST, whole_plan_ns(p->layer_least_ns));
    ps_table_set_int(t, P_LAYER_MOST, whole_plan_ns(p->layer_most_ns));
    ps_table_set_int(t, P_EVEN, p->is_even);
    ps_table_set_int(t, P_FIRST, whole_plan_ns(p->first_ns));
    ps_table_set_int(t, P_LAST, whole_plan_ns(p->last_ns));
    ps_table_set_real(t, P_SPREAD, 100 * p->spread);
    ps_table_set_int(t, P_REAL, whole_plan_ns(p->real_ns));
    ps_table_set_int(t, P_NOW, whole_plan_ns(p->now_ns));
    ps_table_set_int(t, P_THEN, whole_plan_ns(p->best_ns));
    ps_table_set_real(t, P_GAIN, 100 * (1 - p->best_ns / p->now_ns));
    ps_table_set_int(t, P_TRIED, (int64_t)p->n_tried);
    ps_table_set_int(t, P_PROVEN, p->is_proven);
    ps_table_set_int(t, P_MISFIT, p->is_misfit);
    ps_table_set_int(t, P_LEFT_OUT, (int64_t)js->n_left_out);
    bool ok = js->n_left_out == 0 || ps_table_set_text(t, P_WHY_LEFT_OUT, js->why_left_out);
    if (!ok || (p->n_chunks == 1 && !p->is_misfit && !put_plan_lines(t, p))) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}

static ps_table *make_plan_stages_table(const ps_split_plan *p) {
    ps_table *t = ps_table_new("plan_stages", "layers of the stages", STAGES, N_S);
    bool ok = t != NULL;
    for (int32_t s = 0; ok && s < p->n_stages; s++) {
        ok = ps_table_add_row(t);
        if (ok) {
            ps_table_set_int(t, S_STAGE, s);
            ps_table_set_int(t, S_NOW, p->now[s]);
            ps_table_set_int(t, S_PLAN, p->best[s]);
            ps_table_set_int(t, S_NOW_NS, whole_plan_ns(p->stage_ns[s]));
            ps_table_set_int(t, S_PLAN_NS, whole_plan_ns(p->then_ns[s]));
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

/* --- plans of other schedules ------------------------------------------------------------------------------------------ */

/* What a plan is made of. */
typedef struct planning {
    const ps_job_steps *js;
    const ps_chart *chart; /* the measured one */
    bool is_chart;         /* given, and not made of the job's steps */
    const ps_analysis_opts *opts;
    ps_ran ran;
    bool is_known; /* what ran, by name or as it ran: other schedules are planned */
    char why[512]; /* it is not */
    char why_unnamed[PS_UNRECOGNISED_TEXT]; /* what ran has no name: "" it has */
    ps_split_plan split;
    ps_schedule_plans plans;
    ps_analysis_opts sized; /* opts with the sizes that the capture tells */
    ps_table *sizes;        /* from where they are; NULL: nothing was taken from it */
} planning;

/* Microbatches of which a stage has run the forward and not yet all of the backward, at most. */
static void measure_held(const ps_chart *chart, int32_t held[PS_PLAN_STAGES]) {
    int32_t now = 0;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int32_t stage = chart->ranks[op->rank].stage;
        bool begins = i == 0 || op->rank != op[-1].rank || op->step != op[-1].step;
        now = begins ? 0 : now;
        now += op->kind == PS_OP_F;
        now -= op->kind == PS_OP_B || op->kind == PS_OP_BW;
        if (stage >= 0 && stage < PS_PLAN_STAGES && now > held[stage]) {
            held[stage] = now;
        }
    }
}

/* Of the replayed step what is no computing and no transfer: what no schedule changes. */
static ps_code measure_outside(const ps_job_steps *js, double *outside_ns, ps_err *err) {
    static const int64_t NOTHING[PS_N_WORKER_OPS];
    ps_job_part inside = {.kinds = PS_JOB_COMPUTING};
    const ps_job_part all = {.kinds = 0};
    double all_ns = 0;
    double inside_ns = 0;
    for (int kind = 0; kind < PS_N_WORKER_OPS; kind++) {
        inside.kinds |= ps_worker_op_is_transfer((ps_worker_op)kind) ? 1u << kind : 0;
    }
    const ps_job_question of_all = {.parts = &all, .n_parts = 1};
    const ps_job_question of_inside = {.parts = &inside, .n_parts = 1};
    ps_code code = ps_job_ask(js, NOTHING, &of_all, &all_ns, NULL, err);
    code = code == PS_OK ? ps_job_ask(js, NOTHING, &of_inside, &inside_ns, NULL, err) : code;
    *outside_ns = all_ns - inside_ns;
    return code;
}

/* The chart says what it recognised; workers of a timeline have no chart of their own. */
static bool is_recognised(const planning *k) {
    bool is_charted = k->is_chart && k->chart->schedule[0] != '\0';
    return is_charted || ps_recognised_agreement(&k->ran.r) >= PS_MIN_AGREEMENT;
}

/* Where every stage has one chunk, and the labels say so, the order that ran tells all that plans are compared with. */
static ps_code take_unnamed(planning *k, ps_err *err) {
    ps_ran *ran = &k->ran;
    (void)ps_unrecognised_text(k->chart->lang, ran->r.schedule, ps_recognised_agreement(&ran->r),
                               k->why_unnamed);
    k->is_known = k->chart->labels_are_exact && ran->r.schedule->n_chunks == 1 &&
                  ran->r.schedule->n_chains <= 1 && k->js->n_stages <= PS_PLAN_STAGES;
    ran->is_unnamed = true;
    if (!k->is_known) {
        (void)snprintf(k->why, sizeof k->why, "%s", k->why_unnamed);
        return PS_OK;
    }
    measure_held(k->chart, ran->held);
    return measure_outside(k->js, &ran->outside_ns, err);
}

static ps_code recognise_own(planning *k, ps_err *err) {
    ps_err why = PS_ERR_INIT;
    ps_code code = ps_recognise_nearest(k->chart, &k->ran.r, &why);
    k->is_known = code == PS_OK && k->ran.r.params.n_stages == k->js->n_stages;
    if (!k->is_known) {
        (void)snprintf(k->why, sizeof k->why, "%s",
                       code != PS_OK
                           ? ps_err_text(k->chart->lang, &why)
                           : PS_SAY(k->chart->lang, "its schedule has another number of stages",
                                    "其调度的阶段数不同"));
    }
    if (code == PS_NOMEM) {
        return ps_fail_nomem(err);
    }
    return k->is_known && !is_recognised(k) ? take_unnamed(k, err) : PS_OK;
}

static ps_code make_split(planning *k, ps_err *err) {
    const char *split = k->opts->split;
    int32_t most[PS_PLAN_STAGES];
    /* So that a wrong split is said before anything else. */
    ps_code code = ps_split_plan_read(split, k->js->n_stages, &k->split, err);
    code = code == PS_OK
               ? ps_plan_memory_find(k->js, k->is_known && !k->ran.is_unnamed ? &k->ran.r : NULL,
                                     &k->split, k->opts, &k->sized, &k->sizes, err)
               : code;
    k->opts = code == PS_OK ? &k->sized : k->opts;
    ps_plan_limits limits = ps_plan_limits_of(k->opts, &k->split);
    ps_split_shape shape = {.n_ways = 1, .most = most, .least = limits.min_layers};
    for (int32_t s = 0; s < k->js->n_stages && s < PS_PLAN_STAGES; s++) {
        most[s] = limits.max_layers > 0 ? limits.max_layers : INT32_MAX / 2;
    }
    code = code == PS_OK && k->is_known ? ps_split_shape_of(&k->ran, &limits, most, &shape, err)
                                        : code;
    return code == PS_OK ? ps_split_plan_make(k->js, split, &shape, &k->split, err) : code;
}

static ps_code plan_schedules_of(planning *k, ps_err *err) {
    int64_t p2p_ns = 0;
    if (!k->is_known) {
        return PS_OK;
    }
    if (!ps_job_latency(k->js, &p2p_ns)) {
        return ps_fail_nomem(err);
    }
    return ps_schedule_plans_make(k->chart, &k->ran, &k->split, p2p_ns, k->opts, &k->plans, err);
}

/* What ran with several chunks a stage has its best split over those, and not over stages. */
static void take_own_plan(planning *k) {
    const ps_schedule_plan *own = ps_schedule_plans_own(&k->plans, &k->ran);
    ps_split_plan *p = &k->split;
    if (own == NULL) {
        p->is_misfit = p->is_misfit || k->plans.is_own_misfit;
        return;
    }
    bool is_better = own->step_ns < p->now_ns;
    p->is_even = false;
    p->n_tried = own->n_tried;
    p->is_proven = own->is_proven;
    p->best_ns = is_better ? own->step_ns : p->now_ns;
    for (int32_t s = 0; s < p->n_stages; s++) {
        int32_t layers = own->n_ways > 1 ? own->layers[s] : own->devices[s].layers;
        p->best[s] = is_better ? layers : p->now[s];
        p->then_ns[s] = is_better ? (double)own->busy_ns[s] / own->n_ways : p->stage_ns[s];
    }
}

static bool set_if_any(ps_table *t, size_t column, const char *text) {
    return text[0] == '\0' || ps_table_set_text(t, column, text);
}

static bool put_plan_notes(ps_table *t, const planning *k) {
    const ps_analysis_opts *o = k->opts;
    double measured_ns = ps_job_measured(k->js);
    if (measured_ns > 0) {
        ps_table_set_int(t, P_MEASURED, whole_plan_ns(measured_ns));
    }
    int64_t own = ps_schedule_plans_number(&k->plans, ps_schedule_plans_own(&k->plans, &k->ran));
    if (own > 0) {
        ps_table_set_int(t, P_OWN, own);
    }
    if (k->is_known) {
        ps_table_set_int(t, P_OUTSIDE, whole_plan_ns(k->plans.rest_ns));
    }
    if (o->memory_bytes > 0) {
        ps_table_set_int(t, P_MEMORY, o->memory_bytes);
    }
    if (o->max_activations > 0) {
        ps_table_set_int(t, P_MOST_HELD, o->max_activations);
    }
    bool is_named = k->is_known && !k->ran.is_unnamed;
    return set_if_any(t, P_RAN, is_named ? k->ran.r.schedule->name : "") &&
           set_if_any(t, P_UNPLANNED, k->why) && set_if_any(t, P_UNNAMED, k->why_unnamed) &&
           set_if_any(t, P_NOTE, k->plans.note);
}

static ps_code add_plan_tables(planning *k, ps_result *result, ps_err *err) {
    ps_table *plan = make_plan_table(k->js, &k->split);
    ps_table *stages = make_plan_stages_table(&k->split);
    if (plan == NULL || stages == NULL || !put_plan_notes(plan, k)) {
        ps_table_free(plan);
        ps_table_free(stages);
        return ps_fail_nomem(err);
    }
    ps_code code = ps_result_add(result, plan, err);
    if (code == PS_OK) {
        code = ps_result_add(result, stages, err);
    } else {
        ps_table_free(stages);
    }
    if (code == PS_OK && k->sizes != NULL) {
        code = ps_result_add(result, k->sizes, err);
        k->sizes = NULL;
    }
    return code == PS_OK && k->is_known
               ? ps_schedule_plans_add_tables(&k->plans, k->opts->plan_row, k->opts->with_timeline,
                                              result, err)
               : code;
}

static ps_code make_plans(planning *k, ps_result *result, ps_err *err) {
    ps_code code = recognise_own(k, err);
    code = code == PS_OK ? make_split(k, err) : code;
    code = code == PS_OK ? plan_schedules_of(k, err) : code;
    if (code == PS_OK) {
        take_own_plan(k);
    }
    return code == PS_OK ? add_plan_tables(k, result, err) : code;
}

ps_code ps_split_plan_add_tables(const ps_job_steps *js, const ps_chart *chart,
                                 const ps_analysis_opts *opts, ps_result *result, ps_err *err) {
    planning *k = ps_calloc(1, sizeof *k);
    ps_err here = PS_ERR_INIT;
    ps_chart *own = NULL;
    if (k == NULL) {
        return ps_fail_nomem(err);
    }
    *k = (planning){.js = js, .chart = chart, .is_chart = chart != NULL, .opts = opts};
    if (chart == NULL) {
        own = ps_job_chart(js, opts->pp_type != NULL ? opts->pp_type : "", &here);
        k->chart = own;
    }
    ps_code code = k->chart != NULL ? make_plans(k, result, &here) : here.code;
    if (code == PS_OK && own != NULL && opts->with_timeline && result->chart == NULL) {
        result->chart = own;
    } else {
        ps_chart_free(own);
    }
    ps_schedule_plans_fini(&k->plans);
    ps_table_free(k->sizes);
    ps_free(k);
    if (code != PS_OK && err != NULL) {
        *err = here;
    }
    return code;
}

#include "analyze/whatif/whatif_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/whatif/chart_steps.h"
#include "analyze/whatif/question.h"
#include "analyze/whatif/split_plan_tables.h"
#include "analyze/whatif/whatif.h"
#include "analyze/whatif/whatif_causes.h"
#include "analyze/whatif/whatif_timeline.h"
#include "base/alloc.h"

static int64_t whole_whatif_ns(double ns) {
    return (int64_t)llround(ns);
}

static void set_whatif_known(ps_table *t, size_t column, double value) {
    if (!isnan(value)) {
        ps_table_set_real(t, column, value);
    }
}

/* "" is no text. */
static bool set_whatif_text(ps_table *t, size_t column, const char *text) {
    return text[0] == '\0' || ps_table_set_text(t, column, text);
}

/* --- the job ------------------------------------------------------------------------------------------------------- */

/* column, name, type, unit */
#define JOB_COLUMNS(X)                                                                             \
    X(J_STAGES, "stages", PS_COL_INT, PS_UNIT_COUNT)                                               \
    X(J_REPLICAS, "replicas", PS_COL_INT, PS_UNIT_COUNT)                                           \
    X(J_TP, "tp", PS_COL_INT, PS_UNIT_COUNT)                                                       \
    X(J_WORKERS, "workers", PS_COL_INT, PS_UNIT_COUNT)                                             \
    X(J_STEPS, "steps", PS_COL_INT, PS_UNIT_COUNT)                                                 \
    X(J_LEFT_OUT, "steps_left_out", PS_COL_INT, PS_UNIT_COUNT)                                     \
    X(J_WHY, "why_left_out", PS_COL_TEXT, PS_UNIT_NONE)                                            \
    X(J_CLOCKS, "clocks_apart", PS_COL_TEXT, PS_UNIT_NONE)                                         \
    X(J_EMPTY, "ops_without_time", PS_COL_INT, PS_UNIT_COUNT)                                      \
    X(J_FIRST_EMPTY, "first_without_time", PS_COL_TEXT, PS_UNIT_NONE)                              \
    X(J_HAS_COMM, "has_communication", PS_COL_INT, PS_UNIT_NONE)                                   \
    X(J_LAG, "lag", PS_COL_INT, PS_UNIT_NS)                                                        \
    X(J_EXPLAINS, "replay_explains_step", PS_COL_INT, PS_UNIT_NONE)                                \
    X(J_MEASURED, "measured", PS_COL_INT, PS_UNIT_NS)                                              \
    X(J_REAL, "no_delay", PS_COL_INT, PS_UNIT_NS)                                                  \
    X(J_IDEAL, "ideal", PS_COL_INT, PS_UNIT_NS)                                                    \
    X(J_SLOWDOWN, "slowdown", PS_COL_REAL, PS_UNIT_NONE)                                           \
    X(J_LAUNCH, "launch_slowdown", PS_COL_REAL, PS_UNIT_NONE)                                      \
    X(J_WASTE, "waste", PS_COL_REAL, PS_UNIT_PERCENT)                                              \
    X(J_M_S, "M_S", PS_COL_REAL, PS_UNIT_NONE)                                                     \
    X(J_M_W, "M_W", PS_COL_REAL, PS_UNIT_NONE)                                                     \
    X(J_LAST_ALONE, "last_stage_alone", PS_COL_INT, PS_UNIT_NS)                                    \
    X(J_LAST_WITHOUT, "last_stage_without", PS_COL_INT, PS_UNIT_NS)                                \
    X(J_WORST_ALONE, "workers_alone", PS_COL_INT, PS_UNIT_NS)                                      \
    X(J_WORST_WITHOUT, "workers_without", PS_COL_INT, PS_UNIT_NS)                                  \
    X(J_LENGTHS, "length_correlation", PS_COL_REAL, PS_UNIT_NONE)

enum {
#define X(column, text, of, measure) column,
    JOB_COLUMNS(X)
#undef X
        N_J
};

static const ps_column JOB[N_J] = {
#define X(column, text, of, measure) [column] = {.name = text, .type = of, .unit = measure},
    JOB_COLUMNS(X)
#undef X
};

static ps_table *make_job_table(const ps_whatif *w) {
    const ps_job_steps *js = w->js;
    ps_table *t = ps_table_new("whatif", "the job", JOB, N_J);
    if (t == NULL || !ps_table_add_row(t)) {
        ps_table_free(t);
        return NULL;
    }
    ps_table_set_int(t, J_STAGES, js->n_stages);
    ps_table_set_int(t, J_REPLICAS, js->n_replicas);
    ps_table_set_int(t, J_TP, js->n_tp);
    ps_table_set_int(t, J_WORKERS, (int64_t)js->n_workers);
    ps_table_set_int(t, J_STEPS, (int64_t)js->n_steps);
    ps_table_set_int(t, J_LEFT_OUT, (int64_t)js->n_left_out);
    ps_table_set_int(t, J_HAS_COMM, js->has_comm);
    ps_table_set_int(t, J_LAG, js->lag_ns);
    ps_table_set_int(t, J_EXPLAINS, ps_whatif_explains(w));
    ps_table_set_int(t, J_MEASURED, whole_whatif_ns(w->measured_ns));
    ps_table_set_int(t, J_REAL, whole_whatif_ns(w->real_ns));
    ps_table_set_int(t, J_IDEAL, whole_whatif_ns(w->ideal_ns));
    ps_table_set_real(t, J_SLOWDOWN, w->real_ns / w->ideal_ns);
    ps_table_set_real(t, J_LAUNCH, w->measured_ns / w->real_ns);
    double waste = 100 * (1 - w->ideal_ns / w->real_ns);
    /* An ideal step that is not shorter leaves none, but for rounding. */
    set_whatif_known(t, J_WASTE, waste > -0.05 ? fmax(waste, 0) : (double)NAN);
    set_whatif_known(t, J_M_S, ps_whatif_share(w, &w->last_stage));
    set_whatif_known(t, J_M_W, ps_whatif_share(w, &w->worst));
    ps_table_set_int(t, J_LAST_ALONE, whole_whatif_ns(w->last_stage.alone_ns));
    ps_table_set_int(t, J_LAST_WITHOUT, whole_whatif_ns(w->last_stage.without_ns));
    ps_table_set_int(t, J_WORST_ALONE, whole_whatif_ns(w->worst.alone_ns));
    ps_table_set_int(t, J_WORST_WITHOUT, whole_whatif_ns(w->worst.without_ns));
    set_whatif_known(t, J_LENGTHS, w->length_correlation);
    char first[160];
    ps_table_set_int(t, J_EMPTY, (int64_t)ps_job_empty_ops(js, first, sizeof first));
    if (!set_whatif_text(t, J_WHY, js->why_left_out) ||
        !set_whatif_text(t, J_CLOCKS, js->clocks_apart) ||
        !set_whatif_text(t, J_FIRST_EMPTY, first)) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}

/* --- its steps ----------------------------------------------------------------------------------------------------- */

enum { S_STEP, S_MEASURED, S_REAL, S_IDEAL, S_SLOWDOWN, N_S };

static const ps_column STEPS[N_S] = {
    [S_STEP] = {.name = "step", .type = PS_COL_INT},
    [S_MEASURED] = {.name = "measured", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_REAL] = {.name = "no_delay", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_IDEAL] = {.name = "ideal", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_SLOWDOWN] = {.name = "slowdown", .type = PS_COL_REAL},
};

static ps_table *make_steps_table(const ps_whatif *w) {
    const ps_job_steps *js = w->js;
    ps_table *t =
        ps_table_new("whatif_steps", "measured, without launch delays, ideal", STEPS, N_S);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < js->n_steps; i++) {
        ok = ps_table_add_row(t);
        if (ok) {
            if (js->steps[i].step != PS_FIRST_STEP) {
                ps_table_set_int(t, S_STEP, js->steps[i].step);
            }
            ps_table_set_int(t, S_MEASURED, js->steps[i].end_ns - js->steps[i].begin_ns);
            ps_table_set_int(t, S_REAL, w->step_real_ns[i]);
            ps_table_set_int(t, S_IDEAL, w->step_ideal_ns[i]);
            ps_table_set_real(t, S_SLOWDOWN,
                              (double)w->step_real_ns[i] / (double)w->step_ideal_ns[i]);
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

/* --- its parts ----------------------------------------------------------------------------------------------------- */

enum { P_PART, P_SLOWDOWN, P_SHARE, P_ALONE, P_WITHOUT, N_P };

/* Columns of a table of parts; the first names them. */
#define PARTS_CALLED(part, of)                                                                     \
    {                                                                                              \
        [P_PART] = {.name = part, .type = of},                                                     \
        [P_SLOWDOWN] = {.name = "slowdown", .type = PS_COL_REAL},                                  \
        [P_SHARE] = {.name = "share", .type = PS_COL_REAL},                                        \
        [P_ALONE] = {.name = "alone", .type = PS_COL_INT, .unit = PS_UNIT_NS},                     \
        [P_WITHOUT] = {.name = "without", .type = PS_COL_INT, .unit = PS_UNIT_NS},                 \
    }

static const ps_column KINDS[N_P] = PARTS_CALLED("kind", PS_COL_TEXT);
static const ps_column STAGES[N_P] = PARTS_CALLED("stage", PS_COL_INT);
static const ps_column REPLICAS[N_P] = PARTS_CALLED("replica", PS_COL_INT);

static bool put_part_row(ps_table *t, const ps_whatif *w, const ps_whatif_part *part) {
    if (!ps_table_add_row(t)) {
        return false;
    }
    ps_table_set_real(t, P_SLOWDOWN, ps_whatif_slowdown(w, part));
    set_whatif_known(t, P_SHARE, ps_whatif_share(w, part));
    ps_table_set_int(t, P_ALONE, whole_whatif_ns(part->alone_ns));
    ps_table_set_int(t, P_WITHOUT, whole_whatif_ns(part->without_ns));
    return true;
}

static int order_whatif_kinds(const void *x, const void *y, const ps_whatif *w) {
    const ps_whatif_part *a = &w->kinds[*(const size_t *)x];
    const ps_whatif_part *b = &w->kinds[*(const size_t *)y];
    return a->alone_ns > b->alone_ns ? -1 : a->alone_ns < b->alone_ns ? 1 : 0;
}

static ps_table *make_kinds_table(const ps_whatif *w) {
    ps_table *t = ps_table_new(
        "whatif_kinds",
        "kinds of ops, the slowest first: the step with one alone as measured, and with all but it",
        KINDS, N_P);
    size_t kinds[PS_N_WHATIF_KINDS];
    size_t n = 0;
    for (size_t k = 0; k < PS_N_WHATIF_KINDS; k++) {
        size_t at = n;
        if (!w->has_kind[k]) {
            continue;
        }
        for (; at > 0 && order_whatif_kinds(&k, &kinds[at - 1], w) < 0; at--) {
            kinds[at] = kinds[at - 1];
        }
        kinds[at] = k;
        n++;
    }
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = put_part_row(t, w, &w->kinds[kinds[i]]) &&
             ps_table_set_text(t, P_PART, ps_whatif_kind_name((ps_whatif_kind)kinds[i]));
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

static ps_table *make_places_table(const ps_whatif *w, const char *name, const char *title,
                                   const ps_column *columns, const ps_whatif_part *parts,
                                   int32_t n) {
    ps_table *t = ps_table_new(name, title, columns, N_P);
    bool ok = t != NULL;
    for (int32_t i = 0; ok && i < n; i++) {
        ok = put_part_row(t, w, &parts[i]);
        if (ok) {
            ps_table_set_int(t, P_PART, i);
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

enum { W_RANK, W_STAGE, W_REPLICA, W_TP, W_SLOWDOWN, W_WORST, N_W };

static const ps_column WORKERS[N_W] = {
    [W_RANK] = {.name = "rank", .type = PS_COL_INT},
    [W_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [W_REPLICA] = {.name = "replica", .type = PS_COL_INT},
    [W_TP] = {.name = "tp", .type = PS_COL_INT},
    [W_SLOWDOWN] = {.name = "slowdown", .type = PS_COL_REAL},
    [W_WORST] = {.name = "is_worst", .type = PS_COL_INT},
};

static ps_table *make_workers_table(const ps_whatif *w) {
    ps_table *t = ps_table_new("whatif_workers", "workers", WORKERS, N_W);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < w->js->n_workers; i++) {
        const ps_job_worker *at = &w->js->workers[i];
        ok = ps_table_add_row(t);
        if (ok) {
            ps_table_set_int(t, W_RANK, at->rank);
            ps_table_set_int(t, W_STAGE, at->stage);
            ps_table_set_int(t, W_REPLICA, at->replica);
            ps_table_set_int(t, W_TP, at->tp);
            ps_table_set_real(t, W_SLOWDOWN, ps_whatif_worker_slowdown(w, i));
            ps_table_set_int(t, W_WORST, w->is_worst[i]);
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

/* --- what was asked ------------------------------------------------------------------------------------------------ */

enum { A_QUESTION, A_STEP, A_GAIN, A_SHARE, N_A };

static const ps_column ANSWER[N_A] = {
    [A_QUESTION] = {.name = "question", .type = PS_COL_TEXT},
    [A_STEP] = {.name = "step", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [A_GAIN] = {.name = "gain", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [A_SHARE] = {.name = "gain share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};

static ps_table *put_answer(const ps_whatif *w, const ps_analysis_opts *opts, double step_ns) {
    ps_table *t = ps_table_new("whatif_answer", "what was asked", ANSWER, N_A);
    const char *texts[] = {opts->without, opts->scale, opts->set};
    static const char *const HEADS[] = {"without ", "scale ", "set "};
    char text[256];
    size_t n = 0;
    text[0] = '\0';
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        if (texts[i] != NULL && n < sizeof text) {
            int more = snprintf(text + n, sizeof text - n, "%s%s%s", n > 0 ? "; " : "", HEADS[i],
                                texts[i]);
            n += more > 0 ? (size_t)more : 0;
        }
    }
    if (t == NULL || !ps_table_add_row(t) || !ps_table_set_text(t, A_QUESTION, text)) {
        ps_table_free(t);
        return NULL;
    }
    ps_table_set_int(t, A_STEP, whole_whatif_ns(step_ns));
    ps_table_set_int(t, A_GAIN, whole_whatif_ns(w->real_ns - step_ns));
    ps_table_set_real(t, A_SHARE, 100 * (w->real_ns - step_ns) / w->real_ns);
    return t;
}

static bool is_asked(const ps_analysis_opts *opts) {
    return opts->without != NULL || opts->scale != NULL || opts->set != NULL;
}

static ps_code add_answer(const ps_whatif *w, const ps_analysis_opts *opts,
                          const ps_job_question *q, ps_result *result, ps_err *err) {
    double step_ns = 0;
    ps_code code = ps_job_ask(w->js, w->ideal_of, q, &step_ns, NULL, err);
    if (code != PS_OK) {
        return code;
    }
    ps_table *t = put_answer(w, opts, step_ns);
    return t != NULL ? ps_result_add(result, t, err) : ps_fail_nomem(err);
}

static ps_code add_timeline(const ps_whatif *w, const ps_job_question *q, ps_result *result,
                            ps_err *err) {
    ps_table *t = ps_whatif_timeline(w->js, w->ideal_of, q, err);
    return t != NULL ? ps_result_add(result, t, err) : err->code;
}

/* What the user asked, and the timeline of that or of the ideal steps. `err` is wanted. */
static ps_code answer_question(const ps_whatif *w, const ps_analysis_opts *opts, ps_result *result,
                               ps_err *err) {
    ps_question asked;
    ps_code code = ps_question_read(opts->without, opts->scale, opts->set, w->js, &asked, err);
    const ps_job_question q = {.parts = asked.without,
                               .n_parts = asked.n_without,
                               .inverted = is_asked(opts),
                               .scaled = asked.scaled,
                               .n_scaled = asked.n_scaled};
    code = code == PS_OK && is_asked(opts) ? add_answer(w, opts, &q, result, err) : code;
    code = code == PS_OK && opts->with_timeline ? add_timeline(w, &q, result, err) : code;
    ps_question_fini(&asked);
    return code;
}

/* --- all of them --------------------------------------------------------------------------------------------------- */

static ps_code add_whatif_figures(const ps_whatif *w, ps_result *result, ps_err *err) {
    ps_table *tables[] = {
        make_job_table(w),
        make_steps_table(w),
        make_kinds_table(w),
        make_places_table(w, "whatif_stages",
                          "stages: the step with one alone as measured, and with all but it",
                          STAGES, w->stages, w->js->n_stages),
        make_places_table(w, "whatif_replicas",
                          "replicas: the step with one alone as measured, and with all but it",
                          REPLICAS, w->replicas, w->js->n_replicas),
        make_workers_table(w),
    };
    ps_code code = PS_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (code == PS_OK && tables[i] != NULL) {
            tables[i]->to = PS_TO_DB | PS_TO_FILES;
            code = ps_result_add(result, tables[i], err);
        } else {
            ps_table_free(tables[i]);
            code = code == PS_OK ? ps_fail_nomem(err) : code;
        }
    }
    return code;
}

static ps_code add_made_table(ps_result *result, ps_table *t, ps_err *err) {
    if (t == NULL) {
        return err != NULL && err->code != PS_OK ? err->code : PS_NOMEM;
    }
    t->to = PS_TO_ALL;
    return ps_result_add(result, t, err);
}

ps_code ps_whatif_add_tables(const ps_job_steps *js, const ps_chart *chart,
                             const ps_analysis_opts *opts, ps_result *result, ps_err *err) {
    if (opts->split != NULL) {
        return ps_split_plan_add_tables(js, chart, opts, result, err);
    }
    ps_whatif w;
    ps_err here = PS_ERR_INIT;
    ps_code code = ps_whatif_measure(js, &w, &here);
    w.lang = opts->lang;
    code = code == PS_OK ? add_whatif_figures(&w, result, &here) : code;
    code = code == PS_OK
               ? add_made_table(result, ps_whatif_causes(&w, opts->cause_thresholds, &here), &here)
               : code;
    code = code == PS_OK ? add_made_table(result, ps_whatif_repairs(&w, &here), &here) : code;
    code = code == PS_OK ? answer_question(&w, opts, result, &here) : code;
    ps_whatif_fini(&w);
    if (code != PS_OK && err != NULL) {
        *err = here;
    }
    return code;
}

ps_code ps_whatif_of_chart(const ps_chart *chart, const ps_analysis_opts *opts, ps_result *result,
                           ps_err *err) {
    ps_job_steps js;
    ps_code code = ps_chart_steps_make(chart, &js, err);
    js.watch = opts->watch;
    code = code == PS_OK ? ps_whatif_add_tables(&js, chart, opts, result, err) : code;
    ps_job_steps_fini(&js);
    return code;
}

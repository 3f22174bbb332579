#include "analyze/whatif/schedule_plan_tables.h"

#include <math.h>
#include <stdio.h>

#include "analyze/whatif/plan_lines.h"

/* column, name, type, unit, name on the terminal */
#define SCHEDULE_COLUMNS(X)                                                                        \
    X(R_NUMBER, "number", PS_COL_INT, PS_UNIT_NONE, "no.")                                         \
    X(R_SCHEDULE, "schedule", PS_COL_TEXT, PS_UNIT_NONE, NULL)                                     \
    X(R_CHUNKS, "chunks", PS_COL_INT, PS_UNIT_NONE, NULL)                                          \
    X(R_MICROBATCHES, "microbatches", PS_COL_INT, PS_UNIT_COUNT, NULL)                             \
    X(R_LAYERS, "layers", PS_COL_TEXT, PS_UNIT_NONE, NULL)                                         \
    X(R_STEP, "step", PS_COL_INT, PS_UNIT_NS, NULL)                                                \
    X(R_GAIN, "gain", PS_COL_INT, PS_UNIT_NS, NULL)                                                \
    X(R_SHARE, "gain_share", PS_COL_REAL, PS_UNIT_PERCENT, "gain")                                 \
    X(R_ACTIVATIONS, "activations", PS_COL_REAL, PS_UNIT_NONE, NULL)                               \
    X(R_HELD, "layers_held", PS_COL_INT, PS_UNIT_NONE, "held")                                     \
    X(R_BYTES, "memory", PS_COL_INT, PS_UNIT_BYTES, NULL)                                          \
    X(R_WEIGHTS, "weights", PS_COL_INT, PS_UNIT_NONE, NULL)                                        \
    X(R_BEATEN, "beaten_by", PS_COL_INT, PS_UNIT_NONE, NULL)                                       \
    X(R_PROVEN, "proven", PS_COL_INT, PS_UNIT_NONE, NULL)                                          \
    X(R_TRIED, "splits_simulated", PS_COL_INT, PS_UNIT_COUNT, NULL)

enum {
#define X(column, text, of, measure, shown_as) column,
    SCHEDULE_COLUMNS(X)
#undef X
        N_R
};

static const ps_column SCHEDULES[N_R] = {
#define X(column, text, of, measure, shown_as)                                                     \
    [column] = {.name = text, .type = of, .unit = measure, .shown = shown_as},
    SCHEDULE_COLUMNS(X)
#undef X
};

enum {
    S_NUMBER,
    S_STAGE,
    S_LAYERS,
    S_BUSY,
    S_HELD,
    S_BYTES,
    N_S
}; /* bytes only where they are known */

static const ps_column STAGES[N_S] = {
    [S_NUMBER] = {.name = "number", .type = PS_COL_INT, .shown = "no."},
    [S_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [S_LAYERS] = {.name = "layers", .type = PS_COL_TEXT},
    [S_BUSY] = {.name = "microbatch", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_HELD] = {.name = "layers_held", .type = PS_COL_INT, .shown = "held"},
    [S_BYTES] = {.name = "memory", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
};

/* What ran has number 0, plans count from 1. */
static int64_t number_of(const ps_schedule_plans *s, size_t row) {
    return (int64_t)row + (s->n > 0 && s->rows[0].is_now ? 0 : 1);
}

int64_t ps_schedule_plans_number(const ps_schedule_plans *s, const ps_schedule_plan *plan) {
    return plan != NULL ? number_of(s, (size_t)(plan - s->rows)) : 0;
}

static bool knows_bytes(const ps_schedule_plans *s) {
    return s->limits.activation_bytes > 0 || s->limits.layer_bytes > 0;
}

static bool put_schedule_plan(ps_table *t, const ps_schedule_plans *s, size_t row, double now_ns) {
    const ps_schedule_plan *p = &s->rows[row];
    ps_buf layers;
    ps_buf_init(&layers, 0);
    ps_plan_list(p->layers, p->n_pieces, &layers);
    bool ok = ps_buf_ok(&layers) && ps_table_add_row(t) &&
              ps_table_set_text(t, R_LAYERS, ps_buf_str(&layers)) &&
              (p->schedule == NULL || ps_table_set_text(t, R_SCHEDULE, p->schedule->name));
    ps_buf_fini(&layers);
    if (!ok) {
        return false;
    }
    ps_table_set_int(t, R_NUMBER, number_of(s, row));
    ps_table_set_int(t, R_CHUNKS, p->n_chunks);
    ps_table_set_int(t, R_MICROBATCHES, p->params.n_microbatches);
    ps_table_set_int(t, R_STEP, (int64_t)llround(p->step_ns));
    ps_table_set_int(t, R_GAIN, (int64_t)llround(now_ns - p->step_ns));
    ps_table_set_real(t, R_SHARE, now_ns > 0 ? 100 * (1 - p->step_ns / now_ns) : 0);
    ps_table_set_real(t, R_ACTIVATIONS, p->activations);
    ps_table_set_int(t, R_HELD, p->peak_layers);
    ps_table_set_int(t, R_WEIGHTS, p->n_ways);
    if (knows_bytes(s)) {
        ps_table_set_int(t, R_BYTES, p->bytes);
    }
    if (p->beaten_by > 0) {
        ps_table_set_int(t, R_BEATEN, number_of(s, p->beaten_by - 1));
    }
    if (!p->is_now) {
        ps_table_set_int(t, R_PROVEN, p->is_proven);
        ps_table_set_int(t, R_TRIED, (int64_t)p->n_tried);
    }
    return true;
}

static ps_table *make_schedules_table(const ps_schedule_plans *s) {
    ps_table *t =
        ps_table_new("plan_schedules",
                     "the best split for each schedule: those that can be pasted first, by step",
                     SCHEDULES, N_R);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < s->n; i++) {
        ok = put_schedule_plan(t, s, i, s->now_ns);
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

/* Layers of a stage's chunks: "4+3". */
static bool set_stage_layers(ps_table *t, const ps_schedule_plan *p, int32_t stage) {
    ps_buf text;
    ps_buf_init(&text, 0);
    for (int32_t c = 0; c < p->n_chunks; c++) {
        int32_t piece = p->schedule->logical_stage(&p->params, stage, c) % p->n_pieces;
        ps_buf_addf(&text, "%s%d", c > 0 ? "+" : "", (int)p->layers[piece]);
    }
    bool ok = ps_buf_ok(&text) && ps_table_set_text(t, S_LAYERS, ps_buf_str(&text));
    ps_buf_fini(&text);
    return ok;
}

static ps_table *make_schedule_stages_table(const ps_schedule_plans *s, size_t row) {
    const ps_schedule_plan *p = &s->rows[row];
    char title[96];
    (void)snprintf(title, sizeof title, "stages of plan %lld: %s", (long long)number_of(s, row),
                   p->schedule->name);
    ps_table *t =
        ps_table_new("plan_schedule_stages", title, STAGES, knows_bytes(s) ? N_S : S_BYTES);
    bool ok = t != NULL;
    for (int32_t d = 0; ok && d < p->params.n_stages; d++) {
        ok = ps_table_add_row(t) && set_stage_layers(t, p, d);
        if (ok) {
            ps_table_set_int(t, S_NUMBER, number_of(s, row));
            ps_table_set_int(t, S_STAGE, d);
            ps_table_set_int(t, S_BUSY, p->busy_ns[d]);
            ps_table_set_int(t, S_HELD, p->devices[d].peak_layers);
            if (knows_bytes(s)) {
                ps_table_set_int(t, S_BYTES, p->devices[d].bytes);
            }
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

enum { L_NUMBER, L_FRAMEWORK, L_LINE, N_L };

static const ps_column LINES[N_L] = {
    [L_NUMBER] = {.name = "number", .type = PS_COL_INT, .shown = "no."},
    [L_FRAMEWORK] = {.name = "framework", .type = PS_COL_TEXT},
    [L_LINE] = {.name = "line", .type = PS_COL_TEXT},
};

/* No row where no framework runs it. */
static ps_table *make_lines_table(const ps_schedule_plans *s, size_t row) {
    const ps_schedule_plan *p = &s->rows[row];
    const ps_plan_line_ask ask = {p->schedule, p->params, p->layers, p->n_pieces};
    ps_table *t = ps_table_new("plan_schedule_lines", "to paste for that plan", LINES, N_L);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < PS_N_PLAN_FRAMEWORKS; i++) {
        ps_buf text;
        ps_buf_init(&text, 0);
        PS_PLAN_FRAMEWORKS[i].write(&ask, &text);
        ok = ps_buf_ok(&text);
        if (ok && text.len > 0) {
            ok = ps_table_add_row(t) &&
                 ps_table_set_text(t, L_FRAMEWORK, PS_PLAN_FRAMEWORKS[i].name) &&
                 ps_table_set_text(t, L_LINE, ps_buf_str(&text));
        }
        if (ok && text.len > 0) {
            ps_table_set_int(t, L_NUMBER, number_of(s, row));
        }
        ps_buf_fini(&text);
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

static ps_code add_or_fail(ps_result *result, ps_table *t, ps_err *err) {
    return t != NULL ? ps_result_add(result, t, err) : ps_fail_nomem(err);
}

/* The row that is shown in full. */
static ps_code find_wanted(const ps_schedule_plans *s, int64_t wanted, size_t *row, ps_err *err) {
    int64_t first = s->n > 0 ? number_of(s, 0) : 1;
    int64_t last = first + (int64_t)s->n - 1;
    int64_t number = wanted > 0 ? wanted : 1;
    if (wanted > last) {
        return ps_fail_said(err, PS_USAGE, "--row %lld: there are %lld plans",
                            "--row %lld：共有 %lld 个方案", (long long)wanted,
                            (long long)(last > 0 ? last : 0));
    }
    *row = last >= number ? (size_t)(number - first) : SIZE_MAX;
    return PS_OK;
}

ps_code ps_schedule_plans_add_tables(ps_schedule_plans *plans, int64_t wanted, bool with_chart,
                                     ps_result *result, ps_err *err) {
    size_t row = SIZE_MAX;
    ps_code code = find_wanted(plans, wanted, &row, err);
    code = code == PS_OK ? add_or_fail(result, make_schedules_table(plans), err) : code;
    if (code == PS_OK && row != SIZE_MAX) {
        code = add_or_fail(result, make_schedule_stages_table(plans, row), err);
        code = code == PS_OK ? add_or_fail(result, make_lines_table(plans, row), err) : code;
    }
    if (code == PS_OK && row != SIZE_MAX && with_chart) {
        result->against = ps_schedule_plan_chart(plans, row, err);
        code = result->against != NULL ? PS_OK : PS_NOMEM;
    }
    if (code == PS_OK && plans->left_out->n_rows > 0) {
        ps_table *t = plans->left_out;
        plans->left_out = NULL;
        code = ps_result_add(result, t, err);
    }
    return code;
}

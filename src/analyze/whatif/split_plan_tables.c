#include "analyze/whatif/split_plan_tables.h"

#include <math.h>

void ps_split_plan_layout(const int32_t *layers, int32_t n_stages, ps_buf *out) {
    for (int32_t s = 0; s < n_stages; s++) {
        ps_buf_add_str(out, s == 0 ? "E" : "|");
        if (layers[s] == 1) {
            ps_buf_add_char(out, 't');
        } else if (layers[s] > 1) {
            ps_buf_addf(out, "t*%d", (int)layers[s]);
        }
    }
    ps_buf_add_char(out, 'L');
}

void ps_split_plan_list(const int32_t *layers, int32_t n_stages, ps_buf *out) {
    for (int32_t s = 0; s < n_stages; s++) {
        ps_buf_addf(out, "%s%d", s > 0 ? "," : "", (int)layers[s]);
    }
}

/* Names of the first layer of each stage but the first, for a model whose layers are called "layers.N". */
static void add_split_points(const ps_split_plan *p, ps_buf *out) {
    int32_t layer = 0;
    for (int32_t s = 0; s + 1 < p->n_stages; s++) {
        layer += p->best[s];
        ps_buf_addf(out, "%slayers.%d", s > 0 ? "," : "", (int)layer);
    }
}

/* column, name, type, unit */
#define PLAN_COLUMNS(X)                                                                            \
    X(P_STAGES, "stages", PS_COL_INT, PS_UNIT_COUNT)                                               \
    X(P_LAYERS, "layers", PS_COL_INT, PS_UNIT_COUNT)                                               \
    X(P_LAYER, "layer", PS_COL_INT, PS_UNIT_NS)                                                    \
    X(P_FIRST, "first_stage_more", PS_COL_INT, PS_UNIT_NS)                                         \
    X(P_LAST, "last_stage_more", PS_COL_INT, PS_UNIT_NS)                                           \
    X(P_SPREAD, "spread_of_layers", PS_COL_REAL, PS_UNIT_PERCENT)                                  \
    X(P_REAL, "step_replayed", PS_COL_INT, PS_UNIT_NS)                                             \
    X(P_NOW, "step_now", PS_COL_INT, PS_UNIT_NS)                                                   \
    X(P_THEN, "step_planned", PS_COL_INT, PS_UNIT_NS)                                              \
    X(P_GAIN, "gain share", PS_COL_REAL, PS_UNIT_PERCENT)                                          \
    X(P_TRIED, "splits_simulated", PS_COL_INT, PS_UNIT_COUNT)                                      \
    X(P_ALL, "all_splits_simulated", PS_COL_INT, PS_UNIT_NONE)                                     \
    X(P_LAYOUT, "pipeline_model_parallel_layout", PS_COL_TEXT, PS_UNIT_NONE)                       \
    X(P_LIST, "num_layer_list", PS_COL_TEXT, PS_UNIT_NONE)                                         \
    X(P_POINTS, "split_points", PS_COL_TEXT, PS_UNIT_NONE)

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

/* Lines to paste are of stages with one chunk: how layers lie on several is not measured. */
static bool put_plan_lines(ps_table *t, const ps_split_plan *p) {
    static void (*const WRITE[])(const int32_t *, int32_t, ps_buf *) = {ps_split_plan_layout,
                                                                        ps_split_plan_list};
    bool ok = true;
    for (size_t i = 0; i < 3; i++) {
        ps_buf text;
        ps_buf_init(&text, 0);
        if (i < 2) {
            WRITE[i](p->best, p->n_stages, &text);
        } else {
            add_split_points(p, &text);
        }
        ok = ok && ps_buf_ok(&text) && ps_table_set_text(t, P_LAYOUT + i, ps_buf_str(&text));
        ps_buf_fini(&text);
    }
    return ok;
}

static ps_table *make_plan_table(const ps_split_plan *p) {
    ps_table *t = ps_table_new("plan", "the plan", PLAN, N_P);
    if (t == NULL || !ps_table_add_row(t)) {
        ps_table_free(t);
        return NULL;
    }
    ps_table_set_int(t, P_STAGES, p->n_stages);
    ps_table_set_int(t, P_LAYERS, p->n_layers);
    ps_table_set_int(t, P_LAYER, whole_plan_ns(p->layer_ns));
    ps_table_set_int(t, P_FIRST, whole_plan_ns(p->first_ns));
    ps_table_set_int(t, P_LAST, whole_plan_ns(p->last_ns));
    ps_table_set_real(t, P_SPREAD, 100 * p->spread);
    ps_table_set_int(t, P_REAL, whole_plan_ns(p->real_ns));
    ps_table_set_int(t, P_NOW, whole_plan_ns(p->now_ns));
    ps_table_set_int(t, P_THEN, whole_plan_ns(p->best_ns));
    ps_table_set_real(t, P_GAIN, 100 * (1 - p->best_ns / p->now_ns));
    ps_table_set_int(t, P_TRIED, (int64_t)p->n_tried);
    ps_table_set_int(t, P_ALL, p->is_exhaustive);
    if (p->n_chunks == 1 && !put_plan_lines(t, p)) {
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
            ps_table_set_int(t, S_PLAN_NS,
                             whole_plan_ns(p->stage_ns[s] +
                                           ps_split_plan_stage_ns(p, s, p->best[s]) -
                                           ps_split_plan_stage_ns(p, s, p->now[s])));
        }
    }
    if (!ok) {
        ps_table_free(t);
    }
    return ok ? t : NULL;
}

ps_code ps_split_plan_add_tables(const ps_job_steps *js, const char *split, int32_t most_layers,
                                 ps_result *result, ps_err *err) {
    ps_split_plan p;
    ps_code code = ps_split_plan_make(js, split, most_layers, &p, err);
    ps_table *plan = code == PS_OK ? make_plan_table(&p) : NULL;
    ps_table *stages = code == PS_OK ? make_plan_stages_table(&p) : NULL;
    if (code == PS_OK && (plan == NULL || stages == NULL)) {
        ps_table_free(plan);
        ps_table_free(stages);
        return ps_fail_nomem(err);
    }
    code = code == PS_OK ? ps_result_add(result, plan, err) : code;
    if (code == PS_OK) {
        code = ps_result_add(result, stages, err);
    } else {
        ps_table_free(stages);
    }
    return code;
}

/* The figures of bubble.h as tables. */
#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "base/num.h"

/* In percent, of sums over stages; 0 of nothing. */
static double bubble_share(double part, double whole) {
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

enum { MAX_COLUMNS = 16 };
#define NOT_SHOWN SIZE_MAX

typedef struct int_value {
    int column;
    int64_t value;
} int_value;

/* A table without the columns that say nothing of this chart. */
typedef struct shown_table {
    ps_table *table;        /* NULL: memory is out */
    size_t at[MAX_COLUMNS]; /* of each column of the list, NOT_SHOWN */
} shown_table;

/* Times of several clocks as they are: what a stage seems to wait holds what the clocks differ by, which the title says. */
static bool has_offsets_left(const ps_chart *c) {
    bool any = false;
    for (size_t r = 0; r < c->n_ranks; r++) {
        const ps_chart_rank *rank = &c->ranks[r];
        any = any || (rank->has_clock && !rank->clock_is_taken_off && rank->clock_offset_ns != 0);
    }
    return any;
}

#define OFFSETS_LEFT ", clock offsets not taken off (--align)"

static bool has_pipelines(const ps_chart *chart) {
    bool any = false;
    for (size_t i = 0; i < chart->n_ranks; i++) {
        any = any || chart->ranks[i].pipeline != chart->ranks[0].pipeline;
    }
    return any;
}

static shown_table new_bubble_table(const ps_chart *chart, const char *name, const char *title,
                                    const ps_column *columns, size_t n, const bool *left_out) {
    shown_table out = {.table = ps_table_new(name, title, columns, 0)};
    ps_arena *arena = out.table != NULL ? &out.table->arena : NULL;
    ps_column *shown = arena != NULL ? ps_arena_alloc(arena, n * sizeof *shown) : NULL;
    ps_same_column *same = shown != NULL ? ps_arena_alloc(arena, sizeof *same) : NULL;
    if (same == NULL) {
        ps_table_free(out.table);
        out.table = NULL;
        return out;
    }
    for (size_t i = 0; i < n; i++) {
        out.at[i] = left_out[i] ? NOT_SHOWN : out.table->n_columns;
        if (!left_out[i]) {
            shown[out.table->n_columns++] = columns[i];
        }
    }
    out.table->columns = shown;
    if (chart->n_ranks > 0 && !has_pipelines(chart)) {
        *same = (ps_same_column){"pipeline", chart->ranks[0].pipeline};
        out.table->same = same;
        out.table->n_same = 1;
    }
    return out;
}

static void set_int(const shown_table *t, int column, int64_t value) {
    if (t->at[column] != NOT_SHOWN) {
        ps_table_set_int(t->table, t->at[column], value);
    }
}

/* Empty for what lies outside of all steps. */
static void set_step(const shown_table *t, int column, int64_t step) {
    if (step != PS_FIRST_STEP) {
        set_int(t, column, step);
    }
}

static void set_bubble_real(const shown_table *t, int column, double value) {
    if (t->at[column] != NOT_SHOWN) {
        ps_table_set_real(t->table, t->at[column], value);
    }
}

static void set_ints(const shown_table *t, const int_value *values, size_t n) {
    for (size_t i = 0; i < n; i++) {
        set_int(t, values[i].column, values[i].value);
    }
}

static bool has_work(const ps_chart *chart) {
    bool any = false;
    for (size_t i = 0; i < chart->n_ranks; i++) {
        any = any || chart->ranks[i].has_work;
    }
    return any;
}

static bool has_unmarked(const ps_bubble_report *r) {
    bool any = false;
    for (size_t i = 0; i < r->n_stages; i++) {
        any = any || r->stages[i].unmarked_ns > 0;
    }
    return any;
}

static bool has_overlapped(const ps_bubble_report *r) {
    bool any = false;
    for (size_t i = 0; i < r->n_stages; i++) {
        any = any || r->stages[i].overlapped_ns > 0;
    }
    return any;
}

enum {
    B_STEP,
    B_PIPELINE,
    B_STAGE,
    B_RANK,
    B_BUSY,
    B_OVERLAPPED, /* only where any forward runs beside a backward */
    B_BUBBLE,
    B_RATIO,
    B_WARMUP,
    B_STALL,
    B_COOLDOWN,
    B_OWN_RATIO,
    B_UNMARKED, /* only where any op lacks its mark and no device is known */
    B_OTHER,    /* with B_UNEXPLAINED only where what some device did is known */
    B_UNEXPLAINED,
    N_B
};

static const ps_column STAGE_COLUMNS[N_B] = {
    [B_STEP] = {.name = "step", .type = PS_COL_INT},
    [B_PIPELINE] = {.name = "pipeline", .type = PS_COL_INT, .is_member = true},
    [B_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [B_RANK] = {.name = "rank", .type = PS_COL_INT, .is_member = true},
    [B_BUSY] = {.name = "busy", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_OVERLAPPED] = {.name = "overlapped", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [B_BUBBLE] = {.name = "bubble", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_RATIO] = {.name = "idle", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [B_WARMUP] = {.name = "warm-up", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_STALL] = {.name = "stall", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_COOLDOWN] = {.name = "cool-down", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_OWN_RATIO] = {.name = "own", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [B_UNMARKED] = {.name = "without marks", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_OTHER] = {.name = "other work", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [B_UNEXPLAINED] = {.name = "unexplained", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};

ps_table *ps_bubble_stage_table(const ps_chart *chart, const ps_bubble_report *r) {
    const bool left_out[N_B] = {[B_PIPELINE] = !has_pipelines(chart),
                                [B_OVERLAPPED] = !has_overlapped(r),
                                [B_UNMARKED] = !has_unmarked(r),
                                [B_OTHER] = !has_work(chart),
                                [B_UNEXPLAINED] = !has_work(chart)};
    shown_table t = new_bubble_table(chart, "PipelineBubble",
                                     has_offsets_left(chart) ? "bubble of each stage" OFFSETS_LEFT
                                                             : "bubble of each stage",
                                     STAGE_COLUMNS, N_B, left_out);
    for (size_t i = 0; t.table != NULL && i < r->n_stages; i++) {
        const ps_stage_bubble *s = &r->stages[i];
        const ps_chart_rank *rank = &chart->ranks[s->rank];
        if (!ps_table_add_row(t.table)) {
            ps_table_free(t.table);
            return NULL;
        }
        int64_t own_ns = s->last_ns - s->first_ns;
        const int_value values[] = {{B_PIPELINE, rank->pipeline},
                                    {B_STAGE, rank->stage},
                                    {B_RANK, rank->rank},
                                    {B_BUSY, s->busy_ns}};
        const int_value bubble[] = {{B_BUBBLE, s->bubble_ns},
                                    {B_WARMUP, s->warmup_ns},
                                    {B_STALL, s->stall_ns},
                                    {B_COOLDOWN, s->cooldown_ns},
                                    {B_UNMARKED, s->unmarked_ns}};
        set_step(&t, B_STEP, s->step);
        set_ints(&t, values, sizeof values / sizeof *values);
        set_bubble_real(&t, B_OVERLAPPED, ps_percent(s->overlapped_ns, s->busy_ns));
        if (rank->has_work) {
            set_int(&t, B_OTHER, s->other_ns);
            set_bubble_real(&t, B_UNEXPLAINED, ps_percent(s->other_ns, s->work_ns));
        }
        if (s->is_judged) {
            set_ints(&t, bubble, sizeof bubble / sizeof *bubble);
            set_bubble_real(&t, B_RATIO, ps_percent(s->bubble_ns, s->step_ns));
            set_bubble_real(&t, B_OWN_RATIO, ps_percent(s->stall_ns, own_ns));
        }
    }
    return t.table;
}

enum {
    W_STEP,
    W_PIPELINE,
    W_STAGE,
    W_FOR_STAGE,
    W_WAITS,
    W_WAITS_NS,
    W_TRANSFER,
    W_OTHER,
    W_ABSENT, /* only where of some step not all is known */
    W_CRITICAL,
    W_SHARE,
    N_W
};

static const ps_column WAIT_COLUMNS[N_W] = {
    [W_STEP] = {.name = "step", .type = PS_COL_INT},
    [W_PIPELINE] = {.name = "pipeline", .type = PS_COL_INT, .is_member = true},
    [W_STAGE] = {.name = "stage", .type = PS_COL_INT},
    [W_FOR_STAGE] = {.name = "for stages", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [W_WAITS] = {.name = "most for", .type = PS_COL_INT},
    [W_WAITS_NS] = {.name = "of it", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [W_TRANSFER] = {.name = "for transfer", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [W_OTHER] = {.name = "other", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [W_ABSENT] = {.name = "not known", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [W_CRITICAL] = {.name = "on path", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [W_SHARE] = {.name = "path", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};

static bool has_part_known(const ps_bubble_report *r) {
    bool any = false;
    for (size_t i = 0; i < r->n_steps; i++) {
        any = any || r->steps[i].is_part_known;
    }
    for (size_t i = 0; i < r->n_stages; i++) {
        any = any || r->stages[i].stall_absent_ns > 0;
    }
    return any;
}

ps_table *ps_bubble_wait_table(const ps_chart *chart, const ps_bubble_report *r) {
    const bool left_out[N_W] = {
        [W_PIPELINE] = !has_pipelines(chart), [W_ABSENT] = !has_part_known(r)};
    const ps_step_bubble *step = r->steps;
    shown_table t = new_bubble_table(
        chart, "PipelineWaits",
        has_offsets_left(chart)
            ? "what stalls waited for, time on the path" OFFSETS_LEFT
            : "what the stalls of each stage waited for, and its computing on the critical path",
        WAIT_COLUMNS, N_W, left_out);
    for (size_t i = 0; t.table != NULL && i < r->n_stages; i++) {
        const ps_stage_bubble *s = &r->stages[i];
        const ps_chart_rank *rank = &chart->ranks[s->rank];
        if (!ps_table_add_row(t.table)) {
            ps_table_free(t.table);
            return NULL;
        }
        const int_value values[] = {{W_PIPELINE, rank->pipeline}, {W_STAGE, rank->stage}};
        const int_value waited[] = {{W_FOR_STAGE, s->stall_stage_ns},
                                    {W_TRANSFER, s->stall_transfer_ns},
                                    {W_OTHER, s->stall_other_ns},
                                    {W_ABSENT, s->stall_absent_ns}};
        step += i == step->first_stage + step->n_stages;
        set_step(&t, W_STEP, s->step);
        set_ints(&t, values, sizeof values / sizeof *values);
        if (!s->is_judged || !r->is_linked) {
            continue;
        }
        set_ints(&t, waited, sizeof waited / sizeof *waited);
        if (!step->is_part_known) { /* else the path may lead through what is not here */
            set_int(&t, W_CRITICAL, s->critical_ns);
            set_bubble_real(&t, W_SHARE, ps_percent(s->critical_ns, s->step_ns));
        }
        if (s->waits_for_stage >= 0) {
            set_int(&t, W_WAITS, s->waits_for_stage);
            set_int(&t, W_WAITS_NS, s->waits_for_ns);
        }
    }
    return t.table;
}

enum {
    T_STEP,
    T_PIPELINE,
    T_TIME,
    T_BUBBLE,
    T_IDEAL,
    T_SLOWEST,
    T_SLOWEST_BUSY,
    T_IMBALANCE,
    T_COMPUTE,
    T_WAIT,
    T_FEWER, /* only where a step has fewer ops than another */
    N_T
};

static const ps_column STEP_COLUMNS[N_T] = {
    [T_STEP] = {.name = "step", .type = PS_COL_INT},
    [T_PIPELINE] = {.name = "pipeline", .type = PS_COL_INT, .is_member = true},
    [T_TIME] = {.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_BUBBLE] = {.name = "bubble", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [T_IDEAL] = {.name = "ideal", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [T_SLOWEST] = {.name = "slowest", .type = PS_COL_INT},
    [T_SLOWEST_BUSY] = {.name = "its busy", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_IMBALANCE] = {.name = "imbalance", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    [T_COMPUTE] = {.name = "computing", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_WAIT] = {.name = "waiting", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [T_FEWER] = {.name = "fewer ops", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
};

static bool has_part_steps(const ps_bubble_report *r) {
    bool any = false;
    for (size_t i = 0; i < r->n_steps; i++) {
        any = any || r->steps[i].n_fewer > 0;
    }
    return any;
}

ps_table *ps_bubble_step_table(const ps_chart *chart, const ps_bubble_report *r) {
    const bool left_out[N_T] = {[T_PIPELINE] = !has_pipelines(chart),
                                [T_IDEAL] = r->ideal_percent < 0,
                                [T_FEWER] = !has_part_steps(r)};
    shown_table t = new_bubble_table(
        chart, "PipelineStep",
        has_offsets_left(chart)
            ? "each pipeline's step, waiting on its critical path" OFFSETS_LEFT
            : "each pipeline's step, its slowest stage, and computing and waiting on the critical path",
        STEP_COLUMNS, N_T, left_out);
    for (size_t i = 0; t.table != NULL && i < r->n_steps; i++) {
        const ps_step_bubble *s = &r->steps[i];
        double busy = 0; /* sums over stages may leave 64 bits */
        double other = 0;
        double all = (double)s->step_ns * (double)s->n_stages;
        int64_t most = 0;
        for (size_t k = s->first_stage; k < s->first_stage + s->n_stages; k++) {
            busy += (double)r->stages[k].busy_ns;
            other += (double)r->stages[k].other_ns;
            most = r->stages[k].busy_ns > most ? r->stages[k].busy_ns : most;
        }
        if (!ps_table_add_row(t.table)) {
            ps_table_free(t.table);
            return NULL;
        }
        set_step(&t, T_STEP, s->step);
        set_int(&t, T_PIPELINE, s->pipeline);
        set_int(&t, T_TIME, s->step_ns);
        if (s->is_judged) {
            set_bubble_real(&t, T_BUBBLE, 100.0 - bubble_share(busy + other, all));
            if (s->n_more == 0) { /* else it is another schedule's */
                set_bubble_real(&t, T_IDEAL, r->ideal_percent);
            }
        }
        if (s->is_judged && r->is_linked && !s->is_part_known) {
            set_int(&t, T_COMPUTE, s->critical_compute_ns);
            set_int(&t, T_WAIT, s->critical_wait_ns);
        }
        set_int(&t, T_FEWER, (int64_t)s->n_fewer);
        set_int(&t, T_SLOWEST, chart->ranks[s->slowest].stage);
        set_int(&t, T_SLOWEST_BUSY, most);
        set_bubble_real(&t, T_IMBALANCE,
                        bubble_share((double)most * (double)s->n_stages - busy, busy));
    }
    return t.table;
}

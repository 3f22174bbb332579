/* compare: two captures of the same model side by side, per step and rank: the parts of a step, then kernels, operators,
 * communication and calls by name, what lost most time first. Steps are matched by their order, since their numbers
 * differ between runs. The baseline's side comes from capture_facts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/modes/capture_facts.h"
#include "base/alloc.h"
#include "base/num.h"

/* What totals of a side are divided by. */
typedef struct side {
    const ps_table *sums, *steps, *size;
    int64_t n_rank_steps, n_host_steps; /* of devices; of the host */
    bool
        is_of_tables; /* of some rank, or of the other side: what only a timeline tells is not compared */
    bool is_mixed; /* of one side alone: communicators have other names there */
} side;

static bool side_of(const ps_result *result, side *out) {
    *out = (side){.sums = ps_result_table(result, "CaptureSums"),
                  .steps = ps_result_table(result, "CaptureSteps"),
                  .size = ps_result_table(result, "CaptureSize")};
    if (out->sums == NULL || out->steps == NULL || out->size == NULL || out->size->n_rows != 1) {
        return false;
    }
    out->n_rank_steps = ps_table_cell(out->size, 0, PS_CZ_RANK_STEPS)->u.i;
    out->n_host_steps = ps_table_cell(out->size, 0, PS_CZ_HOST_STEPS)->u.i;
    out->is_of_tables = ps_table_cell(out->size, 0, PS_CZ_OF_TABLES)->u.i > 0;
    return out->n_rank_steps > 0;
}

static int64_t compare_int_at(const ps_table *t, size_t row, size_t column) {
    return ps_table_cell(t, row, column)->u.i;
}

/* Nearest, halves up; `total` is not negative. */
static int64_t per(int64_t total, int64_t n) {
    return n > 0 ? ps_i64_plus(total, n / 2) / n : 0;
}

static void put_ratio(ps_table *t, size_t column, int64_t now, int64_t base) {
    if (base > 0) {
        ps_table_set_real(t, column, (double)now / (double)base);
    }
}

static ps_code give_compare(ps_table *t, bool ok, ps_result *out, ps_err *err) {
    if (!ok) {
        ps_table_free(t);
        return ps_fail_nomem(err);
    }
    t->to = PS_TO_FILES | PS_TO_SCREEN;
    return ps_result_add(out, t, err);
}

/* --- the whole ---------------------------------------------------------------------------------------------------- */

enum { O_PART, O_NEW, O_BASE, O_LOST, O_RATIO, N_O };

static const ps_column OVERALL[N_O] = {
    [O_PART] = {.name = "part of a step", .type = PS_COL_TEXT},
    [O_NEW] = {.name = "new", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [O_BASE] = {.name = "base", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [O_LOST] = {.name = "lost", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [O_RATIO] = {.name = "new / base", .type = PS_COL_REAL},
};

/* Where a side does not know when steps ended, they are compared to their last work. */
static int64_t part_at(const side *s, size_t row, size_t column) {
    int64_t ns = compare_int_at(s->steps, row, column);
    bool is_whole = column == PS_CT_TIME && s->is_of_tables;
    return is_whole ? ps_i64_minus(ns, compare_int_at(s->steps, row, PS_CT_AFTER)) : ns;
}

static int64_t total(const side *s, size_t column) {
    int64_t sum = 0;
    for (size_t r = 0; r < s->steps->n_rows; r++) {
        sum = ps_i64_plus(sum, part_at(s, r, column));
    }
    return sum;
}

static bool put_compare_part(ps_table *t, const char *name, int64_t now, int64_t base) {
    if (!ps_table_add_row(t) || !ps_table_set_text(t, O_PART, name)) {
        return false;
    }
    ps_table_set_int(t, O_NEW, now);
    ps_table_set_int(t, O_BASE, base);
    ps_table_set_int(t, O_LOST, ps_i64_minus(now, base));
    put_ratio(t, O_RATIO, now, base);
    return true;
}

/* The time of one kind of work in all sums of a side; 0 when it has none. */
static int64_t part_time(const side *s, const char *name) {
    for (size_t r = 0; r < s->sums->n_rows; r++) {
        if (compare_int_at(s->sums, r, PS_CS_CLASS) == PS_SUM_PART &&
            strcmp(ps_table_cell(s->sums, r, PS_CS_NAME)->u.text, name) == 0) {
            return per(compare_int_at(s->sums, r, PS_CS_TIME), s->n_rank_steps);
        }
    }
    return 0;
}

static bool put_kinds_of_work(ps_table *t, const side *now, const side *base) {
    static const char *const PARTS[][2] = {{"attention", "  attention"},
                                           {"attention backward", "  attention backward"},
                                           {"matrix products", "  matrix products"},
                                           {"convolution", "  convolution"},
                                           {"embedding", "  embedding"},
                                           {"moving data", "  moving data"},
                                           {"other vector work", "  other vector work"}};
    bool ok = true;
    for (size_t i = 0; ok && i < sizeof PARTS / sizeof *PARTS; i++) {
        int64_t a = part_time(now, PARTS[i][0]);
        int64_t b = part_time(base, PARTS[i][0]);
        ok = (a == 0 && b == 0) || put_compare_part(t, PARTS[i][1], a, b);
    }
    return ok;
}

static ps_code put_overall(const side *now, const side *base, ps_result *out, ps_err *err) {
    static const struct {
        const char *name;
        size_t column;
    } PARTS[] = {{"step", PS_CT_TIME},
                 {"before the first work", PS_CT_BEFORE},
                 {"computing", PS_CT_COMPUTING},
                 {"communication", PS_CT_COMMUNICATION},
                 {"  not overlapped", PS_CT_NOT_OVERLAPPED},
                 {"  waiting to receive", PS_CT_BUBBLE},
                 {"free", PS_CT_FREE},
                 {"after the last work", PS_CT_AFTER},
                 {"copies", PS_CT_MEMORY}};
    ps_table *t = ps_table_new("OverallCompare", "where the time of a step went", OVERALL, N_O);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < sizeof PARTS / sizeof *PARTS; i++) {
        bool is_unknown = now->is_of_tables &&
                          (PARTS[i].column == PS_CT_AFTER || PARTS[i].column == PS_CT_MEMORY);
        bool is_cut = now->is_of_tables && PARTS[i].column == PS_CT_TIME;
        ok = is_unknown || put_compare_part(t, is_cut ? "step to its last work" : PARTS[i].name,
                                            per(total(now, PARTS[i].column), now->n_rank_steps),
                                            per(total(base, PARTS[i].column), base->n_rank_steps));
        if (ok && PARTS[i].column == PS_CT_COMPUTING) {
            ok = put_kinds_of_work(t, now, base);
        }
    }
    return give_compare(t, ok, out, err);
}

/* --- steps -------------------------------------------------------------------------------------------------------- */

enum {
    S_ORDER,
    S_STEP_NEW,
    S_STEP_BASE,
    S_NEW,
    S_BASE,
    S_LOST,
    S_COMPUTING,
    S_NOT_OVERLAPPED,
    S_FREE,
    N_S
};

static const ps_column STEPS[N_S] = {
    [S_ORDER] = {.name = "order", .type = PS_COL_INT},
    [S_STEP_NEW] = {.name = "step new", .type = PS_COL_INT},
    [S_STEP_BASE] = {.name = "step base", .type = PS_COL_INT},
    [S_NEW] = {.name = "new", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_BASE] = {.name = "base", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_LOST] = {.name = "lost", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_COMPUTING] = {.name = "in computing", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_NOT_OVERLAPPED] = {.name = "not overlapped", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [S_FREE] = {.name = "in free", .type = PS_COL_INT, .unit = PS_UNIT_NS},
};

/* The mean over the ranks that have the step. */
static int64_t step_mean(const side *s, size_t row, size_t column) {
    return per(part_at(s, row, column), compare_int_at(s->steps, row, PS_CT_RANKS));
}

static void put_compare_step(ps_table *t, const side *now, const side *base, size_t row) {
    bool has_new = row < now->steps->n_rows;
    bool has_base = row < base->steps->n_rows;
    ps_table_set_int(t, S_ORDER, (int64_t)row + 1);
    if (has_new) {
        ps_table_set_int(t, S_STEP_NEW, compare_int_at(now->steps, row, PS_CT_STEP));
        ps_table_set_int(t, S_NEW, step_mean(now, row, PS_CT_TIME));
    }
    if (has_base) {
        ps_table_set_int(t, S_STEP_BASE, compare_int_at(base->steps, row, PS_CT_STEP));
        ps_table_set_int(t, S_BASE, step_mean(base, row, PS_CT_TIME));
    }
    if (has_new && has_base) {
        static const size_t FROM[] = {PS_CT_TIME, PS_CT_COMPUTING, PS_CT_NOT_OVERLAPPED,
                                      PS_CT_FREE};
        static const size_t TO[] = {S_LOST, S_COMPUTING, S_NOT_OVERLAPPED, S_FREE};
        for (size_t i = 0; i < 4; i++) {
            ps_table_set_int(t, TO[i],
                             step_mean(now, row, FROM[i]) - step_mean(base, row, FROM[i]));
        }
    }
}

static ps_code put_compare_steps(const side *now, const side *base, ps_result *out, ps_err *err) {
    size_t n = now->steps->n_rows > base->steps->n_rows ? now->steps->n_rows : base->steps->n_rows;
    ps_table *t = ps_table_new("StepCompare",
                               "steps by their order, mean over the ranks, and where time was lost",
                               STEPS, N_S);
    bool ok = t != NULL;
    for (size_t row = 0; ok && row < n; row++) {
        ok = ps_table_add_row(t);
        if (ok) {
            put_compare_step(t, now, base, row);
        }
    }
    return give_compare(t, ok, out, err);
}

/* --- by name ------------------------------------------------------------------------------------------------------ */

/* One name on both sides, per step and rank. */
typedef struct pair {
    const char *name, *detail;
    int64_t class_;
    int64_t count[2], time_ns[2]; /* [0] new, [1] base; counts are totals */
} pair;

static int compare_compare_own_keys(const void *x, const void *y) {
    const pair *a = x;
    const pair *b = y;
    if (a->class_ != b->class_) {
        return a->class_ < b->class_ ? -1 : 1;
    }
    int order = strcmp(a->name, b->name);
    return order != 0 ? order : strcmp(a->detail, b->detail);
}

/* Whether any kernel of a side says its shapes: a capture of a low level has none, and then names alone are joined. */
static bool has_shapes(const side *s) {
    for (size_t r = 0; r < s->sums->n_rows; r++) {
        if (compare_int_at(s->sums, r, PS_CS_CLASS) == PS_SUM_KERNEL &&
            ps_table_cell(s->sums, r, PS_CS_DETAIL)->u.text[0] != '\0') {
            return true;
        }
    }
    return false;
}

/* What the time of a class is divided by, and the count of it: operators and modules are counted on the host, their time is the
 * devices'. */
static int64_t steps_of_times(const side *s, int64_t class_) {
    bool is_host = class_ == PS_SUM_OPERATOR_HOST || class_ == PS_SUM_CALL;
    return is_host ? s->n_host_steps : s->n_rank_steps;
}

static int64_t steps_of_counts(const side *s, int64_t class_) {
    bool is_host = class_ == PS_SUM_OPERATOR || class_ == PS_SUM_MODULE;
    return is_host ? s->n_host_steps : steps_of_times(s, class_);
}

static size_t take_compare(pair *pairs, size_t n, const side *s, size_t which, bool with_shapes) {
    for (size_t r = 0; r < s->sums->n_rows; r++) {
        pair *p = &pairs[n++];
        *p = (pair){.name = ps_table_cell(s->sums, r, PS_CS_NAME)->u.text,
                    .detail = ps_table_cell(s->sums, r, PS_CS_DETAIL)->u.text,
                    .class_ = compare_int_at(s->sums, r, PS_CS_CLASS)};
        bool is_apart = (!with_shapes && p->class_ == PS_SUM_KERNEL) ||
                        (s->is_mixed && p->class_ == PS_SUM_COMMUNICATION);
        p->detail = is_apart ? "" : p->detail;
        p->count[which] = compare_int_at(s->sums, r, PS_CS_COUNT);
        p->time_ns[which] =
            per(compare_int_at(s->sums, r, PS_CS_TIME), steps_of_times(s, p->class_));
    }
    return n;
}

/* Joins equal keys; returns how many are left. */
static size_t join_compare(pair *pairs, size_t n) {
    qsort(pairs, n, sizeof *pairs, compare_compare_own_keys);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        pair *last = kept > 0 ? &pairs[kept - 1] : NULL;
        if (last == NULL || compare_compare_own_keys(last, &pairs[i]) != 0) {
            pairs[kept++] = pairs[i];
            continue;
        }
        for (size_t k = 0; k < 2; k++) {
            last->count[k] += pairs[i].count[k];
            last->time_ns[k] = ps_i64_plus(last->time_ns[k], pairs[i].time_ns[k]);
        }
    }
    return kept;
}

static int64_t compare_lost(const pair *p) {
    return ps_i64_minus(p->time_ns[0], p->time_ns[1]);
}

static int compare_losses(const void *x, const void *y) {
    const pair *a = x;
    const pair *b = y;
    if (a->class_ != b->class_) {
        return a->class_ < b->class_ ? -1 : 1;
    }
    if (compare_lost(a) != compare_lost(b)) {
        return compare_lost(a) > compare_lost(b) ? -1 : 1;
    }
    return compare_compare_own_keys(x, y);
}

enum { P_NAME, P_DETAIL, P_CALLS_NEW, P_CALLS_BASE, P_NEW, P_BASE, P_LOST, P_RATIO, N_P };

#define PAIR_COLUMNS                                                                               \
    {.name = "calls new", .type = PS_COL_REAL, .unit = PS_UNIT_COUNT},                             \
        {.name = "calls base", .type = PS_COL_REAL, .unit = PS_UNIT_COUNT},                        \
        {.name = "new", .type = PS_COL_INT, .unit = PS_UNIT_NS},                                   \
        {.name = "base", .type = PS_COL_INT, .unit = PS_UNIT_NS},                                  \
        {.name = "lost", .type = PS_COL_INT, .unit = PS_UNIT_NS}, {                                \
        .name = "new / base", .type = PS_COL_REAL                                                  \
    }

static const ps_column KERNELS[N_P] = {
    {.name = "name", .type = PS_COL_TEXT}, {.name = "shapes", .type = PS_COL_TEXT}, PAIR_COLUMNS};
static const ps_column GROUPS[N_P] = {
    {.name = "name", .type = PS_COL_TEXT}, {.name = "group", .type = PS_COL_TEXT}, PAIR_COLUMNS};
static const ps_column PASSES[N_P] = {
    {.name = "name", .type = PS_COL_TEXT}, {.name = "pass", .type = PS_COL_TEXT}, PAIR_COLUMNS};
static const ps_column PLAIN[N_P - 1] = {{.name = "name", .type = PS_COL_TEXT}, PAIR_COLUMNS};

typedef struct class_table {
    ps_sum_class class_;
    const char *name, *title;
    const ps_column *columns;
    size_t n_columns; /* N_P, or one less without the detail */
} class_table;

static const class_table TABLES[] = {
    {PS_SUM_MODULE, "ModuleCompare", "modules, device time of their own operators", PASSES, N_P},
    {PS_SUM_KERNEL_TYPE, "KernelTypeCompare", "types of kernels", PLAIN, N_P - 1},
    {PS_SUM_KERNEL, "KernelCompare", "kernels by name and shapes", KERNELS, N_P},
    {PS_SUM_OPERATOR, "OperatorCompare", "operators, device time of what they launched", PLAIN,
     N_P - 1},
    {PS_SUM_OPERATOR_HOST, "OperatorHostCompare", "operators, host time", PLAIN, N_P - 1},
    {PS_SUM_COMMUNICATION, "CommunicationCompare", "communication by type and group", GROUPS, N_P},
    {PS_SUM_COPY, "CopyCompare", "copies and fills by the device", PLAIN, N_P - 1},
    {PS_SUM_CALL, "ApiCompare", "calls into the driver or runtime, host time", PLAIN, N_P - 1},
};

static bool put_pair(ps_table *t, const pair *p, const side *now, const side *base) {
    bool has_detail = t->n_columns == N_P;
    size_t left_out = has_detail ? 0 : 1;
    if (!ps_table_add_row(t) || !ps_table_set_text(t, P_NAME, p->name) ||
        (has_detail && !ps_table_set_text(t, P_DETAIL, p->detail))) {
        return false;
    }
    ps_table_set_real(t, P_CALLS_NEW - left_out,
                      (double)p->count[0] / (double)steps_of_counts(now, p->class_));
    ps_table_set_real(t, P_CALLS_BASE - left_out,
                      (double)p->count[1] / (double)steps_of_counts(base, p->class_));
    ps_table_set_int(t, P_NEW - left_out, p->time_ns[0]);
    ps_table_set_int(t, P_BASE - left_out, p->time_ns[1]);
    ps_table_set_int(t, P_LOST - left_out, compare_lost(p));
    put_ratio(t, P_RATIO - left_out, p->time_ns[0], p->time_ns[1]);
    return true;
}

static ps_code put_compare_class(const class_table *which, const pair *pairs, size_t n,
                                 const side *now, const side *base, ps_result *out, ps_err *err) {
    ps_table *t = ps_table_new(which->name, which->title, which->columns, which->n_columns);
    bool ok = t != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        ok = pairs[i].class_ != (int64_t)which->class_ || put_pair(t, &pairs[i], now, base);
    }
    return give_compare(t, ok, out, err);
}

/* What a side without a timeline does not know, and therefore has none of. */
static bool is_compare_of_timeline(int64_t class_) {
    return class_ != PS_SUM_KERNEL_TYPE && class_ != PS_SUM_KERNEL &&
           class_ != PS_SUM_COMMUNICATION;
}

static ps_code put_compare_names(const side *now, const side *base, ps_result *out, ps_err *err) {
    size_t n = now->sums->n_rows + base->sums->n_rows;
    pair *pairs = ps_calloc(n + 1, sizeof *pairs);
    if (pairs == NULL) {
        return ps_fail_nomem(err);
    }
    bool with_shapes = has_shapes(now) && has_shapes(base);
    n = take_compare(pairs, 0, now, 0, with_shapes);
    n = take_compare(pairs, n, base, 1, with_shapes);
    n = join_compare(pairs, n);
    qsort(pairs, n, sizeof *pairs, compare_losses);
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < sizeof TABLES / sizeof *TABLES; i++) {
        bool no_types =
            TABLES[i].class_ == PS_SUM_KERNEL_TYPE && has_shapes(now) != has_shapes(base);
        bool is_left_out =
            no_types || (now->is_of_tables && is_compare_of_timeline(TABLES[i].class_));
        code = is_left_out ? PS_OK : put_compare_class(&TABLES[i], pairs, n, now, base, out, err);
    }
    ps_free(pairs);
    return code;
}

/* --- the analysis -------------------------------------------------------------------------------------------------- */

static ps_code reduce_compare(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    ps_result own = {0};
    side now;
    side base;
    ps_code code = ps_capture_tables(in, &own, err);
    if (code == PS_OK && side_of(&own, &now)) { /* else no rank had anything, as they said */
        if (!side_of(in->opts->baseline, &base)) {
            code = ps_fail(err, PS_NOTHING, "there is no baseline to compare with");
        }
        now.is_mixed = base.is_mixed = code == PS_OK && now.is_of_tables != base.is_of_tables;
        now.is_of_tables = base.is_of_tables =
            code == PS_OK && (now.is_of_tables || base.is_of_tables);
        code = code == PS_OK ? put_overall(&now, &base, in->result, err) : code;
        code = code == PS_OK ? put_compare_steps(&now, &base, in->result, err) : code;
        code = code == PS_OK ? put_compare_names(&now, &base, in->result, err) : code;
    }
    ps_result_fini(&own);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_RANK_CAPTURE_NEEDS, .map = ps_rank_capture_map, .reduce = reduce_compare}};

const ps_analysis ps_analysis_compare = {
    .name = "compare",
    .folder = "Compare",
    .summary = "two captures of one model: steps, kernels, operators, communication, calls",
    .hidden = true,
    .baseline = "capture_facts",
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_rank_capture_free,
};

/* cluster_time_compare_summary: ClusterTimeSummary of this run beside that of a baseline, rank by rank and step by step.
 *
 * Steps of two runs seldom have the same numbers. Where no step of a rank is in both, the first is compared with the first,
 * the second with the second, and so on. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/modes/time_summary.h"
#include "base/alloc.h"
#include "base/buf.h"

enum {
    FIRST = PS_TIME_SUMMARY_FIRST_TIME,
    N_TIMES = PS_TIME_SUMMARY_N_TIMES,
    EACH = 3, /* X, XBase, XDiff */
    N_COLUMNS = FIRST + EACH * N_TIMES
};

static ps_code map_time_pair(const ps_map_input *in, void **partial, ps_err *err) {
    if (in->opts->baseline == NULL) {
        return PS_OK; /* said once, by reduce */
    }
    return ps_time_summary_map(in, partial, err);
}

static const ps_table *find_base(const ps_result *result) {
    for (size_t i = 0; result != NULL && i < result->n_tables; i++) {
        if (strcmp(result->tables[i]->name, "ClusterTimeSummary") == 0) {
            return result->tables[i];
        }
    }
    return NULL;
}

/* --- which row with which ------------------------------------------------------------------------------------- */

static int64_t cell_or(const ps_table *t, size_t row, size_t column, int64_t otherwise) {
    const ps_value *v = ps_table_cell(t, row, column);
    return v->is_null ? otherwise : v->u.i;
}

static int64_t rank_at(const ps_table *t, size_t row) {
    return cell_or(t, row, PS_TIME_SUMMARY_RANK, -1);
}

static int64_t step_at(const ps_table *t, size_t row) {
    return cell_or(t, row, PS_TIME_SUMMARY_STEP, INT64_MIN);
}

/* Rows come by rank, then step: those of one rank. */
typedef struct span {
    size_t from, end;
} span;

static span time_pair_rows_of(const ps_table *t, int64_t rank, size_t from) {
    while (from < t->n_rows && rank_at(t, from) != rank) {
        from++;
    }
    span s = {from, from};
    while (s.end < t->n_rows && rank_at(t, s.end) == rank) {
        s.end++;
    }
    return s;
}

/* pair[own row] = row of the base, or SIZE_MAX. The k-th device of a step goes with the k-th. */
static void pair_rank(const ps_table *own, span o, const ps_table *base, span b, size_t *pair) {
    bool any = false;
    size_t k = b.from;
    for (size_t i = o.from; i < o.end; i++) {
        while (k < b.end && step_at(base, k) < step_at(own, i)) {
            k++;
        }
        bool same = k < b.end && step_at(base, k) == step_at(own, i);
        pair[i] = same ? k : SIZE_MAX;
        k += same;
        any = any || same;
    }
    for (size_t i = o.from; !any && i < o.end; i++) {
        pair[i] = b.from + (i - o.from) < b.end ? b.from + (i - o.from) : SIZE_MAX;
    }
}

static void pair_rows(const ps_table *own, const ps_table *base, size_t *pair) {
    for (size_t i = 0; i < own->n_rows;) {
        span o = time_pair_rows_of(own, rank_at(own, i), i);
        pair_rank(own, o, base, time_pair_rows_of(base, rank_at(own, i), 0), pair);
        i = o.end;
    }
}

/* --- tables --------------------------------------------------------------------------------------------------- */

static ps_table *new_time_pair_table(void) {
    static const char *const ENDS[EACH] = {"", "Base", "Diff"};
    ps_table *t = ps_table_new("ClusterTimeCompareSummary", "time of steps against the baseline",
                               NULL, N_COLUMNS);
    ps_column *columns = t != NULL ? ps_arena_alloc(&t->arena, N_COLUMNS * sizeof *columns) : NULL;
    bool ok = columns != NULL;
    ps_buf name;
    ps_buf_init(&name, 0);
    for (size_t c = 0; ok && c < N_COLUMNS; c++) {
        size_t from = c < FIRST ? c : FIRST + (c - FIRST) / EACH;
        columns[c] = ps_time_summary_columns[from];
        ps_buf_clear(&name);
        ps_buf_add_str(&name, columns[c].name);
        ps_buf_add_str(&name, c < FIRST ? "" : ENDS[(c - FIRST) % EACH]);
        columns[c].name =
            ps_buf_ok(&name) ? ps_arena_strndup(&t->arena, ps_buf_str(&name), name.len) : NULL;
        ok = columns[c].name != NULL;
    }
    ps_buf_fini(&name);
    if (!ok) {
        ps_table_free(t);
        return NULL;
    }
    t->columns = columns;
    return t;
}

/* A time that a capture does not tell stays empty. */
static void put_known(ps_table *t, size_t column, const ps_value *v) {
    if (!v->is_null) {
        ps_table_set_real(t, column, v->u.r);
    }
}

static bool put_pairs(ps_table *t, const ps_table *own, const ps_table *base, const size_t *pair) {
    for (size_t i = 0; i < own->n_rows; i++) {
        if (pair[i] == SIZE_MAX) {
            continue;
        }
        if (!ps_table_add_row(t)) {
            return false;
        }
        ps_table_set_int(t, PS_TIME_SUMMARY_RANK, rank_at(own, i));
        if (step_at(own, i) != INT64_MIN) {
            ps_table_set_int(t, PS_TIME_SUMMARY_STEP, step_at(own, i));
        }
        for (size_t c = 0; c < N_TIMES; c++) {
            const ps_value *x = ps_table_cell(own, i, FIRST + c);
            const ps_value *y = ps_table_cell(base, pair[i], FIRST + c);
            put_known(t, FIRST + EACH * c, x);
            put_known(t, FIRST + EACH * c + 1, y);
            if (!x->is_null && !y->is_null) {
                ps_table_set_real(t, FIRST + EACH * c + 2, x->u.r - y->u.r);
            }
        }
    }
    return true;
}

enum { METRIC, MEAN, MEAN_BASE, MEAN_DIFF, STD, STD_BASE, ROWS, ROWS_BASE, N_MEANS };
#define US_COLUMN(column)                                                                          \
    { .name = column, .type = PS_COL_REAL, .unit = PS_UNIT_US }
static const ps_column MEANS[N_MEANS] = {
    {.name = "metric", .type = PS_COL_TEXT},
    US_COLUMN("mean"),
    US_COLUMN("meanBase"),
    US_COLUMN("meanDiff"),
    US_COLUMN("std"),
    US_COLUMN("stdBase"),
    {.name = "rows", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    {.name = "rowsBase", .type = PS_COL_INT, .unit = PS_UNIT_COUNT}};

/* Of the rows that know it: how many, 0 for none. */
static size_t mean_of(const ps_table *t, size_t column, double *mean) {
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        const ps_value *v = ps_table_cell(t, i, column);
        sum += v->is_null ? 0 : v->u.r;
        n += !v->is_null;
    }
    *mean = n > 0 ? sum / (double)n : 0;
    return n;
}

/* The mean, and the sample deviation, which a single row does not have. */
static void put_mean(ps_table *to, size_t mean_cell, size_t std_cell, const ps_table *t,
                     size_t column) {
    double mean = 0;
    double squares = 0;
    size_t n = mean_of(t, column, &mean);
    for (size_t i = 0; i < t->n_rows; i++) {
        const ps_value *v = ps_table_cell(t, i, column);
        double d = v->is_null ? 0 : v->u.r - mean;
        squares += d * d;
    }
    if (n > 0) {
        ps_table_set_real(to, mean_cell, mean);
    }
    if (n > 1) {
        ps_table_set_real(to, std_cell, sqrt(squares / (double)(n - 1)));
    }
}

/* Over all ranks and steps, whether they have a counterpart or not: what a difference is worth. */
static bool put_means(ps_table *t, const ps_table *own, const ps_table *base) {
    for (size_t c = FIRST; own->n_rows > 0 && base->n_rows > 0 && c < FIRST + N_TIMES; c++) {
        if (!ps_table_add_row(t) || !ps_table_set_text(t, METRIC, own->columns[c].name)) {
            return false;
        }
        double mean = 0;
        double mean_base = 0;
        put_mean(t, MEAN, STD, own, c);
        put_mean(t, MEAN_BASE, STD_BASE, base, c);
        if (mean_of(own, c, &mean) > 0 && mean_of(base, c, &mean_base) > 0) {
            ps_table_set_real(t, MEAN_DIFF, mean - mean_base);
        }
        ps_table_set_int(t, ROWS, (int64_t)own->n_rows);
        ps_table_set_int(t, ROWS_BASE, (int64_t)base->n_rows);
    }
    return true;
}

static ps_code add_time_pair(const ps_reduce_input *in, ps_table *t, uint32_t to, const char *file,
                             ps_err *err) {
    t->to = to;
    t->file = file;
    t->names_fixed = true;
    return ps_result_add(in->result, t, err);
}

static ps_code put_time_pair_tables(const ps_reduce_input *in, const ps_table *own,
                                    const ps_table *base, ps_err *err) {
    size_t *pair = ps_calloc(own->n_rows + 1, sizeof *pair);
    ps_table *rows = new_time_pair_table();
    ps_table *means =
        ps_table_new("ClusterTimeCompareMeans",
                     "means over all ranks and steps against the baseline", MEANS, N_MEANS);
    bool ok = pair != NULL && rows != NULL && means != NULL;
    if (ok) {
        pair_rows(own, base, pair);
        ok = put_pairs(rows, own, base, pair) && put_means(means, own, base);
    }
    ps_free(pair);
    if (!ok) {
        ps_table_free(rows);
        ps_table_free(means);
        return ps_fail_nomem(err);
    }
    ps_code code =
        add_time_pair(in, rows, PS_TO_DB | PS_TO_FILES, "cluster_time_compare_summary", err);
    if (code != PS_OK) {
        ps_table_free(means);
        return code;
    }
    return add_time_pair(in, means, PS_TO_ALL, "cluster_time_compare_means", err);
}

static ps_code reduce_time_pair(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_table *base = find_base(in->opts->baseline);
    if (base == NULL) {
        return ps_fail(err, PS_USAGE, "nothing to compare with: give --bp DIR, another run");
    }
    ps_table *own = NULL;
    ps_code code = ps_time_summary_tables(in, &own, NULL, err);
    code = code == PS_OK ? put_time_pair_tables(in, own, base, err) : code;
    ps_table_free(own);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_TIME_SUMMARY_NEEDS, .map = map_time_pair, .reduce = reduce_time_pair}};

const ps_analysis ps_analysis_cluster_time_compare_summary = {
    .name = "cluster_time_compare_summary",
    .folder = "ClusterTimeCompareSummary",
    .summary = "cluster_time_summary beside that of another run (--bp DIR)",
    .baseline = "cluster_time_summary",
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = ps_time_summary_free,
};

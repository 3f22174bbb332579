/* cluster_time_compare_summary: ClusterTimeSummary of this run beside that of a baseline, rank by rank and step by step.
 *
 * Steps of two runs seldom have the same numbers. Where no step of a rank is in both, the first is compared with the first,
 * the second with the second, and so on. */
#include <math.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
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

static void put_pairs(ps_table *t, const ps_table *own, const ps_table *base, const size_t *pair) {
    for (size_t i = 0; i < own->n_rows; i++) {
        if (pair[i] == SIZE_MAX) {
            continue;
        }
        (void)ps_table_add_row(t);
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
}

typedef struct mean_row {
    const char *metric;
    double mean[2], difference, std[2]; /* [0] own, [1] of the baseline */
    int64_t n[2];
} mean_row;

#define US_COLUMN(column, member)                                                                  \
    { .name = (column), PS_FIELD(mean_row, member), .unit = PS_UNIT_US }
static const ps_column MEANS[] = {
    {.name = "metric", PS_FIELD(mean_row, metric)},
    US_COLUMN("mean", mean[0]),
    US_COLUMN("meanBase", mean[1]),
    US_COLUMN("meanDiff", difference),
    US_COLUMN("std", std[0]),
    US_COLUMN("stdBase", std[1]),
    {.name = "rows", PS_FIELD(mean_row, n[0]), .unit = PS_UNIT_COUNT},
    {.name = "rowsBase", PS_FIELD(mean_row, n[1]), .unit = PS_UNIT_COUNT}};

/* The mean of the rows that know it, and the sample deviation, which a single row does not have. */
static void measure_mean(const ps_table *t, size_t column, double *mean, double *std) {
    double sum = 0;
    double squares = 0;
    size_t n = 0;
    for (size_t i = 0; i < t->n_rows; i++) {
        const ps_value *v = ps_table_cell(t, i, column);
        sum += v->is_null ? 0 : v->u.r;
        n += !v->is_null;
    }
    *mean = n > 0 ? sum / (double)n : NAN;
    for (size_t i = 0; i < t->n_rows; i++) {
        const ps_value *v = ps_table_cell(t, i, column);
        double d = v->is_null ? 0 : v->u.r - *mean;
        squares += d * d;
    }
    *std = n > 1 ? sqrt(squares / (double)(n - 1)) : NAN;
}

/* Over all ranks and steps, whether they have a counterpart or not: what a difference is worth. */
static void put_means(ps_table *t, const ps_table *own, const ps_table *base) {
    for (size_t c = FIRST; own->n_rows > 0 && base->n_rows > 0 && c < FIRST + N_TIMES; c++) {
        mean_row row = {.metric = own->columns[c].name,
                        .n = {(int64_t)own->n_rows, (int64_t)base->n_rows}};
        measure_mean(own, c, &row.mean[0], &row.std[0]);
        measure_mean(base, c, &row.mean[1], &row.std[1]);
        row.difference = row.mean[0] - row.mean[1]; /* NaN when either is */
        ps_table_put(t, &row);
    }
}

static ps_code put_time_pair_tables(const ps_reduce_input *in, const ps_table *own,
                                    const ps_table *base, ps_err *err) {
    size_t *pair = ps_calloc(own->n_rows + 1, sizeof *pair);
    ps_table *rows = pair != NULL ? new_time_pair_table() : NULL;
    ps_table *means =
        ps_table_new("ClusterTimeCompareMeans",
                     "means over all ranks and steps against the baseline", PS_COLUMNS(MEANS));
    if (pair != NULL) {
        pair_rows(own, base, pair);
        put_pairs(rows, own, base, pair);
    }
    put_means(means, own, base);
    ps_free(pair);
    ps_result_finish_table(in->result, rows, "cluster_time_compare_summary",
                           PS_TO_DB | PS_TO_FILES);
    ps_result_finish_table(in->result, means, "cluster_time_compare_means", PS_TO_ALL);
    return ps_result_code(in->result, err);
}

static ps_code reduce_time_pair(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_table *base = find_base(in->opts->baseline);
    if (base == NULL) {
        return ps_fail_said(err, PS_USAGE, "nothing to compare with: give --bp DIR, another run",
                            "没有可对比的内容：请给出 --bp DIR，即另一次运行");
    }
    ps_table *own = NULL;
    ps_code code = ps_time_summary_tables(in, &own, NULL, err);
    own = ps_table_end(own);
    if (code == PS_OK) {
        code = own != NULL ? put_time_pair_tables(in, own, base, err) : ps_fail_nomem(err);
    }
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
    .archive = ps_time_summary_archive,
};

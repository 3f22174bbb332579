/* cann_api_sum: the time in calls of the driver and runtime (CANN, CUDA), by name, for each rank and over all. */
#include <math.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/modes/call_sums.h"
#include "base/alloc.h"
#include "base/buf.h"

/* --- one rank ------------------------------------------------------------------------------------------- */

static void free_api_partial(void *p) {
    if (p != NULL) {
        ps_value_sums_fini(p);
        ps_free(p);
    }
}

static ps_code map_api(const ps_map_input *in, void **out, ps_err *err) {
    ps_value_adder adder = {.trace = in->trace};
    ps_code code = ps_call_sums_collect(in, &adder, err);
    if (code == PS_OK && ps_value_adder_is_empty(&adder)) {
        code = ps_fail(err, PS_NOTHING,
                       "no calls of the driver or runtime%s: they were not recorded (Ascend: "
                       "ProfilerActivity.CPU and profiler_level Level1 give more of them)",
                       in->opts->step_id >= 0 ? " in this step" : "");
    }
    ps_value_sums *sums = code == PS_OK ? ps_calloc(1, sizeof *sums) : NULL;
    if (code == PS_OK) {
        code = sums != NULL ? ps_value_adder_finish(&adder, sums, err) : ps_fail_nomem(err);
    }
    ps_value_adder_fini(&adder);
    if (code != PS_OK) {
        free_api_partial(sums);
        return code;
    }
    *out = sums;
    return PS_OK;
}

/* --- tables --------------------------------------------------------------------------------------------- */

#define NS(text)                                                                                   \
    { .name = (text), .type = PS_COL_REAL, .unit = PS_UNIT_NS }

enum { R_NAME, R_RATIO, R_TOTAL, R_COUNT, R_MEAN, R_MIN, R_Q1, R_MED, R_Q3, R_MAX, R_STD, R_RANK };
static const ps_column OF_RANKS[] = {
    {.name = "name", .type = PS_COL_TEXT},
    {.name = "durationRatio", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    {.name = "totalTimeNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "totalCount", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    NS("averageNs"),
    NS("minNs"),
    NS("Q1Ns"),
    NS("medNs"),
    NS("Q3Ns"),
    NS("maxNs"),
    {.name = "stdev", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    {.name = "rank", .type = PS_COL_INT},
};

enum {
    A_NAME,
    A_RATIO,
    A_TOTAL,
    A_COUNT,
    A_MEAN,
    A_Q1,
    A_MED,
    A_Q3,
    A_MIN,
    A_MAX,
    A_STD,
    A_MINRANK,
    A_MAXRANK
};
static const ps_column OF_ALL[] = {
    {.name = "name", .type = PS_COL_TEXT, .is_key = true},
    {.name = "timeRatio", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    {.name = "totalTimeNs", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "totalCount", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    NS("averageNs"),
    NS("Q1Ns"),
    NS("medNs"),
    NS("Q3Ns"),
    NS("minNs"),
    NS("maxNs"),
    {.name = "stdev", .type = PS_COL_REAL, .unit = PS_UNIT_NS},
    {.name = "minRank", .type = PS_COL_TEXT},
    {.name = "maxRank", .type = PS_COL_TEXT},
};

static double tenths(double value) {
    return nearbyint(value * 10) / 10;
}

/* Of calls that a table sums up, quartiles and deviation are not known. */
static void put_tenths(ps_table *t, size_t column, double value) {
    if (!isnan(value)) {
        ps_table_set_real(t, column, tenths(value));
    }
}

static double api_percent(int64_t part, double of) {
    return of > 0 ? nearbyint(10000 * (double)part / of) / 100 : 0;
}

static bool put_rank_row(ps_table *t, const ps_sum_row *row, double total, int64_t rank) {
    const ps_stats *s = &row->stats;
    if (!ps_table_add_row(t) || !ps_table_set_text(t, R_NAME, row->keys[0])) {
        return false;
    }
    ps_table_set_real(t, R_RATIO, api_percent(s->sum, total));
    ps_table_set_int(t, R_TOTAL, s->sum);
    ps_table_set_int(t, R_COUNT, (int64_t)s->n);
    ps_table_set_real(t, R_MEAN, tenths(s->mean));
    ps_table_set_real(t, R_MIN, tenths((double)s->min));
    put_tenths(t, R_Q1, s->q1);
    put_tenths(t, R_MED, s->median);
    put_tenths(t, R_Q3, s->q3);
    ps_table_set_real(t, R_MAX, tenths((double)s->max));
    put_tenths(t, R_STD, s->population);
    ps_table_set_int(t, R_RANK, rank);
    return true;
}

/* The ranks among those of one name whose shortest (longest) call is the shortest (longest) of all. */
static bool put_extremes(ps_table *t, const ps_sum_row *all, const ps_sum_rows *ranks,
                         const ps_reduce_input *in, size_t first, size_t end) {
    ps_buf least;
    ps_buf most;
    ps_buf_init(&least, 0);
    ps_buf_init(&most, 0);
    for (size_t i = first; i < end; i++) {
        const ps_sum_row *row = &ranks->rows[i];
        long long rank = (long long)in->ranks[row->rank_index].rank;
        if (row->stats.min == all->stats.min) {
            ps_buf_addf(&least, "%s%lld", least.len > 0 ? ", " : "", rank);
        }
        if (row->stats.max == all->stats.max) {
            ps_buf_addf(&most, "%s%lld", most.len > 0 ? ", " : "", rank);
        }
    }
    bool ok = ps_buf_ok(&least) && ps_buf_ok(&most) &&
              ps_table_set_text(t, A_MINRANK, ps_buf_str(&least)) &&
              ps_table_set_text(t, A_MAXRANK, ps_buf_str(&most));
    ps_buf_fini(&least);
    ps_buf_fini(&most);
    return ok;
}

static bool put_all_row(ps_table *t, const ps_sum_row *row, double total) {
    const ps_stats *s = &row->stats;
    if (!ps_table_add_row(t) || !ps_table_set_text(t, A_NAME, row->keys[0])) {
        return false;
    }
    ps_table_set_real(t, A_RATIO, api_percent(s->sum, total));
    ps_table_set_int(t, A_TOTAL, s->sum);
    ps_table_set_int(t, A_COUNT, (int64_t)s->n);
    ps_table_set_real(t, A_MEAN, tenths(s->mean));
    put_tenths(t, A_Q1, s->q1);
    put_tenths(t, A_MED, s->median);
    put_tenths(t, A_Q3, s->q3);
    ps_table_set_real(t, A_MIN, tenths((double)s->min));
    ps_table_set_real(t, A_MAX, tenths((double)s->max));
    put_tenths(t, A_STD, s->population);
    return true;
}

static double api_sum_of(const ps_sum_rows *rows, size_t first, size_t end) {
    double total = 0;
    for (size_t i = first; i < end; i++) {
        total += (double)rows->rows[i].stats.sum;
    }
    return total;
}

/* `ranks` by name, then rank. */
static bool fill_all(ps_table *t, ps_sum_rows *all, const ps_sum_rows *ranks,
                     const ps_reduce_input *in) {
    double total = api_sum_of(all, 0, all->n);
    ps_sum_rows_by_sum(all);
    for (size_t i = 0; i < all->n; i++) {
        const ps_sum_row *row = &all->rows[i];
        size_t low = 0; /* the first row of that name */
        size_t high = ranks->n;
        while (low < high) {
            size_t middle = low + (high - low) / 2;
            if (strcmp(ranks->rows[middle].keys[0], row->keys[0]) < 0) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        size_t end = low;
        while (end < ranks->n && ps_sum_row_same(&ranks->rows[end], row)) {
            end++;
        }
        if (!put_all_row(t, row, total) || !put_extremes(t, row, ranks, in, low, end)) {
            return false;
        }
    }
    return true;
}

static bool fill_ranks(ps_table *t, ps_sum_rows *ranks, const ps_reduce_input *in) {
    ps_sum_rows_by_rank(ranks);
    bool ok = true;
    for (size_t first = 0; ok && first < ranks->n;) {
        size_t end = first;
        while (end < ranks->n && ranks->rows[end].rank_index == ranks->rows[first].rank_index) {
            end++;
        }
        double total = api_sum_of(ranks, first, end);
        for (; ok && first < end; first++) {
            const ps_sum_row *row = &ranks->rows[first];
            ok = put_rank_row(t, row, total, in->ranks[row->rank_index].rank);
        }
    }
    return ok;
}

static ps_code make_tables(const ps_reduce_input *in, ps_sum_rows *all, ps_sum_rows *ranks,
                           ps_err *err) {
    ps_table *t = ps_table_new("CannApiSum", "time in calls of the driver and runtime, all ranks",
                               OF_ALL, sizeof OF_ALL / sizeof *OF_ALL);
    ps_code code = ps_result_finish_table(in->result, t, t != NULL && fill_all(t, all, ranks, in),
                                          "all_stats", PS_TO_ALL, err);
    if (code != PS_OK) {
        return code;
    }
    t = ps_table_new("CannApiSumRank", "time in calls of the driver and runtime", OF_RANKS,
                     sizeof OF_RANKS / sizeof *OF_RANKS);
    return ps_result_finish_table(in->result, t, t != NULL && fill_ranks(t, ranks, in),
                                  "rank_stats", PS_TO_DB | PS_TO_FILES, err);
}

static ps_code reduce_api(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_value_sums *const *sums = (const ps_value_sums *const *)in->partials;
    ps_sum_rows all = {0};
    ps_sum_rows ranks = {0};
    ps_code code = ps_value_sums_join(sums, in->n_ranks, 1, false, &all, err);
    code = code == PS_OK ? ps_value_sums_join(sums, in->n_ranks, 1, true, &ranks, err) : code;
    code = code == PS_OK ? make_tables(in, &all, &ranks, err) : code;
    ps_sum_rows_fini(&all);
    ps_sum_rows_fini(&ranks);
    return code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_STEPS | PS_NEED_SLICES, .map = map_api, .reduce = reduce_api}};

const ps_analysis ps_analysis_cann_api_sum = {
    .name = "cann_api_sum",
    .folder = "CannApiSum",
    .summary = "calls of the driver and runtime (CANN, CUDA) by name: time, quartiles, ranks",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_api_partial,
};

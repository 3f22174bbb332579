/* cann_api_sum: the time in calls of the driver and runtime (CANN, CUDA), by name, for each rank and over all. */
#include <math.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/modes/call_sums.h"
#include "analyze/rank/step_index.h"
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
        code = ps_fail_said(
            err, PS_NOTHING,
            "no calls of the driver or runtime%s%.0s: they were not recorded (Ascend: "
            "ProfilerActivity.CPU and profiler_level Level1 give more of them)",
            "%.0s%s没有驱动或运行时调用：未采集（昇腾：ProfilerActivity.CPU 与 profiler_level Level1 可采集更多）",
            PS_IN_THIS_STEP(in->opts->step_id));
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

typedef struct call_row {
    const char *name;
    double percent;
    int64_t total_ns, n, rank;
    double mean_ns, least_ns, q1_ns, median_ns, q3_ns, most_ns, std_ns; /* whole tenths */
    const char *least_ranks, *most_ranks;
} call_row;

#define NS(text, member)                                                                           \
    { .name = (text), PS_FIELD(call_row, member), .unit = PS_UNIT_NS }

static const ps_column OF_RANKS[] = {
    {.name = "name", PS_FIELD(call_row, name)},
    {.name = "durationRatio", PS_FIELD(call_row, percent), .unit = PS_UNIT_PERCENT},
    NS("totalTimeNs", total_ns),
    {.name = "totalCount", PS_FIELD(call_row, n), .unit = PS_UNIT_COUNT},
    NS("averageNs", mean_ns),
    NS("minNs", least_ns),
    NS("Q1Ns", q1_ns),
    NS("medNs", median_ns),
    NS("Q3Ns", q3_ns),
    NS("maxNs", most_ns),
    NS("stdev", std_ns),
    {.name = "rank", PS_FIELD(call_row, rank)},
};

static const ps_column OF_ALL[] = {
    {.name = "name", PS_FIELD(call_row, name), .is_key = true},
    {.name = "timeRatio", PS_FIELD(call_row, percent), .unit = PS_UNIT_PERCENT},
    NS("totalTimeNs", total_ns),
    {.name = "totalCount", PS_FIELD(call_row, n), .unit = PS_UNIT_COUNT},
    NS("averageNs", mean_ns),
    NS("Q1Ns", q1_ns),
    NS("medNs", median_ns),
    NS("Q3Ns", q3_ns),
    NS("minNs", least_ns),
    NS("maxNs", most_ns),
    NS("stdev", std_ns),
    {.name = "minRank", PS_FIELD(call_row, least_ranks)},
    {.name = "maxRank", PS_FIELD(call_row, most_ranks)},
};

static double tenths(double value) {
    return nearbyint(value * 10) / 10;
}

/* Of calls that a table sums up, quartiles and deviation are not known. */
static call_row call_row_of(const ps_sum_row *row, double total) {
    const ps_stats *s = &row->stats;
    return (call_row){.name = row->keys[0],
                      .percent = total > 0 ? nearbyint(10000 * (double)s->sum / total) / 100 : 0,
                      .total_ns = s->sum,
                      .n = (int64_t)s->n,
                      .mean_ns = tenths(s->mean),
                      .least_ns = tenths((double)s->min),
                      .q1_ns = tenths(s->q1),
                      .median_ns = tenths(s->median),
                      .q3_ns = tenths(s->q3),
                      .most_ns = tenths((double)s->max),
                      .std_ns = tenths(s->population)};
}

/* With the ranks among those of the name whose shortest (longest) call is the shortest (longest) of all. */
static void put_call_of_all(ps_table *t, const ps_sum_row *all, const ps_sum_rows *ranks,
                            const ps_reduce_input *in, double total) {
    ps_buf least;
    ps_buf most;
    ps_buf_init(&least, 0);
    ps_buf_init(&most, 0);
    for (size_t i = ps_sum_rows_find(ranks, all);
         i < ranks->n && ps_sum_row_same(&ranks->rows[i], all); i++) {
        const ps_sum_row *row = &ranks->rows[i];
        long long rank = (long long)in->ranks[row->rank_index].rank;
        if (row->stats.min == all->stats.min) {
            ps_buf_addf(&least, "%s%lld", least.len > 0 ? ", " : "", rank);
        }
        if (row->stats.max == all->stats.max) {
            ps_buf_addf(&most, "%s%lld", most.len > 0 ? ", " : "", rank);
        }
    }
    if (ps_buf_ok(&least) && ps_buf_ok(&most)) {
        call_row row = call_row_of(all, total);
        row.least_ranks = ps_buf_str(&least);
        row.most_ranks = ps_buf_str(&most);
        ps_table_put(t, &row);
    } else {
        ps_table_fail(t);
    }
    ps_buf_fini(&least);
    ps_buf_fini(&most);
}

static double api_sum_of(const ps_sum_rows *rows, size_t first, size_t end) {
    double total = 0;
    for (size_t i = first; i < end; i++) {
        total += (double)rows->rows[i].stats.sum;
    }
    return total;
}

/* `ranks` by name, then rank. */
static void give_calls_of_all(const ps_reduce_input *in, ps_sum_rows *all,
                              const ps_sum_rows *ranks) {
    ps_table *t = ps_table_new("CannApiSum", "time in calls of the driver and runtime, all ranks",
                               PS_COLUMNS(OF_ALL));
    double total = api_sum_of(all, 0, all->n);
    ps_sum_rows_by_sum(all);
    for (size_t i = 0; i < all->n; i++) {
        put_call_of_all(t, &all->rows[i], ranks, in, total);
    }
    ps_result_finish_table(in->result, t, "all_stats", PS_TO_ALL);
}

static void give_calls_of_ranks(const ps_reduce_input *in, ps_sum_rows *ranks) {
    ps_table *t = ps_table_new("CannApiSumRank", "time in calls of the driver and runtime",
                               PS_COLUMNS(OF_RANKS));
    ps_sum_rows_by_rank(ranks);
    for (size_t first = 0; first < ranks->n;) {
        size_t end = first;
        while (end < ranks->n && ranks->rows[end].rank_index == ranks->rows[first].rank_index) {
            end++;
        }
        double total = api_sum_of(ranks, first, end);
        for (; first < end; first++) {
            call_row row = call_row_of(&ranks->rows[first], total);
            row.rank = in->ranks[ranks->rows[first].rank_index].rank;
            ps_table_put(t, &row);
        }
    }
    ps_result_finish_table(in->result, t, "rank_stats", PS_TO_DB | PS_TO_FILES);
}

static ps_code reduce_api(const ps_reduce_input *in, void **shared, ps_err *err) {
    *shared = NULL;
    const ps_value_sums *const *sums = (const ps_value_sums *const *)in->partials;
    ps_sum_rows all = {0};
    ps_sum_rows ranks = {0};
    ps_code code = ps_value_sums_join(sums, in->n_ranks, 1, false, &all, err);
    code = code == PS_OK ? ps_value_sums_join(sums, in->n_ranks, 1, true, &ranks, err) : code;
    if (code == PS_OK) {
        give_calls_of_all(in, &all, &ranks);
        give_calls_of_ranks(in, &ranks);
        code = ps_result_code(in->result, err);
    }
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
    .archive = ps_value_sums_archive,
};

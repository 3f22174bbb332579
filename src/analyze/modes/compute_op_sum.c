/* compute_op_sum: which computing operators take the time. Public tables by type over all ranks, by type and by name for
 * each rank; and ComputeOpSpread, which says how evenly the ranks carry each type.
 *
 * A kernel's type is what the profiler recorded (opType), else the name of the framework operator that launched it, whose
 * input shapes then stand for its own. With --step_id a kernel belongs to the step that launched it. */
#include <math.h>

#include "analyze/core/analysis.h"
#include "analyze/core/result_table.h"
#include "analyze/derived/derived.h"
#include "analyze/rank/kernel_args.h"
#include "analyze/rank/links.h"
#include "analyze/rank/step_index.h"
#include "analyze/stats/stats.h"
#include "analyze/stats/value_sums.h"
#include "base/alloc.h"
#include "base/sort.h"
#include "model/recording.h"

enum { OP_NAME, OP_TYPE, TASK_TYPE, SHAPES };
#define BIT(key) (1u << (key))

/* --- one rank ------------------------------------------------------------------------------------------- */

typedef struct collector {
    const ps_map_input *in;
    ps_kernel_keys keys;
    ps_str operator_shapes[PS_N_INPUT_SHAPES];
    const ps_links *links; /* of a step, or of a profile that does not know types; else NULL */
    ps_value_adder adder;
} collector;

/* As the profiler wrote it, "N/A" too; none where it wrote nothing. */
static ps_str written_text(const ps_arg *field) {
    return field->type == PS_ARG_STR && !ps_str_is_none(field->key) ? field->u.s : PS_STR_NONE;
}

static void read_compute_op_args(const collector *c, uint32_t slice, ps_str keys[PS_SUM_KEYS]) {
    ps_arg fields[PS_N_KERNEL_FIELDS];
    ps_kernel_read(&c->keys, slice, fields);
    keys[OP_TYPE] = written_text(&fields[PS_KERNEL_TYPE]);
    keys[TASK_TYPE] = written_text(&fields[PS_KERNEL_CORE]);
    keys[SHAPES] = written_text(&fields[PS_KERNEL_IN_SHAPES]);
}

static ps_code need_links(collector *c, ps_err *err) {
    c->links = c->links != NULL ? c->links : ps_derived_links(c->in->derived, err);
    return c->links != NULL ? PS_OK : PS_NOMEM;
}

static ps_code take_compute_op_kernel(collector *c, const ps_slices *s, uint32_t i, ps_err *err) {
    int64_t step = c->in->opts->step_id;
    if (step >= 0 && ps_links_step(c->links, i) != step) {
        return PS_OK;
    }
    ps_str keys[PS_SUM_KEYS] = {s->name[i], PS_STR_NONE, PS_STR_NONE, PS_STR_NONE};
    read_compute_op_args(c, i, keys);
    if (ps_str_is_none(keys[TASK_TYPE])) {
        keys[TASK_TYPE] = s->category[i];
    }
    if (ps_str_is_none(keys[OP_TYPE])) {
        ps_code code = need_links(c, err);
        if (code != PS_OK) {
            return code;
        }
        uint32_t op = c->links->op[i];
        if (op != PS_NONE) {
            keys[OP_TYPE] = s->name[op];
            if (ps_str_is_none(keys[SHAPES])) {
                keys[SHAPES] = ps_input_shapes_by(c->in->trace, op, c->operator_shapes);
            }
        }
    }
    return ps_value_adder_add(&c->adder, keys, s->dur_ns[i]) ? PS_OK : ps_fail_nomem(err);
}

static const char *text_cell(const ps_table *t, size_t row, const char *name) {
    size_t c = ps_table_column(t, name);
    bool is_text = c < t->n_columns && t->columns[c].type == PS_COL_TEXT;
    const ps_value *v = is_text ? ps_table_cell(t, row, c) : NULL;
    return v != NULL && !v->is_null ? v->u.text : NULL;
}

/* op_statistic.csv, where no kernels are there: the profiler's sums by type over the whole capture. */
static bool add_statistic(const ps_table *t, ps_value_adder *adder, ps_diag *diag) {
    static const char *const NUMBERS[] = {"Count", "Total Time", "Min Time", "Max Time"};
    bool ok = true;
    for (size_t r = 0; ok && r < t->n_rows; r++) {
        ps_summary_values told = {.keys = {[OP_TYPE] = text_cell(t, r, "OP Type"),
                                           [TASK_TYPE] = text_cell(t, r, "Core Type")}};
        bool is_said = told.keys[OP_TYPE] != NULL && ps_summary_values_read(t, r, NUMBERS, &told);
        ok = !is_said || ps_value_adder_add_summary(adder, &told);
        if (!is_said) {
            ps_diag_add(diag, PS_ODD_TABLE_ROW, "%s row %zu", t->title, r + 1);
        }
    }
    return ok;
}

static ps_code collect_compute_op(collector *c, ps_err *err) {
    const ps_trace *t = c->in->trace;
    const ps_slices *s = ps_trace_slices(t);
    ps_find_input_shapes(t, c->operator_shapes);
    ps_code code = ps_kernel_keys_init(&c->keys, t) ? ps_check_step(t, c->in->opts->step_id, err)
                                                    : ps_fail_nomem(err);
    if (code == PS_OK && c->in->opts->step_id >= 0) {
        code = need_links(c, err);
    }
    for (uint32_t i = 0; code == PS_OK && i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_KERNEL) {
            code = take_compute_op_kernel(c, s, i, err);
        }
    }
    const ps_table *table = ps_trace_missing_timeline(t) != NULL && c->in->opts->step_id < 0
                                ? ps_trace_side_table(t, "op_statistic")
                                : NULL;
    if (code == PS_OK && c->adder.n == 0 && table != NULL &&
        !add_statistic(table, &c->adder, c->in->diag)) {
        code = ps_fail_nomem(err);
    }
    return code;
}

static void free_compute_op_partial(void *p) {
    if (p != NULL) {
        ps_value_sums_fini(p);
        ps_free(p);
    }
}

static ps_code map_compute_op(const ps_map_input *in, void **out, ps_err *err) {
    collector c = {.in = in, .adder = {.trace = in->trace}};
    ps_code code = collect_compute_op(&c, err);
    if (code == PS_OK && ps_value_adder_is_empty(&c.adder)) {
        code = ps_fail_said(
            err, PS_NOTHING,
            "no computing kernels%s%.0s: the device was not recorded (Ascend: profiler_level "
            "Level0 or above; PyTorch: ProfilerActivity.CUDA)",
            "%.0s%s没有计算核函数：未采集设备（昇腾：profiler_level Level0 及以上；PyTorch：ProfilerActivity.CUDA）",
            PS_IN_THIS_STEP(in->opts->step_id));
    }
    ps_value_sums *sums = code == PS_OK ? ps_calloc(1, sizeof *sums) : NULL;
    if (code == PS_OK) {
        code = sums != NULL ? ps_value_adder_finish(&c.adder, sums, err) : ps_fail_nomem(err);
    }
    ps_value_adder_fini(&c.adder);
    ps_kernel_keys_fini(&c.keys);
    if (code != PS_OK) {
        free_compute_op_partial(sums);
        return code;
    }
    *out = sums;
    return PS_OK;
}

/* --- all ranks ------------------------------------------------------------------------------------------ */

typedef struct op_row {
    const char *keys[PS_SUM_KEYS];
    ps_stats stats;
    int64_t rank;
} op_row;

#define KEY(text, key)                                                                             \
    { .name = (text), PS_FIELD(op_row, keys[key]), .is_key = true }
#define RANK                                                                                       \
    { .name = "Rank", PS_FIELD(op_row, rank) }

static const ps_column ALL[] = {KEY("OpType", OP_TYPE), KEY("TaskType", TASK_TYPE),
                                PS_STATS_COLUMNS(op_row, stats)};
static const ps_column BY_TYPE[] = {KEY("OpType", OP_TYPE), KEY("TaskType", TASK_TYPE),
                                    PS_STATS_COLUMNS(op_row, stats), RANK};
static const ps_column BY_NAME[] = {KEY("OpName", OP_NAME),          KEY("OpType", OP_TYPE),
                                    KEY("TaskType", TASK_TYPE),      KEY("InputShapes", SHAPES),
                                    PS_STATS_COLUMNS(op_row, stats), RANK};

/* A type that nobody knows is N/A, as in the profiler's own tables; shapes stay empty. */
static const char *shown(const ps_sum_row *row, int key) {
    return row->keys[key][0] == '\0' && key != SHAPES ? "N/A" : row->keys[key];
}

static void put_compute_op_row(ps_table *t, const ps_sum_row *row, const ps_reduce_input *in) {
    ps_table_put(t, &(op_row){.keys = {shown(row, OP_NAME), shown(row, OP_TYPE),
                                       shown(row, TASK_TYPE), shown(row, SHAPES)},
                              .stats = row->stats,
                              .rank = in->ranks[row->rank_index].rank});
}

/* A public table: rows of equal keys (bits) joined, on each rank or over all. */
static ps_code give_compute_ops(const ps_reduce_input *in, unsigned keys, bool by_rank, ps_table *t,
                                const char *file, ps_err *err) {
    ps_sum_rows rows;
    ps_code code = ps_value_sums_join((const ps_value_sums *const *)in->partials, in->n_ranks, keys,
                                      by_rank, &rows, err);
    if (by_rank) {
        ps_sum_rows_by_rank(&rows);
    } else {
        ps_sum_rows_by_sum(&rows);
    }
    for (size_t i = 0; i < rows.n; i++) {
        put_compute_op_row(t, &rows.rows[i], in);
    }
    ps_sum_rows_fini(&rows);
    ps_result_finish_table(in->result, t, file, PS_TO_DB | PS_TO_FILES);
    return code;
}

/* --- how even the ranks are ------------------------------------------------------------------------------ */

/* A type over the ranks that run it. */
typedef struct spread {
    const ps_sum_row *first, *slowest; /* of the rows of its ranks */
    size_t place;                      /* of the first: rows come by their texts */
    int64_t sum;
    size_t n_ranks;
} spread;

typedef struct spread_row {
    const char *type, *task;
    spread spread;
    double share, cumulative, mean, most, ratio;
    int64_t slowest_rank;
} spread_row;

#define SPREAD_NS(text, member)                                                                    \
    { .name = (text), PS_FIELD_AS(PS_COL_REAL, spread_row, member), .unit = PS_UNIT_NS }

static const ps_column SPREAD[] = {
    {.name = "OpType", PS_FIELD(spread_row, type), .is_key = true},
    {.name = "TaskType", PS_FIELD(spread_row, task), .is_key = true},
    SPREAD_NS("SumNs", spread.sum),
    {.name = "Share(%)", PS_FIELD(spread_row, share)},
    {.name = "CumulativeShare(%)", PS_FIELD(spread_row, cumulative)},
    {.name = "Ranks", PS_FIELD(spread_row, spread.n_ranks), .unit = PS_UNIT_COUNT},
    SPREAD_NS("MeanOfRanksNs", mean),
    SPREAD_NS("MaxOfRanksNs", most),
    {.name = "MaxToMean", PS_FIELD(spread_row, ratio)}, /* 1: even */
    {.name = "SlowestRank", PS_FIELD(spread_row, slowest_rank)},
};

static size_t find_spreads(const ps_sum_rows *rows, spread *out, double *total) {
    static const ps_sort_key KEYS[] = {PS_DOWN(spread, sum), PS_UP(spread, place)};
    size_t n = 0;
    *total = 0;
    for (size_t i = 0; i < rows->n; i++) {
        const ps_sum_row *row = &rows->rows[i];
        if (n == 0 || !ps_sum_row_same(out[n - 1].first, row)) {
            out[n++] = (spread){.first = row, .slowest = row, .place = i};
        }
        spread *s = &out[n - 1];
        s->n_ranks++;
        s->sum = __builtin_add_overflow(s->sum, row->stats.sum, &s->sum) ? INT64_MAX : s->sum;
        s->slowest = row->stats.sum > s->slowest->stats.sum ? row : s->slowest;
        *total += (double)row->stats.sum;
    }
    ps_sort_by(out, n, sizeof *out, PS_KEYS(KEYS));
    return n;
}

static void put_compute_op_spread(ps_table *t, const spread *s, double total, double cumulative,
                                  const ps_reduce_input *in) {
    double sum = (double)s->sum;
    double most = (double)s->slowest->stats.sum;
    double mean = sum / (double)s->n_ranks;
    ps_table_put(t, &(spread_row){.type = shown(s->first, OP_TYPE),
                                  .task = shown(s->first, TASK_TYPE),
                                  .spread = *s,
                                  .share = total > 0 ? 100 * sum / total : NAN,
                                  .cumulative = total > 0 ? 100 * cumulative / total : NAN,
                                  .mean = mean,
                                  .most = most,
                                  .ratio = mean > 0 ? most / mean : NAN,
                                  .slowest_rank = in->ranks[s->slowest->rank_index].rank});
}

static ps_code give_spread(const ps_reduce_input *in, ps_err *err) {
    ps_sum_rows rows;
    ps_code code = ps_value_sums_join((const ps_value_sums *const *)in->partials, in->n_ranks,
                                      BIT(OP_TYPE) | BIT(TASK_TYPE), true, &rows, err);
    spread *spreads = ps_calloc(rows.n + 1, sizeof *spreads);
    ps_table *t = spreads != NULL
                      ? ps_table_new("ComputeOpSpread", "where computing time goes, and how even",
                                     PS_COLUMNS(SPREAD))
                      : NULL;
    double total = 0;
    double cumulative = 0;
    size_t n = spreads != NULL ? find_spreads(&rows, spreads, &total) : 0;
    for (size_t i = 0; i < n; i++) {
        cumulative += (double)spreads[i].sum;
        put_compute_op_spread(t, &spreads[i], total, cumulative, in);
    }
    ps_free(spreads);
    ps_sum_rows_fini(&rows);
    ps_result_finish_table(in->result, t, "op_spread", PS_TO_ALL);
    return code;
}

static ps_code reduce_compute_op(const ps_reduce_input *in, void **shared, ps_err *err) {
    const unsigned types = BIT(OP_TYPE) | BIT(TASK_TYPE);
    *shared = NULL;
    ps_code code = give_spread(in, err);
    if (code == PS_OK) {
        code = give_compute_ops(in, types, false,
                                ps_table_new("ComputeOpAllRankStats",
                                             "computing operators by type, all ranks",
                                             PS_COLUMNS(ALL)),
                                "all_stats", err);
    }
    if (code == PS_OK) {
        code = give_compute_ops(in, types, true,
                                ps_table_new("ComputeOpPerRankStatsByOpType",
                                             "computing operators by type", PS_COLUMNS(BY_TYPE)),
                                "rank_stats_by_optype", err);
    }
    if (code == PS_OK && !in->opts->exclude_op_name) {
        code = give_compute_ops(in, types | BIT(OP_NAME) | BIT(SHAPES), true,
                                ps_table_new("ComputeOpPerRankStatsByOpName",
                                             "computing operators by name and shapes",
                                             PS_COLUMNS(BY_NAME)),
                                "rank_stats_by_opname", err);
    }
    return code == PS_OK ? ps_result_code(in->result, err) : code;
}

static const ps_round ROUNDS[] = {
    {.needs = PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS,
     .map = map_compute_op,
     .reduce = reduce_compute_op}};

const ps_analysis ps_analysis_compute_op_sum = {
    .name = "compute_op_sum",
    .folder = "ComputeOpSum",
    .summary = "computing operators by type and name: time, spread over ranks",
    .sets = PS_IN_EVERY,
    .rounds = ROUNDS,
    .n_rounds = sizeof ROUNDS / sizeof *ROUNDS,
    .free_partial = free_compute_op_partial,
    .archive = ps_value_sums_archive,
};

/* Counting, then filling, then sorting each row's part: one array for all blocks, so that a chart of a million ops
 * costs two allocations. */
#include "write/chart/chart_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/runs.h"
#include "base/sort.h"
#include "model/chart_groups.h"
#include "model/table_fold.h"
#include "write/out/writers.h"

/* Below 14 pixels no block has a name; 16 is for rows that must be lower than their number asks for. */
const ps_row_size ps_row_sizes[PS_N_ROW_SIZES] = {
    {6, 32, 2, 19, 12, 10},     {12, 26, 2, 16, 10, 10}, {24, 20, 2, 12, 8, 8},
    {24, 16, 2, 10, 6, 4},      {64, 14, 2, 8, 5, 4},    {160, 10, 1, 6, 4, 2},
    {INT32_MAX, 6, 1, 4, 3, 2},
};

const ps_row_size *ps_row_size_for(size_t n_rows) {
    const ps_row_size *size = ps_row_sizes;
    while (n_rows > (size_t)size->most_rows && size < ps_row_sizes + PS_N_ROW_SIZES - 1) {
        size++;
    }
    return size;
}

double ps_other_work_height(double block) {
    return block > 9 ? block / 3 : 3;
}

int ps_hatch_of(ps_bubble_cause cause) {
    return (cause != PS_BUBBLE_COOLDOWN ? PS_HATCH_RISES : 0) |
           (cause != PS_BUBBLE_WARMUP ? PS_HATCH_FALLS : 0);
}

bool ps_op_is_transfer(const ps_op *op) {
    return op->kind == PS_OP_SEND || op->kind == PS_OP_RECV;
}

ps_part_row ps_part_row_of(const ps_chart_part *part) {
    return part->communicates      ? PS_PART_COMMUNICATION
           : part->kind == PS_OP_F ? PS_PART_FORWARD
                                   : PS_PART_BACKWARD;
}

int ps_part_look(const ps_chart_part *part) {
    return part->communicates ? PS_OP_SEND : part->kind;
}

static bool chart_row_is_in(const ps_rows *r, const ps_op *op) {
    return op->step == r->step && r->chart->ranks[op->rank].pipeline == r->pipeline &&
           op->end_ns >= op->start_ns;
}

bool ps_row_has_part(const ps_rows *rows, const ps_row *row, const ps_chart_part *part) {
    const ps_op *op = &rows->chart->ops[part->op];
    return chart_row_is_in(rows, op) && &rows->chart->ranks[op->rank] == row->rank;
}

bool ps_chart_has_step(const ps_chart *chart, int64_t step) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (chart->ops[i].step == step) {
            return true;
        }
    }
    return false;
}

/* --- choosing ---------------------------------------------------------------------------------------------- */

/* Nothing was found. */
static ps_code fail_choice(const ps_chart *chart, int64_t step, int32_t pipeline, ps_err *err) {
    bool is_step = step != PS_FIRST_STEP && !ps_chart_has_step(chart, step);
    if (chart->n_ops == 0) {
        return ps_fail(err, PS_NOTHING, "the chart is empty: it has no ops to draw");
    }
    int64_t *there = ps_calloc(chart->n_ops, sizeof *there);
    if (there == NULL) {
        return ps_fail_nomem(err);
    }
    size_t n = 0;
    bool is_in_another = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int64_t number = is_step ? op->step : chart->ranks[op->rank].pipeline;
        is_in_another = is_in_another || (!is_step && number == pipeline);
        if (number != PS_FIRST_STEP && (n == 0 || there[n - 1] != number)) {
            there[n++] = number;
        }
    }
    ps_code code = is_in_another ? ps_fail(err, PS_NOTHING, "pipeline %d has no ops in step %lld",
                                           (int)pipeline, (long long)step)
                                 : ps_fail_no_such(err, PS_NOTHING, is_step ? "step" : "pipeline",
                                                   is_step ? step : pipeline, there, n);
    ps_free(there);
    return code;
}

/* What lies outside of all steps is the last of them. */
static bool is_earlier_step(int64_t a, int64_t b) {
    return a != PS_FIRST_STEP && (b == PS_FIRST_STEP || a < b);
}

/* The earliest step of those asked for, and the first pipeline in it. */
static bool choose_first(const ps_chart *chart, int64_t *step, int32_t *pipeline) {
    const int64_t wanted_step = *step;
    const int32_t wanted_pipeline = *pipeline;
    bool found = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int32_t of = chart->ranks[op->rank].pipeline;
        if ((wanted_step != PS_FIRST_STEP && op->step != wanted_step) ||
            (wanted_pipeline >= 0 && of != wanted_pipeline)) {
            continue;
        }
        if (!found || is_earlier_step(op->step, *step) || (op->step == *step && of < *pipeline)) {
            *step = op->step;
            *pipeline = of;
        }
        found = true;
    }
    return found;
}

ps_code ps_chart_choose(const ps_chart *chart, int64_t *step, int32_t *pipeline, ps_err *err) {
    const int64_t wanted_step = *step;
    const int32_t wanted_pipeline = *pipeline;
    if (!choose_first(chart, step, pipeline)) {
        return fail_choice(chart, wanted_step, wanted_pipeline, err);
    }
    if (wanted_pipeline >= 0) {
        return PS_OK;
    }
    ps_chart_window *windows = NULL;
    size_t n = 0;
    size_t n_pipelines = 0;
    ps_code code = ps_chart_windows(chart, &windows, &n, err);
    int32_t longest = ps_longest_pipeline(windows, n, *step, &n_pipelines);
    *pipeline = longest >= 0 ? longest : *pipeline;
    ps_free(windows);
    return code;
}

static void find_phases(ps_rows *r) {
    const ps_chart *chart = r->chart;
    for (size_t i = 0; i < chart->n_ops && !r->by_phase; i++) {
        const ps_op *op = &chart->ops[i];
        bool has_phase = op->phase >= 0 && op->phase < PS_N_PHASES;
        r->by_phase = has_phase && chart_row_is_in(r, op) && !ps_op_is_transfer(op);
    }
}

PS_COMPARE(compare_windows_step, ps_chart_window, PS_BY(pipeline) PS_BY(step))
PS_COMPARE(compare_windows_start, ps_chart_window, PS_BY(pipeline) PS_BY(start_ns) PS_BY(step))

static void widen_window(ps_chart_window *w, int64_t start_ns, int64_t end_ns) {
    w->start_ns = start_ns < w->start_ns ? start_ns : w->start_ns;
    w->end_ns = end_ns > w->end_ns ? end_ns : w->end_ns;
}

/* One for each run of ops of a rank, then those of a pipeline and step as one. */
ps_code ps_chart_windows(const ps_chart *chart, ps_chart_window **out, size_t *n_out, ps_err *err) {
    ps_chart_window *w = NULL;
    size_t n = 0;
    size_t cap = 0;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int32_t pipeline = chart->ranks[op->rank].pipeline;
        if (n == 0 || w[n - 1].pipeline != pipeline || w[n - 1].step != op->step) {
            if (!ps_grow(&w, &cap, n + 1, chart->n_ops, sizeof *w)) {
                ps_free(w);
                return ps_fail_nomem(err);
            }
            w[n++] = (ps_chart_window){pipeline, op->step, INT64_MAX, INT64_MIN};
        }
        if (!ps_op_is_transfer(op) && op->end_ns >= op->start_ns) {
            widen_window(&w[n - 1], op->start_ns, op->end_ns);
        }
    }
    ps_sort(w, n, sizeof *w, compare_windows_step);
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (kept > 0 && compare_windows_step(&w[kept - 1], &w[i]) == 0) {
            widen_window(&w[kept - 1], w[i].start_ns, w[i].end_ns);
        } else {
            w[kept++] = w[i];
        }
    }
    ps_sort(w, kept, sizeof *w, compare_windows_start);
    *out = w;
    *n_out = kept;
    return PS_OK;
}

PS_COMPARE(compare_windows_by_step, ps_chart_window, PS_BY(step) PS_BY(pipeline))

void ps_chart_windows_by_step(ps_chart_window *windows, size_t n) {
    ps_sort(windows, n, sizeof *windows, compare_windows_by_step);
}

static double window_length(const ps_chart_window *w) {
    return (double)w->end_ns - (double)w->start_ns;
}

int32_t ps_longest_pipeline(const ps_chart_window *windows, size_t n, int64_t step,
                            size_t *n_pipelines) {
    const ps_chart_window *first = NULL;
    const ps_chart_window *longest = NULL;
    const ps_chart_window *shortest = NULL;
    *n_pipelines = 0;
    for (size_t i = 0; i < n; i++) {
        const ps_chart_window *w = &windows[i];
        if (w->step == step && w->end_ns >= w->start_ns) {
            first = first == NULL ? w : first;
            longest = longest == NULL || window_length(w) > window_length(longest) ? w : longest;
            shortest =
                shortest == NULL || window_length(w) < window_length(shortest) ? w : shortest;
            *n_pipelines += 1;
        }
    }
    const ps_chart_window *beside = longest == first ? shortest : first;
    bool stands_out =
        longest != NULL && window_length(longest) > window_length(beside) * (1 + PS_FOLD_NEAR);
    return stands_out ? longest->pipeline : -1;
}

static ps_code find_chart_row_span(ps_rows *r, ps_err *err) {
    ps_chart_window *windows = NULL;
    size_t n = 0;
    int64_t start = 0;
    int64_t end = -1;
    ps_code code = ps_chart_windows(r->chart, &windows, &n, err);
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        bool is_own = windows[i].step == r->step && windows[i].pipeline == r->pipeline;
        start = is_own ? windows[i].start_ns : start;
        end = is_own ? windows[i].end_ns : end;
        r->several_steps = r->several_steps || windows[i].step != r->step;
    }
    r->is_longest = ps_longest_pipeline(windows, n, r->step, &r->n_pipelines) == r->pipeline;
    ps_free(windows);
    if (code != PS_OK) {
        return code;
    }
    if (end < start) {
        return ps_fail(err, PS_NOTHING, "the chart has no op with a valid time in step %lld",
                       (long long)r->step);
    }
    if (__builtin_sub_overflow(end, start, &r->span_ns)) {
        return ps_fail(err, PS_RANGE, "step %lld is too long to draw", (long long)r->step);
    }
    r->start_ns = start;
    r->span_ns += r->span_ns == 0;
    return PS_OK;
}

/* --- filling ----------------------------------------------------------------------------------------------- */

static int compare_chart_row_rows(const void *a, const void *b) {
    const ps_chart_rank *x = ((const ps_row *)a)->rank;
    const ps_chart_rank *y = ((const ps_row *)b)->rank;
    /* As unsigned, an unknown stage (-1) comes last. */
    if (x->stage != y->stage) {
        return (uint32_t)x->stage < (uint32_t)y->stage ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

PS_COMPARE(compare_blocks, ps_block, PS_BY(start_ns) PS_BY(op))

static ps_block block_of(const ps_rows *r, size_t i) {
    const ps_op *op = &r->chart->ops[i];
    bool phase = r->by_phase && op->phase >= 0 && op->phase < PS_N_PHASES;
    /* Wrapping: a transfer far outside the window may not fit, and is not drawn then. */
    return (ps_block){.start_ns = (int64_t)((uint64_t)op->start_ns - (uint64_t)r->start_ns),
                      .end_ns = (int64_t)((uint64_t)op->end_ns - (uint64_t)r->start_ns),
                      .op = (uint32_t)i,
                      .look = (uint8_t)(phase ? PS_N_OP_KINDS + op->phase : op->kind)};
}

static void fill_chart_row(ps_rows *r, const size_t *row_of) {
    const ps_chart *chart = r->chart;
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (chart_row_is_in(r, &chart->ops[i])) {
            ps_row *row = &r->rows[row_of[chart->ops[i].rank]];
            *(ps_op_is_transfer(&chart->ops[i]) ? &row->transfers.n : &row->ops.n) += 1;
        }
    }
    ps_block *next = r->blocks;
    for (size_t k = 0; k < r->n; k++) {
        r->rows[k].ops.at = next;
        r->rows[k].transfers.at = next + r->rows[k].ops.n;
        next = r->rows[k].transfers.at + r->rows[k].transfers.n;
        r->has_transfers = r->has_transfers || r->rows[k].transfers.n > 0;
        r->rows[k].ops.n = r->rows[k].transfers.n = 0; /* counted again while filling */
    }
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (chart_row_is_in(r, &chart->ops[i])) {
            ps_row *row = &r->rows[row_of[chart->ops[i].rank]];
            ps_blocks *blocks = ps_op_is_transfer(&chart->ops[i]) ? &row->transfers : &row->ops;
            blocks->at[blocks->n++] = block_of(r, i);
        }
    }
    for (size_t k = 0; k < r->n; k++) {
        ps_blocks *parts[] = {&r->rows[k].ops, &r->rows[k].transfers};
        for (size_t p = 0; p < 2; p++) {
            ps_sort(parts[p]->at, parts[p]->n, sizeof(ps_block), compare_blocks);
        }
    }
}

/* --- figures ----------------------------------------------------------------------------------------------- */

static void add_chart_row_idle(ps_row *row, int64_t start_ns, int64_t end_ns,
                               ps_bubble_cause cause) {
    if (end_ns > start_ns) {
        row->idle.at[row->idle.n++] = (ps_block){start_ns, end_ns, PS_NO_INDEX, (uint8_t)cause};
        row->cause_ns[cause] += end_ns - start_ns;
    }
}

/* Of charts that were not measured; those that were have their bubbles. */
static void add_gaps(const ps_rows *r, ps_row *row) {
    size_t n = row->ops.n;
    size_t first = n;
    size_t last = n > 0 ? n - 1 : 0;
    for (size_t i = 0; i < n; i++) {
        if (ps_op_is_pass(&r->chart->ops[row->ops.at[i].op])) {
            first = first < n ? first : i;
            last = i;
        }
    }
    first = first < n ? first : 0;
    int64_t until = 0;
    for (size_t i = 0; i < n; i++) {
        const ps_block *b = &row->ops.at[i];
        add_chart_row_idle(row, until, b->start_ns, ps_bubble_cause_before(i, first, last));
        until = b->end_ns > until ? b->end_ns : until;
    }
    if (n > 0) {
        add_chart_row_idle(row, until, r->span_ns, ps_bubble_cause_before(n, first, last));
    }
}

/* False when the chart has no bubbles here. */
static bool take_bubbles(ps_rows *r, const size_t *row_of) {
    const ps_chart *chart = r->chart;
    ps_block *next = r->idle;
    size_t n = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < chart->n_bubbles; i++) {
            const ps_bubble *b = &chart->bubbles[i];
            if (b->step != r->step || chart->ranks[b->rank].pipeline != r->pipeline) {
                continue;
            }
            ps_row *row = &r->rows[row_of[b->rank]];
            if (pass == 0) {
                row->idle.n++;
                n++;
            } else {
                add_chart_row_idle(row, b->start_ns - r->start_ns, b->end_ns - r->start_ns,
                                   (ps_bubble_cause)b->cause);
            }
        }
        for (size_t k = 0; pass == 0 && k < r->n; k++) {
            r->rows[k].idle.at = next;
            next += r->rows[k].idle.n;
            r->rows[k].idle.n = 0;
        }
    }
    return n > 0;
}

/* As take_bubbles; bubbles and these fill the gaps between ops. */
static void take_others(ps_rows *r, const size_t *row_of) {
    const ps_chart *chart = r->chart;
    ps_block *next = r->others;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < chart->n_others; i++) {
            const ps_chart_other *o = &chart->others[i];
            if (o->step != r->step || chart->ranks[o->rank].pipeline != r->pipeline) {
                continue;
            }
            ps_row *row = &r->rows[row_of[o->rank]];
            if (pass == 1) {
                row->others.at[row->others.n] =
                    (ps_block){o->start_ns - r->start_ns, o->end_ns - r->start_ns, PS_NO_INDEX,
                               PS_LOOK_OTHER_WORK};
                row->other_ns += o->end_ns - o->start_ns;
                r->has_others = true;
            }
            row->others.n++;
        }
        for (size_t k = 0; pass == 0 && k < r->n; k++) {
            r->rows[k].others.at = next;
            next += r->rows[k].others.n;
            r->rows[k].others.n = 0;
        }
    }
}

static void measure_chart_row(ps_rows *r, const size_t *row_of) {
    double sum = 0;
    size_t n = 0;
    ps_bubble_word word = ps_chart_bubble(r->chart, r->step, r->pipeline, &r->bubble_share);
    bool given = take_bubbles(r, row_of) || word != PS_BUBBLE_UNMEASURED;
    r->is_untold = word == PS_BUBBLE_UNTOLD;
    r->unmarked_share = ps_chart_unmarked(r->chart, r->step, r->pipeline);
    take_others(r, row_of);
    ps_block *next = r->idle;
    for (size_t k = 0; k < r->n; k++) {
        ps_row *row = &r->rows[k];
        int64_t until = INT64_MIN;
        for (size_t i = 0; i < row->ops.n; i++) {
            const ps_block *b = &row->ops.at[i];
            row->look_ns[b->look] += b->end_ns - b->start_ns;
            if (b->end_ns > until) {
                row->busy_ns += b->end_ns - (b->start_ns > until ? b->start_ns : until);
                until = b->end_ns;
            }
        }
        if (!given) {
            row->idle.at = next;
            add_gaps(r, row);
            next += row->idle.n;
        }
        sum += (double)row->busy_ns / (double)r->span_ns;
        n += row->ops.n > 0;
    }
    r->busy_share = n > 0 ? sum / (double)n : 0;
    r->bubble_share = word == PS_BUBBLE_UNMEASURED ? 1 - r->busy_share : r->bubble_share;
}

/* --- entry points ------------------------------------------------------------------------------------------ */

ps_code ps_rows_make(const ps_chart *chart, int64_t step, int32_t pipeline, ps_rows *out,
                     ps_err *err) {
    *out = (ps_rows){.chart = chart, .step = step, .pipeline = pipeline};
    ps_code code = ps_chart_choose(chart, &out->step, &out->pipeline, err);
    code = code == PS_OK ? find_chart_row_span(out, err) : code;
    if (code != PS_OK) {
        return code;
    }
    find_phases(out);
    size_t *row_of = ps_calloc(chart->n_ranks, sizeof *row_of);
    out->rows = ps_calloc(chart->n_ranks, sizeof *out->rows);
    out->blocks = ps_calloc(chart->n_ops, sizeof *out->blocks);
    /* A gap before each op and one after each row's last. */
    out->idle = ps_calloc(chart->n_ops + chart->n_ranks + chart->n_bubbles, sizeof *out->idle);
    out->others = ps_calloc(chart->n_others, sizeof *out->others);
    if (row_of == NULL || out->rows == NULL || out->blocks == NULL || out->idle == NULL ||
        out->others == NULL) {
        ps_free(row_of);
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < chart->n_ranks; i++) {
        if (chart->ranks[i].pipeline == out->pipeline) {
            out->rows[out->n++].rank = &chart->ranks[i];
        }
        out->several_pipelines =
            out->several_pipelines || chart->ranks[i].pipeline != out->pipeline;
    }
    qsort(out->rows, out->n, sizeof *out->rows, compare_chart_row_rows);
    for (size_t k = 0; k < out->n; k++) {
        row_of[out->rows[k].rank - chart->ranks] = k;
    }
    fill_chart_row(out, row_of);
    measure_chart_row(out, row_of);
    ps_free(row_of);
    return PS_OK;
}

void ps_rows_fini(ps_rows *rows) {
    ps_free(rows->rows);
    ps_free(rows->blocks);
    ps_free(rows->idle);
    ps_free(rows->others);
    *rows = (ps_rows){0};
}

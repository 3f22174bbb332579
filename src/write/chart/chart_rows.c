/* Counting, then filling, then sorting each row's part: one array for all blocks, so that a chart of a million ops
 * costs two allocations. */
#include "write/chart/chart_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "model/chart_groups.h"
#include "write/out/writers.h"

static bool is_transfer(const ps_op *op) {
    return op->kind == PS_OP_SEND || op->kind == PS_OP_RECV;
}

static bool chart_row_is_in(const ps_rows *r, const ps_op *op) {
    return op->step == r->step && r->chart->ranks[op->rank].pipeline == r->pipeline &&
           op->end_ns >= op->start_ns;
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

static ps_code choose_chart_row(ps_rows *r, int64_t step, int32_t pipeline, ps_err *err) {
    const ps_chart *chart = r->chart;
    bool found = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        int32_t of = chart->ranks[op->rank].pipeline;
        r->several_steps = r->several_steps || op->step != chart->ops[0].step;
        r->several_pipelines =
            r->several_pipelines || of != chart->ranks[chart->ops[0].rank].pipeline;
        if ((step != PS_FIRST_STEP && op->step != step) || (pipeline >= 0 && of != pipeline)) {
            continue;
        }
        if (!found || op->step < r->step || (op->step == r->step && of < r->pipeline)) {
            r->step = op->step;
            r->pipeline = of;
        }
        found = true;
    }
    if (chart->n_ops == 0) {
        return ps_fail(err, PS_NOTHING, "the chart is empty: it has no ops to draw");
    }
    return found ? PS_OK
                 : ps_fail(err, PS_NOTHING, "the chart has no ops of that step and pipeline");
}

static ps_code find_chart_row_span(ps_rows *r, ps_err *err) {
    int64_t start = INT64_MAX;
    int64_t end = INT64_MIN;
    for (size_t i = 0; i < r->chart->n_ops; i++) {
        const ps_op *op = &r->chart->ops[i];
        if (chart_row_is_in(r, op) && !is_transfer(op)) {
            start = op->start_ns < start ? op->start_ns : start;
            end = op->end_ns > end ? op->end_ns : end;
            r->by_phase = r->by_phase || (op->phase >= 0 && op->phase < PS_N_PHASES);
        }
    }
    if (end < start) {
        return ps_fail(err, PS_NOTHING, "step %lld has no computation to draw", (long long)r->step);
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
            *(is_transfer(&chart->ops[i]) ? &row->transfers.n : &row->ops.n) += 1;
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
            ps_blocks *blocks = is_transfer(&chart->ops[i]) ? &row->transfers : &row->ops;
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

static void measure_chart_row(ps_rows *r, const size_t *row_of) {
    double sum = 0;
    size_t n = 0;
    ps_bubble_word word = ps_chart_bubble(r->chart, r->step, r->pipeline, &r->bubble_share);
    bool given = take_bubbles(r, row_of) || word != PS_BUBBLE_UNMEASURED;
    r->is_untold = word == PS_BUBBLE_UNTOLD;
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
    *out = (ps_rows){.chart = chart};
    ps_code code = choose_chart_row(out, step, pipeline, err);
    if (code == PS_OK) {
        code = find_chart_row_span(out, err);
    }
    if (code != PS_OK) {
        return code;
    }
    size_t *row_of = ps_calloc(chart->n_ranks, sizeof *row_of);
    out->rows = ps_calloc(chart->n_ranks, sizeof *out->rows);
    out->blocks = ps_calloc(chart->n_ops, sizeof *out->blocks);
    /* A gap before each op and one after each row's last. */
    out->idle = ps_calloc(chart->n_ops + chart->n_ranks + chart->n_bubbles, sizeof *out->idle);
    if (row_of == NULL || out->rows == NULL || out->blocks == NULL || out->idle == NULL) {
        ps_free(row_of);
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < chart->n_ranks; i++) {
        if (chart->ranks[i].pipeline == out->pipeline) {
            out->rows[out->n++].rank = &chart->ranks[i];
        }
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
    *rows = (ps_rows){0};
}

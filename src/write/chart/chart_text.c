/* The pipeline chart for a terminal:
 *
 *   1f1b, 2 stages, 4 microbatches · step 0 · bubble 20.0 %
 *
 *   stage 0  rank 0 ┃0█1█0▒▒▒2█1▒▒▒3█2▒▒▒··3▒▒▒┃  80.0 %
 *   stage 1  rank 1 ┃··0█0▒▒▒1█1▒▒▒2█2▒▒▒3█3▒▒▒┃  80.0 %
 *                   └─────────┴─────────┴──────┘    busy
 *                   0         5         10      13.2 ms
 *
 *   ██ F forward   ▒▒ B whole backward
 *
 * Below a stage whose ops have parts stand rows of them: forward, backward, communication.
 *
 * This file chooses what is drawn and lays out the page; chart_cells.c draws the rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/order.h"
#include "base/utf8.h"
#include "write/chart/chart_cells.h"
#include "write/chart/chart_clocks.h"
#include "write/out/number_text.h"
#include "write/out/shorten.h"
#include "write/out/writers.h"

enum {
    WIDTH_MIN = 40,
    WIDTH_MAX = 1000,
    WIDTH_SHORT_LABEL = 60,
    SHARE_WIDTH = 9 /* "  100.0 %" */
};

typedef struct chart_row {
    const ps_chart_rank *rank;
    size_t first, n_ops; /* in picture.ops */
    int64_t busy_ns;
    bool has_transfers;
} chart_row;

typedef struct picture {
    const ps_chart *chart;
    ps_canvas canvas;
    int64_t step;
    int32_t pipeline;
    bool with_transfers;
    bool several_pipelines, several_steps;
    chart_row *rows;
    size_t n_rows;
    const ps_op **ops; /* of the rows, one after the other, in start order */
    size_t label_width, width;
    int stage_digits, rank_digits;
    bool short_labels;
    bool mixed; /* some cell shows several ops */
    ps_buf *out;
} picture;

/* --- what is drawn ----------------------------------------------------------------------------------------- */

static ps_code fail_step(const ps_chart *chart, int64_t step, int64_t low, int64_t high,
                         ps_err *err) {
    if (chart->n_ops == 0) {
        return ps_fail(err, PS_NOTHING, "the chart is empty: it has no ops to draw");
    }
    if (low == high) {
        return ps_fail(err, PS_NOTHING, "the chart has no ops of step %lld, only of step %lld",
                       (long long)step, (long long)low);
    }
    return ps_fail(err, PS_NOTHING, "the chart has no ops of step %lld (its steps: %lld to %lld)",
                   (long long)step, (long long)low, (long long)high);
}

static ps_code choose_step(picture *p, int64_t wanted, ps_err *err) {
    const ps_chart *chart = p->chart;
    int64_t low = INT64_MAX;
    int64_t high = INT64_MIN;
    bool found = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        int64_t step = chart->ops[i].step;
        low = step < low ? step : low;
        high = step > high ? step : high;
        found = found || step == wanted;
    }
    p->several_steps = low < high;
    p->step = wanted == PS_FIRST_STEP ? low : wanted;
    return found || (wanted == PS_FIRST_STEP && chart->n_ops > 0)
               ? PS_OK
               : fail_step(chart, wanted, low, high, err);
}

static ps_code choose_pipeline(picture *p, int32_t wanted, ps_err *err) {
    const ps_chart *chart = p->chart;
    int32_t first = INT32_MAX;
    bool found = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (chart->ops[i].step == p->step) {
            int32_t pipeline = chart->ranks[chart->ops[i].rank].pipeline;
            first = pipeline < first ? pipeline : first;
            found = found || pipeline == wanted;
        }
    }
    for (size_t i = 1; i < chart->n_ranks; i++) {
        p->several_pipelines =
            p->several_pipelines || chart->ranks[i].pipeline != chart->ranks[0].pipeline;
    }
    p->pipeline = wanted < 0 ? first : wanted;
    if (wanted >= 0 && !found) {
        return ps_fail(err, PS_NOTHING, "the chart has no ops of pipeline %d in step %lld",
                       (int)wanted, (long long)p->step);
    }
    return PS_OK;
}

static int compare_chart_text_rows(const void *a, const void *b) {
    const ps_chart_rank *x = ((const chart_row *)a)->rank;
    const ps_chart_rank *y = ((const chart_row *)b)->rank;
    /* As unsigned, an unknown stage (-1) comes last. */
    if (x->stage != y->stage) {
        return (uint32_t)x->stage < (uint32_t)y->stage ? -1 : 1;
    }
    return (x->rank > y->rank) - (x->rank < y->rank);
}

static int compare_chart_text_ops(const void *a, const void *b) {
    const ps_op *x = *(const ps_op *const *)a;
    const ps_op *y = *(const ps_op *const *)b;
    if (x->start_ns != y->start_ns) {
        return x->start_ns < y->start_ns ? -1 : 1;
    }
    return (x > y) - (x < y); /* both lie in one array: keeps the chart's order */
}

/* Time with at least one op in it. */
static int64_t busy_of(const ps_op *const *ops, size_t n) {
    int64_t busy = 0;
    int64_t until = INT64_MIN;
    for (size_t i = 0; i < n; i++) {
        if (ps_is_transfer(ops[i]) || ops[i]->end_ns <= until) {
            continue;
        }
        busy += ops[i]->end_ns - (ops[i]->start_ns > until ? ops[i]->start_ns : until);
        until = ops[i]->end_ns;
    }
    return busy;
}

static bool is_drawn(const picture *p, const ps_op *op) {
    return op->step == p->step && p->chart->ranks[op->rank].pipeline == p->pipeline &&
           op->end_ns >= op->start_ns && (p->with_transfers || !ps_is_transfer(op));
}

/* Rows of the pipeline's ranks with their ops; `row_of` is scratch of n_ranks. */
static void gather_chart_text(picture *p, size_t *row_of) {
    const ps_chart *chart = p->chart;
    for (size_t i = 0; i < chart->n_ranks; i++) {
        if (chart->ranks[i].pipeline == p->pipeline) {
            p->rows[p->n_rows++].rank = &chart->ranks[i];
        }
    }
    qsort(p->rows, p->n_rows, sizeof *p->rows, compare_chart_text_rows);
    for (size_t r = 0; r < p->n_rows; r++) {
        row_of[p->rows[r].rank - chart->ranks] = r;
    }
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (is_drawn(p, &chart->ops[i])) {
            p->rows[row_of[chart->ops[i].rank]].n_ops++;
        }
    }
    for (size_t r = 1; r < p->n_rows; r++) {
        p->rows[r].first = p->rows[r - 1].first + p->rows[r - 1].n_ops;
        p->rows[r - 1].n_ops = 0; /* counted again while filling */
    }
    p->rows[p->n_rows - 1].n_ops = 0;
    for (size_t i = 0; i < chart->n_ops; i++) {
        if (is_drawn(p, &chart->ops[i])) {
            chart_row *row = &p->rows[row_of[chart->ops[i].rank]];
            p->ops[row->first + row->n_ops++] = &chart->ops[i];
        }
    }
}

/* Start and length of the step: of its computation, since a receive may be posted long before it. */
static ps_code find_chart_text_span(picture *p, ps_err *err) {
    int64_t start = INT64_MAX;
    int64_t end = INT64_MIN;
    for (size_t r = 0; r < p->n_rows; r++) {
        for (size_t i = p->rows[r].first; i < p->rows[r].first + p->rows[r].n_ops; i++) {
            if (ps_is_transfer(p->ops[i])) {
                continue;
            }
            start = p->ops[i]->start_ns < start ? p->ops[i]->start_ns : start;
            end = p->ops[i]->end_ns > end ? p->ops[i]->end_ns : end;
        }
    }
    if (end < start) {
        return ps_fail(err, PS_NOTHING, "the chart has no op with a valid time in step %lld",
                       (long long)p->step);
    }
    int64_t span = 0;
    /* The cells count in span times slots; beyond (six days in one step) nothing is drawn. */
    if (__builtin_sub_overflow(end, start, &span) || span > INT64_MAX / (WIDTH_MAX * 16)) {
        return ps_fail(err, PS_RANGE, "step %lld is too long to draw", (long long)p->step);
    }
    p->canvas.start_ns = start;
    p->canvas.span_ns = span > 0 ? span : 1;
    return PS_OK;
}

static void finish_rows(picture *p) {
    bool colours = p->canvas.style.colours != PS_COLOURS_NONE;
    for (size_t r = 0; r < p->n_rows; r++) {
        chart_row *row = &p->rows[r];
        if (row->n_ops == 0) {
            continue;
        }
        qsort(p->ops + row->first, row->n_ops, sizeof *p->ops, compare_chart_text_ops);
        row->busy_ns = busy_of(p->ops + row->first, row->n_ops);
        for (size_t i = row->first; i < row->first + row->n_ops; i++) {
            row->has_transfers = row->has_transfers || ps_is_transfer(p->ops[i]);
            p->canvas.by_phase = p->canvas.by_phase || (colours && p->ops[i]->phase >= 0);
        }
    }
}

/* Whether whole cells let clearly more labels in than exact edges do. */
static bool better_snapped(const picture *p) {
    size_t exact = 0;
    size_t snapped = 0;
    for (size_t r = 0; r < p->n_rows; r++) {
        for (size_t i = p->rows[r].first; i < p->rows[r].first + p->rows[r].n_ops; i++) {
            char label[PS_CELLS_LABEL];
            double cells = (double)(p->ops[i]->end_ns - p->ops[i]->start_ns) /
                           (double)p->canvas.span_ns * (double)p->canvas.n_cells;
            /* One cell beside the label; exact edges cost half a cell more on average, snapped ones may give it. */
            exact += cells >= 1.5 && ps_cells_label(p->ops[i], (size_t)(cells - 1.5), label) > 0;
            snapped += cells >= 1.5 && ps_cells_label(p->ops[i], (size_t)(cells - 0.5), label) > 0;
        }
    }
    return snapped * 4 > exact * 5;
}

/* --- the page ---------------------------------------------------------------------------------------------- */

static bool coloured(const picture *p) {
    return p->canvas.style.colours != PS_COLOURS_NONE;
}

static void put_quiet(const picture *p, const char *utf8, const char *ascii) {
    ps_buf_add_str(p->out, coloured(p) ? "\033[2m" : "");
    ps_buf_add_str(p->out, p->canvas.style.utf8 ? utf8 : ascii);
    ps_buf_add_str(p->out, coloured(p) ? "\033[0m" : "");
}

static int wider(int n, int32_t number) {
    int digits = snprintf(NULL, 0, "%d", (int)number);
    return digits > n ? digits : n;
}

static void lay_chart_text_out(picture *p, uint32_t width) {
    p->stage_digits = 1;
    p->rank_digits = 1;
    for (size_t r = 0; r < p->n_rows; r++) {
        const ps_chart_rank *rank = p->rows[r].rank;
        p->stage_digits = rank->stage >= 0 ? wider(p->stage_digits, rank->stage) : p->stage_digits;
        p->rank_digits = rank->rank >= 0 ? wider(p->rank_digits, rank->rank) : p->rank_digits;
    }
    p->width = width == 0 ? 100 : width;
    p->width = p->width < WIDTH_MIN ? WIDTH_MIN : p->width > WIDTH_MAX ? WIDTH_MAX : p->width;
    p->short_labels = p->width < WIDTH_SHORT_LABEL;
    int label = p->short_labels ? p->stage_digits + 1 : 14 + p->stage_digits + p->rank_digits;
    p->label_width = (size_t)label;
    p->canvas.n_cells = p->width - p->label_width - 2 - SHARE_WIDTH; /* label ┃cells┃ share */
}

/* "stage 0  rank 12 ", or "0 " when there is little room. */
static void put_chart_text_label(const picture *p, const ps_chart_rank *rank) {
    char stage[16] = "?";
    char number[16] = "?";
    if (rank->stage >= 0) {
        (void)snprintf(stage, sizeof stage, "%d", (int)rank->stage);
    }
    if (rank->rank >= 0) {
        (void)snprintf(number, sizeof number, "%d", (int)rank->rank);
    }
    if (p->short_labels) {
        ps_buf_addf(p->out, "%*s ", p->stage_digits, stage);
    } else {
        ps_buf_addf(p->out, "stage %*s  rank %*s ", p->stage_digits, stage, p->rank_digits, number);
    }
}

/* "  81.2 %", in tenths of a percent as integers: the same on every machine. */
static void put_chart_text_share(const picture *p, const chart_row *row) {
    if (row->n_ops == 0) {
        ps_buf_add_str(p->out, "   no ops");
        return;
    }
    char share[PS_NUMBER_TEXT];
    ps_int_scaled((int64_t)((double)row->busy_ns / (double)p->canvas.span_ns * 1000 + 0.5), 10, 1,
                  share);
    ps_buf_addf(p->out, "%*s %%", (int)SHARE_WIDTH - 2, share);
}

/* --- parts of ops ------------------------------------------------------------------------------------------ */

typedef enum lane { LANE_FORWARD, LANE_BACKWARD, LANE_COMMUNICATION, N_LANES } part_lane;

static part_lane chart_text_lane_of(const ps_chart_part *part) {
    return part->communicates      ? LANE_COMMUNICATION
           : part->kind == PS_OP_F ? LANE_FORWARD
                                   : LANE_BACKWARD;
}

static bool is_of(const picture *p, const chart_row *row, const ps_chart_part *part) {
    const ps_op *op = &p->chart->ops[part->op];
    return is_drawn(p, op) && &p->chart->ranks[op->rank] == row->rank;
}

/* "attn" of "attn(F)": the row says the pass. */
static const char *part_name(ps_arena *arena, const ps_chart_part *part) {
    return part->communicates ? part->name
                              : ps_arena_strndup(arena, part->name, strcspn(part->name, "("));
}

PS_COMPARE(compare_parts, ps_op, PS_BY(start_ns) PS_BY(microbatch))

/* One row of blocks; `ops` and `refs` have room for all parts of the chart. */
static ps_code put_chart_text_lane(picture *p, const chart_row *row, part_lane lane, ps_op *ops,
                                   const ps_op **refs, ps_err *err) {
    static const char *const NAMES[N_LANES][2] = {
        {"forward ", "F "}, {"backward ", "B "}, {"communication ", "c "}};
    ps_arena arena = {0};
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < p->chart->n_parts; i++) {
        const ps_chart_part *part = &p->chart->parts[i];
        if (chart_text_lane_of(part) == lane && is_of(p, row, part)) {
            ops[n] = (ps_op){.start_ns = part->start_ns,
                             .end_ns = part->end_ns,
                             .name = part_name(&arena, part),
                             .microbatch = (int32_t)n, /* the order of those that begin together */
                             .microbatch2 = -1,
                             .phase = -1,
                             .kind = lane == LANE_COMMUNICATION ? PS_OP_OTHER : part->kind};
            ok = ops[n++].name != NULL;
        }
    }
    qsort(ops, n, sizeof *ops, compare_parts);
    for (size_t i = 0; i < n; i++) {
        ops[i].microbatch = -1;
        refs[i] = &ops[i];
    }
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    if (ok && n > 0) {
        ps_buf_addf(p->out, "%*s", (int)p->label_width, NAMES[lane][p->short_labels]);
        put_quiet(p, "┃", "|");
        code = ps_cells_draw(&p->canvas, refs, n, &p->mixed, p->out, err);
        put_quiet(p, "┃\n", "|\n");
    }
    ps_arena_fini(&arena);
    return code;
}

static ps_code put_chart_text_parts(picture *p, const chart_row *row, ps_err *err) {
    size_t n = p->chart->n_parts;
    if (n == 0) {
        return PS_OK;
    }
    ps_op *ops = ps_calloc(n, sizeof *ops);
    const ps_op **refs = ps_calloc(n, sizeof *refs);
    ps_code code = ops != NULL && refs != NULL ? PS_OK : ps_fail_nomem(err);
    for (part_lane lane = LANE_FORWARD; code == PS_OK && lane < N_LANES; lane++) {
        code = put_chart_text_lane(p, row, lane, ops, refs, err);
    }
    ps_free(ops);
    ps_free(refs);
    return code;
}

static ps_code put_chart_text_row(picture *p, const chart_row *row, ps_err *err) {
    const ps_op *const *ops = p->ops + row->first;
    put_chart_text_label(p, row->rank);
    put_quiet(p, "┃", "|");
    ps_code code = ps_cells_draw(&p->canvas, ops, row->n_ops, &p->mixed, p->out, err);
    put_quiet(p, "┃", "|");
    put_chart_text_share(p, row);
    ps_buf_add_char(p->out, '\n');
    if (code == PS_OK && row->has_transfers) {
        ps_buf_add_fill(p->out, ' ', p->label_width + 1);
        code = ps_cells_transfers(&p->canvas, ops, row->n_ops, p->out, err);
        ps_buf_add_char(p->out, '\n');
    }
    return code;
}

/* What, how it is known, step, bubble: the picture explains itself when it travels alone. */
static void put_chart_text_title(const picture *p) {
    const ps_chart *chart = p->chart;
    const char *dot = p->canvas.style.utf8 ? " · " : ", ";
    ps_buf tail = {0};
    if (chart->schedule[0] != '\0' && strcasestr(chart->title, chart->schedule) == NULL) {
        ps_buf_addf(&tail, "%s%s", dot, chart->schedule);
    }
    if (p->several_pipelines) {
        ps_buf_addf(&tail, "%spipeline %d", dot, (int)p->pipeline);
    }
    ps_buf_addf(&tail, "%sstep %lld", dot, (long long)p->step);
    double busy = 0;
    size_t n = 0;
    for (size_t r = 0; r < p->n_rows; r++) {
        busy += (double)p->rows[r].busy_ns / (double)p->canvas.span_ns;
        n += p->rows[r].n_ops > 0;
    }
    double share = 0;
    ps_bubble_word word = ps_chart_bubble(chart, p->step, p->pipeline, &share);
    share = word == PS_BUBBLE_UNMEASURED ? 1 - busy / (double)n : share;
    if (word == PS_BUBBLE_UNTOLD) {
        ps_buf_addf(&tail, "%sbubble not told", dot);
    } else {
        ps_buf_addf(&tail, "%sbubble %.1f %%", dot, share * 100);
    }
    ps_arena arena = {0};
    const char *what =
        ps_text_clean(&arena, chart->title[0] != '\0' ? chart->title : "pipeline chart");
    size_t columns = ps_utf8_columns(ps_buf_str(&tail), tail.len);
    size_t room = p->width > columns + 12 ? p->width - columns : 12;
    ps_buf_add_str(p->out, coloured(p) ? "\033[1m" : "");
    ps_text_middle(p->out, what != NULL ? what : "", room, p->canvas.style.utf8);
    ps_buf_add_str(p->out, coloured(p) ? "\033[0m" : "");
    ps_buf_addf(p->out, "%s\n\n", ps_buf_str(&tail));
    p->out->failed = p->out->failed || what == NULL || !ps_buf_ok(&tail);
    ps_buf_fini(&tail);
    ps_arena_fini(&arena);
}

/* --- axis -------------------------------------------------------------------------------------------------- */

typedef struct axis {
    const char *unit;
    int64_t unit_ns, tick_ns;
    unsigned decimals; /* of the ticks */
} axis;

/* Round ticks (1, 2 or 5 times a power of ten), at least ten columns apart. */
static axis make_axis(const picture *p) {
    static const axis UNITS[] = {
        {"ns", 1, 0, 0}, {"us", 1000, 0, 0}, {"ms", 1000000, 0, 0}, {"s", 1000000000, 0, 0}};
    int64_t span = p->canvas.span_ns;
    axis a = UNITS[span >= 10000000000 ? 3 : span >= 1000000 ? 2 : span >= 1000 ? 1 : 0];
    int64_t least = span / (int64_t)(p->canvas.n_cells / 10);
    static const int64_t STEPS[] = {1, 2, 5};
    int64_t power = 1;
    for (size_t i = 0; a.tick_ns == 0 || a.tick_ns < least; i++) {
        a.tick_ns = STEPS[i % 3] * power;
        power *= i % 3 == 2 ? 10 : 1;
    }
    for (int64_t rest = a.unit_ns; rest > 1 && a.tick_ns % rest != 0; rest /= 10) {
        a.decimals++;
    }
    return a;
}

/* Cell in which a time lies, counting the edge after the last cell. */
static size_t chart_text_cell_of(const picture *p, int64_t ns) {
    return (size_t)((double)ns / (double)p->canvas.span_ns * (double)p->canvas.n_cells);
}

/* "└────┴────┴───┘   busy" */
static void put_axis_line(const picture *p, const axis *a) {
    const char *const *glyph = NULL;
    static const char *const UTF8[] = {"└", "─", "┴", "┘"};
    static const char *const ASCII[] = {"+", "-", "+", "+"};
    glyph = p->canvas.style.utf8 ? UTF8 : ASCII;
    ps_buf line = {0};
    int64_t tick = a->tick_ns;
    ps_buf_add_str(&line, glyph[0]);
    for (size_t c = 0; c < p->canvas.n_cells; c++) {
        bool here = tick < p->canvas.span_ns && chart_text_cell_of(p, tick) == c;
        ps_buf_add_str(&line, glyph[here ? 2 : 1]);
        tick += here ? a->tick_ns : 0;
    }
    ps_buf_add_str(&line, glyph[3]);
    ps_buf_add_fill(p->out, ' ', p->label_width);
    put_quiet(p, ps_buf_str(&line), ps_buf_str(&line));
    put_quiet(p, "     busy\n", "     busy\n");
    p->out->failed = p->out->failed || !ps_buf_ok(&line);
    ps_buf_fini(&line);
}

/* Numbers centred below their ticks, the exact span with its unit at the right end. */
static void put_axis_numbers(const picture *p, const axis *a) {
    char text[PS_NUMBER_TEXT];
    char end[PS_NUMBER_TEXT];
    size_t room = p->canvas.n_cells + 2 + SHARE_WIDTH;
    double span = (double)p->canvas.span_ns / (double)a->unit_ns;
    unsigned decimals = ps_decimals_for(span);
    ps_int_scaled(p->canvas.span_ns, a->unit_ns, a->unit_ns == 1 ? 0 : decimals, end);
    size_t end_width = strlen(end);
    size_t end_at = p->canvas.n_cells + 1 - (end_width - 1) / 2;
    size_t at = 0;
    ps_buf_add_fill(p->out, ' ', p->label_width);
    for (int64_t tick = 0; tick < p->canvas.span_ns; tick += a->tick_ns) {
        ps_int_scaled(tick, a->unit_ns, tick == 0 ? 0 : a->decimals, text);
        size_t n = strlen(text);
        size_t edge = tick == 0 ? 0 : chart_text_cell_of(p, tick) + 1;
        size_t from = edge >= n / 2 ? edge - n / 2 : 0;
        if (from + n + 2 > end_at) {
            break;
        }
        ps_buf_add_fill(p->out, ' ', from - at);
        ps_buf_add_str(p->out, text);
        at = from + n;
    }
    if (end_at + end_width + 1 + strlen(a->unit) > room) {
        end_at = room - end_width - 1 - strlen(a->unit);
    }
    ps_buf_add_fill(p->out, ' ', end_at - at);
    ps_buf_addf(p->out, "%s %s\n", end, a->unit);
}

/* --- legend ------------------------------------------------------------------------------------------------ */

/* What the numbers of later chunks mean, by the first op that has one. */
static void explain_numbers(const picture *p) {
    const ps_op *op = NULL;
    for (size_t r = 0; r < p->n_rows; r++) {
        for (size_t i = p->rows[r].first; i < p->rows[r].first + p->rows[r].n_ops; i++) {
            op = op == NULL && ps_op_counts_on(p->ops[i]) ? p->ops[i] : op;
        }
    }
    if (op != NULL) {
        ps_buf_addf(p->out,
                    "Numbers count on from chunk to chunk: op %s is microbatch %d of chunk %d.\n",
                    op->name, (int)op->microbatch, (int)op->chunk);
    }
}

static void put_chart_text_legend(const picture *p) {
    bool used[PS_N_LOOKS] = {false};
    bool transfers = false;
    for (size_t r = 0; r < p->n_rows; r++) {
        for (size_t i = p->rows[r].first; i < p->rows[r].first + p->rows[r].n_ops; i++) {
            bool transfer = ps_is_transfer(p->ops[i]);
            used[ps_look_of(&p->canvas, p->ops[i])] |= !transfer;
            transfers = transfers || transfer;
        }
    }
    size_t at = 0;
    for (int look = 0; look < PS_N_LOOKS; look++) {
        if (!used[look]) {
            continue;
        }
        bool phase = look >= PS_N_OP_KINDS;
        const char *name = phase ? "" : ps_op_kind_name((ps_op_kind)look);
        const char *text =
            phase ? ps_phase_name(look - PS_N_OP_KINDS) : ps_kind_text((ps_op_kind)look);
        bool twice = strcasecmp(name, text) == 0; /* "OTHER other" */
        size_t columns = 3 + (phase || twice ? 0 : strlen(name) + 1) + strlen(text);
        if (at > 0 && at + 3 + columns > p->width) {
            ps_buf_add_char(p->out, '\n');
            at = 0;
        }
        ps_buf_add_str(p->out, at > 0 ? "   " : "");
        ps_cells_swatch(&p->canvas, (ps_look)look, p->out);
        ps_buf_addf(p->out, " %s%s%s", twice ? "" : name, phase || twice ? "" : " ", text);
        at += columns + (at > 0 ? 3 : 0);
    }
    ps_buf_add_char(p->out, '\n');
    if (transfers) {
        ps_buf_add_str(p->out,
                       p->canvas.style.utf8 ? "▴ send   ▾ receive\n" : "^ send   v receive\n");
    }
    explain_numbers(p);
    if (p->mixed) {
        ps_buf_add_str(p->out, "Mixed cells show shares of time.\n");
    }
}

/* --- where it comes from --------------------------------------------------------------------------------------- */

static void put_origin(const picture *p) {
    if (p->chart->labels[0] != '\0') {
        const char *how = p->chart->schedule_how;
        ps_buf_addf(p->out, "From %s.\n", p->chart->labels);
        if (p->chart->schedule[0] != '\0' && how[0] != '\0') {
            ps_buf_addf(p->out, "Schedule %s: %s.\n", p->chart->schedule, how);
        }
    }
    if (p->chart->unjudged[0] != '\0') {
        ps_buf_addf(p->out, "%s\n", p->chart->unjudged);
    }
    if (p->chart->unreplayed[0] != '\0') {
        ps_buf_addf(p->out, "%s\n", p->chart->unreplayed);
    }
    ps_chart_say_clocks(p->chart, p->canvas.style.utf8, "", "\n", p->out);
}

/* --- entry point ------------------------------------------------------------------------------------------- */

static ps_code put_chart_text_page(picture *p, uint32_t width, ps_err *err) {
    lay_chart_text_out(p, width);
    p->canvas.snap = better_snapped(p);
    put_chart_text_title(p);
    for (size_t r = 0; r < p->n_rows; r++) {
        ps_code code = put_chart_text_row(p, &p->rows[r], err);
        code = code == PS_OK ? put_chart_text_parts(p, &p->rows[r], err) : code;
        if (code != PS_OK) {
            return code;
        }
    }
    axis a = make_axis(p);
    put_axis_line(p, &a);
    put_axis_numbers(p, &a);
    ps_buf_add_char(p->out, '\n');
    put_chart_text_legend(p);
    put_origin(p);
    return PS_OK;
}

ps_code ps_write_chart_text(const ps_chart *chart, const ps_chart_text_opts *opts, ps_buf *out,
                            ps_err *err) {
    picture p = {.chart = chart, .canvas.style = opts->style, .out = out};
    p.with_transfers = opts->with_transfers;
    ps_code code = choose_step(&p, opts->step, err);
    if (code == PS_OK) {
        code = choose_pipeline(&p, opts->pipeline, err);
    }
    if (code != PS_OK) {
        return code;
    }
    p.rows = ps_calloc(chart->n_ranks, sizeof *p.rows);
    p.ops = ps_calloc(chart->n_ops, sizeof *p.ops);
    size_t *row_of = ps_calloc(chart->n_ranks, sizeof *row_of);
    if (p.rows == NULL || p.ops == NULL || row_of == NULL) {
        code = ps_fail_nomem(err);
    } else {
        gather_chart_text(&p, row_of);
        code = find_chart_text_span(&p, err);
    }
    if (code == PS_OK) {
        finish_rows(&p);
        code = put_chart_text_page(&p, opts->style.width, err);
    }
    ps_free(p.rows);
    ps_free(p.ops);
    ps_free(row_of);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

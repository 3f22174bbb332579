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
 * chart_rows.c says what is drawn, this file lays out the page, chart_cells.c draws the rows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/num.h"
#include "base/order.h"
#include "base/utf8.h"
#include "model/lacks.h"
#include "write/chart/chart_cells.h"
#include "write/chart/chart_clocks.h"
#include "write/chart/chart_note.h"
#include "write/chart/chart_rows.h"
#include "write/out/number_text.h"
#include "write/out/shorten.h"
#include "write/out/writers.h"

enum {
    WIDTH_MIN = 40,
    WIDTH_MAX = 1000,
    WIDTH_SHORT_LABEL = 60,
    SHARE_WIDTH = 9 /* "  100.0 %" */
};

typedef struct picture {
    const ps_chart *chart;
    ps_rows rows;
    ps_canvas canvas;
    bool with_transfers;
    const ps_op **ops; /* of the row that is drawn, in start order */
    size_t label_width, width;
    int stage_digits, rank_digits;
    bool short_labels;
    bool mixed; /* some cell shows several ops */
    ps_buf *out;
} picture;

/* --- what is drawn ----------------------------------------------------------------------------------------- */

static const ps_op *op_of(const picture *p, const ps_block *block) {
    return &p->chart->ops[block->op];
}

/* The ops of those blocks into p->ops. */
static const ps_op *const *take_ops(picture *p, const ps_blocks *blocks) {
    for (size_t i = 0; i < blocks->n; i++) {
        p->ops[i] = op_of(p, &blocks->at[i]);
    }
    return p->ops;
}

static ps_code choose_canvas(picture *p, ps_err *err) {
    const ps_rows *rows = &p->rows;
    /* The cells count in span times slots; beyond (six days in one step) nothing is drawn. */
    if (rows->span_ns > INT64_MAX / (WIDTH_MAX * 16)) {
        return ps_fail(err, PS_RANGE, "step %lld is too long to draw", (long long)rows->step);
    }
    p->canvas.start_ns = rows->start_ns;
    p->canvas.span_ns = rows->span_ns;
    p->canvas.by_phase = rows->by_phase && p->canvas.style.colours != PS_COLOURS_NONE;
    return PS_OK;
}

static void count_labels(const picture *p, const ps_blocks *blocks, size_t *exact,
                         size_t *snapped) {
    char label[PS_CELLS_LABEL];
    for (size_t i = 0; i < blocks->n; i++) {
        const ps_block *b = &blocks->at[i];
        double cells = (double)(b->end_ns - b->start_ns) / (double)p->canvas.span_ns *
                       (double)p->canvas.n_cells;
        /* One cell beside the label; exact edges cost half a cell more on average, snapped ones may give it. */
        *exact += cells >= 1.5 && ps_cells_label(op_of(p, b), (size_t)(cells - 1.5), label) > 0;
        *snapped += cells >= 1.5 && ps_cells_label(op_of(p, b), (size_t)(cells - 0.5), label) > 0;
    }
}

/* Whether whole cells let clearly more labels in than exact edges do. */
static bool better_snapped(const picture *p) {
    size_t exact = 0;
    size_t snapped = 0;
    for (size_t r = 0; r < p->rows.n; r++) {
        count_labels(p, &p->rows.rows[r].ops, &exact, &snapped);
        if (p->with_transfers) {
            count_labels(p, &p->rows.rows[r].transfers, &exact, &snapped);
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
    for (size_t r = 0; r < p->rows.n; r++) {
        const ps_chart_rank *rank = p->rows.rows[r].rank;
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

/* "stage 0  rank 12 ", or "0 " when there is little room; of a row that is no stage the rank alone. */
static void put_chart_text_label(const picture *p, const ps_chart_rank *rank) {
    char stage[16] = "?";
    char number[16] = "?";
    if (rank->stage >= 0) {
        (void)snprintf(stage, sizeof stage, "%d", (int)rank->stage);
    }
    if (rank->rank >= 0) {
        (void)snprintf(number, sizeof number, "%d", (int)rank->rank);
    }
    if (p->chart->is_side_by_side) {
        int room = (int)p->label_width - 1;
        if (p->short_labels) {
            ps_buf_addf(p->out, "%*s ", room, number);
        } else {
            ps_buf_addf(p->out, "%*s%*s ", room - p->rank_digits, "rank ", p->rank_digits, number);
        }
    } else if (p->short_labels) {
        ps_buf_addf(p->out, "%*s ", p->stage_digits, stage);
    } else {
        ps_buf_addf(p->out, "stage %*s  rank %*s ", p->stage_digits, stage, p->rank_digits, number);
    }
}

/* "  81.2 %", in tenths of a percent as integers: the same on every machine. */
static void put_chart_text_share(const picture *p, const ps_row *row) {
    if (row->ops.n == 0) {
        ps_buf_add_str(p->out, "   no ops");
        return;
    }
    char share[PS_NUMBER_TEXT];
    ps_int_scaled((int64_t)((double)row->busy_ns / (double)p->canvas.span_ns * 1000 + 0.5), 10, 1,
                  share);
    ps_buf_addf(p->out, "%*s %%", (int)SHARE_WIDTH - 2, share);
}

/* --- parts of ops ------------------------------------------------------------------------------------------ */

/* "attn" of "attn(F)": the row says the pass. */
static const char *part_name(ps_arena *arena, const ps_chart_part *part) {
    return part->communicates ? part->name
                              : ps_arena_strndup(arena, part->name, strcspn(part->name, "("));
}

PS_COMPARE(compare_parts, ps_op, PS_BY(start_ns) PS_BY(microbatch))

/* One row of blocks; `ops` and `refs` have room for all parts of the chart. */
static ps_code put_chart_text_lane(picture *p, const ps_row *row, ps_part_row lane, ps_op *ops,
                                   const ps_op **refs, ps_err *err) {
    static const char *const NAMES[PS_N_PART_ROWS][2] = {
        {"forward ", "F "}, {"backward ", "B "}, {"communication ", "c "}};
    ps_arena arena = {0};
    size_t n = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < p->chart->n_parts; i++) {
        const ps_chart_part *part = &p->chart->parts[i];
        if (ps_part_row_of(part) == lane && ps_row_has_part(&p->rows, row, part)) {
            ops[n] = (ps_op){.start_ns = part->start_ns,
                             .end_ns = part->end_ns,
                             .name = part_name(&arena, part),
                             .microbatch = (int32_t)n, /* the order of those that begin together */
                             .microbatch2 = -1,
                             .phase = -1,
                             .kind = lane == PS_PART_COMMUNICATION ? PS_OP_OTHER : part->kind};
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

static ps_code put_chart_text_parts(picture *p, const ps_row *row, ps_err *err) {
    size_t n = p->chart->n_parts;
    if (n == 0) {
        return PS_OK;
    }
    ps_op *ops = ps_calloc(n, sizeof *ops);
    const ps_op **refs = ps_calloc(n, sizeof *refs);
    ps_code code = ops != NULL && refs != NULL ? PS_OK : ps_fail_nomem(err);
    for (ps_part_row lane = PS_PART_FORWARD; code == PS_OK && lane < PS_N_PART_ROWS; lane++) {
        code = put_chart_text_lane(p, row, lane, ops, refs, err);
    }
    ps_free(ops);
    ps_free(refs);
    return code;
}

static ps_code put_chart_text_row(picture *p, const ps_row *row, ps_err *err) {
    put_chart_text_label(p, row->rank);
    put_quiet(p, "┃", "|");
    p->canvas.others = row->others.at;
    p->canvas.n_others = row->others.n;
    ps_code code =
        ps_cells_draw(&p->canvas, take_ops(p, &row->ops), row->ops.n, &p->mixed, p->out, err);
    p->canvas.n_others = 0;
    put_quiet(p, "┃", "|");
    put_chart_text_share(p, row);
    ps_buf_add_char(p->out, '\n');
    if (code == PS_OK && p->with_transfers && row->transfers.n > 0) {
        ps_buf_add_fill(p->out, ' ', p->label_width + 1);
        code = ps_cells_transfers(&p->canvas, take_ops(p, &row->transfers), row->transfers.n,
                                  p->out, err);
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
    if (p->rows.several_pipelines) {
        ps_buf_add_str(&tail, dot);
        ps_chart_say_pipeline(&p->rows, &tail);
    }
    ps_buf_addf(&tail, "%sstep %lld", dot, (long long)p->rows.step);
    if (p->rows.is_untold) {
        ps_buf_addf(&tail, PS_SAY(chart->lang, "%sbubble not told", "%s不给出空泡"), dot);
    } else {
        ps_buf_addf(&tail, PS_SAY(chart->lang, "%sbubble %s%.1f %%", "%s空泡 %s%.1f %%"), dot,
                    chart->is_at_most ? PS_SAY(chart->lang, "at most ", "最多 ") : "",
                    p->rows.bubble_share * 100);
        if (p->rows.unmarked_share >= PS_UNMARKED_SAID) {
            ps_buf_addf(&tail,
                        PS_SAY(chart->lang, " (%.1f %% may be ops without marks)",
                               "（其中 %.1f %% 可能是没有打点的算子）"),
                        p->rows.unmarked_share * 100);
        }
    }
    ps_arena arena = {0};
    const char *what = ps_text_clean(
        &arena,
        chart->title[0] != '\0' ? chart->title : PS_SAY(chart->lang, "pipeline chart", "流水线图"));
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

static void put_numbers(const picture *p) {
    size_t before = p->out->len;
    ps_chart_say_numbers(p->chart, "", "\n", p->out);
    if (p->out->len > before) {
        ps_buf_add_char(p->out, '\n');
    }
}

static void put_chart_text_legend(const picture *p) {
    bool used[PS_ROW_LOOKS] = {false};
    for (size_t r = 0; r < p->rows.n; r++) {
        const ps_blocks *blocks = &p->rows.rows[r].ops;
        for (size_t i = 0; i < blocks->n; i++) {
            used[ps_look_of(&p->canvas, op_of(p, &blocks->at[i]))] = true;
        }
    }
    size_t at = 0;
    for (int look = 0; look < PS_ROW_LOOKS; look++) {
        if (!used[look]) {
            continue;
        }
        bool phase = look >= PS_N_OP_KINDS;
        const char *name = phase ? "" : ps_op_kind_name((ps_op_kind)look);
        const char *text = phase ? ps_phase_word(p->chart->lang, look - PS_N_OP_KINDS)
                                 : ps_kind_word(p->chart->lang, (ps_op_kind)look);
        bool twice = strcasecmp(name, text) == 0; /* "OTHER other" */
        size_t columns =
            3 + (phase || twice ? 0 : strlen(name) + 1) + ps_utf8_columns(text, strlen(text));
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
    if (p->rows.has_others) {
        const char *other = ps_cells_other_work(&p->canvas);
        ps_buf_addf(p->out,
                    PS_SAY(p->chart->lang,
                           "%s%s other work: the device works in no op, which is no bubble\n",
                           "%s%s 其他工作：设备在工作，但不在任何算子中，不计为空泡\n"),
                    other, other);
    }
    if (p->with_transfers && p->rows.has_transfers) {
        ps_buf_add_str(p->out,
                       p->canvas.style.utf8
                           ? PS_SAY(p->chart->lang, "▴ send   ▾ receive\n", "▴ 发送   ▾ 接收\n")
                           : PS_SAY(p->chart->lang, "^ send   v receive\n", "^ 发送   v 接收\n"));
    }
    put_numbers(p);
    if (p->mixed) {
        ps_buf_add_str(p->out, PS_SAY(p->chart->lang, "Mixed cells show shares of time.\n",
                                      "混合的格子表示时间占比。\n"));
    }
}

/* --- where it comes from --------------------------------------------------------------------------------------- */

static void put_origin(const picture *p) {
    ps_lacks_say(p->chart->lang, p->chart->lacks, "", "\n", p->out);
    if (p->chart->labels[0] != '\0') {
        const char *how = p->chart->schedule_how;
        ps_buf_addf(p->out, PS_SAY(p->chart->lang, "From %s.\n", "来自：%s。\n"), p->chart->labels);
        if (p->chart->schedule[0] != '\0' && how[0] != '\0') {
            ps_buf_addf(p->out, PS_SAY(p->chart->lang, "Schedule %s: %s.\n", "调度 %s：%s。\n"),
                        p->chart->schedule, how);
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
    for (size_t r = 0; r < p->rows.n; r++) {
        ps_code code = put_chart_text_row(p, &p->rows.rows[r], err);
        code = code == PS_OK ? put_chart_text_parts(p, &p->rows.rows[r], err) : code;
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
    picture p = {.chart = chart,
                 .canvas.style = opts->style,
                 .with_transfers = opts->with_transfers,
                 .out = out};
    ps_code code = ps_rows_make(chart, opts->step, opts->pipeline, &p.rows, err);
    code = code == PS_OK ? choose_canvas(&p, err) : code;
    if (code == PS_OK) {
        p.ops = ps_calloc(chart->n_ops, sizeof *p.ops);
        code = p.ops != NULL ? put_chart_text_page(&p, opts->style.width, err) : ps_fail_nomem(err);
    }
    ps_rows_fini(&p.rows);
    ps_free(p.ops);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

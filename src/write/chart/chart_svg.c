/* The page, from top to bottom:
 *
 *   title                what and where from
 *   facts                schedule and how it is known, step, length, bubble, theory
 *                                                                                     busy %
 *   stage 0  rank 0      [blocks, waiting hatched by cause                          ]   81.2
 *                        [parts of ops: forward, backward, communication]
 *                        [theory at 60 % height]
 *                        [sends and receives]
 *                        0 ms      50       100
 *   legend
 *   Stages               a bar and the figures of each
 *
 * web/src/pipeline draws the same picture for browsers, from the same texts (block_text.h), rows and heights (chart_rows.h). */
#include "write/chart/chart_svg.h"

#include "model/lacks.h"
#include "write/chart/chart_clocks.h"
#include "write/chart/chart_note.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/utf8.h"
#include "write/chart/block_names.h"
#include "write/chart/chart_cells.h"
#include "write/chart/chart_rows.h"
#include "write/chart/svg_lane.h"
#include "write/out/shorten.h"
#include "write/out/svg.h"
#include "write/out/text_width.h"
#include "write/out/writers.h"

enum { PAD = 24, NAMES = 132, SHARES = 56, WIDTH = 1200, WIDTH_MIN = 480, WIDTH_MAX = 20000 };
enum { MAX_TITLES = 3000, MAX_ARROWS = 3000 };

typedef struct picture {
    const ps_chart *chart;
    ps_lang lang;
    ps_rows rows, theory;
    bool has_theory, has_parts, arrows;
    const ps_surfaces *surfaces;
    ps_rgb colours[PS_ROW_LOOKS];
    int width;
    ps_svg_scale scale;
    double y; /* where the next part begins */
    const ps_row_size *size;
    double plot_y, parts_y, theory_y, transfer_y, pitch;
    int64_t window_ns;
    bool used[PS_ROW_LOOKS];
    ps_block_names names[2]; /* measured, theory */
    ps_buf *out;
} picture;

/* --- on the picture ---------------------------------------------------------------------------------------- */

static void put_svg_text(picture *p, double x, double y, double size, ps_svg_anchor at,
                         ps_rgb colour, const char *more, const char *text) {
    ps_svg_put_text(p->out, x, y, size, at, colour, more, text);
}

static void put_rect(picture *p, double x, double y, double w, double h, const char *fill) {
    ps_svg_put_rect(p->out, x, y, w, h, fill);
}

static void put_colour_rect(picture *p, double x, double y, double w, double h, ps_rgb colour) {
    ps_svg_put_colour_rect(p->out, x, y, w, h, colour);
}

/* --- times ------------------------------------------------------------------------------------------------- */

/* In a picture, which is no terminal. */
static const char *svg_unit_name(ps_ns_unit unit) {
    return unit.ns == 1000 ? "µs" : unit.name;
}

/* "12.4 ms" */
static void format_duration(int64_t ns, char *out, size_t size) {
    ps_ns_unit unit = ps_ns_unit_for(ns);
    (void)snprintf(out, size, "%.*f %s", (int)ps_ns_decimals(ns, unit),
                   (double)ns / (double)unit.ns, svg_unit_name(unit));
}

/* --- layout ------------------------------------------------------------------------------------------------ */

static void lay_svg_out(picture *p) {
    const ps_row_size *size = ps_row_size_for(p->rows.n);
    double at = size->block;
    p->size = size;
    p->has_parts = p->rows.chart->n_parts > 0;
    if (p->has_parts) {
        p->parts_y = at + size->between;
        at += PS_N_PART_ROWS * (size->between + size->lower);
    }
    if (p->has_theory) {
        p->theory_y = at + size->between;
        at = p->theory_y + size->lower;
    }
    if (p->rows.has_transfers) {
        p->transfer_y = at + size->between;
        at = p->transfer_y + size->transfers;
    }
    p->pitch = at + size->below;
    p->window_ns = p->rows.span_ns;
    if (p->has_theory && p->theory.span_ns > p->window_ns) {
        p->window_ns = p->theory.span_ns;
    }
    p->scale.x = PAD + NAMES;
    p->scale.width = p->width - 2 * PAD - NAMES - SHARES;
    p->scale.px_per_ns = p->scale.width / (double)p->window_ns;
    p->plot_y = 92;
}

static const ps_row *theory_of(const picture *p, const ps_row *row) {
    for (size_t k = 0; p->has_theory && k < p->theory.n; k++) {
        if (p->theory.rows[k].rank->stage == row->rank->stage) {
            return &p->theory.rows[k];
        }
    }
    return NULL;
}

/* --- head -------------------------------------------------------------------------------------------------- */

static void put_svg_head(picture *p) {
    ps_buf_add_str(p->out, "<defs>\n");
    for (int i = 0; i < PS_N_BUBBLE_CAUSES; i++) {
        ps_buf_addf(
            p->out,
            "<pattern id=\"wait%d\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\">"
            "<path d=\"%s%s\" stroke=\"",
            i, (ps_hatch_of((ps_bubble_cause)i) & PS_HATCH_RISES) != 0 ? "M0 6L6 0" : "",
            (ps_hatch_of((ps_bubble_cause)i) & PS_HATCH_FALLS) != 0 ? "M0 0L6 6" : "");
        ps_svg_rgb(p->out, p->surfaces->hatch);
        ps_buf_add_str(p->out, "\" stroke-width=\"0.8\" fill=\"none\"/></pattern>\n");
    }
    ps_buf_add_str(p->out, "</defs>\n");
}

enum { SUBTITLE_PITCH = 16 };

/* Quiet lines below the title, broken at blanks where the next word would pass the right edge; the plot moves down. */
static void put_subtitle(picture *p, ps_buf *text) {
    const double room = p->width - 2 * PAD;
    char *line = text->data;
    double y = PAD + 38;
    while (line != NULL && *line != '\0') {
        char *end = NULL; /* of what fits */
        for (char *at = line; end == NULL || *at != '\0'; at++) {
            at += strcspn(at, " \n");
            const char stop = *at;
            *at = '\0';
            bool fits = ps_text_width(line, 12) <= room;
            *at = stop;
            end = fits || end == NULL ? at : end;
            if (!fits || stop != ' ') {
                break;
            }
        }
        char *next = *end != '\0' ? end + 1 : NULL;
        *end = '\0';
        put_svg_text(p, PAD, y, 12, PS_SVG_START, p->surfaces->quiet, "", line);
        p->plot_y += y > PAD + 38 ? SUBTITLE_PITCH : 0;
        y += SUBTITLE_PITCH;
        line = next;
    }
}

static ps_code put_svg_title(picture *p, ps_err *err) {
    const ps_chart *chart = p->rows.chart;
    ps_arena arena = {0};
    const char *what = ps_text_clean(&arena, chart->title[0] != '\0'
                                                 ? chart->title
                                                 : PS_SAY(p->lang, "pipeline chart", "流水线图"));
    ps_buf line = {0};
    if (what != NULL) {
        ps_text_middle(&line, what, (size_t)((p->width - 2 * PAD) / 10.5), true);
    }
    put_svg_text(p, PAD, PAD + 18, 18, PS_SVG_START, p->surfaces->ink, " font-weight=\"600\"",
                 ps_buf_str(&line));
    bool ok = what != NULL && ps_buf_ok(&line);
    ps_buf_clear(&line);
    char length[48];
    format_duration(p->rows.span_ns, length, sizeof length);
    const char *how = chart->schedule_how;
    if (chart->schedule[0] != '\0' && strcasestr(chart->title, chart->schedule) == NULL) {
        ps_buf_addf(&line, "%s%s%s · ", chart->schedule, how[0] != '\0' ? ", " : "", how);
    } else if (how[0] != '\0') {
        ps_buf_addf(&line, "%s · ", how);
    }
    if (chart->labels[0] != '\0') {
        ps_buf_addf(&line, "%s · ", chart->labels);
    }
    if (chart->is_aligned) {
        ps_buf_add_str(&line, PS_SAY(chart->lang, "clocks aligned · ", "时钟已对齐 · "));
    }
    ps_buf_addf(&line, "step %lld · ", (long long)p->rows.step);
    if (p->rows.several_pipelines) {
        ps_chart_say_pipeline(&p->rows, &line);
        ps_buf_add_str(&line, " · ");
    }
    if (p->rows.is_untold) {
        ps_buf_addf(&line, PS_SAY(chart->lang, "%s · bubble not told", "%s · 不给出空泡"), length);
    } else {
        ps_buf_addf(&line, PS_SAY(chart->lang, "%s · bubble %s%.1f %%", "%s · 空泡 %s%.1f %%"),
                    length, chart->is_at_most ? PS_SAY(chart->lang, "at most ", "最多 ") : "",
                    p->rows.bubble_share * 100);
        if (p->rows.unmarked_share >= PS_UNMARKED_SAID) {
            ps_buf_addf(&line,
                        PS_SAY(chart->lang, " (%.1f %% may be ops without marks)",
                               "（其中 %.1f %% 可能是没有打点的算子）"),
                        p->rows.unmarked_share * 100);
        }
    }
    if (p->has_theory) {
        format_duration(p->theory.span_ns, length, sizeof length);
        ps_buf_addf(&line,
                    PS_SAY(chart->lang, " · theory (%s): %s, bubble %.1f %%",
                           " · 理论（%s）：%s，空泡 %.1f %%"),
                    p->theory.chart->schedule, length, (1 - p->theory.busy_share) * 100);
    }
    if (chart->unjudged[0] != '\0') {
        ps_buf_addf(&line, "\n%s", chart->unjudged);
    }
    ps_chart_say_numbers(chart, "\n", PS_SAY(chart->lang, " ", ""), &line);
    ps_lacks_say(chart->lang, chart->lacks, "\n", "", &line);
    ps_chart_say_clocks(chart, true, "\n", "", &line);
    ok = ok && ps_buf_ok(&line);
    if (ok) {
        put_subtitle(p, &line);
    }
    ps_buf_fini(&line);
    ps_arena_fini(&arena);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- labels ------------------------------------------------------------------------------------------------ */

static double room_of(const picture *p, const ps_block *b, double *middle) {
    double x0 = fmax(0, (double)b->start_ns * p->scale.px_per_ns);
    double x1 = fmin(p->scale.width, (double)b->end_ns * p->scale.px_per_ns) - 1;
    *middle = (x0 + x1) / 2;
    return x1 - x0 - 3;
}

static void choose_names(const picture *p, const ps_rows *rows, ps_block_names *names) {
    for (size_t k = 0; k < rows->n; k++) {
        for (size_t i = 0; i < rows->rows[k].ops.n; i++) {
            const ps_block *b = &rows->rows[k].ops.at[i];
            double middle = 0;
            ps_block_names_count(names, b, &rows->chart->ops[b->op], room_of(p, b, &middle));
        }
    }
    ps_block_names_choose(names);
}

static int levels_for(double height) {
    return height >= PS_TWO_LINES_HEIGHT ? PS_BLOCK_LEVELS : PS_BLOCK_LEVELS_FLAT;
}

static void put_svg_label(picture *p, const ps_block_text *l, double x, double middle,
                          ps_rgb colour) {
    double base = middle + (l->second == NULL ? 4 : -2);
    put_svg_text(p, x, base, PS_NAME_SIZE, PS_SVG_MIDDLE, colour, "", l->text);
    if (l->second != NULL) {
        put_svg_text(p, x, base + 12, PS_NAME_SIZE, PS_SVG_MIDDLE, colour, "", l->second);
    }
}

static ps_code put_labels(picture *p, const ps_rows *rows, const ps_blocks *blocks, double y,
                          double h, const ps_block_names *names, ps_err *err) {
    size_t n = h >= PS_NAME_HEIGHT ? blocks->n : 0;
    double *rooms = ps_calloc(n + 1, sizeof *rooms);
    double *middles = ps_calloc(n + 1, sizeof *middles);
    uint8_t *levels = ps_calloc(n + 1, sizeof *levels);
    bool ok = rooms != NULL && middles != NULL && levels != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        rooms[i] = room_of(p, &blocks->at[i], &middles[i]);
    }
    ok = ok && (n == 0 || ps_block_names_of_row(names, blocks, rooms, levels));
    for (size_t i = 0; ok && i < n; i++) {
        const ps_block *b = &blocks->at[i];
        ps_block_text text;
        if (ps_block_name_fits(names, &rows->chart->ops[b->op], levels[i], rooms[i], &text)) {
            put_svg_label(p, &text, p->scale.x + middles[i], y + h / 2,
                          ps_theme_text_on(p->colours[b->look]));
        }
    }
    ps_free(rooms);
    ps_free(middles);
    ps_free(levels);
    return ok ? PS_OK : ps_fail_nomem(err);
}

/* --- rows -------------------------------------------------------------------------------------------------- */

static void put_idle(picture *p, const ps_blocks *idle, double y, double h) {
    char fill[24];
    for (size_t i = 0; i < idle->n; i++) {
        double x0 = fmax(0, (double)idle->at[i].start_ns * p->scale.px_per_ns);
        double x1 = fmin(p->scale.width, (double)idle->at[i].end_ns * p->scale.px_per_ns);
        if (x1 - x0 >= 2) {
            (void)snprintf(fill, sizeof fill, "url(#wait%d)", idle->at[i].look);
            put_rect(p, p->scale.x + x0, y, x1 - x0, h, fill);
        }
    }
}

static void put_grounds(picture *p) {
    for (size_t k = 0; k < p->rows.n; k++) {
        double y = p->plot_y + (double)k * p->pitch;
        put_colour_rect(p, p->scale.x, y, p->scale.width, p->size->block, p->surfaces->panel);
        if (p->has_theory) {
            put_colour_rect(p, p->scale.x, y + p->theory_y, p->scale.width, p->size->lower,
                            p->surfaces->panel);
        }
    }
}

static ps_code put_svg_lane(picture *p, const ps_rows *rows, const ps_blocks *blocks, double y,
                            double h, bool is_transfers, ps_err *err) {
    ps_svg_lane lane = {.rows = rows,
                        .blocks = blocks,
                        .y = y,
                        .height = h,
                        .run_gap = is_transfers ? 1.5 : 4,
                        .rounded = !is_transfers,
                        .titles = rows->chart->n_ops <= MAX_TITLES,
                        .colours = p->colours};
    for (size_t i = 0; i < blocks->n; i++) {
        p->used[blocks->at[i].look] = true;
    }
    return ps_svg_put_lane(&p->scale, &lane, p->out, err);
}

static ps_code put_svg_others(picture *p, const ps_row *row, double y, ps_err *err) {
    const double height = ps_other_work_height(p->size->block);
    ps_svg_lane lane = {.rows = &p->rows,
                        .blocks = &row->others,
                        .y = y + p->size->block - height,
                        .height = height,
                        .run_gap = 1.5,
                        .colours = p->colours};
    return row->others.n > 0 ? ps_svg_put_lane(&p->scale, &lane, p->out, err) : PS_OK;
}

static void put_svg_part(picture *p, const ps_chart_part *part, double y, double h) {
    const ps_rows *rows = &p->rows;
    double x0 = ((double)part->start_ns - (double)rows->start_ns) * p->scale.px_per_ns;
    double x1 = ((double)part->end_ns - (double)rows->start_ns) * p->scale.px_per_ns;
    x0 = fmax(0, x0);
    x1 = fmin(p->scale.width, x1);
    if (x1 <= x0) {
        return;
    }
    int look = ps_part_look(part);
    double gap = x1 - x0 > 3 ? 1 : 0;
    put_colour_rect(p, p->scale.x + x0, y, x1 - x0 - gap, h, p->colours[look]);
    if (h >= PS_NAME_HEIGHT && ps_text_width(part->name, 10) <= x1 - x0 - 4) {
        put_svg_text(p, p->scale.x + (x0 + x1) / 2, y + h / 2 + 4, 10, PS_SVG_MIDDLE,
                     ps_theme_text_on(p->colours[look]), "", part->name);
    }
}

/* Rows of what the ops of a stage are made of. */
static void put_svg_parts(picture *p, const ps_row *row, double y) {
    const char *const titles[PS_N_PART_ROWS] = {PS_SAY(p->lang, "forward", "前向"),
                                                PS_SAY(p->lang, "backward", "反向"),
                                                PS_SAY(p->lang, "communication", "通信")};
    const ps_chart *chart = p->rows.chart;
    bool any[PS_N_PART_ROWS] = {false};
    double pitch = p->size->lower + p->size->between;
    for (size_t i = 0; i < chart->n_parts; i++) {
        const ps_chart_part *part = &chart->parts[i];
        if (ps_row_has_part(&p->rows, row, part)) {
            any[ps_part_row_of(part)] = true;
            p->used[part->kind] = p->used[part->kind] || !part->communicates;
            put_svg_part(p, part, y + (int)ps_part_row_of(part) * pitch, p->size->lower);
        }
    }
    for (int i = 0; i < PS_N_PART_ROWS && p->size->lower >= 8; i++) {
        if (any[i]) {
            put_svg_text(p, p->scale.x - 12, y + i * pitch + p->size->lower / 2.0 + 4, 10,
                         PS_SVG_END, p->surfaces->quiet, "", titles[i]);
        }
    }
}

static ps_code put_svg_row(picture *p, size_t k, ps_err *err) {
    const ps_row *row = &p->rows.rows[k];
    double y = p->plot_y + (double)k * p->pitch;
    double base = y + p->size->block / 2.0 + 4;
    double size = p->size->block >= 12 ? 12 : p->size->block >= 10 ? 9 : 6;
    char text[48];
    (void)snprintf(text, sizeof text, "%s", PS_SAY(p->lang, "stage ?", "阶段 ?"));
    if (row->rank->stage >= 0) {
        (void)snprintf(text, sizeof text, PS_SAY(p->lang, "stage %d", "阶段 %d"),
                       (int)row->rank->stage);
    }
    if (!p->chart->is_side_by_side) { /* else its rank is all that it is called */
        put_svg_text(p, p->scale.x - 68, base, size, PS_SVG_END, p->surfaces->ink, "", text);
    }
    (void)snprintf(text, sizeof text, "rank ?");
    if (row->rank->rank >= 0) {
        (void)snprintf(text, sizeof text, "rank %d", (int)row->rank->rank);
    }
    put_svg_text(p, p->scale.x - 12, base, fmin(size, 11), PS_SVG_END, p->surfaces->quiet, "",
                 text);
    (void)snprintf(text, sizeof text, "%.1f", (double)row->busy_ns / (double)p->rows.span_ns * 100);
    put_svg_text(p, p->width - PAD, base, size, PS_SVG_END, p->surfaces->ink, "",
                 row->ops.n > 0 ? text : PS_SAY(p->lang, "no ops", "无算子"));
    put_idle(p, &row->idle, y, p->size->block);
    ps_code code = put_svg_others(p, row, y, err);
    code =
        code == PS_OK ? put_svg_lane(p, &p->rows, &row->ops, y, p->size->block, false, err) : code;
    if (p->has_parts) {
        put_svg_parts(p, row, y + p->parts_y);
    }
    const ps_row *theory = theory_of(p, row);
    if (code == PS_OK && theory != NULL) {
        put_idle(p, &theory->idle, y + p->theory_y, p->size->lower);
        code =
            put_svg_lane(p, &p->theory, &theory->ops, y + p->theory_y, p->size->lower, false, err);
    }
    if (code == PS_OK && row->transfers.n > 0) {
        code = put_svg_lane(p, &p->rows, &row->transfers, y + p->transfer_y, p->size->transfers,
                            true, err);
    }
    return code;
}

/* Over everything else, arrows too. */
static ps_code put_row_labels(picture *p, size_t k, ps_err *err) {
    const ps_row *row = &p->rows.rows[k];
    double y = p->plot_y + (double)k * p->pitch;
    ps_code code = put_labels(p, &p->rows, &row->ops, y, p->size->block, &p->names[0], err);
    const ps_row *theory = theory_of(p, row);
    if (code == PS_OK && theory != NULL) {
        code = put_labels(p, &p->theory, &theory->ops, y + p->theory_y, p->size->lower,
                          &p->names[1], err);
    }
    return code;
}

/* --- axis -------------------------------------------------------------------------------------------------- */

/* Round ticks (1, 2 or 5 times a power of ten) at least 80 pixels apart, at most 2^60. */
static int64_t tick_ns(const picture *p) {
    static const int64_t STEPS[] = {1, 2, 5};
    double least = 80 / p->scale.px_per_ns;
    int64_t power = 1;
    for (size_t i = 0;; i++) {
        int64_t tick = STEPS[i % 3] * power;
        if ((double)tick >= least || tick > INT64_MAX / 20) {
            return tick;
        }
        power *= i % 3 == 2 ? 10 : 1;
    }
}

static void put_grid(picture *p, double y0, double y1) {
    int64_t tick = tick_ns(p);
    for (int64_t k = 0; (double)k * (double)tick <= (double)p->window_ns; k++) {
        put_colour_rect(p, round(p->scale.x + (double)k * (double)tick * p->scale.px_per_ns), y0, 1,
                        y1 - y0, p->surfaces->line);
    }
}

static void put_axis(picture *p) {
    ps_ns_unit u = ps_ns_unit_for(p->window_ns / 2);
    int64_t tick = tick_ns(p);
    int decimals = 0;
    for (int64_t rest = u.ns; rest > 1 && tick % rest != 0; rest /= 10) {
        decimals++;
    }
    put_colour_rect(p, p->scale.x, p->y, p->scale.width, 1, p->surfaces->quiet);
    put_svg_text(p, p->scale.x - 12, p->y + 18, 11, PS_SVG_END, p->surfaces->quiet, "",
                 PS_SAY(p->lang, "from the step’s first op", "距 step 首个算子"));
    char text[64];
    for (int64_t k = 0; (double)k * (double)tick <= (double)p->window_ns; k++) {
        double x = round(p->scale.x + (double)k * (double)tick * p->scale.px_per_ns);
        put_colour_rect(p, x, p->y, 1, 5, p->surfaces->quiet);
        /* The first number carries the unit. */
        if (k == 0) {
            (void)snprintf(text, sizeof text, "0 %s", svg_unit_name(u));
        } else {
            (void)snprintf(text, sizeof text, "%.*f", decimals,
                           (double)k * (double)tick / (double)u.ns);
        }
        put_svg_text(p, x, p->y + 18, 11, k == 0 ? PS_SVG_START : PS_SVG_MIDDLE, p->surfaces->quiet,
                     "", text);
    }
    p->y += 40;
}

/* --- arrows ------------------------------------------------------------------------------------------------ */

/* Where transfers are known, they are the arrows. */
static bool is_drawn_link(const picture *p, const ps_chart_link *link) {
    const ps_op *from = &p->rows.chart->ops[link->from];
    return from->step == p->rows.step && (!p->rows.has_transfers || ps_op_is_transfer(from));
}

/* A result is there when its op ends, and leaves when its send begins. A receive is posted long before anything arrives: the arrow
 * ends where it does. */
static bool link_end(const picture *p, uint32_t op, bool is_start, double *x, double *y) {
    const ps_op *o = &p->rows.chart->ops[op];
    bool transfer = ps_op_is_transfer(o);
    for (size_t k = 0; k < p->rows.n && o->step == p->rows.step; k++) {
        if (p->rows.rows[k].rank == &p->rows.chart->ranks[o->rank]) {
            int64_t ns = is_start == transfer ? o->end_ns : o->start_ns;
            *x = p->scale.x + ((double)ns - (double)p->rows.start_ns) * p->scale.px_per_ns;
            *y = p->plot_y + (double)k * p->pitch +
                 (transfer ? p->transfer_y + p->size->transfers / 2.0 : p->size->block / 2.0);
            return *x >= p->scale.x && *x <= p->scale.x + p->scale.width;
        }
    }
    return false;
}

static void put_arrows(picture *p) {
    const ps_chart *chart = p->rows.chart;
    size_t n = 0;
    for (size_t i = 0; i < chart->n_links; i++) {
        n += is_drawn_link(p, &chart->links[i]);
    }
    if (!p->arrows || n == 0 || n > MAX_ARROWS) {
        return;
    }
    ps_buf_add_str(p->out, "<g fill=\"none\" stroke-opacity=\"0.55\" stroke=\"");
    ps_svg_rgb(p->out, p->surfaces->quiet);
    ps_buf_add_str(p->out, "\">\n");
    for (size_t i = 0; i < chart->n_links; i++) {
        double x0 = 0;
        double y0 = 0;
        double x1 = 0;
        double y1 = 0;
        if (!is_drawn_link(p, &chart->links[i]) ||
            !link_end(p, chart->links[i].from, false, &x0, &y0) ||
            !link_end(p, chart->links[i].to, true, &x1, &y1)) {
            continue;
        }
        double reach = fmax(10, fmin(60, fabs(x1 - x0) / 2));
        const double points[] = {x0, y0, x0 + reach, y0, x1 - reach, y1, x1, y1};
        ps_buf_add_str(p->out, "<path d=\"M");
        for (size_t k = 0; k < 8; k++) {
            ps_buf_add_str(p->out, k == 2 ? "C" : k > 0 ? " " : "");
            ps_svg_number(p->out, points[k]);
        }
        ps_buf_add_str(p->out, "m-6 -3l6 3l-6 3\"/>\n");
    }
    ps_buf_add_str(p->out, "</g>\n");
}

/* --- legend ------------------------------------------------------------------------------------------------ */

typedef struct flow {
    double x, y;
} flow;

/* Room for a swatch and its text; moves on, to the next line when needed. */
static double flow_next(picture *p, flow *f, const char *text) {
    double needs = 26 + ps_text_width(text, 12);
    if (f->x > PAD && f->x + needs > p->width - PAD) {
        f->x = PAD;
        f->y += 20;
    }
    double x = f->x;
    put_svg_text(p, x + 26, f->y + 10, 12, PS_SVG_START, p->surfaces->ink, "", text);
    f->x += needs + 20;
    return x;
}

static void look_text(ps_lang lang, int look, char *out, size_t size) {
    if (look >= PS_N_OP_KINDS) {
        (void)snprintf(out, size, "%s", ps_phase_word(lang, look - PS_N_OP_KINDS));
        return;
    }
    const char *name = ps_op_kind_name((ps_op_kind)look);
    const char *text = ps_kind_word(lang, (ps_op_kind)look);
    bool twice = strcasecmp(name, text) == 0;
    (void)snprintf(out, size, "%s%s%s", twice ? "" : name, twice ? "" : " ", text);
}

static void put_svg_legend(picture *p) {
    flow f = {PAD, p->y};
    char text[96];
    for (int i = 0; i < 2 * PS_ROW_LOOKS; i++) {
        int look = i % PS_ROW_LOOKS;
        bool transfer = look == PS_OP_SEND || look == PS_OP_RECV;
        if (p->used[look] && transfer == (i >= PS_ROW_LOOKS)) { /* transfers last */
            look_text(p->lang, look, text, sizeof text);
            double x = flow_next(p, &f, text);
            put_colour_rect(p, x, f.y + (transfer ? 3 : 0), 20, transfer ? 6 : 12,
                            p->colours[look]);
        }
    }
    if (p->rows.has_others) {
        double x =
            flow_next(p, &f, PS_SAY(p->lang, "other work, in no op", "其他工作，不属于任何算子"));
        put_colour_rect(p, x, f.y, 20, 12, p->surfaces->panel);
        put_colour_rect(p, x, f.y + 8, 20, 4, p->colours[PS_LOOK_OTHER_WORK]);
    }
    for (int cause = 0; cause < PS_N_BUBBLE_CAUSES; cause++) {
        bool any = false;
        for (size_t k = 0; k < p->rows.n; k++) {
            any = any || p->rows.rows[k].cause_ns[cause] > 0;
        }
        if (any) {
            char fill[24];
            (void)snprintf(fill, sizeof fill, "url(#wait%d)", cause);
            (void)snprintf(text, sizeof text, PS_SAY(p->lang, "waiting: %s", "等待：%s"),
                           ps_bubble_cause_word(p->lang, (ps_bubble_cause)cause));
            double x = flow_next(p, &f, text);
            put_colour_rect(p, x, f.y, 20, 12, p->surfaces->panel);
            put_rect(p, x, f.y, 20, 12, fill);
        }
    }
    if (p->has_theory) {
        double x = flow_next(
            p, &f, PS_SAY(p->lang, "measured, and below it theory", "上为实测，下为理论"));
        put_colour_rect(p, x, f.y, 20, 6, p->surfaces->quiet);
        put_colour_rect(p, x, f.y + 8, 20, 4, p->surfaces->quiet);
    }
    p->y = f.y + 20 + 24;
}

/* --- stages ------------------------------------------------------------------------------------------------ */

/* busy, other work where there is any, each cause, busy %, bubble % */
enum { N_FIGURES = 4 + PS_N_BUBBLE_CAUSES, FIGURE = 82 };

/* Columns of the table of stages, as their places from the left. */
typedef struct stage_columns {
    int other, first_cause, busy_share, bubble_share, n; /* other: -1 none */
} stage_columns;

static stage_columns columns_of_stages(const picture *p) {
    int first = p->rows.has_others ? 2 : 1;
    return (stage_columns){.other = p->rows.has_others ? 1 : -1,
                           .first_cause = first,
                           .busy_share = first + PS_N_BUBBLE_CAUSES,
                           .bubble_share = first + PS_N_BUBBLE_CAUSES + 1,
                           .n = first + PS_N_BUBBLE_CAUSES + 2};
}

static void put_bar(picture *p, const ps_row *row, double x, double width) {
    double counted = 0;
    for (int look = 0; look < PS_ROW_LOOKS; look++) {
        counted += (double)row->look_ns[look];
    }
    double scale = width / (double)p->rows.span_ns;
    for (int look = 0; look < PS_ROW_LOOKS; look++) {
        double w =
            counted > 0 ? (double)row->look_ns[look] / counted * (double)row->busy_ns * scale : 0;
        if (w > 0) {
            put_colour_rect(p, x, p->y + 2, w > 2 ? w - 1 : w, 12, p->colours[look]);
        }
        x += w;
    }
    double other = (double)row->other_ns * scale;
    if (other > 0) {
        put_colour_rect(p, x, p->y + 10, other > 2 ? other - 1 : other, 4,
                        p->colours[PS_LOOK_OTHER_WORK]);
    }
    x += other;
    for (int cause = 0; cause < PS_N_BUBBLE_CAUSES; cause++) {
        char fill[24];
        double w = (double)row->cause_ns[cause] * scale;
        (void)snprintf(fill, sizeof fill, "url(#wait%d)", cause);
        if (w > 0) {
            put_colour_rect(p, x, p->y + 2, w > 2 ? w - 1 : w, 12, p->surfaces->panel);
            put_rect(p, x, p->y + 2, w > 2 ? w - 1 : w, 12, fill);
        }
        x += w;
    }
}

/* Right edges of the columns. */
static double figure_x(const picture *p, const stage_columns *c, int i) {
    return p->width - PAD - (c->n - 1 - i) * FIGURE;
}

static void put_stage_heads(picture *p, const stage_columns *c, ps_ns_unit u) {
    char text[64];
    for (int i = 0; i < c->n; i++) {
        if (i == 0) {
            (void)snprintf(text, sizeof text, PS_SAY(p->lang, "busy %s", "忙 %s"),
                           svg_unit_name(u));
        } else if (i == c->other) {
            (void)snprintf(text, sizeof text, PS_SAY(p->lang, "other work %s", "其他工作 %s"),
                           svg_unit_name(u));
        } else if (i < c->busy_share) {
            (void)snprintf(text, sizeof text, "%s %s",
                           ps_bubble_cause_word(p->lang, (ps_bubble_cause)(i - c->first_cause)),
                           svg_unit_name(u));
        } else {
            (void)snprintf(text, sizeof text, "%s",
                           i == c->busy_share ? PS_SAY(p->lang, "busy %", "忙 %")
                                              : PS_SAY(p->lang, "bubble %", "空泡 %"));
        }
        put_svg_text(p, figure_x(p, c, i), p->y, 11, PS_SVG_END, p->surfaces->quiet, "", text);
    }
}

static void put_stage_figures(picture *p, const stage_columns *c, ps_ns_unit u, const ps_row *row) {
    double values[N_FIGURES] = {(double)row->busy_ns / (double)u.ns};
    double idle = 0;
    char text[64];
    for (int cause = 0; cause < PS_N_BUBBLE_CAUSES; cause++) {
        values[c->first_cause + cause] = (double)row->cause_ns[cause] / (double)u.ns;
        idle += (double)row->cause_ns[cause] / (double)p->rows.span_ns;
    }
    if (c->other >= 0) {
        values[c->other] = (double)row->other_ns / (double)u.ns;
    }
    values[c->busy_share] = (double)row->busy_ns / (double)p->rows.span_ns * 100;
    values[c->bubble_share] = idle * 100;
    for (int i = 0; i < c->n; i++) {
        bool is_known = !p->rows.is_untold || i == 0 || i == c->other || i == c->busy_share;
        (void)snprintf(text, sizeof text, is_known ? "%.1f" : "-", values[i]);
        put_svg_text(p, figure_x(p, c, i), p->y + 12, 12, PS_SVG_END, p->surfaces->ink, "", text);
    }
}

static void put_stages(picture *p) {
    ps_ns_unit u = ps_ns_unit_for(p->rows.span_ns / 10);
    const stage_columns columns = columns_of_stages(p);
    double bar_x = PAD + NAMES;
    double bar_w = p->width - PAD - columns.n * FIGURE - bar_x - 8;
    bool has_bar = bar_w >= 80;
    put_svg_text(p, PAD, p->y + 12, 14, PS_SVG_START, p->surfaces->ink, " font-weight=\"600\"",
                 PS_SAY(p->lang, "Stages", "各阶段"));
    p->y += 36;
    char text[64];
    put_svg_text(p, p->scale.x - 68, p->y, 11, PS_SVG_END, p->surfaces->quiet, "",
                 PS_SAY(p->lang, "stage", "阶段"));
    put_svg_text(p, p->scale.x - 12, p->y, 11, PS_SVG_END, p->surfaces->quiet, "", "rank");
    if (has_bar) {
        put_svg_text(p, bar_x, p->y, 11, PS_SVG_START, p->surfaces->quiet, "",
                     PS_SAY(p->lang, "share of the step", "占 step 的比例"));
    }
    put_stage_heads(p, &columns, u);
    put_colour_rect(p, PAD, p->y + 6, p->width - 2 * PAD, 1, p->surfaces->line);
    p->y += 12;
    for (size_t k = 0; k < p->rows.n; k++) {
        const ps_row *row = &p->rows.rows[k];
        (void)snprintf(text, sizeof text, "%d", (int)row->rank->stage);
        put_svg_text(p, p->scale.x - 68, p->y + 12, 12, PS_SVG_END, p->surfaces->ink, "",
                     row->rank->stage >= 0 ? text : "?");
        (void)snprintf(text, sizeof text, "%d", (int)row->rank->rank);
        put_svg_text(p, p->scale.x - 12, p->y + 12, 12, PS_SVG_END, p->surfaces->quiet, "", text);
        if (has_bar) {
            put_bar(p, row, bar_x, bar_w);
        }
        put_stage_figures(p, &columns, u, row);
        p->y += 18;
    }
}

/* --- entry point ------------------------------------------------------------------------------------------- */

static ps_code put_svg_page(picture *p, ps_err *err) {
    put_svg_head(p);
    ps_code code = put_svg_title(p, err);
    put_svg_text(p, p->width - PAD, p->plot_y - 8, 11, PS_SVG_END, p->surfaces->quiet, "",
                 PS_SAY(p->lang, "busy %", "忙 %"));
    put_grounds(p);
    double bottom = p->plot_y + (double)p->rows.n * p->pitch;
    put_grid(p, p->plot_y, bottom);
    p->names[0].stop = levels_for(p->size->block);
    p->names[1].stop = levels_for(p->size->lower);
    choose_names(p, &p->rows, &p->names[0]);
    if (p->has_theory) {
        choose_names(p, &p->theory, &p->names[1]);
    }
    for (size_t k = 0; code == PS_OK && k < p->rows.n; k++) {
        code = put_svg_row(p, k, err);
    }
    put_arrows(p);
    for (size_t k = 0; code == PS_OK && k < p->rows.n; k++) {
        code = put_row_labels(p, k, err);
    }
    p->y = bottom;
    put_axis(p);
    put_svg_legend(p);
    put_stages(p);
    return code;
}

static ps_code write_picture(picture *p, ps_buf *out, ps_err *err) {
    ps_buf body = {0};
    p->out = &body;
    ps_code code = put_svg_page(p, err);
    int height = (int)ceil(p->y) + PAD;
    ps_svg_begin(out, p->width, height, p->surfaces->page);
    p->out = out;
    ps_buf_add(out, body.data, body.len);
    ps_buf_add_str(out, "</svg>\n");
    if (code == PS_OK && (!ps_buf_ok(&body) || !ps_buf_ok(out))) {
        code = ps_fail_nomem(err);
    }
    ps_buf_fini(&body);
    return code;
}

ps_code ps_write_chart_svg(const ps_chart *chart, const ps_chart *against,
                           const ps_chart_svg_opts *opts, ps_buf *out, ps_err *err) {
    picture p = {.chart = chart,
                 .lang = chart->lang,
                 .surfaces = ps_theme_surfaces(opts->dark),
                 .arrows = opts->arrows};
    p.width = opts->width == 0 ? WIDTH : (int)(opts->width > WIDTH_MAX ? WIDTH_MAX : opts->width);
    p.width = p.width < WIDTH_MIN ? WIDTH_MIN : p.width;
    for (int i = 0; i < PS_N_OP_KINDS; i++) {
        p.colours[i] =
            opts->dark ? ps_theme_kind_dark((ps_op_kind)i) : ps_theme_kind((ps_op_kind)i);
    }
    for (int i = 0; i < PS_N_PHASES; i++) {
        p.colours[PS_N_OP_KINDS + i] = opts->dark ? ps_theme_phase_dark(i) : ps_theme_phase(i);
    }
    p.colours[PS_LOOK_OTHER_WORK] = p.surfaces->quiet;
    ps_code code = ps_rows_make(chart, opts->step, opts->pipeline, &p.rows, err);
    if (code == PS_OK && against != NULL) {
        int64_t step = ps_chart_has_step(against, p.rows.step) ? p.rows.step : PS_FIRST_STEP;
        code = ps_rows_make(against, step, -1, &p.theory, err);
        p.has_theory = true;
    }
    if (code == PS_OK) {
        lay_svg_out(&p);
        code = write_picture(&p, out, err);
    }
    ps_rows_fini(&p.rows);
    ps_rows_fini(&p.theory);
    return code;
}

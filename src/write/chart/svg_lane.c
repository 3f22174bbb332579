/* A run of thin blocks: per pixel and look the share of time, averaged over 13 pixels (else neighbouring pixels
 * flicker between the same few blocks), drawn as steps. The stack is painted from its full height down to its first
 * look, each as one path that ends at the base line. web/src/pipeline/raster.ts does the same with pixels. */
#include "write/chart/svg_lane.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "write/out/svg.h"

enum { CALM = 6, SHORT_RUN = 4 /* pixels; these take the full height */ };
static const double THIN = 2;
static const double GAP_FROM = 3; /* blocks wider than this leave a gap of one pixel */
static const double ROUND_FROM = 6;

typedef struct lane_state {
    const ps_svg_scale *scale;
    const ps_svg_lane *lane;
    ps_buf *out;
    size_t n_px;
    double *bins;   /* [PS_ROW_LOOKS * (n_px + 3)], all zero between two runs */
    double *sums;   /* [n_px + 1] */
    double *levels; /* [n_px] pixels from the base line */
    bool used[PS_ROW_LOOKS];
} lane_state;

/* --- thin blocks ------------------------------------------------------------------------------------------- */

static double *plane(const lane_state *s, int look) {
    return s->bins + (size_t)look * (s->n_px + 3);
}

static void add_thin(lane_state *s, double x0, double x1, int look) {
    double *bins = plane(s, look);
    s->used[look] = true;
    size_t last = (size_t)x1;
    for (size_t px = (size_t)x0; px <= last && px < s->n_px; px++) {
        double left = x0 > (double)px ? x0 : (double)px;
        double right = x1 < (double)px + 1 ? x1 : (double)px + 1;
        bins[px] +=
            (right > left ? right - left : 0) + 1e-6; /* one without length counts as something */
    }
}

/* Averages of bins[from..to) in place. */
static void calm(lane_state *s, double *bins, size_t from, size_t to) {
    size_t n = to - from;
    s->sums[0] = 0;
    for (size_t i = 0; i < n; i++) {
        s->sums[i + 1] = s->sums[i] + bins[from + i];
    }
    for (size_t i = 0; i < n; i++) {
        size_t left = i > CALM ? i - CALM : 0;
        size_t right = i + CALM + 1 < n ? i + CALM + 1 : n;
        bins[from + i] = (s->sums[right] - s->sums[left]) / (double)(right - left);
    }
}

/* One path from the base line up to `levels`. */
static void put_svg_lane_steps(const lane_state *s, size_t from, size_t to, ps_rgb colour) {
    double base = s->lane->y + s->lane->height;
    ps_buf_add_str(s->out, "<path fill=\"");
    ps_svg_rgb(s->out, colour);
    ps_buf_add_str(s->out, "\" d=\"M");
    ps_svg_number(s->out, s->scale->x + (double)from);
    ps_buf_add_char(s->out, ' ');
    ps_svg_number(s->out, base);
    double level = 0;
    for (size_t px = from; px < to; px++) {
        double now = round(s->levels[px] * 2) / 2;
        if (now != level) {
            if (px > from) {
                ps_buf_add_char(s->out, 'H');
                ps_svg_number(s->out, s->scale->x + (double)px);
            }
            ps_buf_add_char(s->out, 'V');
            ps_svg_number(s->out, base - now);
            level = now;
        }
    }
    ps_buf_add_char(s->out, 'H');
    ps_svg_number(s->out, s->scale->x + (double)to);
    ps_buf_add_char(s->out, 'V');
    ps_svg_number(s->out, base);
    ps_buf_add_str(s->out, "Z\"/>\n");
}

static void put_run(lane_state *s, double x0, double x1) {
    size_t from = (size_t)lround(x0);
    from = from < s->n_px ? from : s->n_px - 1;
    size_t to = (size_t)lround(x1);
    to = to > s->n_px ? s->n_px : to > from ? to : from + 1;
    double filled = (x1 - x0) / (double)(to - from);
    bool short_run = to - from <= SHORT_RUN;
    for (int look = 0; look < PS_ROW_LOOKS; look++) {
        if (!s->used[look]) {
            continue;
        }
        double *bins = plane(s, look);
        /* What rounding pushed over an edge belongs to the pixel at the edge. */
        for (size_t px = (size_t)x0; px < from; px++) {
            bins[from] += bins[px];
            bins[px] = 0;
        }
        for (size_t px = to; px <= (size_t)x1 && px < s->n_px + 3; px++) {
            bins[to - 1] += bins[px];
            bins[px] = 0;
        }
        calm(s, bins, from, to);
    }
    for (int top = PS_ROW_LOOKS - 1; top >= 0; top--) {
        if (!s->used[top]) {
            continue;
        }
        for (size_t px = from; px < to; px++) {
            double sum = 0;
            double below = 0;
            int looks = 0;
            for (int look = 0; look < PS_ROW_LOOKS; look++) {
                if (s->used[look]) {
                    sum += plane(s, look)[px];
                    below += look <= top ? plane(s, look)[px] : 0;
                    looks += look <= top && plane(s, look)[px] > 0;
                }
            }
            double whole = sum > filled || short_run ? sum : filled;
            double level = below / whole * s->lane->height;
            s->levels[px] = level > looks ? level : looks; /* each at least a pixel */
            s->levels[px] = s->levels[px] < s->lane->height ? s->levels[px] : s->lane->height;
        }
        put_svg_lane_steps(s, from, to, s->lane->colours[top]);
    }
    for (int look = 0; look < PS_ROW_LOOKS; look++) {
        if (s->used[look]) {
            memset(plane(s, look) + from, 0, (to - from) * sizeof(double));
            s->used[look] = false;
        }
    }
}

/* --- blocks ------------------------------------------------------------------------------------------------ */

static void put_svg_lane_title(const lane_state *s, const ps_block *b) {
    const ps_op *op = &s->lane->rows->chart->ops[b->op];
    ps_buf_add_str(s->out, "><title>");
    ps_svg_text(s->out, op->name);
    ps_buf_addf(s->out, " (%s), %.3f ms from %.3f ms</title></rect>\n",
                ps_op_kind_name((ps_op_kind)op->kind), (double)(b->end_ns - b->start_ns) / 1e6,
                (double)b->start_ns / 1e6);
}

static void put_block(const lane_state *s, const ps_block *b, double x0, double x1) {
    double width = x1 - x0 >= GAP_FROM ? x1 - x0 - 1 : x1 - x0;
    ps_buf_add_str(s->out, "<rect x=\"");
    ps_svg_number(s->out, s->scale->x + x0);
    ps_buf_add_str(s->out, "\" y=\"");
    ps_svg_number(s->out, s->lane->y);
    ps_buf_add_str(s->out, "\" width=\"");
    ps_svg_number(s->out, width);
    ps_buf_add_str(s->out, "\" height=\"");
    ps_svg_number(s->out, s->lane->height);
    ps_buf_add_str(s->out,
                   s->lane->rounded && width >= ROUND_FROM ? "\" rx=\"2\" fill=\"" : "\" fill=\"");
    ps_svg_rgb(s->out, s->lane->colours[b->look]);
    ps_buf_add_char(s->out, '"');
    if (s->lane->titles) {
        put_svg_lane_title(s, b);
    } else {
        ps_buf_add_str(s->out, "/>\n");
    }
}

static void put_blocks(lane_state *s) {
    double from = 0;
    double until = -1; /* no run is open */
    for (size_t i = 0; i < s->lane->blocks->n; i++) {
        const ps_block *b = &s->lane->blocks->at[i];
        double x0 = (double)b->start_ns * s->scale->px_per_ns;
        double x1 = (double)b->end_ns * s->scale->px_per_ns;
        if (x1 < 0 || x0 > s->scale->width) {
            continue;
        }
        bool thin = x1 - x0 < THIN;
        x0 = x0 < 0 ? 0 : x0;
        x1 = x1 > s->scale->width ? s->scale->width : x1;
        if (!thin) {
            put_block(s, b, x0, x1);
            continue;
        }
        if (until >= 0 && x0 - until > s->lane->run_gap) {
            put_run(s, from, until);
            until = -1;
        }
        from = until < 0 ? x0 : from;
        until = x1 > until ? x1 : until;
        add_thin(s, x0, x1, b->look);
    }
    if (until >= 0) {
        put_run(s, from, until);
    }
}

ps_code ps_svg_put_lane(const ps_svg_scale *scale, const ps_svg_lane *lane, ps_buf *out,
                        ps_err *err) {
    lane_state s = {.scale = scale, .lane = lane, .out = out, .n_px = (size_t)ceil(scale->width)};
    s.bins = ps_calloc((s.n_px + 3) * PS_ROW_LOOKS, sizeof *s.bins);
    s.sums = ps_calloc(s.n_px + 1, sizeof *s.sums);
    s.levels = ps_calloc(s.n_px + 1, sizeof *s.levels);
    bool ok = s.bins != NULL && s.sums != NULL && s.levels != NULL;
    if (ok) {
        put_blocks(&s);
    }
    ps_free(s.bins);
    ps_free(s.sums);
    ps_free(s.levels);
    return ok ? PS_OK : ps_fail_nomem(err);
}

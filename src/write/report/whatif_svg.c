/* The map of workers as a picture: a row a stage, a column a replica and its tensor-parallel rank, the slower the darker.
 *
 *   title, the job's figures
 *            dp 0   dp 1 ...
 *   stage 0  1.021  1.000        the slowest workers (M_W) are framed
 *   ...
 *   scale from 1.000 to the slowest */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/num.h"
#include "model/lacks.h"
#include "write/out/svg.h"
#include "write/report/report_view.h"
#include "write/report/whatif_text.h"

enum { PAD = 24, NAMES = 72, WIDTH = 1200, TOP = 84, CELL_W_MOST = 72, CELL_H_MOST = 24 };
enum { TEXT_W = 38, TEXT_H = 14 }; /* what the figure of a cell needs */
enum { SCALE_W = 240, SCALE_STEPS = 24, SCALE_H = 52, LACK_H = 16 };
static const double CELL_LEAST = 2;

typedef struct worker_map {
    const ps_whatif_view *view;
    const ps_surfaces *surfaces;
    ps_buf *out;
    size_t n_columns, n_stages;
    double cell_w, cell_h, slowest;
} worker_map;

static uint8_t between(uint8_t from, uint8_t to, double share) {
    return (uint8_t)lround(from + (to - from) * share);
}

/* From the ground over the accent towards the ink, as heat maps of the viewer: even steps of lightness. `share` 0 to 1. */
static ps_rgb heat_of(const ps_surfaces *s, double share) {
    bool is_low = share < 0.7;
    ps_rgb from = is_low ? s->panel : s->accent;
    ps_rgb to = is_low ? s->accent : s->ink;
    double at = is_low ? 0.12 + share / 0.7 * 0.88 : (share - 0.7) / 0.3 * 0.6;
    return (ps_rgb){between(from.r, to.r, at), between(from.g, to.g, at),
                    between(from.b, to.b, at)};
}

static double share_of(const worker_map *m, double slowdown) {
    double share = m->slowest > 1.01 ? (slowdown - 1) / (m->slowest - 1) : 0;
    return share <= 0 ? 0 : share >= 1 ? 1 : share;
}

static bool lay_map_out(worker_map *m) {
    const ps_table *t = m->view->workers;
    m->n_columns =
        (size_t)(ps_view_int(m->view->job, 0, "replicas") * ps_view_int(m->view->job, 0, "tp"));
    m->n_stages = m->n_columns > 0 ? t->n_rows / m->n_columns : 0;
    double fits = (double)(WIDTH - 2 * PAD - NAMES) / (double)(m->n_columns > 0 ? m->n_columns : 1);
    m->cell_w = fits < CELL_LEAST ? CELL_LEAST : fits > CELL_W_MOST ? CELL_W_MOST : floor(fits);
    m->cell_h = m->n_stages > 40 ? 8 : CELL_H_MOST;
    m->slowest = 1;
    for (size_t r = 0; r < t->n_rows; r++) {
        double s = ps_view_real(t, r, "slowdown");
        m->slowest = s > m->slowest ? s : m->slowest;
    }
    return m->n_stages > 0;
}

/* Room for a gap between cells, and for a frame around one. */
static bool has_frames(const worker_map *m) {
    return m->cell_w > 8 && m->cell_h > 8;
}

static void put_map_title(const worker_map *m) {
    const ps_table *t = m->view->job;
    char waste[PS_WHATIF_WASTE];
    char text[320];
    (void)snprintf(text, sizeof text, "%.160s%sslowdown of each worker", m->view->title,
                   m->view->title[0] != '\0' ? ": " : "");
    ps_svg_put_text(m->out, PAD, PAD + 12, 16, PS_SVG_START, m->surfaces->ink,
                    " font-weight=\"600\"", text);
    (void)snprintf(
        text, sizeof text,
        "%lld stages x %lld replicas; a step %s, %s with every op as usual: slowdown %.3f, "
        "waste %s. The lower one of a stage's and its replica's%s",
        (long long)ps_view_int(t, 0, "stages"), (long long)ps_view_int(t, 0, "replicas"),
        ps_ns_text_of(ps_view_int(t, 0, "no_delay")).text,
        ps_ns_text_of(ps_view_int(t, 0, "ideal")).text, ps_view_real(t, 0, "slowdown"),
        ps_whatif_waste(m->view, waste), has_frames(m) ? "; framed: the slowest" : "");
    ps_svg_put_text(m->out, PAD, PAD + 32, 12, PS_SVG_START, m->surfaces->quiet, "", text);
}

/* Every column where there is room, else every few. */
static void put_map_columns(const worker_map *m) {
    size_t every = (size_t)ceil(TEXT_W / m->cell_w);
    ps_svg_put_text(m->out, PAD + NAMES - 10, TOP - 6, 11, PS_SVG_END, m->surfaces->quiet, "",
                    "replica");
    for (size_t c = 0; c < m->n_columns; c += every) {
        char text[32];
        (void)snprintf(text, sizeof text, "%lld",
                       (long long)ps_view_int(m->view->workers, c, "replica"));
        ps_svg_put_text(m->out, PAD + NAMES + ((double)c + 0.5) * m->cell_w, TOP - 6, 11,
                        every > 1 ? PS_SVG_START : PS_SVG_MIDDLE, m->surfaces->quiet, "", text);
    }
}

static void put_worker(const worker_map *m, size_t row, double x, double y) {
    const ps_table *t = m->view->workers;
    double slowdown = ps_view_real(t, row, "slowdown");
    ps_rgb fill = heat_of(m->surfaces, share_of(m, slowdown));
    double gap = has_frames(m) ? 1 : 0;
    if (has_frames(m) && ps_view_int(t, row, "is_worst") != 0) {
        ps_svg_put_colour_rect(m->out, x, y, m->cell_w - gap, m->cell_h - gap, m->surfaces->ink);
        ps_svg_put_colour_rect(m->out, x + 2 * gap, y + 2 * gap, m->cell_w - 5 * gap,
                               m->cell_h - 5 * gap, m->surfaces->panel);
        ps_svg_put_colour_rect(m->out, x + 3 * gap, y + 3 * gap, m->cell_w - 7 * gap,
                               m->cell_h - 7 * gap, fill);
    } else {
        ps_svg_put_colour_rect(m->out, x, y, m->cell_w - gap, m->cell_h - gap, fill);
    }
    if (m->cell_w >= TEXT_W && m->cell_h >= TEXT_H) {
        char text[32];
        (void)snprintf(text, sizeof text, "%.3f", slowdown);
        ps_svg_put_text(m->out, x + m->cell_w / 2, y + m->cell_h / 2 + 4, 11, PS_SVG_MIDDLE,
                        ps_theme_text_on(fill), "", text);
    }
}

static void put_map_rows(const worker_map *m) {
    size_t every = (size_t)ceil(TEXT_H / m->cell_h);
    for (size_t s = 0; s < m->n_stages; s++) {
        double y = TOP + (double)s * m->cell_h;
        char text[32];
        (void)snprintf(text, sizeof text, "stage %lld",
                       (long long)ps_view_int(m->view->workers, s * m->n_columns, "stage"));
        if (s % every == 0) {
            ps_svg_put_text(m->out, PAD + NAMES - 10, y + (m->cell_h < TEXT_H ? 8 : 16), 11,
                            PS_SVG_END, m->surfaces->ink, "", text);
        }
        for (size_t c = 0; c < m->n_columns; c++) {
            put_worker(m, s * m->n_columns + c, PAD + NAMES + (double)c * m->cell_w, y);
        }
    }
}

static void put_map_scale(const worker_map *m, double y) {
    char text[32];
    for (int i = 0; i < SCALE_STEPS; i++) {
        ps_svg_put_colour_rect(m->out, PAD + NAMES + i * (SCALE_W / SCALE_STEPS), y,
                               SCALE_W / SCALE_STEPS, 10,
                               heat_of(m->surfaces, i / (SCALE_STEPS - 1.0)));
    }
    ps_svg_put_text(m->out, PAD + NAMES, y + 24, 11, PS_SVG_START, m->surfaces->quiet, "",
                    "1.000, as usual");
    (void)snprintf(text, sizeof text, "%.3f", m->slowest);
    ps_svg_put_text(m->out, PAD + NAMES + SCALE_W, y + 24, 11, PS_SVG_END, m->surfaces->quiet, "",
                    text);
}

/* A line each from `y` on. */
static void put_map_lacks(const worker_map *m, double y) {
    ps_buf lines = {0};
    ps_lacks_say(m->view->lang, m->view->lacks, "", "\n", &lines);
    for (char *line = lines.data; line != NULL && *line != '\0';) {
        char *end = line + strcspn(line, "\n");
        *end = '\0';
        y += LACK_H;
        ps_svg_put_text(m->out, PAD, y, 11, PS_SVG_START, m->surfaces->quiet, "", line);
        line = end + 1;
    }
    m->out->failed = m->out->failed || !ps_buf_ok(&lines);
    ps_buf_fini(&lines);
}

ps_code ps_write_whatif_svg(const ps_whatif_view *view, ps_buf *out, ps_err *err) {
    worker_map m = {.view = view, .surfaces = ps_theme_surfaces(false), .out = out};
    if (!lay_map_out(&m)) {
        return ps_fail(err, PS_NOTHING, "no workers to draw");
    }
    double bottom = TOP + (double)m.n_stages * m.cell_h;
    int width = (int)ceil(PAD + NAMES + (double)m.n_columns * m.cell_w) + PAD;
    ps_svg_begin(out, width < WIDTH ? WIDTH : width,
                 (int)ceil(bottom) + SCALE_H + LACK_H * (int)ps_lacks_n_lines(view->lacks) + PAD,
                 m.surfaces->page);
    put_map_title(&m);
    put_map_columns(&m);
    put_map_rows(&m);
    if (m.slowest > 1.01) {
        put_map_scale(&m, bottom + 16);
    }
    put_map_lacks(&m, bottom + SCALE_H);
    ps_buf_add_str(out, "</svg>\n");
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}

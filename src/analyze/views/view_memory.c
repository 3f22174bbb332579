/* memory_curve: what was allocated, reserved and active over time; memory_components: how much each held at most.
 *
 * A curve has at most `points` points a series: where there are more, each stretch of time gives its first, lowest, highest
 * and last one, so that no peak is lost. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/memory_points.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/num.h"

static ps_memory_by by_of(const char *text) {
    return strcmp(text, "stream") == 0      ? PS_MEMORY_STREAM
           : strcmp(text, "component") == 0 ? PS_MEMORY_COMPONENT
                                            : PS_MEMORY_OVERALL;
}

/* --- the curve ------------------------------------------------------------------------------------------------------------- */

typedef struct point_row {
    uint32_t series;
    const char *owner,
        *what; /* the owner moves into the table's arena at the end; the other is static */
    int64_t device, time_ns, bytes;
} point_row;

enum { C_SERIES, C_OWNER }; /* as they stand below */
static const ps_column COLUMNS[] = {
    {.name = "series", PS_FIELD(point_row, series)},
    {.name = "owner", PS_FIELD(point_row, owner), .is_shared = true},
    {.name = "what", PS_FIELD(point_row, what), .is_shared = true},
    {.name = "device", PS_FIELD(point_row, device), .unknown_below_zero = true},
    {.name = "time", PS_FIELD(point_row, time_ns), .unit = PS_UNIT_NS},
    {.name = "value", PS_FIELD(point_row, bytes), .unit = PS_UNIT_BYTES},
};

typedef struct curve {
    const ps_view_input *in;
    const ps_memory_points *m;
    ps_table *table;
    size_t most; /* points of a series */
} curve;

static void put_point(const curve *c, uint32_t series, int64_t time_ns, double bytes) {
    const ps_memory_series *s = &c->m->series[series];
    ps_table_put(c->table, &(point_row){series, s->owner, s->what, s->device, time_ns,
                                        ps_memory_whole(bytes)});
}

/* Points [from, to) as first, lowest, highest, last, in their order. */
static void put_stretch(const curve *c, uint32_t series, size_t from, size_t to) {
    const ps_memory_point *p = c->m->points;
    size_t low = from;
    size_t high = from;
    for (size_t i = from; i < to; i++) {
        low = p[i].bytes < p[low].bytes ? i : low;
        high = p[i].bytes > p[high].bytes ? i : high;
    }
    size_t keep[4] = {from, low < high ? low : high, low < high ? high : low, to - 1};
    for (size_t k = 0; k < 4; k++) {
        if (k == 0 || keep[k] > keep[k - 1]) {
            put_point(c, series, p[keep[k]].time_ns, p[keep[k]].bytes);
        }
    }
}

/* A value holds until the next one: the last one before the span stands at its beginning. */
static void put_series(const curve *c, uint32_t series) {
    const ps_memory_point *p = c->m->points;
    size_t from = c->m->series[series].first;
    size_t end = from + c->m->series[series].n;
    size_t begin = from;
    while (from < end && p[from].time_ns < c->in->from_ns) {
        from++;
    }
    size_t to = from;
    while (to < end && p[to].time_ns < c->in->to_ns) {
        to++;
    }
    if (from > begin && (from == to || p[from].time_ns > c->in->from_ns)) {
        put_point(c, series, c->in->from_ns, p[from - 1].bytes);
    }
    size_t n = to - from;
    size_t stretches = n <= c->most ? n : c->most / 4;
    for (size_t k = 0; k < stretches; k++) {
        put_stretch(c, series, from + k * n / stretches, from + (k + 1) * n / stretches);
    }
}

/* Names are in the pool of the points, which ends before the table. */
static void own_names(const curve *c) {
    const char **copies = ps_calloc(c->m->n_series + 1, sizeof *copies);
    bool ok = copies != NULL;
    for (size_t k = 0; ok && k < c->m->n_series; k++) {
        const char *owner = c->m->series[k].owner;
        copies[k] = ps_arena_strndup(&c->table->arena, owner, strlen(owner));
        ok = copies[k] != NULL;
    }
    for (size_t row = 0; ok && row < c->table->n_rows; row++) {
        ps_value *cells = &c->table->cells[row * c->table->n_columns];
        cells[C_OWNER].u.text = copies[cells[C_SERIES].u.i];
    }
    ps_free(copies);
    if (!ok) {
        ps_table_fail(c->table);
    }
}

static ps_table *make_curve(const ps_view_input *in, ps_err *err) {
    const char *by = ps_view_param_of(in, &ps_view_memory_curve, "by", err);
    const char *points = ps_view_param_of(in, &ps_view_memory_curve, "points", err);
    int64_t most = 0;
    if (by == NULL) {
        return NULL;
    }
    if (!ps_parse_i64(points, strlen(points), &most) || most < 8 || most > 1000000) {
        (void)ps_fail(err, PS_USAGE, "points: a number from 8 to 1000000");
        return NULL;
    }
    ps_memory_points m;
    ps_code code = ps_memory_points_read(in->trace, by_of(by), &m, err);
    curve c = {.in = in, .m = &m, .most = (size_t)most};
    c.table = code == PS_OK ? ps_table_new("memory_curve", "memory over time", PS_COLUMNS(COLUMNS))
                            : NULL;
    for (uint32_t k = 0; c.table != NULL && k < m.n_series; k++) {
        put_series(&c, k);
    }
    if (c.table != NULL) {
        own_names(&c);
    }
    bool any = m.n > 0;
    ps_memory_points_fini(&m);
    return ps_view_end(c.table, any, PS_NO_MEMORY(in->lang), err);
}

static const ps_view_param CURVE_PARAMS[] = {
    {"by", "what the curves stand for", "overall|stream|component", "overall"},
    {"points",
     "points of a series at most, 8 to 1000000; first, lowest, highest and last of each stretch are kept",
     "", "1000"}};

const ps_view ps_view_memory_curve = {.name = "memory_curve",
                                      .title = "Memory over time",
                                      .tab = PS_TAB_MEMORY,
                                      .params = CURVE_PARAMS,
                                      .n_params = sizeof CURVE_PARAMS / sizeof *CURVE_PARAMS,
                                      .make = make_curve};

/* --- components -------------------------------------------------------------------------------------------------------------- */

typedef struct peak_row {
    const char *owner, *what;
    int64_t device, peak_bytes, start_ns, last_bytes;
} peak_row;

static const ps_column PEAK_COLUMNS[] = {
    {.name = "component", PS_FIELD(peak_row, owner)},
    {.name = "what", PS_FIELD(peak_row, what)},
    {.name = "device", PS_FIELD(peak_row, device), .unknown_below_zero = true},
    {.name = "peak", PS_FIELD(peak_row, peak_bytes), .unit = PS_UNIT_BYTES},
    {.name = "start", PS_FIELD(peak_row, start_ns), .unit = PS_UNIT_NS},
    {.name = "last", PS_FIELD(peak_row, last_bytes), .unit = PS_UNIT_BYTES},
};

static void put_peak(const ps_view_input *in, const ps_memory_points *m, size_t series,
                     ps_table *t) {
    const ps_memory_series *s = &m->series[series];
    const ps_memory_point *last = NULL;
    const ps_memory_point *peak = ps_memory_peak(m, s, in->from_ns, in->to_ns, &last);
    if (peak != NULL) {
        ps_table_put(
            t, &(peak_row){.owner = s->owner,
                           .what = s->what,
                           .device = s->device,
                           .peak_bytes = ps_memory_whole(peak->bytes),
                           .start_ns = peak->time_ns > in->from_ns ? peak->time_ns : in->from_ns,
                           .last_bytes = ps_memory_whole(last->bytes)});
    }
}

static ps_table *make_components(const ps_view_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("memory_components", "peaks of components", PS_COLUMNS(PEAK_COLUMNS));
    bool any = false;
    for (int by = PS_MEMORY_COMPONENT;
         t != NULL && !t->failed && t->n_rows == 0 && by >= PS_MEMORY_OVERALL; by -= 2) {
        ps_memory_points m;
        t->failed = ps_memory_points_read(in->trace, (ps_memory_by)by, &m, err) != PS_OK;
        any = any || m.n > 0;
        for (size_t k = 0; k < m.n_series; k++) {
            put_peak(in, &m, k, t);
        }
        ps_memory_points_fini(&m);
    }
    return ps_view_end(t, any, PS_NO_MEMORY(in->lang), err);
}

const ps_view ps_view_memory_components = {.name = "memory_components",
                                           .title = "Peaks of memory by component",
                                           .tab = PS_TAB_MEMORY,
                                           .make = make_components};

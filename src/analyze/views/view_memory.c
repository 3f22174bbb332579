/* memory_curve: what was allocated, reserved and active over time; memory_components: how much each held at most.
 *
 * A curve has at most `points` points a series: where there are more, each stretch of time gives its first, lowest, highest
 * and last one, so that no peak is lost. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/views/view.h"
#include "analyze/views/view_memory_points.h"
#include "base/alloc.h"
#include "base/num.h"

static ps_memory_by by_of(const char *text) {
    return strcmp(text, "stream") == 0      ? PS_MEMORY_STREAM
           : strcmp(text, "component") == 0 ? PS_MEMORY_COMPONENT
                                            : PS_MEMORY_OVERALL;
}

static int64_t whole_bytes(double bytes) {
    return fabs(bytes) < 9e18 ? (int64_t)llround(bytes) : INT64_MAX;
}

/* --- the curve ------------------------------------------------------------------------------------------------------------- */

enum { C_SERIES, C_OWNER, C_WHAT, C_DEVICE, C_TIME, C_BYTES, N_COLUMNS };
static const ps_column COLUMNS[N_COLUMNS] = {
    [C_SERIES] = {.name = "series", .type = PS_COL_INT},
    [C_OWNER] = {.name = "owner", .type = PS_COL_TEXT},
    [C_WHAT] = {.name = "what", .type = PS_COL_TEXT},
    [C_DEVICE] = {.name = "device", .type = PS_COL_INT},
    [C_TIME] = {.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [C_BYTES] = {.name = "value", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
};

typedef struct curve {
    const ps_view_input *in;
    const ps_memory_points *m;
    ps_table *table;
    size_t most; /* points of a series */
} curve;

static bool put_point(const curve *c, uint32_t series, int64_t time_ns, double bytes) {
    const ps_memory_series *s = &c->m->series[series];
    if (!ps_table_add_row(c->table)) {
        return false;
    }
    ps_table_share_text(c->table, C_OWNER, s->owner); /* moved into the table's arena at the end */
    ps_table_share_text(c->table, C_WHAT, s->what);
    ps_table_set_int(c->table, C_SERIES, series);
    if (s->device >= 0) {
        ps_table_set_int(c->table, C_DEVICE, s->device);
    }
    ps_table_set_int(c->table, C_TIME, time_ns);
    ps_table_set_int(c->table, C_BYTES, whole_bytes(bytes));
    return true;
}

/* Points [from, to) as first, lowest, highest, last, in their order. */
static bool put_stretch(const curve *c, uint32_t series, size_t from, size_t to) {
    const ps_memory_point *p = c->m->points;
    size_t low = from;
    size_t high = from;
    for (size_t i = from; i < to; i++) {
        low = p[i].bytes < p[low].bytes ? i : low;
        high = p[i].bytes > p[high].bytes ? i : high;
    }
    size_t keep[4] = {from, low < high ? low : high, low < high ? high : low, to - 1};
    bool ok = true;
    for (size_t k = 0; ok && k < 4; k++) {
        ok = (k > 0 && keep[k] <= keep[k - 1]) ||
             put_point(c, series, p[keep[k]].time_ns, p[keep[k]].bytes);
    }
    return ok;
}

/* A value holds until the next one: the last one before the span stands at its beginning. */
static bool put_series(const curve *c, uint32_t series) {
    const ps_memory_point *p = c->m->points;
    size_t from = c->m->series[series].first;
    size_t end = from + c->m->series[series].n;
    size_t begin = from;
    bool ok = true;
    while (from < end && p[from].time_ns < c->in->from_ns) {
        from++;
    }
    size_t to = from;
    while (to < end && p[to].time_ns < c->in->to_ns) {
        to++;
    }
    if (from > begin && (from == to || p[from].time_ns > c->in->from_ns)) {
        ok = put_point(c, series, c->in->from_ns, p[from - 1].bytes);
    }
    size_t n = to - from;
    size_t stretches = n <= c->most ? n : c->most / 4;
    for (size_t k = 0; ok && k < stretches; k++) {
        ok = put_stretch(c, series, from + k * n / stretches, from + (k + 1) * n / stretches);
    }
    return ok;
}

/* Names are in the pool of the points, which ends before the table. */
static bool own_names(const curve *c) {
    const char **copies = ps_calloc(c->m->n_series + 1, sizeof *copies);
    bool ok = copies != NULL;
    for (size_t k = 0; ok && k < c->m->n_series; k++) {
        const char *owner = c->m->series[k].owner;
        copies[k] = ps_arena_strndup(&c->table->arena, owner, strlen(owner));
        ok = copies[k] != NULL;
    }
    for (size_t row = 0; ok && row < c->table->n_rows; row++) {
        ps_value *cells = &c->table->cells[row * N_COLUMNS];
        cells[C_OWNER].u.text = copies[cells[C_SERIES].u.i];
    }
    ps_free(copies);
    return ok;
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
    c.table = ps_table_new("memory_curve", "memory over time", COLUMNS, N_COLUMNS);
    bool ok = code == PS_OK && c.table != NULL;
    for (uint32_t k = 0; ok && k < m.n_series; k++) {
        ok = put_series(&c, k);
    }
    ok = ok && own_names(&c);
    bool any = m.n > 0;
    ps_memory_points_fini(&m);
    if (!ok || !any) {
        ps_table_free(c.table);
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s", PS_NO_MEMORY) : ps_fail_nomem(err));
        return NULL;
    }
    return c.table;
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

enum { P_OWNER, P_WHAT, P_DEVICE, P_PEAK, P_TIME, P_LAST, N_PEAK_COLUMNS };
static const ps_column PEAK_COLUMNS[N_PEAK_COLUMNS] = {
    [P_OWNER] = {.name = "component", .type = PS_COL_TEXT},
    [P_WHAT] = {.name = "what", .type = PS_COL_TEXT},
    [P_DEVICE] = {.name = "device", .type = PS_COL_INT},
    [P_PEAK] = {.name = "peak", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    [P_TIME] = {.name = "start", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    [P_LAST] = {.name = "last", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
};

static bool put_peak(const ps_view_input *in, const ps_memory_points *m, size_t series,
                     ps_table *t) {
    const ps_memory_series *s = &m->series[series];
    const ps_memory_point *peak = NULL;
    const ps_memory_point *last = NULL;
    for (size_t i = s->first; i < s->first + s->n; i++) {
        const ps_memory_point *p = &m->points[i];
        bool is_before = p->time_ns < in->from_ns; /* it may hold into the span */
        if (p->time_ns >= in->to_ns) {
            break;
        }
        peak = is_before || peak == NULL || p->bytes > peak->bytes ? p : peak;
        last = p;
    }
    if (peak == NULL) {
        return true;
    }
    if (!ps_table_add_row(t) || !ps_table_set_text(t, P_OWNER, s->owner) ||
        !ps_table_set_text(t, P_WHAT, s->what)) {
        return false;
    }
    if (s->device >= 0) {
        ps_table_set_int(t, P_DEVICE, s->device);
    }
    ps_table_set_int(t, P_PEAK, whole_bytes(peak->bytes));
    ps_table_set_int(t, P_TIME, peak->time_ns > in->from_ns ? peak->time_ns : in->from_ns);
    ps_table_set_int(t, P_LAST, whole_bytes(last->bytes));
    return true;
}

static ps_table *make_components(const ps_view_input *in, ps_err *err) {
    ps_table *t =
        ps_table_new("memory_components", "peaks of components", PEAK_COLUMNS, N_PEAK_COLUMNS);
    bool ok = t != NULL;
    bool any = false;
    for (int by = PS_MEMORY_COMPONENT; ok && t->n_rows == 0 && by >= PS_MEMORY_OVERALL; by -= 2) {
        ps_memory_points m;
        ok = ps_memory_points_read(in->trace, (ps_memory_by)by, &m, err) == PS_OK;
        any = any || m.n > 0;
        for (size_t k = 0; ok && k < m.n_series; k++) {
            ok = m.series[k].n == 0 || put_peak(in, &m, k, t);
        }
        ps_memory_points_fini(&m);
    }
    if (!ok || !any) {
        ps_table_free(t);
        (void)(ok ? ps_fail(err, PS_NOTHING, "%s", PS_NO_MEMORY) : ps_fail_nomem(err));
        return NULL;
    }
    return t;
}

const ps_view ps_view_memory_components = {.name = "memory_components",
                                           .title = "Peaks of memory by component",
                                           .tab = PS_TAB_MEMORY,
                                           .make = make_components};

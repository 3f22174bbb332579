#include "analyze/rank/overlap_lanes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "model/recording.h"

enum { LANE_COMPUTING, LANE_COMMUNICATION, LANE_NOT_OVERLAPPED, LANE_FREE, N_LANES };

#define ROUNDING_NS 250
#define EDGE_NS 1000 /* a lane may begin this much before the first slice that makes it */

typedef struct lane_sum {
    int64_t ns, n;
} lane_sum;

static bool is_one_device(const ps_overlaps *o) {
    for (size_t i = 1; i < o->n; i++) {
        if (o->at[i].device != o->at[0].device) {
            return false;
        }
    }
    return o->n > 0;
}

/* The first slice that starts at `from_ns` or later; they are sorted. */
static uint32_t overlap_lane_first_from(const ps_slices *s, int64_t from_ns) {
    PS_PLACE(uint32_t, low, 0, s->n, middle, s->start_ns[middle] < from_ns)
    return low;
}

/* Adds up the lanes inside of one step's work. */
static void add_overlap_lane_up(const ps_trace *trace, const ps_str *names, const ps_overlap *o,
                                lane_sum sums[N_LANES]) {
    const ps_slices *s = ps_trace_slices(trace);
    uint32_t i = overlap_lane_first_from(s, o->first_ns - EDGE_NS);
    for (; i < s->n && s->start_ns[i] <= o->last_ns; i++) {
        for (size_t lane = 0; s->kind[i] == PS_SLICE_DERIVED && lane < N_LANES; lane++) {
            if (!ps_str_is_none(names[lane]) && ps_str_eq(s->name[i], names[lane])) {
                sums[lane].ns += s->dur_ns[i];
                sums[lane].n++;
            }
        }
    }
}

static bool differs_by_rounding(const lane_sum *lane, int64_t own_ns) {
    int64_t difference = lane->ns < own_ns ? own_ns - lane->ns : lane->ns - own_ns;
    return lane->n > 0 ? difference / lane->n <= ROUNDING_NS : own_ns == 0;
}

/* What is a part of them stays one: receives of what is not overlapped, copies of what is free. */
static void set_lanes(ps_overlap *o, const int64_t ns[N_LANES]) {
    int64_t receives_ns = o->not_overlapped_ns - o->exclude_receive_ns;
    o->computing_ns = ns[LANE_COMPUTING];
    o->communication_ns = ns[LANE_COMMUNICATION];
    o->not_overlapped_ns = ns[LANE_NOT_OVERLAPPED];
    o->free_ns = ns[LANE_FREE];
    int64_t exclude_ns = o->not_overlapped_ns - receives_ns;
    o->exclude_receive_ns = exclude_ns > 0 ? exclude_ns : 0;
    int64_t *copies = &o->copies_ns[PS_SHARE_FREE];
    *copies = *copies < o->free_ns ? *copies : o->free_ns;
}

static void take_overlap_lane(const ps_trace *trace, const ps_str *names, ps_overlap *o) {
    lane_sum sums[N_LANES] = {{0, 0}};
    int64_t *own[N_LANES] = {[LANE_COMPUTING] = &o->computing_ns,
                             [LANE_COMMUNICATION] = &o->communication_ns,
                             [LANE_NOT_OVERLAPPED] = &o->not_overlapped_ns,
                             [LANE_FREE] = &o->free_ns};
    add_overlap_lane_up(trace, names, o, sums);
    for (size_t lane = 0; lane < N_LANES; lane++) {
        if (!differs_by_rounding(&sums[lane], *own[lane])) {
            return;
        }
    }
    int64_t ns[N_LANES];
    for (size_t lane = 0; lane < N_LANES; lane++) {
        ns[lane] = sums[lane].ns;
    }
    set_lanes(o, ns);
}

/* --- the same sums in a table ------------------------------------------------------------------------------ */

bool ps_step_in_cell(const ps_table *t, size_t row, size_t column, int64_t *step) {
    const ps_value *v = column < t->n_columns ? ps_table_cell(t, row, column) : NULL;
    if (v == NULL || v->is_null || t->columns[column].type == PS_COL_REAL) {
        return false;
    }
    if (t->columns[column].type == PS_COL_INT) {
        *step = v->u.i;
        return true;
    }
    const char *text = v->u.text;
    text += strncmp(text, "step", 4) == 0 ? 4 : 0;
    return ps_parse_i64(text, strlen(text), step);
}

#define NO_STEP UINT64_MAX /* the key of rows that name none: no step has it */

/* Step -> row of the table; that of several rows is n_rows, none of them. False when memory is out. */
static bool index_steps(const ps_table *t, ps_idmap *rows) {
    size_t column = ps_table_column(t, "Step");
    bool ok = t->n_rows < PS_IDMAP_NONE;
    for (size_t r = 0; ok && r < t->n_rows; r++) {
        int64_t step = 0;
        uint64_t key = ps_step_in_cell(t, r, column, &step) ? (uint64_t)step : NO_STEP;
        bool is_first = ps_idmap_get(rows, key) == PS_IDMAP_NONE;
        ok = ps_idmap_put(rows, key, (uint32_t)(is_first ? r : t->n_rows));
    }
    return ok;
}

static bool is_near(const ps_trace *trace, int64_t told_ns, int64_t own_ns) {
    int64_t n = (int64_t)ps_trace_slices(trace)->n;
    return llabs(ps_i64_minus(told_ns, own_ns)) <= n * ROUNDING_NS;
}

static void take_overlap_lane_row(const ps_trace *trace, const ps_table *t, const ps_idmap *rows,
                                  const char *const *names, ps_overlap *o) {
    size_t row = ps_idmap_get(rows, o->has_step ? (uint64_t)o->step : NO_STEP);
    int64_t told[N_LANES] = {0};
    int64_t *own[N_LANES] = {[LANE_COMPUTING] = &o->computing_ns,
                             [LANE_COMMUNICATION] = &o->communication_ns,
                             [LANE_NOT_OVERLAPPED] = &o->not_overlapped_ns,
                             [LANE_FREE] = &o->free_ns};
    for (size_t lane = 0; row < t->n_rows && lane < N_LANES; lane++) {
        size_t c = ps_table_column(t, names[lane]);
        bool is_us = c < t->n_columns && t->columns[c].type == PS_COL_REAL;
        const ps_value *v = is_us ? ps_table_cell(t, row, c) : NULL;
        bool is_said = v != NULL && !v->is_null && v->u.r >= 0 && v->u.r < 9e14;
        told[lane] = is_said ? llround(v->u.r * 1000) : -1;
        row = is_said && is_near(trace, told[lane], *own[lane]) ? row : t->n_rows;
    }
    if (row < t->n_rows) {
        set_lanes(o, told);
    }
}

static bool take_overlap_lane_table(const ps_trace *trace, const char *const *names,
                                    ps_overlaps *o) {
    const ps_table *t = ps_trace_missing_timeline(trace) != NULL
                            ? ps_trace_side_table(trace, "step_trace_time")
                            : NULL;
    if (t == NULL || !is_one_device(o)) {
        return true;
    }
    ps_idmap rows;
    ps_idmap_init(&rows);
    bool ok = index_steps(t, &rows);
    for (size_t i = 0; ok && i < o->n; i++) {
        take_overlap_lane_row(trace, t, &rows, names, &o->at[i]);
    }
    ps_idmap_fini(&rows);
    return ok;
}

bool ps_overlaps_take_lanes(const ps_trace *trace, ps_overlaps *o) {
    static const char *const NAMES[N_LANES] = {[LANE_COMPUTING] = "Computing",
                                               [LANE_COMMUNICATION] = "Communication",
                                               [LANE_NOT_OVERLAPPED] =
                                                   "Communication(Not Overlapped)",
                                               [LANE_FREE] = "Free"};
    ps_str names[N_LANES];
    for (size_t lane = 0; lane < N_LANES; lane++) {
        names[lane] = ps_trace_find_text(trace, NAMES[lane]);
    }
    for (size_t i = 0; !ps_str_is_none(names[LANE_COMPUTING]) && is_one_device(o) && i < o->n;
         i++) {
        take_overlap_lane(trace, names, &o->at[i]);
    }
    return take_overlap_lane_table(trace, NAMES, o);
}

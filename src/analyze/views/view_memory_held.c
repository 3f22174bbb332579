/* memory_held: what is held when most is allocated, beside what the curve says then. Made of the rows of memory_operators, so that
 * both say the same. */
#include <string.h>

#include "analyze/views/memory_held.h"
#include "base/alloc.h"
#include "base/num.h"

/* --- moments ------------------------------------------------------------------------------------------------------ */

ps_code ps_memory_moments_read(const ps_view_input *in, ps_memory_moments *out, ps_err *err) {
    *out = (ps_memory_moments){.to_ns = in->to_ns};
    ps_memory_points *p = &out->points;
    ps_code code = ps_memory_points_read(in->trace, PS_MEMORY_OVERALL, p, err);
    out->at = code == PS_OK ? ps_calloc(p->n_series + 1, sizeof *out->at) : NULL;
    if (out->at == NULL) {
        return code == PS_OK ? ps_fail_nomem(err) : code;
    }
    for (size_t k = 0; k < p->n_series; k++) {
        const ps_memory_series *s = &p->series[k];
        const ps_memory_point *last = NULL;
        const ps_memory_point *peak = strcmp(s->what, "allocated") == 0
                                          ? ps_memory_peak(p, s, in->from_ns, in->to_ns, &last)
                                          : NULL;
        if (peak != NULL) {
            int64_t time = peak->time_ns > in->from_ns ? peak->time_ns : in->from_ns;
            out->at[out->n++] =
                (ps_memory_moment){s->owner, s->device, time, ps_memory_whole(peak->bytes)};
        }
    }
    return PS_OK;
}

void ps_memory_moments_fini(ps_memory_moments *m) {
    ps_free(m->at);
    ps_memory_points_fini(&m->points);
}

ps_memory_moment ps_memory_moment_of(const ps_memory_moments *m, int64_t device) {
    for (size_t k = 0; k < m->n; k++) {
        if (m->at[k].device == device) {
            return m->at[k];
        }
    }
    return (ps_memory_moment){NULL, device, m->to_ns - 1, PS_UNKNOWN_INT};
}

/* --- the view ----------------------------------------------------------------------------------------------------- */

typedef struct held_row {
    const char *owner;
    int64_t device, time_ns, n, held, allocated, unexplained;
} held_row;

static const ps_column COLUMNS[] = {
    {.name = "owner", PS_FIELD(held_row, owner)},
    {.name = "device", PS_FIELD(held_row, device), .unknown_below_zero = true},
    {.name = "time", PS_FIELD(held_row, time_ns), .unit = PS_UNIT_NS},
    {.name = "number", PS_FIELD(held_row, n), .unit = PS_UNIT_COUNT},
    {.name = "held", PS_FIELD(held_row, held), .unit = PS_UNIT_BYTES},
    {.name = "allocated", PS_FIELD(held_row, allocated), .unit = PS_UNIT_BYTES},
    {.name = "unexplained", PS_FIELD(held_row, unexplained), .unit = PS_UNIT_BYTES},
};

/* Devices are few. */
typedef struct held_rows {
    held_row *at;
    size_t n, cap;
} held_rows;

static held_row *row_of_device(held_rows *rows, const ps_memory_moments *m, int64_t device) {
    for (size_t i = 0; i < rows->n; i++) {
        if (rows->at[i].device == device) {
            return &rows->at[i];
        }
    }
    if (!ps_grow(&rows->at, &rows->cap, rows->n + 1, UINT32_MAX, sizeof *rows->at)) {
        return NULL;
    }
    ps_memory_moment moment = ps_memory_moment_of(m, device);
    held_row *row = &rows->at[rows->n++];
    *row = (held_row){.owner = moment.owner,
                      .device = device,
                      .time_ns = moment.time_ns == INT64_MAX - 1 ? PS_UNKNOWN_INT : moment.time_ns,
                      .allocated = moment.allocated};
    return row;
}

static bool add_up_held(held_rows *rows, const ps_memory_moments *m, const ps_table *ops) {
    size_t size = ps_table_column(ops, "size");
    size_t device = ps_table_column(ops, "device");
    for (size_t k = 0; k < m->n; k++) { /* also where nothing is held */
        if (row_of_device(rows, m, m->at[k].device) == NULL) {
            return false;
        }
    }
    for (size_t i = 0; i < ops->n_rows; i++) {
        const ps_value *of = ps_table_cell(ops, i, device);
        const ps_value *bytes = ps_table_cell(ops, i, size);
        held_row *row = row_of_device(rows, m, of->is_null ? -1 : of->u.i);
        if (row == NULL) {
            return false;
        }
        row->n++;
        row->held = ps_i64_plus(row->held, bytes->is_null ? 0 : bytes->u.i);
    }
    for (size_t i = 0; i < rows->n; i++) {
        held_row *row = &rows->at[i];
        row->unexplained = row->allocated == PS_UNKNOWN_INT
                               ? PS_UNKNOWN_INT
                               : ps_i64_minus(row->allocated, row->held);
    }
    return true;
}

static ps_table *make_memory_held(const ps_view_input *in, ps_err *err) {
    const ps_view_value held = {"which", "held"};
    ps_view_input ask = *in;
    ask.values = &held;
    ask.n_values = 1;
    ps_table *ops = ps_view_memory_operators.make(&ask, err);
    if (ops == NULL) {
        return NULL;
    }
    ps_memory_moments m;
    held_rows rows = {0};
    ps_table *t = NULL;
    if (ps_memory_moments_read(in, &m, err) == PS_OK && add_up_held(&rows, &m, ops)) {
        t = ps_table_new("memory_held", "memory that is held", PS_COLUMNS(COLUMNS));
        ps_table_put_all(t, rows.at, rows.n, sizeof *rows.at);
    }
    ps_free(rows.at);
    ps_memory_moments_fini(&m);
    ps_table_free(ops);
    t = ps_table_end(t);
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

const ps_view ps_view_memory_held = {.name = "memory_held",
                                     .title = "Memory held at the peak",
                                     .tab = PS_TAB_MEMORY,
                                     .uses = PS_VIEW_LINKS,
                                     .make = make_memory_held};

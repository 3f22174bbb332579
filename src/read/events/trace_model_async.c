/* Asynchronous ranges: their events may stand in any order in the file, so they are paired at the end, id by id and in
 * time order. The slice of a beginning is added at once. */
#include <stdio.h>

#include "read/events/trace_model_parts.h"

/* Slices of one name lie on one track, whatever their id: they may overlap there. */
static uint32_t add_async_slice(ps_trace_model *m, const ps_model_event *e, ps_slice_kind kind) {
    uint32_t track = ps_builder_track(
        m->builder,
        (ps_track){
            .kind = PS_TRACK_DERIVED, .pid = e->pid, .tid = -1, .device = -1, .name = e->name});
    uint32_t slice = ps_builder_slice_in(m->builder, kind, track, e->name, e->cat, e->event->ts_ns,
                                         e->event->ts_ns, e->row);
    if (slice == PS_NONE) {
        if (!ps_builder_failed(m->builder)) {
            ps_diag_add(m->diag, PS_ODD_TIME, "event %lld: out of range", (long long)e->row);
        }
        return PS_NONE;
    }
    ps_model_add_args(m, e, slice);
    if (m->dialect.added != NULL) {
        m->dialect.added(m->dialect.context, m->builder, e, slice);
    }
    return slice;
}

/* Keeps the arguments of an end; its row, PS_NONE when there are none. */
static uint32_t keep_args(ps_trace_model *m, const ps_model_event *e) {
    const ps_event_arg *args = ps_model_args(e);
    uint32_t n = e->event->n_args;
    if (n == 0) {
        return PS_NONE;
    }
    if (!ps_grow(&m->late, &m->cap_late, m->n_late + 1, PS_MODEL_MAX, sizeof *m->late) ||
        !ps_grow(&m->late_args, &m->cap_late_args, m->n_late_args + n, PS_MODEL_MAX,
                 sizeof *m->late_args)) {
        m->failed = true;
        return PS_NONE;
    }
    uint32_t first = (uint32_t)m->n_late_args;
    for (uint32_t i = 0; i < n; i++) {
        if (ps_model_to_arg(m, e->batch, &args[i], &m->late_args[m->n_late_args])) {
            m->n_late_args++;
        }
    }
    m->late[m->n_late] = (ps_late_args){first, (uint32_t)m->n_late_args - first};
    return (uint32_t)m->n_late++;
}

void ps_model_async(ps_trace_model *m, const ps_model_event *e, ps_point_space space,
                    ps_point_phase phase) {
    if ((m->needs & PS_NEED_SLICES) == 0) {
        return;
    }
    if ((e->event->flags & PS_EVENT_HAS_ID) == 0) {
        ps_diag_add(m->diag, PS_ODD_EVENT_FIELD, "event %lld (byte %llu): no id", (long long)e->row,
                    (unsigned long long)e->event->offset);
        return;
    }
    ps_model_note_time(m, e->event->ts_ns);
    uint32_t slice = PS_NONE;
    if (phase != PS_POINT_END) {
        slice =
            add_async_slice(m, e, phase == PS_POINT_STEP ? PS_SLICE_INSTANT : PS_SLICE_HOST_OTHER);
    }
    if (phase == PS_POINT_STEP || (phase == PS_POINT_BEGIN && slice == PS_NONE)) {
        return;
    }
    ps_point_family family;
    uint64_t id_low = 0;
    ps_model_point_key(e, space, &family, &id_low);
    family.name = space == PS_POINT_OLD ? e->name.id : 0; /* the old ones do not nest */
    ps_point *point = ps_points_add(&m->ranges, &family, id_low, e->event->ts_ns, phase);
    if (point == NULL) {
        m->failed = true;
        return;
    }
    point->place = phase == PS_POINT_END ? keep_args(m, e) : slice;
}

/* --- at the end -------------------------------------------------------------------------------------- */

static void count_point(ps_trace_model *m, ps_oddity kind, const ps_point *point) {
    char what[128];
    ps_point_describe(m, &m->ranges, point, what, sizeof what);
    ps_diag_add(m->diag, kind, "%s", what);
}

static void end_slice(ps_trace_model *m, const ps_point *begin, const ps_point *end) {
    if (!ps_builder_slice_end(m->builder, begin->place, end->ts_ns)) {
        count_point(m, PS_ODD_TIME, end);
    }
    if (end->place != PS_NONE) {
        const ps_late_args *late = &m->late[end->place];
        for (uint32_t i = 0; i < late->n; i++) {
            ps_builder_arg(m->builder, begin->place, m->late_args[late->first + i]);
        }
    }
}

/* The innermost beginning without an end is the last one: a stack, kept in place of the points that are done. */
static void pair_group(ps_trace_model *m, uint32_t *rows, size_t n) {
    ps_point *points = m->ranges.points;
    size_t open = 0; /* rows[0 .. open) are beginnings without an end */
    for (size_t i = 0; i < n; i++) {
        const ps_point *p = &points[rows[i]];
        if (p->phase == PS_POINT_BEGIN) {
            rows[open++] = rows[i];
        } else if (open > 0) {
            end_slice(m, &points[rows[--open]], p);
        } else {
            count_point(m, PS_ODD_END_ALONE, p);
        }
    }
    for (size_t i = 0; i < open; i++) {
        (void)ps_builder_slice_end(m->builder, points[rows[i]].place, m->last_ns);
        count_point(m, PS_ODD_BEGIN_OPEN, &points[rows[i]]);
    }
}

bool ps_model_async_finish(ps_trace_model *m) {
    ps_points *p = &m->ranges;
    if (!ps_points_group(p)) {
        return false;
    }
    for (size_t at = 0; at < p->n;) {
        size_t end = ps_points_group_end(p, at);
        pair_group(m, p->order + at, end - at);
        at = end;
    }
    ps_points_fini(p);
    ps_free(m->late);
    ps_free(m->late_args);
    m->late = NULL;
    m->late_args = NULL;
    return true;
}

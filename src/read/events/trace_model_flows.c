/* Flows, at the end of the file: which ids are complete, which slice each of their points lies on, and who leads to
 * whom. Points are bound in one walk along each track, beside its slices: near-linear, whatever the file. */
#include <stdio.h>
#include <string.h>

#include "model/trace_sort.h"
#include "read/events/trace_model_parts.h"

#define MAX_LOOK_BACK 64  /* among slices that start together */
#define MAX_PLACEMENTS 64 /* tracks of one thread */

/* How well a slice fits a point, where a thread has several tracks. */
enum { NO_FIT, FIT_NEAR, FIT_EXACT, FIT_MEANT };

/* --- collecting -------------------------------------------------------------------------------------- */

void ps_model_flow_point(ps_trace_model *m, const ps_model_event *e, ps_point_phase phase) {
    if ((m->needs & PS_NEED_FLOWS) == 0) {
        return;
    }
    if ((e->event->flags & PS_EVENT_HAS_ID) == 0) {
        ps_diag_add(m->diag, PS_ODD_EVENT_FIELD, "event %lld (byte %llu): no id", (long long)e->row,
                    (unsigned long long)e->event->offset);
        return;
    }
    ps_point_family family;
    uint64_t id_low = 0;
    ps_model_point_key(e, PS_POINT_FLOW, &family, &id_low);
    family.name = m->dialect.flow_names ? e->name.id : 0;
    if (family.cat == 0) {
        family.cat = e->name.id; /* what a viewer would call it */
    }
    ps_point *point = ps_points_add(&m->flows, &family, id_low, e->event->ts_ns, phase);
    if (point == NULL) {
        m->failed = true;
        return;
    }
    point->place = e->thread;
    bool enclosing = phase != PS_POINT_END || (e->event->flags & PS_EVENT_BIND_ENCLOSING) != 0;
    point->enclosing = enclosing;
}

void ps_model_bind_point(ps_trace_model *m, const ps_model_event *e, uint32_t slice) {
    bool in = (e->event->flags & PS_EVENT_FLOW_IN) != 0;
    bool out = (e->event->flags & PS_EVENT_FLOW_OUT) != 0;
    if ((m->needs & PS_NEED_FLOWS) == 0 || !(in || out)) {
        return;
    }
    ps_point_family family;
    uint64_t id_low = 0;
    ps_model_point_key(e, PS_POINT_BIND, &family, &id_low);
    ps_point_phase phase = in && out ? PS_POINT_STEP : out ? PS_POINT_BEGIN : PS_POINT_END;
    ps_point *point = ps_points_add(&m->flows, &family, id_low, e->event->ts_ns, phase);
    if (point == NULL) {
        m->failed = true;
        return;
    }
    point->place = slice;
}

/* --- which ids are complete -------------------------------------------------------------------------- */

/* The point that leads to those before which there is none: the first beginning, else the first step. n when the group
 * has neither, or nothing else. */
static size_t first_begin(const ps_points *p, const uint32_t *rows, size_t n) {
    size_t step = n;
    size_t begin = n;
    size_t n_begins = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t phase = p->points[rows[i]].phase;
        n_begins += phase == PS_POINT_BEGIN;
        begin = phase == PS_POINT_BEGIN && begin == n ? i : begin;
        step = phase == PS_POINT_STEP && step == n ? i : step;
    }
    bool has_other = begin < n ? n_begins < n : n > 1;
    return !has_other ? n : begin < n ? begin : step;
}

/* Half of all ids may be of this kind: only the first few are put into words. */
static void count_odd_flow(ps_trace_model *m, ps_oddity odd, const ps_point *point) {
    if (m->diag->counts[odd] >= PS_DIAG_PLACES) {
        ps_diag_count(m->diag, odd, 1);
        return;
    }
    char what[128];
    ps_point_describe(m, &m->flows, point, what, sizeof what);
    ps_diag_add(m->diag, odd, "%s", what);
}

static bool is_known(const ps_trace_model *m, const ps_point *point) {
    const ps_point_family *f = &m->flows.families[point->family];
    return m->dialect.known != NULL && f->space == PS_POINT_FLOW && !f->id_is_text &&
           f->id_high == 0 &&
           m->dialect.known(m->dialect.context, m->builder, (ps_str){f->cat}, point->id_low);
}

/* Where a flow is open and the next one of the same id begins in the very moment in which it ends, its end comes first:
 * only an end with no beginning before it belongs to one of its own time. */
static void resolve_ties(const ps_points *p, uint32_t *rows, size_t n) {
    bool is_open = false;
    for (size_t i = 0; i < n;) {
        const ps_point *first = &p->points[rows[i]];
        size_t ending = i;
        while (ending < n && p->points[rows[ending]].ts_ns == first->ts_ns &&
               p->points[rows[ending]].phase != PS_POINT_END) {
            ending++;
        }
        if (is_open && ending < n && p->points[rows[ending]].ts_ns == first->ts_ns) {
            uint32_t row = rows[ending];
            memmove(&rows[i + 1], &rows[i], (ending - i) * sizeof *rows);
            rows[i] = row;
        }
        for (; i < n && p->points[rows[i]].ts_ns == first->ts_ns; i++) {
            is_open = p->points[rows[i]].phase != PS_POINT_END;
        }
    }
}

/* Keeps the points of complete ids, those of one id side by side: mostly a small part of all. */
bool ps_model_flows_choose(ps_trace_model *m) {
    ps_points *p = &m->flows;
    if (!ps_points_group(p)) {
        return false;
    }
    size_t n = 0;
    for (size_t at = 0; at < p->n;) {
        size_t end = ps_points_group_end(p, at);
        const ps_point *first = &p->points[p->order[at]];
        if (first_begin(p, p->order + at, end - at) == end - at) {
            count_odd_flow(m, PS_ODD_FLOW_HALF, first);
        } else if (!is_known(m, first)) {
            resolve_ties(p, p->order + at, end - at);
            for (size_t i = at; i < end; i++) {
                p->order[n++] = p->order[i];
            }
        }
        at = end;
    }
    ps_point *chosen = n > 0 ? ps_alloc(n * sizeof *chosen) : NULL;
    if (n > 0 && chosen == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        chosen[i] = p->points[p->order[i]];
        p->order[i] = (uint32_t)i;
    }
    ps_free(p->points);
    p->points = chosen;
    p->n = n;
    p->cap = n;
    return true;
}

/* --- binding ----------------------------------------------------------------------------------------- */

/* The points that may lie on one track, in time order. */
typedef struct visits {
    uint32_t *points;
    int64_t *times;
    size_t n, cap_points, cap_times;
} visits;

static bool add_visit(visits *v, uint32_t point, int64_t time_ns) {
    size_t need = v->n + 1;
    if (!ps_grow(&v->points, &v->cap_points, need, PS_MODEL_MAX, sizeof *v->points) ||
        !ps_grow(&v->times, &v->cap_times, need, PS_MODEL_MAX, sizeof *v->times)) {
        return false;
    }
    v->points[v->n] = point;
    v->times[v->n++] = time_ns;
    return true;
}

/* The points without a slice by thread, in time order within each. */
typedef struct thread_points {
    uint32_t *points;
    ps_track_rows rows; /* into points; a "track" is a thread */
} thread_points;

static void thread_points_fini(thread_points *t) {
    ps_free(t->points);
    ps_track_rows_fini(&t->rows);
}

/* From now on a point has a slice, or none yet, and no thread. */
static bool find_thread_points(ps_trace_model *m, thread_points *out) {
    size_t n = m->flows.n;
    uint32_t *threads = ps_alloc(n * sizeof *threads);
    int64_t *times = ps_alloc(n * sizeof *times);
    *out = (thread_points){.points = ps_alloc(n * sizeof *out->points)};
    bool ok = threads != NULL && times != NULL && out->points != NULL;
    size_t n_kept = 0;
    for (size_t i = 0; ok && i < n; i++) {
        ps_point *point = &m->flows.points[i];
        if (m->flows.families[point->family].space == PS_POINT_FLOW) { /* else its slice is known */
            out->points[n_kept] = (uint32_t)i;
            threads[n_kept] = point->place;
            times[n_kept++] = point->ts_ns;
            point->place = PS_NONE;
        }
    }
    ok = ok && ps_track_rows_make(&out->rows, times, threads, n_kept, m->n_threads);
    ps_free(threads);
    ps_free(times);
    return ok;
}

/* The placements by track: of each thread those on the MAX_PLACEMENTS tracks that it came to first. Else a thread on
 * many tracks would cost the product of its tracks and its points. */
static bool find_placements(ps_trace_model *m, ps_track_rows *by_track) {
    size_t n = m->n_placements;
    uint32_t *tracks = ps_alloc(n * sizeof *tracks);
    int64_t *order = ps_alloc(n * sizeof *order);
    bool ok = tracks != NULL && order != NULL;
    size_t n_kept = 0;
    for (size_t i = 0; ok && i < n; i++) {
        if (m->placements[i].number < MAX_PLACEMENTS) {
            m->placements[n_kept] = m->placements[i]; /* their lists are not needed any more */
            order[n_kept] = (int64_t)n_kept;
            tracks[n_kept] = m->placements[n_kept].track;
            n_kept++;
        }
    }
    ok = ok && ps_track_rows_make(by_track, order, tracks, n_kept, m->by_track.n_tracks);
    ps_free(tracks);
    ps_free(order);
    return ok;
}

/* One thread's points are in time order already. */
static bool sort_visits(visits *v) {
    uint32_t *order = ps_alloc(v->n * sizeof *order);
    uint32_t *points = ps_alloc(v->n * sizeof *points);
    bool ok = order != NULL && points != NULL && ps_times_order(v->times, v->n, order);
    if (ok) {
        memcpy(points, v->points, v->n * sizeof *points);
    }
    for (size_t i = 0; ok && i < v->n; i++) {
        v->points[i] = points[order[i]];
    }
    ps_free(order);
    ps_free(points);
    return ok;
}

/* Those of all threads that lie on the track. */
static bool collect_visits(const ps_trace_model *m, const thread_points *t,
                           const ps_track_rows *placements, uint32_t track, visits *v) {
    v->n = 0;
    uint32_t first = placements->first[track];
    uint32_t end = placements->first[track + 1];
    for (uint32_t p = first; p < end; p++) {
        uint32_t thread = m->placements[placements->rows[p]].thread;
        for (uint32_t i = t->rows.first[thread]; i < t->rows.first[thread + 1]; i++) {
            uint32_t point = t->points[t->rows.rows[i]];
            if (!add_visit(v, point, m->flows.points[point].ts_ns)) {
                return false;
            }
        }
    }
    return end - first < 2 || v->n < 2 || sort_visits(v);
}

static void bind_to(ps_point *point, uint32_t slice, unsigned quality) {
    if (quality > point->quality) {
        point->place = slice;
        point->quality = quality & 3;
    }
}

/* Whether a slice that starts at the point may be the one that is meant. */
static bool may_be_meant(const ps_trace_model *m, const ps_point *point, uint32_t slice) {
    const ps_dialect *d = &m->dialect;
    if (d->takes == NULL) {
        return ps_builder_slice_kind(m->builder, slice) != PS_SLICE_INSTANT;
    }
    ps_str kind = {m->flows.families[point->family].cat};
    return d->takes(d->context, m->builder, kind, point->phase == PS_POINT_BEGIN, slice);
}

/* Of the slices rows[first .. end), which all start at the point: the innermost that may be meant, for an end without
 * "bp":"e" the outermost. */
static void bind_exact(const ps_trace_model *m, ps_point *point, const uint32_t *rows, size_t first,
                       size_t end) {
    bool outer = m->dialect.takes == NULL && !point->enclosing;
    for (size_t i = 0; i < end - first && i < MAX_LOOK_BACK; i++) {
        uint32_t slice = rows[outer ? first + i : end - 1 - i];
        if (may_be_meant(m, point, slice)) {
            bind_to(point, slice, FIT_MEANT);
            return;
        }
    }
    if (!m->dialect.exact_ends) {
        bind_to(point, rows[end - 1], FIT_EXACT);
    }
}

/* Around a point, but not what its kind of flow begins at. */
static bool is_refused(const ps_trace_model *m, const ps_point *point, uint32_t slice) {
    const ps_dialect *d = &m->dialect;
    ps_str kind = {m->flows.families[point->family].cat};
    return d->exact_ends && d->takes != NULL &&
           !d->takes(d->context, m->builder, kind, point->phase == PS_POINT_BEGIN, slice);
}

/* The points of one track, in time order, beside its slices. */
static bool bind_track(ps_trace_model *m, const visits *v, uint32_t track, ps_open_stack *stack) {
    const ps_slices *s = ps_builder_slices(m->builder);
    const uint32_t *rows = m->by_track.rows;
    size_t next = m->by_track.first[track]; /* the first slice that is not open yet */
    size_t end = m->by_track.first[track + 1];
    size_t together = next; /* the first of those that started with the last one opened */
    stack->n = 0;
    for (size_t i = 0; i < v->n; i++) {
        ps_point *point = &m->flows.points[v->points[i]];
        for (; next < end && s->start_ns[rows[next]] <= point->ts_ns; next++) {
            bool fits = true;
            ps_model_prefetch(s, rows, next, end);
            if (!ps_open_stack_push(stack, s, rows[next], 0, &fits)) {
                return false;
            }
            together = s->start_ns[rows[next]] == s->start_ns[rows[together]] ? together : next;
        }
        if (next > together && s->start_ns[rows[together]] == point->ts_ns) {
            bind_exact(m, point, rows, together, next);
        } else if (m->dialect.exact_ends && point->phase == PS_POINT_END) {
            continue;
        } else if (!point->enclosing) {
            bind_to(point, next < end ? rows[next] : PS_NONE, next < end ? FIT_NEAR : NO_FIT);
        } else {
            uint32_t open = ps_open_stack_at(stack, s, point->ts_ns);
            open = open != PS_NONE && is_refused(m, point, open) ? PS_NONE : open;
            bind_to(point, open, open != PS_NONE ? FIT_NEAR : NO_FIT);
        }
    }
    return true;
}

static bool bind_points(ps_trace_model *m) {
    visits v = {0};
    thread_points points = {0};
    ps_track_rows placements = {0};
    ps_open_stack stack = {0};
    if (m->flows.n == 0) {
        return true;
    }
    bool ok = find_thread_points(m, &points) && find_placements(m, &placements);
    for (uint32_t t = 0; ok && t < m->by_track.n_tracks; t++) {
        ok = collect_visits(m, &points, &placements, t, &v) &&
             (v.n == 0 || bind_track(m, &v, t, &stack));
    }
    ps_free(v.points);
    ps_free(v.times);
    ps_free(stack.slices);
    thread_points_fini(&points);
    ps_track_rows_fini(&placements);
    return ok;
}

/* --- linking ----------------------------------------------------------------------------------------- */

/* What the file calls the flows of this id. */
static ps_str flow_kind_of(const ps_trace_model *m, const ps_point *begin) {
    const ps_point_family *f = &m->flows.families[begin->family];
    if (f->space != PS_POINT_BIND) {
        return (ps_str){f->cat};
    }
    const ps_slices *s = ps_builder_slices(m->builder);
    ps_str cat = s->category[begin->place];
    return ps_str_is_none(cat) ? s->name[begin->place] : cat;
}

static void lead(ps_trace_model *m, const ps_point *from, const ps_point *to, ps_str kind) {
    const ps_dialect *d = &m->dialect;
    if (from->place == PS_NONE || to->place == PS_NONE) {
        return; /* counted with the point */
    }
    if (from->place == to->place) {
        count_odd_flow(m, PS_ODD_FLOW_LOOP, to);
    } else if (d->flow == NULL || d->flow(d->context, m->builder, from->place, to->place, kind)) {
        ps_builder_flow_of(m->builder, from->place, to->place, kind);
    }
}

static void lead_group(ps_trace_model *m, const uint32_t *rows, size_t n) {
    const ps_points *p = &m->flows;
    size_t begin = first_begin(p, rows, n);
    const ps_point *from = &p->points[rows[begin]];
    ps_str kind = flow_kind_of(m, from);
    for (size_t i = 0; i < n; i++) {
        const ps_point *point = &p->points[rows[i]];
        if (point->place == PS_NONE) {
            char what[128];
            ps_point_describe(m, p, point, what, sizeof what);
            ps_diag_add(m->diag, PS_ODD_FLOW_NO_SLICE, "%s", what);
        }
        if (point->phase != PS_POINT_BEGIN && point != from) {
            lead(m, from, point, kind);
        }
        from = point->phase != PS_POINT_END ? point : from;
    }
}

bool ps_model_flows_finish(ps_trace_model *m) {
    if (!bind_points(m)) {
        return false;
    }
    for (size_t at = 0; at < m->flows.n;) {
        size_t end = ps_points_group_end(&m->flows, at);
        lead_group(m, m->flows.order + at, end - at);
        at = end;
    }
    ps_points_fini(&m->flows);
    return true;
}

/* The calls that launched something are sorted by thread and time, so that those inside of a range are neighbours; a tree of
 * extents over them (each node the union of its two children) gives the extent of any such run in a few steps.
 *
 * A launch that CUPTI was told the range of counts as made inside of that range and of those around it, whatever the clocks say: it
 * keeps the time of its call where that range is the innermost of those told of then, else it stands at the range's start. */
#include "record/export/project.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/order.h"
#include "record/export/cover.h"
#include "record/export/external_ids.h"
#include "record/export/order.h"

typedef struct launch {
    int64_t at_ns; /* when its call began */
    uint32_t tid, row;
} launch;

typedef struct launches {
    const ps_device_rows *d;
    launch *sorted;      /* by thread, then time */
    ps_projection *tree; /* [2 n]: leaves at n ..., node i over 2 i and 2 i + 1 */
    size_t n;
} launches;

static const ps_projection NOTHING = {PS_STILL_OPEN, PS_STILL_OPEN, PS_NO_TEXT};

bool ps_is_projected(const ps_events *v, size_t event) {
    return (v->extra[event] != PS_NO_TEXT || ps_external_ids_asked(v, event)) &&
           v->stream[event] == 0 && v->what[event] != PS_EVENT_MARK &&
           v->end_ns[event] != PS_STILL_OPEN;
}

static ps_projection join_projection(ps_projection a, ps_projection b) {
    if (a.first == PS_NO_TEXT || b.first == PS_NO_TEXT) {
        return a.first == PS_NO_TEXT ? b : a;
    }
    return (ps_projection){.start_ns = b.start_ns < a.start_ns ? b.start_ns : a.start_ns,
                           .end_ns = b.end_ns > a.end_ns ? b.end_ns : a.end_ns,
                           .first = b.start_ns < a.start_ns ? b.first : a.first};
}

static bool is_work(uint8_t kind) {
    return kind == PS_REC_KERNEL || kind == PS_REC_MEMCPY || kind == PS_REC_MEMSET ||
           kind == PS_REC_GRAPH;
}

typedef struct sources {
    ps_calls calls;
    ps_external_ids told;
    uint32_t *innermost; /* by row of a call: of the ranges told of */
} sources;

/* Of each call the innermost range that asked; only where CUPTI named any. */
static bool cover_projection(const ps_capture *c, sources *s) {
    if (s->told.external.n == 0) {
        return true;
    }
    const ps_events *v = ps_capture_events(c);
    uint8_t *asked = ps_calloc(v->n + 1, 1);
    for (size_t i = 0; asked != NULL && i < v->n; i++) {
        asked[i] = ps_external_ids_asked(v, i);
    }
    for (size_t i = 0; asked != NULL && i < s->told.external.n; i++) {
        const ps_order_key *key = &s->told.external.keys[i];
        uint32_t event = ps_external_ids_event(&s->told, c, key->at, PS_NO_TEXT);
        if (event != PS_NO_TEXT) {
            asked[event] = 1;
        }
    }
    s->innermost = asked != NULL ? ps_cover_calls(c, asked) : NULL;
    ps_free(asked);
    return s->innermost != NULL;
}

/* When and on which thread the work of a row was asked for; false when that is not known. */
static bool launch_of_projected_call(const ps_capture *c, const sources *s, uint32_t row,
                                     launch *out) {
    const ps_device_rows *d = ps_capture_device(c);
    const ps_events *v = ps_capture_events(c);
    uint32_t call = ps_calls_find(&s->calls, d->correlation[row]);
    uint32_t event = ps_external_ids_event(&s->told, c, d->correlation[row], call);
    if (event != PS_NO_TEXT) {
        bool inside = call != PS_NO_TEXT && s->innermost[call] == event;
        *out = (launch){inside ? d->start_ns[call] : v->start_ns[event], v->tid[event], row};
        return true;
    }
    if (call != PS_NO_TEXT) {
        *out = (launch){d->start_ns[call], d->tid[call], row};
    }
    return call != PS_NO_TEXT;
}

/* Work whose call is known, in no order yet. */
static bool collect_projection(const ps_capture *c, launches *l) {
    sources s = {.innermost = NULL};
    bool ok = ps_calls_make(&s.calls, l->d, PS_REC_API) && ps_external_ids_make(&s.told, c) &&
              cover_projection(c, &s);
    l->sorted = ok ? ps_alloc((l->d->n + 1) * sizeof *l->sorted) : NULL;
    for (size_t row = 0; l->sorted != NULL && row < l->d->n; row++) {
        l->n += is_work(l->d->kind[row]) &&
                launch_of_projected_call(c, &s, (uint32_t)row, &l->sorted[l->n]);
    }
    ps_calls_free(&s.calls);
    ps_external_ids_free(&s.told);
    ps_free(s.innermost);
    return l->sorted != NULL;
}

/* By one key, where equal keys keep their order. */
static bool sort_by(launches *l, bool tid) {
    ps_order_key *keys = ps_order_keys(l->n);
    launch *out = ps_alloc((l->n + 1) * sizeof *out);
    bool ok = keys != NULL && out != NULL;
    for (size_t i = 0; ok && i < l->n; i++) {
        keys[i] =
            (ps_order_key){tid ? l->sorted[i].tid : ps_order_of(l->sorted[i].at_ns), (uint32_t)i};
    }
    ok = ok && ps_order_sort(&keys, l->n);
    for (size_t i = 0; ok && i < l->n; i++) {
        out[i] = l->sorted[keys[i].index];
    }
    ps_free(keys);
    ps_free(ok ? l->sorted : out);
    l->sorted = ok ? out : l->sorted;
    return ok;
}

static bool make_tree(launches *l) {
    l->tree = ps_alloc((2 * l->n + 1) * sizeof *l->tree);
    for (size_t i = 0; l->tree != NULL && i < l->n; i++) {
        uint32_t row = l->sorted[i].row;
        l->tree[l->n + i] = (ps_projection){l->d->start_ns[row], l->d->end_ns[row], row};
    }
    for (size_t i = l->n; l->tree != NULL && i-- > 1;) {
        l->tree[i] = join_projection(l->tree[2 * i], l->tree[2 * i + 1]);
    }
    return l->tree != NULL;
}

/* The first launch of the thread that is not before `at_ns`, or behind all of it. */
static size_t projection_first_from(const launches *l, uint32_t tid, int64_t at_ns) {
    const launch *m = l->sorted;
    PS_PLACE(size_t, place, 0, l->n, i, m[i].tid < tid || (m[i].tid == tid && m[i].at_ns < at_ns))
    return place;
}

static ps_projection extent(const launches *l, size_t begin, size_t end) {
    ps_projection out = NOTHING;
    for (begin += l->n, end += l->n; begin < end; begin /= 2, end /= 2) {
        if (begin % 2 == 1) {
            out = join_projection(out, l->tree[begin++]);
        }
        if (end % 2 == 1) {
            out = join_projection(out, l->tree[--end]);
        }
    }
    return out;
}

static ps_projection project(const launches *l, const ps_events *v, size_t event) {
    if (!ps_is_projected(v, event)) {
        return NOTHING;
    }
    size_t begin = projection_first_from(l, v->tid[event], v->start_ns[event]);
    size_t end = projection_first_from(l, v->tid[event], v->end_ns[event]);
    return begin < end ? extent(l, begin, end) : NOTHING;
}

ps_projection *ps_project_ranges(const ps_capture *c) {
    const ps_events *v = ps_capture_events(c);
    launches l = {.d = ps_capture_device(c)};
    bool ok = collect_projection(c, &l) && sort_by(&l, false) && sort_by(&l, true) && make_tree(&l);
    ps_projection *out = ok ? ps_alloc((v->n + 1) * sizeof *out) : NULL;
    for (size_t i = 0; out != NULL && i < v->n; i++) {
        out[i] = project(&l, v, i);
    }
    ps_free(l.sorted);
    ps_free(l.tree);
    return out;
}

/* The calls that launched something are sorted by thread and time, so that those inside of a range are neighbours; a tree of
 * extents over them (each node the union of its two children) gives the extent of any such run in a few steps. */
#include "record/export/project.h"

#include <stddef.h>

#include "base/alloc.h"
#include "record/export/calls.h"
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
    return v->extra[event] != PS_NO_TEXT && v->stream[event] == 0 &&
           v->what[event] != PS_EVENT_MARK && v->end_ns[event] != PS_STILL_OPEN;
}

static ps_projection join(ps_projection a, ps_projection b) {
    if (a.first == PS_NO_TEXT || b.first == PS_NO_TEXT) {
        return a.first == PS_NO_TEXT ? b : a;
    }
    return (ps_projection){.start_ns = b.start_ns < a.start_ns ? b.start_ns : a.start_ns,
                           .end_ns = b.end_ns > a.end_ns ? b.end_ns : a.end_ns,
                           .first = b.start_ns < a.start_ns ? b.first : a.first};
}

static bool is_work(uint8_t kind) {
    return kind == PS_REC_KERNEL || kind == PS_REC_MEMCPY || kind == PS_REC_MEMSET;
}

/* Work whose call is known, in no order yet. */
static bool collect(launches *l) {
    ps_calls calls;
    bool ok = ps_calls_make(&calls, l->d, PS_REC_API);
    l->sorted = ok ? ps_alloc((l->d->n + 1) * sizeof *l->sorted) : NULL;
    for (size_t row = 0; l->sorted != NULL && row < l->d->n; row++) {
        uint32_t call =
            is_work(l->d->kind[row]) ? ps_calls_find(&calls, l->d->correlation[row]) : PS_NO_TEXT;
        if (call != PS_NO_TEXT) {
            l->sorted[l->n++] = (launch){l->d->start_ns[call], l->d->tid[call], (uint32_t)row};
        }
    }
    ps_calls_free(&calls);
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
        l->tree[i] = join(l->tree[2 * i], l->tree[2 * i + 1]);
    }
    return l->tree != NULL;
}

/* The first launch of the thread that is not before `at_ns`, or behind all of it. */
static size_t first_from(const launches *l, uint32_t tid, int64_t at_ns) {
    size_t low = 0;
    size_t high = l->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const launch *m = &l->sorted[middle];
        if (m->tid < tid || (m->tid == tid && m->at_ns < at_ns)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static ps_projection extent(const launches *l, size_t begin, size_t end) {
    ps_projection out = NOTHING;
    for (begin += l->n, end += l->n; begin < end; begin /= 2, end /= 2) {
        if (begin % 2 == 1) {
            out = join(out, l->tree[begin++]);
        }
        if (end % 2 == 1) {
            out = join(out, l->tree[--end]);
        }
    }
    return out;
}

static ps_projection project(const launches *l, const ps_events *v, size_t event) {
    if (!ps_is_projected(v, event)) {
        return NOTHING;
    }
    size_t begin = first_from(l, v->tid[event], v->start_ns[event]);
    size_t end = first_from(l, v->tid[event], v->end_ns[event]);
    return begin < end ? extent(l, begin, end) : NOTHING;
}

ps_projection *ps_project_ranges(const ps_capture *c) {
    const ps_events *v = ps_capture_events(c);
    launches l = {.d = ps_capture_device(c)};
    bool ok = collect(&l) && sort_by(&l, false) && sort_by(&l, true) && make_tree(&l);
    ps_projection *out = ok ? ps_alloc((v->n + 1) * sizeof *out) : NULL;
    for (size_t i = 0; out != NULL && i < v->n; i++) {
        out[i] = project(&l, v, i);
    }
    ps_free(l.sorted);
    ps_free(l.tree);
    return out;
}

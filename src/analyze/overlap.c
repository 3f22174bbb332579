/* Slices come by start, so all unions grow at their end: of each step and device four "reached so far" are enough, and
 * every length is a sum of what a slice adds beyond them. Nothing is stored but the spans that somebody asked for. */
#include "analyze/overlap.h"

#include "analyze/overlap_lanes.h"

#include <stdlib.h>

#include "analyze/marks.h"
#include "analyze/work.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"

/* A union that grows at its end. */
typedef struct reach {
    int64_t end_ns, total_ns;
} reach;

typedef struct bucket {
    ps_overlap o;
    reach computing, communication, busy, all; /* all: with copies */
    int64_t alone_before_ns;                   /* copies before the first work */
    int64_t alone_ns; /* copies outside of work, up to the end of the last work */
    ps_overlap_spans spans;
} bucket;

typedef struct measure {
    const ps_links *links;
    ps_work work;
    const ps_slices *s;
    bool with_spans;
    int64_t wanted_step;
    ps_idmap devices, steps; /* number -> running number */
    ps_idmap of;             /* both running numbers -> row of buckets */
    uint32_t n_devices, n_steps;
    bucket *buckets;
    size_t n, cap;
    size_t last; /* most slices go where the one before went */
} measure;

/* --- where it goes ------------------------------------------------------------------------------------ */

static bool number(ps_idmap *map, int64_t key, uint32_t *next, uint32_t *out) {
    *out = ps_idmap_get(map, (uint64_t)key);
    if (*out != PS_IDMAP_NONE) {
        return true;
    }
    *out = (*next)++;
    return ps_idmap_put(map, (uint64_t)key, *out);
}

/* False when memory is out. */
static bool find_bucket(measure *m, int64_t device, int64_t step, bucket **out) {
    if (m->n > 0 && m->buckets[m->last].o.device == device && m->buckets[m->last].o.step == step) {
        *out = &m->buckets[m->last];
        return true;
    }
    uint32_t d = 0;
    uint32_t s = 0;
    if (!number(&m->devices, device, &m->n_devices, &d) ||
        !number(&m->steps, step, &m->n_steps, &s)) {
        return false;
    }
    uint64_t key = ((uint64_t)d << 32) | s;
    uint32_t row = ps_idmap_get(&m->of, key);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)m->n;
        if (!ps_grow(&m->buckets, &m->cap, m->n + 1, UINT32_MAX - 1, sizeof *m->buckets) ||
            !ps_idmap_put(&m->of, key, row)) {
            return false;
        }
        static const reach NOWHERE = {.end_ns = INT64_MIN};
        m->buckets[m->n++] = (bucket){.o = {.step = step, .device = device},
                                      .computing = NOWHERE,
                                      .communication = NOWHERE,
                                      .busy = NOWHERE,
                                      .all = NOWHERE};
    }
    m->last = row;
    *out = &m->buckets[row];
    return true;
}

static void extend(reach *r, int64_t start_ns, int64_t end_ns) {
    int64_t from = start_ns > r->end_ns ? start_ns : r->end_ns;
    r->total_ns += end_ns > from ? end_ns - from : 0;
    r->end_ns = end_ns > r->end_ns ? end_ns : r->end_ns;
}

/* What of the last span of a union lies after a time at which all its spans have begun. */
static int64_t beyond(const reach *r, int64_t time_ns) {
    return r->end_ns > time_ns ? r->end_ns - time_ns : 0;
}

/* Keeps a united list united; spans come by start. */
static bool extend_list(ps_intervals *list, int64_t start_ns, int64_t end_ns) {
    ps_interval *last = list->n > 0 ? &list->at[list->n - 1] : NULL;
    if (last != NULL && start_ns <= last->end_ns) {
        last->end_ns = end_ns > last->end_ns ? end_ns : last->end_ns;
        return true;
    }
    return ps_intervals_add(list, start_ns, end_ns);
}

static bool take_busy(const measure *m, bucket *b, ps_part p, int64_t start, int64_t end) {
    if (b->busy.total_ns == 0) {
        b->o.first_ns = start;
        b->alone_before_ns = b->all.total_ns - beyond(&b->all, start);
    }
    bool computes = p == PS_PART_COMPUTING;
    extend(computes ? &b->computing : &b->communication, start, end);
    extend(&b->busy, start, end);
    extend(&b->all, start, end);
    b->alone_ns = b->all.total_ns - b->busy.total_ns - beyond(&b->all, b->busy.end_ns);
    return !m->with_spans ||
           (extend_list(computes ? &b->spans.computing : &b->spans.communication, start, end) &&
            extend_list(&b->spans.busy, start, end));
}

static bool take_slice(measure *m, uint32_t i) {
    ps_part p = m->s->dur_ns[i] > 0 ? ps_work_part(&m->work, i) : PS_PART_NONE;
    int64_t step = p != PS_PART_NONE ? ps_links_step(m->links, i) : PS_STEP_OUTSIDE;
    if (step == PS_STEP_OUTSIDE || (m->wanted_step >= 0 && step != m->wanted_step)) {
        return true;
    }
    bucket *b = NULL;
    if (!find_bucket(m, ps_work_device(&m->work, i), step, &b)) {
        return false;
    }
    int64_t start = m->s->start_ns[i];
    int64_t dur = m->s->dur_ns[i];
    b->o.memory_ns = ps_i64_plus(b->o.memory_ns, p == PS_PART_COPYING ? dur : 0);
    b->o.bubble_ns = ps_i64_plus(b->o.bubble_ns, p == PS_PART_RECEIVING ? dur : 0);
    if (p == PS_PART_COPYING) {
        extend(&b->all, start, start + dur);
        return true;
    }
    return take_busy(m, b, p, start, start + dur);
}

/* --- results ------------------------------------------------------------------------------------------ */

static void finish(bucket *b) {
    ps_overlap *o = &b->o;
    o->computing_ns = b->computing.total_ns;
    o->communication_ns = b->communication.total_ns;
    o->not_overlapped_ns = b->busy.total_ns - b->computing.total_ns;
    o->last_ns = b->busy.end_ns;
    o->free_ns = o->last_ns - o->first_ns - b->busy.total_ns;
    o->preparing_ns = o->has_step ? o->first_ns - o->step_start_ns : 0;
    o->memory_alone_ns = b->all.total_ns - b->busy.total_ns;
    o->memory_in_gaps_ns = b->alone_ns - b->alone_before_ns;
}

static void free_spans(ps_overlap_spans *spans) {
    ps_intervals_fini(&spans->computing);
    ps_intervals_fini(&spans->communication);
    ps_intervals_fini(&spans->busy);
}

static int compare(int64_t a, int64_t b) {
    return a < b ? -1 : a > b;
}

static int by_device_and_step(const void *a, const void *b) {
    const ps_overlap *x = &((const bucket *)a)->o;
    const ps_overlap *y = &((const bucket *)b)->o;
    int order = compare(x->device, y->device);
    order = order != 0 ? order : compare(x->step_start_ns, y->step_start_ns);
    return order != 0 ? order : compare(x->step, y->step);
}

/* The window of a step whose id stands in several rows is that of all of them. */
static bool set_windows(measure *m) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(m->links->trace, &n);
    ps_step *windows = ps_calloc((size_t)m->n_steps + 1, sizeof *windows);
    for (uint32_t i = 0; windows != NULL && i < m->n_steps; i++) {
        windows[i] = (ps_step){.start_ns = INT64_MAX, .end_ns = INT64_MIN};
    }
    for (size_t i = 0; windows != NULL && i < n; i++) {
        uint32_t s = ps_idmap_get(&m->steps, (uint64_t)steps[i].id);
        if (s != PS_IDMAP_NONE) {
            ps_step *w = &windows[s];
            w->start_ns = steps[i].start_ns < w->start_ns ? steps[i].start_ns : w->start_ns;
            w->end_ns = steps[i].end_ns > w->end_ns ? steps[i].end_ns : w->end_ns;
        }
    }
    for (size_t i = 0; windows != NULL && i < m->n; i++) {
        ps_overlap *o = &m->buckets[i].o;
        const ps_step *w = &windows[ps_idmap_get(&m->steps, (uint64_t)o->step)];
        o->has_step = w->start_ns <= w->end_ns;
        o->step_start_ns = o->has_step ? w->start_ns : 0;
        o->step_end_ns = o->has_step ? w->end_ns : 0;
    }
    ps_free(windows);
    return windows != NULL;
}

/* Moves the buckets in which the device worked; the others go. */
static bool hand_out(measure *m, ps_overlaps *out) {
    out->at = ps_calloc(m->n + 1, sizeof *out->at);
    out->spans = m->with_spans ? ps_calloc(m->n + 1, sizeof *out->spans) : NULL;
    if (out->at == NULL || (m->with_spans && out->spans == NULL) || !set_windows(m)) {
        return false;
    }
    if (m->n > 1) {
        qsort(m->buckets, m->n, sizeof *m->buckets, by_device_and_step);
    }
    for (size_t i = 0; i < m->n; i++) {
        bucket *b = &m->buckets[i];
        if (b->busy.total_ns == 0) {
            continue;
        }
        finish(b);
        out->at[out->n] = b->o;
        if (m->with_spans) {
            out->spans[out->n] = b->spans;
            b->spans = (ps_overlap_spans){0};
        }
        out->n++;
    }
    return true;
}

ps_code ps_overlaps_measure(const ps_links *links, int64_t wanted_step, bool with_spans,
                            ps_overlaps *out, ps_err *err) {
    measure m = {.links = links,
                 .work = ps_work_of(links),
                 .s = ps_trace_slices(links->trace),
                 .with_spans = with_spans,
                 .wanted_step = wanted_step};
    *out = (ps_overlaps){0};
    ps_idmap_init(&m.devices);
    ps_idmap_init(&m.steps);
    ps_idmap_init(&m.of);
    bool ok = true;
    for (uint32_t i = 0; ok && i < m.s->n; i++) {
        ok = take_slice(&m, i);
    }
    ok = ok && hand_out(&m, out);
    ok = ok && ps_overlaps_take_lanes(links->trace, out);
    for (size_t i = 0; i < m.n; i++) {
        free_spans(&m.buckets[i].spans);
    }
    ps_free(m.buckets);
    ps_idmap_fini(&m.devices);
    ps_idmap_fini(&m.steps);
    ps_idmap_fini(&m.of);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_overlaps_fini(ps_overlaps *o) {
    for (size_t i = 0; o->spans != NULL && i < o->n; i++) {
        free_spans(&o->spans[i]);
    }
    ps_free(o->at);
    ps_free(o->spans);
    *o = (ps_overlaps){0};
}

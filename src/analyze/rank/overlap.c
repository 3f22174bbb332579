/* Slices come by start, so all unions grow at their end: of each step and device four "reached so far" are enough, and
 * every length is a sum of what a slice adds beyond them. Time without work is Free of a step as soon as the step that
 * began last works again; what else there is of it waits until the ends of all steps are known. So nothing is stored but
 * that, and the spans that somebody asked for. */
#include "analyze/rank/overlap.h"

#include "analyze/rank/overlap_lanes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/rank/step_index.h"
#include "analyze/rank/work.h"
#include "analyze/stats/intervals.h"
#include "base/alloc.h"
#include "base/idmap.h"
#include "base/num.h"
#include "base/order.h"
#include "base/sort.h"

const char *const ps_share_names[PS_N_SHARES] = {[PS_SHARE_FREE] = "Free",
                                                 [PS_SHARE_BEFORE] = "Before the first work",
                                                 [PS_SHARE_AFTER] = "After the last work"};

/* A union that grows at its end. */
typedef struct reach {
    int64_t end_ns, total_ns;
} reach;

typedef struct bucket {
    ps_overlap o;
    reach computing, communication, busy;
    reach or_received; /* computing and receives */
    ps_overlap_spans spans;
    size_t row; /* of the results */
} bucket;

/* Time without work of a device. */
typedef struct piece {
    int64_t start_ns, end_ns, device;
    bool copies; /* ran all along; else nothing did */
} piece;

typedef struct pieces {
    piece *at;
    size_t n, cap;
} pieces;

/* What one device did so far, whatever the step. */
typedef struct device_state {
    int64_t device;
    int64_t end_ns;      /* of all work so far; pieces before it are known */
    ps_intervals copies; /* united, those that end later */
    size_t latest;       /* bucket of the step that began last, SIZE_MAX before the first */
    pieces open;         /* since the last work of that step */
} device_state;

typedef struct measure {
    const ps_links *links;
    ps_work work;
    const ps_slices *s;
    bool with_spans;
    int64_t wanted_step;
    ps_idmap devices, steps; /* number -> running number */
    ps_idmap of;             /* both running numbers -> row of buckets */
    uint32_t n_steps;
    bucket *buckets;
    size_t n, cap;
    size_t last;          /* most slices go where the one before went */
    device_state *states; /* by running number */
    size_t n_states, cap_states, last_state;
    pieces unresolved;                    /* for ps_overlaps_share, once all steps are known */
    int64_t steps_start_ns, steps_end_ns; /* of all windows; both 0 without steps */
    bool has_steps;
} measure;

/* --- where it goes ------------------------------------------------------------------------------------ */

static bool is_overlap_wanted(const measure *m, int64_t step) {
    return m->wanted_step < 0 || step == m->wanted_step;
}

/* The device begins with the first window, or, without steps, with what it does first. NULL when memory is out. */
static device_state *find_state(measure *m, int64_t device, int64_t start_ns) {
    if (m->last_state < m->n_states && m->states[m->last_state].device == device) {
        return &m->states[m->last_state];
    }
    uint32_t row = ps_idmap_get(&m->devices, (uint64_t)device);
    if (row == PS_IDMAP_NONE) {
        row = (uint32_t)m->n_states;
        if (!ps_grow(&m->states, &m->cap_states, m->n_states + 1, UINT32_MAX - 1,
                     sizeof *m->states) ||
            !ps_idmap_put(&m->devices, (uint64_t)device, row)) {
            return NULL;
        }
        m->states[m->n_states++] =
            (device_state){.device = device,
                           .end_ns = m->has_steps ? m->steps_start_ns : start_ns,
                           .latest = SIZE_MAX};
    }
    m->last_state = row;
    return &m->states[row];
}

static bool number_overlap(ps_idmap *map, int64_t key, uint32_t *next, uint32_t *out) {
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
    uint32_t d = ps_idmap_get(&m->devices, (uint64_t)device); /* find_state() put it there */
    uint32_t s = 0;
    if (!number_overlap(&m->steps, step, &m->n_steps, &s)) {
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
                                      .or_received = NOWHERE,
                                      .row = SIZE_MAX};
    }
    m->last = row;
    *out = &m->buckets[row];
    return true;
}

static void extend_overlap(reach *r, int64_t start_ns, int64_t end_ns) {
    int64_t from = start_ns > r->end_ns ? start_ns : r->end_ns;
    r->total_ns += end_ns > from ? end_ns - from : 0;
    r->end_ns = end_ns > r->end_ns ? end_ns : r->end_ns;
}

/* --- time without work --------------------------------------------------------------------------------- */

static bool add_overlap_piece(pieces *list, int64_t device, int64_t start_ns, int64_t end_ns,
                              bool copies) {
    if (end_ns <= start_ns) {
        return true;
    }
    if (!ps_grow(&list->at, &list->cap, list->n + 1, UINT32_MAX, sizeof *list->at)) {
        return false;
    }
    list->at[list->n++] = (piece){start_ns, end_ns, device, copies};
    return true;
}

/* From the end of the work so far to `until_ns`: what copies fill, and what nothing fills. */
static bool add_overlap_gap(device_state *d, int64_t until_ns) {
    int64_t at = d->end_ns;
    bool ok = true;
    for (size_t i = 0; ok && i < d->copies.n && at < until_ns; i++) {
        int64_t from = d->copies.at[i].start_ns;
        int64_t to = d->copies.at[i].end_ns;
        from = from > at ? from : at;
        from = from < until_ns ? from : until_ns;
        to = to < until_ns ? to : until_ns;
        ok = add_overlap_piece(&d->open, d->device, at, from, false) &&
             add_overlap_piece(&d->open, d->device, from, to, true);
        at = to > at ? to : at;
    }
    return ok && add_overlap_piece(&d->open, d->device, at, until_ns, false);
}

static void forget_copies(device_state *d) {
    size_t n = 0;
    while (n < d->copies.n && d->copies.at[n].end_ns <= d->end_ns) {
        n++;
    }
    if (n > 0) {
        memmove(d->copies.at, d->copies.at + n, (d->copies.n - n) * sizeof *d->copies.at);
        d->copies.n -= n;
    }
}

/* Pieces of interleaved steps come late; unite_spans() puts them in order. */
static bool add_overlap_span(ps_intervals *list, int64_t start_ns, int64_t end_ns) {
    bool in_order = list->n == 0 || start_ns >= list->at[list->n - 1].start_ns;
    return in_order ? ps_intervals_extend(list, start_ns, end_ns)
                    : ps_intervals_add(list, start_ns, end_ns);
}

static bool keep_share(const measure *m, bucket *b, ps_share_part part, const piece *p) {
    ps_overlap *o = &b->o;
    int64_t ns = ps_i64_minus(p->end_ns, p->start_ns);
    int64_t *const sums[PS_N_SHARES] = {&o->free_ns, &o->before_ns, &o->after_ns};
    ps_intervals *const lists[PS_N_SHARES] = {&b->spans.free, &b->spans.before, &b->spans.after};
    *sums[part] = ps_i64_plus(*sums[part], ns);
    o->copies_ns[part] = ps_i64_plus(o->copies_ns[part], p->copies ? ns : 0);
    return !m->with_spans ||
           (add_overlap_span(lists[part], p->start_ns, p->end_ns) &&
            (!p->copies || add_overlap_span(&b->spans.copies, p->start_ns, p->end_ns)));
}

/* Pieces behind the last work of a step wait until it is known whether it works again. */
static bool move_open(measure *m, device_state *d) {
    bool ok = true;
    for (size_t i = 0; ok && i < d->open.n; i++) {
        const piece *p = &d->open.at[i];
        ok = add_overlap_piece(&m->unresolved, p->device, p->start_ns, p->end_ns, p->copies);
    }
    d->open.n = 0;
    return ok;
}

/* The work of bucket `row` ends the open pieces; before its first work it has none. */
static bool close_pieces(measure *m, device_state *d, size_t row) {
    bool ok = true;
    bucket *b = &m->buckets[row];
    if (b->busy.total_ns == 0) {
        ok = move_open(m, d);
        d->latest = row;
    } else if (d->latest == row) {
        for (size_t i = 0; ok && i < d->open.n; i++) {
            ok = keep_share(m, b, PS_SHARE_FREE, &d->open.at[i]);
        }
        d->open.n = 0;
    }
    return ok;
}

/* --- slices -------------------------------------------------------------------------------------------- */

static bool take_busy(const measure *m, bucket *b, ps_part p, int64_t start, int64_t end) {
    if (b->busy.total_ns == 0) {
        b->o.first_ns = start;
    }
    bool computes = p == PS_PART_COMPUTING;
    extend_overlap(computes ? &b->computing : &b->communication, start, end);
    extend_overlap(&b->busy, start, end);
    if (p != PS_PART_COMMUNICATION) {
        extend_overlap(&b->or_received, start, end);
    }
    return !m->with_spans || !is_overlap_wanted(m, b->o.step) ||
           (ps_intervals_extend(computes ? &b->spans.computing : &b->spans.communication, start,
                                end) &&
            ps_intervals_extend(&b->spans.busy, start, end));
}

static bool take_overlap_work(measure *m, device_state *d, bucket *b, ps_part p, int64_t start,
                              int64_t end) {
    bool ok = start <= d->end_ns || add_overlap_gap(d, start);
    if (b != NULL) {
        ok = ok && close_pieces(m, d, (size_t)(b - m->buckets)) && take_busy(m, b, p, start, end);
        b->o.bubble_ns = ps_i64_plus(b->o.bubble_ns, p == PS_PART_RECEIVING ? end - start : 0);
    }
    if (end > d->end_ns) {
        d->end_ns = end;
        forget_copies(d);
    }
    return ok;
}

static bool take_slice(measure *m, uint32_t i) {
    ps_part p = m->s->dur_ns[i] > 0 ? ps_work_part(&m->work, i) : PS_PART_NONE;
    if (p == PS_PART_NONE) {
        return true;
    }
    int64_t start = m->s->start_ns[i];
    int64_t end = start + m->s->dur_ns[i];
    int64_t step = ps_links_step(m->links, i);
    device_state *d = find_state(m, ps_work_device(&m->work, i), start);
    bucket *b = NULL;
    if (d == NULL || (step != PS_STEP_OUTSIDE && !find_bucket(m, d->device, step, &b))) {
        return false;
    }
    if (p != PS_PART_COPYING) {
        return take_overlap_work(m, d, b, p, start, end);
    }
    if (b != NULL) {
        b->o.memory_ns = ps_i64_plus(b->o.memory_ns, end - start);
    }
    return end <= d->end_ns || ps_intervals_extend(&d->copies, start, end);
}

/* --- results ------------------------------------------------------------------------------------------ */

static void finish_overlap(bucket *b) {
    ps_overlap *o = &b->o;
    o->computing_ns = b->computing.total_ns;
    o->communication_ns = b->communication.total_ns;
    o->not_overlapped_ns = b->busy.total_ns - b->computing.total_ns;
    o->exclude_receive_ns = b->busy.total_ns - b->or_received.total_ns;
    o->last_ns = b->busy.end_ns;
}

static void free_spans(ps_overlap_spans *spans) {
    ps_intervals_fini(&spans->computing);
    ps_intervals_fini(&spans->communication);
    ps_intervals_fini(&spans->busy);
    ps_intervals_fini(&spans->free);
    ps_intervals_fini(&spans->before);
    ps_intervals_fini(&spans->after);
    ps_intervals_fini(&spans->copies);
}

PS_COMPARE(by_device_and_step, bucket, PS_BY(o.device) PS_BY(o.step_start_ns) PS_BY(o.step))

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

PS_COMPARE(by_device_and_first, ps_overlap_place,
           PS_BY(device) PS_BY(first_ns) PS_BY(step_start_ns) PS_BY(last_ns))

/* Of sorted and finished buckets. */
static bool set_places(const measure *m, ps_overlaps *out) {
    out->places = ps_calloc(m->n + 1, sizeof *out->places);
    for (size_t i = 0; out->places != NULL && i < m->n; i++) {
        const ps_overlap *o = &m->buckets[i].o;
        if (m->buckets[i].busy.total_ns > 0) {
            out->places[out->n_places++] = (ps_overlap_place){.device = o->device,
                                                              .first_ns = o->first_ns,
                                                              .last_ns = o->last_ns,
                                                              .step_start_ns = o->step_start_ns,
                                                              .step_end_ns = o->step_end_ns,
                                                              .row = m->buckets[i].row,
                                                              .has_step = o->has_step};
        }
    }
    ps_sort(out->places, out->n_places, sizeof *out->places, by_device_and_first);
    for (size_t i = 0; i < out->n_places; i++) {
        ps_overlap_place *p = &out->places[i];
        bool before = i > 0 && p[-1].device == p->device && p[-1].latest_ns > p->last_ns;
        p->latest_ns = before ? p[-1].latest_ns : p->last_ns;
        p->latest = before ? p[-1].latest : i;
        p->longer = i > 0 && p[-1].device == p->device ? i - 1 : SIZE_MAX;
        while (p->longer != SIZE_MAX && out->places[p->longer].last_ns <= p->last_ns) {
            p->longer = out->places[p->longer].longer;
        }
    }
    return out->places != NULL;
}

/* Pieces at the ends of steps, and within steps that interleave. */
static bool resolve_pieces(measure *m, ps_overlaps *out, const size_t *bucket_of) {
    bool ok = true;
    for (size_t i = 0; ok && i < m->unresolved.n; i++) {
        const piece *p = &m->unresolved.at[i];
        ps_share shares[2];
        size_t n = ps_overlaps_share(out, p->device, p->start_ns, p->end_ns, shares);
        for (size_t k = 0; ok && k < n; k++) {
            piece part = {shares[k].start_ns, shares[k].end_ns, p->device, p->copies};
            ok = keep_share(m, &m->buckets[bucket_of[shares[k].row]], shares[k].part, &part);
        }
    }
    return ok;
}

static void unite_spans(ps_overlap_spans *spans) {
    ps_intervals_unite(&spans->free);
    ps_intervals_unite(&spans->before);
    ps_intervals_unite(&spans->after);
    ps_intervals_unite(&spans->copies);
}

/* What the device did after its last work. */
static bool end_devices(measure *m) {
    bool ok = true;
    for (size_t i = 0; ok && i < m->n_states; i++) {
        device_state *d = &m->states[i];
        int64_t end = m->has_steps ? m->steps_end_ns : d->end_ns;
        if (!m->has_steps && d->copies.n > 0) {
            end = d->copies.at[d->copies.n - 1].end_ns;
        }
        ok = (end <= d->end_ns || add_overlap_gap(d, end)) && move_open(m, d);
    }
    return ok;
}

/* Moves the buckets in which the device worked; the others go. */
static bool hand_overlap_out(measure *m, ps_overlaps *out) {
    out->at = ps_calloc(m->n + 1, sizeof *out->at);
    out->spans = m->with_spans ? ps_calloc(m->n + 1, sizeof *out->spans) : NULL;
    size_t *bucket_of = ps_calloc(m->n + 1, sizeof *bucket_of);
    bool ok = out->at != NULL && (!m->with_spans || out->spans != NULL) && bucket_of != NULL &&
              end_devices(m) && set_windows(m);
    if (ok && m->n > 1) {
        qsort(m->buckets, m->n, sizeof *m->buckets, by_device_and_step);
    }
    size_t n = 0;
    for (size_t i = 0; ok && i < m->n; i++) {
        bucket *b = &m->buckets[i];
        finish_overlap(b);
        if (b->busy.total_ns > 0 && is_overlap_wanted(m, b->o.step)) {
            bucket_of[n] = i;
            b->row = n++;
        }
    }
    ok = ok && set_places(m, out) && resolve_pieces(m, out, bucket_of);
    for (; ok && out->n < n; out->n++) {
        bucket *b = &m->buckets[bucket_of[out->n]];
        out->at[out->n] = b->o;
        if (m->with_spans) {
            unite_spans(&b->spans);
            out->spans[out->n] = b->spans;
            b->spans = (ps_overlap_spans){0};
        }
    }
    ps_free(bucket_of);
    return ok;
}

static void find_overlap_windows(measure *m) {
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(m->links->trace, &n);
    for (size_t i = 0; i < n; i++) {
        bool first = !m->has_steps;
        m->has_steps = true;
        m->steps_start_ns =
            first || steps[i].start_ns < m->steps_start_ns ? steps[i].start_ns : m->steps_start_ns;
        m->steps_end_ns =
            first || steps[i].end_ns > m->steps_end_ns ? steps[i].end_ns : m->steps_end_ns;
    }
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
    find_overlap_windows(&m);
    bool ok = true;
    for (uint32_t i = 0; ok && i < m.s->n; i++) {
        ok = take_slice(&m, i);
    }
    ok = ok && hand_overlap_out(&m, out);
    out->knows_computing = m.work.knows_computing;
    ok = ok && ps_overlaps_take_lanes(links->trace, out);
    for (size_t i = 0; i < m.n; i++) {
        free_spans(&m.buckets[i].spans);
    }
    for (size_t i = 0; i < m.n_states; i++) {
        ps_intervals_fini(&m.states[i].copies);
        ps_free(m.states[i].open.at);
    }
    ps_free(m.states);
    ps_free(m.unresolved.at);
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
    ps_free(o->places);
    *o = (ps_overlaps){0};
}

bool ps_overlaps_exposed(const ps_overlaps *o, ps_intervals *out) {
    bool ok = true;
    for (size_t i = 0; ok && i < o->n; i++) {
        ps_intervals alone = {0};
        ok = ps_intervals_minus(&o->spans[i].communication, &o->spans[i].computing, &alone);
        for (size_t k = 0; ok && k < alone.n; k++) {
            ok = ps_intervals_add(out, alone.at[k].start_ns, alone.at[k].end_ns);
        }
        ps_intervals_fini(&alone);
    }
    ps_intervals_unite(out);
    return ok;
}

/* --- whose time without work is -------------------------------------------------------------------------- */

/* The last place of the device that began at `at_ns` or before; SIZE_MAX: none. *next: the one behind it, or n_places. */
static size_t last_begun(const ps_overlaps *o, int64_t device, int64_t at_ns, size_t *next) {
    const ps_overlap_place *p = o->places;
    PS_PLACE(size_t, low, 0, o->n_places, i,
             p[i].device < device || (p[i].device == device && p[i].first_ns <= at_ns))
    *next = low < o->n_places && o->places[low].device == device ? low : o->n_places;
    return low > 0 && o->places[low - 1].device == device ? low - 1 : SIZE_MAX;
}

static size_t put_overlap_share(const ps_overlap_place *p, ps_share_part part, int64_t start_ns,
                                int64_t end_ns, ps_share *out) {
    if (end_ns <= start_ns || p->row == SIZE_MAX) {
        return 0;
    }
    *out = (ps_share){p->row, part, start_ns, end_ns};
    return 1;
}

size_t ps_overlaps_share(const ps_overlaps *o, int64_t device, int64_t start_ns, int64_t end_ns,
                         ps_share out[2]) {
    size_t next = 0;
    size_t begun = last_begun(o, device, start_ns, &next);
    const ps_overlap_place *latest = begun != SIZE_MAX ? &o->places[begun] : NULL;
    if (latest != NULL && latest->latest_ns >= end_ns) { /* somebody's work goes on */
        while (latest->last_ns < end_ns) {
            latest = &o->places[latest->longer];
        }
        return put_overlap_share(latest, PS_SHARE_FREE, start_ns, end_ns, out);
    }
    int64_t cut = end_ns; /* here the next step begins */
    size_t n = 0;
    if (next < o->n_places) {
        const ps_overlap_place *p = &o->places[next];
        cut = p->has_step ? p->step_start_ns : start_ns;
        cut = cut < start_ns ? start_ns : cut > end_ns ? end_ns : cut;
        n = put_overlap_share(p, PS_SHARE_BEFORE, cut, end_ns, out);
    }
    if (latest != NULL) {
        const ps_overlap_place *p = &o->places[latest->latest];
        int64_t to = p->has_step && p->step_end_ns < cut ? p->step_end_ns : cut;
        n += put_overlap_share(p, PS_SHARE_AFTER, start_ns, to, out + n);
    }
    return n;
}

static int compare_overlap_starts(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

int64_t *ps_overlap_step_starts(const ps_overlap *at, size_t n, size_t *n_steps) {
    int64_t *starts = ps_alloc((n + 1) * sizeof *starts);
    *n_steps = 0;
    for (size_t i = 0; starts != NULL && i < n; i++) {
        starts[i] = at[i].step_start_ns;
    }
    ps_sort(starts, n, sizeof *starts, compare_overlap_starts);
    for (size_t i = 0; starts != NULL && i < n; i++) {
        if (*n_steps == 0 || starts[*n_steps - 1] != starts[i]) {
            starts[(*n_steps)++] = starts[i];
        }
    }
    return starts;
}

void ps_overlap_archive(ps_archive *a, void *overlap) {
    ps_overlap *x = overlap;
    PS_ARCHIVE(a, x, step, device, has_step, step_start_ns, step_end_ns, first_ns, last_ns,
               computing_ns, communication_ns, not_overlapped_ns, free_ns, bubble_ns,
               exclude_receive_ns, before_ns, after_ns, memory_ns);
    PS_ARCHIVE_EACH(a, x, copies_ns);
}

void ps_overlaps_archive(ps_archive *a, void *overlaps) {
    ps_overlaps *x = overlaps;
    PS_ARCHIVE_ARRAY(a, x, at, n, ps_overlap_archive);
    PS_ARCHIVE(a, x, knows_computing);
}

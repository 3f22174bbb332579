#include "analyze/views/view_time.h"

#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/order.h"

typedef struct reach {
    int64_t computing_ns, communication_ns; /* up to here the moments are given away */
} reach;

typedef struct walk {
    const ps_view_input *in;
    ps_work work;
    reach *reached; /* [overlaps->n] */
    size_t last;
} walk;

/* Most slices go where the one before went. */
static size_t find_overlap(walk *w, int64_t device, int64_t step) {
    const ps_overlaps *o = w->in->overlaps;
    if (w->last < o->n && o->at[w->last].device == device && o->at[w->last].step == step) {
        return w->last;
    }
    for (size_t i = 0; i < o->n; i++) {
        if (o->at[i].device == device && o->at[i].step == step) {
            return w->last = i;
        }
    }
    return SIZE_MAX;
}

bool ps_time_add_exposed(ps_intervals *list, const ps_intervals *hidden_by, int64_t start_ns,
                         int64_t end_ns) {
    PS_PLACE(size_t, low, 0, hidden_by->n, middle, hidden_by->at[middle].end_ns <= start_ns)
    bool ok = true;
    for (; ok && low < hidden_by->n && hidden_by->at[low].start_ns < end_ns; low++) {
        const ps_interval *h = &hidden_by->at[low];
        ok = h->start_ns <= start_ns || ps_intervals_add(list, start_ns, h->start_ns);
        start_ns = h->end_ns > start_ns ? h->end_ns : start_ns;
    }
    return ok && (start_ns >= end_ns || ps_intervals_add(list, start_ns, end_ns));
}

/* The slice's own share of [start, end), cut to the span. */
static ps_time_piece time_share_of(walk *w, uint32_t i, ps_part part, int64_t step) {
    const ps_slices *s = w->work.s;
    int64_t start = s->start_ns[i];
    int64_t end = start + s->dur_ns[i];
    ps_time_piece p = {.slice = i, .part = part, .overlap = SIZE_MAX};
    if (step != PS_STEP_OUTSIDE) {
        p.overlap = find_overlap(w, ps_work_device(&w->work, i), step);
    }
    if (p.overlap != SIZE_MAX) {
        reach *r = &w->reached[p.overlap];
        int64_t *reached = part == PS_PART_COMPUTING ? &r->computing_ns : &r->communication_ns;
        int64_t free_from = *reached;
        *reached = end > *reached ? end : *reached;
        start = start > free_from ? start : free_from;
    }
    p.start_ns = start > w->in->from_ns ? start : w->in->from_ns;
    p.end_ns = end < w->in->to_ns ? end : w->in->to_ns;
    p.end_ns = p.end_ns > p.start_ns ? p.end_ns : p.start_ns;
    p.share_ns = p.end_ns - p.start_ns;
    if (p.overlap != SIZE_MAX && part != PS_PART_COMPUTING) {
        p.share_ns -= ps_intervals_within_ns(&w->in->overlaps->spans[p.overlap].computing,
                                             p.start_ns, p.end_ns);
    }
    return p;
}

bool ps_time_walk(const ps_view_input *in, bool (*take)(void *context, const ps_time_piece *piece),
                  void *context) {
    walk w = {.in = in,
              .work = ps_work_of(in->links),
              .reached = ps_calloc(in->overlaps->n + 1, sizeof *w.reached)};
    bool ok = w.reached != NULL;
    for (size_t i = 0; ok && i < in->overlaps->n; i++) {
        w.reached[i] = (reach){INT64_MIN, INT64_MIN};
    }
    const ps_slices *s = w.work.s;
    for (uint32_t i = 0; ok && i < s->n && s->start_ns[i] < in->to_ns; i++) {
        ps_part part = s->dur_ns[i] > 0 ? ps_work_part(&w.work, i) : PS_PART_NONE;
        if (part == PS_PART_NONE || part == PS_PART_COPYING) {
            continue;
        }
        ps_time_piece p = time_share_of(&w, i, part, ps_links_step(in->links, i));
        ok = !ps_view_touches(in, s->start_ns[i], s->dur_ns[i]) || take(context, &p);
    }
    ps_free(w.reached);
    return ok;
}

/* The stretches in which the device was idle: between the work of steps, at their ends, and the longest that are the
 * host's. From idle.h, of which they are the pieces put together. */
#include <stdlib.h>
#include <string.h>

#include "analyze/report/report_facts.h"
#include "base/alloc.h"
#include "base/sort.h"

#define MAX_GAPS 200000 /* of a rank; of more the longest are kept */
#define MAX_HOST_GAPS ((size_t)1 << 16)
#define SHORT_NS 20000

static const char *wait_name_of(const ps_trace *trace, uint32_t slice, ps_report_rank *r) {
    const char *name =
        slice != PS_NONE ? ps_trace_text(trace, ps_trace_slices(trace)->name[slice]) : "";
    size_t n = strlen(name);
    return ps_arena_strndup(&r->arena, name, n < 400 ? n : 400);
}

/* --- lists ----------------------------------------------------------------------------------------------------------- */

static int by_wait_length(const void *a, const void *b) {
    const ps_report_gap *x = a;
    const ps_report_gap *y = b;
    int64_t dx = x->end_ns - x->start_ns;
    int64_t dy = y->end_ns - y->start_ns;
    if (dx != dy) {
        return dx > dy ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static const ps_sort_key BY_WAIT_START[] = {PS_UP(ps_report_gap, start_ns)};

static void keep_longest(ps_report_gap *gaps, size_t *n, size_t most, int64_t *dropped_ns) {
    if (*n > most) {
        qsort(gaps, *n, sizeof *gaps, by_wait_length);
        for (size_t i = most; i < *n; i++) {
            *dropped_ns = ps_i64_plus(*dropped_ns, gaps[i].end_ns - gaps[i].start_ns);
        }
        *n = most;
    }
    ps_sort_by(gaps, *n, sizeof *gaps, PS_KEYS(BY_WAIT_START));
}

/* Pieces that touch are one stretch. */
static bool add_wait_gap(ps_report_gap **gaps, size_t *n, size_t *cap, ps_report_gap gap) {
    ps_report_gap *last = *n > 0 ? &(*gaps)[*n - 1] : NULL;
    if (last != NULL && last->end_ns == gap.start_ns && last->step == gap.step) {
        last->end_ns = gap.end_ns;
        return true;
    }
    if (!ps_grow(gaps, cap, *n + 1, UINT32_MAX, sizeof **gaps)) {
        return false;
    }
    (*gaps)[(*n)++] = gap;
    return true;
}

static void keep_edge(ps_report_event *longest, const ps_report_gap *g) {
    if (g->end_ns - g->start_ns > longest->dur_ns) {
        *longest = (ps_report_event){
            .start_ns = g->start_ns, .dur_ns = g->end_ns - g->start_ns, .step = g->step};
    }
}

static bool list_gaps(const ps_overlaps *overlaps, const ps_idle *idle, ps_report_rank *r) {
    bool ok = true;
    ps_share_part edge = PS_SHARE_FREE; /* of the last one in the list of edges */
    for (size_t i = 0; ok && i < idle->n; i++) {
        const ps_idle_piece *p = &idle->at[i];
        ps_report_gap g = {r->origin_ns + p->start_ns, r->origin_ns + p->end_ns,
                           overlaps->at[p->row].step};
        if (p->part == PS_SHARE_FREE) {
            ok = add_wait_gap(&r->gaps, &r->n_gaps, &r->cap_gaps, g);
        } else {
            size_t n = edge == (ps_share_part)p->part ? r->n_edges : 0; /* else begins a new one */
            ok = n > 0 ? add_wait_gap(&r->edges, &r->n_edges, &r->cap_edges, g)
                       : ps_grow(&r->edges, &r->cap_edges, r->n_edges + 1, UINT32_MAX,
                                 sizeof *r->edges);
            if (ok && n == 0) {
                r->edges[r->n_edges++] = g;
            }
            edge = (ps_share_part)p->part;
            if (ok) {
                keep_edge(edge == PS_SHARE_BEFORE ? &r->before : &r->after,
                          &r->edges[r->n_edges - 1]);
            }
        }
        ok = ok && (!ps_idle_is_hosts(p->cause) ||
                    add_wait_gap(&r->host_gaps, &r->n_host_gaps, &r->cap_host_gaps, g));
    }
    int64_t dropped_ns = 0;
    keep_longest(r->gaps, &r->n_gaps, MAX_GAPS, &r->dropped_gaps_ns);
    keep_longest(r->host_gaps, &r->n_host_gaps, MAX_HOST_GAPS, &dropped_ns);
    return ok;
}

/* --- the longest waits for the host ---------------------------------------------------------------------------------- */

/* Pieces [from, to) are one stretch of waiting for the host. */
typedef struct stretch {
    size_t from, to;
    int64_t start_ns, length_ns;
} stretch;

static bool wait_goes_on(const ps_idle_piece *a, const ps_idle_piece *b) {
    return a->end_ns == b->start_ns && a->next == b->next && a->row == b->row &&
           ps_idle_is_hosts(b->cause);
}

static const ps_sort_key LONGER_FIRST[] = {PS_DOWN(stretch, length_ns), PS_UP(stretch, start_ns),
                                           PS_UP(stretch, from)};

/* The largest first; of equal ones the first activity. */
static void note_wait_parts(const int64_t by_cause[PS_N_ACTIVITIES], ps_report_wait *w) {
    bool taken[PS_N_ACTIVITIES] = {false};
    for (size_t k = 0; k < PS_REPORT_WAIT_PARTS; k++) {
        int most = 0;
        for (int cause = 1; cause < PS_N_ACTIVITIES; cause++) {
            bool is_more = taken[most] || by_cause[cause] > by_cause[most];
            most = !taken[cause] && is_more ? cause : most;
        }
        taken[most] = true;
        w->parts[k] = (ps_report_wait_part){most, by_cause[most]};
    }
}

/* In `from`, which fills half of the stretch: the innermost range that still does. All that do lie around its middle. */
static uint32_t innermost_filling(const ps_host_activity *host, uint32_t from, const stretch *x) {
    const ps_slices *s = ps_trace_slices(host->links->trace);
    uint32_t thread = host->thread_of[s->track[from]];
    int64_t middle_ns = x->start_ns + x->length_ns / 2;
    int64_t until_ns = 0;
    uint32_t slice = thread == PS_NONE
                         ? PS_NONE
                         : ps_host_innermost_at(host, thread, middle_ns, middle_ns + 1, &until_ns);
    for (; slice != PS_NONE && slice != from; slice = host->links->parent[slice]) {
        int64_t end_ns = s->start_ns[slice] + s->dur_ns[slice];
        int64_t from_ns = s->start_ns[slice] > x->start_ns ? s->start_ns[slice] : x->start_ns;
        int64_t to_ns = end_ns < x->start_ns + x->length_ns ? end_ns : x->start_ns + x->length_ns;
        if (to_ns - from_ns >= x->length_ns - x->length_ns / 2) {
            return slice;
        }
    }
    return from;
}

/* What the host did, and the range that filled half. */
static bool tell_wait(const ps_host_activity *host, const ps_overlaps *overlaps,
                      const ps_idle *idle, const stretch *x, ps_report_rank *r) {
    const ps_trace *trace = host->links->trace;
    int64_t by_cause[PS_N_ACTIVITIES] = {0};
    const ps_idle_piece *longest = &idle->at[x->from];
    for (size_t i = x->from; i < x->to; i++) {
        const ps_idle_piece *p = &idle->at[i];
        by_cause[p->cause] += p->end_ns - p->start_ns;
        longest = p->end_ns - p->start_ns > longest->end_ns - longest->start_ns ? p : longest;
    }
    bool fills = longest->end_ns - longest->start_ns >= x->length_ns - x->length_ns / 2;
    uint32_t filling =
        fills && longest->from != PS_NONE ? innermost_filling(host, longest->from, x) : PS_NONE;
    uint8_t next =
        longest->next != PS_NONE ? ps_trace_slices(trace)->kind[longest->next] : PS_SLICE_DERIVED;
    ps_report_wait *w = &r->waits[r->n_waits++];
    *w = (ps_report_wait){.start_ns = r->origin_ns + x->start_ns,
                          .end_ns = r->origin_ns + x->start_ns + x->length_ns,
                          .step = overlaps->at[longest->row].step,
                          .next = wait_name_of(trace, longest->next, r),
                          .is_before_kernel =
                              next == PS_SLICE_KERNEL || next == PS_SLICE_COMM_KERNEL,
                          .blocking = wait_name_of(trace, filling, r)};
    note_wait_parts(by_cause, w);
    return w->next != NULL && w->blocking != NULL;
}

static bool list_waits(const ps_host_activity *host, const ps_overlaps *overlaps,
                       const ps_idle *idle, ps_report_rank *r) {
    stretch *all = ps_calloc(idle->n + 1, sizeof *all);
    size_t n = 0;
    for (size_t i = 0; all != NULL && i < idle->n; i++) {
        if (!ps_idle_is_hosts(idle->at[i].cause)) {
            continue;
        }
        stretch x = {.from = i, .start_ns = idle->at[i].start_ns};
        while (i + 1 < idle->n && wait_goes_on(&idle->at[i], &idle->at[i + 1])) {
            i++;
        }
        x.to = i + 1;
        x.length_ns = idle->at[i].end_ns - x.start_ns;
        r->short_gaps_ns = ps_i64_plus(r->short_gaps_ns, x.length_ns < SHORT_NS ? x.length_ns : 0);
        all[n++] = x;
    }
    ps_sort_by(all, n, sizeof *all, PS_KEYS(LONGER_FIRST));
    bool ok = all != NULL;
    for (size_t i = 0; ok && i < n && i < PS_REPORT_WAITS_KEPT; i++) {
        ok = tell_wait(host, overlaps, idle, &all[i], r);
    }
    ps_free(all);
    return ok;
}

bool ps_report_gather_waits(const ps_host_activity *host, const ps_overlaps *overlaps,
                            const ps_idle *idle, ps_report_rank *r, ps_err *err) {
    ps_dispatch d = {0};
    bool ok = ps_dispatch_measure(host->links, overlaps, -1, 0, &d, err) == PS_OK;
    r->delays = d.after_call;
    ps_dispatch_fini(&d);
    return ok && list_gaps(overlaps, idle, r) && list_waits(host, overlaps, idle, r);
}

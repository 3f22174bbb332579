/* What of the device's free time is the host's, from dispatch.h, and the longest of it. */
#include <stdlib.h>
#include <string.h>

#include "analyze/report_facts.h"
#include "base/alloc.h"

static const char *name_of(const ps_trace *trace, uint32_t slice, ps_report_rank *r) {
    const char *name =
        slice != PS_NONE ? ps_trace_text(trace, ps_trace_slices(trace)->name[slice]) : "";
    size_t n = strlen(name);
    return ps_arena_strndup(&r->arena, name, n < 400 ? n : 400);
}

#define MAX_HOST_GAPS ((size_t)1 << 16) /* of a rank */

/* Between the first and the last work of a step: elsewhere it is not Free. */
static bool is_free(const ps_dispatch *d, const ps_gap *g) {
    for (size_t i = 0; i < d->n_steps; i++) {
        const ps_dispatch_step *s = &d->steps[i];
        if (s->device == g->device && s->step == g->step) {
            return g->start_ns >= s->first_ns && g->end_ns <= s->last_ns;
        }
    }
    return false;
}

static bool keep(const ps_trace *trace, const ps_gap *g, ps_report_rank *r) {
    int64_t start = r->origin_ns + g->start_ns;
    if (!ps_grow(&r->host_gaps, &r->cap_host_gaps, r->n_host_gaps + 1, MAX_HOST_GAPS,
                 sizeof *r->host_gaps)) {
        return false;
    }
    r->host_gaps[r->n_host_gaps++] = (ps_report_gap){start, start + g->first_ns, g->step};
    if (r->n_waits == PS_REPORT_WAITS_KEPT) {
        return true;
    }
    ps_report_wait *w = &r->waits[r->n_waits++];
    *w = (ps_report_wait){.start_ns = start,
                          .end_ns = start + g->first_ns,
                          .step = g->step,
                          .cause = g->first_cause,
                          .next = name_of(trace, g->next, r),
                          .blocking = name_of(trace, g->blocking, r)};
    return w->next != NULL && w->blocking != NULL;
}

static int by_length(const void *a, const void *b) {
    const ps_report_wait *x = a;
    const ps_report_wait *y = b;
    int64_t dx = x->end_ns - x->start_ns;
    int64_t dy = y->end_ns - y->start_ns;
    if (dx != dy) {
        return dx > dy ? -1 : 1;
    }
    return x->start_ns < y->start_ns ? -1 : x->start_ns > y->start_ns;
}

static void sum_steps(const ps_dispatch *d, ps_report_rank *r) {
    for (size_t i = 0; i < d->n_steps; i++) {
        for (int cause = 0; cause < PS_N_GAP_CAUSES; cause++) {
            const ps_gap_sum *sums = d->steps[i].sums[cause];
            r->gap_ns[cause] = ps_ns_add(r->gap_ns[cause], ps_gap_sum_of(sums).total_ns);
            if (ps_gap_is_host_bound((ps_gap_cause)cause)) {
                r->short_gaps_ns = ps_ns_add(r->short_gaps_ns, sums[0].total_ns);
            }
        }
    }
}

bool ps_report_gather_waits(const ps_links *links, const ps_overlaps *overlaps, ps_report_rank *r,
                            ps_err *err) {
    ps_dispatch d = {0};
    bool ok = ps_dispatch_measure(links, overlaps, -1, MAX_HOST_GAPS, &d, err) == PS_OK;
    sum_steps(&d, r);
    for (size_t i = 0; ok && i < d.n_worst; i++) {
        const ps_gap *g = &d.worst[i];
        bool of_host = ps_gap_is_host_bound(g->first_cause) && g->first_ns > 0;
        ok = !of_host || !is_free(&d, g) || keep(links->trace, g, r);
    }
    if (r->n_waits > 1) {
        qsort(r->waits, r->n_waits, sizeof *r->waits, by_length);
    }
    r->delays = d.after_call;
    ps_dispatch_fini(&d);
    return ok;
}

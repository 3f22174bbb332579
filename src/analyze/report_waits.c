/* The gaps of the device by cause, and the longest ones, from dispatch.h. */
#include <string.h>

#include "analyze/report_facts.h"
#include "base/alloc.h"

static const char *name_of(const ps_trace *trace, uint32_t slice, ps_report_rank *r) {
    const char *name =
        slice != PS_NONE ? ps_trace_text(trace, ps_trace_slices(trace)->name[slice]) : "";
    size_t n = strlen(name);
    return ps_arena_strndup(&r->arena, name, n < 400 ? n : 400);
}

static bool keep(const ps_trace *trace, const ps_gap *g, ps_report_rank *r) {
    ps_report_wait *w = &r->waits[r->n_waits++];
    *w = (ps_report_wait){.start_ns = r->origin_ns + g->start_ns,
                          .end_ns = r->origin_ns + g->end_ns,
                          .step = g->step,
                          .cause = g->cause,
                          .next = name_of(trace, g->next, r),
                          .blocking = name_of(trace, g->blocking, r)};
    return w->next != NULL && w->blocking != NULL;
}

bool ps_report_gather_waits(const ps_links *links, const ps_overlaps *overlaps, ps_report_rank *r,
                            ps_err *err) {
    ps_dispatch d = {0};
    bool ok = ps_dispatch_measure(links, overlaps, -1, PS_REPORT_WAITS_KEPT, &d, err) == PS_OK;
    for (int cause = 0; ok && cause < PS_N_GAP_CAUSES; cause++) {
        r->gap_ns[cause] = ps_gap_sum_of(d.sums[cause]).total_ns;
        r->short_gaps_ns +=
            ps_gap_is_host_bound((ps_gap_cause)cause) ? d.sums[cause][0].total_ns : 0;
    }
    for (size_t i = 0; ok && i < d.n_worst && i < PS_REPORT_WAITS_KEPT; i++) {
        ok = keep(links->trace, &d.worst[i], r);
    }
    r->delays = d.after_call;
    ps_dispatch_fini(&d);
    return ok;
}

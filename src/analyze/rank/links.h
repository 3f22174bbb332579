/* Who launched what: for each slice of the device the call and the framework operator behind it, and for each slice of
 * a host thread the one around it. Needs PS_NEED_SLICES and PS_NEED_FLOWS. */
#ifndef PS_ANALYZE_LINKS_H
#define PS_ANALYZE_LINKS_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/autograd_threads.h"
#include "analyze/rank/step_index.h"
#include "base/err.h"
#include "model/trace.h"

typedef struct ps_links {
    const ps_trace *trace;
    /* Each [n_slices of the trace], PS_NONE where there is none. */
    uint32_t *
        parent; /* host slices: the innermost on the same thread that began no later and ended no earlier.
                         Instants have one too, and are none */
    uint32_t *
        call; /* device slices and communication operators: the call that launched them, the earliest one; where no call is
                         known, another host slice that a flow leads from */
    uint32_t *
        op; /* the same: the operator of the framework. By a flow from it, the shortest of several; else the
                         innermost operator around the call on its thread; where a queue lies between, the innermost around
                         the enqueue that led there. Marks and instants of the host have one too: the operator
                         that set them */
    ps_callers callers; /* of threads that run backward operators: who waits for them */
    ps_step_index steps;
    ps_str step_key; /* PS_STEP_ARG where some slice has it; else none */
} ps_links;

/* PS_NOMEM only; end with ps_links_fini() in any case. The trace must outlive it. One pass over slices and flows. */
PS_MUST_USE ps_code ps_links_init(ps_links *links, const ps_trace *trace, ps_err *err);
void ps_links_fini(ps_links *links);

/* What is around a host slice: its parent; of the outermost slices of a thread that runs backward operators, the range in
 * which another thread waits for them, where that is known. Whoever asks what a slice belongs to walks up by this,
 * whoever asks what its own thread does by `parent`. */
uint32_t ps_links_enclosing(const ps_links *links, uint32_t slice);

/* The range in which another thread waits for a host slice, however deep it lies on its own; PS_NONE. */
uint32_t ps_links_waiting(const ps_links *links, uint32_t slice);

/* The step of a launched slice: the one in which its call or operator began; of work nobody launched, the one that its
 * profiler says (PS_STEP_ARG), else the last step that began before it (the first step when it began before all). 0 in a trace without steps, PS_STEP_OUTSIDE (marks.h) when
 * the launch lies in none. */
int64_t ps_links_step(const ps_links *links, uint32_t slice);

/* Whether a slice belongs to a step, or to any where `wanted` is negative: of the host (`is_host`) by when it began, of the device by the
 * above. */
bool ps_links_in_step(const ps_links *links, uint32_t slice, bool is_host, int64_t wanted);

#endif

/* What a step's time on the device is made of: computing, communication, both at once, neither.
 *
 * Of one rank, device and step:  C = union of computing kernels, M = union of communication operators (of communication
 * kernels where a profile has no operators), B = C or M.
 *   computing = |C|, communication = |M|, not overlapped = |M - C|, free = the gaps of B between its first start and last
 *   end, bubble = plain sum of the receive operators, stage = computing + not overlapped + free - bubble,
 *   preparing = first start of B - start of the step.
 * Source: behaviour of the Ascend profiler's StepTraceTime, to the nanosecond. */
#ifndef PS_ANALYZE_OVERLAP_H
#define PS_ANALYZE_OVERLAP_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/intervals.h"
#include "analyze/links.h"
#include "base/err.h"
#include "model/trace.h"

typedef struct ps_overlap {
    int64_t step;   /* id; 0 and has_step false in a trace without steps */
    int64_t device; /* -1 unknown */
    bool has_step;
    int64_t step_start_ns, step_end_ns; /* of the step's window, from the origin; has_step */
    int64_t first_ns, last_ns;          /* of B, from the origin */
    int64_t computing_ns, communication_ns, not_overlapped_ns, free_ns, bubble_ns, preparing_ns;
    int64_t memory_ns;       /* plain sum of copies */
    int64_t memory_alone_ns; /* what of them lies outside of B, each moment once */
    int64_t
        memory_in_gaps_ns; /* of that, what lies in free time: not before first, not after last */
} ps_overlap;

static inline int64_t ps_overlap_overlapped_ns(const ps_overlap *o) {
    return o->communication_ns - o->not_overlapped_ns;
}
static inline int64_t ps_overlap_stage_ns(const ps_overlap *o) {
    return o->computing_ns + o->not_overlapped_ns + o->free_ns - o->bubble_ns;
}

/* The united spans behind it, for those who look into the gaps. */
typedef struct ps_overlap_spans {
    ps_intervals computing, communication, busy;
} ps_overlap_spans;

typedef struct ps_overlaps {
    ps_overlap *at;          /* by device, then step start; only those in which the device worked */
    ps_overlap_spans *spans; /* [n], or NULL when they were not asked for */
    size_t n;
} ps_overlaps;

/* What is said where nothing of a device can be measured. */
#define PS_OVERLAP_NO_WORK                                                                                 \
    "no kernels on a device, nor communication that it tells of itself: record its activity "              \
    "(ProfilerActivity.NPU or CUDA; nsys profile -t cuda; with pipescope record --backend cupti, on CPUs " \
    "ps_record_op_begin or pipescope.record_ops())"

/* Of all devices and steps of a trace; work is assigned to steps by ps_links_step, work outside of all steps is left
 * out. With `wanted_step` >= 0 only of that one. PS_NOMEM only; end with ps_overlaps_fini() in any case. Needs
 * SLICES, FLOWS, STEPS. One pass over the slices. */
PS_MUST_USE ps_code ps_overlaps_measure(const ps_links *links, int64_t wanted_step, bool with_spans,
                                        ps_overlaps *out, ps_err *err);
void ps_overlaps_fini(ps_overlaps *o);

#endif

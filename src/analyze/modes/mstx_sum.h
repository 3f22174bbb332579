/* What mstx_sum keeps of a rank: its marks, named and measured. */
#ifndef PS_ANALYZE_MSTX_SUM_H
#define PS_ANALYZE_MSTX_SUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/strpool.h"

#define PS_NO_DURATION INT64_MIN

/* A pair of markers <x>_start, <x>_stop, or a range. */
typedef struct ps_timed_mark {
    ps_str name;      /* of the pool: "x", "outer::inner"; repeats of a step end in _0, _1 ... */
    int64_t start_ns; /* of the host mark, from the origin */
    int64_t framework_ns, cann_ns; /* host */
    int64_t device_ns;             /* PS_NO_DURATION: none */
    int64_t step, step_ns;         /* id, PS_STEP_OUTSIDE; the length of its window, 0 none */
    int64_t device_step_ns; /* what of the device's time is that step's (overlap.h), 0 unknown */
    uint32_t track, row;    /* thread; of the slice: ties of start */
} ps_timed_mark;

typedef struct ps_timed_marks {
    ps_timed_mark *marks; /* by step, start, then row */
    size_t n, cap;
    ps_strpool strings;
} ps_timed_marks;

/* All marks of a trace, or with opts->step_id those of that step. PS_NOTHING with a sentence when there are none. End
 * with ps_timed_marks_fini() in any case. Needs SLICES, FLOWS, STEPS, MARKS. */
PS_MUST_USE ps_code ps_timed_marks_collect(const ps_map_input *in, ps_timed_marks *out,
                                           ps_err *err);
void ps_timed_marks_fini(ps_timed_marks *m);

#endif

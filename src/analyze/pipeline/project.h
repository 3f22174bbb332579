/* Host ranges projected on the device: a host mark does not say when the device worked, the kernels launched inside
 * of it do. */
#ifndef PS_ANALYZE_PROJECT_H
#define PS_ANALYZE_PROJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/span_index.h"
#include "base/diag.h"
#include "base/err.h"
#include "model/trace.h"

typedef struct ps_extent {
    int64_t start_ns, end_ns; /* from the trace's origin; of the kernels, when n_kernels > 0 */
    uint32_t n_kernels;       /* that the extent is made of */
    int64_t communication_ns, all_ns; /* lengths of these kernels */
    uint8_t rank;                     /* how good they are, for the file's own use */
} ps_extent;

/* Whether a mark stands for a step of the profiler (ProfilerStep#N), not for work of the program. */
bool ps_is_step_mark(const ps_trace *trace, uint32_t slice);

/* Whether anything in the trace ran on a device, steps aside. A trace of a CPU alone has only host times. */
bool ps_trace_has_device(const ps_trace *trace);

/* out[n]: for each span the first start to the last end of the computing kernels whose launch begins inside of it, as
 * ps_span_holding() tells (autograd launches backward kernels from a thread of its own). Other tasks count only where there is no
 * kernel, communication only where there is nothing else. Of spans that contain a launch, the one that began last has it. Where a
 * queue lies between the operator and the call, the operator's time counts. Launches that several threads' ranges may hold count
 * in none: PS_ODD_LAUNCH_OPEN. Spans in start order, longer first. Of the trace of `links`. PS_NOMEM only. */
PS_MUST_USE ps_code ps_project(const ps_links *links, const ps_host_span *spans, size_t n,
                               ps_extent *out, ps_diag *diag, ps_err *err);

#endif

/* Whether ranks that were taken for the stages of a pipeline run side by side: replicas that compute the same at the same time
 * fit the order of some schedule, but an op of a pipeline cannot be done before what it needs is there. */
#ifndef PS_ANALYZE_SIDE_BY_SIDE_H
#define PS_ANALYZE_SIDE_BY_SIDE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/chart.h"

typedef struct ps_side_by_side {
    size_t
        n_ops; /* that need the result of another rank; overlapped pairs use it somewhere inside, and do not count */
    size_t
        n_early; /* of these: begin before it can be there, which neither clocks nor waiting inside of them explains */
    bool is_so;  /* most do */
} ps_side_by_side;

/* Of two ranks that need one another, the offset of their clocks adds to one way what it takes from the other: what is left of the ops
 * after their inputs have ended is added up over both ways. An op that holds the wait for its input still computes after it: where less than
 * half of what its kind takes is left, it did not wait. Two ranks of which only one needs the other are judged where they are of one
 * machine. Needs the chart's links. PS_NOMEM only. */
PS_MUST_USE ps_code ps_side_by_side_find(const ps_chart *chart, ps_side_by_side *out, ps_err *err);

#endif

/* Which step window of a trace holds a time, however the windows overlap. */
#ifndef PS_ANALYZE_STEP_INDEX_H
#define PS_ANALYZE_STEP_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/trace.h"

#define PS_STEP_OUTSIDE INT64_MIN /* in no step */

/* Steps with the latest end of each stretch of them, as a binary tree: node k covers nodes 2k and 2k + 1, the leaves
 * are the steps. The last one that contains a range is found in logarithmic time. */
typedef struct ps_step_index {
    const ps_step *steps; /* in start order */
    size_t n;
    size_t n_leaves; /* a power of two > n */
    int64_t *latest_end;
} ps_step_index;

/* False when memory is out; end with ps_step_index_fini() in any case. The trace must outlive it. */
bool ps_step_index_init(ps_step_index *x, const ps_trace *trace);
void ps_step_index_fini(ps_step_index *x);

/* The id of the last step that starts at or before the range and ends no earlier than it: times from the trace's
 * origin. PS_STEP_OUTSIDE when there is none; 0 in a trace without steps. */
int64_t ps_step_of(const ps_step_index *x, int64_t start_ns, int64_t end_ns);

/* PS_NOTHING with a sentence when the trace has no step of that id; PS_OK when `wanted` is negative. PS_NOMEM. */
PS_MUST_USE ps_code ps_check_step(const ps_trace *trace, int64_t wanted, ps_err *err);

/* " in this step" where one is wanted, in each language: two values, of which the English format takes the first ("%s%.0s") and the
 * Chinese one the second ("%.0s%s"). */
#define PS_IN_THIS_STEP(wanted)                                                                    \
    (wanted) >= 0 ? " in this step" : "", (wanted) >= 0 ? "该 step 中" : ""

#endif

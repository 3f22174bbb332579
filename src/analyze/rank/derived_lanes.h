/* Overlap lanes for profiles that carry none: what each device did at each moment, as slices of a trace of its own. */
#ifndef PS_ANALYZE_DERIVED_LANES_H
#define PS_ANALYZE_DERIVED_LANES_H

#include <stdbool.h>

#include "analyze/rank/overlap.h"
#include "base/err.h"
#include "model/trace.h"

/* Whose the time without work is, of all steps (ps_overlaps_measure). NULL: PS_NOMEM. */
typedef const ps_overlaps *ps_overlaps_ask(const void *context, ps_err *err);

/* Of what lies before the first and after the last work of steps. */
#define PS_LANE_ENDS "Before and After Work"

/* For each device of the trace without such lanes: Computing (union of its kernels), Communication (union of its
 * communication operators, or of their kernels where there are none), Communication(Not Overlapped) and Free, over the whole
 * capture, steps or not; of a trace whose computing is not known Communication alone. Time without work is what it is of a step
 * (ps_share_names; ps_overlaps_share), as in all tables: Free lies in the lane of that name, what comes before and after in a lane
 * PS_LANE_ENDS, which profilers do not write and which devices with lanes of their own get, too. What lies between the windows of
 * steps is of none, and is left out; without steps all is Free. The trace that comes out has the same origin and knows the same
 * devices; it has no slices when there is nothing to add. `whose` is asked only where time without work of steps is put. `always`:
 * as if the profile had no lanes. NULL: PS_NOMEM. */
ps_trace *ps_derive_overlap(const ps_trace *trace, ps_overlaps_ask *whose, const void *context,
                            bool always, ps_err *err);

#endif

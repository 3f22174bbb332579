/* Profilers that export text round start and duration of each slice by themselves, but add up their overlap lanes from the
 * unrounded times: the lanes say to the nanosecond what the slices say nearly. */
#ifndef PS_ANALYZE_OVERLAP_LANES_H
#define PS_ANALYZE_OVERLAP_LANES_H

#include <stdbool.h>

#include "analyze/rank/overlap.h"

/* Takes computing, communication, not overlapped and free from the lanes of those names (slices of kind DERIVED), where a
 * trace has them for its one device and they differ by no more than such rounding: 250 ns a slice of the lane, what a double
 * holds of microseconds since 1970. Lanes that say something else are left alone. One pass over the slices. Where the trace is
 * not there and slices were made of tables, the sums of the lanes stand in step_trace_time: taken under the same condition.
 * False when memory is out. */
bool ps_overlaps_take_lanes(const ps_trace *trace, ps_overlaps *o);

/* The step in a cell of a profiler's table of steps: 50 or "step50". False for an empty one, and for a column that is not
 * there (`column` beyond the last). */
bool ps_step_in_cell(const ps_table *t, size_t row, size_t column, int64_t *step);

#endif

/* The calls of one rank into the driver and runtime, by name. */
#ifndef PS_ANALYZE_CALL_SUMS_H
#define PS_ANALYZE_CALL_SUMS_H

#include "analyze/core/analysis.h"
#include "analyze/stats/value_sums.h"

/* Their durations, the name as first key; with opts->step_id those that began in that step. Where calls carry a level or
 * category, those without one (calls of the C library in Ascend databases) do not count: they wait for most of their time
 * and would drown the others. PS_NOTHING with a sentence when the step is not there. Needs SLICES and STEPS. */
PS_MUST_USE ps_code ps_call_sums_collect(const ps_map_input *in, ps_value_adder *adder,
                                         ps_err *err);

#endif

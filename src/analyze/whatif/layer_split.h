/* The split of a model's layers over the pieces of a schedule with the shortest simulated step, under limits of the devices:
 * split_search.h asks a schedule on paper. */
#ifndef PS_ANALYZE_LAYER_SPLIT_H
#define PS_ANALYZE_LAYER_SPLIT_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/plan_pieces.h"
#include "analyze/whatif/split_search.h"
#include "base/err.h"
#include "schedule/sim.h"

/* PS_NOTHING when no split keeps the limits, PS_RANGE when the times leave 64 bits, PS_NOMEM. End with ps_layer_split_fini() in
 * any case. */
PS_MUST_USE ps_code ps_layer_split_find(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                                        const ps_plan_limits *limits, size_t work,
                                        ps_layer_split *out, ps_err *err);

/* The step of any split, also with parts of layers. */
PS_MUST_USE ps_code ps_layer_split_step(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                                        const double *layers, int64_t *step_ns, ps_err *err);

#endif

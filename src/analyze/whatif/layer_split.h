/* The split of a model's layers over the pieces of a schedule with the shortest simulated step, under limits of the devices.
 *
 * The step of a split is the longest path through the ops of the schedule, and the length of a path grows with the layers of each
 * piece by as much as the path runs through it: step(split) = max over paths of base + sum of coefficient x layers. Each
 * simulation tells one such path, and no split can be shorter than any path that is known. So:
 *
 *   1. the split whose slowest device is fastest (each layer to the device that is fastest with it: exact);
 *   2. a layer from any piece to any other as long as the step gets shorter, the neighbour first that the known paths allow most;
 *   3. splits that all known paths allow to be shorter, until there is none: then the best one is proven, or the work that was
 *      granted is done.
 *
 * Work is counted, not timed: the same question has the same answer everywhere. */
#ifndef PS_ANALYZE_LAYER_SPLIT_H
#define PS_ANALYZE_LAYER_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/plan_pieces.h"
#include "base/err.h"
#include "schedule/sim.h"

/* What is granted by default: about 0.1 s. */
#define PS_SPLIT_WORK ((size_t)20000000)

typedef struct ps_layer_split {
    int32_t n_pieces;
    int32_t *layers; /* [n_pieces] along the way through the model */
    int64_t step_ns; /* from the first op to the last */
    size_t n_tried;  /* splits that were simulated */
    bool is_proven;  /* no other split within the limits has a shorter step */
} ps_layer_split;

/* PS_NOTHING when no split keeps the limits, PS_RANGE when the times leave 64 bits, PS_NOMEM. End with ps_layer_split_fini() in
 * any case. */
PS_MUST_USE ps_code ps_layer_split_find(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                                        const ps_plan_limits *limits, size_t work,
                                        ps_layer_split *out, ps_err *err);
void ps_layer_split_fini(ps_layer_split *s);

/* The step of any split, also with parts of layers. */
PS_MUST_USE ps_code ps_layer_split_step(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                                        const double *layers, int64_t *step_ns, ps_err *err);

#endif

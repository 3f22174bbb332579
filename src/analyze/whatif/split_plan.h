/* How many layers each stage should have: pieces and their times from measured stages, and the split with the shortest simulated
 * step (split_search.h asks the measured graph).
 *
 * A stage takes its layers times what a layer takes there. On those with an end of the model (embedding; head and loss) that is the
 * median of the stages in between (where there are none the lowest of all), and the rest is the end. The step of a split is that of the measured ops,
 * those of each stage scaled to its new time, in the graph of what ran: schedule, transfers, collectives and all. A machine
 * that is slower than the others of its stage is taken to be mended: layers are no remedy for it. */
#ifndef PS_ANALYZE_SPLIT_PLAN_H
#define PS_ANALYZE_SPLIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/job_steps.h"
#include "base/err.h"

#define PS_PLAN_STAGES 256

typedef struct ps_split_plan {
    int32_t n_stages, n_layers;
    int32_t n_chunks;                                  /* on a stage */
    int32_t now[PS_PLAN_STAGES], best[PS_PLAN_STAGES]; /* layers */
    double stage_ns[PS_PLAN_STAGES];                   /* of a microbatch: forward and backward */
    double layer_of[PS_PLAN_STAGES]; /* a layer there, and what the stage has on top */
    double more_ns[PS_PLAN_STAGES];
    double layer_ns, first_ns,
        last_ns; /* a layer in between; on top of the first and the last stage */
    double layer_least_ns, layer_most_ns; /* of the stages that layer_ns is the median of */
    double spread;          /* (max - min) / median of the layers of the stages in between */
    double real_ns;         /* the mean step, replayed as measured */
    double now_ns, best_ns; /* with all workers of a stage alike: as it is split now, and at best */
    size_t n_tried;         /* splits that were simulated */
    bool is_proven;         /* no other one is shorter, by more than what is rounded */
    double then_ns[PS_PLAN_STAGES]; /* stage_ns under the best split */
    bool is_even;   /* best: layers of a stage lie evenly over its chunks, whole or not */
    bool is_misfit; /* no split keeps the limits of the stages: best is what ran */
} ps_split_plan;

/* What the schedule that ran says of its stages. */
typedef struct ps_split_shape {
    int32_t n_ways; /* through the model, each with a chunk on every stage (DualPipe); 0: one */
    bool
        ends_on_first; /* embedding and head lie on stage 0 (a V): the last stage is none of the ends */
    const int32_t
        *most; /* [n_stages] layers that a stage can have at most, -1: it cannot be; NULL: any */
    int32_t least; /* layers that each stage has at least */
} ps_split_shape;

/* `split`: "8,8,8,8", or "32" for as many on each stage. PS_USAGE for a split that does not fit the job; PS_NOTHING where a stage
 * computes nothing; PS_NOMEM. Where there are several ways the split that ran is measured, and no other one: a stage lies on
 * several devices. */
PS_MUST_USE ps_code ps_split_plan_make(const ps_job_steps *js, const char *split,
                                       const ps_split_shape *shape, ps_split_plan *out,
                                       ps_err *err);
/* The layers of the stages alone: n_stages, n_layers and now. Codes as above. */
PS_MUST_USE ps_code ps_split_plan_read(const char *split, int32_t n_stages, ps_split_plan *out,
                                       ps_err *err);

/* Time of a stage with so many layers. */
double ps_split_plan_stage_ns(const ps_split_plan *plan, int32_t stage, int32_t layers);

#endif

/* How many layers each stage should have: pieces and their times from measured stages, and the split with the shortest simulated
 * step.
 *
 * A stage takes its layers times what a layer takes there. On the first and the last one that is the median of the stages in
 * between (with two stages the lower of both), and the rest is embedding, head and loss. The step of a split is that of the measured ops,
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
    double layer_ns, first_ns, last_ns;                /* a layer; what the ends have on top */
    double spread;          /* (max - min) / median of the layers of the stages in between */
    double real_ns;         /* the mean step, replayed as measured */
    double now_ns, best_ns; /* with all workers of a stage alike: as it is split now, and at best */
    size_t n_tried;         /* splits that were simulated */
    bool is_exhaustive;     /* all that there are */
} ps_split_plan;

/* `split`: "8,8,8,8", or "32" for as many on each stage. `most_layers`: of a stage, 0 no limit. PS_USAGE for a split that does not fit the
 * job; PS_NOTHING where a stage computes nothing; PS_RANGE, PS_NOMEM. */
PS_MUST_USE ps_code ps_split_plan_make(const ps_job_steps *js, const char *split,
                                       int32_t most_layers, ps_split_plan *out, ps_err *err);

/* Time of a stage with so many layers. */
double ps_split_plan_stage_ns(const ps_split_plan *plan, int32_t stage, int32_t layers);

#endif

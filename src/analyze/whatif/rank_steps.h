/* The steps of a job from what a reduce has of its ranks: their timelines, put where the sizes of the job say. */
#ifndef PS_ANALYZE_RANK_STEPS_H
#define PS_ANALYZE_RANK_STEPS_H

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/whatif/worker_steps.h"

/* Of one rank; both NULL: it has none. */
typedef struct ps_rank_timeline {
    const ps_rank_facts *facts;
    const ps_timeline *timeline;
} ps_rank_timeline;

/* `ranks` [in->n_ranks]. PS_NOTHING when a rank has no place in the job, none has a timeline, or as ps_worker_steps_make();
 * PS_NOMEM. End with ps_job_steps_fini() in any case. */
PS_MUST_USE ps_code ps_rank_steps_make(const ps_reduce_input *in, const ps_rank_timeline *ranks,
                                       ps_job_steps *out, ps_err *err);

#endif

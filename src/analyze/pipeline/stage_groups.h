/* Which ranks do the same part of a pipeline, and where each rank stands in the job. */
#ifndef PS_ANALYZE_STAGE_GROUPS_H
#define PS_ANALYZE_STAGE_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"

/* -1 unknown. */
typedef struct ps_indices {
    int64_t dp, pp, tp;
} ps_indices;

/* By sizes (ps_job_locate()). The pp index is first of all the place in the rank's own "pp" group, unless the user gave
 * sizes. */
ps_indices ps_indices_of(const ps_job *job, int64_t rank, const ps_rank_facts *facts);

/* stage[i]: which stage rank i of the run belongs to, numbered from 0 by the smallest rank; -1 none.
 *
 * By pp index where ranks know theirs. Else from groups: those whose name begins with "pp" unite their ranks to pipelines;
 * every other group that has no two ranks in one pipeline unites its ranks to a stage. Ranks of a group are those that
 * name it in their metadata. No pipeline, or only one stage: none. `facts` entries may be NULL. PS_NOMEM only. */
PS_MUST_USE ps_code ps_stage_groups(const ps_rank_info *ranks, const ps_rank_facts *const *facts,
                                    const ps_job *job, size_t n, int32_t *stage, size_t *n_stages,
                                    ps_err *err);

#endif

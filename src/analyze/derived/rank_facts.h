/* What a rank's metadata says, read once for all analyses of a run: it lists the ranks of each group, as many as the job has replicas. */
#ifndef PS_ANALYZE_RANK_FACTS_H
#define PS_ANALYZE_RANK_FACTS_H

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"

/* Borrowed from the derived facts; what is malformed is counted for each analysis that asks. NULL: memory is out. */
const ps_rank_facts *ps_rank_facts_of(const ps_map_input *in, ps_err *err);
/* The same as a copy in the arena, for a partial, which outlives them. PS_NOMEM only. */
PS_MUST_USE ps_code ps_rank_facts_keep(const ps_map_input *in, ps_arena *arena, ps_rank_facts *out,
                                       ps_err *err);

#endif

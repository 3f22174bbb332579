/* Who waits for whom over all ranks (comm/skew.h), measured once for all analyses of a reduce that ask for the same operators: they stand
 * in five modes, and matching them takes longer than what most modes make of it. */
#ifndef PS_ANALYZE_JOB_SKEW_H
#define PS_ANALYZE_JOB_SKEW_H

#include <stdint.h>

#include "analyze/comm/skew.h"
#include "analyze/core/analysis.h"
#include "analyze/derived/comm_part.h"

/* The last one that was asked for. It holds the parts that it was measured on. */
typedef struct ps_job_skew ps_job_skew;

/* The run has one for each reduce of a round: ps_reduce_input.job_skew. NULL when memory is out. */
ps_job_skew *ps_job_skew_new(void);
void ps_job_skew_free(ps_job_skew *kept); /* NULL is fine */

/* Of `parts` [in->n_ranks], NULL for ranks without; `step`: -1 all. *out is borrowed until the next call with other parts or another step,
 * and at most to the end of the reduce. PS_NOMEM only. */
PS_MUST_USE ps_code ps_job_skew_of(const ps_reduce_input *in, ps_comm_part *const *parts,
                                   int64_t step, const ps_skew **out, ps_err *err);

#endif

/* Whether microbatches are of unequal length: then what is long forward is long backward. */
#ifndef PS_ANALYZE_WHATIF_LENGTHS_H
#define PS_ANALYZE_WHATIF_LENGTHS_H

#include "analyze/whatif/job_steps.h"
#include "base/err.h"

/* The median over the workers of a correlation (Pearson): of the forwards of microbatches with their backwards; of a job whose forwards and
 * backwards overlap in pairs, of the pairs with what they would take if each microbatch had one length for all workers, forward and
 * backward. NAN: no microbatch has a forward and a backward of its own, pairs are too few for as many lengths, or all take the
 * same. PS_NOMEM. `ideal_ns` as ps_job_ideal() has it. */
PS_MUST_USE ps_code ps_whatif_correlate(const ps_job_steps *js,
                                        const int64_t ideal_ns[PS_N_WORKER_OPS], double *r,
                                        ps_err *err);

#endif

/* What makes the job slower than ideal, by how each cause looks (arXiv 2505.05713, docs/whatif.md), and what would help how much. */
#ifndef PS_ANALYZE_WHATIF_CAUSES_H
#define PS_ANALYZE_WHATIF_CAUSES_H

#include "analyze/whatif/whatif.h"
#include "base/err.h"
#include "model/table.h"

/* Figures above which a cause holds; none does in a job that is not PS_WHATIF_SLOW times slower than ideal, but for the
 * host. */
#define PS_WHATIF_SLOW 1.05
#define PS_WHATIF_SHARE 0.5    /* of one worker, stage or the links: share of the slowdown */
#define PS_WHATIF_LENGTHS 0.95 /* correlation of forward and backward of a microbatch */
#define PS_WHATIF_HOST 1.05    /* measured step against the one without launch delays */
#define PS_WHATIF_DRIFT 0.05   /* change of the step over the capture */

/* One row a cause, those that hold first. NULL when memory is out. */
ps_table *ps_whatif_causes(const ps_whatif *w, ps_err *err);

/* One row a repair (kind, stage, replica, worker), the largest gain first: the step without it, and the step when it
 * comes after those above it. NULL with `err`. */
ps_table *ps_whatif_repairs(const ps_whatif *w, ps_err *err);

#endif

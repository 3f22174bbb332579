/* Jobs of a static graph executor (Paddle) as the ops of a rank. */
#ifndef PS_ANALYZE_RANK_LABELS_JOBS_H
#define PS_ANALYZE_RANK_LABELS_JOBS_H

#include <stdbool.h>

#include "analyze/pipeline/rank_labels.h"

/* Appends the jobs that ran; transfers are left out. Sets *any when one of them computes a forward or backward: a job
 * list without is no pipeline. False when memory is out. */
bool ps_jobs_collect(const ps_trace *trace, ps_rank_labels *out, bool *any);

#endif

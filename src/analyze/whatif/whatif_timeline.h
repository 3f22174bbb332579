/* The ops of a job as they would run: of the ideal steps, or of what was asked. */
#ifndef PS_ANALYZE_WHATIF_TIMELINE_H
#define PS_ANALYZE_WHATIF_TIMELINE_H

#include "analyze/whatif/job_steps.h"
#include "base/err.h"
#include "model/table.h"

/* Table whatif_timeline: worker (from 0), rank, stage, replica, step, op, microbatch, chunk, communicates, start and end in ns. Each step begins when
 * it began. NULL with `err`. */
ps_table *ps_whatif_timeline(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                             const ps_job_question *question, ps_err *err);

#endif

/* Many questions of a job at once. */
#ifndef PS_ANALYZE_JOB_LANES_H
#define PS_ANALYZE_JOB_LANES_H

#include "analyze/whatif/job_steps.h"

/* The order in which the ops of its steps run. */
typedef struct ps_job_lanes ps_job_lanes;

/* `js` stays as long. NULL when memory is out. End with ps_job_lanes_free(). */
ps_job_lanes *ps_job_lanes_new(const ps_job_steps *js);
void ps_job_lanes_free(ps_job_lanes *l); /* NULL is fine */

/* A question and its answer: as ps_job_ask(). */
typedef struct ps_job_asked {
    ps_job_question question;
    double *mean_ns;
    int64_t *each_ns; /* NULL: not wanted */
} ps_job_asked;

/* Each as ps_job_ask() would answer it, side by side. PS_RANGE, PS_NOMEM, PS_BUSY. */
PS_MUST_USE ps_code ps_job_ask_all(const ps_job_lanes *lanes,
                                   const int64_t ideal_ns[PS_N_WORKER_OPS],
                                   const ps_job_asked *asked, size_t n, ps_err *err);

#endif

/* The computing of a job's steps as a chart: what timelines of workers need to have their schedule recognised, their stages
 * measured and a step of them drawn. */
#ifndef PS_ANALYZE_JOB_CHART_H
#define PS_ANALYZE_JOB_CHART_H

#include "analyze/whatif/job_steps.h"
#include "base/err.h"
#include "model/chart.h"

/* All steps and replicas; of workers that share a stage and a replica the first. `schedule`: its name, "" unknown. NULL when memory
 * is out. The caller frees it with ps_chart_free(). */
ps_chart *ps_job_chart(const ps_job_steps *js, const char *schedule, ps_err *err);

/* What a result takes from one stage to another: the lag of the job, or the median of its transfers. False when memory is out. */
bool ps_job_latency(const ps_job_steps *js, int64_t *p2p_ns);

#endif

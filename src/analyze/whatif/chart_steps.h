/* Steps of a job from its pipeline chart: computing, and what its results take to other ranks (chart_transfers.h), and nothing else.
 * Gradients, the optimizer and the host are not among the ops of a chart, so that its steps end with their last op. */
#ifndef PS_ANALYZE_CHART_STEPS_H
#define PS_ANALYZE_CHART_STEPS_H

#include "analyze/whatif/job_steps.h"
#include "base/err.h"
#include "model/chart.h"

/* Steps in which a rank has more or fewer ops than in most are left out and counted. PS_NOTHING with the reason when the chart
 * does not say who waits for whom, when stages are missing, or no step is whole; PS_NOMEM. End with ps_job_steps_fini()
 * in any case. */
PS_MUST_USE ps_code ps_chart_steps_make(const ps_chart *chart, ps_job_steps *out, ps_err *err);

#endif

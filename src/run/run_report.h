/* The report of a job of any format: its run, and what its writers take of it. */
#ifndef PS_RUN_RUN_REPORT_H
#define PS_RUN_RUN_REPORT_H

#include "base/err.h"
#include "run/cluster.h"
#include "run/run.h"
#include "write/report/report_view.h"

/* The analyses of ps_run_report_plan(): the report is the last. NULL when nothing could be done at all. The caller frees the result with
 * ps_run_free(), before the cluster. */
ps_run *ps_run_report(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);

/* What the run found; borrows of both. `step` (NULL: the usual one) is the step of the chart to draw. PS_RANGE: there is no such step, and which there
 * are. PS_NOTHING: no report came of it, of which the reports of the ranks say why. Else why the report failed. */
PS_MUST_USE ps_code ps_run_report_view(const ps_run *run, const ps_cluster *cluster,
                                       const int64_t *step, ps_report_view *out, ps_err *err);

#endif

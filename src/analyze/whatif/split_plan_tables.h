/* Plans as tables, with the lines to paste. */
#ifndef PS_ANALYZE_SPLIT_PLAN_TABLES_H
#define PS_ANALYZE_SPLIT_PLAN_TABLES_H

#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/whatif/job_steps.h"
#include "analyze/whatif/split_plan.h"
#include "base/err.h"
#include "model/chart.h"

/* Adds plan (one row) and plan_stages; where the schedule that ran is known plan_schedules (a row for each schedule that was planned),
 * plan_schedule_stages and plan_schedule_lines (of the row that opts->plan_row names), plan_left_out; and with opts->with_timeline
 * the measured chart and below it that of the row. `chart`: the pipelines that the steps were made from, NULL: they are of timelines. Codes of ps_split_plan_make; PS_USAGE for a
 * row that is not there. */
PS_MUST_USE ps_code ps_split_plan_add_tables(const ps_job_steps *js, const ps_chart *chart,
                                             const ps_analysis_opts *opts, ps_result *result,
                                             ps_err *err);

#endif

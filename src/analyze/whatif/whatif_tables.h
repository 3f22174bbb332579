/* The figures of whatif.h as tables, with causes, repairs and what the user asked. */
#ifndef PS_ANALYZE_WHATIF_TABLES_H
#define PS_ANALYZE_WHATIF_TABLES_H

#include "analyze/core/analysis.h"
#include "analyze/whatif/job_steps.h"
#include "base/err.h"

/* Adds whatif (one row), whatif_steps, whatif_kinds, whatif_stages, whatif_replicas, whatif_workers, whatif_causes and
 * whatif_repairs, and whatif_answer where opts->without or opts->scale ask; with opts->split only the tables of
 * split_plan_tables.h. `chart`: the pipelines that the steps were made from, NULL: they are of timelines. PS_USAGE for a question that
 * the job does not know, PS_NOTHING, PS_RANGE, PS_NOMEM. */
PS_MUST_USE ps_code ps_whatif_add_tables(const ps_job_steps *js, const ps_chart *chart,
                                         const ps_analysis_opts *opts, ps_result *result,
                                         ps_err *err);
/* The same of a chart. */
PS_MUST_USE ps_code ps_whatif_of_chart(const ps_chart *chart, const ps_analysis_opts *opts,
                                       ps_result *result, ps_err *err);

#endif

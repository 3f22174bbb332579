/* The pipelines of a job as one chart with its tables: which analysis finds the ops depends on what the ranks hold. What
 * `pipescope chart` draws and what is served. */
#ifndef PS_RUN_RUN_PIPELINE_H
#define PS_RUN_RUN_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"
#include "run/cluster.h"
#include "run/run.h"

#define PS_MAX_PIPELINE_TABLES 8

/* Looks for marks, labels, jobs and flows in that order (docs/commands/chart.md) over the ranks of the cluster (at least
 * one). The only result is results[0]; its chart may be NULL or empty, then the reports of the ranks say why. It is named
 * after the cluster. NULL when nothing could be done at all. The caller frees the result with ps_run_free(), before the
 * cluster. */
ps_run *ps_run_pipeline(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);

#define PS_REPORT_MAKERS 2

/* The analyses that make the chart of a run in which others take it. Marks are looked for as above: first where every rank may have them. How
 * many there are. */
size_t ps_run_chart_makers(const ps_cluster *cluster, const ps_analysis *out[PS_REPORT_MAKERS]);
/* The analyses of a report: those, and the report, which is the last. How many there are. */
size_t ps_run_report_plan(const ps_cluster *cluster, const ps_analysis *out[PS_REPORT_MAKERS + 1]);

/* Gives a measured chart (or NULL) its title: where it comes from. */
void ps_run_name_chart(ps_chart *chart, const ps_cluster *cluster);

/* A table of the whole job about its pipelines, with rows. */
bool ps_is_pipeline_table(const ps_table *t);
/* Those of a result, in its order; how many. */
size_t ps_pipeline_tables(const ps_result *result, const ps_table *out[PS_MAX_PIPELINE_TABLES]);

#endif

/* "What if" of a job of any format: from the timelines of its workers, else from its pipeline chart. */
#ifndef PS_RUN_RUN_WHATIF_H
#define PS_RUN_RUN_WHATIF_H

#include <stdbool.h>

#include "base/err.h"
#include "run/cluster.h"
#include "run/run.h"
#include "write/report/whatif_text.h"

/* Whether all ranks name their ops themselves; else their pipeline chart is asked. */
bool ps_run_whatif_has_timelines(const ps_cluster *cluster);

/* The tables of whatif_tables.h are in results[0]; without any, errors[0] or the reports of the ranks say why. NULL when
 * nothing could be done at all. The caller frees the result with ps_run_free(), before the cluster. */
ps_run *ps_run_whatif(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);

/* The tables of a run, for the writers; its `job` is NULL where there is no answer. Borrows of both. */
ps_whatif_view ps_run_whatif_view(const ps_run *run, const ps_cluster *cluster);

/* What a plan under a limit of memory needs to know of its ranks, where the user gave no sizes: *with is the options with it, and
 * lasts as long as *memory, which the caller frees with ps_run_free() (NULL: nothing is needed). */
PS_MUST_USE ps_code ps_run_plan_memory(const ps_cluster *cluster, const ps_run_opts *opts,
                                       ps_run **memory, ps_analysis_opts *with, ps_err *err);

#endif

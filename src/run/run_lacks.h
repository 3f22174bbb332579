/* What the outputs of a run do not hold, as far as that is known when they are written. */
#ifndef PS_RUN_RUN_LACKS_H
#define PS_RUN_RUN_LACKS_H

#include "run/cluster.h"
#include "run/run.h"

/* Fills run->lacks and run->lacks_of, and gives them to the charts of the results. Baseline, reports of ranks and errors of analyses are
 * there. What a mode needs not find (opts->optional) is no lack, unless its file ends in the middle. */
PS_MUST_USE ps_code ps_run_note_lacks(ps_run *run, const ps_analysis *const *analyses,
                                      const ps_cluster *cluster, const ps_run_opts *opts,
                                      ps_err *err);

/* A profile that could not be read, and why, as the same row that a run has of it. */
void ps_lacks_add_unread(ps_lang lang, ps_table *lacks, const ps_cluster_rank *rank,
                         const ps_err *why);

#endif

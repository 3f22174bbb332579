/* The other capture of a comparison: the analyses that others compare with are run over it first, and nothing is written
 * there. */
#ifndef PS_RUN_RUN_BASELINE_H
#define PS_RUN_RUN_BASELINE_H

#include "run/run.h"

/* Zero it to begin. */
typedef struct ps_baseline {
    ps_cluster *cluster;
    ps_run *run;                  /* NULL when no analysis has a baseline */
    const ps_analysis **analyses; /* those of the run */
    size_t n_analyses;
} ps_baseline;

/* Runs what the analyses name as their baseline over the ranks below opts->baseline_path: behind what makes a chart where the run itself has
 * such makers (opts->n_makers). A path without ranks, or a run
 * in which no rank could be read, is an error that names it. End with ps_baseline_free() in any case. */
PS_MUST_USE ps_code ps_baseline_run(ps_baseline *b, const ps_analysis *const *analyses,
                                    size_t n_analyses, const ps_run_opts *opts, ps_err *err);
void ps_baseline_free(ps_baseline *b);

/* What was found for an analysis, NULL when it has no baseline. */
const ps_result *ps_baseline_of(const ps_baseline *b, const ps_analysis *analysis);

#endif

/* Two captures, or two parts of one, side by side (analyze/modes/compare.c): what commands and server share of it. */
#ifndef PS_RUN_RUN_COMPARE_H
#define PS_RUN_RUN_COMPARE_H

#include <stdbool.h>

#include "base/err.h"
#include "run/cluster.h"
#include "run/run.h"
#include "run/run_pipeline.h"

/* The analyses of a comparison: those that make the chart it takes the stages from (at most PS_REPORT_MAKERS; none where a side is of some
 * ranks, which are no whole pipeline), and the comparison, which is the last. `ranks`: the list of either side. How many there are. */
size_t ps_run_compare_plan(const ps_cluster *cluster, const char *const ranks[2],
                           const ps_analysis *out[PS_REPORT_MAKERS + 1]);

/* NEW is the cluster, of which opts->rank_list and opts->analysis.step_id say the part; BASE is opts->baseline_*. NULL when nothing could be
 * done at all. The caller frees the result with ps_run_free(), before the cluster. */
ps_run *ps_run_compare(const ps_cluster *cluster, const ps_run_opts *opts, ps_err *err);

/* PS_USAGE where a part was asked for, and both sides are the same part of one capture: says what to ask for. */
PS_MUST_USE ps_code ps_compare_check_parts(const ps_run_opts *opts, bool is_one_capture,
                                           ps_err *err);

#endif

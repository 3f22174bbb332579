/* The rows of ClusterTimeSummary, for the mode of that name and for the comparison of two runs.
 *
 * Wait and transmission of a collective: its k-th occurrence in a step, under one name in one group, on all ranks of the
 * group; the shortest is the transmission, what another rank takes longer it has waited. A send and its receive are
 * matched in the same way by their places in the group. What is not there on all ranks of its group is left out. */
#ifndef PS_ANALYZE_TIME_SUMMARY_H
#define PS_ANALYZE_TIME_SUMMARY_H

#include "analyze/core/analysis.h"
#include "base/archive.h"

/* PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS */
#define PS_TIME_SUMMARY_NEEDS (PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS)

enum {
    PS_TIME_SUMMARY_RANK,
    PS_TIME_SUMMARY_STEP,
    PS_TIME_SUMMARY_FIRST_TIME,
    PS_TIME_SUMMARY_N_TIMES = 10,
    PS_TIME_SUMMARY_N_COLUMNS = PS_TIME_SUMMARY_FIRST_TIME + PS_TIME_SUMMARY_N_TIMES
};
extern const ps_column ps_time_summary_columns[PS_TIME_SUMMARY_N_COLUMNS];

/* The map of a round. PS_NOTHING without work on a device. */
ps_code ps_time_summary_map(const ps_map_input *in, void **partial, ps_err *err);
void ps_time_summary_free(void *partial);

/* The tables, which the caller owns: ClusterTimeSummary, and ClusterTimeSummaryExtra with what the public one lacks
 * (`extra` may be NULL). Rows by rank, step, device. Where memory ran out they are NULL or failed. */
PS_MUST_USE ps_code ps_time_summary_tables(const ps_reduce_input *in, ps_table **summary,
                                           ps_table **extra, ps_err *err);

void ps_time_summary_archive(ps_archive *a, void **partial);

#endif

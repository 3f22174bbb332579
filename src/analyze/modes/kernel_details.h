/* The list of kernels and communication operators of one rank, as kernel_details.csv of the Ascend profiler has it. */
#ifndef PS_ANALYZE_KERNEL_DETAILS_H
#define PS_ANALYZE_KERNEL_DETAILS_H

#include "analyze/core/analysis.h"
#include "base/archive.h"

/* By start, with opts->step_id only of that step. *out is NULL when there is nothing to list; the caller owns it. PS_NOMEM
 * only. Needs STEPS, SLICES, FLOWS, ARGS, COMM_OPS. */
PS_MUST_USE ps_code ps_kernel_details_list(const ps_map_input *in, ps_table **out, ps_err *err);

/* Of such a table. */
void ps_kernel_details_archive(ps_archive *a, ps_table **table);

#endif

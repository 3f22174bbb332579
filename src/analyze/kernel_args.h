/* What profilers say of a kernel, under the names that each of them uses. */
#ifndef PS_ANALYZE_KERNEL_ARGS_H
#define PS_ANALYZE_KERNEL_ARGS_H

#include "model/trace.h"

/* The type of a kernel ("MatMulV2"): opType of databases, Type of kernel_details.csv, OP Type of op_summary. NULL when it
 * is not there, empty, or "N/A", which low levels of profiling write. */
const char *ps_kernel_type(const ps_trace *trace, uint32_t slice);

/* Shapes of the inputs of a kernel or an operator, as the profiler writes them; NULL as above. */
const char *ps_input_shapes(const ps_trace *trace, uint32_t slice);

#endif

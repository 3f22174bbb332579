/* A timeline of ops in a table (analyze/whatif/whatif_timeline.h) as a file for timeline viewers. */
#ifndef PS_WRITE_OPS_TRACE_H
#define PS_WRITE_OPS_TRACE_H

#include "base/buf.h"
#include "base/err.h"
#include "model/table.h"

/* Each worker is a rank with a track of computing and one of communication; what is lacking (model/lacks.h, or NULL) is said in it. Codes
 * of the trace writer (trace_writer.h). */
PS_MUST_USE ps_code ps_write_ops_trace(const ps_table *timeline, const ps_table *lacks,
                                       const char *path, ps_err *err);
/* The same for Perfetto, into memory. */
PS_MUST_USE ps_code ps_write_ops_trace_to(const ps_table *timeline, ps_buf *out, ps_err *err);

#endif

/* A sealed trace as text that says all a reader put into it and nothing of how: no ids of strings, no rows of tables,
 * only what they stand for. Two traces are the same when their dumps are. The number of an event in its file
 * (source_row) and side tables are left out. */
#ifndef TEST_SUPPORT_TRACE_DUMP_H
#define TEST_SUPPORT_TRACE_DUMP_H

#include "base/buf.h"
#include "model/trace.h"

/* Appends; `out` is the caller's. */
void trace_dump(const ps_trace *t, ps_buf *out);

/* Fails the test when the dumps differ, showing the first lines that do. */
void assert_same_dump(const ps_buf *got, const ps_buf *wanted);

#endif

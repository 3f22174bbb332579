/* A sealed trace as text, for tests that compare all of it: times in microseconds from the origin, tracks by what they
 * are, texts in quotes. */
#ifndef TESTS_SUPPORT_TRACE_DUMP_H
#define TESTS_SUPPORT_TRACE_DUMP_H

#include "base/buf.h"
#include "model/trace.h"

void trace_dump(const ps_trace *t, ps_buf *out);

/* Only the counts: slices per kind, flows per kind, values of counters, steps, rows of side tables, oddities. */
void trace_dump_counts(const ps_trace *t, ps_buf *out);

#endif

/* A sealed trace with its side tables and oddities as text that people can check: times in microseconds from the origin, tracks by what they
 * are, texts in quotes. */
#ifndef TESTS_SUPPORT_TRACE_TEXT_H
#define TESTS_SUPPORT_TRACE_TEXT_H

#include "base/buf.h"
#include "model/trace.h"

void trace_text(const ps_trace *t, ps_buf *out);

/* Only the counts: slices per kind, flows per kind, values of counters, steps, rows of side tables, oddities. */
void trace_text_counts(const ps_trace *t, ps_buf *out);

#endif

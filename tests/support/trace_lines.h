/* A trace as text, one line a thing, for comparing with what a test expects or with another reading. */
#ifndef TESTS_SUPPORT_TRACE_LINES_H
#define TESTS_SUPPORT_TRACE_LINES_H

#include "base/buf.h"
#include "model/trace.h"

/* Slices, flows and counters with times from the origin, then steps, processes, tracks with a label, and oddities:
 *
 *   op 1/2 name 0+50 {key=1}
 *   flow kind name -> name
 *   counter mem/used 10 5
 *   step 3 0..100
 *   process 7 python CPU order 3
 *   meta key value
 *   track 1/2: label order 4
 *   odd begin-without-end 1
 */
void lines_of_trace(const ps_trace *t, ps_buf *out);
/* The slices alone, and their flows. */
void lines_of_slices(const ps_trace *t, ps_buf *out);
void lines_of_oddities(const ps_trace *t, ps_buf *out);
/* "1/2", "stream 0/7", "lane name", for people. */
void line_of_track(const ps_trace *t, uint32_t track, ps_buf *out);

#endif

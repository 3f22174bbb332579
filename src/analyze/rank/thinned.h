/* Whether a capture is all that its profiler saw, or a part that somebody picked of it: events were taken out before it was
 * published, or records were lost. Then what lies between two events that are left is unknown: when a device was idle and
 * why, what ran beside communication, and whether two ranks did the same. */
#ifndef PS_ANALYZE_THINNED_H
#define PS_ANALYZE_THINNED_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"
#include "base/archive.h"
#include "base/lang.h"

/* What is missing of what; 0 of 0 where nobody can tell. */
typedef struct ps_missing_part {
    int64_t n, of;
} ps_missing_part;

typedef struct ps_thinned {
    ps_missing_part events; /* numbered ones (ps_trace_thinned) */
    ps_missing_part
        launches; /* of kernels between the first and the last one whose launch is there */
    ps_missing_part kernels; /* of launches up to the last one whose kernel is there */
    int64_t n_few; /* numbered events, of which there are too few to tell; 0: that can be told */
} ps_thinned;

/* Needs META, ARGS, SLICES, FLOWS. PS_NOMEM only. */
PS_MUST_USE ps_code ps_thinned_measure(const ps_links *links, ps_thinned *out, ps_err *err);

/* Of the part of which most is missing, percent; 0 when nothing is known to be. */
double ps_thinned_percent(const ps_thinned *t);

/* With more missing, in percent, a capture is too thin for what lies between its events. */
#define PS_THINNED_MOST 50

/* "2402 of at least 238287 events that its profiler numbered (at most 1.0 %)" for each part of which more than `limit` percent are
 * missing: what the capture holds only. */
void ps_thinned_say(ps_lang lang, const ps_thinned *t, double limit, char *out, size_t size);

void ps_thinned_archive(ps_archive *a, void *thinned);

#endif

/* Whose a moment of a device is: the time in which it computed, and that in which it only communicated, handed out to the
 * slices so that no moment counts twice. Of several that run at once it is the one's that began first. */
#ifndef PS_ANALYZE_VIEW_TIME_H
#define PS_ANALYZE_VIEW_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/work.h"
#include "analyze/stats/intervals.h"
#include "analyze/views/view.h"

typedef struct ps_time_piece {
    uint32_t slice;
    ps_part part;   /* computing, communication or receiving */
    size_t overlap; /* row of in->overlaps; SIZE_MAX: launched outside of all steps */
    int64_t start_ns,
        end_ns; /* the slice's own share, inside of the span; of communication with what computing hides */
    int64_t
        share_ns; /* of it, what computing does not hide; the length of the above for computing */
} ps_time_piece;

/* All work with a length that touches the span, by start. `take` returns false to stop, which is then returned; also false:
 * memory is out. Wants links and overlaps. */
bool ps_time_walk(const ps_view_input *in, bool (*take)(void *context, const ps_time_piece *piece),
                  void *context);

/* Appends what of [start, end) lies in none of the united spans. False when memory is out. */
bool ps_time_add_exposed(ps_intervals *list, const ps_intervals *hidden_by, int64_t start_ns,
                         int64_t end_ns);

#endif

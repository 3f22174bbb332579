/* Ticks of a recording to CLOCK_MONOTONIC to Unix ns, by its anchors: one map for rows of the host, which are in ticks, and for those of
 * devices, whose times the recorder has brought to CLOCK_MONOTONIC.
 *
 * The kernel may slew CLOCK_MONOTONIC against the ticks (NTP, up to 500 ppm): from ticks to CLOCK_MONOTONIC the map is a line through
 * those anchors that no straight line explains within their half widths. From there to Unix time the first anchor's difference holds
 * for the whole recording, so that a wall clock that is set moves nothing. */
#ifndef PS_RECORD_CLOCK_LINE_H
#define PS_RECORD_CLOCK_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ps_raw_anchor {
    uint64_t ticks;
    int64_t real_ns, mono_ns;
    uint32_t half_width_ns;
} ps_raw_anchor;

typedef struct ps_clock_knot {
    uint64_t ticks;
    int64_t mono_ns;
} ps_clock_knot;

typedef struct ps_clock_line {
    uint64_t ticks0;          /* of the first anchor */
    int64_t real_ns, mono_ns; /* of the same moment */
    double ns_per_tick;   /* before the first knot and behind the last: over the whole recording */
    ps_clock_knot *knots; /* increasing in both; none: one straight line */
    size_t n_knots;
} ps_clock_line;

/* Puts the knots into a line that has the rest: those of `anchors`, in the order of their making, that belong between the ends. False
 * when memory is out. ps_clock_line_fini() frees them. */
bool ps_clock_line_bend(ps_clock_line *line, const ps_raw_anchor *anchors, size_t n);
void ps_clock_line_fini(ps_clock_line *line);

int64_t ps_line_unix(const ps_clock_line *line, uint64_t ticks);
int64_t ps_line_unix_of_mono(const ps_clock_line *line, int64_t mono_ns);

#endif

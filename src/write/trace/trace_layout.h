/* How the tracks of a trace stand in a viewer that shows processes with threads whose slices nest: which tracks form a
 * process, in which order they stand, and on which *lane* of its track each slice lies. A viewer closes the innermost
 * slice first, so slices of one track that cross each other need lanes of their own; the first lane of a track has the
 * track's row as its number. */
#ifndef PS_WRITE_TRACE_LAYOUT_H
#define PS_WRITE_TRACE_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/trace.h"

/* Slices of a lane nest no deeper (viewers end at 512); what lies deeper goes to the next lane. */
#define PS_LANE_MAX_DEPTH 500

/* What a group holds when tracks of several kinds share one pid. In the order in which they are shown. */
typedef enum ps_group_class {
    PS_GROUP_HOST,
    PS_GROUP_DEVICE,
    PS_GROUP_COMM,
    PS_GROUP_DERIVED,
    PS_GROUP_COUNTERS
} ps_group_class;

/* A process as it is shown. */
typedef struct ps_trace_group {
    int64_t pid;
    const ps_process *process; /* of the trace; NULL: unnamed */
    ps_group_class what;
    int64_t device; /* of its tracks; -1 */
    bool is_split;  /* another group keeps the number of the pid */
} ps_trace_group;

typedef struct ps_trace_lane {
    uint32_t track;
    uint32_t number; /* within the track, from 0 */
    uint32_t next;   /* lane of the same track, PS_NONE */
} ps_trace_lane;

typedef struct ps_trace_layout {
    ps_trace_group *groups; /* in the order in which they are shown */
    uint32_t *group_of;     /* [n_tracks] */
    uint32_t *tracks;       /* [n_tracks] rows by group, then as shown */
    ps_trace_lane *lanes;   /* lanes[track] for each track, then further ones as they were needed */
    uint32_t *lane_of;      /* [n_slices] */
    bool *has_slices;       /* [n_tracks] */
    size_t n_groups, n_tracks, n_lanes, cap_lanes;
} ps_trace_layout;

/* PS_NOMEM on failure; then nothing needs to be freed. The trace must outlive the layout. */
PS_MUST_USE ps_code ps_trace_layout_init(ps_trace_layout *l, const ps_trace *t, ps_err *err);
void ps_trace_layout_fini(ps_trace_layout *l);

/* Adds the name of a group ("python", "device 0"), or of a lane ("stream 7", "stream 7 (2)"). */
void ps_trace_group_title(const ps_trace *t, const ps_trace_group *group, ps_buf *out);
void ps_trace_lane_title(const ps_trace *t, const ps_trace_lane *lane, ps_buf *out);

/* --- lanes --------------------------------------------------------------------------------------------- */

/* The slices open on one lane, as their ends. */
typedef struct ps_open_ends {
    int64_t *ends;
    size_t n, cap;
} ps_open_ends;

/* Room for one more end; false when memory is out. Freed with ps_free(o->ends). */
bool ps_open_ends_push(ps_open_ends *o, int64_t end_ns);

/* Forgets those that ended at or before `time_ns`, innermost first; returns how many. */
static inline size_t ps_open_ends_pop(ps_open_ends *o, int64_t time_ns) {
    size_t before = o->n;
    while (o->n > 0 && o->ends[o->n - 1] <= time_ns) {
        o->n--;
    }
    return before - o->n;
}

#endif

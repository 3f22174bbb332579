/* Ops and what each of them waits for: the one graph that schedules on paper, measured steps and questions of "what if"
 * are simulated with.
 *
 *   g = ps_step_graph_new(n_ops)
 *   ps_step_graph_wait(g, op, on, is_far), ps_step_graph_join(g, ops, n)      in any order
 *   ps_step_graph_seal(g, &circle, err)
 *   ps_step_graph_run(g, times, start, end, err)                              as often as wanted, by many threads
 *
 * Ops of a *group* start together: a send with its receive, a collective. A dependency may be *far*: then the lag of a run
 * passes before the result has arrived. */
#ifndef PS_SCHEDULE_STEP_GRAPH_H
#define PS_SCHEDULE_STEP_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define PS_NO_GROUP UINT32_MAX
#define PS_NO_OP UINT32_MAX
typedef struct ps_step_graph ps_step_graph;

/* NULL when memory is out. End with ps_step_graph_free(). */
ps_step_graph *ps_step_graph_new(uint32_t n_ops);
void ps_step_graph_free(ps_step_graph *g); /* NULL is fine */

/* `op` does not begin before `on` has ended. */
void ps_step_graph_wait(ps_step_graph *g, uint32_t op, uint32_t on, bool is_far);
/* These ops start together; an op is in one group at most. Fewer than two are no group. */
void ps_step_graph_join(ps_step_graph *g, const uint32_t *ops, size_t n);

/* Ops that wait for one another in a circle, each for the next and the last for the first (or together with a member of its
 * group). */
typedef struct ps_graph_circle {
    uint32_t *ops; /* the caller frees it with ps_free() */
    size_t n;
} ps_graph_circle;

/* Finds an order in which all ops can run. PS_NOTHING with *circle (else empty) when there is none; PS_NOMEM, also of an
 * earlier call. Linear in ops and dependencies. */
PS_MUST_USE ps_code ps_step_graph_seal(ps_step_graph *g, ps_graph_circle *circle, ps_err *err);

/* What a run is given; arrays by op. */
typedef struct ps_graph_times {
    const int64_t *duration_ns;
    const int64_t *delay_ns; /* of the op's own start, after all that it waits for; NULL: none */
    int64_t lag_ns;          /* of far dependencies */
    int64_t begin_ns;        /* no op starts earlier */
} ps_graph_times;

/* An op starts at the latest end of what it waits for, those of a group at the latest start of any. `start_ns` (NULL: not
 * wanted) and `end_ns` have room for all ops. PS_RANGE when the times leave 64 bits. */
PS_MUST_USE ps_code ps_step_graph_run(const ps_step_graph *g, const ps_graph_times *times,
                                      int64_t *start_ns, int64_t *end_ns, ps_err *err);

/* Of a run: the op whose end let this one (or its group) start, of several the one that was said last; PS_NO_OP for none. From the
 * last op on these are the longest path. */
uint32_t ps_step_graph_before(const ps_step_graph *g, const ps_graph_times *times,
                              const int64_t *end_ns, uint32_t op);
/* --- many questions at once -------------------------------------------------------------------------------------------
 *
 * The same run for many questions side by side (lanes), in each of which an op takes either its own duration or what is usual for
 * its kind. Ops that do not wait for one another but at a few places, as those of several pipelines, are parts: each is run by
 * itself from one such place to the next, and only once for all questions that see the same in it.
 *
 *   p = ps_lanes_new(g, cell, part_of)
 *   ps_lanes_run(p, in, &out)            as often as wanted, by many threads */

enum { PS_LANE_KINDS = 32 };
typedef struct ps_lanes ps_lanes;

typedef struct ps_lane_times {
    const int64_t *duration_ns; /* by op */
    size_t n_lanes;
    const uint64_t *
        own; /* [cells * ps_lane_words(n_lanes)] bits of the lanes in which the ops of a cell take their own durations */
    const double *usual_ns; /* [PS_LANE_KINDS] */
    uint32_t end_kinds;     /* bits of the kinds whose last end is asked */
    double lag_ns;          /* of far dependencies */
} ps_lane_times;

static inline size_t ps_lane_words(size_t n_lanes) {
    return (n_lanes + 63) / 64;
}

/* Whole numbers, exact as long as the latest is below PS_LANES_EXACT. Arrays by lane. */
typedef struct ps_lane_ends {
    double *end_ns;    /* of the ops of end_kinds, the last; 0 without any */
    double *latest_ns; /* of all ops */
} ps_lane_ends;
#define PS_LANES_EXACT 9007199254740992.0

/* Of a sealed graph, which it may outlive. cell: by op its kind, below PS_LANE_KINDS, and who runs it, times PS_LANE_KINDS;
 * part_of: by who. NULL when memory is out. End with ps_lanes_free(). */
ps_lanes *ps_lanes_new(const ps_step_graph *g, const uint32_t *cell, const uint32_t *part_of);
void ps_lanes_free(ps_lanes *p); /* NULL is fine */
/* False when memory is out. */
PS_MUST_USE bool ps_lanes_run(const ps_lanes *p, const ps_lane_times *times, ps_lane_ends *out);

uint32_t ps_step_graph_n_ops(const ps_step_graph *g);
/* What an op waits for, in the order in which it was said: *n of them. */
const uint32_t *ps_step_graph_waits(const ps_step_graph *g, uint32_t op, size_t *n);
/* Its group, PS_NO_GROUP. */
uint32_t ps_step_graph_group(const ps_step_graph *g, uint32_t op);
uint32_t ps_step_graph_n_groups(const ps_step_graph *g);
/* The ops of a group: *n of them. */
const uint32_t *ps_step_graph_members(const ps_step_graph *g, uint32_t group, size_t *n);

#endif

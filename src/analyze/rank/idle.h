/* Why a device did nothing: each moment in which it neither computed nor communicated nor copied, with one cause. What
 * belongs to which step is ps_overlaps_share(); copies are work here, and the causes of a step add up to ps_overlap_idle_ns().
 *
 * A stretch ends with the work (or copy) behind it. Until the call that launched that returned the device waited for the
 * host, and what the host did is the cause (host_activity.h): until the operator behind the launch ended its thread counts,
 * then, where another thread makes the call, that one. A thread of which nothing is recorded at that moment leaves it to the other threads that launch work.
 * From the launch on the work stood in a queue, but for a copy that its operator waits for, which the driver prepares meanwhile. Garbage collection on any thread stops all of Python, and a receive that
 * is under way is a pipeline bubble: both count before all else.
 *
 * While the device does nothing but communicate it may wait in the same way: as long as the launch of what it computes next
 * had not returned nothing to compute was queued, and who launches late is the reason that nothing hides the communication.
 * Such moments are no idle time; they have causes of the same kind, in a list of their own. Where what it computes next works with
 * what is communicated (comm_awaited.h), nothing could hide it, and the moment is not in the list. */
#ifndef PS_ANALYZE_IDLE_H
#define PS_ANALYZE_IDLE_H

#include "analyze/rank/host_activity.h"
#include "analyze/rank/overlap.h"

/* Behind the activities of the host. */
typedef enum ps_idle_cause {
    PS_IDLE_QUEUED =
        PS_N_ACTIVITIES, /* it was launched, and waited for an event or another stream */
    PS_IDLE_UNKNOWN,     /* nobody knows who launched the work behind it */
    PS_N_IDLE_CAUSES
} ps_idle_cause;

/* The device waited for the host. */
static inline bool ps_idle_is_hosts(int cause) {
    return cause < PS_N_ACTIVITIES && cause != PS_ACTIVITY_RECEIVE;
}

typedef struct ps_idle_piece {
    int64_t start_ns, end_ns; /* from the origin */
    uint32_t row;             /* of the overlaps */
    uint32_t from;            /* the slice of the host that is the cause, PS_NONE */
    uint32_t next;            /* what ends the stretch, PS_NONE at the end of the last step */
    uint8_t cause;            /* ps_activity or ps_idle_cause */
    uint8_t part;             /* ps_share_part */
} ps_idle_piece;

typedef struct ps_idle {
    ps_idle_piece *at; /* of each device by start */
    size_t n, cap;
    /* While nothing but communication ran, by row and start; `next` is what computes behind it, and `part` says nothing. Without
     * what nothing computes behind: nobody knows then. */
    ps_idle_piece *comm;
    size_t n_comm;
    int64_t
        awaited_comm_ns;  /* of all rows: nothing but communication ran, and nothing can hide it */
    ps_intervals awaited; /* when that was, from the origin, united */
} ps_idle;

/* Of overlaps with spans. PS_NOMEM only; end with ps_idle_fini() in any case. Needs SLICES, FLOWS, STEPS. */
PS_MUST_USE ps_code ps_idle_measure(const ps_links *links, const ps_overlaps *overlaps,
                                    const ps_host_activity *host, ps_idle *out, ps_err *err);
void ps_idle_fini(ps_idle *idle);

#endif

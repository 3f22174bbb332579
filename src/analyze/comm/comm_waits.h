/* What the tasks of communication operators say: how long an operator transferred, how long it waited, and for whom.
 *
 * An operator has lanes (planes), and each runs its tasks in order. A task that waits (Notify_Wait) names the rank whose signal
 * it waits for. Transfer: at least one lane runs a task that is no wait. Wait: none does, and at least one waits. Idle: no task
 * at all. A wait for one rank alone is a moment in which no lane waits for another one: what would be left of it if that rank
 * had come with the one before it.
 *
 * Profilers that sum up times of operators look at one lane only: what another lane waits for is "idle" there.
 *
 * A task belongs to the operator that it names (opId), else to that of its communicator that runs when it
 * starts. Without tasks (NCCL) there is nothing to tell. */
#ifndef PS_ANALYZE_COMM_WAITS_H
#define PS_ANALYZE_COMM_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/comm_list.h"
#include "analyze/stats/intervals.h"
#include "base/archive.h"
#include "base/err.h"
#include "model/trace.h"

/* What ran on a lane last. Zero it to begin. */
typedef struct ps_comm_lane {
    uint32_t n_sends, n_waits; /* RDMASend in a row, and the waits behind them */
} ps_comm_lane;

/* Whether the next task of the lane waits, by its name. A wait right behind two RDMASend is part of their transfer, and so is
 * a second one behind that. */
bool ps_comm_task_waits(ps_comm_lane *lane, const char *name);

/* The waits of a rank for one other in one communicator. Sums over the capture, of what nothing hides, of collectives only. */
typedef struct ps_peer_wait {
    ps_str group;      /* as in the list */
    int32_t peer;      /* its place in the communicator; -1: no other rank, or nobody knows whom */
    int64_t waited_ns; /* several may be waited for at once */
    int64_t alone_ns;  /* of it, for nobody else */
} ps_peer_wait;

/* Where the rank stands in a communicator. */
typedef struct ps_own_place {
    ps_str group;
    int32_t place; /* -1: its tasks name several */
} ps_own_place;

#define PS_NO_PEER UINT32_MAX

/* A stretch in which a collective did nothing but wait, while none of its tasks names a rank. By op, then start; shorter ones
 * than PS_SIGNAL_NS, which a signal needs to arrive, are left out. */
#define PS_SIGNAL_NS INT64_C(10000)
typedef struct ps_wait_span {
    uint32_t op;              /* in the list */
    int64_t start_ns, end_ns; /* epoch */
} ps_wait_span;

/* What the tasks of one operator say, hidden or not. */
typedef struct ps_comm_op_waits {
    int64_t transfer_ns, wait_ns;
    uint32_t most; /* of the peers, the one for which it waited longest; PS_NO_PEER */
    int64_t most_ns, most_exposed_ns; /* for that one; of it, where nothing hides it */
    bool has_tasks;
    bool names_ranks; /* one of its tasks says where it stands, or with whom it deals */
} ps_comm_op_waits;

typedef struct ps_comm_waits {
    ps_comm_op_waits *ops; /* [list->n] */
    ps_peer_wait *peers;   /* in the order in which they were first waited for */
    size_t n_peers, cap_peers;
    ps_own_place *places; /* of those communicators whose tasks tell */
    size_t n_own_places, cap_own_places;
    ps_wait_span *nameless; /* waits for nobody knows whom */
    size_t n_nameless, cap_nameless;
    uint32_t n_at_once; /* the most tasks of an operator among them that waited at a time */
    ps_intervals nameless_exposed; /* united, epoch: where nothing hides them */
    /* Of collectives, united, from the origin of the trace, hidden or not: where one transfers, where one waits. */
    ps_intervals transfers, waits;
    int64_t wait_ns,
        transfer_ns; /* of collectives, of what nothing hides; each moment once an operator */
    int64_t
        n_places;   /* of the largest communicator, by the places that its tasks name; 0 unknown */
    bool has_tasks; /* of some collective */
} ps_comm_waits;

/* `exposed`: united, from the origin; when the device did nothing but communicate. Needs SLICES and ARGS. PS_NOMEM only; end with
 * ps_comm_waits_fini() in any case. */
PS_MUST_USE ps_code ps_comm_waits_measure(const ps_trace *trace, const ps_comm_list *list,
                                          const ps_intervals *exposed, ps_comm_waits *out,
                                          ps_err *err);
void ps_comm_waits_fini(ps_comm_waits *w);

/* Of `list`, whose texts its groups are. */
void ps_comm_waits_archive(ps_archive *a, ps_comm_waits *waits, ps_comm_list *list);

#endif

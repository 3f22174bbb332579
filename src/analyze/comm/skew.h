/* Collective skew, or who waits for whom: the collectives that several ranks took part in, and who came late to them; the receives, and how
 * long they waited for their send.
 *
 * A collective of one rank is matched with that of the others inside of one communicator and step: by the number that
 * the profile has (Seq), else the k-th of a type with the k-th where all ranks have equally many of it and their sizes do not
 * contradict, else the k-th of a name, or of a name and size. Where nothing names the communicator, what was counted off must overlap and end within a millisecond of one
 * another; all else is matched by the ends, the closest first. What still does not match is counted and left out, as is
 * what cannot have been one collective: somebody left it before the last one came, and the ends are more than a
 * millisecond apart, so that no clock explains it.
 *
 * Clocks: those of different machines (or of ranks whose machine is unknown) are brought together by collectives in which nobody
 * can finish before everybody has begun, by transfers, and by what recordings say (job_clock.h). Where nothing connects two
 * clocks, they are taken as they are.
 *
 * For slow_rank and the report. Any input; nothing here looks at a trace. */
#ifndef PS_ANALYZE_SKEW_H
#define PS_ANALYZE_SKEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/comm_list.h"
#include "analyze/comm/job_clock.h"
#include "analyze/core/analysis.h"
#include "base/strpool.h"

/* Ranks are indices into the run: lists[rank], ranks[rank]. */
typedef struct ps_skew_input {
    const ps_comm_list *const *lists; /* [n_ranks], NULL for ranks without */
    const ps_rank_info *ranks;        /* [n_ranks] */
    size_t n_ranks;
    int64_t step;             /* only of this one; -1: all */
    bool in_steps;            /* none outside of all steps, where a rank has steps */
    int64_t start_ns, end_ns; /* of all whose clocks matter, epoch; both 0: of the operators */
} ps_skew_input;

/* One rank in one collective. */
typedef struct ps_collective_part {
    uint32_t rank;
    uint32_t op;     /* in its list */
    int64_t late_ns; /* start after the first one's, on one clock; 0 for the first */
    int64_t
        waited_ns; /* from its own start to the last one's, at most its own duration; 0 for the last */
} ps_collective_part;

/* One collective, as all ranks that took part saw it. */
typedef struct ps_matched_collective {
    ps_str group, name; /* of the result's pool; the name is that on the first rank */
    bool
        is_by_time; /* nothing names the communicator or numbers the collective: matched by counting and time */
    int64_t step;
    int64_t
        start_ns; /* of the first one, epoch, on the clock of the lowest rank that is connected */
    int64_t
        late_ns; /* the last one after the one before it: what the others waited for this rank alone */
    int64_t waited_ns;               /* sum over the parts */
    int64_t longest_ns, shortest_ns; /* durations */
    uint32_t first, n;               /* of the parts */
    uint32_t last; /* the part (of all) that came last; of several the one of the lowest rank */
} ps_matched_collective;

/* A receive whose send is known. */
typedef struct ps_skew_receive {
    uint32_t sender, receiver;    /* ranks */
    uint32_t send_op, receive_op; /* in their lists */
    ps_str group;
    int64_t step;     /* of the receive */
    int64_t start_ns; /* of the receive, on its own clock */
    /* From the start of the receive to that of the send, at least 0 and at most the receive's duration. Where the two
     * clocks are not connected: what the receive lasted longer than the send. */
    int64_t waited_ns;
    bool
        is_known; /* false, waited_ns 0: the two do not overlap on one clock, so who waited for whom is not known */
} ps_skew_receive;

/* The sums of one rank in one communicator. */
typedef struct ps_skew_row {
    uint32_t rank;
    ps_str group;
    bool is_p2p;      /* receives: as sender */
    size_t n;         /* collectives it took part in; receives that it sent to */
    size_t n_unknown; /* of n: receives whose wait is not known; in none of the sums */
    size_t n_waits_unknown, n_waits; /* receives of its own whose wait is not known; all of them */
    size_t n_last;                   /* in which it came last; that waited at all */
    int64_t
        late_ns; /* what others waited for this rank alone: sum of ps_matched_collective.late_ns where it was last; of the
                        waits of receives */
    int64_t behind_ns,
        most_behind_ns; /* sum and maximum of its starts after the first one's; of the waits */
    int64_t waited_ns;  /* what it waited itself for others; as receiver for its senders */
} ps_skew_row;

/* What the clocks stand on. */
typedef struct ps_skew_evidence {
    size_t n_collectives, n_transfers; /* that tell of a difference of clocks */
    ps_clock_notes clocks;
} ps_skew_evidence;

typedef struct ps_skew {
    ps_matched_collective *collectives; /* by start, group, name */
    ps_collective_part *parts;          /* of each collective by rank */
    size_t n_collectives, n_parts;
    ps_skew_receive *receives; /* by start of the receive on its own rank, receiver, op */
    size_t n_receives;
    ps_skew_row *rows; /* by rank, group, collectives first */
    size_t n_rows;
    ps_rank_clock *clocks; /* [n_ranks] */
    ps_skew_evidence evidence;
    size_t
        n_unmatched; /* operators that could not be matched though other ranks have some of that type */
    ps_strpool strings;
} ps_skew;

/* PS_NOMEM only; end with ps_skew_fini() in any case. Sorts once: n log n in all operators. */
PS_MUST_USE ps_code ps_skew_measure(const ps_skew_input *in, ps_skew *out, ps_err *err);
void ps_skew_fini(ps_skew *skew);

/* Of the collectives in which nobody finishes before everybody has begun: each rank against the first one and the one before
 * it. Not of those matched by time, which the clocks had a part in. Ranks as in the input, times epoch; the caller frees *out.
 * False when memory is out. */
bool ps_skew_clock_collectives(const ps_skew_input *in, const ps_skew *skew,
                               ps_clock_collective **out, size_t *n);

#endif

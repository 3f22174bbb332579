/* The clocks of the ranks of a job, brought together: what all commands and the viewer take.
 *
 * Each pair of clocks has an interval in which their difference lies (model/clock.h). It stands on
 *
 *   orders      what one rank sent, another cannot have had before; nobody leaves a collective before all have come to it
 *   recordings  messages exchanged to measure the clocks, and PTP (recorded_clock.h), where they do not contradict the orders
 *
 * and inside of it the difference is the median of those of events that happen nearly together (ends of collectives). Without any it
 * is 0 where the interval is of orders alone and allows that, else the middle. Where nothing bounds a pair, the median alone connects it: the difference is likely, and its uncertainty unknown.
 *
 * A recording that has nothing in common with the orders does not count: the events show the clocks themselves, an exchange looked at
 * them at other moments, and PTP is a promise only.
 *
 * Recorded drift is taken off the times of both clocks where both have one. */
#ifndef PS_ANALYZE_JOB_CLOCK_H
#define PS_ANALYZE_JOB_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/recorded_clock.h"
#include "base/err.h"
#include "base/idmap.h"
#include "model/clock.h"

typedef struct ps_clock_rank {
    int32_t machine;                   /* ranks of one number share a clock; -1: unknown */
    const ps_recorded_clock *recorded; /* NULL: says nothing */
} ps_clock_rank;

/* Times below count from origin_ns (Unix), also those of the events that are added. */
typedef struct ps_clock_span {
    int64_t origin_ns, start_ns, end_ns; /* of all that is to be brought together */
    bool
        has_one_offset; /* each rank is moved by one offset: what drift makes of that is uncertain */
} ps_clock_span;

/* A rank's clock. */
typedef struct ps_rank_clock {
    bool is_known;
    uint32_t reference;     /* the lowest rank that its clock is connected to; itself */
    int64_t offset_ns;      /* its clock minus the reference's, in the middle of the span */
    int64_t uncertainty_ns; /* the true offset differs by no more; PS_CLOCK_UNBOUNDED */
    int64_t
        drift_ppb; /* against the reference's clock; 0 unknown, or so little that it may be none */
    uint32_t by;   /* PS_CLOCK_BY_... */
} ps_rank_clock;

/* What it stands on, in pairs of clocks. */
typedef struct ps_clock_notes {
    size_t n_clocks;
    size_t n_recorded;     /* of which recordings tell */
    size_t n_contradicted; /* whose orders contradict one another */
    size_t n_disagree;     /* whose orders contradict what was recorded */
} ps_clock_notes;

typedef struct ps_pair_clock ps_pair_clock;

/* The inside is job_clock.c's. */
typedef struct ps_job_clock {
    const ps_clock_rank *ranks;
    size_t n_ranks;
    ps_clock_span span;
    uint32_t *clock_of; /* [n_ranks] PS_NO_CLOCK: left alone */
    uint32_t n_clocks;
    ps_clock_state *recorded; /* [n_clocks] in the span's middle */
    ps_idmap by_pair;         /* clock a << 32 | b, a < b -> row */
    ps_pair_clock *pairs;
    size_t n_pairs, cap_pairs;
} ps_job_clock;

#define PS_NO_CLOCK UINT32_MAX

/* Ranks whose machine is unknown have a clock of their own if `unknown_apart`, else they are left alone. Machines that only
 * recordings tell apart are numbered by them. `ranks` must outlive it. False when memory is out; end with ps_job_clock_fini()
 * in any case. */
bool ps_job_clock_init(ps_job_clock *c, const ps_clock_rank *ranks, size_t n, ps_clock_span span,
                       bool unknown_apart);
void ps_job_clock_fini(ps_job_clock *c);

/* Whether two ranks have clocks that may differ: only then something is to be learned from their events. */
static inline bool ps_job_clock_apart(const ps_job_clock *c, uint32_t a, uint32_t b) {
    return c->clock_of[a] != c->clock_of[b] && c->clock_of[a] != PS_NO_CLOCK &&
           c->clock_of[b] != PS_NO_CLOCK;
}

/* "What happened on rank `from` at x was before what happened on rank `to` at y": the closest such times, and those that are
 * certain in any case. The certain ones count where the closest of a pair contradict one another. */
typedef struct ps_clock_order {
    uint32_t from, to;
    int64_t from_ns, to_ns;
    int64_t sure_from_ns, sure_to_ns;
} ps_clock_order;

/* False when memory is out. */
bool ps_job_clock_order(ps_job_clock *c, const ps_clock_order *order);
/* An order whose times are certain. */
bool ps_job_clock_before(ps_job_clock *c, uint32_t from, int64_t from_ns, uint32_t to,
                         int64_t to_ns);
/* Two ranks in a collective in which nobody leaves before all have come; all leave it nearly together. */
typedef struct ps_clock_collective {
    uint32_t a, b;
    int64_t a_start_ns, a_end_ns, b_start_ns, b_end_ns;
} ps_clock_collective;

bool ps_job_clock_collective(ps_job_clock *c, const ps_clock_collective *collective);

/* out[n_ranks]. Once; PS_NOMEM only. */
PS_MUST_USE ps_code ps_job_clock_solve(ps_job_clock *c, ps_rank_clock *out, ps_clock_notes *notes,
                                       ps_err *err);

#endif

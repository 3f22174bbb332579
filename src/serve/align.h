/* Offsets that bring the ranks of a store together in time. */
#ifndef PS_SERVE_ALIGN_H
#define PS_SERVE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/comm_list.h"
#include "base/buf.h"
#include "base/err.h"
#include "model/clock.h"
#include "serve/loaded.h"

#define PS_NO_UNCERTAINTY (-1)

/* One rank that takes part; the first one is what the others are moved to. */
typedef struct ps_align_rank {
    const char *key, *label;
    const ps_loaded *loaded;
    const ps_comm_list *list;   /* for clocks only */
    ps_rank_info info;          /* machine: ranks of one number share a clock; -1: one of its own */
    ps_recorded_clock recorded; /* for clocks: what its recording says */
    /* Results. What is added to the rank's times, and by how much it may be wrong. */
    int64_t offset_ns, uncertainty_ns; /* PS_NO_UNCERTAINTY: not known */
    bool is_known;                     /* false: nothing tells; offset 0 */
} ps_align_rank;

/* By the starts of what they recorded first. */
void ps_align_starts(ps_align_rank *ranks, size_t n);

/* By the start of the first step that a rank shares with the first one. PS_NOMEM only. */
PS_MUST_USE ps_code ps_align_steps(ps_align_rank *ranks, size_t n, ps_err *err);

/* What a clock estimate stands on. */
typedef struct ps_align_evidence {
    size_t n_collectives, n_transfers; /* that bound a difference of clocks */
    size_t n_clocks;
    size_t n_recorded;     /* pairs of clocks that messages exchanged while recording tell of */
    size_t n_contradicted; /* pairs of clocks whose bounds exclude one another: left out */
} ps_align_evidence;

/* By communication: what one rank sent, another cannot have had before; no one leaves a collective before all have come to
 * it. The bounds give an interval for each pair of clocks (model/clock.h); inside of it the median difference of the ends of
 * collectives is taken, since they end nearly together. Where recordings say how far clocks lie apart (collector.clock) that narrows the
 * intervals, as long as they have something in common. PS_NOMEM only. */
PS_MUST_USE ps_code ps_align_clocks(ps_align_rank *ranks, size_t n, ps_align_evidence *evidence,
                                    ps_err *err);

#endif

/* Offsets that bring the ranks of a store together in time. */
#ifndef PS_SERVE_ALIGN_H
#define PS_SERVE_ALIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/skew.h"
#include "analyze/core/analysis.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/rank/loaded.h"

#define PS_NO_UNCERTAINTY (-1)

/* One rank that takes part; the first one is what the others are moved to. */
typedef struct ps_align_rank {
    const char *key, *label;
    const ps_loaded *loaded;
    const ps_comm_list *list; /* for clocks only, with what the recording says of its clock */
    ps_rank_info info;        /* machine: ranks of one number share a clock; -1: one of its own */
    /* Results. What is added to the rank's times, and by how much it may be wrong. */
    int64_t offset_ns, uncertainty_ns; /* PS_NO_UNCERTAINTY: not known */
    bool is_known;                     /* false: nothing tells; offset 0 */
} ps_align_rank;

/* By the starts of what they recorded first. */
void ps_align_starts(ps_align_rank *ranks, size_t n);

/* By the start of the first step that a rank shares with the first one. PS_NOMEM only. */
PS_MUST_USE ps_code ps_align_steps(ps_align_rank *ranks, size_t n, ps_err *err);

/* By the clocks of the job (analyze/comm/job_clock.h), as skew.h finds them. PS_NOMEM only. */
PS_MUST_USE ps_code ps_align_clocks(ps_align_rank *ranks, size_t n, ps_skew_evidence *evidence,
                                    ps_err *err);

#endif

/* Whether the clocks of a job's workers agree: a transfer does not end on one of its workers before it begins on the other. */
#ifndef PS_ANALYZE_WORKER_CLOCKS_H
#define PS_ANALYZE_WORKER_CLOCKS_H

#include <stdint.h>

#include "analyze/whatif/job_steps.h"

/* What a worker sends one way; [2 * n_workers], forward and then backward of each, zeroed. */
typedef struct ps_clock_doubt {
    uint32_t n, n_apart; /* transfers; those that no single clock lets happen */
    int64_t most_ns;     /* between an end and the other's begin, at most */
} ps_clock_doubt;

/* Of an op of a group: from the earliest end of the group to its latest start. */
void ps_clock_doubts_add(ps_clock_doubt *doubts, const ps_job_op *op, int64_t apart_ns);
/* js->clocks_apart: the two workers with the most between their clocks, where most of what one sends to the other tells so. Lists of
 * doubts stand one after another, and are joined in the first. */
void ps_clock_doubts_say(ps_clock_doubt *doubts, size_t n_lists, ps_job_steps *js);

#endif

/* The ops of one worker in one step, in the order of a step: computing in the order in which it ran, then kind by kind what
 * communicates. */
#ifndef PS_ANALYZE_WORKER_ROWS_H
#define PS_ANALYZE_WORKER_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/job_steps.h"
#include "model/worker_ops.h"

/* Lists of one step, one after another. */
typedef struct ps_step_lists {
    const ps_worker_ops *ops;
    size_t first, n;
    size_t n_ops; /* with names of model/worker_ops.h */
} ps_step_lists;

/* Those of the step from list `first` on. */
ps_step_lists ps_step_lists_from(const ps_worker_ops *ops, size_t first, int64_t step);

/* Room that is used again for the next worker; all zero at first. */
typedef struct ps_rows_room {
    const ps_worker_row **rows, **sorted;
    size_t cap_rows, cap_sorted;
} ps_rows_room;

void ps_rows_room_fini(ps_rows_room *room);

/* Arrays of lists->n_ops: what each op is, when it started, its length. False when memory is out. */
bool ps_worker_rows_put(const ps_step_lists *lists, uint32_t worker, ps_rows_room *room,
                        ps_job_op *ops, int64_t *start_ns, int64_t *length_ns);

#endif

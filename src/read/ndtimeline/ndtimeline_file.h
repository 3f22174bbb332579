/* A merged timeline, read once: its workers by the names of processes and threads, and their ops.
 *
 *   process_name "DP rank [1]"      thread_name "PP rank 0, TP rank 0, pp-comm"
 *
 * The names may stand behind all events, so that nothing is known of an op until the end. What was read stays as long as the
 * list of parts, and every worker is taken from it. */
#ifndef PS_READ_NDTIMELINE_FILE_H
#define PS_READ_NDTIMELINE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/err.h"
#include "base/fs.h"
#include "base/watch.h"
#include "model/worker_ops.h"
#include "read/ndtimeline/ndtimeline_lanes.h"

#define PS_NDT_NO_STEP INT64_MIN

/* From the beginning of a step to the last end of any worker. */
typedef struct ps_ndt_step {
    int64_t step, start_ns, end_ns;
} ps_ndt_step;

typedef struct ps_ndt_file {
    const ps_ndt_worker *workers; /* by pp, dp, tp; [n_workers] */
    size_t n_workers;
    int64_t n_dp, n_pp, n_tp;    /* one more than the highest number of each */
    const ps_worker_list *lists; /* by worker, step, thread */
    const char *const *names;    /* of ops */
    const uint8_t *op_of_name;   /* [n_names] ps_worker_op */
    size_t n_names;
    const ps_ndt_step *steps; /* by start; [n_steps] */
    size_t n_steps;
    bool steps_laid_out; /* the times between steps are made up */
    ps_diag *diag;       /* what is odd in the file */
    ps_file_id id;       /* which file this was */
} ps_ndt_file;

/* Reads the whole file into the arena. PS_SYNTAX when a worker has no data-parallel rank, two threads are one lane, or no thread
 * names a worker; PS_IO, PS_NOMEM. `watch` may be NULL. */
PS_MUST_USE ps_code ps_ndt_file_read(const char *path, size_t n_threads, ps_watch *watch,
                                     ps_arena *arena, const ps_ndt_file **out, ps_err *err);
/* As Megatron-LM numbers ranks: tensor-parallel ones first, then replicas, then stages. */
int64_t ps_ndt_rank(const ps_ndt_file *file, const ps_ndt_worker *worker);

#endif

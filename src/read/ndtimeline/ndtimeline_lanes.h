/* Which worker each thread of a merged timeline belongs to, by the names of processes and threads:
 *
 *   process_name "DP rank [1]"      thread_name "PP rank 0, TP rank 0, pp-comm"
 *
 * The names may stand behind all events, so that the file is read once for them. So are the steps: all workers run them
 * together. */
#ifndef PS_READ_NDTIMELINE_LANES_H
#define PS_READ_NDTIMELINE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

typedef enum ps_ndt_lane_kind {
    PS_NDT_COMPUTE,
    PS_NDT_PP_COMM,
    PS_NDT_TP_COMM,
    PS_NDT_DP_COMM,
    PS_NDT_MISC,
    PS_N_NDT_LANES
} ps_ndt_lane_kind;

typedef struct ps_ndt_lane {
    int64_t pid, tid;
    int64_t dp, pp, tp; /* of its worker */
    ps_ndt_lane_kind kind;
} ps_ndt_lane;

/* From the beginning of a step to the last end of any worker. */
typedef struct ps_ndt_step {
    int64_t step, start_ns, end_ns;
} ps_ndt_step;

typedef struct ps_ndt_lanes {
    const ps_ndt_lane *lanes; /* by worker (pp, dp, tp), then kind; [n] */
    size_t n;
    int64_t n_dp, n_pp, n_tp; /* one more than the highest number of each */
    const ps_ndt_step *steps; /* by start; [n_steps] */
    size_t n_steps;
    size_t n_unnamed; /* threads whose names say nothing of a worker */
} ps_ndt_lanes;

/* Reads the names of the whole file into the arena. PS_SYNTAX when a worker has no data-parallel rank, two threads are
 * one lane, or no thread names a worker; PS_IO, PS_NOMEM. */
PS_MUST_USE ps_code ps_ndt_lanes_read(const char *path, ps_arena *arena, const ps_ndt_lanes **out,
                                      ps_err *err);
/* The lane of a thread, or NULL. */
const ps_ndt_lane *ps_ndt_lane_find(const ps_ndt_lanes *lanes, int64_t pid, int64_t tid);
/* "compute", "pp-comm" ... */
const char *ps_ndt_lane_name(ps_ndt_lane_kind kind);
/* As Megatron-LM numbers ranks: tensor-parallel ones first, then replicas, then stages. */
int64_t ps_ndt_rank(const ps_ndt_lanes *lanes, const ps_ndt_lane *lane);

#endif

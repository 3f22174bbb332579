/* Writes the profile of a cluster that trained by a schedule, in the layout and the database schema of the Ascend
 * PyTorch profiler, so that tools (this one and others) can be tried and measured without a cluster:
 *
 *   DIR/node0_1000_20250109012610000_ascend_pt/
 *       profiler_info_0.json  profiler_metadata.json
 *       ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db
 *   DIR/node0_1001_...                                           one folder a rank
 *
 * The same options give the same bytes, with any number of threads. */
#ifndef PS_WRITE_ASCEND_PROFILE_H
#define PS_WRITE_ASCEND_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "schedule/schedule.h"
#include "schedule/sim.h"

#define PS_PROFILE_MAX_RANKS 4096
#define PS_PROFILE_MAX_FILLER 20000000
#define PS_PROFILE_MAX_JITTER_PCT 50
#define PS_PROFILE_MAX_LENGTHS_PCT 90
#define PS_PROFILE_MAX_SLOW_PER_MILLE 100000
#define PS_PROFILE_MIN_OP_NS 1000 /* much shorter ops could not be told apart with --jitter */

typedef struct ps_ascend_profile_opts {
    const ps_schedule *schedule;
    ps_schedule_params params;
    ps_sim_times times;
    int64_t n_steps; /* numbered from 1 */
    int32_t tp, cp,
        dp; /* one pipeline for each combination; global ranks count tp-cp-dp-pp, tp fastest */
    int64_t n_filler;     /* kernels per rank */
    int64_t n_drop_marks; /* marks per rank that are lost */
    int32_t jitter_pct;   /* each op takes 100 - j .. 100 + j percent of its time */
    int32_t
        slow_stage; /* its ops take slow_per_mille thousandths of their time; only with slow_per_mille > 0 */
    int64_t slow_per_mille;
    int32_t slow_rank; /* the same of a global rank; only with slow_rank_per_mille > 0 */
    int64_t slow_rank_per_mille;
    int32_t
        slow_link; /* global rank: between it and the next stage of its pipeline transfers take slow_link_ns more, both ways; only with slow_link_ns > 0 */
    int64_t slow_link_ns;
    int32_t lengths_pct; /* microbatches are 100 - l .. 100 + l percent as long, in all their ops */
    uint64_t seed;
    size_t n_threads;                 /* 0: one per processor */
    void (*rank_done)(void *context); /* called from any thread after each rank; may be NULL */
    void *context;
} ps_ascend_profile_opts;

typedef struct ps_ascend_profile_counts {
    int64_t n_ranks, n_marks, n_tasks,
        n_comm_ops; /* rows over all ranks; marks without those dropped */
} ps_ascend_profile_counts;

/* `dir` must not exist or be an empty directory (PS_USAGE otherwise; nothing of others is ever deleted). Options out of
 * range are PS_RANGE. When writing fails, or a signal comes, nothing of it stays. */
PS_MUST_USE ps_code ps_ascend_profile_write(const char *dir, const ps_ascend_profile_opts *opts,
                                            ps_ascend_profile_counts *counts, ps_err *err);

#endif

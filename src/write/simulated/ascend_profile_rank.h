/* Inside of the profile writer: what one rank of a simulated cluster did. ascend_profile.c makes a job and the times
 * of its pipelines, ascend_profile_rank.c turns them into the events of a rank, ascend_profile_db.c writes those. */
#ifndef PS_WRITE_ASCEND_PROFILE_RANK_H
#define PS_WRITE_ASCEND_PROFILE_RANK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/json_write.h"
#include "base/rng.h"
#include "write/simulated/ascend_profile.h"

/* A mark shows all of an op, or its first tenth (the output head), or the rest. */
typedef enum ps_mark_part { PS_PART_ALL, PS_PART_HEAD, PS_PART_REST } ps_mark_part;

typedef struct ps_mark_plan {
    uint32_t op; /* in the simulation plan */
    ps_mark_part part;
    uint32_t message; /* see ps_message_text */
} ps_mark_plan;

typedef struct ps_step_window {
    int64_t start_ns, end_ns; /* devices, over all pipelines; since the epoch */
} ps_step_window;

/* What all ranks have in common. */
typedef struct ps_profile_job {
    const ps_ascend_profile_opts *opts;
    const char *dir;
    const ps_sim_plan *plan;
    ps_step_window *steps; /* [n_steps] */
    int32_t n_pipelines;
    ps_step_graph *linked; /* with ops for what travels; NULL: all transfers take the same */
    /* [n_ops] who uses the result of an op's forward, of its backward, on another stage, or PS_NO_OP */
    uint32_t *forward_user, *backward_user;
    ps_mark_plan *marks; /* of one step, grouped by device */
    size_t *first_mark;  /* [n_stages + 1] */
} ps_profile_job;

/* Times of one pipeline, [step * n_ops + op], since the epoch. */
typedef struct ps_pipeline_times {
    int64_t *start_ns, *end_ns;
} ps_pipeline_times;

typedef struct ps_rank_id {
    int32_t rank, stage, pipeline;
    int32_t device, host;
    int64_t pid;
} ps_rank_id;

typedef struct ps_mark_row {
    int64_t start_ns, end_ns; /* on the device */
    uint32_t message;
    uint32_t number; /* among all marks of the rank, also those dropped */
} ps_mark_row;

/* One end of a transfer. Both ends finish together; a receive is posted as soon as the device could, and so
 * begins early. */
typedef struct ps_comm_row {
    int64_t start_ns, end_ns;
    int64_t transfer_ns; /* when data began to flow */
    int32_t peer;        /* stage */
    int32_t stream;      /* one for each peer and direction */
    bool is_send;
} ps_comm_row;

#define PS_TASKS_PER_COMM 3

typedef struct ps_comm_task {
    int64_t start_ns, end_ns;
    uint32_t comm;
    uint32_t part; /* 0 Notify_Wait, 1 Memcpy, 2 Notify_Record */
} ps_comm_task;

typedef struct ps_rank_events {
    ps_rank_id id;
    const ps_profile_job *job;
    const ps_pipeline_times *times;
    ps_mark_row *marks; /* by start */
    size_t n_marks;
    ps_comm_row *comms; /* by start */
    size_t n_comms;
    ps_comm_task *comm_tasks; /* by start, PS_TASKS_PER_COMM * n_comms */
} ps_rank_events;

/* Kernels come one after the other, in time order, and are made up as they are asked for. */
typedef struct ps_kernel {
    int64_t start_ns, end_ns;
    uint64_t random;
    bool backward;
} ps_kernel;

typedef struct ps_kernel_cursor {
    const ps_rank_events *events;
    uint64_t n_before;  /* kernels given out */
    uint64_t op, n_ops; /* op of the rank over all steps; how many there are */
    uint64_t first, n;  /* kernels of this op */
    int64_t op_start_ns, op_ns;
    bool backward;
} ps_kernel_cursor;

/* Random numbers of their own for each use, rank or pipeline, and step or kernel: what one draws changes nothing for
 * the others. */
typedef enum ps_rng_use { PS_RNG_JITTER, PS_RNG_DROP, PS_RNG_KERNEL, PS_RNG_LENGTHS } ps_rng_use;
ps_rng ps_profile_rng(uint64_t seed, ps_rng_use use, int32_t who, uint64_t number);

/* What a result takes from one stage to the other. */
int64_t ps_profile_p2p_ns(const ps_profile_job *job, int32_t pipeline, int32_t from, int32_t to);

/* Marks of a step for the job: job->marks and job->first_mark. */
ps_code ps_profile_plan_marks(ps_profile_job *job, ps_err *err);

/* How many different messages the schedule's marks have, and the text of one. */
uint32_t ps_message_count(const ps_profile_job *job);
void ps_message_text(const ps_profile_job *job, uint32_t message, char *out, size_t size);

/* Fills *out, which refers to job and times; release with ps_rank_events_fini, also after a failure. */
ps_code ps_rank_events_init(ps_rank_events *out, const ps_profile_job *job,
                            const ps_pipeline_times *times, ps_rank_id id, ps_err *err);
void ps_rank_events_fini(ps_rank_events *e);

ps_kernel_cursor ps_kernels_begin(const ps_rank_events *e);
bool ps_kernels_next(ps_kernel_cursor *c, ps_kernel *out); /* false at the end */

/* Groups a rank belongs to. */
typedef struct ps_rank_group {
    const char *kind;     /* "pp" */
    char name[64];        /* of the communicator, one per group of the cluster */
    int32_t n, own;       /* members, and which of them this rank is */
    int32_t base, stride; /* member i is global rank base + i * stride */
} ps_rank_group;

#define PS_MAX_GROUPS 4
/* The pp group first, then tp, cp and dp where they have more than one member. Returns how many. */
size_t ps_rank_groups(const ps_ascend_profile_opts *opts, ps_rank_id id,
                      ps_rank_group groups[PS_MAX_GROUPS]);

/* Which host a global rank runs on. */
int32_t ps_rank_host(int32_t rank);

/* What the profiler stores as metadata: JSON texts. */
void ps_put_distributed_args(const ps_ascend_profile_opts *opts, ps_rank_id id, ps_json *j);
void ps_put_group_info(const ps_ascend_profile_opts *opts, ps_rank_id id, ps_json *j);
void ps_put_pp_info(const ps_ascend_profile_opts *opts, ps_json *j);

/* Writes the database at `path` (which does not exist) and counts its rows. */
PS_MUST_USE ps_code ps_rank_db_write(const char *path, const ps_rank_events *e,
                                     ps_ascend_profile_counts *counts, ps_err *err);

#endif

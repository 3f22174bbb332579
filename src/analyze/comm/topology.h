/* Where a rank stands in its pipeline, and which schedule the job ran: from the metadata of any rank, with
 * the user's overrides on top. */
#ifndef PS_ANALYZE_TOPOLOGY_H
#define PS_ANALYZE_TOPOLOGY_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "base/archive.h"
#include "base/arena.h"
#include "base/diag.h"
#include "base/literal.h"
#include "model/clock.h"
#include "model/layout.h"

/* A communicator this rank belongs to. */
typedef struct ps_group_fact {
    const char *comm_name;       /* HCCL name, the key in parallel_group_info */
    const char *group_name;      /* what it is for: "pp", "dp", ... */
    const char *label;           /* what the program calls it: "dp", "default_pg"; "" unknown */
    int64_t group_rank;          /* position of this rank in it, -1 unknown */
    int64_t n_ranks, first_rank; /* of global_ranks; -1 unknown */
    int64_t stride;              /* from each of them to the next; 0 unknown, or not the same */
    ps_int_runs
        ranks; /* global, in the order of their places, -1 where one is no number; empty: not said */
} ps_group_fact;

/* What one rank's metadata says; 0 or NULL: not said. Text lives in the arena it was read into. */
typedef struct ps_rank_facts {
    const char *pp_type;
    int64_t n_microbatches;
    ps_layout_dims sizes;
    int64_t world_size; /* also from the launcher, where a recorder noted it */
    ps_group_fact *groups;
    size_t n_groups;
    ps_recorded_clock clock;
} ps_rank_facts;

/* Reads pp_info, distributed_args and parallel_group_info, or the distributedInfo of a PyTorch trace, whose group for
 * pipelines is known by its description; what is malformed is counted and left out. */
PS_MUST_USE ps_code ps_rank_facts_read(const ps_trace *trace, ps_arena *arena, ps_rank_facts *out,
                                       ps_diag *diag, ps_err *err);
/* A copy in another arena. PS_NOMEM only. */
PS_MUST_USE ps_code ps_rank_facts_copy(const ps_rank_facts *facts, ps_arena *arena,
                                       ps_rank_facts *out, ps_err *err);

/* The group whose group_name is "pp", or NULL. */
const ps_group_fact *ps_rank_facts_pp(const ps_rank_facts *facts);
/* The same where it is of this rank (-1: unknown), and not of another one: some metadata lists the groups of all. */
const ps_group_fact *ps_rank_facts_own_pp(const ps_rank_facts *facts, int64_t rank);

/* The job as all ranks together tell it. */
typedef struct ps_job {
    const char *pp_type; /* "" unknown; borrowed from the facts or options */
    int64_t n_stages;    /* 0 unknown */
    int64_t n_microbatches;
    int64_t tp, cp, dp, ep, moe_tp, world_size; /* 0 unknown */
    bool sizes_overridden;
    /* As given, else the one of the frameworks' that lists ranks as the pipelines of the metadata do. */
    ps_layout layout;
    /* Why sizes that the user gave cannot be: what the job or the capture is too small for, or not a multiple of; "" they can. */
    char contradiction[160];
    bool alone; /* one rank, and nothing says that there are others */
} ps_job;

/* Joins the facts of all ranks (entries may be NULL); the first rank that says something wins, others that
 * contradict are counted on their own diag. Options override. */
ps_job ps_job_from(const ps_rank_facts *const *facts, ps_diag *const *diags, size_t n,
                   const ps_analysis_opts *opts);
/* PS_USAGE where the sizes that the user gave contradict the job. */
PS_MUST_USE ps_code ps_job_check(const ps_job *job, ps_err *err);

typedef struct ps_place {
    int32_t stage, pipeline; /* -1 unknown */
} ps_place;

/* By the sizes of the job alone (model/layout.h). */
ps_layout_place ps_job_locate(const ps_job *job, int64_t rank);

/* Sizes of the job with dp, where only the size of the job tells it; 0 unknown. */
ps_layout_dims ps_job_dims(const ps_job *job);

/* Stage by, in this order: sizes the user gave; the rank's "pp" group; sizes in the metadata (ps_job_locate()). A process on its own without a number, or with number 0, is a pipeline of one
 * stage. */
ps_place ps_job_place(const ps_job *job, int64_t rank, const ps_rank_facts *facts);

/* Texts in the arena in use. */
void ps_rank_facts_archive(ps_archive *a, void *facts);
void ps_job_archive(ps_archive *a, void *job);
void ps_place_archive(ps_archive *a, void *place);

#endif

/* What a crew is told of a job: the analyses, their options, and how to find the ranks. */
#ifndef PS_RUN_CREW_JOB_H
#define PS_RUN_CREW_JOB_H

#include "run/run_session.h"

typedef struct ps_crew_job {
    bool is_inventory; /* else maps */
    /* The ranks: who sees others than the program did has nothing to give. Each worker is told them, so that one alone looks through the
     * folder; but for those of files with several ranks, of which readers know more than travels: each worker finds them again. */
    const char *root, *path, *reader, *rank_from;
    bool databases_only;
    ps_cluster_rank *found; /* [n_found], or none */
    size_t n_found;
    uint64_t found_hash;
    uint32_t *ranks; /* of the run, in what was found */
    size_t n_ranks;
    const char **analyses; /* their names */
    size_t n_analyses;
    /* As in ps_run_opts. */
    const char *out_dir, *local_dir, *partials_dir, *cache_dir;
    int32_t export_type;
    uint64_t n_threads;
    int64_t cache_max_bytes, memory_bytes;
    bool has_baseline;
    uint64_t n_makers;
    ps_analysis_opts opts;
    const char *comm_rules; /* the file with rules of the user, or NULL */
    uint64_t comm_rules_hash;
    ps_arena arena; /* of what was read */
} ps_crew_job;

/* Its ps_archive_visit. */
void ps_crew_job_archive(ps_archive *a, void *job);
/* A job of a session, or (NULL) of inventories of all ranks of a cluster. Texts and options are lent. False when memory is out. It is ended
 * in any case. */
bool ps_crew_job_of(ps_crew_job *job, const ps_cluster *cluster, const ps_session *s);
void ps_crew_job_fini(ps_crew_job *job);

/* The ranks of the job, whose texts are the job's. NULL with `err` when those that are seen from here are not those that the program found. */
ps_cluster *ps_crew_job_find(const ps_crew_job *job, ps_err *err);

#endif

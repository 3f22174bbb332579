/* Memory as a budget: what a rank takes while it is read, and how many are read at once. */
#ifndef PS_RUN_RUN_MEMORY_H
#define PS_RUN_RUN_MEMORY_H

#include <pthread.h>
#include <stdint.h>

#include "base/err.h"
#include "run/cluster.h"

/* [n_ranks of the cluster] the most that reading each rank and looking at it takes, in bytes, from the size of its file, its format and
 * which columns are wanted (ps_needs): measured, docs/scale.md has the table. A file that holds several ranks is shared out to them. NULL
 * when memory is out; the caller frees it with ps_free(). */
int64_t *ps_ranks_bytes(const ps_cluster *cluster, uint32_t needs);

/* Gives out the budget. Any thread may ask; one that asks waits until others have given back enough. */
typedef struct ps_budget {
    int64_t budget_bytes;
    bool is_given;        /* by the user; else what the machine leaves */
    int64_t in_use_bytes; /* of those in flight, as estimated */
    size_t n_in_flight, n_most_in_flight;
    bool has_lock, has_cond;
    pthread_mutex_t lock;
    pthread_cond_t freed;
} ps_budget;

/* `budget_bytes` 0: what this process holds and what the machine or its control group leave. PS_NOMEM. End with ps_budget_fini() in any case. */
PS_MUST_USE ps_code ps_budget_init(ps_budget *m, int64_t budget_bytes, ps_err *err);
void ps_budget_fini(ps_budget *m);

/* PS_RANGE, with the figures, when a rank is larger than the budget. */
PS_MUST_USE ps_code ps_budget_check(const ps_budget *m, const ps_cluster_rank *rank, int64_t bytes,
                                    ps_err *err);
/* Waits until the rank fits beside those in flight and what the process holds, or until none is in flight; then it is. */
void ps_budget_take(ps_budget *m, int64_t bytes);
void ps_budget_give(ps_budget *m, int64_t bytes);

#endif

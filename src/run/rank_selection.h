/* Which ranks of a cluster are looked at: --rank_list of the commands, rank_list of the server. */
#ifndef PS_RUN_RANK_SELECTION_H
#define PS_RUN_RANK_SELECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "run/cluster.h"

typedef struct ps_rank_selection {
    const ps_cluster_rank **ranks; /* of the cluster, in its order, each once */
    size_t n;
    int64_t *absent; /* numbers that were asked for and no rank has, as they were given */
    size_t n_absent;
} ps_rank_selection;

/* Whether a list stands for all ranks: NULL, or "all". */
bool ps_is_all_ranks(const char *list);

/* `list`: all, or ranks as in 0,1,5; `option` is what it is called in errors. PS_USAGE: a word of it is no number. End with
 * ps_rank_selection_fini() in any case. */
PS_MUST_USE ps_code ps_rank_selection_init(ps_rank_selection *s, const ps_cluster *cluster,
                                           const char *list, const char *option, ps_err *err);
void ps_rank_selection_fini(ps_rank_selection *s);

/* PS_USAGE where a rank that was asked for is not there: says which there are. */
PS_MUST_USE ps_code ps_rank_selection_check(const ps_rank_selection *s, const ps_cluster *cluster,
                                            ps_err *err);

#endif

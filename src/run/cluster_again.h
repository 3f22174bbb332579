/* Recordings that tell no rank: which are the same process again, or the same program run again. For cluster.c only. */
#ifndef PS_RUN_CLUSTER_AGAIN_H
#define PS_RUN_CLUSTER_AGAIN_H

#include "run/cluster.h"

/* Keeps the newest of those that must be one rank, takes the others out of c->ranks, counts them, and says in
 * c->left_out which were read and left. Before ranks are numbered. PS_NOMEM only. */
PS_MUST_USE ps_code ps_cluster_drop_again(ps_cluster *c);

#endif

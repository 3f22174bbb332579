/* Who has traces of a query in memory already. */
#ifndef PS_QUERY_LENDER_H
#define PS_QUERY_LENDER_H

#include "model/trace.h"
#include "run/cluster.h"

/* Called from several threads. What is lent is not read again. */
typedef struct ps_sql_lender {
    /* The trace of a rank of the cluster, read with PS_VIEW_NEEDS, until `take_back(*loan)`; NULL: it is to be read. */
    const ps_trace *(*lend)(void *context, const ps_cluster_rank *rank, void **loan);
    void (*take_back)(void *context, void *loan);
    void *context;
} ps_sql_lender;

#endif

/* What views of all ranks (analyze/views/job_view.h) take of a cluster that is served. */
#ifndef PS_SERVE_CLUSTER_VIEWS_H
#define PS_SERVE_CLUSTER_VIEWS_H

#include "analyze/views/job_view.h"
#include "serve/cluster/modes.h"
#include "serve/http/route.h"

/* The analyses of a set, into an ask whose options are there. */
void ps_view_set_analyses(const ps_request *q, ps_view_set set, ps_modes_ask *ask);

typedef struct ps_cluster_source {
    const ps_request *q;
    size_t cluster;
    const ps_modes *modes;
} ps_cluster_source;

/* Borrows `of`. */
ps_job_source ps_cluster_source_of(const ps_cluster_source *of);

#endif

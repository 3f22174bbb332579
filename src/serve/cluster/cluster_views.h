/* Views of all ranks of a cluster that is served (views of one rank: analyze/views/view.h): tables of analyses, and a few that are
 * made of those. Listed in cluster_views.c. */
#ifndef PS_SERVE_CLUSTER_VIEWS_H
#define PS_SERVE_CLUSTER_VIEWS_H

#include "analyze/views/view.h"
#include "base/err.h"
#include "serve/cluster/modes.h"
#include "serve/http/route.h"

/* Analyses that are run in one read. */
typedef enum ps_view_set {
    PS_SET_STEPS,         /* time of steps */
    PS_SET_COMMUNICATION, /* operators, links, groups */
    PS_SET_LATE,          /* links and ranks slower than others */
    PS_SET_REPORT,
    PS_N_SETS
} ps_view_set;

typedef struct ps_cluster_view {
    const char *name, *title;
    ps_view_tab tab;
    ps_view_set set;
    const char *table;  /* of the set, shown as it is; or NULL */
    const char *params; /* "step" or "" */
    /* A table that the caller frees. `step` is as it was asked for, "all" else. */
    ps_table *(*make)(const ps_request *q, size_t cluster, const ps_modes *m, const char *step,
                      ps_err *err);
} ps_cluster_view;

/* All, ended by one without a name. */
extern const ps_cluster_view ps_cluster_views[];
const ps_cluster_view *ps_cluster_view_find(const char *name); /* NULL: none of that name */

/* The analyses of a set, into an ask whose options are there. */
void ps_view_set_analyses(const ps_request *q, ps_view_set set, ps_modes_ask *ask);

/* The key of the only rank of that number in the cluster, "" when there is none or several. */
const char *ps_cluster_rank_key(const ps_request *q, size_t cluster, int64_t rank);

#endif

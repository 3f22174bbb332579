/* What a step graph is made of, for the files that run it. */
#ifndef PS_SCHEDULE_STEP_GRAPH_PRIVATE_H
#define PS_SCHEDULE_STEP_GRAPH_PRIVATE_H

#include "schedule/step_graph.h"

typedef struct wait_pair {
    uint32_t op, on;
    bool is_far;
} wait_pair;

struct ps_step_graph {
    uint32_t n_ops;
    wait_pair *pairs; /* until sealed */
    size_t n_pairs, cap_pairs;
    uint32_t *group;         /* [n_ops] */
    uint32_t *group_members; /* those of a group one after another */
    size_t n_members, cap_members;
    uint32_t *group_first; /* [n_groups + 1] */
    size_t n_groups, cap_groups;
    bool failed;
    /* Sealed. */
    uint32_t *first_wait; /* [n_ops + 1] */
    uint32_t *waits;
    bool *is_far;
    uint32_t *sequence; /* [n_ops]: a group's members stand together */
};

#endif

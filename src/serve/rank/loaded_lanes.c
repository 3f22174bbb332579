#include "serve/rank/loaded_lanes.h"

#include <string.h>

#include "base/alloc.h"

typedef struct tree {
    const ps_loaded *l;
    ps_shown_lane *list;
    size_t n;
    uint32_t *place[PS_N_LAYERS]; /* [n_nodes of the layer] in the list */
    uint32_t *
        joins; /* [n_nodes of the derived layer] node of the profile that it is, or stands below, PS_NONE */
    bool *is_same; /* [the same] it is that node */
} tree;

static const ps_lanes *lanes_of(const tree *x, int layer) {
    return ps_loaded_layer(x->l, layer)->lanes;
}

/* --- where derived lanes go ------------------------------------------------------------------------------------------ */

static uint32_t node_with_id(const ps_lanes *lanes, const char *id) {
    for (uint32_t i = 0; i < lanes->n_nodes; i++) {
        if (strcmp(lanes->nodes[i].id, id) == 0) {
            return i;
        }
    }
    return PS_NONE;
}

/* The only top group of a device, PS_NONE when there are several. */
static uint32_t only_top(const ps_lanes *lanes, int64_t device) {
    uint32_t found = PS_NONE;
    for (uint32_t i = 0; i < lanes->n_nodes; i++) {
        if (lanes->nodes[i].parent == PS_NONE && lanes->nodes[i].device == device) {
            if (found != PS_NONE) {
                return PS_NONE;
            }
            found = i;
        }
    }
    return found;
}

static void join_lane_node(tree *x) {
    const ps_lanes *derived = lanes_of(x, PS_LAYER_DERIVED);
    const ps_lanes *profile = lanes_of(x, PS_LAYER_PROFILE);
    for (uint32_t i = 0; i < derived->n_nodes; i++) {
        const ps_lane_node *node = &derived->nodes[i];
        bool is_group = node->lane == PS_NONE;
        x->joins[i] = is_group ? node_with_id(profile, node->id) : PS_NONE;
        x->is_same[i] = x->joins[i] != PS_NONE;
        if (x->joins[i] == PS_NONE && node->parent == PS_NONE) {
            x->joins[i] = only_top(profile, node->device); /* a process of the file, as "GPU 0" */
            x->is_same[i] = x->joins[i] != PS_NONE;
        }
        if (x->joins[i] == PS_NONE && node->parent != PS_NONE) {
            x->joins[i] = x->is_same[node->parent] ? x->joins[node->parent] : PS_NONE;
        }
    }
}

/* --- the list -------------------------------------------------------------------------------------------------------- */

/* Adds a derived node with all below it. */
static void add_derived(tree *x, uint32_t node, uint32_t parent) {
    const ps_lanes *derived = lanes_of(x, PS_LAYER_DERIVED);
    uint32_t at = (uint32_t)x->n++;
    x->list[at] =
        (ps_shown_lane){ps_loaded_layer(x->l, PS_LAYER_DERIVED), &derived->nodes[node], parent};
    x->place[PS_LAYER_DERIVED][node] = at;
    for (uint32_t i = node + 1; i < derived->n_nodes; i++) {
        if (derived->nodes[i].parent == node) {
            add_derived(x, i, at);
        }
    }
}

/* Counters stand last in a device: derived groups come before them. */
static bool is_counters(const ps_lanes *lanes, uint32_t node) {
    while (node < lanes->n_nodes && lanes->nodes[node].lane == PS_NONE) {
        node++; /* the first lane below a group comes right after the groups down to it */
    }
    return node < lanes->n_nodes && lanes->nodes[node].kind == PS_NODE_COUNTER;
}

/* What of the derived tree joins a node of the profile. */
static void add_lane_node_joined(tree *x, uint32_t node) {
    const ps_lanes *derived = lanes_of(x, PS_LAYER_DERIVED);
    for (uint32_t i = 0; i < derived->n_nodes; i++) {
        if (x->joins[i] == node && !x->is_same[i]) {
            add_derived(x, i, x->place[PS_LAYER_PROFILE][node]);
            x->joins[i] = PS_NONE;
        }
    }
}

static uint32_t next_beside(const ps_lanes *lanes, uint32_t node) {
    uint32_t at = node + 1;
    while (at < lanes->n_nodes && lanes->nodes[at].parent != PS_NONE &&
           lanes->nodes[at].parent >= node) {
        at++;
    }
    return at;
}

/* Adds a node of the profile with all below it, and what joins it before its counters. */
static void add_profile(tree *x, uint32_t node, uint32_t parent) {
    const ps_lanes *profile = lanes_of(x, PS_LAYER_PROFILE);
    uint32_t at = (uint32_t)x->n++;
    x->list[at] =
        (ps_shown_lane){ps_loaded_layer(x->l, PS_LAYER_PROFILE), &profile->nodes[node], parent};
    x->place[PS_LAYER_PROFILE][node] = at;
    uint32_t end = next_beside(profile, node);
    for (uint32_t i = node + 1; i < end; i = next_beside(profile, i)) {
        if (is_counters(profile, i)) {
            add_lane_node_joined(x, node);
        }
        add_profile(x, i, at);
    }
    add_lane_node_joined(x, node);
}

/* Derived groups that join nothing: without a parent, or below one that the profile has no place for. */
static void add_rest(tree *x, int64_t device) {
    const ps_lanes *derived = lanes_of(x, PS_LAYER_DERIVED);
    for (uint32_t i = 0; i < derived->n_nodes; i++) {
        const ps_lane_node *node = &derived->nodes[i];
        bool is_second = node->parent != PS_NONE && derived->nodes[node->parent].parent == PS_NONE;
        bool is_listed = x->is_same[i] || x->place[PS_LAYER_DERIVED][i] != PS_NONE;
        if (is_second && node->device == device && !is_listed) {
            add_derived(x, i, PS_NONE);
        }
    }
}

static void list_all(tree *x) {
    const ps_lanes *profile = lanes_of(x, PS_LAYER_PROFILE);
    const ps_lanes *derived = lanes_of(x, PS_LAYER_DERIVED);
    join_lane_node(x);
    for (uint32_t i = 0; i < profile->n_nodes; i = next_beside(profile, i)) {
        add_profile(x, i, PS_NONE);
    }
    for (uint32_t i = 0; i < derived->n_nodes; i++) {
        if (derived->nodes[i].parent == PS_NONE) {
            add_rest(x, derived->nodes[i].device);
        }
    }
}

/* --- the tree -------------------------------------------------------------------------------------------------------- */

static bool list_tree(tree *x) {
    size_t n[PS_N_LAYERS];
    for (int i = 0; i < PS_N_LAYERS; i++) {
        n[i] = lanes_of(x, i)->n_nodes;
        x->place[i] = ps_calloc(n[i] + 1, sizeof *x->place[i]);
        for (size_t k = 0; x->place[i] != NULL && k < n[i]; k++) {
            x->place[i][k] = PS_NONE;
        }
    }
    x->list = ps_calloc(n[PS_LAYER_PROFILE] + n[PS_LAYER_DERIVED] + 1, sizeof *x->list);
    x->joins = ps_calloc(n[PS_LAYER_DERIVED] + 1, sizeof *x->joins);
    x->is_same = ps_calloc(n[PS_LAYER_DERIVED] + 1, sizeof *x->is_same);
    bool ok = x->list != NULL && x->joins != NULL && x->is_same != NULL &&
              x->place[PS_LAYER_PROFILE] != NULL && x->place[PS_LAYER_DERIVED] != NULL;
    if (ok) {
        list_all(x);
    }
    return ok;
}

ps_code ps_shown_lanes_make(const ps_loaded *l, ps_shown_lanes *out, ps_err *err) {
    tree x = {.l = l};
    bool ok = list_tree(&x);
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_free(x.place[i]);
    }
    ps_free(x.joins);
    ps_free(x.is_same);
    *out = (ps_shown_lanes){x.list, x.n};
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_shown_lanes_fini(ps_shown_lanes *s) {
    ps_free(s->at);
    *s = (ps_shown_lanes){0};
}

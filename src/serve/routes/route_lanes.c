/* GET /api/lanes: the tree of a rank. Lanes that pipescope derives stand where the profile's own would: in the group of
 * their id where the profile has it, else below the one top group of their device, else behind what is known of the device. */
#include <string.h>

#include "base/alloc.h"
#include "base/order.h"
#include "serve/http/route.h"
#include "serve/rank/loaded.h"

/* A node of the tree as it is shown. */
typedef struct shown {
    const ps_layer *layer;
    const ps_lane_node *node;
    uint32_t parent; /* place in the list, PS_NONE */
} shown;

typedef struct tree {
    const ps_loaded *l;
    shown *list;
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
    x->list[at] = (shown){ps_loaded_layer(x->l, PS_LAYER_DERIVED), &derived->nodes[node], parent};
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
    x->list[at] = (shown){ps_loaded_layer(x->l, PS_LAYER_PROFILE), &profile->nodes[node], parent};
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
        if (is_second && node->device == device && x->place[PS_LAYER_DERIVED][i] == PS_NONE) {
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

/* --- the reply ------------------------------------------------------------------------------------------------------- */

/* First and last time of a counter, how many values it has, and whether all of them are the same. */
static uint32_t counter_span(const ps_trace *t, uint32_t track, int64_t *start_ns, int64_t *end_ns,
                             bool *is_idle) {
    const ps_counters *c = ps_trace_counters(t);
    /* sorted by track */
    PS_PLACE(uint32_t, low, 0, c->n, i, c->track[i] < track);
    uint32_t end = low;
    *is_idle = true;
    while (end < c->n && c->track[end] == track) {
        *is_idle = *is_idle && c->value[end] == c->value[low];
        end++;
    }
    *start_ns = low < end ? c->time_ns[low] : 0;
    *end_ns = low < end ? c->time_ns[end - 1] : 0;
    return end - low;
}

static void put_node(ps_json *j, const shown *s) {
    const ps_lane_node *node = s->node;
    const ps_layer *y = s->layer;
    int64_t start_ns = 0;
    int64_t end_ns = 0;
    uint32_t n = 0;
    uint32_t rows = 0;
    bool is_idle = false;
    if (node->kind == PS_NODE_COUNTER) {
        n = counter_span(y->trace, node->track, &start_ns, &end_ns, &is_idle);
        rows = 1;
    } else if (node->lane != PS_NONE) {
        n = ps_lod_n_slices(y->lod, node->lane);
        rows = ps_lod_n_rows(y->lod, node->lane);
        (void)ps_lod_span(y->lod, node->lane, &start_ns, &end_ns);
    }
    ps_json_object(j);
    ps_json_key_str(j, "id", node->id);
    ps_json_key_int(j, "parent", s->parent == PS_NONE ? -1 : (int64_t)s->parent);
    ps_json_key_str(j, "name", node->name);
    ps_json_key_str(j, "kind", ps_node_kind_name(node->kind));
    if (node->kind == PS_NODE_OVERLAP) {
        uint8_t look = ps_overlap_look(node->name);
        if (look != PS_LOOK_NONE) {
            ps_json_key_uint(j, "look", look);
        }
    }
    ps_json_key_int(j, "lane", node->lane == PS_NONE ? -1 : (int64_t)node->lane + y->first_lane);
    ps_json_key_uint(j, "rows", rows);
    ps_json_key_uint(j, "slices", n);
    ps_json_key_int(j, "device", node->device);
    ps_json_key_str(j, "unit", node->unit);
    ps_json_key_int(j, "start", start_ns);
    ps_json_key_int(j, "end", end_ns);
    if (is_idle) {
        ps_json_key_bool(j, "idle", true);
    }
    ps_json_close(j);
}

static bool make_tree(tree *x) {
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

static ps_code build_rows(const ps_loaded *l, ps_err *err) {
    ps_code code = PS_OK;
    for (int i = 0; code == PS_OK && i < PS_N_LAYERS; i++) {
        code = ps_lod_build_all(ps_loaded_layer(l, i)->lod, 0, err);
    }
    return code;
}

static void answer_lane_node(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    if (!ps_ask_rank(q, r, &l)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    tree x = {.l = l};
    if (build_rows(l, &err) != PS_OK) {
        ps_reply_err(r, &err);
    } else if (!make_tree(&x)) {
        ps_reply_fail(r, 507, "out of memory");
    } else {
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_array(&j, "nodes");
        for (size_t i = 0; i < x.n; i++) {
            put_node(&j, &x.list[i]);
        }
        ps_json_close(&j);
        ps_json_close(&j);
        r->is_immutable = true;
    }
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_free(x.place[i]);
    }
    ps_free(x.list);
    ps_free(x.joins);
    ps_free(x.is_same);
    ps_loaded_release(l);
}

const ps_route ps_route_lanes = {
    .path = "/api/lanes", .method = "GET", .is_slow = true, .answer = answer_lane_node};

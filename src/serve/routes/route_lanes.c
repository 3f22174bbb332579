/* GET /api/lanes: the tree of a rank. */
#include "base/order.h"
#include "serve/http/route.h"
#include "serve/rank/loaded.h"
#include "serve/rank/loaded_lanes.h"

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

static void put_node(ps_json *j, const ps_shown_lane *s, bool is_derived) {
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
    if (is_derived && node->lane != PS_NONE) {
        ps_json_key_bool(j, "derived", true);
    }
    ps_json_close(j);
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
    const ps_shown_lanes *x = build_rows(l, &err) == PS_OK ? ps_loaded_shown_lanes(l, &err) : NULL;
    if (x == NULL) {
        ps_reply_err(r, &err);
    } else {
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_array(&j, "nodes");
        for (size_t i = 0; i < x->n; i++) {
            put_node(&j, &x->at[i], x->at[i].layer == ps_loaded_layer(l, PS_LAYER_DERIVED));
        }
        ps_json_close(&j);
        ps_json_close(&j);
        r->is_immutable = true;
    }
    ps_loaded_release(l);
}

const ps_route ps_route_lanes = {
    .path = "/api/lanes", .method = "GET", .is_slow = true, .answer = answer_lane_node};

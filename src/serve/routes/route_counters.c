/* GET /api/counters: what is drawn of counters in a tile. The form of the reply stands in docs/serve-api.md. */
#include <string.h>

#include "model/counter_lod.h"
#include "serve/rank/cache.h"
#include "serve/select/tile_ask.h"

enum { MAGIC = 0x31435350, POINT_BYTES = 3 * 8 + 4 };

static void free_index(void *value) {
    ps_counter_lod_free(value);
}

static ps_code make_index(void *context, ps_cached *out, ps_err *err) {
    const ps_layer *layer = context;
    ps_counter_lod *lod = ps_counter_lod_new(ps_trace_counters(layer->trace), err);
    if (lod == NULL) {
        return PS_NOMEM;
    }
    *out = (ps_cached){.value = lod, .bytes = ps_counter_lod_bytes(lod), .free_value = free_index};
    return PS_OK;
}

/* The index of a layer's counters, kept under the rank's key. */
static ps_code index_of(const ps_request *q, const ps_layer *layer, bool is_derived,
                        ps_counter_lod **out, ps_err *err) {
    ps_buf key = {0};
    ps_buf_addf(&key, "counter_lod %d ", is_derived);
    ps_buf_add_str(&key, ps_param_text(q, "rank"));
    void *value = NULL;
    ps_code code = ps_buf_ok(&key) ? ps_cache_get(q->cache, ps_buf_str(&key), make_index,
                                                  (void *)(uintptr_t)layer, q->watch, &value, err)
                                   : ps_fail_nomem(err);
    ps_buf_fini(&key);
    *out = value;
    return code;
}

/* Nothing of a lane that is no counter. */
static ps_code add_counters_lane(const ps_tile_ask *ask, uint32_t lane_no,
                                 ps_counter_lod *const index[], ps_counter_points *points,
                                 ps_err *err) {
    const ps_layer *layer = NULL;
    uint32_t lane = 0;
    if (!ps_loaded_lane(ask->loaded, lane_no, &layer, &lane) || lane >= layer->lanes->n_lanes) {
        return PS_OK;
    }
    const ps_lane_node *node = &layer->lanes->nodes[layer->lanes->node_of_lane[lane]];
    if (node->kind != PS_NODE_COUNTER) {
        return PS_OK;
    }
    bool is_derived = layer == ps_loaded_layer(ask->loaded, PS_LAYER_DERIVED);
    return ps_counter_lod_tile(index[is_derived], ps_trace_counters(layer->trace), node->track,
                               ask->level, ask->tile, points, err);
}

static void fill_counters(ps_reply *r, const ps_tile_ask *ask, const ps_counter_points *points,
                          const size_t *ends) {
    size_t n = points->n;
    char *at = ps_tile_body(r, ask, MAGIC, n, n * POINT_BYTES, 8);
    if (at == NULL) {
        return;
    }
    double *last = (double *)(void *)at;
    double *least = last + n;
    double *most = least + n;
    int32_t *bucket = (int32_t *)(void *)(most + n);
    for (size_t i = 0; i < n; i++) {
        last[i] = points->at[i].last;
        least[i] = points->at[i].least;
        most[i] = points->at[i].most;
        bucket[i] = points->at[i].bucket;
    }
    uint32_t *pairs = (uint32_t *)(void *)r->body.data + 4;
    for (size_t k = 0; k < ask->n_lanes; k++) {
        pairs[2 * k + 1] = (uint32_t)(ends[k] - (k > 0 ? ends[k - 1] : 0));
    }
}

static void answer_counters(const ps_request *q, ps_reply *r) {
    ps_tile_ask ask;
    if (!ps_ask_tile(q, r, &ask)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    ps_counter_lod *index[PS_N_LAYERS] = {NULL};
    ps_counter_points points = {0};
    size_t *ends = ps_arena_alloc(&r->arena, ask.n_lanes * sizeof *ends);
    ps_code code = ends != NULL ? PS_OK : ps_fail_nomem(&err);
    for (int i = 0; code == PS_OK && i < PS_N_LAYERS; i++) {
        code = index_of(q, ps_loaded_layer(ask.loaded, i), i == PS_LAYER_DERIVED, &index[i], &err);
    }
    for (size_t k = 0; code == PS_OK && k < ask.n_lanes; k++) {
        code = add_counters_lane(&ask, ask.lanes[k], index, &points, &err);
        ends[k] = points.n;
    }
    if (code == PS_OK) {
        fill_counters(r, &ask, &points, ends);
    } else {
        ps_reply_err(r, &err);
    }
    ps_counter_points_fini(&points);
    for (int i = 0; i < PS_N_LAYERS; i++) {
        ps_cache_release(q->cache, index[i]);
    }
    ps_loaded_release(ask.loaded);
}

const ps_route ps_route_counters = {.path = "/api/counters",
                                    .method = "GET",
                                    .is_large = ps_asks_many_lanes,
                                    .answer = answer_counters};

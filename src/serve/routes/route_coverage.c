/* GET /api/coverage: how busy each bucket of a tile is over lanes, 1024 bytes. */
#include <string.h>

#include "serve/select/tile_ask.h"

/* The lanes of one layer: busiest of them and of what is there. */
static ps_code cover_coverage(const ps_tile_ask *ask, const ps_layer *layer, uint32_t *lanes,
                              uint8_t sum[PS_LOD_TILE], ps_err *err) {
    size_t n = 0;
    for (size_t i = 0; i < ask->n_lanes; i++) {
        const ps_layer *of = NULL;
        uint32_t lane = 0;
        if (ps_loaded_lane(ask->loaded, ask->lanes[i], &of, &lane) && of == layer) {
            lanes[n++] = lane;
        }
    }
    uint8_t out[PS_LOD_TILE];
    ps_code code =
        n > 0 ? ps_lod_coverage(layer->lod, lanes, n, ask->level, ask->tile, out, err) : PS_OK;
    for (size_t b = 0; code == PS_OK && n > 0 && b < PS_LOD_TILE; b++) {
        sum[b] = out[b] > sum[b] ? out[b] : sum[b];
    }
    return code;
}

static void answer_coverage(const ps_request *q, ps_reply *r) {
    ps_tile_ask ask;
    if (!ps_ask_tile(q, r, &ask)) {
        return;
    }
    ps_err err = PS_ERR_INIT;
    uint8_t sum[PS_LOD_TILE] = {0};
    uint32_t *lanes = ps_arena_alloc(&r->arena, ask.n_lanes * sizeof *lanes);
    ps_code code = lanes != NULL ? PS_OK : ps_fail_nomem(&err);
    for (int i = 0; code == PS_OK && i < PS_N_LAYERS; i++) {
        code = cover_coverage(&ask, ps_loaded_layer(ask.loaded, i), lanes, sum, &err);
    }
    ps_loaded_release(ask.loaded);
    if (code != PS_OK) {
        ps_reply_err(r, &err);
        return;
    }
    ps_buf_add(&r->body, sum, sizeof sum);
}

const ps_route ps_route_coverage = {.path = "/api/coverage",
                                    .method = "GET",
                                    .is_large = ps_asks_many_lanes,
                                    .answer = answer_coverage};

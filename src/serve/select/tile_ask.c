#include "serve/select/tile_ask.h"

#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "tiles are written as they lie in memory, which must be little endian"
#endif

uint32_t ps_lanes_end(const ps_loaded *l) {
    const ps_layer *profile = ps_loaded_layer(l, PS_LAYER_PROFILE);
    return ps_loaded_n_lanes(l) + ps_lod_n_lanes(profile->lod) - profile->lanes->n_lanes;
}

bool ps_ask_lanes(const ps_request *q, ps_reply *r, const ps_loaded *l, uint32_t **lanes, size_t *n,
                  bool *is_fixed) {
    if (!ps_ask_list(q, r, "lanes", ps_lanes_end(l), PS_ASK_MAX_LANES, lanes, n)) {
        return false;
    }
    if (*n == 0) {
        ps_reply_fail(r, 400, "parameter 'lanes' is missing: numbers as in 0-5,9");
        return false;
    }
    *is_fixed = true;
    for (size_t i = 0; i < *n; i++) {
        *is_fixed = *is_fixed && (*lanes)[i] < ps_loaded_n_lanes(l);
    }
    return true;
}

/* A dense row takes some ten microseconds. */
enum { MANY_LANES = 64 };

bool ps_asks_many_lanes(const ps_request *q) {
    return ps_param_list_length(q, "lanes") > MANY_LANES;
}

bool ps_ask_tile(const ps_request *q, ps_reply *r, ps_tile_ask *out) {
    *out = (ps_tile_ask){.start_ns = INT64_MAX};
    const int64_t far = INT64_C(1) << 52;
    int64_t level = 0;
    bool is_fixed = false;
    if (!ps_ask_int(q, r, "level", 0, PS_LOD_MAX_LEVEL, PS_REQUIRED, &level) ||
        !ps_ask_int(q, r, "tile", -far, far, PS_REQUIRED, &out->tile) ||
        !ps_ask_rank(q, r, &out->loaded)) {
        return false;
    }
    if (!ps_ask_lanes(q, r, out->loaded, &out->lanes, &out->n_lanes, &is_fixed)) {
        ps_loaded_release(out->loaded);
        return false;
    }
    out->level = (unsigned)level;
    int64_t length_ns = (int64_t)PS_LOD_TILE << level;
    if (out->tile < (INT64_C(1) << 62) / length_ns &&
        out->tile >= -(INT64_C(1) << 62) / length_ns) {
        out->start_ns = out->tile * length_ns;
    }
    r->is_immutable = is_fixed;
    r->content_type = "application/octet-stream";
    return true;
}

char *ps_tile_body(ps_reply *r, const ps_tile_ask *ask, uint32_t magic, size_t n, size_t size,
                   size_t align) {
    const uint32_t head[4] = {magic, (uint32_t)ask->n_lanes, (uint32_t)n, 0};
    ps_buf_add(&r->body, head, sizeof head);
    for (size_t i = 0; i < ask->n_lanes; i++) {
        const uint32_t pair[2] = {ask->lanes[i], 0};
        ps_buf_add(&r->body, pair, sizeof pair);
    }
    ps_buf_add_fill(&r->body, 0, (align - r->body.len % align) % align);
    size_t at = r->body.len;
    ps_buf_add_fill(&r->body, 0, size);
    if (!ps_buf_ok(&r->body) || n > UINT32_MAX) {
        ps_reply_fail(r, 507, "not enough memory for this tile: ask for fewer lanes at once");
        return NULL;
    }
    return r->body.data + at;
}

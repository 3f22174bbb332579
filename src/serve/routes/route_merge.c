/* POST /api/merge: lanes drawn as one. */
#include "serve/http/body_ask.h"
#include "serve/rank/loaded.h"
#include "serve/select/tile_ask.h"

/* Merged lanes are kept until the rank is let go: each costs about 10 bytes a slice. */
enum { MOST_MERGED = 1000, MAX_BODY = 512 << 10 };

static void merge_merge_lanes(ps_reply *r, ps_loaded *l, const uint32_t *lanes, size_t n) {
    if (ps_lanes_end(l) - ps_loaded_n_lanes(l) >= MOST_MERGED) {
        ps_reply_fail(r, 400, "%d merged lanes are the most that are kept of a rank",
                      (int)MOST_MERGED);
        return;
    }
    ps_err err = PS_ERR_INIT;
    uint32_t merged = ps_loaded_merge(l, lanes, n, &err);
    const ps_layer *layer = NULL;
    uint32_t inner = 0;
    ps_code code = merged != PS_NONE ? PS_OK : err.code;
    if (code == PS_OK && ps_loaded_lane(l, merged, &layer, &inner)) {
        code = ps_lod_build(layer->lod, inner, &err);
    }
    if (code != PS_OK || layer == NULL) {
        ps_reply_err(r, &err);
        return;
    }
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_uint(&j, "lane", merged);
    ps_json_key_uint(&j, "rows", ps_lod_n_rows(layer->lod, inner));
    ps_json_key_uint(&j, "slices", ps_lod_n_slices(layer->lod, inner));
    ps_json_close(&j);
}

static void answer_merge_lanes(const ps_request *q, ps_reply *r) {
    const ps_literal *body = NULL;
    ps_loaded *l = NULL;
    if (!ps_ask_body_rank(q, r, &body, &l)) {
        return;
    }
    uint32_t *lanes = NULL;
    size_t n = 0;
    if (ps_ask_body_numbers(r, body, "lanes", ps_lanes_end(l), PS_ASK_MAX_LANES, &lanes, &n)) {
        if (n > 0) {
            merge_merge_lanes(r, l, lanes, n);
        } else {
            ps_reply_fail(r, 400, "\"lanes\" is empty: which lanes are to be drawn as one?");
        }
    }
    ps_loaded_release(l);
}

const ps_route ps_route_merge = {.path = "/api/merge",
                                 .method = "POST",
                                 .is_slow = true,
                                 .max_body = MAX_BODY,
                                 .answer = answer_merge_lanes};

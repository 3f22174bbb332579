/* GET /api/slices: all slices of lanes that touch a span, as a table. */
#include "serve/cache.h"
#include "serve/slice_table.h"

static void answer(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    ps_slice_box box;
    if (!ps_ask_rank(q, r, &l)) {
        return;
    }
    if (ps_ask_box(q, r, l, &box)) {
        ps_err err = PS_ERR_INIT;
        ps_slice_set *set = NULL;
        ps_code code = ps_slice_set_of_box(q, l, &box, NULL, &set, &err);
        ps_table *table =
            code == PS_OK ? ps_slice_table_new(r, "slices", l, set, true, &err) : NULL;
        if (table != NULL) {
            ps_put_table(q, r, table);
        } else {
            ps_reply_err(r, &err);
        }
        ps_table_free(table);
        ps_cache_release(q->cache, set);
    }
    ps_loaded_release(l);
}

const ps_route ps_route_slices = {
    .path = "/api/slices", .method = "GET", .is_slow = true, .answer = answer};

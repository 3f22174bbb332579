/* GET /api/slices: all slices of lanes that touch a span, as a table. */
#include "serve/select/slice_table.h"

static void answer_slices(const ps_request *q, ps_reply *r) {
    ps_loaded *l = NULL;
    ps_slice_box box;
    if (!ps_ask_rank(q, r, &l)) {
        return;
    }
    if (ps_ask_box(q, r, l, &box)) {
        ps_put_slices_of_box(q, r, l, &box, NULL);
    }
    ps_loaded_release(l);
}

const ps_route ps_route_slices = {
    .path = "/api/slices", .method = "GET", .is_slow = true, .answer = answer_slices};

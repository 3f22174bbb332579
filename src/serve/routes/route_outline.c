/* GET /api/outline: what is there so far of a rank that is being read. */
#include "serve/http/route.h"

static void answer_outline(const ps_request *q, ps_reply *r) {
    size_t i = 0;
    if (ps_ask_any_rank(q, r, &i)) {
        ps_json j = ps_json_to(&r->body);
        ps_outline_put(ps_store_outline(q->store, i), &j);
    }
}

const ps_route ps_route_outline = {
    .path = "/api/outline", .method = "GET", .answer = answer_outline};

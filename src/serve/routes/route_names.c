/* POST /api/names: texts and tints of names, by the numbers that tiles have. */
#include "serve/http/body_ask.h"
#include "serve/rank/loaded.h"

enum { MOST_NAMES = 4096, MAX_BODY = 64 << 10 };

static void answer_names(const ps_request *q, ps_reply *r) {
    const ps_literal *body = NULL;
    ps_loaded *l = NULL;
    if (!ps_ask_body_rank(q, r, &body, &l)) {
        return;
    }
    uint32_t *names = NULL;
    size_t n = 0;
    if (ps_ask_body_numbers(r, body, "names", (uint64_t)UINT32_MAX + 1, MOST_NAMES, &names, &n)) {
        ps_json j = ps_json_to(&r->body);
        ps_json_object(&j);
        ps_json_key_array(&j, "names");
        for (size_t i = 0; i < n; i++) {
            const ps_layer *layer =
                ps_loaded_layer(l, names[i] % 2 != 0 ? PS_LAYER_DERIVED : PS_LAYER_PROFILE);
            ps_str name = {names[i] / 2};
            if (name.id >= ps_trace_n_texts(layer->trace)) {
                ps_reply_fail(r, 404, "no name has the number %u", names[i]);
                break;
            }
            ps_json_array(&j);
            ps_json_str_n(&j, ps_trace_text(layer->trace, name),
                          ps_trace_text_len(layer->trace, name));
            ps_json_uint(&j, ps_loaded_tint(layer, name));
            ps_json_close(&j);
        }
        if (r->status == 200) {
            ps_json_close(&j);
            ps_json_close(&j);
        }
    }
    ps_loaded_release(l);
}

const ps_route ps_route_names = {
    .path = "/api/names", .method = "POST", .max_body = MAX_BODY, .answer = answer_names};

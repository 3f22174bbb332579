/* Ranks and slices as requests name them and replies tell them. */
#include <string.h>

#include "serve/http/route.h"

/* The sentence of a rank that cannot be looked at yet; somebody wants it now. */
static bool refuse_rank(const ps_request *q, ps_reply *r, size_t i, const ps_err *err) {
    if (ps_store_status(q->store, i).state == PS_STATE_WAITING) {
        ps_store_want(q->store, i);
    }
    ps_reply_err(r, err);
    return false;
}

bool ps_ask_any_rank(const ps_request *q, ps_reply *r, size_t *out) {
    const char *key = ps_param_text(q, "rank");
    if (key == NULL) {
        ps_reply_fail(r, 400, "parameter 'rank' is missing");
        return false;
    }
    *out = ps_store_find(q->store, key, strlen(key));
    if (*out == SIZE_MAX) {
        ps_reply_fail(r, 404, "no rank has the key '%.80s'", key);
        return false;
    }
    return true;
}

bool ps_ask_rank(const ps_request *q, ps_reply *r, ps_loaded **out) {
    *out = NULL;
    size_t i = 0;
    if (!ps_ask_any_rank(q, r, &i)) {
        return false;
    }
    ps_err err = PS_ERR_INIT;
    return ps_store_get(q->store, i, out, &err) == PS_OK || refuse_rank(q, r, i, &err);
}

bool ps_ask_slice(const ps_request *q, ps_reply *r, const ps_loaded *l, uint32_t *out) {
    int64_t slice = 0;
    *out = PS_NONE;
    if (!ps_ask_int(q, r, "slice", 0, UINT32_MAX, PS_REQUIRED, &slice)) {
        return false;
    }
    uint32_t n = ps_loaded_n_slices(l);
    if (slice >= n) {
        ps_reply_fail(r, 404, "no slice %lld: the rank has %u", (long long)slice, n);
        return false;
    }
    *out = (uint32_t)slice;
    return true;
}

ps_code ps_put_ref_members(ps_json *j, const char *rank_key, const ps_loaded *l, uint32_t slice,
                           ps_err *err) {
    ps_ref ref;
    if (!ps_loaded_ref(l, slice, &ref)) {
        return ps_fail(err, PS_NOT_FOUND, "no slice %u", slice);
    }
    uint32_t lane = PS_NONE;
    uint32_t row = 0;
    ps_code code = ps_loaded_place(l, slice, &lane, &row, err);
    if (code != PS_OK) {
        return code;
    }
    const ps_trace *trace = ref.layer->trace;
    const ps_slices *s = ps_trace_slices(trace);
    ps_str name = s->name[ref.slice];
    ps_json_key_str(j, "rank", rank_key);
    ps_json_key_int(j, "slice", slice);
    ps_json_key_int(j, "lane", lane == PS_NONE ? -1 : (int64_t)lane);
    ps_json_key_int(j, "row", row);
    ps_json_key_int(j, "start", s->start_ns[ref.slice]);
    ps_json_key_int(j, "dur", s->dur_ns[ref.slice]);
    ps_json_key(j, "name");
    ps_json_str_n(j, ps_trace_text(trace, name), ps_trace_text_len(trace, name));
    ps_json_key_int(j, "tint", ps_loaded_tint(ref.layer, name));
    ps_json_key_str(j, "kind", ps_slice_kind_name((ps_slice_kind)s->kind[ref.slice]));
    return PS_OK;
}

ps_code ps_put_ref(ps_json *j, const char *rank_key, const ps_loaded *l, uint32_t slice,
                   ps_err *err) {
    ps_json_object(j);
    ps_code code = ps_put_ref_members(j, rank_key, l, slice, err);
    ps_json_close(j);
    return code;
}

void ps_reply_ref(const ps_request *q, ps_reply *r, const ps_loaded *l, uint32_t slice,
                  ps_code code, ps_err *err) {
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key(&j, "ref");
    if (code == PS_OK && slice != PS_NONE) {
        code = ps_put_ref(&j, ps_param_text(q, "rank"), l, slice, err);
    } else {
        ps_json_null(&j);
    }
    ps_json_close(&j);
    if (code != PS_OK) {
        ps_reply_err(r, err);
    } else {
        r->is_immutable = true;
    }
}

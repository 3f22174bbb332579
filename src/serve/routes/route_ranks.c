/* GET /api/ranks: all ranks as they are now. POST /api/load: which ones somebody wants. */
#include <stdint.h>

#include "base/literal.h"
#include "serve/http/route.h"
#include "serve/rank/loaded.h"
#include "serve/rank/rank_json.h"

enum { MAX_BODY = 1 << 20 }; /* keys of some 50,000 ranks */

/* The earliest origin of the ranks that are there. */
static bool first_origin(ps_store *store, int64_t *out) {
    bool is_known = false;
    for (size_t i = 0; i < ps_store_n_ranks(store); i++) {
        ps_loaded *l = NULL;
        if (ps_store_peek(store, i, &l, NULL) != PS_OK) {
            continue;
        }
        int64_t origin = ps_trace_origin_ns(ps_loaded_layer(l, PS_LAYER_PROFILE)->trace);
        *out = !is_known || origin < *out ? origin : *out;
        is_known = true;
        ps_loaded_release(l);
    }
    return is_known;
}

static void answer_ranks(const ps_request *q, ps_reply *r) {
    int64_t origin = 0;
    ps_err err = PS_ERR_INIT;
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_uint(&j, "seq", ps_store_seq(q->store));
    ps_json_key(&j, "origin_ns");
    ps_json_int_text(&j, first_origin(q->store, &origin) ? origin : 0);
    ps_json_key_array(&j, "ranks");
    for (size_t i = 0; i < ps_store_n_ranks(q->store); i++) {
        if (ps_store_status(q->store, i).state != PS_STATE_CLOSED &&
            ps_put_rank(ps_param_lang(q), &j, q->store, i, &err) != PS_OK) {
            ps_reply_err(r, &err);
            return;
        }
    }
    ps_json_close(&j);
    ps_json_close(&j);
}

const ps_route ps_route_ranks = {.path = "/api/ranks", .method = "GET", .answer = answer_ranks};

/* --- wishes --------------------------------------------------------------------------------------------------------- */

static bool is_there(const ps_store *store, size_t i) {
    ps_rank_state state = ps_store_status(store, i).state;
    return state == PS_STATE_READY || state == PS_STATE_READING;
}

/* Every key must be one, before anything is asked for. The ranks in the reply's arena; NULL with the reply filled. */
static size_t *find_ranks_keys(const ps_request *q, ps_reply *r, const ps_literal *keys,
                               size_t *n) {
    *n = 0;
    for (const ps_literal *key = keys->child; key != NULL; key = key->next) {
        ++*n;
    }
    size_t *ranks = ps_arena_alloc(&r->arena, (*n + 1) * sizeof *ranks);
    if (ranks == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return NULL;
    }
    size_t at = 0;
    for (const ps_literal *key = keys->child; key != NULL; key = key->next, at++) {
        if (key->kind != PS_LITERAL_STRING) {
            ps_reply_fail(r, 400, "\"keys\" must hold the keys of ranks, as texts");
            return NULL;
        }
        ranks[at] = ps_store_find(q->store, key->text, key->len);
        if (ranks[at] == SIZE_MAX) {
            ps_reply_fail(r, 404, "no rank has the key '%.80s'", key->text);
            return NULL;
        }
    }
    return ranks;
}

/* The latest wish comes first, so the first of the list is wished for last. */
static size_t want(ps_store *store, const size_t *ranks, size_t n) {
    size_t n_new = 0;
    for (size_t i = n; i > 0; i--) {
        size_t rank = ranks != NULL ? ranks[i - 1] : i - 1;
        n_new += !is_there(store, rank);
        ps_store_want(store, rank);
    }
    return n_new;
}

static void answer_load(const ps_request *q, ps_reply *r) {
    ps_err err = PS_ERR_INIT;
    const ps_literal *body =
        ps_literal_parse(&r->arena, q->body != NULL ? q->body : "", q->body_len, &err);
    if (body == NULL && err.code == PS_NOMEM) {
        ps_reply_err(r, &err);
        return;
    }
    const ps_literal *all = ps_literal_get(body, "all");
    const ps_literal *keys = ps_literal_get(body, "keys");
    size_t n = ps_store_n_ranks(q->store);
    size_t *ranks = NULL;
    if (keys != NULL && keys->kind == PS_LITERAL_ARRAY) {
        ranks = find_ranks_keys(q, r, keys, &n);
        if (ranks == NULL) {
            return;
        }
    } else if (all == NULL || all->kind != PS_LITERAL_BOOL || !all->boolean) {
        ps_reply_fail(r, 400, "say which ranks: {\"keys\":[\"...\"]} or {\"all\":true}");
        return;
    }
    ps_json j = ps_json_to(&r->body);
    ps_json_object(&j);
    ps_json_key_uint(&j, "queued", want(q->store, ranks, n));
    ps_json_close(&j);
}

const ps_route ps_route_load = {
    .path = "/api/load", .method = "POST", .max_body = MAX_BODY, .answer = answer_load};

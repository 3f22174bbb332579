#include "serve/http/body_ask.h"

#include <string.h>

bool ps_ask_body_rank(const ps_request *q, ps_reply *r, const ps_literal **object,
                      ps_loaded **out) {
    *out = NULL;
    ps_err err = PS_ERR_INIT;
    *object = ps_literal_parse(&r->arena, q->body != NULL ? q->body : "", q->body_len, &err);
    if (*object == NULL && err.code == PS_NOMEM) {
        ps_reply_err(r, &err);
        return false;
    }
    const char *key = ps_literal_str(ps_literal_get(*object, "rank"));
    if (key == NULL) {
        ps_reply_fail(r, 400, "the body must be a JSON object with \"rank\"");
        return false;
    }
    ps_request *asked = ps_arena_alloc(&r->arena, sizeof *asked);
    if (asked == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    asked->path = q->path;
    asked->store = q->store;
    asked->cache = q->cache;
    asked->params[0] = (ps_param){.name = "rank", .value = key};
    asked->n_params = 1;
    return ps_ask_rank(asked, r, out);
}

bool ps_ask_body_numbers(ps_reply *r, const ps_literal *object, const char *name, uint64_t stop,
                         size_t max, uint32_t **out, size_t *n) {
    const ps_literal *list = ps_literal_get(object, name);
    *n = 0;
    if (list == NULL || list->kind != PS_LITERAL_ARRAY) {
        ps_reply_fail(r, 400, "\"%s\" must be a list of numbers", name);
        return false;
    }
    for (const ps_literal *v = list->child; v != NULL; v = v->next) {
        if (v->kind != PS_LITERAL_INT || v->integer < 0 || (uint64_t)v->integer >= stop) {
            ps_reply_fail(r, 400, "\"%s\" must hold whole numbers from 0 to below %llu", name,
                          (unsigned long long)stop);
            return false;
        }
        ++*n;
    }
    if (*n > max) {
        ps_reply_fail(r, 400, "\"%s\" holds more than %zu numbers", name, max);
        return false;
    }
    *out = ps_arena_alloc(&r->arena, (*n + 1) * sizeof **out);
    if (*out == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return false;
    }
    uint32_t *to = *out;
    for (const ps_literal *v = list->child; v != NULL; v = v->next) {
        *to++ = (uint32_t)v->integer;
    }
    return true;
}

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

static const char *member_text(ps_arena *arena, const ps_literal *v) {
    switch (v->kind) {
    case PS_LITERAL_STRING:
        return v->text;
    case PS_LITERAL_BOOL:
        return v->boolean ? "1" : "0";
    default:
        return ps_arena_strndup(arena, v->begin, v->source_len);
    }
}

const ps_request *ps_body_as_params(const ps_request *q, ps_reply *r, const ps_literal *object) {
    ps_request *out = ps_arena_alloc(&r->arena, sizeof *out);
    if (out == NULL) {
        ps_reply_fail(r, 507, "out of memory");
        return NULL;
    }
    *out = (ps_request){.path = q->path, .store = q->store, .cache = q->cache};
    for (const ps_literal *v = object->child; v != NULL; v = v->next) {
        /* Of members of one name the last one counts, as everywhere in JSON. */
        if (v->kind == PS_LITERAL_NULL || ps_literal_get(object, v->key) != v) {
            continue;
        }
        if (v->child != NULL || out->n_params == PS_REQUEST_MAX_PARAMS) {
            ps_reply_fail(r, 400, "\"%s\" must be a number or a text, and one of at most %d",
                          v->key, PS_REQUEST_MAX_PARAMS);
            return NULL;
        }
        const char *text = member_text(&r->arena, v);
        if (text == NULL) {
            ps_reply_fail(r, 507, "out of memory");
            return NULL;
        }
        out->params[out->n_params++] = (ps_param){.name = v->key, .value = text};
    }
    return out;
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

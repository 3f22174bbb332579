#include "support/route_asks.h"

#include <stdio.h>
#include <string.h>

#include "serve/cache.h"

void route_asks_init(route_asks *a, ps_trace *trace) {
    a->store = ps_store_of_trace(trace, "r0", NULL);
    a->cache = ps_cache_new((size_t)64 << 20);
    assert_true(a->store != NULL && a->cache != NULL);
    ps_reply_init(&a->reply);
}

void route_asks_fini(route_asks *a) {
    ps_reply_fini(&a->reply);
    ps_cache_free(a->cache);
    ps_store_free(a->store);
}

ps_loaded *route_asks_rank(const route_asks *a) {
    ps_loaded *l = NULL;
    assert_int_equal(ps_store_get(a->store, 0, &l, NULL), PS_OK);
    return l;
}

static const char *answer(route_asks *a, unsigned status, const char *method, const char *path,
                          ps_request *q) {
    bool other = false;
    const ps_route *route = ps_route_find(method, path, &other);
    assert_non_null(route);
    q->path = route->path;
    q->store = a->store;
    q->cache = a->cache;
    ps_route_answer(route, q, &a->reply);
    if (a->reply.status != status) {
        fail_msg("%s: status %u: %s", path, a->reply.status, ps_buf_str(&a->reply.body));
    }
    return ps_buf_str(&a->reply.body);
}

const char *route_get(route_asks *a, unsigned status, const char *fmt, ...) {
    char address[4096];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(address, sizeof address, fmt, ap);
    va_end(ap);
    assert_true(n > 0 && (size_t)n < sizeof address);
    ps_reply_fini(&a->reply);
    ps_reply_init(&a->reply);
    char *query = strchr(address, '?');
    assert_non_null(query);
    *query++ = '\0';
    ps_request q = {0};
    assert_true(ps_request_parse(&q, &a->reply, query));
    return answer(a, status, "GET", address, &q);
}

const char *route_post(route_asks *a, unsigned status, const char *path, const char *body) {
    ps_reply_fini(&a->reply);
    ps_reply_init(&a->reply);
    ps_request q = {.body = body, .body_len = strlen(body)};
    return answer(a, status, "POST", path, &q);
}

void expect_part(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("not there: %s\nin: %s", part, text);
    }
}

#include "support/asks.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "serve/rank/cache.h"
#include "write/trace/trace_writer.h"

static void begin(asks *a) {
    assert_non_null(a->store);
    a->cache = ps_cache_new((size_t)64 << 20);
    assert_non_null(a->cache);
    ps_reply_init(&a->reply);
    a->watch = (ps_watch){0};
}

void asks_of_trace(asks *a, ps_trace *trace) {
    ps_err err = PS_ERR_INIT;
    a->store = ps_store_of_trace(trace, "r0", &err);
    begin(a);
}

void asks_of_path(asks *a, const char *path) {
    ps_err err = PS_ERR_INIT;
    a->store = ps_store_new(&path, 1, NULL, &err);
    if (a->store == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    for (size_t i = 0; i < ps_store_n_ranks(a->store); i++) {
        ps_store_want(a->store, i);
        for (;;) {
            ps_rank_status_now now = ps_store_status(a->store, i);
            if (now.state == PS_STATE_FAILED) {
                fail_msg("rank %zu: %s", i, now.err.msg);
            }
            if (now.state == PS_STATE_READY) {
                break;
            }
            (void)usleep(1000);
        }
    }
    begin(a);
}

void asks_of_traces(asks *a, const char *dir, ps_trace *const *traces, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char path[600];
        (void)snprintf(path, sizeof path, "%s/rank%zu.json", dir, i);
        ps_err err = PS_ERR_INIT;
        ps_trace_source source = {(int64_t)i, "", "rank", NULL, -1};
        ps_trace_writer *w = ps_trace_writer_open(path, &source, 1, &err);
        if (w == NULL || ps_trace_writer_rank(w, 0, traces[i], &err) != PS_OK ||
            ps_trace_writer_commit(w, NULL, &err) != PS_OK) {
            fail_msg("%s: %s", path, err.msg);
        }
        ps_trace_free(traces[i]);
    }
    asks_of_path(a, dir);
    assert_int_equal(ps_store_n_ranks(a->store), n);
}

void asks_end(asks *a) {
    ps_reply_fini(&a->reply);
    ps_cache_free(a->cache);
    ps_store_free(a->store);
}

const char *asks_key(const asks *a, size_t rank) {
    return ps_store_rank(a->store, rank)->key;
}

static const char *get(asks *a, unsigned status, const char *fmt, va_list args) {
    char address[4096];
    char shown[4096];
    (void)vsnprintf(address, sizeof address, fmt, args);
    memcpy(shown, address, sizeof shown);
    char *query = strchr(address, '?');
    if (query != NULL) {
        *query++ = '\0';
    }
    ps_reply_fini(&a->reply);
    ps_reply_init(&a->reply);
    ps_request q = {.store = a->store, .cache = a->cache, .watch = &a->watch};
    bool other = false;
    const ps_route *route = ps_route_find("GET", address, &other);
    if (route == NULL) {
        fail_msg("no route %s", address);
    }
    if (ps_request_parse(&q, &a->reply, query)) {
        ps_route_answer(route, &q, &a->reply);
    }
    if (a->reply.status != status) {
        fail_msg("%s: %u: %s", shown, a->reply.status, ps_buf_str(&a->reply.body));
    }
    return ps_buf_str(&a->reply.body);
}

const char *ask(asks *a, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const char *text = get(a, 200, fmt, args);
    va_end(args);
    return text;
}

const char *ask_fails(asks *a, unsigned status, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    const char *text = get(a, status, fmt, args);
    va_end(args);
    return text;
}

const char *ask_post(asks *a, unsigned status, const char *path, const char *body) {
    ps_reply_fini(&a->reply);
    ps_reply_init(&a->reply);
    ps_request q = {.store = a->store,
                    .cache = a->cache,
                    .watch = &a->watch,
                    .body = body,
                    .body_len = strlen(body)};
    bool other = false;
    const ps_route *route = ps_route_find("POST", path, &other);
    if (route == NULL) {
        fail_msg("no route %s", path);
    }
    ps_route_answer(route, &q, &a->reply);
    if (a->reply.status != status) {
        fail_msg("%s: %u: %s", path, a->reply.status, ps_buf_str(&a->reply.body));
    }
    return ps_buf_str(&a->reply.body);
}

void expect_in(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("\n%s\nis not in\n%s", part, text);
    }
}

void expect_not_in(const char *text, const char *part) {
    if (strstr(text, part) != NULL) {
        fail_msg("\n%s\nis in\n%s", part, text);
    }
}

size_t count_in(const char *text, const char *part) {
    size_t n = 0;
    size_t len = strlen(part);
    /* not strstr(): under sanitizers each call of it measures all that is left of the text */
    for (const char *at = text; *at != '\0';) {
        bool is_here = *at == part[0] && strncmp(at, part, len) == 0;
        n += is_here;
        at += is_here ? len : 1;
    }
    return n;
}

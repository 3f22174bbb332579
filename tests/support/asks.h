/* Asking routes as the server would, without a server: a store, a cache, and addresses.
 *
 * Everything fails the running test when it cannot be done. */
#ifndef TEST_SUPPORT_ASKS_H
#define TEST_SUPPORT_ASKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/trace.h"
#include "serve/http/route.h"

typedef struct asks {
    ps_store *store;
    struct ps_cache *cache;
    ps_reply reply; /* the last one */
    ps_watch watch; /* of all requests */
} asks;

/* One rank with the key "r0"; owns the trace. */
void asks_of_trace(asks *a, ps_trace *trace);
/* All ranks found under a path, once they are read; failed ones fail the test. */
void asks_of_path(asks *a, const char *path);
/* Writes each trace into DIR/rank<i>.json and serves the folder; frees the traces. Key i: asks_key(a, i). */
void asks_of_traces(asks *a, const char *dir, ps_trace *const *traces, size_t n);
void asks_end(asks *a);

const char *asks_key(const asks *a, size_t rank);

/* The reply to a GET (printf-like address with its query); lives until the next one. The status must be 200. */
const char *ask(asks *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* The same with another status. */
const char *ask_fails(asks *a, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* A POST with a body. */
const char *ask_post(asks *a, unsigned status, const char *path, const char *body);

/* A text must hold another. */
void expect_in(const char *text, const char *part);
void expect_not_in(const char *text, const char *part);
/* How often one text is in the other. */
size_t count_in(const char *text, const char *part);

#endif

/* Routes called as functions, GET and POST, on a trace that was built by hand. Replies may be binary. */
#ifndef TEST_SUPPORT_ROUTE_ASKS_H
#define TEST_SUPPORT_ROUTE_ASKS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/trace.h"
#include "serve/loaded.h"
#include "serve/route.h"

typedef struct route_asks {
    ps_store *store;
    struct ps_cache *cache;
    ps_reply reply; /* the last one */
} route_asks;

/* One rank with the key "r0"; owns the trace. */
void route_asks_init(route_asks *a, ps_trace *trace);
void route_asks_fini(route_asks *a);

/* The rank; release it. */
ps_loaded *route_asks_rank(const route_asks *a);

/* "/api/tiles?rank=r0&..."; the body of the reply, good until the next call. The status must be the one given. */
const char *route_get(route_asks *a, unsigned status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
const char *route_post(route_asks *a, unsigned status, const char *path, const char *body);

/* The text must hold the part. */
void expect_part(const char *text, const char *part);

#endif

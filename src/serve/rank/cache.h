/* Results kept between requests, by a text that says what they are: the least recently used go when they hold too much. */
#ifndef PS_SERVE_CACHE_H
#define PS_SERVE_CACHE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "base/watch.h"

typedef struct ps_cache ps_cache;

typedef struct ps_cached {
    void *value;
    size_t bytes; /* what it holds, about */
    void (*free_value)(void *value);
    bool
        is_passing; /* for those who ask for it now, and no longer: something failed that may not fail again */
} ps_cached;

/* NULL: PS_NOMEM. */
ps_cache *ps_cache_new(size_t max_bytes);
void ps_cache_free(ps_cache *c); /* NULL is fine; nothing may be held */

/* The value for `key`; where there is none, `make` makes it (called without locks; other threads that ask for the same key
 * wait, and try themselves after a failure). The value stays until ps_cache_release(). PS_BUSY: `watch` (or NULL) was stopped
 * while others made it. */
PS_MUST_USE ps_code ps_cache_get(ps_cache *c, const char *key,
                                 ps_code (*make)(void *context, ps_cached *out, ps_err *err),
                                 void *context, const ps_watch *watch, void **value, ps_err *err);
void ps_cache_release(ps_cache *c, void *value); /* NULL is fine */

#endif

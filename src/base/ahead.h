/* A stream of bytes made in a thread of its own, a few pieces ahead of whoever reads it. */
#ifndef PS_BASE_AHEAD_H
#define PS_BASE_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

typedef struct ps_ahead ps_ahead;

/* Makes up to `cap` bytes; fewer only at the end or with an error, and those do not count. After an error or the end it is not called again. */
typedef ps_code ps_ahead_fill(void *context, uint8_t *out, size_t cap, size_t *n, ps_err *err);

/* Starts the thread, which alone calls `fill` from now on. NULL when there is no memory or no thread to be had. */
ps_ahead *ps_ahead_new(ps_ahead_fill *fill, void *context);
/* Waits for the thread; may come before the end. NULL is fine. */
void ps_ahead_free(ps_ahead *a);

/* The next bytes, as many as `fill` would have made. Its error comes where it would have come, and again with every
 * later call; what is in `out` then does not count. What the thread did before is visible to the caller. */
PS_MUST_USE ps_code ps_ahead_read(ps_ahead *a, uint8_t *out, size_t cap, size_t *n, ps_err *err);

#endif

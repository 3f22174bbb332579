/* Work over numbered items on several threads. Items are taken in order, one at a time; which thread
 * runs which item is left open, so a result belongs into the item's own place. */
#ifndef PS_BASE_THREADS_H
#define PS_BASE_THREADS_H

#include <stddef.h>

typedef void ps_item_fn(void *context, size_t item);

/* Runs fn(context, i) for i in [0, n) on at most `n_threads` threads (0 = one per processor) and returns
 * when all are done. Falls back to fewer threads, down to the caller's own, when none can be started. */
void ps_parallel(size_t n, size_t n_threads, ps_item_fn *fn, void *context);

/* How many threads each of `n` items may use when they run on `n_threads` side by side; 0 stays 0. */
size_t ps_threads_each(size_t n_threads, size_t n);

/* Processors this process may use, at least 1. */
size_t ps_n_processors(void);

#endif

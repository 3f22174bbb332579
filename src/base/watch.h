/* Looking at a long read from another thread, and ending it early. Whoever reads adds what it took from the file and looks at
 * `stop`; whoever watches reads `done_bytes` at any time. */
#ifndef PS_BASE_WATCH_H
#define PS_BASE_WATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

typedef struct ps_watch {
    _Atomic uint64_t done_bytes; /* as they lie in the file; a few are read twice */
    atomic_bool stop;
    /* Told whenever another `step_bytes` are done, from the thread that reads; NULL: nobody. */
    void (*progress)(void *context);
    void *context;
    uint64_t step_bytes;
} ps_watch;

/* Counts; PS_BUSY when it is to end. NULL: nobody watches. */
static inline ps_code ps_watch_add(ps_watch *w, uint64_t bytes, ps_err *err) {
    if (w == NULL) {
        return PS_OK;
    }
    uint64_t before = atomic_fetch_add_explicit(&w->done_bytes, bytes, memory_order_relaxed);
    if (w->progress != NULL && before / w->step_bytes != (before + bytes) / w->step_bytes) {
        w->progress(w->context);
    }
    return atomic_load_explicit(&w->stop, memory_order_relaxed)
               ? ps_fail(err, PS_BUSY, "reading was ended before its end")
               : PS_OK;
}

#endif

/* Looking at long work from another thread, and ending it early. Whoever reads a file adds what it took and looks at `stop`, and so
 * do other long loops every few thousand turns; whoever watches reads `done_bytes` and sets `stop` at any time. */
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

/* PS_BUSY when the work is to end: what was made so far is given up. NULL: nobody watches. */
static inline ps_code ps_watch_ask(const ps_watch *w, ps_err *err) {
    return w != NULL && atomic_load_explicit(&w->stop, memory_order_relaxed)
               ? ps_fail(err, PS_BUSY, "this was ended early: nobody waits for it any more")
               : PS_OK;
}

/* Counts, and asks. */
static inline ps_code ps_watch_add(ps_watch *w, uint64_t bytes, ps_err *err) {
    if (w == NULL) {
        return PS_OK;
    }
    uint64_t before = atomic_fetch_add_explicit(&w->done_bytes, bytes, memory_order_relaxed);
    if (w->progress != NULL && before / w->step_bytes != (before + bytes) / w->step_bytes) {
        w->progress(w->context);
    }
    return ps_watch_ask(w, err);
}

#endif

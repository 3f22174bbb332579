/* Making and ending a ps_loaded: for the store. */
#ifndef PS_SERVE_LOADED_MAKE_H
#define PS_SERVE_LOADED_MAKE_H

#include "serve/rank/loaded.h"

/* Works out lanes, derived trace and colours of a trace on `n_threads` (0: one per processor); owns it from now on, also after a failure.
 * NULL: PS_NOMEM. */
ps_loaded *ps_loaded_new(ps_trace *trace, size_t n_threads, ps_err *err);
void ps_loaded_free(ps_loaded *l); /* NULL is fine; nobody may use it any more */

/* Where the store keeps what is its own (which rank it is, who holds it). */
void ps_loaded_set_owner(ps_loaded *l, void *owner);
void *ps_loaded_owner(const ps_loaded *l);

/* What it holds, as a number: that of another reading of the same file is the same. */
uint64_t ps_loaded_fingerprint(const ps_loaded *l);

/* All together, for a budget. */
size_t ps_loaded_total_bytes(const ps_loaded *l);

#endif

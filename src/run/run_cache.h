/* States of ranks in a folder, so that a rank that has not changed is not read again. Each is a file under the hash of what it was made
 * from, which it holds as well. Several runs, of several users, may work with one folder at the same time: files appear whole. Those
 * used longest ago go when the folder holds more than it may. A file that cannot be read as what it should be is one that is not
 * there. */
#ifndef PS_RUN_RUN_CACHE_H
#define PS_RUN_RUN_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "run/rank_state.h"

#define PS_CACHE_USUAL_BYTES (INT64_C(8) << 30)

typedef struct ps_run_cache ps_run_cache;

/* Makes the folder where it is missing. `max_bytes` 0: the usual ones. NULL on failure. */
ps_run_cache *ps_run_cache_open(const char *dir, int64_t max_bytes, ps_err *err);
/* Takes out what is too much. NULL is fine. */
void ps_run_cache_close(ps_run_cache *c);

/* The state that was made from `key`; NULL when there is none. *damaged: there was something that is none. Any thread may call
 * these. */
ps_rank_state *ps_run_cache_get(const ps_run_cache *c, const char *key,
                                const ps_analysis *const *analyses, size_t n_analyses,
                                bool *damaged);
/* Keeps a state, whose key it sets. */
PS_MUST_USE ps_code ps_run_cache_put(const ps_run_cache *c, const char *key, ps_rank_state *state,
                                     ps_err *err);

#endif

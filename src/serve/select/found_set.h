/* What a search found in several ranks, as one list: by time (since 1970, then rank as listed, then slice), by duration or
 * by name. */
#ifndef PS_SERVE_FOUND_SET_H
#define PS_SERVE_FOUND_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "serve/rank/loaded.h"
#include "serve/select/search.h"

typedef struct ps_found_rank {
    const char *key;
    ps_loaded *loaded; /* held by whoever made the set */
    ps_found *found;   /* the same */
    int64_t moved_ns;  /* as the page shows it: its times are later by that */
} ps_found_rank;

typedef struct ps_found_set {
    ps_found_rank *ranks;
    size_t n_ranks;
    uint64_t total;
} ps_found_set;

typedef struct ps_found_at {
    uint32_t rank; /* in the set */
    uint32_t slice;
} ps_found_at;

/* Start since 1970, and duration, of a slice of a rank. */
int64_t ps_found_start_ns(const ps_found_rank *rank, uint32_t slice);
int64_t ps_found_dur_ns(const ps_found_rank *rank, uint32_t slice);

/* How many stand before a slice of rank `rank` (which need not be one of them) in the order of time; `after`: and itself. */
uint64_t ps_found_before(const ps_found_set *set, uint32_t rank, uint32_t slice, bool after);
/* How many begin before a time since 1970. */
uint64_t ps_found_before_time(const ps_found_set *set, int64_t time_ns);
/* Places [offset, offset + *n) in the order of time into `out`; *n becomes how many of them there are. PS_NOMEM. */
PS_MUST_USE ps_code ps_found_range(const ps_found_set *set, uint64_t offset, ps_found_at *out,
                                   size_t *n, ps_err *err);

typedef enum ps_found_by { PS_FOUND_BY_TIME, PS_FOUND_BY_DURATION, PS_FOUND_BY_NAME } ps_found_by;

/* All of them in one of the orders, of equal ones by time. NULL: no memory; the caller frees it with ps_free(). */
ps_found_at *ps_found_sorted(const ps_found_set *set, ps_found_by by);

#endif

/* Finding slices of one rank by their names, and by their categories and arguments where that is wanted.
 *
 * Each different text is looked at once; then one pass over the names. What is found outlives the rank in memory: it
 * borrows nothing. */
#ifndef PS_SERVE_SEARCH_H
#define PS_SERVE_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/counted.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/watch.h"
#include "serve/rank/loaded.h"

/* Different names of what was found that are counted apart; the rarer ones are only in the total. */
#define PS_SEARCH_MAX_NAMES 65536

typedef struct ps_query {
    const char *text; /* "": finds nothing */
    unsigned how;     /* ps_pattern_how */
    bool
        in_args; /* also the categories and the values of arguments, numbers as their decimal text */
    const ps_sum_class *
        row; /* not NULL: what a comparison counts in the row of that class whose name is all of `text` */
    const char *detail;     /* of that row (shapes, group); NULL: any */
    int64_t step;           /* of that row only what is of this step; negative: of any */
    int64_t from_ns, to_ns; /* slices that end after and begin before; INT64_MIN, INT64_MAX: all */
    const uint32_t *lanes;  /* as the outside counts them, merged ones too */
    size_t n_lanes;         /* 0: all */
    const ps_watch *watch;  /* or NULL */
} ps_query;

typedef struct ps_found_lane {
    uint32_t lane, n;
} ps_found_lane;

typedef struct ps_found_name {
    const char *text; /* in the arena */
    uint32_t n;
    uint8_t tint;
} ps_found_name;

typedef struct ps_found {
    uint32_t *slices; /* as the outside counts them, by start, then number */
    size_t n;
    ps_found_lane *lanes; /* by lane; without empty ones */
    size_t n_lanes;
    ps_found_name *names; /* the most frequent first, then by text */
    size_t n_names;
    ps_arena arena;
} ps_found;

/* NULL: PS_USAGE (the expression is wrong, or costs too much), PS_NOMEM, PS_BUSY (`watch` was stopped). The caller frees it. */
ps_found *ps_search(const ps_loaded *l, const ps_query *q, ps_err *err);
void ps_found_free(void *found); /* a ps_found; NULL is fine */
size_t ps_found_bytes(const ps_found *found);

#endif

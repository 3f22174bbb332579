/* Slices added up by texts, within a span: number, sum, shortest, longest. */
#ifndef PS_ANALYZE_VIEW_SUMS_H
#define PS_ANALYZE_VIEW_SUMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/views/view.h"
#include "base/idmap.h"

#define PS_VIEW_KEYS 3

typedef struct ps_view_sum {
    ps_str keys[PS_VIEW_KEYS]; /* of the trace; none: not said */
    int64_t n, sum_ns, min_ns, max_ns;
    int64_t extra; /* a second figure, added up (bytes); -1: none said */
} ps_view_sum;

/* Zero it to begin; end with ps_view_sums_fini(). */
typedef struct ps_view_sums {
    ps_view_sum *at;
    size_t n, cap;
    ps_idmap rows; /* hash of the keys, or the next free number after it -> row */
    bool has_rows;
} ps_view_sums;

/* The row of these keys, with this time counted. NULL when memory is out. */
ps_view_sum *ps_view_sums_add(ps_view_sums *s, const ps_str keys[PS_VIEW_KEYS], int64_t time_ns);
void ps_view_sums_fini(ps_view_sums *s);

/* Rows as a table: a text column for each of `n_keys` names (static), then share (of `whole_ns`, 0: of their sum), total,
 * number, avg, min, max; the largest total first, then by texts. PS_NOMEM (NULL) only. The table's name is static. */
ps_table *ps_view_sums_table(ps_view_sums *s, const ps_trace *trace, const char *name,
                             const char *title, const char *const *key_names, size_t n_keys,
                             int64_t whole_ns, ps_err *err);

#endif

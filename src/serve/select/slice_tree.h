/* What lies around a slice: above and below it, and how much of its time is its own. Slices are numbered as the outside
 * counts them.
 *
 * On a host thread the one above is the innermost that was open then (links.h), whatever lanes the two are drawn in. Elsewhere
 * it is the one in the rows above that holds it whole; above the tasks of a communicator's planes stands their operator. */
#ifndef PS_SERVE_SLICE_TREE_H
#define PS_SERVE_SLICE_TREE_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "serve/rank/loaded.h"

#define PS_SLICE_MAX_PARENTS 256

/* The slices above, the innermost first; *n of them (at most `max`, the others are not told). PS_NOMEM only. */
PS_MUST_USE ps_code ps_slice_parents(const ps_loaded *l, uint32_t slice, uint32_t *parents,
                                     size_t max, size_t *n, ps_err *err);

/* The slices right below, by start: how many, and the first `max` of them. PS_NOMEM only. */
PS_MUST_USE ps_code ps_slice_children(const ps_loaded *l, uint32_t slice, uint32_t *first,
                                      size_t max, size_t *n, ps_err *err);

/* Its duration without what the row below in its lane covers of it. PS_NOMEM only. */
PS_MUST_USE ps_code ps_slice_self_ns(const ps_loaded *l, uint32_t slice, int64_t *self_ns,
                                     ps_err *err);

#endif

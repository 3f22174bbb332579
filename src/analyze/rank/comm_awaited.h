/* Communication that nothing can hide, however early the host is: what computes behind it works with what it brought. An optimiser's
 * step needs the gradients that were reduced before it, and so does what is computed between the last backward operator and that
 * step (norms, clipping). The last reduction of a backward pass is such a one. */
#ifndef PS_ANALYZE_COMM_AWAITED_H
#define PS_ANALYZE_COMM_AWAITED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/rank/links.h"

/* What is launched from from_ns to end_ns awaits what was communicated by launches before before_ns. Times of the host, from the
 * origin. */
typedef struct ps_awaiting {
    int64_t from_ns, before_ns, end_ns;
} ps_awaiting;

typedef struct ps_comm_awaited {
    ps_awaiting *at; /* by end_ns; by optimiser's steps one behind the other */
    size_t n, cap;
} ps_comm_awaited;

/* False when memory is out; end with ps_comm_awaited_fini() in any case. */
bool ps_comm_awaited_find(const ps_links *links, ps_comm_awaited *out);
void ps_comm_awaited_fini(ps_comm_awaited *a);

/* Whether what was launched at `launch_ns` awaits communication that was launched at `comm_ns`. */
bool ps_comm_is_awaited(const ps_comm_awaited *a, int64_t comm_ns, int64_t launch_ns);

#endif

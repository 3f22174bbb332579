/* Links slower than others of their kind: the table SlowLinkMatrix of slow_link, and the report's rule slow-link. */
#ifndef PS_ANALYZE_SLOW_LINK_MATRIX_H
#define PS_ANALYZE_SLOW_LINK_MATRIX_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"

#define PS_SLOW_LINK_SHARE 0.8 /* of the median bandwidth */

/* Sums over the steps. Texts are those of the partials. */
typedef struct ps_slow_link {
    const char *op, *group, *transport;
    int64_t source, destination;  /* global ranks */
    double size, time, bandwidth; /* MB, ms, GB/s */
    double median;                /* of the links that it is compared with */
    double share;                 /* bandwidth / median */
    size_t n_alike;
    int size_class;
} ps_slow_link;

typedef struct ps_slow_links {
    ps_slow_link *all; /* the slowest first, as a share of the median */
    size_t n;
} ps_slow_links;

/* Partials are ps_comm_part with their links, or NULL; they must outlive the list. Links below `share` of the median of
 * theirs. PS_NOMEM only; end with ps_slow_links_fini() in any case. */
PS_MUST_USE ps_code ps_slow_links_find(const ps_reduce_input *in, double share, ps_slow_links *out,
                                       ps_err *err);
void ps_slow_links_fini(ps_slow_links *l);

/* Partials as above. */
PS_MUST_USE ps_code ps_slow_link_matrix(const ps_reduce_input *in, ps_err *err);

#endif

/* The table SlowLinkMatrix of slow_link. */
#ifndef PS_ANALYZE_SLOW_LINK_MATRIX_H
#define PS_ANALYZE_SLOW_LINK_MATRIX_H

#include "analyze/analysis.h"

/* Partials are ps_comm_part with their links. */
PS_MUST_USE ps_code ps_slow_link_matrix(const ps_reduce_input *in, ps_err *err);

#endif

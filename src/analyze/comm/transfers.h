/* Sends and receives of one rank in any format, for the chart. */
#ifndef PS_ANALYZE_TRANSFERS_H
#define PS_ANALYZE_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/p2p.h"
#include "analyze/core/analysis.h"
#include "base/archive.h"

typedef struct ps_transfers {
    ps_p2p_list p2p;
    bool p2p_is_global; /* senders and receivers are global ranks, not places in a group */
} ps_transfers;

/* Operators, and kernels that say what they do. `rank` is the global rank of the trace, -1 unknown: then sends and receives
 * of kernels are left out, and counted. PS_NOMEM only; end with ps_transfers_fini(), also after a failure. */
PS_MUST_USE ps_code ps_transfers_collect(const ps_trace *trace, const ps_analysis_opts *opts,
                                         int64_t rank, ps_transfers *out, ps_diag *diag,
                                         ps_err *err);
void ps_transfers_fini(ps_transfers *t);

void ps_transfers_archive(ps_archive *a, void *transfers);

#endif

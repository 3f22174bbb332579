/* Transfers of one rank in any format: sends and receives for the chart, collectives for the clocks. */
#ifndef PS_ANALYZE_TRANSFERS_H
#define PS_ANALYZE_TRANSFERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/p2p.h"
#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "base/strpool.h"

/* A collective in which nobody can finish before everybody has begun. */
typedef struct ps_collective {
    int64_t start_ns, end_ns; /* epoch */
    int64_t sequence;         /* the group's own number, else the ordinal among those of its name */
    ps_str
        key; /* of the list's pool: group with its ranks, and name; without own numbers also how many there are */
} ps_collective;

typedef struct ps_collective_list {
    ps_collective *all; /* in start order; at most PS_MAX_COLLECTIVES */
    size_t n, cap;
    size_t n_cut; /* left out beyond PS_MAX_COLLECTIVES */
    ps_strpool strings;
} ps_collective_list;

#define PS_MAX_COLLECTIVES ((size_t)1 << 16)

typedef struct ps_transfers {
    ps_p2p_list p2p;
    bool p2p_is_global; /* senders and receivers are global ranks, not places in a group */
    ps_collective_list collectives;
} ps_transfers;

/* Kernels and operators of communication that say what they do. `rank` is the global rank of the trace, -1 unknown:
 * then sends and receives of kernels are left out, and counted. `facts` (or NULL) tells groups of one name apart.
 * PS_NOMEM only; end with ps_transfers_fini(), also after a failure. */
PS_MUST_USE ps_code ps_transfers_collect(const ps_trace *trace, const ps_analysis_opts *opts,
                                         int64_t rank, const ps_rank_facts *facts,
                                         ps_transfers *out, ps_diag *diag, ps_err *err);
void ps_transfers_fini(ps_transfers *t);

/* By its name, any case: a collective in which nobody can finish before everybody has begun. */
bool ps_is_symmetric(const char *name);

#endif

/* Which global rank has which place in a communicator. */
#ifndef PS_ANALYZE_COMMUNICATION_MATRIX_SUM_H
#define PS_ANALYZE_COMMUNICATION_MATRIX_SUM_H

#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/comm_roster.h"
#include "base/idmap.h"
#include "base/strpool.h"

typedef struct ps_link_places {
    const ps_reduce_input *in;
    const ps_comm_roster *roster;
    ps_strpool groups;
    ps_idmap loops; /* group << 32 | place -> index of the rank */
} ps_link_places;

/* Partials are ps_comm_part with their links; they and the roster must outlive it. PS_NOMEM only; end with
 * ps_link_places_fini() in any case. */
PS_MUST_USE ps_code ps_link_places_init(ps_link_places *p, const ps_reduce_input *in,
                                        const ps_comm_roster *roster, ps_err *err);
void ps_link_places_fini(ps_link_places *p);
/* The global rank, or -1. `group` is the key (ps_comm_key). */
int64_t ps_link_places_rank(const ps_link_places *p, const char *group, int64_t place);

#endif

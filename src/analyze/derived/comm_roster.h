/* Which ranks make up which communicator, as all ranks of a run and the metadata together tell it. */
#ifndef PS_ANALYZE_COMM_ROSTER_H
#define PS_ANALYZE_COMM_ROSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/comm_part.h"
#include "base/idmap.h"
#include "base/strpool.h"

typedef struct ps_roster_group {
    const char *key;   /* decimal hash, see ps_comm_key */
    const char *id;    /* name of the communicator, "" unknown */
    const char *label; /* "dp", "" unknown */
    bool
        is_p2p; /* what is sent and received in it; a communicator with both kinds has two entries */
    int64_t *ranks; /* seen in it, ascending; those of the metadata where it names any */
    size_t n_ranks, cap_ranks;
    const ps_comm_group *fact; /* of the metadata, or NULL; places are indices into its ranks */
} ps_roster_group;

typedef struct ps_comm_roster {
    ps_roster_group *groups; /* collectives first, then by lowest rank, number of ranks and key */
    size_t n, cap;
    ps_strpool strings;
    ps_idmap facts; /* id of the key -> index in all_facts */
    ps_idmap names; /* id of the key -> id of the name that operators have */
    const ps_comm_group **all_facts;
    size_t n_facts, cap_facts;
} ps_comm_roster;

/* Partials are ps_comm_part, which must outlive it; groups of the profiler's statistics where a rank has them, else those
 * of its operators. PS_NOMEM only; end with ps_comm_roster_fini() in any case. */
PS_MUST_USE ps_code ps_comm_roster_build(const ps_reduce_input *in, ps_comm_roster *out,
                                         ps_err *err);
void ps_comm_roster_fini(ps_comm_roster *r);
/* What the metadata says of a communicator, by key; NULL when nothing. */
const ps_comm_group *ps_comm_roster_fact(const ps_comm_roster *r, const char *key);

#endif

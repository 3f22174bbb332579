/* Where each rank of a job stands in its pipeline, when labels and transfers can tell what metadata does not. */
#ifndef PS_ANALYZE_JOB_PLACES_H
#define PS_ANALYZE_JOB_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"

#define PS_MAX_RANK_CHUNKS 64

/* What is known of one rank. */
typedef struct ps_rank_place_facts {
    const ps_rank_facts *facts; /* or NULL */
    int64_t rank;               /* global, -1 unknown */
    bool is_in;                 /* it has ops; the others get no place */
    int32_t
        stages[PS_MAX_RANK_CHUNKS]; /* of the whole model, ascending: those that its labels name */
    size_t n_stages;
} ps_rank_place_facts;

/* Two ranks (rows) that exchange transfers with one another. */
typedef struct ps_rank_pair {
    uint32_t a, b;
} ps_rank_pair;

typedef struct ps_places {
    ps_place *places;       /* [n] -1 unknown */
    int32_t n_stages;       /* of a pipeline, 0 when no rank has a place */
    int32_t n_chunks;       /* at most on one rank */
    const char *const *how; /* static, [languages]: by what the places were found */
    bool is_guess;          /* only the order of the ranks spoke */
} ps_places;

/* In this order: sizes the user gave; stages in the labels; process groups; sizes in metadata; who exchanges with whom;
 * the order of the ranks. Ranks of equal stages are replicas: each is of a pipeline of its own, in rank order.
 * PS_NOMEM only; end with ps_places_fini(). */
PS_MUST_USE ps_code ps_places_find(const ps_rank_place_facts *ranks, size_t n, const ps_job *job,
                                   const ps_rank_pair *pairs, size_t n_pairs, ps_places *out,
                                   ps_err *err);
void ps_places_fini(ps_places *p);

#endif

/* The split of a model's layers over pieces with the shortest step, under limits: the one search, by a judge that knows what a step
 * is (layer_split.h: a schedule on paper; split_plan.h: the measured ops).
 *
 * The step of a split is the longest path through its ops, and the length of a path grows with the layers of each piece by as much
 * as the path runs through it: step(split) = max over paths of base + sum of coefficient x layers. Each step that is asked for
 * tells one such path, and no split can be shorter than any path that is known. So:
 *
 *   1. the split that there is, and the one whose slowest place is fastest (each layer to the place that is fastest with it: exact);
 *   2. a layer from any piece to any other as long as the step gets shorter, the neighbour first that the known paths allow most;
 *   3. splits that all known paths allow to be shorter, until there is none: then the best one is proven, or the work that was
 *      granted is done.
 *
 * Work is counted, not timed: the same question has the same answer everywhere. */
#ifndef PS_ANALYZE_SPLIT_SEARCH_H
#define PS_ANALYZE_SPLIT_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* What is granted by default: about 0.1 s. */
#define PS_SPLIT_WORK ((size_t)20000000)
/* What an op of a step that is asked for costs. */
#define PS_SPLIT_OP_WORK 8

/* base + sum of coef x layers must not be above the limit. */
typedef struct ps_split_limit {
    int64_t *coef; /* [n_pieces], zeros */
    int64_t base, limit;
} ps_split_limit;

/* A place is what has limits and works on its pieces one after another: a device. */
typedef struct ps_split_judge {
    void *about; /* the first argument of all */
    int32_t n_pieces, n_layers, n_places;
    int32_t least;      /* layers that each piece has at least */
    const int32_t *now; /* [n_pieces] the split that there is; NULL: none */
    size_t cost;        /* of a step, in work */
    /* The step of a split, and by how much its longest path grows with a layer of each piece (coef[n_pieces], zeros). */
    ps_code (*step)(void *about, const int32_t *layers, int64_t *coef, int64_t *step_ns,
                    ps_err *err);
    /* The limit that the place breaks into *broken, where it is not NULL. */
    bool (*keeps_limit)(void *about, const int32_t *layers, int32_t place, ps_split_limit *broken);
    /* The piece of a place that a further layer goes to. */
    int32_t (*next_piece)(void *about, const int32_t *layers, int32_t place);
    /* Of the places that have the piece: the busiest, and whether they keep their limits. */
    bool (*busy)(void *about, const int32_t *layers, int32_t piece, int64_t *busy_ns);
} ps_split_judge;

typedef struct ps_layer_split {
    int32_t n_pieces;
    int32_t *layers; /* [n_pieces] along the way through the model */
    int64_t step_ns; /* from the first op to the last */
    size_t n_tried;  /* splits whose step was asked for */
    bool is_proven;  /* no other split within the limits has a shorter step */
} ps_layer_split;

/* PS_NOTHING when no split keeps the limits, PS_NOMEM, and what the judge fails with. End with ps_layer_split_fini() in any case. */
PS_MUST_USE ps_code ps_split_search(const ps_split_judge *judge, size_t work, ps_layer_split *out,
                                    ps_err *err);
void ps_layer_split_fini(ps_layer_split *s);

#endif

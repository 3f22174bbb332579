/* A piece for a few lanes (step_graph_lanes.h), as functions of the file that includes this: once for each width of vectors. */
#ifndef PS_SCHEDULE_STEP_GRAPH_LANES_BLOCK_H
#define PS_SCHEDULE_STEP_GRAPH_LANES_BLOCK_H

#include <string.h>

#include "schedule/step_graph_lanes.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* As many lanes as a vector of the machine has. */
#if defined(__AVX512F__)
enum { WIDTH = 8 };
#elif defined(__AVX2__)
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
typedef double lane_vector __attribute__((vector_size(8 * WIDTH)));
typedef int64_t lane_bits __attribute__((vector_size(8 * WIDTH)));

ALWAYS_INLINE lane_vector later_of(lane_vector a, lane_vector b) {
#if defined(__AVX512F__)
    return _mm512_max_pd(a, b);
#elif defined(__AVX2__)
    return _mm256_max_pd(a, b);
#else
    lane_bits is_later = b > a;
    return (lane_vector)((is_later & (lane_bits)b) | (~is_later & (lane_bits)a));
#endif
}

/* All bits of each lane whose bit is set in `own`. */
ALWAYS_INLINE lane_bits mask_of(uint32_t own) {
    lane_bits bit;
    for (int k = 0; k < WIDTH; k++) {
        bit[k] = INT64_C(1) << k;
    }
    return (bit & (int64_t)own) == bit;
}

/* Unrolled, so that all of them stay in registers. */
#define EACH(v, n) _Pragma("GCC unroll 4") for (size_t v = 0; v < (n); v++)

/* The latest end of what the op waits for, where that is later than `start`. */
ALWAYS_INLINE const uint32_t *raise_starts(const lane_vector *ends, const uint32_t *on,
                                           const bool *is_far, double lag_ns, uint32_t n_waits,
                                           lane_vector *start, const size_t n) {
    for (uint32_t w = 0; w < n_waits; w++) {
        const lane_vector *arrival = ends + (size_t)on[w] * n;
        double lag = is_far != NULL && is_far[w] ? lag_ns : 0;
        EACH(v, n) {
            start[v] = later_of(start[v], is_far != NULL ? arrival[v] + lag : arrival[v]);
        }
    }
    return on + n_waits;
}

/* n, the number of vectors, is known where this is called. */
ALWAYS_INLINE void run_block(ps_lane_block *b, const size_t n, const bool any_far) {
    lane_vector *ends = (lane_vector *)(void *)b->ends;
    lane_vector latest[PS_BLOCK_VECTORS] = {{0}};
    lane_vector last[PS_BLOCK_VECTORS] = {{0}};
    const uint32_t *on = b->waits;
    for (uint32_t i = 0; i < b->n;) {
        lane_vector start[PS_BLOCK_VECTORS] = {{0}};
        uint32_t end = i + b->ops[i].joined;
        for (uint32_t k = i; k < end; k++) {
            const bool *is_far = any_far ? b->is_far + (on - b->waits) : NULL;
            on = raise_starts(ends, on, is_far, b->lag_ns, b->ops[k].n_waits, start, n);
        }
        for (; i < end; i++) {
            const ps_lane_cell *cell = &b->cells[b->ops[i].cell];
            double more = b->duration_ns[i] - cell->usual_ns;
            lane_vector *to = ends + (size_t)b->ops[i].place * n;
            lane_vector t[PS_BLOCK_VECTORS];
            EACH(v, n) {
                lane_bits own = mask_of(cell->own >> WIDTH * v);
                lane_vector all = (lane_vector){0} + more;
                t[v] = start[v] + (cell->usual_ns + (lane_vector)(own & (lane_bits)all));
                to[v] = t[v];
                latest[v] = later_of(latest[v], t[v]);
            }
            if (cell->is_asked) {
                EACH(v, n) {
                    last[v] = later_of(last[v], t[v]);
                }
            }
        }
    }
    memcpy(b->end_ns, last, n * sizeof *last);
    memcpy(b->latest_ns, latest, n * sizeof *latest);
}

ALWAYS_INLINE void run_block_of(ps_lane_block *b, size_t n_vectors, const bool any_far) {
    switch (n_vectors) {
    case 1:
        run_block(b, 1, any_far);
        break;
    case 2:
        run_block(b, 2, any_far);
        break;
    case 3:
        run_block(b, 3, any_far);
        break;
    default:
        run_block(b, 4, any_far);
        break;
    }
}

static inline void run_blocks(ps_lane_block *b, size_t n_vectors) {
    if (b->is_far != NULL) {
        run_block_of(b, n_vectors, true);
    } else {
        run_block_of(b, n_vectors, false);
    }
}

#endif

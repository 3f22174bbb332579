/* A small seeded generator (SplitMix64): the same numbers on every machine, for simulated profiles. */
#ifndef PS_BASE_RNG_H
#define PS_BASE_RNG_H

#include <stdint.h>

typedef struct ps_rng {
    uint64_t state;
} ps_rng;

static inline ps_rng ps_rng_seed(uint64_t seed) {
    return (ps_rng){seed};
}

static inline uint64_t ps_rng_next(ps_rng *r) {
    uint64_t z = (r->state += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Uniform in [0, n), n > 0 (up to a bias of n / 2^64). */
static inline uint64_t ps_rng_below(ps_rng *r, uint64_t n) {
    return ps_rng_next(r) % n;
}

#endif

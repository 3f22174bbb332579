/* XXH3 from libxxhash, used inline: the hash is small and called once per new string. */
#ifndef PS_BASE_HASH_H
#define PS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 64-bit hash of n bytes; the same on every machine and in every run. */
uint64_t ps_hash64(const void *bytes, size_t n);

/* For slots of hash tables only: a number drawn once per process, so that no input can choose keys that collide.
 * Nothing that is written may depend on it. Any thread may call these. */
uint64_t ps_hash_seed(void);
uint64_t ps_hash64_seeded(const void *bytes, size_t n);

/* Mixes one integer key. */
static inline uint64_t ps_hash_u64(uint64_t x) {
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    return x;
}

/* The same under a seed, for slots. Keys that differ in their upper bits only must part too: the product of an odd
 * secret carries them to the top, and the second round brings the top down. */
static inline uint64_t ps_hash_u64_seeded(uint64_t x, uint64_t seed) {
    x = (x ^ (x >> 32) ^ seed) * (seed | 1);
    x = (x ^ (x >> 32)) * 0x9E3779B97F4A7C15u;
    return x ^ (x >> 32);
}

#endif

/* XXH3 from libxxhash, used inline: the hash is small and called once per new string. */
#ifndef PS_BASE_HASH_H
#define PS_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 64-bit hash of n bytes; the same on every machine. */
uint64_t ps_hash64(const void *bytes, size_t n);

/* Mixes one integer key. */
static inline uint64_t ps_hash_u64(uint64_t x) {
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    x ^= x >> 29;
    return x;
}

#endif

#include "base/hash.h"

#include <pthread.h>
#include <time.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/random.h"

static uint64_t seed;
static pthread_once_t seed_once = PTHREAD_ONCE_INIT;

/* Without random bytes from the system (early at boot, or forbidden) time and the place in memory must do. */
static void draw_seed(void) {
    if (!ps_random_bytes(&seed, sizeof seed)) {
        struct timespec now = {0};
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        seed = XXH3_64bits_withSeed(&now, sizeof now, (uint64_t)(uintptr_t)&now);
    }
}

uint64_t ps_hash_seed(void) {
    (void)pthread_once(&seed_once, draw_seed);
    return seed;
}

uint64_t ps_hash64(const void *bytes, size_t n) {
    return XXH3_64bits(bytes, n);
}

uint64_t ps_hash64_seeded(const void *bytes, size_t n) {
    return XXH3_64bits_withSeed(bytes, n, ps_hash_seed());
}

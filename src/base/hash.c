#include "base/hash.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t ps_hash64(const void *bytes, size_t n) {
    return XXH3_64bits(bytes, n);
}

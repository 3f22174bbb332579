/* A map from 64-bit keys to 32-bit values (row numbers, string ids). {0} is an empty one. No removal, and no walk over the entries: their
 * order differs from run to run (hash.h).
 *
 * Ids of profiles mostly are counted up. Keys of which at least a quarter of their range is there lie in an array by key, a look instead of a
 * search; others, and all as long as they are few, in a hash table. The map changes from one to the other as it grows, and takes no more
 * memory than the hash table would. */
#ifndef PS_BASE_IDMAP_H
#define PS_BASE_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

#define PS_IDMAP_NONE UINT32_MAX

typedef struct ps_idmap_slot {
    uint64_t key;
    uint32_t value; /* PS_IDMAP_NONE: the slot is free */
    uint32_t reserved;
} ps_idmap_slot;

typedef struct ps_idmap {
    uint32_t *
        values; /* [n_values]: of the keys from `first` on, PS_IDMAP_NONE: none; NULL: the slots have them */
    uint64_t first;
    size_t n_values;
    ps_idmap_slot *slots; /* n_slots a power of two, or 0 */
    size_t n_slots, n;
    uint64_t seed;
    uint64_t min_key, max_key; /* of the keys inside; lets most misses end early */
} ps_idmap;

void ps_idmap_init(ps_idmap *m);
void ps_idmap_fini(ps_idmap *m);

/* Sets the value of `key` (value < PS_IDMAP_NONE), replacing an earlier one. False when memory is out. */
bool ps_idmap_put(ps_idmap *m, uint64_t key, uint32_t value);

/* The value, or PS_IDMAP_NONE. */
static inline uint32_t ps_idmap_get(const ps_idmap *m, uint64_t key) {
    if (m->values != NULL) {
        uint64_t place = key - m->first; /* far away for keys before the first */
        return place < m->n_values ? m->values[place] : PS_IDMAP_NONE;
    }
    if (m->n == 0 || key < m->min_key || key > m->max_key) {
        return PS_IDMAP_NONE;
    }
    size_t mask = m->n_slots - 1;
    size_t i = (size_t)ps_hash_u64_seeded(key, m->seed) & mask;
    while (m->slots[i].value != PS_IDMAP_NONE) {
        if (m->slots[i].key == key) {
            return m->slots[i].value;
        }
        i = (i + 1) & mask;
    }
    return PS_IDMAP_NONE;
}

#endif

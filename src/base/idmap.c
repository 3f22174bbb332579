#include "base/idmap.h"

#include <string.h>

#include "base/alloc.h"

/* A key takes 4 bytes in the array for each one of its range, with room at both ends as much again: 8 * 4; in the table 16 for each slot, of
 * which 2 to 4 belong to a key. */
enum { MOST_RANGE_PER_KEY = 4, FEWEST_SLOTS = 64 };

void ps_idmap_init(ps_idmap *m) {
    *m = (ps_idmap){0};
}

void ps_idmap_fini(ps_idmap *m) {
    ps_free(m->values);
    ps_free(m->slots);
    ps_idmap_init(m);
}

/* --- the hash table ------------------------------------------------------------------------------------------------ */

static ps_idmap_slot *idmap_slot_of(ps_idmap_slot *slots, size_t n_slots, uint64_t key,
                                    uint64_t seed) {
    size_t mask = n_slots - 1;
    size_t i = (size_t)ps_hash_u64_seeded(key, seed) & mask;
    while (slots[i].value != PS_IDMAP_NONE && slots[i].key != key) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

static ps_idmap_slot *new_idmap_slots(size_t n_slots) {
    ps_idmap_slot *slots = ps_realloc_array(NULL, n_slots, sizeof *slots);
    for (size_t i = 0; slots != NULL && i < n_slots; i++) {
        slots[i] = (ps_idmap_slot){.value = PS_IDMAP_NONE};
    }
    return slots;
}

static bool grow_idmap_slots(ps_idmap *m) {
    size_t n_slots = m->n_slots > 0 ? m->n_slots * 2 : FEWEST_SLOTS;
    m->seed = ps_hash_seed();
    ps_idmap_slot *slots = new_idmap_slots(n_slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->slots[i].value != PS_IDMAP_NONE) {
            *idmap_slot_of(slots, n_slots, m->slots[i].key, m->seed) = m->slots[i];
        }
    }
    ps_free(m->slots);
    m->slots = slots;
    m->n_slots = n_slots;
    return true;
}

/* --- the array ----------------------------------------------------------------------------------------------------- */

/* Whether `n` keys from `least` to `most` are dense enough. */
static bool is_idmap_dense(uint64_t least, uint64_t most, size_t n) {
    return (most - least) / MOST_RANGE_PER_KEY < n;
}

/* An array for the keys from `least` to `most`, with half of that more at each end: whatever way they grow, it is moved seldom. */
static bool make_idmap_array(ps_idmap *m, uint64_t least, uint64_t most) {
    uint64_t room = (most - least) / 2 + 1;
    uint64_t first = least - (room < least ? room : least);
    uint64_t last = most + (room < UINT64_MAX - most ? room : UINT64_MAX - most);
    uint32_t *values = ps_realloc_array(NULL, (size_t)(last - first) + 1, sizeof *values);
    if (values == NULL) {
        return false;
    }
    (void)memset(values, 0xFF, ((size_t)(last - first) + 1) * sizeof *values);
    if (m->values != NULL) { /* what was there lies between the ends that were */
        (void)memcpy(values + (m->min_key - first), m->values + (m->min_key - m->first),
                     ((size_t)(m->max_key - m->min_key) + 1) * sizeof *values);
    }
    for (size_t i = 0; i < m->n_slots; i++) {
        if (m->slots[i].value != PS_IDMAP_NONE) {
            values[m->slots[i].key - first] = m->slots[i].value;
        }
    }
    ps_free(m->values);
    ps_free(m->slots);
    m->values = values;
    m->first = first;
    m->n_values = (size_t)(last - first) + 1;
    m->slots = NULL;
    m->n_slots = 0;
    return true;
}

static bool leave_idmap_array(ps_idmap *m) {
    size_t n_slots = FEWEST_SLOTS;
    while (n_slots <= m->n * 2) {
        n_slots *= 2;
    }
    m->seed = ps_hash_seed();
    ps_idmap_slot *slots = new_idmap_slots(n_slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < m->n_values; i++) {
        if (m->values[i] != PS_IDMAP_NONE) {
            uint64_t key = m->first + i;
            *idmap_slot_of(slots, n_slots, key, m->seed) =
                (ps_idmap_slot){.key = key, .value = m->values[i]};
        }
    }
    ps_free(m->values);
    m->values = NULL;
    m->slots = slots;
    m->n_slots = n_slots;
    return true;
}

/* --- both ---------------------------------------------------------------------------------------------------------- */

/* Makes room for one key more. */
static bool make_idmap_room(ps_idmap *m, uint64_t key) {
    if (m->values == NULL && m->n * 2 < m->n_slots) {
        return true;
    }
    if (m->values != NULL && key - m->first < m->n_values) {
        return true;
    }
    uint64_t least = key < m->min_key ? key : m->min_key;
    uint64_t most = key > m->max_key ? key : m->max_key;
    if (m->n > 0 && is_idmap_dense(least, most, m->n)) {
        return make_idmap_array(m, least, most);
    }
    return m->values != NULL ? leave_idmap_array(m) : grow_idmap_slots(m);
}

bool ps_idmap_put(ps_idmap *m, uint64_t key, uint32_t value) {
    if (!make_idmap_room(m, key)) {
        return false;
    }
    ps_idmap_slot *slot =
        m->values == NULL ? idmap_slot_of(m->slots, m->n_slots, key, m->seed) : NULL;
    uint32_t *held = slot != NULL ? &slot->value : &m->values[key - m->first];
    if (*held == PS_IDMAP_NONE) {
        m->min_key = key < m->min_key || m->n == 0 ? key : m->min_key;
        m->max_key = key > m->max_key || m->n == 0 ? key : m->max_key;
        m->n++;
    }
    *held = value;
    if (slot != NULL) {
        slot->key = key;
    }
    return true;
}

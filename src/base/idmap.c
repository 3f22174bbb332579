#include "base/idmap.h"

#include "base/alloc.h"

void ps_idmap_init(ps_idmap *m) {
    *m = (ps_idmap){0};
}

void ps_idmap_fini(ps_idmap *m) {
    ps_free(m->slots);
    ps_idmap_init(m);
}

static ps_idmap_slot *idmap_slot_of(ps_idmap_slot *slots, size_t n_slots, uint64_t key,
                                    uint64_t seed) {
    size_t mask = n_slots - 1;
    size_t i = (size_t)ps_hash_u64_seeded(key, seed) & mask;
    while (slots[i].value != PS_IDMAP_NONE && slots[i].key != key) {
        i = (i + 1) & mask;
    }
    return &slots[i];
}

static bool grow_idmap(ps_idmap *m) {
    size_t n_slots = m->n_slots > 0 ? m->n_slots * 2 : 64;
    m->seed = ps_hash_seed();
    ps_idmap_slot *slots = ps_realloc_array(NULL, n_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < n_slots; i++) {
        slots[i] = (ps_idmap_slot){.value = PS_IDMAP_NONE};
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

bool ps_idmap_put(ps_idmap *m, uint64_t key, uint32_t value) {
    if (m->n * 2 >= m->n_slots && !grow_idmap(m)) {
        return false;
    }
    ps_idmap_slot *slot = idmap_slot_of(m->slots, m->n_slots, key, m->seed);
    if (slot->value == PS_IDMAP_NONE) {
        m->min_key = key < m->min_key || m->n == 0 ? key : m->min_key;
        m->max_key = key > m->max_key ? key : m->max_key;
        m->n++;
    }
    *slot = (ps_idmap_slot){.key = key, .value = value};
    return true;
}

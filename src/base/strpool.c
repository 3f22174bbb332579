#include "base/strpool.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"

#define MAX_STRINGS ((size_t)1 << 31)

bool ps_strpool_init(ps_strpool *p) {
    *p = (ps_strpool){.n_slots = 64};
    ps_arena_init(&p->text);
    p->slots = ps_calloc(p->n_slots, sizeof *p->slots);
    if (p->slots == NULL) {
        return false;
    }
    p->cap = 16;
    p->strings = ps_calloc(p->cap, sizeof *p->strings);
    p->lengths = ps_calloc(p->cap, sizeof *p->lengths);
    p->hashes = ps_calloc(p->cap, sizeof *p->hashes);
    if (p->strings == NULL || p->lengths == NULL || p->hashes == NULL) {
        ps_strpool_fini(p);
        return false;
    }
    p->strings[0] = "";
    p->n = 1;
    return true;
}

void ps_strpool_fini(ps_strpool *p) {
    ps_arena_fini(&p->text);
    ps_free(p->strings);
    ps_free(p->lengths);
    ps_free(p->hashes);
    ps_free(p->slots);
    *p = (ps_strpool){0};
}

/* The slot that holds the text, or the free one where it belongs. */
static size_t find_slot(const ps_strpool *p, uint32_t hash, const char *s, size_t n) {
    size_t mask = p->n_slots - 1;
    size_t slot = hash & mask;
    while (p->slots[slot] != 0) {
        uint32_t id = p->slots[slot];
        if (p->hashes[id] == hash && p->lengths[id] == n && memcmp(p->strings[id], s, n) == 0) {
            break;
        }
        slot = (slot + 1) & mask;
    }
    return slot;
}

static bool grow_strpool_slots(ps_strpool *p) {
    size_t n_slots = p->n_slots * 2;
    uint32_t *slots = ps_calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (uint32_t id = 1; id < p->n; id++) {
        size_t slot = p->hashes[id] & (n_slots - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (n_slots - 1);
        }
        slots[slot] = id;
    }
    ps_free(p->slots);
    p->slots = slots;
    p->n_slots = n_slots;
    return true;
}

static bool grow_columns(ps_strpool *p) {
    size_t cap_strings = p->cap;
    size_t cap_lengths = p->cap;
    size_t cap_hashes = p->cap;
    if (!ps_grow(&p->strings, &cap_strings, p->n + 1, MAX_STRINGS, sizeof *p->strings) ||
        !ps_grow(&p->lengths, &cap_lengths, p->n + 1, MAX_STRINGS, sizeof *p->lengths) ||
        !ps_grow(&p->hashes, &cap_hashes, p->n + 1, MAX_STRINGS, sizeof *p->hashes)) {
        return false; /* columns that did grow are merely larger than `cap` says */
    }
    p->cap = cap_strings;
    return true;
}

ps_str ps_strpool_add(ps_strpool *p, const char *s, size_t n) {
    uint32_t hash = (uint32_t)ps_hash64_seeded(s, n);
    size_t slot = find_slot(p, hash, s, n);
    if (p->slots[slot] != 0) {
        return (ps_str){p->slots[slot]};
    }
    if (n >= UINT32_MAX || (p->n == p->cap && !grow_columns(p))) {
        return PS_STR_NONE;
    }
    if (p->n * 10 >= p->n_slots * 7) {
        if (!grow_strpool_slots(p)) {
            return PS_STR_NONE;
        }
        slot = find_slot(p, hash, s, n);
    }
    char *copy = ps_arena_strndup(&p->text, s, n);
    if (copy == NULL) {
        return PS_STR_NONE;
    }
    uint32_t id = (uint32_t)p->n++;
    p->strings[id] = copy;
    p->lengths[id] = (uint32_t)n;
    p->hashes[id] = hash;
    p->slots[slot] = id;
    return (ps_str){id};
}

ps_str ps_strpool_find(const ps_strpool *p, const char *s, size_t n) {
    return (ps_str){p->slots[find_slot(p, (uint32_t)ps_hash64_seeded(s, n), s, n)]};
}

const char *ps_strpool_get(const ps_strpool *p, ps_str s) {
    return s.id < p->n ? p->strings[s.id] : "";
}

size_t ps_strpool_len(const ps_strpool *p, ps_str s) {
    return s.id < p->n ? p->lengths[s.id] : 0;
}

#include "record/export/texts.h"

#include <string.h>

#include "base/alloc.h"

void ps_texts_init(ps_texts *t) {
    *t = (ps_texts){.n = 0};
    ps_arena_init(&t->bytes);
}

void ps_texts_fini(ps_texts *t) {
    ps_arena_fini(&t->bytes);
    ps_free(t->text);
    ps_free(t->length);
    ps_free(t->hash);
    ps_free(t->slots);
    *t = (ps_texts){.n = 0};
}

/* Eight bytes at a time; numbers do not depend on it, only where a text is looked for. */
static uint32_t hash_of(const char *text, size_t n) {
    const uint64_t factor = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t h = n * factor;
    while (n >= 8) {
        uint64_t word;
        memcpy(&word, text, 8);
        h = (h ^ word) * factor;
        h ^= h >> 29;
        text += 8;
        n -= 8;
    }
    uint64_t rest = 0;
    memcpy(&rest, text, n);
    h = (h ^ rest) * factor;
    h ^= h >> 32;
    h *= factor;
    return (uint32_t)(h >> 32);
}

static size_t text_slot_of(const ps_texts *t, uint32_t hash, const char *text, size_t n) {
    size_t mask = t->n_slots - 1;
    size_t i = hash & mask;
    for (; t->slots[i] != 0; i = (i + 1) & mask) {
        uint32_t id = t->slots[i] - 1;
        if (t->hash[id] == hash && t->length[id] == n && memcmp(t->text[id], text, n) == 0) {
            break;
        }
    }
    return i;
}

static bool grow_text_slots(ps_texts *t) {
    size_t n_slots = t->n_slots == 0 ? 1024 : t->n_slots * 2;
    uint32_t *slots = ps_calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t id = 0; id < t->n; id++) {
        size_t i = t->hash[id] & (n_slots - 1);
        while (slots[i] != 0) {
            i = (i + 1) & (n_slots - 1);
        }
        slots[i] = (uint32_t)id + 1;
    }
    ps_free(t->slots);
    t->slots = slots;
    t->n_slots = n_slots;
    return true;
}

static uint32_t put_text(ps_texts *t, const char *text, size_t n, bool copies) {
    if (n > UINT32_MAX - 1 || ((t->n + 1) * 2 > t->n_slots && !grow_text_slots(t))) {
        return PS_TEXTS_NO_MEMORY;
    }
    uint32_t hash = hash_of(text, n);
    size_t slot = text_slot_of(t, hash, text, n);
    if (t->slots[slot] != 0) {
        return t->slots[slot] - 1;
    }
    if (t->most > 0 && t->n >= t->most) {
        return PS_TEXTS_FULL;
    }
    const size_t most = UINT32_MAX - 2;
    if (!ps_grow(&t->text, &t->cap_text, t->n + 1, most, sizeof *t->text) ||
        !ps_grow(&t->length, &t->cap_length, t->n + 1, most, sizeof *t->length) ||
        !ps_grow(&t->hash, &t->cap_hash, t->n + 1, most, sizeof *t->hash)) {
        return PS_TEXTS_NO_MEMORY;
    }
    const char *kept = copies ? ps_arena_strndup(&t->bytes, text, n) : text;
    if (kept == NULL) {
        return PS_TEXTS_NO_MEMORY;
    }
    uint32_t id = (uint32_t)t->n++;
    t->text[id] = kept;
    t->length[id] = (uint32_t)n;
    t->hash[id] = hash;
    t->slots[slot] = id + 1;
    return id;
}

uint32_t ps_texts_add(ps_texts *t, const char *text, size_t n) {
    return put_text(t, text, n, true);
}

uint32_t ps_texts_refer(ps_texts *t, const char *text, size_t n) {
    return put_text(t, text, n, false);
}

uint64_t ps_stable_hash(const char *text) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (; *text != '\0'; text++) {
        h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return h;
}

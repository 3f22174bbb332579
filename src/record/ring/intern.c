#include "record/ring/intern.h"

#include <string.h>

#include "record/ring/format.h"

/* The 128 bits of a product folded to 64: every bit of both factors reaches the middle of it. */
static inline uint64_t fold_intern(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t load8(const char *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}

/* Up to 8 bytes as a number. The length goes into the hash by itself. */
static inline uint64_t load_few(const char *p, size_t n) {
    if (n >= 4) {
        uint32_t first;
        uint32_t last;
        memcpy(&first, p, 4);
        memcpy(&last, p + n - 4, 4);
        return (uint64_t)first << 32 | last;
    }
    return n == 0 ? 0
                  : (uint64_t)(unsigned char)p[0] << 16 | (uint64_t)(unsigned char)p[n / 2] << 8 |
                        (unsigned char)p[n - 1];
}

#define K1 0x9e3779b97f4a7c15u
#define K2 0xd6e8feb86659fd93u

uint64_t ps_intern_hash(const char *text, size_t length) {
    uint64_t h = K1 ^ (uint64_t)length;
    size_t i = 0;
    for (; i + 16 < length; i += 16) {
        h = fold_intern(load8(text + i) ^ h, load8(text + i + 8) ^ K2);
    }
    /* The last 1 to 16 bytes, overlapping those before where that saves a branch. */
    if (length > 8) {
        size_t last = length < 16 ? 0 : length - 16;
        h = fold_intern(load8(text + last) ^ h, load8(text + length - 8) ^ K2);
    } else {
        h = fold_intern(load_few(text, length) ^ h, K2);
    }
    return fold_intern(h ^ K2, K1);
}

/* The entry that was used longest ago, an empty one first. */
static unsigned intern_oldest(const ps_intern *table, const ps_intern_entry *entries) {
    unsigned worst = 0;
    for (unsigned way = 0; way < PS_INTERN_WAYS; way++) {
        if (entries[way].id == 0) {
            return way;
        }
        if ((uint16_t)(table->clock - entries[way].used) >
            (uint16_t)(table->clock - entries[worst].used)) {
            worst = way;
        }
    }
    return worst;
}

static uint32_t new_id(ps_intern *table) {
    if (table->next_id == 0 || table->next_id >= PS_TEXT_SHARED) {
        memset(table->sets, 0, sizeof table->sets); /* ids begin anew: none may be left */
        table->next_id = 1;
    }
    return table->next_id++;
}

uint32_t ps_intern_text(ps_intern *table, const char *text, size_t length, bool *is_new) {
    if (length > PS_INTERN_TEXT) {
        *is_new = true;
        return new_id(table);
    }
    uint64_t hash = ps_intern_hash(text, length);
    ps_intern_set *set = &table->sets[hash >> 32 & (PS_INTERN_SETS - 1)];
    table->clock++;
    for (unsigned way = 0; way < PS_INTERN_WAYS; way++) {
        ps_intern_entry *entry = &set->entries[way];
        if (entry->hash == hash && entry->id != 0 && entry->length == length &&
            memcmp(set->texts[way], text, length) == 0) {
            entry->used = table->clock;
            *is_new = false;
            return entry->id;
        }
    }
    uint32_t id = new_id(table);
    unsigned way = intern_oldest(table, set->entries);
    set->entries[way] =
        (ps_intern_entry){.hash = hash, .id = id, .length = (uint16_t)length, .used = table->clock};
    memcpy(set->texts[way], text, length);
    *is_new = true;
    return id;
}

void ps_intern_reset(ps_intern *table) {
    memset(table, 0, sizeof *table);
}

/* A thread's table of texts it has used lately: 512 sets of four entries, the oldest of a set goes. Compared by all their
 * bytes: callers reuse their buffers, so a pointer says nothing. Texts longer than an entry are not kept: they are
 * defined anew with each use. */
#ifndef PS_RECORD_INTERN_H
#define PS_RECORD_INTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PS_INTERN_SETS = 512, PS_INTERN_WAYS = 4, PS_INTERN_TEXT = 112 };

typedef struct ps_intern_entry {
    uint64_t hash;
    uint32_t id;           /* 0 empty */
    uint16_t length, used; /* `used`: when in its set, for replacing */
} ps_intern_entry;

/* A new text looks at all entries of its set, and none of their texts: the entries share a cache line. */
typedef struct ps_intern_set {
    _Alignas(64) ps_intern_entry entries[PS_INTERN_WAYS];
    char texts[PS_INTERN_WAYS][PS_INTERN_TEXT];
} ps_intern_set;

typedef struct ps_intern {
    uint32_t
        next_id; /* 1, 2 ... below PS_TEXT_SHARED; a new ring begins anew. 0 in a table that is all zero */
    uint16_t clock; /* lookups, for `used` */
    ps_intern_set sets[PS_INTERN_SETS];
} ps_intern;

/* The number of the text. *is_new: it must be defined in the ring before it is used. An all-zero table is empty. */
uint32_t ps_intern_text(ps_intern *table, const char *text, size_t length, bool *is_new);
void ps_intern_reset(ps_intern *table);

/* Of any bytes; also for other tables of texts. */
uint64_t ps_intern_hash(const char *text, size_t length);

#endif

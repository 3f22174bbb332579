/* Interned strings: equal text <=> equal id within one pool. Id 0 is "none". Ids depend on who came first,
 * so they are never sorted by and never printed. */
#ifndef PS_BASE_STRPOOL_H
#define PS_BASE_STRPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* A struct around the id, so that the compiler tells it from a row number. */
typedef struct ps_str {
    uint32_t id;
} ps_str;

#define PS_STR_NONE ((ps_str){0})

typedef struct ps_strpool {
    ps_arena text;
    const char **strings; /* [n]; strings[0] is "" */
    uint32_t *lengths;    /* [n] bytes */
    uint32_t *hashes;     /* [n] */
    uint32_t *slots;      /* open addressing, n_slots a power of two, 0 = free */
    size_t n, cap, n_slots;
} ps_strpool;

/* False when memory is out. */
bool ps_strpool_init(ps_strpool *p);
void ps_strpool_fini(ps_strpool *p);

/* The id of `n` bytes, added when new. PS_STR_NONE when memory is out; the empty string has an id too. */
ps_str ps_strpool_add(ps_strpool *p, const char *s, size_t n);

/* The id when the text is there, else PS_STR_NONE. */
ps_str ps_strpool_find(const ps_strpool *p, const char *s, size_t n);

/* The text, zero-terminated, "" for none; lives as long as the pool. */
const char *ps_strpool_get(const ps_strpool *p, ps_str s);
size_t ps_strpool_len(const ps_strpool *p, ps_str s);

static inline bool ps_str_is_none(ps_str s) {
    return s.id == 0;
}

static inline bool ps_str_eq(ps_str a, ps_str b) {
    return a.id == b.id;
}

#endif

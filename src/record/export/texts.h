/* Texts, each once: equal bytes, equal number. Numbers count from 0 in the order of first use, so the same input gives the
 * same numbers. */
#ifndef PS_RECORD_TEXTS_H
#define PS_RECORD_TEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

typedef struct ps_texts {
    ps_arena bytes;
    const char **text; /* [n], zero-terminated; a text may hold zeros itself */
    uint32_t *length;
    uint32_t *hash;
    uint32_t *slots; /* open addressing: number + 1, 0 free */
    size_t n, cap_text, cap_length, cap_hash, n_slots;
    size_t most; /* texts, 0 no limit */
} ps_texts;

/* Numbers that are none. */
#define PS_TEXTS_NO_MEMORY UINT32_MAX
#define PS_TEXTS_FULL (UINT32_MAX - 1)

void ps_texts_init(ps_texts *t);
void ps_texts_fini(ps_texts *t);

/* The number of `n` bytes, copied when new. PS_TEXTS_FULL: new, and there are `most` already. */
uint32_t ps_texts_add(ps_texts *t, const char *text, size_t n);

/* The same for bytes with a zero behind them that stay as long as the texts: they are not copied. */
uint32_t ps_texts_refer(ps_texts *t, const char *text, size_t n);

/* FNV-1a: the same number for a text in every file and on every machine, for what is named after it. */
uint64_t ps_stable_hash(const char *text);

#endif

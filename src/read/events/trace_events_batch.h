/* What one block of a trace becomes: the arrays of a ps_event_batch while they grow, with the strings of the block
 * interned once. Internal to trace_events. */
#ifndef PS_READ_TRACE_EVENTS_BATCH_H
#define PS_READ_TRACE_EVENTS_BATCH_H

#include <string.h>

#include "base/arena.h"
#include "base/json_simd.h"
#include "read/events/trace_events.h"

/* How a string stands in the file. */
typedef enum ps_spelling_kind {
    PS_SPELLING_PLAIN,
    PS_SPELLING_ESCAPES, /* holds a backslash */
    PS_SPELLING_NESTED   /* no string: an array or object */
} ps_spelling_kind;

/* One spelling of a text: as it stands between its quotes. Two spellings may be one text. */
typedef struct ps_spelling {
    const char *raw; /* up to 32 bytes from here on may be read */
    uint32_t n, text;
    uint32_t hash;
    uint8_t kind; /* ps_spelling_kind */
    uint8_t odd;  /* PS_JSON_ODD_* */
} ps_spelling;

/* When a key was last met, for telling that it stands twice. */
typedef struct ps_key_seen {
    uint64_t event;
    uint32_t arg;
} ps_key_seen;

typedef struct ps_batch_build {
    ps_event *events;
    ps_event_arg *args;
    ps_event_text *texts;
    ps_key_seen *keys_seen; /* [cap_texts] */
    ps_spelling *spellings; /* [0] unused */
    uint32_t *slots;        /* open addressing over spellings, n_slots a power of two, 0 free */
    size_t n_events, cap_events, n_args, cap_args, n_texts, cap_texts, cap_keys_seen;
    size_t n_spellings, cap_spellings, n_slots;
    ps_arena unescaped;
    uint64_t seed;   /* of ps_text_hash */
    uint64_t number; /* tells it from other batches of one ps_shapes */
} ps_batch_build;

/* False when memory is out. */
bool ps_batch_build_init(ps_batch_build *b);
void ps_batch_build_fini(ps_batch_build *b);
void ps_batch_build_clear(ps_batch_build *b);

/* What a new spelling means. Strings are always good; a nested value is checked, and PS_JSON_BAD when it is no JSON. */
typedef enum ps_text_result { PS_TEXT_OK, PS_TEXT_BAD, PS_TEXT_NOMEM } ps_text_result;

/* Adds a spelling that is not there; `raw` must live as long as the batch, with PS_JSON_PAD bytes behind it. */
ps_text_result ps_batch_build_new_text(ps_batch_build *b, const char *raw, size_t n,
                                       ps_spelling_kind kind, uint32_t hash, uint32_t *text,
                                       unsigned *odd);

static inline uint64_t ps_text_mix(uint64_t a, uint64_t b) {
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t ps_text_hash_long(const char *s, size_t n, uint64_t seed);

/* For slots only; keyed by a secret seed, so that no input can choose what collides. */
static inline __attribute__((always_inline)) uint32_t ps_text_hash(const char *s, size_t n,
                                                                   uint64_t seed) {
    uint64_t a = 0;
    uint64_t b = 0;
    if (n > 32) {
        return (uint32_t)ps_text_hash_long(s, n, seed);
    }
    if (n >= 8) {
        memcpy(&a, s, 8);
        memcpy(&b, s + n - 8, 8);
        if (n > 16) {
            uint64_t c = 0;
            uint64_t d = 0;
            memcpy(&c, s + 8, 8);
            memcpy(&d, s + n - 16, 8);
            a ^= ps_text_mix(c ^ seed, d ^ 0x9E3779B97F4A7C15u);
        }
    } else if (n >= 4) {
        uint32_t low = 0;
        uint32_t high = 0;
        memcpy(&low, s, 4);
        memcpy(&high, s + n - 4, 4);
        a = low;
        b = high;
    } else if (n > 0) {
        a = (uint64_t)(uint8_t)s[0] << 16 | (uint64_t)(uint8_t)s[n / 2] << 8 | (uint8_t)s[n - 1];
    }
    uint64_t mixed = ps_text_mix(a ^ seed, b ^ (seed >> 32 | seed << 32) ^ n);
    return (uint32_t)(mixed ^ mixed >> 32);
}

/* The text of a string as it stands between its quotes, or of a nested value from bracket to bracket. *odd: what is
 * odd in it. */
static inline __attribute__((always_inline)) ps_text_result
ps_batch_build_text(ps_batch_build *b, const char *raw, size_t n, ps_spelling_kind kind,
                    uint32_t *text, unsigned *odd) {
    *text = 0;
    *odd = 0;
    if (n == 0) {
        return PS_TEXT_OK;
    }
    const uint32_t hash = ps_text_hash(raw, n, b->seed);
    const size_t mask = b->n_slots - 1;
    for (size_t slot = hash & mask; b->slots[slot] != 0; slot = (slot + 1) & mask) {
        const ps_spelling *s = &b->spellings[b->slots[slot]];
        if (s->hash == hash && s->n == n && s->kind == (uint8_t)kind &&
            ps_json_same(s->raw, raw, n)) {
            *text = s->text;
            *odd = s->odd;
            return PS_TEXT_OK;
        }
    }
    return ps_batch_build_new_text(b, raw, n, kind, hash, text, odd);
}

/* Room for one more; NULL when memory is out. Not counted yet. */
ps_event *ps_batch_build_event(ps_batch_build *b);
ps_event_arg *ps_batch_build_arg(ps_batch_build *b);

#endif

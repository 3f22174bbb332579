#include "read/events/trace_events_batch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define MAX_ROWS ((size_t)UINT32_MAX - 1)
#define FIRST_SLOTS ((size_t)4096)

bool ps_batch_build_init(ps_batch_build *b) {
    *b = (ps_batch_build){.n_slots = FIRST_SLOTS, .seed = ps_hash_seed()};
    b->slots = ps_calloc(b->n_slots, sizeof *b->slots);
    if (b->slots == NULL || !ps_grow(&b->texts, &b->cap_texts, 1, MAX_ROWS, sizeof *b->texts) ||
        !ps_grow(&b->keys_seen, &b->cap_keys_seen, b->cap_texts, MAX_ROWS, sizeof *b->keys_seen) ||
        !ps_grow(&b->spellings, &b->cap_spellings, 1, MAX_ROWS, sizeof *b->spellings)) {
        ps_batch_build_fini(b);
        return false;
    }
    ps_batch_build_clear(b);
    return true;
}

void ps_batch_build_fini(ps_batch_build *b) {
    ps_free(b->events);
    ps_free(b->args);
    ps_free(b->texts);
    ps_free(b->keys_seen);
    ps_free(b->spellings);
    ps_free(b->slots);
    ps_arena_fini(&b->unescaped);
    *b = (ps_batch_build){0};
}

void ps_batch_build_clear(ps_batch_build *b) {
    b->n_events = 0;
    b->n_args = 0;
    b->n_texts = 1;
    b->texts[0] = (ps_event_text){.bytes = ""};
    b->keys_seen[0] = (ps_key_seen){0};
    b->n_spellings = 1;
    memset(b->slots, 0, b->n_slots * sizeof *b->slots);
    ps_arena_fini(&b->unescaped);
}

ps_event *ps_batch_build_event(ps_batch_build *b) {
    bool ok = ps_grow(&b->events, &b->cap_events, b->n_events + 1, MAX_ROWS, sizeof *b->events);
    return ok ? &b->events[b->n_events] : NULL;
}

ps_event_arg *ps_batch_build_arg(ps_batch_build *b) {
    bool ok = ps_grow(&b->args, &b->cap_args, b->n_args + 1, MAX_ROWS, sizeof *b->args);
    return ok ? &b->args[b->n_args] : NULL;
}

uint64_t ps_text_hash_long(const char *s, size_t n, uint64_t seed) {
    return XXH3_64bits_withSeed(s, n, seed);
}

/* Where a new spelling belongs. */
static size_t free_slot(const ps_batch_build *b, uint32_t hash) {
    size_t mask = b->n_slots - 1;
    size_t slot = hash & mask;
    while (b->slots[slot] != 0) {
        slot = (slot + 1) & mask;
    }
    return slot;
}

static bool grow_batch_slots(ps_batch_build *b) {
    size_t n_slots = b->n_slots * 2;
    uint32_t *slots = ps_calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return false;
    }
    for (size_t i = 1; i < b->n_spellings; i++) {
        size_t slot = b->spellings[i].hash & (n_slots - 1);
        while (slots[slot] != 0) {
            slot = (slot + 1) & (n_slots - 1);
        }
        slots[slot] = (uint32_t)i;
    }
    ps_free(b->slots);
    b->slots = slots;
    b->n_slots = n_slots;
    return true;
}

static bool add_batch_text(ps_batch_build *b, const char *bytes, size_t n, uint32_t *text) {
    if (!ps_grow(&b->texts, &b->cap_texts, b->n_texts + 1, MAX_ROWS, sizeof *b->texts) ||
        !ps_grow(&b->keys_seen, &b->cap_keys_seen, b->n_texts + 1, MAX_ROWS,
                 sizeof *b->keys_seen)) {
        return false;
    }
    *text = (uint32_t)b->n_texts++;
    b->texts[*text] = (ps_event_text){bytes, (uint32_t)n};
    b->keys_seen[*text] = (ps_key_seen){0};
    return true;
}

static bool add_spelling(ps_batch_build *b, ps_spelling spelling) {
    if (!ps_grow(&b->spellings, &b->cap_spellings, b->n_spellings + 1, MAX_ROWS,
                 sizeof *b->spellings) ||
        (b->n_spellings * 4 >= b->n_slots && !grow_batch_slots(b))) {
        return false;
    }
    b->slots[free_slot(b, spelling.hash)] = (uint32_t)b->n_spellings;
    b->spellings[b->n_spellings++] = spelling;
    return true;
}

/* A new text without escapes. */
static bool add_plain(ps_batch_build *b, const char *bytes, size_t n, uint32_t hash,
                      uint32_t *text) {
    return add_batch_text(b, bytes, n, text) &&
           add_spelling(b,
                        (ps_spelling){.raw = bytes, .n = (uint32_t)n, .text = *text, .hash = hash});
}

/* Room for what n bytes become. */
static char *room_for(ps_batch_build *b, size_t n) {
    return ps_arena_alloc(&b->unescaped, n + PS_JSON_PAD);
}

/* The text that a spelling stands for, when it is another than its own bytes. */
static ps_text_result translate(ps_batch_build *b, const char *raw, size_t n, ps_spelling_kind kind,
                                const char **bytes, size_t *n_bytes, unsigned *odd) {
    if (kind == PS_SPELLING_NESTED) {
        bool is_tidy = false;
        if (!ps_json_check(raw, n, &is_tidy, n_bytes)) {
            return PS_TEXT_BAD;
        }
        char *out = is_tidy ? NULL : room_for(b, *n_bytes);
        *bytes = is_tidy ? raw : out;
        if (out != NULL) {
            (void)ps_json_tidy(raw, n, out, odd);
        }
        return *bytes != NULL ? PS_TEXT_OK : PS_TEXT_NOMEM;
    }
    char *out = room_for(b, ps_json_is_utf8(raw, n) ? n : 3 * n);
    *bytes = out;
    if (out == NULL) {
        return PS_TEXT_NOMEM;
    }
    *n_bytes = ps_json_unescape(raw, n, out, odd);
    return PS_TEXT_OK;
}

ps_text_result ps_batch_build_new_text(ps_batch_build *b, const char *raw, size_t n,
                                       ps_spelling_kind kind, uint32_t hash, uint32_t *text,
                                       unsigned *odd) {
    const char *bytes = NULL;
    size_t n_bytes = 0;
    if (kind == PS_SPELLING_PLAIN && ps_json_is_utf8(raw, n)) {
        return add_plain(b, raw, n, hash, text) ? PS_TEXT_OK : PS_TEXT_NOMEM;
    }
    ps_text_result result = translate(b, raw, n, kind, &bytes, &n_bytes, odd);
    if (result != PS_TEXT_OK) {
        return result;
    }
    unsigned none = 0;
    result = ps_batch_build_text(b, bytes, n_bytes, PS_SPELLING_PLAIN, text, &none);
    bool ok = result == PS_TEXT_OK && add_spelling(b, (ps_spelling){.raw = raw,
                                                                    .n = (uint32_t)n,
                                                                    .text = *text,
                                                                    .hash = hash,
                                                                    .kind = (uint8_t)kind,
                                                                    .odd = (uint8_t)*odd});
    return ok ? PS_TEXT_OK : PS_TEXT_NOMEM;
}

#include "read/trace_events_batch.h"

#include <string.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "base/json.h"

#define MAX_ROWS ((size_t)UINT32_MAX - 1)
#define FIRST_SLOTS ((size_t)1024)

bool ps_batch_build_init(ps_batch_build *b) {
    *b = (ps_batch_build){.n_slots = FIRST_SLOTS};
    ps_arena_init(&b->unescaped);
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

/* The slot that holds the spelling, or the free one where it belongs. */
static size_t find_slot(const ps_batch_build *b, uint32_t hash, const char *raw, size_t n,
                        bool has_escape) {
    size_t mask = b->n_slots - 1;
    size_t slot = hash & mask;
    for (; b->slots[slot] != 0; slot = (slot + 1) & mask) {
        const ps_spelling *s = &b->spellings[b->slots[slot]];
        if (s->hash == hash && s->n == n && s->has_escape == has_escape &&
            memcmp(s->raw, raw, n) == 0) {
            break;
        }
    }
    return slot;
}

static bool grow_slots(ps_batch_build *b) {
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

static bool add_text(ps_batch_build *b, const char *bytes, size_t n, uint32_t *text) {
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

static ps_spelling *add_spelling(ps_batch_build *b, ps_spelling spelling) {
    if (!ps_grow(&b->spellings, &b->cap_spellings, b->n_spellings + 1, MAX_ROWS,
                 sizeof *b->spellings) ||
        (b->n_spellings * 2 >= b->n_slots && !grow_slots(b))) {
        return NULL;
    }
    size_t slot = find_slot(b, spelling.hash, spelling.raw, spelling.n, spelling.has_escape);
    b->slots[slot] = (uint32_t)b->n_spellings;
    b->spellings[b->n_spellings] = spelling;
    return &b->spellings[b->n_spellings++];
}

/* The text of bytes that are UTF-8 without escapes and outlive the batch. */
static bool plain_text(ps_batch_build *b, const char *bytes, size_t n, uint32_t *text) {
    *text = 0;
    if (n == 0) {
        return true;
    }
    uint32_t hash = (uint32_t)ps_hash64_seeded(bytes, n);
    uint32_t known = b->slots[find_slot(b, hash, bytes, n, false)];
    if (known != 0) {
        *text = b->spellings[known].text;
        return true;
    }
    return add_text(b, bytes, n, text) &&
           add_spelling(
               b, (ps_spelling){.raw = bytes, .n = (uint32_t)n, .text = *text, .hash = hash}) !=
               NULL;
}

static bool new_spelling(ps_batch_build *b, const char *raw, size_t n, bool has_escape,
                         uint32_t hash, uint32_t *text, unsigned *odd) {
    bool is_utf8 = ps_json_is_utf8(raw, n);
    if (!has_escape && is_utf8) {
        return plain_text(b, raw, n, text);
    }
    char *out = ps_arena_alloc(&b->unescaped, is_utf8 ? n : 3 * n);
    if (out == NULL) {
        return false;
    }
    size_t n_out = ps_json_unescape(raw, n, out, odd);
    return plain_text(b, out, n_out, text) &&
           add_spelling(b, (ps_spelling){.raw = raw,
                                         .n = (uint32_t)n,
                                         .text = *text,
                                         .hash = hash,
                                         .has_escape = has_escape,
                                         .odd = (uint8_t)*odd}) != NULL;
}

bool ps_batch_build_text(ps_batch_build *b, const char *raw, size_t n, bool has_escape,
                         uint32_t *text, unsigned *odd) {
    *text = 0;
    *odd = 0;
    if (n == 0) {
        return true;
    }
    uint32_t hash = (uint32_t)ps_hash64_seeded(raw, n);
    uint32_t known = b->slots[find_slot(b, hash, raw, n, has_escape)];
    if (known != 0) {
        *text = b->spellings[known].text;
        *odd = b->spellings[known].odd;
        return true;
    }
    return new_spelling(b, raw, n, has_escape, hash, text, odd);
}

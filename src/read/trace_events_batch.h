/* What one block of a trace becomes: the arrays of a ps_event_batch while they grow, with the strings of the block
 * interned once. Internal to trace_events. */
#ifndef PS_READ_TRACE_EVENTS_BATCH_H
#define PS_READ_TRACE_EVENTS_BATCH_H

#include "base/arena.h"
#include "read/trace_events.h"

/* One spelling of a string: as it stands between its quotes. Two spellings may be one text. */
typedef struct ps_spelling {
    const char *raw;
    uint32_t n, text;
    uint32_t hash;
    bool has_escape;
    uint8_t odd; /* PS_JSON_ODD_* */
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
} ps_batch_build;

/* False when memory is out. */
bool ps_batch_build_init(ps_batch_build *b);
void ps_batch_build_fini(ps_batch_build *b);
void ps_batch_build_clear(ps_batch_build *b);

/* The text of a string as it stands between its quotes; `raw` must live as long as the batch. False when memory is out.
 * *odd: PS_JSON_ODD_* of this string. */
bool ps_batch_build_text(ps_batch_build *b, const char *raw, size_t n, bool has_escape,
                         uint32_t *text, unsigned *odd);

/* Room for one more; NULL when memory is out. Not counted yet. */
ps_event *ps_batch_build_event(ps_batch_build *b);
ps_event_arg *ps_batch_build_arg(ps_batch_build *b);

#endif

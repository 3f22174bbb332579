/* The events of a trace-event JSON document, in both of its forms,
 *
 *   [ {"ph":"X","ts":12.5,"dur":3,"name":"a","pid":1,"tid":2,"args":{"k":1}}, ...      closing bracket optional
 *   { "schemaVersion": 1, "traceEvents": [ ... ], "distributedInfo": {...} }
 *
 * as batches of plain records in file order. Knows JSON and the fields of an event, and nothing of what they mean: that
 * is trace_model.h and the readers. Big inputs are cut into blocks that several threads parse; where a block begins is
 * a guess that is used only after the block before it, parsed from a proven place, has ended exactly there.
 *
 * Strings are unescaped and interned once per batch: a batch has its own ids. */
#ifndef PS_READ_TRACE_EVENTS_H
#define PS_READ_TRACE_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/diag.h"
#include "base/err.h"
#include "base/input.h"
#include "model/trace.h"

enum {
    PS_EVENT_HAS_TS = 1 << 0,
    PS_EVENT_HAS_DUR = 1 << 1,
    PS_EVENT_HAS_PID = 1 << 2,
    PS_EVENT_HAS_TID = 1 << 3,
    PS_EVENT_PID_TEXT = 1 << 4, /* pid is an id in the batch's texts */
    PS_EVENT_TID_TEXT = 1 << 5,
    PS_EVENT_HAS_ID = 1 << 6,
    PS_EVENT_ID_TEXT = 1 << 7,        /* id_low is an id in the batch's texts */
    PS_EVENT_ID_LOCAL = 1 << 8,       /* id2.local */
    PS_EVENT_BIND_ENCLOSING = 1 << 9, /* "bp":"e" */
    PS_EVENT_HAS_BIND_ID = 1 << 10,
    PS_EVENT_BIND_ID_TEXT = 1 << 11,
    PS_EVENT_FLOW_IN = 1 << 12,
    PS_EVENT_FLOW_OUT = 1 << 13,
    PS_EVENT_TS_TEXT = 1 << 14 /* ts was a string; as a number it counts the same */
};

/* An id is compared, never computed with. A decimal number of up to 38 digits without leading zeros (quoted or not)
 * and a hexadecimal "0x..." of up to 32 digits are 128-bit numbers; any other text is an id in the batch's texts. */
typedef struct ps_event {
    uint64_t offset; /* of its '{' in the uncompressed input */
    int64_t ts_ns, dur_ns;
    int64_t pid, tid; /* a number, or an id in the batch's texts when the flag says so */
    uint64_t id_high, id_low;
    uint64_t bind_id_high, bind_id_low;
    uint32_t name, cat,
        scope_text; /* ids in the batch's texts, 0 none; scope_text is the "scope" that separates ids */
    uint32_t first_arg, n_args; /* in the batch's args */
    uint16_t flags;
    char ph;    /* 0: missing or not one character */
    char scope; /* "s" of an instant: g, p, t; 0 */
} ps_event;

/* Types as in ps_arg, without TIME; strings are ids in the batch's texts. */
typedef struct ps_event_arg {
    uint32_t key;
    ps_arg_type type;
    union {
        int64_t i;
        double r;
        uint32_t text;
    } u;
} ps_event_arg;

typedef struct ps_event_text {
    const char *bytes; /* unescaped; not terminated */
    uint32_t n;
} ps_event_text;

/* Borrowed: valid until the callback returns. Integers that do not fit int64 are PS_ARG_NUMBER. */
typedef struct ps_event_batch {
    const ps_event *events;
    size_t n_events;
    uint64_t first_event; /* number of events[0] in the file, from 0 */
    const ps_event_arg *args;
    size_t n_args;
    const ps_event_text *texts; /* [n_texts]; texts[0] is "" and means none */
    size_t n_texts;
} ps_event_batch;

static inline bool ps_event_text_is(const ps_event_batch *batch, uint32_t text, const char *word) {
    const ps_event_text *t = &batch->texts[text];
    return t->n == strlen(word) && memcmp(t->bytes, word, t->n) == 0;
}

/* What the caller wants to know of each event. `wanted` names the keys of args that are kept when not `all_args`
 * (NULL-terminated); events of phase M and C always keep all of theirs. */
typedef struct ps_event_schema {
    bool all_args;
    const char *const *wanted;
    bool
        printed_doubles; /* the format writes times as doubles: digits below a nanosecond are no oddity */
} ps_event_schema;

/* Callbacks run on the calling thread, in file order. */
typedef struct ps_event_sink {
    void *context;
    ps_code (*batch)(void *context, const ps_event_batch *batch, ps_err *err);
    /* A member of the top-level object other than traceEvents: its JSON text, at most 64 MiB. May be NULL. */
    ps_code (*member)(void *context, const char *key, const char *json, size_t n, ps_err *err);
} ps_event_sink;

/* What was seen. */
typedef struct ps_event_stats {
    uint64_t n_events, n_bytes;
    bool is_object; /* the wrapped form */
    bool is_cut;    /* ended in the middle */
} ps_event_stats;

/* Reads to the end. Oddities go to `diag` with byte offsets. PS_SYNTAX only when the document is neither form at all;
 * PS_RANGE when one event is longer than 64 MiB; PS_IO, PS_NOMEM, or what a callback
 * returned. `n_threads` 0: one per processor. `diag`, `stats` may not be NULL. */
PS_MUST_USE ps_code ps_trace_events_read(ps_input *in, const ps_event_schema *schema,
                                         const ps_event_sink *sink, size_t n_threads, ps_diag *diag,
                                         ps_event_stats *stats, ps_err *err);

#endif

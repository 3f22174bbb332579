/* A producer writes events in a few layouts: the same keys in the same order with the same white space, again and
 * again. A shape is what stands before one value in such a layout, from the end of the value before,
 *
 *   , "ts": "
 *
 * and what it means. The shapes that may follow one another form a tree; along it an event is read by comparing a few
 * bytes per member. Learned from the text as it is met; internal to trace_events. */
#ifndef PS_READ_TRACE_EVENTS_SHAPES_H
#define PS_READ_TRACE_EVENTS_SHAPES_H

#include "base/json.h"
#include "base/json_simd.h"
#include "read/events/trace_events.h"

typedef enum ps_field {
    PS_FIELD_UNKNOWN,
    PS_FIELD_PH,
    PS_FIELD_TS,
    PS_FIELD_DUR,
    PS_FIELD_PID,
    PS_FIELD_TID,
    PS_FIELD_NAME,
    PS_FIELD_CAT,
    PS_FIELD_ARGS,
    PS_FIELD_ID,
    PS_FIELD_ID2,
    PS_FIELD_BIND_ID,
    PS_FIELD_BP,
    PS_FIELD_S,
    PS_FIELD_SCOPE,
    PS_FIELD_FLOW_IN,
    PS_FIELD_FLOW_OUT,
    PS_FIELD_ARG, /* a member of args */
    PS_FIELD_END  /* the closing bracket of the event or of args */
} ps_field;

#define PS_SHAPE_BYTES 64

typedef struct ps_shape ps_shape;
struct ps_shape {
    char text[PS_SHAPE_BYTES];
    ps_shape *follow;                 /* first of those that may come next */
    ps_shape *sibling;                /* another that may come in its place */
    uint32_t first_mask, second_mask; /* which bytes of the two halves count */
    uint8_t n, field;
    bool is_string; /* the text ends with the opening quote of a string; else none may follow */
    bool is_plain;  /* a string behind not more than 32 bytes: they are all there is to compare */
    bool is_wanted; /* an argument that the schema names */
    bool keeps_all; /* args: the last event had all of them kept, by its phase */
    uint8_t key_at, n_key;
    /* The last value: a number by its bytes and the one behind, or a string with its closing quote. */
    uint32_t memo_text_mask;
    uint32_t memo_n; /* its bytes; 0: none yet */
    int64_t memo_value;
    uint64_t memo_batch; /* for which memo_value is a text */
    union {
        struct {
            uint64_t memo[2], memo_mask[2];
        };
        char memo_text[32];
    };
    ps_shape *inside; /* args: the first of those in it */
    ps_shape *parent;
    uint64_t key_batch; /* number of the batch for which key_text holds */
    uint32_t key_text;
};

typedef struct ps_shapes {
    ps_shape *all; /* [0] is the beginning of an event */
    uint32_t n;
    bool full;
    uint64_t n_batches;
    const ps_event_schema *schema;
} ps_shapes;

/* False when memory is out. */
bool ps_shapes_init(ps_shapes *s, const ps_event_schema *schema);
void ps_shapes_fini(ps_shapes *s);
/* For a new batch: makes room when there is none left. Returns its number. */
uint64_t ps_shapes_next_batch(ps_shapes *s);

/* The shape at p that follows the shape `before`, or comes first inside it; NULL when it is none that can be learned:
 * not a plain key, too long, a key that was there already. */
ps_shape *ps_shapes_learn(ps_shapes *s, ps_shape *before, bool inside, const char *p,
                          const char *end);

ps_field ps_field_of(const char *key, size_t n);
bool ps_event_wants(const ps_event_schema *schema, const char *key, size_t n);

/* Behind blanks, tabs and ends of lines. */
static inline const char *ps_json_skip_space(const char *p, const char *end) {
    while (p < end && ps_json_is_space(*p)) {
        p++;
    }
    return p;
}

#endif

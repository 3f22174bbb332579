/* The one writer of JSON. It knows what is open, so that commas, colons and brackets are its work: nobody quotes a key
 * in a format string. It writes into a ps_buf and allocates nothing else.
 *
 *   ps_json j = ps_json_to(&buf);
 *   ps_json_object(&j);
 *   ps_json_key_int(&j, "rank", 3);            a literal; ps_json_name for a name that is known at run time only
 *   ps_json_key_array(&j, "notes");
 *   ps_json_str(&j, "a \"quote\"");
 *   ps_json_close(&j);
 *   ps_json_close(&j);                         {"rank":3,"notes":["a \"quote\""]}
 *
 * A value of an object without a key, a key in an array, a bracket too many or more than PS_JSON_MAX_DEPTH levels are
 * mistakes of the program: an assertion fails, and without assertions the buffer does, so that nothing broken gets out. */
#ifndef PS_BASE_JSON_WRITE_H
#define PS_BASE_JSON_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "base/json.h"

typedef struct ps_json {
    ps_buf *out;
    uint64_t objects; /* bit per open level, the innermost lowest: an object */
    uint64_t filled;  /* the same: something stands in it */
    int depth;
    int line; /* the next item begins a line with that many spaces less one; 0: it does not */
    bool spaced;
    bool has_key; /* and its value is still to come */
} ps_json;

static inline ps_json ps_json_to(ps_buf *out) {
    return (ps_json){.out = out};
}

/* With a space behind each comma and colon. */
static inline ps_json ps_json_spaced_to(ps_buf *out) {
    return (ps_json){.out = out, .spaced = true};
}

/* For members alone, to be put into an object later: by ps_json_members. */
static inline ps_json ps_json_members_to(ps_buf *out) {
    return (ps_json){.out = out, .objects = 1, .depth = 1};
}

void ps_json_object(ps_json *j);
void ps_json_array(ps_json *j);
/* Whichever is innermost. */
void ps_json_close(ps_json *j);

/* The next key, value or closing bracket begins a new line with `indent` spaces. */
static inline void ps_json_line(ps_json *j, int indent) {
    j->line = indent + 1;
}

void ps_json_name(ps_json *j, const char *name, size_t n);

/* A literal that needs no escape: quoted when it is compiled. */
#define ps_json_key(j, literal) ps_json_quoted_key((j), "\"" literal "\":", sizeof(literal) + 2)

/* The same with a literal for its value: "ph":"X". */
#define ps_json_pair(j, key, text)                                                                 \
    ps_json_quoted_pair((j), "\"" key "\":", sizeof(key) + 2, "\"" text "\"", sizeof(text) + 1)

void ps_json_str(ps_json *j, const char *s); /* NULL: null */
void ps_json_str_n(ps_json *j, const char *s, size_t n);
/* A text that was put together. Where it had no room the whole output is one that failed: it would be shorter without a word. */
void ps_json_text(ps_json *j, const ps_buf *text);
void ps_json_int(ps_json *j, int64_t value);
void ps_json_uint(ps_json *j, uint64_t value);
/* As a string: beyond 2^53 a reader with doubles would round it. */
void ps_json_int_text(ps_json *j, int64_t value);
/* As a string where it lies beyond 2^53, else as a number. */
void ps_json_int_exact(ps_json *j, int64_t value);
void ps_json_bool(ps_json *j, bool value);
void ps_json_null(ps_json *j);
/* Nanoseconds as microseconds with three decimals: -1500 is -1.500. */
void ps_json_us(ps_json *j, int64_t ns);
/* The same as a string: no reader passes it through a double. */
void ps_json_us_text(ps_json *j, int64_t ns);
/* printf's, for numbers that must look as they do: "%.2f". */
void ps_json_numberf(ps_json *j, const char *fmt, ...) PS_PRINTF(2, 3);
/* A value that is JSON already. */
void ps_json_raw(ps_json *j, const char *text, size_t n);
/* Members of the open object that were written before: "pid":1,"tid":2. Nothing when there are none. */
void ps_json_members(ps_json *j, const char *text, size_t n);
/* What follows into the buffer is one value, written by somebody else. */
void ps_json_value(ps_json *j);

/* A key and its value. */
#define ps_json_key_str(j, key, s) (ps_json_key((j), key), ps_json_str((j), (s)))
#define ps_json_key_int(j, key, value) (ps_json_key((j), key), ps_json_int((j), (value)))
#define ps_json_key_uint(j, key, value) (ps_json_key((j), key), ps_json_uint((j), (value)))
#define ps_json_key_bool(j, key, value) (ps_json_key((j), key), ps_json_bool((j), (value)))
#define ps_json_key_us(j, key, ns) (ps_json_key((j), key), ps_json_us((j), (ns)))
#define ps_json_key_numberf(j, key, ...) (ps_json_key((j), key), ps_json_numberf((j), __VA_ARGS__))
#define ps_json_key_null(j, key) (ps_json_key((j), key), ps_json_null(j))
/* A key and what is opened for its value. */
#define ps_json_key_object(j, key) (ps_json_key((j), key), ps_json_object(j))
#define ps_json_key_array(j, key) (ps_json_key((j), key), ps_json_array(j))

/* Parts of the above for what is on the path of every event. */
void ps_json_key_slow(ps_json *j, const char *quoted, size_t n);

/* Where a key and what follows it go, at most `n` bytes with the comma: NULL where it is not that simple. */
static inline char *ps_json_key_room(ps_json *j, size_t n) {
    return j->spaced || j->line != 0 || j->has_key || (j->objects & 1) == 0
               ? NULL
               : ps_buf_room(j->out, n);
}

static inline void ps_json_quoted_key(ps_json *j, const char *quoted, size_t n) {
    char *at = ps_json_key_room(j, n + 1);
    if (at == NULL) {
        ps_json_key_slow(j, quoted, n);
        return;
    }
    size_t comma = j->filled & 1;
    *at = ',';
    memcpy(at + comma, quoted, n);
    ps_buf_wrote(j->out, n + comma);
    j->filled |= 1;
    j->has_key = true;
}

static inline void ps_json_quoted_pair(ps_json *j, const char *key, size_t n_key, const char *text,
                                       size_t n_text) {
    char *at = ps_json_key_room(j, n_key + n_text + 1);
    if (at == NULL) {
        ps_json_key_slow(j, key, n_key);
        ps_json_raw(j, text, n_text);
        return;
    }
    size_t comma = j->filled & 1;
    *at = ',';
    memcpy(at + comma, key, n_key);
    memcpy(at + comma + n_key, text, n_text);
    ps_buf_wrote(j->out, n_key + n_text + comma);
    j->filled |= 1;
}

#endif

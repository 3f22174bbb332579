/* Small literal documents: JSON, and what Python's str(dict) prints (single quotes, True, None). Used for
 * metadata and for the messages of marks; big traces have their own scanner.
 *
 * NaN and Infinity, which Python writes into JSON, come out as null.
 *
 * Bounded: at most 64 levels and 2^20 values. Nodes and texts live in the caller's arena. */
#ifndef PS_BASE_LITERAL_H
#define PS_BASE_LITERAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/int_runs.h"

typedef enum ps_literal_kind {
    PS_LITERAL_NULL,
    PS_LITERAL_BOOL,
    PS_LITERAL_INT,    /* an integer that fits int64 */
    PS_LITERAL_NUMBER, /* any other number, as text */
    PS_LITERAL_STRING,
    PS_LITERAL_ARRAY,
    PS_LITERAL_OBJECT
} ps_literal_kind;

typedef struct ps_literal {
    ps_literal_kind kind;
    bool boolean;
    int64_t integer;
    const char *text; /* of a string (unescaped) or number, zero-terminated */
    size_t len;
    const char *key; /* when the parent is an object */
    const char *
        begin; /* the value as it stands in the source: source_len bytes, borrowed from the caller */
    size_t source_len;
    struct ps_literal *child; /* first element or member */
    struct ps_literal *next;  /* sibling */
    ps_int_runs ints;         /* in place of children, ps_literal_parse_packed(); else empty */
} ps_literal;

/* Parses all of `text`. NULL with PS_SYNTAX and the byte offset when it is not one document, or PS_NOMEM. */
const ps_literal *ps_literal_parse(ps_arena *arena, const char *text, size_t n, ps_err *err);

/* The same, but an array of nothing but integers has `ints` and no children: the ranks of a group are as many as the job has
 * replicas, and each rank lists them. */
const ps_literal *ps_literal_parse_packed(ps_arena *arena, const char *text, size_t n, ps_err *err);

/* The elements of an array, packed or not, with `otherwise` for each that is no integer; none of what is no array, and of NULL. False when
 * memory is out. */
bool ps_literal_int_runs(const ps_literal *array, int64_t otherwise, ps_arena *arena,
                         ps_int_runs *out);

/* The last member named `key` (as Python and JSON libraries take duplicates), or NULL; also when `object`
 * is NULL or not an object. */
const ps_literal *ps_literal_get(const ps_literal *object, const char *key);

/* An integer, or a string holding one. False otherwise, also for NULL. */
bool ps_literal_int(const ps_literal *v, int64_t *out);

/* The text of a string, or NULL. */
const char *ps_literal_str(const ps_literal *v);

/* A tree that lives in the arena in use, without its source. */
struct ps_archive;
void ps_literal_archive(struct ps_archive *a, const ps_literal **literal);

#endif

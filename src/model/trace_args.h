/* The arguments of slices, packed: most slices of one kind carry the same keys in the same order, so a record is the
 * number of its *shape* (keys and types) and the values as varints. About four bytes a value, against sixteen in an
 * array of structs. Records belong to the room model; others use the ps_builder_arg and ps_trace_arg functions. */
#ifndef PS_MODEL_TRACE_ARGS_H
#define PS_MODEL_TRACE_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/idmap.h"
#include "model/trace.h"

typedef struct ps_arg_shape {
    uint32_t first, n; /* in keys */
} ps_arg_shape;

enum { PS_RECENT_SHAPES = 64 };

typedef struct ps_arg_store {
    uint8_t *bytes; /* records; bytes[0] is unused, so that record 0 is "none" */
    size_t n_bytes, cap_bytes;
    uint32_t *keys; /* of all shapes: string id << 3 | ps_arg_type */
    size_t n_keys, cap_keys;
    ps_arg_shape *shapes;
    size_t n_shapes, cap_shapes;
    uint32_t recent[PS_RECENT_SHAPES]; /* by first key and length: row in shapes, plus 1 */
    ps_idmap
        shape_rows; /* hash of the keys, or the next free key after it -> row in shapes; while building */
} ps_arg_store;

void ps_arg_store_init(ps_arg_store *s);
void ps_arg_store_fini(ps_arg_store *s);
/* Building is over: gives back what only that needs. */
void ps_arg_store_seal(ps_arg_store *s);

/* Adds a record of n > 0 arguments and returns its number; 0 when memory is out, the store has 4 GiB or a
 * key is one of more than 2^29 strings. */
uint32_t ps_arg_store_add(ps_arg_store *s, const ps_arg *args, size_t n);

/* A walk over record `record` (0: none); TIME values as they were given. */
ps_arg_iter ps_arg_store_walk(const ps_arg_store *s, uint32_t record);

#endif

/* Small FlatBuffers, as https://flatbuffers.dev/internals describes them: tables, strings, vectors of offsets and of structs. Made from the end to the
 * beginning: what a table points at is made before it. A failure (memory) sticks and is told by ps_flat_ok(). */
#ifndef PS_WRITE_FLAT_H
#define PS_WRITE_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A place, counted from the end; 0 is none. */
typedef uint32_t ps_flat_ref;

enum { PS_FLAT_MOST_FIELDS = 8 };

typedef struct ps_flat {
    uint8_t *data; /* [cap], the last `len` of them used */
    size_t cap, len;
    size_t align;                                         /* the largest so far */
    ps_flat_ref fields[PS_FLAT_MOST_FIELDS], table_begin; /* of the table at hand */
    bool failed;
} ps_flat;

/* {0} is an empty one. */
void ps_flat_fini(ps_flat *f);
bool ps_flat_ok(const ps_flat *f);

ps_flat_ref ps_flat_text(ps_flat *f, const char *text);
ps_flat_ref ps_flat_refs(ps_flat *f, const ps_flat_ref *refs, size_t n);
/* Structs of whole 8 bytes, as they lie in memory of a little-endian machine. */
ps_flat_ref ps_flat_structs(ps_flat *f, const void *structs, size_t n, size_t size);

/* A table: begin, its fields by their numbers, end. One at a time. A number that is 0 is left out, as the default is. */
void ps_flat_begin(ps_flat *f);
void ps_flat_number(ps_flat *f, unsigned field, int64_t value, size_t bytes);
void ps_flat_ref_field(ps_flat *f, unsigned field, ps_flat_ref ref);
ps_flat_ref ps_flat_end(ps_flat *f);

/* The bytes with this table as their root, good until ps_flat_fini(). */
const uint8_t *ps_flat_finish(ps_flat *f, ps_flat_ref root, size_t *n);

#endif

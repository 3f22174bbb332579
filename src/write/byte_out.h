/* The last step of a large output: a buffer of 1 MiB before a sink, with or without gzip between them. The first
 * failure sticks; later additions go nowhere, so that a writer of millions of small pieces looks once at its end.
 *
 *   ps_byte_out_init(&out, &sink, gzip)
 *   ps_byte_out_add(&out, bytes, n) ...      any number of times
 *   code = ps_byte_out_end(&out, err)        everything has reached the sink; the caller commits it
 *   ps_byte_out_fini(&out)
 */
#ifndef PS_WRITE_BYTE_OUT_H
#define PS_WRITE_BYTE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"
#include "write/gzip_sink.h"
#include "write/sink.h"

typedef struct ps_byte_out {
    char *data;
    size_t n, cap;
    uint64_t n_flushed; /* bytes handed on, before gzip */
    ps_sink *sink;      /* borrowed */
    ps_gzip *gzip;      /* NULL: plain */
    ps_err err;         /* the first failure; code PS_OK */
} ps_byte_out;

/* What one call of ps_byte_out_room may ask for. */
#define PS_BYTE_OUT_ROOM ((size_t)4096)

/* PS_NOMEM on failure; then nothing needs to be freed. */
PS_MUST_USE ps_code ps_byte_out_init(ps_byte_out *out, ps_sink *sink, bool gzip, ps_err *err);
void ps_byte_out_fini(ps_byte_out *out); /* also of an empty one */

void ps_byte_out_flush(ps_byte_out *out);
void ps_byte_out_add_long(ps_byte_out *out, const void *bytes, size_t n);

/* Flushes, ends the gzip stream, and says what went wrong on the way. */
PS_MUST_USE ps_code ps_byte_out_end(ps_byte_out *out, ps_err *err);

static inline bool ps_byte_out_failed(const ps_byte_out *out) {
    return out->err.code != PS_OK;
}

static inline void ps_byte_out_add(ps_byte_out *out, const void *bytes, size_t n) {
    if (n <= out->cap - out->n) {
        memcpy(out->data + out->n, bytes, n);
        out->n += n;
    } else {
        ps_byte_out_add_long(out, bytes, n);
    }
}

static inline void ps_byte_out_add_str(ps_byte_out *out, const char *s) {
    ps_byte_out_add(out, s, strlen(s));
}

/* Where up to PS_BYTE_OUT_ROOM bytes may be written; say afterwards how many with ps_byte_out_wrote. */
static inline char *ps_byte_out_room(ps_byte_out *out) {
    if (out->cap - out->n < PS_BYTE_OUT_ROOM) {
        ps_byte_out_flush(out);
    }
    return out->data + out->n;
}

static inline void ps_byte_out_wrote(ps_byte_out *out, size_t n) {
    out->n += n;
}

#endif

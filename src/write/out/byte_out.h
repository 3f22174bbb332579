/* The last step of a large output: a buffer of 1 MiB before a sink, with or without gzip between them. The first
 * failure sticks; later additions go nowhere, so that a writer of millions of small pieces looks once at its end.
 *
 *   ps_byte_out_init(&out, &sink, gzip)
 *   ps_byte_out_add(&out, bytes, n) ...      any number of times
 *   ps_json_int(&json, 1) ...                or into out.buf, with ps_byte_out_relieve now and then
 *   code = ps_byte_out_end(&out, err)        everything has reached the sink; the caller commits it
 *   ps_byte_out_fini(&out)
 */
#ifndef PS_WRITE_BYTE_OUT_H
#define PS_WRITE_BYTE_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "write/out/gzip_sink.h"
#include "write/out/sink.h"

typedef struct ps_byte_out {
    ps_buf buf;
    uint64_t n_flushed; /* bytes handed on, before gzip */
    ps_sink *sink;      /* borrowed */
    ps_gzip *gzip;      /* NULL: plain */
    ps_err err;         /* the first failure; code PS_OK */
} ps_byte_out;

#define PS_BYTE_OUT_BYTES ((size_t)1 << 20)

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

/* Hands on what was written into `buf` when that is much. */
static inline void ps_byte_out_relieve(ps_byte_out *out) {
    if (out->buf.len >= PS_BYTE_OUT_BYTES || out->buf.failed) {
        ps_byte_out_flush(out);
    }
}

static inline void ps_byte_out_add(ps_byte_out *out, const void *bytes, size_t n) {
    if (n <= PS_BYTE_OUT_BYTES) {
        ps_buf_add(&out->buf, bytes, n);
        ps_byte_out_relieve(out);
    } else {
        ps_byte_out_add_long(out, bytes, n);
    }
}

#endif

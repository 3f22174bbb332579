#include "write/out/gzip_sink.h"

#include <stdint.h>

#include "base/alloc.h"
#include "write/out/deflate.h"

#define OUT_BYTES ((size_t)1 << 18)
/* ps_deflate_run() counts in 32 bits. */
#define IN_BYTES ((size_t)1 << 30)

struct ps_gzip {
    ps_deflate *deflate;
    uint8_t *out;
};

ps_gzip *ps_gzip_new(void) {
    ps_gzip *z = ps_calloc(1, sizeof *z);
    if (z == NULL) {
        return NULL;
    }
    z->deflate = ps_deflate_new();
    z->out = ps_alloc(OUT_BYTES);
    if (z->deflate == NULL || z->out == NULL) {
        ps_gzip_free(z);
        return NULL;
    }
    return z;
}

void ps_gzip_free(ps_gzip *z) {
    if (z != NULL) {
        ps_deflate_free(z->deflate);
        ps_free(z->out);
        ps_free(z);
    }
}

/* Until the input is used up and, at the end, all of it is out. */
static ps_code deflate_all(ps_gzip *z, const uint8_t *in, uint32_t n_in, bool is_end, ps_sink *sink,
                           ps_err *err) {
    uint32_t room = 0;
    do {
        room = (uint32_t)OUT_BYTES;
        int result = ps_deflate_run(z->deflate, &in, &n_in, is_end, z->out, &room);
        if (result != 0) {
            return ps_fail(err, PS_INTERNAL, "gzip: the compressor reports error %d", result);
        }
        ps_code code = ps_sink_write(sink, z->out, OUT_BYTES - room, err);
        if (code != PS_OK) {
            return code;
        }
    } while (room == 0 || n_in > 0);
    return PS_OK;
}

ps_code ps_gzip_write(ps_gzip *z, ps_sink *sink, const void *bytes, size_t n, ps_err *err) {
    const uint8_t *at = bytes;
    ps_code code = PS_OK;
    while (n > 0 && code == PS_OK) {
        size_t part = n < IN_BYTES ? n : IN_BYTES;
        code = deflate_all(z, at, (uint32_t)part, false, sink, err);
        at += part;
        n -= part;
    }
    return code;
}

ps_code ps_gzip_end(ps_gzip *z, ps_sink *sink, ps_err *err) {
    return deflate_all(z, NULL, 0, true, sink, err);
}

/* ISA-L's igzip: level 1 writes several hundred megabytes of input a second on one core. */
#include "write/out/gzip_sink.h"

#include <isa-l/igzip_lib.h>
#include <stdint.h>

#include "base/alloc.h"

#define OUT_BYTES ((size_t)1 << 18)
/* isal_zstream counts in 32 bits. */
#define IN_BYTES ((size_t)1 << 30)

struct ps_gzip {
    struct isal_zstream stream;
    uint8_t *level_buffer;
    uint8_t *out;
};

ps_gzip *ps_gzip_new(void) {
    ps_gzip *z = ps_calloc(1, sizeof *z);
    if (z == NULL) {
        return NULL;
    }
    z->level_buffer = ps_alloc(ISAL_DEF_LVL1_DEFAULT);
    z->out = ps_alloc(OUT_BYTES);
    if (z->level_buffer == NULL || z->out == NULL) {
        ps_gzip_free(z);
        return NULL;
    }
    isal_deflate_init(&z->stream);
    z->stream.level = 1;
    z->stream.level_buf = z->level_buffer;
    z->stream.level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    z->stream.gzip_flag = IGZIP_GZIP;
    return z;
}

void ps_gzip_free(ps_gzip *z) {
    if (z != NULL) {
        ps_free(z->level_buffer);
        ps_free(z->out);
        ps_free(z);
    }
}

/* Until the input is used up and, at the end, all of it is out. */
static ps_code deflate_all(ps_gzip *z, ps_sink *sink, ps_err *err) {
    do {
        z->stream.next_out = z->out;
        z->stream.avail_out = (uint32_t)OUT_BYTES;
        int result = isal_deflate(&z->stream);
        if (result != COMP_OK) {
            return ps_fail(err, PS_INTERNAL, "gzip: the compressor reports error %d", result);
        }
        ps_code code = ps_sink_write(sink, z->out, OUT_BYTES - z->stream.avail_out, err);
        if (code != PS_OK) {
            return code;
        }
    } while (z->stream.avail_out == 0 || z->stream.avail_in > 0);
    return PS_OK;
}

ps_code ps_gzip_write(ps_gzip *z, ps_sink *sink, const void *bytes, size_t n, ps_err *err) {
    const char *at = bytes;
    ps_code code = PS_OK;
    while (n > 0 && code == PS_OK) {
        size_t part = n < IN_BYTES ? n : IN_BYTES;
        /* The library does not write through next_in. */
        z->stream.next_in = (uint8_t *)(uintptr_t)at;
        z->stream.avail_in = (uint32_t)part;
        code = deflate_all(z, sink, err);
        at += part;
        n -= part;
    }
    return code;
}

ps_code ps_gzip_end(ps_gzip *z, ps_sink *sink, ps_err *err) {
    z->stream.end_of_stream = 1;
    z->stream.next_in = NULL;
    z->stream.avail_in = 0;
    return deflate_all(z, sink, err);
}

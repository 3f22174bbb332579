#include "base/build_parts.h"
#include "write/out/deflate.h"

#if !PIPESCOPE_HAS_ISAL
#include <zlib.h>

#include "base/alloc.h"

struct ps_deflate {
    z_stream stream;
};

static void *deflate_alloc(void *context, unsigned n, unsigned size) {
    (void)context;
    return ps_calloc(n, size);
}

static void deflate_free(void *context, void *memory) {
    (void)context;
    ps_free(memory);
}

ps_deflate *ps_deflate_new(void) {
    enum { GZIP = MAX_WBITS + 16, MEMORY_LEVEL = 8 }; /* its default */
    ps_deflate *z = ps_calloc(1, sizeof *z);
    if (z == NULL) {
        return NULL;
    }
    z->stream.zalloc = deflate_alloc;
    z->stream.zfree = deflate_free;
    if (deflateInit2(&z->stream, Z_BEST_SPEED, Z_DEFLATED, GZIP, MEMORY_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        ps_free(z);
        return NULL;
    }
    return z;
}

void ps_deflate_free(ps_deflate *z) {
    if (z != NULL) {
        (void)deflateEnd(&z->stream);
        ps_free(z);
    }
}

int ps_deflate_run(ps_deflate *z, const uint8_t **in, uint32_t *n_in, bool is_end, uint8_t *out,
                   uint32_t *n_out) {
    z->stream.next_in = (uint8_t *)(uintptr_t)*in; /* the library does not write through it */
    z->stream.avail_in = *n_in;
    z->stream.next_out = out;
    z->stream.avail_out = *n_out;
    int result = deflate(&z->stream, is_end ? Z_FINISH : Z_NO_FLUSH);
    *in = z->stream.next_in; /* nothing stays nothing: no address to add to */
    *n_in = z->stream.avail_in;
    *n_out = z->stream.avail_out;
    return result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR ? 0 : result;
}
#endif

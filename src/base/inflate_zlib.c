#include "base/build_parts.h"
#include "base/inflate_codec.h"

#if !PIPESCOPE_HAS_ISAL
#include <zlib.h>

#include "base/alloc.h"

/* zlib asks for its window when it first has something for it: what was opened would end for want of memory in the middle. */
enum { WINDOW_BYTES = (1 << MAX_WBITS) + 256 };

struct ps_inflate_codec {
    z_stream stream;
    bool has_window; /* to give: what is asked for next is that */
    uint8_t window[WINDOW_BYTES];
};

static void *inflate_alloc(void *context, unsigned n, unsigned size) {
    ps_inflate_codec *c = context;
    if (c->has_window && n <= WINDOW_BYTES / size) {
        c->has_window = false;
        return c->window;
    }
    return ps_calloc(n, size);
}

static void inflate_free(void *context, void *memory) {
    const ps_inflate_codec *c = context;
    if (memory != c->window) {
        ps_free(memory);
    }
}

ps_inflate_codec *ps_inflate_codec_new(bool is_raw) {
    enum { RAW = -MAX_WBITS, GZIP = MAX_WBITS + 16 }; /* zlib's words for the form of its input */
    ps_inflate_codec *c = ps_calloc(1, sizeof *c);
    if (c == NULL) {
        return NULL;
    }
    c->stream.opaque = c;
    c->stream.zalloc = inflate_alloc;
    c->stream.zfree = inflate_free;
    if (inflateInit2(&c->stream, is_raw ? RAW : GZIP) != Z_OK) {
        ps_free(c);
        return NULL;
    }
    c->has_window = true;
    return c;
}

void ps_inflate_codec_free(ps_inflate_codec *c) {
    if (c != NULL) {
        (void)inflateEnd(&c->stream);
        ps_free(c);
    }
}

void ps_inflate_codec_begin(ps_inflate_codec *c) {
    (void)inflateReset(&c->stream);
}

ps_inflate_end ps_inflate_codec_run(ps_inflate_codec *c, const uint8_t *in, uint32_t *n_in,
                                    uint8_t *out, uint32_t *n_out) {
    c->stream.next_in = (uint8_t *)(uintptr_t)in; /* only read */
    c->stream.avail_in = *n_in;
    c->stream.next_out = out;
    c->stream.avail_out = *n_out;
    int rc = inflate(&c->stream, Z_NO_FLUSH);
    *n_in = c->stream.avail_in;
    *n_out = c->stream.avail_out;
    switch (rc) {
    case Z_STREAM_END:
        return PS_INFLATE_DONE;
    case Z_OK:
    case Z_BUF_ERROR: /* nothing to do without more input, or more room */
        return PS_INFLATE_GOES_ON;
    case Z_MEM_ERROR:
        return PS_INFLATE_NO_MEMORY;
    default:
        return PS_INFLATE_DAMAGED;
    }
}
#endif

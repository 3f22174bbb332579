#include <isa-l/igzip_lib.h>

#include "base/alloc.h"
#include "base/inflate_codec.h"

struct ps_inflate_codec {
    struct inflate_state state;
    bool is_raw;
};

ps_inflate_codec *ps_inflate_codec_new(bool is_raw) {
    ps_inflate_codec *c = ps_alloc(sizeof *c);
    if (c != NULL) {
        c->is_raw = is_raw;
        isal_inflate_init(&c->state);
        ps_inflate_codec_begin(c);
    }
    return c;
}

void ps_inflate_codec_free(ps_inflate_codec *c) {
    ps_free(c);
}

void ps_inflate_codec_begin(ps_inflate_codec *c) {
    isal_inflate_reset(&c->state);
    c->state.crc_flag = c->is_raw ? ISAL_DEFLATE : ISAL_GZIP;
}

ps_inflate_end ps_inflate_codec_run(ps_inflate_codec *c, const uint8_t *in, uint32_t *n_in,
                                    uint8_t *out, uint32_t *n_out) {
    c->state.next_in = (uint8_t *)(uintptr_t)in; /* only read */
    c->state.avail_in = *n_in;
    c->state.next_out = out;
    c->state.avail_out = *n_out;
    int rc = isal_inflate(&c->state);
    *n_in = c->state.avail_in;
    *n_out = c->state.avail_out;
    bool is_damaged = rc != ISAL_DECOMP_OK && rc != ISAL_END_INPUT && rc != ISAL_OUT_OVERFLOW;
    return is_damaged                                  ? PS_INFLATE_DAMAGED
           : c->state.block_state == ISAL_BLOCK_FINISH ? PS_INFLATE_DONE
                                                       : PS_INFLATE_GOES_ON;
}

#include "write/byte_out.h"

#include "base/alloc.h"

#define BUFFER_BYTES ((size_t)1 << 20)

ps_code ps_byte_out_init(ps_byte_out *out, ps_sink *sink, bool gzip, ps_err *err) {
    *out = (ps_byte_out){.cap = BUFFER_BYTES, .sink = sink, .err = PS_ERR_INIT};
    out->data = ps_alloc(BUFFER_BYTES);
    out->gzip = gzip ? ps_gzip_new() : NULL;
    if (out->data == NULL || (gzip && out->gzip == NULL)) {
        ps_byte_out_fini(out);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_byte_out_fini(ps_byte_out *out) {
    ps_free(out->data);
    ps_gzip_free(out->gzip);
    *out = (ps_byte_out){.err = PS_ERR_INIT};
}

static void hand_on(ps_byte_out *out, const void *bytes, size_t n) {
    out->n_flushed += n;
    if (ps_byte_out_failed(out)) {
        return;
    }
    if (out->gzip != NULL) {
        out->err.code = ps_gzip_write(out->gzip, out->sink, bytes, n, &out->err);
    } else {
        out->err.code = ps_sink_write(out->sink, bytes, n, &out->err);
    }
}

void ps_byte_out_flush(ps_byte_out *out) {
    hand_on(out, out->data, out->n);
    out->n = 0;
}

void ps_byte_out_add_long(ps_byte_out *out, const void *bytes, size_t n) {
    ps_byte_out_flush(out);
    if (n <= out->cap) {
        memcpy(out->data, bytes, n);
        out->n = n;
    } else {
        hand_on(out, bytes, n);
    }
}

ps_code ps_byte_out_end(ps_byte_out *out, ps_err *err) {
    ps_byte_out_flush(out);
    if (!ps_byte_out_failed(out) && out->gzip != NULL) {
        out->err.code = ps_gzip_end(out->gzip, out->sink, &out->err);
    }
    if (err != NULL && ps_byte_out_failed(out)) {
        *err = out->err;
    }
    return out->err.code;
}

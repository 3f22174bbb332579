#include "write/out/byte_out.h"

/* Of one piece between two looks at how much there is. */
#define MAX_BYTES ((size_t)1 << 40)

ps_code ps_byte_out_init(ps_byte_out *out, ps_sink *sink, bool gzip, ps_err *err) {
    *out = (ps_byte_out){.sink = sink, .err = PS_ERR_INIT};
    ps_buf_init(&out->buf, MAX_BYTES);
    out->gzip = gzip ? ps_gzip_new() : NULL;
    if (ps_buf_room(&out->buf, PS_BYTE_OUT_BYTES) == NULL || (gzip && out->gzip == NULL)) {
        ps_byte_out_fini(out);
        return ps_fail_nomem(err);
    }
    return PS_OK;
}

void ps_byte_out_fini(ps_byte_out *out) {
    ps_buf_fini(&out->buf);
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
    if (out->buf.failed && !ps_byte_out_failed(out)) {
        out->err.code = ps_fail_nomem(&out->err);
    }
    hand_on(out, out->buf.data, out->buf.len);
    ps_buf_clear(&out->buf);
}

void ps_byte_out_add_long(ps_byte_out *out, const void *bytes, size_t n) {
    ps_byte_out_flush(out);
    hand_on(out, bytes, n);
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

/* A nested message is written with one byte left free for its length, which is enough for most; a longer one moves up
 * when it ends. Lengths are thus the shortest there are. */
#include "write/out/protobuf.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"

enum { TYPE_VARINT = 0, TYPE_FIXED64 = 1, TYPE_BYTES = 2, MAX_VARINT = 10 };

#define MAX_BYTES ((size_t)1 << 32)

void ps_pb_fini(ps_pb *pb) {
    ps_free(pb->data);
    *pb = (ps_pb){0};
}

void ps_pb_clear(ps_pb *pb) {
    pb->n = 0;
    pb->n_open = 0;
}

/* Room for a key, a number and n bytes. */
static bool has_protobuf_room(ps_pb *pb, size_t n) {
    size_t need = 2 * MAX_VARINT;
    if (pb->failed || n > MAX_BYTES ||
        !(pb->cap - pb->n >= need + n ||
          ps_grow(&pb->data, &pb->cap, pb->n + need + n, MAX_BYTES, 1))) {
        pb->failed = true;
    }
    return !pb->failed;
}

static uint8_t *put_varint(uint8_t *at, uint64_t value) {
    while (value >= 0x80) {
        *at++ = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    *at++ = (uint8_t)value;
    return at;
}

static size_t varint_size(uint64_t value) {
    size_t n = 1;
    while (value >= 0x80) {
        value >>= 7;
        n++;
    }
    return n;
}

static uint8_t *put_protobuf_key(ps_pb *pb, uint32_t field, unsigned type) {
    return put_varint(pb->data + pb->n, (uint64_t)field << 3 | type);
}

static void wrote_to(ps_pb *pb, const uint8_t *end) {
    pb->n = (size_t)(end - pb->data);
}

void ps_pb_varint(ps_pb *pb, uint32_t field, uint64_t value) {
    if (has_protobuf_room(pb, 0)) {
        wrote_to(pb, put_varint(put_protobuf_key(pb, field, TYPE_VARINT), value));
    }
}

void ps_pb_fixed64(ps_pb *pb, uint32_t field, uint64_t value) {
    if (has_protobuf_room(pb, 0)) {
        uint8_t *at = put_protobuf_key(pb, field, TYPE_FIXED64);
        for (unsigned shift = 0; shift < 64; shift += 8) {
            *at++ = (uint8_t)(value >> shift);
        }
        wrote_to(pb, at);
    }
}

void ps_pb_double(ps_pb *pb, uint32_t field, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    ps_pb_fixed64(pb, field, bits);
}

void ps_pb_bytes(ps_pb *pb, uint32_t field, const void *bytes, size_t n) {
    if (has_protobuf_room(pb, n)) {
        uint8_t *at = put_varint(put_protobuf_key(pb, field, TYPE_BYTES), n);
        if (n > 0) {
            memcpy(at, bytes, n);
        }
        wrote_to(pb, at + n);
    }
}

static size_t valid_prefix(const char *s, size_t n) {
    size_t i = 0;
    while (i < n) {
        size_t len = (unsigned char)s[i] < 0x80 ? 1 : ps_utf8_len(s + i, n - i);
        if (len == 0) {
            break;
        }
        i += len;
    }
    return i;
}

void ps_pb_str(ps_pb *pb, uint32_t field, const char *s, size_t n) {
    size_t good = valid_prefix(s, n);
    if (good == n) {
        ps_pb_bytes(pb, field, s, n);
        return;
    }
    static const char REPLACEMENT[] = "\xEF\xBF\xBD";
    ps_pb_begin(pb, field); /* a string has the form of a message */
    while (n > 0 && has_protobuf_room(pb, good + sizeof REPLACEMENT)) {
        memcpy(pb->data + pb->n, s, good);
        pb->n += good;
        s += good;
        n -= good;
        if (n > 0) {
            memcpy(pb->data + pb->n, REPLACEMENT, sizeof REPLACEMENT - 1);
            pb->n += sizeof REPLACEMENT - 1;
            s++;
            n--;
        }
        good = valid_prefix(s, n);
    }
    ps_pb_end(pb);
}

void ps_pb_begin(ps_pb *pb, uint32_t field) {
    if (pb->n_open == PS_PB_DEPTH) {
        pb->failed = true;
    }
    if (has_protobuf_room(pb, 0)) {
        uint8_t *at = put_protobuf_key(pb, field, TYPE_BYTES);
        wrote_to(pb, at + 1);
        pb->open[pb->n_open++] = pb->n;
    }
}

void ps_pb_end(ps_pb *pb) {
    if (pb->failed || pb->n_open == 0 || !has_protobuf_room(pb, 0)) {
        return;
    }
    size_t begin = pb->open[--pb->n_open];
    size_t n = pb->n - begin;
    size_t more = varint_size(n) - 1;
    if (more > 0) {
        memmove(pb->data + begin + more, pb->data + begin, n);
        pb->n += more;
    }
    (void)put_varint(pb->data + begin - 1, n);
}

/* The wire format of protocol buffers: messages into a growing buffer.
 *
 *   ps_pb_begin(pb, 11);            a nested message as field 11
 *   ps_pb_varint(pb, 9, 1);         its field 9
 *   ps_pb_end(pb);                  its length is known now
 *
 * The first failure (memory, or a nesting deeper than PS_PB_DEPTH) sticks; look at `failed` once at the end. */
#ifndef PS_WRITE_PROTOBUF_H
#define PS_WRITE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_PB_DEPTH 8

typedef struct ps_pb {
    uint8_t *data;
    size_t n, cap;
    size_t open[PS_PB_DEPTH]; /* where the content of each open message begins */
    unsigned n_open;
    bool failed;
} ps_pb;

void ps_pb_fini(ps_pb *pb);
/* Forgets the content; memory is kept. Nothing may be open. */
void ps_pb_clear(ps_pb *pb);

/* Negative numbers of int32 and int64 fields go in as (uint64_t)value: ten bytes. */
void ps_pb_varint(ps_pb *pb, uint32_t field, uint64_t value);
void ps_pb_fixed64(ps_pb *pb, uint32_t field, uint64_t value);
void ps_pb_double(ps_pb *pb, uint32_t field, double value);
void ps_pb_bytes(ps_pb *pb, uint32_t field, const void *bytes, size_t n);
/* Bytes that are not UTF-8 become U+FFFD, since readers may refuse the whole message for them. */
void ps_pb_str(ps_pb *pb, uint32_t field, const char *s, size_t n);

void ps_pb_begin(ps_pb *pb, uint32_t field);
void ps_pb_end(ps_pb *pb);

#endif

/* The wire: lengths, numbers, nesting; and one whole Perfetto file byte for byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "write/out/protobuf.h"

/* Compares with hexadecimal digits; blanks do not count. */
static void expect(const ps_pb *pb, const char *hex) {
    char got[3];
    assert_false(pb->failed);
    size_t i = 0;
    for (const char *h = hex; *h != '\0'; h++) {
        if (*h == ' ') {
            continue;
        }
        assert_true(i < pb->n);
        (void)snprintf(got, sizeof got, "%02x", pb->data[i++]);
        if (h[0] != got[0] || h[1] != got[1]) {
            fail_msg("byte %zu is %s instead of %.2s", i - 1, got, h);
        }
        h++;
    }
    assert_int_equal(i, pb->n);
}

static void numbers(void **state) {
    (void)state;
    ps_pb pb = {0};
    ps_pb_varint(&pb, 1, 0);
    ps_pb_varint(&pb, 1, 127);
    ps_pb_varint(&pb, 1, 128);
    ps_pb_varint(&pb, 16, 300);
    ps_pb_varint(&pb, 4, (uint64_t)INT64_C(-1));
    expect(&pb, "0800 087f 088001 8001ac02 20ffffffffffffffffff01");
    ps_pb_clear(&pb);
    ps_pb_fixed64(&pb, 47, 0x0123456789abcdef);
    ps_pb_double(&pb, 5, 1.5);
    expect(&pb, "f902efcdab8967452301 29000000000000f83f");
    ps_pb_fini(&pb);
}

static void nesting(void **state) {
    (void)state;
    ps_pb pb = {0};
    ps_pb_begin(&pb, 1);
    ps_pb_begin(&pb, 2);
    ps_pb_end(&pb);
    ps_pb_str(&pb, 3, "ab", 2);
    ps_pb_end(&pb);
    expect(&pb, "0a06 1200 1a026162");
    /* A length of two bytes moves what is inside up. */
    char text[130];
    memset(text, 'x', sizeof text);
    ps_pb_clear(&pb);
    ps_pb_begin(&pb, 1);
    ps_pb_bytes(&pb, 2, text, sizeof text);
    ps_pb_end(&pb);
    assert_int_equal(pb.n, 1 + 2 + 1 + 2 + 130);
    assert_memory_equal(pb.data, "\x0a\x85\x01\x12\x82\x01xx", 8);
    /* Deeper than there is room for. */
    for (int i = 0; i <= PS_PB_DEPTH; i++) {
        ps_pb_begin(&pb, 1);
    }
    assert_true(pb.failed);
    ps_pb_fini(&pb);
}

static void bytes_that_are_no_utf8(void **state) {
    (void)state;
    ps_pb pb = {0};
    ps_pb_str(&pb, 1,
              "a\xff"
              "b\xc3\xa4\xc3",
              6);
    expect(&pb, "0a0a 61 efbfbd 62 c3a4 efbfbd");
    ps_pb_clear(&pb);
    ps_pb_str(&pb, 1, "", 0);
    expect(&pb, "0a00");
    ps_pb_fini(&pb);
}

static void begin_packet(ps_pb *pb, uint64_t time_ns, uint64_t flags) {
    ps_pb_begin(pb, 1);
    if (time_ns > 0) {
        ps_pb_varint(pb, 8, time_ns);
    }
    ps_pb_varint(pb, 10, 1);
    if (flags > 0) {
        ps_pb_varint(pb, 13, flags);
    }
}

static void interned(ps_pb *pb, uint32_t field, const char *text) {
    ps_pb_begin(pb, field);
    ps_pb_varint(pb, 1, 1);
    ps_pb_str(pb, 2, text, strlen(text));
    ps_pb_end(pb);
}

static void put_tracks(ps_pb *pb) {
    begin_packet(pb, 0, 1);
    ps_pb_varint(pb, 87, 1);
    ps_pb_begin(pb, 59);
    ps_pb_varint(pb, 58, 6);
    ps_pb_end(pb);
    ps_pb_end(pb);
    begin_packet(pb, 0, 0); /* process track 100: pid 1000, "rank 0" */
    ps_pb_begin(pb, 60);
    ps_pb_varint(pb, 1, 100);
    ps_pb_begin(pb, 3);
    ps_pb_varint(pb, 1, 1000);
    ps_pb_str(pb, 6, "rank 0", 6);
    ps_pb_end(pb);
    ps_pb_varint(pb, 12, 0);
    ps_pb_end(pb);
    ps_pb_end(pb);
    begin_packet(pb, 0, 0); /* track 200 below it, not merged */
    ps_pb_begin(pb, 60);
    ps_pb_varint(pb, 1, 200);
    ps_pb_varint(pb, 5, 100);
    ps_pb_str(pb, 2, "stream 7", 8);
    ps_pb_varint(pb, 11, 3);
    ps_pb_varint(pb, 12, 1);
    ps_pb_varint(pb, 15, 2);
    ps_pb_end(pb);
    ps_pb_end(pb);
    begin_packet(pb, 0, 0); /* counter track 300, bytes */
    ps_pb_begin(pb, 60);
    ps_pb_varint(pb, 1, 300);
    ps_pb_varint(pb, 5, 100);
    ps_pb_str(pb, 2, "mem", 3);
    ps_pb_begin(pb, 8);
    ps_pb_varint(pb, 3, 3);
    ps_pb_end(pb);
    ps_pb_end(pb);
    ps_pb_end(pb);
}

static void put_begin(ps_pb *pb) {
    begin_packet(pb, 1000, 2);
    ps_pb_begin(pb, 12);
    interned(pb, 1, "kernel");
    interned(pb, 2, "matmul");
    interned(pb, 3, "bytes");
    ps_pb_begin(pb, 29);
    ps_pb_varint(pb, 1, 1);
    ps_pb_str(pb, 2, "bf16", 4);
    ps_pb_end(pb);
    ps_pb_end(pb);
    ps_pb_begin(pb, 11);
    ps_pb_varint(pb, 9, 1);
    ps_pb_varint(pb, 11, 200);
    ps_pb_varint(pb, 10, 1);
    ps_pb_varint(pb, 3, 1);
    ps_pb_begin(pb, 4); /* bytes: 4096 */
    ps_pb_varint(pb, 1, 1);
    ps_pb_varint(pb, 4, 4096);
    ps_pb_end(pb);
    ps_pb_begin(pb, 4); /* dtype: "bf16" */
    ps_pb_str(pb, 10, "dtype", 5);
    ps_pb_varint(pb, 17, 1);
    ps_pb_end(pb);
    ps_pb_fixed64(pb, 47, 77);
    ps_pb_end(pb);
    ps_pb_end(pb);
}

/* The same file as the reference that the schema's own compiler decoded. */
static void a_whole_file(void **state) {
    (void)state;
    ps_pb pb = {0};
    put_tracks(&pb);
    put_begin(&pb);
    begin_packet(&pb, 1500, 2);
    ps_pb_begin(&pb, 11);
    ps_pb_varint(&pb, 9, 2);
    ps_pb_varint(&pb, 11, 200);
    ps_pb_end(&pb);
    ps_pb_end(&pb);
    begin_packet(&pb, 1000, 2);
    ps_pb_begin(&pb, 11);
    ps_pb_varint(&pb, 9, 4);
    ps_pb_varint(&pb, 11, 300);
    ps_pb_varint(&pb, 30, 123456);
    ps_pb_end(&pb);
    ps_pb_end(&pb);
    expect(&pb, "0a0d 5001 6801 b80501 da0303d00306"
                "0a16 5001 e20311 0864 1a0b08e807320672616e6b2030 6000"
                "0a1a 5001 e20315 08c801 2864 120873747265616d2037 5803 6001 7802"
                "0a13 5001 e2030e 08ac02 2864 12036d656d 42021803"
                "0a5f 40e807 5001 6802 622e 0a0a080112066b65726e656c 120a080112066d61746d756c"
                "1a09080112056279746573 ea01080801120462663136"
                "5a26 4801 58c801 5001 1801 22050801208020 220a52056474797065880101"
                "f9024d00000000000000"
                "0a0e 40dc0b 5001 6802 5a05 4802 58c801"
                "0a13 40e807 5001 6802 5a0a 4804 58ac02 f001c0c407");
    ps_pb_fini(&pb);
}

static void memory_runs_out(void **state) {
    (void)state;
    ps_pb pb = {0};
    ps_alloc_fail_at(0);
    ps_pb_begin(&pb, 1);
    ps_pb_varint(&pb, 1, 1);
    ps_pb_end(&pb);
    ps_alloc_fail_at(-1);
    assert_true(pb.failed);
    ps_pb_fini(&pb);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(nesting),
        cmocka_unit_test(bytes_that_are_no_utf8),
        cmocka_unit_test(a_whole_file),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

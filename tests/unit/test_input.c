/* Streams of bytes: files, memory, gzip in one member or several, cut short or damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/input.h"
#include "support/gzip_pack.h"
#include "support/profile.h"
#include "support/scratch.h"

enum { BIG = 5 << 20 };

static uint8_t *make_bytes(size_t n) {
    uint8_t *bytes = malloc(n);
    assert_non_null(bytes);
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)("{\"name\": \"x\", "[i % 14] + (i / 1000) % 3);
    }
    return bytes;
}

/* Reads all in pieces of `piece`; the bytes must be the first of `expected`. Returns how many there were. */
static size_t read_all(ps_input *in, size_t piece, const uint8_t *expected) {
    uint8_t *buffer = malloc(piece);
    size_t n_all = 0;
    size_t n = 0;
    assert_non_null(buffer);
    do {
        assert_int_equal(ps_input_read(in, buffer, piece, &n, NULL), PS_OK);
        assert_memory_equal(buffer, expected + n_all, n);
        n_all += n;
        assert_int_equal(ps_input_offset(in), n_all);
    } while (n > 0);
    assert_int_equal(ps_input_read(in, buffer, piece, &n, NULL), PS_OK);
    assert_int_equal(n, 0);
    free(buffer);
    return n_all;
}

static void expect_stream(const uint8_t *bytes, size_t n, const uint8_t *expected,
                          size_t n_expected, bool gzip, bool cut) {
    static const size_t PIECES[] = {BIG * 2, 1 << 20, 65536, 1000};
    for (size_t i = 0; i < 4; i++) {
        ps_input *in = ps_input_of_memory(bytes, n, NULL);
        assert_non_null(in);
        assert_int_equal(ps_input_is_gzip(in), gzip);
        assert_int_equal(read_all(in, PIECES[i], expected), n_expected);
        assert_int_equal(ps_input_is_cut(in), cut);
        ps_input_close(in);
    }
}

static void plain(void **state) {
    (void)state;
    uint8_t *bytes = make_bytes(BIG);
    expect_stream(bytes, BIG, bytes, BIG, false, false);
    expect_stream(bytes, 0, bytes, 0, false, false);
    expect_stream(bytes, 1, bytes, 1, false, false);
    expect_stream((const uint8_t *)"\x1F\x8B", 2, (const uint8_t *)"\x1F\x8B", 2, false, false);
    free(bytes);
}

static void gzip(void **state) {
    (void)state;
    uint8_t *bytes = make_bytes(BIG);
    uint8_t *packed = malloc(BIG * 2);
    assert_non_null(packed);
    size_t n = gzip_pack(bytes, BIG, packed, BIG * 2);
    expect_stream(packed, n, bytes, BIG, true, false);
    n = gzip_pack(bytes, 0, packed, BIG);
    expect_stream(packed, n, bytes, 0, true, false);
    n = 0;
    for (size_t at = 0; at < BIG; at += BIG / 5) { /* several members */
        size_t part = BIG / 5 < BIG - at ? BIG / 5 : BIG - at;
        n += gzip_pack(bytes + at, part, packed + n, BIG * 2 - n);
    }
    expect_stream(packed, n, bytes, BIG, true, false);
    memset(packed + n, 0, 512); /* padding, as some archivers leave it */
    expect_stream(packed, n + 512, bytes, BIG, true, false);
    free(packed);
    free(bytes);
}

static void cut_or_damaged(void **state) {
    (void)state;
    uint8_t *bytes = make_bytes(BIG);
    uint8_t *packed = malloc(BIG);
    assert_non_null(packed);
    size_t n = gzip_pack(bytes, BIG, packed, BIG);
    for (size_t left = n - 1; left > 3; left = left * 2 / 3) {
        ps_input *in = ps_input_of_memory(packed, left, NULL);
        assert_true(read_all(in, 65536, bytes) <= BIG);
        assert_true(ps_input_is_cut(in));
        ps_input_close(in);
    }
    packed[n - 6] ^= 1; /* the checksum */
    expect_stream(packed, n, bytes, BIG, true, true);
    free(packed);
    free(bytes);
}

static void closed_early(void **state) {
    (void)state;
    uint8_t *bytes = make_bytes(BIG);
    uint8_t *packed = malloc(BIG);
    uint8_t *buffer = malloc(BIG);
    assert_true(packed != NULL && buffer != NULL);
    size_t n = gzip_pack(bytes, BIG, packed, BIG);
    for (size_t first = 100; first < BIG; first = first * 3 + (1 << 19)) {
        ps_input *in = ps_input_of_memory(packed, n, NULL);
        size_t got = 0;
        for (int i = 0; i < 2; i++) {
            assert_int_equal(ps_input_read(in, buffer, first, &got, NULL), PS_OK);
        }
        ps_input_close(in);
    }
    free(buffer);
    free(packed);
    free(bytes);
}

static void files(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES];
    char path[SCRATCH_BYTES + 32];
    uint8_t head[16];
    size_t n = 0;
    ps_err err = PS_ERR_INIT;
    scratch_make(dir, sizeof dir);
    assert_null(ps_input_open(dir, &err));
    assert_int_equal(err.code, PS_IO);
    (void)snprintf(path, sizeof path, "%s/none", dir);
    assert_null(ps_input_open(path, &err));
    assert_int_equal(err.code, PS_NOT_FOUND);
    assert_int_equal(ps_input_head(path, head, sizeof head, &n, NULL), PS_NOT_FOUND);
    (void)snprintf(path, sizeof path, "%s/pipe", dir);
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_null(ps_input_open(path, &err)); /* and does not wait */
    assert_int_equal(err.code, PS_IO);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/file", dir);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)fputs("[{\"ph\":\"X\"}]", file);
    (void)fclose(file);
    ps_input *in = ps_input_open(path, &err);
    assert_non_null(in);
    assert_int_equal(ps_input_file_bytes(in), 12);
    assert_string_equal(ps_input_path(in), path);
    ps_input_close(in);
    assert_int_equal(ps_input_head(path, head, 4, &n, &err), PS_OK);
    assert_memory_equal(head, "[{\"p", 4);
    assert_int_equal(n, 4);
    scratch_remove(dir);
    ps_input_close(NULL);
}

static void memory_faults(void **state) {
    (void)state;
    uint8_t *bytes = make_bytes(BIG);
    uint8_t *packed = malloc(BIG);
    uint8_t *buffer = malloc(BIG);
    assert_true(packed != NULL && buffer != NULL);
    size_t n = gzip_pack(bytes, BIG, packed, BIG);
    for (int64_t at = 0; at < 12; at++) {
        ps_err err = PS_ERR_INIT;
        size_t got = 0;
        size_t all = 0;
        (void)ps_alloc_fail_at(at);
        ps_input *in = ps_input_of_memory(packed, n, &err);
        if (in == NULL) {
            assert_int_equal(err.code, PS_NOMEM);
        }
        while (in != NULL && ps_input_read(in, buffer, 1 << 20, &got, &err) == PS_OK && got > 0) {
            all += got;
        }
        assert_true(in == NULL || all == BIG); /* without memory for a thread it does without */
        ps_input_close(in);
    }
    (void)ps_alloc_fail_at(-1);
    free(buffer);
    free(packed);
    free(bytes);
}

static void write_part(const char *path, const void *bytes, size_t n, off_t at) {
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0);
    assert_int_equal(pwrite(fd, bytes, n, at), n);
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000 + at, .tv_nsec = 0}};
    assert_int_equal(futimens(fd, times), 0); /* the clock of file systems is coarse */
    assert_int_equal(close(fd), 0);
}

static ps_code read_to_the_end(ps_input *in, ps_err *err) {
    char buffer[65536];
    size_t n = 1;
    ps_code code = PS_OK;
    while (code == PS_OK && n > 0) {
        code = ps_input_read(in, buffer, sizeof buffer, &n, err);
    }
    return code;
}

/* Half of the old content and half of the new one is neither; a file that another one took the place of is whole. */
static void changed_while_it_is_read(void **state) {
    const place *p = *state;
    enum { N = 300000 };
    uint8_t *bytes = make_bytes(N);
    static const char *const HOW[] = {"overwritten", "grown", "grown log", "cut", "replaced"};
    static const bool IS_CHANGE[] = {true, true, false, true, false};
    for (size_t i = 0; i < sizeof HOW / sizeof *HOW; i++) {
        const char *path = place_path(p, "%s", HOW[i]);
        ps_err err = PS_ERR_INIT;
        write_part(path, bytes, N, 0);
        ps_input *in = ps_input_open(path, &err);
        assert_non_null(in);
        if (i == 2) {
            ps_input_may_grow(in);
        }
        if (i == 4) {
            write_part(place_path(p, "other"), "new", 3, 0);
            assert_int_equal(rename(place_path(p, "other"), path), 0);
        } else if (i == 3) {
            assert_int_equal(truncate(path, N / 2), 0);
        } else {
            write_part(path, "more", 4, i == 0 ? N / 2 : N);
        }
        ps_code code = read_to_the_end(in, &err);
        assert_int_equal(code, IS_CHANGE[i] ? PS_CHANGED : PS_OK);
        assert_true(!IS_CHANGE[i] || strstr(err.msg, "run again") != NULL);
        ps_input_close(in);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(gzip),
        cmocka_unit_test(cut_or_damaged),
        cmocka_unit_test(closed_early),
        cmocka_unit_test(files),
        cmocka_unit_test(memory_faults),
        IN_PLACE(changed_while_it_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Bytes made ahead: all of them, in order; an error in the place where it came, and no byte of the piece that failed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/ahead.h"

#define MIB ((size_t)1 << 20)

typedef struct source {
    size_t n, fails_at; /* bytes; SIZE_MAX: never */
    size_t made;
} source;

static uint8_t byte_at(size_t i) {
    return (uint8_t)(i * 7 + i / MIB);
}

/* Leaves *n alone when it fails, as a careless one would. */
static ps_code fill(void *context, uint8_t *out, size_t cap, size_t *n, ps_err *err) {
    source *s = context;
    size_t take = s->n - s->made < cap ? s->n - s->made : cap;
    if (s->made + take > s->fails_at) {
        memset(out, 0xEE, cap);
        return ps_fail(err, PS_IO, "broken");
    }
    for (size_t i = 0; i < take; i++) {
        out[i] = byte_at(s->made + i);
    }
    s->made += take;
    *n = take;
    return PS_OK;
}

/* Reads to the end or the error; bytes that came with PS_OK are counted and must be the right ones. */
static ps_code read_all(ps_ahead *a, size_t cap, size_t *n_all, ps_err *err) {
    uint8_t *out = malloc(cap);
    assert_non_null(out);
    size_t n = 1;
    ps_code code = PS_OK;
    for (*n_all = 0; code == PS_OK && n > 0; *n_all += code == PS_OK ? n : 0) {
        code = ps_ahead_read(a, out, cap, &n, err);
        for (size_t i = 0; code == PS_OK && i < n; i++) {
            assert_int_equal(out[i], byte_at(*n_all + i));
        }
    }
    free(out);
    return code;
}

static const size_t CAPS[] = {1000, 65536, MIB, 3 * MIB / 2, 16 * MIB};
#define N_CAPS (sizeof CAPS / sizeof *CAPS)

static void all_bytes_come_in_order(void **state) {
    (void)state;
    static const size_t SIZES[] = {0, 1, MIB, 5 * MIB, 9 * MIB + 77};
    for (size_t i = 0; i < N_CAPS * 5; i++) {
        source s = {.n = SIZES[i % 5], .fails_at = SIZE_MAX};
        size_t n = 0;
        ps_ahead *a = ps_ahead_new(fill, &s);
        assert_non_null(a);
        assert_int_equal(read_all(a, CAPS[i / 5], &n, NULL), PS_OK);
        assert_int_equal(n, s.n);
        ps_ahead_free(a);
    }
}

/* The ring's pieces are used again and again: none of their old bytes may come up in place of those that failed. */
static void an_error_is_told_and_nothing_stale_comes(void **state) {
    (void)state;
    static const size_t FAILS_AT[] = {0, MIB, 3 * MIB, 7 * MIB};
    for (size_t i = 0; i < N_CAPS * 4; i++) {
        source s = {.n = 20 * MIB, .fails_at = FAILS_AT[i % 4]};
        size_t cap = CAPS[i / 4];
        ps_err err = PS_ERR_INIT;
        size_t n = 0;
        ps_ahead *a = ps_ahead_new(fill, &s);
        assert_non_null(a);
        assert_int_equal(read_all(a, cap, &n, &err), PS_IO);
        assert_string_equal(err.msg, "broken");
        assert_int_equal(n, s.fails_at / cap * cap);
        uint8_t byte = 0;
        assert_int_equal(ps_ahead_read(a, &byte, 1, &n, NULL), PS_IO); /* and stays */
        assert_int_equal(n, 0);
        ps_ahead_free(a);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_come_in_order),
        cmocka_unit_test(an_error_is_told_and_nothing_stale_comes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

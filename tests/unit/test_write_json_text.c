/* JSON texts and numbers, and what counts as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "write/json_text.h"

typedef struct output {
    ps_buf buf;
    ps_sink sink;
    ps_byte_out out;
} output;

static void begin(output *o) {
    ps_buf_init(&o->buf, 0);
    o->sink = ps_sink_buf(&o->buf);
    assert_int_equal(ps_byte_out_init(&o->out, &o->sink, false, NULL), PS_OK);
}

static const char *text_of(output *o) {
    assert_int_equal(ps_byte_out_end(&o->out, NULL), PS_OK);
    return ps_buf_str(&o->buf);
}

static void end(output *o) {
    ps_byte_out_fini(&o->out);
    ps_buf_fini(&o->buf);
}

static void expect_str(const char *s, size_t n, const char *wanted) {
    output o;
    begin(&o);
    ps_json_put_str(&o.out, s, n);
    assert_string_equal(text_of(&o), wanted);
    end(&o);
}

static void texts(void **state) {
    (void)state;
    expect_str("", 0, "\"\"");
    expect_str("MatMul", 6, "\"MatMul\"");
    expect_str("a\"b\\c\n\x01", 7, "\"a\\\"b\\\\c\\u000a\\u0001\"");
    expect_str("a\0b", 3, "\"a\\u0000b\"");
    expect_str("\xc3\xa4\xff", 3, "\"\xc3\xa4\xEF\xBF\xBD\"");
    expect_str("\x7f", 1, "\"\x7f\"");
}

static void expect_us(int64_t ns, const char *wanted) {
    output o;
    begin(&o);
    ps_json_put_us(&o.out, ns);
    assert_string_equal(text_of(&o), wanted);
    end(&o);
}

static void expect_i64(int64_t value, const char *wanted) {
    output o;
    begin(&o);
    ps_json_put_i64(&o.out, value);
    assert_string_equal(text_of(&o), wanted);
    end(&o);
}

static void integers(void **state) {
    (void)state;
    expect_i64(0, "0");
    expect_i64(-7, "-7");
    expect_i64(INT64_MAX, "9223372036854775807");
    expect_i64(INT64_MIN, "-9223372036854775808");
    expect_us(0, "0.000");
    expect_us(1, "0.001");
    expect_us(-1, "-0.001");
    expect_us(1234567, "1234.567");
    expect_us(1714550400000000123, "1714550400000000.123");
    expect_us(INT64_MIN, "-9223372036854775.808");
}

static void expect_real(double value, const char *wanted) {
    output o;
    begin(&o);
    ps_json_put_real(&o.out, value);
    assert_string_equal(text_of(&o), wanted);
    end(&o);
}

static void reals(void **state) {
    (void)state;
    expect_real(0, "0.0");
    expect_real(-0.0, "-0.0");
    expect_real(2, "2.0");
    expect_real(-1.5, "-1.5");
    expect_real(0.1, "0.1");
    expect_real(1234.56, "1234.56");
    expect_real(1e300, "1e+300");
    expect_real(1e-9, "1e-09");
    expect_real(NAN, "\"NaN\"");
    expect_real(-INFINITY, "\"-Infinity\"");
    expect_real(9007199254740993e3, "9.007199254740993e+18");
}

/* Whatever the way it is written, it reads back as the same double. */
static void reals_read_back(void **state) {
    (void)state;
    output o;
    ps_rng rng = ps_rng_seed(7);
    begin(&o);
    for (int i = 0; i < 20000; i++) {
        uint64_t bits = ps_rng_next(&rng);
        double value = 0;
        if (i % 2 == 0) {
            memcpy(&value, &bits, sizeof value);
        } else {
            value = (double)(int64_t)(bits % 1000000000000) / pow(10, (double)(bits >> 61));
        }
        if (isnan(value) || isinf(value)) {
            continue;
        }
        ps_buf_clear(&o.buf);
        ps_json_put_real(&o.out, value);
        const char *text = text_of(&o);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof value);
        assert_true(ps_json_is_number(text, strlen(text)));
        assert_non_null(strpbrk(text, ".e"));
    }
    end(&o);
}

static bool is_value(const char *s) {
    return ps_json_is_value(s, strlen(s));
}

static void what_is_json(void **state) {
    (void)state;
    static const char *const GOOD[] = {"1",           "-0.5e+7",
                                       "\"\"",        "\"\\u00e4\\n\"",
                                       "null",        " true ",
                                       "[]",          "{}",
                                       "[[1, 2],[]]", "{\"a\":{\"b\":[1,{}]},\"c\":2}",
                                       "[ ]",         "{ }",
                                       "[null,\n1]",  "[\"a\\\\\",\"\xc3\xa4\"]",
                                       "{\"\":[]}"};
    static const char *const BAD[] = {
        "",       "01",        "1.",   ".5",      "+1",       "1e",       "NaN",        "Infinity",
        "[1,]",   "{,}",       "[1",   "]",       "{\"a\"}",  "{\"a\":}", "{1:2}",      "\"a",
        "'a'",    "\"\\x\"",   "[1]2", "\"a\\\"", "\"\xff\"", "tru",      "{\"a\":1,}", "[1 2]",
        "\"\n\"", "\"\\u12\"", "[}",   "{]",      "\"\\"};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        if (!is_value(GOOD[i])) {
            fail_msg("refused: %s", GOOD[i]);
        }
    }
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        if (is_value(BAD[i])) {
            fail_msg("accepted: %s", BAD[i]);
        }
    }
    assert_true(ps_json_is_number("18446744073709551616", 20));
    assert_false(ps_json_is_number("0x10", 4));
    assert_false(ps_json_is_number("1 ", 2));
    char deep[200];
    memset(deep, '[', 100);
    memset(deep + 100, ']', 100);
    assert_false(ps_json_is_value(deep, sizeof deep));
    assert_true(ps_json_is_value(deep + 100 - PS_JSON_MAX_DEPTH, 2 * PS_JSON_MAX_DEPTH));
}

/* Pieces longer than the buffer go through in order; with gzip as one member. */
static void long_outputs(void **state) {
    (void)state;
    enum { PIECE = 3 << 20 };
    char *piece = calloc(1, PIECE);
    for (size_t i = 0; i < PIECE; i++) {
        piece[i] = (char)('a' + i % 23);
    }
    output o;
    begin(&o);
    ps_byte_out_add(&o.out, "<", 1);
    ps_byte_out_add(&o.out, piece, PIECE);
    ps_byte_out_add(&o.out, ">", 1);
    const char *text = text_of(&o);
    assert_int_equal(o.buf.len, PIECE + 2);
    assert_true(text[0] == '<' && text[PIECE + 1] == '>');
    assert_memory_equal(text + 1, piece, PIECE);
    assert_int_equal(o.out.n_flushed, PIECE + 2);
    end(&o);
    free(piece);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts),        cmocka_unit_test(integers),
        cmocka_unit_test(reals),        cmocka_unit_test(reals_read_back),
        cmocka_unit_test(what_is_json), cmocka_unit_test(long_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

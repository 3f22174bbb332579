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
#include "write/out/byte_out.h"
#include "write/out/json_text.h"

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

static void expect_real(double value, const char *wanted) {
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_json j = ps_json_to(&out);
    ps_json_typed_real(&j, value);
    assert_string_equal(ps_buf_str(&out), wanted);
    ps_buf_fini(&out);
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
    ps_buf out;
    ps_rng rng = ps_rng_seed(7);
    ps_buf_init(&out, 0);
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
        ps_buf_clear(&out);
        ps_json j = ps_json_to(&out);
        ps_json_typed_real(&j, value);
        const char *text = ps_buf_str(&out);
        double back = strtod(text, NULL);
        assert_memory_equal(&back, &value, sizeof value);
        assert_true(ps_json_is_number(text, strlen(text)));
        assert_non_null(strpbrk(text, ".e"));
    }
    ps_buf_fini(&out);
}

static bool is_value(const char *s) {
    return ps_json_is_value(s, strlen(s), 0);
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
    assert_false(ps_json_is_value(deep, sizeof deep, 0));
    assert_true(ps_json_is_value(deep + 100 - PS_JSON_MAX_DEPTH, 2 * PS_JSON_MAX_DEPTH, 0));
    assert_false(ps_json_is_value(deep + 100 - PS_JSON_MAX_DEPTH, 2 * PS_JSON_MAX_DEPTH, 1));
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
        cmocka_unit_test(reals),
        cmocka_unit_test(reals_read_back),
        cmocka_unit_test(what_is_json),
        cmocka_unit_test(long_outputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

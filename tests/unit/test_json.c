/* Pieces of JSON text at their edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/json_simd.h"

static void expect_word(const char *text, ps_json_word word) {
    assert_int_equal(ps_json_word_of(text, strlen(text)), word);
}

static void words(void **state) {
    (void)state;
    static const char *const NUMBERS[] = {
        "0", "-0", "17", "1.5", "-1.25e+3", "1E9", "0.0e-0", "10e05", "12345678901234567890"};
    static const char *const BAD[] = {"007", "+1", ".5", "1.", "1e", "1e+", "0x1F", "1.2.3", "-.5"};
    static const char *const NONE[] = {"NaN",       "nan", "-nan", "Infinity",
                                       "-Infinity", "inf", "+INF"};
    static const char *const NO_WORDS[] = {"",     "-",  "undefined", "True",
                                           "None", "e5", "nul",       "nanx"};
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        expect_word(NUMBERS[i], PS_JSON_NUMBER);
    }
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        expect_word(BAD[i], PS_JSON_BAD_NUMBER);
    }
    for (size_t i = 0; i < sizeof NONE / sizeof *NONE; i++) {
        expect_word(NONE[i], PS_JSON_NOT_A_NUMBER);
    }
    for (size_t i = 0; i < sizeof NO_WORDS / sizeof *NO_WORDS; i++) {
        expect_word(NO_WORDS[i], PS_JSON_NO_WORD);
    }
    expect_word("true", PS_JSON_TRUE);
    expect_word("false", PS_JSON_FALSE);
    expect_word("null", PS_JSON_NULL);
}

static void expect_scaled(const char *text, int shift, bool ok, int64_t value, bool cut) {
    int64_t got = 0;
    bool rounded = false;
    assert_int_equal(ps_json_scaled(text, strlen(text), shift, &got, &rounded), ok);
    if (ok) {
        assert_true(got == value);
        assert_int_equal(rounded, cut);
    }
}

/* Half to even, by the digits and not by a double. */
static void scaled_numbers(void **state) {
    (void)state;
    expect_scaled("1736408883688177.930", 3, true, INT64_C(1736408883688177930), false);
    expect_scaled("0.0005", 3, true, 0, true);
    expect_scaled("0.0015", 3, true, 2, true);
    expect_scaled("0.0025", 3, true, 2, true);
    expect_scaled("0.00250000000000000000000000001", 3, true, 3, true);
    expect_scaled("-0.0015", 3, true, -2, true);
    expect_scaled("0.9999", 3, true, 1000, true);
    expect_scaled("1.5000000000", 3, true, 1500, false);
    expect_scaled("15e-1", 0, true, 2, true);
    expect_scaled("12.0", 0, true, 12, false);
    expect_scaled("1e15", 3, true, INT64_C(1000000000000000000), false);
    expect_scaled("1e16", 3, false, 0, false);
    expect_scaled("9223372036854775.807", 3, true, INT64_MAX, false);
    expect_scaled("9223372036854775.8074", 3, true, INT64_MAX, true);
    expect_scaled("9223372036854775.8075", 3, false, 0, false);
    expect_scaled("0e99999999999999999999", 3, true, 0, false);
    expect_scaled("1e-99999999999999999999", 3, true, 0, true);
    expect_scaled("1e99999999999999999999", 3, false, 0, false);
    expect_scaled("NaN", 3, false, 0, false);
    expect_scaled("", 3, false, 0, false);
}

static void real_numbers(void **state) {
    (void)state;
    double got = 0;
    assert_true(ps_json_real("2.1500000000000004", 18, &got) && got == 2.1500000000000004);
    assert_true(ps_json_real("-1e-400", 7, &got) && got == 0);
    assert_false(ps_json_real("1e309", 5, &got));
    assert_false(ps_json_real("-1e309", 6, &got));
}

static void expect_unescaped(const char *raw, const char *text, unsigned odd) {
    char out[128];
    unsigned got = 0;
    size_t n = ps_json_unescape(raw, strlen(raw), out, &got);
    assert_int_equal(n, strlen(text));
    assert_memory_equal(out, text, n);
    assert_int_equal(got, odd);
}

static void strings(void **state) {
    (void)state;
    expect_unescaped("plain", "plain", 0);
    expect_unescaped("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\b\f\n\r\t", 0);
    expect_unescaped("\\u0041\\u00e9\\u20ac\\ud83d\\ude00", "A\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80",
                     0);
    expect_unescaped("\\ude00\\ud83d", "\xEF\xBF\xBD\xEF\xBF\xBD", PS_JSON_ODD_UTF8);
    expect_unescaped("\\ud83d\\u0041",
                     "\xEF\xBF\xBD"
                     "A",
                     PS_JSON_ODD_UTF8);
    expect_unescaped("\xC3\xA9\xFF\xC3", "\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD", PS_JSON_ODD_UTF8);
    expect_unescaped("C:\\x\\u12", "C:\\x\\u12", PS_JSON_ODD_ESCAPE);
    assert_true(ps_json_is_utf8("0123456\xC3\xA9", 9));
    assert_false(ps_json_is_utf8("0123456\xC3", 8));
}

/* The end of the value at the beginning of the text, both ways; 0: the status instead. */
static void expect_skipped(const char *text, size_t n_skipped, ps_json_status status) {
    char padded[512] = {0};
    size_t n = strlen(text);
    memcpy(padded, text, n);
    const char *p = padded;
    assert_int_equal(ps_json_skip_value(&p, padded + n, 0), status);
    if (status == PS_JSON_OK) {
        assert_int_equal(p - padded, n_skipped);
    }
    if (*text == '{' || *text == '[') {
        const char *fast = ps_json_skip_brackets(padded, padded + n, PS_JSON_MAX_DEPTH);
        assert_true(status == PS_JSON_OK ? fast == padded + n_skipped : fast == NULL);
    }
}

static void skipping(void **state) {
    (void)state;
    expect_skipped("[1,[2]],3", 7, PS_JSON_OK);
    expect_skipped("{\"a\":\"]}\\\"}\"} ", 13, PS_JSON_OK);
    expect_skipped("\"a\\\\\",", 5, PS_JSON_OK);
    expect_skipped("-1.5e3,", 6, PS_JSON_OK);
    expect_skipped("12", 0, PS_JSON_MORE);
    expect_skipped("\"a\\\"", 0, PS_JSON_MORE);
    expect_skipped("[\"a\"", 0, PS_JSON_MORE);
    expect_skipped("[\"a\"b\"]", 0, PS_JSON_BAD);
    expect_skipped("[a\"b\"]", 0, PS_JSON_BAD);
    expect_skipped("[1,\"a\" \\\"b\"]", 0, PS_JSON_BAD);
    expect_skipped("oops,", 0, PS_JSON_BAD);
    char deep[200];
    for (size_t levels = 64; levels <= 65; levels++) {
        memset(deep, '[', levels);
        memset(deep + levels, ']', levels);
        deep[2 * levels] = '\0';
        expect_skipped(deep, 128, levels == 64 ? PS_JSON_OK : PS_JSON_DEEP);
    }
    /* Quotes, backslashes and brackets on both sides of every 64 bytes. */
    for (size_t shift = 50; shift < 70; shift++) {
        char text[256] = "[\"";
        memset(text + 2, 'x', shift);
        (void)snprintf(text + 2 + shift, sizeof text - 2 - shift, "%s",
                       "\\\\\\\"]\", {\"k\": [\"}\"]}]!");
        expect_skipped(text, strlen(text) - 1, PS_JSON_OK);
    }
}

static void expect_tidy(const char *text, const char *tidy, unsigned odd) {
    char out[256];
    bool is_tidy = false;
    size_t n = 0;
    unsigned got = 0;
    assert_int_equal(ps_json_check(text, strlen(text), &is_tidy, &n), tidy != NULL);
    if (tidy != NULL) {
        assert_int_equal(n, strlen(tidy));
        assert_int_equal(is_tidy, strcmp(text, tidy) == 0);
        assert_int_equal(ps_json_tidy(text, strlen(text), out, &got), n);
        assert_memory_equal(out, tidy, n);
        assert_int_equal(got, odd);
    }
}

static void nested_values(void **state) {
    (void)state;
    expect_tidy("[ 1 , [ ] , { \"a\" : \"\\u00e9\" , \"b\" : true } ]",
                "[ 1 , [ ] , { \"a\" : \"\\u00e9\" , \"b\" : true } ]", 0);
    expect_tidy("[1,]", "[1]", PS_JSON_ODD_COMMA);
    expect_tidy("{\"a\":1 , }", "{\"a\":1  }", PS_JSON_ODD_COMMA);
    expect_tidy("[NaN,-inf,007]", "[null,null,null]", PS_JSON_ODD_NUMBER);
    expect_tidy("[\"\xFF\"]", "[\"\xEF\xBF\xBD\"]", PS_JSON_ODD_UTF8);
    expect_tidy("[\"\\q\"]", "[\"\\\\q\"]", PS_JSON_ODD_ESCAPE);
    expect_tidy("[\"\n\"]", "[\"\\u000a\"]", 0);
    static const char *const WRONG[] = {"[1 2]", "[,1]", "[1,,2]", "{\"a\"}",  "{\"a\":}", "{1:2}",
                                        "[1}",   "[1]]", "[",      "{\"a\":1", "[tru]",    "17",
                                        "[,]",   "{,}",  "[\"a]",  "[]x"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        expect_tidy(WRONG[i], NULL, 0);
    }
}

static void expect_digits(const char *text, size_t n_digits, uint64_t value) {
    char padded[128] = {0};
    uint64_t got = 0;
    memcpy(padded, text, strlen(text));
    assert_int_equal(ps_json_digits(padded, &got) - padded, n_digits);
    assert_true(got == value);
}

static void digits(void **state) {
    (void)state;
    expect_digits("", 0, 0);
    expect_digits("x1", 0, 0);
    expect_digits("7/", 1, 7);
    expect_digits("12345678", 8, 12345678);
    expect_digits("123456789:", 9, 123456789);
    expect_digits("1234567812345678", 16, UINT64_C(1234567812345678));
    expect_digits("9999999999999999999,", 19, UINT64_C(9999999999999999999));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words),        cmocka_unit_test(scaled_numbers),
        cmocka_unit_test(real_numbers), cmocka_unit_test(strings),
        cmocka_unit_test(skipping),     cmocka_unit_test(nested_values),
        cmocka_unit_test(digits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

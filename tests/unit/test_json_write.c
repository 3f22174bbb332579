/* The writer of JSON against texts written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/json_write.h"

static void expect(ps_buf *out, const char *text) {
    assert_true(ps_buf_ok(out));
    assert_string_equal(ps_buf_str(out), text);
    ps_buf_fini(out);
}

static void nested(void **state) {
    (void)state;
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_json j = ps_json_to(&out);
    ps_json_object(&j);
    ps_json_key(&j, "rank");
    ps_json_int(&j, 3);
    ps_json_key(&j, "empty");
    ps_json_object(&j);
    ps_json_close(&j);
    ps_json_name(&j, "a\"b", 3);
    ps_json_array(&j);
    ps_json_array(&j);
    ps_json_close(&j);
    ps_json_null(&j);
    ps_json_bool(&j, true);
    ps_json_bool(&j, false);
    ps_json_object(&j);
    ps_json_key(&j, "x");
    ps_json_str(&j, NULL);
    ps_json_close(&j);
    ps_json_close(&j);
    ps_json_key(&j, "raw");
    ps_json_raw(&j, "[1]", 3);
    ps_json_close(&j);
    assert_int_equal(j.depth, 0);
    expect(&out,
           "{\"rank\":3,\"empty\":{},\"a\\\"b\":[[],null,true,false,{\"x\":null}],\"raw\":[1]}");
}

/* As people read it: a space behind commas and colons, and lines where they are asked for. */
static void spaced(void **state) {
    (void)state;
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_json j = ps_json_spaced_to(&out);
    ps_json_object(&j);
    ps_json_key(&j, "n");
    ps_json_uint(&j, UINT64_MAX);
    ps_json_line(&j, 2);
    ps_json_key(&j, "rows");
    ps_json_array(&j);
    for (int i = 0; i < 2; i++) {
        ps_json_line(&j, 4);
        ps_json_object(&j);
        ps_json_key(&j, "i");
        ps_json_int(&j, i);
        ps_json_name(&j, "k", 1);
        ps_json_str(&j, "v");
        ps_json_close(&j);
    }
    ps_json_line(&j, 2);
    ps_json_close(&j);
    ps_json_close(&j);
    expect(&out, "{\"n\": 18446744073709551615,\n"
                 "  \"rows\": [\n"
                 "    {\"i\": 0, \"k\": \"v\"},\n"
                 "    {\"i\": 1, \"k\": \"v\"}\n"
                 "  ]}");
}

static void numbers(void **state) {
    (void)state;
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_json j = ps_json_to(&out);
    ps_json_array(&j);
    ps_json_int(&j, 0);
    ps_json_int(&j, INT64_MIN);
    ps_json_int(&j, INT64_MAX);
    ps_json_int_text(&j, INT64_MIN);
    ps_json_int_text(&j, 7);
    ps_json_us(&j, 0);
    ps_json_us(&j, -1);
    ps_json_us(&j, 1234567);
    ps_json_us(&j, INT64_MIN);
    ps_json_numberf(&j, "%.2f", 1.005);
    ps_json_close(&j);
    expect(
        &out,
        "[0,-9223372036854775808,9223372036854775807,\"-9223372036854775808\",\"7\",0.000,-0.001,"
        "1234.567,-9223372036854775.808,1.00]");
}

static void texts(void **state) {
    (void)state;
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_json j = ps_json_to(&out);
    ps_json_array(&j);
    ps_json_str(&j, "");
    ps_json_str(&j, "a\"b\\c/d");
    ps_json_str(&j, "\n\t\x01\x7f");
    ps_json_str(&j, "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
    ps_json_str(&j, "\xC3(\xFF");
    ps_json_str_n(&j, "a\0b", 3);
    ps_json_close(&j);
    expect(
        &out,
        "[\"\",\"a\\\"b\\\\c/d\",\"\\u000a\\u0009\\u0001\x7f\",\"\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\","
        "\"\xEF\xBF\xBD(\xEF\xBF\xBD\",\"a\\u0000b\"]");
}

static void deepest(void **state) {
    (void)state;
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_json j = ps_json_to(&out);
    for (int i = 0; i < PS_JSON_MAX_DEPTH; i++) {
        ps_json_array(&j);
    }
    for (int i = 0; i < PS_JSON_MAX_DEPTH; i++) {
        ps_json_close(&j);
        if (i + 1 < PS_JSON_MAX_DEPTH) {
            ps_json_int(&j, i);
        }
    }
    assert_true(ps_buf_ok(&out));
    bool tidy = false;
    size_t n = 0;
    assert_true(ps_json_check(out.data, out.len, &tidy, &n) && tidy);
    ps_buf_fini(&out);
}

#ifdef NDEBUG /* else an assertion ends the program */
static void many_levels(ps_json *j) {
    for (int i = 0; i <= PS_JSON_MAX_DEPTH; i++) {
        ps_json_array(j);
    }
}

static void value_without_key(ps_json *j) {
    ps_json_object(j);
    ps_json_int(j, 1);
}

static void key_without_value(ps_json *j) {
    ps_json_object(j);
    ps_json_key(j, "a");
    ps_json_close(j);
}

static void key_behind_key(ps_json *j) {
    ps_json_object(j);
    ps_json_key(j, "a");
    ps_json_key(j, "b");
}

static void key_in_array(ps_json *j) {
    ps_json_array(j);
    ps_json_key(j, "a");
}

static void close_too_many(ps_json *j) {
    ps_json_array(j);
    ps_json_close(j);
    ps_json_close(j);
}

static void two_values(ps_json *j) {
    ps_json_int(j, 1);
    ps_json_int(j, 2);
}

static void misuse_fails(void **state) {
    (void)state;
    static void (*const MISUSES[])(ps_json *) = {many_levels,  value_without_key, key_without_value,
                                                 key_in_array, key_behind_key,    close_too_many,
                                                 two_values};
    for (size_t i = 0; i < sizeof MISUSES / sizeof *MISUSES; i++) {
        ps_buf out;
        ps_buf_init(&out, 0);
        ps_json j = ps_json_to(&out);
        MISUSES[i](&j);
        assert_false(ps_buf_ok(&out));
        ps_buf_fini(&out);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nested),       cmocka_unit_test(spaced),  cmocka_unit_test(numbers),
        cmocka_unit_test(texts),        cmocka_unit_test(deepest),
#ifdef NDEBUG
        cmocka_unit_test(misuse_fails),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

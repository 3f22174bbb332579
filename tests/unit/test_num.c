/* Decimal text to integers, at the edges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <string.h>

#include "base/instead.h"
#include "base/num.h"
#include "base/order.h"
#include "base/rng.h"

static const int64_t UNTOUCHED = -77;

static void expect_i64(const char *text, bool ok, int64_t value) {
    int64_t got = UNTOUCHED;
    assert_int_equal(ps_parse_i64(text, strlen(text), &got), ok);
    assert_true(!ok || got == value);
}

static void integers(void **state) {
    (void)state;
    expect_i64("0", true, 0);
    expect_i64("-0", true, 0);
    expect_i64("0017", true, 17);
    expect_i64("9223372036854775807", true, INT64_MAX);
    expect_i64("9223372036854775808", false, 0);
    expect_i64("-9223372036854775808", true, INT64_MIN);
    expect_i64("-9223372036854775809", false, 0);
    expect_i64("99999999999999999999999", false, 0);
    expect_i64("", false, 0);
    expect_i64("-", false, 0);
    expect_i64("+1", false, 0);
    expect_i64(" 1", false, 0);
    expect_i64("1 ", false, 0);
    expect_i64("1.0", false, 0);
    expect_i64("0x10", false, 0);
    expect_i64("--1", false, 0);
}

/* Only the given bytes count, with or without a zero behind them. */
static void integers_end_where_told(void **state) {
    (void)state;
    int64_t got = 0;
    assert_true(ps_parse_i64("12345", 3, &got));
    assert_int_equal(got, 123);
    assert_false(ps_parse_i64("12345", 0, &got));
}

static void expect_us(const char *text, bool ok, int64_t ns) {
    int64_t got = UNTOUCHED;
    assert_int_equal(ps_parse_us_as_ns(text, strlen(text), &got), ok);
    assert_true(!ok || got == ns);
}

/* Epoch microseconds do not fit a double to the nanosecond:
 * 1714550400123456.789 would come out as ...750 or ...875. */
static void microseconds(void **state) {
    (void)state;
    expect_us("1714550400123456.789", true, INT64_C(1714550400123456789));
    expect_us("12", true, 12000);
    expect_us("0.25", true, 250);
    expect_us(".5", true, 500);
    expect_us("1.", true, 1000);
    expect_us("1.5000", true, 1500); /* zeros beyond the nanosecond say nothing */
    expect_us("1.0005", false, 0);   /* finer than a nanosecond */
    expect_us("1.00001", false, 0);
    expect_us("9223372036854775.807", true, INT64_MAX);
    expect_us("9223372036854775.808", false, 0);
    expect_us("-1", false, 0);
    expect_us("", false, 0);
    expect_us(".", false, 0);
    expect_us("1.2.3", false, 0);
    expect_us("1e3", false, 0);
}

static void expect_scaled(const char *text, int64_t scale, bool ok, int64_t value) {
    int64_t got = UNTOUCHED;
    assert_int_equal(ps_parse_scaled(text, strlen(text), scale, &got), ok);
    assert_true(!ok || got == value);
}

/* Rounded half up, by the digits and not by a double. */
static void scaled_numbers(void **state) {
    (void)state;
    expect_scaled("1.3", 10, true, 13);
    expect_scaled("1.3", 100, true, 130);
    expect_scaled("7", 1000, true, 7000);
    expect_scaled("1.5", 1, true, 2);
    expect_scaled("1.4999999999999999999999", 1, true, 1);
    expect_scaled("0.0005", 1000, true, 1);
    expect_scaled("0.00049999", 1000, true, 0);
    expect_scaled("0.00409", 1000, true, 4);
    expect_scaled("9.995", 100, true, 1000);
    expect_scaled("9223372036854775807", 1, true, INT64_MAX);
    expect_scaled("9223372036854775807.5", 1, false, 0); /* rounding up does not fit */
    expect_scaled("922337203685477580.8", 100, false, 0);
    expect_scaled("-1", 10, false, 0);
    expect_scaled("", 10, false, 0);
    expect_scaled("x", 10, false, 0);
}

static void sums_stay_at_the_ends_of_the_range(void **state) {
    (void)state;
    assert_true(ps_i64_plus(2, -3) == -1 && ps_i64_minus(2, -3) == 5);
    assert_true(ps_i64_plus(INT64_MAX, 1) == INT64_MAX);
    assert_true(ps_i64_plus(INT64_MIN, -1) == -INT64_MAX);
    assert_true(ps_i64_plus(INT64_MIN, 0) == -INT64_MAX); /* can be negated */
    assert_true(ps_i64_plus(0, INT64_MIN) == -INT64_MAX);
    assert_true(ps_i64_minus(INT64_MAX, -1) == INT64_MAX);
    assert_true(ps_i64_minus(-2, INT64_MAX) == -INT64_MAX);
    assert_true(ps_i64_minus(0, INT64_MIN) == INT64_MAX);
    assert_true(ps_i64_plus(INT64_MAX, INT64_MIN) == -1);
}

static void ranks(void **state) {
    (void)state;
    assert_string_equal(PS_RANK(0), "0");
    assert_string_equal(PS_RANK(12), "12");
    assert_string_equal(PS_RANK(-1), "?");
}

/* Three digits in the unit that fits, as the viewer says them (web/src/base/time.ts). */
static void times(void **state) {
    (void)state;
    static const struct {
        int64_t ns;
        const char *text;
    } TIMES[] = {{12412345, "12.4 ms"},       {999, "999 ns"},
                 {1234567890, "1.23 s"},      {99960000, "100 ms"},
                 {9996000, "10.0 ms"},        {38250000, "38.2 ms"},
                 {-27000000, "-27.0 ms"},     {0, "0 ns"},
                 {5250, "5.25 us"},           {-5, "-5 ns"},
                 {INT64_MIN, "-9223372037 s"}};
    for (size_t i = 0; i < sizeof TIMES / sizeof *TIMES; i++) {
        assert_string_equal(ps_ns_text_of(TIMES[i].ns).text, TIMES[i].text);
    }
}

static void midpoints(void **state) {
    (void)state;
    assert_int_equal(ps_midpoint_i64(1, 2), 1);
    assert_int_equal(ps_midpoint_i64(2, 4), 3);
    assert_int_equal(ps_midpoint_i64(-3, -2), -3);
    assert_int_equal(ps_midpoint_i64(INT64_MIN, INT64_MAX), -1);
    assert_int_equal(ps_midpoint_i64(INT64_MAX, INT64_MAX), INT64_MAX);
}

/* As of the sorted values: random ones, few different ones, rising, falling, a hill, the ends of the range. */
static int64_t some_value(ps_rng *random, int form, size_t i, size_t n) {
    switch (form) {
    case 0:
        return (int64_t)ps_rng_below(random, 1000000) - 500000;
    case 1:
        return (int64_t)ps_rng_below(random, 3);
    case 2:
        return (int64_t)i;
    case 3:
        return -(int64_t)i;
    case 4:
        return (int64_t)(i < n / 2 ? i : n - i);
    default:
        return ps_rng_below(random, 2) == 0 ? INT64_MIN : INT64_MAX;
    }
}

static void medians(void **state) {
    (void)state;
    enum { MOST = 2000 };
    static int64_t values[MOST], sorted[MOST];
    ps_rng random = ps_rng_seed(3);
    assert_int_equal(ps_median_i64(values, 0), 0);
    for (int round = 0; round < 600; round++) {
        size_t n = round < 300 ? (size_t)round / 6 + 1 : ps_rng_below(&random, MOST) + 1;
        for (size_t i = 0; i < n; i++) {
            values[i] = sorted[i] = some_value(&random, round % 6, i, n);
        }
        qsort(sorted, n, sizeof *sorted, ps_compare_i64);
        assert_int_equal(ps_median_i64(values, n),
                         ps_midpoint_i64(sorted[(n - 1) / 2], sorted[n / 2]));
        qsort(values, n, sizeof *values, ps_compare_i64);
        assert_memory_equal(values, sorted, n * sizeof *values);
    }
}

static void instead(void **state) {
    (void)state;
    assert_string_equal(ps_instead_of(PS_ENGLISH, 300000000, 330000000).text,
                        "300 ms instead of 330 ms");
    assert_string_equal(ps_instead_of(PS_ENGLISH, 329900000, 330100000).text,
                        "330 ms, 200 us less");
    assert_string_equal(ps_instead_of(PS_ENGLISH, 330100000, 330000000).text,
                        "330 ms, not shorter");
    assert_string_equal(ps_instead_of(PS_ENGLISH, 796000000, 794000000).text,
                        "796 ms, not shorter than 794 ms");
    assert_string_equal(ps_instead_of(PS_ENGLISH, 330000000, 330000000).text, "330 ms, the same");
    assert_string_equal(ps_instead_of(PS_CHINESE, 329900000, 330100000).text,
                        "330 ms，减少 200 us");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers),
        cmocka_unit_test(instead),
        cmocka_unit_test(integers_end_where_told),
        cmocka_unit_test(microseconds),
        cmocka_unit_test(scaled_numbers),
        cmocka_unit_test(sums_stay_at_the_ends_of_the_range),
        cmocka_unit_test(ranks),
        cmocka_unit_test(times),
        cmocka_unit_test(midpoints),
        cmocka_unit_test(medians),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

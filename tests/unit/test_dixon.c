/* Samples whose ratios are worked out beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/stats/dixon.h"

#define IS_OUTLIER(...)                                                                            \
    ps_smallest_is_outlier((const int64_t[]){__VA_ARGS__},                                         \
                           sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static void small_samples(void **state) {
    (void)state;
    assert_true(IS_OUTLIER(91400, 420000, 421700, 423800));  /* 328600 / 332400 = 0.989 > 0.920 */
    assert_false(IS_OUTLIER(91400, 391400, 421700, 423800)); /* 300000 / 332400 = 0.903 */
    assert_true(IS_OUTLIER(0, 8240, 9000, 9500, 10000));     /* 0.824 > 0.823 */
    assert_false(IS_OUTLIER(0, 8230, 9000, 9500, 10000));    /* 0.823 */
    assert_false(IS_OUTLIER(0, 1000, 1000, 1000));           /* two different values only */
    assert_false(IS_OUTLIER(0, 900, 1000));                  /* three values are never judged */
    assert_false(ps_smallest_is_outlier(NULL, 0));
}

/* From eight on the largest does not count, from eleven on the second smallest neither, from fourteen on the two
 * largest do not. */
static void larger_samples(void **state) {
    (void)state;
    assert_true(IS_OUTLIER(0, 730, 800, 850, 900, 950, 1000, 99999)); /* 730 / 1000 > 0.723 */
    assert_false(IS_OUTLIER(0, 720, 800, 850, 900, 950, 1000, 99999));
    assert_true(
        IS_OUTLIER(0, 1, 710, 800, 820, 840, 860, 880, 900, 1000, 99999)); /* 0.710 > 0.707 */
    assert_false(IS_OUTLIER(0, 1, 700, 800, 820, 840, 860, 880, 900, 1000, 99999));
    assert_true(IS_OUTLIER(0, 1, 680, 700, 720, 740, 760, 780, 800, 820, 840, 1000, 99998, 99999));
    assert_false(IS_OUTLIER(0, 1, 670, 700, 720, 740, 760, 780, 800, 820, 840, 1000, 99998, 99999));
}

static void more_than_a_hundred(void **state) {
    (void)state;
    int64_t values[120];
    for (int i = 0; i < 120; i++) {
        values[i] = 1000 + i;
    }
    assert_false(ps_smallest_is_outlier(values, 120));
    values[0] = 0; /* mean 1051, sigma 100: beyond 3 sigma */
    assert_true(ps_smallest_is_outlier(values, 120));
    values[0] = 1000;
    values[119] = 9000; /* somebody far above accuses the smallest too */
    assert_true(ps_smallest_is_outlier(values, 120));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_samples),
        cmocka_unit_test(larger_samples),
        cmocka_unit_test(more_than_a_hundred),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Sorting by keys, and finding in what is sorted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/num.h"
#include "base/sort.h"

typedef struct item {
    const char *name;
    double size;
    int32_t rank;
    char unit[4];
    size_t place;
} item;

static const ps_sort_key KEYS[] = {PS_DOWN(item, size), PS_UP(item, name), PS_UP(item, unit),
                                   PS_UP(item, rank)};

static void by_each_key_in_turn(void **state) {
    (void)state;
    item items[] = {{"b", 1, 5, "us", 5},  {"b", 1, -5, "us", 4},  {"b", 1, 9, "ns", 3},
                    {NULL, 1, 0, "us", 1}, {"a", 1.5, 0, "us", 0}, {"a", 1, 0, "us", 2}};
    size_t n = sizeof items / sizeof *items;
    ps_sort_by(items, n, sizeof *items, PS_KEYS(KEYS));
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(items[i].place, i);
        assert_int_equal(ps_lower_bound_by(items, n, sizeof *items, &items[i], PS_KEYS(KEYS)), i);
    }
    item last = {"c", 0, 0, "", 0};
    assert_int_equal(ps_lower_bound_by(items, n, sizeof *items, &last, PS_KEYS(KEYS)), n);
    assert_int_equal(ps_compare_by(&items[0], &items[0], PS_KEYS(KEYS)), 0);
    assert_true(ps_compare_by(&items[0], &items[1], PS_KEYS(KEYS)) < 0);
}

static void none_and_one(void **state) {
    (void)state;
    int64_t values[] = {3, -7, INT64_MIN, 5};
    ps_sort(NULL, 0, sizeof *values, ps_compare_i64);
    ps_sort_by(NULL, 3, sizeof(item), PS_KEYS(KEYS)); /* there was no memory for it */
    ps_sort(values, 1, sizeof *values, ps_compare_i64);
    assert_int_equal(values[0], 3);
    ps_sort(values, 4, sizeof *values, ps_compare_i64);
    assert_int_equal(values[0], INT64_MIN);
    assert_int_equal(values[3], 5);
    assert_int_equal(ps_lower_bound_by(NULL, 0, sizeof(item), NULL, PS_KEYS(KEYS)), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_each_key_in_turn),
        cmocka_unit_test(none_and_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

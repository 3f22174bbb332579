/* The statistics block, worked out by hand, and the sort behind it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

#include "analyze/stats/stats.h"
#include "base/rng.h"

static void near(double value, double expected) {
    if (!(fabs(value - expected) <= 1e-9 * fmax(1, fabs(expected)))) {
        fail_msg("%.17g, not %.17g", value, expected);
    }
}

/* 1 2 4 9: mean 4, squares 9 + 4 + 0 + 25 = 38; positions of the quartiles 0.75, 1.5, 2.25. */
static void four_values(void **state) {
    (void)state;
    int64_t v[] = {9, 1, 4, 2};
    ps_stats s = ps_stats_of(v, 4);
    assert_int_equal(v[0], 1);
    assert_int_equal(v[3], 9);
    assert_int_equal(s.n, 4);
    assert_int_equal(s.min, 1);
    assert_int_equal(s.max, 9);
    assert_int_equal(s.sum, 16);
    near(s.mean, 4);
    near(s.std, sqrt(38.0 / 3));
    near(s.population, sqrt(38.0 / 4));
    near(s.q1, 1.75);
    near(s.median, 3);
    near(s.q3, 5.25);
    near(ps_stats_quantile(v, 4, 0), 1);
    near(ps_stats_quantile(v, 4, 1), 9);
    near(ps_stats_quantile(v, 4, 0.9), 7.5); /* position 2.7: 4 + 0.7 * 5 */
    static const double REALS[] = {1, 2, 4, 9};
    near(ps_stats_quantile_of_reals(REALS, 4, 0.9), 7.5);
    near(ps_stats_quantile_of_reals(REALS, 1, 0.9), 1);
}

static void one_value_and_none(void **state) {
    (void)state;
    int64_t v[] = {7};
    ps_stats s = ps_stats_of(v, 1);
    assert_true(isnan(s.std));
    near(s.population, 0);
    near(s.q1, 7);
    near(s.q3, 7);
    s = ps_stats_of(NULL, 0);
    assert_int_equal(s.n, 0);
    assert_int_equal(s.sum, 0);
    assert_true(isnan(s.std) && isnan(s.population));
}

static void sums_do_not_run_over(void **state) {
    (void)state;
    int64_t v[] = {INT64_MAX, INT64_MAX, 1};
    assert_true(ps_stats_of(v, 3).sum == INT64_MAX);
    int64_t w[] = {INT64_MIN, -1};
    assert_true(ps_stats_of(w, 2).sum == -INT64_MAX);
}

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Wide and narrow ranges, negative ones, runs of equals, sorted and reversed. */
static void values_are_sorted(void **state) {
    (void)state;
    enum { MOST = 5000 };
    static const int SIZES[] = {2, 47, 48, 49, 300, MOST};
    static int64_t v[MOST];
    static int64_t w[MOST];
    ps_rng rng = ps_rng_seed(7);
    for (size_t k = 0; k < sizeof SIZES / sizeof *SIZES; k++) {
        for (int bits = 0; bits < 64; bits += 7) {
            for (int shape = 0; shape < 4; shape++) {
                for (int i = 0; i < SIZES[k]; i++) {
                    int64_t x = (int64_t)(ps_rng_next(&rng) >> bits);
                    v[i] = shape == 0 ? x : shape == 1 ? i : shape == 2 ? -i : x % 3 - 1;
                    w[i] = v[i];
                }
                (void)ps_stats_of(v, (size_t)SIZES[k]);
                qsort(w, (size_t)SIZES[k], sizeof *w, compare);
                assert_memory_equal(v, w, (size_t)SIZES[k] * sizeof *v);
            }
        }
    }
}

typedef struct stats_row {
    ps_stats stats;
} stats_row;

static const ps_column COLUMNS[] = {PS_STATS_COLUMNS(stats_row, stats)};

static void one_value_has_no_deviation(void **state) {
    (void)state;
    ps_table *t = ps_table_new("Stats", "", PS_COLUMNS(COLUMNS));
    int64_t v[] = {7};
    ps_stats s = ps_stats_of(v, 1);
    ps_table_put(t, &(stats_row){s});
    t = ps_table_end(t);
    assert_non_null(t);
    assert_int_equal(ps_table_cell(t, 0, 0)->u.i, 1);
    for (size_t c = 1; c < t->n_columns; c++) {
        assert_int_equal(ps_table_cell(t, 0, c)->is_null, c == 2);
        assert_true(c == 2 || ps_table_cell(t, 0, c)->u.r == 7);
    }
    ps_table_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_values),
        cmocka_unit_test(one_value_and_none),
        cmocka_unit_test(sums_do_not_run_over),
        cmocka_unit_test(values_are_sorted),
        cmocka_unit_test(one_value_has_no_deviation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

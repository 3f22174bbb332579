/* What may be compared: unknown is no value, several usual lengths are no outliers, and a message is not blamed for waiting.
 * Times are microseconds. */
#include "support/report_run.h"

#include <string.h>

#include "analyze/stats/alike.h"

static void unknown_equals_nothing(void **state) {
    (void)state;
    static const struct {
        ps_alike_facts a, b;
        ps_alike alike;
    } CASES[] = {{{1, 2, 4}, {1, 2, 4}, PS_ALIKE_SURE},     {{1, 2, 4}, {1, 2, 5}, PS_ALIKE_NOT},
                 {{1, 2, -1}, {1, 2, -1}, PS_ALIKE_UNSURE}, {{1, 2, -1}, {1, 2, 4}, PS_ALIKE_NOT},
                 {{1, 0, 4}, {1, 0, 4}, PS_ALIKE_UNSURE},   {{0, 2, 4}, {0, 2, 4}, PS_ALIKE_NOT},
                 {{1, 2, 4}, {3, 2, 4}, PS_ALIKE_NOT},      {{1, 2, 0}, {1, 2, 0}, PS_ALIKE_SURE}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        assert_int_equal(ps_alike_of(CASES[i].a, CASES[i].b), CASES[i].alike);
    }
}

#define MAX_LENGTHS 16
static void expect_outliers(size_t n, const int64_t *us, const int64_t *like_us) {
    int64_t ns[MAX_LENGTHS] = {0};
    int64_t like_ns[MAX_LENGTHS] = {0};
    size_t n_outliers = 0;
    for (size_t i = 0; i < n; i++) {
        ns[i] = us[i] * US;
        n_outliers += like_us[i] > 0;
    }
    assert_int_equal(ps_outliers_find(ns, n, 3, like_ns), n_outliers);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(like_ns[i], like_us[i] * US);
    }
}

static void modes(void **state) {
    (void)state;
    /* one far away; two usual lengths; two usual ones and one beyond the second; a continuous tail; too few */
    expect_outliers(6, (const int64_t[]){10, 11, 12, 12, 13, 99},
                    (const int64_t[]){0, 0, 0, 0, 0, 12});
    expect_outliers(10, (const int64_t[]){10, 11, 12, 12, 13, 90, 91, 92, 93, 94},
                    (const int64_t[10]){0});
    expect_outliers(11, (const int64_t[]){10, 11, 12, 12, 13, 90, 91, 92, 93, 94, 900},
                    (const int64_t[11]){[10] = 92});
    expect_outliers(9, (const int64_t[]){10, 10, 10, 10, 10, 15, 20, 29, 40},
                    (const int64_t[9]){[8] = 10});
    expect_outliers(4, (const int64_t[]){10, 10, 10, 99}, (const int64_t[4]){0});
    expect_outliers(0, NULL, NULL);
}

static void report_rig(report_run *out, rig *r) {
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

/* Five of 10 and one of 100: with a size a finding with its gain; without one the same without, and the sentence says so. */
static void a_size_that_is_not_known(void **state) {
    (void)state;
    for (int64_t n_elements = 0; n_elements <= 1024; n_elements += 1024) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, 500);
        for (int k = 0; k < 5; k++) {
            (void)rig_comm(&r, "hcom_allReduce__1", 500 + 20 * k, 510 + 20 * k, n_elements);
        }
        (void)rig_comm(&r, "hcom_allReduce__1", 700, 800, n_elements);
        report_rig(&o, &r);
        assert_true(report_fired(&o, PS_RULE_COMM_OUTLIER));
        const char *text = report_text(&o, PS_RULE_COMM_OUTLIER);
        assert_int_equal(report_gain(&o, PS_RULE_COMM_OUTLIER), n_elements > 0 ? 90 * US : 0);
        assert_true((strstr(text, "group and size:") != NULL) == (n_elements > 0));
        assert_true((strstr(text, "Their size is unknown") != NULL) == (n_elements == 0));
        report_fini(&o);
    }
}

/* Five of 10 and five of 60 under one name: two sizes, whatever the profile says of them. */
static void two_usual_lengths(void **state) {
    (void)state;
    for (int64_t n_elements = 0; n_elements <= 1024; n_elements += 1024) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, 400);
        for (int k = 0; k < 10; k++) {
            int64_t end = k < 5 ? 410 + 20 * k : 560 + 70 * (k - 5);
            (void)rig_comm(&r, "hcom_allReduce__1", k < 5 ? end - 10 : end - 60, end, n_elements);
        }
        report_rig(&o, &r);
        assert_false(report_fired(&o, PS_RULE_COMM_OUTLIER));
        report_fini(&o);
    }
}

/* Six messages of one size that is no multiple, five short ones and one of 500, which waits: in transit are at most six times
 * the shortest. Of one alone nothing is known. */
static void waiting_is_no_transit(void **state) {
    (void)state;
    for (int64_t n_short = 0; n_short <= 5; n_short += 5) {
        for (int64_t shortest = 1; shortest <= 10; shortest += 9) {
            report_run o;
            rig r = rig_begin(1000);
            (void)rig_kernel(&r, "Add", NULL, 0, 10, 400);
            for (int64_t k = 0; k < n_short; k++) {
                (void)rig_comm(&r, "hcom_allReduce__1", 400 + 10 * k, 400 + 10 * k + shortest,
                               250064);
            }
            (void)rig_comm(&r, "hcom_allReduce__1", 450, 950, 250064);
            report_rig(&o, &r);
            bool is_said = n_short > 0 && shortest == 10;
            assert_int_equal(report_fired(&o, PS_RULE_BYTE_ALIGNMENT), is_said);
            if (is_said) {
                assert_non_null(strstr(report_text(&o, PS_RULE_BYTE_ALIGNMENT), "at most 60.0 us"));
            }
            report_fini(&o);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_equals_nothing),   cmocka_unit_test(modes),
        cmocka_unit_test(a_size_that_is_not_known), cmocka_unit_test(two_usual_lengths),
        cmocka_unit_test(waiting_is_no_transit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

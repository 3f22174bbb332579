/* The chart of another capture below one: step beside step, by their order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/pipeline/chart_beside.h"
#include "base/alloc.h"

/* One rank, an op of `ns` in each of these steps, and one in none. */
static ps_chart *make(const int64_t *steps, size_t n, int64_t ns) {
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    assert_true(ps_chart_set_text(chart, "", "1f1b"));
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 0, .stage = 0}));
    for (size_t i = 0; i < n; i++) {
        assert_true(ps_chart_add_op(chart, (ps_op){.start_ns = (int64_t)i * 100,
                                                   .end_ns = (int64_t)i * 100 + ns,
                                                   .step = steps[i],
                                                   .name = "0",
                                                   .microbatch2 = -1}));
    }
    assert_true(ps_chart_add_op(chart, (ps_op){.start_ns = (int64_t)n * 100,
                                               .end_ns = (int64_t)n * 100 + ns,
                                               .step = PS_FIRST_STEP,
                                               .name = "0",
                                               .microbatch2 = -1}));
    return chart;
}

static void steps_by_their_order(void **state) {
    (void)state;
    const int64_t now[] = {5, 6, 7};
    const int64_t then[] = {10, 12, 12, 13, 14};
    ps_chart *chart = make(now, 3, 10);
    ps_chart *base = make(then, 5, 20);
    ps_chart *below = ps_chart_beside(chart, base, NULL);
    assert_non_null(below);
    assert_int_equal(below->n_ranks, 1);
    assert_int_equal(below->n_ops, 4); /* of 14, the fourth, nothing; nor of what lies in no step */
    const int64_t expected[] = {5, 6, 6, 7};
    for (size_t i = 0; i < below->n_ops; i++) {
        assert_int_equal(below->ops[i].step, expected[i]);
        assert_int_equal(below->ops[i].start_ns, (int64_t)i * 100);
        assert_int_equal(below->ops[i].end_ns - below->ops[i].start_ns, 20);
    }
    assert_string_equal(below->schedule, "1f1b");
    ps_chart_free(below);
    ps_chart_free(base);
    ps_chart_free(chart);
}

static void nothing_in_steps(void **state) {
    (void)state;
    const int64_t now[] = {5};
    ps_chart *chart = make(now, 1, 10);
    ps_chart *base = make(NULL, 0, 20);
    ps_err err = PS_ERR_INIT;
    assert_null(ps_chart_beside(chart, base, &err));
    assert_int_equal(err.code, PS_NOTHING);
    ps_chart_free(base);
    ps_chart_free(chart);
}

static void memory_runs_out(void **state) {
    (void)state;
    const int64_t steps[] = {1, 2};
    ps_chart *chart = make(steps, 2, 10);
    ps_chart *base = make(steps, 2, 20);
    for (int64_t i = 0;; i++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(i);
        ps_chart *below = ps_chart_beside(chart, base, &err);
        (void)ps_alloc_fail_at(-1);
        if (below != NULL) {
            assert_true(i > 3);
            ps_chart_free(below);
            break;
        }
        assert_int_equal(err.code, PS_NOMEM);
    }
    ps_chart_free(base);
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_by_their_order),
        cmocka_unit_test(nothing_in_steps),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

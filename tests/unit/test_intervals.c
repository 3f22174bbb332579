/* Unions of spans against a clock that is ticked through. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/stats/intervals.h"
#include "base/alloc.h"
#include "base/rng.h"

enum { CLOCK = 200, RUNS = 3000 };

/* One flag a tick: the slow way to hold a set of spans. */
typedef struct ticks {
    bool on[CLOCK];
} ticks;

static ps_intervals random_spans(ps_rng *rng, ticks *t) {
    ps_intervals list = {0};
    size_t n = ps_rng_next(rng) % 20;
    *t = (ticks){0};
    for (size_t i = 0; i < n; i++) {
        int64_t start = (int64_t)(ps_rng_next(rng) % (CLOCK - 20));
        int64_t end = start + (int64_t)(ps_rng_next(rng) % 20);
        assert_true(ps_intervals_add(&list, start, end));
        for (int64_t at = start; at < end; at++) {
            t->on[at] = true;
        }
    }
    return list;
}

static int64_t n_ticks(const ticks *t, int64_t from, int64_t to) {
    int64_t n = 0;
    for (int64_t at = from; at < to; at++) {
        n += t->on[at];
    }
    return n;
}

/* United: in order, apart, none empty, and the same ticks. */
static void expect_same(const ps_intervals *list, const ticks *t) {
    ticks got = {0};
    for (size_t i = 0; i < list->n; i++) {
        assert_true(list->at[i].start_ns < list->at[i].end_ns);
        assert_true(i == 0 || list->at[i - 1].end_ns < list->at[i].start_ns);
        for (int64_t at = list->at[i].start_ns; at < list->at[i].end_ns; at++) {
            got.on[at] = true;
        }
    }
    assert_memory_equal(got.on, t->on, sizeof got.on);
    assert_int_equal(ps_intervals_length_ns(list), n_ticks(t, 0, CLOCK));
    assert_int_equal(ps_intervals_union_ns(list->at, list->n), n_ticks(t, 0, CLOCK));
}

static void unions_and_differences_are_those_of_ticks(void **state) {
    (void)state;
    ps_rng rng = ps_rng_seed(7);
    for (int run = 0; run < RUNS; run++) {
        ticks ta;
        ticks tb;
        ps_intervals a = random_spans(&rng, &ta);
        ps_intervals b = random_spans(&rng, &tb);
        ps_intervals minus = {0};
        ps_intervals both = {0};
        ps_intervals either = {0};
        ps_intervals_unite(&a);
        ps_intervals_unite(&b);
        expect_same(&a, &ta);
        assert_true(ps_intervals_minus(&a, &b, &minus));
        assert_true(ps_intervals_both(&a, &b, &both));
        assert_true(ps_intervals_either(&a, &b, &either));
        ticks t_minus;
        ticks t_both;
        ticks t_either;
        for (int at = 0; at < CLOCK; at++) {
            t_minus.on[at] = ta.on[at] && !tb.on[at];
            t_both.on[at] = ta.on[at] && tb.on[at];
            t_either.on[at] = ta.on[at] || tb.on[at];
        }
        expect_same(&minus, &t_minus);
        expect_same(&both, &t_both);
        expect_same(&either, &t_either);
        assert_int_equal(ps_intervals_minus_ns(&a, &b), n_ticks(&t_minus, 0, CLOCK));
        int64_t from = (int64_t)(ps_rng_next(&rng) % CLOCK);
        int64_t to = from + (int64_t)(ps_rng_next(&rng) % (uint64_t)(CLOCK - from));
        assert_int_equal(ps_intervals_within_ns(&a, from, to), n_ticks(&ta, from, to));
        ps_intervals_fini(&a);
        ps_intervals_fini(&b);
        ps_intervals_fini(&minus);
        ps_intervals_fini(&both);
        ps_intervals_fini(&either);
    }
}

/* Sorted spans that overlap: the length without uniting them. */
static void the_length_of_sorted_spans(void **state) {
    (void)state;
    static const ps_interval SPANS[] = {{0, 4}, {1, 2}, {2, 6}, {6, 7}, {9, 9}, {10, 12}, {10, 11}};
    assert_int_equal(ps_intervals_union_ns(SPANS, 7), 9); /* 0..7 and 10..12 */
    assert_int_equal(ps_intervals_union_ns(SPANS, 0), 0);
}

static void many_unsorted_spans(void **state) {
    (void)state;
    enum { N = 5000 };
    ps_rng rng = ps_rng_seed(11);
    for (int64_t spread_ns = 100; spread_ns < INT64_C(1) << 50; spread_ns *= 1000) {
        ps_intervals a = {0};
        for (int i = 0; i < N; i++) {
            int64_t start = (int64_t)(ps_rng_next(&rng) % (uint64_t)spread_ns) - spread_ns / 2;
            assert_true(ps_intervals_add(&a, start, start + 1));
        }
        ps_intervals b = {0};
        for (size_t i = 0; i < a.n; i++) {
            assert_true(ps_intervals_add(&b, a.at[i].start_ns, a.at[i].end_ns));
        }
        ps_intervals_unite(&a);
        (void)ps_alloc_fail_at(0); /* without memory it sorts in another way */
        ps_intervals_unite(&b);
        (void)ps_alloc_fail_at(-1);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.at, b.at, a.n * sizeof *a.at);
        ps_intervals_fini(&a);
        ps_intervals_fini(&b);
    }
}

static void no_memory_is_told(void **state) {
    (void)state;
    ps_intervals a = {0};
    (void)ps_alloc_fail_at(0);
    assert_false(ps_intervals_add(&a, 0, 1));
    (void)ps_alloc_fail_at(-1);
    ps_intervals_fini(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_and_differences_are_those_of_ticks),
        cmocka_unit_test(the_length_of_sorted_spans),
        cmocka_unit_test(many_unsorted_spans),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The order of times, against what a plain comparison sort makes of them: equal times stay as they came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/trace_sort.h"

enum { MOST = 60000 };

static int64_t times[MOST];
static uint32_t order[MOST], expected[MOST];

static uint64_t next_random(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static int64_t random_below(uint64_t end) {
    return (int64_t)(next_random() % end);
}

/* --- kinds of input ---------------------------------------------------------------------------------- */

static int64_t rising(size_t i) {
    return (int64_t)(i / 3);
}

static int64_t falling(size_t i) {
    return -(int64_t)i;
}

static int64_t all_equal(size_t i) {
    (void)i;
    return 7;
}

static int64_t two_values(size_t i) {
    return (i * 7 % 3 == 0) ? INT64_MAX : INT64_MIN;
}

static int64_t small_range(size_t i) {
    (void)i;
    return random_below(1000);
}

static int64_t all_bits(size_t i) {
    (void)i;
    return (int64_t)next_random();
}

/* Nearly everything falls into one bucket, again and again. */
static int64_t far_out(size_t i) {
    return i % 5000 == 17 ? (int64_t)(next_random() >> (i / 5000 * 5)) : random_below(100000);
}

static int64_t clusters(size_t i) {
    return (int64_t)(next_random() % 5 << 55) + (int64_t)(i % 7 << 30) + random_below(5000);
}

/* Each of a few lanes in order by itself. */
static int64_t lanes(size_t i) {
    return (int64_t)(i / 9 * 1000 + i % 9 * 77) - (int64_t)(i % 2 * 12345);
}

static int64_t (*const KINDS[])(size_t) = {rising,   falling, all_equal, two_values, small_range,
                                           all_bits, far_out, clusters,  lanes};
enum { N_KINDS = sizeof KINDS / sizeof *KINDS };

/* --- tests ------------------------------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a;
    uint32_t y = *(const uint32_t *)b;
    if (times[x] != times[y]) {
        return times[x] < times[y] ? -1 : 1;
    }
    return x < y ? -1 : x > y;
}

static void make(size_t kind, size_t n) {
    for (size_t i = 0; i < n; i++) {
        times[i] = KINDS[kind](i);
        expected[i] = (uint32_t)i;
    }
    qsort(expected, n, sizeof *expected, compare_rows);
}

static void as_a_comparison_sort(void **state) {
    (void)state;
    static const size_t NUMBERS[] = {1, 2, 3, 24, 25, 1000, 4095, 4096, 4097, 20000, MOST};
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        for (size_t k = 0; k < sizeof NUMBERS / sizeof *NUMBERS; k++) {
            make(kind, NUMBERS[k]);
            assert_true(ps_times_order(times, NUMBERS[k], order));
            assert_memory_equal(order, expected, NUMBERS[k] * sizeof *order);
        }
    }
}

static void without_memory(void **state) {
    (void)state;
    for (size_t kind = 0; kind < N_KINDS; kind++) {
        make(kind, MOST);
        bool done = false;
        for (int64_t at = 0; !done; at++) {
            (void)ps_alloc_fail_at(at);
            bool ok = ps_times_order(times, MOST, order);
            done = ps_alloc_fail_at(-1) <= at;
            assert_int_equal(ok, done);
        }
        assert_memory_equal(order, expected, MOST * sizeof *order);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(as_a_comparison_sort),
                                       cmocka_unit_test(without_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

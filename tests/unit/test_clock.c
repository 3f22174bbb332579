/* Clock offsets against intervals worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/pipeline/chart_clock.h"
#include "base/alloc.h"
#include "model/clock.h"

static ps_clock_interval open_interval(uint32_t a, uint32_t b) {
    return (ps_clock_interval){
        .a = a, .b = b, .low_ns = PS_CLOCK_LOW_OPEN, .high_ns = PS_CLOCK_HIGH_OPEN};
}

static ps_clock_interval between(uint32_t a, uint32_t b, int64_t low_ns, int64_t high_ns) {
    return (ps_clock_interval){.a = a, .b = b, .low_ns = low_ns, .high_ns = high_ns};
}

/* b's clock is 100 ahead. Sent on a at 10, there on b at 118 (8 later): difference <= 108. Sent on b at 150 (50 on a's
 * clock), there on a at 56 (6 later): difference >= 94. So 101 +- 7. */
static void test_one_pair(void **context) {
    (void)context;
    ps_clock_interval i = open_interval(0, 1);
    ps_clock_offset out[2];
    ps_clock_before(&i, true, 10, 118);
    assert_false(ps_clock_is_closed(&i));
    ps_clock_before(&i, false, 150, 56);
    assert_int_equal(i.low_ns, 94);
    assert_int_equal(i.high_ns, 108);
    ps_clock_before(&i, true, 0, 300); /* says nothing new */
    assert_int_equal(i.high_ns, 108);
    assert_int_equal(ps_clock_solve(2, &i, 1, out, NULL), PS_OK);
    assert_true(out[0].is_known && out[1].is_known);
    assert_int_equal(out[0].offset_ns, 0);
    assert_int_equal(out[0].uncertainty_ns, 0);
    assert_int_equal(out[1].offset_ns, 101);
    assert_int_equal(out[1].uncertainty_ns, 7);
}

/* An odd width rounds so that both ends stay inside: [0, 5] is 2 +- 3. */
static void test_rounding_keeps_both_ends(void **context) {
    (void)context;
    ps_clock_interval i = between(0, 1, 0, 5);
    ps_clock_offset out[2];
    assert_int_equal(ps_clock_solve(2, &i, 1, out, NULL), PS_OK);
    assert_true(out[1].offset_ns - out[1].uncertainty_ns <= 0);
    assert_true(out[1].offset_ns + out[1].uncertainty_ns >= 5);
}

/* 0 - 1 by 10 +- 2, 1 - 2 by 20 +- 3, 0 - 2 directly by 35 +- 50: the way over 1 is better. 3 - 4 are apart. */
static void test_the_best_way(void **context) {
    (void)context;
    const ps_clock_interval all[] = {between(0, 2, -15, 85), between(1, 2, 17, 23),
                                     between(0, 1, 8, 12), between(3, 4, -4, -2)};
    ps_clock_offset out[6];
    assert_int_equal(ps_clock_solve(6, all, 4, out, NULL), PS_OK);
    assert_int_equal(out[1].offset_ns, 10);
    assert_int_equal(out[2].offset_ns, 30);
    assert_int_equal(out[2].uncertainty_ns, 5);
    assert_int_equal(out[2].first, 0);
    assert_int_equal(out[4].first, 3);
    assert_int_equal(out[4].offset_ns, -3);
    assert_int_equal(out[4].uncertainty_ns, 1);
    assert_false(out[5].is_known);
}

/* What contradicts itself or is bounded on one side only connects nothing. */
static void test_useless_intervals(void **context) {
    (void)context;
    const ps_clock_interval all[] = {between(0, 1, 5, 4), between(1, 2, PS_CLOCK_LOW_OPEN, 9)};
    ps_clock_offset out[3];
    assert_true(ps_clock_is_empty(&all[0]));
    assert_int_equal(ps_clock_solve(3, all, 2, out, NULL), PS_OK);
    for (int m = 0; m < 3; m++) {
        assert_false(out[m].is_known);
    }
}

static void test_extreme_times(void **context) {
    (void)context;
    ps_clock_interval i = open_interval(0, 1);
    ps_clock_before(&i, true, INT64_MIN, INT64_MAX);
    ps_clock_before(&i, false, INT64_MAX, INT64_MIN);
    assert_false(ps_clock_is_closed(&i));
    const ps_clock_interval wide = between(0, 1, INT64_MIN + 1, INT64_MAX - 1);
    ps_clock_offset out[2];
    assert_int_equal(ps_clock_solve(2, &wide, 1, out, NULL), PS_OK);
    assert_int_equal(out[1].first, 1); /* nothing connects it */
}

/* --- charts -------------------------------------------------------------------------------------------------------- */

static void add_op(ps_chart *c, uint32_t rank, ps_op_kind kind, int64_t start, int64_t end) {
    assert_true(ps_chart_add_op(c, (ps_op){.start_ns = start,
                                           .end_ns = end,
                                           .rank = rank,
                                           .name = "x",
                                           .kind = (uint8_t)kind,
                                           .microbatch = 0}));
}

/* Machine 1 is 1000 ahead. F on machine 0 ends at 10, F on machine 1 starts at 1012 (2 later): difference <= 1002.
 * B on machine 1 ends at 1030, B on machine 0 starts at 33 (3 later): difference >= 997. So 999 +- 3. */
static ps_chart *two_machines(void) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = 0, .stage = 0, .machine = 0}));
    assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = 1, .stage = 1, .machine = 7}));
    add_op(c, 0, PS_OP_F, 0, 10);
    add_op(c, 0, PS_OP_B, 33, 50);
    add_op(c, 1, PS_OP_F, 1012, 1020);
    add_op(c, 1, PS_OP_B, 1020, 1030);
    assert_true(ps_chart_add_link(c, (ps_chart_link){0, 2}));
    assert_true(ps_chart_add_link(c, (ps_chart_link){3, 1}));
    return c;
}

static void test_chart_by_links(void **context) {
    (void)context;
    ps_chart *c = two_machines();
    ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    ps_chart_clock_notes notes = {.n_empty = 7};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(notes.n_empty, 0);
    assert_true(c->ranks[0].has_clock && c->ranks[1].has_clock);
    assert_int_equal(c->ranks[0].clock_offset_ns, 0);
    assert_int_equal(c->ranks[1].clock_offset_ns, 999);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 3);
    assert_int_equal(c->ops[2].start_ns, 1012);
    assert_false(c->is_aligned);
    opts.use = PS_CLOCKS_ALL;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ops[2].start_ns, 13);
    assert_int_equal(c->ops[0].start_ns, 0);
    assert_true(c->is_aligned);
    ps_chart_free(c);
}

/* The forward on machine 1 begins 200 before its input is there (an operation that needs none comes first): by starts
 * difference <= 802 and >= 997, nothing. By ends: <= 1020 - 10 = 1010, >= 1030 - 50 = 980. So 995 +- 15. */
static void test_early_starts(void **context) {
    (void)context;
    ps_chart *c = two_machines();
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    ps_chart_clock_notes notes = {.n_empty = 7};
    c->ops[2].start_ns -= 200;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(notes.n_empty, 0);
    assert_int_equal(c->ranks[1].clock_offset_ns, 995);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 15);
    ps_chart_free(c);
}

/* Ends that contradict one another too: the clocks stay unknown, and that is counted. */
static void test_contradiction(void **context) {
    (void)context;
    ps_chart *c = two_machines();
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_ALL};
    ps_chart_clock_notes notes = {.n_empty = 0};
    c->ops[1].end_ns = 40;
    c->ops[1].start_ns = 5;
    c->ops[2].start_ns = 900;
    c->ops[2].end_ns = 910;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(notes.n_empty, 1);
    assert_false(c->ranks[1].has_clock);
    assert_false(c->is_aligned);
    assert_int_equal(c->ops[2].start_ns, 900);
    ps_chart_free(c);
}

/* A pair hands its result over somewhere inside: only that it had begun is sure. Sends and receives: a receive does not
 * end before its send began. */
static void test_pairs_and_transfers(void **context) {
    (void)context;
    ps_chart *c = two_machines();
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    ps_chart_clock_notes notes = {.n_empty = 0};
    c->ops[0].kind = PS_OP_FB;   /* start 0 to 1012: <= 1012 */
    c->ops[3].kind = PS_OP_SEND; /* start 1020 to end 50: >= 970 */
    c->ops[1].kind = PS_OP_RECV;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ranks[1].clock_offset_ns, 991);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 21);
    ps_chart_free(c);
}

/* One machine has one clock. Ranks of unknown machines are left alone, unless each is taken for one. */
static void test_unknown_machines(void **context) {
    (void)context;
    ps_chart *c = two_machines();
    ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    ps_chart_clock_notes notes = {.n_empty = 0};
    c->ranks[1].machine = 0;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_false(c->ranks[1].has_clock);
    c->ranks[0].machine = -1;
    c->ranks[1].machine = -1;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_false(c->ranks[1].has_clock);
    opts.each_rank = true;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ranks[1].clock_offset_ns, 999);
    ps_chart_free(c);
}

/* Without links, a collective bounds both sides: 0..100 on machine 0, 1040..1110 on machine 1; each began before the
 * other ended: difference <= 1110 - 0 and >= 1040 - 100. They end together, at 1110 - 100 = 1010, which is 100 from one end. */
static void test_collectives(void **context) {
    (void)context;
    ps_chart *c = two_machines();
    const ps_clock_collective collective = {0, 1, 0, 100, 1040, 1110};
    const ps_chart_clock_opts opts = {.collectives = &collective, .n_collectives = 1};
    ps_chart_clock_notes notes = {.n_empty = 0};
    c->n_links = 0;
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ranks[1].clock_offset_ns, 1010);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 100);
    ps_chart_free(c);
}

static void test_out_of_memory(void **context) {
    (void)context;
    for (int64_t n = 0;; n++) {
        ps_chart *c = two_machines();
        const ps_chart_clock_opts opts = {.use = PS_CLOCKS_ALL};
        ps_chart_clock_notes notes = {.n_empty = 0};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_chart_clocks(c, &opts, &notes, &err);
        bool done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        ps_chart_free(c);
        if (done) {
            return;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_pair),
        cmocka_unit_test(test_rounding_keeps_both_ends),
        cmocka_unit_test(test_the_best_way),
        cmocka_unit_test(test_useless_intervals),
        cmocka_unit_test(test_extreme_times),
        cmocka_unit_test(test_chart_by_links),
        cmocka_unit_test(test_early_starts),
        cmocka_unit_test(test_contradiction),
        cmocka_unit_test(test_pairs_and_transfers),
        cmocka_unit_test(test_unknown_machines),
        cmocka_unit_test(test_collectives),
        cmocka_unit_test(test_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

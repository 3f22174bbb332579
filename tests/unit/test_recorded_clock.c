/* What recordings say of their clocks, and what charts make of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/comm/recorded_clock.h"
#include "analyze/pipeline/chart_clock.h"
#include "base/alloc.h"

/* --- reading -------------------------------------------------------------------------------------------------------- */

static ps_recorded_clock parse(const char *text) {
    ps_recorded_clock c;
    memset(&c, 0xff, sizeof c);
    assert_int_equal(ps_recorded_clock_parse(text, strlen(text), &c, NULL), PS_OK);
    return c;
}

#define READING                                                                                    \
    "\"method\":\"exchange\",\"reference\":3,\"offset_ns\":-1750298,\"uncertainty_ns\":8600,"      \
    "\"at_ns\":1700000000000000500,\"from_ns\":1700000000000000000,\"to_ns\":1700000000000001000"
#define WHERE ",\"machine\":\"5393120818626708911\"}"

static void test_parse(void **context) {
    (void)context;
    ps_recorded_clock c =
        parse("{\"ticks\":\"tsc\",\"ptp\":false," READING
              ",\"readings\":2,\"drift_ppm\":-0.811163,\"drift_uncertainty_ppm\":12.000500" WHERE);
    assert_true(c.has_offset && c.has_drift && !c.is_ptp);
    assert_int_equal(c.reference, 3);
    assert_int_equal(c.offset_ns, -1750298);
    assert_int_equal(c.uncertainty_ns, 8600);
    assert_int_equal(c.at_ns - c.from_ns, 500);
    assert_int_equal(c.to_ns - c.from_ns, 1000);
    assert_int_equal(c.drift_ppb, -811);
    assert_int_equal(c.drift_uncertainty_ppb, 12001);
    assert_true(c.machine == 5393120818626708911u);
    c = parse("{" READING ",\"drift_ppm\":null" WHERE);
    assert_true(c.has_offset && !c.has_drift);
}

static void test_ptp(void **context) {
    (void)context;
#define KERNEL(bound, error)                                                                       \
    "{\"ptp\":true,\"synchronised\":true,\"max_error_us\":" bound ",\"estimated_error_us\":" error \
    "," READING WHERE
    assert_true(parse(KERNEL("310", "0")).is_ptp);
    assert_true(parse(KERNEL("1", "16000000")).is_ptp);
    assert_false(parse(KERNEL("310", "16000000")).is_ptp);
    assert_false(parse(KERNEL("30000", "1")).is_ptp);
    assert_false(parse("{\"ptp\":true,\"synchronised\":false,\"max_error_us\":1,"
                       "\"estimated_error_us\":1," READING WHERE)
                     .is_ptp);
}

/* Texts of damaged files, and of recordings without a reading. */
static void test_nothing(void **context) {
    (void)context;
    static const char *const TEXTS[] = {
        "",
        "{",
        "[]",
        "7",
        "{\"ptp\":true,\"offset_ns\":5}",
        "{" READING "}",
        "{" READING ",\"machine\":\"x\"}",
        "{\"method\":\"exchange\",\"reference\":0,\"offset_ns\":9000000000000000000,"
        "\"uncertainty_ns\":1,\"at_ns\":1,\"from_ns\":1,\"to_ns\":1" WHERE,
        "{\"method\":\"exchange\",\"reference\":0,\"offset_ns\":1,\"uncertainty_ns\":-1,"
        "\"at_ns\":1,\"from_ns\":1,\"to_ns\":1" WHERE,
        "{\"method\":\"exchange\",\"reference\":0,\"offset_ns\":1,\"uncertainty_ns\":1,"
        "\"at_ns\":1,\"from_ns\":2,\"to_ns\":1" WHERE};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        ps_recorded_clock c = parse(TEXTS[i]);
        assert_false(c.has_offset || c.has_drift || c.is_ptp);
    }
}

static void test_memory(void **context) {
    (void)context;
    static const char TEXT[] = "{" READING WHERE;
    bool has_failed = true;
    for (int64_t n = 0; has_failed; n++) {
        ps_recorded_clock c;
        assert_true(n < 100);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_recorded_clock_parse(TEXT, sizeof TEXT - 1, &c, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        assert_int_equal(c.has_offset, code == PS_OK);
    }
}

static void test_machines(void **context) {
    (void)context;
    const ps_recorded_clock a = {.has_offset = true, .machine = 77};
    const ps_recorded_clock b = {.has_offset = true, .machine = 5};
    const ps_recorded_clock none = {0};
    const ps_recorded_clock *const clocks[] = {&none, &a, NULL, &b, &a};
    int32_t machines[] = {-1, -1, -1, -1, -1};
    assert_true(ps_recorded_machines(clocks, 5, machines));
    assert_memory_equal(machines, ((int32_t[]){-1, 0, -1, 1, 0}), sizeof machines);
    int32_t known[] = {-1, 4, -1, -1, -1}; /* by their folders */
    assert_true(ps_recorded_machines(clocks, 5, known));
    assert_memory_equal(known, ((int32_t[]){-1, 4, -1, -1, -1}), sizeof known);
}

/* --- charts --------------------------------------------------------------------------------------------------------- */

enum { SECOND = 1000000000, ORIGIN = 500 };

static void add_op(ps_chart *c, uint32_t rank, int64_t start, int64_t end) {
    assert_true(ps_chart_add_op(
        c, (ps_op){.start_ns = start, .end_ns = end, .rank = rank, .name = "x", .kind = PS_OP_F}));
}

static ps_recorded_clock reading(int64_t offset_ns, int64_t uncertainty_ns) {
    return (ps_recorded_clock){.has_offset = true,
                               .has_drift = true,
                               .offset_ns = offset_ns,
                               .uncertainty_ns = uncertainty_ns,
                               .from_ns = ORIGIN,
                               .at_ns = ORIGIN,
                               .to_ns = ORIGIN + SECOND};
}

/* Machine 1 is 1000 ahead; links say 999 +- 3 when there are any. The chart is a second long. */
static ps_chart *two_machines(bool linked, ps_recorded_clock of_second) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    c->origin_ns = ORIGIN;
    assert_true(ps_chart_add_rank(
        c, (ps_chart_rank){.rank = 0, .stage = 0, .machine = 0, .recorded = reading(0, 0)}));
    assert_true(ps_chart_add_rank(
        c, (ps_chart_rank){.rank = 1, .stage = 1, .machine = 1, .recorded = of_second}));
    add_op(c, 0, 0, 10);
    add_op(c, 0, 33, SECOND);
    add_op(c, 1, 1012, 1020);
    add_op(c, 1, 1020, 1030);
    if (linked) {
        assert_true(ps_chart_add_link(c, (ps_chart_link){0, 2}));
        assert_true(ps_chart_add_link(c, (ps_chart_link){3, 1}));
    }
    return c;
}

typedef struct expected {
    int64_t offset_ns, uncertainty_ns;
    uint32_t by;
    size_t n_disagree;
} expected;

static void expect_clock(bool linked, ps_recorded_clock of_second, expected want) {
    ps_chart *c = two_machines(linked, of_second);
    ps_chart_clock_notes notes = {.n_empty = 7};
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(notes.n_empty, 0);
    assert_int_equal(notes.n_disagree, want.n_disagree);
    assert_int_equal(c->ranks[1].has_clock, want.by != 0);
    assert_int_equal(c->ranks[1].clock_offset_ns, want.offset_ns);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, want.uncertainty_ns);
    assert_int_equal(c->ranks[1].clock_by, want.by);
    ps_chart_free(c);
}

static void test_sources(void **context) {
    (void)context;
    const uint32_t order = PS_CLOCK_BY_ORDER;
    const uint32_t exchange = PS_CLOCK_BY_EXCHANGE;
    expect_clock(false, reading(1100, 200), (expected){1100, 200, exchange, 0});
    expect_clock(true, (ps_recorded_clock){0}, (expected){999, 3, order, 0});
    /* The wider one says nothing more; what they have in common; the narrower one. */
    expect_clock(true, reading(1100, 200), (expected){999, 3, order, 0});
    expect_clock(true, reading(1010, 12), (expected){1000, 2, order | exchange, 0});
    expect_clock(true, reading(1000, 1), (expected){1000, 1, exchange, 0});
    /* Nothing in common: the order of events counts. */
    expect_clock(true, reading(2000, 12), (expected){999, 3, order, 1});
    /* Without a link and without a reading nothing is known. */
    expect_clock(false, (ps_recorded_clock){0}, (expected){0, 0, 0, 0});
    /* Readings against different clocks say nothing of one another. */
    ps_recorded_clock other = reading(1000, 1);
    other.reference = 4;
    expect_clock(true, other, (expected){999, 3, order, 0});
}

static void test_one_reading(void **context) {
    (void)context;
    ps_recorded_clock once = reading(1100, 200);
    once.has_drift = false;
    once.to_ns = once.from_ns;
    /* A second away, clocks may have gained 100 us. */
    expect_clock(false, once, (expected){1100, 100200, PS_CLOCK_BY_EXCHANGE, 0});
    /* The reference has one reading, too, but its clock is what the other one is measured by. */
    ps_chart *c = two_machines(false, once);
    c->ranks[0].recorded.has_drift = false;
    c->ranks[0].recorded.to_ns = ORIGIN;
    ps_chart_clock_notes notes;
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 100200);
    ps_chart_free(c);
}

static void test_promise_of_ptp(void **context) {
    (void)context;
    ps_recorded_clock a = reading(0, 0);
    ps_recorded_clock b = reading(700, 100000);
    a.is_ptp = b.is_ptp = true;
    ps_chart *c = two_machines(false, b);
    c->ranks[0].recorded = a;
    ps_chart_clock_notes notes;
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ranks[1].clock_offset_ns, 0);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 2000);
    assert_int_equal(c->ranks[1].clock_by, PS_CLOCK_BY_PTP);
    ps_chart_free(c);
}

/* 100 ppm: 100 us in the chart's second. The offset is that of its middle, the ops are moved each by its own. */
static void test_drift(void **context) {
    (void)context;
    ps_recorded_clock drifting = reading(0, 10);
    drifting.drift_ppb = 100000;
    drifting.drift_uncertainty_ppb = 20;
    ps_chart *c = two_machines(false, drifting);
    add_op(c, 1, SECOND, SECOND + 1000);
    c->ops[1].end_ns = SECOND + 1000;
    ps_chart_clock_notes notes;
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_MEASURED};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_true(c->is_aligned);
    assert_int_equal(c->ranks[1].clock_offset_ns, 50000);
    assert_int_equal(c->ranks[1].clock_drift_ppb, 100000);
    assert_true(c->ranks[1].clock_uncertainty_ns >= 10 && c->ranks[1].clock_uncertainty_ns < 12);
    assert_in_range(c->ops[2].start_ns, 1011, 1013); /* rounded to whole ns twice */
    assert_in_range(c->ops[4].start_ns, SECOND - 100001, SECOND - 99999);
    assert_int_equal(c->ops[4].end_ns - c->ops[4].start_ns, 1000);
    ps_chart_free(c);
}

/* The order of events may narrow the offset so far that the exchange says nothing more of it: of the drift it does all the same, and
 * the bounds were taken with it. 20 ppm: 20 us in the chart's second. Links in the middle say that the offset there is 1000 +- 5. */
static void test_drift_beside_order(void **context) {
    (void)context;
    const int64_t middle = SECOND / 2;
    ps_recorded_clock drifting = reading(1000 - 10000, 400);
    drifting.drift_ppb = 20000;
    drifting.drift_uncertainty_ppb = 20;
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    c->origin_ns = ORIGIN;
    assert_true(ps_chart_add_rank(
        c, (ps_chart_rank){.rank = 0, .stage = 0, .machine = 0, .recorded = reading(0, 0)}));
    assert_true(ps_chart_add_rank(
        c, (ps_chart_rank){.rank = 1, .stage = 1, .machine = 1, .recorded = drifting}));
    add_op(c, 0, 0, 10);
    add_op(c, 0, middle - 20, middle);
    add_op(c, 1, middle + 1005, middle + 1010);
    add_op(c, 1, middle + 1010, middle + 1020);
    add_op(c, 0, middle + 25, middle + 40);
    add_op(c, 1, SECOND + 11000 - 10, SECOND + 11000);
    add_op(c, 0, SECOND - 10, SECOND + 11000);
    assert_true(ps_chart_add_link(c, (ps_chart_link){1, 2}));
    assert_true(ps_chart_add_link(c, (ps_chart_link){3, 4}));
    ps_chart_clock_notes notes;
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_MEASURED};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(notes.n_disagree, 0);
    assert_int_equal(c->ranks[1].clock_by, PS_CLOCK_BY_ORDER);
    assert_in_range(c->ranks[1].clock_offset_ns, 850, 1150);
    assert_int_equal(c->ranks[1].clock_drift_ppb, 20000);
    assert_in_range(c->ops[5].end_ns, SECOND - 200, SECOND + 200); /* without: 10 us late */
    ps_chart_free(c);
}

/* A drift that is smaller than what is known of it is not said; what it could be is in the uncertainty. */
static void test_drift_that_may_be_none(void **context) {
    (void)context;
    ps_recorded_clock unsure = reading(1000, 10);
    unsure.drift_ppb = 100;
    unsure.drift_uncertainty_ppb = 400;
    ps_chart *c = two_machines(false, unsure);
    ps_chart_clock_notes notes;
    const ps_chart_clock_opts opts = {.use = PS_CLOCKS_RAW};
    assert_int_equal(ps_chart_clocks(c, &opts, &notes, NULL), PS_OK);
    assert_int_equal(c->ranks[1].clock_drift_ppb, 0);
    assert_int_equal(c->ranks[1].clock_offset_ns, 1050);
    assert_int_equal(c->ranks[1].clock_uncertainty_ns, 60);
    ps_chart_free(c);
}

static void test_chart_memory(void **context) {
    (void)context;
    bool has_failed = true;
    for (int64_t n = 0; has_failed; n++) {
        assert_true(n < 100);
        ps_chart *c = two_machines(false, reading(1000, 10));
        ps_chart_clock_notes notes;
        const ps_chart_clock_opts opts = {.use = PS_CLOCKS_MEASURED};
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_chart_clocks(c, &opts, &notes, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        ps_chart_free(c);
    }
}

/* 3 ms ahead: all times of the trace come 3 ms earlier, once. */
static void test_take_off(void **context) {
    (void)context;
    ps_builder *b = ps_builder_new();
    ps_clock_state clock;
    uint32_t track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .device = -1});
    (void)ps_builder_slice(b, PS_SLICE_HOST_OP, track, ps_builder_str(b, "a", 1),
                           1700000000000000500, 1700000000000001500, -1);
    ps_builder_meta(b, "collector.clock",
                    "{\"method\":\"exchange\",\"reference\":0,\"offset_ns\":3000000,"
                    "\"uncertainty_ns\":40,\"at_ns\":1700000000000000000,"
                    "\"from_ns\":1700000000000000000,\"to_ns\":1700000000001000000,"
                    "\"drift_ppm\":0.0,\"drift_uncertainty_ppm\":0.0,\"machine\":\"7\"}");
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    int64_t before_ns = ps_trace_origin_ns(t);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(ps_recorded_clock_take_off(t, &clock, NULL), PS_OK);
        assert_int_equal(clock.is_known, again == 0);
        assert_int_equal(ps_trace_origin_ns(t), before_ns - 3000000);
    }
    assert_null(ps_trace_meta(t, "collector.clock"));
    assert_non_null(ps_trace_meta(t, "collector.clock.taken_off"));
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_take_off),
        cmocka_unit_test(test_parse),
        cmocka_unit_test(test_ptp),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_machines),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_one_reading),
        cmocka_unit_test(test_promise_of_ptp),
        cmocka_unit_test(test_drift),
        cmocka_unit_test(test_drift_that_may_be_none),
        cmocka_unit_test(test_drift_beside_order),
        cmocka_unit_test(test_chart_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The graph of ops that wait for one another: chains, far results, groups, delays, circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "schedule/step_graph.h"

static void seal(ps_step_graph *g) {
    ps_graph_circle circle;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_step_graph_seal(g, &circle, &err), PS_OK);
    assert_int_equal(circle.n, 0);
}

/* 0 -> 1 on one device, 0 -> 2 on another one 3 ns away, 2 -> 3. */
static void test_chain_and_lag(void **state) {
    (void)state;
    ps_step_graph *g = ps_step_graph_new(4);
    ps_step_graph_wait(g, 3, 2, false);
    ps_step_graph_wait(g, 2, 0, true);
    ps_step_graph_wait(g, 1, 0, false);
    seal(g);
    const int64_t ns[] = {10, 20, 5, 7};
    const int64_t delay[] = {0, 2, 0, 1};
    int64_t start[4];
    int64_t end[4];
    ps_err err = PS_ERR_INIT;
    ps_graph_times times = {.duration_ns = ns, .lag_ns = 3, .begin_ns = 100};
    assert_int_equal(ps_step_graph_run(g, &times, start, end, &err), PS_OK);
    assert_int_equal(start[0], 100);
    assert_int_equal(start[1], 110);
    assert_int_equal(start[2], 113);
    assert_int_equal(end[3], 125);
    times.delay_ns = delay;
    assert_int_equal(ps_step_graph_run(g, &times, NULL, end, &err), PS_OK);
    assert_int_equal(end[1], 132);
    assert_int_equal(end[3], 126);
    assert_int_equal(ps_step_graph_before(g, &times, end, 3), 2); /* across the lag and delays */
    assert_int_equal(ps_step_graph_before(g, &times, end, 2), 0);
    assert_int_equal(ps_step_graph_before(g, &times, end, 0), PS_NO_OP);
    size_t n = 0;
    assert_int_equal(ps_step_graph_waits(g, 2, &n)[0], 0);
    assert_int_equal(n, 1);
    ps_step_graph_free(g);
}

/* A send (2) and its receive (3) start when both could: behind 0 (10 ns) and 1 (25 ns). */
static void test_group_starts_together(void **state) {
    (void)state;
    ps_step_graph *g = ps_step_graph_new(5);
    const uint32_t pair[] = {2, 3};
    ps_step_graph_wait(g, 2, 0, false);
    ps_step_graph_wait(g, 3, 1, false);
    ps_step_graph_wait(g, 4, 3, false);
    ps_step_graph_join(g, pair, 2);
    seal(g);
    assert_int_equal(ps_step_graph_group(g, 2), ps_step_graph_group(g, 3));
    assert_int_equal(ps_step_graph_group(g, 0), PS_NO_GROUP);
    const int64_t ns[] = {10, 25, 4, 6, 1};
    int64_t start[5];
    int64_t end[5];
    ps_err err = PS_ERR_INIT;
    const ps_graph_times times = {.duration_ns = ns};
    assert_int_equal(ps_step_graph_run(g, &times, start, end, &err), PS_OK);
    assert_int_equal(start[2], 25);
    assert_int_equal(end[2], 29);
    assert_int_equal(end[3], 31);
    assert_int_equal(end[4], 32);
    assert_int_equal(ps_step_graph_before(g, &times, end, 2), 1); /* what its receive waited for */
    ps_step_graph_free(g);
}

static void test_circle_is_named(void **state) {
    (void)state;
    ps_step_graph *g = ps_step_graph_new(5);
    ps_step_graph_wait(g, 1, 0, false);
    ps_step_graph_wait(g, 2, 1, false);
    ps_step_graph_wait(g, 3, 2, false);
    ps_step_graph_wait(g, 2, 3, false);
    ps_step_graph_wait(g, 4, 3, false);
    ps_graph_circle circle;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_step_graph_seal(g, &circle, &err), PS_NOTHING);
    assert_int_equal(circle.n, 2);
    assert_true((circle.ops[0] == 2 && circle.ops[1] == 3) ||
                (circle.ops[0] == 3 && circle.ops[1] == 2));
    ps_free(circle.ops);
    ps_step_graph_free(g);
}

/* A circle through a group: 0 waits for 1, which starts with 2, which waits for 0. */
static void test_circle_through_group(void **state) {
    (void)state;
    ps_step_graph *g = ps_step_graph_new(3);
    const uint32_t pair[] = {1, 2};
    ps_step_graph_wait(g, 0, 1, false);
    ps_step_graph_wait(g, 2, 0, false);
    ps_step_graph_join(g, pair, 2);
    ps_graph_circle circle;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_step_graph_seal(g, &circle, &err), PS_NOTHING);
    assert_true(circle.n > 0);
    ps_free(circle.ops);
    ps_step_graph_free(g);
}

static void test_range(void **state) {
    (void)state;
    ps_step_graph *g = ps_step_graph_new(2);
    ps_step_graph_wait(g, 1, 0, false);
    seal(g);
    const int64_t ns[] = {INT64_MAX, 1};
    int64_t end[2];
    ps_err err = PS_ERR_INIT;
    const ps_graph_times times = {.duration_ns = ns};
    assert_int_equal(ps_step_graph_run(g, &times, NULL, end, &err), PS_RANGE);
    ps_step_graph_free(g);
}

static void test_memory(void **state) {
    (void)state;
    for (int64_t n = 1; n < 40; n++) {
        (void)ps_alloc_fail_at(n);
        ps_step_graph *g = ps_step_graph_new(3);
        ps_graph_circle circle = {0};
        ps_err err = PS_ERR_INIT;
        const uint32_t pair[] = {1, 2};
        if (g != NULL) {
            ps_step_graph_wait(g, 1, 0, false);
            ps_step_graph_join(g, pair, 2);
            ps_code code = ps_step_graph_seal(g, &circle, &err);
            assert_true(code == PS_OK || code == PS_NOMEM);
        }
        (void)ps_alloc_fail_at(0);
        ps_free(circle.ops);
        ps_step_graph_free(g);
    }
}

enum { N_RANDOM = 300 };

/* Of random ops, waits and groups of neighbours; who waits comes later in the numbering than what it waits for. */
static ps_step_graph *random_graph(ps_rng *random) {
    ps_step_graph *g = ps_step_graph_new(N_RANDOM);
    for (uint32_t op = 0; op < N_RANDOM;) {
        uint32_t group[] = {op, op + 1, op + 2};
        uint32_t n = (uint32_t)ps_rng_below(random, 3) + 1;
        n = op + n <= N_RANDOM ? n : N_RANDOM - op;
        for (uint32_t k = 0; k < n; k++) {
            for (uint64_t w = ps_rng_below(random, 4); op > 0 && w > 0; w--) {
                uint32_t back = op < 40 ? op : 40;
                ps_step_graph_wait(g, op + k, op - 1 - (uint32_t)ps_rng_below(random, back),
                                   ps_rng_below(random, 3) == 0);
            }
        }
        ps_step_graph_join(g, group, n);
        op += n;
    }
    seal(g);
    return g;
}

/* Side by side every question ends as it does alone. */
static void test_lanes(void **state) {
    (void)state;
    ps_rng random = ps_rng_seed(7);
    double room[N_RANDOM * PS_LANES];
    for (int round = 0; round < 50; round++) {
        ps_step_graph *g = random_graph(&random);
        ps_lanes *lanes = ps_lanes_new(g);
        const uint32_t *order = ps_lanes_order(lanes);
        const double usual[PS_LANE_KINDS] = {5, 70};
        uint16_t own[4 * PS_LANE_KINDS] = {0};
        int64_t measured[N_RANDOM], by_position[N_RANDOM];
        uint32_t cell[N_RANDOM], cell_by_position[N_RANDOM];
        for (uint32_t i = 0; i < N_RANDOM; i++) {
            measured[i] = (int64_t)ps_rng_below(&random, 100);
            cell[i] = (uint32_t)ps_rng_below(&random, 4) * PS_LANE_KINDS +
                      (uint32_t)ps_rng_below(&random, 2);
        }
        for (size_t c = 0; c < sizeof own / sizeof *own; c++) {
            own[c] = (uint16_t)ps_rng_below(&random, 65536);
        }
        for (uint32_t i = 0; i < N_RANDOM; i++) {
            by_position[i] = measured[order[i]];
            cell_by_position[i] = cell[order[i]];
        }
        const ps_lane_times in = {by_position, cell_by_position, own, usual, 2, 11};
        ps_lane_ends out;
        assert_true(ps_lanes_room(lanes) <= sizeof room / sizeof *room);
        ps_lanes_run(lanes, &in, room, &out);
        for (int k = 0; k < PS_LANES; k++) {
            int64_t ns[N_RANDOM], end[N_RANDOM];
            int64_t last = 0, last_of_kind = 0;
            ps_err err = PS_ERR_INIT;
            for (uint32_t i = 0; i < N_RANDOM; i++) {
                bool is_own = (own[cell[i]] >> k & 1) != 0;
                ns[i] = is_own ? measured[i] : (int64_t)usual[cell[i] % PS_LANE_KINDS];
            }
            const ps_graph_times times = {.duration_ns = ns, .lag_ns = 11};
            assert_int_equal(ps_step_graph_run(g, &times, NULL, end, &err), PS_OK);
            for (uint32_t i = 0; i < N_RANDOM; i++) {
                last = end[i] > last ? end[i] : last;
                bool counts = cell[i] % PS_LANE_KINDS == 1 && end[i] > last_of_kind;
                last_of_kind = counts ? end[i] : last_of_kind;
            }
            assert_int_equal((int64_t)out.latest_ns[k], last);
            assert_int_equal((int64_t)out.end_ns[k], last_of_kind);
        }
        ps_lanes_free(lanes);
        ps_step_graph_free(g);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_and_lag),
        cmocka_unit_test(test_group_starts_together),
        cmocka_unit_test(test_lanes),
        cmocka_unit_test(test_circle_is_named),
        cmocka_unit_test(test_circle_through_group),
        cmocka_unit_test(test_range),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The graph of ops that wait for one another: chains, far results, groups, delays, circles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "schedule/step_graph_lanes.h"

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
        (void)ps_alloc_fail_at(-1);
        ps_free(circle.ops);
        ps_step_graph_free(g);
    }
}

enum { N_RANDOM = 900, N_PARTS = 3, WORKERS_OF_PART = 2, N_LANES = 70, N_WORDS = 2 };
enum { N_CELLS = N_PARTS * WORKERS_OF_PART * PS_LANE_KINDS };

/* A job of random ops, waits and groups of neighbours; who waits comes later in the numbering than what it waits for. Parts take
 * turns, and wait for one another one time in `rare`. */
typedef struct random_job {
    ps_step_graph *g;
    int64_t measured[N_RANDOM];
    uint32_t cell[N_RANDOM];
    uint64_t own[N_CELLS * N_WORDS];
} random_job;

static const uint32_t PART_OF[N_PARTS * WORKERS_OF_PART] = {0, 0, 1, 1, 2, 2};
static const double USUAL_NS[PS_LANE_KINDS] = {5, 70};

static uint32_t part_of_random(const random_job *job, uint32_t op) {
    return PART_OF[job->cell[op] / PS_LANE_KINDS];
}

static void connect_random(random_job *job, ps_rng *random, uint64_t rare) {
    for (uint32_t op = 0; op < N_RANDOM;) {
        uint32_t group[] = {op, op + 1, op + 2};
        uint32_t n = (uint32_t)ps_rng_below(random, 3) + 1;
        n = op + n <= N_RANDOM ? n : N_RANDOM - op;
        for (uint32_t k = 1; k < n; k++) {
            bool may_join = part_of_random(job, op + k) == part_of_random(job, op) ||
                            ps_rng_below(random, rare) == 0;
            n = may_join ? n : k;
        }
        for (uint32_t k = 0; k < n; k++) {
            for (uint64_t w = ps_rng_below(random, 4); op > 0 && w > 0; w--) {
                uint32_t back = op < 40 ? op : 40;
                uint32_t on = op - 1 - (uint32_t)ps_rng_below(random, back);
                bool is_far = ps_rng_below(random, 3) == 0;
                if (part_of_random(job, op + k) == part_of_random(job, on) ||
                    ps_rng_below(random, rare) == 0) {
                    ps_step_graph_wait(job->g, op + k, on, is_far && rare < 100);
                }
            }
        }
        ps_step_graph_join(job->g, group, n);
        op += n;
    }
    seal(job->g);
}

/* Most lanes ask of one part what others ask of it, too. */
static void fill_random(random_job *job, ps_rng *random) {
    memset(job->own, 0, sizeof job->own);
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        job->measured[i] = (int64_t)ps_rng_below(random, 100);
        job->cell[i] =
            (i / 20 % N_PARTS * WORKERS_OF_PART + (uint32_t)ps_rng_below(random, WORKERS_OF_PART)) *
                PS_LANE_KINDS +
            (uint32_t)ps_rng_below(random, 2);
    }
    for (size_t k = 0; k < N_LANES; k++) {
        uint64_t of_part[N_PARTS];
        for (size_t part = 0; part < N_PARTS; part++) {
            of_part[part] = ps_rng_below(random, 2) * ps_rng_below(random, 16);
        }
        for (size_t c = 0; c < N_CELLS; c++) {
            uint64_t bit = c / PS_LANE_KINDS % WORKERS_OF_PART * 2 + c % 2;
            bool is_own = (of_part[PART_OF[c / PS_LANE_KINDS]] >> bit & 1) != 0;
            job->own[c * N_WORDS + k / 64] |= (uint64_t)is_own << k % 64;
        }
    }
}

static void check_lane(const random_job *job, size_t k, const ps_lane_ends *out) {
    int64_t ns[N_RANDOM], end[N_RANDOM];
    int64_t last = 0, last_of_kind = 0;
    ps_err err = PS_ERR_INIT;
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        bool is_own = (job->own[job->cell[i] * N_WORDS + k / 64] >> k % 64 & 1) != 0;
        ns[i] = is_own ? job->measured[i] : (int64_t)USUAL_NS[job->cell[i] % PS_LANE_KINDS];
    }
    const ps_graph_times times = {.duration_ns = ns, .lag_ns = 11};
    assert_int_equal(ps_step_graph_run(job->g, &times, NULL, end, &err), PS_OK);
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        last = end[i] > last ? end[i] : last;
        bool counts = job->cell[i] % PS_LANE_KINDS == 1 && end[i] > last_of_kind;
        last_of_kind = counts ? end[i] : last_of_kind;
    }
    assert_int_equal((int64_t)out->latest_ns[k], last);
    assert_int_equal((int64_t)out->end_ns[k], last_of_kind);
}

/* Side by side every question ends as it does alone, on every kind of vectors that this machine has. */
static void test_lanes(void **state) {
    (void)state;
    static const ps_lane_way WAYS[] = {PS_LANES_PLAIN, PS_LANES_AVX2, PS_LANES_AVX512};
    static const uint64_t RARE[] = {1, 60, 100, 100000};
    static random_job job;
    ps_rng random = ps_rng_seed(7);
    for (int round = 0; round < 40; round++) {
        job.g = ps_step_graph_new(N_RANDOM);
        fill_random(&job, &random);
        connect_random(&job, &random, RARE[round % 4]);
        ps_lanes *lanes = ps_lanes_new(job.g, job.cell, PART_OF);
        const ps_lane_times in = {job.measured, N_LANES, job.own, USUAL_NS, 2, 11};
        for (size_t way = 0; way < sizeof WAYS / sizeof *WAYS; way++) {
            double ends[N_LANES], latest[N_LANES];
            ps_lane_ends out = {ends, latest};
            size_t width = 0;
            ps_lane_runner *runner = ps_lane_runner_of(WAYS[way], &width);
            if (runner != NULL) {
                assert_true(ps_lanes_run_with(lanes, &in, runner, width, &out));
                for (size_t k = 0; k < N_LANES; k++) {
                    check_lane(&job, k, &out);
                }
            }
        }
        ps_lanes_free(lanes);
        ps_step_graph_free(job.g);
    }
}

/* The same answer, or none, wherever memory runs out. */
static void test_lanes_memory(void **state) {
    (void)state;
    static random_job job;
    ps_rng random = ps_rng_seed(8);
    job.g = ps_step_graph_new(N_RANDOM);
    fill_random(&job, &random);
    connect_random(&job, &random, 100);
    bool ok = false;
    for (int64_t n = 0; !ok && n < 200; n++) {
        double ends[N_LANES], latest[N_LANES];
        ps_lane_ends out = {ends, latest};
        (void)ps_alloc_fail_at(n);
        ps_lanes *lanes = ps_lanes_new(job.g, job.cell, PART_OF);
        const ps_lane_times in = {job.measured, N_LANES, job.own, USUAL_NS, 2, 11};
        ok = lanes != NULL && ps_lanes_run(lanes, &in, &out);
        (void)ps_alloc_fail_at(-1);
        if (ok) {
            check_lane(&job, 0, &out);
        }
        ps_lanes_free(lanes);
    }
    assert_true(ok);
    ps_step_graph_free(job.g);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chain_and_lag),   cmocka_unit_test(test_group_starts_together),
        cmocka_unit_test(test_lanes),           cmocka_unit_test(test_lanes_memory),
        cmocka_unit_test(test_circle_is_named), cmocka_unit_test(test_circle_through_group),
        cmocka_unit_test(test_range),           cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

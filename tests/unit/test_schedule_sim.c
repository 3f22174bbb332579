/* The simulator against reference numbers of an independent one, closed forms, and lists that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/placement.h"
#include "schedule/sim.h"

typedef struct row {
    const char *schedule;
    ps_schedule_params params;
    ps_sim_times times;
    int64_t makespan;
    int64_t idle[8];
} row;

static const row ROWS[] = {
    /* schedule, parameters, {F, B, W, FB, p2p}, makespan, idle of device 0, 1, ... */
    {"gpipe", {.n_stages = 1, .n_microbatches = 3}, {10000, 20000, 10000, 0, 0}, 90000, {0}},
    {"gpipe",
     {.n_stages = 3, .n_microbatches = 2},
     {10000, 20000, 10000, 0, 0},
     120000,
     {60000, 60000, 60000}},
    {"gpipe",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 0},
     330000,
     {90000, 90000, 90000, 90000}},
    {"gpipe",
     {.n_stages = 4, .n_microbatches = 8},
     {9000, 21000, 7000, 0, 500},
     333000,
     {93000, 93000, 93000, 93000}},
    {"1f1b",
     {.n_stages = 2, .n_microbatches = 4},
     {10000, 20000, 10000, 0, 0},
     150000,
     {30000, 30000}},
    {"1f1b",
     {.n_stages = 4, .n_microbatches = 2},
     {10000, 20000, 10000, 0, 0},
     150000,
     {90000, 90000, 90000, 90000}},
    {"1f1b",
     {.n_stages = 4, .n_microbatches = 4},
     {10000, 20000, 10000, 0, 0},
     210000,
     {90000, 90000, 90000, 90000}},
    {"1f1b",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 0},
     330000,
     {90000, 90000, 90000, 90000}},
    {"1f1b",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 500},
     338000,
     {98000, 98000, 98000, 98000}},
    {"1f1b",
     {.n_stages = 8, .n_microbatches = 16},
     {9000, 21000, 7000, 0, 0},
     690000,
     {210000, 210000, 210000, 210000, 210000, 210000, 210000, 210000}},
    {"1f1b",
     {.n_stages = 8, .n_microbatches = 16},
     {9000, 21000, 7000, 0, 500},
     710000,
     {230000, 230000, 230000, 230000, 230000, 230000, 230000, 230000}},
    {"interleaved",
     {.n_stages = 2, .n_microbatches = 4, .n_chunks = 2},
     {10000, 20000, 10000, 0, 0},
     270000,
     {30000, 30000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 4, .n_chunks = 2},
     {10000, 20000, 10000, 0, 0},
     330000,
     {90000, 90000, 90000, 90000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2},
     {10000, 20000, 10000, 0, 0},
     570000,
     {90000, 90000, 90000, 90000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2},
     {10000, 20000, 10000, 0, 500},
     577000,
     {97000, 97000, 97000, 97000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 8, .n_chunks = 3},
     {9000, 21000, 7000, 0, 0},
     810000,
     {90000, 90000, 90000, 90000}},
    {"interleaved",
     {.n_stages = 2, .n_microbatches = 5, .n_chunks = 2, .group = 3},
     {10000, 20000, 10000, 0, 0},
     330000,
     {30000, 30000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 9, .n_chunks = 2, .group = 5},
     {10000, 20000, 10000, 0, 0},
     630000,
     {90000, 90000, 90000, 90000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 10, .n_chunks = 2, .group = 5},
     {10000, 20000, 10000, 0, 500},
     693000,
     {93000, 93000, 93000, 93000}},
    {"interleaved",
     {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2, .overlap = true},
     {10000, 20000, 10000, 26000, 0},
     526000,
     {66000, 74000, 82000, 90000}},
    {"zb-h1",
     {.n_stages = 2, .n_microbatches = 4},
     {10000, 20000, 10000, 0, 0},
     130000,
     {10000, 10000}},
    {"zb-h1",
     {.n_stages = 4, .n_microbatches = 4},
     {10000, 20000, 10000, 0, 0},
     150000,
     {30000, 30000, 30000, 30000}},
    {"zb-h1",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 0},
     270000,
     {30000, 30000, 30000, 30000}},
    {"zb-h1",
     {.n_stages = 4, .n_microbatches = 8},
     {9000, 21000, 7000, 0, 0},
     288000,
     {48000, 48000, 48000, 48000}},
    {"zb-h1",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 500},
     276000,
     {36000, 36000, 36000, 36000}},
    {"zb-h1",
     {.n_stages = 4, .n_microbatches = 8},
     {8000, 24000, 12000, 0, 0},
     292000,
     {36000, 36000, 36000, 36000}},
    {"zb-h1",
     {.n_stages = 4, .n_microbatches = 3},
     {10000, 20000, 10000, 0, 0},
     130000,
     {40000, 40000, 40000, 40000}},
    {"zb-h2",
     {.n_stages = 4, .n_microbatches = 7},
     {10000, 20000, 10000, 0, 0},
     240000,
     {30000, 30000, 30000, 30000}},
    {"zb-h2",
     {.n_stages = 4, .n_microbatches = 8},
     {9000, 21000, 7000, 0, 0},
     267000,
     {27000, 27000, 27000, 27000}},
    {"zb-h2",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 500},
     271500,
     {31500, 31500, 31500, 31500}},
    {"interleaved-zb",
     {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2},
     {10000, 20000, 10000, 0, 0},
     510000,
     {30000, 30000, 30000, 30000}},
    {"zb-v",
     {.n_stages = 2, .n_microbatches = 4},
     {10000, 20000, 10000, 0, 0},
     250000,
     {10000, 10000}},
    {"zb-v",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 0},
     510000,
     {30000, 30000, 30000, 30000}},
    {"zb-v",
     {.n_stages = 4, .n_microbatches = 8},
     {9000, 21000, 7000, 0, 0},
     522000,
     {42000, 42000, 42000, 42000}},
    {"zb-v",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 0, 500},
     516500,
     {36500, 36500, 36500, 36500}},
    {"dualpipe",
     {.n_stages = 2, .n_microbatches = 4},
     {10000, 20000, 10000, 30000, 0},
     120000,
     {0, 0}},
    {"dualpipe",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 30000, 0},
     260000,
     {20000, 20000, 20000, 20000}},
    {"dualpipe",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 26000, 0},
     244000,
     {16000, 16000, 16000, 16000}},
    {"dualpipe",
     {.n_stages = 8, .n_microbatches = 20},
     {10000, 18000, 8000, 24000, 0},
     570000,
     {46000, 50000, 54000, 54000, 54000, 54000, 50000, 46000}},
    {"dualpipe",
     {.n_stages = 8, .n_microbatches = 20},
     {10000, 18000, 8000, 24000, 500},
     583000,
     {59000, 63000, 67000, 67000, 67000, 67000, 63000, 59000}},
    {"dualpipe",
     {.n_stages = 4, .n_microbatches = 8},
     {8000, 24000, 12000, 28000, 0},
     256000,
     {12000, 12000, 12000, 12000}},
    {"dualpipev",
     {.n_stages = 1, .n_microbatches = 2},
     {10000, 20000, 10000, 30000, 0},
     120000,
     {0}},
    {"dualpipev",
     {.n_stages = 2, .n_microbatches = 4},
     {10000, 20000, 10000, 30000, 0},
     260000,
     {20000, 20000}},
    {"dualpipev",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 30000, 0},
     540000,
     {60000, 60000, 60000, 60000}},
    {"dualpipev",
     {.n_stages = 4, .n_microbatches = 8},
     {10000, 20000, 10000, 26000, 0},
     500000,
     {40000, 44000, 48000, 48000}},
    {"dualpipev",
     {.n_stages = 4, .n_microbatches = 10},
     {10000, 18000, 8000, 24000, 0},
     570000,
     {46000, 50000, 54000, 54000}},
    {"dualpipev",
     {.n_stages = 4, .n_microbatches = 10},
     {10000, 18000, 8000, 24000, 500},
     579000,
     {55000, 59000, 63000, 63000}},
    {"dualpipev",
     {.n_stages = 4, .n_microbatches = 10, .tail_full = true},
     {10000, 18000, 8000, 24000, 0},
     618000,
     {94000, 98000, 102000, 102000}},
    {"dualpipev",
     {.n_stages = 4, .n_microbatches = 10},
     {8000, 24000, 12000, 28000, 0},
     636000,
     {32000, 36000, 40000, 40000}},
    {"dualpipev",
     {.n_stages = 8, .n_microbatches = 16},
     {10000, 20000, 10000, 26000, 0},
     1012000,
     {88000, 92000, 96000, 100000, 104000, 108000, 112000, 112000}},
};

/* A run with everything it needs; the test frees it with end_run. */
typedef struct run {
    ps_sim_plan *plan;
    ps_sim_result r;
    int64_t *duration_ns;
} run;

static run begin_run(const char *schedule, ps_schedule_params params, const ps_sim_times *times,
                     int64_t start_ns) {
    ps_err err = PS_ERR_INIT;
    run x = {.plan = ps_sim_plan_new(ps_schedule_find(schedule), &params, &err)};
    if (x.plan == NULL) {
        fail_msg("p = %d, m = %d: %s", (int)params.n_stages, (int)params.n_microbatches, err.msg);
    }
    x.duration_ns = ps_calloc(x.plan->n_ops, sizeof(int64_t));
    x.r.start_ns = ps_calloc(x.plan->n_ops, sizeof(int64_t));
    x.r.end_ns = ps_calloc(x.plan->n_ops, sizeof(int64_t));
    ps_sim_fill_durations(x.plan, times, x.duration_ns);
    assert_int_equal(ps_sim_run(x.plan, x.duration_ns, times->p2p_ns, start_ns, &x.r, &err), PS_OK);
    return x;
}

static void end_run(run *x) {
    ps_free(x->duration_ns);
    ps_free(x->r.start_ns);
    ps_free(x->r.end_ns);
    ps_sim_plan_free(x->plan);
}

static int64_t idle(const run *x, int32_t device) {
    return x->r.last_ns - x->r.first_ns - ps_sim_busy_ns(x->plan, &x->r, device);
}

/* What the zero-bubble papers call bubble: from the own first start to the own last end. */
static int64_t own_window_idle(const run *x, int32_t device) {
    size_t first = x->plan->first[device];
    size_t last = x->plan->first[device + 1] - 1;
    return x->r.end_ns[last] - x->r.start_ns[first] - ps_sim_busy_ns(x->plan, &x->r, device);
}

static int64_t most_own_window_idle(const run *x) {
    int64_t most = 0;
    for (int32_t d = 0; d < x->plan->lists.n_stages; d++) {
        most = own_window_idle(x, d) > most ? own_window_idle(x, d) : most;
    }
    return most;
}

static void test_reference_numbers(void **context) {
    (void)context;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const row *w = &ROWS[i];
        run x = begin_run(w->schedule, w->params, &w->times, 7);
        assert_int_equal(x.r.first_ns, 7);
        assert_int_equal(x.r.last_ns - x.r.first_ns, w->makespan);
        for (int32_t d = 0; d < w->params.n_stages; d++) {
            assert_int_equal(idle(&x, d), w->idle[d]);
        }
        end_run(&x);
    }
}

/* --- closed forms, each under its condition ----------------------------------------------------------------------- */

/* Different durations for different p and m, none a multiple of another. BW <= F and BW <= BI. */
static ps_sim_times odd_times(int32_t p, int32_t m) {
    ps_sim_times t = {.f_ns = 1000 + 37 * p, .w_ns = 400 + 71 * (m % 5)};
    t.b_ns = 2 * t.w_ns + 11 * m + 13 * (p % 3);
    t.fb_ns = (t.f_ns > t.b_ns ? t.f_ns : t.b_ns) + 83 * (p % 4);
    t.fb_ns = t.fb_ns > t.f_ns + t.b_ns ? t.f_ns + t.b_ns : t.fb_ns;
    return t;
}

static void expect_idle(const char *schedule, ps_schedule_params params, const ps_sim_times *t,
                        int64_t want) {
    run x = begin_run(schedule, params, t, 0);
    for (int32_t d = 0; d < params.n_stages; d++) {
        assert_int_equal(idle(&x, d), want);
    }
    end_run(&x);
}

/* GPipe: (p-1)(F+B+2P) always. 1F1B: the same and 2P(m-1-ceil((m-1)/p)) of latency in the steady state. */
static void test_gpipe_and_1f1b(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 9; p++) {
        for (int32_t m = 1; m <= 30; m++) {
            ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
            ps_sim_times t = odd_times(p, m);
            t.p2p_ns = 13 * (m % 4);
            int64_t ramp = (p - 1) * (t.f_ns + t.b_ns + 2 * t.p2p_ns);
            expect_idle("gpipe", params, &t, ramp);
            /* One device has no neighbour to wait for. */
            int64_t steady = p > 1 ? 2 * t.p2p_ns * (m - 1 - (m - 1 + p - 1) / p) : 0;
            expect_idle("1f1b", params, &t, ramp + steady);
        }
    }
}

/* (p-1)(F+B) for any g >= p with m mod g 0 or >= p, which check() asks for; also where BW is long. */
static void test_interleaved(void **context) {
    (void)context;
    size_t n = 0;
    for (int32_t p = 1; p <= 6; p++) {
        for (int32_t m = p; m <= 20; m++) {
            for (int32_t g = p; g <= m; g++) {
                ps_schedule_params params = {
                    .n_stages = p, .n_microbatches = m, .n_chunks = 2 + (m + g) % 3, .group = g};
                if (ps_schedule_find("interleaved")->check(&params, NULL) == PS_OK) {
                    ps_sim_times t = odd_times(p, m);
                    expect_idle("interleaved", params, &t, (p - 1) * (t.f_ns + t.b_ns));
                    n++;
                }
            }
        }
    }
    assert_true(n > 300);
}

/* (p-1)(F+B) - 2(p-1-s)(F+B-FB) for m a multiple of g, mv > 2(p-1)+(v-1)g, max(F,B) <= FB <= F+B. */
static void test_interleaved_overlap(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 6; p++) {
        for (int32_t g = p; g <= p + 3; g++) {
            for (int32_t m = g; m <= 4 * g; m += g) {
                for (int32_t v = 2; v <= 4; v++) {
                    ps_schedule_params params = {.n_stages = p,
                                                 .n_microbatches = m,
                                                 .n_chunks = v,
                                                 .group = g,
                                                 .overlap = true};
                    ps_sim_times t = odd_times(p, m);
                    run x = begin_run("interleaved", params, &t, 0);
                    bool holds = m * v > 2 * (p - 1) + (v - 1) * g;
                    for (int32_t s = 0; s < p && holds; s++) {
                        int64_t apart = t.f_ns + t.b_ns - t.fb_ns;
                        assert_int_equal(idle(&x, s),
                                         (p - 1) * (t.f_ns + t.b_ns) - 2 * (p - 1 - s) * apart);
                    }
                    end_run(&x);
                }
            }
        }
    }
}

/* (p-1)(F+BI-BW) for BW <= F, BW <= BI, m >= p; the longest own window idle is that for any BI. */
static void test_zb_h1(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 8; p++) {
        for (int32_t m = p; m <= 24; m++) {
            ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
            ps_sim_times t = odd_times(p, m);
            expect_idle("zb-h1", params, &t, (p - 1) * (t.f_ns + t.b_ns - 2 * t.w_ns));
            t.b_ns = t.w_ns + 100 * (m % 9); /* BI shorter than BW */
            run x = begin_run("zb-h1", params, &t, 0);
            int64_t want = (p - 1) * (t.f_ns + t.b_ns - 2 * t.w_ns);
            assert_int_equal(most_own_window_idle(&x), want > 0 ? want : 0);
            end_run(&x);
        }
    }
}

static void test_interleaved_zb(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 5; p++) {
        for (int32_t g = p; g <= p + 3; g++) {
            for (int32_t m = g; m <= 4 * g; m += g) {
                for (int32_t v = 1; v <= 3; v++) {
                    ps_schedule_params params = {
                        .n_stages = p, .n_microbatches = m, .n_chunks = v, .group = g};
                    ps_sim_times t = odd_times(p, m);
                    expect_idle("interleaved-zb", params, &t,
                                (p - 1) * (t.f_ns + t.b_ns - 2 * t.w_ns));
                }
            }
        }
    }
}

/* (p-1)(F+B), for m >= p. */
static void test_looped_bfs(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 6; p++) {
        for (int32_t m = p; m <= p + 5; m++) {
            for (int32_t v = 1; v <= 3; v++) {
                ps_schedule_params params = {.n_stages = p, .n_microbatches = m, .n_chunks = v};
                ps_sim_times t = odd_times(p, m);
                expect_idle("looped-bfs", params, &t, (p - 1) * (t.f_ns + t.b_ns));
            }
        }
    }
}

/* (p-1) max(F, F+BI-2BW), own window at most (p-1)(F+BI-2BW) or nothing, for BW <= F, BW <= BI, m >= 2p-1. */
static void test_zb_h2(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 8; p++) {
        for (int32_t m = 2 * p - 1; m <= 2 * p + 12; m++) {
            ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
            ps_sim_times t = odd_times(p, m);
            t.b_ns += 300 * (m % 3);
            int64_t inside = t.f_ns + t.b_ns - 3 * t.w_ns;
            expect_idle("zb-h2", params, &t, (p - 1) * (inside > t.f_ns ? inside : t.f_ns));
            run x = begin_run("zb-h2", params, &t, 0);
            assert_int_equal(most_own_window_idle(&x), inside > 0 ? (p - 1) * inside : 0);
            end_run(&x);
        }
    }
}

/* (p-1)F, and no waiting inside the own window, for F = BI = BW and m >= 2p-1. */
static void test_zb_v(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 8; p++) {
        for (int32_t m = 2 * p - 1; m <= 2 * p + 9; m++) {
            ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
            ps_sim_times t = {.f_ns = 977, .b_ns = 2 * 977, .w_ns = 977};
            expect_idle("zb-v", params, &t, (p - 1) * t.f_ns);
            run x = begin_run("zb-v", params, &t, 0);
            assert_int_equal(most_own_window_idle(&x), 0);
            end_run(&x);
        }
    }
}

/* X - max(0, q-2-h)(F+B-FB), X = (q-1)(FB+B-3BW), with the full tail (q-1)(FB+B-BW), for F = BI, BW <= F,
 * max(F,B) <= FB <= F+B. */
static void expect_fold(const char *schedule, ps_schedule_params params, const ps_sim_times *t) {
    bool two = ps_schedule_find(schedule)->n_chains == 2;
    int32_t p = params.n_stages;
    int32_t q = two ? p / 2 : p;
    run x = begin_run(schedule, params, t, 0);
    for (int32_t d = 0; d < p; d++) {
        int32_t h = two && d >= q ? p - 1 - d : d;
        int64_t at_turn = (q - 1) * (t->fb_ns + t->b_ns - (params.tail_full ? 1 : 3) * t->w_ns);
        int64_t apart = q - 2 - h > 0 ? q - 2 - h : 0;
        assert_int_equal(idle(&x, d), at_turn - apart * (t->f_ns + t->b_ns - t->fb_ns));
    }
    end_run(&x);
}

static void test_dualpipe_and_dualpipev(void **context) {
    (void)context;
    for (int32_t q = 1; q <= 7; q++) {
        for (int32_t n = 2 * q; n <= 2 * q + 6; n++) {
            ps_sim_times t = {.f_ns = 1000, .w_ns = 400 + 100 * (n % 7)};
            t.b_ns = t.f_ns + t.w_ns;
            t.fb_ns = t.b_ns + 250 * (q % 5);
            expect_fold("dualpipev", (ps_schedule_params){.n_stages = q, .n_microbatches = n}, &t);
            expect_fold("dualpipev",
                        (ps_schedule_params){.n_stages = q, .n_microbatches = n, .tail_full = true},
                        &t);
            expect_fold("dualpipe",
                        (ps_schedule_params){.n_stages = 2 * q, .n_microbatches = 2 * n}, &t);
        }
    }
}

/* DualPipe on 2q devices takes as long as DualPipeV on q; only its two middle devices have a hop between them. */
static void test_dualpipe_is_two_folds(void **context) {
    (void)context;
    for (int32_t q = 1; q <= 6; q++) {
        for (int32_t n = 2 * q; n <= 2 * q + 4; n++) {
            ps_sim_times t = odd_times(q, n);
            for (int32_t latency = 0; latency <= 50; latency += 50) {
                t.p2p_ns = latency;
                run v = begin_run("dualpipev",
                                  (ps_schedule_params){.n_stages = q, .n_microbatches = n}, &t, 0);
                run d = begin_run("dualpipe",
                                  (ps_schedule_params){.n_stages = 2 * q, .n_microbatches = 2 * n},
                                  &t, 0);
                assert_true(latency == 0 ? d.r.last_ns == v.r.last_ns : d.r.last_ns > v.r.last_ns);
                end_run(&v);
                end_run(&d);
            }
        }
    }
}

/* Every list that check() lets pass can run to its end, whatever the parameters. */
static void test_no_deadlock(void **context) {
    (void)context;
    size_t n = 0;
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        const ps_schedule *s = ps_schedules()[i];
        for (int32_t p = 1; p <= 7; p++) {
            for (int32_t m = 1; m <= 22; m++) {
                for (int32_t variant = 0; variant < 32; variant++) {
                    ps_schedule_params params = {
                        .n_stages = p,
                        .n_microbatches = m,
                        .n_chunks = variant % 4,
                        .group = variant / 4 % 4 == 0 ? 0 : p + variant / 4 % 4 - 1,
                        .overlap = variant >= 16,
                        .tail_full = variant >= 16};
                    if ((variant > 0 && s->takes == 0) || s->check(&params, NULL) != PS_OK) {
                        continue;
                    }
                    ps_err err = PS_ERR_INIT;
                    ps_sim_plan *plan = ps_sim_plan_new(s, &params, &err);
                    if (plan == NULL) {
                        fail_msg("p = %d, m = %d, variant %d: %s", (int)p, (int)m, (int)variant,
                                 err.msg);
                    }
                    ps_sim_plan_free(plan);
                    n++;
                }
            }
        }
    }
    assert_true(n > 2000);
}

/* --- lists that are wrong ----------------------------------------------------------------------------------------- */

/* On two devices and two microbatches. Each letter pair is an op; "F0B0" = F0, B0. */
static const char *wrong_lists[2];

static ps_code wrong_order(const ps_schedule_params *params, int32_t device, ps_op_list *out,
                           ps_err *err) {
    (void)params;
    (void)err;
    for (const char *s = wrong_lists[device]; *s != '\0'; s += 2) {
        ps_op_kind kind = *s == 'F'   ? PS_OP_F
                          : *s == 'B' ? PS_OP_B
                          : *s == 'I' ? PS_OP_BI
                                      : PS_OP_BW;
        ps_sched_op op = {
            .kind = kind, .microbatch = s[1] - '0', .chunk2 = -1, .microbatch2 = -1, .phase = -1};
        assert_true(ps_op_list_add(out, op));
    }
    return PS_OK;
}

static void expect_wrong(const char *list0, const char *list1, const char *part) {
    const ps_schedule wrong = {.name = "wrong",
                               .n_chunks = 1,
                               .check = ps_schedule_check_size,
                               .order = wrong_order,
                               .marks = wrong_order,
                               .logical_stage = ps_place_plain};
    wrong_lists[0] = list0;
    wrong_lists[1] = list1;
    ps_schedule_params params = {.n_stages = 2, .n_microbatches = 2};
    ps_err err = PS_ERR_INIT;
    assert_null(ps_sim_plan_new(&wrong, &params, &err));
    assert_int_equal(err.code, PS_INTERNAL);
    if (strstr(err.msg, part) == NULL) {
        fail_msg("'%s' does not mention '%s'", err.msg, part);
    }
}

static void test_wrong_lists(void **context) {
    (void)context;
    expect_wrong(
        "F0B0F1B1", "F1B1F0B0",
        "schedule wrong: can never finish: device 0, op 1 (B0) waits for device 1, op 3 (B0); device 1, op 0 (F1) "
        "waits for device 0, op 2 (F1)");
    expect_wrong("F0F1B0B1", "F0B0B1", "stage 1 has no forward of microbatch 1");
    expect_wrong("F0F1B0", "F0B0F1B1", "stage 0 has no backward of microbatch 1");
    expect_wrong("F0F1F1B0B1", "F0B0F1B1", "device 0, op 2 (F1) repeats device 0, op 1 (F1)");
    expect_wrong("F0F1B0B1B1", "F0B0F1B1", "repeats");
    expect_wrong("F0F1I0B1", "F0B0F1B1", "stage 0 has no weight gradient of microbatch 0");
    expect_wrong("F0F1B0W0B1", "F0B0F1B1", "no input gradient");
    expect_wrong("F0F1B0B1", "F0B0B1F1", "device 1, op 2 (B1) comes before the forward");
    expect_wrong("F0F1W0I0B1", "F0B0F1B1", "comes before the input gradient");
    expect_wrong("F0F1B0B1", "F0B0F1B2", "does not exist");
}

/* B on one stage and BI, BW on the next do together: a stage waits for whichever makes its gradient. F = 10, B = 20,
 * W = 10, one microbatch: F 0..10 | F 10..20 I 20..30 W 30..40, so B 30..50; and the other way round 0..10 | 10..20
 * B 20..40, I 40..50 W 50..60. */
static void test_mixed_backwards(void **context) {
    (void)context;
    static const struct {
        const char *lists[2];
        int64_t last_ns;
    } CASES[] = {{{"F0B0", "F0I0W0"}, 50}, {{"F0I0W0", "F0B0"}, 60}};
    for (size_t i = 0; i < 2; i++) {
        const ps_schedule mixed = {.name = "mixed",
                                   .n_chunks = 1,
                                   .check = ps_schedule_check_size,
                                   .order = wrong_order,
                                   .logical_stage = ps_place_plain};
        memcpy(wrong_lists, CASES[i].lists, sizeof wrong_lists);
        ps_schedule_params params = {.n_stages = 2, .n_microbatches = 1};
        ps_sim_plan *plan = ps_sim_plan_new(&mixed, &params, NULL);
        assert_non_null(plan);
        int64_t ns[5], start[5], end[5];
        ps_sim_fill_durations(plan, &(ps_sim_times){.f_ns = 10, .b_ns = 20, .w_ns = 10}, ns);
        ps_sim_result r = {.start_ns = start, .end_ns = end};
        assert_int_equal(ps_sim_run(plan, ns, 0, 0, &r, NULL), PS_OK);
        assert_int_equal(r.last_ns, CASES[i].last_ns);
        ps_sim_plan_free(plan);
    }
}

/* A chart of n_steps steps, or NULL. */
static ps_chart *chart_of(const char *schedule, ps_schedule_params params,
                          const ps_sim_times *times, int64_t n_steps, int64_t gap_ns, ps_err *err) {
    ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find(schedule), &params, err);
    if (plan == NULL) {
        return NULL;
    }
    static int64_t duration_ns[256];
    assert_in_range(plan->n_ops, 1, 256);
    ps_sim_fill_durations(plan, times, duration_ns);
    ps_chart *chart = ps_sim_chart(plan, duration_ns, times->p2p_ns, n_steps, gap_ns, err);
    ps_sim_plan_free(plan);
    return chart;
}

static void test_limits(void **context) {
    (void)context;
    ps_err err = PS_ERR_INIT;
    ps_schedule_params large = {.n_stages = 4096, .n_microbatches = 65536};
    assert_null(ps_sim_plan_new(ps_schedule_find("1f1b"), &large, &err));
    assert_int_equal(err.code, PS_RANGE);
    ps_schedule_params few = {.n_stages = 4, .n_microbatches = 7};
    assert_null(ps_sim_plan_new(ps_schedule_find("dualpipev"), &few, &err));
    assert_int_equal(err.code, PS_RANGE);
    ps_schedule_params params = {.n_stages = 2, .n_microbatches = 4};
    ps_sim_times times = {.f_ns = INT64_MAX / 4, .b_ns = INT64_MAX / 4};
    assert_null(chart_of("1f1b", params, &times, 1, 0, &err));
    assert_int_equal(err.code, PS_RANGE);
    times = (ps_sim_times){.f_ns = INT64_MAX / 100, .b_ns = INT64_MAX / 100};
    assert_null(chart_of("1f1b", params, &times, 1000, 0, &err));
    assert_int_equal(err.code, PS_RANGE);
}

/* Two devices, one microbatch, latency 5: F 0..10 | F 15..25, B 25..45 | B 50..70; the second step 100 later. */
static void test_chart(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 2, .n_microbatches = 1};
    ps_sim_times times = {.f_ns = 10, .b_ns = 20, .p2p_ns = 5};
    ps_chart *chart = chart_of("1f1b", params, &times, 2, 30, NULL);
    assert_non_null(chart);
    assert_int_equal(chart->n_ranks, 2);
    assert_int_equal(chart->n_ops, 8);
    static const struct {
        int64_t start, end, step;
        const char *name;
        uint32_t rank;
    } WANT[] = {{0, 10, 1, "0", 0},     {50, 70, 1, "0B", 0},  {100, 110, 2, "0", 0},
                {150, 170, 2, "0B", 0}, {15, 25, 1, "0", 1},   {25, 45, 1, "0B", 1},
                {115, 125, 2, "0", 1},  {125, 145, 2, "0B", 1}};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(chart->ops[i].start_ns, WANT[i].start);
        assert_int_equal(chart->ops[i].end_ns, WANT[i].end);
        assert_int_equal(chart->ops[i].step, WANT[i].step);
        assert_int_equal(chart->ops[i].rank, WANT[i].rank);
        assert_string_equal(chart->ops[i].name, WANT[i].name);
        assert_int_equal(chart->ops[i].source, PS_SOURCE_SIMULATED);
    }
    assert_string_equal(chart->schedule, "1f1b");
    ps_chart_free(chart);
}

/* Chunk 1 of DualPipe counts on from the m / 2 microbatches of chunk 0. */
static void test_chart_of_two_chains(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 2, .n_microbatches = 4};
    ps_sim_times times = {.f_ns = 10, .b_ns = 20, .w_ns = 10, .fb_ns = 30};
    ps_chart *chart = chart_of("dualpipe", params, &times, 1, 0, NULL);
    assert_non_null(chart);
    assert_string_equal(chart->ops[0].name, "0");
    assert_string_equal(chart->ops[1].name, "2");
    assert_string_equal(chart->ops[4].name, "3F+0B");
    assert_string_equal(chart->title, "dualpipe, 2 stages, 4 microbatches, simulated");
    ps_chart_free(chart);
}

static void test_memory(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 3, .n_microbatches = 6};
    ps_sim_times times = {.f_ns = 10, .b_ns = 20, .w_ns = 10, .fb_ns = 30};
    ps_chart *chart = NULL;
    int64_t n = 0;
    for (; chart == NULL && n < 1000; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        chart = chart_of("dualpipev", params, &times, 1, 0, &err);
        (void)ps_alloc_fail_at(-1);
        assert_true(chart != NULL || err.code == PS_NOMEM);
    }
    assert_non_null(chart);
    assert_true(n > 15);
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_numbers),
        cmocka_unit_test(test_gpipe_and_1f1b),
        cmocka_unit_test(test_interleaved),
        cmocka_unit_test(test_interleaved_overlap),
        cmocka_unit_test(test_zb_h1),
        cmocka_unit_test(test_interleaved_zb),
        cmocka_unit_test(test_zb_h2),
        cmocka_unit_test(test_zb_v),
        cmocka_unit_test(test_looped_bfs),
        cmocka_unit_test(test_dualpipe_and_dualpipev),
        cmocka_unit_test(test_dualpipe_is_two_folds),
        cmocka_unit_test(test_no_deadlock),
        cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_mixed_backwards),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_chart_of_two_chains),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The simulator against reference numbers of an independent one, closed forms, and lists that are wrong. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "schedule/sim.h"

typedef struct row {
    const char *schedule;
    int32_t p, m;
    ps_sim_times times;
    int64_t makespan;
    int64_t idle[8];
} row;

static const row ROWS[] = {
    /* schedule, p, m, {F, B, W, FB, p2p}, makespan, idle of device 0, 1, ... */
    {"1f1b", 2, 4, {10000, 20000, 10000, 0, 0}, 150000, {30000, 30000}},
    {"1f1b", 4, 2, {10000, 20000, 10000, 0, 0}, 150000, {90000, 90000, 90000, 90000}},
    {"1f1b", 4, 4, {10000, 20000, 10000, 0, 0}, 210000, {90000, 90000, 90000, 90000}},
    {"1f1b", 4, 8, {10000, 20000, 10000, 0, 0}, 330000, {90000, 90000, 90000, 90000}},
    {"1f1b", 4, 8, {10000, 20000, 10000, 0, 500}, 338000, {98000, 98000, 98000, 98000}},
    {"1f1b", 8, 16, {9000, 21000, 7000, 0, 0}, 690000,
     {210000, 210000, 210000, 210000, 210000, 210000, 210000, 210000}},
    {"1f1b", 8, 16, {9000, 21000, 7000, 0, 500}, 710000,
     {230000, 230000, 230000, 230000, 230000, 230000, 230000, 230000}},
    {"dualpipev", 1, 2, {10000, 20000, 10000, 30000, 0}, 120000, {0}},
    {"dualpipev", 2, 4, {10000, 20000, 10000, 30000, 0}, 260000, {20000, 20000}},
    {"dualpipev", 4, 8, {10000, 20000, 10000, 30000, 0}, 540000, {60000, 60000, 60000, 60000}},
    {"dualpipev", 4, 8, {10000, 20000, 10000, 26000, 0}, 500000, {40000, 44000, 48000, 48000}},
    {"dualpipev", 4, 10, {10000, 18000, 8000, 24000, 0}, 570000, {46000, 50000, 54000, 54000}},
    {"dualpipev", 4, 10, {10000, 18000, 8000, 24000, 500}, 579000, {55000, 59000, 63000, 63000}},
    {"dualpipev", 4, 10, {8000, 24000, 12000, 28000, 0}, 636000, {32000, 36000, 40000, 40000}},
    {"dualpipev", 8, 16, {10000, 20000, 10000, 26000, 0}, 1012000,
     {88000, 92000, 96000, 100000, 104000, 108000, 112000, 112000}},
};

/* A run with everything it needs; the test frees it with end_run. */
typedef struct run {
    ps_sim_plan *plan;
    ps_sim_result r;
    int64_t *duration_ns;
} run;

static run begin_run(const ps_schedule *schedule, int32_t p, int32_t m, const ps_sim_times *times, int64_t start_ns) {
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
    ps_err err = PS_ERR_INIT;
    run x = {.plan = ps_sim_plan_new(schedule, &params, &err)};
    if (x.plan == NULL) {
        fail_msg("%s", err.msg);
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

static void test_reference_numbers(void **context) {
    (void)context;
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        const row *w = &ROWS[i];
        run x = begin_run(ps_schedule_find(w->schedule), w->p, w->m, &w->times, 7);
        assert_int_equal(x.r.first_ns, 7);
        assert_int_equal(x.r.last_ns - x.r.first_ns, w->makespan);
        for (int32_t d = 0; d < w->p; d++) {
            assert_int_equal(w->makespan - ps_sim_busy_ns(x.plan, &x.r, d), w->idle[d]);
        }
        end_run(&x);
    }
}

/* 1F1B with latency P: (p-1)(F+B+2P) + 2P(m-1-ceil((m-1)/p)) idle on each device. */
static void test_1f1b_closed_form(void **context) {
    (void)context;
    const ps_schedule *s = ps_schedule_find("1f1b");
    for (int32_t p = 1; p <= 9; p++) {
        for (int32_t m = 1; m <= 30; m++) {
            ps_sim_times times = {.f_ns = 1000 + 37 * p, .b_ns = 2000 + 11 * m, .p2p_ns = p > 1 ? 13 * (m % 5) : 0};
            run x = begin_run(s, p, m, &times, 0);
            int64_t latency = 2 * times.p2p_ns;
            int64_t idle = (p - 1) * (times.f_ns + times.b_ns + latency) + latency * (m - 1 - (m - 1 + p - 1) / p);
            for (int32_t d = 0; d < p; d++) {
                assert_int_equal(x.r.last_ns - ps_sim_busy_ns(x.plan, &x.r, d), idle);
            }
            end_run(&x);
        }
    }
}

/* DualPipeV: X - max(0, p-2-d)(F+B-FB), X = (p-1)(FB+B-3W), for F = BI, W <= F, max(F,B) <= FB <= F+B. */
static void test_dualpipev_closed_form(void **context) {
    (void)context;
    const ps_schedule *s = ps_schedule_find("dualpipev");
    for (int32_t p = 1; p <= 7; p++) {
        for (int32_t m = 2 * p; m <= 2 * p + 6; m++) {
            ps_sim_times t = {.f_ns = 1000, .w_ns = 400 + 100 * (m % 4)};
            t.b_ns = t.f_ns + t.w_ns;
            t.fb_ns = t.b_ns + 250 * (p % 3);
            run x = begin_run(s, p, m, &t, 0);
            for (int32_t d = 0; d < p; d++) {
                int64_t apart = p - 2 - d > 0 ? p - 2 - d : 0;
                int64_t idle = (p - 1) * (t.fb_ns + t.b_ns - 3 * t.w_ns) - apart * (t.f_ns + t.b_ns - t.fb_ns);
                assert_int_equal(x.r.last_ns - ps_sim_busy_ns(x.plan, &x.r, d), idle);
            }
            end_run(&x);
        }
    }
}

/* Lists that are wrong, on two devices and two microbatches. Each letter pair is an op; "F0B0" = F0, B0. */
static const char *wrong_lists[2];

static ps_code wrong_order(const ps_schedule_params *params, int32_t device, ps_op_list *out, ps_err *err) {
    (void)params;
    (void)err;
    for (const char *s = wrong_lists[device]; *s != '\0'; s += 2) {
        ps_op_kind kind = *s == 'F' ? PS_OP_F : *s == 'B' ? PS_OP_B : *s == 'I' ? PS_OP_BI : PS_OP_BW;
        ps_sched_op op = {.kind = kind, .microbatch = s[1] - '0', .chunk2 = -1, .microbatch2 = -1, .phase = -1};
        assert_true(ps_op_list_add(out, op));
    }
    return PS_OK;
}

static int32_t plain_stage(const ps_schedule_params *params, int32_t device, int32_t chunk) {
    (void)params;
    (void)chunk;
    return device;
}

static void expect_wrong(const char *list0, const char *list1, const char *part) {
    const ps_schedule wrong = {.name = "wrong",
                               .n_chunks = 1,
                               .check = ps_schedule_check_size,
                               .order = wrong_order,
                               .marks = wrong_order,
                               .logical_stage = plain_stage};
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
    expect_wrong("F0B0F1B1", "F1B1F0B0", "waiting are device 0 at B 0B, device 1 at F 1");
    expect_wrong("F0F1B0B1", "F0B0B1", "stage 1 has no forward of microbatch 1");
    expect_wrong("F0F1B0", "F0B0F1B1", "stage 0 has no backward of microbatch 1");
    expect_wrong("F0F1F1B0B1", "F0B0F1B1", "device 0: op 2 (F 1) does again");
    expect_wrong("F0F1B0B1B1", "F0B0F1B1", "does again");
    expect_wrong("F0F1I0B1", "F0B0F1B1", "stage 0 has no weight gradient of microbatch 0");
    expect_wrong("F0F1B0W0B1", "F0B0F1B1", "no input gradient");
    expect_wrong("F0F1B0B1", "F0B0B1F1", "device 1: op 2 (B 1B) comes before the forward");
    expect_wrong("F0F1W0I0B1", "F0B0F1B1", "comes before the input gradient");
    expect_wrong("F0F1B0B1", "F0B0F1B2", "does not exist");
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
    assert_null(ps_sim_chart(ps_schedule_find("1f1b"), &params, &times, 1, 0, &err));
    assert_int_equal(err.code, PS_RANGE);
    times = (ps_sim_times){.f_ns = INT64_MAX / 100, .b_ns = INT64_MAX / 100};
    assert_null(ps_sim_chart(ps_schedule_find("1f1b"), &params, &times, 1000, 0, &err));
    assert_int_equal(err.code, PS_RANGE);
}

/* Two devices, one microbatch, latency 5: F 0..10 | F 15..25, B 25..45 | B 50..70; the second step 100 later. */
static void test_chart(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 2, .n_microbatches = 1};
    ps_sim_times times = {.f_ns = 10, .b_ns = 20, .p2p_ns = 5};
    ps_chart *chart = ps_sim_chart(ps_schedule_find("1f1b"), &params, &times, 2, 30, NULL);
    assert_non_null(chart);
    assert_int_equal(chart->n_ranks, 2);
    assert_int_equal(chart->n_ops, 8);
    static const struct {
        int64_t start, end, step;
        const char *name;
        uint32_t rank;
    } WANT[] = {{0, 10, 1, "0", 0},  {50, 70, 1, "0B", 0}, {100, 110, 2, "0", 0}, {150, 170, 2, "0B", 0},
                {15, 25, 1, "0", 1}, {25, 45, 1, "0B", 1}, {115, 125, 2, "0", 1}, {125, 145, 2, "0B", 1}};
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

static void test_memory(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 3, .n_microbatches = 6};
    ps_sim_times times = {.f_ns = 10, .b_ns = 20, .w_ns = 10, .fb_ns = 30};
    ps_chart *chart = NULL;
    int64_t n = 0;
    for (; chart == NULL && n < 1000; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        chart = ps_sim_chart(ps_schedule_find("dualpipev"), &params, &times, 1, 0, &err);
        (void)ps_alloc_fail_at(-1);
        assert_true(chart != NULL || err.code == PS_NOMEM);
    }
    assert_non_null(chart);
    assert_true(n > 15);
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference_numbers),     cmocka_unit_test(test_1f1b_closed_form),
        cmocka_unit_test(test_dualpipev_closed_form), cmocka_unit_test(test_wrong_lists),
        cmocka_unit_test(test_limits),                cmocka_unit_test(test_chart),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

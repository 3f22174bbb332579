/* mstx_sum on marks that can be followed with a finger. */
#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/project.h"
#include "base/diag.h"
#include "support/sanitized.h"
#include "support/small_runs.h"

static void marker(ps_builder *b, uint32_t thread, const char *name, int64_t at,
                   int64_t device_at) {
    uint32_t m = small_slice(b, PS_SLICE_INSTANT, thread, name, at, at);
    if (device_at >= 0) {
        ps_builder_flow(
            b, m,
            small_slice(b, PS_SLICE_MARK_DEVICE, small_stream(b, 7), name, device_at, device_at));
    }
}

static void range(ps_builder *b, uint32_t thread, const char *name, int64_t start, int64_t end,
                  int64_t device_start, int64_t device_end) {
    uint32_t m = small_slice(b, PS_SLICE_MARK_HOST, thread, name, start, end);
    if (device_start >= 0) {
        ps_builder_flow(b, m,
                        small_slice(b, PS_SLICE_MARK_DEVICE, small_stream(b, 7), name, device_start,
                                    device_end));
    }
}

/* Step 1 [0 1000), step 2 [1000 2000).
 *   a: start 100, stop 300, on the device 150 and 400; set by operators that began at 90 and 280
 *   b: two starts 400 and 420, stops 430 and 480: the inner one took 10, the outer one 80
 *   c stops without a start, d starts without a stop, e starts on one thread and stops on another
 *   the device works on step 1 from 100 to 900 and on step 2 from 1200 to 2250: of its time 1000 and 1250 are theirs
 *   outer [1100 1500] holds inner [1150 1250] and again [1300 1400]; f has no device side */
static ps_trace *rank_0(void) {
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    small_step(b, 1, 0, 1000);
    small_step(b, 2, 1000, 2000);
    small_slice(b, PS_SLICE_HOST_OP, one, "mstx_mark_op", 90, 110);
    small_slice(b, PS_SLICE_HOST_OP, one, "mstx_mark_op", 280, 320);
    marker(b, one, "a_start", 100, 150);
    marker(b, one, "a_stop", 300, 400);
    marker(b, one, "b_start", 400, -1);
    marker(b, one, "b_start", 420, -1);
    marker(b, one, "b_stop", 430, -1);
    marker(b, one, "b_stop", 480, -1);
    marker(b, one, "c_stop", 500, -1);
    marker(b, one, "d_start", 510, -1);
    marker(b, one, "e_start", 520, -1);
    marker(b, two, "e_stop", 530, -1);
    marker(b, one, "plain", 540, -1);
    range(b, one, "outer", 1100, 1500, 1200, 1700);
    range(b, one, "inner", 1150, 1250, 1250, 1300);
    range(b, one, "inner", 1300, 1400, 1400, 1420);
    range(b, one, "f", 1600, 1700, -1, -1);
    (void)small_slice(b, PS_SLICE_KERNEL, small_stream(b, 8), "k", 100, 900);
    (void)small_slice(b, PS_SLICE_KERNEL, small_stream(b, 8), "k", 1200, 2250);
    return small_seal(b);
}

/* a again: 400 on the host, 200 on the device; and a range before all steps. */
static ps_trace *rank_1(void) {
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    small_step(b, 1, 0, 1000);
    marker(b, one, "a_start", 100, 150);
    marker(b, one, "a_stop", 500, 350);
    range(b, one, "early", -50, -20, 0, 7);
    return small_seal(b);
}

static void pairs_and_ranges(void **state) {
    (void)state;
    ps_trace *traces[] = {rank_0(), rank_1()};
    small_run o;
    small_run_mode(&o, "mstx_sum", traces, 2, NULL);
    small_expect(&o, "MSTXMarkStats",
                 "0|a|190|19|200|20|250|25|0|1\n"
                 "1|b_0|80|8|80|8|NULL|NULL|0|1\n"
                 "2|b_1|10|1|10|1|NULL|NULL|0|1\n"
                 "3|outer|400|40|400|40|500|40|0|2\n"
                 "4|outer::inner_0|100|10|100|10|50|4|0|2\n"
                 "5|outer::inner_1|100|10|100|10|20|1.6|0|2\n"
                 "0|early|30|NULL|30|NULL|7|NULL|1|NULL\n"
                 "1|a|400|40|400|40|200|NULL|1|1\n");
    /* 200 and 250: quartiles 212.5, 225, 237.5; (250 - 237.5) / 450 is 2.777... % */
    small_expect(&o, "MSTXAllDeviceStats",
                 "early|1|7|NULL|7|1|7|7|7|7|1|7|0|NULL\n"
                 "a|2|225|35.35533906|200|1|212.5|225|237.5|250|0|450|2.777777778|1\n"
                 "outer|1|500|NULL|500|0|500|500|500|500|0|500|0|2\n"
                 "outer::inner_0|1|50|NULL|50|0|50|50|50|50|0|50|0|2\n"
                 "outer::inner_1|1|20|NULL|20|0|20|20|20|20|0|20|0|2\n");
    const ps_table *cann = small_table(&o, "MSTXAllCannStats");
    assert_int_equal(cann->n_rows, 7);
    assert_int_equal(o.diags[0].counts[PS_ODD_MARK_UNPAIRED], 4);
    assert_int_equal(o.diags[1].counts[PS_ODD_MARK_NO_STEP], 1);
    small_run_fini(&o);
    small_run_mode(&o, "mstx_sum", traces, 1, &(ps_analysis_opts){.step_id = 2});
    assert_int_equal(small_table(&o, "MSTXMarkStats")->n_rows, 3);
    small_run_fini(&o);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

/* An enqueue between the operator that set the mark and the thread that recorded it. */
static void marks_behind_a_queue(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    ps_str kind = ps_builder_str(b, "async_task_queue", 16);
    for (int i = 0; i < 2; i++) {
        int64_t at = 100 * i;
        small_slice(b, PS_SLICE_HOST_OP, one, "mstx_mark_op", at, at + 10 + i);
        uint32_t in = small_slice(b, PS_SLICE_QUEUE, one, "Enqueue", at + 5, at + 6);
        uint32_t out = small_slice(b, PS_SLICE_QUEUE, two, "Dequeue", 2 * at + 50, 2 * at + 60);
        ps_builder_flow_of(b, in, out, kind);
        marker(b, two, i == 0 ? "x_start" : "x_stop", 2 * at + 55, 1000 + at);
    }
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "mstx_sum", &t, 1, NULL);
    small_expect(&o, "MSTXMarkStats", "0|x|100|NULL|200|NULL|100|NULL|0|0\n");
    small_run_fini(&o);
    ps_trace_free(t);
}

/* The profiler's own steps may be on a stream where no range of the program is: ranges are those of the host then, as without. */
static void only_steps_on_the_device(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    range(b, one, "ProfilerStep#3", 0, 200, 10, 220);
    range(b, one, "work", 300, 340, -1, -1);
    ps_trace *t = small_seal(b);
    assert_false(ps_trace_has_device(t));
    small_run o;
    small_run_mode(&o, "mstx_sum", &t, 1, NULL);
    small_expect(&o, "MSTXMarkStats",
                 "0|ProfilerStep#3|200|NULL|200|NULL|210|NULL|0|0\n"
                 "1|work|40|NULL|40|NULL|NULL|NULL|0|0\n");
    small_run_fini(&o);
    ps_trace_free(t);
    b = ps_builder_new();
    one = small_thread(b, 1);
    range(b, one, "work", 300, 340, 310, 350);
    t = small_seal(b);
    assert_true(ps_trace_has_device(t));
    ps_trace_free(t);
}

/* Marks without any device side are those of NVTX: host times. */
static void host_ranges_alone(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    range(b, one, "outer", 0, 100, -1, -1);
    small_slice(b, PS_SLICE_HOST_OP, one, "op", 5, 60); /* between two ranges */
    range(b, one, "inner", 10, 50, -1, -1);
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "mstx_sum", &t, 1, NULL);
    small_expect(&o, "MSTXMarkStats",
                 "0|outer|100|NULL|100|NULL|NULL|NULL|0|0\n"
                 "1|outer::inner|40|NULL|40|NULL|NULL|NULL|0|0\n");
    assert_int_equal(small_table(&o, "MSTXAllDeviceStats")->n_rows, 0);
    small_run_fini(&o);
    ps_trace_free(t);
}

/* The same with kernels: 200 to 230 launched in the inner range, 260 to 300 in the outer one alone. */
static void host_ranges_and_kernels(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    ps_str kind = ps_builder_str(b, "ac2g", 4);
    range(b, one, "outer", 0, 100, -1, -1);
    range(b, one, "inner", 10, 50, -1, -1);
    range(b, one, "idle", 60, 70, -1, -1);
    static const int64_t AT[][3] = {{15, 200, 210}, {40, 220, 230}, {80, 260, 300}};
    for (size_t i = 0; i < 3; i++) {
        ps_builder_flow_of(
            b, small_slice(b, PS_SLICE_CALL, one, "launch", AT[i][0], AT[i][0] + 2),
            small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "kernel", AT[i][1], AT[i][2]),
            kind);
    }
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "mstx_sum", &t, 1, NULL);
    small_expect(&o, "MSTXMarkStats",
                 "0|outer|100|NULL|100|NULL|100|NULL|0|0\n"
                 "1|outer::inner|40|NULL|40|NULL|30|NULL|0|0\n"
                 "2|outer::idle|10|NULL|10|NULL|NULL|NULL|0|0\n");
    small_run_fini(&o);
    small_run_without_memory("mstx_sum", &t, 1);
    ps_trace_free(t);
}

static void no_marks(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "op", 0, 100);
    small_slice(b, PS_SLICE_INSTANT, small_thread(b, 1), "[memory]", 50, 50);
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "mstx_sum", &t, 1, NULL);
    assert_int_equal(o.map_codes[0], PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "no marks: collect with mstx=True"));
    small_run_fini(&o);
    ps_trace_free(t);
}

/* 300,000 ranges inside of one, each also a repeat, and 100,000 that nest: neither is quadratic, and names stay short. */
static void many_ranges(void **state) {
    (void)state;
    enum { N = PS_ROUNDS(300000, 30000), DEEP = PS_ROUNDS(100000, 10000) };
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    range(b, one, "all", 0, 10 * N, -1, -1);
    for (int i = 0; i < N; i++) {
        range(b, one, "same", 10 * i + 1, 10 * i + 5, -1, -1);
    }
    for (int i = 0; i < DEEP; i++) {
        range(b, two, "deep", i, 4 * DEEP - i, -1, -1);
    }
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "mstx_sum", &t, 1, NULL);
    const ps_table *marks = small_table(&o, "MSTXMarkStats");
    assert_int_equal(marks->n_rows, 1 + N + DEEP);
    for (size_t i = 0; i < marks->n_rows; i++) {
        assert_true(strlen(ps_table_cell(marks, i, 1)->u.text) < 600);
    }
    small_run_fini(&o);
    ps_trace_free(t);
}

static void memory_runs_out(void **state) {
    (void)state;
    ps_trace *traces[] = {rank_0(), rank_1()};
    small_run_without_memory("mstx_sum", traces, 2);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_and_ranges),
        cmocka_unit_test(marks_behind_a_queue),
        cmocka_unit_test(host_ranges_alone),
        cmocka_unit_test(only_steps_on_the_device),
        cmocka_unit_test(host_ranges_and_kernels),
        cmocka_unit_test(no_marks),
        cmocka_unit_test(many_ranges),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Every rule of dispatch, compute and communication on traces made by hand: a case in which it fires, with its gain, and
 * one in which it is silent. Times in the comments are microseconds. */
#include "analyze/derived/derived.h"
#include "support/report_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/derived/comm_part.h"
#include "base/alloc.h"

/* One trace, one report. */
static void report_one(report_run *out, rig *r) {
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

/* Two kernels in a step of 1000, with a gap from 400 to `until`, both launched just before they run. */
static rig with_gap(int64_t until) {
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_kernel(&r, "Add", NULL, until - 5, until, 1000);
    return r;
}

/* --- dispatch -------------------------------------------------------------------------------------------------------- */

static int64_t cell_ns(const report_run *o, const char *column) {
    const ps_table *t = report_table(o, "overview");
    return ps_table_cell(t, 0, ps_table_column(t, column))->u.i;
}

/* Before 2, computing 398 + 400, free 200 of 1000. The launch of the first kernel returns at 1, that of the second one 4 us
 * before it starts: 1 + 196 are the host's, 19.7 %. With a gap of 50: 4.7 %. */
static void free_share(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap(600);
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_FREE_SHARE));
    assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), 197 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_FREE_SHARE), "202 us of a step of 1.00 ms"));
    assert_non_null(strstr(report_text(&o, PS_RULE_FREE_SHARE), "for 197 us of it (19.7 %"));
    assert_int_equal(cell_ns(&o, "before"), 2 * US);
    assert_int_equal(cell_ns(&o, "computing"), 798 * US);
    assert_int_equal(cell_ns(&o, "free"), 200 * US);
    assert_int_equal(cell_ns(&o, "after"), 0);
    assert_int_equal(cell_ns(&o, "step"), 1000 * US);
    report_fini(&o);
    r = with_gap(450);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_FREE_SHARE));
    report_fini(&o);
}

/* The second kernel was launched at 10 and waits in the queue until 600: the gap is not the host's. */
static void queued_is_not_the_hosts(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_kernel(&r, "Add", NULL, 10, 600, 1000);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_FREE_SHARE));
    assert_true(report_fired(&o, PS_RULE_IDLE_DEVICE));
    assert_int_equal(report_gain(&o, PS_RULE_IDLE_DEVICE), 0);
    report_fini(&o);
}

/* Where the times are the host's there is no device that waits: nothing is said of dispatch. */
static void host_times_are_not_judged(void **state) {
    (void)state;
    for (int is_host = 0; is_host < 2; is_host++) {
        report_run o;
        rig r = with_gap(600);
        ps_builder_meta(r.b, "collector.device_time_source", is_host ? "host" : "cuda_event");
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_FREE_SHARE), !is_host);
        const ps_table *job = report_table(&o, "job");
        assert_string_equal(ps_table_cell(job, 0, ps_table_column(job, "device_times"))->u.text,
                            is_host ? "host" : "device");
        report_fini(&o);
    }
}

/* Two steps of 500 with a gap of 300 between them (350 to 650), which is Free of neither; after 150, before 150. The device
 * waits for the host at the ends, too: 1 + 150 + 146. */
static void between_steps_is_not_free(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(500);
    ps_builder_step(r.b, 2, REPORT_EPOCH_NS + 500 * US, REPORT_EPOCH_NS + 1000 * US);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 350);
    (void)rig_kernel(&r, "Add", NULL, 645, 650, 1000);
    report_one(&o, &r);
    assert_int_equal(cell_ns(&o, "free"), 0);
    assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), (1 + 150 + 146) * US / 2);
    assert_true(report_fired(&o, PS_RULE_BEFORE_FIRST_WORK));
    assert_int_equal(report_gain(&o, PS_RULE_BEFORE_FIRST_WORK),
                     151 * US); /* (2 + 150 + 150) / 2 */
    assert_int_equal(cell_ns(&o, "step"), 500 * US);
    report_fini(&o);
}

/* The device starts at 60 of 1000, with nothing after: 6 %, and at 40: 4 %. */
static void before_first_work(void **state) {
    (void)state;
    static const int64_t FIRST[] = {60, 40};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, FIRST[i], 1000);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_BEFORE_FIRST_WORK), i == 0);
        report_fini(&o);
    }
}

/* A call of 0.6 us in a gap of 200 is not where the host is; one of 150 is. */
static void short_calls_are_not_named(void **state) {
    (void)state;
    for (int is_long = 0; is_long < 2; is_long++) {
        report_run o;
        rig r = with_gap(600);
        (void)rig_host(&r, PS_SLICE_CALL, "aclrtCreateEvent", 410, is_long ? 560 : 411);
        report_one(&o, &r);
        const ps_table *t = report_table(&o, "evidence");
        const char *note = ps_table_cell(t, 0, ps_table_column(t, "note"))->u.text;
        assert_int_equal(strstr(note, "aclrtCreateEvent") != NULL, is_long);
        report_fini(&o);
    }
}

/* The same gap is a stall of the rank's pipeline: no finding of the host, and the overview says so. */
static void free_in_the_bubble_is_not_the_hosts(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap(600);
    ps_trace *t = rig_seal(&r);
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    chart->origin_ns = REPORT_EPOCH_NS;
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 0, .stage = 1}));
    assert_true(ps_chart_add_op(chart, (ps_op){.end_ns = 400 * US, .step = 1, .name = "0"}));
    assert_true(ps_chart_add_bubble(chart, (ps_bubble){.start_ns = 400 * US,
                                                       .end_ns = 600 * US,
                                                       .step = 1,
                                                       .waits_for = PS_NO_INDEX,
                                                       .cause = PS_BUBBLE_STALL}));
    ps_result before = {.chart = chart};
    report_over(&o, &t, 1, NULL, &before);
    assert_false(report_fired(&o, PS_RULE_FREE_SHARE));
    const ps_table *overview = report_table(&o, "overview");
    assert_int_equal(ps_table_cell(overview, 0, ps_table_column(overview, "bubble"))->u.i,
                     200 * US);
    assert_int_equal(ps_table_cell(overview, 0, ps_table_column(overview, "stage"))->u.i, 1);
    report_fini(&o);
    ps_chart_free(chart);
}

/* Both kernels of the gap start 1 and 4 us after their call; launched 100 us ahead none does. */
static void launch_delay(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap(600);
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_LAUNCH_DELAY));
    report_fini(&o);
    r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 102, 400);
    (void)rig_kernel(&r, "Add", NULL, 450, 600, 1000);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_LAUNCH_DELAY));
    report_fini(&o);
}

/* Three kernels start 4 us after their launch. Behind each stands another one, whose launch returned 10 us before it starts, while the one
 * before it ran: what then is in the queue is none that the device waits for. */
static void queued_kernels_start_soon_too(void **state) {
    (void)state;
    for (int n_queued = 0; n_queued <= 3; n_queued += 3) {
        report_run o;
        rig r = rig_begin(1000);
        for (int i = 0; i < 3; i++) {
            int64_t at = 5 + 300 * i;
            (void)rig_kernel(&r, "MatMul", NULL, at, at + 5, at + 100);
            if (i < n_queued) {
                (void)rig_kernel(&r, "Add", NULL, at + 89, at + 100, at + 200);
            }
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_LAUNCH_DELAY), n_queued == 0);
        report_fini(&o);
    }
}

/* A host range from 300 to 590: of the gap 400 to 600 the device loses 190 in it. Without it the host would be 290 earlier at the launch
 * behind it, which returns at 596: 6 more, and 1 at the launch with which the next step begins. From 100 to 300 it loses nothing. */
static void check_stop(ps_rule_id rule, const char *name, ps_rule_id other) {
    report_run o;
    rig r = with_gap(600);
    (void)rig_host(&r, PS_SLICE_HOST_OP, name, 300, 590);
    report_one(&o, &r);
    assert_true(report_fired(&o, rule));
    assert_non_null(
        strstr(report_text(&o, rule), "waits for the host for 190 us of each step (19.0 %)"));
    assert_int_equal(report_gain(&o, rule), 197 * US);
    assert_false(report_fired(&o, other));
    report_fini(&o);
    r = with_gap(600);
    (void)rig_host(&r, PS_SLICE_HOST_OP, name, 100, 300);
    report_one(&o, &r);
    assert_false(report_fired(&o, rule));
    report_fini(&o);
}

static void blocking(void **state) {
    (void)state;
    check_stop(PS_RULE_BLOCKING_COPY, "aten::item", PS_RULE_BLOCKING_SYNC);
    check_stop(PS_RULE_BLOCKING_COPY, "cudaMemcpy", PS_RULE_BLOCKING_SYNC);
    check_stop(PS_RULE_BLOCKING_SYNC, "cudaStreamSynchronize", PS_RULE_BLOCKING_COPY);
    check_stop(PS_RULE_BLOCKING_SYNC, "aclrtSynchronizeStreamWithTimeout", PS_RULE_BLOCKING_COPY);
}

/* The call inside of item() belongs to it; an asynchronous copy stops nobody. */
static void blocking_is_counted_once(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap(600);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 300, 590);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::_local_scalar_dense", 310, 580);
    (void)rig_host(&r, PS_SLICE_CALL, "cudaStreamSynchronize", 320, 570);
    report_one(&o, &r);
    assert_int_equal(report_gain(&o, PS_RULE_BLOCKING_COPY), 197 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_BLOCKING_COPY), "(1 range in a step,"));
    assert_false(report_fired(&o, PS_RULE_BLOCKING_SYNC));
    report_fini(&o);
    r = with_gap(600);
    (void)rig_host(&r, PS_SLICE_CALL, "cudaMemcpyAsync", 300, 590);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_BLOCKING_COPY));
    report_fini(&o);
}

/* item() from 400 to 594 while an allreduce runs alone, with a launch behind it; the same while a kernel runs beside it. */
static void host_waits_for_communication(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap(600);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 400, 600, 0);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 400, 594);
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_HOST_WAITS_COMM));
    assert_false(report_fired(&o, PS_RULE_FREE_SHARE));
    report_fini(&o);
    r = with_gap(600);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 100, 300, 0);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 100, 300);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_HOST_WAITS_COMM));
    report_fini(&o);
}

/* A range of `length` in a step of 40000 whose device is idle from 10000 to 20000. */
static bool long_stop_fires(ps_rule_id rule, const char *name, int64_t length, int64_t *gain_ns) {
    report_run o;
    rig r = rig_begin(40000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 10000);
    (void)rig_kernel(&r, "Add", NULL, 19990, 20000, 40000);
    (void)rig_host(&r, PS_SLICE_HOST_OTHER, name, 9000, 9000 + length);
    report_one(&o, &r);
    bool fired = report_fired(&o, rule);
    *gain_ns = fired ? report_gain(&o, rule) : 0;
    report_fini(&o);
    return fired;
}

/* 9000 to 11000 is 2 ms long, 1000 of it in the gap, and the launch behind it comes 2000 earlier without it; 9000 to 24000 is 15 ms long, all of the gap in it. */
static void pauses(void **state) {
    (void)state;
    int64_t gain_ns = 0;
    assert_true(long_stop_fires(PS_RULE_GC_PAUSE, "Python GC", 2000, &gain_ns));
    assert_int_equal(gain_ns, 2000 * US);
    assert_false(long_stop_fires(PS_RULE_GC_PAUSE, "Python GC", 1000, &gain_ns));
    static const char NEXT[] = "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__";
    assert_true(long_stop_fires(PS_RULE_DATA_LOADING, NEXT, 15000, &gain_ns));
    assert_int_equal(gain_ns, 9992 * US); /* all that the device waits for the host */
    assert_false(long_stop_fires(PS_RULE_DATA_LOADING, NEXT, 1300, &gain_ns)); /* 0.75 % */
}

/* 9000 to 14000 with a gap from 10000 of a step of 40000: 10 % for the optimiser and for a checkpoint, and what is launched behind comes
 * 5000 earlier without them; 1000 or 300 in the gap are too little. */
static void other_things(void **state) {
    (void)state;
    int64_t gain_ns = 0;
    assert_true(long_stop_fires(PS_RULE_HOST_OPTIMIZER, "Optimizer.step#SGD.step", 5000, &gain_ns));
    assert_int_equal(gain_ns, 5000 * US);
    assert_false(
        long_stop_fires(PS_RULE_HOST_OPTIMIZER, "Optimizer.step#SGD.step", 2000, &gain_ns));
    assert_true(long_stop_fires(PS_RULE_OTHER_WORK, "save_checkpoint", 5000, &gain_ns));
    assert_int_equal(gain_ns, 5000 * US);
    assert_false(long_stop_fires(PS_RULE_OTHER_WORK, "save_checkpoint", 1300, &gain_ns));
    assert_false(long_stop_fires(PS_RULE_OTHER_WORK, "my save_checkpoint range", 5000, &gain_ns));
}

/* Kernels 2-400, 500-700 and 800-1000, the later ones launched until 496 and 796. The optimiser from 350 to 460 costs 60 of the first gap, and
 * 36 of it where the launch behind is late; the host stays 14 earlier, which the second gap gains, too, unless the host waits for the
 * device from 600 to 650. */
static void later_gaps(void **state) {
    (void)state;
    for (int waits = 0; waits < 2; waits++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#SGD.step", 350, 460);
        (void)rig_kernel(&r, "Add", NULL, 495, 500, 700);
        if (waits) {
            (void)rig_host(&r, PS_SLICE_CALL, "cudaStreamSynchronize", 600, 650);
        }
        (void)rig_kernel(&r, "Add", NULL, 795, 800, 1000);
        report_one(&o, &r);
        assert_int_equal(report_gain(&o, PS_RULE_HOST_OPTIMIZER), (waits ? 96 : 110) * US);
        assert_non_null(strstr(
            report_text(&o, PS_RULE_HOST_OPTIMIZER),
            waits
                ? "to what it launches behind, also in the step that follows: up to 36.0 us more."
                : "to what it launches behind, also in the step that follows: up to 50.0 us more."));
        report_fini(&o);
    }
}

/* Kernels 2-400 and 600-1000. A copy from pageable memory 300-410, 10 of it alone; or 300-500, with one to pinned memory 480-590:
 * 400-500 and 500-590 alone. The host waits in a synchronising call meanwhile, in which the device is not idle. */
static void copies_alone(void **state) {
    (void)state;
    for (int64_t until = 410; until <= 590; until += 180) {
        report_run o;
        rig r = with_gap(600);
        bool is_long = until == 590;
        uint32_t in = rig_slice(&r, PS_SLICE_COPY, r.stream, "Memcpy HtoD (Pageable -> Device)",
                                300, is_long ? 500 : 410);
        ps_builder_arg_int(r.b, in, "bytes", 2000000);
        if (is_long) {
            (void)rig_slice(&r, PS_SLICE_COPY, r.stream, "Memcpy DtoH (Device -> Pinned)", 480,
                            590);
        }
        (void)rig_host(&r, PS_SLICE_CALL, "cudaStreamSynchronize", 300, 594);
        report_one(&o, &r);
        assert_int_equal(cell_ns(&o, "copies"), (is_long ? 190 : 10) * US);
        assert_int_equal(cell_ns(&o, "free"), (is_long ? 10 : 190) * US);
        assert_int_equal(cell_ns(&o, "step"), 1000 * US);
        assert_int_equal(report_fired(&o, PS_RULE_EXPOSED_COPIES), is_long);
        assert_int_equal(report_fired(&o, PS_RULE_BLOCKING_SYNC), !is_long);
        if (is_long) {
            assert_int_equal(report_gain(&o, PS_RULE_EXPOSED_COPIES), 190 * US);
            const char *text = report_text(&o, PS_RULE_EXPOSED_COPIES);
            assert_non_null(
                strstr(text, "H2D from pageable memory 100 us (1 a step, 2 MB at "
                             "10 GB/s), D2H to pinned memory 90.0 us (1 a step, sizes unknown)"));
        }
        report_fini(&o);
    }
}

static bool fires_in(ps_rule_id rule, const char *environment, int64_t gap_until) {
    report_run o;
    rig r = with_gap(gap_until);
    ps_builder_meta(r.b, "ENV_VARIABLES", environment);
    report_one(&o, &r);
    bool fired = report_fired(&o, rule);
    report_fini(&o);
    return fired;
}

/* Only where the device waits for the host, and only when the variable is known. */
static void environment(void **state) {
    (void)state;
    assert_true(fires_in(PS_RULE_TASK_QUEUE, "{\"TASK_QUEUE_ENABLE\": \"1\"}", 600));
    assert_true(fires_in(PS_RULE_TASK_QUEUE, "{\"TASK_QUEUE_ENABLE\": \"\"}", 600));
    assert_false(fires_in(PS_RULE_TASK_QUEUE, "{\"TASK_QUEUE_ENABLE\": \"2\"}", 600));
    assert_false(fires_in(PS_RULE_TASK_QUEUE, "{\"TASK_QUEUE_ENABLE\": \"1\"}", 450));
    assert_false(fires_in(PS_RULE_TASK_QUEUE, "{\"OTHER\": \"1\"}", 600));
    assert_false(fires_in(PS_RULE_TASK_QUEUE, "no JSON", 600));
    assert_true(fires_in(PS_RULE_CPU_BINDING, "{\"CPU_AFFINITY_CONF\": \"0\"}", 600));
    assert_false(
        fires_in(PS_RULE_CPU_BINDING, "{\"CPU_AFFINITY_CONF\": \"mode:1,npu0:0-7\"}", 600));
}

/* Exact values; those that only matter to a slow host only there; what is not listed is not judged. */
static void variables(void **state) {
    (void)state;
    assert_true(fires_in(PS_RULE_ENVIRONMENT, "{\"ASCEND_LAUNCH_BLOCKING\": \"1\"}", 450));
    assert_true(fires_in(PS_RULE_ENVIRONMENT, "{\"CUDA_LAUNCH_BLOCKING\": 1}", 450));
    assert_false(fires_in(PS_RULE_ENVIRONMENT, "{\"ASCEND_LAUNCH_BLOCKING\": \"0\"}", 450));
    assert_false(fires_in(PS_RULE_ENVIRONMENT, "{\"ASCEND_LAUNCH_BLOCKING\": \"\"}", 450));
    assert_true(fires_in(PS_RULE_ENVIRONMENT, "{\"ASCEND_GLOBAL_LOG_LEVEL\": \"1\"}", 450));
    assert_false(fires_in(PS_RULE_ENVIRONMENT, "{\"ASCEND_GLOBAL_LOG_LEVEL\": \"3\"}", 450));
    assert_true(fires_in(PS_RULE_ENVIRONMENT, "{\"HOST_CACHE_CAPACITY\": \"\"}", 600));
    assert_false(fires_in(PS_RULE_ENVIRONMENT, "{\"HOST_CACHE_CAPACITY\": \"\"}", 450));
    assert_true(fires_in(PS_RULE_ENVIRONMENT, "{\"ACLNN_CACHE_LIMIT\": \"100\"}", 600));
    assert_false(fires_in(PS_RULE_ENVIRONMENT, "{\"OTHER\": \"1\"}", 600));
    assert_false(fires_in(PS_RULE_ENVIRONMENT, "no JSON", 600));
}

/* A call of 100 in the gap from 400 to 600 of the only step, then of the first of two. */
static void warm_up_is_no_fault(void **state) {
    (void)state;
    static const struct {
        const char *name;
        ps_rule_id rule;
    } CALLS[] = {{"aclopCompileAndExecute", PS_RULE_JIT_COMPILE},
                 {"AscendCL@aclrtMalloc", PS_RULE_ALLOCATION},
                 {"cudaFree", PS_RULE_ALLOCATION},
                 {"_compile.compile_inner (dynamo_timed)", PS_RULE_JIT_COMPILE}};
    for (size_t i = 0; i < 2 * sizeof CALLS / sizeof *CALLS; i++) {
        bool two = i % 2 == 1;
        report_run o;
        rig r = with_gap(600);
        (void)rig_host(&r, PS_SLICE_CALL, CALLS[i / 2].name, 450, 550);
        if (two) {
            ps_builder_step(r.b, 2, REPORT_EPOCH_NS + 1000 * US, REPORT_EPOCH_NS + 1500 * US);
            (void)rig_kernel(&r, "Add", NULL, 1001, 1010, 1500);
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, CALLS[i / 2].rule), !two);
        if (!two) {
            assert_int_equal(report_gain(&o, CALLS[i / 2].rule), 100 * US);
        }
        report_fini(&o);
    }
}

/* A counter at `high` from 0 to 800, at `low` to 1000: low for 20 % of the time. */
static bool fires_at(ps_rule_id rule, const char *series, double high, double low) {
    report_run o;
    rig r = with_gap(450);
    rig_counter(&r, series, 0, high);
    rig_counter(&r, series, 800, low);
    report_one(&o, &r);
    bool fired = report_fired(&o, rule);
    report_fini(&o);
    return fired;
}

static void frequencies(void **state) {
    (void)state;
    assert_true(fires_at(PS_RULE_CPU_FREQUENCY, "CPU 0 Frequency", 3000, 2000));
    assert_false(fires_at(PS_RULE_CPU_FREQUENCY, "CPU 0 Frequency", 3000, 2900));
    assert_true(fires_at(PS_RULE_FREQUENCY_DROP, "AI Core Freq", 1800, 800));
    assert_false(fires_at(PS_RULE_FREQUENCY_DROP, "AI Core Freq", 1800, 1800));
    assert_false(fires_at(PS_RULE_FREQUENCY_DROP, "AI Core Freq", 800, 1800)); /* 800 is usual */
    report_run o;
    rig r = with_gap(450);
    ps_builder_meta(r.b, "cpu_governor", "powersave");
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_CPU_FREQUENCY));
    report_fini(&o);
}

/* --- compute ------------------------------------------------------------------------------------------------------------- */

/* Six kernels of 150 of five types: 33 % and 17 % each. Five of different types: 20 % each is not more than 20 %. */
static void top_kernel(void **state) {
    (void)state;
    static const char *const TYPES[] = {"MatMul", "Add", "Mul", "Gelu", "Sub", "MatMul"};
    for (int n = 5; n <= 6; n++) {
        report_run o;
        rig r = rig_begin(1000);
        for (int i = 0; i < n; i++) {
            (void)rig_kernel(&r, TYPES[i], "4,4", 0, 10 + 150 * i, 160 + 150 * i);
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_TOP_KERNEL), n == 6);
        report_fini(&o);
    }
}

/* Ten kernels of 100 in ten shapes: no shape is over 20 %, TransData is 30 %. */
static void types_over_all_shapes(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1100);
    for (int i = 0; i < 10; i++) {
        static const char *const OTHERS[] = {"Add", "Mul", "Gelu", "Sub", "Exp", "Tanh", "Relu"};
        char shapes[32];
        (void)snprintf(shapes, sizeof shapes, "%d,4", i + 1);
        (void)rig_kernel(&r, i < 3 ? "TransData" : OTHERS[i - 3], shapes, 0, 10 + 100 * i,
                         110 + 100 * i);
    }
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_TOP_KERNEL));
    assert_non_null(strstr(report_text(&o, PS_RULE_TOP_KERNEL), "TransData takes 30.0 %"));
    assert_true(report_fired(&o, PS_RULE_CONVERSION));
    assert_int_equal(report_gain(&o, PS_RULE_CONVERSION), 300 * US);
    report_fini(&o);
}

/* A kernel of 100 of 1000 beside others, launched inside `around`. */
static bool converts(const char *type, const char *name, const char *op, const char *around) {
    report_run o;
    rig r = rig_begin(1100);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 10, 910);
    if (around != NULL) {
        (void)rig_host(&r, PS_SLICE_HOST_OP, around, 20, 40);
        (void)rig_host(&r, PS_SLICE_HOST_OP, op, 22, 38);
    }
    uint32_t call = rig_host(&r, PS_SLICE_CALL, "launch", 25, 26);
    uint32_t kernel = rig_slice(&r, PS_SLICE_KERNEL, r.stream, name, 910, 1010);
    if (type != NULL) {
        rig_text(&r, kernel, "opType", type);
    }
    ps_builder_flow(r.b, call, kernel);
    report_one(&o, &r);
    bool fired = report_fired(&o, PS_RULE_CONVERSION);
    report_fini(&o);
    return fired;
}

/* What a kernel is follows from its type, its function and its operators, not from words in its name. */
static void conversions(void **state) {
    (void)state;
    assert_true(converts("Cast", "aclnnCast_Cast", NULL, NULL));
    assert_true(converts("Transpose", "t", NULL, NULL));
    assert_false(converts("BroadcastTo", "Cast", NULL, NULL));
    assert_false(converts("CastAdd", "x", NULL, NULL));
    assert_true(converts(NULL, "void cudnn::ops::nchwToNhwcKernel<float, float>(int)", NULL, NULL));
    assert_false(converts(NULL, "void my::nchwToNhwcKernelAndAdd<float>(int)", NULL, NULL));
    assert_true(converts(NULL, "elementwise", "aten::copy_", "aten::_to_copy"));
    assert_false(converts(NULL, "elementwise", "aten::add", "aten::_to_copy"));
    assert_false(converts(NULL, "elementwise", "aten::copy_", "aten::slice_backward"));
}

/* 2 * 1024^3 = 2.147e9 operations in 100 us are 21.47 T/s: 21.47 % of 100, 43 % of 50. At 30 % the kernel would take
 * 100 * 21.47 / 30 = 71.58 us: 28.42 less. */
static void low_mfu(void **state) {
    (void)state;
    static const double PEAKS[] = {100, 50};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t k = rig_kernel(&r, "MatMulV2", "\"1024,1024;1024,1024\"", 0, 100, 200);
        rig_text(&r, k, "inputDataTypes", "DT_BF16;DT_BF16");
        rig_text(&r, k, "inputFormats", "ND;ND");
        rig_text(&r, k, "outputShapes", "\"1024,1024\"");
        rig_text(&r, k, "outputDataTypes", "DT_BF16");
        ps_trace *t = rig_seal(&r);
        ps_analysis_opts opts = {.step_id = -1, .peak_tflops = PEAKS[i]};
        report_over(&o, &t, 1, &opts, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_LOW_MFU), i == 0);
        if (i == 0) {
            assert_in_range(report_gain(&o, PS_RULE_LOW_MFU), 28410, 28430);
        }
        report_fini(&o);
    }
}

/* 4 * 8 * 1024 * 1024 * 64 operations in 100 us: 21.47 T/s of 200. Attention is not told to use attention. */
static void low_mfu_of_attention(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    uint32_t op =
        rig_host(&r, PS_SLICE_HOST_OP, "aten::_scaled_dot_product_flash_attention", 5, 40);
    rig_text(&r, op, "Input Dims",
             "[[1, 8, 1024, 64], [1, 8, 1024, 64], [1, 8, 1024, 64], [], []]");
    rig_text(&r, op, "Input type",
             "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"]");
    rig_text(&r, op, "Concrete Inputs", "[\"\", \"\", \"\", \"0.\", \"False\"]");
    uint32_t call = rig_host(&r, PS_SLICE_CALL, "cudaLaunchKernel", 10, 11);
    ps_builder_flow(r.b, call,
                    rig_slice(&r, PS_SLICE_KERNEL, r.stream, "flash_fwd_kernel", 100, 200));
    ps_trace *t = rig_seal(&r);
    ps_analysis_opts opts = {.step_id = -1, .peak_tflops = 200};
    report_over(&o, &t, 1, &opts, NULL);
    assert_false(report_fired(&o, PS_RULE_LOW_MFU));
    assert_true(report_fired(&o, PS_RULE_LOW_MFU_ATTENTION));
    report_fini(&o);
}

/* 21.47 T/s of a peak of 10: 215 %, which cannot be. */
static void mfu_over_100(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    uint32_t k = rig_kernel(&r, "MatMulV2", "\"1024,1024;1024,1024\"", 0, 100, 200);
    rig_text(&r, k, "inputDataTypes", "DT_BF16;DT_BF16");
    rig_text(&r, k, "inputFormats", "ND;ND");
    rig_text(&r, k, "outputShapes", "\"1024,1024\"");
    rig_text(&r, k, "outputDataTypes", "DT_BF16");
    ps_trace *t = rig_seal(&r);
    ps_analysis_opts opts = {.step_id = -1, .peak_tflops = 10};
    report_over(&o, &t, 1, &opts, NULL);
    assert_false(report_fired(&o, PS_RULE_LOW_MFU));
    assert_true(report_fired(&o, PS_RULE_FLOPS_DOUBT));
    assert_int_equal(report_gain(&o, PS_RULE_FLOPS_DOUBT), 0);
    assert_non_null(strstr(report_text(&o, PS_RULE_FLOPS_DOUBT), "up to 214.7 %"));
    report_fini(&o);
}

/* What is recorded around the operator, 1e9 operations, is less than half of the 2.147e9 of the shapes. */
static void record_against_shapes(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    uint32_t k = rig_kernel(&r, "MatMulV2", "\"1024,1024;1024,1024\"", 0, 100, 200);
    rig_text(&r, k, "inputDataTypes", "DT_BF16;DT_BF16");
    rig_text(&r, k, "inputFormats", "ND;ND");
    rig_text(&r, k, "outputShapes", "\"1024,1024\"");
    rig_text(&r, k, "outputDataTypes", "DT_BF16");
    uint32_t mark = rig_host(&r, PS_SLICE_MARK_HOST, "1000000000-aten::linear", 0, 50);
    rig_text(&r, mark, "domain", "mfu_flops");
    ps_trace *t = rig_seal(&r);
    ps_analysis_opts opts = {.step_id = -1, .peak_tflops = 100};
    report_over(&o, &t, 1, &opts, NULL);
    assert_false(report_fired(&o, PS_RULE_LOW_MFU));
    assert_true(report_fired(&o, PS_RULE_FLOPS_DOUBT));
    report_fini(&o);
}

/* TF32 on a GPU has another peak than 16 bits. */
static void floats_are_not_judged(void **state) {
    (void)state;
    static const char *const TYPES[] = {"[\"float\", \"float\"]",
                                        "[\"c10::BFloat16\", \"c10::BFloat16\"]"};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t op = rig_host(&r, PS_SLICE_HOST_OP, "aten::mm", 0, 10);
        rig_text(&r, op, "Input Dims", "[[1024, 1024], [1024, 1024]]");
        rig_text(&r, op, "Input type", TYPES[i]);
        uint32_t call = rig_host(&r, PS_SLICE_CALL, "cudaLaunchKernel", 2, 4);
        uint32_t k = rig_slice(&r, PS_SLICE_KERNEL, r.stream, "ampere_gemm", 100, 200);
        ps_builder_flow(r.b, call, k);
        ps_trace *t = rig_seal(&r);
        ps_analysis_opts opts = {.step_id = -1, .peak_tflops = 100};
        report_over(&o, &t, 1, &opts, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_LOW_MFU), i == 1);
        report_fini(&o);
    }
}

/* Eight kernels of 100 and one of 400, whose shapes were not recorded: no more than something to know. */
static void kernel_varies_without_shapes(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1400);
    for (int k = 0; k < 8; k++) {
        (void)rig_kernel(&r, "Add", NULL, 0, 10 + 100 * k, 110 + 100 * k);
    }
    (void)rig_kernel(&r, "Add", NULL, 0, 810, 1210);
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_KERNEL_VARIES));
    assert_int_equal(report_gain(&o, PS_RULE_KERNEL_VARIES), 0);
    assert_non_null(strstr(report_text(&o, PS_RULE_KERNEL_VARIES), "shapes were not recorded"));
    report_fini(&o);
}

/* Text captures call the type "Type": it stands for the name. */
static void types_of_text_captures(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    uint32_t k = rig_kernel(&r, NULL, NULL, 0, 10, 900);
    rig_text(&r, k, "Type", "MatMulV2");
    report_one(&o, &r);
    const ps_table *t = report_table(&o, "kernels");
    assert_string_equal(ps_table_cell(t, 0, ps_table_column(t, "kernel"))->u.text, "MatMulV2");
    report_fini(&o);
}

/* Eight kernels of 100 and one of 400: 300 beyond the median. All of 100 and one of 150: not beyond 1.5 medians. */
static void kernel_varies(void **state) {
    (void)state;
    static const int64_t LAST[] = {400, 150};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(1400);
        for (int k = 0; k < 8; k++) {
            (void)rig_kernel(&r, "Add", "4,4", 0, 10 + 100 * k, 110 + 100 * k);
        }
        (void)rig_kernel(&r, "Add", "4,4", 0, 810, 810 + LAST[i]);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_KERNEL_VARIES), i == 0);
        if (i == 0) {
            assert_int_equal(report_gain(&o, PS_RULE_KERNEL_VARIES), 300 * US);
        }
        report_fini(&o);
    }
}

/* Five of 100 and three of 400: more than a quarter, so these are others of a size that is not written. */
static void kernels_of_two_sizes(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(2000);
    for (int k = 0; k < 5; k++) {
        (void)rig_kernel(&r, "Add", NULL, 0, 10 + 100 * k, 110 + 100 * k);
    }
    for (int k = 0; k < 3; k++) {
        (void)rig_kernel(&r, "Add", NULL, 0, 510 + 400 * k, 910 + 400 * k);
    }
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_KERNEL_VARIES));
    report_fini(&o);
}

static void aicpu(void **state) {
    (void)state;
    static const char *const TASKS[] = {"AI_CPU", "AI_CORE"};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, 900);
        uint32_t index = rig_kernel(&r, "Index", NULL, 0, 900, 950);
        rig_text(&r, index, "taskType", TASKS[i]);
        rig_text(&r, index, "inputDataTypes", "FLOAT;INT64");
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_AICPU), i == 0);
        if (i == 0) {
            assert_int_equal(report_gain(&o, PS_RULE_AICPU), 50 * US);
            const ps_table *t = report_table(&o, "evidence");
            bool said = false;
            for (size_t row = 0; row < t->n_rows; row++) {
                const char *note = ps_table_cell(t, row, ps_table_column(t, "note"))->u.text;
                said = said || strcmp(note, "longest of 1 in all; an input is INT64") == 0;
            }
            assert_true(said);
        }
        report_fini(&o);
    }
}

/* Three ranks; each runs five kernels of 100, the last one of `slow`. */
static void run_three(report_run *o, int64_t slow) {
    ps_trace *traces[3];
    for (int rank = 0; rank < 3; rank++) {
        rig r = rig_begin(1000);
        int64_t length = rank == 2 ? slow : 100;
        for (int k = 0; k < 5; k++) {
            (void)rig_kernel(&r, "Add", "4,4", 0, 10 + length * k, 10 + length * (k + 1));
        }
        traces[rank] = rig_seal(&r);
    }
    report_over(o, traces, 3, NULL, NULL);
    assert_int_equal(o->code, PS_OK);
}

/* 120 against a median of 100: 5 * 20 more. Computing 600, 500, 500: 100 / 533 = 18.8 %, and 100 less if all were as fast. */
static void slow_ranks(void **state) {
    (void)state;
    report_run o;
    run_three(&o, 120);
    assert_true(report_fired(&o, PS_RULE_SLOW_KERNEL));
    assert_int_equal(report_gain(&o, PS_RULE_SLOW_KERNEL), 100 * US);
    assert_true(report_fired(&o, PS_RULE_SLOW_RANK));
    assert_int_equal(report_gain(&o, PS_RULE_SLOW_RANK), 100 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_SLOW_RANK), "rank 2 600 us"));
    report_fini(&o);
    run_three(&o, 100);
    assert_false(report_fired(&o, PS_RULE_SLOW_KERNEL));
    assert_false(report_fired(&o, PS_RULE_SLOW_RANK));
    report_fini(&o);
}

/* --- communication --------------------------------------------------------------------------------------------------------- */

/* Computing 10 to 500, an allreduce from 500 to 900, or beside the kernel. 400 of 890 exposed. */
static void comm_exposed(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "Add", NULL, 0, 10, 500);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 500, 900, 0);
    report_one(&o, &r);
    assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), 400 * US);
    assert_false(report_fired(&o, PS_RULE_COMM_OVER_COMPUTE));
    report_fini(&o);
    r = rig_begin(1000);
    (void)rig_kernel(&r, "Add", NULL, 0, 10, 500);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 100, 500, 0);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_COMM_EXPOSED));
    report_fini(&o);
}

/* A receive that waits from 500 to 900 is the pipeline's. */
static void receives_are_the_pipelines(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "Add", NULL, 0, 10, 500);
    (void)rig_comm(&r, "hcom_receive__1_0_1", 500, 900, 0);
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_COMM_EXPOSED));
    report_fini(&o);
}

static void comm_over_compute(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "Add", NULL, 0, 10, 300);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 300, 900, 0);
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_COMM_OVER_COMPUTE));
    assert_non_null(strstr(report_text(&o, PS_RULE_COMM_OVER_COMPUTE), "group world take 600 us"));
    report_fini(&o);
}

/* Five operators of 10 and one of 100 (90 beyond the median) or of 30, which is not more than three times 10. */
static void comm_outlier(void **state) {
    (void)state;
    static const int64_t LAST[] = {100, 30};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, 500);
        for (int k = 0; k < 5; k++) {
            (void)rig_comm(&r, "hcom_allReduce__1", 500 + 20 * k, 510 + 20 * k, 1024);
        }
        (void)rig_comm(&r, "hcom_allReduce__1", 700, 700 + LAST[i], 1024);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_COMM_OUTLIER), i == 0);
        if (i == 0) {
            assert_int_equal(report_gain(&o, PS_RULE_COMM_OUTLIER), 90 * US);
        }
        report_fini(&o);
    }
}

/* Three ranks meet: two come at 500, the last one at `late`; all leave at 900. */
static void late_arrival(void **state) {
    (void)state;
    static const int64_t LATE[] = {600, 505};
    for (size_t i = 0; i < 2; i++) {
        ps_trace *traces[3];
        report_run o;
        for (int rank = 0; rank < 3; rank++) {
            rig r = rig_begin(1000);
            (void)rig_kernel(&r, "Add", NULL, 0, 10, 500);
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", rank == 1 ? LATE[i] : 500, 900, 1024);
            traces[rank] = rig_seal(&r);
        }
        report_over(&o, traces, 3, NULL, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_LATE_ARRIVAL), i == 0);
        if (i == 0) {
            assert_int_equal(report_gain(&o, PS_RULE_LATE_ARRIVAL), 100 * US);
            assert_non_null(strstr(report_text(&o, PS_RULE_LATE_ARRIVAL), "Rank 1 comes last"));
        }
        report_fini(&o);
    }
}

/* --- links and packets ------------------------------------------------------------------------------------------------------- */

enum { M_NAME, M_GROUP, M_FROM, M_TO, M_TRANSPORT, M_SIZE, M_TIME, N_M };

static const ps_column MATRIX[N_M] = {
    [M_NAME] = {.name = "hccl_op_name", .type = PS_COL_TEXT},
    [M_GROUP] = {.name = "group_name", .type = PS_COL_TEXT},
    [M_FROM] = {.name = "src_rank", .type = PS_COL_TEXT}, /* as real databases have it */
    [M_TO] = {.name = "dst_rank", .type = PS_COL_TEXT},
    [M_TRANSPORT] = {.name = "transport_type", .type = PS_COL_TEXT},
    [M_SIZE] = {.name = "transit_size", .type = PS_COL_REAL},
    [M_TIME] = {.name = "transit_time", .type = PS_COL_REAL}};

/* Five links that carry 100 MB, in 1 ms each, the last one in `last_ms`. */
static ps_table *matrix_of(const char *group, double last_ms) {
    ps_table *t = ps_table_new("CommAnalyzerMatrix", "", MATRIX, N_M);
    assert_non_null(t);
    for (int to = 1; to <= 5; to++) {
        assert_true(ps_table_add_row(t));
        assert_true(ps_table_set_text(t, M_NAME, "allreduce-total"));
        assert_true(ps_table_set_text(t, M_GROUP, group));
        char place[2] = {(char)('0' + to), '\0'};
        assert_true(ps_table_set_text(t, M_FROM, "0"));
        assert_true(ps_table_set_text(t, M_TO, place));
        assert_true(ps_table_set_text(t, M_TRANSPORT, "HCCS"));
        ps_table_set_real(t, M_SIZE, 100);
        ps_table_set_real(t, M_TIME, to == 5 ? last_ms : 1);
    }
    return t;
}

static ps_table *matrix(double last_ms) {
    return matrix_of("123", last_ms);
}

/* 50 GB/s where the others have 100: at their speed its 2 ms would be 1 ms. At 1.2 ms it has 83 %. */
static void slow_link(void **state) {
    (void)state;
    static const double LAST[] = {2, 1.2};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = rig_begin(4000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, 1000);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 1000, 4000, 0);
        ps_builder_side_table(r.b, matrix(LAST[i]));
        ps_builder_meta(
            r.b, "parallel_group_info",
            "{\"123\": {\"group_name\": \"dp\", \"global_ranks\": [0, 1, 2, 3, 4, 7]}}");
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_SLOW_LINK), i == 0);
        if (i == 0) {
            assert_int_equal(report_gain(&o, PS_RULE_SLOW_LINK), 1000 * US);
            assert_non_null(
                strstr(report_text(&o, PS_RULE_SLOW_LINK), "HCCS from rank 0 to rank 7"));
        }
        report_fini(&o);
    }
}

/* Two steps, of which the matrix tells one: the 1 ms is of a step. Where the collectives of the group are in transit for 0.8 ms in both
 * steps together, 0.4 ms of a step is all that can be won. */
static void slow_link_of_one_step(void **state) {
    (void)state;
    static const ps_column TIMES[] = {{.name = "hccl_op_name", .type = PS_COL_TEXT},
                                      {.name = "group_name", .type = PS_COL_TEXT},
                                      {.name = "transit_time", .type = PS_COL_REAL}};
    for (int has_times = 0; has_times < 2; has_times++) {
        report_run o;
        rig r = rig_begin(4000);
        ps_builder_step(r.b, 2, REPORT_EPOCH_NS + 4000 * US, REPORT_EPOCH_NS + 8000 * US);
        for (int64_t from = 0; from <= 4000; from += 4000) {
            (void)rig_kernel(&r, "Add", NULL, from, from + 10, from + 1000);
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", from + 1000, from + 4000, 0);
        }
        ps_builder_side_table(r.b, matrix(2));
        if (has_times) {
            ps_table *t = ps_table_new("CommAnalyzerTime", "", TIMES, 3);
            assert_non_null(t);
            assert_true(ps_table_add_row(t));
            assert_true(ps_table_set_text(t, 0, "hcom_allReduce__1_0_1"));
            assert_true(ps_table_set_text(t, 1, "123"));
            ps_table_set_real(t, 2, 0.8);
            ps_builder_side_table(r.b, t);
        }
        ps_builder_meta(
            r.b, "parallel_group_info",
            "{\"123\": {\"group_name\": \"dp\", \"global_ranks\": [0, 1, 2, 3, 4, 7]}}");
        report_one(&o, &r);
        assert_int_equal(report_gain(&o, PS_RULE_SLOW_LINK), (has_times ? 400 : 1000) * US);
        report_fini(&o);
    }
}

/* Rank 0 tells of a slow link from it to rank 7; the collectives of rank 1 are the longest ones. In the communicator of the link they
 * cross it, and both findings say so; in another one they have nothing to do with it, nor count the same time. */
static void slow_links_and_slow_collectives(void **state) {
    (void)state;
    for (int crossing = 0; crossing < 2; crossing++) {
        char key[PS_COMM_KEY_SIZE];
        char info[160];
        ps_trace *traces[2];
        report_run o;
        ps_comm_key(crossing ? "world" : "another", key, sizeof key);
        (void)snprintf(info, sizeof info,
                       "{\"%s\": {\"group_name\": \"dp\", \"global_ranks\": [0, 2, 3, 4, 5, 7]}}",
                       key);
        for (int i = 0; i < 2; i++) {
            rig r = rig_begin(4000);
            (void)rig_kernel(&r, "Add", NULL, 0, 10, 1000);
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", i == 0 ? 2000 : 1000, 4000, 0);
            if (i == 0) {
                ps_builder_side_table(r.b, matrix_of(key, 2));
                ps_builder_meta(r.b, "parallel_group_info", info);
            }
            traces[i] = rig_seal(&r);
        }
        report_over(&o, traces, 2, NULL, NULL);
        const char *slow =
            strstr(report_text(&o, PS_RULE_COMM_EXPOSED),
                   "A link of its communicators is slow, from rank 0 to rank 7 (finding");
        const char *crossed =
            strstr(report_text(&o, PS_RULE_SLOW_LINK), "The collectives of finding");
        assert_int_equal(slow != NULL, crossing);
        assert_int_equal(crossed != NULL, crossing);
        const ps_table *t = report_table(&o, "findings");
        size_t rows[2] = {report_row(&o, PS_RULE_COMM_EXPOSED), report_row(&o, PS_RULE_SLOW_LINK)};
        size_t later = rows[0] > rows[1] ? 0 : 1;
        const ps_value *with = ps_table_cell(t, rows[later], ps_table_column(t, "shared with"));
        bool shares = !with->is_null && atoi(with->u.text) == (int)rows[1 - later] + 1;
        assert_int_equal(shares, crossing);
        report_fini(&o);
    }
}

enum { B_NAME, B_TRANSPORT, B_PACKAGE, B_COUNT, B_TIME, B_TOTAL, B_SIZE, N_B };

static const ps_column BANDWIDTH[N_B] = {
    [B_NAME] = {.name = "hccl_op_name", .type = PS_COL_TEXT},
    [B_TRANSPORT] = {.name = "transport_type", .type = PS_COL_TEXT},
    [B_PACKAGE] = {.name = "package_size", .type = PS_COL_REAL},
    [B_COUNT] = {.name = "count", .type = PS_COL_INT},
    [B_TIME] = {.name = "transit_time", .type = PS_COL_REAL},
    [B_TOTAL] = {.name = "total_duration", .type = PS_COL_REAL},
    [B_SIZE] = {.name = "transit_size", .type = PS_COL_REAL}};

static void report_packet(report_run *o, const char *transport, double package_mb, double time_ms) {
    ps_table *t = ps_table_new("CommAnalyzerBandwidth", "", BANDWIDTH, N_B);
    assert_non_null(t);
    assert_true(ps_table_add_row(t));
    assert_true(ps_table_set_text(t, B_NAME, "hcom_allReduce__1_0_1"));
    assert_true(ps_table_set_text(t, B_TRANSPORT, transport));
    ps_table_set_real(t, B_PACKAGE, package_mb);
    ps_table_set_int(t, B_COUNT, 3);
    ps_table_set_real(t, B_TIME, time_ms);
    rig r = with_gap(450);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 410, 440, 0);
    ps_builder_side_table(r.b, t);
    report_one(o, &r);
}

/* 3 packets of 10 MB beside 3 of 30 MB, which go at 30 GB/s. Small ones that are as fast lose nothing by their size. */
static void small_packets_at_full_speed(void **state) {
    (void)state;
    for (int is_slow = 0; is_slow < 2; is_slow++) {
        report_run o;
        ps_table *t = ps_table_new("CommAnalyzerBandwidth", "", BANDWIDTH, N_B);
        assert_non_null(t);
        for (int is_large = 0; is_large < 2; is_large++) {
            assert_true(ps_table_add_row(t));
            assert_true(ps_table_set_text(t, B_NAME, "hcom_allReduce__1_0_1"));
            assert_true(ps_table_set_text(t, B_TRANSPORT, "HCCS"));
            ps_table_set_real(t, B_PACKAGE, is_large ? 30 : 10);
            ps_table_set_int(t, B_COUNT, 3);
            ps_table_set_real(t, B_TOTAL, is_large ? 3 : is_slow ? 2 : 1.05);
        }
        rig r = with_gap(450);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 410, 440, 0);
        ps_builder_side_table(r.b, t);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_SMALL_PACKETS), is_slow);
        if (is_slow) {
            assert_non_null(strstr(report_text(&o, PS_RULE_SMALL_PACKETS),
                                   "They go at 15 GB/s, larger ones at 30 GB/s."));
        }
        report_fini(&o);
    }
}

/* Of 2, 8 and 30 MB those of 8 are the slowest: small ones are slower, but not by their size alone, so the rates of sizes stand there. */
static void rates_that_do_not_rise_with_size(void **state) {
    (void)state;
    static const struct { double mb, ms; } ROWS[] = {{3, 0.2}, {10, 1}, {30, 2}};
    report_run o;
    ps_table *t = ps_table_new("CommAnalyzerBandwidth", "", BANDWIDTH, N_B);
    assert_non_null(t);
    for (size_t i = 0; i < sizeof ROWS / sizeof *ROWS; i++) {
        assert_true(ps_table_add_row(t));
        assert_true(ps_table_set_text(t, B_NAME, "hcom_allReduce__1_0_1"));
        assert_true(ps_table_set_text(t, B_TRANSPORT, "HCCS"));
        ps_table_set_real(t, B_PACKAGE, ROWS[i].mb);
        ps_table_set_int(t, B_COUNT, 1);
        ps_table_set_real(t, B_TOTAL, ROWS[i].ms);
    }
    rig r = with_gap(450);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 410, 440, 0);
    ps_builder_side_table(r.b, t);
    report_one(&o, &r);
    const char *text = report_text(&o, PS_RULE_SMALL_PACKETS);
    assert_non_null(strstr(
        text,
        "The rate does not rise from each size to the next: 15 GB/s from 2 to 4 MB, 10 GB/s from 8 "
        "to 16 MB, 15 GB/s from 16 to 32 MB."));
    assert_null(strstr(text, "larger ones at"));
    report_fini(&o);
}

/* An operator over SDMA in a step of 1000 us, beside the matrix product of 2 to 400 or behind it. */
static void sdma_beside_products(void **state) {
    (void)state;
    static const struct {
        const char *transport;
        double mb; /* in 1 ms */
        int64_t start;
        bool fires;
    } CASES[] = {{"SDMA", 10, 300, true},
                 {"SDMA", 15, 300, false}, /* fast enough */
                 {"SDMA", 10, 410, false}, /* alone */
                 {"RDMA", 10, 300, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        ps_table *t = ps_table_new("CommAnalyzerBandwidth", "", BANDWIDTH, N_B);
        assert_non_null(t);
        assert_true(ps_table_add_row(t));
        assert_true(ps_table_set_text(t, B_NAME, "hcom_allReduce__1_0_1@7"));
        assert_true(ps_table_set_text(t, B_TRANSPORT, CASES[i].transport));
        ps_table_set_real(t, B_TIME, 1);
        ps_table_set_real(t, B_SIZE, CASES[i].mb);
        rig r = with_gap(450);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", CASES[i].start, CASES[i].start + 20, 0);
        ps_builder_side_table(r.b, t);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_SDMA_CONTENTION), CASES[i].fires);
        if (CASES[i].fires) {
            assert_non_null(
                strstr(report_text(&o, PS_RULE_SDMA_CONTENTION),
                       "1 operator over SDMA stays below 14.4 GB/s while matrix products "
                       "run: 20.0 us in a step, for 20.0 us of it beside them"));
        }
        report_fini(&o);
    }
}

static void packets(void **state) {
    (void)state;
    static const struct {
        const char *transport;
        double package_mb, time_ms;
        bool small, again;
    } CASES[] = {{"SDMA", 15, 1, true, false},
                 {"SDMA", 17, 9000, false, false},
                 {"RDMA", 0.5, 1, true, false},
                 {"RDMA", 2, 5000, false, true},
                 {"LOCAL", 1, 1, false, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        report_packet(&o, CASES[i].transport, CASES[i].package_mb, CASES[i].time_ms);
        assert_int_equal(report_fired(&o, PS_RULE_SMALL_PACKETS), CASES[i].small);
        assert_int_equal(report_fired(&o, PS_RULE_RETRANSMISSION), CASES[i].again);
        if (CASES[i].again) {
            assert_int_equal(report_gain(&o, PS_RULE_RETRANSMISSION), 1000 * US); /* the step */
        }
        report_fini(&o);
    }
}

/* 4 * 250064 = 1000256 = 512 * 1953.625; 4 * 250112 = 512 * 1954. */
static void byte_alignment(void **state) {
    (void)state;
    static const int64_t ELEMENTS[] = {250064, 250112};
    for (size_t i = 0; i < 2; i++) {
        report_run o;
        rig r = with_gap(600);
        for (int64_t k = 0; k < 5; k++) { /* fewer do not tell what of their time is transit */
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", 450 + 20 * k, 470 + 20 * k, ELEMENTS[i]);
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_BYTE_ALIGNMENT), i == 0);
        report_fini(&o);
    }
}

/* --- all of it --------------------------------------------------------------------------------------------------------------- */

/* Thresholds of the user count, and are shown. */
static void thresholds(void **state) {
    (void)state;
    double limits[PS_N_RULES];
    ps_thresholds_default(limits);
    limits[PS_RULE_FREE_SHARE] = 25;
    report_run o;
    rig r = with_gap(600);
    ps_trace *t = rig_seal(&r);
    ps_analysis_opts opts = {.step_id = -1, .thresholds = limits};
    report_over(&o, &t, 1, &opts, NULL);
    assert_false(report_fired(&o, PS_RULE_FREE_SHARE));
    report_fini(&o);
    char text[256];
    ps_rule_text(PS_ENGLISH, ps_rule_of(PS_RULE_FREE_SHARE), 25, text, sizeof text);
    assert_non_null(strstr(text, "more than 25 % of the step"));
}

/* Evidence: the gap from 400 to 600, of which the host's part ends at 596, counted from the first event of the capture (at 0), and absolutely. */
static void evidence_can_be_looked_up(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap(600);
    report_one(&o, &r);
    const ps_table *t = report_table(&o, "evidence");
    assert_true(t->n_rows > 0);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "rank"))->u.i, 0);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "step"))->u.i, 1);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "from start"))->u.i, 400 * US);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "at"))->u.i,
                     REPORT_EPOCH_NS + 400 * US);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "duration"))->u.i, 196 * US);
    assert_string_equal(ps_table_cell(t, 0, ps_table_column(t, "name"))->u.text, "idle before Add");
    report_fini(&o);
}

/* The page of the command lists every rule as it is. */
static void documented(void **state) {
    (void)state;
    FILE *page = fopen("docs/commands/report.md", "r");
    assert_non_null(page);
    double limits[PS_N_RULES];
    bool seen[PS_N_RULES] = {false};
    char line[1024];
    ps_thresholds_default(limits);
    while (fgets(line, sizeof line, page) != NULL) {
        for (size_t i = 0; i < PS_N_RULES; i++) {
            const ps_rule *rule = ps_rule_of((ps_rule_id)i);
            char value[32];
            char text[512];
            char want[1024];
            ps_rule_value_text(PS_ENGLISH, rule, limits[i], value, sizeof value);
            ps_rule_text(PS_ENGLISH, rule, limits[i], text, sizeof text);
            (void)snprintf(want, sizeof want, "| `%s` | %s | %s |\n", rule->name, value, text);
            seen[i] = seen[i] || strcmp(line, want) == 0;
        }
    }
    (void)fclose(page);
    for (size_t i = 0; i < PS_N_RULES; i++) {
        if (!seen[i]) {
            fail_msg("docs/commands/report.md lacks the row of %s",
                     ps_rule_of((ps_rule_id)i)->name);
        }
    }
}

/* A trace of the host alone has nothing to report. */
static void host_alone(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::add", 0, 10);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    assert_int_equal(o.code, PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "collect their activities"));
    report_fini(&o);
}

/* Slices as long as a trace can hold, many of each kind: sums stop at the ends of 64 bits, nobody trips. */
static void times_at_the_limits(void **state) {
    (void)state;
    static const int64_t MOST = INT64_C(1) << 60;
    report_run o;
    ps_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        rig r = rig_begin(1000);
        for (int i = 0; i < 24; i++) {
            static const char *const NAMES[] = {"kernel", "hcom_allReduce__1_0_1", "aten::item",
                                                "Python GC"};
            static const ps_slice_kind KINDS[] = {PS_SLICE_KERNEL, PS_SLICE_COMM_OP,
                                                  PS_SLICE_HOST_OP, PS_SLICE_HOST_OTHER};
            const uint32_t tracks[] = {r.stream, r.group, r.host, r.host};
            int k = i % 4;
            int64_t start = i < 4 * rank ? MOST - i : -MOST + i;
            uint32_t row = ps_builder_slice(r.b, KINDS[k], tracks[k],
                                            ps_builder_str(r.b, NAMES[k], strlen(NAMES[k])), start,
                                            i % 8 < 4 ? MOST : start + 1, i);
            assert_true(row != PS_NONE);
        }
        ps_builder_step(r.b, 2, -MOST, MOST);
        rig_counter(&r, "AI Core Freq", 0, 1800);
        traces[rank] = rig_seal(&r);
    }
    report_over(&o, traces, 2, NULL, NULL);
    assert_int_equal(o.code, PS_OK);
    report_fini(&o);
}

static ps_trace *busy_trace(int rank) {
    rig r = with_gap(600);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 450 + 20 * rank, 550, 250064);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 300, 590);
    rig_counter(&r, "AI Core Freq", 0, 1800);
    rig_counter(&r, "AI Core Freq", 700, 800);
    ps_builder_meta(r.b, "ENV_VARIABLES", "{\"TASK_QUEUE_ENABLE\": \"1\"}");
    ps_builder_side_table(r.b, matrix(2));
    return rig_seal(&r);
}

/* Every allocation of map and reduce fails once: out of memory is said, nothing leaks. */
static void out_of_memory(void **state) {
    (void)state;
    const ps_analysis *analysis = ps_analysis_find("report");
    ps_trace *traces[2] = {busy_trace(0), busy_trace(1)};
    ps_analysis_opts opts = {.step_id = -1};
    ps_rank_info infos[2] = {{.rank = 0, .profiler = "Ascend"}, {.rank = 1, .profiler = "Ascend"}};
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_diag diag = {0};
        ps_diag *diags[2] = {&diag, &diag};
        void *partials[2] = {NULL, NULL};
        ps_result result = {0};
        ps_err err = PS_ERR_INIT;
        ps_code code = PS_OK;
        (void)ps_alloc_fail_at(n);
        for (size_t r = 0; code == PS_OK && r < 2; r++) {
            ps_map_input in = {.trace = traces[r], .rank = &infos[r], .opts = &opts, .diag = &diag};
            code = ps_round_map(&analysis->rounds[0], &in, &partials[r], &err);
        }
        ps_reduce_input in = {.ranks = infos,
                              .partials = partials,
                              .diags = diags,
                              .n_ranks = 2,
                              .opts = &opts,
                              .result = &result};
        void *shared = NULL;
        code = code == PS_OK ? analysis->rounds[1].reduce(&in, &shared, &err) : code;
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        analysis->free_partial(partials[0]);
        analysis->free_partial(partials[1]);
        ps_result_fini(&result);
    }
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_share),
        cmocka_unit_test(queued_is_not_the_hosts),
        cmocka_unit_test(host_times_are_not_judged),
        cmocka_unit_test(between_steps_is_not_free),
        cmocka_unit_test(before_first_work),
        cmocka_unit_test(short_calls_are_not_named),
        cmocka_unit_test(free_in_the_bubble_is_not_the_hosts),
        cmocka_unit_test(launch_delay),
        cmocka_unit_test(queued_kernels_start_soon_too),
        cmocka_unit_test(blocking),
        cmocka_unit_test(blocking_is_counted_once),
        cmocka_unit_test(host_waits_for_communication),
        cmocka_unit_test(pauses),
        cmocka_unit_test(environment),
        cmocka_unit_test(other_things),
        cmocka_unit_test(later_gaps),
        cmocka_unit_test(copies_alone),
        cmocka_unit_test(variables),
        cmocka_unit_test(warm_up_is_no_fault),
        cmocka_unit_test(frequencies),
        cmocka_unit_test(top_kernel),
        cmocka_unit_test(types_over_all_shapes),
        cmocka_unit_test(conversions),
        cmocka_unit_test(low_mfu),
        cmocka_unit_test(low_mfu_of_attention),
        cmocka_unit_test(mfu_over_100),
        cmocka_unit_test(record_against_shapes),
        cmocka_unit_test(floats_are_not_judged),
        cmocka_unit_test(kernel_varies_without_shapes),
        cmocka_unit_test(types_of_text_captures),
        cmocka_unit_test(kernel_varies),
        cmocka_unit_test(kernels_of_two_sizes),
        cmocka_unit_test(aicpu),
        cmocka_unit_test(slow_ranks),
        cmocka_unit_test(comm_exposed),
        cmocka_unit_test(receives_are_the_pipelines),
        cmocka_unit_test(comm_over_compute),
        cmocka_unit_test(comm_outlier),
        cmocka_unit_test(late_arrival),
        cmocka_unit_test(slow_link),
        cmocka_unit_test(slow_link_of_one_step),
        cmocka_unit_test(slow_links_and_slow_collectives),
        cmocka_unit_test(sdma_beside_products),
        cmocka_unit_test(packets),
        cmocka_unit_test(small_packets_at_full_speed),
        cmocka_unit_test(rates_that_do_not_rise_with_size),
        cmocka_unit_test(byte_alignment),
        cmocka_unit_test(thresholds),
        cmocka_unit_test(evidence_can_be_looked_up),
        cmocka_unit_test(documented),
        cmocka_unit_test(host_alone),
        cmocka_unit_test(times_at_the_limits),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

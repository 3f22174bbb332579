/* Gaps of a device and what they waited for, by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/rank/dispatch.h"
#include "base/alloc.h"

enum { US = 1000 };

typedef struct maker {
    ps_builder *b;
    uint32_t host, other, stream;
} maker;

static maker begin(void) {
    maker m = {.b = ps_builder_new()};
    assert_non_null(m.b);
    m.host =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 1, .device = -1});
    m.other =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 2, .device = -1});
    m.stream = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2, .device = 0});
    return m;
}

/* Times in us. */
static uint32_t add(maker *m, ps_slice_kind kind, uint32_t track, const char *name, int64_t start,
                    int64_t end) {
    return ps_builder_slice(m->b, kind, track, ps_builder_str(m->b, name, strlen(name)), start * US,
                            end * US, 0);
}

/* A kernel, the call of 2 us that launched it, and the operator of 10 us that ends 1 us before the call. */
static void launch(maker *m, int64_t call, int64_t start, int64_t end) {
    uint32_t kernel = add(m, PS_SLICE_KERNEL, m->stream, "k", start, end);
    uint32_t from = add(m, PS_SLICE_CALL, m->other, "launch", call, call + 2);
    uint32_t op = add(m, PS_SLICE_HOST_OP, m->host, "aten::mm", call - 11, call - 1);
    ps_builder_flow(m->b, from, kernel);
    ps_builder_flow(m->b, op, kernel);
}

typedef struct measured {
    ps_trace *trace;
    ps_links links;
    ps_overlaps overlaps;
    ps_dispatch d;
} measured;

static void measure(measured *x, maker *m, int64_t step, size_t n_worst) {
    x->trace = ps_builder_seal(m->b, NULL);
    assert_non_null(x->trace);
    assert_int_equal(ps_links_init(&x->links, x->trace, NULL), PS_OK);
    assert_int_equal(ps_overlaps_measure(&x->links, step, false, &x->overlaps, NULL), PS_OK);
    assert_int_equal(ps_dispatch_measure(&x->links, &x->overlaps, step, n_worst, &x->d, NULL),
                     PS_OK);
}

static void finish(measured *x) {
    ps_dispatch_fini(&x->d);
    ps_overlaps_fini(&x->overlaps);
    ps_links_fini(&x->links);
    ps_trace_free(x->trace);
}

static int64_t total_us(const ps_dispatch *d, ps_gap_cause cause) {
    return ps_gap_sum_of(d->sums[cause]).total_ns / US;
}

/*  gap         length  cause
 *  0 - 100        100  edge: the step begins at 0
 *  200 - 210       10  queued: launched at 120, before the gap
 *  300 - 500      200  framework until 492, when it was launched, then queued; operator and call as close as before
 *  600 - 900      300  launch until 892, then queued: the operator ended at 650, its call began at 890
 *  1000 - 1400    400  other tasks: copies of 250
 *  1500 - 2000    500  receive: a range of the host receives from 1500 to 1900
 *  2100 - 2150     50  unknown: nobody launched what follows
 *  2200 - 3000    800  edge: the step ends at 3000 */
static void each_gap_has_its_cause(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 4, 0, 3000 * US);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "the origin of times", 0, 3000);
    launch(&m, 20, 100, 200);
    launch(&m, 120, 210, 300);
    launch(&m, 490, 500, 600);
    uint32_t late = add(&m, PS_SLICE_KERNEL, m.stream, "k", 900, 1000);
    ps_builder_flow(m.b, add(&m, PS_SLICE_HOST_OP, m.host, "aten::mm", 640, 650), late);
    ps_builder_flow(m.b, add(&m, PS_SLICE_CALL, m.other, "launch", 890, 892), late);
    launch(&m, 1390, 1400, 1500);
    (void)add(&m, PS_SLICE_COPY, m.stream, "MEMCPY_ASYNC", 1010, 1160);
    (void)add(&m, PS_SLICE_COPY, m.stream, "MEMCPY_ASYNC", 1200, 1300);
    launch(&m, 1990, 2000, 2100);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "recv_forward", 1500, 1900);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 2150, 2200);
    (void)add(&m, PS_SLICE_CALL, m.other, "aclrtSynchronizeStream", 310, 470);
    measured x;
    measure(&x, &m, -1, 3);
    assert_int_equal(total_us(&x.d, PS_GAP_EDGE), 900);
    assert_int_equal(total_us(&x.d, PS_GAP_QUEUED), 10 + 8 + 8);
    assert_int_equal(total_us(&x.d, PS_GAP_FRAMEWORK), 192);
    assert_int_equal(total_us(&x.d, PS_GAP_LAUNCH), 292);
    assert_int_equal(total_us(&x.d, PS_GAP_TASKS), 400);
    assert_int_equal(total_us(&x.d, PS_GAP_RECEIVE), 500);
    assert_int_equal(total_us(&x.d, PS_GAP_UNKNOWN), 50);
    assert_int_equal(x.d.sums[PS_GAP_QUEUED][0].n, 1);  /* under 20 us */
    assert_int_equal(x.d.sums[PS_GAP_UNKNOWN][2].n, 1); /* 50 is no longer under 50 */
    assert_int_equal(x.d.n_worst, 3);
    assert_int_equal(x.d.worst[0].cause, PS_GAP_EDGE);
    assert_int_equal(x.d.worst[0].start_ns, 2200 * US);
    assert_int_equal(x.d.worst[1].cause, PS_GAP_RECEIVE);
    assert_int_equal(x.d.worst[2].cause, PS_GAP_TASKS);
    assert_int_equal(x.d.n_steps, 1);
    assert_int_equal(x.d.steps[0].step_ns, 3000 * US);
    /* busy 640 of 2100 from first to last: 100 + 90 + 100 + 100 + 100 + 100 + 50 */
    assert_int_equal(x.d.steps[0].busy_ns, 640 * US);
    assert_int_equal(x.d.steps[0].free_ns, 1460 * US);
    assert_true(ps_dispatch_free_share(&x.d) > 0.6952 && ps_dispatch_free_share(&x.d) < 0.6953);
    /* 7 launches; from the end of the call: 78, 88, 8, 8, 8, 8 (the last kernel has none) */
    assert_int_equal(x.d.after_call.n, 6);
    assert_int_equal(x.d.after_call.min_ns, 8 * US);
    assert_int_equal(x.d.after_call.max_ns, 88 * US);
    assert_true(x.d.after_call.median_ns == 8 * US);
    assert_int_equal(x.d.after_start.max_ns, 90 * US);
    finish(&x);
}

/* The gap from 200 to 1000 ends with a kernel that was launched at 300: 100 are the host's, 700 its wait in the queue.
 * The host then stands in a call for 399 of the 800, which is less than half. */
static void a_gap_is_split_at_the_launch(void **state) {
    (void)state;
    maker m = begin();
    launch(&m, 20, 100, 200);
    launch(&m, 298, 1000, 1100);
    (void)add(&m, PS_SLICE_CALL, m.host, "cudaStreamSynchronize", 310, 709);
    measured x;
    measure(&x, &m, -1, 10);
    assert_int_equal(total_us(&x.d, PS_GAP_FRAMEWORK), 100);
    assert_int_equal(total_us(&x.d, PS_GAP_QUEUED), 700);
    assert_int_equal(x.d.n_worst, 1);
    assert_int_equal(x.d.worst[0].cause, PS_GAP_QUEUED);
    assert_int_equal(x.d.worst[0].first_cause, PS_GAP_FRAMEWORK);
    assert_int_equal(x.d.worst[0].first_ns, 100 * US);
    assert_int_equal(x.d.worst[0].blocking, PS_NONE);
    assert_int_equal(ps_gap_sum_of(x.d.sums[PS_GAP_FRAMEWORK]).n, 0);
    assert_int_equal(ps_gap_sum_of(x.d.sums[PS_GAP_QUEUED]).n, 1);
    finish(&x);
}

/* Steps of the host from 0 to 300 and from 300 to 600; the device works for the first at 200 - 300 and 350 - 400, for the
 * second at 900 - 1000 and 1090 - 1100. Between the steps lie 500, which are free time of neither. */
static void gaps_between_steps_are_not_free(void **state) {
    (void)state;
    maker m = begin();
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "the origin of times", 0, 600);
    ps_builder_step(m.b, 1, 0, 300 * US);
    ps_builder_step(m.b, 2, 300 * US, 600 * US);
    launch(&m, 20, 200, 300);
    launch(&m, 50, 350, 400);
    launch(&m, 500, 900, 1000);
    launch(&m, 550, 1090, 1100);
    measured x;
    measure(&x, &m, -1, 10);
    assert_int_equal(x.d.n_steps, 2);
    for (size_t i = 0; i < 2; i++) {
        int64_t sum = 0;
        for (int c = 0; c < PS_N_GAP_CAUSES; c++) {
            sum += ps_gap_sum_of(x.d.steps[i].sums[c]).total_ns;
        }
        assert_int_equal(sum, x.d.steps[i].free_ns);
    }
    assert_int_equal(x.d.steps[0].free_ns, 50 * US);
    assert_int_equal(x.d.steps[1].free_ns, 90 * US);
    /* the device works for the first one until 400, and ends behind the steps: 0 - 400, 400 - 1100 */
    assert_int_equal(x.d.steps[0].step_ns, 400 * US);
    assert_int_equal(x.d.steps[1].step_ns, 700 * US);
    assert_int_equal(total_us(&x.d, PS_GAP_FRAMEWORK), 102); /* 400 - 502 of 400 - 900 */
    finish(&x);
}

static int64_t step_sum(const ps_dispatch_step *step) {
    int64_t sum = 0;
    for (int c = 0; c < PS_N_GAP_CAUSES; c++) {
        sum += ps_gap_sum_of(step->sums[c]).total_ns;
    }
    return sum;
}

/* A device that lags: step 1 works at 150 - 250 and 480 - 500, step 2 at 260 - 400 and 430 - 450, 410 - 420 is work of no
 * step. What one step waits while the device works for another is nobody's gap. */
static void gaps_of_a_deep_queue(void **state) {
    (void)state;
    for (int64_t wanted = -1; wanted < 3; wanted += 3) {
        maker m = begin();
        (void)add(&m, PS_SLICE_ANNOTATION, m.host, "the origin of times", 0, 600);
        ps_builder_step(m.b, 1, 0, 100 * US);
        ps_builder_step(m.b, 2, 100 * US, 200 * US);
        launch(&m, 20, 150, 250);
        launch(&m, 50, 480, 500);
        launch(&m, 120, 260, 400);
        launch(&m, 150, 430, 450);
        launch(&m, 320, 410, 420);
        measured x;
        measure(&x, &m, wanted, 10);
        for (size_t i = 0; i < x.d.n_steps; i++) {
            assert_int_equal(step_sum(&x.d.steps[i]), x.d.steps[i].free_ns);
        }
        assert_int_equal(x.d.n_steps, wanted < 0 ? 2 : 1);
        assert_int_equal(x.d.steps[x.d.n_steps - 1].free_ns, 20 * US);
        assert_true(wanted >= 0 || x.d.steps[0].free_ns == 40 * US);
        finish(&x);
    }
}

/* The call that fills most of a gap is named; the idle times go from end to end. */
static void the_call_that_blocks(void **state) {
    (void)state;
    maker m = begin();
    launch(&m, 20, 100, 200);
    (void)add(&m, PS_SLICE_CALL, m.host, "cudaMalloc", 230, 250);
    (void)add(&m, PS_SLICE_CALL, m.host, "around", 150, 450); /* the innermost that fills half */
    (void)add(&m, PS_SLICE_CALL, m.host, "cudaStreamSynchronize", 150, 440);
    launch(&m, 490, 500, 600);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::item", 700, 730);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::_local_scalar_dense", 705, 725);
    measured x;
    measure(&x, &m, -1, 10);
    assert_int_equal(x.d.n_worst, 1);
    const ps_gap *g = &x.d.worst[0];
    const ps_slices *s = ps_trace_slices(x.trace);
    assert_true(g->blocking != PS_NONE);
    assert_string_equal(ps_trace_text(x.trace, s->name[g->blocking]), "cudaStreamSynchronize");
    assert_int_equal(g->framework_idle_ns, 470 * US);
    assert_int_equal(g->call_idle_ns, 470 * US);
    assert_int_equal(x.d.n_blocking_ops, 1); /* the inner one belongs to the outer one */
    assert_int_equal(x.d.blocking_ops_ns, 30 * US);
    finish(&x);
}

/* Without operators the longest of pause and calls decides. */
static void without_a_framework(void **state) {
    (void)state;
    maker m = begin();
    static const int64_t TIMES[][4] = {/* call, its end, kernel, its end */
                                       {0, 5, 10, 20},
                                       {15, 95, 100, 110},    /* a long call */
                                       {195, 199, 200, 210}}; /* a long pause */
    for (size_t i = 0; i < 3; i++) {
        uint32_t from =
            add(&m, PS_SLICE_CALL, m.host, "cudaLaunchKernel", TIMES[i][0], TIMES[i][1]);
        ps_builder_flow(m.b, from,
                        add(&m, PS_SLICE_KERNEL, m.stream, "k", TIMES[i][2], TIMES[i][3]));
    }
    measured x;
    measure(&x, &m, -1, 10);
    assert_int_equal(total_us(&x.d, PS_GAP_LAUNCH), 75);    /* 20 - 95 */
    assert_int_equal(total_us(&x.d, PS_GAP_FRAMEWORK), 89); /* 110 - 199 */
    assert_int_equal(total_us(&x.d, PS_GAP_QUEUED), 5 + 1);
    finish(&x);
}

/* Gaps end at the work of the wanted step, edges at its window. */
static void one_step_of_two(void **state) {
    (void)state;
    maker m = begin();
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "the origin of times", 0, 3000);
    ps_builder_step(m.b, 1, 0, 1000 * US);
    ps_builder_step(m.b, 2, 1000 * US, 2000 * US);
    launch(&m, 90, 100, 200);
    launch(&m, 290, 300, 900);
    launch(&m, 1090, 1100, 1200);
    launch(&m, 1290, 1300, 1900);
    measured x;
    measure(&x, &m, 2, 10);
    assert_int_equal(x.d.n_steps, 1);
    assert_int_equal(x.d.n_worst, 3); /* 1000-1100, 1200-1300, 1900-2000 */
    assert_int_equal(x.d.worst[0].start_ns, 1000 * US);
    assert_int_equal(x.d.worst[2].end_ns, 2000 * US);
    assert_int_equal(total_us(&x.d, PS_GAP_EDGE), 200);
    finish(&x);
}

/* A thread that launches nothing stands in a Python function of that name all along, and an operator of another one has the
 * word in its name: the gap is the framework's. */
static void a_frame_that_is_called_receive(void **state) {
    (void)state;
    maker m = begin();
    uint32_t third =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 3, .device = -1});
    launch(&m, 20, 100, 200);
    launch(&m, 490, 500, 600);
    (void)add(&m, PS_SLICE_PYTHON, third, "subproc_pool.py(57): _recv_msg", 0, 1000);
    (void)add(&m, PS_SLICE_ANNOTATION, third, "recv_forward", 0, 1000);
    (void)add(&m, PS_SLICE_PYTHON, m.host, "socket.py(57): recv", 200, 480);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "my::receiver", 210, 470);
    measured x;
    measure(&x, &m, -1, 10);
    assert_int_equal(total_us(&x.d, PS_GAP_RECEIVE), 0);
    assert_int_equal(total_us(&x.d, PS_GAP_FRAMEWORK), 292);
    finish(&x);
}

static void only_the_longest_are_kept(void **state) {
    (void)state;
    maker m = begin();
    for (int64_t i = 0; i < 100; i++) { /* gaps of 1, 2, ... us in a mixed order */
        int64_t length = 1 + i * 37 % 100;
        (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", i * 1000, (i + 1) * 1000 - length);
    }
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 100000, 100001);
    measured x;
    measure(&x, &m, -1, 4);
    assert_int_equal(x.d.n_worst, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(x.d.worst[i].end_ns - x.d.worst[i].start_ns, (100 - (int64_t)i) * US);
    }
    assert_int_equal(ps_gap_sum_of(x.d.sums[PS_GAP_UNKNOWN]).n, 100);
    finish(&x);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 4, 0, 3000 * US);
    launch(&m, 20, 100, 200);
    launch(&m, 490, 500, 600);
    (void)add(&m, PS_SLICE_COPY, m.stream, "MEMCPY_ASYNC", 210, 300);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "recv_forward", 1500, 1900);
    measured x;
    measure(&x, &m, -1, 3);
    bool has_failed = true;
    for (int64_t n = 0; has_failed; n++) {
        ps_dispatch d;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_dispatch_measure(&x.links, &x.overlaps, -1, 3, &d, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        ps_dispatch_fini(&d);
        assert_true(n < 100);
    }
    finish(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_gap_has_its_cause),
        cmocka_unit_test(the_call_that_blocks),
        cmocka_unit_test(a_gap_is_split_at_the_launch),
        cmocka_unit_test(gaps_between_steps_are_not_free),
        cmocka_unit_test(gaps_of_a_deep_queue),
        cmocka_unit_test(without_a_framework),
        cmocka_unit_test(one_step_of_two),
        cmocka_unit_test(a_frame_that_is_called_receive),
        cmocka_unit_test(only_the_longest_are_kept),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

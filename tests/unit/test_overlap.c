/* Computing, communication, both, neither: by hand, and against what the profilers themselves wrote. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/rank/overlap.h"
#include "base/alloc.h"
#include "read/readers.h"
#include "support/profile.h"

#define NEEDS (PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS)

static void measure(const ps_trace *t, int64_t step, bool with_spans, ps_overlaps *out) {
    ps_links links;
    assert_int_equal(ps_links_init(&links, t, NULL), PS_OK);
    assert_int_equal(ps_overlaps_measure(&links, step, with_spans, out, NULL), PS_OK);
    ps_links_fini(&links);
}

/* --- by hand ------------------------------------------------------------------------------------------ */

typedef struct maker {
    ps_builder *b;
    uint32_t host, stream, group;
} maker;

static maker begin(void) {
    maker m = {.b = ps_builder_new()};
    assert_non_null(m.b);
    m.host = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .device = -1});
    m.stream = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2, .device = 5});
    m.group = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .device = 5});
    return m;
}

static uint32_t add(maker *m, ps_slice_kind kind, uint32_t track, const char *name, int64_t start,
                    int64_t end) {
    return ps_builder_slice(m->b, kind, track, ps_builder_str(m->b, name, strlen(name)), start, end,
                            0);
}

/* A kernel that a call of one nanosecond at `call` launched. */
static void launch(maker *m, int64_t call, int64_t start, int64_t end) {
    uint32_t from = add(m, PS_SLICE_CALL, m->host, "launch", call, call + 1);
    ps_builder_flow(m->b, from, add(m, PS_SLICE_KERNEL, m->stream, "k", start, end));
}

static ps_trace *seal(maker *m) {
    ps_trace *t = ps_builder_seal(m->b, NULL);
    assert_non_null(t);
    return t;
}

/*   0    10   20   30   40   50   60   70   80
 *   |    CCCCCCCCC |    CCCC      |    |    |       computing 10-30, 40-50 (two kernels overlap)
 *   |    |    MMMMMMMMM |    |    MMMM |    |       communication 20-40, 60-70 (the second a receive)
 *   |  c---c  |    |    |    c-c  |    |    c-c     copies 5-12, 50-55, 80-85: alone 5-10, 50-55, 80-85
 * C = 30, M = 30, M - C = 20, first 10, last 70, busy 50, free 10. */
static void one_step_by_hand(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 7, 0, 100);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "origin", 0, 100);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "a", 10, 25);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "b", 20, 30);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "c", 40, 50);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "empty", 90, 90);
    (void)add(&m, PS_SLICE_COMM_OP, m.group, "hcom_allReduce__1", 20, 40);
    (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "not counted twice", 60, 95);
    (void)add(&m, PS_SLICE_COMM_OP, m.group, "hcom_receive__2", 60, 70);
    (void)add(&m, PS_SLICE_COPY, m.stream, "copy", 5, 12);
    (void)add(&m, PS_SLICE_COPY, m.stream, "copy", 50, 55);
    (void)add(&m, PS_SLICE_COPY, m.stream, "copy", 80, 85);
    (void)add(&m, PS_SLICE_SYNC, m.stream, "wait", 0, 95);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, true, &o);
    assert_int_equal(o.n, 1);
    assert_int_equal(o.at[0].step, 7);
    assert_true(o.at[0].has_step);
    assert_int_equal(o.at[0].device, 5);
    assert_int_equal(o.at[0].first_ns, 10);
    assert_int_equal(o.at[0].last_ns, 70);
    assert_int_equal(o.at[0].computing_ns, 30);
    assert_int_equal(o.at[0].communication_ns, 30);
    assert_int_equal(o.at[0].not_overlapped_ns, 20);
    assert_int_equal(ps_overlap_overlapped_ns(&o.at[0]), 10);
    assert_int_equal(o.at[0].free_ns, 10);
    assert_int_equal(o.at[0].bubble_ns, 10);
    assert_int_equal(ps_overlap_preparing_ns(&o.at[0]), 10);
    assert_int_equal(ps_overlap_stage_ns(&o.at[0]), 30 + 20 + 10 - 10);
    assert_int_equal(o.at[0].memory_ns, 17);
    assert_int_equal(ps_overlap_copies_ns(&o.at[0]), 15);
    assert_int_equal(o.at[0].copies_ns[PS_SHARE_FREE], 5);
    assert_int_equal(o.at[0].before_ns, 10);
    assert_int_equal(o.at[0].after_ns, 30);
    assert_int_equal(ps_overlap_idle_ns(&o.at[0]), 10 + 10 + 30 - 15);
    assert_int_equal(ps_overlap_whole_ns(&o.at[0]), 100);
    assert_int_equal(o.spans[0].busy.n, 2); /* 10-50, 60-70 */
    assert_int_equal(ps_intervals_length_ns(&o.spans[0].computing), 30);
    assert_int_equal(ps_intervals_minus_ns(&o.spans[0].communication, &o.spans[0].computing), 20);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

/* The device runs behind: what step 1 launched is still running when step 2 begins, and belongs to step 1. A call
 * between the steps belongs to none. Work nobody launched goes by the device's clock. */
static void work_belongs_to_the_step_that_launched_it(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 1, 0, 100);
    ps_builder_step(m.b, 2, 110, 200);
    launch(&m, 0, 30, 60);
    launch(&m, 90, 120, 150); /* runs in the window of step 2 */
    launch(&m, 105, 150, 160);
    launch(&m, 120, 160, 180);
    launch(&m, 190, 250, 260); /* beyond the end of all steps */
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 130, 170);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, false, &o);
    assert_null(o.spans);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.at[0].step, 1);
    assert_int_equal(o.at[0].computing_ns, 60);
    assert_int_equal(o.at[0].free_ns, 60);
    assert_int_equal(o.at[1].step, 2);
    assert_int_equal(o.at[1].computing_ns,
                     50 + 10); /* 130-180 with the one nobody launched, 250-260 */
    assert_int_equal(ps_overlap_preparing_ns(&o.at[1]), 0);
    ps_overlaps_fini(&o);
    measure(t, 2, false, &o);
    assert_int_equal(o.n, 1);
    assert_int_equal(o.at[0].step, 2);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

/* No steps, two devices; NCCL kernels, of which those that received are told by the operator that called. */
static void devices_and_receiving_kernels(void **state) {
    (void)state;
    maker m = begin();
    uint32_t second =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 3, .device = 2});
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 0, 10);
    uint32_t op = add(&m, PS_SLICE_HOST_OP, m.host, "c10d::recv_", 0, 1);
    ps_builder_flow(m.b, op,
                    add(&m, PS_SLICE_COMM_KERNEL, second, "ncclDevKernel_SendRecv(x)", 5, 9));
    (void)add(&m, PS_SLICE_COMM_KERNEL, second, "ncclDevKernel_SendRecv(x)", 10, 20);
    (void)add(&m, PS_SLICE_COMM_OP, m.host, "recv seen by the host", 0, 90);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, false, &o);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.at[0].device, 2);
    assert_false(o.at[0].has_step);
    assert_int_equal(o.at[0].step, 0);
    assert_int_equal(o.at[0].communication_ns, 14);
    assert_int_equal(o.at[0].free_ns, 1);
    assert_int_equal(o.at[0].bubble_ns, 4);
    assert_int_equal(o.at[1].device, 5);
    assert_int_equal(o.at[1].computing_ns, 10);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

static void jobs_where_there_are_no_kernels(void **state) {
    (void)state;
    maker m = begin();
    (void)add(&m, PS_SLICE_JOB, m.stream, "recv_forward", 0, 10);
    (void)add(&m, PS_SLICE_JOB, m.stream, "forward", 8, 20);
    (void)add(&m, PS_SLICE_JOB, m.stream, "send_forward", 25, 30);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, false, &o);
    assert_int_equal(o.n, 1);
    assert_int_equal(o.at[0].computing_ns, 12);
    assert_int_equal(o.at[0].communication_ns, 15);
    assert_int_equal(o.at[0].not_overlapped_ns, 13);
    assert_int_equal(o.at[0].bubble_ns, 10);
    assert_int_equal(o.at[0].free_ns, 5);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

/* Steps of the host of 100 each, and a device that lags: step 1 works 150-250 and, on a second stream, 480-500; step 2
 * 260-400 and 430-450; a kernel that belongs to no step runs 410-420. The device is idle 0-150, 250-260, 400-410, 420-430
 * and 450-480. Step 2 began last: 400-410 and 420-430 are its own, and so is 250-260, which lies in step 1, of which work is
 * still to come, and ends with the first work of step 2: it is free of step 1, as 450-480 is. */
static void a_deep_queue(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 1, 0, 100);
    ps_builder_step(m.b, 2, 100, 200);
    launch(&m, 10, 150, 250);
    launch(&m, 20, 480, 500);
    launch(&m, 110, 260, 400);
    launch(&m, 120, 430, 450);
    launch(&m, 300, 410, 420);
    (void)add(&m, PS_SLICE_COPY, m.stream, "copy", 402, 405);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, true, &o);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.at[0].before_ns, 150);
    assert_int_equal(o.at[0].free_ns, 10 + 30);
    assert_int_equal(o.at[0].after_ns, 0);
    assert_int_equal(ps_overlap_preparing_ns(&o.at[1]), 0);
    assert_int_equal(o.at[1].free_ns, 10 + 10);
    assert_int_equal(o.at[1].copies_ns[PS_SHARE_FREE], 3);
    assert_int_equal(ps_overlap_idle_ns(&o.at[0]) + ps_overlap_idle_ns(&o.at[1]),
                     150 + 10 + 10 + 10 + 30 - 3);
    for (size_t i = 0; i < o.n; i++) {
        assert_int_equal(ps_intervals_length_ns(&o.spans[i].free), o.at[i].free_ns);
        assert_int_equal(ps_intervals_length_ns(&o.spans[i].before), o.at[i].before_ns);
        assert_int_equal(ps_intervals_length_ns(&o.spans[i].copies),
                         ps_overlap_copies_ns(&o.at[i]));
    }
    ps_overlap second = o.at[1];
    ps_overlaps_fini(&o);
    measure(t, 2, false, &o); /* what others do counts where one step is asked for, too */
    assert_int_equal(o.n, 1);
    assert_memory_equal(&o.at[0], &second, sizeof second);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

/* Windows that touch, with idle time around their border: before the next step from its window on, after the other one
 * until its own ends. Between the windows 100-120 it is nobody's. */
static void ends_of_steps(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 1, 0, 100);
    ps_builder_step(m.b, 2, 120, 200);
    launch(&m, 0, 10, 80);
    launch(&m, 130, 150, 190);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, false, &o);
    assert_int_equal(o.at[0].before_ns, 10);
    assert_int_equal(o.at[0].after_ns, 20);
    assert_int_equal(o.at[1].before_ns, 30);
    assert_int_equal(o.at[1].after_ns, 10);
    assert_int_equal(ps_overlap_whole_ns(&o.at[0]), 100);
    assert_int_equal(ps_overlap_whole_ns(&o.at[1]), 80);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

/* Work of step 0 before and behind that of all others: each gap between these is its Free, found without a walk over those
 * that ended before. */
static void a_step_around_many(void **state) {
    (void)state;
    enum { N = 3000 };
    maker m = begin();
    for (int64_t i = 0; i <= N; i++) {
        ps_builder_step(m.b, i, i * 100, i * 100 + 100);
        launch(&m, i * 100, i * 100 + 10, i * 100 + 70);
    }
    launch(&m, 50, N * 100 + 90, N * 100 + 95);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, false, &o);
    assert_int_equal(o.n, N + 1);
    assert_int_equal(o.at[0].free_ns, N * 40 + 20);
    for (size_t i = 1; i < o.n; i++) {
        assert_int_equal(o.at[i].free_ns + o.at[i].before_ns + o.at[i].after_ns, 0);
    }
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

/* Two receives under a kernel, at the same time: nothing of communication is alone. */
static void receives_under_computing(void **state) {
    (void)state;
    maker m = begin();
    uint32_t other = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .device = 5});
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 0, 100);
    (void)add(&m, PS_SLICE_COMM_OP, m.group, "hcom_receive__1", 10, 90);
    (void)add(&m, PS_SLICE_COMM_OP, other, "hcom_receive__2", 10, 90);
    ps_trace *t = seal(&m);
    ps_overlaps o;
    measure(t, -1, false, &o);
    assert_int_equal(o.at[0].bubble_ns, 160);
    assert_int_equal(o.at[0].not_overlapped_ns, 0);
    assert_int_equal(o.at[0].exclude_receive_ns, 0);
    assert_int_equal(ps_overlap_stage_ns(&o.at[0]), 0);
    ps_overlaps_fini(&o);
    ps_trace_free(t);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 1, 0, 100);
    launch(&m, 0, 30, 60);
    launch(&m, 50, 70, 80);
    (void)add(&m, PS_SLICE_COMM_OP, m.group, "hcom_receive__2", 60, 70);
    ps_trace *t = seal(&m);
    ps_links links;
    assert_int_equal(ps_links_init(&links, t, NULL), PS_OK);
    bool has_failed = true;
    for (int64_t n = 0; has_failed; n++) {
        ps_overlaps o;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_overlaps_measure(&links, -1, true, &o, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        assert_int_equal(o.n, code == PS_OK ? 1 : 0);
        ps_overlaps_fini(&o);
        assert_true(n < 100);
    }
    ps_links_fini(&links);
    ps_trace_free(t);
}

/* --- what the profilers wrote ------------------------------------------------------------------------- */

static const char *shared_path(const char *name) {
    static char path[TEST_PATH];
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    int n = snprintf(path, sizeof path, "%s/%s", shared != NULL ? shared : "../shared/data", name);
    if (n >= TEST_PATH || access(path, R_OK) != 0) {
        print_message("needs ../shared/data/%s\n", name);
        skip();
    }
    return path;
}

static void measure_file(const char *name, ps_overlaps *out) {
    ps_src src = {.path = shared_path(name)};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, NEEDS, &err);
    if (t == NULL) {
        fail_msg("%s: %s", name, err.msg);
    }
    measure(t, -1, false, out);
    ps_trace_free(t);
}

/* Columns of StepTraceTime behind the step, in ns: numbers of us with three digits. */
static void expect_us(const char *name, const ps_overlap *o, const double us[9],
                      double tolerance_ns) {
    const int64_t ns[9] = {o->computing_ns,
                           o->not_overlapped_ns,
                           ps_overlap_overlapped_ns(o),
                           o->communication_ns,
                           o->free_ns,
                           ps_overlap_stage_ns(o),
                           o->bubble_ns,
                           o->exclude_receive_ns,
                           ps_overlap_preparing_ns(o)};
    for (int c = 0; c < 9; c++) {
        double off = (double)ns[c] - us[c] * 1000;
        if (off > tolerance_ns || off < -tolerance_ns) {
            fail_msg("%s: step %lld, column %d: %lld ns, expected %.3f us", name,
                     (long long)o->step, c, (long long)ns[c], us[c]);
        }
    }
}

static void expect_step_trace_time(const char *dir, const char *db) {
    char path[TEST_PATH];
    char analysis[TEST_PATH];
    (void)snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/%s", dir, db);
    ps_overlaps o;
    measure_file(path, &o);
    (void)snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/analysis.db", dir);
    (void)snprintf(analysis, sizeof analysis, "%s", shared_path(path));
    sqlite3 *handle = NULL;
    sqlite3_stmt *q = NULL;
    assert_int_equal(sqlite3_open_v2(analysis, &handle, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    assert_int_equal(
        sqlite3_prepare_v2(handle,
                           "SELECT step, computing, communication_not_overlapped, overlapped,"
                           " communication, free, stage, bubble,"
                           " communication_not_overlapped_and_exclude_receive, preparing"
                           " FROM StepTraceTime ORDER BY CAST(step AS INTEGER)",
                           -1, &q, NULL),
        SQLITE_OK);
    size_t n = 0;
    for (; sqlite3_step(q) == SQLITE_ROW; n++) {
        double us[9];
        for (int c = 0; c < 9; c++) {
            us[c] = sqlite3_column_double(q, c + 1);
        }
        assert_true(n < o.n);
        assert_int_equal(o.at[n].step, sqlite3_column_int64(q, 0));
        expect_us(dir, &o.at[n], us, 0.01);
    }
    assert_int_equal(n, o.n);
    assert_true(n > 0);
    assert_int_equal(sqlite3_finalize(q), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    ps_overlaps_fini(&o);
}

static void as_the_collector_at_level0(void **state) {
    (void)state;
    expect_step_trace_time("ascend/db/level0/rank0_ascend_pt", "ascend_pytorch_profiler_0.db");
    expect_step_trace_time("ascend/db/level0/rank1_ascend_pt", "ascend_pytorch_profiler_1.db");
}

static void as_the_collector_at_level1(void **state) {
    (void)state;
    expect_step_trace_time("ascend/db/level1/rank0_ascend_pt", "ascend_pytorch_profiler_0.db");
    expect_step_trace_time("ascend/db/level1/rank1_ascend_pt", "ascend_pytorch_profiler_1.db");
}

static void as_the_collector_in_a_cluster_of_two_stages(void **state) {
    (void)state;
    for (int rank = 0; rank < 8; rank++) {
        char dir[TEST_PATH / 2];
        char db[TEST_PATH / 4];
        (void)snprintf(dir, sizeof dir, "cluster/pp2_dp4/input/rank%d_ascend_pt", rank);
        (void)snprintf(db, sizeof db, "ascend_pytorch_profiler_%d.db", rank);
        expect_step_trace_time(dir, db);
    }
}

/* To the printed precision: the thousandths of a us. Of the table, stage and preparing went through doubles of an epoch time,
 * which are in quarters of a us; stage is the sum of its parts here. */
static void as_the_text_files_of_the_collector(void **state) {
    (void)state;
    for (int rank = 0; rank < 2; rank++) {
        char dir[TEST_PATH / 2];
        char path[TEST_PATH];
        char line[1024];
        (void)snprintf(dir, sizeof dir, "ascend/text/level1/rank%d_ascend_pt/%s", rank,
                       "ASCEND_PROFILER_OUTPUT");
        (void)snprintf(path, sizeof path, "%s/step_trace_time.csv", dir);
        FILE *f = fopen(shared_path(path), "r");
        assert_non_null(f);
        assert_non_null(fgets(line, sizeof line, f));
        assert_non_null(fgets(line, sizeof line, f));
        assert_int_equal(fclose(f), 0);
        double us[9];
        char *at = line;
        assert_int_equal(strtoll(at, &at, 10), 50);
        for (int c = 0; c < 9; c++) {
            assert_int_equal(*at, ',');
            us[c] = strtod(at + 1, &at);
        }
        (void)snprintf(path, sizeof path, "%s/trace_view.json", dir);
        ps_overlaps o;
        measure_file(path, &o);
        assert_int_equal(o.n, 1);
        double preparing_off_us = us[8] - (double)ps_overlap_preparing_ns(&o.at[0]) / 1000;
        double stage_off_us = us[5] - (double)ps_overlap_stage_ns(&o.at[0]) / 1000;
        assert_true(stage_off_us < 0.51 && stage_off_us > -0.51);
        assert_true(preparing_off_us < 0.51 && preparing_off_us > -0.51);
        us[5] = us[0] + us[1] + us[4];
        us[8] -= preparing_off_us;
        expect_us(dir, &o.at[0], us, 0.5);
        ps_overlaps_fini(&o);
    }
}

/* --- the work of the device alone --------------------------------------------------------------------- */

static void measure_with(const char *path, uint32_t needs, ps_overlaps *out) {
    ps_src src = {.path = path};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, needs, &err);
    if (t == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    measure(t, -1, false, out);
    ps_trace_free(t);
}

/* All that step time asks for is the same whether everything was read or only the work. */
static void expect_same_by_spans(const char *path) {
    ps_overlaps all;
    ps_overlaps lean;
    measure_with(path, NEEDS, &all);
    measure_with(path, PS_NEED_META | PS_NEED_STEPS | PS_NEED_DEVICE_SPANS, &lean);
    assert_int_equal(all.n, lean.n);
    assert_true(all.n > 0);
    for (size_t i = 0; i < all.n; i++) {
        const ps_overlap *x = &all.at[i];
        const ps_overlap *y = &lean.at[i];
        assert_int_equal(x->step, y->step);
        assert_int_equal(x->device, y->device);
        assert_int_equal(x->computing_ns, y->computing_ns);
        assert_int_equal(x->communication_ns, y->communication_ns);
        assert_int_equal(x->not_overlapped_ns, y->not_overlapped_ns);
        assert_int_equal(x->free_ns, y->free_ns);
        assert_int_equal(x->bubble_ns, y->bubble_ns);
        assert_int_equal(ps_overlap_preparing_ns(x), ps_overlap_preparing_ns(y));
    }
    ps_overlaps_fini(&all);
    ps_overlaps_fini(&lean);
}

static void spans_of_the_samples(void **state) {
    (void)state;
    expect_same_by_spans(shared_path("ascend/db/level0/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                                     "ascend_pytorch_profiler_0.db"));
    expect_same_by_spans(shared_path("ascend/db/level1/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                                     "ascend_pytorch_profiler_1.db"));
    expect_same_by_spans(shared_path("cluster/pp2_dp4/input/rank4_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                                     "ascend_pytorch_profiler_4.db"));
}

/* A database with steps 1 (1000-2000) and 2 (2000-3000) and kernels (launch, start, end):
 *
 *   100  1100 1200   launched before the steps             left out, though it runs in step 1
 *   1100 1300 1400                                         step 1
 *   1900 2100 2200   runs when step 2 has begun            step 1
 *   2005 2300 2400   its operator began at 1990            step 1
 *   2100 2500 2600                                         step 2
 *   none 2700 2800   nobody launched it                    step 2, by its own time
 *   3100 3200 3300   launched behind the steps             left out
 *   1995 2400 2450   touches the one of step 1             step 1
 *   2150 2600 2650   touches that of step 2                step 2
 *   1950 2650 2660   touches that of step 2                step 1
 *   and a communication operator 1950 2250 2350            step 1 */
static void make_lagging(profile *p, const place *where) {
    profile_begin(p, where, 0);
    profile_step(p, 1, 1000, 2000);
    profile_step(p, 2, 2000, 3000);
    static const int ROWS[][3] = {{100, 1100, 1200},  {1100, 1300, 1400}, {1900, 2100, 2200},
                                  {2005, 2300, 2400}, {1995, 2400, 2450}, {2100, 2500, 2600},
                                  {2150, 2600, 2650}, {1950, 2650, 2660}, {-1, 2700, 2800},
                                  {3100, 3200, 3300}};
    profile_sql(p,
                "CREATE TABLE IF NOT EXISTS TASK(startNs INTEGER, endNs INTEGER, deviceId INTEGER,"
                " connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER,"
                " contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);"
                "CREATE TABLE IF NOT EXISTS CANN_API(startNs INTEGER, endNs INTEGER, type INTEGER,"
                " globalTid INTEGER, connectionId INTEGER, name INTEGER);"
                "CREATE TABLE COMPUTE_TASK_INFO(name INTEGER, globalTaskId INTEGER);"
                "CREATE TABLE COMMUNICATION_OP(opName INTEGER, startNs INTEGER, endNs INTEGER,"
                " connectionId INTEGER, groupName INTEGER, opId INTEGER);"
                "CREATE TABLE PYTORCH_API(startNs TEXT, endNs TEXT, globalTid INTEGER,"
                " connectionId INTEGER, name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER,"
                " inputDtypes INTEGER, inputShapes INTEGER, callchainId INTEGER, type INTEGER);"
                "CREATE TABLE CONNECTION_IDS(id INTEGER, connectionId INTEGER)");
    long long name = (long long)profile_string(p, "k");
    for (int i = 0; i < (int)(sizeof ROWS / sizeof *ROWS); i++) {
        profile_sql(p,
                    "INSERT INTO TASK VALUES (%d,%d,0,%d,%d,1,%lld,0,2,%d,0);"
                    "INSERT INTO COMPUTE_TASK_INFO VALUES (%lld, %d)",
                    ROWS[i][1], ROWS[i][2], 10 + i, i, name, i, name, i);
        if (ROWS[i][0] >= 0) {
            profile_sql(p, "INSERT INTO CANN_API VALUES (%d,%d,0,1,%d,%lld)", ROWS[i][0],
                        ROWS[i][0] + 1, 10 + i, name);
        }
    }
    profile_sql(p,
                "INSERT INTO PYTORCH_API VALUES ('1990','2004',5,77,%lld,NULL,NULL,NULL,NULL,NULL,"
                "NULL); INSERT INTO CONNECTION_IDS VALUES (77, 13);"
                "INSERT INTO CANN_API VALUES (1950,1951,0,1,30,%lld);"
                "INSERT INTO COMMUNICATION_OP VALUES (%lld,2250,2350,30,%lld,1)",
                name, name, (long long)profile_string(p, "hcom_receive__1"),
                (long long)profile_string(p, "group"));
    profile_close(p);
}

static void spans_know_the_step_of_their_launch(void **state) {
    profile p;
    make_lagging(&p, *state);
    ps_overlaps o;
    measure_with(p.path, PS_NEED_STEPS | PS_NEED_DEVICE_SPANS, &o);
    assert_int_equal(o.n, 2);
    assert_int_equal(o.at[0].computing_ns, 300 + 50 + 10);
    assert_int_equal(o.at[0].communication_ns, 100);
    assert_int_equal(o.at[0].not_overlapped_ns, 50);
    assert_int_equal(o.at[0].bubble_ns, 100);
    assert_int_equal(ps_overlap_preparing_ns(&o.at[0]), 200); /* other work ran from 1100 to 1200 */
    assert_int_equal(o.at[1].computing_ns, 200 + 50);
    assert_int_equal(o.at[1].free_ns, 40); /* 2650 to 2700, where step 1 works for 10 */
    ps_overlaps_fini(&o);
    expect_same_by_spans(p.path);
}

/* Ids far apart, or steps that overlap: then everything is read, to the same result. */
static void spans_of_an_unusual_file(void **state) {
    profile p;
    make_lagging(&p, *state);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(p.path, &db), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(db,
                     "UPDATE COMPUTE_TASK_INFO SET globalTaskId = globalTaskId + (1 << 40);"
                     "UPDATE TASK SET globalTaskId = globalTaskId + (1 << 40)",
                     NULL, NULL, NULL),
        SQLITE_OK);
    expect_same_by_spans(p.path);
    assert_int_equal(
        sqlite3_exec(db,
                     "UPDATE COMPUTE_TASK_INFO SET globalTaskId = globalTaskId - (1 << 40);"
                     "UPDATE TASK SET globalTaskId = globalTaskId - (1 << 40);"
                     "UPDATE STEP_TIME SET endNs = 2100 WHERE id = 1",
                     NULL, NULL, NULL),
        SQLITE_OK);
    expect_same_by_spans(p.path);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static void reading_spans_without_memory(void **state) {
    profile p;
    make_lagging(&p, *state);
    ps_src src = {.path = p.path, .n_threads = 1};
    ps_trace *t = NULL;
    for (int64_t n = 0; t == NULL; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        t = ps_read(&src, PS_NEED_STEPS | PS_NEED_DEVICE_SPANS, &err);
        (void)ps_alloc_fail_at(-1);
        assert_true(t != NULL || err.code == PS_NOMEM);
        assert_true(n < 2000);
    }
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_step_by_hand),
        cmocka_unit_test(work_belongs_to_the_step_that_launched_it),
        cmocka_unit_test(devices_and_receiving_kernels),
        cmocka_unit_test(jobs_where_there_are_no_kernels),
        cmocka_unit_test(a_deep_queue),
        cmocka_unit_test(ends_of_steps),
        cmocka_unit_test(a_step_around_many),
        cmocka_unit_test(receives_under_computing),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(as_the_collector_at_level0),
        cmocka_unit_test(as_the_collector_at_level1),
        cmocka_unit_test(as_the_collector_in_a_cluster_of_two_stages),
        cmocka_unit_test(as_the_text_files_of_the_collector),
        cmocka_unit_test(spans_of_the_samples),
        IN_PLACE(spans_know_the_step_of_their_launch),
        IN_PLACE(spans_of_an_unusual_file),
        IN_PLACE(reading_spans_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* From logs to the two files: stages, steps and bubbles of pipelines with a known answer; more jobs at a time than there
 * are rows; memory. What users see is tested end to end (tests/e2e/timeline.sh). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "run/paddle_logs.h"
#include "run/paddle_pipeline.h"
#include "support/scratch.h"
#include "write/simulated/paddle_json.h"

#define BASE_MS INT64_C(1701771693000)

enum { MAX_WORKERS = 16 };

typedef struct place {
    char dir[256];
    ps_buf logs[MAX_WORKERS];
} place;

static int set_up(void **state) {
    place *p = calloc(1, sizeof *p);
    scratch_make(p->dir, sizeof p->dir);
    *state = p;
    for (int i = 0; i < MAX_WORKERS; i++) {
        ps_buf_init(&p->logs[i], 0);
    }
    return 0;
}

static int tear_down(void **state) {
    place *p = *state;
    for (int i = 0; i < MAX_WORKERS; i++) {
        ps_buf_fini(&p->logs[i]);
    }
    scratch_remove(p->dir);
    free(p);
    return 0;
}

/* Times in ms from the start of the test. */
static void job(place *p, int worker, const char *type, int mb, int start, int end) {
    ps_buf_addf(&p->logs[worker],
                "Profiler Info: Job (%d), type = %s, micro_batch_id = %d, job_start_time = "
                "%lld.000000, job_end_time = %lld.000000\n",
                mb, type, mb, (long long)(BASE_MS + start), (long long)(BASE_MS + end));
}

static ps_paddle_logs *read_logs(const place *p, ps_err *err) {
    for (int i = 0; i < MAX_WORKERS; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/workerlog.%d", p->dir, i);
        if (p->logs[i].len > 0 && !ps_is_file(path)) {
            assert_int_equal(ps_write_file(path, p->logs[i].data, p->logs[i].len, NULL), PS_OK);
        }
    }
    ps_paddle_logs *l = ps_paddle_logs_find(p->dir, NULL, 0, false, err);
    if (l != NULL) {
        ps_paddle_logs_read(l, 1, NULL, NULL);
    }
    return l;
}

static ps_paddle_logs *make(const place *p, ps_paddle_pipeline *out) {
    ps_paddle_logs *l = read_logs(p, NULL);
    assert_non_null(l);
    assert_int_equal(ps_paddle_pipeline_make(l, out, NULL), PS_OK);
    return l;
}

static void expect_stages(const place *p, const char *want) {
    ps_paddle_pipeline pipeline;
    ps_paddle_logs *l = make(p, &pipeline);
    ps_buf got;
    ps_buf_init(&got, 0);
    for (size_t i = 0; i < pipeline.timeline.n_workers; i++) {
        ps_buf_addf(&got, "%d ", (int)pipeline.timeline.workers[i].stage);
    }
    assert_string_equal(ps_buf_str(&got), want);
    ps_buf_fini(&got);
    ps_paddle_pipeline_fini(&pipeline);
    ps_paddle_logs_free(l);
}

/* 1F1B of two stages and two microbatches with a forward of 10 ms, a backward of 20 ms; the clock of the second stage
 * runs `ahead` ms ahead.
 *
 *   stage 0  F0 F1 .. .. B0 B0 .. B1 B1       0..10..20, 40..60, 70..90
 *   stage 1  .. F0 B0 B0 F1 B1 B1 .. ..       10..20, 20..40, 40..50, 50..70 */
static void add_1f1b(place *p, int first, int second, int start, int ahead) {
    job(p, first, "forward", 0, start, start + 10);
    job(p, first, "forward", 1, start + 10, start + 20);
    job(p, first, "backward", 0, start + 40, start + 60);
    job(p, first, "backward", 1, start + 70, start + 90);
    start += ahead;
    job(p, second, "forward", 0, start + 10, start + 20);
    job(p, second, "backward", 0, start + 20, start + 40);
    job(p, second, "forward", 1, start + 40, start + 50);
    job(p, second, "backward", 1, start + 50, start + 70);
}

static void stages_by_the_warm_up(void **state) {
    place *p = *state;
    for (int step = 0; step < 3; step++) {
        add_1f1b(p, 1, 0, step * 100, 0); /* the second worker is the first stage */
    }
    expect_stages(p, "1 0 ");
}

/* The clock of the second stage is so far off that its forward seems to come first. */
static void stages_in_spite_of_clocks(void **state) {
    place *p = *state;
    add_1f1b(p, 0, 1, 0, -25);
    add_1f1b(p, 0, 1, 100, -25);
    expect_stages(p, "0 1 ");
}

/* Two workers a stage (tensor or data parallel). */
static void stages_of_several_workers(void **state) {
    place *p = *state;
    add_1f1b(p, 0, 2, 0, 0);
    add_1f1b(p, 1, 3, 1, 0);
    expect_stages(p, "0 0 1 1 ");
}

/* All forwards first: only the time tells. */
static void stages_by_the_time(void **state) {
    place *p = *state;
    for (int w = 0; w < 3; w++) {
        for (int mb = 0; mb < 2; mb++) {
            job(p, w, "forward", mb, (2 - w + mb) * 10, (2 - w + mb) * 10 + 9);
        }
        job(p, w, "backward", 0, 60 + w * 20, 80 + w * 20);
        job(p, w, "backward", 1, 80 + w * 20, 100 + w * 20);
    }
    expect_stages(p, "2 1 0 ");
}

static void no_stages_without_a_pipeline(void **state) {
    place *p = *state;
    for (int step = 0; step < 3; step++) {
        job(p, 0, "default", 0, step * 100, step * 100 + 90);
        job(p, 1, "default", 0, step * 100, step * 100 + 90);
    }
    expect_stages(p, "-1 -1 ");
}

/* Both steps last from 0 to 90: stage 0 works 60 of them, stage 1 also 60. */
static void bubbles_of_1f1b(void **state) {
    place *p = *state;
    add_1f1b(p, 0, 1, 0, 0);
    add_1f1b(p, 0, 1, 100, 0);
    ps_paddle_pipeline pipeline;
    ps_paddle_logs *l = make(p, &pipeline);
    const ps_paddle_timeline *t = &pipeline.timeline;
    assert_int_equal(t->n_steps, 2);
    assert_int_equal(t->steps[1].step, 1);
    assert_int_equal(t->steps[1].start_ns, (BASE_MS + 100) * 1000000);
    assert_int_equal(t->steps[1].end_ns, (BASE_MS + 190) * 1000000);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(pipeline.figures[i].window_ns, 180000000);
        assert_int_equal(pipeline.figures[i].idle_ns, 60000000);
        assert_int_equal(pipeline.figures[i].n_steps, 2);
        assert_int_equal(pipeline.figures[i].n_moved, 0);
        assert_int_equal(t->workers[i].n_idle, 4);
    }
    assert_int_equal(t->workers[1].idle[1].start_ns, (BASE_MS + 70) * 1000000);
    assert_int_equal(t->workers[1].idle[1].end_ns, (BASE_MS + 90) * 1000000);
    ps_paddle_pipeline_fini(&pipeline);
    ps_paddle_logs_free(l);
}

/* A step that begins before the one before has ended is cut there; what it was is kept. */
static void steps_that_overlap(void **state) {
    place *p = *state;
    add_1f1b(p, 0, 1, 0, 0);
    add_1f1b(p, 0, 1, 80, 0);
    ps_paddle_pipeline pipeline;
    ps_paddle_logs *l = make(p, &pipeline);
    const ps_paddle_span *second = &pipeline.timeline.steps[1];
    assert_int_equal(second->start_ns, (BASE_MS + 90) * 1000000);
    assert_int_equal(second->true_start_ns, (BASE_MS + 80) * 1000000);
    assert_int_equal(second->true_end_ns, (BASE_MS + 170) * 1000000);
    assert_int_equal(pipeline.figures[0].window_ns, 170000000);
    ps_paddle_pipeline_fini(&pipeline);
    ps_paddle_logs_free(l);
}

/* Twelve jobs, each across the end of the one before: eight rows, and points. */
static void more_at_a_time_than_rows(void **state) {
    place *p = *state;
    for (int i = 0; i < 12; i++) {
        job(p, 0, "forward", i, i, 100 + i);
    }
    ps_paddle_pipeline pipeline;
    ps_paddle_logs *l = make(p, &pipeline);
    const ps_paddle_worker *w = &pipeline.timeline.workers[0];
    assert_int_equal(w->n_lanes, PS_PADDLE_MAX_LANES);
    assert_int_equal(pipeline.figures[0].n_overlaps, 11);
    assert_int_equal(w->lanes[7], 7);
    assert_int_equal(w->lanes[8], PS_PADDLE_POINT | 7);
    char path[512];
    (void)snprintf(path, sizeof path, "%s/out.json", p->dir);
    assert_int_equal(ps_write_paddle_json(&pipeline.timeline, PS_PADDLE_CHROME, path, NULL), PS_OK);
    ps_buf text;
    ps_buf_init(&text, 0);
    assert_int_equal(ps_read_file(path, 1 << 20, &text, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&text),
                           "\"dur\":0,\"pid\":0,\"tid\":\"GPU0 overlap 7\",\"args\":{\"step\":0,"
                           "\"microbatch\":11,\"duration_us\":100000}"));
    ps_buf_fini(&text);
    ps_paddle_pipeline_fini(&pipeline);
    ps_paddle_logs_free(l);
}

static ps_code do_all(const place *p, ps_err *err) {
    char path[512];
    (void)snprintf(path, sizeof path, "%s/out.json", p->dir);
    ps_paddle_logs *l = read_logs(p, err);
    if (l == NULL) {
        return err->code;
    }
    ps_paddle_pipeline pipeline;
    ps_code code = ps_paddle_pipeline_make(l, &pipeline, err);
    for (size_t i = 0; i < l->n; i++) {
        code = l->logs[i].trace == NULL ? l->logs[i].err.code : code;
    }
    if (code == PS_OK) {
        code = ps_write_paddle_json(&pipeline.timeline, PS_PADDLE_PERFETTO, path, err);
    }
    ps_paddle_pipeline_fini(&pipeline);
    ps_paddle_logs_free(l);
    return code;
}

static void no_memory_is_an_error(void **state) {
    place *p = *state;
    ps_err err = PS_ERR_INIT;
    add_1f1b(p, 0, 1, 0, 0);
    add_1f1b(p, 0, 1, 100, 0);
    assert_int_equal(do_all(p, &err), PS_OK);
    for (int64_t n = 0;; n++) {
        (void)ps_alloc_fail_at(n);
        ps_code code = do_all(p, &err);
        if (ps_alloc_fail_at(-1) <= n) {
            assert_int_equal(code, PS_OK);
            assert_true(n > 100);
            return;
        }
        assert_int_equal(code, PS_NOMEM);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(stages_by_the_warm_up),        TEST(stages_in_spite_of_clocks),
        TEST(stages_of_several_workers),    TEST(stages_by_the_time),
        TEST(no_stages_without_a_pipeline), TEST(bubbles_of_1f1b),
        TEST(steps_that_overlap),           TEST(more_at_a_time_than_rows),
        TEST(no_memory_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Waiting and transmission over ranks, launch delays; and all four modes of step time without memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/core/analysis.h"
#include "analyze/derived/derived.h"
#include "analyze/derived/job_skew.h"
#include "base/alloc.h"
#include "support/profile.h"

enum { US = 1000 };

typedef struct maker {
    ps_builder *b;
    uint32_t host, stream, group;
    ps_str comm;
} maker;

static maker begin(const char *group) {
    maker m = {.b = ps_builder_new()};
    assert_non_null(m.b);
    ps_str name = ps_builder_str(m.b, group, strlen(group));
    m.host =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 1, .device = -1});
    m.stream = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2, .device = 0});
    m.group =
        ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .device = 0, .name = name});
    return m;
}

static uint32_t add(maker *m, ps_slice_kind kind, uint32_t track, const char *name, int64_t start,
                    int64_t end) {
    return ps_builder_slice(m->b, kind, track, ps_builder_str(m->b, name, strlen(name)), start * US,
                            end * US, 0);
}

/* Launched at `call` in us by a call of 1 us. */
static void launch(maker *m, int64_t call, uint32_t slice) {
    ps_builder_flow(m->b, add(m, PS_SLICE_CALL, m->host, "launch", call, call + 1), slice);
}

static ps_trace *seal(maker *m) {
    ps_trace *t = ps_builder_seal(m->b, NULL);
    assert_non_null(t);
    return t;
}

typedef struct job {
    ps_trace *traces[2];
    ps_rank_info ranks[2];
    ps_diag diags[2];
    ps_diag *pdiags[2];
    void *partials[2];
    ps_analysis_opts opts;
    ps_result result;
} job;

/* Every round of an analysis without needs for a reader: map of each rank, then reduce. */
static ps_code run(job *j, const ps_analysis *a) {
    ps_code code = PS_OK;
    ps_err err = PS_ERR_INIT;
    void *shared = NULL;
    for (size_t r = 0; code == PS_OK && r < 2; r++) {
        ps_map_input in = {
            .trace = j->traces[r], .rank = &j->ranks[r], .opts = &j->opts, .diag = &j->diags[r]};
        code = ps_round_map(&a->rounds[0], &in, &j->partials[r], &err);
    }
    ps_reduce_input in = {.ranks = j->ranks,
                          .partials = j->partials,
                          .diags = j->pdiags,
                          .n_ranks = 2,
                          .opts = &j->opts,
                          .result = &j->result,
                          .job_skew = ps_job_skew_new()};
    code = in.job_skew == NULL ? PS_NOMEM : code;
    code = code == PS_OK ? a->rounds[0].reduce(&in, &shared, &err) : code;
    ps_job_skew_free(in.job_skew);
    for (size_t r = 0; r < 2; r++) {
        a->free_partial(j->partials[r]);
        j->partials[r] = NULL;
    }
    return code;
}

static void job_fini(job *j) {
    ps_result_fini(&j->result);
    ps_trace_free(j->traces[0]);
    ps_trace_free(j->traces[1]);
}

/* One step. Rank 0 and 1 in group "g": reductions 0, 1, 2 on rank 0 and 0, 1 on rank 1, of 10, 30, 5 and 20, 20 us: the third has no
 * counterpart. The first: transmission 10, rank 1 waits 10; the second: 20, rank 0 waits 10. */
static void make_job(job *j) {
    *j = (job){.opts = {.step_id = -1}};
    static const int64_t LENGTHS[2][3] = {{10, 30, 5}, {20, 20, 0}};
    for (int r = 0; r < 2; r++) {
        maker m = begin("g");
        ps_builder_step(m.b, 3, 0, 1000 * US);
        (void)add(&m, PS_SLICE_ANNOTATION, m.host, "origin", 0, 1000);
        launch(&m, 90, add(&m, PS_SLICE_KERNEL, m.stream, "k", 100, 150));
        (void)add(&m, PS_SLICE_COPY, m.stream, "MEMCPY_ASYNC", 50, 70);
        (void)add(&m, PS_SLICE_COPY, m.stream, "MEMCPY_ASYNC", 160, 190);
        for (int64_t i = 0; i < (r == 0 ? 3 : 2); i++) {
            static const char *const NAMES[] = {"reduce_0", "reduce_1", "reduce_2"};
            int64_t start = 200 + 100 * i;
            launch(&m, start - 20 - 10 * i,
                   add(&m, PS_SLICE_COMM_OP, m.group, NAMES[i], start, start + LENGTHS[r][i]));
        }
        j->traces[r] = seal(&m);
        j->ranks[r] = (ps_rank_info){.rank = r, .machine = -1, .profiler = "Ascend", .dir = "."};
        j->pdiags[r] = &j->diags[r];
    }
}

static double real_at(const ps_table *t, size_t row, const char *column) {
    for (size_t c = 0; c < t->n_columns; c++) {
        if (strcmp(t->columns[c].name, column) == 0) {
            const ps_value *v = ps_table_cell(t, row, c);
            return t->columns[c].type == PS_COL_INT ? (double)v->u.i : v->u.r;
        }
    }
    fail_msg("no column %s", column);
    return 0;
}

static void operators_of_one_name_are_one(void **state) {
    (void)state;
    job j;
    make_job(&j);
    assert_int_equal(run(&j, ps_analysis_find("cluster_time_summary")), PS_OK);
    assert_int_equal(j.result.n_tables, 2);
    const ps_table *t = j.result.tables[0];
    assert_string_equal(t->name, "ClusterTimeSummary");
    assert_int_equal(t->n_rows, 2);
    assert_true(real_at(t, 0, "stepTime") == 1000);
    assert_true(real_at(t, 0, "computation") == 50);
    assert_true(real_at(t, 0, "communication") == 45);
    assert_true(real_at(t, 0, "communicationWaitStageTime") == 10);
    assert_true(real_at(t, 0, "communicationTransmitStageTime") == 30);
    assert_true(real_at(t, 1, "communicationWaitStageTime") == 10);
    assert_true(real_at(t, 1, "communicationTransmitStageTime") == 30);
    /* Free of rank 0 is 100-405 without 95 us of work, and of copies 160-190 lies in it, 50-70 before. */
    assert_true(real_at(t, 0, "memory") == 50);
    assert_true(real_at(t, 0, "memoryNotOverlapComputationCommunication") == 50);
    assert_true(real_at(t, 0, "free") == 305 - 95 - 30);
    const ps_table *more = j.result.tables[1];
    assert_true(real_at(more, 0, "matchedOperators") == 2);
    assert_true(real_at(more, 0, "unmatchedOperators") == 1);
    /* delays 10, 20, 30, 40 */
    assert_true(real_at(more, 0, "launchedTasks") == 4);
    assert_true(real_at(more, 0, "taskLaunchDelayAvgTime") == 25);
    assert_true(real_at(more, 0, "taskLaunchDelayP50") == 25);
    job_fini(&j);
}

/* What never ran at the same time on one machine was no transfer of one another: two of three pairs, as a thinned capture leaves them. */
static void what_does_not_overlap_is_not_matched(void **state) {
    (void)state;
    static const int64_t STARTS[2][3] = {{100, 300, 500}, {100, 400, 500}};
    job j;
    make_job(&j);
    for (int r = 0; r < 2; r++) {
        ps_trace_free(j.traces[r]);
        maker m = begin("");
        ps_builder_step(m.b, 3, 0, 1000 * 1000 * US);
        (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 0, 10);
        for (int i = 0; i < 3; i++) {
            (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                      STARTS[r][i] * 1000, (STARTS[r][i] + 50) * 1000);
        }
        j.traces[r] = seal(&m);
        j.ranks[r].machine = 0;
    }
    assert_int_equal(run(&j, ps_analysis_find("cluster_time_summary")), PS_OK);
    for (size_t r = 0; r < 2; r++) {
        assert_true(real_at(j.result.tables[1], r, "matchedOperators") == 2);
        assert_true(real_at(j.result.tables[1], r, "unmatchedOperators") == 1);
        assert_true(real_at(j.result.tables[0], r, "communicationTransmitStageTime") == 100000);
    }
    job_fini(&j);
}

/* The group has a third rank, which is not there: nothing is matched. */
static void groups_that_miss_a_rank_are_left_out(void **state) {
    (void)state;
    job j;
    make_job(&j);
    for (int r = 0; r < 2; r++) {
        ps_trace_free(j.traces[r]);
        maker m = begin("g");
        ps_builder_meta(
            m.b, "parallel_group_info",
            "{\"g\": {\"group_name\": \"dp\", \"group_rank\": 0, \"global_ranks\": [0, 1, 2]}}");
        (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 0, 10);
        (void)add(&m, PS_SLICE_COMM_OP, m.group, "reduce", 20, 30);
        j.traces[r] = seal(&m);
    }
    assert_int_equal(run(&j, ps_analysis_find("cluster_time_summary")), PS_OK);
    assert_true(real_at(j.result.tables[0], 0, "communicationTransmitStageTime") == 0);
    assert_true(real_at(j.result.tables[1], 0, "unmatchedOperators") == 1);
    assert_true(ps_table_cell(j.result.tables[0], 0, 1)->is_null); /* no steps */
    job_fini(&j);
}

static void runs_are_compared_by_order_where_no_step_is_common(void **state) {
    (void)state;
    job base;
    make_job(&base);
    assert_int_equal(run(&base, ps_analysis_find("cluster_time_summary")), PS_OK);
    job j;
    make_job(&j);
    ps_table *steps = base.result.tables[0];
    for (size_t r = 0; r < steps->n_rows; r++) {
        steps->cells[r * steps->n_columns + 1].u.i = 70; /* step 3 here */
        steps->cells[r * steps->n_columns + 2].u.r = 900;
    }
    j.opts.baseline = &base.result;
    assert_int_equal(run(&j, ps_analysis_find("cluster_time_compare_summary")), PS_OK);
    const ps_table *t = j.result.tables[0];
    assert_string_equal(t->name, "ClusterTimeCompareSummary");
    assert_int_equal(t->n_rows, 2);
    assert_int_equal(t->n_columns, 32);
    assert_string_equal(t->columns[3].name, "stepTimeBase");
    assert_true(real_at(t, 1, "step") == 3);
    assert_true(real_at(t, 1, "stepTimeDiff") == 100);
    assert_true(real_at(t, 1, "freeDiff") == 0);
    assert_true(real_at(j.result.tables[1], 0, "meanDiff") == 100);
    job_fini(&j);
    job_fini(&base);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const MODES[] = {"step_trace_time", "cluster_time_summary",
                                        "cluster_time_compare_summary", "free_analysis"};
    job base;
    make_job(&base);
    assert_int_equal(run(&base, ps_analysis_find("cluster_time_summary")), PS_OK);
    for (size_t i = 0; i < sizeof MODES / sizeof *MODES; i++) {
        bool has_failed = true;
        for (int64_t n = 0; has_failed; n++) {
            job j;
            make_job(&j);
            j.opts.baseline = &base.result;
            (void)ps_alloc_fail_at(n);
            ps_code code = run(&j, ps_analysis_find(MODES[i]));
            has_failed = ps_alloc_fail_at(-1) > n;
            if (code != (has_failed ? PS_NOMEM : PS_OK)) {
                fail_msg("%s, allocation %lld: %d", MODES[i], (long long)n, (int)code);
            }
            job_fini(&j);
            assert_true(n < 2000);
        }
    }
    job_fini(&base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_of_one_name_are_one),
        cmocka_unit_test(what_does_not_overlap_is_not_matched),
        cmocka_unit_test(groups_that_miss_a_rank_are_left_out),
        cmocka_unit_test(runs_are_compared_by_order_where_no_step_is_common),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Whether ranks run side by side: simulated pipelines never do, whatever their clocks and labels; replicas always do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/pipeline.h"
#include "analyze/pipeline/side_by_side.h"
#include "base/alloc.h"
#include "schedule/connect.h"
#include "schedule/sim.h"

#define US 1000

static ps_chart *simulated(const char *schedule, int32_t p, int32_t m) {
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
    ps_sim_times times = {.f_ns = 10 * US, .b_ns = 20 * US, .w_ns = 10 * US, .fb_ns = 30 * US};
    ps_err err = PS_ERR_INIT;
    ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find(schedule), &params, &err);
    assert_non_null(plan);
    int64_t *durations = ps_calloc(plan->n_ops, sizeof *durations);
    assert_non_null(durations);
    ps_sim_fill_durations(plan, &times, durations);
    ps_chart *chart = ps_sim_chart(plan, durations, US, 2, 7 * US, &err);
    assert_non_null(chart);
    assert_int_equal(ps_chart_connect(chart, plan, &err), PS_OK);
    ps_free(durations);
    ps_sim_plan_free(plan);
    return chart;
}

/* Machines: all of one, or each rank of its own. */
static void set_machines(ps_chart *chart, bool each, int64_t ahead_ns) {
    for (size_t r = 0; r < chart->n_ranks; r++) {
        chart->ranks[r].machine = each ? (int32_t)r : 0;
    }
    for (size_t i = 0; i < chart->n_ops; i++) {
        chart->ops[i].start_ns += ahead_ns * chart->ops[i].rank;
        chart->ops[i].end_ns += ahead_ns * chart->ops[i].rank;
    }
}

/* As labels are that begin once the op before has ended, and hold the wait for the input. */
static void hold_waits(ps_chart *chart) {
    for (size_t i = 1; i < chart->n_ops; i++) {
        ps_op *op = &chart->ops[i];
        if (op->rank == op[-1].rank && op->step == op[-1].step) {
            op->start_ns = op[-1].end_ns;
        }
    }
}

static ps_side_by_side found_in(const ps_chart *chart) {
    ps_side_by_side out;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_side_by_side_find(chart, &out, &err), PS_OK);
    return out;
}

static void pipelines_are_none(void **state) {
    (void)state;
    static const struct {
        const char *schedule;
        int32_t p, m;
    } JOBS[] = {{"gpipe", 2, 1}, {"gpipe", 4, 8}, {"1f1b", 2, 1},
                {"1f1b", 4, 8},  {"1f1b", 8, 24}, {"zb-h1", 4, 12},
                {"zb-h2", 3, 6}, {"zb-v", 4, 12}, {"dualpipev", 4, 10}};
    static const int64_t AHEAD_US[] = {0, 8, -8, 5000, -5000};
    for (size_t k = 0; k < sizeof JOBS / sizeof *JOBS; k++) {
        for (size_t a = 0; a < 5; a++) {
            for (int held = 0; held < 2; held++) {
                ps_chart *chart = simulated(JOBS[k].schedule, JOBS[k].p, JOBS[k].m);
                if (held != 0) {
                    hold_waits(chart);
                }
                set_machines(chart, AHEAD_US[a] != 0, AHEAD_US[a] * US);
                ps_side_by_side found = found_in(chart);
                assert_true(found.n_ops > 0);
                assert_int_equal(found.n_early, 0);
                assert_false(found.is_so);
                ps_chart_free(chart);
            }
        }
    }
}

/* Every rank does `m` forwards and backwards at the same time, a little later than the rank before it. */
static ps_chart *replicas(uint32_t n, int32_t m) {
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    for (uint32_t r = 0; r < n; r++) {
        assert_true(
            ps_chart_add_rank(chart, (ps_chart_rank){.rank = (int32_t)r, .stage = (int32_t)r}));
        int64_t at_ns = 0;
        for (int32_t i = 0; i < 2 * m; i++) {
            bool is_backward = i >= m;
            int64_t length_ns = (is_backward ? 20 : 10) * US + r * 300;
            assert_true(ps_chart_add_op(chart, (ps_op){.start_ns = at_ns + r * US,
                                                       .end_ns = at_ns + r * US + length_ns,
                                                       .name = "",
                                                       .rank = r,
                                                       .microbatch = -1,
                                                       .microbatch2 = -1,
                                                       .chunk = -1,
                                                       .chunk2 = -1,
                                                       .phase = -1,
                                                       .kind = is_backward ? PS_OP_B : PS_OP_F}));
            at_ns += length_ns;
        }
    }
    return chart;
}

static ps_result report_on(ps_chart *chart, int32_t n_stages) {
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {
        .pp_type = "", .how = "", .n_stages = n_stages, .n_stages_guessed = true, .in_full = true};
    assert_int_equal(ps_pipeline_report(chart, &opts, &result, &notes, &err), PS_OK);
    assert_null(notes.schedule);
    return result;
}

/* The order of their ops fits gpipe; the chart tells neither schedule nor bubble, and keeps no link and no name of it. */
static void replicas_are(void **state) {
    (void)state;
    static const int64_t AHEAD_US[] = {0, 5000, -5000};
    for (uint32_t n = 2; n <= 4; n += 2) {
        for (int32_t m = 1; m <= 4; m += 3) {
            for (size_t a = 0; a < 3; a++) {
                ps_chart *chart = replicas(n, m);
                set_machines(chart, AHEAD_US[a] != 0, AHEAD_US[a] * US);
                ps_result result = report_on(chart, (int32_t)n);
                assert_true(chart->is_side_by_side);
                assert_string_equal(chart->schedule, "");
                assert_string_equal(chart->schedule_how, "");
                assert_int_equal(chart->n_links, 0);
                assert_int_equal(chart->n_bubbles, 0);
                assert_int_equal(chart->ops[0].microbatch, -1);
                size_t n_needs = (size_t)(n - 1) * 2 * (size_t)m;
                char says[64];
                (void)snprintf(says, sizeof says, "%zu of %zu ops", n_needs, n_needs);
                assert_non_null(strstr(chart->unjudged, says));
                assert_non_null(strstr(chart->unjudged, "--pp"));
                assert_non_null(strstr(chart->unreplayed, "no stages of one pipeline"));
                for (size_t i = 0; i < result.n_tables; i++) {
                    assert_string_not_equal(result.tables[i]->name, "PipelineReplay");
                }
                ps_result_fini(&result);
                ps_chart_free(chart);
            }
        }
    }
}

/* Of ranks of unknown machines of which only one needs the other nothing is said: their clocks may differ by as much. Of one machine it is. */
static void one_way_alone(void **state) {
    (void)state;
    for (int known = 0; known < 2; known++) {
        ps_chart *chart = replicas(2, 1);
        for (size_t r = 0; r < 2; r++) {
            chart->ranks[r].machine = known != 0 ? 0 : -1;
        }
        assert_true(ps_chart_add_link(chart, (ps_chart_link){0, 2})); /* forward to forward */
        ps_side_by_side found = found_in(chart);
        assert_int_equal(found.n_ops, 1);
        assert_int_equal(found.is_so, known != 0);
        ps_chart_free(chart);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipelines_are_none),
        cmocka_unit_test(replicas_are),
        cmocka_unit_test(one_way_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

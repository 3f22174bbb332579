/* Which steps of a chart are compared with one another: what lies outside of all is none, and the usual ones are the measure of the
 * others. 1F1B, p = 2, F = 10 us, B = 20 us: a step of m microbatches takes 30 (m + 1) us, each stage is busy 30 m of it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/measured_plan.h"
#include "analyze/pipeline/recognise.h"
#include "analyze/whatif/chart_steps.h"
#include "analyze/whatif/whatif_causes.h"
#include "base/alloc.h"
#include "schedule/connect.h"
#include "schedule/sim.h"

#define US 1000

static ps_sim_plan *plan_of(int32_t m) {
    const ps_schedule_params params = {.n_stages = 2, .n_microbatches = m};
    ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find("1f1b"), &params, NULL);
    assert_non_null(plan);
    return plan;
}

/* Steps 1, 2, ... of 1F1B with m microbatches. */
static ps_chart *simulate_steps(int32_t m, int64_t n_steps) {
    const ps_sim_times times = {.f_ns = 10 * US, .b_ns = 20 * US};
    ps_sim_plan *plan = plan_of(m);
    int64_t *durations = ps_calloc(plan->n_ops, sizeof *durations);
    assert_non_null(durations);
    ps_sim_fill_durations(plan, &times, durations);
    ps_chart *chart = ps_sim_chart(plan, durations, 0, n_steps, 7 * US, NULL);
    assert_non_null(chart);
    ps_free(durations);
    ps_sim_plan_free(plan);
    chart->n_links = 0;
    assert_true(ps_chart_set_text(chart, "", "1f1b"));
    return chart;
}

static void move_steps(ps_chart *chart, int64_t from, int64_t to) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        chart->ops[i].step = chart->ops[i].step >= from ? to : chart->ops[i].step;
    }
}

static ps_bubble_report measure(ps_chart *chart) {
    ps_bubble_report r;
    assert_int_equal(ps_bubble_measure(chart, NULL, &r, NULL), PS_OK);
    return r;
}

/* Of the schedule recognised from kinds alone. */
static int32_t microbatches_recognised(const ps_chart *chart) {
    ps_recognised r;
    assert_int_equal(ps_recognise(chart, "1f1b", 2, 0, &r, NULL), PS_OK);
    assert_non_null(r.schedule);
    return r.params.n_microbatches;
}

static void connect(ps_chart *chart, int32_t m) {
    ps_sim_plan *plan = plan_of(m);
    assert_int_equal(ps_chart_connect(chart, plan, NULL), PS_OK);
    ps_sim_plan_free(plan);
}

/* --- outside of all steps ----------------------------------------------------------------------------------------- */

/* Four iterations, of which the first is a step: m = 4, 150 us, bubble 30 of 150. */
static void outside_of_steps_is_no_step(void **state) {
    (void)state;
    ps_chart *chart = simulate_steps(4, 4);
    move_steps(chart, 2, PS_FIRST_STEP);
    assert_int_equal(microbatches_recognised(chart), 4);
    connect(chart, 4);
    ps_bubble_report r = measure(chart);
    assert_int_equal(r.n_steps, 1);
    assert_int_equal(r.steps[0].step, 1);
    assert_int_equal(r.steps[0].step_ns, 150 * US);
    assert_int_equal(r.stages[0].bubble_ns, 30 * US);
    for (size_t i = 0; i < chart->n_bubbles; i++) {
        assert_int_equal(chart->bubbles[i].step, 1);
    }
    ps_job_steps js;
    assert_int_equal(ps_chart_steps_make(chart, &js, NULL), PS_OK);
    assert_int_equal(js.n_steps, 1);
    assert_int_equal(js.n_left_out, 0);
    assert_int_equal(js.steps[0].step, 1);
    ps_job_steps_fini(&js);
    const int32_t logical[] = {0, 1};
    const ps_model_places places = {logical, 2, 1, 2};
    ps_sim_plan *own = ps_measured_plan(chart, &places, NULL);
    assert_non_null(own);
    assert_int_equal(own->n_ops, 16);
    ps_sim_plan_free(own);
    ps_bubble_report_fini(&r);
    ps_chart_free(chart);
}

/* One iteration and no step is all there is, and its step has no number. */
static void nothing_but_outside_has_no_number(void **state) {
    (void)state;
    ps_chart *chart = simulate_steps(4, 1);
    move_steps(chart, 1, PS_FIRST_STEP);
    ps_bubble_report r = measure(chart);
    assert_int_equal(r.n_steps, 1);
    assert_int_equal(r.stages[0].bubble_ns, 30 * US);
    ps_table *tables[] = {ps_bubble_stage_table(chart, &r), ps_bubble_wait_table(chart, &r),
                          ps_bubble_step_table(chart, &r)};
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(tables[i]);
        assert_true(ps_table_cell(tables[i], 0, ps_table_column(tables[i], "step"))->is_null);
        ps_table_free(tables[i]);
    }
    ps_bubble_report_fini(&r);
    ps_chart_free(chart);
}

/* --- steps of several kinds --------------------------------------------------------------------------------------- */

static void add_ops_of(ps_chart *to, const ps_chart *from, uint32_t rank, int64_t steps_later,
                       int64_t ns_later) {
    for (size_t i = 0; i < from->n_ops; i++) {
        ps_op op = from->ops[i];
        op.step += steps_later;
        op.start_ns += ns_later;
        op.end_ns += ns_later;
        assert_true(op.rank != rank || ps_chart_add_op(to, op));
    }
}

/* A batch that grows: three steps of m = 4, of 150 us each, one of m = 8, of 270 us. */
static ps_chart *make_ramp(void) {
    ps_chart *small = simulate_steps(4, 3);
    ps_chart *large = simulate_steps(8, 1);
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    for (uint32_t r = 0; r < 2; r++) {
        assert_true(ps_chart_add_rank(c, small->ranks[r]));
        add_ops_of(c, small, r, 0, 0);
        add_ops_of(c, large, r, 3, 1000 * US);
    }
    assert_true(ps_chart_set_text(c, "", "1f1b"));
    ps_chart_free(small);
    ps_chart_free(large);
    return c;
}

/* The one of the larger batch has 8 ops more on each of two ranks; the three that are alike lack nothing. */
static void one_fuller_step_is_not_the_measure(void **state) {
    (void)state;
    ps_chart *c = make_ramp();
    assert_int_equal(microbatches_recognised(c), 4);
    assert_int_equal(ps_chart_usual_step(c), 1);
    connect(c, 4);
    ps_bubble_report r = measure(c);
    assert_int_equal(r.n_steps, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(r.steps[i].n_fewer, 0);
        assert_int_equal(r.steps[i].n_more, i < 3 ? 0 : 16);
    }
    int64_t mean_ns = 0;
    assert_int_equal(ps_bubble_longest_pipeline(&r, &mean_ns), 0);
    assert_int_equal(mean_ns, 150 * US);
    for (size_t i = 0; i < r.n_stages;
         i++) { /* the plan of 4 links half of the last step: of the rest nobody knows */
        assert_true(r.stages[i].step == 4 || r.stages[i].stall_absent_ns == 0);
        assert_true(r.stages[i].step != 4 || r.stages[i].stall_other_ns == 0);
    }
    for (size_t i = 0; i < c->n_figures; i++) {
        assert_false(c->figures[i].is_part);
    }
    r.ideal_percent = 20;
    ps_table *t = ps_bubble_step_table(c, &r);
    assert_non_null(t);
    assert_float_equal(ps_table_cell(t, 0, ps_table_column(t, "ideal"))->u.r, 20, 1e-9);
    assert_true(ps_table_cell(t, 3, ps_table_column(t, "ideal"))->is_null);
    ps_table_free(t);
    ps_job_steps js;
    assert_int_equal(ps_chart_steps_make(c, &js, NULL), PS_OK);
    assert_int_equal(js.n_steps, 3);
    assert_int_equal(js.n_left_out, 1);
    assert_string_equal(js.why_left_out, "step 4: rank 0 has 16 ops, in most steps 8");
    ps_job_steps_fini(&js);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* Rank 0 has lost the marks of 3 forwards and 2 backwards in each of three steps: 11 of 16. */
static void what_is_lost_in_every_step_is_missed(void **state) {
    (void)state;
    ps_chart *c = simulate_steps(8, 3);
    size_t n = 0;
    for (size_t i = 0; i < c->n_ops; i++) {
        const ps_op *op = &c->ops[i];
        bool is_lost = op->rank == 0 && ((op->kind == PS_OP_F && op->microbatch < 3) ||
                                         (op->kind == PS_OP_B && op->microbatch > 5));
        if (!is_lost) {
            c->ops[n++] = *op;
        }
    }
    c->n_ops = n;
    connect(c, 8);
    ps_job_steps js;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_steps_make(c, &js, &err), PS_NOTHING);
    assert_string_equal(err.msg, "no step is whole: step 1: rank 0 has 11 ops, by its schedule and "
                                 "other ranks 16");
    ps_job_steps_fini(&js);
    ps_chart_free(c);
}

/* --- who waits for whom ------------------------------------------------------------------------------------------- */

/* Sends and receives that are paired do not say which pass needs which. */
static void transfers_alone_link_no_passes(void **state) {
    (void)state;
    ps_chart *c = simulate_steps(4, 1);
    ps_op op = c->ops[c->n_ops - 1];
    op.kind = PS_OP_SEND;
    assert_true(ps_chart_add_op(c, op));
    op.kind = PS_OP_RECV;
    assert_true(ps_chart_add_op(c, op));
    assert_true(
        ps_chart_add_link(c, (ps_chart_link){(uint32_t)c->n_ops - 2, (uint32_t)c->n_ops - 1}));
    ps_job_steps js;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_steps_make(c, &js, &err), PS_NOTHING);
    assert_string_equal(
        err.msg,
        "the chart does not say which op waits for which: its schedule was not recognised");
    ps_job_steps_fini(&js);
    ps_chart_free(c);
}

/* Where much was done in no op the host is not judged by what passes between ops. */
static void unknown_work_is_no_host(void **state) {
    (void)state;
    ps_chart *c = simulate_steps(4, 2);
    connect(c, 4);
    for (size_t i = 0; i < c->n_ops;
         i++) { /* step 2 is 500 us late in all but the first of its ops */
        int64_t late_ns = c->ops[i].step == 2 && c->ops[i].microbatch > 0 ? 500 * US : 0;
        c->ops[i].start_ns += late_ns;
        c->ops[i].end_ns += late_ns;
    }
    for (int unjudged = 0; unjudged < 2; unjudged++) {
        assert_true(ps_chart_set_unjudged(c, unjudged ? "No bubble is told." : ""));
        ps_job_steps js;
        ps_whatif w;
        ps_whatif_cause causes[PS_N_WHATIF_CAUSES];
        assert_int_equal(ps_chart_steps_make(c, &js, NULL), PS_OK);
        assert_int_equal(ps_whatif_measure(&js, &w, NULL), PS_OK);
        ps_whatif_judge(&w, NULL, causes);
        bool is_host = false;
        for (size_t i = 0; i < PS_N_WHATIF_CAUSES; i++) {
            is_host = is_host || (causes[i].holds && strcmp(causes[i].name, "host") == 0);
        }
        assert_int_equal(is_host, unjudged == 0);
        ps_whatif_fini(&w);
        ps_job_steps_fini(&js);
    }
    ps_chart_free(c);
}

/* Which causes hold of the steps of the chart, "a b"; js->clocks_apart in `apart`. */
static void causes_of(const ps_chart *chart, char out[200], char apart[400]) {
    ps_job_steps js;
    ps_whatif w;
    ps_whatif_cause causes[PS_N_WHATIF_CAUSES];
    assert_int_equal(ps_chart_steps_make(chart, &js, NULL), PS_OK);
    assert_int_equal(ps_whatif_measure(&js, &w, NULL), PS_OK);
    ps_whatif_judge(&w, NULL, causes);
    out[0] = '\0';
    for (size_t i = 0; i < PS_N_WHATIF_CAUSES; i++) {
        if (causes[i].holds) {
            (void)strncat(out, causes[i].name, 40);
            (void)strncat(out, " ", 2);
        }
    }
    memcpy(apart, js.clocks_apart, sizeof js.clocks_apart);
    ps_whatif_fini(&w);
    ps_job_steps_fini(&js);
}

/* What a transfer from the stage takes in the steps; all take the same. */
static int64_t transfer_ns(const ps_chart *chart, int32_t stage) {
    ps_job_steps js;
    int64_t ns = -1;
    assert_int_equal(ps_chart_steps_make(chart, &js, NULL), PS_OK);
    for (uint32_t i = 0; i < ps_job_step_n_ops(&js.steps[0]); i++) {
        const ps_job_op *op = &js.steps[0].ops[i];
        if (ps_worker_op_is_transfer((ps_worker_op)op->kind) &&
            js.workers[op->worker].stage == stage) {
            assert_true(ns == -1 || ns == js.steps[0].duration_ns[i]);
            ns = js.steps[0].duration_ns[i];
        }
    }
    ps_job_steps_fini(&js);
    return ns;
}

static void move_rank(ps_chart *chart, uint32_t rank, int64_t start_ns, int64_t end_ns) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        chart->ops[i].start_ns += chart->ops[i].rank == rank ? start_ns : 0;
        chart->ops[i].end_ns += chart->ops[i].rank == rank ? end_ns : 0;
    }
}

/* m = 4, nothing passes between the stages. The clock of stage 1 is 8 us behind: of the forwards of a step F0 (10 us), F2 (70) and F3 (100)
 * are waited for there, and begin at 2, 62 and 92 by its clock: -8 us. Its backwards B0 and B3 are waited for on stage 0, 8 us after their
 * ends by its clock. Both ways together take 0. Were the clock right and a result 8 us on its way back, all ways would be as they are. */
static void clocks_make_no_slow_link(void **state) {
    (void)state;
    char causes[200];
    char apart[400];
    ps_chart *c = simulate_steps(4, 2);
    connect(c, 4);
    causes_of(c, causes, apart);
    assert_string_equal(apart, "");
    move_rank(c, 1, -8 * US, -8 * US);
    assert_int_equal(transfer_ns(c, 0), 0);
    assert_int_equal(transfer_ns(c, 1), 0);
    causes_of(c, causes, apart);
    assert_null(strstr(causes, "links"));
    assert_null(strstr(causes, "host"));
    assert_string_equal(
        apart,
        "the clocks of stage 0 of replica 0 (rank 0) and of stage 1 of replica 0 (rank 1) are 8.00 us "
        "or more apart: 6 of 8 results are used on the second before they are there on the first; "
        "each way is taken as half of both");
    ps_chart_free(c);
}

/* Ops of both stages begin 5 us before what they wait for is there: no clock does that. */
static void waiting_in_ops_is_no_clock(void **state) {
    (void)state;
    char causes[200];
    char apart[400];
    ps_chart *c = simulate_steps(4, 2);
    connect(c, 4);
    move_rank(c, 0, -5 * US, 0);
    move_rank(c, 1, -5 * US, 0);
    causes_of(c, causes, apart);
    assert_string_equal(apart, "");
    assert_int_equal(transfer_ns(c, 0), 0);
    assert_int_equal(transfer_ns(c, 1), 0);
    ps_chart_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outside_of_steps_is_no_step),
        cmocka_unit_test(nothing_but_outside_has_no_number),
        cmocka_unit_test(one_fuller_step_is_not_the_measure),
        cmocka_unit_test(what_is_lost_in_every_step_is_missed),
        cmocka_unit_test(transfers_alone_link_no_passes),
        cmocka_unit_test(unknown_work_is_no_host),
        cmocka_unit_test(clocks_make_no_slow_link),
        cmocka_unit_test(waiting_in_ops_is_no_clock),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

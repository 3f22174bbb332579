/* The bubble report on charts whose figures can be worked out by hand. Times in microseconds of the comments are
 * nanoseconds in the charts, thousandfold.
 *
 * 1F1B, p = 4, m = 8, F = 10, B = 20 (docs/bubble.md): every stage is busy 8 (10 + 20) = 240 of 330.
 *
 *   stage   first start   last end   warm-up   stall   cool-down
 *     0           0          330         0       90          0
 *     1          10          310        10       60         20
 *     2          20          290        20       30         40
 *     3          30          270        30        0         60 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/measured_chart.h"
#include "analyze/pipeline/pipeline.h"
#include "analyze/pipeline/recognise.h"
#include "base/alloc.h"
#include "schedule/connect.h"
#include "schedule/sim.h"

#define US 1000

typedef struct sample {
    ps_sim_plan *plan;
    ps_chart *chart;
} sample;

/* One step of a schedule; the ops of `slow_stage` (-1 none) take `factor` times as long. */
static sample simulate(const char *schedule, int32_t p, int32_t m, int32_t slow_stage,
                       int64_t factor, int64_t p2p_ns, int64_t n_steps) {
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
    ps_sim_times times = {.f_ns = 10 * US, .b_ns = 20 * US, .w_ns = 10 * US, .fb_ns = 30 * US};
    ps_err err = PS_ERR_INIT;
    sample s = {.plan = ps_sim_plan_new(ps_schedule_find(schedule), &params, &err)};
    assert_non_null(s.plan);
    int64_t *durations = ps_calloc(s.plan->n_ops, sizeof *durations);
    assert_non_null(durations);
    ps_sim_fill_durations(s.plan, &times, durations);
    for (uint32_t op = 0; op < s.plan->n_ops; op++) {
        durations[op] *= s.plan->device[op] == slow_stage ? factor : 1;
    }
    s.chart = ps_sim_chart(s.plan, durations, p2p_ns, n_steps, 7 * US, &err);
    assert_non_null(s.chart);
    ps_free(durations);
    return s;
}

static void finish(sample *s, ps_bubble_report *r) {
    ps_bubble_report_fini(r);
    ps_chart_free(s->chart);
    ps_sim_plan_free(s->plan);
}

static ps_bubble_report measure(sample *s) {
    ps_bubble_report r;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_connect(s->chart, s->plan, &err), PS_OK);
    assert_int_equal(ps_bubble_measure(s->chart, NULL, &r, &err), PS_OK);
    return r;
}

/* busy, warm-up, stall, cool-down of one row, in microseconds; they add up to the step. */
static void expect_stage(const ps_stage_bubble *s, int64_t step, int64_t busy, int64_t warmup,
                         int64_t stall, int64_t cooldown) {
    assert_int_equal(s->step_ns, step * US);
    assert_int_equal(s->busy_ns, busy * US);
    assert_int_equal(s->warmup_ns, warmup * US);
    assert_int_equal(s->stall_ns, stall * US);
    assert_int_equal(s->cooldown_ns, cooldown * US);
    assert_int_equal(s->bubble_ns, (step - busy) * US);
    assert_int_equal(warmup + stall + cooldown, step - busy);
    assert_int_equal(s->stall_stage_ns + s->stall_transfer_ns + s->stall_other_ns +
                         s->stall_absent_ns,
                     s->stall_ns);
}

static void test_worked_example(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    ps_bubble_report r = measure(&s);
    assert_int_equal(r.n_steps, 1);
    assert_int_equal(r.n_stages, 4);
    expect_stage(&r.stages[0], 330, 240, 0, 90, 0);
    expect_stage(&r.stages[1], 330, 240, 10, 60, 20);
    expect_stage(&r.stages[2], 330, 240, 20, 30, 40);
    expect_stage(&r.stages[3], 330, 240, 30, 0, 60);
    /* Stage 0 only ever waits for stage 1, and there is no latency. */
    assert_int_equal(r.stages[0].waits_for_stage, 1);
    assert_int_equal(r.stages[0].stall_stage_ns, 90 * US);
    assert_int_equal(r.stages[0].stall_transfer_ns, 0);
    /* Three forwards down, all of stage 3, three backwards up: 30 + 240 + 60, without waiting. */
    assert_int_equal(r.steps[0].critical_compute_ns, 330 * US);
    assert_int_equal(r.steps[0].critical_wait_ns, 0);
    assert_int_equal(r.stages[3].critical_ns, 240 * US);
    assert_int_equal(r.stages[0].critical_ns, 30 * US);
    finish(&s, &r);
}

/* Two stages, m = 2, p2p = 1. F0 F1 on 0 until 20; stage 1: F0 11-21, B0 21-41, F1 (arrived 21) 41-51, B1 51-71.
 * Stage 0: B0 42-62, B1 72-92. Step 92. Stage 0: gap 20-42 (21 for stage 1, 1 transfer) and 62-72: B1's input ends at
 * 71: 9 and 1. Stage 1 never pauses. */
static void test_transfers_are_told_apart(void **context) {
    (void)context;
    sample s = simulate("1f1b", 2, 2, -1, 1, US, 1);
    ps_bubble_report r = measure(&s);
    expect_stage(&r.stages[0], 92, 60, 0, 32, 0);
    expect_stage(&r.stages[1], 92, 60, 11, 0, 21);
    assert_int_equal(r.stages[0].stall_stage_ns, 30 * US);
    assert_int_equal(r.stages[0].stall_transfer_ns, 2 * US);
    /* Path: F0 on 0 (10), 1 of transfer, stage 1 (60), 1 of transfer, B1 on 0 (20). */
    assert_int_equal(r.steps[0].critical_compute_ns, 90 * US);
    assert_int_equal(r.steps[0].critical_wait_ns, 2 * US);
    finish(&s, &r);
}

/* Two stages, m = 2, stage 1 twice as slow. Stage 0: F0 0-10, F1 10-20. Stage 1: F0 10-30, B0 30-70, F1 70-90, B1
 * 90-130. Stage 0: B0 70-90, B1 130-150. Step 150: stage 0 busy 60, stall 50 + 40; stage 1 busy 120, warm-up 10,
 * cool-down 20. */
static void test_slow_stage(void **context) {
    (void)context;
    sample s = simulate("1f1b", 2, 2, 1, 2, 0, 1);
    ps_bubble_report r = measure(&s);
    expect_stage(&r.stages[0], 150, 60, 0, 90, 0);
    expect_stage(&r.stages[1], 150, 120, 10, 0, 20);
    assert_int_equal(s.chart->ranks[r.steps[0].slowest].stage, 1);
    assert_int_equal(r.stages[1].critical_ns, 120 * US);
    finish(&s, &r);
}

/* The machine of stages 2 and 3 has another clock: results seem to come before, or after, they were needed. What the path
 * computes and waits is the whole step all the same. */
static void expect_path_despite(int64_t skew_ns, int64_t waited_ns) {
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        ps_op *op = &s.chart->ops[i];
        if (s.chart->ranks[op->rank].stage >= 2) {
            op->start_ns += skew_ns;
            op->end_ns += skew_ns;
        }
    }
    ps_bubble_report r = measure(&s);
    assert_int_equal(r.steps[0].step_ns, 330 * US);
    assert_int_equal(r.steps[0].critical_wait_ns, waited_ns);
    assert_int_equal(r.steps[0].critical_compute_ns, 330 * US - waited_ns);
    int64_t on_stages_ns = 0;
    for (size_t i = 0; i < 4; i++) {
        on_stages_ns += r.stages[i].critical_ns;
    }
    assert_int_equal(on_stages_ns, r.steps[0].critical_compute_ns);
    finish(&s, &r);
}

/* By 15 stage 1's own backward before ends later (280) than what the last one waits for seems to (275): the path takes that. */
static void test_inputs_that_seem_late_are_on_the_path(void **context) {
    (void)context;
    expect_path_despite(3 * US,
                        3 * US); /* on the way down; on the way up the waiting is too short */
    expect_path_despite(-3 * US, 3 * US);
    expect_path_despite(15 * US, 15 * US); /* more than a forward takes */
    expect_path_despite(-15 * US, 35 * US);
}

/* Steps of different length: the second step's ops of stage 1 are stretched by hand. Two stages, m = 1: F 0-10, F
 * 10-20, B 20-40, B 40-60; the next step begins at 67. Its last backward ends 5 later. */
static void test_steps_of_different_length(void **context) {
    (void)context;
    sample s = simulate("1f1b", 2, 1, -1, 1, 0, 2);
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        ps_op *op = &s.chart->ops[i];
        if (op->step == 2 && op->kind == PS_OP_B && s.chart->ranks[op->rank].stage == 0) {
            op->end_ns += 5 * US;
        }
    }
    ps_bubble_report r = measure(&s);
    assert_int_equal(r.n_steps, 2);
    expect_stage(&r.stages[0], 60, 30, 0, 30, 0);
    expect_stage(&r.stages[1], 60, 30, 10, 0, 20);
    expect_stage(&r.stages[2], 65, 35, 0, 30, 0);
    expect_stage(&r.stages[3], 65, 30, 10, 0, 25);
    finish(&s, &r);
}

static void drop_op(ps_chart *chart, int32_t stage, ps_op_kind kind, int32_t microbatch) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        if (chart->ranks[op->rank].stage == stage && op->kind == kind &&
            op->microbatch == microbatch) {
            memmove(&chart->ops[i], &chart->ops[i + 1],
                    (chart->n_ops - i - 1) * sizeof *chart->ops);
            chart->n_ops--;
            return;
        }
    }
    fail_msg("no such op");
}

/* The worked example without stage 1's F3 (its mark was lost): 10 less busy, 10 more stall, whose reason is not in the
 * chart; the other stages keep their figures, but stage 2's F3 has lost its input. */
static void test_lost_mark(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    drop_op(s.chart, 1, PS_OP_F, 3);
    ps_bubble_report r = measure(&s);
    expect_stage(&r.stages[0], 330, 240, 0, 90, 0);
    expect_stage(&r.stages[1], 330, 230, 10, 70, 20);
    expect_stage(&r.stages[2], 330, 240, 20, 30, 40);
    expect_stage(&r.stages[3], 330, 240, 30, 0, 60);
    finish(&s, &r);
    /* Without stage 1's 6B stage 0 does not know what its own waits for: 10 us of its 90, not the host's. */
    s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    drop_op(s.chart, 1, PS_OP_B, 6);
    s.chart->n_links = 0;
    r = measure(&s);
    assert_int_equal(r.stages[0].stall_stage_ns, 80 * US);
    assert_int_equal(r.stages[0].stall_absent_ns, 10 * US);
    assert_int_equal(r.stages[0].stall_other_ns, 0);
    finish(&s, &r);
}

/* Three steps, of which the second lacks two ops and the third one: only the first is whole. */
static void test_steps_that_lack_ops(void **context) {
    (void)context;
    sample s = simulate("1f1b", 2, 3, -1, 1, 0, 3);
    size_t n = 0;
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        const ps_op *op = &s.chart->ops[i];
        bool is_lost = (op->step == 2 && op->kind == PS_OP_B && op->microbatch == 1) ||
                       (op->step == 3 && op->kind == PS_OP_F && op->microbatch == 0 &&
                        s.chart->ranks[op->rank].stage == 0);
        if (!is_lost) {
            s.chart->ops[n++] = *op;
        }
    }
    s.chart->n_ops = n;
    ps_bubble_report r = measure(&s);
    static const size_t FEWER[] = {0, 2, 1};
    assert_int_equal(r.n_steps, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(r.steps[i].n_fewer, FEWER[i]);
    }
    for (size_t i = 0; i < s.chart->n_figures; i++) {
        assert_int_equal(s.chart->figures[i].is_part, s.chart->figures[i].step != 1);
    }
    ps_table *t = ps_bubble_step_table(s.chart, &r);
    assert_int_equal(ps_table_cell(t, 1, ps_table_column(t, "fewer ops"))->u.i, 2);
    ps_table_free(t);
    finish(&s, &r);
}

/* Without stage 3 the step is what the other three show: 0 to 330 all the same. */
static void test_missing_rank(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        if (s.chart->ranks[s.chart->ops[i].rank].stage != 3) {
            s.chart->ops[n++] = s.chart->ops[i];
        }
    }
    s.chart->n_ops = n;
    s.chart->n_ranks = 3;
    ps_bubble_report r = measure(&s);
    assert_int_equal(r.n_stages, 3);
    expect_stage(&r.stages[0], 330, 240, 0, 90, 0);
    expect_stage(&r.stages[2], 330, 240, 20, 30, 40);
    /* What stage 2's backwards waited for is not in the chart. */
    assert_int_equal(r.stages[2].stall_stage_ns, 0);
    assert_int_equal(r.stages[2].stall_other_ns, 30 * US);
    finish(&s, &r);
}

/* Without stage 2 its neighbours' stalls are for whom nobody knows: stage 1's backwards need it (60 us of stall), stage 3's forwards
 * (none). Stage 0 needs stage 1 alone. No path is told. */
static void test_missing_stage_is_waited_for(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    size_t n = 0;
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        ps_op op = s.chart->ops[i];
        if (op.rank != 2) {
            op.rank -= op.rank == 3;
            s.chart->ops[n++] = op;
        }
    }
    s.chart->n_ops = n;
    s.chart->ranks[2] = s.chart->ranks[3];
    s.chart->n_ranks = 3;
    s.chart->n_links = 0;
    ps_bubble_report r = measure(&s);
    assert_true(r.steps[0].is_part_known);
    assert_int_equal(r.stages[0].stall_stage_ns, 90 * US);
    assert_int_equal(r.stages[1].stall_ns, 60 * US);
    assert_int_equal(r.stages[1].stall_absent_ns, 60 * US);
    assert_int_equal(r.stages[1].stall_other_ns, 0);
    ps_table *waits = ps_bubble_wait_table(s.chart, &r);
    ps_table *steps = ps_bubble_step_table(s.chart, &r);
    assert_int_equal(ps_table_cell(waits, 1, ps_table_column(waits, "not known"))->u.i, 60 * US);
    assert_true(ps_table_cell(waits, 1, ps_table_column(waits, "on path"))->is_null);
    assert_true(ps_table_cell(waits, 1, ps_table_column(waits, "path"))->is_null);
    assert_true(ps_table_cell(steps, 0, ps_table_column(steps, "computing"))->is_null);
    ps_table_free(waits);
    ps_table_free(steps);
    finish(&s, &r);
}

/* Idle intervals cover the bubble exactly, whatever the durations. */
static void test_bubbles_add_up(void **context) {
    (void)context;
    static const char *const NAMES[] = {"1f1b", "gpipe",     "interleaved", "zb-h1",
                                        "zb-v", "dualpipev", "dualpipe"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        sample s = simulate(NAMES[k], 4, 8, 2, 3, US / 2, 2);
        ps_bubble_report r = measure(&s);
        int64_t all = 0;
        int64_t stages = 0;
        for (size_t i = 0; i < s.chart->n_bubbles; i++) {
            all += s.chart->bubbles[i].end_ns - s.chart->bubbles[i].start_ns;
        }
        for (size_t i = 0; i < r.n_stages; i++) {
            stages += r.stages[i].bubble_ns;
            assert_int_equal(r.stages[i].stall_other_ns >= 0, 1);
        }
        assert_int_equal(all, stages);
        for (size_t i = 0; i < r.n_steps;
             i++) { /* the path reaches the step's start: nothing is lost on the way */
            assert_int_equal(r.steps[i].critical_compute_ns + r.steps[i].critical_wait_ns,
                             r.steps[i].step_ns);
        }
        finish(&s, &r);
    }
}

/* --- recognition ------------------------------------------------------------------------------------------------- */

/* Forgets everything but kinds and times, as classic marks have it. */
static void forget(ps_chart *chart) {
    for (size_t i = 0; i < chart->n_ops; i++) {
        ps_op *op = &chart->ops[i];
        op->kind = op->kind == PS_OP_BI ? PS_OP_B : op->kind;
        op->chunk = -1;
        op->microbatch = -1;
    }
}

static void test_schedule_is_recognised(void **context) {
    (void)context;
    static const char *const NAMES[] = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"};
    for (size_t k = 0; k < sizeof NAMES / sizeof *NAMES; k++) {
        sample s = simulate(NAMES[k], 4, 8, -1, 1, 0, 1);
        int32_t chunks[512];
        int32_t microbatches[512];
        assert_true(s.chart->n_ops <= 512);
        for (size_t i = 0; i < s.chart->n_ops; i++) {
            chunks[i] = s.chart->ops[i].chunk;
            microbatches[i] = s.chart->ops[i].microbatch;
        }
        forget(s.chart);
        ps_recognised r;
        ps_err err = PS_ERR_INIT;
        assert_int_equal(ps_recognise(s.chart, "", 0, 0, &r, &err), PS_OK);
        assert_non_null(r.schedule);
        assert_string_equal(r.schedule->name, NAMES[k]);
        assert_int_equal(r.n_agreeing, r.n_ops);
        size_t n_missing = 0;
        assert_int_equal(ps_apply_schedule(s.chart, &r, "", &n_missing, &err), PS_OK);
        assert_int_equal(n_missing, 0);
        for (size_t i = 0; i < s.chart->n_ops; i++) {
            assert_int_equal(s.chart->ops[i].chunk, chunks[i]);
            assert_int_equal(s.chart->ops[i].microbatch, microbatches[i]);
        }
        assert_string_equal(s.chart->schedule, NAMES[k]);
        assert_string_equal(s.chart->schedule_how, "recognised, 100.0 % of ops agree");
        ps_chart_free(s.chart);
        ps_sim_plan_free(s.plan);
    }
}

/* --- replay ------------------------------------------------------------------------------------------------------ */

static const ps_table *find_table(const ps_result *r, const char *name) {
    for (size_t i = 0; i < r->n_tables; i++) {
        if (strcmp(r->tables[i]->name, name) == 0) {
            return r->tables[i];
        }
    }
    fail_msg("no table %s", name);
    return NULL;
}

static int64_t replayed(const ps_table *t, const char *schedule) {
    for (size_t r = 0; r < t->n_rows; r++) {
        if (strcmp(ps_table_cell(t, r, 0)->u.text, schedule) == 0) {
            return ps_table_cell(t, r, 1)->u.i;
        }
    }
    return -1;
}

/* Reference numbers of F = 10, B = 20, W = 10, p = 4, m = 8: 1f1b and gpipe 330, zb-h1 270, zb-h2 270 - p (idle 3 F at F
 * = BI = W: 240 + 30). Interleaved with two chunks of half the duration: 240 + 3 (5 + 10) = 285. */
static void test_replay(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    forget(s.chart);
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "", .how = "", .in_full = true};
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    const ps_table *t = find_table(&result, "PipelineReplay");
    assert_int_equal(replayed(t, "1f1b (replayed)"), 330 * US);
    assert_int_equal(replayed(t, "gpipe"), 330 * US);
    assert_int_equal(replayed(t, "zb-h1"), 270 * US);
    assert_int_equal(replayed(t, "zb-h2"), 270 * US);
    assert_int_equal(replayed(t, "interleaved, 2 chunks"), 285 * US);
    assert_int_equal(replayed(t, "1f1b, stages balanced"), 330 * US);
    /* What was not replayed is said with its reason: all others but dualpipev fit 4 stages and 8 microbatches. */
    for (size_t i = 0; i < result.n_tables; i++) {
        assert_string_not_equal(result.tables[i]->name, "PipelineNotReplayed");
    }
    assert_string_equal(s.chart->unreplayed, "");
    /* 90 of 330 are the schedule's own. */
    const ps_table *steps = find_table(&result, "PipelineStep");
    const ps_value *ideal = ps_table_cell(steps, 0, ps_table_column(steps, "ideal"));
    assert_float_equal(ideal->u.r, 100.0 * 90 / 330, 1e-6);
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* The same where stage 0 pauses for 300 after its first op: the replay of the schedule, 330, is not like the measured step, 630. What others
 * would take is told, but no gain. */
static void test_replay_unlike_the_step(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        ps_op *op = &s.chart->ops[i];
        int64_t by_ns = op->kind != PS_OP_F || op->microbatch > 0 || op->rank > 0 ? 300 * US : 0;
        op->start_ns += by_ns;
        op->end_ns += by_ns;
    }
    forget(s.chart);
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "", .how = "", .in_full = true};
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    const ps_table *t = find_table(&result, "PipelineReplay");
    assert_int_equal(replayed(t, "1f1b (replayed)"), 330 * US);
    for (size_t r = 0; r < t->n_rows; r++) {
        assert_true(ps_table_cell(t, r, ps_table_column(t, "gain"))->is_null);
        assert_true(ps_table_cell(t, r, ps_table_column(t, "gain share"))->is_null);
    }
    assert_non_null(
        strstr(s.chart->unreplayed, "(330 us) does not fit the measured step of 630 us"));
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* A device of DualPipe holds two pieces of the model, each a whole stage of its way: F = 10, B = 20. 1f1b of four stages and 16
 * microbatches: (16 + 3) * 30 = 570. */
static void test_replay_of_two_ways(void **context) {
    (void)context;
    sample s = simulate("dualpipe", 4, 16, -1, 1, 0, 1);
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "dualpipe", .how = "as given", .in_full = true};
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    const ps_table *t = find_table(&result, "PipelineReplay");
    int64_t last_ns = 0;
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        last_ns = s.chart->ops[i].end_ns > last_ns ? s.chart->ops[i].end_ns : last_ns;
    }
    assert_int_equal(replayed(t, "dualpipe (replayed)"), last_ns);
    assert_int_equal(replayed(t, "1f1b"), 570 * US);
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* Each stage has an optimiser of 15 behind its last backward, stage 0, which ends last, one of 25: 330 + 25 under 1f1b and gpipe.
 * The bubble of the schedule itself is what it was. */
static void test_replay_with_optimisers(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    ps_chart *with = ps_chart_new();
    assert_non_null(with);
    for (size_t r = 0; r < s.chart->n_ranks; r++) {
        assert_true(ps_chart_add_rank(with, s.chart->ranks[r]));
    }
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        const ps_op *op = &s.chart->ops[i];
        assert_true(ps_chart_add_op(with, *op));
        bool is_last = i + 1 == s.chart->n_ops || s.chart->ops[i + 1].rank != op->rank;
        if (is_last) {
            int64_t dur = (s.chart->ranks[op->rank].stage == 0 ? 25 : 15) * US;
            assert_true(ps_chart_add_op(with, (ps_op){.start_ns = op->end_ns,
                                                      .end_ns = op->end_ns + dur,
                                                      .step = op->step,
                                                      .rank = op->rank,
                                                      .kind = PS_OP_OTHER,
                                                      .microbatch = -1,
                                                      .chunk = -1,
                                                      .name = "optimizer"}));
        }
    }
    ps_chart_free(s.chart);
    s.chart = with;
    forget(s.chart);
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "", .how = "", .in_full = true};
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    const ps_table *t = find_table(&result, "PipelineReplay");
    assert_int_equal(replayed(t, "1f1b (replayed)"), 355 * US);
    assert_int_equal(replayed(t, "gpipe"), 355 * US);
    const ps_table *steps = find_table(&result, "PipelineStep");
    assert_int_equal(ps_table_cell(steps, 0, ps_table_column(steps, "time"))->u.i, 355 * US);
    const ps_value *ideal = ps_table_cell(steps, 0, ps_table_column(steps, "ideal"));
    assert_float_equal(ideal->u.r, 100.0 * 90 / 330, 1e-6);
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* 1F1B holds 4 microbatches at most, GPipe all 8, ZB-H2 7. */
static void test_memory_limit(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    forget(s.chart);
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {
        .pp_type = "1f1b", .how = "as given", .in_full = true, .replay = {.max_activations = 6}};
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    const ps_table *t = find_table(&result, "PipelineReplay");
    assert_int_equal(replayed(t, "gpipe"), -1);
    assert_int_equal(replayed(t, "zb-h2"), -1);
    assert_int_equal(replayed(t, "zb-h1"), 270 * US);
    const ps_table *left_out = find_table(&result, "PipelineNotReplayed");
    assert_string_equal(ps_table_cell(left_out, 0, 0)->u.text, "gpipe");
    assert_string_equal(ps_table_cell(left_out, 0, 1)->u.text,
                        "it holds 8 microbatches of activations (--max-activations 6)");
    assert_string_equal(s.chart->schedule_how, "as given");
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* Forwards and backwards in an order that is no schedule's: the report says so, and what it does not know is left empty. */
static void test_unknown_schedule(void **context) {
    (void)context;
    sample s = simulate("1f1b", 4, 8, -1, 1, 0, 1);
    forget(s.chart);
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        s.chart->ops[i].kind = i % 3 == 0 ? PS_OP_B : PS_OP_F;
    }
    s.chart->n_links = 0;
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "", .how = "", .in_full = true};
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    assert_null(notes.schedule);
    assert_non_null(strstr(s.chart->unreplayed,
                           "No other schedule is replayed: the schedule was not recognised ("));
    const ps_table *waits = find_table(&result, "PipelineWaits");
    const ps_table *steps = find_table(&result, "PipelineStep");
    assert_true(ps_table_cell(waits, 0, ps_table_column(waits, "other"))->is_null);
    assert_true(ps_table_cell(waits, 0, ps_table_column(waits, "on path"))->is_null);
    assert_true(ps_table_cell(steps, 0, ps_table_column(steps, "waiting"))->is_null);
    assert_int_equal(ps_table_column(steps, "ideal"), SIZE_MAX);
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

static void test_empty_chart(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    ps_bubble_report r;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_bubble_measure(chart, NULL, &r, &err), PS_NOTHING);
    ps_result result = {0};
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "", .how = "", .in_full = true};
    assert_int_equal(ps_pipeline_report(chart, &opts, &result, &notes, &err), PS_OK);
    assert_int_equal(result.n_tables, 0);
    ps_chart_free(chart);
}

/* Many iterations in one step, as in a profile without steps, are no schedule's: nothing is aligned. */
static void test_iterations_without_steps(void **context) {
    (void)context;
    sample s = simulate("1f1b", 8, 32, -1, 1, 0, 20);
    for (size_t i = 0; i < s.chart->n_ops; i++) {
        s.chart->ops[i].step = 0;
    }
    forget(s.chart);
    ps_recognised r;
    ps_err err = PS_ERR_INIT;
    (void)ps_alloc_fail_at(-1);
    assert_int_equal(ps_recognise(s.chart, "1f1b", 8, 32, &r, &err), PS_OK);
    assert_true(ps_alloc_fail_at(-1) < 80);
    assert_null(r.schedule);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* A schedule too large to simulate leaves a chart without links, and its bubble. */
static void test_too_large_for_a_plan(void **context) {
    (void)context;
    sample s = simulate("dualpipev", 4, 8, -1, 1, 0, 1);
    ps_result result = {0};
    ps_err err = PS_ERR_INIT;
    ps_pipeline_notes notes;
    ps_pipeline_opts opts = {.pp_type = "dualpipev",
                             .how = "as given",
                             .n_stages = 128,
                             .n_microbatches = PS_MAX_MICROBATCHES,
                             .is_labelled = true,
                             .in_full = true};
    size_t n_links = s.chart->n_links;
    assert_int_equal(ps_pipeline_report(s.chart, &opts, &result, &notes, &err), PS_OK);
    assert_int_equal(err.code, PS_OK);
    assert_non_null(strstr(notes.unlinked, "too many"));
    assert_int_equal(s.chart->n_links, n_links);
    assert_int_equal(find_table(&result, "PipelineBubble")->n_rows, 4);
    for (size_t i = 0; i < result.n_tables; i++) {
        assert_string_not_equal(result.tables[i]->name, "PipelineReplay");
    }
    ps_result_fini(&result);
    ps_chart_free(s.chart);
    ps_sim_plan_free(s.plan);
}

/* Backwards of DualPipeV's tail that are marked as whole are the input gradient alone when they are short: all of them, or
 * none; what the machine did to one of them says nothing. Device 1 is three times as slow as device 0, which says
 * nothing either. */
static void test_tail_is_judged_together(void **context) {
    (void)context;
    for (int split = 0; split < 2; split++) {
        ps_schedule_params params = {.n_stages = 2, .n_microbatches = 6, .tail_full = true};
        ps_sim_times times = {.f_ns = 10 * US, .b_ns = 20 * US, .w_ns = 10 * US, .fb_ns = 30 * US};
        ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find("dualpipev"), &params, NULL);
        int64_t *durations = ps_calloc(plan->n_ops, sizeof *durations);
        ps_sim_fill_durations(plan, &times, durations);
        int64_t *odd = NULL;
        for (uint32_t op = 0; op < plan->n_ops; op++) {
            bool in_tail = plan->ops[op].phase == 6;
            durations[op] = (split == 1 && in_tail ? 10 : durations[op] / US) * US;
            durations[op] *= plan->device[op] == 1 ? 3 : 1;
            odd = in_tail ? &durations[op] : odd;
        }
        *odd = split == 1 ? *odd * 3 : *odd / 3;
        ps_chart *chart = ps_sim_chart(plan, durations, 0, 1, 7 * US, NULL);
        ps_free(durations);
        ps_result result = {0};
        ps_pipeline_notes notes;
        ps_pipeline_opts opts = {.pp_type = "dualpipev",
                                 .how = "as given",
                                 .n_stages = 2,
                                 .n_microbatches = 6,
                                 .is_labelled = true,
                                 .in_full = true};
        assert_int_equal(ps_pipeline_report(chart, &opts, &result, &notes, NULL), PS_OK);
        size_t n_tail = 0;
        for (size_t i = 0; i < chart->n_ops; i++) {
            n_tail += chart->ops[i].phase == 6;
            assert_true(chart->ops[i].phase != 6 ||
                        chart->ops[i].kind == (split == 1 ? PS_OP_BI : PS_OP_B));
        }
        assert_int_equal(n_tail, 4);
        assert_int_equal(notes.n_unmarked_weights, split == 1 ? 4 : 0);
        ps_recognised r;
        assert_int_equal(ps_recognise_for_theory(chart, &r, NULL), PS_OK);
        assert_int_equal(r.params.tail_full, split == 0);
        ps_result_fini(&result);
        ps_chart_free(chart);
        ps_sim_plan_free(plan);
    }
}

/* Two forwards and two backwards on each of two stages: 1f1b, but that those of the first may be swapped. All ops agree, or, put in line, three of five: then no
 * theory is claimed, and why is said. */
static void test_theory_of_what_agrees(void **context) {
    (void)context;
    for (int swapped = 0; swapped < 2; swapped++) {
        ps_chart *chart = ps_chart_new();
        for (int32_t s = 0; s < 2; s++) {
            assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = s, .stage = s}));
            for (int32_t i = 0; i < 4; i++) {
                bool is_forward = s == 0 ? i < 2 : i % 2 == 0;
                bool is_backward = swapped && s == 0 ? is_forward : !is_forward;
                assert_true(ps_chart_add_op(
                    chart, (ps_op){.start_ns = 10 * i,
                                   .end_ns = 10 * i + 10,
                                   .name = "op",
                                   .rank = (uint32_t)s,
                                   .step = 1,
                                   .kind = (uint8_t)(is_backward ? PS_OP_B : PS_OP_F)}));
            }
        }
        chart->n_stages = 2;
        ps_recognised r;
        ps_err err = PS_ERR_INIT;
        ps_code code = ps_recognise_for_theory(chart, &r, &err);
        assert_int_equal(code, swapped ? PS_NOTHING : PS_OK);
        assert_int_equal(r.schedule == NULL, swapped);
        assert_true(!swapped || strstr(err.msg, "comes nearest: 60.0 % of the ops agree") != NULL);
        ps_chart_free(chart);
    }
}

/* Sums over stages leave 64 bits, shares do not: every stage is busy for the whole step. */
static void test_shares_of_long_steps(void **context) {
    (void)context;
    enum { N = 40 };
    ps_chart *chart = ps_chart_new();
    for (int32_t s = 0; s < N; s++) {
        assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = s, .stage = s}));
        assert_true(ps_chart_add_op(chart, (ps_op){.end_ns = (int64_t)1 << 61,
                                                   .name = "0",
                                                   .rank = (uint32_t)s,
                                                   .kind = PS_OP_F}));
    }
    ps_bubble_report r;
    assert_int_equal(ps_bubble_measure(chart, NULL, &r, NULL), PS_OK);
    ps_table *t = ps_bubble_step_table(chart, &r);
    assert_non_null(t);
    assert_true(ps_table_cell(t, 0, 3)->u.r == 0.0); /* bubble */
    assert_true(ps_table_cell(t, 0, 6)->u.r == 0.0); /* imbalance */
    ps_table_free(t);
    ps_bubble_report_fini(&r);
    ps_chart_free(chart);
}

static bool tells_of_clocks(ps_table *t) {
    assert_non_null(t);
    bool tells = strstr(t->title, "clock offsets not taken off (--align)") != NULL;
    ps_table_free(t);
    return tells;
}

/* Two machines, the second one's clock 70 ahead: what its stage seems to wait is said to hold that, until it is taken off. */
static void test_titles_tell_of_clocks(void **context) {
    (void)context;
    enum { NO_CLOCK, AHEAD, ALIGNED, N };
    for (int k = 0; k < N; k++) {
        ps_chart *chart = ps_chart_new();
        for (int32_t s = 0; s < 2; s++) {
            assert_true(ps_chart_add_rank(
                chart, (ps_chart_rank){.rank = s,
                                       .stage = s,
                                       .machine = s,
                                       .has_clock = k != NO_CLOCK,
                                       .clock_is_taken_off = k == ALIGNED,
                                       .clock_offset_ns = k != NO_CLOCK ? 70 * s : 0}));
            int64_t at_ns = s * (k == AHEAD ? 170 : 100);
            assert_true(ps_chart_add_op(chart, (ps_op){.start_ns = at_ns,
                                                       .end_ns = at_ns + 100,
                                                       .name = "0",
                                                       .rank = (uint32_t)s,
                                                       .kind = PS_OP_F}));
        }
        chart->is_aligned = k == ALIGNED;
        ps_bubble_report r;
        assert_int_equal(ps_bubble_measure(chart, NULL, &r, NULL), PS_OK);
        assert_int_equal(tells_of_clocks(ps_bubble_step_table(chart, &r)), k == AHEAD);
        assert_int_equal(tells_of_clocks(ps_bubble_stage_table(chart, &r)), k == AHEAD);
        assert_int_equal(tells_of_clocks(ps_bubble_wait_table(chart, &r)), k == AHEAD);
        ps_bubble_report_fini(&r);
        ps_chart_free(chart);
    }
}

/* Microbatches count up in each step by itself, although the steps interleave on the device. */
static void test_interleaved_steps(void **context) {
    (void)context;
    static const int64_t STEPS[] = {1, 2, 1, 2, 1};
    static const int32_t MICROBATCHES[] = {0, 0, 1, 1, 2};
    ps_mark marks[5];
    ps_given_label labels[5] = {
        {.name = "FP"}, {.name = "FP"}, {.name = "FP"}, {.name = "FP"}, {.name = "FP"}};
    for (int i = 0; i < 5; i++) {
        marks[i] = (ps_mark){.start_ns = 100 * i,
                             .end_ns = 100 * i + 50,
                             .step = STEPS[i],
                             .microbatch = -1,
                             .kind = PS_OP_F};
    }
    ps_mark_list list = {.marks = marks, .n = 5};
    ps_measured_rank rank = {.marks = &list, .labels = labels};
    ps_chart *chart = ps_measured_chart(&rank, 1, true, PS_ENGLISH, NULL);
    assert_non_null(chart);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(chart->ops[i].microbatch, MICROBATCHES[i]);
    }
    assert_string_equal(chart->ops[4].name, "2");
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked_example),
        cmocka_unit_test(test_transfers_are_told_apart),
        cmocka_unit_test(test_slow_stage),
        cmocka_unit_test(test_inputs_that_seem_late_are_on_the_path),
        cmocka_unit_test(test_steps_of_different_length),
        cmocka_unit_test(test_lost_mark),
        cmocka_unit_test(test_missing_rank),
        cmocka_unit_test(test_missing_stage_is_waited_for),
        cmocka_unit_test(test_bubbles_add_up),
        cmocka_unit_test(test_schedule_is_recognised),
        cmocka_unit_test(test_replay),
        cmocka_unit_test(test_replay_unlike_the_step),
        cmocka_unit_test(test_replay_of_two_ways),
        cmocka_unit_test(test_memory_limit),
        cmocka_unit_test(test_steps_that_lack_ops),
        cmocka_unit_test(test_replay_with_optimisers),
        cmocka_unit_test(test_unknown_schedule),
        cmocka_unit_test(test_empty_chart),
        cmocka_unit_test(test_iterations_without_steps),
        cmocka_unit_test(test_too_large_for_a_plan),
        cmocka_unit_test(test_tail_is_judged_together),
        cmocka_unit_test(test_theory_of_what_agrees),
        cmocka_unit_test(test_shares_of_long_steps),
        cmocka_unit_test(test_titles_tell_of_clocks),
        cmocka_unit_test(test_interleaved_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

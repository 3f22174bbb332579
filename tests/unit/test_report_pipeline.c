/* The rules of the pipeline on simulated charts whose figures can be worked out by hand (docs/bubble.md): durations in
 * microseconds, F 10, B 20. */
#include "support/pp_trace.h"
#include "support/report_run.h"

#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/pipeline.h"
#include "analyze/report/report_schedules.h"
#include "base/alloc.h"
#include "schedule/sim.h"

typedef struct plan {
    int32_t n_stages, n_microbatches;
    int32_t slow_stage; /* its ops take twice as long; -1: none */
    int64_t p2p_us;
    int64_t pause_us; /* everything from 10 us on begins so much later */
    int64_t mild; /* percent that slow_stage takes longer where it does not take twice as long */
} plan;

static ps_chart *simulate(plan p, bool is_slow) {
    ps_schedule_params params = {.n_stages = p.n_stages, .n_microbatches = p.n_microbatches};
    ps_sim_times times = {.f_ns = 10 * US, .b_ns = 20 * US, .w_ns = 10 * US, .fb_ns = 30 * US};
    ps_err err = PS_ERR_INIT;
    ps_sim_plan *sim = ps_sim_plan_new(ps_schedule_find("1f1b"), &params, &err);
    assert_non_null(sim);
    int64_t *durations = ps_calloc(sim->n_ops, sizeof *durations);
    assert_non_null(durations);
    ps_sim_fill_durations(sim, &times, durations);
    for (uint32_t op = 0; op < sim->n_ops; op++) {
        int64_t percent = sim->device[op] != p.slow_stage ? 0 : is_slow ? 100 : p.mild;
        durations[op] += durations[op] * percent / 100;
    }
    ps_chart *chart = ps_sim_chart(sim, durations, p.p2p_us * US, 1, 0, &err);
    assert_non_null(chart);
    ps_free(durations);
    ps_sim_plan_free(sim);
    return chart;
}

/* Another pipeline of the same job, behind the ranks that are there. */
static void add_pipeline(ps_chart *chart, plan p, bool is_slow, int32_t pipeline) {
    ps_chart *other = simulate(p, is_slow);
    uint32_t first = (uint32_t)chart->n_ranks;
    for (size_t i = 0; i < other->n_ranks; i++) {
        ps_chart_rank rank = other->ranks[i];
        rank.rank += (int32_t)first;
        rank.pipeline = pipeline;
        assert_true(ps_chart_add_rank(chart, rank));
    }
    for (size_t i = 0; i < other->n_ops; i++) {
        ps_op op = other->ops[i];
        op.rank += first;
        assert_true(ps_chart_add_op(chart, op));
    }
    ps_chart_free(other);
}

/* The result of an analysis that made the chart and its tables. `slow_alone`: slow_stage is so in the first pipeline alone. */
static ps_result measured(plan p, int n_pipelines, bool slow_alone) {
    ps_err err = PS_ERR_INIT;
    ps_result result = {.chart = simulate(p, true)};
    for (int k = 1; k < n_pipelines; k++) {
        add_pipeline(result.chart, p, !slow_alone, k);
    }
    for (size_t i = 0; i < result.chart->n_ops; i++) {
        ps_op *op = &result.chart->ops[i];
        int64_t later = op->start_ns >= 10 * US ? p.pause_us * US : 0;
        op->start_ns += later;
        op->end_ns += later;
    }
    result.chart->n_links = 0; /* found again from the labels */
    ps_pipeline_opts opts = {
        .pp_type = "1f1b", .how = "as given", .n_stages = p.n_stages, .in_full = true};
    ps_pipeline_notes notes;
    assert_int_equal(ps_pipeline_report(result.chart, &opts, &result, &notes, &err), PS_OK);
    return result;
}

static ps_result report_plans(report_run *o, plan p, int n_pipelines, bool slow_alone) {
    ps_result before = measured(p, n_pipelines, slow_alone);
    report_over(o, NULL, 0, NULL, &before);
    assert_int_equal(o->code, PS_OK);
    return before;
}

static ps_result report_plan(report_run *o, plan p) {
    return report_plans(o, p, 1, false);
}

static void finish(report_run *o, ps_result *before) {
    report_fini(o);
    ps_result_fini(before);
}

static const char *cell_of(const report_run *o, const char *table, size_t row, const char *column) {
    const ps_table *t = report_table(o, table);
    return ps_table_cell(t, row, ps_table_column(t, column))->u.text;
}

static bool advises(const report_run *o, ps_rule_id rule, const char *what) {
    return strstr(cell_of(o, "findings", report_row(o, rule), "try"), what) != NULL;
}

/* What is advised and promised is true of this pipeline: its stages are balanced, and no schedule is without a bubble. */
static void advice_is_true_here(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){4, 8, -1, 0, 0, 0});
    assert_false(advises(&o, PS_RULE_BUBBLE, "balanced"));
    assert_false(advises(&o, PS_RULE_BUBBLE, "below"));
    assert_true(
        advises(&o, PS_RULE_BUBBLE,
                "another schedule (of those replayed with this number of microbatches zb-v gains "
                "most, 75.0 us)"));
    assert_true(advises(&o, PS_RULE_STAGE_WAIT, "no slower than the others"));
    assert_null(strstr(report_text(&o, PS_RULE_BUBBLE), "Moving work"));
    assert_non_null(strstr(report_text(&o, PS_RULE_BUBBLE),
                           "1f1b itself has 27.3 % with this number of microbatches"));
    assert_non_null(
        strstr(cell_of(&o, "verdict", 0, "verdict"),
               "without it a step would take 240 us or more. Finding 3 says how to win 75.0 us"));
    finish(&o, &before);
    before = report_plan(&o, (plan){4, 8, 1, 0, 0, 0});
    /* Nothing is advised that is not in the gain: moving layers is a finding of its own. */
    /* Without the bubble a step takes 50 us less, with equal stages 118: both are said, and how they differ. */
    assert_non_null(
        strstr(report_text(&o, PS_RULE_BUBBLE),
               "With the work as it is stage 1 still works for 480 us without the bubble. Moving "
               "work is another way, and may win more"));
    assert_true(advises(&o, PS_RULE_STAGE_WAIT, "Speed stage 1 up"));
    finish(&o, &before);
    before = report_plan(&o, (plan){2, 4, -1, 5, 50, 0});
    assert_false(advises(&o, PS_RULE_TRANSFER_WAIT, "one machine")); /* they are */
    assert_false(advises(&o, PS_RULE_TRANSFER_WAIT, "dispatch")); /* nothing of the host is here */
    assert_false(advises(&o, PS_RULE_OTHER_STALL, "dispatch"));
    finish(&o, &before);
}

/* Stage 1 takes a tenth longer than the others in all pipelines, and twice as long in one: that rank is most of it. */
static void a_rank_slower_than_a_slow_stage(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plans(&o, (plan){4, 8, 1, .mild = 10}, 3, true);
    assert_true(advises(&o, PS_RULE_STAGE_WAIT,
                        "Mend rank 1: stage 1 is busy 480 us in a step there, the lower "
                        "median of the pipelines is 264 us"));
    finish(&o, &before);
}

/* Stage 1 takes twice as long in one of three pipelines: 480 instead of 240. That is a rank to mend, and no schedule is a remedy; in all
 * of them it is the stage. */
static void a_rank_that_is_slow_alone(void **state) {
    (void)state;
    for (int alone = 0; alone < 2; alone++) {
        report_run o;
        ps_result before = report_plans(&o, (plan){4, 8, 1, 0, 0, 0}, 3, alone);
        assert_int_equal(advises(&o, PS_RULE_STAGE_WAIT,
                                 "Mend rank 1: stage 1 is busy 480 us in a step there, the "
                                 "lower median of the pipelines is 240 us"),
                         alone);
        assert_int_equal(advises(&o, PS_RULE_STAGE_WAIT, "Speed stage 1 up"), !alone);
        assert_int_equal(advises(&o, PS_RULE_STAGE_WAIT, "schedule"), !alone);
        finish(&o, &before);
    }
}

/* Four stages, eight microbatches: each is busy 8 * 30 = 240 of 330. The bubble is 90 on every stage, 27.3 %; the stalls of
 * stage 0 are 90, all for stage 1. No stage is slower, nothing waits for transfer or host. Without the bubble
 * each stage still works for 240: more microbatches bring the step as near to that as one likes. */
static void even_stages(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){4, 8, -1, 0, 0, 0});
    assert_int_equal(report_gain(&o, PS_RULE_BUBBLE), 90 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_BUBBLE), "27.3 %, mean of 4 stages"));
    /* warm-up (0 + 10 + 20 + 30) / 4, stalls (90 + 60 + 30 + 0) / 4, cool-down (0 + 20 + 40 + 60) / 4 */
    assert_non_null(strstr(report_text(&o, PS_RULE_BUBBLE),
                           "warm-up 15.0 us, stalls 45.0 us, cool-down 30.0 us"));
    assert_int_equal(report_gain(&o, PS_RULE_STAGE_WAIT), 90 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_STAGE_WAIT), "most of it for stage 1"));
    assert_false(report_fired(&o, PS_RULE_STAGE_IMBALANCE));
    assert_false(report_fired(&o, PS_RULE_TRANSFER_WAIT));
    assert_false(report_fired(&o, PS_RULE_OTHER_STALL));
    assert_true(report_fired(&o, PS_RULE_OTHER_SCHEDULE));
    /* 1F1B has no weight gradients of their own: what splits them is a guess, and medium at most. */
    assert_true(report_gain(&o, PS_RULE_OTHER_SCHEDULE) > 33 * US);
    assert_non_null(
        strstr(report_text(&o, PS_RULE_OTHER_SCHEDULE), "taken as half of the backward"));
    const ps_table *t = report_table(&o, "findings");
    size_t row = report_row(&o, PS_RULE_OTHER_SCHEDULE);
    assert_string_equal(ps_table_cell(t, row, ps_table_column(t, "severity"))->u.text, "medium");
    finish(&o, &before);
}

/* A pause of 300 after the first op: the measured step is 630, the replay of the schedule 330. No gain is told, and the report says why. */
static void replay_unlike_the_step(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){4, 8, -1, 0, 300, 0});
    assert_false(report_fired(&o, PS_RULE_OTHER_SCHEDULE));
    assert_non_null(strstr(before.chart->unreplayed,
                           "The replay of the current schedule (330 us) does not fit the measured "
                           "step of 630 us: no gain of another schedule is told."));
    finish(&o, &before);
}

/* Two stages, 64 microbatches: the bubble is 30 of 65 * 30, 1.5 %. No schedule gains more than that. */
static void many_microbatches(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){2, 64, -1, 0, 0, 0});
    for (int rule = PS_RULE_BUBBLE; rule < PS_N_RULES; rule++) {
        assert_false(report_fired(&o, (ps_rule_id)rule));
    }
    assert_int_equal(report_table(&o, "findings")->n_rows, 0);
    finish(&o, &before);
}

/* Stage 1 of four takes twice as long: busy 480 against a mean of (3 * 240 + 480) / 4 = 300, 60 % more. The gain is that of
 * the replay with all stages as fast as the mean: 330 * 300 / 240 = 412.5 instead of what it took. */
static void slow_stage(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){4, 8, 1, 0, 0, 0});
    const ps_table *replay = NULL;
    for (size_t i = 0; i < before.n_tables; i++) {
        replay = strcmp(before.tables[i]->name, "PipelineReplay") == 0 ? before.tables[i] : replay;
    }
    assert_non_null(replay);
    int64_t as_it_ran = ps_table_cell(replay, 0, ps_table_column(replay, "step time"))->u.i;
    assert_int_equal(report_gain(&o, PS_RULE_STAGE_IMBALANCE), as_it_ran - 412500);
    assert_non_null(strstr(report_text(&o, PS_RULE_STAGE_IMBALANCE), "480 us in a step, 60.0 %"));
    finish(&o, &before);
}

/* With 5 from stage to stage every stage waits for transfers, too. */
static void latency(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){2, 4, -1, 5, 0, 0});
    assert_true(report_fired(&o, PS_RULE_TRANSFER_WAIT));
    assert_false(report_fired(&o, PS_RULE_OTHER_STALL));
    finish(&o, &before);
}

/* The first stage stands still for 50 before its second forward, which needs nothing of another stage. */
static void pause_of_the_first_stage(void **state) {
    (void)state;
    report_run o;
    ps_result before = report_plan(&o, (plan){2, 4, -1, 0, 50, 0});
    assert_true(report_fired(&o, PS_RULE_OTHER_STALL));
    assert_int_equal(report_gain(&o, PS_RULE_OTHER_STALL), 50 * US);
    finish(&o, &before);
}

/* Traces of a pipeline as PyTorch labels it, charted by pp_labels: what the device is free for lies in the bubble of its
 * stage, so the host is not blamed. The bubble of each rank is that of the chart without warm-up and cool-down, which lie
 * before its first and after its last kernel. The communication kernel beside every op begins 30 before it and ends 40 behind
 * it: there the device works, which is no bubble in either of them. */
static void traces_with_labels(void **state) {
    (void)state;
    const pp_spec spec = {
        .schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .windows = true};
    pp_traces t;
    pp_outcome charted;
    report_run o;
    pp_traces_make(&t, &spec);
    pp_run(&charted, t.traces, t.n, NULL);
    assert_int_equal(charted.code, PS_OK);
    report_over(&o, t.traces, t.n, NULL, &charted.result); /* frees the traces */
    assert_int_equal(o.code, PS_OK);
    const ps_table *bubble = NULL;
    for (size_t i = 0; i < charted.result.n_tables; i++) {
        const ps_table *table = charted.result.tables[i];
        bubble = strcmp(table->name, "PipelineBubble") == 0 ? table : bubble;
    }
    const ps_table *overview = report_table(&o, "overview");
    assert_non_null(bubble);
    assert_int_equal(overview->n_rows, 4);
    for (size_t r = 0; r < 4; r++) {
        int64_t whole = ps_table_cell(bubble, r, ps_table_column(bubble, "bubble"))->u.i;
        int64_t found = ps_table_cell(overview, r, ps_table_column(overview, "bubble"))->u.i;
        assert_int_equal(found, whole);
    }
    /* The window of a step ends 2 ms behind its last op, with nothing recorded on the host: that is all it is charged. */
    assert_in_range(report_gain(&o, PS_RULE_FREE_SHARE), 2000 * US, 2050 * US);
    assert_true(report_fired(&o, PS_RULE_BUBBLE));
    report_fini(&o);
    pp_outcome_fini(&charted);
    pp_traces_fini(&t);
}

/* Rank 1 receives from 100 to 510, rank 0 sends from `send` to 510. */
static void receives(void **state) {
    (void)state;
    static const int64_t SEND[] = {500, 101};
    for (size_t i = 0; i < 2; i++) {
        ps_trace *traces[2];
        report_run o;
        for (int rank = 0; rank < 2; rank++) {
            rig r = rig_begin(1000);
            (void)rig_kernel(&r, "Add", NULL, 0, 10, rank == 0 ? 500 : 100);
            uint32_t op = rig_slice(&r, PS_SLICE_COMM_OP, r.group,
                                    rank == 0 ? "hcom_send__001_0_1" : "hcom_receive__001_0_1",
                                    rank == 0 ? SEND[i] : 100, 510);
            rig_text(&r, op, "opType", rank == 0 ? "hcom_send_" : "hcom_receive_");
            ps_builder_arg_int(r.b, op, "srcRank", rank);
            ps_builder_arg_int(r.b, op, "dstRank", 1 - rank);
            traces[rank] = rig_seal(&r);
        }
        report_over(&o, traces, 2, NULL, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_RECEIVE_WAIT), i == 0);
        if (i == 0) {
            assert_non_null(
                strstr(report_text(&o, PS_RULE_RECEIVE_WAIT), "wait 400 us in each step"));
        }
        report_fini(&o);
    }
}

/* Ranks 1 and 2 receive from 100 to 910, rank 0 sends to both from 800 on: 700 of each, which are not 1400 of a step of 1000. */
static void receives_of_several_ranks(void **state) {
    (void)state;
    ps_trace *traces[3];
    report_run o;
    for (int rank = 0; rank < 3; rank++) {
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, rank == 0 ? 800 : 100);
        for (int to = 1; to < 3; to++) {
            char name[64];
            (void)snprintf(name, sizeof name, "hcom_%s__001_%d_1", rank == 0 ? "send" : "receive",
                           to - 1);
            if (rank != 0 && rank != to) {
                continue;
            }
            uint32_t op =
                rig_slice(&r, PS_SLICE_COMM_OP, r.group, name, rank == 0 ? 800 : 100, 910);
            rig_text(&r, op, "opType", rank == 0 ? "hcom_send_" : "hcom_receive_");
            ps_builder_arg_int(r.b, op, "srcRank", rank);
            ps_builder_arg_int(r.b, op, "dstRank", rank == 0 ? to : 0);
        }
        traces[rank] = rig_seal(&r);
    }
    report_over(&o, traces, 3, NULL, NULL);
    const char *text = report_text(&o, PS_RULE_RECEIVE_WAIT);
    assert_non_null(strstr(text, "Receives of rank 1 wait 700 us in each step (70.0 %)"));
    assert_non_null(strstr(text, "sends of rank 0"));
    report_fini(&o);
}

/* Of two that gain as much as they show it is the one that costs less memory, and what gains less than 1 % is nothing. */
static void best_schedule_costs_least(void **state) {
    (void)state;
    static const ps_column COLUMNS[] = {
        {.name = "schedule", .type = PS_COL_TEXT},
        {.name = "gain", .type = PS_COL_INT, .unit = PS_UNIT_NS},
        {.name = "gain share", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
        {.name = "activations", .type = PS_COL_REAL},
        {.name = "weights", .type = PS_COL_INT},
    };
    static const struct {
        const char *name;
        int64_t gain_ns;
        double share, held;
        int64_t weights;
    } ROWS[] = {
        {"1f1b (replayed)", 0, 0, 4, 1},     {"zb-h1", 106000000, 9.3, 3, 1},
        {"dualpipe", 130400000, 11.5, 5, 2}, {"dualpipev", 130300000, 11.4, 4.5, 1},
        {"zb-v", 129900000, 11.4, 4, 1},
    };
    for (int noise = 0; noise < 2; noise++) {
        ps_table *t = ps_table_new("PipelineReplay", "", COLUMNS, 5);
        assert_non_null(t);
        for (size_t r = 0; r < sizeof ROWS / sizeof *ROWS; r++) {
            assert_true(ps_table_add_row(t) && ps_table_set_text(t, 0, ROWS[r].name));
            ps_table_set_int(t, 1, ROWS[r].gain_ns);
            ps_table_set_real(t, 2, noise ? ROWS[r].share / 100 : ROWS[r].share);
            ps_table_set_real(t, 3, ROWS[r].held);
            ps_table_set_int(t, 4, ROWS[r].weights);
        }
        assert_int_equal(ps_report_best_schedule(t), noise ? SIZE_MAX : 4);
        ps_table_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(even_stages),
        cmocka_unit_test(advice_is_true_here),
        cmocka_unit_test(best_schedule_costs_least),

        cmocka_unit_test(a_rank_that_is_slow_alone),
        cmocka_unit_test(a_rank_slower_than_a_slow_stage),
        cmocka_unit_test(replay_unlike_the_step),
        cmocka_unit_test(many_microbatches),
        cmocka_unit_test(slow_stage),
        cmocka_unit_test(latency),
        cmocka_unit_test(receives),
        cmocka_unit_test(receives_of_several_ranks),
        cmocka_unit_test(traces_with_labels),
        cmocka_unit_test(pause_of_the_first_stage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

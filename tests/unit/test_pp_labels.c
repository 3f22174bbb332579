/* The chart of traces that frameworks label. The oracle is the schedule that made the trace: order, labels and device
 * times of every op must come back, whoever launched the kernels. */
#include "support/pp_trace.h"

#include <stdio.h>
#include <string.h>

#include "analyze/pipeline/infer_flows.h"
#include "analyze/pipeline/rank_labels_steps.h"
#include "base/alloc.h"
#include "support/profile.h"
#include "support/runs.h"
#include "support/sanitized.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static const pp_spec ALL[] = {
    {.schedule = "gpipe", .params = {.n_stages = 2, .n_microbatches = 3}},
    {.schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 4}},
    {.schedule = "interleaved", .params = {.n_stages = 2, .n_microbatches = 4, .n_chunks = 2}},
    {.schedule = "zb-h1", .params = {.n_stages = 2, .n_microbatches = 4}},
    {.schedule = "zb-h2", .params = {.n_stages = 3, .n_microbatches = 6}},
    {.schedule = "zb-v", .params = {.n_stages = 2, .n_microbatches = 4}},
    {.schedule = "interleaved-zb", .params = {.n_stages = 2, .n_microbatches = 4, .n_chunks = 2}},
    {.schedule = "looped-bfs", .params = {.n_stages = 2, .n_microbatches = 3, .n_chunks = 2}},
    {.schedule = "dualpipe", .params = {.n_stages = 4, .n_microbatches = 8}},
    {.schedule = "dualpipev", .params = {.n_stages = 2, .n_microbatches = 4}},
    {.schedule = "gpipe", .params = {.n_stages = 8, .n_microbatches = 16}},
    {.schedule = "1f1b", .params = {.n_stages = 8, .n_microbatches = 24}},
    {.schedule = "interleaved", .params = {.n_stages = 4, .n_microbatches = 12, .n_chunks = 3}},
    /* the group that PyTorch takes where m is no multiple of p */
    {.schedule = "interleaved",
     .params = {.n_stages = 4, .n_microbatches = 10, .n_chunks = 2, .group = 5}},
    {.schedule = "interleaved",
     .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2, .overlap = true}},
    {.schedule = "zb-h1", .params = {.n_stages = 4, .n_microbatches = 12}},
    {.schedule = "zb-h2", .params = {.n_stages = 4, .n_microbatches = 12}},
    {.schedule = "zb-v", .params = {.n_stages = 4, .n_microbatches = 12}},
    {.schedule = "interleaved-zb", .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2}},
    {.schedule = "dualpipe", .params = {.n_stages = 8, .n_microbatches = 20}},
    {.schedule = "dualpipev", .params = {.n_stages = 4, .n_microbatches = 10}},
    {.schedule = "dualpipev", .params = {.n_stages = 4, .n_microbatches = 8, .tail_full = true}},
};

static void tiny_run(pp_tiny *t, pp_outcome *o, ps_trace **trace, const ps_analysis_opts *opts) {
    *trace = ps_builder_seal(t->b, NULL);
    assert_non_null(*trace);
    pp_run(o, trace, 1, opts);
}

static void expect_op(const pp_outcome *o, size_t i, const char *name, int64_t start, int64_t end) {
    const ps_chart *c = o->result.chart;
    assert_true(i < c->n_ops);
    assert_string_equal(c->ops[i].name, name);
    assert_int_equal(c->ops[i].start_ns + c->origin_ns, start);
    assert_int_equal(c->ops[i].end_ns + c->origin_ns, end);
}

/* Ops of one rank and step against the list of its stage: same order, same labels, the times of the simulation. */
static void expect_rank(const ps_chart *chart, const pp_traces *t, uint32_t row, int64_t step,
                        int64_t base_ns, bool with_labels) {
    int32_t stage = chart->ranks[row].stage;
    const ps_schedule *schedule = t->plan->schedule;
    int32_t per_chunk = ps_schedule_microbatches(schedule, &t->plan->params);
    size_t at = t->plan->first[stage];
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        bool transfer = op->kind == PS_OP_SEND || op->kind == PS_OP_RECV;
        if (op->rank != row || op->step != step || transfer || op->kind == PS_OP_OTHER) {
            continue;
        }
        assert_true(at < t->plan->first[stage + 1]);
        const ps_sched_op *theory = &t->plan->ops[at];
        char label[64];
        ps_op_label(per_chunk, theory, label, sizeof label);
        if (with_labels) {
            assert_string_equal(op->name, label);
            assert_int_equal(op->kind, theory->kind);
            assert_int_equal(op->chunk, theory->chunk);
            assert_int_equal(op->microbatch, theory->microbatch);
            assert_int_equal(op->chunk2, theory->chunk2);
            assert_int_equal(op->microbatch2, theory->microbatch2);
        }
        assert_int_equal(op->start_ns + chart->origin_ns, base_ns + t->start_ns[at]);
        assert_int_equal(op->end_ns + chart->origin_ns, base_ns + t->end_ns[at]);
        at++;
    }
    assert_int_equal(at, t->plan->first[stage + 1]);
}

#define DEVICE_BASE_NS (PP_EPOCH_NS + 6000000) /* of the first step */

static void expect_chart(const pp_outcome *o, const pp_traces *t, const char *schedule) {
    if (o->code != PS_OK) {
        fail_msg("%s: %s", schedule, o->err.msg);
    }
    const ps_chart *chart = o->result.chart;
    assert_non_null(chart);
    assert_int_equal(chart->n_ranks, t->n);
    assert_string_equal(chart->schedule, schedule);
    for (uint32_t r = 0; r < chart->n_ranks; r++) {
        assert_int_equal(chart->ranks[r].stage, r % (uint32_t)t->plan->params.n_stages);
        assert_int_equal(chart->ranks[r].pipeline, r / (uint32_t)t->plan->params.n_stages);
        expect_rank(chart, t, r, 0, DEVICE_BASE_NS, true);
    }
}

static void test_every_schedule_comes_back(void **context) {
    (void)context;
    for (size_t k = 0; k < N(ALL); k++) {
        for (int extras = 0; extras < 2; extras++) {
            pp_spec spec = ALL[k];
            pp_traces t;
            pp_outcome o;
            spec.extras = extras == 1;
            pp_traces_make(&t, &spec);
            pp_run(&o, t.traces, t.n, NULL);
            expect_chart(&o, &t, spec.schedule);
            const ps_chart *chart = o.result.chart;
            assert_string_equal(chart->schedule_how, "recognised, 100.0 % of ops agree");
            assert_true(chart->labels_are_exact);
            assert_non_null(strstr(chart->labels, "torch.distributed.pipelining"));
            /* Links are those of the plan; the report is the one of marks. */
            size_t n_links = 0;
            for (uint32_t op = 0; op < t.plan->n_ops; op++) {
                n_links += t.plan->forward_input[op] != PS_NO_OP;
                n_links += t.plan->backward_input[op] != PS_NO_OP;
            }
            assert_int_equal(chart->n_links, n_links);
            assert_true(chart->n_bubbles > 0);
            assert_int_equal(pp_count(&o, t.n, PS_ODD_OP_MISSING), 0);
            assert_int_equal(pp_count(&o, t.n, PS_ODD_RANGE_NO_KERNEL), 0);
            pp_outcome_fini(&o);
            pp_traces_fini(&t);
        }
    }
}

/* p = 2, m = 2, 1F1B by hand: stage 0 F0 F1 B0 B1, stage 1 F0 B0 F1 B1. */
static void test_a_small_pipeline_by_hand(void **context) {
    (void)context;
    static const char *const NAMES[2] = {"0 1 0B 1B", "0 0B 1 1B"};
    const pp_spec spec = {.schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 2}};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    assert_int_equal(o.code, PS_OK);
    for (uint32_t r = 0; r < 2; r++) {
        char names[64] = "";
        for (size_t i = 0; i < o.result.chart->n_ops; i++) {
            const ps_op *op = &o.result.chart->ops[i];
            if (op->rank == r) {
                size_t n = strlen(names);
                (void)snprintf(names + n, sizeof names - n, "%s%s", n > 0 ? " " : "", op->name);
                assert_int_equal(op->source, PS_SOURCE_MARK);
            }
        }
        assert_string_equal(names, NAMES[r]);
    }
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* The host issues everything long before the device runs it: both are in the chart, and they differ. */
static void test_host_and_device_times_are_kept(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 4}};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    assert_int_equal(o.code, PS_OK);
    for (size_t i = 0; i < o.result.chart->n_ops; i++) {
        const ps_op *op = &o.result.chart->ops[i];
        assert_true(op->has_host);
        assert_int_equal(op->host_end_ns - op->host_start_ns, 1000);
        assert_true(op->host_end_ns < op->start_ns);
    }
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

static void test_lost_label_costs_one_op(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "1f1b",
                          .params = {.n_stages = 4, .n_microbatches = 8},
                          .lost_rank = 1,
                          .lost = 6};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_string_equal(o.result.chart->schedule, "1f1b");
    assert_int_equal(o.result.chart->n_ops, t.plan->n_ops - 1);
    assert_int_equal(pp_count(&o, t.n, PS_ODD_OP_MISSING), 1);
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

static void test_old_revision_is_read_by_its_own_words(void **context) {
    (void)context;
    for (size_t k = 0; k < N(ALL); k++) {
        pp_spec spec = ALL[k];
        pp_traces t;
        pp_outcome o;
        /* OVERLAP_F_B came later. */
        if (strncmp(spec.schedule, "dual", 4) == 0 || spec.params.overlap) {
            continue;
        }
        spec.style = PP_OLD_ACTIONS;
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, NULL);
        expect_chart(&o, &t, spec.schedule);
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

static void test_gpipe_labels(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "gpipe",
                          .params = {.n_stages = 4, .n_microbatches = 6},
                          .style = PP_GPIPE,
                          .n_steps = 2};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    expect_chart(&o, &t, "gpipe");
    assert_non_null(strstr(o.result.chart->labels, "order of the ranks"));
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

static void test_functions_are_named_by_the_schedule(void **context) {
    (void)context;
    static const pp_spec SPECS[] = {
        {.schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}},
        {.schedule = "interleaved", .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2}},
        {.schedule = "zb-h1", .params = {.n_stages = 4, .n_microbatches = 8}},
        {.schedule = "dualpipev", .params = {.n_stages = 4, .n_microbatches = 10}},
    };
    for (size_t k = 0; k < N(SPECS); k++) {
        pp_spec spec = SPECS[k];
        pp_traces t;
        pp_outcome o;
        spec.style = PP_FUNCTIONS;
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, NULL);
        expect_chart(&o, &t, spec.schedule);
        assert_false(o.result.chart->labels_are_exact);
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

/* On a CPU alone the range itself is the op, and the chart says so. */
static void test_without_a_device_the_host_counts(void **context) {
    (void)context;
    const pp_spec spec = {
        .schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .no_device = true};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    expect_chart(&o, &t, "1f1b");
    assert_non_null(strstr(o.result.chart->labels, "no device in the trace"));
    for (size_t i = 0; i < o.result.chart->n_ops; i++) {
        const ps_op *op = &o.result.chart->ops[i];
        assert_int_equal(op->host_start_ns, op->start_ns);
        assert_int_equal(op->host_end_ns, op->end_ns);
    }
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* Labels that stand there again begin the next step; windows of the profiler give the steps their numbers. */
static void test_steps(void **context) {
    (void)context;
    for (int windows = 0; windows < 2; windows++) {
        const pp_spec spec = {.schedule = "zb-h1",
                              .params = {.n_stages = 2, .n_microbatches = 4},
                              .n_steps = 3,
                              .windows = windows == 1};
        pp_traces t;
        pp_outcome o;
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, NULL);
        assert_int_equal(o.code, PS_OK);
        assert_string_equal(o.result.chart->schedule, "zb-h1");
        assert_int_equal(o.result.chart->n_ops, 3 * t.plan->n_ops);
        int64_t first = windows == 1 ? 7 : 0;
        int64_t longest = 0;
        for (uint32_t op = 0; op < t.plan->n_ops; op++) {
            longest = t.end_ns[op] > longest ? t.end_ns[op] : longest;
        }
        for (int64_t step = 0; step < 3; step++) {
            int64_t base = DEVICE_BASE_NS + step * (longest + 3000000);
            expect_rank(o.result.chart, &t, 0, first + step, base, true);
            expect_rank(o.result.chart, &t, 1, first + step, base, true);
        }
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

/* "F0 B0 f1 | F0": ops of a stage in windows, in small letters where nothing runs in them. What is left of them. */
static void expect_without_evaluations(const char *ops, const char *left, size_t n_evaluated) {
    ps_labelled list[32] = {0};
    char got[96] = "";
    size_t n = 0;
    size_t n_dropped = 0;
    int64_t step = 7;
    for (const char *p = ops; *p != '\0'; p++) {
        step += *p == '|';
        if (strchr("FfBb", *p) != NULL) {
            bool forward = *p == 'F' || *p == 'f';
            list[n] = (ps_labelled){.is_empty = *p == 'f' || *p == 'b'};
            list[n].mark.step = step;
            list[n].label = (ps_host_label){.kind = forward ? PS_OP_F : PS_OP_B,
                                            .microbatch = p[1] - '0',
                                            .stage2 = -1,
                                            .microbatch2 = -1};
            n++;
        }
    }
    assert_true(ps_label_steps_drop_evaluations(list, &n, &n_dropped));
    for (size_t i = 0; i < n; i++) {
        size_t at = strlen(got);
        (void)snprintf(got + at, sizeof got - at, "%s%s%s%d", i > 0 ? " " : "",
                       i > 0 && list[i].mark.step != list[i - 1].mark.step ? "| " : "",
                       list[i].label.kind == PS_OP_F ? "F" : "B", (int)list[i].label.microbatch);
    }
    assert_string_equal(got, left);
    assert_int_equal(n_dropped, n_evaluated);
}

static void test_evaluations_are_in_no_step(void **context) {
    (void)context;
    expect_without_evaluations("F0 B0 F1 B1 F0 F1 | F0 B0 F1 B1", "F0 B0 F1 B1 | F0 B0 F1 B1", 2);
    expect_without_evaluations("F0 B0 F1 B1 F0 b0 F1 b1", "F0 B0 F1 B1", 2); /* as PyTorch does */
    expect_without_evaluations("F0 F1 F0 F1 B0 B1", "F0 F1 B0 B1", 2);       /* before the step */
    expect_without_evaluations("F0 F1 F0 F1 F0 F1 B0 B1", "F0 F1 B0 B1", 4);
    expect_without_evaluations("F0 B0 F1", "F0 B0 F1", 0); /* the capture ends */
    expect_without_evaluations("F0 F1 B1", "F0 F1 B1", 0); /* a lost label */
    expect_without_evaluations("F0 F1 F0 F1 B0 B1 B0 B1", "F0 F1 F0 F1 B0 B1 B0 B1",
                               0);                                     /* both backwards follow */
    expect_without_evaluations("F0 B0 F1 B1 F0", "F0 B0 F1 B1 F0", 0); /* counts do not agree */
    expect_without_evaluations("F0 F1 | F0 B0 F1 B1", "F0 F1 | F0 B0 F1 B1", 0);
    expect_without_evaluations("F0 b0 F1 b1", "F0 B0 F1 B1", 0); /* nothing tells what runs */
}

static void test_replicas_are_pipelines(void **context) {
    (void)context;
    for (int groups = 0; groups < 2; groups++) {
        const pp_spec spec = {.schedule = "1f1b",
                              .params = {.n_stages = 2, .n_microbatches = 4},
                              .n_replicas = 3,
                              .groups = groups == 1};
        pp_traces t;
        pp_outcome o;
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, NULL);
        assert_int_equal(t.n, 6);
        expect_chart(&o, &t, "1f1b");
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

/* A rank whose trace is missing leaves the others where they are. */
static void test_missing_rank(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "zb-v", .params = {.n_stages = 4, .n_microbatches = 8}};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    ps_trace *some[3] = {t.traces[0], t.traces[2], t.traces[3]};
    pp_run(&o, some, 3, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_string_equal(o.result.chart->schedule, "zb-v");
    assert_int_equal(o.result.chart->ranks[0].stage, 0);
    assert_int_equal(o.result.chart->ranks[1].stage, 2);
    assert_int_equal(o.result.chart->ranks[2].stage, 3);
    assert_int_equal(pp_count(&o, 3, PS_ODD_STAGE_MISSING), 1);
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

static void test_rules_of_the_user(void **context) {
    (void)context;
    static const struct {
        const char *forward, *backward, *microbatch;
        bool exact;
    } RULES[] = {{"fwd mb=([0-9]+)", "bwd mb=([0-9]+)", NULL, true},
                 {"^step: fwd", "^step: bwd", "mb=([0-9]+)", true},
                 {"fwd", "bwd", NULL, false}};
    const pp_spec spec = {
        .schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .style = PP_USER};
    pp_traces t;
    pp_traces_make(&t, &spec);
    for (size_t k = 0; k < N(RULES); k++) {
        ps_analysis_opts opts = {.step_id = -1,
                                 .in_full = true,
                                 .forward_re = RULES[k].forward,
                                 .backward_re = RULES[k].backward,
                                 .microbatch_re = RULES[k].microbatch};
        pp_outcome o;
        pp_run(&o, t.traces, t.n, &opts);
        expect_chart(&o, &t, "1f1b");
        assert_int_equal(o.result.chart->labels_are_exact, RULES[k].exact);
        pp_outcome_fini(&o);
    }
    pp_traces_fini(&t);
}

/* Rules win over labels of frameworks, also when they match nothing. */
static void test_rules_win(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 2}};
    ps_analysis_opts opts = {.step_id = -1, .forward_re = "nothing of the kind"};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, &opts);
    assert_int_equal(o.map_codes[0], PS_NOTHING);
    assert_null(o.result.chart);
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* Rules whose numbers repeat for each chunk: the schedule tells the chunks apart. */
static void test_rules_with_chunks(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "interleaved",
                          .params = {.n_stages = 2, .n_microbatches = 4, .n_chunks = 2},
                          .style = PP_USER,
                          .n_steps = 2,
                          .windows = true};
    ps_analysis_opts opts = {
        .step_id = -1, .forward_re = "fwd mb=([0-9]+)", .backward_re = "bwd mb=([0-9]+)"};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, &opts);
    assert_int_equal(o.code, PS_OK);
    assert_string_equal(o.result.chart->schedule, "interleaved");
    expect_rank(o.result.chart, &t, 0, 7, DEVICE_BASE_NS, true);
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* Nothing but flows: the pipeline is inferred, once something says that there is one. */
static void test_inference(void **context) {
    (void)context;
    static const struct {
        pp_spec spec;
        bool by_option;
    } CASES[] = {
        {{.schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}}, true},
        {{.schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .groups = true},
         false},
        {{.schedule = "1f1b",
          .params = {.n_stages = 4, .n_microbatches = 8},
          .transfers = true,
          .n_replicas = 2},
         false},
        {{.schedule = "gpipe", .params = {.n_stages = 2, .n_microbatches = 4}}, true},
        {{.schedule = "interleaved", .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2}},
         true},
    };
    for (size_t k = 0; k < N(CASES); k++) {
        pp_spec spec = CASES[k].spec;
        pp_traces t;
        pp_outcome o;
        spec.style = PP_FLOWS;
        spec.n_steps = 2;
        spec.windows = true;
        ps_analysis_opts opts = {.step_id = -1, .in_full = true};
        opts.pp = CASES[k].by_option ? spec.params.n_stages : 0;
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, &opts);
        if (o.code != PS_OK) {
            fail_msg("case %zu: %s", k, o.err.msg);
        }
        const ps_chart *chart = o.result.chart;
        assert_string_equal(chart->schedule, spec.schedule);
        assert_int_equal(chart->n_ranks, t.n);
        assert_non_null(strstr(chart->labels, "inferred"));
        for (uint32_t r = 0; r < chart->n_ranks; r++) {
            assert_int_equal(chart->ranks[r].stage, r % (uint32_t)spec.params.n_stages);
            assert_int_equal(chart->ranks[r].pipeline, r / (uint32_t)spec.params.n_stages);
            expect_rank(chart, &t, r, 7, DEVICE_BASE_NS, true);
        }
        uint64_t n = 0;
        for (size_t i = 0; i < chart->n_ops; i++) {
            bool transfer = chart->ops[i].kind == PS_OP_SEND || chart->ops[i].kind == PS_OP_RECV;
            assert_true(transfer || chart->ops[i].source == PS_SOURCE_INFERRED);
            n += !transfer;
        }
        assert_int_equal(pp_count(&o, t.n, PS_ODD_INFERRED), n);
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

/* Pairs that flows tell keep to one another, and no two ops of a rank and step have one name. */
static void test_inferred_names_are_distinct(void **context) {
    (void)context;
    static const pp_spec SPECS[] = {
        {.schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .lost = 4},
        {.schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .lost = 6},
        {.schedule = "gpipe", .params = {.n_stages = 4, .n_microbatches = 8}, .lost = 2},
        {.schedule = "interleaved",
         .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2},
         .lost = 5},
    };
    for (size_t k = 0; k < N(SPECS); k++) {
        pp_spec spec = SPECS[k];
        pp_traces t;
        pp_outcome o;
        spec.style = PP_FLOWS;
        spec.lost_rank = 1;
        ps_analysis_opts opts = {.step_id = -1, .pp = spec.params.n_stages};
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, &opts);
        assert_int_equal(o.code, PS_OK);
        const ps_chart *chart = o.result.chart;
        assert_string_equal(chart->schedule, spec.schedule);
        int seen[256] = {0};
        for (size_t i = 0; i < chart->n_ops; i++) {
            const ps_op *op = &chart->ops[i];
            assert_int_equal(op->source, PS_SOURCE_INFERRED);
            if (op->rank == 1 && op->microbatch >= 0) {
                int at = (op->kind == PS_OP_F ? 0 : 128) + (op->chunk * 32) + op->microbatch;
                assert_int_equal(seen[at]++, 0);
            }
        }
        for (int i = 0; i < 128; i++) {
            assert_int_equal(seen[i], seen[128 + i]);
        }
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

/* One backward more than the schedule has: it is named by its kind, not by a number that another op carries. */
static void test_what_agrees_with_nothing_takes_no_name(void **context) {
    (void)context;
    static const char KINDS[] = "FFFFBBBBB";
    pp_outcome o;
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        pp_tiny t = pp_tiny_new();
        for (int i = 0; i < 9; i++) {
            pp_tiny_range(&t, KINDS[i] == 'F' ? "forward_step" : "backward_step", 100 + 20 * i,
                          110 + 20 * i);
            /* rank 1 is a forward behind, its backwards come before those of rank 0 */
            int64_t at = 1000 + 100 * i + (r == 1 ? 100 : KINDS[i] == 'B' ? 200 : 0);
            pp_tiny_kernel(&t, PS_SLICE_KERNEL, 101 + 20 * i, at, at + 90);
        }
        traces[r] = ps_builder_seal(t.b, NULL);
        assert_non_null(traces[r]);
    }
    pp_run(&o, traces, 2, NULL);
    assert_int_equal(o.code, PS_OK);
    const ps_chart *c = o.result.chart;
    assert_true(c->schedule[0] != '\0');
    size_t n_plain = 0;
    for (size_t i = 0; i < c->n_ops; i++) {
        n_plain += strcmp(c->ops[i].name, "BP") == 0;
        for (size_t k = 0; k < i; k++) {
            assert_true(c->ops[k].rank != c->ops[i].rank ||
                        strcmp(c->ops[k].name, c->ops[i].name) != 0);
        }
    }
    assert_int_equal(n_plain, 2);
    pp_outcome_fini(&o);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

static void tiny_operator(pp_tiny *t, const char *name, int64_t start, int64_t end) {
    (void)ps_builder_slice(t->b, PS_SLICE_HOST_OP, t->host,
                           ps_builder_str(t->b, name, strlen(name)), start, end, 0);
}

/* Widens ops, given from first to last operator in the trace's own times, and compares. */
static void expect_widened(pp_tiny *t, const int64_t (*own)[3], const int64_t (*wide)[2], size_t n,
                           bool told) {
    ps_trace *trace = ps_builder_seal(t->b, NULL);
    ps_links links;
    ps_inferred ops[8];
    assert_non_null(trace);
    assert_int_equal(ps_links_init(&links, trace, NULL), PS_OK);
    const ps_slices *s = ps_trace_slices(trace);
    int64_t origin = ps_trace_origin_ns(trace);
    for (size_t i = 0; i < n; i++) {
        ops[i] = (ps_inferred){.start_ns = own[i][0] - origin,
                               .end_ns = own[i][1] - origin,
                               .is_backward = own[i][2] != 0};
        for (uint32_t k = 0; k < s->n; k++) {
            bool is_op = s->kind[k] == PS_SLICE_HOST_OP;
            ops[i].first = is_op && s->start_ns[k] == ops[i].start_ns ? k : ops[i].first;
            ops[i].last = is_op && ps_slice_end(s, k) == ops[i].end_ns ? k : ops[i].last;
        }
    }
    ps_inferred_list list = {.ops = ops, .n = n};
    bool known = false;
    assert_true(ps_inferred_widen(&links, &list, &known));
    assert_int_equal(known, told);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(ops[i].start_ns + origin, told ? wide[i][0] : own[i][0]);
        assert_int_equal(ops[i].end_ns + origin, told ? wide[i][1] : own[i][1]);
    }
    ps_links_fini(&links);
    ps_trace_free(trace);
}

/* The host sleeps in its modules, before and behind the operators of a forward, times in ms:
 *
 *   step begins 0, loader's operator 10-20, forward 100-110, hands over 130-140
 *   receive posted 140-145 and there at 180, forward 230-240 behind an item() at 185-190, hands over 250
 *   receive there at 299.5, forward 300-310: half a millisecond is the schedule's own, of every op
 *   optimizer ends 400, forward 450-460 of the next step: what lies before it may be anything */
static void test_work_outside_of_operators(void **context) {
    (void)context;
    enum { MS = 1000000 };
    static const int64_t OPS[][3] = {{100 * MS, 110 * MS, 0},
                                     {230 * MS, 240 * MS, 0},
                                     {300 * MS, 310 * MS, 0},
                                     {450 * MS, 460 * MS, 0}};
    /* The first as long before its operators as the second. */
    static const int64_t WIDE[][2] = {{50 * MS + MS / 2, 130 * MS},
                                      {180 * MS + MS / 2, 250 * MS},
                                      {300 * MS, 310 * MS},
                                      {450 * MS, 460 * MS}};
    for (int told = 1; told >= 0; told--) {
        pp_tiny t = pp_tiny_new();
        pp_tiny_range(&t, "ProfilerStep#1", 0, 390 * MS);
        tiny_operator(&t, "aten::stack", 10 * MS, 20 * MS);
        tiny_operator(&t, "aten::mm", 100 * MS, 110 * MS);
        tiny_operator(&t, "c10d::send", 130 * MS, 135 * MS);
        tiny_operator(&t, "c10d::recv_", 140 * MS, 145 * MS);
        if (told == 1) {
            pp_tiny_range(&t, "gloo:send", 135 * MS, 140 * MS);
            pp_tiny_range(&t, "gloo:recv", 145 * MS, 180 * MS);
            pp_tiny_range(&t, "gloo:recv", 260 * MS, 299 * MS + MS / 2);
        }
        tiny_operator(&t, "aten::item", 185 * MS, 190 * MS);
        tiny_operator(&t, "aten::mm", 230 * MS, 240 * MS);
        tiny_operator(&t, "c10d::send", 250 * MS, 255 * MS);
        tiny_operator(&t, "aten::mm", 300 * MS, 310 * MS);
        pp_tiny_range(&t, "Optimizer.step#SGD.step", 320 * MS, 400 * MS);
        tiny_operator(&t, "aten::mm", 450 * MS, 460 * MS);
        expect_widened(&t, OPS, WIDE, N(OPS), told == 1);
    }
}

/* Flows lead to operators inside of others: linear holds the addmm, autograd's call of a node the node; the call that adds up a gradient
 * has no flow. An op that follows another without a call of a library begins behind it. Times in ms.
 *
 *   receive there at 100, linear 150-160 with its addmm 152-158, hands over 170
 *   receive there at 300, node 350-370 with 352-360, gradient 380-390 with 382-385, then a forward 450-460 with 451-455 */
static void test_operators_around_flows(void **context) {
    (void)context;
    enum { MS = 1000000 };
    static const int64_t OPS[][3] = {
        {152 * MS, 158 * MS, 0}, {352 * MS, 360 * MS, 1}, {451 * MS, 455 * MS, 0}};
    static const int64_t WIDE[][2] = {
        {100 * MS, 170 * MS}, {300 * MS, 390 * MS}, {390 * MS, 460 * MS}};
    pp_tiny t = pp_tiny_new();
    pp_tiny_range(&t, "gloo:recv", 10 * MS, 100 * MS);
    tiny_operator(&t, "c10d::recv_", 5 * MS, 9 * MS);
    tiny_operator(&t, "aten::linear", 150 * MS, 160 * MS);
    tiny_operator(&t, "aten::addmm", 152 * MS, 158 * MS);
    tiny_operator(&t, "c10d::send", 170 * MS, 180 * MS);
    tiny_operator(&t, "c10d::recv_", 181 * MS, 190 * MS);
    pp_tiny_range(&t, "gloo:recv", 191 * MS, 300 * MS);
    tiny_operator(&t, "autograd::engine::evaluate_function: AddmmBackward0", 350 * MS, 370 * MS);
    tiny_operator(&t, "AddmmBackward0", 352 * MS, 360 * MS);
    tiny_operator(&t, "autograd::engine::evaluate_function: torch::autograd::AccumulateGrad",
                  380 * MS, 390 * MS);
    tiny_operator(&t, "aten::add_", 382 * MS, 385 * MS);
    tiny_operator(&t, "aten::linear", 450 * MS, 460 * MS);
    tiny_operator(&t, "aten::addmm", 451 * MS, 455 * MS);
    expect_widened(&t, OPS, WIDE, N(OPS), true);
}

/* Flows of a host whose transfers nobody timed: the figure says that it is a bound. */
static void test_bubble_is_at_most(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "1f1b",
                          .params = {.n_stages = 2, .n_microbatches = 4},
                          .style = PP_FLOWS,
                          .no_device = true};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_true(o.result.chart->is_at_most);
    assert_non_null(strstr(o.result.chart->labels, "by an unknown part"));
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* Nothing says how many stages there are: as many as ranks are tried, and the chart says so. */
static void test_ranks_are_tried_as_stages(void **context) {
    (void)context;
    const pp_spec spec = {
        .schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}, .style = PP_FLOWS};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, NULL);
    expect_chart(&o, &t, "1f1b");
    assert_non_null(strstr(o.result.chart->labels, "tried"));
    assert_non_null(strstr(o.result.chart->labels, "--pp"));
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* Data-parallel training has such flows too: nobody waits for anybody, and it is no pipeline. */
static void test_flows_alone_are_no_pipeline(void **context) {
    (void)context;
    static const int MICROBATCHES[] = {1, 4, 16};
    for (size_t k = 0; k < N(MICROBATCHES); k++) {
        for (int32_t n_ranks = 2; n_ranks <= 8; n_ranks *= 2) {
            const pp_spec spec = {.schedule = "1f1b",
                                  .params = {.n_stages = 1, .n_microbatches = MICROBATCHES[k]},
                                  .n_replicas = n_ranks,
                                  .n_steps = 2,
                                  .windows = true,
                                  .style = PP_FLOWS};
            pp_traces t;
            pp_outcome o;
            pp_traces_make(&t, &spec);
            pp_run(&o, t.traces, t.n, NULL);
            assert_int_equal(o.code, PS_NOTHING);
            assert_non_null(strstr(o.err.msg, "--pp"));
            assert_null(o.result.chart);
            pp_outcome_fini(&o);
            pp_traces_fini(&t);
        }
    }
}

/* Who says that there is one stage is told that this is no pipeline, and not to say how many there are. */
static void test_flows_of_one_stage(void **context) {
    (void)context;
    const pp_spec spec = {
        .schedule = "1f1b", .params = {.n_stages = 1, .n_microbatches = 4}, .style = PP_FLOWS};
    const ps_analysis_opts opts = {.pp = 1};
    pp_traces t;
    pp_outcome o;
    pp_traces_make(&t, &spec);
    pp_run(&o, t.traces, t.n, &opts);
    assert_int_equal(o.code, PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "--pp 1: one stage is no pipeline"));
    assert_null(strstr(o.err.msg, "give --pp"));
    pp_outcome_fini(&o);
    pp_traces_fini(&t);
}

/* Every microbatch passes every stage. Where flows tell twice as many on one, they tell of something else: no chart, --pp or not. */
static void test_inference_that_cannot_be_true(void **context) {
    (void)context;
    const pp_spec few = {
        .schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 8}, .style = PP_FLOWS};
    pp_spec many = few;
    many.params.n_microbatches = 16;
    for (int32_t pp = 0; pp <= 2; pp += 2) {
        pp_traces a;
        pp_traces b;
        pp_outcome o;
        ps_analysis_opts opts = {.step_id = -1, .in_full = true, .pp = pp};
        pp_traces_make(&a, &few);
        pp_traces_make(&b, &many);
        ps_trace *mixed[2] = {a.traces[0], b.traces[1]};
        pp_run(&o, mixed, 2, &opts);
        assert_int_equal(o.code, PS_NOTHING);
        assert_non_null(strstr(o.err.msg, "stage 0 (rank 0) would have 8, stage 1 (rank 1) 16"));
        assert_non_null(strstr(o.err.msg, "pipescope.pipelining.record()"));
        assert_null(o.result.chart);
        pp_outcome_fini(&o);
        pp_traces_fini(&a);
        pp_traces_fini(&b);
    }
}

/* Input and weight gradients apart run a node again: one rank alone gives that away. */
static void test_backwards_in_two_parts(void **context) {
    (void)context;
    static const char NODE[] = "autograd::engine::evaluate_function: MmBackward0";
    for (int n_runs = 1; n_runs <= 2; n_runs++) {
        pp_tiny t = pp_tiny_new();
        ps_trace *trace = NULL;
        pp_outcome o;
        ps_analysis_opts opts = {.step_id = -1, .in_full = true, .pp = 2};
        ps_str name = ps_builder_str(t.b, NODE, strlen(NODE));
        uint32_t forward = ps_builder_slice(t.b, PS_SLICE_HOST_OP, t.host,
                                            ps_builder_str(t.b, "aten::mm", 8), 100, 200, 0);
        for (int k = 0; k < n_runs; k++) {
            uint32_t node = ps_builder_slice(t.b, PS_SLICE_HOST_OP, t.host, name, 300 + 200 * k,
                                             400 + 200 * k, 0);
            ps_builder_flow_of(t.b, forward, node, ps_builder_str(t.b, "fwdbwd", 6));
        }
        tiny_run(&t, &o, &trace, &opts);
        assert_int_equal(o.code, n_runs == 1 ? PS_OK : PS_NOTHING);
        if (n_runs == 2) {
            assert_non_null(strstr(o.err.msg, "on rank 0 backwards run in two parts"));
        }
        pp_outcome_fini(&o);
        ps_trace_free(trace);
    }
}

static void test_what_an_extent_is_made_of(void **context) {
    (void)context;
    pp_tiny t = pp_tiny_new();
    ps_trace *trace = NULL;
    pp_outcome o;
    pp_tiny_range(&t, "PP:0F0", 100, 200); /* computing kernels count, communication does not */
    pp_tiny_kernel(&t, PS_SLICE_COMM_KERNEL, 110, 1000, 1900);
    pp_tiny_kernel(&t, PS_SLICE_KERNEL, 120, 1100, 1200);
    pp_tiny_kernel(&t, PS_SLICE_COPY, 130, 1300, 1400);
    pp_tiny_kernel(&t, PS_SLICE_SYNC, 140, 1400, 1800);
    pp_tiny_range(&t, "PP:0F1", 201, 300); /* nothing else there */
    pp_tiny_kernel(&t, PS_SLICE_COMM_KERNEL, 210, 2000, 2100);
    pp_tiny_range(&t, "PP:0F2", 300, 400); /* nothing at all */
    pp_tiny_range(&t, "PP:0F3", 400, 500); /* a launch on the edge is the later range's */
    pp_tiny_kernel(&t, PS_SLICE_KERNEL, 400, 3000, 3100);
    pp_tiny_kernel(&t, PS_SLICE_KERNEL, 600, 5000, 5100); /* of nobody */
    tiny_run(&t, &o, &trace, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.result.chart->n_ops, 3);
    expect_op(&o, 0, "0", 1100, 1400);
    expect_op(&o, 1, "1", 2000, 2100);
    expect_op(&o, 2, "3", 3000, 3100);
    assert_int_equal(o.diags[0].counts[PS_ODD_RANGE_NO_KERNEL], 1);
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

/* Workers of a job merged into one file: forwards of two threads at a time are no stage. A backward beside a forward may be. */
static void test_several_workers_in_one_file(void **context) {
    (void)context;
    static const char *const OTHERS[] = {"forward-compute", "backward-compute"};
    for (size_t k = 0; k < N(OTHERS); k++) {
        pp_tiny t = pp_tiny_new();
        ps_trace *trace = NULL;
        pp_outcome o;
        uint32_t other = ps_builder_track(
            t.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 99, .device = -1});
        for (int64_t at = 0; at < 400; at += 100) {
            pp_tiny_range(&t, "forward-compute", at, at + 90);
            (void)ps_builder_slice(t.b, PS_SLICE_ANNOTATION, other,
                                   ps_builder_str(t.b, OTHERS[k], strlen(OTHERS[k])), at + 10,
                                   at + 80, 0);
        }
        tiny_run(&t, &o, &trace, NULL);
        assert_int_equal(o.map_codes[0], k == 0 ? PS_NOTHING : PS_OK);
        assert_true((o.result.chart == NULL) == (k == 0));
        pp_outcome_fini(&o);
        ps_trace_free(trace);
    }
}

/* A pair without labels inside is one op; with labels it is those. */
static void test_pairs_with_labels_inside(void **context) {
    (void)context;
    pp_tiny t = pp_tiny_new();
    ps_trace *trace = NULL;
    pp_outcome o;
    pp_tiny_range(&t, "PP:(0F0;1B1)OVERLAP_F_B", 100, 200);
    pp_tiny_kernel(&t, PS_SLICE_KERNEL, 110, 1000, 1100);
    pp_tiny_range(&t, "PP:(0F1;1B2)OVERLAP_F_B", 300, 400);
    pp_tiny_range(&t, "PP:0F1", 310, 340);
    pp_tiny_kernel(&t, PS_SLICE_KERNEL, 320, 2000, 2100);
    pp_tiny_range(&t, "PP:1B2", 350, 390);
    pp_tiny_kernel(&t, PS_SLICE_KERNEL, 360, 2050, 2200);
    tiny_run(&t, &o, &trace, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.result.chart->n_ops, 3);
    const ps_op *pair = &o.result.chart->ops[0];
    assert_int_equal(pair->kind, PS_OP_FB);
    assert_int_equal(pair->chunk, 0);
    assert_int_equal(pair->microbatch, 0);
    assert_int_equal(pair->chunk2, 1);
    assert_int_equal(pair->microbatch2, 1);
    assert_int_equal(o.result.chart->ops[1].kind, PS_OP_F);
    assert_int_equal(o.result.chart->ops[2].kind, PS_OP_B);
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

static void test_layers_make_ops(void **context) {
    (void)context;
    static const char *const NAMES[] = {
        "layer_0f",          "layer_1f",          "layer_0f-layer_1b", "layer_1f-layer_0b",
        "layer_0f-layer_1b", "layer_1f-layer_0b", "layer_1b",          "layer_0b"};
    static const uint8_t KINDS[] = {PS_OP_F, PS_OP_FB, PS_OP_FB, PS_OP_B};
    pp_tiny t = pp_tiny_new();
    ps_trace *trace = NULL;
    pp_outcome o;
    for (int i = 0; i < (int)N(NAMES); i++) {
        pp_tiny_range(&t, NAMES[i], 100 + 10 * i, 109 + 10 * i);
        pp_tiny_kernel(&t, PS_SLICE_KERNEL, 101 + 10 * i, 1000 + 100 * i, 1100 + 100 * i);
    }
    tiny_run(&t, &o, &trace, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.result.chart->n_ops, N(KINDS));
    for (size_t i = 0; i < N(KINDS); i++) {
        const ps_op *op = &o.result.chart->ops[i];
        assert_int_equal(op->kind, KINDS[i]);
        assert_int_equal(op->end_ns - op->start_ns, 200);
    }
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

/* Forwards recomputed inside of a backward, and the wrapper of the whole step, are no ops. */
static void test_nested_and_wrapping_functions(void **context) {
    (void)context;
    pp_tiny t = pp_tiny_new();
    ps_trace *trace = NULL;
    pp_outcome o;
    pp_tiny_range(&t, "forward_backward_func.forward_step", 50, 1000);
    for (int i = 0; i < 3; i++) {
        pp_tiny_range(&t, "forward_step", 100 + 200 * i, 150 + 200 * i);
        pp_tiny_kernel(&t, PS_SLICE_KERNEL, 110 + 200 * i, 2000 + 200 * i, 2050 + 200 * i);
        pp_tiny_range(&t, "backward_step", 200 + 200 * i, 280 + 200 * i);
        pp_tiny_range(&t, "forward_step", 210 + 200 * i, 240 + 200 * i);
        pp_tiny_kernel(&t, PS_SLICE_KERNEL, 220 + 200 * i, 2100 + 200 * i, 2150 + 200 * i);
    }
    tiny_run(&t, &o, &trace, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.result.chart->n_ops, 6);
    assert_int_equal(o.diags[0].counts[PS_ODD_MARK_CONTAINER], 1);
    assert_int_equal(o.diags[0].counts[PS_ODD_MARK_NESTED], 3);
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

/* --- clocks -------------------------------------------------------------------------------------------------------- */

static void test_clocks_of_hosts(void **context) {
    (void)context;
    const pp_spec spec = {.schedule = "1f1b",
                          .params = {.n_stages = 4, .n_microbatches = 8},
                          .transfers = true,
                          .n_hosts = 2,
                          .skew_ns = 1750000};
    pp_traces t;
    pp_traces_make(&t, &spec);
    for (int align = 0; align < 2; align++) {
        ps_analysis_opts opts = {.step_id = -1,
                                 .in_full = true,
                                 .clocks = align == 1 ? PS_CLOCKS_ALL : PS_CLOCKS_MEASURED};
        pp_outcome o;
        pp_run(&o, t.traces, t.n, &opts);
        assert_int_equal(o.code, PS_OK);
        const ps_chart *chart = o.result.chart;
        assert_int_equal(chart->is_aligned, align == 1);
        for (uint32_t r = 0; r < 4; r++) {
            const ps_chart_rank *rank = &chart->ranks[r];
            int64_t true_offset = r < 2 ? 0 : 1750000;
            assert_int_equal(rank->machine, r < 2 ? 0 : 1);
            assert_true(rank->has_clock);
            int64_t off = rank->clock_offset_ns - true_offset;
            assert_true(off <= rank->clock_uncertainty_ns && -off <= rank->clock_uncertainty_ns);
            /* Forwards and backwards pass in turn with 500 ns between: that is all the room there is. */
            assert_true(rank->clock_uncertainty_ns <= 1000);
            int64_t moved = align == 1 ? rank->clock_offset_ns : 0;
            expect_rank(chart, &t, r, 0, DEVICE_BASE_NS + true_offset - moved, true);
        }
        pp_outcome_fini(&o);
    }
    pp_traces_fini(&t);
}

/* --- files --------------------------------------------------------------------------------------------------------- */

static void test_files_of_the_profiler(void **state) {
    const place *where = *state;
    for (size_t k = 0; k < 9; k++) {
        pp_spec spec = ALL[k];
        pp_traces t;
        outcome o;
        spec.extras = true;
        place inner = place_inner(where, spec.schedule);
        pp_traces_write(&spec, inner.dir);
        pp_traces_make(&t, &spec);
        ps_run_opts opts = default_opts();
        opts.export_type = PS_EXPORT_NOTHING;
        run_mode(&o, inner.dir, "pp_labels", &opts);
        if (o.run == NULL) {
            fail_msg("%s: %s", spec.schedule, o.err.msg);
        }
        const ps_chart *chart = o.run->results[0].chart;
        assert_non_null(chart);
        assert_string_equal(chart->schedule, spec.schedule);
        for (uint32_t r = 0; r < chart->n_ranks; r++) {
            expect_rank(chart, &t, r, 0, DEVICE_BASE_NS, true);
        }
        outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

/* --- memory -------------------------------------------------------------------------------------------------------- */

static void test_every_allocation_may_fail(void **context) {
    (void)context;
    static const pp_spec SPECS[] = {
        {.schedule = "zb-v",
         .params = {.n_stages = 2, .n_microbatches = 4},
         .transfers = true,
         .groups = true,
         .n_hosts = 2},
        {.schedule = "1f1b",
         .params = {.n_stages = 2, .n_microbatches = 3},
         .style = PP_FLOWS,
         .groups = true},
        {.schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 3}, .style = PP_FUNCTIONS},
    };
    for (size_t k = 0; k < N(SPECS); k++) {
        pp_traces t;
        ps_analysis_opts opts = {.step_id = -1, .clocks = PS_CLOCKS_ALL};
        pp_traces_make(&t, &SPECS[k]);
        for (int64_t n = 0;; n += PS_NEXT_FAILURE) {
            pp_outcome o;
            (void)ps_alloc_fail_at(n);
            pp_run(&o, t.traces, t.n, &opts);
            bool done = ps_alloc_fail_at(-1) <= n;
            bool failed = o.code != PS_OK;
            for (size_t r = 0; r < t.n; r++) {
                failed = failed || o.map_codes[r] != PS_OK;
            }
            if (failed) {
                assert_int_equal(o.err.code, PS_NOMEM);
            }
            pp_outcome_fini(&o);
            if (done) {
                assert_false(failed);
                break;
            }
        }
        pp_traces_fini(&t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_schedule_comes_back),
        cmocka_unit_test(test_a_small_pipeline_by_hand),
        cmocka_unit_test(test_host_and_device_times_are_kept),
        cmocka_unit_test(test_lost_label_costs_one_op),
        cmocka_unit_test(test_old_revision_is_read_by_its_own_words),
        cmocka_unit_test(test_gpipe_labels),
        cmocka_unit_test(test_functions_are_named_by_the_schedule),
        cmocka_unit_test(test_without_a_device_the_host_counts),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_evaluations_are_in_no_step),
        cmocka_unit_test(test_replicas_are_pipelines),
        cmocka_unit_test(test_missing_rank),
        cmocka_unit_test(test_rules_of_the_user),
        cmocka_unit_test(test_rules_win),
        cmocka_unit_test(test_rules_with_chunks),
        cmocka_unit_test(test_inference),
        cmocka_unit_test(test_inferred_names_are_distinct),
        cmocka_unit_test(test_what_agrees_with_nothing_takes_no_name),
        cmocka_unit_test(test_work_outside_of_operators),
        cmocka_unit_test(test_operators_around_flows),
        cmocka_unit_test(test_bubble_is_at_most),
        cmocka_unit_test(test_ranks_are_tried_as_stages),
        cmocka_unit_test(test_flows_alone_are_no_pipeline),
        cmocka_unit_test(test_flows_of_one_stage),
        cmocka_unit_test(test_inference_that_cannot_be_true),
        cmocka_unit_test(test_backwards_in_two_parts),
        cmocka_unit_test(test_what_an_extent_is_made_of),
        cmocka_unit_test(test_several_workers_in_one_file),
        cmocka_unit_test(test_pairs_with_labels_inside),
        cmocka_unit_test(test_layers_make_ops),
        cmocka_unit_test(test_nested_and_wrapping_functions),
        cmocka_unit_test(test_clocks_of_hosts),
        IN_PLACE(test_files_of_the_profiler),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Labelled profiles that are not as they should be: what the chart makes of them, and that it says so. */
#include "support/pp_trace.h"

#include <stdio.h>
#include <string.h>

#include "analyze/comm/skew.h"
#include "analyze/comm/transfers.h"
#include "analyze/pipeline/infer_flows.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum { PITCH_NS = 1000, LENGTH_NS = 800, LATER_NS = 5000000 };

/* Ranges in a row, each with one kernel later on. */
static void put_names(pp_tiny *t, const char *const *names, size_t n, int64_t at) {
    for (size_t i = 0; i < n; i++) {
        int64_t start = at + (int64_t)i * PITCH_NS;
        pp_tiny_range(t, names[i], start, start + LENGTH_NS);
        pp_tiny_kernel(t, PS_SLICE_KERNEL, start + 10, start + LATER_NS,
                       start + LATER_NS + LENGTH_NS);
    }
}

static ps_trace *seal(pp_tiny *t) {
    ps_trace *trace = ps_builder_seal(t->b, NULL);
    assert_non_null(trace);
    return trace;
}

static ps_trace *trace_of(const char *const *names, size_t n) {
    pp_tiny t = pp_tiny_new();
    put_names(&t, names, n, 100);
    return seal(&t);
}

/* "0:F0 B0 | 1:F0": labels of one rank by step, as the chart has them. */
static void say_steps(const ps_chart *c, uint32_t rank, char *out, size_t size) {
    bool any = false;
    int64_t step = 0;
    size_t n = 0;
    out[0] = '\0';
    for (size_t i = 0; i < c->n_ops; i++) {
        const ps_op *op = &c->ops[i];
        if (op->rank != rank) {
            continue;
        }
        if (!any || op->step != step) {
            n += (size_t)snprintf(out + n, size - n, "%s%d:", any ? " | " : "", (int)op->step);
        } else {
            n += (size_t)snprintf(out + n, size - n, " ");
        }
        n += (size_t)snprintf(out + n, size - n, "%s", op->name);
        any = true;
        step = op->step;
    }
}

static void expect_steps(const pp_outcome *o, uint32_t rank, const char *expected) {
    char text[1024];
    assert_int_equal(o->code, PS_OK);
    say_steps(o->result.chart, rank, text, sizeof text);
    assert_string_equal(text, expected);
}

/* --- steps --------------------------------------------------------------------------------------------------------- */

static void test_capture_begins_inside_a_step(void **context) {
    (void)context;
    static const char *const FIRST_LOST[] = {"PP:0F1", "PP:0B0", "PP:0B1", "PP:0F0",
                                             "PP:0F1", "PP:0B0", "PP:0B1"};
    static const char *const LATE[] = {"Forward 2",  "Backward 0", "Backward 1", "Backward 2",
                                       "Forward 0",  "Forward 1",  "Forward 2",  "Backward 0",
                                       "Backward 1", "Backward 2"};
    pp_outcome o;
    ps_trace *trace = trace_of(FIRST_LOST, N(FIRST_LOST));
    pp_run(&o, &trace, 1, NULL);
    expect_steps(&o, 0, "0:1 0B 1B | 1:0 1 0B 1B");
    assert_int_equal(o.diags[0].counts[PS_ODD_STEP_CUT], 1);
    pp_outcome_fini(&o);
    ps_trace_free(trace);
    trace = trace_of(LATE, N(LATE));
    pp_run(&o, &trace, 1, NULL);
    expect_steps(&o, 0, "0:2 0B 1B 2B | 1:0 1 2 0B 1B 2B");
    assert_int_equal(o.diags[0].counts[PS_ODD_STEP_CUT], 1);
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

/* Whatever the schedule, and wherever the capture begins: the second step is whole. */
static void test_cut_steps_of_every_schedule(void **context) {
    (void)context;
    static const pp_spec ALL[] = {
        {.schedule = "gpipe", .params = {.n_stages = 4, .n_microbatches = 6}},
        {.schedule = "1f1b", .params = {.n_stages = 4, .n_microbatches = 8}},
        {.schedule = "interleaved", .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2}},
        {.schedule = "zb-h1", .params = {.n_stages = 4, .n_microbatches = 8}},
        {.schedule = "zb-h2", .params = {.n_stages = 4, .n_microbatches = 12}},
        {.schedule = "zb-v", .params = {.n_stages = 4, .n_microbatches = 8}},
        {.schedule = "interleaved-zb",
         .params = {.n_stages = 4, .n_microbatches = 8, .n_chunks = 2}},
        {.schedule = "dualpipe", .params = {.n_stages = 4, .n_microbatches = 10}},
        {.schedule = "dualpipev", .params = {.n_stages = 4, .n_microbatches = 10}},
    };
    for (size_t k = 0; k < 3 * N(ALL); k++) {
        pp_spec spec = ALL[k / 3];
        pp_traces t;
        pp_outcome o;
        spec.n_steps = 3;
        spec.cut = (int)(k % 3) * 2 + 1;
        pp_traces_make(&t, &spec);
        pp_run(&o, t.traces, t.n, NULL);
        assert_int_equal(o.code, PS_OK);
        assert_string_equal(o.result.chart->schedule, spec.schedule);
        assert_int_equal(pp_count(&o, t.n, PS_ODD_STEP_CUT), t.n);
        for (uint32_t r = 0; r < t.n; r++) {
            size_t n_ops = t.plan->first[r + 1] - t.plan->first[r];
            size_t n[3] = {0};
            for (size_t i = 0; i < o.result.chart->n_ops; i++) {
                const ps_op *op = &o.result.chart->ops[i];
                assert_in_range(op->step, 0, 2);
                n[op->step] += op->rank == r;
            }
            assert_int_equal(n[0], n_ops - (size_t)spec.cut);
            assert_int_equal(n[1], n_ops);
            assert_int_equal(n[2], n_ops);
        }
        pp_outcome_fini(&o);
        pp_traces_fini(&t);
    }
}

static const char *const STEP[] = {"Forward 0", "Forward 1", "Backward 0", "Backward 1"};

/* Three windows; in those of `twice` (bits) the step runs twice. */
static ps_trace *windows_of(unsigned twice) {
    pp_tiny t = pp_tiny_new();
    int64_t at = 100;
    for (int w = 0; w < 3; w++) {
        int64_t start = at;
        for (unsigned k = 0; k <= (twice >> w & 1); k++) {
            put_names(&t, STEP, N(STEP), at);
            at += (int64_t)N(STEP) * PITCH_NS;
        }
        ps_builder_step(t.b, 10 + w, start - 1, at - 50);
    }
    return seal(&t);
}

static void test_windows_stay(void **context) {
    (void)context;
    pp_outcome o;
    ps_trace *traces[2] = {windows_of(2), windows_of(0)};
    pp_run(&o, traces, 2, NULL);
    expect_steps(&o, 0, "10:0 1 0B 1B | 11:0 1 0B 1B 0 1 0B 1B | 12:0 1 0B 1B");
    expect_steps(&o, 1, "10:0 1 0B 1B | 11:0 1 0B 1B | 12:0 1 0B 1B");
    assert_int_equal(o.diags[0].counts[PS_ODD_LABEL_TWICE], 4);
    assert_int_equal(o.diags[1].counts[PS_ODD_LABEL_TWICE], 0);
    pp_outcome_fini(&o);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

/* Windows that hold several steps each on all ranks are none of the pipeline's. */
static void test_windows_of_several_steps(void **context) {
    (void)context;
    pp_outcome o;
    ps_trace *traces[2] = {windows_of(7), windows_of(7)};
    pp_run(&o, traces, 2, NULL);
    for (uint32_t r = 0; r < 2; r++) {
        expect_steps(&o, r,
                     "0:0 1 0B 1B | 1:0 1 0B 1B | 2:0 1 0B 1B | 3:0 1 0B 1B | 4:0 1 0B 1B | "
                     "5:0 1 0B 1B");
        assert_int_equal(o.diags[r].counts[PS_ODD_LABEL_TWICE], 0);
    }
    pp_outcome_fini(&o);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

/* A short window inside of a long one hides nothing behind it. */
static void test_overlapping_windows(void **context) {
    (void)context;
    pp_outcome o;
    pp_tiny t = pp_tiny_new();
    put_names(&t, STEP, N(STEP), 1000);
    ps_builder_step(t.b, 1, 900, 9000);
    ps_builder_step(t.b, 2, 1900, 2900);
    ps_trace *trace = seal(&t);
    pp_run(&o, &trace, 1, NULL);
    expect_steps(&o, 0, "1:0 | 2:1 | 1:0B 1B");
    assert_int_equal(o.diags[0].counts[PS_ODD_MARK_NO_STEP], 0);
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

/* --- numbers of the user --------------------------------------------------------------------------------------------- */

static void run_user(pp_outcome *o, const char *const *names, size_t n) {
    const ps_analysis_opts opts = {
        .step_id = -1, .forward_re = "^f([0-9]+)", .backward_re = "^b([0-9]+)"};
    ps_trace *trace = trace_of(names, n);
    pp_run(o, &trace, 1, &opts);
    ps_trace_free(trace);
}

static void test_numbers_of_chunks(void **context) {
    (void)context;
    static const char *const TWO[] = {"f0", "f1", "f0", "f1", "b0", "b1", "b0", "b1",
                                      "f0", "f1", "f0", "f1", "b0", "b1", "b0", "b1"};
    static const char *const ODD[] = {"f0", "f1", "b0", "f0", "b1", "b0", "f1", "b1"};
    pp_outcome o;
    run_user(&o, TWO, N(TWO));
    expect_steps(&o, 0, "0:0 1 2 3 2B 3B 0B 1B | 1:0 1 2 3 2B 3B 0B 1B");
    assert_true(o.result.chart->labels_are_exact);
    assert_int_equal(o.diags[0].counts[PS_ODD_LABEL_NUMBERS], 0);
    pp_outcome_fini(&o);
    run_user(&o, ODD, N(ODD));
    assert_int_equal(o.code, PS_OK);
    assert_false(o.result.chart->labels_are_exact);
    assert_int_equal(o.diags[0].counts[PS_ODD_LABEL_NUMBERS], 1);
    pp_outcome_fini(&o);
}

/* --- labels ----------------------------------------------------------------------------------------------------------- */

static void test_too_many_stages_of_a_rank(void **context) {
    (void)context;
    enum { N_STAGES = 70 };
    pp_outcome o;
    pp_tiny t = pp_tiny_new();
    for (int i = 0; i < 2 * N_STAGES; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "PP:%d%c0", i < N_STAGES ? i : 2 * N_STAGES - 1 - i,
                       i < N_STAGES ? 'F' : 'B');
        const char *const names[] = {name};
        put_names(&t, names, 1, 100 + i * PITCH_NS);
    }
    ps_trace *trace = seal(&t);
    pp_run(&o, &trace, 1, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.result.chart->n_ops, 128);
    assert_int_equal(o.diags[0].counts[PS_ODD_RANK_STAGES], 12);
    assert_string_equal(o.diags[0].places[PS_ODD_RANK_STAGES][0], "stage 64");
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(o.result.chart->ops[i].chunk, i);
    }
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

static void test_labels_that_can_not_be_read(void **context) {
    (void)context;
    static const char *const NAMES[] = {
        "PP:0F0", "PP:0X0", "PP:0F70000", "PP:(0F1;1B0;0W0)OVERLAP_F_B", "PP:0RESHARD", "PP:0B0"};
    pp_outcome o;
    ps_trace *trace = trace_of(NAMES, N(NAMES));
    pp_run(&o, &trace, 1, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.diags[0].counts[PS_ODD_TEXT], 3);
    assert_string_equal(o.diags[0].places[PS_ODD_TEXT][0], "label 'PP:0X0'");
    pp_outcome_fini(&o);
    ps_trace_free(trace);
}

/* --- flows ------------------------------------------------------------------------------------------------------------- */

/* Operators may be differentiated by several; that is no turn of the order. */
static void test_forwards_with_several_backwards(void **context) {
    (void)context;
    pp_tiny t = pp_tiny_new();
    ps_str op = ps_builder_str(t.b, "op", 2);
    ps_str flow = ps_builder_str(t.b, "fwdbwd", 6);
    uint32_t rows[12]; /* two microbatches: forwards 0 1, backwards 1 1 0 0 */
    for (int i = 0; i < 12; i++) {
        rows[i] = ps_builder_slice(t.b, PS_SLICE_HOST_OP, t.host, op, 100 * i, 100 * i + 50, i);
    }
    for (int k = 0; k < 2; k++) {
        for (int b = 0; b < 4; b++) {
            ps_builder_flow_of(t.b, rows[6 * k + (b < 2)], rows[6 * k + 2 + b], flow);
        }
    }
    ps_trace *trace = seal(&t);
    ps_inferred_list found;
    assert_int_equal(ps_infer_from_flows(trace, &found, NULL), PS_OK);
    assert_int_equal(found.n, 4);
    for (size_t i = 0; i < found.n; i++) {
        assert_int_equal(found.ops[i].number, i / 2);
        assert_int_equal(found.ops[i].is_backward, i % 2);
    }
    ps_inferred_list_fini(&found);
    ps_trace_free(trace);
}

/* --- transfers ----------------------------------------------------------------------------------------------------------- */

static uint32_t put_kernel(pp_tiny *t, const char *what, int64_t start) {
    uint32_t row = ps_builder_slice(t->b, PS_SLICE_COMM_KERNEL, t->stream,
                                    ps_builder_str(t->b, "nccl", 4), start, start + 10, 0);
    ps_builder_arg_str(t->b, row, "Collective name", ps_builder_str(t->b, what, strlen(what)));
    ps_builder_arg_str(t->b, row, "Process Group Name", ps_builder_str(t->b, "1", 1));
    return row;
}

static void test_transfers_without_a_peer(void **context) {
    (void)context;
    pp_tiny t = pp_tiny_new();
    (void)put_kernel(&t, "send", 0);
    uint32_t row = put_kernel(&t, "recv", 100);
    ps_builder_arg_int(t.b, row, "Src Rank", -1);
    row = put_kernel(&t, "recv", 200);
    ps_builder_arg_int(t.b, row, "Src Rank", 3);
    ps_trace *trace = seal(&t);
    const ps_analysis_opts opts = {.step_id = -1};
    ps_transfers found;
    ps_diag diag = {0};
    assert_int_equal(ps_transfers_collect(trace, &opts, 2, &found, &diag, NULL), PS_OK);
    assert_int_equal(found.p2p.n, 1);
    assert_int_equal(diag.counts[PS_ODD_P2P_PEER], 2);
    ps_transfers_fini(&found);
    ps_trace_free(trace);
}

/* Two stages of two ranks each; the groups of both stages are called "1". What one stage does says nothing of the
 * clock of the other. */
static void test_groups_of_one_name(void **context) {
    (void)context;
    static const char *const FORWARD[2] = {"PP:0F0", "PP:1F0"};
    static const char *const BACKWARD[2] = {"PP:0B0", "PP:1B0"};
    for (int by_args = 0; by_args < 2; by_args++) {
        ps_trace *traces[4];
        pp_outcome o;
        for (int r = 0; r < 4; r++) {
            int stage = r / 2;
            char info[256];
            char ranks[32];
            pp_tiny t = pp_tiny_new();
            (void)snprintf(ranks, sizeof ranks, "[%d, %d]", 2 * stage, 2 * stage + 1);
            (void)snprintf(info, sizeof info,
                           "{\"rank\":%d,\"pg_config\":[{\"pg_name\":\"1\",\"ranks\":%s}]}", r,
                           ranks);
            ps_builder_meta(t.b, "host_name", stage == 0 ? "a" : "b");
            if (by_args == 0) {
                ps_builder_meta(t.b, "distributedInfo", info);
            }
            put_names(&t, &FORWARD[stage], 1, 1000 + stage * 1000);
            put_names(&t, &BACKWARD[stage], 1, 4000 - stage * 1000);
            for (int k = 0; k < 3; k++) {
                uint32_t row = put_kernel(&t, "allreduce", LATER_NS + (stage + 1) * 1000 + 100 * k);
                ps_builder_arg_int(t.b, row, "Seq", k);
                if (by_args == 1) {
                    ps_builder_arg_str(t.b, row, "Process Group Ranks",
                                       ps_builder_str(t.b, ranks, strlen(ranks)));
                }
            }
            traces[r] = seal(&t);
        }
        pp_run(&o, traces, 4, NULL);
        assert_int_equal(o.code, PS_OK);
        assert_int_equal(o.result.chart->n_ranks, 4);
        assert_int_equal(pp_count(&o, 4, PS_ODD_CLOCKS), 0);
        assert_true(o.result.chart->ranks[2].has_clock);
        assert_int_equal(o.result.chart->ranks[2].clock_offset_ns, 0); /* as the links allow it */
        pp_outcome_fini(&o);
        for (int r = 0; r < 4; r++) {
            ps_trace_free(traces[r]);
        }
    }
}

enum { SKEW_NS = 30000, STEP_NS = 6000000 };

/* One of two stages, each on its own host; the second one's clock is ahead. Two collectives a step, without numbers, which both
 * ranks leave at once; the capture of the second one began after the first of them. */
static ps_trace *stage_with_collectives(int stage) {
    static const char *const FORWARD[2] = {"PP:0F0", "PP:1F0"};
    static const char *const BACKWARD[2] = {"PP:0B0", "PP:1B0"};
    int64_t ahead_ns = stage * SKEW_NS;
    pp_tiny t = pp_tiny_new();
    ps_builder_meta(t.b, "host_name", stage == 0 ? "a" : "b");
    put_names(&t, &FORWARD[stage], 1, 1000 + stage * 100000 + ahead_ns);
    put_names(&t, &BACKWARD[stage], 1, 400000 - stage * 100000 + ahead_ns);
    for (int step = 0; step < 2; step++) {
        ps_builder_step(t.b, step, step * STEP_NS + ahead_ns, (step + 1) * STEP_NS + ahead_ns);
        for (int k = stage == 1 && step == 0; k < 2; k++) {
            (void)put_kernel(&t, "allreduce", step * STEP_NS + (k + 1) * 1000000 + ahead_ns);
        }
    }
    return seal(&t);
}

/* The clocks of a chart stand on the collectives that the job's matcher finds: where a window is cut, on those of the other
 * steps. Bounds by links alone would allow equal clocks. */
static void test_one_matcher_of_collectives(void **context) {
    (void)context;
    ps_trace *traces[2];
    ps_comm_list lists[2];
    const ps_comm_list *pointers[2];
    const ps_rank_info ranks[2] = {{.rank = 0, .machine = 0}, {.rank = 1, .machine = 1}};
    ps_skew_input in = {.lists = pointers, .ranks = ranks, .n_ranks = 2, .step = -1};
    ps_skew skew;
    ps_diag diag = {0};
    pp_outcome o;
    for (int r = 0; r < 2; r++) {
        traces[r] = stage_with_collectives(r);
        assert_int_equal(ps_comm_list_collect(traces[r], NULL, NULL, &lists[r], &diag, NULL),
                         PS_OK);
        pointers[r] = &lists[r];
    }
    assert_int_equal(ps_skew_measure(&in, &skew, NULL), PS_OK);
    assert_int_equal(skew.n_collectives, 2);
    assert_int_equal(skew.clocks[1].offset_ns, SKEW_NS);
    pp_run(&o, traces, 2, NULL);
    assert_int_equal(o.code, PS_OK);
    assert_true(o.result.chart->ranks[1].has_clock);
    assert_int_equal(o.result.chart->ranks[1].clock_offset_ns, skew.clocks[1].offset_ns);
    pp_outcome_fini(&o);
    ps_skew_fini(&skew);
    for (int r = 0; r < 2; r++) {
        ps_comm_list_fini(&lists[r]);
        ps_trace_free(traces[r]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_capture_begins_inside_a_step),
        cmocka_unit_test(test_cut_steps_of_every_schedule),
        cmocka_unit_test(test_windows_stay),
        cmocka_unit_test(test_windows_of_several_steps),
        cmocka_unit_test(test_overlapping_windows),
        cmocka_unit_test(test_numbers_of_chunks),
        cmocka_unit_test(test_too_many_stages_of_a_rank),
        cmocka_unit_test(test_labels_that_can_not_be_read),
        cmocka_unit_test(test_forwards_with_several_backwards),
        cmocka_unit_test(test_transfers_without_a_peer),
        cmocka_unit_test(test_groups_of_one_name),
        cmocka_unit_test(test_one_matcher_of_collectives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

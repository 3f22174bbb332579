/* What a finding may promise: no more than the ranks leave that have as much to do; the order of findings; the verdict. Times in the
 * comments are microseconds. */
#include "analyze/report/report_gains.h"
#include "support/report_run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Three ranks with one MatMul and one allReduce that ends at 900 on all. Rank 2's MatMul takes 700 instead of 300; rank 1 has
 * an Add of `add` besides. */
static void run_unequal(report_run *out, int64_t add) {
    ps_trace *traces[3];
    for (int rank = 0; rank < 3; rank++) {
        rig r = rig_begin(900);
        int64_t end = rank == 2 ? 710 : 310;
        (void)rig_kernel(&r, "MatMul", "64,64", 0, 10, end);
        if (rank == 1) {
            (void)rig_kernel(&r, "Add", "64,64", 2, end, end + add);
            end += add;
        }
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", end, 900, 1024);
        traces[rank] = rig_seal(&r);
    }
    report_over(out, traces, 3, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

/* The kernel costs rank 2 400. Rank 1 with an Add of 340: computing 640, exposed 250 of which it waits 60 for rank 2, so it
 * works 830 itself. A step of 900 gains 70 and not 400. With an Add of 10: rank 1 works 310 + 580 - 390 = 500, rank 2
 * without the cause 700 + 190 - 400 = 490: 400 can be gained. */
static void another_rank_has_as_much_to_do(void **state) {
    (void)state;
    report_run o;
    run_unequal(&o, 340);
    assert_int_equal(report_gain(&o, PS_RULE_SLOW_KERNEL), 70 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_SLOW_KERNEL), "take 400 us longer"));
    assert_non_null(strstr(report_text(&o, PS_RULE_SLOW_KERNEL),
                           "the device of rank 1 would still work for 830 us in a step"));
    assert_non_null(
        strstr(report_text(&o, PS_RULE_SLOW_KERNEL),
               "By itself that saves at most 60.0 us: rank 1 waits for others no longer than "
               "that and would still take 840 us."));
    report_fini(&o);
    run_unequal(&o, 10);
    assert_int_equal(report_gain(&o, PS_RULE_SLOW_KERNEL), 400 * US);
    assert_null(strstr(report_text(&o, PS_RULE_SLOW_KERNEL), "would still work"));
    report_fini(&o);
}

/* MatMul 10 to 300, communication alone from 300 to 400, Add launched at `call` that runs 705 to 1000. Launched at 700 the device
 * waits 301 + 1 for the host, and 100 of communication stand alone because nothing else was launched: a step of 1000 may save 402,
 * and computes 585 in any case. Launched at 349, so that the launch returned at 350, 50 of it were. Launched before it the communication is what
 * the Add waits for. Where the host waits for the communication itself that is not the host's either. */
static void late_launches_leave_communication_alone(void **state) {
    (void)state;
    static const struct {
        int64_t call, gain, comm;
        bool waits;
    } CASES[] = {{700, 301 + 1 + 100, 100, false},
                 {349, 0, 50, false},
                 {5, 0, 0, false},
                 {700, 302, 0, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double always[PS_N_RULES];
        ps_thresholds_default(always);
        always[PS_RULE_FREE_SHARE] = 0;
        ps_analysis_opts opts = {.step_id = -1, .thresholds = always};
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 10, 300);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 300, 400, 1024);
        if (CASES[i].waits) {
            (void)rig_host(&r, PS_SLICE_CALL, "cudaStreamSynchronize", 290, 400);
        }
        (void)rig_kernel(&r, "Add", NULL, CASES[i].call, 705, 1000);
        ps_trace *t = rig_seal(&r);
        report_over(&o, &t, 1, &opts, NULL);
        int64_t idle = CASES[i].gain > 0 ? CASES[i].gain : 1 + CASES[i].comm;
        assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), idle * US);
        assert_int_equal(strstr(report_text(&o, PS_RULE_FREE_SHARE),
                                "nothing but communicate with nothing to compute launched") != NULL,
                         CASES[i].comm > 0);
        report_fini(&o);
    }
}

/* Of 300 of communication alone a late host leaves all: that it is in two findings is said. */
static void communication_in_two_findings_is_said(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 10, 300);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 300, 600, 1024);
    (void)rig_kernel(&r, "Add", NULL, 800, 805, 1000);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    size_t row = report_row(&o, PS_RULE_COMM_EXPOSED);
    const ps_table *findings = report_table(&o, "findings");
    assert_int_equal(report_row(&o, PS_RULE_FREE_SHARE), 0);
    assert_true(row != SIZE_MAX);
    assert_string_equal(
        ps_table_cell(findings, row, ps_table_column(findings, "shared with"))->u.text, "1");
    report_fini(&o);
}

/* Two groups of three ranks: rank 1 comes 300 late to the collective of the first, which waits for it; the second comes at 800
 * as well, because of its hosts, and waits for nobody. So the job gains nothing of a rank 1 that is in time, until the others are shorter, too. */
static void another_group_takes_as_long(void **state) {
    (void)state;
    ps_trace *traces[6];
    for (int rank = 0; rank < 6; rank++) {
        rig r = rig_begin(1000);
        int64_t begin = rank == 0 || rank == 2 ? 500 : 800;
        const char *group = rank < 3 ? "first" : "second";
        r.group =
            ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                             .device = 0,
                                             .name = ps_builder_str(r.b, group, strlen(group))});
        (void)rig_kernel(&r, "MatMul", NULL, 0, 1, rank == 1 ? 800 : 500);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", begin, 1000, 1024);
        traces[rank] = rig_seal(&r);
    }
    report_run o;
    report_over(&o, traces, 6, NULL, NULL);
    assert_int_equal(report_gain(&o, PS_RULE_LATE_ARRIVAL), 300 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_LATE_ARRIVAL),
                           "By itself that saves nothing: rank 3 waits for nobody and would still "
                           "take 1.00 ms."));
    report_fini(&o);
}

/* Rank 0 computes 10 to 200 and 805 to 1000, launched at 800, and communicates 200 to 300. Rank 1 computes the same but launched in time, and
 * communicates alone for 200 to 800, and waits for nobody there: its step of 1000 gets shorter by the 1 that its own first launch takes,
 * whatever the host of rank 0 does. */
static void other_ranks_still_bound_a_late_host(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 10, 200);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 200, rank == 0 ? 300 : 800, 1024);
        (void)rig_kernel(&r, "Add", NULL, rank == 0 ? 800 : 5, 805, 1000);
        traces[rank] = rig_seal(&r);
    }
    report_run o;
    report_over(&o, traces, 2, NULL, NULL);
    assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), 1 * US);
    assert_non_null(strstr(
        report_text(&o, PS_RULE_FREE_SHARE),
        "Rank 1 bounds the gain: without that cause its step of 1.00 ms would still take 999 us."));
    report_fini(&o);
}

/* Two ranks that wait for nobody: what each loses to its host in the middle (and 1 at the beginning), and how long its step is. The value of
 * the rule, and so the sentence, is that of the one that loses most. The gain is the longest step less the longest that is left of any: of 1000
 * less 101 and 900 less 151 the first; of 1000 less 151 and 990 less 21 the second. */
static void steps_of_all_ranks_bound_a_gain(void **state) {
    (void)state;
    static const struct {
        int64_t step[2], idle[2], gain;
        const char *rank, *by;
    } CASES[] = {
        {{1000, 900},
         {100, 150},
         101,
         "On rank 1 the device is idle for 151 us of its step of 900 us",
         "Rank 0 bounds the gain: without that cause its step of 1.00 ms would still take 899 us."},
        {{1000, 990},
         {150, 20},
         31,
         "On rank 0 the device is idle for 151 us of a step of 1.00 ms",
         "Rank 1 bounds the gain: without that cause its step of 990 us would still take 969 us."}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_trace *traces[2];
        for (int rank = 0; rank < 2; rank++) {
            int64_t end = CASES[i].step[rank];
            int64_t idle = CASES[i].idle[rank];
            rig r = rig_begin(end);
            (void)rig_kernel(&r, "Add", NULL, 0, 1, 400);
            (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::sort", 1, 399 + idle);
            (void)rig_kernel(&r, "Mul", NULL, 399 + idle, 400 + idle, end);
            traces[rank] = rig_seal(&r);
        }
        report_run o;
        report_over(&o, traces, 2, NULL, NULL);
        const char *text = report_text(&o, PS_RULE_FREE_SHARE);
        assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), CASES[i].gain * US);
        if (strstr(text, CASES[i].rank) == NULL || strstr(text, CASES[i].by) == NULL) {
            fail_msg("%s", text);
        }
        report_fini(&o);
    }
}

/* Both ranks fetch a batch before the first work of their steps, for 300; rank 1 waits for its host later on, too, and is the worst of one of
 * the two findings of which the batch is a part. It names both, with the amounts on its own rank. */
static void a_part_of_two_findings_names_both(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        rig r = rig_begin(1000);
        (void)rig_host(&r, PS_SLICE_HOST_OP,
                       "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 0, 299);
        (void)rig_kernel(&r, "Add", NULL, 299, 300, 600);
        (void)rig_kernel(&r, "Mul", NULL, rank == 0 ? 609 : 699, rank == 0 ? 610 : 700, 1000);
        traces[rank] = rig_seal(&r);
    }
    report_run o;
    report_over(&o, traces, 2, NULL, NULL);
    const ps_table *findings = report_table(&o, "findings");
    const ps_table *shared = report_table(&o, "shared");
    size_t row = report_row(&o, PS_RULE_DATA_LOADING);
    assert_non_null(strstr(report_text(&o, PS_RULE_FREE_SHARE), "On rank 1"));
    assert_string_equal(
        ps_table_cell(findings, row, ps_table_column(findings, "shared with"))->u.text, "1, 2");
    size_t n = 0;
    for (size_t k = 0; k < shared->n_rows; k++) {
        if (ps_table_cell(shared, k, 0)->u.i == (int64_t)row + 1) {
            n++;
            assert_int_equal(ps_table_cell(shared, k, 1)->u.i, n);
            assert_in_range(ps_table_cell(shared, k, 2)->u.i, 290 * US, 300 * US);
        }
    }
    assert_int_equal(n, 2);
    report_fini(&o);
}

static int64_t gain_at(const ps_table *t, size_t row) {
    const ps_value *v = ps_table_cell(t, row, ps_table_column(t, "gain"));
    return v->is_null ? 0 : v->u.i;
}

/* Over all sections; none above the step. */
static void findings_rank_by_gain(void **state) {
    (void)state;
    report_run o;
    run_unequal(&o, 10);
    const ps_table *t = report_table(&o, "findings");
    assert_true(t->n_rows > 2);
    for (size_t r = 0; r < t->n_rows; r++) {
        assert_true(gain_at(t, r) >= 0 && gain_at(t, r) <= 900 * US);
        assert_true(r == 0 || gain_at(t, r) <= gain_at(t, r - 1));
        assert_int_equal(ps_table_cell(t, r, ps_table_column(t, "finding"))->u.i, r + 1);
    }
    report_fini(&o);
}

/* A finding that counts the same kind of time as one before it says so. */
static void shared_time_is_said(void **state) {
    (void)state;
    report_run o;
    run_unequal(&o, 10);
    const ps_table *t = report_table(&o, "findings");
    size_t with = ps_table_column(t, "shared with");
    bool any = false;
    for (size_t r = 0; r < t->n_rows; r++) {
        const ps_value *v = ps_table_cell(t, r, with);
        assert_true(v->is_null || (atoi(v->u.text) > 0 && atoi(v->u.text) <= (int)r));
        any = any || !v->is_null;
    }
    assert_true(ps_table_cell(t, 0, with)->is_null);
    assert_true(any);
    report_fini(&o);
}

static void verdict_names_the_largest(void **state) {
    (void)state;
    report_run o;
    run_unequal(&o, 10);
    const ps_table *findings = report_table(&o, "findings");
    const ps_table *t = report_table(&o, "verdict");
    assert_int_equal(t->n_rows, 1);
    const char *text = ps_table_cell(t, 0, ps_table_column(t, "verdict"))->u.text;
    const char *title = ps_table_cell(findings, 0, ps_table_column(findings, "title"))->u.text;
    assert_int_equal(strncmp(text, title, strlen(title)), 0);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "finding"))->u.i, 1);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "step without"))->u.i,
                     900 * US - gain_at(findings, 0));
    report_fini(&o);
}

/* A gap of 300, of which the host is in the optimiser for 120; a conversion of 60. The larger one comes next, though it is a part of
 * the first: 1 + 296, and 120 of it. */
static void verdict_tells_what_comes_next(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#SGD.step", 420, 540);
    (void)rig_kernel(&r, "TransData", NULL, 695, 700, 760);
    (void)rig_kernel(&r, "Add", NULL, 696, 760, 1000);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    const ps_table *verdict = report_table(&o, "verdict");
    assert_true(report_fired(&o, PS_RULE_CONVERSION));
    assert_non_null(
        strstr(ps_table_cell(verdict, 0, 0)->u.text,
               "Next: The optimiser's step waits for the host, at most 120 us (finding 2), "
               "which counts in finding 1, too."));
    report_fini(&o);
}

/* One kernel that fills its step: nothing to find. */
static void nothing_to_say(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    double never[PS_N_RULES];
    for (size_t i = 0; i < PS_N_RULES; i++) {
        never[i] = 1e300;
    }
    ps_analysis_opts opts = {.step_id = -1, .thresholds = never};
    (void)rig_kernel(&r, "MatMul", NULL, 0, 100, 900);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, &opts, NULL);
    assert_int_equal(report_table(&o, "findings")->n_rows, 0);
    assert_string_equal(
        ps_table_cell(report_table(&o, "verdict"), 0, 0)->u.text,
        "Nothing that could be judged is over its threshold. Computing takes 80.0 % of the step of rank 0 "
        "(1.00 ms).");
    report_fini(&o);
}

/* MatMul ran on three ranks, Add on one: a mean over ranks does not hide it. */
static void kernels_say_on_how_many_ranks(void **state) {
    (void)state;
    report_run o;
    run_unequal(&o, 10);
    const ps_table *t = report_table(&o, "kernels");
    size_t ranks = ps_table_column(t, "ranks");
    assert_int_equal(t->n_rows, 2);
    assert_true(ranks != SIZE_MAX);
    assert_int_equal(ps_table_cell(t, 0, ranks)->u.i, 3);
    assert_int_equal(ps_table_cell(t, 1, ranks)->u.i, 1);
    report_fini(&o);
}

/* The parts of a row add up; the busiest rank is the one that works most itself. */
static void stages_add_up(void **state) {
    (void)state;
    report_run o;
    run_unequal(&o, 340);
    const ps_table *t = report_table(&o, "overview_stages");
    assert_int_equal(t->n_rows, 1);
    static const char *const PARTS[] = {"before", "computing", "exposed",
                                        "copies", "free",      "after"};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        sum += ps_table_cell(t, 0, ps_table_column(t, PARTS[i]))->u.i;
    }
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "step"))->u.i, sum);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "ranks"))->u.i, 3);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "busiest rank"))->u.i, 2);
    assert_int_equal(ps_table_cell(t, 0, ps_table_column(t, "its own"))->u.i, 890 * US);
    report_fini(&o);
}

/* Rank 0 fetches a batch from 110 to 299 and waits in the collective from 400 to 600 for rank 1, whose host compiles from 110 to 499: what
 * rank 0 saves it waits longer. */
static void a_late_rank_bounds_the_others(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", "64,64", 0, 1, 110);
        (void)rig_host(&r, rank == 0 ? PS_SLICE_HOST_OP : PS_SLICE_CALL,
                       rank == 0 ? "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"
                                 : "aclopCompileAndExecute",
                       110, rank == 0 ? 299 : 499);
        (void)rig_kernel(&r, "Add", "64,64", rank == 0 ? 299 : 499, rank == 0 ? 300 : 500,
                         rank == 0 ? 400 : 600);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", rank == 0 ? 400 : 600, 700, 1024);
        (void)rig_kernel(&r, "Mul", "64,64", 2, 700, 1000);
        traces[rank] = rig_seal(&r);
    }
    report_run o;
    report_over(&o, traces, 2, NULL, NULL);
    assert_in_range(report_gain(&o, PS_RULE_DATA_LOADING), 0, 3 * US);
    assert_in_range(report_gain(&o, PS_RULE_JIT_COMPILE), 200 * US, 390 * US);
    report_fini(&o);
}

/* Of two conversions of 100 one lies beside communication, which takes as long without it. */
static void what_communication_hides_pays_nothing(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 50, 250, 1024);
    (void)rig_kernel(&r, "TransData", "64,64", 0, 100, 200);
    (void)rig_kernel(&r, "TransData", "64,64", 1, 250, 350);
    (void)rig_kernel(&r, "Add", "64,64", 2, 350, 1000);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    assert_int_equal(report_gain(&o, PS_RULE_CONVERSION), 100 * US);
    assert_non_null(
        strstr(report_text(&o, PS_RULE_CONVERSION),
               "In the gain are 100 us of them: what lies beside communication shortens no step"));
    report_fini(&o);
}

/* A conversion of 100, behind which the device waits until 700 for the launch at 690: without it the step is shorter by its launch of 1. */
static void a_conversion_before_a_wait_for_the_host(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "TransData", "64,64", 0, 100, 200);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::sort", 150, 680);
    (void)rig_kernel(&r, "Add", "64,64", 690, 700, 1000);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    assert_int_equal(report_gain(&o, PS_RULE_CONVERSION), 1 * US);
    report_fini(&o);
}

static const ps_value *findings_cell(const report_run *o, ps_rule_id rule, const char *column) {
    const ps_table *t = report_table(o, "findings");
    return ps_table_cell(t, report_row(o, rule), ps_table_column(t, column));
}

/* A conversion of 20, launched by 15 of the host, behind which the device waits for the launch at 690; one of 100 that is launched beside
 * the Add, before which it waits for nothing: the 15 are the host's and count with the device's waits for it, the 100 do not. Of several
 * ranks, too: on the one that the waits are told of. */
static void launches_of_conversions_are_the_hosts(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        report_run o;
        ps_trace *traces[2];
        for (size_t i = 0; i < n; i++) {
            rig r = rig_begin(1000);
            uint32_t call = rig_host(&r, PS_SLICE_CALL, "launch", 0, 15);
            uint32_t k = rig_slice(&r, PS_SLICE_KERNEL, r.stream, "t", 100, 120);
            rig_text(&r, k, "opType", "TransData");
            ps_builder_flow(r.b, call, k);
            (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::sort", 100, 680);
            (void)rig_kernel(&r, "Add", "64,64", 690, 700, 850);
            (void)rig_kernel(&r, "TransData", "64,64", 695, 850, 950);
            (void)rig_kernel(&r, "Add", "64,64", 696, 950, 1000);
            traces[i] = rig_seal(&r);
        }
        report_over(&o, traces, n, NULL, NULL);
        assert_int_equal(report_gain(&o, PS_RULE_CONVERSION), 115 * US);
        assert_non_null(
            strstr(report_text(&o, PS_RULE_CONVERSION),
                   "In the gain are 100 us of them and, for the kernels behind which the "
                   "device waits for the host, the 15.0 us of their launch calls alone"));
        assert_string_equal(findings_cell(&o, PS_RULE_CONVERSION, "shared with")->u.text, "1");
        assert_int_equal(report_row(&o, PS_RULE_FREE_SHARE), 0);
        const ps_value *shared = findings_cell(&o, PS_RULE_CONVERSION, "shared");
        assert_false(shared->is_null);
        assert_int_equal(shared->u.i, 15 * US);
        report_fini(&o);
    }
}

/* A single capture is that of all findings, also where nobody says which rank it is of: what they share is known. */
static void a_capture_without_a_rank(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#SGD.step", 420, 540);
    (void)rig_kernel(&r, "Add", NULL, 696, 700, 1000);
    report_without_rank(&o, rig_seal(&r));
    assert_string_equal(findings_cell(&o, PS_RULE_HOST_OPTIMIZER, "shared with")->u.text, "1");
    assert_int_equal(findings_cell(&o, PS_RULE_HOST_OPTIMIZER, "shared")->u.i, 120 * US);
    report_fini(&o);
}

/* A product of 100 to 200 at 21.5 % of the peak: at 30 % it takes 28.4 less. Behind it the device is idle until 700, for the next
 * launch comes at 690: the host is in an operator meanwhile, so that the product pays nothing; or the host waits for the product, or nobody
 * recorded it, or the Add was launched before: it may. */
static void what_the_host_paces_pays_nothing(void **state) {
    (void)state;
    static const struct {
        ps_slice_kind kind;
        const char *host;
        int64_t call;
        bool pays;
    } CASES[] = {{PS_SLICE_HOST_OP, "aten::sort", 690, false},
                 {PS_SLICE_CALL, "aclrtSynchronizeStream", 690, true},
                 {PS_SLICE_HOST_OP, NULL, 690, true},
                 {PS_SLICE_HOST_OP, "aten::sort", 5, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t k = rig_kernel(&r, "MatMulV2", "\"1024,1024;1024,1024\"", 0, 100, 200);
        rig_text(&r, k, "inputDataTypes", "DT_BF16;DT_BF16");
        rig_text(&r, k, "inputFormats", "ND;ND");
        rig_text(&r, k, "outputShapes", "\"1024,1024\"");
        rig_text(&r, k, "outputDataTypes", "DT_BF16");
        if (CASES[i].host != NULL) {
            (void)rig_host(&r, CASES[i].kind, CASES[i].host, 150, 680);
        }
        (void)rig_kernel(&r, "Add", "64,64", CASES[i].call, CASES[i].call > 5 ? 700 : 200, 1000);
        ps_trace *t = rig_seal(&r);
        ps_analysis_opts opts = {.step_id = -1, .peak_tflops = 100};
        report_over(&o, &t, 1, &opts, NULL);
        assert_int_equal(report_gain(&o, PS_RULE_LOW_MFU) > 28 * US, CASES[i].pays);
        assert_int_equal(strstr(report_text(&o, PS_RULE_LOW_MFU),
                                "28.4 us of that lies beside communication or before the device "
                                "waits for the host") != NULL,
                         !CASES[i].pays);
        report_fini(&o);
    }
}

/* Spans of 10 with 4 beside late communication, of which 7 were claimed: the 3 that were not are communication. Of 5 in both without any all
 * count; of 5 with those 4 the other one and one of the 4; where other ranks took 2 off these may be any. */
static void least_of_what_both_hold(void **state) {
    (void)state;
    ps_common_time idle = {.both_ns = 50, .own_ns = 100, .own_comm_ns = 40, .n_steps = 10};
    ps_common_time beside = idle;
    beside.both_comm_ns = 40;
    assert_int_equal(ps_report_least_common_ns(&idle, 7, 7), 5);
    assert_int_equal(ps_report_least_common_ns(&beside, 7, 7), 2);
    assert_int_equal(ps_report_least_common_ns(&idle, 7, 5), 3);
    assert_int_equal(ps_report_least_common_ns(&beside, 7, 3), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_of_what_both_hold),
        cmocka_unit_test(another_rank_has_as_much_to_do),
        cmocka_unit_test(late_launches_leave_communication_alone),
        cmocka_unit_test(communication_in_two_findings_is_said),
        cmocka_unit_test(steps_of_all_ranks_bound_a_gain),
        cmocka_unit_test(a_part_of_two_findings_names_both),
        cmocka_unit_test(other_ranks_still_bound_a_late_host),
        cmocka_unit_test(another_group_takes_as_long),
        cmocka_unit_test(findings_rank_by_gain),
        cmocka_unit_test(shared_time_is_said),
        cmocka_unit_test(verdict_names_the_largest),
        cmocka_unit_test(verdict_tells_what_comes_next),
        cmocka_unit_test(nothing_to_say),
        cmocka_unit_test(kernels_say_on_how_many_ranks),
        cmocka_unit_test(stages_add_up),
        cmocka_unit_test(a_late_rank_bounds_the_others),
        cmocka_unit_test(what_communication_hides_pays_nothing),
        cmocka_unit_test(a_conversion_before_a_wait_for_the_host),
        cmocka_unit_test(launches_of_conversions_are_the_hosts),
        cmocka_unit_test(a_capture_without_a_rank),
        cmocka_unit_test(what_the_host_paces_pays_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

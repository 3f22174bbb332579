/* Faults of today's tool in choosing and labelling marks, F1 F5 F6 F16 F17 F18
 * F24 of our list: each test says what is right instead. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "support/dualpipev.h"
#include "support/runs.h"

#define ROWS                                                                                       \
    "SELECT name, startNs, endNs, type FROM StepTaskInfo ORDER BY startNs, "                       \
    "endNs"

static const char FORWARD[] = "{'name': 'forward_step'}";
static const char BACKWARD[] = "{'name': 'backward_step'}";
static const char POP[] = "{'name': 'WeightGradStore.pop'}";

/* --- the second opinion itself
 * ---------------------------------------------------------------- */

/* The list of support/dualpipev.c against the example of the specification: p =
 * 4, m = 10. */
static void expected_list_is_the_published_one(void **state) {
    (void)state;
    static const int N[] = {44, 32, 30, 29};
    expected_step steps[4];
    for (int i = 0; i < 4; i++) {
        expected_list(&steps[i], 4, 10, i, false);
        assert_int_equal(steps[i].n, N[i]);
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    add_labels(&text, &steps[3], -1);
    assert_string_equal(ps_buf_str(&text), "0 10 1 11 2 12 3 13 4F 10B 14F+0B 5F+11B 15F+1B 6F+12B "
                                           "16F+2B 7F+13B 17F+3B 8F+14B "
                                           "18F+4B 9F+15B 19F+5B 16B 6B 17B 7B 18B 8B 19B 9B");
    ps_buf_clear(&text);
    add_labels(&text, &steps[0], -1);
    static const char BEGIN[] =
        "0 1 2 3 4 5 6 10 logits 10b 10w 11 logits 11b 11w 12 logits 12b 12w 13 "
        "logits 7F+13B 14F+0B ";
    assert_memory_equal(ps_buf_str(&text), BEGIN, strlen(BEGIN));
    assert_true(ps_ends_with(ps_buf_str(&text), " logits 19B 6B 7B 8B 9B"));
    ps_buf_fini(&text);
}

/* --- F1: the step filter
 * ---------------------------------------------------------------------- */

/* Three steps of 1000 ns, each with one forward, one backward and one weight
 * gradient. */
static void f01_step_id_restricts_every_mark(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    for (int64_t s = 1; s <= 3; s++) {
        profile_step(&p, s, s * 1000, s * 1000 + 1000);
        profile_mark(&p, FORWARD, s * 1000 + 100, s * 1000 + 200);
        profile_mark(&p, BACKWARD, s * 1000 + 300, s * 1000 + 400);
        profile_mark(&p, POP, s * 1000 + 500, s * 1000 + 600);
    }
    profile_close(&p);
    ps_run_opts opts = default_opts();
    opts.analysis.step_id = 2;
    run_pp_chart(p.dir, &opts);
    expect_rows(p.path, ROWS, "FP|2100|2200|0\nBP|2300|2400|1\nBP|2500|2600|1\n");
    run_pp_chart(p.dir, NULL);
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM StepTaskInfo"), 9);
}

/* With DualPipeV the wanted step has its labels, and the other leaves no blank
 * rows. */
static void f01_step_id_keeps_a_dualpipev_step_whole(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_dualpipev(&p, 1, 2);
    expected_step step;
    expected_list(&step, 1, 2, 0, false);
    int64_t end = add_step(&p, &step, EPOCH_NS, true, -1);
    int64_t next = end + 1000;
    profile_step(&p, 10, EPOCH_NS, end);
    profile_step(&p, 11, end, add_step(&p, &step, next, true, -1));
    profile_close(&p);
    ps_run_opts opts = default_opts();
    opts.analysis.step_id = 11;
    run_pp_chart(p.dir, &opts);
    expect_step(p.path, &step, -1);
    assert_int_equal(query_int(p.path, "SELECT min(startNs) FROM StepTaskInfo"), next);
}

/* A step that was not recorded is said, with those that are; it is not taken
 * for all steps. */
static void f01_unknown_step_is_said(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_step(&p, 4, 0, 1000);
    profile_step(&p, 5, 1000, 2000);
    profile_mark(&p, FORWARD, 100, 200);
    profile_close(&p);
    uint64_t before = file_hash(p.path);
    ps_buf said;
    assert_int_equal(run_program(&said, "-m", "pp_chart", "-d", p.dir, "--step_id", "7", NULL), 2);
    assert_true(contains(&said, "step 7: no such step; there are: 4-5"));
    ps_buf_fini(&said);
    assert_true(file_hash(p.path) == before);
}

/* --- F5: a lost mark
 * -------------------------------------------------------------------------- */

/* One rank per stage; step s of a rank has lost its mark number s, so that
 * every kind is lost at every position. The loss leaves its time idle, which
 * tells where it was, also among marks of one kind; without idle time it was
 * the first or the last mark of the step. */
static void lose_each_mark_once(const place *where, bool say_microbatch) {
    enum { P = 4, M = 10 };
    const int64_t STEP_NS = 100000;
    for (int i = 0; i < P; i++) {
        profile p;
        profile_begin(&p, where, i);
        profile_dualpipev(&p, P, M);
        expected_step step;
        expected_list(&step, P, M, i, false);
        for (int s = 0; s < step.n; s++) {
            int64_t start = EPOCH_NS + s * STEP_NS;
            profile_step(&p, s, start, start + STEP_NS);
            (void)add_step(&p, &step, start, say_microbatch, s);
        }
        profile_close(&p);
    }
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    for (int i = 0; i < P; i++) {
        expected_step step;
        expected_list(&step, P, M, i, false);
        const ps_rank_report *report = report_of(&o, i);
        assert_int_equal(report->status, PS_RANK_DONE);
        assert_int_equal(report->diag.counts[PS_ODD_OP_MISSING], step.n);
        assert_int_equal(report->diag.counts[PS_ODD_MARK_UNLABELLED], 0);
        assert_int_equal(report->diag.counts[PS_ODD_MARK_MICROBATCH], 0);
        for (int s = 0; s < step.n; s++) {
            int64_t start = EPOCH_NS + s * STEP_NS;
            ps_buf text;
            ps_buf_init(&text, 0);
            add_labels(&text, &step, s);
            expect_labels_between(report->rank->path, start, start + STEP_NS, ps_buf_str(&text));
            ps_buf_fini(&text);
        }
    }
    outcome_fini(&o);
}

static void f05_one_lost_mark_costs_one_label(void **state) {
    lose_each_mark_once(*state, true);
}

static void f05_one_lost_mark_costs_one_label_without_microbatches(void **state) {
    lose_each_mark_once(*state, false);
}

/* A burst of marks is lost (the profiler's buffer ran over): the rest keeps its
 * labels. */
static void f05_a_lost_burst_costs_its_labels(void **state) {
    enum { FIRST = 9, LAST = 15 };
    profile p;
    profile_begin(&p, *state, 1);
    profile_dualpipev(&p, 4, 10);
    expected_step step;
    expected_list(&step, 4, 10, 1, false);
    expected_step kept = {.n = 0};
    for (int k = 0; k < step.n; k++) {
        if (k < FIRST || k > LAST) {
            int64_t at = EPOCH_NS + k * (MARK_NS + GAP_NS);
            profile_mark(&p, expected_message(&step.marks[k], true), at, at + MARK_NS);
            kept.marks[kept.n++] = step.marks[k];
        }
    }
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_step(p.path, &kept, -1);
}

/* Marks that the schedule does not know, put behind or before some marks of a
 * step. */
typedef struct extra {
    const char *message; /* NULL: that of a forward of the same microbatch */
    const char *label;   /* what it must be called */
    int64_t length_ns;
    bool before;
    bool (*wanted)(const expected_mark *m);
} extra;

/* The extra marks, and they alone, are named by their message. */
static void check_extra_marks(const place *where, int stage, const extra *e) {
    profile p;
    profile_begin(&p, where, stage);
    profile_dualpipev(&p, 4, 10);
    expected_step step;
    expected_list(&step, 4, 10, stage, false);
    expected_step all = {.n = 0};
    int64_t at = EPOCH_NS;
    for (int k = 0; k < step.n; k++) {
        const expected_mark *m = &step.marks[k];
        for (int part = 0; part < 2; part++) {
            bool is_extra = e->before == (part == 0);
            expected_mark put = *m;
            const char *message = expected_message(m, true);
            int64_t length = MARK_NS;
            if (is_extra && !e->wanted(m)) {
                continue;
            }
            if (is_extra) {
                put = (expected_mark){.kind = 'F', .microbatch = m->microbatch};
                (void)snprintf(put.label, sizeof put.label, "%s", e->label);
                message = e->message != NULL ? e->message : expected_message(&put, true);
                length = e->length_ns;
            }
            profile_mark(&p, message, at, at + length);
            at += length + GAP_NS;
            all.marks[all.n++] = put;
        }
    }
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    expect_step(p.path, &all, -1);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_UNLABELLED), all.n - step.n);
    assert_int_equal(count_oddity(&o, PS_ODD_OP_MISSING), 0);
    outcome_fini(&o);
}

static bool is_tail_backward(const expected_mark *m) {
    return m->phase >= 5 && m->kind == 'B';
}

/* dw separation: each backward of the tail is followed by a weight gradient
 * that the list does not have. */
static void f05_weight_gradients_of_the_tail_are_extra(void **state) {
    const extra pops = {
        .message = POP, .label = "W", .length_ns = MARK_NS / 2, .wanted = is_tail_backward};
    for (int stage = 0; stage < 4; stage++) {
        check_extra_marks(*state, stage, &pops);
    }
}

/* Recomputation: the forward runs once more right before its backward. */
static void f05_recomputed_forwards_are_extra(void **state) {
    const extra again = {
        .label = "FP", .length_ns = MARK_NS / 2, .before = true, .wanted = is_tail_backward};
    for (int stage = 0; stage < 4; stage++) {
        check_extra_marks(*state, stage, &again);
    }
}

/* With the overlap off each pair is a forward and then a backward, and the
 * output head has no mark. p = 2, m = 4, stage 0: two forwards; one of each
 * chunk; once b, w and a forward of chunk 1; m - 2p + 0 + 1 = 1 time two pairs;
 * once a backward and a pair; one backward of chunk 1 in phase 5, and two of
 * chunk 0, since chunk 1 is used up. */
static void f05_unpaired_forwards_and_backwards_are_known(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_dualpipev(&p, 2, 4);
    expected_step step;
    expected_list(&step, 2, 4, 0, true);
    assert_int_equal(step.n, 4 * 4 + 2 - 1 - 0); /* N = 4m + p - 1 - i */
    (void)add_step(&p, &step, EPOCH_NS, true, -1);
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_labels(p.path, "0 1 2 4 4b 4w 5 3F 5B 6F 0B 6B 7F 1B 7B 2B 3B");
}

/* Insight colours by type: it is the phase. Stage 1 of 2, m = 4: two of each
 * chunk in turn; phase 3 m - 2p + 1 + 1 = 2 times, the first half of the first
 * pair in two rows; phase 5 two backwards in turn, phase 6 the other two. */
static void f05_type_is_the_phase(void **state) {
    profile p;
    profile_begin(&p, *state, 1);
    profile_dualpipev(&p, 2, 4);
    expected_step step;
    expected_list(&step, 2, 4, 1, false);
    (void)add_step(&p, &step, EPOCH_NS, true, 4); /* 2F, the first of phase 3, is lost */
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, "SELECT name, type FROM StepTaskInfo ORDER BY startNs",
                "0|1\n4|1\n1|1\n5|1\n4B|3\n6F+0B|3\n3F+5B|3\n7F+1B|3\n6B|5\n2B|"
                "5\n7B|6\n3B|6\n");
}

/* --- F6: what the message says
 * ---------------------------------------------------------------- */

/* One mark lost and one too many: the count is right, so labels by position
 * alone would be wrong in between. */
static void f06_labels_follow_the_message_not_the_count(void **state) {
    profile p;
    profile_begin(&p, *state, 3);
    profile_dualpipev(&p, 4, 10);
    expected_step step;
    expected_list(&step, 4, 10, 3, false);
    int64_t end = add_step(&p, &step, EPOCH_NS, true, 2);
    profile_mark(&p, POP, end, end + MARK_NS);
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    ps_buf text;
    ps_buf_init(&text, 0);
    add_labels(&text, &step, 2);
    ps_buf_add_str(&text, " W");
    expect_labels(p.path, ps_buf_str(&text));
    ps_buf_fini(&text);
}

/* A message with another microbatch than the schedule's: kind and neighbours
 * agree, so it keeps its label and is counted. */
static void f06_another_microbatch_is_counted(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_dualpipev(&p, 1, 2);
    expected_step step;
    expected_list(&step, 1, 2, 0, false);
    expected_step odd = step;
    odd.marks[0].microbatch = 7;
    (void)add_step(&p, &odd, EPOCH_NS, true, -1);
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_MICROBATCH), 1);
    outcome_fini(&o);
    expect_step(p.path, &step, -1);
}

/* As many marks as the list has, but all of another kind: none gets a label of
 * the schedule. */
static void f06_kinds_are_never_mixed(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_dualpipev(&p, 1, 2);
    expected_step step;
    expected_list(&step, 1, 2, 0, false); /* p = 1 has no weight gradients */
    for (int k = 0; k < step.n; k++) {
        profile_mark(&p, POP, EPOCH_NS + k * 1000, EPOCH_NS + k * 1000 + 500);
    }
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_UNLABELLED), step.n);
    assert_int_equal(
        query_int(p.path, "SELECT count(*) FROM StepTaskInfo WHERE name = 'W' AND type = 1"),
        step.n);
    outcome_fini(&o);
}

/* --- F16: stale tables, and marks outside steps
 * ----------------------------------------------- */

static void add_stale_table(profile *p) {
    profile_sql(p, "CREATE TABLE StepTaskInfo (name TEXT, startNs INTEGER, endNs "
                   "INTEGER, type INTEGER);"
                   "INSERT INTO StepTaskInfo VALUES ('stale', 1, 2, 3)");
}

static void f16_stale_table_of_a_rank_without_marks_goes(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_mark(&p, FORWARD, 100, 200);
    profile_close(&p);
    profile q;
    profile_begin(&q, where, 1);
    profile_mark(&q, "something else", 100, 200);
    add_stale_table(&q);
    profile_close(&q);
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(report_of(&o, 0)->status, PS_RANK_DONE);
    assert_int_equal(report_of(&o, 1)->status, PS_RANK_NOTHING);
    assert_int_equal(count_oddity(&o, PS_ODD_STALE), 1);
    outcome_fini(&o);
    assert_true(has_table(p.path, "StepTaskInfo"));
    assert_false(has_table(q.path, "StepTaskInfo"));
}

static void f16_stale_table_goes_when_no_rank_has_marks(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    add_stale_table(&p);
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_nothing, 1);
    outcome_fini(&o);
    assert_false(has_table(p.path, "StepTaskInfo"));
}

/* A rank that cannot be placed fails, and what an earlier run said of it goes;
 * no row without a name appears. */
static void f16_stale_table_of_a_rank_without_a_stage_goes(void **state) {
    profile p;
    profile_begin(&p, *state, 5); /* one stage, world size 1: rank 5 is nowhere */
    profile_dualpipev(&p, 1, 2);
    profile_mark(&p, FORWARD, 100, 200);
    add_stale_table(&p);
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_failed, 1);
    assert_non_null(strstr(o.run->ranks[0].err.msg, "stage is unknown"));
    outcome_fini(&o);
    assert_false(has_table(p.path, "StepTaskInfo"));
}

static void f16_a_second_run_replaces_and_does_not_append(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 100, 200);
    profile_mark(&p, BACKWARD, 300, 400);
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, ROWS, "FP|100|200|0\nBP|300|400|1\n");
    expect_rows(p.path, "SELECT sql FROM sqlite_master WHERE name = 'StepTaskInfo'",
                "CREATE TABLE \"StepTaskInfo\" (\"name\" TEXT, \"startNs\" "
                "INTEGER, \"endNs\" INTEGER, \"type\" "
                "INTEGER)\n");
}

/* Classic labels keep marks outside every step, DualPipeV leaves them out; both
 * count them. */
static void f16_marks_outside_steps_are_counted(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_step(&p, 1, 1000, 2000);
    profile_mark(&p, FORWARD, 100, 200);
    profile_mark(&p, FORWARD, 1100, 1200);
    profile_mark(&p, BACKWARD, 1900, 2100); /* its host side ends outside */
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_NO_STEP), 2);
    outcome_fini(&o);
    expect_rows(p.path, ROWS, "FP|100|200|0\nFP|1100|1200|0\nBP|1900|2100|1\n");

    ps_run_opts opts = default_opts();
    opts.analysis.pp_type = "dualpipev";
    opts.analysis.pp = 1;
    opts.analysis.n_microbatches = 2;
    run_mode(&o, p.dir, "pp_chart", &opts);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_NO_STEP), 2);
    outcome_fini(&o);
    expect_rows(p.path, "SELECT startNs FROM StepTaskInfo", "1100\n");
}

/* --- F17: marks that were counted twice
 * ------------------------------------------------------- */

/* Where two steps touch, an instant mark lies in both windows: it belongs to
 * the later one, once. */
static void f17_a_mark_on_a_shared_boundary_appears_once(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_step(&p, 1, 0, 1000);
    profile_step(&p, 2, 1000, 2000);
    profile_mark(&p, FORWARD, 100, 200);
    profile_add_mark(&p, (mark_spec){BACKWARD, 1000, 1000, 1010, 1100, 2, false});
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, ROWS, "FP|100|200|0\nBP|1010|1100|1\n");
    ps_run_opts opts = default_opts();
    opts.analysis.step_id = 2;
    run_pp_chart(p.dir, &opts);
    expect_rows(p.path, ROWS, "BP|1010|1100|1\n");
}

static void f17_nested_and_repeated_marks_appear_once(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 100, 200);
    profile_mark(&p, "{'name': 'forward_step_no_model_graph'}", 110, 190); /* inside */
    profile_mark(&p, FORWARD, 100, 200);                                   /* the same once more */
    profile_mark(&p, BACKWARD, 200, 300); /* touching is not overlapping */
    profile_mark(&p, BACKWARD, 250, 350); /* crossing */
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_NESTED), 3);
    outcome_fini(&o);
    expect_rows(p.path, ROWS, "FP|100|200|0\nBP|200|300|1\n");
}

/* --- F18: one long range hid everything
 * ------------------------------------------------------- */

static void f18_a_wrapper_around_the_step_hides_nothing(void **state) {
    profile p;
    profile_begin(&p, *state, 2);
    profile_dualpipev(&p, 4, 10);
    expected_step step;
    expected_list(&step, 4, 10, 2, false);
    int64_t end = add_step(&p, &step, EPOCH_NS, true, -1);
    profile_mark(&p, "{'name': 'forward_backward_pipelining_with_cutinhalf'}", EPOCH_NS - 5,
                 end + 5);
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_CONTAINER), 1);
    assert_int_equal(count_oddity(&o, PS_ODD_MARK_NESTED), 0);
    outcome_fini(&o);
    expect_step(p.path, &step, -1);
}

/* Ranges on different streams run side by side. */
static void f18_streams_do_not_hide_each_other(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_add_mark(&p, (mark_spec){FORWARD, 100, 101, 100, 1000, 2, false});
    profile_add_mark(&p, (mark_spec){BACKWARD, 102, 103, 500, 700, 3, false});
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, ROWS, "FP|100|1000|0\nBP|500|700|1\n");
}

/* The last range of a step may reach on the device into the next step, which
 * loses nothing by it. */
static void f18_steps_do_not_hide_each_other(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_step(&p, 1, 0, 1000);
    profile_step(&p, 2, 1000, 2000);
    profile_add_mark(&p, (mark_spec){BACKWARD, 800, 900, 800, 1500, 2, false});
    profile_add_mark(&p, (mark_spec){FORWARD, 1100, 1110, 1200, 1300, 2, false});
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, ROWS, "BP|800|1500|1\nFP|1200|1300|0\n");
}

/* --- F24: pops without work
 * ------------------------------------------------------------------- */

static bool is_backward_or_pair(const expected_mark *m) {
    return m->kind == 'B' || m->kind == 'P';
}

/* The documented wrapper marks every pop, also of an empty store; here also
 * right before each real weight gradient of phase 2, which must keep its label.
 */
static void f24_empty_pops_break_nothing(void **state) {
    const extra pops = {
        .message = POP, .label = "W", .length_ns = 2, .wanted = is_backward_or_pair};
    for (int stage = 0; stage < 4; stage++) {
        check_extra_marks(*state, stage, &pops);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expected_list_is_the_published_one),
        IN_PLACE(f01_step_id_restricts_every_mark),
        IN_PLACE(f01_step_id_keeps_a_dualpipev_step_whole),
        IN_PLACE(f01_unknown_step_is_said),
        IN_PLACE(f05_one_lost_mark_costs_one_label),
        IN_PLACE(f05_one_lost_mark_costs_one_label_without_microbatches),
        IN_PLACE(f05_a_lost_burst_costs_its_labels),
        IN_PLACE(f05_weight_gradients_of_the_tail_are_extra),
        IN_PLACE(f05_recomputed_forwards_are_extra),
        IN_PLACE(f05_unpaired_forwards_and_backwards_are_known),
        IN_PLACE(f05_type_is_the_phase),
        IN_PLACE(f06_labels_follow_the_message_not_the_count),
        IN_PLACE(f06_another_microbatch_is_counted),
        IN_PLACE(f06_kinds_are_never_mixed),
        IN_PLACE(f16_stale_table_of_a_rank_without_marks_goes),
        IN_PLACE(f16_stale_table_goes_when_no_rank_has_marks),
        IN_PLACE(f16_stale_table_of_a_rank_without_a_stage_goes),
        IN_PLACE(f16_a_second_run_replaces_and_does_not_append),
        IN_PLACE(f16_marks_outside_steps_are_counted),
        IN_PLACE(f17_a_mark_on_a_shared_boundary_appears_once),
        IN_PLACE(f17_nested_and_repeated_marks_appear_once),
        IN_PLACE(f18_a_wrapper_around_the_step_hides_nothing),
        IN_PLACE(f18_streams_do_not_hide_each_other),
        IN_PLACE(f18_steps_do_not_hide_each_other),
        IN_PLACE(f24_empty_pops_break_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

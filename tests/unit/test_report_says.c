/* What the text of findings says: nothing that the capture cannot know, and no promise above what is left. Times in the
 * comments are microseconds. */
#include "support/report_run.h"

#include <stdio.h>
#include <string.h>

#include "write/report/report_view.h"

static void report_one(report_run *out, rig *r) {
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

static const char *text_of(const report_run *o, const char *table, size_t row, const char *column) {
    const ps_table *t = report_table(o, table);
    return ps_table_cell(t, row, ps_table_column(t, column))->u.text;
}

static const char *advice(const report_run *o, ps_rule_id rule) {
    return text_of(o, "findings", report_row(o, rule), "try");
}

/* --- what computing can hide -------------------------------------------------------------------------------------------- */

/* Computing 10 to 110, communication 60 to 900: 50 of computing have communication beside them already, so 50 more of 790 can
 * be hidden. The next step has computing of 400 with nothing beside it and communication of 100, all of which can be. */
static void communication_hides_behind_what_is_left(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "Add", NULL, 0, 10, 110);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 60, 900, 0);
    ps_builder_step(r.b, 2, REPORT_EPOCH_NS + 1000 * US, REPORT_EPOCH_NS + 1600 * US);
    (void)rig_kernel(&r, "Add", NULL, 1000, 1010, 1410);
    (void)rig_comm(&r, "hcom_allReduce__1_0_2", 1410, 1510, 0);
    report_one(&o, &r);
    assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), (50 + 100) / 2 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_COMM_EXPOSED),
                           "Computing is left to hide 75.0 us of it at most"));
    assert_null(strstr(advice(&o, PS_RULE_COMM_EXPOSED), "Overlap"));
    report_fini(&o);
}

/* An all-reduce of 280 that the last node of a backward pass launches, before the optimiser's step computes for 530: as much would hide
 * it, but works with what it brings. Launched in the optimiser's step it can be hidden. */
static void the_optimiser_awaits_what_it_works_with(void **state) {
    (void)state;
    for (int64_t launch = 110; launch <= 455; launch += 345) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "autograd::engine::evaluate_function: MmBackward0", 0,
                       120);
        (void)rig_kernel(&r, "MatMul", NULL, 10, 20, 120);
        uint32_t call = rig_host(&r, PS_SLICE_CALL, "aclnnAllReduce", launch, launch + 2);
        int64_t start = launch > 400 ? 460 : 120;
        ps_builder_flow(r.b, call, rig_comm(&r, "hcom_allReduce__1_0_1", start, start + 280, 0));
        (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#AdamW.step", 450, 800);
        (void)rig_kernel(&r, "Adam", NULL, 600, 740, 1000);
        report_one(&o, &r);
        bool is_awaited = launch < 400;
        assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), is_awaited ? 0 : 280 * US);
        const char *said = strstr(report_text(&o, PS_RULE_COMM_EXPOSED),
                                  "280 us of it lie behind what the backward computes");
        assert_int_equal(said != NULL, is_awaited);
        report_fini(&o);
    }
}

static void add_task(rig *r, const char *name, int64_t from, int64_t to) {
    uint32_t plane = ps_builder_track(r->b, (ps_track){.kind = PS_TRACK_COMM_PLANE,
                                                       .device = 0,
                                                       .name = ps_builder_str(r->b, "world", 5)});
    (void)rig_slice(r, PS_SLICE_COMM_TASK, plane, name, from, to);
}

/* The first all-reduce is awaited: of its 280 it waits 180 and transfers 100. The second, which is not, waits 120 and transfers 20: more than
 * those 20 nothing can hide, though 140 of it stand alone and 120 in all are no waits. Most of it waits, so buckets are no advice. */
static void only_transfers_that_nothing_awaits_can_be_hidden(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "autograd::engine::evaluate_function: MmBackward0", 0,
                   120);
    (void)rig_kernel(&r, "MatMul", NULL, 10, 20, 120);
    uint32_t first = rig_host(&r, PS_SLICE_CALL, "aclnnAllReduce", 110, 112);
    ps_builder_flow(r.b, first, rig_comm(&r, "hcom_allReduce__1_0_1", 120, 400, 0));
    add_task(&r, "Notify_Wait", 120, 300);
    add_task(&r, "Memcpy", 300, 400);
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#AdamW.step", 450, 800);
    uint32_t second = rig_host(&r, PS_SLICE_CALL, "aclnnAllReduce", 455, 457);
    ps_builder_flow(r.b, second, rig_comm(&r, "hcom_allReduce__1_0_2", 460, 600, 0));
    add_task(&r, "Notify_Wait", 460, 580);
    add_task(&r, "Memcpy", 580, 600);
    (void)rig_kernel(&r, "Adam", NULL, 600, 740, 1000);
    report_one(&o, &r);
    assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), 20 * US);
    assert_non_null(strstr(report_text(&o, PS_RULE_COMM_EXPOSED),
                           "280 us of it (100 us of them transfers) lie behind what the backward"));
    assert_int_equal(
        strncmp(advice(&o, PS_RULE_COMM_EXPOSED), "Most of it waits for ranks that come later", 42),
        0);
    report_fini(&o);
}

/* The same where a thread of its own makes the calls, behind the end of the optimiser's step: what counts is the operator. */
static void calls_of_another_thread(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    uint32_t node =
        rig_host(&r, PS_SLICE_HOST_OP, "autograd::engine::evaluate_function: MmBackward0", 0, 120);
    (void)rig_kernel(&r, "MatMul", NULL, 10, 20, 120);
    ps_builder_flow(r.b, node, rig_comm(&r, "hcom_allReduce__1_0_1", 120, 400, 0));
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#AdamW.step", 130, 200);
    uint32_t op = rig_host(&r, PS_SLICE_HOST_OP, "aten::_foreach_add_", 140, 190);
    ps_builder_flow(r.b, op, rig_kernel(&r, "Adam", NULL, 300, 400, 1000));
    report_one(&o, &r);
    assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), 0);
    assert_non_null(
        strstr(report_text(&o, PS_RULE_COMM_EXPOSED), "280 us of it lie behind what the backward"));
    report_fini(&o);
}

/* The verdict tries first what the finding tries first. */
static void verdict_and_finding_say_the_same(void **state) {
    (void)state;
    for (int64_t computing = 100; computing <= 500; computing += 400) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 1, computing);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", computing, 1000, 0);
        report_one(&o, &r);
        assert_int_equal(report_row(&o, PS_RULE_COMM_EXPOSED), 0);
        const char *try = advice(&o, PS_RULE_COMM_EXPOSED);
        char first[256];
        (void)snprintf(first, sizeof first, "Try first: %.*s.", (int)strcspn(try, "."), try);
        assert_non_null(strstr(text_of(&o, "verdict", 0, "verdict"), first));
        assert_int_equal(strncmp(try, "Overlap", 7) == 0, computing == 500);
        report_fini(&o);
    }
}

/* --- numbers of nothing ------------------------------------------------------------------------------------------------- */

/* One rank is not "1 of 1 ranks"; of two it is said how many. */
static void ranks_are_counted_where_there_are_several(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        ps_trace *traces[2];
        report_run o;
        for (size_t i = 0; i < n; i++) {
            rig r = rig_begin(1000);
            (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
            (void)rig_kernel(&r, "Add", NULL, 595, 600, 1000);
            traces[i] = rig_seal(&r);
        }
        report_over(&o, traces, n, NULL, NULL);
        const char *text = report_text(&o, PS_RULE_FREE_SHARE);
        assert_int_equal(strstr(text, "This rule fires on 2 of 2 ranks.") != NULL, n == 2);
        assert_int_equal(strstr(text, "This rule fires") != NULL, n == 2);
        report_fini(&o);
    }
}

/* Launching less helps a host that launches: of one that the capture does not show that is not known. */
static void advice_for_a_host_that_nobody_recorded(void **state) {
    (void)state;
    for (int with_operator = 0; with_operator < 2; with_operator++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        if (with_operator == 1) {
            (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::stack", 400, 594);
        }
        (void)rig_kernel(&r, "Add", NULL, 595, 600, 1000);
        report_one(&o, &r);
        const char *try = advice(&o, PS_RULE_FREE_SHARE);
        assert_int_equal(strstr(try, "the capture holds nothing of the host") != NULL,
                         with_operator == 0);
        assert_int_equal(strstr(try, "fewer and larger kernels") != NULL, with_operator == 1);
        report_fini(&o);
    }
}

/* A variable of the environment takes no time: its row has no duration. */
static void variables_have_no_duration(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 900);
    ps_builder_meta(r.b, "ENV_VARIABLES", "{\"CUDA_LAUNCH_BLOCKING\": \"1\"}");
    report_one(&o, &r);
    assert_true(report_fired(&o, PS_RULE_ENVIRONMENT));
    const ps_table *t = report_table(&o, "evidence");
    bool any = false;
    for (size_t row = 0; row < t->n_rows; row++) {
        const char *name = text_of(&o, "evidence", row, "name");
        bool is_variable = strcmp(name, "CUDA_LAUNCH_BLOCKING=1") == 0;
        any = any || is_variable;
        assert_int_equal(ps_table_cell(t, row, ps_table_column(t, "duration"))->is_null,
                         is_variable);
    }
    assert_true(any);
    report_fini(&o);
}

/* One group on two ranks is no two groups. */
static void groups_are_no_ranks(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        ps_trace *traces[2];
        report_run o;
        for (size_t i = 0; i < n; i++) {
            rig r = rig_begin(1000);
            (void)rig_kernel(&r, "Add", NULL, 0, 10, 300);
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", 300, 900, 0);
            traces[i] = rig_seal(&r);
        }
        report_over(&o, traces, n, NULL, NULL);
        const char *text = report_text(&o, PS_RULE_COMM_OVER_COMPUTE);
        assert_null(strstr(text, "groups"));
        assert_int_equal(strstr(text, "2 times, each a group on a rank") != NULL, n == 2);
        report_fini(&o);
    }
}

/* Copies are not among the delays that the sentence tells. */
static void delays_are_of_kernels(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_kernel(&r, "Add", NULL, 595, 600, 700);
    (void)rig_kernel(&r, "Add", NULL, 795, 800, 900);
    report_one(&o, &r);
    assert_non_null(
        strstr(report_text(&o, PS_RULE_LAUNCH_DELAY),
               "3 of 3 kernels (100.0 %) started within 20 us of the end of their launch; for "
               "3 of them (100.0 % of all) nothing ran"));
    assert_non_null(
        strstr(report_text(&o, PS_RULE_LAUNCH_DELAY), "The median delay of kernels is 4.00 us"));
    /* A finding is named as it is printed. */
    assert_non_null(strstr(report_text(&o, PS_RULE_LAUNCH_DELAY),
                           "Where that cost most: the finding \"The device waits for the host\"."));
    report_fini(&o);
}

/* --- captures that hold a part ------------------------------------------------------------------------------------------- */

/* 80 kernels of 5, each after a gap of 5; of every `keep` th the launch is there, and between two of them a launch of which
 * the kernel is there is `lost_kernels` times without one. */
static rig with_losses(int keep, int lost_kernels) {
    rig r = rig_begin(1000);
    for (int i = 0; i < 80; i++) {
        int64_t at = 10 + 10 * i;
        if (i % keep == 0) {
            (void)rig_kernel(&r, "MatMul", "64,64", at - 2, at, at + 5);
        } else {
            (void)rig_slice(&r, PS_SLICE_KERNEL, r.stream, "MatMul", at, at + 5);
        }
        for (int k = 0; k < lost_kernels; k++) {
            (void)rig_host(&r, PS_SLICE_CALL, "launch", at + k, at + k + 1);
        }
    }
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 820, 1000, 0);
    return r;
}

static bool begins_with(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Whole: the host is late and communication stands alone. With launches or kernels missing nobody knows. */
static void parts_are_not_judged(void **state) {
    (void)state;
    static const struct {
        int keep, lost;
        const char *says; /* NULL: it is whole */
    } CASES[] = {{1, 0, NULL},
                 {4, 0, "The capture of rank 0 holds only 20 of 77 launches of its kernels"},
                 {1, 3, "The capture of rank 0 holds only 80 of 317 kernels of its launches"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = with_losses(CASES[i].keep, CASES[i].lost);
        report_one(&o, &r);
        bool is_part = CASES[i].says != NULL;
        assert_int_equal(report_fired(&o, PS_RULE_THINNED), is_part);
        assert_int_equal(report_fired(&o, PS_RULE_FREE_SHARE), !is_part);
        assert_int_equal(report_fired(&o, PS_RULE_LAUNCH_DELAY), !is_part);
        assert_int_equal(report_fired(&o, PS_RULE_COMM_EXPOSED), !is_part);
        if (is_part) {
            assert_true(begins_with(report_text(&o, PS_RULE_THINNED), CASES[i].says));
            assert_true(begins_with(text_of(&o, "verdict", 0, "verdict"), CASES[i].says));
        }
        report_fini(&o);
    }
}

/* Shares of what is left are no shares: nothing is said of them, nor what a step would gain; and each page says so where it would say
 * that nothing is over its threshold. */
static void shares_of_a_part_are_none(void **state) {
    (void)state;
    for (int thinned = 0; thinned < 2; thinned++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", "64,64", 0, 10, 500);
        (void)rig_kernel(&r, "TransData", "64,64", 0, 500, 900);
        if (thinned) {
            ps_builder_meta(r.b, "pipescope.thinned", "2402 of 238287");
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_TOP_KERNEL), !thinned);
        assert_int_equal(report_fired(&o, PS_RULE_CONVERSION), !thinned);
        ps_report_view view = {.title = "",
                               .n_ranks = 1,
                               .findings = report_table(&o, "findings"),
                               .evidence = report_table(&o, "evidence"),
                               .sections = report_table(&o, "sections"),
                               .overview = report_table(&o, "overview"),
                               .pipeline = -1};
        assert_true(begins_with(ps_view_silence(&view, 1),
                                thinned
                                    ? "Not judged: the capture holds only a part of "
                                      "the events (finding 1), so what part"
                                    : "How near kernels come to the chip's peak is not judged"));
        bool is_left = strstr(report_table(&o, "kernels")->title, "that are left") != NULL;
        assert_int_equal(is_left, thinned);
        is_left = strstr(report_table(&o, "overview_stages")->title, "that are left") != NULL;
        assert_int_equal(is_left, thinned);
        ps_buf page;
        ps_buf_init(&page, 0);
        assert_int_equal(ps_write_report_html(&view, &page, NULL), PS_OK);
        assert_int_equal(strstr(ps_buf_str(&page), "goes by the events that are left") != NULL,
                         thinned);
        ps_buf_fini(&page);
        report_fini(&o);
    }
}

/* One event is numbered: whether others are missing nobody knows, and nothing is said that depends on it. */
static void few_events_tell_nothing(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", "64,64", 0, 10, 500);
    (void)rig_kernel(&r, "TransData", "64,64", 600, 605, 900);
    ps_builder_meta(r.b, "pipescope.few_numbers", "1");
    report_one(&o, &r);
    static const char SAYS[] =
        "The capture of rank 0 holds 1 event that its profiler numbered, too few to "
        "tell whether others are missing";
    assert_true(begins_with(report_text(&o, PS_RULE_THINNED), SAYS));
    assert_true(begins_with(text_of(&o, "verdict", 0, "verdict"), SAYS));
    assert_string_equal(text_of(&o, "findings", 0, "title"),
                        "Whether the capture holds all that happened is not known");
    assert_string_equal(text_of(&o, "findings", 0, "value"), "not known");
    assert_non_null(strstr(text_of(&o, "sections", 0, "said"),
                           "whether the capture holds all events is not known (finding 1)"));
    assert_int_equal(report_table(&o, "findings")->n_rows, 1);
    report_fini(&o);
}

/* Seven kernels, of which the first and the last have their launch, and those between have none: that so few are there is no reason to
 * judge what lies between. */
static void a_few_lost_launches_are_enough(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    for (int i = 0; i < 7; i++) {
        int64_t at = 10 + 100 * i;
        if (i % 6 == 0) {
            (void)rig_kernel(&r, "MatMul", "64,64", at - 2, at, at + 5);
        } else {
            (void)rig_slice(&r, PS_SLICE_KERNEL, r.stream, "MatMul", at, at + 5);
        }
    }
    report_one(&o, &r);
    assert_true(begins_with(report_text(&o, PS_RULE_THINNED),
                            "The capture of rank 0 holds only 2 of 7 launches of its kernels"));
    assert_false(report_fired(&o, PS_RULE_FREE_SHARE));
    report_fini(&o);
}

/* What was launched before the profiler began, and what ran after it stopped, is no loss. */
static void ends_are_no_loss(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    for (int i = 0; i < 90; i++) {
        int64_t at = 10 + 10 * i;
        if (i < 45) {
            (void)rig_slice(&r, PS_SLICE_KERNEL, r.stream, "MatMul", at, at + 5);
        } else {
            (void)rig_kernel(&r, "MatMul", "64,64", at - 440, at, at + 5);
        }
    }
    for (int i = 0; i < 90; i++) {
        (void)rig_host(&r, PS_SLICE_CALL, "launch", 901 + i, 902 + i);
    }
    report_one(&o, &r);
    assert_false(report_fired(&o, PS_RULE_THINNED));
    report_fini(&o);
}

/* Two samples are not the same work: that one computes longer says nothing. */
static void samples_are_not_compared(void **state) {
    (void)state;
    for (int thinned = 0; thinned < 2; thinned++) {
        ps_trace *traces[3];
        report_run o;
        for (int rank = 0; rank < 3; rank++) {
            rig r = rig_begin(1000);
            int64_t end = rank == 2 ? 800 : 500;
            (void)rig_kernel(&r, "MatMul", "64,64", 0, 10, end);
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", end, 1000, 1024);
            if (thinned && rank == 1) {
                ps_builder_meta(r.b, "pipescope.thinned", "2402 of 238287");
            }
            traces[rank] = rig_seal(&r);
        }
        report_over(&o, traces, 3, NULL, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_SLOW_KERNEL), !thinned);
        assert_int_equal(report_fired(&o, PS_RULE_SLOW_RANK), !thinned);
        assert_int_equal(report_fired(&o, PS_RULE_LATE_ARRIVAL), !thinned);
        if (thinned) {
            assert_true(begins_with(
                text_of(&o, "verdict", 0, "verdict"),
                "The capture of rank 1 holds only 2402 of at least 238287 events that its "
                "profiler numbered (at most 1.01 %)"));
        }
        report_fini(&o);
    }
}

/* --- what the host waits for ---------------------------------------------------------------------------------------------- */

/* Communication alone from 400 to 900 of a step of 1000, in which the host waits from 400 to 900. Something is launched behind
 * it, or nothing is. The step after it has a step of its own. */
static void a_wait_with_nothing_left_to_launch(void **state) {
    (void)state;
    for (int more = 0; more < 2; more++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 400, 900, 0);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 395, 900);
        if (more) {
            (void)rig_kernel(&r, "Add", NULL, 920, 930, 1000);
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_HOST_WAITS_COMM), more);
        report_fini(&o);
    }
}

/* The profiler synchronises when it stops, from 1100 on, while work of the step still communicates; a thread that goes on
 * launching belongs to nobody's step. */
static void a_synchronisation_outside_is_not_the_steps(void **state) {
    (void)state;
    for (int64_t at = 400; at <= 1100; at += 700) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 400, 1500, 0);
        (void)rig_host(&r, PS_SLICE_CALL, "cudaDeviceSynchronize", at, at + 400);
        (void)rig_kernel(&r, "Add", NULL, 990, 1500, 1510);
        (void)rig_kernel(&r, "Add", NULL, 1600, 1610, 1620);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_HOST_WAITS_COMM), at == 400);
        report_fini(&o);
    }
}

/* Buffers are sent from 450 to 650 inside of DistributedDataParallel's forward; the same operators elsewhere are operators. */
static void buffers_have_their_name(void **state) {
    (void)state;
    for (int is_ddp = 0; is_ddp < 2; is_ddp++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        (void)rig_host(&r, PS_SLICE_ANNOTATION, is_ddp ? "DistributedDataParallel.forward" : "mine",
                       410, 699);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::unflatten_dense_tensors", 450, 650);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::narrow", 460, 500);
        (void)rig_kernel(&r, "Add", NULL, 690, 700, 1000);
        report_one(&o, &r);
        const char *text = report_text(&o, PS_RULE_FREE_SHARE);
        assert_int_equal(strstr(text, "sending the model's buffers 200 us") != NULL, is_ddp);
        assert_int_equal(strstr(text, "operators and Python 200 us") != NULL, !is_ddp);
        assert_int_equal(report_fired(&o, PS_RULE_MODEL_BUFFERS), is_ddp);
        report_fini(&o);
    }
}

/* Copies within the device, or from the host, that a call of 1 us inside of aten::copy_ launches. */
static void write_back(rig *r, int64_t at, const char *copy) {
    (void)rig_host(r, PS_SLICE_HOST_OP, "aten::copy_", at, at + 30);
    uint32_t from = rig_host(r, PS_SLICE_CALL, "cudaMemcpyAsync", at + 10, at + 11);
    ps_builder_flow(r->b, from, rig_slice(r, PS_SLICE_COPY, r->stream, copy, at + 12, at + 13));
}

/* Buffers are taken apart from 450 to 500 and copied back by two operators of 30, at 510 and 550; a call lies between, and
 * after them the first operator of the model, which may copy what it is given: it comes behind one that launches a
 * kernel, or from the host. The phase goes from 450 to 580: the device copies for 2 of it, which the gain has in it, and for 2 more a copy that was launched had
 * not begun. */
static void buffers_are_copied_back(void **state) {
    (void)state;
    static const char *const WITHIN = "Memcpy DtoD (Device -> Device)";
    for (int of_model = 0; of_model < 2; of_model++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        (void)rig_host(&r, PS_SLICE_ANNOTATION, "DistributedDataParallel.forward", 410, 699);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::unflatten_dense_tensors", 450, 500);
        write_back(&r, 510, WITHIN);
        (void)rig_host(&r, PS_SLICE_CALL, "cudaEventRecord", 543, 545);
        write_back(&r, 550, WITHIN);
        if (of_model == 0) {
            (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::conv2d", 590, 620);
            (void)rig_kernel(&r, "Conv", NULL, 600, 612, 614);
            write_back(&r, 630, WITHIN);
        } else {
            write_back(&r, 590, "Memcpy HtoD (Pageable -> Device)");
        }
        (void)rig_kernel(&r, "Add", NULL, 690, 700, 1000);
        report_one(&o, &r);
        /* 126 idle, 2 of copies, and 2 behind them, where the launch comes earlier by all that the host did */
        assert_int_equal(report_gain(&o, PS_RULE_MODEL_BUFFERS), 130 * US);
        assert_non_null(
            strstr(report_text(&o, PS_RULE_MODEL_BUFFERS), "ranges in a step, 130 us)"));
        /* from the beginning of the range to the first operator in it */
        assert_non_null(
            strstr(report_text(&o, PS_RULE_MODEL_BUFFERS),
                   "Up to 40.0 us directly before it, in which no operator is recorded, may "
                   "belong to it"));
        report_fini(&o);
    }
}

/* Gradients are copied out of their buckets by two operators of 100, each with a copy of 1 that was launched 1 before it began; the
 * same operators under another name are operators. What is told of operators adds up to what is told of all of them. */
static void gradients_are_copied_one_by_one(void **state) {
    (void)state;
    for (int is_reducer = 0; is_reducer < 2; is_reducer++) {
        report_run o;
        rig r = rig_begin(1000);
        const char *name = is_reducer ? "torch.distributed.ddp.reducer::copy_bucket_to_grad"
                                      : "mine::copy_bucket_to_grad";
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        for (int64_t at = 410; at < 610; at += 100) {
            (void)rig_host(&r, PS_SLICE_HOST_OP, name, at, at + 100);
            write_back(&r, at + 20, "Memcpy DtoD (Device -> Device)");
        }
        (void)rig_kernel(&r, "Add", NULL, 690, 700, 1000);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_BUCKET_COPIES), is_reducer);
        if (is_reducer) {
            assert_int_equal(report_gain(&o, PS_RULE_BUCKET_COPIES), 200 * US);
            assert_non_null(strstr(report_text(&o, PS_RULE_BUCKET_COPIES), "2 ranges in a step"));
            assert_non_null(
                strstr(advice(&o, PS_RULE_BUCKET_COPIES), "gradient_as_bucket_view=True"));
        } else {
            assert_non_null(
                strstr(report_text(&o, PS_RULE_FREE_SHARE),
                       "Of operators and Python, each without what lies in it: "
                       "mine::copy_bucket_to_grad 140 us (2 a step), aten::copy_ 54.0 us "
                       "(2 a step)"));
        }
        report_fini(&o);
    }
}

/* --- the roofline --------------------------------------------------------------------------------------------------------- */

/* One product in a step of 10000, of `m` rows with a matrix of 4096 x 4096, that takes `length`. */
static void run_product(report_run *o, int m, int64_t length, const char *chip, double peak) {
    rig r = rig_begin(10000);
    char in[96];
    char out[64];
    char properties[128];
    (void)snprintf(in, sizeof in, "\"%d,4096;4096,4096\"", m);
    (void)snprintf(out, sizeof out, "\"%d,4096\"", m);
    uint32_t k = rig_kernel(&r, "MatMulV2", in, 0, 100, 100 + length);
    rig_text(&r, k, "inputDataTypes", "DT_BF16;DT_BF16");
    rig_text(&r, k, "inputFormats", "ND;ND");
    rig_text(&r, k, "outputShapes", out);
    rig_text(&r, k, "outputDataTypes", "DT_BF16");
    if (chip != NULL) {
        (void)snprintf(properties, sizeof properties, "[{\"id\": 0, \"name\": \"%s\"}]", chip);
        ps_builder_meta(r.b, "deviceProperties", properties);
    }
    ps_trace *t = rig_seal(&r);
    ps_analysis_opts opts = {.step_id = -1, .peak_tflops = peak};
    report_over(o, &t, 1, &opts, NULL);
    assert_int_equal(o->code, PS_OK);
}

/* An A100 does 312e12 / 1555e9 = 200 operations while its memory moves a byte. 16 rows: 537e6 operations on 33.8e6 bytes, 16
 * a byte; 4096 rows: 1365 a byte, 137e9 in 4000 us are 11 % of the peak. */
static void memory_is_not_low_mfu(void **state) {
    (void)state;
    report_run o;
    run_product(&o, 16, 100, "NVIDIA A100-SXM4-40GB", 0);
    assert_false(report_fired(&o, PS_RULE_LOW_MFU));
    assert_true(report_fired(&o, PS_RULE_MEMORY_BOUND));
    assert_int_equal(report_gain(&o, PS_RULE_MEMORY_BOUND), 0);
    assert_null(strstr(advice(&o, PS_RULE_MEMORY_BOUND), "multiples of"));
    report_fini(&o);
    run_product(&o, 4096, 4000, "NVIDIA A100-SXM4-40GB", 0);
    assert_true(report_fired(&o, PS_RULE_LOW_MFU));
    assert_false(report_fired(&o, PS_RULE_MEMORY_BOUND));
    assert_null(strstr(report_text(&o, PS_RULE_LOW_MFU), "Whether memory bounds"));
    assert_null(strstr(advice(&o, PS_RULE_LOW_MFU), "multiples of")); /* they are */
    assert_non_null(strstr(advice(&o, PS_RULE_LOW_MFU), "Larger microbatches"));
    report_fini(&o);
}

/* Without the name of the chip nobody knows, and that is said. */
static void unknown_bandwidth_is_said(void **state) {
    (void)state;
    report_run o;
    run_product(&o, 16, 100, NULL, 312);
    assert_true(report_fired(&o, PS_RULE_LOW_MFU));
    assert_false(report_fired(&o, PS_RULE_MEMORY_BOUND));
    assert_non_null(
        strstr(report_text(&o, PS_RULE_LOW_MFU), "Whether memory bounds them is not known"));
    report_fini(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communication_hides_behind_what_is_left),
        cmocka_unit_test(the_optimiser_awaits_what_it_works_with),
        cmocka_unit_test(calls_of_another_thread),
        cmocka_unit_test(only_transfers_that_nothing_awaits_can_be_hidden),
        cmocka_unit_test(verdict_and_finding_say_the_same),
        cmocka_unit_test(ranks_are_counted_where_there_are_several),
        cmocka_unit_test(advice_for_a_host_that_nobody_recorded),
        cmocka_unit_test(variables_have_no_duration),
        cmocka_unit_test(groups_are_no_ranks),
        cmocka_unit_test(delays_are_of_kernels),
        cmocka_unit_test(parts_are_not_judged),
        cmocka_unit_test(shares_of_a_part_are_none),
        cmocka_unit_test(few_events_tell_nothing),
        cmocka_unit_test(a_few_lost_launches_are_enough),
        cmocka_unit_test(ends_are_no_loss),
        cmocka_unit_test(samples_are_not_compared),
        cmocka_unit_test(a_wait_with_nothing_left_to_launch),
        cmocka_unit_test(a_synchronisation_outside_is_not_the_steps),
        cmocka_unit_test(buffers_have_their_name),
        cmocka_unit_test(buffers_are_copied_back),
        cmocka_unit_test(gradients_are_copied_one_by_one),
        cmocka_unit_test(memory_is_not_low_mfu),
        cmocka_unit_test(unknown_bandwidth_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

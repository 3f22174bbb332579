/* What the text of findings says: nothing that the capture cannot know, and no promise above what is left. Times in the
 * comments are microseconds. */
#include "support/report_run.h"

#include <stdio.h>
#include <string.h>

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
        assert_int_equal(strstr(text, "2 of 2 ranks are over the threshold") != NULL, n == 2);
        assert_int_equal(strstr(text, "over the threshold") != NULL, n == 2);
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
    assert_non_null(strstr(report_text(&o, PS_RULE_LAUNCH_DELAY), "3 of 3 kernels"));
    assert_non_null(
        strstr(report_text(&o, PS_RULE_LAUNCH_DELAY), "The median delay of kernels is 4.00 us"));
    report_fini(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(communication_hides_behind_what_is_left),
        cmocka_unit_test(verdict_and_finding_say_the_same),
        cmocka_unit_test(ranks_are_counted_where_there_are_several),
        cmocka_unit_test(variables_have_no_duration),
        cmocka_unit_test(groups_are_no_ranks),
        cmocka_unit_test(delays_are_of_kernels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

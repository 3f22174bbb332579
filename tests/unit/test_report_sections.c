/* What the report says of a section that it could not judge, or only in part: never that nothing is over its threshold. */
#include "support/pp_trace.h"
#include "support/report_run.h"

#include <string.h>

#include "write/report/report_view.h"

static const char *section_said(const report_run *o, const char *section) {
    const ps_table *t = report_table(o, "sections");
    assert_non_null(t);
    for (size_t r = 0; r < t->n_rows; r++) {
        if (strcmp(ps_view_text(t, r, "section"), section) == 0) {
            return ps_view_text(t, r, "said");
        }
    }
    return "";
}

static bool says(const report_run *o, const char *section, const char *what) {
    return strstr(section_said(o, section), what) != NULL;
}

/* One computing rank of two; `meta` is one entry of metadata, or NULL. */
static void report_ranks(report_run *o, const char *key, const char *value) {
    ps_trace *traces[2];
    for (size_t i = 0; i < 2; i++) {
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 30, 990);
        if (key != NULL) {
            ps_builder_meta(r.b, key, value);
        }
        traces[i] = rig_seal(&r);
    }
    report_over(o, traces, 2, NULL, NULL);
    assert_int_equal(o->code, PS_OK);
}

/* Sizes or groups of processes say that there is a pipeline; nothing says what its forwards are. */
static void a_pipeline_without_marks(void **state) {
    (void)state;
    static const struct {
        const char *key, *value, *says;
    } CASES[] = {
        {"distributed_args", "{\"pipeline_model_parallel_size\": 2, \"world_size\": 2}",
         "Not judged: the sizes of the job say that the ranks are a pipeline of 2 stages, but nothing"},
        {"parallel_group_info",
         "{\"g1\": {\"group_name\": \"pp\", \"group_rank\": 0, \"global_ranks\": [0, 1]}}",
         "Not judged: the process groups say that the ranks are a pipeline of 2 stages, but nothing"},
        {"distributed_args", "{\"pipeline_model_parallel_size\": 1, \"world_size\": 2}",
         "The sizes of the job say that it is no pipeline"},
        {NULL, NULL, "Nothing says that the ranks are a pipeline"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        report_ranks(&o, CASES[i].key, CASES[i].value);
        assert_true(says(&o, "pipeline", CASES[i].says));
        report_fini(&o);
    }
}

/* Kernels that somebody launched, and no collectives. */
static void what_is_there_is_judged(void **state) {
    (void)state;
    report_run o;
    report_ranks(&o, NULL, NULL);
    assert_string_equal(section_said(&o, "dispatch"), "Nothing is over its threshold.");
    assert_string_equal(section_said(&o, "communication"),
                        "Not judged: no communication was recorded.");
    report_fini(&o);
}

/* Jobs of an executor: no kernels, no launches, nothing of the host. */
static void jobs_are_no_kernels(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_slice(&r, PS_SLICE_JOB, r.stream, "FORWARD", 0, 980);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    assert_int_equal(o.code, PS_OK);
    static const char *const SECTIONS[] = {"dispatch", "compute", "communication"};
    for (size_t i = 0; i < 3; i++) {
        assert_true(says(&o, SECTIONS[i], "Not judged: "));
        assert_false(says(&o, SECTIONS[i], "over its threshold"));
    }
    const ps_table *verdict = report_table(&o, "verdict");
    assert_non_null(strstr(ps_view_text(verdict, 0, "verdict"), "Nothing could be judged"));
    report_fini(&o);
}

/* Kernels whose launch nobody recorded, and communication that computing hides. */
static void kernels_without_launches(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    (void)rig_slice(&r, PS_SLICE_KERNEL, r.stream, "Add", 0, 990);
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", 100, 300, 512);
    ps_trace *t = rig_seal(&r);
    report_over(&o, &t, 1, NULL, NULL);
    assert_true(says(&o, "dispatch", "Not judged: the profile holds no launches"));
    assert_true(says(&o, "communication", "computing hides all communication"));
    assert_true(says(&o, "communication", "Who waits for whom is not judged"));
    assert_true(says(&o, "communication", "The speed of links is not judged"));
    report_fini(&o);
}

/* A section with a finding says what it did not judge, as one without. */
static void findings_hide_nothing(void **state) {
    (void)state;
    for (int converts = 0; converts < 2; converts++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 30, 500);
        (void)rig_kernel(&r, converts ? "TransData" : "Add", NULL, 1, 500, 700);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 700, converts ? 1000 : 710, 512);
        ps_trace *t = rig_seal(&r);
        report_over(&o, &t, 1, NULL, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_CONVERSION), converts);
        assert_int_equal(report_fired(&o, PS_RULE_COMM_EXPOSED), converts);
        assert_true(says(&o, "compute", "How near kernels come to the chip's peak is not judged"));
        assert_true(says(&o, "communication", "Who waits for whom is not judged"));
        assert_true(says(&o, "communication", "The speed of links is not judged"));
        report_fini(&o);
    }
}

/* Of a pipeline of two stages one rank is here: no bubble is told, and nothing is called fine. */
static void one_stage_of_two(void **state) {
    (void)state;
    const pp_spec spec = {
        .schedule = "1f1b", .params = {.n_stages = 2, .n_microbatches = 4}, .windows = true};
    pp_traces t;
    pp_outcome charted;
    report_run o;
    ps_analysis_opts opts = {.pp = 2, .step_id = -1, .in_full = true};
    pp_traces_make(&t, &spec);
    pp_run(&charted, t.traces, 1, &opts);
    assert_int_equal(charted.code, PS_OK);
    ps_trace *first[1] = {t.traces[0]};
    report_over(&o, first, 1, &opts, &charted.result); /* frees the trace */
    assert_int_equal(o.code, PS_OK);
    assert_true(says(&o, "pipeline", "Not judged. No bubble is told: 1 of 2 stages is here"));
    assert_false(says(&o, "pipeline", "threshold"));
    report_fini(&o);
    pp_outcome_fini(&charted);
    t.traces[0] = NULL;
    pp_traces_fini(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_without_marks), cmocka_unit_test(what_is_there_is_judged),
        cmocka_unit_test(jobs_are_no_kernels),      cmocka_unit_test(kernels_without_launches),
        cmocka_unit_test(one_stage_of_two),         cmocka_unit_test(findings_hide_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

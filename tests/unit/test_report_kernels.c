/* Findings about kernels: which ones their rows name, what passed the threshold, and which of them count the same time. Times are
 * microseconds. */
#include "support/report_run.h"

#include <string.h>

static const char *cell(const report_run *o, const char *table, size_t row, const char *column) {
    const ps_table *t = report_table(o, table);
    const ps_value *v = ps_table_cell(t, row, ps_table_column(t, column));
    return v->is_null ? "" : v->u.text;
}

static const ps_value *finding_cell(const report_run *o, ps_rule_id rule, const char *column) {
    const ps_table *t = report_table(o, "findings");
    return ps_table_cell(t, report_row(o, rule), ps_table_column(t, column));
}

/* A product of 2.147e9 operations by its shapes, launched at `call`. */
static void product(rig *r, const char *name, int64_t call, int64_t start, int64_t end) {
    uint32_t from = rig_host(r, PS_SLICE_CALL, "launch", call, call + 1);
    uint32_t k = rig_slice(r, PS_SLICE_KERNEL, r->stream, name, start, end);
    ps_builder_flow(r->b, from, k);
    rig_text(r, k, "opType", "MatMulV2");
    rig_text(r, k, "inputShapes", "\"1024,1024;1024,1024\"");
    rig_text(r, k, "inputDataTypes", "DT_BF16;DT_BF16");
    rig_text(r, k, "inputFormats", "ND;ND");
    rig_text(r, k, "outputShapes", "\"1024,1024\"");
    rig_text(r, k, "outputDataTypes", "DT_BF16");
}

static void record_flops(rig *r, const char *name, int64_t start, int64_t end) {
    uint32_t mark = rig_host(r, PS_SLICE_MARK_HOST, name, start, end);
    rig_text(r, mark, "domain", "mfu_flops");
}

/* Attention of 4 * 8 * 1024 * 1024 * 64 operations by its operator; of the kernel no shapes are known where the operator's are not told. */
static void attention(rig *r, int64_t call, int64_t start, int64_t end) {
    uint32_t op = rig_host(r, PS_SLICE_HOST_OP, "aten::_scaled_dot_product_flash_attention",
                           call - 1, call + 3);
    rig_text(r, op, "Input Dims", "[[1, 8, 1024, 64], [1, 8, 1024, 64], [1, 8, 1024, 64], [], []]");
    rig_text(r, op, "Input type",
             "[\"c10::BFloat16\", \"c10::BFloat16\", \"c10::BFloat16\", \"Scalar\", \"Scalar\"]");
    rig_text(r, op, "Concrete Inputs", "[\"\", \"\", \"\", \"0.\", \"False\"]");
    uint32_t from = rig_host(r, PS_SLICE_CALL, "launch", call, call + 1);
    ps_builder_flow(r->b, from,
                    rig_slice(r, PS_SLICE_KERNEL, r->stream, "flash_fwd_kernel", start, end));
}

static void report_at_peak(report_run *o, ps_trace **traces, size_t n, double peak_tflops) {
    ps_analysis_opts opts = {.step_id = -1, .peak_tflops = peak_tflops};
    report_over(o, traces, n, &opts, NULL);
    assert_int_equal(o->code, PS_OK);
}

/* Of five products the longest agrees with its record; three differ by a factor of 2, one by 1.4, which is not more than 1.5. */
static void the_first_that_differs_is_named(void **state) {
    (void)state;
    static const struct {
        const char *name, *flops;
        int64_t end;
    } ALL[] = {{"agrees", "2147483648-x", 190},
               {"nearly", "3006477107-x", 180},
               {"second", "4294967296-x", 160},
               {"third", "4294967296-x", 170},
               {"fourth", "1073741824-x", 150}};
    report_run o;
    rig r = rig_begin(1000);
    for (int64_t i = 0; i < 5; i++) {
        record_flops(&r, ALL[i].flops, i * 4, i * 4 + 4);
        product(&r, ALL[i].name, i * 4 + 1, 100 + i * 100, ALL[i].end + i * 100);
    }
    ps_trace *t = rig_seal(&r);
    report_at_peak(&o, &t, 1, 100);
    const ps_table *rows = report_table(&o, "evidence");
    size_t number = report_row(&o, PS_RULE_FLOPS_DOUBT) + 1;
    size_t at = 0;
    while (ps_table_cell(rows, at, ps_table_column(rows, "finding"))->u.i != (int64_t)number) {
        at++;
    }
    assert_string_equal(cell(&o, "evidence", at, "name"), "second");
    assert_string_equal(cell(&o, "evidence", at, "note"),
                        "first of 3 that differ: together recorded 9.66e+09 FLOPs, by their shapes "
                        "6.44e+09");
    /* What fired is the factor, and not the MFU of those that agree. */
    assert_string_equal(finding_cell(&o, PS_RULE_FLOPS_DOUBT, "value")->u.text, "2 times");
    report_fini(&o);
}

/* Both conditions: an MFU of 215 % and a factor of 2. */
static void all_that_fired_is_shown(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    record_flops(&r, "4294967296-x", 0, 4);
    product(&r, "second", 1, 100, 200);
    product(&r, "agrees", 5, 200, 300);
    ps_trace *t = rig_seal(&r);
    report_at_peak(&o, &t, 1, 10);
    assert_string_equal(finding_cell(&o, PS_RULE_FLOPS_DOUBT, "value")->u.text,
                        "214.7 % and 2 times");
    report_fini(&o);
}

/* A governor is no share of time. */
static void a_governor_is_shown_as_one(void **state) {
    (void)state;
    for (int low = 0; low < 2; low++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "Add", NULL, 0, 10, 1000);
        ps_builder_meta(r.b, "cpu_governor", "powersave");
        rig_counter(&r, "CPU 0 Frequency", 0, 3000);
        rig_counter(&r, "CPU 0 Frequency", 800, low ? 2000 : 3000);
        rig_counter(&r, "CPU 0 Frequency", 1000, 3000);
        ps_trace *t = rig_seal(&r);
        report_over(&o, &t, 1, NULL, NULL);
        assert_string_equal(finding_cell(&o, PS_RULE_CPU_FREQUENCY, "value")->u.text,
                            low ? "20 % and governor powersave" : "governor powersave");
        assert_int_equal(strstr(report_text(&o, PS_RULE_CPU_FREQUENCY), "for 20.0 %") != NULL, low);
        report_fini(&o);
    }
}

/* Where no shape is known there is none in the sentence. */
static void an_unknown_shape_is_no_hole(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1000);
    record_flops(&r, "1000000000-x", 0, 4);
    (void)rig_kernel(&r, "MatMulV2", NULL, 1, 100, 200);
    rig_text(&r, rig_kernel(&r, "Add", NULL, 5, 200, 300), "inputDataTypes", "DT_BF16");
    ps_trace *t = rig_seal(&r);
    report_at_peak(&o, &t, 1, 100);
    assert_null(strstr(report_text(&o, PS_RULE_LOW_MFU), " of  "));
    report_fini(&o);
}

/* A product and an attention kernel, both far below the peak of 200: their kernels are not the same, so nothing is shared, on one rank and on
 * several. */
static void other_kernels_share_no_time(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        ps_trace *traces[2];
        report_run o;
        for (size_t i = 0; i < n; i++) {
            rig r = rig_begin(220);
            attention(&r, 5, 20, 120);
            product(&r, "product", 15, 120, 220);
            traces[i] = rig_seal(&r);
        }
        report_at_peak(&o, traces, n, 200);
        assert_true(report_gain(&o, PS_RULE_LOW_MFU) > 0);
        assert_true(report_gain(&o, PS_RULE_LOW_MFU_ATTENTION) > 0);
        assert_int_equal(report_table(&o, "shared")->n_rows, 0);
        assert_null(strstr(cell(&o, "verdict", 0, "verdict"), "may count time"));
        report_fini(&o);
    }
}

/* Conversions of numbers on the AI CPU, 100 in a step: all of it in both. */
static void the_same_kernels_share_theirs(void **state) {
    (void)state;
    for (size_t n = 1; n <= 2; n++) {
        ps_trace *traces[2];
        report_run o;
        for (size_t i = 0; i < n; i++) {
            rig r = rig_begin(1000);
            (void)rig_kernel(&r, "Add", "64,64", 0, 10, 500);
            uint32_t k = rig_kernel(&r, "Cast", "64,64", 2, 500, 600);
            rig_text(&r, k, "taskType", "AI_CPU");
            (void)rig_kernel(&r, "Add", "64,64", 4, 600, 1000);
            traces[i] = rig_seal(&r);
        }
        report_over(&o, traces, n, NULL, NULL);
        assert_int_equal(report_gain(&o, PS_RULE_CONVERSION), 100 * US);
        assert_int_equal(report_gain(&o, PS_RULE_AICPU), 100 * US);
        assert_int_equal(finding_cell(&o, PS_RULE_AICPU, "shared")->u.i, 100 * US);
        report_fini(&o);
    }
}

/* Of eight equal products one takes 300 instead of 100: 200 too long. At 30 % of the peak of 100 they would take less: what the slow one
 * takes too long is a part of what it would save. */
static void a_slow_one_of_slow_ones(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(1100);
    for (int64_t i = 0; i < 8; i++) {
        product(&r, "product", i * 2, 20 + i * 100, i == 7 ? 1020 : 120 + i * 100);
    }
    ps_trace *t = rig_seal(&r);
    report_at_peak(&o, &t, 1, 200);
    assert_int_equal(report_gain(&o, PS_RULE_KERNEL_VARIES), 200 * US);
    assert_true(report_gain(&o, PS_RULE_LOW_MFU) > 200 * US);
    const ps_value *shared = finding_cell(&o, PS_RULE_KERNEL_VARIES, "shared");
    assert_false(shared->is_null);
    assert_in_range(shared->u.i, 170 * US, 200 * US);
    report_fini(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_that_differs_is_named),
        cmocka_unit_test(all_that_fired_is_shown),
        cmocka_unit_test(a_governor_is_shown_as_one),
        cmocka_unit_test(an_unknown_shape_is_no_hole),
        cmocka_unit_test(other_kernels_share_no_time),
        cmocka_unit_test(the_same_kernels_share_theirs),
        cmocka_unit_test(a_slow_one_of_slow_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

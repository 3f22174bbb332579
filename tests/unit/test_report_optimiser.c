/* Optimisers that launch kernels one by one, on traces made by hand. */
#include "support/report_run.h"

#include <stdio.h>
#include <string.h>

static void report_one(report_run *out, rig *r) {
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

/* A step of the optimiser from 400 to 600 launches `n` kernels of 1 us each; the device is idle in the rest of it. */
static void run_optimiser(report_run *o, const char *range, int n) {
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_host(&r, PS_SLICE_CALL, "aclrtLaunchKernel", 0, 1);
    (void)rig_host(&r, PS_SLICE_ANNOTATION, range, 400, 600);
    for (int i = 0; i < n; i++) {
        uint32_t call = rig_host(&r, PS_SLICE_CALL, "launch", 400 + i, 400 + i);
        ps_builder_flow(r.b, call,
                        rig_slice(&r, PS_SLICE_KERNEL, r.stream, "Mul", 401 + i, 402 + i));
    }
    (void)rig_kernel(&r, "Add", NULL, 595, 600, 1000);
    report_one(o, &r);
}

static void optimiser_launches(void **state) {
    (void)state;
    static const struct {
        const char *range;
        int n;
        const char *says;
    } CASES[] = {{"Optimizer.step#AdamW.step", 120, "NpuFusedAdamW updates"},
                 {"Optimizer.step#Mine.step", 120, "foreach or fused"},
                 {"Optimizer.step#AdamW.step", 4, NULL},
                 {"myOptimizer.step#AdamW.step", 120, NULL}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        run_optimiser(&o, CASES[i].range, CASES[i].n);
        assert_int_equal(report_fired(&o, PS_RULE_OPTIMISER_LAUNCHES), CASES[i].says != NULL);
        if (CASES[i].says != NULL) {
            assert_non_null(strstr(report_text(&o, PS_RULE_OPTIMISER_LAUNCHES), CASES[i].says));
            assert_int_equal(report_gain(&o, PS_RULE_OPTIMISER_LAUNCHES), 0);
        }
        report_fini(&o);
    }
}

/* `n` kernels of a step that waits for the host, each launched by an operator of that name; advice of the rule. */
static void run_operators(report_run *o, ps_rule_id rule, const char *op, int n, char *out,
                          size_t size) {
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#SGD.step", 400, 590);
    for (int i = 0; i < n; i++) {
        (void)rig_host(&r, PS_SLICE_HOST_OP, op, 401 + i, 402 + i);
        uint32_t call = rig_host(&r, PS_SLICE_CALL, "cudaLaunchKernel", 401 + i, 401 + i);
        ps_builder_flow(r.b, call,
                        rig_slice(&r, PS_SLICE_KERNEL, r.stream, "Mul", 402 + i, 403 + i));
    }
    (void)rig_kernel(&r, "Add", NULL, 595, 600, 1000);
    report_one(o, &r);
    const ps_table *t = report_table(o, "findings");
    size_t row = report_row(o, rule);
    assert_true(row != SIZE_MAX);
    (void)snprintf(out, size, "%s", ps_table_cell(t, row, ps_table_column(t, "try"))->u.text);
}

/* What is done already is not advised: foreach and fused operators are known by their names, a few kernels by their number. */
static void advice_is_not_done_already(void **state) {
    (void)state;
    static const struct {
        const char *op;
        int n;
        const char *says, *says_not;
    } CASES[] = {
        {"aten::_foreach_add_", 9, "9 kernels, with foreach operators already", "foreach=True"},
        {"aten::_fused_sgd_", 2, "2 kernels, with fused operators already", "fused=True"},
        {"aten::add_", 3, "fused=True or foreach=True where the optimiser has it", "few kernels"},
        {"aten::add_", 120, "fused=True or foreach=True", "already"},
        {"aten::_foreach_add_", 120, "fused=True where the optimiser has it", "foreach=True"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        char advice[512];
        run_operators(&o, PS_RULE_HOST_OPTIMIZER, CASES[i].op, CASES[i].n, advice, sizeof advice);
        assert_non_null(strstr(advice, CASES[i].says));
        assert_null(strstr(advice, CASES[i].says_not));
        report_fini(&o);
    }
}

/* Of a large model foreach launches many, too. */
static void many_launches_of_foreach(void **state) {
    (void)state;
    for (int is_foreach = 0; is_foreach < 2; is_foreach++) {
        report_run o;
        char advice[512];
        run_operators(&o, PS_RULE_OPTIMISER_LAUNCHES,
                      is_foreach ? "aten::_foreach_add_" : "aten::add_", 120, advice,
                      sizeof advice);
        assert_int_equal(strstr(advice, "foreach=True") == NULL, is_foreach);
        assert_int_equal(strstr(report_text(&o, PS_RULE_OPTIMISER_LAUNCHES),
                                "with foreach operators already") != NULL,
                         is_foreach);
        report_fini(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimiser_launches),
                                       cmocka_unit_test(advice_is_not_done_already),
                                       cmocka_unit_test(many_launches_of_foreach)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

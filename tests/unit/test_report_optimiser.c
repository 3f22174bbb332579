/* Optimisers that launch kernels one by one, on traces made by hand. */
#include "support/report_run.h"

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(optimiser_launches)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

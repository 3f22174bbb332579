/* Rules on the counters and blocks of kernels, on traces made by hand: a case in which each fires and one in which it is silent.
 * Times in the comments are microseconds. */
#include "support/report_run.h"

#include <string.h>

static void report_one(report_run *out, rig *r) {
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

static const char *evidence(const report_run *o, ps_rule_id rule, size_t row, const char *column) {
    const ps_table *t = report_table(o, "evidence");
    int64_t number = (int64_t)report_row(o, rule) + 1;
    for (size_t r = 0; r < t->n_rows; r++) {
        if (ps_table_cell(t, r, ps_table_column(t, "finding"))->u.i == number && row-- == 0) {
            return ps_table_cell(t, r, ps_table_column(t, column))->u.text;
        }
    }
    return "";
}

static void with_ratio(rig *r, uint32_t kernel, const char *key, double ratio) {
    ps_builder_arg(
        r->b, kernel,
        (ps_arg){.key = ps_builder_str(r->b, key, strlen(key)), .type = PS_ARG_REAL, .u.r = ratio});
}

/* 600 of 800 move data, 200 multiply; the other way round nothing is said. */
static void unit_bound(void **state) {
    (void)state;
    for (int is_mac = 0; is_mac < 2; is_mac++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t a = rig_kernel(&r, "Mul", "4,4", 0, 100, 700);
        with_ratio(&r, a, is_mac ? "aic_mac_ratio" : "aiv_mte2_ratio", 0.8);
        with_ratio(&r, a, "aiv_scalar_ratio", 0.3);
        uint32_t b = rig_kernel(&r, "MatMul", "4,4", 0, 700, 900);
        with_ratio(&r, b, "aic_mac_ratio", 0.9);
        with_ratio(&r, b, "aic_mte2_ratio", 0.6);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_UNIT_BOUND), !is_mac);
        if (!is_mac) {
            const char *text = report_text(&o, PS_RULE_UNIT_BOUND);
            assert_non_null(strstr(text, "the cube unit 25.0 %"));
            assert_non_null(strstr(text, "moving data 75.0 %"));
            assert_string_equal(evidence(&o, PS_RULE_UNIT_BOUND, 0, "name"), "Mul");
            assert_int_equal(report_gain(&o, PS_RULE_UNIT_BOUND), 0);
        }
        report_fini(&o);
    }
}

/* The scalar unit moves nothing: 300 of it and 300 that move data are neither of them the larger part of 700; 600 of it are a
 * finding of its own. */
static void scalar_work_moves_nothing(void **state) {
    (void)state;
    for (int is_most = 0; is_most < 2; is_most++) {
        report_run o;
        rig r = rig_begin(1000);
        with_ratio(&r, rig_kernel(&r, "Gather", "4,4", 0, 100, 400), "aiv_scalar_ratio", 0.9);
        with_ratio(&r, rig_kernel(&r, "Mul", "4,4", 0, 400, 700),
                   is_most ? "aiv_scalar_ratio" : "aiv_mte2_ratio", 0.9);
        with_ratio(&r, rig_kernel(&r, "MatMul", "4,4", 0, 700, 800), "aic_mac_ratio", 0.9);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_UNIT_BOUND), is_most);
        if (is_most) {
            const ps_table *t = report_table(&o, "findings");
            const ps_value *title =
                ps_table_cell(t, report_row(&o, PS_RULE_UNIT_BOUND), ps_table_column(t, "title"));
            assert_string_equal(title->u.text, "Kernels whose scalar unit is the busiest");
        }
        report_fini(&o);
    }
}

static void few_blocks(void **state) {
    (void)state;
    static const struct {
        const char *cores, *core;
        int64_t blocks;
        bool fires;
    } CASES[] = {{"24", "AI_CORE", 8, true},
                 {"24", "AI_CPU", 1, false},
                 {"24", "AI_CORE", 24, false},
                 {"24", "AI_CORE", 0, false},
                 {NULL, "AI_CORE", 8, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t a = rig_kernel(&r, "Mul", "4,4", 0, 100, 700);
        ps_builder_arg_int(r.b, a, "Block Dim", CASES[i].blocks);
        rig_text(&r, a, "taskType", CASES[i].core);
        if (CASES[i].cores != NULL) {
            ps_builder_meta(r.b, "ai_core_num", CASES[i].cores);
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_FEW_BLOCKS), CASES[i].fires);
        report_fini(&o);
    }
}

/* Of 800 in graphs 600 are dynamic; single operators are as they should be. Text captures and databases have names of their own. */
static void dynamic_shapes(void **state) {
    (void)state;
    static const struct {
        const char *state_key, *model_key;
        int64_t model;
        bool fires;
    } CASES[] = {{"OP State", "Model Id", 7, true},
                 {"opState", "modelId", 1, true},
                 {"OP State", "Model Id", 4294967295, false},
                 {"OP State", NULL, 0, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = rig_begin(1000);
        for (int k = 0; k < 2; k++) {
            uint32_t a = rig_kernel(&r, k == 0 ? "Mul" : "MatMul", "4,4", 0, k == 0 ? 100 : 700,
                                    k == 0 ? 700 : 900);
            rig_text(&r, a, CASES[i].state_key, k == 0 ? "dynamic" : "static");
            if (CASES[i].model_key != NULL) {
                ps_builder_arg_int(r.b, a, CASES[i].model_key, CASES[i].model);
            }
        }
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_DYNAMIC_SHAPES), CASES[i].fires);
        if (CASES[i].fires) {
            const char *text = report_text(&o, PS_RULE_DYNAMIC_SHAPES);
            assert_non_null(
                strstr(text, "take 75.0 % of the computing, and 75.0 % of that of graphs"));
            assert_string_equal(evidence(&o, PS_RULE_DYNAMIC_SHAPES, 0, "name"), "Mul");
        }
        report_fini(&o);
    }
}

/* A sequence of RMSNorm and one of SwiGLU, 8 + 2 kernels of 10, in 400 of computing: 25 %. With a kernel between, on two streams, or of
 * other types nothing is said. */
static void fusible(void **state) {
    (void)state;
    static const char *const TYPES[] = {"Cast", "Pows", "ReduceMean", "Add",   "Rsqrt",
                                        "Mul",  "Cast", "Mul",        "Swish", "Mul"};
    for (int odd = 0; odd < 3; odd++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t first = r.stream;
        uint32_t second =
            ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 3, .device = 0});
        int64_t at = 100;
        for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++, at += 10) {
            bool is_apart = odd > 0 && (i == 3 || i == 9);
            const char *type = odd == 1 && is_apart ? "Sub" : TYPES[i];
            r.stream = odd == 2 && is_apart ? second : first;
            (void)rig_kernel(&r, type, "4,4", 0, at, at + 10);
        }
        (void)rig_kernel(&r, "MatMul", "4,4", 0, 300, 600);
        report_one(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_FUSIBLE), odd == 0);
        if (odd == 0) {
            assert_non_null(strstr(report_text(&o, PS_RULE_FUSIBLE), "2 sequences"));
            assert_non_null(
                strstr(report_text(&o, PS_RULE_FUSIBLE), "take 25.0 % of the computing"));
            assert_string_equal(evidence(&o, PS_RULE_FUSIBLE, 0, "name"),
                                "Cast,Pows,ReduceMean,Add,Rsqrt,Mul,Cast,Mul");
            assert_string_equal(evidence(&o, PS_RULE_FUSIBLE, 1, "name"), "Swish,Mul");
            assert_int_equal(report_gain(&o, PS_RULE_FUSIBLE), 0);
        }
        report_fini(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unit_bound), cmocka_unit_test(scalar_work_moves_nothing),
        cmocka_unit_test(few_blocks), cmocka_unit_test(dynamic_shapes),
        cmocka_unit_test(fusible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

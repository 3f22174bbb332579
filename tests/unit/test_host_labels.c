/* What names of ranges mean, one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/pipeline/host_labels.h"
#include "base/alloc.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

static void test_names(void **context) {
    (void)context;
    static const struct {
        const char *name;
        ps_label_family family;
        ps_op_kind kind;
        int32_t stage, microbatch, stage2, microbatch2;
    } NAMES[] = {
        {"PP:3F7", PS_FAMILY_ACTION, PS_OP_F, 3, 7, -1, -1},
        {"PP:12B345", PS_FAMILY_ACTION, PS_OP_B, 12, 345, -1, -1},
        {"PP:0I3", PS_FAMILY_ACTION, PS_OP_BI, 0, 3, -1, -1},
        {"PP:0W3", PS_FAMILY_ACTION, PS_OP_BW, 0, 3, -1, -1},
        {"PP:1BW0", PS_FAMILY_ACTION, PS_OP_B, 1, 0, -1, -1},
        {"PP:0RESHARD", PS_FAMILY_ACTION, PS_OP_OTHER, 0, -1, -1, -1},
        {"PP:2SEND_F1", PS_FAMILY_ACTION, PS_OP_SEND, 2, 1, -1, -1},
        {"PP:(0F1;3B2)OVERLAP_F_B", PS_FAMILY_ACTION, PS_OP_FB, 0, 1, 3, 2},
        {"PP: ( 3B2 ; 0F1 ) OVERLAP_F_B", PS_FAMILY_ACTION, PS_OP_FB, 0, 1, 3, 2},
        {"Forward 2", PS_FAMILY_MICROBATCH, PS_OP_F, -1, 2, -1, -1},
        {"Backward 0", PS_FAMILY_MICROBATCH, PS_OP_B, -1, 0, -1, -1},
        {"forward_step", PS_FAMILY_FUNCTION, PS_OP_F, -1, -1, -1, -1},
        {"megatron.core.pipeline_parallel.schedules.backward_step", PS_FAMILY_FUNCTION, PS_OP_B, -1,
         -1, -1, -1},
        {"forward-compute", PS_FAMILY_FUNCTION, PS_OP_F, -1, -1, -1, -1},
        {"forward_backward_overlaping", PS_FAMILY_FUNCTION, PS_OP_FB, -1, -1, -1, -1},
        {"DualPipe._forward_backward_chunk(0)", PS_FAMILY_FUNCTION, PS_OP_FB, -1, -1, -1, -1},
        {"_weight_chunk", PS_FAMILY_FUNCTION, PS_OP_BW, -1, -1, -1, -1},
        {"WeightGradStore.pop", PS_FAMILY_FUNCTION, PS_OP_BW, -1, -1, -1, -1},
        {"{'name': 'forward_step_with_model_graph', 'current_microbatch': 3}", PS_FAMILY_FUNCTION,
         PS_OP_F, -1, 3, -1, -1},
        {"{'name': 'forward_step', 'current_microbatch': 3, 'stage': 5}", PS_FAMILY_ACTION, PS_OP_F,
         5, 3, -1, -1},
        {"{'name': 'backward_step', 'current_microbatch': 3, 'stage': 5}", PS_FAMILY_ACTION,
         PS_OP_B, 5, 3, -1, -1},
        {"{'name': 'forward_backward_overlapping', 'current_microbatch': 7, 'stage': 0, "
         "'backward_microbatch': 3, 'backward_stage': 4}",
         PS_FAMILY_ACTION, PS_OP_FB, 0, 7, 4, 3},
        /* one of them missing: the order tells */
        {"{'name': 'backward_step', 'stage': 5}", PS_FAMILY_FUNCTION, PS_OP_B, -1, -1, -1, -1},
        {"{'name': 'forward_backward_overlapping', 'current_microbatch': 7, 'stage': 0}",
         PS_FAMILY_FUNCTION, PS_OP_FB, -1, 7, -1, -1},
        {"layer_3f", PS_FAMILY_LAYER, PS_OP_F, -1, -1, -1, -1},
        {"layer_3f-layer_8b", PS_FAMILY_LAYER, PS_OP_FB, -1, -1, -1, -1},
    };
    for (size_t i = 0; i < N(NAMES); i++) {
        ps_host_label l;
        if (!ps_host_label_parse(NAMES[i].name, &l)) {
            fail_msg("%s", NAMES[i].name);
        }
        assert_int_equal(l.family, NAMES[i].family);
        assert_int_equal(l.kind, NAMES[i].kind);
        assert_int_equal(l.stage, NAMES[i].stage);
        assert_int_equal(l.microbatch, NAMES[i].microbatch);
        assert_int_equal(l.stage2, NAMES[i].stage2);
        assert_int_equal(l.microbatch2, NAMES[i].microbatch2);
    }
}

static void test_what_is_no_label(void **context) {
    (void)context;
    static const char *const NAMES[] = {
        "",
        "PP:",
        "PP:F3",
        "PP:3F",
        "PP:3X1",
        "PP:3F7 tail",
        "PP:999999999F1",
        "PP:1F65536",
        "PP:(0F1)OVERLAP_F_B",
        "Forward",
        "Forward x",
        "Forward -1",
        "Forward 1 2",
        "Backward 99999",
        "forward",
        "my_forward_step",
        "forward_step2",
        "autograd::engine::evaluate_function",
        "AddmmBackward0, seq = 12",
        "megatron.core.pipeline_parallel.schedules.forward_backward_pipelining_with_interleaving.warmup",
        "layer_",
        "layer_3",
        "layer_3x",
        "layer_3f-",
        "layer_3b-layer_2f",
        "layer_3f-layer_2f",
        "{'name': 'something'}",
        "{",
        "{'name': forward_step"};
    for (size_t i = 0; i < N(NAMES); i++) {
        ps_host_label l;
        if (ps_host_label_parse(NAMES[i], &l)) {
            fail_msg("'%s' is taken for a label", NAMES[i]);
        }
    }
}

static bool matches(const ps_label_rules *rules, const char *name, ps_host_label *l) {
    bool found = false;
    assert_int_equal(ps_label_rules_match(rules, name, l, &found, NULL), PS_OK);
    return found;
}

static void test_rules(void **context) {
    (void)context;
    const ps_analysis_opts opts = {.forward_re = "^fwd(_mb([0-9]+))?|both",
                                   .backward_re = "bwd-([0-9]+)$|both",
                                   .microbatch_re = "k=([0-9]+)"};
    ps_label_rules rules;
    ps_host_label l;
    assert_int_equal(ps_label_rules_init(&rules, &opts, NULL), PS_OK);
    assert_true(matches(&rules, "fwd_mb12", &l));
    assert_int_equal(l.kind, PS_OP_F);
    assert_int_equal(l.microbatch, 12); /* the digits of the first group */
    assert_true(matches(&rules, "a bwd-7", &l));
    assert_int_equal(l.kind, PS_OP_B);
    assert_int_equal(l.microbatch, 7);
    assert_true(matches(&rules, "fwd k=3", &l));
    assert_int_equal(l.microbatch, 3);
    assert_true(matches(&rules, "both", &l));
    assert_int_equal(l.kind, PS_OP_FB);
    assert_true(matches(&rules, "fwd_mb99999999999999999999", &l));
    assert_int_equal(l.microbatch, -1);
    assert_false(matches(&rules, "k=3", &l));
    ps_label_rules_fini(&rules);
}

/* An expression that tries every way through a name ends, and the error says which one it is. */
static void test_costly_rule(void **context) {
    (void)context;
    const ps_analysis_opts opts = {.backward_re = "(a|aa)*[bc]"};
    char name[200];
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    ps_label_rules rules;
    ps_host_label l;
    ps_err err = PS_ERR_INIT;
    bool found = false;
    assert_int_equal(ps_label_rules_init(&rules, &opts, &err), PS_OK);
    assert_int_equal(ps_label_rules_match(&rules, name, &l, &found, &err), PS_USAGE);
    assert_non_null(strstr(err.msg, "--backward-re"));
    assert_false(found);
    ps_label_rules_fini(&rules);
}

static void test_bad_rules(void **context) {
    (void)context;
    const ps_analysis_opts opts = {.forward_re = "fwd", .backward_re = "bwd(["};
    ps_label_rules rules;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_label_rules_init(&rules, &opts, &err), PS_USAGE);
    assert_non_null(strstr(err.msg, "--backward-re"));
    ps_label_rules_fini(&rules);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_what_is_no_label),
        cmocka_unit_test(test_rules),       cmocka_unit_test(test_bad_rules),
        cmocka_unit_test(test_costly_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is tried first follows from the capture: nothing that is there already, that it has no trace of, or that works against another
 * finding. Times in the comments are microseconds. */
#include "support/report_run.h"

#include <stdio.h>
#include <string.h>

static void finish(report_run *out, rig *r) {
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

static const char *advice(const report_run *o, ps_rule_id rule) {
    const ps_table *t = report_table(o, "findings");
    size_t row = report_row(o, rule);
    assert_true(row != SIZE_MAX);
    return ps_table_cell(t, row, ps_table_column(t, "try"))->u.text;
}

static void expect(const report_run *o, ps_rule_id rule, const char *part, bool is_there) {
    if ((strstr(advice(o, rule), part) != NULL) != is_there) {
        fail_msg("'%s' %s: %s", part, is_there ? "is not in" : "is in", advice(o, rule));
    }
}

/* A device that waits for the host from 400 to 700, the host in `call` for most of it. */
static void run_gap(report_run *out, const char *environment, const char *range, const char *call) {
    rig r = rig_begin(1000);
    if (environment != NULL) {
        ps_builder_meta(r.b, "ENV_VARIABLES", environment);
    }
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_host(&r, PS_SLICE_HOST_OP, range, 5, 6);
    (void)rig_host(&r, PS_SLICE_CALL, call, 405, 650);
    (void)rig_kernel(&r, "Add", NULL, 690, 700, 1000);
    finish(out, &r);
}

static void a_slow_host(void **state) {
    (void)state;
    report_run o;
    run_gap(&o, "{\"TASK_QUEUE_ENABLE\": \"2\", \"CPU_AFFINITY_CONF\": \"1\"}",
            "autograd::engine::evaluate_function: AddmmBackward0", "aclnnAdd");
    expect(&o, PS_RULE_FREE_SHARE, "MINDIE", false);
    expect(&o, PS_RULE_FREE_SHARE, "TASK_QUEUE_ENABLE", false);
    expect(&o, PS_RULE_FREE_SHARE, "CPU_AFFINITY_CONF", false);
    expect(&o, PS_RULE_FREE_SHARE, "Fused operators of torch_npu", true);
    report_fini(&o);
    run_gap(&o, NULL, "aten::add", "aclnnAdd");
    expect(&o, PS_RULE_FREE_SHARE, "MINDIE", true);
    expect(&o, PS_RULE_FREE_SHARE, "TASK_QUEUE_ENABLE=2", true);
    report_fini(&o);
}

static void synchronising_calls(void **state) {
    (void)state;
    static const struct {
        const char *environment, *said;
    } CASES[] = {{"{\"ASCEND_LAUNCH_BLOCKING\": \"1\"}", "Switch ASCEND_LAUNCH_BLOCKING off"},
                 {"{\"ASCEND_LAUNCH_BLOCKING\": \"\"}", NULL},
                 {NULL, "See that ASCEND_LAUNCH_BLOCKING is off"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        run_gap(&o, CASES[i].environment, "aten::add", "aclrtSynchronizeStream");
        expect(&o, PS_RULE_BLOCKING_SYNC, "LAUNCH_BLOCKING", CASES[i].said != NULL);
        if (CASES[i].said != NULL) {
            expect(&o, PS_RULE_BLOCKING_SYNC, CASES[i].said, true);
        }
        report_fini(&o);
    }
}

/* Conversions of 100 beside a product of 400. */
static void conversions(void **state) {
    (void)state;
    static const char *const TYPES[] = {"TransData", "Cast"};
    for (int is_cast = 0; is_cast < 2; is_cast++) {
        report_run o;
        rig r = rig_begin(600);
        (void)rig_host(&r, PS_SLICE_CALL, "aclnnAdd", 0, 1);
        (void)rig_kernel(&r, "MatMulV2", "64,64;64,64", 1, 5, 405);
        (void)rig_kernel(&r, TYPES[is_cast], "64,64", 2, 405, 505);
        finish(&o, &r);
        expect(&o, PS_RULE_CONVERSION, "autocast", is_cast);
        expect(&o, PS_RULE_CONVERSION, "allow_internal_format", !is_cast);
        report_fini(&o);
    }
}

/* Computing of 500, then communication of 500: what it is, and what of it lies beside computing. */
static void hiding_communication(void **state) {
    (void)state;
    static const struct {
        const char *type;
        bool reduces, gathers;
    } CASES[] = {{"hcom_allReduce_", true, false}, {"hcom_allGather_", false, true}};
    for (size_t i = 0; i < 2 * sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = rig_begin(1200);
        bool is_beside = i % 2 == 1;
        (void)rig_kernel(&r, "MatMulV2", "64,64;64,64", 0, 5, 505);
        for (int k = 0; k < 1 + is_beside; k++) {
            int64_t from = k == 0 ? 505 : 200;
            uint32_t row = rig_slice(&r, PS_SLICE_COMM_OP, r.group, CASES[i / 2].type, from,
                                     k == 0 ? 1005 : 300);
            rig_text(&r, row, "opType", CASES[i / 2].type);
            rig_text(&r, row, "dataType", "FP32");
            ps_builder_arg_int(r.b, row, "count", 10000000);
        }
        (void)rig_kernel(&r, "Add", "64,64", 1, 1005, 1200);
        finish(&o, &r);
        expect(&o, PS_RULE_COMM_EXPOSED, "with the backward (buckets)",
               CASES[i / 2].reduces && !is_beside);
        expect(&o, PS_RULE_COMM_EXPOSED, "100 us of communication lie beside computing already",
               CASES[i / 2].reduces && is_beside);
        expect(&o, PS_RULE_COMM_EXPOSED, "ather parameters one layer ahead", CASES[i / 2].gathers);
        expect(&o, PS_RULE_COMM_EXPOSED, "pipeline", false);
        expect(&o, PS_RULE_COMM_EXPOSED, "small messages", false);
        report_fini(&o);
    }
}

/* Exposed communication of 300 and of 100: the rank with less is the one to look at. */
static void ranks_that_differ(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int rank = 0; rank < 2; rank++) {
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMulV2", "64,64;64,64", 0, 5, 505);
        (void)rig_comm(&r, "hcom_allReduce__1_0_1", 505, rank == 0 ? 805 : 605, 1024);
        traces[rank] = rig_seal(&r);
    }
    report_run o;
    report_over(&o, traces, 2, NULL, NULL);
    expect(&o, PS_RULE_SLOW_RANK, "Look at what the rank with the least of it did", true);
    report_fini(&o);
}

/* What runs on vector cores has no tile; of a product, and of what is not known, tiles are spoken. */
static void the_kernel_that_takes_most(void **state) {
    (void)state;
    static const struct {
        const char *type, *core;
        bool has_tile;
    } CASES[] = {{"ForeachAddList", "AI_VECTOR_CORE", false},
                 {"LayerNormV4", "AI_VECTOR_CORE", false},
                 {"MatMulV2", "AI_CORE", true},
                 {"triton_tem_fused", NULL, true}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = rig_begin(1000);
        uint32_t k = rig_kernel(&r, CASES[i].type, "64,64;64,64", 0, 5, 505);
        if (CASES[i].core != NULL) {
            rig_text(&r, k, "taskType", CASES[i].core);
        }
        (void)rig_kernel(&r, "Add", "64,64", 1, 505, 605);
        finish(&o, &r);
        expect(&o, PS_RULE_TOP_KERNEL, "multiple of the tile", CASES[i].has_tile);
        bool is_foreach = strcmp(CASES[i].type, "ForeachAddList") == 0;
        expect(&o, PS_RULE_TOP_KERNEL, "It takes many tensors at once already", is_foreach);
        expect(&o, PS_RULE_TOP_KERNEL, "foreach or fused optimisers",
               !CASES[i].has_tile && !is_foreach);
        report_fini(&o);
    }
}

/* --- attention ----------------------------------------------------------------------------------------------------------- */

typedef struct attention_case {
    const char *shape, *type, *mask;
    bool is_wide, has_head, has_mask, has_types;
} attention_case;

/* On Ascend: the kernel has shapes and types, a mark on the host before it the layout and the mask. */
static ps_trace *ascend_attention(const attention_case *c) {
    rig r = rig_begin(1000);
    if (c->mask != NULL) {
        uint32_t mark = rig_host(&r, PS_SLICE_MARK_HOST, c->mask, 4, 5);
        rig_text(&r, mark, "domain", "flash_attn_args");
    }
    char shapes[128];
    char types[64];
    (void)snprintf(shapes, sizeof shapes, "\"%s;%s;%s\"", c->shape, c->shape, c->shape);
    (void)snprintf(types, sizeof types, "%s;%s;%s", c->type, c->type, c->type);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::attention", 9, 13);
    uint32_t k = rig_kernel(&r, "FlashAttentionScore", shapes, 10, 100, 500);
    rig_text(&r, k, "inputDataTypes", types);
    return rig_seal(&r);
}

/* 4 * 8 * 1024 * 1024 * 64 operations and less in 400: below a fifth of 200 T/s. What is in place is not asked for, what is not known is
 * said with "if". */
static void attention_in_place(void **state) {
    (void)state;
    static const attention_case CASES[] = {
        {"1,8,1024,64", "DT_BF16",
         "{\"input_layout\": \"BNSD\", \"sparse_mode\": 2, \"actual_seq_qlen\": [], \"actual_seq_kvlen\": []}",
         false, false, false, false},
        {"1,8,1024,80", "DT_FLOAT",
         "{\"input_layout\": \"BNSD\", \"sparse_mode\": 0, \"actual_seq_qlen\": [], \"actual_seq_kvlen\": []}",
         true, true, true, true},
        {"1,8,1024,128", "N/A",
         "{\"input_layout\": \"BNSD\", \"sparse_mode\": 3, \"actual_seq_qlen\": [], \"actual_seq_kvlen\": []}",
         false, false, false, true},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        ps_trace *t = ascend_attention(&CASES[i]);
        ps_analysis_opts opts = {.step_id = -1, .peak_tflops = 200};
        report_over(&o, &t, 1, &opts, NULL);
        assert_int_equal(o.code, PS_OK);
        expect(&o, PS_RULE_LOW_MFU_ATTENTION, "head size", CASES[i].has_head);
        expect(&o, PS_RULE_LOW_MFU_ATTENTION, "here it is 80", CASES[i].has_head);
        expect(&o, PS_RULE_LOW_MFU_ATTENTION, "sparse_mode", CASES[i].has_mask);
        expect(&o, PS_RULE_LOW_MFU_ATTENTION, "16-bit types", CASES[i].has_types);
        expect(&o, PS_RULE_LOW_MFU_ATTENTION, "these are 32-bit floats", CASES[i].is_wide);
        expect(&o, PS_RULE_LOW_MFU_ATTENTION, "if these are wider",
               CASES[i].has_types && !CASES[i].is_wide);
        report_fini(&o);
    }
}

/* A queue that is empty where the task queue is at its best level already. */
static void an_empty_queue(void **state) {
    (void)state;
    for (int is_set = 0; is_set < 2; is_set++) {
        report_run o;
        rig r = rig_begin(1000);
        if (is_set) {
            ps_builder_meta(r.b, "ENV_VARIABLES", "{\"TASK_QUEUE_ENABLE\": \"2\"}");
        }
        for (int64_t at = 0; at < 900; at += 100) {
            (void)rig_kernel(&r, "Add", NULL, at + 40, at + 45, at + 100);
        }
        finish(&o, &r);
        expect(&o, PS_RULE_LAUNCH_DELAY, "Fused operators", true);
        expect(&o, PS_RULE_LAUNCH_DELAY, "TASK_QUEUE_ENABLE", !is_set);
        report_fini(&o);
    }
}

/* A copy of 500 by direction and memory: what is pinned already is not to be pinned, what stays on the device is not fetched. */
static void copies_that_nothing_hides(void **state) {
    (void)state;
    static const struct {
        const char *name, *pins, *says;
    } CASES[] = {{"Memcpy HtoD (Pageable -> Device)", " pin_memory=True", "Fetch the next batch"},
                 {"Memcpy HtoD (Pinned -> Device)", NULL, "Fetch the next batch"},
                 {"Memcpy DtoD (Device -> Device)", NULL, "within the device"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 5, 405);
        (void)rig_slice(&r, PS_SLICE_COPY, r.stream, CASES[i].name, 405, 905);
        finish(&o, &r);
        char whole[1024];
        (void)snprintf(whole, sizeof whole, " %s", advice(&o, PS_RULE_EXPOSED_COPIES));
        assert_int_equal(strstr(whole, "pin_memory") != NULL, CASES[i].pins != NULL);
        assert_non_null(strstr(whole, CASES[i].says));
        report_fini(&o);
    }
}

/* An allocator that is set already. */
static void memory_that_is_allocated(void **state) {
    (void)state;
    static const char *const SET[] = {NULL,
                                      "{\"PYTORCH_NPU_ALLOC_CONF\": \"expandable_segments:True\"}"};
    for (size_t i = 0; i < sizeof SET / sizeof *SET; i++) {
        report_run o;
        run_gap(&o, SET[i], "aten::add", "aclrtMalloc");
        expect(&o, PS_RULE_ALLOCATION, "expandable_segments", i == 0);
        report_fini(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slow_host),
        cmocka_unit_test(synchronising_calls),
        cmocka_unit_test(conversions),
        cmocka_unit_test(hiding_communication),
        cmocka_unit_test(ranks_that_differ),
        cmocka_unit_test(the_kernel_that_takes_most),
        cmocka_unit_test(attention_in_place),
        cmocka_unit_test(an_empty_queue),
        cmocka_unit_test(copies_that_nothing_hides),
        cmocka_unit_test(memory_that_is_allocated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

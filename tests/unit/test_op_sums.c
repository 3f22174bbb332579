/* compute_op_sum, cann_api_sum and export_summary on traces of a few slices, every figure worked out by hand. */
#include <stdio.h>
#include <string.h>

#include "support/small_runs.h"

static uint32_t kernel(ps_builder *b, const char *name, const char *type, const char *task,
                       const char *shapes, int64_t start, int64_t end) {
    uint32_t k = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), name, start, end);
    small_arg(b, k, "taskType", task);
    small_arg(b, k, "opType", type);
    small_arg(b, k, "inputShapes", shapes);
    return k;
}

static void launch(ps_builder *b, uint32_t call, uint32_t work) {
    ps_builder_flow_of(b, call, work, ps_builder_str(b, "HostToDevice", 12));
}

/* Rank 0: MatMulV2 10 and 30, Add 5. Rank 1: MatMulV2 20 under one name and 40 under another. A communication kernel is no
 * computing operator.
 *   MatMulV2 over all: 10 20 30 40: mean 25, squares 225 + 25 + 25 + 225 = 500, deviation sqrt(500 / 3) = 12.9099...
 *   ranks: 40 and 60, mean 50, the largest 1.2 of it; 100 of 105 is 95.238 % */
static void two_ranks(ps_trace *traces[2]) {
    ps_builder *b = ps_builder_new();
    kernel(b, "mm", "MatMulV2", "AI_CORE", "\"4,4\"", 0, 10);
    kernel(b, "mm", "MatMulV2", "AI_CORE", "\"4,4\"", 20, 50);
    kernel(b, "add", "Add", "AI_VECTOR_CORE", "", 60, 65);
    small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 8), "nccl", 0, 100);
    traces[0] = small_seal(b);
    b = ps_builder_new();
    kernel(b, "mm", "MatMulV2", "AI_CORE", "\"4,4\"", 0, 20);
    kernel(b, "gemm", "MatMulV2", "AI_CORE", "\"8,8\"", 30, 70);
    traces[1] = small_seal(b);
}

static void operators_by_type_and_name(void **state) {
    (void)state;
    ps_trace *traces[2];
    two_ranks(traces);
    small_run o;
    small_run_mode(&o, "compute_op_sum", traces, 2, NULL);
    small_expect(&o, "ComputeOpAllRankStats",
                 "MatMulV2|AI_CORE|4|25|12.90994449|10|17.5|25|32.5|40|100\n"
                 "Add|AI_VECTOR_CORE|1|5|NULL|5|5|5|5|5|5\n");
    small_expect(&o, "ComputeOpPerRankStatsByOpType",
                 "MatMulV2|AI_CORE|2|20|14.14213562|10|15|20|25|30|40|0\n"
                 "Add|AI_VECTOR_CORE|1|5|NULL|5|5|5|5|5|5|0\n"
                 "MatMulV2|AI_CORE|2|30|14.14213562|20|25|30|35|40|60|1\n");
    small_expect(&o, "ComputeOpPerRankStatsByOpName",
                 "mm|MatMulV2|AI_CORE|\"4,4\"|2|20|14.14213562|10|15|20|25|30|40|0\n"
                 "add|Add|AI_VECTOR_CORE||1|5|NULL|5|5|5|5|5|5|0\n"
                 "gemm|MatMulV2|AI_CORE|\"8,8\"|1|40|NULL|40|40|40|40|40|40|1\n"
                 "mm|MatMulV2|AI_CORE|\"4,4\"|1|20|NULL|20|20|20|20|20|20|1\n");
    small_expect(&o, "ComputeOpSpread",
                 "MatMulV2|AI_CORE|100|95.23809524|95.23809524|2|50|60|1.2|1\n"
                 "Add|AI_VECTOR_CORE|5|4.761904762|100|1|5|5|1|0\n");
    small_run_fini(&o);
    small_run_mode(&o, "compute_op_sum", traces, 2,
                   &(ps_analysis_opts){.step_id = -1, .exclude_op_name = true});
    assert_null(small_table(&o, "ComputeOpPerRankStatsByOpName"));
    assert_int_equal(o.result.n_tables, 3);
    small_run_fini(&o);
    ps_trace *with_hole[] = {NULL, traces[1]}; /* rank 0 failed: the other is there */
    small_run_mode(&o, "compute_op_sum", with_hole, 2, NULL);
    small_expect(&o, "ComputeOpAllRankStats",
                 "MatMulV2|AI_CORE|2|30|14.14213562|20|25|30|35|40|60\n");
    small_run_fini(&o);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

/* A profile without types, as of PyTorch: the operator that launched, with its shapes. One kernel nobody launched. */
static void operators_by_their_launch(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t op = small_slice(b, PS_SLICE_HOST_OP, host, "aten::mm", 0, 100);
    ps_builder_arg(b, op,
                   (ps_arg){.key = ps_builder_str(b, "Input Dims", 10),
                            .type = PS_ARG_JSON,
                            .u.s = ps_builder_str(b, "[[2,3],[3,4]]", 13)});
    uint32_t call = small_slice(b, PS_SLICE_CALL, host, "cudaLaunchKernel", 10, 20);
    uint32_t gemm = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "gemm", 200, 230);
    small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "alone", 300, 301);
    launch(b, call, gemm);
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "compute_op_sum", &t, 1, NULL);
    small_expect(&o, "ComputeOpPerRankStatsByOpName",
                 "gemm|aten::mm|N/A|[[2,3],[3,4]]|1|30|NULL|30|30|30|30|30|30|0\n"
                 "alone|N/A|N/A||1|1|NULL|1|1|1|1|1|1|0\n");
    small_run_fini(&o);
    ps_trace_free(t);
}

/* Launched in step 1, run in step 2: it is of step 1. */
static void a_step_is_that_of_the_launch(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    small_step(b, 1, 0, 100);
    small_step(b, 2, 100, 200);
    launch(b, small_slice(b, PS_SLICE_CALL, host, "launch", 90, 95),
           kernel(b, "late", "Late", "AI_CORE", "", 150, 160));
    launch(b, small_slice(b, PS_SLICE_CALL, host, "launch", 110, 130),
           kernel(b, "second", "Second", "AI_CORE", "", 170, 190));
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "compute_op_sum", &t, 1, &(ps_analysis_opts){.step_id = 1});
    small_expect(&o, "ComputeOpAllRankStats", "Late|AI_CORE|1|10|NULL|10|10|10|10|10|10\n");
    small_run_fini(&o);
    small_run_mode(&o, "cann_api_sum", &t, 1, &(ps_analysis_opts){.step_id = 2});
    small_expect(&o, "CannApiSum", "launch|100|20|1|20|20|20|20|20|20|0|0|0\n");
    small_run_fini(&o);
    small_run_mode(&o, "compute_op_sum", &t, 1, &(ps_analysis_opts){.step_id = 3});
    assert_int_equal(o.map_codes[0], PS_NOTHING);
    assert_non_null(strstr(o.err.msg, "step 3: no such step; there are: 1-2"));
    small_run_fini(&o);
    ps_trace_free(t);
}

static uint32_t call(ps_builder *b, const char *name, const char *level, int64_t start,
                     int64_t end) {
    return ps_builder_slice_in(
        b, PS_SLICE_CALL, small_thread(b, 1), ps_builder_str(b, name, strlen(name)),
        level != NULL ? ps_builder_str(b, level, strlen(level)) : PS_STR_NONE,
        SMALL_EPOCH_NS + start, SMALL_EPOCH_NS + end, 0);
}

/* Rank 0: launch 10, 20, sync 70, and a read of the C library. Rank 1: launch 30, 40, sync 70.
 *   launch over all: 10 20 30 40 of 240: 41.67 %, deviation sqrt(500 / 4) = 11.18
 *   Today's tool gives Q1 = the least Q1 of a rank 12.5, median = the median of 15 and 35, Q3 = 37.5 */
static void calls_over_ranks(void **state) {
    (void)state;
    ps_trace *traces[2];
    ps_builder *b = ps_builder_new();
    call(b, "launch", "node", 0, 10);
    call(b, "launch", "node", 20, 40);
    call(b, "sync", "acl", 50, 120);
    call(b, "read", NULL, 0, 5000);
    traces[0] = small_seal(b);
    b = ps_builder_new();
    call(b, "launch", "node", 0, 30);
    call(b, "launch", "node", 40, 80);
    call(b, "sync", "acl", 100, 170);
    traces[1] = small_seal(b);
    small_run o;
    small_run_mode(&o, "cann_api_sum", traces, 2, NULL);
    small_expect(&o, "CannApiSum",
                 "sync|58.33|140|2|70|70|70|70|70|70|0|0, 1|0, 1\n"
                 "launch|41.67|100|4|25|17.5|25|32.5|10|40|11.2|0|1\n");
    small_expect(&o, "CannApiSumRank",
                 "sync|70|70|1|70|70|70|70|70|70|0|0\n"
                 "launch|30|30|2|15|10|12.5|15|17.5|20|5|0\n"
                 "launch|50|70|2|35|30|32.5|35|37.5|40|5|1\n"
                 "sync|50|70|1|70|70|70|70|70|70|0|1\n");
    small_run_fini(&o);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
    b = ps_builder_new(); /* where no call has a category, all count */
    call(b, "read", NULL, 0, 5);
    ps_trace *t = small_seal(b);
    small_run_mode(&o, "cann_api_sum", &t, 1, NULL);
    small_expect(&o, "CannApiSum", "read|100|5|1|5|5|5|5|5|5|0|0|0\n");
    small_run_fini(&o);
    ps_trace_free(t);
}

static void nothing_recorded(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "op", 0, 10);
    ps_trace *t = small_seal(b);
    static const char *const MODES[] = {"compute_op_sum", "cann_api_sum", "export_summary"};
    static const char *const SAY[] = {"no computing kernels", "no calls of the driver",
                                      "no kernels and no calls"};
    for (size_t i = 0; i < 3; i++) {
        small_run o;
        small_run_mode(&o, MODES[i], &t, 1, NULL);
        assert_int_equal(o.map_codes[0], PS_NOTHING);
        assert_non_null(strstr(o.err.msg, SAY[i]));
        assert_int_equal(o.code, PS_OK);
        small_run_fini(&o);
    }
    ps_trace_free(t);
}

/* Waits: from the end of the row before it to its own start, never below 0. The call's own duration is summed, not that of
 * what it launched. */
static void check_lists(bool with_state) {
    ps_builder *b = ps_builder_new();
    uint32_t k = kernel(b, "mm", "MatMulV2", "AI_CORE", "\"4,4\"", 1000, 3000);
    ps_builder_arg_int(b, k, "taskId", 12);
    if (with_state) {
        small_arg(b, k, "opState", "static");
    }
    ps_builder_arg_int(b, k, "blockNum", 24);
    launch(b, call(b, "launch", "node", 0, 100), k);
    launch(b, call(b, "launch", "node", 200, 500), kernel(b, "add", "Add", "AIV", "", 3500, 3600));
    small_slice(b, PS_SLICE_COMM_OP,
                ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                               .pid = 2,
                                               .tid = -1,
                                               .device = 0,
                                               .name = ps_builder_str(b, "group", 5)}),
                "hcom_allReduce__1_0_1", 3550, 4001);
    ps_trace *t = small_seal(b);
    small_run o;
    small_run_mode(&o, "export_summary", &t, 1, NULL);
    small_expect(&o, "api_statistic", "launch|400|2|200|100|300\n");
    static const char DETAILS[] =
        "mm|24|N/A|MatMulV2|AI_CORE|N/A|N/A|\"4,4\"|N/A|N/A|N/A|%s1700000000000001.000|2|0|N/A|7|"
        "N/A|12|0\n"
        "add|N/A|N/A|Add|AIV|N/A|N/A||N/A|N/A|N/A|%s1700000000000003.500|0.1|0|N/A|7|N/A|N/A|0.5\n"
        "hcom_allReduce__1_0_1|N/A|N/A|COMMUNICATION|COMMUNICATION|N/A|N/A|N/A|N/A|N/A|N/A|%s"
        "1700000000000003.550|0.451|0|N/A|N/A|N/A|N/A|0\n";
    char expected[1024];
    (void)snprintf(expected, sizeof expected, DETAILS, with_state ? "static|" : "",
                   with_state ? "N/A|" : "", with_state ? "N/A|" : "");
    small_expect(&o, "kernel_details", expected);
    assert_string_equal(small_table(&o, "kernel_details")->file, "0/kernel_details");
    assert_int_equal(small_table(&o, "kernel_details")->to, PS_TO_FILES | PS_TO_BESIDE_DB);
    small_run_fini(&o);
    ps_trace_free(t);
}

static void lists_of_a_rank(void **state) {
    (void)state;
    check_lists(false);
    check_lists(true);
}

static void memory_runs_out(void **state) {
    (void)state;
    ps_trace *traces[2];
    two_ranks(traces);
    ps_builder *b = ps_builder_new();
    launch(b, call(b, "launch", "node", 0, 100),
           small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "gemm", 200, 230));
    ps_trace *with_calls[] = {small_seal(b), traces[0]};
    small_run_without_memory("compute_op_sum", with_calls, 2);
    small_run_without_memory("cann_api_sum", with_calls, 2);
    small_run_without_memory("export_summary", with_calls, 2);
    ps_trace_free(with_calls[0]);
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_by_type_and_name),
        cmocka_unit_test(operators_by_their_launch),
        cmocka_unit_test(a_step_is_that_of_the_launch),
        cmocka_unit_test(calls_over_ranks),
        cmocka_unit_test(nothing_recorded),
        cmocka_unit_test(lists_of_a_rank),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

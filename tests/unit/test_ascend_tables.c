/* Ranks of Ascend text exports whose timeline is not there: slices, steps and devices from tables alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "model/recording.h"
#include "read/ascend/ascend_tables.h"
#include "read/ascend_text/ascend_text.h"
#include "read/readers.h"
#include "run/cluster.h"
#include "support/scratch.h"

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_TABLES)

static const char KERNELS[] =
    "Step Id,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
    "7,2,MatMul1,MatMulV2,AI_CORE,1736408883000100.001\t,5.5\n"
    "7,3,Cast2,Cast,AI_VECTOR_CORE,1736408883000110.000\t,1.25\n"
    "7,N/A,hcom_allReduce__586_0_1,hcom_allReduce_,HCCL,1736408883000120.000\t,9.105\n"
    "8,2,MatMul1,MatMulV2,MIX_AIC,1736408883000200.000\t,5.5\n";

static const char STEPS[] = "Step,Computing,Communication(Not Overlapped),Free,Preparing\n"
                            "7,6.75,9.105,13.25,40.5\n";

static const char COMM[] =
    "{\"step7\":{\"p2p\":{},\"collective\":{\"hcom_allReduce__586_0_1@4711\":{\"Communication Time Info\":{"
    "\"Start Timestamp(us)\":1736408883000120.2,\"Elapse Time(ms)\":0.0091055625}},"
    "\"Total Op Info\":{\"Communication Time Info\":{\"Elapse Time(ms)\":0.0091055625}}}}}";

static void put(const char *name, const char *text) {
    char path[SCRATCH_BYTES + 300];
    (void)snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
    for (char *slash = strchr(path + strlen(scratch_dir) + 1, '/'); slash != NULL;
         slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0777);
        *slash = '/';
    }
    assert_int_equal(ps_write_file(path, text, strlen(text), NULL), PS_OK);
}

static ps_trace *read_named(const char *name, uint32_t needs) {
    char path[SCRATCH_BYTES + 300];
    (void)snprintf(path, sizeof path, "%s/%s", scratch_dir, name);
    ps_err err = PS_ERR_INIT;
    ps_src src = {.path = path, .reader = ps_reader_for(path, &err)};
    assert_non_null(src.reader);
    assert_string_equal(src.reader->name, "ascend-text");
    ps_trace *t = ps_read(&src, needs, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    return t;
}

static const ps_track *track_of(const ps_trace *t, uint32_t slice) {
    size_t n = 0;
    return &ps_trace_tracks(t, &n)[ps_trace_slices(t)->track[slice]];
}

static void kernels_operators_and_steps(void **state) {
    (void)state;
    put("kernel_details.csv", KERNELS);
    put("step_trace_time.csv", STEPS);
    put("communication.json", COMM);
    put("memory_record.csv", "Component,Timestamp(us),Total Reserved(MB),Device Type\n"
                             "APP,1736408883000001.000\t,1.5,NPU:5\n");
    ps_trace *t = read_named("kernel_details.csv", EVERYTHING);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(s->n, 4);
    assert_int_equal(s->kind[0], PS_SLICE_KERNEL);
    assert_int_equal(s->start_ns[0] + ps_trace_origin_ns(t), 1736408883000100001);
    assert_int_equal(s->dur_ns[0], 5500);
    assert_int_equal(track_of(t, 0)->kind, PS_TRACK_STREAM);
    assert_int_equal(track_of(t, 0)->tid, 2);
    assert_int_equal(track_of(t, 1)->tid, 3);
    assert_int_equal(track_of(t, 1)->device, 5);
    assert_int_equal(s->kind[2], PS_SLICE_COMM_OP);
    assert_int_equal(s->dur_ns[2], 9106); /* of communication.json, which is finer */
    assert_string_equal(ps_trace_text(t, track_of(t, 2)->name), "4711");
    assert_string_equal(ps_trace_arg_text(t, 3, "Accelerator Core"), "MIX_AIC");
    assert_string_equal(ps_trace_arg_text(t, 3, "Task Type"), "MIX_AIC");
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    assert_int_equal(n, 2);
    assert_int_equal(steps[0].id, 7);
    assert_int_equal(steps[0].start_ns + ps_trace_origin_ns(t), 1736408883000059501);
    assert_int_equal(steps[0].end_ns, s->start_ns[2] + s->dur_ns[2]);
    assert_int_equal(steps[1].start_ns, s->start_ns[3]); /* nobody says more of step 8 */
    assert_string_equal(ps_trace_missing_timeline(t), "trace_view.json, communication_matrix.json");
    ps_trace_free(t);
}

/* Whatever is asked for, a slice is of the step of its row. */
static void steps_of_slices_without_arguments(void **state) {
    (void)state;
    put("kernel_details.csv", KERNELS);
    ps_trace *t = read_named("kernel_details.csv", PS_NEED_STEPS | PS_NEED_SLICES);
    int64_t step = 0;
    assert_true(ps_trace_arg_int(t, 3, PS_STEP_ARG, &step));
    assert_int_equal(step, 8);
    assert_null(ps_trace_arg_text(t, 3, "Accelerator Core"));
    ps_trace_free(t);
}

/* Level 0 has neither types nor streams: operators of communication are known by the name that HCCL gives them. */
static void level_0(void **state) {
    (void)state;
    put("kernel_details.csv", "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
                              "7,MatMul1,N/A,N/A,1736408883000100.000\t,5.5\n"
                              "7,hcom_allReduce__586_0_1,N/A,N/A,1736408883000120.000\t,9.105\n"
                              "7,hcom_like_no_operator,N/A,N/A,1736408883000130.000\t,1.0\n");
    ps_trace *t = read_named("kernel_details.csv", EVERYTHING);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(s->n, 3);
    assert_int_equal(track_of(t, 0)->tid, -1);
    assert_string_equal(ps_trace_text(t, track_of(t, 0)->name), "streams unknown");
    assert_int_equal(s->kind[1], PS_SLICE_COMM_OP);
    assert_string_equal(ps_trace_text(t, track_of(t, 1)->name), "586");
    assert_int_equal(s->kind[2], PS_SLICE_KERNEL);
    ps_trace_free(t);
}

static void odd_rows_are_counted(void **state) {
    (void)state;
    put("kernel_details.csv", "Step Id,Name,Type,Accelerator Core,Start Time(us),Duration(us)\n"
                              "7,MatMul1,A,AI_CORE,1736408883000100.000\t,5.5\n"
                              "7,NoTime,A,AI_CORE,,5.5\n"
                              "7,NoDuration,A,AI_CORE,1736408883000110.000\t,N/A\n"
                              "7,Negative,A,AI_CORE,1736408883000120.000\t,-3\n"
                              "7,Huge,A,AI_CORE,1736408883000130.000\t,1e300\n"
                              "7,Short\n");
    ps_trace *t = read_named("kernel_details.csv", EVERYTHING);
    assert_int_equal(ps_trace_slices(t)->n, 1);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TIME], 5);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TABLE_ROW], 1);
    ps_trace_free(t);
}

/* communication.json alone gives its operators; an empty table gives none. */
static void operators_alone(void **state) {
    (void)state;
    put("communication.json", COMM);
    ps_trace *t = read_named("communication.json", EVERYTHING);
    assert_int_equal(ps_trace_slices(t)->n, 1);
    assert_int_equal(ps_trace_slices(t)->kind[0], PS_SLICE_COMM_OP);
    assert_int_equal(ps_trace_slices(t)->dur_ns[0], 9106);
    ps_trace_free(t);
    put("other/op_statistic.csv", "OP Type,Core Type,Count,Total Time(us)\n");
    t = read_named("other/op_statistic.csv", EVERYTHING);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    ps_trace_free(t);
}

/* msprof cuts op_summary after so many rows: the parts are one table, in the order of their numbers (10 behind 2). A column is a
 * number where it is one in all of them. */
static void parts_of_op_summary(void **state) {
    (void)state;
    static const char HEAD[] =
        "Device_id,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us),note\n";
    char text[512];
    for (int part = 0; part < 12; part++) {
        char name[96];
        (void)snprintf(name, sizeof name, "op_summary_slice_%d_20250815013902.csv", part);
        (void)snprintf(text, sizeof text,
                       "%s0,Op%d,Add,AI_VECTOR_CORE,\"1736408883000%d.0\t\",1.5,%s\n", HEAD, part,
                       100 + part, part == 11 ? "text" : "1");
        put(name, text);
    }
    put("task_time_20250815013902_slice_1.csv",
        "kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us)\n"
        "Op1,AI_VECTOR_CORE,2,1,1.5,\"1736408883000101.0\t\"\n"
        ",EVENT_RECORD,2,2,0.5,\"1736408883000300.0\t\"\n");
    put("task_time_20250815013902_slice_0.csv",
        "kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us)\n"
        ",EVENT_RECORD,2,2,0.5,\"1736408883000200.0\t\"\n");
    put("op_summary_slice_13_20250815013902.csv", "other,header\n1,2\n");
    ps_trace *t = read_named("op_summary_slice_0_20250815013902.csv", EVERYTHING);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(s->n, 14);
    for (uint32_t i = 0; i < 12; i++) {
        char name[8];
        (void)snprintf(name, sizeof name, "Op%u", i);
        assert_string_equal(ps_trace_text(t, s->name[i]), name);
        assert_string_equal(ps_trace_arg_text(t, i, "note"), i == 11 ? "text" : "1");
    }
    const ps_table *table = ps_trace_side_table(t, "op_summary");
    assert_non_null(table);
    assert_int_equal(table->n_rows, 12);
    const ps_diag *d = ps_trace_diag(t);
    assert_int_equal(d->counts[PS_ODD_FILE], 1); /* the one with another header */
    assert_int_equal(d->counts[PS_ODD_TABLE_MISSING] > 0, 1);
    ps_trace_free(t);
    /* A part that was named stands for all. */
    t = read_named("op_summary_slice_11_20250815013902.csv", EVERYTHING);
    assert_int_equal(ps_trace_slices(t)->n, 14);
    ps_trace_free(t);
}

/* msprof: op_summary has what computes and communicates, task_time the rest, step_trace the iterations. */
static void tables_of_msprof(void **state) {
    (void)state;
    const char *const head = "PROF_000001_2024/mindstudio_profiler_output/";
    char name[128];
    (void)snprintf(name, sizeof name, "%sop_summary_20240613101010.csv", head);
    put(name,
        "Device_id,Task ID,Stream ID,Op Name,OP Type,Task Type,Task Start Time(us),Task Duration(us)\n"
        "1,3,2,Cast2,Cast,AI_VECTOR_CORE,\"1736408883000020.000\t\",1.02\n"
        "1,N/A,N/A,hcom_send__586_0_1,hcom_send_,COMMUNICATION,\"1736408883000040.000\t\",9.5\n");
    (void)snprintf(name, sizeof name, "%stask_time_20240613101010.csv", head);
    put(name,
        "Device_id,kernel_name,kernel_type,stream_id,task_id,task_time(us),task_start(us),task_stop(us)\n"
        "1,Cast2,AI_VECTOR_CORE,2,3,1.02,\"1736408883000020.000\t\",\"1736408883000021.020\t\"\n"
        "1,N/A,MEMCPY_ASYNC,3,9,2.5,\"1736408883000025.000\t\",\"1736408883000027.500\t\"\n");
    (void)snprintf(name, sizeof name, "%sstep_trace_20240613101010.csv", head);
    put(name, "Device_id,Iteration ID,FP Start(us),Iteration End(us),Iteration Time(us)\n"
              "1,4,\"1736408883000020.000\t\",\"1736408883000060.000\t\",50.5\n");
    ps_err err = PS_ERR_INIT;
    ps_cluster *c = ps_cluster_find(scratch_dir, &err);
    assert_non_null(c);
    assert_int_equal(c->n_ranks, 1);
    ps_src src = ps_cluster_src(&c->ranks[0]);
    ps_trace *t = ps_read(&src, EVERYTHING, &err);
    assert_non_null(t);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(s->n, 3);
    assert_int_equal(s->kind[0], PS_SLICE_KERNEL);
    assert_int_equal(s->kind[1], PS_SLICE_COPY);
    assert_string_equal(ps_trace_text(t, s->name[1]), "MEMCPY_ASYNC");
    assert_int_equal(s->kind[2], PS_SLICE_COMM_OP);
    assert_int_equal(track_of(t, 2)->device, 1);
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(steps[0].id, 4);
    assert_int_equal(steps[0].end_ns - steps[0].start_ns, 50500);
    assert_true(strncmp(ps_trace_missing_timeline(t), "msprof_*.json", 13) == 0);
    ps_trace_free(t);
    ps_cluster_free(c);
}

/* Every allocation may fail: the result is an error, or the same trace where it could be done without. */
static void allocations_fail(void **state) {
    (void)state;
    put("kernel_details.csv", KERNELS);
    put("step_trace_time.csv", STEPS);
    put("communication.json", COMM);
    put("memory_record.csv", "Component,Timestamp(us),Total Reserved(MB),Device Type\n"
                             "APP,1736408883000001.000\t,1.5,NPU:5\n");
    char path[SCRATCH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/kernel_details.csv", scratch_dir);
    int64_t made = INT64_MAX;
    for (int64_t n = 0; made > n; n++) {
        assert_true(n < 100000);
        ps_src src = {.path = path, .reader = ps_reader_find("ascend-text")};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = ps_read(&src, EVERYTHING | PS_NEED_INVENTORY, &err);
        made = ps_alloc_fail_at(-1);
        if (t == NULL && err.code != PS_NOMEM) {
            fail_msg("allocation %lld: %s", (long long)n, err.msg);
        }
        ps_trace_free(t);
    }
}

/* --- finding ------------------------------------------------------------------------------------------------- */

static void ranks_of_a_cluster(void **state) {
    (void)state;
    put("a_1_20250109074443_ascend_pt/profiler_info_1.json", "{\"rank_id\": 1}");
    put("a_1_20250109074443_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", KERNELS);
    put("rank0_ascend_ms/ASCEND_PROFILER_OUTPUT/step_trace_time.csv", STEPS);
    put("copied/rank2/kernel_details.csv", KERNELS);
    put("copied/rank2/communication.json", COMM);
    put("notes/kernel_details.csv", "Name,Price\nchair,3\n"); /* called so, and none */
    ps_err err = PS_ERR_INIT;
    ps_cluster *c = ps_cluster_find(scratch_dir, &err);
    assert_non_null(c);
    assert_int_equal(c->n_ranks, 3);
    for (size_t i = 0; i < 3; i++) {
        const char *name = ps_path_base(c->ranks[i].path);
        bool is_kernels = strcmp(name, "kernel_details.csv") == 0;
        assert_true(is_kernels || c->ranks[i].rank == 0);
        assert_int_equal(c->ranks[i].rank, i);
    }
    ps_cluster_free(c);
}

/* The timeline counts where it is there, under any of its names. */
static void a_timeline_comes_first(void **state) {
    (void)state;
    static const char TRACE[] =
        "[{\"ph\":\"X\",\"name\":\"aten::mm\",\"cat\":\"cpu_op\",\"pid\":1,\"tid\":1,\"ts\":\"1736408883000100.000\","
        "\"dur\":1,\"args\":{\"Sequence number\":-1,\"Fwd thread id\":0}}]";
    put("flat/kernel_details.csv", KERNELS);
    put("flat/communication.json", COMM);
    put("flat/renamed.json", TRACE);
    put("rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json", TRACE);
    put("rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/kernel_details.csv", KERNELS);
    ps_err err = PS_ERR_INIT;
    ps_cluster *c = ps_cluster_find(scratch_dir, &err);
    assert_non_null(c);
    assert_int_equal(c->n_ranks, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(ps_ends_with(c->ranks[i].path, ".json"));
    }
    ps_cluster_free(c);
}

static void the_table_that_tells_most(void **state) {
    (void)state;
    const char *const all[] = {"api_statistic.csv", "communication.json", "kernel_details_3.csv"};
    assert_string_equal(ps_ascend_tables_main(all, 3), "kernel_details_3.csv");
    assert_string_equal(ps_ascend_tables_main(all, 2), "communication.json");
    const char *const none[] = {"results.csv", "communication.txt", "kernel_details.json"};
    assert_null(ps_ascend_tables_main(none, 3));
    static const char OURS[] = "Step,Type,Index,Computing,Communication(Not Overlapped),Free\n";
    assert_null(ps_ascend_table_of((const unsigned char *)OURS, sizeof OURS - 1));
    assert_string_equal(ps_ascend_table_of((const unsigned char *)STEPS, sizeof STEPS - 1),
                        "step_trace_time");
    assert_null(ps_ascend_table_of((const unsigned char *)"", 0));
}

int main(void) {
#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_setup, scratch_teardown)
    const struct CMUnitTest tests[] = {
        TEST(kernels_operators_and_steps),
        TEST(parts_of_op_summary),
        TEST(steps_of_slices_without_arguments),
        TEST(level_0),
        TEST(odd_rows_are_counted),
        TEST(operators_alone),
        TEST(tables_of_msprof),
        TEST(allocations_fail),
        TEST(ranks_of_a_cluster),
        TEST(a_timeline_comes_first),
        TEST(the_table_that_tells_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

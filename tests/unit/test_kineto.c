/* Kineto traces: kinds and tracks by category, the clock in its three generations, calls and what they launched, rank and
 * host, and the real samples against figures counted by other means. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/kineto/kineto.h"
#include "read/readers.h"
#include "support/gzip_pack.h"
#include "support/scratch.h"
#include "support/trace_lines.h"

#define ALL UINT32_MAX
#define TIMELINE (PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_STEPS)

static ps_trace *read_as(const char *path, const char *text, size_t n, uint32_t needs,
                         size_t n_threads, ps_err *err) {
    ps_builder *b = ps_builder_new();
    ps_input *in = b != NULL ? ps_input_of_memory(text, n, err) : NULL;
    ps_code code = b == NULL    ? ps_fail_nomem(err)
                   : in == NULL ? err->code
                                : ps_kineto_read_input(in, path, needs, n_threads, b, err);
    ps_input_close(in);
    if (code != PS_OK) {
        ps_builder_free(b);
        return NULL;
    }
    return ps_builder_seal(b, err);
}

/* `events` between the brackets; members before and after, with their commas. */
static ps_trace *read_events(const char *before, const char *events, const char *after,
                             uint32_t needs) {
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_addf(&text, "{%s\"traceEvents\":[%s]%s}", before, events, after);
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_as("x.json", text.data, text.len, needs, 1, &err);
    assert_non_null(t);
    ps_buf_fini(&text);
    return t;
}

static void expect(ps_trace *t, const char *expected) {
    ps_buf said;
    ps_buf_init(&said, 0);
    lines_of_trace(t, &said);
    assert_string_equal(ps_buf_str(&said), expected);
    ps_buf_fini(&said);
    ps_trace_free(t);
}

#define BASE ",\"baseTimeNanoseconds\":1711964646000000000"
#define ROW(cat, name, pid, tid, ts, dur, args)                                                    \
    "{\"ph\":\"X\",\"cat\":\"" cat "\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid         \
    ",\"ts\":" ts ",\"dur\":" dur ",\"args\":{" args "}}"
#define FLOW(ph, cat, id, pid, tid, ts)                                                            \
    "{\"ph\":\"" ph "\",\"cat\":\"" cat "\",\"name\":\"" cat "\",\"id\":" id ",\"pid\":" pid       \
    ",\"tid\":" tid ",\"ts\":" ts ",\"bp\":\"e\"}"
#define CALL(ts, corr) ROW("cuda_runtime", "launch", "7", "8", ts, "2", "\"correlation\":" corr)
#define KERNEL(ts, corr) ROW("kernel", "gemm", "0", "3", ts, "4", "\"correlation\":" corr)

/* --- kinds and tracks --------------------------------------------------------------------------------- */

static void categories_say_what_a_slice_is(void **state) {
    (void)state;
    static const struct {
        const char *category, *name, *kind;
    } CASES[] = {
        {"cpu_op", "aten::mm", "op"},
        {"user_annotation", "nccl:all_reduce", "annotation"},
        {"CUDA_Runtime", "cudaLaunchKernel", "call"},
        {"cuda_driver", "cuLaunchKernel", "call"},
        {"Runtime", "cudaLaunchKernel", "call"},
        {"xpu_runtime", "x", "call"},
        {"xpu_driver", "x", "call"},
        {"mtia_runtime", "x", "call"},
        {"privateuse1_runtime", "x", "call"},
        {"privateuse1_driver", "x", "call"},
        {"glow_runtime", "x", "call"},
        {"kernel", "gemm", "kernel"},
        {"Kernel", "gemm", "kernel"},
        {"kernel", "ncclKernel_AllReduce_RING_LL_Sum_float(x)", "communication-kernel"},
        {"kernel", "ncclDevKernel_SendRecv(x)", "communication-kernel"},
        {"kernel", "void ncclKernel_x", "communication-kernel"},
        {"kernel", "hccl_x", "communication-kernel"},
        {"kernel", "my_nccl", "kernel"},
        {"gpu_memcpy", "Memcpy HtoD", "copy"},
        {"gpu_memset", "Memset", "copy"},
        {"Memcpy", "Memcpy HtoD", "copy"},
        {"cuda_sync", "Event Sync", "synchronisation"},
        {"xpu_sync", "x", "synchronisation"},
        {"gpu_user_annotation", "## forward ##", "derived"},
        {"Trace", "PyTorch Profiler (0)", "derived"},
        {"python_function", "nn.Module: Linear_0", "python"},
        {"overhead", "CUPTI", "host-other"},
        {"mtia_ccp_events", "x", "task"},
        {"never seen", "x", "host-other"},
        {"cpu_op", "ncclKernel_x", "op"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char event[256];
        (void)snprintf(event, sizeof event,
                       "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":2,\"ts\":5,"
                       "\"dur\":1}",
                       CASES[i].category, CASES[i].name);
        ps_trace *t = read_events("", event, BASE, TIMELINE);
        assert_int_equal(ps_trace_slices(t)->n, 1);
        print_message("# %s %s\n", CASES[i].category, CASES[i].name);
        assert_string_equal(ps_slice_kind_name((ps_slice_kind)ps_trace_slices(t)->kind[0]),
                            CASES[i].kind);
        assert_string_equal(ps_trace_text(t, ps_trace_slices(t)->category[0]), CASES[i].category);
        ps_trace_free(t);
    }
}

/* A process in a container has the number of a device: rows are told apart by category. The projected annotation lies
 * beside its stream, the recording's own span nowhere near. */
static void host_and_device_are_told_by_category(void **state) {
    (void)state;
    expect(
        read_events(
            "",
            ROW("cpu_op", "op", "0", "7", "10", "50", "") "," ROW(
                "kernel", "gemm", "0", "7", "20", "5",
                "\"device\":0,\"stream\":7") "," ROW("kernel", "other device", "1", "7", "21", "5",
                                                     "\"device\":3") "," ROW("gpu_user_annotation",
                                                                             "## f ##", "0", "7",
                                                                             "19", "7",
                                                                             "") ","
                                                                                 "{\"ph\":\"X\",\"cat\":\"Trace\",\"name\":\"PyTorch Profiler (0)\",\"pid\":\"Spans\","
                                                                                 "\"tid\":\"PyTorch Profiler\",\"ts\":9,\"dur\":90},"
                                                                                 "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\",\"tid\":\"\","
                                                                                 "\"ts\":99},"
                                                                                 "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":7,\"args\":{\"name\":\"stream 7 "
                                                                                 "\"}},{\"ph\":\"M\",\"name\":\"process_labels\",\"pid\":0,\"tid\":0,\"args\":{\"labels\":"
                                                                                 "\"GPU 0\"}}",
            BASE, TIMELINE),
        "derived lane -1000001/-1 (PyTorch Profiler) PyTorch Profiler (0) 0+90000\n"
        "op 0/7 op 1000+50000\n"
        "derived lane 0/7 (gpu_user_annotation) ## f ## 10000+7000\n"
        "kernel stream 0/7 gemm 11000+5000 {device=0, stream=7}\n"
        "kernel stream 3/7 other device 12000+5000 {device=3}\n"
        "instant -1000002/-1 () Record Window End 90000+0\n"
        "process -1000001 text Spans \n"
        "process -1000002 text  \n"
        "process 0  GPU 0\n"
        "track 0/7: stream 7\n"
        "track stream 0/7: stream 7\n");
}

static void steps_are_annotations(void **state) {
    (void)state;
    static const char EVENTS[] =
        ROW("user_annotation", "ProfilerStep#12", "1", "1", "30", "20",
            "") "," ROW("cpu_op", "ProfilerStep#11", "1", "1", "10", "20",
                        "") "," ROW("user_annotation", "ProfilerStep#x", "1", "1", "60", "1",
                                    "") "," ROW("gpu_user_annotation", "ProfilerStep#12", "0", "7",
                                                "31", "9", "");
    expect(read_events("", EVENTS, BASE, TIMELINE),
           "annotation 1/1 ProfilerStep#11 0+20000\nannotation 1/1 ProfilerStep#12 20000+20000\n"
           "derived lane 0/7 (gpu_user_annotation) ProfilerStep#12 21000+9000\n"
           "annotation 1/1 ProfilerStep#x 50000+1000\nstep 11 0..20000\nstep 12 20000..40000\n");
    expect(read_events("", EVENTS, BASE, PS_NEED_STEPS),
           "step 11 -20000..0\nstep 12 0..20000\n"); /* and nothing else is kept */
}

/* --- the clock ---------------------------------------------------------------------------------------- */

static void three_generations_of_times(void **state) {
    (void)state;
    static const struct {
        const char *before, *ts, *after;
        int64_t origin_ns;
        uint64_t n_no_base, n_contradictions;
    } CASES[] = {
        {"", "1694039968955371", "", INT64_C(1694039968955371000), 0, 0},
        {"", "1712195495519703.772", "", INT64_C(1712195495519703772), 0, 0},
        {"", "4458676522690.655", BASE, INT64_C(1716423322522690655), 0, 0},
        {"\"baseTimeNanoseconds\":1711964646000000000,", "4458676522690.655", "",
         INT64_C(1716423322522690655), 0, 0},
        {"", "4458676522690.655", "", INT64_C(4458676522690655), 1, 0},
        {"", "4458676522690.655", ",\"baseTimeNanoseconds\":\"5\"", INT64_C(4458676522690660), 0,
         0},
        {"", "4458676522690.655", ",\"baseTimeNanoseconds\":true", INT64_C(4458676522690655), 1, 1},
        {"", "1694039968955371", BASE, INT64_C(1694039968955371000), 0, 1},
        {"", "1694039968955371", ",\"baseTimeNanoseconds\":0", INT64_C(1694039968955371000), 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char event[256];
        (void)snprintf(
            event, sizeof event,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":%s,"
            "\"dur\":0}",
            CASES[i].ts);
        ps_trace *t = read_events(CASES[i].before, event, CASES[i].after, TIMELINE);
        assert_true(ps_trace_origin_ns(t) == CASES[i].origin_ns);
        assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_CLOCK_BASE], CASES[i].n_no_base);
        assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_METADATA], CASES[i].n_contradictions);
        ps_trace_free(t);
    }
}

/* Times before the base are clamped to 0 by the writer: the origin would lie months early. */
static void events_at_time_zero_are_strays(void **state) {
    (void)state;
    expect(read_events("",
                       ROW("cpu_op", "stray", "1", "1", "0", "5",
                           "") "," ROW("cpu_op", "a", "1", "1", "4458676522690.655", "5",
                                       "") "," ROW("cpu_op", "stray too", "1", "1", "0", "5", ""),
                       BASE, TIMELINE),
           "op 1/1 a 0+5000\nodd time-zero 2\n");
    expect(
        read_events("",
                    ROW("cpu_op", "a", "1", "1", "0", "5", "") "," ROW("cpu_op", "b", "1", "1", "9",
                                                                       "5", ""),
                    "", TIMELINE),
        "op 1/1 a 0+5000\nop 1/1 b 9000+5000\nodd relative-clock 1\n"); /* made by hand: begins at 0 */
}

/* Files in whole microseconds let a child end a microsecond after its parent; more is counted. */
static void rounding_is_no_overlap(void **state) {
    (void)state;
    expect(
        read_events("",
                    ROW("cpu_op", "a", "1", "1", "10", "5", "") "," ROW(
                        "cpu_op", "child", "1", "1", "12", "4",
                        "") "," ROW("cpu_op", "b", "1", "1", "30", "5",
                                    "") "," ROW("cpu_op", "across", "1", "1", "32", "5", ""),
                    BASE, TIMELINE),
        "op 1/1 a 0+5000\nop 1/1 child 2000+4000\nop 1/1 b 20000+5000\nop 1/1 across 22000+5000\n"
        "odd slice-not-nested 1\n");
}

/* --- calls and what they launched --------------------------------------------------------------------- */

#define LAUNCH_SLICES                                                                              \
    "call 7/8 launch 0+2000 {correlation=5}\nkernel stream 0/3 gemm 10000+4000 {correlation=5}\n"

/* By id alone, by flow events alone, by both: one flow. */
static void a_launch_is_one_flow(void **state) {
    (void)state;
    expect(read_events("", CALL("10", "5") "," KERNEL("20", "5"), BASE, TIMELINE),
           LAUNCH_SLICES "flow ac2g launch -> gemm\n");
    expect(read_events(
               "",
               CALL("10", "5") "," KERNEL("20", "5") "," FLOW(
                   "s", "ac2g", "5", "7", "8", "10") "," FLOW("f", "ac2g", "5", "0", "3", "20"),
               BASE, TIMELINE),
           LAUNCH_SLICES "flow ac2g launch -> gemm\n");
    expect(read_events("",
                       CALL("10", "5") "," KERNEL("20", "5") "," FLOW(
                           "s", "async_gpu", "5", "7", "8", "10") "," FLOW("f", "async_gpu", "5",
                                                                           "0", "3", "20"),
                       BASE, TIMELINE),
           LAUNCH_SLICES "flow ac2g launch -> gemm\n");
    expect(read_events(
               "",
               CALL("10", "5") "," KERNEL("20", "5") "," FLOW(
                   "s", "async", "5", "7", "8", "10") "," FLOW("f", "async", "5", "0", "3", "20"),
               BASE, TIMELINE),
           LAUNCH_SLICES "flow ac2g launch -> gemm\n");
    /* Stripped of its args: by the flow events. */
    expect(read_events("",
                       ROW("cuda_runtime", "launch", "7", "8", "10", "2", "") "," ROW(
                           "kernel", "gemm", "0", "3", "20", "4",
                           "") "," FLOW("s", "ac2g", "5", "7", "8", "10") "," FLOW("f", "ac2g", "5",
                                                                                   "0", "3", "20"),
                       BASE, TIMELINE),
           "call 7/8 launch 0+2000\nkernel stream 0/3 gemm 10000+4000\nflow ac2g launch -> gemm\n");
    /* The event is there before its call, or has begun before it by the clock of the device. */
    expect(
        read_events("", KERNEL("9", "5") "," CALL("10", "5"), BASE, TIMELINE),
        "kernel stream 0/3 gemm 0+4000 {correlation=5}\ncall 7/8 launch 1000+2000 {correlation=5}\n"
        "flow ac2g launch -> gemm\n");
}

/* cudaGraphLaunch shares its id with all that the graph holds. */
static void a_graph_launches_many(void **state) {
    (void)state;
    expect(
        read_events(
            "",
            CALL("10", "5") "," KERNEL("20", "5") "," ROW("gpu_memcpy", "copy", "0", "3", "30", "4", "\"correlation\":5") "," ROW(
                "cuda_sync", "Stream Wait Event", "0", "3", "40", "0",
                "\"correlation\":5") "," FLOW("s", "ac2g", "5", "7", "8",
                                              "10") "," FLOW("f", "ac2g", "5", "0", "3",
                                                             "20") "," FLOW("f", "ac2g", "5", "0",
                                                                            "3", "30"),
            BASE, TIMELINE),
        LAUNCH_SLICES "copy stream 0/3 copy 20000+4000 {correlation=5}\n"
                      "synchronisation stream 0/3 Stream Wait Event 30000+0 {correlation=5}\n"
                      "flow ac2g launch -> gemm\nflow ac2g launch -> copy\n"
                      "flow ac2g launch -> Stream Wait Event\n");
}

/* Issued before the recording began. 0 and -1 stand for no id. */
static void device_work_may_have_no_call(void **state) {
    (void)state;
    expect(read_events("", CALL("10", "5") "," KERNEL("20", "6"), BASE, TIMELINE),
           "call 7/8 launch 0+2000 {correlation=5}\n"
           "kernel stream 0/3 gemm 10000+4000 {correlation=6}\nodd kernel-without-call 1\n");
    expect(
        read_events("", CALL("10", "0") "," KERNEL("20", "0") "," KERNEL("30", "-1"), BASE,
                    TIMELINE),
        "call 7/8 launch 0+2000 {correlation=0}\nkernel stream 0/3 gemm 10000+4000 {correlation=0}\n"
        "kernel stream 0/3 gemm 20000+4000 {correlation=-1}\n");
}

/* Most calls launch nothing: a beginning alone, or an end alone on their own row. No flow. */
static void calls_without_device_work_lead_nowhere(void **state) {
    (void)state;
    expect(read_events("",
                       CALL("10", "5") "," CALL("20", "6") "," FLOW("s", "ac2g", "5", "7", "8",
                                                                    "10") "," FLOW("f", "ac2g", "6",
                                                                                   "7", "8", "20"),
                       BASE, TIMELINE),
           "call 7/8 launch 0+2000 {correlation=5}\ncall 7/8 launch 10000+2000 {correlation=6}\n"
           "odd flow-one-sided 2\n");
    /* Both ends on the call itself. */
    expect(read_events("",
                       CALL("10", "5") "," FLOW("s", "ac2g", "5", "7", "8",
                                                "10") "," FLOW("f", "ac2g", "5", "7", "8", "10"),
                       BASE, TIMELINE),
           "call 7/8 launch 0+2000 {correlation=5}\nodd flow-on-one-slice 1\n");
}

/* The External id of an older file repeats the correlation id where there is no operator, and may then be the number of
 * one that has nothing to do with it. It makes no link; the id that counts is the correlation. */
static void external_ids_make_no_link(void **state) {
    (void)state;
    expect(read_events("",
                       ROW("cpu_op", "unrelated", "7", "9", "1", "3", "\"External id\":5") "," ROW(
                           "cuda_runtime", "launch", "7", "8", "10", "2",
                           "\"External id\":5,\"correlation\":5") "," ROW("kernel", "gemm", "0",
                                                                          "3", "20", "4",
                                                                          "\"External id\":5,"
                                                                          "\"correlation\":5"),
                       BASE, TIMELINE),
           "op 7/9 unrelated 0+3000 {External id=5}\n"
           "call 7/8 launch 9000+2000 {External id=5, correlation=5}\n"
           "kernel stream 0/3 gemm 19000+4000 {External id=5, correlation=5}\n"
           "flow ac2g launch -> gemm\n");
}

/* In whole microseconds an operator, the one it calls and the call begin together. */
static void flow_points_find_the_slice_that_is_meant(void **state) {
    (void)state;
    expect(
        read_events(
            "",
            ROW("user_annotation", "range", "7", "8", "10", "9", "") "," ROW("cpu_op", "op", "7", "8", "10", "8", "") "," ROW(
                "cuda_runtime", "launch", "7", "8", "10", "7",
                "") "," ROW("python_function", "frame", "7", "8", "10", "6",
                            "") "," ROW("kernel", "gemm", "0", "3", "20", "4",
                                        "") "," ROW("cpu_op", "backward", "7", "9", "30", "4",
                                                    "") "," FLOW("s", "ac2g", "5", "7", "8",
                                                                 "10") "," FLOW("f", "ac2g", "5",
                                                                                "0", "3",
                                                                                "20") "," FLOW("s",
                                                                                               "fwdbwd",
                                                                                               "1",
                                                                                               "7",
                                                                                               "8",
                                                                                               "10") "," FLOW("f",
                                                                                                              "fwdbwd",
                                                                                                              "1",
                                                                                                              "7",
                                                                                                              "9",
                                                                                                              "30"),
            BASE, TIMELINE),
        "annotation 7/8 range 0+9000\nop 7/8 op 0+8000\ncall 7/8 launch 0+7000\n"
        "python 7/8 frame 0+6000\nkernel stream 0/3 gemm 10000+4000\nop 7/9 backward 20000+4000\n"
        "flow fwdbwd op -> backward\nflow ac2g launch -> gemm\n");
}

/* --- rank, host, metadata ----------------------------------------------------------------------------- */

static void expect_meta(const ps_trace *t, const char *key, const char *value) {
    const char *found = ps_trace_meta(t, key);
    if (value == NULL) {
        assert_null(found);
    } else {
        assert_non_null(found);
        assert_string_equal(found, value);
    }
}

static void members_become_metadata(void **state) {
    (void)state;
    ps_trace *t = read_events(
        "\"schemaVersion\":1,\"with_stack\":1,\"distributedInfo\":{\"rank\":3,\"world_size\":8,"
        "\"backend\":\"nccl\"},",
        "", ",\"traceName\":\"a\\\\b\",\"INFO\":[\"one\",\"two\"],\"nothing\":null,\"pi\":3.14",
        PS_NEED_META);
    expect_meta(t, "rank", "3");
    expect_meta(t, "world_size", "8");
    expect_meta(t, "backend", "nccl");
    expect_meta(t, "distributedInfo", "{\"rank\":3,\"world_size\":8,\"backend\":\"nccl\"}");
    expect_meta(t, "schemaVersion", "1");
    expect_meta(t, "traceName", "a\\b");
    expect_meta(t, "INFO", "[\"one\",\"two\"]");
    expect_meta(t, "pi", "3.14");
    expect_meta(t, "nothing", NULL);
    ps_trace_free(t);
    t = read_events("\"distributedInfo\":[1],", "", "", PS_NEED_META);
    expect_meta(t, "rank", NULL);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_METADATA], 1);
    ps_trace_free(t);
}

static void names_tell_ranks(void **state) {
    (void)state;
    static const struct {
        const char *path;
        int64_t rank;
    } CASES[] = {{"/a/rank-9/rank-3.json.gz", 3},
                 {"rank_12.json", 12},
                 {"sampled_rank5.json", 5},
                 {"rank-1.rank-2.json", 2},
                 {"/rank4/x.json", -1},
                 {"crank.json", -1},
                 {"rank-99999999999999999999.json", -1}};
    static const char TEXT[] = "{\"schemaVersion\":1,\"traceEvents\":[]}";
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        assert_int_equal(ps_kineto_rank_of_name(CASES[i].path), CASES[i].rank);
        ps_err err = PS_ERR_INIT;
        ps_trace *t = read_as(CASES[i].path, TEXT, strlen(TEXT), PS_NEED_META, 1, &err);
        assert_non_null(t);
        char rank[24];
        (void)snprintf(rank, sizeof rank, "%lld", (long long)CASES[i].rank);
        expect_meta(t, "rank", CASES[i].rank >= 0 ? rank : NULL);
        ps_trace_free(t);
    }
}

/* Rank and host of a file of this name and text, without reading all of it. */
static void expect_part(const char *name, const char *text, size_t n, int64_t rank,
                        const char *host) {
    char dir[SCRATCH_BYTES];
    scratch_make(dir, sizeof dir);
    char path[SCRATCH_BYTES + 128];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    assert_int_equal(ps_write_file(path, text, n, NULL), PS_OK);
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n_parts = 0;
    assert_int_equal(ps_kineto_parts(path, &arena, &parts, &n_parts, NULL), PS_OK);
    assert_int_equal(n_parts, 1);
    assert_int_equal(parts[0].rank, rank);
    assert_string_equal(parts[0].host, host);
    ps_arena_fini(&arena);
    scratch_remove(dir);
}

static void rank_and_host_are_found_at_both_ends(void **state) {
    (void)state;
    static const char HEAD[] =
        "{\"schemaVersion\":1,\"host_name\":\"n7\",\"distributedInfo\":{\"backend\":"
        "\"nccl\",\"rank\":5,\"pg_config\":[{\"rank\":1}]},\"traceEvents\":[";
    expect_part("a_b_77.1700000000000000000.pt.trace.json", HEAD, strlen(HEAD), 5, "n7");
    static const char NONE[] = "{\"schemaVersion\":1,\"traceEvents\":[]}";
    expect_part("a_b_77.1700000000000000000.pt.trace.json", NONE, strlen(NONE), -1, "a_b");
    expect_part("77.pt.trace.json", NONE, strlen(NONE), -1, "");
    expect_part("rank-2.json", NONE, strlen(NONE), 2, "");
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_add_str(&text, "{\"schemaVersion\":1,\"traceEvents\":[{\"ph\":\"X\",\"name\":\"");
    ps_buf_add_fill(&text, 'x', (size_t)3 << 20);
    ps_buf_add_str(
        &text, "\"}],\"distributedInfo\": {\"world_size\":9,\"rank\": 8},\"host_name\":\"n3\"}");
    expect_part("rank-2.json", text.data, text.len, 8,
                "n3"); /* the file knows better than its name */
    uint8_t *packed = malloc(text.len);
    assert_non_null(packed);
    size_t n = gzip_pack((const uint8_t *)text.data, text.len, packed, text.len);
    expect_part("rank-2.json.gz", (const char *)packed, n, 8, "n3");
    n = gzip_pack((const uint8_t *)NONE, strlen(NONE), packed, text.len);
    expect_part("rank-2.json.gz", (const char *)packed, n, 2, "");
    free(packed);
    ps_buf_fini(&text);
}

/* --- many --------------------------------------------------------------------------------------------------- */

/* One thread on many tracks: its flow points find the slices of the first 64, the rest is counted. */
static void a_thread_on_many_tracks(void **state) {
    (void)state;
    enum { N = 200, BOUND = 64 };
    ps_buf events;
    ps_buf_init(&events, 0);
    for (int i = 0; i < N; i++) {
        ps_buf_addf(&events, ROW("kernel", "k%d", "0", "7", "%d", "5", "\"device\":%d") ",", i,
                    100 + i * 10, i);
    }
    for (int i = 0; i + 1 < N; i++) {
        ps_buf_addf(&events, FLOW("s", "x", "%d", "0", "7", "%d") ",", i, 100 + i * 10);
        ps_buf_addf(&events, FLOW("f", "x", "%d", "0", "7", "%d") ",", i, 100 + (i + 1) * 10);
    }
    ps_buf_add_str(&events, "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":0}");
    ps_trace *t = read_events("", ps_buf_str(&events), BASE, TIMELINE);
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(t, &n_flows);
    assert_int_equal(n_flows, BOUND - 1);
    for (size_t i = 0; i < n_flows; i++) {
        assert_int_equal(ps_trace_slices(t)->start_ns[flows[i].to] -
                             ps_trace_slices(t)->start_ns[flows[i].from],
                         10000);
    }
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_FLOW_NO_SLICE], 2 * (N - BOUND) - 1);
    ps_trace_free(t);
    ps_buf_fini(&events);
}

static void known_ids_are_found_in_any_order(void **state) {
    (void)state;
    enum { N = 1000 };
    int64_t joined[N];
    for (int i = 0; i < N; i++) {
        joined[i] = 10 + i * (int64_t)3;
    }
    ps_kineto_links l = {0};
    assert_false(ps_kineto_links_knows(&l, 10));
    l.joined = joined;
    for (l.n_joined = 1; l.n_joined <= N; l.n_joined = l.n_joined * 3 + 1) {
        uint64_t end = 10 + 3 * l.n_joined;
        uint64_t id = 0;
        for (uint64_t i = 0; i < 3 * end; i++) {
            id = i < end ? i : (id * 7919 + 13) % (end + 5); /* rising, then up and down */
            assert_int_equal(ps_kineto_links_knows(&l, id),
                             id >= 10 && id < end && (id - 10) % 3 == 0);
        }
        assert_false(ps_kineto_links_knows(&l, UINT64_MAX));
        assert_true(ps_kineto_links_knows(&l, 10));
    }
}

/* --- recognising --------------------------------------------------------------------------------------- */

static int score(const char *reader, const char *text) {
    return ps_reader_find(reader)->sniff("x", (const unsigned char *)text, strlen(text));
}

static void files_are_known_by_content(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int kineto, chrome;
    } CASES[] = {
        {"{\"schemaVersion\": 1, \"traceEvents\": [", 80, 30},
        {"\n {\"deviceProperties\": [{\"id\": 0}],\n \"traceEvents\": [\n", 80, 30},
        {"{\"distributedInfo\": {\"rank\": 0}, \"traceEvents\": [{\"ph\"", 80, 30},
        {"{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"cpu_op\"", 80, 30},
        {"{\"traceEvents\": [{\"cat\":\"Runtime\"},{\"cat\":\"async_gpu\"}", 80, 30},
        {"\xEF\xBB\xBF{\"traceEvents\": [{\"ph\":\"X\",\"cat\":\"net\"", 0, 30},
        {"{\"schemaVersion\": \"1.0.0\", \"traceEvents\": [{\"cat\":\"Operator\"", 0, 30},
        {"{\"traceEvents\": [{\"args\":{\"schemaVersion\":1,\"cat\":\"cpu_op\"}}", 0, 30},
        {"[{\"name\":\"a\",\"ph\":\"X\"", 0, 30},
        {"[{\"name\":\"a\"},{\"cat\":\"cpu_op\",\"ph\":\"X\"}", 0, 30},
        {"[{\"name\":\"a \\\"ph\\\":\"}]", 0, 0},
        {"[[1700000000, 1, 512, 0], [1700000001, 2, -512, 0]]", 0, 0},
        {"[{\"name\":\"a\",\"args\":{\"ph\":1}}]", 0, 0},
        {"{\"traceEvents\": 5, \"schemaVersion\": 1}", 0, 0},
        {"{\"a\":{\"traceEvents\": []}}", 0, 0},
        {"{\"traceEvents", 0, 0},
        {"SQLite format 3", 0, 0},
        {"", 0, 0},
        {"[", 0, 0},
        {"]", 0, 0},
        {"\"traceEvents\"", 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        print_message("# %s\n", CASES[i].text);
        assert_int_equal(score("kineto", CASES[i].text), CASES[i].kineto);
        assert_int_equal(score("chrome", CASES[i].text), CASES[i].chrome);
    }
    char deep[300];
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    assert_int_equal(score("chrome", deep), 0);
}

/* --- samples -------------------------------------------------------------------------------------------- */

/* Figures from a script of its own over json.load() with decimal numbers: slices by category and kernel name; launches
 * as (call, device slice) of equal correlation; flow points looked up among all slices of their row; overlaps of host rows
 * with a stack. `checksum` is the sum over all flows of 31 * event number of the one + event number of the other. */
static const struct sample {
    const char *file, *slices;
    size_t n_launches, n_forward;
    uint64_t n_half, checksum;
    int64_t origin_ns; /* earliest slice, with the base of the file */
    const char *rank, *world_size;
    size_t n_steps;
    bool is_thinned; /* known where arguments are read */
} SAMPLES[] = {
    {"nccl/nccl_data.json.gz",
     "op 14346, annotation 42, call 8740, instant 2, derived 31, kernel 2679, communication-kernel 21, "
     "copy 1074, ",
     3774, 543, 4966, 3566245788, INT64_C(1716423322388068751), "0", "2", 3, false},
    {"two_ranks/sampled_rank-0.json.gz",
     "op 2329, annotation 73, call 1204, derived 1, kernel 1144, communication-kernel 10, copy 50, ",
     1204, 0, 0, 138930764, INT64_C(1682725897226747000), "0", "128", 2, true},
    {"two_ranks/sampled_rank-1.json.gz",
     "op 2302, annotation 65, call 1154, derived 1, kernel 1094, communication-kernel 10, copy 50, ",
     1154, 0, 0, 130022334, INT64_C(1682725897227300000), "1", "128", 2, true},
};

static void count_kinds(const ps_trace *t, ps_buf *out) {
    size_t counts[PS_N_SLICE_KINDS] = {0};
    const ps_slices *s = ps_trace_slices(t);
    for (uint32_t i = 0; i < s->n; i++) {
        counts[s->kind[i]]++;
    }
    for (int k = 0; k < PS_N_SLICE_KINDS; k++) {
        if (counts[k] > 0) {
            ps_buf_addf(out, "%s %zu, ", ps_slice_kind_name((ps_slice_kind)k), counts[k]);
        }
    }
}

static void check_flows(const ps_trace *t, const struct sample *sample) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n = 0;
    size_t n_launches = 0;
    uint64_t checksum = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t a = -1;
        int64_t b = -2;
        if (strcmp(ps_trace_text(t, flows[i].kind), "ac2g") == 0) {
            n_launches++;
            assert_true(ps_trace_arg_int(t, flows[i].from, "correlation", &a));
            assert_true(ps_trace_arg_int(t, flows[i].to, "correlation", &b));
        } else {
            assert_true(ps_trace_arg_int(t, flows[i].from, "Sequence number", &a));
            assert_true(ps_trace_arg_int(t, flows[i].to, "Sequence number", &b));
        }
        assert_int_equal(a, b);
        checksum +=
            (uint64_t)s->source_row[flows[i].from] * 31 + (uint64_t)s->source_row[flows[i].to];
    }
    assert_int_equal(n_launches, sample->n_launches);
    assert_int_equal(n - n_launches, sample->n_forward);
    assert_int_equal(checksum, sample->checksum);
}

static void samples_hold_what_was_counted(void **state) {
    (void)state;
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    size_t n_done = 0;
    for (size_t i = 0; i < sizeof SAMPLES / sizeof *SAMPLES; i++) {
        char path[512];
        (void)snprintf(path, sizeof path, "%s/kineto/%s",
                       shared != NULL ? shared : "../shared/data", SAMPLES[i].file);
        if (!ps_is_file(path)) {
            continue;
        }
        const uint32_t needs[] = {ALL, TIMELINE | PS_NEED_META};
        for (size_t k = 0; k < 2; k++) {
            ps_err err = PS_ERR_INIT;
            ps_trace *t = ps_read(&(ps_src){.path = path, .reader = ps_reader_find("kineto")},
                                  needs[k], &err);
            assert_non_null(t);
            ps_buf kinds;
            ps_buf_init(&kinds, 0);
            count_kinds(t, &kinds);
            assert_string_equal(ps_buf_str(&kinds), SAMPLES[i].slices);
            ps_buf_clear(&kinds);
            lines_of_oddities(t, &kinds);
            char odd[64] = "";
            assert_true(SAMPLES[i].n_half == 0 || !SAMPLES[i].is_thinned);
            if (SAMPLES[i].is_thinned && k == 0) {
                (void)snprintf(odd, sizeof odd, "odd thinned 1\n");
            }
            if (SAMPLES[i].n_half > 0) {
                (void)snprintf(odd, sizeof odd, "odd flow-one-sided %llu\n",
                               (unsigned long long)SAMPLES[i].n_half);
            }
            assert_string_equal(ps_buf_str(&kinds), odd);
            ps_buf_fini(&kinds);
            check_flows(t, &SAMPLES[i]);
            assert_true(ps_trace_origin_ns(t) == SAMPLES[i].origin_ns);
            assert_int_equal(ps_trace_counters(t)->n, 0);
            expect_meta(t, "rank", SAMPLES[i].rank);
            expect_meta(t, "world_size", SAMPLES[i].world_size);
            size_t n_steps = 0;
            (void)ps_trace_steps(t, &n_steps);
            assert_int_equal(n_steps, SAMPLES[i].n_steps);
            ps_trace_free(t);
        }
        n_done++;
    }
    if (n_done == 0) {
        print_message("no samples here\n");
        skip();
    }
}

/* --- memory and threads --------------------------------------------------------------------------------- */

static const char MIXED[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"rank\":0,\"backend\":\"nccl\"},\"traceEvents\":[" ROW("user_annotation", "ProfilerStep#1", "7", "8", "9", "99", "\"External id\":1") "," ROW("cpu_op", "op", "7", "8", "10", "8", "\"Input Dims\":[[1,2],[]],\"Sequence number\":4") "," CALL(
        "11",
        "5") "," KERNEL("20",
                        "5") "," KERNEL("30",
                                        "6") "," FLOW("s", "ac2g", "5", "7", "8",
                                                      "11") "," FLOW("f", "ac2g", "5", "0", "3",
                                                                     "20") "," FLOW("s", "fwdbwd",
                                                                                    "1", "7", "8",
                                                                                    "10") "," FLOW("f",
                                                                                                   "fwdbwd",
                                                                                                   "1",
                                                                                                   "7",
                                                                                                   "8",
                                                                                                   "11") ","
                                                                                                         "{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":0,\"tid\":3,\"args\":{\"name\":\"stream 3 \"}}],"
                                                                                                         "\"traceName\":\"x\",\"baseTimeNanoseconds\":1711964646000000000}";

/* Events that are held back until a time comes. */
static const char ZEROS[] =
    "{\"schemaVersion\":1,\"traceEvents\":["
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":\"p\",\"tid\":\"t\",\"ts\":0,\"dur\":1,"
    "\"args\":{\"Input Dims\":[[1,2],[]],\"k\":\"v\"}},"
    "{\"ph\":\"s\",\"cat\":\"ac2g\",\"name\":\"f\",\"id\":\"i\",\"pid\":7,\"tid\":8,\"ts\":0},"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":3,\"ts\":5,\"dur\":1}]}";

static void fail_every_allocation(const char *text) {
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = read_as("x", text, strlen(text), ALL, 1, &err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_true(t != NULL || err.code == PS_NOMEM);
        assert_true(!done || t != NULL);
        ps_trace_free(t);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fail_every_allocation(MIXED);
    fail_every_allocation(ZEROS);
}

/* The samples many times over would need their files; a file of our own has blocks enough for four threads. */
static void threads_change_nothing(void **state) {
    (void)state;
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_str(&json, "{\"schemaVersion\":1,\"traceEvents\":[\n");
    for (int i = 0; i < 12000; i++) {
        ps_buf_addf(
            &json,
            "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"launch\",\"pid\":7,\"tid\":%d,\"ts\":%d.25,"
            "\"dur\":2,\"args\":{\"correlation\":%d,\"text\":\"a \\\"%d\\\"\"}},\n",
            i % 3, i * 5 % 40000, i + 1, i);
        ps_buf_addf(
            &json,
            "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k%d\",\"pid\":0,\"tid\":7,\"ts\":%d.5,"
            "\"dur\":2,\"args\":{\"correlation\":%d,\"device\":0}},\n"
            "{\"ph\":\"s\",\"cat\":\"ac2g\",\"id\":%d,\"pid\":7,\"tid\":%d,\"ts\":%d.25,\"name\":\"x\"}%s\n",
            i % 100, i * 5, i % 11000, i + 1, i % 3, i * 5 % 40000, i == 11999 ? "]}" : ",");
    }
    ps_buf said[2];
    for (size_t k = 0; k < 2; k++) {
        ps_err err = PS_ERR_INIT;
        ps_trace *t = read_as("x", json.data, json.len, ALL, k == 0 ? 1 : 4, &err);
        assert_non_null(t);
        ps_buf_init(&said[k], 0);
        lines_of_trace(t, &said[k]);
        ps_trace_free(t);
    }
    assert_true(said[0].len > 300000);
    assert_int_equal(said[0].len, said[1].len);
    assert_memory_equal(said[0].data, said[1].data, said[0].len);
    ps_buf_fini(&said[0]);
    ps_buf_fini(&said[1]);
    ps_buf_fini(&json);
}

/* --- thinned files -------------------------------------------------------------------------------------- */

/* `n` operators on two threads, numbered `step` apart from 1000 on, `runs` of them one after the other, the second thread's `other`
 * numbers later: those are of steps that were not kept. */
static ps_trace *read_numbered(int n, int step, int runs, int other) {
    ps_buf json;
    ps_buf_init(&json, 0);
    ps_buf_add_str(&json, "{\"schemaVersion\":1,\"traceEvents\":[\n");
    for (int i = 0; i < n; i++) {
        int number = 1000 + (i / runs) * step + i % runs + (i < n / 2 ? 0 : other);
        ps_buf_addf(
            &json,
            "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":%d,\"ts\":%d,"
            "\"dur\":2,\"args\":{\"Ev Idx\":%d}}%s\n",
            i < n / 2, 10 + 10 * i, number, i == n - 1 ? "]}" : ",");
    }
    ps_err err = PS_ERR_INIT;
    ps_trace *t = read_as("x", json.data, json.len, ALL, 1, &err);
    assert_non_null(t);
    ps_buf_fini(&json);
    return t;
}

/* All numbers; most of them gone here and there, also of few; whole runs gone, as where a kind was left out; too few to tell: one a
 * thread, a single one, runs, next to none that is missing. */
static void thinned_files_are_noticed(void **state) {
    (void)state;
    static const struct {
        int n, step, runs, other;
        const char *said, *few;
    } CASES[] = {{100, 1, 1, 0, NULL, NULL},
                 {100, 7, 1, 0, "100 of 688", NULL},
                 {100, 7, 1, 5000, "100 of 688", NULL},
                 {100, 1, 1, 5000, NULL, NULL},
                 {100, 100, 10, 0, NULL, NULL},
                 {20, 100, 1, 0, "20 of 1802", NULL},
                 {4, 1000, 1, 0, "4 of 2002", NULL},
                 {4, 1, 1, 0, NULL, NULL},
                 {2, 1000, 1, 0, NULL, "2"},
                 {1, 1, 1, 0, NULL, "1"},
                 {8, 1000, 4, 0, NULL, "8"},
                 {4, 7, 1, 0, NULL, "4"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_trace *t = read_numbered(CASES[i].n, CASES[i].step, CASES[i].runs, CASES[i].other);
        const char *said = ps_trace_meta(t, "pipescope.thinned");
        assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_THINNED], CASES[i].said != NULL);
        if (CASES[i].said == NULL) {
            assert_null(said);
        } else {
            assert_non_null(said);
            assert_string_equal(said, CASES[i].said);
        }
        said = ps_trace_meta(t, "pipescope.few_numbers");
        assert_string_equal(said != NULL ? said : "", CASES[i].few != NULL ? CASES[i].few : "");
        ps_trace_free(t);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(categories_say_what_a_slice_is),
        cmocka_unit_test(host_and_device_are_told_by_category),
        cmocka_unit_test(steps_are_annotations),
        cmocka_unit_test(three_generations_of_times),
        cmocka_unit_test(events_at_time_zero_are_strays),
        cmocka_unit_test(rounding_is_no_overlap),
        cmocka_unit_test(a_launch_is_one_flow),
        cmocka_unit_test(a_graph_launches_many),
        cmocka_unit_test(device_work_may_have_no_call),
        cmocka_unit_test(calls_without_device_work_lead_nowhere),
        cmocka_unit_test(external_ids_make_no_link),
        cmocka_unit_test(flow_points_find_the_slice_that_is_meant),
        cmocka_unit_test(members_become_metadata),
        cmocka_unit_test(names_tell_ranks),
        cmocka_unit_test(rank_and_host_are_found_at_both_ends),
        cmocka_unit_test(a_thread_on_many_tracks),
        cmocka_unit_test(known_ids_are_found_in_any_order),
        cmocka_unit_test(files_are_known_by_content),
        cmocka_unit_test(samples_hold_what_was_counted),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(thinned_files_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

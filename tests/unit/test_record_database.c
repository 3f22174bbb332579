/* From slots to rows: each table of the database is compared with what the slots say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "record/export/demangle.h"
#include "record/export/export.h"
#include "support/record_slots.h"
#include "support/scratch.h"

typedef struct place {
    char dir[SCRATCH_BYTES]; /* the profile folder */
    ps_export_result result;
    sqlite3 *db;
} place;

static void make_place(place *p) {
    *p = (place){.db = NULL};
    scratch_make(p->dir, sizeof p->dir);
}

static void remove_place(place *p) {
    (void)sqlite3_close(p->db);
    scratch_remove(p->dir);
}

static void export_to(place *p, made_recording *r, const ps_export_options *options) {
    ps_capture *c = NULL;
    ps_err err = PS_ERR_INIT;
    spool_all(r);
    assert_int_equal(ps_capture_read_memory(r->spool, r->spool_bytes, &c, &err), PS_OK);
    ps_code code = ps_export_capture(c, p->dir, options, &p->result, &err);
    if (code != PS_OK) {
        fail_msg("%s", err.msg);
    }
    ps_capture_free(c);
    assert_int_equal(sqlite3_open_v2(p->result.database, &p->db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
}

/* All rows as text: columns with commas, rows with line ends. */
static void expect_rows(place *p, const char *sql, const char *expected) {
    static char got[65536];
    size_t n = 0;
    sqlite3_stmt *s = NULL;
    if (sqlite3_prepare_v2(p->db, sql, -1, &s, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(p->db));
    }
    got[0] = '\0';
    while (sqlite3_step(s) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(s); i++) {
            const char *cell = (const char *)sqlite3_column_text(s, i);
            n += (size_t)snprintf(got + n, sizeof got - n, "%s%s", i > 0 ? "," : "",
                                  cell != NULL ? cell : "NULL");
        }
        n += (size_t)snprintf(got + n, sizeof got - n, "\n");
    }
    (void)sqlite3_finalize(s);
    assert_string_equal(got, expected);
}

#define MARKS                                                                                      \
    "SELECT startNs - 1000000000000000000, endNs - 1000000000000000000, eventType, rangeId, "      \
    "category, m.value, globalTid, endGlobalTid, d.value, connectionId FROM MSTX_EVENTS JOIN "     \
    "STRING_IDS m ON m.id = message JOIN STRING_IDS d ON d.id = domainId ORDER BY MSTX_EVENTS.rowid"
#define TASKS                                                                                      \
    "SELECT startNs - 1000000000000000000, endNs - 1000000000000000000, deviceId, connectionId, "  \
    "globalTaskId, globalPid, value, contextId, streamId, taskId, modelId FROM TASK JOIN "         \
    "STRING_IDS ON id = taskType ORDER BY TASK.rowid"

/* globalTid of thread 5 of process 4242 is 4242 << 32 | 5 = 18219251269637. */
static void test_marks(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 3);
    put_thread(&r, 1, 5, "main");
    put_text(&r, 1, 1, "{'name': 'forward_step'}");
    put_text(&r, 1, 2, "{\\\"a\\\": 1}");
    put_named(&r, PS_REC_DOMAIN, 1, "mine");
    put_event(&r, 1, PS_REC_STEP_BEGIN, 1500, 7, 1, 0, 0);
    put_event(&r, 1, PS_REC_RANGE_START, 2000, 1 | PS_RANGE_ON_DEVICE, 1, 1, 0);
    put_event(&r, 1, PS_REC_MARK, 2100, 2, 0, 2, 1);
    put_event(&r, 1, PS_REC_PUSH, 2200, 3, 0, 1, 1);
    put_event(&r, 1, PS_REC_RANGE_END, 2300, 3, 0, 0, 1);
    put_thread(&r, 2, 6, "other");
    put_event(&r, 2, PS_REC_RANGE_END, 2400, 1 | PS_RANGE_ON_DEVICE, 0, 0, PS_DOMAIN_ANY);
    put_text(&r, 2, 1, "open");
    put_event(&r, 2, PS_REC_RANGE_START, 2450, 4, 0, 1, 0);
    put_event(&r, 1, PS_REC_STEP_END, 2500, 7, 0, 0, 0);
    put_pair(&r, PS_REC_INFO, 0, "stop", "{\"monotonic_ns\": 2600}");
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    /* In the order of starts: step, forward_step (ended by thread 6), mark, push, and the open one, which has number 4 but
     * no row. */
    expect_rows(&p, MARKS,
                "1500,2500,2,4294967295,4294967295,ProfilerStep#7,18219251269637,18219251269637,"
                "default,4000000001\n"
                "2000,2400,2,4294967295,4294967295,{'name': 'forward_step'},18219251269637,"
                "18219251269638,default,4000000002\n"
                "2100,2100,3,4294967295,4294967295,{\"a\": 1},18219251269637,18219251269637,mine,"
                "4000000003\n"
                "2200,2300,2,4294967295,4294967295,{'name': 'forward_step'},18219251269637,"
                "18219251269637,mine,4000000004\n");
    /* Those with a stream, with the host's times; the legacy stream is 0. */
    expect_rows(&p, TASKS,
                "1500,2500,0,4000000001,0,4242,MsTx,4294967295,0,0,4294967295\n"
                "2000,2400,0,4000000002,1,4242,MsTx,4294967295,0,1,4294967295\n");
    expect_rows(&p,
                "SELECT connectionId, startNs - 1000000000000000000, m.value, d.value, globalTid "
                "FROM PIPESCOPE_OPEN_RANGES JOIN STRING_IDS m ON m.id = message JOIN STRING_IDS d "
                "ON d.id = domainId",
                "4000000005,2450,open,default,18219251269638\n");
    expect_rows(&p, "SELECT * FROM STEP_TIME", "7,1000000000000001500,1000000000000002500\n");
    expect_rows(&p, "SELECT * FROM SESSION_TIME_INFO", "1000000000000001000,1000000000000002600\n");
    expect_rows(&p, "SELECT * FROM RANK_DEVICE_MAP", "3,0\n");
    expect_rows(&p, "SELECT * FROM NPU_INFO", "-1,CPU\n");
    assert_int_equal(p.result.n_ranges, 2);
    assert_int_equal(p.result.n_marks, 1);
    assert_int_equal(p.result.n_open, 1);
    assert_int_equal(p.result.n_steps, 1);
    remove_place(&p);
    recording_end(&r);
}

/* Operators on a machine without a device: a row each of PYTORCH_API, CONNECTION_IDS, TASK and COMPUTE_TASK_INFO, joined by
 * 5 << 28 = 1342177280 and by 1. */
static void test_operators(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 5, "main");
    put_text(&r, 1, 1, "mm");
    put_text(&r, 1, 2, "64,128;128,32");
    ps_slot shapes = {.text = 2};
    ps_slot begin = {.kind = PS_REC_OP_BEGIN, .ticks = 2000, .id = 8, .aux = 1, .text = 1};
    put_slot(&r, 1, begin, &shapes, sizeof shapes);
    put_event(&r, 1, PS_REC_RANGE_END, 2100, 8, 0, 0, PS_DOMAIN_ANY);
    begin.ticks = 2200;
    begin.id = 9;
    begin.aux = 0;   /* without a stream: on the host's */
    shapes.text = 0; /* the gradient of the first */
    shapes.id = 8;
    put_slot(&r, 1, begin, &shapes, sizeof shapes);
    put_event(&r, 1, PS_REC_RANGE_END, 2300, 9, 0, 0, PS_DOMAIN_ANY);
    begin.ticks = 2320;
    begin.id = 11;
    shapes.aux = 1; /* stands for no kernel */
    put_slot(&r, 1, begin, &shapes, sizeof shapes);
    put_event(&r, 1, PS_REC_RANGE_END, 2330, 11, 0, 0, PS_DOMAIN_ANY);
    begin.ticks = 2400;
    begin.id = 10; /* never ends */
    shapes.id = shapes.aux = 0;
    put_slot(&r, 1, begin, &shapes, sizeof shapes);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(
        &p,
        "SELECT startNs, typeof(startNs), endNs - startNs, globalTid, connectionId, n.value, "
        "sequenceNumber, s.value, type FROM PYTORCH_API JOIN STRING_IDS n ON n.id = name "
        "LEFT JOIN STRING_IDS s ON s.id = inputShapes",
        "1000000000000002000,text,100,18219251269637,1342177280,mm,8,64,128;128,32,50001\n"
        "1000000000000002200,text,100,18219251269637,1342177281,mm,8,NULL,50001\n"
        "1000000000000002320,text,10,18219251269637,1342177282,mm,8,NULL,50001\n");
    expect_rows(&p, "SELECT * FROM CONNECTION_IDS",
                /* to their kernels, then to each other: 1 << 42, and the first one's id */
                "1342177280,1\n1342177281,2\n1342177280,4398046511112\n1342177281,4398046511112\n");
    expect_rows(&p, TASKS,
                "2000,2100,0,1,0,4242,HOST_OP,4294967295,0,0,4294967295\n"
                "2200,2300,0,2,1,4242,HOST_OP,4294967295,0,1,4294967295\n");
    expect_rows(&p,
                "SELECT n.value, globalTaskId, t.value, o.value, s.value, f.value FROM "
                "COMPUTE_TASK_INFO JOIN STRING_IDS n ON n.id = name JOIN STRING_IDS t ON t.id = "
                "taskType JOIN STRING_IDS o ON o.id = opType JOIN STRING_IDS s ON s.id = "
                "inputShapes JOIN STRING_IDS f ON f.id = inputFormats",
                "mm,0,HOST_OP,mm,\"64,128;128,32\",N/A\nmm,1,HOST_OP,mm,N/A,N/A\n");
    expect_rows(&p, "SELECT count(*) FROM MSTX_EVENTS", "0\n");
    expect_rows(&p, "SELECT connectionId, startNs FROM PIPESCOPE_OPEN_RANGES",
                "1342177283,1000000000000002400\n");
    assert_int_equal(p.result.n_ops, 4);
    remove_place(&p);
    recording_end(&r);
}

/* Device times from CUDA events: only ranges whose times arrived have a task; streams are numbered by context and handle. */
static void test_device_ranges(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_pair(&r, PS_REC_INFO, 0, "backend", "cuda_event");
    put_pair(&r, PS_REC_INFO, 0, "device", "{\"id\": 2, \"name\": \"Test GPU\"}");
    put_named(&r, PS_REC_STREAM, 0x70, "copies");
    put_text(&r, 1, 1, "forward");
    for (uint64_t i = 0; i < 3; i++) {
        uint64_t id = PS_RANGE_ON_DEVICE | (i + 1);
        uint64_t stream = i == 0 ? 1 : 0x70;
        put_event(&r, 1, PS_REC_RANGE_START, 2000 + 100 * i, id, stream, 1, 0);
        put_event(&r, 1, PS_REC_RANGE_END, 2050 + 100 * i, id, 0, 0, PS_DOMAIN_ANY);
    }
    ps_device_more more = {.device = 2, .context = 5, .stream = 1};
    put_device(&r, PS_REC_DEVICE, PS_RANGE_ON_DEVICE | 1, 2500, 2600, 0, more);
    more.stream = 0x70;
    put_device(&r, PS_REC_DEVICE, PS_RANGE_ON_DEVICE | 2, 2400, 2450, 0, more);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(&p, TASKS,
                "2400,2450,2,4000000002,0,4242,MsTx,5,1,0,4294967295\n"
                "2500,2600,2,4000000001,1,4242,MsTx,5,0,0,4294967295\n");
    expect_rows(&p,
                "SELECT name, value FROM META_DATA WHERE name LIKE 'collector.%' AND name != "
                "'collector.version' ORDER BY 1",
                "collector.backend,cuda_event\ncollector.device_time_source,cuda_event\n"
                "collector.drops,{}\n"
                "collector.incomplete_ranges,{\"open\": 0, \"without_device_time\": 1}\n"
                "collector.stream_map,{\"0\": {\"handle\": \"0x1\", \"context\": 0}, \"1\": "
                "{\"handle\": \"0x70\", \"context\": 5, \"name\": \"copies\"}}\n");
    expect_rows(&p, "SELECT * FROM NPU_INFO", "2,Test GPU\n");
    expect_rows(&p, "SELECT * FROM RANK_DEVICE_MAP", "0,2\n");
    remove_place(&p);
    recording_end(&r);
}

/* A step on a stream is a range as any other: a row where its times arrived, counted where not. */
static void test_device_steps(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_pair(&r, PS_REC_INFO, 0, "backend", "cuda_event");
    for (uint64_t i = 0; i < 3; i++) { /* the third is of the host alone */
        ps_slot id = {.id = PS_RANGE_ON_DEVICE | (i + 1)};
        ps_slot step = {.kind = PS_REC_STEP_BEGIN, .ticks = 2000 + 100 * i, .id = i};
        step.aux = i < 2 ? 0x70 : 0;
        put_slot(&r, 1, step, &id, i < 2 ? sizeof id : 0);
        put_event(&r, 1, PS_REC_STEP_END, 2090 + 100 * i, i, 0, 0, 0);
    }
    ps_device_more more = {.device = 2, .context = 5, .stream = 0x70};
    put_device(&r, PS_REC_DEVICE, PS_RANGE_ON_DEVICE | 1, 2050, 2110, 0, more);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(&p, TASKS, "2050,2110,2,4000000001,0,4242,MsTx,5,1,0,4294967295\n");
    expect_rows(&p,
                "SELECT m.value FROM MSTX_EVENTS JOIN STRING_IDS m ON m.id = message JOIN TASK "
                "USING (connectionId)",
                "ProfilerStep#0\n");
    expect_rows(&p, "SELECT value FROM META_DATA WHERE name = 'collector.incomplete_ranges'",
                "{\"open\": 0, \"without_device_time\": 1}\n");
    expect_rows(&p, "SELECT id, endNs - startNs FROM STEP_TIME", "0,90\n1,90\n2,90\n");
    remove_place(&p);
    recording_end(&r);
}

static void put_api(made_recording *r, uint64_t correlation, uint64_t start, uint32_t name) {
    put_device(r, PS_REC_API, correlation, start, start + 5, name, (ps_device_more){.thread = 5});
}

static void put_kernel(made_recording *r, uint64_t correlation, uint64_t start, uint32_t name) {
    ps_device_more more = {.context = 1, .stream = 7, .bytes = UINT64_C(256) << 32 | 64};
    put_device(r, PS_REC_KERNEL, correlation, start, start + 10, name, more);
}

static void put_nvtx(made_recording *r, uint64_t ticks, uint64_t id, uint32_t text,
                     uint32_t payload) {
    ps_slot nvtx = {.kind = PS_REC_NVTX, .ticks = ticks, .text = payload};
    put_slot(r, 1, nvtx, NULL, 0);
    put_event(r, 1, PS_REC_PUSH, ticks, id, 0, text, 1);
}

/* Two operators, one inside the other; the inner one launches kernel 1, the outer one kernel 2. An all-reduce with its
 * kernel; a send and a receive of one group, which share a kernel. */
static void put_cupti(made_recording *r) {
    recording_begin(r, 0);
    put_pair(r, PS_REC_INFO, 0, "backend", "cupti");
    put_named(r, PS_REC_DOMAIN, 1, "NCCL");
    put_text(r, 0, 1, "_Z4gemmv");
    put_text(r, 0, 2, "cudaLaunchKernel");
    put_text(r, 0, 3, "_Z38ncclDevKernel_AllReduce_Sum_f32_RING_LLPv");
    put_text(r, 0, 4, "ncclDevKernel_SendRecv(x)");
    put_thread(r, 1, 5, "main");
    put_text(r, 1, 1, "outer");
    put_text(r, 1, 2, "inner");
    put_text(r, 1, 3, "ncclAllReduce");
    put_text(r, 1, 4, "ncclSend");
    put_text(r, 1, 5, "ncclRecv");
    put_text(r, 1, 6, "{\"NCCL communicator ID\": 255, \"Message size [bytes]\": 4096}");
    put_text(r, 1, 7,
             "{\"NCCL communicator ID\": 255, \"Message size [bytes]\": 100, \"Peer\": 3}");
    put_text(r, 1, 8, "{\"NCCL communicator ID\": 255, \"No. of ranks\": 8, \"Rank\": 2}");
    put_text(r, 1, 9, "ncclCommInitRank");
    put_nvtx(r, 1900, 1, 9, 8);
    put_event(r, 1, PS_REC_RANGE_END, 1950, 1, 0, 0, 1);
    ps_slot none = {.text = 0};
    ps_slot begin = {.kind = PS_REC_OP_BEGIN, .ticks = 2000, .id = 2, .aux = 0, .text = 1};
    put_slot(r, 1, begin, &none, sizeof none);
    begin = (ps_slot){.kind = PS_REC_OP_BEGIN, .ticks = 2010, .id = 3, .aux = 0, .text = 2};
    put_slot(r, 1, begin, &none, sizeof none);
    put_event(r, 1, PS_REC_RANGE_END, 2030, 3, 0, 0, 0);
    put_event(r, 1, PS_REC_RANGE_END, 2060, 2, 0, 0, 0);
    put_nvtx(r, 2100, 4, 3, 6);
    put_event(r, 1, PS_REC_RANGE_END, 2120, 4, 0, 0, 1);
    put_nvtx(r, 2200, 5, 4, 7);
    put_event(r, 1, PS_REC_RANGE_END, 2205, 5, 0, 0, 1);
    put_nvtx(r, 2210, 6, 5, 7);
    put_event(r, 1, PS_REC_RANGE_END, 2215, 6, 0, 0, 1);
    put_api(r, 1, 2020, 2);
    put_api(r, 2, 2040, 2);
    put_api(r, 3, 2105, 2);
    put_api(r, 4, 2220, 2);
    put_kernel(r, 1, 3000, 1);
    put_kernel(r, 2, 3020, 1);
    put_kernel(r, 3, 3040, 3);
    put_kernel(r, 4, 3060, 4);
    ps_device_more copy = {.context = 1, .stream = 14, .bytes = 512, .what = 2};
    put_device(r, PS_REC_MEMCPY, 5, 3080, 3090, 0, copy);
}

static void test_cupti(void **state) {
    (void)state;
    made_recording r;
    put_cupti(&r);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(
        &p, TASKS,
        "3000,3010,0,1,0,4242,GPU_KERNEL,1,0,0,4294967295\n"
        "3020,3030,0,2,1,4242,GPU_KERNEL,1,0,1,4294967295\n"
        "3040,3050,0,4000000002,2,4242,MsTx,1,0,2,4294967295\n" /* the range around call 3 */
        "3040,3050,0,3,3,4242,GPU_KERNEL,1,0,3,4294967295\n"
        "3060,3070,0,4,4,4242,GPU_KERNEL,1,0,4,4294967295\n"
        "3080,3090,0,5,5,4242,MEMCPY_ASYNC,1,1,0,4294967295\n");
    /* Outer is operator 1342177280, inner the next. */
    expect_rows(&p, "SELECT * FROM CONNECTION_IDS", "1342177281,1\n1342177280,2\n");
    expect_rows(
        &p,
        "SELECT substr(value, 1, 4), globalTaskId, blockNum, gridDim, blockDim FROM COMPUTE_TASK_INFO "
        "JOIN STRING_IDS ON id = name",
        "gemm,0,64,64,256\ngemm,1,64,64,256\n");
    expect_rows(&p, "SELECT * FROM MEMCPY_INFO", "5,512,2\n");
    /* ff: 255 in hexadecimal. The send's 100 bytes and the receive's. */
    expect_rows(
        &p,
        "SELECT substr(n.value, 1, instr(n.value, '__') + 1), o.startNs - 1000000000000000000, connectionId, "
        "g.value, opId, dataType, count, t.value, rankSize FROM COMMUNICATION_OP o JOIN "
        "STRING_IDS n ON n.id = opName JOIN STRING_IDS g ON g.id = groupName JOIN "
        "STRING_IDS t ON t.id = opType",
        "ncclAllReduce__,3040,3,ff,1,7,4096,ncclAllReduce_,8\n"
        "ncclSend__,3060,4,ff,2,7,200,ncclSend_,8\n");
    expect_rows(&p,
                "SELECT globalTaskId, srcRank, dstRank, size, opId FROM COMMUNICATION_TASK_INFO",
                "3,2,4294967295,4096,1\n4,2,3,200,2\n");
    expect_rows(&p,
                "SELECT startNs - 1000000000000000000, type, globalTid, connectionId, value FROM "
                "CANN_API JOIN STRING_IDS ON id = name ORDER BY connectionId",
                "2020,5000,18219251269637,1,cudaLaunchKernel\n"
                "2040,5000,18219251269637,2,cudaLaunchKernel\n"
                "2105,5500,18219251269637,3,ncclAllReduce_\n"
                "2220,5500,18219251269637,4,ncclSend_\n");
    expect_rows(&p, "SELECT connectionId, payload FROM PIPESCOPE_NVTX LIMIT 2",
                "4000000001,{\"NCCL communicator ID\": 255, \"No. of ranks\": 8, \"Rank\": 2}\n"
                "4000000002,{\"NCCL communicator ID\": 255, \"Message size [bytes]\": 4096}\n");
    assert_int_equal(p.result.n_kernels, 4);
    remove_place(&p);
    recording_end(&r);
}

/* A range with its device side and the arrow between them; an operator likewise. */
static void test_trace_view(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 5, "main \"thread\"");
    put_text(&r, 1, 1, "forward");
    put_event(&r, 1, PS_REC_RANGE_START, 2000, 1, 1, 1, 0);
    put_event(&r, 1, PS_REC_RANGE_END, 3500, 1, 0, 0, 0);
    put_event(&r, 1, PS_REC_MARK, 4000, 2, 0, 1, 0);
    place p;
    make_place(&p);
    const ps_export_options options = {.text = true, .nvtx_push_pop_type = 2, .device_id = 1};
    export_to(&p, &r, &options);
    char path[SCRATCH_BYTES + 64];
    ps_buf text;
    ps_buf_init(&text, 0);
    (void)snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/trace_view.json", p.dir);
    assert_int_equal(ps_read_file(path, 1 << 20, &text, NULL), PS_OK);
    /* 4242 << 10 | 13 << 5 | 1 = 4344225 */
    assert_string_equal(
        ps_buf_str(&text),
        "[{\"ph\":\"M\",\"pid\":4242,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"Python\"}},\n"
        "{\"ph\":\"M\",\"pid\":4242,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":0}},\n"
        "{\"ph\":\"M\",\"pid\":4242,\"tid\":5,\"name\":\"thread_name\",\"args\":{\"name\":\"main "
        "\\\"thread\\\"\"}},\n"
        "{\"ph\":\"M\",\"pid\":4344225,\"tid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"Host as "
        "device 1\"}},\n"
        "{\"ph\":\"M\",\"pid\":4344225,\"tid\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":13}},\n"
        "{\"ph\":\"M\",\"pid\":4344225,\"tid\":0,\"name\":\"thread_name\",\"args\":{\"name\":\"Stream 0\"}},\n"
        "{\"ph\":\"X\",\"pid\":4242,\"tid\":5,\"cat\":\"mstx\",\"name\":\"forward\",\"ts\":\"1000000000000002."
        "000\",\"dur\":1.500,\"args\":{\"connection_id\":4000000001}},\n"
        "{\"ph\":\"s\",\"pid\":4242,\"tid\":5,\"cat\":\"MsTx\",\"name\":\"MsTx\",\"id\":4000000001,\"ts\":"
        "\"1000000000000002.000\"},\n"
        "{\"ph\":\"X\",\"pid\":4242,\"tid\":5,\"cat\":\"mstx\",\"name\":\"forward\",\"ts\":\"1000000000000004."
        "000\",\"dur\":0.000,\"args\":{\"connection_id\":4000000002}},\n"
        "{\"ph\":\"X\",\"pid\":4344225,\"tid\":0,\"cat\":\"mstx\",\"name\":\"forward\",\"ts\":"
        "\"1000000000000002.000\",\"dur\":1.500,\"args\":{\"connection_id\":4000000001}},\n"
        "{\"ph\":\"f\",\"pid\":4344225,\"tid\":0,\"cat\":\"MsTx\",\"name\":\"MsTx\",\"id\":4000000001,\"ts\":"
        "\"1000000000000002.000\",\"bp\":\"e\"}]\n");
    ps_buf_fini(&text);
    remove_place(&p);
    recording_end(&r);
}

static void put_shaped_op(made_recording *r, uint64_t id, uint64_t start, uint64_t end,
                          uint32_t name, uint32_t shapes) {
    ps_slot behind = {.text = shapes};
    ps_slot begin = {.kind = PS_REC_OP_BEGIN, .ticks = start, .id = id, .aux = 1, .text = name};
    put_slot(r, 1, begin, &behind, sizeof behind);
    put_event(r, 1, PS_REC_RANGE_END, end, id, 0, 0, PS_DOMAIN_ANY);
}

static void expect_file(const place *p, const char *name, const char *expected) {
    char path[SCRATCH_BYTES + 64];
    ps_buf text;
    ps_buf_init(&text, 0);
    (void)snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/%s", p->dir, name);
    assert_int_equal(ps_read_file(path, 1 << 20, &text, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
}

/* A step from 1 to 9 us: mm from 2 to 3, a receive from 2.5 to 5, add from 6 to 7; another mm behind it. */
static void test_csv_files(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 5, "main");
    put_named(&r, PS_REC_DOMAIN, 1, "communication");
    put_text(&r, 1, 1, "aten::mm");
    put_text(&r, 1, 2, "64,128;128,32");
    put_text(&r, 1, 3, "a, \"b\"");
    put_text(&r, 1, 4, "{\"opName\": \"HcclRecv\", \"groupName\": \"pp\"}");
    put_event(&r, 1, PS_REC_STEP_BEGIN, 1000, 7, 0, 0, 0);
    put_shaped_op(&r, 8, 2000, 3000, 1, 2);
    put_event(&r, 1, PS_REC_RANGE_START, 2500, 9, 1, 4, 1);
    put_event(&r, 1, PS_REC_RANGE_END, 5000, 9, 0, 0, 1);
    put_shaped_op(&r, 10, 6000, 7000, 3, 0);
    put_event(&r, 1, PS_REC_STEP_END, 9000, 7, 0, 0, 0);
    put_shaped_op(&r, 11, 10000, 10500, 1, 2);
    place p;
    make_place(&p);
    const ps_export_options options = {.text = true, .nvtx_push_pop_type = 2};
    export_to(&p, &r, &options);
    expect_file(
        &p, "kernel_details.csv",
        "Step Id,Model ID,Task ID,Stream ID,Name,Type,OP State,Accelerator Core,Start Time(us),"
        "Duration(us),Wait Time(us),Block Dim,Mix Block Dim,HF32 Eligible,Input Shapes,Input Data "
        "Types,Input Formats,Output Shapes,Output Data Types,Output Formats,Context ID\n"
        "7,N/A,0,0,aten::mm,aten::mm,N/A,HOST_OP,1000000000000002.000\t,1.000,0.000,N/A,N/A,N/A,"
        "\"\"\"64,128;128,32\"\"\",N/A,N/A,N/A,N/A,N/A,N/A\n"
        "7,N/A,2,0,\"a, \"\"b\"\"\",\"a, \"\"b\"\"\",N/A,HOST_OP,1000000000000006.000\t,1.000,3.000,"
        "N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A,N/A\n"
        ",N/A,3,0,aten::mm,aten::mm,N/A,HOST_OP,1000000000000010.000\t,0.500,3.000,N/A,N/A,N/A,"
        "\"\"\"64,128;128,32\"\"\",N/A,N/A,N/A,N/A,N/A,N/A\n");
    expect_file(&p, "op_statistic.csv",
                "OP Type,Core Type,Count,Total Time(us),Min Time(us),Avg Time(us),Max Time(us),"
                "Ratio(%)\naten::mm,HOST_OP,2,1.500,0.500,0.750,1.000,60.000\n"
                "\"a, \"\"b\"\"\",HOST_OP,1,1.000,1.000,1.000,1.000,40.000\n");
    expect_file(
        &p, "step_trace_time.csv",
        "Device_id,Step,Computing,Communication(Not Overlapped),Overlapped,Communication,Free,"
        "Stage,Bubble,Communication(Not Overlapped and Exclude Receive),Preparing\n"
        "0,7,2.000,2.000,0.500,2.500,1.000,2.500,2.500,0.000,1.000\n");
    remove_place(&p);
    recording_end(&r);
}

static void test_names(void **state) {
    (void)state;
    const char *const names[][3] = {/* with and without a library that reads them */
                                    {"gemm", "gemm", "gemm"},
                                    {"_Z4gemmPfi", "gemm(float*, int)", "gemm"},
                                    {"_Znonsense", "_Znonsense", "_Znonsense"},
                                    {"_Z99short", "_Z99short", "_Z99short"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        char out[64];
        size_t n = ps_demangle(names[i][0], out, sizeof out);
        assert_int_equal(n, strlen(out));
        assert_true(strcmp(out, names[i][1]) == 0 || strcmp(out, names[i][2]) == 0);
    }
    char small[4];
    assert_int_equal(ps_demangle("a long name", small, sizeof small), 3);
    assert_string_equal(small, "a l");
}

/* What the raw files of a killed process hold need not be what was written: metadata stays JSON whatever it is. */
static void test_damaged_metadata(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_thread(&r, 1, 5, "main");
    put_text(&r, 1, 1, "a");
    put_event(&r, 1, PS_REC_MARK, 2000, 1, 0, 1, 0);
    put_pair(&r, PS_REC_META, 0, "whole", "{\"a\": [1, 2]}");
    put_pair(&r, PS_REC_META, 0, "cut", "{\"a\": [1,");
    put_pair(&r, PS_REC_INFO, 0, "schedule", "{\"wait\": ");
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(
        &p,
        "SELECT name, value, json_valid(value) FROM META_DATA WHERE name IN ('whole', 'cut') "
        "ORDER BY name",
        "cut,\"{\\\"a\\\": [1,\",1\nwhole,{\"a\": [1, 2]},1\n");
    static const char *const FILES[] = {"profiler_metadata.json", "profiler_info.json",
                                        "profiler_info_0.json"};
    unsigned n_files = 0;
    for (unsigned i = 0; i < 3; i++) {
        char path[600];
        (void)snprintf(path, sizeof path, "%s/%s", p.dir, FILES[i]);
        ps_buf text;
        ps_buf_init(&text, 0);
        if (ps_read_file(path, 1 << 20, &text, NULL) == PS_OK) {
            sqlite3_stmt *s = NULL;
            assert_int_equal(sqlite3_prepare_v2(p.db, "SELECT json_valid(?)", -1, &s, NULL),
                             SQLITE_OK);
            (void)sqlite3_bind_text(s, 1, ps_buf_str(&text), -1, SQLITE_TRANSIENT);
            assert_int_equal(sqlite3_step(s), SQLITE_ROW);
            assert_int_equal(sqlite3_column_int(s, 0), 1);
            (void)sqlite3_finalize(s);
            n_files++;
        }
        ps_buf_fini(&text);
    }
    assert_int_equal(n_files, 2);
    remove_place(&p);
    recording_end(&r);
}

/* NVTX ranges have no stream: with CUPTI they lie on the device from the first start to the last end of what was launched inside
 * of them on their thread. Outer (2000 to 2090) launches 1 and 2 itself and 3 inside of inner (2040 to 2060); another thread
 * launches 4 meanwhile; a range that launches nothing has no row; one that overlaps outer (2030 to 2100) has 2, 3 and 5. */
static void test_projection(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_pair(&r, PS_REC_INFO, 0, "backend", "cupti");
    put_named(&r, PS_REC_DOMAIN, 1, "app");
    put_text(&r, 0, 1, "gemm");
    put_text(&r, 0, 2, "cudaLaunchKernel");
    put_thread(&r, 1, 5, "main");
    put_text(&r, 1, 1, "outer");
    put_text(&r, 1, 2, "inner");
    put_text(&r, 1, 3, "idle");
    put_text(&r, 1, 4, "across");
    put_nvtx(&r, 2000, 1, 1, 0);
    put_nvtx(&r, 2030, 4, 4, 0);
    put_nvtx(&r, 2040, 2, 2, 0);
    put_event(&r, 1, PS_REC_RANGE_END, 2060, 2, 0, 0, 1);
    put_nvtx(&r, 2070, 3, 3, 0);
    put_event(&r, 1, PS_REC_RANGE_END, 2075, 3, 0, 0, 1);
    put_event(&r, 1, PS_REC_RANGE_END, 2090, 1, 0, 0, 1);
    put_event(&r, 1, PS_REC_RANGE_END, 2100, 4, 0, 0, 1);
    put_api(&r, 1, 2010, 2);
    put_api(&r, 3, 2050, 2);
    put_api(&r, 2, 2080, 2);
    put_api(&r, 5, 2095, 2);
    ps_device_more other = {.thread = 6};
    put_device(&r, PS_REC_API, 4, 2055, 2056, 2, other);
    put_kernel(&r, 1, 3000, 1);
    put_kernel(&r, 2, 3100, 1);
    put_kernel(&r, 3, 3200, 1);
    put_kernel(&r, 4, 3300, 1);
    put_kernel(&r, 5, 3400, 1);
    put_device(&r, PS_REC_OVERHEAD, 0, 2500, 2530, 0, other);
    put_device(&r, PS_REC_SYNC, 6, 2600, 2700, 0, other);
    put_device(&r, PS_REC_SYNC, 7, 2800, 2801, 0, other);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(&p, "SELECT value FROM META_DATA WHERE name = 'collector.cupti'",
                "{\"overhead\": {\"count\": 1, \"ns\": 30}, \"synchronisation\": {\"count\": 2, "
                "\"ns\": 101}}\n");
    expect_rows(&p,
                "SELECT value, t.startNs - 1000000000000000000, t.endNs - 1000000000000000000 FROM "
                "TASK t JOIN MSTX_EVENTS m ON m.connectionId = t.connectionId JOIN STRING_IDS ON "
                "id = message ORDER BY m.startNs",
                "outer,3000,3210\nacross,3100,3410\ninner,3200,3210\n");
    remove_place(&p);
    recording_end(&r);
}

static void put_told(made_recording *r, uint64_t correlation, uint64_t number) {
    put_device(r, PS_REC_CORRELATE, correlation, 0, PS_RANGE_ON_DEVICE | number, 0,
               (ps_device_more){.device = 0});
}

/* What CUPTI was told counts, whatever the times of calls say. */
static void test_told(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_pair(&r, PS_REC_INFO, 0, "backend", "cupti");
    put_text(&r, 0, 1, "gemm");
    put_text(&r, 0, 2, "cudaLaunchKernel");
    put_thread(&r, 1, 5, "main");
    static const char *const names[] = {"outer", "inner", "elsewhere"};
    static const uint64_t times[][2] = {{2000, 2100}, {2040, 2060}, {2200, 2210}};
    for (uint32_t i = 0; i < 3; i++) {
        put_text(&r, 1, i + 1, names[i]);
        put_event(&r, 1, PS_REC_RANGE_START, times[i][0], PS_RANGE_ON_DEVICE | (i + 1), 0, i + 1,
                  0);
    }
    put_thread(&r, 2, 6, "other");
    for (uint32_t i = 0; i < 3; i++) {
        put_event(&r, i < 2 ? 1 : 2, PS_REC_RANGE_END, times[i][1], PS_RANGE_ON_DEVICE | (i + 1), 0,
                  0, 0);
    }
    put_api(&r, 1, 2050, 2); /* inside of inner by its time, told to be outer's own */
    put_kernel(&r, 1, 3000, 1);
    put_told(&r, 1, 1);
    put_api(&r, 2, 2105, 2); /* behind both by its time */
    put_kernel(&r, 2, 3100, 1);
    put_told(&r, 2, 2);
    put_kernel(&r, 3, 3200, 1); /* nothing is known of its call */
    put_told(&r, 3, 1);
    put_api(&r, 4, 2205, 2);
    put_kernel(&r, 4, 3300, 1);
    put_told(&r, 4, 3);
    put_api(&r, 5, 2300,
            2); /* the other thread had ended it, which this one's CUPTI did not know */
    put_kernel(&r, 5, 3400, 1);
    put_told(&r, 5, 3);
    put_api(&r, 6, 2055, 2); /* of an earlier recording's range: by time and thread */
    put_kernel(&r, 6, 3150, 1);
    put_told(&r, 6, 99);
    put_device(&r, PS_REC_GRAPH, 7, 3500, 3600, 0,
               (ps_device_more){.context = 1, .stream = 7, .what = 12});
    put_told(&r, 7, 1);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(&p,
                "SELECT value, t.startNs - 1000000000000000000, t.endNs - 1000000000000000000 FROM "
                "TASK t JOIN MSTX_EVENTS m ON m.connectionId = t.connectionId JOIN STRING_IDS ON "
                "id = message ORDER BY m.startNs",
                "outer,3000,3600\ninner,3100,3160\nelsewhere,3300,3310\n");
    expect_rows(
        &p,
        "SELECT n.value, y.value, t.connectionId, streamId, x.value FROM COMPUTE_TASK_INFO c JOIN TASK t "
        "USING (globalTaskId) JOIN STRING_IDS n ON n.id = c.name JOIN STRING_IDS y ON y.id "
        "= c.opType JOIN STRING_IDS x ON x.id = t.taskType WHERE n.value LIKE 'CUDA%'",
        "CUDA graph #12,CUDA graph #12,7,0,GPU_GRAPH\n");
    remove_place(&p);
    recording_end(&r);
}

/* Without CUPTI a call of NCCL can become a mark as the profiler of level none has them, on a stream of its communicator. */
static void test_nccl_marks(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_named(&r, PS_REC_DOMAIN, 1, "NCCL");
    put_text(&r, 1, 1, "ncclRecv");
    put_text(&r, 1, 2,
             "[{\"a\": 1}, {\"NCCL communicator ID\": 18446744073709551615, \"Message size "
             "[bytes]\": 100, \"Peer\": 3}]");
    put_text(&r, 1, 3, "{\"Message size [bytes]\": 5}"); /* an old release: of whom is not said */
    put_nvtx(&r, 1990, 2, 1, 3);
    put_event(&r, 1, PS_REC_RANGE_END, 1995, 2, 0, 0, 1);
    put_nvtx(&r, 2000, 1, 1, 2);
    put_event(&r, 1, PS_REC_RANGE_END, 2005, 1, 0, 0, 1);
    place p;
    make_place(&p);
    const ps_export_options options = {.nvtx_push_pop_type = 1, .nccl_marks = true, .device_id = 6};
    export_to(&p, &r, &options);
    expect_rows(
        &p,
        "SELECT eventType, m.value, d.value, connectionId FROM MSTX_EVENTS JOIN STRING_IDS m "
        "ON m.id = message JOIN STRING_IDS d ON d.id = domainId",
        "1,ncclRecv,NCCL,4000000001\n1,ncclRecv,NCCL,4000000002\n"
        "1,{\"opName\": \"ncclRecv\", \"groupName\": \"ffffffffffffffff\", \"count\": "
        "\"100\", \"dataType\": \"uint8\", \"streamId\": \"1\", \"srcRank\": \"3\"},"
        "communication,4000000003\n");
    expect_rows(&p, TASKS, "2000,2005,6,4000000003,0,4242,MsTx,4294967295,1,0,4294967295\n");
    expect_rows(&p, "SELECT value FROM META_DATA WHERE name = 'collector.comm_time_source'",
                "host_enqueue\n");
    remove_place(&p);
    recording_end(&r);
}

/* What PyTorch's emit_nvtx pushes: operators with their sequence numbers; the gradient's is paired with the first. */
static void test_emitted(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, 0);
    put_text(&r, 1, 1, "aten::linear, seq = 7, op_id = 1, sizes = [[64, 128], [], [32]]");
    put_text(&r, 1, 2, "aten::addmm, seq = 7, op_id = 2");
    put_text(&r, 1, 3, "AddmmBackward0, seq = 7");
    put_text(&r, 1, 4, "a, b");
    uint64_t ticks = 2000;
    for (uint32_t text = 1; text <= 4; text++) {
        put_nvtx(&r, ticks++, text, text, 0);
        put_event(&r, 1, PS_REC_RANGE_END, ticks++, text, 0, 0, PS_DOMAIN_ANY);
    }
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(
        &p,
        "SELECT n.value, sequenceNumber, s.value FROM PYTORCH_API JOIN STRING_IDS n ON n.id = "
        "name LEFT JOIN STRING_IDS s ON s.id = inputShapes",
        "aten::linear,7,64,128;;32\naten::addmm,7,NULL\nAddmmBackward0,7,NULL\n");
    expect_rows(&p, "SELECT id, connectionId - (1 << 43) FROM CONNECTION_IDS",
                "1342177280,7\n1342177282,7\n");
    expect_rows(&p, "SELECT count(*) FROM MSTX_EVENTS", "4\n");
    remove_place(&p);
    recording_end(&r);
}

static void test_facts(void **state) {
    (void)state;
    made_recording r;
    recording_begin(&r, -1);
    put_pair(&r, PS_REC_META, 0, "distributed_args", "{\"pipeline_model_parallel_size\": 2}");
    put_pair(
        &r, PS_REC_INFO, 0, "session",
        "{\"host\": \"node7\", \"launch\": \"L\", \"level\": 1, \"config\": {\"rank\": \"3\"}}");
    put_pair(&r, PS_REC_INFO, 0, "clock", "{\"ptp\": false}");
    put_thread(&r, 1, 5, "main");
    put_event(&r, 1, PS_REC_MARK, 2000, 1, 0, 0, 0);
    put_event(&r, 1, PS_REC_RANGE_END, 2001, 77, 0, 0, 0);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    assert_true(
        ps_ends_with(p.result.database, "ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler.db"));
    expect_rows(&p,
                "SELECT * FROM META_DATA WHERE name NOT LIKE 'collector.%' AND name != 'trace_id'",
                "SCHEMA_VERSION_MAJOR,1\nSCHEMA_VERSION_MINOR,2\nSCHEMA_VERSION_MICRO,0\n"
                "SCHEMA_VERSION,1.2.0\ndistributed_args,{\"pipeline_model_parallel_size\": 2}\n");
    expect_rows(&p,
                "SELECT value FROM META_DATA WHERE name IN ('collector.drops', 'collector.clock') "
                "ORDER BY name",
                "{\"ptp\": false}\n{\"unknown_range\": 1}\n");
    expect_rows(&p, "SELECT * FROM PIPESCOPE_DROPS", "0,unknown_range,1\n");
    expect_rows(&p, "SELECT * FROM PIPESCOPE_CLOCK_ANCHOR",
                "host,-1,1000000000000001000,1000,25\n");
    expect_rows(&p, "SELECT hostName FROM HOST_INFO", "node7\n");
    expect_rows(&p, "SELECT * FROM RANK_DEVICE_MAP", "-1,0\n");
    expect_rows(&p, "SELECT endTimeNs FROM SESSION_TIME_INFO", "NULL\n"); /* it died */
    char path[SCRATCH_BYTES + 64];
    ps_buf text;
    ps_buf_init(&text, 0);
    (void)snprintf(path, sizeof path, "%s/profiler_info.json", p.dir);
    assert_int_equal(ps_read_file(path, 1 << 20, &text, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&text), "\"_profiler_level\": \"Level1\""));
    assert_non_null(strstr(ps_buf_str(&text), "\"launch\": \"L\""));
    assert_null(strstr(ps_buf_str(&text), "end_info"));
    ps_buf_fini(&text);
    remove_place(&p);
    recording_end(&r);
}

static void read_whole(const char *path, ps_buf *out) {
    ps_buf_init(out, 0);
    assert_int_equal(ps_read_file(path, 1 << 24, out, NULL), PS_OK);
}

/* The same input gives the same bytes. */
static void test_same_bytes(void **state) {
    (void)state;
    ps_buf files[2];
    for (int i = 0; i < 2; i++) {
        made_recording r;
        put_cupti(&r);
        place p;
        make_place(&p);
        export_to(&p, &r, NULL);
        read_whole(p.result.database, &files[i]);
        remove_place(&p);
        recording_end(&r);
    }
    assert_int_equal(files[0].len, files[1].len);
    assert_memory_equal(files[0].data, files[1].data, files[0].len);
    ps_buf_fini(&files[0]);
    ps_buf_fini(&files[1]);
}

static void expect_no_database(const place *p) {
    char command[SCRATCH_BYTES + 128];
    (void)snprintf(command, sizeof command,
                   "test -z \"$(find '%s' -name '*.db*' -o -name '*.json*')\"", p->dir);
    assert_int_equal(system(command), 0);
}

/* Nothing half-made is left, whatever fails; nothing recorded is no database. */
static void test_failures(void **state) {
    (void)state;
    made_recording r;
    put_cupti(&r);
    spool_all(&r);
    ps_capture *c = NULL;
    assert_int_equal(ps_capture_read_memory(r.spool, r.spool_bytes, &c, NULL), PS_OK);
    place p;
    make_place(&p);
    const ps_export_options options = {.nvtx_push_pop_type = 2, .text = true, .nccl_marks = true};
    for (int64_t i = 0;; i++) {
        (void)ps_alloc_fail_at(i);
        ps_code code = ps_export_capture(c, p.dir, &options, &p.result, NULL);
        int64_t made = ps_alloc_fail_at(-1);
        if (made <= i) {
            assert_int_equal(code, PS_OK);
            break;
        }
        if (code != PS_OK) { /* some failures are made up for */
            assert_int_equal(code, PS_NOMEM);
            expect_no_database(&p);
        }
        i += i < 40 ? 0 : i / 8;
    }
    ps_err err = PS_ERR_INIT;
    assert_int_not_equal(ps_export_capture(c, "/nowhere/at/all", NULL, &p.result, &err), PS_OK);
    assert_non_null(strstr(err.file, "/nowhere/at/all"));
    char output[SCRATCH_BYTES + 64];
    char elsewhere[SCRATCH_BYTES];
    remove_place(&p);
    make_place(&p);
    (void)snprintf(output, sizeof output, "%s/ASCEND_PROFILER_OUTPUT", p.dir);
    scratch_make(elsewhere, sizeof elsewhere); /* a link is not followed */
    assert_int_equal(symlink(elsewhere, output), 0);
    assert_int_equal(ps_export_capture(c, p.dir, NULL, &p.result, &err), PS_IO);
    assert_int_equal(rmdir(elsewhere), 0);
    ps_capture_free(c);
    recording_end(&r);
    remove_place(&p);

    recording_begin(&r, 0);
    spool_all(&r);
    assert_int_equal(ps_capture_read_memory(r.spool, r.spool_bytes, &c, NULL), PS_OK);
    make_place(&p);
    assert_int_equal(ps_export_capture(c, p.dir, NULL, &p.result, NULL), PS_NOTHING);
    expect_no_database(&p);
    ps_capture_free(c);
    recording_end(&r);
    remove_place(&p);
}

/* The tables of the specification, in schema 1.2.0. */
static void test_schema(void **state) {
    (void)state;
    made_recording r;
    put_cupti(&r);
    place p;
    make_place(&p);
    export_to(&p, &r, NULL);
    expect_rows(
        &p,
        "SELECT name || '(' || (SELECT group_concat(name, ' ') FROM pragma_table_info(m.name)) "
        "|| ')' FROM sqlite_master m WHERE type = 'table' AND name NOT LIKE 'ENUM%' ORDER BY "
        "name",
        "CANN_API(startNs endNs type globalTid connectionId name)\n"
        "COMMUNICATION_OP(opName startNs endNs connectionId groupName opId relay retry "
        "dataType algType count opType deviceId rankSize)\n"
        "COMMUNICATION_TASK_INFO(name globalTaskId taskType planeId groupName notifyId "
        "rdmaType srcRank dstRank transportType size dataType linkType opId isMaster "
        "bandwidth)\n"
        "COMPUTE_TASK_INFO(name globalTaskId blockNum mixBlockNum taskType opType "
        "inputFormats inputDataTypes inputShapes outputFormats outputDataTypes outputShapes "
        "attrInfo opState hf32Eligible gridDim blockDim)\n"
        "CONNECTION_IDS(id connectionId)\n"
        "HOST_INFO(hostUid hostName)\n"
        "MEMCPY_INFO(globalTaskId size memcpyOperation)\n"
        "META_DATA(name value)\n"
        "MSTX_EVENTS(startNs endNs eventType rangeId category message globalTid endGlobalTid "
        "domainId connectionId)\n"
        "NPU_INFO(id name)\n"
        "PIPESCOPE_CLOCK_ANCHOR(kind deviceId hostNs otherNs uncertaintyNs)\n"
        "PIPESCOPE_DROPS(threadId kind count)\n"
        "PIPESCOPE_NVTX(connectionId form color payload)\n"
        "PIPESCOPE_OPEN_RANGES(connectionId startNs message domainId globalTid)\n"
        "PYTORCH_API(startNs endNs globalTid connectionId name sequenceNumber fwdThreadId "
        "inputDtypes inputShapes callchainId type)\n"
        "RANK_DEVICE_MAP(rankId deviceId)\n"
        "SESSION_TIME_INFO(startTimeNs endTimeNs)\n"
        "STEP_TIME(id startNs endNs)\n"
        "STRING_IDS(id value)\n"
        "TASK(startNs endNs deviceId connectionId globalTaskId globalPid taskType contextId "
        "streamId taskId modelId)\n");
    expect_rows(&p, "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name",
                "CommunicationTaskIndex\nMstxConnectionIndex\nTaskConnectionIndex\nTaskIndex\n");
    expect_rows(
        &p,
        "SELECT (SELECT count(*) FROM ENUM_API_TYPE), (SELECT name FROM ENUM_API_TYPE WHERE "
        "id = 5500), (SELECT group_concat(name, ' ') FROM ENUM_MSTX_EVENT_TYPE), (SELECT "
        "count(*) FROM ENUM_HCCL_DATA_TYPE), (SELECT count(*) FROM ENUM_MEMCPY_OPERATION)",
        "9,communication,marker push/pop start/end marker_ex,16,9\n");
    expect_rows(&p, "PRAGMA integrity_check", "ok\n");
    remove_place(&p);
    recording_end(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_marks),         cmocka_unit_test(test_operators),
        cmocka_unit_test(test_device_ranges), cmocka_unit_test(test_device_steps),
        cmocka_unit_test(test_cupti),         cmocka_unit_test(test_projection),
        cmocka_unit_test(test_told),          cmocka_unit_test(test_damaged_metadata),
        cmocka_unit_test(test_trace_view),    cmocka_unit_test(test_names),
        cmocka_unit_test(test_csv_files),     cmocka_unit_test(test_nccl_marks),
        cmocka_unit_test(test_emitted),       cmocka_unit_test(test_facts),
        cmocka_unit_test(test_same_bytes),    cmocka_unit_test(test_failures),
        cmocka_unit_test(test_schema)};
    return cmocka_run_group_tests_name("record_database", tests, NULL, NULL);
}

/* Reading exports of Nsight Systems: three releases of the layout, links, parts,
 * names, counters, and everything odd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "read/readers.h"
#include "support/nsight.h"
#include "support/sanitized.h"

extern const ps_reader ps_reader_nsight;

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS |             \
     PS_NEED_TABLES)

/* --- looking ----------------------------------------------------------------
 */

static ps_trace *read_part(const nsight *n, int64_t part, uint32_t needs) {
    ps_src src = {.path = n->path, .reader = &ps_reader_nsight, .part = part};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, needs, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    return t;
}

static ps_trace *read_all(const nsight *n) {
    return read_part(n, 0, EVERYTHING);
}

static void add_arg(const ps_trace *t, const ps_arg *a, ps_buf *out) {
    ps_buf_addf(out, " %s=", ps_trace_text(t, a->key));
    if (a->type == PS_ARG_INT) {
        ps_buf_addf(out, "%lld", (long long)a->u.i);
    } else if (a->type == PS_ARG_REAL) {
        ps_buf_addf(out, "%g", a->u.r);
    } else {
        ps_buf_addf(out, a->type == PS_ARG_STR ? "'%s'" : "%s", ps_trace_text(t, a->u.s));
    }
}

static void add_track(const ps_trace *t, uint32_t track, ps_buf *out) {
    size_t n = 0;
    const ps_track *tr = &ps_trace_tracks(t, &n)[track];
    ps_buf_addf(out, "%lld/%lld", (long long)tr->pid, (long long)tr->tid);
    if (tr->device >= 0) {
        ps_buf_addf(out, "@%lld", (long long)tr->device);
    }
    if (!ps_str_is_none(tr->name)) {
        ps_buf_addf(out, "(%s)", ps_trace_text(t, tr->name));
    }
}

/* kind pid/tid@device start+duration name [category] arguments */
static void add_slice(const ps_trace *t, uint32_t i, bool with_args, ps_buf *out) {
    const ps_slices *s = ps_trace_slices(t);
    ps_buf_addf(out, "%s ", ps_slice_kind_name((ps_slice_kind)s->kind[i]));
    add_track(t, s->track[i], out);
    int64_t start = s->start_ns[i] + ps_trace_origin_ns(t);
    start -= start >= NSIGHT_EPOCH_NS / 2 ? NSIGHT_EPOCH_NS : 0;
    ps_buf_addf(out, " %lld+%lld %s", (long long)start, (long long)s->dur_ns[i],
                ps_trace_text(t, s->name[i]));
    if (!ps_str_is_none(s->category[i])) {
        ps_buf_addf(out, " [%s]", ps_trace_text(t, s->category[i]));
    }
    ps_arg_iter iter = ps_trace_args(t, i);
    for (ps_arg a; with_args && ps_arg_next(&iter, &a);) {
        add_arg(t, &a, out);
    }
    ps_buf_add_char(out, '\n');
}

static void expect_text(const ps_buf *out, const char *expected) {
    assert_true(ps_buf_ok(out));
    assert_string_equal(ps_buf_str(out), expected);
}

static void expect_slices(const ps_trace *t, bool with_args, const char *expected) {
    ps_buf out;
    ps_buf_init(&out, 0);
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        add_slice(t, i, with_args, &out);
    }
    expect_text(&out, expected);
    ps_buf_fini(&out);
}

/* from name at start -kind-> to name at start */
static void expect_flows(const ps_trace *t, const char *expected) {
    ps_buf out;
    ps_buf_init(&out, 0);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    const ps_slices *s = ps_trace_slices(t);
    for (size_t i = 0; i < n; i++) {
        add_track(t, s->track[flows[i].from], &out);
        ps_buf_addf(&out, " %s -%s-> ", ps_trace_text(t, s->name[flows[i].from]),
                    ps_trace_text(t, flows[i].kind));
        add_track(t, s->track[flows[i].to], &out);
        ps_buf_addf(&out, " %s\n", ps_trace_text(t, s->name[flows[i].to]));
    }
    expect_text(&out, expected);
    ps_buf_fini(&out);
}

/* "name count, ..." of the oddities that were counted. */
static void expect_odd(const ps_trace *t, const char *expected) {
    ps_buf out;
    ps_buf_init(&out, 0);
    for (int k = 0; k < PS_N_ODDITIES; k++) {
        uint64_t count = ps_trace_diag(t)->counts[k];
        if (count > 0) {
            ps_buf_addf(&out, "%s%s %llu", out.len > 0 ? ", " : "", ps_oddity_name((ps_oddity)k),
                        (unsigned long long)count);
        }
    }
    expect_text(&out, expected);
    ps_buf_fini(&out);
}

static size_t count_kind(const ps_trace *t, ps_slice_kind kind) {
    size_t n = 0;
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        n += ps_trace_slices(t)->kind[i] == kind;
    }
    return n;
}

static const char *label_of(const ps_trace *t, int64_t tid, ps_track_kind kind) {
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n);
    for (size_t i = 0; i < n; i++) {
        if (tracks[i].tid == tid && tracks[i].kind == kind) {
            return ps_trace_text(t, tracks[i].label);
        }
    }
    fail_msg("no track %lld", (long long)tid);
    return "";
}

/* --- the three releases -----------------------------------------------------
 */

/* One process with a bit of everything. */
static void fill(nsight *n) {
    int64_t main_thread = nsight_tid(1, 100, 100);
    int64_t other = nsight_tid(1, 100, 101);
    nsight_range(n, NVTX_PUSH_POP, main_thread, 1000, 2000, "forward");
    nsight_range(n, NVTX_PUSH_POP, main_thread, 1100, 1500, "layer 0");
    nsight_range(n, NVTX_START_END, other, 1200, 1900, "transfer");
    nsight_insert(n, "NVTX_EVENTS", "start, eventType, globalTid, text", "1950, 34, %lld, 'here'",
                  (long long)main_thread);
    nsight_launch(n, main_thread, 0, 7, 1110, 1190, 11, "gemm");
    nsight_launch(n, main_thread, 0, 7, 1510, 1590, 12, "ncclDevKernel_AllReduce(x)");
    nsight_call(n, main_thread, 1600, 1650, 13, "cuMemcpyHtoDAsync_v2");
    nsight_copy(n, main_thread, 0, 8, 1620, 1700, 13, 1, 4096);
    nsight_call(n, main_thread, 1700, 1710, 14, "cudaMemsetAsync_v3020");
    nsight_insert(n, "CUPTI_ACTIVITY_KIND_MEMSET",
                  "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, value, "
                  "bytes, memKind",
                  "1705, 1720, 0, 1, 8, 14, %lld, 0, 64, 2", (long long)nsight_tid(1, 100, 0));
    nsight_call(n, main_thread, 1800, 1900, 15, "cudaStreamSynchronize_v3020");
    nsight_insert(n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                  "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, "
                  "syncType, eventId",
                  "1801, 1899, 0, 1, 7, 15, %lld, 3, 0", (long long)nsight_tid(1, 100, 0));
    static const char *const LIBRARIES[] = {"OSRT_API", "CUDNN_EVENTS", "CUBLAS_EVENTS"};
    static const char *const CALLS[] = {"pthread_cond_wait", "cudnnConvolutionForward",
                                        "cublasGemmEx"};
    for (int i = 0; i < 3; i++) {
        nsight_insert(n, LIBRARIES[i], "start, \"end\", globalTid, nameId", "%d, %d, %lld, %lld",
                      2100 + 100 * i, 2150 + 100 * i, (long long)other,
                      (long long)nsight_string(n, CALLS[i]));
    }
}

static const char FILLED[] =
    "mark 100/100 1000+1000 forward\n"
    "mark 100/100 1100+400 layer 0\n"
    "kernel 100/7@0 1110+80 gemm [kernel]\n"
    "call 100/100 1110+10 cudaLaunchKernel_v7000 [cuda_runtime]\n"
    "mark 100/101 1200+700 transfer\n"
    "communication-kernel 100/7@0 1510+80 ncclDevKernel_AllReduce(x) [kernel]\n"
    "call 100/100 1510+10 cudaLaunchKernel_v7000 [cuda_runtime]\n"
    "call 100/100 1600+50 cuMemcpyHtoDAsync_v2 [cuda_driver]\n"
    "copy 100/8@0 1620+80 Memcpy HtoD [gpu_memcpy]\n"
    "call 100/100 1700+10 cudaMemsetAsync_v3020 [cuda_runtime]\n"
    "copy 100/8@0 1705+15 Memset [gpu_memset]\n"
    "call 100/100 1800+100 cudaStreamSynchronize_v3020 [cuda_runtime]\n"
    "synchronisation 100/7@0(sync) 1801+98 Stream Sync [cuda_sync]\n"
    "instant 100/100 1950+0 here\n"
    "call 100/101 2100+50 pthread_cond_wait [osrt]\n"
    "call 100/101 2200+50 cudnnConvolutionForward [cudnn]\n"
    "call 100/101 2300+50 cublasGemmEx [cublas]\n";

static void every_release_reads_alike(void **state) {
    const place *where = *state;
    for (nsight_release r = NSIGHT_2021; r <= NSIGHT_2026; r++) {
        nsight n;
        char name[32];
        (void)snprintf(name, sizeof name, "report%d.sqlite", (int)r);
        nsight_begin(&n, where, name, r);
        fill(&n);
        nsight_close(&n);
        ps_trace *t = read_all(&n);
        expect_slices(t, false, FILLED);
        expect_flows(t, "100/100 cudaLaunchKernel_v7000 -ac2g-> 100/7@0 gemm\n"
                        "100/100 cudaLaunchKernel_v7000 -ac2g-> 100/7@0 "
                        "ncclDevKernel_AllReduce(x)\n"
                        "100/100 cuMemcpyHtoDAsync_v2 -ac2g-> 100/8@0 Memcpy HtoD\n"
                        "100/100 cudaMemsetAsync_v3020 -ac2g-> 100/8@0 Memset\n");
        expect_odd(t, "");
        assert_true(ps_trace_origin_ns(t) == NSIGHT_EPOCH_NS + 1000);
        assert_true((ps_trace_has(t) & PS_HAS_MARKS) != 0);
        ps_trace_free(t);
    }
}

static void arguments_of_device_work(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2026);
    fill(&n);
    nsight_sql(&n,
               "UPDATE CUPTI_ACTIVITY_KIND_KERNEL SET greenContextId = 5, graphId = 6, clusterX "
               "= 2, clusterY = 1, clusterZ = 1, staticSharedMemory = 16, graphNodeId = 77 "
               "WHERE correlationId = 12");
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    ps_buf out;
    ps_buf_init(&out, 0);
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        if (ps_trace_slices(t)->kind[i] >= PS_SLICE_KERNEL) {
            add_slice(t, i, true, &out);
        }
    }
    expect_text(&out,
                "kernel 100/7@0 1110+80 gemm [kernel] correlation=11 context=1 registers per "
                "thread=40 grid=[2, 3, 4] block=[32, 1, 1] short name='gemm' range='layer 0'\n"
                "communication-kernel 100/7@0 1510+80 ncclDevKernel_AllReduce(x) [kernel] "
                "correlation=12 context=1 green context=5 registers per thread=40 static shared "
                "memory=16 graph node=77 graph=6 grid=[2, 3, 4] block=[32, 1, 1] cluster=[2, 1, 1] "
                "short name='ncclDevKernel_AllReduce(x)' range='forward'\n"
                "copy 100/8@0 1620+80 Memcpy HtoD [gpu_memcpy] correlation=13 bytes=4096 "
                "context=1 source memory='pageable' target memory='device' range='forward'\n"
                "copy 100/8@0 1705+15 Memset [gpu_memset] correlation=14 value=0 bytes=64 "
                "context=1 memory='device' range='forward'\n"
                "synchronisation 100/7@0(sync) 1801+98 Stream Sync [cuda_sync] correlation=15 "
                "context=1\n");
    ps_buf_fini(&out);
    ps_trace_free(t);
}

/* Only what is asked for. */
static void needs_are_respected(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    fill(&n);
    nsight_memory(&n, nsight_tid(1, 100, 0), 0, 1500, 4096, 10, 2, false);
    nsight_close(&n);
    size_t n_flows = 0;
    ps_trace *t = read_part(&n, 0, PS_NEED_MARKS);
    expect_slices(t, true,
                  "mark 100/100 1000+1000 forward\n"
                  "mark 100/100 1100+400 layer 0\n"
                  "mark 100/101 1200+700 transfer\n");
    assert_int_equal(ps_trace_counters(t)->n, 0);
    ps_trace_free(t);
    t = read_part(&n, 0, PS_NEED_SLICES);
    expect_slices(t, true, FILLED); /* no argument anywhere */
    (void)ps_trace_flows(t, &n_flows);
    assert_int_equal(n_flows, 0);
    ps_trace_free(t);
    t = read_part(&n, 0, PS_NEED_COUNTERS);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    assert_int_equal(ps_trace_counters(t)->n, 1);
    ps_trace_free(t);
    t = read_part(&n, 0, PS_NEED_META);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    assert_string_equal(ps_trace_meta(t, "EXPORT_SCHEMA_VERSION"), "3.16.1");
    ps_trace_free(t);
}

/* --- processes --------------------------------------------------------------
 */

/* Two ranks on two GPUs that both call theirs 0, with equal correlation ids and
 * negative thread ids. */
static void fill_two(nsight *n) {
    for (int rank = 0; rank < 2; rank++) {
        int pid = 4000 - rank; /* the other way round than the GPUs */
        int64_t tid = nsight_tid(0xFE, pid, pid);
        assert_true(tid < 0);
        nsight_range(n, NVTX_PUSH_POP, tid, 100, 200, rank == 0 ? "step of 0" : "step of 1");
        nsight_launch(n, tid, 0, 7, 110 + rank, 150, 1, rank == 0 ? "kernel of 0" : "kernel of 1");
        nsight_insert(n, "TARGET_INFO_CUDA_DEVICE", "gpuId, cudaId, pid", "%d, 0, %d", rank, pid);
        nsight_insert(n, "PROCESSES", "globalPid, pid, name", "%lld, %d, 'python %d'",
                      (long long)nsight_tid(0xFE, pid, 0), pid, rank);
    }
    nsight_insert(n, "TARGET_INFO_SYSTEM_ENV", "globalVid, devStateName, name, nameEnum, value",
                  "%lld, 'Target Environment', 'Hostname', 1, 'node7'",
                  (long long)nsight_tid(0xFE, 0, 0));
    /* One that only registered a domain, as data loaders do. */
    nsight_insert(n, "NVTX_EVENTS", "start, eventType, globalTid, text, domainId",
                  "90, 75, %lld, 'CCCL', 1", (long long)nsight_tid(0xFE, 4100, 4100));
    nsight_insert(n, "PROCESSES", "globalPid, pid, name", "%lld, 4100, 'loader'",
                  (long long)nsight_tid(0xFE, 4100, 0));
}

static void two_processes_are_two_parts(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    fill_two(&n);
    nsight_close(&n);
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n_parts = 0;
    assert_int_equal(ps_reader_nsight.parts(n.path, &arena, &parts, &n_parts, NULL), PS_OK);
    assert_int_equal(n_parts, 2);
    for (int rank = 0; rank < 2; rank++) {
        assert_int_equal(parts[rank].rank, rank);
        assert_string_equal(parts[rank].host, "node7");
        assert_true(parts[rank].id == nsight_tid(0xFE, 4000 - rank, 0));
    }
    ps_trace *t = read_part(&n, parts[1].id, EVERYTHING);
    expect_slices(t, false,
                  "mark 3999/3999 100+100 step of 1\n"
                  "kernel 3999/7@1 111+39 kernel of 1 [kernel]\n"
                  "call 3999/3999 111+10 cudaLaunchKernel_v7000 [cuda_runtime]\n");
    expect_flows(t, "3999/3999 cudaLaunchKernel_v7000 -ac2g-> 3999/7@1 kernel of 1\n");
    size_t n_processes = 0;
    (void)ps_trace_processes(t, &n_processes);
    assert_int_equal(n_processes, 1);
    assert_string_equal(ps_trace_text(t, ps_trace_process(t, 3999)->name), "python 1");
    ps_trace_free(t);
    t = read_all(&n);
    expect_flows(t, "4000/4000 cudaLaunchKernel_v7000 -ac2g-> 4000/7@0 kernel of 0\n"
                    "3999/3999 cudaLaunchKernel_v7000 -ac2g-> 3999/7@1 kernel of 1\n");
    (void)ps_trace_processes(t, &n_processes);
    assert_int_equal(n_processes, 2); /* the loader has no track */
    expect_odd(t, "");
    ps_trace_free(t);
    ps_arena_fini(&arena);
}

/* Ranks stay unknown when processes share a GPU, use several, or are alone. */
static void ranks_are_not_guessed(void **state) {
    const place *where = *state;
    static const int DEVICES[3][2][2] = {{{0, 0}, {0, 0}}, {{0, 1}, {2, 2}}, {{0, 0}, {-1, -1}}};
    for (int k = 0; k < 3; k++) {
        nsight n;
        nsight_begin(&n, where, k == 0 ? "a" : k == 1 ? "b" : "c", NSIGHT_2024);
        for (int p = 0; p < 2; p++) {
            for (int i = 0; i < 2 && DEVICES[k][p][i] >= 0; i++) {
                nsight_launch(&n, nsight_tid(0, 10 + p, 10), DEVICES[k][p][i], 7, 100, 110, 1 + i,
                              "k");
            }
        }
        nsight_close(&n);
        ps_arena arena;
        ps_arena_init(&arena);
        ps_part *parts = NULL;
        size_t n_parts = 0;
        assert_int_equal(ps_reader_nsight.parts(n.path, &arena, &parts, &n_parts, NULL), PS_OK);
        assert_int_equal(n_parts, k == 2 ? 1 : 2);
        for (size_t i = 0; i < n_parts; i++) {
            assert_int_equal(parts[i].rank, -1);
            assert_string_equal(parts[i].host, "");
            assert_true(parts[i].id != 0);
        }
        ps_arena_fini(&arena);
    }
}

/* Containers or machines of one report may have equal pids. */
static void equal_pids_of_two_machines_stay_apart(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    nsight_launch(&n, nsight_tid(1, 10, 10), 0, 7, 100, 110, 1, "a");
    nsight_launch(&n, nsight_tid(2, 10, 10), 0, 7, 105, 115, 1, "b");
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_slices(t, false,
                  "call 10/10 100+10 cudaLaunchKernel_v7000 [cuda_runtime]\n"
                  "kernel 10/7@0 100+10 a [kernel]\n"
                  "call 33554442/10 105+10 cudaLaunchKernel_v7000 [cuda_runtime]\n"
                  "kernel 33554442/7@0 105+10 b [kernel]\n");
    ps_trace_free(t);
    t = read_part(&n, nsight_tid(2, 10, 0), EVERYTHING);
    assert_int_equal(ps_trace_slices(t)->n, 2);
    expect_flows(t, "33554442/10 cudaLaunchKernel_v7000 -ac2g-> 33554442/7@0 b\n");
    ps_trace_free(t);
}

/* The earliest exports do not say whose a kernel is. */
static void without_global_pid_the_only_process_counts(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2021);
    nsight_launch(&n, nsight_tid(1, 10, 10), 0, 7, 100, 110, 1, "k");
    nsight_sql(&n, "CREATE TABLE x AS SELECT start, \"end\", deviceId, streamId, correlationId, "
                   "demangledName FROM CUPTI_ACTIVITY_KIND_KERNEL; DROP TABLE "
                   "CUPTI_ACTIVITY_KIND_KERNEL; ALTER TABLE x RENAME TO "
                   "CUPTI_ACTIVITY_KIND_KERNEL");
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_flows(t, "10/10 cudaLaunchKernel_v7000 -ac2g-> 10/7@0 k\n");
    ps_trace_free(t);
}

/* A file that names no process at all is one part. */
static void a_file_without_processes_is_one_part(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2021);
    nsight_kernel(&n, 0, 0, 7, 100, 110, 0, "k");
    nsight_close(&n);
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n_parts = 0;
    assert_int_equal(ps_reader_nsight.parts(n.path, &arena, &parts, &n_parts, NULL), PS_OK);
    assert_int_equal(n_parts, 1);
    assert_true(parts[0].id == 0 && parts[0].rank == -1);
    ps_trace *t = read_part(&n, parts[0].id, EVERYTHING);
    assert_int_equal(ps_trace_slices(t)->n, 1);
    ps_trace_free(t);
    ps_arena_fini(&arena);
}

/* --- names ------------------------------------------------------------------
 */

static void names_of_threads_processes_and_streams(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    int64_t a = nsight_tid(1, 10, 10);
    int64_t b = nsight_tid(1, 10, 11);
    nsight_launch(&n, a, 0, 7, 100, 110, 1, "k");
    nsight_launch(&n, a, 0, 8, 100, 110, 2, "k");
    nsight_launch(&n, b, 0, 9, 200, 210, 3, "k");
    nsight_insert(&n, "ThreadNames", "nameId, globalTid", "%lld, %lld",
                  (long long)nsight_string(&n, "python"), (long long)a);
    nsight_insert(&n, "ThreadNames", "nameId, globalTid", "%lld, %lld",
                  (long long)nsight_string(&n, "pt_autograd_0"), (long long)b);
    nsight_insert(&n, "ThreadNames", "nameId, globalTid", "%lld, %lld",
                  (long long)nsight_string(&n, "idle"), (long long)nsight_tid(1, 10, 12));
    nsight_insert(&n, "NVTX_EVENTS", "start, eventType, globalTid, text", "0, 39, %lld, 'main'",
                  (long long)a);
    nsight_insert(&n, "TARGET_INFO_CUDA_STREAM", "streamId, processId, contextId, priority, flag",
                  "7, 10, 1, -5, 0");
    nsight_insert(&n, "TARGET_INFO_CUDA_STREAM", "streamId, processId, contextId, priority, flag",
                  "8, 10, 1, 0, 0");
    nsight_insert(&n, "TARGET_INFO_NVTX_CUDA_STREAM", "name, processId, deviceId, streamId",
                  "'side', 10, 0, 9");
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    size_t n_tracks = 0;
    (void)ps_trace_tracks(t, &n_tracks);
    assert_int_equal(n_tracks, 5); /* the idle thread has none */
    assert_string_equal(label_of(t, 10, PS_TRACK_HOST_THREAD), "main");
    assert_string_equal(label_of(t, 11, PS_TRACK_HOST_THREAD), "pt_autograd_0");
    assert_string_equal(label_of(t, 7, PS_TRACK_STREAM), "stream 7 (priority -5)");
    assert_string_equal(label_of(t, 8, PS_TRACK_STREAM), "");
    assert_string_equal(label_of(t, 9, PS_TRACK_STREAM), "side");
    ps_trace_free(t);
}

/* Registered strings, domains and categories, named before or after. */
static void names_of_ranges(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    long long a = (long long)nsight_tid(1, 10, 10);
    long long b = (long long)nsight_tid(1, 11, 11);
    long long registered = (long long)nsight_string(&n, "ncclAllReduce");
    long long nccl = (long long)nsight_string(&n, "NCCL");
    nsight_insert(
        &n, "NVTX_EVENTS",
        "start, \"end\", eventType, globalTid, textId, domainId, category, color, rangeId",
        "100, 200, 60, %lld, %lld, 5, 3, -16711936, 9", a, registered);
    nsight_insert(&n, "NVTX_EVENTS", "start, eventType, globalTid, textId, domainId",
                  "10, 75, %lld, %lld, 5", a, nccl);
    nsight_insert(&n, "NVTX_EVENTS", "start, eventType, globalTid, text, domainId, category",
                  "11, 33, %lld, 'collective', 5, 3", a);
    /* The same numbers mean something else in another process. */
    nsight_insert(&n, "NVTX_EVENTS",
                  "start, \"end\", eventType, globalTid, text, domainId, category",
                  "110, 120, 59, %lld, 'x', 5, 3", b);
    nsight_insert(&n, "NVTX_EVENTS", "start, eventType, globalTid, domainId", "300, 76, %lld, 5",
                  a);
    nsight_sql(&n, "UPDATE NVTX_EVENTS SET endGlobalTid = %lld WHERE rangeId = 9",
               (long long)nsight_tid(1, 10, 12));
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_slices(t, true,
                  "mark 10/10 100+100 ncclAllReduce [NCCL] domain='NCCL' category='collective' "
                  "color='#ff00ff00' range id=9 end tid=12\n"
                  "mark 11/11 110+10 x category=3\n");
    expect_odd(t, "");
    ps_trace_free(t);
}

/* The file's own numbers of the kinds win over the known ones. */
/* emit_nvtx writes what it knows of an operator into the text of its range. */
static void operators_of_torch(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    int64_t main_thread = nsight_tid(1, 10, 10);
    nsight_range(&n, NVTX_PUSH_POP, main_thread, 100, 200,
                 "aten::linear, seq = 7, op_id = 3, sizes = [[8, 16], []], input_op_ids = [(1,0)]");
    nsight_range(&n, NVTX_PUSH_POP, main_thread, 110, 190, "aten::addmm, seq = 7, op_id = 4");
    nsight_range(&n, NVTX_PUSH_POP, nsight_tid(1, 10, 11), 300, 400, "AddmmBackward0, seq = 7");
    nsight_range(&n, NVTX_PUSH_POP, main_thread, 500, 510, "step, seq = last");
    nsight_range(&n, NVTX_PUSH_POP, main_thread, 520, 530, "a, sizes = [[8, 16]");
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_slices(t, true,
                  "op 10/10 100+100 aten::linear Record function id=3 Sequence number=7 "
                  "Input Dims=[[8, 16], []] input op ids='[(1,0)]'\n"
                  "op 10/10 110+80 aten::addmm Record function id=4 Sequence number=7\n"
                  "op 10/11 300+100 AddmmBackward0 Sequence number=7\n"
                  "mark 10/10 500+10 step, seq = last\n"
                  "mark 10/10 520+10 a, sizes = [[8, 16]\n");
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(t, &n_flows);
    assert_int_equal(n_flows, 1);
    assert_int_equal(flows[0].from, 0);
    assert_int_equal(flows[0].to, 2);
    assert_string_equal(ps_trace_text(t, flows[0].kind), "fwdbwd");
    expect_odd(t, "");
    ps_trace_free(t);
}

static void enumerations_by_name(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2026);
    int64_t tid = nsight_tid(1, 10, 10);
    nsight_sql(&n, "UPDATE ENUM_NSYS_EVENT_TYPE SET id = 159 WHERE name = 'NvtxPushPopRange';"
                   "UPDATE ENUM_NSYS_EVENT_TYPE SET id = 59 WHERE name = 'NvtxMark';"
                   "DELETE FROM ENUM_NSYS_EVENT_TYPE WHERE name = 'NvtxStartEndRange';"
                   "INSERT INTO ENUM_NSYS_EVENT_TYPE VALUES (200, 'NvtxPopRange', '');"
                   "INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (10, 'CUDA_MEMCPY_KIND_NEW', '');"
                   "UPDATE ENUM_CUDA_MEMCPY_OPER SET id = 21 WHERE name = 'CUDA_MEMCPY_KIND_DTOH'");
    nsight_range(&n, 159, tid, 100, 200, "range");
    nsight_range(&n, 59, tid, 110, 0, "mark");
    nsight_range(&n, 60, tid, 120, 130, "not renamed");
    nsight_range(&n, 200, tid, 140, 140, "end of an earlier one");
    nsight_range(&n, 34, tid, 150, 150, "whatever 34 is now");
    static const int KINDS[] = {1, 21, 10, 9};
    for (int i = 0; i < 4; i++) {
        nsight_copy(&n, tid, 0, 7, 300 + i, 301 + i, 0, KINDS[i], 8);
    }
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_slices(t, false,
                  "mark 10/10 100+100 range\n"
                  "instant 10/10 110+0 mark\n"
                  "mark 10/10 120+10 not renamed\n"
                  "copy 10/7@0 300+1 Memcpy HtoD [gpu_memcpy]\n"
                  "copy 10/7@0 301+1 Memcpy DtoH [gpu_memcpy]\n"
                  "copy 10/7@0 302+1 Memcpy kind 10 [gpu_memcpy]\n"
                  "copy 10/7@0 303+1 Memcpy HtoH [gpu_memcpy]\n");
    expect_odd(t, "unknown-phase 1, end-without-begin 1");
    ps_trace_free(t);
}

/* --- graphs -----------------------------------------------------------------
 */

static void one_launch_of_a_graph_has_many_kernels(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    int64_t tid = nsight_tid(1, 10, 10);
    nsight_call(&n, tid, 100, 120, 5, "cudaGraphLaunch_v10000");
    for (int i = 0; i < 20; i++) {
        nsight_kernel(&n, tid, 0, 7, 200 + 10 * i, 205 + 10 * i, 5, "node");
    }
    nsight_call(&n, tid, 500, 520, 6, "cudaGraphLaunch_v10000");
    nsight_insert(&n, "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                  "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, "
                  "graphId, graphExecId",
                  "600, 700, 0, 1, 7, 6, %lld, 3, 4", (long long)nsight_tid(1, 10, 0));
    nsight_insert(&n, "CUDA_GRAPH_NODE_EVENTS",
                  "start, \"end\", globalTid, nameId, graphNodeId, originalGraphNodeId",
                  "50, 51, %lld, %lld, 77, 70", (long long)tid,
                  (long long)nsight_string(&n, "cudaGraphAddKernelNode_v10000"));
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    size_t n_flows = 0;
    const ps_flow *flows = ps_trace_flows(t, &n_flows);
    assert_int_equal(n_flows, 21);
    assert_int_equal(count_kind(t, PS_SLICE_KERNEL), 21);
    ps_buf out;
    ps_buf_init(&out, 0);
    add_slice(t, 0, true, &out);
    add_slice(t, flows[20].to, true, &out);
    expect_text(&out, "call 10/10 50+1 cudaGraphAddKernelNode_v10000 [cuda_graph] graph node=77 "
                      "original graph node=70\n"
                      "kernel 10/7@0 600+100 CUDA graph 3 [cuda_graph] correlation=6 graph exec=4 "
                      "context=1\n");
    ps_buf_fini(&out);
    ps_trace_free(t);
}

/* --- payloads ---------------------------------------------------------------
 */

static void values_of_the_payload(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "new", NSIGHT_2024);
    static const char *const COLUMN[] = {"uint64Value", "int64Value", "doubleValue", "uint32Value",
                                         "int32Value",  "floatValue", "jsonText",    "uint64Value"};
    static const char *const VALUE[] = {"-1", "-1", "0.5", "7", "-7", "2", "'{\"a\": 1}'", "0"};
    for (int i = 0; i < 8; i++) {
        char columns[96];
        (void)snprintf(columns, sizeof columns, "start, \"end\", eventType, globalTid, text, %s",
                       COLUMN[i]);
        nsight_insert(&n, "NVTX_EVENTS", columns, "%d, %d, 59, %lld, 'r', %s", 100 + i, 101 + i,
                      (long long)nsight_tid(1, 10, 10), VALUE[i]);
    }
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_slices(t, true,
                  "mark 10/10 100+1 r payload=18446744073709551615\n"
                  "mark 10/10 101+1 r payload=-1\n"
                  "mark 10/10 102+1 r payload=0.5\n"
                  "mark 10/10 103+1 r payload=7\n"
                  "mark 10/10 104+1 r payload=-7\n"
                  "mark 10/10 105+1 r payload=2\n"
                  "mark 10/10 106+1 r json='{\"a\": 1}'\n"
                  "mark 10/10 107+1 r payload=0\n");
    ps_trace_free(t);
    nsight_begin(&n, where, "old", NSIGHT_2021); /* all six columns are 0 when there is none */
    nsight_range(&n, NVTX_PUSH_POP, nsight_tid(1, 10, 10), 100, 101, "r");
    nsight_range(&n, NVTX_PUSH_POP, nsight_tid(1, 10, 10), 102, 103, "s");
    nsight_sql(&n, "UPDATE NVTX_EVENTS SET int32Value = 5 WHERE text = 's'");
    nsight_close(&n);
    t = read_all(&n);
    expect_slices(t, true, "mark 10/10 100+1 r\nmark 10/10 102+1 s payload=5\n");
    ps_trace_free(t);
}

static void put64(unsigned char *at, uint64_t value, int n_bytes) {
    for (int i = 0; i < n_bytes; i++) {
        at[i] = (unsigned char)(value >> (8 * i));
    }
}

enum { DOMAIN_NCCL = 4, SCHEMA_REDUCE = 1001, ENUM_OP = 9001 };

static void describe_payload(nsight *n) {
    static const struct {
        int type;
        const char *name;
        int offset;
    } FIELDS[] = {{18, "NCCL communicator ID", -1},
                  {22, "Message size [bytes]", 8},
                  {ENUM_OP, "Reduction operation", 16},
                  {5, "Peer rank", 20},
                  {19, "scale", 24}};
    nsight_insert(n, "NVTX_PAYLOAD_SCHEMAS", "domainId, schemaId, type, numEntries, payloadSize",
                  "%d, %d, 1, 5, 28", DOMAIN_NCCL, SCHEMA_REDUCE);
    for (int again = 0; again < 2; again++) { /* once per process */
        for (int i = 0; i < 5; i++) {
            nsight_insert(n, "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                          "domainId, schemaId, idx, type, name, offset", "%d, %d, %d, %d, %Q, %s",
                          DOMAIN_NCCL, SCHEMA_REDUCE, i, FIELDS[i].type, FIELDS[i].name,
                          FIELDS[i].offset < 0    ? "NULL"
                          : FIELDS[i].offset == 8 ? "8"
                          : i == 2                ? "16"
                          : i == 3                ? "20"
                                                  : "24");
        }
    }
    nsight_insert(n, "NVTX_PAYLOAD_ENUMS", "domainId, schemaId, numEntries, size", "%d, %d, 2, 4",
                  DOMAIN_NCCL, ENUM_OP);
    nsight_insert(n, "NVTX_PAYLOAD_ENUM_ENTRIES", "domainId, schemaId, idx, name, value",
                  "%d, %d, 0, 'Sum', 0", DOMAIN_NCCL, ENUM_OP);
}

/* Bound, so that the class of the value is as asked for. */
static void add_payload(nsight *n, int64_t start, const void *data, int size, bool as_text) {
    nsight_range(n, NVTX_PUSH_POP, nsight_tid(1, 10, 10), start, start + 1, "ncclAllReduce");
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(sqlite3_prepare_v2(n->db,
                                        "UPDATE NVTX_EVENTS SET binaryData = ?1 WHERE start = ?2",
                                        -1, &stmt, NULL),
                     SQLITE_OK);
    if (as_text) {
        (void)sqlite3_bind_text(stmt, 1, data, size, SQLITE_STATIC);
    } else {
        (void)sqlite3_bind_blob(stmt, 1, data, size, SQLITE_STATIC);
    }
    (void)sqlite3_bind_int64(stmt, 2, start);
    assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
    (void)sqlite3_finalize(stmt);
}

static void payloads_of_nccl(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2026);
    describe_payload(&n);
    unsigned char data[60] = {0};
    put64(data, DOMAIN_NCCL, 8);
    put64(data + 8, SCHEMA_REDUCE, 8);
    put64(data + 16, 28, 8);
    put64(data + 24, 32, 8);
    put64(data + 32, UINT64_C(0xFEDCBA9876543210), 8);
    put64(data + 40, 4096, 8);
    put64(data + 52, (uint64_t)(int64_t)-1, 4);
    put64(data + 56, 0x3FC00000, 4); /* 1.5 */
    add_payload(&n, 100, data, sizeof data, false);
    char hex[2 * sizeof data + 1];
    for (size_t i = 0; i < sizeof data; i++) {
        (void)snprintf(hex + 2 * i, 3, "%02x", data[i]);
    }
    put64(data + 48, 9, 4); /* a value without a name */
    add_payload(&n, 200, data, sizeof data, true);
    add_payload(&n, 300, hex, (int)(2 * sizeof data), true);
    add_payload(&n, 400, data, 31, false);              /* cut in the header */
    add_payload(&n, 500, data, sizeof data - 4, false); /* cut in a field */
    put64(data + 16, 20, 8);
    add_payload(&n, 600, data, sizeof data, false); /* fields behind its end */
    put64(data + 8, 77, 8);
    add_payload(&n, 700, data, sizeof data, false); /* described nowhere */
    nsight_close(&n);
    ps_trace *t = read_all(&n);
#define ID " NCCL communicator ID=18364758544493064720 Message size [bytes]=4096"
    expect_slices(
        t, true,
        "mark 10/10 100+1 ncclAllReduce" ID " Reduction operation='Sum' Peer rank=-1 scale=1.5\n"
        "mark 10/10 200+1 ncclAllReduce" ID " Reduction operation=9 Peer rank=-1 scale=1.5\n"
        "mark 10/10 300+1 ncclAllReduce" ID " Reduction operation='Sum' Peer rank=-1 scale=1.5\n"
        "mark 10/10 400+1 ncclAllReduce\n"
        "mark 10/10 500+1 ncclAllReduce\n"
        "mark 10/10 600+1 ncclAllReduce" ID " Reduction operation=9\n"
        "mark 10/10 700+1 ncclAllReduce\n");
    expect_odd(t, "bad-text 4");
    ps_trace_free(t);
}

/* --- memory -----------------------------------------------------------------
 */

static void memory_becomes_counters(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    int64_t tid = nsight_tid(1, 10, 0);
    nsight_memory(&n, tid, 0, 300, 0x1000, 100, 2, true); /* rows are in no order */
    nsight_memory(&n, tid, 0, 100, 0x1000, 100, 2, false);
    nsight_memory(&n, tid, 0, 200, 0x2000, 50, 2, false);
    nsight_memory(&n, tid, 1, 150, 0x3000, 7, 2, false);  /* another device */
    nsight_memory(&n, tid, 0, 160, 0x4000, 9, 1, false);  /* another kind */
    nsight_memory(&n, tid, 0, 50, 0x5000, 1000, 2, true); /* from before the capture */
    nsight_memory(&n, tid, 0, 400, 0x1000, 30, 2, false); /* an address again */
    nsight_memory(&n, tid, 0, 500, 0x1000, 0, 2, true);   /* and released without a size */
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    const ps_counters *c = ps_trace_counters(t);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n_tracks);
    ps_buf out;
    ps_buf_init(&out, 0);
    for (uint32_t i = 0; i < c->n; i++) {
        const ps_track *tr = &tracks[c->track[i]];
        ps_buf_addf(&out, "%s@%lld %lld %g %s\n", ps_trace_text(t, tr->name), (long long)tr->device,
                    (long long)(c->time_ns[i] + ps_trace_origin_ns(t) - NSIGHT_EPOCH_NS),
                    c->value[i], ps_trace_text(t, tr->unit));
    }
    expect_text(&out, "CUDA memory/device@0 100 100 bytes\n"
                      "CUDA memory/device@0 200 150 bytes\n"
                      "CUDA memory/device@0 300 50 bytes\n"
                      "CUDA memory/device@0 400 80 bytes\n"
                      "CUDA memory/device@0 500 50 bytes\n"
                      "CUDA memory/device@1 150 7 bytes\n"
                      "CUDA memory/pinned@0 160 9 bytes\n");
    expect_odd(t, "unjoined-row 1");
    ps_buf_fini(&out);
    ps_trace_free(t);
}

/* --- what the file says of itself -------------------------------------------
 */

static void metadata_and_diagnostics(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    long long pid = (long long)nsight_tid(1, 10, 0);
    nsight_launch(&n, nsight_tid(1, 10, 10), 0, 7, 100, 110, 1, "k");
    nsight_insert(&n, "TARGET_INFO_GPU",
                  "vmId, id, name, busLocation, totalMemory, smCount, computeMajor, computeMinor",
                  "0, 0, 'NVIDIA H100', '0000:01:00.0', 85899345920, 132, 9, 0");
    nsight_insert(&n, "TARGET_INFO_SYSTEM_ENV", "globalVid, devStateName, name, nameEnum, value",
                  "0, '', 'Hostname', 1, 'node7'");
    nsight_insert(&n, "META_DATA_CAPTURE", "name, value", "'CAPTURE_X', 'y'");
    static const struct {
        int severity;
        const char *text;
        bool other;
    } MESSAGES[] = {{1, "Dropped nothing, all well.", false},
                    {2, "Not all CUDA events might have been collected.", false},
                    {3, "Number of NVTX events lost: 12", false},
                    {2, "Driver is newer than the profiler.", false},
                    {2, "Not all NVTX events might have been collected.", true}};
    for (size_t i = 0; i < 5; i++) {
        nsight_insert(&n, "DIAGNOSTIC_EVENT",
                      "timestamp, timestampType, source, severity, text, globalPid",
                      "%d, 1, 3, %d, %Q, %lld", (int)(100 + i), MESSAGES[i].severity,
                      MESSAGES[i].text, MESSAGES[i].other ? pid + (1LL << 24) : pid);
    }
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_odd(t, "profiler-lost-data 2");
    const ps_table *d = ps_trace_side_table(t, "diagnostics");
    assert_non_null(d);
    assert_int_equal(d->n_rows, 5);
    assert_string_equal(ps_table_cell(d, 1, 2)->u.text, "warning");
    assert_int_equal(ps_table_cell(d, 1, 1)->u.i, 10);
    assert_string_equal(ps_trace_meta(t, "EXPORT_PRODUCT_VERSION"), "2024.6.2.225");
    assert_string_equal(ps_trace_meta(t, "CAPTURE_X"), "y");
    assert_string_equal(ps_trace_meta(t, "system.Hostname"), "node7");
    assert_string_equal(ps_trace_meta(t, "gpu.0.name"), "NVIDIA H100");
    assert_string_equal(ps_trace_meta(t, "gpu.0.totalMemory"), "85899345920");
    ps_trace_free(t);
    t = read_part(&n, 0, PS_NEED_INVENTORY);
    assert_null(ps_trace_side_table(t, "diagnostics"));
    assert_int_equal(ps_trace_side_table(t, "facts")->n_rows, 4);
    const ps_table *spans = ps_trace_side_table(t, "spans");
    assert_int_equal(spans->n_rows, 2);
    assert_true(ps_table_cell(spans, 1, 1)->u.i == NSIGHT_EPOCH_NS + 100);
    assert_true(ps_trace_side_table(t, "tables")->n_rows > 5);
    ps_trace_free(t);
}

static void a_clock_without_a_base(void **state) {
    const place *where = *state;
    static const char *const CHANGES[] = {
        "DROP TABLE TARGET_INFO_SESSION_START_TIME",
        ("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = "
         "9223372036854775807"),
        "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = 0"};
    for (int i = 0; i < 3; i++) {
        nsight n;
        nsight_begin(&n, where, i == 0 ? "a" : i == 1 ? "b" : "c", NSIGHT_2024);
        nsight_launch(&n, nsight_tid(1, 10, 10), 0, 7, 100, 110, 1, "k");
        nsight_sql(&n, "%s", CHANGES[i]);
        nsight_close(&n);
        ps_trace *t = read_all(&n);
        assert_int_equal(ps_trace_origin_ns(t), 100);
        expect_odd(t, "relative-clock 1");
        ps_trace_free(t);
    }
}

/* --- oddities ---------------------------------------------------------------
 */

static void open_ranges_last_to_the_end(void **state) {
    const place *where = *state;
    for (int old = 0; old < 2; old++) {
        nsight n;
        nsight_begin(&n, where, old ? "old" : "new", old ? NSIGHT_2021 : NSIGHT_2024);
        int64_t tid = nsight_tid(1, 10, 10);
        nsight_insert(&n, "NVTX_EVENTS", "start, eventType, globalTid, text",
                      "100, 59, %lld, 'open'", (long long)tid);
        nsight_launch(&n, tid, 0, 7, 200, 900, 1, "k");
        if (old) {
            nsight_insert(&n, "ANALYSIS_DETAILS", "globalVid, duration, startTime, stopTime",
                          "0, 5000, 0, 5000");
        }
        nsight_close(&n);
        ps_trace *t = read_all(&n);
        const ps_slices *s = ps_trace_slices(t);
        assert_int_equal(s->dur_ns[0], old ? 4900 : 800);
        expect_odd(t, "range-without-end 1");
        assert_string_equal(ps_trace_diag(t)->places[PS_ODD_RANGE_OPEN][0], "NVTX_EVENTS rowid 1");
        assert_string_equal(ps_trace_arg_text(t, 1, "range"), "open"); /* of the kernel */
        ps_trace_free(t);
    }
}

static void odd_rows_are_counted_and_left_out(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    int64_t tid = nsight_tid(1, 10, 10);
    nsight_range(&n, NVTX_PUSH_POP, tid, 200, 100, "ends before it starts");
    nsight_insert(&n, "NVTX_EVENTS", "start, \"end\", eventType, globalTid, text",
                  "NULL, 100, 59, %lld, 'no start'", (long long)tid);
    nsight_insert(&n, "NVTX_EVENTS", "start, \"end\", eventType, text", "1, 2, 59, 'no thread'");
    nsight_range(&n, 12345, tid, 1, 2, "unknown type");
    nsight_insert(&n, "NVTX_EVENTS", "start, \"end\", eventType, globalTid, textId",
                  "300, 301, 59, %lld, 999", (long long)tid);
    nsight_insert(&n, "NVTX_EVENTS", "start, \"end\", eventType, globalTid", "310, 311, 59, %lld",
                  (long long)tid);
    nsight_kernel(&n, tid, 0, 7, 400, 410, 88, "no call");
    nsight_kernel(&n, tid, 0, 7, 420, 430, 0, "names no call");
    nsight_kernel(&n, tid, 0, 7, 440, 450, INT64_C(1) << 40, "no such id");
    nsight_insert(&n, "CUPTI_ACTIVITY_KIND_KERNEL", "start, \"end\", globalPid, shortName",
                  "500, 501, %lld, 777", (long long)nsight_tid(1, 10, 0));
    nsight_call(&n, tid, INT64_MAX, INT64_MAX, 1, "far away");
    nsight_sql(&n, "INSERT INTO StringIds VALUES (5000, NULL)");
    nsight_memory(&n, tid, 0, 600, 0x1000, -5, 2, false);
    nsight_memory(&n, tid, 0, 610, 0x1000, INT64_MAX, 2, false);
    nsight_memory(&n, tid, 0, 620, 0x2000, INT64_MAX, 2, false);
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    expect_slices(t, false,
                  "mark 10/10 300+1 (no name)\n"
                  "mark 10/10 310+1 (no name)\n"
                  "kernel 10/7@0 400+10 no call [kernel]\n"
                  "kernel 10/7@0 420+10 names no call [kernel]\n"
                  "kernel 10/7@0 440+10 no such id [kernel]\n"
                  "kernel 10/-1@0 500+1 (no name) [kernel]\n");
    expect_odd(t, "bad-time 3, missing-string 2, bad-number 1, unknown-phase 1, "
                  "kernel-without-call 2, bad-row 3");
    ps_trace_free(t);
}

/* Synchronisation without a stream, and ranges of two domains that cross. */
static void crossing_domains_and_streamless_waits(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    int64_t tid = nsight_tid(1, 10, 10);
    nsight_range(&n, NVTX_PUSH_POP, tid, 100, 900, "outer");
    nsight_range(&n, NVTX_PUSH_POP, tid, 200, 400, "a");
    nsight_range(&n, NVTX_PUSH_POP, tid, 300, 500, "b"); /* of another domain */
    nsight_range(&n, NVTX_PUSH_POP, nsight_tid(1, 10, 11), 0, 1000, "of another thread");
    nsight_launch(&n, tid, 0, 7, 350, 360, 1, "in b");
    nsight_launch(&n, tid, 0, 7, 395, 399, 2, "leaves a");
    nsight_launch(&n, tid, 0, 7, 495, 510, 3, "leaves b");
    nsight_launch(&n, tid, 0, 7, 600, 610, 4, "in outer");
    nsight_launch(&n, tid, 0, 7, 895, 896, 5, "leaves outer");
    nsight_insert(&n, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                  "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, "
                  "syncType, eventId",
                  "950, 960, 0, 1, 4294967295, 0, %lld, 4, 0", (long long)nsight_tid(1, 10, 0));
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    ps_buf out;
    ps_buf_init(&out, 0);
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        if (ps_trace_slices(t)->kind[i] == PS_SLICE_KERNEL) {
            const char *range = ps_trace_arg_text(t, i, "range");
            ps_buf_addf(&out, "%s: %s\n", ps_trace_text(t, ps_trace_slices(t)->name[i]),
                        range != NULL ? range : "none");
        }
    }
    expect_text(&out,
                "in b: b\nleaves a: b\nleaves b: outer\nin outer: outer\nleaves outer: none\n");
    assert_string_equal(label_of(t, -1, PS_TRACK_STREAM), "sync");
    expect_odd(t, "");
    ps_buf_fini(&out);
    ps_trace_free(t);
}

/* Views by the names of tables are code, not data; other types than expected
 * are no crash. */
static void hostile_tables(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2024);
    nsight_sql(&n, "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT 1 AS start, 2 AS \"end\";"
                   "CREATE TABLE NVTX_EVENTS(start TEXT, \"end\" BLOB, eventType, globalTid, text);"
                   "INSERT INTO NVTX_EVENTS VALUES ('a', x'00', 59, 1, 2), ('5', 6, '59', 1, 'x'),"
                   "(1.5, 9e99, 59, 1, 'real'), (1, 2, 59, 'x', 'y');"
                   "CREATE TABLE TARGET_INFO_CUDA_DEVICE(pid);"
                   "INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (NULL), ('x')");
    nsight_close(&n);
    ps_trace *t = read_all(&n);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    expect_odd(t, "bad-time 2, unknown-phase 1, missing-part 1, bad-row 1");
    ps_trace_free(t);
}

/* --- recognising ------------------------------------------------------------
 */

static int sniff(const char *path) {
    static unsigned char head[PS_HEAD_BYTES];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(head, 1, sizeof head, f);
    (void)fclose(f);
    return ps_reader_nsight.sniff(path, head, n);
}

static int sniff_sql(const place *where, const char *name, const char *sql) {
    const char *path = place_path(where, "%s", name);
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    return sniff(path);
}

static void recognised_by_its_tables(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "unknown", NSIGHT_2026);
    nsight_close(&n);
    assert_int_equal(sniff(n.path), 90);
    assert_ptr_equal(ps_reader_for(n.path, NULL), &ps_reader_nsight);
    assert_int_equal(sniff_sql(where, "a", "CREATE TABLE StringIds(id, value)"), 0);
    assert_int_equal(sniff_sql(where, "b",
                               "CREATE TABLE StringIds(id, value);"
                               "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start)"),
                     90);
    assert_int_equal(sniff_sql(where, "c",
                               "CREATE TABLE STRING_IDS(id, value);"
                               "CREATE TABLE TASK(startNs)"),
                     0);
    assert_int_equal(sniff_sql(where, "d",
                               "PRAGMA journal_mode = WAL; CREATE TABLE StringIds(id);"
                               "CREATE TABLE NVTX_EVENTS(start)"),
                     90);
    assert_int_equal(sniff_sql(where, "e",
                               "PRAGMA encoding = 'UTF-16'; CREATE TABLE StringIds(id);"
                               "CREATE TABLE NVTX_EVENTS(start)"),
                     90);
    write_text(place_path(where, "text"), "SQLite format 3");
    assert_int_equal(sniff(place_path(where, "text")), 0);
    write_text(place_path(where, "json"), "{\"traceEvents\": []}");
    assert_int_equal(sniff(place_path(where, "json")), 0);
}

/* --- memory of ours ---------------------------------------------------------
 */

static void out_of_memory(void **state) {
    const place *where = *state;
    nsight n;
    nsight_begin(&n, where, "a", NSIGHT_2026);
    fill(&n);
    fill_two(&n);
    describe_payload(&n);
    nsight_memory(&n, nsight_tid(1, 100, 0), 0, 100, 0x1000, 100, 2, false);
    nsight_insert(&n, "NVTX_EVENTS", "start, eventType, globalTid, text", "100, 60, %lld, 'open'",
                  (long long)nsight_tid(1, 100, 100));
    nsight_insert(&n, "TARGET_INFO_GPU", "id, name", "0, 'H100'");
    nsight_insert(&n, "DIAGNOSTIC_EVENT", "timestamp, severity, text", "1, 2, 'lost'");
    nsight_insert(&n, "TARGET_INFO_NVTX_CUDA_STREAM", "name, processId, deviceId, streamId",
                  "'side', 100, 0, 7");
    nsight_close(&n);
    ps_trace *t = NULL;
    for (int64_t k = 0; t == NULL; k += PS_NEXT_FAILURE) {
        assert_true(k < 5000);
        ps_src src = {.path = n.path, .reader = &ps_reader_nsight};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(k);
        t = ps_read(&src, EVERYTHING | PS_NEED_INVENTORY, &err);
        (void)ps_alloc_fail_at(-1);
        assert_true(t != NULL || err.code == PS_NOMEM);
    }
    assert_int_equal(count_kind(t, PS_SLICE_KERNEL), 3);
    ps_trace_free(t);
    ps_code code = PS_NOMEM;
    for (int64_t k = 0; code != PS_OK; k++) {
        assert_true(k < 5000);
        ps_arena arena;
        ps_arena_init(&arena);
        ps_part *parts = NULL;
        size_t n_parts = 0;
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(k);
        code = ps_reader_nsight.parts(n.path, &arena, &parts, &n_parts, &err);
        (void)ps_alloc_fail_at(-1);
        assert_true(code == PS_OK || (code == PS_NOMEM && err.code == PS_NOMEM));
        assert_int_equal(n_parts, code == PS_OK ? 3 : 0);
        ps_arena_fini(&arena);
    }
}

/* 300 processes: 255 parts of one each, and one of 45. */
static void many_processes_are_few_parts(void **state) {
    enum { N = 300, N_PARTS = 256 };
    nsight n;
    nsight_begin(&n, *state, "a", NSIGHT_2024);
    for (int i = 0; i < N; i++) {
        nsight_range(&n, NVTX_PUSH_POP, nsight_tid(0, 1000 + i, 1), 100, 200, "range");
    }
    for (int machine = 0; machine < 2; machine++) {
        nsight_insert(&n, "TARGET_INFO_SYSTEM_ENV",
                      "globalVid, devStateName, name, nameEnum, value",
                      "%lld, 'Target Environment', 'Hostname', 1, 'node%d'",
                      (long long)nsight_tid(machine, 0, 0), machine);
    }
    nsight_close(&n);
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n_parts = 0;
    assert_int_equal(ps_reader_nsight.parts(n.path, &arena, &parts, &n_parts, NULL), PS_OK);
    assert_int_equal(n_parts, N_PARTS);
    assert_string_equal(parts[0].host, "node0");
    ps_trace *first = read_part(&n, parts[0].id, EVERYTHING);
    ps_trace *rest = read_part(&n, parts[N_PARTS - 1].id, EVERYTHING);
    assert_int_equal(ps_trace_slices(first)->n, 1);
    assert_int_equal(ps_trace_diag(first)->counts[PS_ODD_PROCESSES], 0);
    assert_int_equal(ps_trace_slices(rest)->n, N - N_PARTS + 1);
    assert_int_equal(ps_trace_diag(rest)->counts[PS_ODD_PROCESSES], N - N_PARTS + 1);
    ps_trace_free(first);
    ps_trace_free(rest);
    ps_arena_fini(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(every_release_reads_alike),
        IN_PLACE(arguments_of_device_work),
        IN_PLACE(needs_are_respected),
        IN_PLACE(two_processes_are_two_parts),
        IN_PLACE(many_processes_are_few_parts),
        IN_PLACE(ranks_are_not_guessed),
        IN_PLACE(equal_pids_of_two_machines_stay_apart),
        IN_PLACE(without_global_pid_the_only_process_counts),
        IN_PLACE(a_file_without_processes_is_one_part),
        IN_PLACE(names_of_threads_processes_and_streams),
        IN_PLACE(names_of_ranges),
        IN_PLACE(operators_of_torch),
        IN_PLACE(enumerations_by_name),
        IN_PLACE(one_launch_of_a_graph_has_many_kernels),
        IN_PLACE(values_of_the_payload),
        IN_PLACE(payloads_of_nccl),
        IN_PLACE(memory_becomes_counters),
        IN_PLACE(metadata_and_diagnostics),
        IN_PLACE(a_clock_without_a_base),
        IN_PLACE(open_ranges_last_to_the_end),
        IN_PLACE(odd_rows_are_counted_and_left_out),
        IN_PLACE(crossing_domains_and_streamless_waits),
        IN_PLACE(hostile_tables),
        IN_PLACE(recognised_by_its_tables),
        IN_PLACE(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

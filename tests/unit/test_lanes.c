/* The lane tree: by hand for each format, and over every sample: each slice in one lane, ids unique, parents first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "read/readers.h"
#include "run/cluster.h"
#include "serve/rank/lane_names.h"
#include "serve/rank/lanes.h"
#include "support/small_runs.h"
#include "support/trace_samples.h"

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS)

/* --- what holds for every tree -------------------------------------------------------------------------------- */

typedef struct arranged {
    ps_lanes lanes;
    uint32_t *lane_of;
} arranged;

static arranged arrange(const ps_trace *t) {
    arranged a = {.lane_of = calloc((size_t)ps_trace_slices(t)->n + 1, sizeof(uint32_t))};
    assert_non_null(a.lane_of);
    ps_err err = PS_ERR_INIT;
    if (ps_lanes_init(&a.lanes, t, a.lane_of, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    return a;
}

static void finish(arranged *a) {
    ps_lanes_fini(&a->lanes);
    free(a->lane_of);
}

static void expect_tree(const ps_lanes *lanes) {
    uint32_t n_lanes = 0;
    for (size_t i = 0; i < lanes->n_nodes; i++) {
        const ps_lane_node *node = &lanes->nodes[i];
        assert_true(node->parent == PS_NONE || node->parent < i);
        assert_true(node->name[0] != '\0' && node->id[0] != '\0');
        assert_true((node->lane == PS_NONE) == (node->kind == PS_NODE_GROUP));
        if (node->lane != PS_NONE) {
            assert_int_equal(node->lane, n_lanes++); /* numbered as they are shown */
            assert_int_equal(lanes->node_of_lane[node->lane], i);
        }
        for (size_t k = 0; k < i; k++) {
            if (strcmp(lanes->nodes[k].id, node->id) == 0) {
                fail_msg("two nodes have the id %s", node->id);
            }
        }
    }
    assert_int_equal(n_lanes, lanes->n_lanes);
}

/* Every slice is in one lane, of its own track; every track with slices has a lane. */
static void expect_all_in(const ps_trace *t, const arranged *a) {
    const ps_slices *s = ps_trace_slices(t);
    for (uint32_t i = 0; i < s->n; i++) {
        assert_true(a->lane_of[i] < a->lanes.n_lanes);
        const ps_lane_node *node = &a->lanes.nodes[a->lanes.node_of_lane[a->lane_of[i]]];
        assert_int_equal(node->track, s->track[i]);
        assert_int_equal(ps_lanes_of(&a->lanes, t, i), a->lane_of[i]);
        bool is_frame = s->kind[i] == PS_SLICE_PYTHON;
        size_t n = 0;
        bool is_thread = ps_trace_tracks(t, &n)[s->track[i]].kind == PS_TRACK_HOST_THREAD;
        assert_true(!is_thread || is_frame == (node->kind == PS_NODE_PYTHON));
    }
    const ps_counters *c = ps_trace_counters(t);
    for (uint32_t i = 0; i < c->n; i++) {
        bool has_lane = i > 0 && c->track[i] == c->track[i - 1];
        for (uint32_t lane = 0; !has_lane && lane < a->lanes.n_lanes; lane++) {
            const ps_lane_node *node = &a->lanes.nodes[a->lanes.node_of_lane[lane]];
            has_lane = node->kind == PS_NODE_COUNTER && node->track == c->track[i];
        }
        assert_true(has_lane);
    }
}

/* "  name [id] kind n" a line, deeper nodes further in. */
static void print_tree(const ps_trace *t, const arranged *a, ps_buf *out) {
    size_t *depth = calloc(a->lanes.n_nodes + 1, sizeof *depth);
    size_t *n = calloc(a->lanes.n_lanes + 1, sizeof *n);
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        n[a->lane_of[i]]++;
    }
    for (size_t i = 0; i < a->lanes.n_nodes; i++) {
        const ps_lane_node *node = &a->lanes.nodes[i];
        depth[i] = node->parent == PS_NONE ? 0 : depth[node->parent] + 1;
        ps_buf_add_fill(out, ' ', 2 * depth[i]);
        ps_buf_addf(out, "%s [%s]", node->name, node->id);
        if (node->lane != PS_NONE) {
            ps_buf_addf(out, " %s %zu", ps_node_kind_name(node->kind), n[node->lane]);
        }
        ps_buf_add_char(out, '\n');
    }
    free(depth);
    free(n);
}

static void expect_lanes(const ps_trace *t, const char *wanted) {
    arranged a = arrange(t);
    expect_tree(&a.lanes);
    expect_all_in(t, &a);
    ps_buf got;
    ps_buf_init(&got, 0);
    print_tree(t, &a, &got);
    assert_string_equal(ps_buf_str(&got), wanted);
    ps_buf_fini(&got);
    finish(&a);
}

/* --- by hand -------------------------------------------------------------------------------------------------- */

static ps_str text(ps_builder *b, const char *s) {
    return ps_builder_str(b, s, strlen(s));
}

static uint32_t add(ps_builder *b, ps_slice_kind kind, uint32_t track, const char *name,
                    const char *category) {
    return ps_builder_slice_in(b, kind, track, text(b, name),
                               category[0] != '\0' ? text(b, category) : PS_STR_NONE, 10, 20, 0);
}

static uint32_t track(ps_builder *b, ps_track_kind kind, int64_t pid, int64_t tid, int64_t device,
                      const char *name) {
    return ps_builder_track(b, (ps_track){.kind = kind,
                                          .pid = pid,
                                          .tid = tid,
                                          .device = device,
                                          .name = name[0] != '\0' ? text(b, name) : PS_STR_NONE});
}

/* An Ascend database: kinds of calls apart, marks by domain, planes below their communicator, devices counted. */
static ps_trace *ascend_db(int64_t pid, int64_t device) {
    ps_builder *b = ps_builder_new();
    uint32_t main = track(b, PS_TRACK_HOST_THREAD, pid, pid, -1, "");
    uint32_t other = track(b, PS_TRACK_HOST_THREAD, pid, pid + 9, -1, "");
    uint32_t backward = track(b, PS_TRACK_HOST_THREAD, pid, pid + 30, -1, "");
    uint32_t plain = track(b, PS_TRACK_HOST_THREAD, pid, pid + 20, -1, "");
    add(b, PS_SLICE_PYTHON, main, "train.py", "trace");
    add(b, PS_SLICE_HOST_OP, main, "aten::add", "op");
    add(b, PS_SLICE_QUEUE, main, "Enqueue", "queue");
    add(b, PS_SLICE_CALL, main, "launch", "node");
    add(b, PS_SLICE_CALL, main, "aclrtMemcpy", "acl");
    add(b, PS_SLICE_CALL, main, "futex", "");
    add(b, PS_SLICE_HOST_OTHER, main, "Python GC", "");
    uint32_t mark = add(b, PS_SLICE_MARK_HOST, main, "layer", "Module");
    uint32_t bare = add(b, PS_SLICE_MARK_HOST, main, "step", "");
    add(b, PS_SLICE_INSTANT, main, "epoch", "Module");
    add(b, PS_SLICE_QUEUE, other, "Dequeue@Add", "queue");
    add(b, PS_SLICE_HOST_OP, backward, "autograd::engine::evaluate_function: AddBackward", "op");
    add(b, PS_SLICE_CALL, plain, "aclrtSync", "acl");
    uint32_t stream = track(b, PS_TRACK_STREAM, pid, 2, device, "");
    uint32_t marks = track(b, PS_TRACK_STREAM, pid, 2, device, "MSTX");
    add(b, PS_SLICE_KERNEL, stream, "MatMul", "KERNEL_AICORE");
    ps_builder_flow(b, mark, add(b, PS_SLICE_MARK_DEVICE, marks, "layer", ""));
    ps_builder_flow(b, bare, add(b, PS_SLICE_MARK_DEVICE, marks, "step", ""));
    uint32_t plane = track(b, PS_TRACK_COMM_PLANE, pid, 0, device, "10.0.0.1%eth0_1");
    add(b, PS_SLICE_COMM_TASK, plane, "Memcpy", "SDMA");
    uint32_t group = track(b, PS_TRACK_COMM_GROUP, pid, -1, device, "10.0.0.1%eth0_1");
    ps_builder_track_label(b, group, text(b, "tp"), PS_NO_ORDER);
    add(b, PS_SLICE_COMM_OP, group, "hcom_allReduce", "");
    uint32_t silent = track(b, PS_TRACK_COMM_PLANE, pid, 3, device, "a/b");
    add(b, PS_SLICE_COMM_TASK, silent, "Memcpy", "SDMA");
    uint32_t lane = track(b, PS_TRACK_DERIVED, pid, -1, device, "Computing");
    add(b, PS_SLICE_DERIVED, lane, "Computing", "");
    uint32_t free_lane = track(b, PS_TRACK_DERIVED, pid, -1, device, "Free");
    add(b, PS_SLICE_DERIVED, free_lane, "Free", "");
    static const char *const COUNTERS[] = {"HBM 10/Read", "HBM 2/Read", "AI Core Freq"};
    for (size_t i = 0; i < 3; i++) {
        uint32_t counter = track(b, PS_TRACK_COUNTER, -1, -1, device, COUNTERS[i]);
        assert_true(ps_builder_counter(b, counter, 15, 1.5));
    }
    return small_seal(b);
}

static const char ASCEND_TREE[] =
    "Host [host]\n"
    "  Process 700 [host/0]\n"
    "    Thread 700 (main) [host/0/main]\n"
    "      PyTorch [host/0/main/ops] host 2\n"
    "      CANN [host/0/main/calls]\n"
    "        acl [host/0/main/calls/acl] host 1\n"
    "        node [host/0/main/calls/node] host 1\n"
    "      MSTX [host/0/main/marks]\n"
    "        Module [host/0/main/marks/Module] marks 2\n"
    "        default [host/0/main/marks/] marks 1\n"
    "      Python Stack [host/0/main/python] python 1\n"
    "      OS Runtime API [host/0/main/os] host 1\n"
    "      Python GC [host/0/main/gc] host 1\n"
    "    Thread 709 (dequeue) [host/0/dequeue]\n"
    "      PyTorch [host/0/dequeue/ops] host 1\n"
    "    Thread 720 [host/0/thread 0]\n"
    "      CANN [host/0/thread 0/calls]\n"
    "        acl [host/0/thread 0/calls/acl] host 1\n"
    "    Thread 730 (autograd) [host/0/autograd]\n"
    "      PyTorch [host/0/autograd/ops] host 1\n"
    "NPU 5 [device/0]\n"
    "  Ascend Hardware [device/0/hardware]\n"
    "    Stream 2 MSTX [device/0/stream/2/marks/] marks 1\n"
    "    Stream 2 MSTX domain Module [device/0/stream/2/marks/Module] marks 1\n"
    "    Stream 2 [device/0/stream/2] device 1\n"
    "  Communication [device/0/comm]\n"
    "    Group a/b Communication [device/0/comm/a|b]\n"
    "      Plane 3 [device/0/comm/a|b/plane/3] plane 1\n"
    "    Group tp Communication [device/0/comm/10.0.0.1%eth0_1] comm 1\n"
    "      Plane 0 [device/0/comm/10.0.0.1%eth0_1/plane/0] plane 1\n"
    "  Overlap Analysis [device/0/overlap]\n"
    "    Computing [device/0/overlap/computing] overlap 1\n"
    "    Free [device/0/overlap/free] overlap 1\n"
    "  Counters [device/0/counters]\n"
    "    AI Core Freq [device/0/counter/AI Core Freq] counter 0\n"
    "    HBM [device/0/counters/HBM]\n"
    "      HBM 2/Read [device/0/counter/HBM 2/Read] counter 0\n"
    "      HBM 10/Read [device/0/counter/HBM 10/Read] counter 0\n";

static void database(void **state) {
    (void)state;
    ps_trace *t = ascend_db(700, 5);
    expect_lanes(t, ASCEND_TREE);
    ps_trace_free(t);
}

/* Numbers of processes, threads and devices differ, ids do not. */
static void alike_in_all_ranks(void **state) {
    (void)state;
    ps_trace *one = ascend_db(700, 5);
    ps_trace *two = ascend_db(91000, 0);
    arranged a = arrange(one);
    arranged b = arrange(two);
    assert_int_equal(a.lanes.n_nodes, b.lanes.n_nodes);
    for (size_t i = 0; i < a.lanes.n_nodes; i++) {
        assert_string_equal(a.lanes.nodes[i].id, b.lanes.nodes[i].id);
    }
    finish(&a);
    finish(&b);
    ps_trace_free(one);
    ps_trace_free(two);
}

static void process(ps_builder *b, int64_t pid, const char *name, const char *labels,
                    int64_t order) {
    ps_builder_process(b, (ps_process){.pid = pid,
                                       .name = text(b, name),
                                       .labels = labels[0] != '\0' ? text(b, labels) : PS_STR_NONE,
                                       .order = order});
}

/* trace_view.json: processes in the order of their sort index, threads likewise; one thread has one role below both. */
static void text_capture(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    process(b, 5000, "CANN", "CPU", 7);
    process(b, 70, "Python", "CPU", 0);
    process(b, 6000, "Ascend Hardware", "NPU", 13);
    process(b, 6100, "HCCL", "NPU", 15);
    process(b, 6200, "Overlap Analysis", "NPU", 23);
    process(b, 6300, "HBM", "NPU", 17);
    uint32_t calls = track(b, PS_TRACK_HOST_THREAD, 5000, 70, -1, "");
    add(b, PS_SLICE_CALL, calls, "AscendCL@x", "");
    add(b, PS_SLICE_MARK_HOST, calls, "step", "");
    uint32_t late = track(b, PS_TRACK_HOST_THREAD, 70, 71, -1, "");
    ps_builder_track_label(b, late, text(b, "Thread 71"), 900);
    add(b, PS_SLICE_QUEUE, late, "Dequeue@a", "dequeue");
    uint32_t main = track(b, PS_TRACK_HOST_THREAD, 70, 70, -1, "");
    ps_builder_track_label(b, main, text(b, "Thread 70"), 100);
    add(b, PS_SLICE_HOST_OP, main, "aten::add", "cpu_op");
    add(b, PS_SLICE_PYTHON, main, "f", "python_function");
    uint32_t stream = track(b, PS_TRACK_STREAM, 6000, 2, 0, "");
    ps_builder_track_label(b, stream, text(b, "Stream 2"), 2);
    add(b, PS_SLICE_KERNEL, stream, "MatMul", "");
    uint32_t marks = track(b, PS_TRACK_STREAM, 6000, 2, 0, "MSTX domain 0");
    ps_builder_track_label(b, marks, text(b, "Stream 2 MSTX domain 0"), PS_NO_ORDER);
    add(b, PS_SLICE_MARK_DEVICE, marks, "step", "");
    uint32_t plane = track(b, PS_TRACK_COMM_PLANE, 6100, 0, 0, "0");
    ps_builder_track_label(b, plane, text(b, "Plane 0"), 1);
    add(b, PS_SLICE_COMM_TASK, plane, "Memcpy", "");
    uint32_t group = track(b, PS_TRACK_COMM_GROUP, 6100, -1, 0, "0");
    ps_builder_track_label(b, group, text(b, "Group 0 Communication"), 0);
    add(b, PS_SLICE_COMM_OP, group, "hcom_allReduce", "");
    uint32_t lane = track(b, PS_TRACK_DERIVED, 6200, -1, 0, "Free");
    add(b, PS_SLICE_DERIVED, lane, "Free", "");
    assert_true(ps_builder_counter(b, track(b, PS_TRACK_COUNTER, 6300, -1, 0, "HBM 0/Read"), 1, 2));
    assert_true(ps_builder_counter(b, track(b, PS_TRACK_COUNTER, 6300, -1, 0, "HBM 1/Read"), 1, 2));
    ps_trace *t = small_seal(b);
    expect_lanes(t, "Python 70 [host/Python]\n"
                    "  Thread 70 (main) [host/Python/main]\n"
                    "    Operators [host/Python/main/ops] host 1\n"
                    "    Python Stack [host/Python/main/python] python 1\n"
                    "  Thread 71 (dequeue) [host/Python/dequeue/ops] host 1\n"
                    "CANN [host/CANN]\n"
                    "  Thread 70 (main) [host/CANN/main]\n"
                    "    Calls [host/CANN/main/ops] host 1\n"
                    "    MSTX [host/CANN/main/marks/] marks 1\n"
                    "Ascend Hardware [device/0/hardware]\n"
                    "  Stream 2 MSTX domain 0 [device/0/stream/2/marks/MSTX domain 0] marks 1\n"
                    "  Stream 2 [device/0/stream/2] device 1\n"
                    "HCCL [device/0/comm]\n"
                    "  Group 0 Communication [device/0/comm/0] comm 1\n"
                    "    Plane 0 [device/0/comm/0/plane/0] plane 1\n"
                    "HBM [device/0/counters/HBM]\n"
                    "  HBM 0/Read [device/0/counter/HBM 0/Read] counter 0\n"
                    "  HBM 1/Read [device/0/counter/HBM 1/Read] counter 0\n"
                    "Overlap Analysis [device/0/overlap]\n"
                    "  Free [device/0/overlap/free] overlap 1\n");
    ps_trace_free(t);
}

/* Kineto and Nsight: operators and calls of a thread nest in one lane; Python and NVTX have their own. */
static void gpu_capture(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    process(b, 40, "python", "CPU", 40);
    process(b, 0, "python", "GPU 0", 5000000);
    uint32_t main = track(b, PS_TRACK_HOST_THREAD, 40, 40, -1, "");
    ps_builder_track_label(b, main, text(b, "thread 40 (pt_main_thread)"), 40);
    add(b, PS_SLICE_HOST_OP, main, "aten::mm", "cpu_op");
    add(b, PS_SLICE_CALL, main, "cudaLaunchKernel", "cuda_runtime");
    add(b, PS_SLICE_PYTHON, main, "f", "python_function");
    uint32_t other = track(b, PS_TRACK_HOST_THREAD, 40, 41, -1, "");
    ps_builder_track_label(b, other, text(b, "thread 41 (pt_data)"), 41);
    add(b, PS_SLICE_CALL, other, "cudaEventQuery", "cuda_runtime");
    uint32_t nvtx = track(b, PS_TRACK_HOST_THREAD, 40, 42, -1, "");
    add(b, PS_SLICE_MARK_HOST, nvtx, "forward", "");
    add(b, PS_SLICE_INSTANT, nvtx, "point", "");
    uint32_t stream = track(b, PS_TRACK_STREAM, 0, 7, 0, "");
    ps_builder_track_label(b, stream, text(b, "stream 7"), 7);
    add(b, PS_SLICE_KERNEL, stream, "gemm", "kernel");
    uint32_t ranges = track(b, PS_TRACK_DERIVED, 0, 7, -1, "gpu_user_annotation");
    add(b, PS_SLICE_DERIVED, ranges, "step", "gpu_user_annotation");
    ps_trace *t = small_seal(b);
    expect_lanes(t,
                 "python 40 [host/0]\n"
                 "  Thread 40 (pt_main_thread) [host/0/main]\n"
                 "    Operators, calls [host/0/main/ops] host 2\n"
                 "    Python Stack [host/0/main/python] python 1\n"
                 "  Thread 41 (pt_data) [host/0/pt_data/ops] host 1\n"
                 "  Thread 42: NVTX [host/0/thread 0/marks/] marks 2\n"
                 "python (GPU 0) [device/0/hardware]\n"
                 "  Stream 7 annotations [device/0/stream/7/ranges/gpu_user_annotation] other 1\n"
                 "  Stream 7 [device/0/stream/7] device 1\n");
    ps_trace_free(t);
}

/* Domains without end share a lane in the end. */
static void many_domains(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t thread = small_thread(b, 1);
    for (int i = 0; i < 1000; i++) {
        char domain[16];
        (void)snprintf(domain, sizeof domain, "d%d", i);
        add(b, PS_SLICE_MARK_HOST, thread, "m", domain);
    }
    ps_trace *t = small_seal(b);
    arranged a = arrange(t);
    expect_tree(&a.lanes);
    expect_all_in(t, &a);
    assert_true(a.lanes.n_lanes < 210);
    finish(&a);
    ps_trace_free(t);
}

/* Threads of one name, processes of one name: their lanes are apart. */
static void equal_names(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    for (int64_t pid = 1; pid <= 2; pid++) {
        process(b, pid, "CANN", "", PS_NO_ORDER);
        for (int64_t tid = 10; tid < 13; tid++) {
            uint32_t thread = track(b, PS_TRACK_HOST_THREAD, pid, tid, -1, "");
            ps_builder_track_label(b, thread, text(b, "worker/x"), PS_NO_ORDER);
            add(b, PS_SLICE_CALL, thread, "call", "");
        }
    }
    ps_trace *t = small_seal(b);
    expect_lanes(t, "CANN [host/CANN]\n"
                    "  Thread 10 (worker/x) [host/CANN/worker|x/ops] host 1\n"
                    "  Thread 11 (worker/x) [host/CANN/worker|x#2/ops] host 1\n"
                    "  Thread 12 (worker/x) [host/CANN/worker|x#3/ops] host 1\n"
                    "CANN [host/CANN#2]\n"
                    "  Thread 10 (worker/x) [host/CANN#2/worker|x/ops] host 1\n"
                    "  Thread 11 (worker/x) [host/CANN#2/worker|x#2/ops] host 1\n"
                    "  Thread 12 (worker/x) [host/CANN#2/worker|x#3/ops] host 1\n");
    ps_trace_free(t);
}

/* Ids of very many threads of one name cost no more than their number. */
static void many_of_a_name(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    for (int64_t tid = 10; tid < 30010; tid++) {
        uint32_t thread = track(b, PS_TRACK_HOST_THREAD, 1, tid, -1, "");
        ps_builder_track_label(b, thread, text(b, "worker"), PS_NO_ORDER);
        add(b, PS_SLICE_CALL, thread, "call", "");
    }
    ps_trace *t = small_seal(b);
    arranged a = arrange(t);
    assert_int_equal(a.lanes.n_lanes, 30000);
    const ps_lane_node *last = &a.lanes.nodes[a.lanes.n_nodes - 1];
    assert_string_equal(last->id, "host/0/worker#30000/ops");
    finish(&a);
    ps_trace_free(t);
}

static void without_memory(void **state) {
    (void)state;
    ps_trace *t = sample_of_everything();
    assert_non_null(t);
    uint32_t *lane_of = calloc((size_t)ps_trace_slices(t)->n + 1, sizeof *lane_of);
    for (int64_t n = 0;; n++) {
        ps_lanes lanes;
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_lanes_init(&lanes, t, lane_of, &err);
        (void)ps_alloc_fail_at(-1);
        if (code == PS_OK) {
            expect_tree(&lanes);
            ps_lanes_fini(&lanes);
            assert_true(n > 10);
            break;
        }
        assert_int_equal(code, PS_NOMEM);
        assert_int_equal(err.code, PS_NOMEM);
    }
    free(lane_of);
    ps_trace_free(t);
}

static void natural_order(void **state) {
    (void)state;
    assert_true(ps_compare_natural("HBM 2/Read", "HBM 10/Read") < 0);
    assert_true(ps_compare_natural("a", "b") < 0 && ps_compare_natural("b", "a") > 0);
    assert_true(ps_compare_natural("a7", "a07") < 0); /* not equal, so that an order is total */
    assert_int_equal(ps_compare_natural("a 10 b", "a 10 b"), 0);
    assert_true(ps_compare_natural("a", "a1") < 0);
    assert_true(ps_compare_natural("99999999999999999999998", "99999999999999999999999") < 0);
    assert_int_equal(ps_counter_family("HBM 0/Read"), 3);
    assert_int_equal(ps_counter_family("NPU Module Mem/SLOG"), 14);
    assert_int_equal(ps_counter_family("AI Core Freq"), 0);
    assert_int_equal(ps_counter_family("0"), 0);
}

/* --- every sample --------------------------------------------------------------------------------------------- */

static size_t check_below(const char *path) {
    ps_cluster *c = ps_cluster_find(path, NULL);
    size_t n = 0;
    for (size_t i = 0; c != NULL && i < c->n_ranks; i++) {
        ps_src src = ps_cluster_src(&c->ranks[i]);
        ps_trace *t = ps_read(&src, EVERYTHING, NULL);
        if (t != NULL) {
            arranged a = arrange(t);
            expect_tree(&a.lanes);
            expect_all_in(t, &a);
            finish(&a);
            n++;
        }
        ps_trace_free(t);
    }
    ps_cluster_free(c);
    return n;
}

static void samples(void **state) {
    (void)state;
    static const char *const DIRS[] = {"chrome",      "kineto",   "ascend_text",   "convert",
                                       "paddle_logs", "pp_chart", "torch_pipeline"};
    size_t n = 0;
    for (size_t i = 0; i < sizeof DIRS / sizeof *DIRS; i++) {
        char path[256];
        (void)snprintf(path, sizeof path, "tests/data/%s", DIRS[i]);
        n += check_below(path);
    }
    assert_true(n > 40);
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    if (shared == NULL || !ps_is_dir(shared)) {
        print_message("shared data are not there: only tests/data was looked at\n");
        return;
    }
    assert_true(check_below(shared) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(database),       cmocka_unit_test(alike_in_all_ranks),
        cmocka_unit_test(text_capture),   cmocka_unit_test(gpu_capture),
        cmocka_unit_test(many_domains),   cmocka_unit_test(equal_names),
        cmocka_unit_test(many_of_a_name), cmocka_unit_test(natural_order),
        cmocka_unit_test(without_memory), cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

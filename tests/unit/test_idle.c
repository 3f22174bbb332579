/* What the host does, and why the device is idle, by hand. Times are nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/rank/copies.h"
#include "analyze/rank/idle.h"
#include "base/alloc.h"

typedef struct maker {
    ps_builder *b;
    uint32_t host, autograd, worker, stream;
} maker;

static uint32_t thread(maker *m, int64_t tid) {
    return ps_builder_track(m->b,
                            (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = tid, .device = -1});
}

static maker begin(void) {
    maker m = {.b = ps_builder_new()};
    assert_non_null(m.b);
    m.host = thread(&m, 1);
    m.autograd = thread(&m, 2);
    m.worker = thread(&m, 3);
    m.stream = ps_builder_track(m.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 7, .device = 0});
    return m;
}

static uint32_t add(maker *m, ps_slice_kind kind, uint32_t track, const char *name, int64_t start,
                    int64_t end) {
    return ps_builder_slice(m->b, kind, track, ps_builder_str(m->b, name, strlen(name)), start, end,
                            0);
}

/* Work that a call of 2 on the thread launched. */
static void launch(maker *m, uint32_t from, int64_t call, ps_slice_kind kind, int64_t start,
                   int64_t end) {
    uint32_t by = add(m, PS_SLICE_CALL, from, "cudaLaunchKernel", call, call + 2);
    ps_builder_flow(m->b, by, add(m, kind, m->stream, "Memcpy HtoD", start, end));
}

typedef struct measured {
    ps_trace *trace;
    ps_links links;
    ps_overlaps overlaps;
    ps_host_activity host;
    ps_idle idle;
    int64_t ns[PS_N_IDLE_CAUSES], comm_ns[PS_N_IDLE_CAUSES];
} measured;

/* Parts are the whole: the causes of each step add up to its idle time, and no moment stands twice. */
static void check(measured *x) {
    memset(x->ns, 0, sizeof x->ns);
    memset(x->comm_ns, 0, sizeof x->comm_ns);
    for (size_t row = 0; row < x->overlaps.n; row++) {
        const ps_overlap *o = &x->overlaps.at[row];
        int64_t sum = 0;
        for (size_t i = 0; i < x->idle.n; i++) {
            sum += x->idle.at[i].row == row ? x->idle.at[i].end_ns - x->idle.at[i].start_ns : 0;
        }
        assert_int_equal(sum, ps_overlap_idle_ns(o));
        assert_in_range(sum, 0, ps_overlap_whole_ns(o));
        assert_true(o->before_ns >= 0 && o->free_ns >= 0 && o->after_ns >= 0);
        assert_true(o->exclude_receive_ns >= 0 && ps_overlap_copies_ns(o) >= 0);
    }
    for (size_t i = 0; i < x->idle.n; i++) {
        const ps_idle_piece *p = &x->idle.at[i];
        assert_true(p->end_ns > p->start_ns);
        assert_true(i == 0 || p->start_ns >= x->idle.at[i - 1].end_ns);
        x->ns[p->cause] += p->end_ns - p->start_ns;
    }
    for (size_t i = 0; i < x->idle.n_comm; i++) {
        const ps_idle_piece *p = &x->idle.comm[i];
        assert_true(p->end_ns > p->start_ns);
        x->comm_ns[p->cause] += p->end_ns - p->start_ns;
    }
    for (size_t row = 0; row < x->overlaps.n; row++) {
        int64_t sum = 0;
        for (size_t i = 0; i < x->idle.n_comm; i++) {
            const ps_idle_piece *p = &x->idle.comm[i];
            sum += p->row == row ? p->end_ns - p->start_ns : 0;
        }
        assert_in_range(sum, 0, x->overlaps.at[row].not_overlapped_ns);
    }
}

static void measure(measured *x, maker *m) {
    x->trace = ps_builder_seal(m->b, NULL);
    assert_non_null(x->trace);
    assert_int_equal(ps_links_init(&x->links, x->trace, NULL), PS_OK);
    assert_int_equal(ps_overlaps_measure(&x->links, -1, true, &x->overlaps, NULL), PS_OK);
    assert_int_equal(ps_host_activity_init(&x->host, &x->links, NULL), PS_OK);
    assert_int_equal(ps_idle_measure(&x->links, &x->overlaps, &x->host, &x->idle, NULL), PS_OK);
    check(x);
}

static void finish(measured *x) {
    ps_idle_fini(&x->idle);
    ps_host_activity_fini(&x->host);
    ps_overlaps_fini(&x->overlaps);
    ps_links_fini(&x->links);
    ps_trace_free(x->trace);
}

/*   0 -  10  nothing recorded but the step       10 - 100  a batch, with an operator and a collection 50 - 60 in it
 * 100 - 120  an operator until the launch of the copy returned at 122; 122 - 130 queued
 * 130 - 200  the copy; the host waits in a synchronising call, which is nobody's idle time
 * 200 - 300  item() until 290, launch 290 - 292, then queued until 300; 300 - 400 a kernel
 * 400 - 500  a range of the program 400 - 450, its operator 420 - 430; nothing 450 - 490, a launch 490 - 492
 * 500 - 600  a kernel; 600 - 650 the optimiser's step until the end of the step */
static void every_moment_has_one_cause(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 3, 0, 650);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "ProfilerStep#3", 0, 650); /* as old captures have it */
    (void)add(&m, PS_SLICE_ANNOTATION, m.host,
              "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 10, 100);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::stack", 20, 90);
    (void)add(&m, PS_SLICE_ANNOTATION, m.worker, "Python GC", 50, 60);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::copy_", 100, 125);
    launch(&m, m.host, 120, PS_SLICE_COPY, 130, 200);
    (void)add(&m, PS_SLICE_CALL, m.host, "cudaStreamSynchronize", 126, 201);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::item", 202, 290);
    (void)add(&m, PS_SLICE_CALL, m.host, "cudaStreamSynchronize", 210, 280);
    launch(&m, m.host, 290, PS_SLICE_KERNEL, 300, 400);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "## backward ##", 400, 450);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::mm", 420, 430);
    launch(&m, m.autograd, 490, PS_SLICE_KERNEL, 500, 600);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "Optimizer.step#AdamW.step", 600, 650);
    (void)add(&m, PS_SLICE_CALL, m.worker, "cudaStreamSynchronize", 0, 650); /* launches nothing */
    measured x;
    measure(&x, &m);
    assert_int_equal(x.overlaps.n, 1);
    assert_int_equal(ps_overlap_idle_ns(&x.overlaps.at[0]), 650 - 70 - 200);
    assert_int_equal(ps_overlap_copies_ns(&x.overlaps.at[0]), 70);
    assert_int_equal(x.ns[PS_ACTIVITY_DATA], 80);
    assert_int_equal(x.ns[PS_ACTIVITY_GC], 10);
    assert_int_equal(x.ns[PS_ACTIVITY_FRAMEWORK], 20 + 10);
    assert_int_equal(x.ns[PS_ACTIVITY_CALL], 2 + 2 + 2);
    assert_int_equal(x.ns[PS_ACTIVITY_COPY], 88);
    assert_int_equal(x.ns[PS_ACTIVITY_SYNC], 1); /* 200 to 201: until it returned */
    assert_int_equal(x.ns[PS_ACTIVITY_RANGE], 40);
    assert_int_equal(x.ns[PS_ACTIVITY_OPTIMIZER], 50);
    assert_int_equal(x.ns[PS_ACTIVITY_NONE], 10 + 1 + 40);
    assert_int_equal(x.ns[PS_IDLE_QUEUED], 8 + 8 + 8);
    finish(&x);
}

/* A frame that began before the step and ends in it, at 30 (the profiler's own, which opens the step's range): what the thread does until
 * then is the frame's, though the range begins inside of it. Behind it nothing is recorded until the launch at 190. */
static void frames_that_cross_a_step(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 3, 100, 300);
    (void)add(&m, PS_SLICE_PYTHON, m.host, "main.py(3): train", 0, 400);
    (void)add(&m, PS_SLICE_PYTHON, m.host, "profiler.py(241): step", 80, 130);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "ProfilerStep#3", 100, 300);
    launch(&m, m.host, 190, PS_SLICE_KERNEL, 192, 300);
    measured x;
    measure(&x, &m);
    assert_int_equal(x.ns[PS_ACTIVITY_FRAMEWORK], 30);
    assert_int_equal(x.ns[PS_ACTIVITY_NONE], 60);
    assert_int_equal(x.ns[PS_ACTIVITY_CALL], 2);
    finish(&x);
}

/* Communication beside which nothing computes, 100 - 200: what computes next is launched at 160 by a call of 2, from a range of 150 -
 * 170 behind an operator of 90 - 140; the rest it waits in its queue. A receive, 320 - 360, is no late host. Behind 500 - 600
 * nothing computes: nobody knows. */
static void communication_alone_has_causes(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 3, 0, 700);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "origin", 0, 1);
    launch(&m, m.host, 5, PS_SLICE_KERNEL, 10, 100);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::mm", 90, 140);
    (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 100,
              200);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "mine", 150, 170);
    launch(&m, m.host, 160, PS_SLICE_KERNEL, 200, 300);
    (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 310,
              400);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "PP:1RECV_F0", 320, 360);
    launch(&m, m.host, 398, PS_SLICE_KERNEL, 410, 500);
    (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL", 500,
              600);
    measured x;
    measure(&x, &m);
    assert_int_equal(x.overlaps.at[0].not_overlapped_ns, 100 + 90 + 100);
    assert_int_equal(x.comm_ns[PS_ACTIVITY_FRAMEWORK], 40);
    assert_int_equal(x.comm_ns[PS_ACTIVITY_RANGE], 10);
    assert_int_equal(x.comm_ns[PS_ACTIVITY_CALL], 2 + 2);
    assert_int_equal(x.comm_ns[PS_ACTIVITY_RECEIVE], 40);
    assert_int_equal(x.comm_ns[PS_ACTIVITY_NONE], 10 + 10 + 38);
    assert_int_equal(x.comm_ns[PS_IDLE_QUEUED], 38);
    finish(&x);
}

/* Behind the communication at the end of a step only the next step computes: whether anything could have stood beside it nobody
 * knows, in the last step of a capture as in those before it. */
static void the_next_step_hides_nothing(void **state) {
    (void)state;
    maker m = begin();
    for (int step = 0; step < 2; step++) {
        int64_t at = 500 * step;
        ps_builder_step(m.b, step, at, at + 500);
        launch(&m, m.host, at + 5, PS_SLICE_KERNEL, at + 10, at + 100);
        (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                  at + 100, at + 200);
        launch(&m, m.host, at + 190, PS_SLICE_KERNEL, at + 200, at + 300);
        (void)add(&m, PS_SLICE_COMM_KERNEL, m.stream, "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
                  at + 300, at + 450);
    }
    measured x;
    measure(&x, &m);
    int64_t sum_ns = 0;
    for (size_t i = 0; i < x.idle.n_comm; i++) {
        sum_ns += x.idle.comm[i].end_ns - x.idle.comm[i].start_ns;
    }
    assert_int_equal(sum_ns, 2 * 100);
    finish(&x);
}

/* Two all-reduces of a backward pass. Beside the first, 100 - 200, the last node of the pass could compute, whose launch comes at 160.
 * Behind the second, 300 - 400, only what works with the gradients is left: their norm, launched at 420 behind the last node, and the
 * optimiser's step. Nothing can hide it. What the optimiser's step itself gathers, 600 - 700, its own next kernel may hide. */
static void the_last_reduction_stays(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 3, 0, 900);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "origin", 0, 1);
    launch(&m, m.host, 5, PS_SLICE_KERNEL, 10, 100);
    (void)add(&m, PS_SLICE_HOST_OP, m.autograd,
              "autograd::engine::evaluate_function: AddmmBackward0", 50, 240);
    launch(&m, m.autograd, 60, PS_SLICE_COMM_KERNEL, 100, 200);
    launch(&m, m.autograd, 160, PS_SLICE_KERNEL, 200, 300);
    launch(&m, m.autograd, 230, PS_SLICE_COMM_KERNEL, 300, 400);
    launch(&m, m.host, 420, PS_SLICE_KERNEL, 430, 500);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "Optimizer.step#AdamW.step", 450, 800);
    launch(&m, m.host, 460, PS_SLICE_COMM_KERNEL, 600, 700);
    launch(&m, m.host, 690, PS_SLICE_KERNEL, 700, 800);
    measured x;
    measure(&x, &m);
    int64_t sum_ns = 0;
    for (int cause = 0; cause < PS_N_IDLE_CAUSES; cause++) {
        sum_ns += x.comm_ns[cause];
    }
    assert_int_equal(x.overlaps.at[0].not_overlapped_ns, 100 + 100 + 100);
    assert_int_equal(sum_ns, 100 + 100);
    assert_int_equal(x.idle.awaited_comm_ns, 100);
    assert_int_equal(x.comm_ns[PS_ACTIVITY_OPTIMIZER], 92);
    finish(&x);
}

/* A receive of a thread that launches counts before all else, one of another thread for nothing. What nobody launched is
 * unknown, and a copy that nobody launched leaves it to the kernel behind it. */
static void receives_and_the_unknown(void **state) {
    (void)state;
    maker m = begin();
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "origin", 0, 1);
    launch(&m, m.host, 5, PS_SLICE_KERNEL, 10, 100);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "PP:1RECV_F0", 120, 150);
    (void)add(&m, PS_SLICE_PYTHON, m.host, "x.py(1): recv_forward", 150, 180);
    (void)add(&m, PS_SLICE_ANNOTATION, m.worker, "PP:1RECV_F1", 0, 400);
    launch(&m, m.host, 190, PS_SLICE_KERNEL, 200, 300);
    (void)add(&m, PS_SLICE_KERNEL, m.stream, "k", 310, 400);
    (void)add(&m, PS_SLICE_COPY, m.stream, "Memcpy HtoD", 420, 430);
    launch(&m, m.host, 450, PS_SLICE_KERNEL, 460, 500);
    measured x;
    measure(&x, &m);
    assert_int_equal(x.ns[PS_ACTIVITY_RECEIVE], 30);
    assert_int_equal(x.ns[PS_IDLE_UNKNOWN], 10);
    assert_int_equal(x.ns[PS_ACTIVITY_FRAMEWORK], 30);
    assert_int_equal(x.ns[PS_ACTIVITY_CALL], 2 + 2);
    assert_int_equal(x.ns[PS_IDLE_QUEUED], 8 + 8);
    assert_int_equal(x.ns[PS_ACTIVITY_NONE], 20 + 10 + 20 + 20);
    finish(&x);
}

static void names_are_whole(void **state) {
    (void)state;
    static const struct {
        ps_slice_kind kind;
        const char *name;
        ps_activity activity;
    } CASES[] = {
        {PS_SLICE_CALL, "cudaMemcpy_v3020", PS_ACTIVITY_COPY},
        {PS_SLICE_CALL, "cudaMemcpyAsync", PS_ACTIVITY_CALL},
        {PS_SLICE_CALL, "cuMemcpyHtoD_v2", PS_ACTIVITY_COPY},
        {PS_SLICE_CALL, "cuMemcpyHtoDAsync_v2", PS_ACTIVITY_CALL},
        {PS_SLICE_CALL, "cudaStreamSynchronize_ptsz_v7000", PS_ACTIVITY_SYNC},
        {PS_SLICE_CALL, "AscendCL@aclrtSynchronizeStream", PS_ACTIVITY_SYNC},
        {PS_SLICE_CALL, "cudaStreamSynchronizer", PS_ACTIVITY_CALL},
        {PS_SLICE_HOST_OP, "aten::item", PS_ACTIVITY_COPY},
        {PS_SLICE_HOST_OP, "my::aten::item", PS_ACTIVITY_FRAMEWORK},
        {PS_SLICE_PYTHON, "torch/utils/data/dataloader.py(625): __next__", PS_ACTIVITY_DATA},
        {PS_SLICE_PYTHON, "/x/torch/utils/data/dataloader.py(625): __next__", PS_ACTIVITY_DATA},
        {PS_SLICE_PYTHON, "notorch/utils/data/dataloader.py(1): __next__", PS_ACTIVITY_FRAMEWORK},
        {PS_SLICE_PYTHON, "my/DataLoader_fetch.py(1): fetch", PS_ACTIVITY_FRAMEWORK},
        {PS_SLICE_PYTHON, "torch/serialization.py(943): save", PS_ACTIVITY_CHECKPOINT},
        {PS_SLICE_PYTHON, "subproc_pool.py(57): _recv_msg", PS_ACTIVITY_FRAMEWORK},
        {PS_SLICE_CALL, "AscendCL@aclopCompileAndExecute", PS_ACTIVITY_COMPILE},
        {PS_SLICE_CALL, "cudaMalloc", PS_ACTIVITY_MEMORY},
        {PS_SLICE_CALL, "cudaMallocAsync", PS_ACTIVITY_CALL},
        {PS_SLICE_ANNOTATION, "backend_compile (dynamo_timed)", PS_ACTIVITY_COMPILE},
        {PS_SLICE_PYTHON, "gc.collect.py(1): f", PS_ACTIVITY_FRAMEWORK},
        {PS_SLICE_ANNOTATION, "Python GC gen 2", PS_ACTIVITY_GC},
        {PS_SLICE_ANNOTATION, "nccl:recv 0<-1", PS_ACTIVITY_RECEIVE},
        {PS_SLICE_ANNOTATION, "nccl:send 0->1", PS_ACTIVITY_RANGE},
        {PS_SLICE_ANNOTATION, "PP:2RECV_B0", PS_ACTIVITY_RECEIVE},
        {PS_SLICE_ANNOTATION, "PP:2SEND_F1", PS_ACTIVITY_RANGE},
        {PS_SLICE_MARK_HOST, "comm:HcclReceive,g,fp16,8", PS_ACTIVITY_RECEIVE},
        {PS_SLICE_ANNOTATION, "receive the results", PS_ACTIVITY_RANGE},
        {PS_SLICE_ANNOTATION, "save_checkpoint", PS_ACTIVITY_CHECKPOINT},
        {PS_SLICE_ANNOTATION, "Optimizer.step#SGD.step", PS_ACTIVITY_OPTIMIZER},
        {PS_SLICE_KERNEL, "aten::item", PS_ACTIVITY_NONE}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        if (ps_activity_of(CASES[i].kind, CASES[i].name) != CASES[i].activity) {
            fail_msg("%s: %s", CASES[i].name,
                     ps_activity_text(PS_ENGLISH, ps_activity_of(CASES[i].kind, CASES[i].name)));
        }
    }
}

/* The operator ends at 210, the other thread calls at 290: from 210 on it is the caller's turn. */
static void a_queue_between_the_threads(void **state) {
    (void)state;
    maker m = begin();
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "origin", 0, 1);
    launch(&m, m.autograd, 5, PS_SLICE_KERNEL, 10, 100);
    uint32_t op = add(&m, PS_SLICE_HOST_OP, m.host, "aten::mm", 150, 210);
    (void)add(&m, PS_SLICE_HOST_OP, m.host, "aten::item", 215, 400); /* further on already */
    (void)add(&m, PS_SLICE_CALL, m.autograd, "aclopCompileAndExecute", 220, 280);
    uint32_t call = add(&m, PS_SLICE_CALL, m.autograd, "launch", 290, 292);
    uint32_t k = add(&m, PS_SLICE_KERNEL, m.stream, "k", 300, 400);
    ps_builder_flow(m.b, op, k);
    ps_builder_flow(m.b, call, k);
    measured x;
    measure(&x, &m);
    assert_int_equal(x.ns[PS_ACTIVITY_NONE], 50);
    assert_int_equal(x.ns[PS_ACTIVITY_FRAMEWORK], 60);
    assert_int_equal(x.ns[PS_ACTIVITY_CALL], 292 - 210 - 60);
    assert_int_equal(x.ns[PS_ACTIVITY_COMPILE], 60);
    assert_int_equal(x.ns[PS_ACTIVITY_COPY], 0);
    assert_int_equal(x.ns[PS_IDLE_QUEUED], 8);
    finish(&x);
}

static void directions_of_copies(void **state) {
    (void)state;
    static const struct {
        const char *name, *direction, *memory;
    } CASES[] = {{"Memcpy HtoD (Pageable -> Device)", "H2D", "pageable"},
                 {"Memcpy DtoH (Device -> Pinned)", "D2H", "pinned"},
                 {"Memcpy DtoD (Device -> Device)", "D2D", NULL},
                 {"Memcpy HtoD (Host -> Device)", "H2D", NULL},
                 {"Memcpy PtoP (Device -> Device)", "P2P", NULL},
                 {"Memcpy UVM HtoD", "H2D", NULL},
                 {"CopyDeviceToHost", "D2H", NULL},
                 {"Memset (Device)", "fill", NULL},
                 {"device to host", "D2H", NULL},
                 {"MEMCPY_ASYNC", NULL, NULL},
                 {"my HtoD kernel", NULL, NULL}};
    maker m = begin();
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        (void)add(&m, PS_SLICE_COPY, m.stream, CASES[i].name, (int64_t)i * 10, (int64_t)i * 10 + 5);
    }
    ps_trace *t = ps_builder_seal(m.b, NULL);
    assert_non_null(t);
    ps_copy_keys keys = ps_copy_keys_of(t);
    for (uint32_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_copy copy = ps_copy_read(t, &keys, i);
        if (CASES[i].direction == NULL) {
            assert_null(copy.direction);
        } else {
            assert_string_equal(copy.direction, CASES[i].direction);
        }
        if (CASES[i].memory == NULL) {
            assert_null(copy.memory);
        } else {
            assert_string_equal(copy.memory, CASES[i].memory);
        }
        assert_int_equal(copy.bytes, -1);
    }
    ps_trace_free(t);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    maker m = begin();
    ps_builder_step(m.b, 4, 0, 300);
    (void)add(&m, PS_SLICE_ANNOTATION, m.host, "nccl:recv", 0, 5);
    launch(&m, m.host, 5, PS_SLICE_KERNEL, 10, 100);
    (void)add(&m, PS_SLICE_COPY, m.stream, "Memcpy HtoD", 110, 120);
    launch(&m, m.autograd, 150, PS_SLICE_KERNEL, 200, 250);
    measured x;
    measure(&x, &m);
    bool has_failed = true;
    for (int64_t n = 0; has_failed; n++) {
        ps_host_activity host;
        ps_idle idle = {.at = NULL};
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_host_activity_init(&host, &x.links, NULL);
        code = code == PS_OK ? ps_idle_measure(&x.links, &x.overlaps, &host, &idle, NULL) : code;
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        ps_idle_fini(&idle);
        ps_host_activity_fini(&host);
        assert_true(n < 200);
    }
    finish(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_moment_has_one_cause),
        cmocka_unit_test(frames_that_cross_a_step),
        cmocka_unit_test(communication_alone_has_causes),
        cmocka_unit_test(the_next_step_hides_nothing),
        cmocka_unit_test(the_last_reduction_stays),
        cmocka_unit_test(receives_and_the_unknown),
        cmocka_unit_test(names_are_whole),
        cmocka_unit_test(a_queue_between_the_threads),
        cmocka_unit_test(directions_of_copies),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The backend cuda_event against an EMULATED driver (tests/programs/lib_cuda.c says what it is and is not): what a real GPU does
 * is looked at by tests/e2e/record_gpu.sh, where there is one. The parts of the recorder that the backend hands its results to are
 * replaced by notes of what came. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../programs/lib_cuda.h"
#include "record/core/device.h"
#include "record/core/events.h"
#include "record/gpu/cuda_contexts.h"
#include "record/gpu/cuda_driver.h"
#include "record/gpu/device_choose.h"
#include "record/gpu/device_gpu.h"
#include "record/gpu/gpu_thread.h"
#include "record/ring/log.h"
#include "record/session/session_parts.h"
#include "support/record_device_notes.h"

/* --- the emulated driver -------------------------------------------------------------------------------------------------- */

static void *library;
static struct {
    int (*Init)(unsigned);
    int (*CtxCreate)(void **, unsigned, int);
    int (*CtxDestroy)(void *);
    int (*CtxSetCurrent)(void *);
    int (*CtxSynchronize)(void);
    int (*StreamCreate)(void **, unsigned);
    int (*StreamBeginCapture)(void *, int);
    int (*StreamEndCapture)(void *, void **);
    int (*LaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
    int64_t (*now)(void);
    void (*advance)(int64_t);
    void (*break_call)(const char *, int, int, int);
    void (*get_counts)(emu_counts *);
    void (*on_activity)(void (*)(const emu_activity *));
} cu;

#define GET(member, symbol)                                                                        \
    do {                                                                                           \
        void *address = dlsym(library, symbol);                                                    \
        assert_non_null(address);                                                                  \
        memcpy(&cu.member, &address, sizeof address);                                              \
    } while (0)

static void load_driver(void) {
    char path[4096];
    emulated_path(path, sizeof path, "libcuda.so.1");
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fail_msg("%s", dlerror());
    }
    GET(Init, "cuInit");
    GET(CtxCreate, "cuCtxCreate_v2");
    GET(CtxDestroy, "cuCtxDestroy_v2");
    GET(CtxSetCurrent, "cuCtxSetCurrent");
    GET(CtxSynchronize, "cuCtxSynchronize");
    GET(StreamCreate, "cuStreamCreate");
    GET(StreamBeginCapture, "cuStreamBeginCapture_v2");
    GET(StreamEndCapture, "cuStreamEndCapture");
    GET(LaunchKernel, "cuLaunchKernel");
    GET(now, "emu_host_ns");
    GET(advance, "emu_advance");
    GET(break_call, "emu_fail");
    GET(get_counts, "emu_get_counts");
    GET(on_activity, "emu_on_activity");
}

static int64_t kernel_start[MAX_ROWS], kernel_end[MAX_ROWS];
static size_t n_kernels;
static void note_kernel(const emu_activity *a) {
    (void)pthread_mutex_lock(&notes);
    if (n_kernels < MAX_ROWS) {
        kernel_start[n_kernels] = a->start;
        kernel_end[n_kernels++] = a->end;
    }
    (void)pthread_mutex_unlock(&notes);
}
static void launch(void *stream, uint64_t ns) {
    assert_int_equal(
        cu.LaunchKernel((void *)"spin", 1, 1, 1, 1, 1, 1, 0, stream, (void *[]){&ns}, NULL), 0);
}

/* --- a recording ---------------------------------------------------------------------------------------------------------- */

static void *context;
static ps_rec_config config;

static void begin(int which, uint64_t pool) {
    forget_notes();
    (void)pthread_mutex_lock(&notes);
    n_kernels = 0;
    (void)pthread_mutex_unlock(&notes);
    config.backend = which;
    config.event_pool = pool;
    ps_device_choose(&config);
}
static void finish(void) {
    const ps_rec_device *d = now_device();
    if (d->drain != NULL) {
        d->drain(5000);
    }
    if (d->close != NULL) {
        d->close();
    }
}
static void range(uint64_t id, void *stream, uint64_t ns) {
    now_device()->start(id, stream);
    launch(stream, ns);
    now_device()->end(id);
}
static const row *row_of(uint64_t id) {
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].id == id) {
            return &rows[i];
        }
    }
    fail_msg("no device time for %" PRIu64, id);
    return NULL;
}
/* The widest of the recording, and what floats and rounding add. */
static int64_t uncertainty(void) {
    int64_t half = 0;
    for (size_t i = 0; i < n_anchors; i++) {
        half = (int64_t)anchors[i].id > half ? (int64_t)anchors[i].id : half;
    }
    return half + 100;
}
static uint64_t misuse(void) {
    emu_counts c;
    cu.get_counts(&c);
    return c.misuse;
}

/* --- tests ------------------------------------------------------------------------------------------------------------------ */

static void test_no_driver(void **state) {
    (void)state;
    assert_null(ps_cuda_driver(NULL));
    begin(PS_BACKEND_AUTO, 1024);
    assert_string_equal(now_device()->name, "host");
    assert_null(now_device()->tick); /* a program without a GPU is not woken for it */
    now_device()->start(1, (void *)1);
    assert_string_equal(now_device()->name, "host");
    finish();
    assert_int_equal(n_logs, 0);

    begin(PS_BACKEND_CUDA_EVENT, 1024);
    now_device()->mark(2, (void *)1);
    finish();
    assert_int_equal(n_logs, 1); /* it was asked for, so it is said */
    assert_false(ps_gpu_thread_running());
}

/* The program loads its driver, and makes its context, in the middle of a recording. */
static void test_driver_comes_late(void **state) {
    (void)state;
    begin(PS_BACKEND_AUTO, 1024);
    now_device()->start(1, (void *)1);
    load_driver();
    now_device()->start(2, (void *)1); /* the program's threads looked once, and do not again */
    assert_null(ps_cuda_driver_found());
    assert_false(ps_gpu_thread_running());
    now_device()->look(); /* the writer does */
    assert_true(ps_gpu_thread_do(0, 2000));
    assert_non_null(ps_cuda_driver_found());
    now_device()->start(2, (void *)1);
    assert_string_equal(now_device()->name,
                        "host"); /* nothing is initialised, and we do not do it */
    assert_int_equal(cu.Init(0), 0);
    now_device()->start(3, (void *)1);
    assert_string_equal(now_device()->name, "host"); /* no context */
    assert_int_equal(cu.CtxCreate(&context, 0, 0), 0);
    range(4, (void *)1, 10000);
    assert_string_equal(now_device()->name, "cuda_event");
    now_device()->end(1); /* begun before: nothing to be found */
    finish();
    assert_int_equal(n_rows, 1);
    assert_int_equal(rows[0].id, 4);
    assert_string_equal(backend, "cuda_event");
    assert_string_equal(device, "{\"id\":0,\"name\":\"Emulated GPU 0\"}");
    emu_counts c;
    cu.get_counts(&c);
    assert_true(c.proc_addresses > 10);
    assert_int_equal(c.misuse, 0);
}

/* A kernel keeps the stream busy, so that ranges lie where their kernels do, to the nanosecond. */
static void test_accuracy(void **state) {
    (void)state;
    static const uint64_t lengths[] = {1000, 10000, 100000, 1000000};
    void *stream;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    assert_string_equal(now_device()->name, "cuda_event");
    assert_int_equal(cu.StreamCreate(&stream, 1), 0);
    cu.on_activity(note_kernel);
    launch(stream, 30000000); /* however this thread is kept from its processor meanwhile */
    for (uint64_t i = 0; i < 40; i++) {
        range(100 + i, stream, lengths[i % 4]);
    }
    finish();
    cu.on_activity(NULL);
    assert_int_equal(n_rows, 40);
    int64_t allowed = uncertainty(), worst = 0;
    for (size_t i = 0; i < 40; i++) {
        const row *r = row_of(100 + i);
        int64_t off = llabs(r->start - kernel_start[i + 1]);
        worst = off > worst ? off : worst;
        assert_in_range(off, 0, (uint64_t)allowed);
        assert_in_range(llabs(r->end - kernel_end[i + 1]), 0, (uint64_t)allowed);
        assert_in_range(llabs((r->end - r->start) - (int64_t)lengths[i % 4]), 0, 200);
        assert_ptr_equal((void *)(uintptr_t)r->more.stream, stream);
    }
    print_message("# emulated: ranges at most %" PRId64 " ns off, anchors said %" PRId64 "\n",
                  worst, allowed);
}

static void test_capture(void **state) {
    (void)state;
    void *streams[2], *graph;
    emu_counts before, after;
    cu.get_counts(&before);
    for (int mode = 0; mode < 3; mode++) {
        begin(PS_BACKEND_CUDA_EVENT, 1024);
        assert_int_equal(cu.StreamCreate(&streams[0], 0), 0);
        assert_int_equal(cu.StreamCreate(&streams[1], 1), 0);
        range(1, streams[1], 50000);
        now_device()->start(2, streams[0]); /* its end will be captured */
        assert_int_equal(cu.StreamBeginCapture(streams[0], mode), 0);
        range(3, streams[0], 1000);        /* captured */
        now_device()->start(4, (void *)1); /* the default stream may not be touched now */
        now_device()->end(4);
        range(5, streams[1], 1000); /* another stream may */
        now_device()->end(2);
        /* The GPU thread makes events, anchors and asks for times meanwhile. */
        now_device()->step();
        now_device()->tick();
        (void)usleep(20000);
        assert_true(ps_gpu_thread_do(PS_GPU_ANCHOR | PS_GPU_RESOLVE | PS_GPU_SETUP, 2000));
        assert_int_equal(cu.StreamEndCapture(streams[0], &graph), 0);
        finish();
        assert_int_equal(n_rows, 2);
        (void)row_of(1);
        (void)row_of(5);
        assert_int_equal(drops[PS_DROP_CAPTURING], 3);
    }
    cu.get_counts(&after);
    assert_int_equal(after.broken_captures, before.broken_captures);
    assert_int_equal(after.captured_events, before.captured_events);
    assert_int_equal(after.misuse, 0);
}

static void test_pool_empty(void **state) {
    (void)state;
    void *other;
    begin(PS_BACKEND_CUDA_EVENT, 8);
    assert_int_equal(cu.CtxCreate(&other, 0, 1), 0);
    for (uint64_t i = 1; i <= 6; i++) {
        now_device()->start(i, (void *)1);
    }
    assert_int_equal(drops[PS_DROP_EVENT_POOL_EMPTY], 2);
    /* While no range has ended nothing can come back, however soon the other thread looks. */
    now_device()->mark(7, (void *)1);
    assert_int_equal(drops[PS_DROP_EVENT_POOL_EMPTY], 3);
    for (uint64_t i = 1; i <= 6; i++) {
        now_device()->end(i); /* those that began always find their end's event */
    }
    assert_true(ps_gpu_thread_do(PS_GPU_RESOLVE, 2000)); /* what the full pool asked for */
    (void)usleep(1000);
    assert_true(ps_gpu_thread_do(PS_GPU_RESOLVE, 2000));
    range(8, (void *)1, 1000);
    finish();
    assert_int_equal(n_rows, 5);
    assert_int_equal(row_of(8)->more.device, 1);
    assert_int_equal(cu.CtxDestroy(other), 0);
    assert_int_equal(cu.CtxSetCurrent(context), 0);
}

static void test_bad_streams(void **state) {
    (void)state;
    static uint64_t nothing[8];
    emu_counts before, after;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    now_device()->start(1, nothing);
    now_device()->end(1);
    assert_int_equal(drops[PS_DROP_BAD_STREAM], 1);
    cu.get_counts(&before);
    now_device()->start(2, nothing);             /* refused once, not asked again */
    now_device()->start(3, (void *)5);           /* a lane of a program without a GPU */
    now_device()->start(4, (char *)nothing + 3); /* no pointer */
    cu.get_counts(&after);
    assert_int_equal(after.calls_here, before.calls_here);
    assert_int_equal(drops[PS_DROP_BAD_STREAM], 4);
    assert_int_equal(cu.CtxSetCurrent(NULL), 0);
    now_device()->start(5, (void *)1);
    assert_int_equal(drops[PS_DROP_NO_CONTEXT], 1);
    assert_int_equal(cu.CtxSetCurrent(context), 0);
    range(6, (void *)1, 1000);
    finish();
    assert_int_equal(n_rows, 1);
}

static void test_two_contexts(void **state) {
    (void)state;
    void *other, *stream, *other_stream;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    assert_int_equal(cu.StreamCreate(&stream, 0), 0);
    assert_int_equal(cu.CtxCreate(&other, 0, 1), 0);
    assert_int_equal(cu.StreamCreate(&other_stream, 0), 0);
    range(1, other_stream, 5000);
    range(2, (void *)1, 5000);
    now_device()->start(3, (void *)1);
    now_device()->start(4, other_stream);
    assert_int_equal(cu.CtxSetCurrent(context), 0);
    now_device()->end(3); /* another context's default stream by now */
    now_device()->end(4); /* a stream of its own says where it belongs */
    /* A context that is not current here: its events are the GPU thread's to make. */
    range(5, stream, 5000);
    finish();
    assert_int_equal(n_rows, 4);
    assert_int_equal(row_of(1)->more.device, 1);
    assert_int_equal(row_of(5)->more.device, 0);
    assert_int_equal(drops[PS_DROP_NO_CONTEXT], 1);
    assert_int_equal(cu.CtxDestroy(other), 0);
    assert_int_equal(misuse(), 0);
}

/* Contexts end while times are pending; the handle comes again at once. */
static void test_context_destroyed(void **state) {
    (void)state;
    void *dying, *again;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    assert_int_equal(cu.CtxCreate(&dying, 0, 1), 0);
    range(1, (void *)1, 1000);
    now_device()->start(2, (void *)1);
    assert_true(ps_gpu_thread_do(PS_GPU_SETUP, 2000));
    assert_int_equal(cu.CtxDestroy(dying), 0);
    assert_int_equal(cu.CtxCreate(&again, 0, 1), 0);
    assert_ptr_equal(again, dying);
    now_device()->end(2);
    range(3, (void *)1, 1000);
    finish();
    assert_int_equal(n_rows, 1);
    (void)row_of(3);
    assert_int_equal(drops[PS_DROP_UNRESOLVED], 1);
    assert_int_equal(drops[PS_DROP_NO_CONTEXT], 1);
    assert_int_equal(cu.CtxDestroy(again), 0);
    begin(PS_BACKEND_CUDA_EVENT,
          1024); /* nothing of it is touched when the next recording begins */
    assert_int_equal(cu.CtxSetCurrent(context), 0);
    range(4, (void *)1, 1000);
    finish();
    assert_int_equal(n_rows, 1);
    assert_int_equal(misuse(), 0);
}

static void test_sticky_error(void **state) {
    (void)state;
    void *broken;
    emu_counts before, after;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    assert_int_equal(cu.CtxCreate(&broken, 0, 1), 0);
    range(1, (void *)1, 1000);
    assert_true(ps_gpu_thread_do(PS_GPU_SETUP, 2000));
    cu.break_call("cuEventRecord", 700, 0, 0);
    now_device()->start(2, (void *)1);
    cu.get_counts(&before);
    for (uint64_t i = 3; i < 50; i++) {
        now_device()->start(i, (void *)1);
        now_device()->end(i);
    }
    assert_int_equal(drops[PS_DROP_DEVICE_FAULT], 48);
    finish();
    cu.get_counts(&after);
    assert_int_equal(after.after_sticky, before.after_sticky); /* no call since */
    assert_int_equal(drops[PS_DROP_UNRESOLVED], 1);
    assert_int_equal(cu.CtxDestroy(broken), 0);
    assert_int_equal(cu.CtxSetCurrent(context), 0);
}

/* Two hours of a range every second, and an hour of silence. Measured from the first anchor, floats would be 0.5 ms apart by
 * then. The clock of the device runs 30 ppm faster. */
static void test_long_run(void **state) {
    (void)state;
    enum { SECONDS = 7200 };
    void *stream;
    ps_cuda_now = cu.now;
    begin(PS_BACKEND_CUDA_EVENT, 64);
    assert_int_equal(cu.StreamCreate(&stream, 1), 0);
    cu.on_activity(note_kernel);
    int64_t worst = 0, worst_length = 0;
    for (uint64_t i = 0; i < SECONDS; i++) {
        if (i % 20 == 0) {
            (void)pthread_mutex_lock(&notes);
            n_rows = n_kernels = n_anchors = 0;
            (void)pthread_mutex_unlock(&notes);
            int64_t before = cu.now();
            launch(stream, 200000);
            range(i + 1, stream, 123456);
            bool in_time =
                cu.now() - before < 200000; /* else the range is as long as this thread was away */
            cu.advance(400000);
            assert_true(ps_gpu_thread_do(PS_GPU_ANCHOR | PS_GPU_RESOLVE, 2000));
            (void)pthread_mutex_lock(&notes);
            const row *r = row_of(i + 1);
            int64_t off = in_time ? llabs(r->start - kernel_start[1]) : 0;
            worst = off > worst ? off : worst;
            off = in_time ? llabs(r->end - r->start - 123456) : 0;
            worst_length = off > worst_length ? off : worst_length;
            (void)pthread_mutex_unlock(&notes);
        } else {
            now_device()->mark(1000000 + i, stream);
            cu.advance(500000);
            assert_true(ps_gpu_thread_do(PS_GPU_ANCHOR, 2000));
        }
        cu.advance(i == SECONDS / 2 ? INT64_C(3600000000000) : 500000000);
    }
    finish();
    cu.on_activity(NULL);
    print_message("# emulated: after two hours ranges at most %" PRId64 " ns off, lengths %" PRId64
                  " ns\n",
                  worst, worst_length);
    assert_in_range(worst_length, 0, 50);
    assert_in_range(worst, 0,
                    5000000); /* a bracket of a busy machine; the clocks drift 216 ms apart */
    assert_int_equal(misuse(), 0);
}

typedef struct worker {
    void *stream;
    uint64_t first;
} worker;
static void *worker_main(void *arg) {
    worker *w = arg;
    (void)cu.CtxSetCurrent(context);
    for (uint64_t i = 0; i < 300; i++) {
        range(w->first + i, w->stream, 100);
        now_device()->mark(w->first + 100000 + i, w->stream);
        if (i % 20 == 0) {
            now_device()->step();
            now_device()->tick();
            (void)usleep(
                500); /* recording an event costs nothing here, unlike on a GPU: the pool could not keep up */
        }
    }
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { N = 4 };
    pthread_t threads[N];
    worker workers[N];
    begin(PS_BACKEND_CUDA_EVENT, 16384);
    range(1, (void *)1, 100);
    for (uint64_t i = 0; i < N; i++) {
        workers[i] = (worker){.stream = i == 0 ? (void *)1 : (void *)2, .first = 1000 + i * 1000};
        if (i == 2) {
            assert_int_equal(cu.StreamCreate(&workers[i].stream, 1), 0);
        }
        assert_int_equal(pthread_create(&threads[i], NULL, worker_main, &workers[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    finish();
    assert_int_equal(n_rows + drops[PS_DROP_EVENT_POOL_EMPTY], 1 + N * 600);
    assert_int_equal(misuse(), 0);
    /* Each thread's own default stream is a lane of its own. */
    uint64_t lanes[N] = {0};
    for (size_t i = 0; i < n_rows; i++) {
        uint64_t w = rows[i].id % 100000 / 1000 - 1;
        if (rows[i].id > 1) {
            assert_true(lanes[w] == 0 || lanes[w] == rows[i].more.stream);
            lanes[w] = rows[i].more.stream;
        }
    }
    assert_int_equal(lanes[0], 1);
    assert_int_equal(lanes[1] & UINT32_MAX, 2);
    assert_int_equal(lanes[3] & UINT32_MAX, 2);
    assert_int_not_equal(lanes[1], lanes[3]);
}

static void *end_elsewhere(void *arg) {
    (void)arg;
    (void)cu.CtxSetCurrent(context);
    now_device()->end(1);
    now_device()->end(2);
    return NULL;
}
static void test_end_in_another_thread(void **state) {
    (void)state;
    pthread_t t;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    now_device()->start(1, (void *)2);
    now_device()->start(2, (void *)1);
    assert_int_equal(pthread_create(&t, NULL, end_elsewhere, NULL), 0);
    (void)pthread_join(t, NULL);
    finish();
    assert_int_equal(n_rows, 1);
    (void)row_of(2);
    assert_int_equal(drops[PS_DROP_BAD_STREAM], 1);
}

/* The driver is found by the GPU thread while threads of the program record: they see all of its functions, or none. */
static void *record_on(void *arg) {
    (void)cu.CtxSetCurrent(context);
    uint64_t first = *(const uint64_t *)arg;
    for (uint64_t i = 0; i < 2000; i++) {
        const ps_rec_device *d = now_device();
        d->start(first + i, (void *)1);
        if (d->end != NULL) {
            d->end(first + i);
        }
        if (i % 100 == 0) {
            (void)usleep(100);
        }
    }
    return NULL;
}

static void test_found_while_threads_record(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        pthread_t threads[2];
        uint64_t first[2] = {10000, 20000};
        ps_cuda_driver_forget();
        begin(PS_BACKEND_AUTO, 16384);
        for (int i = 0; i < 2; i++) {
            assert_int_equal(pthread_create(&threads[i], NULL, record_on, &first[i]), 0);
        }
        for (int i = 0; i < 20; i++) {
            const ps_rec_device *d = now_device();
            if (d->look != NULL) {
                d->look();
            }
            if (d->tick != NULL) {
                d->tick();
            }
            (void)usleep(200);
        }
        for (int i = 0; i < 2; i++) {
            (void)pthread_join(threads[i], NULL);
        }
        now_device()->start(1, (void *)1);
        assert_string_equal(now_device()->name, "cuda_event");
        now_device()->end(1);
        finish();
        assert_string_equal(backend, "cuda_event");
        assert_true(n_rows > 0);
    }
    assert_int_equal(misuse(), 0);
}

static void test_fork(void **state) {
    (void)state;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    now_device()->start(1, (void *)1);
    pid_t child = fork();
    if (child == 0) {
        const ps_rec_device *d = now_device();
        d->forget();
        d->end(1);
        d->start(2, (void *)1);
        d->tick();
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    now_device()->end(1);
    finish();
    assert_int_equal(n_rows, 1);
}

static void test_device_hangs(void **state) {
    (void)state;
    void *stuck, *stream;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    assert_int_equal(cu.CtxCreate(&stuck, 0, 1), 0);
    assert_int_equal(cu.StreamCreate(&stream, 1), 0);
    range(1, stream, 1000);
    range(2, stream, UINT64_MAX / 8);
    range(3, stream, 1000);
    int64_t before = cu.now();
    now_device()->drain(300);
    assert_in_range(cu.now() - before, 300000000, 30000000000);
    now_device()->close();
    assert_int_equal(n_rows, 1);
    assert_int_equal(drops[PS_DROP_UNRESOLVED], 2);
    assert_int_equal(cu.CtxDestroy(stuck), 0);
    assert_int_equal(cu.CtxSetCurrent(context), 0);
}

/* A call into the driver does not come back: the thread in it is given up, and the backend with it. The last test. */
static void test_driver_hangs(void **state) {
    (void)state;
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    range(1, (void *)1, 1000);
    assert_true(ps_gpu_thread_do(PS_GPU_SETUP, 2000));
    cu.break_call("cuEventQuery", 0, 0, 4000);
    int64_t before = cu.now();
    now_device()->drain(100);
    assert_in_range(cu.now() - before, 100000000, 30000000000);
    assert_int_equal(drops[PS_DROP_UNRESOLVED], 1);
    now_device()->start(2, (void *)1);
    now_device()->close();
    begin(PS_BACKEND_CUDA_EVENT, 1024);
    assert_string_equal(now_device()->name, "host");
    cu.break_call("", 0, 0, 0);
    (void)usleep(2500000); /* it comes back, and finds that it is on its own */
    assert_int_equal(n_rows, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_driver),
        cmocka_unit_test(test_driver_comes_late),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_capture),
        cmocka_unit_test(test_pool_empty),
        cmocka_unit_test(test_bad_streams),
        cmocka_unit_test(test_two_contexts),
        cmocka_unit_test(test_context_destroyed),
        cmocka_unit_test(test_sticky_error),
        cmocka_unit_test(test_long_run),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_end_in_another_thread),
        cmocka_unit_test(test_found_while_threads_record),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_device_hangs),
        cmocka_unit_test(test_driver_hangs),
    };
    (void)setenv("EMU_DRIFT_PPM", "30", 0);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The backend cupti against an EMULATED CUPTI over an emulated driver (tests/programs/lib_cupti.c, lib_cuda.c). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../programs/lib_cuda.h"
#include "record/core/device.h"
#include "record/core/events.h"
#include "record/gpu/cupti_parts.h"
#include "record/gpu/device_choose.h"
#include "record/gpu/gpu_thread.h"
#include "record/ring/clock.h"
#include "record/ring/log.h"
#include "record/session/session_parts.h"
#include "support/record_device_notes.h"

/* --- the emulated driver ------------------------------------------------------------------------------------------------------ */

static void *driver, *context, *stream;
static char cupti_path[4096];
static int (*launch_kernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                            unsigned, void *, void **, void **);
static int (*copy_to_device)(unsigned long long, const void *, size_t, void *);
static int (*set_memory)(unsigned long long, unsigned char, size_t, void *);
static int (*launch_graph)(void *, void *);
static unsigned (*names_left)(void);
static int (*subscribed)(void);
static void (*driver_fails)(const char *call, int code, int after, int block_ms);

static void *symbol(const char *name) {
    void *address = dlsym(driver, name);
    assert_non_null(address);
    return address;
}

static int load_driver(void **state) {
    (void)state;
    char path[4096];
    emulated_path(path, sizeof path, "libcuda.so.1");
    emulated_path(cupti_path, sizeof cupti_path, "libcupti.so.13");
    driver = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(driver);
    int (*init)(unsigned), (*create)(void **, unsigned, int), (*make_stream)(void **, unsigned);
    void *address = symbol("cuInit");
    memcpy(&init, &address, sizeof address);
    address = symbol("cuCtxCreate_v2");
    memcpy(&create, &address, sizeof address);
    address = symbol("cuStreamCreate");
    memcpy(&make_stream, &address, sizeof address);
    address = symbol("cuLaunchKernel");
    memcpy(&launch_kernel, &address, sizeof address);
    address = symbol("cuMemcpyHtoDAsync_v2");
    memcpy(&copy_to_device, &address, sizeof address);
    address = symbol("cuMemsetD8Async");
    memcpy(&set_memory, &address, sizeof address);
    assert_int_equal(init(0), 0);
    assert_int_equal(create(&context, 0, 0), 0);
    assert_int_equal(make_stream(&stream, 0), 0);
    address = symbol("cuGraphLaunch");
    memcpy(&launch_graph, &address, sizeof address);
    /* Loaded already when it is looked for. */
    void *cupti = dlopen(cupti_path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(cupti);
    address = dlsym(cupti, "emu_names");
    memcpy(&names_left, &address, sizeof address);
    address = dlsym(cupti, "emu_subscribed");
    memcpy(&subscribed, &address, sizeof address);
    address = symbol("emu_fail");
    memcpy(&driver_fails, &address, sizeof address);
    return 0;
}

static void launch(uint64_t ns) {
    assert_int_equal(
        launch_kernel((void *)"_Z4spinm", 8, 3, 1, 128, 1, 1, 0, stream, (void *[]){&ns}, NULL), 0);
}

/* --- a recording ---------------------------------------------------------------------------------------------------------------- */

static ps_rec_config config;
static void begin(int level, const char *path) {
    forget_notes();
    config.backend = PS_BACKEND_CUPTI;
    config.level = level;
    config.event_pool = 1024;
    config.cupti_path = path;
    ps_device_choose(&config);
    (void)ps_gpu_thread_do(0, 5000); /* until CUPTI is open, or will not be */
}
static void finish(void) {
    now_device()->drain(5000);
    now_device()->close();
    assert_false(ps_gpu_thread_running());
}
/* What a test asked of the emulation and the recorder does not outlive it, also where it failed. */
static int forget_wishes(void **state) {
    (void)state;
    static const char *const wishes[] = {"BUSY",     "DROPPED", "LARGE", "NO_CLOCK",
                                         "NO_NAMES", "REFUSES", "SLOW",  "VERSION"};
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        char name[64];
        (void)snprintf(name, sizeof name, "EMU_CUPTI_%s", wishes[i]);
        (void)unsetenv(name);
    }
    config = (ps_rec_config){0};
    return 0;
}
static size_t count(uint8_t kind) {
    size_t n = 0;
    for (size_t i = 0; i < n_rows; i++) {
        n += rows[i].kind == kind ? 1 : 0;
    }
    return n;
}
static const row *first(uint8_t kind) {
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].kind == kind) {
            return &rows[i];
        }
    }
    fail_msg("no record of kind %d", kind);
    return NULL;
}

static uint64_t monotonic_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static uint64_t
    launch_ns; /* what this thread took from the start of the range to the launch of its kernel */

/* A range with a kernel, a copy and a memory set inside. */
static void work(void) {
    static char from[4096], to[4096];
    uint64_t before_ns = monotonic_ns();
    now_device()->start(7, stream);
    launch(100000);
    launch_ns = monotonic_ns() - before_ns;
    assert_int_equal(copy_to_device((uintptr_t)to, from, sizeof from, stream), 0);
    assert_int_equal(set_memory((uintptr_t)to, 3, sizeof to, stream), 0);
    now_device()->end(7);
}

/* --- tests -------------------------------------------------------------------------------------------------------------------------- */

static void check_kernel(bool all) {
    const row *k = first(PS_REC_KERNEL), *range = first(PS_REC_DEVICE);
    assert_string_equal(k->name, "_Z4spinm");
    assert_int_equal(k->end - k->start, 100000);
    assert_int_equal(k->more.device, 0);
    assert_int_equal(k->more.stream, 13);
    assert_int_equal(k->more.context, all ? 1 : 0);
    assert_int_equal(k->more.bytes, all ? 24 | UINT64_C(128) << 32 : 0);
    /* Two clocks, two ways: events and anchors say the same as CUPTI, within what anchors promise. The kernel begins when it is
     * launched, and the thread may have had to wait before. */
    assert_in_range(range->start, (uint64_t)k->start - 200000 - launch_ns,
                    (uint64_t)k->start + 20000);
    assert_true(range->end > k->end - 20000);
}

static void test_levels(void **state) {
    (void)state;
    begin(PS_LEVEL_0, cupti_path);
    assert_string_equal(now_device()->name, "cupti");
    assert_string_equal(backend, "cupti");
    work();
    finish();
    check_kernel(true);
    assert_int_equal(count(PS_REC_KERNEL), 1);
    assert_int_equal(count(PS_REC_MEMCPY), 1);
    assert_int_equal(count(PS_REC_MEMSET), 0);
    const row *c = first(PS_REC_MEMCPY), *call = first(PS_REC_API);
    assert_int_equal(c->more.bytes, 4096);
    assert_int_equal(c->more.what, 1);
    /* The launch that the kernel belongs to, so that an export can project ranges on the device. */
    assert_string_equal(call->name, "cuLaunchKernel");
    assert_int_equal(call->id, first(PS_REC_KERNEL)->id);
    assert_int_equal(call->more.thread, (uint32_t)syscall(SYS_gettid));
    assert_true(call->start <=
                first(PS_REC_KERNEL)->start); /* and it may return after the kernel has ended */
    assert_int_equal(count(PS_REC_API), 3);

    begin(PS_LEVEL_2, cupti_path);
    work();
    finish();
    assert_int_equal(count(PS_REC_MEMSET), 1);
    assert_int_equal(first(PS_REC_MEMSET)->more.what, 3);
    assert_int_equal(count(PS_REC_OVERHEAD), 1);
    assert_int_equal(count(PS_REC_SYNC), 1);
    assert_int_equal(first(PS_REC_OVERHEAD)->end - first(PS_REC_OVERHEAD)->start, 1000);

    begin(PS_LEVEL_NONE, cupti_path);
    assert_string_equal(now_device()->name, "cuda_event");
    work();
    finish();
    assert_int_equal(count(PS_REC_KERNEL), 0);
    assert_int_equal(count(PS_REC_DEVICE), 1);
    assert_int_equal(drops[PS_DROP_CUPTI_DROPPED], 0);
}

static void test_busy(void **state) {
    (void)state;
    (void)setenv("EMU_CUPTI_BUSY", "1", 1);
    begin(PS_LEVEL_0, cupti_path);
    assert_string_equal(now_device()->name, "cuda_event");
    assert_string_equal(backend, "cuda_event");
    assert_string_equal(last_log, "cupti_busy");
    assert_int_equal(drops[PS_DROP_CUPTI_BUSY], 1);
    work();
    finish();
    assert_int_equal(count(PS_REC_DEVICE), 1);
}

static void test_kernels_refused(void **state) {
    (void)state;
    (void)setenv("EMU_CUPTI_REFUSES", "10", 1);
    begin(PS_LEVEL_0, cupti_path);
    assert_string_equal(now_device()->name, "cuda_event");
    finish();
    (void)setenv("EMU_CUPTI_REFUSES", "38", 1); /* one that can be missed */
    begin(PS_LEVEL_2, cupti_path);
    assert_string_equal(now_device()->name, "cupti");
    work();
    finish();
    check_kernel(true);
    assert_int_equal(count(PS_REC_SYNC), 0);
}

static void test_clock_of_its_own(void **state) {
    (void)state;
    (void)setenv("EMU_CUPTI_NO_CLOCK", "1", 1);
    begin(PS_LEVEL_0, cupti_path);
    int64_t before = (int64_t)ps_mono_ns();
    work();
    finish();
    const row *k = first(PS_REC_KERNEL);
    assert_in_range(k->start, (uint64_t)before - 100000, (uint64_t)before + 1000000000);
    assert_in_range(k->end - k->start, 99000, 101000);
}

/* From 13.3 on several tools may subscribe, by calls of their own; a call of the other kind is an error there. */
static void test_several_subscribers(void **state) {
    (void)state;
    (void)setenv("EMU_CUPTI_VERSION", "130300", 1);
    (void)setenv("EMU_CUPTI_LARGE", "24", 1);
    begin(PS_LEVEL_1, cupti_path);
    assert_string_equal(now_device()->name, "cupti");
    assert_true(ps_cupti.v2);
    work();
    finish();
    const row *k = first(PS_REC_KERNEL);
    assert_int_equal(k->more.bytes, 0); /* newer than what was compared */
    assert_int_equal(k->more.context, 0);
    assert_int_equal(first(PS_REC_MEMCPY)->more.context, 0);
    assert_int_equal(count(PS_REC_API), 3);
}

static void test_many_and_dropped(void **state) {
    (void)state;
    (void)setenv("EMU_CUPTI_DROPPED", "5", 1);
    (void)setenv("EMU_CUPTI_LARGE", "4000", 1); /* so that they fill several buffers */
    begin(PS_LEVEL_0, cupti_path);
    for (int i = 0; i < 3000; i++) {
        launch(1000);
        if (i % 1000 == 0) {
            now_device()->tick();
        }
    }
    finish();
    assert_int_equal(count(PS_REC_KERNEL), 3000);
    assert_int_equal(drops[PS_DROP_CUPTI_DROPPED], 5);
}

static void test_pool(void **state) {
    (void)state;
    uint8_t *taken[PS_CUPTI_BUFFERS];
    for (int i = 0; i < PS_CUPTI_BUFFERS; i++) {
        taken[i] = ps_cupti_buffer_take();
        assert_non_null(taken[i]);
        assert_int_equal((uintptr_t)taken[i] % 8, 0);
    }
    assert_null(ps_cupti_buffer_take());
    assert_int_equal(ps_cupti_buffer_misses(), 1);
    for (int i = 0; i < PS_CUPTI_BUFFERS; i++) {
        ps_cupti_buffer_completed(taken[i], i % 2 == 0 ? 8 : 0);
    }
    ps_cupti_buffer b;
    int n = 0;
    while (ps_cupti_buffer_next(&b)) {
        assert_ptr_equal(b.bytes, taken[2 * n++]);
        ps_cupti_buffer_free(b.bytes);
    }
    assert_int_equal(n, PS_CUPTI_BUFFERS / 2);
    ps_cupti_buffers_release();
}

/* A buffer that ends in the middle of a record, and one whose kernel has no end. */
static void test_odd_buffers(void **state) {
    (void)state;
    _Alignas(8) uint8_t bytes[208] = {0};
    uint32_t kind = PS_CUPTI_CONCURRENT_KERNEL;
    begin(PS_LEVEL_0, cupti_path);
    n_rows = 0;
    memcpy(bytes, &kind, sizeof kind);
    assert_int_equal(ps_cupti_records(&(ps_cupti_buffer){bytes, 100}), 1);
    uint64_t start = 1000;
    memcpy(bytes + PS_KERNEL_START, &start, sizeof start);
    assert_int_equal(ps_cupti_records(&(ps_cupti_buffer){bytes, sizeof bytes}), 1);
    assert_int_equal(ps_cupti_records(&(ps_cupti_buffer){bytes, 2}), 1);
    assert_int_equal(count(PS_REC_KERNEL), 0);
    finish();
}

static void test_unfinished(void **state) {
    (void)state;
    begin(PS_LEVEL_0, cupti_path);
    launch(20000000); /* outside of ranges: the end of the recording waits for it */
    finish();
    assert_int_equal(count(PS_REC_KERNEL), 1);
    assert_int_equal(drops[PS_DROP_CUPTI_DROPPED], 0);
}

/* --- ranges that CUPTI is told of ------------------------------------------------------------------------------------------- */

/* The range that the n-th launch of the recording was made in, 0 none. */
static uint64_t told_of(size_t n) {
    uint64_t correlation = 0;
    for (size_t i = 0, k = 0; i < n_rows; i++) {
        if (rows[i].kind == PS_REC_KERNEL && k++ == n) {
            correlation = rows[i].id;
        }
    }
    assert_int_not_equal(correlation, 0);
    for (size_t i = 0; i < n_rows; i++) {
        if (rows[i].kind == PS_REC_CORRELATE && rows[i].id == correlation) {
            return (uint64_t)rows[i].end;
        }
    }
    return 0;
}

static void *end_20(void *unused) {
    now_device()->end(20);
    return unused;
}

/* As a thread of the program does it: nested, not nested, ended by another one, left open. */
static void told_ranges(void) {
    const ps_rec_device *d = now_device();
    launch(1000); /* 0: outside */
    d->enter(10);
    launch(1000); /* 1 */
    d->enter(11);
    launch(1000); /* 2 */
    d->end(12);   /* one that was never told of */
    d->end(11);
    launch(1000); /* 3 */
    d->enter(13);
    d->end(10);   /* below the top */
    launch(1000); /* 4 */
    d->end(13);
    launch(1000); /* 5: neither is left */
    assert_int_equal(names_left(), 0);
    pthread_t thread;
    d->enter(20);
    assert_int_equal(pthread_create(&thread, NULL, end_20, NULL), 0);
    (void)pthread_join(thread, NULL);
    assert_int_equal(names_left(),
                     1); /* only this thread can take it off: it does when it comes again */
    d->enter(21);
    assert_int_equal(names_left(), 1);
    launch(1000); /* 6 */
    d->end(21);
    d->enter(22); /* open at the end */
}

/* `left`: a name that an earlier recording left on the thread, and of which this one knows nothing. */
static void check_told(uint64_t left) {
    const uint64_t expected[] = {left, 10, 11, 10, 13, 0, 21};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_int_equal(told_of(i), expected[i]);
    }
    assert_int_equal(drops[PS_DROP_NOT_CORRELATED], 0);
}

static void test_told(void **state) {
    (void)state;
    config.correlate = "*";
    for (int round = 0; round < 2; round++) {
        begin(PS_LEVEL_0, cupti_path);
        told_ranges();
        finish();
        check_told(round == 0 ? 0 : 22);
        assert_int_equal(names_left(), 1); /* gone with the next recording's first */
    }
    (void)setenv("EMU_CUPTI_VERSION", "130300", 1); /* by the subscriber's own calls */
    begin(PS_LEVEL_0, cupti_path);
    assert_true(ps_cupti.v2);
    told_ranges();
    finish();
    check_told(22);
    (void)unsetenv("EMU_CUPTI_VERSION");

    config.correlate = NULL; /* not asked for: nothing is told, and not a record more */
    begin(PS_LEVEL_2, cupti_path);
    unsigned left = names_left();
    now_device()->enter(30);
    launch(1000);
    assert_int_equal(names_left(), left);
    now_device()->end(30);
    finish();
    assert_int_equal(count(PS_REC_CORRELATE), 0);
}

static void test_told_too_deep(void **state) {
    (void)state;
    config.correlate = "*";
    begin(PS_LEVEL_0, cupti_path);
    for (uint64_t i = 1; i <= 100; i++) {
        now_device()->enter(i);
    }
    assert_int_equal(names_left(), 64);
    assert_int_equal(drops[PS_DROP_NOT_CORRELATED], 36);
    for (uint64_t i = 100; i >= 1; i--) {
        now_device()->end(i);
    }
    assert_int_equal(names_left(), 0);
    finish();
    (void)setenv("EMU_CUPTI_NO_NAMES", "1", 1);
    begin(PS_LEVEL_0, cupti_path);
    now_device()->enter(1);
    now_device()->end(1);
    assert_int_equal(drops[PS_DROP_NOT_CORRELATED], 1);
    assert_string_equal(last_log, "cupti_correlate");
    finish();
}

static void *told_thread(void *arg) {
    uint64_t first = *(uint64_t *)arg;
    for (uint64_t i = 0; i < 500; i++) {
        now_device()->enter(first + i);
        if (i % 50 == 0) {
            launch(100);
        }
        now_device()->end(first + (i % 7 == 3 ? 1000000 : i)); /* some are left open */
        now_device()->end((first ^ 1024) + i); /* and some of the other thread's are ended */
    }
    return NULL;
}

static void test_told_by_threads(void **state) {
    (void)state;
    config.correlate = "*";
    begin(PS_LEVEL_0, cupti_path);
    pthread_t threads[2];
    uint64_t first[2] = {8192, 8192 + 1024};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, told_thread, &first[i]), 0);
    }
    for (int i = 0; i < 2; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    finish();
    assert_int_equal(count(PS_REC_KERNEL), 20);
}

/* --- what takes too long ------------------------------------------------------------------------------------------------------ */

/* The recording ends while CUPTI opens: CUPTI is not kept, and the next recording has it again. */
static void test_ended_while_opening(void **state) {
    (void)state;
    (void)setenv("EMU_CUPTI_SLOW", "3000", 1);
    forget_notes();
    config = (ps_rec_config){.backend = PS_BACKEND_CUPTI,
                             .level = PS_LEVEL_0,
                             .event_pool = 1024,
                             .cupti_path = cupti_path};
    ps_device_choose(&config);
    finish(); /* gives up after two seconds */
    (void)unsetenv("EMU_CUPTI_SLOW");
    begin(PS_LEVEL_0, cupti_path); /* the first one is still in there */
    assert_string_equal(now_device()->name, "cuda_event");
    assert_string_equal(last_log, "cupti_held");
    finish();
    for (int i = 0; i < 500; i++) { /* the thread that was given up comes back */
        (void)usleep(20000);
        if (i > 100 && subscribed() == 0) {
            break;
        }
    }
    assert_int_equal(subscribed(), 0);
    begin(PS_LEVEL_0, cupti_path);
    for (int i = 0; i < 50 && strcmp(now_device()->name, "cupti") != 0; i++) {
        finish(); /* that thread is out of CUPTI, but may not have said so yet */
        (void)usleep(20000);
        begin(PS_LEVEL_0, cupti_path);
    }
    assert_string_equal(now_device()->name, "cupti");
    launch(100);
    finish();
    assert_int_equal(count(PS_REC_KERNEL), 1);
    assert_int_equal(subscribed(), 0);
}

/* A device that hangs: the wait for it ends, and what CUPTI has is taken all the same. */
static void test_device_hangs(void **state) {
    (void)state;
    begin(PS_LEVEL_0, cupti_path);
    now_device()->mark(1, stream); /* for the context */
    launch(100);
    driver_fails("cuCtxSynchronize", 0, 0, 5000);
    now_device()->drain(3000);
    driver_fails("", 0, 0, 0);
    assert_string_equal(last_log, "cupti_unfinished");
    assert_int_equal(count(PS_REC_KERNEL), 1);
    now_device()->close();
    assert_false(ps_gpu_thread_running());
    assert_int_equal(subscribed(), 0);
}

/* --- graphs ------------------------------------------------------------------------------------------------------------------- */

static void test_graphs(void **state) {
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        config.whole_graphs = whole == 1;
        begin(PS_LEVEL_0, cupti_path);
        launch(1000);
        assert_int_equal(launch_graph((void *)5001, stream), 0); /* a graph of 5000 ns */
        finish();
        assert_int_equal(count(PS_REC_KERNEL), whole == 1 ? 1 : 2);
        assert_int_equal(count(PS_REC_GRAPH), whole);
    }
    const row *g = first(PS_REC_GRAPH);
    assert_int_equal(g->end - g->start, 5000);
    assert_int_equal(g->more.what, 1);
    assert_int_equal(g->more.stream, 13);
    assert_int_equal(g->more.context, 1);
    (void)setenv("EMU_CUPTI_REFUSES", "51", 1); /* an older CUPTI: said, and kernels as ever */
    begin(PS_LEVEL_0, cupti_path);
    assert_int_equal(launch_graph((void *)5001, stream), 0);
    finish();
    assert_int_equal(count(PS_REC_KERNEL), 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_pool, forget_wishes),
        cmocka_unit_test_teardown(test_levels, forget_wishes),
        cmocka_unit_test_teardown(test_busy, forget_wishes),
        cmocka_unit_test_teardown(test_kernels_refused, forget_wishes),
        cmocka_unit_test_teardown(test_clock_of_its_own, forget_wishes),
        cmocka_unit_test_teardown(test_several_subscribers, forget_wishes),
        cmocka_unit_test_teardown(test_many_and_dropped, forget_wishes),
        cmocka_unit_test_teardown(test_odd_buffers, forget_wishes),
        cmocka_unit_test_teardown(test_unfinished, forget_wishes),
        cmocka_unit_test_teardown(test_told, forget_wishes),
        cmocka_unit_test_teardown(test_told_too_deep, forget_wishes),
        cmocka_unit_test_teardown(test_told_by_threads, forget_wishes),
        cmocka_unit_test_teardown(test_graphs, forget_wishes),
        cmocka_unit_test_teardown(test_device_hangs, forget_wishes),
        cmocka_unit_test_teardown(test_ended_while_opening, forget_wishes),
    };
    return cmocka_run_group_tests(tests, load_driver, NULL);
}

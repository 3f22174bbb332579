/* The backend cupti: every kernel, copy and call of the program, from CUPTI's activity interface; for those who ask for it, since
 * it costs more than events and only one tool may hold it at a time.
 *
 * It holds CUPTI only while recording: subscribes first (that is how it learns that another tool is there), then registers
 * buffers and enables kinds by the level; at the end disables them, takes what is left and unsubscribes. cuptiFinalize is not
 * called: with CUDA graphs it crashed before CUDA 12.6, and it would take CUPTI from others. From CUDA 13.3 on, several tools
 * may subscribe, and each has its own calls.
 *
 *     level 0   kernels, copies, and the calls that launched them where single calls can be chosen (CUDA 12.5 and later)
 *     level 1   and all calls of the runtime and the driver
 *     level 2   and memory sets, synchronisation, CUPTI's own overhead
 *
 * With the option `correlate` all calls, which CUPTI needs for that, and which range each was made in; with `cuda_graphs` whole
 * replays of graphs in place of their kernels.
 *
 * Ranges get their device times from CUDA events as without CUPTI, so that they mean the same under both: from the moment the
 * stream came to the start to the moment it had done what was enqueued inside. The other reading of a range, first start to
 * last end of the GPU work launched inside of it on its thread, which is all there is for NVTX ranges without a stream, the
 * export can make from kernels, copies and the calls that launched them: a call says its thread and time, and the
 * correlation joins them. That is why launches are recorded at level 0, too. */
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/gpu/cuda_contexts.h"
#include "record/gpu/cuda_driver.h"
#include "record/gpu/cuda_internal.h"
#include "record/gpu/cupti_parts.h"
#include "record/gpu/device_choose.h"
#include "record/gpu/device_gpu.h"
#include "record/gpu/gpu_thread.h"
#include "record/ring/clock.h"
#include "record/ring/log.h"

ps_cupti_state ps_cupti;

enum { FLUSH_EVERY_NS = 1000000000, CLOSE_MS = 5000, MAX_CALLS = 1200, MAX_KINDS = 16 };

static struct {
    void *library;
    int kinds[MAX_KINDS];
    unsigned n_kinds;
    _Atomic int64_t flushed_ns;
    _Atomic int64_t wait_until_ns; /* for the work of devices as the recording ends */
    atomic_bool open;
    atomic_bool
        held; /* by one GPU thread, from before it subscribes until it has let go; given up or not */
} g;

static _Thread_local bool holding; /* `held`, by this thread */

/* --- its library ------------------------------------------------------------------------------------------------------- */

/* Two CUPTIs in one process do not bear each other: one that is loaded already, as PyTorch's, comes before any other. */
static void *find_library(const char *wanted) {
    static const char *const names[] = {"libcupti.so.13", "libcupti.so.12", "libcupti.so"};
    if (wanted != NULL && *wanted != 0) {
        return ps_open_library(wanted, 0);
    }
    void *library = ps_loaded_library("libcupti.so");
    for (unsigned i = 0; i < sizeof names / sizeof *names && library == NULL; i++) {
        library = ps_open_library(names[i], 0);
    }
    return library;
}

static bool fill_cupti(void *library) {
    const char *missing = NULL;
    ps_cupti_calls *calls = &ps_cupti.calls;
#define X(required, name, params)                                                                  \
    do {                                                                                           \
        void *address = dlsym(library, "cupti" #name);                                             \
        memcpy(&calls->name, &address, sizeof address);                                            \
        missing = (required) && address == NULL ? "cupti" #name : missing;                         \
    } while (0);
    PS_CUPTI_CALLS(X)
#undef X
    if (missing != NULL) {
        ps_rec_log_once("cupti_old", "CUPTI has no %s: device times come from CUDA events",
                        missing);
    }
    return missing == NULL;
}

static bool load_cupti(const ps_rec_config *config) {
    if (g.library == NULL) {
        void *library = find_library(config->cupti_path);
        if (library == NULL) {
            const char *why = dlerror();
            ps_rec_log_once("no_cupti",
                            "backend cupti: no libcupti was found (%s); name its file with "
                            "PIPESCOPE_CUPTI_PATH. Device times come from CUDA events",
                            why != NULL ? why : "not loaded");
            return false;
        }
        if (!fill_cupti(library)) {
            return false;
        }
        g.library = library; /* never closed: its threads may run */
    }
    return true;
}

/* --- the subscription ---------------------------------------------------------------------------------------------------- */

static void on_callback(void *user, int domain, uint32_t number, const void *data) {
    (void)user;
    (void)domain;
    (void)number;
    (void)data;
}

static void request(uint8_t **buffer, size_t *size, size_t *max_records) {
    *buffer = ps_cupti_buffer_take();
    *size = *buffer != NULL ? PS_CUPTI_BUFFER_BYTES : 0;
    *max_records = 0;
}
static void request_v2(uint8_t **buffer, size_t *size, size_t *max_records, void *info) {
    (void)info;
    request(buffer, size, max_records);
}
static void complete_v2(uint8_t *buffer, size_t size, size_t valid, void *info) {
    (void)info;
    if (buffer != NULL) {
        ps_cupti_buffer_completed(buffer, valid <= size ? valid : size);
        ps_gpu_thread_ask(PS_GPU_BUFFERS);
    }
}
static void complete_cupti(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid) {
    (void)context;
    (void)stream;
    complete_v2(buffer, size, valid, NULL);
}

static bool has_v2(const ps_cupti_calls *c) {
    return ps_cupti.version >= PS_CUPTI_V2 && c->Subscribe_v2 != NULL &&
           c->GetTimestamp_v2 != NULL && c->ActivityRegisterCallbacks_v2 != NULL &&
           c->ActivityEnable_v2 != NULL && c->ActivityDisable_v2 != NULL &&
           c->ActivityGetNextRecord_v2 != NULL && c->ActivityGetNumDroppedRecords_v2 != NULL;
}

/* The thread of an earlier recording, which did not answer as that ended, may still be in CUPTI. */
static bool take_hold(void) {
    holding = !atomic_exchange(&g.held, true);
    if (!holding) {
        ps_rec_log_once("cupti_held",
                        "CUPTI has not come back since an earlier recording: device times come "
                        "from CUDA events, kernels are not recorded");
    }
    return holding;
}

/* Nothing to do for a thread that has no hold, or has let it go already: another may have it by now. */
static void release_hold(void) {
    if (holding) {
        holding = false;
        atomic_store(&g.held, false);
    }
}

static bool subscribe(void) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    char other[256] = "";
    int result = PS_CUPTI_OK;
    ps_cupti.v2 = false;
    if (has_v2(c)) {
        ps_cupti_subscriber_params params = {.size = sizeof params,
                                             .name = "pipescope",
                                             .other_name = other,
                                             .other_size = sizeof other,
                                             .allow_multiple = 1};
        result = c->Subscribe_v2(&ps_cupti.subscriber, on_callback, NULL, &params);
        ps_cupti.v2 = result == PS_CUPTI_OK;
    }
    if (!ps_cupti.v2 && result != PS_CUPTI_MULTIPLE_SUBSCRIBERS) {
        result = c->Subscribe(&ps_cupti.subscriber, on_callback, NULL);
    }
    if (result == PS_CUPTI_MULTIPLE_SUBSCRIBERS) {
        ps_shared_drop(PS_DROP_CUPTI_BUSY, 1);
        other[sizeof other - 1] = 0;
        ps_rec_log_once("cupti_busy",
                        "another tool%s%s holds CUPTI: device times come from CUDA events, "
                        "kernels are not recorded",
                        other[0] != 0 ? ", " : "", other);
    } else if (result != PS_CUPTI_OK) {
        ps_rec_log_once("cupti_refused",
                        "CUPTI refuses (error %d): device times come from CUDA events", result);
    }
    return result == PS_CUPTI_OK;
}

static uint64_t timestamp(void) {
    return ps_mono_ns();
}

static int enable(int kind, bool on) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    if (ps_cupti.v2) {
        return on ? c->ActivityEnable_v2(ps_cupti.subscriber, kind, NULL)
                  : c->ActivityDisable_v2(ps_cupti.subscriber, kind, NULL);
    }
    return on ? c->ActivityEnable(kind) : c->ActivityDisable(kind);
}

static int enable_call(bool driver, uint32_t number, uint8_t on) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    if (ps_cupti.v2) {
        return driver ? c->ActivityEnableDriverApi_v2(ps_cupti.subscriber, number, on)
                      : c->ActivityEnableRuntimeApi_v2(ps_cupti.subscriber, number, on);
    }
    return driver ? c->ActivityEnableDriverApi(number, on)
                  : c->ActivityEnableRuntimeApi(number, on);
}

static bool calls_can_be_chosen(void) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    return c->GetCallbackName != NULL &&
           (ps_cupti.v2
                ? c->ActivityEnableDriverApi_v2 != NULL && c->ActivityEnableRuntimeApi_v2 != NULL
                : c->ActivityEnableDriverApi != NULL && c->ActivityEnableRuntimeApi != NULL);
}

const char *ps_cupti_call_name(uint32_t kind, uint32_t number) {
    const char *name = NULL;
    int domain = kind == PS_CUPTI_DRIVER ? PS_CUPTI_DOMAIN_DRIVER : PS_CUPTI_DOMAIN_RUNTIME;
    if (ps_cupti.calls.GetCallbackName == NULL ||
        ps_cupti.calls.GetCallbackName(domain, number, &name) != PS_CUPTI_OK) {
        return NULL;
    }
    return name;
}

/* Work for the device begins with these. */
static bool launches(const char *name) {
    static const char *const parts[] = {"Launch", "Memcpy", "Memset"};
    for (unsigned i = 0; name != NULL && i < sizeof parts / sizeof *parts; i++) {
        if (strstr(name, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static void choose_calls(bool driver) {
    for (uint32_t number = 1; number < MAX_CALLS; number++) {
        const char *name = ps_cupti_call_name(driver ? PS_CUPTI_DRIVER : PS_CUPTI_RUNTIME, number);
        if (name != NULL && launches(name)) {
            (void)enable_call(driver, number, 1);
        }
    }
}

static bool enable_kind(int kind) {
    int result = enable(kind, true);
    if (result == PS_CUPTI_OK) {
        g.kinds[g.n_kinds++] = kind;
    } else {
        ps_rec_log("CUPTI does not enable activity kind %d (error %d): it is not recorded", kind,
                   result);
    }
    return result == PS_CUPTI_OK;
}

static bool enable_kinds(const ps_rec_config *config) {
    int level = config->level;
    bool correlate =
        config->correlate != NULL && config->correlate[0] != 0 && ps_cupti_correlate_begin();
    g.n_kinds = 0;
    /* First: it decides what the kernels of graphs become. */
    if (config->whole_graphs) {
        (void)enable_kind(PS_CUPTI_GRAPH_TRACE);
    }
    if (!enable_kind(PS_CUPTI_CONCURRENT_KERNEL)) {
        return false;
    }
    (void)enable_kind(PS_CUPTI_MEMCPY);
    if (level >= PS_LEVEL_1 || correlate) {
        (void)enable_kind(PS_CUPTI_RUNTIME);
        (void)enable_kind(PS_CUPTI_DRIVER);
    } else if (calls_can_be_chosen()) {
        choose_calls(false);
        choose_calls(true);
    }
    if (level >= PS_LEVEL_2) {
        (void)enable_kind(PS_CUPTI_MEMSET);
        (void)enable_kind(PS_CUPTI_SYNCHRONIZATION);
        (void)enable_kind(PS_CUPTI_OVERHEAD);
    }
    if (correlate && !enable_kind(PS_CUPTI_EXTERNAL_CORRELATION)) {
        ps_cupti_correlate_end();
    }
    return true;
}

static void unsubscribe(void) {
    ps_cupti_correlate_end();
    for (uint32_t i = 0; i < g.n_kinds; i++) {
        (void)enable(g.kinds[i], false);
    }
    g.n_kinds = 0;
    (void)ps_cupti.calls.Unsubscribe(ps_cupti.subscriber);
    ps_cupti.subscriber = NULL;
    release_hold();
}

static bool set_up(const ps_rec_config *config) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    if (c->SetThreadIdType != NULL) {
        (void)c->SetThreadIdType(PS_CUPTI_THREAD_ID_SYSTEM); /* as our own tids */
    }
    /* With several tools, the clock is nobody's own. */
    ps_cupti.own_clock = !ps_cupti.v2 && c->ActivityRegisterTimestampCallback != NULL &&
                         c->ActivityRegisterTimestampCallback(timestamp) == PS_CUPTI_OK;
    int result = ps_cupti.v2
                     ? c->ActivityRegisterCallbacks_v2(ps_cupti.subscriber, request_v2, complete_v2)
                     : c->ActivityRegisterCallbacks(request, complete_cupti);
    if (result != PS_CUPTI_OK || !enable_kinds(config)) {
        ps_rec_log_once("cupti_setup",
                        "CUPTI cannot be used (error %d): device times come from CUDA events",
                        result);
        unsubscribe();
        return false;
    }
    ps_cupti_clock_begin();
    return true;
}

/* --- the backend --------------------------------------------------------------------------------------------------------- */

/* On the GPU thread. */
static bool cupti_open(const ps_rec_config *config) {
    if (config->level < PS_LEVEL_0) {
        return false; /* ranges only: CUDA events do that for less */
    }
    if (!take_hold()) {
        return false;
    }
    if (!load_cupti(config) || ps_cupti.calls.GetVersion(&ps_cupti.version) != PS_CUPTI_OK ||
        !subscribe() || !set_up(config)) {
        release_hold();
        return false;
    }
    if (ps_cupti.version > PS_CUPTI_NEWEST) {
        ps_rec_log_once("cupti_new",
                        "CUPTI %u is newer than this recorder knows: of its kernels, grids and "
                        "graph nodes are not recorded",
                        ps_cupti.version);
    }
    (void)ps_cupti_buffer_misses();
    atomic_store(&g.flushed_ns, (int64_t)ps_mono_ns());
    atomic_store(&g.open, true);
    return true;
}

static void cupti_tick(void) {
    int64_t now = (int64_t)ps_mono_ns();
    ps_device_cuda.tick();
    if (atomic_load(&g.open) && now - atomic_load(&g.flushed_ns) >= FLUSH_EVERY_NS) {
        atomic_store(&g.flushed_ns, now);
        ps_gpu_thread_ask(PS_GPU_FLUSH);
    }
}

static void take_buffers(void) {
    ps_cupti_buffer buffer;
    while (ps_cupti_buffer_next(&buffer)) {
        uint64_t lost = ps_cupti_records(&buffer);
        ps_shared_drop(PS_DROP_CUPTI_DROPPED, lost);
        ps_cupti_buffer_free(buffer.bytes);
    }
}

static void count_dropped(void) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    size_t n = 0;
    int result = ps_cupti.v2 ? c->ActivityGetNumDroppedRecords_v2(ps_cupti.subscriber, NULL, 0, &n)
                             : c->ActivityGetNumDroppedRecords(NULL, 0, &n);
    uint64_t lost = (result == PS_CUPTI_OK ? n : 0) + ps_cupti_buffer_misses();
    ps_shared_drop(PS_DROP_CUPTI_DROPPED, lost);
}

/* --- waiting for devices ------------------------------------------------------------------------------------------------- */

/* A synchronisation cannot be taken back when the device hangs, so a thread of its own makes it, which is left to itself then. */
typedef struct waiter {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    unsigned owners; /* the one that waits, and the thread */
    bool done;
    const ps_cuda_calls *cu;
    ps_cu_context context;
} waiter;

static void leave_waiter(waiter *w, bool done) {
    (void)pthread_mutex_lock(&w->lock);
    w->done = w->done || done;
    bool last = --w->owners == 0;
    (void)pthread_cond_broadcast(&w->changed);
    (void)pthread_mutex_unlock(&w->lock);
    if (last) {
        (void)pthread_cond_destroy(&w->changed);
        (void)pthread_mutex_destroy(&w->lock);
        ps_free(w);
    }
}

static void *run_waiter(void *context) {
    waiter *w = context;
    int mode =
        PS_CU_CAPTURE_MODE_RELAXED; /* in any other, this would break captures of the program */
    ps_cu_context before;
    if (w->cu->ThreadExchangeStreamCaptureMode != NULL) {
        (void)w->cu->ThreadExchangeStreamCaptureMode(&mode);
    }
    if (w->cu->CtxPushCurrent(w->context) == PS_CU_OK) {
        (void)w->cu->CtxSynchronize();
        (void)w->cu->CtxPopCurrent(&before);
    }
    leave_waiter(w, true);
    return NULL;
}

static waiter *new_waiter(const ps_cuda_calls *cu, ps_cu_context context) {
    waiter *w = ps_calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    w->owners = 2;
    w->cu = cu;
    w->context = context;
    return w;
}

/* False when it had not come to the end of its work in time. Where no thread can be had nothing is waited for. */
static bool wait_for_device(const ps_cuda_calls *cu, ps_cu_context context, int64_t until_ns) {
    waiter *w = new_waiter(cu, context);
    pthread_t thread;
    if (w == NULL) {
        return false;
    }
    if (pthread_create(&thread, NULL, run_waiter, w) != 0) { /* our signal mask: all are blocked */
        leave_waiter(w, false);
        leave_waiter(w, false);
        return false;
    }
    (void)pthread_detach(thread);
    const struct timespec until = {.tv_sec = (time_t)(until_ns / 1000000000),
                                   .tv_nsec = (long)(until_ns % 1000000000)};
    (void)pthread_mutex_lock(&w->lock);
    int status = 0;
    while (!w->done && status == 0) {
        status = pthread_cond_timedwait(&w->changed, &w->lock, &until);
    }
    bool done = w->done;
    (void)pthread_mutex_unlock(&w->lock);
    leave_waiter(w, false);
    return done;
}

/* What was launched outside of ranges may still run: its records have no end yet. */
static void wait_for_devices(void) {
    const ps_cuda_calls *cu = ps_cuda.calls;
    for (uint32_t i = 0; cu != NULL && i < ps_cuda_context_count(); i++) {
        ps_cuda_context *c = &ps_cuda_context_table[i];
        if (ps_cuda_alive(cu, c) &&
            !wait_for_device(cu, c->handle, atomic_load(&g.wait_until_ns))) {
            ps_rec_log_once("cupti_unfinished",
                            "the device still works as the recording ends: kernels and copies that "
                            "it has not finished are missing");
        }
    }
}

/* --- on the GPU thread --------------------------------------------------------------------------------------------------- */

void ps_cupti_work(uint32_t wishes) {
    if (!holding || !atomic_load(&g.open)) {
        return;
    }
    if ((wishes & PS_GPU_FLUSH_ALL) != 0) {
        wait_for_devices();
    }
    if ((wishes & (PS_GPU_FLUSH | PS_GPU_FLUSH_ALL)) != 0) {
        ps_cupti_clock_anchor();
        (void)ps_cupti.calls.ActivityFlushAll(
            (wishes & PS_GPU_FLUSH_ALL) != 0 ? PS_CUPTI_FLUSH_FORCED : 0);
        count_dropped();
    }
    if (!ps_gpu_thread_given_up()) {
        take_buffers();
    }
    if ((wishes & PS_GPU_CLOSE_CUPTI) != 0 && !ps_gpu_thread_given_up()) {
        atomic_store(&g.open, false);
        unsubscribe();
        take_buffers();
        ps_cupti_buffers_release();
    }
}

void ps_cupti_let_go(void) {
    if (holding) {
        atomic_store(&g.open, false);
        unsubscribe();
        ps_cupti_buffer buffer;
        while (ps_cupti_buffer_next(&buffer)) { /* of a recording that is over */
            ps_cupti_buffer_free(buffer.bytes);
        }
        ps_cupti_buffers_release();
    }
}

/* Of the time that is left, two thirds at most are for the device, the rest for CUPTI. */
static void cupti_drain(unsigned timeout_ms) {
    int64_t until = (int64_t)ps_mono_ns() + (int64_t)timeout_ms * 1000000;
    ps_device_cuda.drain(timeout_ms);
    int64_t now = (int64_t)ps_mono_ns();
    int64_t left_ms = (until - now) / 1000000;
    left_ms = left_ms > 1000 ? left_ms : 1000;
    atomic_store(&g.wait_until_ns, now + left_ms * 1000000 * 2 / 3);
    if (atomic_load(&g.open) && !ps_gpu_thread_do(PS_GPU_FLUSH_ALL, (unsigned)left_ms)) {
        atomic_store(&g.open, false);
        atomic_store(&ps_cuda.lost, true);
        ps_shared_drop(PS_DROP_CUPTI_DROPPED, 1);
        ps_rec_log_once("cupti_lost",
                        "CUPTI did not come back within %u s: its last records are missing",
                        timeout_ms / 1000);
    }
}

static void cupti_close(void) {
    if (atomic_load(&g.open)) {
        (void)ps_gpu_thread_do(PS_GPU_CLOSE_CUPTI, CLOSE_MS);
        atomic_store(&g.open, false);
    }
    ps_device_cuda.close();
}

static void cupti_mark(uint64_t id, void *stream) {
    ps_device_cuda.mark(id, stream);
}
static void cupti_start(uint64_t id, void *stream) {
    ps_device_cuda.start(id, stream);
}
static void cupti_enter(uint64_t id) {
    ps_cupti_enter(id);
}
/* Our own calls into the driver are none of the range's. */
static void cupti_end(uint64_t id) {
    ps_cupti_leave(id);
    ps_device_cuda.end(id);
}
static void cupti_step(void) {
    ps_device_cuda.step();
}

/* The subscription is the parent's. */
static void cupti_forget(void) {
    atomic_store(&g.open, false);
    release_hold();
    g.n_kinds = 0;
    ps_cupti_buffers_forget();
    ps_cupti_correlate_forget();
    ps_device_cuda.forget();
}

const ps_rec_device ps_device_cupti = {.name = "cupti",
                                       .open = cupti_open,
                                       .mark = cupti_mark,
                                       .start = cupti_start,
                                       .enter = cupti_enter,
                                       .end = cupti_end,
                                       .step = cupti_step,
                                       .tick = cupti_tick,
                                       .drain = cupti_drain,
                                       .close = cupti_close,
                                       .forget = cupti_forget};

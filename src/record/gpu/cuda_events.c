/* The backend cuda_event, the half on the program's threads: a range on a stream is two events of the driver, recorded at its
 * start and at its end; their times are asked for later (cuda_resolve.c). So a range covers what the device worked for it
 * and waited for in between: from the moment the stream had finished what came before, to the moment it had finished what
 * was enqueued inside. That is what Ascend's device rows show, too.
 *
 * An event costs: one question whether the stream is being captured into a graph (then nothing is recorded: an event would become part
 * of the graph, and a default stream that may not be touched would break the capture), one for its context, one for the
 * context's number, a short lock for two free events, and cuEventRecord. Nothing waits for the device. The event for the end is
 * taken together with that for the start, so that the end of an admitted range never lacks one. */
#include <stddef.h>

#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/gpu/cuda_driver.h"
#include "record/gpu/cuda_internal.h"
#include "record/gpu/device_choose.h"
#include "record/gpu/device_gpu.h"
#include "record/gpu/gpu_thread.h"
#include "record/ring/clock.h"
#include "record/ring/log.h"

ps_cuda_backend ps_cuda;

enum { ANCHOR_EVERY_NS = 500000000, STEP_EVERY_NS = 5000000, CLOSE_MS = 2000 };

ps_cuda_meaning ps_cuda_meaning_of(int result) {
    if (result == PS_CU_OK) {
        return PS_CUDA_FINE;
    }
    if (result >= PS_CU_CAPTURE_FIRST && result <= PS_CU_CAPTURE_LAST) {
        return PS_CUDA_CAPTURING;
    }
    switch (result) {
    case PS_CU_OUT_OF_MEMORY:
        return PS_CUDA_NO_ROOM;
    case PS_CU_NOT_INITIALIZED:
    case PS_CU_DEINITIALIZED:
    case PS_CU_INVALID_CONTEXT:
    case PS_CU_CONTEXT_IS_DESTROYED:
        return PS_CUDA_NO_CONTEXT;
    case 214: /* memory errors that cannot be corrected, also of links */
    case 220:
    case 226:
    case 700: /* an address that is none */
    case 702: /* a kernel that took too long */
    case 710: /* assert() */
    case 714: /* and what else a kernel can do wrong */
    case 715:
    case 716:
    case 717:
    case 718:
    case 719:
    case 721:
    case 999:
        return PS_CUDA_DEVICE_FAULT;
    default:
        return PS_CUDA_BAD_STREAM;
    }
}

void ps_cuda_fail(ps_cuda_context *c, int result) {
    ps_cuda_meaning meaning = ps_cuda_meaning_of(result);
    int live = PS_CUDA_LIVE;
    bool fault = meaning == PS_CUDA_DEVICE_FAULT;
    if (atomic_compare_exchange_strong(&c->state, &live, fault ? PS_CUDA_FAULT : PS_CUDA_GONE) &&
        fault) {
        ps_rec_log_once(
            "cuda_fault",
            "the CUDA driver reports error %d for context %u: no device times from it any more; "
            "ranges keep the host's times",
            result, c->number);
    }
}

/* Counts why an event on a stream gets no device time. */
static void cuda_event_refuse(ps_cuda_context *c, void *stream, int result) {
    switch (ps_cuda_meaning_of(result)) {
    case PS_CUDA_CAPTURING:
        ps_event_drop(PS_DROP_CAPTURING);
        break;
    case PS_CUDA_BAD_STREAM:
        ps_event_drop(PS_DROP_BAD_STREAM);
        if (stream != PS_CU_STREAM_LEGACY && stream != PS_CU_STREAM_PER_THREAD) {
            ps_cuda_refuse(stream);
        }
        break;
    case PS_CUDA_NO_ROOM:
        ps_event_drop(PS_DROP_EVENT_POOL_EMPTY);
        break;
    case PS_CUDA_NO_CONTEXT:
        ps_event_drop(PS_DROP_NO_CONTEXT);
        if (c != NULL) {
            ps_cuda_fail(c, result);
        }
        break;
    default:
        ps_event_drop(PS_DROP_DEVICE_FAULT);
        if (c != NULL) {
            ps_cuda_fail(c, result);
        }
        break;
    }
}

/* PS_CU_OK and the context of the stream, or why there is none. */
static int context_of(const ps_cuda_calls *cu, void *stream, ps_cu_context *out) {
    bool special = stream == PS_CU_STREAM_LEGACY || stream == PS_CU_STREAM_PER_THREAD;
    *out = NULL;
    int r = special || cu->StreamGetCtx == NULL ? cu->CtxGetCurrent(out)
                                                : cu->StreamGetCtx(stream, out);
    return r == PS_CU_OK && *out == NULL ? PS_CU_INVALID_CONTEXT : r;
}

int ps_cuda_context_id(const ps_cuda_calls *cu, ps_cu_context handle, unsigned long long *unique) {
    unsigned version;
    *unique = 0;
    int r = cu->CtxGetId != NULL ? cu->CtxGetId(handle, unique) : PS_CU_NOT_SUPPORTED;
    if (r == PS_CU_NOT_SUPPORTED) {
        r = cu->CtxGetApiVersion(handle, &version);
    }
    return r == PS_CU_INVALID_VALUE || r == PS_CU_INVALID_HANDLE ? PS_CU_CONTEXT_IS_DESTROYED : r;
}

static int not_capturing(const ps_cuda_calls *cu, void *stream) {
    int status = PS_CU_CAPTURE_NONE;
    if (cu->StreamIsCapturing == NULL) {
        return PS_CU_OK; /* older than captures */
    }
    int r = cu->StreamIsCapturing(stream, &status);
    return r == PS_CU_OK && status != PS_CU_CAPTURE_NONE ? PS_CU_CAPTURE_FIRST : r;
}

/* The context in which an event may be recorded on the stream now; NULL: counted why not. */
static ps_cuda_context *admit(void *stream) {
    const ps_cuda_calls *cu = ps_cuda.calls;
    ps_cu_context handle = NULL;
    unsigned long long unique = 0;
    if (!ps_cuda_usable_stream(stream) || ps_cuda_refused(stream)) {
        ps_event_drop(PS_DROP_BAD_STREAM);
        return NULL;
    }
    int r = not_capturing(cu, stream);
    r = r != PS_CU_OK ? r : context_of(cu, stream, &handle);
    r = r != PS_CU_OK ? r : ps_cuda_context_id(cu, handle, &unique);
    if (r != PS_CU_OK) {
        cuda_event_refuse(NULL, stream, r);
        return NULL;
    }
    bool is_new;
    ps_cuda_context *c = ps_cuda_context_of(cu, handle, unique, ps_cuda.pool, &is_new);
    if (is_new) {
        ps_gpu_thread_ask(PS_GPU_SETUP);
    }
    int state = c == NULL ? PS_CUDA_GONE : atomic_load_explicit(&c->state, memory_order_relaxed);
    if (state != PS_CUDA_LIVE) {
        ps_event_drop(state == PS_CUDA_FAULT ? PS_DROP_DEVICE_FAULT : PS_DROP_NO_CONTEXT);
        return NULL;
    }
    return c;
}

/* Threads share the handle of the per-thread default stream; what they mean by it differs. */
static uint64_t cuda_event_lane_of(const void *stream) {
    static _Atomic uint32_t n_threads;
    static _Thread_local uint32_t number;
    if (stream != PS_CU_STREAM_PER_THREAD) {
        return (uintptr_t)stream;
    }
    if (number == 0) {
        number = atomic_fetch_add(&n_threads, 1) + 1;
    }
    return (uint64_t)number << 32 | 2;
}

/* The GPU thread keeps pools filled; where a burst is faster than it, some are made here, if the context is current. */
static bool make_some(ps_cuda_context *c) {
    const ps_cuda_calls *cu = ps_cuda.calls;
    uint32_t n_free, before, after;
    ps_cu_context now = NULL;
    ps_cuda_pool_state(c, &n_free, &before);
    if (cu->CtxGetCurrent(&now) != PS_CU_OK || now != c->handle) {
        return false;
    }
    (void)ps_cuda_pool_grow(cu, c, PS_CUDA_HASTE);
    ps_cuda_pool_state(c, &n_free, &after);
    return after > before;
}

/* A pool that is three quarters used and cannot grow: not oftener than every 5 ms, however many events find it so. */
static bool time_to_relieve(void) {
    int64_t now = ps_cuda_now();
    int64_t last = atomic_load_explicit(&ps_cuda.relieved_ns, memory_order_relaxed);
    return now - last >= STEP_EVERY_NS &&
           atomic_compare_exchange_strong(&ps_cuda.relieved_ns, &last, now);
}

static bool take_cuda_event(ps_cuda_context *c, uint32_t n, uint32_t *events) {
    uint32_t wish = 0;
    bool ok = ps_cuda_pool_take(c, n, events, &wish);
    if (wish == PS_GPU_GROW || (wish == PS_GPU_RESOLVE && time_to_relieve())) {
        ps_gpu_thread_ask(wish);
    }
    ok = ok || (wish == PS_GPU_GROW && make_some(c) && ps_cuda_pool_take(c, n, events, &wish));
    if (!ok) {
        ps_event_drop(PS_DROP_EVENT_POOL_EMPTY);
    }
    return ok;
}

static bool record_cuda_event(ps_cuda_context *c, uint32_t event, void *stream) {
    int r = ps_cuda.calls->EventRecord(c->events[event], stream);
    if (r != PS_CU_OK) {
        cuda_event_refuse(c, stream, r);
    }
    return r == PS_CU_OK;
}

static void cuda_mark(uint64_t id, void *stream) {
    uint32_t event;
    ps_cuda_context *c = atomic_load(&ps_cuda.open) ? admit(stream) : NULL;
    if (c == NULL || !take_cuda_event(c, 1, &event)) {
        return;
    }
    if (record_cuda_event(c, event, stream)) {
        ps_cuda_pending_add(c, id, cuda_event_lane_of(stream), event, event);
    } else {
        ps_cuda_pool_give(c, 1, &event);
    }
}

static void cuda_start(uint64_t id, void *stream) {
    uint32_t events[2];
    ps_cuda_context *c = atomic_load(&ps_cuda.open) ? admit(stream) : NULL;
    if (c == NULL || !take_cuda_event(c, 2, events)) {
        return;
    }
    ps_cuda_open range = {.id = id,
                          .stream = cuda_event_lane_of(stream),
                          .context = c,
                          .start = events[0],
                          .end = events[1]};
    bool ok = record_cuda_event(c, events[0], stream);
    if (ok && !ps_cuda_open_put(&range)) {
        ps_event_drop(PS_DROP_EVENT_POOL_EMPTY);
        ok = false;
    }
    if (!ok) {
        ps_cuda_pool_give(c, 2, events);
    }
}

/* A start that was not admitted has been counted; its end finds nothing here. */
static void cuda_end(uint64_t id) {
    ps_cuda_open range;
    if (!atomic_load(&ps_cuda.open) || !ps_cuda_open_take(id, &range)) {
        return;
    }
    bool per_thread = (range.stream & UINT32_MAX) == 2;
    void *stream = per_thread ? PS_CU_STREAM_PER_THREAD : (void *)(uintptr_t)range.stream;
    ps_cuda_context *c = NULL;
    if (per_thread && cuda_event_lane_of(stream) != range.stream) {
        ps_event_drop(
            PS_DROP_BAD_STREAM); /* another thread's default stream: not reachable from here */
    } else {
        c = admit(stream);
        if (c != NULL && c != range.context) {
            ps_event_drop(
                PS_DROP_NO_CONTEXT); /* the one it began in is gone, or no longer current */
            c = NULL;
        }
    }
    if (c != NULL && record_cuda_event(c, range.end, stream)) {
        ps_cuda_pending_add(c, id, range.stream, range.start, range.end);
    } else {
        ps_cuda_pool_give(range.context, 2, (uint32_t[]){range.start, range.end});
    }
}

/* At once, so that little is pending when a program destroys its context behind its last step; steps that follow each other
 * faster than the writer's ticks wait for one. */
static void cuda_step(void) {
    int64_t now = ps_cuda_now();
    if (now - atomic_load_explicit(&ps_cuda.stepped_ns, memory_order_relaxed) < STEP_EVERY_NS) {
        atomic_store_explicit(&ps_cuda.stepped, true, memory_order_relaxed);
    } else if (atomic_load(&ps_cuda.open) && ps_cuda_n_pending() > 0) {
        atomic_store_explicit(&ps_cuda.stepped_ns, now, memory_order_relaxed);
        ps_gpu_thread_ask(PS_GPU_RESOLVE);
    }
}

static bool any_active(void) {
    uint32_t n = ps_cuda_context_count();
    for (uint32_t i = 0; i < n; i++) {
        if (atomic_load_explicit(&ps_cuda_context_table[i].active, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static void cuda_tick(void) {
    uint32_t wishes = 0;
    int64_t now = ps_cuda_now();
    if (!atomic_load(&ps_cuda.open)) {
        return;
    }
    if (atomic_exchange_explicit(&ps_cuda.stepped, false, memory_order_relaxed) &&
        ps_cuda_n_pending() > 0) {
        wishes |= PS_GPU_RESOLVE;
    }
    if (now - atomic_load(&ps_cuda.anchored_ns) >= ANCHOR_EVERY_NS && any_active()) {
        atomic_store(&ps_cuda.anchored_ns, now);
        wishes |= PS_GPU_ANCHOR;
    }
    if (wishes != 0) {
        ps_gpu_thread_ask(wishes);
    }
}

/* Asks event by event instead of synchronising: a synchronisation cannot be taken back when the device hangs, and it breaks a
 * capture that is under way. */
static void cuda_drain(unsigned timeout_ms) {
    ps_device_tell();
    if (ps_cuda_n_pending() == 0) {
        return;
    }
    atomic_store(&ps_cuda.drain_until_ns, (int64_t)ps_mono_ns() + (int64_t)timeout_ms * 1000000);
    if (ps_gpu_thread_do(PS_GPU_DRAIN, timeout_ms + CLOSE_MS)) {
        return;
    }
    atomic_store(&ps_cuda.open, false);
    atomic_store(&ps_cuda.lost, true);
    ps_shared_drop(PS_DROP_UNRESOLVED, ps_cuda_n_pending());
    ps_rec_log_once("cuda_lost",
                    "the CUDA driver did not come back within %u s: device times are missing",
                    timeout_ms / 1000);
}

static bool cuda_open(const ps_rec_config *config) {
    ps_cuda.calls = ps_cuda_driver(config->cuda_library);
    if (ps_cuda.calls == NULL || atomic_load(&ps_cuda.lost)) {
        ps_rec_log_once("no_cuda",
                        "no CUDA driver that answers: device rows have the host's times");
        return false;
    }
    ps_cuda.pool = config->event_pool < 4 ? 4 : (uint32_t)config->event_pool;
    atomic_store(&ps_cuda.stepped, false);
    atomic_store(&ps_cuda.anchored_ns, ps_cuda_now());
    atomic_store(&ps_cuda.open, true);
    ps_gpu_thread_ask(PS_GPU_SETUP);
    return true;
}

/* Pools and anchors stay for the next recording, which must find everything ready: cuda_open is called in the middle of an
 * event. */
static void cuda_close(void) {
    atomic_store(&ps_cuda.open, false);
    if (!ps_gpu_thread_stop(CLOSE_MS)) {
        atomic_store(&ps_cuda.lost, true);
    }
    if (!atomic_load(&ps_cuda.lost)) {
        ps_cuda_contexts_reset();
    }
}

static void cuda_forget(void) {
    atomic_store(&ps_cuda.open, false);
    atomic_store(&ps_cuda.lost, false);
    ps_cuda_contexts_forget();
    ps_gpu_thread_forget();
}

const ps_rec_device ps_device_cuda = {.name = "cuda_event",
                                      .open = cuda_open,
                                      .mark = cuda_mark,
                                      .start = cuda_start,
                                      .end = cuda_end,
                                      .step = cuda_step,
                                      .tick = cuda_tick,
                                      .drain = cuda_drain,
                                      .close = cuda_close,
                                      .forget = cuda_forget};

/* The backend cuda_event, the half on the GPU thread: makes contexts ready, keeps their pools filled and their clocks anchored,
 * and asks for the times of ranges whose events have happened: at the end of steps, when a pool is three quarters used, before an
 * anchor that is still needed would be overwritten, and at the end.
 *
 * A lane is asked from its oldest range on and left at the first that has not happened: one question too many for each
 * stream. This thread's capture mode is RELAXED (device.c): in any other, asking for an event breaks the captures of all threads.
 *
 * Before each go a context is checked: a program may destroy its contexts, and their events with them, at any time (a
 * cudaDeviceReset before it ends, for one). Between the check and the last use some microseconds pass, and nothing can be done
 * about them from outside of the driver. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "record/core/events.h"
#include "record/core/threads_shared.h"
#include "record/gpu/cuda_internal.h"
#include "record/gpu/device_gpu.h"
#include "record/gpu/gpu_thread.h"
#include "record/ring/clock.h"
#include "record/ring/log.h"

enum {
    ANCHOR_FRESH_NS =
        100000000, /* before asking for times, unless there is one younger than this */
    ANCHORS_BETWEEN = PS_CUDA_ANCHORS / 2,
    GIVE_BACK = 64 /* events at a time */
};

uint32_t ps_cuda_n_pending(void) {
    uint32_t n = ps_cuda_context_count(), sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        sum += atomic_load(&ps_cuda_context_table[i].n_pending);
    }
    return sum;
}

bool ps_cuda_alive(const ps_cuda_calls *cu, ps_cuda_context *c) {
    if (atomic_load(&c->state) != PS_CUDA_LIVE) {
        return false;
    }
    unsigned long long unique;
    int r = ps_cuda_context_id(cu, c->handle, &unique);
    if (r == PS_CU_OK && unique != c->unique) {
        r = PS_CU_CONTEXT_IS_DESTROYED;
    }
    if (r != PS_CU_OK) {
        ps_cuda_fail(c, r);
    }
    return r == PS_CU_OK;
}

/* Of a context that cannot be asked any more, or whose time is over: all that is pending is counted. Events go back to the
 * pool: recording one again is allowed whatever became of it. */
static void pending_abandon(ps_cuda_context *c) {
    uint32_t n = 0;
    for (uint32_t lane = 0; lane <= PS_CUDA_LANES; lane++) {
        for (uint32_t i = ps_cuda_pending_take(c, lane); i != PS_CUDA_NONE; n++) {
            ps_cuda_pending p = c->pending[i];
            ps_cuda_pool_give(c, p.end == i ? 1 : 2, (uint32_t[]){i, p.end});
            i = p.next;
        }
    }
    if (n > 0) {
        (void)atomic_fetch_sub(&c->n_pending, n);
        ps_shared_drop(PS_DROP_UNRESOLVED, n);
    }
}

/* --- contexts made ready ---------------------------------------------------------------------------------------------- */

/* Once a device and recording: several contexts may be on it. Its name without what JSON would need escaped. */
static void tell_device(const ps_cuda_calls *cu, ps_cuda_context *c) {
    char name[128] = "", text[192];
    c->told = true;
    for (uint32_t i = 0; i < ps_cuda_context_count(); i++) {
        const ps_cuda_context *other = &ps_cuda_context_table[i];
        if (other != c && other->told && other->device == c->device) {
            return;
        }
    }
    if (cu->DeviceGetName(name, (int)sizeof name, c->device) != PS_CU_OK) {
        name[0] = 0;
    }
    for (char *s = name; *s != 0; s++) {
        *s = *s < ' ' || *s == '"' || *s == '\\' || *s > '~' ? ' ' : *s;
    }
    int length = snprintf(text, sizeof text, "{\"id\":%d,\"name\":\"%s\"}", c->device, name);
    ps_shared_pair(PS_REC_INFO, "device", text, (size_t)length);
}

static int anchor(const ps_cuda_calls *cu, ps_cuda_context *c) {
    int r = ps_cuda_clock_anchor(cu, &c->clock);
    if (r == PS_CU_OK) {
        const ps_cuda_anchor *a = ps_cuda_clock_newest(&c->clock);
        ps_device_more more = {.device = (uint32_t)c->device, .context = c->number};
        ps_shared_device(PS_REC_DEVICE_ANCHOR, (uint64_t)a->half_ns, a->host_ns, a->device_ns, NULL,
                         &more);
        c->anchored_ns = a->host_ns;
    }
    return r == PS_CU_NOT_READY ? PS_CU_OK : r; /* a busy device: the next time, then */
}

/* Once a context: our stream and the events of anchors. Once a recording: which device it is, and an anchor. */
static int make_ready(const ps_cuda_calls *cu, ps_cuda_context *c) {
    int r = PS_CU_OK;
    if (!c->ready) {
        r = cu->CtxGetDevice(&c->device);
        r = r != PS_CU_OK ? r : ps_cuda_clock_init(cu, &c->clock);
    }
    r = r != PS_CU_OK ? r : anchor(cu, c);
    if (r == PS_CU_OK) {
        c->ready = true;
        tell_device(cu, c);
    }
    return r;
}

static int grow_pending(const ps_cuda_calls *cu, ps_cuda_context *c) {
    uint32_t n_free, n_events, before;
    int r = PS_CU_OK;
    ps_cuda_pool_state(c, &n_free, &n_events);
    do {
        before = n_events;
        r = n_free < ps_cuda_pool_low(n_events) ? ps_cuda_pool_grow(cu, c, PS_CUDA_BATCH)
                                                : PS_CU_OK;
        ps_cuda_pool_state(c, &n_free, &n_events);
    } while (r == PS_CU_OK && n_events > before);
    return r == PS_CU_OUT_OF_MEMORY ? PS_CU_OK : r;
}

/* --- times ------------------------------------------------------------------------------------------------------------ */

typedef struct resolved { /* events on their way back to the pool */
    uint32_t n, events[GIVE_BACK + 2];
} resolved;

static void give_back(ps_cuda_context *c, resolved *done, uint32_t at_least) {
    if (done->n >= at_least && done->n > 0) {
        ps_cuda_pool_give(c, done->n, done->events);
        done->n = 0;
    }
}

/* A range whose end has happened. */
static int resolve_one(const ps_cuda_calls *cu, ps_cuda_context *c, uint32_t start) {
    const ps_cuda_pending *p = &c->pending[start];
    int64_t start_ns, end_ns;
    int r =
        ps_cuda_clock_place(cu, &c->clock, c->events[start], c->events[p->end], &start_ns, &end_ns);
    if (r == PS_CU_OK && !ps_gpu_thread_given_up()) {
        ps_device_more more = {
            .device = (uint32_t)c->device, .context = c->number, .stream = p->stream};
        ps_shared_device(PS_REC_DEVICE, p->id, start_ns, end_ns, NULL, &more);
    }
    return r;
}

/* Walks a chain; what has not happened goes back. In the lane of all other streams the order says nothing: all are asked. */
static int resolve_lane(const ps_cuda_calls *cu, ps_cuda_context *c, uint32_t lane) {
    uint32_t rest = PS_CUDA_NONE, rest_last = PS_CUDA_NONE, n = 0, lost = 0;
    resolved done = {0};
    int r = PS_CU_OK;
    uint32_t i = ps_cuda_pending_take(c, lane);
    while (i != PS_CUDA_NONE && r == PS_CU_OK && !ps_gpu_thread_given_up()) {
        uint32_t end = c->pending[i].end, next = c->pending[i].next;
        int q = cu->EventQuery(c->events[end]);
        if (q == PS_CU_NOT_READY) {
            if (lane < PS_CUDA_LANES) {
                break;
            }
            c->pending[i].next = PS_CUDA_NONE;
            *(rest == PS_CUDA_NONE ? &rest : &c->pending[rest_last].next) = i;
            rest_last = i;
            i = next;
            continue;
        }
        q = q == PS_CU_OK ? resolve_one(cu, c, i) : q;
        /* A capture began between our question and our event: this one range has no time. */
        bool captured = ps_cuda_meaning_of(q) == PS_CUDA_CAPTURING || q == PS_CU_INVALID_VALUE ||
                        q == PS_CU_NOT_READY;
        if (q != PS_CU_OK && !captured) {
            r = q;
            break;
        }
        lost += q != PS_CU_OK ? 1 : 0;
        n++;
        done.events[done.n++] = i;
        if (end != i) {
            done.events[done.n++] = end;
        }
        give_back(c, &done, GIVE_BACK);
        i = next;
    }
    give_back(c, &done, 1);
    (void)atomic_fetch_sub(&c->n_pending, n);
    if (lost > 0) {
        ps_shared_drop(PS_DROP_UNRESOLVED, lost);
    }
    if (i != PS_CUDA_NONE) {
        ps_cuda_pending_return(c, lane, i);
    }
    if (rest != PS_CUDA_NONE) {
        ps_cuda_pending_return(c, lane, rest);
    }
    return r;
}

static int resolve(const ps_cuda_calls *cu, ps_cuda_context *c) {
    int r = PS_CU_OK;
    if (atomic_load(&c->n_pending) == 0) {
        return r;
    }
    if (c->clock.n == 0 || ps_cuda_now() - c->anchored_ns > ANCHOR_FRESH_NS) {
        r = anchor(cu, c);
    }
    for (uint32_t lane = 0; lane <= PS_CUDA_LANES && r == PS_CU_OK && c->clock.n > 0; lane++) {
        r = resolve_lane(cu, c, lane);
    }
    return r;
}

/* --- the thread's work ------------------------------------------------------------------------------------------------- */

/* What is wished for in a context that is alive and current. */
static int pending_serve(const ps_cuda_calls *cu, ps_cuda_context *c, uint32_t wishes) {
    int r = c->told ? PS_CU_OK : make_ready(cu, c);
    if (r == PS_CU_OK && (wishes & (PS_GPU_SETUP | PS_GPU_GROW)) != 0) {
        r = grow_pending(cu, c);
    }
    bool full = c->clock.n > 0 && c->clock.n % ANCHORS_BETWEEN == 0;
    if (r == PS_CU_OK && (wishes & PS_GPU_ANCHOR) != 0 && atomic_exchange(&c->active, false)) {
        r = anchor(cu, c);
    } else {
        full = false;
    }
    if (r == PS_CU_OK && ((wishes & (PS_GPU_RESOLVE | PS_GPU_DRAIN)) != 0 || full)) {
        r = resolve(cu, c);
    }
    return r;
}

static void serve_all(const ps_cuda_calls *cu, uint32_t wishes) {
    uint32_t n = ps_cuda_context_count();
    for (uint32_t i = 0; i < n && !ps_gpu_thread_given_up(); i++) {
        ps_cuda_context *c = &ps_cuda_context_table[i];
        if (!ps_cuda_alive(cu, c)) {
            pending_abandon(c);
            continue;
        }
        ps_cu_context before;
        int r = cu->CtxPushCurrent(c->handle);
        if (r == PS_CU_OK) {
            r = pending_serve(cu, c, wishes);
            (void)cu->CtxPopCurrent(&before);
        }
        if (r != PS_CU_OK && !ps_gpu_thread_given_up()) {
            ps_cuda_fail(c, r);
            pending_abandon(c);
        }
    }
}

static void pending_drain(const ps_cuda_calls *cu) {
    struct timespec pause = {.tv_nsec = 50000};
    for (;;) {
        serve_all(cu, PS_GPU_DRAIN);
        if (ps_gpu_thread_given_up() || ps_cuda_n_pending() == 0) {
            return;
        }
        if ((int64_t)ps_mono_ns() >= atomic_load(&ps_cuda.drain_until_ns)) {
            break;
        }
        (void)nanosleep(&pause, NULL);
        pause.tv_nsec = pause.tv_nsec < 2000000 ? pause.tv_nsec * 2 : pause.tv_nsec;
    }
    for (uint32_t i = 0; i < ps_cuda_context_count(); i++) {
        pending_abandon(&ps_cuda_context_table[i]);
    }
    ps_rec_log_once("unresolved",
                    "the device did not finish in time: the last ranges have no device times");
}

void ps_cuda_work(uint32_t wishes) {
    const ps_cuda_calls *cu = ps_cuda.calls;
    if ((wishes & ~(uint32_t)PS_GPU_DRAIN) != 0) {
        serve_all(cu, wishes & ~(uint32_t)PS_GPU_DRAIN);
    }
    if ((wishes & PS_GPU_DRAIN) != 0) {
        pending_drain(cu);
    }
}

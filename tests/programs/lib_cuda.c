/* name: libcuda.so.1
 *
 * An EMULATION of the CUDA driver, for tests of the recorder on machines without a GPU. It is no GPU: it knows contexts, streams,
 * events, captures and errors as the driver's documentation describes them, and nothing of memory or code. What a real device
 * does differently, tests that use it cannot show.
 *
 * Time. A device's clock runs from an offset of its own, EMU_DRIFT_PPM faster than CLOCK_MONOTONIC. Streams are timelines: a
 * kernel begins when its stream has come to it, at the earliest EMU_LATENCY_NS (3000) after the call, and lasts as many
 * nanoseconds as its first parameter says; so the moment of every event is known when it is recorded, and an event *has
 * happened* once the clock has passed it by EMU_LATENCY_NS / 2. Elapsed times are floats of milliseconds, as the driver's.
 *
 * EMU_TRUTH=FILE gets a line `kernel STREAM START END NAME` for each kernel and `event STREAM AT` for each event, in the order of
 * calls and in ns of CLOCK_MONOTONIC: where they truly lay.
 * EMU_FAIL=CALL:CODE:AFTER makes the call number AFTER (from 0) of that name fail; codes that stay, stay for its context.
 * EMU_VERSION=N is the driver's version (12040). Functions emu_*: see lib_cuda.h. */
#include "lib_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_CONTEXTS = 64, MAX_STREAMS = 2048, MAX_EVENTS = 1 << 18, MAX_THREADS = 64 };
#define HANGS (INT64_MAX / 4)

typedef struct context {
    atomic_bool alive;
    int device, sticky; /* the error that stays */
    unsigned long long id;
    int64_t legacy_until;
    struct {
        unsigned thread;
        int64_t until;
    } own[MAX_THREADS]; /* per-thread default streams */
} context;

typedef struct stream {
    atomic_bool alive;
    bool blocking;
    context *ctx;
    int64_t until; /* device ns: when all that is enqueued will be done */
    int capture, mode;
    unsigned thread;          /* that began the capture */
    unsigned long long graph; /* ns of the kernels captured so far */
} stream;

typedef struct event {
    atomic_bool alive;
    bool recorded, captured;
    context *ctx;
    int64_t at; /* device ns */
} event;

static context contexts[MAX_CONTEXTS];
static stream streams[MAX_STREAMS];
static event events[MAX_EVENTS];
static uint32_t n_events;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static atomic_bool initialized;
static unsigned long long next_id = 1000;
static int64_t latency_ns = 3000, advanced_ns, base_ns;
static double drift = 0;
static FILE *truth;
static emu_counts counts;
static _Thread_local uint64_t calls_here;
static struct {
    char call[48];
    int code, after, block_ms;
} fail;
static void (*_Atomic activity)(const emu_activity *);
static _Atomic unsigned n_threads;
static _Thread_local unsigned this_thread;
static _Thread_local context *current[16];
static _Thread_local int depth; /* current[depth] is the one */
static _Thread_local int capture_mode;
static _Atomic uint32_t next_correlation = 1;

static unsigned thread_number(void) {
    if (this_thread == 0) {
        this_thread = ++n_threads;
    }
    return this_thread;
}

/* --- clocks ----------------------------------------------------------------------------------------------------------- */

int64_t emu_host_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec +
           __atomic_load_n(&advanced_ns, __ATOMIC_SEQ_CST);
}

void emu_advance(int64_t ns) {
    (void)__atomic_fetch_add(&advanced_ns, ns, __ATOMIC_SEQ_CST);
}

static int64_t device_of(int64_t host) {
    return 777000000000 + (host - base_ns) + (int64_t)((double)(host - base_ns) * drift);
}
int64_t emu_host_of(int64_t device) {
    return base_ns + (int64_t)((double)(device - 777000000000) / (1 + drift));
}
static int64_t device_now(void) {
    return device_of(emu_host_ns());
}

/* --- demands ---------------------------------------------------------------------------------------------------------- */

void emu_fail(const char *call, int code, int after, int block_ms) {
    (void)pthread_mutex_lock(&lock);
    (void)snprintf(fail.call, sizeof fail.call, "%s", call);
    fail.code = code;
    fail.after = after;
    fail.block_ms = block_ms;
    (void)pthread_mutex_unlock(&lock);
}

void emu_get_counts(emu_counts *out) {
    (void)pthread_mutex_lock(&lock);
    *out = counts;
    out->calls_here = calls_here;
    (void)pthread_mutex_unlock(&lock);
}

void emu_on_activity(void (*fn)(const emu_activity *)) {
    activity = fn;
}

__attribute__((constructor)) static void begin(void) {
    const char *v = getenv("EMU_DRIFT_PPM");
    drift = v != NULL ? strtod(v, NULL) * 1e-6 : 0;
    v = getenv("EMU_LATENCY_NS");
    latency_ns = v != NULL ? strtoll(v, NULL, 10) : latency_ns;
    base_ns = emu_host_ns();
    v = getenv("EMU_TRUTH");
    truth = v != NULL ? fopen(v, "w") : NULL;
    v = getenv("EMU_FAIL");
    if (v != NULL) {
        (void)sscanf(v, "%47[^:]:%d:%d", fail.call, &fail.code, &fail.after);
    }
}

static bool stays(int code) {
    return (code >= 700 && code < 800 && code != 709) || code == 999;
}

/* Whether this call is to fail; sleeps outside of the lock when it is to block. */
static int demanded(const char *call, context *ctx) {
    int code = 0, block = 0;
    (void)pthread_mutex_lock(&lock);
    counts.calls++;
    calls_here++;
    if (ctx != NULL && ctx->sticky != 0) {
        code = ctx->sticky;
        counts.after_sticky++;
    } else if (strcmp(fail.call, call) == 0 && fail.after-- <= 0) {
        code = fail.code;
        block = fail.block_ms;
        if (stays(code) && ctx != NULL) {
            ctx->sticky = code;
        }
        if (code != 0) {
            fail.call[0] = 0;
        }
    }
    (void)pthread_mutex_unlock(&lock);
    if (block > 0) {
        (void)usleep((useconds_t)block * 1000);
    }
    return code;
}

/* --- contexts --------------------------------------------------------------------------------------------------------- */

static context *context_at(void *handle) {
    context *c = handle;
    bool inside = c >= contexts && c < contexts + MAX_CONTEXTS;
    (void)pthread_mutex_lock(&lock);
    bool alive = inside && c->alive;
    (void)pthread_mutex_unlock(&lock);
    return alive ? c : NULL;
}
static int sticky_of(const context *c) {
    (void)pthread_mutex_lock(&lock);
    int code = c->sticky;
    (void)pthread_mutex_unlock(&lock);
    return code;
}
static context *now(void) {
    return current[depth];
}

int cuInit(unsigned flags) {
    initialized = true;
    return (int)flags * 0;
}
int cuDriverGetVersion(int *version) {
    const char *v = getenv("EMU_VERSION");
    *version = v != NULL ? atoi(v) : 12040;
    return 0;
}
int cuDeviceGetCount(int *n) {
    *n = 2;
    return initialized ? 0 : 3;
}
int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return initialized ? 0 : 3;
}
int cuDeviceGetName(char *name, int size, int device) {
    (void)snprintf(name, (size_t)size, "Emulated GPU %d", device);
    return 0;
}

int cuCtxCreate_v2(void **out, unsigned flags, int device) {
    (void)flags;
    if (!initialized) {
        return 3;
    }
    (void)pthread_mutex_lock(&lock);
    context *c = contexts;
    while (c < contexts + MAX_CONTEXTS && c->alive) {
        c++;
    }
    if (c == contexts + MAX_CONTEXTS) {
        (void)pthread_mutex_unlock(&lock);
        return 2;
    }
    c->device = device;
    c->sticky = 0;
    c->id = next_id++;
    c->legacy_until = 0;
    memset(c->own, 0, sizeof c->own);
    c->alive = true;
    (void)pthread_mutex_unlock(&lock);
    *out = c;
    depth = depth < 15 ? depth + 1 : depth;
    current[depth] = c;
    return 0;
}

/* With all that is in it; the place, and so the handle, is used for the next one. */
int cuCtxDestroy_v2(void *handle) {
    context *c = context_at(handle);
    if (c == NULL) {
        return 201;
    }
    (void)pthread_mutex_lock(&lock);
    c->alive = false;
    for (int i = 0; i < MAX_STREAMS; i++) {
        streams[i].alive = streams[i].alive && streams[i].ctx != c;
    }
    for (uint32_t i = 0; i < n_events; i++) {
        events[i].alive = events[i].alive && events[i].ctx != c;
    }
    (void)pthread_mutex_unlock(&lock);
    if (now() == c) {
        current[depth] = NULL;
        depth = depth > 0 ? depth - 1 : 0;
    }
    return 0;
}
int cuCtxGetCurrent(void **out) {
    *out = now();
    return initialized ? 0 : 3;
}
int cuCtxSetCurrent(void *handle) {
    current[depth] = handle;
    return 0;
}
int cuCtxPushCurrent_v2(void *handle) {
    if (context_at(handle) == NULL) {
        (void)__atomic_fetch_add(&counts.misuse, 1, __ATOMIC_SEQ_CST);
        return 201;
    }
    int code = demanded("cuCtxPushCurrent", handle);
    if (code == 0) {
        current[++depth] = handle;
    }
    return code;
}
int cuCtxPopCurrent_v2(void **out) {
    *out = now();
    current[depth] = NULL;
    depth--;
    return 0;
}
int cuCtxGetDevice(int *device) {
    context *c = now();
    (void)pthread_mutex_lock(&lock); /* another thread may make a new context in this place */
    *device = c != NULL ? c->device : 0;
    (void)pthread_mutex_unlock(&lock);
    return c != NULL ? 0 : 201;
}
int cuCtxGetApiVersion(void *handle, unsigned *version) {
    *version = 3020;
    return context_at(handle) != NULL ? 0 : 201;
}
int cuCtxGetId(void *handle, unsigned long long *id) {
    context *c = context_at(handle);
    if (c == NULL) {
        return 201;
    }
    (void)pthread_mutex_lock(&lock);
    *id = c->id;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}

/* --- streams ---------------------------------------------------------------------------------------------------------- */

static stream *stream_at(void *handle) {
    stream *s = handle;
    bool inside = s >= streams && s < streams + MAX_STREAMS;
    return inside && s->alive ? s : NULL;
}
static bool special(const void *handle) {
    return (uintptr_t)handle <= 2;
}

int cuStreamCreate(void **out, unsigned flags) {
    if (now() == NULL) {
        return 201;
    }
    (void)pthread_mutex_lock(&lock);
    stream *s = streams;
    while (s < streams + MAX_STREAMS && s->alive) {
        s++;
    }
    s->blocking = flags == 0;
    s->ctx = now();
    s->until = 0;
    s->capture = 0;
    s->alive = true;
    (void)pthread_mutex_unlock(&lock);
    *out = s;
    return 0;
}
int cuStreamDestroy_v2(void *handle) {
    stream *s = stream_at(handle);
    if (s != NULL) {
        s->alive = false;
    }
    return s != NULL ? 0 : 400;
}
int cuStreamGetCtx(void *handle, void **ctx) {
    stream *s = stream_at(handle);
    *ctx = special(handle) ? now() : s != NULL ? s->ctx : NULL;
    return *ctx != NULL ? 0 : special(handle) ? 201 : 400;
}

/* A blocking stream of the context that is being captured: the default stream may not be used. */
static stream *blocking_capture(const context *c) {
    for (int i = 0; i < MAX_STREAMS; i++) {
        stream *s = &streams[i];
        if (s->alive && s->ctx == c && s->blocking && s->capture == 1) {
            return s;
        }
    }
    return NULL;
}

int cuStreamIsCapturing(void *handle, int *status) {
    int code = demanded("cuStreamIsCapturing", NULL);
    stream *s = stream_at(handle);
    if (code != 0) {
        return code;
    }
    *status = 0;
    if (special(handle)) {
        if (now() == NULL) {
            return 201;
        }
        (void)pthread_mutex_lock(&lock);
        bool implicit = (uintptr_t)handle < 2 && blocking_capture(now()) != NULL;
        (void)pthread_mutex_unlock(&lock);
        return implicit ? 906 : 0;
    }
    if (s == NULL) {
        return 400;
    }
    (void)pthread_mutex_lock(&lock);
    *status = s->capture;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}
int cuThreadExchangeStreamCaptureMode(int *mode) {
    int before = capture_mode;
    capture_mode = *mode;
    *mode = before;
    return 0;
}

/* A call that is not safe while others capture breaks their captures, but from a thread whose mode is relaxed. */
static void unsafe_call(void) {
    for (int i = 0; i < MAX_STREAMS && capture_mode != 2; i++) {
        stream *s = &streams[i];
        bool hit = s->mode == 0 || (s->mode == 1 && s->thread == thread_number());
        if (s->alive && s->capture == 1 && hit) {
            s->capture = 2;
            counts.broken_captures++;
        }
    }
}

int cuStreamBeginCapture_v2(void *handle, int mode) {
    stream *s = stream_at(handle);
    if (s == NULL || s->capture != 0) {
        return s == NULL ? 400 : 900;
    }
    (void)pthread_mutex_lock(&lock);
    s->capture = 1;
    s->mode = mode;
    s->thread = thread_number();
    s->graph = 0;
    (void)pthread_mutex_unlock(&lock);
    return 0;
}
/* A graph is the nanoseconds of its kernels, and the number of events that were captured, which should be none. */
int cuStreamEndCapture(void *handle, void **graph) {
    stream *s = stream_at(handle);
    if (s == NULL || s->capture == 0) {
        return 401;
    }
    (void)pthread_mutex_lock(&lock);
    int r = s->capture == 2 ? 901 : 0;
    *graph = (void *)(uintptr_t)(s->graph + 1);
    s->capture = 0;
    (void)pthread_mutex_unlock(&lock);
    return r;
}
int cuGraphInstantiateWithFlags(void **exec, void *graph, unsigned long long flags) {
    (void)flags;
    *exec = graph;
    return 0;
}

/* --- work ------------------------------------------------------------------------------------------------------------- */

/* Where the timeline of a stream stands; under the lock. */
static int64_t *timeline(context *c, void *handle) {
    stream *s = stream_at(handle);
    if (s != NULL) {
        return &s->until;
    }
    if ((uintptr_t)handle == 2) {
        for (int i = 0; i < MAX_THREADS; i++) {
            if (c->own[i].thread == 0 || c->own[i].thread == thread_number()) {
                c->own[i].thread = thread_number();
                return &c->own[i].until;
            }
        }
    }
    return &c->legacy_until;
}

/* The default stream waits for all blocking streams, and they for it. */
static int64_t ready_at(context *c, void *handle) {
    int64_t at = device_of(emu_host_ns() + latency_ns);
    int64_t *own = timeline(c, handle);
    at = *own > at ? *own : at;
    stream *s = stream_at(handle);
    bool blocking = s != NULL ? s->blocking : true;
    if (own == &c->legacy_until) {
        for (int i = 0; i < MAX_STREAMS; i++) {
            if (streams[i].alive && streams[i].ctx == c && streams[i].blocking &&
                streams[i].until > at) {
                at = streams[i].until;
            }
        }
    } else if (blocking && c->legacy_until > at) {
        at = c->legacy_until;
    }
    return at;
}

static int enqueue(void *handle, uint64_t ns, emu_activity *a) {
    stream *s = stream_at(handle);
    context *c = s != NULL ? s->ctx : now();
    int64_t called = emu_host_ns();
    if (c == NULL || (s == NULL && !special(handle))) {
        return c == NULL ? 201 : 400;
    }
    int code = demanded("cuLaunchKernel", c);
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&lock);
    if (s != NULL && s->capture != 0) {
        s->graph += ns;
        (void)pthread_mutex_unlock(&lock);
        return 0;
    }
    int64_t start = ready_at(c, handle), end = ns >= HANGS ? HANGS : start + (int64_t)ns;
    *timeline(c, handle) = end;
    a->start = emu_host_of(start);
    a->end = emu_host_of(end);
    if (truth != NULL && end < HANGS) {
        (void)fprintf(truth, "kernel %p %lld %lld %s\n", handle, (long long)a->start,
                      (long long)a->end, a->name);
    }
    (void)pthread_mutex_unlock(&lock);
    a->device = (uint32_t)c->device;
    a->context = (uint32_t)(c - contexts) + 1;
    a->stream = s != NULL ? (uint32_t)(s - streams) + 13 : 7;
    a->correlation = next_correlation++;
    a->called = called;
    a->returned = emu_host_ns();
    if (activity != NULL) {
        activity(a);
    }
    return 0;
}

int cuModuleLoadData(void **module, const void *image) {
    *module = (void *)image;
    return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    static char names[64][64];
    static int n;
    (void)module;
    (void)pthread_mutex_lock(&lock);
    char *place = names[n++ % 64];
    (void)snprintf(place, 64, "%s", name);
    (void)pthread_mutex_unlock(&lock);
    *function = place;
    return 0;
}
/* The first parameter says for how many cycles; a cycle is a nanosecond. */
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *handle, void **params, void **extra) {
    (void)gz, (void)by, (void)bz, (void)shared, (void)extra;
    uint64_t ns;
    memcpy(&ns, params[0], sizeof ns);
    emu_activity a = {
        .kind = EMU_KERNEL, .name = function, .grid = gx, .grid_y = gy, .block = bx, .call = 307};
    return enqueue(handle, ns, &a);
}
int cuGraphLaunch(void *exec, void *handle) {
    emu_activity a = {
        .kind = EMU_KERNEL, .name = "graph", .grid = 1, .block = 1, .call = 514, .node = 1};
    return enqueue(handle, (uintptr_t)exec - 1, &a);
}
int cuMemAlloc_v2(unsigned long long *out, size_t bytes) {
    void *p = malloc(bytes);
    *out = (uintptr_t)p;
    return p != NULL ? 0 : 2;
}
int cuMemFree_v2(unsigned long long p) {
    free((void *)(uintptr_t)p);
    return 0;
}
int cuMemcpyHtoDAsync_v2(unsigned long long to, const void *from, size_t bytes, void *handle) {
    memcpy((void *)(uintptr_t)to, from, bytes);
    emu_activity a = {.kind = EMU_MEMCPY, .name = "HtoD", .bytes = bytes, .what = 1, .call = 276};
    return enqueue(handle, bytes / 10 + 500, &a);
}
int cuMemsetD8Async(unsigned long long to, unsigned char value, size_t bytes, void *handle) {
    memset((void *)(uintptr_t)to, value, bytes);
    emu_activity a = {
        .kind = EMU_MEMSET, .name = "memset", .bytes = bytes, .what = value, .call = 297};
    return enqueue(handle, bytes / 100 + 500, &a);
}

/* --- events ----------------------------------------------------------------------------------------------------------- */

static event *event_at(void *handle) {
    event *e = handle;
    if (e < events || e >= events + MAX_EVENTS || !e->alive) {
        (void)__atomic_fetch_add(&counts.misuse, 1,
                                 __ATOMIC_SEQ_CST); /* a real driver may crash here */
        return NULL;
    }
    return e;
}

int cuEventCreate(void **out, unsigned flags) {
    int code = demanded("cuEventCreate", now());
    if (code != 0 || now() == NULL) {
        return code != 0 ? code : 201;
    }
    (void)flags;
    (void)pthread_mutex_lock(&lock);
    bool room = n_events < MAX_EVENTS;
    event *e = &events[room ? n_events++ : 0];
    if (room) {
        e->ctx = now();
        e->recorded = e->captured = false;
        e->alive = true;
        counts.events_made++;
    }
    (void)pthread_mutex_unlock(&lock);
    *out = e;
    return room ? 0 : 2;
}
int cuEventDestroy_v2(void *handle) {
    event *e = event_at(handle);
    if (e != NULL) {
        e->alive = false;
    }
    return e != NULL ? 0 : 400;
}

int cuEventRecord(void *handle, void *on) {
    event *e = event_at(handle);
    stream *s = stream_at(on);
    if (e == NULL || (s == NULL && !special(on))) {
        return 400;
    }
    int code = demanded("cuEventRecord", e->ctx);
    context *c = s != NULL ? s->ctx : now();
    if (code != 0 || c == NULL || c != e->ctx) {
        return code != 0 ? code : c == NULL ? 201 : 400;
    }
    (void)pthread_mutex_lock(&lock);
    stream *implicit = (uintptr_t)on < 2 ? blocking_capture(c) : NULL;
    if (implicit != NULL) {
        implicit->capture = 2;
        counts.broken_captures++;
    } else if (s != NULL && s->capture == 1) {
        e->captured = true;
        counts.captured_events++;
    } else {
        e->captured = false;
        e->recorded = true;
        e->at = ready_at(c, on);
        *timeline(c, on) = e->at;
        counts.records++;
        if (truth != NULL) {
            (void)fprintf(truth, "event %p %lld\n", on, (long long)emu_host_of(e->at));
        }
    }
    (void)pthread_mutex_unlock(&lock);
    return implicit != NULL ? 906 : 0;
}

static bool happened(const event *e) {
    return !e->recorded || (e->at < HANGS && device_now() >= e->at + latency_ns / 2);
}

int cuEventQuery(void *handle) {
    event *e = event_at(handle);
    if (e == NULL) {
        return 400;
    }
    int code = demanded("cuEventQuery", e->ctx);
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&lock);
    unsafe_call();
    int r = e->captured ? 907 : happened(e) ? 0 : 600;
    counts.queries++;
    (void)pthread_mutex_unlock(&lock);
    return r;
}
int cuEventSynchronize(void *handle) {
    int r;
    while ((r = cuEventQuery(handle)) == 600) {
        (void)usleep(20);
    }
    return r;
}
int cuEventElapsedTime(float *ms, void *from, void *to) {
    event *a = event_at(from), *b = event_at(to);
    if (a == NULL || b == NULL || !a->recorded || !b->recorded) {
        return 400;
    }
    int code = demanded("cuEventElapsedTime", a->ctx);
    if (code != 0) {
        return code;
    }
    (void)pthread_mutex_lock(&lock);
    int r = a->ctx != b->ctx ? 400 : happened(a) && happened(b) ? 0 : 600;
    *ms = (float)((double)(b->at - a->at) / 1e6);
    (void)pthread_mutex_unlock(&lock);
    return r;
}

static int wait_until(int64_t until) {
    while (until < HANGS && device_now() < until + latency_ns / 2) {
        (void)usleep(20);
    }
    return until < HANGS ? 0 : 702;
}
int cuStreamSynchronize(void *handle) {
    stream *s = stream_at(handle);
    context *c = s != NULL ? s->ctx : now();
    if (c == NULL) {
        return 201;
    }
    (void)pthread_mutex_lock(&lock);
    int64_t until = ready_at(c, handle);
    (void)pthread_mutex_unlock(&lock);
    int code = sticky_of(c);
    return code != 0 ? code : wait_until(until);
}
int cuCtxSynchronize(void) {
    context *c = now();
    if (c == NULL) {
        return 201;
    }
    (void)pthread_mutex_lock(&lock);
    int64_t until = c->legacy_until;
    for (int i = 0; i < MAX_STREAMS; i++) {
        until = streams[i].alive && streams[i].ctx == c && streams[i].until > until
                    ? streams[i].until
                    : until;
    }
    for (int i = 0; i < MAX_THREADS; i++) {
        until = c->own[i].until > until ? c->own[i].until : until;
    }
    (void)pthread_mutex_unlock(&lock);
    int code = demanded("cuCtxSynchronize", c);
    return code != 0 ? code : wait_until(until);
}

/* By its plain name, in the newest form; as the driver does it. */
int cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *status) {
    static const char *suffix[] = {"_v2", ""};
    char symbol[96];
    (void)version;
    (void)flags;
    *out = NULL;
    void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    for (int i = 0; i < 2 && *out == NULL; i++) {
        (void)snprintf(symbol, sizeof symbol, "%s%s", name, suffix[i]);
        *out = self != NULL ? dlsym(self, symbol) : NULL;
    }
    *status = *out != NULL ? 0 : 1;
    (void)__atomic_fetch_add(&counts.proc_addresses, 1, __ATOMIC_SEQ_CST);
    return *out != NULL ? 0 : 500;
}

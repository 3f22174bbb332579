/* name: libcupti.so.13
 *
 * An EMULATION of CUPTI's activity interface over the emulated driver (lib_cuda.c), for tests of the recorder: records in the
 * documented places, buffers asked for and completed, one subscriber or several. What a real CUPTI costs, and how its
 * records look in versions nobody compared, it cannot show.
 *
 * Environment, looked at with each call: EMU_CUPTI_VERSION (26), EMU_CUPTI_BUSY=1, EMU_CUPTI_DROPPED=N, EMU_CUPTI_REFUSES=KIND,
 * EMU_CUPTI_SLOW=MS (a subscription takes so long), EMU_CUPTI_NO_CLOCK=1 (records carry CLOCK_REALTIME), EMU_CUPTI_LARGE=N (each record N bytes longer), EMU_CUPTI_NO_NAMES=1 (takes no
 * external correlation). */
#include "lib_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MEMCPY = 1, MEMSET = 2, DRIVER = 4, RUNTIME = 5, KERNEL = 10, OVERHEAD = 17, SYNC = 38 };
enum { EXTERNAL = 39, GRAPH = 51, CUSTOM0 = 3, MAX_DEPTH = 256 };
enum { MAX_HELD = 8192, OK = 0, MAX_LIMIT = 12, NOT_COMPATIBLE = 14, BUSY = 39, EMPTY = 25 };

typedef void (*request_fn)(uint8_t **, size_t *, size_t *);
typedef void (*complete_fn)(void *, uint32_t, uint8_t *, size_t, size_t);
typedef void (*request_v2_fn)(uint8_t **, size_t *, size_t *, void *);
typedef void (*complete_v2_fn)(uint8_t *, size_t, size_t, void *);

typedef struct held {
    emu_activity a;
    uint32_t tid;
    bool given, call_given, named;
    uint64_t external; /* the innermost name on its thread */
} held;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static held records[MAX_HELD];
static size_t n_records, n_lost;
static bool enabled[64], chosen[1200], scoped;
static atomic_bool subscribed; /* tests look, whatever thread is in here */
static request_fn request;
static complete_fn complete;
static request_v2_fn request_v2;
static complete_v2_fn complete_v2;
static uint64_t (*clock_of_tool)(void);

static long env(const char *name, long otherwise) {
    const char *v = getenv(name);
    return v != NULL ? strtol(v, NULL, 10) : otherwise;
}

static int64_t clock_ns(clockid_t id) {
    struct timespec t;
    (void)clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t realtime_offset_ns;

/* Once: two looks at two clocks differ by whatever the thread had to wait in between, and a record's times must not. */
static void measure_realtime_offset(void) {
    realtime_offset_ns = clock_ns(CLOCK_REALTIME) - clock_ns(CLOCK_MONOTONIC);
}

/* From CLOCK_MONOTONIC to what records carry. */
static uint64_t stamp(int64_t mono) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, measure_realtime_offset);
    return (uint64_t)(clock_of_tool != NULL ? mono : mono + realtime_offset_ns);
}

/* Names that threads have pushed: one kind only. */
static _Thread_local uint64_t pushed[MAX_DEPTH];
static _Thread_local unsigned depth;

static void hear(const emu_activity *a) {
    (void)pthread_mutex_lock(&lock);
    if (n_records < MAX_HELD && subscribed) {
        records[n_records++] = (held){.a = *a,
                                      .tid = (uint32_t)syscall(SYS_gettid),
                                      .named = depth > 0,
                                      .external = depth > 0 ? pushed[depth - 1] : 0};
    }
    (void)pthread_mutex_unlock(&lock);
}

static void connect_driver(bool on) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    void *address = driver != NULL ? dlsym(driver, "emu_on_activity") : NULL;
    void (*set)(void (*)(const emu_activity *));
    memcpy(&set, &address, sizeof set);
    if (set != NULL) {
        set(on ? hear : NULL);
    }
}

/* --- subscriptions and switches ------------------------------------------------------------------------------------------ */

int cuptiGetVersion(uint32_t *version) {
    *version = (uint32_t)env("EMU_CUPTI_VERSION", 26);
    return OK;
}
int cuptiSubscribe(void **subscriber, void (*callback)(void *, int, uint32_t, const void *),
                   void *user) {
    (void)callback;
    (void)user;
    (void)usleep((useconds_t)env("EMU_CUPTI_SLOW", 0) * 1000);
    if (subscribed || env("EMU_CUPTI_BUSY", 0) != 0) {
        return BUSY;
    }
    subscribed = true;
    scoped = false;
    *subscriber = &lock;
    connect_driver(true);
    return OK;
}
int cuptiSubscribe_v2(void **subscriber, void (*callback)(void *, int, uint32_t, const void *),
                      void *user, void *params) {
    (void)params;
    int r = cuptiSubscribe(subscriber, callback, user);
    scoped = r == OK;
    return r;
}
int cuptiUnsubscribe(void *subscriber) {
    (void)subscriber;
    connect_driver(false);
    subscribed = false;
    clock_of_tool = NULL;
    memset(enabled, 0, sizeof enabled);
    memset(chosen, 0, sizeof chosen);
    n_records = 0;
    return OK;
}
int cuptiSetThreadIdType(int type) {
    return type == 1 ? OK : 1;
}
int cuptiActivityRegisterTimestampCallback(uint64_t (*clock)(void)) {
    if (scoped || env("EMU_CUPTI_NO_CLOCK", 0) != 0) {
        return NOT_COMPATIBLE;
    }
    clock_of_tool = clock;
    return OK;
}
int cuptiGetTimestamp(uint64_t *out) {
    *out = stamp(clock_ns(CLOCK_MONOTONIC));
    return scoped ? NOT_COMPATIBLE : OK;
}
int cuptiGetTimestamp_v2(void *subscriber, uint64_t *out) {
    (void)subscriber;
    *out = stamp(clock_ns(CLOCK_MONOTONIC));
    return OK;
}
int cuptiActivityRegisterCallbacks(request_fn r, complete_fn c) {
    request = r;
    complete = c;
    return scoped ? NOT_COMPATIBLE : OK;
}
int cuptiActivityRegisterCallbacks_v2(void *subscriber, request_v2_fn r, complete_v2_fn c) {
    (void)subscriber;
    request_v2 = r;
    complete_v2 = c;
    return OK;
}
static int enable(int kind, bool on) {
    if (on && env("EMU_CUPTI_REFUSES", -1) == kind) {
        return 999;
    }
    enabled[kind] = on;
    return OK;
}
int cuptiActivityEnable(int kind) {
    return scoped ? NOT_COMPATIBLE : enable(kind, true);
}
int cuptiActivityDisable(int kind) {
    return scoped ? NOT_COMPATIBLE : enable(kind, false);
}
int cuptiActivityEnable_v2(void *subscriber, int kind, void *config) {
    (void)subscriber;
    (void)config;
    return enable(kind, true);
}
int cuptiActivityDisable_v2(void *subscriber, int kind, void *config) {
    (void)subscriber;
    (void)config;
    return enable(kind, false);
}
int cuptiActivityEnableDriverApi(uint32_t call, uint8_t on) {
    chosen[call % 1200] = on != 0;
    return OK;
}
int cuptiActivityEnableRuntimeApi(uint32_t call, uint8_t on) {
    (void)call;
    (void)on;
    return OK;
}
int cuptiActivityEnableDriverApi_v2(void *subscriber, uint32_t call, uint8_t on) {
    (void)subscriber;
    return cuptiActivityEnableDriverApi(call, on);
}
int cuptiActivityEnableRuntimeApi_v2(void *subscriber, uint32_t call, uint8_t on) {
    (void)subscriber;
    return cuptiActivityEnableRuntimeApi(call, on);
}
static int push_name(int kind, uint64_t id) {
    if (kind != CUSTOM0 || depth == MAX_DEPTH || env("EMU_CUPTI_NO_NAMES", 0) != 0) {
        return 1;
    }
    pushed[depth++] = id;
    return OK;
}
static int pop_name(int kind, uint64_t *last) {
    if (kind != CUSTOM0 || depth == 0) {
        return EMPTY;
    }
    *last = pushed[--depth];
    return OK;
}
int cuptiActivityPushExternalCorrelationId(int kind, uint64_t id) {
    return scoped ? NOT_COMPATIBLE : push_name(kind, id);
}
int cuptiActivityPopExternalCorrelationId(int kind, uint64_t *last) {
    return scoped ? NOT_COMPATIBLE : pop_name(kind, last);
}
int cuptiActivityPushExternalCorrelationId_v2(void *subscriber, int kind, uint64_t id) {
    return subscriber == NULL ? 1 : push_name(kind, id);
}
int cuptiActivityPopExternalCorrelationId_v2(void *subscriber, int kind, uint64_t *last) {
    return subscriber == NULL ? 1 : pop_name(kind, last);
}
int emu_subscribed(void) {
    return subscribed;
}
unsigned emu_names(void) { /* of the calling thread */
    return depth;
}

int cuptiGetCallbackName(int domain, uint32_t call, const char **name) {
    static const struct {
        uint32_t call;
        const char *name;
    } names[] = {{307, "cuLaunchKernel"},
                 {276, "cuMemcpyHtoDAsync_v2"},
                 {297, "cuMemsetD8Async"},
                 {514, "cuGraphLaunch"},
                 {10, "cuCtxSynchronize"}};
    for (size_t i = 0; domain == 1 && i < sizeof names / sizeof *names; i++) {
        if (names[i].call == call) {
            *name = names[i].name;
            return OK;
        }
    }
    return 1;
}

/* --- buffers ---------------------------------------------------------------------------------------------------------------- */

static size_t size_of(uint32_t kind) {
    size_t base = kind == KERNEL     ? 208
                  : kind == MEMCPY   ? 64
                  : kind == MEMSET   ? 56
                  : kind == EXTERNAL ? 24
                  : kind == GRAPH    ? 48
                                     : 40;
    return base + (size_t)env("EMU_CUPTI_LARGE", 0) / 8 * 8;
}
static void put32(uint8_t *r, size_t at, uint32_t v) {
    memcpy(r + at, &v, sizeof v);
}
static void put64(uint8_t *r, size_t at, uint64_t v) {
    memcpy(r + at, &v, sizeof v);
}

static void put_kernel(uint8_t *r, const emu_activity *a, uint64_t end) {
    put64(r, 16, stamp(a->start));
    put64(r, 24, end);
    put32(r, 40, a->device);
    put32(r, 44, a->context);
    put32(r, 48, a->stream);
    put32(r, 52, a->grid);
    put32(r, 56, a->grid_y);
    put32(r, 60, 1);
    put32(r, 64, a->block);
    put32(r, 68, 1);
    put32(r, 72, 1);
    put32(r, 92, a->correlation);
    put64(r, 104, (uintptr_t)a->name);
    put64(r, 144, a->node);
}
static void put_copy(uint8_t *r, const emu_activity *a, uint64_t end) {
    put32(r, 4, a->what);
    put64(r, 8, a->bytes);
    put64(r, 16, stamp(a->start));
    put64(r, 24, end);
    put32(r, 32, a->device);
    put32(r, 36, a->context);
    put32(r, 40, a->stream);
    put32(r, 44, a->correlation);
}
static void put_call(uint8_t *r, const held *h) {
    put32(r, 4, h->a.call);
    put64(r, 8, stamp(h->a.called));
    put64(r, 16, stamp(h->a.returned));
    put32(r, 24, (uint32_t)getpid());
    put32(r, 28, h->tid);
    put32(r, 32, h->a.correlation);
}

static void put_graph(uint8_t *r, const emu_activity *a, uint64_t end) {
    put32(r, 4, a->correlation);
    put64(r, 8, stamp(a->start));
    put64(r, 16, end);
    put32(r, 24, a->device);
    put32(r, 28, (uint32_t)a->node);
    put32(r, 32, a->context);
    put32(r, 36, a->stream);
}
static void put_external(uint8_t *r, const held *h) {
    put32(r, 4, CUSTOM0);
    put64(r, 8, h->external);
    put32(r, 16, h->a.correlation);
}

typedef struct sink {
    uint8_t *bytes;
    size_t size, used;
} sink;

static void end_buffer(sink *s) {
    if (s->bytes != NULL && scoped) {
        complete_v2(s->bytes, s->size, s->used, NULL);
    } else if (s->bytes != NULL) {
        complete(NULL, 0, s->bytes, s->size, s->used);
    }
    *s = (sink){0};
}

static uint8_t *room(sink *s, uint32_t kind) {
    size_t max = 0, need = size_of(kind);
    if (s->bytes != NULL && s->used + need > s->size) {
        end_buffer(s);
    }
    if (s->bytes == NULL) {
        if (scoped) {
            request_v2(&s->bytes, &s->size, &max, NULL);
        } else {
            request(&s->bytes, &s->size, &max);
        }
        if (s->bytes == NULL || s->size == 0) {
            n_lost++;
            *s = (sink){0};
            return NULL;
        }
    }
    uint8_t *r = s->bytes + s->used;
    memset(r, 0, need);
    put32(r, 0, kind);
    s->used += need;
    return r;
}

int cuptiActivityFlushAll(uint32_t forced) {
    sink s = {0};
    int64_t now = clock_ns(CLOCK_MONOTONIC);
    (void)pthread_mutex_lock(&lock);
    for (size_t i = 0; i < n_records; i++) {
        held *h = &records[i];
        bool whole = enabled[GRAPH] && h->a.node != 0; /* in place of its kernels */
        uint32_t kind = whole ? GRAPH : (uint32_t)h->a.kind;
        bool done = h->a.end <= now;
        uint8_t *r;
        if (!h->given && enabled[kind] && (done || forced != 0)) {
            uint64_t end = done ? stamp(h->a.end) : 0;
            h->given = true;
            if ((r = room(&s, kind)) != NULL) {
                (whole ? put_graph : kind == KERNEL ? put_kernel : put_copy)(r, &h->a, end);
            }
        }
        /* For calls that are recorded, and before them. */
        if (!h->call_given && h->named && enabled[EXTERNAL] && enabled[DRIVER] &&
            (r = room(&s, EXTERNAL)) != NULL) {
            put_external(r, h);
        }
        if (!h->call_given && (enabled[DRIVER] || chosen[h->a.call % 1200])) {
            h->call_given = true;
            if ((r = room(&s, DRIVER)) != NULL) {
                put_call(r, h);
            }
        }
    }
    if (enabled[OVERHEAD] && forced != 0) {
        uint8_t *r = room(&s, OVERHEAD);
        if (r != NULL) {
            put32(r, 4, 1 << 16);
            put32(r, 8, 2);
            put32(r, 16, (uint32_t)syscall(SYS_gettid));
            put64(r, 24, stamp(now - 1000));
            put64(r, 32, stamp(now));
        }
    }
    if (enabled[SYNC] && forced != 0) {
        uint8_t *r = room(&s, SYNC);
        if (r != NULL) {
            put32(r, 4, 4);
            put64(r, 8, stamp(now - 2000));
            put64(r, 16, stamp(now));
            put32(r, 24, 99);
        }
    }
    (void)pthread_mutex_unlock(&lock);
    end_buffer(&s);
    return OK;
}

int cuptiActivityGetNextRecord(uint8_t *bytes, size_t valid, uint8_t **record) {
    uint8_t *r = *record;
    if (r == NULL) {
        r = bytes;
    } else {
        uint32_t kind;
        memcpy(&kind, r, sizeof kind);
        r += size_of(kind);
    }
    if (r >= bytes + valid) {
        return MAX_LIMIT;
    }
    *record = r;
    return OK;
}
int cuptiActivityGetNextRecord_v2(void *subscriber, uint8_t *bytes, size_t valid,
                                  uint8_t **record) {
    (void)subscriber;
    return cuptiActivityGetNextRecord(bytes, valid, record);
}
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t stream, size_t *n) {
    static bool told;
    (void)context;
    (void)stream;
    *n = told ? 0 : (size_t)env("EMU_CUPTI_DROPPED", 0);
    told = told || *n > 0;
    return OK;
}
int cuptiActivityGetNumDroppedRecords_v2(void *subscriber, void *context, uint32_t stream,
                                         size_t *n) {
    (void)subscriber;
    return cuptiActivityGetNumDroppedRecords(context, stream, n);
}

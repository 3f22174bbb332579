/* Tables of the cuda_event backend (cuda_contexts.h). All of fixed size but the arrays of a context, which are allocated once
 * for as many events as the option event_pool allows; pages that are not used cost nothing. */
#include "record/gpu/cuda_contexts.h"

#include <string.h>

#include "base/alloc.h"
#include "record/gpu/device_gpu.h"

ps_cuda_context ps_cuda_context_table[PS_CUDA_CONTEXTS];
static _Atomic uint32_t n_contexts;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER; /* to add one */

/* --- open ranges ----------------------------------------------------------------------------------------------------- */

/* A place is taken by setting its key from 0 to BUSY, and filled before the key is the id; it is freed the other way round.
 * An id lies in one of the PROBES places from its own on, so nothing needs to be marked as deleted. */
enum { PROBES = 32 };
#define BUSY UINT64_MAX

typedef struct open_place {
    _Atomic uint64_t key;
    ps_cuda_open range;
} open_place;

static open_place open_places[PS_CUDA_OPEN];

static open_place *context_place_of(uint64_t id, uint32_t probe) {
    uint64_t hash = id * UINT64_C(0x9e3779b97f4a7c15) >> 49; /* 15 bits */
    return &open_places[(hash + probe) % PS_CUDA_OPEN];
}

bool ps_cuda_open_put(const ps_cuda_open *range) {
    for (uint32_t i = 0; i < PROBES; i++) {
        open_place *p = context_place_of(range->id, i);
        uint64_t empty = 0;
        if (atomic_compare_exchange_strong_explicit(&p->key, &empty, BUSY, memory_order_acquire,
                                                    memory_order_relaxed)) {
            p->range = *range;
            atomic_store_explicit(&p->key, range->id, memory_order_release);
            return true;
        }
    }
    return false;
}

static bool take_place(open_place *p, uint64_t id, ps_cuda_open *out) {
    if (!atomic_compare_exchange_strong_explicit(&p->key, &id, BUSY, memory_order_acquire,
                                                 memory_order_relaxed)) {
        return false;
    }
    *out = p->range;
    atomic_store_explicit(&p->key, 0, memory_order_release);
    return true;
}

bool ps_cuda_open_take(uint64_t id, ps_cuda_open *out) {
    for (uint32_t i = 0; i < PROBES; i++) {
        open_place *p = context_place_of(id, i);
        if (atomic_load_explicit(&p->key, memory_order_relaxed) == id && take_place(p, id, out)) {
            return true;
        }
    }
    return false;
}

void ps_cuda_open_clear(void) {
    for (uint32_t i = 0; i < PS_CUDA_OPEN; i++) {
        ps_cuda_open range;
        uint64_t id = atomic_load_explicit(&open_places[i].key, memory_order_relaxed);
        if (id != 0 && id != BUSY && take_place(&open_places[i], id, &range)) {
            ps_cuda_pool_give(range.context, 2, (uint32_t[]){range.start, range.end});
        }
    }
}

/* --- streams that are refused ----------------------------------------------------------------------------------------- */

enum { REFUSED = 256, REFUSED_PROBES = 8 };
static _Atomic(const void *) refused[REFUSED];

static _Atomic(const void *) *refused_place(const void *stream, uint32_t probe) {
    uint64_t hash = (uintptr_t)stream * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    return &refused[(hash + probe) % REFUSED];
}

bool ps_cuda_refused(const void *stream) {
    for (uint32_t i = 0; i < REFUSED_PROBES; i++) {
        const void *at = atomic_load_explicit(refused_place(stream, i), memory_order_relaxed);
        if (at == NULL || at == stream) {
            return at != NULL;
        }
    }
    return false;
}

/* Where all places are taken the driver is asked again each time, which only costs time. */
void ps_cuda_refuse(const void *stream) {
    for (uint32_t i = 0; i < REFUSED_PROBES; i++) {
        const void *empty = NULL;
        if (atomic_compare_exchange_strong(refused_place(stream, i), &empty, stream) ||
            empty == stream) {
            return;
        }
    }
}

/* --- pools ------------------------------------------------------------------------------------------------------------ */

/* Several threads may do this at once: one that met the context or found no event, and the GPU thread. What one of them made too many goes. */
int ps_cuda_pool_grow(const ps_cuda_calls *cu, ps_cuda_context *c, uint32_t wanted) {
    ps_cu_event made[PS_CUDA_BATCH];
    uint32_t n = 0;
    (void)pthread_mutex_lock(&c->lock);
    wanted = c->cap - c->n_events < wanted ? c->cap - c->n_events : wanted;
    (void)pthread_mutex_unlock(&c->lock);
    int mode = PS_CU_CAPTURE_MODE_RELAXED, r = PS_CU_OK;
    /* So that a capture of another thread is not broken, whatever the driver does to make an event. */
    bool exchanged = cu->ThreadExchangeStreamCaptureMode != NULL &&
                     cu->ThreadExchangeStreamCaptureMode(&mode) == PS_CU_OK;
    while (n < wanted && (r = cu->EventCreate(&made[n], 0)) == PS_CU_OK) {
        n++;
    }
    if (exchanged) {
        (void)cu->ThreadExchangeStreamCaptureMode(&mode);
    }
    (void)pthread_mutex_lock(&c->lock);
    uint32_t used = 0;
    for (; used < n && c->n_events < c->cap; used++) {
        c->events[c->n_events] = made[used];
        c->free[c->n_free++] = c->n_events++;
    }
    if (r != PS_CU_OK) {
        c->cap = c->n_events; /* what there is has to do */
    }
    (void)pthread_mutex_unlock(&c->lock);
    while (used < n) {
        (void)cu->EventDestroy(made[used++]);
    }
    return r;
}

bool ps_cuda_pool_take(ps_cuda_context *c, uint32_t n, uint32_t *events, uint32_t *wish) {
    (void)pthread_mutex_lock(&c->lock);
    bool have = c->n_free >= n;
    for (uint32_t i = 0; have && i < n; i++) {
        events[i] = c->free[--c->n_free];
    }
    bool full = c->n_events == c->cap;
    if (!full && c->n_free < ps_cuda_pool_low(c->n_events)) {
        *wish = PS_GPU_GROW;
    } else if (full && c->n_free < c->cap / 4) {
        *wish = PS_GPU_RESOLVE;
    }
    (void)pthread_mutex_unlock(&c->lock);
    return have;
}

void ps_cuda_pool_give(ps_cuda_context *c, uint32_t n, const uint32_t *events) {
    (void)pthread_mutex_lock(&c->lock);
    for (uint32_t i = 0; i < n && c->n_free < c->n_events; i++) {
        c->free[c->n_free++] = events[i];
    }
    (void)pthread_mutex_unlock(&c->lock);
}

void ps_cuda_pool_state(ps_cuda_context *c, uint32_t *n_free, uint32_t *n_events) {
    (void)pthread_mutex_lock(&c->lock);
    *n_free = c->n_free;
    *n_events = c->n_events;
    (void)pthread_mutex_unlock(&c->lock);
}

/* --- contexts --------------------------------------------------------------------------------------------------------- */

uint32_t ps_cuda_context_count(void) {
    return atomic_load_explicit(&n_contexts, memory_order_acquire);
}

static void empty_lanes(ps_cuda_context *c) {
    for (uint32_t i = 0; i <= PS_CUDA_LANES; i++) {
        c->lanes[i] = (ps_cuda_lane){.head = PS_CUDA_NONE, .tail = PS_CUDA_NONE};
    }
}

static bool make_arrays(ps_cuda_context *c, uint32_t cap) {
    if (c->events != NULL) { /* of a context that is gone */
        c->cap = cap < c->room ? cap : c->room;
        return true;
    }
    c->events = ps_calloc(cap, sizeof *c->events);
    c->free = ps_calloc(cap, sizeof *c->free);
    c->pending = ps_calloc(cap, sizeof *c->pending);
    if (c->events == NULL || c->free == NULL || c->pending == NULL) {
        ps_free(c->events);
        ps_free(c->free);
        ps_free(c->pending);
        c->events = NULL;
        return false;
    }
    c->cap = c->room = cap;
    return true;
}

static ps_cuda_context *find_context(ps_cu_context handle, unsigned long long unique) {
    uint32_t n = ps_cuda_context_count();
    for (uint32_t i = 0; i < n; i++) {
        ps_cuda_context *c = &ps_cuda_context_table[i];
        if (c->handle == handle &&
            atomic_load_explicit(&c->state, memory_order_relaxed) != PS_CUDA_GONE) {
            if (c->unique == unique) {
                return c;
            }
            /* The handle came again. Whatever was pending is counted by the GPU thread. */
            int live = PS_CUDA_LIVE;
            (void)atomic_compare_exchange_strong(&c->state, &live, PS_CUDA_GONE);
        }
    }
    return NULL;
}

static ps_cuda_context *add_context(ps_cu_context handle, unsigned long long unique, uint32_t cap) {
    uint32_t n = atomic_load_explicit(&n_contexts, memory_order_relaxed);
    if (n == PS_CUDA_CONTEXTS) {
        return NULL;
    }
    ps_cuda_context *c = &ps_cuda_context_table[n];
    if (!make_arrays(c, cap)) {
        return NULL;
    }
    (void)pthread_mutex_init(&c->lock, NULL);
    c->handle = handle;
    c->unique = unique;
    c->number = n + 1;
    c->n_events = c->n_free = 0;
    c->ready = c->told = false;
    c->clock = (ps_cuda_clock){0};
    empty_lanes(c);
    atomic_store(&c->n_pending, 0);
    atomic_store(&c->active, true);
    atomic_store(&c->state, PS_CUDA_LIVE);
    atomic_store_explicit(&n_contexts, n + 1, memory_order_release);
    return c;
}

ps_cuda_context *ps_cuda_context_of(const ps_cuda_calls *cu, ps_cu_context handle,
                                    unsigned long long unique, uint32_t cap, bool *is_new) {
    ps_cuda_context *c = find_context(handle, unique);
    *is_new = false;
    if (c == NULL) {
        (void)pthread_mutex_lock(&table_lock);
        c = find_context(handle, unique);
        if (c == NULL) {
            c = add_context(handle, unique, cap);
            *is_new = c != NULL;
        }
        (void)pthread_mutex_unlock(&table_lock);
        ps_cu_context now = NULL;
        if (*is_new && cu->CtxGetCurrent(&now) == PS_CU_OK && now == handle) {
            (void)ps_cuda_pool_grow(cu, c, PS_CUDA_BATCH);
        }
    }
    return c;
}

/* --- streams ---------------------------------------------------------------------------------------------------------- */

/* Under the lock. */
static ps_cuda_lane *context_lane_of(ps_cuda_context *c, uint64_t stream) {
    uint64_t hash = stream * UINT64_C(0x9e3779b97f4a7c15) >> 56;
    for (uint32_t i = 0; i < PROBES; i++) {
        ps_cuda_lane *lane = &c->lanes[(hash + i) % PS_CUDA_LANES];
        if (lane->stream == 0) {
            lane->stream = stream;
        }
        if (lane->stream == stream) {
            return lane;
        }
    }
    return &c->lanes[PS_CUDA_LANES];
}

void ps_cuda_pending_add(ps_cuda_context *c, uint64_t id, uint64_t stream, uint32_t start,
                         uint32_t end) {
    (void)atomic_fetch_add_explicit(&c->n_pending, 1, memory_order_relaxed);
    (void)pthread_mutex_lock(&c->lock);
    c->pending[start] =
        (ps_cuda_pending){.id = id, .stream = stream, .end = end, .next = PS_CUDA_NONE};
    ps_cuda_lane *lane = context_lane_of(c, stream);
    if (lane->head == PS_CUDA_NONE) {
        lane->head = start;
    } else {
        c->pending[lane->tail].next = start;
    }
    lane->tail = start;
    (void)pthread_mutex_unlock(&c->lock);
    atomic_store_explicit(&c->active, true, memory_order_relaxed);
}

uint32_t ps_cuda_pending_take(ps_cuda_context *c, uint32_t lane) {
    (void)pthread_mutex_lock(&c->lock);
    uint32_t first = c->lanes[lane].head;
    c->lanes[lane].head = c->lanes[lane].tail = PS_CUDA_NONE;
    (void)pthread_mutex_unlock(&c->lock);
    return first;
}

/* The last of the rest is found outside of the lock: nobody else knows of it. */
void ps_cuda_pending_return(ps_cuda_context *c, uint32_t lane, uint32_t first) {
    uint32_t last = first;
    while (c->pending[last].next != PS_CUDA_NONE) {
        last = c->pending[last].next;
    }
    (void)pthread_mutex_lock(&c->lock);
    c->pending[last].next = c->lanes[lane].head;
    if (c->lanes[lane].head == PS_CUDA_NONE) {
        c->lanes[lane].tail = last;
    }
    c->lanes[lane].head = first;
    (void)pthread_mutex_unlock(&c->lock);
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

void ps_cuda_contexts_reset(void) {
    uint32_t n = ps_cuda_context_count(), kept = 0;
    if (n == 0) {
        return;
    }
    ps_cuda_open_clear();
    for (uint32_t i = 0; i < n; i++) {
        ps_cuda_context *c = &ps_cuda_context_table[i];
        (void)pthread_mutex_lock(&c->lock);
        empty_lanes(c);
        for (c->n_free = 0; c->n_free < c->n_events; c->n_free++) {
            c->free[c->n_free] = c->n_free;
        }
        (void)pthread_mutex_unlock(&c->lock);
        atomic_store(&c->n_pending, 0);
        c->told = false;
        kept = atomic_load(&c->state) != PS_CUDA_GONE ? i + 1 : kept;
    }
    /* Those at the end that are gone make room again; one in the middle keeps its place. */
    atomic_store(&n_contexts, kept);
    for (uint32_t i = 0; i < REFUSED; i++) {
        atomic_store(&refused[i], NULL);
    }
}

/* Arrays stay for the child's own use; what the driver gave is the parent's and must not be touched. */
void ps_cuda_contexts_forget(void) {
    uint32_t n = ps_cuda_context_count();
    if (n == 0) {
        return; /* so that a fork of a program without a GPU costs nothing */
    }
    (void)pthread_mutex_init(&table_lock, NULL);
    atomic_store(&n_contexts, 0);
    for (uint32_t i = 0; i < n; i++) {
        (void)pthread_mutex_init(&ps_cuda_context_table[i].lock, NULL);
    }
    for (uint32_t i = 0; i < PS_CUDA_OPEN; i++) {
        if (atomic_load_explicit(&open_places[i].key, memory_order_relaxed) != 0) {
            atomic_store_explicit(&open_places[i].key, 0, memory_order_relaxed);
        }
    }
}

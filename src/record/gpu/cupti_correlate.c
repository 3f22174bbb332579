/* Ranges that ask for it (option `correlate`) are told to CUPTI while they are open on their thread: each call made meanwhile gets a
 * record that names the innermost of them, and through the call's correlation its kernel. CUPTI keeps a stack of such names for each
 * thread, which only that thread can push to and pop from; what stands in it is kept here, too:
 *
 *     range begun          push
 *     range ended on top   pop, and what has ended below it
 *     ended below the top  marked: it goes when what lies above it goes
 *     ended elsewhere      the same, by the thread that ends it; until its own thread comes here again its name stays on top, and
 *                          the export takes no launch for it that came after its end
 *
 * No lock: entries are changed by their thread alone, but for the mark. */
#include <pthread.h>
#include <stdatomic.h>

#include "record/core/events.h"
#include "record/gpu/cupti_parts.h"
#include "record/ring/log.h"

enum { STACKS = 256, DEPTH = 64 };
#define ENDED (UINT64_C(1) << 63)

typedef struct told {
    _Alignas(64) atomic_bool taken; /* by a thread that lives */
    _Atomic uint32_t n;
    uint32_t subscription; /* in which its names were pushed */
    _Atomic uint64_t ids[DEPTH];
} told;

static told stacks[STACKS];
static _Atomic uint32_t n_stacks; /* those behind were never taken */
static atomic_bool on;
static _Atomic uint32_t subscription; /* counts them */
static _Thread_local told *mine;

static pthread_once_t made = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;
static bool has_key;

/* CUPTI's stack of the thread goes with the thread. */
static void thread_ends(void *stack) {
    told *s = stack;
    mine = mine == s ? NULL : mine;
    atomic_store(&s->n, 0);
    atomic_store_explicit(&s->taken, false, memory_order_release);
}

static void make_key(void) {
    has_key = pthread_key_create(&at_exit, thread_ends) == 0;
}

static told *take_stack(void) {
    for (uint32_t i = 0; has_key && i < STACKS; i++) {
        bool taken = false;
        if (!atomic_load_explicit(&stacks[i].taken, memory_order_relaxed) &&
            atomic_compare_exchange_strong(&stacks[i].taken, &taken, true)) {
            uint32_t n = atomic_load(&n_stacks);
            while (n < i + 1 && !atomic_compare_exchange_weak(&n_stacks, &n, i + 1)) {
            }
            if (pthread_setspecific(at_exit, &stacks[i]) != 0) {
                atomic_store(&stacks[i].taken, false);
                return NULL;
            }
            mine = &stacks[i];
            return mine;
        }
    }
    return NULL;
}

static int push_correlation(uint64_t id) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    return ps_cupti.v2
               ? c->ActivityPushExternalCorrelationId_v2(ps_cupti.subscriber, PS_CUPTI_CUSTOM0, id)
               : c->ActivityPushExternalCorrelationId(PS_CUPTI_CUSTOM0, id);
}

static void pop(told *s) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    uint64_t last = 0;
    uint32_t n = atomic_load_explicit(&s->n, memory_order_relaxed);
    (void)(ps_cupti.v2 ? c->ActivityPopExternalCorrelationId_v2(ps_cupti.subscriber,
                                                                PS_CUPTI_CUSTOM0, &last)
                       : c->ActivityPopExternalCorrelationId(PS_CUPTI_CUSTOM0, &last));
    atomic_store_explicit(&s->n, n - 1, memory_order_relaxed);
}

/* On the stack's thread: what has ended on top. Names of an earlier subscription are none of this one's. */
static uint32_t tidy_correlation(told *s) {
    uint32_t now = atomic_load_explicit(&subscription, memory_order_relaxed), n;
    bool stale = s->subscription != now;
    while ((n = atomic_load_explicit(&s->n, memory_order_relaxed)) > 0 &&
           (stale || (atomic_load_explicit(&s->ids[n - 1], memory_order_relaxed) & ENDED) != 0)) {
        pop(s);
    }
    s->subscription = now;
    return n;
}

void ps_cupti_enter(uint64_t id) {
    if (!atomic_load_explicit(&on, memory_order_relaxed)) {
        return;
    }
    told *s = mine != NULL ? mine : take_stack();
    uint32_t n = s != NULL ? tidy_correlation(s) : DEPTH;
    if (n == DEPTH) {
        ps_event_drop(PS_DROP_NOT_CORRELATED);
        return;
    }
    int result = push_correlation(id);
    if (result != PS_CUPTI_OK) {
        ps_event_drop(PS_DROP_NOT_CORRELATED);
        ps_rec_log_once(
            "cupti_correlate",
            "CUPTI takes no correlation (error %d): kernels are bound to ranges by time "
            "and thread",
            result);
        return;
    }
    atomic_store_explicit(&s->ids[n], id, memory_order_relaxed);
    atomic_store_explicit(&s->n, n + 1, memory_order_release);
}

static bool mark_ended(told *s, uint64_t id) {
    uint32_t n = atomic_load_explicit(&s->n, memory_order_acquire);
    for (uint32_t i = n < DEPTH ? n : DEPTH; i-- > 0;) {
        uint64_t seen = id;
        if (atomic_load_explicit(&s->ids[i], memory_order_relaxed) == id &&
            atomic_compare_exchange_strong(&s->ids[i], &seen, id | ENDED)) {
            return true;
        }
    }
    return false;
}

void ps_cupti_leave(uint64_t id) {
    if (!atomic_load_explicit(&on, memory_order_relaxed)) {
        return;
    }
    if (mine != NULL && mark_ended(mine, id)) {
        (void)tidy_correlation(mine);
        return;
    }
    uint32_t n = atomic_load_explicit(&n_stacks, memory_order_acquire);
    for (uint32_t i = 0; i < n && !(&stacks[i] != mine && mark_ended(&stacks[i], id)); i++) {
    }
}

bool ps_cupti_correlate_begin(void) {
    const ps_cupti_calls *c = &ps_cupti.calls;
    bool can = ps_cupti.v2 ? c->ActivityPushExternalCorrelationId_v2 != NULL &&
                                 c->ActivityPopExternalCorrelationId_v2 != NULL
                           : c->ActivityPushExternalCorrelationId != NULL &&
                                 c->ActivityPopExternalCorrelationId != NULL;
    (void)pthread_once(&made, make_key);
    (void)atomic_fetch_add(&subscription, 1);
    if (!can) {
        ps_rec_log_once("cupti_correlate", "this CUPTI has no correlation with ranges: kernels are "
                                           "bound to them by time and thread");
    }
    atomic_store(&on, can);
    return can;
}

void ps_cupti_correlate_end(void) {
    atomic_store(&on, false);
}

void ps_cupti_correlate_forget(void) {
    atomic_store(&on, false);
    for (uint32_t i = 0; i < STACKS; i++) {
        if (&stacks[i] != mine && atomic_load(&stacks[i].taken)) {
            thread_ends(&stacks[i]); /* its thread is the parent's */
        }
    }
    if (mine != NULL) {
        atomic_store(&mine->n, 0);
    }
}

#include "record/ring/memory.h"

#include <stdatomic.h>

static _Atomic uint64_t limit = UINT64_C(1) << 30;
static _Atomic uint64_t taken;
static atomic_bool refused;

void ps_memory_limit(uint64_t bytes) {
    atomic_store(&limit, bytes);
}

bool ps_memory_take(uint64_t bytes) {
    uint64_t now = atomic_load_explicit(&taken, memory_order_relaxed);
    uint64_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    do {
        if (bytes > most || now > most - bytes) {
            atomic_store_explicit(&refused, true, memory_order_relaxed);
            return false;
        }
    } while (!atomic_compare_exchange_weak(&taken, &now, now + bytes));
    return true;
}

void ps_memory_take_anyway(uint64_t bytes) {
    (void)atomic_fetch_add(&taken, bytes);
}

void ps_memory_give(uint64_t bytes) {
    (void)atomic_fetch_sub(&taken, bytes);
}

uint64_t ps_memory_taken(void) {
    return atomic_load(&taken);
}

bool ps_memory_refused(void) {
    return atomic_exchange_explicit(&refused, false, memory_order_relaxed);
}

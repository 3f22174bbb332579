/* Locks that the first event of a recording takes too, on the thread that records it (ps_ring_place_fn). A signal handler
 * that records may interrupt a thread while it holds one of them: it must not wait for it. So a thread notes that it holds any,
 * and its handlers give up, counted. */
#ifndef PS_RECORD_SIGNAL_LOCK_H
#define PS_RECORD_SIGNAL_LOCK_H

#include <pthread.h>
#include <stdatomic.h>

/* How many of these locks the calling thread holds, or waits for. */
extern _Thread_local volatile int ps_signal_locks_held __attribute__((visibility("hidden")));

static inline void ps_signal_lock(pthread_mutex_t *lock) {
    ps_signal_locks_held = ps_signal_locks_held + 1;
    atomic_signal_fence(memory_order_seq_cst);
    (void)pthread_mutex_lock(lock);
}

static inline void ps_signal_unlock(pthread_mutex_t *lock) {
    (void)pthread_mutex_unlock(lock);
    atomic_signal_fence(memory_order_seq_cst);
    ps_signal_locks_held = ps_signal_locks_held - 1;
}

#endif

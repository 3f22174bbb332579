#include <stdatomic.h>
#include <time.h>

#include "record/ring/fork_gate.h"

/* Either a thread that begins sees the fork, or the fork sees the thread: both write, then look (seq_cst). No lock, since the fork may
 * be one of a signal handler that interrupted the work. */
static atomic_uint n_working, n_forking;
static _Thread_local volatile unsigned depth; /* the calling thread is one of n_working */

static void nap_for_fork(void) {
    (void)nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

static void enter_work(void) {
    (void)atomic_fetch_add(&n_working, 1);
    while (atomic_load(&n_forking) > 0) {
        (void)atomic_fetch_sub(&n_working, 1);
        nap_for_fork();
        (void)atomic_fetch_add(&n_working, 1);
    }
}

void ps_fork_work_begin(void) {
    if (depth == 0) {
        enter_work();
    }
    depth = depth + 1;
}

void ps_fork_work_end(void) {
    depth = depth - 1;
    if (depth == 0) {
        (void)atomic_fetch_sub(&n_working, 1);
    }
}

void ps_fork_work_pause(void) {
    if (atomic_load_explicit(&n_forking, memory_order_relaxed) > 0 && depth == 1) {
        (void)atomic_fetch_sub(&n_working, 1);
        enter_work();
    }
}

void ps_fork_work_hold(void) {
    (void)atomic_fetch_add(&n_forking, 1);
    unsigned own = depth > 0 ? 1 : 0;
    for (unsigned i = 0; i < PS_FORK_PATIENCE_MS * 10 && atomic_load(&n_working) > own; i++) {
        nap_for_fork();
    }
}

void ps_fork_work_release(void) {
    (void)atomic_fetch_sub(&n_forking, 1);
}

void ps_fork_work_forget(void) {
    atomic_store(&n_working, depth > 0 ? 1u : 0u);
    atomic_store(&n_forking, 0);
}

#include "record/ring/fork_gate.h"

#include <pthread.h>

#include "record/ring/signal_lock.h"

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

void ps_fork_gate_enter(void) {
    ps_signal_lock(&gate);
}

void ps_fork_gate_leave(void) {
    ps_signal_unlock(&gate);
}

void ps_fork_gate_forget(void) {
    gate = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    ps_fork_work_forget();
}

#include "record/ring/wake.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { AWAKE, ASLEEP, CALLED };

static _Atomic uint32_t state;

void ps_wake_writer(void) {
    if (atomic_load_explicit(&state, memory_order_relaxed) == CALLED) {
        return;
    }
    if (atomic_exchange(&state, CALLED) == ASLEEP) {
        (void)syscall(SYS_futex, &state, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
    }
}

void ps_wake_awake(void) {
    atomic_store(&state, AWAKE);
}

void ps_wake_nap(uint64_t ns, const atomic_bool *stop) {
    uint32_t awake = AWAKE;
    if (!atomic_compare_exchange_strong(&state, &awake, ASLEEP)) {
        return; /* called */
    }
    struct timespec t = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
    if (!atomic_load(stop)) {
        (void)syscall(SYS_futex, &state, FUTEX_WAIT_PRIVATE, ASLEEP, &t, NULL, 0);
    }
}

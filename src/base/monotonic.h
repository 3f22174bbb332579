/* Time that only goes on, whatever happens to the date: for how long things take. */
#ifndef PS_BASE_MONOTONIC_H
#define PS_BASE_MONOTONIC_H

#include <stdint.h>
#include <time.h>

static inline int64_t ps_monotonic_ns(void) {
    struct timespec now = {0};
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t ps_monotonic_ms(void) {
    return ps_monotonic_ns() / 1000000;
}

#endif

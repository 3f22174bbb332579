/* The clock of a recording. Ticks are what the processor counts where that is a clock (an invariant TSC that the kernel
 * itself trusts, the generic timer of Arm), else ns of CLOCK_MONOTONIC. Anchors tie ticks to CLOCK_MONOTONIC and CLOCK_REALTIME;
 * the export maps by them (export/clock_line.h) so that a wall clock that is set cannot reorder events. */
#ifndef PS_RECORD_CLOCK_H
#define PS_RECORD_CLOCK_H

#include <stdint.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#include "base/buf.h"
#include "record/ring/format.h"

typedef struct ps_anchor {
    uint64_t ticks;
    int64_t real_ns, mono_ns;
    uint64_t half_width_ns; /* the read of all three took twice this */
} ps_anchor;

/* The best clock of this machine, or `wanted` (PS_CLOCK_...; -1 for the best) where it can be had. */
int ps_clock_choose(int wanted);

/* The narrowest of five bracketed reads. */
ps_anchor ps_clock_anchor(int clock);

static inline uint64_t ps_mono_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static inline uint64_t ps_clock_ticks(int clock) {
#if defined(__x86_64__)
    if (clock == PS_CLOCK_TSC) {
        return __rdtsc();
    }
#elif defined(__aarch64__)
    if (clock == PS_CLOCK_ARM) {
        uint64_t v;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
        return v;
    }
#endif
    (void)clock;
    return ps_mono_ns();
}

/* How well this machine keeps time (adjtimex, PTP devices), with the anchors' spread: one JSON object. */
void ps_clock_describe(int clock, ps_buf *out);

#endif

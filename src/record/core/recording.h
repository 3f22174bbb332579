/* Whether anything is recorded now: the one word that every event looks at first. */
#ifndef PS_RECORD_RECORDING_H
#define PS_RECORD_RECORDING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* 0 while nothing is recorded, else the generation of the recording, which only grows. ps_process_init() moves it to a page of
 * its own that a fork wipes. */
extern _Atomic uint32_t *ps_recording __attribute__((visibility("hidden")));

/* As what an event counts that finds its ring full: PS_DROP_RING_FULL, or why nothing takes from the rings any more. */
extern _Atomic uint32_t ps_full_drop __attribute__((visibility("hidden")));

static inline bool ps_is_recording(void) {
    return __builtin_expect(atomic_load_explicit(ps_recording, memory_order_relaxed) != 0, 0);
}

#endif

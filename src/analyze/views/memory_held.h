/* What is held at a moment: allocated until then, and not yet released. */
#ifndef PS_ANALYZE_MEMORY_HELD_H
#define PS_ANALYZE_MEMORY_HELD_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/rank/memory_points.h"
#include "analyze/views/view.h"

typedef struct ps_memory_moment {
    const char *owner; /* of the curve, in the points; NULL: the device has none */
    int64_t device;    /* -1: the CPU, or unknown */
    int64_t time_ns;   /* without a curve the last one of the span */
    int64_t allocated; /* what the curve says then; PS_UNKNOWN_INT without one */
} ps_memory_moment;

/* The moments that a span means, one for each device that has a curve: when most was allocated there. */
typedef struct ps_memory_moments {
    ps_memory_points points;
    ps_memory_moment *at;
    size_t n;
    int64_t to_ns;
} ps_memory_moments;

/* PS_NOMEM only. End with ps_memory_moments_fini() in any case. */
PS_MUST_USE ps_code ps_memory_moments_read(const ps_view_input *in, ps_memory_moments *out,
                                           ps_err *err);
void ps_memory_moments_fini(ps_memory_moments *m);

ps_memory_moment ps_memory_moment_of(const ps_memory_moments *m, int64_t device);

/* PS_UNKNOWN_INT: not in the capture. What was there before it is held too, but by whom nobody knows. */
static inline bool ps_memory_is_held(int64_t start_ns, int64_t release_ns, int64_t at_ns) {
    return start_ns != PS_UNKNOWN_INT && start_ns <= at_ns &&
           (release_ns == PS_UNKNOWN_INT || release_ns > at_ns);
}

/* The parameter `which` of the views of memory by operator. */
#define PS_MEMORY_WHICH                                                                                  \
    {                                                                                                    \
        "which",                                                                                         \
            "changed: those that allocate or release within the span; held: those whose memory is held " \
            "when most is allocated in it, of a span of one nanosecond at that moment",                  \
            "changed|held", "changed"                                                                    \
    }

#endif

/* A part of a rank as a trace of its own: what lies in a span and in some lanes, with the flows between it. */
#ifndef PS_SERVE_SUBSET_H
#define PS_SERVE_SUBSET_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "serve/rank/loaded.h"

#define PS_SUBSET_MAX_SLICES ((uint32_t)1000000)

typedef struct ps_subset {
    int64_t from_ns,
        to_ns; /* slices that end after and begin before, whole; steps alike; values of counters in it, and the one
                               that holds where it begins */
    const uint32_t *lanes; /* as the outside counts them, with merged ones; lanes of counters too */
    size_t n_lanes;        /* 0: all of the profile, without lanes that pipescope derives */
} ps_subset;

/* Arguments, kinds, labels and times are as they were; tracks and processes are those that are needed. NULL: PS_RANGE when it
 * would be more than PS_SUBSET_MAX_SLICES, PS_NOMEM. The caller frees it with ps_trace_free(). */
ps_trace *ps_subset_trace(const ps_loaded *l, const ps_subset *what, ps_err *err);

#endif

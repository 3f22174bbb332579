/* What a capture lacks that people look for, and how to collect it: so that an empty page says why it is empty. */
#ifndef PS_ANALYZE_CAPTURE_PARTS_H
#define PS_ANALYZE_CAPTURE_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/lang.h"
#include "model/trace.h"

/* What there is, as /api/ranks names it in "has". */
typedef enum ps_part_of_capture {
    PS_CAPTURE_PYTHON,
    PS_CAPTURE_FLOWS, /* from the host to the device */
    PS_CAPTURE_COUNTERS,
    PS_CAPTURE_MEMORY,
    PS_CAPTURE_COMMUNICATION,
    PS_CAPTURE_STEPS,
    PS_CAPTURE_HOST,   /* operators and calls */
    PS_CAPTURE_DEVICE, /* kernels, copies, jobs */
    PS_CAPTURE_MARKS,
    PS_CAPTURE_SHAPES, /* of the operators' inputs */
    PS_N_CAPTURE_PARTS
} ps_part_of_capture;

/* A rank's profile, and how many slices it has of each kind. */
typedef struct ps_captured {
    const ps_trace *trace;
    const uint32_t *n_of_kind; /* [PS_N_SLICE_KINDS] */
} ps_captured;

bool ps_capture_has(ps_captured c, ps_part_of_capture part);
const char *ps_capture_name(ps_part_of_capture part); /* "python" */

typedef struct ps_missing {
    ps_said what;   /* "communication operators" */
    ps_said remedy; /* a sentence: what to do when the next capture is taken */
    char id[40];    /* of the remedy: "communication.ascend" */
    bool
        is_of_another; /* the profiler that wrote the capture has none of it: the remedy is another one */
} ps_missing;

/* False: the part is there, or captures of this format never have it. `format`: name of the reader. */
bool ps_capture_misses(ps_captured c, const char *format, ps_part_of_capture part, ps_missing *out);

#endif

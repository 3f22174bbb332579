/* From times of a device to CLOCK_MONOTONIC. The driver tells times only as differences of two events, as a 32-bit float of
 * milliseconds; an *anchor* is an event whose moment on the host is known. Only the GPU thread uses this, with the context
 * current. */
#ifndef PS_RECORD_CUDA_CLOCK_H
#define PS_RECORD_CUDA_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "record/gpu/cuda_abi.h"

enum { PS_CUDA_ANCHORS = 64, PS_CUDA_ANCHOR_TRIES = 16 };

typedef struct ps_cuda_anchor {
    ps_cu_event event;
    int64_t device_ns; /* since the context's first anchor */
    int64_t host_ns;   /* CLOCK_MONOTONIC: the middle of the bracket */
    int64_t half_ns;   /* half its width: it was not further from the middle than this */
    uint32_t epoch;    /* anchors with the same number may share a fit */
} ps_cuda_anchor;

typedef struct ps_cuda_clock {
    ps_cu_stream stream; /* our own, so that the bracket does not wait for the program's work */
    ps_cu_event scratch;
    ps_cuda_anchor anchors[PS_CUDA_ANCHORS]; /* the n-th at n % PS_CUDA_ANCHORS */
    uint32_t n, epoch, nearest;              /* nearest: the one used last */
    struct {
        uint32_t n, epoch; /* what it was made of */
        int64_t device_ns, host_ns;
        double offset_ns, slope;
    } fit;
} ps_cuda_clock;

/* All return the driver's result. */
int ps_cuda_clock_init(const ps_cuda_calls *cu, ps_cuda_clock *clock);

/* Takes one more anchor; PS_CU_NOT_READY when the device did not answer in time. */
int ps_cuda_clock_anchor(const ps_cuda_calls *cu, ps_cuda_clock *clock);

/* The newest; NULL before the first. */
const ps_cuda_anchor *ps_cuda_clock_newest(const ps_cuda_clock *clock);

/* Where two finished events lay; `end` may be `start`. */
int ps_cuda_clock_place(const ps_cuda_calls *cu, ps_cuda_clock *clock, ps_cu_event start,
                        ps_cu_event end, int64_t *start_ns, int64_t *end_ns);

/* CLOCK_MONOTONIC ns; tests put an emulated clock here. */
extern int64_t (*ps_cuda_now)(void);

#endif

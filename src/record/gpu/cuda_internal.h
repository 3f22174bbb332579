/* Between the two halves of the cuda_event backend: cuda_events.c, on the program's threads, and cuda_resolve.c, on the GPU
 * thread. */
#ifndef PS_RECORD_CUDA_INTERNAL_H
#define PS_RECORD_CUDA_INTERNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/gpu/cuda_contexts.h"

/* What a result of the driver means for us. */
typedef enum ps_cuda_meaning {
    PS_CUDA_FINE,
    PS_CUDA_CAPTURING,   /* the stream is, or something that it waits for */
    PS_CUDA_BAD_STREAM,  /* the handle is none, or not for events */
    PS_CUDA_NO_ROOM,     /* of memory */
    PS_CUDA_NO_CONTEXT,  /* none is current, or it was destroyed, or the driver is shutting down */
    PS_CUDA_DEVICE_FAULT /* it stays: every later call would give the same */
} ps_cuda_meaning;

ps_cuda_meaning ps_cuda_meaning_of(int result);

/* Whether a context is one: the driver's number for it, 0 where it gives none. The driver's result. */
int ps_cuda_context_id(const ps_cuda_calls *cu, ps_cu_context handle, unsigned long long *unique);

/* Asked of the driver just now: the program may destroy a context at any time, and another may get its handle. */
bool ps_cuda_alive(const ps_cuda_calls *cu, ps_cuda_context *c);

/* Of a context that can no longer be used; said once in the log. */
void ps_cuda_fail(ps_cuda_context *c, int result);

typedef struct ps_cuda_backend {
    const ps_cuda_calls *calls;
    atomic_bool open;           /* events are taken */
    atomic_bool lost;           /* the driver did not come back: never used again in this process */
    atomic_bool stepped;        /* a step ended whose times have not been asked for */
    _Atomic int64_t stepped_ns; /* when they were, the last time */
    _Atomic int64_t relieved_ns; /* when they were for a pool that was running out */
    _Atomic int64_t anchored_ns; /* host: when anchors were last asked for */
    _Atomic int64_t drain_until_ns;
    uint32_t pool; /* events a context may hold */
} ps_cuda_backend;

extern ps_cuda_backend ps_cuda;

/* Ranges whose events are recorded and whose times have not come. */
uint32_t ps_cuda_n_pending(void);

#endif

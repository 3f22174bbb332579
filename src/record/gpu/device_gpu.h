/* Between device.c and the two GPU backends, which share a thread and the driver. */
#ifndef PS_RECORD_DEVICE_GPU_H
#define PS_RECORD_DEVICE_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "record/core/device.h"
#include "record/gpu/cuda_abi.h"

/* Wishes to the GPU thread. */
enum {
    PS_GPU_OPEN_CUPTI = 1u << 0, /* device.c */
    PS_GPU_TELL = 1u << 1,       /* write the backend's name into the recording */
    PS_GPU_SETUP = 1u << 2,      /* cuda: a context was met: its device, its first anchor */
    PS_GPU_GROW = 1u << 3,       /* cuda: events are running out */
    PS_GPU_ANCHOR = 1u << 4,     /* cuda: half a second of activity has passed */
    PS_GPU_RESOLVE = 1u << 5,    /* cuda: ask for what has finished */
    PS_GPU_DRAIN = 1u << 6,      /* cuda: until nothing is pending or time is over */
    PS_GPU_BUFFERS = 1u << 7,    /* cupti: completed buffers */
    PS_GPU_FLUSH = 1u << 8,      /* cupti: ask for what it holds */
    PS_GPU_FLUSH_ALL = 1u << 9,  /* cupti: also what is not finished */
    PS_GPU_CLOSE_CUPTI = 1u << 10,
    PS_GPU_FIND = 1u << 11, /* device.c: the driver is among the loaded libraries: its functions */
    PS_GPU_LET_GO =
        1u << 12, /* the last of a thread that was given up: nobody waits for it any more */
    PS_GPU_CUDA = PS_GPU_SETUP | PS_GPU_GROW | PS_GPU_ANCHOR | PS_GPU_RESOLVE | PS_GPU_DRAIN,
    PS_GPU_CUPTI = PS_GPU_BUFFERS | PS_GPU_FLUSH | PS_GPU_FLUSH_ALL | PS_GPU_CLOSE_CUPTI
};

/* The GPU thread's work; hands each wish to its owner. */
void ps_gpu_work(uint32_t wishes);
void ps_cuda_work(uint32_t wishes);
void ps_cupti_work(uint32_t wishes);
/* CUPTI goes back to whoever wants it next, without what it still holds. Nothing where the calling thread does not hold it. */
void ps_cupti_let_go(void);

/* Writes the name of the backend in use into the recording; the last one counts. When it is chosen and when it drains. */
void ps_device_tell(void);

/* Whether a handle may be shown to the driver: one of the two constants, or something that can be a pointer. Small numbers are
 * lanes of programs without a GPU; a driver would read what they point to. */
static inline bool ps_cuda_usable_stream(const void *stream) {
    uintptr_t handle = (uintptr_t)stream;
    return handle == 1 || handle == 2 || (handle >= 4096 && handle % 8 == 0);
}

#endif

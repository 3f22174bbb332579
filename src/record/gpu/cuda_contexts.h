/* What the cuda_event backend keeps: contexts with their pools of events, the streams seen in each with the ranges whose times are
 * still to come, and ranges begun whose end has not been recorded.
 *
 * The program's threads take events, append to streams and enter open ranges: no allocation but when a context is first
 * met, one short lock of the context, no driver call under it. The GPU thread takes whole chains off the streams. */
#ifndef PS_RECORD_CUDA_CONTEXTS_H
#define PS_RECORD_CUDA_CONTEXTS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "record/gpu/cuda_abi.h"
#include "record/gpu/cuda_clock.h"

enum {
    PS_CUDA_CONTEXTS = 32,
    PS_CUDA_LANES = 256, /* streams of a context that are told apart; the rest share one lane */
    PS_CUDA_BATCH = 256, /* events made at a time */
    PS_CUDA_HASTE = 32,  /* by a thread that finds none */
    PS_CUDA_OPEN = 32768
};
#define PS_CUDA_NONE UINT32_MAX

typedef enum ps_cuda_state {
    PS_CUDA_UNUSED,
    PS_CUDA_LIVE,
    PS_CUDA_GONE, /* destroyed by the program: its events went with it */
    PS_CUDA_FAULT /* the driver reports an error that stays, or does not come back */
} ps_cuda_state;

/* A range both of whose events are recorded; the number of its first event is its place in `pending`. */
typedef struct ps_cuda_pending {
    uint64_t id;
    uint64_t
        stream; /* as exported: the handle; of per-thread default streams 2 and, in the high half, a thread's number */
    uint32_t end;  /* event; for marks the first itself */
    uint32_t next; /* in its lane */
} ps_cuda_pending;

typedef struct
    ps_cuda_lane { /* in the order of recording, so that one that has not happened stands for all behind it */
    uint64_t stream;
    uint32_t head, tail;
} ps_cuda_lane;

typedef struct ps_cuda_context {
    _Atomic int state; /* ps_cuda_state */
    ps_cu_context handle;
    unsigned long long unique; /* of the driver, 0 when it gives none: a handle may come again */
    uint32_t number;           /* 1, 2 ... */
    pthread_mutex_t lock;      /* of what follows */
    uint32_t room, cap, n_events, n_free; /* room: of the arrays */
    ps_cu_event *events;
    uint32_t *free;
    ps_cuda_pending *pending;
    ps_cuda_lane
        lanes[PS_CUDA_LANES + 1]; /* the last: of all streams that found no place, in no order */
    _Atomic uint32_t n_pending;   /* also those the GPU thread has in hand */
    atomic_bool active;           /* events were recorded since the last anchor */
    /* Of the GPU thread alone. */
    bool ready, told; /* ready: has a clock; told: the recording knows its device */
    int device;
    int64_t anchored_ns;
    ps_cuda_clock clock;
} ps_cuda_context;

typedef struct ps_cuda_open {
    uint64_t id, stream;
    ps_cuda_context *context;
    uint32_t start, end; /* events: the one recorded, and the one kept for the end */
} ps_cuda_open;

extern ps_cuda_context ps_cuda_context_table[PS_CUDA_CONTEXTS];

/* Contexts that were met so far; any of them may be gone. */
uint32_t ps_cuda_context_count(void);

/* The living context of a handle, made when it is new: with a batch of events where it is current on this thread. `unique` as
 * the driver says. *is_new: the GPU thread should make it ready. NULL: no room or no memory. */
ps_cuda_context *ps_cuda_context_of(const ps_cuda_calls *cu, ps_cu_context handle,
                                    unsigned long long unique, uint32_t cap, bool *is_new);

/* Makes up to n (at most PS_CUDA_BATCH) events more, with the context current. The driver's result. */
int ps_cuda_pool_grow(const ps_cuda_calls *cu, ps_cuda_context *c, uint32_t n);

/* `n` (1 or 2) events; false when there are not that many. *wish: what to ask the GPU thread for: more events, or, in a pool as
 * large as it may be and three quarters used, those that are back. */
bool ps_cuda_pool_take(ps_cuda_context *c, uint32_t n, uint32_t *events, uint32_t *wish);
void ps_cuda_pool_give(ps_cuda_context *c, uint32_t n, const uint32_t *events);
/* Free events now, and how many more may be made. */
void ps_cuda_pool_state(ps_cuda_context *c, uint32_t *n_free, uint32_t *n_events);

/* A pool of so many events wants more when fewer than this are free: bursts find half of it. */
static inline uint32_t ps_cuda_pool_low(uint32_t n_events) {
    return n_events / 2 > PS_CUDA_BATCH / 2 ? n_events / 2 : PS_CUDA_BATCH / 2;
}

/* Both events of a range are recorded. */
void ps_cuda_pending_add(ps_cuda_context *c, uint64_t id, uint64_t stream, uint32_t start,
                         uint32_t end);

/* The chain of a lane (index up to PS_CUDA_LANES), PS_CUDA_NONE when empty; the lane is empty then. */
uint32_t ps_cuda_pending_take(ps_cuda_context *c, uint32_t lane);
/* Puts a rest back in front. */
void ps_cuda_pending_return(ps_cuda_context *c, uint32_t lane, uint32_t first);

/* Between recordings: nothing pending, all events free, contexts that are gone forgotten. */
void ps_cuda_contexts_reset(void);
void ps_cuda_contexts_forget(void); /* in a forked child: as if nothing had ever been */

/* Open ranges. False when there is no room near the place of this id. */
bool ps_cuda_open_put(const ps_cuda_open *range);
bool ps_cuda_open_take(uint64_t id, ps_cuda_open *out);
/* All that are left; gives their events back. */
void ps_cuda_open_clear(void);

/* Streams that the driver refused: not asked again in this recording. */
bool ps_cuda_refused(const void *stream);
void ps_cuda_refuse(const void *stream);

#endif

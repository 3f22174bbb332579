/* What the recorder knows of threads that record, and the rings they write to. A thread is attached at its first event of a
 * recording and found through thread-local storage afterwards. It writes to a lane: a ring with its texts, which goes to the
 * next new thread when it ends. At most 127 lanes are of one thread; threads beyond share lane 0 under its lock, where all
 * records go that are no thread's (events.h, ps_shared_...).
 *
 * How a recording ends while threads record. A thread that is about to write does
 *
 *     busy = 1;  look at *ps_recording again: it must still be the generation of its lane;  write;  busy = 0 (release)
 *
 * and the one that ends the recording
 *
 *     *ps_recording = 0;  membarrier;  wait until each thread's busy has been seen 0 (acquire)
 *
 * The second and third step are ps_threads_quiesce(). The membarrier stands for the full fence between the thread's store and
 * its load: either the thread sees the 0, or its busy is seen; events pay for a fence only where the kernel has no membarrier.
 * A thread that is being attached holds the lock of the list of threads while it looks at *ps_recording, and so does the wait. */
#ifndef PS_RECORD_THREADS_H
#define PS_RECORD_THREADS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/ring/intern.h"
#include "record/ring/ring.h"

enum { PS_STACK_DEPTH = 256, PS_ID_BLOCK = 256 };

/* Where the rings of a recording are made. */
typedef struct ps_ring_place {
    const char *dir; /* folder of their files; NULL: they are memory */
    uint64_t n_slots, session;
    uint64_t
        file_bytes; /* what their files may take together: further ones are memory. 0 no limit */
    int clock;      /* PS_CLOCK_... */
} ps_ring_place;

#define PS_HIDDEN __attribute__((visibility("hidden")))

typedef struct ps_lane {
    _Alignas(64) _Atomic uint64_t n_ended_elsewhere; /* of other threads: a cache line of its own */
    _Alignas(64) uint32_t number;                    /* of the ring, index in the table of lanes */
    uint32_t writer_tid; /* the thread that the last PS_REC_THREAD of the ring names, 0 none */
    bool stuck;          /* its thread did not come out of an event: left as it is for good */
    uint64_t wake_at;    /* when head comes here the writer may have to be woken */
    /* Ranges begun here that are still open: begun - ended here - ended elsewhere. An end always finds room. */
    uint64_t n_begun, n_ended;
    struct ps_lane *next; /* list of those without a thread */
    ps_ring ring;
    _Alignas(64) ps_intern texts;
} ps_lane;

typedef struct ps_rec_thread {
    _Atomic uint32_t busy; /* in the middle of an event */
    uint32_t generation;   /* of the recording its lane belongs to */
    ps_lane *lane;         /* lane 0 is shared: to be locked */
    int clock;             /* PS_CLOCK_... of the recording */
    bool fences;           /* there is no membarrier */
    uint32_t tid;
    uint64_t next_id, end_id; /* numbers of ranges it may give out */
    uint64_t first_id;        /* of the recording: ranges below were started before */
    uint32_t depth;           /* of the stack */
    struct ps_pushed {
        uint64_t id;     /* 0: its push was not recorded */
        uint32_t deeper; /* pushes of this domain that found the stack full */
        uint16_t domain;
        uint16_t level; /* below it in the same domain */
    } stack[PS_STACK_DEPTH];
    char name[16];
    bool watched; /* nothing tells when the thread ends: it is looked for when lanes are short */
    struct ps_rec_thread *previous, *next; /* list of all; `next` also of unused ones */
} ps_rec_thread;

extern _Thread_local ps_rec_thread *ps_this_thread PS_HIDDEN;

/* The calling thread's own, ready for `generation`; NULL when it cannot be made (counted) or the recording ended. Slow. */
ps_rec_thread *ps_thread_attach(uint32_t generation);

/* A block of PS_ID_BLOCK numbers of ranges, unique in the process over all recordings, from 1 on. */
void ps_thread_more_ids(ps_rec_thread *me);

/* Ids of ranges are their numbers with PS_RANGE_ON_DEVICE put in: below 2^31 for the first 2^30. */
static inline uint64_t ps_range_id(uint64_t number, bool on_device) {
    uint64_t low = number & (PS_RANGE_ON_DEVICE - 1);
    return low | (on_device ? PS_RANGE_ON_DEVICE : 0) | number >> 30 << 31;
}

static inline uint64_t ps_range_number(uint64_t id) {
    return (id & (PS_RANGE_ON_DEVICE - 1)) | id >> 31 << 30;
}

/* The lane of the thread that gave out the number of a range of this recording; NULL when nobody did. */
ps_lane *ps_thread_of_range(uint64_t number);

/* Takes the lock of lane 0, which may be NULL when there is none. False, and nothing is held, when the caller interrupted a
 * holder of the lock (a signal handler). */
bool ps_lane_shared_lock(ps_lane **lane);
void ps_lane_shared_unlock(void);

/* An event of a signal handler that interrupted the recorder itself: counted without a lock. */
void ps_thread_count_nested(void);

/* --- for the session ------------------------------------------------------------------------------------------------- */

/* A thread needs its ring: where it is to be made. The first call of a recording makes the output folder, which takes locks and
 * malloc; later ones take neither, so that signal handlers may make theirs. False when `generation` has ended. `dir` is valid only
 * while the recording has not ended: to be used under the lock of threads.c, after looking. */
typedef bool ps_ring_place_fn(uint32_t generation, ps_ring_place *out);

/* Who says so, before the first recording; until then no thread gets a ring. */
void ps_threads_set_ring_place(ps_ring_place_fn *ring_place);

/* Makes the rings of a recording that is to begin: ring 0 and as many as threads have recorded in this process (one at least), so
 * that first events need not. */
void ps_threads_prepare(uint32_t generation, const ps_ring_place *place);

/* After *ps_recording has been set to 0 (memory_order_seq_cst). Waits until no thread is in the middle of an event it began before; those that do not come
 * out within `patience_ms` keep their lane for good. No thread writes to a ring from then on, but ps_shared_... still work and the
 * writer still finds all rings, until ps_threads_release(). Returns how many threads did not come out. */
unsigned ps_threads_quiesce(unsigned patience_ms);

/* Unmaps the rings of the recording that ended, when the writer has stopped and their headers have been read; their files stay.
 * The next recording does it too. */
void ps_threads_release(void);

/* Calls fn for each ring, ring 0 first. Takes no lock: threads go on being attached. Not at the same time as
 * ps_threads_release(). */
void ps_threads_each_ring(void (*fn)(void *context, ps_ring *ring, uint32_t number), void *context);

/* Threads that recorded something in the current or last recording. */
uint32_t ps_threads_count(void);

/* After fork in the child: nothing of the parent's is used any more, what waits for ring 0 neither. */
void ps_threads_forget(void);

#endif

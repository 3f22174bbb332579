/* What the recorder knows of a thread that records. Made at its first event of a recording, found through thread-local
 * storage, handed to the next new thread when it ends. At most 127 threads have a ring of their own; those beyond share
 * ring 0 under its lock. */
#ifndef PS_RECORD_THREADS_H
#define PS_RECORD_THREADS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "record/intern.h"
#include "record/ring.h"

enum { PS_MAX_RINGS = 128, PS_STACK_DEPTH = 256, PS_ID_BLOCK = 256 };

typedef struct ps_rec_thread {
    uint32_t generation; /* of the recording its ring belongs to */
    volatile int
        busy; /* in the middle of an event: set before `recording` is looked at again, see session.c */
    int clock; /* PS_CLOCK_... of the recording */
    uint32_t tid;
    uint32_t number; /* of its ring */
    bool shared;     /* ring 0: to be locked */
    ps_ring *ring;
    ps_intern *texts;
    uint64_t next_id, end_id; /* range ids it may give out */
    /* Ranges begun here that are still open: begun - ended here - ended elsewhere. An end always finds room. */
    uint64_t n_begun, n_ended;
    _Atomic uint64_t n_ended_elsewhere;
    struct {
        uint64_t id;
        uint16_t domain;
    } stack[PS_STACK_DEPTH];
    uint32_t depth;
    struct ps_rec_thread *next; /* list of all, or of free ones */
} ps_rec_thread;

/* The calling thread's own, ready for `generation`; NULL when it cannot be made (counted) or the recording ended. Slow. */
ps_rec_thread *ps_thread_attach(uint32_t generation);

extern _Thread_local ps_rec_thread *ps_this_thread;

/* Which ring's thread gave out a range id, for n_ended_elsewhere; NULL when not known. */
ps_rec_thread *ps_thread_of_range(uint64_t id);

/* For the session: waits until no thread is in the middle of an event it began before recording was switched off; those that
 * do not come out within `patience_ms` keep their ring mapped for good. Then takes all rings back. */
void ps_threads_quiesce(unsigned patience_ms);

/* Calls fn for each ring in use, ring 0 first; threads cannot be attached meanwhile. */
void ps_threads_each_ring(void (*fn)(void *context, ps_ring *ring, uint32_t number), void *context);

/* After fork in the child: nothing of the parent's is used any more. */
void ps_threads_forget(void);

#endif

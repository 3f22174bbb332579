/* Rings: where events go first (format.h). One producer each, or several under a lock; one consumer, the writer thread.
 *
 * A file-backed ring has all its blocks reserved before it is mapped: a hole on a full disk would end the program with
 * SIGBUS. Where files cannot be had the ring is anonymous memory, and what is in it dies with the process. */
#ifndef PS_RECORD_RING_H
#define PS_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "record/ring/format.h"

enum { PS_RING_AHEAD = 2048 }; /* slots that are ready to be written, at least: 64 KiB */

typedef struct ps_ring {
    ps_ring_header *header; /* the mapping */
    ps_slot *slots;         /* [mask + 1] */
    uint64_t mask;
    uint64_t head; /* of the producer: what it has filled; header->head is what it has published */
    uint64_t tail_seen; /* header->tail when the producer looked last */
    size_t mapped_bytes;
    bool
        in_file; /* false: anonymous memory. No descriptor is kept: programs close those they do not know. */
    char path[4096]; /* of the file, "" for none */
} ps_ring;

/* The signal handlers of programs come here: ring.c calls nothing that allocates, locks or formats, and takes little of the stack. */

/* Begins a ring, whose file is to be <dir>/<number>.ring; `dir` NULL for anonymous memory. False when that is too long. */
bool ps_ring_name(ps_ring *ring, const char *dir, uint32_t number);

/* Makes it. `n_slots` is a power of two. Maps it so that a fork does not get it, its first pages writable without a page
 * fault. False when it cannot be had (errno says why; nothing is left but the name). */
bool ps_ring_map(ps_ring *ring, uint32_t number, uint64_t n_slots, uint64_t session);

/* Both. */
bool ps_ring_make(ps_ring *ring, const char *dir, uint32_t number, uint64_t n_slots,
                  uint64_t session);

/* Makes the next `n_slots` behind head writable without a page fault: the first write to a page of a mapped file after the
 * kernel has written it to the disk takes the time of hundreds of events. From the writer's thread. */
void ps_ring_prepare(ps_ring *ring, uint64_t n_slots);

/* Unmaps, and removes the file if wanted. Nothing for a ring that was not made. */
void ps_ring_drop(ps_ring *ring, bool remove_file);

/* Slots the producer may fill now, exact when there are fewer than wanted. */
static inline uint64_t ps_ring_free(ps_ring *ring, uint64_t wanted) {
    uint64_t n_slots = ring->mask + 1;
    uint64_t room = n_slots - (ring->head - ring->tail_seen);
    if (__builtin_expect(room < wanted, 0)) {
        ring->tail_seen = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
        room = n_slots - (ring->head - ring->tail_seen);
    }
    return room;
}

/* The `i`-th slot behind head, to be filled. */
static inline ps_slot *ps_ring_slot(ps_ring *ring, uint64_t i) {
    return &ring->slots[(ring->head + i) & ring->mask];
}

static inline void ps_ring_publish(ps_ring *ring, uint64_t n) {
    ring->head += n;
    atomic_store_explicit(&ring->header->head, ring->head, memory_order_release);
}

/* One more, by the only one who counts there: no read-modify-write is needed. */
static inline void ps_ring_count(_Atomic uint64_t *counter) {
    uint64_t n = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, n + 1, memory_order_relaxed);
}

static inline void ps_ring_count_drop(ps_ring *ring, unsigned drop) {
    ps_ring_count(&ring->header->drops[drop]);
}

#endif

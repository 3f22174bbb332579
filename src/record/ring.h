/* Rings: where events go first (format.h). One producer each, or several under a lock; one consumer, the writer thread.
 *
 * A file-backed ring has all its blocks reserved before it is mapped: a hole on a full disk would end the program with
 * SIGBUS. Where files cannot be had the ring is anonymous memory, and what is in it dies with the process. */
#ifndef PS_RECORD_RING_H
#define PS_RECORD_RING_H

#include <stdbool.h>
#include <stddef.h>

#include "record/format.h"

typedef struct ps_ring {
    ps_ring_header *header; /* the mapping */
    ps_slot *slots;         /* [mask + 1] */
    uint64_t mask;
    uint64_t head; /* of the producer: what it has filled; header->head is what it has published */
    uint64_t tail_seen; /* header->tail when the producer looked last */
    size_t mapped_bytes;
    int fd; /* -1 anonymous */
} ps_ring;

/* Makes <dir>/<number>.ring; `dir` NULL for anonymous memory. Maps it so that a fork does not get it. False when it
 * cannot be had (then nothing is left). */
bool ps_ring_make(ps_ring *ring, const char *dir, uint32_t number, uint64_t n_slots,
                  uint64_t session);

/* Unmaps; `dir` as for make: removes the file. */
void ps_ring_drop(ps_ring *ring, const char *dir, uint32_t number);

/* Slots the producer may fill now. */
static inline uint64_t ps_ring_free(ps_ring *ring, uint64_t wanted) {
    uint64_t n_slots = ring->mask + 1;
    uint64_t room = n_slots - (ring->head - ring->tail_seen);
    if (room < wanted) {
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

static inline void ps_ring_count_drop(ps_ring *ring, unsigned drop) {
    uint64_t n = atomic_load_explicit(&ring->header->drops[drop], memory_order_relaxed);
    atomic_store_explicit(&ring->header->drops[drop], n + 1, memory_order_relaxed);
}

#endif

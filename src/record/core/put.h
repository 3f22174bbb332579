/* How records are put behind the head of a lane's ring, for events.c and threads_shared.c. The caller has found room, and publishes. */
#ifndef PS_RECORD_PUT_H
#define PS_RECORD_PUT_H

#include <string.h>

#include "record/core/threads.h"

static inline uint64_t ps_text_slots(size_t length) {
    return (length + sizeof(ps_slot) - 1) / sizeof(ps_slot);
}

/* Bytes into the slots from the `i`-th behind head on; the rest of the last is zero. They may go around the ring's end. */
static inline void ps_put_bytes(ps_ring *ring, uint64_t i, const char *bytes, size_t length) {
    char *first = (char *)ps_ring_slot(ring, i);
    size_t n = (size_t)ps_text_slots(length) * sizeof(ps_slot);
    size_t before_end = (size_t)((char *)(ring->slots + ring->mask + 1) - first);
    if (__builtin_expect(n <= before_end, 1)) {
        memcpy(first, bytes, length);
        memset(first + length, 0, n - length);
        return;
    }
    size_t part = length < before_end ? length : before_end;
    char *start = (char *)ring->slots;
    memcpy(first, bytes, part);
    memset(first + part, 0, before_end - part);
    memcpy(start, bytes + part, length - part);
    memset(start + (length - part), 0, n - before_end - (length - part));
}

/* A definition with `length` bytes behind it. Returns its slots. */
static inline uint64_t ps_put_definition(ps_ring *ring, uint64_t i, ps_slot head, const char *bytes,
                                         size_t length) {
    uint64_t more = ps_text_slots(length);
    head.n_more = (uint8_t)more;
    *ps_ring_slot(ring, i) = head;
    ps_put_bytes(ring, i + 1, bytes, length);
    return 1 + more;
}

/* Room that ends of open ranges will need. Programs that never end their ranges would fill it all: half of the ring at most. */
static inline uint64_t ps_lane_open(const ps_lane *lane) {
    uint64_t elsewhere = atomic_load_explicit(&lane->n_ended_elsewhere, memory_order_relaxed);
    int64_t open = (int64_t)(lane->n_begun - lane->n_ended - elsewhere);
    uint64_t half = (lane->ring.mask + 1) / 2;
    return open <= 0 ? 0 : (uint64_t)open < half ? (uint64_t)open : half;
}

static inline bool ps_lane_has(ps_lane *lane, uint64_t n) {
    return ps_ring_free(&lane->ring, n) >= n;
}

/* Head has passed wake_at: wakes the writer when the ring really is half full, and says when to look again. */
void ps_lane_look(ps_lane *lane);

static inline void ps_lane_publish(ps_lane *lane, uint64_t n) {
    ps_ring_publish(&lane->ring, n);
    if (__builtin_expect(lane->ring.head >= lane->wake_at, 0)) {
        ps_lane_look(lane);
    }
}

#endif

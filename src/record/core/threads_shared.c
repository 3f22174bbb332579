/* Records that are no thread's, through ring 0 under its lock (events.h). */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/alloc.h"
#include "record/core/put.h"
#include "record/core/recording.h"
#include "record/core/threads_shared.h"
#include "record/ring/log.h"
#include "record/ring/wake.h"

/* What waits for ring 0: whole records, one behind the other, those before `first` are in it. Before there is a ring, and when it stays
 * full: what a recording says of itself is not lost for that. Under the lock of lane 0. */
enum { MAX_WAITING = 1 << 15, MAX_ABANDONED = 16, TRIES = 100 };
static struct {
    ps_slot *slots;
    size_t first, n, cap;
    ps_slot *abandoned[MAX_ABANDONED]; /* of parents */
    unsigned n_abandoned;
    uint64_t drops[PS_N_DROPS]; /* counted before there was a ring */
} waiting;

static _Thread_local void (*taker)(void);

void ps_shared_set_taker(void (*take)(void)) {
    taker = take;
}

void ps_lane_look(ps_lane *lane) {
    ps_ring *ring = &lane->ring;
    uint64_t half = (ring->mask + 1) / 2;
    ring->tail_seen = atomic_load_explicit(&ring->header->tail, memory_order_acquire);
    if (ring->head - ring->tail_seen >= half) {
        lane->wake_at = ring->head + half / 2;
        ps_wake_writer();
    } else {
        lane->wake_at = ring->tail_seen + half;
    }
}

/* One of 100 times that ring 0 had no room. */
static void make_shared_room(void) {
    if (taker != NULL) {
        taker();
        return;
    }
    ps_wake_writer();
    (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static atomic_bool any_waiting; /* with a ring */

/* A record without a ring, or without room in it, waits. False when there is no memory. */
static bool keep_waiting(ps_slot head, const char *text, size_t length) {
    size_t more = (size_t)ps_text_slots(length);
    if (!ps_grow(&waiting.slots, &waiting.cap, waiting.n + 1 + more, MAX_WAITING,
                 sizeof(ps_slot))) {
        return false;
    }
    head.n_more = (uint8_t)more;
    waiting.slots[waiting.n] = head;
    if (more > 0) {
        char *bytes = (char *)&waiting.slots[waiting.n + 1];
        memset(bytes, 0, more * sizeof(ps_slot));
        memcpy(bytes, text, length);
    }
    waiting.n += 1 + more;
    return true;
}

static bool has_shared_room(ps_lane *lane, uint64_t need) {
    return ps_lane_has(lane, need + ps_lane_open(lane) + 1);
}

/* Under the lock of the lane. True when nothing waits any more. The memory stays: this may be a signal handler that interrupted
 * malloc. */
static bool put_waiting(ps_lane *lane) {
    while (waiting.first < waiting.n) {
        const ps_slot *slot = &waiting.slots[waiting.first];
        uint64_t need = 1u + slot->n_more;
        if (!has_shared_room(lane, need)) {
            atomic_store_explicit(&any_waiting, true, memory_order_relaxed);
            return false;
        }
        (void)ps_put_definition(&lane->ring, 0, *slot, (const char *)(slot + 1),
                                (size_t)slot->n_more * sizeof(ps_slot));
        ps_lane_publish(lane, need);
        waiting.first += need;
    }
    waiting.first = waiting.n = 0;
    atomic_store_explicit(&any_waiting, false, memory_order_relaxed);
    return true;
}

typedef enum outcome { DONE, NO_ROOM, LOST } outcome;

/* One try; `last`: what finds no room waits. `device` records do not wait: without a ring nothing was recorded that they belong to. */
static outcome try_record(ps_slot head, const char *text, size_t length, bool last) {
    ps_lane *lane;
    if (!ps_lane_shared_lock(&lane)) {
        return LOST;
    }
    outcome out = DONE;
    uint64_t need = 1 + ps_text_slots(length);
    if (lane == NULL) {
        out = keep_waiting(head, text, length) ? DONE : LOST;
    } else if (!put_waiting(lane) || !has_shared_room(lane, need)) { /* in their order */
        out = !last ? NO_ROOM : keep_waiting(head, text, length) ? DONE : LOST;
        atomic_store_explicit(&any_waiting, waiting.n > 0, memory_order_relaxed);
    } else {
        (void)ps_put_definition(&lane->ring, 0, head, text, length);
        ps_lane_publish(lane, need);
    }
    ps_lane_shared_unlock();
    return out;
}

static void record_shared(ps_slot head, const char *text, size_t length) {
    int error = errno;
    bool others_wait = atomic_load_explicit(&any_waiting, memory_order_relaxed);
    outcome out = try_record(head, text, length, others_wait);
    for (int i = 0; out == NO_ROOM; i++) {
        make_shared_room();
        out = try_record(head, text, length, i + 1 == TRIES);
    }
    if (out != DONE) {
        ps_rec_log_once("fact_lost",
                        "ring 0 is full and there is no memory either: something that the "
                        "recording says of itself is missing");
        ps_shared_drop(atomic_load_explicit(&ps_full_drop, memory_order_relaxed), 1);
    }
    errno = error;
}

void ps_shared_define(uint8_t kind, uint64_t id, const char *text, size_t length) {
    length = length < PS_RECORD_MAX_TEXT ? length : PS_RECORD_MAX_TEXT;
    record_shared((ps_slot){.kind = kind, .id = id, .aux = length}, text, length);
}

void ps_shared_pair(uint8_t kind, const char *key, const char *text, size_t length) {
    char pair[PS_RECORD_MAX_PAIR];
    size_t n_key = strlen(key);
    if (n_key + length > sizeof pair) {
        ps_rec_log_once(key, "%s: %zu bytes are more than a recording keeps (%d): left out", key,
                        length, PS_RECORD_MAX_PAIR);
        return;
    }
    memcpy(pair, key, n_key);
    memcpy(pair + n_key, text, length);
    record_shared((ps_slot){.kind = kind, .id = n_key, .aux = n_key + length}, pair,
                  n_key + length);
}

void ps_shared_anchor(uint64_t ticks, int64_t real_ns, int64_t mono_ns, uint32_t half_width_ns) {
    record_shared((ps_slot){.kind = PS_REC_ANCHOR,
                            .ticks = ticks,
                            .id = (uint64_t)real_ns,
                            .aux = (uint64_t)mono_ns,
                            .text = half_width_ns},
                  "", 0);
}

/* One try; the name is a text of ring 0. */
static outcome try_device(ps_slot head, const char *name, const ps_device_more *more) {
    ps_lane *lane;
    if (!ps_lane_shared_lock(&lane)) {
        return LOST;
    }
    if (lane == NULL) {
        ps_lane_shared_unlock();
        return DONE; /* no event was recorded that it could belong to */
    }
    ps_ring *ring = &lane->ring;
    size_t length = name != NULL ? strnlen(name, PS_RECORD_MAX_TEXT) : 0;
    if (!ps_lane_has(lane, 4 + ps_text_slots(length) + ps_lane_open(lane))) {
        ps_lane_shared_unlock();
        return NO_ROOM;
    }
    uint64_t n = 0;
    if (length > 0) {
        bool is_new;
        head.text = ps_intern_text(&lane->texts, name, length, &is_new);
        ps_slot text = {.kind = PS_REC_TEXT, .id = head.text, .aux = length};
        n = is_new ? ps_put_definition(ring, 0, text, name, length) : 0;
    }
    head.n_more = 1;
    *ps_ring_slot(ring, n) = head;
    memcpy(ps_ring_slot(ring, n + 1), more, sizeof *more);
    ps_lane_publish(lane, n + 2);
    if (head.kind == PS_REC_DEVICE) {
        ps_ring_count(&ring->header->n_device);
    }
    ps_lane_shared_unlock();
    return DONE;
}

void ps_shared_device(uint8_t kind, uint64_t id, int64_t start_ns, int64_t end_ns, const char *name,
                      const ps_device_more *more) {
    static const ps_device_more nothing;
    more = more != NULL ? more : &nothing;
    ps_slot head = {.kind = kind, .id = id, .ticks = (uint64_t)start_ns, .aux = (uint64_t)end_ns};
    int error = errno;
    outcome out = try_device(head, name, more);
    for (int i = 0; out == NO_ROOM && i < TRIES; i++) {
        make_shared_room();
        out = try_device(head, name, more);
    }
    if (out != DONE) {
        ps_shared_drop(atomic_load_explicit(&ps_full_drop, memory_order_relaxed), 1);
    }
    errno = error;
}

void ps_shared_drop(unsigned drop, uint64_t n) {
    ps_lane *lane;
    if (n == 0 || !ps_lane_shared_lock(&lane)) {
        return;
    }
    if (lane != NULL) {
        (void)atomic_fetch_add_explicit(&lane->ring.header->drops[drop], n, memory_order_relaxed);
    } else {
        waiting.drops[drop] += n;
    }
    ps_lane_shared_unlock();
}

/* Under the lock of the lane. */
static void flush_drops(ps_lane *lane) {
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        (void)atomic_fetch_add_explicit(&lane->ring.header->drops[i], waiting.drops[i],
                                        memory_order_relaxed);
        waiting.drops[i] = 0;
    }
}

void ps_shared_flush(void) {
    ps_lane *lane;
    if (!ps_lane_shared_lock(&lane)) {
        return;
    }
    if (lane != NULL) {
        flush_drops(lane);
        (void)put_waiting(lane);
    }
    ps_lane_shared_unlock();
}

bool ps_shared_waits(void) {
    return atomic_load_explicit(&any_waiting, memory_order_relaxed);
}

/* Under the lock of the lane. How many records there were. */
static uint64_t count_waiting(void) {
    uint64_t n = 0;
    for (size_t i = waiting.first; i < waiting.n; i += 1u + waiting.slots[i].n_more) {
        n++;
    }
    return n;
}

void ps_shared_lose(void) {
    ps_lane *lane;
    if (!ps_shared_waits() || !ps_lane_shared_lock(&lane)) {
        return;
    }
    uint64_t n = count_waiting();
    waiting.first = waiting.n = 0;
    atomic_store_explicit(&any_waiting, false, memory_order_relaxed);
    ps_lane_shared_unlock();
    ps_shared_drop(atomic_load_explicit(&ps_full_drop, memory_order_relaxed), n);
    ps_rec_log("nothing could be written any more: %llu records of what the recording says of "
               "itself (metadata, clocks, how it ended) are missing",
               (unsigned long long)n);
}

void ps_shared_forget(void) {
    ps_lane *lane;
    if (ps_lane_shared_lock(&lane)) {
        ps_free(waiting.slots);
        waiting.slots = NULL;
        waiting.first = waiting.n = waiting.cap = 0;
        atomic_store_explicit(&any_waiting, false, memory_order_relaxed);
        memset(waiting.drops, 0, sizeof waiting.drops);
        ps_lane_shared_unlock();
    }
}

static void shared_abandon(ps_slot *slots) {
    if (slots != NULL) {
        waiting.abandoned[waiting.n_abandoned++ % MAX_ABANDONED] = slots;
    }
}

void ps_shared_abandon(void) {
    /* Neither freed nor written to: another thread of the parent may have been between growing them and noting where they are.
     * Kept, so that they are no leak. */
    shared_abandon(waiting.slots);
    waiting.slots = NULL;
    waiting.first = waiting.n = waiting.cap = 0;
    atomic_store_explicit(&any_waiting, false, memory_order_relaxed);
    memset(waiting.drops, 0, sizeof waiting.drops);
    taker = NULL;
}

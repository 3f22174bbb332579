#include "support/record_double.h"
#include "record/core/threads.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "record/core/domains.h"
#include "record/core/recording.h"
#include "record/ring/clock.h"
#include "record/ring/wake.h"

static struct {
    pthread_mutex_t lock; /* of the next three */
    uint32_t generation;
    const char *dir;
    uint64_t n_slots;
    ps_slot *taken[PS_MAX_RINGS];
    size_t n[PS_MAX_RINGS], cap[PS_MAX_RINGS];
    uint32_t n_rings;
    uint64_t drops[PS_N_DROPS];
    ps_double_record *records;
    size_t n_records, cap_records;
    _Atomic uint64_t wakes;
    _Atomic bool draining;
    pthread_t drain;
} d = {.lock = PTHREAD_MUTEX_INITIALIZER};

static bool find_ring_place(uint32_t generation, ps_ring_place *out) {
    (void)pthread_mutex_lock(&d.lock);
    bool ok = d.generation == generation && atomic_load(ps_recording) == generation;
    *out = (ps_ring_place){
        .dir = d.dir, .n_slots = d.n_slots, .session = 77, .clock = PS_CLOCK_MONOTONIC};
    (void)pthread_mutex_unlock(&d.lock);
    return ok;
}

void ps_wake_writer(void) {
    atomic_fetch_add(&d.wakes, 1);
}

uint64_t ps_double_wakes(void) {
    return atomic_load(&d.wakes);
}

uint32_t ps_double_start(const char *dir, uint64_t n_slots) {
    (void)pthread_mutex_lock(&d.lock);
    d.dir = dir;
    d.n_slots = n_slots;
    d.generation++;
    (void)pthread_mutex_unlock(&d.lock);
    ps_threads_set_ring_place(find_ring_place);
    atomic_store(ps_recording, d.generation);
    return d.generation;
}

static void take_ring(void *context, ps_ring *ring, uint32_t number) {
    (void)context;
    uint64_t head = atomic_load_explicit(&ring->header->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_relaxed);
    assert_true(head >= tail && head - tail <= ring->mask + 1);
    assert_int_equal(tail, d.n[number]);
    assert_true(
        ps_grow(&d.taken[number], &d.cap[number], (size_t)head, SIZE_MAX / 64, sizeof(ps_slot)));
    for (uint64_t at = tail; at < head; at++) {
        d.taken[number][at] = ring->slots[at & ring->mask];
    }
    d.n[number] = (size_t)head;
    d.n_rings = d.n_rings > number ? d.n_rings : number + 1;
    atomic_store_explicit(&ring->header->tail, head, memory_order_release);
}

void ps_double_take(void) {
    ps_threads_each_ring(take_ring, NULL);
}

static void *drain(void *context) {
    while (atomic_load(&d.draining)) {
        ps_double_take();
        (void)nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    }
    return context;
}

void ps_double_drain_start(void) {
    atomic_store(&d.draining, true);
    assert_int_equal(pthread_create(&d.drain, NULL, drain, NULL), 0);
}

static void count_drops(void *context, ps_ring *ring, uint32_t number) {
    (void)context;
    (void)number;
    for (unsigned i = 0; i < PS_N_DROPS; i++) {
        d.drops[i] += atomic_load(&ring->header->drops[i]);
    }
}

unsigned ps_double_stop(void) {
    atomic_store(ps_recording, 0);
    unsigned stuck = ps_threads_quiesce(5000);
    if (atomic_exchange(&d.draining, false)) {
        (void)pthread_join(d.drain, NULL);
    }
    ps_double_take();
    memset(d.drops, 0, sizeof d.drops);
    ps_threads_each_ring(count_drops, NULL);
    return stuck;
}

void ps_double_reset(void) {
    ps_threads_release();
    for (unsigned i = 0; i < PS_MAX_RINGS; i++) {
        ps_free(d.taken[i]);
        d.taken[i] = NULL;
        d.n[i] = d.cap[i] = 0;
    }
    ps_free(d.records);
    d.records = NULL;
    d.n_records = d.cap_records = 0;
    d.n_rings = 0;
}

/* --- reading back ---------------------------------------------------------------------------------------------------- */

typedef struct text_map { /* texts of one ring by number */
    const char **text;
    size_t *length;
    size_t cap;
} text_map;

static void define(text_map *map, uint64_t id, const char *text, size_t length) {
    while (map->cap <= id) {
        size_t bigger = map->cap == 0 ? 64 : map->cap * 2;
        map->text = ps_realloc_array(map->text, bigger, sizeof *map->text);
        map->length = ps_realloc_array(map->length, bigger, sizeof *map->length);
        assert_non_null(map->text);
        memset(map->text + map->cap, 0, (bigger - map->cap) * sizeof *map->text);
        map->cap = bigger;
    }
    map->text[id] = text;
    map->length[id] = length;
}

static void copy_text(ps_double_record *r, const char *text, size_t length) {
    length = length < sizeof r->text - 1 ? length : sizeof r->text - 1;
    memcpy(r->text, text, length);
    r->text[length] = '\0';
}

static void read_text(ps_double_record *r, const text_map *map) {
    size_t length = 0;
    if ((r->slot.text & PS_TEXT_SHARED) != 0) {
        const char *text = ps_shared_text_at(r->slot.text & ~PS_TEXT_SHARED, &length);
        assert_non_null(text);
        copy_text(r, text, length);
    } else if (r->slot.text != 0 && r->slot.kind != PS_REC_ANCHOR) {
        assert_true(r->slot.text < map->cap && map->text[r->slot.text] != NULL);
        copy_text(r, map->text[r->slot.text], map->length[r->slot.text]);
    }
}

static void read_ring(uint32_t ring) {
    text_map map = {0};
    uint32_t tid = 0;
    for (size_t i = 0; i < d.n[ring];) {
        const ps_slot *slot = &d.taken[ring][i];
        assert_true(i + 1 + slot->n_more <= d.n[ring]);
        assert_true(ps_grow(&d.records, &d.cap_records, d.n_records + 1, SIZE_MAX / 512,
                            sizeof(ps_double_record)));
        ps_double_record *r = &d.records[d.n_records++];
        *r = (ps_double_record){.slot = *slot, .ring = ring, .position = i, .more = slot + 1};
        const char *behind = (const char *)(slot + 1);
        if (slot->kind == PS_REC_TEXT) {
            assert_true(slot->aux <= (uint64_t)slot->n_more * sizeof(ps_slot));
            define(&map, slot->id, behind, (size_t)slot->aux);
        }
        if (slot->kind == PS_REC_THREAD) {
            tid = (uint32_t)slot->id;
        }
        if (slot->kind < PS_REC_MARK && slot->kind != PS_REC_ANCHOR) {
            copy_text(r, behind, (size_t)slot->aux);
        } else {
            read_text(r, &map);
        }
        r->tid = tid;
        if (slot->kind >= PS_REC_MARK && slot->kind < PS_REC_DEVICE) {
            assert_int_not_equal(tid, 0);
        }
        assert_int_not_equal(slot->kind, PS_REC_NONE);
        i += 1u + slot->n_more;
    }
    ps_free(map.text);
    ps_free(map.length);
}

const ps_double_record *ps_double_records(size_t *n) {
    d.n_records = 0;
    for (uint32_t ring = 0; ring < d.n_rings; ring++) {
        read_ring(ring);
    }
    *n = d.n_records;
    return d.records;
}

size_t ps_double_count(uint8_t kind) {
    size_t n;
    size_t found = 0;
    const ps_double_record *r = ps_double_records(&n);
    for (size_t i = 0; i < n; i++) {
        found += r[i].slot.kind == kind;
    }
    return found;
}

uint64_t ps_double_drops(unsigned drop) {
    return d.drops[drop];
}

uint32_t ps_double_rings(void) {
    return d.n_rings;
}

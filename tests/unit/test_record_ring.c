/* Rings against a plain model: random turns of a producer and a consumer, first in one thread, then in two. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "record/core/put.h"
#include "record/ring/ring.h"
#include "support/record_double.h"
#include "support/scratch.h"

static uint64_t random_state = 42;
static uint64_t random_below(uint64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (random_state >> 33) % n;
}

/* A record of `n` slots whose every slot is known by its position. */
static void fill(ps_ring *ring, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        *ps_ring_slot(ring, i) = (ps_slot){.id = ring->head + i, .aux = ~(ring->head + i)};
    }
}

/* Takes up to `n` slots as the writer does. Returns how many were wrong. */
static unsigned take(ps_ring *ring, uint64_t n) {
    uint64_t head = atomic_load_explicit(&ring->header->head, memory_order_acquire);
    uint64_t tail = atomic_load_explicit(&ring->header->tail, memory_order_relaxed);
    unsigned wrong = head - tail > ring->mask + 1;
    n = n < head - tail ? n : head - tail;
    for (uint64_t i = 0; i < n; i++) {
        const ps_slot *slot = &ring->slots[(tail + i) & ring->mask];
        wrong += slot->id != tail + i || slot->aux != ~(tail + i);
    }
    atomic_store_explicit(&ring->header->tail, tail + n, memory_order_release);
    return wrong;
}

static void test_model(void **state) {
    (void)state;
    for (int size = 1; size <= 6; size++) {
        ps_ring ring;
        uint64_t n_slots = UINT64_C(1) << size;
        assert_true(ps_ring_make(&ring, NULL, 3, n_slots, 5));
        uint64_t head = 0; /* the model */
        uint64_t tail = 0;
        for (int turn = 0; turn < 20000; turn++) {
            uint64_t n = random_below(n_slots + 2);
            if (random_below(2) == 0) {
                uint64_t room = n_slots - (head - tail);
                bool admitted = ps_ring_free(&ring, n) >= n;
                assert_int_equal(admitted, room >= n);
                if (admitted) {
                    fill(&ring, n);
                    ps_ring_publish(&ring, n);
                    head += n;
                }
            } else {
                assert_int_equal(take(&ring, n), 0);
                tail += n < head - tail ? n : head - tail;
            }
            assert_int_equal(atomic_load(&ring.header->head), head);
            assert_int_equal(atomic_load(&ring.header->tail), tail);
        }
        ps_ring_drop(&ring, false);
        assert_null(ring.header);
    }
}

enum { SLOTS_BY_THREADS = 300000 };
static void *produce(void *context) {
    ps_ring *ring = context;
    while (ring->head < SLOTS_BY_THREADS) {
        uint64_t n = 1 + random_below(7);
        if (ps_ring_free(ring, n) < n) {
            (void)sched_yield();
            continue;
        }
        fill(ring, n);
        ps_ring_publish(ring, n);
    }
    return NULL;
}

static void test_two_threads(void **state) {
    (void)state;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 1, 64, 5));
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, produce, &ring), 0);
    unsigned wrong = 0;
    while (atomic_load_explicit(&ring.header->tail, memory_order_relaxed) < SLOTS_BY_THREADS) {
        wrong += take(&ring, UINT64_MAX);
        (void)sched_yield();
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_int_equal(wrong, 0);
    ps_ring_drop(&ring, false);
}

/* Bytes of any length at any place, also around the end of the ring. */
static void test_bytes_around_the_end(void **state) {
    (void)state;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 1, 8, 5));
    char text[7 * 32];
    for (size_t i = 0; i < sizeof text; i++) {
        text[i] = (char)('a' + i % 26);
    }
    for (uint64_t at = 0; at < 8; at++) {
        for (size_t length = 0; length <= sizeof text; length++) {
            memset(ring.slots, 0xee, 8 * sizeof(ps_slot));
            ring.head = at;
            ps_put_bytes(&ring, 1, text, length);
            uint64_t more = ps_text_slots(length);
            for (uint64_t i = 0; i < 8; i++) {
                const unsigned char *slot = (const unsigned char *)ps_ring_slot(&ring, i);
                for (size_t k = 0; k < sizeof(ps_slot); k++) {
                    size_t byte = (size_t)(i - 1) * sizeof(ps_slot) + k;
                    bool inside = i >= 1 && i <= more;
                    unsigned char want = !inside         ? 0xee
                                         : byte < length ? (unsigned char)text[byte]
                                                         : 0;
                    assert_int_equal(slot[k], want);
                }
            }
        }
    }
    ring.head = 0;
    ps_ring_drop(&ring, false);
}

static void test_file(void **state) {
    (void)state;
    char dir[SCRATCH_BYTES], path[SCRATCH_BYTES + 32], elsewhere[SCRATCH_BYTES + 32];
    scratch_make(dir, sizeof dir);
    (void)snprintf(elsewhere, sizeof elsewhere, "%s/elsewhere", dir);
    (void)snprintf(path, sizeof path, "%s/7.ring", dir);
    ps_ring ring;
    assert_true(ps_ring_make(&ring, dir, 7, 1024, 99));
    assert_true(ring.in_file);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_size, PS_RING_HEADER_BYTES + 1024 * 32);
    assert_true(st.st_blocks * 512 >= st.st_size); /* no holes */
    assert_int_equal(ring.header->magic, PS_RING_MAGIC);
    assert_int_equal(ring.header->number, 7);
    assert_int_equal(ring.header->n_slots, 1024);
    assert_int_equal(ring.header->session, 99);
    ps_ring second;
    assert_false(ps_ring_make(&second, dir, 7, 1024, 99)); /* never over another's file */
    assert_int_equal(errno, EEXIST);
    ps_ring_drop(&ring, true);
    assert_int_equal(stat(path, &st), -1);

    assert_int_equal(symlink(elsewhere, path), 0);
    assert_false(ps_ring_make(&ring, dir, 7, 1024, 99));
    assert_int_equal(unlink(path), 0);
    assert_false(ps_ring_make(&ring, dir, 7, 1000, 99)); /* no power of two */
    assert_false(ps_ring_make(&ring, "/nowhere/at/all", 7, 1024, 99));
    assert_int_equal(rmdir(dir), 0); /* and nothing is left */
}

/* Pages are made writable under the producer's hands. */
static void test_prepared_while_written(void **state) {
    (void)state;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 1, 1 << 17, 5));
    pthread_t producer;
    assert_int_equal(pthread_create(&producer, NULL, produce, &ring), 0);
    unsigned wrong = 0;
    while (atomic_load_explicit(&ring.header->tail, memory_order_relaxed) < SLOTS_BY_THREADS) {
        ps_ring_prepare(&ring, 1 << 16);
        wrong += take(&ring, UINT64_MAX);
    }
    assert_int_equal(pthread_join(producer, NULL), 0);
    assert_int_equal(wrong, 0);
    ps_ring_drop(&ring, false);
}

/* A forked child has no ring: it cannot write into its parent's. */
static void test_not_in_a_child(void **state) {
    (void)state;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 1, 1024, 5));
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        unsigned char resident;
        _exit(mincore(ring.header, PS_RING_HEADER_BYTES, &resident) == -1 && errno == ENOMEM ? 0
                                                                                             : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ps_ring_drop(&ring, false);
}

/* Where no file can be had the thread records in memory. */
static void test_memory_instead(void **state) {
    (void)state;
    (void)ps_double_start("/nowhere/at/all", 256);
    ps_event_mark(ps_domain_check(NULL), (ps_text){.bytes = "m", .length = 1}, NULL, NULL);
    assert_false(ps_this_thread->lane->ring.in_file);
    assert_int_equal(ps_double_stop(), 0);
    assert_int_equal(ps_double_count(PS_REC_MARK), 1);
    ps_double_reset();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_model),
        cmocka_unit_test(test_two_threads),
        cmocka_unit_test(test_prepared_while_written),
        cmocka_unit_test(test_bytes_around_the_end),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_not_in_a_child),
        cmocka_unit_test(test_memory_instead),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The spool: blocks as they come, in a file and in memory; no room, and room again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/ring/memory.h"
#include "record/ring/spool.h"
#include "support/scratch.h"

enum { N_SLOTS = 1024 };

static const char *const dir = scratch_dir;

static const ps_spool_header HEADER = {
    .magic = PS_SPOOL_MAGIC, .format = PS_RECORD_FORMAT, .session = 42, .pid = 7, .rank = 3};

/* Publishes `n` slots numbered on from the last. */
static void fill(ps_ring *ring, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        *ps_ring_slot(ring, i) = (ps_slot){.kind = PS_REC_MARK, .id = ring->head + i};
    }
    ps_ring_publish(ring, n);
}

/* The slots of the blocks behind the header, checked: numbered on from 0. Returns how many blocks. */
static unsigned check(const char *bytes, size_t n_bytes, uint64_t n_slots, uint64_t drops) {
    const ps_spool_header *h = (const void *)bytes;
    assert_true(n_bytes >= sizeof *h);
    assert_true(h->magic == PS_SPOOL_MAGIC && h->session == 42 && h->pid == 7 && h->rank == 3);
    size_t at = sizeof *h;
    uint64_t next = 0;
    unsigned blocks = 0;
    while (at < n_bytes) {
        ps_block_header block;
        assert_true(n_bytes - at >= sizeof block);
        memcpy(&block, bytes + at, sizeof block);
        at += sizeof block;
        assert_int_equal(block.magic, PS_BLOCK_MAGIC);
        assert_int_equal(block.ring, 5);
        assert_int_equal(block.first, next);
        assert_int_equal(block.drops, drops);
        assert_true(n_bytes - at >= block.n_slots * sizeof(ps_slot));
        for (uint64_t i = 0; i < block.n_slots; i++) {
            ps_slot slot;
            memcpy(&slot, bytes + at, sizeof slot);
            at += sizeof slot;
            assert_int_equal(slot.id, next);
            next++;
        }
        blocks++;
    }
    assert_int_equal(next, n_slots);
    return blocks;
}

static char *read_spool(size_t *n) {
    char path[SCRATCH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/" PS_SPOOL_FILE, dir);
    int fd = open(path, O_RDONLY);
    struct stat st;
    assert_true(fd >= 0 && fstat(fd, &st) == 0);
    char *bytes = malloc((size_t)st.st_size);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
    (void)close(fd);
    *n = (size_t)st.st_size;
    return bytes;
}

static void check_file(uint64_t n_slots, uint64_t drops, unsigned n_blocks) {
    size_t n = 0;
    char *bytes = read_spool(&n);
    assert_int_equal(check(bytes, n, n_slots, drops), n_blocks);
    free(bytes);
}

static void take(ps_spool *spool, ps_ring *ring, uint64_t wanted) {
    assert_int_equal(ps_spool_take(spool, ring, 5), wanted);
}

static void blocks_in_a_file(void **state) {
    (void)state;
    ps_spool spool;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    assert_true(ps_spool_open(&spool, dir, &HEADER, 0));
    take(&spool, &ring, 0);
    fill(&ring, 700);
    take(&spool, &ring, 700);
    fill(&ring, 700); /* around the end of the ring */
    take(&spool, &ring, 700);
    fill(&ring, N_SLOTS); /* as full as can be */
    take(&spool, &ring, N_SLOTS);
    take(&spool, &ring, 0);
    assert_int_equal(atomic_load(&ring.header->tail), 1400 + N_SLOTS);
    check_file(1400 + N_SLOTS, 0, 3);
    struct stat st;
    assert_int_equal(fstat(spool.fd, &st), 0);
    assert_int_equal(st.st_mode & 0777 & ~0640u, 0);
    assert_int_equal(st.st_size, atomic_load(&spool.bytes));
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
}

static void blocks_in_memory(void **state) {
    (void)state;
    ps_spool spool;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    ps_ring_count_drop(&ring, PS_DROP_NESTED);
    ps_ring_count_drop(&ring, PS_DROP_BAD_MESSAGE);
    assert_true(ps_spool_open(&spool, NULL, &HEADER, 16 << 20));
    for (unsigned i = 0; i < 100; i++) { /* past the first megabyte */
        fill(&ring, 900);
        take(&spool, &ring, 900);
    }
    assert_int_equal(check(spool.memory, atomic_load(&spool.bytes), 90000, 2), 100);
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
}

static void memory_used_up(void **state) {
    (void)state;
    ps_spool spool;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    assert_true(ps_spool_open(&spool, NULL, &HEADER, sizeof HEADER + 4096));
    fill(&ring, 100);
    take(&spool, &ring, 100);
    fill(&ring, 100);
    take(&spool, &ring, 0);
    assert_true(spool.full);
    assert_int_equal(check(spool.memory, atomic_load(&spool.bytes), 100, 0), 1);
    assert_int_equal(atomic_load(&ring.header->tail), 100);
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
}

/* A limit on file sizes is a disk that is full in the middle of a block: what was written of it goes again. */
static void disk_full_and_room_again(void **state) {
    (void)state;
    ps_spool spool;
    ps_ring ring;
    struct rlimit before;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    assert_true(ps_spool_open(&spool, dir, &HEADER, 0));
    fill(&ring, 100);
    take(&spool, &ring, 100);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = atomic_load(&spool.bytes) + 1000,
                           .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(&ring, 100);
    take(&spool, &ring, 0);
    assert_true(spool.full);
    check_file(100, 0, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    take(&spool, &ring, 0); /* not before a second has passed */
    ps_spool_retry(&spool);
    take(&spool, &ring, 100);
    assert_false(spool.full);
    check_file(200, 0, 2);
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
}

/* With memory for it: blocks wait there, counted in the ring's header, and are written when there is room. */
static void disk_full_blocks_wait(void **state) {
    (void)state;
    ps_spool spool;
    ps_ring ring;
    struct rlimit before;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    assert_true(ps_spool_open(&spool, dir, &HEADER, 0));
    uint64_t taken = ps_memory_taken();
    spool.max_held = 16 << 20;
    fill(&ring, 100);
    take(&spool, &ring, 100);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {.rlim_cur = atomic_load(&spool.bytes) + 1000,
                           .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    for (unsigned i = 0; i < 50; i++) { /* the second comes in two pieces */
        fill(&ring, 700);
        take(&spool, &ring, 700);
    }
    assert_false(spool.full);
    assert_true(spool.error == EFBIG && ps_memory_taken() > taken);
    assert_int_equal(atomic_load(&ring.header->held_slots), 35000);
    assert_int_equal(atomic_load(&ring.header->held_events), 35000);
    check_file(100, 0, 1);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_false(ps_spool_flush(&spool)); /* not before a second has passed */
    ps_spool_retry(&spool);
    assert_true(ps_spool_flush(&spool));
    ps_spool_tell_held(&spool, &ring, 5);
    assert_int_equal(atomic_load(&ring.header->held_slots), 0);
    assert_int_equal(ps_memory_taken(), taken);
    fill(&ring, 100);
    take(&spool, &ring, 100);
    check_file(35200, 0, 52);
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
}

/* A limit leaves something for ring 0, holds for good, and not any more once nothing new comes. */
static void a_limit_for_the_file(void **state) {
    enum { LIMIT = 1 << 20, BESIDE = 4096, RESERVED = 1 << 18 };
    (void)state;
    ps_spool spool;
    ps_ring ring;
    ps_ring zero;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    assert_true(ps_ring_make(&zero, NULL, 0, N_SLOTS, 42));
    assert_true(ps_spool_open(&spool, dir, &HEADER, LIMIT));
    spool.beside_bytes = BESIDE;
    unsigned blocks = 0;
    for (fill(&ring, 1000); ps_spool_take(&spool, &ring, 5) == 1000; fill(&ring, 1000)) {
        blocks++;
    }
    assert_true(spool.full && spool.capped);
    uint64_t bytes = atomic_load(&spool.bytes);
    assert_true(bytes + BESIDE <= LIMIT - RESERVED && bytes + BESIDE > LIMIT - RESERVED - 33000);
    ps_spool_retry(&spool);
    take(&spool, &ring, 0);
    assert_int_equal(atomic_load(&spool.bytes), bytes);
    check_file(blocks * 1000, 0, blocks);

    unsigned n_zero = 0;
    for (fill(&zero, 500); ps_spool_take(&spool, &zero, 0) == 500; fill(&zero, 500)) {
        n_zero++;
    }
    assert_true(n_zero > 4);
    assert_true(atomic_load(&spool.bytes) + BESIDE <= LIMIT);
    ps_spool_lift(&spool);
    assert_int_equal(ps_spool_take(&spool, &zero, 0), 500);
    ps_spool_retry(&spool);
    take(&spool, &ring, 1000);
    assert_false(spool.full);
    ps_spool_close(&spool);
    ps_ring_drop(&ring, false);
    ps_ring_drop(&zero, false);
}

/* Programs that become daemons close all descriptors, and the next file gets the number. */
static void descriptor_taken_away(void **state) {
    (void)state;
    ps_spool spool;
    ps_ring ring;
    assert_true(ps_ring_make(&ring, NULL, 5, N_SLOTS, 42));
    assert_true(ps_spool_open(&spool, dir, &HEADER, 0));
    int number = spool.fd;
    (void)close(number);
    int other = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(other, number);
    fill(&ring, 100);
    take(&spool, &ring, 100);
    assert_int_not_equal(spool.fd, other);
    check_file(100, 0, 1);
    ps_spool_close(&spool);
    assert_int_equal(close(other), 0); /* still the program's */
    ps_ring_drop(&ring, false);
}

/* Neither an existing file nor what a link points to is written over. */
static void no_file_of_others(void **state) {
    (void)state;
    ps_spool spool;
    char path[SCRATCH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/" PS_SPOOL_FILE, dir);
    char target[SCRATCH_BYTES + 32];
    (void)snprintf(target, sizeof target, "%s/no_such_target", dir);
    assert_int_equal(symlink(target, path), 0);
    assert_false(ps_spool_open(&spool, dir, &HEADER, 0));
    assert_int_not_equal(access(target, F_OK), 0);
    assert_false(ps_spool_open(&spool, "/proc/no/such/folder", &HEADER, 0));
    assert_true(spool.error != 0);
}

/* Whoever in the process closes another descriptor of the file, as an export does, leaves the lock as it is. */
static void lock_outlives_other_descriptors(void **state) {
    (void)state;
    ps_spool s;
    char path[SCRATCH_BYTES + 32];
    (void)snprintf(path, sizeof path, "%s/" PS_SPOOL_FILE, dir);
    assert_true(ps_spool_open(&s, dir, &HEADER, 0));
    int other = open(path, O_RDONLY);
    assert_true(other >= 0 && close(other) == 0);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    other = open(path, O_RDONLY);
    assert_true(other >= 0 && fcntl(other, F_OFD_GETLK, &whole) == 0);
    assert_int_equal(whole.l_type, F_WRLCK);
    assert_int_equal(close(other), 0);
    ps_spool_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(blocks_in_a_file, scratch_setup, scratch_teardown),
        cmocka_unit_test(blocks_in_memory),
        cmocka_unit_test(memory_used_up),
        cmocka_unit_test_setup_teardown(disk_full_and_room_again, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(disk_full_blocks_wait, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(a_limit_for_the_file, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(descriptor_taken_away, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(no_file_of_others, scratch_setup, scratch_teardown),
        cmocka_unit_test_setup_teardown(lock_outlives_other_descriptors, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

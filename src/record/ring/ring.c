#include "record/ring/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* By hand: signal handlers come here. */
static char *put_ring_number(char *at, uint32_t number) {
    char digits[10];
    size_t n = 0;
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0) {
        *at++ = digits[--n];
    }
    return at;
}

bool ps_ring_name(ps_ring *ring, const char *dir, uint32_t number) {
    static const char END[] = ".ring";
    memset(ring, 0, offsetof(ps_ring, path));
    ring->path[0] = '\0';
    if (dir == NULL) {
        return true;
    }
    size_t n = strlen(dir);
    if (n + sizeof "/4294967295" + sizeof END > sizeof ring->path) {
        errno = ENAMETOOLONG;
        return false;
    }
    memcpy(ring->path, dir, n);
    ring->path[n] = '/';
    memcpy(put_ring_number(ring->path + n + 1, number), END, sizeof END);
    return true;
}

/* The file with all its blocks; -1 when there is none (errno). */
static int reserve_file(const char *path, size_t bytes) {
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd < 0) {
        return -1;
    }
    int error;
    do {
        error = posix_fallocate(fd, 0, (off_t)bytes);
    } while (error == EINTR);
    if (error != 0) {
        (void)close(fd);
        (void)unlink(path);
        errno = error;
        return -1;
    }
    return fd;
}

static void *map_file(const char *path, size_t bytes) {
    int fd = reserve_file(path, bytes);
    if (fd < 0) {
        return MAP_FAILED;
    }
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    int error = errno;
    (void)close(fd);
    if (memory == MAP_FAILED) {
        (void)unlink(path);
        errno = error;
    }
    return memory;
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE                                                                        \
    23 /* Linux 5.14; before, each page takes its fault when it comes to it */
#endif

/* Enough until the writer comes; all of a ring takes a thread of the program several milliseconds. */
enum { FIRST_SLOTS = 4096 };

bool ps_ring_map(ps_ring *ring, uint32_t number, uint64_t n_slots, uint64_t session) {
    if (n_slots < 2 || (n_slots & (n_slots - 1)) != 0 || n_slots > SIZE_MAX / 2 / sizeof(ps_slot)) {
        errno = EINVAL;
        return false;
    }
    size_t bytes = PS_RING_HEADER_BYTES + (size_t)n_slots * sizeof(ps_slot);
    bool in_file = ring->path[0] != '\0';
    void *memory =
        in_file ? map_file(ring->path, bytes)
                : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    (void)madvise(memory, bytes, MADV_DONTFORK);
    ring->header = memory;
    ring->slots = (ps_slot *)(void *)((char *)memory + PS_RING_HEADER_BYTES);
    ring->mask = n_slots - 1;
    ring->mapped_bytes = bytes;
    ring->in_file = in_file;
    ps_ring_prepare(ring, FIRST_SLOTS);
    ring->header->format = PS_RECORD_FORMAT;
    ring->header->number = number;
    ring->header->n_slots = n_slots;
    ring->header->session = session;
    atomic_signal_fence(memory_order_release);
    ring->header->magic = PS_RING_MAGIC; /* last: without it the file is no ring yet */
    return true;
}

bool ps_ring_make(ps_ring *ring, const char *dir, uint32_t number, uint64_t n_slots,
                  uint64_t session) {
    return ps_ring_name(ring, dir, number) && ps_ring_map(ring, number, n_slots, session);
}

static void prepare_slots(ps_ring *ring, uint64_t first, uint64_t n) {
    uintptr_t begin = (uintptr_t)&ring->slots[first] & ~(uintptr_t)4095;
    uintptr_t end = (uintptr_t)&ring->slots[first + n];
    int error = errno;
    (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
    errno = error;
}

void ps_ring_prepare(ps_ring *ring, uint64_t n_slots) {
    uint64_t all = ring->mask + 1;
    uint64_t first = atomic_load_explicit(&ring->header->head, memory_order_relaxed) & ring->mask;
    uint64_t n = n_slots < all ? n_slots : all;
    uint64_t to_end = n < all - first ? n : all - first;
    prepare_slots(ring, first, to_end);
    if (to_end < n) {
        prepare_slots(ring, 0, n - to_end);
    }
}

void ps_ring_drop(ps_ring *ring, bool remove_file) {
    if (ring->header == NULL) {
        return;
    }
    (void)munmap(ring->header, ring->mapped_bytes);
    if (remove_file && ring->in_file) {
        (void)unlink(ring->path);
    }
    (void)ps_ring_name(ring, NULL, 0);
}

#include "links.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct ring {
    sem_t n_free;               /* slots */
    sem_t n_queued;             /* written, for the sender to hand over */
    sem_t n_full;               /* handed over, for the receiver */
    sem_t n_taken;              /* for the sender to go on */
    sem_t n_settled;            /* taken, for who queued them */
    uint64_t next_in, next_out; /* of the sender, of the receiver */
    uint64_t n_open;            /* queued and not known to be taken */
    atomic_bool is_closed;
} ring;

/* Lies at the beginning of the memory; rings, losses and the floats of all rings follow. */
typedef struct shared {
    size_t bytes;
    int n_pieces, n_microbatches, n_floats, n_steps;
    pthread_barrier_t gate;
} shared;

struct links {
    shared *s;
    ring *rings;
    double *losses;
    float *floats;
};

static void check(int failed, const char *what) {
    if (failed != 0) {
        fprintf(stderr, "example-pipeline: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static size_t n_rings(const shared *s) {
    return 2 * (size_t)s->n_pieces;
}

static size_t ring_floats(const shared *s) {
    return (size_t)s->n_microbatches * (size_t)s->n_floats;
}

/* Beginnings of the parts, in bytes, each of them on a cache line. */
typedef struct layout {
    size_t rings, losses, floats, end;
} layout;

static size_t behind(size_t at, size_t n, size_t size) {
    return (at + n * size + 63) / 64 * 64;
}

static layout layout_of(const shared *s) {
    layout at = {.rings = behind(0, 1, sizeof *s)};
    at.losses = behind(at.rings, n_rings(s), sizeof(ring));
    at.floats = behind(at.losses, (size_t)s->n_steps, sizeof(double));
    at.end = behind(at.floats, n_rings(s) * ring_floats(s), sizeof(float));
    return at;
}

static links *map(int fd, size_t bytes) {
    links *l = calloc(1, sizeof *l);
    check(l == NULL, "no memory");
    l->s = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    check(l->s == MAP_FAILED, "mapping the shared memory");
    return l;
}

static void find_parts(links *l) {
    layout at = layout_of(l->s);
    char *begin = (char *)l->s;
    l->rings = (ring *)(begin + at.rings);
    l->losses = (double *)(begin + at.losses);
    l->floats = (float *)(begin + at.floats);
}

links *links_create(int n_processes, int n_pieces, int n_microbatches, int n_floats, int n_steps,
                    int *fd) {
    shared s = {.n_pieces = n_pieces,
                .n_microbatches = n_microbatches,
                .n_floats = n_floats,
                .n_steps = n_steps};
    s.bytes = layout_of(&s).end;
    *fd = memfd_create("example-pipeline", 0);
    check(*fd < 0 || ftruncate(*fd, (off_t)s.bytes) != 0, "making the shared memory");
    links *l = map(*fd, s.bytes);
    *l->s = s;
    find_parts(l);
    pthread_barrierattr_t among_processes;
    errno = pthread_barrierattr_init(&among_processes);
    check(errno, "making the gate");
    pthread_barrierattr_setpshared(&among_processes, PTHREAD_PROCESS_SHARED);
    errno = pthread_barrier_init(&l->s->gate, &among_processes, (unsigned)n_processes);
    check(errno, "making the gate");
    pthread_barrierattr_destroy(&among_processes);
    for (size_t i = 0; i < n_rings(&s); i++) {
        ring *r = &l->rings[i];
        check(sem_init(&r->n_free, 1, (unsigned)n_microbatches), "making a ring");
        sem_t *const empty[] = {&r->n_queued, &r->n_full, &r->n_taken, &r->n_settled};
        for (size_t k = 0; k < sizeof empty / sizeof *empty; k++) {
            check(sem_init(empty[k], 1, 0), "making a ring");
        }
    }
    return l;
}

links *links_open(int fd) {
    struct stat file;
    check(fstat(fd, &file), "finding the shared memory");
    links *l = map(fd, (size_t)file.st_size);
    find_parts(l);
    return l;
}

void links_close(links *l) {
    munmap(l->s, l->s->bytes);
    free(l);
}

void links_gate(links *l) {
    pthread_barrier_wait(&l->s->gate);
}

double *links_losses(links *l) {
    return l->losses;
}

static ring *ring_of(const links *l, direction d, int front_piece) {
    return &l->rings[2 * front_piece + (int)d];
}

static float *slot(const links *l, const ring *r, uint64_t number) {
    size_t first = (size_t)(r - l->rings) * ring_floats(l->s);
    size_t at = (size_t)(number % (uint64_t)l->s->n_microbatches);
    return l->floats + first + at * (size_t)l->s->n_floats;
}

static void wait_for(sem_t *semaphore) {
    while (sem_wait(semaphore) != 0) {
        check(errno != EINTR, "waiting for a neighbour");
    }
}

static void tell(sem_t *semaphore) {
    check(sem_post(semaphore), "telling a neighbour");
}

void links_queue(links *l, direction d, int front_piece, const float *floats) {
    ring *r = ring_of(l, d, front_piece);
    wait_for(&r->n_free);
    memcpy(slot(l, r, r->next_in++), floats, (size_t)l->s->n_floats * sizeof *floats);
    r->n_open++;
    tell(&r->n_queued);
}

bool links_next(links *l, direction d, int front_piece) {
    ring *r = ring_of(l, d, front_piece);
    wait_for(&r->n_queued);
    return !atomic_load(&r->is_closed);
}

void links_hand_over(links *l, direction d, int front_piece) {
    ring *r = ring_of(l, d, front_piece);
    tell(&r->n_full);
    wait_for(&r->n_taken);
    tell(&r->n_settled);
}

void links_settle(links *l, direction d, int front_piece) {
    ring *r = ring_of(l, d, front_piece);
    for (; r->n_open > 0; r->n_open--) {
        wait_for(&r->n_settled);
    }
}

void links_close_ring(links *l, direction d, int front_piece) {
    ring *r = ring_of(l, d, front_piece);
    atomic_store(&r->is_closed, true);
    tell(&r->n_queued);
}

void links_receive(links *l, direction d, int front_piece, float *floats) {
    ring *r = ring_of(l, d, front_piece);
    wait_for(&r->n_full);
    memcpy(floats, slot(l, r, r->next_out++), (size_t)l->s->n_floats * sizeof *floats);
    tell(&r->n_free);
    tell(&r->n_taken);
}

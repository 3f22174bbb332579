#include "base/pages_ahead.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/alloc.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/* AHEAD_BYTES of an array are ready before those that are filled; it is asked for more once half of them are. Smaller arrays are
 * soon filled. */
enum { N_RANGES = 64, PAGE_BYTES = 4096 };
#define AHEAD_BYTES ((size_t)4 << 20)

typedef struct page_range {
    uintptr_t begin;
    size_t n_bytes;
} page_range;

struct ps_pages_ahead {
    pthread_t thread;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t changed;
    page_range ranges[N_RANGES]; /* a ring */
    size_t first, n;
    bool stop, has_thread, no_thread;
};

/* What is not there any more, or can not be made ready, is left alone. */
static void *make_ready(void *context) {
    ps_pages_ahead *p = context;
    (void)pthread_mutex_lock(&p->lock);
    while (!p->stop) {
        if (p->n == 0) {
            (void)pthread_cond_wait(&p->changed, &p->lock);
            continue;
        }
        page_range range = p->ranges[p->first];
        p->first = (p->first + 1) % N_RANGES;
        p->n--;
        (void)pthread_mutex_unlock(&p->lock);
        (void)madvise((void *)range.begin, range.n_bytes, MADV_POPULATE_WRITE); /* NOLINT */
        (void)pthread_mutex_lock(&p->lock);
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

ps_pages_ahead *ps_pages_ahead_new(void) {
    ps_pages_ahead *p = ps_calloc(1, sizeof *p);
    if (p != NULL) {
        (void)pthread_mutex_init(&p->lock, NULL);
        (void)pthread_cond_init(&p->changed, NULL);
    }
    return p;
}

void ps_pages_ahead_free(ps_pages_ahead *p) {
    if (p == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&p->lock);
    p->stop = true;
    (void)pthread_cond_broadcast(&p->changed);
    (void)pthread_mutex_unlock(&p->lock);
    if (p->has_thread) {
        (void)pthread_join(p->thread, NULL);
    }
    (void)pthread_cond_destroy(&p->changed);
    (void)pthread_mutex_destroy(&p->lock);
    ps_free(p);
}

/* Whole pages of it; what finds no room waits for nobody. */
static void ask_for_pages(ps_pages_ahead *p, const void *begin, size_t from, size_t to) {
    uintptr_t first = ((uintptr_t)begin + from) / PAGE_BYTES * PAGE_BYTES;
    uintptr_t end = ((uintptr_t)begin + to) / PAGE_BYTES * PAGE_BYTES;
    if (!p->has_thread && !p->no_thread) {
        p->has_thread = pthread_create(&p->thread, NULL, make_ready, p) == 0;
        p->no_thread = !p->has_thread;
    }
    (void)pthread_mutex_lock(&p->lock);
    if (p->has_thread && p->n < N_RANGES && end > first) {
        p->ranges[(p->first + p->n++) % N_RANGES] = (page_range){first, end - first};
        (void)pthread_cond_signal(&p->changed);
    }
    (void)pthread_mutex_unlock(&p->lock);
}

void ps_pages_ahead_of(ps_pages_ahead *p, ps_filled_array *array, const void *begin,
                       size_t used_bytes, size_t cap_bytes) {
    if (p == NULL || used_bytes < AHEAD_BYTES / 2) {
        return;
    }
    if (array->begin != begin || array->asked_bytes < used_bytes) {
        *array = (ps_filled_array){begin, used_bytes};
    }
    size_t left = cap_bytes - used_bytes;
    size_t want = used_bytes + (left < AHEAD_BYTES ? left : AHEAD_BYTES);
    if (want - array->asked_bytes >= AHEAD_BYTES / 2 ||
        (want == cap_bytes && array->asked_bytes < want)) {
        ask_for_pages(p, begin, array->asked_bytes, want);
        array->asked_bytes = want;
    }
}

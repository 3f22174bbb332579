#include "base/threads.h"

#include <locale.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "base/alloc.h"

typedef struct job {
    atomic_size_t next;
    size_t n;
    ps_item_fn *fn;
    void *context;
    locale_t locale; /* of the caller: how its numbers are written */
} job;

static void *thread_work(void *arg) {
    job *j = arg;
    (void)uselocale(j->locale);
    for (;;) {
        size_t item = atomic_fetch_add(&j->next, 1);
        if (item >= j->n) {
            return NULL;
        }
        j->fn(j->context, item);
    }
}

size_t ps_threads_each(size_t n_threads, size_t n) {
    size_t each = n > 1 ? n_threads / n : n_threads;
    return n_threads > 0 && each == 0 ? 1 : each;
}

size_t ps_n_processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0) {
        return (size_t)CPU_COUNT(&set);
    }
    return 1;
}

void ps_parallel(size_t n, size_t n_threads, ps_item_fn *fn, void *context) {
    if (n_threads == 0) {
        n_threads = ps_n_processors();
    }
    if (n_threads > n) {
        n_threads = n;
    }
    job j = {.n = n, .fn = fn, .context = context, .locale = uselocale((locale_t)0)};
    size_t n_started = 0;
    pthread_t *threads = n_threads > 1 ? ps_calloc(n_threads - 1, sizeof *threads) : NULL;
    while (threads != NULL && n_started + 1 < n_threads &&
           pthread_create(&threads[n_started], NULL, thread_work, &j) == 0) {
        n_started++;
    }
    thread_work(&j);
    for (size_t i = 0; i < n_started; i++) {
        (void)pthread_join(threads[i], NULL);
    }
    ps_free(threads);
}

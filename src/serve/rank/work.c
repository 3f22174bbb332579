#include "serve/rank/work.h"

#include <pthread.h>
#include <time.h>

#include "base/alloc.h"

enum { MAX_THREADS = 64 };

struct ps_work {
    pthread_mutex_t lock;
    pthread_cond_t come;  /* a job, or the end */
    pthread_cond_t quiet; /* a job has ended */
    ps_job *first, *last;
    size_t n_running;
    bool is_closed; /* takes no more jobs */
    bool is_over;   /* threads end */
    size_t n_threads;
    pthread_t threads[MAX_THREADS];
};

static ps_job *take_job(ps_work *w) {
    ps_job *job = w->first;
    if (job != NULL) {
        w->first = job->next;
        w->last = w->first != NULL ? w->last : NULL;
    }
    return job;
}

static void *worker(void *context) {
    ps_work *w = context;
    (void)pthread_mutex_lock(&w->lock);
    while (!w->is_over) {
        ps_job *job = take_job(w);
        if (job == NULL) {
            (void)pthread_cond_wait(&w->come, &w->lock);
            continue;
        }
        w->n_running++;
        (void)pthread_mutex_unlock(&w->lock);
        job->run(job);
        (void)pthread_mutex_lock(&w->lock);
        w->n_running--;
        (void)pthread_cond_broadcast(&w->quiet);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return NULL;
}

ps_work *ps_work_new(size_t n_threads) {
    ps_work *w = ps_calloc(1, sizeof *w);
    if (w == NULL) {
        return NULL;
    }
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&w->lock, NULL);
    (void)pthread_cond_init(&w->come, NULL);
    (void)pthread_cond_init(&w->quiet, &attr);
    (void)pthread_condattr_destroy(&attr);
    n_threads = n_threads < MAX_THREADS ? n_threads : MAX_THREADS;
    while (w->n_threads < n_threads &&
           pthread_create(&w->threads[w->n_threads], NULL, worker, w) == 0) {
        w->n_threads++;
    }
    if (w->n_threads == 0) {
        ps_work_free(w);
        return NULL;
    }
    return w;
}

bool ps_work_add(ps_work *w, ps_job *job) {
    job->next = NULL;
    (void)pthread_mutex_lock(&w->lock);
    bool is_taken = !w->is_closed;
    if (is_taken) {
        *(w->last != NULL ? &w->last->next : &w->first) = job;
        w->last = job;
        (void)pthread_cond_signal(&w->come);
    }
    (void)pthread_mutex_unlock(&w->lock);
    return is_taken;
}

static struct timespec in_ms(int ms) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    t.tv_sec += ms / 1000;
    t.tv_nsec += (long)(ms % 1000) * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

bool ps_work_stop(ps_work *w, int patience_ms) {
    struct timespec end = in_ms(patience_ms);
    (void)pthread_mutex_lock(&w->lock);
    w->is_closed = true;
    while ((w->n_running > 0 || w->first != NULL) &&
           pthread_cond_timedwait(&w->quiet, &w->lock, &end) == 0) {
    }
    ps_job *left = w->first;
    w->first = NULL;
    w->last = NULL;
    bool is_quiet = w->n_running == 0;
    w->is_over = true;
    (void)pthread_cond_broadcast(&w->come);
    (void)pthread_mutex_unlock(&w->lock);
    while (left != NULL) {
        ps_job *next = left->next; /* the job may be gone once it was dropped */
        left->drop(left);
        left = next;
    }
    for (size_t i = 0; is_quiet && i < w->n_threads; i++) {
        (void)pthread_join(w->threads[i], NULL);
    }
    return is_quiet;
}

void ps_work_free(ps_work *w) {
    if (w != NULL) {
        (void)pthread_cond_destroy(&w->come);
        (void)pthread_cond_destroy(&w->quiet);
        (void)pthread_mutex_destroy(&w->lock);
        ps_free(w);
    }
}

#include "serve/rank/job_queue.h"

#include <pthread.h>
#include <time.h>

#include "base/alloc.h"

enum { MAX_THREADS = 64 };

struct ps_job_queue {
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

static ps_job *take_job(ps_job_queue *q) {
    ps_job *job = q->first;
    if (job != NULL) {
        q->first = job->next;
        q->last = q->first != NULL ? q->last : NULL;
    }
    return job;
}

static void *worker(void *context) {
    ps_job_queue *q = context;
    (void)pthread_mutex_lock(&q->lock);
    while (!q->is_over) {
        ps_job *job = take_job(q);
        if (job == NULL) {
            (void)pthread_cond_wait(&q->come, &q->lock);
            continue;
        }
        q->n_running++;
        (void)pthread_mutex_unlock(&q->lock);
        job->run(job);
        (void)pthread_mutex_lock(&q->lock);
        q->n_running--;
        (void)pthread_cond_broadcast(&q->quiet);
    }
    (void)pthread_mutex_unlock(&q->lock);
    return NULL;
}

ps_job_queue *ps_job_queue_new(size_t n_threads) {
    ps_job_queue *q = ps_calloc(1, sizeof *q);
    if (q == NULL) {
        return NULL;
    }
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&q->lock, NULL);
    (void)pthread_cond_init(&q->come, NULL);
    (void)pthread_cond_init(&q->quiet, &attr);
    (void)pthread_condattr_destroy(&attr);
    n_threads = n_threads < MAX_THREADS ? n_threads : MAX_THREADS;
    while (q->n_threads < n_threads &&
           pthread_create(&q->threads[q->n_threads], NULL, worker, q) == 0) {
        q->n_threads++;
    }
    if (q->n_threads == 0) {
        ps_job_queue_free(q);
        return NULL;
    }
    return q;
}

bool ps_job_queue_add(ps_job_queue *q, ps_job *job) {
    job->next = NULL;
    (void)pthread_mutex_lock(&q->lock);
    bool is_taken = !q->is_closed;
    if (is_taken) {
        *(q->last != NULL ? &q->last->next : &q->first) = job;
        q->last = job;
        (void)pthread_cond_signal(&q->come);
    }
    (void)pthread_mutex_unlock(&q->lock);
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

bool ps_job_queue_stop(ps_job_queue *q, int patience_ms) {
    struct timespec end = in_ms(patience_ms);
    (void)pthread_mutex_lock(&q->lock);
    q->is_closed = true;
    while ((q->n_running > 0 || q->first != NULL) &&
           pthread_cond_timedwait(&q->quiet, &q->lock, &end) == 0) {
    }
    ps_job *left = q->first;
    q->first = NULL;
    q->last = NULL;
    bool is_quiet = q->n_running == 0;
    q->is_over = true;
    (void)pthread_cond_broadcast(&q->come);
    (void)pthread_mutex_unlock(&q->lock);
    while (left != NULL) {
        ps_job *next = left->next; /* the job may be gone once it was dropped */
        left->drop(left);
        left = next;
    }
    for (size_t i = 0; is_quiet && i < q->n_threads; i++) {
        (void)pthread_join(q->threads[i], NULL);
    }
    return is_quiet;
}

void ps_job_queue_free(ps_job_queue *q) {
    if (q != NULL) {
        (void)pthread_cond_destroy(&q->come);
        (void)pthread_cond_destroy(&q->quiet);
        (void)pthread_mutex_destroy(&q->lock);
        ps_free(q);
    }
}

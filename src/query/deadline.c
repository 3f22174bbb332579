#include "query/deadline.h"

#include <time.h>

static void *wait_for_end(void *context) {
    ps_deadline *d = context;
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += d->seconds;
    (void)pthread_mutex_lock(&d->lock);
    int status = 0;
    while (!d->is_done && status == 0) {
        status = pthread_cond_timedwait(&d->done, &d->lock, &end);
    }
    if (!d->is_done) {
        d->watch->stop = true;
        if (d->db != NULL) {
            sqlite3_interrupt(d->db);
        }
    }
    (void)pthread_mutex_unlock(&d->lock);
    return NULL;
}

bool ps_deadline_begin(ps_deadline *d, int64_t seconds, sqlite3 *db, ps_watch *watch) {
    *d = (ps_deadline){.seconds = seconds, .db = db, .watch = watch};
    if (seconds <= 0) {
        return true;
    }
    pthread_condattr_t by_clock;
    (void)pthread_condattr_init(&by_clock);
    (void)pthread_condattr_setclock(&by_clock, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&d->lock, NULL);
    (void)pthread_cond_init(&d->done, &by_clock);
    (void)pthread_condattr_destroy(&by_clock);
    d->is_running = pthread_create(&d->thread, NULL, wait_for_end, d) == 0;
    if (!d->is_running) {
        (void)pthread_cond_destroy(&d->done);
        (void)pthread_mutex_destroy(&d->lock);
    }
    return d->is_running;
}

void ps_deadline_end(ps_deadline *d) {
    if (d->is_running) {
        (void)pthread_mutex_lock(&d->lock);
        d->is_done = true;
        (void)pthread_cond_signal(&d->done);
        (void)pthread_mutex_unlock(&d->lock);
        (void)pthread_join(d->thread, NULL);
        (void)pthread_cond_destroy(&d->done);
        (void)pthread_mutex_destroy(&d->lock);
        d->is_running = false;
    }
}

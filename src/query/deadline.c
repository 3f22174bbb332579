#include "query/deadline.h"

#include <time.h>

/* How often it is asked whether somebody still waits. */
enum { LOOK_NS = 50000000, NS_PER_S = 1000000000 };

static bool is_before(const struct timespec *a, const struct timespec *b) {
    return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* The end, or the next look before it. */
static struct timespec next_look(const ps_deadline *d, const struct timespec *end) {
    struct timespec look;
    (void)clock_gettime(CLOCK_MONOTONIC, &look);
    look.tv_nsec += LOOK_NS;
    look.tv_sec += look.tv_nsec / NS_PER_S;
    look.tv_nsec %= NS_PER_S;
    bool is_sooner = d->asker != NULL && (d->seconds <= 0 || is_before(&look, end));
    return is_sooner ? look : *end;
}

static void *wait_for_end(void *context) {
    ps_deadline *d = context;
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += d->seconds;
    (void)pthread_mutex_lock(&d->lock);
    bool is_over = false;
    while (!d->is_done && !is_over) {
        struct timespec until = next_look(d, &end);
        bool is_time = pthread_cond_timedwait(&d->done, &d->lock, &until) != 0;
        is_over = (d->asker != NULL && d->asker->stop) ||
                  (is_time && d->seconds > 0 && !is_before(&until, &end));
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
    return ps_deadline_begin_for(d, seconds, db, watch, NULL);
}

bool ps_deadline_begin_for(ps_deadline *d, int64_t seconds, sqlite3 *db, ps_watch *watch,
                           const ps_watch *asker) {
    *d = (ps_deadline){.seconds = seconds, .db = db, .watch = watch, .asker = asker};
    if (seconds <= 0 && asker == NULL) {
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

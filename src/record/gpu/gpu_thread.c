/* One block a thread. Blocks are never freed: a late ps_gpu_thread_ask may still hold one. The block of a thread that ended is
 * used for the next; that of a thread which was given up stays with it. */
#include "record/gpu/gpu_thread.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "base/alloc.h"

typedef struct helper {
    void (*work)(uint32_t);
    uint32_t let_go; /* what it is asked last when it was given up */
    sem_t wake;
    _Atomic uint32_t wishes;
    atomic_bool given_up;
    pthread_mutex_t lock;
    pthread_cond_t done;
    uint64_t asked, answered; /* of ps_gpu_thread_do, under the lock */
    bool stop, ended;
    pthread_t thread;
    struct helper *older; /* all blocks there are */
} helper;

static helper *_Atomic current;
static helper *newest, *spare; /* of those who start and stop: one at a time */
static _Thread_local helper *mine;

static helper *helper_new(void) {
    helper *h = spare;
    if (h == NULL) {
        h = ps_calloc(1, sizeof *h);
        if (h == NULL) {
            return NULL;
        }
        (void)sem_init(&h->wake, 0, 0);
        (void)pthread_mutex_init(&h->lock, NULL);
        pthread_condattr_t attr;
        (void)pthread_condattr_init(&attr);
        (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
        (void)pthread_cond_init(&h->done, &attr);
        (void)pthread_condattr_destroy(&attr);
        h->older = newest;
        newest = h;
    }
    spare = NULL;
    h->stop = h->ended = false;
    atomic_store(&h->wishes, 0);
    return h;
}

static void *helper_main(void *context) {
    helper *h = context;
    mine = h;
    for (bool stop = false; !stop;) {
        while (sem_wait(&h->wake) != 0 && errno == EINTR) {
        }
        (void)pthread_mutex_lock(&h->lock);
        uint64_t asked = h->asked;
        stop = h->stop;
        (void)pthread_mutex_unlock(&h->lock);
        uint32_t wishes = atomic_exchange(&h->wishes, 0);
        if (wishes != 0 && !atomic_load(&h->given_up)) {
            h->work(wishes);
        }
        (void)pthread_mutex_lock(&h->lock);
        h->answered = asked;
        h->ended = stop;
        stop = stop || atomic_load(&h->given_up);
        (void)pthread_cond_broadcast(&h->done);
        (void)pthread_mutex_unlock(&h->lock);
    }
    if (atomic_load(&h->given_up)) {
        h->work(h->let_go);
        (void)pthread_detach(pthread_self());
    }
    return NULL;
}

bool ps_gpu_thread_start(void (*work)(uint32_t), uint32_t let_go) {
    helper *h = helper_new();
    if (h == NULL) {
        return false;
    }
    h->work = work;
    h->let_go = let_go;
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&h->thread, NULL, helper_main, h);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (failed != 0) {
        spare = h;
        return false;
    }
    (void)pthread_setname_np(h->thread, "pipescope-gpu");
    atomic_store(&current, h);
    return true;
}

void ps_gpu_thread_ask(uint32_t wishes) {
    helper *h = atomic_load(&current);
    if (h != NULL && (atomic_fetch_or(&h->wishes, wishes) & wishes) != wishes) {
        (void)sem_post(&h->wake);
    }
}

/* Under the lock; false when the time is over. */
static bool wait_answer(helper *h, uint64_t number, bool end, unsigned timeout_ms) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += timeout_ms / 1000;
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    if (until.tv_nsec >= 1000000000) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000;
    }
    while (end ? !h->ended : h->answered < number) {
        if (pthread_cond_timedwait(&h->done, &h->lock, &until) != 0) {
            return end ? h->ended : h->answered >= number;
        }
    }
    return true;
}

static bool ask_and_wait(helper *h, uint32_t wishes, bool end, unsigned timeout_ms) {
    (void)pthread_mutex_lock(&h->lock);
    uint64_t number = ++h->asked;
    h->stop = h->stop || end;
    (void)atomic_fetch_or(&h->wishes, wishes);
    (void)sem_post(&h->wake);
    bool ok = wait_answer(h, number, end, timeout_ms);
    if (!ok) {
        atomic_store(&current, NULL);
        atomic_store(&h->given_up, true);
    }
    (void)pthread_mutex_unlock(&h->lock);
    return ok;
}

bool ps_gpu_thread_do(uint32_t wishes, unsigned timeout_ms) {
    helper *h = atomic_load(&current);
    return h != NULL && ask_and_wait(h, wishes, false, timeout_ms);
}

bool ps_gpu_thread_given_up(void) {
    return mine != NULL && atomic_load(&mine->given_up);
}

bool ps_gpu_thread_running(void) {
    return atomic_load(&current) != NULL;
}

bool ps_gpu_thread_stop(unsigned timeout_ms) {
    helper *h = atomic_load(&current);
    if (h == NULL) {
        return true;
    }
    if (!ask_and_wait(h, 0, true, timeout_ms)) {
        return false;
    }
    atomic_store(&current, NULL);
    (void)pthread_join(h->thread, NULL);
    spare = h;
    return true;
}

void ps_gpu_thread_forget(void) {
    /* The block stays behind: its lock may be held by a thread that does not exist here. */
    atomic_store(&current, NULL);
    spare = NULL;
}

/* What happens to the process, as opposed to the program: it loads the library, forks, ends.
 *
 * The word that says whether anything is recorded lies on a page that the kernel gives to a child as zeros (MADV_WIPEONFORK):
 * a child is silent from its first instruction on, however it was made. A second word on that page tells us so too when no
 * fork handler ran (a raw clone without CLONE_VM): what this library knew belongs to the parent then.
 *
 * No signal handlers: a program killed by a signal leaves its rings and raw files, which `pipescope record --recover` reads. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "record/core/device.h"
#include "record/core/domains.h"
#include "record/core/events.h"
#include "record/core/threads.h"
#include "record/gpu/cuda_driver.h"
#include "record/gpu/device_choose.h"
#include "record/ring/config.h"
#include "record/ring/fork_gate.h"
#include "record/ring/log.h"
#include "record/session/self_test.h"
#include "record/session/session.h"
#include "record/session/session_parts.h"
#include "record/session/writer.h"

/* A page. `owned` is 1 in the process that mapped it and in children that have noticed that they are. */
typedef struct process_page {
    _Atomic uint32_t recording;
    _Atomic uint32_t owned;
} process_page;

enum { MAX_EXIT_HANDLERS = 8 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static process_page *_Atomic page;
static atomic_uint n_exit_handlers;
static atomic_bool exiting;

/* --- fork ------------------------------------------------------------------------------------------------------------ */

/* Short locks are taken, so that the child finds what they guard whole; the others are made anew in the child. */
static void before_fork(void) {
    ps_fork_work_hold(); /* first: who works may take the others */
    ps_facts_hold();
    ps_rec_log_hold();
    ps_rec_config_hold();
    ps_domains_hold();
    ps_fork_gate_enter(); /* last: nothing is locked inside */
}

static void release_process(bool in_child) {
    ps_fork_gate_leave();
    ps_domains_release();
    ps_rec_config_release();
    ps_rec_log_release(in_child);
    ps_facts_release();
    ps_fork_work_release();
}

static void after_fork_in_parent(void) {
    release_process(false);
}

static void forget_parent(void) {
    process_page *p = atomic_load(&page);
    const ps_rec_device *device = atomic_load(&ps_device);
    atomic_store(ps_recording, 0);
    if (device->forget != NULL) {
        device->forget();
    }
    atomic_store(&ps_device, &ps_device_host);
    ps_cuda_driver_forget();
    ps_fork_gate_forget();
    ps_rec_log_forget();
    ps_rec_config_forget();
    ps_writer_forget();
    ps_self_test_forget();
    ps_threads_forget();
    ps_domains_forget();
    ps_facts_forget();
    ps_steps_forget();
    ps_session_forget();
    atomic_store(&exiting, false);
    if (p != NULL) {
        atomic_store(&p->owned, 1);
    }
}

static void begin_automatically(void) {
    int64_t first = 0;
    int64_t window_end = 0;
    /* A window begins by itself, with its first step. */
    if (ps_rec_config_is_on("record") && !ps_rec_config_window(&first, &window_end)) {
        (void)ps_session_begin(PS_BY_OPTION);
    }
}

static void after_fork_in_child(void) {
    bool was_recording = ps_session_is_recording();
    release_process(true);
    bool follows = was_recording && ps_rec_config_is_on("follow_fork");
    if (was_recording && !follows) {
        ps_session_announce_fork();
    }
    forget_parent();
    if (follows) {
        (void)ps_session_begin(PS_BY_OPTION);
    }
}

/* --- exit ------------------------------------------------------------------------------------------------------------ */

typedef struct ending {
    pthread_mutex_t lock;
    pthread_cond_t done_changed;
    bool done;
} ending;

/* Static: a helper that is given up goes on with it. */
static ending end = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void *finish_process(void *unused) {
    (void)unused;
    ps_session_finish();
    (void)pthread_mutex_lock(&end.lock);
    end.done = true;
    (void)pthread_cond_broadcast(&end.done_changed);
    (void)pthread_mutex_unlock(&end.lock);
    return NULL;
}

static void say_given_up(unsigned seconds) {
    char folder[4096 + 512];
    bool any = false;
    for (unsigned i = 0; ps_session_unexported(i, folder, sizeof folder); i++) {
        ps_rec_log_error_stream("no database after %u s: pipescope record --recover %s makes it",
                                seconds, folder);
        any = true;
    }
    if (!any) {
        ps_rec_log_error_stream("no database after %u s", seconds);
    }
}

/* Waits for the helper, not longer than the option says. False when that was not enough. */
static bool wait_for(pthread_t helper, unsigned seconds) {
    struct timespec until;
    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += (time_t)seconds;
    (void)pthread_mutex_lock(&end.lock);
    int status = 0;
    while (!end.done && status == 0) {
        status = pthread_cond_timedwait(&end.done_changed, &end.lock, &until);
    }
    bool done = end.done;
    (void)pthread_mutex_unlock(&end.lock);
    if (done) {
        (void)pthread_join(helper, NULL);
    } else {
        (void)pthread_detach(helper);
        say_given_up(seconds);
    }
    return done;
}

static void at_process_exit(void) {
    process_page *p = atomic_load(&page);
    if (p != NULL && atomic_load(&p->owned) == 0) {
        return; /* a child that never asked for us */
    }
    if (atomic_exchange(&exiting, true)) {
        return;
    }
    if (!ps_session_has_work()) {
        ps_steps_at_exit();
        atomic_store(&exiting,
                     false); /* what destructors record is to be exported by the next handler */
        return;
    }
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&end.done_changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    end.done = false;
    pthread_t helper;
    sigset_t all;
    sigset_t before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all,
                          &before); /* the program's handlers are for its threads */
    bool helped = pthread_create(&helper, NULL, finish_process, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (helped) {
        if (!wait_for(helper, ps_session_exit_timeout_s())) {
            return; /* `exiting` stays: the limit holds for all handlers together */
        }
    } else {
        ps_session_finish();
    }
    atomic_store(&exiting, false);
}

void ps_process_exit_early(void) {
    if (atomic_fetch_add(&n_exit_handlers, 1) < MAX_EXIT_HANDLERS) {
        ps_fork_gate_enter(); /* on the writer thread: a child could not exit while the list is locked */
        (void)atexit(at_process_exit);
        ps_fork_gate_leave();
    }
}

/* --- beginning ------------------------------------------------------------------------------------------------------- */

static void make_page(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    process_page *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) {
        return; /* the word stays where it is; fork handlers do */
    }
    (void)madvise(p, size, MADV_WIPEONFORK); /* Linux 4.14 */
    atomic_store(&p->owned, 1);
    atomic_store(&page, p);
    ps_recording = &p->recording;
}

static void begin_process(void) {
    ps_threads_set_ring_place(ps_session_ring_place);
    make_page();
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    (void)atexit(at_process_exit);
    begin_automatically();
}

void ps_process_init(void) {
    (void)pthread_once(&once, begin_process);
    const process_page *p = atomic_load(&page);
    if (p != NULL && atomic_load(&p->owned) == 0) {
        forget_parent();
    }
}

__attribute__((constructor)) static void at_load(void) {
    ps_process_init();
}

__attribute__((destructor)) static void at_unload(void) {
    at_process_exit();
}

/* Writing on a thread of the program without its being killed: a pipe nobody reads (SIGPIPE) and a limit on the size of files
 * (SIGXFSZ) are errors to us, not signals. */
#ifndef PS_RECORD_SIGNAL_MASK_H
#define PS_RECORD_SIGNAL_MASK_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

typedef struct ps_signal_mask {
    sigset_t before;
    bool pipe_was_pending, size_was_pending;
} ps_signal_mask;

static inline ps_signal_mask ps_signal_mask_begin(void) {
    ps_signal_mask c;
    sigset_t pending;
    sigset_t both;
    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGPIPE);
    (void)sigaddset(&both, SIGXFSZ);
    (void)sigpending(&pending);
    c.pipe_was_pending = sigismember(&pending, SIGPIPE) == 1;
    c.size_was_pending = sigismember(&pending, SIGXFSZ) == 1;
    (void)pthread_sigmask(SIG_BLOCK, &both, &c.before);
    return c;
}

static inline void ps_signal_mask_end(const ps_signal_mask *c) {
    int saved = errno;
    sigset_t ours;
    (void)sigemptyset(&ours);
    if (!c->pipe_was_pending) {
        (void)sigaddset(&ours, SIGPIPE);
    }
    if (!c->size_was_pending) {
        (void)sigaddset(&ours, SIGXFSZ);
    }
    const struct timespec at_once = {0};
    while (sigtimedwait(&ours, NULL, &at_once) > 0) {
    }
    (void)pthread_sigmask(SIG_SETMASK, &c->before, NULL);
    errno = saved;
}

#endif

#include "base/child.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/publish.h"
#include "base/spill.h"

enum {
    SAID = 2048,        /* bytes of what the child printed that are looked at */
    LOOK_EVERY_MS = 50, /* whether a signal has come */
    EXIT_ORPHAN = 1,
    EXIT_SHARED = 2 /* its memory would be its parent's */
};

/* In memory that both processes see. */
typedef struct ps_child_shared {
    bool has_ended;
    int64_t n_allocations;
    _Alignas(max_align_t) char answer[];
} shared;

/* --- the child -------------------------------------------------------------------------------------------------------------- */

/* Whoever kills the parent means both; one that was killed before we could say so is noticed. */
static void end_with_parent(pid_t parent) {
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(EXIT_ORPHAN);
    }
}

static void run_child(ps_child_fn *work, void *context, shared *s, int said, pid_t parent) {
    const struct rlimit none = {0, 0};
    int64_t before = ps_alloc_count();
    end_with_parent(parent);
    ps_unfinished_forget();
    if (!ps_spill_leave()) {
        _exit(EXIT_SHARED);
    }
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)dup2(said, STDERR_FILENO);
    work(context, s->answer);
    s->n_allocations = ps_alloc_count() - before;
    s->has_ended = true;
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------------------------------------- */

#ifndef NDEBUG
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HAS_THREAD_OF_SANITIZER 1
#endif
#endif
#if defined(__SANITIZE_THREAD__) && !defined(HAS_THREAD_OF_SANITIZER)
#define HAS_THREAD_OF_SANITIZER 1
#endif
#ifndef HAS_THREAD_OF_SANITIZER
#define HAS_THREAD_OF_SANITIZER 0
#endif

/* 0: the system does not say. */
static size_t count_threads(void) {
    size_t n = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (const struct dirent *e = tasks != NULL ? readdir(tasks) : NULL; e != NULL;
         e = readdir(tasks)) {
        n += e->d_name[0] != '.';
    }
    if (tasks != NULL) {
        (void)closedir(tasks);
    }
    return n;
}

/* One that has been joined is listed for a moment more. */
static bool is_only_thread(void) {
    enum { MOMENTS = 2000 };
    bool is_only = false;
    for (int i = 0; !is_only && i < MOMENTS; i++) {
        is_only = count_threads() <= 1 + HAS_THREAD_OF_SANITIZER || poll(NULL, 0, 1) > 0;
    }
    return is_only;
}
#endif

#ifdef FUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION
/* Fuzzers see faults, and which code was reached, only of their own process; they have threads besides. */
enum { IS_APART = 0 };
static pid_t start_child(ps_child_fn *work, void *context, shared *s) {
    work(context, s->answer);
    s->has_ended = true;
    return getpid();
}
#else
enum { IS_APART = 1 };
static pid_t start_child(ps_child_fn *work, void *context, shared *s) {
    (void)work;
    (void)context;
    (void)s;
    return fork();
}
#endif

static void forget_child(ps_child *c) {
    if (c->ended >= 0) {
        (void)close(c->ended);
    }
    if (c->said >= 0) {
        (void)close(c->said);
    }
    if (c->shared != NULL) {
        (void)munmap(c->shared, sizeof(shared) + c->n_answer);
    }
    *c = (ps_child){.pid = -1, .ended = -1, .said = -1};
}

/* A file without a name, for what the child prints. Asked for by number: the C library has had the name since glibc 2.27 only. Kernels
 * before 3.17 do not know it. */
static int open_nameless(void) {
#ifdef SYS_memfd_create
    int fd = (int)syscall(SYS_memfd_create, "said", 1u /* MFD_CLOEXEC */);
    if (fd >= 0 || errno != ENOSYS) {
        return fd;
    }
#endif
    char path[] = "/tmp/pipescope-said-XXXXXX";
    int file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) {
        (void)unlink(path);
    }
    return file;
}

ps_code ps_child_begin(ps_child *c, ps_child_fn *work, void *context, size_t n_answer,
                       const char *path, ps_err *err) {
    assert(!IS_APART || is_only_thread());
    *c = (ps_child){.pid = -1, .ended = -1, .said = -1, .n_answer = n_answer, .path = path};
    int pipe_ends[2] = {-1, -1};
    pid_t parent = getpid();
    void *both = mmap(NULL, sizeof(shared) + n_answer, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    c->shared = both != MAP_FAILED ? both : NULL;
    c->said = c->shared != NULL ? open_nameless() : -1;
    if (c->said >= 0 && pipe2(pipe_ends, O_CLOEXEC) == 0) {
        c->ended = pipe_ends[0];
        c->pid = start_child(work, context, c->shared);
    }
    if (c->pid == 0) {
        run_child(work, context, c->shared, c->said, parent);
    }
    if (pipe_ends[1] >= 0) {
        (void)close(pipe_ends[1]);
    }
    if (c->pid > 0) {
        return PS_OK;
    }
    forget_child(c);
    return ps_fail_file(err, PS_NOMEM, path, "there is no memory for the process that writes it");
}

size_t ps_child_wait(const ps_child *const *children, size_t n) {
    struct pollfd ends[PS_MAX_CHILDREN];
    for (size_t i = 0; i < n; i++) {
        ends[i] = (struct pollfd){.fd = children[i]->ended, .events = POLLIN};
    }
    int n_ended = 0;
    do {
        for (size_t i = 0; i < n && ps_unfinished_is_ended(); i++) {
            (void)kill(children[i]->pid, SIGKILL);
        }
        n_ended = poll(ends, n, LOOK_EVERY_MS);
    } while (n_ended == 0 || (n_ended < 0 && errno == EINTR));
    size_t i = 0;
    while (n_ended > 0 && i < n - 1 && ends[i].revents == 0) {
        i++;
    }
    return i;
}

/* -1: not known, since nobody keeps the statuses of children here. */
static int wait_for_child(pid_t child) {
    int status = -1;
    pid_t got = 0;
    do {
        got = waitpid(child, &status, 0);
    } while (got < 0 && errno == EINTR);
    return got == child ? status : -1;
}

/* The first line in which it complains, or NULL. */
static const char *find_complaint(char *said, const char *complaint) {
    char *at = complaint != NULL ? strstr(said, complaint) : NULL;
    char *end = at != NULL ? strchr(at, '\n') : NULL;
    if (end != NULL) {
        *end = '\0';
    }
    return at;
}

static ps_code judge_child(const shared *s, int status, char *said, const char *complaint,
                           const char *path, ps_err *err) {
    const char *line = find_complaint(said, complaint);
    if (s->has_ended && line == NULL) {
        return PS_OK;
    }
    if (line != NULL) {
        return ps_fail_file(err, PS_IO, path, "cannot write the file: %s", line);
    }
    bool is_signal = status != -1 && WIFSIGNALED(status);
    return ps_fail_file(
        err, PS_IO, path,
        "cannot write the file: the library that does it crashed (%s %d), as it does "
        "when memory runs out",
        is_signal ? "signal" : "status", is_signal ? WTERMSIG(status) : WEXITSTATUS(status));
}

ps_code ps_child_end(ps_child *c, void *answer, const char *complaint, ps_err *err) {
    char text[SAID + 1];
    int status = wait_for_child(c->pid);
    ssize_t got = pread(c->said, text, SAID, 0);
    text[got > 0 ? got : 0] = '\0';
    ps_alloc_count_more(c->shared->n_allocations);
    ps_code code = judge_child(c->shared, status, text, complaint, c->path, err);
    if (code == PS_OK) {
        memcpy(answer, c->shared->answer, c->n_answer);
    }
    forget_child(c);
    return code;
}

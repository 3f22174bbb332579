#include "base/child.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"

enum { SAID = 2048 }; /* bytes of what the child printed that are looked at */

/* In memory that both processes see. */
typedef struct shared {
    bool has_ended;
    int64_t n_allocations;
    _Alignas(max_align_t) char answer[];
} shared;

/* --- the child -------------------------------------------------------------------------------------------------------------- */

static void run_child(ps_child_fn *work, void *context, shared *s, int said) {
    const struct rlimit none = {0, 0};
    int64_t before = ps_alloc_count();
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* whoever kills the parent means both */
    (void)setrlimit(RLIMIT_CORE, &none);
    (void)dup2(said, STDERR_FILENO);
    work(context, s->answer);
    s->n_allocations = ps_alloc_count() - before;
    s->has_ended = true;
    _exit(0);
}

/* --- the parent ------------------------------------------------------------------------------------------------------------- */

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

ps_code ps_child_run(ps_child_fn *work, void *context, void *answer, size_t n,
                     const char *complaint, const char *path, ps_err *err) {
    size_t size = sizeof(shared) + n;
    shared *s = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int said = s != MAP_FAILED ? memfd_create("said", MFD_CLOEXEC) : -1;
    pid_t child = said >= 0 ? fork() : -1;
    if (child == 0) {
        run_child(work, context, s, said);
    }
    ps_code code = child > 0 ? PS_OK
                             : ps_fail_file(err, PS_NOMEM, path,
                                            "there is no memory for the process that writes it");
    if (code == PS_OK) {
        char text[SAID + 1];
        int status = wait_for_child(child);
        ssize_t got = pread(said, text, SAID, 0);
        text[got > 0 ? got : 0] = '\0';
        ps_alloc_count_more(s->n_allocations);
        code = judge_child(s, status, text, complaint, path, err);
    }
    if (code == PS_OK) {
        memcpy(answer, s->answer, n);
    }
    if (said >= 0) {
        (void)close(said);
    }
    if (s != MAP_FAILED) {
        (void)munmap(s, size);
    }
    return code;
}

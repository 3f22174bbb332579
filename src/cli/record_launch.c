/* Between fork and the child's end all signals of interest are blocked and fetched one by one, so there are no handlers and
 * nothing interrupts anything.
 *
 * Which signals the command has already got: the terminal driver sends to the whole foreground group, the command included; such
 * signals say SI_KERNEL. Those of kill(2) say who sent them; what the command or a descendant of it sends (`kill 0` in
 * a script's trap) is not turned against it. */
#include "cli/record_launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/num.h"

static const int PASSED[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP, SIGCONT};

typedef struct launch {
    pid_t child;
    sigset_t before, fetched;
    struct sigaction child_action; /* of SIGCHLD, as we found it */
    bool held;                     /* the signals are fetched */
    bool stopping;                 /* somebody asked for a stop, and no continue came since */
    int status;                    /* of waitpid */
    bool ended;
} launch;

/* --- /proc ---------------------------------------------------------------------------------------------------------- */

/* State letter and parent of a process; false when it is gone. */
static bool process_facts(pid_t pid, char *state, pid_t *parent) {
    char path[64];
    char text[512];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0) {
        (void)close(fd);
    }
    text[n > 0 ? n : 0] = '\0';
    /* "12 (name, which may hold anything) S 11 ..." */
    const char *p = strrchr(text, ')');
    int64_t number = 0;
    if (p == NULL || strlen(p) < 5 || !ps_parse_i64(p + 4, strcspn(p + 4, " "), &number)) {
        return false;
    }
    *state = p[2];
    *parent = (pid_t)number;
    return true;
}

static bool is_stopped(pid_t pid) {
    char state = '\0';
    pid_t parent = 0;
    return process_facts(pid, &state, &parent) && state == 'T';
}

/* Whether `pid` is the command or descends from it. */
static bool is_of_command(const launch *l, pid_t pid) {
    for (int depth = 0; depth < 64 && pid > 1; depth++) {
        char state = '\0';
        if (pid == l->child) {
            return true;
        }
        if (!process_facts(pid, &state, &pid)) {
            return false;
        }
    }
    return false;
}

/* --- before and after ----------------------------------------------------------------------------------------------- */

/* Signals that are ignored (nohup, a script's background) stay ignored, for the command too. */
static void hold_launch_signals(launch *l) {
    (void)sigemptyset(&l->fetched);
    for (size_t i = 0; i < PS_N(PASSED); i++) {
        struct sigaction now;
        if (sigaction(PASSED[i], NULL, &now) != 0 || now.sa_handler != SIG_IGN) {
            (void)sigaddset(&l->fetched, PASSED[i]);
        }
    }
    (void)sigaddset(&l->fetched, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &l->fetched, &l->before);
    l->held = true;
    /* Ignored, it would take children's statuses away. */
    struct sigaction plain = {.sa_handler = SIG_DFL};
    (void)sigemptyset(&plain.sa_mask);
    (void)sigaction(SIGCHLD, &plain, &l->child_action);
}

/* What came in while the command ended was for the command: it shall not end us before the summary. */
static void release_launch_signals(const launch *l) {
    struct timespec now = {0};
    while (sigtimedwait(&l->fetched, NULL, &now) > 0) {
    }
    (void)sigaction(SIGCHLD, &l->child_action, NULL);
    (void)sigprocmask(SIG_SETMASK, &l->before, NULL);
}

static void become_command(const launch *l, char *const *argv, int report) {
    (void)sigaction(SIGCHLD, &l->child_action, NULL);
    (void)sigprocmask(SIG_SETMASK, &l->before, NULL);
    (void)execvp(argv[0], argv);
    int reason = errno;
    ssize_t n = write(report, &reason, sizeof reason);
    (void)n; /* the exit status says it as well */
    _exit(PS_LAUNCH_NOT_FOUND);
}

/* 0, or the errno of the exec that failed. */
static int start_launch(launch *l, char *const *argv) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) {
        return errno;
    }
    (void)fflush(NULL);
    hold_launch_signals(l);
    l->child = fork();
    int reason = errno;
    if (l->child == 0) {
        become_command(l, argv, report[1]);
    }
    (void)close(report[1]);
    if (l->child > 0) {
        ssize_t n = 0;
        do {
            n = read(report[0], &reason, sizeof reason); /* ends with the exec */
        } while (n < 0 && errno == EINTR);
        reason = n == (ssize_t)sizeof reason ? reason : 0;
    }
    (void)close(report[0]);
    if (reason != 0 && l->child > 0) {
        (void)waitpid(l->child, NULL, 0);
    }
    return reason;
}

/* --- while it runs -------------------------------------------------------------------------------------------------- */

/* Ctrl+Z: the shell waits for us to stop, not for the command. */
static void stop_with_command(launch *l, int number) {
    sigset_t pending;
    bool asked = l->stopping || (sigpending(&pending) == 0 && sigismember(&pending, SIGTSTP) == 1);
    if (number == SIGSTOP && !asked) {
        return; /* by somebody who knows it, a debugger say, and will continue it */
    }
    sigset_t one;
    (void)sigemptyset(&one);
    (void)sigaddset(&one, number);
    (void)kill(getpid(), number);
    (void)sigprocmask(SIG_UNBLOCK, &one, NULL); /* here we stop */
    (void)sigprocmask(SIG_BLOCK, &l->fetched, NULL);
}

static void look_at_children(launch *l) {
    int status = 0;
    pid_t pid = 0;
    /* All of them: as the first process of a container we also inherit orphans. */
    while (!l->ended && (pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        if (pid != l->child) {
            continue;
        }
        if (WIFSTOPPED(status)) {
            stop_with_command(l, WSTOPSIG(status));
        } else {
            l->status = status;
            l->ended = true;
        }
    }
}

static void pass_on(launch *l, const siginfo_t *info) {
    int number = info->si_signo;
    if (number == SIGCONT) {
        l->stopping = false;
        if (is_stopped(l->child)) { /* the shell's fg continues the whole group */
            (void)kill(l->child, SIGCONT);
        }
        return;
    }
    bool from_terminal = info->si_code == SI_KERNEL;
    l->stopping = l->stopping || number == SIGTSTP;
    if (!from_terminal && !(info->si_code == SI_USER && is_of_command(l, info->si_pid))) {
        (void)kill(l->child, number);
    }
}

static void wait_for_end(launch *l) {
    while (!l->ended) {
        siginfo_t info;
        int number = sigwaitinfo(&l->fetched, &info);
        if (number > 0 && number != SIGCHLD) {
            pass_on(l, &info);
        }
        look_at_children(l);
    }
}

/* --- the whole ------------------------------------------------------------------------------------------------------ */

static int say_not_run(ps_cli *cli, const char *name, int reason) {
    char text[128] = "";
    const char *why = ps_errno_text(reason, text, sizeof text);
    if (reason != ENOENT) {
        ps_cli_warn(cli, "cannot run '%s': %s", name, why);
        return PS_LAUNCH_NOT_RUN;
    }
    if (strchr(name, '/') == NULL) {
        ps_cli_warn(cli, "cannot run '%s': there is no such program in PATH", name);
    } else if (access(name, F_OK) == 0) {
        ps_cli_warn(cli, "cannot run '%s': the interpreter or loader that it names is missing",
                    name);
    } else {
        ps_cli_warn(cli, "cannot run '%s': %s", name, why);
    }
    return PS_LAUNCH_NOT_FOUND;
}

int ps_record_launch(ps_cli *cli, char *const *argv, bool *started) {
    launch l = {.child = -1};
    int reason = start_launch(&l, argv);
    *started = reason == 0;
    if (*started) {
        wait_for_end(&l);
    }
    if (l.held) {
        release_launch_signals(&l);
    }
    if (!*started) {
        return say_not_run(cli, argv[0], reason);
    }
    return WIFSIGNALED(l.status) ? PS_LAUNCH_SIGNAL + WTERMSIG(l.status) : WEXITSTATUS(l.status);
}

/* pipescope serve PATH...: the viewer. The ranks are read in the background while the page is served; the main thread shows
 * how far they are and waits for a signal to end. */
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/num.h"
#include "cli/cli.h"
#include "cli/job_options.h"
#include "cli/rank_report.h"
#include "serve/http/server.h"
#include "serve/rank/store.h"

extern char **environ;

enum { LOOK_MS = 200, FILES_WANTED = 8192 };

typedef struct service {
    ps_cli *cli;
    ps_store *store;
    ps_server *server;
    pthread_mutex_t lock;
    ps_server *
        to_notify; /* under the lock: the store may change before there is a server, and while it ends */
    ps_progress *progress;
    uint64_t steps_shown;
    size_t n_failed; /* ranks whose failure was told */
    bool *told;      /* [n_told] the ranks of the paths that were given; of others the page tells */
    size_t n_told;
} service;

static void on_change(void *context) {
    service *v = context;
    (void)pthread_mutex_lock(&v->lock);
    if (v->to_notify != NULL) {
        ps_server_notify(v->to_notify);
    }
    (void)pthread_mutex_unlock(&v->lock);
}

static void notify(service *v, ps_server *server) {
    (void)pthread_mutex_lock(&v->lock);
    v->to_notify = server;
    (void)pthread_mutex_unlock(&v->lock);
}

/* --- options --------------------------------------------------------------------------------------------------- */

/* An exit status. */
static int store_options(service *v, ps_store_opts *out) {
    ps_cli *cli = v->cli;
    *out = (ps_store_opts){
        .n_threads = (size_t)ps_cli_int(cli, "jobs"), .changed = on_change, .context = v};
    const char *memory = ps_cli_text(cli, "memory");
    int64_t max_bytes = 0;
    if (memory != NULL && !ps_parse_size(memory, &max_bytes)) {
        return ps_cli_usage(cli, "--memory wants a size such as 8G or 512M, not '%s'", memory);
    }
    out->max_bytes = (size_t)max_bytes;
    for (size_t i = 0; i < ps_cli_n_positionals(cli); i++) {
        if (strcmp(ps_cli_positional(cli, i), "-") == 0) {
            return ps_cli_usage(cli, "stdin is not read, since a profile is looked at more than "
                                     "once: put it into a file first");
        }
    }
    out->captures = ps_cli_text(cli, "captures");
    out->rank_from = ps_cli_text(cli, "rank-from");
    out->has_baseline = ps_cli_text(cli, "baseline") != NULL;
    return ps_cli_reader(cli, &out->reader);
}

/* --- signals --------------------------------------------------------------------------------------------------- */

static void stop_signals(sigset_t *set) {
    (void)sigemptyset(set);
    (void)sigaddset(set, SIGINT);
    (void)sigaddset(set, SIGTERM);
    (void)sigaddset(set, SIGHUP);
}

/* Before any thread is started, so that the signals come to the main thread only. One that is ignored (nohup) stays so. */
static void hold_serve_signals(sigset_t *before) {
    sigset_t set;
    stop_signals(&set);
    struct sigaction hangup;
    if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler == SIG_IGN) {
        (void)sigdelset(&set, SIGHUP);
    }
    (void)pthread_sigmask(SIG_BLOCK, &set, before);
}

/* Every connection is an open file; the usual limit is low. */
static void raise_file_limit(void) {
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur < FILES_WANTED) {
        files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
        (void)setrlimit(RLIMIT_NOFILE, &files);
    }
}

/* --- the browser ----------------------------------------------------------------------------------------------- */

/* Starts it without a shell and without our terminal and signal mask. */
static bool spawn_opener(const char *url, const sigset_t *mask) {
    char *argv[] = {"xdg-open", (char *)(uintptr_t)url, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    if (posix_spawn_file_actions_init(&files) != 0) {
        return false;
    }
    if (posix_spawnattr_init(&attr) != 0) {
        (void)posix_spawn_file_actions_destroy(&files);
        return false;
    }
    for (int fd = 0; fd <= 2; fd++) {
        (void)posix_spawn_file_actions_addopen(&files, fd, "/dev/null", fd == 0 ? 0 : 1, 0);
    }
    (void)posix_spawnattr_setsigmask(&attr, mask);
    (void)posix_spawnattr_setpgroup(&attr, 0);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
    pid_t child = 0;
    bool ok = posix_spawnp(&child, argv[0], &files, &attr, argv, environ) == 0;
    (void)posix_spawnattr_destroy(&attr);
    (void)posix_spawn_file_actions_destroy(&files);
    return ok;
}

static bool is_serve_set(const char *name) {
    const char *value = getenv(name);
    return value != NULL && *value != '\0';
}

static void open_browser(const service *v, const sigset_t *mask) {
    char url[PS_SERVER_URL];
    ps_server_url(v->server, url, sizeof url);
    if (!is_serve_set("DISPLAY") && !is_serve_set("WAYLAND_DISPLAY")) {
        ps_cli_warn(v->cli,
                    "--open: there is no display here; open the address in a browser "
                    "(through a tunnel: ssh -L %u:127.0.0.1:%u THIS_MACHINE)",
                    ps_server_port(v->server), ps_server_port(v->server));
    } else if (!spawn_opener(url, mask)) {
        ps_cli_warn(v->cli, "--open: there is no xdg-open here; open the address in a browser");
    }
}

/* --- progress -------------------------------------------------------------------------------------------------- */

static void tell_failure(service *v, size_t i, const ps_err *err) {
    if (!v->told[i]) {
        char text[1024];
        ps_err_format(err, text, sizeof text);
        ps_cli_warn(v->cli, "%s: %s", ps_store_label(v->store, i), text);
        v->told[i] = true;
        v->n_failed++;
    }
}

/* Looks at all ranks once; true while some of those that are read unasked are not there yet. */
static bool look_at_ranks(service *v) {
    double sum = 0;
    size_t n_wanted = 0;
    bool more = false;
    for (size_t i = 0; i < v->n_told; i++) {
        ps_rank_status_now now = ps_store_status(v->store, i);
        if (now.state == PS_STATE_WAITING || now.state == PS_STATE_CLOSED) {
            continue;
        }
        bool is_done = now.state == PS_STATE_READY || now.state == PS_STATE_FAILED;
        n_wanted++;
        sum += is_done ? 1 : now.progress;
        more = more || !is_done;
        if (now.state == PS_STATE_FAILED) {
            tell_failure(v, i, &now.err);
        }
    }
    uint64_t steps = n_wanted > 0 ? (uint64_t)(sum * 100 / (double)n_wanted) : 0;
    if (steps > v->steps_shown) {
        ps_progress_step(v->progress, steps - v->steps_shown);
        v->steps_shown = steps;
    }
    return more;
}

/* Until somebody ends it. */
static void serve_on(service *v) {
    sigset_t set;
    stop_signals(&set);
    v->progress = ps_progress_begin(&v->cli->term, v->cli->quiet, "reading, percent", 100);
    uint64_t seq = 0;
    for (int got = -1; got < 0;) {
        uint64_t now = ps_store_seq(v->store);
        if (now != seq || v->progress != NULL) {
            seq = now;
            if (!look_at_ranks(v)) {
                ps_progress_end(v->progress);
                v->progress = NULL;
            }
        }
        struct timespec pause = {.tv_sec = v->progress == NULL ? 1 : 0,
                                 .tv_nsec = v->progress == NULL ? 0 : LOOK_MS * 1000000};
        got = sigtimedwait(&set, NULL, &pause);
        while (waitpid(-1, NULL, WNOHANG) > 0) { /* of --open */
        }
    }
    ps_progress_end(v->progress);
    v->progress = NULL;
}

/* --- start and end --------------------------------------------------------------------------------------------- */

/* Alone on its line, and there before anybody can have asked for it. */
static void print_url(void *context, const char *url) {
    ps_cli_print(context, "%s\n", url);
    (void)fflush(stdout);
}

static void tell_start(const service *v) {
    ps_cli *cli = v->cli;
    for (size_t i = 0; i < ps_store_n_clusters(v->store); i++) {
        ps_report_cluster(cli, ps_store_cluster(v->store, i));
    }
    if (!ps_server_is_local(v->server)) {
        ps_cli_warn(cli,
                    "the ranks are served to every machine that reaches %s and has the token, "
                    "without encryption; a tunnel (ssh -L) to 127.0.0.1 is safer",
                    ps_cli_text(cli, "host"));
    }
    size_t n = ps_store_n_ranks(v->store);
    if (n > PS_STORE_AUTO) {
        ps_cli_note(cli, "%zu ranks: the first %d are read now, each other when it is looked at", n,
                    PS_STORE_AUTO);
    }
    ps_cli_note(cli, "Ctrl+C ends");
}

/* Ctrl+C a second time ends at once. */
static void release_serve_signals(const sigset_t *before) {
    (void)pthread_sigmask(SIG_SETMASK, before, NULL);
}

static int start_serve(service *v) {
    ps_cli *cli = v->cli;
    ps_server_opts opts = {.host = ps_cli_text(cli, "host"),
                           .port = (uint16_t)ps_cli_int(cli, "port"),
                           .token = ps_cli_text(cli, "token"),
                           .bound = print_url,
                           .context = cli};
    ps_err err = PS_ERR_INIT;
    v->server = ps_server_start(v->store, &opts, &err);
    if (v->server == NULL) {
        return ps_cli_fail(cli, &err);
    }
    notify(v, v->server);
    return PS_EXIT_OK;
}

static int cmd_serve_serve(service *v, const sigset_t *mask) {
    int status = start_serve(v);
    if (status != PS_EXIT_OK) {
        return status;
    }
    tell_start(v);
    if (ps_cli_flag(v->cli, "open")) {
        open_browser(v, mask);
    }
    serve_on(v);
    release_serve_signals(mask);
    notify(v, NULL);
    ps_err left = PS_ERR_INIT;
    bool is_freed = ps_server_stop(v->server, &left);
    status = left.code != PS_OK ? ps_cli_fail(v->cli, &left) : PS_EXIT_OK;
    if (!is_freed || look_at_ranks(v)) {
        /* A rank is being read or an answer made. Nothing of it is written anywhere, so there is nothing to wait for. */
        (void)fflush(NULL);
        _exit(status);
    }
    return status;
}

static int run_serve(ps_cli *cli) {
    service v = {.cli = cli, .lock = PTHREAD_MUTEX_INITIALIZER};
    ps_store_opts opts;
    int status = store_options(&v, &opts);
    if (status != PS_EXIT_OK) {
        return status;
    }
    sigset_t before;
    hold_serve_signals(&before);
    raise_file_limit();
    size_t n = ps_cli_n_positionals(cli);
    const char **paths = ps_calloc(n + 1, sizeof *paths);
    for (size_t i = 0; paths != NULL && i < n; i++) {
        paths[i] = ps_cli_positional(cli, i);
    }
    if (paths != NULL && opts.has_baseline) {
        paths[n++] = ps_cli_text(cli, "baseline");
    }
    ps_err err = PS_ERR_INIT;
    v.store = paths != NULL ? ps_store_new(paths, n, &opts, &err) : NULL;
    if (paths == NULL) {
        (void)ps_fail_nomem(&err);
    }
    v.n_told = v.store != NULL ? ps_store_n_ranks(v.store) : 0;
    v.told = v.store != NULL ? ps_calloc(v.n_told + 1, sizeof *v.told) : NULL;
    if (v.store != NULL && v.told == NULL) {
        (void)ps_fail_nomem(&err);
    }
    status = v.told != NULL ? cmd_serve_serve(&v, &before) : ps_cli_fail(cli, &err);
    ps_store_free(v.store);
    ps_free(v.told);
    ps_free(paths);
    return status;
}

static const ps_option OPTIONS[] = {
    {PS_ROW_INT(NULL, "port", "N", PS_IS("8686"), 0, 65535,
                "port to listen on; 0 takes any free one")},
    {PS_ROW_TEXT(NULL, "host", "ADDRESS", PS_IS("127.0.0.1"), "address to listen on")},
    {PS_ROW_FLAG(NULL, "open", "open the page in the browser of this desktop")},
    {PS_ROW_TEXT(NULL, "token", "T", PS_SHOWN("a random one"),
                 "what who asks has to know: letters, digits, hyphens, underscores")},
    {PS_ROW_TEXT(NULL, "baseline", "PATH", PS_SHOWN("none"),
                 "a capture to compare with, served beside the others")},
    {PS_ROW_TEXT(NULL, "captures", "DIR", PS_SHOWN("only those given"),
                 "a folder below which the page may open captures, too")},
    PS_INPUT_OPTION,
    PS_FORMAT_OPTION,
    {.short_name = 'j',
     .fallback_shown = "one per processor",
     PS_ROW_INT(NULL, "jobs", "N", PS_IS("0"), 0, 4096, "threads that read ranks")},
    {PS_ROW_TEXT(NULL, "memory", "SIZE", PS_SHOWN("60 % of the machine's"),
                 "memory for ranks (8G); those looked at longest ago make room")},
    PS_COMM_RULES_OPTION,
};

const ps_command ps_command_serve = {
    .name = "serve",
    .summary = "the viewer: timeline, pipelines and tables in a browser",
    .usage = "PATH... [--baseline OLD] [--port N] [--open] [options]",
    .options = OPTIONS,
    .n_options = PS_N(OPTIONS),
    .positional = "PATH",
    .min_positionals = 1,
    .max_positionals = PS_MANY,
    .notes =
        "Prints the address of the page, with the token that it needs. From another machine: "
        "ssh -L 8686:127.0.0.1:8686 HOST, then the same address. Nothing is written beside the "
        "data. docs/commands/serve.md says more.",
    .run = run_serve,
};

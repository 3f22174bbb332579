/* Terminal facts come from the environment and two system calls; the decisions are in ps_term_decide, which tests
 * feed with facts of their own.
 *
 * The progress line is drawn by a thread of its own, ten times a second: a step costs one atomic addition, and the
 * line also moves while a single step takes long. */
#include "cli/term.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/num.h"

enum { WIDTH_DEFAULT = 100, WIDTH_MIN = 40, WIDTH_MAX = 1000 };

/* --- facts ------------------------------------------------------------------------------------------------- */

static uint32_t decide_width(uint32_t columns, const char *variable) {
    int64_t width = columns;
    int64_t said = 0;
    if (variable != NULL && ps_parse_i64(variable, strlen(variable), &said) && said > 0) {
        width = said;
    }
    if (width == 0) {
        width = WIDTH_DEFAULT;
    }
    width = width < WIDTH_MIN ? WIDTH_MIN : width;
    return (uint32_t)(width > WIDTH_MAX ? WIDTH_MAX : width);
}

static bool is_term_set(const char *variable) {
    return variable != NULL && variable[0] != '\0';
}

/* no-color.org: any non-empty NO_COLOR means none, also against CLICOLOR_FORCE. */
static ps_colours decide_colours(bool terminal, ps_env_fn *env, void *context) {
    const char *force = env(context, "CLICOLOR_FORCE");
    const char *term = env(context, "TERM");
    const char *depth = env(context, "COLORTERM");
    bool forced = is_term_set(force) && strcmp(force, "0") != 0;
    bool dumb = !is_term_set(term) || strcmp(term, "dumb") == 0 || strncmp(term, "vt", 2) == 0;
    if (is_term_set(env(context, "NO_COLOR")) || (!forced && (!terminal || dumb))) {
        return PS_COLOURS_NONE;
    }
    bool deep =
        is_term_set(depth) && (strcmp(depth, "truecolor") == 0 || strcmp(depth, "24bit") == 0);
    bool direct = is_term_set(term) && strstr(term, "-direct") != NULL;
    return deep || direct ? PS_COLOURS_TRUE : PS_COLOURS_256;
}

static bool decide_utf8(ps_env_fn *env, void *context) {
    static const char *const NAMES[] = {"LC_ALL", "LC_CTYPE",
                                        "LANG"}; /* the first that is set counts */
    for (size_t i = 0; i < sizeof NAMES / sizeof NAMES[0]; i++) {
        const char *value = env(context, NAMES[i]);
        if (is_term_set(value)) {
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
        }
    }
    return false;
}

ps_term ps_term_decide(bool out_is_terminal, bool err_is_terminal, uint32_t columns, ps_env_fn *env,
                       void *context) {
    const char *term = env(context, "TERM");
    bool dumb = !is_term_set(term) || strcmp(term, "dumb") == 0;
    return (ps_term){.out_is_terminal = out_is_terminal,
                     .err_is_live = err_is_terminal && !dumb,
                     .width = decide_width(out_is_terminal ? columns : 0, env(context, "COLUMNS")),
                     .colours = decide_colours(out_is_terminal, env, context),
                     .utf8 = decide_utf8(env, context)};
}

static const char *real_env(void *context, const char *name) {
    (void)context;
    return getenv(name);
}

ps_term ps_term_facts(void) {
    struct winsize size = {0};
    bool out = isatty(STDOUT_FILENO) == 1;
    if (!out || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0) {
        size.ws_col = 0;
    }
    return ps_term_decide(out, isatty(STDERR_FILENO) == 1, size.ws_col, real_env, NULL);
}

ps_term ps_term_facts_passed_on(void) {
    ps_term term = ps_term_decide(false, false, 0, real_env, NULL);
    term.err_is_passed_on = true;
    return term;
}

/* --- progress ---------------------------------------------------------------------------------------------- */

struct ps_progress {
    const char *what;
    atomic_uint_fast64_t done, total;
    bool utf8, in_lines;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool over; /* under lock */
    bool shown;
};

enum { BAR = 24, SHOW_AFTER_MS = 500, EVERY_MS = 100, LINE_AFTER_MS = 5000, LINE_EVERY_MS = 10000 };

static void tell_progress(ps_progress *p) {
    (void)fprintf(stderr, "pipescope: %s: %llu of %llu\n", p->what,
                  (unsigned long long)atomic_load(&p->done),
                  (unsigned long long)atomic_load(&p->total));
}

/* "reading ranks  ━━━━━━━━━━────────  3 of 8"; 70 columns at the most, which every terminal has. */
static void draw_term(ps_progress *p) {
    uint64_t total = atomic_load(&p->total);
    uint64_t done = atomic_load(&p->done);
    done = done < total ? done : total;
    size_t full = total > 0 ? (size_t)(done * BAR / total) : 0;
    char bar[BAR * 3 + 1];
    size_t used = 0;
    for (size_t i = 0; i < BAR; i++) {
        const char *piece = i < full ? (p->utf8 ? "━" : "=") : (p->utf8 ? "─" : "-");
        size_t n = strlen(piece);
        memcpy(bar + used, piece, n);
        used += n;
    }
    bar[used] = '\0';
    (void)fprintf(stderr, "\r%.24s  %s  %llu of %llu\033[K", p->what, bar, (unsigned long long)done,
                  (unsigned long long)total);
    (void)fflush(stderr);
    p->shown = true;
}

static struct timespec term_later(struct timespec t, long ms) {
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

static void *drawer(void *context) {
    ps_progress *p = context;
    struct timespec next;
    (void)clock_gettime(CLOCK_MONOTONIC, &next);
    next = term_later(next, p->in_lines ? LINE_AFTER_MS : SHOW_AFTER_MS);
    (void)pthread_mutex_lock(&p->lock);
    while (!p->over) {
        if (pthread_cond_timedwait(&p->wake, &p->lock, &next) != 0 && !p->over) {
            (p->in_lines ? tell_progress : draw_term)(p);
            (void)clock_gettime(CLOCK_MONOTONIC, &next);
            next = term_later(next, p->in_lines ? LINE_EVERY_MS : EVERY_MS);
        }
    }
    (void)pthread_mutex_unlock(&p->lock);
    return NULL;
}

ps_progress *ps_progress_begin(const ps_term *term, bool quiet, const char *what, uint64_t total) {
    if (quiet || (!term->err_is_live && !term->err_is_passed_on)) {
        return NULL;
    }
    ps_progress *p = ps_calloc(1, sizeof *p);
    if (p == NULL) {
        return NULL;
    }
    p->what = what;
    p->utf8 = term->utf8;
    p->in_lines = term->err_is_passed_on;
    atomic_init(&p->done, 0);
    atomic_init(&p->total, total);
    pthread_condattr_t attr;
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr,
                                    CLOCK_MONOTONIC); /* a change of the date shall not stop it */
    (void)pthread_mutex_init(&p->lock, NULL);
    (void)pthread_cond_init(&p->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    if (pthread_create(&p->thread, NULL, drawer, p) != 0) {
        (void)pthread_cond_destroy(&p->wake);
        (void)pthread_mutex_destroy(&p->lock);
        ps_free(p);
        return NULL;
    }
    return p;
}

void ps_progress_step(ps_progress *p, uint64_t steps) {
    if (p != NULL) {
        (void)atomic_fetch_add(&p->done, steps);
    }
}

void ps_progress_set(ps_progress *p, uint64_t done, uint64_t total) {
    if (p != NULL) {
        atomic_store(&p->total, total);
        atomic_store(&p->done, done);
    }
}

void ps_progress_end(ps_progress *p) {
    if (p == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&p->lock);
    p->over = true;
    (void)pthread_cond_signal(&p->wake);
    (void)pthread_mutex_unlock(&p->lock);
    (void)pthread_join(p->thread, NULL);
    if (p->shown) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
    }
    (void)pthread_cond_destroy(&p->wake);
    (void)pthread_mutex_destroy(&p->lock);
    ps_free(p);
}

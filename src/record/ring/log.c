/* A line is put together on the stack and written by one write(2), so that lines of several processes and threads do not
 * mix. No lock is held while it is written: a file system that hangs stops only the thread that has something to say. What was
 * said is remembered by hashes: a text that hashes like another one is taken for said, which hardly ever happens. */
#include "record/ring/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "record/ring/config_texts.h"
#include "record/ring/signal_lock.h"
#include "record/ring/signal_mask.h"

enum { LINE = 1024, N_SAID = 512 };

static struct {
    pthread_mutex_t lock;
    uint64_t said[N_SAID]; /* of this recording */
    uint64_t keys[N_SAID]; /* of this process */
    unsigned n_said, n_keys;
    char file
        [4096 +
         64]; /* in logs/, "" none; opened for each line: programs close descriptors they do not know */
} g = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t hash_text(const char *s) {
    uint64_t h = 14695981039346656037u;
    for (; *s != '\0'; s++) {
        h = (h ^ (unsigned char)*s) * 1099511628211u;
    }
    return h;
}

/* Whether `hash` is new in the set; a full set begins anew. */
static bool is_new(uint64_t *set, unsigned *n, uint64_t hash) {
    for (unsigned i = 0; i < *n; i++) {
        if (set[i] == hash) {
            return false;
        }
    }
    if (*n == N_SAID) {
        *n = 0;
    }
    set[(*n)++] = hash;
    return true;
}

static void put_log(int fd, const char *line, size_t n) {
    while (n > 0) {
        ssize_t put_now = write(fd, line, n);
        if (put_now < 0 && errno == EINTR) {
            continue;
        }
        if (put_now <= 0) {
            return; /* nowhere left to say it */
        }
        line += put_now;
        n -= (size_t)put_now;
    }
}

/* How a line comes about: only the first time for this key (NULL: any) in the process; into the recording's file, or not. */
typedef struct saying {
    const char *key;
    bool to_file;
} saying;

/* Under the lock: whether it is to be said, and the file it goes to, "" none. */
static bool is_news_to_log(const saying *how, const char *line, char *file, size_t size) {
    ps_signal_lock(&g.lock);
    bool is = (how->key == NULL || is_new(g.keys, &g.n_keys, hash_text(how->key))) &&
              is_new(g.said, &g.n_said, hash_text(line));
    (void)snprintf(file, size, "%s", how->to_file ? g.file : "");
    ps_signal_unlock(&g.lock);
    return is;
}

static void say_log(saying how, const char *fmt, va_list args) {
    static const char PREFIX[] = "pipescope: ";
    char line[LINE];
    memcpy(line, PREFIX, sizeof PREFIX);
    size_t room = sizeof line - sizeof PREFIX - 1; /* the line's end and the zero */
    int wanted = vsnprintf(line + sizeof PREFIX - 1, room, fmt, args);
    size_t n = sizeof PREFIX - 1 +
               (wanted < 0              ? 0
                : (size_t)wanted < room ? (size_t)wanted
                                        : room - 1);
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)line[i] < ' ') {
            line[i] = ' '; /* texts of users: one line stays one line */
        }
    }
    line[n] = '\0';
    char path[sizeof g.file];
    if (!is_news_to_log(&how, line, path, sizeof path)) {
        return;
    }
    line[n++] = '\n';
    int saved = errno;
    int cancel = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    ps_signal_mask calm = ps_signal_mask_begin();
    if (!ps_rec_config_quiet()) {
        put_log(STDERR_FILENO, line, n);
    }
    int fd = path[0] == '\0'
                 ? -1
                 : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (fd >= 0) {
        put_log(fd, line, n);
        (void)close(fd);
    }
    ps_signal_mask_end(&calm);
    (void)pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

void ps_rec_log(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say_log((saying){.to_file = true}, fmt, args);
    va_end(args);
}

void ps_rec_log_error_stream(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say_log((saying){.to_file = false}, fmt, args);
    va_end(args);
}

void ps_rec_log_once(const char *key, const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    say_log((saying){.key = key, .to_file = true}, fmt, args);
    va_end(args);
}

void ps_rec_log_begin(void) {
    ps_signal_lock(&g.lock);
    g.n_said = 0;
    ps_signal_unlock(&g.lock);
}

void ps_rec_log_file(const char *path) {
    ps_signal_lock(&g.lock);
    (void)snprintf(g.file, sizeof g.file, "%s", path != NULL ? path : "");
    ps_signal_unlock(&g.lock);
}

void ps_rec_log_hold(void) {
    ps_signal_lock(&g.lock);
}

void ps_rec_log_forget(void) {
    g.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

void ps_rec_log_release(bool in_child) {
    if (in_child) {
        g.file[0] = '\0';
    }
    ps_signal_unlock(&g.lock);
}

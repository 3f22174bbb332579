/* Trace-event JSON, from the file to sealed columns: json FILE... [--runs N]
 *
 * For every file: the events alone (counted and dropped), the columns of an analysis that asks for no arguments of its
 * own, and the columns with every argument. Each run is a process of its own; the best of N (3) counts. GB are bytes of
 * JSON text, also where the file is gzipped; CPU seconds are user and system time of all threads; private memory is the
 * highest RssAnon seen, polled. */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "read/events/trace_events.h"
#include "read/readers.h"

enum { MAX_FILES = 16, POLL_NS = 2000000 };

typedef struct result {
    double wall_s, cpu_s;
    uint64_t n_bytes, n_rows, private_bytes;
    bool ok;
} result;

typedef struct way {
    const char *name;
    bool events_only, all_args;
} way;

static const way WAYS[] = {{"events", true, false},
                           {"events, every arg", true, true},
                           {"sealed, projected", false, false},
                           {"sealed, every arg", false, true}};

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds(struct timeval t) {
    return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static ps_code count_batch(void *context, const ps_event_batch *batch, ps_err *err) {
    (void)context;
    (void)batch;
    (void)err;
    return PS_OK;
}

static ps_code read_events(const char *path, bool all_args, result *r, ps_err *err) {
    static const char *const none[] = {NULL};
    static ps_diag diag;
    const ps_event_schema schema = {.all_args = all_args, .wanted = none};
    const ps_event_sink sink = {.batch = count_batch};
    ps_event_stats stats;
    ps_input *in = ps_input_open(path, err);
    if (in == NULL) {
        return err->code;
    }
    ps_code code = ps_trace_events_read(in, &schema, &sink, 0, &diag, &stats, err);
    ps_input_close(in);
    r->n_rows = stats.n_events;
    return code;
}

static ps_code read_columns(const char *path, bool all_args, result *r, ps_err *err) {
    const ps_src src = {.path = path};
    uint32_t needs = PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS;
    ps_trace *t = ps_read(&src, all_args ? needs | PS_NEED_ARGS : needs, err);
    if (t == NULL) {
        return err->code;
    }
    r->n_rows = (uint64_t)ps_trace_slices(t)->n + ps_trace_counters(t)->n;
    ps_trace_free(t);
    return PS_OK;
}

/* In the child: reads and writes what it found into the pipe. */
static int measure(const char *path, const way *w, int out) {
    ps_err err = PS_ERR_INIT;
    result r = {0};
    double start_s = now_s();
    ps_code code = w->events_only ? read_events(path, w->all_args, &r, &err)
                                  : read_columns(path, w->all_args, &r, &err);
    r.wall_s = now_s() - start_s;
    struct rusage use;
    (void)getrusage(RUSAGE_SELF, &use);
    r.cpu_s = seconds(use.ru_utime) + seconds(use.ru_stime);
    r.ok = code == PS_OK;
    if (!r.ok) {
        fprintf(stderr, "json: %s: %s\n", path, err.msg);
    }
    return write(out, &r, sizeof r) == (ssize_t)sizeof r ? 0 : 1;
}

static uint64_t private_bytes_of(pid_t pid) {
    char path[64];
    char line[256];
    uint64_t kb = 0;
    (void)snprintf(path, sizeof path, "/proc/%ld/status", (long)pid);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "RssAnon: %" SCNu64, &kb) == 1) {
            break;
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kb * 1024;
}

/* Into the page cache. */
static void warm(const char *path) {
    static char buffer[1 << 20];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && read(fd, buffer, sizeof buffer) > 0) {
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

static result run(const char *path, const way *w) {
    result r = {0};
    warm(path);
    int ends[2];
    int status = 0;
    uint64_t peak = 0;
    if (pipe(ends) != 0) {
        return r;
    }
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        _exit(measure(path, w, ends[1]));
    }
    (void)close(ends[1]);
    while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
        const struct timespec pause = {0, POLL_NS};
        uint64_t now = private_bytes_of(pid);
        peak = now > peak ? now : peak;
        (void)nanosleep(&pause, NULL);
    }
    if (read(ends[0], &r, sizeof r) != (ssize_t)sizeof r) {
        r = (result){0};
    }
    (void)close(ends[0]);
    r.private_bytes = peak;
    return r;
}

/* Bytes of text, 0 when it cannot be read. */
static uint64_t text_bytes(const char *path) {
    static char buffer[1 << 20];
    ps_err err = PS_ERR_INIT;
    size_t n = 0;
    ps_input *in = ps_input_open(path, &err);
    while (in != NULL && ps_input_read(in, buffer, sizeof buffer, &n, &err) == PS_OK && n > 0) {
    }
    uint64_t n_bytes = in != NULL ? ps_input_offset(in) : 0;
    ps_input_close(in);
    return n_bytes;
}

static int bench(const char *path, int n_runs) {
    const char *slash = strrchr(path, '/');
    uint64_t n_bytes = text_bytes(path);
    if (n_bytes == 0) {
        fprintf(stderr, "json: cannot read %s\n", path);
        return 1;
    }
    for (size_t i = 0; i < sizeof WAYS / sizeof *WAYS; i++) {
        result best = {0};
        for (int k = 0; k < n_runs; k++) {
            result r = run(path, &WAYS[i]);
            if (!r.ok) {
                return 1;
            }
            if (k == 0 || r.cpu_s < best.cpu_s) {
                uint64_t most =
                    r.private_bytes > best.private_bytes ? r.private_bytes : best.private_bytes;
                best = r;
                best.private_bytes = most;
            }
        }
        double gb = (double)n_bytes / 1e9;
        printf("%-20s %-18s %6.2f %10" PRIu64 " %8.3f %8.3f %8.2f %10.2f %8.1f %6.3f\n",
               slash != NULL ? slash + 1 : path, WAYS[i].name, gb, best.n_rows, best.wall_s,
               best.cpu_s, gb / best.wall_s, gb / best.cpu_s, (double)best.private_bytes / 1e6,
               (double)best.private_bytes / (double)n_bytes);
        (void)fflush(stdout);
    }
    return 0;
}

int main(int argc, char **argv) {
    const char *files[MAX_FILES];
    int n_files = 0;
    int n_runs = 3;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
            n_runs = (int)strtol(argv[++i], NULL, 10);
        } else if (n_files < MAX_FILES) {
            files[n_files++] = argv[i];
        }
    }
    if (n_files == 0 || n_runs < 1) {
        fprintf(stderr, "usage: json FILE... [--runs N]\n");
        return 2;
    }
    printf("%-20s %-18s %6s %10s %8s %8s %8s %10s %8s %6s\n", "file", "what", "GB", "rows",
           "seconds", "cpu s", "GB/s", "GB/cpu s", "MB", "share");
    int status = 0;
    for (int i = 0; i < n_files; i++) {
        status |= bench(files[i], n_runs);
    }
    return status;
}

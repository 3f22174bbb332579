/* Worker logs into sealed traces: paddle LOG...
 *
 * Reads the logs one after the other on one thread, three times; the best run counts. Also how fast the search alone
 * goes over the first log. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "read/paddle.h"
#include "read/paddle_scan.h"
#include "read/reader.h"

enum { RUNS = 3 };

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Bytes and slices of all logs; seconds, negative on failure. */
static double read_all(char **paths, int n, uint64_t *n_bytes, uint64_t *n_slices) {
    double begin_s = now_s();
    *n_bytes = *n_slices = 0;
    for (int i = 0; i < n; i++) {
        ps_src src = {.path = paths[i], .reader = &ps_reader_paddle};
        ps_err err = PS_ERR_INIT;
        ps_trace *t = ps_read(&src, PS_NEED_SLICES | PS_NEED_STEPS | PS_NEED_META, &err);
        if (t == NULL) {
            fprintf(stderr, "paddle: %s: %s\n", paths[i], err.msg);
            return -1;
        }
        *n_bytes += (uint64_t)ps_trace_stamp(t).file.size_bytes;
        *n_slices += ps_trace_slices(t)->n;
        ps_trace_free(t);
    }
    return now_s() - begin_s;
}

static double scan_s(const unsigned char *bytes, size_t n, uint64_t *n_hits) {
    static ps_paddle_hits hits;
    double begin_s = now_s();
    *n_hits = 0;
    for (size_t at = 0; at < n; at += hits.n_bytes) {
        ps_paddle_scan(bytes + at, n - at, &hits);
        *n_hits += hits.n;
    }
    return now_s() - begin_s;
}

static int time_scan(const char *path) {
    enum { CAP = 1 << 26 };
    unsigned char *bytes = calloc(CAP + PS_PADDLE_SCAN_PAD, 1);
    FILE *file = fopen(path, "rb");
    size_t n = bytes != NULL && file != NULL ? fread(bytes, 1, CAP, file) : 0;
    double best_s = 1e9;
    uint64_t n_hits = 0;
    for (int run = 0; run < RUNS; run++) {
        double s = scan_s(bytes, n, &n_hits);
        best_s = s < best_s ? s : best_s;
    }
    printf("search alone: %.1f GB/s (%zu MB in memory, %" PRIu64 " places)\n",
           (double)n / best_s / 1e9, n >> 20, n_hits);
    free(bytes);
    if (file != NULL) {
        (void)fclose(file);
    }
    return n > 0 ? 0 : 1;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: paddle LOG...\n");
        return 2;
    }
    double best_s = 1e9;
    uint64_t n_bytes = 0;
    uint64_t n_slices = 0;
    for (int run = 0; run < RUNS; run++) {
        double s = read_all(argv + 1, argc - 1, &n_bytes, &n_slices);
        if (s < 0) {
            return 1;
        }
        best_s = s < best_s ? s : best_s;
    }
    printf("into sealed traces, one core: %.2f s, %.2f GB/s, %.1f M jobs/s (%" PRIu64 " jobs)\n",
           best_s, (double)n_bytes / best_s / 1e9, (double)n_slices / best_s / 1e6, n_slices);
    return time_scan(argv[1]);
}

/* Worker logs into sealed traces.
 *
 *   paddle --make DIR   writes four logs, 1 GB in all, with 2 million jobs of 1F1B and ordinary messages between the steps
 *   paddle LOG...       reads the logs one after the other on one thread, three times; the best run counts. Also how fast
 *                       the search alone goes over the first log */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "read/paddle/paddle.h"
#include "read/paddle/paddle_scan.h"
#include "read/readers.h"

enum { RUNS = 3 };

/* Of this process, so that what else the machine does is left out; a warm log is never waited for. */
static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
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

/* --- data --------------------------------------------------------------------------------------------------------- */

enum { WORKERS = 4, MICROBATCHES = 32, STEPS = 7692, NOISE_BYTES = 20500 };

static void put_job(FILE *log, const char *type, int mb, int64_t start_us, int64_t end_us) {
    (void)fprintf(
        log,
        "I1205 10:21:33.342746 21000 standalone_executor.cc:302] Profiler Info: Job (%d), type = %s, "
        "micro_batch_id = %d, job_start_time = %.6f, job_end_time = %.6f\n",
        mb, type, mb, (double)start_us / 1000, (double)end_us / 1000);
}

/* One step of 1F1B as the last stage has it, which is enough for the reader; returns the end. */
static int64_t put_step(FILE *log, int worker, int64_t at_us) {
    at_us += worker * 12400;
    for (int mb = 0; mb < MICROBATCHES; mb++) {
        put_job(log, "forward", mb, at_us, at_us + 12000);
        put_job(log, "backward", mb, at_us + 12030, at_us + 36000);
        at_us += 36040;
    }
    put_job(log, "optimizer", 0, at_us, at_us + 6000);
    return at_us + 6000 + (WORKERS - worker) * 24400;
}

static void put_noise(FILE *log, int step) {
    static const char *const LINES[] = {
        "[2023-12-05 10:21:33,342] [    INFO] - global step %d, loss: 9.213100, learning_rate: 3.000e-06",
        "node-a:4000:4100 [%d] NCCL INFO Channel 03 : 0[0] -> 1[1] via P2P/IPC",
        "train:  %d%%|###       | 12/100 [00:21<01:12,  1.9it/s]\r",
        "[2023-12-05 10:21:33,342] [   DEBUG] - Profiler Info: the next job list has %d entries",
        "W1205 10:21:33.000001 %d reduce.cc:88] slow allreduce, type = ring, took 3.2 ms"};
    int n = 0;
    for (int i = step; n < NOISE_BYTES; i++) {
        n += fprintf(log, LINES[i % 5], i);
        n += fprintf(log, "\n");
    }
}

static int make_logs(const char *dir) {
    for (int worker = 0; worker < WORKERS; worker++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/workerlog.%d", dir, worker);
        FILE *log = fopen(path, "w");
        if (log == NULL) {
            perror(path);
            return 1;
        }
        (void)fprintf(log, "Schedule Profiler start at step 0 and end at step %d\n", STEPS);
        int64_t at_us = INT64_C(1701771693000000);
        for (int step = 0; step < STEPS; step++) {
            at_us = put_step(log, worker, at_us);
            put_noise(log, step);
        }
        if (fclose(log) != 0) {
            perror(path);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 2 || (strcmp(argv[1], "--make") == 0 && argc != 3)) {
        fprintf(stderr, "usage: paddle --make DIR, or paddle LOG...\n");
        return 2;
    }
    if (strcmp(argv[1], "--make") == 0) {
        return make_logs(argv[2]);
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
    printf("into sealed traces: %.2f s of one core, %.2f GB/s, %.1f M jobs/s (%" PRIu64 " jobs)\n",
           best_s, (double)n_bytes / best_s / 1e9, (double)n_slices / best_s / 1e6, n_slices);
    return time_scan(argv[1]);
}

/* What recording costs a program: a step of fixed work, 100 ms, with 500 ranges in it, recorded and not, in interleaved pairs; and
 * how many events four threads can record in a second without a loss.
 *
 * The work is a chain of multiplications that fits into registers: nothing but processor time, so that a slow-down is one of the
 * recorder. Pairs alternate in order (AB BA) so that a drift of the machine's speed falls out; the median of their
 * differences is printed, and the same for pairs without a recording, which says how much of it is the machine's unrest. On
 * a machine with other work to do the processor time of the thread says more than the time on the wall.
 *
 * Prints lines "what <tab> measured <tab> bar <tab> comparison". */
#include <pipescope/record.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { RANGES = 500, PAIRS = 40, THREADS = 4, SECONDS = 3, BATCH = 1000, PER_SECOND = 1000000 };
#define STEP_NS 100e6

static double now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static volatile uint64_t sink;

static void work(uint64_t rounds) {
    uint64_t x = sink | 1;
    for (uint64_t i = 0; i < rounds; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
    }
    sink = x;
}

/* Rounds that take 100 ms / 500, by the fastest of several tries. */
static uint64_t calibrate(void) {
    const uint64_t probe = 20000000;
    double best = 1e18;
    for (int i = 0; i < 7; i++) {
        double begin = now_ns();
        work(probe);
        double took = now_ns() - begin;
        best = took < best ? took : best;
    }
    return (uint64_t)((double)probe * (STEP_NS / RANGES) / best);
}

typedef struct taken { /* ns */
    double wall, thread, process;
} taken;

static double clock_ns(clockid_t clock) {
    struct timespec t;
    (void)clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static taken now(void) {
    return (taken){.wall = now_ns(),
                   .thread = clock_ns(CLOCK_THREAD_CPUTIME_ID),
                   .process = clock_ns(CLOCK_PROCESS_CPUTIME_ID)};
}

static taken since(taken begin) {
    taken t = now();
    return (taken){.wall = t.wall - begin.wall,
                   .thread = t.thread - begin.thread,
                   .process = t.process - begin.process};
}

static taken plain_step(uint64_t rounds) {
    taken begin = now();
    for (int i = 0; i < RANGES; i++) {
        work(rounds);
    }
    return since(begin);
}

static taken marked_step(uint64_t rounds, int64_t number) {
    taken begin = now();
    (void)ps_record_step_begin(number);
    for (int i = 0; i < RANGES; i++) {
        uint64_t range =
            ps_record_range_start(NULL, "{'name': 'forward_step'}", PS_RECORD_HOST_STREAM);
        work(rounds);
        ps_record_range_end(range);
    }
    (void)ps_record_step_end();
    return since(begin);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double quantile(double *values, int n, double q) {
    qsort(values, (size_t)n, sizeof *values, by_value);
    return values[(int)(q * (n - 1) + 0.5)];
}

/* Percent by which the second of a pair takes longer than the first, which does not call the recorder. */
static taken pair(uint64_t rounds, int number, int records) {
    taken plain = {0};
    taken other = {0};
    for (int half = 0; half < 2; half++) {
        if (half == number % 2) {
            plain = plain_step(rounds);
            continue;
        }
        if (records) {
            (void)ps_record_start();
            (void)marked_step(1, -1); /* rings and threads are made at the first event */
        }
        other = records ? marked_step(rounds, number) : plain_step(rounds);
        if (records) {
            (void)ps_record_stop();
            (void)ps_record_discard();
        }
    }
    return (taken){.wall = (other.wall - plain.wall) / plain.wall * 100,
                   .thread = (other.thread - plain.thread) / plain.thread * 100,
                   .process = (other.process - plain.process) / plain.process * 100};
}

static void put_step(const char *what, double *recorded, double *unrest, const char *bar) {
    printf(
        "%s\t%+.2f %% (quartiles %+.2f, %+.2f)\t%s\t%+.2f %% (%+.2f, %+.2f) between steps without "
        "recording\n",
        what, quantile(recorded, PAIRS, 0.5), quantile(recorded, PAIRS, 0.25),
        quantile(recorded, PAIRS, 0.75), bar, quantile(unrest, PAIRS, 0.5),
        quantile(unrest, PAIRS, 0.25), quantile(unrest, PAIRS, 0.75));
}

static void measure_step(void) {
    uint64_t rounds = calibrate();
    double recorded[3][PAIRS];
    double unrest[3][PAIRS];
    for (int i = 0; i < PAIRS; i++) {
        taken r = pair(rounds, i, 1);
        taken u = pair(rounds, i, 0);
        recorded[0][i] = r.wall;
        recorded[1][i] = r.thread;
        recorded[2][i] = r.process;
        unrest[0][i] = u.wall;
        unrest[1][i] = u.thread;
        unrest[2][i] = u.process;
    }
    put_step("step of 100 ms, 500 ranges: its time", recorded[0], unrest[0], "0.5 %");
    put_step("  processor time of its thread", recorded[1], unrest[1], "0.5 %");
    put_step("  processor time with the writer", recorded[2], unrest[2], "");
}

/* --- rate -------------------------------------------------------------------------------------------------------------- */

typedef struct producer {
    pthread_t thread;
    uint64_t n_events;
    double took_ns;
    int paced;
} producer;

static atomic_int go;

static void pause_until(double ns) {
    double left = ns - now_ns();
    if (left > 0) {
        struct timespec t = {.tv_nsec = (long)left};
        (void)nanosleep(&t, NULL);
    }
}

/* A start and an end are two events. */
static void *produce(void *context) {
    producer *p = context;
    ps_record_range_end(ps_record_range_start(NULL, "warm", NULL));
    while (atomic_load(&go) == 0) {
        struct timespec t = {.tv_nsec = 100000};
        (void)nanosleep(&t, NULL);
    }
    double begin = now_ns();
    for (uint64_t batch = 0; batch < (uint64_t)SECONDS * PER_SECOND / BATCH; batch++) {
        if (p->paced) {
            pause_until(begin + (double)batch * BATCH * 1e9 / PER_SECOND);
        }
        for (int i = 0; i < BATCH / 2; i++) {
            ps_record_range_end(ps_record_range_start(NULL, "{'name': 'forward_step'}", NULL));
        }
        p->n_events += BATCH;
    }
    p->took_ns = now_ns() - begin;
    return NULL;
}

static void measure_rate(int paced) {
    producer producers[THREADS] = {0};
    atomic_store(&go, 0);
    (void)ps_record_start();
    for (int i = 0; i < THREADS; i++) {
        producers[i].paced = paced;
        if (pthread_create(&producers[i].thread, NULL, produce, &producers[i]) != 0) {
            printf("rate\tno thread can be had\t\t\n");
            exit(1);
        }
    }
    struct timespec settle = {.tv_nsec = 200000000};
    (void)nanosleep(&settle, NULL);
    atomic_store(&go, 1);
    double slowest = 0;
    uint64_t n = 0;
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(producers[i].thread, NULL);
        slowest = producers[i].took_ns > slowest ? producers[i].took_ns : slowest;
        n += producers[i].n_events;
    }
    (void)ps_record_stop();
    ps_record_stats stats = {.size = sizeof stats};
    (void)ps_record_get_stats(&stats);
    double rate = (double)n / slowest * 1e9 / THREADS / 1e6;
    if (paced) {
        printf(
            "sustained, %d threads, %d s\t%.2f M events/s a thread, %llu dropped\t1 M, none dropped\t"
            "%.0f MB to the disk\n",
            THREADS, SECONDS, rate, (unsigned long long)stats.n_dropped,
            (double)stats.spool_bytes / 1e6);
    } else {
        printf("unbounded, %d threads\t%.2f M events/s a thread, %.1f %% dropped\t\t"
               "a full ring drops the newest and counts it\n",
               THREADS, rate, (double)stats.n_dropped / (double)(n / 2) * 100);
    }
    (void)ps_record_discard();
}

int main(void) {
    (void)ps_record_set("quiet", "1");
    measure_step();
    measure_rate(1);
    measure_rate(0);
    return 0;
}

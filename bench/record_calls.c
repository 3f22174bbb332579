/* What a call of the recorder costs: prints a table, one line a path. Called by `./dev bench record`.
 *
 *     record_calls [EVENTS]       calls measured on each line (default 2,000,000)
 *
 * Each line is the median of many short runs of a thousand calls or pairs, so that a run that another process interrupted does
 * not count. It records into a folder below TMPDIR, which it removes. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "pipescope/record.h"

enum { BATCH = 1000, MAX_RUNS = 100000 };

static int64_t now_ns(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* --- the calls ------------------------------------------------------------------------------------------------------- */

static ps_record_domain *domain;

static void known_pair(uint64_t i) {
    (void)i;
    ps_record_range_end(ps_record_range_start(domain, "forward_step of a model", NULL));
}

static void stream_pair(uint64_t i) {
    (void)i;
    ps_record_range_end(ps_record_range_start(domain, "forward_step of a model", (void *)1));
}

/* 48 bytes that no earlier message had. */
static _Thread_local char fresh[49] = "{'name': 'recv', 'source': 3, 'no': 000000000000";
static void new_message_pair(uint64_t i) {
    for (int k = 47; i != 0; k--, i /= 10) {
        fresh[k] = (char)('0' + i % 10);
    }
    ps_record_range_end(ps_record_range_start(domain, fresh, NULL));
}

static void push_pop(uint64_t i) {
    (void)i;
    (void)ps_record_range_push(domain, "forward_step of a model", NULL);
    (void)ps_record_range_pop(domain);
}

static void mark(uint64_t i) {
    (void)i;
    ps_record_mark(domain, "a mark", NULL);
}

static void op(uint64_t i) {
    (void)i;
    ps_record_op_end(ps_record_op_begin("aten::mm", "64,128;128,32", (void *)1));
}

static void disabled(uint64_t i) {
    (void)i;
    ps_record_mark(domain, "a mark", NULL);
}

/* --- NVTX's registered strings, through the interface that its header uses ----------------------------------------------- */

typedef int (*nvtx_init)(const void *(*get_table)(uint32_t));
typedef void (*nvtx_function)(void);

static struct {
    nvtx_function core2[16];
    nvtx_function *slots[17];
} nvtx;

static int function_table(int module, nvtx_function ***table, unsigned *size) {
    if (module != 5) { /* NVTX_CB_MODULE_CORE2 */
        return 0;
    }
    *table = nvtx.slots;
    *size = 16;
    return 1;
}

static const void *export_table(uint32_t id) {
    static const struct {
        size_t struct_size;
        int (*function_table)(int, nvtx_function ***, unsigned *);
    } callbacks = {sizeof callbacks, function_table};
    return id == 1 ? &callbacks : NULL;
}

int InitializeInjectionNvtx2(const void *(*get_table)(uint32_t)) __attribute__((weak));

typedef struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t colour_type;
    uint32_t colour;
    int32_t payload_type, reserved;
    uint64_t payload;
    int32_t message_type;
    const void *message;
} nvtx_attributes;

static void *nvtx_domain;
static nvtx_attributes registered = {.version = 3, .size = 48, .message_type = 3};

static void registered_pair(uint64_t i) {
    (void)i;
    (void)((int (*)(void *, const nvtx_attributes *))nvtx.core2[4])(nvtx_domain, &registered);
    (void)((int (*)(void *))nvtx.core2[5])(nvtx_domain);
}

static int has_nvtx(void) {
    for (int i = 0; i < 16; i++) {
        nvtx.slots[i] = &nvtx.core2[i];
    }
    if (InitializeInjectionNvtx2 == NULL || InitializeInjectionNvtx2(export_table) != 1 ||
        nvtx.core2[4] == NULL || nvtx.core2[10] == NULL || nvtx.core2[12] == NULL) {
        return 0;
    }
    nvtx_domain = ((void *(*)(const char *))nvtx.core2[12])("bench");
    registered.message =
        ((void *(*)(void *, const char *))nvtx.core2[10])(nvtx_domain, "registered");
    return 1;
}

/* --- measuring ------------------------------------------------------------------------------------------------------- */

typedef struct job {
    void (*call)(uint64_t);
    uint64_t n_runs, first;
    double median_ns;
    pthread_barrier_t *barrier;
} job;

static void *measure(void *context) {
    job *j = context;
    double *times = calloc(j->n_runs, sizeof *times);
    uint64_t i = j->first;
    if (times == NULL) {
        exit(1);
    }
    if (j->barrier != NULL) {
        (void)pthread_barrier_wait(j->barrier);
    }
    for (uint64_t run = 0; run < j->n_runs; run++) {
        int64_t start = now_ns();
        for (int k = 0; k < BATCH; k++) {
            j->call(i++);
        }
        times[run] = (double)(now_ns() - start) / BATCH;
        if (run % 16 == 15) {
            (void)usleep(1000); /* the writer's turn: what is measured is the call */
        }
    }
    qsort(times, j->n_runs, sizeof *times, by_value);
    j->median_ns = times[j->n_runs / 2];
    free(times);
    return NULL;
}

static uint64_t dropped(void) {
    ps_record_stats stats = {.size = sizeof stats};
    (void)ps_record_get_stats(&stats);
    return stats.n_dropped;
}

static void line(const char *name, void (*call)(uint64_t), uint64_t n_runs, const char *goal) {
    uint64_t before = dropped();
    job j = {.call = call, .n_runs = n_runs, .first = 1};
    (void)measure(&j);
    printf("%-44s %8.1f ns   %-10s", name, j.median_ns, goal);
    uint64_t lost = dropped() - before;
    if (lost > 0) {
        printf(" (%llu dropped)", (unsigned long long)lost);
    }
    printf("\n");
}

static void four_threads(uint64_t n_runs) {
    enum { N = 4 };
    pthread_t threads[N];
    job jobs[N];
    pthread_barrier_t barrier;
    (void)pthread_barrier_init(&barrier, NULL, N);
    double sum = 0;
    for (int i = 0; i < N; i++) {
        jobs[i] = (job){.call = known_pair, .n_runs = n_runs, .first = 1, .barrier = &barrier};
        (void)pthread_create(&threads[i], NULL, measure, &jobs[i]);
    }
    for (int i = 0; i < N; i++) {
        (void)pthread_join(threads[i], NULL);
        sum += jobs[i].median_ns;
    }
    printf("%-44s %8.1f ns   %-10s\n", "pair, known string, 4 threads at once", sum / N,
           "as alone");
}

/* The rate at which threads can go on without a loss: each in turns of a millisecond at the rate asked for. */
typedef struct steady {
    double rate;
    uint64_t done;
    int64_t end_ns;
} steady;

static void *steady_thread(void *context) {
    steady *s = context;
    int64_t start = now_ns();
    while (now_ns() < s->end_ns) {
        uint64_t due = (uint64_t)((double)(now_ns() - start) * s->rate / 1e9);
        while (s->done < due) {
            known_pair(0);
            s->done += 2;
        }
        (void)usleep(500);
    }
    return NULL;
}

static void sustained(int n_threads, double rate) {
    steady s[8];
    pthread_t threads[8];
    uint64_t before = dropped();
    int64_t start = now_ns();
    uint64_t done = 0;
    for (int i = 0; i < n_threads; i++) {
        s[i] = (steady){.rate = rate, .end_ns = start + 1000000000};
        (void)pthread_create(&threads[i], NULL, steady_thread, &s[i]);
    }
    for (int i = 0; i < n_threads; i++) {
        (void)pthread_join(threads[i], NULL);
        done += s[i].done;
    }
    double seconds = (double)(now_ns() - start) / 1e9;
    printf("%d thread%s at %.1f M events/s for a second: %6.2f M/s written, %llu dropped\n",
           n_threads, n_threads > 1 ? "s" : " ", rate / 1e6, (double)done / seconds / 1e6,
           (unsigned long long)(dropped() - before));
}

int main(int argc, char **argv) {
    uint64_t n_runs = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000) / BATCH;
    n_runs = n_runs < 1 ? 1 : n_runs > MAX_RUNS ? MAX_RUNS : n_runs;
    char dir[] = "/tmp/record_calls.XXXXXX";
    const char *base = getenv("PIPESCOPE_OUTPUT_DIR");
    if (base == NULL && (base = mkdtemp(dir)) == NULL) {
        perror(dir);
        return 1;
    }
    (void)ps_record_set("output_dir", base);
    domain = ps_record_domain_named("bench");
    printf("%-44s %11s   %-10s\n", "median of a call or pair", "time", "goal");
    line("not recording", disabled, n_runs, "<= 2 ns");
    if (ps_record_start() != PS_RECORD_OK) {
        fprintf(stderr, "record_calls: cannot record\n");
        return 1;
    }
    line("mark", mark, n_runs, "<= 45 ns");
    line("pair, known string", known_pair, n_runs, "<= 90 ns");
    line("pair, known string, on a stream", stream_pair, n_runs, "");
    line("pair, new message of 48 bytes", new_message_pair, n_runs, "<= 150 ns");
    line("push and pop", push_pop, n_runs, "<= 90 ns");
    if (has_nvtx()) {
        line("NVTX push and pop, registered string", registered_pair, n_runs, "<= 120 ns");
    }
    line("operator, begin and end", op, n_runs, "");
    four_threads(n_runs);
    sustained(1, 1e6);
    sustained(4, 1e6);
    (void)ps_record_stop();
    (void)ps_record_discard();
    if (base == dir) {
        (void)rmdir(dir);
    }
    return 0;
}

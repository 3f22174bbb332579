/* What a call of the recorder costs. Prints lines "what <tab> measured <tab> bar <tab> comparison".
 *
 *     record_calls [CALLS]        calls or pairs measured on each line (default 400,000)
 *
 * Each figure is the median of runs of a thousand calls, so that a run that something else interrupted does not count. Between
 * some of them the writer gets its turn: what is measured is the call, and nothing is dropped. It records into the folder that
 * PIPESCOPE_OUTPUT_DIR names, and discards it. */
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

/* A function that makes `n` calls, numbered from `i` on. */
#define LOOP(name, ...)                                                                            \
    static void name(uint64_t i, int n) {                                                          \
        for (; n > 0; n--, i++) {                                                                  \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
    }

/* 48 bytes that no earlier message had. */
static const char *fresh(uint64_t i) {
    static _Thread_local char text[49] = "{'name': 'recv', 'source': 3, 'no': 000000000000";
    for (int k = 47; i != 0; k--, i /= 16) {
        text[k] = "0123456789abcdef"[i % 16];
    }
    return text;
}

LOOP(disabled_mark, ps_record_mark(domain, "a mark", NULL))
LOOP(disabled_end, ps_record_range_end(i))
LOOP(one_mark, ps_record_mark(domain, "a mark", NULL))
LOOP(known_pair,
     ps_record_range_end(ps_record_range_start(domain, "forward_step of a model", NULL)))
LOOP(stream_pair,
     ps_record_range_end(ps_record_range_start(domain, "forward_step of a model", (void *)1)))
LOOP(new_message_pair, ps_record_range_end(ps_record_range_start(domain, fresh(i), NULL)))
LOOP(push_pop, ps_record_range_push(domain, "forward_step of a model", NULL);
     ps_record_range_pop(domain))
LOOP(op, ps_record_op_end(ps_record_op_begin("aten::mm", "64,128;128,32", (void *)1)))

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

LOOP(registered_pair,
     ((int (*)(void *, const nvtx_attributes *))nvtx.core2[4])(nvtx_domain, &registered);
     ((int (*)(void *))nvtx.core2[5])(nvtx_domain))

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
    void (*loop)(uint64_t i, int n);
    uint64_t n_runs;
    double median_ns;
    pthread_barrier_t *barrier;
} job;

static void *measure(void *context) {
    job *j = context;
    double *times = calloc(j->n_runs, sizeof *times);
    if (times == NULL) {
        exit(1);
    }
    if (j->barrier != NULL) {
        (void)pthread_barrier_wait(j->barrier);
    }
    for (uint64_t run = 0; run < j->n_runs; run++) {
        if (run % 8 == 7) {
            (void)usleep(12000); /* the writer comes every 10 ms */
        }
        int64_t start = now_ns();
        j->loop(run * BATCH + 1, BATCH);
        times[run] = (double)(now_ns() - start) / BATCH;
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

/* `bar_ns` 0: none. */
static void print_line(const char *name, double ns, double bar_ns, uint64_t lost) {
    printf("%s\t%.1f ns\t", name, ns);
    if (bar_ns > 0) {
        printf("<= %g ns\t%s", bar_ns, ns <= bar_ns ? "within" : "over");
    } else {
        printf("\t");
    }
    if (lost > 0) {
        printf(" (%llu dropped)", (unsigned long long)lost);
    }
    printf("\n");
}

static void line(const char *name, void (*loop)(uint64_t, int), uint64_t n_runs, double bar_ns) {
    uint64_t before = dropped();
    job j = {.loop = loop, .n_runs = n_runs};
    (void)measure(&j);
    print_line(name, j.median_ns, bar_ns, dropped() - before);
}

static void four_threads(uint64_t n_runs) {
    enum { N = 4 };
    pthread_t threads[N];
    job jobs[N];
    pthread_barrier_t barrier;
    (void)pthread_barrier_init(&barrier, NULL, N);
    uint64_t before = dropped();
    double sum = 0;
    for (int i = 0; i < N; i++) {
        jobs[i] = (job){.loop = known_pair, .n_runs = n_runs, .barrier = &barrier};
        (void)pthread_create(&threads[i], NULL, measure, &jobs[i]);
    }
    for (int i = 0; i < N; i++) {
        (void)pthread_join(threads[i], NULL);
        sum += jobs[i].median_ns;
    }
    print_line("C pair, known string, each of 4 threads at once", sum / N, 90, dropped() - before);
}

int main(int argc, char **argv) {
    uint64_t n_runs = (argc > 1 ? strtoull(argv[1], NULL, 10) : 400000) / BATCH;
    n_runs = n_runs < 1 ? 1 : n_runs > MAX_RUNS ? MAX_RUNS : n_runs;
    domain = ps_record_domain_named("bench");
    line("C mark, not recording", disabled_mark, n_runs, 2);
    line("C end, not recording", disabled_end, n_runs, 2);
    if (ps_record_start() != PS_RECORD_OK) {
        fprintf(stderr, "record_calls: cannot record\n");
        return 1;
    }
    line("C mark", one_mark, n_runs, 45);
    line("C pair, known string", known_pair, n_runs, 90);
    line("C pair, known string, on a stream", stream_pair, n_runs, 0);
    line("C pair, new message of 48 bytes", new_message_pair, n_runs, 150);
    line("C push and pop, known string", push_pop, n_runs, 90);
    if (has_nvtx()) {
        line("NVTX push and pop, registered string", registered_pair, n_runs, 120);
    }
    line("C operator, begin and end", op, n_runs, 0);
    four_threads(n_runs);
    (void)ps_record_discard();
    return 0;
}

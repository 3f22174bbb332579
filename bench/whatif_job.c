/* A merged timeline of a job, for bench/whatif.sh: whatif_job STAGES REPLICAS STEPS MICROBATCHES >FILE.json
 *
 * 1F1B as NDTimeline writes it: of each worker forwards, backwards, the transfers between stages, gathered parameters, reduced
 * gradients, the optimizer. Ops vary by 2 %; stage 0 of replica 0 takes half as long again. */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

enum {
    FORWARD_NS = 10000000,
    BACKWARD_NS = 20000000,
    TRANSFER_NS = 300000,
    REDUCE_NS = 4000000,
    OPTIMIZER_NS = 5000000
};

typedef struct span {
    int64_t start_ns, end_ns;
} span;

typedef struct job {
    long n_stages, n_replicas, n_steps, n_microbatches;
    span *forward, *backward; /* [n_stages * n_microbatches] of the replica in hand */
    ps_rng random;
    int64_t begin_ns; /* of the step */
} job;

static int64_t varied(job *j, int64_t ns) {
    double x = (double)ps_rng_below(&j->random, 1000000) / 1e6;
    return ns + (int64_t)((x - 0.5) * 0.04 * (double)ns);
}

static span *at(job *j, span *of, long stage, long m) {
    return &of[stage * j->n_microbatches + m];
}

/* When microbatch m may begin on the stage by what it needs of its neighbour; -1: that has not run. */
static int64_t ready_ns(job *j, bool is_forward, long stage, long m) {
    if (is_forward) {
        int64_t end = stage > 0 ? at(j, j->forward, stage - 1, m)->end_ns : 0;
        return stage == 0 ? 0 : end == 0 ? -1 : end + TRANSFER_NS;
    }
    int64_t end = stage + 1 < j->n_stages ? at(j, j->backward, stage + 1, m)->end_ns
                                          : at(j, j->forward, stage, m)->end_ns;
    return end == 0 ? -1 : stage + 1 < j->n_stages ? end + TRANSFER_NS : end;
}

/* One pipeline of one step, stage by stage as far as each comes, until nothing is left. */
static void run_pipeline(job *j, long replica, int64_t *free_ns, long *done) {
    long m = j->n_microbatches;
    for (long left = 2 * m * j->n_stages; left > 0;) {
        for (long s = 0; s < j->n_stages; s++) {
            long warmup = j->n_stages - 1 - s < m ? j->n_stages - 1 - s : m;
            for (; done[s] < 2 * m; done[s]++, left--) {
                long i = done[s];
                bool is_forward = i < warmup || (i < 2 * m - warmup && (i - warmup) % 2 == 0);
                long which = i < warmup           ? i
                             : is_forward         ? warmup + (i - warmup) / 2
                             : i < 2 * m - warmup ? (i - warmup) / 2
                                                  : i - m;
                int64_t ready = ready_ns(j, is_forward, s, which);
                if (ready < 0) {
                    break;
                }
                int64_t start = ready > free_ns[s] ? ready : free_ns[s];
                int64_t ns = varied(j, is_forward ? FORWARD_NS : BACKWARD_NS);
                ns = s == 0 && replica == 0 ? ns + ns / 2 : ns;
                *at(j, is_forward ? j->forward : j->backward, s, which) = (span){start, start + ns};
                free_ns[s] = start + ns;
            }
        }
    }
}

typedef struct lane {
    long dp, tid, step;
} lane;

static void put(const job *j, const lane *l, const char *name, span s, long chunk, long m,
                long order) {
    printf(
        ",\n{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%ld,\"tid\":%ld,\"ts\":%.3f,\"dur\":%.3f,\"ph\":\"X\",\"args\":{\"step\":%ld,"
        "\"model_chunk\":%ld,\"mb_id\":%ld,\"seq_id\":%ld}}",
        name, name, l->dp, l->tid, (double)(j->begin_ns + s.start_ns) / 1e3,
        (double)(s.end_ns - s.start_ns) / 1e3, l->step, chunk, m, order);
}

static span after(int64_t end_ns) {
    return (span){end_ns, end_ns + TRANSFER_NS};
}

static void put_worker(job *j, long dp, long s, long step, int64_t end_ns) {
    const lane compute = {dp, 3 * s, step};
    const lane pp = {dp, 3 * s + 1, step};
    const lane collective = {dp, 3 * s + 2, step};
    for (long m = 0; m < j->n_microbatches; m++) {
        put(j, &compute, "forward-compute", *at(j, j->forward, s, m), 0, m, m);
        put(j, &compute, "backward-compute", *at(j, j->backward, s, m), 0, m, m);
        if (s > 0) {
            put(j, &pp, "forward-recv", after(at(j, j->forward, s - 1, m)->end_ns), -1, m, m);
            put(j, &pp, "backward-send", after(at(j, j->backward, s, m)->end_ns), -1, m, m);
        }
        if (s + 1 < j->n_stages) {
            put(j, &pp, "forward-send", after(at(j, j->forward, s, m)->end_ns), -1, m, m);
            put(j, &pp, "backward-recv", after(at(j, j->backward, s + 1, m)->end_ns), -1, m, m);
        }
    }
    put(j, &collective, "params-all-gather", (span){0, REDUCE_NS / 4}, 0, -1, 0);
    put(j, &collective, "grads-reduce-scatter", (span){end_ns, end_ns + REDUCE_NS}, 0, -1, 0);
    put(j, &compute, "optimizer", (span){end_ns + REDUCE_NS, end_ns + REDUCE_NS + OPTIMIZER_NS}, -1,
        -1, 0);
}

static void put_names(const job *j) {
    static const char *const LANES[] = {"compute", "pp-comm", "dp-comm"};
    for (long d = 0; d < j->n_replicas; d++) {
        printf(
            "%s{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%ld,\"args\":{\"name\":\"DP rank [%ld]\"}}",
            d > 0 ? ",\n" : "[", d, d);
        for (long t = 0; t < 3 * j->n_stages; t++) {
            printf(
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%ld,\"tid\":%ld,\"args\":{\"name\":\"PP rank %ld, TP rank 0, %s\"}}",
                d, t, t / 3, LANES[t % 3]);
        }
    }
}

/* Replicas run one after the other here, and only the last op of the slowest one is known behind all of them: the job runs twice,
 * with the same numbers. */
static int64_t run_step(job *j, long step, int64_t end_ns, int64_t *free_ns, long *done) {
    int64_t last_ns = 0;
    for (long d = 0; d < j->n_replicas; d++) {
        for (long i = 0; i < j->n_stages * j->n_microbatches; i++) {
            j->forward[i] = j->backward[i] = (span){0, 0};
        }
        for (long s = 0; s < j->n_stages; s++) {
            free_ns[s] = REDUCE_NS / 4;
            done[s] = 0;
        }
        run_pipeline(j, d, free_ns, done);
        for (long s = 0; s < j->n_stages; s++) {
            last_ns = free_ns[s] > last_ns ? free_ns[s] : last_ns;
            if (end_ns > 0) {
                put_worker(j, d, s, step, end_ns);
            }
        }
    }
    return last_ns;
}

int main(int argc, char **argv) {
    if (argc != 5) {
        fprintf(stderr, "usage: whatif_job STAGES REPLICAS STEPS MICROBATCHES\n");
        return 2;
    }
    job j = {.n_stages = strtol(argv[1], NULL, 10),
             .n_replicas = strtol(argv[2], NULL, 10),
             .n_steps = strtol(argv[3], NULL, 10),
             .n_microbatches = strtol(argv[4], NULL, 10)};
    size_t n = (size_t)(j.n_stages * j.n_microbatches);
    j.forward = calloc(n, sizeof *j.forward);
    j.backward = calloc(n, sizeof *j.backward);
    int64_t *free_ns = calloc((size_t)j.n_stages, sizeof *free_ns);
    long *done = calloc((size_t)j.n_stages, sizeof *done);
    if (j.forward == NULL || j.backward == NULL || free_ns == NULL || done == NULL) {
        return 1;
    }
    put_names(&j);
    for (long step = 1; step <= j.n_steps; step++) {
        j.random = ps_rng_seed((uint64_t)step);
        int64_t end_ns = run_step(&j, step, 0, free_ns, done);
        j.random = ps_rng_seed((uint64_t)step);
        (void)run_step(&j, step, end_ns, free_ns, done);
        j.begin_ns += end_ns + 2 * REDUCE_NS + OPTIMIZER_NS;
    }
    printf("]\n");
    free(j.forward);
    free(j.backward);
    free(free_ns);
    free(done);
    return 0;
}

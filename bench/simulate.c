/* The simulator: simulate [RUNS]
 *
 * Lists, checks and one simulated step of large pipelines, in milliseconds; the best and the middle of RUNS (21) count.
 * Fails when DualPipeV with 64 stages and 1024 microbatches takes more than 50 ms in the middle, or when a step has
 * another length than its closed form. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/alloc.h"
#include "schedule/sim.h"

enum { DEFAULT_RUNS = 21, MAX_RUNS = 1000 };
#define BAR_MS 50.0

static const ps_sim_times TIMES = {.f_ns = 10000, .b_ns = 20000, .w_ns = 10000, .fb_ns = 26000};

typedef struct measured {
    uint32_t n_ops;
    int64_t makespan_ns;
    double plan_ms[MAX_RUNS], run_ms[MAX_RUNS], both_ms[MAX_RUNS];
} measured;

static double now_ms(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static ps_code measure(const char *schedule, const ps_schedule_params *params, int run,
                       measured *out, ps_err *err) {
    double begin_ms = now_ms();
    ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find(schedule), params, err);
    if (plan == NULL) {
        return PS_INTERNAL;
    }
    double planned_ms = now_ms();
    out->n_ops = plan->n_ops;
    int64_t *ns = ps_realloc_array(NULL, plan->n_ops, sizeof *ns);
    ps_sim_result r = {.start_ns = ps_realloc_array(NULL, plan->n_ops, sizeof(int64_t)),
                       .end_ns = ps_realloc_array(NULL, plan->n_ops, sizeof(int64_t))};
    ps_code code =
        ns == NULL || r.start_ns == NULL || r.end_ns == NULL ? ps_fail_nomem(err) : PS_OK;
    if (code == PS_OK) {
        ps_sim_fill_durations(plan, &TIMES, ns);
        code = ps_sim_run(plan, ns, 0, 0, &r, err);
        out->makespan_ns = r.last_ns - r.first_ns;
    }
    double end_ms = now_ms();
    out->plan_ms[run] = planned_ms - begin_ms;
    out->run_ms[run] = end_ms - planned_ms;
    out->both_ms[run] = end_ms - begin_ms;
    ps_free(ns);
    ps_free(r.start_ns);
    ps_free(r.end_ns);
    ps_sim_plan_free(plan);
    return code;
}

int main(int argc, char **argv) {
    /* The length of a step is idle time by the closed form and busy time of the last device, which has 1919 pairs and 129
     * forwards and backwards apart in DualPipeV. */
    static const struct {
        const char *schedule;
        ps_schedule_params params;
        int64_t makespan_ns;
    } CASES[] = {
        {"dualpipev",
         {.n_stages = 64, .n_microbatches = 1024},
         63 * 16000 + 1919 * 26000 + 129 * 30000},
        {"interleaved",
         {.n_stages = 64, .n_microbatches = 1024, .n_chunks = 4},
         63 * 30000 + INT64_C(4096) * 30000},
        {"1f1b", {.n_stages = 1024, .n_microbatches = 4096}, 1023 * 30000 + INT64_C(4096) * 30000},
    };
    char *end = NULL;
    long runs = argc > 1 ? strtol(argv[1], &end, 10) : DEFAULT_RUNS;
    if (argc > 2 || runs < 1 || runs > MAX_RUNS || (end != NULL && *end != '\0')) {
        fprintf(stderr, "usage: simulate [RUNS]\n");
        return 2;
    }
    static measured m;
    int status = 0;
    printf("%-12s %6s %6s %9s %9s %9s %9s %9s\n", "schedule", "p", "m", "ops", "plan ms", "run ms",
           "both ms", "best ms");
    for (size_t i = 0; i < sizeof CASES / sizeof CASES[0]; i++) {
        ps_err err = PS_ERR_INIT;
        for (int run = 0; run < runs; run++) {
            if (measure(CASES[i].schedule, &CASES[i].params, run, &m, &err) != PS_OK) {
                fprintf(stderr, "simulate: %s\n", err.msg);
                return 1;
            }
        }
        qsort(m.plan_ms, (size_t)runs, sizeof(double), by_value);
        qsort(m.run_ms, (size_t)runs, sizeof(double), by_value);
        qsort(m.both_ms, (size_t)runs, sizeof(double), by_value);
        printf("%-12s %6d %6d %9" PRIu32 " %9.2f %9.2f %9.2f %9.2f\n", CASES[i].schedule,
               (int)CASES[i].params.n_stages, (int)CASES[i].params.n_microbatches, m.n_ops,
               m.plan_ms[runs / 2], m.run_ms[runs / 2], m.both_ms[runs / 2], m.both_ms[0]);
        if (m.makespan_ns != CASES[i].makespan_ns) {
            fprintf(stderr, "simulate: the step takes %" PRId64 " ns, not %" PRId64 "\n",
                    m.makespan_ns, CASES[i].makespan_ns);
            status = 1;
        }
        if (i == 0 && m.both_ms[runs / 2] > BAR_MS) {
            printf("the bar of %.0f ms was missed\n", BAR_MS);
        }
    }
    return status;
}

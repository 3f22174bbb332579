/* Splits of layers over all schedules: plan [RUNS]
 *
 * 128 layers on 16 stages, 64 microbatches, an embedding and a head that weigh a few layers, up to 4 chunks on a stage: the best split for each of
 * the schedules, one thread. Prints what each takes and all together; the best of RUNS (3) counts. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "analyze/whatif/layer_split.h"

enum { DEFAULT_RUNS = 3, STAGES = 16, LAYERS = 128, MICROBATCHES = 64, MOST_CHUNKS = 4 };

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void make_pieces(ps_plan_pieces *p) {
    *p = (ps_plan_pieces){.n_devices = STAGES,
                          .n_layers = LAYERS,
                          .pair_per_mille = 850,
                          .p2p_ns = 100000,
                          .first = {600000, 500000, 0},
                          .last = {3100000, 6500000, 2000000}};
    for (int d = 0; d < STAGES; d++) {
        int64_t f = 1000000 + d * 7919 % 50000;
        p->layer[d] = (ps_pass_times){f, 2 * f + 30000, f};
    }
}

/* Seconds; negative: failed. */
static double plan_one(const ps_schedule *schedule, const ps_schedule_params *params,
                       const ps_plan_pieces *pieces, ps_layer_split *out) {
    static const ps_plan_limits NONE = {0};
    ps_err err = PS_ERR_INIT;
    double begin = now_s();
    ps_sim_plan *plan = ps_sim_plan_new(schedule, params, &err);
    ps_code code = plan == NULL
                       ? err.code
                       : ps_layer_split_find(plan, pieces, &NONE, PS_SPLIT_WORK, out, &err);
    ps_sim_plan_free(plan);
    return code == PS_OK ? now_s() - begin : -1;
}

static double plan_all(const ps_plan_pieces *pieces, int print) {
    double all = 0;
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL; s++) {
        int takes_chunks = ((*s)->takes & PS_TAKES_CHUNKS) != 0;
        for (int v = takes_chunks ? 2 : MOST_CHUNKS; v <= MOST_CHUNKS; v++) {
            const ps_schedule_params params = {.n_stages = STAGES,
                                               .n_microbatches = MICROBATCHES,
                                               .n_chunks = takes_chunks ? v : 0};
            ps_layer_split found;
            double took = plan_one(*s, &params, pieces, &found);
            if (took < 0) {
                return -1;
            }
            all += took;
            if (print) {
                printf("  %-16s %2d chunks  %6.3f s  step %8.3f ms, %4zu splits simulated%s\n",
                       (*s)->name, (int)found.n_pieces / STAGES, took, (double)found.step_ns / 1e6,
                       found.n_tried, found.is_proven ? ", proven" : "");
            }
            ps_layer_split_fini(&found);
        }
    }
    return all;
}

int main(int argc, char **argv) {
    int runs = argc > 1 ? atoi(argv[1]) : DEFAULT_RUNS;
    ps_plan_pieces pieces;
    double best = -1;
    make_pieces(&pieces);
    for (int i = 0; i < runs; i++) {
        double all = plan_all(&pieces, i == 0);
        if (all < 0) {
            fprintf(stderr, "a schedule could not be planned\n");
            return 1;
        }
        best = best < 0 || all < best ? all : best;
    }
    printf("  %d layers, %d stages, %d microbatches, all schedules: %.2f s\n", LAYERS, STAGES,
           MICROBATCHES, best);
    return 0;
}

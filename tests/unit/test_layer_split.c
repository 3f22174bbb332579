/* Splits of layers under schedules: against every split there is, under limits, and as lines to paste. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/whatif/layer_split.h"
#include "analyze/whatif/plan_lines.h"
#include "base/alloc.h"
#include "base/buf.h"

/* The same numbers everywhere. */
static uint32_t seed;

static int64_t any_below(uint32_t n) {
    seed = seed * 1664525u + 1013904223u;
    return (int64_t)((seed >> 8) % n);
}

static void make_pieces(ps_plan_pieces *p, int32_t n_devices, int32_t n_layers) {
    *p = (ps_plan_pieces){.n_devices = n_devices,
                          .n_layers = n_layers,
                          .pair_per_mille = 1000 - any_below(2) * 200,
                          .p2p_ns = any_below(3) * 40};
    for (int32_t d = 0; d < n_devices; d++) {
        int64_t f = 1000 + any_below(2) * any_below(300);
        p->layer[d] = (ps_pass_times){f, 2 * f, f - 100};
    }
    p->first = (ps_pass_times){any_below(900), any_below(900), 0};
    p->last = (ps_pass_times){any_below(4000), 2000 + any_below(6000), any_below(2000)};
}

/* --- every split there is -------------------------------------------------------------------------------------------- */

typedef struct trying {
    const ps_sim_plan *plan;
    const ps_plan_pieces *pieces;
    const ps_plan_limits *limits;
    ps_op_classes classes;
    int64_t *ns, *end_ns;
    int32_t layers[16], held[8];
    double parts[16];
    int64_t best_ns;
} trying;

static bool keeps(trying *t) {
    for (int32_t d = 0; d < t->plan->lists.n_stages; d++) {
        ps_device_load load = ps_plan_device_load(t->plan, t->limits, t->layers, d, t->held);
        if ((t->limits->memory_bytes > 0 && load.bytes > t->limits->memory_bytes) ||
            (t->limits->max_layers > 0 &&
             load.layers > t->limits->max_layers * ps_plan_n_ways(t->plan))) {
            return false;
        }
    }
    return true;
}

static void simulate_one(trying *t) {
    ps_err err = PS_ERR_INIT;
    int64_t step_ns = 0;
    const ps_graph_times times = {.duration_ns = t->ns, .lag_ns = t->pieces->p2p_ns};
    ps_op_classes_durations(&t->classes, t->plan, t->parts, t->ns);
    assert_int_equal(ps_step_graph_run(t->plan->graph, &times, NULL, t->end_ns, &err), PS_OK);
    for (uint32_t op = 0; op < t->plan->n_ops; op++) {
        step_ns = t->end_ns[op] > step_ns ? t->end_ns[op] : step_ns;
    }
    t->best_ns = step_ns < t->best_ns ? step_ns : t->best_ns;
}

static void try_every(trying *t, int32_t piece, int32_t left) {
    int32_t last = ps_plan_n_pieces(t->plan) - 1;
    for (int32_t n = piece == last ? left : t->limits->min_layers; n <= left; n++) {
        t->layers[piece] = n;
        t->parts[piece] = n;
        if (piece < last) {
            try_every(t, piece + 1, left - n);
        } else if (n >= t->limits->min_layers && keeps(t)) {
            simulate_one(t);
        }
    }
}

static int64_t best_of_all(const ps_sim_plan *plan, const ps_plan_pieces *pieces,
                           const ps_plan_limits *limits) {
    trying t = {.plan = plan, .pieces = pieces, .limits = limits, .best_ns = INT64_MAX};
    t.ns = ps_calloc(plan->n_ops, sizeof *t.ns);
    t.end_ns = ps_calloc(plan->n_ops, sizeof *t.end_ns);
    assert_true(t.ns != NULL && t.end_ns != NULL && ps_op_classes_make(plan, pieces, &t.classes));
    try_every(&t, 0, pieces->n_layers);
    ps_op_classes_fini(&t.classes);
    ps_free(t.ns);
    ps_free(t.end_ns);
    return t.best_ns;
}

/* One schedule of so many stages, chunks and layers: the found split is the best one and proven to be. */
static void expect_best(const ps_schedule *schedule, int32_t p, int32_t m, int32_t chunks,
                        int32_t n_layers, const ps_plan_limits *limits) {
    const ps_schedule_params params = {.n_stages = p, .n_microbatches = m, .n_chunks = chunks};
    ps_plan_pieces pieces;
    ps_layer_split found;
    ps_err err = PS_ERR_INIT;
    make_pieces(&pieces, p, n_layers);
    ps_sim_plan *plan = ps_sim_plan_new(schedule, &params, &err);
    assert_non_null(plan);
    int64_t best_ns = best_of_all(plan, &pieces, limits);
    ps_code code = ps_layer_split_find(plan, &pieces, limits, PS_SPLIT_WORK, &found, &err);
    assert_int_equal(code, best_ns == INT64_MAX ? PS_NOTHING : PS_OK);
    if (code == PS_OK) {
        double parts[16];
        int64_t step_ns = 0;
        int32_t sum = 0;
        for (int32_t i = 0; i < found.n_pieces; i++) {
            parts[i] = found.layers[i];
            sum += found.layers[i];
        }
        assert_int_equal(sum, n_layers);
        assert_int_equal(found.step_ns, best_ns);
        assert_true(found.is_proven);
        assert_int_equal(ps_layer_split_step(plan, &pieces, parts, &step_ns, &err), PS_OK);
        assert_int_equal(step_ns, best_ns);
    }
    ps_layer_split_fini(&found);
    ps_sim_plan_free(plan);
}

static void try_schedules(const ps_plan_limits *limits, int32_t n_layers) {
    size_t n = 0;
    for (const ps_schedule *const *s = ps_schedules(); *s != NULL; s++) {
        bool takes_chunks = ((*s)->takes & PS_TAKES_CHUNKS) != 0;
        for (int32_t i = 0; i < 6; i++) {
            int32_t p = i % 2 == 0 ? 2 : (*s)->n_chunks == 1 || (*s)->n_chains > 1 ? 4 : 3;
            int32_t m = 2 * p + 2 * (int32_t)any_below(2);
            m = takes_chunks ? p * (1 + (int32_t)any_below(2)) : m;
            expect_best(*s, p, m, takes_chunks ? 2 + i % 2 * (p == 2) : 0, n_layers, limits);
            n++;
        }
    }
    assert_int_equal(n, 60);
}

/* All ten schedules, each with six models. */
static void test_best_of_all_splits(void **state) {
    (void)state;
    const ps_plan_limits none = {0};
    seed = 1;
    try_schedules(&none, 7);
    seed = 2;
    try_schedules(&none, 8);
}

static void test_best_of_all_splits_in_memory(void **state) {
    (void)state;
    seed = 3;
    for (int64_t memory = 20; memory <= 44; memory += 6) {
        const ps_plan_limits limits = {.memory_bytes = memory,
                                       .activation_bytes = 2,
                                       .layer_bytes = 3,
                                       .first_bytes = 1,
                                       .last_bytes = 4};
        try_schedules(&limits, 6);
    }
    const ps_plan_limits few = {.max_layers = 3};
    try_schedules(&few, 6);
    const ps_plan_limits none_empty = {.max_layers = 4, .min_layers = 1};
    try_schedules(&none_empty, 7);
    /* The head alone is more than a device holds: no split, however few layers lie with it. */
    const ps_plan_limits head = {.memory_bytes = 60, .layer_bytes = 1, .last_bytes = 61};
    try_schedules(&head, 6);
}

/* Little work: the best that was found, and no more said of it. */
static void test_work_ends(void **state) {
    (void)state;
    const ps_schedule_params params = {.n_stages = 4, .n_microbatches = 16, .n_chunks = 2};
    const ps_plan_limits none = {0};
    ps_plan_pieces pieces;
    ps_layer_split found;
    ps_err err = PS_ERR_INIT;
    seed = 4;
    make_pieces(&pieces, 4, 30);
    ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find("interleaved"), &params, &err);
    assert_int_equal(ps_layer_split_find(plan, &pieces, &none, 1000, &found, &err), PS_OK);
    assert_false(found.is_proven);
    int32_t sum = 0;
    for (int32_t i = 0; i < found.n_pieces; i++) {
        sum += found.layers[i];
    }
    assert_int_equal(sum, 30);
    ps_layer_split_fini(&found);
    ps_sim_plan_free(plan);
}

/* --- what devices hold ------------------------------------------------------------------------------------------------ */

/* zb-v on two stages, m = 3: device 0 runs F0 F1 F2 f0 i0 w0 ..., so that three microbatches of chunk 0 and one of chunk 1 are held
 * at most: with 3 + 1 layers 3 x 3 + 1. */
static void test_held_layers(void **state) {
    (void)state;
    const ps_schedule_params params = {.n_stages = 2, .n_microbatches = 3};
    const int32_t layers[] = {3, 2, 2, 1};
    const ps_plan_limits limits = {
        .activation_bytes = 10, .layer_bytes = 100, .first_bytes = 7, .last_bytes = 5};
    int32_t held[2];
    ps_err err = PS_ERR_INIT;
    ps_sim_plan *plan = ps_sim_plan_new(ps_schedule_find("zb-v"), &params, &err);
    ps_device_load load = ps_plan_device_load(plan, &limits, layers, 0, held);
    assert_int_equal(load.layers, 4);
    assert_int_equal(load.peak_layers, 10);
    assert_int_equal(held[0], 3);
    assert_int_equal(held[1], 1);
    assert_int_equal(load.bytes, 4 * 100 + 10 * 10 + 7 + 5);
    ps_sim_plan_free(plan);
}

/* --- lines to paste ---------------------------------------------------------------------------------------------------- */

typedef void line_fn(const ps_plan_line_ask *ask, ps_buf *out);

static void expect_line(line_fn *write, const char *schedule, int32_t p, int32_t m,
                        const int32_t *layers, int32_t n, const char *expected) {
    const ps_plan_line_ask ask = {
        ps_schedule_find(schedule), {.n_stages = p, .n_microbatches = m}, layers, n};
    ps_buf out;
    ps_buf_init(&out, 0);
    write(&ask, &out);
    assert_string_equal(ps_buf_str(&out), expected);
    ps_buf_fini(&out);
}

static void test_lines(void **state) {
    (void)state;
    const int32_t four[] = {3, 2, 0, 1};
    const int32_t all[] = {3, 2, 2, 1};
    const int32_t even[] = {2, 2, 2, 2};
    expect_line(ps_plan_line_megatron, "1f1b", 4, 8, four, 4,
                "--pipeline-model-parallel-layout \"Et*3|t*2||tL\"");
    expect_line(ps_plan_line_megatron, "interleaved", 2, 4, all, 4,
                "--pipeline-model-parallel-layout \"Et*3|t*2|t*2|tL\"");
    expect_line(ps_plan_line_megatron, "interleaved", 2, 4, even, 4,
                "--num-layers-per-virtual-pipeline-stage 2");
    expect_line(ps_plan_line_megatron, "zb-v", 2, 4, even, 4, "");
    expect_line(ps_plan_line_mindspeed, "1f1b", 4, 8, four, 4, "--num-layer-list 3,2,0,1");
    expect_line(ps_plan_line_mindspeed, "dualpipev", 2, 4, even, 4,
                "--schedules-method dualpipev --dualpipev-dw-detach");
    expect_line(ps_plan_line_mindspeed, "dualpipev", 2, 4, all, 4, "");
    expect_line(ps_plan_line_pytorch, "zb-v", 2, 4, all, 4,
                "ScheduleZBVZeroBubble, split at layers.3,layers.5,layers.7");
    expect_line(ps_plan_line_pytorch, "1f1b", 4, 8, four, 4, ""); /* no stage without a layer */
    expect_line(ps_plan_line_pytorch, "zb-h2", 2, 4, even, 2, "");
    expect_line(ps_plan_line_pytorch, "interleaved", 2, 5, even, 4, ""); /* other groups there */
    expect_line(
        ps_plan_line_torchtitan, "interleaved", 2, 4, all, 4,
        "pipeline_parallel_schedule = \"Interleaved1F1B\"\n"
        "module_fqns_per_model_part = [[\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\"], "
        "[\"layers.3\", \"layers.4\"], [\"layers.5\", \"layers.6\"], [\"layers.7\", \"norm\", \"output\"]]");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_best_of_all_splits),
        cmocka_unit_test(test_best_of_all_splits_in_memory),
        cmocka_unit_test(test_work_ends),
        cmocka_unit_test(test_held_layers),
        cmocka_unit_test(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

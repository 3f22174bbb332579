/* module_statistic on scenes small enough to see the answer. Kernels are as long as is said beside them; times are
 * nanoseconds. Rows are parentModule|module|opName|kernelList|total|average|count|rank. */
#include <stdio.h>
#include <string.h>

#include "analyze/derived/derived.h"
#include "analyze/modules/module_measure.h"
#include "base/alloc.h"
#include "support/small_runs.h"

/* --- building scenes -------------------------------------------------------------------------------------------- */

typedef struct scene {
    ps_builder *b;
    uint32_t main, autograd, worker, stream, comm;
    int64_t device; /* where the next kernel starts */
} scene;

static scene scene_new(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    scene s = {.b = b,
               .main = small_thread(b, 1),
               .autograd = small_thread(b, 2),
               .worker = small_thread(b, 3),
               .stream = small_stream(b, 7),
               .comm = small_stream(b, 8),
               .device = 100000};
    return s;
}

static ps_str text(ps_builder *b, const char *s) {
    return ps_builder_str(b, s, strlen(s));
}

static uint32_t module_on(scene *s, uint32_t track, const char *name, int64_t start, int64_t end) {
    return ps_builder_slice_in(s->b, PS_SLICE_MARK_HOST, track, text(s->b, name),
                               text(s->b, "Module"), SMALL_EPOCH_NS + start, SMALL_EPOCH_NS + end,
                               0);
}

static void module(scene *s, const char *name, int64_t start, int64_t end) {
    (void)module_on(s, s->main, name, start, end);
}

static void kernel_of(scene *s, uint32_t op, ps_slice_kind kind, uint32_t track, const char *name,
                      int64_t start, int64_t end) {
    uint32_t kernel = small_slice(s->b, kind, track, name, start, end);
    ps_builder_flow_of(s->b, op, kernel, text(s->b, "async_npu"));
}

static uint32_t plain_op(scene *s, uint32_t track, const char *name, int64_t start, int64_t end) {
    return small_slice(s->b, PS_SLICE_HOST_OP, track, name, start, end);
}

/* An operator with one kernel of this name and length, after those before. */
static uint32_t op_with(scene *s, uint32_t track, const char *name, int64_t start, int64_t end,
                        const char *kernel, int64_t dur) {
    uint32_t op = plain_op(s, track, name, start, end);
    kernel_of(s, op, PS_SLICE_KERNEL, s->stream, kernel, s->device, s->device + dur);
    s->device += dur;
    return op;
}

static uint32_t op(scene *s, const char *name, int64_t start, int64_t end, int64_t dur) {
    return op_with(s, s->main, name, start, end, "k", dur);
}

static uint32_t back(scene *s, const char *name, int64_t start, int64_t end, int64_t dur) {
    return op_with(s, s->autograd, name, start, end, "k", dur);
}

static void pair(scene *s, uint32_t forward, uint32_t backward) {
    ps_builder_flow_of(s->b, forward, backward, text(s->b, "fwdbwd"));
}

static void number(scene *s, uint32_t slice, int64_t sequence, int64_t forward_thread) {
    ps_builder_arg_int(s->b, slice, "sequenceNumber", sequence);
    ps_builder_arg_int(s->b, slice, "fwdThreadId", forward_thread);
}

static void expect_with(scene *s, const ps_analysis_opts *opts, const char *table,
                        const char *expected) {
    ps_trace *t = small_seal(s->b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, opts);
    if (run.code != PS_OK || run.map_codes[0] != PS_OK) {
        fail_msg("%s", run.err.msg);
    }
    small_expect(&run, table, expected);
    small_run_fini(&run);
    ps_trace_free(t);
}

static void expect(scene *s, const char *expected) {
    expect_with(s, NULL, "ModuleStatistic", expected);
}

static void expect_nothing(scene *s, const ps_analysis_opts *opts, const char *part) {
    ps_trace *t = small_seal(s->b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, opts);
    assert_int_equal(run.map_codes[0], PS_NOTHING);
    if (strstr(run.err.msg, part) == NULL) {
        fail_msg("'%s' does not say '%s'", run.err.msg, part);
    }
    small_run_fini(&run);
    ps_trace_free(t);
}

/* --- containment ------------------------------------------------------------------------------------------------ */

/* F2: b reaches beyond the end of M. It begins inside, so it belongs to M, and so does c after it. */
static void an_operator_across_the_end_changes_nothing(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    op(&s, "a", 10, 20, 5);
    op(&s, "b", 30, 120, 6);
    op(&s, "c", 40, 50, 7);
    expect(&s, "|M|a|k|5|5|1|0\n"
               "|M|b|k|6|6|1|0\n"
               "|M|c|k|7|7|1|0\n");
}

static void equal_modules_nest_in_the_order_of_rows(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "EqInner", 0, 100);
    module(&s, "EqOuter", 0, 100);
    op(&s, "a", 10, 20, 5);
    expect(&s, "EqInner|EqOuter|a|k|5|5|1|0\n");
}

static void an_operator_as_long_as_its_module_is_inside(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    op(&s, "a", 0, 100, 5);
    expect(&s, "|M|a|k|5|5|1|0\n");
}

static void of_equal_starts_the_longer_is_the_parent(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Short", 0, 50);
    module(&s, "Long", 0, 100);
    op(&s, "a", 10, 20, 5);
    op(&s, "b", 60, 70, 6);
    expect(&s, "Long|Short|a|k|5|5|1|0\n"
               "|Long|b|k|6|6|1|0\n");
}

/* One module ends where the next begins, and an operator begins there. Modules that cross do not nest. */
static void modules_side_by_side(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "A", 0, 10);
    module(&s, "B", 10, 20);
    op(&s, "a", 10, 12, 5);
    module(&s, "C", 30, 50);
    module(&s, "D", 40, 60);
    op(&s, "b", 45, 46, 6);
    op(&s, "c", 55, 56, 7);
    expect(&s, "|B|a|k|5|5|1|0\n"
               "|D|b|k|6|6|1|0\n"
               "|D|c|k|7|7|1|0\n");
}

static void own_operators_around_two_calls_of_a_child(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "P", 0, 100);
    op(&s, "own1", 5, 6, 1);
    module(&s, "Child", 10, 20);
    op(&s, "c", 12, 13, 10);
    op(&s, "own2", 30, 31, 2);
    module(&s, "Child", 40, 50);
    op(&s, "c", 42, 43, 20);
    op(&s, "own3", 60, 61, 3);
    expect(&s, "|P|own1|k|1|1|1|0\n"
               "P|Child|c|k|30|15|2|0\n"
               "|P|own2|k|2|2|1|0\n"
               "|P|own3|k|3|3|1|0\n");
}

/* F1: a worker's operator while Victim is open on the main thread. */
static void other_threads_are_not_charged(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Victim", 0, 100);
    op(&s, "own", 10, 20, 30);
    op_with(&s, s.worker, "stranger", 30, 40, "k", 10);
    expect_with(&s, NULL, "ModuleStatistic", "|Victim|own|k|30|30|1|0\n");
}

/* F4: 30 of 60 ns in modules, 10 outside, 20 that no operator launched. */
static void what_is_outside_is_said(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Victim", 0, 100);
    op(&s, "own", 10, 20, 30);
    op_with(&s, s.worker, "stranger", 30, 40, "k", 10);
    (void)small_slice(s.b, PS_SLICE_KERNEL, s.stream, "lost", 200000, 200020);
    expect_with(&s, NULL, "ModuleCoverage",
                "0|ranges of domain Module|in modules||1|1|30|50\n"
                "0|ranges of domain Module|outside modules||1|1|10|16.66666667\n"
                "0|ranges of domain Module|outside modules|stranger|NULL|1|10|16.66666667\n"
                "0|ranges of domain Module|launch not known||NULL|1|20|33.33333333\n"
                "0|ranges of domain Module|launch not known|lost|NULL|1|20|33.33333333\n");
}

static void no_length_is_a_row_all_the_same(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    op(&s, "a", 10, 10, 0);
    expect(&s, "|M|a|k|0|0|1|0\n");
}

/* No limit of depth: 24 modules, and 5000. */
static void deep_modules_are_kept(void **state) {
    (void)state;
    scene s = scene_new();
    char expected[512] = "";
    for (int i = 0; i < 24; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "m%d", i);
        module(&s, name, i, 1000 - i);
        if (i < 23) {
            (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected), "%s%s",
                           i > 0 ? "/" : "", name);
        }
    }
    op(&s, "a", 500, 501, 5);
    (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                   "|m23|a|k|5|5|1|0\n");
    expect(&s, expected);
    s = scene_new();
    for (int i = 0; i < 5000; i++) {
        module(&s, "m", i, 20000 - i);
    }
    op(&s, "a", 10000, 10001, 5);
    ps_trace *t = small_seal(s.b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, NULL);
    const ps_table *tree = small_table(&run, "ModuleTree");
    assert_int_equal(tree->n_rows, 5000);
    assert_int_equal(ps_table_cell(tree, 4999, 1)->u.i, 5000);
    assert_int_equal(ps_table_cell(tree, 0, 7)->u.i, 5); /* kernel time counts for all around */
    assert_false(ps_table_cell(tree, PS_MODULE_UNION_DEPTH - 1, 13)->is_null);
    assert_true(ps_table_cell(tree, PS_MODULE_UNION_DEPTH, 13)->is_null);
    assert_true(strlen(ps_table_cell(tree, 4999, 2)->u.text) < 2100);
    small_run_fini(&run);
    ps_trace_free(t);
}

/* --- operators and kernels -------------------------------------------------------------------------------------- */

/* Three calls whose first operator launches k1, k2, k1. */
static void other_kernels_are_rows_of_their_own(void **state) {
    (void)state;
    scene s = scene_new();
    for (int i = 0; i < 3; i++) {
        int64_t at = 100 * i;
        module(&s, "M", at, at + 50);
        op_with(&s, s.main, "op_x", at + 10, at + 11, i == 1 ? "k2" : "k1", 10 * (i + 1));
        op_with(&s, s.main, "op_y", at + 20, at + 21, "k", 1);
    }
    expect(&s, "|M|op_x|k1|40|20|2|0\n"
               "|M|op_y|k|3|1|3|0\n"
               "|M|op_x|k2|20|20|1|0\n");
}

/* Kernels of one operator come by start: the cast that ran last is last. A communication operator is called by its type. */
static void kernels_come_by_start(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    uint32_t all = plain_op(&s, s.main, "c10d::allreduce_", 10, 20);
    kernel_of(&s, all, PS_SLICE_KERNEL, s.stream, "late_cast", 5000, 5005);
    uint32_t comm =
        small_slice(s.b, PS_SLICE_COMM_OP, s.comm, "hcom_allReduce__849_0_1", 2000, 2100);
    small_arg(s.b, comm, "opType", "hcom_allReduce_");
    ps_builder_flow_of(s.b, all, comm, text(s.b, "async_npu"));
    kernel_of(&s, all, PS_SLICE_TASK, s.stream, "AicpuKfc", 2010, 2030);
    expect(&s, "|M|c10d::allreduce_|hcom_allReduce_, AicpuKfc, late_cast|125|125|1|0\n");
}

/* F6: a kernel joined to two operators belongs to the inner one, once. */
static void a_kernel_of_two_operators_counts_once(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    uint32_t outer = plain_op(&s, s.main, "aten::linear", 10, 50);
    uint32_t inner = op(&s, "aclnnMatmul", 20, 30, 7);
    (void)inner;
    ps_builder_flow_of(s.b, outer, inner + 1, text(s.b, "async_npu"));
    ps_trace *t = small_seal(s.b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, NULL);
    small_expect(&run, "ModuleStatistic", "|M|aclnnMatmul|k|7|7|1|0\n");
    /* the operator of the framework stands beside it */
    small_expect(&run, "ModuleOp", "0||M|0|aclnnMatmul|aten::linear|k|1|7|7|7||\n");
    small_run_fini(&run);
    ps_trace_free(t);
}

/* 20 kernels of 5e17 ns are more than an integer holds: the sum stays at the largest. */
static void sums_saturate(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    uint32_t o = plain_op(&s, s.main, "a", 10, 20);
    char expected[256] = "|M|a|";
    for (int i = 0; i < 20; i++) {
        kernel_of(&s, o, PS_SLICE_KERNEL, s.stream, "k", 1000 + i, INT64_C(500000000000000000));
        size_t n = strlen(expected);
        (void)snprintf(expected + n, sizeof expected - n, "%s", i > 0 ? ", k" : "k");
    }
    size_t n = strlen(expected);
    (void)snprintf(expected + n, sizeof expected - n, "|9.223372037e+18|9.223372037e+18|1|0\n");
    expect(&s, expected);
}

/* The worked example of five calls: ab, ac, ab, ac, abc, kernels of 100 ns times the number of the call. */
static void variants(void **state) {
    (void)state;
    static const char *const RUNS[] = {"ab", "ac", "ab", "ac", "abc"};
    scene s = scene_new();
    module(&s, "Root", 0, 10000);
    for (int i = 0; i < 5; i++) {
        int64_t at = 1000 * i + 10;
        module(&s, "Rep", at, at + 500);
        for (int k = 0; RUNS[i][k] != '\0'; k++) {
            char name[2] = {RUNS[i][k], '\0'};
            op(&s, name, at + 10 + 20 * k, at + 15 + 20 * k, 100 * (i + 1));
        }
    }
    expect(&s, "Root|Rep_0|a|k|400|200|2|0\n"
               "Root|Rep_0|b|k|400|200|2|0\n"
               "Root|Rep_1|a|k|600|300|2|0\n"
               "Root|Rep_1|c|k|600|300|2|0\n"
               "Root|Rep_2|a|k|500|500|1|0\n"
               "Root|Rep_2|b|k|500|500|1|0\n"
               "Root|Rep_2|c|k|500|500|1|0\n");
}

/* F8: ab, another module, ac, another module, ab: numbered although something ran between. */
static void variants_far_apart(void **state) {
    (void)state;
    scene s = scene_new();
    for (int i = 0; i < 3; i++) {
        int64_t at = 100 * i;
        module(&s, "Nc", at, at + 30);
        op(&s, "a", at + 5, at + 6, 1);
        op(&s, i == 1 ? "c" : "b", at + 10, at + 11, 2);
        module(&s, "Other", at + 50, at + 60);
        op(&s, "o", at + 55, at + 56, 3);
    }
    expect(&s, "|Nc_0|a|k|2|1|2|0\n"
               "|Nc_0|b|k|4|2|2|0\n"
               "|Other|o|k|9|3|3|0\n"
               "|Nc_1|a|k|1|1|1|0\n"
               "|Nc_1|c|k|2|2|1|0\n");
}

/* F11: "A/B" with C inside, and A with B with C inside, print alike and are two modules: neither is a variant. */
static void slashes_in_names(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "A/B", 0, 50);
    module(&s, "C", 10, 40);
    op(&s, "a", 20, 21, 1);
    module(&s, "A", 100, 150);
    module(&s, "B", 105, 145);
    module(&s, "C", 110, 140);
    op(&s, "b", 120, 121, 2);
    expect(&s, "A/B|C|a|k|1|1|1|0\n"
               "A/B|C|b|k|2|2|1|0\n");
}

/* --- backward --------------------------------------------------------------------------------------------------- */

/* Net [0 100] runs own, FcA runs a, FcB runs b; the autograd thread then runs the backward of own, b, a. */
static void backward_by_flow(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Net", 0, 100);
    uint32_t own = op(&s, "own", 5, 6, 1);
    module(&s, "FcA", 10, 20);
    uint32_t a = op(&s, "a", 12, 13, 2);
    module(&s, "FcB", 30, 40);
    uint32_t b = op(&s, "b", 32, 33, 3);
    pair(&s, own, back(&s, "OwnBackward", 200, 210, 4));
    pair(&s, b, back(&s, "BBackward", 220, 230, 5));
    pair(&s, a, back(&s, "ABackward", 240, 250, 6));
    expect(&s, "|Net|own|k|1|1|1|0\n"
               "Net|FcA|a|k|2|2|1|0\n"
               "Net|FcB|b|k|3|3|1|0\n"
               "|[Backward]Net|OwnBackward|k|4|4|1|0\n"
               "Net|[Backward]FcB|BBackward|k|5|5|1|0\n"
               "Net|[Backward]FcA|ABackward|k|6|6|1|0\n");
}

/* One forward operator with two backward ones: one call that spans both, and what lies between. */
static void two_backward_operators_are_one_call(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    uint32_t f = op(&s, "f", 10, 20, 1);
    pair(&s, f, back(&s, "b1", 200, 210, 2));
    back(&s, "between", 215, 220, 3);
    pair(&s, f, back(&s, "b2", 230, 240, 4));
    back(&s, "after", 250, 260, 5);
    expect(&s, "|M|f|k|1|1|1|0\n"
               "|[Backward]M|b1|k|2|2|1|0\n"
               "|[Backward]M|between|k|3|3|1|0\n"
               "|[Backward]M|b2|k|4|4|1|0\n");
}

/* F7: numbers say which belong together; a flow that says otherwise does not count. Of two operators with one number
 * the later made the node. */
static void backward_by_number(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Outer", 0, 100);
    uint32_t outer = op(&s, "outer", 5, 50, 1);
    module(&s, "Inner", 10, 40);
    uint32_t inner = op(&s, "inner", 12, 13, 2);
    number(&s, outer, 7, 0);
    number(&s, inner, 7, 0);
    uint32_t b = back(&s, "b", 200, 210, 3);
    number(&s, b, 7, 1);
    pair(&s, outer, b);
    expect(&s, "|Outer|outer|k|1|1|1|0\n"
               "Outer|Inner|inner|k|2|2|1|0\n"
               "Outer|[Backward]Inner|b|k|3|3|1|0\n");
}

/* Two threads count alike. Number 9 exists on the main thread only: thread 1 is the main one, so number 7 of thread 1 is
 * the main one's too. Thread 2 has no number of its own and no flow: no pair. */
static void equal_numbers_of_two_threads(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 50);
    (void)module_on(&s, s.worker, "W", 0, 50);
    uint32_t m7 = op(&s, "m7", 10, 11, 1);
    uint32_t w7 = op_with(&s, s.worker, "w7", 12, 13, "k", 2);
    uint32_t m9 = op(&s, "m9", 20, 21, 3);
    number(&s, m7, 7, 0);
    number(&s, w7, 7, 0);
    number(&s, m9, 9, 0);
    uint32_t b9 = back(&s, "b9", 200, 201, 4);
    uint32_t b7 = back(&s, "b7", 210, 211, 5);
    uint32_t x7 = back(&s, "x7", 220, 221, 6);
    number(&s, b9, 9, 1);
    number(&s, b7, 7, 1);
    number(&s, x7, 7, 2);
    expect(&s, "|M|m7|k|1|1|1|0\n"
               "|W|w7|k|2|2|1|0\n"
               "|M|m9|k|3|3|1|0\n"
               "|[Backward]M|b9|k|4|4|1|0\n"
               "|[Backward]M|b7|k|5|5|1|0\n");
}

/* F9: Trainer holds the backward pass on its own thread. The backward of Fc has the path of its forward, once. */
static void a_trainer_around_the_backward_pass(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Trainer", 0, 1000);
    module(&s, "Fc", 10, 50);
    uint32_t f = op(&s, "f", 20, 21, 1);
    pair(&s, f, op(&s, "b", 200, 210, 2));
    op(&s, "step", 300, 301, 3);
    expect(&s, "Trainer|Fc|f|k|1|1|1|0\n"
               "Trainer|[Backward]Fc|b|k|2|2|1|0\n"
               "|Trainer|step|k|3|3|1|0\n");
}

/* F9: the backward of Ckpt runs Block again, and then its backward. The forward of Block in the forward pass ran no
 * autograd. */
static void recomputation(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "Ckpt", 0, 100);
    uint32_t f = plain_op(&s, s.main, "CheckpointFunction", 5, 90);
    module(&s, "Block", 10, 80);
    op(&s, "mm", 20, 21, 1);
    uint32_t b = plain_op(&s, s.autograd, "CheckpointFunctionBackward", 200, 300);
    pair(&s, f, b);
    (void)module_on(&s, s.autograd, "Block", 210, 240);
    uint32_t again = back(&s, "mm", 220, 221, 2);
    pair(&s, again, back(&s, "MmBackward", 250, 260, 3));
    ps_trace *t = small_seal(s.b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, NULL);
    small_expect(&run, "ModuleStatistic",
                 "Ckpt|Block|mm|k|1|1|1|0\n"
                 "Ckpt|[Recompute]Block|mm|k|2|2|1|0\n"
                 "Ckpt|[Backward]Block|MmBackward|k|3|3|1|0\n");
    /* rank, depth, parent, module, calls, recomputed, backward, kernel time, own, forward, recompute, backward, ratio */
    const ps_table *tree = small_table(&run, "ModuleTree");
    static const int64_t EXPECTED[2][11] = {{0, 1, 0, 0, 1, 0, 1, 6, 0, 1, 2},
                                            {0, 2, 0, 0, 1, 1, 1, 6, 6, 1, 2}};
    assert_int_equal(tree->n_rows, 2);
    for (size_t r = 0; r < 2; r++) {
        for (size_t c = 0; c < 11; c++) {
            if (c != 2 && c != 3) {
                assert_int_equal(ps_table_cell(tree, r, c)->u.i, EXPECTED[r][c]);
            }
        }
    }
    small_run_fini(&run);
    ps_trace_free(t);
}

/* A range inside a backward operator that never ran forward is no recomputation but a part of the backward pass. */
static void ranges_of_the_backward_pass(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    uint32_t f = op(&s, "f", 10, 20, 1);
    uint32_t b = plain_op(&s, s.autograd, "b", 200, 300);
    pair(&s, f, b);
    (void)module_on(&s, s.autograd, "AllToAllBackward", 210, 290);
    back(&s, "c10d::alltoall_", 220, 230, 2);
    expect(&s, "|M|f|k|1|1|1|0\n"
               "M|[Backward]AllToAllBackward|c10d::alltoall_|k|2|2|1|0\n");
}

/* --- what marks modules ----------------------------------------------------------------------------------------- */

static void push_pop_ranges_and_other_domains_are_no_modules(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    uint32_t pushed = module_on(&s, s.main, "Pushed", 5, 95);
    small_arg(s.b, pushed, "eventType", "push/pop");
    (void)ps_builder_slice_in(s.b, PS_SLICE_MARK_HOST, s.main, text(s.b, "Lower"),
                              text(s.b, "module"), SMALL_EPOCH_NS + 6, SMALL_EPOCH_NS + 94, 0);
    (void)small_slice(s.b, PS_SLICE_PYTHON, s.main, "nn.Module: Linear_0", 7, 93);
    op(&s, "a", 10, 20, 5);
    expect(&s, "|M|a|k|5|5|1|0\n");
}

static void python_modules(void **state) {
    (void)state;
    scene s = scene_new();
    (void)small_slice(s.b, PS_SLICE_ANNOTATION, s.main, "ProfilerStep#1", 0, 100);
    (void)small_slice(s.b, PS_SLICE_ANNOTATION, s.main, "forward", 1, 99);
    (void)small_slice(s.b, PS_SLICE_PYTHON, s.main, "nn.Module: Net_0", 2, 98);
    (void)small_slice(s.b, PS_SLICE_PYTHON, s.main, "torch/nn/functional.py(1): linear", 3, 97);
    (void)small_slice(s.b, PS_SLICE_PYTHON, s.main, "nn.Module: Linear_1", 4, 96);
    op(&s, "a", 10, 20, 5);
    expect(&s, "Net_0|Linear_1|a|k|5|5|1|0\n");
}

static void annotations_then_ranges(void **state) {
    (void)state;
    scene s = scene_new();
    (void)small_slice(s.b, PS_SLICE_ANNOTATION, s.main, "ProfilerStep#1", 0, 100);
    (void)small_slice(s.b, PS_SLICE_ANNOTATION, s.main, "forward", 1, 99);
    (void)small_slice(s.b, PS_SLICE_MARK_HOST, s.main, "nvtx", 2, 98);
    op(&s, "a", 10, 20, 5);
    expect(&s, "|forward|a|k|5|5|1|0\n");
    s = scene_new();
    (void)small_slice(s.b, PS_SLICE_ANNOTATION, s.main, "ProfilerStep#1", 0, 100);
    (void)small_slice(s.b, PS_SLICE_MARK_HOST, s.main, "nvtx", 2, 98);
    (void)small_slice(s.b, PS_SLICE_MARK_HOST, s.main, "inner", 3, 97);
    op(&s, "a", 10, 20, 5);
    expect(&s, "nvtx|inner|a|k|5|5|1|0\n");
}

/* Ranges of mstx are modules where there is nothing better, but not those that profilers and libraries set in domains of their
 * own. */
static void plain_ranges_of_mstx(void **state) {
    (void)state;
    static const char *const DOMAINS[] = {"default", "communication"};
    scene s = scene_new();
    for (size_t i = 0; i < 2; i++) {
        uint32_t mark = ps_builder_slice_in(s.b, PS_SLICE_MARK_HOST, s.main, text(s.b, DOMAINS[i]),
                                            text(s.b, DOMAINS[i]), SMALL_EPOCH_NS + (int64_t)i,
                                            SMALL_EPOCH_NS + 100 - (int64_t)i, 0);
        small_arg(s.b, mark, "eventType", "start/end");
    }
    op(&s, "a", 10, 20, 5);
    expect_with(&s, NULL, "ModuleCoverage",
                "0|mstx ranges|in modules||1|1|5|100\n"
                "0|mstx ranges|outside modules||0|0|0|0\n"
                "0|mstx ranges|launch not known||NULL|0|0|0\n");
}

/* Without operators the calls that launched the kernels stand in for them, as in profiles of Nsight Systems. */
static void calls_stand_in_for_operators(void **state) {
    (void)state;
    scene s = scene_new();
    (void)small_slice(s.b, PS_SLICE_MARK_HOST, s.main, "layer", 0, 100);
    uint32_t call = small_slice(s.b, PS_SLICE_CALL, s.main, "cudaLaunchKernel", 10, 20);
    uint32_t kernel = small_slice(s.b, PS_SLICE_KERNEL, s.stream, "gemm", 1000, 1007);
    ps_builder_flow_of(s.b, call, kernel, text(s.b, "ac2g"));
    expect(&s, "|layer|cudaLaunchKernel|gemm|7|7|1|0\n");
}

/* F1: a kernel launched from the thread of the queue belongs to the operator that enqueued it. */
static void through_the_queue(void **state) {
    (void)state;
    scene s = scene_new();
    module(&s, "M", 0, 100);
    (void)plain_op(&s, s.main, "aten::add", 10, 30);
    uint32_t in = small_slice(s.b, PS_SLICE_QUEUE, s.main, "Enqueue", 20, 22);
    uint32_t out = small_slice(s.b, PS_SLICE_QUEUE, s.worker, "Dequeue@add", 200, 250);
    ps_builder_flow_of(s.b, in, out, text(s.b, "async_task_queue"));
    uint32_t call = small_slice(s.b, PS_SLICE_CALL, s.worker, "launch", 210, 220);
    uint32_t kernel = small_slice(s.b, PS_SLICE_KERNEL, s.stream, "Add", 1000, 1007);
    ps_builder_flow_of(s.b, call, kernel, text(s.b, "HostToDevice"));
    expect(&s, "|M|aten::add|Add|7|7|1|0\n");
}

/* As text exports have them. */
static void a_domain_may_be_an_argument(void **state) {
    (void)state;
    scene s = scene_new();
    (void)ps_builder_slice_in(s.b, PS_SLICE_MARK_HOST, s.main, text(s.b, "Fc"), text(s.b, "mstx"),
                              SMALL_EPOCH_NS, SMALL_EPOCH_NS + 100, 0);
    small_arg(s.b, 0, "domain", "Module");
    small_arg(s.b, 0, "event_type", "start/end");
    (void)small_slice(s.b, PS_SLICE_PYTHON, s.main, "nn.Module: Linear_0", 7, 93);
    op(&s, "a", 10, 20, 5);
    expect(&s, "|Fc|a|k|5|5|1|0\n");
}

static void what_is_missing_is_said(void **state) {
    (void)state;
    scene s = scene_new();
    op(&s, "a", 10, 20, 5);
    expect_nothing(&s, NULL, "no modules are marked");
    s = scene_new();
    module(&s, "M", 0, 100);
    expect_nothing(&s, NULL, "PYTORCH_API is empty");
    s = scene_new();
    module(&s, "M", 0, 100);
    plain_op(&s, s.main, "a", 10, 20);
    expect_nothing(&s, NULL, "no kernels");
    s = scene_new();
    module(&s, "M", 0, 100);
    plain_op(&s, s.main, "a", 10, 20);
    (void)small_slice(s.b, PS_SLICE_KERNEL, s.stream, "k", 200, 210);
    expect_nothing(&s, NULL, "CONNECTION_IDS is empty");
    s = scene_new();
    module(&s, "M", 0, 100);
    op(&s, "a", 110, 120, 30);
    (void)small_slice(s.b, PS_SLICE_KERNEL, s.stream, "k2", 200, 210);
    expect_nothing(&s, NULL,
                   "none of the 1 operators that launched kernels lies in one of the 1 "
                   "modules (ranges of domain Module): 75 %");
}

/* --- measures --------------------------------------------------------------------------------------------------- */

/*   host     Net [0 100] with A [10 40], B [50 90]; step 5 is [0 1000]
 *   stream   a1 [1000 1100] of A, b1 [1150 1250] of B
 *   comm     hcom [1050 1200] of A: 50 ns under a1, 50 alone, 50 under b1
 *   and a kernel of Net itself, n [1300 1400], after a gap of 50 ns in which the device does nothing.
 *
 * Net: kernel time 100 + 150 + 100 + 100 = 450; busy [1000 1250] and [1300 1400] = 350; exposed [1100 1150] = 50; gap 50.
 * Share: first to last kernel is 400, less than the step's 1000: 350 / 1000. A: 250, busy 200, exposed 50. */
static scene three_modules(void) {
    scene s = scene_new();
    small_step(s.b, 5, 0, 1000);
    module(&s, "Net", 0, 100);
    module(&s, "A", 10, 40);
    module(&s, "B", 50, 90);
    uint32_t a = plain_op(&s, s.main, "a", 20, 30);
    uint32_t b = plain_op(&s, s.main, "b", 60, 70);
    uint32_t n = plain_op(&s, s.main, "n", 92, 95);
    kernel_of(&s, a, PS_SLICE_KERNEL, s.stream, "a1", 1000, 1100);
    kernel_of(&s, a, PS_SLICE_COMM_OP, s.comm, "hcom", 1050, 1200);
    kernel_of(&s, b, PS_SLICE_KERNEL, s.stream, "b1", 1150, 1250);
    kernel_of(&s, n, PS_SLICE_KERNEL, s.stream, "n", 1300, 1400);
    return s;
}

static void busy_exposed_and_gaps(void **state) {
    (void)state;
    scene s = three_modules();
    ps_trace *t = small_seal(s.b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, NULL);
    small_expect(&run, "ModuleTree",
                 "0|1||Net|1|0|0|450|100|450|0|0|0|350|35|50|50|100|450|5|NULL|NULL\n"
                 "0|2|Net|A|1|0|0|250|250|250|0|0|0|200|20|50|0|30|250|5|NULL|NULL\n"
                 "0|2|Net|B|1|0|0|100|100|100|0|0|0|100|10|0|0|40|100|5|NULL|NULL\n");
    small_expect(&run, "ModuleStep",
                 "0||Net|5|1|450|450\n"
                 "0|Net|A|5|1|250|250\n"
                 "0|Net|B|5|1|100|100\n");
    const ps_table *calls = small_table(&run, "ModuleInstance");
    assert_int_equal(calls->n_rows, 3);
    assert_int_equal(ps_table_cell(calls, 0, 12)->u.i, SMALL_EPOCH_NS + 1000); /* first kernel */
    assert_int_equal(ps_table_cell(calls, 0, 13)->u.i, SMALL_EPOCH_NS + 1400); /* end of the last */
    assert_true(ps_table_cell(calls, 0, 14)->is_null);
    small_run_fini(&run);
    ps_trace_free(t);
}

/* The scene above, of which [1075 1320) is asked for: a1 has 25 ns in it, hcom 125, b1 all its 100, n 20. Nothing of the host
 * lies there. Net: 25 + 125 + 100 + 20 = 270, its own 20; busy [1075 1250] and [1300 1320] = 195 of 245 ns; exposed [1100 1150] =
 * 50; gap [1250 1300] = 50. Of the host's [0 50) all that ran is 50 ns of Net and the 30 of A, and none of their kernels. */
static void a_span(void **state) {
    (void)state;
    scene s = three_modules();
    ps_analysis_opts opts = {
        .step_id = -1, .from_ns = SMALL_EPOCH_NS + 1075, .to_ns = SMALL_EPOCH_NS + 1320};
    expect_with(&s, &opts, "ModuleTree",
                "0|1||Net|1|0|0|270|20|270|0|0|0|195|79.59183673|50|50|0|270|5|NULL|NULL\n"
                "0|2|Net|A|1|0|0|150|150|150|0|0|0|125|51.02040816|50|0|0|150|5|NULL|NULL\n"
                "0|2|Net|B|1|0|0|100|100|100|0|0|0|100|40.81632653|0|0|0|100|5|NULL|NULL\n");
    s = three_modules();
    expect_with(&s, &opts, "ModuleStatistic",
                "Net|A|a|a1, hcom|150|150|1|0\n"
                "Net|B|b|b1|100|100|1|0\n"
                "|Net|n|n|20|20|1|0\n");
    s = three_modules();
    opts = (ps_analysis_opts){.step_id = -1, .to_ns = SMALL_EPOCH_NS + 50};
    expect_with(&s, &opts, "ModuleTree",
                "0|1||Net|1|0|0|0|0|0|0|0|NULL|0|0|0|0|50|0|5|NULL|NULL\n"
                "0|2|Net|A|1|0|0|0|0|0|0|0|NULL|0|0|0|0|30|0|5|NULL|NULL\n");
    s = three_modules();
    opts.from_ns = SMALL_EPOCH_NS + 5000;
    opts.to_ns = SMALL_EPOCH_NS + 6000;
    expect_nothing(&s, &opts, "none of the 3 modules (ranges of domain Module) ran in this span");
}

/* Two steps of one call each, 10 and 20 ns: one, both, and a step that is not there. */
static scene two_steps(void) {
    scene s = scene_new();
    for (int i = 0; i < 2; i++) {
        int64_t at = 1000 * i;
        small_step(s.b, i + 3, at, at + 1000);
        module(&s, "Net", at + 10, at + 500);
        module(&s, "Fc", at + 20, at + 400);
        op(&s, i == 0 ? "a" : "b", at + 30, at + 40, 10 * (i + 1));
    }
    return s;
}

static void options(void **state) {
    (void)state;
    scene s = two_steps();
    expect(&s, "Net|Fc_0|a|k|10|10|1|0\nNet|Fc_1|b|k|20|20|1|0\n");
    s = two_steps();
    ps_analysis_opts opts = {.step_id = 4};
    expect_with(&s, &opts, "ModuleStatistic", "Net|Fc|b|k|20|20|1|0\n");
    s = two_steps();
    opts.step_id = 9;
    expect_nothing(&s, &opts, "9");
    s = two_steps();
    opts = (ps_analysis_opts){.step_id = -1, .module_depth = 1};
    expect_with(&s, &opts, "ModuleStep", "0||Net|3|1|10|10\n0||Net|4|1|20|20\n");
    s = two_steps();
    opts = (ps_analysis_opts){.step_id = -1, .module_glob = "N*/F?"};
    expect_with(&s, &opts, "ModuleStep", "0|Net|Fc|3|1|10|10\n0|Net|Fc|4|1|20|20\n");
    s = two_steps();
    opts = (ps_analysis_opts){.step_id = -1, .module_glob = "Fc", .top_num = 1};
    ps_trace *t = small_seal(s.b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, &opts);
    assert_int_equal(small_table(&run, "ModuleInstance")->n_rows, 1); /* the slowest one */
    assert_int_equal(ps_table_cell(small_table(&run, "ModuleInstance"), 0, 7)->u.i, 20);
    small_run_fini(&run);
    ps_trace_free(t);
    s = two_steps();
    opts.module_glob = "nobody";
    expect_nothing(&s, &opts, "--module");
}

/* Kernel times of Net on three ranks: 10, 20, and none, since the last has no modules. 20 / ((10 + 20) / 2) = 1.33. */
static void ranks_side_by_side(void **state) {
    (void)state;
    ps_trace *t[3];
    for (int r = 0; r < 3; r++) {
        scene s = scene_new();
        if (r < 2) {
            module(&s, "Net", 0, 100);
        }
        op(&s, "a", 10, 20, 10 * (r + 1));
        t[r] = small_seal(s.b);
    }
    small_run run;
    small_run_mode(&run, "module_statistic", t, 3, NULL);
    assert_int_equal(run.map_codes[2], PS_NOTHING);
    small_expect(&run, "ModuleStatistic", "|Net|a|k|10|10|1|0\n|Net|a|k|20|20|1|1\n");
    const ps_table *tree = small_table(&run, "ModuleTree");
    assert_int_equal(tree->n_rows, 2);
    assert_true(ps_table_cell(tree, 0, 20)->u.r > 1.333 && ps_table_cell(tree, 0, 20)->u.r < 1.334);
    size_t n_sheets = 0;
    for (size_t i = 0; i < run.result.n_tables; i++) {
        n_sheets += run.result.tables[i]->is_sheet;
    }
    assert_int_equal(n_sheets, 2);
    small_run_fini(&run);
    for (int r = 0; r < 3; r++) {
        ps_trace_free(t[r]);
    }
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

static void every_allocation_may_fail(void **state) {
    (void)state;
    scene s = two_steps();
    (void)small_slice(s.b, PS_SLICE_KERNEL, s.stream, "lost", 200000, 200020);
    op_with(&s, s.worker, "stranger", 30, 40, "k", 10);
    uint32_t f = small_slice(s.b, PS_SLICE_HOST_OP, s.main, "f", 50, 60);
    number(&s, f, 1, 0);
    uint32_t b = back(&s, "b", 700, 710, 5);
    number(&s, b, 1, 1);
    ps_trace *t = small_seal(s.b);
    const ps_analysis *analysis = ps_analysis_find("module_statistic");
    const ps_analysis_opts opts = {.step_id = -1};
    const ps_rank_info rank = {.rank = 0};
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_diag diag = {0};
        ps_diag *diags = &diag;
        ps_err err = PS_ERR_INIT;
        void *partial = NULL;
        void *shared = NULL;
        ps_result result = {0};
        const ps_map_input in = {.trace = t, .rank = &rank, .opts = &opts, .diag = &diag};
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_round_map(&analysis->rounds[0], &in, &partial, &err);
        if (code == PS_OK) {
            const ps_reduce_input reduce = {.ranks = &rank,
                                            .partials = &partial,
                                            .diags = &diags,
                                            .n_ranks = 1,
                                            .opts = &opts,
                                            .result = &result};
            code = analysis->rounds[0].reduce(&reduce, &shared, &err);
        }
        int64_t made = ps_alloc_fail_at(-1);
        assert_true(code == PS_OK || code == PS_NOMEM);
        done = made <= n;
        assert_int_equal(code == PS_OK, done);
        analysis->free_partial(partial);
        ps_result_fini(&result);
    }
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_operator_across_the_end_changes_nothing),
        cmocka_unit_test(equal_modules_nest_in_the_order_of_rows),
        cmocka_unit_test(an_operator_as_long_as_its_module_is_inside),
        cmocka_unit_test(of_equal_starts_the_longer_is_the_parent),
        cmocka_unit_test(modules_side_by_side),
        cmocka_unit_test(own_operators_around_two_calls_of_a_child),
        cmocka_unit_test(other_threads_are_not_charged),
        cmocka_unit_test(what_is_outside_is_said),
        cmocka_unit_test(no_length_is_a_row_all_the_same),
        cmocka_unit_test(deep_modules_are_kept),
        cmocka_unit_test(other_kernels_are_rows_of_their_own),
        cmocka_unit_test(kernels_come_by_start),
        cmocka_unit_test(a_kernel_of_two_operators_counts_once),
        cmocka_unit_test(sums_saturate),
        cmocka_unit_test(variants),
        cmocka_unit_test(variants_far_apart),
        cmocka_unit_test(slashes_in_names),
        cmocka_unit_test(backward_by_flow),
        cmocka_unit_test(two_backward_operators_are_one_call),
        cmocka_unit_test(backward_by_number),
        cmocka_unit_test(equal_numbers_of_two_threads),
        cmocka_unit_test(a_trainer_around_the_backward_pass),
        cmocka_unit_test(recomputation),
        cmocka_unit_test(ranges_of_the_backward_pass),
        cmocka_unit_test(push_pop_ranges_and_other_domains_are_no_modules),
        cmocka_unit_test(python_modules),
        cmocka_unit_test(annotations_then_ranges),
        cmocka_unit_test(plain_ranges_of_mstx),
        cmocka_unit_test(calls_stand_in_for_operators),
        cmocka_unit_test(through_the_queue),
        cmocka_unit_test(a_domain_may_be_an_argument),
        cmocka_unit_test(what_is_missing_is_said),
        cmocka_unit_test(busy_exposed_and_gaps),
        cmocka_unit_test(a_span),
        cmocka_unit_test(options),
        cmocka_unit_test(ranks_side_by_side),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What autograd's threads run belongs to a module, by the number of the node, by the flow, else by the range in which the
 * thread that called backward() waits. Rows are parentModule|module|opName|kernelList|total|average|count|rank. */
#include "analyze/rank/autograd_threads.h"

#include <stdio.h>
#include <string.h>

#include "analyze/rank/links.h"
#include "base/alloc.h"
#include "support/small_runs.h"

#define NODE "autograd::engine::evaluate_function: "

typedef struct scene {
    ps_builder *b;
    uint32_t main, engine, other, stream;
    int64_t device; /* where the next kernel starts */
} scene;

static ps_str text(ps_builder *b, const char *s) {
    return ps_builder_str(b, s, strlen(s));
}

static scene scene_new(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    return (scene){.b = b,
                   .main = small_thread(b, 1),
                   .engine = small_thread(b, 2),
                   .other = small_thread(b, 3),
                   .stream = small_stream(b, 7),
                   .device = 100000};
}

static uint32_t range(scene *s, uint32_t track, const char *name, int64_t start, int64_t end) {
    return small_slice(s->b, PS_SLICE_ANNOTATION, track, name, start, end);
}

static uint32_t launching(scene *s, ps_slice_kind kind, uint32_t track, const char *name,
                          int64_t start, int64_t end, int64_t dur) {
    uint32_t op = small_slice(s->b, kind, track, name, start, end);
    uint32_t kernel =
        small_slice(s->b, PS_SLICE_KERNEL, s->stream, "k", s->device, s->device + dur);
    ps_builder_flow_of(s->b, op, kernel, text(s->b, "ac2g"));
    s->device += dur;
    return op;
}

/* An operator with one kernel of that length. */
static uint32_t op(scene *s, uint32_t track, const char *name, int64_t start, int64_t end,
                   int64_t dur) {
    return launching(s, PS_SLICE_HOST_OP, track, name, start, end, dur);
}

/* A node of autograd with an operator inside. */
static uint32_t node(scene *s, uint32_t track, const char *name, const char *inner, int64_t start,
                     int64_t end, int64_t dur) {
    uint32_t slice = small_slice(s->b, PS_SLICE_HOST_OP, track, name, start, end);
    op(s, track, inner, start + 1, end - 1, dur);
    return slice;
}

static void number(scene *s, uint32_t slice, int64_t sequence, int64_t forward_thread) {
    ps_builder_arg_int(s->b, slice, "Sequence number", sequence);
    if (forward_thread >= 0) {
        ps_builder_arg_int(s->b, slice, "Fwd thread id", forward_thread);
    }
}

static void expect_table(scene *s, const char *table, const char *expected) {
    ps_trace *t = small_seal(s->b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, NULL);
    if (run.code != PS_OK || run.map_codes[0] != PS_OK) {
        fail_msg("%s", run.err.msg);
    }
    small_expect(&run, table, expected);
    small_run_fini(&run);
    ps_trace_free(t);
}

static void expect(scene *s, const char *expected) {
    expect_table(s, "ModuleStatistic", expected);
}

/* The forward pass ran before the recording began: time alone says that the nodes belong to attn(B) and mlp(B). Between them
 * the main thread does something else. */
static void ranges_that_wait(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "attn(B)", 0, 100);
    node(&s, s.engine, NODE "MmBackward0", "aten::mm", 10, 20, 5);
    node(&s, s.engine, NODE "MulBackward0", "aten::mul", 30, 40, 6);
    range(&s, s.main, "mlp(F)", 110, 150);
    op(&s, s.main, "aten::linear", 120, 130, 7);
    range(&s, s.main, "mlp(B)", 200, 300);
    node(&s, s.engine, NODE "MmBackward0", "aten::mm", 210, 220, 8);
    node(&s, s.engine, NODE "MmBackward0", "aten::mm", 310, 320, 9); /* nobody waits */
    expect(&s, "|[Backward]attn(B)|aten::mm|k|5|5|1|0\n"
               "|[Backward]attn(B)|aten::mul|k|6|6|1|0\n"
               "|mlp(F)|aten::linear|k|7|7|1|0\n"
               "|[Backward]mlp(B)|aten::mm|k|8|8|1|0\n");
}

/* The tree shows a waiting range's backward time, and what is outside is the rest. */
static void shares_of_ranges_that_wait(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "attn(B)", 0, 100);
    node(&s, s.engine, NODE "MmBackward0", "aten::mm", 10, 20, 30);
    node(&s, s.engine, NODE "MmBackward0", "aten::mul", 310, 320, 10);
    op(&s, s.other, "stranger", 30, 40, 20);
    expect_table(&s, "ModuleCoverage",
                 "0|annotations|in modules||1|1|30|50\n"
                 "0|annotations|outside modules||2|2|30|50\n"
                 "0|annotations|outside modules|stranger|NULL|1|20|33.33333333\n"
                 "0|annotations|outside modules|aten::mul|NULL|1|10|16.66666667\n"
                 "0|annotations|launch not known||NULL|0|0|0\n");
}

/* Numbers come first, whatever range waits; the backward of Fc keeps what runs between its nodes. What the range holds
 * beyond is the range's own. */
static void numbers_come_first(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "Fc", 0, 50);
    number(&s, op(&s, s.main, "aten::linear", 10, 20, 1), 7, 0);
    number(&s, op(&s, s.main, "aten::relu", 30, 40, 2), 8, 0);
    range(&s, s.main, "backward", 100, 200);
    number(&s, node(&s, s.engine, NODE "LossBackward0", "aten::loss", 105, 109, 3), 99, 1);
    number(&s, node(&s, s.engine, NODE "ReluBackward0", "aten::mul", 110, 120, 4), 8, 1);
    node(&s, s.engine, NODE "torch::autograd::AccumulateGrad", "aten::copy_", 121, 129, 5);
    number(&s, node(&s, s.engine, NODE "AddmmBackward0", "aten::mm", 130, 140, 6), 7, 1);
    node(&s, s.engine, NODE "torch::autograd::AccumulateGrad", "aten::add_", 150, 160, 7);
    expect(&s, "|Fc|aten::linear|k|1|1|1|0\n"
               "|Fc|aten::relu|k|2|2|1|0\n"
               "|[Backward]backward_0|aten::loss|k|3|3|1|0\n"
               "|[Backward]Fc|aten::mul|k|4|4|1|0\n"
               "|[Backward]Fc|aten::copy_|k|5|5|1|0\n"
               "|[Backward]Fc|aten::mm|k|6|6|1|0\n"
               "|[Backward]backward_1|aten::add_|k|7|7|1|0\n");
}

/* The engine's call of a node says by its name that it is of the backward pass: its number pairs also where no thread is
 * said, and the operator inside with the same number is no second forward one. */
static void numbers_without_a_thread(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "Fc", 0, 50);
    number(&s, op(&s, s.main, "aten::linear", 10, 20, 1), 7, -1);
    number(&s, node(&s, s.engine, NODE "AddmmBackward0", "aten::mm", 100, 140, 2), 7, -1);
    number(&s, small_slice(s.b, PS_SLICE_HOST_OP, s.engine, "AddmmBackward0", 101, 139), 7, -1);
    expect(&s, "|Fc|aten::linear|k|1|1|1|0\n"
               "|[Backward]Fc|aten::mm|k|2|2|1|0\n");
}

/* A flow from a forward operator in the module Fc against the range that waits. */
static void flows_come_before_time(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "Fc", 0, 50);
    uint32_t forward = op(&s, s.main, "aten::linear", 10, 20, 1);
    range(&s, s.main, "backward", 100, 200);
    uint32_t back = node(&s, s.engine, "AddmmBackward0", "aten::mm", 110, 120, 2);
    ps_builder_flow_of(s.b, forward, back, text(s.b, "fwdbwd"));
    expect(&s, "|Fc|aten::linear|k|1|1|1|0\n"
               "|[Backward]Fc|aten::mm|k|2|2|1|0\n");
}

/* The main thread runs the next forward pass in a range of its own while a second one waits for backward(). In its pauses the
 * main thread looks as if it waited, too; the second one waits for all nodes. */
static void a_busy_thread_does_not_wait(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.other, "attn(B)", 0, 1000);
    range(&s, s.main, "mlp(F)", 5, 900);
    for (int i = 0; i < 5; i++) {
        op(&s, s.main, "aten::linear", 100 + 100 * i, 130 + 100 * i, 1);
        node(&s, s.engine, NODE "MmBackward0", "aten::mm", 110 + 100 * i, 120 + 100 * i, 2);
        node(&s, s.engine, NODE "MulBackward0", "aten::mul", 140 + 100 * i, 150 + 100 * i, 3);
    }
    ps_trace *t = small_seal(s.b);
    small_run run;
    small_run_mode(&run, "module_statistic", &t, 1, NULL);
    const ps_table *tree = small_table(&run, "ModuleTree");
    assert_int_equal(tree->n_rows, 2);
    assert_int_equal(ps_table_cell(tree, 0, 7)->u.i, 25); /* attn(B) */
    assert_int_equal(ps_table_cell(tree, 1, 7)->u.i, 5);
    small_run_fini(&run);
    ps_trace_free(t);
}

/* No node, no flow, no number: a worker's operators, a compiler's calls. The range around them in time says nothing. */
static void workers_stay_outside(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "step", 0, 100);
    op(&s, s.main, "own", 5, 6, 1);
    op(&s, s.other, "aten::copy_", 10, 20, 2);
    launching(&s, PS_SLICE_CALL, s.engine, "cudaLaunchKernel", 30, 31, 3);
    expect(&s, "|step|own|k|1|1|1|0\n");
}

/* A thread that runs forward operators and nodes calls backward() itself, on the CPU: the range of another thread is not
 * around it, nor around its own ranges. */
static void nodes_of_the_calling_thread(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.other, "prefetch", 0, 1000);
    op(&s, s.other, "aten::copy_", 5, 6, 1);
    range(&s, s.main, "attn(F)", 9, 21);
    op(&s, s.main, "aten::linear", 10, 20, 2);
    node(&s, s.main, NODE "AddmmBackward0", "aten::mm", 100, 110, 3);
    node(&s, s.main, NODE "AccumulateGrad", "aten::add", 120, 130, 5);
    range(&s, s.main, "attn(B)", 200, 300);
    node(&s, s.main, NODE "AddmmBackward0", "aten::mm", 210, 220, 4);
    expect(&s, "|prefetch|aten::copy_|k|1|1|1|0\n"
               "|attn(F)|aten::linear|k|2|2|1|0\n"
               "|attn(B)|aten::mm|k|4|4|1|0\n");
}

/* A thread of the engine that runs a callback at the end of the pass remains one. */
static void callbacks_of_the_engine(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "backward", 0, 1000);
    for (int i = 0; i < 4; i++) {
        node(&s, s.engine, NODE "MmBackward0", "aten::mm", 100 * i, 100 * i + 50, 5);
    }
    op(&s, s.engine, "aten::div_", 500, 510, 7);
    expect_table(&s, "ModuleCoverage",
                 "0|annotations|in modules||5|5|27|100\n"
                 "0|annotations|outside modules||0|0|0|0\n"
                 "0|annotations|launch not known||NULL|0|0|0\n");
}

/* Nsight Systems knows no operators: the thread's name says that it is of the engine. A call that begins while the main
 * thread works is not waited for. */
static void threads_by_name(void **state) {
    (void)state;
    static const char *const LABELS[] = {"pt_autograd_0", "thread 2 (pt_autograd_0)"};
    for (size_t i = 0; i < 2; i++) {
        scene s = scene_new();
        ps_builder_track_label(s.b, s.engine, text(s.b, LABELS[i]), PS_NO_ORDER);
        (void)small_slice(s.b, PS_SLICE_MARK_HOST, s.main, "attn(B)", 0, 100);
        launching(&s, PS_SLICE_CALL, s.engine, "cudaLaunchKernel", 10, 20, 5);
        launching(&s, PS_SLICE_CALL, s.main, "cudaLaunchKernel", 50, 60, 6);
        launching(&s, PS_SLICE_CALL, s.engine, "cudaLaunchKernel_v2", 45, 55, 7);
        expect(&s, "|[Backward]attn(B)|cudaLaunchKernel|k|5|5|1|0\n"
                   "|attn(B)|cudaLaunchKernel|k|6|6|1|0\n");
    }
}

/* A range of the domain Module that a hook sets on the engine's thread lies in the module that waits. */
static void marks_on_the_engines_thread(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "Trainer", 0, 100);
    range(&s, s.engine, "attn", 10, 50);
    node(&s, s.engine, NODE "MmBackward0", "aten::mm", 20, 30, 5);
    node(&s, s.engine, NODE "MmBackward0", "aten::mul", 60, 70, 6);
    expect(&s, "Trainer|[Backward]attn|aten::mm|k|5|5|1|0\n"
               "|[Backward]Trainer|aten::mul|k|6|6|1|0\n");
}

/* All sources of modules: marks of the domain Module, Python frames, annotations, NVTX ranges. The Python frame of
 * backward() is between the module and the node. */
static void every_source(void **state) {
    (void)state;
    static const struct {
        ps_slice_kind kind;
        const char *name, *domain, *shown;
    } SOURCES[] = {{PS_SLICE_MARK_HOST, "Net", "Module", "Net"},
                   {PS_SLICE_PYTHON, "nn.Module: Net_0", "", "Net_0"},
                   {PS_SLICE_ANNOTATION, "## Net ##", "", "## Net ##"},
                   {PS_SLICE_MARK_HOST, "Net", "", "Net"}};
    for (size_t i = 0; i < sizeof SOURCES / sizeof *SOURCES; i++) {
        scene s = scene_new();
        ps_str domain = SOURCES[i].domain[0] != '\0' ? text(s.b, SOURCES[i].domain) : PS_STR_NONE;
        (void)ps_builder_slice_in(s.b, SOURCES[i].kind, s.main, text(s.b, SOURCES[i].name), domain,
                                  SMALL_EPOCH_NS, SMALL_EPOCH_NS + 100, 0);
        (void)small_slice(s.b, PS_SLICE_PYTHON, s.main, "backward", 1, 99);
        node(&s, s.engine, NODE "MmBackward0", "aten::mm", 20, 30, 5);
        char row[128];
        (void)snprintf(row, sizeof row, "|[Backward]%s|aten::mm|k|5|5|1|0\n", SOURCES[i].shown);
        expect(&s, row);
    }
}

/* What links say: the range around a node; a node's inner operator has its parent; of equal claims the later range. */
static void around_a_node(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.other, "idle", 0, 500);
    range(&s, s.main, "step", 1, 400);
    range(&s, s.main, "attn(B)", 2, 100);
    node(&s, s.engine, NODE "MmBackward0", "aten::mm", 20, 30, 5);
    ps_trace *t = small_seal(s.b);
    ps_links l;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_links_init(&l, t, &err), PS_OK);
    uint32_t at = small_find(t, NODE "MmBackward0");
    assert_int_equal(l.parent[at], PS_NONE);
    assert_int_equal(ps_links_enclosing(&l, at), small_find(t, "attn(B)"));
    assert_int_equal(ps_links_enclosing(&l, small_find(t, "aten::mm")), at);
    assert_int_equal(ps_links_enclosing(&l, small_find(t, "attn(B)")), small_find(t, "step"));
    assert_int_equal(ps_links_enclosing(&l, small_find(t, "step")), PS_NONE);
    ps_links_fini(&l);
    ps_trace_free(t);
}

/* --- parts and the whole ----------------------------------------------------------------------------------------------- */

static uint32_t next_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Any slices on four threads, some of them numbered: a kernel counts once, inside or outside, and forward, recomputed and
 * backward time of the tree are what is inside. */
static void parts_are_the_whole(void **state) {
    (void)state;
    static const char *const NAMES[] = {NODE "MmBackward0", "aten::mm", "AddmmBackward0", "add"};
    for (uint32_t round = 1; round <= 200; round++) {
        uint32_t seed = round;
        scene s = scene_new();
        uint32_t threads[] = {s.main, s.engine, s.other, small_thread(s.b, 4)};
        int64_t whole = 0;
        range(&s, s.main, "first", 0, 2000);
        op(&s, s.main, "aten::mm", 1, 2, 1);
        whole += 1;
        for (int i = 0; i < 60; i++) {
            uint32_t track = threads[next_random(&seed) % 4];
            int64_t start = next_random(&seed) % 1000;
            int64_t end = start + next_random(&seed) % (round % 2 == 0 ? 20 : 200);
            if (next_random(&seed) % 4 == 0) {
                range(&s, track, i % 2 == 0 ? "attn(B)" : "mlp(F)", start, end);
                continue;
            }
            int64_t dur = next_random(&seed) % 50;
            bool is_engine = track == s.engine;
            uint32_t name = is_engine ? 0 : 1 + next_random(&seed) % 3;
            uint32_t slice = op(&s, track, NAMES[name], start, end, dur);
            if (next_random(&seed) % 2 == 0) {
                number(&s, slice, next_random(&seed) % 8, is_engine ? 1 : 0);
            }
            whole += dur;
        }
        ps_trace *t = small_seal(s.b);
        small_run run;
        small_run_mode(&run, "module_statistic", &t, 1, NULL);
        assert_int_equal(run.code, PS_OK);
        const ps_table *coverage = small_table(&run, "ModuleCoverage");
        int64_t inside = 0;
        int64_t outside = 0;
        for (size_t r = 0; r < coverage->n_rows; r++) {
            bool is_sum = ps_table_cell(coverage, r, 3)->u.text[0] == '\0';
            bool is_inside = strcmp(ps_table_cell(coverage, r, 2)->u.text, "in modules") == 0;
            int64_t ns = is_sum ? ps_table_cell(coverage, r, 6)->u.i : 0;
            inside += is_inside ? ns : 0;
            outside += is_inside ? 0 : ns;
        }
        assert_int_equal(inside + outside, whole);
        const ps_table *tree = small_table(&run, "ModuleTree");
        int64_t sum = 0;
        for (size_t r = 0; r < tree->n_rows; r++) {
            bool is_top = ps_table_cell(tree, r, 1)->u.i == 1;
            int64_t parts = ps_table_cell(tree, r, 9)->u.i + ps_table_cell(tree, r, 10)->u.i +
                            ps_table_cell(tree, r, 11)->u.i;
            assert_int_equal(parts, ps_table_cell(tree, r, 7)->u.i);
            sum += is_top ? parts : 0;
        }
        assert_int_equal(sum, inside);
        const ps_table *rows = small_table(&run, "ModuleStatistic");
        double total = 0;
        for (size_t r = 0; r < rows->n_rows; r++) {
            total += ps_table_cell(rows, r, 4)->u.r;
        }
        assert_int_equal((int64_t)total, inside);
        small_run_fini(&run);
        ps_trace_free(t);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    scene s = scene_new();
    range(&s, s.main, "Fc", 0, 50);
    uint32_t forward = op(&s, s.main, "aten::linear", 10, 20, 1);
    number(&s, forward, 7, 0);
    range(&s, s.main, "backward", 100, 200);
    number(&s, node(&s, s.engine, NODE "AddmmBackward0", "aten::mm", 110, 120, 2), 7, 1);
    uint32_t back = node(&s, s.engine, NODE "MulBackward0", "aten::mul", 130, 140, 3);
    ps_builder_flow_of(s.b, forward, back, text(s.b, "fwdbwd"));
    node(&s, s.engine, NODE "torch::autograd::AccumulateGrad", "aten::add_", 150, 160, 4);
    ps_trace *t = small_seal(s.b);
    small_run_without_memory("module_statistic", &t, 1);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranges_that_wait),
        cmocka_unit_test(shares_of_ranges_that_wait),
        cmocka_unit_test(numbers_come_first),
        cmocka_unit_test(numbers_without_a_thread),
        cmocka_unit_test(flows_come_before_time),
        cmocka_unit_test(a_busy_thread_does_not_wait),
        cmocka_unit_test(workers_stay_outside),
        cmocka_unit_test(nodes_of_the_calling_thread),
        cmocka_unit_test(callbacks_of_the_engine),
        cmocka_unit_test(threads_by_name),
        cmocka_unit_test(marks_on_the_engines_thread),
        cmocka_unit_test(every_source),
        cmocka_unit_test(around_a_node),
        cmocka_unit_test(parts_are_the_whole),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

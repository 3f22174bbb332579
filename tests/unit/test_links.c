/* Who launched what, on traces small enough to see it. */
#include <stdio.h>
#include <string.h>

#include "analyze/rank/links.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "support/small_runs.h"

static void flow(ps_builder *b, uint32_t from, uint32_t to, const char *kind) {
    ps_builder_flow_of(b, from, to, ps_builder_str(b, kind, strlen(kind)));
}

static ps_links links_of(const ps_trace *t) {
    ps_links l;
    ps_err err = PS_ERR_INIT;
    if (ps_links_init(&l, t, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    return l;
}

/* The name of what a slice points to, "" for nothing. */
static const char *name_at(const ps_trace *t, const uint32_t *column, const char *slice) {
    uint32_t to = column[small_find(t, slice)];
    return to != PS_NONE ? ps_trace_text(t, ps_trace_slices(t)->name[to]) : "";
}

/*   thread 1: a [0 100], b [10 90], c [20 30], point [30 30], d [80 120] across b and a, e [85 88], f [95 99], g [119 130]
 *   thread 2: h [12 14]
 *   e lies in a, b and d: d began last. f lies in a and d. g crosses d and lies in nothing. */
static void parents(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    small_slice(b, PS_SLICE_HOST_OP, one, "a", 0, 100);
    small_slice(b, PS_SLICE_PYTHON, one, "b", 10, 90);
    small_slice(b, PS_SLICE_CALL, one, "c", 20, 30);
    small_slice(b, PS_SLICE_CALL, one, "point", 30, 30);
    small_slice(b, PS_SLICE_HOST_OP, one, "d", 80, 120);
    small_slice(b, PS_SLICE_CALL, one, "e", 85, 88);
    small_slice(b, PS_SLICE_CALL, one, "f", 95, 99);
    small_slice(b, PS_SLICE_CALL, one, "g", 119, 130);
    small_slice(b, PS_SLICE_CALL, two, "h", 12, 14);
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    assert_string_equal(name_at(t, l.parent, "a"), "");
    assert_string_equal(name_at(t, l.parent, "b"), "a");
    assert_string_equal(name_at(t, l.parent, "c"), "b");
    assert_string_equal(name_at(t, l.parent, "point"), "c"); /* touches its end */
    assert_string_equal(name_at(t, l.parent, "d"), "");
    assert_string_equal(name_at(t, l.parent, "e"), "d");
    assert_string_equal(name_at(t, l.parent, "f"), "d");
    assert_string_equal(name_at(t, l.parent, "g"), "");
    assert_string_equal(name_at(t, l.parent, "h"), "");
    ps_links_fini(&l);
    ps_trace_free(t);
}

/* Three operators lead to one kernel: the shortest one is it. The call is the earliest, also when an annotation came
 * before it. */
static void several_operators(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t outer = small_slice(b, PS_SLICE_HOST_OP, host, "outer", 0, 100);
    uint32_t middle = small_slice(b, PS_SLICE_HOST_OP, host, "middle", 10, 60);
    uint32_t inner = small_slice(b, PS_SLICE_HOST_OP, host, "inner", 20, 50);
    uint32_t note = small_slice(b, PS_SLICE_ANNOTATION, host, "note", 21, 49);
    uint32_t first = small_slice(b, PS_SLICE_CALL, host, "first", 30, 35);
    uint32_t second = small_slice(b, PS_SLICE_CALL, host, "second", 40, 45);
    uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "kernel", 200, 300);
    flow(b, outer, kernel, "async_npu");
    flow(b, inner, kernel, "async_npu");
    flow(b, middle, kernel, "async_npu");
    flow(b, second, kernel, "HostToDevice");
    flow(b, first, kernel, "HostToDevice");
    flow(b, note, kernel, "note");
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    assert_string_equal(name_at(t, l.op, "kernel"), "inner");
    assert_string_equal(name_at(t, l.call, "kernel"), "first");
    assert_string_equal(name_at(t, l.op, "first"), ""); /* of the device only */
    ps_links_fini(&l);
    ps_trace_free(t);
}

/* Thread 1 runs op [0 20] and puts it into a queue, Enqueue [10 12]; thread 2 takes it out, Dequeue [30 60], and launches
 * inside of it. A call beside the Dequeue has no operator; a call inside an operator needs no queue. */
static void queue_between(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_HOST_OP, one, "op", 0, 20);
    uint32_t in = small_slice(b, PS_SLICE_QUEUE, one, "Enqueue", 10, 12);
    uint32_t out = small_slice(b, PS_SLICE_QUEUE, two, "Dequeue@op", 30, 60);
    small_slice(b, PS_SLICE_HOST_OTHER, two, "around", 35, 55);
    uint32_t launch = small_slice(b, PS_SLICE_CALL, two, "launch", 40, 50);
    uint32_t later = small_slice(b, PS_SLICE_CALL, two, "later", 70, 80);
    small_slice(b, PS_SLICE_HOST_OP, one, "plain", 100, 120);
    uint32_t direct = small_slice(b, PS_SLICE_CALL, one, "direct", 105, 110);
    uint32_t k1 = small_slice(b, PS_SLICE_KERNEL, stream, "k1", 200, 210);
    uint32_t k2 = small_slice(b, PS_SLICE_KERNEL, stream, "k2", 220, 230);
    uint32_t k3 = small_slice(b, PS_SLICE_COMM_KERNEL, stream, "k3", 240, 250);
    small_slice(b, PS_SLICE_KERNEL, stream, "k4", 260, 270);
    flow(b, in, out, "async_task_queue");
    flow(b, launch, k1, "HostToDevice");
    flow(b, later, k2, "HostToDevice");
    flow(b, direct, k3, "HostToDevice");
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    assert_string_equal(name_at(t, l.op, "k1"), "op");
    assert_string_equal(name_at(t, l.call, "k1"), "launch");
    assert_string_equal(name_at(t, l.op, "k2"), "");
    assert_string_equal(name_at(t, l.call, "k2"), "later");
    assert_string_equal(name_at(t, l.op, "k3"), "plain");
    assert_string_equal(name_at(t, l.op, "k4"), "");
    assert_string_equal(name_at(t, l.call, "k4"), "");
    ps_links_fini(&l);
    ps_trace_free(t);
}

/* As the PyTorch profiler has it: cudaLaunchKernel [15 18] inside aten::mm [12 20] inside aten::linear [10 30]; and the
 * device side of a mark that an operator set. */
static void call_in_an_operator(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    small_slice(b, PS_SLICE_HOST_OP, host, "aten::linear", 10, 30);
    small_slice(b, PS_SLICE_HOST_OP, host, "aten::mm", 12, 20);
    uint32_t call = small_slice(b, PS_SLICE_CALL, host, "cudaLaunchKernel", 15, 18);
    uint32_t mark = small_slice(b, PS_SLICE_MARK_HOST, host, "mark", 22, 23);
    uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "gemm", 100, 150);
    uint32_t device =
        small_slice(b, PS_SLICE_MARK_DEVICE, small_stream(b, 8), "mark on the device", 100, 150);
    flow(b, call, kernel, "ac2g");
    ps_builder_flow(b, mark, device);
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    assert_string_equal(name_at(t, l.op, "gemm"), "aten::mm");
    assert_string_equal(name_at(t, l.call, "gemm"), "cudaLaunchKernel");
    assert_string_equal(name_at(t, l.op, "mark on the device"), "aten::linear");
    assert_string_equal(name_at(t, l.call, "mark on the device"), "mark");
    ps_links_fini(&l);
    ps_trace_free(t);
}

/* Steps 1 [0 100) and 2 [100 200). Work that runs late belongs to the step that launched it. */
static void steps(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    small_step(b, 1, 0, 100);
    small_step(b, 2, 100, 200);
    uint32_t one = small_slice(b, PS_SLICE_CALL, host, "one", 90, 110);
    uint32_t two = small_slice(b, PS_SLICE_CALL, host, "two", 150, 160);
    uint32_t none = small_slice(b, PS_SLICE_CALL, host, "none", 200, 210);
    small_slice(b, PS_SLICE_HOST_OP, host, "wide", 80, 170);
    flow(b, one, small_slice(b, PS_SLICE_COPY, stream, "late", 150, 160), "HostToDevice");
    flow(b, two, small_slice(b, PS_SLICE_COPY, stream, "by operator", 170, 180), "HostToDevice");
    flow(b, none, small_slice(b, PS_SLICE_COPY, stream, "outside", 250, 260), "HostToDevice");
    small_slice(b, PS_SLICE_KERNEL, stream, "alone before", -50, -40);
    small_slice(b, PS_SLICE_KERNEL, stream, "alone in 1", 99, 120);
    small_slice(b, PS_SLICE_KERNEL, stream, "alone in 2", 100, 120);
    small_slice(b, PS_SLICE_KERNEL, stream, "alone after", 300, 310);
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    assert_int_equal(ps_links_step(&l, small_find(t, "late")), 1);
    assert_int_equal(ps_links_step(&l, small_find(t, "by operator")), 1); /* wide began in step 1 */
    assert_true(ps_links_step(&l, small_find(t, "outside")) == PS_STEP_OUTSIDE);
    assert_int_equal(ps_links_step(&l, small_find(t, "alone before")), 1);
    assert_int_equal(ps_links_step(&l, small_find(t, "alone in 1")), 1);
    assert_int_equal(ps_links_step(&l, small_find(t, "alone in 2")), 2);
    assert_int_equal(ps_links_step(&l, small_find(t, "alone after")), 2);
    ps_links_fini(&l);
    ps_trace_free(t);
}

static void no_steps(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t call = small_slice(b, PS_SLICE_CALL, small_thread(b, 1), "call", 0, 10);
    uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "kernel", 20, 30);
    flow(b, call, kernel, "HostToDevice");
    small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "alone", 40, 50);
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    assert_int_equal(ps_links_step(&l, small_find(t, "kernel")), 0);
    assert_int_equal(ps_links_step(&l, small_find(t, "alone")), 0);
    ps_links_fini(&l);
    ps_trace_free(t);
}

/* 200,000 slices each of which crosses the one before, and as many nested in one another with a call in the innermost:
 * neither costs a walk through all of them for each. */
static void hostile_nesting_is_linear(void **state) {
    (void)state;
    enum { N = 200000 };
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    uint32_t stream = small_stream(b, 7);
    for (int i = 0; i < N; i++) {
        small_slice(b, PS_SLICE_PYTHON, one, "crossing", i, N + i);
        small_slice(b, PS_SLICE_PYTHON, two, "nested", i, 4 * N - i);
    }
    for (int i = 0; i < N; i++) {
        uint32_t call = small_slice(b, PS_SLICE_CALL, two, "call", N + i, N + i);
        flow(b, call, small_slice(b, PS_SLICE_KERNEL, stream, "kernel", 5 * N + i, 5 * N + i),
             "HostToDevice");
    }
    ps_trace *t = small_seal(b);
    ps_links l = links_of(t);
    const ps_slices *s = ps_trace_slices(t);
    size_t n_roots = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n_roots += ps_is_host_range(s->kind[i]) && l.parent[i] == PS_NONE;
        assert_true(l.op[i] == PS_NONE);
    }
    assert_int_equal(n_roots, N + 1);
    ps_links_fini(&l);
    ps_trace_free(t);
}

static void memory_runs_out(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t call = small_slice(b, PS_SLICE_CALL, small_thread(b, 1), "call", 0, 10);
    uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "kernel", 20, 30);
    flow(b, call, kernel, "HostToDevice");
    ps_trace *t = small_seal(b);
    for (int64_t i = 0;; i++) {
        ps_links l;
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(i);
        ps_code code = ps_links_init(&l, t, &err);
        (void)ps_alloc_fail_at(-1);
        ps_links_fini(&l);
        if (code == PS_OK) {
            assert_true(i > 4);
            break;
        }
        assert_int_equal(code, PS_NOMEM);
    }
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parents),
        cmocka_unit_test(several_operators),
        cmocka_unit_test(queue_between),
        cmocka_unit_test(call_in_an_operator),
        cmocka_unit_test(steps),
        cmocka_unit_test(no_steps),
        cmocka_unit_test(hostile_nesting_is_linear),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

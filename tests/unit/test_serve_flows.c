/* The index of flows against a plain walk over all of them, and what belongs to one launch. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "serve/rank/flows.h"
#include "support/small_runs.h"

static uint32_t next_random(uint32_t *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void flow(ps_builder *b, uint32_t from, uint32_t to, const char *kind) {
    ps_builder_flow_of(b, from, to,
                       kind != NULL ? ps_builder_str(b, kind, strlen(kind)) : PS_STR_NONE);
}

static ps_flow_index index_of(const ps_trace *t) {
    ps_flow_index x;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_flow_index_init(&x, t, &err), PS_OK);
    return x;
}

/* 3000 slices, 6000 flows of three kinds: short ones, long ones, and marks without a kind (some of them named). */
static ps_trace *many(void) {
    static const char *const KINDS[] = {"short", "long", NULL, PS_FLOW_MARKS};
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    uint32_t seed = 7;
    enum { N = 1500 };
    for (uint32_t i = 0; i < N; i++) {
        int64_t at = (int64_t)(next_random(&seed) % 100000);
        small_slice(b, PS_SLICE_CALL, host, "call", at, at + 50);
        small_slice(b, PS_SLICE_KERNEL, stream, "kernel", at + 10, at + 20);
    }
    for (uint32_t i = 0; i < 4 * N; i++) {
        uint32_t from = next_random(&seed) % (2 * N);
        uint32_t kind = next_random(&seed) % 4;
        uint32_t to = kind == 0 ? from ^ 1 : next_random(&seed) % (2 * N);
        flow(b, from, to, KINDS[kind]);
    }
    return small_seal(b);
}

static bool is_even(void *context, const ps_flow *f) {
    (void)context;
    return f->from % 2 == 0;
}

static size_t count_plainly(const ps_flow_index *x, const ps_flow_window *w) {
    const ps_slices *s = ps_trace_slices(x->trace);
    size_t n = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        const ps_flow *f = &x->flows[i];
        int64_t a = s->start_ns[f->from];
        int64_t b = s->start_ns[f->to];
        n += strcmp(ps_flow_kind_name(x->trace, f->kind), w->kind->name) == 0 && a >= w->from_ns &&
             b >= w->from_ns && a <= w->to_ns && b <= w->to_ns &&
             (w->wanted == NULL || w->wanted(NULL, f));
    }
    return n;
}

static void expect_window(const ps_flow_index *x, const ps_flow_window *w) {
    const ps_slices *s = ps_trace_slices(x->trace);
    ps_flow_list list = {0};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_flow_window_list(x, w, &list, &err), PS_OK);
    assert_int_equal(list.total, count_plainly(x, w));
    assert_true(list.n <= w->limit);
    if (list.total <= w->limit) {
        assert_int_equal(list.n, list.total);
    } else {
        assert_true(list.n >= w->limit / 2); /* the data are spread evenly */
    }
    for (size_t i = 0; i < list.n; i++) {
        const ps_flow *f = &x->flows[list.rows[i]];
        assert_true(s->start_ns[f->from] >= w->from_ns && s->start_ns[f->from] <= w->to_ns);
        assert_true(s->start_ns[f->to] >= w->from_ns && s->start_ns[f->to] <= w->to_ns);
        assert_true(w->wanted == NULL || is_even(NULL, f));
        for (size_t k = 0; k < i; k++) {
            assert_true(list.rows[k] != list.rows[i]);
        }
    }
    ps_flow_list_fini(&list);
}

static void windows(void **state) {
    (void)state;
    ps_trace *t = many();
    ps_flow_index x = index_of(t);
    assert_int_equal(x.n_kinds, 3); /* without a name and "MsTx" are one */
    assert_string_equal(x.kinds[0].name, PS_FLOW_MARKS);
    assert_null(ps_flow_kind_find(&x, "other"));
    uint32_t seed = 3;
    for (int i = 0; i < 300; i++) {
        int64_t from = (int64_t)(next_random(&seed) % 100000) - 1000;
        int64_t to = from + (int64_t)(next_random(&seed) % (i % 2 == 0 ? 3000 : 100000));
        ps_flow_window w = {.kind = &x.kinds[next_random(&seed) % 3],
                            .from_ns = from,
                            .to_ns = to,
                            .limit = i % 3 == 0 ? 20 : 100000,
                            .wanted = i % 5 == 0 ? is_even : NULL};
        expect_window(&x, &w);
    }
    ps_flow_window all = {.kind = ps_flow_kind_find(&x, "long"), INT64_MIN, INT64_MAX, 50};
    expect_window(&x, &all);
    ps_flow_window none = {.kind = ps_flow_kind_find(&x, "long"), 10, 9, 50};
    expect_window(&x, &none);
    ps_flow_index_fini(&x);
    ps_trace_free(t);
}

static void ends(void **state) {
    (void)state;
    ps_trace *t = many();
    ps_flow_index x = index_of(t);
    for (uint32_t slice = 0; slice < ps_trace_slices(t)->n; slice++) {
        uint32_t n_from = 0;
        uint32_t n_to = 0;
        for (uint32_t i = 0; i < x.n; i++) {
            n_from += x.flows[i].from == slice;
            n_to += x.flows[i].to == slice;
        }
        uint32_t first = 0;
        uint32_t end = 0;
        ps_flows_from(&x, slice, &first, &end);
        assert_int_equal(end - first, n_from);
        ps_flows_to(&x, slice, &first, &end);
        assert_int_equal(end - first, n_to);
        for (uint32_t i = first; i < end; i++) {
            assert_int_equal(x.flows[x.by_to[i]].to, slice);
        }
    }
    ps_flow_index_fini(&x);
    ps_trace_free(t);
}

/* Thread 1: forward [0 20] with Enqueue [10 12], backward [100 120] with Enqueue [105 106].
 * Thread 2: Dequeue [30 60] with launch [40 50], Dequeue [130 140] with launch [132 134]; each launch has a kernel. A third
 * kernel is launched between the two by nobody's queue. */
static ps_trace *launches(void) {
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    uint32_t stream = small_stream(b, 7);
    uint32_t forward = small_slice(b, PS_SLICE_HOST_OP, one, "forward", 0, 20);
    uint32_t in1 = small_slice(b, PS_SLICE_QUEUE, one, "in1", 10, 12);
    uint32_t out1 = small_slice(b, PS_SLICE_QUEUE, two, "out1", 30, 60);
    uint32_t call1 = small_slice(b, PS_SLICE_CALL, two, "call1", 40, 50);
    uint32_t call2 = small_slice(b, PS_SLICE_CALL, two, "call2", 70, 80);
    uint32_t backward = small_slice(b, PS_SLICE_HOST_OP, one, "backward", 100, 120);
    uint32_t in3 = small_slice(b, PS_SLICE_QUEUE, one, "in3", 105, 106);
    uint32_t out3 = small_slice(b, PS_SLICE_QUEUE, two, "out3", 130, 140);
    uint32_t call3 = small_slice(b, PS_SLICE_CALL, two, "call3", 132, 134);
    uint32_t k1 = small_slice(b, PS_SLICE_KERNEL, stream, "k1", 200, 210);
    uint32_t k2 = small_slice(b, PS_SLICE_KERNEL, stream, "k2", 220, 230);
    uint32_t k3 = small_slice(b, PS_SLICE_KERNEL, stream, "k3", 240, 250);
    flow(b, forward, backward, "fwdbwd");
    flow(b, in1, out1, "async_task_queue");
    flow(b, in3, out3, "async_task_queue");
    flow(b, call1, k1, "HostToDevice");
    flow(b, call2, k2, "HostToDevice");
    flow(b, call3, k3, "HostToDevice");
    flow(b, forward, k1, "async_npu");
    flow(b, backward, k3, "async_npu");
    return small_seal(b);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(a, b);
}

/* "a>b c>d" by text. */
static void expect_chain(const ps_trace *t, const char *slice, size_t max, bool is_cut,
                         const char *expected) {
    ps_flow_index x = index_of(t);
    ps_links links;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_links_init(&links, t, &err), PS_OK);
    ps_flow_list list = {0};
    assert_int_equal(ps_flow_chain(&x, &links, small_find(t, slice), max, &list, &err), PS_OK);
    assert_int_equal(list.is_cut, is_cut);
    char texts[16][40];
    const ps_slices *s = ps_trace_slices(t);
    assert_true(list.n < 16);
    for (size_t i = 0; i < list.n; i++) {
        const ps_flow *f = &x.flows[list.rows[i]];
        (void)snprintf(texts[i], sizeof texts[i], "%s>%s", ps_trace_text(t, s->name[f->from]),
                       ps_trace_text(t, s->name[f->to]));
    }
    qsort(texts, list.n, sizeof texts[0], compare_texts);
    char all[400] = "";
    for (size_t i = 0; i < list.n; i++) {
        strcat(strcat(all, i > 0 ? " " : ""), texts[i]);
    }
    assert_string_equal(all, expected);
    ps_flow_list_fini(&list);
    ps_links_fini(&links);
    ps_flow_index_fini(&x);
}

static void chains(void **state) {
    (void)state;
    ps_trace *t = launches();
    const char *whole = "call1>k1 forward>k1 in1>out1";
    expect_chain(t, "k1", 100, false, whole);
    expect_chain(t, "out1", 100, false, "call1>k1 in1>out1");
    expect_chain(t, "in1", 100, false, "call1>k1 in1>out1");
    expect_chain(t, "call1", 100, false, "call1>k1 in1>out1");
    /* forward: on through its queue, and to its backward, but not to the kernels of that */
    expect_chain(t, "forward", 100, false, "call1>k1 forward>backward forward>k1 in1>out1");
    expect_chain(t, "backward", 100, false, "backward>k3 call3>k3 forward>backward in3>out3");
    expect_chain(t, "k2", 100, false, "call2>k2");
    expect_chain(t, "k1", 2, true, "call1>k1 forward>k1"); /* its own first */
    ps_trace_free(t);
}

static int64_t thinning_time(const void *things, size_t i) {
    return ((const int64_t *)things)[i];
}

/* As text exports have it: the call is on thread 2 of another process than the Dequeue around it. */
static void other_process(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t cann = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 9, .tid = 2, .device = -1});
    uint32_t in = small_slice(b, PS_SLICE_QUEUE, small_thread(b, 1), "in", 10, 12);
    uint32_t out = small_slice(b, PS_SLICE_QUEUE, small_thread(b, 2), "out", 30, 60);
    uint32_t call = small_slice(b, PS_SLICE_CALL, cann, "call", 40, 50);
    uint32_t apart = small_slice(b, PS_SLICE_CALL, cann, "apart", 55, 65);
    uint32_t k1 = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "k1", 100, 110);
    uint32_t k2 = small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "k2", 120, 130);
    flow(b, in, out, "async_task_queue");
    flow(b, call, k1, "HostToDevice");
    flow(b, apart, k2, "HostToDevice");
    ps_trace *t = small_seal(b);
    expect_chain(t, "k1", 100, false, "call>k1 in>out");
    expect_chain(t, "in", 100, false, "call>k1 in>out");
    expect_chain(t, "k2", 100, false, "apart>k2");
    ps_trace_free(t);
}

static void thinning(void **state) {
    (void)state;
    static int64_t times[1000];
    for (size_t i = 0; i < 1000; i++) { /* nine tenths in one moment */
        times[i] = i < 900 ? 5 : (int64_t)(i - 900) * 1000;
    }
    bool ok = false;
    size_t picks[100];
    size_t n = ps_thin_evenly(1000, 100, thinning_time, times, picks, &ok);
    assert_true(ok && n > 60 && n <= 100);
    for (size_t i = 1; i < n; i++) {
        assert_true(picks[i] > picks[i - 1]);
    }
    assert_true(picks[n - 1] > 990);
}

static void no_memory(void **state) {
    (void)state;
    ps_trace *t = launches();
    ps_links links;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_links_init(&links, t, &err), PS_OK);
    bool is_done = false;
    for (int64_t at = 0; !is_done; at++) {
        ps_flow_index x = {0};
        ps_flow_list chain = {0};
        ps_flow_list window = {0};
        ps_alloc_fail_at(at);
        ps_code code = ps_flow_index_init(&x, t, &err);
        if (code == PS_OK) {
            code = ps_flow_chain(&x, &links, small_find(t, "forward"), 10, &chain, &err);
        }
        if (code == PS_OK) {
            ps_flow_window w = {.kind = &x.kinds[0], INT64_MIN, INT64_MAX, 1};
            code = ps_flow_window_list(&x, &w, &window, &err);
        }
        is_done = ps_alloc_fail_at(-1) <= at;
        assert_int_equal(code, is_done ? PS_OK : PS_NOMEM);
        ps_flow_list_fini(&chain);
        ps_flow_list_fini(&window);
        ps_flow_index_fini(&x);
    }
    ps_links_fini(&links);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows),       cmocka_unit_test(ends),     cmocka_unit_test(chains),
        cmocka_unit_test(other_process), cmocka_unit_test(thinning), cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

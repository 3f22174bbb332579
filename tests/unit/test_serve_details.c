/* /api/slice, /api/near and /api/flows/ as functions, on a launch small enough to see it. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/asks.h"
#include "support/small_runs.h"

static void flow(ps_builder *b, uint32_t from, uint32_t to, const char *kind) {
    ps_builder_flow_of(b, from, to,
                       kind != NULL ? ps_builder_str(b, kind, strlen(kind)) : PS_STR_NONE);
}

/* Thread 1: frame [0 100] > frame2 [5 90] > op [10 60] > inner [12 20], inner [30 40]; mark [15 18]
 * stream 7: kernel [200 300], task [210 220], task [250 290]; mark on the device [202 204] */
static ps_trace *launch(void) {
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_PYTHON, host, "train.py(7): main", 0, 100);
    small_slice(b, PS_SLICE_PYTHON, host, "model.py(3): forward", 5, 90);
    uint32_t op = small_slice(b, PS_SLICE_HOST_OP, host, "aten::linear", 10, 60);
    small_arg(b, op, "Input type", "[float]");
    ps_builder_arg_int(b, op, "Sequence number", INT64_C(9007199254740993));
    ps_builder_arg(b, op,
                   (ps_arg){.key = ps_builder_str(b, "Input Dims", 10),
                            .type = PS_ARG_JSON,
                            .u.s = ps_builder_str(b, "[[2,3],[]]", 10)});
    ps_builder_arg(b, op,
                   (ps_arg){.key = ps_builder_str(b, "ratio", 5), .type = PS_ARG_REAL, .u.r = 0.1});
    small_slice(b, PS_SLICE_HOST_OP, host, "aten::mm", 12, 20);
    uint32_t mark = small_slice(b, PS_SLICE_MARK_HOST, host, "F1", 15, 18);
    uint32_t other = small_slice(b, PS_SLICE_HOST_OP, host, "aten::mm", 30, 40);
    small_arg(b, other, "Call stack", "a.py(1): f;\r\nb.py(2): g");
    uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, stream, "matmul", 200, 300);
    small_slice(b, PS_SLICE_TASK, stream, "part", 210, 220);
    small_slice(b, PS_SLICE_TASK, stream, "part", 250, 290);
    uint32_t device = small_slice(b, PS_SLICE_MARK_DEVICE, stream, "F1", 320, 330);
    uint32_t late = small_slice(b, PS_SLICE_KERNEL, stream, "matmul", 400, 410);
    flow(b, op, kernel, "ac2g");
    flow(b, other, late, "ac2g");
    flow(b, mark, device, NULL);
    small_step(b, 4, 0, 150);
    return small_seal(b);
}

static uint32_t find(const asks *a, const char *name, int64_t start_ns) {
    ps_loaded *l = NULL;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_store_get(a->store, 0, &l, &err), PS_OK);
    const ps_trace *t = ps_loaded_layer(l, PS_LAYER_PROFILE)->trace;
    const ps_slices *s = ps_trace_slices(t);
    uint32_t found = PS_NONE;
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->start_ns[i] == start_ns && strcmp(ps_trace_text(t, s->name[i]), name) == 0) {
            found = i;
        }
    }
    ps_loaded_release(l);
    assert_true(found != PS_NONE);
    return found;
}

static const char *slice(asks *a, const char *name, int64_t start_ns) {
    return ask(a, "/api/slice?rank=r0&slice=%u", find(a, name, start_ns));
}

static void details(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, launch());
    const char *text = slice(&a, "aten::linear", 10);
    expect_in(text, "{\"rank\":\"r0\",\"slice\":2,");
    expect_in(text, "\"start\":10,\"dur\":50,\"name\":\"aten::linear\"");
    expect_in(text, "\"kind\":\"op\"");
    expect_in(text, "\"origin_ns\":\"1700000000000000000\",\"end\":60,\"self_ns\":32,\"step\":4");
    expect_in(text,
              "\"args\":[[\"Input type\",\"[float]\"],[\"Sequence number\",\"9007199254740993\"],"
              "[\"Input Dims\",[[2,3],[]]],[\"ratio\",0.1]]");
    expect_in(text, "\"stack\":[\"model.py(3): forward\",\"train.py(7): main\"]");
    expect_in(text, "\"links\":[{\"kind\":\"ac2g\",\"direction\":\"to\",\"ref\":{");
    expect_in(text, "\"children\":{\"n\":2,\"first\":[{");
    assert_true(a.reply.is_immutable);

    text = slice(&a, "aten::mm", 30);
    expect_in(text, "\"stack\":[\"a.py(1): f\",\"b.py(2): g\"]");
    expect_in(text, "\"children\":{\"n\":0,\"first\":[]}");

    text = slice(&a, "matmul", 200); /* what launched it says where it stands in the program */
    expect_in(text, "\"self_ns\":50");
    expect_in(text, "\"stack\":[\"model.py(3): forward\",\"train.py(7): main\"]");
    expect_in(text, "\"direction\":\"from\"");
    expect_in(text, "\"children\":{\"n\":2");
    expect_in(text, "\"parents\":[]");

    text = slice(&a, "part", 250);
    expect_in(text, "\"parents\":[{\"rank\":\"r0\"");
    expect_in(text, "\"name\":\"matmul\"");
    (void)ask_fails(&a, 404, "/api/slice?rank=r0&slice=1000");
    (void)ask_fails(&a, 404, "/api/slice?rank=r1&slice=0");
    (void)ask_fails(&a, 400, "/api/slice?rank=r0");
    /* every slice of every layer has details */
    ps_loaded *l = NULL;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_store_get(a.store, 0, &l, &err), PS_OK);
    uint32_t n = ps_loaded_n_slices(l);
    ps_loaded_release(l);
    for (uint32_t i = 0; i < n; i++) {
        (void)ask(&a, "/api/slice?rank=r0&slice=%u", i);
        (void)ask(&a, "/api/flows/of?rank=r0&slice=%u", i);
    }
    asks_end(&a);
}

/* The thread that runs backward operators has no frames of its own: those of the thread that waits for it say where backward()
 * was called. */
static void stack_of_a_backward_operator(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t engine = small_thread(b, 2);
    small_slice(b, PS_SLICE_PYTHON, host, "train.py(7): main", 0, 100);
    small_slice(b, PS_SLICE_PYTHON, host, "_tensor.py(9): backward", 5, 90);
    small_slice(b, PS_SLICE_HOST_OP, engine, "autograd::engine::evaluate_function: MmBackward0", 10,
                30);
    uint32_t op = small_slice(b, PS_SLICE_HOST_OP, engine, "aten::mm", 12, 20);
    flow(b, op, small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "matmul", 200, 300), "ac2g");
    asks a;
    asks_of_trace(&a, small_seal(b));
    const char *text = slice(&a, "matmul", 200);
    expect_in(text, "\"stack\":[\"_tensor.py(9): backward\",\"train.py(7): main\"]");
    text = slice(&a, "aten::mm", 12);
    expect_in(text, "\"stack\":[\"_tensor.py(9): backward\",\"train.py(7): main\"]");
    expect_in(text,
              "\"name\":\"train.py(7): main\",\"tint\":10,\"kind\":\"python\"}],\"children\"");
    asks_end(&a);
}

static void expect_near(asks *a, const char *name, int64_t start_ns, const char *to,
                        const char *expected) {
    const char *text = ask(a, "/api/near?rank=r0&slice=%u&to=%s", find(a, name, start_ns), to);
    expect_in(text, expected);
}

static void near(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, launch());
    expect_near(&a, "aten::mm", 12, "next-same", "\"start\":30,");
    expect_near(&a, "aten::mm", 30, "previous-same", "\"start\":12,");
    expect_near(&a, "aten::mm", 30, "next-same", "{\"ref\":null}");
    expect_near(&a, "aten::mm", 12, "next", "\"start\":30,");
    expect_near(&a, "matmul", 200, "next", "\"start\":400,");
    expect_near(&a, "matmul", 200, "next-same", "\"start\":400,");
    expect_near(&a, "matmul", 200, "previous", "{\"ref\":null}");
    expect_near(&a, "aten::mm", 12, "parent", "\"name\":\"aten::linear\"");
    expect_near(&a, "aten::linear", 10, "parent", "model.py");
    expect_near(&a, "aten::linear", 10, "child", "\"start\":12,");
    expect_near(&a, "matmul", 200, "child", "\"start\":210,");
    expect_near(&a, "part", 250, "parent", "\"start\":200,");
    expect_near(&a, "part", 250, "child", "{\"ref\":null}");
    (void)ask_fails(&a, 400, "/api/near?rank=r0&slice=0&to=nowhere");
    asks_end(&a);
}

/* An op of the pipeline chart is found by its span; a label comes before what merely takes the same time. */
static void slice_at(void **state) {
    (void)state;
    asks a;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_PYTHON, host, "train.py(7): main", 0, 100);
    small_slice(b, PS_SLICE_HOST_OP, host, "aten::linear", 10, 60);
    small_slice(b, PS_SLICE_ANNOTATION, host, "F0", 10, 60);
    small_slice(b, PS_SLICE_HOST_OP, host, "aten::mm", 10, 20);
    small_slice(b, PS_SLICE_KERNEL, stream, "matmul", 200, 300);
    small_slice(b, PS_SLICE_KERNEL, stream, "part", 200, 200);
    asks_of_trace(&a, small_seal(b));
    expect_in(ask(&a, "/api/slice_at?rank=r0&start=10&end=60"), "\"name\":\"F0\"");
    expect_in(ask(&a, "/api/slice_at?rank=r0&start=10&end=20"), "\"name\":\"aten::mm\"");
    expect_in(ask(&a, "/api/slice_at?rank=r0&start=200&end=300"), "\"name\":\"matmul\"");
    expect_in(ask(&a, "/api/slice_at?rank=r0&start=200&end=200"), "\"name\":\"part\"");
    static const char *const NOWHERE[] = {"start=10&end=59", "start=11&end=60", "start=300&end=200",
                                          "start=-5&end=0", "start=400&end=500"};
    for (size_t i = 0; i < sizeof NOWHERE / sizeof *NOWHERE; i++) {
        assert_string_equal(ask(&a, "/api/slice_at?rank=r0&%s", NOWHERE[i]), "{\"ref\":null}");
    }
    (void)ask_fails(&a, 400, "/api/slice_at?rank=r0&start=10");
    (void)ask_fails(&a, 400, "/api/slice_at?rank=r0&start=10&end=9223372036854775807");
    asks_end(&a);
}

static void flows(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, launch());
    assert_string_equal(ask(&a, "/api/flows/kinds?rank=r0"),
                        "{\"kinds\":[[\"MsTx\",1],[\"ac2g\",2]]}");
    const char *text = ask(&a, "/api/flows/of?rank=r0&slice=%u", find(&a, "matmul", 200));
    assert_int_equal(count_in(text, "\"kind\":\"ac2g\""), 1);
    expect_in(text, "\"collective\":null,\"own\":null,\"more\":false,\"left_out\":0}");
    text = ask(&a, "/api/flows/window?rank=r0&kind=ac2g");
    expect_in(text, "{\"total\":2,\"flows\":[[2,");
    text = ask(&a, "/api/flows/window?rank=r0&kind=ac2g&from=20&to=500");
    expect_in(text, "{\"total\":1,");
    text = ask(&a, "/api/flows/window?rank=r0&kind=ac2g&limit=1");
    expect_in(text, "{\"total\":2,");
    assert_int_equal(count_in(text, "],["), 0);
    assert_string_equal(ask(&a, "/api/flows/window?rank=r0&kind=other"),
                        "{\"total\":0,\"flows\":[]}");
    assert_string_equal(ask(&a, "/api/flows/window?rank=r0&kind=send-recv"),
                        "{\"total\":0,\"flows\":[],\"unmatched\":0}");
    assert_string_equal(ask(&a, "/api/flows/window?rank=r0&kind=MsTx&lanes=0"),
                        "{\"total\":0,\"flows\":[]}"); /* the other end is in another lane */
    (void)ask_fails(&a, 400, "/api/flows/window?rank=r0");
    (void)ask_fails(&a, 400, "/api/flows/window?rank=r0&kind=ac2g&limit=0");
    asks_end(&a);
}

/* Memory runs out at every place: the reply says so, or is whole. */
static void no_memory(void **state) {
    (void)state;
    static const char *const ADDRESSES[] = {"/api/slice?rank=r0&slice=7",
                                            "/api/near?rank=r0&slice=2&to=next-same",
                                            "/api/slice_at?rank=r0&start=10&end=60",
                                            "/api/flows/of?rank=r0&slice=7",
                                            "/api/flows/kinds?rank=r0",
                                            "/api/flows/window?rank=r0&kind=ac2g&lanes=0-3",
                                            "/api/flows/window?rank=r0&kind=send-recv",
                                            "/api/export?rank=r0&lanes=0-3"};
    for (size_t i = 0; i < sizeof ADDRESSES / sizeof *ADDRESSES; i++) {
        bool is_done = false;
        for (int64_t at = 0; !is_done; at++) {
            asks a;
            asks_of_trace(&a, launch());
            char address[200];
            (void)snprintf(address, sizeof address, "%s", ADDRESSES[i]);
            char *query = strchr(address, '?');
            *query++ = '\0';
            ps_request q = {.store = a.store, .cache = a.cache};
            bool other = false;
            const ps_route *route = ps_route_find("GET", address, &other);
            assert_true(ps_request_parse(&q, &a.reply, query));
            ps_alloc_fail_at(at);
            ps_route_answer(route, &q, &a.reply);
            is_done = ps_alloc_fail_at(-1) <= at;
            if (a.reply.status != 200 && (is_done || a.reply.status != 507)) {
                fail_msg("%s, allocation %lld: %u: %s", ADDRESSES[i], (long long)at, a.reply.status,
                         ps_buf_str(&a.reply.body));
            }
            asks_end(&a);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(details), cmocka_unit_test(stack_of_a_backward_operator),
        cmocka_unit_test(near),    cmocka_unit_test(slice_at),
        cmocka_unit_test(flows),   cmocka_unit_test(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

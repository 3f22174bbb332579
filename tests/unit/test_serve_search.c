/* Searching: what is found, in which order, in which lanes and ranks; and a part of a rank as a file. */
#include <stdio.h>
#include <string.h>

#include "read/readers.h"
#include "support/asks.h"
#include "support/profile.h"
#include "support/small_runs.h"

/* Thread 1: op MatMul [0 10] with two arguments; Add [20 25]; mm [30 31]. stream 7: matmul_kernel [100 140], add_kernel [150 155],
 * matmul_kernel [160 190]. `shift` moves all of it. */
static ps_trace *rank_at(int64_t shift) {
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    uint32_t op = small_slice(b, PS_SLICE_HOST_OP, host, "MatMul", shift, shift + 10);
    small_arg(b, op, "shape", "[4096, 12288]");
    ps_builder_arg_int(b, op, "Sequence number", 77123);
    small_slice(b, PS_SLICE_HOST_OP, host, "Add", shift + 20, shift + 25);
    small_slice(b, PS_SLICE_CALL, host, "mm", shift + 30, shift + 31);
    uint32_t kernel =
        small_slice(b, PS_SLICE_KERNEL, stream, "matmul_kernel", shift + 100, shift + 140);
    small_slice(b, PS_SLICE_KERNEL, stream, "add_kernel", shift + 150, shift + 155);
    small_slice(b, PS_SLICE_KERNEL, stream, "matmul_kernel", shift + 160, shift + 190);
    ps_builder_flow_of(b, op, kernel, ps_builder_str(b, "ac2g", 4));
    return small_seal(b);
}

static void one_rank(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, rank_at(0));
    expect_in(ask(&a, "/api/search?q=matmul"),
              "{\"total\":3,\"ranks\":[{\"rank\":\"r0\",\"total\":3,");
    expect_in(ask(&a, "/api/search?q=matmul"), "\"names\":[[\"matmul_kernel\",");
    expect_in(ask(&a, "/api/search?q=matmul&case=1"), "{\"total\":2,");
    expect_in(ask(&a, "/api/search?q=matmul&word=1"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=%%5E(mat%%7Cadd)_&regex=1"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=%%5E(matmul%%7Cadd)_&regex=1"), "{\"total\":3,");
    expect_in(ask(&a, "/api/search?q="), "{\"total\":0,");
    expect_in(ask(&a, "/api/search?q=12288"), "{\"total\":0,");
    expect_in(ask(&a, "/api/search?q=12288&args=1"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=77123&args=1"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=matmul&from=150"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=matmul&to=100"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=m&lanes=0"), "\"lanes\":[[0,");
    expect_in(ask_fails(&a, 400, "/api/search?q=(&regex=1"), "closing parenthesis");
    (void)ask_fails(&a, 400, "/api/search");
    (void)ask_fails(&a, 404, "/api/search?q=m&lanes=99");
    (void)ask_fails(&a, 404, "/api/search?q=m&ranks=r7");
    asks_end(&a);
}

/* A launch call of the same name, a collective whose name holds that of another: a row of a comparison is neither. */
static void rows_of_comparisons(void **state) {
    (void)state;
    asks a;
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_CALL, host, "hcom_reduce__576_0_1", 0, 10);
    small_slice(b, PS_SLICE_COMM_OP, stream, "hcom_reduce__576_0_1", 20, 30);
    small_slice(b, PS_SLICE_COMM_OP, stream, "hcom_allReduce__576_1_1", 40, 50);
    uint32_t mm = small_slice(b, PS_SLICE_KERNEL, stream, "MatMul12", 60, 70);
    small_arg(b, mm, "opType", "MatMul");
    small_arg(b, mm, "Input Shapes", "4,8");
    uint32_t other = small_slice(b, PS_SLICE_KERNEL, stream, "MatMul13", 80, 90);
    small_arg(b, other, "opType", "MatMul");
    asks_of_trace(&a, small_seal(b));
    expect_in(ask(&a, "/api/search?q=reduce&row=communication"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=hcom_reduce__576_0_1&row=call"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=MatMul&row=kernel%%20type"), "{\"total\":2,");
    expect_in(ask(&a, "/api/search?q=MatMul&row=kernel"), "{\"total\":2,");
    expect_in(ask(&a, "/api/search?q=MatMul&row=kernel&detail=4,8"), "{\"total\":1,");
    expect_in(ask(&a, "/api/search?q=Mat&row=kernel"), "{\"total\":0,");
    (void)ask_fails(&a, 400, "/api/search?q=x&row=part");
    asks_end(&a);
}

static void lists(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, rank_at(0));
    const char *text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&limit=2");
    expect_in(text, "{\"total\":4,\"offset\":0,\"rows\":[{\"rank\":\"r0\",\"slice\":0,");
    assert_int_equal(count_in(text, "\"slice\""), 2);
    text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&offset=3&limit=2");
    assert_int_equal(count_in(text, "\"slice\""), 1);
    expect_in(text, "\"start\":160");
    text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&sort=dur&desc=1&limit=1");
    expect_in(text, "\"dur\":40");
    text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&sort=dur&offset=1&limit=1");
    expect_in(text, "\"dur\":10");
    text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&sort=name&limit=1");
    expect_in(text, "\"name\":\"MatMul\"");
    text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&sort=name&desc=1&limit=1");
    expect_in(text, "\"name\":\"mm\"");
    text = ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&desc=1&limit=1");
    expect_in(text, "\"start\":160");
    expect_in(ask(&a, "/api/search/list?q=mat%%7Cmm&regex=1&offset=9"), "\"rows\":[]");
    (void)ask_fails(&a, 400, "/api/search/list?q=mat%%7Cmm&regex=1&sort=colour");
    asks_end(&a);
}

static void steps(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, rank_at(0));
    expect_in(ask(&a, "/api/search/step?q=matmul&n=0"), "{\"index\":0,\"total\":3,\"ref\":{");
    expect_in(ask(&a, "/api/search/step?q=matmul&n=3"), "{\"index\":-1,\"total\":3,\"ref\":null}");
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&slice=0&dir=next"), "{\"index\":1,");
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&slice=0&dir=previous"), "\"ref\":null");
    /* from a slice that is not among them */
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&slice=1&dir=next"), "{\"index\":1,");
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&slice=1&dir=previous"), "{\"index\":0,");
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&time=120&dir=next"), "{\"index\":2,");
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&time=100&dir=next"), "{\"index\":1,");
    expect_in(ask(&a, "/api/search/step?q=matmul&rank=r0&time=100&dir=previous"), "{\"index\":0,");
    (void)ask_fails(&a, 400, "/api/search/step?q=matmul");
    (void)ask_fails(&a, 400, "/api/search/step?q=matmul&rank=r0&slice=0&dir=up");
    (void)ask_fails(&a, 404, "/api/search/step?q=matmul&rank=r1&slice=0");
    asks_end(&a);
}

/* Three ranks, the second 35 ns after the first, the third at the same time as it: the order is by time, then rank. */
static void several_ranks(void **state) {
    asks a;
    ps_trace *traces[3] = {rank_at(0), rank_at(35), rank_at(0)};
    asks_of_traces(&a, ((const place *)*state)->dir, traces, 3);
    const char *text = ask(&a, "/api/search?q=mat");
    expect_in(text, "{\"total\":9,");
    expect_in(text, "\"names\":[[\"matmul_kernel\",");
    expect_in(text, ",6],[\"MatMul\",");
    uint32_t order[9];
    int64_t starts[9];
    for (unsigned n = 0; n < 9; n++) {
        text = ask(&a, "/api/search/step?q=mat&n=%u", n);
        order[n] = 9;
        for (uint32_t r = 0; r < 3; r++) {
            order[n] = strstr(text, asks_key(&a, r)) != NULL ? r : order[n];
        }
        long long start = 0;
        assert_int_equal(sscanf(strstr(text, "\"start\":"), "\"start\":%lld", &start), 1);
        starts[n] = start;
    }
    const uint32_t expected[9] = {0, 2, 1, 0, 2, 1, 0, 2, 1};
    const int64_t times[9] = {0, 0, 0, 100, 100, 100, 160, 160, 160}; /* each from its own origin */
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(order[i], expected[i]);
        assert_int_equal(starts[i], times[i]);
    }
    for (unsigned n = 0; n + 1 < 9; n++) { /* going on from each one */
        text = ask(&a, "/api/search/step?q=mat&rank=%s&slice=%u&dir=next", asks_key(&a, order[n]),
                   starts[n] == 0     ? 0u
                   : starts[n] == 100 ? 3u
                                      : 5u);
        char index[40];
        (void)snprintf(index, sizeof index, "{\"index\":%u,", n + 1);
        expect_in(text, index);
    }
    text = ask(&a, "/api/search/list?q=mat&offset=2&limit=2");
    assert_int_equal(count_in(text, "\"slice\""), 2);
    assert_true(strstr(text, asks_key(&a, 1)) < strstr(text, asks_key(&a, 0)));
    text = ask(&a, "/api/search/list?q=mat&sort=dur&desc=1&limit=3");
    assert_int_equal(count_in(text, "\"dur\":40"), 3);
    /* the span counts from the first of the ranks */
    text = ask(&a, "/api/search?q=matmul_kernel&ranks=%s,%s&from=0&to=140", asks_key(&a, 0),
               asks_key(&a, 1));
    expect_in(text, "{\"total\":2,");
    expect_in(ask(&a, "/api/search?q=matmul_kernel&from=0&to=120"), "{\"total\":2,");
    /* on from a slice of a rank that is not searched, and from a time of the first one */
    text = ask(&a, "/api/search/step?q=mat&ranks=%s&rank=%s&slice=0&dir=next", asks_key(&a, 1),
               asks_key(&a, 0));
    expect_in(text, "{\"index\":0,\"total\":3,");
    expect_in(ask(&a, "/api/search/step?q=mat&time=101&dir=next"), "{\"index\":5,");
    (void)ask_fails(&a, 400, "/api/search?q=m&lanes=0");
    asks_end(&a);
}

/* --- a part as a file ----------------------------------------------------------------------------------------- */

static void exports(void **state) {
    const place *p = *state;
    asks a;
    asks_of_trace(&a, rank_at(0));
    const char *text = ask(&a, "/api/export?rank=r0&from=15&to=140");
    assert_non_null(a.reply.file_name);
    expect_in(a.reply.file_name, "_15-140.json");
    expect_not_in(text, "\"MatMul\"");
    expect_in(text, "\"matmul_kernel\"");
    expect_not_in(text, "add_kernel");
    text = ask(&a, "/api/export?rank=r0");
    expect_in(text, "ac2g");
    write_text(place_path(p, "part.json"), text);
    ps_src src = {.path = place_path(p, "part.json")};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_ARGS, &err);
    assert_non_null(t);
    assert_int_equal(ps_trace_slices(t)->n, 6);
    assert_int_equal(ps_trace_origin_ns(t), SMALL_EPOCH_NS);
    size_t n_flows = 0;
    (void)ps_trace_flows(t, &n_flows);
    assert_int_equal(n_flows, 1);
    int64_t number = 0;
    assert_true(ps_trace_arg_int(t, small_find(t, "MatMul"), "Sequence number", &number));
    assert_int_equal(number, 77123);
    ps_trace_free(t);
    (void)ask(&a, "/api/export?rank=r0&format=pftrace");
    text = ask(&a, "/api/export?rank=r0&lanes=0");
    assert_true(strstr(text, "MatMul") == NULL || strstr(text, "matmul_kernel") == NULL);
    (void)ask_fails(&a, 400, "/api/export?rank=r0&format=xml");
    (void)ask_fails(&a, 404, "/api/export?rank=r0&lanes=77");
    asks_end(&a);
}

/* Times of a rank that the page moved: in the list and in its order, not in files. */
static void moved_ranks(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, rank_at(0));
    expect_in(ask(&a, "/api/search/table?q=matmul_kernel"), "\"kernel\",100,40,");
    expect_in(ask(&a, "/api/search/table?q=matmul_kernel&moved=other:5,r0:-1500"),
              "\"kernel\",-1400,40,");
    expect_in(ask(&a, "/api/search/table?q=matmul_kernel&moved=r0:-1500&format=records"), "100");
    expect_in(ask_fails(&a, 400, "/api/search/table?q=matmul&moved=r0"), "KEY:NS");
    asks_end(&a);
}

/* What nobody waits for ends, and nothing of it is kept for those who ask the same later. */
static void abandoned(void **state) {
    (void)state;
    static const char *const ADDRESSES[] = {
        "/api/search?q=matmul",
        "/api/search?q=12288&args=1",
        "/api/slices?rank=r0&lanes=0",
        "/api/search/table?q=m&sort=name&desc=1",
        "/api/search/table?q=m&format=csv",
        "/api/search/table?q=m&format=records",
        "/api/stats?rank=r0&lanes=0",
    };
    asks a;
    asks_of_trace(&a, rank_at(0));
    for (size_t i = 0; i < sizeof ADDRESSES / sizeof *ADDRESSES; i++) {
        atomic_store(&a.watch.stop, true);
        expect_in(ask_fails(&a, 503, "%s", ADDRESSES[i]), "nobody waits for it");
        atomic_store(&a.watch.stop, false);
        (void)ask(&a, "%s", ADDRESSES[i]);
    }
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_rank),  cmocka_unit_test(rows_of_comparisons),
        cmocka_unit_test(lists),     cmocka_unit_test(steps),
        IN_PLACE(several_ranks),     IN_PLACE(exports),
        cmocka_unit_test(abandoned), cmocka_unit_test(moved_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

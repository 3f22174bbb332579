/* /api/query and /api/schema as functions: over a rank in memory, which is not read again; memory that ends anywhere. */
#include <string.h>

#include "base/alloc.h"
#include "serve/cluster/queries.h"
#include "serve/rank/cache.h"
#include "support/asks.h"
#include "support/small_runs.h"

#define SUMS "/api/query?sql=SELECT+name,+sum(dur_ns)+AS+total_ns+FROM+slice+GROUP+BY+name"

/* stream 7: a 100-200, b 250-300, a 300-340. Its file is nowhere: what is answered is of the trace in memory. */
static ps_trace *make(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t s = small_stream(b, 7);
    (void)small_slice(b, PS_SLICE_KERNEL, s, "a", 100, 200);
    (void)small_slice(b, PS_SLICE_KERNEL, s, "b", 250, 300);
    small_arg(b, small_slice(b, PS_SLICE_KERNEL, s, "a", 300, 340), "opType", "Mul");
    return small_seal(b);
}

static void rows_of_a_rank_in_memory(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    for (int again = 0; again < 2; again++) { /* the second time from the cache */
        const char *reply = ask(&a, SUMS);
        expect_in(
            reply,
            "\"columns\":[[\"name\",\"text\",\"\",false],[\"total_ns\",\"int\",\"ns\",false]],"
            "\"total\":2,\"offset\":0,\"rows\":[\n[\"a\",140],\n[\"b\",50]]");
        expect_in(reply, "\"notes\":[],\"n_rows\":2,\"elapsed_ns\":");
    }
    expect_in(ask(&a, SUMS "&sort=total_ns&desc=0&limit=1"), "\"rows\":[\n[\"b\",50]]");
    /* With arguments, links and self times: all of it is made of the trace that is there. */
    expect_in(
        ask(&a, "/api/query?sql=SELECT+s.id,+value,+self_ns+FROM+slice+s+JOIN+arg+ON+slice=s.id"),
        "[\"id\",\"int\",\"\",false,\"slice\"]");
    expect_in(
        ask(&a, "/api/query?sql=SELECT+s.id,+value,+self_ns+FROM+slice+s+JOIN+arg+ON+slice=s.id"),
        "[2,\"Mul\",40]");
    asks_end(&a);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    expect_in(ask_fails(&a, 400, "/api/query"), "'sql' is missing");
    expect_in(ask_fails(&a, 400, "/api/query?sql=SELECT+x+FROM+slice"),
              "{\"error\":\"no such column: x\",\"line\":1,\"byte\":7}");
    expect_in(ask_fails(&a, 400, "/api/query?sql=DROP+TABLE+slice"), "only SELECT is allowed");
    expect_in(ask_fails(&a, 404, "/api/query?sql=SELECT+1&cluster=1"), "there is no cluster 1");
    expect_in(ask_fails(&a, 409, "/api/query?sql=SELECT+*+FROM+memory_curve"), "\"error\"");
    asks_end(&a);
}

/* Who asks is gone before it begins, and while it runs. */
static void a_query_of_nobody_ends(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    atomic_store(&a.watch.stop, true);
    expect_in(ask_fails(&a, 503,
                        "/api/query?timeout=600&sql=WITH+RECURSIVE+c(x)+AS+(SELECT+1+UNION+"
                        "ALL+SELECT+x%%2B1+FROM+c)+SELECT+count(*)+FROM+c"),
              "\"error\"");
    atomic_store(&a.watch.stop, false);
    expect_in(ask(&a, SUMS), "[\"a\",140]");
    asks_end(&a);
}

static void memory_may_end_anywhere(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        asks a;
        asks_of_trace(&a, make());
        ps_request q = {.path = "/api/query", .store = a.store, .cache = a.cache};
        q.params[q.n_params++] = (ps_param){
            "sql", "SELECT name, sum(self_ns) FROM slice s JOIN arg ON slice = s.id GROUP BY name"};
        bool other = false;
        const ps_route *route = ps_route_find("GET", "/api/query", &other);
        (void)ps_alloc_fail_at(n);
        ps_route_answer(route, &q, &a.reply);
        done = ps_alloc_fail_at(-1) <= n;
        if (a.reply.status == 200) {
            expect_in(ps_buf_str(&a.reply.body), "[\"a\",40]");
        } else {
            assert_int_equal(a.reply.status, 507);
        }
        asks_end(&a);
    }
}

static void the_schema(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    const char *reply = ask(&a, "/api/schema");
    expect_in(reply, "{\"name\":\"slice\",\"text\":\"Everything with a begin and an end");
    expect_in(reply, "[\"start_ns\",\"integer\",\"ns since 1970\",\"begin\"]");
    expect_in(reply, "\"set\":\"job views\"");
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_of_a_rank_in_memory),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(a_query_of_nobody_ends),
        cmocka_unit_test(memory_may_end_anywhere),
        cmocka_unit_test(the_schema),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Communication across ranks: sends with their receives, collectives with all who took part and who came last. */
#include <stdio.h>
#include <string.h>

#include "support/asks.h"
#include "support/profile.h"
#include "support/small_runs.h"

static uint32_t op(ps_builder *b, uint32_t track, const char *name, int64_t start_us,
                   int64_t end_us) {
    return small_slice(b, PS_SLICE_COMM_OP, track, name, start_us * 1000, end_us * 1000);
}

static void peer(ps_builder *b, uint32_t slice, int64_t own, int64_t other) {
    ps_builder_arg_int(b, slice, "srcRank", own);
    ps_builder_arg_int(b, slice, "dstRank", other);
}

/* Three ranks of one communicator, on one clock (all end together). The collective begins at 100, 140 and 120 us and ends at
 * 200: rank 1 comes last, 20 us after rank 2, 40 us after rank 0. Then rank 0 sends to rank 2 twice, the second time 30 us
 * late. A kernel beside takes part in nothing. */
static ps_trace *rank(int r) {
    static const int64_t BEGINS[3] = {100, 140, 120};
    ps_builder *b = ps_builder_new();
    uint32_t group = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                                    .pid = 3,
                                                    .tid = -1,
                                                    .device = 0,
                                                    .name = ps_builder_str(b, "world", 5)});
    ps_builder_meta(b, "parallel_group_info",
                    "{\"world\": {\"group_name\": \"pp\", \"group_rank\": 0, "
                    "\"global_ranks\": [10, 11, 12, 13, 14]}}");
    small_step(b, 1, 0, 2000000);
    (void)small_slice(b, PS_SLICE_KERNEL, small_stream(b, 7), "kernel", 0, 1000);
    uint32_t reduce = op(b, group, "hcom_allReduce__1_0_1", BEGINS[r], 200);
    small_arg(b, reduce, "opType", "hcom_allReduce_");
    uint32_t again = op(b, group, "hcom_allReduce__1_9_1", 900, 950);
    small_arg(b, again, "opType", "hcom_allReduce_");
    if (r == 0) {
        peer(b, op(b, group, "hcom_send__1_1_1", 300, 310), 0, 2);
        peer(b, op(b, group, "hcom_send__1_2_1", 430, 440), 0, 2);
    } else if (r == 2) {
        peer(b, op(b, group, "hcom_receive__1_1_1", 300, 310), 2, 0);
        peer(b, op(b, group, "hcom_receive__1_2_1", 400, 440), 2, 0);
    }
    return small_seal(b);
}

static void begin(asks *a, void **state) {
    ps_trace *traces[3] = {rank(0), rank(1), rank(2)};
    asks_of_traces(a, ((const place *)*state)->dir, traces, 3);
}

/* Of each rank: kernel 0, collective 1, and from 2 on sends or receives, collective. */
static void collectives(void **state) {
    asks a;
    begin(&a, state);
    for (size_t r = 0; r < 3; r++) {
        const char *text = ask(&a, "/api/flows/of?rank=%s&slice=1", asks_key(&a, r));
        assert_int_equal(count_in(text, "\"kind\":\"collective\""), 2);
        expect_in(text, "\"waited_ns\":40000,\"from\":");
        expect_in(text, "\"waited_ns\":20000,\"from\":");
        expect_in(
            text,
            "\"collective\":{\"group\":\"world\",\"name\":\"hcom_allReduce__1_0_1\",\"n\":3,"
            "\"group_size\":5,\"spread_ns\":40000,\"late_ns\":20000,\"waited_ns\":60000,\"last\":{");
        char last[80];
        (void)snprintf(last, sizeof last, "\"last\":{\"rank\":\"%s\"", asks_key(&a, 1));
        expect_in(text, last);
        expect_in(text, "\"left_out\":0}");
    }
    const char *text = ask(&a, "/api/flows/of?rank=%s&slice=0", asks_key(&a, 0));
    expect_in(text, "{\"flows\":[],\"collective\":null,\"own\":null");
    asks_end(&a);
}

/* Of five members three are there. Whom a rank sends to it knows itself, and of a transfer whose other end nobody read too: rank 2 in the
 * last place of its communicator is 12 of the job. */
static void what_a_rank_says_itself(void **state) {
    asks a;
    begin(&a, state);
    expect_in(ask(&a, "/api/flows/of?rank=%s&slice=1", asks_key(&a, 0)),
              "\"own\":{\"group\":\"world\",\"group_size\":5,\"sends\":null,\"peer\":null}");
    expect_in(ask(&a, "/api/flows/of?rank=%s&slice=2", asks_key(&a, 0)),
              "\"own\":{\"group\":\"world\",\"group_size\":5,\"sends\":true,\"peer\":12}");
    expect_in(ask(&a, "/api/flows/of?rank=%s&slice=2", asks_key(&a, 2)),
              "\"sends\":false,\"peer\":10}");
    asks_end(&a);
}

static void sends(void **state) {
    asks a;
    begin(&a, state);
    char from[100];
    char to[100];
    for (unsigned k = 0; k < 2; k++) {
        (void)snprintf(from, sizeof from, "\"from\":{\"rank\":\"%s\",\"slice\":%u,",
                       asks_key(&a, 0), 2 + k);
        (void)snprintf(to, sizeof to, "\"to\":{\"rank\":\"%s\",\"slice\":%u,", asks_key(&a, 2),
                       2 + k);
        for (size_t r = 0; r < 3; r += 2) { /* told alike at both ends */
            const char *text = ask(&a, "/api/flows/of?rank=%s&slice=%u", asks_key(&a, r), 2 + k);
            assert_int_equal(count_in(text, "\"kind\":"), 3); /* the flow and its two slices */
            expect_in(text,
                      k == 0 ? "\"kind\":\"send-recv\",\"waited_ns\":0," : "\"waited_ns\":30000,");
            expect_in(text, from);
            expect_in(text, to);
            expect_in(text, "\"collective\":null");
        }
    }
    asks_end(&a);
}

/* Each flow is told once: by the rank in which it ends. */
static void windows(void **state) {
    asks a;
    begin(&a, state);
    expect_in(ask(&a, "/api/flows/kinds?rank=%s", asks_key(&a, 2)),
              "[[\"send-recv\",2],[\"collective\",2]]");
    expect_in(ask(&a, "/api/flows/kinds?rank=%s", asks_key(&a, 0)), "[[\"collective\",2]]");
    expect_in(ask(&a, "/api/flows/window?rank=%s&kind=send-recv", asks_key(&a, 0)),
              "{\"total\":0,");
    const char *text = ask(&a, "/api/flows/window?rank=%s&kind=send-recv", asks_key(&a, 2));
    char key[80];
    (void)snprintf(key, sizeof key, ",300000,\"%s\"]", asks_key(&a, 0));
    expect_in(text, "{\"total\":2,\"flows\":[[2,2,");
    expect_in(text, key);
    text = ask(&a, "/api/flows/window?rank=%s&kind=send-recv&from=350000", asks_key(&a, 2));
    expect_in(text, "{\"total\":1,\"flows\":[[3,3,");
    text = ask(&a, "/api/flows/window?rank=%s&kind=send-recv&limit=1", asks_key(&a, 2));
    expect_in(text, "{\"total\":2,");
    assert_int_equal(count_in(text, "],["), 0);
    size_t n = 0;
    for (size_t r = 0; r < 3; r++) {
        text = ask(&a, "/api/flows/window?rank=%s&kind=collective", asks_key(&a, r));
        n += strstr(text, "{\"total\":2") != NULL   ? 2
             : strstr(text, "{\"total\":1") != NULL ? 1
                                                    : 0;
    }
    assert_int_equal(n, 4); /* two collectives, each from one rank to two others */
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(collectives),
        IN_PLACE(sends),
        IN_PLACE(what_a_rank_says_itself),
        IN_PLACE(windows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

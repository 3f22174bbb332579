/* Communication operators made from marks: table, numbering, peers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyze/comm/commop.h"
#include "base/alloc.h"
#include "base/buf.h"

typedef struct call {
    const char *message;
    int64_t host_start, start, end;
    int64_t connection;
} call;

static ps_trace *make_trace(const call *calls, size_t n) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    ps_builder_step(b, 1, 0, 1000);
    ps_builder_step(b, 2, 1000, 2000);
    uint32_t thread = ps_builder_track(b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 1});
    uint32_t stream = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 5});
    for (size_t i = 0; i < n; i++) {
        const call *c = &calls[i];
        ps_str name = ps_builder_str(b, c->message, strlen(c->message));
        uint32_t host = ps_builder_slice(b, PS_SLICE_MARK_HOST, thread, name, c->host_start,
                                         c->host_start + 1, (int64_t)i);
        uint32_t device =
            ps_builder_slice(b, PS_SLICE_MARK_DEVICE, stream, name, c->start, c->end, (int64_t)i);
        ps_builder_flow(b, host, device);
        ps_builder_arg_int(b, device, "connectionId", c->connection);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

/* "name start end connection count" of each row. */
static void dump(const ps_table *t, ps_buf *out) {
    ps_buf_clear(out);
    for (size_t r = 0; r < t->n_rows; r++) {
        assert_int_equal(ps_table_cell(t, r, 5)->u.i, r); /* opId */
        ps_buf_addf(out, "%s %lld %lld %lld %s\n", ps_table_cell(t, r, 0)->u.text,
                    (long long)ps_table_cell(t, r, 1)->u.i, (long long)ps_table_cell(t, r, 2)->u.i,
                    (long long)ps_table_cell(t, r, 3)->u.i, ps_table_cell(t, r, 10)->u.text);
    }
}

static void expect_table(const ps_trace *t, int64_t step_id, const char *expected) {
    ps_analysis_opts opts = {.step_id = step_id};
    ps_table *table = NULL;
    ps_diag diag = {0};
    ps_buf text;
    ps_buf_init(&text, 0);
    assert_int_equal(ps_commop_from_marks(t, NULL, &opts, &table, NULL, &diag, NULL), PS_OK);
    if (expected == NULL) {
        assert_null(table);
    } else {
        assert_non_null(table);
        dump(table, &text);
        assert_string_equal(ps_buf_str(&text), expected);
        assert_int_equal(table->mode, PS_TABLE_CREATE);
        assert_int_equal(table->home, PS_HOME_RANK);
    }
    ps_buf_fini(&text);
    ps_table_free(table);
}

/* Last digits of the hashes: a 97 * 2^32 + 97 = 416611827809, b 98 * 2^32 + 98
 * = 420906795106. */
#define JSON(op, group)                                                                            \
    "{\"opName\": \"" op "\", \"groupName\": \"" group                                             \
    "\", \"dataType\": \"fp16\", \"count\": \"8\", \"streamId\": \"5\"}"

/* Rows come in the order of the device, and each group numbers each type for
 * itself. */
static void each_group_numbers_each_type(void **state) {
    (void)state;
    static const call CALLS[] = {
        {JSON("HcclBroadcast", "a"), 10, 500, 510, 4},
        {JSON("HcclBroadcast", "a"), 20, 100, 110, 1},
        {JSON("HcclBroadcast", "b"), 30, 200, 210, 2},
        {JSON("HcclAllreduce", "a"), 40, 300, 310, 3},
    };
    ps_trace *t = make_trace(CALLS, 4);
    expect_table(t, -1,
                 "HcclBroadcast__809_0_1 100 110 1 8\nHcclBroadcast__106_0_1 200 210 2 8\n"
                 "HcclAllreduce__809_0_1 300 310 3 8\nHcclBroadcast__809_1_1 500 510 4 "
                 "8\n");
    ps_trace_free(t);
}

/* With a step filter the calls that begin in the step, the end not included. */
static void a_step_filter_looks_at_the_call(void **state) {
    (void)state;
    static const call CALLS[] = {
        {JSON("HcclBroadcast", "a"), 999, 1500, 1510, 1},
        {JSON("HcclBroadcast", "a"), 1000, 1600, 1610, 2},
        {JSON("HcclBroadcast", "a"), 2000, 2600, 2610, 3},
    };
    ps_trace *t = make_trace(CALLS, 3);
    expect_table(t, 1, "HcclBroadcast__809_0_1 1500 1510 1 8\n");
    expect_table(t, 2, "HcclBroadcast__809_0_1 1600 1610 2 8\n");
    expect_table(t, 3, NULL);
    ps_trace_free(t);
}

static void what_is_no_communication_makes_no_table(void **state) {
    (void)state;
    static const call CALLS[] = {
        {"{'name': 'forward_step'}", 10, 100, 110, 1},
        {"", 20, 200, 210, 2},
        {"communication", 30, 300, 310, 3},
    };
    ps_trace *t = make_trace(CALLS, 3);
    expect_table(t, -1, NULL);
    ps_trace_free(t);
}

/* Numbers do as well as texts; a group of many letters is no danger. */
static void odd_but_readable_messages(void **state) {
    (void)state;
    static char message[4000];
    char group[3001];
    memset(group, 'g', sizeof group - 1);
    group[sizeof group - 1] = '\0';
    (void)snprintf(message, sizeof message,
                   "{\"opName\": \"HcclBroadcast\", \"groupName\": \"%s\", "
                   "\"dataType\": 5, \"count\": 7}",
                   group);
    const call calls[] = {{message, 10, 100, 110, 1}};
    ps_trace *t = make_trace(calls, 1);
    ps_analysis_opts opts = {.step_id = -1};
    ps_table *table = NULL;
    ps_diag diag = {0};
    assert_int_equal(ps_commop_from_marks(t, NULL, &opts, &table, NULL, &diag, NULL), PS_OK);
    assert_int_equal(table->n_rows, 1);
    assert_string_equal(ps_table_cell(table, 0, 4)->u.text, group);
    assert_int_equal(ps_table_cell(table, 0, 8)->u.i, 65534); /* "5" is no data type */
    assert_string_equal(ps_table_cell(table, 0, 10)->u.text, "7");
    ps_table_free(table);
    ps_trace_free(t);
}

#define P2P(op, peers)                                                                             \
    "{\"opName\": \"" op                                                                           \
    "\", \"groupName\": \"a\", \"dataType\": \"fp16\", \"count\": \"8\"" peers "}"

/* This rank is number 2 of group a. */
static void peers_are_completed_from_the_group(void **state) {
    (void)state;
    static const struct {
        const char *message;
        int sender, receiver; /* -1: not known */
    } CASES[] = {
        {P2P("HcclSend", ", \"srcRank\": \"2\", \"dstRank\": \"3\""), 2, 3},
        {P2P("HcclSend", ", \"dstRank\": \"3\""), 2, 3},
        {P2P("HcclSend", ", \"srcRank\": \"2\""), -1, -1},
        {P2P("HcclRecv", ", \"srcRank\": \"1\", \"dstRank\": \"2\""), 1, 2},
        {P2P("HcclRecv", ", \"srcRank\": \"2\", \"dstRank\": \"1\""), 1, 2}, /* own rank first */
        {P2P("HcclRecv", ", \"srcRank\": \"1\""), 1, 2},
        {P2P("HcclReceive", ", \"srcRank\": 1"), 1, 2},
        {P2P("HcclRecv", ""), -1, -1},
        {P2P("HcclSend", ", \"srcRank\": \"2\", \"dstRank\": \"4294967295\""), -1, -1},
    };
    ps_group_fact group = {
        .comm_name = "a", .group_name = "pp", .group_rank = 2, .n_ranks = 4, .first_rank = 0};
    ps_rank_facts facts = {.groups = &group, .n_groups = 1};
    ps_analysis_opts opts = {.step_id = -1};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const call calls[] = {{CASES[i].message, 10, 100, 110, 1}};
        ps_trace *t = make_trace(calls, 1);
        ps_p2p_list p2p;
        ps_table *table = NULL;
        ps_diag diag = {0};
        assert_true(ps_p2p_list_init(&p2p));
        assert_int_equal(ps_commop_from_marks(t, &facts, &opts, &table, &p2p, &diag, NULL), PS_OK);
        bool known = CASES[i].sender >= 0;
        if (p2p.n != known || diag.counts[PS_ODD_P2P_PEER] != !known ||
            (known &&
             (p2p.ops[0].sender != CASES[i].sender || p2p.ops[0].receiver != CASES[i].receiver))) {
            fail_msg("%s", CASES[i].message);
        }
        assert_int_equal(p2p.n_operators, 1);
        ps_p2p_list_fini(&p2p);
        ps_table_free(table);
        ps_trace_free(t);
    }
}

static void out_of_memory(void **state) {
    (void)state;
    static const call CALLS[] = {
        {P2P("HcclSend", ", \"srcRank\": \"0\", \"dstRank\": \"1\""), 10, 100, 110, 1},
        {"comm:HcclAllReduce,a,fp16,8", 20, 200, 210, 2}};
    ps_trace *t = make_trace(CALLS, 2);
    ps_analysis_opts opts = {.step_id = -1};
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_p2p_list p2p;
        ps_table *table = NULL;
        ps_diag diag = {0};
        ps_err err = PS_ERR_INIT;
        assert_true(ps_p2p_list_init(&p2p));
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_commop_from_marks(t, NULL, &opts, &table, &p2p, &diag, &err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        assert_true(!done || (table->n_rows == 2 && p2p.n == 1));
        ps_p2p_list_fini(&p2p);
        ps_table_free(table);
    }
    ps_trace_free(t);
}

/* A message is parsed once however often it comes, and only its texts are kept. */
static void repeated_messages_are_parsed_once(void **state) {
    (void)state;
    enum { N = 5000 };
    static call calls[N];
    int64_t n_allocations[2];
    for (int i = 0; i < N; i++) {
        calls[i] = (call){i % 2 == 0 ? JSON("HcclBroadcast", "a") : "comm:HcclAllReduce,b,fp32,4",
                          i, 10 * i, 10 * i + 5, i};
    }
    for (int k = 0; k < 2; k++) {
        ps_trace *t = make_trace(calls, k == 0 ? 2 : N);
        ps_analysis_opts opts = {.step_id = 99}; /* no row: what is counted is the reading */
        ps_table *table = NULL;
        ps_diag diag = {0};
        (void)ps_alloc_fail_at(-1);
        assert_int_equal(ps_commop_from_marks(t, NULL, &opts, &table, NULL, &diag, NULL), PS_OK);
        n_allocations[k] = ps_alloc_fail_at(-1);
        assert_null(table);
        ps_trace_free(t);
    }
    assert_true(n_allocations[1] == n_allocations[0]);
    ps_trace *t = make_trace(calls, N);
    ps_analysis_opts opts = {.step_id = -1};
    ps_table *table = NULL;
    ps_diag diag = {0};
    assert_int_equal(ps_commop_from_marks(t, NULL, &opts, &table, NULL, &diag, NULL), PS_OK);
    assert_int_equal(table->n_rows, N);
    assert_string_equal(ps_table_cell(table, N - 1, 0)->u.text, "hcom_AllReduce__106_2499_1");
    assert_int_equal(ps_table_cell(table, N - 1, 3)->u.i, N - 1); /* its own connection */
    ps_table_free(table);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_group_numbers_each_type),
        cmocka_unit_test(a_step_filter_looks_at_the_call),
        cmocka_unit_test(what_is_no_communication_makes_no_table),
        cmocka_unit_test(odd_but_readable_messages),
        cmocka_unit_test(peers_are_completed_from_the_group),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(repeated_messages_are_parsed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Names of point-to-point operators, what is collected, and how the ends find
 * each other. The cut windows are in test_faults_p2p.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/comm/p2p.h"
#include "model/group_hash.h"
#include "support/runs.h"

#define IDS                                                                                        \
    "SELECT s.value, o.opConnectionId FROM COMMUNICATION_OP o JOIN STRING_IDS "                    \
    "s ON s.id = o.opName "                                                                        \
    "ORDER BY o.startNs, o.opId"

enum { US = 1000 };

static void names_are_understood(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool ok, is_send;
        const char *tag;
        int64_t sequence, iteration;
    } CASES[] = {
        {"hcom_send__849_56_1", true, true, "849", 56, 1},
        {"hcom_Send__849_56_1", true, true, "849", 56, 1},
        {"hcom_receive__7_0_12", true, false, "7", 0, 12},
        {"hcom_Receive__849_1_1", true, false, "849", 1, 1},
        {"hcom_recv__849_1_1", true, false, "849", 1, 1},
        {"hcom_Recv__18446744073709551615_1_1", true, false, "18446744073709551615", 1, 1},
        {"hcom_allReduce__849_1_1", false, false, "", 0, 0},
        {"hcom_batchSendRecv__849_1_1", false, false, "", 0, 0},
        {"hcom_SEND__849_1_1", false, false, "", 0, 0},
        {"hcom_send_849_1_1", false, false, "", 0, 0},
        {"hcom_send__849_1", false, false, "", 0, 0},
        {"hcom_send__849_1_1_1", false, false, "", 0, 0},
        {"hcom_send__849_-1_1", false, false, "", 0, 0}, /* before the recording proper began */
        {"hcom_send____1", false, false, "", 0, 0},
        {"hcom_send__849_99999999999999999999_1", false, false, "", 0, 0},
        {"HcclSend__849_1_1", false, false, "", 0, 0},
        {"hcom_", false, false, "", 0, 0},
        {"", false, false, "", 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        bool is_send = false;
        const char *tag = NULL;
        size_t tag_len = 0;
        int64_t sequence = -1;
        int64_t iteration = -1;
        bool ok = ps_p2p_parse_name(CASES[i].name, &is_send, &tag, &tag_len, &sequence, &iteration);
        if (ok != CASES[i].ok) {
            fail_msg("%s: %s", CASES[i].name, ok ? "taken" : "not taken");
        }
        if (ok) {
            assert_int_equal(is_send, CASES[i].is_send);
            assert_int_equal(tag_len, strlen(CASES[i].tag));
            assert_memory_equal(tag, CASES[i].tag, tag_len);
            assert_int_equal(sequence, CASES[i].sequence);
            assert_int_equal(iteration, CASES[i].iteration);
        }
    }
}

/* Known pairs of name and last digits, and code points beyond one byte: U+00E9
 * is 233, twice 233 * 29 + 233 = 6990 and 233 * 131 + 233 = 30756. */
static void group_hashes(void **state) {
    (void)state;
    char text[24];
    ps_group_hash_text("group_name_29", text);
    assert_string_equal(text + strlen(text) - 3, "843");
    ps_group_hash_text("group_name_84", text);
    assert_string_equal(text + strlen(text) - 3, "648");
    assert_true(ps_group_hash("") == 0);
    assert_true(ps_group_hash("\xc3\xa9\xc3\xa9") == (UINT64_C(6990) << 32 | 30756));
}

static void run_pairing(outcome *o, const place *where, int64_t step_id) {
    ps_run_opts opts = default_opts();
    opts.analysis.step_id = step_id;
    run_mode(o, where->dir, "p2p_pairing", &opts);
    assert_non_null(o->run);
}

/* Operators that name no peer or two of them, whose tasks belong to another
 * group, or that are collectives, get no id; an id of an earlier run is taken
 * away. */
static void odd_operators_get_no_id(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_comm_op(&p, "hcom_send__849_0_1", "group", 1 * US, 2 * US, 0, 1);
    profile_comm_op(&p, "hcom_send__849_1_1", "group", 3 * US, 4 * US, 0, -1);
    int64_t two = profile_comm_op(&p, "hcom_send__849_2_1", "group", 5 * US, 6 * US, 0, 1);
    int64_t foreign = profile_comm_op(&p, "hcom_send__849_3_1", "group", 7 * US, 8 * US, 0, 1);
    profile_comm_op(&p, "hcom_allReduce__849_4_1", "group", 9 * US, 10 * US, 0, 1);
    profile_sql(&p,
                "INSERT INTO COMMUNICATION_TASK_INFO SELECT name, globalTaskId, "
                "taskType, planeId, groupName, notifyId,"
                " rdmaType, srcRank, 2, transportType, size, dataType, linkType, opId "
                "FROM COMMUNICATION_TASK_INFO"
                " WHERE opId = %lld;"
                "UPDATE COMMUNICATION_TASK_INFO SET groupName = 77 WHERE opId = %lld;"
                "ALTER TABLE COMMUNICATION_OP ADD COLUMN opConnectionId TEXT;"
                "UPDATE COMMUNICATION_OP SET opConnectionId = 'old'",
                (long long)two, (long long)foreign);
    profile_close(&p);
    outcome o;
    run_pairing(&o, where, -1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_PEER), 2);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_GROUP), 1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 1);
    outcome_fini(&o);
    expect_rows(p.path, IDS,
                "hcom_send__849_0_1|849_0_1_0\nhcom_send__849_1_1|NULL\nhcom_"
                "send__849_2_1|NULL\n"
                "hcom_send__849_3_1|NULL\nhcom_allReduce__849_4_1|NULL\n");
}

/* Notify tasks know the peer; other tasks of the operator may name anything.
 * 4294967295 means "none". */
static void notify_tasks_name_the_peer(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    int64_t op = profile_comm_op(&p, "hcom_send__849_0_1", "group", 1 * US, 2 * US, 3, 5);
    profile_sql(&p,
                "INSERT INTO COMMUNICATION_TASK_INFO SELECT name, globalTaskId, "
                "%lld, planeId, groupName, notifyId,"
                " rdmaType, 8, 9, transportType, size, dataType, linkType, opId "
                "FROM COMMUNICATION_TASK_INFO"
                " WHERE opId = %lld;"
                "INSERT INTO COMMUNICATION_TASK_INFO SELECT name, globalTaskId, "
                "taskType, planeId, groupName, notifyId,"
                " rdmaType, 4294967295, 4294967295, transportType, size, "
                "dataType, linkType, opId"
                " FROM COMMUNICATION_TASK_INFO WHERE opId = %lld LIMIT 1",
                (long long)profile_string(&p, "Memcpy"), (long long)op, (long long)op);
    profile_close(&p);
    outcome o;
    run_pairing(&o, where, -1);
    outcome_fini(&o);
    expect_rows(p.path, IDS, "hcom_send__849_0_1|849_3_5_0\n");
}

/* The k-th belongs to the k-th when the counts are equal, though the clocks
 * differ by three transfers (all ends are 3 ms off, and so is every neighbour).
 * Names say nothing: other numbers at each end. */
static void equal_counts_bear_a_clock_offset(void **state) {
    const place *where = *state;
    profile p;
    profile q;
    profile_begin(&p, where, 0);
    profile_begin(&q, where, 1);
    static const int64_t AT[] = {0, 9, 13, 30, 31, 55}; /* ms; no shifted copy of this fits well */
    for (int k = 0; k < 6; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "hcom_send__849_%d_1", k);
        profile_comm_op(&p, name, "group", AT[k] * 1000000, AT[k] * 1000000 + 500, 0, 1);
        (void)snprintf(name, sizeof name, "hcom_receive__849_%d_1", 50 + k);
        profile_comm_op(&q, name, "group", (AT[k] + 3) * 1000000, (AT[k] + 3) * 1000000 + 500, 1,
                        0);
    }
    profile_close(&p);
    profile_close(&q);
    outcome o;
    run_pairing(&o, where, -1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 0);
    outcome_fini(&o);
    static const char ID[] = "SELECT opConnectionId FROM COMMUNICATION_OP ORDER BY startNs";
    static const char EXPECTED[] =
        "849_0_1_0\n849_0_1_1\n849_0_1_2\n849_0_1_3\n849_0_1_4\n849_0_1_5\n";
    expect_rows(p.path, ID, EXPECTED);
    expect_rows(q.path, ID, EXPECTED);
}

/* One receive in the middle was not recorded, numbers say nothing, and the
 * clock of the receiver is 90 us ahead of transfers 1 ms apart: the send
 * without a receive gets an id of its own. */
static void a_hole_in_the_middle_stays_one(void **state) {
    const place *where = *state;
    profile p;
    profile q;
    profile_begin(&p, where, 0);
    profile_begin(&q, where, 1);
    for (int k = 0; k < 7; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "hcom_send__849_%d_1", k);
        profile_comm_op(&p, name, "group", k * 1000 * US, k * 1000 * US + 500, 0, 1);
        if (k != 3) {
            (void)snprintf(name, sizeof name, "hcom_receive__849_%d_1", 50 + k);
            profile_comm_op(&q, name, "group", k * 1000 * US, k * 1000 * US + 90 * US, 1, 0);
        }
    }
    profile_close(&p);
    profile_close(&q);
    outcome o;
    run_pairing(&o, where, -1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 1);
    outcome_fini(&o);
    static const char ID[] = "SELECT opConnectionId FROM COMMUNICATION_OP ORDER BY startNs";
    expect_rows(p.path, ID,
                "849_0_1_0\n849_0_1_1\n849_0_1_2\n849_0_1_3\n849_0_1_4\n849_0_1_"
                "5\n849_0_1_6\n");
    expect_rows(q.path, ID, "849_0_1_0\n849_0_1_1\n849_0_1_2\n849_0_1_4\n849_0_1_5\n849_0_1_6\n");
}

/* Sends that end once the data is on its way, and a receiver that is usually one transfer behind, at the very moment when
 * the next one is sent: there are as many of both, and the times of most of them, not of all, speak for another offset. */
static void equal_counts_count_more_than_most_times(void **state) {
    const place *where = *state;
    static const int SENT[] = {100, 200, 300, 400, 500, 600, 700, 1700, 1800, 1900, 2000, 2100};
    static const int RECEIVED[] = {201, 301, 401, 501, 601, 690, 750, 1801, 1901, 2001, 2090, 2150};
    enum { N = sizeof SENT / sizeof *SENT };
    profile p;
    profile q;
    profile_begin(&p, where, 0);
    profile_begin(&q, where, 1);
    char expected[N * 16] = "";
    for (int k = 0; k < N; k++) {
        char name[64];
        (void)snprintf(name, sizeof name, "hcom_send__849_%d_1", k);
        profile_comm_op(&p, name, "group", (SENT[k] - 5) * US, SENT[k] * US, 0, 1);
        (void)snprintf(name, sizeof name, "hcom_receive__849_%d_1", 50 + k);
        profile_comm_op(&q, name, "group", (RECEIVED[k] - 5) * US, RECEIVED[k] * US, 1, 0);
        (void)snprintf(expected + strlen(expected), sizeof expected - strlen(expected),
                       "849_0_1_%d\n", k);
    }
    profile_close(&p);
    profile_close(&q);
    outcome o;
    run_pairing(&o, where, -1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 0);
    outcome_fini(&o);
    static const char ID[] = "SELECT opConnectionId FROM COMMUNICATION_OP ORDER BY startNs";
    expect_rows(p.path, ID, expected);
    expect_rows(q.path, ID, expected);
}

/* The step of an operator is that of its call on the host; without one, that of
 * the operator itself. */
static void a_step_filter_looks_at_the_call(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_step(&p, 1, 0, 1000);
    profile_step(&p, 2, 1000, 5000);
    int64_t op =
        profile_comm_op(&p, "hcom_send__849_0_1", "group", 1500, 1600, 0, 1); /* called in step 1 */
    profile_comm_op(&p, "hcom_send__849_1_1", "group", 2500, 2600, 0, 1); /* call not recorded */
    profile_sql(&p,
                "CREATE TABLE CANN_API (startNs INTEGER, endNs INTEGER, type "
                "INTEGER, globalTid INTEGER,"
                " connectionId INTEGER PRIMARY KEY, name INTEGER);"
                "INSERT INTO CANN_API SELECT 900, 950, 5500, 1, connectionId, 0 "
                "FROM COMMUNICATION_OP"
                " WHERE opId = %lld",
                (long long)op);
    profile_close(&p);
    outcome o;
    run_pairing(&o, where, 1);
    outcome_fini(&o);
    expect_rows(p.path, IDS, "hcom_send__849_0_1|849_0_1_0\nhcom_send__849_1_1|NULL\n");
    run_pairing(&o, where, 2);
    outcome_fini(&o);
    expect_rows(p.path, IDS, "hcom_send__849_0_1|NULL\nhcom_send__849_1_1|849_0_1_0\n");
}

/* A step that was not recorded is not taken for all of them. */
static void an_unknown_step_is_said(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_step(&p, 1, 0, 5000);
    profile_comm_op(&p, "hcom_send__849_0_1", "group", 1500, 1600, 0, 1);
    profile_close(&p);
    uint64_t before = file_hash(p.path);
    outcome o;
    ps_run_opts opts = default_opts();
    opts.analysis.step_id = 9;
    run_mode(&o, where->dir, "p2p_pairing", &opts);
    assert_null(o.run);
    assert_int_equal(o.err.code, PS_USAGE);
    assert_non_null(strstr(o.err.msg, "step 9: no such step; there are: 1"));
    outcome_fini(&o);
    assert_true(file_hash(p.path) == before);
}

/* A rank of its own profiler is never the other end. */
static void profilers_are_not_mixed(void **state) {
    const place *where = *state;
    profile p;
    profile q;
    profile_begin(&p, where, 0);
    profile_comm_op(&p, "hcom_send__849_0_1", "group", 1 * US, 2 * US, 0, 1);
    profile_close(&p);
    profile_begin_in(&q, place_path(where, "host_2_20240501120000000_ascend_ms"),
                     "ascend_mindspore_profiler_1.db");
    profile_comm_op(&q, "hcom_receive__849_0_1", "group", 1 * US, 2 * US, 1, 0);
    profile_close(&q);
    outcome o;
    run_pairing(&o, where, -1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 2);
    outcome_fini(&o);
}

static void missing_tables_are_named(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_mark(&p, "x", 1, 2);
    profile_close(&p);
    outcome o;
    run_pairing(&o, where, -1);
    assert_int_equal(o.run->n_nothing, 1);
    assert_non_null(strstr(o.run->ranks[0].err.msg, "no COMMUNICATION_OP"));
    outcome_fini(&o);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_understood),
        cmocka_unit_test(group_hashes),
        IN_PLACE(odd_operators_get_no_id),
        IN_PLACE(notify_tasks_name_the_peer),
        IN_PLACE(equal_counts_count_more_than_most_times),
        IN_PLACE(equal_counts_bear_a_clock_offset),
        IN_PLACE(a_hole_in_the_middle_stays_one),
        IN_PLACE(a_step_filter_looks_at_the_call),
        IN_PLACE(an_unknown_step_is_said),
        IN_PLACE(profilers_are_not_mixed),
        IN_PLACE(missing_tables_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

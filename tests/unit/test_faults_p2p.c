/* Faults of today's tool in pairing sends with receives, F3 F13 F14 F15 of our
 * list: each test says what is right instead. Two ends are paired when their
 * opConnectionId is the same text, which no third operator has. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/runs.h"

#define IDS                                                                                        \
    "SELECT s.value, o.opConnectionId FROM COMMUNICATION_OP o JOIN STRING_IDS "                    \
    "s ON s.id = o.opName "                                                                        \
    "ORDER BY o.startNs, o.opId"

enum { US = 1000 };

/* The pairing alone, which must succeed on all ranks. */
static void pair(const char *dir) {
    outcome o;
    run_mode(&o, dir, "p2p_pairing", NULL);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_done, o.run->n_ranks);
    outcome_fini(&o);
}

/* --- F3: one scan of the table per operator
 * ---------------------------------------------------- */

/* `n` operators, `first` of them and every second one of the first kind, 1 us
 * apart. */
static void add_many(profile *p, int n, const char *first, const char *second, int own, int peer) {
    (void)profile_comm_op(p, "hcom_allReduce__849_0_1", "group", 0, 1, 0,
                          -1); /* makes the tables */
    int64_t notify = profile_string(p, "Notify_Wait");
    int64_t group = profile_string(p, "group");
    profile_sql(p,
                "CREATE TABLE numbers (i INTEGER);"
                "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k "
                "WHERE i < %d)"
                " INSERT INTO numbers SELECT i FROM k;"
                "INSERT INTO STRING_IDS SELECT 1000 + i, printf(CASE i %% 2 WHEN "
                "1 THEN %Q ELSE %Q END, i)"
                " FROM numbers;"
                "INSERT INTO COMMUNICATION_OP SELECT 1000 + i, i * 1000, i * "
                "1000 + 500, i, %lld, i, 0, 0, 3, NULL,"
                " 1, 0 FROM numbers;"
                "INSERT INTO COMMUNICATION_TASK_INFO SELECT 0, i, %lld, 0, %lld, "
                "0, 0, %d, %d, 0, 1, 3, 0, i"
                " FROM numbers;"
                "DROP TABLE numbers",
                n, first, second, (long long)group, (long long)notify, (long long)group, own, peer);
}

/* Rank 0 sends and receives in turn, rank 1 the other way round. A second run
 * finds every value in its place and writes nothing. */
static void f03_pairing_is_linear(void **state) {
    enum { N = 20000 };
    const place *where = *state;
    const char *paths[2];
    for (int r = 0; r < 2; r++) {
        profile p;
        profile_begin(&p, where, r);
        add_many(&p, N, r == 0 ? "hcom_send__849_%d_1" : "hcom_receive__849_%d_1",
                 r == 0 ? "hcom_receive__849_%d_1" : "hcom_send__849_%d_1", r, 1 - r);
        profile_close(&p);
        paths[r] = place_path(where, "%s", p.path + strlen(where->dir) + 1);
    }
    pair(where->dir);
    expect_rows(paths[0], IDS " LIMIT 4",
                "hcom_allReduce__849_0_1|NULL\nhcom_send__849_1_1|849_0_1_"
                "0\nhcom_receive__849_2_1|849_1_0_0\n"
                "hcom_send__849_3_1|849_0_1_1\n");
    static const char COUNT[] = "SELECT count(DISTINCT opConnectionId) FROM COMMUNICATION_OP";
    assert_int_equal(query_int(paths[0], COUNT), N);
    char *mine = query_rows(paths[0], "SELECT opConnectionId FROM COMMUNICATION_OP WHERE "
                                      "opId > 0 ORDER BY opId");
    char *theirs = query_rows(paths[1], "SELECT opConnectionId FROM COMMUNICATION_OP WHERE "
                                        "opId > 0 ORDER BY opId");
    assert_string_equal(mine, theirs); /* operator i of one rank is the other end
                                        of operator i of the other */
    free(mine);
    free(theirs);
    uint64_t before = file_hash(paths[0]);
    pair(where->dir);
    assert_true(file_hash(paths[0]) == before);
}

/* --- F13: operators made from marks
 * ------------------------------------------------------------- */

static const char FORWARD[] = "{'name': 'forward_step'}";

/* A rank at the lowest profiling level: marks of the calls, no communication
 * tables. "group_name_29" hashes to a number that ends in 843. */
static void begin_marks_only(profile *p, const place *where, int rank, bool with_groups) {
    char groups[256];
    profile_begin(p, where, rank);
    profile_mark(p, FORWARD, 100, 200);
    if (with_groups) {
        (void)snprintf(groups, sizeof groups,
                       "{\"group_name_29\": {\"group_name\": \"pp\", "
                       "\"group_rank\": %d, \"global_ranks\": [0, 1]}}",
                       rank);
        profile_meta(p, "parallel_group_info", groups);
    }
}

static void add_call(profile *p, const char *call, const char *peers, int64_t start_ns) {
    char message[256];
    (void)snprintf(message, sizeof message,
                   "{\"count\": \"1024\", \"dataType\": \"bfp16\", "
                   "\"groupName\": \"group_name_29\", \"opName\": "
                   "\"%s\", \"streamId\": \"5\"%s}",
                   call, peers);
    profile_add_mark(
        p, (mark_spec){message, start_ns - 50, start_ns - 40, start_ns, start_ns + 30, 5, false});
}

/* Names are those that pairing and Insight look for, and both ends get one id.
 * Peers may be said in several ways: both ends, the own rank first, or the peer
 * only; the own rank is known from the group. */
static void f13_marks_with_peers_are_named_and_paired(void **state) {
    const place *where = *state;
    profile p;
    begin_marks_only(&p, where, 0, true);
    add_call(&p, "HcclSend", ", \"srcRank\": \"0\", \"dstRank\": \"1\"", 1000);
    add_call(&p, "HcclSend", ", \"destRank\": \"1\"", 2000);
    add_call(&p, "HcclRecv", ", \"srcRank\": \"0\", \"dstRank\": \"1\"", 3000); /* own rank first */
    profile_close(&p);
    profile q;
    begin_marks_only(&q, where, 1, true);
    add_call(&q, "HcclRecv", ", \"srcRank\": \"0\", \"dstRank\": \"1\"", 1000); /* sender first */
    add_call(&q, "HcclRecv", ", \"srcRank\": \"0\"", 2000);
    add_call(&q, "HcclSend", ", \"srcRank\": \"1\", \"dstRank\": \"0\"", 3000);
    profile_close(&q);
    run_pp_chart(where->dir, NULL);
    expect_rows(p.path, IDS,
                "hcom_send__843_0_1|843_0_1_0\nhcom_send__843_1_1|843_0_1_"
                "1\nhcom_receive__843_0_1|843_1_0_0\n");
    expect_rows(q.path, IDS,
                "hcom_receive__843_0_1|843_0_1_0\nhcom_receive__843_1_1|843_0_1_"
                "1\nhcom_send__843_0_1|843_1_0_0\n");
}

/* Without the group the message alone must name both ends; one that does not is
 * counted and left without an id. */
static void f13_marks_without_peers_are_counted(void **state) {
    const place *where = *state;
    profile p;
    begin_marks_only(&p, where, 0, false);
    add_call(&p, "HcclSend", ", \"srcRank\": 0, \"dstRank\": 1",
             1000); /* numbers do as well as text */
    add_call(&p, "HcclSend", "", 2000);
    profile_close(&p);
    outcome o;
    run_mode(&o, where->dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_PEER), 1);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 1);
    outcome_fini(&o);
    expect_rows(p.path, IDS, "hcom_send__843_0_1|843_0_1_0\nhcom_send__843_1_1|NULL\n");
}

/* --- F14: several groups
 * ------------------------------------------------------------------------ */

/* The operators of two groups alternate, with the same local ranks: each group
 * counts for itself. */
static void f14_groups_count_for_themselves(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_comm_op(&p, "hcom_send__111_0_1", "first", 1 * US, 2 * US, 0, 1);
    profile_comm_op(&p, "hcom_send__222_0_1", "second", 3 * US, 4 * US, 0, 1);
    profile_comm_op(&p, "hcom_send__111_1_1", "first", 5 * US, 6 * US, 0, 1);
    profile_close(&p);
    profile q;
    profile_begin(&q, where, 1);
    profile_comm_op(&q, "hcom_receive__111_0_1", "first", 1 * US, 2 * US, 1, 0);
    profile_comm_op(&q, "hcom_receive__111_1_1", "first", 5 * US, 6 * US, 1, 0);
    profile_close(&q);
    profile s;
    profile_begin(&s, where, 2); /* rank 1 of the second group */
    profile_comm_op(&s, "hcom_receive__222_0_1", "second", 3 * US, 4 * US, 1, 0);
    profile_close(&s);
    pair(where->dir);
    expect_rows(p.path, IDS,
                "hcom_send__111_0_1|111_0_1_0\nhcom_send__222_0_1|222_0_1_"
                "0\nhcom_send__111_1_1|111_0_1_1\n");
    expect_rows(q.path, IDS, "hcom_receive__111_0_1|111_0_1_0\nhcom_receive__111_1_1|111_0_1_1\n");
    expect_rows(s.path, IDS, "hcom_receive__222_0_1|222_0_1_0\n");
}

/* Two groups whose hashes end in the same three digits: the whole hash goes
 * into the id. The hash of a name of one letter is its code in both halves: "a"
 * 97 * 2^32 + 97, "b" 98 * 2^32 + 98. */
static void f14_equal_tags_of_two_groups_do_not_mix(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_comm_op(&p, "hcom_send__849_0_1", "a", 1 * US, 2 * US, 0, 1);
    profile_comm_op(&p, "hcom_send__849_0_1", "b", 3 * US, 4 * US, 0, 1);
    profile_close(&p);
    profile q;
    profile_begin(&q, where, 1);
    profile_comm_op(&q, "hcom_receive__849_0_1", "b", 3 * US, 4 * US, 1, 0);
    profile_close(&q);
    outcome o;
    run_mode(&o, where->dir, "p2p_pairing", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_COLLISION), 3);
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), 1);
    outcome_fini(&o);
    expect_rows(p.path, IDS,
                "hcom_send__849_0_1|416611827809_0_1_0\nhcom_send__849_0_1|"
                "420906795106_0_1_0\n");
    expect_rows(q.path, IDS, "hcom_receive__849_0_1|420906795106_0_1_0\n");
}

/* A name that stands for one communicator in each of two pipelines: ranks 0 and
 * 1 talk, and so do ranks 2 and 3. */
static void f14_equal_names_in_two_pipelines_do_not_mix(void **state) {
    const place *where = *state;
    const char *paths[4];
    static const char *const PIPELINES[] = {"0, 1", "0, 1", "2, 3", "2, 3"};
    for (int r = 0; r < 4; r++) {
        profile p;
        profile_begin(&p, where, r);
        char groups[200];
        (void)snprintf(groups, sizeof groups,
                       "{\"x\": {\"group_name\": \"pp\", \"group_rank\": %d, "
                       "\"global_ranks\": [%s]}}",
                       r % 2, PIPELINES[r]);
        profile_meta(&p, "parallel_group_info", groups);
        profile_comm_op(&p, r % 2 == 0 ? "hcom_send__849_0_1" : "hcom_receive__849_0_1", "x",
                        1 * US, 2 * US, r % 2, 1 - r % 2);
        profile_close(&p);
        paths[r] = place_path(where, "%s", p.path + strlen(where->dir) + 1);
    }
    pair(where->dir);
    static const char ID[] = "SELECT opConnectionId FROM COMMUNICATION_OP";
    char *ids[4];
    for (int r = 0; r < 4; r++) {
        ids[r] = query_rows(paths[r], ID);
    }
    assert_string_equal(ids[0], ids[1]);
    assert_string_equal(ids[2], ids[3]);
    assert_string_not_equal(ids[0], ids[2]);
    for (int r = 0; r < 4; r++) {
        free(ids[r]);
    }
}

/* --- F15: the window cut one end
 * ---------------------------------------------------------------- */

/* The transfers of one link, number k ending at k ms. Rank 0 recorded sends
 * first_send .. 9, rank 1 receives first_recv
 * .. last_recv on a clock that is `skew_ns` ahead. Names count from 0, or from
 * `name_base` more. */
typedef struct window {
    int first_send, first_recv, last_recv;
    int64_t skew_ns;
    int send_base, recv_base; /* number in the name of the first operator that was
                               recorded */
} window;

static void record_window(const place *where, const window *w) {
    char name[64];
    profile p;
    profile_begin(&p, where, 0);
    for (int k = w->first_send; k < 10; k++) {
        (void)snprintf(name, sizeof name, "hcom_send__849_%d_1", w->send_base + k - w->first_send);
        int64_t end = k * INT64_C(1000000);
        profile_comm_op(&p, name, "group", end - 20 * US, end, 0, 1);
    }
    profile_close(&p);
    profile q;
    profile_begin(&q, where, 1);
    for (int k = w->first_recv; k <= w->last_recv; k++) {
        (void)snprintf(name, sizeof name, "hcom_receive__849_%d_1",
                       w->recv_base + k - w->first_recv);
        int64_t end = k * INT64_C(1000000) + w->skew_ns;
        profile_comm_op(&q, name, "group", end - 300 * US, end, 1, 0);
    }
    profile_close(&q);
}

/* Both ends of transfer k have one id, and nobody else has it. */
static void check_window(const window *w) {
    place where;
    place_make(&where);
    record_window(&where, w);
    outcome o;
    run_mode(&o, where.dir, "p2p_pairing", NULL);
    assert_non_null(o.run);
    int n_send = 10 - w->first_send;
    int n_recv = w->last_recv - w->first_recv + 1;
    int first = w->first_send > w->first_recv ? w->first_send : w->first_recv;
    int n_both = w->last_recv - first + 1;
    assert_int_equal(count_oddity(&o, PS_ODD_P2P_UNPAIRED), n_send + n_recv - 2 * n_both);
    for (int k = first; k <= w->last_recv; k++) {
        char sql[160];
        (void)snprintf(sql, sizeof sql,
                       "SELECT opConnectionId FROM COMMUNICATION_OP WHERE opId = %d",
                       k - w->first_send);
        char *send = query_rows(report_of(&o, 0)->rank->path, sql);
        (void)snprintf(sql, sizeof sql,
                       "SELECT opConnectionId FROM COMMUNICATION_OP WHERE opId = %d",
                       k - w->first_recv);
        char *recv = query_rows(report_of(&o, 1)->rank->path, sql);
        assert_string_equal(send, recv);
        free(send);
        free(recv);
    }
    static const char DISTINCT[] = "SELECT count(DISTINCT opConnectionId) FROM COMMUNICATION_OP";
    assert_int_equal(query_int(report_of(&o, 0)->rank->path, DISTINCT), n_send);
    assert_int_equal(query_int(report_of(&o, 1)->rank->path, DISTINCT), n_recv);
    outcome_fini(&o);
    place_remove(&where);
}

/* The numbers go on through the whole run: they tell, whatever the clocks say.
 */
static void f15_numbers_pair_a_cut_window(void **state) {
    (void)state;
    check_window(&(window){.first_recv = 3, .last_recv = 9, .recv_base = 3});
    check_window(&(window){.first_recv = 3, .last_recv = 9, .recv_base = 3, .skew_ns = 2000000});
    check_window(&(window){.first_send = 4, .last_recv = 9, .send_base = 4});
    check_window(&(window){.first_recv = 0, .last_recv = 6});
}

/* The profiler counts from the start of its recording: the window began later
 * on one rank, so that equal numbers are different transfers. The times tell.
 */
static void f15_times_pair_a_window_that_began_later(void **state) {
    (void)state;
    check_window(&(window){.first_recv = 3, .last_recv = 9});
    check_window(&(window){.first_recv = 3, .last_recv = 9, .skew_ns = 90000});
    check_window(&(window){.first_send = 2, .last_recv = 9, .skew_ns = -90000});
    check_window(&(window){.first_recv = 1, .last_recv = 8});
}

/* Other numbers at each end (groups of more than two ranks count other
 * operators in between). */
static void f15_times_pair_when_numbers_say_nothing(void **state) {
    (void)state;
    check_window(&(window){.first_recv = 0, .last_recv = 9, .recv_base = 100});
    check_window(&(window){.first_recv = 2, .last_recv = 9, .recv_base = 100, .skew_ns = 90000});
    check_window(&(window){.first_send = 2, .last_recv = 7, .recv_base = 100});
}

/* Operators made from marks count from 0 on every rank. */
static void f15_marks_of_a_cut_window_are_paired_by_time(void **state) {
    const place *where = *state;
    profile p;
    begin_marks_only(&p, where, 0, true);
    profile q;
    begin_marks_only(&q, where, 1, true);
    for (int k = 0; k < 5; k++) {
        add_call(&p, "HcclSend", ", \"srcRank\": \"0\", \"dstRank\": \"1\"", 1000000 + k * 1000000);
        if (k >= 2) { /* two transfers were over when this rank began to record */
            add_call(&q, "HcclRecv", ", \"srcRank\": \"1\", \"dstRank\": \"0\"",
                     1000000 + k * 1000000);
        }
    }
    profile_close(&p);
    profile_close(&q);
    run_pp_chart(where->dir, NULL);
    expect_rows(p.path, IDS " LIMIT 3 OFFSET 2",
                "hcom_send__843_2_1|843_0_1_2\nhcom_send__843_3_1|843_0_1_"
                "3\nhcom_send__843_4_1|843_0_1_4\n");
    expect_rows(q.path, IDS,
                "hcom_receive__843_0_1|843_0_1_2\nhcom_receive__843_1_1|843_0_1_3\n"
                "hcom_receive__843_2_1|843_0_1_4\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(f03_pairing_is_linear),
        IN_PLACE(f13_marks_with_peers_are_named_and_paired),
        IN_PLACE(f13_marks_without_peers_are_counted),
        IN_PLACE(f14_groups_count_for_themselves),
        IN_PLACE(f14_equal_tags_of_two_groups_do_not_mix),
        IN_PLACE(f14_equal_names_in_two_pipelines_do_not_mix),
        cmocka_unit_test(f15_numbers_pair_a_cut_window),
        cmocka_unit_test(f15_times_pair_a_window_that_began_later),
        cmocka_unit_test(f15_times_pair_when_numbers_say_nothing),
        IN_PLACE(f15_marks_of_a_cut_window_are_paired_by_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Faults of today's tool in making communication operators from marks, F2 F11
 * F12 of our list: each test says what is right instead. */
#include <stdio.h>
#include <string.h>

#include "support/runs.h"

#define OPS                                                                                        \
    "SELECT n.value, g.value, t.value, o.startNs, o.endNs, o.connectionId, "                       \
    "o.opId, o.dataType, o.count "                                                                 \
    "FROM COMMUNICATION_OP o JOIN STRING_IDS n ON n.id = o.opName JOIN "                           \
    "STRING_IDS g ON g.id = o.groupName "                                                          \
    "JOIN STRING_IDS t ON t.id = o.opType ORDER BY o.opId"

static const char FORWARD[] = "{'name': 'forward_step'}";

static const char *call_json(const char *call, const char *type, int stream) {
    static char text[256];
    (void)snprintf(text, sizeof text,
                   "{\"count\": \"8\",\"dataType\": \"%s\",\"groupName\": "
                   "\"group_name_29\",\"opName\": "
                   "\"%s\",\"streamId\": \"%d\"}",
                   type, call, stream);
    return text;
}

/* --- F2: every mark met every task of its stream
 * ----------------------------------------------- */

static void f02_commop_is_linear_in_marks(void **state) {
    enum { N = 500 };
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    for (int k = 0; k < N; k++) { /* all on stream 5, which the messages name */
        int64_t start = 1000 + k * 100;
        profile_add_mark(&p, (mark_spec){call_json("HcclAllreduce", "fp16", 5), start, start + 5,
                                         start + 20, start + 60, 5, false});
    }
    int64_t n_strings = p.n_strings;
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM COMMUNICATION_OP"), N);
    /* A name for each operator, one type, one group. */
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM STRING_IDS"), n_strings + N + 2);
    assert_int_equal(query_int(p.path, "SELECT count(DISTINCT opName) FROM COMMUNICATION_OP"), N);
    expect_rows(p.path, OPS " LIMIT 2",
                "HcclAllreduce__843_0_1|group_name_29|HcclAllreduce_|1020|1060|"
                "4000000001|0|3|8\n"
                "HcclAllreduce__843_1_1|group_name_29|HcclAllreduce_|1120|1160|"
                "4000000002|1|3|8\n");
}

/* Marks without a task of their own take the tasks of their stream one by one,
 * each task once, none from before the call: 500 marks, 500 operators. */
static void f02_a_stream_gives_each_mark_one_task(void **state) {
    enum { N = 500 };
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    profile_kernel(&p, 5, 500, 600); /* before the first call */
    for (int k = 0; k < N; k++) {
        int64_t start = 1000 + k * 100;
        profile_add_mark(&p, (mark_spec){.message = call_json("HcclAllreduce", "fp16", 5),
                                         .host_start_ns = start,
                                         .host_end_ns = start + 5,
                                         .no_task = true});
        profile_kernel(&p, 5, start + 20, start + 60);
        profile_kernel(&p, 6, start + 21, start + 61); /* another stream */
    }
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM COMMUNICATION_OP"), N);
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM COMMUNICATION_OP "
                                       "WHERE startNs = 1020 + opId * 100 AND "
                                       "endNs = startNs + 40"),
                     N);
}

/* Fewer tasks than marks: the marks that found none are counted. */
static void f02_marks_without_a_task_are_counted(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    for (int k = 0; k < 3; k++) {
        profile_add_mark(&p, (mark_spec){.message = call_json("HcclAllreduce", "fp16", 5),
                                         .host_start_ns = 1000 + k * 100,
                                         .host_end_ns = 1005 + k * 100,
                                         .no_task = true});
    }
    profile_kernel(&p, 5, 1050, 1060);
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_COMM_MARK), 2);
    outcome_fini(&o);
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM COMMUNICATION_OP"), 1);
}

/* --- F11: a data type that the profiler's list does not have
 * ------------------------------------ */

static void f11_unknown_data_types_are_not_available(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    static const char *const TYPES[] = {"na", "int8", "bfp16", "INT64", "float9"};
    for (int k = 0; k < 5; k++) {
        profile_mark(&p, call_json("HcclBroadcast", TYPES[k], 5), 100 + k * 10, 105 + k * 10);
    }
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, "SELECT dataType FROM COMMUNICATION_OP ORDER BY opId",
                "65534\n0\n11\n5\n65534\n");
}

/* --- F12: the form of a message
 * ------------------------------------------------------------------ */

/* comm:HcclAllReduce,<group>,<type>,<count>: an operator of its own naming; a
 * send gets the name that pairing looks for. "group_name_84" hashes to a number
 * that ends in 648. */
static void f12_the_comma_form_is_accepted(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    profile_mark(&p, "comm:HcclAllReduce,group_name_84,fp32,1024", 100, 150);
    profile_mark(&p, "comm:HcclSend,group_name_84,int8,7", 200, 250);
    profile_mark(&p, "comm:HcclAllReduce,group_name_84,fp32,2048", 300, 350);
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, OPS,
                "hcom_AllReduce__648_0_1|group_name_84|hcom_AllReduce_|100|150|"
                "4000000001|0|4|1024\n"
                "hcom_send__648_0_1|group_name_84|hcom_send_|200|250|4000000002|1|0|7\n"
                "hcom_AllReduce__648_1_1|group_name_84|hcom_AllReduce_|300|350|"
                "4000000003|2|4|2048\n");
}

/* Each message is read for itself, whatever came first; quotes may be escaped.
 * What is neither form is counted when it looks like a communication mark, and
 * is no operator. */
static void f12_each_message_is_read_for_itself(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    profile_mark(&p, "comm:HcclAllReduce,group_name_29,fp32,1024", 100, 150);
    profile_mark(&p, call_json("HcclBroadcast", "fp16", 5), 200, 250);
    profile_mark(&p,
                 "{\\\"count\\\": \\\"9\\\",\\\"dataType\\\": "
                 "\\\"fp16\\\",\\\"groupName\\\": \\\"group_name_29\\\","
                 "\\\"opName\\\": \\\"HcclBroadcast\\\",\\\"streamId\\\": \\\"5\\\"}",
                 300, 350);
    profile_mark(&p, "comm:HcclAllReduce,group_name_29", 400, 450); /* too few */
    profile_mark(&p, "{\"opName\": \"HcclBroadcast\", \"groupName\": \"group_name_29\"}", 500,
                 550); /* no count */
    profile_mark(&p, "{'name': 'dataloader'}", 600, 650);
    profile_close(&p);
    outcome o;
    run_mode(&o, p.dir, "pp_chart", NULL);
    assert_non_null(o.run);
    assert_int_equal(count_oddity(&o, PS_ODD_COMM_MARK), 2);
    outcome_fini(&o);
    expect_rows(p.path, OPS,
                "hcom_AllReduce__843_0_1|group_name_29|hcom_AllReduce_|100|150|"
                "4000000001|0|4|1024\n"
                "HcclBroadcast__843_0_1|group_name_29|HcclBroadcast_|200|250|"
                "4000000002|1|3|8\n"
                "HcclBroadcast__843_1_1|group_name_29|HcclBroadcast_|300|350|"
                "4000000003|2|3|9\n");
}

/* The table is the one that the profiler itself writes, and an existing one is
 * left alone. */
static void f12_the_table_is_the_native_one(void **state) {
    profile p;
    profile_begin(&p, *state, 0);
    profile_mark(&p, FORWARD, 10, 20);
    profile_mark(&p, "comm:HcclAllReduce,group_name_29,fp32,1024", 100, 150);
    profile_close(&p);
    run_pp_chart(p.dir, NULL);
    expect_rows(p.path, "SELECT name, type, pk FROM pragma_table_info('COMMUNICATION_OP')",
                "opName|INTEGER|0\nstartNs|INTEGER|0\nendNs|INTEGER|0\nconnectionId|"
                "INTEGER|0\ngroupName|INTEGER|0\n"
                "opId|INTEGER|1\nrelay|INTEGER|0\nretry|INTEGER|0\ndataType|INTEGER|"
                "0\nalgType|INTEGER|0\n"
                "count|NUMERIC|0\nopType|INTEGER|0\nopConnectionId|TEXT|0\n");
    run_pp_chart(p.dir, NULL);
    assert_int_equal(query_int(p.path, "SELECT count(*) FROM COMMUNICATION_OP"), 1);
}

/* mstx2commop alone works on a copy. */
static void f12_the_mode_alone_writes_a_copy(void **state) {
    const place *where = *state;
    profile p;
    profile_begin(&p, where, 0);
    profile_mark(&p, "comm:HcclAllReduce,group_name_29,fp32,1024", 100, 150);
    profile_close(&p);
    uint64_t before = file_hash(p.path);
    outcome o;
    run_mode(&o, where->dir, "mstx2commop", NULL);
    assert_non_null(o.run);
    assert_int_equal(o.run->n_done, 1);
    outcome_fini(&o);
    assert_true(file_hash(p.path) == before);
    const char *copy = place_path(where, "cluster_analysis_output/Mstx2Commop/%s",
                                  p.path + strlen(where->dir) + 1);
    expect_rows(copy, "SELECT count(*) FROM COMMUNICATION_OP", "1\n");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(f02_commop_is_linear_in_marks),
        IN_PLACE(f02_a_stream_gives_each_mark_one_task),
        IN_PLACE(f02_marks_without_a_task_are_counted),
        IN_PLACE(f11_unknown_data_types_are_not_available),
        IN_PLACE(f12_the_comma_form_is_accepted),
        IN_PLACE(f12_each_message_is_read_for_itself),
        IN_PLACE(f12_the_table_is_the_native_one),
        IN_PLACE(f12_the_mode_alone_writes_a_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Written profiles: the rows of small ones counted by hand, the same bytes for the same options, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "schedule/sim.h"
#include "support/scratch.h"
#include "write/simulated/ascend_profile.h"

static const char *const root = scratch_dir; /* of this run */

static const char *in_root(const char *name, char out[4400]) {
    (void)snprintf(out, 4400, "%s/%s", root, name);
    return out;
}

static ps_ascend_profile_opts usual(const char *schedule, int32_t p, int32_t m) {
    return (ps_ascend_profile_opts){.schedule = ps_schedule_find(schedule),
                                    .params = {.n_stages = p, .n_microbatches = m},
                                    .times = {10000000, 20000000, 10000000, 30000000, 0},
                                    .n_steps = 1,
                                    .tp = 1,
                                    .cp = 1,
                                    .dp = 1,
                                    .seed = 1,
                                    .n_threads = 2};
}

static ps_ascend_profile_counts write_ok(const char *name, const ps_ascend_profile_opts *opts) {
    char dir[4400];
    ps_ascend_profile_counts counts;
    ps_err err = PS_ERR_INIT;
    if (ps_ascend_profile_write(in_root(name, dir), opts, &counts, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    return counts;
}

static const char *db_path(const char *name, int rank, char out[4400]) {
    (void)snprintf(out, 4400,
                   "%s/%s/node%d_%d_20250109081616%03d_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                   "ascend_pytorch_profiler_%d.db",
                   root, name, rank / 8, 1000 + rank, rank, rank);
    return out;
}

static sqlite3 *open_rank(const char *name, int rank) {
    char path[4400];
    sqlite3 *db = NULL;
    assert_int_equal(sqlite3_open_v2(db_path(name, rank, path), &db, SQLITE_OPEN_READONLY, NULL),
                     SQLITE_OK);
    return db;
}

/* The first column of the only row, as an integer. */
static int64_t ask(sqlite3 *db, const char *sql) {
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK || sqlite3_step(q) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    int64_t value = sqlite3_column_int64(q, 0);
    (void)sqlite3_finalize(q);
    return value;
}

static void ask_text(sqlite3 *db, const char *sql, const char *want) {
    sqlite3_stmt *q = NULL;
    if (sqlite3_prepare_v2(db, sql, -1, &q, NULL) != SQLITE_OK || sqlite3_step(q) != SQLITE_ROW) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    assert_string_equal((const char *)sqlite3_column_text(q, 0), want);
    (void)sqlite3_finalize(q);
}

/* --- rows ----------------------------------------------------------------------------------------------------- */

/* 1f1b, two stages, two microbatches. Stage 0: F0 F1 B0 B1, so 4 marks; it sends two activations and receives two
 * gradients, so 4 operators of 3 small tasks; with 5 kernels that is 4 + 12 + 5 device tasks. */
static void test_tiny_1f1b(void **context) {
    (void)context;
    ps_ascend_profile_opts opts = usual("1f1b", 2, 2);
    opts.n_filler = 5;
    ps_ascend_profile_counts n = write_ok("tiny", &opts);
    assert_int_equal(n.n_ranks, 2);
    assert_int_equal(n.n_marks, 8);
    assert_int_equal(n.n_comm_ops, 8);
    assert_int_equal(n.n_tasks, 42);
    for (int rank = 0; rank < 2; rank++) {
        sqlite3 *db = open_rank("tiny", rank);
        assert_int_equal(ask(db, "SELECT count(*) FROM MSTX_EVENTS"), 4);
        assert_int_equal(ask(db, "SELECT count(*) FROM COMMUNICATION_OP"), 4);
        assert_int_equal(ask(db, "SELECT count(*) FROM COMMUNICATION_TASK_INFO"), 12);
        assert_int_equal(ask(db, "SELECT count(*) FROM CANN_API WHERE type = 5500"), 4);
        assert_int_equal(ask(db, "SELECT count(*) FROM COMPUTE_TASK_INFO"), 5);
        assert_int_equal(ask(db, "SELECT count(*) FROM TASK"), 21);
        assert_int_equal(ask(db, "SELECT count(DISTINCT globalTaskId) FROM TASK"), 21);
        assert_int_equal(ask(db, "SELECT count(*) FROM STEP_TIME"), 1);
        assert_int_equal(ask(db, "SELECT rankId FROM RANK_DEVICE_MAP"), rank);
        assert_int_equal(ask(db, "SELECT count(*) FROM ENUM_HCCL_DATA_TYPE"), 15);
        /* Marks are joined with their device side by ids of their own; the host is ahead and inside the step. */
        assert_int_equal(ask(db,
                             "SELECT count(*) FROM MSTX_EVENTS m JOIN TASK t USING (connectionId) "
                             "WHERE m.connectionId >= 4000000000 AND m.startNs < t.startNs"),
                         4);
        assert_int_equal(ask(db, "SELECT count(*) FROM MSTX_EVENTS m JOIN STEP_TIME s "
                                 "ON m.startNs >= s.startNs AND m.endNs <= s.endNs"),
                         4);
        assert_int_equal(
            ask(db, "SELECT count(*) FROM COMMUNICATION_OP o JOIN CANN_API a USING (connectionId) "
                    "WHERE a.startNs < o.startNs"),
            4);
        /* Kernels lie within an op; their ids are small, and two share one. */
        assert_int_equal(
            ask(db, "SELECT count(*) FROM COMPUTE_TASK_INFO c JOIN TASK k USING (globalTaskId) "
                    "JOIN TASK m ON m.connectionId >= 4000000000 AND m.startNs <= k.startNs "
                    "AND k.endNs <= m.endNs"),
            5);
        assert_int_equal(
            ask(db,
                "SELECT max(connectionId) FROM TASK JOIN COMPUTE_TASK_INFO USING (globalTaskId)"),
            3);
        (void)sqlite3_close(db);
    }
    sqlite3 *db = open_rank("tiny", 0);
    ask_text(
        db,
        "SELECT group_concat(value, ' ') FROM (SELECT value FROM MSTX_EVENTS JOIN STRING_IDS ON id = message "
        "ORDER BY startNs)",
        "{'name': 'forward_step'} {'name': 'forward_step'} {'name': 'backward_step'} {'name': 'backward_step'}");
    /* F 0..10 10..20, stage 1: F 10..20 B 20..40 F 40..50 B 50..70, so B 40..60 70..90 (ms). */
    ask_text(
        db,
        "SELECT group_concat(((startNs - 1736410576000000000) / 1000000) || '-' || "
        "((endNs - 1736410576000000000) / 1000000), ' ') FROM TASK WHERE connectionId >= 4000000000",
        "0-10 10-20 40-60 70-90");
    ask_text(db, "SELECT value FROM META_DATA WHERE name = 'pp_info'",
             "{\"pp_type\": \"1f1b\", \"microbatch_num\": 2}");
    (void)sqlite3_close(db);
}

/* dualpipev, two stages, four microbatches: 18 and 13 marks; four activations and four gradients each way. */
static void test_tiny_dualpipev(void **context) {
    (void)context;
    ps_ascend_profile_opts opts = usual("dualpipev", 2, 4);
    (void)write_ok("v", &opts);
    for (int rank = 0; rank < 2; rank++) {
        sqlite3 *db = open_rank("v", rank);
        assert_int_equal(ask(db, "SELECT count(*) FROM MSTX_EVENTS"), rank == 0 ? 18 : 13);
        assert_int_equal(ask(db, "SELECT count(*) FROM COMMUNICATION_OP"), 16);
        (void)sqlite3_close(db);
    }
    sqlite3 *db = open_rank("v", 0);
    ask_text(
        db,
        "SELECT group_concat(value, ' ') FROM (SELECT value FROM MSTX_EVENTS JOIN STRING_IDS ON id = message "
        "ORDER BY startNs LIMIT 11)",
        "{'name': 'forward_step_with_model_graph', 'current_microbatch': 0} "
        "{'name': 'forward_step_with_model_graph', 'current_microbatch': 1} "
        "{'name': 'forward_step_with_model_graph', 'current_microbatch': 2} "
        "{'name': 'forward_step_with_model_graph', 'current_microbatch': 0} "
        "{'name': 'backward_step'} "
        "{'name': 'backward_step_with_model_graph'} "
        "{'name': 'WeightGradStore.pop'} "
        "{'name': 'forward_step_with_model_graph', 'current_microbatch': 1} "
        "{'name': 'backward_step'} "
        "{'name': 'forward_backward_overlaping', 'current_microbatch': 3} "
        "{'name': 'forward_backward_overlaping', 'current_microbatch': 2}");
    /* Marks neither overlap nor nest. */
    assert_int_equal(
        ask(db,
            "SELECT count(*) FROM (SELECT startNs, lag(endNs) OVER (ORDER BY startNs) AS before FROM "
            "TASK WHERE connectionId >= 4000000000) WHERE startNs < before"),
        0);
    (void)sqlite3_close(db);
}

/* The k-th send to a neighbour and the k-th receive on its side are one transfer. */
static void check_transfers(const char *name, int from, int to, int64_t want) {
    sqlite3 *db = open_rank(name, from);
    char path[4400], sql[4800];
    (void)snprintf(sql, sizeof sql, "ATTACH '%s' AS peer", db_path(name, to, path));
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
    static const char SIDE[] =
        "(SELECT o.startNs, o.endNs, n.value AS name, row_number() OVER (ORDER BY o.startNs) AS k "
        "FROM %s.COMMUNICATION_OP o JOIN %s.STRING_IDS n ON n.id = o.opName WHERE n.value LIKE "
        "'hcom_%s%%' AND (SELECT max(dstRank) FROM %s.COMMUNICATION_TASK_INFO t WHERE t.opId = "
        "o.opId AND t.taskType = (SELECT id FROM %s.STRING_IDS WHERE value = 'Notify_Wait')) = %d)";
    char sent[1000], received[1000];
    (void)snprintf(sent, sizeof sent, SIDE, "main", "main", "send", "main", "main", to);
    (void)snprintf(received, sizeof received, SIDE, "peer", "peer", "receive", "peer", "peer",
                   from);
    (void)snprintf(
        sql, sizeof sql,
        "SELECT count(*) FROM %s s JOIN %s r USING (k) WHERE s.endNs = r.endNs AND "
        "r.startNs <= s.startNs AND s.startNs < s.endNs AND substr(s.name, 10, 5) = substr(r.name, 13, 5)",
        sent, received);
    assert_int_equal(ask(db, sql), want);
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", sent);
    assert_int_equal(ask(db, sql), want);
    (void)sqlite3_close(db);
}

static void test_transfers(void **context) {
    (void)context;
    static const int64_t LATENCIES[] = {0, 1, 500000, 40000000};
    for (size_t i = 0; i < sizeof LATENCIES / sizeof LATENCIES[0]; i++) {
        char name[32];
        ps_ascend_profile_opts opts = usual("1f1b", 3, 5);
        opts.times.p2p_ns = LATENCIES[i];
        opts.n_steps = 2;
        opts.jitter_pct = 20;
        (void)snprintf(name, sizeof name, "p2p-%zu", i);
        (void)write_ok(name, &opts);
        check_transfers(name, 0, 1, 10);
        check_transfers(name, 1, 0, 10);
        check_transfers(name, 1, 2, 10);
        opts.schedule = ps_schedule_find("dualpipev");
        opts.params.n_microbatches = 7;
        (void)snprintf(name, sizeof name, "p2p-v-%zu", i);
        (void)write_ok(name, &opts);
        check_transfers(name, 0, 1, 28);
        check_transfers(name, 2, 1, 28);
    }
}

static void test_dropped_marks(void **context) {
    (void)context;
    ps_ascend_profile_opts opts = usual("1f1b", 2, 8);
    opts.n_drop_marks = 3;
    ps_ascend_profile_counts n = write_ok("dropped", &opts);
    assert_int_equal(n.n_marks, 26);
    for (int rank = 0; rank < 2; rank++) {
        sqlite3 *db = open_rank("dropped", rank);
        assert_int_equal(ask(db, "SELECT count(*) FROM MSTX_EVENTS"), 13);
        assert_int_equal(ask(db, "SELECT count(*) FROM TASK WHERE connectionId >= 4000000000"), 13);
        assert_int_equal(ask(db, "SELECT count(*) FROM MSTX_EVENTS JOIN TASK USING (connectionId)"),
                         13);
        (void)sqlite3_close(db);
    }
    opts.n_drop_marks = 16;
    assert_int_equal(write_ok("dropped-all", &opts).n_marks, 0);
}

static void test_replicas(void **context) {
    (void)context;
    ps_ascend_profile_opts opts = usual("1f1b", 2, 4);
    opts.tp = 2;
    opts.dp = 3;
    opts.jitter_pct = 10;
    opts.n_steps = 2;
    assert_int_equal(write_ok("replicas", &opts).n_ranks, 12);
    /* Rank 9 = stage 1, dp 1, tp 1. */
    sqlite3 *db = open_rank("replicas", 9);
    ask_text(
        db, "SELECT value FROM META_DATA WHERE name = 'parallel_group_info'",
        "{\"node0%eth0_60000_3_1736410000000000\": {\"group_name\": \"pp\", \"group_rank\": 1, \"global_ranks\": "
        "[3, 9]}, \"node1%eth0_60001_8_1736410000000000\": {\"group_name\": \"tp\", \"group_rank\": 1, "
        "\"global_ranks\": [8, 9]}, \"node0%eth0_60003_7_1736410000000000\": {\"group_name\": \"dp\", "
        "\"group_rank\": 1, \"global_ranks\": [7, 9, 11]}}");
    assert_int_equal(
        ask(db, "SELECT count(*) FROM META_DATA WHERE name = 'distributed_args' AND value LIKE "
                "'%\"world_size\": 12%' AND value LIKE '%\"data_parallel_size\": 3%'"),
        1);
    /* All replicas share the steps, though each has its own times. */
    int64_t step = ask(db, "SELECT startNs FROM STEP_TIME WHERE id = 2");
    int64_t mark = ask(db, "SELECT max(startNs) FROM MSTX_EVENTS");
    (void)sqlite3_close(db);
    db = open_rank("replicas", 6);
    assert_int_equal(ask(db, "SELECT startNs FROM STEP_TIME WHERE id = 2"), step);
    assert_int_not_equal(ask(db, "SELECT max(startNs) FROM MSTX_EVENTS"), mark);
    (void)sqlite3_close(db);
}

/* --- bytes ---------------------------------------------------------------------------------------------------- */

/* All bytes of rank 1's database. */
static void read_rank(const char *name, ps_buf *out) {
    char path[4400];
    ps_buf_init(out, 0);
    assert_int_equal(ps_read_file(db_path(name, 1, path), 1 << 26, out, NULL), PS_OK);
}

static bool same_bytes(const char *a, const char *b) {
    ps_buf x, y;
    read_rank(a, &x);
    read_rank(b, &y);
    bool same = x.len == y.len && memcmp(x.data, y.data, x.len) == 0;
    ps_buf_fini(&x);
    ps_buf_fini(&y);
    return same;
}

static void test_same_bytes(void **context) {
    (void)context;
    ps_ascend_profile_opts opts = usual("dualpipev", 3, 8);
    opts.n_filler = 3000;
    opts.jitter_pct = 10;
    opts.n_drop_marks = 2;
    opts.n_steps = 3;
    opts.n_threads = 1;
    (void)write_ok("bytes-a", &opts);
    opts.n_threads = 3;
    (void)write_ok("bytes-b", &opts);
    assert_true(same_bytes("bytes-a", "bytes-b"));
    opts.seed = 2;
    (void)write_ok("bytes-c", &opts);
    assert_false(same_bytes("bytes-a", "bytes-c"));
}

/* --- refused -------------------------------------------------------------------------------------------------- */

static void expect_code(const char *name, const ps_ascend_profile_opts *opts, ps_code want,
                        const char *part) {
    char dir[4400];
    ps_ascend_profile_counts counts;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_ascend_profile_write(in_root(name, dir), opts, &counts, &err), want);
    if (strstr(err.msg, part) == NULL) {
        fail_msg("'%s' does not mention '%s'", err.msg, part);
    }
}

static void test_refused(void **context) {
    (void)context;
    char path[4400];
    ps_ascend_profile_opts opts = usual("1f1b", 2, 4);
    assert_int_equal(ps_make_dirs(in_root("full", path), NULL), PS_OK);
    assert_int_equal(ps_write_file(in_root("full/mine.txt", path), "x", 1, NULL), PS_OK);
    expect_code("full", &opts, PS_USAGE, "mine.txt");
    expect_code("full/mine.txt", &opts, PS_USAGE, "is a file");
    assert_true(ps_is_file(in_root("full/mine.txt", path)));

    assert_int_equal(ps_make_dirs(in_root("empty", path), NULL), PS_OK);
    assert_int_equal(write_ok("empty", &opts).n_ranks, 2);

    opts.n_drop_marks = 9;
    expect_code("none", &opts, PS_RANGE, "drop 9 marks");
    opts = usual("dualpipev", 2, 4);
    opts.times.w_ns = opts.times.b_ns;
    expect_code("none", &opts, PS_RANGE, "weight gradient");
    opts = usual("dualpipev", 2, 3);
    expect_code("none", &opts, PS_RANGE, "2p = 4");
    opts = usual("1f1b", 2, 4);
    opts.times.f_ns = 0;
    expect_code("none", &opts, PS_RANGE, "forward");
    opts = usual("1f1b", 2, 4);
    opts.dp = 2049;
    expect_code("none", &opts, PS_RANGE, "ranks");
    opts = usual("1f1b", 2, 4);
    opts.n_steps = 0;
    expect_code("none", &opts, PS_RANGE, "steps");
    opts.n_steps = 1000000;
    opts.params.n_microbatches = 64;
    expect_code("none", &opts, PS_RANGE, "too many");
    assert_false(ps_is_dir(in_root("none", path)));
}

/* Every allocation failing in turn: PS_NOMEM each time, and no file under a final name that is not whole. */
static void test_memory(void **context) {
    (void)context;
    ps_ascend_profile_opts opts = usual("dualpipev", 1, 2);
    opts.n_threads = 1;
    opts.n_filler = 3;
    bool has_failed = true;
    int64_t n = 0;
    for (; has_failed; n++) {
        char dir[4400], name[32];
        ps_ascend_profile_counts counts;
        (void)snprintf(name, sizeof name, "memory-%d", (int)n);
        (void)in_root(name, dir);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_ascend_profile_write(dir, &opts, &counts, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        assert_true(n < 3000);
    }
    assert_true(n > 30);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tiny_1f1b), cmocka_unit_test(test_tiny_dualpipev),
        cmocka_unit_test(test_transfers), cmocka_unit_test(test_dropped_marks),
        cmocka_unit_test(test_replicas),  cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, scratch_setup, scratch_teardown);
}

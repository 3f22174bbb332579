/* The whole timeline of Ascend databases: tests/data/ascend_db/<name>.sql is read with every need, and must be what
 * <name>.txt says: the dump of the trace, then its side tables, then what was odd. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "read/readers.h"
#include "support/profile.h"
#include "support/sanitized.h"
#include "support/trace_dump.h"

extern const ps_reader ps_reader_ascend_db;

#define DATA "tests/data/ascend_db/"
#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_TABLES)

/* --- making ------------------------------------------------------------------------------------------- */

static void run_sql(const char *db, const char *sql) {
    sqlite3 *handle = NULL;
    char *message = NULL;
    assert_int_equal(sqlite3_open(db, &handle), SQLITE_OK);
    if (sqlite3_exec(handle, "PRAGMA synchronous = OFF; BEGIN", NULL, NULL, &message) !=
            SQLITE_OK ||
        sqlite3_exec(handle, sql, NULL, NULL, &message) != SQLITE_OK ||
        sqlite3_exec(handle, "COMMIT", NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", db, message);
    }
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
}

/* The database of a fixture, as `path`. */
static void make(const char *name, const char *path) {
    ps_buf sql;
    ps_buf_init(&sql, 0);
    char file[TEST_PATH];
    (void)snprintf(file, sizeof file, DATA "%s.sql", name);
    assert_int_equal(ps_read_file(file, (size_t)1 << 20, &sql, NULL), PS_OK);
    run_sql(path, ps_buf_str(&sql));
    ps_buf_fini(&sql);
}

static ps_trace *read_as(const char *path, uint32_t needs) {
    ps_src src = {.path = path, .reader = &ps_reader_ascend_db};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, needs, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    return t;
}

/* --- looking ------------------------------------------------------------------------------------------ */

static void add_cell(const ps_table *table, size_t row, size_t column, ps_buf *out) {
    const ps_value *cell = ps_table_cell(table, row, column);
    ps_buf_add_str(out, column > 0 ? "|" : "");
    if (cell->is_null) {
        ps_buf_add_str(out, "NULL");
    } else if (table->columns[column].type == PS_COL_TEXT) {
        ps_buf_add_str(out, cell->u.text);
    } else if (table->columns[column].type == PS_COL_REAL) {
        ps_buf_addf(out, "%.17g", cell->u.r);
    } else {
        ps_buf_addf(out, "%lld", (long long)cell->u.i);
    }
}

static void add_tables(const ps_trace *t, ps_buf *out) {
    size_t n = 0;
    const ps_table *const *tables = ps_trace_side_tables(t, &n);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(out, "table %s:", tables[i]->name);
        for (size_t c = 0; c < tables[i]->n_columns; c++) {
            ps_buf_addf(out, " %s", tables[i]->columns[c].name);
        }
        ps_buf_add_char(out, '\n');
        for (size_t row = 0; row < tables[i]->n_rows; row++) {
            ps_buf_add_str(out, "    ");
            for (size_t c = 0; c < tables[i]->n_columns; c++) {
                add_cell(tables[i], row, c, out);
            }
            ps_buf_add_char(out, '\n');
        }
    }
}

static void add_oddities(const ps_trace *t, ps_buf *out) {
    const ps_diag *d = ps_trace_diag(t);
    for (size_t i = 0; i < PS_N_ODDITIES; i++) {
        if (d->counts[i] > 0) {
            ps_buf_addf(out, "odd %s %llu: %s\n", ps_oddity_name((ps_oddity)i),
                        (unsigned long long)d->counts[i], d->places[i][0]);
        }
    }
}

static void check(const place *where, const char *name) {
    const char *db = place_path(where, "%s.db", name);
    make(name, db);
    ps_trace *t = read_as(db, EVERYTHING);
    ps_buf got;
    ps_buf wanted;
    ps_buf_init(&got, 0);
    ps_buf_init(&wanted, 0);
    trace_dump(t, &got);
    add_tables(t, &got);
    add_oddities(t, &got);
    char file[TEST_PATH];
    (void)snprintf(file, sizeof file, DATA "%s.txt", name);
    assert_int_equal(ps_read_file(file, (size_t)1 << 20, &wanted, NULL), PS_OK);
    assert_same_dump(&got, &wanted);
    ps_buf_fini(&got);
    ps_buf_fini(&wanted);
    ps_trace_free(t);
}

static size_t count_kind(const ps_trace *t, ps_slice_kind kind) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n += s->kind[i] == kind;
    }
    return n;
}

static size_t count_flows(const ps_trace *t, const char *kind) {
    size_t n = 0;
    size_t count = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        count += strcmp(ps_trace_text(t, flows[i].kind), kind) == 0;
    }
    return count;
}

static size_t count_args(const ps_trace *t) {
    size_t n = 0;
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        ps_arg_iter iter = ps_trace_args(t, i);
        for (ps_arg arg; ps_arg_next(&iter, &arg);) {
            n++;
        }
    }
    return n;
}

static size_t count_tables(const ps_trace *t) {
    size_t n = 0;
    (void)ps_trace_side_tables(t, &n);
    return n;
}

/* --- fixtures ----------------------------------------------------------------------------------------- */

static void pytorch(void **state) {
    check(*state, "pytorch");
}

static void counters(void **state) {
    check(*state, "counters");
}

static void mindspore(void **state) {
    check(*state, "mindspore");
}

static void msmonitor(void **state) {
    check(*state, "msmonitor");
}

static void msmonitor_crashed(void **state) {
    check(*state, "msmonitor-crashed");
}

static void old_columns(void **state) {
    check(*state, "old");
}

/* --- needs -------------------------------------------------------------------------------------------- */

static void only_what_is_needed_is_read(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    run_sql(db,
            "CREATE TABLE AICORE_FREQ (deviceId INTEGER, timestampNs INTEGER, freq INTEGER);"
            "INSERT INTO AICORE_FREQ VALUES (0, 5, 1800);"
            "CREATE TABLE NPU_INFO (id INTEGER, name TEXT); INSERT INTO NPU_INFO VALUES (0, 'x')");
    static const struct {
        uint32_t needs;
        unsigned slices, flows, args, counters, tables;
    } CASES[] = {
        {PS_NEED_META | PS_NEED_STEPS, 0, 0, 0, 0, 0},
        {PS_NEED_MARKS, 3, 1, 0, 0, 0},
        {PS_NEED_COMM_OPS, 1, 0, 2, 0, 0}, /* srcRank, dstRank */
        {PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST, 4, 1, 3, 0, 0},
        {PS_NEED_COUNTERS, 0, 0, 0, 1, 0},
        {PS_NEED_TABLES, 0, 0, 0, 0, 1},
        {PS_NEED_FLOWS | PS_NEED_ARGS, 0, 0, 0, 0, 0}, /* belong to slices */
        {PS_NEED_SLICES, 26, 1, 2, 0, 0},
        {PS_NEED_SLICES | PS_NEED_FLOWS, 26, 10, 2, 0, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_trace *t = read_as(db, CASES[i].needs);
        size_t flows = 0;
        (void)ps_trace_flows(t, &flows);
        assert_int_equal(ps_trace_slices(t)->n, CASES[i].slices);
        assert_int_equal(flows, CASES[i].flows);
        assert_int_equal(count_args(t), CASES[i].args);
        assert_int_equal(ps_trace_counters(t)->n, CASES[i].counters);
        assert_int_equal(count_tables(t), CASES[i].tables);
        ps_trace_free(t);
    }
}

/* What an analysis of marks sees does not depend on what another one of the same run needs. */
static void marks_are_the_same_on_the_whole_timeline(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    ps_trace *marks = read_as(db, PS_NEED_MARKS);
    ps_trace *all = read_as(db, EVERYTHING);
    size_t n = 0;
    size_t n_all = 0;
    const ps_flow *flow = ps_trace_flows(marks, &n);
    const ps_flow *flows = ps_trace_flows(all, &n_all);
    assert_int_equal(n, 1);
    assert_int_equal(count_flows(all, ""), 1);
    for (size_t i = 0; i < n_all; i++) {
        if (strcmp(ps_trace_text(all, flows[i].kind), "") == 0) {
            const uint32_t few[] = {flow->from, flow->to};
            const uint32_t many[] = {flows[i].from, flows[i].to};
            for (size_t end = 0; end < 2; end++) {
                const ps_slices *a = ps_trace_slices(marks);
                const ps_slices *b = ps_trace_slices(all);
                assert_int_equal(a->kind[few[end]], b->kind[many[end]]);
                assert_int_equal(a->source_row[few[end]], b->source_row[many[end]]);
                assert_int_equal(a->start_ns[few[end]] + ps_trace_origin_ns(marks),
                                 b->start_ns[many[end]] + ps_trace_origin_ns(all));
                assert_int_equal(a->dur_ns[few[end]], b->dur_ns[many[end]]);
                assert_string_equal(ps_trace_text(marks, a->name[few[end]]),
                                    ps_trace_text(all, b->name[many[end]]));
            }
        }
    }
    ps_trace_free(marks);
    ps_trace_free(all);
}

/* --- odd inputs --------------------------------------------------------------------------------------- */

/* Forward and backward are found by their number; a third operator that has it by chance is none of them. */
static void numbers_of_other_kinds_do_not_link(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    run_sql(db,
            "INSERT INTO CONNECTION_IDS VALUES (5, 100)"); /* aten::view too launched kernel 1 */
    ps_trace *t = read_as(db, EVERYTHING);
    assert_int_equal(count_flows(t, "fwdbwd"), 1);
    assert_int_equal(count_flows(t, "async_npu"), 4);
    ps_trace_free(t);
}

/* The same in a file without sequence numbers: number 9 pairs all its three operators, but the two that share number 100
 * of a launch are no pair. */
static void a_launch_is_no_pair(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    run_sql(db, "INSERT INTO CONNECTION_IDS VALUES (5, 100);"
                "UPDATE PYTORCH_API SET sequenceNumber = NULL");
    ps_trace *t = read_as(db, EVERYTHING);
    assert_int_equal(count_flows(t, "fwdbwd"), 2);
    assert_int_equal(count_flows(t, "async_npu"), 4);
    ps_trace_free(t);
}

/* One id with many numbers and many rows: the product of both is not made. */
static void connections_do_not_multiply(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    run_sql(
        db,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        "INSERT INTO PYTORCH_API SELECT i, i + 1, 1, 3000, 268435456, 5, 0, NULL, NULL, NULL, 50001 FROM n;"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) "
        "INSERT INTO CONNECTION_IDS SELECT 3000, 5000 + i FROM n");
    ps_trace *t = read_as(db, EVERYTHING);
    size_t n = 0;
    (void)ps_trace_flows(t, &n);
    assert_true(n < 40000);
    assert_true(ps_trace_diag(t)->counts[PS_ODD_FLOW_NO_SLICE] > 0);
    ps_trace_free(t);
}

static void views_are_not_read(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    run_sql(db, "DROP TABLE CANN_API; CREATE VIEW CANN_API AS SELECT * FROM CANN_API");
    ps_src src = {.path = db, .reader = &ps_reader_ascend_db};
    ps_err err = PS_ERR_INIT;
    assert_null(ps_read(&src, EVERYTHING, &err));
    assert_true(err.code == PS_UNSUPPORTED || err.code == PS_SYNTAX);
}

/* --- siblings ----------------------------------------------------------------------------------------- */

#define STEP_TRACE                                                                                 \
    "CREATE TABLE StepTraceTime (step TEXT, computing NUMERIC, free NUMERIC);"                     \
    "INSERT INTO StepTraceTime VALUES ('50', 8903.431, 25258);"

static void the_analysis_beside_is_read(void **state) {
    const char *db = place_path(*state, "ascend_pytorch_profiler_0.db");
    make("old", db);
    run_sql(place_path(*state, "analysis.db"), STEP_TRACE);
    run_sql(place_path(*state, "communication_analyzer.db"),
            "CREATE TABLE CommAnalyzerTime (hccl_op_name TEXT, wait_time NUMERIC);"
            "INSERT INTO CommAnalyzerTime VALUES ('send', 1.5)");
    ps_trace *t = read_as(db, PS_NEED_TABLES);
    const ps_table *steps = ps_trace_side_table(t, "StepTraceTime");
    const ps_table *times = ps_trace_side_table(t, "CommAnalyzerTime");
    assert_non_null(steps);
    assert_non_null(times);
    assert_int_equal(steps->n_rows, 1);
    assert_string_equal(ps_table_cell(steps, 0, 0)->u.text, "50");
    assert_true(ps_table_cell(steps, 0, 1)->u.r == 8903.431);
    assert_string_equal(ps_table_cell(times, 0, 0)->u.text, "send");
    ps_trace_free(t);
}

static void a_damaged_sibling_is_counted(void **state) {
    const char *db = place_path(*state, "p.db");
    make("old", db);
    write_text(place_path(*state, "analysis.db"), "no database");
    ps_trace *t = read_as(db, PS_NEED_TABLES);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_FILE], 1);
    ps_trace_free(t);
}

static void an_analysis_by_itself_has_its_tables(void **state) {
    const char *db = place_path(*state, "analysis.db");
    run_sql(db, STEP_TRACE);
    ps_trace *t = read_as(db, EVERYTHING);
    assert_int_equal(count_tables(t), 1);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    ps_trace_free(t);
}

/* --- recognition -------------------------------------------------------------------------------------- */

static const ps_reader *reader_of(const char *path) {
    ps_err err = PS_ERR_INIT;
    return ps_reader_for(path, &err);
}

static void databases_are_known_by_their_tables(void **state) {
    static const char *const NAMES[] = {"pytorch",   "counters",          "mindspore",
                                        "msmonitor", "msmonitor-crashed", "old"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        const char *db = place_path(*state, "unknown-%zu", i);
        make(NAMES[i], db);
        assert_ptr_equal(reader_of(db), &ps_reader_ascend_db);
    }
    const char *analysis = place_path(*state, "other name.db");
    run_sql(analysis, STEP_TRACE);
    assert_ptr_equal(reader_of(analysis), &ps_reader_ascend_db);
}

/* A schema that does not fit into the head of the file: the database itself is asked. */
static void a_long_schema_is_no_obstacle(void **state) {
    const char *db = place_path(*state, "long.db");
    ps_buf sql;
    ps_buf_init(&sql, 0);
    for (int i = 0; i < 900; i++) {
        ps_buf_addf(&sql, "CREATE TABLE somebody_elses_table_%d (a INTEGER, b INTEGER, c TEXT);",
                    i);
    }
    run_sql(db, ps_buf_str(&sql));
    assert_null(reader_of(db));
    run_sql(db, "CREATE TABLE CANN_API (startNs INTEGER)");
    assert_ptr_equal(reader_of(db), &ps_reader_ascend_db);
    ps_buf_fini(&sql);
}

static void other_databases_are_not_ours(void **state) {
    const char *browser = place_path(*state, "ascend_pytorch_profiler_0.db");
    run_sql(browser, "CREATE TABLE moz_places (id INTEGER PRIMARY KEY, url TEXT);"
                     "CREATE TABLE TASK (id INTEGER, title TEXT);"
                     "CREATE TABLE META_DATA (name TEXT, value TEXT)");
    assert_null(reader_of(browser));
    const char *nsight = place_path(*state, "nsight.sqlite");
    run_sql(nsight,
            "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE OSRT_API (start INTEGER, end INTEGER, nameId INTEGER);"
            "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);"
            "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER)");
    unsigned char head[4096];
    FILE *f = fopen(nsight, "rb");
    assert_non_null(f);
    size_t n = fread(head, 1, sizeof head, f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(ps_reader_ascend_db.sniff(nsight, head, n), 0);
}

static void json_lines_are_known_but_not_read(void **state) {
    const char *path = place_path(*state, "msmonitor_1.jsonl");
    write_text(path, "{\"kind\": \"Marker\", \"name\": \"a\"}\n{\"kind\": \"Kernel\"}\n");
    ps_src src = {.path = path, .reader = &ps_reader_ascend_db};
    ps_err err = PS_ERR_INIT;
    assert_null(ps_read(&src, EVERYTHING, &err));
    assert_int_equal(err.code, PS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "write its database"));
    assert_ptr_equal(reader_of(path), &ps_reader_ascend_db);
}

/* --- memory ------------------------------------------------------------------------------------------- */

static void every_allocation_may_fail(void **state) {
    const char *db = place_path(*state, "p.db");
    make("pytorch", db);
    run_sql(
        db,
        "CREATE TABLE HBM (deviceId INTEGER, timestampNs INTEGER, bandwidth NUMERIC, hbmId INTEGER, type INTEGER);"
        "INSERT INTO HBM VALUES (0, 5, 7, 0, 10);"
        "CREATE TABLE NIC (deviceId INTEGER, timestampNs INTEGER, bandwidth INTEGER);"
        "INSERT INTO NIC VALUES (0, 5, 7);"
        "CREATE TABLE TASK_PMU_INFO (globalTaskId INTEGER, name INTEGER, value NUMERIC);"
        "INSERT INTO TASK_PMU_INFO VALUES (1, 10, 2), (1, 99, 2)");
    run_sql(place_path(*state, "analysis.db"), STEP_TRACE);
    ps_trace *t = NULL;
    for (int64_t k = 0; t == NULL; k += PS_NEXT_FAILURE) {
        assert_true(k < 20000);
        ps_src src = {.path = db, .reader = &ps_reader_ascend_db};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(k);
        t = ps_read(&src, EVERYTHING, &err);
        bool fired = ps_alloc_fail_at(-1) > k;
        assert_true(t != NULL || err.code == PS_NOMEM);
        if (t != NULL && fired) { /* a message to nobody may go missing, a sibling not */
            assert_non_null(ps_trace_side_table(t, "StepTraceTime"));
            ps_trace_free(t);
            t = NULL;
        }
    }
    assert_int_equal(count_kind(t, PS_SLICE_KERNEL), 2);
    ps_trace_free(t);
}

/* Forty chains of fourteen frames that share one long text, of which 32 are asked for: a megabyte each. */
static void call_chains_have_a_budget(void **state) {
    enum { N_ASKED = 32, CHAIN_BYTES = 14 * 70000 + 13 * 3 };
    const char *db = place_path(*state, "chains.db");
    run_sql(
        db,
        "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
        "INSERT INTO STRING_IDS VALUES (1, replace(hex(zeroblob(35000)), '0', 'f')), (2, 'op');"
        "CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER,"
        " name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER,"
        " inputShapes INTEGER, callchainId INTEGER, type INTEGER);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99)"
        " INSERT INTO PYTORCH_API SELECT 1000 + i, 1001 + i, 4294967297, NULL, 2, NULL, NULL, NULL, NULL,"
        " i % 32, NULL FROM n;"
        "CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);"
        "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 559)"
        " INSERT INTO PYTORCH_CALLCHAINS SELECT i / 14, 1, i % 14 FROM n;");
    ps_file_id id;
    assert_int_equal(ps_file_identify(db, &id, NULL), PS_OK);
    ps_trace *t = read_as(db, PS_NEED_SLICES | PS_NEED_ARGS);
    uint64_t n_made = ((16 << 20) + 16 * (uint64_t)id.size_bytes) / CHAIN_BYTES;
    assert_true(n_made < N_ASKED);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TEXT], N_ASKED - n_made);
    assert_int_equal(ps_trace_slices(t)->n, 100);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(pytorch),
        IN_PLACE(counters),
        IN_PLACE(mindspore),
        IN_PLACE(msmonitor),
        IN_PLACE(msmonitor_crashed),
        IN_PLACE(old_columns),
        IN_PLACE(only_what_is_needed_is_read),
        IN_PLACE(marks_are_the_same_on_the_whole_timeline),
        IN_PLACE(numbers_of_other_kinds_do_not_link),
        IN_PLACE(a_launch_is_no_pair),
        IN_PLACE(connections_do_not_multiply),
        IN_PLACE(call_chains_have_a_budget),
        IN_PLACE(views_are_not_read),
        IN_PLACE(the_analysis_beside_is_read),
        IN_PLACE(a_damaged_sibling_is_counted),
        IN_PLACE(an_analysis_by_itself_has_its_tables),
        IN_PLACE(databases_are_known_by_their_tables),
        IN_PLACE(a_long_schema_is_no_obstacle),
        IN_PLACE(other_databases_are_not_ours),
        IN_PLACE(json_lines_are_known_but_not_read),
        IN_PLACE(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

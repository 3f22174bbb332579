/* Queries over two small ranks whose figures are worked out by hand.
 *
 *   us        0        10   20 25  30    40  50 52 55 60  65 70       90 95 100           200
 *   thread    |ProfilerStep#1                                               |ProfilerStep#2|
 *             .        |aten::mm         |   |add    |
 *             .        .    |call|       .   .|call| .
 *   stream, 0 .        .    .    .|mm_kernel         |   |add_kernel|
 *   stream, 1 .        .    .    .|mm_kernel                      |   |add_kernel|
 */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "query/collect.h"
#include "query/sql.h"
#include "query/table_columns.h"
#include "support/profile.h"
#include "support/sanitized.h"

static const char RANK[] =
    "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":2},\"traceEvents\":[\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#1\",\"pid\":7,\"tid\":7,\"ts\":0,\"dur\":100},\n"
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#2\",\"pid\":7,\"tid\":7,\"ts\":100,\"dur\":100},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":7,\"tid\":7,\"ts\":10,\"dur\":30,"
    "\"args\":{\"Input Dims\":[[4,8],[]]}},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":7,\"ts\":20,\"dur\":5,"
    "\"args\":{\"correlation\":41}},\n"
    "{\"ph\":\"s\",\"id\":41,\"pid\":7,\"tid\":7,\"ts\":20,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
    "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::add\",\"pid\":7,\"tid\":7,\"ts\":50,\"dur\":10},\n"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":7,\"tid\":7,\"ts\":52,\"dur\":3,"
    "\"args\":{\"correlation\":42}},\n"
    "{\"ph\":\"s\",\"id\":42,\"pid\":7,\"tid\":7,\"ts\":52,\"cat\":\"ac2g\",\"name\":\"ac2g\"},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"mm_kernel\",\"pid\":0,\"tid\":7,\"ts\":30,\"dur\":%d,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":41}},\n"
    "{\"ph\":\"f\",\"id\":41,\"pid\":0,\"tid\":7,\"ts\":30,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"},\n"
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"add_kernel\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":5,"
    "\"args\":{\"device\":0,\"stream\":7,\"correlation\":42}},\n"
    "{\"ph\":\"f\",\"id\":42,\"pid\":0,\"tid\":7,\"ts\":%d,\"cat\":\"ac2g\",\"name\":\"ac2g\",\"bp\":\"e\"}\n"
    "],\"baseTimeNanoseconds\":1700000000000000000}\n";

static void write_job(const place *where) {
    char text[4096];
    (void)snprintf(text, sizeof text, RANK, 0, 30, 65, 65);
    write_text(place_path(where, "rank0.json"), text);
    (void)snprintf(text, sizeof text, RANK, 1, 60, 95, 95);
    write_text(place_path(where, "rank1.json"), text);
}

typedef struct job {
    ps_cluster *cluster;
    ps_sql *sql;
    ps_buf rows;
    ps_err err;
} job;

static void open_job(job *j, const place *where) {
    ps_sql_opts opts = {.run = {.n_threads = 1}, .timeout_s = 60};
    *j = (job){.err = PS_ERR_INIT};
    ps_analysis_opts_init(&opts.run.analysis);
    j->cluster = ps_cluster_find(where->dir, &j->err);
    assert_non_null(j->cluster);
    j->sql = ps_sql_open(j->cluster, &opts, &j->err);
    assert_non_null(j->sql);
}

static void close_job(job *j) {
    ps_sql_close(j->sql);
    ps_cluster_free(j->cluster);
    ps_buf_fini(&j->rows);
}

static ps_code add_rows(void *context, const ps_table *t, size_t first, size_t end, ps_err *err) {
    ps_buf *out = context;
    (void)err;
    for (size_t r = first; r < end; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            const ps_value *v = ps_table_cell(t, r, c);
            ps_buf_add_str(out, c > 0 ? "|" : "");
            if (v->is_null) {
                ps_buf_add_str(out, "NULL");
            } else if (t->columns[c].type == PS_COL_INT) {
                ps_buf_addf(out, "%lld", (long long)v->u.i);
            } else if (t->columns[c].type == PS_COL_REAL) {
                ps_buf_addf(out, "%.10g", v->u.r);
            } else {
                ps_buf_add_str(out, v->u.text);
            }
        }
        ps_buf_add_char(out, '\n');
    }
    return PS_OK;
}

static ps_code ask(job *j, const char *sql) {
    ps_buf_clear(&j->rows);
    j->err = PS_ERR_INIT;
    return ps_sql_run(j->sql, sql, "query", add_rows, &j->rows, &j->err);
}

static void expect(job *j, const char *sql, const char *rows) {
    if (ask(j, sql) != PS_OK) {
        fail_msg("%s: %s", sql, j->err.msg);
    }
    if (strcmp(ps_buf_str(&j->rows), rows) != 0) {
        fail_msg("%s\n--- got\n%s--- expected\n%s", sql, ps_buf_str(&j->rows), rows);
    }
}

static void expect_error(job *j, const char *sql, ps_code code, const char *part) {
    assert_int_equal(ask(j, sql), code);
    if (strstr(j->err.msg, part) == NULL) {
        fail_msg("%s: '%s' does not say '%s'", sql, j->err.msg, part);
    }
}

/* --- tables ---------------------------------------------------------------------------------------- */

static void tables_of_traces(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    expect(&j, "SELECT rank, profile, profiler, format, path, slices, end_ns - start_ns FROM rank",
           "0|0|PyTorch|kineto|rank0.json|8|200000\n1|1|PyTorch|kineto|rank1.json|8|200000\n");
    expect(&j, "SELECT rank, step, start_ns - 1700000000000000000, dur_ns FROM step",
           "0|1|0|100000\n0|2|100000|100000\n1|1|0|100000\n1|2|100000|100000\n");
    expect(
        &j,
        "SELECT id, kind, name, start_ns - 1700000000000000000, dur_ns, end_ns - start_ns, step, "
        "parent, call, self_ns FROM slice WHERE rank = 0",
        "0|annotation|ProfilerStep#1|0|100000|100000|1|NULL|NULL|60000\n"
        "1|op|aten::mm|10000|30000|30000|1|0|NULL|25000\n"
        "2|call|cudaLaunchKernel|20000|5000|5000|1|1|NULL|5000\n"
        "3|kernel|mm_kernel|30000|30000|30000|1|NULL|2|30000\n"
        "4|op|aten::add|50000|10000|10000|1|0|NULL|7000\n"
        "5|call|cudaLaunchKernel|52000|3000|3000|1|4|NULL|3000\n"
        "6|kernel|add_kernel|65000|5000|5000|1|NULL|5|5000\n"
        "7|annotation|ProfilerStep#2|100000|100000|100000|2|NULL|NULL|100000\n");
    expect(&j, "SELECT rank, from_slice, to_slice, kind FROM flow",
           "0|2|3|ac2g\n0|5|6|ac2g\n1|2|3|ac2g\n1|5|6|ac2g\n");
    expect(&j, "SELECT slice, value, type FROM arg WHERE key = 'Input Dims' AND rank = 1",
           "1|[[4,8],[]]|json\n");
    expect(&j, "SELECT rank, value FROM meta WHERE key = 'world_size'", "0|2\n1|2\n");
    expect(
        &j,
        "SELECT t.kind, t.tid, count(*) FROM slice s JOIN track t ON t.rank = s.rank AND t.id = s.track "
        "GROUP BY t.kind, t.tid ORDER BY 1",
        "stream|7|4\nthread|7|12\n");
    close_job(&j);
}

/* What is pushed down leaves the rows that SQLite finds when it cannot push anything (a + stands before the column). */
static void constraints_at_the_ends(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    expect(&j, "SELECT count(*) FROM slice WHERE dur_ns < -9223372036854775808", "0\n");
    expect(&j, "SELECT count(*) FROM slice WHERE dur_ns > 9223372036854775807", "0\n");
    expect(&j, "SELECT count(*) FROM slice WHERE start_ns >= -9223372036854775808", "16\n");
    expect(&j, "SELECT count(*) FROM kernel WHERE end_ns <= 9223372036854775807", "4\n");
    close_job(&j);
}

static void constraints_leave_the_same_rows(void **state) {
    static const char *const SAME[][2] = {
        {"kind = 'kernel'", "+kind = 'kernel'"},
        {"name = 'mm_kernel' AND rank = 1", "+name = 'mm_kernel' AND +rank = 1"},
        {"name = 'nobody'", "+name = 'nobody'"},
        {"name = 'MM_KERNEL' COLLATE NOCASE", "+name = 'MM_KERNEL' COLLATE NOCASE"},
        {"start_ns >= 1700000000000030000", "+start_ns >= 1700000000000030000"},
        {"start_ns > 1700000000000030000", "+start_ns > 1700000000000030000"},
        {"start_ns < 1700000000000030000", "+start_ns < 1700000000000030000"},
        {"start_ns BETWEEN 1700000000000010000 AND 1700000000000052000",
         "+start_ns BETWEEN 1700000000000010000 AND 1700000000000052000"},
        {"end_ns <= 1700000000000060000", "+end_ns <= 1700000000000060000"},
        {"end_ns > 1700000000000090000", "+end_ns > 1700000000000090000"},
        {"end_ns >= 1700000000000090000 AND start_ns < 1700000000000050000",
         "+end_ns >= 1700000000000090000 AND +start_ns < 1700000000000050000"},
        {"dur_ns > 2999.5", "+dur_ns > 2999.5"},
        {"dur_ns = 5000.0", "+dur_ns = 5000.0"},
        {"dur_ns >= 5000.5", "+dur_ns >= 5000.5"},
        {"dur_ns < 'text'", "+dur_ns < 'text'"},
        {"rank IN (1, 7, NULL)", "+rank IN (1, 7, NULL)"},
        {"rank IN (SELECT 1)", "+rank IN (SELECT 1)"},
        {"rank = NULL", "+rank = NULL"},
        {"id IN (1, 3, 99, -1)", "+id IN (1, 3, 99, -1)"},
        {"id = 9223372036854775807", "+id = 9223372036854775807"},
        {"step = 2", "+step = 2"},
        {"step IS NULL OR step < 2", "+step IS NULL OR +step < 2"},
        {"kind = 'op' OR name = 'mm_kernel'", "+kind = 'op' OR +name = 'mm_kernel'"},
        {"profile = 1 AND track = 0", "+profile = 1 AND +track = 0"},
        {"parent = 0", "+parent = 0"},
    };
    write_job(*state);
    job j;
    open_job(&j, *state);
    for (size_t i = 0; i < sizeof SAME / sizeof *SAME; i++) {
        char sql[512];
        (void)snprintf(sql, sizeof sql,
                       "SELECT rank, id, name, dur_ns FROM slice WHERE %s ORDER BY +rank, +id",
                       SAME[i][1]);
        assert_int_equal(ask(&j, sql), PS_OK);
        ps_buf all = j.rows;
        j.rows = (ps_buf){0};
        (void)snprintf(sql, sizeof sql,
                       "SELECT rank, id, name, dur_ns FROM slice WHERE %s ORDER BY +rank, +id",
                       SAME[i][0]);
        expect(&j, sql, ps_buf_str(&all));
        ps_buf_fini(&all);
    }
    /* A text that is a number is one beside a column of numbers. */
    expect(&j, "SELECT count(*), min(rank) FROM slice WHERE rank = '1'", "8|1\n");
    close_job(&j);
}

static void groups_are_whole(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    const char *by_name = "ProfilerStep#1|2|200000\nProfilerStep#2|2|200000\nadd_kernel|2|10000\n"
                          "aten::add|2|20000\naten::mm|2|60000\ncudaLaunchKernel|4|16000\n"
                          "mm_kernel|2|90000\n";
    expect(&j,
           "SELECT * FROM (SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY name) ORDER BY 1",
           by_name);
    expect(&j, "SELECT * FROM (SELECT kind, count(*) FROM slice GROUP BY kind) ORDER BY 1",
           "annotation|4\ncall|4\nkernel|4\nop|4\n");
    expect(
        &j,
        "SELECT * FROM (SELECT name, count(*) FROM slice WHERE kind = 'kernel' AND rank = 1 GROUP BY name) "
        "ORDER BY 1",
        "add_kernel|1\nmm_kernel|1\n");
    expect(&j, "SELECT name FROM (SELECT DISTINCT name FROM slice WHERE kind = 'op') ORDER BY 1",
           "aten::add\naten::mm\n");
    /* One row of each is enough, unless others of it may be the ones that are wanted: the second step of mm_kernel has 60 us. */
    expect(&j, "SELECT DISTINCT kind FROM slice ORDER BY kind DESC",
           "op\nkernel\ncall\nannotation\n");
    expect(&j, "SELECT count(*) FROM (SELECT DISTINCT name FROM slice)", "7\n");
    expect(&j, "SELECT DISTINCT name FROM slice WHERE dur_ns >= 60000 ORDER BY name",
           "ProfilerStep#1\nProfilerStep#2\nmm_kernel\n");
    expect(&j, "SELECT DISTINCT name FROM slice WHERE dur_ns % 20000 = 0 AND name LIKE 'mm%'",
           "mm_kernel\n");
    expect(&j, "SELECT name, count(*), sum(dur_ns) FROM slice GROUP BY name ORDER BY name",
           by_name);
    expect(&j, "SELECT kind, count(*) FROM slice GROUP BY kind ORDER BY kind DESC",
           "op|4\nkernel|4\ncall|4\nannotation|4\n");
    expect(
        &j,
        "SELECT category, count(*) FROM slice WHERE rank = 0 GROUP BY category ORDER BY category DESC",
        "user_annotation|2\nkernel|2\ncuda_runtime|2\ncpu_op|2\n");
    expect(&j, "SELECT name, rank, id FROM slice WHERE kind = 'op' ORDER BY name DESC LIMIT 3",
           "aten::mm|0|1\naten::mm|1|1\naten::add|0|4\n");
    /* 30 us of aten::mm and mm_kernel on rank 0, 30 and 60 on rank 1, and four steps of 100. */
    expect(
        &j,
        "SELECT name, count(*) FROM slice WHERE dur_ns >= 30000 AND track >= 0 GROUP BY name ORDER BY name",
        "ProfilerStep#1|2\nProfilerStep#2|2\naten::mm|2\nmm_kernel|2\n");
    expect(
        &j,
        "SELECT name, count(*) FROM slice WHERE start_ns < 1700000000000020000 GROUP BY name ORDER BY name",
        "ProfilerStep#1|2\naten::mm|2\n");
    expect(&j, "SELECT name, count(*) FROM slice WHERE name = 'nobody' GROUP BY name", "");
    close_job(&j);
}

/* The second rank is no profile any more when the query comes: whoever does not ask for it is not told. */
static void ranks_left_out_are_not_read(void **state) {
    const place *where = *state;
    write_job(where);
    job j;
    open_job(&j, where);
    write_text(place_path(where, "rank1.json"), "no profile any more");
    expect(&j, "SELECT count(*) FROM slice WHERE rank = 0", "8\n");
    expect(
        &j,
        "SELECT count(*) FROM rank r JOIN slice s ON s.rank = r.rank WHERE r.path = 'rank0.json'",
        "8\n");
    expect(&j, "SELECT rank, path FROM rank", "0|rank0.json\n1|rank1.json\n");
    assert_int_equal(ps_sql_n_read(j.sql), 1);
    assert_int_equal(ps_sql_unread(j.sql, 1)->code, PS_OK);
    expect(&j, "SELECT count(*) FROM slice", "8\n");
    assert_int_not_equal(ps_sql_unread(j.sql, 1)->code, PS_OK);
    close_job(&j);
}

/* A later statement may need more of a trace than an earlier one. */
static void statements_one_after_the_other(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    expect(&j, "SELECT count(*) FROM meta WHERE key = 'world_size'", "2\n");
    expect(&j, "SELECT count(*) FROM slice", "16\n");
    expect(&j, "SELECT sum(self_ns) FROM slice WHERE kind = 'op'", "64000\n");
    expect(&j, "SELECT count(*) FROM arg WHERE key = 'correlation'", "8\n");
    close_job(&j);
}

/* Modes by their own name and by the name of their tables. */
static void tables_of_modes(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    expect(&j, "SELECT count(*) > 0 FROM step_trace_time", "1\n");
    expect(
        &j,
        "SELECT (SELECT count(*) FROM step_trace_time) = (SELECT count(*) FROM ClusterStepTraceTime)",
        "1\n");
    expect_error(&j, "SELECT * FROM op", PS_NOTHING, "op: ");
    expect_error(&j, "SELECT * FROM operator_mfu", PS_NOTHING, "OperatorMfuSummary: ");
    close_job(&j);
}

/* Made of each profile: kernels, and what a view shows of a rank. */
static void tables_of_views(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    expect(
        &j,
        "SELECT rank, slice, name, step, start_ns - 1700000000000000000, dur_ns, call, op, op_name, device, flops "
        "FROM kernel ORDER BY rank, slice",
        "0|3|mm_kernel|1|30000|30000|2|1|aten::mm|0|NULL\n"
        "0|6|add_kernel|1|65000|5000|5|4|aten::add|0|NULL\n"
        "1|3|mm_kernel|1|30000|60000|2|1|aten::mm|0|NULL\n"
        "1|6|add_kernel|1|95000|5000|5|4|aten::add|0|NULL\n");
    /* Sums of the device; and of the span from 40 to 70 us alone: of mm 20 us on rank 0 and 30 on rank 1. */
    expect(&j, "SELECT rank, name, total_ns, number FROM device_sum WHERE rank = 1",
           "1|mm_kernel|60000|1\n1|add_kernel|5000|1\n");
    expect(&j,
           "SELECT rank, total_ns FROM device_sum WHERE name = 'mm_kernel' AND "
           "from_ns = 1700000000000040000 AND to_ns = 1700000000000070000 ORDER BY rank",
           "0|20000\n1|30000\n");
    expect(
        &j,
        "SELECT count(*) FROM kernel_launch l JOIN slice s ON s.rank = l.rank AND s.id = l.slice "
        "WHERE s.start_ns = l.start_ns AND s.name = l.name AND s.dur_ns = l.duration_ns",
        "4\n");
    /* Of Computing of rank 0 both kernels, of its Free none. */
    expect(&j, "SELECT name FROM leaf WHERE rank = 0 AND leaf = 'Computing' ORDER BY start_ns",
           "mm_kernel\nadd_kernel\n");
    expect(&j,
           "SELECT r.rank, count(l.name) FROM rank r JOIN leaf('Computing') l ON l.rank = r.rank "
           "GROUP BY r.rank ORDER BY r.rank",
           "0|2\n1|2\n");
    expect(&j, "SELECT count(*) FROM leaf WHERE leaf = NULL", "0\n");
    expect(&j, "SELECT count(*) FROM operator_types WHERE total_ns > 25000", "2\n");
    expect_error(&j, "SELECT * FROM memory_curve", PS_NOTHING, "memory");
    expect_error(&j, "SELECT * FROM memory_curve('all')", PS_USAGE,
                 "none of overall|stream|component");
    expect(&j, "SELECT count(*) > 5 FROM base_info", "1\n");
    expect(&j,
           "SELECT (SELECT count(*) FROM step_times) = (SELECT count(*) FROM ClusterStepTraceTime)",
           "1\n");
    close_job(&j);
}

/* One collective of two ranks: from 10 to 60 us on the first, from 40 to 60 on the second, for which the first waits 30. A second one of
 * the first rank alone was not matched. */
static void communication_of_ranks(void **state) {
    static const char REDUCE[] =
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce_Sum_f32\",\"pid\":0,\"tid\":20,\"ts\":%d,\"dur\":%d,"
        "\"args\":{\"device\":0,\"stream\":20,\"Collective name\":\"allreduce\",\"In msg nelems\":256,\"dtype\":\"Float\","
        "\"Process Group Name\":\"0\",\"Group size\":2}}";
    static const char HEAD[] =
        "{\"schemaVersion\":1,\"distributedInfo\":{\"backend\":\"nccl\",\"rank\":%d,\"world_size\":2},\"traceEvents\":[";
    char text[2048];
    int n = snprintf(text, sizeof text, HEAD, 0);
    n += snprintf(text + n, sizeof text - (size_t)n, REDUCE, 10, 50);
    (void)snprintf(text + n, sizeof text - (size_t)n, "]}");
    write_text(place_path(*state, "rank0.json"), text);
    n = snprintf(text, sizeof text, HEAD, 1);
    n += snprintf(text + n, sizeof text - (size_t)n, REDUCE, 40, 20);
    (void)snprintf(text + n, sizeof text - (size_t)n, "]}");
    write_text(place_path(*state, "rank1.json"), text);
    job j;
    open_job(&j, *state);
    expect(
        &j,
        "SELECT rank, kind, type, communicator, dur_ns, bytes, elements, match, late_ns, waited_ns, slice FROM comm ORDER BY rank",
        "0|collective|allreduce|0|50000|1024|256|0|0|30000|0\n"
        "1|collective|allreduce|0|20000|1024|256|0|30000|0|0\n");
    expect(&j, "SELECT rank, for_rank, kind, waited_ns, slice, for_slice, match FROM wait",
           "0|1|collective|30000|0|0|0\n");
    expect_error(&j, "SELECT * FROM link", PS_NOTHING, "");
    close_job(&j);
    write_job(*state);
    open_job(&j, *state);
    expect_error(&j, "SELECT * FROM wait", PS_NOTHING, "wait: ");
    close_job(&j);
}

/* --- functions -------------------------------------------------------------------------------------- */

/* --- columns --------------------------------------------------------------------------------------- */

static ps_code collect_file(void *context, const void *bytes, size_t n, ps_err *err) {
    (void)err;
    ps_buf_add(context, bytes, n);
    return PS_OK;
}

/* The file of a table's columns, and that of the query that asks the same. */
static void expect_columns(job *j, const ps_sql_table_ask *table, const char *sql) {
    ps_buf file = {0};
    ps_buf wanted = {0};
    ps_arrow *a = ps_sql_table_columns(j->sql, table, &j->err);
    ps_arrow *b = ps_sql_arrow_of(j->sql, sql, "query", &j->err);
    assert_non_null(a);
    assert_non_null(b);
    assert_int_equal(ps_arrow_write(a, collect_file, &file, &j->err), PS_OK);
    assert_int_equal(ps_arrow_write(b, collect_file, &wanted, &j->err), PS_OK);
    assert_int_equal(ps_arrow_n_rows(a), ps_arrow_n_rows(b));
    if (file.len != wanted.len || memcmp(file.data, wanted.data, file.len) != 0) {
        fail_msg("%s: other columns", sql);
    }
    ps_arrow_free(a);
    ps_arrow_free(b);
    ps_buf_fini(&file);
    ps_buf_fini(&wanted);
}

/* Two ranks of 8 slices and 2 steps: of the bits that say what is NULL the second rank begins at a whole byte, and in one. */
static void whole_tables(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    static const char *const SOME[] = {"dur_ns", "name", "parent", "profile", NULL};
    static const char *const OP[] = {"kind", "n", NULL};
    const int64_t one[] = {1};
    expect_columns(&j, &(ps_sql_table_ask){.table = "slice"}, "SELECT * FROM slice");
    expect_columns(&j, &(ps_sql_table_ask){.table = "step"}, "SELECT * FROM step");
    expect_columns(&j, &(ps_sql_table_ask){.table = "rank"}, "SELECT * FROM rank");
    expect_columns(&j, &(ps_sql_table_ask){.table = "flow"}, "SELECT * FROM flow");
    expect_columns(&j, &(ps_sql_table_ask){.table = "kernel"}, "SELECT * FROM kernel");
    expect_columns(&j, &(ps_sql_table_ask){.table = "slice", .columns = SOME},
                   "SELECT dur_ns, name, parent, profile FROM slice");
    expect_columns(
        &j, &(ps_sql_table_ask){.table = "slice", .columns = SOME, .ranks = one, .n_ranks = 1},
        "SELECT dur_ns, name, parent, profile FROM slice WHERE rank = 1");
    expect_columns(&j, &(ps_sql_table_ask){.table = "step", .ranks = one, .n_ranks = 0},
                   "SELECT * FROM step WHERE 0");
    assert_null(ps_sql_table_columns(
        j.sql, &(ps_sql_table_ask){.table = "slice", .columns = OP, .name = "query"}, &j.err));
    assert_int_equal(j.err.code, PS_USAGE);
    close_job(&j);
}

static void memory_may_end_in_columns(void **state) {
    write_job(*state);
    bool done = false;
    for (int64_t n = 0; !done; n += PS_NEXT_FAILURE) {
        job j;
        open_job(&j, *state);
        (void)ps_alloc_fail_at(n);
        ps_arrow *a = ps_sql_table_columns(j.sql, &(ps_sql_table_ask){.table = "slice"}, &j.err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_true(a != NULL || j.err.code == PS_NOMEM);
        ps_arrow_free(a);
        close_job(&j);
    }
}

static void functions(void **state) {
    write_job(*state);
    job j;
    open_job(&j, *state);
    expect(
        &j,
        "SELECT overlap(0, 10, 5, 20), overlap(0, 10, 10, 20), overlap(0, 100, 3, 4), overlap(0, 1, NULL, 2)",
        "5|0|1|NULL\n");
    /* Positions (n - 1) p / 100 of 1 2 3 4: 1.5, 0, 3, 2.7. */
    expect(&j,
           "SELECT percentile(column1, 50), percentile(column1, 0), percentile(column1, 100), "
           "percentile(column1, 90) FROM (VALUES (4), (1), (3), (2))",
           "2.5|1|4|3.7\n");
    expect(&j, "SELECT percentile(column1, 50) FROM (VALUES (1), (2.5), (NULL), (10), ('text'))",
           "2.5\n");
    expect(&j, "SELECT percentile(dur_ns, 50) FROM slice WHERE name = 'nobody'", "NULL\n");
    expect(&j,
           "SELECT human_ns(18300000), human_ns(0), human_ns(-1500), human_ns(NULL), human_ns('x')",
           "18.3 ms|0 ns|-1.50 us|NULL|NULL\n");
    expect(
        &j,
        "SELECT name_like('MatMul_kernel', 'matmul'), name_like('MatMul', 'matmul', 'c'), "
        "name_like('MatMul kernel', 'mat', 'w'), name_like('mm_12', '_[0-9]+$', 'r'), name_like(NULL, 'a')",
        "1|0|0|1|NULL\n");
    expect_error(&j, "SELECT name_like('a', '(', 'r')", PS_USAGE, "parenthesis");
    expect_error(&j, "SELECT name_like('a', 'a', 'x')", PS_USAGE, "letters");
    expect_error(&j, "SELECT percentile(1, 101)", PS_USAGE, "0 to 100");
    close_job(&j);
}

/* --- what is refused ---------------------------------------------------------------------------------- */

static void statements_that_are_refused(void **state) {
    static const char *const REFUSED[] = {
        "CREATE TABLE t(a)",
        "CREATE TEMP VIEW v AS SELECT 1",
        "CREATE VIRTUAL TABLE t USING fts5(a)",
        "INSERT INTO slice VALUES (1)",
        "UPDATE slice SET name = 'x'",
        "DELETE FROM slice",
        "DROP TABLE slice",
        "ATTACH 'other.db' AS other",
        "DETACH main",
        "PRAGMA temp_store = FILE",
        "SELECT * FROM pragma_database_list",
        "VACUUM INTO 'copy.db'",
        "BEGIN",
        "SAVEPOINT s",
        "ANALYZE",
        "REINDEX",
        "SELECT load_extension('x')",
        "EXPLAIN SELECT 1",
    };
    write_job(*state);
    job j;
    open_job(&j, *state);
    for (size_t i = 0; i < sizeof REFUSED / sizeof *REFUSED; i++) {
        expect_error(&j, REFUSED[i], PS_USAGE, "");
    }
    expect_error(&j, "SELECT ?1", PS_USAGE, "?1");
    expect_error(&j, "", PS_USAGE, "empty");
    expect_error(&j, "-- nothing", PS_USAGE, "empty");
    expect_error(&j, "SELECT 1; SELECT 2", PS_USAGE, "another");
    expect(&j, "SELECT 1; -- and that was it\n;", "1\n");
    expect_error(&j, "SELECT \"name\" FROM slice WHERE name = \"mm\"", PS_USAGE, "no such column");
    expect_error(&j, "SELECT 1,\n  nobody FROM slice", PS_USAGE, "no such column: nobody");
    assert_int_equal(j.err.line, 2);
    assert_int_equal(j.err.offset, 12);
    close_job(&j);
}

/* Whichever allocation fails, somebody says so or the answer is right. */
static void memory_may_end_anywhere_in(const place *where, const char *sql_text) {
    write_job(where);
    job j;
    open_job(&j, where);
    assert_int_equal(ask(&j, sql_text), PS_OK);
    ps_buf right = j.rows;
    j.rows = (ps_buf){0};
    close_job(&j);
    bool done = false;
    for (int64_t n = 0; !done; n += PS_NEXT_FAILURE) {
        ps_sql_opts opts = {.run = {.n_threads = 1}};
        ps_err err = PS_ERR_INIT;
        ps_cluster *cluster = ps_cluster_find(where->dir, &err);
        ps_buf rows = {0};
        (void)ps_alloc_fail_at(n);
        ps_sql *sql = ps_sql_open(cluster, &opts, &err);
        ps_code code =
            sql != NULL ? ps_sql_run(sql, sql_text, "query", add_rows, &rows, &err) : err.code;
        done = ps_alloc_fail_at(-1) <= n;
        if (code == PS_OK && ps_buf_ok(&rows)) {
            assert_string_equal(ps_buf_str(&rows), ps_buf_str(&right));
        } else {
            assert_int_equal(code == PS_OK ? PS_NOMEM : code, PS_NOMEM);
        }
        ps_sql_close(sql);
        ps_cluster_free(cluster);
        ps_buf_fini(&rows);
    }
    ps_buf_fini(&right);
}

static void memory_may_end_anywhere(void **state) {
    memory_may_end_anywhere_in(
        *state,
        "SELECT name, count(*), sum(self_ns) FROM slice WHERE rank IN (0, 1) GROUP BY name");
    memory_may_end_anywhere_in(*state,
                               "SELECT rank, name, class, module FROM kernel ORDER BY rank, slice");
    memory_may_end_anywhere_in(*state, "SELECT path, total_ns FROM overall WHERE rank = 1");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(tables_of_traces),
        IN_PLACE(constraints_at_the_ends),
        IN_PLACE(whole_tables),
        IN_PLACE(memory_may_end_in_columns),
        IN_PLACE(constraints_leave_the_same_rows),
        IN_PLACE(groups_are_whole),
        IN_PLACE(ranks_left_out_are_not_read),
        IN_PLACE(statements_one_after_the_other),
        IN_PLACE(tables_of_modes),
        IN_PLACE(tables_of_views),
        IN_PLACE(communication_of_ranks),
        IN_PLACE(functions),
        IN_PLACE(statements_that_are_refused),
        IN_PLACE(memory_may_end_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

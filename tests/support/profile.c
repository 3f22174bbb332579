#include "support/profile.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "base/hash.h"
#include "support/scratch.h"

/* --- a directory of one's own
 * ------------------------------------------------------------------- */

void place_make(place *p) {
    scratch_make(p->dir, sizeof p->dir);
}

void place_remove(const place *p) {
    scratch_remove(p->dir);
}

int place_setup(void **state) {
    place *p = calloc(1, sizeof *p);
    assert_non_null(p);
    place_make(p);
    *state = p;
    return 0;
}

int place_teardown(void **state) {
    place_remove(*state);
    free(*state);
    return 0;
}

const char *place_path(const place *p, const char *fmt, ...) {
    static char paths[8][TEST_PATH];
    static unsigned next;
    char *out = paths[next++ % 8];
    size_t n = (size_t)snprintf(out, TEST_PATH, "%s/", p->dir);
    va_list ap;
    va_start(ap, fmt);
    int more = vsnprintf(out + n, TEST_PATH - n, fmt, ap);
    va_end(ap);
    assert_true(more >= 0 && (size_t)more < TEST_PATH - n);
    return out;
}

place place_inner(const place *p, const char *name) {
    place inner;
    int n = snprintf(inner.dir, sizeof inner.dir, "%s/%s", p->dir, name);
    assert_true(n > 0 && (size_t)n < sizeof inner.dir);
    make_dirs(inner.dir);
    return inner;
}

void make_dirs(const char *path) {
    assert_int_equal(ps_make_dirs(path, NULL), PS_OK);
}

void write_text(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    if (f == NULL) {
        fail_msg("%s: %s", path, strerror(errno));
        return;
    }
    assert_true(fputs(text, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

/* --- one rank
 * -------------------------------------------------------------------------------------
 */

static void run_sql(profile *p, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(p->db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

void profile_begin_file(profile *p, const char *path) {
    *p = (profile){.n_connections = 4000000000};
    (void)snprintf(p->path, sizeof p->path, "%s", path);
    assert_int_equal(sqlite3_open(p->path, &p->db), SQLITE_OK);
    run_sql(p, "PRAGMA synchronous = OFF; BEGIN;"
               "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);"
               "CREATE INDEX temp_by_value ON STRING_IDS (value)");
}

void profile_begin_in(profile *p, const char *dir, const char *name) {
    char inner[TEST_PATH];
    int n = snprintf(inner, sizeof inner, "%s/ASCEND_PROFILER_OUTPUT", dir);
    assert_true(n > 0 && (size_t)n < sizeof inner);
    make_dirs(inner);
    char path[TEST_PATH];
    n = snprintf(path, sizeof path, "%s/ASCEND_PROFILER_OUTPUT/%s", dir, name);
    assert_true(n > 0 && (size_t)n < sizeof path);
    profile_begin_file(p, path);
    (void)snprintf(p->dir, sizeof p->dir, "%s", dir);
}

void profile_begin(profile *p, const place *where, int rank) {
    char name[64];
    (void)snprintf(name, sizeof name, "ascend_pytorch_profiler_%d.db", rank);
    profile_begin_in(p, place_path(where, "host_%d_20240501120000000_ascend_pt", 1000 + rank),
                     name);
}

void profile_close(profile *p) {
    run_sql(p, "DROP INDEX IF EXISTS temp_by_value; COMMIT");
    assert_int_equal(sqlite3_close(p->db), SQLITE_OK);
    p->db = NULL;
}

void profile_sql(profile *p, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *sql = sqlite3_vmprintf(fmt, ap);
    va_end(ap);
    assert_non_null(sql);
    run_sql(p, sql);
    sqlite3_free(sql);
}

int64_t profile_string(profile *p, const char *text) {
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(p->db, "SELECT id FROM STRING_IDS WHERE value = ?1", -1, &stmt, NULL),
        SQLITE_OK);
    sqlite3_bind_text(stmt, 1, text, -1, SQLITE_STATIC);
    int64_t id = sqlite3_step(stmt) == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
    sqlite3_finalize(stmt);
    if (id < 0) {
        id = p->n_strings++;
        profile_sql(p, "INSERT INTO STRING_IDS VALUES (%lld, %Q)", (long long)id, text);
    }
    return id;
}

void profile_step(profile *p, int64_t id, int64_t start_ns, int64_t end_ns) {
    profile_sql(p,
                "CREATE TABLE IF NOT EXISTS STEP_TIME (id INTEGER, startNs "
                "INTEGER, endNs INTEGER);"
                "INSERT INTO STEP_TIME VALUES (%lld, %lld, %lld)",
                (long long)id, (long long)start_ns, (long long)end_ns);
}

void profile_meta(profile *p, const char *name, const char *value) {
    profile_sql(p,
                "CREATE TABLE IF NOT EXISTS META_DATA (name TEXT, value TEXT);"
                "INSERT INTO META_DATA VALUES (%Q, %Q)",
                name, value);
}

void profile_json(const profile *p, const char *text) {
    char path[TEST_PATH + 32];
    (void)snprintf(path, sizeof path, "%s/profiler_metadata.json", p->dir);
    write_text(path, text);
}

static void add_task(profile *p, int64_t connection, int stream, int64_t start_ns, int64_t end_ns) {
    profile_sql(p,
                "CREATE TABLE IF NOT EXISTS TASK (startNs INTEGER, endNs INTEGER, "
                "deviceId INTEGER,"
                " connectionId INTEGER, globalTaskId INTEGER, globalPid INTEGER, "
                "taskType INTEGER,"
                " contextId INTEGER, streamId INTEGER, taskId INTEGER, modelId INTEGER);"
                "INSERT INTO TASK VALUES (%lld, %lld, 0, %lld, %lld, 1, 0, 4294967295, "
                "%d, %lld, 4294967295)",
                (long long)start_ns, (long long)end_ns, (long long)connection,
                (long long)p->n_tasks, stream, (long long)p->n_tasks);
    p->n_tasks++;
}

void profile_add_mark(profile *p, mark_spec m) {
    int64_t message = profile_string(p, m.message);
    int64_t connection = p->n_connections++;
    profile_sql(p,
                "CREATE TABLE IF NOT EXISTS MSTX_EVENTS (startNs INTEGER, endNs "
                "INTEGER, eventType INTEGER,"
                " rangeId INTEGER, category INTEGER, message INTEGER, globalTid "
                "INTEGER, endGlobalTid INTEGER,"
                " domainId INTEGER, connectionId INTEGER);"
                "INSERT INTO MSTX_EVENTS VALUES (%lld, %lld, 2, 4294967295, "
                "4294967295, %lld, 4294967299,"
                " 4294967299, %lld, %lld)",
                (long long)m.host_start_ns, (long long)m.host_end_ns, (long long)message,
                (long long)profile_string(p, "default"), (long long)connection);
    if (!m.no_task && m.stream >= 0) {
        add_task(p, connection, m.stream, m.start_ns, m.end_ns);
    }
}

void profile_mark(profile *p, const char *message, int64_t start_ns, int64_t end_ns) {
    profile_add_mark(p, (mark_spec){.message = message,
                                    .host_start_ns = start_ns,
                                    .host_end_ns = end_ns,
                                    .start_ns = start_ns,
                                    .end_ns = end_ns,
                                    .stream = 2});
}

void profile_kernel(profile *p, int stream, int64_t start_ns, int64_t end_ns) {
    add_task(p, 100 + p->n_tasks, stream, start_ns, end_ns);
}

int64_t profile_comm_op(profile *p, const char *name, const char *group, int64_t start_ns,
                        int64_t end_ns, int own, int peer) {
    int64_t op = p->n_ops++;
    int64_t group_id = profile_string(p, group);
    profile_sql(p, "CREATE TABLE IF NOT EXISTS COMMUNICATION_OP (opName INTEGER, "
                   "startNs INTEGER, endNs INTEGER,"
                   " connectionId INTEGER, groupName INTEGER, opId INTEGER "
                   "PRIMARY KEY, relay INTEGER,"
                   " retry INTEGER, dataType INTEGER, algType INTEGER, count "
                   "NUMERIC, opType INTEGER);"
                   "CREATE TABLE IF NOT EXISTS COMMUNICATION_TASK_INFO (name "
                   "INTEGER, globalTaskId INTEGER,"
                   " taskType INTEGER, planeId INTEGER, groupName INTEGER, "
                   "notifyId INTEGER, rdmaType INTEGER,"
                   " srcRank INTEGER, dstRank INTEGER, transportType INTEGER, "
                   "size INTEGER, dataType INTEGER,"
                   " linkType INTEGER, opId INTEGER)");
    profile_sql(p,
                "INSERT INTO COMMUNICATION_OP VALUES (%lld, %lld, %lld, %lld, "
                "%lld, %lld, 0, 0, 3, NULL, 1024,"
                " %lld)",
                (long long)profile_string(p, name), (long long)start_ns, (long long)end_ns,
                (long long)op + 7000, (long long)group_id, (long long)op,
                (long long)profile_string(p, "hcom_p2p_"));
    if (peer >= 0) {
        profile_sql(p,
                    "INSERT INTO COMMUNICATION_TASK_INFO VALUES (%lld, 0, %lld, 0, "
                    "%lld, 0, 0, %d, %d, 0, 64, 3, 0,"
                    " %lld)",
                    (long long)profile_string(p, "Notify_Wait"),
                    (long long)profile_string(p, "Notify_Wait"), (long long)group_id, own, peer,
                    (long long)op);
    }
    return op;
}

void profile_dualpipev(profile *p, int n_stages, int n_microbatches) {
    char text[256];
    (void)snprintf(text, sizeof text, "{\"pp_type\": \"dualpipev\", \"microbatch_num\": %d}",
                   n_microbatches);
    profile_meta(p, "pp_info", text);
    (void)snprintf(text, sizeof text,
                   "{\"tensor_model_parallel_size\": 1, "
                   "\"pipeline_model_parallel_size\": %d, "
                   "\"data_parallel_size\": 1, \"context_parallel_size\": 1, "
                   "\"world_size\": %d}",
                   n_stages, n_stages);
    profile_meta(p, "distributed_args", text);
}

/* --- looking
 * --------------------------------------------------------------------------------------
 */

char *query_rows(const char *db, const char *sql) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_open_v2(db, &handle, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(handle, sql, -1, &stmt, NULL) != SQLITE_OK) {
        fail_msg("%s: %s: %s", db, sql, sqlite3_errmsg(handle));
    }
    ps_buf text;
    ps_buf_init(&text, 0);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int c = 0; c < sqlite3_column_count(stmt); c++) {
            const char *cell = (const char *)sqlite3_column_text(stmt, c);
            ps_buf_addf(&text, "%s%s", c > 0 ? "|" : "", cell != NULL ? cell : "NULL");
        }
        ps_buf_add_char(&text, '\n');
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    char *out = strdup(ps_buf_str(&text));
    ps_buf_fini(&text);
    assert_non_null(out);
    return out;
}

void expect_rows_at(const char *db, const char *sql, const char *expected, const char *file,
                    int line) {
    char *got = query_rows(db, sql);
    if (strcmp(got, expected) != 0) {
        print_error("%s\nexpected:\n%sgot:\n%s", sql, expected, got);
        free(got);
        _fail(file, line);
        return;
    }
    free(got);
}

int64_t query_int(const char *db, const char *sql) {
    char *text = query_rows(db, sql);
    int64_t value = strtoll(text, NULL, 10);
    free(text);
    return value;
}

bool has_table(const char *db, const char *table) {
    char sql[256];
    (void)snprintf(sql, sizeof sql,
                   "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '%s'",
                   table);
    return query_int(db, sql) > 0;
}

uint64_t file_hash(const char *path) {
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_read_file(path, (size_t)1 << 30, &bytes, NULL), PS_OK);
    uint64_t hash = ps_hash64(ps_buf_str(&bytes), bytes.len);
    ps_buf_fini(&bytes);
    return hash;
}

/* Real and generated databases of the shared samples: exact counts, and every slice and flow against SQL.
 *
 * The counts were taken with sqlite3 and a separate script; the queries that stand here run again in each test, so that
 * counts, row ids, times and names are compared one by one. Without the samples the tests are skipped. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fs.h"
#include "read/readers.h"
#include "read/sqlite/db.h"
#include "support/profile.h"

extern const ps_reader ps_reader_ascend_db;

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS |            \
     PS_NEED_ARGS | PS_NEED_TABLES)

typedef struct sample {
    const char *path;
    unsigned kinds[PS_N_SLICE_KINDS];
    unsigned queue, backward, npu, to_device, marks; /* flows */
    unsigned counters, steps;
    unsigned op_memory, memory_record, npu_op_mem, pmu, comm_matrix, step_trace; /* rows */
    unsigned one_sided; /* oddity; there are no others */
} sample;

#define DB "_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_"
#define REAL_KINDS(calls, tasks, derived)                                                          \
    {                                                                                              \
        [PS_SLICE_COMM_OP] = 4, [PS_SLICE_HOST_OP] = 859, [PS_SLICE_ANNOTATION] = 1,               \
        [PS_SLICE_QUEUE] = 318, [PS_SLICE_CALL] = (calls), [PS_SLICE_PYTHON] = 1282,               \
        [PS_SLICE_KERNEL] = 187, [PS_SLICE_COPY] = 24, [PS_SLICE_COMM_TASK] = 296,                 \
        [PS_SLICE_SYNC] = 26, [PS_SLICE_TASK] = (tasks), [PS_SLICE_DERIVED] = (derived)            \
    }

static const sample SAMPLES[] = {
    {"ascend/db/level0/rank0" DB "0.db", REAL_KINDS(713, 17, 0), 159, 27, 191, 215, 0, 6457, 1, 184,
     990, 114, 0, 0, 1, 0},
    {"ascend/db/level0/rank1" DB "1.db", REAL_KINDS(712, 17, 0), 159, 27, 191, 215, 0, 6646, 1, 184,
     990, 114, 0, 0, 1, 0},
    {"ascend/db/level1/rank0" DB "0.db", REAL_KINDS(710, 19, 382), 159, 27, 191, 215, 0, 7075, 1,
     184, 990, 114, 5180, 48, 1, 0},
    {"ascend/db/level1/rank1" DB "1.db", REAL_KINDS(709, 19, 0), 159, 27, 191, 215, 0, 7072, 1, 184,
     990, 114, 5180, 48, 1, 0},
    {.path = "cluster/pp2_dp4/input/rank0" DB "0.db",
     .kinds = {[PS_SLICE_COMM_OP] = 18,
               [PS_SLICE_HOST_OP] = 66,
               [PS_SLICE_CALL] = 66,
               [PS_SLICE_KERNEL] = 48},
     .npu = 66,
     .to_device = 66,
     .steps = 2,
     .comm_matrix = 24,
     .step_trace = 2},
    {.path = "pp_chart/1f1b_pp4_mb8/input/node0_1001_20250109012610001" DB "1.db",
     .kinds = {[PS_SLICE_MARK_HOST] = 32,
               [PS_SLICE_MARK_DEVICE] = 32,
               [PS_SLICE_COMM_OP] = 64,
               [PS_SLICE_CALL] = 64,
               [PS_SLICE_COMM_TASK] = 192},
     .to_device = 64,
     .marks = 32,
     .steps = 2},
    {.path = "module_statistic/toy/input/rank0" DB "0.db",
     .kinds = {[PS_SLICE_MARK_HOST] = 74,
               [PS_SLICE_INSTANT] = 6,
               [PS_SLICE_COMM_OP] = 2,
               [PS_SLICE_HOST_OP] = 244,
               [PS_SLICE_CALL] = 144,
               [PS_SLICE_KERNEL] = 142,
               [PS_SLICE_TASK] = 2},
     .backward = 50,
     .npu = 146,
     .to_device = 144,
     .steps = 2},
};
#define N_SAMPLES (sizeof SAMPLES / sizeof *SAMPLES)

/* --- reading ------------------------------------------------------------------------------------------ */

typedef struct opened {
    char path[TEST_PATH];
    ps_trace *trace;
} opened;

static bool open_sample(const sample *s, opened *o) {
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    int n = snprintf(o->path, sizeof o->path, "%s/%s", shared != NULL ? shared : "../shared/data",
                     s->path);
    if (n >= TEST_PATH || access(o->path, R_OK) != 0) {
        return false;
    }
    ps_src src = {.path = o->path, .reader = &ps_reader_ascend_db};
    ps_err err = PS_ERR_INIT;
    o->trace = ps_read(&src, EVERYTHING, &err);
    if (o->trace == NULL) {
        fail_msg("%s: %s", s->path, err.msg);
    }
    return true;
}

/* Runs a check over the samples that are there; skips when none is. */
static void for_each(void check(const sample *s, const opened *o)) {
    size_t n = 0;
    for (size_t i = 0; i < N_SAMPLES; i++) {
        opened o;
        if (open_sample(&SAMPLES[i], &o)) {
            check(&SAMPLES[i], &o);
            ps_trace_free(o.trace);
            n++;
        }
    }
    if (n == 0) {
        print_message("needs ../shared/data\n");
        skip();
    }
}

static int compare_lines(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Sorts the lines of a text in place. Names may hold line ends: a line is whatever stands between two of them, on both
 * sides of a comparison. */
static void sort_lines(char *text) {
    size_t n = 0;
    char *copy = strdup(text);
    assert_non_null(copy);
    for (const char *p = copy; *p != '\0'; p++) {
        n += *p == '\n';
    }
    char **lines = calloc(n + 1, sizeof *lines);
    assert_non_null(lines);
    n = 0;
    for (char *line = copy; *line != '\0';) {
        char *end = strchr(line, '\n');
        *end = '\0';
        lines[n++] = line;
        line = end + 1;
    }
    qsort(lines, n, sizeof *lines, compare_lines);
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(lines[i]);
        memcpy(text, lines[i], len);
        text[len] = '\n';
        text += len + 1;
    }
    free(lines);
    free(copy);
}

/* The rows of a query must be these lines, in any order. */
static void expect_lines(const opened *o, const char *sql, ps_buf *got) {
    char uri[TEST_PATH + 32];
    (void)snprintf(uri, sizeof uri, "file:%s?immutable=1", o->path);
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_open_v2(uri, &db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL) != SQLITE_OK ||
        sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) {
        fail_msg("%s: %s", sql, sqlite3_errmsg(db));
    }
    ps_buf wanted;
    ps_buf_init(&wanted, 0);
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        ps_buf_addf(&wanted, "%s\n", (const char *)sqlite3_column_text(stmt, 0));
    }
    assert_int_equal(sqlite3_finalize(stmt), SQLITE_OK);
    assert_int_equal(sqlite3_close(db), SQLITE_OK);
    assert_int_equal(got->len, wanted.len);
    if (got->len > 0) {
        sort_lines(got->data);
        sort_lines(wanted.data);
        assert_string_equal(ps_buf_str(got), ps_buf_str(&wanted));
    }
    ps_buf_fini(&wanted);
    ps_buf_clear(got);
}

static bool has(const opened *o, const char *table) {
    ps_db *db = ps_db_open(o->path, NULL);
    assert_non_null(db);
    bool there = ps_db_has_table(db, table);
    ps_db_close(db);
    return there;
}

/* --- counts ------------------------------------------------------------------------------------------- */

static unsigned flows_of(const ps_trace *t, const char *kind) {
    size_t n = 0;
    unsigned count = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        count += strcmp(ps_trace_text(t, flows[i].kind), kind) == 0;
    }
    return count;
}

static unsigned rows_of(const ps_trace *t, const char *table) {
    const ps_table *side = ps_trace_side_table(t, table);
    return side != NULL ? (unsigned)side->n_rows : 0;
}

static void check_counts(const sample *s, const opened *o) {
    const ps_trace *t = o->trace;
    unsigned kinds[PS_N_SLICE_KINDS] = {0};
    for (uint32_t i = 0; i < ps_trace_slices(t)->n; i++) {
        kinds[ps_trace_slices(t)->kind[i]]++;
    }
    for (size_t k = 0; k < PS_N_SLICE_KINDS; k++) {
        if (kinds[k] != s->kinds[k]) {
            fail_msg("%s: %u slices of kind %s", s->path, kinds[k],
                     ps_slice_kind_name((ps_slice_kind)k));
        }
    }
    assert_int_equal(flows_of(t, "async_task_queue"), s->queue);
    assert_int_equal(flows_of(t, "fwdbwd"), s->backward);
    assert_int_equal(flows_of(t, "async_npu"), s->npu);
    assert_int_equal(flows_of(t, "HostToDevice"), s->to_device);
    assert_int_equal(flows_of(t, ""), s->marks);
    assert_int_equal(ps_trace_counters(t)->n, s->counters);
    size_t n_steps = 0;
    (void)ps_trace_steps(t, &n_steps);
    assert_int_equal(n_steps, s->steps);
    assert_int_equal(rows_of(t, "OP_MEMORY"), s->op_memory);
    assert_int_equal(rows_of(t, "MEMORY_RECORD"), s->memory_record);
    assert_int_equal(rows_of(t, "NPU_OP_MEM"), s->npu_op_mem);
    assert_int_equal(rows_of(t, "TASK_PMU_INFO"), s->pmu);
    assert_int_equal(rows_of(t, "CommAnalyzerMatrix"), s->comm_matrix);
    assert_int_equal(rows_of(t, "StepTraceTime"), s->step_trace);
    for (size_t i = 0; i < PS_N_ODDITIES; i++) {
        uint64_t wanted = i == PS_ODD_FLOW_HALF ? s->one_sided : 0;
        if (ps_trace_diag(t)->counts[i] != wanted) {
            fail_msg("%s: %s %llu", s->path, ps_oddity_name((ps_oddity)i),
                     (unsigned long long)ps_trace_diag(t)->counts[i]);
        }
    }
}

static void counts_are_exact(void **state) {
    (void)state;
    for_each(check_counts);
}

/* --- slices ------------------------------------------------------------------------------------------- */

/* "row start end name" of the slices of some kinds. */
static void list_slices(const ps_trace *t, uint32_t kinds, ps_buf *out) {
    const ps_slices *s = ps_trace_slices(t);
    int64_t origin = ps_trace_origin_ns(t);
    for (uint32_t i = 0; i < s->n; i++) {
        if ((kinds & 1u << s->kind[i]) != 0) {
            ps_buf_addf(out, "%lld %lld %lld %s\n", (long long)s->source_row[i],
                        (long long)(origin + s->start_ns[i]),
                        (long long)(origin + s->start_ns[i] + s->dur_ns[i]),
                        ps_trace_text(t, s->name[i]));
        }
    }
}

#define K(kind) (1u << PS_SLICE_##kind)

static void check_slices(const sample *s, const opened *o) {
    static const struct {
        const char *table, *sql;
        uint32_t kinds;
    } QUERIES[] = {
        {"PYTORCH_API",
         "SELECT t.rowid || ' ' || startNs || ' ' || endNs || ' ' || value FROM PYTORCH_API t "
         "JOIN STRING_IDS s ON s.id = t.name",
         K(HOST_OP) | K(ANNOTATION) | K(QUEUE) | K(PYTHON)},
        {"CANN_API",
         "SELECT t.rowid || ' ' || startNs || ' ' || endNs || ' ' || value FROM CANN_API t "
         "JOIN STRING_IDS s ON s.id = t.name",
         K(CALL)},
        {"COMPUTE_TASK_INFO",
         "SELECT t.rowid || ' ' || startNs || ' ' || endNs || ' ' || value FROM TASK t "
         "JOIN COMPUTE_TASK_INFO c USING (globalTaskId) JOIN STRING_IDS s ON s.id = c.name",
         K(KERNEL)},
        /* level 0 has N/A there: then the type of the task */
        {"COMMUNICATION_TASK_INFO",
         "SELECT t.rowid || ' ' || startNs || ' ' || endNs || ' ' || CASE s.value WHEN 'N/A' THEN "
         "u.value ELSE s.value END FROM TASK t JOIN COMMUNICATION_TASK_INFO c USING (globalTaskId) "
         "JOIN STRING_IDS s ON s.id = c.taskType JOIN STRING_IDS u ON u.id = t.taskType",
         K(COMM_TASK)},
        {"COMMUNICATION_OP",
         "SELECT t.rowid || ' ' || startNs || ' ' || endNs || ' ' || value FROM COMMUNICATION_OP t "
         "JOIN STRING_IDS s ON s.id = t.opName",
         K(COMM_OP)},
        {"MSTX_EVENTS",
         "SELECT t.rowid || ' ' || startNs || ' ' || endNs || ' ' || value FROM MSTX_EVENTS t "
         "JOIN STRING_IDS s ON s.id = t.message",
         K(MARK_HOST) | K(INSTANT)},
        {"OVERLAP_ANALYSIS",
         "SELECT id || ' ' || startNs || ' ' || endNs || ' ' || CASE type WHEN 0 THEN 'Computing' "
         "WHEN 1 THEN 'Communication' WHEN 2 THEN 'Communication(Not Overlapped)' ELSE 'Free' END "
         "FROM OVERLAP_ANALYSIS",
         K(DERIVED)},
    };
    (void)s;
    ps_buf got;
    ps_buf_init(&got, 0);
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        list_slices(o->trace, QUERIES[i].kinds, &got);
        if (has(o, QUERIES[i].table)) {
            expect_lines(o, QUERIES[i].sql, &got);
        }
        assert_int_equal(got.len, 0);
    }
    ps_buf_fini(&got);
}

static void slices_are_the_rows(void **state) {
    (void)state;
    for_each(check_slices);
}

/* --- flows -------------------------------------------------------------------------------------------- */

/* "row kind row" of the flows of one kind: the row of the call or operator, what the flow leads to, and its row. */
static void list_flows(const ps_trace *t, const char *kind, ps_buf *out) {
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    const ps_slices *s = ps_trace_slices(t);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(ps_trace_text(t, flows[i].kind), kind) == 0) {
            ps_buf_addf(out, "%lld %s %lld\n", (long long)s->source_row[flows[i].from],
                        ps_slice_kind_name((ps_slice_kind)s->kind[flows[i].to]),
                        (long long)s->source_row[flows[i].to]);
        }
    }
}

#define DEVICE_ENDS /* %s: SCHEDULES or nothing */                                                 \
    "(SELECT connectionId AS number, 'kernel ' || TASK.rowid AS what FROM TASK "                   \
    "JOIN COMPUTE_TASK_INFO USING (globalTaskId) UNION ALL "                                       \
    "SELECT connectionId, 'copy ' || TASK.rowid FROM TASK JOIN STRING_IDS ON id = taskType "       \
    "WHERE value LIKE 'MEMCPY%%' AND connectionId NOT IN "                                         \
    "(SELECT connectionId FROM COMMUNICATION_OP) UNION ALL "                                       \
    "%s SELECT connectionId, 'communication ' || opId FROM COMMUNICATION_OP)"
#define SCHEDULES                                                                                  \
    "SELECT connectionId, 'task ' || TASK.rowid FROM TASK "                                        \
    "JOIN COMMUNICATION_SCHEDULE_TASK_INFO USING (globalTaskId) UNION ALL "
#define NUMBERS                                                                                    \
    "(SELECT p.rowid AS row, c.connectionId AS number, CAST(startNs AS INTEGER) AS start, value "  \
    "AS name FROM PYTORCH_API p JOIN CONNECTION_IDS c ON c.id = p.connectionId "                   \
    "JOIN STRING_IDS s ON s.id = p.name)"

static void check_flows(const sample *s, const opened *o) {
    (void)s;
    const char *schedules = has(o, "COMMUNICATION_SCHEDULE_TASK_INFO") ? SCHEDULES : "";
    char sql[2048];
    ps_buf got;
    ps_buf_init(&got, 0);
    list_flows(o->trace, "HostToDevice", &got);
    if (has(o, "COMPUTE_TASK_INFO")) {
        (void)snprintf(sql, sizeof sql,
                       "SELECT a.rowid || ' ' || what FROM CANN_API a JOIN " DEVICE_ENDS
                       " ON number = a.connectionId",
                       schedules);
        expect_lines(o, sql, &got);
    } else {
        expect_lines(o,
                     "SELECT a.rowid || ' communication ' || opId FROM CANN_API a JOIN "
                     "COMMUNICATION_OP o ON o.connectionId = a.connectionId",
                     &got);
    }
    if (has(o, "CONNECTION_IDS")) {
        list_flows(o->trace, "async_npu", &got);
        (void)snprintf(sql, sizeof sql,
                       "SELECT row || ' ' || what FROM " NUMBERS " n JOIN " DEVICE_ENDS
                       " e ON e.number = n.number",
                       schedules);
        expect_lines(o, sql, &got);
        list_flows(o->trace, "async_task_queue", &got);
        expect_lines(o,
                     "SELECT a.row || ' queue ' || b.row FROM " NUMBERS " a JOIN " NUMBERS
                     " b USING (number) WHERE a.name LIKE 'Enqueue%' AND b.name LIKE 'Dequeue%'",
                     &got);
        list_flows(o->trace, "fwdbwd", &got);
        expect_lines(o,
                     "SELECT a.row || ' op ' || b.row FROM " NUMBERS " a JOIN " NUMBERS
                     " b USING (number) WHERE a.start < b.start AND a.name NOT LIKE 'Enqueue%' "
                     "AND b.name NOT LIKE 'Dequeue%'",
                     &got);
    }
    if (has(o, "MSTX_EVENTS") && has(o, "TASK")) {
        list_flows(o->trace, "", &got);
        expect_lines(o,
                     "SELECT m.rowid || ' device-mark ' || t.rowid FROM MSTX_EVENTS m JOIN TASK t "
                     "USING (connectionId) WHERE connectionId != 4294967295",
                     &got);
    }
    ps_buf_fini(&got);
}

static void flows_end_on_the_right_rows(void **state) {
    (void)state;
    for_each(check_flows);
}

/* --- counters ----------------------------------------------------------------------------------------- */

static void check_counters(const sample *s, const opened *o) {
    static const char *const SQL =
        "SELECT timestampNs || ' HBM ' || hbmId || '/' || iif(value = 'read', 'Read', 'Write') || "
        "' ' || bandwidth FROM HBM h JOIN STRING_IDS s ON s.id = h.type";
    const ps_counters *c = ps_trace_counters(o->trace);
    size_t n = 0;
    const ps_track *tracks = ps_trace_tracks(o->trace, &n);
    ps_buf got;
    ps_buf_init(&got, 0);
    for (uint32_t i = 0; i < c->n; i++) {
        const char *name = ps_trace_text(o->trace, tracks[c->track[i]].name);
        if (strncmp(name, "HBM ", 4) == 0) {
            assert_string_equal(ps_trace_text(o->trace, tracks[c->track[i]].unit), "MiB/s");
            ps_buf_addf(&got, "%lld %s %.0f\n",
                        (long long)(c->time_ns[i] + ps_trace_origin_ns(o->trace)), name,
                        c->value[i] * 1024 * 1024);
        }
    }
    if (has(o, "HBM")) {
        expect_lines(o, SQL, &got);
    }
    assert_int_equal(got.len, 0);
    ps_buf_fini(&got);
    (void)s;
}

static void counters_are_the_samples(void **state) {
    (void)state;
    for_each(check_counters);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_are_exact),
        cmocka_unit_test(slices_are_the_rows),
        cmocka_unit_test(flows_end_on_the_right_rows),
        cmocka_unit_test(counters_are_the_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

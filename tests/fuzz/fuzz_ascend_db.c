/* The input is either a database file as it is, or rows for the tables of an Ascend database:
 *
 *   one byte: which table; then for each of its columns one byte: up to 239 that integer, else one of the values below,
 *   some followed by bytes of their own
 *
 * Small integers are the rule, so that ids meet. The file is read with every need and with those of the marks alone,
 * which must agree on the marks. */
#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read/readers.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

extern const ps_reader ps_reader_ascend_db;

#define MARKS (PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST | PS_NEED_COMM_MARKS)
#define EVERYTHING                                                                                 \
    (MARKS | PS_NEED_META | PS_NEED_STEPS | PS_NEED_LABELS | PS_NEED_SLICES | PS_NEED_FLOWS |      \
     PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_TABLES | PS_NEED_INVENTORY)

static const char *const TABLES[] = {
    "STRING_IDS(id INTEGER PRIMARY KEY, value TEXT)",
    "PYTORCH_API(startNs, endNs, globalTid, connectionId, name, sequenceNumber, fwdThreadId, "
    "inputDtypes, inputShapes, callchainId, type)",
    "CONNECTION_IDS(id, connectionId)",
    "PYTORCH_CALLCHAINS(id, stack, stackDepth)",
    "CANN_API(startNs, endNs, type, globalTid, connectionId, name)",
    "MSTX_EVENTS(startNs, endNs, eventType, category, message, globalTid, domainId, connectionId)",
    "TASK(startNs, endNs, deviceId, connectionId, globalTaskId, globalPid, taskType, contextId, "
    "streamId, taskId, modelId)",
    "COMPUTE_TASK_INFO(name, globalTaskId, blockNum, taskType, opType, inputShapes, blockDim)",
    "COMMUNICATION_OP(opName, startNs, endNs, connectionId, groupName, opId, dataType, algType, "
    "count, opType, deviceId)",
    "COMMUNICATION_TASK_INFO(name, globalTaskId, taskType, planeId, groupName, notifyId, srcRank, "
    "dstRank, transportType, size, opId, bandwidth)",
    "COMMUNICATION_SCHEDULE_TASK_INFO(name, globalTaskId, taskType)",
    "MEMCPY_INFO(globalTaskId, size, memcpyOperation)",
    "ENUM_API_TYPE(id, name)",
    "ENUM_MSTX_EVENT_TYPE(id, name)",
    "OVERLAP_ANALYSIS(deviceId, startNs, endNs, type)",
    "OSRT_API(name, globalTid, startNs, endNs)",
    "GC_RECORD(startNs, endNs, globalTid)",
    "STEP_TIME(id, startNs, endNs)",
    "META_DATA(name, value)",
    "SESSION_TIME_INFO(startTimeNs, endTimeNs)",
    "StepTaskInfo(name, startNs, endNs, type)",
    "HBM(deviceId, timestampNs, bandwidth, hbmId, type)",
    "NPU_MEM(type, ddr, hbm, timestampNs, deviceId)",
    "NPU_MODULE_MEM(moduleId, timestampNs, totalReserved)",
    "QOS(deviceId, eventName, bandwidth, timestampNs, dieId)",
    "NIC(deviceId, timestampNs, bandwidth INTEGER, funcId)",
    "MEMORY_RECORD(component, timestamp, totalAllocated, streamPtr)",
    "OP_MEMORY(name, size INTEGER, releaseTime TEXT)",
    "TASK_PMU_INFO(globalTaskId, name, value)",
    "StepTraceTime(step TEXT, computing NUMERIC)"};
enum { N_TABLES = sizeof TABLES / sizeof *TABLES };

static char rows_path[64], image_path[64];
static sqlite3 *rows_db;
static sqlite3_stmt *inserts[N_TABLES];
static int n_values[N_TABLES];

static void must(bool ok) {
    if (!ok) {
        __builtin_trap();
    }
}

static void remove_files(void) {
    (void)unlink(rows_path);
    (void)unlink(image_path);
}

static void prepare(int table) {
    char sql[512];
    (void)snprintf(sql, sizeof sql, "CREATE TABLE %s", TABLES[table]);
    must(sqlite3_exec(rows_db, sql, NULL, NULL, NULL) == SQLITE_OK);
    n_values[table] = 1;
    for (const char *c = TABLES[table]; *c != '\0'; c++) {
        n_values[table] += *c == ',';
    }
    size_t used = (size_t)snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO %.*s VALUES(?",
                                   (int)strcspn(TABLES[table], "("), TABLES[table]);
    for (int i = 1; i < n_values[table]; i++) {
        used += (size_t)snprintf(sql + used, sizeof sql - used, ",?");
    }
    (void)snprintf(sql + used, sizeof sql - used, ")");
    must(sqlite3_prepare_v2(rows_db, sql, -1, &inserts[table], NULL) == SQLITE_OK);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *dir = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    (void)snprintf(rows_path, sizeof rows_path, "%s/fuzz-ascend-%d.rows", dir, (int)getpid());
    (void)snprintf(image_path, sizeof image_path, "%s/fuzz-ascend-%d.image", dir, (int)getpid());
    remove_files();
    (void)atexit(remove_files);
    must(sqlite3_open(rows_path, &rows_db) == SQLITE_OK);
    must(sqlite3_exec(rows_db,
                      "PRAGMA page_size = 512; PRAGMA journal_mode = MEMORY; "
                      "PRAGMA synchronous = OFF",
                      NULL, NULL, NULL) == SQLITE_OK);
    for (int i = 0; i < N_TABLES; i++) {
        prepare(i);
    }
    return 0;
}

/* --- rows --------------------------------------------------------------------------------------------- */

typedef struct bytes {
    const uint8_t *at;
    size_t n;
} bytes;

static void take(bytes *in, void *out, size_t n) {
    n = n < in->n ? n : in->n;
    if (n > 0) {
        memcpy(out, in->at, n);
        in->at += n;
        in->n -= n;
    }
}

static void bind_value(sqlite3_stmt *stmt, int column, bytes *in) {
    static const int64_t NUMBERS[] = {
        4294967295, INT64_MAX, INT64_MIN,           -1,        50001, 50002, 50003, 50004, 65535,
        4294967297, 268435456, 1736410576000000000, 8589934594};
    enum { FIRST = 240, N_NUMBERS = sizeof NUMBERS / sizeof *NUMBERS };
    uint8_t tag = 0;
    uint8_t small = 0;
    take(in, &tag, 1);
    if (tag < FIRST) {
        (void)sqlite3_bind_int(stmt, column, tag);
    } else if (tag < FIRST + N_NUMBERS) {
        (void)sqlite3_bind_int64(stmt, column, NUMBERS[tag - FIRST]);
    } else if (tag == 253) {
        take(in, &small, 1);
        if (small == 0) {
            (void)sqlite3_bind_null(stmt, column);
        } else {
            (void)sqlite3_bind_double(stmt, column, (double)small * 1e18);
        }
    } else if (tag == 254) {
        int64_t wide = 0;
        take(in, &wide, sizeof wide);
        (void)sqlite3_bind_int64(stmt, column, wide);
    } else {
        take(in, &small, 1);
        size_t n = small < in->n ? small : in->n;
        (void)sqlite3_bind_text(stmt, column, (const char *)in->at, (int)n, SQLITE_TRANSIENT);
        in->at += n;
        in->n -= n;
    }
}

static void insert_rows(bytes in) {
    must(sqlite3_exec(rows_db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    for (int i = 0; i < N_TABLES; i++) {
        char sql[96];
        (void)snprintf(sql, sizeof sql, "DELETE FROM %.*s", (int)strcspn(TABLES[i], "("),
                       TABLES[i]);
        must(sqlite3_exec(rows_db, sql, NULL, NULL, NULL) == SQLITE_OK);
    }
    for (int n = 0; in.n > 0 && n < 2000; n++) {
        uint8_t table = 0;
        take(&in, &table, 1);
        sqlite3_stmt *stmt = inserts[table % N_TABLES];
        for (int i = 1; i <= n_values[table % N_TABLES]; i++) {
            bind_value(stmt, i, &in);
        }
        (void)sqlite3_step(stmt); /* a STRING_IDS.id that is no integer is refused */
        (void)sqlite3_reset(stmt);
    }
    must(sqlite3_exec(rows_db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
}

/* --- reading ------------------------------------------------------------------------------------------ */

/* Returns how many device sides marks have. */
static size_t touch(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    uint64_t sum = 0;
    size_t n = 0;
    size_t n_marks = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        must(s->start_ns[i] >= 0 && s->dur_ns[i] >= 0);
        must(i == 0 || s->start_ns[i - 1] <= s->start_ns[i]);
        sum += strlen(ps_trace_text(t, s->name[i]));
        n_marks += s->kind[i] == PS_SLICE_MARK_DEVICE;
        ps_arg_iter iter = ps_trace_args(t, i);
        for (ps_arg a; ps_arg_next(&iter, &a);) {
            sum += strlen(ps_trace_text(t, a.key));
            sum += a.type == PS_ARG_STR ? strlen(ps_trace_text(t, a.u.s)) : 0;
        }
    }
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        must(flows[i].from < s->n && flows[i].to < s->n && flows[i].from != flows[i].to);
    }
    const ps_counters *c = ps_trace_counters(t);
    (void)ps_trace_tracks(t, &n);
    for (uint32_t i = 0; i < c->n; i++) {
        must(c->track[i] < n && c->time_ns[i] >= 0);
    }
    must(sum != UINT64_MAX);
    return n_marks;
}

/* Device sides of marks, or -1. */
static int64_t read_with(const char *path, uint32_t needs) {
    ps_src src = {.path = path, .reader = &ps_reader_ascend_db};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, needs, &err);
    if (t == NULL) {
        must(err.code != PS_OK && err.msg[0] != '\0');
        return -1;
    }
    int64_t n = (int64_t)touch(t);
    ps_trace_free(t);
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *path = rows_path;
    if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0) {
        FILE *f = fopen(image_path, "wb");
        must(f != NULL && fwrite(data, 1, size, f) == size);
        (void)fclose(f);
        path = image_path;
        (void)ps_reader_ascend_db.sniff(path, data, size);
    } else {
        (void)ps_reader_ascend_db.sniff("", data, size);
        insert_rows((bytes){data, size});
    }
    int64_t marks = read_with(path, MARKS);
    int64_t all = read_with(path, EVERYTHING);
    must(all < 0 || marks >= 0); /* what is read for more was read for less */
    return 0;
}

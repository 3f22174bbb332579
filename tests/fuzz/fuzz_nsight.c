/* The input is either a database file as it is, or rows for the tables of an Nsight Systems export:
 *
 *   one byte: which table; then for each of its columns one byte: NULL, an integer of 1 or 8 bytes, a real of 8 bytes, a
 *   text or a blob of the length in the next byte, or a thread id in short form; then the value
 *
 * The file is read whole and process by process; parts together are never more than the whole. */
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

extern const ps_reader ps_reader_nsight;

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS |             \
     PS_NEED_TABLES | PS_NEED_INVENTORY)

static const char *const TABLES[] = {
    "StringIds(id INTEGER PRIMARY KEY, value)",
    "NVTX_EVENTS(start, end, eventType, globalTid, endGlobalTid, domainId, text, textId, category, "
    "color, rangeId, uint64Value, doubleValue, int32Value, jsonText, binaryData)",
    "CUPTI_ACTIVITY_KIND_RUNTIME(start, end, globalTid, correlationId, nameId, returnValue)",
    "CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, streamId, correlationId, globalPid, "
    "demangledName, shortName, gridX, gridY, graphNodeId)",
    "CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, streamId, correlationId, globalPid, copyKind, "
    "bytes, srcKind)",
    "CUPTI_ACTIVITY_KIND_MEMSET(start, end, deviceId, streamId, correlationId, globalPid, memKind)",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(start, end, deviceId, streamId, correlationId, globalPid, "
    "syncType)",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start, end, deviceId, streamId, correlationId, globalPid, "
    "graphId)",
    "CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, address, bytes, memKind, "
    "memoryOperationType)",
    "OSRT_API(start, end, globalTid, nameId)",
    "ThreadNames(globalTid, nameId)",
    "PROCESSES(globalPid, pid, name)",
    "TARGET_INFO_CUDA_DEVICE(pid, cudaId, gpuId)",
    "TARGET_INFO_CUDA_STREAM(processId, streamId, priority)",
    "TARGET_INFO_NVTX_CUDA_STREAM(processId, streamId, name)",
    "TARGET_INFO_SESSION_START_TIME(utcEpochNs)",
    "TARGET_INFO_SYSTEM_ENV(globalVid, name, value)",
    "TARGET_INFO_GPU(id, name, totalMemory)",
    "ANALYSIS_DETAILS(stopTime)",
    "META_DATA_EXPORT(name, value)",
    "DIAGNOSTIC_EVENT(timestamp, globalPid, severity, text, source)",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES(domainId, schemaId, idx, type, offset, name)",
    "NVTX_PAYLOAD_ENUM_ENTRIES(schemaId, value, name)",
    "NVTX_PAYLOAD_ENUMS(schemaId, size)",
    "ENUM_NSYS_EVENT_TYPE(id, name)",
    "ENUM_CUDA_MEM_KIND(id, name)"};
enum { N_TABLES = sizeof TABLES / sizeof *TABLES };

static char rows_path[64], image_path[64];
static sqlite3 *rows_db;
static sqlite3_stmt *inserts[N_TABLES];
static int n_values[N_TABLES];
static bool is_used[N_TABLES];

static void remove_files(void) {
    (void)unlink(rows_path);
    (void)unlink(image_path);
}

static void must(bool ok) {
    if (!ok) {
        __builtin_trap();
    }
}

static void prepare(int table) {
    char sql[512];
    (void)snprintf(sql, sizeof sql, "CREATE TABLE %s", TABLES[table]);
    must(sqlite3_exec(rows_db, sql, NULL, NULL, NULL) == SQLITE_OK);
    n_values[table] = 1;
    for (const char *c = TABLES[table]; *c != '\0'; c++) {
        n_values[table] += *c == ',';
    }
    size_t name = strcspn(TABLES[table], "(");
    size_t used = (size_t)snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO %.*s VALUES(?",
                                   (int)name, TABLES[table]);
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
    (void)snprintf(rows_path, sizeof rows_path, "%s/fuzz-nsight-%d.rows", dir, (int)getpid());
    (void)snprintf(image_path, sizeof image_path, "%s/fuzz-nsight-%d.image", dir, (int)getpid());
    remove_files();
    (void)atexit(remove_files);
    must(sqlite3_open(rows_path, &rows_db) == SQLITE_OK);
    must(sqlite3_exec(rows_db, "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF", NULL, NULL,
                      NULL) == SQLITE_OK);
    for (int i = 0; i < N_TABLES; i++) {
        prepare(i);
    }
    return 0;
}

/* --- rows ------------------------------------------------------------------------------------------------- */

typedef struct bytes {
    const uint8_t *at;
    size_t n;
} bytes;

static size_t take(bytes *in, void *out, size_t n) {
    n = n < in->n ? n : in->n;
    if (n > 0) {
        memcpy(out, in->at, n);
        in->at += n;
        in->n -= n;
    }
    return n;
}

static void bind_value(sqlite3_stmt *stmt, int column, bytes *in) {
    uint8_t tag = 0;
    uint8_t small = 0;
    int64_t wide = 0;
    double real = 0;
    (void)take(in, &tag, 1);
    switch (tag % 7) {
    case 0:
        (void)sqlite3_bind_null(stmt, column);
        break;
    case 1:
        (void)take(in, &small, 1);
        (void)sqlite3_bind_int(stmt, column, small);
        break;
    case 2:
        (void)take(in, &wide, sizeof wide);
        (void)sqlite3_bind_int64(stmt, column, wide);
        break;
    case 3:
        (void)take(in, &real, sizeof real);
        (void)sqlite3_bind_double(stmt, column, real);
        break;
    case 4:
    case 5: {
        (void)take(in, &small, 1);
        int n = small < in->n ? small : (int)in->n;
        if (tag % 7 == 4) {
            (void)sqlite3_bind_text(stmt, column, (const char *)in->at, n, SQLITE_TRANSIENT);
        } else {
            (void)sqlite3_bind_blob(stmt, column, in->at, n, SQLITE_TRANSIENT);
        }
        in->at += n;
        in->n -= (size_t)n;
        break;
    }
    default: /* a thread: machine and pid of four each */
        (void)take(in, &small, 1);
        wide = (int64_t)((uint64_t)(small >> 6) << 62 | (uint64_t)(small >> 4 & 3) << 24 |
                         (small & 15));
        (void)sqlite3_bind_int64(stmt, column, wide);
        break;
    }
}

static void insert_rows(bytes in) {
    must(sqlite3_exec(rows_db, "BEGIN", NULL, NULL, NULL) == SQLITE_OK);
    for (int i = 0; i < N_TABLES; i++) {
        if (!is_used[i]) {
            continue;
        }
        is_used[i] = false;
        char sql[96];
        (void)snprintf(sql, sizeof sql, "DELETE FROM %.*s", (int)strcspn(TABLES[i], "("),
                       TABLES[i]);
        must(sqlite3_exec(rows_db, sql, NULL, NULL, NULL) == SQLITE_OK);
    }
    for (int n = 0; in.n > 0 && n < 2000; n++) {
        uint8_t table = 0;
        (void)take(&in, &table, 1);
        sqlite3_stmt *stmt = inserts[table % N_TABLES];
        is_used[table % N_TABLES] = true;
        for (int i = 1; i <= n_values[table % N_TABLES]; i++) {
            bind_value(stmt, i, &in);
        }
        (void)sqlite3_step(stmt); /* a StringIds.id that is no integer is refused */
        (void)sqlite3_reset(stmt);
    }
    must(sqlite3_exec(rows_db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK);
}

/* --- reading ---------------------------------------------------------------------------------------------- */

static void touch(const ps_trace *t) {
    const ps_slices *s = ps_trace_slices(t);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        must(s->start_ns[i] >= 0 && s->dur_ns[i] >= 0);
        sum += strlen(ps_trace_text(t, s->name[i]));
        ps_arg_iter iter = ps_trace_args(t, i);
        for (ps_arg a; ps_arg_next(&iter, &a);) {
            sum += strlen(ps_trace_text(t, a.key));
        }
    }
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    for (size_t i = 0; i < n; i++) {
        must(flows[i].from < s->n && flows[i].to < s->n);
        must(s->kind[flows[i].from] == PS_SLICE_CALL && s->kind[flows[i].to] >= PS_SLICE_KERNEL);
    }
    must(sum != UINT64_MAX);
}

/* Slices read, or -1. */
static int64_t read_part(const char *path, int64_t part) {
    ps_src src = {.path = path, .reader = &ps_reader_nsight, .part = part};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, EVERYTHING, &err);
    if (t == NULL) {
        must(err.code != PS_OK && err.msg[0] != '\0');
        return -1;
    }
    touch(t);
    int64_t n = ps_trace_slices(t)->n;
    ps_trace_free(t);
    return n;
}

static void read_file(const char *path) {
    ps_arena arena;
    ps_arena_init(&arena);
    ps_part *parts = NULL;
    size_t n_parts = 0;
    int64_t all = read_part(path, 0);
    int64_t sum = 0;
    ps_code code = ps_reader_nsight.parts(path, &arena, &parts, &n_parts, NULL);
    for (size_t i = 0; code == PS_OK && i < n_parts && i < 8; i++) {
        int64_t n = parts[i].id != 0 ? read_part(path, parts[i].id) : 0;
        must(all < 0 || n >= 0);
        sum += n;
    }
    must(all < 0 || (code == PS_OK && n_parts > 0 && sum <= all));
    ps_arena_fini(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size >= 16 && memcmp(data, "SQLite format 3", 16) == 0) {
        FILE *f = fopen(image_path, "wb");
        must(f != NULL && fwrite(data, 1, size, f) == size);
        (void)fclose(f);
        (void)ps_reader_nsight.sniff(image_path, data, size);
        read_file(image_path);
    } else {
        insert_rows((bytes){data, size});
        read_file(rows_path);
    }
    return 0;
}

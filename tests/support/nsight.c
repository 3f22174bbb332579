#include "support/nsight.h"

#include <stdio.h>
#include <string.h>

/* Table, column, type, first release that has it. */
static const struct {
    const char *table, *column, *type;
    nsight_release since;
} COLUMNS[] = {{"StringIds", "id", "INTEGER PRIMARY KEY", NSIGHT_2021},
               {"StringIds", "value", "TEXT", NSIGHT_2021},
               {"META_DATA_EXPORT", "name", "TEXT", NSIGHT_2021},
               {"META_DATA_EXPORT", "value", "TEXT", NSIGHT_2021},
               {"META_DATA_CAPTURE", "name", "TEXT", NSIGHT_2021},
               {"META_DATA_CAPTURE", "value", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_SESSION_START_TIME", "utcEpochNs", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_SESSION_START_TIME", "utcTime", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_SESSION_START_TIME", "localTime", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_SESSION_START_TIME", "systemClockNs", "INTEGER", NSIGHT_2026},
               {"ANALYSIS_DETAILS", "globalVid", "INTEGER", NSIGHT_2021},
               {"ANALYSIS_DETAILS", "duration", "INTEGER", NSIGHT_2021},
               {"ANALYSIS_DETAILS", "startTime", "INTEGER", NSIGHT_2021},
               {"ANALYSIS_DETAILS", "stopTime", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_SYSTEM_ENV", "globalVid", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_SYSTEM_ENV", "devStateName", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_SYSTEM_ENV", "name", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_SYSTEM_ENV", "nameEnum", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_SYSTEM_ENV", "value", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_GPU", "vmId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "id", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "name", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_GPU", "busLocation", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_GPU", "totalMemory", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "smCount", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "uuid", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_GPU", "chipName", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_GPU", "cuDevice", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "computeMajor", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "computeMinor", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_GPU", "numaNodeId", "INTEGER", NSIGHT_2026},
               {"TARGET_INFO_CUDA_DEVICE", "gpuId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_DEVICE", "cudaId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_DEVICE", "pid", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_DEVICE", "uuid", "TEXT", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "streamId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "hwId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "vmId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "processId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "contextId", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "priority", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_CUDA_STREAM", "flag", "INTEGER", NSIGHT_2021},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "name", "TEXT", NSIGHT_2024},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "hwId", "INTEGER", NSIGHT_2024},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "vmId", "INTEGER", NSIGHT_2024},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "processId", "INTEGER", NSIGHT_2024},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "deviceId", "INTEGER", NSIGHT_2024},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "contextId", "INTEGER", NSIGHT_2024},
               {"TARGET_INFO_NVTX_CUDA_STREAM", "streamId", "INTEGER", NSIGHT_2024},
               {"PROCESSES", "globalPid", "INTEGER", NSIGHT_2021},
               {"PROCESSES", "pid", "INTEGER", NSIGHT_2021},
               {"PROCESSES", "name", "TEXT", NSIGHT_2021},
               {"ThreadNames", "nameId", "INTEGER", NSIGHT_2021},
               {"ThreadNames", "priority", "INTEGER", NSIGHT_2021},
               {"ThreadNames", "globalTid", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "eventId", "INTEGER", NSIGHT_2026},
               {"NVTX_EVENTS", "start", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "end", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "eventType", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "rangeId", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "category", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "color", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "text", "TEXT", NSIGHT_2021},
               {"NVTX_EVENTS", "globalTid", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "endGlobalTid", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "textId", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "domainId", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "uint64Value", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "int64Value", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "doubleValue", "REAL", NSIGHT_2021},
               {"NVTX_EVENTS", "uint32Value", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "int32Value", "INTEGER", NSIGHT_2021},
               {"NVTX_EVENTS", "floatValue", "REAL", NSIGHT_2021},
               {"NVTX_EVENTS", "jsonTextId", "INTEGER", NSIGHT_2024},
               {"NVTX_EVENTS", "jsonText", "TEXT", NSIGHT_2024},
               {"NVTX_EVENTS", "binaryData", "TEXT", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "domainId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "schemaId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "name", "TEXT", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "type", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "flags", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "numEntries", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "payloadSize", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMAS", "alignTo", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "schemaId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "idx", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "flags", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "type", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "name", "TEXT", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "description", "TEXT", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "arrayOrUnionDetail", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_SCHEMA_ENTRIES", "offset", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUMS", "domainId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUMS", "schemaId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUMS", "name", "TEXT", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUMS", "numEntries", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUMS", "size", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUM_ENTRIES", "domainId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUM_ENTRIES", "schemaId", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUM_ENTRIES", "idx", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUM_ENTRIES", "name", "TEXT", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUM_ENTRIES", "value", "INTEGER", NSIGHT_2024},
               {"NVTX_PAYLOAD_ENUM_ENTRIES", "isFlag", "INTEGER", NSIGHT_2024},
#define HOST(table)                                                                                \
    {table, "start", "INTEGER", NSIGHT_2021}, {table, "end", "INTEGER", NSIGHT_2021},              \
        {table, "eventClass", "INTEGER", NSIGHT_2021}, {                                           \
        table, "globalTid", "INTEGER", NSIGHT_2021                                                 \
    }
               HOST("CUPTI_ACTIVITY_KIND_RUNTIME"),
               {"CUPTI_ACTIVITY_KIND_RUNTIME", "correlationId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_RUNTIME", "returnValue", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_RUNTIME", "callchainId", "INTEGER", NSIGHT_2021},
               HOST("OSRT_API"),
               {"OSRT_API", "nameId", "INTEGER", NSIGHT_2021},
               {"OSRT_API", "returnValue", "INTEGER", NSIGHT_2021},
               HOST("CUDNN_EVENTS"),
               {"CUDNN_EVENTS", "nameId", "INTEGER", NSIGHT_2021},
               HOST("CUBLAS_EVENTS"),
               {"CUBLAS_EVENTS", "nameId", "INTEGER", NSIGHT_2021},
               HOST("CUDA_GRAPH_NODE_EVENTS"),
               {"CUDA_GRAPH_NODE_EVENTS", "nameId", "INTEGER", NSIGHT_2021},
               {"CUDA_GRAPH_NODE_EVENTS", "graphNodeId", "INTEGER", NSIGHT_2021},
               {"CUDA_GRAPH_NODE_EVENTS", "originalGraphNodeId", "INTEGER", NSIGHT_2021},
#define DEVICE(table)                                                                              \
    {table, "start", "INTEGER", NSIGHT_2021}, {table, "end", "INTEGER", NSIGHT_2021},              \
        {table, "deviceId", "INTEGER", NSIGHT_2021}, {table, "contextId", "INTEGER", NSIGHT_2021}, \
        {table, "greenContextId", "INTEGER", NSIGHT_2024},                                         \
        {table, "streamId", "INTEGER", NSIGHT_2021},                                               \
        {table, "correlationId", "INTEGER", NSIGHT_2021}, {                                        \
        table, "globalPid", "INTEGER", NSIGHT_2021                                                 \
    }
               DEVICE("CUPTI_ACTIVITY_KIND_KERNEL"),
               {"CUPTI_ACTIVITY_KIND_KERNEL", "demangledName", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "shortName", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "mangledName", "INTEGER", NSIGHT_2024},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "registersPerThread", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "gridX", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "gridY", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "gridZ", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "blockX", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "blockY", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "blockZ", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "staticSharedMemory", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "dynamicSharedMemory", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "gridId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "graphNodeId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "graphId", "INTEGER", NSIGHT_2026},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "clusterX", "INTEGER", NSIGHT_2026},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "clusterY", "INTEGER", NSIGHT_2026},
               {"CUPTI_ACTIVITY_KIND_KERNEL", "clusterZ", "INTEGER", NSIGHT_2026},
               DEVICE("CUPTI_ACTIVITY_KIND_MEMCPY"),
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "bytes", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "copyKind", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "srcKind", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "dstKind", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "srcDeviceId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "dstDeviceId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMCPY", "graphNodeId", "INTEGER", NSIGHT_2021},
               DEVICE("CUPTI_ACTIVITY_KIND_MEMSET"),
               {"CUPTI_ACTIVITY_KIND_MEMSET", "value", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMSET", "bytes", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMSET", "graphNodeId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_MEMSET", "memKind", "INTEGER", NSIGHT_2021},
               DEVICE("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"),
               {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "syncType", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "eventId", "INTEGER", NSIGHT_2021},
               DEVICE("CUPTI_ACTIVITY_KIND_GRAPH_TRACE"),
               {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graphId", "INTEGER", NSIGHT_2021},
               {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", "graphExecId", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "start", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "globalPid", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "deviceId", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "contextId", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "address", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "bytes", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "memKind", "INTEGER", NSIGHT_2021},
               {"CUDA_GPU_MEMORY_USAGE_EVENTS", "memoryOperationType", "INTEGER", NSIGHT_2021},
               {"DIAGNOSTIC_EVENT", "timestamp", "INTEGER", NSIGHT_2021},
               {"DIAGNOSTIC_EVENT", "timestampType", "INTEGER", NSIGHT_2021},
               {"DIAGNOSTIC_EVENT", "source", "INTEGER", NSIGHT_2021},
               {"DIAGNOSTIC_EVENT", "severity", "INTEGER", NSIGHT_2021},
               {"DIAGNOSTIC_EVENT", "text", "TEXT", NSIGHT_2021},
               {"DIAGNOSTIC_EVENT", "globalPid", "INTEGER", NSIGHT_2021}};

#define N(array) (sizeof(array) / sizeof *(array))

/* Numbers and symbols of the ENUM tables. */
static const struct {
    const char *table;
    int id;
    const char *name;
} SYMBOLS[] = {{"ENUM_NSYS_EVENT_TYPE", 33, "NvtxCategory"},
               {"ENUM_NSYS_EVENT_TYPE", 34, "NvtxMark"},
               {"ENUM_NSYS_EVENT_TYPE", 39, "NvtxThread"},
               {"ENUM_NSYS_EVENT_TYPE", 59, "NvtxPushPopRange"},
               {"ENUM_NSYS_EVENT_TYPE", 60, "NvtxStartEndRange"},
               {"ENUM_NSYS_EVENT_TYPE", 70, "NvtxtPushPopRange"},
               {"ENUM_NSYS_EVENT_TYPE", 71, "NvtxtStartEndRange"},
               {"ENUM_NSYS_EVENT_TYPE", 75, "NvtxDomainCreate"},
               {"ENUM_NSYS_EVENT_TYPE", 76, "NvtxDomainDestroy"},
               {"ENUM_CUDA_MEMCPY_OPER", 1, "CUDA_MEMCPY_KIND_HTOD"},
               {"ENUM_CUDA_MEMCPY_OPER", 2, "CUDA_MEMCPY_KIND_DTOH"},
               {"ENUM_CUDA_MEMCPY_OPER", 8, "CUDA_MEMCPY_KIND_DTOD"},
               {"ENUM_CUDA_MEM_KIND", 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE"},
               {"ENUM_CUDA_MEM_KIND", 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED"},
               {"ENUM_CUDA_MEM_KIND", 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE"},
               {"ENUM_CUDA_DEV_MEM_EVENT_OPER", 0, "CUDA_DEV_MEM_EVENT_OPR_ALLOCATION"},
               {"ENUM_CUDA_DEV_MEM_EVENT_OPER", 1, "CUDA_DEV_MEM_EVENT_OPR_DEALLOCATION"},
               {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", 1, "Info"},
               {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", 2, "Warning"},
               {"ENUM_DIAGNOSTIC_SEVERITY_LEVEL", 3, "Error"}};

int64_t nsight_tid(int machine, int pid, int tid) {
    uint64_t id = (uint64_t)machine << 56 | (uint64_t)pid << 24 | (uint64_t)tid;
    return (int64_t)id;
}

static void run_sql(nsight *n, const char *sql) {
    char *message = NULL;
    if (sqlite3_exec(n->db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", sql, message);
    }
}

void nsight_sql(nsight *n, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    char *sql = sqlite3_vmprintf(fmt, ap);
    va_end(ap);
    assert_non_null(sql);
    run_sql(n, sql);
    sqlite3_free(sql);
}

static bool table_exists(nsight *n, const char *table) {
    sqlite3_stmt *stmt = NULL;
    assert_int_equal(
        sqlite3_prepare_v2(n->db, "SELECT 1 FROM sqlite_master WHERE name = ?", -1, &stmt, NULL),
        SQLITE_OK);
    (void)sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC);
    bool exists = sqlite3_step(stmt) == SQLITE_ROW;
    (void)sqlite3_finalize(stmt);
    return exists;
}

void nsight_table(nsight *n, const char *table) {
    if (table_exists(n, table)) {
        return;
    }
    char sql[4096];
    size_t used = (size_t)snprintf(sql, sizeof sql, "CREATE TABLE %s", table);
    size_t n_columns = 0;
    for (size_t i = 0; i < N(COLUMNS); i++) {
        if (strcmp(COLUMNS[i].table, table) != 0 || COLUMNS[i].since > n->release) {
            continue;
        }
        bool is_text = strcmp(COLUMNS[i].type, "TEXT") == 0;
        bool is_key = strcmp(COLUMNS[i].type, "INTEGER PRIMARY KEY") == 0;
        const char *rule = n->release > NSIGHT_2021 || is_key ? ""
                           : is_text                          ? " NOT NULL DEFAULT ''"
                                                              : " NOT NULL DEFAULT 0";
        used += (size_t)snprintf(sql + used, sizeof sql - used, "%s\"%s\" %s%s",
                                 n_columns++ == 0 ? "(" : ", ", COLUMNS[i].column, COLUMNS[i].type,
                                 rule);
        assert_true(used + 2 < sizeof sql);
    }
    if (n_columns == 0) {
        fail_msg("this release has no table %s", table);
    }
    (void)snprintf(sql + used, sizeof sql - used, ")");
    run_sql(n, sql);
}

void nsight_insert(nsight *n, const char *table, const char *columns, const char *fmt, ...) {
    nsight_table(n, table);
    va_list ap;
    va_start(ap, fmt);
    char *values = sqlite3_vmprintf(fmt, ap);
    va_end(ap);
    assert_non_null(values);
    nsight_sql(n, "INSERT INTO %s(%s) VALUES(%s)", table, columns, values);
    sqlite3_free(values);
}

static void add_symbols(nsight *n) {
    for (size_t i = 0; i < N(SYMBOLS); i++) {
        nsight_sql(n,
                   "CREATE TABLE IF NOT EXISTS %s(id INTEGER PRIMARY KEY, name TEXT, label TEXT);"
                   "INSERT INTO %s VALUES(%d, %Q, %Q)",
                   SYMBOLS[i].table, SYMBOLS[i].table, SYMBOLS[i].id, SYMBOLS[i].name,
                   SYMBOLS[i].name);
    }
    for (int i = 1; i <= 4; i++) {
        static const char *const NAMES[] = {"EVENT_SYNCHRONIZE", "STREAM_WAIT_EVENT",
                                            "STREAM_SYNCHRONIZE", "CONTEXT_SYNCHRONIZE"};
        nsight_sql(n,
                   "CREATE TABLE IF NOT EXISTS ENUM_CUPTI_SYNC_TYPE(id INTEGER PRIMARY KEY, name "
                   "TEXT, label TEXT); INSERT INTO ENUM_CUPTI_SYNC_TYPE VALUES(%d, "
                   "'CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_%s', '')",
                   i, NAMES[i - 1]);
    }
}

void nsight_begin(nsight *n, const place *where, const char *name, nsight_release release) {
    static const char *const VERSIONS[][2] = {[NSIGHT_2021] = {"2021.5.1.118", "2.5.0"},
                                              [NSIGHT_2024] = {"2024.6.2.225", "3.16.1"},
                                              [NSIGHT_2026] = {"2026.4.1.50", "3.28.1"}};
    *n = (nsight){.release = release};
    (void)snprintf(n->path, sizeof n->path, "%s", place_path(where, "%s", name));
    assert_int_equal(sqlite3_open(n->path, &n->db), SQLITE_OK);
    run_sql(n, "PRAGMA synchronous = OFF; BEGIN");
    nsight_table(n, "StringIds");
    nsight_insert(n, "META_DATA_EXPORT", "name, value", "'EXPORT_PRODUCT_VERSION', %Q",
                  VERSIONS[release][0]);
    nsight_insert(n, "META_DATA_EXPORT", "name, value", "'EXPORT_SCHEMA_VERSION', %Q",
                  VERSIONS[release][1]);
    nsight_insert(n, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs, utcTime, localTime",
                  "%lld, '2025-10-09', '2025-10-09'", (long long)NSIGHT_EPOCH_NS);
    if (release > NSIGHT_2021) {
        add_symbols(n);
    }
}

void nsight_close(nsight *n) {
    run_sql(n, "COMMIT");
    assert_int_equal(sqlite3_close(n->db), SQLITE_OK);
    n->db = NULL;
}

int64_t nsight_string(nsight *n, const char *text) {
    n->n_strings++;
    nsight_sql(n, "INSERT INTO StringIds VALUES(%lld, %Q)", (long long)n->n_strings, text);
    return n->n_strings;
}

void nsight_range(nsight *n, int type, int64_t tid, int64_t start, int64_t end, const char *text) {
    nsight_insert(n, "NVTX_EVENTS", "start, \"end\", eventType, globalTid, text",
                  "%lld, %lld, %d, %lld, %Q", (long long)start, (long long)end, type,
                  (long long)tid, text);
}

void nsight_call(nsight *n, int64_t tid, int64_t start, int64_t end, int64_t correlation,
                 const char *name) {
    nsight_insert(n, "CUPTI_ACTIVITY_KIND_RUNTIME",
                  "start, \"end\", globalTid, correlationId, nameId, returnValue",
                  "%lld, %lld, %lld, %lld, %lld, 0", (long long)start, (long long)end,
                  (long long)tid, (long long)correlation, (long long)nsight_string(n, name));
}

static long long pid_of(int64_t tid) {
    return (long long)((uint64_t)tid & ~UINT64_C(0xFFFFFF));
}

void nsight_kernel(nsight *n, int64_t tid, int device, int stream, int64_t start, int64_t end,
                   int64_t correlation, const char *name) {
    long long id = (long long)nsight_string(n, name);
    nsight_insert(n, "CUPTI_ACTIVITY_KIND_KERNEL",
                  "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, "
                  "demangledName, shortName, gridX, gridY, gridZ, blockX, blockY, blockZ, "
                  "registersPerThread",
                  "%lld, %lld, %d, 1, %d, %lld, %lld, %lld, %lld, 2, 3, 4, 32, 1, 1, 40",
                  (long long)start, (long long)end, device, stream, (long long)correlation,
                  pid_of(tid), id, id);
}

void nsight_launch(nsight *n, int64_t tid, int device, int stream, int64_t start, int64_t end,
                   int64_t correlation, const char *name) {
    nsight_call(n, tid, start, start + 10, correlation, "cudaLaunchKernel_v7000");
    nsight_kernel(n, tid, device, stream, start, end, correlation, name);
}

void nsight_copy(nsight *n, int64_t tid, int device, int stream, int64_t start, int64_t end,
                 int64_t correlation, int kind, int64_t bytes) {
    nsight_insert(n, "CUPTI_ACTIVITY_KIND_MEMCPY",
                  "start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, "
                  "copyKind, bytes, srcKind, dstKind",
                  "%lld, %lld, %d, 1, %d, %lld, %lld, %d, %lld, 0, 2", (long long)start,
                  (long long)end, device, stream, (long long)correlation, pid_of(tid), kind,
                  (long long)bytes);
}

void nsight_memory(nsight *n, int64_t tid, int device, int64_t start, int64_t address,
                   int64_t bytes, int kind, bool is_free) {
    nsight_insert(n, "CUDA_GPU_MEMORY_USAGE_EVENTS",
                  "start, globalPid, deviceId, address, bytes, memKind, memoryOperationType",
                  "%lld, %lld, %d, %lld, %lld, %d, %d", (long long)start, pid_of(tid), device,
                  (long long)address, (long long)bytes, kind, (int)is_free);
}

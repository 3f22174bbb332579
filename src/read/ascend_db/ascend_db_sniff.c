/* An Ascend database is told by its tables. Most schemas lie in the first pages, where their text can be looked for
 * without opening anything; else the database is asked. */
#include "read/ascend_db/ascend_db_sniff.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/literal.h"
#include "read/sqlite/db.h"

#define HEAD_BYTES 4096

/* Names that no other format has. TASK and META_DATA may be anybody's. */
static const char *const OWN_TABLES[] = {
    "PYTORCH_API",
    "CANN_API",
    "MSTX_EVENTS",
    "COMPUTE_TASK_INFO",
    "COMMUNICATION_OP",
    "COMMUNICATION_TASK_INFO",
    "AICORE_FREQ",
    "NPU_INFO",
    "NPU_MEM",
    "NPU_OP_MEM",
    "NPU_MODULE_MEM",
    "ACC_PMU",
    "SOC_BANDWIDTH_LEVEL",
    "RANK_DEVICE_MAP",
    "SESSION_TIME_INFO",
    "ENUM_HCCL_DATA_TYPE",
    "ENUM_MSTX_EVENT_TYPE",
    "TASK_PMU_INFO",
    "StepTraceTime",
    "CommAnalyzerTime",
    "STRING_IDS",
    "StepTaskInfo",
    "CommAnalyzerMatrix",
    "CommAnalyzerBandwidth",
};
#define N_OWN_TABLES (sizeof OWN_TABLES / sizeof *OWN_TABLES)

/* "CREATE TABLE <name>" with no longer name. */
static bool creates_table(const unsigned char *head, size_t n, const char *name) {
    static const char CREATE[] = "CREATE TABLE ";
    size_t create = sizeof CREATE - 1;
    size_t len = strlen(name);
    const unsigned char *p = head;
    const unsigned char *end = head + n;
    while ((size_t)(end - p) > create + len &&
           (p = memchr(p, 'C', (size_t)(end - p) - create - len)) != NULL) {
        unsigned char after = p[create + len];
        if (memcmp(p, CREATE, create) == 0 && memcmp(p + create, name, len) == 0 &&
            (after == ' ' || after == '(')) {
            return true;
        }
        p++;
    }
    return false;
}

static int score_of_database(const char *path) {
    ps_db *db = ps_db_open(path, NULL);
    size_t n_tables = 0;
    if (db == NULL) {
        return 20;
    }
    (void)ps_db_tables(db, &n_tables);
    int score = n_tables == 0 ? 20 : 0;
    score = ps_db_has_column(db, "TASK", "globalTaskId") ? 90 : score;
    for (size_t i = 0; score < 90 && i < N_OWN_TABLES; i++) {
        score = ps_db_has_table(db, OWN_TABLES[i]) ? 90 : score;
    }
    ps_db_close(db);
    return score;
}

/* {"kind": "Marker", ...} in the first line, which ends inside the head. */
static bool is_json_lines(const unsigned char *head, size_t n) {
    const unsigned char *end = n > 0 && head[0] == '{' ? memchr(head, '\n', n) : NULL;
    if (end == NULL || (end + 1 < head + n && end[1] != '{')) {
        return false;
    }
    ps_arena arena = {0};
    const ps_literal *record =
        ps_literal_parse(&arena, (const char *)head, (size_t)(end - head), NULL);
    bool is_record = ps_literal_str(ps_literal_get(record, "kind")) != NULL &&
                     ps_literal_get(record, "traceEvents") == NULL;
    ps_arena_fini(&arena);
    return is_record;
}

bool ps_ascend_is_json_lines(const char *path) {
    unsigned char head[HEAD_BYTES];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) {
        return false;
    }
    ssize_t got = pread(fd, head, sizeof head, 0);
    (void)close(fd);
    return got > 0 && is_json_lines(head, (size_t)got);
}

int ps_ascend_sniff(const char *path, const unsigned char *head, size_t n) {
    if (n < 16 || memcmp(head, "SQLite format 3", 16) != 0) {
        return is_json_lines(head, n) ? 20 : 0;
    }
    for (size_t i = 0; i < N_OWN_TABLES; i++) {
        if (creates_table(head, n, OWN_TABLES[i])) {
            return 90;
        }
    }
    return score_of_database(path);
}

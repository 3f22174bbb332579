/* Table scanner against sqlite3_step: scan [ROWS]
 *
 * Makes a TASK-like table of 11 integer columns in a temporary directory and reads 4 of them both ways, in turn, three
 * times each; the best run of each counts. Fails when the sums differ. */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "read/sqlite/scan.h"

enum { DEFAULT_ROWS = 4000000, RUNS = 3 };

static const char *const columns[] = {"startNs", "endNs", "connectionId", "streamId"};
enum { N_COLUMNS = 4 };

typedef struct totals {
    uint64_t sums[N_COLUMNS];
    uint64_t n_rows;
} totals;

static double now_s(void) {
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Ids grow through one, two and three bytes and times need all eight, as in a real profile. */
static int fill(const char *path, int64_t n_rows) {
    sqlite3 *handle = NULL;
    sqlite3_stmt *insert = NULL;
    int rc = sqlite3_open(path, &handle);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(
            handle,
            "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;"
            "CREATE TABLE TASK (startNs INTEGER, endNs INTEGER, deviceId INTEGER, connectionId INTEGER,"
            " globalTaskId INTEGER, globalPid INTEGER, taskType INTEGER, contextId INTEGER,"
            " streamId INTEGER, taskId INTEGER, modelId INTEGER); BEGIN",
            NULL, NULL, NULL);
    }
    if (rc == SQLITE_OK) {
        rc = sqlite3_prepare_v2(handle, "INSERT INTO TASK VALUES (?,?,?,?,?,?,?,?,?,?,?)", -1,
                                &insert, NULL);
    }
    int64_t start_ns = 1717000000000000000;
    for (int64_t i = 0; rc == SQLITE_OK && i < n_rows; i++) {
        int64_t dur_ns = 1000 + i * 7919 % 90000;
        const int64_t row[] = {start_ns,
                               start_ns + dur_ns,
                               3,
                               i * 3 % 5 == 0 ? -1 : i,
                               i,
                               1234567,
                               i % 17 + 500,
                               4294967295,
                               i % 40,
                               i % 65536,
                               4294967295};
        for (int c = 0; c < 11; c++) {
            (void)sqlite3_bind_int64(insert, c + 1, row[c]);
        }
        rc = sqlite3_step(insert) == SQLITE_DONE ? sqlite3_reset(insert) : SQLITE_ERROR;
        start_ns += dur_ns + 500;
    }
    (void)sqlite3_finalize(insert);
    if (rc == SQLITE_OK) {
        rc = sqlite3_exec(handle, "COMMIT", NULL, NULL, NULL);
    }
    (void)sqlite3_close(handle);
    return rc;
}

static ps_code add_batch(void *context, const ps_scan_batch *b, ps_err *err) {
    (void)err;
    totals *t = context;
    for (size_t c = 0; c < b->n_columns; c++) {
        const int64_t *values = b->columns[c].ints;
        uint64_t sum = 0;
        for (size_t row = 0; row < b->n_rows; row++) {
            sum += (uint64_t)values[row];
        }
        t->sums[c] += sum;
    }
    t->n_rows += b->n_rows;
    return PS_OK;
}

static ps_code by_scanner(ps_db *db, totals *t, ps_err *err) {
    return ps_scan(db, "TASK", columns, N_COLUMNS, add_batch, t, err);
}

/* The plain loop that a program without a scanner would have. */
static ps_code by_steps(ps_db *db, totals *t, ps_err *err) {
    sqlite3_stmt *query = NULL;
    if (sqlite3_prepare_v2(ps_db_handle(db),
                           "SELECT startNs, endNs, connectionId, streamId FROM TASK", -1, &query,
                           NULL) != SQLITE_OK) {
        return ps_db_fail(db, "TASK", err);
    }
    int rc = SQLITE_ROW;
    while ((rc = sqlite3_step(query)) == SQLITE_ROW) {
        for (int c = 0; c < N_COLUMNS; c++) {
            t->sums[c] += (uint64_t)sqlite3_column_int64(query, c);
        }
        t->n_rows++;
    }
    ps_code code = rc == SQLITE_DONE ? PS_OK : ps_db_fail(db, "TASK", err);
    (void)sqlite3_finalize(query);
    return code;
}

typedef struct method {
    const char *name;
    ps_code (*run)(ps_db *db, totals *t, ps_err *err);
    double best_s;
    totals totals;
} method;

static ps_code time_method(ps_db *db, method *m, ps_err *err) {
    m->totals = (totals){.n_rows = 0};
    double start_s = now_s();
    ps_code code = m->run(db, &m->totals, err);
    double took_s = now_s() - start_s;
    if (m->best_s <= 0 || took_s < m->best_s) {
        m->best_s = took_s;
    }
    return code;
}

static int compare(const char *path) {
    method methods[] = {{.name = "sqlite3_step", .run = by_steps},
                        {.name = "ps_scan", .run = by_scanner}};
    ps_err err = PS_ERR_INIT;
    ps_db *db = ps_db_open(path, &err);
    ps_code code = db != NULL ? PS_OK : err.code;
    for (int run = 0; run < RUNS; run++) {
        for (size_t i = 0; code == PS_OK && i < 2; i++) {
            code = time_method(db, &methods[i], &err);
        }
    }
    ps_db_close(db);
    if (code != PS_OK) {
        fprintf(stderr, "scan: %s\n", err.msg);
        return 1;
    }
    if (memcmp(&methods[0].totals, &methods[1].totals, sizeof(totals)) != 0) {
        fprintf(stderr, "scan: the sums differ\n");
        return 1;
    }
    printf("%-14s %12s %10s %12s %7s\n", "method", "rows", "seconds", "M rows/s", "ratio");
    for (size_t i = 0; i < 2; i++) {
        const method *m = &methods[i];
        printf("%-14s %12" PRIu64 " %10.3f %12.2f %7.2f\n", m->name, m->totals.n_rows, m->best_s,
               (double)m->totals.n_rows / m->best_s / 1e6, methods[0].best_s / m->best_s);
    }
    return 0;
}

int main(int argc, char **argv) {
    char *end = NULL;
    int64_t n_rows = argc > 1 ? strtoll(argv[1], &end, 10) : DEFAULT_ROWS;
    if (argc > 2 || n_rows < 1 || (end != NULL && *end != '\0')) {
        fprintf(stderr, "usage: scan [ROWS]\n");
        return 2;
    }
    const char *tmp = getenv("TMPDIR");
    char dir[1024];
    char path[1100];
    (void)snprintf(dir, sizeof dir, "%s/scan-XXXXXX", tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp");
    if (mkdtemp(dir) == NULL) {
        perror("scan: a temporary directory");
        return 1;
    }
    (void)snprintf(path, sizeof path, "%s/task.db", dir);
    int status = 1;
    if (fill(path, n_rows) == SQLITE_OK) {
        status = compare(path);
    } else {
        fprintf(stderr, "scan: cannot fill %s\n", path);
    }
    (void)unlink(path);
    (void)rmdir(dir);
    return status;
}

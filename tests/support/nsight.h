/* Exports of Nsight Systems for tests, made through libsqlite3 from the
 * published layouts of three releases, not from the program's own lists:
 *
 *   2021   all columns NOT NULL with 0 or '' for what is missing, no ENUM tables
 *   2024   schema 3.16: NULL where nothing is known, ENUM tables
 *   2026   schema 3.28: further columns and tables
 *
 * A table appears when the first row is put into it. Everything fails the
 * running test when it cannot be done. */
#ifndef TEST_SUPPORT_NSIGHT_H
#define TEST_SUPPORT_NSIGHT_H

#include "support/profile.h"

typedef enum nsight_release { NSIGHT_2021, NSIGHT_2024, NSIGHT_2026 } nsight_release;

typedef struct nsight {
    sqlite3 *db;
    char path[TEST_PATH];
    nsight_release release;
    int64_t n_strings;
} nsight;

enum {
    NVTX_CATEGORY = 33,
    NVTX_MARK = 34,
    NVTX_THREAD = 39,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTX_DOMAIN = 75
};

/* When the captures began, ns since 1970. */
#define NSIGHT_EPOCH_NS INT64_C(1760000000123456789)

/* The packed id of a thread; machine and vm are the upper two bytes. */
int64_t nsight_tid(int machine, int pid, int tid);

/* A new file in the place, with META_DATA_EXPORT, the start of the capture and,
 * where the release has them, the ENUM tables. One transaction holds all
 * additions until nsight_close(). */
void nsight_begin(nsight *n, const place *where, const char *name, nsight_release release);
void nsight_close(nsight *n);

/* Creates the table of this release when it is not there. */
void nsight_table(nsight *n, const char *table);
/* Any SQL, with the formats of sqlite3_mprintf: %Q is a quoted text. */
void nsight_sql(nsight *n, const char *fmt, ...);
/* nsight_table() and INSERT INTO table (columns) VALUES (what the format says). */
void nsight_insert(nsight *n, const char *table, const char *columns, const char *fmt, ...);
/* The id of a text in StringIds, added each time. */
int64_t nsight_string(nsight *n, const char *text);

/* Rows with what most of them need. */
void nsight_range(nsight *n, int type, int64_t tid, int64_t start, int64_t end, const char *text);
void nsight_call(nsight *n, int64_t tid, int64_t start, int64_t end, int64_t correlation,
                 const char *name);
void nsight_kernel(nsight *n, int64_t tid, int device, int stream, int64_t start, int64_t end,
                   int64_t correlation, const char *name);
/* A kernel and its launch, 10 ns long, at the same time and on the thread. */
void nsight_launch(nsight *n, int64_t tid, int device, int stream, int64_t start, int64_t end,
                   int64_t correlation, const char *name);
void nsight_copy(nsight *n, int64_t tid, int device, int stream, int64_t start, int64_t end,
                 int64_t correlation, int kind, int64_t bytes);
void nsight_memory(nsight *n, int64_t tid, int device, int64_t start, int64_t address,
                   int64_t bytes, int kind, bool is_free);

#endif

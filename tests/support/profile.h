/* Profiles for tests: rank directories as the Ascend profilers write them, made
 * through libsqlite3 from the documented schema, not from the program's own
 * tables. Tables appear when something is put into them, so that a profile
 * without steps or without marks is one where none were added.
 *
 * Everything fails the running test when it cannot be done. */
#ifndef TEST_SUPPORT_PROFILE_H
#define TEST_SUPPORT_PROFILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sqlite3.h>
#include <stdbool.h>

enum { TEST_PATH = 512 };

/* --- a directory of one's own
 * ------------------------------------------------------------------- */

typedef struct place {
    char dir[TEST_PATH / 4];
} place;

void place_make(place *p);
/* Removes it with all that is inside, read-only or not. */
void place_remove(const place *p);
/* "<place>/<name>" (printf-like) in one of a few static buffers, so that
 * several can be used in one call. */
const char *place_path(const place *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A case of cmocka whose state is a fresh place, removed afterwards. */
#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, place_setup, place_teardown)
int place_setup(void **state);
int place_teardown(void **state);
/* A new directory in the place, to be used like one. */
place place_inner(const place *p, const char *name);
/* Creates the directory and its parents. */
void make_dirs(const char *path);
void write_text(const char *path, const char *text);

/* --- one rank
 * -------------------------------------------------------------------------------------
 */

typedef struct profile {
    sqlite3 *db;
    char dir[TEST_PATH];  /* the rank directory; "" for a lone database */
    char path[TEST_PATH]; /* the database */
    int64_t n_strings, n_connections, n_tasks, n_ops;
} profile;

/* A new rank directory "host_{1000+rank}_{timestamp}_ascend_pt" in the place,
 * with its database open. One transaction holds all additions until
 * profile_close(). */
void profile_begin(profile *p, const place *where, int rank);
/* The same with every name given: the database `name` in
 * <dir>/ASCEND_PROFILER_OUTPUT. */
void profile_begin_in(profile *p, const char *dir, const char *name);
/* A lone database, as msMonitor writes it. */
void profile_begin_file(profile *p, const char *path);
void profile_close(profile *p);

/* Any SQL, with the formats of sqlite3_mprintf: %Q is a quoted text. */
void profile_sql(profile *p, const char *fmt, ...);
/* The id of a text in STRING_IDS, added when new. */
int64_t profile_string(profile *p, const char *text);
void profile_step(profile *p, int64_t id, int64_t start_ns, int64_t end_ns);
/* A row of META_DATA. */
void profile_meta(profile *p, const char *name, const char *value);
/* profiler_metadata.json beside ASCEND_PROFILER_OUTPUT. */
void profile_json(const profile *p, const char *text);

/* A mark on the host and, unless `stream` is -1, on the device. */
typedef struct mark_spec {
    const char *message;
    int64_t host_start_ns, host_end_ns;
    int64_t start_ns, end_ns; /* device */
    int stream;
    bool no_task; /* nothing on the device has its connection id */
} mark_spec;

void profile_add_mark(profile *p, mark_spec m);
/* Host and device at the same time, stream 2. */
void profile_mark(profile *p, const char *message, int64_t start_ns, int64_t end_ns);
/* A task that is no mark's (small connection id). */
void profile_kernel(profile *p, int stream, int64_t start_ns, int64_t end_ns);

/* A communication operator with one Notify_Wait task; `peer` -1: no task. The
 * native tables are made. Returns its opId. */
int64_t profile_comm_op(profile *p, const char *name, const char *group, int64_t start_ns,
                        int64_t end_ns, int own, int peer);

/* DualPipeV metadata as MindSpeed's script writes it. */
void profile_dualpipev(profile *p, int n_stages, int n_microbatches);

/* --- looking
 * --------------------------------------------------------------------------------------
 */

/* The rows of a query as "a|b|c" lines, NULL printed as NULL, must be this
 * text. */
void expect_rows_at(const char *db, const char *sql, const char *expected, const char *file,
                    int line);
#define expect_rows(db, sql, expected) expect_rows_at(db, sql, expected, __FILE__, __LINE__)

/* The rows of a query as text; the caller frees it with free(). */
char *query_rows(const char *db, const char *sql);
/* The first column of the first row. */
int64_t query_int(const char *db, const char *sql);
bool has_table(const char *db, const char *table);

/* A hash over the bytes of a file. */
uint64_t file_hash(const char *path);

#endif

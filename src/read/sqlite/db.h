/* One profiler database, opened for reading so that nothing is left beside the user's file and nothing in it
 * changes while it is read.
 *
 *   the file                                  is opened                                  table scanner
 *   ordinary (rollback journal)               read-only, a shared lock held until close  yes
 *   WAL, its -wal absent or empty             immutable, so no -wal and -shm appear      yes
 *   -wal with content, -shm there             read-only, inside one read transaction,    no
 *                                             the -shm is read-only, too
 *   -wal with content but no -shm,            a recovered copy in a private directory    yes, on the copy
 *   or a hot rollback journal                 below $TMPDIR, deleted at close
 *
 * Names of tables and columns are compared as SQLite does: ASCII letters without case.
 * A ps_db is used by one thread at a time; different ones, also of the same file, by different threads. */
#ifndef PS_READ_SQLITE_DB_H
#define PS_READ_SQLITE_DB_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/fs.h"
#include "base/watch.h"

typedef struct ps_db ps_db;

/* What tells whether a database is still the one that was read. An absent -wal counts as an empty one, all
 * zero, since opening a database for writing may create it. */
typedef struct ps_db_stamp {
    ps_file_id file, wal;
    uint32_t change_counter; /* of the file's header */
} ps_db_stamp;

/* --- lifecycle --- */

/* NULL on failure: PS_NOT_FOUND (no such file), PS_SYNTAX (not a database, truncated, damaged schema),
 * PS_BUSY (a writer kept its lock for 10 s), PS_CHANGED (rewritten while it was copied), PS_IO (also: no room
 * for the private copy), PS_NOMEM. The caller closes the result with ps_db_close(). */
ps_db *ps_db_open(const char *path, ps_err *err);

/* Gives the lock back and deletes the private copy, if there is one. NULL is fine. Finish statements made on
 * ps_db_handle() first. */
void ps_db_close(ps_db *db);

/* The table scanner reports to `watch` from now on, which outlives the database; NULL: to nobody. A scan that is told to
 * stop fails with PS_BUSY. No database is fine. */
void ps_db_watch(ps_db *db, ps_watch *watch);

/* --- the file --- */

/* The path as given to ps_db_open; lives as long as `db`. */
const char *ps_db_path(const ps_db *db);

ps_db_stamp ps_db_get_stamp(const ps_db *db);

/* PS_CHANGED when the file, its header's change counter or its -wal are no longer what they were at open. */
PS_MUST_USE ps_code ps_db_check_unchanged(ps_db *db, ps_err *err);

/* The same for a stamp that outlived its ps_db, as a writer does between BEGIN IMMEDIATE and its first
 * change. `handle` is the caller's connection to `path`: the change counter is read through it, because
 * closing any other descriptor of the file would drop its locks. */
PS_MUST_USE ps_code ps_db_stamp_check(const ps_db_stamp *stamp, const char *path, sqlite3 *handle,
                                      ps_err *err);

/* The connection, for small odd queries; it stays owned by `db`. Read-only: writing fails. */
sqlite3 *ps_db_handle(const ps_db *db);

/* Turns the connection's last error into a ps_err: "reading TASK: no such column: x". `what` may be NULL. */
ps_code ps_db_fail(const ps_db *db, const char *what, ps_err *err);

/* --- schema --- */

/* Ordinary tables in the order of their creation, without views, virtual tables and sqlite_%. Borrowed. */
const char *const *ps_db_tables(const ps_db *db, size_t *n);

/* Also true for views, virtual tables and sqlite_master. */
bool ps_db_has_table(const ps_db *db, const char *table);

/* False when there is no such table, too. */
bool ps_db_has_column(const ps_db *db, const char *table, const char *column);
/* 0 when there is no such table. */
size_t ps_db_n_columns(const ps_db *db, const char *table);
/* The i-th one, good as long as `db`, with its type as declared ("" for none); NULL for a hidden or generated one. */
const char *ps_db_column(const ps_db *db, const char *table, size_t i, const char **type);

/* False for views, virtual tables and WITHOUT ROWID tables, where ps_scan numbers the rows 1, 2, 3 ... */
bool ps_db_has_rowid(const ps_db *db, const char *table);

/* PS_NOT_FOUND when there is no such table, PS_UNSUPPORTED for a view or virtual table. Reads the table's page headers, not its rows. */
PS_MUST_USE ps_code ps_db_count_rows(ps_db *db, const char *table, int64_t *out, ps_err *err);

/* --- for tests and benchmarks --- */

/* Everything goes through libsqlite3 from now on (true), or by the scanner where that can (false). */
void ps_db_force_sqlite(ps_db *db, bool force);

#endif

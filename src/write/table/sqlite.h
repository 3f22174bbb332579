/* Writes tables into a rank's database, all or nothing, or into a copy of it. */
#ifndef PS_WRITE_SQLITE_H
#define PS_WRITE_SQLITE_H

#include <sqlite3.h>
#include <stddef.h>

#include "base/err.h"
#include "model/table.h"

/* Called with the connection that holds the write lock, before the first change: anything but PS_OK ends the
 * transaction untouched. May be NULL. */
typedef ps_code ps_sqlite_recheck_fn(void *context, sqlite3 *handle, ps_err *err);

/* Applies the tables (by their mode, in order) to the database at `path` in one transaction. A killed process,
 * a full disk or any other failure leaves it as it was. Waits up to 30 s for another writer, then PS_BUSY. Triggers
 * and views of the database do not run. PS_UNSUPPORTED, untouched: its rollback journal names a file that undoing
 * would delete, or no name is left for the row ids of a table. */
PS_MUST_USE ps_code ps_sqlite_apply(const char *path, const ps_table *const *tables, size_t n,
                                    ps_sqlite_recheck_fn *recheck, void *context, ps_err *err);

/* The same for a database of results, which is made when it is missing: tables of others in it stay. What
 * ps_sqlite_check_results finds is an error here too. */
PS_MUST_USE ps_code ps_sqlite_merge(const char *path, const ps_table *const *tables, size_t n,
                                    ps_err *err);

/* Whether results can be put there, as far as looking tells: PS_UNSUPPORTED when something other than an SQLite database
 * is in the place. */
PS_MUST_USE ps_code ps_sqlite_check_results(const char *path, ps_err *err);

/* Undoes what a killed writer left half done (a rollback journal beside the file), as any program that opens the
 * database for writing does. Does nothing when there is no journal, when it names a file that would be deleted, or
 * when the database cannot be written. */
void ps_sqlite_recover(const char *path);

/* Copies the database behind `source` to `to` with the tables applied. `to` appears whole or not at all; its
 * header gets `application_id`, and an existing file is only replaced when it has that id too (else PS_USAGE). The
 * same goes for `to`.tmp, where it is made: what a killed run left there is replaced. */
PS_MUST_USE ps_code ps_sqlite_copy(sqlite3 *source, const char *to, int application_id,
                                   const ps_table *const *tables, size_t n, ps_err *err);

#endif

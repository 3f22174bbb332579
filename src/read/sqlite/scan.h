/* Reading columns of a table, fast: the b-tree pages are decoded here, without libsqlite3's row machinery.
 * What the decoder does not know (WITHOUT ROWID and generated-column tables, UTF-16 files, odd defaults, a live -wal)
 * goes through libsqlite3 into the same batches; the rows are the same either way. Views and virtual tables are not
 * read: they are code, and may run for ever.
 *
 *     static ps_code add_tasks(void *context, const ps_scan_batch *b, ps_err *err) {
 *         const ps_scan_column *start = &b->columns[0];
 *         for (size_t row = 0; row < b->n_rows; row++) {
 *             ... start->ints[row] ...
 *         }
 *         return PS_OK;
 *     }
 *     static const char *const columns[] = {"startNs", "endNs", "connectionId"};
 *     ps_code code = ps_scan(db, "TASK", columns, 3, add_tasks, &my_state, err);
 */
#ifndef PS_READ_SQLITE_SCAN_H
#define PS_READ_SQLITE_SCAN_H

#include <stddef.h>

#include "base/err.h"
#include "read/sqlite/cells.h"
#include "read/sqlite/db.h"

/* Calls `fn` for the rows of `table` in rowid order. A column that the table lacks reads as all NULL: ask
 * ps_db_has_column() before where that matters. The same name may be asked for twice; n_columns may be 0 (only
 * rowids). `fn` may run other scans and queries on `db`.
 * PS_NOT_FOUND: no such table. PS_UNSUPPORTED: a view or virtual table. PS_SYNTAX: damaged, with the file and the byte. PS_CHANGED: the file became
 * shorter while it was read. */
PS_MUST_USE ps_code ps_scan(ps_db *db, const char *table, const char *const *columns,
                            size_t n_columns, ps_scan_fn *fn, void *context, ps_err *err);

#endif

/* What the scanner and tests see of a ps_db. Internal to src/read/sqlite. */
#ifndef PS_READ_SQLITE_DB_PRIVATE_H
#define PS_READ_SQLITE_DB_PRIVATE_H

#include "read/sqlite/db.h"
#include "read/sqlite/page.h"
#include "read/sqlite/schema.h"

/* ps_db_open with another patience than 10 s. */
ps_db *ps_db_open_waiting(const char *path, int busy_ms, ps_err *err);

/* NULL when there is no such table or view. */
const ps_schema_table *ps_db_find(const ps_db *db, const char *table);

/* Whether `t` may be decoded by our own scanner, as far as the open mode and the schema tell. */
bool ps_db_may_scan(const ps_db *db, const ps_schema_table *t);

/* The pages of the file, for one scan. PS_UNSUPPORTED: leave it to libsqlite3. */
PS_MUST_USE ps_code ps_db_pages(ps_db *db, ps_pages *out, ps_err *err);

#endif

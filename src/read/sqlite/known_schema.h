/* Schemas that were read once count for all databases of the process that were made by the same statements: the ranks of a job mostly are.
 * Only where a table lies differs from one to the next. Internal to src/read/sqlite. */
#ifndef PS_READ_SQLITE_KNOWN_SCHEMA_H
#define PS_READ_SQLITE_KNOWN_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "read/sqlite/page.h"
#include "read/sqlite/schema.h"

/* What sqlite_master of a database holds. */
typedef struct ps_master {
    ps_buf key;      /* all that a schema follows from */
    uint32_t *roots; /* of its tables and views, in the order of ps_schema.tables; 0: none */
    size_t n, cap;
    bool is_known; /* else it is left to libsqlite3: odd, or damaged */
} ps_master;

/* `pages` are those of the database. End with ps_master_fini(). */
ps_master ps_master_read(ps_pages *pages);
void ps_master_fini(ps_master *m);

/* A schema that several databases may have. It is never changed; each user ends with ps_known_schema_free(). */
typedef struct ps_known_schema ps_known_schema;

/* What is known for the key, or NULL. */
ps_known_schema *ps_known_schema_find(const ps_master *m);
/* Reads it as ps_schema_read() does, and keeps it for others under the key, if there is one. */
PS_MUST_USE ps_code ps_known_schema_read(const ps_master *m, sqlite3 *handle, const char *path,
                                         ps_known_schema **out, ps_err *err);
void ps_known_schema_free(ps_known_schema *k); /* NULL is fine */

/* The tables with roots of their own (`m`, or those that it was read with), for ps_schema_fini(); all else stays with `k`. False when memory is
 * out. */
bool ps_known_schema_lend(const ps_known_schema *k, const ps_master *m, ps_schema *out);

#endif

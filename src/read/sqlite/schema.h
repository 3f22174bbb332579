/* What the tables of a database look like, read once at open. Internal to src/read/sqlite. */
#ifndef PS_READ_SQLITE_SCHEMA_H
#define PS_READ_SQLITE_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"

/* What SQLite makes of a declared type. */
typedef enum ps_affinity {
    PS_AFFINITY_BLOB,
    PS_AFFINITY_TEXT,
    PS_AFFINITY_NUMERIC,
    PS_AFFINITY_INTEGER,
    PS_AFFINITY_REAL
} ps_affinity;

typedef struct ps_schema_column {
    const char *name;
    const char *default_sql; /* as declared, NULL for none */
    const char *type;        /* as declared, "" for none */
    ps_affinity affinity;
    bool is_hidden; /* generated, or of a virtual table: SELECT * lacks it, or it is not stored */
} ps_schema_column;

typedef struct ps_schema_table {
    const char *name;
    uint32_t root;          /* page; 0 for views and virtual tables */
    bool is_internal;       /* sqlite_% */
    bool is_stored_plainly; /* column i is field i of each record: nothing generated or hidden */
    const char
        *rowid_name; /* "rowid" or a synonym that no column hides; NULL for tables without rowids */
    int32_t rowid_column; /* INTEGER PRIMARY KEY, the rowid under another name; -1 for none */
    ps_schema_column *columns;
    size_t n_columns;
} ps_schema_table;

/* Strings live in the arena given to ps_schema_read, arrays until ps_schema_fini. */
typedef struct ps_schema {
    ps_schema_table
        *tables; /* tables and views in the order of their creation, then sqlite_master */
    size_t n_tables;
    const char **listed; /* names of the ordinary tables */
    size_t n_listed;
} ps_schema;

/* `path` is for messages. After a failure ps_schema_fini is harmless. */
PS_MUST_USE ps_code ps_schema_read(ps_schema *s, sqlite3 *handle, const char *path, ps_arena *arena,
                                   ps_err *err);
void ps_schema_fini(ps_schema *s);

/* NULL when there is none of that name. */
const ps_schema_table *ps_schema_find(const ps_schema *s, const char *table);

/* -1 when there is none of that name. */
int32_t ps_schema_column_index(const ps_schema_table *t, const char *column);

/* The last error of `handle` as ps_err; `what` (may be NULL) comes before it. */
ps_code ps_sqlite_fail(sqlite3 *handle, const char *path, const char *what, ps_err *err);

#endif

/* A new database with the tables of base/ascend_schema.def, filled table by table, each in one go. It has its name when it
 * is complete: until then it is <path>.tmp. */
#ifndef PS_RECORD_DATABASE_H
#define PS_RECORD_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "record/export/sqlite_lib.h"

enum { PS_DATABASE_MOST_COLUMNS = 32 };

typedef struct ps_database {
    const ps_sqlite_lib *lib;
    ps_sq_handle *handle;
    ps_sq_statement *insert; /* into the table being filled */
    bool at_work;            /* ps_fork_work_begin() */
    int n_columns;
    /* What the statement has in its columns already: many values are those of the row before. */
    int64_t bound[PS_DATABASE_MOST_COLUMNS];
    bool is_bound[PS_DATABASE_MOST_COLUMNS];
    uint64_t n_rows; /* of all tables but enumerations */
    char path[4096], temporary[4096 + 8];
} ps_database;

/* Which of the optional tables are made: those that stay empty on most machines. */
typedef struct ps_database_tables {
    bool device;    /* kernels, copies, calls, communication */
    bool operators; /* PYTORCH_API, CONNECTION_IDS */
} ps_database_tables;

/* PS_UNSUPPORTED: there is no libsqlite3. */
PS_MUST_USE ps_code ps_database_open(ps_database *d, const char *path, ps_database_tables tables,
                                     ps_err *err);

/* Rows follow for `table`; values go in the order of the schema's columns. */
PS_MUST_USE ps_code ps_database_begin(ps_database *d, const char *table, ps_err *err);

/* Values of the current row, by column from 0; then put. */
void ps_database_int(ps_database *d, int column, int64_t value);
void ps_database_text(ps_database *d, int column, const char *text, size_t n); /* kept until put */
void ps_database_null(ps_database *d, int column);
PS_MUST_USE ps_code ps_database_put(ps_database *d, ps_err *err);

PS_MUST_USE ps_code ps_database_put_ints(ps_database *d, const int64_t *values, size_t n,
                                         ps_err *err);
#define PS_DATABASE_PUT(d, err, ...)                                                               \
    ps_database_put_ints(d, (const int64_t[]){__VA_ARGS__},                                        \
                         sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), err)

/* A row of two texts. */
PS_MUST_USE ps_code ps_database_pair(ps_database *d, const char *name, const char *value,
                                     ps_err *err);

/* Indexes, commit, sync; then its name. On failure, here or earlier, ps_database_drop removes what there is. */
PS_MUST_USE ps_code ps_database_finish(ps_database *d, ps_err *err);
PS_MUST_USE ps_code ps_database_publish(ps_database *d, ps_err *err);
void ps_database_drop(ps_database *d);

#endif

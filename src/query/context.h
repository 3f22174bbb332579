/* What the tables of a query share. */
#ifndef PS_QUERY_CONTEXT_H
#define PS_QUERY_CONTEXT_H

#include <sqlite3.h>

#include "base/err.h"
#include "base/watch.h"
#include "query/parts.h"
#include "run/run.h"

struct ps_job_tables; /* job_tables.h */

typedef struct ps_sql_context {
    const ps_cluster *cluster;
    ps_run_opts opts; /* of modes and of the chart; its watch is the one below */
    ps_sql_parts parts;
    struct ps_job_tables *job;
    ps_watch watch; /* stopped when the time is over */
    ps_err err;     /* the first reason why a table could not be read; PS_OK */
    bool
        declares; /* a module declares its columns: what SQLite asks then is no statement of the user */
} ps_sql_context;

/* Keeps the error, and gives it to SQLite as the table's. An SQLite code. */
int ps_sql_table_fail(ps_sql_context *c, sqlite3_vtab *table, const ps_err *err);

/* Declares the columns of a table, CREATE TABLE in `sql` (sqlite3_free()); NULL: there was no memory for it. An SQLite code. */
int ps_sql_declare(ps_sql_context *c, sqlite3 *db, char *sql);

/* --- modules ----------------------------------------------------------------------------------------------------- */

/* The tables of traces, of views, of the chart and of modes, each as a module of its own name. An SQLite code. */
int ps_sql_add_trace_tables(sqlite3 *db, ps_sql_context *c);
int ps_sql_add_profile_tables(sqlite3 *db, ps_sql_context *c);
int ps_sql_add_job_tables(sqlite3 *db, ps_sql_context *c);
/* overlap, percentile, name_like, human_ns. */
int ps_sql_add_functions(sqlite3 *db);

/* An IN of a constraint is handed over whole, and DISTINCT is told (since SQLite 3.38). */
#define PS_SQL_HAS_IN (SQLITE_VERSION_NUMBER >= 3038000)

#endif

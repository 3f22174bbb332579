/* The list of all tables and functions of queries, whoever makes them: for pages, prompts and the page of the documentation. */
#ifndef PS_QUERY_SCHEMA_LIST_H
#define PS_QUERY_SCHEMA_LIST_H

#include <stddef.h>

#include "analyze/views/view.h"
#include "query/schema.h"

typedef enum ps_sql_table_set {
    PS_SQL_OF_TRACES, /* ps_sql_tables: traces, communication, the chart */
    PS_SQL_OF_MODES,
    PS_SQL_OF_VIEWS,    /* of a rank: `rank` stands in front of its columns */
    PS_SQL_OF_JOB_VIEWS /* of all ranks */
} ps_sql_table_set;

/* All texts are static. */
typedef struct ps_sql_listed {
    const char *name;
    const char *text; /* what it holds, in a few words or a sentence */
    const char *example;
    ps_sql_table_set set;
    const ps_sql_table *table; /* with PS_SQL_OF_TRACES */
    const ps_view *view;       /* with PS_SQL_OF_VIEWS */
    const char *made_by; /* the mode, or the table of a mode that a view of all ranks shows; NULL */
} ps_sql_listed;

typedef void ps_sql_listed_fn(void *context, const ps_sql_listed *listed);

/* In the order of docs/sql.md. */
void ps_sql_each_table(ps_sql_listed_fn *fn, void *context);

/* A column as people read of it: "integer", "ns since 1970". Static texts; the unit may be "". */
typedef struct ps_sql_listed_column {
    const char *name, *type, *unit;
    const char *text; /* what it is; "" of tables that modes and views make */
} ps_sql_listed_column;

size_t ps_sql_n_columns(const ps_sql_listed *listed);
ps_sql_listed_column ps_sql_column_at(const ps_sql_listed *listed, size_t i);

/* Functions beside those of SQLite: "overlap(a0, a1, b0, b1)" and what it gives; the last entry is NULL. */
typedef struct ps_sql_function {
    const char *call, *text;
} ps_sql_function;
extern const ps_sql_function ps_sql_functions[];

/* What SQL begins its clauses with, and the functions that queries use most, with their bracket; the last one is NULL. */
extern const char *const ps_sql_language[];

#endif

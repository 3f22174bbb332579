/* A whole table as columns of Arrow. Where its rows are those of traces and its cells numbers or texts of these, columns are filled one at a time, straight
 * from the traces: SQLite's steps from row to row and cell to cell, several times that, are for queries. Else it is a query. */
#ifndef PS_QUERY_TABLE_COLUMNS_H
#define PS_QUERY_TABLE_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "query/sql.h"
#include "write/table/arrow.h"

typedef struct ps_sql_table_ask {
    const char *table;
    const char *const *columns; /* ended by NULL; NULL: those of SELECT * */
    const int64_t *ranks;       /* NULL: all */
    size_t n_ranks;
    const char *name; /* of the statement in messages */
} ps_sql_table_ask;

/* The caller frees the columns with ps_arrow_free(). NULL on failure, as of ps_sql_run(). */
ps_arrow *ps_sql_table_columns(ps_sql *s, const ps_sql_table_ask *ask, ps_err *err);

#endif

/* The rows of a statement as a ps_table, a piece at a time. SQLite has a type for each value, a table has one for each column: a piece ends
 * where the type of a column changes. */
#ifndef PS_QUERY_RESULT_H
#define PS_QUERY_RESULT_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/table.h"

/* Rows [first, end) of the result; table->n_rows is SIZE_MAX until the last call, in which it is `end`. Earlier rows are gone. In the rows of
 * a call each column has one type, which may be another in the next one. */
typedef ps_code ps_sql_take(void *context, const ps_table *table, size_t first, size_t end,
                            ps_err *err);

typedef struct ps_sql_result {
    sqlite3_stmt *statement;
    size_t n_columns;
    ps_column *columns;
    bool *typed;     /* a value of the piece has said the type of the column */
    int *types;      /* of the row at hand: SQLite's */
    ps_value *cells; /* of the piece */
    size_t first, n; /* its rows */
    ps_arena texts;
    ps_table *table;
} ps_sql_result;

PS_MUST_USE ps_code ps_sql_result_init(ps_sql_result *r, sqlite3_stmt *statement, ps_err *err);
void ps_sql_result_fini(ps_sql_result *r);

/* The row at which the statement stands. */
PS_MUST_USE ps_code ps_sql_result_add(ps_sql_result *r, ps_sql_take *take, void *context,
                                      ps_err *err);
/* There are no more. */
PS_MUST_USE ps_code ps_sql_result_end(ps_sql_result *r, ps_sql_take *take, void *context,
                                      ps_err *err);

#endif

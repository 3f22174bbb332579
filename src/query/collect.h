/* The result of a query as one table, for people. */
#ifndef PS_QUERY_COLLECT_H
#define PS_QUERY_COLLECT_H

#include "query/sql.h"

/* Runs the statement as ps_sql_run() does; the caller frees the table, which has the first `most` rows. *n_rows: how many there are.
 * NULL on failure. A column whose values differ in type has the narrowest that holds them all. */
ps_table *ps_sql_table_of(ps_sql *s, const char *text, const char *name, size_t most,
                          size_t *n_rows, ps_err *err);

#endif

/* The result of a query as a whole: as one table, for people, or as columns, for programs. */
#ifndef PS_QUERY_COLLECT_H
#define PS_QUERY_COLLECT_H

#include "query/sql.h"
#include "write/table/arrow.h"

/* Runs the statement as ps_sql_run() does; the caller frees the table, which has the first `most` rows. *n_rows: how many there are.
 * NULL on failure. A column whose values differ in type has the narrowest that holds them all. */
ps_table *ps_sql_table_of(ps_sql *s, const char *text, const char *name, size_t most,
                          size_t *n_rows, ps_err *err);

/* The same as columns of Arrow; the caller frees them with ps_arrow_free(). NULL on failure. What they lack stands in the metadata of the
 * schema, under "lacks": rows of model/lacks.h as JSON. */
ps_arrow *ps_sql_arrow_of(ps_sql *s, const char *text, const char *name, ps_err *err);

/* That note of the last statement, on other rows. */
PS_MUST_USE ps_code ps_sql_note_lacks(ps_sql *s, ps_arrow *rows, ps_err *err);

#endif

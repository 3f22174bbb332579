/* The tables of modes and views that a capture has, with the columns that they have there. */
#ifndef PS_QUERY_CAPTURE_SCHEMA_H
#define PS_QUERY_CAPTURE_SCHEMA_H

#include "query/sql.h"

/* A row a column: table, column, type (as declared to SQLite, with its unit). Makes every table, of all profiles; what there is nothing of is
 * left out. The caller frees it. NULL: PS_NOMEM, or PS_BUSY when the time was over. */
ps_table *ps_sql_capture_schema(ps_sql *s, ps_err *err);

#endif

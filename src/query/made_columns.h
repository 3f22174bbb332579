/* The columns of the tables that modes and views make, over all captures: what `--schema` prints, and what tables of views are declared with
 * before a profile is read. tests/support/made_columns.py writes the list from the captures of tests/data; a capture may lack some of them. */
#ifndef PS_QUERY_MADE_COLUMNS_H
#define PS_QUERY_MADE_COLUMNS_H

#include <stddef.h>

#include "model/table.h"

enum { PS_SQL_NAME_BYTES = 128 };

typedef struct ps_made_column {
    const char *table, *name;
    const char *declared; /* ps_sql_column_type() */
} ps_made_column;

/* Those of a table in their order; none: *n is 0. */
const ps_made_column *ps_made_columns_of(const char *table, size_t *n);

/* The name of a column in SQL: as in files, but what is no letter or digit is '_': "warm-up_ns" is warm_up_ns. Names that are alike in SQL,
 * where case does not count, get a number. */
void ps_sql_made_name(const ps_table *t, size_t column, char out[PS_SQL_NAME_BYTES]);

#endif

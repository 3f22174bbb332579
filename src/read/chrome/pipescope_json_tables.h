/* Side tables in the metadata events of a trace that `pipescope convert` wrote:
 *
 *   {"ph":"M","name":"pipescope_table",...,"args":{"table":"communication","columns":{"step":"text","start":"real, ns"}}}
 *   {"ph":"M","name":"pipescope_row",...,"args":{"cells":["step5",12.5]}}        of the table before it, in its order
 */
#ifndef PS_READ_PIPESCOPE_JSON_TABLES_H
#define PS_READ_PIPESCOPE_JSON_TABLES_H

#include <stdbool.h>
#include <stddef.h>

#include "model/trace.h"

/* The table whose rows are read; NULL: none. */
typedef struct ps_json_tables {
    ps_builder *builder;
    ps_table *open;
} ps_json_tables;

typedef enum ps_json_table_result {
    PS_JSON_TABLE_OK,
    PS_JSON_TABLE_ODD, /* the event is none of a table: nothing was taken */
    PS_JSON_TABLE_NOMEM
} ps_json_table_result;

/* Begins a table; `columns` is the JSON of the argument. The one before it goes to the builder. */
ps_json_table_result ps_json_tables_begin(ps_json_tables *t, const char *name, const char *columns,
                                          size_t n_columns);
/* A row of the open table; `cells` is the JSON of the argument. */
ps_json_table_result ps_json_tables_row(ps_json_tables *t, const char *cells, size_t n_cells);
/* Gives the last table to the builder. */
void ps_json_tables_end(ps_json_tables *t);

#endif

/* The tables whose rows are those of a trace: what they need of a profile, and their cells, straight from its columns. */
#ifndef PS_QUERY_TRACE_TABLES_H
#define PS_QUERY_TRACE_TABLES_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "query/parts.h"
#include "query/schema.h"

/* Where a cursor stands. */
typedef struct ps_trace_row {
    const ps_sql_part *part;
    uint32_t row;
    ps_arg_iter rest; /* arguments of the row, of a nested table */
    ps_arg arg;
    bool text_stays; /* texts of the trace outlive the statement */
} ps_trace_row;

/* Numbers of a column from one to another, both inside. */
typedef struct ps_number_range {
    int column;
    int64_t least, most;
} ps_number_range;

typedef struct ps_trace_table {
    /* Of the columns that a statement uses: bit i is column i, the last bit all from there on. */
    ps_sql_needs (*needs)(uint64_t used);
    uint32_t (*n_rows)(const ps_sql_part *part);
    /* An integer, INT64_MIN for NULL; of a text that is interned its id. Columns are those of ps_sql_tables. */
    int64_t (*number)(const ps_trace_row *at, int column);
    /* Of a column whose integers lie in an array of the trace, a row each, that array and what is added; NULL: of no column, or not this one. */
    const int64_t *(*array)(const ps_sql_part *part, int column, int64_t *plus);
    /* What is not a number. */
    void (*cell)(const ps_trace_row *at, int column, sqlite3_context *out);
    /* The number of a text in this part; false: no row has it. NULL: the table has no such column. */
    bool (*number_of_text)(const ps_sql_part *part, int column, const char *text, int64_t *out);
    uint64_t interned; /* columns of such texts */
    uint64_t grouped;  /* of these the texts or kinds are there, a row each */
    const ps_str *(*texts)(const ps_sql_part *part, int column);
    const uint8_t *(*kinds)(const ps_sql_part *part, int column); /* the same in all parts */
    const char *(*kind_name)(uint8_t kind);                       /* with `kinds` */
    /* Narrows [*first, *end) to rows that the range leaves; true: to these alone, false: there may be others among them. NULL: there is
     * no order to use. */
    bool (*narrow)(const ps_sql_part *part, const ps_number_range *range, uint32_t *first,
                   uint32_t *end);
    bool nested;        /* a row of the table is an argument of the row */
    uint64_t selective; /* columns of which few rows have the same number */
    uint64_t narrowed;  /* columns whose bounds narrow() looks up: perhaps to a few rows */
} ps_trace_table;

/* NULL: the table is none of a trace. */
const ps_trace_table *ps_trace_table_of(ps_sql_table_id id);

/* Whether the column holds integers, which number() tells. */
bool ps_sql_is_number(const ps_sql_column *column);

#endif

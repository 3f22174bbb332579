/* Which rows of a table are shown, and in which order: a filter and a column to sort by. */
#ifndef PS_SERVE_TABLE_ORDER_H
#define PS_SERVE_TABLE_ORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/watch.h"
#include "model/table.h"

/* One column's condition. */
typedef struct ps_table_filter {
    size_t column;
    /* Contained in the cell as it is written, any case; in columns of texts behind a "=" all of the cell, in its case ("=" alone:
     * an empty cell); behind a "!" what is not so ("!=": any cell that is not empty). NULL: a range. */
    const char *text;
    double least, most; /* of a number, both ends belong to it */
} ps_table_filter;

typedef struct ps_table_want {
    size_t sort; /* column, SIZE_MAX: the order of the table */
    bool desc;
    const ps_table_filter *filters; /* all must hold */
    size_t n_filters;
    const ps_watch *watch; /* or NULL */
} ps_table_want;

/* Rows of the table in the order wanted. */
typedef struct ps_table_order {
    size_t n;
    uint32_t rows[];
} ps_table_order;

/* Sorts numbers by value and texts by their letters whatever their case; empty cells come last in both directions, equal
 * ones in the order of the table. NULL with PS_NOMEM, PS_RANGE for a table of more than 2^32 rows, or PS_BUSY when `watch` was
 * stopped. The caller frees it with ps_free(). */
ps_table_order *ps_table_order_new(const ps_table *table, const ps_table_want *want, ps_err *err);

#endif

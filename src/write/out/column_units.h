/* The unit and the digits of numbers that people read under and beside one another; the viewer's rule (web/src/base/format.ts).
 *
 * The unit suits the middle of the numbers, so that most of them are read without counting zeros, but for one in which the largest
 * had more than five digits before its point. Times of a table share one unit, and so do sizes, so that they can be added up and
 * compared by eye: that of all their numbers together, or a smaller one in which fewer columns lose digits (have nothing that is a
 * tenth of the unit), as long as the largest number has no more than four digits before its point. A column that would lose digits
 * all the same has a smaller unit of its own, or with its like: 1200 ms beside 20.0 ms, but 12.0 s beside 20.0 ms.
 *
 * The middle number has three digits that count where they cost the largest no more than two more behind its point. Numbers that
 * differ by little have so many that they differ, as far as the largest has five; small ones cost one. Digits that are 0 in all of
 * a column are left out. Columns that are read against one another (ps_column.is_beside) have as many as their numbers together. */
#ifndef PS_WRITE_COLUMN_UNITS_H
#define PS_WRITE_COLUMN_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "model/table.h"

typedef enum ps_unit_kind { PS_UNITS_NONE, PS_UNITS_TIME, PS_UNITS_SIZE } ps_unit_kind;

typedef struct ps_unit_step {
    const char *name;
    int64_t size; /* ns, or bytes */
} ps_unit_step;

/* The numbers of a column of a table. */
typedef struct ps_column_numbers {
    ps_unit_kind kind;
    int64_t own;    /* the column's own unit in ns; of others 1 */
    double *sizes;  /* in ns, bytes, or what they are: without signs and zeros, ascending */
    size_t n;       /* of sizes */
    double between; /* the largest and the smallest with their signs, zeros among them */
    ps_unit_step unit;
    unsigned decimals; /* in that unit */
} ps_column_numbers;

/* For each column of `t` its numbers in rows [from, to) with unit and digits; NULL when memory is out. Texts have none; columns that
 * are exact, and such whose unit stays as it is, are of no kind. */
ps_column_numbers *ps_column_units(ps_arena *arena, const ps_table *t, size_t from, size_t to);

#endif

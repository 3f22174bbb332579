/* A table as an Excel workbook: a header row and data rows in one look, equal bytes for equal tables. Text is text: never
 * a formula or a link. */
#ifndef PS_WRITE_TABLE_XLSX_H
#define PS_WRITE_TABLE_XLSX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/table.h"

/* What the format could not hold as it is. */
typedef struct ps_xlsx_report {
    uint64_t n_cut;  /* texts longer than a cell holds: cut, with a mark at their end */
    size_t n_sheets; /* rows beyond those of a sheet go on in the next one */
    bool
        without_merging; /* the table is too large for merged cells: equal values stand in each row */
} ps_xlsx_report;

/* For tests; NULL stands for those of the format. */
typedef struct ps_xlsx_limits {
    size_t rows;         /* of a sheet, with its header: 1,048,576 */
    size_t merged_cells; /* of a table with merged cells, which is made in memory */
} ps_xlsx_limits;

/* What is to be written, and how that went. */
typedef struct ps_workbook {
    const ps_table *const *tables; /* one sheet each, or more where a sheet has not rows enough */
    size_t n_tables;
    bool names_sheets; /* as their tables (31 characters at most), else "Sheet1" and on */
    const char *path;  /* the three are borrowed */
    const ps_xlsx_limits *limits; /* NULL: of the format */

    ps_xlsx_report report;
    ps_code code;
    ps_err err;
} ps_workbook;

/* Writes the files, `n_at_once` at a time (0: one per processor): each whole, or not at all, which its code says. Integers
 * beyond 2^53, which Excel would round, make their column text; reals keep 16 digits. PS_RANGE: more columns than a sheet
 * has. Child processes make them: no other thread may run (base/child.h). */
void ps_write_workbooks(ps_workbook *books, size_t n, size_t n_at_once);

/* The same for one; the code and the error are those of the book. */
PS_MUST_USE ps_code ps_write_workbook(ps_workbook *w, ps_err *err);

#endif

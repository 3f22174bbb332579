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

/* Writes the file: whole, or not at all. `report` may be NULL. Integers beyond 2^53, which Excel would round, make their
 * column text; reals keep 16 digits. PS_RANGE: more columns than a sheet has. */
PS_MUST_USE ps_code ps_write_table_xlsx(const ps_table *table, const char *path,
                                        const ps_xlsx_limits *limits, ps_xlsx_report *report,
                                        ps_err *err);

/* Several tables as sheets of one workbook, each named as its table (31 characters at most). */
PS_MUST_USE ps_code ps_write_tables_xlsx(const ps_table *const *tables, size_t n_tables,
                                         const char *path, ps_xlsx_report *report, ps_err *err);

#endif

/* Decodes the records of one table b-tree into batches, without libsqlite3. Internal to the scanner; tests and the
 * fuzzer call it directly. */
#ifndef PS_READ_SQLITE_SCAN_ROWS_H
#define PS_READ_SQLITE_SCAN_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "read/sqlite/cells.h"
#include "read/sqlite/page.h"

/* One asked-for column, and what stands for it in a record that ends before it: records written before ALTER TABLE
 * ADD COLUMN are short. */
typedef struct ps_field {
    int32_t position;     /* in the record; -1: nowhere, always missing */
    bool is_rowid;        /* INTEGER PRIMARY KEY: stored as NULL, reads as the rowid */
    bool is_real;         /* REAL affinity: whole numbers are stored as integers, read as REAL */
    uint8_t missing_type; /* ps_cell */
    int64_t missing_int;
    ps_scan_bytes missing_bytes; /* borrowed */
} ps_field;

/* Delivers the table whose root is page `root`; the rest as ps_scan. */
PS_MUST_USE ps_code ps_rows_scan(ps_pages *pages, uint32_t root, const ps_field *fields,
                                 size_t n_fields, ps_scan_fn *fn, void *context, ps_err *err);

/* Counts cells of leaves; the same errors. */
PS_MUST_USE ps_code ps_rows_count(ps_pages *pages, uint32_t root, int64_t *out, ps_err *err);

#endif

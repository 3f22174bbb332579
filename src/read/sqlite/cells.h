/* Values as a scan hands them out: batches of columns. */
#ifndef PS_READ_SQLITE_CELLS_H
#define PS_READ_SQLITE_CELLS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

#define PS_SCAN_BATCH 4096 /* rows a batch holds at most */

/* Type of one value, as SQLite's typeof() says it. */
typedef enum ps_cell {
    PS_CELL_NULL,
    PS_CELL_INT,
    PS_CELL_REAL,
    PS_CELL_TEXT,
    PS_CELL_BLOB
} ps_cell;

#define PS_CELL_BIT(cell) (1u << (cell))

/* Not terminated by a zero byte; may hold zero bytes. `data` is never NULL where the type is TEXT or BLOB.
 * Text is UTF-8 as far as the writer of the file kept to it: unchecked. */
typedef struct ps_scan_bytes {
    const char *data;
    size_t size_bytes;
} ps_scan_bytes;

/* One asked-for column: parallel arrays of b->n_rows values. */
typedef struct ps_scan_column {
    const int64_t *ints;        /* INT: the value; REAL: the bits of the double; else 0 */
    const uint8_t *types;       /* ps_cell */
    const ps_scan_bytes *bytes; /* written only where the type is TEXT or BLOB */
    uint32_t seen; /* PS_CELL_BITs of the types in this batch: == PS_CELL_BIT(PS_CELL_INT) means
                                 * `types` need not be looked at */
} ps_scan_column;

/* Everything in a batch is borrowed: it lives until the callback returns. */
typedef struct ps_scan_batch {
    size_t n_rows; /* 1 .. PS_SCAN_BATCH; often fewer than the maximum */
    size_t n_columns;
    const int64_t *rowids; /* ascending; 1, 2, 3 ... for a table without (see ps_db_has_rowid) */
    const ps_scan_column *columns; /* [n_columns], in the order asked for */
} ps_scan_batch;

/* Takes one batch. Anything but PS_OK ends the scan, which then returns that code; `err` is ps_scan's. */
typedef ps_code ps_scan_fn(void *context, const ps_scan_batch *batch, ps_err *err);

/* --- one value --- */

/* An INT as it is, a REAL cut towards zero within int64, anything else `otherwise`. */
static inline int64_t ps_cell_int(const ps_scan_column *column, size_t row, int64_t otherwise) {
    if (column->types[row] == PS_CELL_INT) {
        return column->ints[row];
    }
    if (column->types[row] != PS_CELL_REAL) {
        return otherwise;
    }
    double real = 0;
    memcpy(&real, &column->ints[row], sizeof real);
    return real >= 9223372036854775808.0    ? INT64_MAX
           : real <= -9223372036854775808.0 ? INT64_MIN
                                            : (int64_t)real;
}

/* A REAL, or an INT as a double, anything else `otherwise`. */
static inline double ps_cell_real(const ps_scan_column *column, size_t row, double otherwise) {
    double real = otherwise;
    if (column->types[row] == PS_CELL_REAL) {
        memcpy(&real, &column->ints[row], sizeof real);
    } else if (column->types[row] == PS_CELL_INT) {
        real = (double)column->ints[row];
    }
    return real;
}

/* A TEXT's bytes; size 0 and data "" for anything else. */
static inline ps_scan_bytes ps_cell_text(const ps_scan_column *column, size_t row) {
    return column->types[row] == PS_CELL_TEXT ? column->bytes[row] : (ps_scan_bytes){"", 0};
}

#endif

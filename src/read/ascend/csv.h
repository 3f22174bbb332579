/* Comma separated values, row by row, as profilers write them: quoted cells with doubled quotes and line ends inside,
 * "\n" or "\r\n", a byte order mark, cells that end in a tab (a guard against spreadsheets: taken off).
 *
 *   ps_csv_init(&csv, in)
 *   while (ps_csv_next(&csv, &row, &err) == PS_OK && row.n > 0) ...
 *   ps_csv_fini(&csv)
 *
 * Memory is bounded by the longest row, 16 MiB. Empty lines are passed over. */
#ifndef PS_READ_CSV_H
#define PS_READ_CSV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/input.h"

#define PS_CSV_MAX_ROW_BYTES ((size_t)16 << 20)
#define PS_CSV_MAX_CELLS ((size_t)1 << 16)

/* Unquoted text, zero-terminated (it may also hold zeros); valid until the next row is read. */
typedef struct ps_csv_cell {
    const char *text;
    size_t n;
} ps_csv_cell;

typedef struct ps_csv_row {
    const ps_csv_cell *cells;
    size_t n;      /* 0 at the end of the input */
    uint64_t line; /* where it begins, from 1 */
} ps_csv_row;

typedef struct ps_csv {
    ps_input *in;
    char *bytes; /* [cap + 1] */
    size_t begin, end, cap;
    ps_csv_cell *cells;
    size_t cap_cells;
    uint64_t line;
    bool is_at_start, is_at_end, is_cut;
} ps_csv;

/* `in` is borrowed. */
void ps_csv_init(ps_csv *c, ps_input *in);
void ps_csv_fini(ps_csv *c);

/* PS_IO, PS_NOMEM, or PS_RANGE with the line of a row that is too long or has too many cells. */
PS_MUST_USE ps_code ps_csv_next(ps_csv *c, ps_csv_row *row, ps_err *err);

/* The input ended inside a quoted cell; the last row holds what there was. */
bool ps_csv_is_cut(const ps_csv *c);

#endif

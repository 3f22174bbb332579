/* The batch under construction behind a scan, whichever way the rows are read. */
#ifndef PS_READ_SQLITE_SCAN_BATCH_H
#define PS_READ_SQLITE_SCAN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/err.h"
#include "read/sqlite/cells.h"

#define PS_BATCH_KEPT_BYTES ((size_t)4 * 1024 * 1024) /* a batch with more is delivered early */

/* A column as its writer sees it. */
typedef struct ps_batch_column {
    int64_t *ints;
    uint8_t *types;
    ps_scan_bytes *bytes;
} ps_batch_column;

typedef struct ps_batch {
    size_t n_rows, max_rows, n_columns;
    int64_t *rowids;
    ps_batch_column *columns;
    ps_scan_column *shown; /* the same arrays, read-only, and what was seen in them */
    uint64_t number;       /* counts deliveries, from 1 */
    ps_arena kept;         /* copies that live as long as the rows */
    bool borrows;          /* some bytes lie in a page of the block */
    ps_scan_fn *fn;
    void *context;
} ps_batch;

/* After a failure ps_batch_fini is harmless. */
PS_MUST_USE ps_code ps_batch_init(ps_batch *b, size_t n_columns, ps_scan_fn *fn, void *context,
                                  ps_err *err);
void ps_batch_fini(ps_batch *b);

/* Hands out the rows there are, if any, and starts anew. */
PS_MUST_USE ps_code ps_batch_deliver(ps_batch *b, ps_err *err);

/* Memory that lives until the rows are delivered, or NULL. */
void *ps_batch_keep(ps_batch *b, size_t size_bytes);

/* Counts the row that was just written and delivers when the batch is full, in rows or in kept bytes. */
PS_MUST_USE static inline ps_code ps_batch_row_done(ps_batch *b, ps_err *err) {
    b->n_rows++;
    bool full = b->n_rows == b->max_rows || b->kept.size_bytes > PS_BATCH_KEPT_BYTES;
    return full ? ps_batch_deliver(b, err) : PS_OK;
}

#endif

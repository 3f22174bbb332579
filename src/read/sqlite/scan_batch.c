/* Memory of a batch: allocated once for a scan, but for copies of text, which live for one delivery. */
#include "read/sqlite/scan_batch.h"

#include "base/alloc.h"

enum {
    MAX_CELLS = 128 * 1024, /* of a batch: very wide tables get fewer rows at a time */
    MIN_ROWS = 64
};

static size_t rows_for(size_t n_columns) {
    if (n_columns <= MAX_CELLS / PS_SCAN_BATCH) {
        return PS_SCAN_BATCH;
    }
    size_t rows = MAX_CELLS / n_columns;
    return rows > MIN_ROWS ? rows : MIN_ROWS;
}

ps_code ps_batch_init(ps_batch *b, size_t n_columns, ps_scan_fn *fn, void *context, ps_err *err) {
    *b = (ps_batch){.n_columns = n_columns,
                    .max_rows = rows_for(n_columns),
                    .number = 1,
                    .fn = fn,
                    .context = context};
    b->rowids = ps_realloc_array(NULL, b->max_rows, sizeof *b->rowids);
    b->columns = ps_calloc(n_columns, sizeof *b->columns);
    b->shown = ps_calloc(n_columns, sizeof *b->shown);
    bool ok = b->rowids != NULL && b->columns != NULL && b->shown != NULL;
    for (size_t i = 0; ok && i < n_columns; i++) {
        ps_batch_column *column = &b->columns[i];
        column->ints = ps_realloc_array(NULL, b->max_rows, sizeof *column->ints);
        column->types = ps_realloc_array(NULL, b->max_rows, sizeof *column->types);
        column->bytes = ps_realloc_array(NULL, b->max_rows, sizeof *column->bytes);
        b->shown[i] = (ps_scan_column){column->ints, column->types, column->bytes, 0};
        ok = column->ints != NULL && column->types != NULL && column->bytes != NULL;
    }
    if (ok) {
        return PS_OK;
    }
    ps_batch_fini(b);
    return ps_fail_nomem(err);
}

void ps_batch_fini(ps_batch *b) {
    for (size_t i = 0; b->columns != NULL && i < b->n_columns; i++) {
        ps_free(b->columns[i].ints);
        ps_free(b->columns[i].types);
        ps_free(b->columns[i].bytes);
    }
    ps_free(b->rowids);
    ps_free(b->columns);
    ps_free(b->shown);
    ps_arena_fini(&b->kept);
    *b = (ps_batch){.n_rows = 0};
}

ps_code ps_batch_deliver(ps_batch *b, ps_err *err) {
    if (b->n_rows == 0) {
        return PS_OK;
    }
    ps_scan_batch batch = {b->n_rows, b->n_columns, b->rowids, b->shown};
    ps_code code = b->fn(b->context, &batch, err);
    b->n_rows = 0;
    b->number++;
    b->borrows = false;
    for (size_t i = 0; i < b->n_columns; i++) {
        b->shown[i].seen = 0;
    }
    ps_arena_fini(&b->kept);
    return code;
}

void *ps_batch_keep(ps_batch *b, size_t size_bytes) {
    return ps_arena_alloc(&b->kept, size_bytes);
}

/* The columns of a table, for those whose columns differ from generation to generation. */
#ifndef PS_READ_ASCEND_DB_COLUMNS_H
#define PS_READ_ASCEND_DB_COLUMNS_H

#include <stddef.h>

#include "base/arena.h"
#include "base/err.h"
#include "model/table.h"
#include "read/sqlite/db.h"

#define PS_ASCEND_MAX_COLUMNS 64

typedef struct ps_ascend_column {
    const char *name;
    ps_col_type type; /* as declared: INTEGER, TEXT, else REAL */
} ps_ascend_column;

/* At most PS_ASCEND_MAX_COLUMNS in the order of the table, names in the arena; none for a missing table. */
PS_MUST_USE ps_code ps_ascend_columns_of(ps_db *db, const char *table, ps_arena *arena,
                                         ps_ascend_column *out, size_t *n, ps_err *err);

#endif

#include "read/ascend_db/ascend_db_columns.h"

#include <string.h>
#include <strings.h>

static ps_col_type declared_type_of(const char *declared) {
    return strcasecmp(declared, "TEXT") == 0 ? PS_COL_TEXT
           : strncasecmp(declared, "INT", 3) == 0 || strcasecmp(declared, "BIGINT") == 0
               ? PS_COL_INT
               : PS_COL_REAL;
}

ps_code ps_ascend_columns_of(ps_db *db, const char *table, ps_arena *arena, ps_ascend_column *out,
                             size_t *n, ps_err *err) {
    size_t n_columns = ps_db_n_columns(db, table);
    *n = 0;
    for (size_t i = 0; i < n_columns && *n < PS_ASCEND_MAX_COLUMNS; i++) {
        const char *type = NULL;
        const char *name = ps_db_column(db, table, i, &type);
        const char *copy = name != NULL ? ps_arena_strndup(arena, name, strlen(name)) : NULL;
        if (name != NULL && copy == NULL) {
            return ps_fail_nomem(err);
        }
        if (copy != NULL) {
            out[(*n)++] = (ps_ascend_column){copy, declared_type_of(type)};
        }
    }
    return PS_OK;
}

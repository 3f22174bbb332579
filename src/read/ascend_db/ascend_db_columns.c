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
    sqlite3_stmt *stmt = NULL;
    *n = 0;
    if (!ps_db_has_table(db, table)) {
        return PS_OK;
    }
    int status = sqlite3_prepare_v2(
        ps_db_handle(db), "SELECT name, type FROM pragma_table_info(?1)", -1, &stmt, NULL);
    status = status == SQLITE_OK ? sqlite3_bind_text(stmt, 1, table, -1, SQLITE_STATIC) : status;
    while (status == SQLITE_OK && *n < PS_ASCEND_MAX_COLUMNS && sqlite3_step(stmt) == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(stmt, 0);
        const char *copy = name != NULL ? ps_arena_strndup(arena, name, strlen(name)) : NULL;
        const char *type = (const char *)sqlite3_column_text(stmt, 1);
        if (copy == NULL || type == NULL) { /* a column without a type has an empty one */
            status = SQLITE_NOMEM;
        } else {
            out[(*n)++] = (ps_ascend_column){copy, declared_type_of(type)};
        }
    }
    /* A step that failed ends the loop as the last one does. */
    int ended = sqlite3_finalize(stmt);
    status = status == SQLITE_OK ? ended : status;
    return status == SQLITE_OK      ? PS_OK
           : status == SQLITE_NOMEM ? ps_fail_nomem(err)
                                    : ps_db_fail(db, table, err);
}

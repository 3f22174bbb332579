/* Chooses between our decoder (rows.c) and libsqlite3, and is the latter's way into batches. */
#include "read/sqlite/scan.h"

#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/num.h"
#include "read/sqlite/db_private.h"
#include "read/sqlite/page.h"
#include "read/sqlite/scan_batch.h"
#include "read/sqlite/scan_rows.h"
#include "read/sqlite/schema.h"

/* --- our decoder --- */

/* What a column reads as in records older than itself: its default, converted by its affinity. False for defaults
 * that are not worth knowing here. */
static bool set_default(ps_field *f, const ps_schema_column *column) {
    const char *sql = column->default_sql;
    if (sql == NULL || sqlite3_stricmp(sql, "NULL") == 0) {
        return true;
    }
    enum { SAFE_DIGITS = 18 }; /* fits an int64 for certain */
    size_t n = strlen(sql);
    int64_t value = 0;
    if (n <= SAFE_DIGITS && ps_parse_i64(sql, n, &value) && column->affinity != PS_AFFINITY_TEXT) {
        f->missing_type = PS_CELL_INT;
        if (column->affinity == PS_AFFINITY_REAL) {
            double real = (double)value;
            f->missing_type = PS_CELL_REAL;
            memcpy(&value, &real, sizeof value);
        }
        f->missing_int = value;
        return true;
    }
    bool takes_text = column->affinity == PS_AFFINITY_TEXT || column->affinity == PS_AFFINITY_BLOB;
    if (takes_text && n >= 2 && sql[0] == '\'' && sql[n - 1] == '\'' &&
        memchr(sql + 1, '\'', n - 2) == NULL) {
        f->missing_type = PS_CELL_TEXT;
        f->missing_bytes = (ps_scan_bytes){sql + 1, n - 2};
        return true;
    }
    return false;
}

/* False when the decoder should not be used. */
static bool set_scan_field(ps_field *f, const ps_schema_table *t, const char *name) {
    *f = (ps_field){.position = -1, .missing_type = PS_CELL_NULL, .missing_bytes = {"", 0}};
    int32_t index = ps_schema_column_index(t, name);
    if (index < 0) {
        return true;
    }
    if (index == t->rowid_column) {
        f->is_rowid = true;
        return true;
    }
    f->position = index;
    f->is_real = t->columns[index].affinity == PS_AFFINITY_REAL;
    return set_default(f, &t->columns[index]);
}

/* Sets `*can` and opens the pages when the decoder is to be used. */
static ps_code plan_scan(ps_db *db, const ps_schema_table *t, const char *const *columns,
                         ps_field *fields, size_t n_columns, ps_pages *pages, bool *can,
                         ps_err *err) {
    *can = ps_db_may_scan(db, t);
    for (size_t i = 0; *can && i < n_columns; i++) {
        *can = set_scan_field(&fields[i], t, columns[i]);
    }
    if (!*can) {
        return PS_OK;
    }
    ps_code code = ps_db_pages(db, pages, err);
    *can = code == PS_OK && pages->encoding <= 1; /* not UTF-16 */
    return code == PS_UNSUPPORTED ? PS_OK : code;
}

/* --- libsqlite3 --- */

static void add_scan_name(ps_buf *sql, const char *name) {
    ps_buf_add_char(sql, '"');
    for (const char *p = name; *p != '\0'; p++) {
        if (*p == '"') {
            ps_buf_add_char(sql, '"');
        }
        ps_buf_add_char(sql, *p);
    }
    ps_buf_add_char(sql, '"');
}

/* Column 0 is the rowid. NOT INDEXED, since a covering index would be quicker and in another order. */
static void make_select(ps_buf *sql, const ps_schema_table *t, const char *const *columns,
                        size_t n_columns) {
    ps_buf_add_str(sql, "SELECT ");
    ps_buf_add_str(sql, t->rowid_name != NULL ? t->rowid_name : "NULL");
    for (size_t i = 0; i < n_columns; i++) {
        ps_buf_add_str(sql, ", ");
        int32_t index = ps_schema_column_index(t, columns[i]);
        if (index >= 0) {
            add_scan_name(sql, t->columns[index].name);
        } else {
            ps_buf_add_str(sql, "NULL");
        }
    }
    ps_buf_add_str(sql, " FROM main.");
    add_scan_name(sql, t->name);
    if (t->rowid_name != NULL) {
        ps_buf_addf(sql, " NOT INDEXED ORDER BY %s", t->rowid_name);
    }
}

/* libsqlite3's bytes live until the next step only. */
static ps_code keep_bytes(ps_batch *b, sqlite3_stmt *q, int column, bool is_text,
                          ps_scan_bytes *out, ps_err *err) {
    const void *data =
        is_text ? (const void *)sqlite3_column_text(q, column) : sqlite3_column_blob(q, column);
    size_t n = (size_t)sqlite3_column_bytes(q, column);
    char *copy = ps_batch_keep(b, n);
    if (copy == NULL || (data == NULL && sqlite3_errcode(sqlite3_db_handle(q)) == SQLITE_NOMEM)) {
        return ps_fail_nomem(err);
    }
    if (n > 0) {
        memcpy(copy, data, n);
    }
    *out = (ps_scan_bytes){copy, n};
    return PS_OK;
}

static ps_code add_scan_cell(ps_batch *b, size_t i, sqlite3_stmt *q, ps_err *err) {
    size_t row = b->n_rows;
    ps_batch_column *out = &b->columns[i];
    int column = (int)i + 1;
    ps_code code = PS_OK;
    ps_cell type = PS_CELL_NULL;
    double real = 0;
    out->ints[row] = 0;
    switch (sqlite3_column_type(q, column)) {
    case SQLITE_INTEGER:
        type = PS_CELL_INT;
        out->ints[row] = sqlite3_column_int64(q, column);
        break;
    case SQLITE_FLOAT:
        type = PS_CELL_REAL;
        real = sqlite3_column_double(q, column);
        memcpy(&out->ints[row], &real, sizeof real);
        break;
    case SQLITE_TEXT:
        type = PS_CELL_TEXT;
        code = keep_bytes(b, q, column, true, &out->bytes[row], err);
        break;
    case SQLITE_BLOB:
        type = PS_CELL_BLOB;
        code = keep_bytes(b, q, column, false, &out->bytes[row], err);
        break;
    default:
        break;
    }
    out->types[row] = (uint8_t)type;
    b->shown[i].seen |= PS_CELL_BIT(type);
    return code;
}

static ps_code step_rows(ps_db *db, const ps_schema_table *t, sqlite3_stmt *q, ps_batch *b,
                         ps_err *err) {
    int64_t number = 0;
    int rc = SQLITE_DONE;
    ps_code code = PS_OK;
    while (code == PS_OK && (rc = sqlite3_step(q)) == SQLITE_ROW) {
        number++;
        b->rowids[b->n_rows] = t->rowid_name != NULL ? sqlite3_column_int64(q, 0) : number;
        for (size_t i = 0; code == PS_OK && i < b->n_columns; i++) {
            code = add_scan_cell(b, i, q, err);
        }
        if (code == PS_OK) {
            code = ps_batch_row_done(b, err);
        }
    }
    if (code == PS_OK && rc != SQLITE_DONE) {
        code = ps_db_fail(db, t->name, err);
    }
    return code == PS_OK ? ps_batch_deliver(b, err) : code;
}

static ps_code scan_by_steps(ps_db *db, const ps_schema_table *t, const char *const *columns,
                             size_t n_columns, ps_scan_fn *fn, void *context, ps_err *err) {
    ps_buf sql = {0};
    make_select(&sql, t, columns, n_columns);
    sqlite3_stmt *q = NULL;
    ps_code code = ps_buf_ok(&sql) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK &&
        sqlite3_prepare_v2(ps_db_handle(db), ps_buf_str(&sql), -1, &q, NULL) != SQLITE_OK) {
        code = ps_db_fail(db, t->name, err);
    }
    ps_buf_fini(&sql);
    if (code == PS_OK) {
        ps_batch batch;
        code = ps_batch_init(&batch, n_columns, fn, context, err);
        if (code == PS_OK) {
            code = step_rows(db, t, q, &batch, err);
        }
        ps_batch_fini(&batch);
    }
    (void)sqlite3_finalize(q);
    return code;
}

/* --- both --- */

/* Profilers write tables. A view or virtual table is code of whoever made the file, and may run for ever. */
static ps_code fail_no_table(const ps_db *db, const char *table, bool is_view, ps_err *err) {
    if (is_view) {
        return ps_fail_file(err, PS_UNSUPPORTED, ps_db_path(db),
                            "%s is a view or a virtual table, and only tables are read", table);
    }
    return ps_fail_file(err, PS_NOT_FOUND, ps_db_path(db), "no table '%s'", table);
}

ps_code ps_scan(ps_db *db, const char *table, const char *const *columns, size_t n_columns,
                ps_scan_fn *fn, void *context, ps_err *err) {
    const ps_schema_table *t = ps_db_find(db, table);
    if (t == NULL || t->root == 0) {
        return fail_no_table(db, table, t != NULL, err);
    }
    ps_field *fields = ps_calloc(n_columns, sizeof *fields);
    if (fields == NULL) {
        return ps_fail_nomem(err);
    }
    ps_pages pages = {.page_size = 0};
    bool can = false;
    ps_code code = plan_scan(db, t, columns, fields, n_columns, &pages, &can, err);
    if (code == PS_OK && can) {
        code = ps_rows_scan(&pages, t->root, fields, n_columns, fn, context, err);
    } else if (code == PS_OK) {
        code = scan_by_steps(db, t, columns, n_columns, fn, context, err);
    }
    ps_pages_fini(&pages);
    ps_free(fields);
    return code;
}

static ps_code count_by_steps(ps_db *db, const ps_schema_table *t, int64_t *out, ps_err *err) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, "SELECT count(*) FROM main.");
    add_scan_name(&sql, t->name);
    sqlite3_stmt *q = NULL;
    ps_code code = ps_buf_ok(&sql) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK &&
        (sqlite3_prepare_v2(ps_db_handle(db), ps_buf_str(&sql), -1, &q, NULL) != SQLITE_OK ||
         sqlite3_step(q) != SQLITE_ROW)) {
        code = ps_db_fail(db, t->name, err);
    }
    *out = code == PS_OK ? sqlite3_column_int64(q, 0) : 0;
    (void)sqlite3_finalize(q);
    ps_buf_fini(&sql);
    return code;
}

ps_code ps_db_count_rows(ps_db *db, const char *table, int64_t *out, ps_err *err) {
    *out = 0;
    const ps_schema_table *t = ps_db_find(db, table);
    if (t == NULL || t->root == 0) {
        return fail_no_table(db, table, t != NULL, err);
    }
    ps_pages pages = {.page_size = 0};
    bool can = false;
    ps_code code = plan_scan(db, t, NULL, NULL, 0, &pages, &can, err);
    if (code == PS_OK) {
        code = can ? ps_rows_count(&pages, t->root, out, err) : count_by_steps(db, t, out, err);
    }
    ps_pages_fini(&pages);
    return code;
}

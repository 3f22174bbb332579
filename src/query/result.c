#include "query/result.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "query/schema.h"

enum { PIECE_ROWS = 1024, PIECE_TEXT_BYTES = 4 << 20 };

/* --- columns ----------------------------------------------------------------------------------------------------- */

/* An expression has no declaration: its name may end in a unit, as names of columns here do. */
static ps_unit unit_by_name(const char *name) {
    static const struct {
        const char *end;
        ps_unit unit;
    } ENDS[] = {{"_ns", PS_UNIT_NS},
                {"_us", PS_UNIT_US},
                {"_ms", PS_UNIT_MS},
                {"_bytes", PS_UNIT_BYTES},
                {"_percent", PS_UNIT_PERCENT}};
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++) {
        if (ps_ends_with(name, ENDS[i].end)) {
            return ENDS[i].unit;
        }
    }
    return PS_UNIT_NONE;
}

static ps_column column_of(ps_sql_result *r, int i) {
    const char *name = sqlite3_column_name(r->statement, i);
    const char *declared = sqlite3_column_decltype(r->statement, i);
    ps_sql_unit unit = ps_sql_unit_of(declared);
    ps_column column = {.type = ps_sql_col_type_of(declared),
                        .unit = unit.unit,
                        .exact = unit.is_moment,
                        .is_slice = unit.is_slice};
    column.name = name != NULL ? ps_arena_strndup(&r->table->arena, name, strlen(name)) : NULL;
    if (declared == NULL && column.name != NULL) {
        column.unit = unit_by_name(column.name);
    }
    return column;
}

static void make_result_row(const void *context, size_t row, ps_value *cells,
                            char room[PS_ROW_ROOM]) {
    (void)room;
    const ps_sql_result *r = context;
    memcpy(cells, r->cells + (row - r->first) * r->n_columns, r->n_columns * sizeof *cells);
}

static void keep_result(void *context) {
    (void)context;
}

ps_code ps_sql_result_init(ps_sql_result *r, sqlite3_stmt *statement, ps_err *err) {
    size_t n = (size_t)sqlite3_column_count(statement);
    *r = (ps_sql_result){.statement = statement, .n_columns = n};
    r->columns = ps_calloc(n, sizeof *r->columns);
    r->typed = ps_calloc(n, sizeof *r->typed);
    r->types = ps_calloc(n, sizeof *r->types);
    r->cells = ps_calloc(PIECE_ROWS * n, sizeof *r->cells);
    ps_row_maker maker = {.make = make_result_row, .context = r, .free_context = keep_result};
    r->table =
        r->columns != NULL ? ps_table_new_made("query", "", r->columns, n, SIZE_MAX, maker) : NULL;
    bool ok = r->typed != NULL && r->types != NULL && r->cells != NULL && r->table != NULL;
    for (size_t i = 0; i < n && ok; i++) {
        r->columns[i] = column_of(r, (int)i);
        ok = r->columns[i].name != NULL;
    }
    if (r->table != NULL) {
        r->table->names_fixed = true;
    }
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_sql_result_fini(ps_sql_result *r) {
    ps_table_free(r->table);
    ps_free(r->columns);
    ps_free(r->typed);
    ps_free(r->types);
    ps_free(r->cells);
    ps_arena_fini(&r->texts);
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static ps_code flush_piece(ps_sql_result *r, ps_sql_take *take, void *context, ps_err *err) {
    ps_code code = r->n > 0 || r->table->n_rows != SIZE_MAX
                       ? take(context, r->table, r->first, r->first + r->n, err)
                       : PS_OK;
    r->first += r->n;
    r->n = 0;
    memset(r->typed, 0, r->n_columns * sizeof *r->typed);
    ps_arena_fini(&r->texts);
    r->texts = (ps_arena){0};
    return code;
}

/* Texts of tables end at a zero byte: one inside stands as what Unicode has for it. */
static const char *text_of_bytes(ps_sql_result *r, const char *bytes, size_t n) {
    static const char REPLACED[] = "\xEF\xBF\xBD";
    size_t n_zero = 0;
    for (size_t i = 0; i < n; i++) {
        n_zero += bytes[i] == '\0';
    }
    if (n_zero == 0) {
        return ps_arena_strndup(&r->texts, bytes, n);
    }
    char *out = ps_arena_alloc(&r->texts, n + n_zero * 2 + 1);
    size_t at = 0;
    for (size_t i = 0; out != NULL && i < n; i++) {
        if (bytes[i] != '\0') {
            out[at++] = bytes[i];
        } else {
            memcpy(out + at, REPLACED, sizeof REPLACED - 1);
            at += sizeof REPLACED - 1;
        }
    }
    if (out != NULL) {
        out[at] = '\0';
    }
    return out;
}

static const char *hex_of_bytes(ps_sql_result *r, const unsigned char *bytes, size_t n) {
    static const char DIGITS[] = "0123456789abcdef";
    char *out = ps_arena_alloc(&r->texts, 2 * n + 1);
    for (size_t i = 0; out != NULL && i < n; i++) {
        out[2 * i] = DIGITS[bytes[i] >> 4];
        out[2 * i + 1] = DIGITS[bytes[i] & 15];
    }
    if (out != NULL) {
        out[2 * n] = '\0';
    }
    return out;
}

/* False when memory is out. */
static bool read_cell(ps_sql_result *r, int i, int type, ps_value *cell) {
    *cell = (ps_value){.is_null = type == SQLITE_NULL};
    size_t n = 0;
    switch (type) {
    case SQLITE_INTEGER:
        cell->u.i = sqlite3_column_int64(r->statement, i);
        return true;
    case SQLITE_FLOAT:
        cell->u.r = sqlite3_column_double(r->statement, i);
        return true;
    case SQLITE_TEXT:
        cell->u.text = (const char *)sqlite3_column_text(r->statement, i);
        n = (size_t)sqlite3_column_bytes(r->statement, i);
        cell->u.text = cell->u.text != NULL ? text_of_bytes(r, cell->u.text, n) : NULL;
        return cell->u.text != NULL;
    case SQLITE_BLOB:
        n = (size_t)sqlite3_column_bytes(r->statement, i);
        cell->u.text = hex_of_bytes(r, sqlite3_column_blob(r->statement, i), n);
        return cell->u.text != NULL;
    default:
        return true;
    }
}

static ps_col_type type_of(int type) {
    return type == SQLITE_INTEGER ? PS_COL_INT : type == SQLITE_FLOAT ? PS_COL_REAL : PS_COL_TEXT;
}

/* Looks at the types of the row's values: whether they are those of the piece. */
static bool fits_piece(ps_sql_result *r) {
    bool fits = r->n < PIECE_ROWS && r->texts.size_bytes < PIECE_TEXT_BYTES;
    for (size_t i = 0; i < r->n_columns; i++) {
        int type = r->types[i] = sqlite3_column_type(r->statement, (int)i);
        fits = fits && (type == SQLITE_NULL || !r->typed[i] || r->columns[i].type == type_of(type));
    }
    return fits;
}

ps_code ps_sql_result_add(ps_sql_result *r, ps_sql_take *take, void *context, ps_err *err) {
    if (!fits_piece(r)) {
        ps_code code = flush_piece(r, take, context, err);
        if (code != PS_OK) {
            return code;
        }
    }
    ps_value *cells = r->cells + r->n * r->n_columns;
    for (size_t i = 0; i < r->n_columns; i++) {
        int type = r->types[i];
        if (type != SQLITE_NULL) {
            r->columns[i].type = type_of(type);
            r->typed[i] = true;
        }
        if (!read_cell(r, (int)i, type, &cells[i])) {
            return ps_fail_nomem(err);
        }
    }
    r->n++;
    return PS_OK;
}

ps_code ps_sql_result_end(ps_sql_result *r, ps_sql_take *take, void *context, ps_err *err) {
    r->table->n_rows = r->first + r->n;
    return flush_piece(r, take, context, err);
}

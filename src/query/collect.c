#include "query/collect.h"

#include <string.h>

#include "base/alloc.h"
#include "model/lacks.h"
#include "query/sql_inside.h"
#include "write/out/number_text.h"
#include "write/out/writers.h"

/* A value with its own type, until the type of its column is known. */
typedef struct own_value {
    ps_value value;
    ps_col_type type;
} own_value;

typedef struct collecting {
    const ps_sql *sql;
    size_t most, n_rows; /* kept of all */
    size_t n_columns, n_kept;
    own_value *values;
    size_t cap;
    ps_column *columns; /* of the table, in its arena */
    ps_table *table;
} collecting;

static ps_code begin_collecting(collecting *c, const ps_table *rows, ps_err *err) {
    c->n_columns = rows->n_columns;
    c->table = ps_table_new("query", "", NULL, rows->n_columns);
    c->columns = c->table != NULL
                     ? ps_arena_alloc(&c->table->arena, rows->n_columns * sizeof *c->columns)
                     : NULL;
    if (c->columns == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < rows->n_columns; i++) {
        c->columns[i] = rows->columns[i];
        c->columns[i].name = ps_arena_strndup(&c->table->arena, rows->columns[i].name,
                                              strlen(rows->columns[i].name));
        if (c->columns[i].name == NULL) {
            return ps_fail_nomem(err);
        }
    }
    c->table->columns = c->columns;
    c->table->names_fixed = true;
    return PS_OK;
}

/* The rows count as what the query holds. */
static bool holds_too_much(const collecting *c) {
    int64_t most = ps_sql_max_bytes(c->sql);
    size_t bytes = c->table->arena.size_bytes + c->cap * sizeof *c->values;
    return most > 0 && bytes > (size_t)most;
}

static ps_code collect(void *context, const ps_table *rows, size_t first, size_t end, ps_err *err) {
    collecting *c = context;
    ps_code code = c->table == NULL ? begin_collecting(c, rows, err) : PS_OK;
    c->n_rows = end;
    for (size_t row = first; row < end && code == PS_OK && c->n_kept < c->most; row++) {
        if (!ps_grow(&c->values, &c->cap, (c->n_kept + 1) * c->n_columns, SIZE_MAX / 64,
                     sizeof *c->values)) {
            return ps_fail_nomem(err);
        }
        for (size_t i = 0; i < c->n_columns && code == PS_OK; i++) {
            own_value *value = &c->values[c->n_kept * c->n_columns + i];
            *value = (own_value){*ps_table_cell(rows, row, i), rows->columns[i].type};
            if (!value->value.is_null && value->type == PS_COL_TEXT) {
                const char *text = value->value.u.text;
                value->value.u.text = ps_arena_strndup(&c->table->arena, text, strlen(text));
                code = value->value.u.text != NULL ? PS_OK : ps_fail_nomem(err);
            }
        }
        c->n_kept++;
        code = code == PS_OK && holds_too_much(c) ? ps_sql_too_much(c->sql, err) : code;
    }
    return code;
}

/* Beyond these not every integer is a double. */
static bool is_exact_real(int64_t value) {
    return value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53;
}

/* The narrowest type that holds all values of the column. */
static ps_col_type common_type(const collecting *c, size_t column) {
    bool any_real = false;
    bool any_text = false;
    bool exact = true;
    for (size_t row = 0; row < c->n_kept; row++) {
        const own_value *v = &c->values[row * c->n_columns + column];
        if (!v->value.is_null) {
            any_real = any_real || v->type == PS_COL_REAL;
            any_text = any_text || v->type == PS_COL_TEXT;
            exact = exact && (v->type != PS_COL_INT || is_exact_real(v->value.u.i));
        }
    }
    return any_text || (any_real && !exact) ? PS_COL_TEXT : any_real ? PS_COL_REAL : PS_COL_INT;
}

static void set_collected(collecting *c, size_t column, const own_value *v) {
    ps_col_type type = c->columns[column].type;
    char number[PS_NUMBER_TEXT];
    if (v->type == type && type == PS_COL_INT) {
        ps_table_set_int(c->table, column, v->value.u.i);
    } else if (type == PS_COL_REAL) {
        ps_table_set_real(c->table, column,
                          v->type == PS_COL_INT ? (double)v->value.u.i : v->value.u.r);
    } else if (v->type == PS_COL_TEXT) {
        ps_table_share_text(c->table, column, v->value.u.text);
    } else {
        if (v->type == PS_COL_INT) {
            (void)ps_int_text(v->value.u.i, number);
        } else {
            ps_real_shortest(v->value.u.r, number);
        }
        (void)ps_table_set_text(c->table, column, number);
    }
}

static void fill_table(collecting *c) {
    for (size_t i = 0; i < c->n_columns; i++) {
        c->columns[i].type = common_type(c, i);
    }
    for (size_t row = 0; row < c->n_kept && ps_table_add_row(c->table); row++) {
        for (size_t i = 0; i < c->n_columns; i++) {
            const own_value *v = &c->values[row * c->n_columns + i];
            if (!v->value.is_null) {
                set_collected(c, i, v);
            }
        }
    }
}

ps_table *ps_sql_table_of(ps_sql *s, const char *text, const char *name, size_t most,
                          size_t *n_rows, ps_err *err) {
    collecting c = {.sql = s, .most = most};
    ps_code code = ps_sql_run(s, text, name, collect, &c, err);
    if (code == PS_OK) {
        fill_table(&c);
        c.table = ps_table_end(c.table);
        code = c.table != NULL ? PS_OK : ps_fail_nomem(err);
    }
    *n_rows = c.n_rows;
    ps_free(c.values);
    if (code != PS_OK) {
        ps_table_free(c.table);
        return NULL;
    }
    return c.table;
}

/* --- columns ----------------------------------------------------------------------------------------------------- */

static ps_code keep_columns(void *context, const ps_table *rows, size_t first, size_t end,
                            ps_err *err) {
    return ps_arrow_add(context, rows, first, end, err);
}

ps_code ps_sql_note_lacks(ps_sql *s, ps_arrow *rows, ps_err *err) {
    ps_table *lacks = ps_sql_lacks(s, err);
    ps_buf text = {0};
    ps_code code = lacks == NULL ? err->code : PS_OK;
    if (code == PS_OK && ps_lacks_any(lacks)) {
        code = ps_write_table_json(lacks, &text, err);
        code = code == PS_OK ? ps_arrow_note(rows, "lacks", ps_buf_str(&text), err) : code;
    }
    ps_buf_fini(&text);
    ps_table_free(lacks);
    return code;
}

ps_arrow *ps_sql_arrow_of(ps_sql *s, const char *text, const char *name, ps_err *err) {
    ps_arrow *a = ps_arrow_new();
    ps_code code = a != NULL ? ps_sql_run(s, text, name, keep_columns, a, err) : ps_fail_nomem(err);
    code = code == PS_OK ? ps_sql_note_lacks(s, a, err) : code;
    if (code != PS_OK) {
        ps_arrow_free(a);
        return NULL;
    }
    return a;
}

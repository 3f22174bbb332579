#include "read/chrome/pipescope_json_tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/literal.h"

#define MAX_COLUMNS ((size_t)1024)

void ps_json_tables_end(ps_json_tables *t) {
    if (t->open != NULL) {
        ps_builder_side_table(t->builder, t->open);
        t->open = NULL;
    }
}

/* "integer", "real, ns" */
static bool take_column_type(const ps_literal *told, ps_column *out) {
    static const char *const TYPES[] = {
        [PS_COL_INT] = "integer", [PS_COL_REAL] = "real", [PS_COL_TEXT] = "text"};
    const char *text = ps_literal_str(told);
    size_t n = text != NULL ? strcspn(text, ",") : 0;
    const char *unit = text != NULL && text[n] == ',' ? text + n + 1 : "";
    unit += strspn(unit, " ");
    out->unit = PS_UNIT_NONE;
    while (out->unit < PS_UNIT_MHZ && strcmp(ps_unit_name(out->unit), unit) != 0) {
        out->unit++;
    }
    out->type = PS_COL_INT;
    while (text != NULL && out->type <= PS_COL_TEXT &&
           (strlen(TYPES[out->type]) != n || memcmp(TYPES[out->type], text, n) != 0)) {
        out->type++;
    }
    return text != NULL && out->type <= PS_COL_TEXT && strcmp(ps_unit_name(out->unit), unit) == 0;
}

/* 0: it is no list of columns. */
static size_t count_columns(const ps_literal *columns) {
    size_t n = 0;
    ps_column column;
    bool is_object = columns != NULL && columns->kind == PS_LITERAL_OBJECT;
    for (const ps_literal *c = is_object ? columns->child : NULL; c != NULL; c = c->next) {
        if (++n > MAX_COLUMNS || !take_column_type(c, &column)) {
            return 0;
        }
    }
    return n;
}

/* The columns live in the arena of the table. */
static ps_table *new_own_table(const char *name, const ps_literal *columns, size_t n) {
    ps_table *table = ps_table_new(name, "", NULL, n);
    ps_column *own = table != NULL ? ps_arena_alloc(&table->arena, n * sizeof *own) : NULL;
    size_t at = 0;
    for (const ps_literal *c = columns->child; own != NULL && c != NULL; c = c->next, at++) {
        own[at] = (ps_column){.name = ps_arena_strndup(&table->arena, c->key, strlen(c->key))};
        (void)take_column_type(c, &own[at]);
        own = own[at].name != NULL ? own : NULL;
    }
    if (own == NULL) {
        ps_table_free(table);
        return NULL;
    }
    table->columns = own;
    return table;
}

ps_json_table_result ps_json_tables_begin(ps_json_tables *t, const char *name, const char *columns,
                                          size_t n_columns) {
    ps_err err = PS_ERR_INIT;
    ps_arena arena = {0};
    ps_json_tables_end(t);
    const ps_literal *told = ps_literal_parse(&arena, columns, n_columns, &err);
    size_t n = count_columns(told);
    if (n > 0 && name[0] != '\0') {
        t->open = new_own_table(name, told, n);
        err.code = t->open == NULL ? PS_NOMEM : PS_OK;
    }
    ps_arena_fini(&arena);
    return err.code == PS_NOMEM ? PS_JSON_TABLE_NOMEM
           : t->open != NULL    ? PS_JSON_TABLE_OK
                                : PS_JSON_TABLE_ODD;
}

/* Whether a cell may stand in the column. */
static bool fits_column(const ps_literal *cell, ps_col_type type) {
    switch (cell->kind) {
    case PS_LITERAL_NULL:
        return true;
    case PS_LITERAL_INT:
        return type == PS_COL_INT || type == PS_COL_REAL;
    case PS_LITERAL_NUMBER:
        return type == PS_COL_REAL;
    case PS_LITERAL_STRING:
        return type == PS_COL_TEXT;
    default:
        return false;
    }
}

static bool row_fits(const ps_table *t, const ps_literal *cells) {
    size_t n = 0;
    bool is_array = cells != NULL && cells->kind == PS_LITERAL_ARRAY;
    for (const ps_literal *c = is_array ? cells->child : NULL; c != NULL; c = c->next, n++) {
        if (n >= t->n_columns || !fits_column(c, t->columns[n].type)) {
            return false;
        }
    }
    return is_array && n == t->n_columns;
}

static bool add_own_table_row(ps_table *t, const ps_literal *cells) {
    bool ok = ps_table_add_row(t);
    size_t column = 0;
    for (const ps_literal *c = cells->child; ok && c != NULL; c = c->next, column++) {
        if (c->kind == PS_LITERAL_STRING) {
            ok = ps_table_set_text(t, column, c->text);
        } else if (c->kind != PS_LITERAL_NULL && t->columns[column].type == PS_COL_INT) {
            ps_table_set_int(t, column, c->integer);
        } else if (c->kind != PS_LITERAL_NULL) {
            bool is_whole = c->kind == PS_LITERAL_INT;
            ps_table_set_real(t, column, is_whole ? (double)c->integer : strtod(c->text, NULL));
        }
    }
    return ok;
}

ps_json_table_result ps_json_tables_row(ps_json_tables *t, const char *cells, size_t n_cells) {
    if (t->open == NULL) {
        return PS_JSON_TABLE_ODD;
    }
    ps_err err = PS_ERR_INIT;
    ps_arena arena = {0};
    const ps_literal *told = ps_literal_parse(&arena, cells, n_cells, &err);
    bool fits = row_fits(t->open, told);
    bool ok = fits ? add_own_table_row(t->open, told) : err.code != PS_NOMEM;
    ps_arena_fini(&arena);
    return !ok ? PS_JSON_TABLE_NOMEM : fits ? PS_JSON_TABLE_OK : PS_JSON_TABLE_ODD;
}

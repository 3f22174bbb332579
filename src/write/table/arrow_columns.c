#include "write/table/arrow_columns.h"

#include <string.h>

#include "base/alloc.h"
#include "base/utf8_text.h"
#include "write/out/number_text.h"

enum { MOST_NAME_BYTES = 512 };

#define MOST_TEXT_BYTES ((size_t)1 << 40)

ps_arrow *ps_arrow_new(void) {
    ps_arrow *a = ps_calloc(1, sizeof *a);
    if (a != NULL) {
        a->n_users = 1;
    }
    return a;
}

ps_arrow *ps_arrow_share(ps_arrow *a) {
    (void)atomic_fetch_add(&a->n_users, 1);
    return a;
}

void ps_arrow_free(ps_arrow *a) {
    if (a == NULL || atomic_fetch_sub(&a->n_users, 1) > 1) {
        return;
    }
    for (size_t i = 0; a->columns != NULL && i < a->n_columns; i++) {
        ps_free(a->columns[i].numbers);
        ps_free(a->columns[i].valid);
        ps_buf_fini(&a->columns[i].text);
    }
    ps_free(a->columns);
    ps_arena_fini(&a->arena);
    ps_free(a);
}

ps_code ps_arrow_rename(ps_arrow *a, size_t i, const char *name, ps_err *err) {
    a->columns[i].name = ps_arena_strndup(&a->arena, name, strlen(name));
    return a->columns[i].name != NULL ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_arrow_note(ps_arrow *a, const char *key, const char *text, ps_err *err) {
    a->note_key = ps_arena_strndup(&a->arena, key, strlen(key));
    a->note = ps_arena_strndup(&a->arena, text, strlen(text));
    bool ok = a->note_key != NULL && a->note != NULL;
    a->note_key = ok ? a->note_key : NULL;
    return ok ? PS_OK : ps_fail_nomem(err);
}

size_t ps_arrow_n_rows(const ps_arrow *a) {
    return a->n_rows;
}

/* --- types ------------------------------------------------------------------------------------------------------- */

ps_arrow_type ps_arrow_type_of(const ps_arrow_column *c) {
    static const ps_arrow_type INTEGER = {PS_ARROW_INT, "l"};
    static const ps_arrow_type REAL = {PS_ARROW_FLOAT, "g"};
    static const ps_arrow_type TEXT = {PS_ARROW_LARGE_UTF8, "U"};
    return c->type == PS_COL_INT ? INTEGER : c->type == PS_COL_REAL ? REAL : TEXT;
}

/* --- rows -------------------------------------------------------------------------------------------------------- */

static ps_code begin_columns(ps_arrow *a, const ps_table *t, ps_err *err) {
    if (t->n_columns > PS_ARROW_MOST_COLUMNS) {
        return ps_fail(err, PS_RANGE, "a table of Arrow has at most %d columns here",
                       PS_ARROW_MOST_COLUMNS);
    }
    a->columns = ps_calloc(t->n_columns + 1, sizeof *a->columns);
    a->n_columns = a->columns != NULL ? t->n_columns : 0;
    for (size_t i = 0; i < a->n_columns; i++) {
        const ps_column *from = &t->columns[i];
        bool is_moment = from->exact && from->unit == PS_UNIT_NS;
        char name[MOST_NAME_BYTES];
        ps_table_file_name(t, i, name, sizeof name);
        a->columns[i].name = ps_arena_strndup(&a->arena, name, strlen(name));
        a->columns[i].type = from->type == PS_COL_STRING_ID ? PS_COL_TEXT : from->type;
        a->columns[i].unit = is_moment ? "ns since 1970" : ps_unit_name(from->unit);
        ps_buf_init(&a->columns[i].text, MOST_TEXT_BYTES);
        if (a->columns[i].name == NULL) {
            return ps_fail_nomem(err);
        }
    }
    return a->columns != NULL ? PS_OK : ps_fail_nomem(err);
}

bool ps_arrow_is_valid(const ps_arrow_column *c, size_t row) {
    return (c->valid[row / 8] >> row % 8 & 1) != 0;
}

/* Beyond these not every integer is a double. */
static bool is_exact(int64_t value) {
    return value >= -(INT64_C(1) << 53) && value <= INT64_C(1) << 53;
}

static void become_text(ps_arrow_column *c, size_t n_rows) {
    for (size_t row = 0; row < n_rows; row++) {
        ps_value cell = {.is_null = !ps_arrow_is_valid(c, row)};
        memcpy(&cell.u, &c->numbers[row + 1], sizeof *c->numbers);
        if (!cell.is_null) {
            ps_add_number(&c->text, c->type, &cell);
        }
        c->numbers[row + 1].i = (int64_t)c->text.len;
    }
    c->type = PS_COL_TEXT;
}

static void become_real(ps_arrow_column *c, size_t n_rows) {
    bool exact = true;
    for (size_t i = 1; i <= n_rows && exact; i++) {
        exact = is_exact(c->numbers[i].i);
    }
    if (!exact) {
        become_text(c, n_rows);
        return;
    }
    for (size_t i = 1; i <= n_rows; i++) {
        c->numbers[i].r = (double)c->numbers[i].i;
    }
    c->type = PS_COL_REAL;
}

/* The narrowest type that holds the value, too. */
static void widen(ps_arrow_column *c, ps_col_type type, const ps_value *cell, size_t n_rows) {
    if (!c->is_typed) {
        c->type = type;
        c->is_typed = true;
    }
    if (c->type == PS_COL_INT && type == PS_COL_REAL) {
        become_real(c, n_rows);
    }
    bool fits = c->type == type || c->type == PS_COL_TEXT ||
                (c->type == PS_COL_REAL && type == PS_COL_INT && is_exact(cell->u.i));
    if (!fits) {
        become_text(c, n_rows);
    }
}

static void put_value(ps_arrow_column *c, ps_col_type type, const ps_value *cell, size_t row) {
    widen(c, type, cell, row);
    c->valid[row / 8] |= (uint8_t)(1u << row % 8);
    if (c->type == PS_COL_TEXT && type == PS_COL_TEXT) {
        ps_utf8_add(&c->text, cell->u.text, strlen(cell->u.text));
    } else if (c->type == PS_COL_TEXT) {
        ps_add_number(&c->text, type, cell);
    } else if (c->type == PS_COL_REAL) {
        c->numbers[row + 1].r = type == PS_COL_INT ? (double)cell->u.i : cell->u.r;
    } else {
        c->numbers[row + 1].i = cell->u.i;
    }
}

/* For so many rows in all. */
static bool room_for(ps_arrow_column *c, size_t n_rows) {
    return ps_grow(&c->numbers, &c->cap_numbers, n_rows + 1, SIZE_MAX / 64, sizeof *c->numbers) &&
           ps_grow(&c->valid, &c->cap_valid, n_rows / 8 + 1, SIZE_MAX / 64, sizeof *c->valid);
}

/* Where there is room for the row. */
static bool add_cell(ps_arrow_column *c, ps_col_type type, const ps_value *cell, size_t row) {
    ps_arrow_number *number = &c->numbers[row + 1];
    c->valid[row / 8] = row % 8 == 0 ? 0 : c->valid[row / 8];
    number->i = 0;
    if (cell->is_null) {
        c->n_null++;
    } else if (c->is_typed && c->type == type && type != PS_COL_TEXT) {
        memcpy(number, &cell->u, sizeof *number);
        c->valid[row / 8] |= (uint8_t)(1u << row % 8);
    } else {
        put_value(c, type == PS_COL_STRING_ID ? PS_COL_TEXT : type, cell, row);
    }
    if (c->type == PS_COL_TEXT) {
        number->i = (int64_t)c->text.len;
    }
    return ps_buf_ok(&c->text);
}

ps_code ps_arrow_make_room(ps_arrow *a, size_t n, ps_err *err) {
    size_t end = a->n_rows + n;
    for (size_t i = 0; i < a->n_columns; i++) {
        ps_arrow_column *c = &a->columns[i];
        if (!room_for(c, end)) {
            return ps_fail_nomem(err);
        }
        c->numbers[0].i = 0;
        memset(c->numbers + a->n_rows + 1, 0, n * sizeof *c->numbers);
        size_t begun =
            a->n_rows % 8 == 0 ? 0 : 8 - a->n_rows % 8; /* bits of a byte with rows before */
        if (begun > 0) {
            c->valid[a->n_rows / 8] |= (uint8_t)(0xFFu << a->n_rows % 8);
        }
        if (n > begun) {
            memset(c->valid + (a->n_rows + begun) / 8, 0xFF, (n - begun + 7) / 8);
        }
        c->is_typed = c->is_typed || n > 0;
    }
    return PS_OK;
}

void ps_arrow_set_null(ps_arrow_column *c, size_t row) {
    c->valid[row / 8] &= (uint8_t) ~(1u << row % 8);
    c->numbers[row + 1].i = 0;
    c->n_null++;
}

ps_code ps_arrow_add(ps_arrow *a, const ps_table *t, size_t first, size_t end, ps_err *err) {
    ps_code code = a->columns == NULL ? begin_columns(a, t, err) : PS_OK;
    bool ok = code == PS_OK;
    for (size_t i = 0; i < a->n_columns && ok; i++) {
        ok = room_for(&a->columns[i], a->n_rows + end - first);
        if (ok) {
            a->columns[i].numbers[0].i = 0;
        }
    }
    for (size_t row = first; row < end && ok && a->n_columns > 0; row++) {
        const ps_value *cells = ps_table_cell(t, row, 0);
        for (size_t i = 0; i < a->n_columns && ok; i++) {
            ok = add_cell(&a->columns[i], t->columns[i].type, &cells[i], a->n_rows);
        }
        a->n_rows++;
    }
    return code == PS_OK && !ok ? ps_fail_nomem(err) : code;
}

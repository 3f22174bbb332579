#include "model/table.h"

#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_CELLS ((size_t)1 << 31)

/* Two rows next to each other are kept: who looks for runs of equal values compares them. */
enum { KEPT_ROWS = 2 };

typedef struct ps_made_rows {
    ps_row_maker maker;
    size_t row[KEPT_ROWS]; /* SIZE_MAX: none yet */
    char room[KEPT_ROWS][PS_ROW_ROOM];
    char *structs;    /* KEPT_ROWS of them, row_size apart */
    ps_value cells[]; /* KEPT_ROWS * n_columns */
} ps_made_rows;

ps_table *ps_table_new(const char *name, const char *title, const ps_column *columns,
                       size_t n_columns) {
    ps_table *t = ps_calloc(1, sizeof *t);
    if (t == NULL) {
        return NULL;
    }
    ps_arena_init(&t->arena);
    t->columns = columns;
    t->n_columns = n_columns;
    t->name = ps_arena_strndup(&t->arena, name, strlen(name));
    t->title = ps_arena_strndup(&t->arena, title, strlen(title));
    if (t->name == NULL || t->title == NULL) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}

ps_table *ps_table_new_made(const char *name, const char *title, const ps_column *columns,
                            size_t n_columns, size_t n_rows, ps_row_maker maker) {
    ps_table *t = ps_table_new(name, title, columns, n_columns);
    ps_made_rows *made =
        t != NULL ? ps_calloc(1, sizeof *made + KEPT_ROWS * n_columns * sizeof *made->cells) : NULL;
    size_t align = alignof(max_align_t);
    maker.row_size = (maker.row_size + align - 1) / align * align;
    char *structs = made != NULL ? ps_calloc(KEPT_ROWS, maker.row_size + 1) : NULL;
    if (structs == NULL) {
        ps_free(made);
        ps_table_free(t);
        maker.free_context(maker.context);
        return NULL;
    }
    made->maker = maker;
    made->structs = structs;
    made->row[0] = SIZE_MAX;
    made->row[1] = SIZE_MAX;
    t->made = made;
    t->n_rows = n_rows;
    return t;
}

void *ps_table_maker_context(const ps_table *t) {
    return t->made->maker.context;
}

void ps_table_free(ps_table *t) {
    if (t != NULL) {
        if (t->made != NULL) {
            t->made->maker.free_context(t->made->maker.context);
            ps_free(t->made->structs);
            ps_free(t->made);
        }
        ps_arena_fini(&t->arena);
        ps_free(t->cells);
        ps_free(t);
    }
}

size_t ps_table_bytes(const ps_table *t) {
    return sizeof *t + t->cap_cells * sizeof *t->cells + t->arena.size_bytes;
}

/* --- rows ------------------------------------------------------------------------------------------------- */

bool ps_table_add_row(ps_table *t) {
    if (t == NULL || t->failed) {
        return false;
    }
    size_t used = t->n_rows * t->n_columns;
    if (!ps_grow(&t->cells, &t->cap_cells, used + t->n_columns, MAX_CELLS, sizeof *t->cells)) {
        t->failed = true;
        return false;
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        t->cells[used + c] = (ps_value){.is_null = true};
    }
    t->n_rows++;
    return true;
}

void ps_table_fail(ps_table *t) {
    if (t != NULL) {
        t->failed = true;
    }
}

ps_table *ps_table_end(ps_table *t) {
    if (t != NULL && t->failed) {
        ps_table_free(t);
        return NULL;
    }
    return t;
}

static void set_cell(ps_table *t, size_t column, ps_value value) {
    if (t != NULL && !t->failed) {
        t->cells[(t->n_rows - 1) * t->n_columns + column] = value;
    }
}

void ps_table_set_int(ps_table *t, size_t column, int64_t value) {
    set_cell(t, column, (ps_value){.u.i = value});
}

void ps_table_set_real(ps_table *t, size_t column, double value) {
    set_cell(t, column, (ps_value){.u.r = value});
}

void ps_table_share_text(ps_table *t, size_t column, const char *text) {
    set_cell(t, column, (ps_value){.u.text = text});
}

bool ps_table_set_text(ps_table *t, size_t column, const char *text) {
    if (t == NULL || t->failed) {
        return false;
    }
    if (text != NULL) {
        const char *copy = ps_arena_strndup(&t->arena, text, strlen(text));
        t->failed = copy == NULL;
        ps_table_share_text(t, column, copy);
    }
    return !t->failed;
}

/* --- rows by descriptor ----------------------------------------------------------------------------------- */

/* The text lies where the row has it. */
static ps_value value_of_member(const ps_column *column, const void *row) {
    ps_value cell = {.is_null = true};
    switch (column->type) {
    case PS_COL_INT:
        cell.u.i = ps_member_int(row, column->member);
        cell.is_null = cell.u.i == PS_UNKNOWN_INT ||
                       (column->member.type == PS_MEMBER_U32 && cell.u.i == UINT32_MAX) ||
                       (column->unknown_below_zero && cell.u.i < 0);
        break;
    case PS_COL_REAL:
        cell.u.r = ps_member_real(row, column->member);
        cell.is_null = isnan(cell.u.r) || (column->unknown_below_zero && cell.u.r < 0);
        cell.u.r = column->divisor > 0 ? cell.u.r / column->divisor : cell.u.r;
        break;
    case PS_COL_TEXT:
    case PS_COL_STRING_ID:
        cell.u.text = ps_member_text(row, column->member);
        cell.is_null = cell.u.text == NULL;
        break;
    }
    return cell;
}

void ps_table_put(ps_table *t, const void *row) {
    if (!ps_table_add_row(t)) {
        return;
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        const ps_column *column = &t->columns[c];
        if (column->member.type == PS_MEMBER_NONE) {
            continue;
        }
        ps_value cell = value_of_member(column, row);
        bool is_text = column->type == PS_COL_TEXT || column->type == PS_COL_STRING_ID;
        if (cell.is_null) {
            continue;
        }
        if (is_text && !column->is_shared) {
            (void)ps_table_set_text(t, c, cell.u.text);
        } else {
            set_cell(t, c, cell);
        }
    }
}

void ps_table_put_all(ps_table *t, const void *rows, size_t n, size_t row_size) {
    if (rows == NULL) {
        ps_table_fail(t);
    }
    for (size_t r = 0; rows != NULL && r < n; r++) {
        ps_table_put(t, (const char *)rows + r * row_size);
    }
}

bool ps_column_same_cell(const ps_column *column, const ps_value *a, const ps_value *b) {
    if (a->is_null || b->is_null) {
        return a->is_null == b->is_null;
    }
    switch (column->type) {
    case PS_COL_INT:
        return a->u.i == b->u.i;
    case PS_COL_REAL:
        return memcmp(&a->u.r, &b->u.r, sizeof a->u.r) == 0;
    case PS_COL_TEXT:
    case PS_COL_STRING_ID:
        break;
    }
    return strcmp(a->u.text, b->u.text) == 0;
}

size_t ps_table_column(const ps_table *t, const char *name) {
    for (size_t c = 0; c < t->n_columns; c++) {
        if (strcmp(t->columns[c].name, name) == 0) {
            return c;
        }
    }
    return SIZE_MAX;
}

static void make_by_struct(const ps_table *t, size_t row, ps_value *cells, char *row_struct) {
    const ps_row_maker *maker = &t->made->maker;
    memset(row_struct, 0, maker->row_size);
    maker->fill(maker->context, row, row_struct);
    for (size_t c = 0; c < t->n_columns; c++) {
        if (t->columns[c].member.type != PS_MEMBER_NONE) {
            cells[c] = value_of_member(&t->columns[c], row_struct);
        }
    }
}

static const ps_value *made_row(const ps_table *t, size_t row) {
    ps_made_rows *made = t->made;
    size_t at = row % KEPT_ROWS;
    ps_value *cells = made->cells + at * t->n_columns;
    if (made->row[at] == row) {
        return cells;
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        cells[c] = (ps_value){.is_null = true};
    }
    if (made->maker.fill != NULL) {
        make_by_struct(t, row, cells, made->structs + at * made->maker.row_size);
    } else {
        made->maker.make(made->maker.context, row, cells, made->room[at]);
    }
    made->row[at] = row;
    return cells;
}

const ps_value *ps_table_cell(const ps_table *t, size_t row, size_t column) {
    if (t->made != NULL) {
        return made_row(t, row) + column;
    }
    return &t->cells[row * t->n_columns + column];
}

void ps_table_file_name(const ps_table *t, size_t column, char *out, size_t size) {
    const ps_column *c = &t->columns[column];
    const char *unit = c->unit == PS_UNIT_PERCENT    ? "percent"
                       : c->unit == PS_UNIT_GB_PER_S ? "gb_per_s"
                                                     : ps_unit_name(c->unit);
    bool plain = t->home == PS_HOME_RANK || t->names_fixed || unit[0] == '\0';
    (void)snprintf(out, size, "%s%s%s", c->name, plain ? "" : "_", plain ? "" : unit);
}

void ps_table_header(const ps_table *t, size_t column, char *out, size_t size) {
    const char *header = t->columns[column].header;
    if (header != NULL) {
        (void)snprintf(out, size, "%s", header);
    } else {
        ps_table_file_name(t, column, out, size);
    }
}

const char *ps_unit_name(ps_unit unit) {
    switch (unit) {
    case PS_UNIT_NS:
        return "ns";
    case PS_UNIT_US:
        return "us";
    case PS_UNIT_MS:
        return "ms";
    case PS_UNIT_BYTES:
        return "bytes";
    case PS_UNIT_PERCENT:
        return "%";
    case PS_UNIT_MB:
        return "MB";
    case PS_UNIT_GB_PER_S:
        return "GB/s";
    case PS_UNIT_TFLOPS:
        return "TFLOPS";
    case PS_UNIT_MHZ:
        return "MHz";
    case PS_UNIT_NONE:
    case PS_UNIT_COUNT:
        break;
    }
    return "";
}

/* --- as bytes ------------------------------------------------------------------------------------------------------ */

/* `member` is for rows that are put, and those are all there. */
static void column_archive(ps_archive *a, void *column) {
    ps_column *x = column;
    PS_ARCHIVE_BELOW(a, x, type, PS_COL_STRING_ID + 1);
    PS_ARCHIVE_BELOW(a, x, unit, PS_UNIT_MHZ + 1);
    PS_ARCHIVE(a, x, name, sql_type, exact, header, is_member, is_beside, is_key, width, shown,
               merged, divisor, unknown_below_zero);
    if (ps_archive_is_reading(a) && x->name == NULL) {
        ps_archive_refuse(a, "column");
    }
}

static void same_archive(ps_archive *a, void *column) {
    ps_same_column *x = column;
    PS_ARCHIVE(a, x, name, value);
    if (ps_archive_is_reading(a) && x->name == NULL) {
        ps_archive_refuse(a, "column");
    }
}

/* One cell under its column. */
typedef struct table_cell {
    ps_value *value;
    const ps_column *column;
} table_cell;

static void cell_archive(ps_archive *a, table_cell *x) {
    PS_ARCHIVE(a, x, value->is_null);
    if (x->value->is_null) {
        return;
    }
    if (ps_column_is_text(x->column)) {
        PS_ARCHIVE(a, x, value->u.text);
    } else if (x->column->type == PS_COL_INT) {
        PS_ARCHIVE(a, x, value->u.i);
    } else {
        PS_ARCHIVE(a, x, value->u.r);
    }
}

/* A row takes a byte for each of its cells at least. */
static void cells_archive(ps_archive *a, ps_table *t) {
    size_t n_rows = t->n_rows;
    ps_archive_member(a, PS_ARCHIVE_UNSIGNED, "n_rows", &n_rows, sizeof n_rows);
    for (size_t row = 0; row < n_rows && ps_archive_ok(a); row++) {
        if (ps_archive_is_reading(a) && !ps_table_add_row(t)) {
            ps_archive_nomem(a);
            return;
        }
        for (size_t c = 0; c < t->n_columns; c++) {
            ps_value *value = ps_archive_is_reading(a)
                                  ? &t->cells[row * t->n_columns + c]
                                  : (ps_value *)(uintptr_t)ps_table_cell(t, row, c);
            cell_archive(a, &(table_cell){value, &t->columns[c]});
        }
    }
}

void ps_table_archive(ps_archive *a, ps_table **table) {
    void *at = *table;
    ps_table *t = ps_archive_object(a, &at, sizeof *t);
    *table = at;
    if (t == NULL) {
        return;
    }
    ps_arena *before = ps_archive_use_arena(a, &t->arena);
    PS_ARCHIVE(a, t, name, title, home, mode, rank_index, to, file, is_sheet, names_fixed);
    PS_ARCHIVE_IN_ARENA(a, t, columns, n_columns, column_archive);
    PS_ARCHIVE_IN_ARENA(a, t, same, n_same, same_archive);
    if (ps_archive_is_reading(a) && (t->name == NULL || t->title == NULL || t->n_columns == 0)) {
        ps_archive_refuse(a, "table");
    }
    cells_archive(a, t);
    (void)ps_archive_use_arena(a, before);
}

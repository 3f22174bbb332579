#include "model/table.h"

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
    if (made == NULL) {
        ps_table_free(t);
        maker.free_context(maker.context);
        return NULL;
    }
    made->maker = maker;
    made->row[0] = SIZE_MAX;
    made->row[1] = SIZE_MAX;
    t->made = made;
    t->n_rows = n_rows;
    return t;
}

void ps_table_free(ps_table *t) {
    if (t != NULL) {
        if (t->made != NULL) {
            t->made->maker.free_context(t->made->maker.context);
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

bool ps_table_add_row(ps_table *t) {
    size_t used = t->n_rows * t->n_columns;
    if (!ps_grow(&t->cells, &t->cap_cells, used + t->n_columns, MAX_CELLS, sizeof *t->cells)) {
        return false;
    }
    for (size_t c = 0; c < t->n_columns; c++) {
        t->cells[used + c] = (ps_value){.is_null = true};
    }
    t->n_rows++;
    return true;
}

static ps_value *last_cell(ps_table *t, size_t column) {
    return &t->cells[(t->n_rows - 1) * t->n_columns + column];
}

void ps_table_set_int(ps_table *t, size_t column, int64_t value) {
    *last_cell(t, column) = (ps_value){.u.i = value};
}

void ps_table_set_real(ps_table *t, size_t column, double value) {
    *last_cell(t, column) = (ps_value){.u.r = value};
}

bool ps_table_set_text(ps_table *t, size_t column, const char *text) {
    if (text == NULL) {
        return true;
    }
    const char *copy = ps_arena_strndup(&t->arena, text, strlen(text));
    if (copy == NULL) {
        return false;
    }
    *last_cell(t, column) = (ps_value){.u.text = copy};
    return true;
}

void ps_table_share_text(ps_table *t, size_t column, const char *text) {
    *last_cell(t, column) = (ps_value){.u.text = text};
}

size_t ps_table_column(const ps_table *t, const char *name) {
    for (size_t c = 0; c < t->n_columns; c++) {
        if (strcmp(t->columns[c].name, name) == 0) {
            return c;
        }
    }
    return SIZE_MAX;
}

static const ps_value *made_row(const ps_table *t, size_t row) {
    ps_made_rows *made = t->made;
    size_t at = row % KEPT_ROWS;
    ps_value *cells = made->cells + at * t->n_columns;
    if (made->row[at] != row) {
        for (size_t c = 0; c < t->n_columns; c++) {
            cells[c] = (ps_value){.is_null = true};
        }
        made->maker.make(made->maker.context, row, cells, made->room[at]);
        made->row[at] = row;
    }
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

#include "model/table.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

#define MAX_CELLS ((size_t)1 << 31)

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

void ps_table_free(ps_table *t) {
    if (t != NULL) {
        ps_arena_fini(&t->arena);
        ps_free(t->cells);
        ps_free(t);
    }
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

const ps_value *ps_table_cell(const ps_table *t, size_t row, size_t column) {
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

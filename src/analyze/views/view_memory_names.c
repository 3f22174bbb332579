/* memory_names: what the operators of a name allocated together. Made of the rows of memory_operators, so that both say the same. */
#include <string.h>

#include "analyze/views/memory_held.h"
#include "base/alloc.h"
#include "base/num.h"
#include "base/sort.h"

typedef struct name_row {
    const char *name; /* of the table below; "" none */
    int64_t n, sum_bytes, most_bytes;
} name_row;

static const ps_column COLUMNS[] = {
    {.name = "name", PS_FIELD(name_row, name)},
    {.name = "number", PS_FIELD(name_row, n), .unit = PS_UNIT_COUNT},
    {.name = "size", PS_FIELD(name_row, sum_bytes), .unit = PS_UNIT_BYTES},
    {.name = "largest", PS_FIELD(name_row, most_bytes), .unit = PS_UNIT_BYTES},
};

static const ps_sort_key BY_NAME[] = {PS_UP(name_row, name)};
static const ps_sort_key LARGEST_FIRST[] = {PS_DOWN(name_row, sum_bytes), PS_UP(name_row, name)};

/* One row an operator, those of a name side by side; NULL: no memory. */
static name_row *rows_of_operators(const ps_table *ops) {
    size_t name = ps_table_column(ops, "name");
    size_t size = ps_table_column(ops, "size");
    name_row *rows = ps_calloc(ops->n_rows + 1, sizeof *rows);
    for (size_t i = 0; rows != NULL && i < ops->n_rows; i++) {
        const ps_value *text = ps_table_cell(ops, i, name);
        const ps_value *bytes = ps_table_cell(ops, i, size);
        int64_t own = bytes->is_null ? 0 : bytes->u.i;
        rows[i] = (name_row){text->is_null ? "" : text->u.text, 1, own, own};
    }
    if (rows != NULL) {
        ps_sort_by(rows, ops->n_rows, sizeof *rows, PS_KEYS(BY_NAME));
    }
    return rows;
}

/* In place; how many names there are. */
static size_t add_up_names(name_row *rows, size_t n) {
    size_t n_names = 0;
    for (size_t i = 0; i < n; i++) {
        name_row *last = n_names > 0 ? &rows[n_names - 1] : NULL;
        if (last == NULL || strcmp(last->name, rows[i].name) != 0) {
            rows[n_names++] = rows[i];
            continue;
        }
        last->n++;
        last->sum_bytes = ps_i64_plus(last->sum_bytes, rows[i].sum_bytes);
        last->most_bytes =
            rows[i].most_bytes > last->most_bytes ? rows[i].most_bytes : last->most_bytes;
    }
    return n_names;
}

static ps_table *make_memory_names(const ps_view_input *in, ps_err *err) {
    ps_table *ops = ps_view_memory_operators.make(in, err);
    if (ops == NULL) {
        return NULL;
    }
    ps_table *t = ps_table_new("memory_names", "memory by name of operator", PS_COLUMNS(COLUMNS));
    name_row *rows = rows_of_operators(ops);
    size_t n = rows != NULL ? add_up_names(rows, ops->n_rows) : 0;
    if (rows != NULL) {
        ps_sort_by(rows, n, sizeof *rows, PS_KEYS(LARGEST_FIRST));
    }
    ps_table_put_all(t, rows, n, sizeof *rows);
    ps_free(rows);
    ps_table_free(ops);
    t = ps_table_end(t);
    if (t == NULL) {
        (void)ps_fail_nomem(err);
    }
    return t;
}

static const ps_view_param PARAMS[] = {PS_MEMORY_WHICH}; /* for memory_operators */

const ps_view ps_view_memory_names = {.name = "memory_names",
                                      .title = "Memory by name of operator",
                                      .tab = PS_TAB_MEMORY,
                                      .uses = PS_VIEW_LINKS,
                                      .params = PARAMS,
                                      .n_params = sizeof PARAMS / sizeof *PARAMS,
                                      .make = make_memory_names};

/* [
 *  {"rank": 0, "time": 12500000},
 *  {"rank": 1, "time": null}
 * ] */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "write/out/number_text.h"
#include "write/out/writers.h"

static void add_table_json_cell(ps_buf *out, const ps_column *column, const ps_value *cell) {
    bool not_finite = column->type == PS_COL_REAL && !cell->is_null && !isfinite(cell->u.r);
    if (cell->is_null || not_finite) {
        ps_buf_add_str(out, "null");
    } else if (column->type == PS_COL_INT || column->type == PS_COL_REAL) {
        ps_add_number(out, column->type, cell);
    } else {
        ps_buf_add_json_str(out, cell->u.text, strlen(cell->u.text));
    }
}

/* What stands before each cell of a row: `, "name": `, one after the other, each with a zero byte behind it. */
static void make_keys(const ps_table *table, ps_buf *keys) {
    for (size_t c = 0; c < table->n_columns; c++) {
        char name[128];
        ps_table_file_name(table, c, name, sizeof name);
        ps_buf_add_str(keys, c > 0 ? ", " : "");
        ps_buf_add_json_str(keys, name, strlen(name));
        ps_buf_add(keys, ": ", 3);
    }
}

static void add_table_json_row(const ps_table *table, size_t row, const char *key, ps_buf *out) {
    ps_buf_add_char(out, '{');
    for (size_t c = 0; c < table->n_columns; c++) {
        size_t n = strlen(key);
        ps_buf_add(out, key, n);
        key += n + 1;
        add_table_json_cell(out, &table->columns[c], ps_table_cell(table, row, c));
    }
    ps_buf_add_char(out, '}');
}

ps_code ps_write_table_json_part(const ps_table *table, size_t first, size_t end, ps_buf *out,
                                 ps_err *err) {
    ps_buf keys = {0};
    make_keys(table, &keys);
    ps_buf_add_str(out, first == 0 ? "[" : "");
    for (size_t r = first; r < end && ps_buf_ok(&keys); r++) {
        ps_buf_add_str(out, r > 0 ? ",\n " : "\n ");
        add_table_json_row(table, r, ps_buf_str(&keys), out);
    }
    if (end == table->n_rows) {
        ps_buf_add_str(out, table->n_rows > 0 ? "\n]\n" : "]\n");
    }
    bool ok = ps_buf_ok(&keys) && ps_buf_ok(out);
    ps_buf_fini(&keys);
    return ok ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_write_table_jsonl_part(const ps_table *table, size_t first, size_t end, ps_buf *out,
                                  ps_err *err) {
    ps_buf keys = {0};
    make_keys(table, &keys);
    for (size_t r = first; r < end && ps_buf_ok(&keys); r++) {
        add_table_json_row(table, r, ps_buf_str(&keys), out);
        ps_buf_add_char(out, '\n');
    }
    bool ok = ps_buf_ok(&keys) && ps_buf_ok(out);
    ps_buf_fini(&keys);
    return ok ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_write_table_json(const ps_table *table, ps_buf *out, ps_err *err) {
    return ps_write_table_json_part(table, 0, table->n_rows, out, err);
}

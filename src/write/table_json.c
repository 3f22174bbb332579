/* [
 *  {"rank": 0, "time": 12500000},
 *  {"rank": 1, "time": null}
 * ] */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "write/number_text.h"
#include "write/writers.h"

static void add_cell(ps_buf *out, const ps_column *column, const ps_value *cell) {
    char real[PS_NUMBER_TEXT];
    bool not_finite = column->type == PS_COL_REAL && !cell->is_null && !isfinite(cell->u.r);
    if (cell->is_null || not_finite) {
        ps_buf_add_str(out, "null");
        return;
    }
    switch (column->type) {
    case PS_COL_INT:
        ps_buf_addf(out, "%lld", (long long)cell->u.i);
        break;
    case PS_COL_REAL:
        ps_real_shortest(cell->u.r, real);
        ps_buf_add_str(out, real);
        break;
    case PS_COL_TEXT:
    case PS_COL_STRING_ID:
        ps_buf_add_json_str(out, cell->u.text, strlen(cell->u.text));
        break;
    }
}

ps_code ps_write_table_json_part(const ps_table *table, size_t first, size_t end, ps_buf *out,
                                 ps_err *err) {
    ps_buf_add_str(out, first == 0 ? "[" : "");
    for (size_t r = first; r < end; r++) {
        ps_buf_add_str(out, r > 0 ? ",\n {" : "\n {");
        for (size_t c = 0; c < table->n_columns; c++) {
            char name[128];
            ps_table_file_name(table, c, name, sizeof name);
            ps_buf_add_str(out, c > 0 ? ", " : "");
            ps_buf_add_json_str(out, name, strlen(name));
            ps_buf_add_str(out, ": ");
            add_cell(out, &table->columns[c], ps_table_cell(table, r, c));
        }
        ps_buf_add_char(out, '}');
    }
    if (end == table->n_rows) {
        ps_buf_add_str(out, table->n_rows > 0 ? "\n]\n" : "]\n");
    }
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_write_table_json(const ps_table *table, ps_buf *out, ps_err *err) {
    return ps_write_table_json_part(table, 0, table->n_rows, out, err);
}

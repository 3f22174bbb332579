/* RFC 4180. An empty text is written "" so that it stays apart from NULL, an empty field. A text that a spreadsheet would take for a
 * formula gets an apostrophe in front, which spreadsheets take for "text": names come out of profiles, whoever made those. */
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "write/out/number_text.h"
#include "write/out/writers.h"

static bool is_formula(const char *text, size_t n) {
    return n > 1 && strchr("=+-@\t\r", text[0]) != NULL && !ps_json_is_number(text, n);
}

static void add_field(ps_buf *out, const char *text) {
    size_t n = 0;
    bool is_plain = true;
    bool is_escaped = is_formula(text, strlen(text));
    for (; text[n] != '\0'; n++) {
        is_plain =
            is_plain && text[n] != '"' && text[n] != ',' && text[n] != '\r' && text[n] != '\n';
    }
    if (n > 0 && is_plain) {
        ps_buf_add_str(out, is_escaped ? "'" : "");
        ps_buf_add(out, text, n);
        return;
    }
    ps_buf_add_str(out, is_escaped ? "\"'" : "\"");
    for (const char *p = text; *p != '\0'; p++) {
        if (*p == '"') {
            ps_buf_add_char(out, '"');
        }
        ps_buf_add_char(out, *p);
    }
    ps_buf_add_char(out, '"');
}

static void add_csv_cell(ps_buf *out, const ps_column *column, const ps_value *cell) {
    if (cell->is_null) {
        return;
    }
    if (column->type == PS_COL_INT || column->type == PS_COL_REAL) {
        ps_add_number(out, column->type, cell);
    } else {
        add_field(out, cell->u.text);
    }
}

static void add_header(const ps_table *table, ps_buf *out) {
    for (size_t c = 0; c < table->n_columns; c++) {
        ps_buf_add_str(out, c > 0 ? "," : "");
        char name[128];
        ps_table_header(table, c, name, sizeof name);
        add_field(out, name);
    }
    ps_buf_add_str(out, "\r\n");
}

ps_code ps_write_table_csv_part(const ps_table *table, size_t first, size_t end, ps_buf *out,
                                ps_err *err) {
    if (first == 0) {
        add_header(table, out);
    }
    for (size_t r = first; r < end; r++) {
        for (size_t c = 0; c < table->n_columns; c++) {
            if (c > 0) {
                ps_buf_add_char(out, ',');
            }
            add_csv_cell(out, &table->columns[c], ps_table_cell(table, r, c));
        }
        ps_buf_add(out, "\r\n", 2);
    }
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_write_table_csv(const ps_table *table, ps_buf *out, ps_err *err) {
    return ps_write_table_csv_part(table, 0, table->n_rows, out, err);
}

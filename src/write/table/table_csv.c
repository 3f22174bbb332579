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

/* As itself, with no byte that has a meaning in a csv file. */
static bool is_plain_field(const char *text, size_t n) {
    bool is_plain = n > 0;
    for (size_t i = 0; i < n; i++) {
        is_plain &= (text[i] != '"') & (text[i] != ',') & (text[i] != '\r') & (text[i] != '\n');
    }
    return is_plain;
}

static void add_field(ps_buf *out, const char *text) {
    size_t n = strlen(text);
    char *room = ps_buf_room(out, 2 * n + 3); /* all of it quotes, those around it, an apostrophe */
    if (room == NULL) {
        return;
    }
    char *at = room;
    bool is_plain = is_plain_field(text, n);
    if (!is_plain) {
        *at++ = '"';
    }
    if (is_formula(text, n)) {
        *at++ = '\'';
    }
    if (is_plain) {
        memcpy(at, text, n);
        ps_buf_wrote(out, (size_t)(at - room) + n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        *at = '"';
        at += text[i] == '"';
        *at++ = text[i];
    }
    *at++ = '"';
    ps_buf_wrote(out, (size_t)(at - room));
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
        const ps_value *cells = ps_table_cell(table, r, 0);
        for (size_t c = 0; c < table->n_columns; c++) {
            if (c > 0) {
                ps_buf_add_char(out, ',');
            }
            add_csv_cell(out, &table->columns[c], &cells[c]);
        }
        ps_buf_add(out, "\r\n", 2);
    }
    return ps_buf_ok(out) ? PS_OK : ps_fail_nomem(err);
}

ps_code ps_write_table_csv(const ps_table *table, ps_buf *out, ps_err *err) {
    return ps_write_table_csv_part(table, 0, table->n_rows, out, err);
}

#include "query/schema_text.h"

#include <string.h>

#include "query/job_tables.h"
#include "query/schema.h"

enum { MOST_CELLS = 4 };

/* A table of Markdown whose columns stand below one another also as plain text. */
typedef struct md_table {
    const char *const *head;
    size_t n_columns;
    const char *(*cell)(const void *rows, size_t row, size_t column);
    const void *rows;
    size_t n_rows;
} md_table;

static size_t md_width(const md_table *t, size_t column) {
    size_t width = strlen(t->head[column]);
    for (size_t r = 0; r < t->n_rows; r++) {
        size_t n = strlen(t->cell(t->rows, r, column));
        width = n > width ? n : width;
    }
    return width;
}

static void put_md_table(const md_table *t, ps_buf *out) {
    size_t widths[MOST_CELLS];
    for (size_t c = 0; c < t->n_columns; c++) {
        widths[c] = md_width(t, c);
        ps_buf_addf(out, "| %-*s ", (int)widths[c], t->head[c]);
    }
    ps_buf_add_str(out, "|\n");
    for (size_t c = 0; c < t->n_columns; c++) {
        ps_buf_add_str(out, "|");
        ps_buf_add_fill(out, '-', widths[c] + 2);
    }
    ps_buf_add_str(out, "|\n");
    for (size_t r = 0; r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            ps_buf_addf(out, "| %-*s ", (int)widths[c], t->cell(t->rows, r, c));
        }
        ps_buf_add_str(out, "|\n");
    }
}

/* --- columns of a table ------------------------------------------------------------------------------------------ */

static const char *column_cell(const void *rows, size_t row, size_t column) {
    static const char *const TYPES[] = {
        [PS_SQL_INTEGER] = "integer", [PS_SQL_REAL] = "real",        [PS_SQL_TEXT] = "text",
        [PS_SQL_ANY] = "any",         [PS_SQL_DURATION] = "integer", [PS_SQL_MOMENT] = "integer"};
    static const char *const UNITS[] = {
        [PS_SQL_DURATION] = "ns", [PS_SQL_MOMENT] = "ns since 1970"};
    const ps_sql_column *c = &((const ps_sql_column *)rows)[row];
    bool has_unit = c->type == PS_SQL_DURATION || c->type == PS_SQL_MOMENT;
    return column == 0   ? c->name
           : column == 1 ? TYPES[c->type]
           : column == 2 ? has_unit ? UNITS[c->type] : ""
                         : c->text;
}

static void put_table(const ps_sql_table *t, ps_buf *out) {
    static const char *const HEAD[] = {"column", "type", "unit", "what it is"};
    const md_table columns = {HEAD, 4, column_cell, t->columns, t->n_columns};
    ps_buf_addf(out, "\n## %s\n\n%s\n\n", t->name, t->text);
    put_md_table(&columns, out);
    ps_buf_addf(out, "\n```sql\n%s\n```\n", t->example);
}

/* --- modes ------------------------------------------------------------------------------------------------------- */

static const char *mode_cell(const void *rows, size_t row, size_t column) {
    const ps_mode_table *m = &((const ps_mode_table *)rows)[row];
    return column == 0 ? m->table : column == 1 ? m->mode : m->text;
}

static void put_modes(ps_buf *out) {
    static const char *const HEAD[] = {"table", "made by", "what it holds"};
    md_table t = {HEAD, 3, mode_cell, ps_mode_tables, 0};
    while (ps_mode_tables[t.n_rows].mode != NULL) {
        t.n_rows++;
    }
    ps_buf_add_str(
        out,
        "\n## Tables of modes\n\n"
        "What `pipescope cluster -m MODE` makes for the whole job, and (chart) what `pipescope chart` prints. The first table of a\n"
        "mode has the mode's name, too. A mode runs over all ranks when a query names one of its tables, and writes nothing.\n"
        "Columns are those of the mode (docs/modes), named as in its csv files; what is no letter or digit is `_`:\n"
        "`warm-up_ns` is `warm_up_ns`.\n\n");
    put_md_table(&t, out);
    ps_buf_add_str(
        out,
        "\n```sql\nSELECT stage, max(bubble_percent) FROM PipelineBubble GROUP BY stage\n```\n");
}

/* --- functions --------------------------------------------------------------------------------------------------- */

static const char *function_cell(const void *rows, size_t row, size_t column) {
    return ((const char *const *)rows)[2 * row + column];
}

static void put_functions(ps_buf *out) {
    static const char *const FUNCTIONS[] = {
        "overlap(a0, a1, b0, b1)",
        "what [a0, a1) and [b0, b1) share, 0 where they do not meet",
        "percentile(x, p)",
        "aggregate: the value at position (n - 1) p / 100 of the sorted x, between two of them in a straight line",
        "name_like(text, part)",
        "whether the text holds the part, in whatever case",
        "name_like(text, part, how)",
        "letters in `how`: c case differs, w whole words, r the part is a regular expression",
        "human_ns(x)",
        "a number of nanoseconds as text: 18.3 ms",
    };
    static const char *const HEAD[] = {"function", "what it gives"};
    const md_table t = {HEAD, 2, function_cell, FUNCTIONS,
                        sizeof FUNCTIONS / sizeof *FUNCTIONS / 2};
    ps_buf_add_str(
        out,
        "\n## Functions\n\nBeside [those of SQLite](https://www.sqlite.org/lang_corefunc.html):\n\n");
    put_md_table(&t, out);
    ps_buf_add_str(
        out,
        "\n```sql\nSELECT kind, human_ns(percentile(dur_ns, 99)) AS p99 FROM slice GROUP BY kind\n```\n");
}

/* --- the page ---------------------------------------------------------------------------------------------------- */

void ps_sql_schema_text(ps_buf *out) {
    ps_buf_add_str(
        out,
        "# Tables and functions of `pipescope query`\n\n"
        "`pipescope query --schema` prints this page. Moments count from 1970 by the clock of the rank's machine; those of `op` and\n"
        "`bubble` have the clocks of other machines taken off, as the chart has. NULL is what the capture does not say. `profile`, where it\n"
        "is not listed by `SELECT *`, tells profiles of the same rank number apart.\n");
    for (size_t i = 0; i < PS_N_SQL_TABLES; i++) {
        put_table(&ps_sql_tables[i], out);
    }
    put_modes(out);
    put_functions(out);
}

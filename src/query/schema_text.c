#include "query/schema_text.h"

#include <stdio.h>
#include <string.h>

#include "analyze/views/job_view.h"
#include "analyze/views/view.h"
#include "query/job_tables.h"
#include "query/made_columns.h"
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

/* Of a declaration ("INTEGER ns") the type, or the unit. */
typedef struct said_type {
    const char *type, *unit;
} said_type;

static said_type say_type(const char *declared) {
    static const char *const TYPES[][2] = {
        {"INTEGER", "integer"}, {"REAL", "real"}, {"TEXT", "text"}, {"BLOB", "any"}};
    said_type out = {"", ""};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        size_t n = strlen(TYPES[i][0]);
        if (strncmp(declared, TYPES[i][0], n) == 0) {
            out = (said_type){TYPES[i][1], declared + n + (declared[n] == ' ')};
        }
    }
    bool is_moment = strcmp(declared, ps_sql_type_name(PS_SQL_MOMENT)) == 0;
    out.unit = is_moment ? "ns since 1970" : out.unit;
    return out;
}

static const char *column_cell(const void *rows, size_t row, size_t column) {
    const ps_sql_column *c = &((const ps_sql_column *)rows)[row];
    said_type said = say_type(ps_sql_type_name(c->type));
    return column == 0 ? c->name : column == 1 ? said.type : column == 2 ? said.unit : c->text;
}

static void put_table(const ps_sql_table *t, ps_buf *out) {
    static const char *const HEAD[] = {"column", "type", "unit", "what it is"};
    const md_table columns = {HEAD, 4, column_cell, t->columns, t->n_columns};
    ps_buf_addf(out, "\n## %s\n\n%s\n\n", t->name, t->text);
    put_md_table(&columns, out);
    ps_buf_addf(out, "\n```sql\n%s\n```\n", t->example);
}

/* --- modes and views --------------------------------------------------------------------------------------------- */

static void put_made_columns(const char *table, ps_buf *out) {
    size_t n = 0;
    const ps_made_column *columns = ps_made_columns_of(table, &n);
    for (size_t i = 0; i < n; i++) {
        said_type said = say_type(columns[i].declared);
        ps_buf_addf(out, "%s`%s` %s%s%s", i > 0 ? ", " : "", columns[i].name, said.type,
                    said.unit[0] != '\0' ? " " : "", said.unit);
    }
}

static void put_made_table(const char *name, const char *text, const char *by, const char *example,
                           ps_buf *out) {
    ps_buf_addf(out, "\n### %s\n\n%s%s\n\n", name, text, by);
    put_made_columns(name, out);
    ps_buf_addf(out, "\n\n```sql\n%s\n```\n", example);
}

static const char *example_of_view(const char *view) {
    static const char *const EXAMPLES[][2] = {
#define X(name, example) {name, example},
#include "query/view_examples.def"
#undef X
    };
    for (size_t i = 0; i < sizeof EXAMPLES / sizeof *EXAMPLES; i++) {
        if (strcmp(EXAMPLES[i][0], view) == 0) {
            return EXAMPLES[i][1];
        }
    }
    return "";
}

static void put_modes(ps_buf *out) {
    ps_buf_add_str(
        out,
        "\n## Tables of modes\n\n"
        "What `pipescope cluster -m MODE` makes for the whole job, and (chart) what `pipescope chart` prints. The first table of a\n"
        "mode has the mode's name, too. A mode runs over all ranks when a query names one of its tables, and writes nothing;\n"
        "its options are those of this command (`pipescope query --help`). Columns are those of the mode (docs/modes), named as in its\n"
        "csv files; what is no letter or digit is `_`: `warm-up_ns` is `warm_up_ns`. A capture may lack some of them:\n"
        "`pipescope query PATH --schema` lists those that it has.\n");
    for (const ps_mode_table *m = ps_mode_tables; m->mode != NULL; m++) {
        char by[96];
        (void)snprintf(by, sizeof by, " Made by %s.", m->mode);
        put_made_table(m->name, m->text, by, m->example, out);
    }
}

/* " by: overall, stream or component (overall)." */
static void put_view_params(const ps_view *view, ps_buf *out) {
    for (size_t i = 0; i < view->n_params; i++) {
        const ps_view_param *p = &view->params[i];
        ps_buf_addf(out, " `%s`: %s", p->name, p->help);
        for (const char *c = p->choices; *c != '\0'; c++) {
            if (c == p->choices) {
                ps_buf_add_str(out, ", ");
            }
            ps_buf_add_str(out, *c == '|' ? " or " : (char[2]){*c, '\0'});
        }
        ps_buf_addf(out, " (%s).", p->fallback);
    }
}

static void put_views(ps_buf *out) {
    ps_buf_add_str(
        out,
        "\n## Views of a rank\n\n"
        "What the pages of the viewer show of one rank, with its `rank` in front, over all ranks that the query leaves. `slice` is slice.id.\n"
        "Parameters are hidden columns, and arguments: `memory_curve('stream')` is `memory_curve WHERE by = 'stream'`. So are\n"
        "`from_ns` and `to_ns`, ns since 1970: the span of time that is looked at; sums take of a slice only what lies inside.\n");
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        ps_buf more = {0};
        put_view_params(*v, &more);
        if (((*v)->uses & PS_VIEW_WHOLE) != 0) {
            ps_buf_add_str(&more, " Always of the whole capture.");
        }
        char title[96];
        (void)snprintf(title, sizeof title, "%s.", (*v)->title);
        put_made_table((*v)->name, title, ps_buf_str(&more), example_of_view((*v)->name), out);
        out->failed = out->failed || !ps_buf_ok(&more);
        ps_buf_fini(&more);
    }
    ps_buf_add_str(
        out,
        "\n## Views of all ranks\n\n"
        "What the pages of the viewer show of the job, of all its steps and stages. They are made of tables of modes.\n");
    for (const ps_job_view *v = ps_job_views; v->name != NULL; v++) {
        char by[96] = "";
        if (v->table != NULL) {
            (void)snprintf(by, sizeof by, " The table %s.", v->table);
        }
        char title[96];
        (void)snprintf(title, sizeof title, "%s.", v->title);
        put_made_table(v->name, title, by, example_of_view(v->name), out);
    }
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
        "`pipescope query --schema` prints this page. Tables of [traces, communication and the chart](#rank) come first, then\n"
        "[functions](#functions), what [modes](#tables-of-modes) make, and the viewer's [views of a rank](#views-of-a-rank) and\n"
        "[of all](#views-of-all-ranks). Moments count from 1970 by the clock of the rank's machine; those of `op` and `bubble` have the\n"
        "clocks of other machines taken off, as the chart has. NULL is what the capture does not say. `profile`, where it is not listed by\n"
        "`SELECT *`, tells profiles of the same rank number apart.\n");
    for (size_t i = 0; i < PS_N_SQL_TABLES; i++) {
        put_table(&ps_sql_tables[i], out);
    }
    put_functions(out);
    put_modes(out);
    put_views(out);
}

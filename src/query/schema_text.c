#include "query/schema_text.h"

#include <string.h>

#include "query/schema_list.h"

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
    ps_sql_listed_column c = ps_sql_column_at(rows, row);
    return column == 0 ? c.name : column == 1 ? c.type : column == 2 ? c.unit : c.text;
}

static void put_table(const ps_sql_listed *listed, ps_buf *out) {
    static const char *const HEAD[] = {"column", "type", "unit", "what it is"};
    const md_table columns = {HEAD, 4, column_cell, listed, ps_sql_n_columns(listed)};
    ps_buf_addf(out, "\n## %s\n\n%s\n\n", listed->name, listed->text);
    put_md_table(&columns, out);
    ps_buf_addf(out, "\n```sql\n%s\n```\n", listed->example);
}

/* --- modes and views --------------------------------------------------------------------------------------------- */

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

/* Whose table it is, and what can be said to it. */
static void put_made_about(const ps_sql_listed *listed, ps_buf *out) {
    if (listed->set == PS_SQL_OF_MODES) {
        ps_buf_addf(out, "%s Made by %s.", listed->text, listed->made_by);
        return;
    }
    ps_buf_addf(out, "%s.", listed->text);
    if (listed->made_by != NULL) {
        ps_buf_addf(out, " The table %s.", listed->made_by);
    }
    if (listed->view != NULL) {
        put_view_params(listed->view, out);
        ps_buf_add_str(
            out, (listed->view->uses & PS_VIEW_WHOLE) != 0 ? " Always of the whole capture." : "");
    }
}

static void put_made_table(const ps_sql_listed *listed, ps_buf *out) {
    ps_buf_addf(out, "\n### %s\n\n", listed->name);
    put_made_about(listed, out);
    ps_buf_add_str(out, "\n\n");
    for (size_t i = 0; i < ps_sql_n_columns(listed); i++) {
        ps_sql_listed_column c = ps_sql_column_at(listed, i);
        ps_buf_addf(out, "%s`%s` %s%s%s", i > 0 ? ", " : "", c.name, c.type,
                    c.unit[0] != '\0' ? " " : "", c.unit);
    }
    ps_buf_addf(out, "\n\n```sql\n%s\n```\n", listed->example);
}

/* --- functions --------------------------------------------------------------------------------------------------- */

static const char *function_cell(const void *rows, size_t row, size_t column) {
    const ps_sql_function *f = &((const ps_sql_function *)rows)[row];
    return column == 0 ? f->call : f->text;
}

static void put_functions(ps_buf *out) {
    static const char *const HEAD[] = {"function", "what it gives"};
    md_table t = {HEAD, 2, function_cell, ps_sql_functions, 0};
    while (ps_sql_functions[t.n_rows].call != NULL) {
        t.n_rows++;
    }
    ps_buf_add_str(
        out,
        "\n## Functions\n\nBeside [those of SQLite](https://www.sqlite.org/lang_corefunc.html):\n\n");
    put_md_table(&t, out);
    ps_buf_add_str(
        out,
        "\n```sql\nSELECT kind, human_ns(percentile(dur_ns, 99)) AS p99 FROM slice GROUP BY kind\n```\n");
}

/* --- the page ---------------------------------------------------------------------------------------------------- */

/* What stands before the tables of a set. */
static void begin_set(ps_sql_table_set set, ps_buf *out) {
    static const char *const TEXTS[] = {
        [PS_SQL_OF_TRACES] = "",
        [PS_SQL_OF_MODES] =
            "\n## Tables of modes\n\n"
            "What `pipescope cluster -m MODE` makes for the whole job, and (chart) what `pipescope chart` prints. The first table of a\n"
            "mode has the mode's name, too. A mode runs over all ranks when a query names one of its tables, and writes nothing;\n"
            "its options are those of this command (`pipescope query --help`). Columns are those of the mode (docs/modes), named as in its\n"
            "csv files; what is no letter or digit is `_`: `warm-up_ns` is `warm_up_ns`. A capture may lack some of them:\n"
            "`pipescope query PATH --schema` lists those that it has.\n",
        [PS_SQL_OF_VIEWS] =
            "\n## Views of a rank\n\n"
            "What the pages of the viewer show of one rank, with its `rank` in front, over all ranks that the query leaves. `slice` is slice.id.\n"
            "Parameters are hidden columns, and arguments: `memory_curve('stream')` is `memory_curve WHERE by = 'stream'`. So are\n"
            "`from_ns` and `to_ns`, ns since 1970: the span of time that is looked at; sums take of a slice only what lies inside.\n",
        [PS_SQL_OF_JOB_VIEWS] =
            ("\n## Views of all ranks\n\n"
             "What the pages of the viewer show of the job, of all its steps and stages. They are made of tables of modes.\n"),
    };
    if (set == PS_SQL_OF_MODES) {
        put_functions(out);
    }
    ps_buf_add_str(out, TEXTS[set]);
}

typedef struct listing {
    ps_buf *out;
    ps_sql_table_set set; /* that was begun */
} listing;

static void put_listed(void *context, const ps_sql_listed *listed) {
    listing *l = context;
    if (listed->set != l->set) {
        l->set = listed->set;
        begin_set(l->set, l->out);
    }
    if (listed->set == PS_SQL_OF_TRACES) {
        put_table(listed, l->out);
    } else {
        put_made_table(listed, l->out);
    }
}

void ps_sql_schema_text(ps_buf *out) {
    ps_buf_add_str(
        out,
        "# Tables and functions of `pipescope query`\n\n"
        "`pipescope query --schema` prints this page. Tables of [traces, communication and the chart](#rank) come first, then\n"
        "[functions](#functions), what [modes](#tables-of-modes) make, and the viewer's [views of a rank](#views-of-a-rank) and\n"
        "[of all](#views-of-all-ranks). Moments count from 1970 by the clock of the rank's machine; those of `op` and `bubble` have the\n"
        "clocks of other machines taken off, as the chart has. NULL is what the capture does not say. `profile`, where it is not listed by\n"
        "`SELECT *`, tells profiles of the same rank number apart.\n");
    listing l = {out, PS_SQL_OF_TRACES};
    ps_sql_each_table(put_listed, &l);
}

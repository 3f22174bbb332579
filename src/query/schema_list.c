#include "query/schema_list.h"

#include <string.h>

#include "analyze/views/job_view.h"
#include "query/job_tables.h"
#include "query/made_columns.h"

/* --- tables ------------------------------------------------------------------------------------------------------ */

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

void ps_sql_each_table(ps_sql_listed_fn *fn, void *context) {
    for (size_t i = 0; i < PS_N_SQL_TABLES; i++) {
        const ps_sql_table *t = &ps_sql_tables[i];
        fn(context, &(ps_sql_listed){t->name, t->text, t->example, PS_SQL_OF_TRACES, .table = t});
    }
    for (const ps_mode_table *m = ps_mode_tables; m->mode != NULL; m++) {
        fn(context,
           &(ps_sql_listed){m->name, m->text, m->example, PS_SQL_OF_MODES, .made_by = m->mode});
    }
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        fn(context, &(ps_sql_listed){(*v)->name, (*v)->title, example_of_view((*v)->name),
                                     PS_SQL_OF_VIEWS, .view = *v});
    }
    for (const ps_job_view *v = ps_job_views; v->name != NULL; v++) {
        fn(context, &(ps_sql_listed){v->name, v->title, example_of_view(v->name),
                                     PS_SQL_OF_JOB_VIEWS, .made_by = v->table});
    }
}

/* --- columns ----------------------------------------------------------------------------------------------------- */

/* Takes a declaration ("INTEGER ns") apart. */
static ps_sql_listed_column say_type(const char *declared) {
    static const char *const TYPES[][2] = {
        {"INTEGER", "integer"}, {"REAL", "real"}, {"TEXT", "text"}, {"BLOB", "any"}};
    ps_sql_listed_column out = {"", "", "", ""};
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        size_t n = strlen(TYPES[i][0]);
        if (strncmp(declared, TYPES[i][0], n) == 0) {
            out.type = TYPES[i][1];
            out.unit = declared + n + (declared[n] == ' ');
        }
    }
    bool is_moment = strcmp(declared, ps_sql_type_name(PS_SQL_MOMENT)) == 0;
    bool is_slice = strcmp(declared, ps_sql_type_name(PS_SQL_SLICE_ID)) == 0;
    out.unit = is_moment ? "ns since 1970" : is_slice ? "" : out.unit;
    return out;
}

size_t ps_sql_n_columns(const ps_sql_listed *listed) {
    size_t n = 0;
    if (listed->table != NULL) {
        return listed->table->n_columns;
    }
    (void)ps_made_columns_of(listed->name, &n);
    return n;
}

ps_sql_listed_column ps_sql_column_at(const ps_sql_listed *listed, size_t i) {
    size_t n = 0;
    const ps_sql_column *own = listed->table != NULL ? &listed->table->columns[i] : NULL;
    const ps_made_column *made = own == NULL ? &ps_made_columns_of(listed->name, &n)[i] : NULL;
    ps_sql_listed_column out = say_type(own != NULL ? ps_sql_type_name(own->type) : made->declared);
    out.name = own != NULL ? own->name : made->name;
    out.text = own != NULL ? own->text : "";
    return out;
}

/* --- functions and words ----------------------------------------------------------------------------------------- */

const ps_sql_function ps_sql_functions[] = {
    {"overlap(a0, a1, b0, b1)", "what [a0, a1) and [b0, b1) share, 0 where they do not meet"},
    {"percentile(x, p)",
     "aggregate: the value at position (n - 1) p / 100 of the sorted x, between two of them in a straight line"},
    {"name_like(text, part)", "whether the text holds the part, in whatever case"},
    {"name_like(text, part, how)",
     "letters in `how`: c case differs, w whole words, r the part is a regular expression"},
    {"human_ns(x)", "a number of nanoseconds as text: 18.3 ms"},
    {NULL, NULL}};

const char *const ps_sql_language[] = {
    "SELECT",   "DISTINCT",  "FROM",       "JOIN",        "LEFT",          "ON",     "WHERE",
    "AND",      "OR",        "NOT",        "IN",          "BETWEEN",       "LIKE",   "IS",
    "NULL",     "GROUP BY",  "HAVING",     "ORDER BY",    "DESC",          "LIMIT",  "OFFSET",
    "UNION",    "WITH",      "AS",         "CASE",        "WHEN",          "THEN",   "ELSE",
    "END",      "OVER",      "count(",     "sum(",        "avg(",          "min(",   "max(",
    "overlap(", "human_ns(", "name_like(", "percentile(", "group_concat(", "round(", "length(",
    NULL};

#include "query/words.h"

#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "analyze/views/job_view.h"
#include "analyze/views/view.h"
#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "query/job_tables.h"
#include "query/made_columns.h"
#include "query/schema.h"

/* --- tables ------------------------------------------------------------------------------------------------------ */

/* Each table with what it holds, and its number in ps_sql_tables or PS_N_SQL_TABLES. */
typedef void table_fn(void *context, const char *name, const char *text, size_t id);

static void each_table(table_fn *fn, void *context) {
    for (size_t i = 0; i < PS_N_SQL_TABLES; i++) {
        fn(context, ps_sql_tables[i].name, ps_sql_tables[i].text, i);
    }
    for (const ps_mode_table *m = ps_mode_tables; m->mode != NULL; m++) {
        fn(context, m->name, m->text, PS_N_SQL_TABLES);
    }
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        fn(context, (*v)->name, (*v)->title, PS_N_SQL_TABLES);
    }
    for (const ps_job_view *v = ps_job_views; v->name != NULL; v++) {
        fn(context, v->name, v->title, PS_N_SQL_TABLES);
    }
}

static void put_table_line(void *context, const char *name, const char *text, size_t id) {
    (void)id;
    ps_buf_addf(context, "%-37s  %s\n", name, text);
}

void ps_sql_put_tables(ps_buf *out) {
    each_table(put_table_line, out);
}

typedef struct table_row {
    const char *name, *text;
} table_row;

static void put_table_row(void *context, const char *name, const char *text, size_t id) {
    (void)id;
    ps_table_put(context, &(table_row){name, text});
}

ps_table *ps_sql_table_of_tables(void) {
    static const ps_column COLUMNS[] = {{.name = "name", PS_FIELD(table_row, name)},
                                        {.name = "text", PS_FIELD(table_row, text)}};
    ps_table *t = ps_table_new("tables", "", PS_COLUMNS(COLUMNS));
    each_table(put_table_row, t);
    return t;
}

typedef struct looked_for {
    const char *name;
    size_t n; /* bytes of it */
    const char *found;
    size_t id;
} looked_for;

static void look_at_table(void *context, const char *name, const char *text, size_t id) {
    looked_for *l = context;
    (void)text;
    if (strlen(name) == l->n && strncasecmp(name, l->name, l->n) == 0) {
        l->found = name;
        l->id = id;
    }
}

bool ps_sql_put_columns(const char *table, ps_buf *out) {
    looked_for l = {.name = table, .n = strcspn(table, " \t\r\n;")};
    each_table(look_at_table, &l);
    if (l.found != NULL && l.id < PS_N_SQL_TABLES) {
        for (size_t i = 0; i < ps_sql_tables[l.id].n_columns; i++) {
            const ps_sql_column *column = &ps_sql_tables[l.id].columns[i];
            ps_buf_addf(out, "%-24s  %-22s  %s\n", column->name, ps_sql_type_name(column->type),
                        column->text);
        }
    } else if (l.found != NULL) {
        size_t n = 0;
        const ps_made_column *columns = ps_made_columns_of(l.found, &n);
        for (size_t i = 0; i < n; i++) {
            ps_buf_addf(out, "%-24s  %s\n", columns[i].name, columns[i].declared);
        }
    }
    return l.found != NULL;
}

/* --- words ------------------------------------------------------------------------------------------------------- */

static bool add_word(ps_words *words, const char *word) {
    bool ok = ps_grow(&words->at, &words->cap, words->n + 1, SIZE_MAX / 64, sizeof *words->at);
    if (ok) {
        words->at[words->n++] = word;
    }
    return ok;
}

typedef struct adding {
    ps_words *words;
    bool ok;
} adding;

static void add_table_words(void *context, const char *name, const char *text, size_t id) {
    adding *a = context;
    size_t n = 0;
    const ps_made_column *columns = ps_made_columns_of(name, &n);
    (void)text;
    a->ok = a->ok && add_word(a->words, name);
    for (size_t i = 0; i < n; i++) {
        a->ok = a->ok && add_word(a->words, columns[i].name);
    }
    for (size_t i = 0; id < PS_N_SQL_TABLES && i < ps_sql_tables[id].n_columns; i++) {
        a->ok = a->ok && add_word(a->words, ps_sql_tables[id].columns[i].name);
    }
}

static int compare_words(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool ps_sql_words(ps_words *out) {
    static const char *const SQL[] = {
        "SELECT",   "DISTINCT",  "FROM",       "JOIN",        "LEFT",          "ON",     "WHERE",
        "AND",      "OR",        "NOT",        "IN",          "BETWEEN",       "LIKE",   "IS",
        "NULL",     "GROUP BY",  "HAVING",     "ORDER BY",    "DESC",          "LIMIT",  "OFFSET",
        "UNION",    "WITH",      "AS",         "CASE",        "WHEN",          "THEN",   "ELSE",
        "END",      "OVER",      "count(",     "sum(",        "avg(",          "min(",   "max(",
        "overlap(", "human_ns(", "name_like(", "percentile(", "group_concat(", "round(", "length("};
    adding a = {out, true};
    each_table(add_table_words, &a);
    for (size_t i = 0; i < sizeof SQL / sizeof *SQL; i++) {
        a.ok = a.ok && add_word(out, SQL[i]);
    }
    if (!a.ok) {
        return false;
    }
    ps_sort(out->at, out->n, sizeof *out->at, compare_words);
    size_t n = 0;
    for (size_t i = 0; i < out->n; i++) {
        if (n == 0 || strcmp(out->at[n - 1], out->at[i]) != 0) {
            out->at[n++] = out->at[i];
        }
    }
    out->n = n;
    return true;
}

void ps_words_fini(ps_words *words) {
    ps_free(words->at);
    *words = (ps_words){0};
}

bool ps_sql_is_complete(const char *text) {
    return sqlite3_complete(text) != 0;
}

#include "query/words.h"

#include <sqlite3.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "base/order.h"
#include "base/sort.h"
#include "query/made_columns.h"
#include "query/schema_list.h"

/* --- tables ------------------------------------------------------------------------------------------------------ */

static void put_table_line(void *context, const ps_sql_listed *listed) {
    ps_buf_addf(context, "%-37s  %s\n", listed->name, listed->text);
}

void ps_sql_put_tables(ps_buf *out) {
    ps_sql_each_table(put_table_line, out);
}

typedef struct table_row {
    const char *name, *text;
} table_row;

static void put_table_row(void *context, const ps_sql_listed *listed) {
    ps_table_put(context, &(table_row){listed->name, listed->text});
}

ps_table *ps_sql_table_of_tables(void) {
    static const ps_column COLUMNS[] = {{.name = "name", PS_FIELD(table_row, name)},
                                        {.name = "text", PS_FIELD(table_row, text)}};
    ps_table *t = ps_table_new("tables", "", PS_COLUMNS(COLUMNS));
    ps_sql_each_table(put_table_row, t);
    return t;
}

typedef struct looked_for {
    const char *name;
    size_t n; /* bytes of it */
    bool is_found;
    ps_sql_listed found;
} looked_for;

static void look_at_table(void *context, const ps_sql_listed *listed) {
    looked_for *l = context;
    if (strlen(listed->name) == l->n && strncasecmp(listed->name, l->name, l->n) == 0) {
        l->is_found = true;
        l->found = *listed;
    }
}

bool ps_sql_put_columns(const char *table, ps_buf *out) {
    looked_for l = {.name = table, .n = strcspn(table, " \t\r\n;")};
    ps_sql_each_table(look_at_table, &l);
    const ps_sql_table *t = l.is_found ? l.found.table : NULL;
    for (size_t i = 0; t != NULL && i < t->n_columns; i++) {
        const ps_sql_column *column = &t->columns[i];
        ps_buf_addf(out, "%-24s  %-22s  %s\n", column->name, ps_sql_type_name(column->type),
                    column->text);
    }
    if (l.is_found && t == NULL) {
        size_t n = 0;
        const ps_made_column *columns = ps_made_columns_of(l.found.name, &n);
        for (size_t i = 0; i < n; i++) {
            ps_buf_addf(out, "%-24s  %s\n", columns[i].name, columns[i].declared);
        }
    }
    return l.is_found;
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

static void add_table_words(void *context, const ps_sql_listed *listed) {
    adding *a = context;
    a->ok = a->ok && add_word(a->words, listed->name);
    for (size_t i = 0; a->ok && i < ps_sql_n_columns(listed); i++) {
        a->ok = add_word(a->words, ps_sql_column_at(listed, i).name);
    }
}

static int compare_words(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

bool ps_sql_words(ps_words *out) {
    adding a = {out, true};
    ps_sql_each_table(add_table_words, &a);
    for (size_t i = 0; ps_sql_language[i] != NULL; i++) {
        a.ok = a.ok && add_word(out, ps_sql_language[i]);
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

/* The tables, columns and words of SQL for those who type queries. */
#ifndef PS_QUERY_WORDS_H
#define PS_QUERY_WORDS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "model/table.h"

typedef struct ps_words {
    const char **at; /* static texts, by their bytes, each once */
    size_t n, cap;
} ps_words;

/* Names of tables, columns and functions, and what SQL begins its clauses with. False when memory is out; ps_words_fini() in any case. */
bool ps_sql_words(ps_words *out);
void ps_words_fini(ps_words *words);

/* A row a table: its name and what it holds ("text"). The caller ends it with ps_table_end(). */
ps_table *ps_sql_table_of_tables(void);
/* A line a table: its name and what it holds. */
void ps_sql_put_tables(ps_buf *out);
/* A line a column: its name, and its type and unit. False: no table of that name (any case, blanks behind it do not count). */
bool ps_sql_put_columns(const char *table, ps_buf *out);

/* Whether the text is at least one whole statement, with its semicolon. */
bool ps_sql_is_complete(const char *text);

#endif

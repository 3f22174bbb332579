/* What a cursor is told of the rows that are wanted, in numbers: bounds of integer columns, texts that must be equal, sets of ranks.
 * SQLite looks at every row again, so that what cannot be told in this way (a text compared with a number) is only left out. */
#ifndef PS_QUERY_CONSTRAINTS_H
#define PS_QUERY_CONSTRAINTS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/trace_tables.h"

enum { PS_SQL_MOST_TERMS = 16 };

typedef struct ps_text_term {
    int column;
    char *text; /* sqlite3_free() */
} ps_text_term;

typedef struct ps_set_term {
    int column;
    int64_t *values; /* sqlite3_free() */
    size_t n;
} ps_set_term;

typedef struct ps_constraints {
    bool none; /* no row can be wanted: something was compared with NULL */
    ps_number_range ranges[PS_SQL_MOST_TERMS];
    ps_text_term texts[PS_SQL_MOST_TERMS];
    ps_set_term sets[PS_SQL_MOST_TERMS];
    size_t n_ranges, n_texts, n_sets;
} ps_constraints;

/* Which constraints of a plan are taken: `is_number` and `is_text` say of a column whether it can be, `is_set` whether an IN is wanted whole.
 * Gives them their numbers and writes them into *text (sqlite3_malloc), which ps_constraints_read() reads. How many, -1 when memory is
 * out. */
typedef struct ps_taken_columns {
    uint64_t numbers, texts, sets; /* bit i: column i */
} ps_taken_columns;
int ps_constraints_plan(sqlite3_index_info *plan, const ps_taken_columns *columns);

/* False when memory is out; ps_constraints_fini() in any case. */
bool ps_constraints_read(ps_constraints *c, const char *plan, int n, sqlite3_value **values);
void ps_constraints_fini(ps_constraints *c);

/* Whether the number may be wanted, by the ranges and sets of that column. */
bool ps_constraints_hold(const ps_constraints *c, int column, int64_t number);

#endif

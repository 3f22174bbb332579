/* The profiles that a cursor goes through: those that its constraints leave, in order, each in memory where rows are made of it. */
#ifndef PS_QUERY_PART_WALK_H
#define PS_QUERY_PART_WALK_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

#include "query/constraints.h"
#include "query/context.h"

typedef struct ps_part_walk {
    ps_sql_context *c;
    const ps_constraints *wanted;
    int rank_column, profile_column;
    bool reads;
    size_t next;
} ps_part_walk;

/* The next profile that is wanted and can be read, until ps_sql_part_leave(); NULL behind the last. An SQLite code, whose reason is the
 * table's. */
int ps_part_walk_next(ps_part_walk *w, sqlite3_vtab *table, ps_sql_part **out);

#endif

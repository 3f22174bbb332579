#include "query/part_walk.h"

static bool is_part_wanted(const void *context, const ps_sql_part *part) {
    const ps_part_walk *w = context;
    return ps_constraints_hold(w->wanted, w->rank_column, part->rank->rank) &&
           ps_constraints_hold(w->wanted, w->profile_column, (int64_t)part->index);
}

int ps_part_walk_next(ps_part_walk *w, sqlite3_vtab *table, ps_sql_part **out) {
    *out = NULL;
    while (w->next < w->c->cluster->n_ranks) {
        size_t index = w->next++;
        if (!is_part_wanted(w, &w->c->parts.parts[index])) {
            continue;
        }
        ps_sql_part *part = NULL;
        ps_err err = PS_ERR_INIT;
        if (ps_sql_part_enter(&w->c->parts, index, w->reads, is_part_wanted, w, &part, &err) !=
            PS_OK) {
            return ps_sql_table_fail(w->c, table, &err);
        }
        if (part->err.code == PS_OK || !w->reads) {
            *out = part;
            return SQLITE_OK;
        }
        ps_sql_part_leave(part);
    }
    return SQLITE_OK;
}

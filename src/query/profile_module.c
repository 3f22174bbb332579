/* The virtual tables made of one profile at a time (profile_tables.h): `kernel` and the views of the viewer. A cursor goes from profile to
 * profile; those that a query excludes are not read. Parameters of a view are hidden columns, which may also be given as arguments:
 * memory_curve('stream'). */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "query/constraints.h"
#include "query/context.h"
#include "query/made_columns.h"
#include "query/part_walk.h"
#include "query/profile_tables.h"
#include "query/schema.h"

typedef enum column_source {
    OF_TABLE,
    OF_RANK,
    OF_PROFILE,
    OF_PARAM,
    OF_FROM,
    OF_TO
} column_source;

typedef struct profile_column {
    const char *name, *declared;
    column_source source;
    bool hidden, is_number;
    size_t param; /* number of the view's, with OF_PARAM */
} profile_column;

enum { MOST_COLUMNS = 64 };

typedef struct profile_vtab {
    sqlite3_vtab base;
    ps_sql_context *c;
    const ps_view *view; /* NULL: kernel */
    profile_column columns[MOST_COLUMNS];
    size_t n_columns;
    int rank_column, profile_column;
    uint64_t numbers, asks; /* columns that are integers; that say what the view is asked */
} profile_vtab;

typedef struct profile_cursor {
    sqlite3_vtab_cursor base;
    profile_vtab *v;
    ps_constraints wanted;
    ps_part_walk walk;
    ps_profile_ask ask;
    char numbers[4][24]; /* of the ask, for parameters that were given as numbers */
    ps_sql_part *part;
    const ps_table *table;
    size_t place[MOST_COLUMNS]; /* in the table; SIZE_MAX: it has none of it */
    size_t row;
    bool is_end, any;
    ps_err nothing; /* why the first profile had no such table; PS_OK */
} profile_cursor;

typedef struct registered {
    ps_sql_context *c;
    const ps_view *view;
} registered;

/* --- columns ----------------------------------------------------------------------------------------------------- */

static void add_column(profile_vtab *v, profile_column column) {
    if (v->n_columns < MOST_COLUMNS) {
        size_t i = v->n_columns++;
        uint64_t bit = UINT64_C(1) << i;
        bool asks =
            column.source != OF_TABLE && column.source != OF_RANK && column.source != OF_PROFILE;
        v->columns[i] = column;
        v->numbers |= column.is_number ? bit : 0;
        v->asks |= asks ? bit : 0;
        v->rank_column = column.source == OF_RANK ? (int)i : v->rank_column;
        v->profile_column = column.source == OF_PROFILE ? (int)i : v->profile_column;
    }
}

static void add_kernel_columns(profile_vtab *v) {
    const ps_sql_table *form = &ps_sql_tables[PS_SQL_KERNEL];
    for (size_t i = 0; i < form->n_columns; i++) {
        const ps_sql_column *column = &form->columns[i];
        add_column(v, (profile_column){.name = column->name,
                                       .declared = ps_sql_type_name(column->type),
                                       .source = strcmp(column->name, "rank") == 0      ? OF_RANK
                                                 : strcmp(column->name, "profile") == 0 ? OF_PROFILE
                                                                                        : OF_TABLE,
                                       .hidden = column->hidden,
                                       .is_number = ps_sql_is_number(column)});
    }
}

static void add_view_columns(profile_vtab *v) {
    const char *integer = ps_sql_type_name(PS_SQL_INTEGER);
    const char *moment = ps_sql_type_name(PS_SQL_MOMENT);
    size_t n = 0;
    const ps_made_column *made = ps_made_columns_of(v->view->name, &n);
    add_column(v, (profile_column){"rank", integer, OF_RANK, false, true, 0});
    for (size_t i = 0; i < n; i++) {
        bool is_number = strncmp(made[i].declared, "INTEGER", strlen("INTEGER")) == 0;
        add_column(v,
                   (profile_column){made[i].name, made[i].declared, OF_TABLE, false, is_number, 0});
    }
    for (size_t i = 0; i < v->view->n_params; i++) {
        add_column(v, (profile_column){v->view->params[i].name, ps_sql_type_name(PS_SQL_TEXT),
                                       OF_PARAM, true, false, i});
    }
    if ((v->view->uses & PS_VIEW_WHOLE) == 0) {
        add_column(v, (profile_column){"from_ns", moment, OF_FROM, true, true, 0});
        add_column(v, (profile_column){"to_ns", moment, OF_TO, true, true, 0});
    }
    add_column(v, (profile_column){"profile", integer, OF_PROFILE, true, true, 0});
}

static int declare_profile_table(profile_vtab *v, sqlite3 *db) {
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendf(sql, "CREATE TABLE x(");
    for (size_t i = 0; i < v->n_columns; i++) {
        sqlite3_str_appendf(sql, "%s\"%w\" %s%s", i > 0 ? ", " : "", v->columns[i].name,
                            v->columns[i].declared, v->columns[i].hidden ? " HIDDEN" : "");
    }
    sqlite3_str_appendf(sql, ")");
    return ps_sql_declare(v->c, db, sqlite3_str_finish(sql));
}

/* --- the table --------------------------------------------------------------------------------------------------- */

static int profile_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                           sqlite3_vtab **out, char **message) {
    (void)argc;
    (void)argv;
    (void)message;
    const registered *r = aux;
    profile_vtab *v = ps_calloc(1, sizeof *v);
    if (v == NULL) {
        return SQLITE_NOMEM;
    }
    v->c = r->c;
    v->view = r->view;
    if (v->view == NULL) {
        add_kernel_columns(v);
    } else {
        add_view_columns(v);
    }
    int rc = declare_profile_table(v, db);
    if (rc != SQLITE_OK) {
        ps_free(v);
        return rc;
    }
    *out = &v->base;
    return SQLITE_OK;
}

static int profile_disconnect(sqlite3_vtab *base) {
    ps_free((profile_vtab *)base);
    return SQLITE_OK;
}

/* What a view is asked must be known before its rows are. */
static bool asks_are_taken(const profile_vtab *v, sqlite3_index_info *plan) {
    bool ok = true;
    for (int i = 0; i < plan->nConstraint; i++) {
        int column = plan->aConstraint[i].iColumn;
        bool asks = column >= 0 && column < MOST_COLUMNS && (v->asks >> column & 1) != 0 &&
                    plan->aConstraint[i].op == SQLITE_INDEX_CONSTRAINT_EQ;
        ok = ok && (!asks || plan->aConstraintUsage[i].argvIndex > 0);
        plan->aConstraintUsage[i].omit = asks;
    }
    return ok;
}

static int profile_best_index(sqlite3_vtab *base, sqlite3_index_info *plan) {
    profile_vtab *v = (profile_vtab *)base;
    uint64_t ranks = UINT64_C(1) << v->rank_column | UINT64_C(1) << v->profile_column;
    const ps_taken_columns columns = {
        .numbers = v->numbers, .texts = v->asks & ~v->numbers, .sets = ranks};
    int n = ps_constraints_plan(plan, &columns);
    if (n < 0) {
        return SQLITE_NOMEM;
    }
    if (!asks_are_taken(v, plan)) {
        return SQLITE_CONSTRAINT;
    }
    ps_sql_needs *needs = &v->c->parts.needs;
    needs->trace |= PS_VIEW_NEEDS;
    needs->links = true;
    double rows = 1e5 * (double)(v->c->cluster->n_ranks + 1);
    for (int i = 0; i < n; i++) {
        rows /= 4;
    }
    plan->estimatedRows = (sqlite3_int64)rows + 1;
    plan->estimatedCost = rows + 1000;
    return SQLITE_OK;
}

/* --- cursors ----------------------------------------------------------------------------------------------------- */

static int profile_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
    profile_cursor *cursor = ps_calloc(1, sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    cursor->v = (profile_vtab *)base;
    *out = &cursor->base;
    return SQLITE_OK;
}

static void leave_profile(profile_cursor *cursor) {
    ps_sql_part_leave(cursor->part);
    cursor->part = NULL;
    cursor->table = NULL;
}

static int profile_close(sqlite3_vtab_cursor *base) {
    profile_cursor *cursor = (profile_cursor *)base;
    leave_profile(cursor);
    ps_constraints_fini(&cursor->wanted);
    ps_free(cursor);
    return SQLITE_OK;
}

/* Where the columns stand in the table of this profile. */
static void place_columns(profile_cursor *cursor) {
    for (size_t i = 0; i < cursor->v->n_columns; i++) {
        cursor->place[i] = SIZE_MAX;
    }
    for (size_t at = 0; at < cursor->table->n_columns; at++) {
        char name[PS_SQL_NAME_BYTES];
        ps_sql_made_name(cursor->table, at, name);
        for (size_t i = 0; i < cursor->v->n_columns; i++) {
            const profile_column *column = &cursor->v->columns[i];
            if (column->source == OF_TABLE && strcmp(column->name, name) == 0) {
                cursor->place[i] = at;
            }
        }
    }
}

static int64_t origin_of_column(const profile_cursor *cursor, size_t place) {
    bool counts = cursor->v->view != NULL && ps_is_view_moment(&cursor->table->columns[place]);
    return counts ? ps_trace_origin_ns(cursor->part->trace) : 0;
}

static bool is_profile_row_wanted(const profile_cursor *cursor) {
    for (size_t i = 0; i < cursor->wanted.n_ranges; i++) {
        const ps_number_range *r = &cursor->wanted.ranges[i];
        size_t place = cursor->place[r->column];
        if (cursor->v->columns[r->column].source != OF_TABLE) {
            continue;
        }
        const ps_value *cell =
            place != SIZE_MAX ? ps_table_cell(cursor->table, cursor->row, place) : NULL;
        bool is_int = cell != NULL && cursor->table->columns[place].type == PS_COL_INT;
        if (cell == NULL || cell->is_null) {
            return false;
        }
        int64_t value = is_int ? cell->u.i + origin_of_column(cursor, place) : 0;
        if (is_int && (value < r->least || value > r->most)) {
            return false;
        }
    }
    return true;
}

static bool find_profile_row(profile_cursor *cursor) {
    while (cursor->row < cursor->table->n_rows && !is_profile_row_wanted(cursor)) {
        cursor->row++;
    }
    return cursor->row < cursor->table->n_rows;
}

/* Where all were looked at and none had any: that is an answer of its own. */
static int end_profiles(profile_cursor *cursor) {
    ps_sql_context *c = cursor->v->c;
    const ps_constraints *w = &cursor->wanted;
    cursor->is_end = true;
    bool all = w->n_sets == 0;
    for (size_t i = 0; i < w->n_ranges; i++) {
        column_source source = cursor->v->columns[w->ranges[i].column].source;
        all = all && source != OF_RANK && source != OF_PROFILE;
    }
    return all && !cursor->any && cursor->nothing.code != PS_OK
               ? ps_sql_table_fail(c, &cursor->v->base, &cursor->nothing)
               : SQLITE_OK;
}

static int next_profile(profile_cursor *cursor) {
    ps_sql_context *c = cursor->v->c;
    while (true) {
        leave_profile(cursor);
        int rc = ps_part_walk_next(&cursor->walk, &cursor->v->base, &cursor->part);
        if (rc != SQLITE_OK || cursor->part == NULL) {
            cursor->is_end = true;
            return rc == SQLITE_OK ? end_profiles(cursor) : rc;
        }
        ps_err err = PS_ERR_INIT;
        ps_code code =
            ps_profile_table(cursor->part, cursor->v->view, &cursor->ask, &cursor->table, &err);
        if (code == PS_NOTHING) {
            cursor->nothing = cursor->nothing.code == PS_OK ? err : cursor->nothing;
            continue;
        }
        if (code != PS_OK) {
            cursor->is_end = true;
            return ps_sql_table_fail(c, &cursor->v->base, &err);
        }
        cursor->any = true;
        cursor->row = 0;
        place_columns(cursor);
        if (find_profile_row(cursor)) {
            return SQLITE_OK;
        }
    }
}

/* The texts are those of the constraints, which live as long as the cursor stands. */
static void read_ask(profile_cursor *cursor) {
    ps_constraints *w = &cursor->wanted;
    cursor->ask = PS_PROFILE_ASK_ALL;
    cursor->ask.lang = cursor->v->c->opts.analysis.lang;
    for (size_t i = 0; i < w->n_texts; i++) {
        cursor->ask.values[cursor->v->columns[w->texts[i].column].param] = w->texts[i].text;
    }
    for (size_t i = 0; i < w->n_ranges; i++) {
        const ps_number_range *r = &w->ranges[i];
        column_source source = cursor->v->columns[r->column].source;
        size_t param = cursor->v->columns[r->column].param;
        if (r->least == r->most && (source == OF_FROM || source == OF_TO)) {
            *(source == OF_FROM ? &cursor->ask.from_ns : &cursor->ask.to_ns) = r->least;
        } else if (r->least == r->most && source == OF_PARAM) {
            (void)snprintf(cursor->numbers[param], sizeof cursor->numbers[param], "%lld",
                           (long long)r->least);
            cursor->ask.values[param] = cursor->numbers[param];
        }
    }
}

static int profile_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int n,
                          sqlite3_value **values) {
    (void)plan;
    profile_cursor *cursor = (profile_cursor *)base;
    profile_vtab *v = cursor->v;
    leave_profile(cursor);
    ps_constraints_fini(&cursor->wanted);
    cursor->walk = (ps_part_walk){.c = v->c,
                                  .wanted = &cursor->wanted,
                                  .rank_column = v->rank_column,
                                  .profile_column = v->profile_column,
                                  .reads = true};
    cursor->any = false;
    cursor->nothing = PS_ERR_INIT;
    cursor->is_end = false;
    if (!ps_constraints_read(&cursor->wanted, text, n, values)) {
        return SQLITE_NOMEM;
    }
    read_ask(cursor);
    if (cursor->wanted.none) {
        cursor->is_end = true;
        return SQLITE_OK;
    }
    return next_profile(cursor);
}

static int profile_next(sqlite3_vtab_cursor *base) {
    profile_cursor *cursor = (profile_cursor *)base;
    cursor->row++;
    return find_profile_row(cursor) ? SQLITE_OK : next_profile(cursor);
}

static int profile_eof(sqlite3_vtab_cursor *base) {
    return ((const profile_cursor *)base)->is_end;
}

static void put_cell(const profile_cursor *cursor, size_t place, sqlite3_context *out) {
    const ps_table *t = cursor->table;
    const ps_value *cell = ps_table_cell(t, cursor->row, place);
    if (cell->is_null) {
        return;
    }
    if (ps_column_is_text(&t->columns[place])) {
        sqlite3_result_text(out, cell->u.text, -1, SQLITE_TRANSIENT);
    } else if (t->columns[place].type == PS_COL_REAL) {
        sqlite3_result_double(out, cell->u.r);
    } else {
        sqlite3_result_int64(out, cell->u.i + origin_of_column(cursor, place));
    }
}

static int profile_cell(sqlite3_vtab_cursor *base, sqlite3_context *out, int column) {
    const profile_cursor *cursor = (const profile_cursor *)base;
    const profile_column *of = &cursor->v->columns[column];
    const char *value = NULL;
    switch (of->source) {
    case OF_RANK:
        sqlite3_result_int64(out, cursor->part->rank->rank);
        break;
    case OF_PROFILE:
        sqlite3_result_int64(out, (int64_t)cursor->part->index);
        break;
    case OF_PARAM:
        value = cursor->ask.values[of->param];
        value = value != NULL ? value : cursor->v->view->params[of->param].fallback;
        sqlite3_result_text(out, value, -1, SQLITE_TRANSIENT);
        break;
    case OF_FROM:
        if (cursor->ask.from_ns != INT64_MIN) {
            sqlite3_result_int64(out, cursor->ask.from_ns);
        }
        break;
    case OF_TO:
        if (cursor->ask.to_ns != INT64_MAX) {
            sqlite3_result_int64(out, cursor->ask.to_ns);
        }
        break;
    case OF_TABLE:
        if (cursor->place[column] != SIZE_MAX) {
            put_cell(cursor, cursor->place[column], out);
        }
        break;
    }
    return SQLITE_OK;
}

static int profile_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    const profile_cursor *cursor = (const profile_cursor *)base;
    *out = (sqlite3_int64)((uint64_t)cursor->part->index << 32 | (uint64_t)cursor->row);
    return SQLITE_OK;
}

static const sqlite3_module PROFILE_MODULE = {
    .iVersion = 1,
    .xConnect = profile_connect, /* no xCreate: the tables are there, none can be made */
    .xBestIndex = profile_best_index,
    .xDisconnect = profile_disconnect,
    .xDestroy = profile_disconnect,
    .xOpen = profile_open,
    .xClose = profile_close,
    .xFilter = profile_filter,
    .xNext = profile_next,
    .xEof = profile_eof,
    .xColumn = profile_cell,
    .xRowid = profile_rowid,
};

static int add_profile_table(sqlite3 *db, ps_sql_context *c, const char *name,
                             const ps_view *view) {
    registered *r = ps_alloc(sizeof *r);
    if (r == NULL) {
        return SQLITE_NOMEM;
    }
    *r = (registered){c, view};
    return sqlite3_create_module_v2(db, name, &PROFILE_MODULE, r, ps_free);
}

int ps_sql_add_profile_tables(sqlite3 *db, ps_sql_context *c) {
    int rc = add_profile_table(db, c, ps_sql_tables[PS_SQL_KERNEL].name, NULL);
    for (const ps_view *const *v = ps_views(); *v != NULL && rc == SQLITE_OK; v++) {
        rc = add_profile_table(db, c, (*v)->name, *v);
    }
    return rc;
}

/* The virtual tables over a ps_table of the whole job: communication, ops and bubbles of the chart, tables of modes, views of all ranks. Those
 * of modes and views get their columns from the table itself, so that they are made as soon as a query names them; columns that they have in
 * other captures alone are hidden ones: NULL, or what all rows have. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/alloc.h"
#include "query/constraints.h"
#include "query/context.h"
#include "query/job_tables.h"
#include "query/made_columns.h"

typedef struct registered {
    ps_sql_context *c;
    const ps_mode_table *mode; /* one of these two, or neither: a table of ps_sql_tables */
    const ps_job_view *view;
    ps_sql_table_id id;
} registered;

typedef struct job_vtab {
    sqlite3_vtab base;
    registered r;
    const ps_table *table; /* of a mode or view; one of ps_sql_tables when it is first read */
    const ps_made_column **lacking; /* columns behind its own */
    size_t n_lacking;
    uint64_t numbers;
} job_vtab;

typedef struct job_cursor {
    sqlite3_vtab_cursor base;
    ps_constraints wanted;
    size_t row;
} job_cursor;

/* --- columns ----------------------------------------------------------------------------------------------------- */

static bool has_column(const ps_table *t, const char *column) {
    bool any = false;
    for (size_t i = 0; i < t->n_columns && !any; i++) {
        char name[PS_SQL_NAME_BYTES];
        ps_sql_made_name(t, i, name);
        any = strcasecmp(name, column) == 0;
    }
    return any;
}

/* The columns that the table has in other captures and lacks in this one: a query that is written for all captures may name them. False:
 * memory is out. */
static bool find_lacking(job_vtab *v) {
    size_t n = 0;
    const char *name = v->r.mode != NULL ? v->r.mode->name : v->r.view->name;
    const ps_made_column *made = ps_made_columns_of(name, &n);
    v->lacking = n > 0 ? ps_calloc(n, sizeof *v->lacking) : NULL;
    for (size_t i = 0; v->lacking != NULL && i < n; i++) {
        if (!has_column(v->table, made[i].name)) {
            v->lacking[v->n_lacking++] = &made[i];
        }
    }
    return n == 0 || v->lacking != NULL;
}

static const ps_same_column *same_column(const ps_table *t, const char *name) {
    const ps_same_column *found = NULL;
    for (size_t i = 0; i < t->n_same && found == NULL; i++) {
        found = strcasecmp(t->same[i].name, name) == 0 ? &t->same[i] : NULL;
    }
    return found;
}

static int declare_columns(sqlite3 *db, const job_vtab *v) {
    sqlite3_str *sql = sqlite3_str_new(db);
    sqlite3_str_appendf(sql, "CREATE TABLE x(");
    size_t n = v->table != NULL ? v->table->n_columns : ps_sql_tables[v->r.id].n_columns;
    for (size_t i = 0; i < n; i++) {
        sqlite3_str_appendf(sql, i > 0 ? ", " : "");
        if (v->table != NULL) {
            char name[PS_SQL_NAME_BYTES];
            ps_sql_made_name(v->table, i, name);
            sqlite3_str_appendf(sql, "\"%w\" %s", name, ps_sql_column_type(&v->table->columns[i]));
        } else {
            const ps_sql_column *column = &ps_sql_tables[v->r.id].columns[i];
            sqlite3_str_appendf(sql, "\"%w\" %s", column->name, ps_sql_type_name(column->type));
        }
    }
    for (size_t i = 0; i < v->n_lacking; i++) {
        sqlite3_str_appendf(sql, ", \"%w\" %s HIDDEN", v->lacking[i]->name,
                            v->lacking[i]->declared);
    }
    sqlite3_str_appendf(sql, ")");
    return ps_sql_declare(v->r.c, db, sqlite3_str_finish(sql));
}

static uint64_t number_columns(const job_vtab *v) {
    uint64_t numbers = 0;
    size_t n = v->table != NULL ? v->table->n_columns : ps_sql_tables[v->r.id].n_columns;
    for (size_t i = 0; i < n && i < 64; i++) {
        bool is_number = v->table != NULL ? v->table->columns[i].type == PS_COL_INT
                                          : ps_sql_is_number(&ps_sql_tables[v->r.id].columns[i]);
        numbers |= is_number ? UINT64_C(1) << i : 0;
    }
    return numbers;
}

/* --- the table --------------------------------------------------------------------------------------------------- */

/* Made when it is first taken; each statement takes it anew, which tells what it asks (ps_job_was_asked). */
static ps_code take_table(job_vtab *v, ps_err *err) {
    return v->r.mode != NULL   ? ps_job_mode_table(v->r.c, v->r.mode, &v->table, err)
           : v->r.view != NULL ? ps_job_view_table(v->r.c, v->r.view, &v->table, err)
                               : ps_job_table(v->r.c, v->r.id, &v->table, err);
}

static int job_disconnect(sqlite3_vtab *base) {
    job_vtab *v = (job_vtab *)base;
    ps_free(v->lacking);
    ps_free(v);
    return SQLITE_OK;
}

static int job_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
                       sqlite3_vtab **out, char **message) {
    (void)argc;
    (void)argv;
    job_vtab *v = ps_calloc(1, sizeof *v);
    if (v == NULL) {
        return SQLITE_NOMEM;
    }
    v->r = *(const registered *)aux;
    ps_err err = PS_ERR_INIT;
    int rc = SQLITE_OK;
    bool is_made_of_modes = v->r.mode != NULL || v->r.view != NULL;
    if (is_made_of_modes && take_table(v, &err) != PS_OK) {
        rc = ps_sql_table_fail(v->r.c, &v->base, &err);
        *message = v->base.zErrMsg;
    }
    if (rc == SQLITE_OK && is_made_of_modes && !find_lacking(v)) {
        rc = SQLITE_NOMEM;
    }
    rc = rc == SQLITE_OK ? declare_columns(db, v) : rc;
    if (rc != SQLITE_OK) {
        (void)job_disconnect(&v->base);
        return rc;
    }
    v->numbers = number_columns(v);
    *out = &v->base;
    return SQLITE_OK;
}

static int job_best_index(sqlite3_vtab *base, sqlite3_index_info *plan) {
    job_vtab *v = (job_vtab *)base;
    const ps_taken_columns columns = {.numbers = v->numbers};
    int n = ps_constraints_plan(plan, &columns);
    if (n < 0) {
        return SQLITE_NOMEM;
    }
    double rows = v->table != NULL ? (double)v->table->n_rows : 1e4;
    for (int i = 0; i < n; i++) {
        rows /= 4;
    }
    plan->estimatedRows = (sqlite3_int64)rows + 1;
    plan->estimatedCost = (v->table != NULL ? (double)v->table->n_rows : 1e4) / (1 + n) + 10;
    return SQLITE_OK;
}

/* --- cursors ----------------------------------------------------------------------------------------------------- */

static int job_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out) {
    (void)base;
    job_cursor *cursor = ps_calloc(1, sizeof *cursor);
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    *out = &cursor->base;
    return SQLITE_OK;
}

static int job_close(sqlite3_vtab_cursor *base) {
    job_cursor *cursor = (job_cursor *)base;
    ps_constraints_fini(&cursor->wanted);
    ps_free(cursor);
    return SQLITE_OK;
}

static const ps_table *table_of_cursor(const sqlite3_vtab_cursor *base) {
    return ((const job_vtab *)base->pVtab)->table;
}

static bool is_job_row_wanted(const ps_table *t, const job_cursor *cursor) {
    const ps_constraints *w = &cursor->wanted;
    for (size_t i = 0; i < w->n_ranges; i++) {
        const ps_value *cell = ps_table_cell(t, cursor->row, (size_t)w->ranges[i].column);
        if (cell->is_null || cell->u.i < w->ranges[i].least || cell->u.i > w->ranges[i].most) {
            return false;
        }
    }
    return true;
}

static void find_job_row(sqlite3_vtab_cursor *base) {
    job_cursor *cursor = (job_cursor *)base;
    const ps_table *t = table_of_cursor(base);
    while (cursor->row < t->n_rows && !is_job_row_wanted(t, cursor)) {
        cursor->row++;
    }
}

static int job_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int n,
                      sqlite3_value **values) {
    (void)plan;
    job_vtab *v = (job_vtab *)base->pVtab;
    job_cursor *cursor = (job_cursor *)base;
    ps_err err = PS_ERR_INIT;
    if (take_table(v, &err) != PS_OK) {
        return ps_sql_table_fail(v->r.c, &v->base, &err);
    }
    ps_constraints_fini(&cursor->wanted);
    if (!ps_constraints_read(&cursor->wanted, text, n, values)) {
        return SQLITE_NOMEM;
    }
    cursor->row = cursor->wanted.none ? v->table->n_rows : 0;
    find_job_row(base);
    return SQLITE_OK;
}

static int job_next(sqlite3_vtab_cursor *base) {
    ((job_cursor *)base)->row++;
    find_job_row(base);
    return SQLITE_OK;
}

static int job_eof(sqlite3_vtab_cursor *base) {
    return ((const job_cursor *)base)->row >= table_of_cursor(base)->n_rows;
}

/* NULL, but for what all rows have. */
static void give_lacking(const ps_table *t, sqlite3_context *out, const ps_made_column *column) {
    const ps_same_column *same = same_column(t, column->name);
    if (same != NULL) {
        sqlite3_result_int64(out, same->value);
    }
}

static int job_column(sqlite3_vtab_cursor *base, sqlite3_context *out, int column) {
    const ps_table *t = table_of_cursor(base);
    if ((size_t)column >= t->n_columns) {
        const job_vtab *v = (const job_vtab *)base->pVtab;
        give_lacking(t, out, v->lacking[(size_t)column - t->n_columns]);
        return SQLITE_OK;
    }
    const ps_value *cell = ps_table_cell(t, ((const job_cursor *)base)->row, (size_t)column);
    const ps_column *of = &t->columns[column];
    if (cell->is_null) {
        return SQLITE_OK;
    }
    if (ps_column_is_text(of)) {
        sqlite3_result_text(out, cell->u.text, -1,
                            t->made == NULL ? SQLITE_STATIC : SQLITE_TRANSIENT);
    } else if (of->type == PS_COL_REAL) {
        sqlite3_result_double(out, cell->u.r);
    } else {
        sqlite3_result_int64(out, cell->u.i);
    }
    return SQLITE_OK;
}

static int job_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out) {
    *out = (sqlite3_int64)((const job_cursor *)base)->row;
    return SQLITE_OK;
}

static const sqlite3_module JOB_MODULE = {
    .iVersion = 1,
    .xConnect = job_connect, /* no xCreate: the tables are there, none can be made */
    .xBestIndex = job_best_index,
    .xDisconnect = job_disconnect,
    .xDestroy = job_disconnect,
    .xOpen = job_open,
    .xClose = job_close,
    .xFilter = job_filter,
    .xNext = job_next,
    .xEof = job_eof,
    .xColumn = job_column,
    .xRowid = job_rowid,
};

static int add_job_table(sqlite3 *db, const char *name, registered of) {
    registered *r = ps_alloc(sizeof *r);
    if (r == NULL) {
        return SQLITE_NOMEM;
    }
    *r = of;
    return sqlite3_create_module_v2(db, name, &JOB_MODULE, r, ps_free);
}

int ps_sql_add_job_tables(sqlite3 *db, ps_sql_context *c) {
    int rc = SQLITE_OK;
    for (int id = PS_SQL_FIRST_JOB_TABLE; id < (int)PS_N_SQL_TABLES && rc == SQLITE_OK; id++) {
        rc = add_job_table(db, ps_sql_tables[id].name,
                           (registered){.c = c, .id = (ps_sql_table_id)id});
    }
    const char *last = "";
    for (const ps_mode_table *m = ps_mode_tables; m->mode != NULL && rc == SQLITE_OK; m++) {
        rc = add_job_table(db, m->name, (registered){.c = c, .mode = m});
        bool is_first = strcmp(m->mode, last) != 0 && strcasecmp(m->mode, m->name) != 0;
        if (rc == SQLITE_OK && is_first) {
            rc = add_job_table(db, m->mode, (registered){.c = c, .mode = m});
        }
        last = m->mode;
    }
    for (const ps_job_view *v = ps_job_views; v->name != NULL && rc == SQLITE_OK; v++) {
        rc = add_job_table(db, v->name, (registered){.c = c, .view = v});
    }
    return rc;
}

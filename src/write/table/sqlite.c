#include "write/table/sqlite.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/fs.h"
#include "base/num.h"
#include "base/publish.h"
#include "base/strpool.h"

enum { BUSY_MS = 30000, AT_APPLICATION_ID = 68 /* in a database's header */ };

typedef struct writer {
    sqlite3 *db;
    const char *path;
    ps_err *err;
    bool makes_empty; /* a table without rows is made: readers of results expect it */
} writer;

static ps_code fail_sqlite(const writer *w, const char *what) {
    int rc = sqlite3_extended_errcode(w->db);
    ps_code code = PS_IO;
    const char *hint = "";
    switch (rc & 0xff) {
    case SQLITE_NOMEM:
        return ps_fail_nomem(w->err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        code = PS_BUSY;
        hint = " (another program is writing to it; run again when it has finished)";
        break;
    case SQLITE_FULL:
        hint = " (nothing was changed; free some space, or write copies elsewhere with -o DIR)";
        break;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM:
        code = PS_READONLY;
        hint = " (file or directory not writable: write copies with -o DIR)";
        break;
    default:
        break;
    }
    return ps_fail_file(w->err, code, w->path, "%s: %s%s", what, sqlite3_errmsg(w->db), hint);
}

static ps_code run_sql(const writer *w, const char *sql) {
    return sqlite3_exec(w->db, sql, NULL, NULL, NULL) == SQLITE_OK ? PS_OK
                                                                   : fail_sqlite(w, "writing");
}

static sqlite3_stmt *prepare_sqlite(const writer *w, const ps_buf *sql) {
    sqlite3_stmt *stmt = NULL;
    if (!ps_buf_ok(sql)) {
        (void)ps_fail_nomem(w->err);
        return NULL;
    }
    if (sqlite3_prepare_v2(w->db, ps_buf_str(sql), -1, &stmt, NULL) != SQLITE_OK) {
        (void)fail_sqlite(w, "preparing to write");
    }
    return stmt;
}

/* "name" with its quotes doubled. */
static void add_sqlite_name(ps_buf *sql, const char *name) {
    ps_buf_add_char(sql, '"');
    for (const char *p = name; *p != '\0'; p++) {
        ps_buf_add(sql, p, 1);
        if (*p == '"') {
            ps_buf_add_char(sql, '"');
        }
    }
    ps_buf_add_char(sql, '"');
}

/* Whether a statement has a row. What could not be looked up is an error: a table that is there must not count as absent. */
static ps_code has_object(const writer *w, const char *sql, const char *a, const char *b,
                          bool *found) {
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(w->db, sql, -1, &stmt, NULL);
    rc = rc == SQLITE_OK ? sqlite3_bind_text(stmt, 1, a, -1, SQLITE_STATIC) : rc;
    rc = rc == SQLITE_OK && b != NULL ? sqlite3_bind_text(stmt, 2, b, -1, SQLITE_STATIC) : rc;
    rc = rc == SQLITE_OK ? sqlite3_step(stmt) : rc;
    *found = rc == SQLITE_ROW;
    ps_code code = *found || rc == SQLITE_DONE ? PS_OK : fail_sqlite(w, "reading the schema");
    (void)sqlite3_finalize(stmt);
    return code;
}

static ps_code has_table(const writer *w, const char *name, bool *found) {
    return has_object(
        w, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE", name,
        NULL, found);
}

static ps_code has_column(const writer *w, const char *table, const char *column, bool *found) {
    return has_object(w, "SELECT 1 FROM pragma_table_xinfo(?1) WHERE name = ?2 COLLATE NOCASE",
                      table, column, found);
}

/* --- strings of the database --------------------------------------------------------------------------- */

/* Ids in STRING_IDS of the texts in the string columns of a table: found in one pass, added when new. */
typedef struct string_ids {
    ps_strpool pool;
    int64_t *ids; /* [id in pool], -1 not in the database */
    int64_t max_id;
} string_ids;

static bool collect_strings(string_ids *s, const ps_table *t) {
    for (size_t c = 0; c < t->n_columns; c++) {
        for (size_t r = 0; t->columns[c].type == PS_COL_STRING_ID && r < t->n_rows; r++) {
            const ps_value *v = ps_table_cell(t, r, c);
            if (!v->is_null &&
                ps_str_is_none(ps_strpool_add(&s->pool, v->u.text, strlen(v->u.text)))) {
                return false;
            }
        }
    }
    s->ids = ps_calloc(s->pool.n, sizeof *s->ids);
    for (size_t i = 0; s->ids != NULL && i < s->pool.n; i++) {
        s->ids[i] = -1;
    }
    return s->ids != NULL;
}

static ps_code find_strings(const writer *w, string_ids *s) {
    ps_code code =
        run_sql(w, "CREATE TABLE IF NOT EXISTS STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)");
    sqlite3_stmt *stmt = NULL;
    if (code != PS_OK) {
        return code;
    }
    if (sqlite3_prepare_v2(w->db, "SELECT id, value FROM STRING_IDS", -1, &stmt, NULL) !=
        SQLITE_OK) {
        return fail_sqlite(w, "reading STRING_IDS");
    }
    int rc = SQLITE_OK;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        int64_t id = sqlite3_column_int64(stmt, 0);
        const unsigned char *text = sqlite3_column_text(stmt, 1);
        s->max_id = id > s->max_id ? id : s->max_id;
        if (text != NULL) {
            ps_str known = ps_strpool_find(&s->pool, (const char *)text,
                                           (size_t)sqlite3_column_bytes(stmt, 1));
            s->ids[known.id] = id;
        }
    }
    code = rc == SQLITE_DONE ? PS_OK : fail_sqlite(w, "reading STRING_IDS");
    (void)sqlite3_finalize(stmt);
    return code;
}

static ps_code insert_strings(const writer *w, string_ids *s) {
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(w->db, "INSERT INTO STRING_IDS (id, value) VALUES (?1, ?2)", -1, &stmt,
                           NULL) != SQLITE_OK) {
        return fail_sqlite(w, "writing STRING_IDS");
    }
    ps_code code = PS_OK;
    for (uint32_t i = 1; code == PS_OK && i < s->pool.n; i++) {
        if (s->ids[i] >= 0) {
            continue;
        }
        if (s->max_id == INT64_MAX) {
            code = ps_fail_file(w->err, PS_RANGE, w->path,
                                "STRING_IDS holds the largest id there is: no string can be added");
            break;
        }
        s->ids[i] = ++s->max_id;
        sqlite3_bind_int64(stmt, 1, s->ids[i]);
        sqlite3_bind_text(stmt, 2, ps_strpool_get(&s->pool, (ps_str){i}), -1, SQLITE_STATIC);
        code = sqlite3_step(stmt) == SQLITE_DONE ? PS_OK : fail_sqlite(w, "writing STRING_IDS");
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return code;
}

static ps_code string_ids_init(const writer *w, const ps_table *t, string_ids *s) {
    *s = (string_ids){.max_id = -1};
    if (!ps_strpool_init(&s->pool) || !collect_strings(s, t)) {
        return ps_fail_nomem(w->err);
    }
    if (s->pool.n == 1) {
        return PS_OK; /* no string columns */
    }
    ps_code code = find_strings(w, s);
    return code == PS_OK ? insert_strings(w, s) : code;
}

static void string_ids_fini(string_ids *s) {
    ps_strpool_fini(&s->pool);
    ps_free(s->ids);
}

/* --- whole tables ---------------------------------------------------------------------------------------- */

static const char *sql_type(const ps_column *c) {
    if (c->sql_type != NULL) {
        return c->sql_type;
    }
    switch (c->type) {
    case PS_COL_REAL:
        return "REAL";
    case PS_COL_TEXT:
        return "TEXT";
    case PS_COL_INT:
    case PS_COL_STRING_ID:
        break;
    }
    return "INTEGER";
}

static ps_code create_table(const writer *w, const ps_table *t) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, "CREATE TABLE ");
    add_sqlite_name(&sql, t->name);
    for (size_t c = 0; c < t->n_columns; c++) {
        ps_buf_add_str(&sql, c == 0 ? " (" : ", ");
        add_sqlite_name(&sql, t->columns[c].name);
        ps_buf_addf(&sql, " %s", sql_type(&t->columns[c]));
    }
    ps_buf_add_char(&sql, ')');
    ps_code code = ps_buf_ok(&sql) ? run_sql(w, ps_buf_str(&sql)) : ps_fail_nomem(w->err);
    ps_buf_fini(&sql);
    return code;
}

/* ix_<table>_<key>[_<key>...] over the key columns; nothing without any. */
static ps_code create_index(const writer *w, const ps_table *t) {
    ps_buf name = {0};
    ps_buf keys = {0};
    ps_buf sql = {0};
    ps_buf_addf(&name, "ix_%s", t->name);
    bool any = false;
    for (size_t c = 0; c < t->n_columns; c++) {
        if (t->columns[c].is_key) {
            ps_buf_addf(&name, "_%s", t->columns[c].name);
            ps_buf_add_str(&keys, any ? ", " : "");
            add_sqlite_name(&keys, t->columns[c].name);
            any = true;
        }
    }
    ps_buf_add_str(&sql, "CREATE INDEX ");
    add_sqlite_name(&sql, ps_buf_str(&name));
    ps_buf_add_str(&sql, " ON ");
    add_sqlite_name(&sql, t->name);
    ps_buf_addf(&sql, " (%s)", ps_buf_str(&keys));
    bool ok = ps_buf_ok(&name) && ps_buf_ok(&keys) && ps_buf_ok(&sql);
    ps_code code = !ok ? ps_fail_nomem(w->err) : any ? run_sql(w, ps_buf_str(&sql)) : PS_OK;
    ps_buf_fini(&name);
    ps_buf_fini(&keys);
    ps_buf_fini(&sql);
    return code;
}

static void bind_value(sqlite3_stmt *stmt, int at, const ps_table *t, size_t row, size_t c,
                       const string_ids *s) {
    const ps_value *v = ps_table_cell(t, row, c);
    if (v->is_null) {
        sqlite3_bind_null(stmt, at);
        return;
    }
    switch (t->columns[c].type) {
    case PS_COL_INT:
        sqlite3_bind_int64(stmt, at, v->u.i);
        break;
    case PS_COL_REAL:
        sqlite3_bind_double(stmt, at, v->u.r);
        break;
    case PS_COL_TEXT:
        sqlite3_bind_text(stmt, at, v->u.text, -1, SQLITE_STATIC);
        break;
    case PS_COL_STRING_ID:
        sqlite3_bind_int64(stmt, at,
                           s->ids[ps_strpool_find(&s->pool, v->u.text, strlen(v->u.text)).id]);
        break;
    }
}

static ps_code insert_rows(const writer *w, const ps_table *t, const string_ids *s) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, "INSERT INTO ");
    add_sqlite_name(&sql, t->name);
    for (size_t c = 0; c < t->n_columns; c++) {
        ps_buf_add_str(&sql, c == 0 ? " VALUES (?" : ", ?");
    }
    ps_buf_add_char(&sql, ')');
    sqlite3_stmt *stmt = prepare_sqlite(w, &sql);
    ps_buf_fini(&sql);
    if (stmt == NULL) {
        return w->err != NULL ? w->err->code : PS_IO;
    }
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < t->n_rows; r++) {
        for (size_t c = 0; c < t->n_columns; c++) {
            bind_value(stmt, (int)c + 1, t, r, c, s);
        }
        code = sqlite3_step(stmt) == SQLITE_DONE ? PS_OK : fail_sqlite(w, t->name);
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return code;
}

static ps_code drop_table(const writer *w, const char *name) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, "DROP TABLE IF EXISTS ");
    add_sqlite_name(&sql, name);
    ps_code code = ps_buf_ok(&sql) ? run_sql(w, ps_buf_str(&sql)) : ps_fail_nomem(w->err);
    ps_buf_fini(&sql);
    return code;
}

static ps_code write_table(const writer *w, const ps_table *t) {
    bool is_there = false;
    ps_code code = t->mode == PS_TABLE_CREATE ? has_table(w, t->name, &is_there) : PS_OK;
    if (code != PS_OK || is_there) {
        return code;
    }
    code = drop_table(w, t->name);
    bool makes_empty =
        t->mode == PS_TABLE_CREATE || (t->mode == PS_TABLE_REPLACE && w->makes_empty);
    bool only_drop = t->n_rows == 0 && !makes_empty;
    if (code != PS_OK || only_drop) {
        return code;
    }
    string_ids s;
    code = string_ids_init(w, t, &s);
    code = code == PS_OK ? create_table(w, t) : code;
    code = code == PS_OK ? insert_rows(w, t, &s) : code;
    code = code == PS_OK ? create_index(w, t) : code;
    string_ids_fini(&s);
    return code;
}

/* --- columns added to a table by row id ----------------------------------------------------------------- */

/* The name of the row ids: one that no column of the table took for itself. */
static ps_code rowid_name(const writer *w, const char *table, const char **out) {
    static const char *const NAMES[] = {"rowid", "_rowid_", "oid"};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        bool is_taken = false;
        ps_code code = has_column(w, table, NAMES[i], &is_taken);
        if (code != PS_OK || !is_taken) {
            *out = NAMES[i];
            return code;
        }
    }
    return ps_fail_file(w->err, PS_UNSUPPORTED, w->path,
                        "table %s has columns named rowid, _rowid_ and oid, which hide its row ids",
                        table);
}

/* Rows of the database that have a value now and get none: set to NULL. `rows` are the sorted row ids of the
 * new values. */
static ps_code clear_others(const writer *w, const ps_table *t, const char *rowid,
                            const char *column, const int64_t *rows) {
    ps_buf sql = {0};
    ps_buf_addf(&sql, "SELECT %s FROM ", rowid);
    add_sqlite_name(&sql, t->name);
    ps_buf_add_str(&sql, " WHERE ");
    add_sqlite_name(&sql, column);
    ps_buf_add_str(&sql, " IS NOT NULL");
    sqlite3_stmt *select = prepare_sqlite(w, &sql);
    ps_buf_clear(&sql);
    ps_buf_add_str(&sql, "UPDATE ");
    add_sqlite_name(&sql, t->name);
    ps_buf_add_str(&sql, " SET ");
    add_sqlite_name(&sql, column);
    ps_buf_addf(&sql, " = NULL WHERE %s = ?1", rowid);
    sqlite3_stmt *clear = select != NULL ? prepare_sqlite(w, &sql) : NULL;
    ps_buf_fini(&sql);
    int64_t *old = NULL; /* collected first: a table is not changed while it is read */
    size_t n_old = 0;
    size_t cap_old = 0;
    ps_code code = clear != NULL ? PS_OK : (w->err != NULL ? w->err->code : PS_IO);
    int rc = SQLITE_DONE;
    while (code == PS_OK && (rc = sqlite3_step(select)) == SQLITE_ROW) {
        int64_t row = sqlite3_column_int64(select, 0);
        if (t->n_rows > 0 && bsearch(&row, rows, t->n_rows, sizeof *rows, ps_compare_i64) != NULL) {
            continue;
        }
        code = ps_grow(&old, &cap_old, n_old + 1, SIZE_MAX / 16, sizeof *old)
                   ? PS_OK
                   : ps_fail_nomem(w->err);
        if (code == PS_OK) {
            old[n_old++] = row;
        }
    }
    code = code == PS_OK && rc != SQLITE_DONE ? fail_sqlite(w, t->name) : code;
    for (size_t i = 0; code == PS_OK && i < n_old; i++) {
        sqlite3_bind_int64(clear, 1, old[i]);
        code = sqlite3_step(clear) == SQLITE_DONE ? PS_OK : fail_sqlite(w, t->name);
        (void)sqlite3_reset(clear);
    }
    (void)sqlite3_finalize(select);
    (void)sqlite3_finalize(clear);
    ps_free(old);
    return code;
}

static ps_code add_sqlite_column(const writer *w, const ps_table *t, const ps_column *column) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, "ALTER TABLE ");
    add_sqlite_name(&sql, t->name);
    ps_buf_add_str(&sql, " ADD COLUMN ");
    ps_buf_addf(&sql, "%s %s", column->name, sql_type(column));
    ps_code code = ps_buf_ok(&sql) ? run_sql(w, ps_buf_str(&sql)) : ps_fail_nomem(w->err);
    ps_buf_fini(&sql);
    return code;
}

/* Rows that have the value already are not written again. */
static ps_code set_values(const writer *w, const ps_table *t, const char *rowid, size_t c) {
    ps_buf sql = {0};
    ps_buf_add_str(&sql, "UPDATE ");
    add_sqlite_name(&sql, t->name);
    ps_buf_add_str(&sql, " SET ");
    add_sqlite_name(&sql, t->columns[c].name);
    ps_buf_addf(&sql, " = ?1 WHERE %s = ?2 AND ", rowid);
    add_sqlite_name(&sql, t->columns[c].name);
    ps_buf_add_str(&sql, " IS NOT ?1");
    sqlite3_stmt *stmt = prepare_sqlite(w, &sql);
    ps_buf_fini(&sql);
    if (stmt == NULL) {
        return w->err != NULL ? w->err->code : PS_IO;
    }
    ps_code code = PS_OK;
    for (size_t r = 0; code == PS_OK && r < t->n_rows; r++) {
        bind_value(stmt, 1, t, r, c, NULL);
        sqlite3_bind_int64(stmt, 2, ps_table_cell(t, r, 0)->u.i);
        code = sqlite3_step(stmt) == SQLITE_DONE ? PS_OK : fail_sqlite(w, t->name);
        (void)sqlite3_reset(stmt);
    }
    (void)sqlite3_finalize(stmt);
    return code;
}

/* `column` of `t`, by the row ids `rows`, which are sorted. */
static ps_code write_column(const writer *w, const ps_table *t, const char *rowid, size_t column,
                            const int64_t *rows) {
    const ps_column *c = &t->columns[column];
    bool is_there = false;
    ps_code code = has_column(w, t->name, c->name, &is_there);
    if (code == PS_OK) {
        code = is_there ? clear_others(w, t, rowid, c->name, rows) : add_sqlite_column(w, t, c);
    }
    return code == PS_OK ? set_values(w, t, rowid, column) : code;
}

static ps_code write_columns(const writer *w, const ps_table *t) {
    const char *rowid = NULL;
    bool is_there = false;
    ps_code code = has_table(w, t->name, &is_there);
    if (code == PS_OK && !is_there) {
        code = ps_fail_file(w->err, PS_NOT_FOUND, w->path,
                            "there is no table %s to add a column to", t->name);
    }
    code = code == PS_OK ? rowid_name(w, t->name, &rowid) : code;
    if (code != PS_OK) {
        return code;
    }
    int64_t *rows = ps_calloc(t->n_rows, sizeof *rows);
    code = rows != NULL ? PS_OK : ps_fail_nomem(w->err);
    for (size_t r = 0; code == PS_OK && r < t->n_rows; r++) {
        rows[r] = ps_table_cell(t, r, 0)->u.i;
    }
    if (code == PS_OK && t->n_rows > 1) {
        qsort(rows, t->n_rows, sizeof *rows, ps_compare_i64);
    }
    for (size_t c = 1; code == PS_OK && c < t->n_columns; c++) {
        code = write_column(w, t, rowid, c, rows);
    }
    ps_free(rows);
    return code;
}

static ps_code write_all_sqlite(const writer *w, const ps_table *const *tables, size_t n) {
    ps_code code = PS_OK;
    for (size_t i = 0; code == PS_OK && i < n; i++) {
        code = tables[i]->mode == PS_TABLE_ADD_COLUMN ? write_columns(w, tables[i])
                                                      : write_table(w, tables[i]);
    }
    return code;
}

/* --- transactions ---------------------------------------------------------------------------------------- */

/* libsqlite3 opens the journal with the first statement and not before, whether a killed writer left it or it is in
 * the way of our own; either may end with deleting the file that it names. */
static bool has_foreign_journal(sqlite3 *db) {
    const char *file = sqlite3_db_filename(db, "main");
    const char *journal = file != NULL ? sqlite3_filename_journal(file) : NULL;
    uint64_t at = 0;
    return journal != NULL && ps_journal_names_another(journal, &at);
}

/* Profiles come from other machines: no code of theirs runs, such as a trigger. */
static void distrust(sqlite3 *db) {
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    (void)sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
}

static ps_code open_for_writing(writer *w, int flags) {
    /* One thread at a time has the connection: no locks inside. */
    if (sqlite3_open_v2(w->path, &w->db, flags | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK) {
        return fail_sqlite(w, "cannot open for writing");
    }
    if (has_foreign_journal(w->db)) {
        return ps_fail_file(
            w->err, PS_UNSUPPORTED, w->path,
            "its rollback journal (-journal) belongs to a transaction over several databases, and "
            "names another file that undoing it would delete: move the journal away, or write "
            "copies with -o DIR");
    }
    distrust(w->db);
    (void)sqlite3_extended_result_codes(w->db, 1);
    (void)sqlite3_busy_timeout(w->db, BUSY_MS);
    /* Pages changed in one transaction stay in memory: 64 MiB hold those of any table written here. */
    return run_sql(w, "PRAGMA cache_size = -65536");
}

static ps_code apply(writer *w, int flags, const ps_table *const *tables, size_t n,
                     ps_sqlite_recheck_fn *recheck, void *context) {
    ps_code code = open_for_writing(w, flags);
    bool begun = false;
    if (code == PS_OK) {
        code = run_sql(w, "BEGIN IMMEDIATE");
        begun = code == PS_OK;
    }
    if (code == PS_OK && recheck != NULL) {
        code = recheck(context, w->db, w->err);
    }
    code = code == PS_OK ? write_all_sqlite(w, tables, n) : code;
    if (begun) {
        if (code == PS_OK) {
            code = run_sql(w, "COMMIT");
        }
        if (code != PS_OK) {
            (void)sqlite3_exec(w->db, "ROLLBACK", NULL, NULL,
                               NULL); /* the first error is the one to report */
        }
    }
    (void)sqlite3_close(w->db);
    return code;
}

ps_code ps_sqlite_apply(const char *path, const ps_table *const *tables, size_t n,
                        ps_sqlite_recheck_fn *recheck, void *context, ps_err *err) {
    ps_err local = PS_ERR_INIT;
    writer w = {.path = path, .err = err != NULL ? err : &local};
    ps_code code = apply(&w, SQLITE_OPEN_READWRITE, tables, n, recheck, context);
    if (code != PS_OK) {
        ps_sqlite_recover(
            path); /* where undoing it failed as well: another try, so that no journal stays */
    }
    return code;
}

ps_code ps_sqlite_check_results(const char *path, ps_err *err) {
    static const char MAGIC[] = "SQLite format 3"; /* with its zero byte */
    struct stat st;
    if (stat(path, &st) != 0) {
        return PS_OK; /* nothing there, or what opening it will say */
    }
    char head[sizeof MAGIC] = "";
    ssize_t got = 0;
    if (S_ISREG(st.st_mode)) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        got = fd >= 0 ? pread(fd, head, sizeof head, 0) : -1;
        if (fd >= 0) {
            (void)close(fd);
        }
        if (got == 0 || (got == (ssize_t)sizeof head && memcmp(head, MAGIC, sizeof head) == 0)) {
            return PS_OK;
        }
    }
    return ps_fail_file(err, PS_UNSUPPORTED, path,
                        "exists and %s: nothing was written; move it away, or choose another -o "
                        "directory",
                        got < 0 ? "cannot be read" : "is no SQLite database");
}

ps_code ps_sqlite_merge(const char *path, const ps_table *const *tables, size_t n, ps_err *err) {
    ps_err local = PS_ERR_INIT;
    writer w = {.path = path, .err = err != NULL ? err : &local, .makes_empty = true};
    ps_code code = ps_sqlite_check_results(path, w.err);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    struct stat st;
    bool is_new = stat(path, &st) != 0 && errno == ENOENT;
    code = code == PS_OK ? apply(&w, flags, tables, n, NULL, NULL) : code;
    if (code != PS_OK && is_new) { /* nothing is left of what was not written */
        ps_sqlite_recover(path);
        if (stat(path, &st) == 0 && st.st_size == 0) {
            ps_remove_database(path);
        }
    }
    return code;
}

void ps_sqlite_recover(const char *path) {
    ps_buf journal = {0};
    ps_buf_addf(&journal, "%s-journal", path);
    if (ps_buf_ok(&journal) && ps_is_file(ps_buf_str(&journal)) && !ps_is_readonly(path)) {
        sqlite3 *db = NULL;
        if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK &&
            !has_foreign_journal(db)) {
            distrust(db);
            (void)sqlite3_busy_timeout(db, BUSY_MS);
            (void)sqlite3_exec(db, "BEGIN IMMEDIATE; ROLLBACK", NULL, NULL,
                               NULL); /* reading will say what is wrong */
        }
        (void)sqlite3_close(db);
    }
    ps_buf_fini(&journal);
}

static ps_code check_replaceable(const char *to, int application_id, ps_err *err) {
    if (!ps_is_file(to)) {
        return PS_OK;
    }
    sqlite3 *db = NULL;
    sqlite3_stmt *stmt = NULL;
    bool ours = sqlite3_open_v2(to, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK &&
                sqlite3_prepare_v2(db, "PRAGMA application_id", -1, &stmt, NULL) == SQLITE_OK &&
                sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_int(stmt, 0) == application_id;
    (void)sqlite3_finalize(stmt);
    (void)sqlite3_close(db);
    return ours ? PS_OK
                : ps_fail_file(
                      err, PS_USAGE, to,
                      "exists and is no copy made by pipescope: choose another -o directory");
}

static ps_code copy_pages(const writer *w, sqlite3 *source) {
    sqlite3_backup *backup = sqlite3_backup_init(w->db, "main", source, "main");
    if (backup == NULL) {
        return fail_sqlite(w, "copying the database");
    }
    int rc = sqlite3_backup_step(backup, -1);
    (void)sqlite3_backup_finish(backup);
    return rc == SQLITE_DONE ? PS_OK : fail_sqlite(w, "copying the database");
}

static bool is_open_as(int fd, const char *path) {
    struct stat there;
    struct stat here;
    return fstat(fd, &here) == 0 && stat(path, &there) == 0 && here.st_dev == there.st_dev &&
           here.st_ino == there.st_ino;
}

/* Whether the file, not empty, is what a killed run of ours left: its header has our id, which it gets right after the
 * pages; or it is still in the transaction that made it, so that undoing that would leave it empty. */
static bool is_left_over(int fd, const char *tmp, int application_id) {
    static const unsigned char JOURNAL[8] = {0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7};
    enum { AT_PAGES_BEFORE = 16 };
    unsigned char head[AT_APPLICATION_ID + 4] = {0};
    const unsigned char *id = head + AT_APPLICATION_ID;
    if (pread(fd, head, sizeof head, 0) == (ssize_t)sizeof head &&
        memcmp(head, "SQLite format 3", 16) == 0 &&
        ((uint32_t)id[0] << 24 | (uint32_t)id[1] << 16 | (uint32_t)id[2] << 8 | id[3]) ==
            (uint32_t)application_id) {
        return true;
    }
    ps_buf journal = {0};
    ps_buf_addf(&journal, "%s-journal", tmp);
    int in = ps_buf_ok(&journal)
                 ? open(ps_buf_str(&journal), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
                 : -1;
    unsigned char start[AT_PAGES_BEFORE + 4] = {0};
    bool found = in >= 0 && pread(in, start, sizeof start, 0) == (ssize_t)sizeof start &&
                 memcmp(start, JOURNAL, sizeof JOURNAL) == 0 &&
                 memcmp(start + AT_PAGES_BEFORE, "\0\0\0", 4) == 0;
    if (in >= 0) {
        (void)close(in);
    }
    ps_buf_fini(&journal);
    return found;
}

/* One that is there already may be anybody's; a new one is this process's from before it is there. -1 and EAGAIN when another run
 * came in between. */
static int create_tmp(const char *tmp, int *unfinished) {
    int fd = open(tmp, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 || errno != ENOENT) {
        return fd;
    }
    *unfinished = ps_unfinished_add(tmp);
    fd = open(tmp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (fd < 0) {
        int error = errno;
        ps_unfinished_done(*unfinished);
        *unfinished = -1;
        errno = error == EEXIST ? EAGAIN : error;
    }
    return fd;
}

static void leave_tmp(int fd, int *unfinished) {
    (void)close(fd);
    ps_unfinished_done(*unfinished);
    *unfinished = -1;
}

/* Opens `tmp`, empty, with a lock that keeps other runs with the same -o away until it is closed; -1 on failure.
 * What a killed run left is taken over, a file of someone else is not (PS_USAGE). *unfinished: for ps_unfinished_done(). */
static int claim_tmp(const char *tmp, const char *to, int application_id, int *unfinished,
                     ps_err *err) {
    for (int attempt = 0; attempt < 100; attempt++) {
        int fd = create_tmp(tmp, unfinished);
        if (fd < 0 && errno == EAGAIN) {
            continue;
        }
        if (fd < 0) {
            char text[128] = "";
            (void)ps_fail_file(err, PS_IO, to, "cannot create the copy: %s",
                               ps_errno_text(errno, text, sizeof text));
            return -1;
        }
        /* File systems without such locks go on without. */
        bool busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
        struct stat st;
        if (!busy && is_open_as(fd, tmp) && fstat(fd, &st) == 0) {
            if ((st.st_size > 0 || !S_ISREG(st.st_mode)) &&
                !(S_ISREG(st.st_mode) && is_left_over(fd, tmp, application_id))) {
                leave_tmp(fd, unfinished);
                (void)ps_fail_file(
                    err, PS_USAGE, tmp,
                    "exists and was not left by pipescope, whose name for a copy in "
                    "the making this is: move it away, or choose another -o directory");
                return -1;
            }
            if (ftruncate(fd, 0) == 0) {
                *unfinished = *unfinished >= 0 ? *unfinished : ps_unfinished_add(tmp);
                return fd;
            }
        }
        leave_tmp(fd, unfinished);
        if (busy) {
            break;
        }
        /* Between opening and locking another run finished and took the name away. */
    }
    (void)ps_fail_file(err, PS_BUSY, to,
                       "another program is writing this copy; run again when it has finished");
    return -1;
}

/* Puts the id into the header as soon as the pages are there, for is_left_over: a transaction would take its time. */
static ps_code mark_as_ours(const writer *w, int fd, const char *to, int application_id) {
    uint32_t id = (uint32_t)application_id;
    const unsigned char bytes[4] = {(unsigned char)(id >> 24), (unsigned char)(id >> 16),
                                    (unsigned char)(id >> 8), (unsigned char)id};
    return pwrite(fd, bytes, sizeof bytes, AT_APPLICATION_ID) == (ssize_t)sizeof bytes
               ? PS_OK
               : ps_fail_file(w->err, PS_IO, to, "cannot write the copy");
}

ps_code ps_sqlite_copy(sqlite3 *source, const char *to, int application_id,
                       const ps_table *const *tables, size_t n, ps_err *err) {
    ps_err local = PS_ERR_INIT;
    ps_buf tmp = {0};
    ps_buf_addf(&tmp, "%s.tmp", to);
    writer w = {.path = ps_buf_str(&tmp), .err = err != NULL ? err : &local};
    ps_code code =
        ps_buf_ok(&tmp) ? check_replaceable(to, application_id, w.err) : ps_fail_nomem(w.err);
    int unfinished = -1;
    int lock = code == PS_OK ? claim_tmp(w.path, to, application_id, &unfinished, w.err) : -1;
    if (lock < 0) {
        code = code == PS_OK ? w.err->code : code;
        ps_buf_fini(&tmp);
        return code;
    }
    code = open_for_writing(&w, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    code = code == PS_OK ? run_sql(&w, "PRAGMA synchronous = OFF") : code;
    code = code == PS_OK ? copy_pages(&w, source) : code;
    code = code == PS_OK ? mark_as_ours(&w, lock, to, application_id) : code;
    /* The copy is no one else's yet: no journal, one flush at the end. */
    if (code == PS_OK) {
        char sql[192];
        (void)snprintf(sql, sizeof sql,
                       "PRAGMA journal_mode = DELETE; PRAGMA application_id = %d; "
                       "PRAGMA synchronous = FULL; PRAGMA journal_mode = MEMORY; BEGIN IMMEDIATE",
                       application_id);
        code = run_sql(&w, sql);
    }
    code = code == PS_OK ? write_all_sqlite(&w, tables, n) : code;
    if (code == PS_OK) {
        char sql[64]; /* the id again, so that there is a change to flush */
        (void)snprintf(sql, sizeof sql, "PRAGMA application_id = %d; COMMIT", application_id);
        code = run_sql(&w, sql);
    }
    (void)sqlite3_close(w.db);
    if (code == PS_OK && rename(w.path, to) != 0) {
        code = ps_fail_file(w.err, PS_IO, to, "cannot put the copy in place");
    }
    if (code != PS_OK) {
        ps_remove_database(w.path);
    }
    (void)close(
        lock); /* after SQLite's own descriptor: closing drops the process's locks on the file */
    ps_unfinished_done(unfinished);
    ps_buf_fini(&tmp);
    return code;
}

/* Asks libsqlite3 for names, types and defaults instead of reading CREATE statements. */
#include "read/sqlite/schema.h"

#include <string.h>

#include "base/alloc.h"
#include "read/sqlite/file.h"

/* What the functions below work on. */
typedef struct reading {
    ps_schema *schema;
    sqlite3 *handle;
    const char *path;
    ps_arena *arena;
} reading;

ps_code ps_sqlite_fail(sqlite3 *handle, const char *path, const char *what, ps_err *err) {
    const char *text = sqlite3_errmsg(handle);
    const char *before = what != NULL ? what : "";
    const char *colon = what != NULL ? ": " : "";
    switch (sqlite3_errcode(handle)) {
    case SQLITE_NOMEM:
        return ps_fail_nomem(err);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return ps_fail_file(err, PS_BUSY, path,
                            "%s%sanother program is writing the database; try again later", before,
                            colon);
    case SQLITE_READONLY:
        return ps_fail_file(err, PS_READONLY, path, "%s%s%s", before, colon, text);
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
    case SQLITE_FULL:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        return ps_fail_file(err, PS_IO, path, "%s%s%s", before, colon, text);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
        return ps_fail_file(err, PS_SYNTAX, path, "%s%s%s" PS_DAMAGE_REMEDY, before, colon, text);
    default: /* statements that do not fit the schema met */
        return ps_fail_file(err, PS_SYNTAX, path, "%s%s%s", before, colon, text);
    }
}

static ps_code fail_schema(const reading *r, ps_err *err) {
    return ps_sqlite_fail(r->handle, r->path, "reading the schema", err);
}

/* Copies a result column; NULL stays NULL. False when memory is out. */
static bool copy_schema_text(const reading *r, sqlite3_stmt *q, int column, const char **out) {
    const char *text = (const char *)sqlite3_column_text(q, column);
    *out = NULL;
    if (text == NULL) {
        return sqlite3_column_type(q, column) == SQLITE_NULL;
    }
    *out = ps_arena_strndup(r->arena, text, strlen(text));
    return *out != NULL;
}

static bool schema_contains(const char *type, const char *word) {
    size_t n = strlen(word);
    for (; *type != '\0'; type++) {
        if (sqlite3_strnicmp(type, word, (int)n) == 0) {
            return true;
        }
    }
    return false;
}

/* The five rules of "Determination Of Column Affinity", in their order. */
static ps_affinity affinity_of(const char *type) {
    if (schema_contains(type, "INT")) {
        return PS_AFFINITY_INTEGER;
    }
    if (schema_contains(type, "CHAR") || schema_contains(type, "CLOB") ||
        schema_contains(type, "TEXT")) {
        return PS_AFFINITY_TEXT;
    }
    if (type[0] == '\0' || schema_contains(type, "BLOB")) {
        return PS_AFFINITY_BLOB;
    }
    if (schema_contains(type, "REAL") || schema_contains(type, "FLOA") ||
        schema_contains(type, "DOUB")) {
        return PS_AFFINITY_REAL;
    }
    return PS_AFFINITY_NUMERIC;
}

/* Prepares `format` with the table's name in it. Pragmas as statements: a table called pragma_table_xinfo would hide
 * the function of that name. */
static int prepare_about(const reading *r, const ps_schema_table *t, const char *format,
                         const char *word, sqlite3_stmt **q) {
    *q = NULL;
    char *sql = sqlite3_mprintf(format, word, t->name);
    int rc = sql != NULL ? sqlite3_prepare_v2(r->handle, sql, -1, q, NULL) : SQLITE_NOMEM;
    sqlite3_free(sql);
    return rc;
}

/* --- columns --- */

enum {
    XINFO_NAME = 1,
    XINFO_TYPE = 2,
    XINFO_DEFAULT = 4,
    XINFO_PK = 5,
    XINFO_HIDDEN = 6,
    LIST_ORIGIN = 3
};

/* The primary key as declared. */
typedef struct primary_key {
    size_t n_columns;
    int32_t column; /* the last of them */
    bool is_integer;
} primary_key;

static ps_code add_schema_column(const reading *r, ps_schema_table *t, size_t *cap, sqlite3_stmt *q,
                                 primary_key *pk, ps_err *err) {
    if (!ps_grow(&t->columns, cap, t->n_columns + 1, INT16_MAX, sizeof *t->columns)) {
        return ps_fail_nomem(err);
    }
    ps_schema_column column = {.name = NULL};
    if (!copy_schema_text(r, q, XINFO_NAME, &column.name) ||
        !copy_schema_text(r, q, XINFO_TYPE, &column.type) ||
        !copy_schema_text(r, q, XINFO_DEFAULT, &column.default_sql)) {
        return ps_fail_nomem(err);
    }
    column.name = column.name != NULL ? column.name : "";
    column.type = column.type != NULL ? column.type : "";
    column.affinity = affinity_of(column.type);
    column.is_hidden = sqlite3_column_int(q, XINFO_HIDDEN) != 0;
    if (sqlite3_column_int(q, XINFO_PK) > 0) {
        pk->n_columns++;
        pk->column = (int32_t)t->n_columns;
        pk->is_integer = sqlite3_stricmp(column.type, "INTEGER") == 0;
    }
    if (column.is_hidden) {
        t->is_stored_plainly = false;
    }
    t->columns[t->n_columns++] = column;
    return PS_OK;
}

/* A view over something lost, or a virtual table of an unknown module, has no columns; that is no error until
 * someone reads it. */
static ps_code read_columns(const reading *r, ps_schema_table *t, primary_key *pk, ps_err *err) {
    sqlite3_stmt *q = NULL;
    int rc = prepare_about(r, t, "PRAGMA main.%s(\"%w\")", "table_xinfo", &q);
    size_t cap = 0;
    ps_code code = PS_OK;
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW) {
            code = add_schema_column(r, t, &cap, q, pk, err);
            if (code != PS_OK) {
                break;
            }
        }
    }
    if (code == PS_OK && rc != SQLITE_DONE && (t->root != 0 || rc == SQLITE_NOMEM)) {
        code = fail_schema(r, err);
    }
    (void)sqlite3_finalize(q);
    return code;
}

/* --- rowids --- */

/* Whether "SELECT <rowid name> FROM table" means something: not so for WITHOUT ROWID tables. */
static ps_code probe_rowid(const reading *r, ps_schema_table *t, ps_err *err) {
    sqlite3_stmt *q = NULL;
    int rc = prepare_about(r, t, "SELECT %s FROM main.\"%w\"", t->rowid_name, &q);
    (void)sqlite3_finalize(q);
    if (rc == SQLITE_NOMEM) {
        return ps_fail_nomem(err);
    }
    if (rc == SQLITE_ERROR) {
        t->rowid_name = NULL;
        return PS_OK;
    }
    return rc == SQLITE_OK ? PS_OK : fail_schema(r, err);
}

/* An INTEGER PRIMARY KEY is the rowid exactly when no index was made for it: INTEGER PRIMARY KEY DESC looks alike
 * in all else. */
static ps_code probe_alias(const reading *r, ps_schema_table *t, int32_t column, ps_err *err) {
    sqlite3_stmt *q = NULL;
    bool has_index = false;
    int rc = prepare_about(r, t, "PRAGMA main.%s(\"%w\")", "index_list", &q);
    while (rc == SQLITE_OK || rc == SQLITE_ROW) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW) {
            const char *origin = (const char *)sqlite3_column_text(q, LIST_ORIGIN);
            has_index = has_index || (origin != NULL && strcmp(origin, "pk") == 0);
        }
    }
    ps_code code = rc == SQLITE_DONE ? PS_OK : fail_schema(r, err);
    if (code == PS_OK && !has_index) {
        t->rowid_column = column;
    }
    (void)sqlite3_finalize(q);
    return code;
}

static ps_code find_rowid(const reading *r, ps_schema_table *t, const primary_key *pk,
                          ps_err *err) {
    static const char *const names[] = {"rowid", "_rowid_", "oid"};
    for (size_t i = 0; t->root != 0 && i < sizeof names / sizeof names[0]; i++) {
        if (ps_schema_column_index(t, names[i]) < 0) {
            t->rowid_name = names[i];
            break;
        }
    }
    if (t->rowid_name == NULL || pk->n_columns == 0) {
        return PS_OK;
    }
    ps_code code = probe_rowid(r, t, err);
    if (code == PS_OK && t->rowid_name != NULL && pk->n_columns == 1 && pk->is_integer) {
        code = probe_alias(r, t, pk->column, err);
    }
    return code;
}

/* --- tables --- */

static ps_code add_schema_table(const reading *r, size_t *cap, const char *name, int64_t root,
                                ps_err *err) {
    ps_schema *s = r->schema;
    if (!ps_grow(&s->tables, cap, s->n_tables + 1, SIZE_MAX / sizeof *s->tables,
                 sizeof *s->tables)) {
        return ps_fail_nomem(err);
    }
    ps_schema_table *t = &s->tables[s->n_tables++];
    *t = (ps_schema_table){.name = name,
                           .root = root > 0 && root < UINT32_MAX ? (uint32_t)root : 0,
                           .is_internal = sqlite3_strnicmp(name, "sqlite_", 7) == 0,
                           .is_stored_plainly = true,
                           .rowid_column = -1};
    primary_key pk = {.n_columns = 0};
    ps_code code = read_columns(r, t, &pk, err);
    return code == PS_OK ? find_rowid(r, t, &pk, err) : code;
}

static ps_code read_tables(const reading *r, size_t *cap, ps_err *err) {
    sqlite3_stmt *q = NULL;
    int rc =
        sqlite3_prepare_v2(r->handle,
                           "SELECT name, rootpage FROM main.sqlite_master "
                           "WHERE type IN ('table', 'view') AND name IS NOT NULL ORDER BY rowid",
                           -1, &q, NULL);
    ps_code code = PS_OK;
    while (code == PS_OK && (rc == SQLITE_OK || rc == SQLITE_ROW)) {
        rc = sqlite3_step(q);
        if (rc == SQLITE_ROW) {
            const char *name = NULL;
            code = copy_schema_text(r, q, 0, &name)
                       ? add_schema_table(r, cap, name, sqlite3_column_int64(q, 1), err)
                       : ps_fail_nomem(err);
        }
    }
    if (code == PS_OK && rc != SQLITE_DONE) {
        code = fail_schema(r, err);
    }
    (void)sqlite3_finalize(q);
    return code;
}

static ps_code list_tables(ps_schema *s, ps_err *err) {
    s->listed = ps_calloc(s->n_tables, sizeof *s->listed);
    if (s->listed == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t i = 0; i < s->n_tables; i++) {
        if (s->tables[i].root != 0 && !s->tables[i].is_internal) {
            s->listed[s->n_listed++] = s->tables[i].name;
        }
    }
    return PS_OK;
}

ps_code ps_schema_read(ps_schema *s, sqlite3 *handle, const char *path, ps_arena *arena,
                       ps_err *err) {
    *s = (ps_schema){.n_tables = 0};
    reading r = {.schema = s, .handle = handle, .path = path, .arena = arena};
    size_t cap = 0;
    ps_code code = read_tables(&r, &cap, err);
    if (code == PS_OK) {
        code = add_schema_table(&r, &cap, "sqlite_master", 1, err); /* not listed in itself */
    }
    return code == PS_OK ? list_tables(s, err) : code;
}

void ps_schema_fini(ps_schema *s) {
    for (size_t i = 0; i < s->n_tables; i++) {
        ps_free(s->tables[i].columns);
    }
    ps_free(s->tables);
    ps_free(s->listed);
    *s = (ps_schema){.n_tables = 0};
}

const ps_schema_table *ps_schema_find(const ps_schema *s, const char *table) {
    for (size_t i = 0; i < s->n_tables; i++) {
        if (sqlite3_stricmp(s->tables[i].name, table) == 0) {
            return &s->tables[i];
        }
    }
    return NULL;
}

int32_t ps_schema_column_index(const ps_schema_table *t, const char *column) {
    for (size_t i = 0; i < t->n_columns; i++) {
        if (sqlite3_stricmp(t->columns[i].name, column) == 0) {
            return (int32_t)i;
        }
    }
    return -1;
}

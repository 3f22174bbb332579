/* Decides how a database is opened: see the table in db.h.
 *
 * libsqlite3 opens lazily: after sqlite3_open_v2 it has a descriptor but has created nothing and holds no lock. The
 * file's header is read through that descriptor, the companions are looked at by name, and only then is the mode
 * chosen; a plain read of a WAL database without -shm would create one. */
#include "read/sqlite/db.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/buf.h"
#include "read/sqlite/db_private.h"
#include "read/sqlite/file.h"
#include "read/sqlite/known_schema.h"
#include "read/sqlite/private_copy.h"

enum {
    BUSY_MS = 10000,
    HEADER_BYTES = 100,
    AT_PAGE_SIZE = 16,
    AT_WRITE_VERSION = 18,
    AT_READ_VERSION = 19,
    AT_CHANGE_COUNTER = 24,
    AT_PAGE_COUNT = 28,
    VERSION_WAL = 2
};

static const char magic[16] = "SQLite format 3";

struct ps_db {
    ps_arena arena; /* paths and names */
    const char *path;
    const char *wal_path;
    sqlite3 *handle;
    bool is_copy; /* `handle` is on the private copy */
    bool is_live; /* a -wal is being read: pages of the file alone are not the database */
    bool force_sqlite;
    ps_private_copy copy;
    ps_known_schema *known; /* what `schema` is of, but for its tables */
    ps_schema schema;
    ps_master master; /* while the database is opened */
    ps_db_stamp stamp;
    ps_watch *watch; /* or NULL */
};

/* --- stamps --- */

static ps_code stamp_files(const char *path, const char *wal_path, ps_db_stamp *out, ps_err *err) {
    *out = (ps_db_stamp){.change_counter = 0};
    ps_code code = ps_file_identify(path, &out->file, err);
    if (code != PS_OK) {
        return code;
    }
    if (ps_file_identify(wal_path, &out->wal, NULL) != PS_OK || out->wal.size_bytes == 0) {
        out->wal = (ps_file_id){.inode = 0};
    }
    return PS_OK;
}

static ps_code read_counter(sqlite3 *handle, const char *path, uint32_t *out, ps_err *err) {
    unsigned char bytes[4];
    ps_code code = ps_sqlite_file_read(handle, path, bytes, sizeof bytes, AT_CHANGE_COUNTER, err);
    if (code == PS_OK) {
        *out = ps_be32(bytes);
    }
    return code;
}

static ps_code compare_stamps(const ps_db_stamp *then, const ps_db_stamp *now, const char *path,
                              ps_err *err) {
    if (ps_file_same(&then->file, &now->file) && ps_file_same(&then->wal, &now->wal) &&
        then->change_counter == now->change_counter) {
        return PS_OK;
    }
    return ps_fail_file(err, PS_CHANGED, path,
                        "the database was changed since it was read; run again");
}

ps_db_stamp ps_db_get_stamp(const ps_db *db) {
    return db->stamp;
}

ps_code ps_db_check_unchanged(ps_db *db, ps_err *err) {
    ps_db_stamp now;
    ps_code code = stamp_files(db->path, db->wal_path, &now, err);
    if (code == PS_OK) {
        if (db->is_copy) { /* nothing of ours is open on the original: its size and time must do */
            now.change_counter = db->stamp.change_counter;
        } else {
            code = read_counter(db->handle, db->path, &now.change_counter, err);
        }
    }
    return code == PS_OK ? compare_stamps(&db->stamp, &now, db->path, err) : code;
}

ps_code ps_db_stamp_check(const ps_db_stamp *stamp, const char *path, sqlite3 *handle,
                          ps_err *err) {
    ps_buf wal = {0};
    const char *file = sqlite3_db_filename(handle, "main");
    ps_buf_addf(&wal, "%s-wal", file != NULL ? file : path);
    ps_db_stamp now;
    ps_code code =
        ps_buf_ok(&wal) ? stamp_files(path, ps_buf_str(&wal), &now, err) : ps_fail_nomem(err);
    ps_buf_fini(&wal);
    if (code == PS_OK) {
        code = read_counter(handle, path, &now.change_counter, err);
    }
    return code == PS_OK ? compare_stamps(stamp, &now, path, err) : code;
}

/* --- opening --- */

/* "file:" with the characters escaped that mean something in a URI; an empty authority, as "//x" would be one. */
static ps_code make_uri(ps_buf *uri, const char *path, const char *query, ps_err *err) {
    ps_buf_add_str(uri, path[0] == '/' ? "file://" : "file:");
    for (const char *p = path; *p != '\0'; p++) {
        if (strchr("%?#", *p) != NULL) {
            ps_buf_addf(uri, "%%%02X", (unsigned)(unsigned char)*p);
        } else {
            ps_buf_add_char(uri, *p);
        }
    }
    ps_buf_add_str(uri, query);
    return ps_buf_ok(uri) ? PS_OK : ps_fail_nomem(err);
}

/* Replaces db->handle by one on `path`. */
static ps_code connect_sqlite(ps_db *db, const char *path, const char *query, int busy_ms,
                              ps_err *err) {
    (void)sqlite3_close(db->handle);
    db->handle = NULL;
    ps_buf uri = {0};
    ps_code code = make_uri(&uri, path, query, err);
    if (code == PS_OK) {
        int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
        int rc = sqlite3_open_v2(ps_buf_str(&uri), &db->handle, flags, NULL);
        if (db->handle == NULL) {
            code = ps_fail_nomem(err);
        } else if (rc != SQLITE_OK) {
            code = ps_sqlite_fail(db->handle, db->path, "opening", err);
        }
    }
    ps_buf_fini(&uri);
    if (code != PS_OK) {
        return code;
    }
    (void)sqlite3_busy_timeout(db->handle, busy_ms);
    /* Profiles come from other machines: no code of theirs runs, such as a view that never ends. */
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(db->handle, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    return PS_OK;
}

/* The header's first bytes, zeros behind a shorter file's end; says what the file is when not a database. */
static ps_code read_header(ps_db *db, unsigned char header[HEADER_BYTES], ps_err *err) {
    memset(header, 0, HEADER_BYTES);
    uint64_t size = 0;
    ps_code code = ps_sqlite_file_size(db->handle, db->path, &size, err);
    if (code != PS_OK) {
        return code;
    }
    if (size == 0) {
        return ps_fail_file(err, PS_SYNTAX, db->path, "empty file");
    }
    size_t n = size < HEADER_BYTES ? (size_t)size : HEADER_BYTES;
    code = ps_sqlite_file_read(db->handle, db->path, header, n, 0, err);
    if (code != PS_OK) {
        return code;
    }
    if (memcmp(header, magic, n < sizeof magic ? n : sizeof magic) != 0) {
        return ps_fail_file(err, PS_SYNTAX, db->path,
                            "not an SQLite database, or an encrypted one");
    }
    if (n < HEADER_BYTES) {
        return ps_fail_file(err, PS_SYNTAX, db->path,
                            "an SQLite database cut off after %zu bytes; copy the file again", n);
    }
    return PS_OK;
}

static ps_code read_bytes(void *context, void *out, size_t n, uint64_t offset, ps_err *err) {
    const ps_db *db = context;
    ps_code code = ps_watch_add(db->watch, n, err);
    return code == PS_OK ? ps_sqlite_file_read(db->handle, db->path, out, n, offset, err) : code;
}

ps_code ps_db_pages(ps_db *db, ps_pages *out, ps_err *err) {
    ps_page_src src = {.read = read_bytes, .context = db, .file = db->path};
    *out = (ps_pages){.page_size = 0};
    ps_code code = ps_sqlite_file_size(db->handle, db->path, &src.size_bytes, err);
    return code == PS_OK ? ps_pages_init(out, &src, err) : code;
}

/* Whether the tables are those of a database that was opened before. */
static void find_known(ps_db *db) {
    ps_pages pages;
    ps_master_fini(&db->master);
    if (ps_db_pages(db, &pages, NULL) == PS_OK) {
        db->master = ps_master_read(&pages);
        db->known = ps_known_schema_find(&db->master);
    }
    ps_pages_fini(&pages);
}

/* Takes the shared lock, which stays until the connection closes. `*rc` says why it could not be had. libsqlite3 reads the schema only where it
 * is not known already: the first of these statements does not need it. With `is_live` pages of the file alone do not tell it. */
static ps_code begin_sqlite(ps_db *db, bool is_live, int *rc, ps_err *err) {
    *rc = sqlite3_exec(db->handle, "BEGIN; PRAGMA schema_version", NULL, NULL, NULL);
    if (*rc == SQLITE_OK && !is_live) {
        find_known(db);
    }
    if (*rc == SQLITE_OK && db->known == NULL) {
        *rc = sqlite3_exec(db->handle, "SELECT 1 FROM sqlite_master LIMIT 1", NULL, NULL, NULL);
    }
    return *rc == SQLITE_OK ? PS_OK : ps_sqlite_fail(db->handle, db->path, NULL, err);
}

static ps_code take_schema(ps_db *db, ps_err *err) {
    ps_code code = PS_OK;
    if (db->known == NULL) {
        code = ps_known_schema_read(&db->master, db->handle, db->path, &db->known, err);
    }
    if (code == PS_OK && !ps_known_schema_lend(db->known, &db->master, &db->schema)) {
        code = ps_fail_nomem(err);
    }
    ps_master_fini(&db->master);
    return code;
}

/* libsqlite3 says "malformed" of a file that was not copied whole; this says how much is missing. */
static ps_code explain_damage(const ps_db *db, const unsigned char *header, ps_code code,
                              ps_err *err) {
    uint64_t page = ps_be16(header + AT_PAGE_SIZE);
    page = page == 1 ? 65536 : page;
    uint64_t n_pages = ps_be32(header + AT_PAGE_COUNT);
    uint64_t size = 0;
    if (code != PS_SYNTAX || ps_sqlite_file_size(db->handle, db->path, &size, err) != PS_OK ||
        size >= page * n_pages) {
        return code;
    }
    (void)ps_fail_file(
        err, PS_SYNTAX, db->path,
        "cut off in page %llu: the header speaks of %llu pages of %llu bytes" PS_DAMAGE_REMEDY,
        (unsigned long long)(size / page + 1), (unsigned long long)n_pages,
        (unsigned long long)page);
    if (err != NULL) {
        err->offset = size;
    }
    return PS_SYNTAX;
}

typedef enum open_mode { MODE_ORDINARY, MODE_IMMUTABLE, MODE_LIVE, MODE_COPY } open_mode;

static bool exists(const char *file, const char *suffix, uint64_t *size_bytes) {
    char name[4096]; /* libsqlite3 refuses longer ones */
    struct stat st;
    (void)snprintf(name, sizeof name, "%s%s", file, suffix);
    bool there = stat(name, &st) == 0;
    *size_bytes = there ? (uint64_t)st.st_size : 0;
    return there;
}

/* libsqlite3 would wait for the other end. */
static bool has_pipe(const char *file, const char *suffix) {
    char name[4096];
    struct stat st;
    (void)snprintf(name, sizeof name, "%s%s", file, suffix);
    return stat(name, &st) == 0 && !S_ISREG(st.st_mode);
}

static open_mode choose_mode(const char *file, const unsigned char *header) {
    uint64_t wal_bytes = 0;
    uint64_t journal_bytes = 0;
    uint64_t unused = 0;
    bool wal = exists(file, "-wal", &wal_bytes);
    (void)exists(file, "-journal", &journal_bytes);
    if (wal_bytes > 0) {
        return exists(file, "-shm", &unused) ? MODE_LIVE : MODE_COPY;
    }
    /* libsqlite3 would make use of an empty -wal, too. */
    if (wal || header[AT_WRITE_VERSION] == VERSION_WAL || header[AT_READ_VERSION] == VERSION_WAL) {
        return journal_bytes > 0 ? MODE_COPY : MODE_IMMUTABLE;
    }
    return MODE_ORDINARY;
}

/* The stamp is taken before the copying and compared after it. */
static ps_code open_copy(ps_db *db, const char *file, int busy_ms, ps_err *err) {
    ps_db_stamp before;
    ps_code code = stamp_files(db->path, db->wal_path, &before, err);
    if (code == PS_OK) {
        code = read_counter(db->handle, db->path, &before.change_counter, err);
    }
    if (code == PS_OK) {
        code = ps_private_copy_make(&db->copy, db->handle, file, &db->arena, err);
    }
    if (code == PS_OK) {
        db->stamp = before;
        code = ps_db_check_unchanged(db, err);
    }
    if (code == PS_OK) {
        db->is_copy = true;
        code = connect_sqlite(db, db->copy.path, "?mode=ro&immutable=1", busy_ms, err);
    }
    int rc = SQLITE_OK;
    return code == PS_OK ? begin_sqlite(db, false, &rc, err) : code;
}

/* Whether a failed read-only attempt may succeed on a copy: recovery would have had to write. */
static bool wants_recovery(int rc) {
    return (rc & 0xFF) == SQLITE_READONLY || (rc & 0xFF) == SQLITE_CANTOPEN;
}

static ps_code open_in_mode(ps_db *db, int busy_ms, ps_err *err) {
    const char *resolved = sqlite3_db_filename(db->handle, "main");
    resolved = resolved != NULL ? resolved : db->path;
    const char *file = ps_arena_strndup(&db->arena, resolved, strlen(resolved));
    ps_buf wal = {0};
    ps_buf_addf(&wal, "%s-wal", resolved);
    db->wal_path = ps_buf_ok(&wal) ? ps_arena_strndup(&db->arena, ps_buf_str(&wal), wal.len) : NULL;
    ps_buf_fini(&wal);
    if (file == NULL || db->wal_path == NULL) {
        return ps_fail_nomem(err);
    }
    if (has_pipe(file, "-wal") || has_pipe(file, "-journal")) {
        return ps_fail_file(err, PS_IO, db->path, "its -wal or -journal is not a regular file");
    }
    unsigned char header[HEADER_BYTES];
    ps_code code = read_header(db, header, err);
    if (code != PS_OK) {
        return code;
    }
    open_mode mode = choose_mode(file, header);
    if (mode == MODE_COPY) {
        return open_copy(db, file, busy_ms, err);
    }
    ps_err first = PS_ERR_INIT; /* forgotten when a copy can be read */
    if (mode == MODE_IMMUTABLE) {
        code = connect_sqlite(db, db->path, "?mode=ro&immutable=1", busy_ms, &first);
    }
    int rc = SQLITE_OK;
    if (code == PS_OK) {
        code = begin_sqlite(db, mode == MODE_LIVE, &rc, &first);
    }
    if (code != PS_OK && wants_recovery(rc)) {
        return open_copy(db, file, busy_ms, err);
    }
    if (code != PS_OK) {
        if (err != NULL) {
            *err = first;
        }
        return explain_damage(db, header, code, err);
    }
    db->is_live = mode == MODE_LIVE;
    code = stamp_files(db->path, db->wal_path, &db->stamp, err);
    return code == PS_OK ? read_counter(db->handle, db->path, &db->stamp.change_counter, err)
                         : code;
}

static ps_code check_is_file(const char *path, ps_err *err) {
    ps_file_id id;
    ps_code code = ps_file_identify(path, &id, err);
    if (code == PS_OK && !ps_is_file(path)) { /* opening a pipe would wait for its writer */
        code = ps_fail_file(err, PS_IO, path, "not a file");
    }
    return code;
}

ps_db *ps_db_open_waiting(const char *path, int busy_ms, ps_err *err) {
    if (check_is_file(path, err) != PS_OK) {
        return NULL;
    }
    ps_db *db = ps_calloc(1, sizeof *db);
    if (db == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    db->path = ps_arena_strndup(&db->arena, path, strlen(path));
    ps_code code = db->path != NULL ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        /* Without this a reader writes its mark into the -shm, even one that may not write. libsqlite3 makes an index of its own in memory
         * where nobody else has the database open. */
        code = connect_sqlite(db, path, "?mode=ro&readonly_shm=1", busy_ms, err);
    }
    if (code == PS_OK) {
        code = open_in_mode(db, busy_ms, err);
    }
    if (code == PS_OK) {
        code = take_schema(db, err);
    }
    if (code != PS_OK) {
        ps_db_close(db);
        return NULL;
    }
    return db;
}

ps_db *ps_db_open(const char *path, ps_err *err) {
    return ps_db_open_waiting(path, BUSY_MS, err);
}

void ps_db_close(ps_db *db) {
    if (db == NULL) {
        return;
    }
    (void)sqlite3_close_v2(db->handle);
    ps_private_copy_delete(&db->copy);
    ps_free(db->schema.tables);
    ps_known_schema_free(db->known);
    ps_master_fini(&db->master);
    ps_arena_fini(&db->arena);
    ps_free(db);
}

/* --- queries --- */

const char *ps_db_path(const ps_db *db) {
    return db->path;
}

sqlite3 *ps_db_handle(const ps_db *db) {
    return db->handle;
}

ps_code ps_db_fail(const ps_db *db, const char *what, ps_err *err) {
    return ps_sqlite_fail(db->handle, db->path, what, err);
}

const char *const *ps_db_tables(const ps_db *db, size_t *n) {
    *n = db->schema.n_listed;
    return db->schema.listed;
}

const ps_schema_table *ps_db_find(const ps_db *db, const char *table) {
    return ps_schema_find(&db->schema, table);
}

bool ps_db_has_table(const ps_db *db, const char *table) {
    return ps_db_find(db, table) != NULL;
}

bool ps_db_has_column(const ps_db *db, const char *table, const char *column) {
    const ps_schema_table *t = ps_db_find(db, table);
    return t != NULL && ps_schema_column_index(t, column) >= 0;
}

size_t ps_db_n_columns(const ps_db *db, const char *table) {
    const ps_schema_table *t = ps_db_find(db, table);
    return t != NULL ? t->n_columns : 0;
}

const char *ps_db_column(const ps_db *db, const char *table, size_t i, const char **type) {
    const ps_schema_column *column = &ps_db_find(db, table)->columns[i];
    *type = column->type;
    return column->is_hidden ? NULL : column->name;
}

void ps_db_watch(ps_db *db, ps_watch *watch) {
    if (db != NULL) {
        db->watch = watch;
    }
}

bool ps_db_has_rowid(const ps_db *db, const char *table) {
    const ps_schema_table *t = ps_db_find(db, table);
    return t != NULL && t->rowid_name != NULL;
}

void ps_db_force_sqlite(ps_db *db, bool force) {
    db->force_sqlite = force;
}

bool ps_db_may_scan(const ps_db *db, const ps_schema_table *t) {
    return !db->is_live && !db->force_sqlite && t->root != 0 && t->rowid_name != NULL &&
           t->is_stored_plainly;
}

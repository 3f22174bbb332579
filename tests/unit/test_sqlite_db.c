/* How databases are opened: each state a profiler may leave its files in, what is said of files that are none, and
 * that nothing beside them changes. */
#include "test_sqlite_tools.h"

#include "read/sqlite/db_private.h"
#include "read/sqlite/file.h"

#define MAKE_T                                                                                     \
    "CREATE TABLE T(a INTEGER, b TEXT);"                                                           \
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 500)"               \
    " INSERT INTO T SELECT i, 'name ' || i FROM n;"

static ps_code add_up(void *context, const ps_scan_batch *b, ps_err *err) {
    (void)err;
    for (size_t row = 0; row < b->n_rows; row++) {
        *(int64_t *)context += b->columns[0].ints[row];
    }
    return PS_OK;
}

static int64_t sum_of(ps_db *db) {
    static const char *const columns[] = {"a"};
    int64_t sum = 0;
    assert_int_equal(ps_scan(db, "T", columns, 1, add_up, &sum, NULL), PS_OK);
    return sum;
}

static ps_db *open_ok(const char *path) {
    ps_err err = PS_ERR_INIT;
    ps_db *db = ps_db_open(path, &err);
    if (db == NULL) {
        fail_msg("%s: %s", path, err.msg);
    }
    return db;
}

/* $TMPDIR set to another directory for a while. */
typedef struct tmp_change {
    char *old;
} tmp_change;

static tmp_change set_tmp(const char *dir) {
    const char *old = getenv("TMPDIR");
    tmp_change change = {old != NULL ? ps_strdup(old) : NULL};
    assert_int_equal(setenv("TMPDIR", dir, 1), 0);
    return change;
}

static void restore_tmp(tmp_change change) {
    assert_int_equal(change.old != NULL ? setenv("TMPDIR", change.old, 1) : unsetenv("TMPDIR"), 0);
    ps_free(change.old);
}

typedef enum expected_place { IN_PLACE, IN_A_COPY } expected_place;

/* Opens, sums, closes; then the directory and $TMPDIR are as before. */
static void expect_sum(const place *p, int64_t sum, expected_place where) {
    place tmp;
    make_place(&tmp, "");
    tmp_change change = set_tmp(tmp.dir);
    ps_buf before;
    ps_buf after;
    ps_buf_init(&before, 0);
    ps_buf_init(&after, 0);
    list_place(p->dir, &before);
    ps_db *db = open_ok(p->path);
    const char *opened = sqlite3_db_filename(ps_db_handle(db), "main");
    assert_int_equal(strncmp(opened, tmp.dir, strlen(tmp.dir)) == 0, where == IN_A_COPY);
    assert_int_equal(sum_of(db), sum);
    ps_db_force_sqlite(db, true);
    assert_int_equal(sum_of(db), sum);
    assert_int_equal(ps_db_check_unchanged(db, NULL), PS_OK);
    ps_db_close(db);
    list_place(p->dir, &after);
    assert_string_equal(ps_buf_str(&before), ps_buf_str(&after));
    ps_buf_fini(&before);
    ps_buf_fini(&after);
    remove_place(&tmp); /* fails when a directory was left in it */
    restore_tmp(change);
}

enum { SUM_OF_500 = 500 * 501 / 2 };

/* --- states --- */

static void ordinary(void **state) {
    (void)state;
    place p;
    make_place(&p, "ordinary.db");
    make_db(p.path, MAKE_T);
    expect_sum(&p, SUM_OF_500, IN_PLACE);
    remove_place(&p);
}

static void wal_header_alone(void **state) {
    (void)state;
    place p;
    make_place(&p, "wal.db");
    make_db(p.path,
            "PRAGMA journal_mode = WAL;" MAKE_T); /* closing checkpoints and removes the -wal */
    expect_sum(&p, SUM_OF_500, IN_PLACE);
    char wal[PATH_BYTES + 8];
    (void)snprintf(wal, sizeof wal, "%s-wal", p.path);
    FILE *empty = fopen(wal, "wb");
    assert_non_null(empty);
    assert_int_equal(fclose(empty), 0);
    expect_sum(&p, SUM_OF_500, IN_PLACE);
    remove_place(&p);
}

static void copy_with(const place *from, const place *to, const char *suffix) {
    char source[PATH_BYTES + 8];
    char target[PATH_BYTES + 8];
    (void)snprintf(source, sizeof source, "%s%s", from->path, suffix);
    (void)snprintf(target, sizeof target, "%s%s", to->path, suffix);
    copy_file(source, target);
}

static void wal_with_content(void **state) {
    (void)state;
    place p;
    place bare;
    place stale;
    make_place(&p, "wal.db");
    make_place(&bare, "bare.db");
    make_place(&stale, "stale.db");
    sqlite3 *writer = open_writer(p.path);
    run_sql(writer, "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;" MAKE_T);
    run_sql(writer, "PRAGMA wal_checkpoint; INSERT INTO T(a) VALUES (1000000);");
    expect_sum(&p, SUM_OF_500 + 1000000, IN_PLACE); /* the writer is alive */
    copy_with(&p, &bare, "");
    copy_with(&p, &bare, "-wal");
    copy_with(&p, &stale, "");
    copy_with(&p, &stale, "-wal");
    copy_with(&p, &stale, "-shm");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    expect_sum(&bare, SUM_OF_500 + 1000000, IN_A_COPY);
    expect_sum(&stale, SUM_OF_500 + 1000000, IN_PLACE);
    remove_place(&p);
    remove_place(&bare);
    remove_place(&stale);
}

static void hot_journal(void **state) {
    (void)state;
    place p;
    place copy;
    make_place(&p, "writing.db");
    make_place(&copy, "crashed.db");
    make_db(p.path, MAKE_T);
    sqlite3 *writer = open_writer(p.path);
    /* A small cache spills: the file holds changes that only the journal can undo. */
    run_sql(writer, "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE T SET a = a + 7;"
                    "CREATE TABLE U AS SELECT a, b FROM T; UPDATE T SET b = b || zeroblob(300);");
    copy_with(&p, &copy, "");
    copy_with(&p, &copy, "-journal");
    run_sql(writer, "ROLLBACK");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    expect_sum(&copy, SUM_OF_500, IN_A_COPY);
    remove_place(&p);
    remove_place(&copy);
}

/* libsqlite3 deletes the file that a journal names at its end: not on our behalf. */
static void journal_that_names_a_file(void **state) {
    (void)state;
    place p;
    place copy;
    place mine;
    make_place(&p, "writing.db");
    make_place(&copy, "crashed.db");
    make_place(&mine, "notes.txt");
    assert_int_equal(ps_write_file(mine.path, "mine", 4, NULL), PS_OK);
    make_db(p.path, MAKE_T);
    sqlite3 *writer = open_writer(p.path);
    run_sql(writer, "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE T SET a = a + 7;"
                    "CREATE TABLE U AS SELECT a, b FROM T; UPDATE T SET b = b || zeroblob(300);");
    copy_with(&p, &copy, "");
    copy_with(&p, &copy, "-journal");
    run_sql(writer, "ROLLBACK");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);

    char journal[PATH_BYTES + 16];
    (void)snprintf(journal, sizeof journal, "%s-journal", copy.path);
    FILE *f = fopen(journal, "ab");
    assert_non_null(f);
    uint32_t sum = 0;
    uint32_t n = (uint32_t)strlen(mine.path);
    for (uint32_t i = 0; i < n; i++) {
        sum += (uint32_t)mine.path[i];
    }
    const unsigned char end[16] = {0,
                                   0,
                                   (unsigned char)(n >> 8),
                                   (unsigned char)n,
                                   0,
                                   0,
                                   (unsigned char)(sum >> 8),
                                   (unsigned char)sum,
                                   0xD9,
                                   0xD5,
                                   0x05,
                                   0xF9,
                                   0x20,
                                   0xA1,
                                   0x63,
                                   0xD7};
    assert_int_equal(fwrite("\0\0\0", 1, 4, f), 4); /* a page number of no page */
    assert_int_equal(fwrite(mine.path, 1, n, f), n);
    assert_int_equal(fwrite(end, 1, sizeof end, f), sizeof end);
    assert_int_equal(fclose(f), 0);
    expect_sum(&copy, SUM_OF_500, IN_A_COPY);
    assert_true(ps_is_file(mine.path));
    remove_place(&p);
    remove_place(&copy);
    remove_place(&mine);
}

/* A database and its -wal, without -shm: needs a copy. */
static void make_bare(place *bare) {
    place p;
    make_place(&p, "wal.db");
    make_place(bare, "bare.db");
    sqlite3 *writer = open_writer(p.path);
    run_sql(writer, "PRAGMA journal_mode = WAL;" MAKE_T);
    copy_with(&p, bare, "");
    copy_with(&p, bare, "-wal");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    remove_place(&p);
}

static void no_place_for_a_copy(void **state) {
    (void)state;
    place bare;
    make_bare(&bare);
    tmp_change change = set_tmp("/nowhere/at/all");
    ps_err err = PS_ERR_INIT;
    assert_null(ps_db_open(bare.path, &err));
    assert_int_equal(err.code, PS_IO);
    assert_string_equal(
        err.msg, "needs recovery, which is done on a copy: cannot make a directory in "
                 "/nowhere/at/all: No such file or directory; TMPDIR can name another place");
    restore_tmp(change);
    remove_place(&bare);
}

static void no_memory_for_a_copy(void **state) {
    (void)state;
    place bare;
    make_bare(&bare);
    place tmp;
    make_place(&tmp, "");
    tmp_change change = set_tmp(tmp.dir);
    ps_db *db = NULL;
    for (int64_t n = 0; db == NULL; n++) {
        assert_true(n < 500);
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        db = ps_db_open(bare.path, &err);
        (void)ps_alloc_fail_at(-1);
        assert_true(db != NULL || err.code == PS_NOMEM);
    }
    assert_int_equal(sum_of(db), SUM_OF_500);
    ps_db_close(db);
    remove_place(&tmp);
    restore_tmp(change);
    remove_place(&bare);
}

/* --- locks and changes --- */

static void locked_by_a_writer(void **state) {
    (void)state;
    place p;
    make_place(&p, "busy.db");
    make_db(p.path, MAKE_T);
    sqlite3 *writer = open_writer(p.path);
    run_sql(writer, "BEGIN EXCLUSIVE");
    ps_err err = PS_ERR_INIT;
    assert_null(ps_db_open_waiting(p.path, 20, &err));
    assert_int_equal(err.code, PS_BUSY);
    assert_string_equal(err.msg, "another program is writing the database; try again later");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    remove_place(&p);
}

/* Checks, counts and scans, and a second ps_db of the same file that closes, must not let go of the lock. */
static void lock_is_held_until_close(void **state) {
    (void)state;
    place p;
    make_place(&p, "held.db");
    make_db(p.path, MAKE_T);
    ps_db *db = open_ok(p.path);
    ps_db *second = open_ok(p.path);
    assert_int_equal(sum_of(second), SUM_OF_500);
    ps_db_close(second);
    assert_int_equal(ps_db_check_unchanged(db, NULL), PS_OK);
    assert_int_equal(sum_of(db), SUM_OF_500);
    sqlite3 *writer = open_writer(p.path);
    run_sql(writer, "BEGIN IMMEDIATE; UPDATE T SET a = a + 1");
    assert_int_equal(sqlite3_exec(writer, "COMMIT", NULL, NULL, NULL), SQLITE_BUSY);
    assert_int_equal(sum_of(db), SUM_OF_500);
    ps_db_close(db);
    run_sql(writer, "COMMIT");
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    remove_place(&p);
}

static void stamp_survives_begin_but_not_change(void **state) {
    (void)state;
    place p;
    for (int wal = 0; wal < 2; wal++) {
        make_place(&p, "stamp.db");
        make_db(p.path, wal != 0 ? "PRAGMA journal_mode = WAL;" MAKE_T : MAKE_T);
        ps_db *db = open_ok(p.path);
        ps_db_stamp stamp = ps_db_get_stamp(db);
        ps_db_close(db);
        sqlite3 *writer = open_writer(p.path);
        run_sql(writer, "BEGIN IMMEDIATE");
        assert_int_equal(ps_db_stamp_check(&stamp, p.path, writer, NULL), PS_OK);
        assert_int_equal(
            sqlite3_exec(writer, "UPDATE T SET a = 0 WHERE a = 1; COMMIT", NULL, NULL, NULL),
            SQLITE_OK);
        ps_err err = PS_ERR_INIT;
        assert_int_equal(ps_db_stamp_check(&stamp, p.path, writer, &err), PS_CHANGED);
        assert_string_equal(err.msg, "the database was changed since it was read; run again");
        assert_int_equal(sqlite3_close(writer), SQLITE_OK);
        remove_place(&p);
    }
}

static void replaced_file_is_noticed(void **state) {
    (void)state;
    place p;
    make_place(&p, "replaced.db");
    make_db(p.path, MAKE_T);
    char other[PATH_BYTES + 8];
    (void)snprintf(other, sizeof other, "%s.new", p.path);
    copy_file(p.path, other);
    ps_db *db = open_ok(p.path);
    assert_int_equal(rename(other, p.path), 0);
    assert_int_equal(ps_db_check_unchanged(db, NULL), PS_CHANGED);
    ps_db_close(db);
    remove_place(&p);
}

/* --- schema --- */

static void names(void **state) {
    (void)state;
    place p;
    make_place(&p, "names.db");
    make_db(
        p.path,
        "CREATE TABLE Zeta(Aa INTEGER PRIMARY KEY AUTOINCREMENT, b); CREATE TABLE alpha(x TEXT PRIMARY KEY) "
        "WITHOUT ROWID; CREATE VIEW v AS SELECT b AS c FROM Zeta; CREATE INDEX i ON Zeta(b);");
    ps_db *db = open_ok(p.path);
    size_t n = 0;
    const char *const *tables = ps_db_tables(db, &n);
    assert_int_equal(n, 2);
    assert_string_equal(tables[0], "Zeta");
    assert_string_equal(tables[1], "alpha");
    assert_true(ps_db_has_table(db, "ZETA"));
    assert_true(ps_db_has_table(db, "V"));
    assert_true(ps_db_has_table(db, "sqlite_master"));
    assert_false(ps_db_has_table(db, "i"));
    assert_true(ps_db_has_column(db, "zeta", "AA"));
    assert_true(ps_db_has_column(db, "v", "c"));
    assert_false(ps_db_has_column(db, "zeta", "c"));
    assert_false(ps_db_has_column(db, "none", "c"));
    assert_true(ps_db_has_rowid(db, "zeta"));
    assert_false(ps_db_has_rowid(db, "alpha"));
    assert_false(ps_db_has_rowid(db, "v"));
    assert_string_equal(ps_db_path(db), p.path);
    assert_int_not_equal(sqlite3_exec(ps_db_handle(db), "DELETE FROM Zeta", NULL, NULL, NULL),
                         SQLITE_OK);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_db_fail(db, "trying to write", &err), PS_READONLY);
    assert_string_equal(err.msg, "trying to write: attempt to write a readonly database");
    ps_db_close(db);
    remove_place(&p);
}

/* --- files that are none --- */

static void expect_refusal(const char *path, ps_code code, const char *msg) {
    ps_err err = PS_ERR_INIT;
    assert_null(ps_db_open(path, &err));
    assert_string_equal(err.msg, msg);
    assert_int_equal(err.code, code);
    assert_string_equal(err.file, path);
    assert_null(ps_db_open(path, NULL));
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
    assert_int_equal(ps_write_file(path, bytes, n, NULL), PS_OK);
}

static void bad_files(void **state) {
    (void)state;
    place p;
    make_place(&p, "bad.db");
    expect_refusal(p.path, PS_NOT_FOUND, "not readable: there is no such file or directory");
    expect_refusal(p.dir, PS_IO, "not a file");
    write_bytes(p.path, "", 0);
    expect_refusal(p.path, PS_SYNTAX, "empty file");
    write_bytes(p.path, "a,b\n1,2\n", 8);
    expect_refusal(p.path, PS_SYNTAX, "not an SQLite database, or an encrypted one");
    unsigned char zeros[4096] = {0};
    write_bytes(p.path, zeros, sizeof zeros);
    expect_refusal(p.path, PS_SYNTAX, "not an SQLite database, or an encrypted one");
    write_bytes(p.path, "SQLite form", 11);
    expect_refusal(p.path, PS_SYNTAX,
                   "an SQLite database cut off after 11 bytes; copy the file again");
    memcpy(zeros, "SQLite format 3", 16);
    write_bytes(p.path, zeros, 99);
    expect_refusal(p.path, PS_SYNTAX,
                   "an SQLite database cut off after 99 bytes; copy the file again");
    write_bytes(p.path, zeros, sizeof zeros);
    expect_refusal(p.path, PS_SYNTAX, "file is not a database" PS_DAMAGE_REMEDY);
    remove_place(&p);
}

static void damaged_files(void **state) {
    (void)state;
    place p;
    make_place(&p, "cut.db");
    make_db(p.path, MAKE_T);
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_read_file(p.path, 1 << 20, &bytes, NULL), PS_OK);
    write_bytes(p.path, bytes.data, 5000);
    ps_err err = PS_ERR_INIT;
    assert_null(ps_db_open(p.path, &err));
    char expected[256];
    (void)snprintf(
        expected, sizeof expected,
        "cut off in page 2: the header speaks of %zu pages of 4096 bytes" PS_DAMAGE_REMEDY,
        bytes.len / 4096);
    assert_string_equal(err.msg, expected);
    assert_int_equal(err.code, PS_SYNTAX);
    assert_int_equal(err.offset, 5000);
    memset(bytes.data + 100, 0xA5, 3996); /* the schema's page */
    write_bytes(p.path, bytes.data, bytes.len);
    expect_refusal(p.path, PS_SYNTAX, "database disk image is malformed" PS_DAMAGE_REMEDY);
    ps_buf_fini(&bytes);
    remove_place(&p);
}

/* --- schemas that are known --- */

static ps_code sum_first(void *context, const ps_scan_batch *b, ps_err *err) {
    (void)err;
    for (size_t row = 0; row < b->n_rows; row++) {
        *(int64_t *)context += b->columns[0].ints[row];
    }
    return PS_OK;
}

static int64_t sum_of_column(ps_db *db, const char *table, const char *column) {
    int64_t sum = 0;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_scan(db, table, &column, 1, sum_first, &sum, &err), PS_OK);
    return sum;
}

/* The same statements, but tables at other places, for one was filled before the next was made; then statements that differ in a
 * type, in an index, in a view's name. */
static void known_tables_lie_elsewhere(void **state) {
    (void)state;
    static const char *const MADE[] = {
        "CREATE TABLE a(x INTEGER, y TEXT); CREATE TABLE b(id INTEGER PRIMARY KEY, z REAL);"
        "INSERT INTO a VALUES(1, 'p'); INSERT INTO b VALUES(2, 5)",
        "CREATE TABLE a(x INTEGER, y TEXT);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO a SELECT 1, "
        "'row' || i FROM n; CREATE TABLE b(id INTEGER PRIMARY KEY, z REAL); INSERT INTO b VALUES(40, 5)",
        "CREATE TABLE a(x INTEGER, y TEXT); CREATE TABLE b(id INT PRIMARY KEY, z REAL);"
        "INSERT INTO a VALUES(3, 'p'); INSERT INTO b(rowid, id) VALUES(9, 7)",
        "CREATE TABLE a(x INTEGER, y TEXT); CREATE TABLE b(id INTEGER PRIMARY KEY DESC, z REAL);"
        "INSERT INTO a VALUES(4, 'p'); INSERT INTO b(rowid, id) VALUES(9, 8)",
        "CREATE TABLE a(x INTEGER, y TEXT); CREATE VIEW b AS SELECT x AS id FROM a;"
        "INSERT INTO a VALUES(5, 'p')",
    };
    static const int64_t SUMS[][2] = {{1, 2}, {2000, 40}, {3, 7}, {4, 8}, {5, -1}};
    for (size_t i = 0; i < 2 * sizeof MADE / sizeof *MADE;
         i++) { /* the second time all are known */
        size_t k = i % (sizeof MADE / sizeof *MADE);
        place p;
        make_place(&p, "known.db");
        sqlite3 *writer = open_writer(p.path);
        run_sql(writer, MADE[k]);
        assert_int_equal(sqlite3_close(writer), SQLITE_OK);
        ps_err err = PS_ERR_INIT;
        ps_db *db = ps_db_open(p.path, &err);
        assert_non_null(db);
        assert_int_equal(sum_of_column(db, "a", "x"), SUMS[k][0]);
        assert_int_equal(ps_db_has_rowid(db, "b"), SUMS[k][1] >= 0);
        if (SUMS[k][1] >= 0) {
            assert_int_equal(sum_of_column(db, "b", "id"), SUMS[k][1]);
        }
        const char *type = NULL;
        assert_string_equal(ps_db_column(db, "a", 1, &type), "y");
        assert_string_equal(type, "TEXT");
        ps_db_close(db);
        remove_place(&p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary),
        cmocka_unit_test(wal_header_alone),
        cmocka_unit_test(wal_with_content),
        cmocka_unit_test(hot_journal),
        cmocka_unit_test(journal_that_names_a_file),
        cmocka_unit_test(no_place_for_a_copy),
        cmocka_unit_test(no_memory_for_a_copy),
        cmocka_unit_test(locked_by_a_writer),
        cmocka_unit_test(lock_is_held_until_close),
        cmocka_unit_test(stamp_survives_begin_but_not_change),
        cmocka_unit_test(replaced_file_is_noticed),
        cmocka_unit_test(names),
        cmocka_unit_test(bad_files),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(known_tables_lie_elsewhere),
    };
    return cmocka_run_group_tests_name("sqlite_db", tests, NULL, NULL);
}

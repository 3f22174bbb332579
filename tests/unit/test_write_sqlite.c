/* Tables into a rank's database: the modes, all or nothing, and copies. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fs.h"
#include "run/cluster.h"
#include "support/profile.h"
#include "write/table/sqlite.h"

static const ps_column COLUMNS[] = {
    {.name = "id", .type = PS_COL_INT, .sql_type = "INTEGER PRIMARY KEY"},
    {.name = "share", .type = PS_COL_REAL},
    {.name = "note", .type = PS_COL_TEXT},
    {.name = "name", .type = PS_COL_STRING_ID}};

static ps_table *make_table(ps_table_mode mode, int n_rows) {
    ps_table *t = ps_table_new("Result \"x\"", "", COLUMNS, 4);
    assert_non_null(t);
    t->mode = mode;
    for (int i = 0; i < n_rows; i++) {
        assert_true(ps_table_add_row(t));
        ps_table_set_int(t, 0, i + 10);
        if (i > 0) { /* the first row keeps its NULLs */
            ps_table_set_real(t, 1, i / 4.0);
            assert_true(ps_table_set_text(t, 2, "it's"));
            assert_true(ps_table_set_text(t, 3, i == 1 ? "known" : "new"));
        }
    }
    return t;
}

static void apply(const char *path, ps_table *t) {
    ps_err err = PS_ERR_INIT;
    const ps_table *tables[] = {t};
    if (ps_sqlite_apply(path, tables, 1, NULL, NULL, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    ps_table_free(t);
}

#define ROWS "SELECT * FROM \"Result \"\"x\"\"\" ORDER BY id"

/* A database with the strings 0 "zero" and 7 "known". */
static const char *make_db(const place *where, profile *p) {
    profile_begin_file(p, place_path(where, "rank.db"));
    profile_sql(p, "INSERT INTO STRING_IDS VALUES (0, 'zero'), (7, 'known')");
    profile_close(p);
    return p->path;
}

/* Drops and creates; strings are found, or added behind the largest id. */
static void replace_drops_and_creates(void **state) {
    profile p;
    const char *db = make_db(*state, &p);
    apply(db, make_table(PS_TABLE_REPLACE, 3));
    expect_rows(db, ROWS, "10|NULL|NULL|NULL\n11|0.25|it's|7\n12|0.5|it's|8\n");
    expect_rows(db, "SELECT * FROM STRING_IDS ORDER BY id", "0|zero\n7|known\n8|new\n");
    apply(db, make_table(PS_TABLE_REPLACE, 1));
    expect_rows(db, ROWS, "10|NULL|NULL|NULL\n");
    apply(db, make_table(PS_TABLE_REPLACE, 0)); /* no rows: no table */
    expect_rows(db, "SELECT name FROM sqlite_master WHERE type = 'table'", "STRING_IDS\n");
}

static void create_leaves_an_existing_table_alone(void **state) {
    profile p;
    const char *db = make_db(*state, &p);
    apply(db, make_table(PS_TABLE_CREATE, 2));
    apply(db, make_table(PS_TABLE_CREATE, 3));
    expect_rows(db, ROWS, "10|NULL|NULL|NULL\n11|0.25|it's|7\n");
}

/* STRING_IDS is made where there is none. */
static void strings_need_no_table(void **state) {
    const char *db = place_path(*state, "plain.db");
    profile p;
    profile_begin_file(&p, db);
    profile_sql(&p, "DROP TABLE STRING_IDS");
    profile_close(&p);
    apply(p.path, make_table(PS_TABLE_REPLACE, 3));
    expect_rows(p.path, "SELECT * FROM STRING_IDS ORDER BY id", "0|known\n1|new\n");
}

/* --- a column by row id
 * ------------------------------------------------------------------------- */

static const ps_column BY_ROW[] = {{.name = "rowid", .type = PS_COL_INT},
                                   {.name = "mark", .type = PS_COL_TEXT}};

static ps_table *make_column(int n, const int64_t *rows, const char *const *values) {
    ps_table *t = ps_table_new("T", "", BY_ROW, 2);
    assert_non_null(t);
    t->mode = PS_TABLE_ADD_COLUMN;
    for (int i = 0; i < n; i++) {
        assert_true(ps_table_add_row(t));
        ps_table_set_int(t, 0, rows[i]);
        assert_true(ps_table_set_text(t, 1, values[i]));
    }
    return t;
}

static const char *make_numbered(const place *where, profile *p, const char *columns) {
    profile_begin_file(p, place_path(where, "rank.db"));
    profile_sql(p, "CREATE TABLE T (x INTEGER)");
    profile_sql(p, "INSERT INTO T(rowid, x) VALUES (1, 100), (2, 200), (5, 500)");
    profile_sql(p, columns);
    profile_close(p);
    return p->path;
}

static void a_column_is_added_and_set(void **state) {
    profile p;
    const char *db = make_numbered(*state, &p, "SELECT 1");
    apply(db, make_column(2, (const int64_t[]){5, 1}, (const char *const[]){"five", "one"}));
    expect_rows(db, "SELECT x, mark FROM T ORDER BY rowid", "100|one\n200|NULL\n500|five\n");
}

/* Notes the rows that are written. */
static void note_row(void *context, int what, const char *db, const char *table,
                     sqlite3_int64 row) {
    (void)what;
    (void)db;
    (void)table;
    ps_buf_addf(context, "%lld ", (long long)row);
}

static ps_code watch(void *context, sqlite3 *handle, ps_err *err) {
    (void)err;
    (void)sqlite3_update_hook(handle, note_row, context);
    return PS_OK;
}

/* What had a value and gets none loses it; what has its value already is not
 * written again. Triggers of the profile do not run. */
static void other_rows_are_cleared(void **state) {
    profile p;
    const char *db =
        make_numbered(*state, &p,
                      "ALTER TABLE T ADD COLUMN Mark TEXT; UPDATE T SET mark = 'old';"
                      "UPDATE T SET mark = 'one' WHERE rowid = 1;"
                      "CREATE TABLE victim (row INTEGER); INSERT INTO victim VALUES (1);"
                      "CREATE VIEW V AS SELECT x FROM T;"
                      "CREATE TRIGGER log AFTER UPDATE ON T BEGIN DELETE FROM victim; END");
    ps_table *t = make_column(2, (const int64_t[]){1, 2}, (const char *const[]){"one", "two"});
    const ps_table *tables[] = {t};
    ps_buf written;
    ps_buf_init(&written, 0);
    assert_int_equal(ps_sqlite_apply(db, tables, 1, watch, &written, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&written), "5 2 ");
    ps_buf_fini(&written);
    ps_table_free(t);
    expect_rows(db, "SELECT x, mark FROM T ORDER BY rowid", "100|one\n200|two\n500|NULL\n");
    expect_rows(db, "SELECT row FROM victim", "1\n");
    apply(db, make_column(0, NULL, NULL)); /* nobody has one now */
    expect_rows(db, "SELECT count(mark) FROM T", "0\n");
}

/* A column of the profile may be called rowid; the rows are numbered all the same. */
static void a_column_may_be_called_rowid(void **state) {
    profile p;
    const char *db =
        make_numbered(*state, &p,
                      "ALTER TABLE T ADD COLUMN RowId INTEGER; UPDATE T SET \"rowid\" = 1;"
                      "ALTER TABLE T ADD COLUMN mark TEXT; UPDATE T SET mark = 'old'");
    apply(db, make_column(1, (const int64_t[]){5}, (const char *const[]){"five"}));
    expect_rows(db, "SELECT x, mark FROM T ORDER BY oid", "100|NULL\n200|NULL\n500|five\n");
}

static void a_column_needs_a_free_name_for_row_ids(void **state) {
    profile p;
    const char *db = make_numbered(*state, &p,
                                   "ALTER TABLE T ADD COLUMN oid; ALTER TABLE T ADD COLUMN rowid;"
                                   "ALTER TABLE T ADD COLUMN _rowid_");
    uint64_t before = file_hash(db);
    ps_table *t = make_column(1, (const int64_t[]){1}, (const char *const[]){"x"});
    const ps_table *tables[] = {t};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sqlite_apply(db, tables, 1, NULL, NULL, &err), PS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "hide its row ids"));
    assert_true(file_hash(db) == before);
    ps_table_free(t);
}

/* No id is left behind the largest. */
static void string_ids_end_somewhere(void **state) {
    profile p;
    const char *db = make_db(*state, &p);
    sqlite3 *writer = NULL;
    assert_int_equal(sqlite3_open(db, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer,
                                  "INSERT INTO STRING_IDS VALUES (9223372036854775807, 'last')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    uint64_t before = file_hash(db);
    ps_table *t = make_table(PS_TABLE_REPLACE, 3);
    const ps_table *tables[] = {t};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sqlite_apply(db, tables, 1, NULL, NULL, &err), PS_RANGE);
    assert_true(file_hash(db) == before);
    ps_table_free(t);
}

/* Undoing what such a journal tells ends with deleting the file it names. */
static void a_journal_that_names_a_file_is_refused(void **state) {
    const place *where = *state;
    profile p;
    const char *db = make_db(where, &p);
    FILE *f = fopen(place_path(where, "rank.db-journal"), "wb");
    assert_non_null(f);
    assert_int_equal(fwrite("\xD9\xD5\x05\xF9\x20\xA1\x63\xD7name\0\0\0\4\0\0\1\xA1"
                            "\xD9\xD5\x05\xF9\x20\xA1\x63\xD7",
                            1, 28, f),
                     28);
    assert_int_equal(fclose(f), 0);
    uint64_t before = file_hash(db);
    uint64_t journal = file_hash(place_path(where, "rank.db-journal"));
    ps_sqlite_recover(db);
    ps_table *t = make_table(PS_TABLE_REPLACE, 3);
    const ps_table *tables[] = {t};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sqlite_apply(db, tables, 1, NULL, NULL, &err), PS_UNSUPPORTED);
    assert_non_null(strstr(err.msg, "move the journal away"));
    assert_true(file_hash(db) == before);
    assert_true(file_hash(place_path(where, "rank.db-journal")) == journal);
    ps_table_free(t);
}

static void a_column_needs_its_table(void **state) {
    profile p;
    const char *db = make_db(*state, &p);
    uint64_t before = file_hash(db);
    ps_table *t = make_column(1, (const int64_t[]){1}, (const char *const[]){"x"});
    const ps_table *tables[] = {t};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sqlite_apply(db, tables, 1, NULL, NULL, &err), PS_NOT_FOUND);
    assert_true(file_hash(db) == before);
    ps_table_free(t);
}

/* --- all or nothing
 * -------------------------------------------------------------------------------
 */

static ps_code refuse(void *context, sqlite3 *handle, ps_err *err) {
    assert_string_equal(context, "context");
    assert_int_equal(sqlite3_get_autocommit(handle), 0); /* the lock is held */
    return ps_fail(err, PS_CHANGED, "not the file that was read");
}

static void a_failed_recheck_changes_nothing(void **state) {
    profile p;
    const char *db = make_db(*state, &p);
    uint64_t before = file_hash(db);
    ps_table *t = make_table(PS_TABLE_REPLACE, 3);
    const ps_table *tables[] = {t};
    ps_err err = PS_ERR_INIT;
    char context[] = "context";
    assert_int_equal(ps_sqlite_apply(db, tables, 1, refuse, context, &err), PS_CHANGED);
    assert_non_null(strstr(err.msg, "not the file that was read"));
    assert_true(file_hash(db) == before);
    ps_table_free(t);
}

/* The second table fails: the first one is not there either. */
static void a_failed_table_takes_the_others_back(void **state) {
    profile p;
    const char *db = make_db(*state, &p);
    uint64_t before = file_hash(db);
    ps_table *good = make_table(PS_TABLE_REPLACE, 3);
    ps_table *bad = make_column(1, (const int64_t[]){1}, (const char *const[]){"x"});
    const ps_table *tables[] = {good, bad};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_sqlite_apply(db, tables, 2, NULL, NULL, &err), PS_NOT_FOUND);
    assert_true(file_hash(db) == before);
    ps_table_free(good);
    ps_table_free(bad);
}

static void a_file_that_is_no_database_is_refused(void **state) {
    const char *path = place_path(*state, "text.db");
    write_text(path, "this is a text, and a rather long one, that is no database at all");
    uint64_t before = file_hash(path);
    ps_table *t = make_table(PS_TABLE_REPLACE, 1);
    const ps_table *tables[] = {t};
    ps_err err = PS_ERR_INIT;
    assert_int_not_equal(ps_sqlite_apply(path, tables, 1, NULL, NULL, &err), PS_OK);
    assert_true(err.msg[0] != '\0');
    assert_true(file_hash(path) == before);
    const char *absent = place_path(*state, "absent.db");
    assert_int_not_equal(ps_sqlite_apply(absent, tables, 1, NULL, NULL, &err), PS_OK);
    assert_int_equal(access(absent, F_OK), -1); /* none is made */
    ps_table_free(t);
}

static void writing_without_memory(void **state) {
    profile p;
    const char *db = make_numbered(*state, &p, "INSERT INTO STRING_IDS VALUES (7, 'known')");
    uint64_t before = file_hash(db);
    ps_table *t = make_table(PS_TABLE_REPLACE, 20);
    ps_table *c = make_column(2, (const int64_t[]){1, 2}, (const char *const[]){"one", "two"});
    const ps_table *tables[] = {t, c};
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_sqlite_apply(db, tables, 2, NULL, NULL, &err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        assert_true(done || file_hash(db) == before);
    }
    expect_rows(db, "SELECT count(*), count(name) FROM \"Result \"\"x\"\"\"", "20|19\n");
    ps_table_free(t);
    ps_table_free(c);
}

/* --- copies
 * -----------------------------------------------------------------------------------------
 */

static ps_code copy(const char *from, const char *to, ps_table *t, ps_err *err) {
    sqlite3 *source = NULL;
    assert_int_equal(sqlite3_open_v2(from, &source, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
    const ps_table *tables[] = {t};
    ps_code code = ps_sqlite_copy(source, to, PS_COPY_APPLICATION_ID, tables, 1, err);
    assert_int_equal(sqlite3_close(source), SQLITE_OK);
    ps_table_free(t);
    return code;
}

/* Names in the place. */
static void expect_files(const place *where, const char *expected) {
    ps_arena arena;
    ps_buf text;
    ps_arena_init(&arena);
    ps_buf_init(&text, 0);
    const char **names = NULL;
    size_t n = 0;
    assert_int_equal(ps_list_dir(where->dir, &arena, &names, &n, NULL), PS_OK);
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(&text, "%s%s", i > 0 ? " " : "", names[i]);
    }
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
    ps_arena_fini(&arena);
}

static void a_copy_has_all_and_the_new_tables(void **state) {
    const place *where = *state;
    profile p;
    const char *db = make_db(where, &p);
    uint64_t before = file_hash(db);
    const char *to = place_path(where, "copy.db");
    ps_err err = PS_ERR_INIT;
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 2), &err), PS_OK);
    expect_rows(to, ROWS, "10|NULL|NULL|NULL\n11|0.25|it's|7\n");
    expect_rows(to, "SELECT count(*) FROM STRING_IDS", "2\n");
    assert_int_equal(query_int(to, "PRAGMA application_id"), PS_COPY_APPLICATION_ID);
    assert_true(file_hash(db) == before);
    expect_files(where, "copy.db rank.db");
}

/* An older copy of ours is replaced, anything else is not. */
static void only_copies_are_replaced(void **state) {
    const place *where = *state;
    profile p;
    const char *db = make_db(where, &p);
    const char *to = place_path(where, "copy.db");
    ps_err err = PS_ERR_INIT;
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 3), &err), PS_OK);
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 1), &err), PS_OK);
    expect_rows(to, ROWS, "10|NULL|NULL|NULL\n");

    const char *foreign = place_path(where, "foreign.db");
    profile q;
    profile_begin_file(&q, foreign);
    profile_close(&q);
    write_text(place_path(where, "text.db"), "text");
    uint64_t before = file_hash(foreign);
    assert_int_equal(copy(db, foreign, make_table(PS_TABLE_REPLACE, 1), &err), PS_USAGE);
    assert_true(file_hash(foreign) == before);
    assert_int_equal(copy(db, place_path(where, "text.db"), make_table(PS_TABLE_REPLACE, 1), &err),
                     PS_USAGE);
    expect_files(where, "copy.db foreign.db rank.db text.db");
}

/* What a killed run left under the name of a copy in the making is swept away, what others put there is not. */
static void only_left_overs_are_swept_away(void **state) {
    const place *where = *state;
    profile p;
    const char *db = make_db(where, &p);
    const char *to = place_path(where, "copy.db");
    ps_err err = PS_ERR_INIT;
    write_text(place_path(where, "copy.db.tmp"), "notes");
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 1), &err), PS_USAGE);
    assert_non_null(strstr(err.msg, "was not left by pipescope"));
    expect_files(where, "copy.db.tmp rank.db");

    write_text(place_path(where, "copy.db.tmp"), "");
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 1), &err), PS_OK);
    expect_files(where, "copy.db rank.db");

    assert_int_equal(rename(to, place_path(where, "copy.db.tmp")), 0);
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 1), &err), PS_OK);
    expect_files(where, "copy.db rank.db");

    /* Killed while the pages were copied: all of the file is what the transaction made. */
    write_text(place_path(where, "copy.db.tmp"), "half");
    FILE *f = fopen(place_path(where, "copy.db.tmp-journal"), "wb");
    assert_non_null(f);
    static const unsigned char head[512] = {0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7};
    assert_int_equal(fwrite(head, 1, sizeof head, f), sizeof head);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 1), &err), PS_OK);
    expect_files(where, "copy.db rank.db");
}

/* A copy that cannot be finished leaves nothing, and an older one as it was. */
static void an_unfinished_copy_leaves_nothing(void **state) {
    const place *where = *state;
    profile p;
    const char *db = make_db(where, &p);
    const char *to = place_path(where, "copy.db");
    ps_err err = PS_ERR_INIT;
    ps_table *bad = make_column(1, (const int64_t[]){1}, (const char *const[]){"x"});
    assert_int_equal(copy(db, to, bad, &err), PS_NOT_FOUND);
    expect_files(where, "rank.db");
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 1), &err), PS_OK);
    uint64_t before = file_hash(to);
    bad = make_column(1, (const int64_t[]){1}, (const char *const[]){"x"});
    assert_int_equal(copy(db, to, bad, &err), PS_NOT_FOUND);
    assert_true(file_hash(to) == before);
    expect_files(where, "copy.db rank.db");
}

/* A database in WAL mode is copied whole, and the copy is one file. */
static void a_copy_of_a_wal_database_is_one_file(void **state) {
    const place *where = *state;
    profile p;
    const char *db = make_db(where, &p);
    sqlite3 *writer = NULL;
    assert_int_equal(sqlite3_open(db, &writer), SQLITE_OK);
    assert_int_equal(sqlite3_exec(writer,
                                  "PRAGMA journal_mode = WAL; INSERT INTO "
                                  "STRING_IDS VALUES (9, 'in the log')",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    const place copies = place_inner(where, "copies");
    const char *to = place_path(&copies, "copy.db");
    ps_err err = PS_ERR_INIT;
    assert_int_equal(copy(db, to, make_table(PS_TABLE_REPLACE, 2), &err), PS_OK);
    assert_int_equal(sqlite3_close(writer), SQLITE_OK);
    expect_rows(to, "SELECT value FROM STRING_IDS WHERE id = 9", "in the log\n");
    expect_rows(to, "PRAGMA journal_mode", "delete\n");
    expect_files(&copies, "copy.db");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(replace_drops_and_creates),
        IN_PLACE(create_leaves_an_existing_table_alone),
        IN_PLACE(strings_need_no_table),
        IN_PLACE(a_column_is_added_and_set),
        IN_PLACE(other_rows_are_cleared),
        IN_PLACE(a_column_may_be_called_rowid),
        IN_PLACE(a_column_needs_a_free_name_for_row_ids),
        IN_PLACE(string_ids_end_somewhere),
        IN_PLACE(a_journal_that_names_a_file_is_refused),
        IN_PLACE(a_column_needs_its_table),
        IN_PLACE(a_failed_recheck_changes_nothing),
        IN_PLACE(a_failed_table_takes_the_others_back),
        IN_PLACE(a_file_that_is_no_database_is_refused),
        IN_PLACE(writing_without_memory),
        IN_PLACE(a_copy_has_all_and_the_new_tables),
        IN_PLACE(only_copies_are_replaced),
        IN_PLACE(only_left_overs_are_swept_away),
        IN_PLACE(an_unfinished_copy_leaves_nothing),
        IN_PLACE(a_copy_of_a_wal_database_is_one_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

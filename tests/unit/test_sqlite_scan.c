/* The decoder gives row for row what libsqlite3 gives: each case makes a table in some unusual way and compares. */
#include "test_sqlite_tools.h"

#include "read/sqlite/db_private.h"
#include "read/sqlite/file.h"
#include "read/sqlite/scan_rows.h"
#include "support/sanitized.h"

typedef enum expected_way { DECODED, STEPPED } expected_way;

static int count_statement(unsigned event, void *context, void *p, void *x) {
    (void)event;
    (void)p;
    (void)x;
    ++*(int *)context;
    return 0;
}

/* Scans both ways; *stepped says whether the first went through libsqlite3 as well. */
static void scan_twice(ps_db *db, const char *table, const char *const *columns, size_t n,
                       bool *stepped) {
    ps_buf fast;
    ps_buf slow;
    ps_buf_init(&fast, 0);
    ps_buf_init(&slow, 0);
    ps_err err = PS_ERR_INIT;
    int statements = 0;
    (void)sqlite3_trace_v2(ps_db_handle(db), SQLITE_TRACE_STMT, count_statement, &statements);
    ps_code code = ps_scan(db, table, columns, n, dump_batch, &fast, &err);
    (void)sqlite3_trace_v2(ps_db_handle(db), 0, NULL, NULL);
    if (code != PS_OK) {
        fail_msg("%s: %s", table, err.msg);
    }
    *stepped = statements > 0;
    ps_db_force_sqlite(db, true);
    assert_int_equal(ps_scan(db, table, columns, n, dump_batch, &slow, &err), PS_OK);
    ps_db_force_sqlite(db, false);
    assert_true(ps_buf_ok(&fast) && ps_buf_ok(&slow));
    assert_int_equal(fast.len, slow.len);
    assert_memory_equal(ps_buf_str(&fast), ps_buf_str(&slow), fast.len);
    ps_buf_fini(&fast);
    ps_buf_fini(&slow);
}

/* All columns, each alone, in reverse, in pairs, with one that is missing and one asked twice, and none. */
static void compare_projections(ps_db *db, const char *table, expected_way way) {
    const ps_schema_table *t = ps_db_find(db, table);
    assert_non_null(t);
    size_t n = t->n_columns;
    const char **names = ps_calloc(n + 3, sizeof *names);
    bool stepped = false;
    for (size_t i = 0; i < n; i++) {
        names[i] = t->columns[i].name;
    }
    names[n] = "no such column";
    names[n + 1] = names[0];
    names[n + 2] = names[n - 1];
    scan_twice(db, table, names, n + 3, &stepped);
    assert_int_equal(stepped, way == STEPPED);
    for (size_t i = 0; i < n && n < 100; i++) {
        scan_twice(db, table, &names[i], 1, &stepped);
        scan_twice(db, table, &names[i], 2, &stepped);
    }
    for (size_t i = 0; i < n; i++) {
        names[i] = t->columns[n - 1 - i].name;
    }
    scan_twice(db, table, names, n, &stepped);
    scan_twice(db, table, names, 0, &stepped);
    ps_free(names);
}

static void compare_counts(ps_db *db, const char *table) {
    int64_t fast = -1;
    int64_t slow = -1;
    assert_int_equal(ps_db_count_rows(db, table, &fast, NULL), PS_OK);
    ps_db_force_sqlite(db, true);
    assert_int_equal(ps_db_count_rows(db, table, &slow, NULL), PS_OK);
    ps_db_force_sqlite(db, false);
    assert_int_equal(fast, slow);
}

static void compare_file(const place *p, const char *table, expected_way way) {
    ps_buf before;
    ps_buf after;
    ps_buf_init(&before, 0);
    ps_buf_init(&after, 0);
    list_place(p->dir, &before);
    ps_err err = PS_ERR_INIT;
    ps_db *db = ps_db_open(p->path, &err);
    if (db == NULL) {
        fail_msg("%s", err.msg);
    }
    compare_projections(db, table, way);
    compare_counts(db, table);
    assert_int_equal(ps_db_check_unchanged(db, &err), PS_OK);
    ps_db_close(db);
    list_place(p->dir, &after);
    assert_string_equal(ps_buf_str(&before), ps_buf_str(&after));
    ps_buf_fini(&before);
    ps_buf_fini(&after);
}

/* Makes a database from SQL, compares table T, and removes it. */
static void compare_sql(const char *sql, const char *table, expected_way way) {
    place p;
    make_place(&p, "odd name %41?#.db");
    make_db(p.path, sql);
    compare_file(&p, table, way);
    remove_place(&p);
}

/* --- values --- */

static void every_serial_type(void **state) {
    (void)state;
    compare_sql(
        "CREATE TABLE T(a, b, c);"
        "INSERT INTO T VALUES (NULL, 0, 1), (-1, 127, -128), (128, -129, 32767), (-32768, 32768, -32769),"
        " (8388607, -8388608, 8388608), (-8388609, 2147483647, -2147483648),"
        " (2147483648, -2147483649, 140737488355327), (-140737488355328, 140737488355328, -140737488355329),"
        " (9223372036854775807, -9223372036854775807 - 1, 9223372036854775806),"
        " (0.5, -0.0, 1e308), (9e999, -9e999, 2.0), ('', x'', 'text'), ('a' || char(0) || 'b', x'00ff00', 'ü'),"
        " (randomblob(60), zeroblob(61), hex(zeroblob(100)));",
        "T", DECODED);
}

static void real_affinity(void **state) {
    (void)state;
    compare_sql(
        "CREATE TABLE T(r REAL, f FLOAT, d DOUBLE PRECISION, n NUMERIC, i INTEGER, point FLOATING POINT);"
        "INSERT INTO T VALUES (1, 2, 3, 4.0, 5.0, 6), (0, 1, -1, 0.0, 1.0, 1), (1.5, 2.5, 3.5, 4.5, 5.5, 6.5),"
        " ('x', x'01', NULL, '7', '8', 9), (9007199254740993, -9223372036854775807, 1e15, 1e19, 2, 3);",
        "T", DECODED);
}

static void overflow_chains(void **state) {
    (void)state;
    /* Before, in and behind the overflowing column; sizes around the limits of 1024-byte pages. */
    compare_sql(
        "PRAGMA page_size = 1024; CREATE TABLE T(a INTEGER, b BLOB, c INTEGER, d TEXT);"
        "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 400)"
        " INSERT INTO T SELECT i, randomblob(900 + i), i * 1000003, hex(randomblob(i)) FROM n;"
        "INSERT INTO T VALUES (1, randomblob(1000000), 2, hex(randomblob(50000)));"
        "INSERT INTO T VALUES (1, randomblob(3000000), 2, NULL), (1, randomblob(3000000), 2, NULL),"
        " (3, randomblob(5000000), 4, 'end');",
        "T", DECODED);
}

static void header_in_overflow(void **state) {
    (void)state;
    ps_buf sql;
    ps_buf_init(&sql, 0);
    ps_buf_add_str(&sql, "PRAGMA page_size = 512; CREATE TABLE T(c0");
    for (int i = 1; i < 600; i++) {
        ps_buf_addf(&sql, ", c%d", i);
    }
    for (int row = 0; row < 5; row++) {
        ps_buf_addf(&sql, "%s(%d", row == 0 ? "); INSERT INTO T VALUES " : "), ", row);
        for (int i = 1; i < 600; i++) {
            ps_buf_addf(&sql, ", %s%d", row == 2 ? "'text'||" : "", i * row * 7919);
        }
    }
    ps_buf_add_str(&sql, ");");
    compare_sql(ps_buf_str(&sql), "T", DECODED);
    ps_buf_fini(&sql);
}

static void wide_keys(void **state) {
    (void)state;
    /* Headers around the 16 bytes of a shape's key, with serial types of one and of two bytes. */
    ps_buf sql;
    for (int n = 12; n < 20; n++) {
        ps_buf_init(&sql, 0);
        ps_buf_add_str(&sql, "CREATE TABLE T(c0");
        for (int i = 1; i < n; i++) {
            ps_buf_addf(&sql, ", c%d", i);
        }
        ps_buf_add_str(
            &sql,
            "); WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 300)"
            " INSERT INTO T SELECT i");
        for (int i = 1; i < n; i++) {
            ps_buf_addf(
                &sql, ", CASE WHEN i %% %d = 0 THEN zeroblob(i * %d %% 90) ELSE i << (i %% 60) END",
                i + 3, i);
        }
        ps_buf_add_str(&sql, " FROM n;");
        compare_sql(ps_buf_str(&sql), "T", DECODED);
        ps_buf_fini(&sql);
    }
}

/* --- pages --- */

#define FILL_T                                                                                     \
    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"              \
    " INSERT INTO T SELECT i * 3, i, i % 7, 'name ' || i, i * 1.5 FROM n;"

static void page_sizes(void **state) {
    (void)state;
    static const int sizes[] = {512, 1024, 2048, 4096, 8192, 16384, 32768, 65536};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        char sql[512];
        (void)snprintf(sql, sizeof sql, "PRAGMA page_size = %d; %s", sizes[i],
                       "CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T);
        compare_sql(sql, "T", DECODED);
    }
}

static void reserved_bytes(void **state) {
    (void)state;
    for (int reserve = 1; reserve < 33; reserve += 31) {
        place p;
        make_place(&p, "reserved.db");
        sqlite3 *handle = open_writer(p.path);
        int want = reserve;
        run_sql(handle, "PRAGMA page_size = 512");
        assert_int_equal(sqlite3_file_control(handle, "main", SQLITE_FCNTL_RESERVE_BYTES, &want),
                         SQLITE_OK);
        run_sql(handle, "CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T
                        "INSERT INTO T(a) VALUES (zeroblob(5000));");
        assert_int_equal(sqlite3_close(handle), SQLITE_OK);
        compare_file(&p, "T", DECODED);
        remove_place(&p);
    }
}

static void deleted_rows(void **state) {
    (void)state;
    compare_sql(
        "PRAGMA page_size = 512; CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T
        "DELETE FROM T WHERE a % 3 = 0 OR a BETWEEN 500 AND 900; UPDATE T SET c = c || c WHERE a % 11 = 0;"
        "CREATE TABLE U AS SELECT * FROM T; DROP TABLE U;",
        "T", DECODED);
    compare_sql("CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T
                "DELETE FROM T;",
                "T", DECODED);
    compare_sql("CREATE TABLE T(a);", "T", DECODED);
}

static void auto_vacuum(void **state) {
    (void)state;
    compare_sql(
        "PRAGMA page_size = 512; PRAGMA auto_vacuum = FULL;"
        "CREATE TABLE U(x); CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T
        "INSERT INTO U SELECT randomblob(2000) FROM T LIMIT 100; DELETE FROM U WHERE rowid % 2; DELETE FROM T "
        "WHERE a % 5 = 0;",
        "T", DECODED);
}

static void interleaved_tables(void **state) {
    (void)state;
    place p;
    make_place(&p, "two.db");
    sqlite3 *handle = open_writer(p.path);
    run_sql(handle,
            "PRAGMA page_size = 512; CREATE TABLE T(a, b TEXT); CREATE TABLE U(a, b TEXT); BEGIN");
    for (int i = 0; i < 3000; i++) {
        run_sql(handle,
                i % 7 < 5
                    ? "INSERT INTO T VALUES (last_insert_rowid(), hex(randomblob(40)))"
                    : "INSERT INTO U VALUES (last_insert_rowid(), 'long' || hex(randomblob(200)))");
    }
    run_sql(handle, "COMMIT");
    assert_int_equal(sqlite3_close(handle), SQLITE_OK);
    compare_file(&p, "T", DECODED);
    compare_file(&p, "U", DECODED);
    remove_place(&p);
}

static void deep_tree(void **state) {
    (void)state;
    char sql[512];
    (void)snprintf(sql, sizeof sql,
                   "PRAGMA page_size = 512; CREATE TABLE T(a INTEGER, b TEXT, c INTEGER);"
                   "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i <= %d)"
                   " INSERT INTO T SELECT i * 12345, 'n' || (i %% 100), i %% 3 FROM n;",
                   PS_ROUNDS(200000, 20000));
    compare_sql(sql, "T", DECODED);
}

/* --- schemas --- */

static void added_columns(void **state) {
    (void)state;
    compare_sql(
        "CREATE TABLE T(a); INSERT INTO T VALUES (1), (2);"
        "ALTER TABLE T ADD b; ALTER TABLE T ADD c DEFAULT 7; ALTER TABLE T ADD d INTEGER DEFAULT -8;"
        "ALTER TABLE T ADD e REAL DEFAULT 9; ALTER TABLE T ADD f TEXT DEFAULT 'word';"
        "ALTER TABLE T ADD g DEFAULT 'word'; ALTER TABLE T ADD h DEFAULT NULL; ALTER TABLE T ADD i TEXT DEFAULT '';"
        "ALTER TABLE T ADD j DEFAULT (-5); ALTER TABLE T ADD k REAL DEFAULT -0;"
        "INSERT INTO T VALUES (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11); INSERT INTO T(a) VALUES (3);",
        "T", DECODED);
}

static void odd_defaults(void **state) {
    (void)state;
    static const char *const odd[] = {"TEXT DEFAULT 5",       "INTEGER DEFAULT '5'",
                                      "DEFAULT 2.5",          "DEFAULT x'0102'",
                                      "TEXT DEFAULT 'it''s'", "DEFAULT TRUE",
                                      "DEFAULT 0x10",         "DEFAULT +5",
                                      "REAL DEFAULT '5'",     "DEFAULT 9223372036854775807"};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char sql[256];
        (void)snprintf(
            sql, sizeof sql,
            "CREATE TABLE T(a); INSERT INTO T VALUES (1); ALTER TABLE T ADD b %s; INSERT INTO T(a) VALUES (2);",
            odd[i]);
        compare_sql(sql, "T", STEPPED);
    }
}

static void dropped_column(void **state) {
    (void)state;
    if (sqlite3_libversion_number() < 3035000) {
        skip();
    }
    compare_sql(
        "CREATE TABLE T(a, b, c); INSERT INTO T VALUES (1, 2, 3), (4, 'five', 6); ALTER TABLE T DROP COLUMN b;"
        "INSERT INTO T VALUES (7, 8);",
        "T", DECODED);
}

static void primary_keys(void **state) {
    (void)state;
    static const char *const columns[] = {"id INTEGER PRIMARY KEY",
                                          "id integer primary key autoincrement",
                                          "id INT PRIMARY KEY",
                                          "id INTEGER PRIMARY KEY DESC",
                                          "id BIGINT PRIMARY KEY",
                                          "id TEXT PRIMARY KEY",
                                          "id INTEGER, PRIMARY KEY(id DESC)",
                                          "id INTEGER, PRIMARY KEY(id, x)",
                                          "id INTEGER UNIQUE"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        char sql[512];
        (void)snprintf(
            sql, sizeof sql,
            "CREATE TABLE T(x, %s); INSERT INTO T(x, id) VALUES (1, 10), (2, -20), (3, 9223372036854775807),"
            " (4, -9223372036854775807 - 1), (5, 0);",
            columns[i]);
        const char *comma = strchr(columns[i], ',');
        if (comma != NULL) { /* table constraints come last */
            (void)snprintf(
                sql, sizeof sql,
                "CREATE TABLE T(x, %s); INSERT INTO T(x, id) VALUES (1, 10), (2, -20), (3, 0), (4, -1);",
                columns[i]);
        }
        compare_sql(sql, "T", DECODED);
    }
}

static void rowids_hidden_by_columns(void **state) {
    (void)state;
    compare_sql("CREATE TABLE T(rowid TEXT, x); INSERT INTO T VALUES ('b', 1), ('a', 2);", "T",
                DECODED);
    compare_sql("CREATE TABLE T(rowid, _rowid_, oid); INSERT INTO T VALUES (3, 2, 1), (1, 2, 3);",
                "T", STEPPED);
}

static void covering_index_keeps_order(void **state) {
    (void)state;
    compare_sql(
        "CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL); CREATE INDEX TB ON T(b);" FILL_T
        "ANALYZE;",
        "T", DECODED);
}

static void what_libsqlite3_does(void **state) {
    (void)state;
    compare_sql(
        "CREATE TABLE T(a TEXT PRIMARY KEY, b) WITHOUT ROWID; INSERT INTO T VALUES ('x', 1), ('a', 2);",
        "T", STEPPED);
    compare_sql(
        "PRAGMA encoding = 'UTF-16le'; CREATE TABLE T(a TEXT, b); INSERT INTO T VALUES ('grün', 2);",
        "T", STEPPED);
    if (sqlite3_libversion_number() >= 3031000) {
        compare_sql(
            "CREATE TABLE T(a, b AS (a * 2), c, d AS (a || c) STORED); INSERT INTO T VALUES (1, 2), (3, 4);",
            "T", STEPPED);
    }
}

static ps_code stop_at_once(void *context, const ps_scan_batch *b, ps_err *err) {
    (void)b;
    ++*(int *)context;
    return ps_fail(err, PS_UNSUPPORTED, "enough");
}

/* They are code of whoever made the file: this view has no last row. */
static void views_are_not_read(void **state) {
    (void)state;
    static const char *const columns[] = {"value"};
    place p;
    make_place(&p, "views.db");
    make_db(
        p.path,
        "CREATE VIEW META_DATA AS WITH RECURSIVE n(value) AS (SELECT 1 UNION ALL SELECT value FROM n)"
        " SELECT 'x' AS name, value FROM n;"
        "CREATE VIRTUAL TABLE R USING rtree(id, value, b);");
    ps_db *db = ps_db_open(p.path, NULL);
    static const char *const names[] = {"META_DATA", "R"};
    for (size_t i = 0; i < 2; i++) {
        ps_err err = PS_ERR_INIT;
        int64_t n = 0;
        assert_int_equal(ps_scan(db, names[i], columns, 1, stop_at_once, &n, &err), PS_UNSUPPORTED);
        assert_non_null(strstr(err.msg, "is a view or a virtual table"));
        assert_int_equal(ps_db_count_rows(db, names[i], &n, &err), PS_UNSUPPORTED);
    }
    /* Nor by a query of one's own. */
    assert_int_equal(
        sqlite3_exec(ps_db_handle(db), "SELECT max(value) FROM META_DATA", NULL, NULL, NULL),
        SQLITE_ERROR);
    ps_db_close(db);
    remove_place(&p);
}

static void odd_names(void **state) {
    (void)state;
    compare_sql("CREATE TABLE \"a \"\"b'; [c]\"(\"x \"\"y\", 'select', [from] INTEGER);"
                "INSERT INTO \"a \"\"b'; [c]\" VALUES (1, 2, 3);",
                "A \"B'; [C]", DECODED);
    compare_sql(
        "CREATE TABLE pragma_table_xinfo(a, b); INSERT INTO pragma_table_xinfo VALUES (1, 2);"
        "CREATE TABLE T(a, b); CREATE VIEW broken AS SELECT * FROM nowhere;",
        "sqlite_master", DECODED);
}

/* --- callbacks and errors --- */

static void callback_stops(void **state) {
    (void)state;
    place p;
    make_place(&p, "stop.db");
    make_db(p.path, "CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T);
    ps_db *db = ps_db_open(p.path, NULL);
    static const char *const columns[] = {"c"};
    for (int force = 0; force < 2; force++) {
        int calls = 0;
        ps_err err = PS_ERR_INIT;
        ps_db_force_sqlite(db, force != 0);
        assert_int_equal(ps_scan(db, "T", columns, 1, stop_at_once, &calls, &err), PS_UNSUPPORTED);
        assert_int_equal(calls, 1);
        assert_string_equal(err.msg, "enough");
        assert_int_equal(ps_scan(db, "nothing", columns, 1, stop_at_once, &calls, &err),
                         PS_NOT_FOUND);
        assert_string_equal(err.msg, "no table 'nothing'");
    }
    ps_db_close(db);
    remove_place(&p);
}

typedef struct nested {
    ps_db *db;
    int64_t n_rows;
    ps_buf text;
} nested;

/* Reads the whole table again for the first batch, then its own batch, whose bytes must still be there. */
static ps_code scan_within(void *context, const ps_scan_batch *b, ps_err *err) {
    nested *n = context;
    static const char *const columns[] = {"c", "a"};
    if (n->n_rows == 0) {
        ps_buf unused;
        ps_buf_init(&unused, 0);
        assert_int_equal(ps_scan(n->db, "T", columns, 2, dump_batch, &unused, err), PS_OK);
        ps_buf_fini(&unused);
    }
    n->n_rows += (int64_t)b->n_rows;
    return dump_batch(&n->text, b, err);
}

static void callback_scans(void **state) {
    (void)state;
    place p;
    make_place(&p, "nested.db");
    make_db(p.path, "CREATE TABLE T(id INTEGER PRIMARY KEY, a, b, c TEXT, d REAL);" FILL_T);
    nested n = {.db = ps_db_open(p.path, NULL)};
    ps_buf alone;
    ps_buf_init(&n.text, 0);
    ps_buf_init(&alone, 0);
    static const char *const columns[] = {"c"};
    assert_int_equal(ps_scan(n.db, "T", columns, 1, scan_within, &n, NULL), PS_OK);
    assert_int_equal(ps_scan(n.db, "T", columns, 1, dump_batch, &alone, NULL), PS_OK);
    assert_int_equal(n.n_rows, 3000);
    assert_int_equal(n.text.len, alone.len);
    assert_memory_equal(n.text.data, alone.data, alone.len);
    ps_buf_fini(&n.text);
    ps_buf_fini(&alone);
    ps_db_close(n.db);
    remove_place(&p);
}

/* Reads the table with allocation `n` failing, none when n is negative; `text` gets its rows where the code is PS_OK. Returns how many were made. */
static int64_t read_with_failure(int64_t n, const place *p, bool force, ps_buf *text,
                                 ps_code *code) {
    static const char *const columns[] = {"b", "d", "a"};
    ps_buf_clear(text);
    ps_err err = PS_ERR_INIT;
    (void)ps_alloc_fail_at(n);
    ps_db *db = ps_db_open(p->path, &err);
    *code = db != NULL ? PS_OK : err.code;
    if (db != NULL) {
        int64_t rows = 0;
        ps_db_force_sqlite(db, force);
        *code = ps_scan(db, "T", columns, 3, dump_batch, text, &err);
        if (*code == PS_OK) {
            *code = ps_db_count_rows(db, "T", &rows, &err);
        }
        if (*code == PS_OK) {
            assert_int_equal(rows, 41);
        }
    }
    int64_t made = ps_alloc_fail_at(-1);
    ps_db_close(db);
    return made;
}

static void out_of_memory(void **state) {
    (void)state;
    place p;
    make_place(&p, "nomem.db");
    make_db(
        p.path,
        "PRAGMA page_size = 512; CREATE TABLE T(a INTEGER PRIMARY KEY, b, d DEFAULT 3); CREATE VIEW V AS "
        "SELECT a FROM T;"
        "WITH RECURSIVE n(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
        " INSERT INTO T(b) SELECT zeroblob(i * 100) FROM n;");
    ps_buf whole, text;
    ps_buf_init(&whole, 0);
    ps_buf_init(&text, 0);
    ps_buf_add_fill(&text, ' ', 200000); /* the test's own buffer is not to run into the failure */
    for (int force = 0; force < 2; force++) {
        ps_code code = PS_OK;
        (void)read_with_failure(-1, &p, force != 0, &whole, &code);
        assert_int_equal(code, PS_OK);
        for (int64_t n = 0; read_with_failure(n, &p, force != 0, &text, &code) > n; n++) {
            assert_true(n < 500);
            if (code == PS_OK) { /* read in another way */
                assert_int_equal(text.len, whole.len);
                assert_memory_equal(text.data, whole.data, whole.len);
            } else {
                assert_int_equal(code, PS_NOMEM);
            }
        }
        assert_int_equal(code, PS_OK);
    }
    ps_buf_fini(&text);
    ps_buf_fini(&whole);
    remove_place(&p);
}

/* --- damage --- */

typedef struct image {
    unsigned char *bytes;
    size_t size;
} image;

static ps_code read_image(void *context, void *out, size_t n, uint64_t offset, ps_err *err) {
    const image *m = context;
    (void)err;
    assert_true(offset <= m->size && n <= m->size - offset);
    memcpy(out, m->bytes + offset, n);
    return PS_OK;
}

static ps_code scan_image(image *m, uint32_t root, ps_err *err) {
    static const ps_field fields[] = {
        {.position = 0}, {.position = 1}, {.position = 2, .is_real = true}};
    ps_page_src src = {.read = read_image, .context = m, .file = "image", .size_bytes = m->size};
    ps_pages pages;
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_code code = ps_pages_init(&pages, &src, err);
    if (code == PS_OK) {
        code = ps_rows_scan(&pages, root, fields, 3, dump_batch, &out, err);
    }
    ps_pages_fini(&pages);
    ps_buf_fini(&out);
    return code;
}

/* Table T with root 2, an interior page; pages of 512 bytes; one row overflows. */
static image make_image(void) {
    place p;
    make_place(&p, "image.db");
    make_db(p.path, "PRAGMA page_size = 512; CREATE TABLE T(a, b, c);"
                    "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < 40)"
                    " INSERT INTO T SELECT i * 1000, zeroblob(i), i FROM n;"
                    "INSERT INTO T VALUES (1, zeroblob(2000), 3);");
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_read_file(p.path, 1 << 20, &bytes, NULL), PS_OK);
    remove_place(&p);
    return (image){(unsigned char *)bytes.data, bytes.len};
}

static void damage_is_located(void **state) {
    (void)state;
    static const struct {
        size_t at;
        int bytes[2];
        uint64_t offset;
        const char *msg;
    } cases[] = {
        {16, {0x03, 0x00}, 16, "damaged database: page size 768" PS_DAMAGE_REMEDY},
        {512,
         {0x0A, -1},
         512,
         "damaged database: page 2: is not a page of a table" PS_DAMAGE_REMEDY},
        {512 + 3,
         {0xFF, 0xFF},
         512 + 3,
         "damaged database: page 2: has more cells than fit" PS_DAMAGE_REMEDY},
        {512 + 12,
         {0x02, 0x00},
         512 + 12,
         "damaged database: page 2: a cell lies outside the page" PS_DAMAGE_REMEDY},
        {512 + 10,
         {0x7F, 0xFF},
         512 + 8,
         "damaged database: page 2: refers to a page outside the file" PS_DAMAGE_REMEDY},
        {1024 + 8,
         {0x01, 0xFF},
         1024 + 8,
         "damaged database: page 3: a cell lies outside the page" PS_DAMAGE_REMEDY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        image m = make_image();
        ps_err err = PS_ERR_INIT;
        assert_int_equal(scan_image(&m, 2, &err), PS_OK);
        for (size_t b = 0; b < 2 && cases[i].bytes[b] >= 0; b++) {
            m.bytes[cases[i].at + b] = (unsigned char)cases[i].bytes[b];
        }
        assert_int_equal(scan_image(&m, 2, &err), PS_SYNTAX);
        assert_string_equal(err.msg, cases[i].msg);
        assert_string_equal(err.file, "image");
        assert_int_equal(err.offset, cases[i].offset);
        ps_free(m.bytes);
    }
}

static void circles_end(void **state) {
    (void)state;
    image m = make_image();
    ps_err err = PS_ERR_INIT;
    m.bytes[512 + 8] = m.bytes[512 + 9] = m.bytes[512 + 10] = 0;
    m.bytes[512 + 11] = 2; /* the root's right child is the root */
    assert_int_equal(scan_image(&m, 2, &err), PS_SYNTAX);
    ps_free(m.bytes);
}

/* Each byte of the table's pages, set to a few values: any answer will do that comes without a sanitizer's report. */
static void any_byte_may_be_wrong(void **state) {
    (void)state;
    image m = make_image();
    static const unsigned char values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
    for (size_t at = 16; at < m.size; at += PS_ROUNDS(1, 16)) {
        unsigned char before = m.bytes[at];
        for (size_t i = 0; i < sizeof values; i++) {
            m.bytes[at] = values[i];
            ps_code code = scan_image(&m, 2, NULL);
            assert_true(code == PS_OK || code == PS_SYNTAX || code == PS_UNSUPPORTED);
        }
        m.bytes[at] = before;
    }
    for (size_t size = m.size; size > 0; size -= size < 64 ? 1 : 64) {
        image shorter = {m.bytes, size};
        ps_code code = scan_image(&shorter, 2, NULL);
        assert_true(code == PS_SYNTAX || size == m.size);
    }
    ps_free(m.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_serial_type),
        cmocka_unit_test(real_affinity),
        cmocka_unit_test(overflow_chains),
        cmocka_unit_test(header_in_overflow),
        cmocka_unit_test(wide_keys),
        cmocka_unit_test(page_sizes),
        cmocka_unit_test(reserved_bytes),
        cmocka_unit_test(deleted_rows),
        cmocka_unit_test(auto_vacuum),
        cmocka_unit_test(interleaved_tables),
        cmocka_unit_test(deep_tree),
        cmocka_unit_test(added_columns),
        cmocka_unit_test(odd_defaults),
        cmocka_unit_test(dropped_column),
        cmocka_unit_test(primary_keys),
        cmocka_unit_test(rowids_hidden_by_columns),
        cmocka_unit_test(covering_index_keeps_order),
        cmocka_unit_test(what_libsqlite3_does),
        cmocka_unit_test(views_are_not_read),
        cmocka_unit_test(odd_names),
        cmocka_unit_test(callback_stops),
        cmocka_unit_test(callback_scans),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(damage_is_located),
        cmocka_unit_test(circles_end),
        cmocka_unit_test(any_byte_may_be_wrong),
    };
    return cmocka_run_group_tests_name("sqlite_scan", tests, NULL, NULL);
}

/* The input is a recipe for tables: every table that can be made is written as a workbook, as CSV, as JSON and into a database, twice,
 * and each is whole: the workbook by its own check, the JSON by a parser, the database by its count of rows. */
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "base/arena.h"
#include "base/literal.h"
#include "base/publish.h"
#include "model/table.h"
#include "write/out/writers.h"
#include "write/table/sqlite.h"
#include "write/table/table_xlsx.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAX_COLUMNS = 6, MAX_ROWS = 60, MAX_TABLES = 3, NAME = 24 };

static char folder[300];
static char book_path[320];
static char database_path[320];

typedef struct recipe {
    const uint8_t *at, *end;
} recipe;

static uint64_t number(recipe *r, size_t n_bytes) {
    uint64_t value = 0;
    for (; n_bytes > 0 && r->at < r->end; n_bytes--) {
        value = value << 8 | *r->at++;
    }
    return value;
}

static void must(bool ok, const char *what) {
    if (!ok) {
        (void)fprintf(stderr, "not whole: %s\n", what);
        abort();
    }
}

/* A name as tables and columns have them; a digit in front keeps those of one table apart. */
static void take_name(recipe *r, size_t i, char out[NAME]) {
    static const char LETTERS[] = "abXY_ \"'`$%[]/.";
    size_t n = (size_t)snprintf(out, NAME, "n%zu", i);
    for (uint64_t left = number(r, 1) % 12; left > 0; left--) {
        out[n++] = LETTERS[number(r, 1) % 14];
    }
    out[n] = '\0';
}

static int64_t take_int(recipe *r) {
    uint64_t how = number(r, 1);
    return how < 128 ? (int64_t)(how % 4) : (int64_t)number(r, how < 200 ? 4 : 8);
}

static double take_real(recipe *r) {
    static const double ODD[] = {NAN, INFINITY, -INFINITY, -0.0, 1e-320, 1.7e308};
    uint64_t how = number(r, 1);
    uint64_t bits = how >= 160 ? number(r, 8) : 0;
    double value = how < 96 ? (double)(how % 8) / 4 : ODD[how % 6];
    if (how >= 160) {
        memcpy(&value, &bits, sizeof value);
    }
    return value;
}

/* Bytes as they are, but for an end; some are longer than a cell holds. */
static const char *take_text(recipe *r, ps_arena *arena) {
    uint64_t how = number(r, 1);
    size_t n = how % 16 < (size_t)(r->end - r->at) ? how % 16 : (size_t)(r->end - r->at);
    size_t times = how >= 252 ? 5000 : 1;
    char *text = ps_arena_alloc(arena, n * times + 1);
    must(text != NULL, "memory");
    for (size_t i = 0; i < n * times; i++) {
        char c = (char)r->at[i % n];
        text[i] = c != '\0' ? c : '_';
    }
    text[n * times] = '\0';
    r->at += n;
    return text;
}

static void take_column(recipe *r, ps_table *t, ps_column *c, size_t i) {
    char *name = ps_arena_alloc(&t->arena, NAME);
    must(name != NULL, "memory");
    take_name(r, i, name);
    uint64_t what = number(r, 1);
    *c = (ps_column){.name = name,
                     .type = (ps_col_type)(what % 4),
                     .unit = (ps_unit)(what / 4 % (PS_UNIT_MHZ + 1)),
                     .merged = (what & 0x80) != 0,
                     .is_key = number(r, 1) % 8 == 0,
                     .width = (double)(number(r, 1) % 3) * 20};
}

static void take_row(recipe *r, ps_table *t) {
    must(ps_table_add_row(t), "memory");
    for (size_t c = 0; c < t->n_columns; c++) {
        if (number(r, 1) % 8 == 0) {
            continue;
        }
        switch (t->columns[c].type) {
        case PS_COL_INT:
            ps_table_set_int(t, c, take_int(r));
            break;
        case PS_COL_REAL:
            ps_table_set_real(t, c, take_real(r));
            break;
        case PS_COL_TEXT:
        case PS_COL_STRING_ID:
            must(ps_table_set_text(t, c, take_text(r, &t->arena)), "memory");
            break;
        }
    }
}

static ps_table *take_table(recipe *r, size_t i, ps_column *columns) {
    char name[NAME];
    take_name(r, i, name);
    ps_table *t = ps_table_new(name, "", columns, 1 + (size_t)(number(r, 1) % MAX_COLUMNS));
    must(t != NULL, "memory");
    t->mode = number(r, 1) % 4 == 0 ? PS_TABLE_CREATE : PS_TABLE_REPLACE;
    for (size_t c = 0; c < t->n_columns; c++) {
        take_column(r, t, &columns[c], c);
    }
    for (uint64_t n = number(r, 1) % MAX_ROWS; n > 0; n--) {
        take_row(r, t);
    }
    return t;
}

/* --- writing ------------------------------------------------------------------------------------------------------------ */

static void write_book(ps_table *const *tables, size_t n, recipe *r) {
    const ps_xlsx_limits small = {.rows = 2 + (size_t)(number(r, 1) % 32),
                                  .merged_cells = (size_t)number(r, 1)};
    ps_workbook books[2] = {
        {.tables = (const ps_table *const *)tables,
         .n_tables = n,
         .names_sheets = false,
         .path = book_path,
         .limits = &small},
        {.tables = (const ps_table *const *)tables, .n_tables = 1, .path = book_path}};
    ps_write_workbooks(books, 2, 1);
    for (int i = 0; i < 2; i++) {
        must(books[i].code == PS_OK, books[i].err.msg);
        must(books[i].report.n_sheets > 0, "a book without a sheet");
    }
}

static void write_texts(const ps_table *t) {
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    must(ps_write_table_csv(t, &out, NULL) == PS_OK && out.len > 0, "csv");
    ps_buf_clear(&out);
    must(ps_write_table_json(t, &out, NULL) == PS_OK, "json");
    ps_arena arena = {0};
    must(ps_literal_parse(&arena, ps_buf_str(&out), out.len, &err) != NULL, err.msg);
    ps_arena_fini(&arena);
    ps_buf_fini(&out);
}

static int64_t count_rows(sqlite3 *db, const char *table) {
    sqlite3_stmt *s = NULL;
    char *query = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
    must(query != NULL && sqlite3_prepare_v2(db, query, -1, &s, NULL) == SQLITE_OK &&
             sqlite3_step(s) == SQLITE_ROW,
         table);
    int64_t n = sqlite3_column_int64(s, 0);
    (void)sqlite3_finalize(s);
    sqlite3_free(query);
    return n;
}

static void write_database(ps_table *const *tables, size_t n) {
    ps_err err = PS_ERR_INIT;
    for (int again = 0; again < 2; again++) {
        must(ps_sqlite_merge(database_path, (const ps_table **)(uintptr_t)tables, n, &err) == PS_OK,
             err.msg);
    }
    sqlite3 *db = NULL;
    must(sqlite3_open_v2(database_path, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK,
         "no database");
    for (size_t i = 0; i < n; i++) {
        bool is_there = tables[i]->n_rows > 0;
        must(!is_there || count_rows(db, tables[i]->name) == (int64_t)tables[i]->n_rows,
             tables[i]->name);
    }
    (void)sqlite3_close(db);
    ps_remove_database(database_path);
}

static void leave(void) {
    (void)ps_remove_tree(folder, NULL);
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(folder, sizeof folder, "%.200s/ps_fuzz_tables_XXXXXX",
                   tmp != NULL ? tmp : "/tmp");
    if (mkdtemp(folder) == NULL) {
        abort();
    }
    (void)snprintf(book_path, sizeof book_path, "%.290s/book.xlsx", folder);
    (void)snprintf(database_path, sizeof database_path, "%.290s/tables.db", folder);
    return atexit(leave);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    recipe r = {data, data + size};
    ps_column columns[MAX_TABLES][MAX_COLUMNS];
    ps_table *tables[MAX_TABLES];
    size_t n = 1 + (size_t)(number(&r, 1) % MAX_TABLES);
    for (size_t i = 0; i < n; i++) {
        tables[i] = take_table(&r, i, columns[i]);
        write_texts(tables[i]);
    }
    write_book(tables, n, &r);
    write_database(tables, n);
    for (size_t i = 0; i < n; i++) {
        ps_table_free(tables[i]);
    }
    return 0;
}

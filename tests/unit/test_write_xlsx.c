/* Workbooks, read again by tests/support/xlsx_dump.py: cells, layout, merged cells, and what does not fit. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/fs.h"
#include "support/profile.h"
#include "write/table/table_xlsx.h"
#include "write/table/xlsx_check.h"

static void expect_dump(const place *where, const char *path, const char *what,
                        const char *expected) {
    char command[3 * TEST_PATH];
    const char *out = place_path(where, "dump.txt");
    if (system("python3 -c ''") != 0) {
        skip();
    }
    (void)snprintf(command, sizeof command, "python3 tests/support/xlsx_dump.py '%s' %s >'%s'",
                   path, what, out);
    assert_int_equal(system(command), 0);
    ps_buf text;
    ps_buf_init(&text, 0);
    assert_int_equal(ps_read_file(out, (size_t)1 << 20, &text, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
}

static ps_code write_one(const ps_table *t, const char *path, const ps_xlsx_limits *limits,
                         ps_xlsx_report *report, ps_err *err) {
    ps_workbook book = {.tables = &t, .n_tables = 1, .path = path, .limits = limits};
    ps_code code = ps_write_workbook(&book, err);
    if (report != NULL) {
        *report = book.report;
    }
    return code;
}

static const char *write_book(const place *where, ps_table *t, const ps_xlsx_limits *limits,
                              ps_xlsx_report *report) {
    const char *path = place_path(where, "%s.xlsx", t->name);
    ps_err err = PS_ERR_INIT;
    if (write_one(t, path, limits, report, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    ps_table_free(t);
    return path;
}

static const ps_column MODULES[] = {
    {.name = "parent", .type = PS_COL_TEXT, .header = "Parent Module", .width = 40, .merged = true},
    {.name = "module", .type = PS_COL_TEXT, .header = "Module", .width = 40, .merged = true},
    {.name = "total", .type = PS_COL_REAL, .unit = PS_UNIT_NS, .width = 10},
    {.name = "count", .type = PS_COL_INT}};

static void add_module(ps_table *t, const char *parent, const char *module, double total,
                       int64_t count) {
    assert_true(ps_table_add_row(t));
    assert_true(ps_table_set_text(t, 0, parent));
    assert_true(ps_table_set_text(t, 1, module));
    ps_table_set_real(t, 2, total);
    ps_table_set_int(t, 3, count);
}

/* Rows 2-4 have one parent, rows 3-5 one module: the module's cell ends where the parent's does. */
static ps_table *modules(void) {
    ps_table *t = ps_table_new("modules", "", MODULES, 4);
    assert_non_null(t);
    add_module(t, "a", "x", 1.5, 1);
    add_module(t, "a", "y", 22113.66666666667, 2);
    add_module(t, "a", "y", 3, 3);
    add_module(t, "b", "y", 4, 4);
    add_module(t, "", "z", 0.1, 5);
    add_module(t, "", "z", -6, 6);
    return t;
}

static void merged_cells_and_layout(void **state) {
    ps_xlsx_report report;
    const char *path = write_book(*state, modules(), NULL, &report);
    assert_int_equal(report.n_sheets, 1);
    assert_int_equal(report.n_cut, 0);
    assert_false(report.without_merging);
    expect_dump(*state, path, "cells",
                "Sheet1!A1 t Parent Module\nSheet1!B1 t Module\nSheet1!C1 t total_ns\n"
                "Sheet1!D1 t count\n"
                "Sheet1!A2 t a\nSheet1!B2 t x\nSheet1!C2 n 1.5\nSheet1!D2 n 1\n"
                "Sheet1!A3 b\nSheet1!B3 t y\nSheet1!C3 n 22113.66666666667\nSheet1!D3 n 2\n"
                "Sheet1!A4 b\nSheet1!B4 b\nSheet1!C4 n 3\nSheet1!D4 n 3\n"
                "Sheet1!A5 t b\nSheet1!B5 t y\nSheet1!C5 n 4\nSheet1!D5 n 4\n"
                "Sheet1!A6 b\nSheet1!B6 t z\nSheet1!C6 n 0.1\nSheet1!D6 n 5\n"
                "Sheet1!A7 b\nSheet1!B7 b\nSheet1!C7 n -6\nSheet1!D7 n 6\n");
    /* 40 characters of 7 pixels and 5 of margin are 285 of 7: 40.7109375 in steps of 1/256. */
    expect_dump(*state, path, "layout",
                "Sheet1 columns 1-1 width 40.7109375\n"
                "Sheet1 columns 2-2 width 40.7109375\n"
                "Sheet1 columns 3-3 width 10.7109375\n"
                "Sheet1 row 1 height 27\n"
                "Sheet1 merged A2:A4 A6:A7 B3:B4 B6:B7\n"
                "Sheet1 panes none\n"
                "Sheet1 row 1: Times New Roman 11 bold, fill solid FFAFEEEE, borders "
                "thin/thin/thin/thin, vertical center\n"
                "Sheet1 row 2: Times New Roman 11, fill none -, borders thin/thin/thin/thin, "
                "vertical center\n");
}

/* Too many cells to be merged: the values stand in every row, and the report says so. */
static void too_large_for_merging(void **state) {
    ps_xlsx_report report;
    const ps_xlsx_limits limits = {.rows = 1048576, .merged_cells = 23};
    const char *path = write_book(*state, modules(), &limits, &report);
    assert_true(report.without_merging);
    expect_dump(*state, path, "layout",
                "Sheet1 columns 1-1 width 40.7109375\n"
                "Sheet1 columns 2-2 width 40.7109375\n"
                "Sheet1 columns 3-3 width 10.7109375\n"
                "Sheet1 row 1 height 27\n"
                "Sheet1 merged -\n"
                "Sheet1 panes none\n"
                "Sheet1 row 1: Times New Roman 11 bold, fill solid FFAFEEEE, borders "
                "thin/thin/thin/thin, vertical center\n"
                "Sheet1 row 2: Times New Roman 11, fill none -, borders thin/thin/thin/thin, "
                "vertical center\n");
}

static const ps_column CELLS[] = {{.name = "text", .type = PS_COL_TEXT},
                                  {.name = "id", .type = PS_COL_INT},
                                  {.name = "share", .type = PS_COL_REAL}};

static void add_cell(ps_table *t, const char *text) {
    assert_true(ps_table_add_row(t));
    assert_true(ps_table_set_text(t, 0, text));
}

/* Formulas, links, control characters, escapes of the format, bytes that are no text. */
static void text_stays_text(void **state) {
    ps_table *t = ps_table_new("texts", "", CELLS, 1);
    assert_non_null(t);
    add_cell(t, "=1+1");
    add_cell(t, "https://example.com/");
    add_cell(t, "{=A1}");
    add_cell(t, "tab\tline\nbell\a return\r");
    add_cell(t, "_x0041_ _x41_");
    add_cell(t, "bad \xFF byte");
    add_cell(t, " <a&\"b\"> \xE2\x82\xAC");
    add_cell(t, "");
    add_cell(t, NULL);
    ps_xlsx_report report;
    const char *path = write_book(*state, t, NULL, &report);
    expect_dump(*state, path, "cells",
                "Sheet1!A1 t text\nSheet1!A2 t =1+1\nSheet1!A3 t https://example.com/\n"
                "Sheet1!A4 t {=A1}\nSheet1!A5 t tab\\tline\\nbell_x0007_ return_x000D_\n"
                "Sheet1!A6 t _x005F_x0041_ _x41_\nSheet1!A7 t bad \\ufffd byte\n"
                "Sheet1!A8 t  <a&\"b\"> \\u20ac\nSheet1!A9 b\nSheet1!A10 b\n");
}

/* 2^53 + 1 has no double: the column is text, digit by digit. Others stay numbers. */
static void large_integers_keep_their_digits(void **state) {
    ps_table *t = ps_table_new("numbers", "", CELLS + 1, 2);
    assert_non_null(t);
    assert_true(ps_table_add_row(t));
    ps_table_set_int(t, 0, 9007199254740993);
    ps_table_set_real(t, 1, NAN);
    assert_true(ps_table_add_row(t));
    ps_table_set_int(t, 0, 7);
    ps_table_set_real(t, 1, -INFINITY);
    const char *path = write_book(*state, t, NULL, NULL);
    expect_dump(*state, path, "cells",
                "Sheet1!A1 t id\nSheet1!B1 t share\nSheet1!A2 t 9007199254740993\n"
                "Sheet1!B2 t nan\nSheet1!A3 t 7\nSheet1!B3 t -inf\n");
    t = ps_table_new("exact", "", CELLS + 1, 1);
    assert_non_null(t);
    assert_true(ps_table_add_row(t));
    ps_table_set_int(t, 0, -9007199254740992);
    path = write_book(*state, t, NULL, NULL);
    expect_dump(*state, path, "cells", "Sheet1!A1 t id\nSheet1!A2 n -9007199254740992\n");
}

/* 32767 UTF-16 units fit; one more is cut before its last unit, never inside a pair. */
static void long_texts_are_cut_and_counted(void **state) {
    static char text[40000];
    ps_table *t = ps_table_new("long", "", CELLS, 1);
    assert_non_null(t);
    memset(text, 'a', 32768);
    text[32767] = '\0';
    add_cell(t, text);
    text[32767] = 'a';
    text[32768] = '\0';
    add_cell(t, text);
    memcpy(text + 32765, "\xF0\x9F\x98\x80 end", 9); /* two units from 32765 on */
    add_cell(t, text);
    ps_xlsx_report report;
    const char *path = write_book(*state, t, NULL, &report);
    assert_int_equal(report.n_cut, 2);
    char command[3 * TEST_PATH];
    (void)snprintf(command, sizeof command,
                   "python3 tests/support/xlsx_dump.py '%s' | awk '{ print length($3), "
                   "substr($3, length($3) - 6) }' >'%s'",
                   path, place_path(*state, "lengths"));
    if (system("python3 -c ''") != 0) {
        skip();
    }
    assert_int_equal(system(command), 0);
    ps_buf lines;
    ps_buf_init(&lines, 0);
    assert_int_equal(ps_read_file(place_path(*state, "lengths"), 1000, &lines, NULL), PS_OK);
    /* the mark is shown as \u2026, six characters: 32766 + 6, and 32765 + 6 with the pair left out */
    assert_string_equal(ps_buf_str(&lines),
                        "4 text\n32767 aaaaaaa\n32772 a\\u2026\n32771 a\\u2026\n");
    ps_buf_fini(&lines);
}

/* A sheet of four rows holds three of the table; merged cells end with the sheet. */
static void rows_go_on_in_further_sheets(void **state) {
    ps_xlsx_report report;
    const ps_xlsx_limits limits = {.rows = 3, .merged_cells = 1000};
    const char *path = write_book(*state, modules(), &limits, &report);
    assert_int_equal(report.n_sheets, 3);
    expect_dump(*state, path, "cells | grep -v '![ACD][2-9]'",
                "Sheet1!A1 t Parent Module\nSheet1!B1 t Module\nSheet1!C1 t total_ns\n"
                "Sheet1!D1 t count\nSheet1!B2 t x\nSheet1!B3 t y\n"
                "Sheet2!A1 t Parent Module\nSheet2!B1 t Module\nSheet2!C1 t total_ns\n"
                "Sheet2!D1 t count\nSheet2!B2 t y\nSheet2!B3 t y\n"
                "Sheet3!A1 t Parent Module\nSheet3!B1 t Module\nSheet3!C1 t total_ns\n"
                "Sheet3!D1 t count\nSheet3!B2 t z\nSheet3!B3 b\n");
    expect_dump(*state, path, "layout | grep merged",
                "Sheet1 merged A2:A3\nSheet2 merged -\nSheet3 merged A2:A3 B2:B3\n");
}

static void an_empty_table_is_a_header(void **state) {
    ps_table *t = ps_table_new("empty", "", CELLS, 3);
    assert_non_null(t);
    const char *path = write_book(*state, t, NULL, NULL);
    expect_dump(*state, path, "cells", "Sheet1!A1 t text\nSheet1!B1 t id\nSheet1!C1 t share\n");
    expect_dump(*state, path, "layout | grep panes", "Sheet1 panes frozen\n");
}

static void equal_tables_are_equal_bytes(void **state) {
    uint64_t first = file_hash(write_book(*state, modules(), NULL, NULL));
    assert_true(first == file_hash(write_book(*state, modules(), NULL, NULL)));
}

static void what_cannot_be_written(void **state) {
    ps_table *t = modules();
    ps_err err = PS_ERR_INIT;
    assert_int_equal(write_one(t, place_path(*state, "no/such/dir.xlsx"), NULL, NULL, &err),
                     PS_NOT_FOUND);
    t->n_columns = 16385; /* not looked at */
    assert_int_equal(write_one(t, place_path(*state, "wide.xlsx"), NULL, NULL, &err), PS_RANGE);
    t->n_columns = 4;
    ps_table_free(t);
    assert_false(ps_is_file(place_path(*state, "wide.xlsx")));
}

/* Without room for the sheet the library sees nothing wrong; the check does, and no file is left. */
static void a_full_disk_is_noticed(void **state) {
    ps_table *t = ps_table_new("full", "", CELLS, 3);
    assert_non_null(t);
    for (int64_t i = 0; i < 2000; i++) {
        add_cell(t, "aclnnMatmul_MatMulV2");
        ps_table_set_int(t, 1, i);
    }
    const char *path = place_path(*state, "full.xlsx");
    struct rlimit before;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    for (rlim_t bytes = 1024; bytes <= 65536; bytes *= 4) {
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){bytes, before.rlim_max}), 0);
        ps_code code = write_one(t, path, NULL, NULL, NULL);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_int_equal(code, PS_IO);
        assert_false(ps_is_file(path));
    }
    (void)signal(SIGXFSZ, handler);
    const char **names = NULL;
    size_t n = 0;
    ps_arena arena;
    ps_arena_init(&arena);
    const place *where = *state;
    assert_int_equal(ps_list_dir(where->dir, &arena, &names, &n, NULL), PS_OK);
    assert_int_equal(n, 0);
    ps_arena_fini(&arena);
    ps_table_free(t);
}

/* Files cut anywhere are refused, and no byte that changes does harm. */
static void damaged_workbooks(void **state) {
    const char *path = write_book(*state, modules(), NULL, NULL);
    const char *other = place_path(*state, "damaged.xlsx");
    ps_buf bytes;
    ps_buf_init(&bytes, 0);
    assert_int_equal(ps_read_file(path, (size_t)1 << 20, &bytes, NULL), PS_OK);
    const ps_xlsx_held held = {.n_cells = 7 * 4}; /* six rows and the header */
    const ps_xlsx_held more = {.n_cells = 7 * 4 + 1};
    const ps_xlsx_held frozen = {.n_cells = 7 * 4, .n_frozen = 1};
    assert_int_equal(ps_xlsx_check(path, path, held, NULL), PS_OK);
    assert_int_equal(ps_xlsx_check(path, path, more, NULL), PS_IO);
    assert_int_equal(ps_xlsx_check(path, path, frozen, NULL), PS_NOMEM);
    for (size_t n = 0; n < bytes.len; n += bytes.len / 12) {
        assert_int_equal(ps_write_file(other, bytes.data, n, NULL), PS_OK);
        assert_int_equal(ps_xlsx_check(other, other, held, NULL), PS_IO);
    }
    for (size_t i = 0; i < bytes.len; i += i + 1000 < bytes.len ? bytes.len / 12 : 29) {
        bytes.data[i] = (char)~bytes.data[i];
        assert_int_equal(ps_write_file(other, bytes.data, bytes.len, NULL), PS_OK);
        (void)!ps_xlsx_check(other, other, held, NULL);
        bytes.data[i] = (char)~bytes.data[i];
    }
    ps_buf_fini(&bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {IN_PLACE(merged_cells_and_layout),
                                       IN_PLACE(too_large_for_merging),
                                       IN_PLACE(text_stays_text),
                                       IN_PLACE(large_integers_keep_their_digits),
                                       IN_PLACE(long_texts_are_cut_and_counted),
                                       IN_PLACE(rows_go_on_in_further_sheets),
                                       IN_PLACE(an_empty_table_is_a_header),
                                       IN_PLACE(equal_tables_are_equal_bytes),
                                       IN_PLACE(what_cannot_be_written),
                                       IN_PLACE(a_full_disk_is_noticed),
                                       IN_PLACE(damaged_workbooks)};
    return cmocka_run_group_tests_name("write_xlsx", tests, NULL, NULL);
}

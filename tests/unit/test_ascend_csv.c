/* Tables from CSV files: names of columns, and what a table may cost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/buf.h"
#include "read/ascend/ascend_csv.h"

static ps_diag diag; /* some 30 kB */

static ps_table *read_buf(const ps_buf *text) {
    assert_true(ps_buf_ok(text));
    diag = (ps_diag){0};
    ps_err err = PS_ERR_INIT;
    ps_ascend_csv csv;
    ps_ascend_csv_src src = {.path = "x.csv", .bytes = text->data, .n_bytes = text->len};
    assert_int_equal(ps_ascend_csv_read(&src, "x", &diag, &csv, &err), PS_OK);
    assert_non_null(csv.table);
    return csv.table;
}

static void add_row(ps_buf *text, const char *cell, size_t n) {
    for (size_t i = 0; i < n; i++) {
        ps_buf_addf(text, "%s%s", i > 0 ? "," : "", cell);
    }
    ps_buf_add_char(text, '\n');
}

static void narrow_rows_do_not_cost_the_header(void **state) {
    (void)state;
    enum { N_COLUMNS = 4096, N_NARROW = 20000, N_WIDE = 50 };
    ps_buf text;
    ps_buf_init(&text, 0);
    add_row(&text, "a", N_COLUMNS);
    for (size_t i = 0; i < N_NARROW; i++) {
        add_row(&text, "1", 1);
    }
    for (size_t i = 0; i < N_WIDE; i++) {
        add_row(&text, "2", N_COLUMNS);
    }
    ps_table *t = read_buf(&text);
    assert_int_equal(t->n_columns, N_COLUMNS);
    assert_int_equal(diag.counts[PS_ODD_TABLE_ROW], N_NARROW);
    assert_non_null(strstr(diag.places[PS_ODD_TABLE_ROW][0], "the header has 4096"));
    assert_true(t->n_rows >= N_WIDE && t->n_rows < N_WIDE + 50);
    assert_true(t->cap_cells < 4 * (N_NARROW + N_WIDE * N_COLUMNS) + 65536);
    assert_int_equal(ps_table_cell(t, t->n_rows - 1, N_COLUMNS - 1)->u.i, 2);
    ps_table_free(t);
    ps_buf_fini(&text);
}

/* Rows that lack some cells, and few rows that lack nearly all, stay. */
static void common_narrow_rows_stay(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 0);
    add_row(&text, "a", 64);
    for (size_t i = 0; i < 5000; i++) {
        add_row(&text, "1", 16);
    }
    for (size_t i = 0; i < 1000; i++) {
        add_row(&text, "1", 1);
    }
    ps_table *t = read_buf(&text);
    assert_int_equal(t->n_rows, 6000);
    assert_int_equal(diag.counts[PS_ODD_TABLE_ROW], 6000);
    ps_table_free(t);
    ps_buf_fini(&text);
}

static void equal_headers_get_numbers(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 0);
    ps_buf_add_str(&text, "a,a 2,a,a,b,b,a 2\n1,2,3,4,5,6,7\n");
    ps_table *t = read_buf(&text);
    static const char *const NAMES[] = {"a", "a 2", "a 3", "a 4", "b", "b 2", "a 2 2"};
    for (size_t i = 0; i < 7; i++) {
        assert_string_equal(t->columns[i].name, NAMES[i]);
    }
    ps_table_free(t);
    ps_buf_clear(&text);
    add_row(&text, "same", 4096);
    t = read_buf(&text);
    assert_string_equal(t->columns[4095].name, "same 4096");
    ps_table_free(t);
    ps_buf_fini(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(narrow_rows_do_not_cost_the_header),
        cmocka_unit_test(common_narrow_rows_stay),
        cmocka_unit_test(equal_headers_get_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

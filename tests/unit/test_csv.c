/* The CSV reader on input that people and profilers really write. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "read/ascend/csv.h"

/* Rows as "line: [cell][cell]", one a line. */
static void check(const char *input, size_t n, const char *expected, bool is_cut) {
    ps_input *in = ps_input_of_memory(input, n, NULL);
    assert_non_null(in);
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_csv_row row;
    while (ps_csv_next(&csv, &row, NULL) == PS_OK && row.n > 0) {
        ps_buf_addf(&out, "%llu: ", (unsigned long long)row.line);
        for (size_t i = 0; i < row.n; i++) {
            ps_buf_add_char(&out, '[');
            ps_buf_add(&out, row.cells[i].text, row.cells[i].n);
            ps_buf_add_char(&out, ']');
            assert_int_equal(row.cells[i].text[row.cells[i].n], '\0');
        }
        ps_buf_add_char(&out, '\n');
    }
    assert_string_equal(ps_buf_str(&out), expected);
    assert_int_equal(ps_csv_is_cut(&csv), is_cut);
    ps_buf_fini(&out);
    ps_csv_fini(&csv);
    ps_input_close(in);
}

#define CHECK(input, expected) check(input, sizeof(input) - 1, expected, false)

static void plain_rows(void **state) {
    (void)state;
    CHECK("a,b\n1,2\n", "1: [a][b]\n2: [1][2]\n");
    CHECK("a,b\n1,2", "1: [a][b]\n2: [1][2]\n");
    CHECK("a,,\n,\n", "1: [a][][]\n2: [][]\n");
    CHECK("a,", "1: [a][]\n");
    CHECK("", "");
    CHECK("a", "1: [a]\n");
}

static void line_ends(void **state) {
    (void)state;
    CHECK("a,b\r\n1,\"2\"\r\n", "1: [a][b]\n2: [1][2]\n");
    CHECK("a\n\n\r\nb\n", "1: [a]\n4: [b]\n");
    CHECK("a\rb\n", "1: [a\rb]\n");
}

static void quotes(void **state) {
    (void)state;
    CHECK("\"a,b\",\"c\"\"d\",\"\"\n", "1: [a,b][c\"d][]\n");
    CHECK("\"\"\"32,3\"\"\",x\n", "1: [\"32,3\"][x]\n");
    CHECK("\"one\ntwo\r\nthree\",x\nlast\n", "1: [one\ntwo\r\nthree][x]\n4: [last]\n");
    CHECK("5\" disk,x\n", "1: [5\" disk][x]\n");
    CHECK("\"a\"b\"c,d\n", "1: [ab\"c][d]\n");
    CHECK(" \"a\",b\n", "1: [ \"a\"][b]\n");
}

static void tabs_and_mark(void **state) {
    (void)state;
    CHECK("\xEF\xBB\xBF"
          "a\t,\"b\t\",\tc\t\t\n",
          "1: [a][b][\tc]\n");
    CHECK("\xEF\xBB\xBF", "");
    CHECK("\xEF\xBB", "1: [\xEF\xBB]\n");
}

static void cut_inside_quotes(void **state) {
    (void)state;
    check("a,\"b\nc", 6, "1: [a][b\nc]\n", true);
    check("a,\"", 3, "1: [a][]\n", true);
    check("a,\"b\"\"", 6, "1: [a][b\"]\n", true);
}

static void zero_bytes(void **state) {
    (void)state;
    ps_input *in = ps_input_of_memory("a\0b,c\n", 6, NULL);
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_csv_row row;
    assert_int_equal(ps_csv_next(&csv, &row, NULL), PS_OK);
    assert_int_equal(row.n, 2);
    assert_int_equal(row.cells[0].n, 3);
    ps_csv_fini(&csv);
    ps_input_close(in);
}

/* Rows lie across the ends of the window, at every offset. */
static void windows(void **state) {
    (void)state;
    ps_buf text;
    ps_buf_init(&text, 0);
    size_t n_rows = 40000;
    for (size_t i = 0; i < n_rows; i++) {
        ps_buf_addf(&text, "%zu,\"x\"\"%zu\n\",%.*s\r\n", i, i, (int)(i % 37),
                    "yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy");
    }
    ps_input *in = ps_input_of_memory(text.data, text.len, NULL);
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_csv_row row;
    for (size_t i = 0; i < n_rows; i++) {
        char want[64];
        assert_int_equal(ps_csv_next(&csv, &row, NULL), PS_OK);
        assert_int_equal(row.n, 3);
        assert_int_equal(row.line, 2 * i + 1);
        (void)snprintf(want, sizeof want, "x\"%zu\n", i);
        assert_int_equal(strtoull(row.cells[0].text, NULL, 10), i);
        assert_string_equal(row.cells[1].text, want);
        assert_int_equal(row.cells[2].n, i % 37);
    }
    assert_int_equal(ps_csv_next(&csv, &row, NULL), PS_OK);
    assert_int_equal(row.n, 0);
    ps_csv_fini(&csv);
    ps_input_close(in);
    ps_buf_fini(&text);
}

/* A quote that never ends takes no more than the limit. */
static void too_long(void **state) {
    (void)state;
    size_t n = PS_CSV_MAX_ROW_BYTES + 4096;
    char *text = ps_alloc(n);
    memset(text, 'x', n);
    memcpy(text, "a\n\"", 3);
    ps_input *in = ps_input_of_memory(text, n, NULL);
    ps_csv csv;
    ps_csv_init(&csv, in);
    ps_csv_row row;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_csv_next(&csv, &row, &err), PS_OK);
    assert_int_equal(ps_csv_next(&csv, &row, &err), PS_RANGE);
    assert_int_equal(err.line, 2);
    ps_csv_fini(&csv);
    ps_input_close(in);
    memset(text, ',', n);
    in = ps_input_of_memory(text, n, NULL);
    ps_csv_init(&csv, in);
    assert_int_equal(ps_csv_next(&csv, &row, &err), PS_RANGE);
    ps_csv_fini(&csv);
    ps_input_close(in);
    ps_free(text);
}

static void allocations_fail(void **state) {
    (void)state;
    for (int64_t n = 0; n < 50; n++) {
        ps_input *in = ps_input_of_memory("a,b\n1,2\n", 8, NULL);
        assert_non_null(in);
        ps_csv csv;
        ps_csv_init(&csv, in);
        ps_csv_row row;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_csv_next(&csv, &row, NULL);
        int64_t made = ps_alloc_fail_at(-1);
        assert_int_equal(code, made > n ? PS_NOMEM : PS_OK);
        ps_csv_fini(&csv);
        ps_input_close(in);
        if (made <= n) {
            return;
        }
    }
    fail_msg("too many allocations");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain_rows),
        cmocka_unit_test(line_ends),
        cmocka_unit_test(quotes),
        cmocka_unit_test(tabs_and_mark),
        cmocka_unit_test(cut_inside_quotes),
        cmocka_unit_test(zero_bytes),
        cmocka_unit_test(windows),
        cmocka_unit_test(too_long),
        cmocka_unit_test(allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

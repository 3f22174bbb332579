/* Tables by descriptor: every type of member, what is not known, whose the texts are, rows on demand, and memory that runs
 * out while rows are put. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/table.h"

typedef struct inner {
    int64_t counts[2];
} inner;

typedef struct any_row {
    bool flag;
    int32_t i32;
    uint16_t u16;
    uint32_t u32;
    int64_t i64;
    uint64_t u64;
    double real;
    const char *text;
    char chars[8];
    inner inside;
    const char *fixed;
} any_row;

enum { FLAG, I32, U16, U32, I64, U64, REAL, TEXT, CHARS, INSIDE, US, FIXED, EMPTY, ID };

static const ps_column COLUMNS[] = {
    [FLAG] = {.name = "flag", PS_FIELD(any_row, flag)},
    [I32] = {.name = "i32", PS_FIELD(any_row, i32), .unknown_below_zero = true},
    [U16] = {.name = "u16", PS_FIELD(any_row, u16)},
    [U32] = {.name = "u32", PS_FIELD(any_row, u32)},
    [I64] = {.name = "i64", PS_FIELD(any_row, i64)},
    [U64] = {.name = "u64", PS_FIELD(any_row, u64)},
    [REAL] = {.name = "real", PS_FIELD(any_row, real), .unknown_below_zero = true},
    [TEXT] = {.name = "text", PS_FIELD(any_row, text)},
    [CHARS] = {.name = "chars", PS_FIELD(any_row, chars)},
    [INSIDE] = {.name = "inside", PS_FIELD(any_row, inside.counts[1])},
    [US] = {.name = "us", PS_FIELD_AS(PS_COL_REAL, any_row, i64), .divisor = 1000},
    [FIXED] = {.name = "fixed", PS_FIELD(any_row, fixed), .is_shared = true},
    [EMPTY] = {.name = "empty", .type = PS_COL_INT},
    [ID] = {.name = "id", PS_FIELD_AS(PS_COL_STRING_ID, any_row, text)},
};

static const char FIXED_TEXT[] = "fixed";

static any_row known_row(void) {
    return (any_row){.flag = true,
                     .i32 = 7,
                     .u16 = UINT16_MAX,
                     .u32 = UINT32_MAX - 1,
                     .i64 = -1500,
                     .u64 = 1u << 20,
                     .real = 2.5,
                     .text = "text",
                     .chars = "chars",
                     .inside = {{1, 2}},
                     .fixed = FIXED_TEXT};
}

static void every_member_has_its_cell(void **state) {
    (void)state;
    ps_table *t = ps_table_new("Any", "", PS_COLUMNS(COLUMNS));
    any_row row = known_row();
    ps_table_put(t, &row);
    memset(row.chars, 'x', sizeof row.chars); /* the table has a copy */
    t = ps_table_end(t);
    assert_non_null(t);
    static const int64_t INTS[][2] = {{FLAG, 1},    {I32, 7},        {U16, UINT16_MAX},
                                      {I64, -1500}, {U64, 1u << 20}, {U32, UINT32_MAX - 1},
                                      {INSIDE, 2}};
    for (size_t i = 0; i < sizeof INTS / sizeof *INTS; i++) {
        size_t c = (size_t)INTS[i][0];
        assert_int_equal(COLUMNS[c].type, PS_COL_INT);
        assert_false(ps_table_cell(t, 0, c)->is_null);
        assert_int_equal(ps_table_cell(t, 0, c)->u.i, INTS[i][1]);
    }
    assert_int_equal(COLUMNS[REAL].type, PS_COL_REAL);
    assert_true(ps_table_cell(t, 0, REAL)->u.r == 2.5);
    assert_true(ps_table_cell(t, 0, US)->u.r == -1.5);
    assert_int_equal(COLUMNS[CHARS].type, PS_COL_TEXT);
    assert_string_equal(ps_table_cell(t, 0, TEXT)->u.text, "text");
    assert_ptr_not_equal(ps_table_cell(t, 0, TEXT)->u.text, row.text);
    assert_string_equal(ps_table_cell(t, 0, CHARS)->u.text, "chars");
    assert_string_equal(ps_table_cell(t, 0, ID)->u.text, "text");
    assert_ptr_equal(ps_table_cell(t, 0, FIXED)->u.text, FIXED_TEXT);
    assert_true(ps_table_cell(t, 0, EMPTY)->is_null);
    ps_table_free(t);
}

static void what_is_not_known_is_null(void **state) {
    (void)state;
    ps_table *t = ps_table_new("Any", "", PS_COLUMNS(COLUMNS));
    any_row row = {.i32 = -1, .u32 = UINT32_MAX, .i64 = PS_UNKNOWN_INT, .real = NAN};
    ps_table_put(t, &row);
    row.real = -1;
    row.i64 = -1;
    row.text = "";
    ps_table_put(t, &row);
    t = ps_table_end(t);
    assert_non_null(t);
    assert_int_equal(ps_table_cell(t, 0, FLAG)->u.i, 0); /* zero is a number */
    assert_true(ps_table_cell(t, 0, I32)->is_null);
    assert_true(ps_table_cell(t, 0, U32)->is_null);
    assert_true(ps_table_cell(t, 0, I64)->is_null);
    assert_true(ps_table_cell(t, 0, REAL)->is_null);
    assert_true(ps_table_cell(t, 0, TEXT)->is_null);
    assert_true(ps_table_cell(t, 0, FIXED)->is_null);
    assert_string_equal(ps_table_cell(t, 0, CHARS)->u.text, "");
    assert_true(ps_table_cell(t, 1, REAL)->is_null);
    assert_int_equal(ps_table_cell(t, 1, I64)->u.i,
                     -1); /* nothing says that below zero is unknown */
    assert_string_equal(ps_table_cell(t, 1, TEXT)->u.text, "");
    ps_table_free(t);
}

static void all_rows_at_once(void **state) {
    (void)state;
    any_row rows[3] = {{.i64 = 1}, {.i64 = 2}, {.i64 = 3}};
    ps_table *t = ps_table_new("Any", "", PS_COLUMNS(COLUMNS));
    ps_table_put_all(t, rows, 3, sizeof *rows);
    assert_int_equal(t->n_rows, 3);
    assert_int_equal(ps_table_cell(t, 2, I64)->u.i, 3);
    ps_table_put_all(t, NULL, 3, sizeof *rows); /* there was no memory for the rows */
    assert_null(ps_table_end(t));
    ps_table_put_all(NULL, rows, 3, sizeof *rows);
    ps_table_fail(NULL);
    assert_null(ps_table_end(NULL));
}

/* Whatever allocation fails, the end says so, and cells set afterwards harm nothing. */
static void memory_runs_out(void **state) {
    (void)state;
    ps_table *t = NULL;
    any_row row = known_row();
    int64_t n = 0;
    for (; t == NULL && n < 1000; n++) {
        (void)ps_alloc_fail_at(n);
        t = ps_table_new("Any", "", PS_COLUMNS(COLUMNS));
        for (size_t i = 0; i < 50; i++) {
            row.text = "a text that is long enough to need more than one block of the arena";
            ps_table_put(t, &row);
            ps_table_set_int(t, EMPTY, 3);
            (void)ps_table_set_text(t, TEXT, "other");
        }
        t = ps_table_end(t);
        (void)ps_alloc_fail_at(-1);
    }
    assert_true(n > 3);
    assert_non_null(t);
    assert_int_equal(t->n_rows, 50);
    assert_int_equal(ps_table_cell(t, 49, EMPTY)->u.i, 3);
    ps_table_free(t);
}

static void fill_any(const void *context, size_t at, void *out) {
    const int64_t *first = context;
    any_row *row = out;
    *row = known_row();
    row->i64 = *first + (int64_t)at;
    row->real = at == 1 ? NAN : 1;
    (void)snprintf(row->chars, sizeof row->chars, "no %zu", at);
}

/* A row and its neighbour are good at once, also texts that lie in them. */
static void rows_on_demand(void **state) {
    (void)state;
    ps_table *t = NULL;
    for (int64_t n = 0; t == NULL && n < 100; n++) {
        int64_t *first = ps_alloc(sizeof *first);
        assert_non_null(first);
        *first = 7;
        (void)ps_alloc_fail_at(n);
        t = ps_table_new_made("made", "", PS_COLUMNS(COLUMNS), 3,
                              (ps_row_maker){.fill = fill_any,
                                             .row_size = sizeof(any_row),
                                             .context = first,
                                             .free_context = ps_free});
        (void)ps_alloc_fail_at(-1);
    }
    assert_non_null(t);
    const ps_value *second = ps_table_cell(t, 1, 0);
    const ps_value *third = ps_table_cell(t, 2, 0);
    assert_int_equal(second[I64].u.i, 8);
    assert_true(second[REAL].is_null);
    assert_true(second[EMPTY].is_null);
    assert_string_equal(second[CHARS].u.text, "no 1");
    assert_string_equal(third[CHARS].u.text, "no 2");
    assert_string_equal(ps_table_cell(t, 0, CHARS)->u.text, "no 0");
    assert_string_equal(ps_table_cell(t, 1, CHARS)->u.text, "no 1");
    ps_table_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_member_has_its_cell),
        cmocka_unit_test(what_is_not_known_is_null),
        cmocka_unit_test(all_rows_at_once),
        cmocka_unit_test(memory_runs_out),
        cmocka_unit_test(rows_on_demand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

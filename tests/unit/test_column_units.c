/* Units and digits of the numbers of a table: cases worked by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/table.h"
#include "write/out/writers.h"

#define MS INT64_C(1000000)
#define US INT64_C(1000)

enum { MOST_COLUMNS = 3 };

/* A table of one unit, row by row, as text. */
static void expect_shown(ps_unit unit, size_t n_columns, size_t n_rows, const int64_t *numbers,
                         const char *text) {
    static const char *const NAMES[MOST_COLUMNS] = {"new", "base", "lost"};
    ps_column columns[MOST_COLUMNS] = {{0}};
    for (size_t c = 0; c < n_columns; c++) {
        columns[c] = (ps_column){.name = NAMES[c], .type = PS_COL_INT, .unit = unit};
    }
    ps_table *t = ps_table_new("numbers", "", columns, n_columns);
    assert_non_null(t);
    for (size_t r = 0; r < n_rows; r++) {
        assert_true(ps_table_add_row(t));
        for (size_t c = 0; c < n_columns; c++) {
            ps_table_set_int(t, c, numbers[r * n_columns + c]);
        }
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_text_style style = {.width = 100};
    assert_int_equal(ps_write_table_text(t, &style, &out, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&out), text);
    ps_buf_fini(&out);
    ps_table_free(t);
}

/* The middle number is a step of more than a second, but what was lost would have two digits in seconds, or one. */
static void losses_beside_steps(void **context) {
    (void)context;
    static const int64_t STEPS[] = {1200 * MS, 1180 * MS, 20 * MS, 1250 * MS, 1190 * MS, 60 * MS};
    expect_shown(PS_UNIT_NS, 3, 2, STEPS,
                 "new (ms)  base (ms)  lost (ms)\n"
                 "------------------------------\n"
                 "    1200       1180       20.0\n"
                 "    1250       1190       60.0\n");
    static const int64_t GAINS[] = {1180 * MS, 1200 * MS, -20 * MS};
    expect_shown(PS_UNIT_NS, 3, 1, GAINS,
                 "new (ms)  base (ms)  lost (ms)\n"
                 "------------------------------\n"
                 "    1180       1200      -20.0\n");
}

/* Longer steps would take five digits in the unit of what was lost, and such of microseconds six. */
static void much_smaller_columns(void **context) {
    (void)context;
    static const int64_t LONG[] = {12000 * MS, 11980 * MS, 20 * MS,
                                   12050 * MS, 11990 * MS, 60 * MS};
    expect_shown(PS_UNIT_NS, 3, 2, LONG,
                 "new (s)  base (s)  lost (ms)\n"
                 "----------------------------\n"
                 "  12.00     11.98       20.0\n"
                 "  12.05     11.99       60.0\n");
    static const int64_t GAPS[] = {300 * MS, 45 * US, 310 * MS, 50 * US};
    expect_shown(PS_UNIT_NS, 2, 2, GAPS,
                 "new (ms)  base (us)\n"
                 "-------------------\n"
                 "     300       45.0\n"
                 "     310       50.0\n");
}

/* A column of zeros has the unit of the others, nothing but zeros and no rows have ms. */
static void zeros(void **context) {
    (void)context;
    static const int64_t ALL[] = {0, 0, 0, 0};
    expect_shown(PS_UNIT_NS, 2, 2, ALL,
                 "new (ms)  base (ms)\n"
                 "-------------------\n"
                 "       0          0\n"
                 "       0          0\n");
    static const int64_t ONE[] = {0, 5 * US};
    expect_shown(PS_UNIT_NS, 2, 1, ONE,
                 "new (us)  base (us)\n"
                 "-------------------\n"
                 "       0       5.00\n");
    expect_shown(PS_UNIT_BYTES, 1, 1, ALL, "new (bytes)\n-----------\n          0\n");
}

/* The unit is that of the middle, 3 ms of four, until the largest has six digits in it. */
static void one_huge_number(void **context) {
    (void)context;
    static const int64_t HUGE_ONE[] = {1 * MS, 2 * MS, 3250 * US, 20000 * MS};
    expect_shown(PS_UNIT_NS, 1, 4, HUGE_ONE,
                 "new (ms)\n"
                 "--------\n"
                 "    1.00\n"
                 "    2.00\n"
                 "    3.25\n"
                 "20000.00\n");
    static const int64_t TOO_HUGE[] = {1 * MS, 2 * MS, 3 * MS, 200000 * MS};
    expect_shown(PS_UNIT_NS, 1, 4, TOO_HUGE,
                 "new (s)\n"
                 "-------\n"
                 "  0.001\n"
                 "  0.002\n"
                 "  0.003\n"
                 "200.000\n");
}

/* Only one of two columns that are read against each other has a number with six digits in us. */
static void columns_of_one_kind(void **context) {
    (void)context;
    static const int64_t SIDES[] = {102370 * US, 98850 * US, 24 * US, 22 * US, 10 * US, 9 * US};
    expect_shown(PS_UNIT_NS, 2, 3, SIDES,
                 "new (ms)  base (ms)\n"
                 "-------------------\n"
                 "  102.37     98.850\n"
                 "    0.02      0.022\n"
                 "    0.01      0.009\n");
}

/* What differs by little is told apart, a small number among larger ones has a digit, and no digit is 0 in all of a column. */
static void digits(void **context) {
    (void)context;
    static const int64_t CLOSE[] = {117160 * US, 117230 * US};
    expect_shown(PS_UNIT_NS, 1, 2, CLOSE, "new (ms)\n--------\n  117.16\n  117.23\n");
    static const int64_t SMALL[] = {34900 * US, 725500 * US, 134800 * US, 2800 * US};
    expect_shown(PS_UNIT_NS, 1, 4, SMALL,
                 "new (ms)\n--------\n    34.9\n   725.5\n   134.8\n     2.8\n");
    static const int64_t ROUND[] = {65 * MS, 90 * MS, 125 * MS};
    expect_shown(PS_UNIT_NS, 1, 3, ROUND, "new (ms)\n--------\n      65\n      90\n     125\n");
    static const int64_t WHOLE[] = {24, 7};
    expect_shown(PS_UNIT_NS, 1, 2, WHOLE, "new (ns)\n--------\n      24\n       7\n");
}

static void sizes(void **context) {
    (void)context;
    static const int64_t SIZES[] = {INT64_C(6) << 30, 700 << 20, 512,
                                    INT64_C(3) << 30, 900 << 20, 256};
    expect_shown(PS_UNIT_BYTES, 3, 2, SIZES,
                 "new (MiB)  base (MiB)  lost (bytes)\n"
                 "-----------------------------------\n"
                 "     6144         700           512\n"
                 "     3072         900           256\n");
}

/* Digits end where nobody reads them. */
static void next_to_nothing(void **context) {
    (void)context;
    static const ps_column SHARE[] = {{.name = "share", .type = PS_COL_REAL}};
    ps_table *t = ps_table_new("numbers", "", SHARE, 1);
    assert_true(t != NULL && ps_table_add_row(t) && ps_table_add_row(t));
    ps_table_set_real(t, 0, 1e-300);
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_text_style style = {.width = 100};
    assert_int_equal(ps_write_table_text(t, &style, &out, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&out), "       share\n"
                                          "------------\n"
                                          "           -\n"
                                          "<0.000000001\n");
    ps_buf_fini(&out);
    ps_table_free(t);
}

/* Both sides and what lies between them are read together: 480.960 - 480.455 is 0.505, and 600.650 - 479.551 is 121.099. */
static void beside_one_another(void **context) {
    (void)context;
    static const ps_column COLUMNS[] = {
        {.name = "new", .type = PS_COL_INT, .unit = PS_UNIT_NS},
        {.name = "base", .type = PS_COL_INT, .unit = PS_UNIT_NS, .is_beside = true},
        {.name = "lost", .type = PS_COL_INT, .unit = PS_UNIT_NS, .is_beside = true},
        {.name = "other", .type = PS_COL_INT, .unit = PS_UNIT_NS}};
    static const int64_t NUMBERS[][4] = {
        {480960 * US, 480455 * US, 505 * US, 1230 * US},
        {600650 * US, 479551 * US, 121099 * US, 4560 * US},
        {479700 * US, 479720 * US, -20 * US, 7890 * US},
    };
    ps_table *t = ps_table_new("numbers", "", COLUMNS, 4);
    assert_non_null(t);
    for (size_t r = 0; r < 3; r++) {
        assert_true(ps_table_add_row(t));
        for (size_t c = 0; c < 4; c++) {
            ps_table_set_int(t, c, NUMBERS[r][c]);
        }
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_text_style style = {.width = 100};
    assert_int_equal(ps_write_table_text(t, &style, &out, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&out), "new (ms)  base (ms)  lost (ms)  other (ms)\n"
                                          "------------------------------------------\n"
                                          "   481.0      480.5        0.5        1.23\n"
                                          "   600.6      479.6      121.1        4.56\n"
                                          "   479.7      479.7      -<0.1        7.89\n");
    ps_buf_fini(&out);
    ps_table_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(losses_beside_steps),
        cmocka_unit_test(much_smaller_columns),
        cmocka_unit_test(zeros),
        cmocka_unit_test(one_huge_number),
        cmocka_unit_test(columns_of_one_kind),
        cmocka_unit_test(digits),
        cmocka_unit_test(sizes),
        cmocka_unit_test(next_to_nothing),
        cmocka_unit_test(beside_one_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Rows of many ranks as few: which are alike, which row stands for them, what is not known, and numbers as runs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/runs.h"
#include "model/table_fold.h"

typedef struct stage_row {
    int64_t pipeline, stage, rank;
    double busy_ms, stall_ms;
    int64_t n_ops;
    const char *note;
} stage_row;

enum { PIPELINE, STAGE, RANK, BUSY, STALL, OPS, NOTE, ALIKE, WITHIN };

static const ps_column COLUMNS[] = {
    {.name = "pipeline", PS_FIELD(stage_row, pipeline), .is_member = true},
    {.name = "stage", PS_FIELD(stage_row, stage)},
    {.name = "rank", PS_FIELD(stage_row, rank), .is_member = true},
    {.name = "busy", PS_FIELD(stage_row, busy_ms), .unit = PS_UNIT_MS},
    {.name = "stall", PS_FIELD(stage_row, stall_ms), .unit = PS_UNIT_MS},
    {.name = "ops", PS_FIELD(stage_row, n_ops), .unit = PS_UNIT_COUNT},
    {.name = "note", PS_FIELD(stage_row, note)},
};

/* Two stages of 8 pipelines: rank = 8 stage + pipeline. Stage 0 is busy 96 to 103 ms, stage 1 200 ms. */
static ps_table *two_stages(const stage_row *other, size_t n_other) {
    static const double BUSY_TIMES_MS[] = {100, 101, 99, 102, 98, 103, 97, 96};
    ps_table *t = ps_table_new("Stages", "", PS_COLUMNS(COLUMNS));
    for (int64_t i = 0; i < 16; i++) {
        stage_row row = {.pipeline = i / 2,
                         .stage = i % 2,
                         .rank = i % 2 * 8 + i / 2,
                         .busy_ms = i % 2 == 0 ? BUSY_TIMES_MS[i / 2] : 200,
                         .n_ops = 32};
        for (size_t k = 0; k < n_other; k++) {
            row = other[k].rank == row.rank ? other[k] : row;
        }
        ps_table_put(t, &row);
    }
    return ps_table_end(t);
}

static const ps_value *cell(const ps_table *t, size_t row, size_t column) {
    return ps_table_cell(t, row, column);
}

static void alike_rows_stand_as_one(void **state) {
    (void)state;
    double near = 0;
    ps_table *t = two_stages(NULL, 0);
    ps_table *f = ps_table_fold(t, 20, &near);
    assert_non_null(f);
    assert_int_equal(f->n_rows, 2);
    assert_string_equal(cell(f, 0, PIPELINE)->u.text, "0-7");
    assert_string_equal(cell(f, 0, RANK)->u.text, "0-7");
    assert_string_equal(cell(f, 1, RANK)->u.text, "8-15");
    /* 96 97 98 99 100 ...: the lower of the two in the middle; the farthest from it is 103 ms, but 100 ms, half of the largest,
     * is what 4 ms are compared with. */
    assert_float_equal(cell(f, 0, BUSY)->u.r, 99, 0);
    assert_int_equal(cell(f, 0, ALIKE)->u.i, 8);
    assert_float_equal(cell(f, 0, WITHIN)->u.r, 4, 1e-6);
    assert_float_equal(cell(f, 1, WITHIN)->u.r, 0, 0);
    assert_true(cell(f, 0, NOTE)->is_null);
    ps_table_free(f);
    ps_table_free(t);
}

/* 110 ms are more than 5 % of 100 away; 5 ms of stall are not; another number of ops, another text, and what is not known are. */
static void others_stand_for_themselves(void **state) {
    (void)state;
    double near = 0;
    static const stage_row OTHER[] = {
        {3, 0, 3, .busy_ms = 110, .n_ops = 32},
        {4, 0, 4, .busy_ms = 98, .stall_ms = 5, .n_ops = 32},
        {4, 1, 12, .busy_ms = 200, .n_ops = 34},
        {5, 1, 13, .busy_ms = 200, .n_ops = 32, .note = "cut"},
        {6, 1, 14, .busy_ms = NAN, .n_ops = 32},
    };
    ps_table *t = two_stages(OTHER, sizeof OTHER / sizeof *OTHER);
    ps_table *f = ps_table_fold(t, 20, &near);
    assert_non_null(f);
    static const char *const RANKS[] = {"0-2, 4-7", "8-11, 15", "3", "12", "13", "14"};
    assert_int_equal(f->n_rows, 6);
    int64_t n_alike = 0;
    for (size_t r = 0; r < 6; r++) {
        assert_string_equal(cell(f, r, RANK)->u.text, RANKS[r]);
        assert_int_equal(cell(f, r, WITHIN)->is_null, r > 1);
        n_alike += cell(f, r, ALIKE)->u.i;
    }
    assert_int_equal(n_alike, 16);
    assert_float_equal(cell(f, 2, BUSY)->u.r, 110, 0);
    assert_true(cell(f, 5, BUSY)->is_null);
    ps_table_free(f);
    ps_table_free(t);
}

static void two_kinds_of_equal_size(void **state) {
    (void)state;
    double near = 0;
    stage_row slow[4];
    for (int64_t i = 0; i < 4; i++) {
        slow[i] = (stage_row){i * 2, 1, 8 + i * 2, .busy_ms = 300, .n_ops = 32};
    }
    ps_table *t = two_stages(slow, 4);
    ps_table *f = ps_table_fold(t, 20, &near);
    assert_non_null(f);
    assert_int_equal(f->n_rows, 3);
    assert_string_equal(cell(f, 1, RANK)->u.text, "8-14 by 2");
    assert_string_equal(cell(f, 2, RANK)->u.text, "9-15 by 2");
    ps_table_free(f);
    ps_table_free(t);
}

static void nothing_to_fold(void **state) {
    (void)state;
    double near = 0;
    static const ps_column PLAIN[] = {{.name = "n", .type = PS_COL_INT},
                                      {.name = "time", .type = PS_COL_INT, .unit = PS_UNIT_NS}};
    ps_table *t = ps_table_new("Plain", "", PS_COLUMNS(PLAIN));
    assert_true(ps_table_add_row(t) && ps_table_add_row(t));
    assert_null(ps_table_fold(t, 20, &near)); /* no members */
    ps_table_free(t);
    t = ps_table_new("Stages", "", PS_COLUMNS(COLUMNS));
    ps_table_put(t, &(stage_row){.busy_ms = 1});
    assert_null(ps_table_fold(t, 20, &near)); /* one row */
    ps_table_put(t, &(stage_row){.stage = 1});
    assert_null(ps_table_fold(t, 20, &near)); /* none alike */
    /* A number without end is like its own, and makes nothing else alike. */
    ps_table_put(t, &(stage_row){.stage = 1, .busy_ms = INFINITY});
    assert_null(ps_table_fold(t, 20, &near));
    ps_table_put(t, &(stage_row){.stage = 1, .busy_ms = INFINITY});
    ps_table *f = ps_table_fold(t, 20, &near);
    assert_non_null(f);
    assert_int_equal(f->n_rows, 3);
    ps_table_free(f);
    ps_table_free(t);
}

static void memory_runs_out(void **state) {
    (void)state;
    double near = 0;
    ps_table *t = two_stages(NULL, 0);
    for (int64_t n = 0;; n++) {
        (void)ps_alloc_fail_at(n);
        ps_table *f = ps_table_fold(t, 20, &near);
        (void)ps_alloc_fail_at(-1);
        if (f != NULL) {
            assert_true(n > 4);
            ps_table_free(f);
            break;
        }
    }
    ps_table_free(t);
}

/* Half of the largest are 150 ms. Of stage 0, 99 ms, 107 ms and 118 ms are three kinds by 5 % of them; by 10 %, 107 ms are near 99 ms;
 * by 20 % all are. One that is 300 ms stays by itself whatever is wanted. */
static void fewer_rows_are_wanted(void **state) {
    (void)state;
    static const stage_row OTHER[] = {{0, 0, 0, .busy_ms = 107, .n_ops = 32},
                                      {1, 0, 1, .busy_ms = 118, .n_ops = 32},
                                      {2, 1, 10, .busy_ms = 300, .n_ops = 32}};
    static const struct {
        size_t most_rows, n_rows;
        double near;
    } CASES[] = {{20, 5, 0.05}, {5, 5, 0.05}, {4, 4, 0.1}, {3, 3, 0.2}, {1, 3, 0.2}};
    ps_table *t = two_stages(OTHER, sizeof OTHER / sizeof *OTHER);
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        double near = 0;
        ps_table *f = ps_table_fold(t, CASES[i].most_rows, &near);
        assert_non_null(f);
        assert_int_equal(f->n_rows, CASES[i].n_rows);
        assert_float_equal(near, CASES[i].near, 0);
        ps_table_free(f);
    }
    ps_table_free(t);
}

static void numbers_as_runs(void **state) {
    (void)state;
    static const struct {
        int64_t numbers[8];
        size_t n, max_runs;
        const char *text;
    } CASES[] = {
        {{0}, 0, 0, ""},
        {{7}, 1, 0, "7"},
        {{4, 3}, 2, 0, "3-4"},
        {{5, 3}, 2, 0, "3, 5"},
        {{5, 3, 1, 3}, 4, 0, "1-5 by 2"},
        {{0, 1, 2, 4, 8, 16}, 6, 0, "0-2, 4, 8, 16"},
        {{0, 1, 2, 4, 8, 16}, 6, 2, "0-2, 4, ..."},
        {{0, 1, 2, 4, 5, 6}, 6, 2, "0-2, 4-6"},
        {{INT64_MIN, INT64_MAX}, 2, 0, "-9223372036854775808, 9223372036854775807"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        int64_t numbers[8];
        memcpy(numbers, CASES[i].numbers, sizeof numbers);
        ps_buf text = {0};
        ps_buf_add_runs(&text, numbers, CASES[i].n, CASES[i].max_runs);
        assert_string_equal(ps_buf_str(&text), CASES[i].text);
        ps_buf_fini(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(alike_rows_stand_as_one), cmocka_unit_test(others_stand_for_themselves),
        cmocka_unit_test(two_kinds_of_equal_size), cmocka_unit_test(nothing_to_fold),
        cmocka_unit_test(memory_runs_out),         cmocka_unit_test(numbers_as_runs),
        cmocka_unit_test(fewer_rows_are_wanted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Tables as text, CSV and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "write/out/number_text.h"
#include "write/out/writers.h"

static const ps_column COLUMNS[] = {
    {.name = "rank", .type = PS_COL_INT, .unit = PS_UNIT_COUNT},
    {.name = "name", .type = PS_COL_TEXT},
    {.name = "time_ns", .type = PS_COL_INT, .unit = PS_UNIT_NS},
    {.name = "start_ns", .type = PS_COL_INT, .unit = PS_UNIT_NS, .exact = true},
    {.name = "busy", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
};
enum { N_COLUMNS = sizeof COLUMNS / sizeof COLUMNS[0] };

static ps_table *sample(void) {
    ps_table *t = ps_table_new("sample", "", COLUMNS, N_COLUMNS);
    assert_non_null(t);
    static const char *const NAMES[] = {"aclnnMatmul", "通信算子", NULL};
    static const int64_t TIMES[] = {12436000, 9950000, 0};
    for (int i = 0; i < 3; i++) {
        assert_true(ps_table_add_row(t));
        ps_table_set_int(t, 0, i * 50);
        assert_true(ps_table_set_text(t, 1, NAMES[i]));
        ps_table_set_int(t, 2, TIMES[i]);
        ps_table_set_int(t, 3, INT64_C(1700000000123456789) + i);
        if (i < 2) {
            ps_table_set_real(t, 4, i == 0 ? 81.249 : 100);
        }
    }
    return t;
}

static void expect_text(const ps_table *t, ps_text_style style, const char *text) {
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_write_table_text(t, &style, &b, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&b), text);
    ps_buf_fini(&b);
}

/* Names that begin and end alike are cut where they differ; equal ones stay equal. Two differ at a letter of several bytes. */
static void texts_that_differ_do_not_read_alike(void **context) {
    (void)context;
    static const char HEAD[] =
        "void split_embedding_backward_codegen_rowwise_adagrad_unweighted_kernel_";
    static const char END[] = "_per_row_1<float, 32>(at::GenericPackedTensorAccessor<float, 2ul>)";
    static const char *const MIDDLES[] = {"cta", "warp", "cta", "warp_of_more", "块", "坏"};
    enum { N = 6 };
    ps_table *t = ps_table_new("names", "", COLUMNS + 1, 2);
    assert_non_null(t);
    for (int i = 0; i < N; i++) {
        char name[256];
        (void)snprintf(name, sizeof name, "%s%s%s", HEAD, MIDDLES[i], END);
        assert_true(ps_table_add_row(t) && ps_table_set_text(t, 0, name));
        ps_table_set_int(t, 1, 1000);
    }
    for (uint32_t width = 40; width < 130; width += 7) {
        char lines[N][512];
        ps_buf b;
        ps_buf_init(&b, 0);
        ps_text_style style = {.width = width, .utf8 = width % 2 == 0};
        assert_int_equal(ps_write_table_text(t, &style, &b, NULL), PS_OK);
        const char *line = ps_buf_str(&b);
        bool is_row = false; /* behind the rule below the header */
        for (int i = 0; i < N;) {
            size_t n = strcspn(line, "\n");
            assert_true(ps_utf8_columns(line, n) <= width);
            if (is_row) {
                (void)snprintf(lines[i++], sizeof lines[0], "%.*s", (int)n, line);
            }
            is_row = is_row || strncmp(line, style.utf8 ? "─" : "-", style.utf8 ? 3 : 1) == 0;
            line += n + 1;
        }
        for (int i = 0; i < N; i++) {
            for (int k = 0; k < i; k++) {
                assert_int_equal(strcmp(lines[i], lines[k]) == 0,
                                 strcmp(MIDDLES[i], MIDDLES[k]) == 0);
            }
        }
        ps_buf_fini(&b);
    }
    ps_table_free(t);
}

static void test_text(void **context) {
    (void)context;
    ps_table *t = sample();
    expect_text(t, (ps_text_style){.width = 100, .utf8 = true},
                "rank  name         time (ms)           start (ns)  busy (%)\n"
                "───────────────────────────────────────────────────────────\n"
                "   0  aclnnMatmul       12.4  1700000000123456789      81.2\n"
                "  50  通信算子           9.9  1700000000123456790     100.0\n"
                " 100  -                  0.0  1700000000123456791         -\n");
    expect_text(t, (ps_text_style){.width = 100, .exact = true},
                "rank  name         time (ns)           start (ns)  busy (%)\n"
                "-----------------------------------------------------------\n"
                "   0  aclnnMatmul   12436000  1700000000123456789    81.249\n"
                "  50  通信算子       9950000  1700000000123456790       100\n"
                " 100  -                    0  1700000000123456791         -\n");
    t->title = "what this is";
    t->n_rows = 0;
    expect_text(t, (ps_text_style){.width = 100, .colours = PS_COLOURS_256},
                "what this is\n\n"
                "\033[1mrank  name  time (ms)  start (ns)  busy (%)\033[0m\n"
                "\033[2m-------------------------------------------\033[0m\n"
                "(no rows)\n");
    ps_table_free(t);
}

/* Every block repeats what tells the rows apart; a text at the end has a block of its own, and goes on below where that is
 * too narrow as well. */
static void test_blocks(void **context) {
    (void)context;
    static const ps_column WIDE[] = {
        {.name = "rank", .type = PS_COL_INT},
        {.name = "step", .type = PS_COL_INT},
        {.name = "calls", .type = PS_COL_INT},
        {.name = "slowest_of_the_ranks", .type = PS_COL_INT},
        {.name = "fastest_of_them", .type = PS_COL_INT},
        {.name = "reason", .type = PS_COL_TEXT},
    };
    ps_table *t = ps_table_new("blocks", "", WIDE, 6);
    for (int64_t i = 0; i < 2; i++) {
        assert_true(ps_table_add_row(t));
        ps_table_set_int(t, 0, 0);
        ps_table_set_int(t, 1, 7 + i);
        ps_table_set_int(t, 2, 3);
        ps_table_set_int(t, 3, 1);
        ps_table_set_int(t, 4, 2);
    }
    assert_true(
        ps_table_set_text(t, 5, "the device waited for work, which the host had not launched"));
    expect_text(t, (ps_text_style){.width = 40, .utf8 = true},
                "                    slowest_\n"
                "                     of_the_    fastest_\n"
                "rank  step  calls      ranks     of_them\n"
                "────────────────────────────────────────\n"
                "   0     7      3          1           2\n"
                "   0     8      3          1           2\n"
                "\n"
                "rank  step  reason\n"
                "────────────────────────────────────────\n"
                "   0     7  -\n"
                "   0     8  the device waited for work,\n"
                "            which the host had not\n"
                "            launched\n");
    ps_table_free(t);
}

/* A header wider than its numbers goes over several lines, broken where its words end, and stays whole. */
static void test_header_lines(void **context) {
    (void)context;
    static const ps_column LONG[] = {
        {.name = "rank", .type = PS_COL_INT},
        {.name = "launch_delay_of_the_rank_median_us", .type = PS_COL_REAL, .unit = PS_UNIT_US},
        {.name = "launchDelayP95Ns", .type = PS_COL_REAL, .unit = PS_UNIT_US},
        {.name = "ofwhichthereisnoendatall", .type = PS_COL_INT},
    };
    ps_table *t = ps_table_new("long", "", LONG, 4);
    expect_text(t, (ps_text_style){.width = 50, .utf8 = true},
                "           launch_\n"
                "         delay_of_\n"
                "         the_rank_   launchDelay  ofwhichthereisno\n"
                "rank   median (ms)      P95 (ms)          endatall\n"
                "──────────────────────────────────────────────────\n"
                "(no rows)\n");
    ps_table_free(t);
}

/* Texts give way first; what still finds no room goes into a block below, with the first columns again. */
static void test_narrow(void **context) {
    (void)context;
    static const ps_column WIDE[] = {
        {.name = "operator", .type = PS_COL_TEXT},
        {.name = "time_ns", .type = PS_COL_INT, .unit = PS_UNIT_NS},
        {.name = "where", .type = PS_COL_TEXT},
    };
    ps_table *t = ps_table_new("wide", "", WIDE, 3);
    assert_true(ps_table_add_row(t));
    assert_true(ps_table_set_text(t, 0, "aclnnMatmulBackwardWeightGradient"));
    ps_table_set_int(t, 1, 1500);
    assert_true(ps_table_set_text(t, 2, "数据并行通信域内的全归约算子"));
    expect_text(t, (ps_text_style){.width = 60, .utf8 = true},
                "                          time\n"
                "operator                  (us)  where\n"
                "────────────────────────────────────────────────────────────\n"
                "aclnnMatmulB…ghtGradient  1.50  数据并行通信域内的全归约算子\n");
    expect_text(t, (ps_text_style){.width = 60},
                "                          time\n"
                "operator                  (us)  where\n"
                "------------------------------------------------------------\n"
                "aclnnMatmul...htGradient  1.50  数据并行通信域内的全归约算子\n");
    ps_table_free(t);

    t = sample();
    expect_text(t, (ps_text_style){.width = 40, .utf8 = true},
                "rank  name         time (ms)\n"
                "────────────────────────────\n"
                "   0  aclnnMatmul       12.4\n"
                "  50  通信算子           9.9\n"
                " 100  -                  0.0\n"
                "\n"
                "rank  name                  start (ns)\n"
                "──────────────────────────────────────\n"
                "   0  aclnnMatmul  1700000000123456789\n"
                "  50  通信算子     1700000000123456790\n"
                " 100  -            1700000000123456791\n"
                "\n"
                "rank  name         busy (%)\n"
                "───────────────────────────\n"
                "   0  aclnnMatmul      81.2\n"
                "  50  通信算子        100.0\n"
                " 100  -                   -\n");
    ps_table_free(t);
}

/* No line is wider than asked for, whatever the texts are. */
static void test_width_is_kept(void **context) {
    (void)context;
    ps_table *t = sample();
    assert_true(ps_table_add_row(t));
    char longest[400];
    for (size_t i = 0; i < sizeof longest - 1; i++) {
        longest[i] = (char)(i % 3 == 0 ? 0xE4 : i % 3 == 1 ? 0xB8 : 0xAD); /* U+4E2D */
    }
    longest[sizeof longest - 1] = '\0';
    assert_true(ps_table_set_text(t, 1, longest));
    for (uint32_t width = 40; width < 130; width++) {
        ps_text_style style = {.width = width, .utf8 = width % 2 == 0};
        ps_buf b;
        ps_buf_init(&b, 0);
        assert_int_equal(ps_write_table_text(t, &style, &b, NULL), PS_OK);
        for (const char *line = ps_buf_str(&b); *line != '\0';) {
            size_t n = strcspn(line, "\n");
            assert_true(ps_utf8_columns(line, n) <= width);
            line += n + 1;
        }
        ps_buf_fini(&b);
    }
    ps_table_free(t);
}

/* What a profile brings along must not steer the terminal. */
static void test_hostile_text(void **context) {
    (void)context;
    static const ps_column ONE[] = {{.name = "name", .type = PS_COL_TEXT}};
    ps_table *t = ps_table_new("hostile", "", ONE, 1);
    assert_true(ps_table_add_row(t));
    assert_true(ps_table_set_text(t, 0,
                                  "a\033[31mb\nc\xC2\x9B"
                                  "d\xFF"));
    expect_text(t, (ps_text_style){.width = 80}, "name\n-------------\na [31mb c  d?\n");
    ps_table_free(t);
}

/* Columns of several units of their own; test_column_units.c has the rule. */
static void test_units(void **context) {
    (void)context;
    static const ps_column COLUMN[] = {
        {.name = "a", .type = PS_COL_INT, .unit = PS_UNIT_NS},
        {.name = "b", .type = PS_COL_REAL, .unit = PS_UNIT_US},
        {.name = "c", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
        {.name = "d", .type = PS_COL_REAL},
        {.name = "e", .type = PS_COL_INT, .unit = PS_UNIT_US},
        {.name = "f", .type = PS_COL_REAL, .unit = PS_UNIT_MS},
    };
    ps_table *t = ps_table_new("units", "", COLUMN, 6);
    static const int64_t NS[] = {1234567890123, -5000000};
    for (int i = 0; i < 2; i++) {
        assert_true(ps_table_add_row(t));
        ps_table_set_int(t, 0, NS[i]);
        ps_table_set_real(t, 1, i == 0 ? 0.5 : 0.25);
        ps_table_set_int(t, 2, i == 0 ? 3 << 20 : 1 << 19);
        ps_table_set_real(t, 3, i == 0 ? 2.5 : NAN);
        ps_table_set_int(t, 4, i == 0 ? 999 : 1);
        ps_table_set_real(t, 5, i == 0 ? 61000 : 0.1);
    }
    expect_text(t, (ps_text_style){.width = 100},
                "a (s)  b (us)  c (MiB)    d  e (us)  f (s)\n"
                "------------------------------------------\n"
                " 1235   0.500     3.00  2.5     999   61.0\n"
                "  -<1   0.250     0.50  nan       1   <0.1\n");
    ps_table_free(t);
}

/* Sizes that stand beside one another have one unit, but for those that would lose their digits. */
static void test_sizes_alike(void **context) {
    (void)context;
    static const ps_column COLUMN[] = {
        {.name = "a", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
        {.name = "b", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
        {.name = "c", .type = PS_COL_INT, .unit = PS_UNIT_BYTES},
    };
    ps_table *t = ps_table_new("sizes", "", COLUMN, 3);
    assert_true(ps_table_add_row(t));
    ps_table_set_int(t, 0, INT64_C(3) << 29);
    ps_table_set_int(t, 1, 700 << 20);
    ps_table_set_int(t, 2, 512);
    expect_text(t, (ps_text_style){.width = 100},
                "a (MiB)  b (MiB)  c (bytes)\n"
                "---------------------------\n"
                "   1536      700        512\n");
    ps_table_free(t);
}

/* Spreadsheets run what begins like a formula, whoever wrote the name. */
static void test_csv_formulas(void **context) {
    (void)context;
    ps_buf b;
    ps_buf_init(&b, 0);
    static const ps_column NAME[] = {{.name = "=name", .type = PS_COL_TEXT}};
    static const char *const FORMULAS[] = {
        "=1+2", "+1", "-cmd|' /C calc'!A1", "@SUM(1,2)", "\t=1", "\r1", "-", "-12.5e3",
        "a=b",  "--"};
    ps_table *t = ps_table_new("formulas", "", NAME, 1);
    for (size_t i = 0; i < sizeof FORMULAS / sizeof *FORMULAS; i++) {
        assert_true(ps_table_add_row(t));
        assert_true(ps_table_set_text(t, 0, FORMULAS[i]));
    }
    assert_int_equal(ps_write_table_csv(t, &b, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&b),
                        "'=name\r\n'=1+2\r\n'+1\r\n'-cmd|' /C calc'!A1\r\n\"'@SUM(1,2)\"\r\n"
                        "'\t=1\r\n\"'\r1\"\r\n-\r\n-12.5e3\r\na=b\r\n'--\r\n");
    ps_buf_fini(&b);
    ps_table_free(t);
}

static void test_csv(void **context) {
    (void)context;
    static const ps_column COLUMN[] = {
        {.name = "id", .type = PS_COL_INT},
        {.name = "a \"quoted\", name", .type = PS_COL_TEXT},
        {.name = "real", .type = PS_COL_REAL},
    };
    ps_table *t = ps_table_new("csv", "", COLUMN, 3);
    static const char *const TEXTS[] = {"plain",      "with,comma", "with \"quotes\"",
                                        "two\nlines", "",           NULL};
    static const double REALS[] = {0.1, 1e300, -0.5, 1.0 / 3, 3, NAN};
    for (int i = 0; i < 6; i++) {
        assert_true(ps_table_add_row(t));
        ps_table_set_int(t, 0, i == 0 ? INT64_MIN : INT64_C(9007199254740993));
        assert_true(ps_table_set_text(t, 1, TEXTS[i]));
        ps_table_set_real(t, 2, REALS[i]);
    }
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_write_table_csv(t, &b, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&b), "id,\"a \"\"quoted\"\", name\",real\r\n"
                                        "-9223372036854775808,plain,0.1\r\n"
                                        "9007199254740993,\"with,comma\",1e+300\r\n"
                                        "9007199254740993,\"with \"\"quotes\"\"\",-0.5\r\n"
                                        "9007199254740993,\"two\nlines\",0.3333333333333333\r\n"
                                        "9007199254740993,\"\",3\r\n"
                                        "9007199254740993,,nan\r\n");
    ps_buf_clear(&b);
    assert_int_equal(ps_write_table_json(t, &b, NULL), PS_OK);
    assert_string_equal(
        ps_buf_str(&b),
        "[\n"
        " {\"id\": -9223372036854775808, \"a \\\"quoted\\\", name\": \"plain\", \"real\": 0.1},\n"
        " {\"id\": 9007199254740993, \"a \\\"quoted\\\", name\": \"with,comma\", \"real\": 1e+300},\n"
        " {\"id\": 9007199254740993, \"a \\\"quoted\\\", name\": \"with \\\"quotes\\\"\", \"real\": -0.5},\n"
        " {\"id\": 9007199254740993, \"a \\\"quoted\\\", name\": \"two\\u000alines\", \"real\": 0.3333333333333333},\n"
        " {\"id\": 9007199254740993, \"a \\\"quoted\\\", name\": \"\", \"real\": 3},\n"
        " {\"id\": 9007199254740993, \"a \\\"quoted\\\", name\": null, \"real\": null}\n"
        "]\n");
    ps_buf_clear(&b);
    t->n_rows = 0;
    assert_int_equal(ps_write_table_json(t, &b, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&b), "[]\n");
    ps_buf_fini(&b);
    ps_table_free(t);
}

static void scaled(int64_t value, int64_t scale, unsigned decimals, const char *text) {
    char out[PS_NUMBER_TEXT];
    ps_int_scaled(value, scale, decimals, out);
    assert_string_equal(out, text);
}

static void test_scaled(void **context) {
    (void)context;
    scaled(12345, 1000, 2, "12.35"); /* an exact half goes away from zero */
    scaled(-12345, 1000, 2, "-12.35");
    scaled(12344, 1000, 2, "12.34");
    scaled(999995, 1000000, 2, "1.00");
    scaled(-4, 1000, 2, "0.00");
    scaled(7, 1, 0, "7");
    scaled(7, 1, 3, "7.000");
    scaled(7, 10, 3, "0.700");
    scaled(1500, 1000, 0, "2");
    scaled(INT64_MIN, 1000000000, 1, "-9223372036.9");
    scaled(INT64_MAX, 1, 0, "9223372036854775807");
}

static void test_memory(void **context) {
    (void)context;
    ps_table *t = sample();
    ps_text_style style = {.width = 80};
    bool has_failed = true;
    int64_t n = 0;
    for (; has_failed; n++) {
        ps_buf b;
        ps_buf_init(&b, 0);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_write_table_text(t, &style, &b, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        assert_true(n < 1000);
        ps_buf_fini(&b);
    }
    assert_true(n > 2);
    ps_table_free(t);
}

/* By definition: the fewest digits, 15 to 17, that read back as the same double. */
static void shortest_by_trial(double value, char *out, size_t size) {
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(out, size, "%.*g", digits, value);
        if (strtod(out, NULL) == value) {
            return;
        }
    }
}

static void test_numbers(void **context) {
    (void)context;
    char text[PS_NUMBER_TEXT];
    char wanted[PS_NUMBER_TEXT];
    const double SPECIAL[] = {0,
                              -0.0,
                              1,
                              -1,
                              0.001,
                              -0.001,
                              0.0001,
                              0.0005,
                              999999999999.999,
                              1e12,
                              1e15,
                              -1e15,
                              1e14,
                              123456789012345.0,
                              0.1,
                              1.0 / 3,
                              1e-300,
                              1e300,
                              12.345,
                              -99.99,
                              9007199254740993.0};
    ps_rng rng = {7};
    for (size_t i = 0; i < 20000; i++) {
        int64_t whole = (int64_t)ps_rng_next(&rng) >> ps_rng_below(&rng, 64);
        double value = (double)whole / (i % 3 == 0 ? 1000 : i % 3 == 1 ? 1 : 7);
        value = i < sizeof SPECIAL / sizeof *SPECIAL ? SPECIAL[i] : value;
        shortest_by_trial(value, wanted, sizeof wanted);
        ps_real_shortest(value, text);
        assert_string_equal(text, wanted);
        (void)snprintf(wanted, sizeof wanted, "%lld", (long long)whole);
        assert_int_equal(ps_int_text(whole, text), strlen(wanted));
        assert_string_equal(text, wanted);
    }
    assert_int_equal(ps_int_text(INT64_MIN, text), 20);
    assert_string_equal(text, "-9223372036854775808");
}

/* In pieces or at once: the same bytes. */
static void test_parts(void **context) {
    (void)context;
    ps_table *t = sample();
    ps_table_part_fn *const PARTS[] = {ps_write_table_csv_part, ps_write_table_json_part};
    for (size_t i = 0; i < 2; i++) {
        ps_buf whole;
        ps_buf pieces;
        ps_buf_init(&whole, 0);
        ps_buf_init(&pieces, 0);
        assert_int_equal(PARTS[i](t, 0, t->n_rows, &whole, NULL), PS_OK);
        for (size_t r = 0; r < t->n_rows; r++) {
            assert_int_equal(PARTS[i](t, r, r + 1, &pieces, NULL), PS_OK);
        }
        assert_string_equal(ps_buf_str(&pieces), ps_buf_str(&whole));
        ps_buf_fini(&whole);
        ps_buf_fini(&pieces);
    }
    ps_table_free(t);
}

static void make_square(const void *context, size_t row, ps_value *cells, char room[PS_ROW_ROOM]) {
    const int64_t *first = context;
    int64_t n = *first + (int64_t)row;
    cells[0] = (ps_value){.u.i = n * n};
    if (row != 1) {
        (void)snprintf(room, PS_ROW_ROOM, "no %lld", (long long)n);
        cells[1] = (ps_value){.u.text = room};
    }
}

/* Rows on demand: a row and its neighbour are good at once, and cells not set are NULL. Whatever allocation fails, the
 * context is freed. */
static void test_made_rows(void **state) {
    (void)state;
    ps_table *t = NULL;
    for (int64_t n = 0; t == NULL && n < 100; n++) {
        int64_t *first = ps_alloc(sizeof *first);
        assert_non_null(first);
        *first = 7;
        (void)ps_alloc_fail_at(n);
        t = ps_table_new_made(
            "squares", "", COLUMNS, 2, 3,
            (ps_row_maker){.make = make_square, .context = first, .free_context = ps_free});
        (void)ps_alloc_fail_at(-1);
    }
    assert_non_null(t);
    const ps_value *second = ps_table_cell(t, 1, 0);
    const ps_value *third = ps_table_cell(t, 2, 0);
    assert_int_equal(second->u.i, 64);
    assert_int_equal(third->u.i, 81);
    ps_buf out;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_write_table_csv(t, &out, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&out), "rank,name\r\n49,no 7\r\n64,\r\n81,no 9\r\n");
    ps_buf_fini(&out);
    ps_table_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),         cmocka_unit_test(texts_that_differ_do_not_read_alike),
        cmocka_unit_test(test_narrow),       cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_header_lines), cmocka_unit_test(test_width_is_kept),
        cmocka_unit_test(test_units),        cmocka_unit_test(test_sizes_alike),
        cmocka_unit_test(test_made_rows),    cmocka_unit_test(test_csv),
        cmocka_unit_test(test_csv_formulas), cmocka_unit_test(test_hostile_text),
        cmocka_unit_test(test_scaled),       cmocka_unit_test(test_memory),
        cmocka_unit_test(test_numbers),      cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

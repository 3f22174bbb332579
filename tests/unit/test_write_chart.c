/* The terminal's pipeline chart. The sample is 1F1B on two stages, two microbatches, forward 1 ms, backward 2 ms:
 *
 *   stage 0   F0 0-1   F1 1-2             B0 4-6   B1 7-9      busy 6 of 9 ms
 *   stage 1            F0 1-2   B0 2-4   F1 4-5   B1 5-7       busy 6 of 9 ms */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "base/utf8.h"
#include "write/chart/chart_rows.h"
#include "write/out/theme.h"
#include "write/out/writers.h"

enum { MS = 1000000 };

static void add(ps_chart *chart, uint32_t rank, ps_op_kind kind, int microbatch, const char *name,
                int64_t start_ms, int64_t end_ms) {
    ps_op op = {.start_ns = start_ms * MS,
                .end_ns = end_ms * MS,
                .step = 3,
                .name = name,
                .rank = rank,
                .microbatch = microbatch,
                .microbatch2 = -1,
                .chunk2 = -1,
                .phase = -1,
                .kind = (uint8_t)kind};
    assert_true(ps_chart_add_op(chart, op));
}

static ps_chart *sample(void) {
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    assert_true(ps_chart_set_text(chart, "two stages by hand", "1f1b"));
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 0, .stage = 0}));
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 8, .stage = 1}));
    add(chart, 0, PS_OP_F, 0, "0", 0, 1);
    add(chart, 0, PS_OP_F, 1, "1", 1, 2);
    add(chart, 0, PS_OP_B, 0, "0B", 4, 6);
    add(chart, 0, PS_OP_B, 1, "1B", 7, 9);
    add(chart, 1, PS_OP_F, 0, "0", 1, 2);
    add(chart, 1, PS_OP_B, 0, "0B", 2, 4);
    add(chart, 1, PS_OP_F, 1, "1", 4, 5);
    add(chart, 1, PS_OP_B, 1, "1B", 5, 7);
    return chart;
}

static void expect(const ps_chart *chart, ps_text_style style, const char *text) {
    ps_chart_text_opts opts = {
        .style = style, .step = PS_FIRST_STEP, .pipeline = -1, .with_transfers = true};
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_string_equal(ps_buf_str(&b), text);
    ps_buf_fini(&b);
}

static void test_plain(void **context) {
    (void)context;
    ps_chart *chart = sample();
    expect(chart, (ps_text_style){.width = 63, .utf8 = true},
           "two stages by hand · 1f1b · step 3 · bubble 33.3 %\n"
           "\n"
           "stage 0  rank 0 ┃0███1███········0B▒▒▒▒▒▒····1B▒▒▒▒▒▒┃   66.7 %\n"
           "stage 1  rank 8 ┃····0███0B▒▒▒▒▒▒1███1B▒▒▒▒▒▒········┃   66.7 %\n"
           "                └────────────────────┴───────────────┘     busy\n"
           "                0                    5              9.00 ms\n"
           "\n"
           "██ F forward   ▒▒ B whole backward\n");
    expect(chart, (ps_text_style){.width = 50},
           "two stages by hand, 1f1b, step 3, bubble 33.3 %\n"
           "\n"
           "0 |0###1###........0B=======....1B======|   66.7 %\n"
           "1 |....0###0B======1####1B======........|   66.7 %\n"
           "  +--------------------+----------------+     busy\n"
           "  0                    5               9.00 ms\n"
           "\n"
           "## F forward   == B whole backward\n");
    ps_chart_free(chart);
}

/* Four pipelines of one stage, of which one takes `long_ms` and the others 100 ms, in one step. */
static ps_chart *four_pipelines(int32_t longer, int64_t long_ms) {
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    for (int32_t p = 0; p < 4; p++) {
        assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = p, .pipeline = p}));
        add(chart, (uint32_t)p, PS_OP_F, 0, "0", p, p + 50);
        add(chart, (uint32_t)p, PS_OP_B, 0, "0B", p + 50, p + (p == longer ? long_ms : 100));
    }
    return chart;
}

static int32_t chosen_of(const ps_chart *chart, int64_t step, int32_t pipeline) {
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_choose(chart, &step, &pipeline, &err), PS_OK);
    assert_int_equal(step, 3);
    return pipeline;
}

/* The pipeline that makes the step as long as it is comes first, and it is said why; what differs by less than rows that are alike do
 * leaves the first one. */
static void test_longest_pipeline_first(void **context) {
    (void)context;
    ps_chart *chart = four_pipelines(2, 130);
    assert_int_equal(chosen_of(chart, PS_FIRST_STEP, -1), 2);
    assert_int_equal(chosen_of(chart, 3, -1), 2);
    assert_int_equal(chosen_of(chart, 3, 1), 1);
    ps_chart_text_opts opts = {.style = {.width = 100}, .step = 3, .pipeline = -1};
    ps_buf b = {0};
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&b), ", pipeline 2, the longest of 4, step 3"));
    ps_buf_clear(&b);
    opts.pipeline = 1;
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&b), ", pipeline 1, step 3"));
    ps_buf_clear(&b);
    opts.pipeline = -1;
    chart->lang = PS_CHINESE;
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&b), "流水线 2（4 条流水线中最长的一条）"));
    ps_buf_fini(&b);
    ps_chart_free(chart);
    chart = four_pipelines(0, 130); /* the first is the longest, too */
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&b), ", pipeline 0, the longest of 4, step 3"));
    ps_buf_fini(&b);
    ps_chart_free(chart);
    chart = four_pipelines(2, 104);
    assert_int_equal(chosen_of(chart, 3, -1), 0);
    ps_chart_free(chart);
}

/* The first three cells of stage 0 in 24 bits: F0 with its label in white, the gap, F1. */
static void test_coloured(void **context) {
    (void)context;
    ps_chart *chart = sample();
    ps_chart_text_opts opts = {.style = {.width = 63, .utf8 = true, .colours = PS_COLOURS_TRUE},
                               .step = 3};
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
#define F_GROUND "\033[0;48;2;25;82;131m"
#define F_TEXT "\033[0;38;2;255;255;255;48;2;25;82;131m"
    assert_non_null(strstr(ps_buf_str(&b),
                           "┃\033[0m" F_GROUND "  " F_TEXT "0" F_GROUND " "
                           "\033[0;7;38;2;25;82;131m▏" F_GROUND " " F_TEXT "1" F_GROUND " "
                           "\033[0;2m········"));
    assert_null(strstr(ps_buf_str(&b), "█"));
    ps_buf_clear(&b);
    opts.style.colours = PS_COLOURS_256;
    opts.style.utf8 = false;
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&b), "\033[0;48;5;24m  \033[0;38;5;231;48;5;24m0"));
    ps_buf_fini(&b);
    ps_chart_free(chart);
}

/* Columns of a line without its colours. */
static size_t shown_columns(const char *line, size_t n) {
    size_t columns = 0;
    for (size_t i = 0; i < n;) {
        if (line[i] == '\033') {
            i += strcspn(line + i, "m") + 1;
            continue;
        }
        size_t len = ps_utf8_len(line + i, n - i);
        assert_true(len > 0);
        columns += ps_utf8_columns(line + i, len);
        i += len;
    }
    return columns;
}

static void add_wave(ps_chart *chart, int n) {
    for (int i = 0; i < n; i++) {
        ps_op op = {.start_ns = i * 30,
                    .end_ns = i * 30 + 10,
                    .name = "9999",
                    .kind = PS_OP_F,
                    .phase = -1};
        assert_true(ps_chart_add_op(chart, op));
        op = (ps_op){.start_ns = i * 30 + 10,
                     .end_ns = i * 30 + 30,
                     .name = "1F+2B",
                     .kind = PS_OP_FB,
                     .phase = 3};
        assert_true(ps_chart_add_op(chart, op));
    }
}

/* Rows are as wide as the picture, no line is wider, in every size and style and for one to thousands of ops. */
static void test_widths(void **context) {
    (void)context;
    for (int n = 1; n < 5000; n *= 3) {
        ps_chart *chart = ps_chart_new();
        assert_non_null(chart);
        assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 123456, .stage = -1}));
        add_wave(chart, n);
        for (uint32_t width = 40; width < 400; width += 13) {
            ps_chart_text_opts opts = {.style = {.width = width, .utf8 = width % 2 == 0},
                                       .step = PS_FIRST_STEP,
                                       .pipeline = -1};
            opts.style.colours = (ps_colours)(width % 3);
            ps_buf b;
            ps_buf_init(&b, 0);
            assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
            size_t row = 0;
            for (const char *line = ps_buf_str(&b); *line != '\0'; row++) {
                size_t end = strcspn(line, "\n");
                size_t columns = shown_columns(line, end);
                assert_true(columns <= width);
                assert_true((row != 2 && row != 3) || columns == width);
                line += end + 1;
            }
            ps_buf_fini(&b);
        }
        ps_chart_free(chart);
    }
}

/* Thousands of ops: a row still shows both kinds, forward a third of the time. */
static void test_dense(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 0}));
    add_wave(chart, 2000);
    ps_chart_text_opts opts = {.style = {.width = 80}, .step = PS_FIRST_STEP, .pipeline = -1};
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    const char *row = strchr(ps_buf_str(&b), '|') + 1;
    size_t n = strcspn(row, "|");
    size_t forward = 0;
    for (size_t i = 0; i < n; i++) {
        forward += row[i] == '#';
        assert_non_null(strchr("#%", row[i]));
    }
    assert_true(forward * 3 + 3 >= n && forward * 3 <= n + 3);
    assert_non_null(strstr(ps_buf_str(&b), "Mixed cells show shares"));
    ps_buf_clear(&b);
    opts.style = (ps_text_style){.width = 80, .utf8 = true, .colours = PS_COLOURS_TRUE};
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
    assert_non_null(strstr(ps_buf_str(&b), "▅▅▅▅▅")); /* two thirds of the height */
    ps_buf_fini(&b);
    ps_chart_free(chart);
}

/* Labels are whole or absent: a name, or its numbers, never a part of a number. */
static void test_labels(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 0}));
    add(chart, 0, PS_OP_FB, 0, "12F+345B", 0, 1);
    add(chart, 0, PS_OP_OTHER, 0, "", 1, 8);
    size_t seen[3] = {0};
    for (uint32_t width = 40; width < 160; width++) {
        ps_chart_text_opts opts = {.style = {.width = width}, .step = 3, .pipeline = 0};
        ps_buf b;
        ps_buf_init(&b, 0);
        assert_int_equal(ps_write_chart_text(chart, &opts, &b, NULL), PS_OK);
        const char *row = strchr(ps_buf_str(&b), '|') + 1;
        const char *rest = row + strcspn(row, "%");
        bool name = strncmp(row, "12F+345B", (size_t)(rest - row)) == 0 && rest - row == 8;
        bool numbers = strncmp(row, "12+345", (size_t)(rest - row)) == 0 && rest - row == 6;
        assert_true(name || numbers || rest == row);
        seen[name ? 2 : numbers ? 1 : 0]++;
        ps_buf_fini(&b);
    }
    assert_true(seen[0] > 0 && seen[1] > 0 && seen[2] > 0);
    ps_chart_free(chart);
}

static void test_transfers(void **context) {
    (void)context;
    ps_chart *chart = sample();
    add(chart, 1, PS_OP_RECV, 0, "", 0, 1);
    add(chart, 1, PS_OP_SEND, 0, "", 4, 5);
    expect(chart, (ps_text_style){.width = 50},
           "two stages by hand, 1f1b, step 3, bubble 33.3 %\n"
           "\n"
           "0 |0###1###........0B=======....1B======|   66.7 %\n"
           "1 |....0###0B======1####1B======........|   66.7 %\n"
           "   v               ^                    \n"
           "  +--------------------+----------------+     busy\n"
           "  0                    5               9.00 ms\n"
           "\n"
           "## F forward   == B whole backward\n"
           "^ send   v receive\n");
    ps_chart_free(chart);
}

static void refuse(const ps_chart *chart, int64_t step, int32_t pipeline, ps_code code,
                   const char *message) {
    ps_chart_text_opts opts = {.step = step, .pipeline = pipeline};
    ps_err err = PS_ERR_INIT;
    ps_buf b;
    ps_buf_init(&b, 0);
    assert_int_equal(ps_write_chart_text(chart, &opts, &b, &err), code);
    assert_string_equal(err.msg, message);
    assert_int_equal(b.len, 0);
    ps_buf_fini(&b);
}

static void test_refused(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    refuse(chart, PS_FIRST_STEP, -1, PS_NOTHING, "the chart is empty: it has no ops to draw");
    ps_chart_free(chart);
    chart = sample();
    refuse(chart, 4, -1, PS_NOTHING, "step 4: no such step; there are: 3");
    refuse(chart, 3, 1, PS_NOTHING, "pipeline 1: no such pipeline; there are: 0");
    ps_op op = {
        .start_ns = INT64_MIN, .end_ns = 0, .step = 5, .name = "", .kind = PS_OP_F, .phase = -1};
    assert_true(ps_chart_add_op(chart, op));
    refuse(chart, 4, -1, PS_NOTHING, "step 4: no such step; there are: 3, 5");
    refuse(chart, 5, -1, PS_RANGE, "step 5 is too long to draw");
    op = (ps_op){.start_ns = 2, .end_ns = 1, .step = 6, .name = "", .kind = PS_OP_F, .phase = -1};
    assert_true(ps_chart_add_op(chart, op));
    refuse(chart, 6, -1, PS_NOTHING, "the chart has no op with a valid time in step 6");
    ps_chart_free(chart);
}

/* One window a step and pipeline, however the ops lie; sends and receives do not count. */
static void test_windows(void **context) {
    (void)context;
    ps_chart *chart = sample();
    add(chart, 0, PS_OP_RECV, 0, "", 20, 30);
    ps_op op = {.start_ns = 50, .end_ns = 60, .step = 2, .name = "", .kind = PS_OP_SEND};
    assert_true(ps_chart_add_op(chart, op));
    ps_chart_window *w = NULL;
    size_t n = 0;
    assert_int_equal(ps_chart_windows(chart, &w, &n, NULL), PS_OK);
    assert_int_equal(n, 2);
    assert_int_equal(w[0].step, 3);
    assert_int_equal(w[0].start_ns, 0);
    assert_int_equal(w[0].end_ns, 9 * MS);
    assert_int_equal(w[1].step, 2);
    assert_true(w[1].end_ns < w[1].start_ns);
    ps_free(w);
    ps_chart_free(chart);
}

/* Ops without length, and overlapping ones. */
static void test_odd_ops(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    assert_non_null(chart);
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 0}));
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 1, .stage = 1}));
    add(chart, 0, PS_OP_F, 0, "", 5, 5);
    expect(chart, (ps_text_style){.width = 40},
           "pipeline chart, step 3, bubble 100.0 %\n"
           "\n"
           "0 |#..........................|    0.0 %\n"
           "1 |...........................|   no ops\n"
           "  +---------------------------+     busy\n"
           "  0                           1 ns\n"
           "\n"
           "## F forward\n");
    ps_chart_free(chart);
}

/* Overlapping, empty and very long ops at random: a picture or an error, under the sanitizers too. */
static void test_random(void **context) {
    (void)context;
    static const char *const NAMES[] = {"12F+3B", "7", "", "\x01z"};
    ps_rng rng = ps_rng_seed(7);
    for (int round = 0; round < 400; round++) {
        ps_chart *chart = ps_chart_new();
        assert_non_null(chart);
        uint32_t n_ranks = 1 + (uint32_t)ps_rng_below(&rng, 6);
        for (uint32_t i = 0; i < n_ranks; i++) {
            ps_chart_rank rank = {.rank = (int32_t)ps_rng_below(&rng, 2000) - 1,
                                  .stage = (int32_t)ps_rng_below(&rng, 5) - 1};
            assert_true(ps_chart_add_rank(chart, rank));
        }
        int64_t longest = INT64_C(1) << ps_rng_below(&rng, 60);
        size_t n_ops = 1 + (size_t)ps_rng_below(&rng, 200);
        for (size_t i = 0; i < n_ops; i++) {
            ps_op op = {.start_ns = (int64_t)ps_rng_below(&rng, (uint64_t)longest),
                        .name = NAMES[ps_rng_below(&rng, 4)],
                        .rank = (uint32_t)ps_rng_below(&rng, n_ranks),
                        .microbatch = (int32_t)ps_rng_below(&rng, 100),
                        .phase = (int8_t)((int)ps_rng_below(&rng, 9) - 1),
                        .kind = (uint8_t)ps_rng_below(&rng, PS_N_OP_KINDS)};
            op.end_ns = op.start_ns + (int64_t)ps_rng_below(&rng, (uint64_t)longest) / 8;
            assert_true(ps_chart_add_op(chart, op));
        }
        ps_chart_text_opts opts = {
            .style = {.width = (uint32_t)ps_rng_below(&rng, 250), .utf8 = round % 2 == 0},
            .step = 0,
            .pipeline = 0};
        opts.style.colours = (ps_colours)(round % 3);
        ps_buf b;
        ps_buf_init(&b, 0);
        ps_code code = ps_write_chart_text(chart, &opts, &b, NULL);
        assert_true(code == PS_OK || code == PS_RANGE);
        ps_buf_fini(&b);
        ps_chart_free(chart);
    }
}

static void test_memory(void **context) {
    (void)context;
    ps_chart *chart = sample();
    ps_chart_text_opts opts = {.style = {.width = 80, .utf8 = true, .colours = PS_COLOURS_256},
                               .step = 3};
    bool has_failed = true;
    int64_t n = 0;
    for (; has_failed; n++) {
        ps_buf b;
        ps_buf_init(&b, 0);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_write_chart_text(chart, &opts, &b, NULL);
        has_failed = ps_alloc_fail_at(-1) > n;
        assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
        assert_true(n < 1000);
        ps_buf_fini(&b);
    }
    assert_true(n > 5);
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),     cmocka_unit_test(test_longest_pipeline_first),
        cmocka_unit_test(test_coloured),  cmocka_unit_test(test_widths),
        cmocka_unit_test(test_dense),     cmocka_unit_test(test_labels),
        cmocka_unit_test(test_transfers), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_refused),   cmocka_unit_test(test_odd_ops),
        cmocka_unit_test(test_memory),    cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

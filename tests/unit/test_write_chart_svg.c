/* The picture: rows and figures worked out by hand, labels that fit, thin blocks that stay. That it is well-formed XML
 * is checked by tests/e2e/chart_html.sh with a real parser; here every "<" must have its ">". */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/pictures.h"
#include "write/chart/block_names.h"
#include "write/chart/chart_pack.h"
#include "write/chart/chart_rows.h"
#include "write/chart/chart_svg.h"
#include "write/out/text_width.h"
#include "write/out/writers.h"

static const ps_chart_svg_opts FIRST = {.step = PS_FIRST_STEP, .pipeline = -1};

static size_t count(const ps_buf *out, const char *what) {
    size_t n = 0;
    for (const char *at = strstr(ps_buf_str(out), what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static void draw(const ps_chart *chart, const ps_chart *against, const ps_chart_svg_opts *opts,
                 ps_buf *out) {
    ps_err err = PS_ERR_INIT;
    ps_buf_init(out, 0);
    if (ps_write_chart_svg(chart, against, opts, out, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    size_t depth = 0;
    for (size_t i = 0; i < out->len; i++) {
        depth += out->data[i] == '<';
        depth -= out->data[i] == '>';
        assert_true(depth <= 1);
    }
    assert_int_equal(depth, 0);
}

/* Step 3: stage 0 works 0-100 and 200-600, stage 1 100-200 and 300-600; the window is 600 ns. */
static void test_rows(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_rows rows;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_rows_make(chart, PS_FIRST_STEP, -1, &rows, &err), PS_OK);
    assert_int_equal(rows.step, 3);
    assert_int_equal(rows.n, 2);
    assert_int_equal(rows.span_ns, 600);
    assert_int_equal(rows.rows[0].busy_ns, 500);
    assert_int_equal(rows.rows[0].cause_ns[PS_BUBBLE_STALL], 100);
    assert_int_equal(rows.rows[1].busy_ns, 400);
    assert_int_equal(rows.rows[1].cause_ns[PS_BUBBLE_WARMUP], 100);
    assert_int_equal(rows.rows[1].transfers.n, 1);
    ps_rows_fini(&rows);
    chart->n_bubbles = 0; /* then the gaps count */
    assert_int_equal(ps_rows_make(chart, 4, 0, &rows, &err), PS_OK);
    assert_int_equal(rows.rows[0].cause_ns[PS_BUBBLE_STALL], 100);
    assert_int_equal(rows.rows[1].cause_ns[PS_BUBBLE_WARMUP], 100);
    assert_int_equal(rows.rows[1].cause_ns[PS_BUBBLE_STALL], 100);
    ps_rows_fini(&rows);
    ps_chart_free(chart);
}

/* Entries of the legend stand one after the other by the width that their texts are said to have: in DejaVu Sans, the widest font
 * that a reader usually has, they have those below. */
static void test_texts_are_wide_enough(void **context) {
    (void)context;
    static const struct {
        const char *text;
        double px; /* at 12 px */
    } TEXTS[] = {{"RECV receive from another stage", 199.8},
                 {"SEND send to another stage", 169.8},
                 {"B whole backward", 109.4},
                 {"F forward", 56.7},
                 {"1B + overlap", 78.6}};
    for (size_t i = 0; i < sizeof TEXTS / sizeof *TEXTS; i++) {
        double px = ps_text_width(TEXTS[i].text, 12);
        assert_true(px >= TEXTS[i].px);
        assert_true(px <= 1.15 * TEXTS[i].px);
    }
}

static void test_picture(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_buf out;
    draw(chart, NULL, &FIRST, &out);
    assert_int_equal(count(&out, ">1F+0B</text>"), 2);
    assert_int_equal(count(&out, ">83.3</text>"),
                     2); /* 500 of 600: beside the row and in the table */
    assert_int_equal(count(&out, ">run &lt;/script&gt; &amp; "), 1);
    assert_int_equal(count(&out, "bubble 25.0 %"), 1); /* 1 - 900 / 1200 */
    assert_int_equal(count(&out, "hcom &lt;send&gt;"), 2);
    ps_buf_fini(&out);
    ps_chart_svg_opts opts = {.step = 4, .pipeline = 0, .dark = true, .width = 800, .arrows = true};
    draw(chart, chart, &opts, &out);
    assert_int_equal(count(&out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\""), 1);
    assert_int_equal(count(&out, "fill=\"#14181d\"/>"), 1);
    assert_int_equal(count(&out, "theory (1f1b): 600 ns, bubble 25.0 %"), 1);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

/* Less of a name, never a part of a number. */
static void test_block_texts(void **context) {
    (void)context;
    static const struct {
        const char *name;
        int64_t microbatch;
        ps_op_kind kind;
        const char *texts;
    } CASES[] = {{"7F+13B", -1, PS_OP_FB, "\"7F+13B\",\"7+13\",\"7\\u000a13\""},
                 {"12f", -1, PS_OP_F, "\"12f\",\"12\",\"\""},
                 {"7", -1, PS_OP_F, "\"7\",\"\",\"\""},
                 {"FP", 3, PS_OP_F, "\"3\",\"\",\"\""},
                 /* A bare number is a forward: what is none has its letter, or no name. */
                 {"12w", -1, PS_OP_BW, "\"12w\",\"\",\"\""},
                 {"3B", 3, PS_OP_B, "\"3B\",\"\",\"\""},
                 {"BP", 3, PS_OP_B, "\"3B\",\"\",\"\""},
                 {"backward", 3, PS_OP_BI, "\"backward\",\"3BI\",\"\""},
                 {"logits", -1, PS_OP_LOGITS, "\"logits\",\"\",\"\""},
                 {"a name that is far too long for the block of any op", -1, PS_OP_F, ""}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const ps_op op = {.name = CASES[i].name,
                          .microbatch = CASES[i].microbatch,
                          .microbatch2 = -1,
                          .kind = (uint8_t)CASES[i].kind};
        ps_buf out;
        ps_buf_init(&out, 0);
        ps_block_texts_add(&out, &op, ps_add_script_str);
        assert_string_equal(ps_buf_str(&out), CASES[i].texts);
        ps_buf_fini(&out);
    }
}

/* Blocks that look as wide in a row have names of one level, though a text is a pixel wider than its neighbours' (as in pages). */
static void test_block_names(void **context) {
    (void)context;
    enum { N = 10 };
    ps_op ops[N];
    ps_block at[N];
    char texts[N][8];
    double rooms[N];
    uint8_t levels[N];
    ps_block_names names = {.stop = PS_BLOCK_LEVELS_FLAT};
    for (int i = 0; i < N; i++) { /* the text of the last one is the widest, and does not fit */
        (void)snprintf(texts[i], sizeof texts[i], i == N - 1 ? "11%dw" : "11%df", i);
        ops[i] = (ps_op){.name = texts[i],
                         .kind = (uint8_t)(i == N - 1 ? PS_OP_BW : PS_OP_F),
                         .microbatch = -1,
                         .microbatch2 = -1};
        at[i] = (ps_block){.op = (uint32_t)i};
        rooms[i] = ps_text_width("111f", PS_NAME_SIZE) + 0.01 * i;
        rooms[i] = i == 0 ? 2 * rooms[i] : rooms[i];
        ps_block_names_count(&names, &at[i], &ops[i], rooms[i]);
    }
    const ps_blocks row = {at, N};
    ps_block_names_choose(&names);
    assert_int_equal(names.first[0], 0);
    assert_true(ps_block_names_of_row(&names, &row, rooms, levels));
    for (int i = 0; i < N; i++) {
        assert_int_equal(levels[i], i > 0);
    }
    ps_block_text text;
    assert_true(ps_block_name_fits(&names, &ops[0], levels[0], rooms[0], &text));
    assert_string_equal(text.text, "110f");
}

/* Where a send and its receive are known, they are the arrow: from the start of the one to the end of the other, as in browsers. */
static void test_arrows(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    const ps_chart_svg_opts opts = {.step = 3, .pipeline = 0, .width = 800, .arrows = true};
    const char *const head = "m-6 -3l6 3l-6 3";
    assert_true(ps_chart_add_link(chart, (ps_chart_link){.from = 1, .to = 7}));
    ps_buf out;
    draw(chart, NULL, &opts, &out);
    assert_int_equal(count(&out, head), 1); /* none from op to op */
    const char *arrow = strstr(ps_buf_str(&out), "<path d=\"M250 ");
    assert_non_null(arrow); /* 100 of 600 ns in 564 px from 156 on */
    const char *end = strstr(arrow, " 348.7 ");
    assert_true(end != NULL && end < strstr(arrow, head)); /* 205 ns */
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

static void test_nothing(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_write_chart_svg(chart, NULL, &FIRST, &out, &err), PS_NOTHING);
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){0}));
    assert_true(ps_chart_add_op(chart, (ps_op){.kind = PS_OP_SEND, .end_ns = 5, .name = "s"}));
    assert_int_equal(ps_write_chart_svg(chart, NULL, &FIRST, &out, &err), PS_NOTHING);
    assert_int_equal(out.len, 0);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

/* Times at the ends of 64 bits, an op without length, a stage without ops: no overflow, and all is there. */
static void test_extremes(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    ps_buf out;
    ps_err err = PS_ERR_INIT;
    for (int i = 0; i < 2; i++) {
        assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = i, .stage = i}));
    }
    const int64_t far = INT64_MAX / 2 - 1;
    assert_true(ps_chart_add_op(
        chart, (ps_op){.start_ns = -far, .end_ns = far, .name = "long", .phase = -1}));
    assert_true(ps_chart_add_op(
        chart, (ps_op){.start_ns = 5, .end_ns = 5, .name = "none", .phase = -1, .kind = PS_OP_BW}));
    assert_true(ps_chart_add_op(
        chart,
        (ps_op){.start_ns = INT64_MIN, .end_ns = INT64_MAX, .name = "s", .kind = PS_OP_RECV}));
    draw(chart, NULL, &FIRST, &out);
    assert_true(count(&out, "#e1da38") >= 2); /* the op without length, and the legend */
    assert_int_equal(count(&out, "no ops"), 1);
    ps_buf_fini(&out);
    chart->ops[0].start_ns = INT64_MIN;
    ps_buf_init(&out, 0);
    assert_int_equal(ps_write_chart_svg(chart, NULL, &FIRST, &out, &err), PS_RANGE);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

/* 65536 blocks are at most half a megabyte: thin ones are drawn together. */
/* A subtitle that is too long for its line goes on in the next, and the rows move down. */
static void test_long_subtitle(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_buf out;
    draw(chart, NULL, &FIRST, &out);
    assert_int_equal(count(&out, "<text x=\"24\" y=\"62\""), 1);
    assert_int_equal(count(&out, "<text x=\"24\" y=\"78\""), 0);
    ps_buf_fini(&out);
    const char *before = chart->labels;
    chart->labels =
        "ranges of a long name that goes on and on, ranges of a long name that goes on and on, "
        "ranges of a long name that goes on and on, ranges of a long name that goes on and on";
    draw(chart, NULL, &FIRST, &out);
    assert_int_equal(count(&out, "<text x=\"24\" y=\"62\""), 1);
    assert_int_equal(count(&out, "<text x=\"24\" y=\"78\""), 1);
    ps_buf_fini(&out);
    chart->labels = before;
    chart->ranks[0].has_clock = true;
    chart->ranks[0].clock_offset_ns = 1750000;
    draw(chart, NULL, &FIRST, &out);
    assert_int_equal(count(&out, "y=\"78\" font-size=\"12\" fill=\"#5c6670\">Clock of "), 1);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

static void test_size(void **context) {
    (void)context;
    ps_chart *chart = test_chart_big(64, 512, 1);
    ps_buf out;
    draw(chart, NULL, &FIRST, &out);
    assert_true(out.len < 600000);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

static void test_memory(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_err err = PS_ERR_INIT;
    for (int64_t n = 0;; n++) {
        ps_buf out;
        ps_buf_init(&out, 0);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_write_chart_svg(chart, chart, &FIRST, &out, &err);
        int64_t made = ps_alloc_fail_at(-1);
        ps_buf_fini(&out);
        if (made <= n) {
            assert_int_equal(code, PS_OK);
            break;
        }
        assert_int_equal(code, PS_NOMEM);
    }
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts_are_wide_enough),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_picture),
        cmocka_unit_test(test_block_texts),
        cmocka_unit_test(test_block_names),
        cmocka_unit_test(test_arrows),
        cmocka_unit_test(test_nothing),
        cmocka_unit_test(test_extremes),
        cmocka_unit_test(test_size),
        cmocka_unit_test(test_long_subtitle),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

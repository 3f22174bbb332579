/* The terminal's pipeline chart. The sample is 1F1B on two stages, two microbatches, forward 1 ms, backward 2 ms:
 *
 *   stage 0   F0 0-1   F1 1-2             B0 4-6   B1 7-9      busy 6 of 9 ms
 *   stage 1            F0 1-2   B0 2-4   F1 4-5   B1 5-7       busy 6 of 9 ms */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "base/utf8.h"
#include "write/theme.h"
#include "write/writers.h"

enum { MS = 1000000 };

static void add(ps_chart *chart, uint32_t rank, ps_op_kind kind, int microbatch, const char *name, int64_t start_ms,
                int64_t end_ms) {
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
    ps_chart_text_opts opts = {.style = style, .step = PS_FIRST_STEP, .pipeline = -1};
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
           "\n");
    expect(chart, (ps_text_style){.width = 63}, "");
    expect(chart, (ps_text_style){.width = 50}, "");
    ps_chart_free(chart);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The page: whole, self-contained, safe against names that look like markup, and small. What it does in a browser is
 * tests/e2e/chart_html.sh; what its packed columns mean is tested from the reading side in web/test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "support/pictures.h"
#include "write/chart/chart_html.h"
#include "write/chart/chart_pack.h"
#include "write/out/web_bundle.h"
#include "write/out/writers.h"

static size_t count(const ps_buf *out, const char *what) {
    size_t n = 0;
    for (const char *at = strstr(ps_buf_str(out), what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static ps_table *table(void) {
    static const ps_column COLUMNS[] = {
        {.name = "schedule", .type = PS_COL_TEXT},
        {.name = "step_ns", .type = PS_COL_INT, .unit = PS_UNIT_NS},
        {.name = "bubble", .type = PS_COL_REAL, .unit = PS_UNIT_PERCENT},
    };
    ps_table *t = ps_table_new("what_if", "What </script> if", COLUMNS, 3);
    assert_non_null(t);
    assert_true(ps_table_add_row(t));
    assert_true(ps_table_set_text(t, 0, "<b>"));
    ps_table_set_int(t, 1, 9007199254740993);
    return t;
}

static void test_page(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_table *t = table();
    const ps_table *tables[] = {t};
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_write_chart_html(chart, chart, tables, 1, NULL, &out, &err), PS_OK);
    const char *page = ps_buf_str(&out);
    assert_memory_equal(page, "<!DOCTYPE html>\n", 16);
    assert_int_equal(count(&out, "</script>"), 2); /* of the data and of the program */
    assert_int_equal(count(&out, "<title>run &lt;/script> &amp; "), 1);
    assert_int_equal(count(&out, "default-src 'none'"), 1);
    assert_int_equal(count(&out, "http://") + count(&out, "https://"), 0);
    assert_int_equal(count(&out, "\"view\":{\"step\":3,\"pipeline\":0,\"longest\":"), 1);
    assert_int_equal(count(&out, "[\"\\u003cb>\",9007199254740993,null]"), 1);
    assert_non_null(strstr(page, ps_web_pipeline_js));
    assert_non_null(strstr(page, ps_web_pipeline_css));
    ps_buf_fini(&out);
    ps_table_free(t);
    ps_chart_free(chart);
}

static void test_nothing(void **context) {
    (void)context;
    ps_chart *empty = ps_chart_new();
    ps_chart *chart = test_chart();
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_write_chart_html(empty, NULL, NULL, 0, NULL, &out, &err), PS_NOTHING);
    ps_chart_html_opts opts = {.step = 99, .pipeline = -1};
    assert_int_equal(ps_write_chart_html(chart, NULL, NULL, 0, &opts, &out, &err), PS_NOTHING);
    opts = (ps_chart_html_opts){.step = 4, .pipeline = 0};
    assert_int_equal(ps_write_chart_html(chart, NULL, NULL, 0, &opts, &out, &err), PS_OK);
    assert_int_equal(count(&out, "\"view\":{\"step\":4,\"pipeline\":0,\"longest\":"), 1);
    ps_buf_fini(&out);
    ps_chart_free(empty);
    ps_chart_free(chart);
}

/* First op of the first run: label 0, gap 0, duration 100 -> z = 200 = C8 01. */
static void test_columns(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    assert_true(ps_chart_add_rank(chart, (ps_chart_rank){.rank = 5, .stage = 0, .pipeline = 1}));
    for (int i = 0; i < 2; i++) {
        assert_true(ps_chart_add_op(
            chart, (ps_op){.start_ns = i * 150, .end_ns = i * 150 + 100, .step = 7, .name = "a"}));
    }
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_pack(chart, &out, &err), PS_OK);
    assert_int_equal(count(&out, "\"ranks\":[[5,0,1,1]]"), 1);
    assert_int_equal(count(&out, "\"labels\":[[\"a\",0,0,0,0,0,0,0,[\"0+0\",\"\",\"0\\u000a0\"]]]"),
                     1);
    assert_int_equal(count(&out, "\"runs\":[0,7,2]"), 1);
    assert_int_equal(
        count(&out, "\"label\":\"AAA=\",\"gap\":\"AGQ=\",\"dur\":\"yAEA\",\"host\":\"\""), 1);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

/* 64 stages, 4 steps, 512 microbatches, durations that vary: a few MB. */
static void test_size(void **context) {
    (void)context;
    ps_chart *chart = test_chart_big(64, 512, 4);
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(chart->n_ops, 64 * 4 * 1024);
    assert_int_equal(ps_write_chart_html(chart, NULL, NULL, 0, NULL, &out, &err), PS_OK);
    assert_true(out.len < 4 << 20);
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
        ps_code code = ps_write_chart_html(chart, chart, NULL, 0, NULL, &out, &err);
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
        cmocka_unit_test(test_page), cmocka_unit_test(test_nothing), cmocka_unit_test(test_columns),
        cmocka_unit_test(test_size), cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The JSON of a chart, line by line, and what is left out when one step is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "support/pictures.h"
#include "write/chart/chart_json.h"
#include "write/out/writers.h"

static void expect_line(const ps_buf *out, const char *line) {
    if (strstr(ps_buf_str(out), line) == NULL) {
        fail_msg("not in the output: %s\n%s", line, ps_buf_str(out));
    }
}

static size_t count(const ps_buf *out, const char *what) {
    size_t n = 0;
    for (const char *at = strstr(ps_buf_str(out), what); at != NULL; at = strstr(at + 1, what)) {
        n++;
    }
    return n;
}

static void test_everything(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_write_chart_json(chart, NULL, &out, &err), PS_OK);
    expect_line(&out, "{\"format\":\"pipescope-chart\",\"version\":1,\n");
    expect_line(
        &out,
        "\"title\":\"run </script> & \\\"a\\\"\\u0001\",\"schedule\":\"1f1b\",\"schedule_how\":\"from metadata\","
        "\"origin_ns\":\"1718000000123456789\",\n");
    expect_line(&out, "\n{\"rank\":4,\"stage\":1,\"pipeline\":0}\n],\n");
    expect_line(
        &out,
        "\n{\"rank\":0,\"stage\":0,\"kind\":\"F\",\"chunk\":0,\"microbatch\":0,\"name\":\"0\",\"start_ns\":0,"
        "\"end_ns\":100,\"host_start_ns\":-40,\"host_end_ns\":-10,\"step\":3,\"source\":\"mark\"},\n");
    expect_line(
        &out,
        "\n{\"rank\":0,\"stage\":0,\"kind\":\"SEND\",\"chunk\":0,\"name\":\"hcom <send>\",\"start_ns\":100,"
        "\"end_ns\":105,\"step\":3,\"source\":\"mark\"},\n");
    expect_line(
        &out,
        "\"kind\":\"FB\",\"chunk\":0,\"microbatch\":1,\"chunk2\":0,\"microbatch2\":0,\"name\":\"1F+0B\",");
    expect_line(&out, "\"links\":[\n{\"from\":0,\"to\":6},\n{\"from\":8,\"to\":2}\n],\n");
    expect_line(
        &out,
        "\n{\"rank\":0,\"stage\":0,\"step\":3,\"cause\":\"stall\",\"start_ns\":100,\"end_ns\":200,\"waits_for\":8},\n");
    expect_line(
        &out,
        "\n{\"rank\":0,\"stage\":0,\"step\":4,\"cause\":\"stall\",\"start_ns\":1100,\"end_ns\":1200},\n");
    assert_int_equal(count(&out, "\"kind\":"), 12);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

/* Indices are those of the ops that were written. */
static void test_one_step(void **context) {
    (void)context;
    ps_chart *chart = test_chart();
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    ps_chart_json_opts opts = {.step = PS_FIRST_STEP, .pipeline = -1};
    assert_int_equal(ps_write_chart_json(chart, &opts, &out, &err), PS_OK);
    assert_int_equal(count(&out, "\"kind\":"), 6);
    assert_int_equal(count(&out, "\"step\":4"), 0);
    expect_line(&out, "\"links\":[\n{\"from\":0,\"to\":3},\n{\"from\":5,\"to\":2}\n],\n");
    expect_line(&out, "\"waits_for\":5}");
    opts.step = 17;
    assert_int_equal(ps_write_chart_json(chart, &opts, &out, &err), PS_NOTHING);
    ps_buf_fini(&out);
    ps_chart_free(chart);
}

static void test_empty(void **context) {
    (void)context;
    ps_chart *chart = ps_chart_new();
    ps_buf out;
    ps_buf_init(&out, 0);
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_write_chart_json(chart, NULL, &out, &err), PS_OK);
    expect_line(&out, "\"ranks\":[\n],\n\"ops\":[\n],\n\"links\":[\n],\n\"bubble\":[\n]}\n");
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
        ps_code code = ps_write_chart_json(chart, NULL, &out, &err);
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
        cmocka_unit_test(test_everything),
        cmocka_unit_test(test_one_step),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

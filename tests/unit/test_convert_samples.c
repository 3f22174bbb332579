/* Every rank of every sample of real and generated profiles: read, written as JSON, read back, the same trace. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/fs.h"
#include "read/chrome/pipescope_json.h"
#include "read/readers.h"
#include "run/cluster.h"
#include "support/trace_dump.h"
#include "write/trace/trace_writer.h"

#define EVERYTHING                                                                                 \
    (PS_NEED_META | PS_NEED_STEPS | PS_NEED_MARKS | PS_NEED_COMM_OPS | PS_NEED_COMM_HOST |         \
     PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_COUNTERS | PS_NEED_ARGS | PS_NEED_STATISTICS)

/* NULL when the trace holds nothing or could not be read: the readers' own tests are about that. */
static ps_trace *read_rank(const ps_cluster_rank *rank) {
    ps_src src = ps_cluster_src(rank);
    ps_trace *t = ps_read(&src, EVERYTHING, NULL);
    if (t != NULL && ps_trace_slices(t)->n == 0 && ps_trace_counters(t)->n == 0) {
        ps_trace_free(t);
        return NULL;
    }
    return t;
}

static void write_json(const ps_trace *t, ps_buf *out) {
    const ps_trace_source source = {0, "", "rank 0", NULL, -1};
    ps_sink sink = ps_sink_buf(out);
    ps_trace_writer *w =
        ps_trace_writer_to_sink(ps_trace_format_for("x.json"), &sink, &source, 1, NULL);
    assert_non_null(w);
    assert_int_equal(ps_trace_writer_rank(w, 0, t, NULL), PS_OK);
    assert_int_equal(ps_trace_writer_commit(w, NULL, NULL), PS_OK);
}

static ps_trace *read_json(const ps_buf *json) {
    ps_err err = PS_ERR_INIT;
    ps_builder *b = ps_builder_new();
    ps_input *in = ps_input_of_memory(json->data, json->len, &err);
    assert_true(b != NULL && in != NULL);
    if (ps_pipescope_json_read(in, 0, EVERYTHING, 0, b, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    ps_input_close(in);
    return ps_builder_seal(b, &err);
}

static void expect_same_after_json(const ps_trace *t) {
    ps_buf json;
    ps_buf wanted;
    ps_buf got;
    ps_buf_init(&json, 0);
    ps_buf_init(&wanted, 0);
    ps_buf_init(&got, 0);
    write_json(t, &json);
    ps_trace *again = read_json(&json);
    assert_non_null(again);
    assert_int_equal(ps_diag_n_errors(ps_trace_diag(again)), 0);
    trace_dump(t, &wanted);
    trace_dump(again, &got);
    assert_same_dump(&got, &wanted);
    ps_trace_free(again);
    ps_buf_fini(&json);
    ps_buf_fini(&wanted);
    ps_buf_fini(&got);
}

/* Returns how many ranks were compared. */
static size_t check_below(const char *path) {
    ps_cluster *c = ps_cluster_find(path, NULL);
    size_t n = 0;
    for (size_t i = 0; c != NULL && i < c->n_ranks; i++) {
        ps_trace *t = read_rank(&c->ranks[i]);
        if (t != NULL) {
            expect_same_after_json(t);
            n++;
        }
        ps_trace_free(t);
    }
    ps_cluster_free(c);
    return n;
}

static void check_sample(const char *name) {
    const char *root = getenv("PIPESCOPE_SHARED_DATA");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", root != NULL ? root : "", name);
    if (root == NULL || !ps_is_dir(path)) {
        print_message("skipped: no samples at %s\n", path);
        skip();
    }
    assert_true(check_below(path) > 0);
}

static void kineto(void **state) {
    (void)state;
    check_sample("kineto");
}

static void ascend_databases(void **state) {
    (void)state;
    check_sample("ascend/db/level0");
    check_sample("ascend/db/level1");
}

static void ascend_text(void **state) {
    (void)state;
    check_sample("ascend/text");
}

static void paddle(void **state) {
    (void)state;
    check_sample("paddle_logs");
}

static void generated(void **state) {
    (void)state;
    check_sample("module_statistic/toy");
    check_sample("cluster/pp2_dp4/input");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kineto), cmocka_unit_test(ascend_databases), cmocka_unit_test(ascend_text),
        cmocka_unit_test(paddle), cmocka_unit_test(generated),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

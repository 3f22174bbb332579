/* Modules of two captures, joined by path and likeness. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/derived/derived.h"
#include "analyze/modes/capture_facts.h"
#include "analyze/stats/text_likeness.h"

static void likeness_is_one_less_edits_by_length(void **state) {
    (void)state;
    assert_true(ps_text_likeness("abc", "abc", 0.8) == 1);
    assert_true(ps_text_likeness("", "", 0.8) == 1);
    /* kitten -> sitting: 3 edits of 7 */
    assert_true(ps_text_likeness("kitten", "sitting", 0) == 1 - 3.0 / 7.0);
    assert_true(ps_text_likeness("sitting", "kitten", 0.5) == 1 - 3.0 / 7.0);
    assert_true(ps_text_likeness("kitten", "sitting", 0.8) == 0);
    assert_true(ps_text_likeness("abc", "", 0) == 0);
    char long_a[2000];
    memset(long_a, 'a', sizeof long_a);
    long_a[sizeof long_a - 1] = '\0';
    assert_true(ps_text_likeness(long_a, long_a + 700, 0.8) ==
                1); /* the last 512 bytes are equal */
}

typedef struct side {
    ps_builder *b;
    uint32_t thread, stream;
    int64_t now;
} side;

static ps_str text(const side *s, const char *t) {
    return ps_builder_str(s->b, t, strlen(t));
}

static side new_side(void) {
    side s = {.b = ps_builder_new()};
    assert_non_null(s.b);
    s.thread = ps_builder_track(
        s.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 1, .device = -1});
    s.stream = ps_builder_track(s.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2});
    return s;
}

/* A module of 10 ns on the host with one operator that launches a kernel of `kernel_ns`. */
static void add_module(side *s, const char *name, int64_t kernel_ns) {
    int64_t at = s->now;
    (void)ps_builder_slice_in(s->b, PS_SLICE_MARK_HOST, s->thread, text(s, name), text(s, "Module"),
                              at, at + 10, at);
    uint32_t op = ps_builder_slice(s->b, PS_SLICE_HOST_OP, s->thread, text(s, "aten::mm"), at + 2,
                                   at + 4, at);
    uint32_t kernel = ps_builder_slice(s->b, PS_SLICE_KERNEL, s->stream, text(s, "mm"), at + 5,
                                       at + 5 + kernel_ns, at);
    ps_builder_flow_of(s->b, op, kernel, text(s, "async_npu"));
    s->now += 1000000;
}

static void run(const char *name, side *s, const ps_result *baseline, ps_result *out) {
    const ps_analysis *analysis = ps_analysis_find(name);
    assert_non_null(analysis);
    ps_trace *trace = ps_builder_seal(s->b, NULL);
    assert_non_null(trace);
    ps_analysis_opts opts = {.step_id = -1, .baseline = baseline};
    ps_rank_info info = {.rank = 3, .profiler = "test"};
    ps_diag *diag = test_calloc(1, sizeof *diag);
    void *partial = NULL;
    void *shared = NULL;
    ps_map_input map = {.trace = trace, .rank = &info, .opts = &opts, .diag = diag};
    assert_int_equal(ps_round_map(&analysis->rounds[0], &map, &partial, NULL), PS_OK);
    ps_reduce_input in = {.ranks = &info,
                          .partials = &partial,
                          .diags = &diag,
                          .n_ranks = 1,
                          .opts = &opts,
                          .result = out};
    *out = (ps_result){0};
    const ps_round *last = &analysis->rounds[analysis->n_rounds - 1];
    assert_int_equal(last->reduce(&in, &shared, NULL), PS_OK);
    analysis->free_partial(partial);
    test_free(diag);
    ps_trace_free(trace);
}

static const ps_value *at(const ps_table *t, size_t row, const char *column) {
    for (size_t c = 0; c < t->n_columns; c++) {
        if (strcmp(t->columns[c].name, column) == 0) {
            return ps_table_cell(t, row, c);
        }
    }
    fail_msg("no column %s", column);
    return NULL;
}

/* AscendLinear and Linear are one; RotaryEmbeddingV1 and RotaryEmbeddingV2 differ in one letter of 17; Norm is the NPU's
 * alone, Sampler the GPU's. Of 100 + 40 + 60 us the Linear has 50 %, of 50 + 40 + 10 on the GPU too. */
static void modules_are_joined_by_path_then_by_likeness(void **state) {
    (void)state;
    side gpu = new_side();
    add_module(&gpu, "Linear", 50000);
    add_module(&gpu, "RotaryEmbeddingV2", 40000);
    add_module(&gpu, "Sampler", 10000);
    side npu = new_side();
    add_module(&npu, "AscendLinear", 100000);
    add_module(&npu, "RotaryEmbeddingV1", 40000);
    add_module(&npu, "Norm", 60000);
    ps_result base;
    ps_result out;
    run("capture_facts", &gpu, NULL, &base);
    run("calibrate_npu_gpu", &npu, &base, &out);
    const ps_table *t = ps_result_table(&out, "CompareProfileReportRank3");
    assert_non_null(t);
    assert_string_equal(t->file, "compare_profile_report_3");
    assert_int_equal(t->n_rows, 4);
    assert_string_equal(at(t, 0, "module")->u.text, "AscendLinear");
    assert_string_equal(at(t, 0, "gpuModule")->u.text, "Linear");
    assert_true(at(t, 0, "likeness")->u.r == 1);
    assert_true(at(t, 0, "npuShare(%)")->u.r == 50);
    assert_true(at(t, 0, "gpuShare(%)")->u.r == 50);
    assert_true(at(t, 0, "npuToGpuRatio")->u.r == 2);
    assert_true(at(t, 0, "difference(us)")->u.r == 50);
    assert_string_equal(at(t, 1, "module")->u.text, "Norm");
    assert_true(at(t, 1, "gpuModule")->is_null);
    assert_string_equal(at(t, 2, "gpuModule")->u.text, "RotaryEmbeddingV2");
    assert_true(at(t, 2, "likeness")->u.r == 1 - 1.0 / 17.0);
    assert_string_equal(at(t, 3, "module")->u.text, "Sampler");
    assert_true(at(t, 3, "npuDuration(us)")->is_null);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

static void without_a_baseline_it_says_what_to_give(void **state) {
    (void)state;
    const ps_analysis *analysis = ps_analysis_find("calibrate_npu_gpu");
    ps_analysis_opts opts = {.step_id = -1};
    ps_result out = {0};
    ps_reduce_input in = {.opts = &opts, .result = &out};
    void *shared = NULL;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(analysis->rounds[0].reduce(&in, &shared, &err), PS_NOTHING);
    assert_non_null(strstr(err.msg, "--baseline_profiling_path"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(likeness_is_one_less_edits_by_length),
        cmocka_unit_test(modules_are_joined_by_path_then_by_likeness),
        cmocka_unit_test(without_a_baseline_it_says_what_to_give),
    };
    return cmocka_run_group_tests_name("calibrate", tests, NULL, NULL);
}

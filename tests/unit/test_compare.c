/* Two captures side by side. Each is one rank made by hand:
 *
 *   base   step 1 [0, 100): kernel mul [10, 30), copy [40, 45), all-reduce [50, 80)
 *          step 2 [100, 200): kernel mul [110, 130), kernel add [130, 140)
 *   new    step 7 [0, 150): kernel mul [20, 80), all-reduce [60, 140)
 *
 * Per step and rank: base computing (20 + 30) / 2 = 25, new 60; base communication 30 / 2 = 15, new 80; not overlapped
 * base 15, new 60; free base (20 + 0) / 2 = 10, new 0. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/derived/derived.h"
#include "analyze/modes/capture_facts.h"
#include "write/report/comparison.h"

typedef struct capture {
    ps_builder *b;
    uint32_t thread, stream, group;
} capture;

static ps_str text(capture *c, const char *s) {
    return ps_builder_str(c->b, s, strlen(s));
}

static capture new_capture(void) {
    capture c = {.b = ps_builder_new()};
    assert_non_null(c.b);
    c.thread = ps_builder_track(
        c.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 1, .device = -1});
    c.stream = ps_builder_track(c.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2});
    c.group = ps_builder_track(
        c.b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .name = text(&c, "g"), .tid = -1});
    return c;
}

/* An operator of one nanosecond at `at` launches it. */
static void launched(capture *c, const char *op, int64_t at, ps_slice_kind kind, uint32_t track,
                     const char *name, int64_t start, int64_t end) {
    uint32_t from =
        ps_builder_slice(c->b, PS_SLICE_HOST_OP, c->thread, text(c, op), at, at + 1, at);
    uint32_t to = ps_builder_slice(c->b, kind, track, text(c, name), start, end, at);
    ps_builder_flow_of(c->b, from, to, text(c, "async_npu"));
}

static ps_trace *sealed(capture *c) {
    ps_trace *t = ps_builder_seal(c->b, NULL);
    assert_non_null(t);
    return t;
}

static ps_trace *base_capture(void) {
    capture c = new_capture();
    ps_builder_step(c.b, 1, 0, 100);
    ps_builder_step(c.b, 2, 100, 200);
    launched(&c, "aten::mul", 1, PS_SLICE_KERNEL, c.stream, "mul", 10, 30);
    launched(&c, "aten::copy_", 2, PS_SLICE_COPY, c.stream, "MEMCPY", 40, 45);
    launched(&c, "reduce", 3, PS_SLICE_COMM_OP, c.group, "hcom_allReduce_", 50, 80);
    launched(&c, "aten::mul", 101, PS_SLICE_KERNEL, c.stream, "mul", 110, 130);
    launched(&c, "aten::add", 102, PS_SLICE_KERNEL, c.stream, "add", 130, 140);
    return sealed(&c);
}

static ps_trace *new_one(void) {
    capture c = new_capture();
    ps_builder_step(c.b, 7, 0, 150);
    launched(&c, "aten::mul", 1, PS_SLICE_KERNEL, c.stream, "mul", 20, 80);
    launched(&c, "reduce", 3, PS_SLICE_COMM_KERNEL, c.stream, "allreduce", 60, 140);
    return sealed(&c);
}

/* Runs an analysis over a step of one trace; the result is to be ended with ps_result_fini(). */
static ps_code run_step(const char *name, const ps_trace *trace, int64_t step,
                        const ps_result *baseline, ps_result *out) {
    const ps_analysis *analysis = ps_analysis_find(name);
    assert_non_null(analysis);
    ps_analysis_opts opts = {.step_id = step, .baseline = baseline};
    ps_rank_info info = {.profiler = "test"};
    ps_diag *diag = test_calloc(1, sizeof *diag);
    void *partial = NULL;
    void *shared = NULL;
    ps_map_input map = {.trace = trace, .rank = &info, .opts = &opts, .diag = diag};
    ps_code mapped = ps_round_map(&analysis->rounds[0], &map, &partial, NULL);
    const ps_round *last = &analysis->rounds[analysis->n_rounds - 1];
    ps_reduce_input in = {.ranks = &info,
                          .partials = &partial,
                          .diags = &diag,
                          .n_ranks = 1,
                          .opts = &opts,
                          .result = out};
    *out = (ps_result){0};
    ps_code reduced = last->reduce(&in, &shared, NULL);
    analysis->free_partial(partial);
    test_free(diag);
    return mapped != PS_OK ? mapped : reduced;
}

static ps_code run_one(const char *name, const ps_trace *trace, const ps_result *baseline,
                       ps_result *out) {
    return run_step(name, trace, -1, baseline, out);
}

static void compare_both(ps_result *base, ps_result *out) {
    ps_trace *old = base_capture();
    ps_trace *now = new_one();
    assert_int_equal(run_one("capture_facts", old, NULL, base), PS_OK);
    assert_int_equal(run_one("compare", now, base, out), PS_OK);
    ps_trace_free(old);
    ps_trace_free(now);
}

static size_t column_of(const ps_table *t, const char *name) {
    for (size_t c = 0; c < t->n_columns; c++) {
        if (strcmp(t->columns[c].name, name) == 0) {
            return c;
        }
    }
    fail_msg("%s has no column %s", t->name, name);
    return 0;
}

/* The cell of the row whose first column is `row`. */
static const ps_value *cell(const ps_result *r, const char *table, const char *row,
                            const char *column) {
    const ps_table *t = ps_result_table(r, table);
    assert_non_null(t);
    for (size_t i = 0; i < t->n_rows; i++) {
        if (strcmp(ps_table_cell(t, i, 0)->u.text, row) == 0) {
            return ps_table_cell(t, i, column_of(t, column));
        }
    }
    fail_msg("%s has no row %s", table, row);
    return NULL;
}

static void a_steps_time_is_split_per_step_and_rank(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    compare_both(&base, &out);
    static const struct {
        const char *part;
        int64_t now, base;
    } EXPECTED[] = {{"step", 150, 100},        {"computing", 60, 25},
                    {"communication", 80, 15}, {"  not overlapped", 60, 15},
                    {"free", 0, 10},           {"copies", 0, 3} /* 5 / 2 */};
    for (size_t i = 0; i < sizeof EXPECTED / sizeof *EXPECTED; i++) {
        assert_int_equal(cell(&out, "OverallCompare", EXPECTED[i].part, "new")->u.i,
                         EXPECTED[i].now);
        assert_int_equal(cell(&out, "OverallCompare", EXPECTED[i].part, "base")->u.i,
                         EXPECTED[i].base);
        assert_int_equal(cell(&out, "OverallCompare", EXPECTED[i].part, "lost")->u.i,
                         EXPECTED[i].now - EXPECTED[i].base);
    }
    assert_true(cell(&out, "OverallCompare", "step", "new / base")->u.r == 1.5);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

static void names_are_joined_and_the_largest_loss_comes_first(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    compare_both(&base, &out);
    const ps_table *t = ps_result_table(&out, "KernelCompare");
    assert_int_equal(t->n_rows, 2);
    assert_string_equal(ps_table_cell(t, 0, 0)->u.text, "mul");
    /* mul: base 40 in 2 steps, new 60 in one; add: base 10 / 2, new none */
    assert_int_equal(cell(&out, "KernelCompare", "mul", "lost")->u.i, 60 - 20);
    assert_int_equal(cell(&out, "KernelCompare", "add", "lost")->u.i, -5);
    assert_true(cell(&out, "KernelCompare", "add", "calls base")->u.r == 0.5);
    assert_true(cell(&out, "KernelCompare", "mul", "calls new")->u.r == 1.0);
    /* the device time of an operator is that of what it launched */
    assert_int_equal(cell(&out, "OperatorCompare", "reduce", "new")->u.i, 80);
    assert_int_equal(cell(&out, "OperatorHostCompare", "aten::mul", "base")->u.i, 1);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

static void collectives_of_two_makers_have_one_name(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    compare_both(&base, &out);
    const ps_table *t = ps_result_table(&out, "CommunicationCompare");
    assert_int_equal(t->n_rows, 1);
    assert_string_equal(ps_table_cell(t, 0, 0)->u.text, "allreduce");
    assert_int_equal(cell(&out, "CommunicationCompare", "allreduce", "lost")->u.i, 80 - 15);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

/* An all-reduce of 30 in a communicator of that name and label; `groups`: what the metadata says of it, or NULL. */
static ps_trace *with_group(const char *name, const char *label, const char *groups) {
    capture c = {.b = ps_builder_new()};
    assert_non_null(c.b);
    c.thread = ps_builder_track(
        c.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 1, .device = -1});
    c.group = ps_builder_track(
        c.b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .name = text(&c, name), .tid = -1});
    ps_builder_track_label(c.b, c.group, text(&c, label), 0);
    if (groups != NULL) {
        ps_builder_meta(c.b, "parallel_group_info", groups);
    }
    launched(&c, "reduce", 3, PS_SLICE_COMM_OP, c.group, "hcom_allReduce_", 50, 80);
    return sealed(&c);
}

static void compare_traces(ps_trace *now, ps_trace *old, ps_result *base, ps_result *out) {
    assert_int_equal(run_one("capture_facts", old, NULL, base), PS_OK);
    assert_int_equal(run_one("compare", now, base, out), PS_OK);
    ps_trace_free(old);
    ps_trace_free(now);
}

/* A database has the communicator's own name, text what it is for; another run another name of the same. */
static void communicators_are_matched_by_what_they_are_for(void **state) {
    (void)state;
    static const char OF_DB[] =
        "{\"host_0\": {\"group_name\": \"tp\", \"group_rank\": 0, \"global_ranks\": [0, 1]}}";
    static const char OF_TEXT[] =
        "{\"host_7\": {\"group_name\": \"tp\", \"group_rank\": 0, \"global_ranks\": [0, 1]}}";
    ps_result base;
    ps_result out;
    compare_traces(with_group("tp", "Group tp Communication", OF_TEXT),
                   with_group("host_0", "tp", OF_DB), &base, &out);
    const ps_table *t = ps_result_table(&out, "CommunicationCompare");
    assert_int_equal(t->n_rows, 1);
    assert_int_equal(cell(&out, "CommunicationCompare", "allreduce", "lost")->u.i, 0);
    assert_string_equal(cell(&out, "CommunicationCompare", "allreduce", "group")->u.text,
                        "Group tp Communication");
    assert_string_equal(cell(&out, "CommunicationCompare", "allreduce", "group base")->u.text,
                        "tp");
    assert_int_equal(ps_result_table(&out, "CompareNotes")->n_rows, 0);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

/* Other ranks, but the same purpose; and of a job that says nothing types alone. */
static void else_by_purpose_else_by_type(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    compare_traces(
        with_group("tp", "Group tp Communication",
                   "{\"a\": {\"group_name\": \"tp\", \"global_ranks\": [0, 1, 2, 3]}}"),
        with_group("b", "tp", "{\"b\": {\"group_name\": \"tp\", \"global_ranks\": [0, 1]}}"), &base,
        &out);
    assert_int_equal(ps_result_table(&out, "CommunicationCompare")->n_rows, 1);
    ps_result_fini(&out);
    ps_result_fini(&base);

    compare_traces(with_group("0", "Group 0 Communication", NULL), with_group("b", "", NULL), &base,
                   &out);
    const ps_table *t = ps_result_table(&out, "CommunicationCompare");
    assert_int_equal(t->n_rows, 1);
    assert_string_equal(t->columns[1].name, "calls new");
    assert_int_equal(cell(&out, "CommunicationCompare", "allreduce", "lost")->u.i, 0);
    assert_int_equal(ps_result_table(&out, "CompareNotes")->n_rows, 1);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

static void steps_are_matched_by_their_order(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    compare_both(&base, &out);
    const ps_table *t = ps_result_table(&out, "StepCompare");
    assert_int_equal(t->n_rows, 2);
    assert_int_equal(ps_table_cell(t, 0, column_of(t, "step new"))->u.i, 7);
    assert_int_equal(ps_table_cell(t, 0, column_of(t, "step base"))->u.i, 1);
    assert_int_equal(ps_table_cell(t, 0, column_of(t, "lost"))->u.i, 50);
    assert_int_equal(ps_table_cell(t, 0, column_of(t, "in computing"))->u.i, 60 - 20);
    static const char *const PARTS[] = {"in computing", "not overlapped", "in free",
                                        "before the first work", "after the last work"};
    int64_t sum = 0;
    for (size_t i = 0; i < sizeof PARTS / sizeof *PARTS; i++) {
        sum += ps_table_cell(t, 0, column_of(t, PARTS[i]))->u.i;
    }
    assert_int_equal(sum, 50);
    assert_true(ps_table_cell(t, 1, column_of(t, "step new"))->is_null);
    assert_int_equal(ps_table_cell(t, 1, column_of(t, "base"))->u.i, 100);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

/* Of base the second step against the first one: mul 20 and 20, add 10 and none, the copy and all-reduce of the first one alone. */
static void of_a_step_counts_what_is_in_it(void **state) {
    (void)state;
    ps_trace *t = base_capture();
    ps_result base;
    ps_result out;
    assert_int_equal(run_step("capture_facts", t, 1, NULL, &base), PS_OK);
    assert_int_equal(run_step("compare", t, 2, &base, &out), PS_OK);
    assert_int_equal(cell(&out, "OverallCompare", "computing", "new")->u.i, 30);
    assert_int_equal(cell(&out, "OverallCompare", "computing", "base")->u.i, 20);
    assert_int_equal(cell(&out, "KernelCompare", "mul", "lost")->u.i, 0);
    assert_int_equal(cell(&out, "KernelCompare", "add", "lost")->u.i, 10);
    assert_int_equal(cell(&out, "CopyCompare", "MEMCPY", "lost")->u.i, -5);
    assert_int_equal(cell(&out, "CommunicationCompare", "allreduce", "lost")->u.i, -30);
    assert_int_equal(cell(&out, "OperatorCompare", "aten::add", "lost")->u.i, 10);
    assert_true(cell(&out, "OperatorHostCompare", "aten::copy_", "calls new")->u.r == 0);
    assert_true(cell(&out, "OperatorHostCompare", "aten::copy_", "calls base")->u.r == 1);
    const ps_table *steps = ps_result_table(&out, "StepCompare");
    assert_int_equal(steps->n_rows, 1);
    assert_int_equal(ps_table_cell(steps, 0, column_of(steps, "step new"))->u.i, 2);
    assert_int_equal(ps_table_cell(steps, 0, column_of(steps, "step base"))->u.i, 1);
    ps_result_fini(&out);
    ps_result_fini(&base);
    assert_int_equal(run_step("capture_facts", t, 3, NULL, &out), PS_NOTHING);
    ps_result_fini(&out);
    ps_trace_free(t);
}

/* Steps [0 100) and [100 200); device 0 works in the second only, device 1 in both. */
static ps_trace *two_devices(void) {
    capture c = new_capture();
    uint32_t other =
        ps_builder_track(c.b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 3, .device = 1});
    ps_builder_step(c.b, 1, 0, 100);
    ps_builder_step(c.b, 2, 100, 200);
    launched(&c, "aten::mul", 1, PS_SLICE_KERNEL, other, "mul", 10, 30);
    launched(&c, "aten::mul", 101, PS_SLICE_KERNEL, c.stream, "mul", 110, 140);
    launched(&c, "aten::mul", 103, PS_SLICE_KERNEL, other, "mul", 110, 150);
    return sealed(&c);
}

/* As in report: a step is that of one device; what the host does is divided by the steps of the rank. */
static void a_step_of_several_devices(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    ps_trace *t = two_devices();
    assert_int_equal(run_one("capture_facts", t, NULL, &base), PS_OK);
    assert_int_equal(run_one("compare", t, &base, &out), PS_OK);
    assert_int_equal(cell(&out, "OverallCompare", "step", "new")->u.i, 100);
    assert_int_equal(cell(&out, "OverallCompare", "computing", "new")->u.i, (20 + 30 + 40) / 3);
    assert_int_equal(cell(&out, "OperatorCompare", "aten::mul", "new")->u.i, (20 + 30 + 40) / 3);
    assert_true(cell(&out, "OperatorCompare", "aten::mul", "calls new")->u.r == 1.5);
    assert_true(cell(&out, "KernelCompare", "mul", "calls new")->u.r == 1);
    assert_true(cell(&out, "OperatorHostCompare", "aten::mul", "calls new")->u.r == 1.5);
    const ps_table *steps = ps_result_table(&out, "StepCompare");
    assert_int_equal(steps->n_rows, 2);
    for (size_t i = 0; i < 2; i++) { /* by the rank's steps, though device 0 has no first one */
        assert_int_equal(ps_table_cell(steps, i, column_of(steps, "step new"))->u.i, i + 1);
    }
    ps_trace_free(t);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

static void without_a_device_or_a_baseline_there_is_nothing(void **state) {
    (void)state;
    capture c = new_capture();
    ps_builder_slice(c.b, PS_SLICE_HOST_OP, c.thread, text(&c, "aten::mul"), 0, 5, 0);
    ps_trace *host_only = sealed(&c);
    ps_trace *now = new_one();
    ps_result out;
    assert_int_equal(run_one("capture_facts", host_only, NULL, &out), PS_NOTHING);
    ps_result_fini(&out);
    assert_int_equal(run_one("compare", now, NULL, &out), PS_NOTHING);
    ps_result_fini(&out);
    ps_trace_free(host_only);
    ps_trace_free(now);
}

static void kinds_of_work_are_told_by_names(void **state) {
    (void)state;
    assert_string_equal(ps_kernel_part("FlashAttentionScore", "x"), "attention");
    assert_string_equal(ps_kernel_part("FlashAttentionScoreGrad", "x"), "attention backward");
    assert_string_equal(ps_kernel_part("Conv2DBackpropFilter", "x"), "convolution");
    assert_string_equal(ps_kernel_part("", "ampere_sgemm_128x64_nn"), "matrix products");
    assert_string_equal(ps_kernel_part("TransData", "trans_TransData_9"), "moving data");
    assert_string_equal(ps_kernel_part("Mul", "Mul5"), "other vector work");
    assert_string_equal(ps_kernel_part("", "split_embedding_backward_codegen"), "embedding");
    /* What stands before the last part of such a name is who called the kernel. */
    assert_string_equal(ps_kernel_part("", "Conv2DBackpropFilter6_MemSet"), "moving data");
    assert_string_equal(ps_kernel_part("", "Conv2DBackpropFilter6"), "convolution");
    assert_string_equal(ps_kernel_part("", "aclnnMm_MatMulCommon_MemSet"), "moving data");
    assert_string_equal(ps_kernel_part("", "aclnnMm_MatMulCommon_MatMulV2"), "matrix products");
    assert_string_equal(ps_kernel_part("", "aclnnConvolutionBackward_Mul_Mul_3"),
                        "other vector work");
    assert_string_equal(ps_kernel_part("TransData", "aclnnConvolutionBackward_X_TransData"),
                        "moving data");
}

static void text_and_json_hold_what_the_tables_do(void **state) {
    (void)state;
    ps_result base;
    ps_result out;
    compare_both(&base, &out);
    ps_comparison c = {
        .new_name = "new", .base_name = "base", .tables = out.tables, .n_tables = out.n_tables};
    ps_text_style style = {.width = 100, .utf8 = false};
    ps_buf buf;
    ps_buf_init(&buf, 0);
    assert_int_equal(ps_write_comparison_text(&c, 1, &style, &buf, NULL), PS_OK);
    assert_non_null(
        strstr(ps_buf_str(&buf), "A step takes 50 ns longer: 150 ns instead of 100 ns"));
    assert_non_null(strstr(ps_buf_str(&buf), "kernels by name and shapes: what gained time"));
    ps_buf_fini(&buf);
    ps_buf_init(&buf, 0);
    assert_int_equal(ps_write_comparison_json(&c, &buf, NULL), PS_OK);
    assert_non_null(
        strstr(ps_buf_str(&buf), "\"OverallCompare\": [\n {\"part of a step\": \"step\""));
    ps_buf_fini(&buf);
    ps_result_fini(&out);
    ps_result_fini(&base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_steps_time_is_split_per_step_and_rank),
        cmocka_unit_test(names_are_joined_and_the_largest_loss_comes_first),
        cmocka_unit_test(collectives_of_two_makers_have_one_name),
        cmocka_unit_test(communicators_are_matched_by_what_they_are_for),
        cmocka_unit_test(else_by_purpose_else_by_type),
        cmocka_unit_test(steps_are_matched_by_their_order),
        cmocka_unit_test(of_a_step_counts_what_is_in_it),
        cmocka_unit_test(a_step_of_several_devices),
        cmocka_unit_test(without_a_device_or_a_baseline_there_is_nothing),
        cmocka_unit_test(kinds_of_work_are_told_by_names),
        cmocka_unit_test(text_and_json_hold_what_the_tables_do),
    };
    return cmocka_run_group_tests_name("compare", tests, NULL, NULL);
}

/* Work of a device that no op explains is no bubble; parts of passes become ops. */
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/device_work.h"
#include "analyze/pipeline/host_parts.h"
#include "analyze/pipeline/unmarked.h"
#include "base/alloc.h"
#include "support/small_runs.h"
#include "write/chart/chart_json.h"
#include "write/chart/chart_rows.h"
#include "write/out/writers.h"

/* --- the work of a device ---------------------------------------------------------------------------------------- */

/* Kernels 100..200 and 150..250 are work, an all-to-all 240..300 too; the receive 300..400 waits for the other stage. */
static void work_is_no_waiting(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_KERNEL, stream, "a", 100, 200);
    small_slice(b, PS_SLICE_KERNEL, stream, "b", 150, 250);
    uint32_t both =
        small_slice(b, PS_SLICE_COMM_KERNEL, stream, "ncclDevKernel_SendRecv", 240, 300);
    small_arg(b, both, "Collective name", "all_to_allv");
    uint32_t receive =
        small_slice(b, PS_SLICE_COMM_KERNEL, stream, "ncclDevKernel_SendRecv", 300, 400);
    small_arg(b, receive, "Collective name", "recv");
    ps_trace *t = small_seal(b);
    ps_intervals work = {0};
    assert_int_equal(ps_device_work_collect(t, &work, NULL), PS_OK);
    assert_int_equal(work.n, 1);
    assert_int_equal(work.at[0].start_ns, SMALL_EPOCH_NS + 100);
    assert_int_equal(work.at[0].end_ns, SMALL_EPOCH_NS + 300);
    ps_intervals_fini(&work);
    ps_trace_free(t);
}

/* Work 0..100 and 150..200; ops 50..170 and 60..160 (inside of the first), then 190..300. The first explains 50 + 20, the
 * second nothing more, the third 10. In no op: 0..50 and 170..190. */
static void each_moment_is_explained_once(void **state) {
    (void)state;
    ps_intervals work = {0};
    ps_intervals rest = {0};
    ps_explaining e;
    int64_t ns[3];
    assert_true(ps_intervals_add(&work, 0, 100) && ps_intervals_add(&work, 150, 200));
    ps_explaining_init(&e, &work);
    assert_true(ps_explain_op(&e, 50, 170, &ns[0]) && ps_explain_op(&e, 60, 160, &ns[1]) &&
                ps_explain_op(&e, 190, 300, &ns[2]));
    assert_true(ps_explaining_rest(&e, &rest));
    assert_int_equal(ns[0], 70);
    assert_int_equal(ns[1], 0);
    assert_int_equal(ns[2], 10);
    assert_int_equal(rest.n, 2);
    assert_int_equal(ps_intervals_length_ns(&rest), 70);
    assert_int_equal(rest.at[1].start_ns, 170);
    ps_intervals_fini(&work);
    ps_intervals_fini(&rest);
}

/* --- bubbles ------------------------------------------------------------------------------------------------------ */

static void add_op(ps_chart *c, uint32_t rank, ps_op_kind kind, int64_t start_ns, int64_t end_ns) {
    assert_true(ps_chart_add_op(c, (ps_op){.start_ns = start_ns,
                                           .end_ns = end_ns,
                                           .work_ns = end_ns - start_ns,
                                           .name = "",
                                           .rank = rank,
                                           .microbatch = -1,
                                           .microbatch2 = -1,
                                           .chunk = -1,
                                           .chunk2 = -1,
                                           .phase = -1,
                                           .kind = (uint8_t)kind}));
}

/* Two pipelines of two stages. Rank 0: ops 0..100 and 200..300, the device works 110..130 beside them. Its step is 0..400 (rank 1
 * ends then): busy 200, other 20, idle 10 + 70 in the middle and 100 at the end. Rank 3 works 60 of 160 in no op: 37.5 %. */
static ps_chart *two_pipelines(void) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    for (int32_t r = 0; r < 4; r++) {
        assert_true(ps_chart_add_rank(
            c, (ps_chart_rank){.rank = r, .stage = r % 2, .pipeline = r / 2, .has_work = true}));
        add_op(c, (uint32_t)r, PS_OP_F, r % 2 == 0 ? 0 : 100, r % 2 == 0 ? 100 : 150);
        add_op(c, (uint32_t)r, PS_OP_B, r % 2 == 0 ? 200 : 350, r % 2 == 0 ? 300 : 400);
    }
    assert_true(ps_chart_add_work(c, (ps_chart_work){110, 130, 0}));
    assert_true(ps_chart_add_work(c, (ps_chart_work){200, 260, 3}));
    assert_true(ps_chart_add_work(c, (ps_chart_work){500, 600, 3})); /* behind the step */
    return c;
}

static void other_work_is_no_bubble(void **state) {
    (void)state;
    ps_chart *c = two_pipelines();
    ps_bubble_report r;
    double share = 0;
    assert_int_equal(ps_bubble_measure(c, &(ps_bubble_limits){40, 2, false, NULL}, &r, NULL),
                     PS_OK);
    assert_int_equal(r.n_stages, 4);
    const ps_stage_bubble *s = &r.stages[0];
    assert_int_equal(s->busy_ns, 200);
    assert_int_equal(s->other_ns, 20);
    assert_int_equal(s->warmup_ns, 0);
    assert_int_equal(s->stall_ns, 80);
    assert_int_equal(s->cooldown_ns, 100);
    for (size_t i = 0; i < r.n_stages; i++) {
        s = &r.stages[i];
        assert_int_equal(s->busy_ns + s->other_ns + s->bubble_ns, s->step_ns);
        assert_int_equal(s->warmup_ns + s->stall_ns + s->cooldown_ns, s->bubble_ns);
        assert_true(s->is_judged);
    }
    /* Where it was: what lies behind the step is none of it. */
    assert_int_equal(c->n_others, 2);
    assert_int_equal(c->others[0].start_ns, 110);
    assert_int_equal(c->others[0].end_ns, 130);
    assert_int_equal(c->others[1].rank, 3);
    assert_int_equal(c->others[1].start_ns, 200);
    assert_int_equal(c->others[1].end_ns, 260);
    assert_int_equal(c->others[1].end_ns - c->others[1].start_ns, c->figures[3].other_ns);
    assert_int_equal(c->n_path, 0); /* nobody knows which op needs what */
    assert_string_equal(c->unjudged, "");
    assert_int_equal(ps_chart_bubble(c, 0, 0, &share), PS_BUBBLE_TOLD);
    assert_float_equal(share, (180.0 + 300.0) / 800.0, 1e-9);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

static void too_much_is_unexplained(void **state) {
    (void)state;
    ps_chart *c = two_pipelines();
    ps_bubble_report r;
    double share = 0;
    assert_int_equal(ps_bubble_measure(c, &(ps_bubble_limits){20, 2, false, NULL}, &r, NULL),
                     PS_OK);
    assert_int_equal(r.stages[3].work_ns, 160);
    assert_non_null(strstr(c->unjudged, "of 1 of 2 pipelines: 37.5 %"));
    assert_non_null(strstr(c->unjudged, "rank 3"));
    assert_int_equal(ps_chart_bubble(c, 0, 0, &share), PS_BUBBLE_TOLD);
    assert_int_equal(ps_chart_bubble(c, 0, 1, &share), PS_BUBBLE_UNTOLD);
    assert_true(r.stages[0].is_judged && r.stages[1].is_judged);
    assert_false(r.stages[2].is_judged || r.stages[3].is_judged);
    for (size_t i = 0; i < c->n_bubbles; i++) {
        assert_true(c->bubbles[i].rank < 2);
    }
    ps_table *t = ps_bubble_stage_table(c, &r);
    assert_non_null(t);
    assert_true(ps_table_cell(t, 3, ps_table_column(t, "bubble"))->is_null);
    assert_int_equal(ps_table_cell(t, 3, ps_table_column(t, "other work"))->u.i, 60);
    assert_int_equal(ps_table_cell(t, 2, ps_table_column(t, "pipeline"))->u.i, 1);
    ps_table_free(t);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* What is drawn has the same parts: of the 400 of stage 0 are 200 busy, 20 other work, 180 idle. */
static void other_work_is_drawn(void **state) {
    (void)state;
    ps_chart *c = two_pipelines();
    ps_bubble_report r;
    ps_rows rows;
    ps_err err = PS_ERR_INIT;
    ps_buf out = {0};
    assert_int_equal(ps_bubble_measure(c, &(ps_bubble_limits){40, 2, false, NULL}, &r, NULL),
                     PS_OK);
    assert_int_equal(ps_rows_make(c, 0, 0, &rows, &err), PS_OK);
    const ps_row *row = &rows.rows[0];
    assert_true(rows.has_others);
    assert_int_equal(row->others.n, 1);
    assert_int_equal(row->others.at[0].start_ns, 110);
    assert_int_equal(row->other_ns, 20);
    assert_int_equal(row->busy_ns + row->other_ns + row->cause_ns[PS_BUBBLE_STALL] +
                         row->cause_ns[PS_BUBBLE_COOLDOWN],
                     rows.span_ns);
    ps_rows_fini(&rows);

    /* 40 cells of 10 ns: two of them show it, and the legend says what they are. */
    const ps_chart_text_opts text = {.style = {.width = 64}, .step = PS_FIRST_STEP, .pipeline = 0};
    assert_int_equal(ps_write_chart_text(c, &text, &out, &err), PS_OK);
    assert_non_null(strstr(ps_buf_str(&out), "__"));
    assert_non_null(strstr(ps_buf_str(&out), "other work"));
    ps_buf_clear(&out);
    assert_int_equal(ps_write_chart_json(c, NULL, &out, &err), PS_OK);
    assert_non_null(strstr(ps_buf_str(&out), "\"other_work\":[\n{\"rank\":0,\"stage\":0,\"step\":0,"
                                             "\"start_ns\":110,\"end_ns\":130},"));
    ps_buf_fini(&out);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* --- ops without marks -------------------------------------------------------------------------------------------- */

static void add_pass(ps_chart *c, uint32_t rank, ps_op_kind kind, int32_t microbatch,
                     int64_t start_ns, int64_t end_ns) {
    add_op(c, rank, kind, start_ns, end_ns);
    c->ops[c->n_ops - 1].chunk = 0;
    c->ops[c->n_ops - 1].microbatch = microbatch;
    c->ops[c->n_ops - 1].step = 1;
}

/* 1F1B of two stages and two microbatches, F 10, B 20: the step takes 90. Of stage 1, which is busy 10..70, the mark of its second
 * forward (40..50) was lost: of its bubble of 40 a forward's 10 may be no bubble, which is 10 of the 180 of both stages. */
static ps_chart *without_a_mark(bool has_work) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    for (int32_t r = 0; r < 2; r++) {
        assert_true(
            ps_chart_add_rank(c, (ps_chart_rank){.rank = r, .stage = r, .has_work = has_work}));
    }
    add_pass(c, 0, PS_OP_F, 0, 0, 10);
    add_pass(c, 0, PS_OP_F, 1, 10, 20);
    add_pass(c, 0, PS_OP_B, 0, 40, 60);
    add_pass(c, 0, PS_OP_B, 1, 70, 90);
    add_pass(c, 1, PS_OP_F, 0, 10, 20);
    add_pass(c, 1, PS_OP_B, 0, 20, 40);
    add_pass(c, 1, PS_OP_B, 1, 50, 70);
    return c;
}

static void ops_without_marks_may_be_in_the_bubble(void **state) {
    (void)state;
    const ps_recognised run = {.schedule = ps_schedule_find("1f1b"),
                               .params = {.n_stages = 2, .n_microbatches = 2}};
    for (int has_work = 0; has_work < 2; has_work++) {
        ps_chart *c = without_a_mark(has_work == 1);
        ps_bubble_report r;
        ps_err err = PS_ERR_INIT;
        assert_int_equal(ps_bubble_measure(c, NULL, &r, NULL), PS_OK);
        assert_int_equal(r.stages[1].bubble_ns, 40);
        assert_int_equal(ps_unmarked_measure(c, &run, &r, &err), PS_OK);
        assert_int_equal(r.stages[0].unmarked_ns, 0);
        assert_int_equal(r.stages[1].unmarked_ns, has_work == 1 ? 0 : 10);
        assert_float_equal(ps_chart_unmarked(c, 1, 0), has_work == 1 ? 0 : 10.0 / 180, 1e-9);
        ps_table *t = ps_bubble_stage_table(c, &r);
        assert_non_null(t);
        assert_true((ps_table_column(t, "without marks") < t->n_columns) == (has_work == 0));
        ps_table_free(t);
        ps_bubble_report_fini(&r);
        ps_chart_free(c);
    }
}

/* The same with its mark, and links of the results: the step ends with B1 of stage 0 (70..90), which needed B1 of stage 1 (50..70), behind F1
 * (40..50) and B0 (20..40) there, which began when F0 had ended; that came from F0 of stage 0. */
static void path_leads_back_through_what_was_needed(void **state) {
    (void)state;
    static const uint32_t PATH[] = {3, 7, 6, 5, 4, 0};
    ps_chart *c = without_a_mark(false);
    ps_bubble_report r;
    add_pass(c, 1, PS_OP_F, 1, 40, 50);
    const ps_op last = c->ops[7];
    c->ops[7] = c->ops[6];
    c->ops[6] = last; /* in start order */
    assert_true(ps_chart_add_link(c, (ps_chart_link){.from = 0, .to = 4}));
    assert_true(ps_chart_add_link(c, (ps_chart_link){.from = 1, .to = 6}));
    assert_true(ps_chart_add_link(c, (ps_chart_link){.from = 5, .to = 2}));
    assert_true(ps_chart_add_link(c, (ps_chart_link){.from = 7, .to = 3}));
    assert_int_equal(ps_bubble_measure(c, NULL, &r, NULL), PS_OK);
    assert_int_equal(c->n_path, sizeof PATH / sizeof *PATH);
    assert_memory_equal(c->path, PATH, sizeof PATH);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* --- parts ---------------------------------------------------------------------------------------------------------- */

static void names_of_parts(void **state) {
    (void)state;
    static const char *const NO[] = {"(F)",     "attn",     "attn(f)", "attn(FB)",
                                     "f(x)(F)", "attn(F) ", "a(G)"};
    ps_op_kind kind = PS_OP_OTHER;
    assert_true(ps_host_part_parse("attn(F)", &kind) && kind == PS_OP_F);
    assert_true(ps_host_part_parse("dispatch(B)", &kind) && kind == PS_OP_B);
    assert_true(ps_host_part_parse("mlp(W)", &kind) && kind == PS_OP_BW);
    for (size_t i = 0; i < sizeof NO / sizeof *NO; i++) {
        assert_false(ps_host_part_parse(NO[i], &kind));
    }
}

/* Thread 1: "pair" holds attn(F), mlp(B) and, in a range of its own, mlp(W): one overlapped pair. Then, in no range, attn(F)
 * and mlp(F), a forward, then mlp(B) and mlp(W), a backward. Thread 2: "late" holds only mlp(W). */
static void ops_of_parts(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = small_thread(b, 1);
    uint32_t two = small_thread(b, 2);
    small_slice(b, PS_SLICE_ANNOTATION, one, "pair", 0, 100);
    small_slice(b, PS_SLICE_ANNOTATION, one, "attn(F)", 10, 20);
    small_slice(b, PS_SLICE_ANNOTATION, one, "mlp(B)", 30, 40);
    small_slice(b, PS_SLICE_ANNOTATION, one, "inner", 50, 90);
    small_slice(b, PS_SLICE_ANNOTATION, one, "mlp(W)", 60, 70);
    small_slice(b, PS_SLICE_ANNOTATION, one, "attn(F)", 110, 120);
    small_slice(b, PS_SLICE_ANNOTATION, one, "mlp(F)", 130, 140);
    small_slice(b, PS_SLICE_ANNOTATION, one, "mlp(B)", 150, 160);
    small_slice(b, PS_SLICE_ANNOTATION, one, "mlp(W)", 160, 170);
    small_slice(b, PS_SLICE_ANNOTATION, two, "late", 200, 300);
    small_slice(b, PS_SLICE_ANNOTATION, two, "mlp(W)", 210, 220);
    small_slice(b, PS_SLICE_HOST_OP, two, "attn(F)", 230, 240); /* an operator is no range */
    ps_trace *t = small_seal(b);
    ps_host_parts parts;
    ps_host_ranges ops = {.family = PS_N_FAMILIES};
    assert_true(ps_host_parts_collect(t, &parts));
    assert_int_equal(parts.n, 8);
    assert_true(ps_host_parts_ops(t, &parts, &ops));
    assert_int_equal(ops.family, PS_FAMILY_PART);
    static const struct {
        int64_t start_ns, end_ns;
        ps_op_kind kind;
    } WANTED[] = {
        {0, 100, PS_OP_FB}, {110, 140, PS_OP_F}, {150, 170, PS_OP_B}, {200, 300, PS_OP_BW}};
    assert_int_equal(ops.n, sizeof WANTED / sizeof *WANTED);
    for (size_t i = 0; i < ops.n; i++) {
        assert_int_equal(ops.ranges[i].start_ns, WANTED[i].start_ns);
        assert_int_equal(ops.ranges[i].end_ns, WANTED[i].end_ns);
        assert_int_equal(ops.ranges[i].label.kind, WANTED[i].kind);
        assert_int_equal(ops.ranges[i].label.microbatch, -1);
    }
    ps_host_ranges_fini(&ops);
    ps_host_parts_fini(&parts);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_no_waiting),
        cmocka_unit_test(each_moment_is_explained_once),
        cmocka_unit_test(other_work_is_no_bubble),
        cmocka_unit_test(too_much_is_unexplained),
        cmocka_unit_test(other_work_is_drawn),
        cmocka_unit_test(ops_without_marks_may_be_in_the_bubble),
        cmocka_unit_test(path_leads_back_through_what_was_needed),
        cmocka_unit_test(names_of_parts),
        cmocka_unit_test(ops_of_parts),
    };
    return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}

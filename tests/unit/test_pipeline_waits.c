/* What stages do around their passes, and which pipeline of a job the others wait for. Two pipelines of two stages, one step; in us:
 *
 *   pipeline 0   stage 0   F 0-10              B 50-70   optimizer 200-210
 *                stage 1            F 10-20, B 20-50     optimizer 200-210
 *   pipeline 1   stage 0   F 0-40                        B 160-190  optimizer 200-210
 *                stage 1            F 40-100, B 100-160             optimizer 200-210
 *
 * Pipeline 0 ends its last pass at 70, pipeline 1 at 190; both optimisers wait until the gradients have met at 200. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/pipeline_waits.h"

#define US 1000

static void add_waits_op(ps_chart *c, uint32_t rank, ps_op_kind kind, int64_t from_us,
                         int64_t to_us) {
    assert_true(ps_chart_add_op(c, (ps_op){.start_ns = from_us * US,
                                           .end_ns = to_us * US,
                                           .step = 1,
                                           .rank = rank,
                                           .kind = (uint8_t)kind,
                                           .microbatch = kind == PS_OP_OTHER ? -1 : 0,
                                           .microbatch2 = -1,
                                           .chunk = kind == PS_OP_OTHER ? -1 : 0,
                                           .chunk2 = -1,
                                           .phase = -1,
                                           .name = "op"}));
}

static ps_chart *two_pipelines(void) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    for (int32_t r = 0; r < 4; r++) {
        assert_true(
            ps_chart_add_rank(c, (ps_chart_rank){.rank = r, .stage = r % 2, .pipeline = r / 2}));
    }
    const int64_t passes[4][4] = {
        {0, 10, 50, 70}, {10, 20, 20, 50}, {0, 40, 160, 190}, {40, 100, 100, 160}};
    for (uint32_t r = 0; r < 4; r++) {
        add_waits_op(c, r, PS_OP_F, passes[r][0], passes[r][1]);
        add_waits_op(c, r, PS_OP_B, passes[r][2], passes[r][3]);
        add_waits_op(c, r, PS_OP_OTHER, 200, 210);
    }
    return c;
}

/* The wait for the optimiser is cool-down, and no stall: stage 0 of pipeline 0 stalls from 10 to 50, and cools down from 70 to 200. Its
 * own window is 0 to 70. */
static void the_optimiser_is_no_pass(void **state) {
    (void)state;
    ps_chart *c = two_pipelines();
    ps_bubble_report r;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_bubble_measure(c, NULL, &r, &err), PS_OK);
    assert_int_equal(r.n_stages, 4);
    const int64_t want[4][3] = {{0, 40, 130}, {10, 0, 150}, {0, 120, 10}, {40, 0, 40}};
    for (size_t i = 0; i < 4; i++) {
        const ps_stage_bubble *s = &r.stages[i];
        assert_int_equal(s->warmup_ns, want[i][0] * US);
        assert_int_equal(s->stall_ns, want[i][1] * US);
        assert_int_equal(s->cooldown_ns, want[i][2] * US);
        assert_int_equal(s->bubble_ns, (want[i][0] + want[i][1] + want[i][2]) * US);
        assert_int_equal(s->bubble_ns + s->busy_ns, 210 * US);
    }
    assert_int_equal(r.stages[0].last_ns - r.stages[0].first_ns, 70 * US);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* Of the cool-down of pipeline 0, 70 to 190 on both stages is for pipeline 1: 240. From 190 on nobody computes. */
static void one_pipeline_waits_for_the_other(void **state) {
    (void)state;
    ps_chart *c = two_pipelines();
    ps_bubble_report r;
    ps_pipeline_waits w;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_bubble_measure(c, NULL, &r, &err), PS_OK);
    assert_true(ps_pipeline_waits_find(c, &w));
    assert_int_equal(w.n, 2);
    assert_int_equal(w.at[0].end_ns, 70 * US);
    assert_int_equal(w.at[0].idle_ns, 240 * US);
    assert_int_equal(w.at[1].idle_ns, 0);
    assert_int_equal(w.last_pipeline, 1);
    assert_int_equal(w.n_last, 1);
    assert_int_equal(w.n_steps, 1);
    ps_pipeline_waits_fini(&w);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* Gradients that are gathered before the first forward, at 0 to 5, with the forward at 20: the wait between is warm-up. */
static void what_comes_first_is_no_pass(void **state) {
    (void)state;
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = 0, .stage = 0, .pipeline = 0}));
    add_waits_op(c, 0, PS_OP_OTHER, 0, 5);
    add_waits_op(c, 0, PS_OP_F, 20, 30);
    add_waits_op(c, 0, PS_OP_B, 40, 60);
    ps_bubble_report r;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_bubble_measure(c, NULL, &r, &err), PS_OK);
    assert_int_equal(r.stages[0].warmup_ns, 15 * US);
    assert_int_equal(r.stages[0].stall_ns, 10 * US);
    assert_int_equal(r.stages[0].cooldown_ns, 0);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

/* A forward from 0 to 100 beside a backward from 50 to 150, a pair from 200 to 260, and a forward that a backward overlaps by a twentieth,
 * which is a difference of clocks: of 350 busy are 50 + 60 overlapped. */
static void a_forward_runs_beside_a_backward(void **state) {
    (void)state;
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    assert_true(ps_chart_add_rank(c, (ps_chart_rank){.rank = 0, .stage = 0, .pipeline = 0}));
    add_waits_op(c, 0, PS_OP_F, 0, 100);
    add_waits_op(c, 0, PS_OP_B, 50, 150);
    add_waits_op(c, 0, PS_OP_FB, 200, 260);
    add_waits_op(c, 0, PS_OP_F, 300, 400);
    add_waits_op(c, 0, PS_OP_BI, 398, 440);
    ps_bubble_report r;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_bubble_measure(c, NULL, &r, &err), PS_OK);
    assert_int_equal(r.stages[0].busy_ns, 350 * US);
    assert_int_equal(r.stages[0].overlapped_ns, (50 + 60) * US);
    assert_int_equal(c->figures[0].overlapped_ns, r.stages[0].overlapped_ns);
    ps_bubble_report_fini(&r);
    ps_chart_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_optimiser_is_no_pass),
        cmocka_unit_test(one_pipeline_waits_for_the_other),
        cmocka_unit_test(what_comes_first_is_no_pass),
        cmocka_unit_test(a_forward_runs_beside_a_backward),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

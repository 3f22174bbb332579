/* Pipelines that are alike as one: which are shown, for how many, what of the chart belongs to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "model/chart_subset.h"
#include "write/chart/chart_alike.h"
#include "write/chart/chart_html.h"
#include "write/chart/chart_pack.h"
#include "write/out/writers.h"

enum { STAGES = 5, PIPELINES = 16, STEPS = 2 };

/* Rank = stage * 16 + pipeline; an op of 100 + pipeline us in each step, each stage waits for the one before it. Stage 2 of pipeline 3 takes
 * 400 us, in step 2 only. */
static ps_chart *many_chart(void) {
    ps_chart *c = ps_chart_new();
    assert_non_null(c);
    for (int32_t r = 0; r < STAGES * PIPELINES; r++) {
        ps_chart_rank rank = {.rank = r, .stage = r / PIPELINES, .pipeline = r % PIPELINES};
        assert_true(ps_chart_add_rank(c, rank));
        for (int64_t step = 1; step <= STEPS; step++) {
            bool is_slow = rank.stage == 2 && rank.pipeline == 3 && step == 2;
            int64_t took_ns = is_slow ? 400000 : 100000 + 100 * rank.pipeline;
            int64_t start_ns = step * 1000000 + rank.stage * 10000;
            uint32_t op = (uint32_t)c->n_ops;
            uint32_t before = rank.stage > 0 ? op - PIPELINES * STEPS : PS_NO_INDEX;
            ps_op made = {.start_ns = start_ns,
                          .end_ns = start_ns + took_ns,
                          .step = step,
                          .name = "0F",
                          .rank = (uint32_t)r,
                          .phase = -1};
            ps_bubble bubble = {.start_ns = step * 1000000,
                                .end_ns = start_ns,
                                .step = step,
                                .rank = (uint32_t)r,
                                .waits_for = before};
            ps_chart_figure figure = {.step = step,
                                      .rank = (uint32_t)r,
                                      .step_ns = 500000,
                                      .busy_ns = took_ns,
                                      .bubble_ns = bubble.end_ns - bubble.start_ns,
                                      .is_judged = true};
            assert_true(ps_chart_add_op(c, made));
            assert_true(ps_chart_add_bubble(c, bubble));
            assert_true(ps_chart_add_figure(c, figure));
            assert_true(ps_chart_add_path(c, op));
            assert_true(before == PS_NO_INDEX || ps_chart_add_link(c, (ps_chart_link){before, op}));
        }
    }
    assert_true(ps_chart_add_part(c, (ps_chart_part){.name = "attn", .op = 3 * STEPS}));
    assert_true(ps_chart_add_part(c, (ps_chart_part){.name = "attn", .op = 4 * STEPS}));
    return c;
}

static void what_is_alike_is_shown_once(void **state) {
    (void)state;
    ps_chart *c = many_chart();
    ps_chart_alike alike;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_alike_find(c, 0, &alike, &err), PS_OK);
    assert_int_equal(alike.n_shown, 2);
    assert_int_equal(alike.n_pipelines, PIPELINES);
    assert_int_equal(alike.n_left_out, 0);
    assert_string_equal(alike.pipelines[0].members, "0-2, 4-15");
    assert_int_equal(alike.pipelines[0].n, 15);
    assert_string_equal(alike.pipelines[1].members, "3");
    for (int i = 0; i < PIPELINES; i++) {
        assert_int_equal(alike.shown_for[i], i == 3 ? 3 : 0);
    }
    const ps_chart *few = alike.chart;
    assert_int_equal(few->n_ranks, 2 * STAGES);
    assert_int_equal(few->n_ops, 2 * STAGES * STEPS);
    assert_int_equal(few->n_path, few->n_ops);
    assert_int_equal(few->n_links, 2 * (STAGES - 1) * STEPS);
    assert_int_equal(few->n_parts, 1); /* that of pipeline 3 */
    for (size_t i = 0; i < few->n_links; i++) {
        const ps_chart_rank *from = &few->ranks[few->ops[few->links[i].from].rank];
        const ps_chart_rank *to = &few->ranks[few->ops[few->links[i].to].rank];
        assert_int_equal(from->pipeline, to->pipeline);
        assert_int_equal(from->stage + 1, to->stage);
    }
    for (size_t i = 0; i < few->n_bubbles; i++) {
        const ps_chart_rank *rank = &few->ranks[few->bubbles[i].rank];
        uint32_t op = few->bubbles[i].waits_for;
        assert_true(op == PS_NO_INDEX ? rank->stage == 0
                                      : few->ranks[few->ops[op].rank].pipeline == rank->pipeline);
    }
    ps_chart_alike_fini(&alike);
    ps_chart_free(c);
}

static void what_is_asked_for_is_shown(void **state) {
    (void)state;
    ps_chart *c = many_chart();
    ps_chart_alike alike;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_alike_find(c, 7, &alike, &err), PS_OK);
    assert_int_equal(alike.pipelines[0].pipeline, 7);
    assert_int_equal(alike.n_shown, 2);
    ps_chart_alike_fini(&alike);
    ps_chart_free(c);
}

/* Pipelines 0 and 5 waited a millisecond more, in different steps of which nothing else is known. */
static void waits_of_different_steps_are_different(void **state) {
    (void)state;
    ps_chart *c = many_chart();
    for (int32_t pipeline = 0; pipeline <= 5; pipeline += 5) {
        assert_true(ps_chart_add_bubble(c, (ps_bubble){.start_ns = 0,
                                                       .end_ns = 1000000,
                                                       .step = 90 + pipeline,
                                                       .rank = (uint32_t)pipeline,
                                                       .waits_for = PS_NO_INDEX}));
    }
    ps_chart_alike alike;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_chart_alike_find(c, 0, &alike, &err), PS_OK);
    assert_int_equal(alike.n_shown, 4);
    assert_int_equal(alike.pipelines[1].n, 13); /* of the rest only 3 is apart */
    ps_chart_alike_fini(&alike);
    ps_chart_free(c);
}

static size_t page_of(const ps_chart *c, bool every_rank, const char *has) {
    ps_buf out = {0};
    ps_err err = PS_ERR_INIT;
    ps_chart_html_opts opts = {.step = PS_FIRST_STEP, .pipeline = -1, .every_rank = every_rank};
    assert_int_equal(ps_write_chart_html(c, NULL, NULL, 0, &opts, &out, &err), PS_OK);
    size_t found = strstr(ps_buf_str(&out), has) != NULL;
    ps_buf_fini(&out);
    return found;
}

static void pages_of_few_ranks_have_all(void **state) {
    (void)state;
    ps_chart *c = many_chart();
    assert_true(page_of(c, false, "\"alike\":{\"near\":0.05,\"ranks\":80,\"pipelines\":16,"));
    assert_false(page_of(c, true, "\"alike\":"));
    bool kept[STAGES * PIPELINES];
    for (size_t r = 0; r < STAGES * PIPELINES; r++) {
        kept[r] = r % PIPELINES < PS_ALIKE_RANKS / STAGES;
    }
    ps_chart *few = ps_chart_subset(c, kept);
    assert_non_null(few);
    assert_false(page_of(few, false, "\"alike\":"));
    ps_chart_free(few);
    ps_chart_free(c);
}

static void memory_runs_out(void **state) {
    (void)state;
    ps_chart *c = many_chart();
    for (int64_t n = 0;; n++) {
        ps_buf out = {0};
        ps_json j = ps_json_to(&out);
        ps_chart_alike alike;
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_chart_alike_find(c, 0, &alike, &err);
        ps_json_object(&j);
        if (code == PS_OK && alike.chart != NULL) {
            code = ps_chart_alike_put(&alike, c, &j, &err);
        }
        int64_t made = ps_alloc_fail_at(-1);
        assert_true(code == PS_OK || code == PS_NOMEM);
        ps_chart_alike_fini(&alike);
        ps_buf_fini(&out);
        if (made <= n) {
            break;
        }
    }
    ps_chart_free(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_alike_is_shown_once),
        cmocka_unit_test(what_is_asked_for_is_shown),
        cmocka_unit_test(waits_of_different_steps_are_different),
        cmocka_unit_test(pages_of_few_ranks_have_all),
        cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

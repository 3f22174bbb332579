/* Stages of ranks: by sizes, by their pipeline group, by groups that share ranks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/pipeline/stage_groups.h"
#include "base/alloc.h"

#define GROUP(comm, purpose, place, n, first)                                                      \
    (ps_group_fact) {                                                                              \
        .comm_name = (comm), .group_name = (purpose), .group_rank = (place), .n_ranks = (n),       \
        .first_rank = (first)                                                                      \
    }

static void expect(ps_indices x, int64_t dp, int64_t pp, int64_t tp) {
    assert_int_equal(x.dp, dp);
    assert_int_equal(x.pp, pp);
    assert_int_equal(x.tp, tp);
}

/* tp 2, cp 2, dp 2, pp 2: rank 13 = 1 + 2 (0 + 2 (1 + 2 x 1)): tp 1, cp 0, dp 1, pp 1. */
static void by_sizes(void **state) {
    (void)state;
    ps_job job = {.pp_type = "", .n_stages = 2, .tp = 2, .cp = 2, .dp = 2, .world_size = 16};
    expect(ps_indices_of(&job, 13, NULL), 1, 1, 1);
    expect(ps_indices_of(&job, 0, NULL), 0, 0, 0);
    expect(ps_indices_of(&job, -1, NULL), -1, -1, -1);
    job.layout = PS_LAYOUT_MEGATRON_PP; /* 13 = 1 + 2 (0 + 2 (1 + 2 x 1)): pp 1, dp 1; 4 is pp 1 */
    expect(ps_indices_of(&job, 4, NULL), 0, 1, 0);
    job.dp = 0; /* follows from the size of the job */
    expect(ps_indices_of(&job, 13, NULL), 1, 1, 1);
    job.tp = 0;
    assert_int_equal(ps_indices_of(&job, 13, NULL).tp, -1);
    ps_job other = {.pp_type = "", .n_stages = 2, .tp = 2, .dp = 2, .world_size = 9};
    expect(ps_indices_of(&other, 3, NULL), -1, ps_job_place(&other, 3, NULL).stage, -1);
}

/* The own group knows better than the order of ranks; the first group of somebody else says nothing. */
static void by_the_own_group(void **state) {
    (void)state;
    ps_job job = {.pp_type = "", .n_stages = 2, .tp = 1, .dp = 2, .world_size = 4};
    ps_group_fact own = GROUP("c", "pp", 1, 2, 0);
    ps_rank_facts facts = {.groups = &own, .n_groups = 1};
    expect(ps_indices_of(&job, 1, &facts), 1, 1, 0); /* by sizes pp would be 0 */
    ps_group_fact strange = GROUP("c", "pp", 0, 2, 0);
    ps_rank_facts all = {.groups = &strange, .n_groups = 1};
    expect(ps_indices_of(&job, 3, &all), 1, 1, 0);
}

/* Ranks 0..5, three stages of two. Pipelines in two groups each: 0-2 and 2-4, 1-3 and 3-5, in an order in which a single
 * pass over them would miss a link. Group "all" has two ranks of one pipeline. */
static void by_groups_that_share_ranks(void **state) {
    (void)state;
    ps_group_fact groups[6][4] = {
        {GROUP("z", "pp", -1, -1, -1), GROUP("s0", "dp", -1, -1, -1),
         GROUP("all", "world", -1, -1, -1)},
        {GROUP("y", "PP_1", -1, -1, -1), GROUP("s0", "dp", -1, -1, -1),
         GROUP("all", "world", -1, -1, -1)},
        {GROUP("z", "pp", -1, -1, -1), GROUP("a", "pp", -1, -1, -1), GROUP("s1", "dp", -1, -1, -1),
         GROUP("all", "world", -1, -1, -1)},
        {GROUP("y", "PP_1", -1, -1, -1), GROUP("b", "pp", -1, -1, -1),
         GROUP("s1", "dp", -1, -1, -1), GROUP("all", "world", -1, -1, -1)},
        {GROUP("a", "pp", -1, -1, -1), GROUP("s2", "dp", -1, -1, -1),
         GROUP("all", "world", -1, -1, -1)},
        {GROUP("b", "pp", -1, -1, -1), GROUP("s2", "dp", -1, -1, -1),
         GROUP("all", "world", -1, -1, -1)}};
    ps_rank_facts facts[6];
    const ps_rank_facts *pointers[7];
    ps_rank_info ranks[7] = {{0}};
    for (int i = 0; i < 6; i++) {
        facts[i] = (ps_rank_facts){.groups = groups[i], .n_groups = i == 2 || i == 3 ? 4 : 3};
        pointers[i] = &facts[i];
        ranks[i].rank = i;
    }
    pointers[6] = NULL; /* a rank that failed */
    ranks[6].rank = 6;
    ps_job job = {.pp_type = ""};
    int32_t stage[7];
    size_t n = 0;
    assert_int_equal(ps_stage_groups(ranks, pointers, &job, 7, stage, &n, NULL), PS_OK);
    static const int32_t EXPECTED[7] = {0, 0, 1, 1, 2, 2, -1};
    assert_int_equal(n, 3);
    assert_memory_equal(stage, EXPECTED, sizeof stage);
    ps_code code = PS_NOMEM;
    for (int64_t k = 0; code != PS_OK; k++) {
        (void)ps_alloc_fail_at(k);
        code = ps_stage_groups(ranks, pointers, &job, 7, stage, &n, NULL);
        (void)ps_alloc_fail_at(-1);
        assert_true(code == PS_OK || code == PS_NOMEM);
    }
}

static void no_pipeline_no_stages(void **state) {
    (void)state;
    ps_group_fact group = {
        .comm_name = "s0", .group_name = "dp", .group_rank = -1, .n_ranks = -1, .first_rank = -1};
    ps_rank_facts facts = {.groups = &group, .n_groups = 1};
    const ps_rank_facts *pointers[2] = {&facts, &facts};
    ps_rank_info ranks[2] = {{.rank = 0}, {.rank = 1}};
    int32_t stage[2];
    size_t n = 9;
    ps_job job = {.pp_type = ""};
    assert_int_equal(ps_stage_groups(ranks, pointers, &job, 2, stage, &n, NULL), PS_OK);
    assert_int_equal(n, 0);
    assert_int_equal(stage[1], -1);
    ps_job one = {.pp_type = "", .n_stages = 1, .tp = 1, .dp = 2, .world_size = 2};
    assert_int_equal(ps_stage_groups(ranks, pointers, &one, 2, stage, &n, NULL), PS_OK);
    assert_int_equal(n, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_sizes),
        cmocka_unit_test(by_the_own_group),
        cmocka_unit_test(by_groups_that_share_ranks),
        cmocka_unit_test(no_pipeline_no_stages),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

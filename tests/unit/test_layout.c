/* Where ranks stand in the dimensions of a job: one arithmetic, whole and in part known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "analyze/pipeline/stage_groups.h"
#include "model/layout.h"

/* Megatron's default order: tp counts fastest, then cp, dp, pp. Worked by hand for tp 2, cp 2, dp 3, pp 2: rank 17 is
 * 1 + 2 (0 + 2 (1 + 3 x 1)). */
static void places_by_hand(void **state) {
    (void)state;
    ps_layout_dims p = {.tp = 2, .cp = 2, .dp = 3, .pp = 2, .ep = 1, .moe_tp = 1};
    ps_layout_coordinates at = ps_layout_coordinates_of(PS_LAYOUT_MEGATRON, &p, 17);
    assert_int_equal(at.tp, 1);
    assert_int_equal(at.cp, 0);
    assert_int_equal(at.dp, 1);
    assert_int_equal(at.pp, 1);
    /* Stages inside of the replicas: 17 = 1 + 2 (0 + 2 (0 + 2 x 2)). */
    at = ps_layout_coordinates_of(PS_LAYOUT_MEGATRON_PP, &p, 17);
    assert_int_equal(at.pp, 0);
    assert_int_equal(at.dp, 2);
}

/* Every rank of every small job: what is known of all sizes is what the picture of the job shows, the way back leads to the
 * rank, and the ranks of a stage are counted without a gap. */
static void located_as_drawn(void **state) {
    (void)state;
    for (int l = 0; l < PS_N_LAYOUTS; l++) {
        for (int k = 0; k < 81; k++) {
            ps_layout_dims p = {.tp = 1 + k % 3,
                                .cp = 1,
                                .dp = 1 + k / 9 % 3,
                                .pp = 1 + k / 27,
                                .ep = 1,
                                .moe_tp = 1};
            p.cp = ps_layout_has_cp((ps_layout)l) ? 1 + k / 3 % 3 : 1;
            int64_t n = ps_layout_ranks((ps_layout)l, &p);
            ps_layout_sizes sizes = {.tp = p.tp, .cp = p.cp, .dp = p.dp, .pp = p.pp, .world = n};
            for (int64_t rank = 0; rank < n; rank++) {
                ps_layout_coordinates drawn = ps_layout_coordinates_of((ps_layout)l, &p, rank);
                ps_layout_place at = ps_layout_locate((ps_layout)l, &sizes, rank);
                assert_int_equal(ps_layout_rank_at((ps_layout)l, &p, &drawn), rank);
                assert_true(at.tp == drawn.tp && at.dp == drawn.dp && at.pp == drawn.pp);
                int64_t x = 0;
                int64_t y = 0;
                ps_layout_position((ps_layout)l, &p, &drawn, &x, &y);
                assert_true(at.pipeline == x && at.pp == y);
            }
            assert_int_equal(ps_layout_locate((ps_layout)l, &sizes, n).pp, -1); /* beyond the job */
        }
    }
}

/* What charts say of a rank and what the tables of groups say is one answer, also where the sizes do not make the job. */
static void one_answer(void **state) {
    (void)state;
    static const ps_job JOBS[] = {
        {.pp_type = "", .tp = 2, .dp = 2, .n_stages = 4, .world_size = 16},
        {.pp_type = "",
         .tp = 2,
         .dp = 2,
         .n_stages = 4,
         .world_size = 32},                                        /* twice what sizes make */
        {.pp_type = "", .dp = 2, .n_stages = 4, .world_size = 16}, /* nobody says tp */
        {.pp_type = "", .tp = 2, .n_stages = 4, .world_size = 16},
        {.pp_type = "",
         .tp = 2,
         .dp = 2,
         .n_stages = 4,
         .world_size = 32,
         .layout = PS_LAYOUT_MEGATRON_PP},
        {.pp_type = "", .tp = 2, .dp = 2, .n_stages = 4, .layout = PS_LAYOUT_MEGATRON_PP}};
    for (size_t k = 0; k < sizeof JOBS / sizeof *JOBS; k++) {
        for (int64_t rank = 0; rank < 40; rank++) {
            ps_indices x = ps_indices_of(&JOBS[k], rank, NULL);
            assert_int_equal(x.pp, ps_job_place(&JOBS[k], rank, NULL).stage);
        }
    }
    /* 32 ranks of 4 stages: 8 a stage, whatever else they are; sizes that make 16 say nothing of the rest. */
    ps_indices x = ps_indices_of(&JOBS[1], 9, NULL);
    assert_true(x.pp == 1 && x.tp == -1 && x.dp == -1);
    /* Of unknown tp no place in it is told. */
    x = ps_indices_of(&JOBS[2], 9, NULL);
    assert_true(x.pp == 2 && x.tp == -1);
    /* A rank outside of the job stands nowhere, with stages inside of replicas, too: 16 ranks, rank 16. */
    assert_int_equal(ps_indices_of(&JOBS[5], 15, NULL).pp, 3);
    assert_int_equal(ps_indices_of(&JOBS[5], 16, NULL).pp, -1);
}

static void names(void **state) {
    (void)state;
    ps_layout l = PS_LAYOUT_VLLM;
    for (size_t i = 0; ps_layout_names[i] != NULL; i++) {
        assert_true(ps_layout_find(ps_layout_names[i], &l));
    }
    assert_true(ps_layout_find("tp-cp-ep-pp-dp", &l) && l == PS_LAYOUT_MEGATRON_PP);
    assert_false(ps_layout_find("tp-pp", &l));
}

/* Sizes that somebody gave, of a job of 8 ranks of which two are here, and of one whose size nobody says. */
static void contradictions(void **state) {
    (void)state;
    static const struct {
        ps_layout_sizes given;
        int64_t n_ranks;
        const char *says; /* NULL: they can be */
    } CASES[] = {
        {{.pp = 4, .world = 8}, 2, NULL},
        {{.tp = 2, .pp = 4, .world = 8}, 2, NULL},
        {{.tp = 2, .dp = 2, .world = 8}, 2, NULL}, /* and pp 2 */
        {{.pp = 3, .world = 8}, 2, "pp 3 does not divide the 8 ranks of the job (world_size)"},
        {{.pp = 16, .world = 8}, 2, "pp 16 does not divide the 8 ranks of the job (world_size)"},
        {{.tp = 3, .pp = 2, .world = 8},
         2,
         "tp 3 x pp 2 = 6 does not divide the 8 ranks of the job (world_size)"},
        {{.tp = 1, .cp = 1, .dp = 2, .pp = 2, .world = 8},
         2,
         "tp 1 x cp 1 x dp 2 x pp 2 = 4 is not the 8 ranks of the job (world_size)"},
        {{.tp = 2, .cp = 2, .dp = 1, .pp = 2, .world = 8}, 2, NULL},
        {{.pp = 4}, 2, NULL}, /* stages that are not here */
        {{.dp = 2, .pp = 2}, 4, NULL},
        {{.dp = 2, .pp = 2}, 5, "dp 2 x pp 2 = 4 is less than the 5 ranks that are here"},
        {{.pp = 2}, 5, NULL}, /* replicas that nobody counted */
        {{.tp = INT64_MAX, .pp = 2}, 5, NULL},
        {{.tp = INT64_MAX, .pp = 2, .world = 8}, 5, "does not divide"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        char out[160];
        const ps_layout_sizes *given = &CASES[i].given;
        bool found = ps_layout_contradicts(PS_ENGLISH, PS_LAYOUT_MEGATRON, given, given,
                                           CASES[i].n_ranks, out);
        assert_int_equal(found, CASES[i].says != NULL);
        assert_true(!found || strstr(out, CASES[i].says) != NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_by_hand), cmocka_unit_test(located_as_drawn),
        cmocka_unit_test(one_answer),     cmocka_unit_test(names),
        cmocka_unit_test(contradictions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

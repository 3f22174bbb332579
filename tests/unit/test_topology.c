/* Where a rank stands, and what the job ran. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "analyze/comm/topology.h"
#include "base/alloc.h"

/* Facts of one rank, from metadata as the profiler stores it. */
typedef struct rank_meta {
    const char *pp_info, *distributed_args, *groups;
} rank_meta;

static ps_trace *make_trace(const rank_meta *m) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    if (m->pp_info != NULL) {
        ps_builder_meta(b, "pp_info", m->pp_info);
    }
    if (m->distributed_args != NULL) {
        ps_builder_meta(b, "distributed_args", m->distributed_args);
    }
    if (m->groups != NULL) {
        ps_builder_meta(b, "parallel_group_info", m->groups);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

static ps_rank_facts read_facts(rank_meta m, ps_arena *arena, ps_diag *diag) {
    ps_trace *t = make_trace(&m);
    ps_rank_facts facts;
    assert_int_equal(ps_rank_facts_read(t, arena, &facts, diag, NULL), PS_OK);
    ps_trace_free(t);
    return facts;
}

static void facts_are_read(void **state) {
    (void)state;
    ps_arena arena;
    ps_diag diag = {0};
    ps_arena_init(&arena);
    ps_rank_facts f =
        read_facts((rank_meta){"{\"pp_type\": \"dualpipev\", \"microbatch_num\": 10}",
                               "{\"tensor_model_parallel_size\": 2, "
                               "\"pipeline_model_parallel_size\": 4, \"data_parallel_size\": 3, "
                               "\"context_parallel_size\": 5, \"world_size\": 120, "
                               "\"sequence_parallel\": true, \"rank\": 7}",
                               "{\"c0\": {\"group_name\": \"default_group\", \"group_rank\": 7, "
                               "\"global_ranks\": [0, 1]}, "
                               "\"c1\": {\"group_name\": \"pp\", \"group_rank\": 2, "
                               "\"global_ranks\": [7, 37, 67, 97]}}"},
                   &arena, &diag);
    assert_string_equal(f.pp_type, "dualpipev");
    assert_int_equal(f.n_microbatches, 10);
    assert_int_equal(f.sizes.tp, 2);
    assert_int_equal(f.sizes.pp, 4);
    assert_int_equal(f.sizes.dp, 3);
    assert_int_equal(f.sizes.cp, 5);
    assert_int_equal(f.world_size, 120);
    assert_int_equal(f.n_groups, 2);
    const ps_group_fact *pp = ps_rank_facts_pp(&f);
    assert_non_null(pp);
    assert_string_equal(pp->comm_name, "c1");
    assert_int_equal(pp->group_rank, 2);
    assert_int_equal(pp->n_ranks, 4);
    assert_int_equal(pp->first_rank, 7);
    assert_int_equal(diag.counts[PS_ODD_METADATA], 0);
    ps_arena_fini(&arena);
}

static void nothing_said_is_nothing_known(void **state) {
    (void)state;
    ps_arena arena;
    ps_diag diag = {0};
    ps_arena_init(&arena);
    ps_rank_facts f = read_facts((rank_meta){0}, &arena, &diag);
    assert_null(f.pp_type);
    assert_int_equal(f.n_microbatches, 0);
    assert_int_equal(f.sizes.pp, 0);
    assert_null(ps_rank_facts_pp(&f));
    assert_null(ps_rank_facts_pp(NULL));
    assert_int_equal(diag.counts[PS_ODD_METADATA], 0);
    ps_arena_fini(&arena);
}

/* Sizes that are none are left out and counted; null is "not said". */
static void odd_values_are_counted(void **state) {
    (void)state;
    ps_arena arena;
    ps_diag diag = {0};
    ps_arena_init(&arena);
    ps_rank_facts f =
        read_facts((rank_meta){"[1, 2]",
                               "{\"tensor_model_parallel_size\": \"2\", "
                               "\"pipeline_model_parallel_size\": 0, "
                               "\"data_parallel_size\": -1, \"context_parallel_size\": null, "
                               "\"world_size\": 1.5}",
                               "not json"},
                   &arena, &diag);
    assert_int_equal(f.sizes.tp, 2);
    assert_int_equal(f.sizes.pp, 0);
    assert_int_equal(f.sizes.dp, 0);
    assert_int_equal(f.sizes.cp, 0);
    assert_int_equal(f.world_size, 0);
    assert_int_equal(diag.counts[PS_ODD_METADATA], 5); /* pp_info, groups, pp, dp, world size */
    ps_arena_fini(&arena);
}

/* microbatch_num = global batch / micro batch / data parallel: 480 / 4 / 3
 * = 40. */
static void microbatches_follow_from_batch_sizes(void **state) {
    (void)state;
    ps_arena arena;
    ps_diag diag = {0};
    ps_arena_init(&arena);
    ps_rank_facts f =
        read_facts((rank_meta){NULL,
                               "{\"global_batch_size\": 480, \"micro_batch_size\": 4, "
                               "\"data_parallel_size\": 3}",
                               NULL},
                   &arena, &diag);
    assert_int_equal(f.n_microbatches, 40);
    ps_arena_fini(&arena);
}

/* --- places
 * -------------------------------------------------------------------------------------
 */

static void expect_place(const ps_job *job, int64_t rank, int stage, int pipeline) {
    ps_place p = ps_job_place(job, rank, NULL);
    if (p.stage != stage || p.pipeline != pipeline) {
        fail_msg("rank %lld: stage %d, pipeline %d", (long long)rank, (int)p.stage,
                 (int)p.pipeline);
    }
}

/* tp-cp-ep-dp-pp with tp 2, cp 2, dp 3, pp 2: a stage is 12 consecutive ranks.
 */
static void default_order_has_pp_outermost(void **state) {
    (void)state;
    ps_job job = {.pp_type = "", .tp = 2, .cp = 2, .dp = 3, .n_stages = 2};
    expect_place(&job, 0, 0, 0);
    expect_place(&job, 11, 0, 11);
    expect_place(&job, 12, 1, 0);
    expect_place(&job, 23, 1, 11);
    expect_place(&job, 24, -1, -1); /* beyond the job */
    expect_place(&job, -1, -1, -1);
    job.world_size = 24; /* says the same without dp */
    job.dp = 0;
    expect_place(&job, 11, 0, 11);
    expect_place(&job, 12, 1, 0);
}

/* tp-cp-ep-pp-dp with tp 2, cp 2, pp 3, dp 2: blocks of 12 ranks, in which 4
 * consecutive ones are a stage. */
static void other_order_has_dp_outermost(void **state) {
    (void)state;
    ps_job job = {
        .pp_type = "", .tp = 2, .cp = 2, .dp = 2, .n_stages = 3, .layout = PS_LAYOUT_MEGATRON_PP};
    expect_place(&job, 3, 0, 3);
    expect_place(&job, 4, 1, 0);
    expect_place(&job, 8, 2, 0);
    expect_place(&job, 11, 2, 3);
    expect_place(&job, 12, 0, 4); /* the second block: pipelines 4 to 7 */
    expect_place(&job, 17, 1, 5);
}

static void unknown_sizes_count_as_one(void **state) {
    (void)state;
    ps_job job = {.pp_type = "", .n_stages = 4};
    expect_place(&job, 0, 0, 0);
    expect_place(&job, 3, 3, 0);
    expect_place(&job, 4, -1, -1);
    job.n_stages = 0;
    expect_place(&job, 0, -1, -1);
    job = (ps_job){
        .pp_type = "", .n_stages = 4, .world_size = 10, .tp = 2}; /* 10 is no multiple of 4 */
    expect_place(&job, 2, 1, 0);
}

static void sizes_beyond_reason_are_no_place(void **state) {
    (void)state;
    ps_job job = {.pp_type = "", .tp = INT32_MAX, .cp = INT32_MAX, .dp = INT32_MAX, .n_stages = 2};
    ps_place p = ps_job_place(&job, 5, NULL);
    assert_true(p.stage == 0 || p.stage == -1);
    job.layout = PS_LAYOUT_MEGATRON_PP;
    p = ps_job_place(&job, 5, NULL);
    assert_true(p.stage == 0 || p.stage == -1);
}

/* --- the job
 * --------------------------------------------------------------------------------------
 */

static void groups_win_over_sizes_and_options_over_both(void **state) {
    (void)state;
    ps_group_fact group = {
        .comm_name = "c", .group_name = "pp", .group_rank = 3, .n_ranks = 4, .first_rank = 1};
    ps_rank_facts facts = {.sizes.pp = 2, .groups = &group, .n_groups = 1};
    const ps_rank_facts *list[] = {NULL, &facts};
    ps_diag diags[2] = {0};
    ps_diag *diag_list[] = {&diags[0], &diags[1]};
    ps_analysis_opts opts = {.step_id = -1};
    ps_job job = ps_job_from(list, diag_list, 2, &opts);
    assert_int_equal(job.n_stages, 2);
    ps_place p = ps_job_place(&job, 13, &facts);
    assert_int_equal(p.stage, 3);
    assert_int_equal(p.pipeline, 1);
    opts.tp = 1;
    job = ps_job_from(list, diag_list, 2, &opts);
    assert_int_equal(ps_job_place(&job, 1, &facts).stage, 1);
}

/* Only groups are there: their size is the number of stages. */
static void stages_follow_from_the_group(void **state) {
    (void)state;
    ps_group_fact group = {
        .comm_name = "c", .group_name = "pp", .group_rank = 3, .n_ranks = 4, .first_rank = 1};
    ps_rank_facts facts = {.groups = &group, .n_groups = 1};
    const ps_rank_facts *list[] = {&facts};
    ps_diag diag = {0};
    ps_diag *diag_list[] = {&diag};
    ps_analysis_opts opts = {.step_id = -1};
    assert_int_equal(ps_job_from(list, diag_list, 1, &opts).n_stages, 4);
}

/* A recording of one process that nobody numbered is a pipeline of its own; one of several is not known. */
static void a_process_alone(void **state) {
    (void)state;
    ps_rank_facts facts = {.pp_type = "1f1b", .n_microbatches = 2};
    const ps_rank_facts *list[] = {&facts, &facts};
    ps_diag diag = {0};
    ps_diag *diag_list[] = {&diag, &diag};
    ps_analysis_opts opts = {.step_id = -1};
    ps_job job = ps_job_from(list, diag_list, 1, &opts);
    ps_place p = ps_job_place(&job, -1, &facts);
    assert_int_equal(p.stage, 0);
    assert_int_equal(p.pipeline, 0);
    assert_int_equal(ps_job_place(&job, 3, &facts).stage, -1); /* rank 3 has others beside it */
    job = ps_job_from(list, diag_list, 2, &opts);
    assert_int_equal(ps_job_place(&job, -1, &facts).stage, -1);
    job = ps_job_from(list, diag_list, 1, &opts);
    assert_int_equal(ps_job_place(&job, 0, &facts).stage, 0);
    facts.world_size = 1;
    job = ps_job_from(list, diag_list, 1, &opts);
    assert_int_equal(ps_job_place(&job, 0, &facts).stage, 0);
    facts.world_size = 2; /* there are others */
    job = ps_job_from(list, diag_list, 1, &opts);
    assert_int_equal(ps_job_place(&job, 0, &facts).stage, -1);
    facts.world_size = 0;
    ps_group_fact dp = {
        .comm_name = "c", .group_name = "dp", .group_rank = 0, .n_ranks = 4, .first_rank = 0};
    facts.groups = &dp;
    facts.n_groups = 1;
    job = ps_job_from(list, diag_list, 1, &opts);
    assert_int_equal(ps_job_place(&job, 0, &facts).stage, -1);
    facts.n_groups = 0;
    facts.sizes.pp = 4;
    job = ps_job_from(list, diag_list, 1, &opts);
    assert_int_equal(ps_job_place(&job, -1, &facts).stage, -1);
}

/* The first rank that says something wins; who contradicts is counted on its
 * own account; options override. */
static void ranks_agree_or_are_counted(void **state) {
    (void)state;
    ps_rank_facts a = {.pp_type = "dualpipev", .sizes.pp = 4};
    ps_rank_facts b = {.n_microbatches = 10, .sizes = {.pp = 4, .tp = 2}};
    ps_rank_facts c = {.pp_type = "1f1b", .sizes.pp = 8, .n_microbatches = 10};
    const ps_rank_facts *list[] = {&a, &b, &c};
    ps_diag diags[3] = {0};
    ps_diag *diag_list[] = {&diags[0], &diags[1], &diags[2]};
    ps_analysis_opts opts = {.step_id = -1};
    ps_job job = ps_job_from(list, diag_list, 3, &opts);
    assert_string_equal(job.pp_type, "dualpipev");
    assert_int_equal(job.n_stages, 4);
    assert_int_equal(job.n_microbatches, 10);
    assert_int_equal(job.tp, 2);
    assert_int_equal(diags[0].counts[PS_ODD_METADATA], 0);
    assert_int_equal(diags[1].counts[PS_ODD_METADATA], 0);
    assert_int_equal(diags[2].counts[PS_ODD_METADATA], 2);
    opts =
        (ps_analysis_opts){.step_id = -1, .pp_type = "vpp", .pp = 16, .n_microbatches = 3, .dp = 5};
    job = ps_job_from(list, diag_list, 3, &opts);
    assert_string_equal(job.pp_type, "vpp");
    assert_int_equal(job.n_stages, 16);
    assert_int_equal(job.n_microbatches, 3);
    assert_int_equal(job.dp, 5);
    assert_int_equal(job.tp, 2);
}

/* --pp alone changes the number of stages, and the width that the world size
 * gives follows. */
static void the_world_size_stays_with_pp_alone(void **state) {
    (void)state;
    ps_rank_facts facts = {.world_size = 16, .sizes.pp = 2};
    const ps_rank_facts *list[] = {&facts};
    ps_diag diag = {0};
    ps_diag *diag_list[] = {&diag};
    ps_analysis_opts opts = {.step_id = -1, .pp = 4};
    ps_job job = ps_job_from(list, diag_list, 1, &opts);
    expect_place(&job, 15, 3, 3);
    opts.tp = 2; /* sizes were given: the width is theirs */
    job = ps_job_from(list, diag_list, 1, &opts);
    expect_place(&job, 7, 3, 1);
}

static void out_of_memory(void **state) {
    (void)state;
    ps_trace *t =
        make_trace(&(rank_meta){"\"{\\\"pp_type\\\": \\\"dualpipev\\\"}\"", "{\"world_size\": 4}",
                                "{\"c\": {\"group_name\": \"pp\", \"group_rank\": 1}}"});
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_arena arena;
        ps_diag diag = {0};
        ps_rank_facts facts;
        ps_arena_init(&arena);
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_rank_facts_read(t, &arena, &facts, &diag, NULL);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        ps_arena_fini(&arena);
    }
    ps_trace_free(t);
}

/* More microbatches than a count can hold are an oddity, as they are when named outright. */
static void batch_sizes_beyond_reason_are_counted(void **state) {
    (void)state;
    ps_arena arena;
    ps_diag diag = {0};
    ps_arena_init(&arena);
    ps_rank_facts f = read_facts(
        (rank_meta){"{\"global_batch_size\": 4294967298, \"micro_batch_size\": 1}", NULL, NULL},
        &arena, &diag);
    assert_int_equal(f.n_microbatches, 0);
    assert_int_equal(diag.counts[PS_ODD_METADATA], 1);
    ps_arena_fini(&arena);
}

/* PyTorch's process groups: a list of ranks or a text that holds one; the pipeline's is known by its description. */
static void groups_of_pytorch(void **state) {
    (void)state;
    static const char *const TEXTS[] = {
        "{\"rank\": 5, \"world_size\": 8, \"pg_config\": [{\"pg_name\": \"0\", \"pg_desc\": "
        "\"default_pg\", \"ranks\": [0, 1, 2, 3, 4, 5, 6, 7]}, {\"pg_name\": \"7\", \"pg_desc\": "
        "\"mesh_pp\", \"ranks\": [1, 3, 5, 7]}]}",
        "{\"rank\": 5, \"pg_config\": [{\"pg_name\": \"7\", \"pg_desc\": "
        "\"PIPELINE_MODEL_PARALLEL_GROUP\", \"ranks\": \"[1, 3, 5, 7]\"}]}"};
    for (size_t i = 0; i < 2; i++) {
        ps_arena arena;
        ps_diag diag = {0};
        ps_rank_facts f;
        ps_arena_init(&arena);
        ps_builder *b = ps_builder_new();
        ps_builder_meta(b, "distributedInfo", TEXTS[i]);
        ps_trace *t = ps_builder_seal(b, NULL);
        assert_non_null(t);
        assert_int_equal(ps_rank_facts_read(t, &arena, &f, &diag, NULL), PS_OK);
        const ps_group_fact *pp = ps_rank_facts_pp(&f);
        assert_non_null(pp);
        assert_int_equal(pp->group_rank, 2);
        assert_int_equal(pp->n_ranks, 4);
        assert_int_equal(pp->first_rank, 1);
        assert_int_equal(f.world_size, i == 0 ? 8 : 0);
        assert_int_equal(ps_diag_n_errors(&diag), 0);
        ps_trace_free(t);
        ps_arena_fini(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_read),
        cmocka_unit_test(nothing_said_is_nothing_known),
        cmocka_unit_test(odd_values_are_counted),
        cmocka_unit_test(microbatches_follow_from_batch_sizes),
        cmocka_unit_test(default_order_has_pp_outermost),
        cmocka_unit_test(other_order_has_dp_outermost),
        cmocka_unit_test(unknown_sizes_count_as_one),
        cmocka_unit_test(sizes_beyond_reason_are_no_place),
        cmocka_unit_test(groups_win_over_sizes_and_options_over_both),
        cmocka_unit_test(stages_follow_from_the_group),
        cmocka_unit_test(ranks_agree_or_are_counted),
        cmocka_unit_test(the_world_size_stays_with_pp_alone),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(batch_sizes_beyond_reason_are_counted),
        cmocka_unit_test(a_process_alone),
        cmocka_unit_test(groups_of_pytorch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

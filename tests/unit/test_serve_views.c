/* /api/views, /api/view, /api/mode, /api/summary as functions; where the ranks of a job stand. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/layout.h"
#include "serve/cluster/cluster_views.h"
#include "support/asks.h"
#include "support/small_runs.h"

/* --- one rank ----------------------------------------------------------------------------------------------------------- */

/* stream 7: a 100-200, b 250-300, a 300-340 */
static ps_trace *make(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t s = small_stream(b, 7);
    (void)small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "op", 0, 50);
    small_arg(b, small_slice(b, PS_SLICE_KERNEL, s, "a", 100, 200), "opType", "Mul");
    small_arg(b, small_slice(b, PS_SLICE_KERNEL, s, "b", 250, 300), "opType", "Add");
    small_arg(b, small_slice(b, PS_SLICE_KERNEL, s, "a", 300, 340), "opType", "Mul");
    return small_seal(b);
}

static void the_list(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    const char *reply = ask(&a, "/api/views?");
    expect_in(reply,
              "{\"name\":\"overall\",\"title\":\"Overall metrics\",\"tab\":\"timeline\",\"of\":"
              "\"rank\",\"params\":[]}");
    expect_in(reply, "\"tab\":\"timeline\",\"of\":\"rank\",\"params\":[\"leaf\"]}");
    expect_in(reply, "\"tab\":\"memory\",\"of\":\"rank\",\"params\":[\"by\",\"points\"]}");
    expect_in(reply, "\"tab\":\"summary\",\"of\":\"cluster\",\"params\":[\"step\",\"stage\"]}");
    for (const ps_job_view *v = ps_job_views; v->name != NULL; v++) {
        assert_null(ps_view_find(v->name)); /* one name, one view */
        assert_true((v->table != NULL) != (v->make != NULL));
        ps_modes_ask modes = {0};
        const ps_request request = {.store = a.store};
        ps_view_set_analyses(&request, v->set, &modes);
        assert_true(modes.n_analyses > 0);
        for (size_t i = 0; i < modes.n_analyses; i++) {
            assert_non_null(modes.analyses[i]);
        }
    }
    asks_end(&a);
}

static void a_view_of_a_rank(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    const char *reply = ask(&a, "/api/view?name=overall&rank=r0");
    expect_in(reply, "[\"Computing\",0,\"Computing\",190,");
    expect_in(reply, "[\"Free\",0,\"Free\",50,");
    for (int again = 0; again < 2; again++) { /* the second time from the cache */
        reply = ask(&a, "/api/view?name=operator_types&rank=r0&sort=total&desc=0");
        expect_in(reply, "[\"Add\",null,");
        expect_in(reply, ",50,1,50,50,50],\n[\"Mul\"");
    }
    reply = ask(&a, "/api/view?name=operator_types&rank=r0&from=150&to=260");
    expect_in(reply, "[\"Mul\",null,83.33333333333333,50,1,50,50,50]");
    reply = ask(&a, "/api/view?name=kernel_details&rank=r0&sort=duration&limit=1");
    expect_in(reply, "\"total\":3");
    expect_in(reply, "[3,\"a\",\"Mul\",null,300,40,0,0,7,");
    reply = ask(&a, "/api/view?name=leaf&rank=r0&leaf=Free");
    expect_in(reply, "[null,\"Free\",null,200,50,50]");
    reply = ask(&a, "/api/view?name=leaf&rank=r0&leaf=Computing&format=csv");
    expect_in(reply, "slice,name,type,start_relative_ns,duration_ns,share_ns");
    asks_end(&a);
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    expect_in(ask_fails(&a, 400, "/api/view?rank=r0"), "'name' is missing");
    expect_in(ask_fails(&a, 404, "/api/view?name=nope&rank=r0"), "there is no view 'nope'");
    expect_in(ask_fails(&a, 400, "/api/view?name=overall"), "'rank' is missing");
    expect_in(ask_fails(&a, 404, "/api/view?name=overall&rank=r9"), "r9");
    expect_in(ask_fails(&a, 400, "/api/view?name=overall&rank=r0&from=5&to=1"), "from");
    expect_in(ask_fails(&a, 400, "/api/view?name=memory_curve&rank=r0&by=x"),
              "overall|stream|component");
    expect_in(ask_fails(&a, 409, "/api/view?name=memory_curve&rank=r0"), "profile_memory=True");
    expect_in(ask_fails(&a, 404, "/api/view?name=overview&cluster=9"), "no cluster 9");
    expect_in(ask_fails(&a, 400, "/api/mode?"), "'name' is missing");
    expect_in(ask_fails(&a, 404, "/api/mode?name=nope"), "there is no mode 'nope'");
    expect_in(ask_fails(&a, 400, "/api/mode?name=cluster_time_compare_summary"), "baseline=N");
    expect_in(ask_fails(&a, 400, "/api/mode?name=slow_rank&order=x"), "tp-cp-ep-dp-pp");
    expect_in(ask_fails(&a, 400, "/api/mode?name=slow_rank&peak_tflops=0"), "peak_tflops");
    expect_in(ask_fails(&a, 400, "/api/mode?name=slow_rank&pp_type=x"), "no schedule 'x'");
    expect_in(ask_fails(&a, 400, "/api/summary?algorithm=x"), "megatron");
    expect_in(ask_fails(&a, 400, "/api/summary?tp=0"), "tp");
    asks_end(&a);
}

/* --- a cluster ------------------------------------------------------------------------------------------------------------ */

static void open_sample(asks *a) {
    const char *data = getenv("PIPESCOPE_SHARED_DATA");
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/cluster/pp2_dp4", data != NULL ? data : "");
    if (data == NULL || access(path, R_OK) != 0) {
        skip();
    }
    asks_of_path(a, path);
}

/* By hand from the capture: rank 2 is late, the host of another starves. */
static void views_of_a_cluster(void **state) {
    (void)state;
    asks a;
    open_sample(&a);
    const char *reply = ask(&a, "/api/view?name=overview&cluster=0");
    expect_in(reply, "\"total\":8,");
    /* rank 0, 2 steps: preparing, pure computing, overlapped, exposed, free, after, E2E (the step of 9 ms), ratios */
    expect_in(reply, ",2,302000,2030000,160000,2210000,3198000,1100000,9000000,24.333333333333332,"
                     "24.555555555555557,35.53333333333333,");
    reply = ask(&a, "/api/view?name=overview&step=3");
    expect_in(reply, ",1,302000,2030000,160000,2210000,3198000,1100000,9000000,");
    expect_in(ask_fails(&a, 400, "/api/view?name=overview&step=77"), "step '77'");
    reply = ask(&a, "/api/view?name=spread");
    expect_in(reply, "[\"Communication (not overlapped)\",2271990,25.2443");
    expect_in(reply, "between ranks 7 and 2");
    expect_in(reply, "Computing is alike in all ranks");
    reply = ask(&a, "/api/view?name=spread&stage=0"); /* ranks 0 to 3 */
    expect_in(reply, "between ranks 3 and 2");
    expect_in(ask_fails(&a, 400, "/api/view?name=spread&stage=2"), "no rank of stage 2");
    reply = ask(&a, "/api/view?name=base_info");
    expect_in(reply, "[\"ranks\",\"8\",\"\"]");
    expect_in(reply, "[\"steps\",\"2\",\"\"]");
    expect_in(reply, "[\"pipeline parallel\",\"2\",\"\"]");
    reply = ask(&a, "/api/view?name=communication_matrix&limit=1");
    expect_in(reply, "\"src_rank\"");
    reply = ask(&a, "/api/view?name=communication_advice");
    expect_in(reply, "late-arrival");
    reply = ask(&a, "/api/view?name=cluster_evidence&limit=1");
    expect_in(reply, "\"key\"");
    for (const ps_job_view *v = ps_job_views; v->name != NULL; v++) {
        expect_in(ask(&a, "/api/view?name=%s&limit=1", v->name), "\"rows\":[");
    }
    asks_end(&a);
}

static void modes_of_a_cluster(void **state) {
    (void)state;
    asks a;
    open_sample(&a);
    const char *reply = ask(&a, "/api/mode?name=slow_rank");
    expect_in(reply, "\"name\":\"SlowRank\"");
    expect_in(reply, "[2,10]");
    reply = ask(&a, "/api/mode?name=slow_rank&table=SlowRankLateness&limit=1");
    expect_in(reply, "\"total\":16");
    expect_in(ask_fails(&a, 404, "/api/mode?name=slow_rank&table=x"), "no table 'x'");
    /* A job that is one stage wide has other groups. */
    reply = ask(&a, "/api/mode?name=step_trace_time&tp=1&pp=1&dp=8");
    expect_in(reply, "ClusterStepTraceTime");
    expect_in(ask_fails(&a, 409, "/api/mode?name=freq_analysis"), "AI Core Freq");
    asks_end(&a);
}

static void places_of_a_cluster(void **state) {
    (void)state;
    asks a;
    open_sample(&a);
    const char *reply = ask(&a, "/api/summary?");
    expect_in(reply, "\"collected\":{\"tp\":1,\"dp\":4,\"pp\":2}");
    expect_in(reply, "\"problems\":[]");
    expect_in(reply,
              "\"x\":1,\"y\":1,\"name\":\"dp1-pp1\",\"dp\":1,\"pp\":1,\"cp\":0,\"tp\":0,\"ep\":0}");
    expect_in(reply, "\"groups\":{\"dp\":[0,0,0,0,4,4,4,4],\"pp\":[0,1,2,3,0,1,2,3]}");
    reply = ask(&a, "/api/summary?dp=2");
    expect_in(reply, "these sizes make 4 ranks, and the capture has 8");
    expect_in(reply, "\"problem_kinds\":[\"too-few\"]");
    assert_null(strstr(reply, "\"places\""));
    reply = ask(&a, "/api/summary?algorithm=megatron-pp-dp");
    expect_in(reply, "\"groups\":{\"dp\":[0,1,0,1,0,1,0,1],\"pp\":[0,0,2,2,4,4,6,6]}");
    asks_end(&a);
}

/* --- arithmetic ------------------------------------------------------------------------------------------------------------ */

static void places_there_and_back(void **state) {
    (void)state;
    const ps_layout_dims p = {.tp = 2, .cp = 3, .dp = 4, .pp = 5, .ep = 2, .moe_tp = 4};
    for (size_t i = 0; i < PS_N_LAYOUTS; i++) {
        ps_layout l = (ps_layout)i;
        int64_t n = ps_layout_ranks(l, &p);
        assert_int_equal(n, ps_layout_has_cp(l) ? 120 : 40);
        for (int64_t rank = 0; rank < n; rank++) {
            ps_layout_coordinates at = ps_layout_coordinates_of(l, &p, rank);
            assert_true(at.tp < 2 && at.cp < 3 && at.dp < 4 && at.pp < 5 && at.ep < 2);
            assert_int_equal(ps_layout_rank_at(l, &p, &at), rank);
        }
        /* Every group of a kind has as many ranks as its dimensions say. */
        int64_t cp = ps_layout_has_cp(l) ? 3 : 1;
        const int64_t sizes[PS_N_GROUP_KINDS] = {2, cp, 4, 5, 4 * cp, 10, 2};
        for (size_t k = 0; k < PS_N_GROUP_KINDS; k++) {
            for (int64_t rank = 0; rank < n; rank++) {
                int64_t own = ps_layout_group_of(l, &p, (ps_group_kind)k, rank);
                int64_t members = 0;
                for (int64_t other = 0; other < n; other++) {
                    members += ps_layout_group_of(l, &p, (ps_group_kind)k, other) == own;
                }
                assert_int_equal(members, sizes[k]);
            }
        }
    }
}

/* tp + TP*(cp + CP*(dp + DP*pp)) with TP 2, CP 2, DP 2: rank 13 is tp 1, cp 0, dp 1, pp 1. */
static void a_place_by_hand(void **state) {
    (void)state;
    const ps_layout_dims p = {.tp = 2, .cp = 2, .dp = 2, .pp = 2, .ep = 2, .moe_tp = 1};
    ps_layout_coordinates at = ps_layout_coordinates_of(PS_LAYOUT_MEGATRON, &p, 13);
    assert_true(at.tp == 1 && at.cp == 0 && at.dp == 1 && at.pp == 1 && at.ep == 1);
    int64_t x = 0;
    int64_t y = 0;
    ps_layout_position(PS_LAYOUT_MEGATRON, &p, &at, &x, &y);
    assert_int_equal(x, 1 * 4 + 0 * 2 + 1);
    assert_int_equal(y, 1);
    at = ps_layout_coordinates_of(PS_LAYOUT_MEGATRON_PP, &p, 13); /* tp + 2*(cp + 2*(pp + 2*dp)) */
    assert_true(at.tp == 1 && at.cp == 0 && at.pp == 1 && at.dp == 1);
    at = ps_layout_coordinates_of(PS_LAYOUT_VLLM, &p, 6); /* tp + 2*(pp + 2*dp) */
    assert_true(at.tp == 0 && at.pp == 1 && at.dp == 1);
}

static size_t problems(ps_layout l, ps_layout_dims p, int64_t n_ranks) {
    ps_layout_problem out[PS_LAYOUT_PROBLEMS];
    return ps_layout_check(PS_ENGLISH, l, &p, n_ranks, out);
}

static void sizes_that_do_not_fit(void **state) {
    (void)state;
    const ps_layout_dims fits = {.tp = 2, .cp = 2, .dp = 4, .pp = 2, .ep = 2, .moe_tp = 4};
    assert_int_equal(problems(PS_LAYOUT_MEGATRON, fits, 32), 0);
    assert_int_equal(problems(PS_LAYOUT_MEGATRON, fits, 33), 1);
    ps_layout_dims p = fits;
    p.ep = 8; /* more than dp, and just cp x dp */
    assert_int_equal(problems(PS_LAYOUT_MEGATRON, p, 32), 1);
    assert_int_equal(problems(PS_LAYOUT_MINDSPEED, p, 32), 0);
    assert_int_equal(problems(PS_LAYOUT_MINDIE, fits, 16), 0); /* 2 x 4 = 4 x 2 */
    p = fits;
    p.moe_tp = 3;
    assert_int_equal(problems(PS_LAYOUT_MINDIE, p, 16), 1);
    assert_int_equal(problems(PS_LAYOUT_VLLM, fits, 16), 0);
    p = fits;
    p.ep = 3;
    assert_int_equal(problems(PS_LAYOUT_VLLM, p, 16), 1);
    p = (ps_layout_dims){.tp = 10000, .cp = 10000, .dp = 10000, .pp = 10000, .ep = 1, .moe_tp = 1};
    assert_int_equal(problems(PS_LAYOUT_MEGATRON, p, 1), 1);
    assert_int_equal(ps_layout_ranks(PS_LAYOUT_MEGATRON, &p), -1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_list),
        cmocka_unit_test(a_view_of_a_rank),
        cmocka_unit_test(what_is_wrong_is_said),
        cmocka_unit_test(views_of_a_cluster),
        cmocka_unit_test(modes_of_a_cluster),
        cmocka_unit_test(places_of_a_cluster),
        cmocka_unit_test(places_there_and_back),
        cmocka_unit_test(a_place_by_hand),
        cmocka_unit_test(sizes_that_do_not_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* For whom collectives wait, and what the report says where that rank, or a part of the job, was not captured. Two ranks of a job
 * meet in one collective from 210 (rank 1 from 250) to 810 of a step of 1000 us, and compute before and after it:
 *
 *   lane 0   waits for the other one until 250
 *   lane 1   waits for the rank at place 2 until 310
 *   lane 2   waits for the rank at place 3 until 710, then copies until 810
 *
 * Exposed are 600 us, of which 500 wait: 400 for place 3 alone. */
#include "analyze/derived/derived.h"
#include "support/report_run.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"

typedef struct shape {
    const char *groups; /* parallel_group_info, or NULL */
    int64_t own[2];     /* places */
    int64_t n_places;   /* 2: the two meet nobody else, and leave at 350 */
    bool no_peers;      /* tasks name nobody */
    bool hidden;        /* another stream computes all the while */
    int64_t until[2];   /* another stream of each rank computes until then; 0: none does */
    bool prompt;        /* places 2 and 3 come before rank 1 */
    bool gaps;          /* a kernel before it, and one behind, is launched late */
    bool beside;        /* and one beside it */
} shape;

static void add_task(rig *r, const shape *s, int64_t lane, const char *name, int64_t from,
                     int64_t to, int64_t own, int64_t peer) {
    uint32_t track = ps_builder_track(r->b, (ps_track){.kind = PS_TRACK_COMM_PLANE,
                                                       .tid = lane,
                                                       .device = 0,
                                                       .name = ps_builder_str(r->b, "world", 5)});
    uint32_t row = rig_slice(r, PS_SLICE_COMM_TASK, track, name, from, to);
    if (!s->no_peers) {
        ps_builder_arg_int(r->b, row, "srcRank", own);
        ps_builder_arg_int(r->b, row, "dstRank", peer);
    }
}

static ps_trace *one_rank(const shape *s, int rank) {
    int64_t from = rank == 0 ? 210 : 250;
    int64_t end = s->n_places > 2 ? 810 : 350;
    rig r = rig_begin(1000);
    if (s->groups != NULL) {
        ps_builder_meta(r.b, "parallel_group_info", s->groups);
    }
    (void)rig_kernel(&r, "Add", NULL, 0, 2, s->gaps ? 50 : from);
    if (s->gaps) {
        (void)rig_kernel(&r, "Mul", NULL, 159, 170, from);
    }
    (void)rig_comm(&r, "hcom_allReduce__1_0_1", from, end, 1024);
    (void)rig_kernel(&r, "Add", NULL, 1, end, s->gaps ? 960 : 1000);
    if (s->gaps) {
        (void)rig_kernel(&r, "Add", NULL, 979, 990, 1000);
    }
    if (s->beside) {
        (void)rig_kernel(&r, "Mul", NULL, 299, 310, 400);
    }
    if (s->hidden) {
        (void)rig_kernel(&r, "Mul", NULL, 1, 2, 1000);
    }
    if (s->until[rank] > 0) {
        (void)rig_kernel(&r, "Mul", NULL, 1, 2, s->until[rank]);
    }
    if (rank == 0) {
        add_task(&r, s, 0, "Notify_Wait", 210, 250, s->own[0], s->own[1]);
    }
    if (s->n_places > 2) {
        int64_t lateness = s->prompt ? from + 2 : 0;
        add_task(&r, s, 1, "Notify_Wait", from, s->prompt ? lateness : 310, s->own[rank], 2);
        add_task(&r, s, 2, "Notify_Wait", from, s->prompt ? lateness : 710, s->own[rank], 3);
    }
    add_task(&r, s, 2, "Memcpy", end - 100, end, s->own[rank], s->own[1 - rank]);
    return rig_seal(&r);
}

static void run_shape(report_run *o, const shape *s) {
    ps_trace *traces[2] = {one_rank(s, 0), one_rank(s, 1)};
    report_over(o, traces, 2, NULL, NULL);
    assert_int_equal(o->code, PS_OK);
}

static void expect_said(const report_run *o, ps_rule_id rule, const char *part) {
    assert_true(report_fired(o, rule));
    if (strstr(report_text(o, rule), part) == NULL) {
        fail_msg("'%s' is not in: %s", part, report_text(o, rule));
    }
}

static int64_t job_ranks(const report_run *o) {
    const ps_table *job = report_table(o, "job");
    const ps_value *v = ps_table_cell(job, 0, ps_table_column(job, "job_ranks"));
    return v->is_null ? 0 : v->u.i;
}

/* The two stand at the places of their numbers, so place 3 is taken for rank 3. Rank 1 comes 40 us after rank 0, and waits for
 * rank 3 itself: nobody waited for rank 1. */
static void absent_rank(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4});
    expect_said(&o, PS_RULE_ABSENT_RANK, "for rank 3, which was not captured, 400 us of it");
    expect_said(&o, PS_RULE_ABSENT_RANK, "On rank 0 collectives wait 500 us");
    expect_said(&o, PS_RULE_ABSENT_RANK, "So it is for 2 of 2 ranks.");
    expect_said(&o, PS_RULE_ABSENT_RANK, "Of at least 4 ranks of the job 2 are here.");
    expect_said(&o, PS_RULE_ABSENT_RANK, "Its number is not recorded: it is taken to be its place");
    assert_int_equal(report_gain(&o, PS_RULE_ABSENT_RANK), 400 * US);
    assert_false(report_fired(&o, PS_RULE_LATE_ARRIVAL));
    assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), 100 * US);
    expect_said(
        &o, PS_RULE_COMM_EXPOSED,
        "transfer for 100 us of it and wait for other ranks for 500 us; longest for rank 3, which "
        "was not captured, 500 us");
    assert_false(report_fired(&o, PS_RULE_COMM_OVER_COMPUTE));
    assert_int_equal(job_ranks(&o), 4);
    report_fini(&o);
}

/* Exposed are 600 on rank 0 and 560 on rank 1, which comes later; but it waits itself for rank 3, or for nobody knows whom, until 710: that
 * one is to be looked at. Where the others were there before it, it is. */
static void the_rank_to_look_at(void **state) {
    (void)state;
    static const struct {
        shape of;
        const char *said;
    } CASES[] = {
        {{.own = {0, 1}, .n_places = 4},
         "See to rank 3, which was not captured, before rank 1: rank 1 itself waits 460 us for it."},
        {{.own = {0, 1}, .n_places = 4, .no_peers = true},
         "See to the ranks that were not captured before rank 1: it waits itself 460 us for them."},
        {{.own = {0, 1}, .n_places = 4, .prompt = true}, "Look at what the rank with the least"}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        run_shape(&o, &CASES[i].of);
        const ps_table *t = report_table(&o, "findings");
        const char *advice = "";
        for (size_t r = 0; r < t->n_rows; r++) {
            bool is_it = strncmp(ps_table_cell(t, r, ps_table_column(t, "what"))->u.text,
                                 "Exposed communication differs", 29) == 0;
            advice = is_it ? ps_table_cell(t, r, ps_table_column(t, "try"))->u.text : advice;
        }
        if (strstr(advice, CASES[i].said) == NULL) {
            fail_msg("'%s' is not in: %s", CASES[i].said, advice);
        }
        report_fini(&o);
    }
}

/* The others of the job were there before rank 1, as its tasks say: then it is the one that all wait for. */
static void last_of_a_part(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4, .prompt = true});
    assert_false(report_fired(&o, PS_RULE_ABSENT_RANK));
    expect_said(&o, PS_RULE_LATE_ARRIVAL, "wait 40.0 us in each step for it alone");
    assert_int_equal(report_gain(&o, PS_RULE_LATE_ARRIVAL), 40 * US);
    report_fini(&o);
}

/* The metadata know the ranks of the places. */
static void metadata_name_the_rank(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.groups = "{\"world\": {\"group_name\": \"dp\", \"group_rank\": 0, "
                                     "\"global_ranks\": [0, 1, 8, 12]}}",
                           .own = {0, 1},
                           .n_places = 4});
    expect_said(&o, PS_RULE_ABSENT_RANK, "for rank 12, which was not captured,");
    assert_null(strstr(report_text(&o, PS_RULE_ABSENT_RANK), "Its number"));
    assert_int_equal(job_ranks(&o), 13);
    report_fini(&o);
}

/* Rank 0 stands at place 1: nobody knows who stands at place 3. */
static void place_without_a_rank(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {1, 0}, .n_places = 4});
    expect_said(&o, PS_RULE_ABSENT_RANK,
                "the rank at place 3 of group world, which was not captured,");
    report_fini(&o);
}

/* Nobody else is there: rank 1 comes late, which the starts tell, and the tasks name it. */
static void captured_rank_is_late(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 2});
    assert_false(report_fired(&o, PS_RULE_ABSENT_RANK));
    assert_int_equal(report_gain(&o, PS_RULE_LATE_ARRIVAL), 40 * US);
    expect_said(&o, PS_RULE_COMM_EXPOSED, "longest for rank 1, 40.0 us");
    assert_int_equal(report_gain(&o, PS_RULE_COMM_EXPOSED), 100 * US);
    assert_int_equal(job_ranks(&o), 2);
    report_fini(&o);
}

/* Where something else computes meanwhile nothing is lost by waiting. */
static void hidden_waits_cost_nothing(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4, .hidden = true});
    assert_false(report_fired(&o, PS_RULE_ABSENT_RANK));
    assert_false(report_fired(&o, PS_RULE_COMM_EXPOSED));
    report_fini(&o);
}

/* What computing hides of the waits is in the rows as little as in the sentence: they add up. */
static void rows_add_up_to_the_sentence(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4, .until = {410, 410}});
    expect_said(
        &o, PS_RULE_ABSENT_RANK,
        "collectives wait 300 us in each step, with nothing computed beside them, for rank 3");
    const ps_table *t = report_table(&o, "evidence");
    const char *note = ps_table_cell(t, 0, ps_table_column(t, "note"))->u.text;
    assert_string_equal(
        note,
        "its longest wait for it, with nothing computed beside, is 300 us; it transfers for 100 us");
    report_fini(&o);
}

/* Rank 1 waits 400 for it alone, rank 0 does 300 of that with something to compute: a step gets shorter by no more than that. */
static void no_rank_gains_for_another(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4, .until = {410, 0}});
    expect_said(&o, PS_RULE_ABSENT_RANK, "On rank 1");
    expect_said(&o, PS_RULE_ABSENT_RANK, "400 us of it (40.0 % of the step)");
    assert_int_equal(report_gain(&o, PS_RULE_ABSENT_RANK), 300 * US);
    report_fini(&o);
}

/* Level 0: tasks wait, but name nobody. From 250, when rank 1 has come, until 710 both do nothing but wait: for one that is not
 * here. Rank 1 comes 40 us after rank 0, and nobody waits for it alone. */
static void waits_for_nobody_knows_whom(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4, .no_peers = true});
    expect_said(&o, PS_RULE_ABSENT_RANK, "wait 460 us in each step (46.0 %)");
    expect_said(&o, PS_RULE_ABSENT_RANK,
                "the collectives of all that were captured and take part only wait");
    expect_said(&o, PS_RULE_ABSENT_RANK, "So it is for 2 of 2 ranks. Up to 3 of their tasks");
    expect_said(&o, PS_RULE_ABSENT_RANK, "Of at least 3 ranks of the job 2 are here.");
    assert_int_equal(report_gain(&o, PS_RULE_ABSENT_RANK), 460 * US);
    assert_int_equal(report_row(&o, PS_RULE_ABSENT_RANK), 0);
    assert_false(report_fired(&o, PS_RULE_LATE_ARRIVAL));
    expect_said(&o, PS_RULE_COMM_EXPOSED, "wait for other ranks for 500 us. Waiting");
    assert_int_equal(job_ranks(&o), 3);
    report_fini(&o);
}

/* One rank alone: whatever its collectives wait for is not here. */
static void one_rank_without_names(void **state) {
    (void)state;
    report_run o;
    const shape s = {.own = {0, 1}, .n_places = 4, .no_peers = true};
    for (int is_one = 0; is_one < 2; is_one++) {
        ps_trace *trace = one_rank(&s, 0);
        ps_analysis_opts opts = {.step_id = -1, .one_of_several = is_one};
        report_over(&o, &trace, 1, &opts, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_ABSENT_RANK), !is_one);
        if (!is_one) {
            expect_said(&o, PS_RULE_ABSENT_RANK, "wait 500 us in each step (50.0 %)");
            expect_said(&o, PS_RULE_ABSENT_RANK, "nobody else of them is here.");
            assert_int_equal(report_gain(&o, PS_RULE_ABSENT_RANK), 500 * US);
            assert_int_equal(job_ranks(&o), 2);
        }
        report_fini(&o);
    }
}

/* Tasks name nobody, and nobody is missing: what waits, waits for a rank that is here; or all of the group are; or it costs
 * nothing. */
static void nobody_is_absent(void **state) {
    (void)state;
    static const shape SHAPES[] = {
        {.n_places = 2, .no_peers = true},
        {.n_places = 4, .no_peers = true, .prompt = true},
        {.n_places = 4, .no_peers = true, .hidden = true},
        {.n_places = 4,
         .no_peers = true,
         .groups = "{\"world\": {\"group_name\": \"dp\", \"global_ranks\": [0, 1]}}"},
    };
    for (size_t i = 0; i < sizeof SHAPES / sizeof *SHAPES; i++) {
        report_run o;
        run_shape(&o, &SHAPES[i]);
        assert_false(report_fired(&o, PS_RULE_ABSENT_RANK));
        report_fini(&o);
    }
}

/* What is on its way between two machines looks like waiting on both: nobody knows that it is another rank. */
static void machines_apart(void **state) {
    (void)state;
    static const int32_t MACHINES[][2] = {{0, 0}, {0, 1}, {-1, -1}};
    const shape s = {.n_places = 4, .no_peers = true};
    for (size_t i = 0; i < sizeof MACHINES / sizeof *MACHINES; i++) {
        ps_trace *traces[2] = {one_rank(&s, 0), one_rank(&s, 1)};
        report_run o;
        report_on_machines(&o, traces, 2, MACHINES[i]);
        assert_int_equal(report_fired(&o, PS_RULE_ABSENT_RANK), i == 0);
        report_fini(&o);
    }
}

/* The host is late before the collective for 111 (0 to 1, 50 to 160) and behind it for 20: what is saved before it is waited longer, while
 * a rank that is not here comes later still. Named or not; of a whole job nothing is held back. */
static void gains_before_absent_ranks(void **state) {
    (void)state;
    static const struct {
        shape s;
        bool is_held;
    } CASES[] = {{{.own = {0, 1}, .n_places = 4, .gaps = true}, true},
                 {{.n_places = 4, .no_peers = true, .gaps = true}, true},
                 {{.own = {0, 1}, .n_places = 2, .gaps = true}, false}};
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        report_run o;
        run_shape(&o, &CASES[i].s);
        const char *text = report_text(&o, PS_RULE_FREE_SHARE);
        assert_int_equal(
            strstr(text, "111 us of the gain is won only once ranks that were not captured come "
                         "earlier: it lies before or beside waits for them.") != NULL,
            CASES[i].is_held);
        assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), 131 * US);
        const char *verdict = ps_table_cell(report_table(&o, "verdict"), 0, 0)->u.text;
        assert_int_equal(strstr(verdict, "111 us of it only once ranks that were not captured "
                                         "come earlier") != NULL,
                         CASES[i].is_held);
        report_fini(&o);
    }
}

/* The host is late beside the collective, too (from its begin to 300): it ends no earlier for what is computed beside it earlier. Rank 1, which
 * comes 40 later to it, has 40 less of that, and bounds the gain: it waits for a rank that is not here, and not for rank 0. The 20 behind the
 * collective wait for nobody: 181 - 20 are held. */
static void gains_beside_waits_for_absent_ranks(void **state) {
    (void)state;
    report_run o;
    run_shape(&o, &(shape){.own = {0, 1}, .n_places = 4, .gaps = true, .beside = true});
    expect_said(&o, PS_RULE_FREE_SHARE, "For 90.0 us more it does nothing but communicate");
    expect_said(
        &o, PS_RULE_FREE_SHARE,
        "Rank 1 bounds the gain: without that cause its step of 1.00 ms would still take 819 us. 161 us of the "
        "gain is won only once ranks that were not captured");
    assert_int_equal(report_gain(&o, PS_RULE_FREE_SHARE), 181 * US);
    report_fini(&o);
}

/* The communicator has more ranks than were captured, and no tasks say who waits: nothing is promised of late or slow ranks. */
static void part_of_a_group(void **state) {
    (void)state;
    for (int is_part = 0; is_part < 2; is_part++) {
        ps_trace *traces[2];
        report_run o;
        for (int rank = 0; rank < 2; rank++) {
            rig r = rig_begin(1000);
            ps_builder_meta(
                r.b, "parallel_group_info",
                is_part ? "{\"world\": {\"group_name\": \"dp\", \"global_ranks\": [0, 1, 2, 3]}}"
                        : "{\"world\": {\"group_name\": \"dp\", \"global_ranks\": [0, 1]}}");
            (void)rig_kernel(&r, "Add", NULL, 0, 10, rank == 0 ? 400 : 600);
            (void)rig_comm(&r, "hcom_allReduce__1_0_1", rank == 0 ? 400 : 600, 900, 1024);
            traces[rank] = rig_seal(&r);
        }
        report_over(&o, traces, 2, NULL, NULL);
        assert_int_equal(job_ranks(&o), is_part ? 4 : 2);
        assert_int_equal(report_gain(&o, PS_RULE_LATE_ARRIVAL), is_part ? 0 : 200 * US);
        assert_int_equal(report_gain(&o, PS_RULE_SLOW_RANK) == 0, is_part);
        if (is_part) {
            expect_said(&o, PS_RULE_LATE_ARRIVAL, "Of at least 4 ranks of the job 2 are here");
            expect_said(&o, PS_RULE_SLOW_RANK, "Of at least 4 ranks of the job 2 are here");
        }
        report_fini(&o);
    }
}

/* The viewer asks about one rank: others may be there, too. */
static void one_of_several(void **state) {
    (void)state;
    report_run o;
    const shape s = {.own = {0, 1}, .n_places = 4};
    for (int is_one = 0; is_one < 2; is_one++) {
        ps_trace *trace = one_rank(&s, 0);
        ps_analysis_opts opts = {.step_id = -1, .one_of_several = is_one};
        report_over(&o, &trace, 1, &opts, NULL);
        assert_int_equal(report_fired(&o, PS_RULE_ABSENT_RANK), !is_one);
        const char *text = report_text(&o, PS_RULE_COMM_EXPOSED);
        assert_int_equal(strstr(text, "not captured") != NULL, !is_one);
        assert_non_null(strstr(text, "the rank at place 3 of group world"));
        report_fini(&o);
    }
}

/* The n-th allocation fails, for every n. */
static void fail_each_allocation(bool no_peers) {
    const ps_analysis *analysis = ps_analysis_find("report");
    const shape s = {.own = {0, 1}, .n_places = 4, .no_peers = no_peers};
    ps_trace *traces[2] = {one_rank(&s, 0), one_rank(&s, 1)};
    ps_analysis_opts opts = {.step_id = -1};
    ps_rank_info infos[2] = {{.rank = 0, .profiler = "Ascend"}, {.rank = 1, .profiler = "Ascend"}};
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_diag diag = {0};
        ps_diag *diags[2] = {&diag, &diag};
        void *partials[2] = {NULL, NULL};
        void *shared = NULL;
        ps_result result = {0};
        ps_err err = PS_ERR_INIT;
        ps_code code = PS_OK;
        (void)ps_alloc_fail_at(n);
        for (size_t r = 0; code == PS_OK && r < 2; r++) {
            ps_map_input in = {.trace = traces[r], .rank = &infos[r], .opts = &opts, .diag = &diag};
            code = ps_round_map(&analysis->rounds[0], &in, &partials[r], &err);
        }
        ps_reduce_input in = {.ranks = infos,
                              .partials = partials,
                              .diags = diags,
                              .n_ranks = 2,
                              .opts = &opts,
                              .result = &result};
        code = code == PS_OK ? analysis->rounds[1].reduce(&in, &shared, &err) : code;
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        analysis->free_partial(partials[0]);
        analysis->free_partial(partials[1]);
        ps_result_fini(&result);
    }
    ps_trace_free(traces[0]);
    ps_trace_free(traces[1]);
}

static void out_of_memory(void **state) {
    (void)state;
    fail_each_allocation(false);
    fail_each_allocation(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(absent_rank),
        cmocka_unit_test(the_rank_to_look_at),
        cmocka_unit_test(last_of_a_part),
        cmocka_unit_test(metadata_name_the_rank),
        cmocka_unit_test(place_without_a_rank),
        cmocka_unit_test(captured_rank_is_late),
        cmocka_unit_test(hidden_waits_cost_nothing),
        cmocka_unit_test(rows_add_up_to_the_sentence),
        cmocka_unit_test(no_rank_gains_for_another),
        cmocka_unit_test(waits_for_nobody_knows_whom),
        cmocka_unit_test(one_rank_without_names),
        cmocka_unit_test(nobody_is_absent),
        cmocka_unit_test(machines_apart),
        cmocka_unit_test(gains_before_absent_ranks),
        cmocka_unit_test(gains_beside_waits_for_absent_ranks),
        cmocka_unit_test(part_of_a_group),
        cmocka_unit_test(one_of_several),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

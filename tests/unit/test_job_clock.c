/* Clocks of a job: by hand, and every command's answer against offsets that were planted. */
#include "analyze/comm/job_clock.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/literal.h"
#include "support/asks.h"
#include "support/pp_trace.h"
#include "support/scratch.h"
#include "support/small_runs.h"

#define MS INT64_C(1000000)

static const ps_clock_rank TWO[] = {{0, NULL}, {1, NULL}};

static ps_rank_clock solved(ps_job_clock *c, ps_clock_notes *notes) {
    ps_rank_clock out[2];
    assert_int_equal(ps_job_clock_solve(c, out, notes, NULL), PS_OK);
    assert_true(out[0].reference == 0 && out[0].offset_ns == 0);
    ps_job_clock_fini(c);
    return out[1];
}

/* 0..100 on the first clock, 1040..1110 on the second: the difference lies in [1040 - 100, 1110 - 0], and by the ends at 1010. A
 * transfer says that it is at most 1000: then the ends are not to be believed, and the middle of [940, 1000] is taken. */
static void ends_count_inside_of_the_bounds(void **state) {
    (void)state;
    const ps_clock_collective collective = {0, 1, 0, 100, 1040, 1110};
    for (int with_transfer = 0; with_transfer < 2; with_transfer++) {
        ps_job_clock c;
        ps_clock_notes notes;
        assert_true(ps_job_clock_init(&c, TWO, 2, (ps_clock_span){.end_ns = 2000}, false));
        assert_true(ps_job_clock_collective(&c, &collective));
        assert_true(with_transfer == 0 || ps_job_clock_before(&c, 0, 500, 1, 1500));
        ps_rank_clock second = solved(&c, &notes);
        assert_true(second.is_known && second.reference == 0);
        assert_int_equal(second.offset_ns, with_transfer == 0 ? 1010 : 970);
        assert_int_equal(second.uncertainty_ns, with_transfer == 0 ? 100 : 30);
        assert_int_equal(notes.n_contradicted, 0);
    }
}

/* One transfer there and one back bound the difference to [-210, 220]: nothing says that the clocks differ. [30, 220] says so. */
static void equal_clocks_stay_equal(void **state) {
    (void)state;
    for (int differ = 0; differ < 2; differ++) {
        ps_job_clock c;
        ps_clock_notes notes;
        assert_true(ps_job_clock_init(&c, TWO, 2, (ps_clock_span){.end_ns = 2000}, false));
        assert_true(ps_job_clock_before(&c, 0, 100, 1, 320));
        assert_true(ps_job_clock_before(&c, 1, 500, 0, differ == 0 ? 710 : 470));
        ps_rank_clock second = solved(&c, &notes);
        assert_int_equal(second.offset_ns, differ == 0 ? 0 : 125);
        assert_int_equal(second.uncertainty_ns, differ == 0 ? 220 : 95);
    }
}

/* Bounds that exclude one another leave what is likely. */
static void contradicted_bounds(void **state) {
    (void)state;
    ps_job_clock c;
    ps_clock_notes notes;
    const ps_clock_collective collective = {1, 0, 1040, 1110, 0, 100};
    assert_true(ps_job_clock_init(&c, TWO, 2, (ps_clock_span){.end_ns = 2000}, false));
    assert_true(ps_job_clock_collective(&c, &collective));
    assert_true(ps_job_clock_before(&c, 0, 500, 1, 600));
    ps_rank_clock second = solved(&c, &notes);
    assert_true(second.is_known);
    assert_int_equal(second.offset_ns, 1010);
    assert_int_equal(second.uncertainty_ns, PS_CLOCK_UNBOUNDED);
    assert_int_equal(notes.n_contradicted, 1);
}

/* The closest times contradict one another, the sure ones do not. */
static void sure_times_stay(void **state) {
    (void)state;
    ps_job_clock c;
    ps_clock_notes notes;
    const ps_clock_order there = {0, 1, 10, 812, 10, 1020};
    const ps_clock_order back = {1, 0, 1030, 33, 1030, 50};
    assert_true(ps_job_clock_init(&c, TWO, 2, (ps_clock_span){.end_ns = 2000}, false));
    assert_true(ps_job_clock_order(&c, &there) && ps_job_clock_order(&c, &back));
    ps_rank_clock second = solved(&c, &notes);
    assert_int_equal(second.offset_ns, 995);
    assert_int_equal(second.uncertainty_ns, 15);
    assert_int_equal(second.by, PS_CLOCK_BY_ORDER);
}

/* Of very many ends a part tells the median: 20,000 from -10000 to 9999 around 5 ms. */
static void very_many_ends(void **state) {
    (void)state;
    ps_job_clock c;
    ps_clock_notes notes;
    assert_true(ps_job_clock_init(&c, TWO, 2, (ps_clock_span){.end_ns = 1000 * MS}, false));
    for (int64_t i = 0; i < 20000; i++) {
        int64_t at = i * 50000;
        int64_t off = i * 7919 % 20000 - 10000;
        const ps_clock_collective m = {
            0, 1, at, at + 40000, at + 5 * MS + 10000, at + 5 * MS + 40000 + off};
        assert_true(ps_job_clock_collective(&c, &m));
    }
    ps_rank_clock second = solved(&c, &notes);
    assert_in_range(second.offset_ns, 5 * MS - 400, 5 * MS + 400);
}

/* Ranks without a machine are left alone, or have clocks of their own. */
static void unknown_machines(void **state) {
    (void)state;
    static const ps_clock_rank RANKS[] = {{-1, NULL}, {3, NULL}, {3, NULL}, {-1, NULL}};
    for (int apart = 0; apart < 2; apart++) {
        ps_job_clock c;
        assert_true(ps_job_clock_init(&c, RANKS, 4, (ps_clock_span){0}, apart == 1));
        assert_int_equal(c.n_clocks, apart == 1 ? 3 : 1);
        assert_false(ps_job_clock_apart(&c, 1, 2));
        assert_true(ps_job_clock_apart(&c, 0, 3) == (apart == 1));
        ps_job_clock_fini(&c);
    }
}

/* --- one job, every command ---------------------------------------------------------------------------------------- */

enum { N = 4 };

static const int64_t PLANTED_NS[N] = {0, 3 * MS, -7 * MS, 12 * MS};

/* Rank r comes 2 r us late to each of six all-reduces; all leave at once, give or take a microsecond. */
static ps_trace *rank_of_job(int r, int machine) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    uint32_t world = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                                    .pid = 2,
                                                    .tid = -1,
                                                    .device = 0,
                                                    .name = ps_builder_str(b, "world", 5)});
    for (int i = 0; i < 6; i++) {
        int64_t at = 100 * MS + PLANTED_NS[r] + i * MS;
        char name[64];
        (void)snprintf(name, sizeof name, "PP:%dF%d", r, i);
        small_slice(b, PS_SLICE_ANNOTATION, host, name, at, at + 5000);
        uint32_t call =
            small_slice(b, PS_SLICE_CALL, host, "cudaLaunchKernel", at + 1000, at + 2000);
        uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, stream, "gemm", at + 3000, at + 9000);
        ps_builder_flow(b, call, kernel);
        (void)snprintf(name, sizeof name, "hcom_allReduce__123_%d_1", i);
        small_slice(b, PS_SLICE_COMM_OP, world, name, at + 10000 + 2000 * r,
                    at + 40000 + (i + r) % 3 * 1000);
    }
    if (machine >= 0) {
        char clock[320];
        (void)snprintf(clock, sizeof clock,
                       "{\"method\":\"exchange\",\"reference\":0,\"offset_ns\":%lld,"
                       "\"uncertainty_ns\":5000,\"at_ns\":%lld,\"from_ns\":%lld,\"to_ns\":%lld,"
                       "\"machine\":\"%d\"}",
                       (long long)PLANTED_NS[r], (long long)(SMALL_EPOCH_NS + 103 * MS),
                       (long long)(SMALL_EPOCH_NS + 99 * MS),
                       (long long)(SMALL_EPOCH_NS + 108 * MS), machine + 1);
        ps_builder_meta(b, "collector.clock", clock);
    }
    small_step(b, 1, 100 * MS + PLANTED_NS[r] - 1000, 107 * MS + PLANTED_NS[r]);
    return small_seal(b);
}

static void make_job(ps_trace **traces) {
    for (int r = 0; r < N; r++) {
        traces[r] = rank_of_job(r, -1);
    }
}

/* Each recorded what messages told of its clock: the planted offset, to 5 us. */
static void make_recorded_job(ps_trace **traces) {
    for (int r = 0; r < N; r++) {
        traces[r] = rank_of_job(r, r);
    }
}

static void free_job(ps_trace **traces) {
    for (int r = 0; r < N; r++) {
        ps_trace_free(traces[r]);
    }
}

static void by_slow_rank(int64_t *out) {
    ps_trace *traces[N];
    small_run run;
    make_job(traces);
    small_run_mode(&run, "slow_rank", traces, N, NULL);
    const ps_table *t = small_table(&run, "SlowRankLateness");
    assert_non_null(t);
    size_t rank = ps_table_column(t, "rankId");
    size_t offset = ps_table_column(t, "clockOffset(us)");
    assert_int_equal(t->n_rows, N);
    for (size_t i = 0; i < t->n_rows; i++) {
        out[ps_table_cell(t, i, rank)->u.i] = (int64_t)(ps_table_cell(t, i, offset)->u.r * 1000);
    }
    small_run_fini(&run);
    free_job(traces);
}

static void by_chart(int64_t *out) {
    ps_trace *traces[N];
    pp_outcome o;
    const ps_analysis_opts opts = {.step_id = -1, .clocks = PS_CLOCKS_ALL};
    make_job(traces);
    pp_run(&o, traces, N, &opts);
    assert_int_equal(o.code, PS_OK);
    assert_int_equal(o.result.chart->n_ranks, N);
    for (int r = 0; r < N; r++) {
        assert_true(o.result.chart->ranks[r].has_clock);
        out[r] = o.result.chart->ranks[r].clock_offset_ns;
    }
    pp_outcome_fini(&o);
    free_job(traces);
}

/* What was measured is taken off by default; with the order of events it is known to 5 us or better. */
static void measured_clocks_are_taken_off(void **state) {
    (void)state;
    for (int use = PS_CLOCKS_MEASURED; use <= PS_CLOCKS_RAW; use++) {
        ps_trace *traces[N];
        pp_outcome o;
        const ps_analysis_opts opts = {.step_id = -1, .clocks = (ps_clock_use)use};
        make_recorded_job(traces);
        pp_run(&o, traces, N, &opts);
        assert_int_equal(o.code, PS_OK);
        const ps_chart *chart = o.result.chart;
        assert_int_equal(chart->is_aligned, use != PS_CLOCKS_RAW);
        int64_t first_ns = INT64_MAX;
        int64_t last_ns = INT64_MIN;
        for (size_t i = 0; i < chart->n_ops; i++) {
            const ps_op *op = &chart->ops[i];
            first_ns = op->microbatch == 0 && op->start_ns < first_ns ? op->start_ns : first_ns;
            last_ns = op->microbatch == 0 && op->start_ns > last_ns ? op->start_ns : last_ns;
        }
        if (use == PS_CLOCKS_RAW) {
            assert_int_equal(last_ns - first_ns, 19 * MS);
        } else {
            assert_in_range(last_ns - first_ns, 0, 10000);
        }
        pp_outcome_fini(&o);
        free_job(traces);
    }
}

static void by_viewer(int64_t *out) {
    ps_trace *traces[N];
    asks a;
    ps_arena arena;
    ps_arena_init(&arena);
    make_job(traces);
    asks_of_traces(&a, scratch_dir, traces, N);
    const char *reply = ask(&a, "/api/align?by=clock");
    const ps_literal *v = ps_literal_parse(&arena, reply, strlen(reply), NULL);
    const ps_literal *o = ps_literal_get(v, "offsets")->child;
    for (int r = 0; r < N; r++, o = o->next) {
        assert_true(ps_literal_int(ps_literal_get(o, "offset_ns"), &out[r]));
        out[r] = -out[r]; /* what is added to the rank's times */
    }
    ps_arena_fini(&arena);
    asks_end(&a);
}

static void every_command_has_one_answer(void **state) {
    int64_t slow_rank[N];
    int64_t chart[N];
    int64_t viewer[N];
    (void)state;
    by_slow_rank(slow_rank);
    by_chart(chart);
    by_viewer(viewer);
    for (int r = 0; r < N; r++) {
        assert_in_range(slow_rank[r] - PLANTED_NS[r] + 2000, 0, 4000);
        assert_int_equal(chart[r], slow_rank[r]);
        assert_int_equal(viewer[r], slow_rank[r]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ends_count_inside_of_the_bounds),
        cmocka_unit_test(equal_clocks_stay_equal),
        cmocka_unit_test(contradicted_bounds),
        cmocka_unit_test(sure_times_stay),
        cmocka_unit_test(very_many_ends),
        cmocka_unit_test(unknown_machines),
        cmocka_unit_test(measured_clocks_are_taken_off),
        cmocka_unit_test_setup_teardown(every_command_has_one_answer, scratch_setup,
                                        scratch_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Ranks brought together: by clocks that communication bounds, by starts, by steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/literal.h"
#include "support/asks.h"
#include "support/profile.h"
#include "support/small_runs.h"

/* What one rank's clock shows at time t of the world. */
static int64_t shown(int64_t t_ns, int64_t clock_ns) {
    return t_ns + clock_ns;
}

static uint32_t group(ps_builder *b) {
    return ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                          .pid = 2,
                                          .tid = -1,
                                          .device = 0,
                                          .name = ps_builder_str(b, "world", 5)});
}

/* Two ranks meet in `n` collectives: each comes at its own time, both leave together. */
static ps_trace *rank_with(int64_t clock_ns, int64_t comes_ns, int n, int64_t first_step,
                           bool with_comm) {
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    uint32_t comm = group(b);
    for (int i = 0; i < n; i++) {
        int64_t at = 1000000 * (int64_t)i;
        char name[64];
        (void)snprintf(name, sizeof name, "hcom_allReduce__123_%d_1", i);
        small_slice(b, PS_SLICE_KERNEL, stream, "matmul", shown(at + 100, clock_ns),
                    shown(at + 5000, clock_ns));
        if (with_comm) {
            small_slice(b, PS_SLICE_COMM_OP, comm, name, shown(at + comes_ns, clock_ns),
                        shown(at + 40000, clock_ns));
        }
        small_step(b, first_step + i, shown(at, clock_ns), shown(at + 900000, clock_ns));
    }
    return small_seal(b);
}

/* A rank without communication, whose recording says how far its clock was ahead of rank 0's. */
static ps_trace *rank_that_says(int64_t clock_ns, int64_t offset_ns, int64_t uncertainty_ns,
                                unsigned machine, const char *drift_ppm, int32_t with_comm) {
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    char clock[512];
    (void)snprintf(clock, sizeof clock,
                   "{\"method\":\"exchange\",\"reference\":0,\"offset_ns\":%lld,"
                   "\"uncertainty_ns\":%lld,\"at_ns\":%lld,\"from_ns\":0,\"to_ns\":%lld,"
                   "\"drift_ppm\":%s,\"drift_uncertainty_ppm\":0.0,\"machine\":\"%u\"}",
                   (long long)offset_ns, (long long)uncertainty_ns, (long long)SMALL_EPOCH_NS,
                   (long long)(SMALL_EPOCH_NS + 9000000), drift_ppm, machine);
    ps_builder_meta(b, "collector.clock", clock);
    small_slice(b, PS_SLICE_KERNEL, stream, "matmul", shown(100, clock_ns), shown(5000, clock_ns));
    if (with_comm > 0) {
        small_slice(b, PS_SLICE_COMM_OP, group(b), "hcom_allReduce__123_0_1",
                    shown(with_comm, clock_ns), shown(40000, clock_ns));
    }
    return small_seal(b);
}

static const ps_literal *offset_of(const ps_literal *v, size_t rank) {
    const ps_literal *o = ps_literal_get(v, "offsets")->child;
    for (; rank > 0; rank--) {
        o = o->next;
    }
    return o;
}

static int64_t number_in(const ps_literal *o, const char *key) {
    int64_t n = INT64_MIN;
    assert_true(ps_literal_int(ps_literal_get(o, key), &n));
    return n;
}

static const ps_literal *parsed(ps_arena *arena, const char *text) {
    const ps_literal *v = ps_literal_parse(arena, text, strlen(text), NULL);
    if (v == NULL) {
        fail_msg("%s", text);
    }
    return v;
}

typedef struct recorded_case {
    int64_t offset_ns, uncertainty_ns;
    unsigned machine;
    bool communicates;
    int64_t want_ns, want_least_ns, want_most_ns;
    const char *how;
    const char *drift_ppm; /* NULL: 0 */
} recorded_case;

/* The second clock is 3 ms ahead; with communication it is known to -10, +30 us. */
static void clocks_as_recorded(void **state) {
    static const recorded_case CASES[] = {
        {2999000, 1500, 2, false, -2999000, 1500, 1500, "2 clocks, brought together by messages",
         NULL},
        /* 200 ppm of the 3.0049 ms from first to last: 300 ns at both ends, since a rank is moved as a whole. */
        {2999000, 1500, 2, false, -2999300, 1799, 1801, "brought together by messages", "200.0"},
        /* Narrower than what communication tells; wider; contradicted by it, so that it does not count. */
        {2999500, 900, 2, true, -3000000, 900, 1500, ", and by messages exchanged while recording",
         NULL},
        {2900000, 900000, 2, true, -3000000, 10000, 40000, "by 1 collectives", NULL},
        {9000000, 900, 2, true, -3000000, 10000, 40000, "the bounds of 1 pair of clocks contradict",
         NULL},
        /* One machine has one clock. */
        {0, 0, 1, false, 0, 0, 0, "one machine", NULL},
    };
    place *p = *state;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const recorded_case *c = &CASES[i];
        asks a;
        int32_t comes = c->communicates ? 10000 : 0;
        ps_trace *traces[] = {rank_that_says(0, 0, 0, 1, "0.0", comes),
                              rank_that_says(3000000, c->offset_ns, c->uncertainty_ns, c->machine,
                                             c->drift_ppm != NULL ? c->drift_ppm : "0.0",
                                             3 * comes)};
        asks_of_traces(&a, p->dir, traces, 2);
        ps_arena arena;
        ps_arena_init(&arena);
        const ps_literal *v = parsed(&arena, ask(&a, "/api/align?by=clock"));
        assert_int_equal(number_in(offset_of(v, 1), "offset_ns"), c->want_ns);
        assert_in_range(number_in(offset_of(v, 1), "uncertainty_ns"), c->want_least_ns,
                        c->want_most_ns);
        expect_in(ps_literal_str(ps_literal_get(v, "how")), c->how);
        ps_arena_fini(&arena);
        asks_end(&a);
    }
}

/* The second clock is 3 ms ahead. It comes 20 us after the first one, both leave at 40 us: its difference is between -10 and
 * +30 us of the truth, and by the ends exactly right. */
static void clocks(void **state) {
    place *p = *state;
    asks a;
    ps_trace *traces[] = {rank_with(0, 10000, 5, 1, true), rank_with(3000000, 30000, 5, 1, true)};
    asks_of_traces(&a, p->dir, traces, 2);
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *v = parsed(&arena, ask(&a, "/api/align?by=clock"));
    assert_string_equal(ps_literal_str(ps_literal_get(offset_of(v, 1), "rank")), asks_key(&a, 1));
    assert_int_equal(number_in(offset_of(v, 0), "offset_ns"), 0);
    assert_int_equal(number_in(offset_of(v, 0), "uncertainty_ns"), 0);
    assert_int_equal(number_in(offset_of(v, 1), "offset_ns"), -3000000);
    int64_t uncertainty = number_in(offset_of(v, 1), "uncertainty_ns");
    assert_true(uncertainty >= 10000 && uncertainty <= 40000);
    expect_in(ps_literal_str(ps_literal_get(v, "how")),
              "2 clocks, brought together by 5 collectives");
    assert_null(ps_literal_get(v, "notes")->child);
    /* the default */
    expect_in(ask(&a, "/api/align"), "\"offset_ns\":-3000000");
    ps_arena_fini(&arena);
    asks_end(&a);
}

static void nothing_connects(void **state) {
    place *p = *state;
    asks a;
    ps_trace *traces[] = {rank_with(0, 10000, 5, 1, true), rank_with(3000000, 30000, 5, 1, false)};
    asks_of_traces(&a, p->dir, traces, 2);
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *v = parsed(&arena, ask(&a, "/api/align?by=clock"));
    assert_int_equal(number_in(offset_of(v, 1), "offset_ns"), 0);
    assert_int_equal(ps_literal_get(offset_of(v, 1), "uncertainty_ns")->kind, PS_LITERAL_NULL);
    expect_in(ps_literal_str(ps_literal_get(v, "how")), "nothing connects the 2 clocks");
    expect_in(ps_literal_str(ps_literal_get(v, "notes")->child), "rank 1 has no communication");
    ps_arena_fini(&arena);
    asks_end(&a);
}

/* Rank 1 recorded from step 3 on, with a clock of its own. */
static void starts_and_steps(void **state) {
    place *p = *state;
    asks a;
    ps_trace *traces[] = {rank_with(0, 10000, 5, 1, false), rank_with(7000000, 10000, 5, 3, false),
                          rank_with(0, 10000, 2, 90, false)};
    asks_of_traces(&a, p->dir, traces, 3);
    ps_arena arena;
    ps_arena_init(&arena);
    const ps_literal *v = parsed(&arena, ask(&a, "/api/align?by=start"));
    assert_int_equal(number_in(offset_of(v, 1), "offset_ns"), -7000000);
    assert_int_equal(number_in(offset_of(v, 2), "offset_ns"), 0);
    v = parsed(&arena, ask(&a, "/api/align?by=steps"));
    assert_int_equal(number_in(offset_of(v, 1), "offset_ns"), 2000000 - 7000000);
    assert_int_equal(number_in(offset_of(v, 2), "offset_ns"), 0);
    expect_in(ps_literal_str(ps_literal_get(v, "notes")->child), "rank 2 shares no step");
    expect_in(ask_fails(&a, 400, "/api/align?by=luck"), "clock, start, steps");
    ps_arena_fini(&arena);
    asks_end(&a);
}

static void one_rank(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, rank_with(0, 10000, 5, 1, true));
    expect_in(ask(&a, "/api/align?by=clock"), "all ranks are of one machine");
    expect_in(ask(&a, "/api/align?by=steps"), "\"offset_ns\":0");
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_PLACE(clocks),           IN_PLACE(clocks_as_recorded), IN_PLACE(nothing_connects),
        IN_PLACE(starts_and_steps), cmocka_unit_test(one_rank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

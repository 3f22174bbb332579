/* Who waits for whom, and the modes that stand on it. Ranks are made by hand; times in microseconds. */
#include <stdio.h>
#include <string.h>

#include "analyze/comm/skew.h"
#include "base/alloc.h"
#include "support/sanitized.h"
#include "support/small_runs.h"

/* --- ranks ------------------------------------------------------------------------------------------------------ */

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static uint32_t group_track(ps_builder *b, const char *name) {
    return ps_builder_track(b, (ps_track){.kind = PS_TRACK_COMM_GROUP,
                                          .pid = 2,
                                          .tid = -1,
                                          .device = 0,
                                          .name = ps_builder_str(b, name, strlen(name))});
}

static uint32_t comm(ps_builder *b, const char *group, const char *name, int64_t start_us,
                     int64_t end_us) {
    uint32_t op = small_slice(b, PS_SLICE_COMM_OP, group_track(b, group), name, start_us * 1000,
                              end_us * 1000);
    small_arg(b, op, "dataType", "FP16");
    ps_builder_arg_int(b, op, "count", 500);
    return op;
}

static void free_all(ps_trace **traces, size_t n) {
    for (size_t r = 0; r < n; r++) {
        ps_trace_free(traces[r]);
    }
}

/* --- slow_rank -------------------------------------------------------------------------------------------------- */

/* Four ranks, two steps, the same name in both. The clock of rank 1 is 5000 ahead.
 *
 *   step 1  starts 4, 2, 304, 0, all end at 404: durations 400, 402, 100, 404. (402 - 400 is nothing:) the smallest is
 *           (400 - 100) / (404 - 100) = 0.987 > 0.920 away: a vote for rank 2, 300 after rank 0, the one before it
 *   step 2  starts 1004, 1002, 1006, 1000, all end at 1404: (398, 400, 402, 404) 2 / 6: no vote; rank 2 is last by 2
 *
 * Were the steps one sample, the name would have eight values and rank 2 two of them. */
static void make_four(ps_trace *traces[4]) {
    static const int64_t STARTS[2][4] = {{4, 2, 304, 0}, {1004, 1002, 1006, 1000}};
    for (int r = 0; r < 4; r++) {
        ps_builder *b = ps_builder_new();
        int64_t skew = r == 1 ? 5000 : 0;
        small_step(b, 1, skew * 1000, (skew + 1000) * 1000);
        small_step(b, 2, (skew + 1000) * 1000, (skew + 2000) * 1000);
        for (int k = 0; k < 2; k++) {
            (void)comm(b, "g", "hcom_allReduce__1_0_1", skew + STARTS[k][r], skew + k * 1000 + 404);
        }
        traces[r] = small_seal(b);
    }
}

static void votes_by_collective(void **state) {
    (void)state;
    ps_trace *traces[4];
    make_four(traces);
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 4, NULL);
    assert_int_equal(o.code, PS_OK);
    small_expect(&o, "SlowRank", "2|1\n");
    /* mean 1306 / 4 = 326.5; deviations -226.5, 73.5, 75.5, 77.5: squares 68411, / 3 -> 151.009 */
    small_expect(&o, "SlowOpStats",
                 "2|hcom_allReduce__1_0_1|g|1700000000000304000|4|326500|151008.8298|100000|325000|"
                 "401000|402500|404000|1306000\n");
    /* behind the first: rank 0 4 and 4, rank 1 2 and 2, rank 2 304 and 6. Waits: 300 + 2, 302 + 4, -, 304 + 6 */
    small_expect(&o, "SlowRankLateness",
                 "2|g|NULL|collective|2|2|302|155|304|0|0|0\n"
                 "0|g|NULL|collective|2|0|0|4|4|302|0|0\n"
                 "1|g|NULL|collective|2|0|0|2|2|306|5000|0\n"
                 "3|g|NULL|collective|2|0|0|0|0|310|0|0\n");
    small_run_fini(&o);
    ps_analysis_opts second = {.step_id = 2};
    small_run_mode(&o, "slow_rank", traces, 4, &second);
    small_expect(&o, "SlowRank", "");
    small_run_fini(&o);
    free_all(traces, 4);
}

/* Two ranks: lateness decides. The first collective: rank 1 begins 300 late, and rank 0 spends 300 of 400 waiting. The
 * second: 40 of 400. The third: 8 of 10, but that is less than 10 us. */
static void two_ranks_vote_by_lateness(void **state) {
    (void)state;
    static const int64_t STARTS[2][3] = {{0, 1000, 2000}, {300, 1040, 2008}};
    static const int64_t ENDS[3] = {400, 1400, 2010};
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        for (int k = 0; k < 3; k++) {
            (void)comm(b, "g", "hcom_allGather__1_0_1", STARTS[r][k], ENDS[k]);
        }
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 2, NULL);
    small_expect(&o, "SlowRank", "1|1\n");
    small_expect(&o, "SlowRankLateness",
                 "1|g|NULL|collective|3|3|348|116|300|0|0|0\n"
                 "0|g|NULL|collective|3|0|0|0|0|348|0|0\n");
    small_run_fini(&o);
    free_all(traces, 2);
}

/* Receives wait for their send. Without collectives the two clocks are not known to agree: the receive of 260 against the
 * send of 90 waited 170. With one that ends at the same time for both it is the send's start that counts: 450 - 300. */
static void receives_are_charged_to_the_sender(void **state) {
    (void)state;
    for (int joined = 0; joined < 2; joined++) {
        ps_trace *traces[2];
        for (int r = 0; r < 2; r++) {
            ps_builder *b = ps_builder_new();
            if (joined == 1) {
                (void)comm(b, "all", "hcom_allReduce__9_0_1", 1000, 1100);
            }
            if (r == 0) {
                (void)comm(b, "pp", "hcom_send__1_0_1", 450, 540);
            } else {
                (void)comm(b, "pp", "hcom_receive__1_0_1", 300, 560);
            }
            traces[r] = small_seal(b);
        }
        small_run o;
        small_run_mode(&o, "slow_rank", traces, 2, NULL);
        small_expect(&o, "SlowRank", "");
        small_expect(&o, "SlowRankLateness",
                     joined == 1 ? "0|pp|NULL|p2p|1|1|150|150|150|0|0|0\n"
                                   "0|all|NULL|collective|1|0|0|0|0|0|0|0\n"
                                   "1|all|NULL|collective|1|0|0|0|0|0|0|0\n"
                                   "1|pp|NULL|p2p|0|0|0|0|0|150|0|0\n"
                                 : "0|pp|NULL|p2p|1|1|170|170|170|0|0|0\n"
                                   "1|pp|NULL|p2p|0|0|0|0|0|170|0|1\n");
        small_run_fini(&o);
        free_all(traces, 2);
    }
}

/* Of three transfers the second one's send was lost: the other two are pairs by their numbers, and the receive alone is unmatched. The
 * first receive waits 450 - 300, the third 2450 - 2400. */
static void a_lost_send_costs_one_pair(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        (void)comm(b, "all", "hcom_allReduce__9_0_1", 1000, 1100);
        if (r == 0) {
            (void)comm(b, "pp", "hcom_send__1_0_1", 450, 540);
            (void)comm(b, "pp", "hcom_send__1_2_1", 2450, 2540);
        } else {
            (void)comm(b, "pp", "hcom_receive__1_0_1", 300, 560);
            (void)comm(b, "pp", "hcom_receive__1_1_1", 1300, 1560);
            (void)comm(b, "pp", "hcom_receive__1_2_1", 2400, 2560);
        }
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 2, NULL);
    small_expect(&o, "SlowRankLateness",
                 "0|pp|NULL|p2p|2|2|200|100|150|0|0|0\n"
                 "0|all|NULL|collective|1|0|0|0|0|0|0|0\n"
                 "1|all|NULL|collective|1|0|0|0|0|0|0|0\n"
                 "1|pp|NULL|p2p|0|0|0|0|0|200|0|0\n");
    small_run_fini(&o);
    free_all(traces, 2);
}

/* The two are not at work together: the send was over long before its receive began. Who waited for whom is not known; of two
 * transfers, one of which tells, that one counts. Collectives tell that the clocks agree. */
static void transfers_apart_tell_nothing(void **state) {
    (void)state;
    for (int and_another = 0; and_another < 2; and_another++) {
        ps_trace *traces[2];
        for (int r = 0; r < 2; r++) {
            ps_builder *b = ps_builder_new();
            const char *name = r == 0 ? "hcom_send__1_0_1" : "hcom_receive__1_0_1";
            int64_t at = r == 0 ? 3000 : 8000;
            (void)comm(b, "all", "hcom_allReduce__9_0_1", 1000, 1100);
            (void)comm(b, "all", "hcom_allReduce__9_1_1", 20000, 20100);
            (void)comm(b, "pp", name, at, at + 100);
            if (and_another == 1) {
                (void)comm(b, "pp", name, r == 0 ? 15020 : 15000, 15100);
            }
            traces[r] = small_seal(b);
        }
        small_run o;
        small_run_mode(&o, "slow_rank", traces, 2, NULL);
        small_expect(&o, "SlowRankLateness",
                     and_another == 0 ? "0|all|NULL|collective|2|0|0|0|0|0|0|0\n"
                                        "0|pp|NULL|p2p|1|NULL|NULL|NULL|NULL|0|0|0\n"
                                        "1|all|NULL|collective|2|0|0|0|0|0|0|0\n"
                                        "1|pp|NULL|p2p|0|0|0|0|0|NULL|0|0\n"
                                      : "0|pp|NULL|p2p|2|1|20|20|20|0|0|0\n"
                                        "0|all|NULL|collective|2|0|0|0|0|0|0|0\n"
                                        "1|all|NULL|collective|2|0|0|0|0|0|0|0\n"
                                        "1|pp|NULL|p2p|0|0|0|0|0|20|0|0\n");
        assert_int_equal(o.diags[1].counts[PS_ODD_TRANSFER_APART], 1);
        small_run_fini(&o);
        free_all(traces, 2);
    }
}

/* In a group of four the other end is known by its place: ranks 0 .. 3 have the places 3, 2, 1, 0. Rank 0 (place 3) sends
 * to place 1, which is rank 2. */
static void places_tell_the_other_end(void **state) {
    (void)state;
    ps_trace *traces[4];
    for (int r = 0; r < 4; r++) {
        ps_builder *b = ps_builder_new();
        uint32_t op = PS_NONE;
        if (r == 0) {
            op = comm(b, "pp", "hcom_send__1_0_1", 200, 260);
        } else if (r == 2) {
            op = comm(b, "pp", "hcom_receive__1_0_1", 100, 260);
        } else {
            op = comm(b, "pp", "hcom_send__1_7_1", 900, 910); /* nobody receives these */
        }
        ps_builder_arg_int(b, op, "srcRank", 3 - r);
        ps_builder_arg_int(b, op, "dstRank", r == 0 ? 1 : r == 2 ? 3 : r == 1 ? 0 : 2);
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 4, NULL);
    small_expect(&o, "SlowRankLateness",
                 "0|pp|NULL|p2p|1|1|100|100|100|0|0|0\n2|pp|NULL|p2p|0|0|0|0|0|100|0|2\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_COMM_UNMATCHED], 2);
    small_run_fini(&o);
    free_all(traces, 4);
}

/* Kernels of PyTorch name the other end by its global rank, and groups of one name are told apart by their members:
 * ranks 0, 1 and ranks 2, 3 are two groups "1". Rank 0 sends to 1 (which waits 100), 3 to 2 (which waits 30). Were the
 * all-reduces of the four one collective, rank 3 would be late. */
static void kernels_and_their_groups(void **state) {
    (void)state;
    static const int64_t RECEIVE_US[2] = {100, 170};
    ps_trace *traces[4];
    for (int r = 0; r < 4; r++) {
        ps_builder *b = ps_builder_new();
        const char *members = r < 2 ? "[0, 1]" : "[2, 3]";
        bool sends = r == 0 || r == 3;
        int64_t start = r < 2 ? 0 : 40;
        uint32_t all = small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 1), "ncclAllReduce",
                                   start * 1000, 100000);
        int64_t at = sends ? 200 : RECEIVE_US[r / 2];
        uint32_t one = small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 2), "ncclSendRecv",
                                   at * 1000, 250000);
        small_arg(b, all, "Collective name", "allreduce");
        small_arg(b, one, "Collective name", sends ? "send" : "recv");
        ps_builder_arg_int(b, one, sends ? "Dst Rank" : "Src Rank", r ^ 1);
        uint32_t both[2] = {all, one};
        for (int i = 0; i < 2; i++) {
            small_arg(b, both[i], "Process Group Name", "1");
            small_arg(b, both[i], "Process Group Ranks", members);
        }
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 4, NULL);
    small_expect(&o, "SlowRankLateness",
                 "0|1|NULL|p2p|1|1|100|100|100|0|0|0\n3|1|NULL|p2p|1|1|30|30|30|0|0|2\n"
                 "0|1|NULL|collective|1|0|0|0|0|0|0|0\n1|1|NULL|collective|1|0|0|0|0|0|0|0\n"
                 "1|1|NULL|p2p|0|0|0|0|0|100|0|0\n2|1|NULL|collective|1|0|0|0|0|0|0|2\n"
                 "2|1|NULL|p2p|0|0|0|0|0|30|0|2\n3|1|NULL|collective|1|0|0|0|0|0|0|2\n");
    small_run_fini(&o);
    free_all(traces, 4);
}

/* Numbers match what is not equally frequent: rank 1 lacks 4. Two operators launched as one carry 5. */
static void numbers_match(void **state) {
    (void)state;
    static const struct {
        int64_t number, start_us[2], end_us;
    } OPS[] = {{3, {0, 10}, 100}, {4, {200, -1}, 300}, {5, {400, 400}, 500}, {5, {600, 630}, 700}};
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        for (size_t i = 0; i < sizeof OPS / sizeof *OPS; i++) {
            if (OPS[i].start_us[r] >= 0) {
                uint32_t k = small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 1), "nccl",
                                         OPS[i].start_us[r] * 1000, OPS[i].end_us * 1000);
                small_arg(b, k, "Collective name", "_allgather_base");
                small_arg(b, k, "Process Group Name", "0");
                ps_builder_arg_int(b, k, "Seq", OPS[i].number);
            }
        }
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 2, NULL);
    small_expect(
        &o, "SlowRankLateness",
        "1|0|NULL|collective|3|2|40|13.33333333|30|0|0|0\n0|0|NULL|collective|3|0|0|0|0|40|0|0\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_COMM_UNMATCHED], 1);
    small_run_fini(&o);
    free_all(traces, 2);
}

/* Two ranks of a large job, in which nothing names the groups. Counted off, only the third and the fifth of a rank lie
 * together, and 741 - 809 would go with 701 - 740.9, which had ended before. By their ends 125 - 188 and 130 - 188 are one;
 * the other four met ranks that are not here. */
static void make_unnamed(ps_trace *traces[2]) {
    static const int64_t TIMES_US[2][5][2] = {
        {{94000, 124000}, {125000, 188000}, {296000, 307000}, {741000, 809000}, {1146000, 1182000}},
        {{130000, 188000},
         {234000, 276000},
         {299000, 307000},
         {701000, 740900},
         {1168000, 1182000}}};
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        for (size_t i = 0; i < 5; i++) {
            (void)small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 1), "ncclKernel_AllReduce",
                              TIMES_US[r][i][0] * 1000, TIMES_US[r][i][1] * 1000);
        }
        traces[r] = small_seal(b);
    }
}

static void unnamed_groups_are_told_apart_by_time(void **state) {
    (void)state;
    ps_trace *traces[2];
    make_unnamed(traces);
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 2, NULL);
    small_expect(
        &o, "SlowRankLateness",
        "1|NULL|NULL|collective|3|3|30000|10000|22000|0|0|0\n0|NULL|NULL|collective|3|0|0|0|0|30000|0|0\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_COMM_UNMATCHED], 4);
    small_run_fini(&o);
    ps_analysis_opts opts = {.step_id = -1, .rank_id = 0, .top_num = 1};
    small_run_mode(&o, "communication_bottleneck", traces, 2, &opts);
    small_expect(
        &o, "CommunicationBottleneck",
        "1700000000741000|1700000000809000|68000|ncclKernel_AllReduce|NULL|NULL|[Failed] not "
        "matched: nothing names its group, and no such operator of another rank ran and "
        "ended with it\n");
    small_run_fini(&o);
    free_all(traces, 2);
}

/* On rank 0 two operators end 100 us apart, ranks 1 and 2 have one, which overlaps with both: it goes with the nearer end.
 * A named operator connects the clocks. Rank 1 comes 20 after rank 2, which comes 10 after rank 0. */
static void the_nearest_ends_go_together(void **state) {
    (void)state;
    static const struct {
        int rank;
        int64_t start_us, end_us;
    } OPS[] = {{0, 0, 1000}, {0, 10, 1100}, {1, 40, 1100}, {2, 20, 1100}};
    ps_trace *traces[3];
    for (int r = 0; r < 3; r++) {
        ps_builder *b = ps_builder_new();
        for (size_t i = 0; i < COUNT(OPS); i++) {
            if (OPS[i].rank == r) {
                (void)small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, (int)i + 1),
                                  "ncclKernel_AllReduce", OPS[i].start_us * 1000,
                                  OPS[i].end_us * 1000);
            }
        }
        uint32_t named = small_slice(b, PS_SLICE_COMM_KERNEL, small_stream(b, 9),
                                     "ncclKernel_AllReduce", 2000000, 2100000);
        small_arg(b, named, "Collective name", "allreduce");
        small_arg(b, named, "Process Group Name", "0");
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 3, NULL);
    small_expect(
        &o, "SlowRankLateness",
        "1|NULL|NULL|collective|1|1|20|30|30|0|0|0\n0|NULL|NULL|collective|1|0|0|0|0|30|0|0\n"
        "0|0|NULL|collective|1|0|0|0|0|0|0|0\n1|0|NULL|collective|1|0|0|0|0|0|0|0\n"
        "2|NULL|NULL|collective|1|0|0|10|10|20|0|0\n2|0|NULL|collective|1|0|0|0|0|0|0|0\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_COMM_UNMATCHED], 1);
    small_run_fini(&o);
    free_all(traces, 3);
}

/* Rank 1 lacks the operator in the middle: names tell which of the others belong together. A name that ranks have unequally
 * often is left out (3 operators), and so is a match in which one ends long before the other begins (2). */
static void what_does_not_match_is_counted(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        (void)comm(b, "g", "hcom_allReduce__1_0_1", 0, 100);
        if (r == 0) {
            (void)comm(b, "g", "hcom_allReduce__1_1_1", 200, 300);
        }
        (void)comm(b, "g", "hcom_allReduce__1_2_1", 400 + r * 50, 500);
        (void)comm(b, "g", "same", 600, 700);
        if (r == 0) {
            (void)comm(b, "g", "same", 800, 900);
        }
        (void)comm(b, "g", "hcom_allGather__1_3_1", 10000 + r * 9000, 10100 + r * 9000);
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_rank", traces, 2, NULL);
    small_expect(&o, "SlowRankLateness",
                 "1|g|NULL|collective|2|1|50|25|50|0|0|0\n0|g|NULL|collective|2|0|0|0|0|50|0|0\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_COMM_UNMATCHED], 3 + 2 + 1);
    small_run_fini(&o);
    free_all(traces, 2);
}

/* --- tables of a profiler --------------------------------------------------------------------------------------- */

static ps_table *side_table(const char *name, const char *const *names, size_t n) {
    ps_table *t = ps_table_new(name, "", NULL, n);
    ps_column *columns = ps_arena_alloc(&t->arena, n * sizeof *columns);
    assert_non_null(columns);
    for (size_t c = 0; c < n; c++) {
        columns[c] = (ps_column){.name = names[c], .type = PS_COL_TEXT};
    }
    t->columns = columns;
    return t;
}

static void add_texts(ps_table *t, const char *const *cells) {
    assert_true(ps_table_add_row(t));
    for (size_t c = 0; c < t->n_columns; c++) {
        assert_true(ps_table_set_text(t, c, cells[c]));
    }
}

static void add_times(ps_builder *b) {
    static const char *const NAMES[] = {
        "hccl_op_name", "group_name",           "start_timestamp", "elapse_time", "transit_time",
        "wait_time",    "synchronization_time", "idle_time",       "step",        "type"};
    static const char *const ROWS[][COUNT(NAMES)] = {
        {"a", "77", "1000", "4", "1", "3", "1", "0.5", "step1", "collective"},
        {"b", "77", "2000", "2", "1", "0", "0", "0.5", "step1", "collective"},
        {"c", "88", "3000", "1", "0", "0", "0", "1", "step2", "p2p"},
        {"Total Op Info", "77", "0", "6", "2", "3", "1", "1", "step1", "collective"}};
    ps_table *t = side_table("CommAnalyzerTime", NAMES, COUNT(NAMES));
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        add_texts(t, ROWS[i]);
    }
    ps_builder_side_table(b, t);
}

static void add_bandwidths(ps_builder *b) {
    static const char *const NAMES[] = {"hccl_op_name",
                                        "group_name",
                                        "transport_type",
                                        "transit_size(MB)",
                                        "transit_time",
                                        "bandwidth(GB/s)",
                                        "large_packet_ratio",
                                        "package_size(MB)",
                                        "count",
                                        "total_duration",
                                        "step",
                                        "type"};
    static const char *const ROWS[][COUNT(NAMES)] = {
        {"a", "77", "HCCS", "30", "2", "15", "0", "8", "3", "1.5", "step1", "collective"},
        {"a", "77", "HCCS", "30", "2", "15", "0", "6", "1", "0.5", "step1", "collective"},
        {"b", "77", "HCCS", "10", "1", "10", "0", "8", "1", "1", "step1", "collective"}};
    ps_table *t = side_table("CommAnalyzerBandwidth", NAMES, COUNT(NAMES));
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        add_texts(t, ROWS[i]);
    }
    ps_builder_side_table(b, t);
}

/* Links of rank r, whose place is r: to itself, to the other, and to a place that nobody has. */
static void add_links(ps_builder *b, int r) {
    static const char *const NAMES[] = {
        "hccl_op_name", "group_name", "src_rank", "dst_rank", "transport_type", "transit_size",
        "transit_time", "bandwidth",  "step",     "type",     "op_name"};
    const char *own = r == 0 ? "0" : "1";
    const char *other = r == 0 ? "1" : "0";
    const char *const ROWS[][COUNT(NAMES)] = {
        {"allreduce-total", "77", own, own, "LOCAL", "1", "0.5", "2", "step1", "collective", ""},
        {"allreduce-total", "77", own, other, "HCCS", "4", "2", "2", "step1", "collective", ""},
        {"allgather-total", "77", own, other, "HCCS", "2", "1", "2", "step1", "collective", ""},
        {"allreduce-total", "77", own, "5", "HCCS", "4", "2", "2", "step1", "collective", ""}};
    ps_table *t = side_table("CommAnalyzerMatrix", NAMES, COUNT(NAMES));
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        add_texts(t, ROWS[i]);
    }
    ps_builder_side_table(b, t);
}

static void make_statistics(ps_trace *traces[2]) {
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        small_step(b, 1, 0, 500000);
        small_step(b, 2, 500000, 1000000);
        if (r == 0) {
            add_times(b);
            add_bandwidths(b);
        } else {
            (void)comm(b, "10.0.0.1%eth0_60000_0_1700000000000001", "hcom_allReduce__860_0_1", 100,
                       200);
        }
        add_links(b, r);
        traces[r] = small_seal(b);
    }
}

/* Rank 0 has statistics, rank 1 only its operator. Ratios: 1 / (2 + 1), 3 / (2 + 3). Size and time of a transport count each
 * operator once: 30 + 10 in 2 + 1. The hash of the group of rank 1 is worked out in test_commop. */
static void times_and_bandwidths(void **state) {
    (void)state;
    ps_trace *traces[2];
    make_statistics(traces);
    small_run o;
    small_run_mode(&o, "communication_time_sum", traces, 2, NULL);
    assert_int_equal(o.code, PS_OK);
    small_expect(
        &o, "ClusterCommunicationTime",
        "step1|0|a|77|1000|4|1|3|1|0.5|0|0\n"
        "step1|0|b|77|2000|2|1|0|0|0.5|0|0\n"
        "step2|0|c|88|3000|1|0|0|0|1|0|0\n"
        "step1|0|Total Op Info|77|0|6|2|3|1|1|0.3333|0.6\n"
        "step2|0|Total Op Info|88|0|1|0|0|0|1|0|0\n"
        "step1|1|hcom_allReduce__860_0_1|3703241071304399860|1.7e+15|0.1|NULL|NULL|NULL|NULL|0|0\n"
        "step1|1|Total Op Info|3703241071304399860|0|0.1|NULL|NULL|NULL|NULL|NULL|NULL\n");
    small_expect(&o, "ClusterCommunicationBandwidth",
                 "step1|0|a|77|HCCS|30|2|15|0|8|3|1.5\n"
                 "step1|0|a|77|HCCS|30|2|15|0|6|1|0.5\n"
                 "step1|0|b|77|HCCS|10|1|10|0|8|1|1\n"
                 "step1|0|Total Op Info|77|HCCS|40|3|13.3333|0|8|4|2.5\n"
                 "step1|0|Total Op Info|77|HCCS|40|3|13.3333|0|6|1|0.5\n");
    small_expect(&o, "CommunicationGroupMapping",
                 "collective|(0)|77||\n"
                 "collective|(1)|3703241071304399860|10.0.0.1%eth0_60000_0_1700000000000001|\n"
                 "p2p|(0)|88||\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_COMM_STATISTICS], 0);
    assert_int_equal(o.diags[1].counts[PS_ODD_COMM_STATISTICS], 1);
    small_run_fini(&o);
    ps_analysis_opts second = {.step_id = 2};
    small_run_mode(&o, "communication_time", traces, 2, &second);
    small_expect(&o, "ClusterCommunicationTime",
                 "step2|0|c|88|3000|1|0|0|0|1|0|0\nstep2|0|Total Op Info|88|0|1|0|0|0|1|0|0\n");
    small_run_fini(&o);
    free_all(traces, 2);
}

/* Places by the loops of the ranks; the link to place 5 is counted and left out. */
static void matrix(void **state) {
    (void)state;
    ps_trace *traces[2];
    make_statistics(traces);
    small_run o;
    small_run_mode(&o, "communication_matrix_sum", traces, 2, NULL);
    small_expect(&o, "ClusterCommunicationMatrix",
                 "step1|allreduce-total|77|0|0|LOCAL||1|0.5|2\n"
                 "step1|allreduce-total|77|0|1|HCCS||4|2|2\n"
                 "step1|allgather-total|77|0|1|HCCS||2|1|2\n"
                 "step1|allreduce-total|77|1|1|LOCAL||1|0.5|2\n"
                 "step1|allreduce-total|77|1|0|HCCS||4|2|2\n"
                 "step1|allgather-total|77|1|0|HCCS||2|1|2\n"
                 "step1|Total Op Info|77|0|0|LOCAL||1|0.5|2\n"
                 "step1|Total Op Info|77|0|1|HCCS||6|3|2\n"
                 "step1|Total Op Info|77|1|1|LOCAL||1|0.5|2\n"
                 "step1|Total Op Info|77|1|0|HCCS||6|3|2\n");
    assert_int_equal(o.diags[0].counts[PS_ODD_LINK_RANK], 1);
    small_run_fini(&o);
    free_all(traces, 2);
}

/* --- slow_link -------------------------------------------------------------------------------------------------- */

/* Eleven collectives of one type and size, ten last 100 on both ranks and one 200: one of n stands sqrt(n - 1) sigma off,
 * sqrt(10) = 3.162. Mean 1200 / 11. */
static void slow_collectives(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        for (int k = 0; k < 11; k++) {
            (void)comm(b, "g", "hcom_allReduce__1_0_1", k * 1000, k * 1000 + (k == 4 ? 200 : 100));
        }
        traces[r] = small_seal(b);
    }
    small_run o;
    small_run_mode(&o, "slow_link", traces, 2, NULL);
    small_expect(&o, "SlowLinkSum",
                 "hcom_allReduce_-2-1000|22|109090.9091|29424.49432|100000|100000|100000|100000|"
                 "200000|2400000|3.16227766|0|0\n");
    assert_int_equal(small_table(&o, "SlowLinkOps")->n_rows, 22);
    small_expect(&o, "SlowLinkMatrix", "");
    small_run_fini(&o);
    free_all(traces, 2);
}

/* Links 0-1, 0-2, 0-3 of one size at 10, 9 and 7 GB/s: the median is 9, and 7 < 7.2. The small message is of another class. */
static void slow_links(void **state) {
    (void)state;
    static const char *const NAMES[] = {
        "hccl_op_name", "group_name", "src_rank", "dst_rank", "transport_type", "transit_size",
        "transit_time", "bandwidth",  "step",     "type",     "op_name"};
    static const char *const ROWS[][COUNT(NAMES)] = {
        {"allreduce-total", "77", "0", "1", "HCCS", "40", "4", "10", "step1", "collective", ""},
        {"allreduce-total", "77", "0", "2", "HCCS", "36", "4", "9", "step1", "collective", ""},
        {"allreduce-total", "77", "0", "3", "HCCS", "35", "5", "7", "step1", "collective", ""},
        {"allgather-total", "77", "0", "3", "HCCS", "0.1", "1", "0.1", "step1", "collective", ""},
        {"allreduce-total", "77", "0", "0", "LOCAL", "40", "40", "1", "step1", "collective", ""}};
    ps_builder *b = ps_builder_new();
    ps_builder_meta(b, "parallel_group_info",
                    "{\"77\": {\"group_name\": \"dp\", \"global_ranks\": [8, 9, 10, 11]}}");
    ps_table *t = side_table("CommAnalyzerMatrix", NAMES, COUNT(NAMES));
    for (size_t i = 0; i < COUNT(ROWS); i++) {
        add_texts(t, ROWS[i]);
    }
    ps_builder_side_table(b, t);
    ps_trace *trace = small_seal(b);
    small_run o;
    small_run_mode(&o, "slow_link", &trace, 1, NULL);
    small_expect(&o, "SlowLinkMatrix", "8|11|HCCS|77|allreduce-total|35|5|7|9|0.7777777778|3\n");
    small_run_fini(&o);
    ps_trace_free(trace);
}

/* --- the others --------------------------------------------------------------------------------------------------- */

/* dp [100, 200) and [150, 250), computing [120, 170): the union is 150, of which 100 are in the open; the step is 1000. */
static void masking(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    ps_builder_meta(b, "parallel_group_info",
                    "{\"g\": {\"group_name\": \"dp\"}, \"h\": {\"group_name\": \"exp\"}}");
    small_step(b, 5, 0, 1000000);
    (void)comm(b, "g", "one", 100, 200);
    (void)comm(b, "g", "two", 150, 250);
    (void)comm(b, "h", "three", 300, 400);
    (void)small_slice(b, PS_SLICE_KERNEL, small_stream(b, 1), "mul", 120000, 170000);
    ps_trace *t = small_seal(b);
    small_run o;
    ps_analysis_opts opts = {.step_id = -1, .parallel_types = " dp , ep;pp;;ep"};
    small_run_mode(&o, "computational_op_masking", &t, 1, &opts);
    small_expect(&o, "ComputationalOperatorMaskingLinearity",
                 "5|dp+ep|1700000000000000000|1700000000001000000|250000|0.25|200000|0.2\n"
                 "5|ep|1700000000000000000|1700000000001000000|100000|0.1|100000|0.1\n");
    small_run_fini(&o);
    small_run_mode(&o, "computational_op_masking", &t, 1, NULL);
    small_expect(&o, "ComputationalOperatorMaskingByRank",
                 "0|5|dp+edp|1700000000000000000|1700000000001000000|150000|0.15|100000|0.1\n"
                 "0|5|dp|1700000000000000000|1700000000001000000|150000|0.15|100000|0.1\n"
                 "0|5|ep|1700000000000000000|1700000000001000000|100000|0.1|100000|0.1\n");
    small_run_fini(&o);
    ps_trace_free(t);
}

static void sums(void **state) {
    (void)state;
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        (void)comm(b, "10.0.0.1%eth0_60000_0_1700000000000001", "hcom_allReduce__860_0_1", 0,
                   10 + r * 10);
        (void)comm(b, "10.0.0.1%eth0_60000_0_1700000000000001", "hcom_send__860_1_1", 100, 140);
        traces[r] = small_seal(b);
    }
    small_run o;
    ps_analysis_opts top = {.step_id = -1, .top_num = 1};
    small_run_mode(&o, "hccl_sum", traces, 2, &top);
    small_expect(&o, "HcclAllRankStats",
                 "hcom_send_|2|40000|0|40000|40000|40000|40000|40000|80000\n"
                 "hcom_allReduce_|2|15000|7071.067812|10000|12500|15000|17500|20000|30000\n");
    small_expect(&o, "HcclPerRankStats",
                 "hcom_send_|1|40000|NULL|40000|40000|40000|40000|40000|40000|0\n"
                 "hcom_allReduce_|1|10000|NULL|10000|10000|10000|10000|10000|10000|0\n"
                 "hcom_send_|1|40000|NULL|40000|40000|40000|40000|40000|40000|1\n"
                 "hcom_allReduce_|1|20000|NULL|20000|20000|20000|20000|20000|20000|1\n");
    small_expect(&o, "HcclTopOpStats",
                 "hcom_send__860_1_1|2|40000|0|40000|40000|40000|40000|40000|80000|0|0\n");
    small_expect(&o, "HcclGroupNameMap", "10.0.0.1%eth0_60000_0_1700000000000001|860|0;1\n");
    small_run_fini(&o);
    free_all(traces, 2);
}

/* Rank 1 comes 2000 late: between 3000 and 5000 it ran mul for 1500, 500 longer than rank 0, and add for 500; mul was
 * launched at 2900 and lay in the queue for 100 or less. */
static void bottleneck_of(const char *const shapes[2], const char *likeness) {
    ps_trace *traces[2];
    for (int r = 0; r < 2; r++) {
        ps_builder *b = ps_builder_new();
        uint32_t stream = small_stream(b, 1);
        uint32_t thread = small_thread(b, 1);
        int64_t mul = r == 0 ? 1500 : 3000;
        int64_t add = r == 0 ? 2500 : 4500;
        int64_t end = r == 0 ? 3000 : 5000;
        (void)small_slice(b, PS_SLICE_KERNEL, stream, "first", 0, 500000);
        uint32_t call =
            small_slice(b, PS_SLICE_CALL, thread, "launch", (mul - 100) * 1000, (mul - 50) * 1000);
        uint32_t kernel = small_slice(b, PS_SLICE_KERNEL, stream, "mul", mul * 1000, add * 1000);
        ps_builder_flow_of(b, call, kernel, ps_builder_str(b, "ac2g", 4));
        if (shapes[r] != NULL) {
            small_arg(b, kernel, "inputShapes", shapes[r]);
        }
        (void)small_slice(b, PS_SLICE_KERNEL, stream, "add", add * 1000, end * 1000);
        (void)comm(b, "g", "hcom_allReduce__1_0_1", end, 9000);
        (void)comm(b, "g", "hcom_allGather__1_1_1", 10000 + r, 11000);
        (void)comm(b, "g", r == 0 ? "alone" : "other", 12000, 12500);
        traces[r] = small_seal(b);
    }
    small_run o;
    ps_analysis_opts opts = {.step_id = -1, .rank_id = 1};
    small_run_mode(&o, "communication_bottleneck", traces, 2, &opts);
    char expected[1024];
    (void)snprintf(
        expected, sizeof expected,
        "1700000000005000|1700000000009000|4000|hcom_allReduce__1_0_1|1|0|[Completed] rank 1 began "
        "2.00 ms after rank 0: host-bound, 0 of 1 kernel lay in the queue over 100 us (they ran "
        "2.00 ms); mul took 500 us longer%s; 1.50 ms were lost before mul\n"
        "1700000000010001|1700000000011000|999|hcom_allGather__1_1_1|1|0|[Completed] no slow rank: the "
        "wait is 0.1%% of the duration\n"
        "1700000000012000|1700000000012500|500|other|NULL|NULL|[Failed] no other rank of the input has "
        "this operator\n",
        likeness);
    small_expect(&o, "CommunicationBottleneck", expected);
    small_run_fini(&o);
    opts.rank_id = 7;
    small_run_mode(&o, "communication_bottleneck", traces, 2, &opts);
    assert_int_equal(o.code, PS_NOTHING);
    small_run_fini(&o);
    free_all(traces, 2);
}

/* What of one name is the same work: of equal shapes. */
static void bottleneck(void **state) {
    (void)state;
    bottleneck_of((const char *const[2]){NULL, NULL},
                  " (shapes were not recorded: that they are equal is assumed)");
    bottleneck_of((const char *const[2]){"4,4", "4,4"}, "");
    bottleneck_of((const char *const[2]){"4,4", "8,4"},
                  " (other work: shapes 8,4, on the other rank 4,4)");
    bottleneck_of((const char *const[2]){NULL, "8,4"},
                  " (shapes were recorded of one of the ranks only)");
}

static const char *const MODES[] = {"communication_group_map",
                                    "communication_time_sum",
                                    "communication_matrix_sum",
                                    "hccl_sum",
                                    "slow_rank",
                                    "slow_link",
                                    "communication_bottleneck",
                                    "computational_op_masking"};

/* A rank that failed, one without communication, a step that is not there: nothing, or the others. */
static void little_input(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_step(b, 1, 0, 100);
    ps_trace *traces[2] = {NULL, small_seal(b)};
    for (size_t i = 0; i < COUNT(MODES); i++) {
        small_run o;
        small_run_mode(&o, MODES[i], traces, 2, NULL);
        assert_int_equal(o.map_codes[1], PS_NOTHING);
        small_run_fini(&o);
        ps_analysis_opts missing = {.step_id = 9};
        small_run_mode(&o, MODES[i], traces, 2, &missing);
        assert_int_equal(o.map_codes[1], PS_NOTHING);
        small_run_fini(&o);
    }
    ps_trace_free(traces[1]);
}

static void memory(void **state) {
    (void)state;
    ps_trace *four[4];
    ps_trace *two[2];
    ps_trace *unnamed[2];
    make_four(four);
    make_statistics(two);
    make_unnamed(unnamed);
    for (size_t i = 0; i < COUNT(MODES) * 3; i++) {
        bool done = false;
        for (int64_t n = 0; !done; n += PS_NEXT_FAILURE) {
            small_run o;
            (void)ps_alloc_fail_at(n);
            ps_trace **traces = i % 3 == 0 ? four : i % 3 == 1 ? two : unnamed;
            small_run_mode(&o, MODES[i / 3], traces, i % 3 == 0 ? 4 : 2, NULL);
            done = ps_alloc_fail_at(-1) <= n;
            assert_true(o.code == PS_OK || o.code == PS_NOMEM || o.code == PS_NOTHING);
            small_run_fini(&o);
        }
    }
    free_all(four, 4);
    free_all(two, 2);
    free_all(unnamed, 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(votes_by_collective),
        cmocka_unit_test(two_ranks_vote_by_lateness),
        cmocka_unit_test(receives_are_charged_to_the_sender),
        cmocka_unit_test(a_lost_send_costs_one_pair),
        cmocka_unit_test(transfers_apart_tell_nothing),
        cmocka_unit_test(places_tell_the_other_end),
        cmocka_unit_test(kernels_and_their_groups),
        cmocka_unit_test(numbers_match),
        cmocka_unit_test(what_does_not_match_is_counted),
        cmocka_unit_test(unnamed_groups_are_told_apart_by_time),
        cmocka_unit_test(the_nearest_ends_go_together),
        cmocka_unit_test(times_and_bandwidths),
        cmocka_unit_test(matrix),
        cmocka_unit_test(slow_collectives),
        cmocka_unit_test(slow_links),
        cmocka_unit_test(masking),
        cmocka_unit_test(sums),
        cmocka_unit_test(bottleneck),
        cmocka_unit_test(little_input),
        cmocka_unit_test(memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

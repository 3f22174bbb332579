/* Schedule files of PyTorch: action texts, what follows from rows, what is wrong in a file and where; and files of
 * durations. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "schedule/action.h"
#include "schedule/csv.h"
#include "schedule/durations.h"
#include "schedule/sim.h"

/* --- actions ------------------------------------------------------------------------------------------------------ */

static void expect_action(const char *text, const char *again) {
    ps_action action;
    if (!ps_action_parse(text, strlen(text), &action)) {
        fail_msg("'%s' is an action", text);
    }
    char out[128];
    ps_action_text(&action, out, sizeof out);
    assert_string_equal(out, again);
}

static void test_actions(void **context) {
    (void)context;
    static const char *const SAME[] = {"3F7",
                                       "0I0",
                                       "12W345",
                                       "1B2",
                                       "1BW0",
                                       "0SEND_F1",
                                       "2RECV_F10",
                                       "0SEND_B1",
                                       "0RECV_B1",
                                       "0UNSHARD",
                                       "0RESHARD",
                                       "0REDUCE_GRAD",
                                       "(0F7;7B3)OVERLAP_F_B",
                                       "(7F4;0B0;1W2)OVERLAP_F_B"};
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0]; i++) {
        expect_action(SAME[i], SAME[i]);
    }
    expect_action("  3F7\t", "3F7");
    expect_action(" ( 0F7 ; 7B3 ) OVERLAP_F_B ", "(0F7;7B3)OVERLAP_F_B");
    expect_action("007F01", "7F1");
}

static void test_no_actions(void **context) {
    (void)context;
    static const char *const BAD[] = {"",
                                      " ",
                                      "F7",
                                      "3F",
                                      "3X7",
                                      "3f7",
                                      "3F-1",
                                      "3F7x",
                                      "3F 7",
                                      "0RESHARD1",
                                      "0UNSHAR",
                                      "3FF7",
                                      "3_7",
                                      "1234567890F0",
                                      "0F1234567890",
                                      "(0F7;7B3)",
                                      "(0F7)OVERLAP_F_B",
                                      "()OVERLAP_F_B",
                                      "(0F7;)OVERLAP_F_B",
                                      "(0F7;7B3",
                                      "(0F7;7B3)OVERLAP_F",
                                      "((0F7;7B3))OVERLAP_F_B",
                                      "0OVERLAP_F_B1",
                                      "(0F1;0F2;0F3;0F4;0F5;0F6;0F7;0F8;0F9)OVERLAP_F_B"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        ps_action action;
        if (ps_action_parse(BAD[i], strlen(BAD[i]), &action)) {
            fail_msg("'%s' is no action", BAD[i]);
        }
    }
}

static void test_action_text_is_cut(void **context) {
    (void)context;
    ps_action action;
    assert_true(ps_action_parse("(0F7;7B3)OVERLAP_F_B", 20, &action));
    for (size_t size = 1; size < 24; size++) {
        char out[24];
        ps_action_text(&action, out, size);
        assert_int_equal(strlen(out), size - 1 < 20 ? size - 1 : 20);
        assert_memory_equal(out, "(0F7;7B3)OVERLAP_F_B", strlen(out));
    }
}

/* --- good files --------------------------------------------------------------------------------------------------- */

static ps_sim_plan *plan_of(const char *text) {
    ps_lists lists;
    ps_err err = PS_ERR_INIT;
    ps_sim_plan *plan = NULL;
    if (ps_lists_parse_csv(&lists, "dir/s.csv", text, strlen(text), &err) == PS_OK) {
        plan = ps_sim_plan_of_lists(&lists, &err);
    }
    if (plan == NULL) {
        fail_msg("%s", err.msg);
    }
    return plan;
}

static int64_t makespan(const ps_sim_plan *plan) {
    static int64_t ns[4096], start[4096], end[4096];
    assert_in_range(plan->n_ops, 1, 4096);
    ps_sim_fill_durations(
        plan, &(ps_sim_times){.f_ns = 1000, .b_ns = 2100, .w_ns = 900, .fb_ns = 2600, .p2p_ns = 50},
        ns);
    ps_sim_result r = {.start_ns = start, .end_ns = end};
    assert_int_equal(ps_sim_run(plan, ns, 50, 0, &r, NULL), PS_OK);
    return r.last_ns - r.first_ns;
}

/* As PyTorch writes it. */
static void print_csv(const ps_lists *lists, ps_buf *out) {
    for (int32_t d = 0; d < lists->n_stages; d++) {
        for (size_t i = lists->first[d]; i < lists->first[d + 1]; i++) {
            const ps_sched_op *op = &lists->ops[i];
            bool pair = op->kind == PS_OP_FB;
            ps_action action = {.n_parts = pair ? 2 : 1};
            action.parts[0] =
                (ps_action_part){pair ? PS_ACTION_F : ps_action_kind_of(op->kind),
                                 ps_lists_logical(lists, d, op->chunk), op->microbatch};
            if (pair) {
                action.parts[1] = (ps_action_part){
                    PS_ACTION_B, ps_lists_logical(lists, d, op->chunk2), op->microbatch2};
            }
            char text[64];
            ps_action_text(&action, text, sizeof text);
            ps_buf_addf(out, "%s%s", i == lists->first[d] ? "" : ",", text);
        }
        ps_buf_add_str(out, "\r\n");
    }
}

/* Every schedule of one way through the model, written and read again, is the same. */
static void test_round_trip(void **context) {
    (void)context;
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        const ps_schedule *s = ps_schedules()[i];
        ps_schedule_params params = {
            .n_stages = 4, .n_microbatches = 12, .overlap = (s->takes & PS_TAKES_OVERLAP) != 0};
        if (s->n_chains > 1) {
            continue;
        }
        ps_sim_plan *made = ps_sim_plan_new(s, &params, NULL);
        assert_non_null(made);
        ps_buf csv;
        ps_buf_init(&csv, 0);
        print_csv(&made->lists, &csv);
        ps_sim_plan *read = plan_of(ps_buf_str(&csv));
        assert_int_equal(read->lists.n_stages, 4);
        assert_int_equal(read->lists.n_microbatches, 12);
        assert_int_equal(read->lists.n_chunks, made->lists.n_chunks);
        assert_int_equal(read->lists.chain_length, made->lists.chain_length);
        assert_memory_equal(read->lists.logical, made->lists.logical,
                            (size_t)made->lists.n_logical * sizeof *made->lists.logical);
        assert_int_equal(read->n_ops, made->n_ops);
        for (uint32_t op = 0; op < made->n_ops; op++) {
            ps_sched_op want = made->ops[op];
            want.phase = -1;
            assert_memory_equal(&read->ops[op], &want, sizeof want);
        }
        assert_int_equal(makespan(read), makespan(made));
        ps_buf_fini(&csv);
        ps_sim_plan_free(read);
        ps_sim_plan_free(made);
    }
}

static void expect_ops(const char *text, const char *kinds) {
    ps_sim_plan *plan = plan_of(text);
    ps_buf b;
    ps_buf_init(&b, 0);
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        ps_buf_addf(&b, "%s%s%d", op == 0 ? "" : " ", ps_op_kind_name(plan->ops[op].kind),
                    (int)plan->ops[op].microbatch);
    }
    assert_string_equal(ps_buf_str(&b), kinds);
    ps_buf_fini(&b);
    ps_sim_plan_free(plan);
}

static void test_layout(void **context) {
    (void)context;
    /* Idle steps, rows of different lengths, line ends, blanks, no newline at the end, blank lines behind. */
    expect_ops("0F0,0F1,,0B0,0B1\n,1F0,1B0,1F1,1B1,,\n", "F0 F1 B0 B1 F0 B0 F1 B1");
    expect_ops("0F0,0B0\r\n1F0,1B0\r\n", "F0 B0 F0 B0");
    expect_ops(" 0F0 ,\t0B0 \n 1F0, 1B0\n\n \r\n", "F0 B0 F0 B0");
    expect_ops("0F0,0B0", "F0 B0");
    /* With communication and sharding, which the simulator finds out by itself. */
    expect_ops(
        "0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0REDUCE_GRAD,0RESHARD\n1RECV_F0,1F0,1B0,1SEND_B0\n",
        "F0 B0 F0 B0");
    /* The backward may stand first in a pair. */
    expect_ops("0F0,1F0,1B0,(0B0;0F1)OVERLAP_F_B,1F1,1B1,0B1", "F0 F0 B0 FB1 F1 B1 B1");
}

/* Late 2024: BW is the whole backward and B the input gradient. */
static void test_old_names(void **context) {
    (void)context;
    expect_ops("0F0,0BW0\n1F0,1B0,1W0\n", "F0 B0 F0 BI0 BW0");
    expect_ops("0F0,0B0,0W0\n", "F0 BI0 BW0");
    expect_ops("0F0,0F1,0I0,0W0,0B1\n", "F0 F1 BI0 BW0 B1");
    expect_ops("0F0,0F1,0I0,0W0,0BW1\n", "F0 F1 BI0 BW0 B1");
    expect_ops("0F0,(0F1;0BW0)OVERLAP_F_B,0BW1\n", "F0 FB1 B1");
}

/* Stages on devices in any way: the chunks of a device are its stages in order. */
static void test_places(void **context) {
    (void)context;
    ps_sim_plan *plan = plan_of("0F0,2F0,2B0,0B0\n1F0,1B0\n");
    assert_int_equal(plan->lists.n_stages, 2);
    assert_int_equal(plan->lists.n_chunks, 2);
    assert_int_equal(plan->lists.n_logical, 3);
    static const int32_t LOGICAL[] = {0, 2, 1, -1};
    assert_memory_equal(plan->lists.logical, LOGICAL, sizeof LOGICAL);
    /* F 0-1000 | 1050-2050 | 2100-3100, B 3100-5200 | 5250-7350 | 7400-9500 */
    assert_int_equal(makespan(plan), 9500);
    assert_string_equal(plan->lists.name, "s.csv");
    assert_null(plan->schedule);
    assert_int_equal(plan->params.n_stages, 2);
    assert_int_equal(plan->params.n_microbatches, 1);
    ps_sim_plan_free(plan);
}

/* --- bad files ---------------------------------------------------------------------------------------------------- */

static void expect_bad_code(const char *text, ps_code code, uint32_t line, uint64_t offset,
                            const char *message) {
    ps_lists lists;
    ps_err err = PS_ERR_INIT;
    if (ps_lists_parse_csv(&lists, "s.csv", text, strlen(text), &err) == PS_OK) {
        assert_null(ps_sim_plan_of_lists(&lists, &err));
    }
    assert_string_equal(err.msg, message);
    assert_string_equal(err.file, "s.csv");
    assert_int_equal(err.code, code);
    assert_int_equal(err.line, line);
    assert_true(err.offset == offset);
}

static void expect_bad(const char *text, uint32_t line, uint64_t offset, const char *message) {
    expect_bad_code(text, PS_SYNTAX, line, offset, message);
}

static void test_bad_cells(void **context) {
    (void)context;
    expect_bad("0F0,0B0\n1F0,,1X0\n", 2, 13, "row 2, column 3: '1X0' is no action such as 0F3");
    expect_bad("\"0F0\",0B0\n", 1, 0, "row 1, column 1: '\"0F0\"' is no action such as 0F3");
    expect_bad(
        "0F0,0123456789012345678901234567890123456789abc\n", 1, 4,
        "row 1, column 2: '0123456789012345678901234567890123456789...' is no action such as 0F3");
    expect_bad("0F0,0F65536\n", 1, 4, "row 1, column 2: microbatch 65536: must be less than 65536");
    expect_bad("99999F0\n", 1, 0, "row 1, column 1: stage 99999: must be less than 65536");
    expect_bad("0F0,0B0\n0F1,0B1\n", 2, 8,
               "row 2, column 1: stage 0 is in row 1 already; a stage belongs to one device");
    expect_bad_code("0F0,(0F1;0F2)OVERLAP_F_B\n", PS_UNSUPPORTED, 1, 4,
                    "row 1, column 2: only a forward and a whole backward can overlap");
    expect_bad_code("0F0,(0F1;0I0)OVERLAP_F_B\n", PS_UNSUPPORTED, 1, 4,
                    "row 1, column 2: only a forward and a whole backward can overlap");
}

static void test_bad_rows(void **context) {
    (void)context;
    expect_bad("", 0, PS_NO_OFFSET, "the file has no row; a schedule has one for each device");
    expect_bad("\n \n", 0, PS_NO_OFFSET, "the file has no row; a schedule has one for each device");
    expect_bad("0F0,0B0\n,,\n1F0,1B0\n", 2, 8,
               "row 2, column 1: the row has no forward or backward; a row is a device");
    expect_bad("0F0,0B0\n\n1F0,1B0\n", 2, 8,
               "row 2, column 1: the row has no forward or backward; a row is a device");
    expect_bad("0F0,0B0\n2F0,2B0\n", 0, PS_NO_OFFSET, "stage 1 of 3 is in no row");
}

static void test_bad_lists(void **context) {
    (void)context;
    expect_bad("0F0,0F1,0B0\n", 0, PS_NO_OFFSET, "stage 0 has no backward of microbatch 1");
    expect_bad("0F0,0B0,0B1\n", 0, PS_NO_OFFSET, "stage 0 has no forward of microbatch 1");
    expect_bad("0F0,0I0\n", 0, PS_NO_OFFSET, "stage 0 has no weight gradient of microbatch 0");
    expect_bad("0F0,0I0,0W0,0F1,0B1,0W1\n", 0, PS_NO_OFFSET,
               "stage 0 has no input gradient beside its weight gradient of microbatch 1");
    expect_bad("0F0,,0F0,0B0\n", 0, PS_NO_OFFSET,
               "row 1, column 3 (0F0) repeats row 1, column 1 (0F0)");
    expect_bad("0F0,0B0,0I0,0W0\n", 0, PS_NO_OFFSET,
               "row 1, column 3 (0I0) repeats row 1, column 2 (0B0)");
    expect_bad("0F0,1F0,1B0,0B0,(0F1;1B1)OVERLAP_F_B,1F1,0B1\n", 0, PS_NO_OFFSET,
               "row 1, column 5 ((0F1;1B1)OVERLAP_F_B) comes before the forward it belongs to");
    expect_bad("0B0,,0F0\n", 0, PS_NO_OFFSET,
               "row 1, column 1 (0B0) comes before the forward it belongs to");
    expect_bad("0F0,0W0,0I0\n", 0, PS_NO_OFFSET,
               "row 1, column 2 (0W0) comes before the input gradient it belongs to");
}

static void test_deadlock(void **context) {
    (void)context;
    expect_bad(
        "0F0,0B0,0F1,0B1\n1F1,1B1,1F0,1B0\n", 0, PS_NO_OFFSET,
        "can never finish: row 1, column 2 (0B0) waits for row 2, column 4 (1B0); row 2, column 1 (1F1) waits for "
        "row 1, column 3 (0F1)");
    /* A device that waits for itself. */
    expect_bad("1F0,0F0,1B0,0B0\n", 0, PS_NO_OFFSET,
               "can never finish: row 1, column 1 (1F0) waits for row 1, column 2 (0F0)");
    /* Row 1 waits for the circle without being part of it. */
    expect_bad("0F0,0B0\n2F0,1F0,2B0,1B0\n", 0, PS_NO_OFFSET,
               "can never finish: row 2, column 1 (2F0) waits for row 2, column 2 (1F0)");
}

static void test_many_chunks(void **context) {
    (void)context;
    ps_buf b;
    ps_buf_init(&b, 0);
    for (int s = 0; s <= PS_MAX_CHUNKS; s++) {
        ps_buf_addf(&b, "%s%dF0,%dB0", s == 0 ? "" : ",", s, s);
    }
    expect_bad(ps_buf_str(&b), 0, PS_NO_OFFSET, "row 1 has more than 64 stages");
    ps_buf_fini(&b);
}

static void test_missing_file(void **context) {
    (void)context;
    ps_lists lists;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_lists_read_csv(&lists, "tests/there-is-no.csv", &err), PS_NOT_FOUND);
    ps_lists_fini(&lists);
}

static void test_memory(void **context) {
    (void)context;
    static const char TEXT[] = "0F0,1F0,1B0,(0B0;0F1)OVERLAP_F_B,1F1,1B1,0B1\n";
    ps_sim_plan *plan = NULL;
    int64_t n = 0;
    for (; plan == NULL && n < 100; n++) {
        ps_lists lists;
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        if (ps_lists_parse_csv(&lists, "s.csv", TEXT, strlen(TEXT), &err) == PS_OK) {
            plan = ps_sim_plan_of_lists(&lists, &err);
        }
        (void)ps_alloc_fail_at(-1);
        assert_true(plan != NULL || err.code == PS_NOMEM);
    }
    assert_non_null(plan);
    assert_true(n > 10);
    ps_sim_plan_free(plan);
}

/* --- durations ---------------------------------------------------------------------------------------------------- */

static ps_code fill_from(const char *text, const char *schedule, int64_t *ns, ps_err *err) {
    ps_sim_plan *plan = plan_of(schedule);
    ps_durations d;
    ps_code code =
        ps_durations_parse_csv(&d, "d.csv", text, strlen(text), plan->lists.n_stages, err);
    if (code == PS_OK) {
        code = ps_durations_fill(&d, plan, ns, err);
    }
    ps_durations_fini(&d);
    ps_sim_plan_free(plan);
    return code;
}

static void expect_durations(const char *text, const char *schedule, const int64_t *want,
                             size_t n) {
    int64_t ns[16] = {0};
    ps_err err = PS_ERR_INIT;
    if (fill_from(text, schedule, ns, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    assert_memory_equal(ns, want, n * sizeof *ns);
}

static void test_durations(void **context) {
    (void)context;
    static const char TWO[] = "0F0,0B0\n1F0,1I0,1W0\n";
    expect_durations("stage,kind,ns\r\n0,F,10\r\n0,B,20\r\n1,F,11\r\n1,BI,5\r\n1,BW,6\r\n", TWO,
                     (const int64_t[]){10, 20, 11, 5, 6}, 5);
    /* What follows: B = BI + BW; BI = B - BW; BW = B - BI; FB = F + B. */
    expect_durations("0, f ,10\n\n0,BI,8\n0,BW,9\n1,F,11\n1,B,30\n1,bw,6", TWO,
                     (const int64_t[]){10, 17, 11, 24, 6}, 5);
    expect_durations("0,F,10\n0,B,8\n1,F,11\n1,B,30\n1,BI,6\n", TWO,
                     (const int64_t[]){10, 8, 11, 6, 24}, 5);
    static const char PAIR[] = "0F0,(0F1;0B0)OVERLAP_F_B,0B1\n";
    expect_durations("0,F,10\n0,B,8\n", PAIR, (const int64_t[]){10, 18, 8}, 3);
    expect_durations("0,F,10\n0,B,8\n0,FB,15\n", PAIR, (const int64_t[]){10, 15, 8}, 3);
}

static void expect_bad_durations(const char *text, ps_code code, uint32_t line,
                                 const char *message) {
    int64_t ns[16];
    ps_err err = PS_ERR_INIT;
    assert_int_equal(fill_from(text, "0F0,0B0\n1F0,1I0,1W0\n", ns, &err), code);
    assert_string_equal(err.msg, message);
    assert_int_equal(err.line, line);
}

static void test_bad_durations(void **context) {
    (void)context;
    expect_bad_durations("0,F,10\n0,F\n", PS_SYNTAX, 2, "a line is stage,kind,ns: '0'");
    expect_bad_durations("2,F,10\n", PS_SYNTAX, 1, "the stage is none of 0 to 1: '2'");
    expect_bad_durations("x,F,10\n", PS_SYNTAX, 1, "the stage is none of 0 to 1: 'x'");
    expect_bad_durations("0,SEND,10\n", PS_SYNTAX, 1,
                         "the kind is none of F, B, BI, BW, FB: 'SEND'");
    expect_bad_durations("0,F,10\n0,F,11\n", PS_SYNTAX, 2, "stage and kind were given before: 'F'");
    expect_bad_durations("0,F,-1\n", PS_SYNTAX, 1,
                         "the duration is no whole number of nanoseconds: '-1'");
    expect_bad_durations("0,F,1.5\n", PS_SYNTAX, 1,
                         "the duration is no whole number of nanoseconds: '1.5'");
    expect_bad_durations("0,F,1\nstage,kind,ns\n", PS_SYNTAX, 2,
                         "the stage is none of 0 to 1: 'stage'");
    expect_bad_durations(
        "0,F,1\n0,B,2\n1,F,1\n1,B,2\n", PS_RANGE, 0,
        "stage 1 has no duration of kind BI, which s.csv needs, and it does not follow");
    /* A part longer than the whole. */
    expect_bad_durations(
        "0,F,1\n0,B,2\n1,F,1\n1,B,2\n1,BW,3\n", PS_RANGE, 0,
        "stage 1 has no duration of kind BI, which s.csv needs, and it does not follow");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_actions),
        cmocka_unit_test(test_no_actions),
        cmocka_unit_test(test_action_text_is_cut),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_layout),
        cmocka_unit_test(test_old_names),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_bad_cells),
        cmocka_unit_test(test_bad_rows),
        cmocka_unit_test(test_bad_lists),
        cmocka_unit_test(test_deadlock),
        cmocka_unit_test(test_many_chunks),
        cmocka_unit_test(test_missing_file),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_bad_durations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

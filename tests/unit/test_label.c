/* Alignment of marks with a list: costs, ties, and what is counted. Costs in
 * thousandths: another microbatch 3000, a mark left out 2000 (a weight gradient
 * without work 500), an op without a mark 2000, 100 more where no mark has
 * room, up to 400 less where the device was idle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/label.h"
#include "base/alloc.h"
#include "base/buf.h"

enum { LONG_NS = 1000, GAP_NS = 10, MAX_MARKS = 4000 };

/* Marks and ops are written as words "F3 B W0 P2": kind (P an overlapped pair,
 * L the output head, I an input gradient) and microbatch; of marks "." is idle
 * time of one mark and "w" a weight gradient without work. */
static ps_op_kind kind_of(char c) {
    switch (c) {
    case 'F':
        return PS_OP_F;
    case 'B':
        return PS_OP_B;
    case 'I':
        return PS_OP_BI;
    case 'L':
        return PS_OP_LOGITS;
    case 'P':
        return PS_OP_FB;
    default:
        return PS_OP_BW;
    }
}

static size_t make_marks(const char *words, ps_mark *out) {
    size_t n = 0;
    int64_t at = 5000000;
    for (const char *p = words; *p != '\0'; p++) {
        if (*p == ' ') {
            continue;
        }
        if (*p == '.') {
            at += LONG_NS;
            continue;
        }
        int64_t length = *p == 'w' ? 1 : LONG_NS;
        out[n] = (ps_mark){
            .start_ns = at, .end_ns = at + length, .kind = (uint8_t)kind_of(*p), .microbatch = -1};
        at += length + GAP_NS;
        if (p[1] >= '0' && p[1] <= '9') {
            char *end = NULL;
            out[n].microbatch = (int32_t)strtol(p + 1, &end, 10);
            p = end - 1;
        }
        n++;
    }
    return n;
}

static void make_ops(const char *words, ps_op_list *out) {
    *out = (ps_op_list){0};
    for (const char *p = words; *p != '\0'; p++) {
        if (*p != ' ') {
            ps_sched_op op = {.kind = kind_of(*p), .microbatch = -1, .microbatch2 = -1};
            if (p[1] >= '0' && p[1] <= '9') {
                char *end = NULL;
                op.microbatch = (int32_t)strtol(p + 1, &end, 10);
                p = end - 1;
            }
            assert_true(ps_op_list_add(out, op));
        }
    }
}

/* The ops that the marks must get, "-" for none. Returns the counts, without
 * the array. */
static ps_alignment align(const char *marks, const char *ops, const char *expected) {
    ps_mark list[64];
    ps_op_list theory;
    size_t n = make_marks(marks, list);
    make_ops(ops, &theory);
    ps_alignment a;
    assert_int_equal(ps_align(list, n, &theory, &a, NULL), PS_OK);
    ps_buf text;
    ps_buf_init(&text, 0);
    for (size_t i = 0; i < n; i++) {
        if (a.op_of_mark[i] == PS_UNLABELLED) {
            ps_buf_addf(&text, "%s-", i > 0 ? " " : "");
        } else {
            ps_buf_addf(&text, "%s%u", i > 0 ? " " : "", a.op_of_mark[i]);
        }
    }
    assert_string_equal(ps_buf_str(&text), expected);
    assert_int_equal(a.n_agreeing + a.n_by_kind + a.n_unlabelled, n);
    assert_int_equal(a.n_agreeing + a.n_by_kind + a.n_missing, theory.n);
    ps_buf_fini(&text);
    ps_op_list_fini(&theory);
    ps_alignment counts = a;
    counts.op_of_mark = NULL;
    ps_alignment_fini(&a);
    return counts;
}

/* Like align(), and the cost. */
static void expect_cost(const char *marks, const char *ops, int64_t cost) {
    ps_mark list[64];
    ps_op_list theory;
    size_t n = make_marks(marks, list);
    make_ops(ops, &theory);
    ps_alignment a;
    assert_int_equal(ps_align(list, n, &theory, &a, NULL), PS_OK);
    assert_int_equal(a.cost, cost);
    ps_op_list_fini(&theory);
    ps_alignment_fini(&a);
}

static void agreeing_marks_cost_nothing(void **state) {
    (void)state;
    (void)align("F0 F1 B0 B1", "F0 F1 B0 B1", "0 1 2 3");
    expect_cost("F0 F1 B0 B1", "F0 F1 B0 B1", 0);
    expect_cost("F F B B", "F0 F1 B0 B1", 0); /* messages without microbatch */
    expect_cost("", "", 0);
}

/* A backward mark may be that of a whole backward, of an input gradient or of
 * the output head; all else must be of the op's own kind. */
static void kinds_must_agree(void **state) {
    (void)state;
    (void)align("B B B", "L I B", "0 1 2");
    expect_cost("B B B", "L I B", 0);
    expect_cost("F", "B", 4000);
    expect_cost("W", "B", 4000);
    expect_cost("P", "F", 4000);
    expect_cost("F", "P", 4000);
    (void)align("W", "B", "-");
}

static void each_difference_has_its_price(void **state) {
    (void)state;
    expect_cost("F0 B0 W", "F0 B0", 2000);    /* one too many */
    expect_cost("F0 B0 w W", "F0 B0 W", 500); /* one too many that did nothing */
    expect_cost("F0", "F0 B0", 2000);         /* one lost at the end */
    expect_cost("B0", "F0 B0", 2000);         /* or at the start */
    expect_cost("F7 B0", "F0 B0",
                3000); /* another microbatch: cheaper than one lost and one too many */
    expect_cost("F0 F2", "F0 F1 F2", 2100); /* lost where no mark has room */
    expect_cost("F0 . F2", "F0 F1 F2",
                1600); /* lost where the device was idle for as long as anywhere */
}

/* The idle time tells which of equal ones was lost; without it the loss was at
 * an end of the step. */
static void ties_are_broken_by_idle_time(void **state) {
    (void)state;
    (void)align("F . F F", "F0 F1 F2 F3", "0 2 3");
    (void)align("F F . F", "F0 F1 F2 F3", "0 1 3");
    (void)align("F . F .. F", "F0 F1 F2 F3", "0 1 3");  /* the longer one */
    (void)align("F F F B", "F0 F1 F2 F3 B", "1 2 3 4"); /* the first: no room between the others */
    (void)align("F B B B", "F B0 B1 B2 B3", "0 1 2 3"); /* the last */
}

/* Microbatches outweigh idle time. */
static void microbatches_outweigh_idle_time(void **state) {
    (void)state;
    (void)align("F0 F1 . F3", "F0 F1 F2 F3", "0 1 3");
    (void)align("F0 . F1 F3", "F0 F1 F2 F3", "0 1 3");
    ps_alignment a = align("F0 . F1 F3", "F0 F1 F2 F3", "0 1 3");
    assert_int_equal(a.n_missing, 1);
    assert_int_equal(a.first_missing, 2);
}

static void counts_tell_what_happened(void **state) {
    (void)state;
    ps_alignment a = align("F0 F9 B0 W B1 B2", "F0 F1 B0 B1 B2 B3 B4", "0 1 2 - 3 4");
    assert_int_equal(a.n_agreeing, 4);
    assert_int_equal(a.n_by_kind, 1);
    assert_int_equal(a.n_unlabelled, 1);
    assert_int_equal(a.n_missing, 2);
    assert_int_equal(a.first_missing, 5);
    a = align("", "F0 F1", "");
    assert_int_equal(a.n_missing, 2);
    assert_int_equal(a.first_missing, 0);
    a = align("F0 F1", "", "- -");
    assert_int_equal(a.n_unlabelled, 2);
    assert_int_equal(a.first_missing, PS_UNLABELLED);
}

/* Of two weight gradients in a row the one without work is the one too many, on
 * either side. */
static void empty_weight_gradients_go_first(void **state) {
    (void)state;
    (void)align("B w W F", "I0 W0 F0", "0 - 1 2");
    (void)align("B W w F", "I0 W0 F0", "0 1 - 2");
    (void)align("B w w w W F w", "I0 W0 F0", "0 - - - 1 2 -");
}

/* More differences than the first band is wide. */
static void wide_differences_are_found(void **state) {
    (void)state;
    static ps_mark marks[MAX_MARKS];
    ps_op_list ops = {0};
    for (int k = 0; k < 1000; k++) {
        assert_true(ps_op_list_add(
            &ops, (ps_sched_op){.kind = k < 500 ? PS_OP_F : PS_OP_B, .microbatch = k}));
    }
    size_t n = 0; /* ops 100 .. 299 are lost, and 150 marks of another kind stand
                   at the end */
    for (int k = 0; k < 1150; k++) {
        if (k < 100 || k >= 300) {
            uint8_t kind = k < 500 ? PS_OP_F : k < 1000 ? PS_OP_B : PS_OP_FB;
            marks[n++] = (ps_mark){
                .start_ns = k * 100, .end_ns = k * 100 + 90, .kind = kind, .microbatch = k};
        }
    }
    ps_alignment a;
    assert_int_equal(ps_align(marks, n, &ops, &a, NULL), PS_OK);
    assert_int_equal(a.n_agreeing, 800);
    assert_int_equal(a.n_missing, 200);
    assert_int_equal(a.first_missing, 100);
    assert_int_equal(a.n_unlabelled, 150);
    assert_int_equal(a.op_of_mark[100], 300);
    ps_alignment_fini(&a);
    ps_op_list_fini(&ops);
}

/* Nothing fits at all: no label, no crash, whatever the sizes. */
static void strangers_get_no_label(void **state) {
    (void)state;
    static ps_mark marks[MAX_MARKS];
    ps_op_list ops = {0};
    for (int k = 0; k < MAX_MARKS; k++) {
        marks[k] = (ps_mark){
            .start_ns = k * 100, .end_ns = k * 100 + 90, .kind = PS_OP_FB, .microbatch = -1};
    }
    for (int k = 0; k < 700; k++) {
        assert_true(ps_op_list_add(&ops, (ps_sched_op){.kind = PS_OP_F, .microbatch = k}));
    }
    ps_alignment a;
    assert_int_equal(ps_align(marks, MAX_MARKS, &ops, &a, NULL), PS_OK);
    assert_int_equal(a.n_unlabelled, MAX_MARKS);
    assert_int_equal(a.n_missing, 700);
    ps_alignment_fini(&a);
    ps_op_list_fini(&ops);
}

static void out_of_memory(void **state) {
    (void)state;
    ps_mark marks[16];
    ps_op_list ops;
    size_t n = make_marks("F0 F1 W B1", marks);
    make_ops("F0 F1 B0 B1", &ops);
    bool done = false;
    for (int64_t k = 0; !done; k++) {
        ps_alignment a;
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(k);
        ps_code code = ps_align(marks, n, &ops, &a, &err);
        done = ps_alloc_fail_at(-1) <= k;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        ps_alignment_fini(&a);
    }
    ps_op_list_fini(&ops);
}

/* Ops missing because there are fewer marks are no reason to widen the band: each band takes three allocations. */
static void a_shorter_list_needs_no_wide_band(void **state) {
    (void)state;
    static ps_mark marks[MAX_MARKS];
    ps_op_list ops = {0};
    for (int k = 0; k < 3000; k++) {
        assert_true(ps_op_list_add(&ops, (ps_sched_op){.kind = PS_OP_F, .microbatch = k}));
    }
    for (int k = 0; k < 2000; k++) {
        marks[k] = (ps_mark){
            .start_ns = k * 100, .end_ns = k * 100 + 90, .kind = PS_OP_F, .microbatch = k};
    }
    ps_alignment a;
    (void)ps_alloc_fail_at(-1);
    assert_int_equal(ps_align(marks, 2000, &ops, &a, NULL), PS_OK);
    assert_true(ps_alloc_fail_at(-1) <= 2 + 3 * 3);
    assert_int_equal(a.n_agreeing, 2000);
    assert_int_equal(a.n_missing, 1000);
    assert_int_equal(a.first_missing, 2000);
    ps_alignment_fini(&a);
    ps_op_list_fini(&ops);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agreeing_marks_cost_nothing),
        cmocka_unit_test(kinds_must_agree),
        cmocka_unit_test(each_difference_has_its_price),
        cmocka_unit_test(ties_are_broken_by_idle_time),
        cmocka_unit_test(microbatches_outweigh_idle_time),
        cmocka_unit_test(counts_tell_what_happened),
        cmocka_unit_test(empty_weight_gradients_go_first),
        cmocka_unit_test(wide_differences_are_found),
        cmocka_unit_test(strangers_get_no_label),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(a_shorter_list_needs_no_wide_band),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

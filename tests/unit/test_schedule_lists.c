/* Op lists and marks of the schedules, against lists worked out by hand and against counting rules. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "schedule/schedule.h"

typedef ps_code list_fn(const ps_schedule_params *, int32_t, ps_op_list *, ps_err *);

/* Ops as the published schedules write them: F3 B3 I3 W3 on chunk 0, lower case on chunk 1, F7&b3 for a pair. */
static void add_op(ps_buf *b, const ps_sched_op *op) {
    static const char *const LETTERS[] = {[PS_OP_F] = "Ff", [PS_OP_B] = "Bb", [PS_OP_BI] = "Ii", [PS_OP_BW] = "Ww"};
    if (op->kind == PS_OP_FB) {
        ps_buf_addf(b, "%c%d&%c%d", "Ff"[op->chunk], (int)op->microbatch, "Bb"[op->chunk2], (int)op->microbatch2);
    } else {
        ps_buf_addf(b, "%c%d", LETTERS[op->kind][op->chunk], (int)op->microbatch);
    }
}

static void expect(const char *schedule, int p, int m, bool overlap_off, int device, bool marks, const char *text) {
    const ps_schedule *s = ps_schedule_find(schedule);
    assert_non_null(s);
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m, .overlap_off = overlap_off};
    ps_err err = PS_ERR_INIT;
    assert_int_equal(s->check(&params, &err), PS_OK);
    ps_op_list list = {0};
    assert_int_equal((marks ? s->marks : s->order)(&params, device, &list, &err), PS_OK);
    ps_buf b;
    ps_buf_init(&b, 0);
    for (size_t i = 0; i < list.n; i++) {
        if (i > 0) {
            ps_buf_add_char(&b, ' ');
        }
        if (marks) {
            char label[40];
            ps_mark_label(&params, &list.ops[i], label, sizeof label);
            ps_buf_add_str(&b, label);
        } else {
            add_op(&b, &list.ops[i]);
        }
    }
    assert_string_equal(ps_buf_str(&b), text);
    ps_buf_fini(&b);
    ps_op_list_fini(&list);
}

static void test_1f1b_order(void **context) {
    (void)context;
    expect("1f1b", 4, 6, false, 0, false, "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5");
    expect("1f1b", 4, 6, false, 1, false, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5");
    expect("1f1b", 4, 6, false, 2, false, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5");
    expect("1f1b", 4, 6, false, 3, false, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5");
    /* Fewer microbatches than devices: all forwards first, where the pipeline is that long. */
    expect("1f1b", 4, 2, false, 0, false, "F0 F1 B0 B1");
    expect("1f1b", 4, 2, false, 3, false, "F0 B0 F1 B1");
    expect("1f1b", 1, 2, false, 0, false, "F0 B0 F1 B1");
    expect("1F1B", 4, 2, false, 2, true, "0 1 0B 1B");
}

static void test_dualpipev_order(void **context) {
    (void)context;
    expect("dualpipev", 4, 8, false, 0, false,
           "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 F7&b3 f4&B0 b4 f5&B1 b5 f6&B2 b6 f7&B3 b7 I4 W4 I5 W5 "
           "I6 W6 I7 W7");
    expect("dualpipev", 4, 8, false, 1, false,
           "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 F6&b2 f4&B0 F7&b3 f5&B1 b4 f6&B2 b5 f7&B3 b6 B4 i7 I5 w7 I6 W5 "
           "I7 W6 W7");
    expect("dualpipev", 4, 8, false, 2, false,
           "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 F5&b1 f4&B0 F6&b2 f5&B1 F7&b3 f6&B2 b4 f7&B3 b5 B4 b6 I5 i7 I6 W5 I7 w7 "
           "W6 W7");
    expect("dualpipev", 4, 8, false, 3, false,
           "F0 f0 F1 f1 F2 f2 F3 f3 F4 b0 f4&B0 F5&b1 f5&B1 F6&b2 f6&B2 F7&b3 f7&B3 b4 B4 b5 B5 i6 I6 i7 I7 w6 W6 w7 "
           "W7");
    expect("dualpipev", 1, 2, false, 0, false, "F0 f0 F1 b0 f1&B0 b1 I1 W1");
}

static void test_dualpipev_marks(void **context) {
    (void)context;
    expect("dualpipev", 4, 8, false, 0, true,
           "0 1 2 3 4 5 6 8 logits 8b 8w 9 logits 9b 9w 10 logits 10b 10w 11 logits 7F+11B 12F+0B logits 12B 13F+1B "
           "logits 13B 14F+2B logits 14B 15F+3B logits 15B 4B 5B 6B 7B");
    expect("dualpipev", 4, 8, false, 1, true,
           "0 1 2 3 4 8 5 9 8b 8w 10 9b 9w 11 6F+10B 12F+0B 7F+11B 13F+1B 12B 14F+2B 13B 15F+3B 14B 4B 15B 5B 6B 7B");
    expect("dualpipev", 4, 8, false, 2, true,
           "0 1 2 8 3 9 4 10 8b 8w 11 5F+9B 12F+0B 6F+10B 13F+1B 7F+11B 14F+2B 12B 15F+3B 13B 4B 14B 5B 15B 6B 7B");
    expect("dualpipev", 4, 8, false, 3, true,
           "0 8 1 9 2 10 3 11 4F 8B 12F+0B 5F+9B 13F+1B 6F+10B 14F+2B 7F+11B 15F+3B 12B 4B 13B 5B 14B 6B 15B 7B");
    expect("dualpipev", 4, 10, false, 3, true,
           "0 10 1 11 2 12 3 13 4F 10B 14F+0B 5F+11B 15F+1B 6F+12B 16F+2B 7F+13B 17F+3B 8F+14B 18F+4B 9F+15B 19F+5B "
           "16B 6B 17B 7B 18B 8B 19B 9B");
}

static void test_marks_without_overlap(void **context) {
    (void)context;
    /* p = 2, m = 4: each pair is its forward, then its backward, and the output head has no range. */
    expect("dualpipev", 2, 4, true, 0, true, "0 1 2 4 4b 4w 5 3F 5B 6F 0B 6B 7F 1B 7B 2B 3B");
    expect("dualpipev", 2, 4, true, 1, true, "0 4 1 5 2F 4B 6F 0B 3F 5B 7F 1B 6B 2B 7B 3B");
}

static size_t count(const ps_schedule *s, list_fn *fn, const ps_schedule_params *params, int32_t device) {
    (void)s;
    ps_op_list list = {0};
    assert_int_equal(fn(params, device, &list, NULL), PS_OK);
    size_t n = list.n;
    ps_op_list_fini(&list);
    return n;
}

static void test_mark_counts(void **context) {
    (void)context;
    const ps_schedule *s = ps_schedule_find("dualpipev");
    for (int32_t p = 1; p <= 8; p++) {
        for (int32_t m = 2 * p; m <= 2 * p + 5; m++) {
            for (int32_t i = 0; i < p; i++) {
                ps_schedule_params on = {.n_stages = p, .n_microbatches = m};
                ps_schedule_params off = {.n_stages = p, .n_microbatches = m, .overlap_off = true};
                int32_t n = 2 * m + 4 * p - 2 * i - 2 + (i == 0 ? m : 0) + (i == p - 1 ? 1 : 0);
                assert_int_equal(count(s, s->marks, &on, i), n);
                assert_int_equal(count(s, s->marks, &off, i), 4 * m + p - 1 - i);
            }
        }
    }
}

/* Phases of StepTaskInfo's type column: how many marks of each, from the table of repetitions. */
static void test_phases(void **context) {
    (void)context;
    const ps_schedule *s = ps_schedule_find("dualpipev");
    for (int32_t p = 1; p <= 6; p++) {
        int32_t m = 2 * p + 3;
        for (int32_t i = 0; i < p; i++) {
            ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
            ps_op_list list = {0};
            assert_int_equal(s->marks(&params, i, &list, NULL), PS_OK);
            int32_t n[7] = {0};
            int32_t heads = 0;
            for (size_t k = 0; k < list.n; k++) {
                assert_in_range(list.ops[k].phase, 0, 6);
                bool head = list.ops[k].kind == PS_OP_LOGITS;
                heads += head ? 1 : 0;
                n[list.ops[k].phase] += head ? 0 : 1;
            }
            int32_t behind = p - 1 - i;
            int32_t split = behind == 0 ? 1 : 0;
            int32_t want[7] = {2 * behind, 2 * (i + 1), 3 * behind, 2 * (m - 2 * p + i + 1) + split,
                               2 * behind, i + 1,       p};
            assert_memory_equal(n, want, sizeof n);
            assert_int_equal(heads, i == 0 ? m : 0);
            ps_op_list_fini(&list);
        }
    }
}

/* Every forward once; every backward once, whole or as both halves; forwards and backwards of a chunk in order. */
static void check_complete(const ps_schedule *s, const ps_schedule_params *params, int32_t device) {
    enum { MAX = 64 };
    int f[2][MAX] = {{0}}, b[2][MAX] = {{0}}, bi[2][MAX] = {{0}}, bw[2][MAX] = {{0}};
    ps_op_list list = {0};
    assert_int_equal(s->order(params, device, &list, NULL), PS_OK);
    for (size_t i = 0; i < list.n; i++) {
        const ps_sched_op *op = &list.ops[i];
        assert_in_range(op->chunk, 0, s->n_chunks - 1);
        assert_in_range(op->microbatch, 0, params->n_microbatches - 1);
        f[op->chunk][op->microbatch] += op->kind == PS_OP_F || op->kind == PS_OP_FB;
        b[op->chunk][op->microbatch] += op->kind == PS_OP_B;
        bi[op->chunk][op->microbatch] += op->kind == PS_OP_BI;
        bw[op->chunk][op->microbatch] += op->kind == PS_OP_BW;
        if (op->kind == PS_OP_FB) {
            assert_int_equal(op->chunk2, 1 - op->chunk);
            b[op->chunk2][op->microbatch2]++;
        }
    }
    for (int32_t c = 0; c < s->n_chunks; c++) {
        for (int32_t k = 0; k < params->n_microbatches; k++) {
            assert_int_equal(f[c][k], 1);
            assert_int_equal(b[c][k] + bi[c][k], 1);
            assert_int_equal(bi[c][k], bw[c][k]);
        }
    }
    ps_op_list_fini(&list);
}

static void test_complete(void **context) {
    (void)context;
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        const ps_schedule *s = ps_schedules()[i];
        for (int32_t p = 1; p <= 8; p++) {
            for (int32_t m = 1; m <= 24; m++) {
                ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
                for (int32_t d = 0; s->check(&params, NULL) == PS_OK && d < p; d++) {
                    check_complete(s, &params, d);
                }
            }
        }
    }
}

static void expect_refused(const char *schedule, int32_t p, int32_t m, const char *part) {
    ps_err err = PS_ERR_INIT;
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
    assert_int_equal(ps_schedule_find(schedule)->check(&params, &err), PS_RANGE);
    if (strstr(err.msg, part) == NULL) {
        fail_msg("'%s' does not mention '%s'", err.msg, part);
    }
}

static void test_check(void **context) {
    (void)context;
    expect_refused("1f1b", 0, 4, "stages");
    expect_refused("1f1b", -1, 4, "stages");
    expect_refused("1f1b", PS_MAX_STAGES + 1, 4, "4096");
    expect_refused("1f1b", 4, 0, "microbatches");
    expect_refused("1f1b", 4, PS_MAX_MICROBATCHES + 1, "65536");
    expect_refused("dualpipev", 4, 7, "2p = 8");
    expect_refused("dualpipev", 0, 8, "stages");
    assert_null(ps_schedule_find("2f2b"));
    assert_null(ps_schedule_find(NULL));
    assert_ptr_equal(ps_schedule_find("DualPipeV"), ps_schedule_find("dualpipev"));
}

static void test_memory(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 4, .n_microbatches = 64};
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        int64_t n = 0;
        ps_code code = PS_NOMEM;
        while (code == PS_NOMEM && n < 100) {
            ps_op_list list = {0};
            (void)ps_alloc_fail_at(n++);
            code = ps_schedules()[i]->order(&params, 1, &list, NULL);
            (void)ps_alloc_fail_at(-1);
            ps_op_list_fini(&list);
        }
        assert_int_equal(code, PS_OK);
        assert_true(n > 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_1f1b_order),   cmocka_unit_test(test_dualpipev_order),
        cmocka_unit_test(test_dualpipev_marks), cmocka_unit_test(test_marks_without_overlap),
        cmocka_unit_test(test_mark_counts),  cmocka_unit_test(test_phases),
        cmocka_unit_test(test_complete),     cmocka_unit_test(test_check),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

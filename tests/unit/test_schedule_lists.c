/* Op lists and marks of the schedules, against lists worked out by hand and against counting rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "schedule/schedule.h"

typedef ps_code list_fn(const ps_schedule_params *, int32_t, ps_op_list *, ps_err *);

/* Ops as the published schedules write them: F3 B3 I3 W3 on chunk 0, lower case on chunk 1, F7&b3 for a pair. */
static void add_op(ps_buf *b, const ps_sched_op *op) {
    static const char *const LETTERS[] = {
        [PS_OP_F] = "Ff", [PS_OP_B] = "Bb", [PS_OP_BI] = "Ii", [PS_OP_BW] = "Ww"};
    if (op->kind == PS_OP_FB) {
        ps_buf_addf(b, "%c%d&%c%d", "Ff"[op->chunk], (int)op -> microbatch, "Bb"[op->chunk2],
                    (int)op -> microbatch2);
    } else {
        ps_buf_addf(b, "%c%d", LETTERS[op->kind][op->chunk], (int)op->microbatch);
    }
}

static void print_list(const ps_schedule_params *params, const ps_op_list *list, bool marks,
                       ps_buf *out) {
    for (size_t i = 0; i < list->n; i++) {
        if (i > 0) {
            ps_buf_add_char(out, ' ');
        }
        if (marks) {
            char label[40];
            ps_mark_label(params, &list->ops[i], label, sizeof label);
            ps_buf_add_str(out, label);
        } else {
            add_op(out, &list->ops[i]);
        }
    }
}

static void expect_list(const char *schedule, ps_schedule_params params, int device, bool marks,
                        const char *text) {
    const ps_schedule *s = ps_schedule_find(schedule);
    assert_non_null(s);
    ps_err err = PS_ERR_INIT;
    if (s->check(&params, &err) != PS_OK) {
        fail_msg("%s", err.msg);
    }
    ps_op_list list = {0};
    assert_int_equal((marks ? s->marks : s->order)(&params, device, &list, &err), PS_OK);
    ps_buf b;
    ps_buf_init(&b, 0);
    print_list(&params, &list, marks, &b);
    assert_string_equal(ps_buf_str(&b), text);
    ps_buf_fini(&b);
    ps_op_list_fini(&list);
}

static void expect(const char *schedule, int p, int m, bool overlap_off, int device, bool marks,
                   const char *text) {
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m, .overlap_off = overlap_off};
    expect_list(schedule, params, device, marks, text);
}

/* What DualPipeV overlaps runs as two ops, the forward first; everything else stays. */
static void test_pairs_apart(void **context) {
    (void)context;
    const ps_schedule *s = ps_schedule_find("dualpipev");
    ps_schedule_params params = {.n_stages = 4, .n_microbatches = 8};
    for (int d = 0; d < params.n_stages; d++) {
        ps_op_list paired = {0};
        ps_op_list apart = {0};
        params.pairs_apart = false;
        assert_int_equal(ps_schedule_order(s, &params, d, &paired, NULL), PS_OK);
        assert_true(ps_op_list_put(&apart, PS_OP_OTHER, 0, 0)); /* what is there already stays */
        params.pairs_apart = true;
        assert_int_equal(ps_schedule_order(s, &params, d, &apart, NULL), PS_OK);
        assert_int_equal(apart.ops[0].kind, PS_OP_OTHER);
        size_t k = 1;
        for (size_t i = 0; i < paired.n; i++) {
            const ps_sched_op *op = &paired.ops[i];
            const ps_sched_op *first = &apart.ops[k++];
            assert_int_equal(first->kind, op->kind == PS_OP_FB ? PS_OP_F : op->kind);
            assert_int_equal(first->chunk, op->chunk);
            assert_int_equal(first->microbatch, op->microbatch);
            assert_int_equal(first->chunk2, -1);
            if (op->kind == PS_OP_FB) {
                const ps_sched_op *second = &apart.ops[k++];
                assert_int_equal(second->kind, PS_OP_B);
                assert_int_equal(second->chunk, op->chunk2);
                assert_int_equal(second->microbatch, op->microbatch2);
            }
        }
        assert_int_equal(k, apart.n);
        assert_true(apart.n > paired.n + 1);
        ps_op_list_fini(&paired);
        ps_op_list_fini(&apart);
    }
}

/* The lists of all devices, in order. */
static void expect_all(const char *schedule, ps_schedule_params params, const char *const *texts) {
    for (int d = 0; d < params.n_stages; d++) {
        expect_list(schedule, params, d, false, texts[d]);
    }
}

static void test_gpipe_order(void **context) {
    (void)context;
    for (int d = 0; d < 4; d++) {
        expect("gpipe", 4, 3, false, d, false, "F0 F1 F2 B0 B1 B2");
    }
}

static void test_1f1b_order(void **context) {
    (void)context;
    expect_all("1f1b", (ps_schedule_params){.n_stages = 4, .n_microbatches = 6},
               (const char *const[]){
                   "F0 F1 F2 F3 B0 F4 B1 F5 B2 B3 B4 B5", "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 B4 B5",
                   "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 B5", "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5"});
    /* Fewer microbatches than devices: all forwards first, where the pipeline is that long. */
    expect("1f1b", 4, 2, false, 0, false, "F0 F1 B0 B1");
    expect("1f1b", 4, 2, false, 3, false, "F0 B0 F1 B1");
    expect("1f1b", 1, 2, false, 0, false, "F0 B0 F1 B1");
    expect("1F1B", 4, 2, false, 2, true, "0 1 0B 1B");
}

static void test_interleaved_order(void **context) {
    (void)context;
    /* For m = p the whole of device 0 is warm-up. */
    expect_all("interleaved", (ps_schedule_params){.n_stages = 4, .n_microbatches = 4},
               (const char *const[]){"F0 F1 F2 F3 f0 f1 f2 f3 b0 b1 b2 b3 B0 B1 B2 B3",
                                     "F0 F1 F2 F3 f0 f1 f2 f3 b0 b1 b2 b3 B0 B1 B2 B3",
                                     "F0 F1 F2 F3 f0 f1 f2 b0 f3 b1 b2 b3 B0 B1 B2 B3",
                                     "F0 F1 F2 F3 f0 b0 f1 b1 f2 b2 f3 b3 B0 B1 B2 B3"});
    expect_all(
        "vpp", (ps_schedule_params){.n_stages = 2, .n_microbatches = 5, .n_chunks = 2, .group = 3},
        (const char *const[]){"F0 F1 F2 f0 f1 f2 b0 F3 b1 F4 b2 f3 B0 f4 B1 B2 b3 b4 B3 B4",
                              "F0 F1 F2 f0 b0 f1 b1 f2 b2 F3 B0 F4 B1 f3 B2 f4 b3 b4 B3 B4"});
    /* Overlap: one more forward of warm-up, then pairs, also of one chunk. */
    expect_all("interleaved",
               (ps_schedule_params){.n_stages = 2, .n_microbatches = 2, .overlap = true},
               (const char *const[]){"F0 F1 f0 f1 b0 b1 B0 B1", "F0 F1 f0 f1&b0 b1 B0 B1"});
    expect_list("interleaved",
                (ps_schedule_params){.n_stages = 2, .n_microbatches = 2, .overlap = true}, 1, true,
                "0 1 2 3F+2B 3B 0B 1B");
}

static void test_zb_h1_order(void **context) {
    (void)context;
    static const char *const LISTS[] = {"F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 I3 W3 I4 W4 I5 W5",
                                        "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 I4 W3 I5 W4 W5",
                                        "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 I5 W3 W4 W5",
                                        "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 W3 W4 W5"};
    expect_all("zb-h1", (ps_schedule_params){.n_stages = 4, .n_microbatches = 6}, LISTS);
    /* The same rule, so the same lists. */
    expect_all("interleaved-zb",
               (ps_schedule_params){.n_stages = 4, .n_microbatches = 6, .n_chunks = 1, .group = 6},
               LISTS);
    expect("zb-h1", 4, 2, false, 3, false, "F0 I0 F1 I1 W0 W1");
}

static void test_interleaved_zb_order(void **context) {
    (void)context;
    expect_all("interleaved-zb", (ps_schedule_params){.n_stages = 2, .n_microbatches = 2},
               (const char *const[]){"F0 F1 f0 f1 i0 w0 i1 w1 I0 W0 I1 W1",
                                     "F0 F1 f0 i0 f1 i1 w0 I0 w1 I1 W0 W1"});
}

static void test_looped_bfs_order(void **context) {
    (void)context;
    static const char *const LISTS[] = {"F0 F1 f0 f1 b1 b0 B1 B0", "F0 F1 f0 f1 b1 b0 B1 B0"};
    expect_all("looped-bfs", (ps_schedule_params){.n_stages = 2, .n_microbatches = 2}, LISTS);
    expect_all("LoopedBFS", (ps_schedule_params){.n_stages = 1, .n_microbatches = 3, .n_chunks = 1},
               (const char *const[]){"F0 F1 F2 B2 B1 B0"});
}

static void test_zb_h2_order(void **context) {
    (void)context;
    expect_all(
        "zb-h2", (ps_schedule_params){.n_stages = 4, .n_microbatches = 7},
        (const char *const[]){"F0 F1 F2 F3 F4 F5 F6 I0 W0 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6",
                              "F0 F1 F2 F3 F4 I0 F5 I1 F6 I2 W0 I3 W1 I4 W2 I5 W3 I6 W4 W5 W6",
                              "F0 F1 F2 I0 F3 I1 F4 I2 F5 I3 F6 I4 W0 I5 W1 I6 W2 W3 W4 W5 W6",
                              "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 W1 W2 W3 W4 W5 W6"});
}

static void test_zb_v_order(void **context) {
    (void)context;
    expect_all(
        "zb-v", (ps_schedule_params){.n_stages = 4, .n_microbatches = 7},
        (const char *const[]){
            "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 i3 w3 I0 W0 f4 i4 w4 I1 W1 f5 i5 w5 "
            "I2 W2 f6 i6 w6 I3 W3 I4 W4 I5 W5 I6 W6",
            "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 i2 w2 F6 I0 W0 f4 i3 w3 I1 W1 f5 i4 w4 I2 W2 "
            "f6 i5 w5 I3 i6 I4 W3 I5 W4 I6 W5 w6 W6",
            "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 i1 w1 F5 I0 W0 f4 i2 w2 F6 I1 W1 f5 i3 w3 I2 W2 f6 i4 "
            "w4 I3 i5 I4 i6 I5 W3 I6 W4 w5 w6 W5 W6",
            "F0 f0 F1 f1 F2 f2 F3 f3 i0 w0 F4 I0 W0 f4 i1 w1 F5 I1 W1 f5 i2 w2 F6 I2 W2 f6 i3 w3 I3 "
            "i4 I4 i5 I5 i6 I6 W3 w4 w5 w6 W4 W5 W6"});
    /* The picture in zb_v.c; with fewer microbatches than 2p-1 the list is that of 2p-1 with gaps. */
    expect_all("zb-v", (ps_schedule_params){.n_stages = 2, .n_microbatches = 3},
               (const char *const[]){"F0 F1 F2 f0 i0 w0 f1 i1 w1 I0 W0 f2 i2 w2 I1 W1 I2 W2",
                                     "F0 f0 F1 f1 i0 w0 F2 I0 W0 f2 i1 w1 I1 i2 I2 W1 w2 W2"});
    expect_all("zb-v", (ps_schedule_params){.n_stages = 2, .n_microbatches = 1},
               (const char *const[]){"F0 f0 i0 w0 I0 W0", "F0 f0 i0 w0 I0 W0"});
}

static void test_dualpipe_order(void **context) {
    (void)context;
    expect_all("dualpipe", (ps_schedule_params){.n_stages = 4, .n_microbatches = 8},
               (const char *const[]){"F0 F1 F2 f0 i0 w0 f1 F3&b1 f2&B0 b2 f3&B1 b3 I2 W2 I3 W3",
                                     "F0 f0 F1 f1 F2 b0 f2&B0 F3&b1 f3&B1 b2 B2 i3 I3 w3 W3",
                                     "f0 F0 f1 F1 f2 B0 F2&b0 f3&B1 F3&b1 B2 b2 I3 i3 W3 w3",
                                     "f0 f1 f2 F0 I0 W0 F1 f3&B1 F2&b0 B2 F3&b1 B3 i2 w2 i3 w3"});
}

static void test_dualpipev_order(void **context) {
    (void)context;
    expect_all(
        "dualpipev", (ps_schedule_params){.n_stages = 4, .n_microbatches = 8},
        (const char *const[]){
            "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 F7&b3 f4&B0 b4 f5&B1 b5 f6&B2 b6 "
            "f7&B3 b7 I4 W4 I5 W5 I6 W6 I7 W7",
            "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 F6&b2 f4&B0 F7&b3 f5&B1 b4 f6&B2 b5 f7&B3 b6 "
            "B4 i7 I5 w7 I6 W5 I7 W6 W7",
            "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 F5&b1 f4&B0 F6&b2 f5&B1 F7&b3 f6&B2 b4 f7&B3 b5 B4 b6 "
            "I5 i7 I6 W5 I7 w7 W6 W7",
            "F0 f0 F1 f1 F2 f2 F3 f3 F4 b0 f4&B0 F5&b1 f5&B1 F6&b2 f6&B2 F7&b3 f7&B3 b4 B4 b5 B5 i6 "
            "I6 i7 I7 w6 W6 w7 W7"});
    expect("dualpipev", 1, 2, false, 0, false, "F0 f0 F1 b0 f1&B0 b1 I1 W1");
    /* The picture in dualpipev.c: one fold, so that of DualPipe on devices 0 and 1 above. */
    expect_all("dualpipev", (ps_schedule_params){.n_stages = 2, .n_microbatches = 4},
               (const char *const[]){"F0 F1 F2 f0 i0 w0 f1 F3&b1 f2&B0 b2 f3&B1 b3 I2 W2 I3 W3",
                                     "F0 f0 F1 f1 F2 b0 f2&B0 F3&b1 f3&B1 b2 B2 i3 I3 w3 W3"});
}

/* The other tail: the q last backwards whole, no BW behind; the marks are the same. */
static void test_dualpipev_tail(void **context) {
    (void)context;
    ps_schedule_params full = {.n_stages = 2, .n_microbatches = 4, .tail_full = true};
    expect_all("dualpipev", full,
               (const char *const[]){"F0 F1 F2 f0 i0 w0 f1 F3&b1 f2&B0 b2 f3&B1 b3 B2 B3",
                                     "F0 f0 F1 f1 F2 b0 f2&B0 F3&b1 f3&B1 b2 B2 b3 B3"});
    for (int d = 0; d < 2; d++) {
        ps_schedule_params split = {.n_stages = 2, .n_microbatches = 4};
        const ps_schedule *s = ps_schedule_find("dualpipev");
        ps_op_list a = {0};
        ps_op_list b = {0};
        assert_int_equal(s->marks(&full, d, &a, NULL), PS_OK);
        assert_int_equal(s->marks(&split, d, &b, NULL), PS_OK);
        assert_int_equal(a.n, b.n);
        assert_memory_equal(a.ops, b.ops, a.n * sizeof *a.ops);
        ps_op_list_fini(&a);
        ps_op_list_fini(&b);
    }
}

static void test_dualpipev_marks(void **context) {
    (void)context;
    expect(
        "dualpipev", 4, 8, false, 0, true,
        "0 1 2 3 4 5 6 8 logits 8b 8w 9 logits 9b 9w 10 logits 10b 10w 11 logits 7F+11B 12F+0B logits 12B 13F+1B "
        "logits 13B 14F+2B logits 14B 15F+3B logits 15B 4B 5B 6B 7B");
    expect(
        "dualpipev", 4, 8, false, 1, true,
        "0 1 2 3 4 8 5 9 8b 8w 10 9b 9w 11 6F+10B 12F+0B 7F+11B 13F+1B 12B 14F+2B 13B 15F+3B 14B 4B 15B 5B 6B 7B");
    expect(
        "dualpipev", 4, 8, false, 2, true,
        "0 1 2 8 3 9 4 10 8b 8w 11 5F+9B 12F+0B 6F+10B 13F+1B 7F+11B 14F+2B 12B 15F+3B 13B 4B 14B 5B 15B 6B 7B");
    expect(
        "dualpipev", 4, 8, false, 3, true,
        "0 8 1 9 2 10 3 11 4F 8B 12F+0B 5F+9B 13F+1B 6F+10B 14F+2B 7F+11B 15F+3B 12B 4B 13B 5B 14B 6B 15B 7B");
    expect(
        "dualpipev", 4, 10, false, 3, true,
        "0 10 1 11 2 12 3 13 4F 10B 14F+0B 5F+11B 15F+1B 6F+12B 16F+2B 7F+13B 17F+3B 8F+14B 18F+4B 9F+15B 19F+5B "
        "16B 6B 17B 7B 18B 8B 19B 9B");
}

static void test_marks_without_overlap(void **context) {
    (void)context;
    /* p = 2, m = 4: each pair is its forward, then its backward, and the output head has no range. */
    expect("dualpipev", 2, 4, true, 0, true, "0 1 2 4 4b 4w 5 3F 5B 6F 0B 6B 7F 1B 7B 2B 3B");
    expect("dualpipev", 2, 4, true, 1, true, "0 4 1 5 2F 4B 6F 0B 3F 5B 7F 1B 6B 2B 7B 3B");
}

static size_t count(const ps_schedule *s, list_fn *fn, const ps_schedule_params *params,
                    int32_t device) {
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

/* Every forward once; every backward once, whole or as both halves; a BW behind its BI, a backward behind its forward. */
static void check_complete(const ps_schedule *s, const ps_schedule_params *params, int32_t device) {
    enum { MAX = 64, CHUNKS = 4 };
    int f[CHUNKS][MAX] = {{0}}, b[CHUNKS][MAX] = {{0}}, bi[CHUNKS][MAX] = {{0}},
        bw[CHUNKS][MAX] = {{0}};
    int32_t n_chunks = ps_schedule_chunks(s, params);
    int32_t m = ps_schedule_microbatches(s, params);
    ps_op_list list = {0};
    assert_int_equal(s->order(params, device, &list, NULL), PS_OK);
    for (size_t i = 0; i < list.n; i++) {
        const ps_sched_op *op = &list.ops[i];
        assert_in_range(op->chunk, 0, n_chunks - 1);
        assert_in_range(op->microbatch, 0, m - 1);
        f[op->chunk][op->microbatch] += op->kind == PS_OP_F || op->kind == PS_OP_FB;
        b[op->chunk][op->microbatch] += op->kind == PS_OP_B;
        bi[op->chunk][op->microbatch] += op->kind == PS_OP_BI;
        bw[op->chunk][op->microbatch] += op->kind == PS_OP_BW;
        if (op->kind == PS_OP_FB) {
            assert_in_range(op->chunk2, 0, n_chunks - 1);
            assert_in_range(op->microbatch2, 0, m - 1);
            b[op->chunk2][op->microbatch2]++;
        }
    }
    for (int32_t c = 0; c < n_chunks; c++) {
        for (int32_t k = 0; k < m; k++) {
            assert_int_equal(f[c][k], 1);
            assert_int_equal(b[c][k] + bi[c][k], 1);
            assert_int_equal(bi[c][k], bw[c][k]);
        }
    }
    ps_op_list_fini(&list);
}

/* Variants of the parameters that schedules listen to, one after the other. */
static bool next_variant(const ps_schedule *s, int number, ps_schedule_params *params) {
    int chunks = (s->takes & PS_TAKES_CHUNKS) != 0 ? 4 : 1;
    int group = (s->takes & PS_TAKES_GROUP) != 0 ? 4 : 1;
    int flags = (s->takes & (PS_TAKES_OVERLAP | PS_TAKES_TAIL)) != 0 ? 2 : 1;
    params->n_chunks = number % chunks;
    params->group =
        number / chunks % group == 0 ? 0 : params->n_stages + number / chunks % group - 1;
    params->overlap = params->tail_full = number / chunks / group == 1;
    return number < chunks * group * flags;
}

static void test_complete(void **context) {
    (void)context;
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        const ps_schedule *s = ps_schedules()[i];
        for (int32_t p = 1; p <= 8; p++) {
            for (int32_t m = 1; m <= 24; m++) {
                ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
                for (int variant = 0; next_variant(s, variant, &params); variant++) {
                    for (int32_t d = 0; s->check(&params, NULL) == PS_OK && d < p; d++) {
                        check_complete(s, &params, d);
                    }
                }
            }
        }
    }
}

/* `splits` is what the lists of a usual job do. */
static void test_splits(void **context) {
    (void)context;
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        const ps_schedule *s = ps_schedules()[i];
        ps_schedule_params params = {.n_stages = 4, .n_microbatches = 16};
        size_t n_weights = 0;
        for (int32_t d = 0; d < params.n_stages; d++) {
            ps_op_list list = {0};
            assert_int_equal(s->order(&params, d, &list, NULL), PS_OK);
            for (size_t k = 0; k < list.n; k++) {
                n_weights += list.ops[k].kind == PS_OP_BW;
            }
            ps_op_list_fini(&list);
        }
        assert_int_equal(n_weights > 0, s->splits);
    }
}

/* --- activations -------------------------------------------------------------------------------------------------- */

static size_t peak(const char *schedule, int32_t p, int32_t m, int32_t device) {
    const ps_schedule *s = ps_schedule_find(schedule);
    ps_schedule_params params = {.n_stages = p, .n_microbatches = m};
    ps_op_list list = {0};
    assert_int_equal(s->order(&params, device, &list, NULL), PS_OK);
    size_t n = ps_peak_activations(list.ops, list.n);
    ps_op_list_fini(&list);
    return n;
}

static size_t most(const char *schedule, int32_t p, int32_t m) {
    size_t n = 0;
    for (int32_t d = 0; d < p; d++) {
        size_t own = peak(schedule, p, m, d);
        n = own > n ? own : n;
    }
    return n;
}

static void test_peak_activations(void **context) {
    (void)context;
    for (int32_t p = 1; p <= 8; p++) {
        for (int32_t m = 1; m <= 3 * p + 3; m++) {
            for (int32_t d = 0; d < p; d++) {
                assert_int_equal(peak("gpipe", p, m, d), m);
                assert_int_equal(peak("1f1b", p, m, d), p - d < m ? p - d : m);
            }
            if (m >= p) {
                assert_int_equal(most("zb-h1", p, m), p);
            }
            if (m >= 2 * p - 1) {
                assert_int_equal(most("zb-h2", p, m), 2 * p - 1);
                assert_int_equal(most("zb-v", p, m), 2 * p);
            }
            if (m >= 2 * p) {
                assert_int_equal(most("dualpipev", p, m), 2 * p + 1);
            }
            if (m >= 2 * p && p % 2 == 0 && m % 2 == 0) {
                assert_int_equal(most("dualpipe", p, m), p + 1);
            }
        }
    }
    assert_int_equal(ps_peak_activations(NULL, 0), 0);
}

/* --- preconditions ------------------------------------------------------------------------------------------------ */

static void expect_refused_as(const char *schedule, ps_schedule_params params, const char *part) {
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_schedule_find(schedule)->check(&params, &err), PS_RANGE);
    if (strstr(err.msg, part) == NULL) {
        fail_msg("'%s' does not mention '%s'", err.msg, part);
    }
}

static void expect_refused(const char *schedule, int32_t p, int32_t m, const char *part) {
    expect_refused_as(schedule, (ps_schedule_params){.n_stages = p, .n_microbatches = m}, part);
}

static void test_check(void **context) {
    (void)context;
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        const char *name = ps_schedules()[i]->name;
        expect_refused(name, 0, 4, "stages");
        expect_refused(name, -1, 4, "stages");
        expect_refused(name, PS_MAX_STAGES + 1, 4, "4096");
        expect_refused(name, 4, 0, "microbatches");
        expect_refused(name, 4, PS_MAX_MICROBATCHES + 1, "65536");
    }
    expect_refused("zb-h2", 4, 6, "m >= 2p-1 = 7");
    expect_refused("dualpipev", 4, 7, "2p = 8");
    expect_refused("dualpipe", 3, 8, "p and m even and m >= 2p: got p = 3");
    expect_refused("dualpipe", 4, 9, "m = 9");
    expect_refused("dualpipe", 4, 6, "m >= 2p");
}

static void test_check_groups(void **context) {
    (void)context;
    expect_refused("interleaved", 4, 3, "p <= g <= m: got p = 4 stages, groups of g = 4, m = 3");
    expect_refused("interleaved", 4, 6, "m mod g to be 0 or >= p");
    expect_refused_as("interleaved",
                      (ps_schedule_params){.n_stages = 4, .n_microbatches = 8, .group = 3},
                      "g = 3");
    expect_refused_as("interleaved",
                      (ps_schedule_params){.n_stages = 4, .n_microbatches = 8, .group = 9},
                      "g = 9");
    expect_refused_as("interleaved",
                      (ps_schedule_params){.n_stages = 4, .n_microbatches = 8, .group = -1},
                      "g = -1");
    expect_refused_as("interleaved",
                      (ps_schedule_params){.n_stages = 4, .n_microbatches = 8, .n_chunks = 1},
                      "2 to 64 chunks");
    expect_refused_as(
        "interleaved",
        (ps_schedule_params){.n_stages = 4, .n_microbatches = 8, .n_chunks = INT32_MAX},
        "2 to 64 chunks");
    expect_refused("interleaved-zb", 4, 3, "p <= g <= m");
    expect_refused("interleaved-zb", 4, 9, "multiple of g: got m = 9");
    expect_refused_as("interleaved-zb",
                      (ps_schedule_params){.n_stages = 4, .n_microbatches = 8, .n_chunks = -1},
                      "1 to 64 chunks");
    /* m not divisible by p, but by the rule. */
    ps_schedule_params fine = {.n_stages = 4, .n_microbatches = 9, .group = 5};
    assert_int_equal(ps_schedule_find("interleaved")->check(&fine, NULL), PS_OK);
}

static void test_names(void **context) {
    (void)context;
    assert_null(ps_schedule_find("2f2b"));
    assert_null(ps_schedule_find(NULL));
    assert_ptr_equal(ps_schedule_find("DualPipeV"), ps_schedule_find("dualpipev"));
    assert_ptr_equal(ps_schedule_find("vpp"), ps_schedule_find("interleaved"));
    static const char *const PYTORCH[] = {
        "GPipe",     "1F1B", "Interleaved1F1B", "InterleavedZeroBubble", "ZBVZeroBubble",
        "DualPipeV", NULL};
    for (size_t i = 0; PYTORCH[i] != NULL; i++) {
        assert_non_null(ps_schedule_find(PYTORCH[i]));
    }
}

static void test_memory(void **context) {
    (void)context;
    ps_schedule_params params = {.n_stages = 4, .n_microbatches = 64};
    for (size_t i = 0; ps_schedules()[i] != NULL; i++) {
        int64_t n = 0;
        bool has_failed = true;
        for (; has_failed; n++) {
            ps_op_list list = {0};
            (void)ps_alloc_fail_at(n);
            ps_code code = ps_schedules()[i]->order(&params, 1, &list, NULL);
            has_failed = ps_alloc_fail_at(-1) > n;
            assert_int_equal(code, has_failed ? PS_NOMEM : PS_OK);
            assert_true(n < 100);
            ps_op_list_fini(&list);
        }
        assert_true(n > 2);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpipe_order),      cmocka_unit_test(test_pairs_apart),
        cmocka_unit_test(test_1f1b_order),       cmocka_unit_test(test_interleaved_order),
        cmocka_unit_test(test_zb_h1_order),      cmocka_unit_test(test_interleaved_zb_order),
        cmocka_unit_test(test_zb_h2_order),      cmocka_unit_test(test_zb_v_order),
        cmocka_unit_test(test_looped_bfs_order), cmocka_unit_test(test_dualpipe_order),
        cmocka_unit_test(test_dualpipev_order),  cmocka_unit_test(test_dualpipev_tail),
        cmocka_unit_test(test_dualpipev_marks),  cmocka_unit_test(test_marks_without_overlap),
        cmocka_unit_test(test_mark_counts),      cmocka_unit_test(test_phases),
        cmocka_unit_test(test_complete),         cmocka_unit_test(test_splits),
        cmocka_unit_test(test_peak_activations), cmocka_unit_test(test_check),
        cmocka_unit_test(test_check_groups),     cmocka_unit_test(test_names),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What messages mean, which marks belong to which step, and which are left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "analyze/rank/marks.h"
#include "analyze/rank/step_index.h"
#include "base/alloc.h"
#include "base/buf.h"

/* --- messages
 * ---------------------------------------------------------------------------------
 */

enum { NO_MARK = PS_N_OP_KINDS };

static void every_spelling_is_understood(void **state) {
    (void)state;
    static const struct {
        const char *message;
        int kind, microbatch;
    } CASES[] = {
        /* as Python prints a dict */
        {"{'name': 'forward_step'}", PS_OP_F, -1},
        {"{'name': 'forward_step_with_model_graph', 'current_microbatch': 3}", PS_OP_F, 3},
        {"{'name': 'forward_step_no_model_graph', 'current_microbatch': 0}", PS_OP_F, 0},
        {"{'name': 'forward_backward_overlaping', 'current_microbatch': 7}", PS_OP_FB, 7},
        {"{'name': 'backward_step_with_model_graph'}", PS_OP_B, -1},
        {"{'name': 'backward_step'}", PS_OP_B, -1},
        {"{'name': 'WeightGradStore.pop'}", PS_OP_BW, -1},
        {"{'name': 'WeightGradStore_pop'}", PS_OP_BW, -1},
        {"{'name': 'WeightGradStore.pop_single'}", PS_OP_BW, -1},
        {"  {'current_microbatch': 5, 'name': 'backward_step'}", PS_OP_B, 5},
        /* JSON */
        {"{\"name\": \"forward_step\", \"current_microbatch\": 4}", PS_OP_F, 4},
        {"{\"name\": \"backward_step\", \"current_microbatch\": \"6\"}", PS_OP_B, 6},
        {"{\"name\": \"weightgradstore.POP\"}", PS_OP_BW, -1},
        /* bare words, any case */
        {"forward_step", PS_OP_F, -1},
        {"BACKWARD", PS_OP_B, -1},
        {"Forward-Backward", PS_OP_FB, -1},
        {"my WeightGradStore.pop here", PS_OP_BW, -1},
        /* the word elsewhere than in the name */
        {"{'name': 'step', 'phase': 'forward'}", PS_OP_F, -1},
        {"{'name': 'step', 'phase': 'backward', 'current_microbatch': 2}", PS_OP_B, 2},
        /* microbatches that are none */
        {"{'name': 'forward_step', 'current_microbatch': None}", PS_OP_F, -1},
        {"{'name': 'forward_step', 'current_microbatch': -1}", PS_OP_F, -1},
        {"{'name': 'forward_step', 'current_microbatch': 99999999999}", PS_OP_F, -1},
        {"{'name': 'forward_step', 'current_microbatch': 1.5}", PS_OP_F, -1},
        /* broken, but the word is there */
        {"{'name': 'forward_step', ", PS_OP_F, -1},
        /* no marks */
        {"", NO_MARK, 0},
        {"{'name': 'dataloader'}", NO_MARK, 0},
        {"WeightGradStorepop", NO_MARK, 0}, /* one character must stand between */
        {"WeightGradStore.put", NO_MARK, 0},
        {"{\"opName\": \"HcclSend\", \"groupName\": \"g\"}", NO_MARK, 0},
        {"fwd", NO_MARK, 0},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        ps_op_kind kind = PS_OP_OTHER;
        int32_t microbatch = -7;
        bool is_mark = false;
        assert_int_equal(ps_mark_classify(CASES[i].message, &is_mark, &kind, &microbatch, NULL),
                         PS_OK);
        if (is_mark != (CASES[i].kind != NO_MARK)) {
            fail_msg("%s: %s", CASES[i].message,
                     is_mark ? "taken for a mark" : "not taken for a mark");
        }
        if (is_mark && ((int)kind != CASES[i].kind || microbatch != CASES[i].microbatch)) {
            fail_msg("%s: kind %s, microbatch %d", CASES[i].message, ps_op_kind_name(kind),
                     (int)microbatch);
        }
    }
}

/* A name longer than any buffer. */
static void a_long_message_is_understood(void **state) {
    (void)state;
    char message[2000];
    memset(message, 'x', sizeof message);
    (void)memcpy(message, "forward", 7);
    (void)memcpy(message + sizeof message - 9, "backward", 9);
    ps_op_kind kind = PS_OP_OTHER;
    int32_t microbatch = 0;
    bool is_mark = false;
    assert_int_equal(ps_mark_classify(message, &is_mark, &kind, &microbatch, NULL), PS_OK);
    assert_true(is_mark);
    assert_int_equal(kind, PS_OP_F); /* the first 255 bytes are looked at */
}

/* --- marks of a trace
 * ------------------------------------------------------------------------- */

typedef struct row {
    const char *message;
    int64_t host_start, host_end, start, end;
    int stream;
} row;

static ps_trace *make_trace(const ps_step *steps, size_t n_steps, const row *rows, size_t n) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    for (size_t i = 0; i < n_steps; i++) {
        ps_builder_step(b, steps[i].id, steps[i].start_ns, steps[i].end_ns);
    }
    uint32_t thread = ps_builder_track(b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .tid = 1});
    for (size_t i = 0; i < n; i++) {
        const row *r = &rows[i];
        ps_str name = ps_builder_str(b, r->message, strlen(r->message));
        uint32_t stream =
            ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = r->stream});
        uint32_t host = ps_builder_slice(b, PS_SLICE_MARK_HOST, thread, name, r->host_start,
                                         r->host_end, (int64_t)i + 1);
        uint32_t device = ps_builder_slice(b, PS_SLICE_MARK_DEVICE, stream, name, r->start, r->end,
                                           (int64_t)i + 101);
        ps_builder_flow(b, host, device);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

/* "F@100:1 B@300:1": kind, device start, step ("-" outside). */
static void dump(const ps_mark_list *list, ps_buf *out) {
    ps_buf_clear(out);
    for (size_t i = 0; i < list->n; i++) {
        const ps_mark *m = &list->marks[i];
        ps_buf_addf(out, "%s%s@%lld:", i > 0 ? " " : "", ps_op_kind_name((ps_op_kind)m->kind),
                    (long long)m->start_ns);
        if (m->step == PS_STEP_OUTSIDE) {
            ps_buf_add_char(out, '-');
        } else {
            ps_buf_addf(out, "%lld", (long long)m->step);
        }
    }
}

static void expect_marks(const ps_trace *t, int64_t step_id, ps_diag *diag, const char *expected) {
    ps_analysis_opts opts = {.step_id = step_id};
    ps_mark_list list;
    ps_buf text;
    ps_buf_init(&text, 0);
    assert_int_equal(ps_marks_collect(t, &opts, &list, diag, NULL), PS_OK);
    dump(&list, &text);
    assert_string_equal(ps_buf_str(&text), expected);
    ps_buf_fini(&text);
    ps_mark_list_fini(&list);
}

#define N_OF(array) (sizeof(array) / sizeof *(array))

/* A step has its start and not its end; a mark must end within it. */
static void steps_are_half_open(void **state) {
    (void)state;
    static const ps_step STEPS[] = {{3, 1000, 2000}, {4, 2000, 3000}, {6, 4000, 5000}};
    static const row ROWS[] = {
        {"forward", 999, 1100, 1100, 1110, 2},  /* begins before step 3 */
        {"forward", 1000, 1500, 1200, 1210, 2}, /* begins with it */
        {"forward", 1900, 2000, 1900, 1910, 2}, /* ends with it */
        {"forward", 1950, 2001, 1950, 1960, 2}, /* ends in step 4 */
        {"forward", 2000, 2000, 2000, 2010, 2}, /* an instant where both touch */
        {"forward", 3000, 3000, 3000, 3010, 2}, /* where step 4 has ended */
        {"forward", 3500, 3600, 3500, 3510, 2}, /* between steps */
        {"forward", 4100, 4200, 4100, 4110, 2},
        {"forward", 5000, 5100, 5000, 5010, 2}, /* after the last one */
    };
    ps_trace *t = make_trace(STEPS, N_OF(STEPS), ROWS, N_OF(ROWS));
    ps_diag diag = {0};
    expect_marks(t, -1, &diag,
                 "F@1100:- F@1200:3 F@1900:3 F@1950:- F@2000:4 F@3000:- F@3500:- "
                 "F@4100:6 F@5000:-");
    assert_int_equal(diag.counts[PS_ODD_MARK_NO_STEP], 5);
    ps_diag filtered = {0};
    expect_marks(t, 3, &filtered, "F@1200:3 F@1900:3");
    assert_int_equal(filtered.counts[PS_ODD_MARK_NO_STEP], 0); /* of other steps nothing is said */
    ps_trace_free(t);
}

/* The host side decides about the step; the device runs behind. */
static void the_host_decides_about_the_step(void **state) {
    (void)state;
    static const ps_step STEPS[] = {{1, 0, 1000}, {2, 1000, 2000}};
    static const row ROWS[] = {{"forward", 900, 950, 1500, 1600, 2},
                               {"backward", 1010, 1020, 1700, 1800, 2}};
    ps_trace *t = make_trace(STEPS, N_OF(STEPS), ROWS, N_OF(ROWS));
    ps_diag diag = {0};
    expect_marks(t, -1, &diag, "F@1500:1 B@1700:2");
    ps_trace_free(t);
}

static void without_steps_all_marks_are_step_0(void **state) {
    (void)state;
    static const row ROWS[] = {{"backward", 1, 2, 300, 400, 2},
                               {"forward", 3, 4, 100, 200, 2},
                               {"other", 5, 6, 500, 600, 2}};
    ps_trace *t = make_trace(NULL, 0, ROWS, N_OF(ROWS));
    ps_diag diag = {0};
    expect_marks(t, -1, &diag, "F@100:0 B@300:0");
    assert_int_equal(diag.counts[PS_ODD_MARK_NO_STEP], 0);
    ps_analysis_opts opts = {.step_id = 0};
    ps_mark_list list;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_marks_collect(t, &opts, &list, &diag, &err), PS_NOTHING);
    assert_non_null(strstr(err.msg, "no steps recorded"));
    ps_trace_free(t);
}

/* A wrapper holds two forwards and two backwards and more than half of its
 * step; what holds less is a mark itself. */
static void wrappers_are_told_from_long_marks(void **state) {
    (void)state;
    static const row WRAPPED[] = {
        {"forward_backward_func", 0, 1, 10, 1000, 2},
        {"forward", 2, 3, 20, 100, 2},
        {"backward", 4, 5, 120, 200, 2},
        {"forward", 6, 7, 220, 300, 2},
        {"backward", 8, 9, 320, 400, 2},
    };
    ps_trace *t = make_trace(NULL, 0, WRAPPED, N_OF(WRAPPED));
    ps_diag diag = {0};
    expect_marks(t, -1, &diag, "F@20:0 B@120:0 F@220:0 B@320:0");
    assert_int_equal(diag.counts[PS_ODD_MARK_CONTAINER], 1);
    ps_trace_free(t);

    /* An overlapped pair with its two halves marked as well: the pair counts. */
    static const row PAIR[] = {{"forward_backward_overlaping", 0, 1, 10, 500, 2},
                               {"forward", 2, 3, 20, 200, 2},
                               {"backward", 4, 5, 220, 400, 2}};
    t = make_trace(NULL, 0, PAIR, N_OF(PAIR));
    ps_diag second = {0};
    expect_marks(t, -1, &second, "FB@10:0");
    assert_int_equal(second.counts[PS_ODD_MARK_CONTAINER], 0);
    assert_int_equal(second.counts[PS_ODD_MARK_NESTED], 2);
    ps_trace_free(t);
}

/* Wrappers of wrappers. */
static void wrappers_may_be_nested(void **state) {
    (void)state;
    static const row ROWS[] = {
        {"backward and forward of all", 0, 1, 5, 2000, 2},
        {"forward_backward_func", 0, 1, 10, 1000, 2},
        {"forward", 2, 3, 20, 100, 2},
        {"backward", 4, 5, 120, 200, 2},
        {"forward", 6, 7, 220, 300, 2},
        {"backward", 8, 9, 320, 400, 2},
    };
    ps_trace *t = make_trace(NULL, 0, ROWS, N_OF(ROWS));
    ps_diag diag = {0};
    expect_marks(t, -1, &diag, "F@20:0 B@120:0 F@220:0 B@320:0");
    assert_int_equal(diag.counts[PS_ODD_MARK_CONTAINER], 2);
    ps_trace_free(t);
}

/* Many marks, each inside the one before: must not take quadratic time, and one
 * stays. */
static void deep_nesting_stays_cheap(void **state) {
    (void)state;
    enum { N = 20000 };
    static row rows[N];
    for (int i = 0; i < N; i++) {
        rows[i] = (row){"forward", i, i, i, 2 * N - i, 2};
    }
    ps_trace *t = make_trace(NULL, 0, rows, N);
    ps_diag diag = {0};
    expect_marks(t, -1, &diag, "F@0:0");
    assert_int_equal(diag.counts[PS_ODD_MARK_NESTED], N - 1);
    ps_trace_free(t);
}

static void out_of_memory(void **state) {
    (void)state;
    static const row ROWS[] = {{"{'name': 'forward', 'current_microbatch': 3}", 0, 1, 10, 20, 2},
                               {"backward", 2, 3, 30, 40, 2},
                               {"other", 4, 5, 50, 60, 2}};
    ps_trace *t = make_trace(NULL, 0, ROWS, N_OF(ROWS));
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_analysis_opts opts = {.step_id = -1};
        ps_mark_list list;
        ps_diag diag = {0};
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_code code = ps_marks_collect(t, &opts, &list, &diag, &err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_int_equal(code, done ? PS_OK : PS_NOMEM);
        assert_int_equal(err.code, code);
        assert_true(!done || list.marks[0].microbatch == 3);
        ps_mark_list_fini(&list);
    }
    ps_trace_free(t);
}

/* However steps overlap, the last one in start order that contains the mark has it. */
static void overlapping_steps_are_searched_alike(void **state) {
    (void)state;
    enum { N = 300 };
    static ps_step steps[N];
    static row rows[N];
    uint32_t random = 1;
    for (int i = 0; i < N; i++) {
        random = random * 1664525 + 1013904223;
        int64_t start = (int64_t)(random >> 8) % 10000;
        random = random * 1664525 + 1013904223;
        int64_t length = (int64_t)(random >> 8) % (i % 10 == 0 ? 2000 : 40);
        steps[i] = (ps_step){i, start, start + length};
        random = random * 1664525 + 1013904223;
        int64_t at = (int64_t)(random >> 8) % 11000;
        rows[i] = (row){"forward", at, at + i % 5, 100000 + i * 10, 100005 + i * 10, 2};
    }
    ps_trace *t = make_trace(steps, N, rows, N);
    ps_analysis_opts opts = {.step_id = -1};
    ps_mark_list list;
    ps_diag diag = {0};
    assert_int_equal(ps_marks_collect(t, &opts, &list, &diag, NULL), PS_OK);
    assert_int_equal(list.n, N);
    size_t n_outside = 0;
    size_t n_steps = 0;
    int64_t origin = ps_trace_origin_ns(t);
    const ps_step *sorted = ps_trace_steps(t, &n_steps);
    for (size_t i = 0; i < N; i++) {
        int64_t expected = PS_STEP_OUTSIDE;
        int64_t start = list.marks[i].host_start_ns - origin;
        int64_t end = list.marks[i].host_end_ns - origin;
        for (size_t k = 0; k < n_steps; k++) {
            if (sorted[k].start_ns <= start && start < sorted[k].end_ns &&
                end <= sorted[k].end_ns) {
                expected = sorted[k].id;
            }
        }
        n_outside += expected == PS_STEP_OUTSIDE;
        assert_true(list.marks[i].step == expected);
    }
    assert_true(n_outside > 20 && n_outside < N - 20);
    assert_int_equal(diag.counts[PS_ODD_MARK_NO_STEP], n_outside);
    ps_mark_list_fini(&list);
    ps_trace_free(t);
}

/* Labels of an earlier run whose times no difference would fit, or that end before they start. */
static void impossible_label_times_are_counted(void **state) {
    (void)state;
    static const ps_column COLUMNS[] = {{.name = "name", .type = PS_COL_TEXT},
                                        {.name = "startNs", .type = PS_COL_INT},
                                        {.name = "endNs", .type = PS_COL_INT}};
    static const int64_t TIMES[][2] = {{INT64_MIN, 5}, {10, 20}, {5, INT64_MAX}, {30, 29}};
    ps_builder *b = ps_builder_new();
    ps_table *labels = ps_table_new("StepTaskInfo", "", COLUMNS, 3);
    assert_non_null(labels);
    for (size_t i = 0; i < N_OF(TIMES); i++) {
        assert_true(ps_table_add_row(labels) && ps_table_set_text(labels, 0, "FP"));
        ps_table_set_int(labels, 1, TIMES[i][0]);
        ps_table_set_int(labels, 2, TIMES[i][1]);
    }
    ps_builder_step(b, 7, 0, 100);
    ps_builder_side_table(b, labels);
    ps_trace *t = ps_builder_seal(b, NULL);
    ps_analysis_opts opts = {.step_id = -1};
    ps_mark_list list;
    ps_diag diag = {0};
    assert_int_equal(ps_marks_from_labels(t, &opts, &list, &diag, NULL), PS_OK);
    assert_int_equal(list.n, 1);
    assert_int_equal(list.marks[0].start_ns, 10);
    assert_int_equal(list.marks[0].step, 7);
    assert_int_equal(diag.counts[PS_ODD_TIME], 3);
    ps_mark_list_fini(&list);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_spelling_is_understood),
        cmocka_unit_test(a_long_message_is_understood),
        cmocka_unit_test(steps_are_half_open),
        cmocka_unit_test(the_host_decides_about_the_step),
        cmocka_unit_test(without_steps_all_marks_are_step_0),
        cmocka_unit_test(wrappers_are_told_from_long_marks),
        cmocka_unit_test(wrappers_may_be_nested),
        cmocka_unit_test(deep_nesting_stays_cheap),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(overlapping_steps_are_searched_alike),
        cmocka_unit_test(impossible_label_times_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What the report says of the host: what it does in on-line compile mode, while it fetches a batch, and where nothing of it was
 * recorded. The device computes from 2 to 400 and from 700 on, in a step of 1000; times in the comments are microseconds. */
#include "support/report_run.h"

#include <string.h>

#define NEXT "torch/utils/data/dataloader.py(625): __next__"

static rig with_gap(void) {
    rig r = rig_begin(1000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    return r;
}

static void finish_gap(report_run *out, rig *r) {
    (void)rig_kernel(r, "Add", NULL, 690, 700, 1000);
    ps_trace *t = rig_seal(r);
    report_over(out, &t, 1, NULL, NULL);
    assert_int_equal(out->code, PS_OK);
}

static const char *advice(const report_run *o, ps_rule_id rule) {
    const ps_table *t = report_table(o, "findings");
    size_t row = report_row(o, rule);
    assert_true(row != SIZE_MAX);
    return ps_table_cell(t, row, ps_table_column(t, "try"))->u.text;
}

static void expect_in(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in: %s", part, text);
    }
}

/* aclopCompileAndExecute takes 200 of the gap; of it 20 are a look-up, too short to compile anything, or the capture does not say. No
 * shape changes there. */
static void on_line_compile_mode(void **state) {
    (void)state;
    for (int inner = 0; inner < 2; inner++) {
        report_run o;
        rig r = with_gap();
        (void)rig_host(&r, PS_SLICE_CALL, "aclopCompileAndExecute", 450, 650);
        if (inner) {
            (void)rig_host(&r, PS_SLICE_CALL, "opCompile", 500, 520);
        }
        finish_gap(&o, &r);
        assert_int_equal(report_gain(&o, PS_RULE_JIT_COMPILE), 200 * US);
        const char *causes = report_text(&o, PS_RULE_FREE_SHARE);
        expect_in(causes,
                  inner ? "the compiler or its cache 20.0 us" : "the compiler or its cache 200 us");
        if (inner) {
            expect_in(causes, "operators compiled or looked up at their launch 180 us");
            expect_in(
                report_text(&o, PS_RULE_JIT_COMPILE),
                "1 call of aclopCompileAndExecute (200 us in a step), of which opCompile takes "
                "20.0 us (the longest 20.0 us): nothing was compiled, the rest prepares and "
                "launches.");
            assert_null(strstr(advice(&o, PS_RULE_JIT_COMPILE), "jit_compile=False"));
            assert_null(strstr(advice(&o, PS_RULE_JIT_COMPILE), "pad"));
        }
        report_fini(&o);
    }
}

/* One that takes 2 ms compiles: the mode that does it is switched off. */
static void compiled_at_launch(void **state) {
    (void)state;
    report_run o;
    rig r = rig_begin(10000);
    (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
    (void)rig_host(&r, PS_SLICE_CALL, "aclopCompileAndExecute", 450, 6500);
    (void)rig_host(&r, PS_SLICE_CALL, "opCompile", 500, 2500);
    finish_gap(&o, &r);
    assert_null(strstr(report_text(&o, PS_RULE_JIT_COMPILE), "nothing was compiled"));
    expect_in(advice(&o, PS_RULE_JIT_COMPILE), "set_compile_mode(jit_compile=False)");
    report_fini(&o);
}

/* x.to(device) of memory that is not pinned: called at 460, begun by the device at 600, waited for until 680. The call that waits lies in
 * the operator, on a track of the driver's own with the thread's number, or nowhere: only then is the copy not waited for. */
static void copies_that_are_waited_for(void **state) {
    (void)state;
    enum { IN_OPERATOR, ON_OTHER_TRACK, NOWHERE };
    for (int where = IN_OPERATOR; where <= NOWHERE; where++) {
        report_run o;
        rig r = with_gap();
        uint32_t driver =
            ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 7, .device = -1});
        (void)rig_host(&r, PS_SLICE_PYTHON, "main.py(5): load", 440, 688);
        (void)rig_host(&r, PS_SLICE_PYTHON, "torch/_tensor.py(9): to", 445, 687);
        uint32_t op = rig_host(&r, PS_SLICE_HOST_OP, "aten::copy_", 450, 682);
        uint32_t call = rig_host(&r, PS_SLICE_CALL, "aclrtMemcpyAsync", 460, 461);
        if (where != NOWHERE) {
            (void)rig_slice(&r, PS_SLICE_CALL, where == IN_OPERATOR ? r.host : driver,
                            "aclrtSynchronizeStreamWithTimeout", 470, 680);
        }
        uint32_t copy = rig_slice(&r, PS_SLICE_COPY, r.stream, "MEMCPY_ASYNC", 600, 680);
        ps_builder_flow(r.b, call, copy);
        ps_builder_flow(r.b, op, copy);
        finish_gap(&o, &r);
        assert_int_equal(report_fired(&o, PS_RULE_BLOCKING_COPY), where != NOWHERE);
        if (where != NOWHERE) {
            const char *causes = report_text(&o, PS_RULE_FREE_SHARE);
            expect_in(causes, "blocking copies 152 us"); /* 450 to 600, 680 to 682 */
            expect_in(advice(&o, PS_RULE_BLOCKING_COPY), "pin_memory=True");
            assert_null(strstr(advice(&o, PS_RULE_BLOCKING_COPY), "item()"));
            const ps_table *rows = report_table(&o, "evidence");
            bool named = false;
            for (size_t i = 0; i < rows->n_rows; i++) {
                const ps_value *note = ps_table_cell(rows, i, ps_table_column(rows, "note"));
                named = named || (!note->is_null && strstr(note->u.text, "in main.py(5): load"));
            }
            assert_true(named);
        }
        report_fini(&o);
    }
}

static bool any_note(const report_run *o, const char *part) {
    const ps_table *rows = report_table(o, "evidence");
    bool found = false;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const ps_value *note = ps_table_cell(rows, i, ps_table_column(rows, "note"));
        found = found || (!note->is_null && strstr(note->u.text, part) != NULL);
    }
    return found;
}

/* Two reads of a value, of 100 and 80. A copy lies in the second, on the driver's own track; the first reads memory of the host. Where the
 * capture has no such call at all nobody knows. */
static void reads_of_the_hosts_own_memory(void **state) {
    (void)state;
    static const char *const CALLS[] = {NULL,
                                        "aclrtMemcpy",
                                        "aclrtMemcpyAsync",
                                        "cudaMemcpyAsync_v3020",
                                        "cudaStreamSynchronize",
                                        "aclrtGetDevice"};
    for (size_t i = 0; i < sizeof CALLS / sizeof *CALLS; i++) {
        report_run o;
        rig r = with_gap();
        uint32_t driver =
            ps_builder_track(r.b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 7, .device = -1});
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 420, 520);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::item", 540, 620);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::_local_scalar_dense", 541, 619);
        if (CALLS[i] != NULL) {
            (void)rig_slice(&r, PS_SLICE_CALL, driver, CALLS[i], 550, 600);
        }
        finish_gap(&o, &r);
        bool is_known = i > 0 && i < 5;
        const char *causes = report_text(&o, PS_RULE_FREE_SHARE);
        expect_in(causes, is_known ? "blocking copies 80.0 us" : "blocking copies 180 us");
        assert_int_equal(strstr(causes, "operators and Python 100 us") != NULL, is_known);
        expect_in(report_text(&o, PS_RULE_BLOCKING_COPY),
                  is_known ? "(1 range in a step, " : "(2 ranges in a step, ");
        report_fini(&o);
    }
}

/* Of the gap of 290 a batch takes 130 and an operator 110: neither is what the host did. One that takes 280 is. */
static void a_wait_of_several_causes_names_them(void **state) {
    (void)state;
    for (int is_one = 0; is_one < 2; is_one++) {
        report_run o;
        rig r = with_gap();
        (void)rig_host(&r, PS_SLICE_PYTHON, NEXT, 400, 530);
        (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::sort", is_one ? 400 : 530, is_one ? 680 : 640);
        finish_gap(&o, &r);
        assert_int_equal(
            any_note(
                &o,
                is_one
                    ? "host: fetching a batch"
                    : "host: fetching a batch 130 us, operators and Python 110 us, nothing recorded of a "
                      "thread that launches 50.0 us"),
            !is_one);
        report_fini(&o);
    }
}

/* Of the gap from 400 to 690 the innermost operator that still fills half is named: not the one around it, nor what fills less. */
static void the_innermost_that_fills_a_gap(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap();
    (void)rig_host(&r, PS_SLICE_HOST_OP, "DDP.forward", 395, 688);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::linear", 405, 680);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "aten::addmm", 500, 600);
    finish_gap(&o, &r);
    assert_true(any_note(&o, "host: operators and Python: aten::linear"));
    report_fini(&o);
}

/* A frame that runs in a range is Python: nobody named the frame. */
static void frames_in_a_range_have_no_name_of_the_program(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap();
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "DistributedDataParallel.forward", 410, 680);
    (void)rig_host(&r, PS_SLICE_PYTHON, "torch/nn/modules/container.py(213): forward", 420, 620);
    finish_gap(&o, &r);
    const char *causes = report_text(&o, PS_RULE_FREE_SHARE);
    expect_in(causes, "operators and Python 200 us");
    expect_in(causes, "ranges that the program or its framework named 70.0 us "
                      "(DistributedDataParallel.forward 70.0 us)");
    report_fini(&o);
}

/* Three of a name in a step, of which one lies in the optimiser's step and is not counted where the time is. Memory that the framework
 * allocates was recorded. */
static void counts_say_what_is_counted(void **state) {
    (void)state;
    report_run o;
    rig r = with_gap();
    (void)rig_host(&r, PS_SLICE_HOST_OP, "empty_tensor", 410, 500);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "empty_tensor", 510, 600);
    (void)rig_host(&r, PS_SLICE_ANNOTATION, "Optimizer.step#SGD.step", 610, 680);
    (void)rig_host(&r, PS_SLICE_HOST_OP, "empty_tensor", 620, 670);
    rig_counter(&r, "PTA/Total Allocated", 10, 5);
    finish_gap(&o, &r);
    const char *causes = report_text(&o, PS_RULE_FREE_SHARE);
    expect_in(causes, "empty_tensor 180 us (2 of 3 a step)");
    expect_in(causes, "the profiler's own, which recorded allocations:");
    report_fini(&o);
}

/* Of the gap the loop's own frame has all but 410 to 500: it says only that the program runs. A frame inside of the step is Python. */
static void a_loop_is_no_activity(void **state) {
    (void)state;
    for (int is_loop = 0; is_loop < 2; is_loop++) {
        report_run o;
        rig r = rig_begin(1000);
        (void)rig_host(&r, PS_SLICE_PYTHON, "main.py(10): train", is_loop ? -5 : 5,
                       is_loop ? 1005 : 995);
        (void)rig_kernel(&r, "MatMul", NULL, 0, 2, 400);
        (void)rig_host(&r, PS_SLICE_PYTHON, "main.py(50): prepare", 410, 500);
        finish_gap(&o, &r);
        const char *causes = report_text(&o, PS_RULE_FREE_SHARE);
        expect_in(causes, is_loop ? "nothing recorded of a thread that launches 200 us"
                                  : "operators and Python 290 us");
        expect_in(causes, "A part of the host's time is the profiler's own, which recorded Python "
                          "frames: measure without them");
        if (is_loop) {
            expect_in(causes, "operators and Python 90.0 us");
            expect_in(advice(&o, PS_RULE_FREE_SHARE), "though Python frames were recorded");
        }
        report_fini(&o);
    }
}

typedef struct inner {
    const char *name;
    int64_t from, to;
} inner;

static void fetch(report_run *o, const inner *all, size_t n) {
    rig r = with_gap();
    (void)rig_host(&r, PS_SLICE_PYTHON, NEXT, 410, 660);
    (void)rig_host(&r, PS_SLICE_ANNOTATION,
                   "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", 410, 660);
    for (size_t i = 0; i < n; i++) {
        (void)rig_host(&r, PS_SLICE_PYTHON, all[i].name, all[i].from, all[i].to);
    }
    finish_gap(o, &r);
    assert_int_equal(report_gain(o, PS_RULE_DATA_LOADING), 250 * US);
}

/* The batch was there after 10: 200 unpickle it, and what waits for its parts in there is unpickling, too. */
static void opening_a_batch_is_no_waiting(void **state) {
    (void)state;
    static const inner ALL[] = {
        {"multiprocessing/queues.py(98): get", 415, 655},
        {"multiprocessing/connection.py(917): wait", 420, 430},
        {"<built-in method poll of select.poll object at 0x7f0000000010>", 424, 427},
        {"<built-in function loads>", 440, 640},
        {"multiprocessing/connection.py(917): wait", 450, 550}};
    report_run o;
    fetch(&o, ALL, sizeof ALL / sizeof *ALL);
    const char *text = report_text(&o, PS_RULE_DATA_LOADING);
    /* Built-in functions were recorded: the frame around `poll` is Python's own part. */
    expect_in(text, "For 3.00 us of it the process waits for its workers.");
    expect_in(text,
              "For 247 us of it the process works on the batch itself (unpickling 200 us, other "
              "work 47.0 us).");
    assert_int_equal(strncmp(advice(&o, PS_RULE_DATA_LOADING), "The batch is there", 18), 0);
    report_fini(&o);
}

static void waiting_for_workers(void **state) {
    (void)state;
    static const char *const WAITS[] = {
        "multiprocessing/connection.py(917): wait",
        "<built-in method poll of select.poll object at 0x7f0000000010>",
        "<method 'acquire' of '_thread.lock' objects>", "threading.py(288): wait"};
    for (size_t i = 0; i < sizeof WAITS / sizeof *WAITS; i++) {
        const inner all[] = {{WAITS[i], 420, 650}};
        report_run o;
        fetch(&o, all, 1);
        expect_in(report_text(&o, PS_RULE_DATA_LOADING),
                  "For 230 us of it the process waits for its workers.");
        assert_int_equal(strncmp(advice(&o, PS_RULE_DATA_LOADING), "More workers", 12), 0);
        report_fini(&o);
    }
}

/* Without frames it is not known which, but for an iterator that has no workers. */
static void fetching_without_frames(void **state) {
    (void)state;
    for (int is_single = 0; is_single < 2; is_single++) {
        report_run o;
        rig r = with_gap();
        (void)rig_host(&r, PS_SLICE_HOST_OP,
                       is_single ? "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"
                                 : "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__",
                       410, 660);
        finish_gap(&o, &r);
        const char *text = report_text(&o, PS_RULE_DATA_LOADING);
        expect_in(text, is_single ? "(reading 250 us)" : "For 250 us of it nobody knows whether");
        expect_in(advice(&o, PS_RULE_DATA_LOADING),
                  is_single ? "num_workers above 0"
                            : "See first what it does there (with_stack=True)");
        report_fini(&o);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(on_line_compile_mode),
        cmocka_unit_test(compiled_at_launch),
        cmocka_unit_test(copies_that_are_waited_for),
        cmocka_unit_test(a_loop_is_no_activity),
        cmocka_unit_test(opening_a_batch_is_no_waiting),
        cmocka_unit_test(waiting_for_workers),
        cmocka_unit_test(fetching_without_frames),
        cmocka_unit_test(reads_of_the_hosts_own_memory),
        cmocka_unit_test(a_wait_of_several_causes_names_them),
        cmocka_unit_test(the_innermost_that_fills_a_gap),
        cmocka_unit_test(frames_in_a_range_have_no_name_of_the_program),
        cmocka_unit_test(counts_say_what_is_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

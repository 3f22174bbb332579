/* Which range has which kernel: by the threads that launch, not by the time alone. Kernel K runs in [1000 K, 1000 K + 100] on the
 * device, so that the extents tell which kernels a range has. */
#include "analyze/pipeline/project.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "support/small_runs.h"

enum { MAX_SPANS = 8 };

typedef struct scene {
    ps_builder *b;
    uint32_t stream;
    int64_t n_kernels;
} scene;

static scene scene_new(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    return (scene){.b = b, .stream = small_stream(b, 7)};
}

static uint32_t thread_of(scene *s, int64_t pid, int64_t tid, const char *label) {
    uint32_t track = ps_builder_track(
        s->b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = pid, .tid = tid, .device = -1});
    ps_builder_track_label(s->b, track, ps_builder_str(s->b, label, strlen(label)), PS_NO_ORDER);
    return track;
}

static void range(scene *s, uint32_t track, const char *name, int64_t start, int64_t end) {
    (void)small_slice(s->b, PS_SLICE_ANNOTATION, track, name, start, end);
}

static uint32_t kernel(scene *s) {
    int64_t start = 1000 * ++s->n_kernels;
    return small_slice(s->b, PS_SLICE_KERNEL, s->stream, "k", start, start + 100);
}

static void launch(scene *s, uint32_t track, int64_t at) {
    uint32_t call = small_slice(s->b, PS_SLICE_CALL, track, "cudaLaunchKernel", at, at + 2);
    ps_builder_flow(s->b, call, kernel(s));
}

/* All annotations as spans; "NAME: kernels n in first..last" each, by the numbers of the kernels. */
static void expect(scene *s, const char *wanted, uint64_t n_open) {
    ps_trace *trace = small_seal(s->b);
    const ps_slices *slices = ps_trace_slices(trace);
    ps_links links;
    ps_host_span spans[MAX_SPANS];
    ps_extent extents[MAX_SPANS];
    ps_diag diag = {0};
    size_t n = 0;
    char text[512] = "";
    assert_int_equal(ps_links_init(&links, trace, NULL), PS_OK);
    for (uint32_t i = 0; i < slices->n; i++) {
        if (slices->kind[i] == PS_SLICE_ANNOTATION) {
            assert_true(n < MAX_SPANS);
            spans[n++] = (ps_host_span){.start_ns = slices->start_ns[i],
                                        .end_ns = slices->start_ns[i] + slices->dur_ns[i],
                                        .slice = i,
                                        .track = slices->track[i]};
        }
    }
    assert_int_equal(ps_project(&links, spans, n, extents, &diag, NULL), PS_OK);
    int64_t origin = ps_trace_origin_ns(trace) - SMALL_EPOCH_NS;
    for (size_t i = 0; i < n; i++) {
        size_t len = strlen(text);
        const char *name = ps_trace_text(trace, slices->name[spans[i].slice]);
        (void)snprintf(text + len, sizeof text - len, "%s: %u", name, extents[i].n_kernels);
        len = strlen(text);
        if (extents[i].n_kernels > 0) {
            (void)snprintf(text + len, sizeof text - len, " in %d..%d",
                           (int)((extents[i].start_ns + origin) / 1000),
                           (int)((extents[i].end_ns + origin) / 1000));
        }
        (void)strncat(text, "\n", sizeof text - strlen(text) - 1);
    }
    assert_string_equal(text, wanted);
    assert_int_equal(diag.counts[PS_ODD_LAUNCH_OPEN], n_open);
    ps_links_fini(&links);
    ps_trace_free(trace);
}

/* A loader copies the next batch while the main thread is in a forward: each has its own. */
static void each_thread_has_its_own(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t main_thread = thread_of(&s, 1, 1, "main");
    uint32_t loader = thread_of(&s, 1, 2, "loader");
    range(&s, main_thread, "forward", 100, 200);
    range(&s, loader, "next batch", 150, 190);
    launch(&s, main_thread, 110);
    launch(&s, loader, 155);
    launch(&s, main_thread, 160); /* "next batch" began later, on another thread */
    launch(&s, loader, 195);      /* in no range of its thread */
    launch(&s, main_thread, 300);
    expect(&s, "forward: 2 in 1..3\nnext batch: 1 in 2..2\n", 0);
}

/* Two pipelines of one process: the engine's thread of one works for the thread that waits for it. */
static void the_thread_that_waits(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t first = thread_of(&s, 1, 1, "first");
    uint32_t second = thread_of(&s, 1, 2, "second");
    uint32_t engine = thread_of(&s, 1, 3, "pt_autograd_0");
    uint32_t stranger = thread_of(&s, 1, 4, "stranger");
    range(&s, first, "backward of the first", 100, 200);
    range(&s, second, "forward of the second", 105, 300);
    for (int64_t at = 110; at < 190; at += 20) { /* the second goes on meanwhile */
        launch(&s, engine, at);
        launch(&s, second, at + 1);
    }
    launch(&s, stranger, 250); /* waiting is known here, and nobody waits for this one */
    expect(&s, "backward of the first: 4 in 1..7\nforward of the second: 4 in 2..8\n", 0);
}

/* No thread is known to wait for another: the time tells, where only one thread is in a range. */
static void time_tells_for_threads_without_ranges(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t main_thread = thread_of(&s, 1, 1, "main");
    uint32_t second = thread_of(&s, 1, 2, "second");
    uint32_t helper = thread_of(&s, 1, 3, "helper");
    range(&s, main_thread, "outer", 100, 200);
    range(&s, main_thread, "inner", 120, 140);
    range(&s, second, "other", 180, 260);
    launch(&s, helper, 130);
    launch(&s, helper, 150);
    launch(&s, helper, 190); /* of "outer" or of "other" */
    launch(&s, helper, 220);
    launch(&s, helper, 400);
    expect(&s, "outer: 1 in 2..2\ninner: 1 in 1..1\nother: 1 in 4..4\n", 1);
}

/* What else the program says of a thread: that one does its own work, and no range of another thread has it. */
static void a_thread_that_the_program_named(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t main_thread = thread_of(&s, 1, 1, "main");
    uint32_t loader = thread_of(&s, 1, 2, "loader");
    uint32_t engine = thread_of(&s, 1, 3, "engine");
    range(&s, main_thread, "forward", 100, 200);
    (void)small_slice(s.b, PS_SLICE_PYTHON, loader, "threading.py: run", 0, 900);
    (void)small_slice(s.b, PS_SLICE_HOST_OP, engine, "an operator", 160, 170);
    launch(&s, loader, 150);
    launch(&s, engine, 165);
    expect(&s, "forward: 1 in 2..2\n", 0);
}

/* Ranges of the own process come first. */
static void time_tells_in_a_process(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t one = thread_of(&s, 1, 1, "one");
    uint32_t two = thread_of(&s, 2, 2, "two");
    uint32_t helper = thread_of(&s, 2, 3, "helper of two");
    uint32_t third = thread_of(&s, 3, 4, "calls of the driver");
    range(&s, one, "of one", 100, 300);
    range(&s, two, "of two", 100, 200);
    launch(&s, helper, 150);
    launch(&s, third, 160); /* no range in its process, two outside */
    launch(&s, third, 250);
    expect(&s, "of one: 1 in 3..3\nof two: 1 in 1..1\n", 1);
}

/* Calls of the driver on a track of their own, as some formats write them: the thread is the same. */
static void tracks_of_one_thread(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t python = thread_of(&s, 1, 11, "python");
    uint32_t driver = thread_of(&s, 500032, 11, "driver");
    uint32_t other = thread_of(&s, 1, 12, "other");
    range(&s, python, "forward", 100, 200);
    range(&s, other, "other", 100, 200);
    launch(&s, driver, 150);
    launch(&s, driver, 250);
    expect(&s, "forward: 1 in 1..1\nother: 0\n", 0);
}

/* Behind a queue the operator's time counts; a range inside of an operator has what is launched inside of it. */
static void queues_and_operators(void **state) {
    (void)state;
    scene s = scene_new();
    uint32_t main_thread = thread_of(&s, 1, 1, "main");
    uint32_t taker = thread_of(&s, 1, 2, "taker");
    range(&s, main_thread, "forward", 100, 200);
    range(&s, main_thread, "backward", 210, 300);
    uint32_t op = small_slice(s.b, PS_SLICE_HOST_OP, main_thread, "add", 150, 160);
    uint32_t call = small_slice(s.b, PS_SLICE_CALL, taker, "launch", 220, 222);
    uint32_t queued = kernel(&s);
    ps_builder_flow(s.b, op, queued);
    ps_builder_flow(s.b, call, queued);
    (void)small_slice(s.b, PS_SLICE_HOST_OP, main_thread, "MyFunction", 400, 500);
    range(&s, main_thread, "inside", 420, 440);
    launch(&s, main_thread, 430);
    expect(&s, "forward: 1 in 1..1\nbackward: 0\ninside: 1 in 2..2\n", 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_thread_has_its_own),
        cmocka_unit_test(the_thread_that_waits),
        cmocka_unit_test(time_tells_for_threads_without_ranges),
        cmocka_unit_test(a_thread_that_the_program_named),
        cmocka_unit_test(time_tells_in_a_process),
        cmocka_unit_test(tracks_of_one_thread),
        cmocka_unit_test(queues_and_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* What is there so far of a rank that is being read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_write.h"
#include "serve/rank/outline.h"
#include "support/small_runs.h"

static char *told(ps_outline *o) {
    ps_buf out = {0};
    ps_json j = ps_json_to(&out);
    ps_outline_put(o, &j);
    assert_true(ps_buf_ok(&out));
    char *text = strdup(ps_buf_str(&out));
    assert_non_null(text);
    ps_buf_fini(&out);
    return text;
}

static void expect_in(const char *text, const char *part) {
    if (strstr(text, part) == NULL) {
        fail_msg("'%s' is not in %s", part, text);
    }
}

/* The digits of a lane, as its name stands in what is told. */
static const char *busy_of(const char *text, const char *name) {
    const char *at = strstr(text, name);
    assert_non_null(at);
    at = strstr(at, "\"busy\":\"");
    assert_non_null(at);
    return at + strlen("\"busy\":\"");
}

/*   thread 1  0-512 ns          stream 7  1000-1001, 1002-1003, 1023-1024
 *   1,024 ns are 512 buckets of 2: the thread has 256 of them, the stream half of 500 and of 501 and of the last. */
static void hand_worked(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t thread = small_thread(b, 1);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_HOST_OP, thread, "mm", 0, 512);
    small_slice(b, PS_SLICE_KERNEL, stream, "a", 1000, 1001);
    small_slice(b, PS_SLICE_KERNEL, stream, "b", 1002, 1003);
    small_slice(b, PS_SLICE_KERNEL, stream, "c", 1023, 1024);
    ps_trace *t = small_seal(b);
    ps_outline o = PS_OUTLINE_INIT;
    ps_outline_add(&o, t);
    char *text = told(&o);
    expect_in(text, "\"bucket_ns\":2,\"slices\":4,\"start\":0,\"end\":1024,");
    expect_in(text, "\"name\":\"Thread 1\",\"slices\":1,");
    expect_in(text, "\"process\":\"GPU 0\",\"name\":\"Stream 7\",\"slices\":3,");
    const char *busy = busy_of(text, "Thread 1");
    assert_int_equal(strspn(busy, "f"), 256);
    assert_int_equal(strspn(busy + 256, "0"), 256);
    busy = busy_of(text, "Stream 7");
    assert_int_equal(strspn(busy, "0"), 500);
    assert_memory_equal(busy + 500, "880000000008\"", 13);
    free(text);

    ps_outline_add(&o, t); /* nothing has come */
    ps_outline_clear(&o);
    text = told(&o);
    assert_string_equal(text, "{\"origin_ns\":\"0\",\"bucket_ns\":1,\"slices\":0,\"start\":0,"
                              "\"end\":0,\"lanes\":[]}");
    free(text);
    ps_trace_free(t);
}

/* Two outlines of one trace that grows: one looked at it each time, the other at the end alone. */
typedef struct lookers {
    ps_outline often, once;
    uint32_t n_last;
    int n_told;
} lookers;

static void look(void *context, const ps_trace *so_far) {
    lookers *x = context;
    x->n_told++;
    assert_int_equal(ps_trace_slices(so_far)->n, x->n_told * PS_TOLD_SLICES);
    ps_outline_add(&x->often, so_far);
    if (ps_trace_slices(so_far)->n == x->n_last) {
        ps_outline_add(&x->once, so_far);
        char *often = told(&x->often);
        char *once = told(&x->once);
        assert_string_equal(often, once);
        expect_in(once, "\"slices\":196608,");
        free(often);
        free(once);
    }
}

/* Slices at times that begin late, go back before the first one and grow longer: buckets are moved and made one. */
static void grows_in_any_direction(void **state) {
    (void)state;
    enum { TURNS = 3 };
    lookers x = {.often = PS_OUTLINE_INIT, .once = PS_OUTLINE_INIT, TURNS * PS_TOLD_SLICES, 0};
    ps_builder *b = ps_builder_new();
    ps_build_watcher watcher = {look, &x};
    ps_builder_watch(b, &watcher);
    ps_str name = ps_builder_str(b, "op", 2);
    static const int64_t FROM[TURNS] = {1000000, -70000, 3};
    static const int64_t STEP[TURNS] = {1, 17, 900};
    uint64_t random = 1;
    for (int turn = 0; turn < TURNS; turn++) {
        uint32_t track = small_thread(b, turn + 1);
        for (uint32_t i = 0; i < PS_TOLD_SLICES; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            int64_t start = FROM[turn] + (int64_t)i * STEP[turn];
            int64_t dur = (int64_t)(random >> 60) * STEP[turn];
            (void)ps_builder_slice(b, PS_SLICE_HOST_OP, track, name, start, start + dur, i);
        }
    }
    assert_int_equal(x.n_told, TURNS);
    ps_outline_clear(&x.often);
    ps_outline_clear(&x.once);
    ps_builder_free(b);
}

/* Times as far apart as a trace takes them, and where memory is out what is there stays. */
static void far_and_short_of_memory(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    int64_t far = ((int64_t)1 << 61) - 1;
    ps_str name = ps_builder_str(b, "op", 2);
    (void)ps_builder_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), name, -far, far, 0);
    (void)ps_builder_slice(b, PS_SLICE_HOST_OP, small_thread(b, 2), name, far, far, 0);
    ps_trace *t = small_seal(b);
    ps_outline o = PS_OUTLINE_INIT;
    ps_outline_add(&o, t);
    char *text = told(&o);
    assert_int_equal(strspn(busy_of(text, "Thread 1"), "f"), 512);
    assert_memory_equal(busy_of(text, "Thread 2") + 511, "1\"", 2);
    free(text);
    ps_outline_clear(&o);
    for (int64_t n = 0; n < 20; n++) {
        (void)ps_alloc_fail_at(n);
        ps_outline_add(&o, t);
        (void)ps_alloc_fail_at(-1);
        free(told(&o));
        ps_outline_clear(&o);
    }
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hand_worked),
        cmocka_unit_test(grows_in_any_direction),
        cmocka_unit_test(far_and_short_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Building and sealing a trace: origin, order, what follows its slices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/alloc.h"
#include "model/trace.h"
#include "model/trace_args.h"

#define EPOCH INT64_C(1714550400000000000)

static ps_str text(ps_builder *b, const char *s) {
    return ps_builder_str(b, s, strlen(s));
}

static uint32_t stream(ps_builder *b, int64_t number) {
    return ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = number});
}

static uint32_t slice(ps_builder *b, const char *name, int64_t start, int64_t end, int64_t row) {
    return ps_builder_slice(b, PS_SLICE_MARK_DEVICE, stream(b, 1), text(b, name), start, end, row);
}

static const char *name_of(const ps_trace *t, uint32_t row) {
    return ps_trace_text(t, ps_trace_slices(t)->name[row]);
}

/* Times count from the earliest slice; a step may begin before it. */
static void origin_is_the_earliest_slice(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)slice(b, "later", EPOCH + 500, EPOCH + 600, 1);
    uint32_t first = slice(b, "first", EPOCH + 100, EPOCH + 150, 2);
    ps_builder_arg_time(b, first, "hostStart", EPOCH + 90);
    ps_builder_arg_int(b, first, "srcRank", 3);
    ps_builder_step(b, 7, EPOCH, EPOCH + 1000);
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_true(ps_trace_origin_ns(t) == EPOCH + 100);
    const ps_slices *s = ps_trace_slices(t);
    assert_int_equal(s->n, 2);
    assert_int_equal(s->start_ns[0], 0);
    assert_int_equal(s->dur_ns[0], 50);
    assert_int_equal(s->start_ns[1], 400);
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    assert_int_equal(n, 1);
    assert_int_equal(steps[0].start_ns, -100);
    assert_int_equal(steps[0].end_ns, 900);
    int64_t value = 0;
    assert_true(ps_trace_arg_int(t, 0, "hostStart", &value));
    assert_int_equal(value, -10);
    assert_true(ps_trace_arg_int(t, 0, "srcRank", &value)); /* no time: as it was */
    assert_int_equal(value, 3);
    ps_trace_free(t);
}

/* By start, the longer first, then as they came. */
static void sealing_sorts_and_is_stable(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    (void)slice(b, "e", 300, 310, 1);
    (void)slice(b, "c", 200, 250, 2);
    (void)slice(b, "d", 200, 250, 3);
    (void)slice(b, "b", 200, 290, 4);
    (void)slice(b, "a", 100, 100, 5);
    ps_trace *t = ps_builder_seal(b, NULL);
    static const char *const ORDER[] = {"a", "b", "c", "d", "e"};
    static const int64_t ROWS[] = {5, 4, 2, 3, 1};
    for (uint32_t i = 0; i < 5; i++) {
        assert_string_equal(name_of(t, i), ORDER[i]);
        assert_int_equal(ps_trace_slices(t)->source_row[i], ROWS[i]);
    }
    ps_trace_free(t);
}

/* A large number in the worst order keeps the order of equal ones. */
static void sealing_is_stable_for_many(void **state) {
    (void)state;
    enum { N = 5000 };
    ps_builder *b = ps_builder_new();
    for (int i = 0; i < N; i++) {
        (void)slice(b, "x", 1000 - i % 10, 2000 - i % 10, i);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    const ps_slices *s = ps_trace_slices(t);
    for (uint32_t i = 1; i < N; i++) {
        assert_true(s->start_ns[i - 1] < s->start_ns[i] || s->source_row[i - 1] < s->source_row[i]);
    }
    ps_trace_free(t);
}

static void flows_and_args_follow_their_slices(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t device = slice(b, "device", 500, 600, 1);
    uint32_t host = slice(b, "host", 100, 110, 2);
    uint32_t early = slice(b, "early", 50, 60, 3);
    ps_builder_flow(b, host, device);
    ps_builder_flow(b, early, host);
    ps_builder_arg_int(b, device, "what", 8);
    ps_builder_arg_int(b, device, "what", 7);
    ps_builder_arg_int(b, early, "n", -5);
    ps_trace *t = ps_builder_seal(b, NULL);
    size_t n = 0;
    const ps_flow *flows = ps_trace_flows(t, &n);
    assert_int_equal(n, 2); /* sorted by where they begin */
    assert_string_equal(name_of(t, flows[0].from), "early");
    assert_string_equal(name_of(t, flows[0].to), "host");
    assert_string_equal(name_of(t, flows[1].from), "host");
    assert_string_equal(name_of(t, flows[1].to), "device");
    int64_t value = 0;
    assert_true(ps_trace_arg_int(t, 2, "what",
                                 &value)); /* given twice: one of them, whatever the sort does */
    assert_true(value == 7 || value == 8);
    assert_false(ps_trace_arg_int(t, 1, "what", &value));
    assert_true(ps_trace_arg_int(t, 0, "n", &value));
    assert_int_equal(value, -5);
    assert_false(ps_trace_arg_int(t, 0, "absent", &value));
    ps_trace_free(t);
}

/* A slice that ends before it starts, or lies where differences would not fit,
 * is refused; that is no failure. */
static void impossible_times_are_refused(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    assert_int_equal(slice(b, "x", 10, 9, 1), PS_NONE);
    assert_int_equal(slice(b, "x", INT64_MIN, 9, 1), PS_NONE);
    assert_int_equal(slice(b, "x", 10, INT64_MAX, 1), PS_NONE);
    assert_int_not_equal(slice(b, "x", 10, 10, 1), PS_NONE); /* an instant is fine */
    ps_builder_step(b, 1, 10, 9);
    assert_false(ps_builder_failed(b));
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_int_equal(ps_trace_slices(t)->n, 1);
    size_t n = 0;
    (void)ps_trace_steps(t, &n);
    assert_int_equal(n, 0);
    assert_int_equal(ps_trace_diag(t)->counts[PS_ODD_TIME], 1);
    ps_trace_free(t);
}

static void tracks_are_kept_once(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t one = stream(b, 1);
    uint32_t two = stream(b, 2);
    assert_int_not_equal(one, two);
    assert_int_equal(stream(b, 1), one);
    uint32_t group = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .tid = 1, .name = text(b, "pp")});
    assert_int_not_equal(group, one);
    assert_int_equal(
        ps_builder_track(b,
                         (ps_track){.kind = PS_TRACK_COMM_GROUP, .tid = 1, .name = text(b, "pp")}),
        group);
    assert_int_not_equal(
        ps_builder_track(b,
                         (ps_track){.kind = PS_TRACK_COMM_GROUP, .tid = 1, .name = text(b, "dp")}),
        group);
    ps_trace *t = ps_builder_seal(b, NULL);
    size_t n = 0;
    (void)ps_trace_tracks(t, &n);
    assert_int_equal(n, 4);
    ps_trace_free(t);
}

/* The first entry of a name counts: the table comes before the JSON file. */
static void metadata_and_parts(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    ps_builder_meta(b, "pp_info", "{}");
    ps_builder_meta(b, "pp_info", "other");
    ps_builder_meta(b, "x", "");
    ps_builder_has(b, PS_HAS_MARKS);
    ps_builder_has(b, PS_HAS_COMM_OPS);
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_string_equal(ps_trace_meta(t, "pp_info"), "{}");
    assert_string_equal(ps_trace_meta(t, "x"), "");
    assert_null(ps_trace_meta(t, "absent"));
    assert_int_equal(ps_trace_has(t), PS_HAS_MARKS | PS_HAS_COMM_OPS);
    assert_int_equal(ps_trace_slices(t)->n, 0);
    assert_int_equal(ps_trace_origin_ns(t), 0);
    ps_trace_free(t);
}

/* Steps come out in time order. Without slices the first one is the origin. */
static void steps_are_sorted(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    ps_builder_step(b, 2, EPOCH + 2000, EPOCH + 3000);
    ps_builder_step(b, 1, EPOCH + 1000, EPOCH + 2000);
    (void)slice(b, "x", EPOCH + 1500, EPOCH + 1600, 1);
    ps_trace *t = ps_builder_seal(b, NULL);
    size_t n = 0;
    const ps_step *steps = ps_trace_steps(t, &n);
    assert_int_equal(n, 2);
    assert_int_equal(steps[0].id, 1);
    assert_int_equal(steps[1].id, 2);
    assert_int_equal(steps[1].start_ns, 500);
    ps_trace_free(t);
}

static ps_trace *build_something(ps_err *err) {
    static const ps_column COLUMN[] = {{.name = "n", .type = PS_COL_INT}};
    ps_builder *b = ps_builder_new();
    if (b == NULL) {
        (void)ps_fail_nomem(err);
        return NULL;
    }
    for (int i = 0; i < 40; i++) {
        uint32_t row = slice(b, "name", 1000 - i, 2000, i);
        if (row != PS_NONE) {
            ps_builder_arg_int(b, row, "n", i);
            ps_builder_flow(b, row, row);
        }
    }
    ps_builder_step(b, 1, 0, 5000);
    ps_builder_meta(b, "key", "value");
    ps_builder_side_table(b, ps_table_new("side", "", COLUMN, 1));
    return ps_builder_seal(b, err);
}

static void out_of_memory(void **state) {
    (void)state;
    bool done = false;
    for (int64_t n = 0; !done; n++) {
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_trace *t = build_something(&err);
        done = ps_alloc_fail_at(-1) <= n;
        assert_true((t != NULL) == done);
        assert_true(done || err.code == PS_NOMEM);
        if (t != NULL) {
            assert_int_equal(ps_trace_slices(t)->n, 40);
            assert_non_null(ps_trace_side_table(t, "side"));
            assert_null(ps_trace_side_table(t, "other"));
        }
        ps_trace_free(t);
    }
}

/* Each is found again, and none twice. */
static void many_tracks_are_kept_apart(void **state) {
    (void)state;
    enum { N = 100000 };
    ps_builder *b = ps_builder_new();
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < N; i++) {
            ps_track track = {.kind = PS_TRACK_HOST_THREAD, .pid = i % 7, .tid = i};
            assert_int_equal(ps_builder_track(b, track), i);
        }
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    size_t n = 0;
    (void)ps_trace_tracks(t, &n);
    assert_int_equal(n, N);
    ps_trace_free(t);
}

/* Keys and types share a word: a key beyond what fits is refused, not taken for another. */
static void keys_beyond_the_store(void **state) {
    (void)state;
    const uint32_t most = ((uint32_t)1 << 29) - 1;
    ps_arg_store s;
    ps_arg_store_init(&s);
    ps_arg args[2] = {{.key = {5}, .type = PS_ARG_INT}, {.key = {most}, .type = PS_ARG_INT}};
    uint32_t record = ps_arg_store_add(&s, args, 2);
    assert_true(record != 0);
    ps_arg_iter iter = ps_arg_store_walk(&s, record);
    ps_arg got;
    assert_true(ps_arg_next(&iter, &got));
    assert_true(ps_arg_next(&iter, &got));
    assert_int_equal(got.key.id, most);
    args[1].key.id = most + 1 + 5;
    assert_int_equal(ps_arg_store_add(&s, args, 2), 0);
    ps_arg_store_fini(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_beyond_the_store),
        cmocka_unit_test(origin_is_the_earliest_slice),
        cmocka_unit_test(sealing_sorts_and_is_stable),
        cmocka_unit_test(sealing_is_stable_for_many),
        cmocka_unit_test(flows_and_args_follow_their_slices),
        cmocka_unit_test(impossible_times_are_refused),
        cmocka_unit_test(tracks_are_kept_once),
        cmocka_unit_test(metadata_and_parts),
        cmocka_unit_test(steps_are_sorted),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(many_tracks_are_kept_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* A rank in memory: two layers numbered through, overlap lanes of its own, colours, things built when asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/rank/derived_lanes.h"
#include "base/alloc.h"
#include "read/readers.h"
#include "serve/rank/loaded_make.h"
#include "support/small_runs.h"
#include "support/trace_samples.h"

/*   stream  kernel 0-10, kernel 20-30, copy 40-50;  group  allReduce 5-25, send 60-70;  no lanes of its own
 *   computing 0-10 20-30, communication 5-25 60-70, exposed 10-20 60-70, free 30-60 */
static ps_trace *two_kernels(void) {
    ps_builder *b = ps_builder_new();
    uint32_t host = small_thread(b, 1);
    small_slice(b, PS_SLICE_HOST_OP, host, "mm", 0, 4);
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_KERNEL, stream, "a", 0, 10);
    small_slice(b, PS_SLICE_KERNEL, stream, "b", 20, 30);
    small_slice(b, PS_SLICE_COPY, stream, "c", 40, 50);
    uint32_t group = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_COMM_GROUP, .pid = 2, .tid = -1, .device = 0});
    small_slice(b, PS_SLICE_COMM_OP, group, "hcom_allReduce_", 5, 25);
    small_slice(b, PS_SLICE_COMM_OP, group, "hcom_send_", 60, 70);
    return small_seal(b);
}

static ps_loaded *load(ps_trace *t) {
    ps_err err = PS_ERR_INIT;
    ps_loaded *l = ps_loaded_new(t, 1, &err);
    if (l == NULL) {
        fail_msg("%s", err.msg);
    }
    return l;
}

/* The spans of one overlap lane as "start-end ..." */
static void expect_spans(const ps_trace *t, const char *name, const char *wanted) {
    const ps_slices *s = ps_trace_slices(t);
    char got[256] = "";
    for (uint32_t i = 0; i < s->n; i++) {
        if (strcmp(ps_trace_text(t, s->name[i]), name) == 0) {
            size_t n = strlen(got);
            (void)snprintf(got + n, sizeof got - n, "%s%lld-%lld", n > 0 ? " " : "",
                           (long long)s->start_ns[i], (long long)(s->start_ns[i] + s->dur_ns[i]));
        }
    }
    assert_string_equal(got, wanted);
}

static void layers(void **state) {
    (void)state;
    ps_loaded *l = load(two_kernels());
    const ps_layer *profile = ps_loaded_layer(l, PS_LAYER_PROFILE);
    const ps_layer *derived = ps_loaded_layer(l, PS_LAYER_DERIVED);
    assert_int_equal(ps_trace_origin_ns(derived->trace), ps_trace_origin_ns(profile->trace));
    expect_spans(derived->trace, "Computing", "0-10 20-30");
    expect_spans(derived->trace, "Communication", "5-25 60-70");
    expect_spans(derived->trace, "Communication(Not Overlapped)", "10-20 60-70");
    expect_spans(derived->trace, "Free", "30-60");
    assert_int_equal(derived->first_slice, 6);
    assert_int_equal(derived->first_lane, 3);
    assert_int_equal(ps_loaded_n_slices(l), 6 + 7);
    assert_int_equal(ps_loaded_n_lanes(l), 3 + 4);
    assert_string_equal(derived->lanes->nodes[0].id, "device/0");
    assert_string_equal(derived->lanes->nodes[derived->lanes->node_of_lane[3]].id,
                        "device/0/overlap/free");
    ps_ref ref;
    assert_false(ps_loaded_ref(l, 13, &ref));
    assert_true(ps_loaded_ref(l, 12, &ref));
    assert_ptr_equal(ref.layer, derived);
    assert_int_equal(ref.slice, 6);
    for (uint32_t i = 0; i < 13; i++) {
        uint32_t lane = PS_NONE;
        uint32_t row = PS_NONE;
        assert_int_equal(ps_loaded_place(l, i, &lane, &row, NULL), PS_OK);
        assert_true(lane < 7 && row == 0);
        const ps_layer *y = NULL;
        uint32_t inner = 0;
        assert_true(ps_loaded_ref(l, i, &ref) && ps_loaded_lane(l, lane, &y, &inner));
        assert_ptr_equal(y, ref.layer);
        assert_int_equal(ps_lanes_of(y->lanes, y->trace, ref.slice), inner);
    }
    ps_loaded_free(l);
}

/* Merged lanes have numbers behind those of both layers. */
static void merged(void **state) {
    (void)state;
    ps_loaded *l = load(two_kernels());
    uint32_t lanes[] = {0, 1};
    uint32_t made = ps_loaded_merge(l, lanes, 2, NULL);
    assert_int_equal(made, 7);
    assert_int_equal(ps_loaded_merge(l, lanes, 2, NULL), 7);
    const ps_layer *y = NULL;
    uint32_t inner = 0;
    assert_true(ps_loaded_lane(l, 7, &y, &inner));
    assert_ptr_equal(y, ps_loaded_layer(l, PS_LAYER_PROFILE));
    assert_int_equal(inner, 3);
    assert_false(ps_loaded_lane(l, 8, &y, &inner));
    assert_int_equal(ps_loaded_n_lanes(l), 7);
    ps_err err = PS_ERR_INIT;
    uint32_t derived = 3;
    assert_int_equal(ps_loaded_merge(l, &derived, 1, &err), PS_NONE);
    assert_int_equal(err.code, PS_USAGE);
    ps_loaded_free(l);
}

/* A device that brings its own lanes gets none; another one of the same trace does. */
static void own_lanes(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    for (int64_t device = 3; device < 5; device++) {
        uint32_t stream = ps_builder_track(
            b, (ps_track){.kind = PS_TRACK_STREAM, .pid = 2, .tid = 7, .device = device});
        small_slice(b, PS_SLICE_KERNEL, stream, "a", 5, 10);
        small_slice(b, PS_SLICE_KERNEL, stream, "a", 15, 20);
    }
    uint32_t lane = ps_builder_track(b, (ps_track){.kind = PS_TRACK_DERIVED,
                                                   .pid = -1,
                                                   .tid = -1,
                                                   .device = 3,
                                                   .name = ps_builder_str(b, "Computing", 9)});
    small_slice(b, PS_SLICE_DERIVED, lane, "Computing", 5, 10);
    ps_loaded *l = load(small_seal(b));
    const ps_layer *derived = ps_loaded_layer(l, PS_LAYER_DERIVED);
    expect_spans(derived->trace, "Computing", "0-5 10-15");
    expect_spans(derived->trace, "Free", "5-10");
    /* the second device of the profile, also here */
    assert_string_equal(derived->lanes->nodes[derived->lanes->node_of_lane[0]].id,
                        "device/1/overlap/computing");
    ps_loaded_free(l);
}

static void nothing_to_derive(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "mm", 0, 4);
    ps_loaded *l = load(small_seal(b));
    const ps_layer *derived = ps_loaded_layer(l, PS_LAYER_DERIVED);
    assert_int_equal(ps_trace_slices(derived->trace)->n, 0);
    assert_int_equal(ps_loaded_n_slices(l), 1);
    assert_int_equal(ps_loaded_n_lanes(l), 1);
    assert_int_equal(ps_trace_origin_ns(derived->trace), SMALL_EPOCH_NS);
    ps_loaded_free(l);
}

/* By the text alone, whatever else is in the trace. */
static void tints(void **state) {
    (void)state;
    ps_loaded *one = load(two_kernels());
    ps_loaded *two = load(sample_of_everything());
    const ps_layer *y = ps_loaded_layer(one, PS_LAYER_PROFILE);
    const ps_layer *z = ps_loaded_layer(two, PS_LAYER_PROFILE);
    const ps_slices *s = ps_trace_slices(z->trace);
    unsigned seen = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        uint8_t tint = ps_loaded_tint(z, s->name[i]);
        assert_true(tint < PS_N_TINTS);
        seen |= 1u << tint;
        ps_str same = ps_trace_find_text(y->trace, ps_trace_text(z->trace, s->name[i]));
        assert_true(ps_str_is_none(same) || ps_loaded_tint(y, same) == tint);
    }
    assert_true((seen & (seen - 1)) != 0); /* more than one */
    /* a text that no slice has */
    assert_true(ps_loaded_tint(y, (ps_str){1000000}) < PS_N_TINTS);
    ps_loaded_free(one);
    ps_loaded_free(two);
}

typedef struct asking {
    const ps_loaded *l;
    const ps_links *links;
    const ps_overlaps *overlaps;
} asking;

static void *ask(void *context) {
    asking *a = context;
    a->overlaps = ps_loaded_overlaps(a->l, NULL);
    a->links = ps_loaded_links(a->l, NULL);
    return NULL;
}

static void built_once(void **state) {
    (void)state;
    enum { N = 8 };
    ps_loaded *l = load(two_kernels());
    asking asked[N];
    pthread_t threads[N];
    for (int i = 0; i < N; i++) {
        asked[i] = (asking){.l = l};
        assert_int_equal(pthread_create(&threads[i], NULL, ask, &asked[i]), 0);
    }
    for (int i = 0; i < N; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_non_null(asked[i].links);
        assert_ptr_equal(asked[i].links, asked[0].links);
        assert_ptr_equal(asked[i].overlaps, asked[0].overlaps);
    }
    assert_int_equal(asked[0].overlaps->n, 1);
    assert_int_equal(asked[0].overlaps->at[0].free_ns, 30);
    assert_non_null(asked[0].overlaps->spans);
    ps_loaded_free(l);
}

static void sizes(void **state) {
    (void)state;
    ps_loaded *l = load(sample_of_many(10000, 3));
    ps_loaded_bytes b = ps_loaded_size(l);
    assert_true(b.columns >= 10000 * 37 && b.columns < 10000 * 40);
    assert_true(b.args > 10000 * 4 && b.names > 0);
    for (uint32_t lane = 0; lane < ps_loaded_n_lanes(l); lane++) {
        uint32_t row = 0;
        uint32_t got = 0;
        assert_int_equal(ps_loaded_place(l, 0, &got, &row, NULL), PS_OK);
    }
    assert_true(ps_loaded_size(l).index >= b.index);
    assert_true(ps_loaded_total_bytes(l) >= b.columns + b.args);
    ps_loaded_free(l);
}

static void without_memory(void **state) {
    (void)state;
    for (int64_t n = 0;; n++) {
        ps_trace *t = two_kernels();
        ps_err err = PS_ERR_INIT;
        (void)ps_alloc_fail_at(n);
        ps_loaded *l = ps_loaded_new(t, 1, &err);
        const ps_overlaps *o = l != NULL ? ps_loaded_overlaps(l, &err) : NULL;
        (void)ps_alloc_fail_at(-1);
        if (o != NULL) {
            ps_loaded_free(l);
            assert_true(n > 20);
            return;
        }
        assert_int_equal(err.code, PS_NOMEM);
        if (l != NULL) { /* and the next one who asks gets it */
            assert_non_null(ps_loaded_overlaps(l, NULL));
        }
        ps_loaded_free(l);
    }
}

/* --- what the profilers themselves say ------------------------------------------------------------------------- */

#define NEEDS (PS_NEED_META | PS_NEED_STEPS | PS_NEED_SLICES | PS_NEED_FLOWS | PS_NEED_TABLES)

static ps_trace *read_sample(const char *rel) {
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", shared != NULL ? shared : "", rel);
    if (shared == NULL || access(path, R_OK) != 0) {
        return NULL;
    }
    ps_src src = {.path = path};
    ps_err err = PS_ERR_INIT;
    ps_trace *t = ps_read(&src, NEEDS, &err);
    if (t == NULL) {
        fail_msg("%s", err.msg);
    }
    return t;
}

typedef struct lane_sum {
    int64_t ns;
    uint32_t n;
} lane_sum;

static lane_sum sum_of(const ps_trace *t, const char *name) {
    const ps_slices *s = ps_trace_slices(t);
    lane_sum sum = {0};
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->kind[i] == PS_SLICE_DERIVED && strcmp(ps_trace_text(t, s->name[i]), name) == 0) {
            sum.ns += s->dur_ns[i];
            sum.n++;
        }
    }
    return sum;
}

static const ps_overlaps *ask_given(const void *overlaps, ps_err *err) {
    (void)err;
    return overlaps;
}

static ps_trace *derive_lanes(const ps_trace *trace, bool always) {
    ps_links links = {0};
    ps_overlaps whose = {0};
    assert_int_equal(ps_links_init(&links, trace, NULL), PS_OK);
    assert_int_equal(ps_overlaps_measure(&links, -1, false, &whose, NULL), PS_OK);
    ps_trace *derived = ps_derive_overlap(trace, ask_given, &whose, always, NULL);
    ps_overlaps_fini(&whose);
    ps_links_fini(&links);
    return derived;
}

/* Marks and communication without kernels: what hid it, and when nothing ran, is not known. */
static void without_kernels(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    small_slice(b, PS_SLICE_MARK_DEVICE, stream, "F0", 0, 100);
    small_slice(b, PS_SLICE_COMM_OP, stream, "hcom_send", 100, 110);
    small_slice(b, PS_SLICE_COMM_OP, stream, "hcom_send", 200, 230);
    ps_trace *trace = small_seal(b);
    ps_trace *derived = derive_lanes(trace, false);
    assert_non_null(derived);
    assert_int_equal(sum_of(derived, "Communication").ns, 40);
    assert_int_equal(sum_of(derived, "Communication(Not Overlapped)").n, 0);
    assert_int_equal(sum_of(derived, "Free").n, 0);
    ps_trace_free(derived);
    ps_trace_free(trace);
}

static uint32_t slices_in_lane(const ps_trace *t, const char *lane) {
    const ps_slices *s = ps_trace_slices(t);
    size_t n_tracks = 0;
    const ps_track *tracks = ps_trace_tracks(t, &n_tracks);
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        n += strcmp(ps_trace_text(t, tracks[s->track[i]].name), lane) == 0 ? 1 : 0;
    }
    return n;
}

/* Two steps, 0-100 and 100-200, with a gap of 10 in each: what lies between the work of both is after the first one and before the
 * second, and Free is what tables say of the steps. */
static void lanes_of_steps(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    small_step(b, 1, 0, 100);
    small_step(b, 2, 100, 200);
    small_slice(b, PS_SLICE_KERNEL, stream, "mm", 5, 20);
    small_slice(b, PS_SLICE_KERNEL, stream, "mm", 30, 40);
    small_slice(b, PS_SLICE_KERNEL, stream, "mm", 107, 120);
    small_slice(b, PS_SLICE_KERNEL, stream, "mm", 130, 190);
    ps_trace *trace = small_seal(b);
    ps_trace *derived = derive_lanes(trace, false);
    assert_non_null(derived);
    assert_int_equal(sum_of(derived, "Free").ns, 20);
    assert_int_equal(sum_of(derived, "Free").n, 2);
    assert_int_equal(sum_of(derived, "Before the first work").ns, 5 + 7);
    assert_int_equal(sum_of(derived, "After the last work").ns, 60 + 10);
    assert_int_equal(sum_of(derived, "After the last work").n, 2);
    assert_int_equal(slices_in_lane(derived, "Free"), 2);
    assert_int_equal(slices_in_lane(derived, PS_LANE_ENDS), 4);
    ps_trace_free(derived);
    ps_trace_free(trace);
}

/* A profile that has the lanes, as profilers write them: what they leave out of a step is added, and nothing twice. */
static void lanes_of_the_profile(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t stream = small_stream(b, 7);
    small_step(b, 1, 0, 100);
    small_slice(b, PS_SLICE_KERNEL, stream, "mm", 5, 20);
    small_slice(b, PS_SLICE_KERNEL, stream, "mm", 30, 40);
    ps_str name = ps_builder_str(b, "Free", 4);
    uint32_t lane = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_DERIVED, .pid = -1, .tid = -1, .device = 0, .name = name});
    small_slice(b, PS_SLICE_DERIVED, lane, "Free", 20, 30);
    ps_trace *trace = small_seal(b);
    ps_trace *derived = derive_lanes(trace, false);
    assert_non_null(derived);
    assert_int_equal(ps_trace_slices(derived)->n, 2);
    assert_int_equal(sum_of(derived, "Before the first work").ns, 5);
    assert_int_equal(sum_of(derived, "After the last work").ns, 60);
    assert_int_equal(slices_in_lane(derived, PS_LANE_ENDS), 2);
    ps_trace_free(derived);
    ps_trace_free(trace);
}

/* The first capture carries the lanes that its viewer computed; the second one does not, but StepTraceTime. */
static void level_1(void **state) {
    (void)state;
    ps_trace *own = read_sample("ascend/db/level1/rank0_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                                "ascend_pytorch_profiler_0.db");
    ps_trace *bare = read_sample("ascend/db/level1/rank1_ascend_pt/ASCEND_PROFILER_OUTPUT/"
                                 "ascend_pytorch_profiler_1.db");
    if (own == NULL || bare == NULL) {
        ps_trace_free(own);
        ps_trace_free(bare);
        skip();
    }
    ps_trace *none = derive_lanes(own, false);
    assert_non_null(none);
    assert_int_equal(ps_trace_slices(none)->n, slices_in_lane(none, PS_LANE_ENDS));
    assert_int_equal(slices_in_lane(none, PS_LANE_ENDS), 2);
    ps_trace_free(none);
    assert_int_equal(sum_of(own, "Computing").n, 187);
    assert_int_equal(sum_of(own, "Communication").n, 4);
    assert_int_equal(sum_of(own, "Communication(Not Overlapped)").n, 101);
    assert_int_equal(sum_of(own, "Free").n, 90);
    ps_trace *derived = derive_lanes(bare, false);
    assert_non_null(derived);
    /* StepTraceTime of that rank: computing 8915.634, communication 98590.19, not overlapped 94556.05, free 25840.499 us */
    assert_int_equal(sum_of(derived, "Computing").ns, 8915634);
    assert_int_equal(sum_of(derived, "Communication").ns, 98590190);
    assert_int_equal(sum_of(derived, "Communication(Not Overlapped)").ns, 94556050);
    assert_int_equal(sum_of(derived, "Free").ns, 25840499);
    ps_trace *copy = derive_lanes(own, true);
    assert_non_null(copy);
    assert_int_equal(sum_of(copy, "Computing").n, 187);
    assert_int_equal(sum_of(copy, "Communication").n, 4);
    assert_int_equal(sum_of(copy, "Communication(Not Overlapped)").n, 101);
    assert_int_equal(sum_of(copy, "Free").n, 90);
    ps_trace_free(copy);
    ps_trace_free(derived);
    ps_trace_free(own);
    ps_trace_free(bare);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers),         cmocka_unit_test(merged),
        cmocka_unit_test(own_lanes),      cmocka_unit_test(nothing_to_derive),
        cmocka_unit_test(tints),          cmocka_unit_test(built_once),
        cmocka_unit_test(sizes),          cmocka_unit_test(without_memory),
        cmocka_unit_test(level_1),        cmocka_unit_test(without_kernels),
        cmocka_unit_test(lanes_of_steps), cmocka_unit_test(lanes_of_the_profile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* The routes that draw: tiles, coverage, counters, names, merging. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fs.h"
#include "base/rng.h"
#include "model/counter_lod.h"
#include "serve/rank/cache.h"
#include "serve/rank/loaded.h"
#include "support/asks.h"

/* The one rank; release it. */
static ps_loaded *rank_of(const asks *a) {
    ps_loaded *l = NULL;
    assert_int_equal(ps_store_get(a->store, 0, &l, NULL), PS_OK);
    return l;
}

static uint32_t add(ps_builder *b, ps_slice_kind kind, uint32_t track, const char *name,
                    int64_t start, int64_t end) {
    return ps_builder_slice(b, kind, track, ps_builder_str(b, name, strlen(name)), start, end, 0);
}

/* Two streams of a device, overlap lanes derived from them, a counter. */
static ps_trace *make(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t one = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 1});
    uint32_t two = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2});
    (void)add(b, PS_SLICE_KERNEL, one, "mm", 0, 100);
    (void)add(b, PS_SLICE_KERNEL, one, "add", 200, 300);
    (void)add(b, PS_SLICE_SYNC, one, "wait", 300, 400);
    (void)add(b, PS_SLICE_INSTANT, one, "here", 420, 420);
    (void)add(b, PS_SLICE_COMM_KERNEL, two, "nccl", 50, 250);
    for (int i = 0; i < 10; i++) { /* in one bucket of 64 */
        (void)add(b, PS_SLICE_KERNEL, two, i == 4 ? "long" : "short", 640 + 4 * i,
                  641 + 4 * i + (i == 4));
    }
    uint32_t counter = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_COUNTER, .name = ps_builder_str(b, "HBM", 3)});
    for (int i = 0; i < 100; i++) {
        (void)ps_builder_counter(b, counter, 10 * i, i % 7);
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

/* --- reading replies ------------------------------------------------------------------------------------------ */

typedef struct tile_reply {
    uint32_t n_lanes, n;
    const uint32_t *pairs;
    const float *start, *end;
    const uint32_t *slice, *name, *count;
    const uint16_t *row;
    const uint8_t *look, *busy;
} tile_reply;

static tile_reply read_tile(const asks *a) {
    const uint32_t *head = (const uint32_t *)(const void *)a->reply.body.data;
    assert_int_equal(head[0], 0x31545350);
    tile_reply t = {.n_lanes = head[1], .n = head[2], .pairs = head + 4};
    t.start = (const float *)(t.pairs + 2 * t.n_lanes);
    t.end = t.start + t.n;
    t.slice = (const uint32_t *)(t.end + t.n);
    t.name = t.slice + t.n;
    t.count = t.name + t.n;
    t.row = (const uint16_t *)(t.count + t.n);
    t.look = (const uint8_t *)(t.row + t.n);
    t.busy = t.look + t.n;
    assert_ptr_equal(t.busy + t.n, a->reply.body.data + a->reply.body.len);
    return t;
}

static uint32_t lane_of(const asks *a, const char *name) {
    ps_loaded *l = rank_of(a);
    uint32_t lane = PS_NONE;
    for (int i = 0; i < PS_N_LAYERS; i++) {
        const ps_layer *layer = ps_loaded_layer(l, i);
        for (size_t k = 0; k < layer->lanes->n_nodes; k++) {
            const ps_lane_node *node = &layer->lanes->nodes[k];
            if (strcmp(node->name, name) == 0 && node->lane != PS_NONE) {
                lane = layer->first_lane + node->lane;
            }
        }
    }
    ps_loaded_release(l);
    if (lane == PS_NONE) {
        fail_msg("no lane is called %s", name);
    }
    return lane;
}

static void expect_name(asks *a, uint32_t name, const char *text) {
    char body[100];
    (void)snprintf(body, sizeof body, "{\"rank\":\"r0\",\"names\":[%u]}", name);
    char wanted[100];
    (void)snprintf(wanted, sizeof wanted, "{\"names\":[[\"%s\",", text);
    expect_in(ask_post(a, 200, "/api/names", body), wanted);
}

/* --- tests ---------------------------------------------------------------------------------------------------- */

static void a_tile_of_two_lanes(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    uint32_t one = lane_of(&a, "Stream 1");
    uint32_t two = lane_of(&a, "Stream 2");
    (void)ask(&a, "/api/tiles?rank=r0&level=6&tile=0&lanes=%u,%u", two, one);
    assert_true(a.reply.is_immutable);
    assert_string_equal(a.reply.content_type, "application/octet-stream");
    tile_reply t = read_tile(&a);
    assert_int_equal(t.n_lanes, 2);
    assert_int_equal(t.pairs[0], two);
    assert_int_equal(t.pairs[1], 2);
    assert_int_equal(t.pairs[2], one);
    assert_int_equal(t.pairs[3], 4);
    assert_int_equal(t.n, 6);
    assert_true(fabsf(t.start[0] - 50 / 64.0f) < 1e-6f);
    assert_true(fabsf(t.end[0] - 250 / 64.0f) < 1e-6f);
    assert_int_equal(t.count[0], 1);
    assert_int_equal(t.busy[0], 255);
    assert_int_equal(t.count[1], 10); /* 11 of 37 ns */
    assert_int_equal(t.busy[1], 11 * 255 / 37);
    assert_true(t.look[2] < 12);
    assert_int_equal(t.look[4], 16);
    assert_int_equal(t.look[5], 17);
    assert_true(t.end[5] == t.start[5]);
    uint32_t names[] = {t.name[0], t.name[1], t.name[2]};
    expect_name(&a, names[0], "nccl");
    expect_name(&a, names[1], "long");
    expect_name(&a, names[2], "mm");
    asks_end(&a);
}

/* Lanes that pipescope derives have slices, names and looks of their own. */
static void derived_lanes(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    static const struct {
        const char *name;
        uint8_t look;
    } LANES[] = {{"Computing", 12},
                 {"Communication", 13},
                 {"Communication(Not Overlapped)", 14},
                 {"Free", 15}};
    for (size_t i = 0; i < 4; i++) {
        (void)ask(&a, "/api/tiles?rank=r0&level=0&tile=0&lanes=%u", lane_of(&a, LANES[i].name));
        tile_reply t = read_tile(&a);
        assert_true(t.n > 0);
        assert_int_equal(t.look[0], LANES[i].look);
        ps_loaded *l = rank_of(&a);
        assert_true(t.slice[0] >= ps_loaded_layer(l, PS_LAYER_DERIVED)->first_slice);
        assert_true(t.slice[0] < ps_loaded_n_slices(l));
        ps_loaded_release(l);
        expect_name(&a, t.name[0], LANES[i].name);
    }
    const char *lanes = ask(&a, "/api/lanes?rank=r0");
    expect_in(lanes, "\"name\":\"Computing\",\"kind\":\"overlap\",\"look\":12,");
    expect_in(lanes, "\"name\":\"Communication\",\"kind\":\"overlap\",\"look\":13,");
    expect_in(lanes,
              "\"name\":\"Communication(Not Overlapped)\",\"kind\":\"overlap\",\"look\":14,");
    expect_in(lanes, "\"name\":\"Free\",\"kind\":\"overlap\",\"look\":15,");
    asks_end(&a);
}

static void lanes_drawn_as_one(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    uint32_t one = lane_of(&a, "Stream 1");
    uint32_t two = lane_of(&a, "Stream 2");
    ps_loaded *l = rank_of(&a);
    uint32_t merged = ps_loaded_n_lanes(l);
    ps_loaded_release(l);
    char body[100];
    char wanted[100];
    (void)snprintf(body, sizeof body, "{\"rank\":\"r0\",\"lanes\":[%u,%u]}", one, two);
    (void)snprintf(wanted, sizeof wanted, "{\"lane\":%u,\"rows\":2,\"slices\":15}", merged);
    assert_string_equal(ask_post(&a, 200, "/api/merge", body), wanted);
    assert_string_equal(ask_post(&a, 200, "/api/merge", body), wanted);
    (void)ask(&a, "/api/tiles?rank=r0&level=6&tile=0&lanes=%u", merged);
    assert_false(a.reply.is_immutable); /* the number may mean others next time */
    assert_int_equal(read_tile(&a).n, 6);
    (void)snprintf(body, sizeof body, "{\"rank\":\"r0\",\"lanes\":[%u]}", one);
    (void)snprintf(wanted, sizeof wanted, "{\"lane\":%u,\"rows\":1,\"slices\":4}", one);
    assert_string_equal(ask_post(&a, 200, "/api/merge", body), wanted);
    (void)snprintf(body, sizeof body, "{\"rank\":\"r0\",\"lanes\":[%u,%u]}", one,
                   lane_of(&a, "Free"));
    (void)ask_post(&a, 400, "/api/merge", body);
    (void)ask_post(&a, 400, "/api/merge", "{\"rank\":\"r0\",\"lanes\":[]}");
    (void)ask_post(&a, 400, "/api/merge", "{\"rank\":\"r0\",\"lanes\":[1000]}");
    (void)ask_post(&a, 400, "/api/merge", "{\"lanes\":[1]}");
    (void)ask_post(&a, 400, "/api/merge", "nothing");
    (void)ask_post(&a, 404, "/api/merge", "{\"rank\":\"r1\",\"lanes\":[0]}");
    asks_end(&a);
}

static void coverage_of_lanes(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    (void)ask(&a, "/api/coverage?rank=r0&level=2&tile=0&lanes=%u,%u", lane_of(&a, "Stream 1"),
              lane_of(&a, "Free"));
    assert_int_equal(a.reply.body.len, 1024);
    const uint8_t *out = (const uint8_t *)a.reply.body.data;
    assert_int_equal(out[0], 255);
    assert_int_equal(out[105], 255); /* free from 400 to 640, by the derived lane */
    assert_int_equal(out[170], 0);
    (void)ask(&a, "/api/coverage?rank=r0&level=2&tile=77&lanes=0");
    assert_int_equal(((const uint8_t *)a.reply.body.data)[0], 0);
    asks_end(&a);
}

static void counters_of_a_tile(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    uint32_t lane = lane_of(&a, "HBM");
    (void)ask(&a, "/api/counters?rank=r0&level=5&tile=0&lanes=%u,%u", lane_of(&a, "Stream 1"),
              lane);
    const uint32_t *head = (const uint32_t *)(const void *)a.reply.body.data;
    assert_int_equal(head[0], 0x31435350);
    assert_int_equal(head[1], 2);
    uint32_t n = head[2];
    assert_int_equal(head[5], 0); /* a lane that is no counter has nothing */
    assert_int_equal(head[6], lane);
    assert_int_equal(head[7], n);
    assert_int_equal(n, 31); /* 0..990 in buckets of 32 */
    const double *last = (const double *)(const void *)(a.reply.body.data + 32);
    const int32_t *bucket = (const int32_t *)(const void *)(last + 3 * n);
    assert_int_equal(a.reply.body.len, 32 + 28 * n);
    assert_int_equal(bucket[0], 0); /* 0 10 20 30 */
    assert_true(last[0] == 3);
    assert_true(last[n] == 0);
    assert_true(last[2 * n] == 3);
    assert_int_equal(bucket[1], 1); /* 40 50 60 */
    assert_true(last[1] == 6);
    assert_true(last[n + 1] == 4);
    (void)ask(&a, "/api/counters?rank=r0&level=0&tile=2&lanes=%u", lane);
    head = (const uint32_t *)(const void *)a.reply.body.data;
    assert_int_equal(head[2], 1); /* what holds where it begins */
    bucket = (const int32_t *)(const void *)(a.reply.body.data + 24 + 24);
    assert_int_equal(bucket[0], -1);
    asks_end(&a);
}

static void what_cannot_be_asked(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    static const char *const PATHS[] = {"tiles", "coverage", "counters"};
    for (size_t i = 0; i < 3; i++) {
        const char *p = PATHS[i];
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=53&tile=0&lanes=0", p);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=-1&tile=0&lanes=0", p);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=1&tile=x&lanes=0", p);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=1&tile=0", p);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=1&lanes=0", p);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=1&tile=0&lanes=0-99999", p);
        (void)ask_fails(&a, 404, "/api/%s?rank=r1&level=1&tile=0&lanes=0", p);
        (void)ask(&a, "/api/%s?rank=r0&level=52&tile=4503599627370496&lanes=0", p);
        (void)ask(&a, "/api/%s?rank=r0&level=52&tile=-4503599627370496&lanes=0", p);
    }
    (void)ask_post(&a, 404, "/api/names", "{\"rank\":\"r0\",\"names\":[4000000000]}");
    (void)ask_post(&a, 400, "/api/names", "{\"rank\":\"r0\",\"names\":[-1]}");
    (void)ask_post(&a, 400, "/api/names", "{\"rank\":\"r0\",\"names\":7}");
    assert_string_equal(ask_post(&a, 200, "/api/names", "{\"rank\":\"r0\",\"names\":[]}"),
                        "{\"names\":[]}");
    asks_end(&a);
}

/* --- samples --------------------------------------------------------------------------------------------------- */

/* Every slice of a lane is counted once at every level; its names have texts. */
static void expect_whole_lane(asks *a, const ps_layer *layer, uint32_t lane, int64_t end_ns) {
    for (unsigned level = 18; level <= PS_LOD_MAX_LEVEL; level += 6) {
        uint64_t n = 0;
        int64_t last = end_ns >> level >> 10;
        for (int64_t tile = 0; last < 60 && tile <= last; tile++) {
            (void)ask(a, "/api/tiles?rank=%s&level=%u&tile=%lld&lanes=%u", asks_key(a, 0), level,
                      (long long)tile, layer->first_lane + lane);
            tile_reply t = read_tile(a);
            for (uint32_t i = 0; i < t.n; i++) {
                n += t.start[i] >= 0 && t.start[i] < 1024 ? t.count[i] : 0;
                assert_true(t.end[i] >= t.start[i]);
                assert_true(t.busy[i] > 0);
                assert_true(t.look[i] <= 17);
            }
        }
        assert_true(last >= 60 || n == ps_lod_n_slices(layer->lod, lane));
    }
}

static void check_sample(const char *path) {
    asks a;
    asks_of_path(&a, path);
    ps_loaded *l = rank_of(&a);
    for (int i = 0; i < PS_N_LAYERS; i++) {
        const ps_layer *layer = ps_loaded_layer(l, i);
        for (uint32_t lane = 0; lane < layer->lanes->n_lanes; lane++) {
            int64_t start_ns = 0;
            int64_t end_ns = 0;
            if (ps_lod_span(layer->lod, lane, &start_ns, &end_ns)) {
                expect_whole_lane(&a, layer, lane, end_ns);
                char wanted[64];
                (void)snprintf(wanted, sizeof wanted, "\"total\":%u,",
                               ps_lod_n_slices(layer->lod, lane));
                expect_in(ask(&a, "/api/slices?rank=%s&lanes=%u&limit=1", asks_key(&a, 0),
                              layer->first_lane + lane),
                          wanted);
            }
        }
    }
    ps_loaded_release(l);
    asks_end(&a);
}

static void samples(void **state) {
    (void)state;
    static const char *const PATHS[] = {"ascend/db", "ascend/text", "kineto/nccl", "pp_chart"};
    const char *shared = getenv("PIPESCOPE_SHARED_DATA");
    if (shared == NULL || !ps_is_dir(shared)) {
        skip();
    }
    for (size_t i = 0; i < sizeof PATHS / sizeof *PATHS; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/%s", shared, PATHS[i]);
        check_sample(path);
    }
}

/* --- counters against the plainest way ------------------------------------------------------------------------ */

static void expect_counter_tile(const ps_counter_lod *lod, const ps_counters *c, uint32_t track,
                                unsigned level, int64_t tile) {
    ps_counter_points got = {0};
    assert_int_equal(ps_counter_lod_tile(lod, c, track, level, tile, &got, NULL), PS_OK);
    int64_t from = tile * (1024LL << level);
    size_t n = 0;
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->track[i] != track || c->time_ns[i] >= from + (1024LL << level)) {
            continue;
        }
        int64_t bucket = c->time_ns[i] < from ? -1 : (c->time_ns[i] - from) >> level;
        if (i + 1 < c->n && c->track[i + 1] == track && c->time_ns[i + 1] < from) {
            continue;
        }
        assert_true(n < got.n || (n > 0 && got.at[n - 1].bucket == bucket));
        if (n == 0 || got.at[n - 1].bucket != bucket) {
            assert_int_equal(got.at[n++].bucket, bucket);
        }
        const ps_counter_point *p = &got.at[n - 1];
        assert_true(p->least <= c->value[i] && c->value[i] <= p->most);
        bool is_last = i + 1 == c->n || c->track[i + 1] != track ||
                       (c->time_ns[i + 1] - from) >> level != bucket;
        assert_true(!is_last || p->last == c->value[i]);
    }
    assert_int_equal(n, got.n);
    ps_counter_points_fini(&got);
}

static void counters_by_the_plainest_way(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    ps_rng rng = ps_rng_seed(4);
    for (int track = 0; track < 3; track++) {
        char name[] = {(char)('a' + track), '\0'};
        uint32_t row = ps_builder_track(
            b, (ps_track){.kind = PS_TRACK_COUNTER, .name = ps_builder_str(b, name, 1)});
        int64_t now = 0;
        for (int i = 0; i < 7000; i++) {
            (void)ps_builder_counter(b, row, now, (double)ps_rng_below(&rng, 1000));
            now += (int64_t)ps_rng_below(&rng, i % 1000 < 900 ? 5 : 100000);
        }
    }
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    const ps_counters *c = ps_trace_counters(t);
    ps_counter_lod *lod = ps_counter_lod_new(c, NULL);
    assert_non_null(lod);
    for (unsigned level = 0; level <= 40; level++) {
        for (uint32_t track = 0; track < 3; track++) {
            int64_t at = c->time_ns[ps_rng_below(&rng, c->n)];
            expect_counter_tile(lod, c, track, level, at >> level >> 10);
            expect_counter_tile(lod, c, track, level, 0);
        }
    }
    ps_counter_points none = {0};
    assert_int_equal(ps_counter_lod_tile(lod, c, 99, 3, 0, &none, NULL), PS_OK);
    assert_int_equal(none.n, 0);
    ps_counter_lod_free(lod);
    ps_trace_free(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_of_two_lanes),          cmocka_unit_test(derived_lanes),
        cmocka_unit_test(lanes_drawn_as_one),           cmocka_unit_test(coverage_of_lanes),
        cmocka_unit_test(counters_of_a_tile),           cmocka_unit_test(what_cannot_be_asked),
        cmocka_unit_test(counters_by_the_plainest_way), cmocka_unit_test(samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Statistics of a box, and lists of slices. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "serve/rank/cache.h"
#include "serve/select/slice_box.h"
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

/*   0        100       200       300
 *   outer----------------------        thread, row 0      0-300
 *      inner---   inner-               row 1              30-100, 150-200
 *       leaf                           row 2              40-60
 *        k---------   k----            stream 1           50-150, 200-250
 *            k----                     stream 2           90-140 */
static ps_trace *make(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t host = ps_builder_track(
        b, (ps_track){.kind = PS_TRACK_HOST_THREAD, .pid = 9, .tid = 9, .device = -1});
    uint32_t one = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 1});
    uint32_t two = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = 2});
    (void)add(b, PS_SLICE_HOST_OP, host, "outer", 0, 300);
    uint32_t inner = add(b, PS_SLICE_HOST_OP, host, "inner", 30, 100);
    ps_builder_arg_int(b, inner, "Sequence number", 5);
    ps_builder_arg_str(b, inner, "Input Dims", ps_builder_str(b, "[[2,3]]", 7));
    (void)add(b, PS_SLICE_HOST_OP, host, "leaf", 40, 60);
    (void)add(b, PS_SLICE_HOST_OP, host, "inner", 150, 200);
    (void)add(b, PS_SLICE_KERNEL, one, "k", 50, 150);
    (void)add(b, PS_SLICE_KERNEL, two, "k", 90, 140);
    (void)add(b, PS_SLICE_KERNEL, one, "k", 200, 250);
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

/* The numbers of lanes below ps_loaded_n_lanes that slices of the profile are in: "0-2". */
static const char *all_lanes(const asks *a, char out[32]) {
    ps_loaded *l = rank_of(a);
    (void)snprintf(out, 32, "0-%u", ps_loaded_layer(l, PS_LAYER_PROFILE)->lanes->n_lanes - 1);
    ps_loaded_release(l);
    return out;
}

static uint32_t lane_of_slice(const asks *a, uint32_t slice) {
    ps_loaded *l = rank_of(a);
    uint32_t lane = 0;
    uint32_t row = 0;
    assert_int_equal(ps_loaded_place(l, slice, &lane, &row, NULL), PS_OK);
    ps_loaded_release(l);
    return lane;
}

static void everything_by_name(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    char lanes[32];
    const char *reply = ask(&a, "/api/stats?rank=r0&lanes=%s&sort=name", all_lanes(&a, lanes));
    expect_in(reply, "[\"inner\",120,120,100,60,70,50,2]"); /* 20 of it in leaf */
    expect_in(reply, "[\"k\",200,150,200,66.66666666666667,100,50,3]");
    expect_in(reply, "[\"leaf\",20,20,20,20,20,20,1]");
    expect_in(reply, "[\"outer\",300,300,180,300,300,300,1]");
    expect_in(reply, "\"totals\":{\"wall_ns\":640,\"union_ns\":300,\"work_ns\":300,\"n\":7}");
    expect_in(reply, "\"total\":4,");
    expect_in(reply, "\"notes\":[]");
    asks_end(&a);
}

/* Only what lies in the box counts, and it is said. */
static void a_box_cuts(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    char lanes[32];
    const char *reply =
        ask(&a, "/api/stats?rank=r0&lanes=%s&from=55&to=95&sort=name", all_lanes(&a, lanes));
    expect_in(reply, "[\"inner\",40,40,35,40,40,40,1]");
    expect_in(reply, "[\"k\",45,40,45,22.5,40,5,2]");
    expect_in(reply, "[\"leaf\",5,5,5,5,5,5,1]");
    expect_in(reply, "[\"outer\",40,40,0,40,40,40,1]");
    expect_in(reply, "\"totals\":{\"wall_ns\":130,\"union_ns\":40,\"work_ns\":40,\"n\":5}");
    expect_in(reply, "5 of these reach beyond the box");
    reply = ask(&a, "/api/stats?rank=r0&lanes=%s&from=310&to=320", lanes);
    expect_in(reply, "\"total\":0,");
    expect_in(reply, "\"totals\":{\"wall_ns\":0,\"union_ns\":0,\"work_ns\":0,\"n\":0}");
    asks_end(&a);
}

/* The derived lanes have slices for time without work: they cover it, and nothing ran there. */
static void idle_time_is_no_work(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    ps_loaded *l = rank_of(&a);
    uint32_t first = ps_loaded_layer(l, PS_LAYER_PROFILE)->lanes->n_lanes;
    uint32_t end = ps_loaded_n_lanes(l);
    ps_loaded_release(l);
    const char *reply = ask(&a, "/api/stats?rank=r0&lanes=%u-%u&sort=name", first, end - 1);
    expect_in(reply, "[\"Free\",50,50,50,50,50,50,1]");
    expect_in(reply, "\"union_ns\":200,\"work_ns\":150,");
    asks_end(&a);
}

static void rows_of_a_lane(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    uint32_t host = lane_of_slice(&a, 0);
    const char *reply = ask(&a, "/api/stats?rank=r0&lanes=%u&rows=%u:1-1", host, host);
    expect_in(reply, "\"total\":1,");
    expect_in(reply, "[\"inner\",120,120,100,60,70,50,2]");
    reply = ask(&a, "/api/stats?rank=r0&lanes=%u&rows=%u:1-9,%u:0-0", host, host, host + 1);
    expect_in(reply, "\"total\":2,");
    static const char *const WRONG[] = {"x", "0", "0:", "0:1", "0:1-", "0:2-1", "0:1-1,", "0:1-1x"};
    for (size_t i = 0; i < sizeof WRONG / sizeof *WRONG; i++) {
        (void)ask_fails(&a, 400, "/api/stats?rank=r0&lanes=0&rows=%s", WRONG[i]);
    }
    asks_end(&a);
}

/* A slice that is in a merged lane and in its own counts once. */
static void merged_lanes_count_once(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    uint32_t one = lane_of_slice(&a, 3);
    uint32_t two = lane_of_slice(&a, 4);
    assert_true(one != two);
    char body[64];
    (void)snprintf(body, sizeof body, "{\"rank\":\"r0\",\"lanes\":[%u,%u]}", one, two);
    (void)ask_post(&a, 200, "/api/merge", body);
    ps_loaded *l = rank_of(&a);
    uint32_t merged = ps_loaded_n_lanes(l);
    ps_loaded_release(l);
    expect_in(ask(&a, "/api/stats?rank=r0&lanes=%u,%u", one, merged), "[\"k\",200,150,");
    expect_in(ask(&a, "/api/slices?rank=r0&lanes=%u,%u", one, merged), "\"total\":3,");
    asks_end(&a);
}

static void slices_of_one_name(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    char lanes[32];
    const char *reply =
        ask(&a, "/api/stats?rank=r0&lanes=%s&name=inner&from=0&to=120", all_lanes(&a, lanes));
    expect_in(reply, "\"total\":1,");
    expect_in(reply, "[\"inner\",30,70,");
    expect_in(reply, ",1,\"op\",null,1]");
    expect_in(ask(&a, "/api/stats?rank=r0&lanes=%s&name=nobody", lanes), "\"total\":0,");
    asks_end(&a);
}

static void events_with_their_arguments(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    uint32_t host = lane_of_slice(&a, 0);
    const char *reply = ask(&a, "/api/slices?rank=r0&lanes=%u", host);
    expect_in(
        reply,
        "[\"start\",\"int\",\"ns\",false]"); /* in the unit of the page, like every time from the origin */
    expect_in(reply, "[\"Sequence number\",\"int\",\"\",true]");
    expect_in(reply, "[\"Input Dims\",\"text\",\"\",true],[\"slice\",\"int\",\"\",true]");
    expect_in(reply, "\"total\":4,");
    expect_in(reply, ",0,\"op\",null,null,null,0]");
    expect_in(reply, ",1,\"op\",null,5,\"[[2,3]]\",1]");
    reply = ask(&a, "/api/slices?rank=r0&lanes=%u&sort=duration&desc=1&limit=1", host);
    expect_in(reply, "\"rows\":[\n[\"outer\",0,300,");
    reply = ask(&a, "/api/slices?rank=r0&lanes=%u&filter={\"Sequence number\":[5,5]}", host);
    expect_in(reply, "\"total\":1,");
    reply = ask(&a, "/api/slices?rank=r0&lanes=%u&format=csv&filter={\"name\":\"leaf\"}", host);
    expect_in(reply, "leaf,40,20,");
    expect_in(reply, "name,start_relative_ns,duration_ns,"); /* start_ns is ns since 1970 */
    (void)ask_fails(&a, 400, "/api/slices?rank=r0");
    (void)ask_fails(&a, 400, "/api/slices?rank=r0&lanes=0&from=5&to=4");
    asks_end(&a);
}

/* Sets know their members by number and in order. */
static void sets_of_slices(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    uint32_t track = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM});
    for (int i = 0; i < 5000; i++) {
        (void)add(b, PS_SLICE_TASK, track, "t", i, i + 1);
    }
    asks a;
    asks_of_trace(&a, ps_builder_seal(b, NULL));
    ps_loaded *l = rank_of(&a);
    for (int every = 1; every < 3000; every = every * 3 + 1) {
        ps_slice_set set;
        assert_int_equal(ps_slice_set_init(&set, l, NULL), PS_OK);
        uint32_t members[5000];
        size_t n = 0;
        for (uint32_t i = 7; i < 5000; i += (uint32_t)every) {
            assert_true(ps_slice_set_add(&set, PS_LAYER_PROFILE, i));
            assert_false(ps_slice_set_add(&set, PS_LAYER_PROFILE, i));
            members[n++] = i;
        }
        assert_int_equal(ps_slice_set_close(&set, NULL), PS_OK);
        assert_int_equal(ps_slice_set_n(&set), n);
        uint32_t next = 0;
        for (size_t i = 0; i < n; i++) {
            assert_int_equal(ps_slice_set_at(&set, i), members[i]);
            next = ps_slice_set_next(&set, PS_LAYER_PROFILE, next);
            assert_int_equal(next++, members[i]);
        }
        assert_int_equal(ps_slice_set_next(&set, PS_LAYER_PROFILE, next), PS_NONE);
        ps_slice_set_fini(&set);
    }
    ps_loaded_release(l);
    asks_end(&a);
}

/* Against the plainest way, on calls within calls and overlapping streams. */
static void unions_by_the_plainest_way(void **state) {
    (void)state;
    enum { SPAN = 4000, N_NAMES = 4 };
    ps_rng rng = ps_rng_seed(12);
    ps_builder *b = ps_builder_new();
    uint32_t tracks[3];
    for (int i = 0; i < 3; i++) {
        tracks[i] = ps_builder_track(b, (ps_track){.kind = PS_TRACK_STREAM, .tid = i});
    }
    static bool covered[N_NAMES + 1][SPAN];
    int64_t wall[N_NAMES] = {0};
    for (int i = 0; i < 600; i++) {
        int name = (int)ps_rng_below(&rng, N_NAMES);
        int64_t start = (int64_t)ps_rng_below(&rng, SPAN - 60);
        int64_t end = start + (int64_t)ps_rng_below(&rng, 60);
        char text[] = {(char)('a' + name), '\0'};
        (void)add(b, PS_SLICE_TASK, tracks[i % 3], text, start, end);
        for (int64_t t = start; t < end; t++) {
            if (t >= 1000 && t < 2500) {
                covered[name][t] = covered[N_NAMES][t] = true;
                wall[name]++;
            }
        }
    }
    (void)add(b, PS_SLICE_TASK, tracks[0], "origin", 0, 1);
    asks a;
    asks_of_trace(&a, ps_builder_seal(b, NULL));
    char lanes[32];
    const char *reply =
        ask(&a, "/api/stats?rank=r0&lanes=%s&from=1000&to=2500", all_lanes(&a, lanes));
    int64_t unions[N_NAMES + 1] = {0};
    for (int n = 0; n <= N_NAMES; n++) {
        for (int t = 0; t < SPAN; t++) {
            unions[n] += covered[n][t];
        }
        char part[100];
        if (n < N_NAMES) {
            (void)snprintf(part, sizeof part, "[\"%c\",%lld,%lld,", 'a' + n, (long long)wall[n],
                           (long long)unions[n]);
        } else {
            (void)snprintf(part, sizeof part, "\"union_ns\":%lld", (long long)unions[n]);
        }
        expect_in(reply, part);
    }
    asks_end(&a);
}

/* Every route, with the Nth allocation failing: 507, or an answer, and the same answer afterwards. */
static void no_memory_is_said(void **state) {
    (void)state;
    static const char *const ASKED[] = {"stats?rank=r0&lanes=%s",
                                        "stats?rank=r0&lanes=%s&name=inner",
                                        "slices?rank=r0&lanes=%s",
                                        "slices?rank=r0&lanes=%s&sort=duration&desc=1",
                                        "tiles?rank=r0&level=3&tile=0&lanes=%s",
                                        "coverage?rank=r0&level=3&tile=0&lanes=%s",
                                        "counters?rank=r0&level=3&tile=0&lanes=%s"};
    for (size_t i = 0; i < sizeof ASKED / sizeof *ASKED; i++) {
        bool failed = true;
        for (int64_t n = 0; failed && n < 300; n++) {
            asks a;
            asks_of_trace(&a, make());
            char lanes[32];
            char path[128] = "/api/";
            (void)snprintf(path + 5, sizeof path - 5, ASKED[i], all_lanes(&a, lanes));
            ps_request q = {.store = a.store, .cache = a.cache};
            char *query = strchr(path, '?');
            *query++ = '\0';
            assert_true(ps_request_parse(&q, &a.reply, query));
            bool other = false;
            const ps_route *route = ps_route_find("GET", path, &other);
            (void)ps_alloc_fail_at(n);
            ps_route_answer(route, &q, &a.reply);
            int64_t made = ps_alloc_fail_at(-1);
            failed = made > n;
            assert_true(a.reply.status == 200 || a.reply.status == 507);
            assert_true(failed || a.reply.status == 200);
            ps_reply_fini(&a.reply);
            ps_reply_init(&a.reply);
            ps_route_answer(route, &q, &a.reply);
            assert_int_equal(a.reply.status, 200);
            asks_end(&a);
        }
        assert_false(failed);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_by_name),          cmocka_unit_test(a_box_cuts),
        cmocka_unit_test(idle_time_is_no_work),        cmocka_unit_test(rows_of_a_lane),
        cmocka_unit_test(merged_lanes_count_once),     cmocka_unit_test(slices_of_one_name),
        cmocka_unit_test(events_with_their_arguments), cmocka_unit_test(sets_of_slices),
        cmocka_unit_test(unions_by_the_plainest_way),  cmocka_unit_test(no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

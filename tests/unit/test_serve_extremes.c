/* A profile at the ends of what times can say, and parameters at the ends of what they may be: every route answers, or says
 * why not. What goes wrong here is seen by the sanitizers. */
#include <stdio.h>
#include <string.h>

#include "analyze/views/view.h"
#include "serve/rank/cache.h"
#include "support/asks.h"

#define FAR ((INT64_C(1) << 61) - 1)

static const struct {
    int64_t start, end;
} SPANS[] = {{-FAR, FAR}, {-FAR, FAR}, {-FAR, -FAR}, {-FAR, 0}, {0, FAR}, {FAR, FAR}};
enum { N_SPANS = sizeof SPANS / sizeof *SPANS };

static const ps_track TRACKS[] = {{.kind = PS_TRACK_HOST_THREAD, .pid = 1, .tid = 1, .device = -1},
                                  {.kind = PS_TRACK_STREAM, .tid = 1},
                                  {.kind = PS_TRACK_STREAM, .tid = 2},
                                  {.kind = PS_TRACK_COMM_GROUP},
                                  {.kind = PS_TRACK_COMM_PLANE, .tid = 1},
                                  {.kind = PS_TRACK_DERIVED}};
enum { N_TRACKS = sizeof TRACKS / sizeof *TRACKS };

static void add_slices(ps_builder *b, uint32_t track, uint32_t *last) {
    for (int kind = 0; kind < PS_N_SLICE_KINDS; kind++) {
        for (int i = 0; i < N_SPANS; i++) {
            char name[32];
            int n = snprintf(name, sizeof name, "slice %d", i);
            uint32_t slice =
                ps_builder_slice(b, (ps_slice_kind)kind, track, ps_builder_str(b, name, (size_t)n),
                                 SPANS[i].start, SPANS[i].end, i);
            assert_int_not_equal(slice, PS_NONE);
            ps_builder_arg_int(b, slice, "size", INT64_MAX - i);
            ps_builder_arg_time(b, slice, "ready", SPANS[i].start);
            if (*last != PS_NONE) {
                ps_builder_flow(b, *last, slice);
            }
            *last = slice;
        }
    }
}

static ps_trace *make(void) {
    ps_builder *b = ps_builder_new();
    assert_non_null(b);
    uint32_t last = PS_NONE;
    for (int i = 0; i < N_TRACKS; i++) {
        ps_track track = TRACKS[i];
        track.name = ps_builder_str(b, "group", 5);
        add_slices(b, ps_builder_track(b, track), &last);
    }
    uint32_t counter = ps_builder_track(b, (ps_track){.kind = PS_TRACK_COUNTER});
    for (int i = 0; i < N_SPANS; i++) {
        assert_true(ps_builder_counter(b, counter, SPANS[i].start, 1e300));
    }
    ps_builder_step(b, INT64_MIN, -FAR, 0);
    ps_builder_step(b, INT64_MAX, 0, FAR);
    ps_trace *t = ps_builder_seal(b, NULL);
    assert_non_null(t);
    return t;
}

/* Asks without looking at what comes. */
static void try(asks *a, const char *address) {
    char text[512];
    (void)snprintf(text, sizeof text, "%s", address);
    char *query = strchr(text, '?');
    *query++ = '\0';
    ps_request q = {.store = a->store, .cache = a->cache};
    ps_reply_fini(&a->reply);
    ps_reply_init(&a->reply);
    bool other = false;
    const ps_route *route = ps_route_find("GET", text, &other);
    assert_non_null(route);
    q.path = route->path;
    if (ps_request_parse(&q, &a->reply, query)) {
        ps_route_answer(route, &q, &a->reply);
    }
    if (a->reply.status >= 500) {
        fail_msg("%s: %s", address, ps_buf_str(&a->reply.body));
    }
}

static void lists_of_lanes(void **state) {
    (void)state;
    static const char *const SPAN[] = {"",
                                       "&from=-2305843009213693952&to=2305843009213693952",
                                       "&from=2305843009213693952&to=2305843009213693952",
                                       "&from=0&to=0",
                                       "&from=1&to=1&limit=0",
                                       "&from=-2305843009213693952&to=-2305843009213693952"};
    static const char *const ROUTES[] = {
        "stats?rank=r0&lanes=%s%s",
        "stats?rank=r0&name=slice%%201&lanes=%s%s",
        "slices?rank=r0&sort=duration&desc=1&lanes=%s%s",
        "slices?rank=r0&offset=9223372036854775807&lanes=%s%s",
        "export?rank=r0&lanes=%s%s",
        "export?rank=r0&format=pftrace&lanes=%s%s",
        "search?q=slice&ranks=r0&lanes=%s%s",
        "search/list?q=.&regex=1&args=1&sort=dur&desc=1&ranks=r0&lanes=%s%s",
        "search/table?q=slice&ranks=r0&sort=start&lanes=%s%s",
        "search/step?q=slice&ranks=r0&time=2305843009213693952&dir=previous&lanes=%s%s",
        "search/step?q=slice&ranks=r0&n=9223372036854775807&lanes=%s%s",
        "flows/window?rank=r0&kind=MsTx&limit=7&lanes=%s%s",
        "flows/window?rank=r0&kind=MsTx&limit=100000&lanes=%s%s",
        "flows/window?rank=r0&kind=send-recv&lanes=%s%s"};
    asks a;
    asks_of_trace(&a, make());
    ps_loaded *l = NULL;
    assert_int_equal(ps_store_get(a.store, 0, &l, NULL), PS_OK);
    char lanes[48];
    (void)snprintf(lanes, sizeof lanes, "0-%u", ps_loaded_n_lanes(l) - 1);
    ps_loaded_release(l);
    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++) {
        for (size_t k = 0; k < sizeof SPAN / sizeof *SPAN; k++) {
            char path[512] = "/api/";
            (void)snprintf(path + 5, sizeof path - 5, ROUTES[i], lanes, SPAN[k]);
            try(&a, path);
        }
    }
    expect_in(ask(&a, "/api/stats?rank=r0&lanes=%s", lanes), "\"n\":");
    asks_end(&a);
}

static void tiles(void **state) {
    (void)state;
    static const char *const ROUTES[] = {"tiles", "coverage", "counters"};
    static const int64_t TILES[] = {-(INT64_C(1) << 52), -(INT64_C(1) << 31), -2, -1, 0, 1, 2,
                                    INT64_C(1) << 31,    INT64_C(1) << 52};
    asks a;
    asks_of_trace(&a, make());
    for (size_t i = 0; i < 3; i++) {
        for (unsigned level = 0; level <= 52; level++) {
            for (size_t t = 0; t < sizeof TILES / sizeof *TILES; t++) {
                char path[200];
                (void)snprintf(path, sizeof path, "/api/%s?rank=r0&level=%u&tile=%lld&lanes=0-9,0",
                               ROUTES[i], level, (long long)TILES[t]);
                try(&a, path);
                assert_int_equal(a.reply.status, 200);
            }
        }
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=53&tile=0&lanes=0", ROUTES[i]);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=0&tile=4503599627370497&lanes=0",
                        ROUTES[i]);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=0&tile=0&lanes=4294967295", ROUTES[i]);
        (void)ask_fails(&a, 400, "/api/%s?rank=r0&level=0&tile=0&lanes=0-4294967296", ROUTES[i]);
    }
    asks_end(&a);
}

static void every_slice(void **state) {
    (void)state;
    static const char *const ROUTES[] = {"slice?rank=r0",
                                         "near?rank=r0&to=next",
                                         "near?rank=r0&to=previous-same",
                                         "near?rank=r0&to=parent",
                                         "near?rank=r0&to=child",
                                         "flows/of?rank=r0",
                                         "search/step?q=slice&rank=r0"};
    asks a;
    asks_of_trace(&a, make());
    uint32_t n = PS_N_SLICE_KINDS * N_SPANS * N_TRACKS;
    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++) {
        for (uint32_t slice = 0; slice <= n; slice += 5) {
            char path[200];
            (void)snprintf(path, sizeof path, "/api/%s&slice=%u", ROUTES[i], slice);
            try(&a, path);
        }
        (void)ask_fails(&a, 400, "/api/%s&slice=4294967296", ROUTES[i]);
    }
    try(&a, "/api/lanes?rank=r0");
    try(&a, "/api/ranks?");
    try(&a, "/api/align?by=start");
    try(&a, "/api/align?by=steps");
    try(&a, "/api/align?by=clock");
    try(&a, "/api/flows/kinds?rank=r0");
    asks_end(&a);
}

static void every_view(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    for (const ps_view *const *v = ps_views(); *v != NULL; v++) {
        char path[200];
        (void)snprintf(path, sizeof path, "/api/view?name=%s&rank=r0", (*v)->name);
        try(&a, path);
        (void)snprintf(path, sizeof path,
                       "/api/view?name=%s&rank=r0&from=-2305843009213693952&to=0&limit=5000",
                       (*v)->name);
        try(&a, path);
    }
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_of_lanes), cmocka_unit_test(tiles),
                                       cmocka_unit_test(every_slice), cmocka_unit_test(every_view)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

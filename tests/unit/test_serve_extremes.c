/* A profile at the ends of what times can say, and parameters at the ends of what they may be: every route answers, or says
 * why not, with the numbers that follow from how the profile is made. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
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

/* What an address says: of a reply that is no 200 its status, negative; else the first number behind `member`; of no member how
 * many of the file's events are slices or instants. */
static long long said(asks *a, const char *address, const char *member) {
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
    const char *body = ps_buf_str(&a->reply.body);
    if (a->reply.status != 200) {
        return -(long long)a->reply.status;
    }
    if (member == NULL) {
        return (long long)(count_in(body, "\"ph\":\"X\"") + count_in(body, "\"ph\":\"i\""));
    }
    const char *at = strstr(body, member);
    return at != NULL ? strtoll(at + strlen(member), NULL, 10) : LLONG_MIN;
}

static void must_say(asks *a, const char *address, const char *member, long long number) {
    long long n = said(a, address, member);
    if (n != number) {
        fail_msg("%s says %lld, not %lld: %.300s", address, n, number, ps_buf_str(&a->reply.body));
    }
}

/* Times are told from the first slice on, so half of all time lies behind what `from` and `to` can say: what is asked for with them
 * leaves out the 108 slices at the very end. */
enum { N_ASKED = 6, ALL = PS_N_SLICE_KINDS * N_SPANS * N_TRACKS, EACH = ALL / N_SPANS };
static const char *const ASKED[N_ASKED] = {"",
                                           "&from=-2305843009213693952&to=2305843009213693952",
                                           "&from=2305843009213693952&to=2305843009213693952",
                                           "&from=0&to=0",
                                           "&from=1&to=1",
                                           "&from=-2305843009213693952&to=-2305843009213693952"};

static void lists_of_lanes(void **state) {
    (void)state;
    static const struct {
        const char *path, *member;
        long long says[N_ASKED];
    } ROUTES[] = {
        {"stats?rank=r0&lanes=%s%s", "\"n\":", {5 * EACH, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"stats?rank=r0&name=slice%%201&lanes=%s%s", "\"total\":", {EACH, EACH, EACH, 0, EACH, 0}},
        {"slices?rank=r0&sort=duration&desc=1&lanes=%s%s",
         "\"total\":",
         {5 * EACH, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"slices?rank=r0&offset=9223372036854775807&lanes=%s%s",
         "\"total\":",
         {5 * EACH, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"export?rank=r0&lanes=%s%s", NULL, {5 * EACH, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"search?q=slice&ranks=r0&lanes=%s%s",
         "\"total\":",
         {ALL, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"search/list?q=.&regex=1&args=1&sort=dur&desc=1&ranks=r0&lanes=%s%s",
         "\"total\":",
         {ALL, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"search/list?q=slice&limit=0&ranks=r0&lanes=%s%s",
         "\"total\":",
         {-400, -400, -400, -400, -400, -400}},
        {"search/table?q=slice&ranks=r0&sort=start&lanes=%s%s",
         "\"total\":",
         {ALL, 5 * EACH, 3 * EACH, 0, 3 * EACH, 0}},
        {"search/step?q=slice&ranks=r0&time=2305843009213693952&dir=previous&lanes=%s%s",
         "\"index\":",
         {5 * EACH - 1, 5 * EACH - 1, 3 * EACH - 1, -1, 3 * EACH - 1, -1}},
        {"search/step?q=slice&ranks=r0&n=9223372036854775807&lanes=%s%s",
         "\"index\":",
         {-1, -1, -1, -1, -1, -1}},
        {"flows/window?rank=r0&kind=MsTx&limit=7&lanes=%s%s",
         "\"total\":",
         {4 * EACH, 4 * EACH, 0, 3 * EACH, 0, 0}},
        {"flows/window?rank=r0&kind=MsTx&limit=100000&lanes=%s%s",
         "\"total\":",
         {4 * EACH, 4 * EACH, 0, 3 * EACH, 0, 0}},
        {"flows/window?rank=r0&kind=send-recv&lanes=%s%s", "\"total\":", {0, 0, 0, 0, 0, 0}}};
    asks a;
    asks_of_trace(&a, make());
    ps_loaded *l = NULL;
    assert_int_equal(ps_store_get(a.store, 0, &l, NULL), PS_OK);
    char lanes[48];
    (void)snprintf(lanes, sizeof lanes, "0-%u", ps_loaded_n_lanes(l) - 1);
    ps_loaded_release(l);
    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++) {
        for (size_t k = 0; k < N_ASKED; k++) {
            char path[512] = "/api/";
            (void)snprintf(path + 5, sizeof path - 5, ROUTES[i].path, lanes, ASKED[k]);
            must_say(&a, path, ROUTES[i].member, ROUTES[i].says[k]);
        }
    }
    assert_true(strncmp(ask(&a, "/api/export?rank=r0&format=pftrace&lanes=%s", lanes), "\n", 1) ==
                0);
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
                size_t n = (ask(&a, "%s", path), a.reply.body.len);
                assert_true(n > 0 && (strcmp(ROUTES[i], "coverage") != 0 || n == PS_LOD_TILE));
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

/* The number that a reply to /api/near names, -1 none. */
static long long near_of(asks *a, const char *to, uint32_t slice) {
    const char *member = "\"slice\":";
    const char *at = strstr(ask(a, "/api/near?rank=r0&to=%s&slice=%u", to, slice), member);
    return at != NULL ? strtoll(at + strlen(member), NULL, 10) : -1;
}

/* Sorted by start, of one start the longest first, of one length as they came. */
static void every_slice(void **state) {
    (void)state;
    static const struct {
        int64_t start_ns, dur_ns;
    } SORTED[N_SPANS] = {{0, 2 * FAR}, {0, 2 * FAR}, {0, FAR}, {0, 0}, {FAR, FAR}, {2 * FAR, 0}};
    static const char *const ROUTES[] = {"slice?", "near?to=next&", "near?to=child&", "flows/of?",
                                         "search/step?q=slice&"};
    asks a;
    asks_of_trace(&a, make());
    size_t n_from = 0;
    size_t n_to = 0;
    for (uint32_t slice = 0; slice < ALL; slice++) {
        char part[120];
        const int64_t *span = &SORTED[slice / EACH].start_ns;
        (void)snprintf(part, sizeof part, "\"start\":%lld,\"dur\":%lld,\"name\":\"slice ",
                       (long long)span[0], (long long)span[1]);
        const char *told = ask(&a, "/api/slice?rank=r0&slice=%u", slice);
        expect_in(told, part);
        n_from += count_in(told, "{\"kind\":\"MsTx\",\"direction\":\"from\"");
        n_to += count_in(told, "{\"kind\":\"MsTx\",\"direction\":\"to\"");
        expect_in(ask(&a, "/api/flows/of?rank=r0&slice=%u", slice),
                  "{\"flows\":[{\"kind\":\"MsTx\"");
        (void)snprintf(part, sizeof part, "/api/search/step?q=slice&rank=r0&slice=%u", slice);
        must_say(&a, part, "\"index\":", slice + 1 < ALL ? (long long)slice + 1 : -1);
        long long next = near_of(&a, "next", slice);
        assert_true(next == -1 || near_of(&a, "previous", (uint32_t)next) == slice);
        next = near_of(&a, "next-same", slice);
        assert_true(next == -1 || near_of(&a, "previous-same", (uint32_t)next) == slice);
    }
    assert_int_equal(n_from, ALL - 1); /* each leads to the next one that was made */
    assert_int_equal(n_to, ALL - 1);
    for (size_t i = 0; i < sizeof ROUTES / sizeof *ROUTES; i++) {
        (void)ask_fails(&a, 404, "/api/%srank=r0&slice=%d", ROUTES[i], ALL);
        (void)ask_fails(&a, 400, "/api/%srank=r0&slice=4294967296", ROUTES[i]);
    }
    asks_end(&a);
}

static void the_rank(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    expect_in(ask(&a, "/api/lanes?rank=r0"), "\"rows\":43,\"slices\":84,");
    expect_in(ask(&a, "/api/ranks?"),
              "\"origin_ns\":\"-2305843009213693951\",\"start\":0,\"end\":4611686018427387902,"
              "\"slices\":648,\"steps\":[[-9223372036854775808,0,2305843009213693951],"
              "[9223372036854775807,2305843009213693951,4611686018427387902]]");
    static const char *const BY[] = {"start", "steps", "clock"};
    for (size_t i = 0; i < 3; i++) {
        expect_in(ask(&a, "/api/align?by=%s", BY[i]),
                  "\"offsets\":[{\"rank\":\"r0\",\"offset_ns\":0,");
    }
    expect_in(ask(&a, "/api/flows/kinds?rank=r0"), "{\"kinds\":[[\"MsTx\",647]]}");
    asks_end(&a);
}

/* Rows over all time, and up to the first slice. */
static const struct {
    const char *name;
    long long rows, rows_before;
} VIEWS[] = {
    {"overall", 7, 4},
    {"leaf", 6, 0},
    {"framework_sum", 6, -409},
    {"python_sum", 6, -409},
    {"call_sum", 6, -409},
    {"device_sum", 6, -409},
    {"communication_sum", 12, -409},
    {"overlap_sum", 4, 4},
    {"calls", 61, -409},
    {"memcpy", 6, -409},
    {"memcpy_details", 36, -409},
    {"kernel_details", 108, -409},
    {"kernel_figures", 36, -409},
    {"kernel_launch", 72, -409},
    {"frequency", -409, -409},
    {"advice", 2, 2},
    {"operator_types", 1, -409},
    {"operator_names", 6, -409},
    {"operator_shapes", 6, -409},
    {"operator_cores", 1, -409},
    {"communication_names", 12, -409},
    {"communication_types", 6, -409},
    {"operator_details", 72, -409},
    {"communication_operators", 30, -409},
    {"memory_curve", -409, -409},
    {"memory_operators", -409, -409},
    {"memory_names", -409, -409},
    {"memory_held", -409, -409},
    {"memory_components", -409, -409},
};

static void every_view(void **state) {
    (void)state;
    asks a;
    asks_of_trace(&a, make());
    size_t i = 0;
    for (const ps_view *const *v = ps_views(); *v != NULL; v++, i++) {
        char path[200];
        assert_true(i < sizeof VIEWS / sizeof *VIEWS);
        assert_string_equal((*v)->name, VIEWS[i].name);
        (void)snprintf(path, sizeof path, "/api/view?name=%s&rank=r0", (*v)->name);
        must_say(&a, path, "\"total\":", VIEWS[i].rows);
        (void)snprintf(path, sizeof path,
                       "/api/view?name=%s&rank=r0&from=-2305843009213693952&to=0&limit=5000",
                       (*v)->name);
        must_say(&a, path, "\"total\":", VIEWS[i].rows_before);
    }
    assert_int_equal(i, sizeof VIEWS / sizeof *VIEWS);
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(lists_of_lanes), cmocka_unit_test(tiles),
                                       cmocka_unit_test(every_slice), cmocka_unit_test(the_rank),
                                       cmocka_unit_test(every_view)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Routes are found by path and method; parameters are read and refused. */
#include <stdio.h>
#include <string.h>

#include "support/asks.h"
#include "support/small_runs.h"

static ps_request request_of(ps_reply *r, char *query) {
    ps_request q = {.path = "/api/test"};
    ps_reply_fini(r);
    ps_reply_init(r);
    (void)ps_request_parse(&q, r, query);
    return q;
}

#define ASK(r, text) request_of(r, (char[]){text})

static void refused(const ps_reply *r, unsigned status, const char *part) {
    assert_int_equal(r->status, status);
    assert_string_equal(r->content_type, "application/json");
    expect_in(ps_buf_str(&((ps_reply *)(uintptr_t)r)->body), part);
}

static void routes_are_well_made(void **state) {
    (void)state;
    for (const ps_route *const *at = ps_routes(); *at != NULL; at++) {
        const ps_route *r = *at;
        assert_int_equal(strncmp(r->path, "/api/", 5), 0);
        assert_non_null(r->answer);
        bool is_post = strcmp(r->method, "POST") == 0;
        assert_true(is_post || strcmp(r->method, "GET") == 0);
        assert_true(is_post == (r->max_body > 0 || r->takes_file));
        assert_true(r->max_body <= PS_REQUEST_MAX_BODY);
        bool other = true;
        assert_ptr_equal(ps_route_find(r->method, r->path, &other), r);
        assert_false(other);
    }
}

static void routes_are_found(void **state) {
    (void)state;
    bool other = false;
    assert_non_null(ps_route_find("GET", "/api/tiles", &other));
    assert_null(ps_route_find("POST", "/api/tiles", &other));
    assert_true(other);
    assert_null(ps_route_find("GET", "/api/tile", &other));
    assert_false(other);
    assert_null(ps_route_find("GET", "/api/tiles/", &other));
    assert_null(ps_route_find("", "", &other));
}

static void queries_are_taken_apart(void **state) {
    (void)state;
    ps_reply r;
    ps_reply_init(&r);
    ps_request q = ASK(&r, "a=1&&b=x%20y%2Bz&c&=d&a=2&e=%C3%A4+o");
    assert_int_equal(r.status, 200);
    assert_int_equal(q.n_params, 5 - 1 + 1);
    assert_string_equal(ps_param_text(&q, "a"), "1"); /* the first of two */
    assert_string_equal(ps_param_text(&q, "b"), "x y+z");
    assert_string_equal(ps_param_text(&q, "c"), "");
    assert_string_equal(ps_param_text(&q, "e"), "\xC3\xA4 o");
    assert_null(ps_param_text(&q, "d"));
    static const char *const BAD[] = {"a=%", "a=%4", "a=%zz", "%00=1", "a=b%00c", "a=%g0"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char text[16];
        memcpy(text, BAD[i], strlen(BAD[i]) + 1);
        (void)request_of(&r, text);
        refused(&r, 400, "escape");
    }
    char many[PS_REQUEST_MAX_PARAMS * 4 + 8] = "";
    for (int i = 0; i < PS_REQUEST_MAX_PARAMS; i++) {
        strncat(many, "a=1&", sizeof many - strlen(many) - 1);
    }
    q = request_of(&r, many);
    assert_int_equal(q.n_params, PS_REQUEST_MAX_PARAMS);
    for (size_t i = 0; i < sizeof many; i++) { /* parameters were cut apart in place */
        many[i] = "a=1&"[i % 4];
    }
    many[sizeof many - 1] = '\0';
    (void)request_of(&r, many);
    refused(&r, 400, "more than 64 parameters");
    ps_reply_fini(&r);
}

static void integers(void **state) {
    (void)state;
    ps_reply r;
    ps_reply_init(&r);
    int64_t n = 0;
    ps_request q = ASK(&r, "a=-5&b=x&c=99999999999999999999&d=&e=1e3");
    assert_true(ps_ask_int(&q, &r, "a", -5, 5, 0, &n));
    assert_int_equal(n, -5);
    assert_true(ps_ask_int(&q, &r, "none", -5, 5, 3, &n));
    assert_int_equal(n, 3);
    assert_false(ps_ask_int(&q, &r, "none", -5, 5, PS_REQUIRED, &n));
    refused(&r, 400, "'none' is missing");
    assert_false(ps_ask_int(&q, &r, "a", -4, 5, 0, &n));
    refused(&r, 400, "'a' must be a whole number from -4 to 5");
    static const char *const BAD[] = {"b", "c", "d", "e"};
    for (size_t i = 0; i < 4; i++) {
        assert_false(ps_ask_int(&q, &r, BAD[i], INT64_MIN, INT64_MAX, 0, &n));
    }
    bool flag = true;
    assert_true(ps_ask_flag(&q, &r, "none", &flag));
    assert_false(flag);
    q = ASK(&r, "y=1&n=0&t=true");
    assert_true(ps_ask_flag(&q, &r, "y", &flag) && flag);
    assert_true(ps_ask_flag(&q, &r, "n", &flag) && !flag);
    assert_false(ps_ask_flag(&q, &r, "t", &flag));
    refused(&r, 400, "'t' must be 0 or 1");
    ps_reply_fini(&r);
}

/* Tiles of many lanes are no work for the thread of a socket. */
static void large_requests(void **state) {
    (void)state;
    static const char *const PATHS[] = {"/api/tiles", "/api/coverage", "/api/counters"};
    ps_reply r;
    ps_reply_init(&r);
    bool other = false;
    for (size_t i = 0; i < 3; i++) {
        const ps_route *route = ps_route_find("GET", PATHS[i], &other);
        assert_non_null(route);
        assert_false(route->is_slow);
        static const char *const SMALL[] = {"", "lanes=", "lanes=7", "lanes=0-63", "lanes=0-999,x"};
        static const char *const LARGE[] = {"lanes=0-64", "lanes=1-40,1-40", "lanes=0-4294967295"};
        for (size_t k = 0; k < 5; k++) {
            char text[32];
            (void)snprintf(text, sizeof text, "%s", SMALL[k]);
            ps_request q = request_of(&r, text);
            assert_false(route->is_large(&q));
        }
        for (size_t k = 0; k < 3; k++) {
            char text[32];
            (void)snprintf(text, sizeof text, "%s", LARGE[k]);
            ps_request q = request_of(&r, text);
            assert_true(route->is_large(&q));
        }
    }
    ps_reply_fini(&r);
}

static void lists(void **state) {
    (void)state;
    ps_reply r;
    ps_reply_init(&r);
    uint32_t *list = NULL;
    size_t n = 9;
    ps_request q = ASK(&r, "a=0-2,9,5-5&none=");
    assert_true(ps_ask_list(&q, &r, "a", 10, 5, &list, &n));
    assert_int_equal(n, 5);
    static const uint32_t WANT[] = {0, 1, 2, 9, 5};
    assert_memory_equal(list, WANT, sizeof WANT);
    assert_true(ps_ask_list(&q, &r, "none", 10, 5, &list, &n));
    assert_null(list);
    assert_int_equal(n, 0);
    assert_true(ps_ask_list(&q, &r, "else", 10, 5, &list, &n));
    assert_null(list);
    assert_false(ps_ask_list(&q, &r, "a", 9, 5, &list, &n));
    refused(&r, 400, "there is no number 9");
    assert_false(ps_ask_list(&q, &r, "a", 10, 4, &list, &n));
    refused(&r, 400, "more than 4 numbers");
    assert_false(ps_ask_list(&q, &r, "a", 0, 4, &list, &n));
    static const char *const BAD[] = {"a=1,",   "a=,1", "a=3-1", "a=-1",         "a=1-",
                                      "a=1--2", "a=x",  "a=1.5", "a=4294967296", "a=0-99999999999",
                                      "a=1 2"};
    for (size_t i = 0; i < sizeof BAD / sizeof BAD[0]; i++) {
        char text[32];
        memcpy(text, BAD[i], strlen(BAD[i]) + 1);
        q = request_of(&r, text);
        assert_false(ps_ask_list(&q, &r, "a", UINT32_MAX, 100, &list, &n));
        refused(&r, 400, "");
    }
    /* Counted, not made: a range of four billion costs nothing. */
    q = ASK(&r, "a=0-4294967294");
    assert_false(ps_ask_list(&q, &r, "a", UINT32_MAX, 1000, &list, &n));
    refused(&r, 400, "more than 1000 numbers");
    ps_reply_fini(&r);
}

static void spans(void **state) {
    (void)state;
    ps_reply r;
    ps_reply_init(&r);
    int64_t from = 0;
    int64_t to = 0;
    ps_request q = ASK(&r, "");
    assert_true(ps_ask_span(&q, &r, &from, &to));
    assert_true(from < -(INT64_C(1) << 60) && to > INT64_C(1) << 60 && to - from > 0);
    q = ASK(&r, "from=-3&to=8");
    assert_true(ps_ask_span(&q, &r, &from, &to) && from == -3 && to == 8);
    q = ASK(&r, "from=9&to=8");
    assert_false(ps_ask_span(&q, &r, &from, &to));
    refused(&r, 400, "'from' lies behind 'to'");
    q = ASK(&r, "from=-9223372036854775808");
    assert_false(ps_ask_span(&q, &r, &from, &to));
    ps_reply_fini(&r);
}

static void errors_have_statuses(void **state) {
    (void)state;
    static const struct {
        ps_code code;
        unsigned status;
    } MAP[] = {{PS_NOT_FOUND, 404}, {PS_NOTHING, 409}, {PS_USAGE, 400},   {PS_RANGE, 400},
               {PS_NOMEM, 507},     {PS_IO, 500},      {PS_INTERNAL, 500}};
    for (size_t i = 0; i < sizeof MAP / sizeof MAP[0]; i++) {
        ps_reply r;
        ps_reply_init(&r);
        r.is_immutable = true;
        r.file_name = "x";
        ps_buf_add_str(&r.body, "half of an answer");
        ps_err err = PS_ERR_INIT;
        (void)ps_fail(&err, MAP[i].code, "so \"%s\"", "it is");
        ps_reply_err(&r, &err);
        assert_int_equal(r.status, MAP[i].status);
        assert_string_equal(ps_buf_str(&r.body), "{\"error\":\"so \\\"it is\\\"\"}\n");
        assert_false(r.is_immutable);
        assert_null(r.file_name);
        ps_reply_fini(&r);
    }
}

static void too_much(const ps_request *q, ps_reply *r) {
    (void)q;
    ps_buf_fini(&r->body);
    ps_buf_init(&r->body, 100);
    ps_buf_add_fill(&r->body, 'x', 101);
}

static void large_replies_are_refused(void **state) {
    (void)state;
    const ps_route route = {.path = "/api/test", .method = "GET", .answer = too_much};
    ps_request q = {.path = route.path};
    ps_reply r;
    ps_reply_init(&r);
    ps_route_answer(&route, &q, &r);
    refused(&r, 507, "memory");
    ps_reply_fini(&r);
}

static bool waits(const asks *a, const char *query, int64_t waited_ms) {
    char text[64];
    (void)snprintf(text, sizeof text, "%s", query);
    bool other = false;
    const ps_route *route = ps_route_find("GET", "/api/events", &other);
    ps_request q = {.path = route->path, .store = a->store};
    ps_reply r;
    ps_reply_init(&r);
    assert_true(ps_request_parse(&q, &r, text));
    ps_reply_fini(&r);
    return route->must_wait(&q, waited_ms);
}

static void events_wait_for_something_to_tell(void **state) {
    (void)state;
    ps_builder *b = ps_builder_new();
    small_slice(b, PS_SLICE_HOST_OP, small_thread(b, 1), "x", 0, 1);
    asks a;
    asks_of_trace(&a, small_seal(b));
    unsigned long long seq = ps_store_seq(a.store);
    char now[64];
    (void)snprintf(now, sizeof now, "after=%llu", seq);
    assert_true(waits(&a, now, 0));
    assert_true(waits(&a, now, 19999)); /* nothing is being read */
    assert_false(waits(&a, "", 0));
    assert_false(waits(&a, "after=0", 0));
    assert_false(waits(&a, "after=99999", 0)); /* of another server */
    assert_false(waits(&a, "after=x", 0));
    const char *all = ask(&a, "/api/events?after=0");
    expect_in(all, "\"key\":\"r0\"");
    expect_in(ask(&a, "/api/events?after=99999"), "\"key\":\"r0\"");
    expect_in(ask(&a, "/api/events?%s", now), "\"ranks\":[]}");
    ask_fails(&a, 400, "/api/events?after=x");
    asks_end(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(routes_are_well_made),
        cmocka_unit_test(routes_are_found),
        cmocka_unit_test(queries_are_taken_apart),
        cmocka_unit_test(integers),
        cmocka_unit_test(lists),
        cmocka_unit_test(large_requests),
        cmocka_unit_test(spans),
        cmocka_unit_test(errors_have_statuses),
        cmocka_unit_test(large_replies_are_refused),
        cmocka_unit_test(events_wait_for_something_to_tell),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

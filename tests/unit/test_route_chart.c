/* /api/chart and /api/simulate as functions: a simulated cluster is written, served, asked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/literal.h"
#include "schedule/schedule.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"
#include "serve/rank/store.h"
#include "support/profile.h"
#include "write/simulated/ascend_profile.h"

typedef struct served {
    place place;
    ps_store *store;
    ps_cache *cache;
    ps_reply reply;
    const ps_literal *json; /* of the reply */
} served;

/* 1F1B, 4 x 8, two pipelines, two steps; stage 2 takes half as long again. */
static int set_up(void **state) {
    served *s = calloc(1, sizeof *s);
    assert_non_null(s);
    place_make(&s->place);
    const char *dir = place_path(&s->place, "job");
    ps_ascend_profile_opts opts = {
        .schedule = ps_schedule_find("1f1b"),
        .params = {.n_stages = 4, .n_microbatches = 8},
        .times = {10000000, 20000000, 10000000, 30000000, 0},
        .n_steps = 2,
        .tp = 1,
        .cp = 1,
        .dp = 2,
        .slow_stage = 2,
        .slow_per_mille = 1500,
        .seed = 1,
    };
    ps_ascend_profile_counts counts;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_ascend_profile_write(dir, &opts, &counts, &err), PS_OK);
    const char *paths[] = {dir};
    ps_store_opts store = {.n_threads = 1};
    s->store = ps_store_new(paths, 1, &store, &err);
    assert_non_null(s->store);
    s->cache = ps_cache_new((size_t)64 << 20);
    assert_non_null(s->cache);
    ps_reply_init(&s->reply);
    *state = s;
    return 0;
}

static int tear_down(void **state) {
    served *s = *state;
    ps_reply_fini(&s->reply);
    ps_cache_free(s->cache);
    ps_store_free(s->store);
    place_remove(&s->place);
    free(s);
    return 0;
}

static const ps_route *route(const char *method, const char *path) {
    bool other = false;
    const ps_route *r = ps_route_find(method, path, &other);
    assert_non_null(r);
    return r;
}

static unsigned answer(served *s, const ps_route *r, const ps_request *q) {
    ps_reply_fini(&s->reply);
    ps_reply_init(&s->reply);
    r->answer(q, &s->reply);
    assert_true(ps_buf_ok(&s->reply.body));
    ps_err err = PS_ERR_INIT;
    s->json =
        strcmp(s->reply.content_type, "application/json") == 0
            ? ps_literal_parse(&s->reply.arena, ps_buf_str(&s->reply.body), s->reply.body.len, &err)
            : NULL;
    return s->reply.status;
}

/* "a=1&b=2" */
static unsigned get_chart(served *s, const char *query) {
    static char text[256];
    ps_request q = {.store = s->store, .cache = s->cache};
    (void)snprintf(text, sizeof text, "%s", query);
    char *rest = text;
    for (char *one = strsep(&rest, "&"); one != NULL && *one != '\0'; one = strsep(&rest, "&")) {
        char *value = strchr(one, '=');
        assert_non_null(value);
        *value = '\0';
        q.params[q.n_params++] = (ps_param){one, value + 1};
    }
    return answer(s, route("GET", "/api/chart"), &q);
}

static unsigned simulate(served *s, const char *body) {
    ps_request q = {.store = s->store, .cache = s->cache, .body = body, .body_len = strlen(body)};
    return answer(s, route("POST", "/api/simulate"), &q);
}

static int64_t number(const ps_literal *object, const char *name) {
    int64_t v = INT64_MIN;
    assert_true(ps_literal_int(ps_literal_get(object, name), &v));
    return v;
}

static const char *error(const served *s) {
    const char *text = ps_literal_str(ps_literal_get(s->json, "error"));
    assert_non_null(text);
    return text;
}

static size_t count(const ps_literal *array) {
    size_t n = 0;
    assert_non_null(array);
    for (const ps_literal *v = array->child; v != NULL; v = v->next) {
        n++;
    }
    return n;
}

/* --- the chart --------------------------------------------------------------------------------------------------- */

static void test_chart(void **state) {
    served *s = *state;
    assert_int_equal(get_chart(s, ""), 200);
    const ps_literal *chart = ps_literal_get(s->json, "chart");
    assert_string_equal(ps_literal_str(ps_literal_get(chart, "title")), "job");
    assert_string_equal(ps_literal_str(ps_literal_get(chart, "schedule")), "1f1b");
    assert_int_equal(count(ps_literal_get(chart, "ranks")), 8);
    assert_int_equal(number(ps_literal_get(s->json, "view"), "pipeline"), 0);
    assert_int_equal(ps_literal_get(s->json, "against")->kind, PS_LITERAL_NULL);
    assert_true(count(ps_literal_get(s->json, "tables")) >= 4);
    /* A place for each rank, which is a key of the store. */
    const ps_literal *places = ps_literal_get(s->json, "places");
    assert_int_equal(count(places), 8);
    for (const ps_literal *p = places->child; p != NULL; p = p->next) {
        const char *key = ps_literal_str(p->child);
        assert_true(ps_store_find(s->store, key, strlen(key)) != SIZE_MAX);
        assert_int_equal(p->child->next->integer, 0);
    }
}

static void test_chart_choices(void **state) {
    served *s = *state;
    assert_int_equal(get_chart(s, "step=2&pipeline=1"), 200);
    assert_int_equal(number(ps_literal_get(s->json, "view"), "step"), 2);
    assert_int_equal(number(ps_literal_get(s->json, "view"), "pipeline"), 1);
    assert_int_equal(get_chart(s, "against=gpipe&cluster=0"), 200);
    const ps_literal *against = ps_literal_get(s->json, "against");
    assert_string_equal(ps_literal_str(ps_literal_get(against, "schedule")), "gpipe");
    assert_int_equal(number(against, "n"), 4 * 16);
    /* What the user says of the job wins: all ranks in one pipeline. */
    assert_int_equal(get_chart(s, "pp=8&tp=1&dp=1"), 200);
    assert_non_null(strstr(ps_buf_str(&s->reply.body), "[7,7,0,1]"));
}

static void test_chart_files(void **state) {
    served *s = *state;
    assert_int_equal(get_chart(s, "format=svg&dark=1"), 200);
    assert_string_equal(s->reply.content_type, "image/svg+xml");
    assert_non_null(strstr(ps_buf_str(&s->reply.body), "<svg"));
    assert_non_null(s->reply.file_name);
    assert_int_equal(get_chart(s, "format=json"), 200);
    assert_non_null(s->json);
    assert_int_equal(get_chart(s, "format=html"), 200);
    assert_memory_equal(ps_buf_str(&s->reply.body), "<!DOCTYPE html>", 15);
}

static void test_chart_refused(void **state) {
    static const char *const QUERIES[][2] = {
        {"cluster=x", "cluster"},
        {"cluster=-1", "cluster"},
        {"against=none", "against"},
        {"order=pp", "order"},
        {"pp=0", "pp"},
        {"pp_type=none", "pp_type"},
        {"forward_re=(", "forward"},
        {"forward_re=((((a{255}){255}){255}){255})", "too large"},
        {"backward_re=a{99999999999999999999}", "too big"},
        {"microbatch_re=([0-9]+)", "microbatch_re"},
        {"format=xml", "format"},
        {"align=yes", "align"},
    };
    served *s = *state;
    for (size_t i = 0; i < sizeof QUERIES / sizeof *QUERIES; i++) {
        assert_int_equal(get_chart(s, QUERIES[i][0]), 400);
        assert_non_null(strstr(error(s), QUERIES[i][1]));
    }
    assert_int_equal(get_chart(s, "cluster=7"), 404);
    assert_int_equal(get_chart(s, "step=99"), 409);
    /* Rules that match nothing: no pipeline, and how to get one. */
    assert_int_equal(get_chart(s, "forward_re=nobody&backward_re=nothing"), 409);
    assert_non_null(strstr(error(s), "docs/marks.md"));
}

/* --- simulations ------------------------------------------------------------------------------------------------- */

/* docs/bubble.md: 1F1B, 4 x 8, F 10, B 20: 330 ms, 90 of them bubble. */
static void test_simulate(void **state) {
    served *s = *state;
    assert_int_equal(simulate(s, "{\"schedule\":\"1f1b\",\"stages\":4,\"microbatches\":8}"), 200);
    assert_int_equal(number(s->json, "step_ns"), 330000000);
    assert_string_equal(ps_literal_get(s->json, "bubble")->text, "0.272727");
    assert_string_equal(ps_literal_get(s->json, "activations")->text, "4.00");
    assert_int_equal(number(ps_literal_get(s->json, "chart"), "n"), 64);
    assert_int_equal(count(ps_literal_get(s->json, "tables")), 3);
    const ps_literal *used = ps_literal_get(s->json, "used");
    assert_int_equal(count(ps_literal_get(used, "times")), 4);
    assert_false(ps_literal_get(used, "splits")->boolean);
}

static void test_simulate_durations(void **state) {
    served *s = *state;
    /* Twice as fast in all is half of the step. */
    assert_int_equal(
        simulate(
            s,
            "{\"schedule\":\"1f1b\",\"stages\":4,\"microbatches\":8,\"factors\":[0.5,0.5,0.5,0.5]}"),
        200);
    assert_int_equal(number(s->json, "step_ns"), 165000000);
    assert_int_equal(
        simulate(
            s,
            "{\"schedule\":\"1f1b\",\"stages\":4,\"microbatches\":8,\"f_ns\":5000000,\"b_ns\":10000000}"),
        200);
    assert_int_equal(number(s->json, "step_ns"), 165000000);
    /* Latency on each of the six hops of the ramp, and in the steady part (docs/schedules.md, 1f1b). */
    assert_int_equal(
        simulate(s, "{\"schedule\":\"1f1b\",\"stages\":4,\"microbatches\":8,\"p2p_ns\":1000000}"),
        200);
    assert_int_equal(number(s->json, "step_ns"), 330000000 + 6000000 + 2 * 1000000 * (8 - 1 - 2));
    /* A stage by lines; what they do not say follows. */
    assert_int_equal(
        simulate(
            s,
            "{\"schedule\":\"zb-h1\",\"stages\":2,\"microbatches\":4,\"durations\":\"stage,kind,ns\\n1,F,20000000\\n1,B,40000000\\n\"}"),
        200);
    const ps_literal *times = ps_literal_get(ps_literal_get(s->json, "used"), "times");
    const ps_literal *second = times->child->next;
    assert_int_equal(second->child->integer, 20000000);
    assert_int_equal(second->child->next->integer, 40000000);
    assert_int_equal(second->child->next->next->integer, 20000000); /* W keeps its share of B */
    assert_int_equal(second->child->next->next->next->integer, 60000000);
}

static void test_simulate_measured(void **state) {
    served *s = *state;
    assert_int_equal(simulate(s, "{\"from\":{\"cluster\":0,\"step\":2,\"pipeline\":1}}"), 200);
    int64_t as_measured = number(s->json, "step_ns");
    const ps_literal *used = ps_literal_get(s->json, "used");
    assert_string_equal(ps_literal_str(ps_literal_get(used, "schedule")), "1f1b");
    assert_int_equal(number(used, "stages"), 4);
    assert_int_equal(number(used, "microbatches"), 8);
    const ps_literal *times = ps_literal_get(used, "times");
    assert_int_equal(times->child->child->integer, 10000000);
    assert_int_equal(times->child->next->next->child->integer, 15000000); /* the slow stage */
    /* The slow stage made as fast as the others: the step of the worked example. */
    assert_int_equal(
        simulate(s, "{\"from\":{\"step\":2},\"factors\":[1,1,0.6666666667,1],\"p2p_ns\":0}"), 200);
    assert_int_equal(number(s->json, "step_ns"), 330000000);
    assert_true(as_measured > 330000000);
    /* Theory: all stages as their mean, (10 + 10 + 15 + 10) / 4. */
    assert_int_equal(simulate(s, "{\"from\":{\"step\":2},\"balanced\":true}"), 200);
    assert_int_equal(number(s->json, "step_ns"), 33 * 11250000);
    /* A duration that is given is the mean; stages keep their proportions. */
    assert_int_equal(simulate(s, "{\"from\":{\"step\":2},\"f_ns\":22500000}"), 200);
    times = ps_literal_get(ps_literal_get(s->json, "used"), "times");
    assert_int_equal(times->child->child->integer, 20000000);
    assert_int_equal(times->child->next->next->child->integer, 30000000);
    /* Other numbers of stages share the same work. */
    assert_int_equal(
        simulate(s,
                 "{\"from\":{\"step\":2},\"stages\":2,\"microbatches\":4,\"schedule\":\"gpipe\"}"),
        200);
    times = ps_literal_get(ps_literal_get(s->json, "used"), "times");
    assert_int_equal(times->child->child->integer, 22500000);
    /* A picture of both. */
    assert_int_equal(
        simulate(s, "{\"from\":{\"step\":2},\"format\":\"svg\",\"schedule\":\"gpipe\"}"), 200);
    assert_string_equal(s->reply.content_type, "image/svg+xml");
}

static void test_simulate_every_schedule(void **state) {
    served *s = *state;
    for (const ps_schedule *const *of = ps_schedules(); *of != NULL; of++) {
        char body[128];
        (void)snprintf(body, sizeof body, "{\"schedule\":\"%s\",\"stages\":4,\"microbatches\":16}",
                       (*of)->name);
        assert_int_equal(simulate(s, body), 200);
        assert_true(number(s->json, "step_ns") > 0);
        (void)snprintf(body, sizeof body, "{\"from\":{\"step\":1},\"schedule\":\"%s\"}",
                       (*of)->name);
        assert_int_equal(simulate(s, body), 200);
    }
    assert_int_equal(simulate(s, "{\"csv\":\"0F0,0F1,,0B0,0B1\\n,1F0,1B0,1F1,1B1\"}"), 200);
    assert_int_equal(number(ps_literal_get(s->json, "chart"), "n"), 8);
}

static void test_simulate_refused(void **state) {
    static const char *const BODIES[][2] = {
        {"", ""},
        {"[1]", "object"},
        {"{", ""},
        {"{}", "schedule"},
        {"{\"schedule\":\"none\",\"stages\":2,\"microbatches\":2}", "no schedule"},
        {"{\"schedule\":\"1f1b\"}", "stages"},
        {"{\"schedule\":\"1f1b\",\"stages\":0,\"microbatches\":2}", "stages"},
        {"{\"schedule\":\"1f1b\",\"stages\":4097,\"microbatches\":2}", "stages"},
        {"{\"schedule\":\"1f1b\",\"stages\":2.5,\"microbatches\":2}", "stages"},
        {"{\"schedule\":\"1f1b\",\"stages\":4096,\"microbatches\":65536}", "ops"},
        {"{\"schedule\":\"dualpipev\",\"stages\":4,\"microbatches\":3}", "at least 2p"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"f_ns\":0}", "f_ns"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"f_ns\":99999999999}", "f_ns"},
        {"{\"schedule\":\"zb-h1\",\"stages\":2,\"microbatches\":2,\"w_ns\":20000000}", "weight"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"factors\":[1]}", "factors"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"factors\":[1,0]}", "factors"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"factors\":[1,\"2\"]}",
         "factors"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"tail\":\"x\"}", "tail"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"format\":\"x\"}", "format"},
        {"{\"schedule\":\"1f1b\",\"stages\":2,\"microbatches\":2,\"durations\":\"9,F,1\"}",
         "stage"},
        {"{\"csv\":\"0X0\"}", ""},
        {"{\"from\":5}", "from"},
        {"{\"from\":{\"pp_type\":\"none\"}}", "pp_type"},
    };
    served *s = *state;
    for (size_t i = 0; i < sizeof BODIES / sizeof *BODIES; i++) {
        if (simulate(s, BODIES[i][0]) != 400 || strstr(error(s), BODIES[i][1]) == NULL) {
            fail_msg("%s: %u %s", BODIES[i][0], s->reply.status, ps_buf_str(&s->reply.body));
        }
    }
    assert_int_equal(simulate(s, "{\"from\":{\"cluster\":3}}"), 404);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_chart_choices),
        cmocka_unit_test(test_chart_files),
        cmocka_unit_test(test_chart_refused),
        cmocka_unit_test(test_simulate),
        cmocka_unit_test(test_simulate_durations),
        cmocka_unit_test(test_simulate_measured),
        cmocka_unit_test(test_simulate_every_schedule),
        cmocka_unit_test(test_simulate_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

/* /api/chart, /api/simulate, /api/whatif and /api/plan as functions: a simulated cluster is written, served, asked. */
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

static int set_up_job(void **state, const ps_ascend_profile_opts *opts) {
    served *s = calloc(1, sizeof *s);
    assert_non_null(s);
    place_make(&s->place);
    const char *dir = place_path(&s->place, "job");
    ps_ascend_profile_counts counts;
    ps_err err = PS_ERR_INIT;
    assert_int_equal(ps_ascend_profile_write(dir, opts, &counts, &err), PS_OK);
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

/* 1F1B, 4 x 8, two pipelines, two steps; stage 2 takes half as long again. */
static int set_up(void **state) {
    const ps_ascend_profile_opts opts = {
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
    return set_up_job(state, &opts);
}

/* DualPipeV, 4 x 10, three steps whose ops differ by up to a fifth. */
static int set_up_uneven(void **state) {
    const ps_ascend_profile_opts opts = {
        .schedule = ps_schedule_find("dualpipev"),
        .params = {.n_stages = 4, .n_microbatches = 10},
        .times = {10000000, 20000000, 10000000, 26000000, 0},
        .n_steps = 3,
        .tp = 1,
        .cp = 1,
        .dp = 1,
        .slow_stage = 2,
        .slow_per_mille = 1300,
        .jitter_pct = 20,
        .seed = 1,
    };
    return set_up_job(state, &opts);
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

/* `query`: "a=1&b=2" */
static unsigned get_from(served *s, const char *path, const char *query) {
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
    return answer(s, route("GET", path), &q);
}

static unsigned get_chart(served *s, const char *query) {
    return get_from(s, "/api/chart", query);
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
        {"microbatch_re=([0-9]+)", "--microbatch-re"},
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
    assert_null(ps_literal_get(s->json, "replayed_ns"));
    assert_string_equal(ps_literal_get(s->json, "bubble")->text, "0.272727");
    assert_string_equal(ps_literal_get(s->json, "activations")->text, "4.00");
    assert_int_equal(number(ps_literal_get(s->json, "chart"), "n"), 64);
    assert_int_equal(count(ps_literal_get(s->json, "tables")), 3);
    const ps_literal *used = ps_literal_get(s->json, "used");
    assert_int_equal(count(ps_literal_get(used, "times")), 4);
    assert_false(ps_literal_get(used, "splits")->boolean);
}

/* Whoever has hung up has nothing computed. */
static void test_simulate_abandoned(void **state) {
    static const char BODY[] = "{\"schedule\":\"1f1b\",\"stages\":4,\"microbatches\":8}";
    served *s = *state;
    ps_watch watch = {0};
    ps_request q = {.store = s->store,
                    .cache = s->cache,
                    .watch = &watch,
                    .body = BODY,
                    .body_len = sizeof BODY - 1};
    assert_int_equal(answer(s, route("POST", "/api/simulate"), &q), 200);
    atomic_store(&watch.stop, true);
    assert_int_equal(answer(s, route("POST", "/api/simulate"), &q), 503);
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
    assert_int_equal(number(s->json, "replayed_ns"), as_measured);
    char bubble[32];
    (void)snprintf(bubble, sizeof bubble, "%s", ps_literal_get(s->json, "bubble")->text);
    assert_string_equal(ps_literal_get(s->json, "replayed_bubble")->text, bubble);
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
    /* What the body changes is no part of what it is compared with. */
    assert_int_equal(number(s->json, "replayed_ns"), as_measured);
    assert_string_equal(ps_literal_get(s->json, "replayed_bubble")->text, bubble);
    /* Theory: all stages as their mean, (10 + 10 + 15 + 10) / 4. */
    assert_int_equal(simulate(s, "{\"from\":{\"step\":2},\"balanced\":true}"), 200);
    assert_int_equal(number(s->json, "step_ns"), 33 * 11250000);
    /* A duration that is given is the mean; stages keep their proportions. */
    assert_int_equal(simulate(s, "{\"from\":{\"step\":2},\"f_ns\":22500000}"), 200);
    times = ps_literal_get(ps_literal_get(s->json, "used"), "times");
    assert_int_equal(times->child->child->integer, 20000000);
    assert_int_equal(times->child->next->next->child->integer, 30000000);
    /* What it is a change of stays known. */
    const ps_literal *measured = ps_literal_get(ps_literal_get(s->json, "used"), "measured");
    assert_int_equal(measured->child->integer, 11250000);
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

/* --- what if, and plans -------------------------------------------------------------------------------------------- */

static const ps_literal *table_called(const served *s, const char *name) {
    const ps_literal *tables = ps_literal_get(s->json, "tables");
    assert_non_null(tables);
    for (const ps_literal *t = tables->child; t != NULL; t = t->next) {
        if (strcmp(ps_literal_str(ps_literal_get(t, "name")), name) == 0) {
            return t;
        }
    }
    return NULL;
}

/* A cell of a row of a table. */
static const ps_literal *cell_of(const ps_literal *table, size_t row, const char *column) {
    assert_non_null(table);
    const ps_literal *r = ps_literal_get(table, "rows")->child;
    for (size_t i = 0; i < row; i++) {
        assert_non_null(r);
        r = r->next;
    }
    assert_non_null(r);
    const ps_literal *cell = r->child;
    for (const ps_literal *c = ps_literal_get(table, "columns")->child; c != NULL; c = c->next) {
        if (strcmp(ps_literal_str(c->child), column) == 0) {
            return cell;
        }
        cell = cell->next;
    }
    fail_msg("no column %s", column);
    return NULL;
}

static int64_t int_cell(const ps_literal *table, size_t row, const char *column) {
    int64_t v = INT64_MIN;
    assert_true(ps_literal_int(cell_of(table, row, column), &v));
    return v;
}

/* The theory of the schedule that ran is what the tables of the chart call ideal: one figure, whatever step it is asked from. */
static void test_theory_is_the_ideal(void **state) {
    served *s = *state;
    assert_int_equal(get_chart(s, "cluster=0"), 200);
    const ps_literal *steps = table_called(s, "PipelineStep");
    double ideal = atof(cell_of(steps, 0, "ideal")->begin);
    assert_true(ideal > 5 && ideal < 20);
    for (int step = 1; step <= 3; step++) {
        char body[128];
        (void)snprintf(body, sizeof body,
                       "{\"schedule\":\"dualpipev\",\"from\":{\"step\":%d,\"pipeline\":0},"
                       "\"balanced\":true}",
                       step);
        assert_int_equal(simulate(s, body), 200);
        double theory = 100 * atof(ps_literal_get(s->json, "bubble")->begin);
        assert_true(theory > ideal - 0.001 && theory < ideal + 0.001);
    }
}

/* The slow stage is the cause, and the step without it is the same in the list of repairs and as the answer to the question. */
static void test_whatif(void **state) {
    served *s = *state;
    assert_int_equal(get_from(s, "/api/whatif", ""), 200);
    const ps_literal *job = table_called(s, "whatif");
    assert_int_equal(int_cell(job, 0, "workers"), 8);
    assert_int_equal(int_cell(job, 0, "steps"), 2);
    const ps_literal *causes = table_called(s, "whatif_causes");
    assert_string_equal(ps_literal_str(cell_of(causes, 0, "cause")), "stage split");
    assert_string_equal(ps_literal_str(cell_of(causes, 0, "holds")), "yes");
    assert_null(table_called(s, "whatif_answer"));
    assert_int_equal(count(ps_literal_get(s->json, "sentences")), 1); /* it is a chart */
    const ps_literal *repairs = table_called(s, "whatif_repairs");
    assert_string_equal(ps_literal_str(cell_of(repairs, 0, "repair")), "stage 2");
    int64_t step_ns = int_cell(repairs, 0, "step");
    int64_t replayed_ns = int_cell(job, 0, "no_delay");
    assert_true(step_ns < replayed_ns);
    assert_int_equal(get_from(s, "/api/whatif", "without=stage=2"), 200);
    const ps_literal *answer = table_called(s, "whatif_answer");
    assert_int_equal(int_cell(answer, 0, "step"), step_ns);
    assert_int_equal(int_cell(answer, 0, "gain"), replayed_ns - step_ns);
    /* All ops of a stage three times as long: the step is longer, too. */
    assert_int_equal(get_from(s, "/api/whatif", "scale=stage=0:3"), 200);
    assert_true(int_cell(table_called(s, "whatif_answer"), 0, "gain") < 0);
    assert_int_equal(get_from(s, "/api/whatif", "without=stage=9"), 400);
    assert_non_null(strstr(error(s), "no such worker"));
    assert_int_equal(get_from(s, "/api/whatif", "cluster=3"), 404);
}

static void test_whatif_timeline(void **state) {
    served *s = *state;
    assert_int_equal(get_from(s, "/api/whatif", "format=pftrace"), 200);
    assert_string_equal(s->reply.file_name, "whatif.pftrace");
    assert_true(s->reply.body.len > 1000);
    assert_int_equal(ps_buf_str(&s->reply.body)[0], 0x0a); /* a packet of a Perfetto trace */
}

static void test_plan(void **state) {
    served *s = *state;
    assert_int_equal(get_from(s, "/api/plan", ""), 400);
    assert_non_null(strstr(error(s), "layers"));
    assert_int_equal(get_from(s, "/api/plan", "layers=8,8,8,8"), 200);
    const ps_literal *plan = table_called(s, "plan");
    assert_true(int_cell(plan, 0, "step_planned") < int_cell(plan, 0, "step_now"));
    const ps_literal *stages = table_called(s, "plan_stages");
    int64_t layers = 0;
    for (size_t i = 0; i < 4; i++) {
        layers += int_cell(stages, i, "layers planned");
    }
    assert_int_equal(layers, 32);
    assert_true(int_cell(stages, 2, "layers planned") < 8);
    assert_true(count(ps_literal_get(s->json, "sentences")) >= 3);
    const ps_literal *schedules = table_called(s, "plan_schedules");
    assert_int_equal(int_cell(schedules, 0, "number"), 0);
    assert_int_equal(int_cell(schedules, 1, "number"), 1);
    assert_true(int_cell(schedules, 1, "step") <= int_cell(plan, 0, "step_planned"));
    assert_int_equal(get_from(s, "/api/plan", "layers=8,8"), 400);
    assert_int_equal(get_from(s, "/api/plan", "layers=8,8,8,8&row=500"), 400);
    assert_int_equal(get_from(s, "/api/plan", "layers=8,8,8,8&memory=500"), 400);
    assert_non_null(strstr(error(s), "no memory of its ranks is recorded"));
    assert_int_equal(
        get_from(s, "/api/plan",
                 "layers=8,8,8,8&row=2&memory=50000&activation_bytes=1000&layer_bytes=10"),
        200);
    assert_int_equal(int_cell(table_called(s, "plan_schedule_stages"), 0, "number"), 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_chart),
        cmocka_unit_test(test_chart_choices),
        cmocka_unit_test(test_chart_files),
        cmocka_unit_test(test_chart_refused),
        cmocka_unit_test(test_simulate),
        cmocka_unit_test(test_simulate_abandoned),
        cmocka_unit_test(test_simulate_durations),
        cmocka_unit_test(test_simulate_measured),
        cmocka_unit_test_setup_teardown(test_theory_is_the_ideal, set_up_uneven, tear_down),
        cmocka_unit_test(test_simulate_every_schedule),
        cmocka_unit_test(test_simulate_refused),
        cmocka_unit_test(test_whatif),
        cmocka_unit_test(test_whatif_timeline),
        cmocka_unit_test(test_plan),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}

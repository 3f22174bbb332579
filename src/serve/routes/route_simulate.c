/* POST /api/simulate: one step of a schedule (analyze/pipeline/simulated_step.h), with durations that are given or were
 * measured in a step of a cluster; drawn alone, or against that step. */
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/simulated_step.h"
#include "base/literal.h"
#include "serve/cluster/pipelines.h"
#include "serve/http/body_ask.h"
#include "serve/http/route.h"
#include "write/chart/chart_page.h"
#include "write/chart/chart_rows.h"
#include "write/chart/chart_svg.h"

#define MIN_FACTOR 0.01
#define MAX_FACTOR 100.0

typedef struct asked {
    const ps_literal *body;
    ps_simulated_ask of;
    bool has_from, as_svg, dark;
    ps_pipelines_ask from;
} asked;

/* --- what is asked ----------------------------------------------------------------------------------------------- */

static ps_code get_int(const ps_literal *o, const char *name, int64_t least, int64_t most,
                       int64_t fallback, int64_t *out, ps_err *err) {
    const ps_literal *v = ps_literal_get(o, name);
    *out = fallback;
    if (v == NULL || v->kind == PS_LITERAL_NULL) {
        return PS_OK;
    }
    if (v->kind != PS_LITERAL_INT || v->integer < least || v->integer > most) {
        return ps_fail(err, PS_USAGE, "%s: a whole number from %lld to %lld", name,
                       (long long)least, (long long)most);
    }
    *out = v->integer;
    return PS_OK;
}

static ps_code get_text(const ps_literal *o, const char *name, const char **out, ps_err *err) {
    const ps_literal *v = ps_literal_get(o, name);
    *out = ps_literal_str(v);
    return v == NULL || v->kind == PS_LITERAL_NULL || *out != NULL
               ? PS_OK
               : ps_fail(err, PS_USAGE, "%s: a text", name);
}

static ps_code get_flag(const ps_literal *o, const char *name, bool *out, ps_err *err) {
    const ps_literal *v = ps_literal_get(o, name);
    *out = v != NULL && v->kind == PS_LITERAL_BOOL && v->boolean;
    return v == NULL || v->kind == PS_LITERAL_NULL || v->kind == PS_LITERAL_BOOL
               ? PS_OK
               : ps_fail(err, PS_USAGE, "%s: true or false", name);
}

/* Of member `from`: which chart, as /api/chart takes it. False with the reply filled. */
static bool ask_from(const ps_request *q, ps_reply *r, asked *a) {
    const ps_request *from = ps_body_as_params(q, r, ps_literal_get(a->body, "from"));
    return from != NULL && ps_pipelines_ask_of(from, r, 0, &a->from) &&
           ps_pipelines_ask_drawn(from, r, &a->of.step, &a->of.pipeline);
}

static ps_code read_shape(asked *a, ps_err *err) {
    const ps_literal *o = a->body;
    ps_schedule_params *shape = &a->of.params;
    const char *name = NULL;
    const char *tail = NULL;
    const struct {
        const char *name;
        int32_t most;
        int32_t *out;
    } numbers[] = {{"stages", PS_MAX_STAGES, &shape->n_stages},
                   {"microbatches", PS_MAX_MICROBATCHES, &shape->n_microbatches},
                   {"chunks", PS_MAX_CHUNKS, &shape->n_chunks},
                   {"group", PS_MAX_MICROBATCHES, &shape->group}};
    ps_code code = get_text(o, "schedule", &name, err);
    code = code == PS_OK ? get_text(o, "csv", &a->of.csv, err) : code;
    code = code == PS_OK ? get_text(o, "tail", &tail, err) : code;
    for (size_t i = 0; code == PS_OK && i < sizeof numbers / sizeof *numbers; i++) {
        int64_t value = 0;
        code = get_int(o, numbers[i].name, 1, numbers[i].most, 0, &value, err);
        *numbers[i].out = (int32_t)value;
    }
    code = code == PS_OK ? get_flag(o, "overlap", &shape->overlap, err) : code;
    if (code != PS_OK) {
        return code;
    }
    a->of.has_chunks = shape->n_chunks > 0;
    shape->tail_full = tail != NULL && strcmp(tail, "full") == 0;
    if (tail != NULL && !shape->tail_full && strcmp(tail, "split") != 0) {
        return ps_fail(err, PS_USAGE, "tail: split or full");
    }
    if (name != NULL && (a->of.schedule = ps_schedule_find(name)) == NULL) {
        return ps_fail(err, PS_USAGE, "schedule: there is no schedule '%.64s'", name);
    }
    return PS_OK;
}

static ps_code read_factors(asked *a, ps_arena *arena, ps_err *err) {
    const ps_literal *list = ps_literal_get(a->body, "factors");
    if (list == NULL || list->kind == PS_LITERAL_NULL) {
        return PS_OK;
    }
    size_t n = 0;
    for (const ps_literal *v = list->child; list->kind == PS_LITERAL_ARRAY && v != NULL;
         v = v->next) {
        n++;
    }
    double *factors = ps_arena_alloc(arena, (n + 1) * sizeof *factors);
    if (factors == NULL) {
        return ps_fail_nomem(err);
    }
    for (const ps_literal *v = list->child; a->of.n_factors < n; v = v->next) {
        double f = v->kind == PS_LITERAL_INT      ? (double)v->integer
                   : v->kind == PS_LITERAL_NUMBER ? strtod(v->text, NULL)
                                                  : 0;
        if (!(f >= MIN_FACTOR && f <= MAX_FACTOR)) {
            return ps_fail(err, PS_USAGE, "factors: numbers from %g to %g", MIN_FACTOR, MAX_FACTOR);
        }
        factors[a->of.n_factors++] = f;
    }
    a->of.factors = factors;
    return n > 0 ? PS_OK
                 : ps_fail(err, PS_USAGE, "factors: a list of numbers, one for each of the stages");
}

static ps_code read_asked(asked *a, ps_arena *arena, ps_err *err) {
    const ps_literal *o = a->body;
    if (o->kind != PS_LITERAL_OBJECT) {
        return ps_fail(err, PS_USAGE, "the body is a JSON object (docs/serve-api.md)");
    }
    a->of.step = PS_FIRST_STEP;
    a->of.pipeline = -1;
    const ps_literal *from = ps_literal_get(o, "from");
    a->has_from = from != NULL && from->kind != PS_LITERAL_NULL;
    if (a->has_from && from->kind != PS_LITERAL_OBJECT) {
        return ps_fail(err, PS_USAGE, "from: an object with cluster, step and pipeline");
    }
    const char *format = NULL;
    ps_code code = read_shape(a, err);
    const struct {
        const char *name;
        int64_t least;
        int64_t *out;
    } times[] = {{"f_ns", 1, &a->of.given.f_ns},
                 {"b_ns", 1, &a->of.given.b_ns},
                 {"w_ns", 1, &a->of.given.w_ns},
                 {"fb_ns", 1, &a->of.given.fb_ns},
                 {"p2p_ns", 0, &a->of.p2p_ns}};
    for (size_t i = 0; code == PS_OK && i < sizeof times / sizeof *times; i++) {
        code = get_int(o, times[i].name, times[i].least, PS_SIMULATED_MOST_OP_NS,
                       PS_SIMULATED_NOT_GIVEN, times[i].out, err);
    }
    code = code == PS_OK ? get_text(o, "durations", &a->of.durations, err) : code;
    code = code == PS_OK ? get_text(o, "format", &format, err) : code;
    code = code == PS_OK ? get_flag(o, "balanced", &a->of.balanced, err) : code;
    code = code == PS_OK ? get_flag(o, "dark", &a->dark, err) : code;
    code = code == PS_OK ? read_factors(a, arena, err) : code;
    if (code != PS_OK) {
        return code;
    }
    a->as_svg = format != NULL && strcmp(format, "svg") == 0;
    if (format != NULL && !a->as_svg && strcmp(format, "page") != 0) {
        return ps_fail(err, PS_USAGE, "format: page or svg");
    }
    if (a->of.schedule == NULL && a->of.csv == NULL && !a->has_from) {
        return ps_fail(err, PS_USAGE, "schedule: name one, or measure one with from");
    }
    if (!a->has_from && a->of.csv == NULL &&
        (a->of.params.n_stages == 0 || a->of.params.n_microbatches == 0)) {
        return ps_fail(err, PS_USAGE, "stages and microbatches: say how many there are");
    }
    return PS_OK;
}

/* --- what is answered -------------------------------------------------------------------------------------------- */

static void put_op_times(const ps_op_times *t, ps_json *j) {
    ps_json_array(j);
    ps_json_int(j, t->f_ns);
    ps_json_int(j, t->b_ns);
    ps_json_int(j, t->w_ns);
    ps_json_int(j, t->fb_ns);
    ps_json_close(j);
}

/* "used":{...}: what the form shows. Times of a stage are those before its factor. */
static void put_used(const ps_simulated_step *s, ps_json *j) {
    const ps_schedule *schedule = s->plan->schedule;
    ps_json_line(j, 0);
    ps_json_key_object(j, "used");
    ps_json_key_str(j, "schedule", schedule != NULL ? schedule->name : "");
    ps_json_key_int(j, "stages", s->plan->params.n_stages);
    ps_json_key_int(j, "microbatches", s->plan->params.n_microbatches);
    ps_json_key_int(j, "chunks", s->plan->lists.n_chunks);
    ps_json_key_int(j, "pieces", s->pieces);
    ps_json_key_int(j, "p2p_ns", s->p2p_ns);
    ps_json_key_bool(j, "splits", ps_sim_uses(s->plan, PS_OP_BI));
    ps_json_key_bool(j, "pairs", ps_sim_uses(s->plan, PS_OP_FB));
    ps_json_key_int(j, "measured_p2p_ns", s->measured_p2p_ns);
    ps_json_key(j, "measured");
    put_op_times(&s->measured, j);
    ps_json_key_array(j, "times");
    for (int32_t d = 0; d < s->plan->params.n_stages; d++) {
        put_op_times(&s->times[d], j);
    }
    ps_json_close(j);
    ps_json_close(j);
}

static ps_code put_simulation_page(const ps_simulated_step *s, ps_buf *out, ps_err *err) {
    const ps_table *tables[] = {s->tables[0], s->tables[1], s->tables[2]};
    ps_chart_page page = {.chart = s->chart,
                          .tables = tables,
                          .n_tables = sizeof tables / sizeof *tables,
                          .step = PS_FIRST_STEP,
                          .pipeline = -1};
    ps_code code = ps_chart_choose(page.chart, &page.step, &page.pipeline, err);
    if (code != PS_OK) {
        return code;
    }
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_key_int(&j, "step_ns", s->step_ns);
    if (s->replayed_ns != PS_UNKNOWN_INT) {
        ps_json_key_int(&j, "replayed_ns", s->replayed_ns);
        ps_json_key_numberf(&j, "replayed_bubble", "%.6f", s->replayed_bubble_percent / 100);
    }
    ps_json_key_numberf(&j, "bubble", "%.6f", s->bubble_percent / 100);
    ps_json_key_numberf(&j, "activations", "%.2f", s->activations);
    ps_json_line(&j, 0);
    code = ps_page_put_chart(&page, &j, err);
    put_used(s, &j);
    ps_json_close(&j);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

/* The measured step with the simulated one below it; without a measured one the simulated one alone. */
static ps_code put_svg(const asked *a, const ps_simulated_step *s, ps_reply *r, ps_err *err) {
    ps_chart_svg_opts opts = {.step = a->has_from ? a->of.step : PS_FIRST_STEP,
                              .pipeline = a->has_from ? a->of.pipeline : -1,
                              .dark = a->dark};
    r->content_type = "image/svg+xml";
    r->file_name = "pipeline.svg";
    return ps_write_chart_svg(a->has_from ? a->of.measured : s->chart,
                              a->has_from ? s->chart : NULL, &opts, &r->body, err);
}

static void answer_simulation(const ps_request *q, ps_reply *r) {
    asked a = {.of.watch = q->watch};
    const ps_pipelines *measured = NULL;
    ps_simulated_step s = {0};
    ps_err err = PS_ERR_INIT;
    a.body = ps_literal_parse(&r->arena, q->body != NULL ? q->body : "", q->body_len, &err);
    ps_code code = a.body != NULL ? read_asked(&a, &r->arena, &err) : err.code;
    if (code == PS_SYNTAX) {
        code = err.code = PS_USAGE;
    }
    if (code == PS_OK && a.has_from && !ask_from(q, r, &a)) {
        return;
    }
    if (code == PS_OK && a.has_from) {
        code = ps_pipelines_get(q, &a.from, &measured, &err);
        a.of.measured = code == PS_OK ? measured->chart : NULL;
    }
    code = code == PS_OK ? ps_simulate_step(&a.of, &s, &err) : code;
    if (code == PS_OK) {
        s.chart->lang = ps_param_lang(q); /* its notes */
        code = a.as_svg ? put_svg(&a, &s, r, &err) : put_simulation_page(&s, &r->body, &err);
    }
    if (code != PS_OK) {
        r->file_name = NULL;
        ps_reply_err(r, &err);
    }
    ps_simulated_step_fini(&s);
    ps_cache_release(q->cache, (void *)(uintptr_t)measured);
}

const ps_route ps_route_simulate = {.path = "/api/simulate",
                                    .method = "POST",
                                    .is_slow = true,
                                    .max_body = PS_REQUEST_MAX_BODY,
                                    .answer = answer_simulation};

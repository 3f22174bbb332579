/* POST /api/simulate: one step of a schedule, with durations that are given or were measured in a step of a cluster; drawn
 * alone, or against that step.
 *
 * Durations are those of one op on one device. Of a stage s and kind k:
 *
 *   measured (replay.h) or given for all  ->  scaled so that the mean over stages is what was given
 *   -> what a line of "durations" says of (s, k)  -> times factors[s]
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/replay.h"
#include "base/alloc.h"
#include "base/literal.h"
#include "base/num.h"
#include "schedule/connect.h"
#include "schedule/csv.h"
#include "schedule/durations.h"
#include "schedule/schedule.h"
#include "schedule/sim.h"
#include "serve/cluster/pipelines.h"
#include "serve/http/route.h"
#include "write/chart/chart_page.h"
#include "write/chart/chart_svg.h"

#define DEFAULT_F_NS 10000000
#define DEFAULT_B_NS 20000000
#define MAX_OP_NS INT64_C(10000000000) /* 10 s */
#define MIN_FACTOR 0.01
#define MAX_FACTOR 100.0
#define NOT_GIVEN (-1)

/* Of one op on one stage. */
typedef struct op_times {
    int64_t f_ns, b_ns, w_ns, fb_ns;
} op_times;

typedef struct asked {
    const ps_literal *body;
    const ps_schedule *schedule; /* NULL: of the measured step, or `csv` */
    const char *csv;             /* a schedule as PyTorch writes it, or NULL */
    ps_schedule_params params;   /* stages and microbatches 0: as measured */
    bool has_chunks;
    bool has_from, balanced, as_svg, dark;
    ps_pipelines_ask from;
    int64_t step;
    int32_t pipeline;
    op_times given; /* NOT_GIVEN */
    int64_t p2p_ns;
    const char *durations; /* lines, or NULL */
} asked;

/* What an answer is made of; released by simulation_fini(). */
typedef struct simulation {
    const ps_pipelines *measured; /* or NULL */
    ps_sim_plan *plan;
    op_times *times; /* [n_stages] before factors */
    double *factors; /* [n_stages] */
    int64_t p2p_ns;
    ps_chart *chart;
    ps_bubble_report report;
    ps_table *tables[3];
} simulation;

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

static ps_code get_int32(const ps_literal *o, const char *name, int32_t most, int32_t *out,
                         ps_err *err) {
    int64_t value = 0;
    ps_code code = get_int(o, name, 1, most, 0, &value, err);
    *out = (int32_t)value;
    return code;
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

/* The parameters of /api/chart, as members. */
static ps_code read_from(const ps_literal *from, asked *a, ps_err *err) {
    if (from == NULL || from->kind == PS_LITERAL_NULL) {
        return PS_OK;
    }
    if (from->kind != PS_LITERAL_OBJECT) {
        return ps_fail(err, PS_USAGE, "from: an object with cluster, step and pipeline");
    }
    int64_t cluster = 0;
    int64_t pipeline = -1;
    ps_code code = get_int(from, "cluster", 0, INT32_MAX, 0, &cluster, err);
    a->from = ps_pipelines_ask_init((size_t)cluster);
    a->has_from = true;
    ps_analysis_opts *o = &a->from.opts;
    const struct {
        const char *name;
        int64_t most;
        int64_t *out;
    } numbers[] = {{"pp", PS_MAX_STAGES, &o->pp},
                   {"tp", 1 << 20, &o->tp},
                   {"cp", 1 << 20, &o->cp},
                   {"dp", 1 << 20, &o->dp},
                   {"microbatches", PS_MAX_MICROBATCHES, &o->n_microbatches},
                   {"max_activations", 1 << 30, &o->max_activations}};
    for (size_t i = 0; code == PS_OK && i < sizeof numbers / sizeof *numbers; i++) {
        code = get_int(from, numbers[i].name, 1, numbers[i].most, 0, numbers[i].out, err);
    }
    const struct {
        const char *name;
        const char **out;
    } texts[] = {{"pp_type", &o->pp_type},
                 {"forward_re", &o->forward_re},
                 {"backward_re", &o->backward_re},
                 {"microbatch_re", &o->microbatch_re}};
    for (size_t i = 0; code == PS_OK && i < sizeof texts / sizeof *texts; i++) {
        code = get_text(from, texts[i].name, texts[i].out, err);
    }
    const char *order = NULL;
    code = code == PS_OK ? get_text(from, "order", &order, err) : code;
    o->order_given = order != NULL;
    if (code == PS_OK && order != NULL && !ps_layout_find(order, &o->layout)) {
        return ps_fail(err, PS_USAGE, "no order of ranks is called '%.40s'", order);
    }
    code = code == PS_OK ? get_flag(from, "align", &o->align, err) : code;
    code = code == PS_OK
               ? get_int(from, "step", INT64_MIN + 1, INT64_MAX, PS_FIRST_STEP, &a->step, err)
               : code;
    code = code == PS_OK ? get_int(from, "pipeline", 0, INT32_MAX, -1, &pipeline, err) : code;
    a->pipeline = (int32_t)pipeline;
    return code == PS_OK ? ps_pipelines_check(&a->from, err) : code;
}

static ps_code read_shape(asked *a, ps_err *err) {
    const ps_literal *o = a->body;
    const char *name = NULL;
    const char *tail = NULL;
    ps_code code = get_text(o, "schedule", &name, err);
    code = code == PS_OK ? get_text(o, "csv", &a->csv, err) : code;
    code = code == PS_OK ? get_text(o, "tail", &tail, err) : code;
    code = code == PS_OK ? get_int32(o, "stages", PS_MAX_STAGES, &a->params.n_stages, err) : code;
    code = code == PS_OK
               ? get_int32(o, "microbatches", PS_MAX_MICROBATCHES, &a->params.n_microbatches, err)
               : code;
    code = code == PS_OK ? get_int32(o, "chunks", PS_MAX_CHUNKS, &a->params.n_chunks, err) : code;
    code = code == PS_OK ? get_int32(o, "group", PS_MAX_MICROBATCHES, &a->params.group, err) : code;
    code = code == PS_OK ? get_flag(o, "overlap", &a->params.overlap, err) : code;
    if (code != PS_OK) {
        return code;
    }
    a->has_chunks = a->params.n_chunks > 0;
    a->params.tail_full = tail != NULL && strcmp(tail, "full") == 0;
    if (tail != NULL && !a->params.tail_full && strcmp(tail, "split") != 0) {
        return ps_fail(err, PS_USAGE, "tail: split or full");
    }
    if (name != NULL && (a->schedule = ps_schedule_find(name)) == NULL) {
        return ps_fail(err, PS_USAGE, "schedule: there is no schedule '%.64s'", name);
    }
    return PS_OK;
}

static ps_code read_asked(asked *a, ps_err *err) {
    const ps_literal *o = a->body;
    if (o->kind != PS_LITERAL_OBJECT) {
        return ps_fail(err, PS_USAGE, "the body is a JSON object (docs/serve-api.md)");
    }
    a->step = PS_FIRST_STEP;
    a->pipeline = -1;
    const char *format = NULL;
    ps_code code = read_shape(a, err);
    code = code == PS_OK ? read_from(ps_literal_get(o, "from"), a, err) : code;
    const struct {
        const char *name;
        int64_t least;
        int64_t *out;
    } times[] = {{"f_ns", 1, &a->given.f_ns},
                 {"b_ns", 1, &a->given.b_ns},
                 {"w_ns", 1, &a->given.w_ns},
                 {"fb_ns", 1, &a->given.fb_ns},
                 {"p2p_ns", 0, &a->p2p_ns}};
    for (size_t i = 0; code == PS_OK && i < sizeof times / sizeof *times; i++) {
        code = get_int(o, times[i].name, times[i].least, MAX_OP_NS, NOT_GIVEN, times[i].out, err);
    }
    code = code == PS_OK ? get_text(o, "durations", &a->durations, err) : code;
    code = code == PS_OK ? get_text(o, "format", &format, err) : code;
    code = code == PS_OK ? get_flag(o, "balanced", &a->balanced, err) : code;
    code = code == PS_OK ? get_flag(o, "dark", &a->dark, err) : code;
    if (code != PS_OK) {
        return code;
    }
    a->as_svg = format != NULL && strcmp(format, "svg") == 0;
    if (format != NULL && !a->as_svg && strcmp(format, "page") != 0) {
        return ps_fail(err, PS_USAGE, "format: page or svg");
    }
    if (a->schedule == NULL && a->csv == NULL && !a->has_from) {
        return ps_fail(err, PS_USAGE, "schedule: name one, or measure one with from");
    }
    if (!a->has_from && a->csv == NULL &&
        (a->params.n_stages == 0 || a->params.n_microbatches == 0)) {
        return ps_fail(err, PS_USAGE, "stages and microbatches: say how many there are");
    }
    return PS_OK;
}

/* --- the plan and its durations ---------------------------------------------------------------------------------- */

/* What was measured says what was not asked for. */
static void take_over(asked *a, const ps_recognised *r) {
    ps_schedule_params *p = &a->params;
    bool same = a->schedule == NULL || a->schedule == r->schedule;
    a->schedule = a->schedule != NULL ? a->schedule : r->schedule;
    p->n_stages = p->n_stages > 0 ? p->n_stages : r->params.n_stages;
    p->n_microbatches = p->n_microbatches > 0 ? p->n_microbatches : r->params.n_microbatches;
    if (same && !a->has_chunks) {
        p->n_chunks = r->params.n_chunks;
        p->group = p->group > 0 ? p->group : r->params.group;
        p->overlap = p->overlap || r->params.overlap;
        p->tail_full = p->tail_full || r->params.tail_full;
        p->pairs_apart = r->params.pairs_apart;
    } else if (!a->has_chunks && (a->schedule->takes & PS_TAKES_CHUNKS) != 0) {
        p->n_chunks = 2;
    }
}

static ps_code make_plan(asked *a, simulation *s, ps_err *err) {
    if (a->csv != NULL) {
        ps_lists lists;
        ps_code code = ps_lists_parse_csv(&lists, "csv", a->csv, strlen(a->csv), err);
        s->plan = code == PS_OK ? ps_sim_plan_of_lists(&lists, err) : NULL;
    } else if (a->schedule->check(&a->params, err) == PS_OK) {
        s->plan = ps_sim_plan_new(a->schedule, &a->params, err);
    }
    if (s->plan == NULL) {
        return err->code == PS_SYNTAX || err->code == PS_UNSUPPORTED ? (err->code = PS_USAGE)
                                                                     : err->code;
    }
    a->params = s->plan->params;
    return PS_OK;
}

/* Ops that the work of a stage for one microbatch is cut into. */
static int32_t pieces(const ps_sim_plan *plan) {
    if (plan->schedule == NULL) {
        return plan->lists.n_chunks;
    }
    int32_t chains = plan->schedule->n_chains > 0 ? plan->schedule->n_chains : 1;
    return ps_schedule_chunks(plan->schedule, &plan->params) / chains;
}

static ps_code measured_times(const asked *a, simulation *s, const ps_recognised *r, ps_err *err) {
    ps_measured_times m = {0};
    int32_t n_stages = a->params.n_stages;
    ps_code code = ps_measure_times(s->measured->chart, r, a->step, a->pipeline, &m, err);
    if (code == PS_OK && a->balanced) {
        ps_measured_times_balance(&m);
    }
    if (code == PS_OK && n_stages != m.n_stages && !ps_measured_times_spread(&m, n_stages)) {
        code = ps_fail_nomem(err);
    }
    for (int32_t d = 0, n = pieces(s->plan); code == PS_OK && d < n_stages; d++) {
        const ps_stage_times *of = &m.stages[d];
        int64_t both = of->f_ns / n + of->b_ns / n;
        s->times[d] = (op_times){of->f_ns / n, of->b_ns / n, of->w_ns / n,
                                 (int64_t)((double)both * (double)m.pair_per_mille / 1000.0)};
    }
    s->p2p_ns = a->balanced ? 0 : m.p2p_ns;
    ps_measured_times_fini(&m);
    return code;
}

static void usual_times(const asked *a, simulation *s) {
    op_times t = {.f_ns = a->given.f_ns > 0 ? a->given.f_ns : DEFAULT_F_NS,
                  .b_ns = a->given.b_ns > 0 ? a->given.b_ns : DEFAULT_B_NS};
    t.w_ns = t.b_ns / 2;
    t.fb_ns = t.f_ns + t.b_ns;
    for (int32_t d = 0; d < a->params.n_stages; d++) {
        s->times[d] = t;
    }
}

static int64_t simulation_scaled(int64_t ns, double by) {
    double v = round((double)ns * by);
    return v < 1 ? (ns > 0 ? 1 : 0) : v > (double)MAX_OP_NS ? MAX_OP_NS : (int64_t)v;
}

/* Brings the mean over stages to what was given; stages keep their proportions. Pairs and weight gradients follow. */
static void apply_given(const asked *a, simulation *s) {
    const op_times *g = &a->given;
    int32_t n = a->params.n_stages;
    double f = 0;
    double b = 0;
    double w = 0;
    double fb = 0;
    for (int32_t d = 0; d < n; d++) {
        f += (double)s->times[d].f_ns / n;
        b += (double)s->times[d].b_ns / n;
        w += (double)s->times[d].w_ns / n;
        fb += (double)s->times[d].fb_ns / n;
    }
    double by_f = g->f_ns > 0 && f > 0 ? (double)g->f_ns / f : 1;
    double by_b = g->b_ns > 0 && b > 0 ? (double)g->b_ns / b : 1;
    double by_w = g->w_ns > 0 && w > 0 ? (double)g->w_ns / w : by_b;
    for (int32_t d = 0; d < n; d++) {
        op_times *t = &s->times[d];
        int64_t apart = t->f_ns + t->b_ns;
        t->f_ns = simulation_scaled(t->f_ns, by_f);
        t->b_ns = simulation_scaled(t->b_ns, by_b);
        t->w_ns = simulation_scaled(t->w_ns, by_w);
        double by_fb = g->fb_ns > 0 && fb > 0 ? (double)g->fb_ns / fb
                       : apart > 0            ? (double)(t->f_ns + t->b_ns) / (double)apart
                                              : 1;
        t->fb_ns = simulation_scaled(t->fb_ns, by_fb);
    }
}

/* What lines of stages and kinds say; what they do not follows from what they do. */
static ps_code apply_lines(const asked *a, simulation *s, ps_err *err) {
    ps_durations d = {0};
    if (a->durations == NULL || a->durations[0] == '\0') {
        return PS_OK;
    }
    ps_code code = ps_durations_parse_csv(&d, "durations", a->durations, strlen(a->durations),
                                          a->params.n_stages, err);
    for (int32_t stage = 0; code == PS_OK && stage < a->params.n_stages; stage++) {
        const int64_t *ns = d.ns + (size_t)stage * PS_N_OP_KINDS;
        op_times *t = &s->times[stage];
        op_times was = *t;
        double pair =
            was.f_ns + was.b_ns > 0 ? (double)was.fb_ns / ((double)was.f_ns + (double)was.b_ns) : 1;
        t->f_ns = ns[PS_OP_F] >= 0 ? ns[PS_OP_F] : t->f_ns;
        if (ns[PS_OP_B] >= 0) {
            t->b_ns = ns[PS_OP_B];
        } else if (ns[PS_OP_BI] >= 0) {
            t->b_ns = ns[PS_OP_BI] + (ns[PS_OP_BW] >= 0 ? ns[PS_OP_BW] : was.w_ns);
        }
        t->w_ns = ns[PS_OP_BW] >= 0   ? ns[PS_OP_BW]
                  : ns[PS_OP_BI] >= 0 ? t->b_ns - ns[PS_OP_BI]
                  : was.b_ns > 0 ? simulation_scaled(was.w_ns, (double)t->b_ns / (double)was.b_ns)
                                 : t->b_ns / 2;
        t->fb_ns = ns[PS_OP_FB] >= 0 ? ns[PS_OP_FB] : simulation_scaled(t->f_ns + t->b_ns, pair);
        if (t->f_ns > MAX_OP_NS || t->b_ns > MAX_OP_NS || t->fb_ns > MAX_OP_NS) {
            code = ps_fail(err, PS_USAGE, "durations: an op takes at most 10 s");
        }
    }
    ps_durations_fini(&d);
    return code == PS_SYNTAX || code == PS_RANGE ? (err->code = PS_USAGE) : code;
}

static ps_code check_simulation_times(const asked *a, const simulation *s, ps_err *err) {
    bool splits = ps_sim_uses(s->plan, PS_OP_BI);
    for (int32_t d = 0; splits && d < a->params.n_stages; d++) {
        const op_times *t = &s->times[d];
        if (t->w_ns >= t->b_ns) {
            return ps_fail(err, PS_USAGE,
                           "stage %d: the weight gradient (%lld ns) must be less than the backward "
                           "that it is a part of (%lld ns)",
                           (int)d, (long long)t->w_ns, (long long)t->b_ns);
        }
    }
    return PS_OK;
}

static ps_code read_factors(const asked *a, simulation *s, ps_err *err) {
    const ps_literal *list = ps_literal_get(a->body, "factors");
    for (int32_t d = 0; d < a->params.n_stages; d++) {
        s->factors[d] = 1.0;
    }
    if (list == NULL || list->kind == PS_LITERAL_NULL) {
        return PS_OK;
    }
    int32_t d = 0;
    for (const ps_literal *v = list->child; list->kind == PS_LITERAL_ARRAY && v != NULL;
         v = v->next, d++) {
        double f = v->kind == PS_LITERAL_INT      ? (double)v->integer
                   : v->kind == PS_LITERAL_NUMBER ? strtod(v->text, NULL)
                                                  : 0;
        if (!(f >= MIN_FACTOR && f <= MAX_FACTOR)) {
            return ps_fail(err, PS_USAGE, "factors: numbers from %g to %g", MIN_FACTOR, MAX_FACTOR);
        }
        if (d < a->params.n_stages) {
            s->factors[d] = f;
        }
    }
    return d == a->params.n_stages
               ? PS_OK
               : ps_fail(err, PS_USAGE, "factors: one for each of the %d stages",
                         (int)a->params.n_stages);
}

static int64_t *op_durations(const simulation *s) {
    const ps_sim_plan *plan = s->plan;
    int64_t *ns = ps_calloc(plan->n_ops, sizeof *ns);
    for (uint32_t op = 0; ns != NULL && op < plan->n_ops; op++) {
        const op_times *t = &s->times[plan->device[op]];
        switch (plan->ops[op].kind) {
        case PS_OP_F:
            ns[op] = t->f_ns;
            break;
        case PS_OP_B:
            ns[op] = t->b_ns;
            break;
        case PS_OP_BI:
            ns[op] = t->b_ns - t->w_ns;
            break;
        case PS_OP_BW:
            ns[op] = t->w_ns;
            break;
        case PS_OP_FB:
            ns[op] = t->fb_ns;
            break;
        default:
            break;
        }
        ns[op] = simulation_scaled(ns[op], s->factors[plan->device[op]]);
    }
    return ns;
}

/* --- the simulation ---------------------------------------------------------------------------------------------- */

static ps_code prepare_simulation(const ps_request *q, asked *a, simulation *s, ps_err *err) {
    ps_recognised r = {0};
    ps_code code = PS_OK;
    if (a->has_from) {
        code = ps_pipelines_get(q, &a->from, &s->measured, err);
        code = code == PS_OK ? ps_recognise_for_theory(s->measured->chart, &r, err) : code;
        if (code == PS_OK) {
            take_over(a, &r);
        }
    }
    code = code == PS_OK ? make_plan(a, s, err) : code;
    if (code != PS_OK) {
        return code;
    }
    size_t n = (size_t)a->params.n_stages;
    s->times = ps_calloc(n, sizeof *s->times);
    s->factors = ps_calloc(n, sizeof *s->factors);
    if (s->times == NULL || s->factors == NULL) {
        return ps_fail_nomem(err);
    }
    if (a->has_from) {
        code = measured_times(a, s, &r, err);
    } else {
        usual_times(a, s);
    }
    if (code == PS_OK) {
        apply_given(a, s);
        s->p2p_ns = a->p2p_ns >= 0 ? a->p2p_ns : s->p2p_ns;
        code = apply_lines(a, s, err);
    }
    code = code == PS_OK ? read_factors(a, s, err) : code;
    return code == PS_OK ? check_simulation_times(a, s, err) : code;
}

static ps_code simulation_simulate(const asked *a, simulation *s, ps_err *err) {
    int64_t *ns = op_durations(s);
    s->chart = ns != NULL ? ps_sim_chart(s->plan, ns, s->p2p_ns, 1, 0, err) : NULL;
    if (ns == NULL) {
        (void)ps_fail_nomem(err);
    }
    ps_free(ns);
    if (s->chart == NULL) {
        return err->code;
    }
    ps_code code = ps_chart_connect(s->chart, s->plan, err);
    code = code == PS_OK ? ps_bubble_measure(s->chart, NULL, &s->report, err) : code;
    if (code != PS_OK || a->as_svg) {
        return code;
    }
    s->tables[0] = ps_bubble_stage_table(s->chart, &s->report);
    s->tables[1] = ps_bubble_step_table(s->chart, &s->report);
    s->tables[2] = ps_bubble_wait_table(s->chart, &s->report);
    return s->tables[0] != NULL && s->tables[1] != NULL && s->tables[2] != NULL
               ? PS_OK
               : ps_fail_nomem(err);
}

static void simulation_fini(const ps_request *q, simulation *s) {
    for (size_t i = 0; i < sizeof s->tables / sizeof *s->tables; i++) {
        ps_table_free(s->tables[i]);
    }
    ps_bubble_report_fini(&s->report);
    ps_chart_free(s->chart);
    ps_free(s->times);
    ps_free(s->factors);
    ps_sim_plan_free(s->plan);
    ps_cache_release(q->cache, (void *)(uintptr_t)s->measured);
}

/* --- what is answered -------------------------------------------------------------------------------------------- */

/* "used":{...}: what the form shows. Times of a stage are those before its factor. */
static void put_used(const asked *a, const simulation *s, ps_json *j) {
    const ps_schedule *schedule = s->plan->schedule;
    ps_json_line(j, 0);
    ps_json_key(j, "used");
    ps_json_object(j);
    ps_json_key_str(j, "schedule", schedule != NULL ? schedule->name : "");
    ps_json_key_int(j, "stages", a->params.n_stages);
    ps_json_key_int(j, "microbatches", a->params.n_microbatches);
    ps_json_key_int(j, "chunks", s->plan->lists.n_chunks);
    ps_json_key_int(j, "p2p_ns", s->p2p_ns);
    ps_json_key_bool(j, "splits", ps_sim_uses(s->plan, PS_OP_BI));
    ps_json_key_bool(j, "pairs", ps_sim_uses(s->plan, PS_OP_FB));
    ps_json_key(j, "times");
    ps_json_array(j);
    for (int32_t d = 0; d < a->params.n_stages; d++) {
        const op_times *t = &s->times[d];
        ps_json_array(j);
        ps_json_int(j, t->f_ns);
        ps_json_int(j, t->b_ns);
        ps_json_int(j, t->w_ns);
        ps_json_int(j, t->fb_ns);
        ps_json_close(j);
    }
    ps_json_close(j);
    ps_json_close(j);
}

/* The most activations that a stage holds, in microbatches of the whole stage. */
static double most_activations(const simulation *s) {
    size_t most = 0;
    for (int32_t d = 0; d < s->plan->lists.n_stages; d++) {
        size_t peak = ps_lists_peak(&s->plan->lists, d);
        most = peak > most ? peak : most;
    }
    int32_t n = pieces(s->plan);
    return (double)most / (n > 0 ? n : 1);
}

static ps_code put_simulation_page(const asked *a, const simulation *s, ps_buf *out, ps_err *err) {
    const ps_table *tables[] = {s->tables[0], s->tables[1], s->tables[2]};
    ps_chart_page page = {.chart = s->chart,
                          .tables = tables,
                          .n_tables = sizeof tables / sizeof *tables,
                          .step = PS_FIRST_STEP,
                          .pipeline = -1};
    ps_code code = ps_page_choose(&page, err);
    if (code != PS_OK) {
        return code;
    }
    double busy = 0;
    int64_t step_ns = s->report.n_steps > 0 ? s->report.steps[0].step_ns : 0;
    for (size_t i = 0; i < s->report.n_stages; i++) {
        busy += (double)s->report.stages[i].busy_ns;
    }
    double all = (double)step_ns * a->params.n_stages;
    ps_json j = ps_json_to(out);
    ps_json_object(&j);
    ps_json_key_int(&j, "step_ns", step_ns);
    ps_json_key(&j, "bubble");
    ps_json_numberf(&j, "%.6f", all > 0 ? 1 - busy / all : 0.0);
    ps_json_key(&j, "activations");
    ps_json_numberf(&j, "%.2f", most_activations(s));
    ps_json_line(&j, 0);
    code = ps_page_put_chart(&page, &j, err);
    put_used(a, s, &j);
    ps_json_close(&j);
    return code == PS_OK && !ps_buf_ok(out) ? ps_fail_nomem(err) : code;
}

/* The measured step with the simulated one below it; without a measured one the simulated one alone. */
static ps_code put_svg(const asked *a, const simulation *s, ps_reply *r, ps_err *err) {
    ps_chart_svg_opts opts = {.step = a->has_from ? a->step : PS_FIRST_STEP,
                              .pipeline = a->has_from ? a->pipeline : -1,
                              .dark = a->dark};
    r->content_type = "image/svg+xml";
    r->file_name = "pipeline.svg";
    return ps_write_chart_svg(a->has_from ? s->measured->chart : s->chart,
                              a->has_from ? s->chart : NULL, &opts, &r->body, err);
}

static void answer_simulation(const ps_request *q, ps_reply *r) {
    asked a = {0};
    simulation s = {0};
    ps_err err = PS_ERR_INIT;
    a.body = ps_literal_parse(&r->arena, q->body != NULL ? q->body : "", q->body_len, &err);
    ps_code code = a.body != NULL ? read_asked(&a, &err) : err.code;
    if (code == PS_SYNTAX) {
        code = err.code = PS_USAGE;
    }
    code = code == PS_OK ? prepare_simulation(q, &a, &s, &err) : code;
    code = code == PS_OK ? simulation_simulate(&a, &s, &err) : code;
    if (code == PS_OK) {
        code = a.as_svg ? put_svg(&a, &s, r, &err) : put_simulation_page(&a, &s, &r->body, &err);
    }
    if (code != PS_OK) {
        r->file_name = NULL;
        ps_reply_err(r, &err);
    }
    simulation_fini(q, &s);
}

const ps_route ps_route_simulate = {.path = "/api/simulate",
                                    .method = "POST",
                                    .is_slow = true,
                                    .max_body = PS_REQUEST_MAX_BODY,
                                    .answer = answer_simulation};

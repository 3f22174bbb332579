#include "analyze/whatif/schedule_plans.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/pipeline/replay.h"
#include "analyze/whatif/layer_split.h"
#include "analyze/whatif/plan_lines.h"
#include "base/alloc.h"
#include "base/order.h"

/* Where a schedule lets one choose its chunks, and for how many pieces a search is worth while. */
#define MOST_CHUNKS 4
#define MOST_PIECES 1024

/* PyTorch runs no stage without a layer, and of others few can: a piece may be empty where the user says so, or one was when the job ran. */
static int32_t least_layers(const ps_analysis_opts *opts, const ps_split_plan *split) {
    bool may_be_empty = opts->empty_stages;
    for (int32_t s = 0; s < split->n_stages; s++) {
        may_be_empty = may_be_empty || split->now[s] == 0;
    }
    return may_be_empty ? 0 : 1;
}

ps_plan_limits ps_plan_limits_of(const ps_analysis_opts *opts, const ps_split_plan *split) {
    return (ps_plan_limits){.memory_bytes = opts->memory_bytes,
                            .activation_bytes = opts->activation_bytes,
                            .layer_bytes = opts->layer_bytes,
                            .first_bytes = opts->embedding_bytes,
                            .last_bytes = opts->head_bytes,
                            .max_activations = opts->max_activations,
                            .max_layers = (int32_t)opts->most_layers,
                            .min_layers = least_layers(opts, split)};
}

static int32_t ways_of(const ps_schedule *schedule) {
    return schedule->n_chains > 1 ? schedule->n_chains : 1;
}

/* Of chunk 1 on stage 0: whether it is the last piece of the model, so that both ends lie there. */
static bool is_folded(const ps_recognised *r) {
    int32_t n_chunks = ps_schedule_chunks(r->schedule, &r->params);
    return ways_of(r->schedule) == 1 && n_chunks > 1 &&
           r->schedule->logical_stage(&r->params, 0, n_chunks - 1) ==
               n_chunks * r->params.n_stages - 1;
}

/* --- the schedule that ran -------------------------------------------------------------------------------------------- */

/* Layers that a device of one chunk can hold under a schedule of one piece a stage. */
static int32_t most_by_memory(const ps_plan_limits *l, int32_t stage, int32_t n_stages,
                              int64_t held, int32_t most) {
    int64_t room = l->memory_bytes - (stage == 0 ? l->first_bytes : 0) -
                   (stage == n_stages - 1 ? l->last_bytes : 0);
    int64_t each = l->layer_bytes + held * l->activation_bytes;
    return room < 0 ? -1 : each > 0 && room / each < most ? (int32_t)(room / each) : most;
}

static int32_t most_layers(const ps_plan_limits *limits) {
    return limits->max_layers > 0 ? limits->max_layers : INT32_MAX / 2;
}

/* One chunk on every stage, in a line. */
static ps_split_shape shape_of_unnamed(const ps_ran *ran, const ps_plan_limits *limits,
                                       int32_t *most) {
    for (int32_t s = 0; s < ran->r.params.n_stages; s++) {
        most[s] = most_layers(limits);
        if (limits->memory_bytes > 0) {
            most[s] = most_by_memory(limits, s, ran->r.params.n_stages, ran->held[s], most[s]);
        }
    }
    return (ps_split_shape){.n_ways = 1, .most = most, .least = limits->min_layers};
}

ps_code ps_split_shape_of(const ps_ran *ran, const ps_plan_limits *limits, int32_t *most,
                          ps_split_shape *out, ps_err *err) {
    const ps_recognised *r = &ran->r;
    ps_lists lists;
    if (ran->is_unnamed) {
        *out = shape_of_unnamed(ran, limits, most);
        return PS_OK;
    }
    *out = (ps_split_shape){.n_ways = ways_of(r->schedule),
                            .ends_on_first = is_folded(r),
                            .most = most,
                            .least = limits->min_layers};
    ps_code code = ps_lists_make(&lists, r->schedule, &r->params, err);
    for (int32_t s = 0; code == PS_OK && s < r->params.n_stages; s++) {
        most[s] = most_layers(limits);
        if (limits->memory_bytes > 0 && lists.n_chunks == 1) {
            most[s] = most_by_memory(limits, s, r->params.n_stages,
                                     (int64_t)ps_lists_peak(&lists, s), most[s]);
        }
    }
    ps_lists_fini(&lists);
    return code;
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

static ps_pass_times scaled_pass(const ps_pass_times *t, double by) {
    return (ps_pass_times){llround((double)t->f_ns * by), llround((double)t->b_ns * by),
                           llround((double)t->w_ns * by)};
}

/* What is left of `whole` without so many layers; of a kind that would be less than nothing the other one pays. */
static ps_pass_times rest_of(const ps_pass_times *whole, const ps_pass_times *layer,
                             double layers) {
    ps_pass_times t = scaled_pass(layer, -layers);
    t = (ps_pass_times){t.f_ns + whole->f_ns, t.b_ns + whole->b_ns, t.w_ns + whole->w_ns};
    int64_t sum = t.f_ns + t.b_ns > 0 ? t.f_ns + t.b_ns : 0;
    t.f_ns = t.f_ns < 0 ? 0 : t.b_ns < 0 ? sum : t.f_ns;
    t.b_ns = sum - t.f_ns;
    t.w_ns = t.w_ns < 0 ? 0 : t.w_ns > t.b_ns ? t.b_ns : t.w_ns;
    return t;
}

static ps_pass_times add_pass(const ps_pass_times *a, const ps_pass_times *b) {
    return (ps_pass_times){a->f_ns + b->f_ns, a->b_ns + b->b_ns, a->w_ns + b->w_ns};
}

typedef struct making {
    const ps_ran *ran;
    const ps_recognised *r; /* that of ran */
    const ps_split_plan *p;
    const ps_analysis_opts *opts;
    ps_measured_times t;
    ps_pass_times stage[PS_PLAN_STAGES];
    ps_schedule_plans *out;
    bool has_weights;
    double weight_share;      /* of a backward, on stages where it was not measured; 0 unknown */
    char without_weights[96]; /* those stages: "0, 2"; "" where there are none */
    ps_err *err;
} making;

/* Where weight gradients were not measured they are what the user says of a backward, else what they are on all other stages. */
static void find_weight_share(making *k) {
    double w_ns = 0;
    double b_ns = 0;
    size_t at = 0;
    size_t size = sizeof k->without_weights;
    for (int32_t s = 0; s < k->p->n_stages; s++) {
        const ps_stage_times *t = &k->t.stages[s];
        if (t->w_is_half) {
            at += at < size ? (size_t)snprintf(k->without_weights + at, size - at, "%s%d",
                                               at > 0 ? ", " : "", (int)s)
                            : 0;
        } else {
            w_ns += (double)t->w_ns;
            b_ns += (double)t->b_ns;
        }
    }
    double measured = b_ns > 0 ? w_ns / b_ns : 0;
    double given = (double)k->opts->weight_share / 100;
    k->weight_share = given > 0 ? given : measured;
    k->has_weights = at == 0 || k->weight_share > 0;
}

/* What stages were measured to take, by kind: split_plan's figure in the proportions of the ops. */
static void find_stage_passes(making *k) {
    find_weight_share(k);
    for (int32_t s = 0; s < k->p->n_stages; s++) {
        const ps_stage_times *t = &k->t.stages[s];
        double share = k->weight_share;
        int64_t w_ns = t->w_is_half && share > 0 ? llround((double)t->b_ns * share) : t->w_ns;
        double both = (double)t->f_ns + (double)t->b_ns;
        const ps_pass_times measured = {t->f_ns, t->b_ns, w_ns};
        k->stage[s] = scaled_pass(&measured, both > 0 ? k->p->stage_ns[s] / both : 0);
    }
}

/* Layers whose time a device has for one microbatch; of pieces of several ways the mean. */
static double layers_of_device(const making *k, int32_t s) {
    int32_t other = ways_of(k->r->schedule) > 1 ? k->p->n_stages - 1 - s : s;
    return (k->p->now[s] + k->p->now[other]) / 2.0;
}

static bool is_end_of_model(const making *k, int32_t s) {
    return s == 0 || (s == k->p->n_stages - 1 && !is_folded(k->r));
}

/* Forward, backward and weights of a layer, in shares of its time: of all stages between the ends, or of all where there are none. */
static ps_pass_times usual_layer(const making *k) {
    ps_pass_times between = {0};
    ps_pass_times all = {0};
    for (int32_t s = 0; s < k->p->n_stages; s++) {
        all = add_pass(&all, &k->stage[s]);
        between = is_end_of_model(k, s) ? between : add_pass(&between, &k->stage[s]);
    }
    return between.f_ns + between.b_ns > 0 ? between : all;
}

/* What both ends take on top, where they lie on one stage: by the chunks of stage 0 that hold them, else half and half. */
static double share_of_first(const making *k) {
    int32_t n = k->t.n_chunks;
    double per_way = ways_of(k->r->schedule) > 1 ? 1 : n;
    int32_t last = ways_of(k->r->schedule) > 1 ? k->p->n_stages - 1 : 0;
    double first_ns = (double)k->t.chunk_ns[0] - k->p->now[0] / per_way * k->p->layer_of[0];
    double last_ns = (double)k->t.chunk_ns[n - 1] - k->p->now[last] / per_way * k->p->layer_of[0];
    first_ns = first_ns > 0 ? first_ns : 0;
    last_ns = last_ns > 0 ? last_ns : 0;
    return first_ns + last_ns > 0 ? first_ns / (first_ns + last_ns) : 0.5;
}

static void find_plan_pieces(making *k, int64_t p2p_ns) {
    ps_plan_pieces *out = &k->out->pieces;
    const ps_pass_times usual = usual_layer(k);
    int32_t last = k->p->n_stages - 1;
    ps_pass_times ends[2] = {{0}};
    *out = (ps_plan_pieces){.n_devices = k->p->n_stages,
                            .n_layers = k->p->n_layers,
                            .pair_per_mille = k->t.pair_per_mille,
                            .p2p_ns = p2p_ns};
    for (int32_t s = 0; s <= last; s++) {
        double layers = layers_of_device(k, s);
        bool is_end = is_end_of_model(k, s);
        const ps_pass_times *of = is_end || layers <= 0 ? &usual : &k->stage[s];
        double both = (double)of->f_ns + (double)of->b_ns;
        out->layer[s] = scaled_pass(of, both > 0 ? k->p->layer_of[s] / both : 0);
        ps_pass_times more = rest_of(&k->stage[s], &out->layer[s], layers);
        if (is_end) {
            ends[s == 0 ? 0 : 1] = more;
        } else if (layers <= 0) {
            out->rest[s] = more;
        }
    }
    out->first = ends[0];
    out->last = ends[1];
    if (is_folded(k->r) || ways_of(k->r->schedule) > 1) {
        const ps_pass_times both = add_pass(&ends[0], &ends[1]);
        double share = share_of_first(k);
        out->first = scaled_pass(&both, share);
        out->last = scaled_pass(&both, 1 - share);
    }
}

/* --- one plan ------------------------------------------------------------------------------------------------------- */

static ps_code leave_schedule_out(making *k, const char *name, int32_t n_chunks, const char *why) {
    ps_table *t = k->out->left_out;
    char text[96];
    (void)snprintf(text, sizeof text, n_chunks > 0 ? "%s, %d chunks" : "%s", name, (int)n_chunks);
    return ps_table_add_row(t) && ps_table_set_text(t, 0, text) && ps_table_set_text(t, 1, why)
               ? PS_OK
               : ps_fail_nomem(k->err);
}

static double activations_of(const ps_sim_plan *plan) {
    size_t most = 0;
    for (int32_t d = 0; d < plan->lists.n_stages; d++) {
        size_t peak = ps_lists_peak(&plan->lists, d);
        most = peak > most ? peak : most;
    }
    return (double)most * ps_plan_n_ways(plan) / plan->lists.n_chunks;
}

/* Takes `layers` over. */
static ps_code add_plan(making *k, const ps_sim_plan *plan, int32_t *layers, double step_ns,
                        const ps_layer_split *found) {
    ps_schedule_plans *out = k->out;
    int32_t n = plan->lists.n_stages;
    int32_t *held = ps_calloc((size_t)plan->lists.n_chunks + 1, sizeof *held);
    ps_schedule_plan row = {.schedule = plan->schedule,
                            .params = plan->params,
                            .n_chunks = plan->lists.n_chunks,
                            .n_ways = ps_plan_n_ways(plan),
                            .n_pieces = ps_plan_n_pieces(plan),
                            .layers = layers,
                            .devices = ps_calloc((size_t)n, sizeof *row.devices),
                            .busy_ns = ps_calloc((size_t)n, sizeof *row.busy_ns),
                            .step_ns = step_ns,
                            .activations = activations_of(plan),
                            .n_tried = found != NULL ? found->n_tried : 0,
                            .is_proven = found != NULL && found->is_proven,
                            .is_now = found == NULL};
    bool ok = held != NULL && row.devices != NULL && row.busy_ns != NULL &&
              ps_grow(&out->rows, &out->cap, out->n + 1, 1024, sizeof *out->rows);
    for (int32_t d = 0; ok && d < n; d++) {
        row.devices[d] = ps_plan_device_load(plan, &out->limits, layers, d, held);
        row.busy_ns[d] = ps_plan_device_busy(plan, &out->pieces, layers, d);
        bool is_more = row.devices[d].peak_layers > row.peak_layers;
        row.peak_layers = is_more ? row.devices[d].peak_layers : row.peak_layers;
        row.bytes = row.devices[d].bytes > row.bytes ? row.devices[d].bytes : row.bytes;
    }
    const ps_plan_line_ask ask = {row.schedule, row.params, layers, row.n_pieces};
    ok = ok && ps_plan_has_line(&ask, &row.has_line);
    ps_free(held);
    if (!ok) {
        ps_free(layers);
        ps_free(row.devices);
        ps_free(row.busy_ns);
        return ps_fail_nomem(k->err);
    }
    out->rows[out->n++] = row;
    return PS_OK;
}

static bool is_own_plan(const ps_ran *ran, const ps_schedule *schedule,
                        const ps_schedule_params *params) {
    bool takes_chunks = schedule != NULL && (schedule->takes & PS_TAKES_CHUNKS) != 0;
    return !ran->is_unnamed && schedule == ran->r.schedule &&
           (!takes_chunks || params->n_chunks == ran->r.params.n_chunks);
}

/* What ran with one chunk a stage has its best split from the graph of what ran itself. */
static bool is_planned_by_graph(const making *k, const ps_schedule *schedule) {
    return !k->ran->is_unnamed && schedule == k->r->schedule && schedule->n_chunks == 1;
}

static ps_code add_graph_plan(making *k, const ps_sim_plan *plan) {
    size_t n = (size_t)k->p->n_stages;
    int32_t *layers = ps_calloc(n, sizeof *layers);
    const ps_layer_split found = {.n_tried = k->p->n_tried, .is_proven = k->p->is_proven};
    if (layers == NULL) {
        return ps_fail_nomem(k->err);
    }
    memcpy(layers, k->p->best, n * sizeof *layers);
    return add_plan(k, plan, layers, k->p->best_ns, &found);
}

static ps_code find_plan(making *k, const ps_sim_plan *plan, int32_t n_chunks) {
    const ps_schedule *schedule = plan->schedule;
    ps_layer_split found;
    ps_err why = PS_ERR_INIT;
    if (is_planned_by_graph(k, schedule)) {
        return k->p->is_misfit
                   ? leave_schedule_out(
                         k, schedule->name, n_chunks,
                         PS_SAY(k->opts->lang, "no split keeps the limits", "没有满足限制的划分"))
                   : add_graph_plan(k, plan);
    }
    ps_code code =
        ps_layer_split_find(plan, &k->out->pieces, &k->out->limits, PS_SPLIT_WORK, &found, &why);
    if (code == PS_OK) {
        int32_t *layers = found.layers;
        found.layers = NULL;
        code = add_plan(k, plan, layers, (double)found.step_ns + k->out->rest_ns, &found);
    } else if (code == PS_NOTHING) {
        k->out->is_own_misfit =
            k->out->is_own_misfit || is_own_plan(k->ran, schedule, &plan->params);
        code = leave_schedule_out(k, schedule->name, n_chunks, ps_err_text(k->opts->lang, &why));
    } else if (k->err != NULL) {
        *k->err = why;
    }
    ps_layer_split_fini(&found);
    return code;
}

/* Why there is no plan of a schedule, "" none: told without a search. */
static void find_reason(const making *k, const ps_schedule *schedule,
                        const ps_schedule_params *params, char out[512]) {
    ps_err why = PS_ERR_INIT;
    int32_t n_chunks = ps_schedule_chunks(schedule, params);
    int64_t n_pieces = (int64_t)n_chunks / ways_of(schedule) * params->n_stages;
    out[0] = '\0';
    if (schedule->check(params, &why) != PS_OK) {
        (void)snprintf(out, 512, "%s", ps_err_text(k->opts->lang, &why));
    } else if (schedule->splits && !k->has_weights) {
        (void)snprintf(
            out, 512,
            PS_SAY(
                k->opts->lang,
                "it splits backwards, and weight gradients were not measured apart: "
                "--weight-share PCT says what they are of a backward (chart and report take 50)",
                "它拆分反向，而权重梯度未单独测量：用 --weight-share PCT 给出其占反向的比例（chart 与 report 按 50 计）"));
    } else if (n_pieces > k->p->n_layers) {
        (void)snprintf(out, 512,
                       PS_SAY(k->opts->lang,
                              "it cuts the model into %lld pieces, and there are %d layers",
                              "它将模型切为 %lld 份，而只有 %d 层"),
                       (long long)n_pieces, (int)k->p->n_layers);
    } else if (n_pieces > MOST_PIECES) {
        (void)snprintf(out, 512, PS_SAY(k->opts->lang, "more than %d pieces", "超过 %d 份"),
                       MOST_PIECES);
    }
}

static ps_code plan_schedule(making *k, const ps_schedule *schedule,
                             const ps_schedule_params *params, int32_t n_chunks) {
    char why[512];
    find_reason(k, schedule, params, why);
    if (why[0] != '\0') {
        return leave_schedule_out(k, schedule->name, n_chunks, why);
    }
    ps_sim_plan *plan = ps_sim_plan_new(schedule, params, k->err);
    if (plan == NULL) {
        return k->err->code;
    }
    double held = activations_of(plan);
    int64_t most = k->out->limits.max_activations;
    ps_code code = PS_OK;
    if (most > 0 && held > (double)most) {
        (void)snprintf(why, sizeof why,
                       PS_SAY(k->opts->lang,
                              "it holds %.3g microbatches of activations (--max-activations %lld)",
                              "其保有 %.3g 个 microbatch 的激活（--max-activations %lld）"),
                       held, (long long)most);
        code = leave_schedule_out(k, schedule->name, n_chunks, why);
    } else {
        code = find_plan(k, plan, n_chunks);
    }
    ps_sim_plan_free(plan);
    return code;
}

static ps_code plan_schedules(making *k) {
    const ps_recognised *r = k->r;
    ps_code code = PS_OK;
    for (const ps_schedule *const *s = ps_schedules(); code == PS_OK && *s != NULL; s++) {
        bool is_own = *s == r->schedule;
        bool takes_chunks = ((*s)->takes & PS_TAKES_CHUNKS) != 0;
        int32_t own = (r->schedule->takes & PS_TAKES_CHUNKS) != 0 ? r->params.n_chunks : 0;
        for (int32_t v = takes_chunks ? 2 : 0; code == PS_OK && v <= PS_MAX_CHUNKS; v++) {
            if (takes_chunks && v > MOST_CHUNKS && v != own) {
                continue;
            }
            ps_schedule_params params = {.n_stages = r->params.n_stages,
                                         .n_microbatches = r->params.n_microbatches,
                                         .n_chunks = v};
            params = is_own && (!takes_chunks || v == own) ? r->params : params;
            bool is_told_once = (*s)->splits && !k->has_weights;
            code = ps_watch_ask(k->opts->watch, k->err);
            code = code == PS_OK ? plan_schedule(k, *s, &params, is_told_once ? 0 : v) : code;
            if (!takes_chunks || is_told_once) {
                break;
            }
        }
    }
    return code;
}

/* --- what ran ------------------------------------------------------------------------------------------------------- */

/* Layers of the pieces as the job is split: those of a stage evenly over its chunks. Whether they are whole. */
static bool layers_now(const making *k, const ps_sim_plan *plan, double *layers) {
    bool whole = true;
    int32_t per_way = plan->lists.n_chunks / ps_plan_n_ways(plan);
    for (int32_t d = 0; d < plan->lists.n_stages; d++) {
        for (int32_t c = 0; c < plan->lists.n_chunks; c++) {
            int32_t piece = ps_plan_piece(plan, d, c);
            int32_t stage = per_way == 1 ? piece : d;
            layers[piece] = (double)k->p->now[stage] / per_way;
            whole = whole && k->p->now[stage] % per_way == 0;
        }
    }
    return whole;
}

/* The row of what ran, where that has no name. */
static ps_code plan_unnamed(making *k) {
    size_t n = (size_t)k->p->n_stages;
    ps_schedule_plans *out = k->out;
    const ps_plan_limits *l = &out->limits;
    ps_schedule_plan row = {.params = k->r->params,
                            .n_chunks = 1,
                            .n_ways = 1,
                            .n_pieces = k->p->n_stages,
                            .layers = ps_calloc(n, sizeof *row.layers),
                            .step_ns = k->p->now_ns,
                            .is_now = true};
    out->rest_ns = k->ran->outside_ns;
    if (row.layers == NULL ||
        !ps_grow(&out->rows, &out->cap, out->n + 1, 1024, sizeof *out->rows)) {
        ps_free(row.layers);
        return ps_fail_nomem(k->err);
    }
    for (size_t s = 0; s < n; s++) {
        int64_t layers = k->p->now[s];
        int64_t held = layers * k->ran->held[s];
        int64_t bytes = layers * l->layer_bytes + held * l->activation_bytes +
                        (s == 0 ? l->first_bytes : 0) + (s == n - 1 ? l->last_bytes : 0);
        double activations = k->ran->held[s];
        row.layers[s] = k->p->now[s];
        row.peak_layers = held > row.peak_layers ? held : row.peak_layers;
        row.bytes = bytes > row.bytes ? bytes : row.bytes;
        row.activations = activations > row.activations ? activations : row.activations;
    }
    out->rows[out->n++] = row;
    return PS_OK;
}

/* What the replayed step has on top of its schedule on paper, and the row of what ran. */
static ps_code plan_what_ran(making *k) {
    if (k->ran->is_unnamed) {
        return plan_unnamed(k);
    }
    ps_sim_plan *plan = ps_sim_plan_new(k->r->schedule, &k->r->params, k->err);
    if (plan == NULL) {
        return k->err->code;
    }
    size_t n = (size_t)ps_plan_n_pieces(plan);
    double *parts = ps_calloc(n + 1, sizeof *parts);
    int32_t *layers = ps_calloc(n + 1, sizeof *layers);
    int64_t step_ns = 0;
    bool whole = parts != NULL && layers_now(k, plan, parts);
    for (size_t i = 0; parts != NULL && layers != NULL && i < n; i++) {
        layers[i] = (int32_t)llround(parts[i]);
    }
    ps_code code = parts != NULL && layers != NULL ? PS_OK : ps_fail_nomem(k->err);
    code =
        code == PS_OK ? ps_layer_split_step(plan, &k->out->pieces, parts, &step_ns, k->err) : code;
    k->out->rest_ns = k->p->now_ns - (double)step_ns;
    if (code == PS_OK && whole) {
        code = add_plan(k, plan, layers, k->p->now_ns, NULL);
        layers = NULL;
    }
    ps_free(parts);
    ps_free(layers);
    ps_sim_plan_free(plan);
    return code;
}

/* --- all of them ------------------------------------------------------------------------------------------------------ */

PS_COMPARE(order_plans, ps_schedule_plan,
           PS_BY_DOWN(is_now) PS_BY_DOWN(has_line) PS_BY(step_ns) PS_BY(peak_layers) PS_BY(n_ways)
               PS_BY_TEXT(schedule->name) PS_BY(n_chunks))

static bool is_beaten(const ps_schedule_plan *a, const ps_schedule_plan *by) {
    bool no_worse =
        by->step_ns <= a->step_ns && by->peak_layers <= a->peak_layers && by->n_ways <= a->n_ways;
    return no_worse &&
           (by->step_ns < a->step_ns || by->peak_layers < a->peak_layers || by->n_ways < a->n_ways);
}

static void find_pareto(ps_schedule_plans *s) {
    for (size_t i = 0; i < s->n; i++) {
        for (size_t j = 0; j < s->n && s->rows[i].beaten_by == 0 && !s->rows[i].is_now; j++) {
            bool beats = !s->rows[j].is_now && is_beaten(&s->rows[i], &s->rows[j]);
            s->rows[i].beaten_by = beats ? j + 1 : 0;
        }
    }
}

enum { L_SCHEDULE, L_WHY, N_L };

static const ps_column LEFT_OUT[N_L] = {
    [L_SCHEDULE] = {.name = "schedule", .type = PS_COL_TEXT},
    [L_WHY] = {.name = "why", .type = PS_COL_TEXT},
};

static void say_what_is_assumed(making *k) {
    bool any_pair = false;
    bool any_split = false;
    char *note = k->out->note;
    size_t size = sizeof k->out->note;
    for (size_t i = 0; i < k->out->n; i++) {
        const ps_schedule *s = k->out->rows[i].schedule;
        any_pair = any_pair || (s != NULL && strncmp(s->name, "dualpipe", 8) == 0);
        any_split = any_split || (s != NULL && s->splits);
    }
    if (any_split && k->without_weights[0] != '\0' && k->opts->weight_share <= 0) {
        (void)snprintf(
            note, size,
            PS_SAY(k->opts->lang,
                   "Weight gradients of stage%s %s were not measured apart: they are taken for the "
                   "share of a backward that they are on the others, %.1f %%.",
                   "%.0s阶段 %s 的权重梯度未单独测得：按其他阶段中它占反向的比例 %.1f %% 计。"),
            strchr(k->without_weights, ',') != NULL ? "s" : "", k->without_weights,
            100 * k->weight_share);
    }
    if (any_pair && k->t.pair_per_mille >= 1000) {
        size_t n = strlen(note);
        (void)snprintf(
            note + n, size - n,
            PS_SAY(
                k->opts->lang,
                "%sNo forward was seen to run faster together with a backward: pairs of DualPipe "
                "are taken to last as long as both.",
                "%s未观察到前向与反向一起运行时更快：DualPipe 的成对算子按两者之和计。"),
            n > 0 ? PS_SAY(k->opts->lang, " ", "") : "");
    }
}

ps_code ps_schedule_plans_make(const ps_chart *chart, const ps_ran *ran, const ps_split_plan *split,
                               int64_t p2p_ns, const ps_analysis_opts *opts, ps_schedule_plans *out,
                               ps_err *err) {
    making k = {.ran = ran, .r = &ran->r, .p = split, .opts = opts, .out = out, .err = err};
    *out = (ps_schedule_plans){.limits = ps_plan_limits_of(opts, split), .now_ns = split->now_ns};
    out->left_out = ps_table_new("plan_left_out", "schedules without a plan", LEFT_OUT, N_L);
    ps_code code = out->left_out != NULL
                       ? ps_measure_times(chart, k.r, PS_FIRST_STEP, -1, &k.t, err)
                       : ps_fail_nomem(err);
    if (code == PS_OK) {
        find_stage_passes(&k);
        find_plan_pieces(&k, p2p_ns);
        code = plan_what_ran(&k);
    }
    code = code == PS_OK ? plan_schedules(&k) : code;
    if (code == PS_OK) {
        if (out->n > 1) {
            qsort(out->rows, out->n, sizeof *out->rows, order_plans);
        }
        find_pareto(out);
        say_what_is_assumed(&k);
    }
    ps_measured_times_fini(&k.t);
    return code;
}

const ps_schedule_plan *ps_schedule_plans_own(const ps_schedule_plans *s, const ps_ran *ran) {
    const ps_schedule_plan *own = NULL;
    for (size_t i = 0; i < s->n; i++) {
        const ps_schedule_plan *p = &s->rows[i];
        own = !p->is_now && p->n_chunks > 1 && is_own_plan(ran, p->schedule, &p->params) ? p : own;
    }
    return own;
}

void ps_schedule_plans_fini(ps_schedule_plans *s) {
    for (size_t i = 0; i < s->n; i++) {
        ps_free(s->rows[i].layers);
        ps_free(s->rows[i].devices);
        ps_free(s->rows[i].busy_ns);
    }
    ps_free(s->rows);
    ps_table_free(s->left_out);
    *s = (ps_schedule_plans){0};
}

ps_chart *ps_schedule_plan_chart(const ps_schedule_plans *s, size_t row, ps_err *err) {
    const ps_schedule_plan *r = &s->rows[row];
    ps_sim_plan *plan = ps_sim_plan_new(r->schedule, &r->params, err);
    ps_op_classes classes = {0};
    ps_chart *chart = NULL;
    if (plan == NULL) {
        return NULL;
    }
    int64_t *ns = ps_calloc((size_t)plan->n_ops + 1, sizeof *ns);
    double *parts = ps_calloc((size_t)r->n_pieces + 1, sizeof *parts);
    if (ns != NULL && parts != NULL && ps_op_classes_make(plan, &s->pieces, &classes)) {
        for (int32_t i = 0; i < r->n_pieces; i++) {
            parts[i] = r->layers[i];
        }
        ps_op_classes_durations(&classes, plan, parts, ns);
        chart = ps_sim_chart(plan, ns, s->pieces.p2p_ns, 1, 0, err);
    } else {
        (void)ps_fail_nomem(err);
    }
    ps_op_classes_fini(&classes);
    ps_free(ns);
    ps_free(parts);
    ps_sim_plan_free(plan);
    return chart;
}

/* Durations: per stage, the median of each kind and chunk, summed over chunks to one microbatch of the whole stage.
 * A schedule with v chunks gets a v-th of it for each op (each of DualPipe's two ways has
 * the whole stage, so that its chunks are not summed: their mean is the stage). An overlapped pair takes the measured share of F + B
 * (median over all pairs), F + B when none was measured. Latency between stages: the median time from the end of
 * the latest input to the start of the op, over ops that waited for it. What a stage computes before its first op of the schedule
 * and after the last one (the optimiser) it does under every schedule: the median of its steps. */
#include "analyze/pipeline/replay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "model/chart_groups.h"
#include "schedule/sim.h"

#define MAX_CHUNKS 8

typedef ps_measured_times times;

/* Of which step and pipeline the durations are. */
typedef struct scope {
    const ps_chart *chart;
    int64_t step;     /* PS_FIRST_STEP: of all */
    int32_t pipeline; /* -1: of all */
} scope;

static bool is_within(const scope *q, uint32_t rank, int64_t step) {
    return (q->step == PS_FIRST_STEP || step == q->step) &&
           (q->pipeline < 0 || q->chart->ranks[rank].pipeline == q->pipeline);
}

/* --- durations from the chart ---------------------------------------------------------------------------------- */

/* Durations by (stage, kind, chunk): bucket b is values[first[b]] .. values[first[b + 1] - 1]. */
typedef struct buckets {
    int64_t *values;
    size_t *first;
    size_t n;
} buckets;

static size_t bucket_of(const scope *q, const times *t, const ps_op *op) {
    int32_t stage = q->chart->ranks[op->rank].stage;
    int32_t chunk = op->chunk < 0 ? 0 : op->chunk;
    if (stage < 0 || stage >= t->n_stages || chunk >= MAX_CHUNKS || !ps_op_is_computation(op) ||
        !is_within(q, op->rank, op->step)) {
        return SIZE_MAX;
    }
    return ((size_t)stage * PS_N_OP_KINDS + op->kind) * MAX_CHUNKS + (size_t)chunk;
}

static bool fill_buckets(const scope *q, const times *t, buckets *b) {
    const ps_chart *c = q->chart;
    b->n = (size_t)t->n_stages * PS_N_OP_KINDS * MAX_CHUNKS;
    b->values = ps_calloc(c->n_ops, sizeof *b->values);
    b->first = ps_calloc(b->n + 2, sizeof *b->first);
    if (b->values == NULL || b->first == NULL) {
        return false;
    }
    for (size_t i = 0; i < c->n_ops; i++) {
        size_t at = bucket_of(q, t, &c->ops[i]);
        b->first[at != SIZE_MAX ? at + 2 : 0]++;
    }
    b->first[0] = 0;
    for (size_t k = 2; k < b->n + 2; k++) {
        b->first[k] += b->first[k - 1];
    }
    for (size_t i = 0; i < c->n_ops; i++) {
        size_t at = bucket_of(q, t, &c->ops[i]);
        if (at != SIZE_MAX) {
            b->values[b->first[at + 1]++] = c->ops[i].end_ns - c->ops[i].start_ns;
        }
    }
    return true;
}

/* 0 when there is no such op. */
static int64_t bucket_median(buckets *b, int32_t stage, ps_op_kind kind, int32_t chunk) {
    size_t at = ((size_t)stage * PS_N_OP_KINDS + (size_t)kind) * MAX_CHUNKS + (size_t)chunk;
    return ps_median_i64(b->values + b->first[at], b->first[at + 1] - b->first[at]);
}

/* What the marks of one chunk on one stage say. */
typedef struct chunk_times {
    int64_t whole_ns, input_ns, weight_ns, logits_ns;
} chunk_times;

/* A chunk may lack marks of one half: DualPipeV's tail marks no weight gradients, and on some stages a chunk has all
 * its lone backwards there. The missing half is taken from the stage's other chunks, else as long as the other half. */
static int64_t whole_backward(const chunk_times *c, int64_t usual_weight_ns) {
    if (c->whole_ns > 0) {
        return c->whole_ns + c->logits_ns; /* the output head's backward has a mark of its own */
    }
    int64_t weight = c->weight_ns > 0      ? c->weight_ns
                     : usual_weight_ns > 0 ? usual_weight_ns
                                           : c->input_ns;
    return c->input_ns > 0 ? c->input_ns + c->logits_ns + weight : 0;
}

static int32_t chains_of(const ps_schedule *schedule) {
    return schedule->n_chains > 0 ? schedule->n_chains : 1;
}

/* Chunks that one way through the model has on a device. */
static int32_t chunks_of_chain(const ps_schedule *schedule, const ps_schedule_params *params) {
    return ps_schedule_chunks(schedule, params) / chains_of(schedule);
}

/* W of chunks where it was never measured apart is taken in the proportion of those where it was. Of the pieces of several ways
 * through the model each is a whole stage: their mean counts. */
static void measure_replay_stage(buckets *b, times *t, int32_t stage, int32_t n_chunks,
                                 int32_t n_chains) {
    ps_stage_times *s = &t->stages[stage];
    chunk_times chunks[MAX_CHUNKS] = {0};
    int64_t usual_weight_ns = 0;
    int32_t n_measured = 0;
    n_chunks = n_chunks < MAX_CHUNKS ? n_chunks : MAX_CHUNKS;
    for (int32_t c = 0; c < n_chunks; c++) {
        chunks[c] = (chunk_times){.whole_ns = bucket_median(b, stage, PS_OP_B, c),
                                  .input_ns = bucket_median(b, stage, PS_OP_BI, c),
                                  .weight_ns = bucket_median(b, stage, PS_OP_BW, c),
                                  .logits_ns = bucket_median(b, stage, PS_OP_LOGITS, c)};
        usual_weight_ns =
            chunks[c].weight_ns > usual_weight_ns ? chunks[c].weight_ns : usual_weight_ns;
        int64_t forward_ns = bucket_median(b, stage, PS_OP_F, c);
        s->f_ns += forward_ns;
        n_measured += forward_ns > 0;
    }
    int64_t weight_ns = 0; /* over chunks with a BW, and their whole backward */
    int64_t weighed_ns = 0;
    for (int32_t c = 0; c < n_chunks; c++) {
        int64_t whole = whole_backward(&chunks[c], usual_weight_ns);
        s->b_ns += whole;
        t->chunk_ns[stage * t->n_chunks + c] =
            whole > 0 ? whole + bucket_median(b, stage, PS_OP_F, c) : 0;
        weight_ns += chunks[c].weight_ns;
        weighed_ns += chunks[c].weight_ns > 0 ? whole : 0;
    }
    if (n_chains > 1 && n_measured > 1) {
        s->f_ns /= n_measured;
        s->b_ns /= n_measured;
    }
    s->w_is_half = weight_ns <= 0 || weight_ns >= weighed_ns;
    s->w_ns = s->w_is_half ? s->b_ns / 2
                           : (int64_t)((double)s->b_ns * (double)weight_ns / (double)weighed_ns);
}

static void measure_pairs(const scope *q, times *t, int32_t n_chunks, int64_t *scratch) {
    const ps_chart *c = q->chart;
    size_t n = 0;
    for (size_t i = 0; i < c->n_ops; i++) {
        const ps_op *op = &c->ops[i];
        int32_t stage = c->ranks[op->rank].stage;
        if (op->kind == PS_OP_FB && stage >= 0 && stage < t->n_stages &&
            is_within(q, op->rank, op->step)) {
            int64_t apart = (t->stages[stage].f_ns + t->stages[stage].b_ns) / n_chunks;
            if (apart > 0) {
                scratch[n++] = (op->end_ns - op->start_ns) * 1000 / apart;
            }
        }
    }
    t->pair_per_mille = n > 0 ? ps_median_i64(scratch, n) : 1000;
    t->pair_per_mille = t->pair_per_mille > 1000 ? 1000 : t->pair_per_mille;
}

/* Bubbles know what was waited for: the rest of the wait behind its end is the way from stage to stage. */
static int64_t measure_latency(const scope *q, int64_t *scratch) {
    const ps_chart *c = q->chart;
    size_t n = 0;
    for (size_t i = 0; i < c->n_bubbles && n < c->n_ops; i++) {
        const ps_bubble *b = &c->bubbles[i];
        if (b->cause == PS_BUBBLE_STALL && b->waits_for != PS_NO_INDEX &&
            is_within(q, b->rank, b->step) && c->ops[b->waits_for].end_ns >= b->start_ns &&
            c->ops[b->waits_for].end_ns <= b->end_ns) {
            scratch[n++] = b->end_ns - c->ops[b->waits_for].end_ns;
        }
    }
    return ps_median_i64(scratch, n);
}

ps_code ps_measure_latency(const ps_chart *chart, int64_t *p2p_ns, ps_err *err) {
    const scope all = {.chart = chart, .step = PS_FIRST_STEP, .pipeline = -1};
    int64_t *scratch = ps_realloc_array(NULL, chart->n_ops + 1, sizeof *scratch);
    *p2p_ns = scratch != NULL ? measure_latency(&all, scratch) : 0;
    ps_free(scratch);
    return scratch != NULL ? PS_OK : ps_fail_nomem(err);
}

/* What the ops of one rank in one step, rows first to end, compute outside of the schedule's. */
static void sum_around(const ps_chart *c, size_t first, size_t end, int64_t *before_ns,
                       int64_t *after_ns) {
    int64_t other_ns = 0; /* since the last op of the schedule */
    bool any = false;
    *before_ns = 0;
    for (size_t i = first; i < end; i++) {
        const ps_op *op = &c->ops[i];
        if (op->kind == PS_OP_OTHER) {
            other_ns = ps_i64_plus(other_ns, op->end_ns - op->start_ns);
        } else if (ps_op_is_computation(op)) {
            *before_ns = any ? *before_ns : other_ns;
            any = true;
            other_ns = 0;
        }
    }
    *after_ns = any ? other_ns : 0;
}

/* scratch [2 * n_ops] */
static void measure_around(const scope *q, times *t, int32_t stage, int64_t *scratch) {
    const ps_chart *c = q->chart;
    int64_t *after = scratch + c->n_ops;
    size_t n = 0;
    for (size_t i = 0; i < c->n_ops;) {
        const ps_op *op = &c->ops[i];
        size_t end = i + 1;
        while (end < c->n_ops && c->ops[end].rank == op->rank && c->ops[end].step == op->step) {
            end++;
        }
        if (c->ranks[op->rank].stage == stage && op->step != PS_FIRST_STEP &&
            is_within(q, op->rank, op->step)) {
            sum_around(c, i, end, &scratch[n], &after[n]);
            n++;
        }
        i = end;
    }
    t->stages[stage].before_ns = ps_median_i64(scratch, n);
    t->stages[stage].after_ns = ps_median_i64(after, n);
}

/* Over the stages that were measured. */
static ps_stage_times mean_times(const times *t) {
    ps_stage_times sum = {0};
    int64_t n = 0;
    for (int32_t s = 0; s < t->n_stages; s++) {
        sum.f_ns += t->stages[s].f_ns;
        sum.b_ns += t->stages[s].b_ns;
        sum.w_ns += t->stages[s].w_ns;
        sum.before_ns += t->stages[s].before_ns;
        sum.after_ns += t->stages[s].after_ns;
        sum.w_is_half = sum.w_is_half || t->stages[s].w_is_half;
        n += t->stages[s].f_ns + t->stages[s].b_ns > 0;
    }
    n = n > 0 ? n : 1;
    return (ps_stage_times){.f_ns = sum.f_ns / n,
                            .b_ns = sum.b_ns / n,
                            .w_ns = sum.w_ns / n,
                            .w_is_half = sum.w_is_half,
                            .before_ns = sum.before_ns / n,
                            .after_ns = sum.after_ns / n};
}

/* A stage whose rank is missing is taken as the mean of the others. */
static void fill_missing(times *t) {
    ps_stage_times mean = mean_times(t);
    for (int32_t s = 0; s < t->n_stages; s++) {
        if (t->stages[s].f_ns + t->stages[s].b_ns == 0) {
            t->stages[s] = mean;
        }
    }
}

ps_code ps_measure_times(const ps_chart *chart, const ps_recognised *r, int64_t step,
                         int32_t pipeline, ps_measured_times *t, ps_err *err) {
    const scope q = {chart, step, pipeline};
    int32_t n_chunks = ps_schedule_chunks(r->schedule, &r->params);
    *t = (times){.n_stages = r->params.n_stages, .n_chunks = n_chunks};
    t->stages = ps_calloc((size_t)t->n_stages, sizeof *t->stages);
    t->chunk_ns = ps_calloc((size_t)t->n_stages * (size_t)n_chunks, sizeof *t->chunk_ns);
    int64_t *scratch = ps_calloc(2 * chart->n_ops + 1, sizeof *scratch);
    buckets b = {0};
    bool ok =
        t->stages != NULL && t->chunk_ns != NULL && scratch != NULL && fill_buckets(&q, t, &b);
    for (int32_t s = 0; ok && s < t->n_stages; s++) {
        measure_replay_stage(&b, t, s, n_chunks, chains_of(r->schedule));
        measure_around(&q, t, s, scratch);
    }
    if (ok) {
        fill_missing(t);
        measure_pairs(&q, t, chunks_of_chain(r->schedule, &r->params), scratch);
        t->p2p_ns = measure_latency(&q, scratch);
    }
    ps_free(b.values);
    ps_free(b.first);
    ps_free(scratch);
    return ok ? PS_OK : ps_fail_nomem(err);
}

void ps_measured_times_fini(ps_measured_times *t) {
    ps_free(t->stages);
    ps_free(t->chunk_ns);
    *t = (times){0};
}

void ps_measured_times_balance(ps_measured_times *t) {
    ps_stage_times mean = mean_times(t);
    for (int32_t s = 0; s < t->n_stages; s++) {
        t->stages[s] = mean;
    }
}

bool ps_measured_times_spread(ps_measured_times *t, int32_t n_stages) {
    ps_stage_times mean = mean_times(t);
    ps_stage_times *stages = ps_calloc((size_t)n_stages, sizeof *stages);
    if (stages == NULL) {
        return false;
    }
    for (int32_t s = 0; s < n_stages; s++) {
        stages[s] = (ps_stage_times){.f_ns = mean.f_ns * t->n_stages / n_stages,
                                     .b_ns = mean.b_ns * t->n_stages / n_stages,
                                     .w_ns = mean.w_ns * t->n_stages / n_stages,
                                     .w_is_half = mean.w_is_half,
                                     .before_ns = mean.before_ns * t->n_stages / n_stages,
                                     .after_ns = mean.after_ns * t->n_stages / n_stages};
    }
    ps_free(t->stages);
    t->stages = stages;
    t->n_stages = n_stages;
    return true;
}

/* --- one schedule ------------------------------------------------------------------------------------------------ */

typedef struct prediction {
    int64_t step_ns, busy_ns; /* busy: sum over stages */
    size_t peak;              /* activations of one (chunk, microbatch) */
} prediction;

static int64_t op_duration(const times *t, const ps_sim_plan *plan, uint32_t op, int32_t n_chunks) {
    const ps_stage_times *s = &t->stages[plan->device[op]];
    int64_t f = s->f_ns / n_chunks;
    int64_t b = s->b_ns / n_chunks;
    int64_t w = s->w_ns / n_chunks;
    switch (plan->ops[op].kind) {
    case PS_OP_F:
        return f;
    case PS_OP_B:
        return b;
    case PS_OP_BI:
        return b - w;
    case PS_OP_BW:
        return w;
    case PS_OP_FB:
        return (f + b) * t->pair_per_mille / 1000;
    default:
        return 0;
    }
}

int64_t *ps_measured_durations(const ps_measured_times *t, const ps_sim_plan *plan) {
    int32_t n_chunks = chunks_of_chain(plan->schedule, &plan->params);
    int64_t *durations = ps_calloc(plan->n_ops, sizeof *durations);
    for (uint32_t op = 0; durations != NULL && op < plan->n_ops; op++) {
        durations[op] = op_duration(t, plan, op, n_chunks);
    }
    return durations;
}

/* From the first work of any device to the last, with what each does around its ops. */
static int64_t step_with_rest(const times *t, const ps_sim_plan *plan,
                              const ps_sim_result *result) {
    int64_t first_ns = INT64_MAX;
    int64_t last_ns = INT64_MIN;
    for (uint32_t op = 0; op < plan->n_ops; op++) {
        const ps_stage_times *s = &t->stages[plan->device[op]];
        int64_t from_ns = result->start_ns[op] - s->before_ns;
        int64_t to_ns = result->end_ns[op] + s->after_ns;
        first_ns = from_ns < first_ns ? from_ns : first_ns;
        last_ns = to_ns > last_ns ? to_ns : last_ns;
    }
    return plan->n_ops > 0 ? last_ns - first_ns : 0;
}

static ps_code replay_simulate(const times *t, const ps_schedule *schedule,
                               const ps_schedule_params *params, prediction *out, ps_err *err) {
    ps_sim_plan *plan = ps_sim_plan_new(schedule, params, err);
    if (plan == NULL) {
        return err != NULL ? err->code : PS_NOMEM;
    }
    *out = (prediction){0};
    int64_t *durations = ps_measured_durations(t, plan);
    ps_sim_result result = {.start_ns = ps_calloc(plan->n_ops, sizeof(int64_t)),
                            .end_ns = ps_calloc(plan->n_ops, sizeof(int64_t))};
    ps_code code = durations != NULL && result.start_ns != NULL && result.end_ns != NULL
                       ? PS_OK
                       : ps_fail_nomem(err);
    code = code == PS_OK ? ps_sim_run(plan, durations, t->p2p_ns, 0, &result, err) : code;
    for (int32_t d = 0; code == PS_OK && d < params->n_stages; d++) {
        size_t peak =
            ps_peak_activations(plan->ops + plan->first[d], plan->first[d + 1] - plan->first[d]);
        out->peak = peak > out->peak ? peak : out->peak;
        out->busy_ns +=
            ps_sim_busy_ns(plan, &result, d) + t->stages[d].before_ns + t->stages[d].after_ns;
    }
    out->step_ns = code == PS_OK ? step_with_rest(t, plan, &result) : 0;
    ps_free(durations);
    ps_free(result.start_ns);
    ps_free(result.end_ns);
    ps_sim_plan_free(plan);
    return code;
}

/* --- the table ----------------------------------------------------------------------------------------------------- */

typedef struct replay_row {
    const char *schedule;
    int64_t step_ns, gain_ns, n_weights;
    double gain_percent, bubble_percent, activations;
} replay_row;

static const ps_column COLUMNS[] = {
    {.name = "schedule", PS_FIELD(replay_row, schedule)},
    {.name = "step time", PS_FIELD(replay_row, step_ns), .unit = PS_UNIT_NS, .shown = "step"},
    {.name = "gain", PS_FIELD(replay_row, gain_ns), .unit = PS_UNIT_NS},
    {.name = "gain share",
     PS_FIELD(replay_row, gain_percent),
     .unit = PS_UNIT_PERCENT,
     .shown = "gain"},
    {.name = "bubble", PS_FIELD(replay_row, bubble_percent), .unit = PS_UNIT_PERCENT},
    {.name = "activations", PS_FIELD(replay_row, activations)},
    {.name = "weights", PS_FIELD(replay_row, n_weights)},
};

bool ps_replay_is_like(int64_t replayed_ns, int64_t measured_ns) {
    int64_t tenth_ns = measured_ns / 10;
    return replayed_ns > 0 && replayed_ns >= measured_ns - tenth_ns &&
           replayed_ns <= ps_i64_plus(measured_ns, tenth_ns);
}

/* Of the time of all stages, what none of their ops takes; NAN where there is no time. */
static double bubble_percent_of(const prediction *p, int n_stages) {
    double all = (double)p->step_ns * n_stages; /* may leave 64 bits */
    return all > 0 ? 100.0 * (all - (double)p->busy_ns) / all : NAN;
}

/* `base_ns`: of the schedule that ran, PS_UNKNOWN_INT where nothing is gained against it. */
static void put_replay_row(ps_table *t, const char *name, const prediction *p, int64_t base_ns,
                           const ps_schedule *schedule, const ps_schedule_params *params) {
    bool is_told = base_ns != PS_UNKNOWN_INT;
    int64_t gain_ns = is_told ? base_ns - p->step_ns : PS_UNKNOWN_INT;
    ps_table_put(
        t, &(replay_row){.schedule = name,
                         .step_ns = p->step_ns,
                         .gain_ns = gain_ns,
                         .gain_percent = !is_told      ? NAN
                                         : base_ns > 0 ? 100.0 * (double)gain_ns / (double)base_ns
                                                       : 0.0,
                         .bubble_percent = bubble_percent_of(p, params->n_stages),
                         .activations = (double)p->peak / (double)chunks_of_chain(schedule, params),
                         /* each way through the model has its own */
                         .n_weights = chains_of(schedule)});
}

typedef struct left_out_row {
    const char *schedule, *why;
} left_out_row;

static const ps_column LEFT_OUT[] = {
    {.name = "schedule", PS_FIELD(left_out_row, schedule)},
    {.name = "why", PS_FIELD(left_out_row, why)},
};

/* The recognised numbers; two chunks where a schedule lets one choose. */
static ps_schedule_params usual_params(const ps_recognised *r, const ps_schedule *schedule) {
    return (ps_schedule_params){.n_stages = r->params.n_stages,
                                .n_microbatches = r->params.n_microbatches,
                                .n_chunks = (schedule->takes & PS_TAKES_CHUNKS) != 0 ? 2 : 0};
}

/* What is replayed, and where it goes. */
typedef struct replaying {
    ps_table *table, *left_out;
    times *t;
    const ps_recognised *r;
    const ps_replay_opts *opts;
    ps_lang lang;
} replaying;

static ps_code add_candidate(const replaying *x, const ps_schedule *schedule, int64_t base_ns,
                             ps_err *err) {
    bool takes_chunks = (schedule->takes & PS_TAKES_CHUNKS) != 0;
    ps_schedule_params params = usual_params(x->r, schedule);
    ps_err why = PS_ERR_INIT;
    char name[96];
    (void)snprintf(name, sizeof name, takes_chunks ? "%s, 2 chunks" : "%s", schedule->name);
    if (schedule == x->r->schedule) {
        return PS_OK;
    }
    if (schedule->check(&params, &why) != PS_OK) {
        ps_table_put(x->left_out, &(left_out_row){schedule->name, ps_err_text(x->lang, &why)});
        return PS_OK;
    }
    prediction p;
    ps_code code = replay_simulate(x->t, schedule, &params, &p, err);
    int64_t limit = x->opts->max_activations * chunks_of_chain(schedule, &params);
    if (code == PS_OK && limit > 0 && (int64_t)p.peak > limit) {
        char text[128];
        (void)snprintf(text, sizeof text,
                       PS_SAY(x->lang,
                              "it holds %.3g microbatches of activations (--max-activations %lld)",
                              "其保有 %.3g 个 microbatch 的激活（--max-activations %lld）"),
                       (double)p.peak / (double)chunks_of_chain(schedule, &params),
                       (long long)x->opts->max_activations);
        ps_table_put(x->left_out, &(left_out_row){schedule->name, text});
    } else if (code == PS_OK) {
        put_replay_row(x->table, name, &p, base_ns, schedule, &params);
    }
    return code;
}

static ps_code fill_replay(const replaying *x, ps_err *err) {
    const ps_recognised *r = x->r;
    ps_table *table = x->table;
    times *t = x->t;
    prediction own;
    char name[96];
    ps_code code = replay_simulate(t, r->schedule, &r->params, &own, err);
    (void)snprintf(name, sizeof name, "%s (replayed)", r->schedule->name);
    int64_t base_ns = PS_UNKNOWN_INT;
    if (code == PS_OK) {
        bool is_like = ps_replay_is_like(own.step_ns, x->opts->measured_ns);
        base_ns = is_like ? own.step_ns : PS_UNKNOWN_INT;
        put_replay_row(table, name, &own, base_ns, r->schedule, &r->params);
    }
    for (const ps_schedule *const *s = ps_schedules(); code == PS_OK && *s != NULL; s++) {
        code = add_candidate(x, *s, base_ns, err);
    }
    if (code == PS_OK) {
        prediction even;
        ps_measured_times_balance(t);
        code = replay_simulate(t, r->schedule, &r->params, &even, err);
        (void)snprintf(name, sizeof name, "%s, stages balanced", r->schedule->name);
        if (code == PS_OK) {
            put_replay_row(table, name, &even, base_ns, r->schedule, &r->params);
        }
    }
    return code;
}

ps_table *ps_replay(const ps_chart *chart, const ps_recognised *r, const ps_replay_opts *opts,
                    ps_table **left_out, ps_err *err) {
    times t = {0};
    replaying x = {.table = ps_table_new("PipelineReplay",
                                         "the same work under other schedules (simulated with "
                                         "medians of the measured durations)",
                                         PS_COLUMNS(COLUMNS)),
                   .left_out =
                       ps_table_new(PS_NOT_REPLAYED_TABLE, "schedules that were not replayed",
                                    PS_COLUMNS(LEFT_OUT)),
                   .t = &t,
                   .r = r,
                   .opts = opts,
                   .lang = chart->lang};
    ps_code code = ps_measure_times(chart, r, PS_FIRST_STEP, opts->pipeline, &t, err);
    code = code == PS_OK ? fill_replay(&x, err) : code;
    ps_measured_times_fini(&t);
    ps_table *replay = ps_table_end(x.table);
    ps_table *others = ps_table_end(x.left_out);
    if (code == PS_OK && (replay == NULL || others == NULL)) {
        code = ps_fail_nomem(err);
    }
    bool any_others = code == PS_OK && others->n_rows > 0;
    *left_out = any_others ? others : NULL;
    if (!any_others) {
        ps_table_free(others);
    }
    if (code != PS_OK) {
        ps_table_free(replay);
        return NULL;
    }
    return replay;
}

ps_code ps_ideal_bubble(const ps_chart *chart, const ps_recognised *r, double *percent,
                        ps_err *err) {
    times t = {0};
    prediction p = {0};
    ps_code code = ps_measure_times(chart, r, PS_FIRST_STEP, -1, &t, err);
    if (code == PS_OK) {
        ps_measured_times_balance(&t);
        t.p2p_ns = 0;
        for (int32_t s = 0; s < t.n_stages; s++) {
            t.stages[s].before_ns = t.stages[s].after_ns = 0;
        }
        code = replay_simulate(&t, r->schedule, &r->params, &p, err);
    }
    double of_stages = bubble_percent_of(&p, r->params.n_stages);
    *percent = isnan(of_stages) ? -1.0 : of_stages;
    ps_measured_times_fini(&t);
    return code;
}

ps_chart *ps_theory_chart(const ps_chart *chart, const ps_recognised *r,
                          const ps_schedule *schedule, ps_err *err) {
    times t = {0};
    ps_schedule_params params = schedule == r->schedule ? r->params : usual_params(r, schedule);
    ps_sim_plan *plan = NULL;
    int64_t *durations = NULL;
    ps_chart *theory = NULL;
    if (ps_measure_times(chart, r, PS_FIRST_STEP, -1, &t, err) == PS_OK &&
        schedule->check(&params, err) == PS_OK &&
        (plan = ps_sim_plan_new(schedule, &params, err)) != NULL) {
        ps_measured_times_balance(&t);
        durations = ps_measured_durations(&t, plan);
        theory = durations != NULL ? ps_sim_chart(plan, durations, 0, 1, 0, err) : NULL;
        if (durations == NULL) {
            (void)ps_fail_nomem(err);
        }
    }
    ps_free(durations);
    ps_sim_plan_free(plan);
    ps_measured_times_fini(&t);
    return theory;
}

/* The last backwards of DualPipeV, which the order of marks says nothing of: the chart has judged them by their length. */
static bool tail_is_whole(const ps_chart *chart) {
    bool any = false;
    for (size_t i = 0; i < chart->n_ops; i++) {
        const ps_op *op = &chart->ops[i];
        if (op->phase == 6 && op->kind == PS_OP_BI) {
            return false;
        }
        any = any || (op->phase == 6 && op->kind == PS_OP_B);
    }
    return any;
}

ps_code ps_recognise_nearest(const ps_chart *chart, ps_recognised *r, ps_err *err) {
    if (chart->is_side_by_side) {
        return ps_fail_said(
            err, PS_NOTHING,
            "the ranks of the chart run side by side: they are no stages of one pipeline",
            "图中的 rank 并行运行：不是同一流水线的阶段");
    }
    ps_code code = ps_recognise(chart, chart->schedule, chart->n_stages, 0, r, err);
    if (code == PS_OK && r->schedule == NULL) {
        return ps_fail_said(
            err, PS_NOTHING,
            "the measured schedule was not recognised, so its durations cannot be taken over "
            "(name it with --pp-type)",
            "未识别出实测调度，无法沿用其时长（用 --pp-type 指定）");
    }
    if (code == PS_OK && !chart->labels_are_exact && (r->schedule->takes & PS_TAKES_TAIL) != 0) {
        r->params.tail_full = tail_is_whole(chart);
    }
    return code;
}

ps_code ps_recognise_for_theory(const ps_chart *chart, ps_recognised *r, ps_err *err) {
    ps_code code = ps_recognise_nearest(chart, r, err);
    double agreement = code == PS_OK ? ps_recognised_agreement(r) : 1;
    if (agreement < PS_MIN_AGREEMENT) {
        char why[PS_UNRECOGNISED_TEXT];
        const ps_schedule *nearest = r->schedule;
        r->schedule = NULL;
        char chinese[PS_UNRECOGNISED_TEXT];
        return ps_fail_said(err, PS_NOTHING, "%s%.0s, so its durations cannot be taken over",
                            "%.0s%s，无法沿用其时长",
                            ps_unrecognised_text(PS_ENGLISH, nearest, agreement, why),
                            ps_unrecognised_text(PS_CHINESE, nearest, agreement, chinese));
    }
    return code;
}

ps_chart *ps_theory_of(const ps_chart *chart, const ps_schedule *schedule, ps_err *err) {
    ps_recognised r;
    return ps_recognise_for_theory(chart, &r, err) == PS_OK
               ? ps_theory_chart(chart, &r, schedule, err)
               : NULL;
}

bool ps_replay_assumes_weights(const ps_chart *chart, const ps_table *replay, size_t row) {
    const char *text = ps_table_cell(replay, row, 0)->u.text;
    char name[64];
    bool are_apart = false;
    /* What a row adds to the name stands after it: "interleaved-zb, 2 chunks". */
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " ,"), text);
    const ps_schedule *schedule = ps_schedule_find(name);
    for (size_t i = 0; !are_apart && i < chart->n_ops; i++) {
        are_apart = chart->ops[i].kind == PS_OP_BW;
    }
    return !are_apart && schedule != NULL && schedule->splits;
}

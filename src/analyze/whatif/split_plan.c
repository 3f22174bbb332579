#include "analyze/whatif/split_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"

/* Up to so many splits all are simulated; beyond, the best by the slowest stage and its neighbours. */
#define MOST_EXHAUSTIVE 500
#define MOST_ROUNDS 64

/* --- what was given -------------------------------------------------------------------------------------------------- */

static ps_code fail_split(const char *split, const char *why, ps_err *err) {
    return ps_fail(err, PS_USAGE, "'%.80s': %s", split, why);
}

ps_code ps_split_plan_read(const char *split, int32_t n_stages, ps_split_plan *p, ps_err *err) {
    *p = (ps_split_plan){.n_stages = n_stages};
    if (n_stages > PS_PLAN_STAGES) {
        return ps_fail(err, PS_RANGE, "more than %d stages", PS_PLAN_STAGES);
    }
    const char *at = split;
    int32_t n = 0;
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        int64_t layers = 0;
        if (!ps_parse_i64(at, length, &layers) || layers < 0 || layers > 4096) {
            return fail_split(
                split, "give the layers of each stage (8,8,8,8), or of the whole model (32)", err);
        }
        if (n == p->n_stages) {
            return ps_fail(err, PS_USAGE, "'%.80s': the job has %d stages", split,
                           (int)p->n_stages);
        }
        p->now[n++] = (int32_t)layers;
        at += length + (at[length] == ',');
    }
    if (n == 1 && p->n_stages > 1) {
        int32_t all = p->now[0];
        if (all % p->n_stages != 0) {
            return fail_split(split, "not the same number on each stage: give them one by one",
                              err);
        }
        for (n = 0; n < p->n_stages; n++) {
            p->now[n] = all / p->n_stages;
        }
    }
    if (n != p->n_stages) {
        return ps_fail(err, PS_USAGE, "'%.80s': the job has %d stages", split, (int)p->n_stages);
    }
    for (int32_t s = 0; s < p->n_stages; s++) {
        p->n_layers += p->now[s];
    }
    return p->n_layers > 0 ? PS_OK : fail_split(split, "no layer", err);
}

/* --- pieces ------------------------------------------------------------------------------------------------------- */

/* What each worker computes for one microbatch into worker_ns; of a stage the median of its workers, so that a slow machine does
 * not count as layers. */
static ps_code measure_stages(const ps_job_steps *js, int32_t n_ways, ps_split_plan *p,
                              double *worker_ns, ps_err *err) {
    double *forwards = ps_calloc(js->n_workers + 1, sizeof *forwards);
    int64_t *of_stage = ps_calloc(js->n_workers + 1, sizeof *of_stage);
    p->n_chunks = 1;
    bool ok = forwards != NULL && of_stage != NULL;
    for (size_t s = 0; ok && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
            const ps_job_op *op = &step->ops[i];
            if ((PS_JOB_COMPUTING >> op->kind & 1) != 0) {
                worker_ns[op->worker] += (double)step->duration_ns[i];
                forwards[op->worker] += op->kind == PS_WORKER_FORWARD || op->kind == PS_WORKER_PAIR;
                p->n_chunks = op->chunk >= p->n_chunks ? op->chunk + 1 : p->n_chunks;
            }
        }
    }
    ps_code code = ok ? PS_OK : ps_fail_nomem(err);
    for (int32_t s = 0; code == PS_OK && s < p->n_stages; s++) {
        size_t n = 0;
        for (size_t w = 0; w < js->n_workers; w++) {
            if (js->workers[w].stage == s && forwards[w] > 0) {
                worker_ns[w] = worker_ns[w] / forwards[w] * p->n_chunks / n_ways;
                of_stage[n++] = llround(worker_ns[w]);
            }
        }
        p->stage_ns[s] = (double)ps_median_i64(of_stage, n);
        if (!(p->stage_ns[s] > 0)) {
            code = ps_fail(err, PS_NOTHING, "stage %d computes nothing", (int)s);
        }
    }
    ps_free(forwards);
    ps_free(of_stage);
    return code;
}

static bool is_end_stage(const ps_split_plan *p, const ps_split_shape *shape, int32_t s) {
    return s == 0 || (s == p->n_stages - 1 && !shape->ends_on_first);
}

/* Layers whose time a device has for one microbatch: with two ways the mean of the stages that lie on it. */
static double layers_on(const ps_split_plan *p, const ps_split_shape *shape, int32_t s) {
    int32_t other = shape->n_ways > 1 ? p->n_stages - 1 - s : s;
    return (p->now[s] + p->now[other]) / 2.0;
}

/* A layer by the stages between the ends, the ends by what they take longer. Where an end takes less than its layers would, they are
 * faster there. */
static ps_code find_split_pieces(ps_split_plan *p, const ps_split_shape *shape, const char *split,
                                 ps_err *err) {
    int64_t of_layer[PS_PLAN_STAGES];
    size_t n = 0;
    int32_t last = p->n_stages - 1;
    bool between = last > (shape->ends_on_first ? 0 : 1);
    for (int32_t s = 0; s <= last; s++) {
        if (layers_on(p, shape, s) > 0 && (!between || !is_end_stage(p, shape, s))) {
            of_layer[n++] = llround(p->stage_ns[s] / layers_on(p, shape, s));
        }
    }
    if (n == 0) {
        return fail_split(split, "no stage between the ends has a layer", err);
    }
    p->layer_ns = (double)ps_median_i64(of_layer, n);
    p->spread = between ? (double)(of_layer[n - 1] - of_layer[0]) / p->layer_ns : 0;
    p->layer_ns = between ? p->layer_ns : (double)of_layer[0];
    for (int32_t s = 0; s <= last; s++) {
        double layers = layers_on(p, shape, s);
        double own = layers > 0 ? p->stage_ns[s] / layers : p->layer_ns;
        bool is_median = is_end_stage(p, shape, s) && own > p->layer_ns;
        p->layer_of[s] = is_median ? p->layer_ns : own;
        double more = p->stage_ns[s] - layers * p->layer_of[s];
        p->more_ns[s] = more > 0 ? more : 0;
    }
    p->first_ns = p->more_ns[0];
    p->last_ns = last > 0 ? p->more_ns[last] : 0;
    return PS_OK;
}

double ps_split_plan_stage_ns(const ps_split_plan *p, int32_t stage, int32_t layers) {
    return layers * p->layer_of[stage] + p->more_ns[stage];
}

/* --- search ------------------------------------------------------------------------------------------------------- */

typedef struct search {
    const ps_job_steps *js;
    ps_split_plan *p;
    const double *worker_ns; /* [n_workers] of a microbatch */
    double *factors;         /* [n_workers] */
    int32_t most[PS_PLAN_STAGES];
    ps_err *err;
} search;

static ps_code simulate_factors(search *x, double *step_ns) {
    static const int64_t UNUSED[PS_N_WORKER_OPS];
    const ps_job_question q = {.inverted = true, .computing = x->factors};
    return ps_job_ask(x->js, UNUSED, &q, step_ns, NULL, x->err);
}

/* The measured step with all workers of a stage alike, and each stage scaled to its new time. `layers` NULL: as measured. */
static ps_code simulate_split(search *x, const int32_t *layers, double *step_ns) {
    ps_split_plan *p = x->p;
    for (size_t w = 0; w < x->js->n_workers; w++) {
        int32_t s = x->js->workers[w].stage;
        double then_ns = layers != NULL ? ps_split_plan_stage_ns(p, s, layers[s]) : p->stage_ns[s];
        x->factors[w] = x->worker_ns[w] > 0 ? then_ns / x->worker_ns[w] : 0;
    }
    p->n_tried++;
    return simulate_factors(x, step_ns);
}

static ps_code try_split(search *x, const int32_t *layers, bool *is_better) {
    double step_ns = 0;
    ps_code code = simulate_split(x, layers, &step_ns);
    *is_better = code == PS_OK && step_ns < x->p->best_ns;
    if (*is_better) {
        x->p->best_ns = step_ns;
        memcpy(x->p->best, layers, (size_t)x->p->n_stages * sizeof *layers);
    }
    return code;
}

/* How many splits there are, at most MOST_EXHAUSTIVE + 1: ways to put the layers on stages. */
static size_t count_splits(const search *x) {
    int32_t n_layers = x->p->n_layers;
    size_t *ways = ps_calloc((size_t)n_layers + 1, sizeof *ways);
    if (ways == NULL) {
        return MOST_EXHAUSTIVE + 1;
    }
    ways[0] = 1;
    for (int32_t s = 0; s < x->p->n_stages; s++) {
        for (int32_t l = n_layers; l >= 0; l--) {
            size_t sum = 0;
            for (int32_t own = 0; own <= l && own <= x->most[s] && sum <= MOST_EXHAUSTIVE; own++) {
                sum += ways[l - own];
            }
            ways[l] = sum > MOST_EXHAUSTIVE ? MOST_EXHAUSTIVE + 1 : sum;
        }
    }
    size_t n = ways[n_layers];
    ps_free(ways);
    return n;
}

static ps_code try_all(search *x, int32_t *layers, int32_t stage, int32_t left) {
    bool is_better = false;
    if (stage == x->p->n_stages - 1) {
        layers[stage] = left;
        return left <= x->most[stage] ? try_split(x, layers, &is_better) : PS_OK;
    }
    ps_code code = PS_OK;
    for (int32_t own = 0; code == PS_OK && own <= left && own <= x->most[stage]; own++) {
        layers[stage] = own;
        code = try_all(x, layers, stage + 1, left - own);
    }
    return code;
}

/* The split whose slowest stage is fastest: each layer goes to the stage that is fastest with it. Exact, for a stage's time only
 * grows with its layers. */
static bool spread_layers(const search *x, int32_t *layers) {
    const ps_split_plan *p = x->p;
    for (int32_t s = 0; s < p->n_stages; s++) {
        if (x->most[s] < 0) {
            return false; /* not even what it has without layers */
        }
    }
    memset(layers, 0, (size_t)p->n_stages * sizeof *layers);
    for (int32_t l = 0; l < p->n_layers; l++) {
        int32_t best = -1;
        for (int32_t s = 0; s < p->n_stages; s++) {
            bool is_less = layers[s] < x->most[s] &&
                           (best < 0 || ps_split_plan_stage_ns(p, s, layers[s] + 1) <
                                            ps_split_plan_stage_ns(p, best, layers[best] + 1));
            best = is_less ? s : best;
        }
        if (best < 0) {
            return false;
        }
        layers[best]++;
    }
    return true;
}

/* One layer from any stage to any other, as long as that makes the step shorter. */
static ps_code improve(search *x) {
    int32_t layers[PS_PLAN_STAGES];
    int32_t n = x->p->n_stages;
    bool any = true;
    ps_code code = PS_OK;
    for (int round = 0; code == PS_OK && any && round < MOST_ROUNDS; round++) {
        int32_t base[PS_PLAN_STAGES];
        memcpy(base, x->p->best, (size_t)n * sizeof *base);
        any = false;
        for (int32_t from = 0; code == PS_OK && from < n; from++) {
            for (int32_t to = 0; code == PS_OK && to < n && base[from] > 0; to++) {
                bool is_better = false;
                if (from == to || base[to] >= x->most[to]) {
                    continue;
                }
                memcpy(layers, base, (size_t)n * sizeof *layers);
                layers[from]--;
                layers[to]++;
                code = try_split(x, layers, &is_better);
                any = any || is_better;
            }
        }
    }
    return code;
}

/* No split keeps the limits: the user's own for every stage is wrong usage, of the memory it is an answer. */
static ps_code fail_limits(search *x) {
    ps_split_plan *p = x->p;
    bool alike = true;
    for (int32_t s = 0; s < p->n_stages; s++) {
        alike = alike && x->most[s] == x->most[0];
    }
    p->is_misfit = true;
    p->best_ns = p->now_ns;
    return alike && x->most[0] >= 0
               ? ps_fail(x->err, PS_USAGE, "%d layers do not fit on %d stages of at most %d",
                         (int)p->n_layers, (int)p->n_stages, (int)x->most[0])
               : PS_OK;
}

static ps_code find_best(search *x, int32_t n_ways) {
    ps_split_plan *p = x->p;
    int32_t layers[PS_PLAN_STAGES];
    bool is_better = false;
    for (size_t w = 0; w < x->js->n_workers; w++) {
        x->factors[w] = 1;
    }
    ps_code code = simulate_factors(x, &p->real_ns);
    code = code == PS_OK ? simulate_split(x, NULL, &p->now_ns) : code;
    bool fits = true; /* what is there keeps the limit */
    for (int32_t s = 0; s < p->n_stages; s++) {
        fits = fits && p->now[s] <= x->most[s];
    }
    p->best_ns = fits ? p->now_ns : (double)INFINITY;
    memcpy(p->best, p->now, sizeof p->best);
    if (code != PS_OK || n_ways > 1) {
        p->best_ns = p->now_ns;
        return code;
    }
    if (!spread_layers(x, layers)) {
        return fail_limits(x);
    }
    p->is_exhaustive = count_splits(x) <= MOST_EXHAUSTIVE;
    if (p->is_exhaustive) {
        return try_all(x, layers, 0, p->n_layers);
    }
    code = try_split(x, layers, &is_better);
    return code == PS_OK ? improve(x) : code;
}

ps_code ps_split_plan_make(const ps_job_steps *js, const char *split, const ps_split_shape *shape,
                           ps_split_plan *out, ps_err *err) {
    ps_code code = ps_split_plan_read(split, js->n_stages, out, err);
    if (code != PS_OK) {
        return code;
    }
    double *worker_ns = ps_calloc(js->n_workers + 1, sizeof *worker_ns);
    search x = {.js = js, .p = out, .worker_ns = worker_ns, .err = err};
    int32_t n_ways = shape->n_ways > 1 ? shape->n_ways : 1;
    for (int32_t s = 0; s < out->n_stages; s++) {
        x.most[s] = shape->most != NULL ? shape->most[s] : out->n_layers;
    }
    x.factors = ps_calloc(js->n_workers + 1, sizeof *x.factors);
    code = worker_ns != NULL && x.factors != NULL ? PS_OK : ps_fail_nomem(err);
    code = code == PS_OK ? measure_stages(js, n_ways, out, worker_ns, err) : code;
    code = code == PS_OK ? find_split_pieces(out, shape, split, err) : code;
    code = code == PS_OK ? find_best(&x, n_ways) : code;
    ps_free(worker_ns);
    ps_free(x.factors);
    return code;
}

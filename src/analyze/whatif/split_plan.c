#include "analyze/whatif/split_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/whatif/split_search.h"
#include "base/alloc.h"
#include "base/num.h"

/* So many splits may be simulated at least, however large the job. */
#define LEAST_SIMULATED 500

/* --- what was given -------------------------------------------------------------------------------------------------- */

static ps_code fail_split(const char *split, ps_said why, ps_err *err) {
    return ps_fail_said(err, PS_USAGE, "'%.80s': %s%.0s", "“%.80s”：%.0s%s", split,
                        why.in[PS_ENGLISH], why.in[PS_CHINESE]);
}

ps_code ps_split_plan_read(const char *split, int32_t n_stages, ps_split_plan *p, ps_err *err) {
    *p = (ps_split_plan){.n_stages = n_stages};
    if (n_stages > PS_PLAN_STAGES) {
        return ps_fail_said(err, PS_RANGE, "more than %d stages", "超过 %d 个阶段", PS_PLAN_STAGES);
    }
    const char *at = split;
    int32_t n = 0;
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        int64_t layers = 0;
        if (!ps_parse_i64(at, length, &layers) || layers < 0 || layers > 4096) {
            return fail_split(
                split,
                ((ps_said){{"give the layers of each stage (8,8,8,8), or of the whole model (32)",
                            "请给出各阶段的层数（8,8,8,8），或整个模型的层数（32）"}}),
                err);
        }
        if (n == p->n_stages) {
            return ps_fail_said(err, PS_USAGE, "'%.80s': the job has %d stages",
                                "“%.80s”：作业有 %d 个阶段", split, (int)p->n_stages);
        }
        p->now[n++] = (int32_t)layers;
        at += length + (at[length] == ',');
    }
    if (n == 1 && p->n_stages > 1) {
        int32_t all = p->now[0];
        if (all % p->n_stages != 0) {
            return fail_split(split,
                              ((ps_said){{"not the same number on each stage: give them one by one",
                                          "各阶段层数不同：请逐个给出"}}),
                              err);
        }
        for (n = 0; n < p->n_stages; n++) {
            p->now[n] = all / p->n_stages;
        }
    }
    if (n != p->n_stages) {
        return ps_fail_said(err, PS_USAGE, "'%.80s': the job has %d stages",
                            "“%.80s”：作业有 %d 个阶段", split, (int)p->n_stages);
    }
    for (int32_t s = 0; s < p->n_stages; s++) {
        p->n_layers += p->now[s];
    }
    return p->n_layers > 0 ? PS_OK : fail_split(split, ((ps_said){{"no layer", "没有层"}}), err);
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
        return fail_split(
            split, ((ps_said){{"no stage between the ends has a layer", "两端之间没有阶段含有层"}}),
            err);
    }
    p->layer_ns = (double)ps_median_i64(of_layer, n);
    p->spread = between ? (double)(of_layer[n - 1] - of_layer[0]) / p->layer_ns : 0;
    p->layer_least_ns = (double)of_layer[0];
    p->layer_most_ns = between ? (double)of_layer[n - 1] : p->layer_least_ns;
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

/* The measured ops as a judge of splits. */
typedef struct measured {
    const ps_job_steps *js;
    ps_split_plan *p;
    double *worker_ns, *factors, *path_ns; /* [n_workers]; worker_ns: of a microbatch */
    int32_t most[PS_PLAN_STAGES];
    int32_t least;
} measured;

static ps_code simulate_factors(measured *x, double *step_ns, double *path_ns, ps_err *err) {
    static const int64_t UNUSED[PS_N_WORKER_OPS];
    const ps_job_question q = {.inverted = true, .computing = x->factors};
    return ps_job_ask_path(x->js, UNUSED, &q, step_ns, path_ns, err);
}

/* The measured step with all workers of a stage alike, and each stage scaled to its new time. `layers` NULL: as measured. */
static ps_code step_as_measured(void *about, const int32_t *layers, int64_t *coef, int64_t *step_ns,
                                ps_err *err) {
    measured *x = about;
    ps_split_plan *p = x->p;
    double mean_ns = 0;
    for (size_t w = 0; w < x->js->n_workers; w++) {
        int32_t s = x->js->workers[w].stage;
        double then_ns = layers != NULL ? ps_split_plan_stage_ns(p, s, layers[s]) : p->stage_ns[s];
        x->factors[w] = x->worker_ns[w] > 0 ? then_ns / x->worker_ns[w] : 0;
        x->path_ns[w] = 0;
    }
    ps_code code = simulate_factors(x, &mean_ns, x->path_ns, err);
    *step_ns = llround(mean_ns);
    for (int32_t s = 0; code == PS_OK && coef != NULL && s < p->n_stages; s++) {
        double grows_ns = 0;
        for (size_t w = 0; w < x->js->n_workers; w++) {
            bool is_in = x->js->workers[w].stage == s && x->worker_ns[w] > 0;
            grows_ns += is_in ? x->path_ns[w] / x->worker_ns[w] * p->layer_of[s] : 0;
        }
        coef[s] = llround(grows_ns / (double)x->js->n_steps);
    }
    return code;
}

static bool stage_keeps_limit(void *about, const int32_t *layers, int32_t stage,
                              ps_split_limit *broken) {
    const measured *x = about;
    bool keeps = layers[stage] <= x->most[stage];
    if (!keeps && broken != NULL) {
        broken->coef[stage] = 1;
        broken->limit = x->most[stage];
    }
    return keeps;
}

static int32_t piece_of_stage(void *about, const int32_t *layers, int32_t stage) {
    (void)about;
    (void)layers;
    return stage;
}

static bool stage_busy(void *about, const int32_t *layers, int32_t stage, int64_t *busy_ns) {
    const measured *x = about;
    *busy_ns = llround(ps_split_plan_stage_ns(x->p, stage, layers[stage]));
    return stage_keeps_limit(about, layers, stage, NULL);
}

/* No split keeps the limits: the user's own for every stage is wrong usage, of the memory it is an answer. */
static ps_code fail_limits(measured *x, ps_err *err) {
    ps_split_plan *p = x->p;
    bool alike = true;
    for (int32_t s = 0; s < p->n_stages; s++) {
        alike = alike && x->most[s] == x->most[0];
    }
    p->is_misfit = true;
    return alike && x->most[0] >= 0
               ? ps_fail_said(err, PS_USAGE, "%d layers do not fit on %d stages of at most %d",
                              "%d 层放不进 %d 个最多 %d 层的阶段", (int)p->n_layers,
                              (int)p->n_stages, (int)x->most[0])
               : PS_OK;
}

static size_t n_ops_of_steps(const ps_job_steps *js) {
    size_t n = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        n += ps_job_step_n_ops(&js->steps[s]);
    }
    return n;
}

static ps_code search_splits(measured *x, ps_err *err) {
    ps_split_plan *p = x->p;
    ps_layer_split found;
    ps_err why = PS_ERR_INIT;
    const ps_split_judge judge = {.about = x,
                                  .n_pieces = p->n_stages,
                                  .n_layers = p->n_layers,
                                  .n_places = p->n_stages,
                                  .least = x->least,
                                  .now = p->now,
                                  .cost = n_ops_of_steps(x->js) * PS_SPLIT_OP_WORK,
                                  .step = step_as_measured,
                                  .keeps_limit = stage_keeps_limit,
                                  .next_piece = piece_of_stage,
                                  .busy = stage_busy};
    ps_code code =
        ps_split_search(&judge, PS_SPLIT_WORK + LEAST_SIMULATED * judge.cost, &found, &why);
    p->n_tried = found.n_tried;
    if (code == PS_OK) {
        memcpy(p->best, found.layers, (size_t)p->n_stages * sizeof *p->best);
        p->best_ns = (double)found.step_ns;
        p->is_proven = found.is_proven;
    } else if (code == PS_NOTHING) {
        code = fail_limits(x, err);
    } else if (err != NULL) {
        *err = why;
    }
    ps_layer_split_fini(&found);
    return code;
}

static ps_code find_best(measured *x, int32_t n_ways, ps_err *err) {
    ps_split_plan *p = x->p;
    int64_t now_ns = 0;
    for (size_t w = 0; w < x->js->n_workers; w++) {
        x->factors[w] = 1;
    }
    ps_code code = simulate_factors(x, &p->real_ns, NULL, err);
    code = code == PS_OK ? step_as_measured(x, NULL, NULL, &now_ns, err) : code;
    p->now_ns = p->best_ns = (double)now_ns;
    memcpy(p->best, p->now, sizeof p->best);
    return code == PS_OK && n_ways == 1 ? search_splits(x, err) : code;
}

ps_code ps_split_plan_make(const ps_job_steps *js, const char *split, const ps_split_shape *shape,
                           ps_split_plan *out, ps_err *err) {
    ps_code code = ps_split_plan_read(split, js->n_stages, out, err);
    if (code != PS_OK) {
        return code;
    }
    measured x = {.js = js,
                  .p = out,
                  .least = shape->least,
                  .worker_ns = ps_calloc(js->n_workers + 1, sizeof *x.worker_ns),
                  .factors = ps_calloc(js->n_workers + 1, sizeof *x.factors),
                  .path_ns = ps_calloc(js->n_workers + 1, sizeof *x.path_ns)};
    int32_t n_ways = shape->n_ways > 1 ? shape->n_ways : 1;
    for (int32_t s = 0; s < out->n_stages; s++) {
        x.most[s] = shape->most != NULL ? shape->most[s] : out->n_layers;
    }
    bool ok = x.worker_ns != NULL && x.factors != NULL && x.path_ns != NULL;
    code = ok ? measure_stages(js, n_ways, out, x.worker_ns, err) : ps_fail_nomem(err);
    code = code == PS_OK ? find_split_pieces(out, shape, split, err) : code;
    code = code == PS_OK ? find_best(&x, n_ways, err) : code;
    out->is_even = out->n_chunks > 1;
    for (int32_t s = 0; code == PS_OK && s < out->n_stages; s++) {
        out->then_ns[s] = ps_split_plan_stage_ns(out, s, out->best[s]);
    }
    ps_free(x.worker_ns);
    ps_free(x.factors);
    ps_free(x.path_ns);
    return code;
}

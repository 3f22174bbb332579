#include "analyze/whatif/whatif.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

/* Of the workers that are called the slowest ones. */
#define WORST_SHARE 0.03

static const struct {
    const char *name;
    uint32_t ops;
} KINDS[PS_N_WHATIF_KINDS] = {
#define X(kind, text, bits) [kind] = {text, bits},
    PS_WHATIF_KINDS(X)
#undef X
};

const char *ps_whatif_kind_name(ps_whatif_kind kind) {
    return KINDS[kind].name;
}

uint32_t ps_whatif_kind_ops(ps_whatif_kind kind) {
    return KINDS[kind].ops;
}

double ps_whatif_share(const ps_whatif *w, const ps_whatif_part *part) {
    double slower = w->real_ns - w->ideal_ns;
    return slower > 0 ? (w->real_ns - part->without_ns) / slower : (double)NAN;
}

bool ps_whatif_explains(const ps_whatif *w) {
    return fabs(w->real_ns / w->measured_ns - 1) <= PS_WHATIF_UNEXPLAINED;
}

double ps_whatif_worker_slowdown(const ps_whatif *w, size_t worker) {
    const ps_job_worker *at = &w->js->workers[worker];
    double stage = ps_whatif_slowdown(w, &w->stages[at->stage]);
    double replica = ps_whatif_slowdown(w, &w->replicas[at->replica]);
    return stage < replica ? stage : replica;
}

/* --- parts --------------------------------------------------------------------------------------------------------- */

static ps_code ask_part(const ps_whatif *w, const ps_job_part *part, ps_whatif_part *out,
                        ps_err *err) {
    ps_job_question q = {.parts = part, .n_parts = 1};
    ps_code code = ps_job_ask(w->js, w->ideal_of, &q, &out->alone_ns, NULL, NULL, err);
    q.inverted = true;
    return code == PS_OK ? ps_job_ask(w->js, w->ideal_of, &q, &out->without_ns, NULL, NULL, err)
                         : code;
}

static ps_code measure_kinds(ps_whatif *w, ps_err *err) {
    uint32_t there = 0;
    ps_code code = PS_OK;
    for (size_t i = 0; i < w->js->n_ops; i++) {
        there |= 1u << w->js->ops[i].kind;
    }
    for (size_t k = 0; code == PS_OK && k < PS_N_WHATIF_KINDS; k++) {
        const ps_job_part part = {.kinds = KINDS[k].ops};
        w->has_kind[k] = (there & KINDS[k].ops) != 0;
        code = w->has_kind[k] ? ask_part(w, &part, &w->kinds[k], err) : PS_OK;
    }
    return code;
}

/* Stages or replicas: the workers whose number is i. */
static ps_code measure_places(ps_whatif *w, bool of_stages, bool *in, ps_err *err) {
    const ps_job_steps *js = w->js;
    int32_t n = of_stages ? js->n_stages : js->n_replicas;
    ps_code code = PS_OK;
    for (int32_t i = 0; code == PS_OK && i < n; i++) {
        for (size_t k = 0; k < js->n_workers; k++) {
            in[k] = (of_stages ? js->workers[k].stage : js->workers[k].replica) == i;
        }
        const ps_job_part part = {.workers = in};
        code = ask_part(w, &part, of_stages ? &w->stages[i] : &w->replicas[i], err);
    }
    return code;
}

/* The slowest 3 % of the workers, at least one; of equal ones the lower rank. */
static ps_code measure_worst(ps_whatif *w, ps_err *err) {
    const ps_job_steps *js = w->js;
    size_t n = (size_t)ceil(WORST_SHARE * (double)js->n_workers - 1e-9);
    n = n > 0 ? n : 1;
    for (w->n_worst = 0; w->n_worst < n; w->n_worst++) {
        size_t worst = SIZE_MAX;
        for (size_t k = 0; k < js->n_workers; k++) {
            bool is_worse = worst == SIZE_MAX ||
                            ps_whatif_worker_slowdown(w, k) > ps_whatif_worker_slowdown(w, worst);
            worst = !w->is_worst[k] && is_worse ? k : worst;
        }
        w->is_worst[worst] = true;
    }
    const ps_job_part part = {.workers = w->is_worst};
    return ask_part(w, &part, &w->worst, err);
}

static ps_code ask_without(const ps_whatif *w, const ps_job_part *part, double *step_ns,
                           ps_err *err) {
    const ps_job_question q = {.parts = part, .n_parts = 1, .inverted = true};
    return ps_job_ask(w->js, w->ideal_of, &q, step_ns, NULL, NULL, err);
}

/* The step without what these workers compute longer. */
static ps_code ask_without_computing(const ps_whatif *w, const bool *workers, double *step_ns,
                                     ps_err *err) {
    const ps_job_part part = {.workers = workers, .kinds = PS_JOB_COMPUTING};
    return ask_without(w, &part, step_ns, err);
}

static ps_code measure_transfers(ps_whatif *w, ps_err *err) {
    const ps_job_part part = {.kinds = KINDS[PS_WHATIF_FORWARD_COMM].ops |
                                       KINDS[PS_WHATIF_BACKWARD_COMM].ops};
    return ask_without(w, &part, &w->without_transfers_ns, err);
}

/* What a stage costs besides the slowest workers, which may be its own. */
static ps_code measure_computing(ps_whatif *w, bool *in, ps_err *err) {
    const ps_job_steps *js = w->js;
    ps_code code = ask_without_computing(w, w->is_worst, &w->worst_computing_ns, err);
    for (int32_t s = 0; code == PS_OK && s < js->n_stages; s++) {
        for (size_t k = 0; k < js->n_workers; k++) {
            in[k] = js->workers[k].stage == s;
        }
        code = ask_without_computing(w, in, &w->stage_computing_ns[s], err);
        for (size_t k = 0; k < js->n_workers; k++) {
            in[k] = in[k] || w->is_worst[k];
        }
        code = code == PS_OK ? ask_without_computing(w, in, &w->beside_worst_ns[s], err) : code;
    }
    return code;
}

/* --- stages that compute equally long --------------------------------------------------------------------------------- */

/* Layers that are moved take their time elsewhere: the mean of the stages stays. */
static ps_code measure_even_stages(ps_whatif *w, ps_err *err) {
    const ps_job_steps *js = w->js;
    double *of_stage = ps_calloc((size_t)js->n_stages + 1, sizeof *of_stage);
    double *factors = ps_calloc(js->n_workers + 1, sizeof *factors);
    double sum = 0;
    ps_code code = of_stage != NULL && factors != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t i = 0; code == PS_OK && i < js->n_ops; i++) {
        const ps_job_op *op = &js->ops[i];
        if ((PS_JOB_COMPUTING >> op->kind & 1) != 0) {
            of_stage[js->workers[op->worker].stage] += (double)op->duration_ns;
            sum += (double)op->duration_ns;
        }
    }
    for (size_t k = 0; code == PS_OK && k < js->n_workers; k++) {
        double own = of_stage[js->workers[k].stage];
        factors[k] = own > 0 ? sum / (double)js->n_stages / own : 1;
    }
    const ps_job_question q = {.inverted = true, .computing = factors};
    code =
        code == PS_OK ? ps_job_ask(js, w->ideal_of, &q, &w->even_stages_ns, NULL, NULL, err) : code;
    ps_free(of_stage);
    ps_free(factors);
    return code;
}

/* --- lengths of microbatches ------------------------------------------------------------------------------------------ */

typedef struct moments {
    double n, x, y, xx, yy, xy;
} moments;

static double correlation_of(const moments *m) {
    double vx = m->n * m->xx - m->x * m->x;
    double vy = m->n * m->yy - m->y * m->y;
    return m->n > 2 && vx > 0 && vy > 0 ? (m->n * m->xy - m->x * m->y) / sqrt(vx * vy)
                                        : (double)NAN;
}

/* Of one step: the forward of each microbatch and chunk of a worker with its backward. Both are in the order in which they ran, so
 * that few stand between them. */
static void add_pairs(const ps_job_op *ops, uint32_t n, moments *of_worker) {
    for (uint32_t i = 0; i < n; i++) {
        if (ops[i].kind != PS_WORKER_FORWARD || ops[i].microbatch < 0) {
            continue;
        }
        for (uint32_t j = i + 1; j < n && ops[j].worker == ops[i].worker; j++) {
            if (ops[j].kind == PS_WORKER_BACKWARD && ops[j].microbatch == ops[i].microbatch &&
                ops[j].chunk == ops[i].chunk) {
                double x = (double)ops[i].duration_ns / 1e6;
                double y = (double)ops[j].duration_ns / 1e6;
                moments *m = &of_worker[ops[i].worker];
                *m = (moments){m->n + 1,      m->x + x,      m->y + y,
                               m->xx + x * x, m->yy + y * y, m->xy + x * y};
                break;
            }
        }
    }
}

static int order_whatif_real(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

/* The median over the workers of Pearson's r. */
static ps_code correlate_lengths(ps_whatif *w, ps_err *err) {
    const ps_job_steps *js = w->js;
    moments *of_worker = ps_calloc(js->n_workers + 1, sizeof *of_worker);
    double *r = ps_calloc(js->n_workers + 1, sizeof *r);
    size_t n = 0;
    if (of_worker == NULL || r == NULL) {
        ps_free(of_worker);
        ps_free(r);
        return ps_fail_nomem(err);
    }
    for (size_t s = 0; s < js->n_steps; s++) {
        add_pairs(&js->ops[js->steps[s].first], ps_step_graph_n_ops(js->steps[s].graph), of_worker);
    }
    for (size_t k = 0; k < js->n_workers; k++) {
        double one = correlation_of(&of_worker[k]);
        if (!isnan(one)) {
            r[n++] = one;
        }
    }
    if (n > 1) {
        qsort(r, n, sizeof *r, order_whatif_real);
    }
    w->length_correlation = n > 0 ? (r[(n - 1) / 2] + r[n / 2]) / 2 : (double)NAN;
    ps_free(of_worker);
    ps_free(r);
    return PS_OK;
}

static ps_code measure_lengths(ps_whatif *w, ps_err *err) {
    const ps_job_question alike = {.inverted = true, .is_alike = true};
    w->alike_ns = (double)NAN;
    ps_code code = correlate_lengths(w, err);
    return code == PS_OK && !isnan(w->length_correlation)
               ? ps_job_ask(w->js, w->ideal_of, &alike, &w->alike_ns, NULL, NULL, err)
               : code;
}

/* --- all together -------------------------------------------------------------------------------------------------- */

static ps_code measure_whole(ps_whatif *w, ps_err *err) {
    const ps_job_question real = {.inverted = true};
    const ps_job_question ideal = {.inverted = false};
    if (!ps_job_ideal(w->js, w->ideal_of)) {
        return ps_fail_nomem(err);
    }
    w->measured_ns = ps_job_measured(w->js);
    ps_code code = ps_job_ask(w->js, w->ideal_of, &real, &w->real_ns, w->step_real_ns, NULL, err);
    code = code == PS_OK
               ? ps_job_ask(w->js, w->ideal_of, &ideal, &w->ideal_ns, w->step_ideal_ns, NULL, err)
               : code;
    return code == PS_OK && !(w->ideal_ns > 0) ? ps_fail(err, PS_NOTHING, "no op takes any time")
                                               : code;
}

ps_code ps_whatif_measure(const ps_job_steps *js, ps_whatif *out, ps_err *err) {
    *out = (ps_whatif){.js = js};
    bool *in = ps_calloc(js->n_workers + 1, sizeof *in);
    out->step_real_ns = ps_calloc(js->n_steps + 1, sizeof *out->step_real_ns);
    out->step_ideal_ns = ps_calloc(js->n_steps + 1, sizeof *out->step_ideal_ns);
    out->stages = ps_calloc((size_t)js->n_stages + 1, sizeof *out->stages);
    out->replicas = ps_calloc((size_t)js->n_replicas + 1, sizeof *out->replicas);
    out->is_worst = ps_calloc(js->n_workers + 1, sizeof *out->is_worst);
    out->stage_computing_ns = ps_calloc((size_t)js->n_stages + 1, sizeof *out->stage_computing_ns);
    out->beside_worst_ns = ps_calloc((size_t)js->n_stages + 1, sizeof *out->beside_worst_ns);
    bool ok = in != NULL && out->step_real_ns != NULL && out->step_ideal_ns != NULL &&
              out->stages != NULL && out->replicas != NULL && out->is_worst != NULL &&
              out->stage_computing_ns != NULL && out->beside_worst_ns != NULL;
    ps_code code = ok ? measure_whole(out, err) : ps_fail_nomem(err);
    code = code == PS_OK ? measure_kinds(out, err) : code;
    code = code == PS_OK ? measure_places(out, true, in, err) : code;
    code = code == PS_OK ? measure_places(out, false, in, err) : code;
    code = code == PS_OK ? measure_worst(out, err) : code;
    code = code == PS_OK ? measure_computing(out, in, err) : code;
    code = code == PS_OK ? measure_transfers(out, err) : code;
    code = code == PS_OK ? measure_even_stages(out, err) : code;
    code = code == PS_OK ? measure_lengths(out, err) : code;
    if (code == PS_OK) {
        out->last_stage = out->stages[js->n_stages - 1];
    }
    ps_free(in);
    return code;
}

void ps_whatif_fini(ps_whatif *w) {
    ps_free(w->step_real_ns);
    ps_free(w->step_ideal_ns);
    ps_free(w->stages);
    ps_free(w->replicas);
    ps_free(w->is_worst);
    ps_free(w->stage_computing_ns);
    ps_free(w->beside_worst_ns);
    *w = (ps_whatif){0};
}

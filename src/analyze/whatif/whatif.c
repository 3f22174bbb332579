#include "analyze/whatif/whatif.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/whatif/whatif_lengths.h"
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

/* --- questions ----------------------------------------------------------------------------------------------------- */

/* Questions that are asked together: what they mean stays where it is until then. */
typedef struct questions {
    const ps_whatif *w;
    ps_job_asked *asked;
    ps_job_part *parts; /* of each question one */
    bool *workers;      /* a row of n_workers for each */
    size_t n, cap;
} questions;

static bool questions_init(questions *q, const ps_whatif *w, size_t most) {
    *q = (questions){.w = w, .cap = most};
    q->asked = ps_calloc(most, sizeof *q->asked);
    q->parts = ps_calloc(most, sizeof *q->parts);
    q->workers = ps_calloc(most, w->js->n_workers + 1);
    return q->asked != NULL && q->parts != NULL && q->workers != NULL;
}

static ps_code ask_questions(questions *q, ps_err *err) {
    return ps_job_ask_all(q->w->lanes, q->w->ideal_of, q->asked, q->n, err);
}

static void questions_fini(questions *q) {
    ps_free(q->asked);
    ps_free(q->parts);
    ps_free(q->workers);
}

/* The step with these ops alone as measured, or (inverted) all but them; `in`: NULL all workers, copied. */
static void add_question(questions *q, uint32_t kinds, const bool *in, bool inverted,
                         double *step_ns) {
    size_t n = q->w->js->n_workers;
    bool *workers = q->workers + q->n * (n + 1);
    if (in != NULL) {
        memcpy(workers, in, n * sizeof *workers);
    }
    q->parts[q->n] = (ps_job_part){.workers = in != NULL ? workers : NULL, .kinds = kinds};
    q->asked[q->n] =
        (ps_job_asked){.question = {.parts = &q->parts[q->n], .n_parts = 1, .inverted = inverted},
                       .mean_ns = step_ns};
    q->n++;
}

static void add_part(questions *q, uint32_t kinds, const bool *in, ps_whatif_part *out) {
    add_question(q, kinds, in, false, &out->alone_ns);
    add_question(q, kinds, in, true, &out->without_ns);
}

/* --- parts --------------------------------------------------------------------------------------------------------- */

static void add_kinds(ps_whatif *w, questions *q) {
    uint32_t there = 0;
    for (size_t s = 0; s < w->js->n_steps; s++) {
        const ps_job_step *step = &w->js->steps[s];
        bool is_same = s > 0 && step->ops == w->js->steps[s - 1].ops;
        for (uint32_t i = 0; !is_same && i < ps_job_step_n_ops(step); i++) {
            there |= 1u << step->ops[i].kind;
        }
    }
    for (size_t k = 0; k < PS_N_WHATIF_KINDS; k++) {
        w->has_kind[k] = (there & KINDS[k].ops) != 0;
        if (w->has_kind[k]) {
            add_part(q, KINDS[k].ops, NULL, &w->kinds[k]);
        }
    }
}

static void pick_stage(const ps_job_steps *js, int32_t stage, bool *in) {
    for (size_t k = 0; k < js->n_workers; k++) {
        in[k] = js->workers[k].stage == stage;
    }
}

static void add_places(ps_whatif *w, questions *q, bool *in) {
    const ps_job_steps *js = w->js;
    for (int32_t i = 0; i < js->n_stages; i++) {
        pick_stage(js, i, in);
        add_part(q, 0, in, &w->stages[i]);
    }
    for (int32_t i = 0; i < js->n_replicas; i++) {
        for (size_t k = 0; k < js->n_workers; k++) {
            in[k] = js->workers[k].replica == i;
        }
        add_part(q, 0, in, &w->replicas[i]);
    }
}

/* The slowest 3 % of the workers, at least one; of equal ones the lower rank. */
static void find_worst(ps_whatif *w) {
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
}

/* Without what these workers compute longer; what a stage costs besides the slowest workers, which may be its own. */
static void add_computing(ps_whatif *w, questions *q, bool *in) {
    const ps_job_steps *js = w->js;
    add_question(q, PS_JOB_COMPUTING, w->is_worst, true, &w->worst_computing_ns);
    for (int32_t s = 0; s < js->n_stages; s++) {
        pick_stage(js, s, in);
        add_question(q, PS_JOB_COMPUTING, in, true, &w->stage_computing_ns[s]);
        for (size_t k = 0; k < js->n_workers; k++) {
            in[k] = in[k] || w->is_worst[k];
        }
        add_question(q, PS_JOB_COMPUTING, in, true, &w->beside_worst_ns[s]);
    }
}

/* First the whole and its parts, by which the slowest workers are found; then what is asked of those. */
static ps_code measure_parts(ps_whatif *w, bool *in, ps_err *err) {
    const ps_job_steps *js = w->js;
    questions q;
    size_t most = 2 * ((size_t)js->n_stages + (size_t)js->n_replicas + PS_N_WHATIF_KINDS) + 8;
    ps_code code = questions_init(&q, w, most) ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        add_kinds(w, &q);
        add_places(w, &q, in);
        add_question(&q, KINDS[PS_WHATIF_FORWARD_COMM].ops | KINDS[PS_WHATIF_BACKWARD_COMM].ops,
                     NULL, true, &w->without_transfers_ns);
        q.asked[q.n++] = (ps_job_asked){{.inverted = true}, &w->real_ns, w->step_real_ns};
        q.asked[q.n++] = (ps_job_asked){{.inverted = false}, &w->ideal_ns, w->step_ideal_ns};
        code = ask_questions(&q, err);
    }
    if (code == PS_OK && !(w->ideal_ns > 0)) {
        code = ps_fail_said(err, PS_NOTHING, "no op takes any time", "没有算子占用时间");
    }
    if (code == PS_OK) {
        find_worst(w);
        q.n = 0;
        add_part(&q, 0, w->is_worst, &w->worst);
        add_computing(w, &q, in);
        code = ask_questions(&q, err);
    }
    questions_fini(&q);
    return code;
}

/* --- what remedies give --------------------------------------------------------------------------------- */

/* Layers that are moved take their time elsewhere: the mean of the stages stays. And microbatches of equal length, where lengths are
 * known. */
static ps_code measure_remedies(ps_whatif *w, ps_err *err) {
    const ps_job_steps *js = w->js;
    double *of_stage = ps_calloc((size_t)js->n_stages + 1, sizeof *of_stage);
    double *factors = ps_calloc(js->n_workers + 1, sizeof *factors);
    double sum = 0;
    ps_code code = of_stage != NULL && factors != NULL ? PS_OK : ps_fail_nomem(err);
    for (size_t s = 0; code == PS_OK && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
            const ps_job_op *op = &step->ops[i];
            if ((PS_JOB_COMPUTING >> op->kind & 1) != 0) {
                of_stage[js->workers[op->worker].stage] += (double)step->duration_ns[i];
                sum += (double)step->duration_ns[i];
            }
        }
    }
    for (size_t k = 0; code == PS_OK && k < js->n_workers; k++) {
        double own = of_stage[js->workers[k].stage];
        factors[k] = own > 0 ? sum / (double)js->n_stages / own : 1;
    }
    const ps_job_asked asked[] = {
        {{.inverted = true, .computing = factors}, &w->even_stages_ns, NULL},
        {{.inverted = true, .is_alike = true}, &w->alike_ns, NULL}};
    size_t n = isnan(w->length_correlation) ? 1 : 2;
    code = code == PS_OK ? ps_job_ask_all(w->lanes, w->ideal_of, asked, n, err) : code;
    ps_free(of_stage);
    ps_free(factors);
    return code;
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
    out->lanes = ok ? ps_job_lanes_new(js) : NULL;
    ok = out->lanes != NULL && ps_job_ideal(js, out->ideal_of);
    out->measured_ns = ps_job_measured(js);
    ps_code code = ok ? measure_parts(out, in, err) : ps_fail_nomem(err);
    code = code == PS_OK ? ps_whatif_correlate(js, out->ideal_of, &out->length_correlation, err)
                         : code;
    out->alike_ns = (double)NAN;
    code = code == PS_OK ? measure_remedies(out, err) : code;
    if (code == PS_OK) {
        out->last_stage = out->stages[js->n_stages - 1];
    }
    ps_free(in);
    return code;
}

void ps_whatif_fini(ps_whatif *w) {
    ps_job_lanes_free(w->lanes);
    ps_free(w->step_real_ns);
    ps_free(w->step_ideal_ns);
    ps_free(w->stages);
    ps_free(w->replicas);
    ps_free(w->is_worst);
    ps_free(w->stage_computing_ns);
    ps_free(w->beside_worst_ns);
    *w = (ps_whatif){0};
}

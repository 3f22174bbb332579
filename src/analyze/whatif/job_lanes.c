/* Questions of parts side by side: what a job of a thousand workers is asked is hundreds of questions, and reading who waits for
 * whom takes longer than adding up. The pipelines of a step hardly wait for one another, and most questions are about one of them or ask the same of all: they
 * are the parts of ps_lanes_new(). A question that asks for other durations runs by itself.
 *
 * Steps run on several threads, each with room for one step. Where times are too long to be exact, questions are asked again one by
 * one. */
#include "analyze/whatif/job_lanes.h"

#include <string.h>

#include "base/alloc.h"
#include "base/threads.h"

struct ps_job_lanes {
    const ps_job_steps *js;
    ps_lanes **of_step; /* [n_steps] those that share a graph share them */
};

/* --- the order in which ops run ----------------------------------------------------------------------------------------- */

/* By op. NULL when memory is out. */
static uint32_t *cells_of(const ps_job_step *step) {
    uint32_t n = ps_job_step_n_ops(step);
    uint32_t *cell = ps_realloc_array(NULL, (size_t)n + 1, sizeof *cell);
    for (uint32_t i = 0; cell != NULL && i < n; i++) {
        cell[i] = step->ops[i].worker * PS_LANE_KINDS + step->ops[i].kind;
    }
    return cell;
}

/* By worker. NULL when memory is out. */
static uint32_t *pipelines_of(const ps_job_steps *js) {
    uint32_t *pipeline = ps_realloc_array(NULL, js->n_workers + 1, sizeof *pipeline);
    for (size_t w = 0; pipeline != NULL && w < js->n_workers; w++) {
        pipeline[w] = (uint32_t)(js->workers[w].replica * js->n_tp + js->workers[w].tp);
    }
    return pipeline;
}

static bool make_job_lanes(ps_job_lanes *l) {
    const ps_job_steps *js = l->js;
    uint32_t *pipeline = pipelines_of(js);
    bool ok = pipeline != NULL && l->of_step != NULL;
    for (size_t s = 0; ok && s < js->n_steps; s++) {
        if (s > 0 && js->steps[s].graph == js->steps[s - 1].graph) {
            l->of_step[s] = l->of_step[s - 1];
            continue;
        }
        uint32_t *cell = cells_of(&js->steps[s]);
        l->of_step[s] = cell != NULL ? ps_lanes_new(js->steps[s].graph, cell, pipeline) : NULL;
        ok = l->of_step[s] != NULL;
        ps_free(cell);
    }
    ps_free(pipeline);
    return ok;
}

ps_job_lanes *ps_job_lanes_new(const ps_job_steps *js) {
    ps_job_lanes *l = ps_calloc(1, sizeof *l);
    if (l != NULL) {
        *l = (ps_job_lanes){js, ps_calloc(js->n_steps + 1, sizeof(ps_lanes *))};
        if (!make_job_lanes(l)) {
            ps_job_lanes_free(l);
            l = NULL;
        }
    }
    return l;
}

void ps_job_lanes_free(ps_job_lanes *l) {
    for (size_t s = 0; l != NULL && l->of_step != NULL && s < l->js->n_steps; s++) {
        if (s == 0 || l->of_step[s] != l->of_step[s - 1]) {
            ps_lanes_free(l->of_step[s]);
        }
    }
    if (l != NULL) {
        ps_free(l->of_step);
        ps_free(l);
    }
}

/* Questions that run together: what passes between pipelines is kept for each. */
enum { MOST_LANES = 256 };

/* --- questions that run together ------------------------------------------------------------------------------------------ */

typedef struct lane_batch {
    const ps_job_asked **asked; /* [n] */
    size_t n;
    bool has_own_durations; /* it is one question: all ops take what that says */
    uint64_t *own;          /* [n_workers * PS_LANE_KINDS * ps_lane_words(n)] */
    double *ends_ns;        /* [n_steps * n] */
    bool is_exact;
} lane_batch;

typedef struct lane_asking {
    const ps_job_lanes *lanes;
    const ps_job_steps *js;
    const int64_t *ideal_ns;
    lane_batch *batches;
    size_t n_batches;
    double usual_ns[PS_LANE_KINDS];
    bool failed; /* memory is out, on some thread */
} lane_asking;

/* Cells have no chunks. */
static bool has_lane(const ps_job_question *q) {
    bool has_chunk = false;
    for (size_t p = 0; p < q->n_parts; p++) {
        has_chunk = has_chunk || q->parts[p].chunk_from_1 > 0;
    }
    return q->n_scaled == 0 && q->computing == NULL && !q->is_alike && !has_chunk;
}

/* What the ops of a cell take under question k: what was measured, or what is usual. */
static void put_own(lane_batch *b, size_t cell, size_t k, bool own) {
    uint64_t *word = &b->own[cell * ps_lane_words(b->n) + k / 64];
    *word = (*word & ~(1ULL << k % 64)) | (uint64_t)own << k % 64;
}

static void fill_part(lane_batch *b, size_t n_workers, size_t k, const ps_job_part *part,
                      bool own) {
    uint32_t kinds = part->kinds != 0 ? part->kinds : UINT32_MAX;
    for (size_t worker = 0; worker < n_workers; worker++) {
        for (size_t kind = 0;
             kind < PS_LANE_KINDS && (part->workers == NULL || part->workers[worker]); kind++) {
            if ((kinds >> kind & 1) != 0) {
                put_own(b, worker * PS_LANE_KINDS + kind, k, own);
            }
        }
    }
}

/* First what holds outside of the parts, for all questions at once: a question is mostly about a few workers. */
static bool fill_batch(const ps_job_steps *js, lane_batch *b) {
    size_t words = ps_lane_words(b->n);
    size_t n_cells = js->n_workers * PS_LANE_KINDS;
    b->own = ps_calloc((n_cells + 1) * words, sizeof *b->own);
    b->ends_ns = ps_calloc(js->n_steps * b->n + 1, sizeof *b->ends_ns);
    b->is_exact = true;
    if (b->own == NULL || b->ends_ns == NULL) {
        return false;
    }
    for (size_t k = 0; k < b->n; k++) {
        put_own(b, n_cells, k, b->has_own_durations || b->asked[k]->question.inverted);
    }
    for (size_t cell = 0; cell < n_cells; cell++) {
        memcpy(&b->own[cell * words], &b->own[n_cells * words], words * sizeof *b->own);
    }
    for (size_t k = 0; k < b->n && !b->has_own_durations; k++) {
        const ps_job_question *q = &b->asked[k]->question;
        for (size_t p = 0; p < q->n_parts; p++) {
            fill_part(b, js->n_workers, k, &q->parts[p], !q->inverted);
        }
    }
    return true;
}

/* --- running ------------------------------------------------------------------------------------------------------------- */

/* A step ends with the last of its optimizers; where there are none, with its last op. */
static uint32_t end_kinds_of(const ps_job_step *step) {
    for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
        if (step->ops[i].kind == PS_WORKER_OPTIMIZER) {
            return 1u << PS_WORKER_OPTIMIZER;
        }
    }
    return UINT32_MAX;
}

/* False when memory is out. */
static bool run_batch(const lane_asking *a, lane_batch *b, size_t s) {
    const ps_job_step *step = &a->js->steps[s];
    size_t n_ops = ps_job_step_n_ops(step);
    int64_t *asked_ns =
        b->has_own_durations ? ps_realloc_array(NULL, n_ops + 1, sizeof *asked_ns) : NULL;
    double *latest_ns = ps_realloc_array(NULL, b->n + 1, sizeof *latest_ns);
    bool ok = latest_ns != NULL && (asked_ns != NULL || !b->has_own_durations);
    if (ok && b->has_own_durations) {
        ps_job_durations(step, a->ideal_ns, &b->asked[0]->question, asked_ns);
    }
    const ps_lane_times times = {.duration_ns = asked_ns != NULL ? asked_ns : step->duration_ns,
                                 .n_lanes = b->n,
                                 .own = b->own,
                                 .usual_ns = a->usual_ns,
                                 .end_kinds = end_kinds_of(step),
                                 .lag_ns = (double)a->js->lag_ns};
    ps_lane_ends out = {&b->ends_ns[s * b->n], latest_ns};
    ok = ok && ps_lanes_run(a->lanes->of_step[s], &times, &out);
    for (size_t k = 0; ok && k < b->n; k++) {
        if (latest_ns[k] >= PS_LANES_EXACT) {
            __atomic_store_n(&b->is_exact, false, __ATOMIC_RELAXED);
        }
    }
    ps_free(asked_ns);
    ps_free(latest_ns);
    return ok;
}

static void ask_lane_step(void *context, size_t s) {
    lane_asking *a = context;
    for (size_t b = 0; b < a->n_batches; b++) {
        if (!run_batch(a, &a->batches[b], s)) {
            __atomic_store_n(&a->failed, true, __ATOMIC_RELAXED);
        }
    }
}

static ps_code run_batches(lane_asking *a, ps_err *err) {
    bool ok = true;
    for (size_t b = 0; b < a->n_batches; b++) {
        ok = fill_batch(a->js, &a->batches[b]) && ok;
    }
    if (ok) {
        ps_parallel(a->js->n_steps, ps_job_threads(ps_job_n_ops(a->js)), ask_lane_step, a);
    }
    return ok && !a->failed ? PS_OK : ps_fail_nomem(err);
}

/* --- answers ------------------------------------------------------------------------------------------------------------- */

/* In the order of the steps, whichever thread had them. */
static void answer_lane(const ps_job_steps *js, const lane_batch *b, size_t k) {
    double sum = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        double end = b->ends_ns[s * b->n + k];
        sum += end;
        if (b->asked[k]->each_ns != NULL) {
            b->asked[k]->each_ns[s] = (int64_t)end;
        }
    }
    *b->asked[k]->mean_ns = js->n_steps > 0 ? sum / (double)js->n_steps : 0;
}

static ps_code answer_batches(const lane_asking *a, ps_err *err) {
    ps_code code = PS_OK;
    for (size_t b = 0; b < a->n_batches; b++) {
        const lane_batch *batch = &a->batches[b];
        for (size_t k = 0; code == PS_OK && k < batch->n; k++) {
            const ps_job_asked *x = batch->asked[k];
            if (batch->is_exact) {
                answer_lane(a->js, batch, k);
            } else {
                code = ps_job_ask(a->js, a->ideal_ns, &x->question, x->mean_ns, x->each_ns, err);
            }
        }
    }
    return code;
}

/* Each question with durations of its own is a batch. */
static void make_batches(lane_asking *a, const ps_job_asked *asked, const ps_job_asked **places,
                         size_t n) {
    size_t n_placed = 0;
    for (size_t i = 0; i < n; i++) {
        if (has_lane(&asked[i].question)) {
            places[n_placed++] = &asked[i];
        }
    }
    for (size_t i = 0; i < n_placed; i += MOST_LANES) {
        size_t n_here = n_placed - i < MOST_LANES ? n_placed - i : MOST_LANES;
        a->batches[a->n_batches++] = (lane_batch){.asked = &places[i], .n = n_here};
    }
    for (size_t i = 0; i < n; i++) {
        if (!has_lane(&asked[i].question)) {
            places[n_placed] = &asked[i];
            a->batches[a->n_batches++] =
                (lane_batch){.asked = &places[n_placed++], .n = 1, .has_own_durations = true};
        }
    }
}

ps_code ps_job_ask_all(const ps_job_lanes *lanes, const int64_t ideal_ns[PS_N_WORKER_OPS],
                       const ps_job_asked *asked, size_t n, ps_err *err) {
    lane_asking a = {.lanes = lanes, .js = lanes->js, .ideal_ns = ideal_ns};
    const ps_job_asked **places = ps_calloc(n + 1, sizeof(const ps_job_asked *));
    a.batches = ps_calloc(n + 1, sizeof *a.batches);
    for (size_t kind = 0; kind < PS_N_WORKER_OPS; kind++) {
        a.usual_ns[kind] = (double)ideal_ns[kind];
    }
    ps_code code = places != NULL && a.batches != NULL ? PS_OK : ps_fail_nomem(err);
    if (code == PS_OK) {
        make_batches(&a, asked, places, n);
        code = run_batches(&a, err);
        code = code == PS_OK ? answer_batches(&a, err) : code;
    }
    for (size_t b = 0; b < a.n_batches; b++) {
        ps_free(a.batches[b].own);
        ps_free(a.batches[b].ends_ns);
    }
    ps_free(a.batches);
    ps_free(places);
    return code;
}

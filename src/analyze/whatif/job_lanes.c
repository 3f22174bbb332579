/* Questions of parts, PS_LANES of them side by side: what a job of a thousand workers is asked is hundreds of questions, and
 * reading who waits for whom takes longer than adding up. One that asks for other durations has a batch of its own.
 *
 * Steps run on several threads, each with room for one step. A batch whose times are too long to be exact is asked again one by
 * one. */
#include <string.h>

#include "analyze/whatif/job_steps.h"
#include "base/alloc.h"
#include "base/threads.h"

/* One batch of questions for all steps. */
typedef struct lane_batch {
    const ps_job_asked *asked[PS_LANES];
    size_t n;
    bool is_alone;   /* its durations are the question's */
    uint16_t *own;   /* [n_workers * PS_LANE_KINDS] */
    double *ends_ns; /* [n_steps * PS_LANES] */
    bool is_exact;
} lane_batch;

typedef struct lane_asking {
    const ps_job_steps *js;
    const int64_t *ideal_ns;
    lane_batch *batches;
    size_t n_batches;
    double usual_ns[PS_LANE_KINDS];
    ps_lanes *const *lanes; /* [n_steps] those that share a graph share them */
    bool failed;            /* memory is out, on some thread */
} lane_asking;

static bool has_lane(const ps_job_question *q) {
    return q->n_scaled == 0 && q->computing == NULL && !q->is_alike;
}

static bool fill_own(const ps_job_steps *js, lane_batch *b) {
    b->own = ps_calloc(js->n_workers * PS_LANE_KINDS + 1, sizeof *b->own);
    b->ends_ns = ps_calloc(js->n_steps * PS_LANES + 1, sizeof *b->ends_ns);
    b->is_exact = true;
    for (size_t cell = 0; b->own != NULL && cell < js->n_workers * PS_LANE_KINDS; cell++) {
        const ps_job_op op = {.worker = (uint32_t)(cell / PS_LANE_KINDS),
                              .kind = (uint8_t)(cell % PS_LANE_KINDS)};
        for (size_t k = 0; k < b->n; k++) {
            const ps_job_question *q = &b->asked[k]->question;
            bool in = false;
            for (size_t p = 0; !in && p < q->n_parts; p++) {
                in = ps_job_part_has(&q->parts[p], &op);
            }
            bool is_own = b->is_alone || in != q->inverted;
            b->own[cell] = (uint16_t)(b->own[cell] | is_own << k);
        }
    }
    return b->own != NULL && b->ends_ns != NULL;
}

/* One step by position. */
typedef struct lane_step {
    int64_t *duration_ns;
    int64_t *asked_ns,
        *asked_here_ns; /* of a batch with durations of its own: by op, by position */
    uint32_t *cell;
    double *room;
    uint32_t
        end_kinds; /* a step ends with the last of its optimizers; where there are none, with its last op */
} lane_step;

static bool lane_step_init(lane_step *x, const ps_job_step *step, const ps_lanes *lanes,
                           bool any_alone) {
    uint32_t n = ps_job_step_n_ops(step);
    const uint32_t *order = ps_lanes_order(lanes);
    *x = (lane_step){.end_kinds = UINT32_MAX};
    x->duration_ns = ps_realloc_array(NULL, (size_t)n + 1, sizeof *x->duration_ns);
    x->cell = ps_realloc_array(NULL, (size_t)n + 1, sizeof *x->cell);
    x->asked_ns = any_alone ? ps_realloc_array(NULL, (size_t)n + 1, sizeof *x->asked_ns) : NULL;
    x->asked_here_ns =
        any_alone ? ps_realloc_array(NULL, (size_t)n + 1, sizeof *x->asked_here_ns) : NULL;
    x->room = ps_realloc_array(NULL, ps_lanes_room(lanes) + 1, sizeof *x->room);
    if (x->duration_ns == NULL || x->cell == NULL || x->room == NULL ||
        (any_alone && (x->asked_ns == NULL || x->asked_here_ns == NULL))) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const ps_job_op *op = &step->ops[order[i]];
        x->duration_ns[i] = step->duration_ns[order[i]];
        x->cell[i] = op->worker * PS_LANE_KINDS + op->kind;
        x->end_kinds = op->kind == PS_WORKER_OPTIMIZER ? 1u << PS_WORKER_OPTIMIZER : x->end_kinds;
    }
    return true;
}

static void lane_step_fini(lane_step *x) {
    ps_free(x->duration_ns);
    ps_free(x->asked_ns);
    ps_free(x->asked_here_ns);
    ps_free(x->cell);
    ps_free(x->room);
}

/* Durations by position. */
static const int64_t *durations_of(const lane_asking *a, lane_step *x, const lane_batch *b,
                                   size_t s) {
    if (!b->is_alone) {
        return x->duration_ns;
    }
    const ps_job_step *step = &a->js->steps[s];
    const uint32_t *order = ps_lanes_order(a->lanes[s]);
    ps_job_durations(step, a->ideal_ns, &b->asked[0]->question, x->asked_ns);
    for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
        x->asked_here_ns[i] = x->asked_ns[order[i]];
    }
    return x->asked_here_ns;
}

static void ask_lane_step(void *context, size_t s) {
    lane_asking *a = context;
    bool any_alone = false;
    for (size_t b = 0; b < a->n_batches; b++) {
        any_alone = any_alone || a->batches[b].is_alone;
    }
    lane_step x;
    if (!lane_step_init(&x, &a->js->steps[s], a->lanes[s], any_alone)) {
        __atomic_store_n(&a->failed, true, __ATOMIC_RELAXED);
        lane_step_fini(&x);
        return;
    }
    for (size_t b = 0; b < a->n_batches; b++) {
        lane_batch *batch = &a->batches[b];
        const ps_lane_times times = {.duration_ns = durations_of(a, &x, batch, s),
                                     .cell = x.cell,
                                     .own = batch->own,
                                     .usual_ns = a->usual_ns,
                                     .end_kinds = x.end_kinds,
                                     .lag_ns = (double)a->js->lag_ns};
        ps_lane_ends out;
        ps_lanes_run(a->lanes[s], &times, x.room, &out);
        memcpy(&batch->ends_ns[s * PS_LANES], out.end_ns, sizeof out.end_ns);
        for (size_t k = 0; k < PS_LANES; k++) {
            if (out.latest_ns[k] >= PS_LANES_EXACT) {
                __atomic_store_n(&batch->is_exact, false, __ATOMIC_RELAXED);
            }
        }
    }
    lane_step_fini(&x);
}

/* In the order of the steps, whichever thread had them. */
static void answer_lane(const ps_job_steps *js, const lane_batch *b, size_t k) {
    double sum = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        double end = b->ends_ns[s * PS_LANES + k];
        sum += end;
        if (b->asked[k]->each_ns != NULL) {
            b->asked[k]->each_ns[s] = (int64_t)end;
        }
    }
    *b->asked[k]->mean_ns = js->n_steps > 0 ? sum / (double)js->n_steps : 0;
}

/* NULL when memory is out. */
static ps_lanes **make_lanes(const ps_job_steps *js) {
    ps_lanes **lanes = ps_calloc(js->n_steps + 1, sizeof *lanes);
    bool ok = lanes != NULL;
    for (size_t s = 0; ok && s < js->n_steps; s++) {
        bool is_same = s > 0 && js->steps[s].graph == js->steps[s - 1].graph;
        lanes[s] = is_same ? lanes[s - 1] : ps_lanes_new(js->steps[s].graph);
        ok = lanes[s] != NULL;
    }
    return lanes;
}

static bool lanes_are_made(ps_lanes *const *lanes, size_t n) {
    return lanes != NULL && (n == 0 || lanes[n - 1] != NULL);
}

static void free_lanes(ps_lanes **lanes, size_t n) {
    for (size_t s = 0; lanes != NULL && s < n; s++) {
        if (s == 0 || lanes[s] != lanes[s - 1]) {
            ps_lanes_free(lanes[s]);
        }
    }
    ps_free(lanes);
}

static ps_code run_batches(lane_asking *a, ps_err *err) {
    const ps_job_steps *js = a->js;
    bool ok = true;
    for (size_t b = 0; b < a->n_batches; b++) {
        ok = fill_own(js, &a->batches[b]) && ok;
    }
    ps_lanes **lanes = ok ? make_lanes(js) : NULL;
    a->lanes = lanes;
    ok = ok && lanes_are_made(lanes, js->n_steps);
    if (ok) {
        ps_parallel(js->n_steps, 0, ask_lane_step, a);
    }
    free_lanes(lanes, js->n_steps);
    return ok && !a->failed ? PS_OK : ps_fail_nomem(err);
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

/* The batch that the question goes to. */
static lane_batch *batch_for(lane_asking *a, const ps_job_question *q, lane_batch **open) {
    if (!has_lane(q)) {
        lane_batch *own = &a->batches[a->n_batches++];
        own->is_alone = true;
        return own;
    }
    if (*open == NULL || (*open)->n == PS_LANES) {
        *open = &a->batches[a->n_batches++];
    }
    return *open;
}

ps_code ps_job_ask_all(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                       const ps_job_asked *asked, size_t n, ps_err *err) {
    lane_asking a = {.js = js, .ideal_ns = ideal_ns};
    lane_batch *open = NULL;
    a.batches = ps_calloc(n + 1, sizeof *a.batches);
    if (a.batches == NULL) {
        return ps_fail_nomem(err);
    }
    for (size_t kind = 0; kind < PS_N_WORKER_OPS; kind++) {
        a.usual_ns[kind] = (double)ideal_ns[kind];
    }
    for (size_t i = 0; i < n; i++) {
        lane_batch *b = batch_for(&a, &asked[i].question, &open);
        b->asked[b->n++] = &asked[i];
    }
    ps_code code = n > 0 ? run_batches(&a, err) : PS_OK;
    code = code == PS_OK ? answer_batches(&a, err) : code;
    for (size_t b = 0; b < a.n_batches; b++) {
        ps_free(a.batches[b].own);
        ps_free(a.batches[b].ends_ns);
    }
    ps_free(a.batches);
    return code;
}

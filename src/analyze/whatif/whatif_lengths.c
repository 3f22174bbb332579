#include "analyze/whatif/whatif_lengths.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/threads.h"

typedef struct moments {
    double n, x, y, xx, yy, xy;
} moments;

static void add_moments(moments *m, double x, double y) {
    *m = (moments){m->n + 1, m->x + x, m->y + y, m->xx + x * x, m->yy + y * y, m->xy + x * y};
}

static double correlation_of(const moments *m) {
    double vx = m->n * m->xx - m->x * m->x;
    double vy = m->n * m->yy - m->y * m->y;
    return m->n > 2 && vx > 0 && vy > 0 ? (m->n * m->xy - m->x * m->y) / sqrt(vx * vy)
                                        : (double)NAN;
}

/* --- forwards and backwards that run alone ------------------------------------------------------------------------------ */

static bool is_backward_of(const ps_job_op *op, const ps_job_op *forward) {
    return (op->kind == PS_WORKER_BACKWARD || op->kind == PS_WORKER_INPUT) &&
           op->microbatch == forward->microbatch && op->chunk == forward->chunk;
}

typedef struct alone {
    const ps_job_steps *js;
    moments *of_worker;
} alone;

/* The first op of the worker, or of one behind it: ops stand by worker. */
static uint32_t first_of_worker(const ps_job_step *step, uint32_t worker) {
    uint32_t low = 0;
    uint32_t high = ps_job_step_n_ops(step);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        bool is_before = step->ops[middle].worker < worker;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    return low;
}

/* Of all steps: the forward of each microbatch and chunk of a worker with its backward. Both are in the order in which they ran, so
 * that few stand between them. */
static void add_alone(void *context, size_t worker) {
    const alone *a = context;
    moments m = {0};
    for (size_t s = 0; s < a->js->n_steps; s++) {
        const ps_job_step *step = &a->js->steps[s];
        const ps_job_op *ops = step->ops;
        uint32_t n = ps_job_step_n_ops(step);
        uint32_t i = first_of_worker(step, (uint32_t)worker);
        for (; i < n && ops[i].worker == worker; i++) {
            if (ops[i].kind != PS_WORKER_FORWARD || ops[i].microbatch < 0) {
                continue;
            }
            for (uint32_t j = i + 1; j < n && ops[j].worker == worker; j++) {
                if (is_backward_of(&ops[j], &ops[i])) {
                    add_moments(&m, (double)step->duration_ns[i] / 1e6,
                                (double)step->duration_ns[j] / 1e6);
                    break;
                }
            }
        }
    }
    a->of_worker[worker] = m;
}

/* --- pairs ---------------------------------------------------------------------------------------------------------------- */

/* Lengths fit by going through the pairs again and again, each of which moves its two lengths by a part of what is missing. */
enum { SWEEPS = 60 };
#define STEP_OF_SWEEP 0.3
/* Pairs for each length, at least: fewer could be explained by any lengths. */
#define PAIRS_OF_LENGTH 1.3

typedef struct fitting {
    const ps_job_steps *js;
    double share;     /* of a pair that its forward is */
    size_t n_numbers; /* microbatches of a chunk */
    size_t n_chunks;
    double *lengths; /* [n_replicas * n_chunks * n_numbers] of usual ones; 0: none */
    double *mean_ns; /* [n_workers] of its pairs */
} fitting;

static bool is_told_pair(const ps_job_op *op) {
    return op->kind == PS_WORKER_PAIR && op->microbatch >= 0 && op->microbatch2 >= 0;
}

static double *length_at(const fitting *f, const ps_job_op *op, int32_t chunk, int32_t number) {
    size_t replica = (size_t)f->js->workers[op->worker].replica;
    size_t piece = chunk > 0 ? (size_t)chunk : 0;
    return &f->lengths[(replica * f->n_chunks + piece) * f->n_numbers + (size_t)number];
}

static double fitted(const fitting *f, const ps_job_op *op) {
    return f->share * *length_at(f, op, op->chunk, op->microbatch) +
           (1 - f->share) * *length_at(f, op, op->chunk2, op->microbatch2);
}

/* Every length that a pair has begins as usual. False when they are too many for the pairs. */
static bool begin_lengths(const fitting *f, const ps_job_step *step) {
    size_t n = (size_t)f->js->n_replicas * f->n_chunks * f->n_numbers;
    size_t n_lengths = 0;
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; i++) {
        f->lengths[i] = 0;
    }
    for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
        if (is_told_pair(&step->ops[i])) {
            const ps_job_op *op = &step->ops[i];
            *length_at(f, op, op->chunk, op->microbatch) = 1;
            *length_at(f, op, op->chunk2, op->microbatch2) = 1;
            n_pairs++;
        }
    }
    for (size_t i = 0; i < n; i++) {
        n_lengths += f->lengths[i] > 0;
    }
    return (double)n_pairs >= PAIRS_OF_LENGTH * (double)n_lengths;
}

static void sweep_pairs(const fitting *f, const ps_job_step *step) {
    double weight = f->share * f->share + (1 - f->share) * (1 - f->share);
    for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
        const ps_job_op *op = &step->ops[i];
        if (is_told_pair(op)) {
            double missing = (double)step->duration_ns[i] / f->mean_ns[op->worker] - fitted(f, op);
            double by = STEP_OF_SWEEP * missing / weight;
            *length_at(f, op, op->chunk, op->microbatch) += by * f->share;
            *length_at(f, op, op->chunk2, op->microbatch2) += by * (1 - f->share);
        }
    }
}

static void measure_pairs_mean(const fitting *f, const ps_job_step *step) {
    for (uint32_t i = 0; i < ps_job_step_n_ops(step);) {
        uint32_t worker = step->ops[i].worker;
        double sum = 0;
        double n = 0;
        for (; i < ps_job_step_n_ops(step) && step->ops[i].worker == worker; i++) {
            bool is_told = is_told_pair(&step->ops[i]);
            sum += is_told ? (double)step->duration_ns[i] : 0;
            n += is_told;
        }
        f->mean_ns[worker] = sum > 0 ? sum / n : 1;
    }
}

static void add_fitted(const fitting *f, const ps_job_step *step, moments *of_worker) {
    if (!begin_lengths(f, step)) {
        return;
    }
    measure_pairs_mean(f, step);
    for (int k = 0; k < SWEEPS; k++) {
        sweep_pairs(f, step);
    }
    for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
        const ps_job_op *op = &step->ops[i];
        if (is_told_pair(op)) {
            add_moments(&of_worker[op->worker],
                        (double)step->duration_ns[i] / f->mean_ns[op->worker], fitted(f, op));
        }
    }
}

/* Whether there are pairs, and how many lengths they may have. */
static bool measure_pairs_sizes(fitting *f) {
    bool any = false;
    for (size_t s = 0; s < f->js->n_steps; s++) {
        const ps_job_step *step = &f->js->steps[s];
        bool is_same = s > 0 && step->ops == f->js->steps[s - 1].ops;
        for (uint32_t i = 0; !is_same && i < ps_job_step_n_ops(step); i++) {
            const ps_job_op *op = &step->ops[i];
            int32_t number = op->microbatch > op->microbatch2 ? op->microbatch : op->microbatch2;
            int32_t chunk = op->chunk > op->chunk2 ? op->chunk : op->chunk2;
            if (is_told_pair(op)) {
                any = true;
                f->n_numbers = (size_t)number >= f->n_numbers ? (size_t)number + 1 : f->n_numbers;
                f->n_chunks = chunk >= (int32_t)f->n_chunks ? (size_t)chunk + 1 : f->n_chunks;
            }
        }
    }
    return any;
}

/* Of a third, where it was not measured. */
static double forward_share(const int64_t ideal_ns[PS_N_WORKER_OPS]) {
    double forward = (double)ideal_ns[PS_WORKER_FORWARD];
    double backward = ideal_ns[PS_WORKER_BACKWARD] > 0
                          ? (double)ideal_ns[PS_WORKER_BACKWARD]
                          : (double)ideal_ns[PS_WORKER_INPUT] + (double)ideal_ns[PS_WORKER_WEIGHT];
    return forward > 0 && backward > 0 ? forward / (forward + backward) : 1.0 / 3;
}

/* False when memory is out. */
static bool fit_pairs(fitting *f, moments *of_worker) {
    f->n_chunks = f->n_chunks > 0 ? f->n_chunks : 1;
    f->mean_ns = ps_calloc(f->js->n_workers + 1, sizeof *f->mean_ns);
    f->lengths =
        ps_calloc((size_t)f->js->n_replicas * f->n_chunks * f->n_numbers + 1, sizeof *f->lengths);
    bool ok = f->mean_ns != NULL && f->lengths != NULL;
    for (size_t s = 0; ok && s < f->js->n_steps; s++) {
        add_fitted(f, &f->js->steps[s], of_worker);
    }
    ps_free(f->mean_ns);
    ps_free(f->lengths);
    return ok;
}

/* --- over the workers ------------------------------------------------------------------------------------------------------- */

static int order_whatif_real(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static double median_correlation(const moments *of_worker, size_t n_workers, double *r) {
    size_t n = 0;
    for (size_t k = 0; k < n_workers; k++) {
        double one = correlation_of(&of_worker[k]);
        if (!isnan(one)) {
            r[n++] = one;
        }
    }
    if (n > 1) {
        qsort(r, n, sizeof *r, order_whatif_real);
    }
    return n > 0 ? (r[(n - 1) / 2] + r[n / 2]) / 2 : (double)NAN;
}

ps_code ps_whatif_correlate(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                            double *r, ps_err *err) {
    fitting f = {.js = js, .share = forward_share(ideal_ns)};
    moments *of_worker = ps_calloc(js->n_workers + 1, sizeof *of_worker);
    double *values = ps_calloc(js->n_workers + 1, sizeof *values);
    bool ok = of_worker != NULL && values != NULL;
    if (ok && measure_pairs_sizes(&f)) {
        ok = fit_pairs(&f, of_worker);
    } else if (ok) {
        alone a = {js, of_worker};
        ps_parallel(js->n_workers, ps_job_threads(ps_job_n_ops(js)), add_alone, &a);
    }
    *r = ok ? median_correlation(of_worker, js->n_workers, values) : (double)NAN;
    ps_free(of_worker);
    ps_free(values);
    return ok ? PS_OK : ps_fail_nomem(err);
}

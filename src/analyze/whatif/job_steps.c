#include "analyze/whatif/job_steps.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/num.h"

void ps_job_steps_fini(ps_job_steps *js) {
    for (size_t i = 0; i < js->n_steps; i++) {
        if (i == 0 || js->steps[i].graph != js->steps[i - 1].graph) {
            ps_step_graph_free(js->steps[i].graph);
        }
    }
    ps_free(js->workers);
    ps_free(js->ops);
    ps_free(js->steps);
    *js = (ps_job_steps){0};
}

bool ps_job_part_has(const ps_job_part *part, const ps_job_op *op) {
    return (part->workers == NULL || part->workers[op->worker]) &&
           (part->kinds == 0 || (part->kinds >> op->kind & 1) != 0);
}

static int64_t job_mean_of(const int64_t *v, size_t n) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += (double)v[i];
    }
    return n > 0 ? (int64_t)llround(sum / (double)n) : 0;
}

bool ps_job_ideal(const ps_job_steps *js, int64_t ideal_ns[PS_N_WORKER_OPS]) {
    int64_t *values = ps_realloc_array(NULL, js->n_ops + 1, sizeof *values);
    for (uint8_t kind = 0; values != NULL && kind < PS_N_WORKER_OPS; kind++) {
        size_t n = 0;
        for (size_t i = 0; i < js->n_ops; i++) {
            if (js->ops[i].kind == kind) {
                values[n++] = js->ops[i].duration_ns;
            }
        }
        ideal_ns[kind] = ps_worker_op_is_alone((ps_worker_op)kind) ? job_mean_of(values, n)
                                                                   : ps_median_i64(values, n);
    }
    ps_free(values);
    return values != NULL;
}

double ps_job_measured(const ps_job_steps *js) {
    double sum = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        sum += (double)(js->steps[s].end_ns - js->steps[s].begin_ns);
    }
    return js->n_steps > 0 ? sum / (double)js->n_steps : 0;
}

static bool any_part_has(const ps_job_question *q, const ps_job_op *op) {
    bool in = false;
    for (size_t i = 0; !in && i < q->n_parts; i++) {
        in = ps_job_part_has(&q->parts[i], op);
    }
    return in;
}

/* Chunks that are told apart: those further on share with these. */
enum { CHUNKS_ALIKE = 64 };

typedef struct alike_sum {
    double sum_ns;
    size_t n;
} alike_sum;

static size_t alike_cell(const ps_job_op *op) {
    size_t chunk = op->chunk > 0 ? (size_t)op->chunk % CHUNKS_ALIKE : 0;
    return (size_t)op->kind * CHUNKS_ALIKE + chunk;
}

static bool job_op_computes(const ps_job_op *op) {
    return (PS_JOB_COMPUTING >> op->kind & 1) != 0;
}

/* Microbatches of equal length: what each worker computes in the step stays as much. */
static void make_alike(const ps_job_op *ops, uint32_t n, int64_t *durations) {
    for (uint32_t first = 0; first < n;) {
        alike_sum sums[PS_N_WORKER_OPS * CHUNKS_ALIKE] = {{0}};
        uint32_t end = first;
        for (; end < n && ops[end].worker == ops[first].worker; end++) {
            alike_sum *s = &sums[alike_cell(&ops[end])];
            s->sum_ns += (double)durations[end];
            s->n++;
        }
        for (uint32_t i = first; i < end; i++) {
            const alike_sum *s = &sums[alike_cell(&ops[i])];
            durations[i] = job_op_computes(&ops[i]) ? (int64_t)llround(s->sum_ns / (double)s->n)
                                                    : durations[i];
        }
        first = end;
    }
}

static void fill_job_durations(const ps_job_op *ops, uint32_t n,
                               const int64_t ideal_ns[PS_N_WORKER_OPS], const ps_job_question *q,
                               int64_t *out) {
    for (uint32_t i = 0; i < n; i++) {
        const ps_job_op *op = &ops[i];
        int64_t ns = any_part_has(q, op) != q->inverted ? op->duration_ns : ideal_ns[op->kind];
        for (size_t k = 0; k < q->n_scaled; k++) {
            bool in = ps_job_part_has(&q->scaled[k].part, op);
            ns = in ? (int64_t)llround((double)ns * q->scaled[k].factor) : ns;
        }
        if (q->computing != NULL && job_op_computes(op)) {
            ns = (int64_t)llround((double)ns * q->computing[op->worker]);
        }
        out[i] = ns;
    }
    if (q->is_alike) {
        make_alike(ops, n, out);
    }
}

/* A step ends with the last of its optimizers; where there are none, with its last op. */
static uint32_t last_of_step(const ps_job_op *ops, const int64_t *end_ns, uint32_t n) {
    uint32_t last = 0;
    for (uint32_t i = 1; i < n; i++) {
        bool is_optimizer = ops[i].kind == PS_WORKER_OPTIMIZER;
        bool was_optimizer = ops[last].kind == PS_WORKER_OPTIMIZER;
        bool is_later = is_optimizer == was_optimizer ? end_ns[i] > end_ns[last] : is_optimizer;
        last = is_later ? i : last;
    }
    return last;
}

static uint32_t most_ops(const ps_job_steps *js) {
    uint32_t most = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        uint32_t n = ps_step_graph_n_ops(js->steps[s].graph);
        most = n > most ? n : most;
    }
    return most;
}

ps_code ps_job_ask(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                   const ps_job_question *question, double *mean_ns, int64_t *each_ns,
                   double *path_ns, ps_err *err) {
    size_t most = (size_t)most_ops(js) + 1;
    int64_t *durations = ps_realloc_array(NULL, most, sizeof *durations);
    int64_t *ends = ps_realloc_array(NULL, most, sizeof *ends);
    ps_code code = durations != NULL && ends != NULL ? PS_OK : ps_fail_nomem(err);
    double sum = 0;
    for (size_t s = 0; code == PS_OK && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        const ps_job_op *ops = &js->ops[step->first];
        uint32_t n = ps_step_graph_n_ops(step->graph);
        const ps_graph_times times = {.duration_ns = durations, .lag_ns = js->lag_ns};
        fill_job_durations(ops, n, ideal_ns, question, durations);
        code = ps_watch_ask(js->watch, err);
        code = code == PS_OK ? ps_step_graph_run(step->graph, &times, NULL, ends, err) : code;
        uint32_t last = code == PS_OK && n > 0 ? last_of_step(ops, ends, n) : PS_NO_OP;
        int64_t end = last != PS_NO_OP ? ends[last] : 0;
        sum += (double)end;
        if (each_ns != NULL) {
            each_ns[s] = end;
        }
        while (path_ns != NULL && last != PS_NO_OP) {
            bool computes = (PS_JOB_COMPUTING >> ops[last].kind & 1) != 0;
            path_ns[ops[last].worker] += computes ? (double)ops[last].duration_ns : 0;
            last = ps_step_graph_before(step->graph, &times, ends, last);
        }
    }
    *mean_ns = js->n_steps > 0 ? sum / (double)js->n_steps : 0;
    ps_free(durations);
    ps_free(ends);
    return code;
}

ps_code ps_job_times(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                     const ps_job_question *question, size_t step, int64_t *start_ns,
                     int64_t *end_ns, ps_err *err) {
    const ps_job_step *at = &js->steps[step];
    uint32_t n = ps_step_graph_n_ops(at->graph);
    int64_t *durations = ps_realloc_array(NULL, (size_t)n + 1, sizeof *durations);
    if (durations == NULL) {
        return ps_fail_nomem(err);
    }
    fill_job_durations(&js->ops[at->first], n, ideal_ns, question, durations);
    const ps_graph_times times = {.duration_ns = durations, .lag_ns = js->lag_ns};
    ps_code code = ps_step_graph_run(at->graph, &times, start_ns, end_ns, err);
    ps_free(durations);
    return code;
}

#include "analyze/whatif/job_steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/num.h"
#include "base/threads.h"

enum { MANY_OPS = 1 << 16 };

void ps_job_steps_fini(ps_job_steps *js) {
    for (size_t i = 0; i < js->n_steps; i++) {
        const ps_job_step *before = i > 0 ? &js->steps[i - 1] : NULL;
        if (before == NULL || js->steps[i].graph != before->graph) {
            ps_step_graph_free(js->steps[i].graph);
        }
        if (before == NULL || js->steps[i].ops != before->ops) {
            ps_free(js->steps[i].ops);
        }
        ps_free(js->steps[i].duration_ns);
        ps_free(js->steps[i].start_ns);
        js->steps[i].duration_ns = js->steps[i].start_ns = NULL;
    }
    ps_free(js->workers);
    ps_free(js->model_stages);
    ps_free(js->steps);
    *js = (ps_job_steps){0};
}

size_t ps_job_threads(size_t n_ops) {
    return n_ops >= MANY_OPS ? 0 : 1;
}

size_t ps_job_n_ops(const ps_job_steps *js) {
    size_t n = 0;
    for (size_t s = 0; s < js->n_steps; s++) {
        n += ps_job_step_n_ops(&js->steps[s]);
    }
    return n;
}

const char *ps_job_describe_worker(ps_lang lang, const ps_job_worker *w, char out[96]) {
    (void)snprintf(
        out, 96,
        PS_SAY(lang, "stage %d of replica %d (rank %lld)", "阶段 %d、副本 %d（rank %lld）"),
        (int)w->stage, (int)w->replica, (long long)w->rank);
    return out;
}

size_t ps_job_empty_ops(const ps_job_steps *js, char *first, size_t size) {
    size_t n = 0;
    first[0] = '\0';
    for (size_t s = 0; s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        for (uint32_t i = 0; i < ps_job_step_n_ops(step); i++) {
            const ps_job_op *op = &step->ops[i];
            if (step->duration_ns[i] > 0 || (PS_JOB_COMPUTING >> op->kind & 1) == 0) {
                continue;
            }
            if (n++ == 0) {
                const ps_job_worker *at = &js->workers[op->worker];
                (void)snprintf(
                    first, size,
                    PS_SAY(js->lang, "%s %u of stage %d, replica %d (rank %lld) in step %lld",
                           "%s %u（阶段 %d、副本 %d、rank %lld），step %lld"),
                    ps_worker_op_name((ps_worker_op)op->kind), (unsigned)op->order, (int)at->stage,
                    (int)at->replica, (long long)at->rank, (long long)step->step);
            }
        }
    }
    return n;
}

bool ps_job_part_has(const ps_job_part *part, const ps_job_op *op) {
    int32_t chunk = part->chunk_from_1 - 1;
    return (part->workers == NULL || part->workers[op->worker]) &&
           (chunk < 0 || op->chunk == chunk || op->chunk2 == chunk) &&
           (part->kinds == 0 || (part->kinds >> op->kind & 1) != 0);
}

/* --- what ops usually take --------------------------------------------------------------------------------------------- */

typedef struct kind_sum {
    double sum;
    size_t n;
} kind_sum;

/* Ops of one kind that stand one after another, as communication of a worker does. */
typedef struct kind_run {
    uint32_t first, n;
    uint8_t kind;
} kind_run;

typedef struct kind_runs {
    kind_run *at;
    size_t n, cap;
} kind_runs;

typedef struct usual {
    const ps_job_steps *js;
    kind_sum *of_step; /* [n_steps * PS_N_WORKER_OPS] */
    kind_runs
        *runs; /* [n_steps] of communication; none where the ops are those of the step before */
    kind_sum of[PS_N_WORKER_OPS];
    int64_t *ideal_ns;
    bool failed; /* memory is out, on some thread */
} usual;

/* False when memory is out. */
static bool list_runs(const ps_job_step *step, kind_runs *runs) {
    uint32_t n = ps_job_step_n_ops(step);
    for (uint32_t i = 0, end = 0; i < n; i = end) {
        uint8_t kind = step->ops[i].kind;
        for (end = i + 1; end < n && step->ops[end].kind == kind; end++) {
        }
        if (!ps_worker_op_is_alone((ps_worker_op)kind) &&
            !PS_ADD(runs->at, runs->n, runs->cap, UINT32_MAX, (kind_run){i, end - i, kind})) {
            return false;
        }
    }
    return true;
}

static void sum_kinds_of_step(void *context, size_t s) {
    usual *u = context;
    const ps_job_step *step = &u->js->steps[s];
    uint32_t n = ps_job_step_n_ops(step);
    kind_sum of[PS_N_WORKER_OPS] = {{0, 0}};
    for (uint32_t i = 0; i < n; i++) {
        kind_sum *k = &of[step->ops[i].kind];
        k->sum += (double)step->duration_ns[i];
        k->n++;
    }
    memcpy(&u->of_step[s * PS_N_WORKER_OPS], of, sizeof of);
    bool is_same = s > 0 && step->ops == u->js->steps[s - 1].ops;
    if (!is_same && !list_runs(step, &u->runs[s])) {
        __atomic_store_n(&u->failed, true, __ATOMIC_RELAXED);
    }
}

/* In the order of the steps, whichever thread had them. */
static void sum_kinds(usual *u) {
    for (size_t s = 0; s < u->js->n_steps; s++) {
        for (size_t kind = 0; kind < PS_N_WORKER_OPS; kind++) {
            u->of[kind].sum += u->of_step[s * PS_N_WORKER_OPS + kind].sum;
            u->of[kind].n += u->of_step[s * PS_N_WORKER_OPS + kind].n;
        }
    }
}

/* NULL when memory is out. */
static int64_t *collect_kind(const usual *u, uint8_t kind, size_t n) {
    int64_t *values = ps_realloc_array(NULL, n + 1, sizeof *values);
    const kind_runs *runs = NULL;
    size_t at = 0;
    for (size_t s = 0; values != NULL && s < u->js->n_steps; s++) {
        const ps_job_step *step = &u->js->steps[s];
        bool is_same = s > 0 && step->ops == u->js->steps[s - 1].ops;
        runs = is_same ? runs : &u->runs[s];
        for (size_t i = 0; i < runs->n; i++) {
            if (runs->at[i].kind == kind) {
                memcpy(values + at, step->duration_ns + runs->at[i].first,
                       runs->at[i].n * sizeof *values);
                at += runs->at[i].n;
            }
        }
    }
    return values;
}

static void find_usual(void *context, size_t kind) {
    usual *u = context;
    const kind_sum *k = &u->of[kind];
    u->ideal_ns[kind] = 0;
    if (k->n > 0 && ps_worker_op_is_alone((ps_worker_op)kind)) {
        u->ideal_ns[kind] = (int64_t)llround(k->sum / (double)k->n);
    } else if (k->n > 0) {
        int64_t *values = collect_kind(u, (uint8_t)kind, k->n);
        if (values == NULL) {
            __atomic_store_n(&u->failed, true, __ATOMIC_RELAXED);
        } else {
            u->ideal_ns[kind] = ps_median_i64(values, k->n);
        }
        ps_free(values);
    }
}

bool ps_job_ideal(const ps_job_steps *js, int64_t ideal_ns[PS_N_WORKER_OPS]) {
    usual u = {.js = js, .ideal_ns = ideal_ns};
    u.of_step = ps_calloc(js->n_steps * PS_N_WORKER_OPS + 1, sizeof *u.of_step);
    u.runs = ps_calloc(js->n_steps + 1, sizeof *u.runs);
    u.failed = u.of_step == NULL || u.runs == NULL;
    size_t n_threads = ps_job_threads(ps_job_n_ops(js));
    if (!u.failed) {
        ps_parallel(js->n_steps, n_threads, sum_kinds_of_step, &u);
        sum_kinds(&u);
    }
    if (!u.failed) {
        ps_parallel(PS_N_WORKER_OPS, n_threads, find_usual, &u);
    }
    for (size_t s = 0; u.runs != NULL && s < js->n_steps; s++) {
        ps_free(u.runs[s].at);
    }
    ps_free(u.runs);
    ps_free(u.of_step);
    return !u.failed;
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

void ps_job_durations(const ps_job_step *step, const int64_t ideal_ns[PS_N_WORKER_OPS],
                      const ps_job_question *q, int64_t *out) {
    uint32_t n = ps_job_step_n_ops(step);
    for (uint32_t i = 0; i < n; i++) {
        const ps_job_op *op = &step->ops[i];
        int64_t ns = any_part_has(q, op) != q->inverted ? step->duration_ns[i] : ideal_ns[op->kind];
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
        make_alike(step->ops, n, out);
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
        uint32_t n = ps_job_step_n_ops(&js->steps[s]);
        most = n > most ? n : most;
    }
    return most;
}

static ps_code run_steps(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                         const ps_job_question *question, double *mean_ns, int64_t *each_ns,
                         double *path_ns, ps_err *err) {
    size_t most = (size_t)most_ops(js) + 1;
    int64_t *durations = ps_realloc_array(NULL, most, sizeof *durations);
    int64_t *ends = ps_realloc_array(NULL, most, sizeof *ends);
    ps_code code = durations != NULL && ends != NULL ? PS_OK : ps_fail_nomem(err);
    double sum = 0;
    for (size_t s = 0; code == PS_OK && s < js->n_steps; s++) {
        const ps_job_step *step = &js->steps[s];
        uint32_t n = ps_job_step_n_ops(step);
        const ps_graph_times times = {.duration_ns = durations, .lag_ns = js->lag_ns};
        ps_job_durations(step, ideal_ns, question, durations);
        code = ps_watch_ask(js->watch, err);
        code = code == PS_OK ? ps_step_graph_run(step->graph, &times, NULL, ends, err) : code;
        uint32_t last = code == PS_OK && n > 0 ? last_of_step(step->ops, ends, n) : PS_NO_OP;
        int64_t end = last != PS_NO_OP ? ends[last] : 0;
        sum += (double)end;
        if (each_ns != NULL) {
            each_ns[s] = end;
        }
        while (path_ns != NULL && last != PS_NO_OP) {
            const ps_job_op *op = &step->ops[last];
            path_ns[op->worker] += job_op_computes(op) ? (double)step->duration_ns[last] : 0;
            last = ps_step_graph_before(step->graph, &times, ends, last);
        }
    }
    *mean_ns = js->n_steps > 0 ? sum / (double)js->n_steps : 0;
    ps_free(durations);
    ps_free(ends);
    return code;
}

ps_code ps_job_ask(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                   const ps_job_question *question, double *mean_ns, int64_t *each_ns,
                   ps_err *err) {
    return run_steps(js, ideal_ns, question, mean_ns, each_ns, NULL, err);
}

ps_code ps_job_ask_path(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                        const ps_job_question *question, double *mean_ns, double *path_ns,
                        ps_err *err) {
    return run_steps(js, ideal_ns, question, mean_ns, NULL, path_ns, err);
}

ps_code ps_job_times(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                     const ps_job_question *question, size_t step, int64_t *start_ns,
                     int64_t *end_ns, ps_err *err) {
    const ps_job_step *at = &js->steps[step];
    uint32_t n = ps_job_step_n_ops(at);
    int64_t *durations = ps_realloc_array(NULL, (size_t)n + 1, sizeof *durations);
    if (durations == NULL) {
        return ps_fail_nomem(err);
    }
    ps_job_durations(at, ideal_ns, question, durations);
    const ps_graph_times times = {.duration_ns = durations, .lag_ns = js->lag_ns};
    ps_code code = ps_step_graph_run(at->graph, &times, start_ns, end_ns, err);
    ps_free(durations);
    return code;
}

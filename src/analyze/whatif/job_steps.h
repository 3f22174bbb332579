/* The steps of a job as they ran: the ops of all workers with what each takes by itself, and who waits for whom. What a
 * question of "what if" is asked of.
 *
 * Filled by worker_steps.h or chart_steps.h; then read-only. Formulas: arXiv 2505.05713, docs/whatif.md. */
#ifndef PS_ANALYZE_JOB_STEPS_H
#define PS_ANALYZE_JOB_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/lang.h"
#include "base/watch.h"
#include "model/worker_ops.h"
#include "schedule/step_graph.h"

typedef struct ps_job_worker {
    int64_t rank; /* global, -1 unknown */
    int32_t stage, replica, tp;
} ps_job_worker;

/* What an op is. When it ran is its step's. */
typedef struct ps_job_op {
    uint32_t worker;           /* row in workers */
    uint32_t order;            /* among those of its kind, on its worker, in its step */
    int32_t microbatch, chunk; /* -1 unknown; of the forward of a pair */
    int32_t microbatch2;       /* of the backward of a pair, -1 */
    int16_t chunk2;
    uint8_t kind; /* ps_worker_op */
} ps_job_op;

/* Steps of the same ops stand together and share them, and their graph. */
typedef struct ps_job_step {
    int64_t step;
    int64_t begin_ns, end_ns;
    ps_job_op *ops; /* by worker, then as their maker orders them; as many as the graph has */
    ps_step_graph *graph;
    int64_t *duration_ns; /* of each op by itself: without waiting for others */
    int64_t *start_ns;    /* measured, on one clock; NULL: not kept */
} ps_job_step;

typedef struct ps_job_steps {
    ps_job_worker *workers; /* by stage, replica, tp */
    size_t n_workers;
    int32_t n_stages, n_replicas, n_tp; /* stages: places in the pipeline */
    int32_t n_chunks;                   /* model pieces of a place, 0 unknown */
    int32_t *model_stages; /* [n_stages * n_chunks] number along the model, -1 none; NULL unknown */
    ps_job_step *steps;    /* by number */
    size_t n_steps, cap_steps;
    const ps_watch *watch; /* asked before each step is run anew; or NULL */
    int64_t lag_ns;        /* usual, of a result that travels without ops of its own */
    bool
        has_comm; /* communication and the optimizer are ops; else there are transfers alone, as long as they usually take */
    bool
        has_unknown_work; /* so much was done in no op that what passes between ops is no waiting (ps_chart.unjudged) */
    ps_lang lang;           /* of the sentences below */
    size_t n_left_out;      /* steps that are not what the others are */
    char why_left_out[280]; /* of the first of them, "" none */
    char clocks_apart[400]; /* of which workers the clocks do not agree, "" none are seen to */
} ps_job_steps;

static inline uint32_t ps_job_step_n_ops(const ps_job_step *step) {
    return ps_step_graph_n_ops(step->graph);
}
/* Of all steps. */
size_t ps_job_n_ops(const ps_job_steps *js);
void ps_job_steps_fini(ps_job_steps *js);
/* For ps_parallel() over parts of so many ops: one where they are few, else one for each processor. */
size_t ps_job_threads(size_t n_ops);

/* Which ops, and what they take instead of their measured duration. */
typedef struct ps_job_part {
    const bool *workers;  /* [n_workers], NULL: all */
    uint32_t kinds;       /* bit of each ps_worker_op; 0: all */
    int32_t chunk_from_1; /* of this chunk and 1, or a pair with it; 0: all */
} ps_job_part;

bool ps_job_part_has(const ps_job_part *part, const ps_job_op *op);

/* Bits of the kinds that compute a pass. */
#define PS_JOB_COMPUTING                                                                           \
    (1u << PS_WORKER_FORWARD | 1u << PS_WORKER_BACKWARD | 1u << PS_WORKER_INPUT |                  \
     1u << PS_WORKER_WEIGHT | 1u << PS_WORKER_PAIR)

/* "stage 1 of replica 0 (rank 2)"; returns `out`. */
const char *ps_job_describe_worker(ps_lang lang, const ps_job_worker *w, char out[96]);

/* Computing that takes no time: how many ops of all steps, and the first of them in words. */
size_t ps_job_empty_ops(const ps_job_steps *js, char *first, size_t size);

/* [PS_N_WORKER_OPS] What a kind takes when nothing is slow: the mean of computing, the median of communication, over all ops of
 * all steps. False when memory is out. */
bool ps_job_ideal(const ps_job_steps *js, int64_t ideal_ns[PS_N_WORKER_OPS]);

/* A part whose ops take so many times as long. */
typedef struct ps_job_scaled {
    ps_job_part part;
    double factor;
} ps_job_scaled;

/* What is asked: the ops of `parts` take what was measured, all others the ideal. */
typedef struct ps_job_question {
    const ps_job_part *parts;
    size_t n_parts;
    bool inverted; /* the ops of `parts` take the ideal, all others what was measured */
    const ps_job_scaled *scaled; /* on top of it */
    size_t n_scaled;
    const double *computing; /* [n_workers] factors of their computing, on top of it; NULL: none */
    bool is_alike; /* computing of one kind and chunk takes its mean of the step, on each worker */
} ps_job_question;

/* What each op of the step takes under the question: out [ops of the step]. */
void ps_job_durations(const ps_job_step *step, const int64_t ideal_ns[PS_N_WORKER_OPS],
                      const ps_job_question *question, int64_t *out);

/* The mean step in ns, all launch delays 0; each step in each_ns [n_steps] where that is not NULL. PS_RANGE, PS_NOMEM,
 * PS_BUSY. */
PS_MUST_USE ps_code ps_job_ask(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                               const ps_job_question *question, double *mean_ns, int64_t *each_ns,
                               ps_err *err);
/* The mean step, and the measured computing of each worker on the longest paths of all steps, added to path_ns [n_workers]. */
PS_MUST_USE ps_code ps_job_ask_path(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                                    const ps_job_question *question, double *mean_ns,
                                    double *path_ns, ps_err *err);

/* The ops of one step under the question: start_ns and end_ns [ops of the step], from the step's begin. PS_RANGE, PS_NOMEM. */
PS_MUST_USE ps_code ps_job_times(const ps_job_steps *js, const int64_t ideal_ns[PS_N_WORKER_OPS],
                                 const ps_job_question *question, size_t step, int64_t *start_ns,
                                 int64_t *end_ns, ps_err *err);

/* The measured mean step in ns. */
double ps_job_measured(const ps_job_steps *js);

#endif

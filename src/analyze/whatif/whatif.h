/* Who costs what: the step of a job as measured, without launch delays, and ideal; and what each kind of op, stage, replica and
 * worker makes it slower. Formulas and names of arXiv 2505.05713 (docs/whatif.md). */
#ifndef PS_ANALYZE_WHATIF_H
#define PS_ANALYZE_WHATIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/whatif/job_lanes.h"
#include "analyze/whatif/job_steps.h"
#include "base/err.h"
#include "base/lang.h"

/* Kinds of ops that are told apart: both ends of a transfer are one. */
#define PS_WHATIF_KINDS(X)                                                                         \
    X(PS_WHATIF_FORWARD, "forward-compute", 1u << PS_WORKER_FORWARD)                               \
    X(PS_WHATIF_BACKWARD, "backward-compute", 1u << PS_WORKER_BACKWARD)                            \
    X(PS_WHATIF_INPUT, "backward-input-compute", 1u << PS_WORKER_INPUT)                            \
    X(PS_WHATIF_WEIGHT, "backward-wgrad-compute", 1u << PS_WORKER_WEIGHT)                          \
    X(PS_WHATIF_PAIR, "overlapped-compute", 1u << PS_WORKER_PAIR)                                  \
    X(PS_WHATIF_FORWARD_COMM, "forward-pp-comm",                                                   \
      1u << PS_WORKER_FORWARD_SEND | 1u << PS_WORKER_FORWARD_RECV)                                 \
    X(PS_WHATIF_BACKWARD_COMM, "backward-pp-comm",                                                 \
      1u << PS_WORKER_BACKWARD_SEND | 1u << PS_WORKER_BACKWARD_RECV)                               \
    X(PS_WHATIF_PARAMS, "params-all-gather", 1u << PS_WORKER_PARAMS)                               \
    X(PS_WHATIF_GRADS, "grads-reduce-scatter", 1u << PS_WORKER_GRADS)                              \
    X(PS_WHATIF_SEPARATE, "separate-grads-all-reduce", 1u << PS_WORKER_SEPARATE)                   \
    X(PS_WHATIF_LAYERNORM, "layernorm-grads-all-reduce", 1u << PS_WORKER_LAYERNORM)                \
    X(PS_WHATIF_EMBEDDING, "embedding-grads-all-reduce", 1u << PS_WORKER_EMBEDDING)                \
    X(PS_WHATIF_CLIP, "optimizer-clip-main-grad", 1u << PS_WORKER_CLIP)                            \
    X(PS_WHATIF_GC, "gc", 1u << PS_WORKER_GC)                                                      \
    X(PS_WHATIF_OPTIMIZER, "optimizer", 1u << PS_WORKER_OPTIMIZER)

typedef enum ps_whatif_kind {
#define X(kind, name, ops) kind,
    PS_WHATIF_KINDS(X)
#undef X
        PS_N_WHATIF_KINDS
} ps_whatif_kind;

const char *ps_whatif_kind_name(ps_whatif_kind kind);
uint32_t ps_whatif_kind_ops(ps_whatif_kind kind); /* bits of ps_worker_op */

/* Mean steps in ns when a part, and nothing else, is as measured; and when all but it is. */
typedef struct ps_whatif_part {
    double alone_ns, without_ns;
} ps_whatif_part;

typedef struct ps_whatif {
    const ps_job_steps *js; /* borrowed */
    ps_lang lang;           /* of what is said of it */
    ps_job_lanes *lanes;    /* of these */
    int64_t ideal_of[PS_N_WORKER_OPS];
    double measured_ns, real_ns, ideal_ns; /* real: measured durations, no launch delays */
    int64_t *step_real_ns, *step_ideal_ns; /* [n_steps] */
    bool has_kind[PS_N_WHATIF_KINDS];
    ps_whatif_part kinds[PS_N_WHATIF_KINDS];
    double without_transfers_ns;       /* of both directions */
    ps_whatif_part *stages, *replicas; /* [n_stages], [n_replicas] */
    ps_whatif_part last_stage, worst;  /* worst: of the slowest workers */
    bool *is_worst;                    /* [n_workers] */
    size_t n_worst;
    /* Of computing alone, for a slow link is no fault of those at its ends: the step without that of the slowest workers, of each
     * stage, of either. [n_stages] */
    double worst_computing_ns;
    double *stage_computing_ns, *beside_worst_ns;
    double
        even_stages_ns; /* all stages compute as long as their mean: what other layers may give */
    double length_correlation; /* of forward and backward of a microbatch; NAN unknown */
    double
        alike_ns; /* all microbatches of a step take each worker as long; NAN: lengths are unknown */
} ps_whatif;

/* Share of the measured step by which a replay may miss it: beyond it what passes between ops decides, and not the ops. */
#define PS_WHATIF_UNEXPLAINED 0.2
/* Whether the replay explains the measured step. */
bool ps_whatif_explains(const ps_whatif *w);

/* PS_NOTHING when nothing would take any time, PS_RANGE, PS_NOMEM. `js` stays as long as the result; end with
 * ps_whatif_fini() in any case. */
PS_MUST_USE ps_code ps_whatif_measure(const ps_job_steps *js, ps_whatif *out, ps_err *err);
void ps_whatif_fini(ps_whatif *w);

/* S of a part: its alone_ns against the ideal step. */
static inline double ps_whatif_slowdown(const ps_whatif *w, const ps_whatif_part *part) {
    return part->alone_ns / w->ideal_ns;
}
/* S of a worker: the lower one of its stage's and its replica's. */
double ps_whatif_worker_slowdown(const ps_whatif *w, size_t worker);
/* M of a part: the share of what the job is slower than ideal that goes without it; NAN where it is not slower at all. */
double ps_whatif_share(const ps_whatif *w, const ps_whatif_part *part);

#endif

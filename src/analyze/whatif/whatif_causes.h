/* What makes the job slower than ideal, by how each cause looks (arXiv 2505.05713, docs/whatif.md), and what would help how much. */
#ifndef PS_ANALYZE_WHATIF_CAUSES_H
#define PS_ANALYZE_WHATIF_CAUSES_H

#include "analyze/whatif/whatif.h"
#include "base/err.h"
#include "model/table.h"

/* Figures above which a cause holds. None but host and drift does in a job that is not `slow` times slower than ideal.
 * threshold, its name, default */
#define PS_WHATIF_THRESHOLDS(X)                                                                    \
    X(PS_WHATIF_SLOW, "slow", 1.05)    /* T replayed / T ideal */                                  \
    X(PS_WHATIF_WORKER, "worker", 0.5) /* share of the slowdown; the next two likewise */          \
    X(PS_WHATIF_STAGE, "stage", 0.5)                                                               \
    X(PS_WHATIF_LINKS, "links", 0.5)                                                               \
    X(PS_WHATIF_LENGTHS, "lengths", 0.95) /* correlation of forward and backward */                \
    X(PS_WHATIF_HOST, "host", 1.05)   /* measured step against the one without launch delays */    \
    X(PS_WHATIF_DRIFT, "drift", 0.05) /* change of the step over the capture */

typedef enum ps_whatif_threshold {
#define X(threshold, name, usual) threshold,
    PS_WHATIF_THRESHOLDS(X)
#undef X
        PS_N_WHATIF_THRESHOLDS
} ps_whatif_threshold;

/* Names, and the defaults into out. */
const char *const *ps_whatif_threshold_names(void);
void ps_whatif_thresholds_default(double out[PS_N_WHATIF_THRESHOLDS]);

enum { PS_N_WHATIF_CAUSES = 6, PS_WHATIF_EVIDENCE = 400, PS_WHATIF_TITLE = 160 };

typedef struct ps_whatif_cause {
    const char *name, *remedy;
    double figure, threshold; /* figure: NAN unknown */
    bool holds;
    char evidence[PS_WHATIF_EVIDENCE];
    char title
        [PS_WHATIF_TITLE]; /* of one that holds: a sentence without its full stop; "" nothing is asked of it */
    char without[PS_WHATIF_TITLE]; /* "with stage 3 as fast as usual": then the step takes */
    double step_ns;                /* so long; NAN unknown */
    double before_ns;              /* instead of this: the replayed step, or the measured one */
    int64_t rank;                  /* the worst one; -1 several */
    int32_t stage;                 /* -1 several */
} ps_whatif_cause;

/* Those that hold first, else in the order in which causes are named. `thresholds` [PS_N_WHATIF_THRESHOLDS], NULL: the defaults. */
void ps_whatif_judge(const ps_whatif *w, const double *thresholds,
                     ps_whatif_cause out[PS_N_WHATIF_CAUSES]);

/* One row a cause, those that hold first. `thresholds` [PS_N_WHATIF_THRESHOLDS], NULL: the defaults. NULL when memory is out. */
ps_table *ps_whatif_causes(const ps_whatif *w, const double *thresholds, ps_err *err);

/* One row a repair (kind, stage, replica, worker), the largest gain first: the step without it, and the step when it
 * comes after those above it. NULL with `err`. */
ps_table *ps_whatif_repairs(const ps_whatif *w, ps_err *err);

#endif

/* One step of a schedule with durations that are given, or were measured in a step of a chart: how long it is, and where its
 * time goes. */
#ifndef PS_ANALYZE_SIMULATED_STEP_H
#define PS_ANALYZE_SIMULATED_STEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/watch.h"
#include "model/chart.h"
#include "model/table.h"
#include "schedule/schedule.h"
#include "schedule/sim.h"

/* Of one op on one stage. */
typedef struct ps_op_times {
    int64_t f_ns, b_ns, w_ns, fb_ns;
} ps_op_times;

#define PS_SIMULATED_NOT_GIVEN (-1)
#define PS_SIMULATED_MOST_OP_NS INT64_C(10000000000) /* 10 s */

/* Texts and arrays are borrowed. */
typedef struct ps_simulated_ask {
    const ps_schedule *schedule; /* NULL: of `measured`, or `csv` */
    const char *csv;             /* a schedule as PyTorch writes it, or NULL */
    ps_schedule_params params;   /* stages and microbatches 0: as measured */
    bool has_chunks;             /* params names them */
    const ps_chart *measured;    /* its durations, and what is not asked for; or NULL */
    int64_t step;                /* of it */
    int32_t pipeline;            /* of it */
    bool balanced;               /* all stages as fast as their mean over all steps, no latency */
    ps_op_times given;           /* means over the stages; PS_SIMULATED_NOT_GIVEN */
    int64_t p2p_ns;              /* PS_SIMULATED_NOT_GIVEN */
    const char *durations;       /* lines of stage, kind and ns (schedule/durations.h), or NULL */
    const double *factors;       /* [n_factors] of stages, on top of all that */
    size_t n_factors;            /* 0, or the number of stages */
    const ps_watch *watch;       /* asked between the parts of the work; or NULL */
} ps_simulated_ask;

typedef struct ps_simulated_step {
    ps_sim_plan *plan;  /* with the parameters that came of it */
    ps_op_times *times; /* [stages] before factors */
    int64_t p2p_ns;
    ps_chart *chart;
    ps_table *tables[3]; /* of its stages, its step, its waits (bubble.h) */
    int64_t step_ns;
    /* What step_ns is compared with: the schedule that ran, with what was measured and nothing that was asked to be otherwise;
     * PS_UNKNOWN_INT without `measured`. */
    int64_t replayed_ns;
    double replayed_bubble_percent; /* of that */
    ps_op_times measured;           /* means over the stages before anything was given */
    int64_t measured_p2p_ns;        /* likewise */
    double bubble_percent;
    int32_t
        pieces; /* ops that the work of a stage for one microbatch is cut into: times are of one of them */
    double activations; /* the most that a stage holds, in microbatches of the whole stage */
} ps_simulated_step;

/* PS_USAGE for what does not go together, PS_NOTHING when `measured` has no schedule that is known, PS_NOMEM, PS_BUSY. End with
 * ps_simulated_step_fini() in any case. `err` is wanted. */
PS_MUST_USE ps_code ps_simulate_step(const ps_simulated_ask *ask, ps_simulated_step *out,
                                     ps_err *err);
void ps_simulated_step_fini(ps_simulated_step *s);

#endif

/* Simulation of a schedule: every op starts as soon as its device has finished the op before it and the results it
 * needs have arrived. docs/schedules.md lists what an op needs.
 *
 *   plan  = ps_sim_plan_new(schedule, params)      lists and dependencies, checked; once
 *   ns[]  = durations by op number                 ps_sim_fill_durations, those of durations.h, or measured ones
 *   ps_sim_run(plan, ns, p2p, start, times)        as often as there are steps
 *
 * Ops are numbered as in lists.h. A sealed plan may be used by many threads at once. */
#ifndef PS_SCHEDULE_SIM_H
#define PS_SCHEDULE_SIM_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "model/chart.h"
#include "schedule/lists.h"
#include "schedule/schedule.h"
#include "schedule/step_graph.h"

typedef struct ps_sim_plan {
    const ps_schedule *schedule; /* NULL when the lists come from a file */
    ps_schedule_params params;   /* of lists from a file: n_stages, n_microbatches and n_chunks */
    ps_lists lists;
    const ps_sched_op *ops; /* [n_ops] of lists */
    const size_t *first;    /* [n_stages + 1] of lists */
    uint32_t n_ops;
    ps_step_graph *graph; /* an op waits for the one before it in its list, and for its inputs */
    /* [n_ops] the op whose result the forward, and the backward, of this op needs from another stage, or PS_NO_OP.
     * What it needs from its own stage stands earlier in its device's list. */
    uint32_t *forward_input, *backward_input;
    int32_t *device; /* [n_ops] */
} ps_sim_plan;

/* Durations of one op on one device. `b` is the whole backward, of which `w` is the weight gradient. */
typedef struct ps_sim_times {
    int64_t f_ns, b_ns, w_ns, fb_ns;
    int64_t p2p_ns; /* from the end of an op to the arrival of its result on another device */
} ps_sim_times;

/* When each op ran, by op number. The caller owns both arrays ([n_ops]). */
typedef struct ps_sim_result {
    int64_t *start_ns, *end_ns;
    int64_t first_ns, last_ns; /* first start and last end over all devices */
} ps_sim_result;

/* NULL with PS_RANGE when the parameters do not fit the schedule, PS_INTERNAL when a list of the schedule is not
 * valid or can never finish (the message names the ops that wait for each other), or PS_NOMEM. */
ps_sim_plan *ps_sim_plan_new(const ps_schedule *schedule, const ps_schedule_params *params,
                             ps_err *err);
/* The same for lists from anywhere, which the plan takes over: *lists is empty afterwards, also after a failure. Lists
 * of a file that are not valid are PS_SYNTAX and named by row and column. */
ps_sim_plan *ps_sim_plan_of_lists(ps_lists *lists, ps_err *err);
void ps_sim_plan_free(ps_sim_plan *plan); /* NULL is fine */

/* Whether any op of the plan is of that kind. */
bool ps_sim_uses(const ps_sim_plan *plan, ps_op_kind kind);

/* duration_ns[n_ops] from the times of the kinds. */
void ps_sim_fill_durations(const ps_sim_plan *plan, const ps_sim_times *times,
                           int64_t *duration_ns);

/* One step that begins at start_ns. PS_RANGE when the times leave 64 bits. */
PS_MUST_USE ps_code ps_sim_run(const ps_sim_plan *plan, const int64_t *duration_ns, int64_t p2p_ns,
                               int64_t start_ns, ps_sim_result *out, ps_err *err);

/* Busy time of one device in a result: the sum of its ops. */
int64_t ps_sim_busy_ns(const ps_sim_plan *plan, const ps_sim_result *result, int32_t device);

/* A chart of n_steps steps, numbered from 1, one pipeline, rank = device, origin 0; each step begins gap_ns after
 * the one before it ended. The caller frees it with ps_chart_free(). */
ps_chart *ps_sim_chart(const ps_sim_plan *plan, const int64_t *duration_ns, int64_t p2p_ns,
                       int64_t n_steps, int64_t gap_ns, ps_err *err);

#endif

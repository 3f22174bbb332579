/* The computing ops of a chart by rank and step. */
#ifndef PS_MODEL_CHART_GROUPS_H
#define PS_MODEL_CHART_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/chart.h"

/* Group (rank, step) holds order[first[g]] .. order[first[g + 1] - 1], g = rank * n_steps + step, in start order. Ops outside of
 * all steps (PS_FIRST_STEP) are in no group where there is any step: what a capture ran between its steps, or after those that it
 * numbers, may be many steps' work, and is none. Where nothing else is there they are one group. */
typedef struct ps_chart_groups {
    int64_t *steps; /* distinct step ids, ascending */
    size_t n_steps, cap_steps;
    uint32_t *order; /* rows in the chart's ops */
    size_t *first;   /* [n_ranks * n_steps + 1] */
    uint32_t *
        step_of_op; /* [n_ops] index in steps; PS_NO_INDEX for sends, receives, ops that end before they start, and ops in no group */
} ps_chart_groups;

/* Linear in the number of ops. False when memory is out; end with ps_chart_groups_fini() in any case. */
bool ps_chart_groups_init(ps_chart_groups *g, const ps_chart *chart);
void ps_chart_groups_fini(ps_chart_groups *g);

/* F, B, BI, BW, FB, LOGITS, OTHER; sends and receives run beside the computation. */
bool ps_op_is_computation(const ps_op *op);
/* The same without OTHER: a pass of a microbatch. What comes before the first and after the last one of a stage (gradients that
 * are reduced, the optimiser) is not the schedule's. */
bool ps_op_is_pass(const ps_op *op);

static inline size_t ps_chart_group(const ps_chart_groups *g, size_t rank, size_t step) {
    return rank * g->n_steps + step;
}

#endif

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
/* Whether it is known which computation needs what of which other: links of sends to their receives alone do not say. One stage alone
 * needs nothing. */
bool ps_chart_is_linked(const ps_chart *chart);

static inline size_t ps_chart_group(const ps_chart_groups *g, size_t rank, size_t step) {
    return rank * g->n_steps + step;
}
size_t ps_chart_group_n_passes(const ps_chart_groups *g, const ps_chart *chart, size_t rank,
                               size_t step);

/* What a step of a rank is measured by: as many passes as it has in most of its steps (ps_usual_i64), usual [n_ranks]. A step with
 * fewer was cut or has lost some; one in which all ranks of the pipeline have more is of another kind (a larger batch, an evaluation).
 * One in which only some have more tells that these lost some in most. False when memory is out. */
bool ps_chart_usual_passes(const ps_chart_groups *g, const ps_chart *chart, size_t *usual);
/* *step: the first in which each of these ranks (PS_NO_INDEX: none) has as many passes as usual; the first with most of all where
 * there is no such step. False when memory is out. */
bool ps_chart_usual_group(const ps_chart_groups *g, const ps_chart *chart, const uint32_t *ranks,
                          size_t n, size_t *step);

#endif

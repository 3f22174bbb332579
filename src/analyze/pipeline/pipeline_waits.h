/* Which pipelines of a job wait for which other one: replicas end their passes at different times, and their gradients meet. */
#ifndef PS_ANALYZE_PIPELINE_WAITS_H
#define PS_ANALYZE_PIPELINE_WAITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/chart.h"

/* One pipeline in one step. */
typedef struct ps_pipeline_wait {
    int64_t step;
    int32_t pipeline;
    int64_t end_ns; /* of its last pass */
    int64_t
        idle_ns; /* cool-down of its stages from then until the last pass of the last pipeline, summed over stages */
} ps_pipeline_wait;

typedef struct ps_pipeline_waits {
    ps_pipeline_wait *at; /* by step, then pipeline; those with passes */
    size_t n;
    int32_t last_pipeline;  /* that most often ends last; the lowest of equals, -1 none */
    size_t n_last, n_steps; /* in so many steps of so many in which several pipelines ran */
} ps_pipeline_waits;

/* Of a measured chart (ps_bubble_measure), whose clocks count as they are. False when memory is out. The caller ends with
 * ps_pipeline_waits_fini() in any case. */
bool ps_pipeline_waits_find(const ps_chart *chart, ps_pipeline_waits *out);
void ps_pipeline_waits_fini(ps_pipeline_waits *w);

#endif

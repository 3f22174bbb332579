/* A plan as tables, with the lines to paste. */
#ifndef PS_ANALYZE_SPLIT_PLAN_TABLES_H
#define PS_ANALYZE_SPLIT_PLAN_TABLES_H

#include <stdint.h>

#include "analyze/core/analysis.h"
#include "analyze/whatif/job_steps.h"
#include "analyze/whatif/split_plan.h"
#include "base/buf.h"
#include "base/err.h"

/* Adds plan (one row) and plan_stages. Codes of ps_split_plan_make. */
PS_MUST_USE ps_code ps_split_plan_add_tables(const ps_job_steps *js, const char *split,
                                             int32_t most_layers, ps_result *result, ps_err *err);

/* "Et*9|t*9|t*9|t*5L": --pipeline-model-parallel-layout of Megatron-LM (E embedding, t layer, L loss, | next stage). */
void ps_split_plan_layout(const int32_t *layers, int32_t n_stages, ps_buf *out);
/* "9,9,9,5": --num-layer-list of MindSpeed. */
void ps_split_plan_list(const int32_t *layers, int32_t n_stages, ps_buf *out);

#endif

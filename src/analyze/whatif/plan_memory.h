/* What a layer, its activations and the ends of the model take in memory: as the user says, else by what the ranks of the capture
 * held in their steps.
 *
 *   a stage holds at least    layers x layer_bytes                         (parameters, optimizer)          + its end of the model
 *   a stage holds at most     that + layers x microbatches held x activation_bytes  (gradients that come and go count as well)
 *
 * The microbatches held are those of the schedule that ran. */
#ifndef PS_ANALYZE_PLAN_MEMORY_H
#define PS_ANALYZE_PLAN_MEMORY_H

#include "analyze/core/analysis.h"
#include "analyze/pipeline/recognise.h"
#include "analyze/whatif/job_steps.h"
#include "analyze/whatif/split_plan.h"

/* Fills the sizes in *out, which is a copy of opts, where --memory needs them and the user gave none, from opts->memory_facts; and the
 * table plan_memory, which says where each is from (*sizes NULL: nothing was taken; else the caller frees it). `r` NULL: the schedule
 * is not known. PS_USAGE where a size stays unknown, with the reason; PS_NOMEM. */
PS_MUST_USE ps_code ps_plan_memory_find(const ps_job_steps *js, const ps_recognised *r,
                                        const ps_split_plan *split, const ps_analysis_opts *opts,
                                        ps_analysis_opts *out, ps_table **sizes, ps_err *err);

#endif

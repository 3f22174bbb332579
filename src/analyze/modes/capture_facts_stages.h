/* How long the stages of a pipeline work in a step: one side of a comparison. */
#ifndef PS_ANALYZE_CAPTURE_FACTS_STAGES_H
#define PS_ANALYZE_CAPTURE_FACTS_STAGES_H

#include "analyze/comm/topology.h"
#include "analyze/core/analysis.h"
#include "analyze/modes/capture_facts.h"

/* By what the work of a stage is known. */
typedef enum ps_stage_work {
    PS_STAGE_OPS, /* its ops in the chart of the pipeline, as the report and the chart count them */
    PS_STAGE_COMPUTING, /* computing of its ranks, which the metadata places */
    PS_N_STAGE_WORKS
} ps_stage_work;

/* The table CaptureStages: (kind of work, stage, steps of ranks that were added up, work in ns), of each kind what is known, by stage;
 * a job without stages, or of one, has no rows. */
enum { PS_CG_WORK, PS_CG_STAGE, PS_CG_RANK_STEPS, PS_CG_TIME, PS_N_CG };

/* `parts` are ps_rank_capture. The chart is that of the analyses before this one. */
PS_MUST_USE ps_code ps_capture_stages(const ps_reduce_input *in, ps_result *out, ps_err *err);

#endif

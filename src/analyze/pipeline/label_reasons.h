/* Why ranges, jobs and flows of a capture are no pipeline: the sentences. */
#ifndef PS_ANALYZE_LABEL_REASONS_H
#define PS_ANALYZE_LABEL_REASONS_H

#include <stdbool.h>

#include "analyze/core/analysis.h"
#include "analyze/pipeline/rank_labels.h"

/* Of one rank that has none; static. */
const char *ps_why_no_labels(const ps_analysis_opts *opts, const ps_rank_labels *labels);
/* Flows alone, of ranks that all hold the whole model (ps_rank_labels.is_replica). PS_NOTHING. */
ps_code ps_fail_replicas(ps_err *err);
/* Flows alone, and not several stages; `is_known`: metadata or the user say that it is one. PS_NOTHING. */
ps_code ps_fail_one_stage(const ps_analysis_opts *opts, bool is_known, ps_err *err);
/* The ranks were taken as stages, and what err says shows that they are none. */
void ps_say_stages_tried(ps_lang lang, ps_err *err);

#endif

/* The stages of two captures side by side, and which of them lost most. */
#ifndef PS_ANALYZE_COMPARE_STAGES_H
#define PS_ANALYZE_COMPARE_STAGES_H

#include "analyze/core/analysis.h"
#include "base/buf.h"

/* Gives `out` the table StageCompare where both (ps_capture_tables) know the work of stages in the same way, and appends a sentence on the stages
 * that stand out to `said`: nothing where none does. */
PS_MUST_USE ps_code ps_compare_stages(const ps_result *now, const ps_result *base, ps_lang lang,
                                      ps_result *out, ps_buf *said, ps_err *err);

#endif

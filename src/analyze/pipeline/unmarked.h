/* How much of a bubble may be work that nobody marked, where no kernel says what the device did. */
#ifndef PS_ANALYZE_UNMARKED_H
#define PS_ANALYZE_UNMARKED_H

#include "analyze/pipeline/bubble.h"
#include "analyze/pipeline/recognise.h"
#include "base/err.h"
#include "model/chart.h"

/* Of each stage and step whose device is not known: the usual durations (ps_measured_durations) of the ops of the recognised schedule
 * that no op of the chart is, less what ops take that are none of the schedule's, at most the bubble. Fills unmarked_ns of the report's stages
 * and of the chart's figures. PS_RANGE where the schedule does not take these numbers, PS_NOMEM. */
PS_MUST_USE ps_code ps_unmarked_measure(ps_chart *chart, const ps_recognised *r,
                                        ps_bubble_report *report, ps_err *err);

#endif

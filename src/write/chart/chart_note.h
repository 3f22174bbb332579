#ifndef PS_WRITE_CHART_CHART_NOTE_H
#define PS_WRITE_CHART_CHART_NOTE_H

#include <stdint.h>

#include "base/buf.h"
#include "model/chart.h"

/* Appends, a line each: that there are other steps and pipelines than the one drawn (pipeline -1: the first), when there are; how long
 * the step takes that is drawn, where that is 5 % or more from the median of its pipeline's steps. Nothing to say appends nothing. */
void ps_chart_note(const ps_chart *chart, int64_t step, int32_t pipeline, ps_buf *out);

#endif

#ifndef PS_WRITE_CHART_CHART_NOTE_H
#define PS_WRITE_CHART_CHART_NOTE_H

#include <stdint.h>

#include "base/buf.h"
#include "model/chart.h"
#include "write/chart/chart_rows.h"

/* Appends, a line each: that there are other steps and pipelines than the one drawn (pipeline -1: as ps_chart_choose() says), when there are; how long
 * the step takes that is drawn, where that is 5 % or more from the median of its pipeline's steps. Nothing to say appends nothing. Where memory is
 * out, out->failed is set. */
void ps_chart_note(const ps_chart *chart, int64_t step, int32_t pipeline, ps_buf *out);

/* Appends which pipeline the rows are of, and why that one: that it takes longest. */
void ps_chart_say_pipeline(const ps_rows *rows, ps_buf *out);

/* Appends what the numbers on blocks mean where they are not plain microbatches, by the first op of each kind: that they count on from
 * chunk to chunk, and what "14+0" is: two sentences, `before` the first and `between` them. Nothing to say appends nothing. */
void ps_chart_say_numbers(const ps_chart *chart, const char *before, const char *between,
                          ps_buf *out);

#endif

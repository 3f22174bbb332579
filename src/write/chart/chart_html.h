/* The chart as one HTML page that needs nothing else: the data, the drawing script (web/src/pipeline, built into the
 * program) and its style are inside, nothing is fetched. */
#ifndef PS_WRITE_CHART_HTML_H
#define PS_WRITE_CHART_HTML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/chart.h"
#include "model/table.h"

/* What the page shows first; all steps and pipelines are in it and can be chosen there. Of many ranks the pipelines that behave alike are
 * one (chart_alike.h). */
typedef struct ps_chart_html_opts {
    int64_t step;     /* PS_FIRST_STEP (writers.h): the first of the chart */
    int32_t pipeline; /* -1: the first pipeline, or the one that stands for most */
    bool every_rank;  /* none stands for others */
} ps_chart_html_opts;

/* `against` (theory, drawn below each measured row) and `opts` may be NULL. The n_tables tables are shown below the
 * chart, in this order, under their titles. PS_NOTHING when the chart has no op of that step and pipeline. */
PS_MUST_USE ps_code ps_write_chart_html(const ps_chart *chart, const ps_chart *against,
                                        const ps_table *const *tables, size_t n_tables,
                                        const ps_chart_html_opts *opts, ps_buf *out, ps_err *err);

#endif

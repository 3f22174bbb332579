/* The chart as JSON, for other programs and for `--durations`. docs/formats/chart-json.md is the specification. */
#ifndef PS_WRITE_CHART_JSON_H
#define PS_WRITE_CHART_JSON_H

#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/chart.h"

#define PS_EVERY_STEP INT64_MAX

typedef struct ps_chart_json_opts {
    int64_t step;     /* one step, PS_FIRST_STEP (writers.h) or PS_EVERY_STEP */
    int32_t pipeline; /* one pipeline, -1 all */
} ps_chart_json_opts;

/* One op a line. `opts` may be NULL: everything. A link goes when one of its ends is left out. PS_NOTHING when the
 * chart has no op of that step and pipeline (a chart without any op is written all the same when all is asked for). */
PS_MUST_USE ps_code ps_write_chart_json(const ps_chart *chart, const ps_chart_json_opts *opts,
                                        ps_buf *out, ps_err *err);

/* "mark", "simulated", ...: where the label of an op comes from, as files name it. */
const char *ps_op_source_name(ps_op_source source);

#endif

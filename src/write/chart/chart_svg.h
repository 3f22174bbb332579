/* The chart as a picture: one step of one pipeline, with its legend, a bar for each stage and its figures. */
#ifndef PS_WRITE_CHART_SVG_H
#define PS_WRITE_CHART_SVG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"
#include "model/chart.h"

typedef struct ps_chart_svg_opts {
    int64_t step;     /* PS_FIRST_STEP (writers.h): the first of the chart */
    int32_t pipeline; /* -1: the first pipeline */
    bool dark;
    bool arrows;    /* draw the links, when they are at most some thousands */
    uint32_t width; /* pixels, at least 480; 0: 1200 */
} ps_chart_svg_opts;

/* `against` (theory) may be NULL; it is drawn below each stage on the same axis, both from their step's start: the
 * step of the same number, else its first. The height follows from the stages. PS_NOTHING when there is no op. */
PS_MUST_USE ps_code ps_write_chart_svg(const ps_chart *chart, const ps_chart *against,
                                       const ps_chart_svg_opts *opts, ps_buf *out, ps_err *err);

#endif

/* Clocks of the machines of a chart: how far they lie apart, by its links, and the chart with them brought together. */
#ifndef PS_ANALYZE_CHART_CLOCK_H
#define PS_ANALYZE_CHART_CLOCK_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/comm/job_clock.h"
#include "base/err.h"
#include "model/chart.h"

typedef struct ps_chart_clock_opts {
    /* Collectives, which a chart has no ops for: rows in its ranks, times from its origin. */
    const ps_clock_collective *collectives;
    size_t n_collectives;
    bool
        ends_only; /* ranges of the host, which hold waiting: only that one began before the other ended is certain */
    bool
        each_rank; /* a rank whose machine is unknown has a clock of its own; else it is left alone */
    ps_clock_use use; /* whose ops are moved by the offset of their machine's clock */
} ps_chart_clock_opts;

typedef struct ps_chart_clock_notes {
    size_t n_empty;    /* pairs of machines whose bounds by links contradict one another */
    size_t n_disagree; /* whose bounds by links contradict what was recorded of the clocks */
} ps_chart_clock_notes;

/* Needs the chart's links, and `recorded` of its ranks. Fills the clock fields of its ranks where more than one machine is in
 * it. PS_NOMEM, or PS_RANGE when the moved times leave 64 bits. */
PS_MUST_USE ps_code ps_chart_clocks(ps_chart *chart, const ps_chart_clock_opts *opts,
                                    ps_chart_clock_notes *notes, ps_err *err);

#endif

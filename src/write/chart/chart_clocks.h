/* What is known of the clocks of a chart's machines, as sentences. */
#ifndef PS_WRITE_CHART_CLOCKS_H
#define PS_WRITE_CHART_CLOCKS_H

#include <stdbool.h>

#include "base/buf.h"
#include "model/chart.h"

/* One sentence for each machine but the first whose clock is known, of all pipelines, as they share the machines; at
 * most sixteen. Each begins with `before` and ends with `after`: "Clock of machine 1: 1750.0 us ± 400.0 us against the
 * first; not taken off (--align)". */
void ps_chart_say_clocks(const ps_chart *chart, bool utf8, const char *before, const char *after,
                         ps_buf *out);

/* What the offset of the rank's clock is known by, in words. */
const char *ps_chart_clock_source(ps_lang lang, const ps_chart_rank *rank);

#endif

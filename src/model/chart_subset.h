/* Some ranks of a chart, as a chart. */
#ifndef PS_MODEL_CHART_SUBSET_H
#define PS_MODEL_CHART_SUBSET_H

#include <stdbool.h>

#include "model/chart.h"

/* Those with kept[row], with all that belongs to them; a link has both its ends, and a bubble that waits for an op of another rank waits
 * for an unknown one. Texts stay with `chart`, which has to outlive it. NULL: memory is out. The caller frees it with ps_chart_free(). */
ps_chart *ps_chart_subset(const ps_chart *chart, const bool *kept);

#endif

/* The chart of another capture, to lie below one: its steps have the numbers of those that they stand beside. */
#ifndef PS_ANALYZE_CHART_BESIDE_H
#define PS_ANALYZE_CHART_BESIDE_H

#include "base/err.h"
#include "model/chart.h"

/* Ranks and ops of `base`; its first step is called as the first one of `chart`, the second as the second: numbers of steps differ between
 * runs. Steps that `chart` has not are left out, and what lies in none. The caller frees it with ps_chart_free(); NULL: PS_NOTHING when
 * nothing is left, or PS_NOMEM. */
ps_chart *ps_chart_beside(const ps_chart *chart, const ps_chart *base, ps_err *err);

#endif

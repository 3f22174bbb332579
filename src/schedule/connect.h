/* Links between the computations of a chart: which op needed which result of another stage. */
#ifndef PS_SCHEDULE_CONNECT_H
#define PS_SCHEDULE_CONNECT_H

#include "base/err.h"
#include "model/chart.h"
#include "schedule/sim.h"

/* Adds to chart->links, for every pipeline and step, forward -> forward of the next logical stage and backward ->
 * backward of the one before, as the plan's schedule says. Ops are found by (stage, chunk, microbatch); chunk -1
 * counts as 0. Ops that the plan does not have, and results whose maker is not in the chart, stay unlinked.
 * Linear in the number of ops. PS_NOMEM only. */
PS_MUST_USE ps_code ps_chart_connect(ps_chart *chart, const ps_sim_plan *plan, ps_err *err);

#endif

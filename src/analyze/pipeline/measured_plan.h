/* A plan made of what ran: the lists of a chart whose labels name every op in full but follow no known schedule. It
 * says what each op needed, so that links and waits are known all the same. */
#ifndef PS_ANALYZE_MEASURED_PLAN_H
#define PS_ANALYZE_MEASURED_PLAN_H

#include "base/err.h"
#include "model/chart.h"
#include "schedule/sim.h"

/* Where each piece of the model lies: logical[stage * n_chunks + chunk], -1 none, one way through the model. */
typedef struct ps_model_places {
    const int32_t *logical; /* NULL: not known */
    int32_t n_stages, n_chunks, n_logical;
} ps_model_places;

/* From the first usual step (ps_chart_usual_group) of the first pipeline. NULL with PS_NOTHING when the places or a stage are not known, or the
 * ops are not those of one whole step; else PS_NOMEM. End with ps_sim_plan_free(). */
ps_sim_plan *ps_measured_plan(const ps_chart *chart, const ps_model_places *places, ps_err *err);

#endif

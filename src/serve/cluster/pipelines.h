/* The pipelines of a cluster that is served, as `pipescope chart` sees them: analysed when first asked for, kept in the
 * cache under the overrides that were given. */
#ifndef PS_SERVE_PIPELINES_H
#define PS_SERVE_PIPELINES_H

#include "analyze/core/analysis.h"
#include "base/err.h"
#include "model/chart.h"
#include "run/run_pipeline.h"
#include "serve/http/route.h"
#include "serve/rank/cache.h"

/* Which chart: a cluster, and what overrides its metadata. Texts are borrowed from whoever asks. */
typedef struct ps_pipelines_ask {
    size_t cluster;
    ps_analysis_opts opts;
} ps_pipelines_ask;

typedef struct ps_pipelines {
    ps_run *run;
    const ps_chart *chart; /* of the run; has ops */
    const ps_table *tables[PS_MAX_PIPELINE_TABLES];
    size_t n_tables;
} ps_pipelines;

/* A cluster and no overrides, in full. */
ps_pipelines_ask ps_pipelines_ask_init(size_t cluster);

/* Parameters of a request that say which chart: cluster, pp, tp, cp, dp, order, pp_type, microbatches, max_activations, align,
 * forward_re, backward_re, microbatch_re. False with the reply filled. */
bool ps_pipelines_ask_job(const ps_request *q, ps_reply *r, ps_pipelines_ask *out);
/* Everything the chart depends on. */
void ps_pipelines_put_key(const ps_pipelines_ask *ask, ps_buf *out);

/* What must hold of the texts of an ask: known schedule, expressions that compile. PS_USAGE with a sentence. */
PS_MUST_USE ps_code ps_pipelines_check(const ps_pipelines_ask *ask, ps_err *err);

/* Release with ps_cache_release(). PS_NOT_FOUND: no such cluster; PS_NOTHING with a sentence that says what is missing and
 * how to collect it. */
PS_MUST_USE ps_code ps_pipelines_get(const ps_request *q, const ps_pipelines_ask *ask,
                                     const ps_pipelines **out, ps_err *err);

#endif

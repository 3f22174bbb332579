/* The pipelines of a cluster that is served, as `pipescope chart` sees them: analysed when first asked for, kept in the
 * cache under the overrides that were given. */
#ifndef PS_SERVE_PIPELINES_H
#define PS_SERVE_PIPELINES_H

#include "analyze/core/analysis.h"
#include "base/err.h"
#include "model/chart.h"
#include "run/run_pipeline.h"
#include "serve/cluster/cluster_ask.h"

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

/* Parameters of a request that say which chart, and the options of analyses that ask `more` (PS_OF_*) of it. False with the reply
 * filled. */
bool ps_pipelines_ask_of(const ps_request *q, ps_reply *r, uint32_t more, ps_pipelines_ask *out);
/* Parameters `step` (not given: PS_FIRST_STEP) and `pipeline` (-1). False with the reply filled. */
bool ps_pipelines_ask_drawn(const ps_request *q, ps_reply *r, int64_t *step, int32_t *pipeline);
/* Everything the chart depends on. */
void ps_pipelines_put_key(const ps_pipelines_ask *ask, ps_buf *out);

/* Release with ps_cache_release(). PS_NOT_FOUND: no such cluster; PS_NOTHING with a sentence that says what is missing and
 * how to collect it. */
PS_MUST_USE ps_code ps_pipelines_get(const ps_request *q, const ps_pipelines_ask *ask,
                                     const ps_pipelines **out, ps_err *err);

#endif
